// A server whose store has lost versions, or was put back to an earlier state, gives their numbers
// again with another content. A copy that has such a number is replaced whole [COH-11].
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "abi/tests/restarting.h"

namespace iw::test {
namespace {

namespace fs = std::filesystem;

class History : public Restarting {
 protected:
  History() : Restarting(Store::on_disk) {}

  // Version 1 has 7, version 2 has 2 and version 3 has 30, but is lost: a new process makes another
  // version 3, which has one 3 and otherwise 2.
  IW_handle_t fork() {
    const IW_handle_t segment = open_with_numbers();
    release_with(segment, 2);
    release_with(segment, 30);
    EXPECT_EQ(IW_version(segment), 3u);
    server_.kill();
    lose_last_record();
    server_.start();
    EXPECT_TRUE(server_.good());
    make_another_version();
    return segment;
  }

  void make_another_version() {
    ASSERT_EQ(other_.tell("open " + url_), "ok");
    ASSERT_EQ(other_.tell("add numbers 0 1"), "ok");
  }

  // Changes one bit of the last record's content in the newest log file, and takes away what else
  // knows of the log's end, so that the record passes for one that was never whole.
  void lose_last_record() {
    fs::path newest;
    for (const fs::directory_entry& entry : fs::directory_iterator(store_.path())) {
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
  void expect_replaced(IW_handle_t segment) {
    const std::uint64_t before = stats_of(segment).full_copies;
    ASSERT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
    EXPECT_EQ(IW_version(segment), 3u);
    EXPECT_EQ(numbers_[0], 3);
    EXPECT_EQ(numbers_[count - 1], 2) << "of the lost version nothing is left";
    ASSERT_EQ(IW_rl_release(segment), 0);
    EXPECT_EQ(stats_of(segment).full_copies, before + 1);
  }

  Agent other_;
};

TEST_F(History, Coh11ALostVersionsNumberWithAnotherContentReplacesTheCopy) {
  const IW_handle_t segment = fork();
  expect_replaced(segment);
  release_with(segment, 5);
  EXPECT_EQ(IW_version(segment), 4u);
  ASSERT_EQ(other_.tell("rl"), "ok");
  EXPECT_EQ(other_.tell("get numbers 0"), "5");
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(History, Coh11AWriterWithTheLostVersionBeginsFromTheOtherOne) {
  const IW_handle_t segment = fork();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(numbers_[0], 3);
  EXPECT_EQ(numbers_[1], 2);
  ++numbers_[0];
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 4u);
  ASSERT_EQ(other_.tell("rl"), "ok");
  EXPECT_EQ(other_.tell("get numbers 0"), "4");
  EXPECT_EQ(other_.tell("get numbers 1"), "2");
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(History, Coh11AnEarlierStateOfTheStoreThatWasCopiedBackReplacesTheCopy) {
  const IW_handle_t segment = open_with_numbers();
  release_with(segment, 2);
  save();
  release_with(segment, 30);
  ASSERT_EQ(IW_version(segment), 3u);
  restore();
  make_another_version();
  expect_replaced(segment);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// The server is behind the copy, of the same incarnation.
TEST_F(History, Lost1ACopyAheadOfAStoreThatWasCopiedBackIsLostUntilItIsReopened) {
  const IW_handle_t segment = open_with_numbers();
  release_with(segment, 2);
  save();
  release_with(segment, 30);
  restore();
  EXPECT_EQ(IW_rl_acquire(segment), IW_ESEGMENT_LOST);
  EXPECT_EQ(numbers_[0], 30) << "what was lost can still be read";
  const IW_handle_t again = open();
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
