// The fabric between real processes, on shared memory and on TCP.
#include "fabric/fabric.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <numeric>

#include "testing/children.h"

using namespace iw::fabric;
using iw::testing::Child;
using namespace std::chrono_literals;

namespace {

Deadline soon() { return Clock::now() + 30s; }

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Process {
  explicit Process(Transport transport = Transport::by_environment) {
    std::string error;
    Options options;
    options.transport = transport;
    fabric = Fabric::open(options, &error);
    if (!fabric) ADD_FAILURE() << error;
    Status status;
    worker = fabric->add_worker(&status);
  }
  PeerId connect(const Address& address) const {
    PeerId peer = 0;
    EXPECT_EQ(worker->connect(address, soon(), &peer), Status::ok);
    return peer;
  }
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Worker> worker;
};

// Sends everything back to where it came from. The payload goes with the handler, so a copy is
// sent.
void echo(void* worker, const Message& message) {
  struct Kept : Completion {
    std::vector<std::byte> payload;
  };
  auto* kept = new Kept;
  kept->payload.assign(message.payload.begin(), message.payload.end());
  kept->done = [](Completion& self, Status) { delete static_cast<Kept*>(&self); };
  const Status status =
      static_cast<Worker*>(worker)->send(message.from, 1, message.header, kept->payload, kept);
  if (status != Status::pending) delete kept;
}

struct Heard {
  std::vector<std::string> headers;
  std::vector<std::vector<std::byte>> payloads;
  static void handler(void* heard, const Message& message) {
    auto& self = *static_cast<Heard*>(heard);
    self.headers.push_back(text_of(message.header));
    self.payloads.emplace_back(message.payload.begin(), message.payload.end());
  }
};

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; i++) bytes[i] = static_cast<std::byte>(i * 31 + seed);
  return bytes;
}

}  // namespace

// Echoes, and has memory of 1 MiB; its application thread never calls the fabric.
ROLE(target) {
  const Process process;
  process.worker->set_handler(0, &echo, process.worker.get());
  Status status;
  const auto memory = process.fabric->allocate(1 << 20, &status);
  parent.say_value(process.worker->address());
  parent.say(memory->key());
  parent.hear();
  return 0;
}

class Fabrics : public ::testing::TestWithParam<const char*> {
 protected:
  Fabrics() { setenv("IW_FABRIC", GetParam(), 1); }
  static Address address_of(const Child& child) { return child.line().hear_value<Address>(); }
};
INSTANTIATE_TEST_SUITE_P(Over, Fabrics, ::testing::Values("shm", "tcp", "auto"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Fabrics, MessagesGoThereAndBackInOrder) {
  const Child target("target");
  const Process here;
  Heard heard;
  here.worker->set_handler(1, &Heard::handler, &heard);
  const PeerId peer = here.connect(address_of(target));
  std::size_t sent = 0;
  for (const std::size_t size : {0, 1, 32, 1000, 8192, 70000, 1 << 20}) {
    const std::string header = "message " + std::to_string(sent);
    const auto payload = pattern(size, static_cast<unsigned>(sent));
    struct Counted : Completion {
      bool is_done = false;
    } counted;
    counted.done = [](Completion& self, Status) { static_cast<Counted&>(self).is_done = true; };
    const Status status = here.worker->send(peer, 0, bytes_of(header), payload, &counted);
    ASSERT_TRUE(status == Status::ok || status == Status::pending) << to_string(status);
    sent++;
    const auto is_back = [&] {
      return heard.headers.size() == sent && (status == Status::ok || counted.is_done);
    };
    ASSERT_EQ(here.worker->wait(is_back, soon()), Status::ok) << size;
    EXPECT_EQ(heard.headers.back(), header);
    EXPECT_EQ(heard.payloads.back(), payload);
  }
}
