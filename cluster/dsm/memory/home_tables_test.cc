// Pages that are read in another rank's memory. Both ranks are of this process, which its own
// descriptors lead to. [DSM-PAGE-9]
#include "dsm/memory/home_tables.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace iw::dsm {
namespace {

constexpr HomeTables::Shape home_shape{0, 3, 8, 4096};
constexpr HomeTables::Shape reader_shape{1, 3, 8, 4096};

class Direct : public ::testing::Test {
 protected:
  Direct() {
    EXPECT_EQ(ftruncate(heap_, 8 * 4096), 0);
    EXPECT_EQ(pwrite(heap_, "page 2", 6, 2 * 4096), 6);
  }
  ~Direct() override { close(heap_); }
  std::span<const std::byte> find(PageNumber page, std::vector<Stamp> needed) {
    return reader_->find(0, page, needed, &there_);
  }

  const int heap_ = memfd_create("heap of a test", MFD_CLOEXEC);
  std::unique_ptr<HomeTables> home_ = HomeTables::make(home_shape);
  std::unique_ptr<HomeTables> reader_ = HomeTables::make(reader_shape);
  std::vector<Stamp> there_;
};

TEST_F(Direct, APageIsReadWhenItsHomeHasWhatIsNeeded) {
  reader_->may_reach(0, home_->memory(heap_));
  EXPECT_TRUE(find(2, {}).empty()) << "the home has no bytes";
  home_->tell_present(2);
  const auto bytes = find(2, {{0, 99}});
  ASSERT_EQ(bytes.size(), 4096u);
  EXPECT_EQ(std::memcmp(bytes.data(), "page 2", 6), 0);
  EXPECT_TRUE(find(2, {{2, 5}}).empty()) << "a diff is missing";
  home_->tell_flushed(2, {2, 4});
  EXPECT_TRUE(find(2, {{2, 5}}).empty()) << "an older one has come";
  home_->tell_flushed(2, {2, 6});
  EXPECT_FALSE(find(2, {{2, 5}}).empty());
  EXPECT_EQ(there_, (std::vector<Stamp>{{2, 6}}));
  EXPECT_TRUE(find(3, {}).empty()) << "another page";
}

// [DSM-PAGE-10]
TEST_F(Direct, AHomeLearnsOfTheFirstReaderOfAPage) {
  reader_->may_reach(0, home_->memory(heap_));
  EXPECT_FALSE(home_->has_new_readers());
  home_->tell_present(2);
  reader_->tell_reader(0, 2);
  EXPECT_TRUE(home_->has_new_readers());
  EXPECT_FALSE(home_->has_new_readers()) << "it was told already";
  EXPECT_TRUE(home_->is_read(2));
  EXPECT_FALSE(home_->is_read(3));
  EXPECT_FALSE(find(2, {}).empty()) << "its bytes are there as before";
}

// [DSM-PAGE-11]
TEST_F(Direct, TheFirstRankThatLooksForAHomeBecomesIt) {
  EXPECT_EQ(reader_->find_home(0, 6, 1), std::nullopt) << "the directory is out of reach";
  reader_->may_reach(0, home_->memory(heap_));
  EXPECT_EQ(reader_->find_home(0, 6, 1), Rank{1});
  EXPECT_EQ(home_->find_home(0, 6, 2), Rank{1});
  EXPECT_EQ(home_->find_home(0, 3, 2), Rank{2});
  EXPECT_EQ(reader_->find_home(0, 3, 1), Rank{2});
}

// [DSM-PAGE-11]
TEST_F(Direct, InitialBytesAreReadAtRank0) {
  EXPECT_FALSE(reader_->find_initial(2).has_value());
  reader_->may_reach(0, home_->memory(heap_));
  home_->tell_initial_bytes(2);
  EXPECT_EQ(std::memcmp(reader_->find_initial(2).value().data(), "page 2", 6), 0);
  EXPECT_TRUE(reader_->find_initial(3).value().empty()) << "zeroes";
}

TEST_F(Direct, ARankThatWasNotToldOfIsNotRead) {
  home_->tell_present(2);
  EXPECT_TRUE(find(2, {}).empty());
}

TEST_F(Direct, FilesOfAnotherProcessAreNotRead) {
  home_->tell_present(2);
  Memory memory = home_->memory(heap_);
  memory.nonce[0]++;
  reader_->may_reach(0, memory);
  EXPECT_TRUE(find(2, {}).empty()) << "another nonce";
  memory = home_->memory(heap_);
  memory.table_file = static_cast<std::uint32_t>(heap_);
  reader_->may_reach(0, memory);
  EXPECT_TRUE(find(2, {}).empty()) << "a file of another size";
  memory = home_->memory(-1);
  reader_->may_reach(0, memory);
  EXPECT_TRUE(find(2, {}).empty()) << "no such file";
}

}  // namespace
}  // namespace iw::dsm
