// Messages that another process might send are taken or refused as a whole. [DSM-MAIL-1]
#include "dsm/protocol/messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "dsm/protocol/pages.h"

namespace iw::dsm {
namespace {

constexpr Bounds bounds{3, 100};
constexpr std::size_t page_bytes = 4096;
using Bytes = std::span<const std::byte>;

TEST(Messages, IntervalsComeBackAsTheyWere) {
  const std::vector<Interval> intervals = {{{1, 5}, {7, 8, 99}}, {{2, 1}, {}}};
  std::vector<std::byte> bytes;
  append_time({1, 2, 3}, &bytes);
  append_intervals(intervals, &bytes);
  Bytes rest = bytes;
  VectorTime time;
  std::vector<Interval> read;
  ASSERT_TRUE(take_time(bounds, &rest, &time));
  EXPECT_EQ(time, (VectorTime{1, 2, 3}));
  ASSERT_TRUE(read_intervals(bounds, rest, &read));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].stamp, (Stamp{1, 5}));
  EXPECT_EQ(read[0].pages, (std::vector<PageNumber>{7, 8, 99}));
  EXPECT_TRUE(read[1].pages.empty());
}

TEST(Messages, IntervalsOfStrangeRanksOrPagesAreRefused) {
  const auto is_read = [](const Interval& interval, std::size_t cut) {
    std::vector<std::byte> bytes;
    append_intervals(std::span(&interval, 1), &bytes);
    std::vector<Interval> read;
    return read_intervals(bounds, Bytes(bytes).first(bytes.size() - cut), &read);
  };
  EXPECT_TRUE(is_read({{2, 1}, {99}}, 0));
  EXPECT_FALSE(is_read({{3, 1}, {99}}, 0));
  EXPECT_FALSE(is_read({{2, 1}, {100}}, 0));
  for (std::size_t cut = 1; cut < 24; cut++) EXPECT_FALSE(is_read({{2, 1}, {99}}, cut));
}

TEST(Messages, AnIntervalWithMorePagesThanBytesTakesNoMemory) {
  const IntervalHead head{1, 0, 0xffffffff};
  std::vector<Interval> read;
  EXPECT_FALSE(read_intervals(bounds, fabric::bytes_of(head), &read));
}

TEST(Messages, StampsOfStrangeRanksAreRefused) {
  std::vector<std::byte> bytes;
  append_stamps(std::vector<Stamp>{{0, 9}, {2, 4}}, &bytes);
  FaultVector<Stamp> read;
  ASSERT_TRUE(read_stamps(bounds, bytes, &read));
  EXPECT_EQ(read, (FaultVector<Stamp>{{0, 9}, {2, 4}}));
  EXPECT_FALSE(read_stamps({2, 100}, bytes, &read));
  EXPECT_FALSE(read_stamps(bounds, Bytes(bytes).first(17), &read));
}

TEST(Messages, GivenLocksThatAreCutOrTooManyAreRefused) {
  const GivenLock given[] = {{7, 0, 0}, {8, 1, 0}};
  const Bytes bytes = std::as_bytes(std::span(given));
  std::vector<GivenLock> read;
  ASSERT_TRUE(read_given_locks(bytes, &read));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].lock, 8u);
  EXPECT_EQ(read[1].is_taken, 1u);
  EXPECT_FALSE(read_given_locks(bytes.first(bytes.size() - 1), &read));
  const std::vector<GivenLock> many(given_locks_max + 1);
  EXPECT_FALSE(read_given_locks(std::as_bytes(std::span(many)), &read));
  const GivenLock strange{7, 2, 0};
  EXPECT_FALSE(read_given_locks(fabric::bytes_of(strange), &read)) << "taken twice";
}

