// A server that is killed and comes back with all that it had, with an earlier state of its store,
// or with nothing; and a segment `/kept` with one block, `numbers`.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {

class Restarting : public ::testing::Test {
 protected:
  static constexpr std::size_t count = 1000;
  enum class Store { in_memory, on_disk };

  explicit Restarting(Store store)
      : server_({"--store", store == Store::on_disk ? store_.path() : "memory"}),
        url_(server_.url("/kept")) {}

  void SetUp() override { ASSERT_TRUE(server_.good()); }

  IW_handle_t open(int durability = IW_SYNCED, unsigned flags = IW_CREATE) const {
    IW_open_options options{};
    options.size = sizeof options;
    options.flags = flags;
    options.durability = durability;
    return IW_open_segment_with(url_.c_str(), &options);
  }

  // Opened, with version 1: all numbers are this one.
  IW_handle_t open_with_numbers(int durability = IW_SYNCED, int value = 7) {
    const IW_handle_t segment = open(durability);
    EXPECT_NE(segment, nullptr) << IW_strerror();
    numbers_ = make_numbers(segment, value);
    return segment;
  }

  static int* make_numbers(IW_handle_t segment, int value = 7) {
    EXPECT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
    auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, count, "numbers"));
    EXPECT_NE(numbers, nullptr) << IW_strerror();
    for (std::size_t i = 0; numbers != nullptr && i < count; ++i) numbers[i] = value;
    EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
    return numbers;
  }

  void release_with(IW_handle_t segment, int value) const {
    ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
    for (std::size_t i = 0; i < count; ++i) numbers_[i] = value;
    ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  }

  void restart() {
    server_.kill();
    server_.start();
    ASSERT_TRUE(server_.good());
  }

  // Saves the server's present state for `restore`.
  void save() {
    server_.kill();
    copy_store(store_.path(), saved_.path());
    server_.start();
    ASSERT_TRUE(server_.good());
  }

  void restore() {
    server_.kill();
    copy_store(saved_.path(), store_.path());
    server_.start();
    ASSERT_TRUE(server_.good());
  }

  static void copy_store(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  }

  TemporaryDirectory store_;
  TemporaryDirectory saved_;
  Server server_;
  std::string url_;
  int* numbers_ = nullptr;  // of open_with_numbers
};

}  // namespace iw::test
