// Shared by tests of the fabric: a part in it, and memory of another process seen there.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "testing/children.h"
#include "testing/transports.h"

namespace iw::fabric_tests {

using namespace fabric;
using testing::Child;

inline Deadline soon() { return Clock::now() + std::chrono::seconds(30); }

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

// A child's memory, seen from here; the child says its address and then the memory's key.
struct Seen {
  Seen(const Child& child, const Process& here) {
    peer = here.connect(child.line().hear_value<Address>());
    Status status;
    window = here.worker->open(peer, child.line().hear(), &status);
    EXPECT_EQ(status, Status::ok) << to_string(status);
  }
  PeerId peer;
  std::unique_ptr<Window> window;
};

// To the word at 8, by turns with both operations. 0: all went well.
inline int add_a_thousand(Worker& worker, Window& window) {
  for (int i = 0; i < 500; i++) {
    std::uint64_t before = 0;
    if (worker.fetch_add(window, 8, 1, &before, soon()) != Status::ok) return 1;
    for (std::uint64_t guess = before + 1;; guess = before) {
      const Status swapped = worker.compare_swap(window, 8, guess, guess + 1, &before, soon());
      if (swapped != Status::ok) return 2;
      if (before == guess) break;
    }
  }
  return 0;
}

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; i++) bytes[i] = static_cast<std::byte>(i * 31 + seed);
  return bytes;
}

// The parameter is the transport. With a key "auto" is all transports, without one it is "shm".
class OverTransports : public ::testing::TestWithParam<const char*> {
 protected:
  OverTransports() {
    setenv("IW_FABRIC", GetParam(), 1);
    if (is_over("auto")) setenv("IW_CLUSTER_KEY", "00112233445566778899aabbccddeeff", 1);
  }
  ~OverTransports() override {
    if (is_over("auto")) unsetenv("IW_CLUSTER_KEY");
  }
  static bool is_over(const std::string& transport) { return transport == GetParam(); }
};

}  // namespace iw::fabric_tests

// Of a class derived from OverTransports.
#define OVER_TRANSPORTS(fixture, ...)                                                   \
  INSTANTIATE_TEST_SUITE_P(Over, fixture,                                               \
                           ::testing::ValuesIn(iw::testing::transports({__VA_ARGS__})), \
                           [](const auto& each) { return std::string(each.param); })
