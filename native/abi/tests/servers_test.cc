// Segments of several servers in one process, pointers across them, connections, and whose page is
// whose.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "abi/tests/server_process.h"
#include "interweave.h"
#include "platform/memory.h"

namespace iw::test {
namespace {

struct Stop {
  int key;
  Stop* next;
};
extern const IW_type_def stop_type;
const IW_type_def stop_pointer = IW_POINTER_DEF("", &stop_type);
const IW_field_def stop_fields[] = {{"key", &IW_def_int, offsetof(Stop, key)},
                                    {"next", &stop_pointer, offsetof(Stop, next)}};
const IW_type_def stop_type =
    IW_RECORD_DEF("test_stop", sizeof(Stop), alignof(Stop), stop_fields, 2);

class Servers : public ::testing::Test {
 protected:
  static constexpr int segments = 3;
  static constexpr int stops = 300;

  static void SetUpTestSuite() {
    const IW_type_t type = &stop_type;
    ASSERT_EQ(IW_register_types(&type, 1), 0);
  }
  void SetUp() override {
    ASSERT_TRUE(east_.good() && west_.good());
    urls_ = {east_.url("/a"), west_.url("/b"), east_.url("/c")};
  }
  void open() {
    for (int i = 0; i < segments; ++i) {
      handles_[i] = IW_open_segment(urls_[i].c_str());
      ASSERT_NE(handles_[i], nullptr) << IW_strerror();
    }
  }
  void close() {
    for (const IW_handle_t handle : handles_) ASSERT_EQ(IW_close_segment(handle), 0);
  }
  // A ring whose stops lie in the segments by turns; the first is `first` in segment 0.
  void make_ring() {
    open();
    for (const IW_handle_t handle : handles_) ASSERT_EQ(IW_wl_acquire(handle), 0) << IW_strerror();
    Stop* first = nullptr;
    Stop* last = nullptr;
    for (int key = 0; key < stops; ++key) {
      const IW_handle_t handle = handles_[key % segments];
      auto* const stop =
          static_cast<Stop*>(IW_malloc_named(handle, &stop_type, key == 0 ? "first" : nullptr));
      ASSERT_NE(stop, nullptr) << IW_strerror();
      stop->key = key;
      if (last == nullptr) {
        first = stop;
      } else {
        last->next = stop;
      }
      last = stop;
    }
    last->next = first;
    // A release refers to blocks that others may not have heard of yet: any order will do.
    for (const IW_handle_t handle : handles_) ASSERT_EQ(IW_wl_release(handle), 0) << IW_strerror();
    close();
  }

  Server east_;
  Server west_;
  std::array<std::string, segments> urls_;
  std::array<IW_handle_t, segments> handles_{};
};

// The walk itself is ordinary loads: no call of the library from the first stop to the last.
TEST_F(Servers, AListThroughThreeSegmentsOfTwoServersIsWalkedByLoadsAlone) {
  make_ring();
  open();
  for (const IW_handle_t handle : handles_) ASSERT_EQ(IW_rl_acquire(handle), 0) << IW_strerror();
  const auto* const first = static_cast<Stop*>(IW_mip_to_ptr((urls_[0] + "#first").c_str()));
  ASSERT_NE(first, nullptr) << IW_strerror();
  const Stop* at = first;
  for (int key = 0; key < stops; ++key, at = at->next) ASSERT_EQ(at->key, key);
  EXPECT_EQ(at, first);
  const IW_mip_t second = IW_ptr_to_mip(first->next);
  ASSERT_NE(second, nullptr) << IW_strerror();
  EXPECT_EQ(std::string(second).rfind("iw://" + urls_[1] + "#", 0), 0u) << second;
  IW_mip_free(second);
  for (const IW_handle_t handle : handles_) ASSERT_EQ(IW_rl_release(handle), 0);
  close();
}

// The library opens the segments that the pointers lead to, on the other server too.
TEST_F(Servers, PointersOpenTheSegmentsOfTheOtherServer) {
  make_ring();
  const IW_handle_t only = IW_open_segment(urls_[0].c_str());
  ASSERT_NE(only, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(only), 0) << IW_strerror();
  const auto* const first = static_cast<Stop*>(IW_mip_to_ptr((urls_[0] + "#first").c_str()));
  ASSERT_NE(first, nullptr) << IW_strerror();
  const Stop* const far = first->next;
  ASSERT_NE(far, nullptr);
  EXPECT_EQ(far->key, 0) << "reserved: no data has moved";
  const IW_handle_t other = IW_open_segment(urls_[1].c_str());
  ASSERT_NE(other, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(other), 0) << IW_strerror();
  EXPECT_EQ(far->key, 1);
  ASSERT_EQ(IW_rl_release(other), 0);
  ASSERT_EQ(IW_rl_release(only), 0);
  EXPECT_EQ(IW_close_segment(other), 0);
  EXPECT_EQ(IW_close_segment(only), 0);
}

#if defined(__linux__)
// The sockets of this process, by the numbers that the kernel gives each once.
std::set<std::string> sockets() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.rfind("socket:", 0) == 0) found.insert(target);
  }
  return found;
}

