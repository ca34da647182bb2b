#include "client/agenda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace iw::client {
namespace {

using Numbers = Agenda<int>;

// An object with its place.
struct One {
  One(Numbers& agenda, int number) : value(number) { agenda.join(entry); }
  int value;
  Numbers::Entry entry{value};
};

std::vector<int> taken(Numbers& agenda, std::int64_t now_ns) {
  std::vector<int> all;
  while (const int* const one = agenda.take(now_ns)) all.push_back(*one);
  return all;
}

TEST(Agenda, GivesWhatIsDueAndNothingElse) {
  Numbers agenda;
  EXPECT_EQ(agenda.next_due_ns(), Numbers::never_ns);
  EXPECT_EQ(agenda.take(Numbers::never_ns), nullptr);
  One first(agenda, 1);
  One second(agenda, 2);
  One third(agenda, 3);
  agenda.put(second.entry, 20);
  agenda.put(third.entry, 30);
  agenda.put(first.entry, 10);
  EXPECT_EQ(agenda.next_due_ns(), 10);
  EXPECT_EQ(taken(agenda, 9), std::vector<int>{});
  EXPECT_EQ(taken(agenda, 20), (std::vector{1, 2}));
  EXPECT_EQ(taken(agenda, 20), std::vector<int>{}) << "once";
  EXPECT_EQ(agenda.next_due_ns(), 30);
}

TEST(Agenda, TheEarlierTimeCounts) {
  Numbers agenda;
  One one(agenda, 1);
  agenda.put(one.entry, 20);
  agenda.put(one.entry, 30);
  EXPECT_EQ(one.entry.due_ns(), 20);
  agenda.put(one.entry, 10);
  EXPECT_EQ(one.entry.due_ns(), 10);
  agenda.put(one.entry, Numbers::never_ns);
  EXPECT_EQ(taken(agenda, 10), std::vector{1});
  agenda.put(one.entry, Numbers::never_ns);
  EXPECT_EQ(agenda.take(Numbers::never_ns), nullptr);
}

TEST(Agenda, WhatHasLeftIsNotDueAnyMore) {
  Numbers agenda;
  One stays(agenda, 1);
  auto leaves = std::make_unique<One>(agenda, 2);
  agenda.put(leaves->entry, 5);
  agenda.put(stays.entry, 10);
  agenda.leave(leaves->entry);
  leaves.reset();
  EXPECT_EQ(taken(agenda, 10), std::vector{1});
}

TEST(Agenda, NothingIsDueForWhatHasNotJoined) {
  Numbers agenda;
  One member(agenda, 1);
  int value = 2;
  Numbers::Entry stranger(value);
  agenda.put(stranger, 5);
  agenda.put(member.entry, 10);
  agenda.leave(stranger);
  EXPECT_EQ(taken(agenda, 10), std::vector{1});
}

// Against a list of the same: any order of putting, taking and leaving.
TEST(Agenda, RandomOrdersAgreeWithAList) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Numbers agenda;
  std::map<int, std::unique_ptr<One>> objects;
  std::map<int, std::int64_t> due;
  const auto least = [&] {
    std::int64_t found = Numbers::never_ns;
    for (const auto& [number, at_ns] : due) found = std::min(found, at_ns);
    return found;
  };
  for (int step = 0; step < 20'000; ++step) {
    const int number = static_cast<int>(random() % 64);
    const auto at_ns = static_cast<std::int64_t>(random() % 1000);
    switch (random() % 4) {
      case 0:
        if (const auto found = objects.find(number); found != objects.end()) {
          agenda.leave(found->second->entry);
          objects.erase(found);
          due.erase(number);
        } else {
          objects.emplace(number, std::make_unique<One>(agenda, number));
        }
        break;
      case 1:
        if (const int* const one = agenda.take(at_ns); one != nullptr) {
          ASSERT_EQ(due.at(*one), least());
          ASSERT_LE(due.at(*one), at_ns);
          due.erase(*one);
        } else {
          ASSERT_GT(least(), at_ns);
        }
        break;
      default:
        if (const auto found = objects.find(number); found != objects.end()) {
          agenda.put(found->second->entry, at_ns);
          const auto known = due.emplace(number, at_ns).first;
          known->second = std::min(known->second, at_ns);
        }
    }
    ASSERT_EQ(agenda.next_due_ns(), least());
  }
}

}  // namespace
}  // namespace iw::client
