// The fabric's own round trip: a question of 8 bytes, and an answer of 4 KiB. It bounds a page miss
// from below where a page comes by messages. Rank 0 prints the medians. bench/dsm.py starts it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fabric/rendezvous.h"

namespace {

using namespace iw::fabric;

constexpr std::size_t kPageBytes = 4096;
constexpr int kTimes = 3000;
enum : MessageId { question, answer, last };

void must(bool is_true, const char* what) {
  if (is_true) return;
  std::fprintf(stderr, "round_trip: %s\n", what);
  std::exit(1);
}

struct Sent : Completion {
  bool is_done = true;
};

struct Rank {
  Worker* worker = nullptr;
  PeerId other = 0;
  int answers = 0;
  bool is_over = false;
  std::array<std::byte, 8> header{};
  std::vector<std::byte> page = std::vector<std::byte>(kPageBytes);
  std::vector<std::byte> arrived = std::vector<std::byte>(kPageBytes);
  Sent sent;

  void send(MessageId id, Bytes payload) {
    sent.is_done = false;
    sent.done = [](Completion& self, Status) { static_cast<Sent&>(self).is_done = true; };
    const Status status = worker->send(other, id, header, payload, &sent);
    must(status == Status::ok || status == Status::pending, "a message was not sent");
    if (status == Status::ok) sent.is_done = true;
  }
};

void on_question(void* context, const Message&) {
  auto& rank = *static_cast<Rank*>(context);
  rank.send(answer, rank.page);
}
void on_answer(void* context, const Message& message) {
  auto& rank = *static_cast<Rank*>(context);
  std::memcpy(rank.arrived.data(), message.payload.data(), kPageBytes);
  rank.answers++;
}
void on_last(void* context, const Message&) { static_cast<Rank*>(context)->is_over = true; }

double ask(Rank& rank) {
  const auto begin = Clock::now();
  {
    const Exclusion exclusion(*rank.worker);
    rank.send(question, {});
  }
  const int before = rank.answers;
  const Status status = rank.worker->wait([&] { return rank.answers > before; }, Deadline::max());
  must(status == Status::ok, "no answer");
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace

int main() {
  const Deadline deadline = Clock::now() + std::chrono::seconds(60);
  std::string error;
  const auto rendezvous = Rendezvous::open(deadline, &error);
  must(rendezvous != nullptr && rendezvous->size() == 2, "start two ranks");
  const auto fabric = Fabric::open({}, &error);
  must(fabric != nullptr, error.c_str());
  Status status = Status::ok;
  auto worker = fabric->add_worker(&status);
  must(worker != nullptr, to_string(status));
  Rank rank;
  rank.worker = worker.get();
  worker->set_handler(question, on_question, &rank);
  worker->set_handler(answer, on_answer, &rank);
  worker->set_handler(last, on_last, &rank);
  std::vector<std::vector<std::byte>> all;
  status = rendezvous->exchange(bytes_of(worker->address()), deadline, &all);
  must(status == Status::ok, to_string(status));
  Address other;
  must(read_whole(Bytes(all[1 - rendezvous->rank()]), &other), "another version");
  status = worker->connect(other, deadline, &rank.other);
  must(status == Status::ok, to_string(status));
  status = rendezvous->exchange({}, deadline, &all);
  must(status == Status::ok, to_string(status));
  if (rendezvous->rank() == 0) {
    std::vector<double> us(kTimes);
    for (double& each : us) each = ask(rank);
    std::ranges::nth_element(us, us.begin() + kTimes / 2);
    std::printf("round trip of 4 KiB: %.3f\n", us[kTimes / 2]);
    const Exclusion exclusion(*worker);
    rank.send(last, {});
  }
  const auto is_over = [&] {
    return rank.sent.is_done && (rendezvous->rank() == 0 || rank.is_over);
  };
  status = worker->wait(is_over, deadline);
  must(status == Status::ok, to_string(status));
  status = rendezvous->exchange({}, deadline, &all);
  must(status == Status::ok, to_string(status));
  close_worker(&worker);
  return 0;
}