TEST(Messages, PiecesOfDiffsThatLieOutsideAreRefused) {
  const auto is_taken = [](DiffHead head, std::size_t behind) {
    std::vector<std::byte> bytes(sizeof head + behind);
    std::memcpy(bytes.data(), &head, sizeof head);
    Bytes rest = bytes;
    DiffPiece piece;
    return take_piece(bounds, page_bytes, &rest, &piece) && rest.empty();
  };
  EXPECT_TRUE(is_taken({99, 1, 20, 0, 20, 0}, 24));
  EXPECT_TRUE(is_taken({99, 1, 20, 8, 12, 0}, 16));
  EXPECT_FALSE(is_taken({100, 1, 20, 0, 20, 0}, 24));
  EXPECT_FALSE(is_taken({99, 1, 20, 0, 20, 0}, 20)) << "it is not filled up";
  EXPECT_FALSE(is_taken({99, 1, 20, 8, 20, 0}, 24)) << "it ends behind the diff";
  EXPECT_FALSE(is_taken({99, 1, 20, 24, 4, 0}, 8));
  EXPECT_FALSE(is_taken({99, 1, 20, 0, 0, 0}, 0)) << "it would never end";
  EXPECT_FALSE(is_taken({99, 1, 100'000, 0, 8, 0}, 8)) << "no page has such a diff";
}

// A rank takes only what it waits for. [DSM-MAIL-5]
class Refusals : public ::testing::Test, public PageMemory, public PageMail, public PageListener {
 protected:
  void allow(PageNumber, std::size_t, Access) override {}
  bool make_twin(PageNumber) override { return true; }
  std::span<const std::byte> take_diff(PageNumber) override { return std::span(page_).first(5); }
  bool apply(PageNumber, std::span<const std::byte>) override { return true; }
  std::span<const std::byte> read(PageNumber) override { return page_; }
  void fill(PageNumber, std::span<const std::byte>) override { fills_++; }
  void give_back(PageNumber, std::size_t) override {}
  void ready(PageNumber) override {}
  void needs_no_interval(Rank asker, PageNumber) override { named_ = asker; }
  void ask_home(Rank, PageNumber) override {}
  void tell_home(Rank, PageNumber, Rank) override {}
  void ask_initial(Rank, PageNumber) override {}
  void tell_initial(Rank, PageNumber, std::span<const std::byte>) override {}
  void ask_page(Rank, PageNumber, std::span<const Stamp>) override {}
  void tell_page(Rank, PageNumber, std::span<const Stamp>, std::span<const std::byte>) override {}
  void send_diff(Rank, PageNumber, Sequence, std::span<const std::byte>) override {}
  void flush_diffs() override {}
  void pull_diffs(Rank to, PageNumber, Sequence last, Rank asker) override {
    pulled_ = {to, last, asker};
  }
  void ask_diffs(Rank, PageNumber, const DiffRange&) override {}
  void tell_diffs(Rank, PageNumber, std::span<const KeptDiff* const>) override {}

  std::vector<std::byte> page_ = std::vector<std::byte>(page_bytes);
  int fills_ = 0;
  struct Pulled {
    Rank writer;
    Sequence last;
    Rank asker;
    friend bool operator==(const Pulled&, const Pulled&) = default;
  };
  std::optional<Pulled> pulled_;
  std::optional<Rank> named_;
  Pages pages_{0, 3, *this, *this, *this};
};

TEST_F(Refusals, ADiffCountsOnceAndAtTheHomeOnly) {
  pages_.begin({}, 100);
  pages_.place(0, 1, 0);
  pages_.place(1, 1, 2);
  EXPECT_FALSE(pages_.heard_diff(1, 0, 1, page_)) << "the home has no copy";
  ASSERT_EQ(pages_.touch(0, Access::read), Pages::Touch::open);
  EXPECT_TRUE(pages_.heard_diff(1, 0, 2, page_));
  EXPECT_FALSE(pages_.heard_diff(1, 0, 2, page_)) << "it came before";
  EXPECT_FALSE(pages_.heard_diff(1, 0, 1, page_)) << "it goes backwards";
  EXPECT_FALSE(pages_.heard_diff(1, 1, 1, page_)) << "the home is another";
  EXPECT_FALSE(pages_.heard_diff(1, 2, 1, page_)) << "the home is not known";
}

// [DSM-PULL-1]
TEST_F(Refusals, OnlyTheHomeAsksForAllDiffsAndOnlyWhereTheyStay) {
  pages_.begin({}, 100);
  pages_.place(1, 1, 2);
  ASSERT_EQ(pages_.touch(1, Access::read), Pages::Touch::asked);
  EXPECT_TRUE(pages_.heard_tell_page(2, 1, {}, page_));
  EXPECT_FALSE(pages_.heard_pull_diffs(2, 1, 1, 1)) << "they do not stay here";
  pages_.use({.are_pulled = true}, page_bytes);
  ASSERT_EQ(pages_.touch(1, Access::write), Pages::Touch::open);
  pages_.end_interval();
  EXPECT_FALSE(pages_.heard_pull_diffs(1, 1, 1, 1)) << "the home is another";
  EXPECT_TRUE(pages_.heard_pull_diffs(2, 1, 1, 1));
  EXPECT_FALSE(named_);
}

// The home cannot know what the writer has done since. [DSM-PULL-3]
TEST_F(Refusals, TheWriterNamesTheRankThatNeedsADiffThatNeverWas) {
  pages_.use({.are_pulled = true}, page_bytes);
  pages_.begin({}, 100);
  pages_.place(1, 1, 2);
  EXPECT_TRUE(pages_.heard_pull_diffs(2, 1, 1, 1)) << "the home is not to blame";
  EXPECT_EQ(named_, 1u) << "this rank never stored to the page";
  named_.reset();
  ASSERT_EQ(pages_.touch(1, Access::read), Pages::Touch::asked);
  EXPECT_TRUE(pages_.heard_tell_page(2, 1, {}, page_));
  ASSERT_EQ(pages_.touch(1, Access::write), Pages::Touch::open);
  pages_.end_interval();
  EXPECT_TRUE(pages_.heard_pull_diffs(2, 1, 2, 1));
  EXPECT_EQ(named_, 1u) << "nor in that interval";
}

// [DSM-PULL-3]
TEST_F(Refusals, AHomeTellsTheWriterWhoNeedsWhichInterval) {
  pages_.use({.are_pulled = true}, page_bytes);
  pages_.begin({}, 100);
  pages_.place(0, 1, 0);
  ASSERT_EQ(pages_.touch(0, Access::read), Pages::Touch::open);
  const Stamp forged{2, 1'000'000};
  EXPECT_TRUE(pages_.heard_ask_page(1, 0, std::span(&forged, 1)));
  EXPECT_EQ(pulled_, (Pulled{2, 1'000'000, 1}));
}

// [DSM-PAGE-5]
TEST_F(Refusals, AQuestionForAPageCountsOnceAndAtTheHomeOnly) {
  pages_.begin({}, 100);
  pages_.place(0, 1, 0);
  pages_.place(1, 1, 2);
  ASSERT_EQ(pages_.touch(0, Access::read), Pages::Touch::open);
  EXPECT_FALSE(pages_.heard_ask_page(1, 1, {})) << "the home is another";
  const Stamp future{0, 1};
  EXPECT_FALSE(pages_.heard_ask_page(1, 0, std::span(&future, 1))) << "of an interval of the home";
  const Stamp waits{2, 1};
  EXPECT_TRUE(pages_.heard_ask_page(1, 0, std::span(&waits, 1)));
  EXPECT_FALSE(pages_.heard_ask_page(1, 0, {})) << "the first one waits";
  EXPECT_TRUE(pages_.heard_diff(2, 0, 1, page_));
  EXPECT_TRUE(pages_.heard_ask_page(1, 0, {})) << "it was answered";
}

TEST_F(Refusals, AnswersCountOnlyIfTheyAreWaitedFor) {
  pages_.begin({}, 100);
  EXPECT_FALSE(pages_.heard_tell_home(1, 1)) << "nobody asked";
  EXPECT_FALSE(pages_.heard_tell_page(1, 1, {}, page_));
  EXPECT_FALSE(pages_.heard_tell_initial(1, page_));
  EXPECT_EQ(pages_.touch(1, Access::read), Pages::Touch::asked);
  EXPECT_FALSE(pages_.heard_tell_page(1, 1, {}, page_)) << "the home comes first";
  EXPECT_TRUE(pages_.heard_tell_home(1, 1));
  EXPECT_FALSE(pages_.heard_tell_page(2, 1, {}, page_)) << "another rank was asked";
  EXPECT_EQ(fills_, 0);
  EXPECT_TRUE(pages_.heard_tell_page(1, 1, {}, page_));
  EXPECT_FALSE(pages_.heard_tell_page(1, 1, {}, page_)) << "it came before";
  EXPECT_EQ(fills_, 1);
}

}  // namespace
}  // namespace iw::dsm