TEST_F(Servers, OneConnectionToEachServerCarriesAThousandLocks) {
  // Connections to servers of earlier tests may still be closed meanwhile.
  const std::set<std::string> earlier = sockets();
  const auto new_ones = [&earlier] {
    std::set<std::string> found = sockets();
    for (const std::string& one : earlier) found.erase(one);
    return found;
  };
  open();
  const std::set<std::string> opened = new_ones();
  EXPECT_EQ(opened.size(), 2u) << "two servers, three segments";
  for (int i = 0; i < 1000; ++i) {
    const IW_handle_t handle = handles_[i % segments];
    ASSERT_EQ(IW_wl_acquire(handle), 0) << IW_strerror();
    if (i < segments) {
      ASSERT_NE(IW_malloc_named(handle, IW_int, "n"), nullptr);
    }
    ++*static_cast<int*>(IW_mip_to_ptr((urls_[i % segments] + "#n").c_str()));
    ASSERT_EQ(IW_wl_release(handle), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_acquire_for(handle, 30, IW_FRESH), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(handle), 0);
  }
  EXPECT_EQ(new_ones(), opened) << "the same ones, and none besides";
  close();
}
#endif

TEST_F(Servers, SubsegmentsGrowByWholePagesAndAPageBelongsToOneSegment) {
  open();
  for (const IW_handle_t handle : handles_) ASSERT_EQ(IW_wl_acquire(handle), 0) << IW_strerror();
  const auto page_bytes = std::uintptr_t{platform::page_size()};
  std::array<std::set<std::uintptr_t>, segments> pages;
  std::uint64_t grown = 0;
  std::uint64_t held = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::size_t which = i % segments;
    const std::size_t size = 1 + (i * 7919) % 5000;
    const void* const block = IW_malloc_array(handles_[which], IW_char, size, nullptr);
    ASSERT_NE(block, nullptr) << IW_strerror();
    const auto first = reinterpret_cast<std::uintptr_t>(block);
    for (std::uintptr_t page = first / page_bytes; page <= (first + size - 1) / page_bytes; ++page)
      pages[which].insert(page);
    IW_stats_t stats{};
    stats.size = sizeof stats;
    ASSERT_EQ(IW_stats(handles_[0], &stats), 0);
    ASSERT_EQ(stats.native_bytes % page_bytes, 0u);
    if (stats.native_bytes > held) ++grown;
    held = stats.native_bytes;
  }
  EXPECT_GT(grown, 2u) << "on demand";
  for (int i = 0; i < segments; ++i) {
    for (const std::uintptr_t page : pages[i]) {
      ASSERT_FALSE(pages[(i + 1) % segments].contains(page)) << "of " << i << " and the next";
    }
  }
  for (const IW_handle_t handle : handles_) ASSERT_EQ(IW_wl_abort(handle), 0);
  close();
}

// kill -9, a restart from its directory, and a client that knows nothing yet.
TEST_F(Servers, AKilledServerServesTypesNamesAndPointersAgain) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/kept");
  IW_handle_t segment = IW_open_segment(url.c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const first = static_cast<Stop*>(IW_malloc_named(segment, &stop_type, "first"));
  auto* const row = static_cast<Stop*>(IW_malloc_array(segment, &stop_type, 3, nullptr));
  ASSERT_NE(row, nullptr) << IW_strerror();
  first->next = &row[2];
  row[2].key = 7;
  row[2].next = first;
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment), 0);
  server.kill();
  server.start();
  ASSERT_TRUE(server.good());
  segment = IW_open_segment(url.c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 1u);
  const auto* const again = static_cast<Stop*>(IW_mip_to_ptr((url + "#first").c_str()));
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_NE(again->next, nullptr);
  EXPECT_EQ(again->next->key, 7);
  EXPECT_EQ(again->next->next, again);
  ASSERT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// Pointers open a segment as it is. Its server keeps nothing, so that whoever opens it after a
