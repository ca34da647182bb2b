// Jobs of real processes with page-based shared memory: each child is a rank.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "dsm/node/node.h"
#include "testing/children.h"
#include "testing/transports.h"

namespace iw::dsm {

using testing::Child;
using testing::Line;
using Environment = std::map<std::string, std::string>;

inline constexpr std::size_t litmus_pages = 64;

// A child's complaint ends it.
inline void check(bool is_so, const char* claim, std::uint64_t found = 0) {
  if (is_so) return;
  std::fprintf(stderr, "not so: %s (found %llu)\n", claim, static_cast<unsigned long long>(found));
  std::_Exit(1);
}

inline std::uint64_t number_of_environment(const char* name, std::uint64_t usual) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : usual;
}

// In a child: one rank, whose heap begins with words.
class Member {
 public:
  explicit Member(const Node::Options& changed = {}) {
    Node::Options options = changed;
    options.heap.bytes = std::size_t{1} << 30;
    std::string error;
    check(Node::read_environment(&options, &error), error.c_str());
    node = Node::start(options, &error);
    check(node != nullptr, error.c_str());
    page_words = node->heap().page_bytes() / sizeof(std::uint64_t);
    words = reinterpret_cast<volatile std::uint64_t*>(node->heap().begin());
    random.seed(static_cast<unsigned>(number_of_environment("IW_SEED", 1)) + node->rank());
  }

  void begin(PageNumber end = litmus_pages, std::span<const Placement> homes = {}) {
    check(node->begin(1, end, homes).is_ok(), "the job begins");
  }
  void lock(LockId lock) { check(node->lock(lock).is_ok(), "a lock is had"); }
  void unlock(LockId lock) { check(node->unlock(lock).is_ok(), "a lock is released"); }
  void barrier() { check(node->barrier(next_barrier++).is_ok(), "a barrier is passed"); }
  int finish() { return node->finish().is_ok() ? 0 : 2; }
  Rank me() const { return node->rank(); }
  Rank ranks() const { return node->ranks(); }
  // Shifts the ranks against each other.
  void delay() {
    constexpr unsigned turns_most = 2000;
    for (unsigned i = random() % turns_most; i > 0; i--) asm volatile("");
  }

  std::unique_ptr<Node> node;
  std::size_t page_words = 0;
  volatile std::uint64_t* words = nullptr;
  BarrierId next_barrier = 1;
  std::mt19937 random;
};

// In the test: so many ranks in a role.
class TestJob {
 public:
  // `others`: what differs for all ranks but 0.
  TestJob(const std::string& role, Rank ranks, Environment environment = {},
          const Environment& others = {}) {
    EXPECT_NE(mkdtemp(folder_), nullptr);
    environment["IW_RENDEZVOUS"] = std::string("file:") + folder_;
    environment["IW_SIZE"] = std::to_string(ranks);
    for (Rank rank = 0; rank < ranks; rank++) {
      environment["IW_RANK"] = std::to_string(rank);
      if (rank == 1) {
        for (const auto& [name, value] : others) environment[name] = value;
      }
      members_.emplace_back(role, environment);
    }
  }
  ~TestJob() {
    members_.clear();
    std::filesystem::remove_all(folder_);
  }
  Child& at(Rank rank) { return members_[rank]; }
  void expect_success() {
    for (Child& each : members_) EXPECT_EQ(each.wait_for_end(), 0);
  }

 private:
  char folder_[32] = "/tmp/iw-dsm-XXXXXX";
  std::deque<Child> members_;
};

}  // namespace iw::dsm
