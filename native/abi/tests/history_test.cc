// A server whose store has lost versions, or was put back to an earlier state, gives their numbers
// again with another content. A copy that has such a number is replaced whole [COH-11].
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

namespace fs = std::filesystem;

constexpr int count = 1000;

void release_with(IW_handle_t segment, int* numbers, int value) {
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  for (int i = 0; i < count; ++i) numbers[i] = value;
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
}

int* begin(IW_handle_t segment) {
  EXPECT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, count, "numbers"));
  EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  return numbers;
}

void copy_store(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

// Changes one bit of the last record's content in the newest log file, and takes away what else
// knows of the log's end, so that the record passes for one that was never whole.
void lose_last_record(const fs::path& store) {
  fs::path newest;
  for (const fs::directory_entry& entry : fs::directory_iterator(store)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".iww") fs::remove(path);
    if (path.extension() == ".iwl" && path.filename() > newest.filename()) newest = path;
  }
  std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t last = bytes.find_last_not_of('\0');
  ASSERT_NE(last, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(last));
  file.put(static_cast<char>(bytes[last] ^ 2));
  file.close();
}

// The copy of version 3 and the server's other version 3.
void expect_replaced(IW_handle_t segment, const int* numbers, int value) {
  const std::uint64_t before = stats_of(segment).full_copies;
  ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 3u);
  EXPECT_EQ(numbers[0], value);
  EXPECT_EQ(numbers[count - 1], 2) << "of the lost version nothing is left";
  ASSERT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(stats_of(segment).full_copies, before + 1);
}

TEST(History, Coh11ALostVersionsNumberWithAnotherContentReplacesTheCopy) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = IW_open_segment(server.url("/forked").c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  int* const numbers = begin(segment);
  release_with(segment, numbers, 2);
  release_with(segment, numbers, 30);
  ASSERT_EQ(IW_version(segment), 3u);
  server.kill();
  lose_last_record(store.path());
  server.start();
  ASSERT_TRUE(server.good());
  Agent other;
  ASSERT_EQ(other.tell("open " + server.url("/forked")), "ok");
  ASSERT_EQ(other.tell("add numbers 0 1"), "ok");

  expect_replaced(segment, numbers, 3);
  release_with(segment, numbers, 5);
  EXPECT_EQ(IW_version(segment), 4u);
  ASSERT_EQ(other.tell("rl"), "ok");
  EXPECT_EQ(other.tell("get numbers 0"), "5");
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(History, Coh11AWriterWithTheLostVersionBeginsFromTheOtherOne) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = IW_open_segment(server.url("/forked").c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  int* const numbers = begin(segment);
  release_with(segment, numbers, 2);
  release_with(segment, numbers, 30);
  server.kill();
  lose_last_record(store.path());
  server.start();
  ASSERT_TRUE(server.good());
  Agent other;
  ASSERT_EQ(other.tell("open " + server.url("/forked")), "ok");
  ASSERT_EQ(other.tell("add numbers 0 1"), "ok");

  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(numbers[0], 3);
  EXPECT_EQ(numbers[1], 2);
  ++numbers[0];
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 4u);
  ASSERT_EQ(other.tell("rl"), "ok");
  EXPECT_EQ(other.tell("get numbers 0"), "4");
  EXPECT_EQ(other.tell("get numbers 1"), "2");
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(History, Coh11AnEarlierStateOfTheStoreThatWasCopiedBackReplacesTheCopy) {
  const TemporaryDirectory store;
  const TemporaryDirectory saved;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = IW_open_segment(server.url("/restored").c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  int* const numbers = begin(segment);
  release_with(segment, numbers, 2);
  server.kill();
  copy_store(store.path(), saved.path());
  server.start();
  ASSERT_TRUE(server.good());
  release_with(segment, numbers, 30);
  ASSERT_EQ(IW_version(segment), 3u);
  server.kill();
  copy_store(saved.path(), store.path());
  server.start();
  ASSERT_TRUE(server.good());

  Agent other;
  ASSERT_EQ(other.tell("open " + server.url("/restored")), "ok");
  ASSERT_EQ(other.tell("add numbers 0 1"), "ok");
  expect_replaced(segment, numbers, 3);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// The server is behind the copy, of the same incarnation.
TEST(History, Lost1ACopyAheadOfAStoreThatWasCopiedBackIsLostUntilItIsReopened) {
  const TemporaryDirectory store;
  const TemporaryDirectory saved;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = IW_open_segment(server.url("/restored").c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  int* const numbers = begin(segment);
  release_with(segment, numbers, 2);
  server.kill();
  copy_store(store.path(), saved.path());
  server.start();
  ASSERT_TRUE(server.good());
  release_with(segment, numbers, 30);
  server.kill();
  copy_store(saved.path(), store.path());
  server.start();
  ASSERT_TRUE(server.good());

  EXPECT_EQ(IW_rl_acquire(segment), IW_ESEGMENT_LOST);
  EXPECT_EQ(numbers[0], 30) << "what was lost can still be read";
  const IW_handle_t again = IW_open_segment(server.url("/restored").c_str());
  ASSERT_NE(again, nullptr) << IW_strerror();
  ASSERT_EQ(IW_rl_acquire(again), 0) << IW_strerror();
  EXPECT_EQ(IW_version(again), 2u);
  const auto* const restored = static_cast<const int*>(IW_next_block(again, nullptr));
  ASSERT_NE(restored, nullptr);
  EXPECT_EQ(restored[0], 2);
  EXPECT_EQ(IW_rl_release(again), 0);
  EXPECT_EQ(IW_close_segment(again), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

}  // namespace
}  // namespace iw::test