// restart makes it.
TEST_F(Servers, WhatPointersLedToIsMadeAnewByAnOpening) {
  Server server;
  ASSERT_TRUE(server.good());
  const std::string url = server.url("/to");
  const std::string none = url + "#none";
  const IW_handle_t made = IW_open_segment(url.c_str());
  ASSERT_NE(made, nullptr) << IW_strerror();
  ASSERT_EQ(IW_close_segment(made), 0) << IW_strerror();
  EXPECT_EQ(IW_mip_to_ptr(none.c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_BLOCK) << IW_strerror();
  server.kill();
  EXPECT_EQ(IW_mip_to_ptr(none.c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_EUNREACHABLE) << IW_strerror();
  server.start();
  ASSERT_TRUE(server.good());
  const IW_handle_t again = IW_open_segment(url.c_str());
  ASSERT_NE(again, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(again), 0) << IW_strerror();
}

// A segment here leads to one of a server that is away when the pointer arrives.
class HealedStubs : public Servers {
 protected:
  void SetUp() override {
    ASSERT_TRUE(here_.good() && there_.good());
    url_ = here_.url("/from");
    const IW_handle_t far = IW_open_segment(there_.url("/to").c_str());
    const IW_handle_t near = IW_open_segment(url_.c_str());
    ASSERT_TRUE(far != nullptr && near != nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(far), 0) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(near), 0) << IW_strerror();
    auto* const target = static_cast<Stop*>(IW_malloc_named(far, &stop_type, "target"));
    auto* const row = static_cast<Stop*>(IW_malloc_array(near, &stop_type, 5, "row"));
    ASSERT_TRUE(target != nullptr && row != nullptr) << IW_strerror();
    target->key = 42;
    row[3].next = target;
    ASSERT_EQ(IW_wl_release(far), 0) << IW_strerror();
    ASSERT_EQ(IW_wl_release(near), 0) << IW_strerror();
    ASSERT_EQ(IW_close_segment(far), 0) << IW_strerror();
    ASSERT_EQ(IW_close_segment(near), 0) << IW_strerror();
    there_.kill();
    near_ = IW_open_segment(url_.c_str());
    ASSERT_NE(near_, nullptr) << IW_strerror();
    ASSERT_EQ(IW_rl_acquire(near_), 0) << IW_strerror();
    row_ = static_cast<Stop*>(IW_mip_to_ptr((url_ + "#row").c_str()));
    ASSERT_NE(row_, nullptr) << IW_strerror();
    stub_ = row_[3].next;
    ASSERT_NE(stub_, nullptr);
    ASSERT_EQ(IW_rl_release(near_), 0);
  }
  void TearDown() override { EXPECT_EQ(IW_close_segment(near_), 0) << IW_strerror(); }

  // Under a lock of near_.
  void expect_healed() {
    ASSERT_NE(row_[3].next, stub_);
    EXPECT_EQ(row_[3].next, IW_mip_to_ptr((there_.url("/to") + "#target").c_str()));
    const IW_handle_t far = IW_open_segment(there_.url("/to").c_str());
    ASSERT_NE(far, nullptr) << IW_strerror();
    ASSERT_EQ(IW_rl_acquire(far), 0) << IW_strerror();
    EXPECT_EQ(row_[3].next->key, 42);
    ASSERT_EQ(IW_rl_release(far), 0);
    EXPECT_EQ(IW_close_segment(far), 0) << IW_strerror();
  }

  const TemporaryDirectory store_;
  Server here_;
  Server there_{{"--store", store_.path()}};
  std::string url_;
  IW_handle_t near_ = nullptr;
  Stop* row_ = nullptr;
  const Stop* stub_ = nullptr;
};

TEST_F(HealedStubs, Stub1AFreshAcquireGivesAPointerItsAddressOnceTheServerIsBack) {
  ASSERT_EQ(IW_rl_acquire_for(near_, 30, IW_FRESH), 0) << IW_strerror();
  EXPECT_EQ(row_[3].next, stub_) << "the server is still away";
  ASSERT_EQ(IW_rl_release(near_), 0);
  there_.start();
  ASSERT_EQ(IW_rl_acquire_for(near_, 30, IW_FRESH), 0) << IW_strerror();
  expect_healed();
  EXPECT_EQ(IW_version(near_), 1u);
  ASSERT_EQ(IW_rl_release(near_), 0);
}

TEST_F(HealedStubs, Stub1APlainAcquireDoesSoonAfter) {
  there_.start();
  do {
    ASSERT_EQ(IW_rl_acquire(near_), 0) << IW_strerror();
    if (row_[3].next != stub_) break;
    ASSERT_EQ(IW_rl_release(near_), 0);
  } while (true);
  expect_healed();
  ASSERT_EQ(IW_rl_release(near_), 0);
}

}  // namespace

}  // namespace iw::test
