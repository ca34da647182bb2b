// Diffs that stay at their writers [DSM-PULL-1] [DSM-PULL-2].
#include <utility>

#include "dsm/protocol/programs_fixture.h"
#include "testing/seed.h"

namespace iw::dsm {
namespace {

// [DSM-PULL-1] The home asks: for itself, for a reader, and for nothing that it has.
TEST(AllOrders, DiffsThatStayAtTheirWriterAreSeen) {
  constexpr Switches pulls{.diffs = {.are_pulled = true}};
  const auto is_pulled = [](World& world) { EXPECT_EQ(world.diffs, 1u); };
  const Program home = {load(0), barrier(1), barrier(2), load(0)};
  const Program writes = {barrier(1), store(0, 7), barrier(2), load(0)};
  EXPECT_GT(run_all_orders({home, writes}, {}, pulls, 2, is_pulled), 3u);
  const Program keeps = {load(0), barrier(1), barrier(2)};
  const Program reads = {barrier(1), barrier(2), load(0)};
  EXPECT_GT(run_all_orders({keeps, writes, reads}, {}, pulls, 3), 3u);
  const auto stays = [](World& world) { EXPECT_EQ(world.diffs, 0u); };
  const Program only_writes = {barrier(1), store(0, 7), barrier(2)};
  EXPECT_GT(run_all_orders({keeps, only_writes}, {}, pulls, 2, stays), 3u);
}

// Two intervals under a lock, and the writer's own page again.
TEST(AllOrders, ALockBringsDiffsThatStayAtTheirWriter) {
  constexpr Switches pulls{.diffs = {.are_pulled = true}};
  const Program home = {load(0), barrier(1), acquire(3), store(0, 1), release(3)};
  const Program other = {barrier(1), acquire(4), store(1, 2), release(4),
                         acquire(3), load(0),    load(1),     release(3)};
  EXPECT_GT(run_all_orders({home, other}, {}, pulls), 20u);
}

// [DSM-PULL-2]
TEST(AllOrders, AReaderThatLacksOneWritersDiffsAsksTheWriter) {
  constexpr Switches reads_writers{.diffs = {.are_read_at_writers = true}};
  std::size_t reads = 0;
  const auto count = [&](World& world) { reads += world.rank(1).pages.counts().writer_reads; };
  const Program home = {load(0), barrier(1), barrier(2)};
  const Program reader = {barrier(1), load(1), barrier(2), load(0)};
  const Program writer = {barrier(1), store(0, 7), barrier(2)};
  EXPECT_GT(run_all_orders({home, reader, writer}, {5}, reads_writers, 3, count), 20u);
  EXPECT_GT(reads, 0u);
}

// A rank that has a diff from its writer stores behind it. The home gets the two in their order.
// There are too many orders to run them all.
TEST(SomeOrders, AStoreBehindADiffThatWasReadAtItsWriterComesToTheHomeBehindIt) {
  std::mt19937 random = testing::seeded_random();
  const Program home = {load(0), barrier(1), barrier(2), barrier(3), load(0)};
  const Program first = {barrier(1), store(0, 7), barrier(2), barrier(3)};
  const Program second = {barrier(1), load(1), barrier(2), load(0), store(0, 8), barrier(3)};
  std::size_t reads = 0;
  for (int i = 0; i < 1000 && !HasFailure(); i++) {
    const Switches switches{.diffs = {.are_pulled = i % 2 == 0, .are_read_at_writers = true}};
    auto world = world_of({home, first, second}, 3, 1, {5}, switches);
    run(*world, [&](std::size_t of) { return random() % of; });
    reads += world->rank(2).pages.counts().writer_reads;
  }
  EXPECT_GT(reads, 0u);
}

// The writer keeps no diff, so the home is asked after all. [DSM-PULL-2]
TEST(Diffs, ThatTheWriterHasNoMoreComeFromTheHome) {
  Switches forgets{.diffs = {.are_read_at_writers = true, .kept_bytes_most = 0}};
  const Program home = {load(0), barrier(1), barrier(2), barrier(3)};
  const Program reader = {barrier(1), load(0), barrier(2), barrier(3), load(0)};
  const Program writer = {barrier(1), barrier(2), store(0, 7), barrier(3)};
  auto world = world_of({home, reader, writer}, 3, 1, {}, forgets);
  run(*world, [](std::size_t) { return 0; });
  EXPECT_EQ(world->rank(1).pages.counts().writer_reads, 0u);
  EXPECT_EQ(world->rank(2).pages.counts().kept_bytes, 0u);
}

// More than may be kept go to the home. [DSM-PULL-1]
TEST(Diffs, ThatStayAtTheirWriterAreBounded) {
  Program writes = {barrier(0)};
  for (BarrierId number = 1; number <= 100; number++) {
    append(&writes, {store(number % 16, static_cast<Word>(number)), barrier(number)});
  }
  Program home = {load(0), load(4), load(8), load(12)};
  for (BarrierId number = 0; number <= 100; number++) home.push_back(barrier(number));
  // Of two pages and their diffs.
  constexpr std::size_t most = 2000;
  auto world =
      world_of({home, writes}, 2, 4, {}, {.diffs = {.are_pulled = true, .kept_bytes_most = most}});
  run(*world, [](std::size_t) { return 0; });
  const PageCounts counts = world->rank(1).pages.counts();
  EXPECT_LE(counts.kept_bytes, most);
  EXPECT_LT(counts.kept_bytes_most, 2 * most);
  EXPECT_GT(counts.kept_bytes, 0u);
  EXPECT_LT(world->diffs, 100u) << "some are kept still";
}

// Rank 1 of three by itself. Its page is at rank 0, and rank 2 writes to it.
class Reader : public ::testing::Test, PageMemory, PageMail, PageListener {
 protected:
  static constexpr Rank home = 0, me = 1, writer = 2;
  static constexpr PageNumber page = 0;

  void begin() {
    pages_.use({.are_read_at_writers = true}, diffs_of_a_page_most);
    pages_.begin({}, 0);
    pages_.place(page, 2, home);
  }
  // The home answers with the intervals of the writer up to `there`.
  void fetch(PageNumber number, Sequence there) {
    EXPECT_EQ(pages_.touch(number, Access::read), Pages::Touch::asked);
    answer(number, there);
    EXPECT_EQ(pages_.touch(number, Access::read), Pages::Touch::open);
  }
  void answer(PageNumber number, Sequence there) {
    const std::vector<Stamp> stamps = {{writer, there}};
    EXPECT_TRUE(pages_.heard_tell_page(home, number, stamps, bytes_));
  }
  void learn(Sequence sequence, std::vector<PageNumber> changed = {page}) {
    const Interval interval{{writer, sequence}, std::move(changed)};
    pages_.learn(std::span(&interval, 1));
  }
  // The writer has one diff, of the interval.
  void read_at_writer(PageNumber number, Sequence sequence) {
    EXPECT_EQ(pages_.touch(number, Access::read), Pages::Touch::asked);
    const Pages::ToldDiff told{sequence, runs_};
    EXPECT_TRUE(pages_.heard_tell_diffs(writer, number, std::span(&told, 1)));
    EXPECT_EQ(pages_.touch(number, Access::read), Pages::Touch::open);
  }

  void allow(PageNumber number, std::size_t count, Access access) override {
    for (; count > 0; count--) access_[number++] = access;
  }
  bool make_twin(PageNumber) override { return true; }
  std::span<const std::byte> take_diff(PageNumber) override { return runs_; }
  bool apply(PageNumber, std::span<const std::byte>) override {
    applied_++;
    return true;
  }
  std::span<const std::byte> read(PageNumber) override { return bytes_; }
  void fill(PageNumber, std::span<const std::byte>) override {}
  void give_back(PageNumber, std::size_t) override {}
  void ready(PageNumber) override {}
  void needs_no_interval(Rank, PageNumber) override {}
  void ask_home(Rank, PageNumber) override {}
  void tell_home(Rank, PageNumber, Rank) override {}
  void ask_initial(Rank, PageNumber) override {}
  void tell_initial(Rank, PageNumber, std::span<const std::byte>) override {}
  void ask_page(Rank, PageNumber, std::span<const Stamp> needed) override {
    asked_home_.assign(needed.begin(), needed.end());
    home_questions_++;
  }
  void tell_page(Rank, PageNumber, std::span<const Stamp>, std::span<const std::byte>) override {}
  void send_diff(Rank, PageNumber, Sequence, std::span<const std::byte>) override {}
  void flush_diffs() override {}
  void pull_diffs(Rank, PageNumber, Sequence, Rank) override {}
  void ask_diffs(Rank to, PageNumber, const DiffRange& range) override {
    EXPECT_EQ(to, writer);
    asked_writer_ = range;
  }
  void tell_diffs(Rank, PageNumber, std::span<const KeptDiff* const>) override {}

  std::vector<std::byte> bytes_ = std::vector<std::byte>(page_bytes);
  std::vector<std::byte> runs_ = std::vector<std::byte>(5);
  Access access_[2] = {};
  std::vector<Stamp> asked_home_;
  DiffRange asked_writer_;
  int home_questions_ = 0;
  int applied_ = 0;
  Pages pages_{me, 3, *this, *this, *this};
};

// The home's bytes had interval 1 when its notice came. This rank may have stored behind it since.
// [DSM-PULL-2]
TEST_F(Reader, DoesNotAskForAnIntervalThatTheHomesBytesHad) {
  begin();
  EXPECT_EQ(pages_.touch(page, Access::read), Pages::Touch::asked);
  learn(1);
  answer(page, 1);
  learn(2);
  read_at_writer(page, 2);
  EXPECT_EQ(asked_writer_.first, 2u);
  EXPECT_EQ(asked_writer_.count, 1u);
}

// [DSM-PULL-2]
TEST_F(Reader, FetchesThePageBeforeItStoresBehindADiffOfTheWriter) {
  begin();
  fetch(page, 0);
  learn(1);
  read_at_writer(page, 1);
  EXPECT_EQ(home_questions_, 1);
  EXPECT_EQ(pages_.touch(page, Access::write), Pages::Touch::asked);
  EXPECT_EQ(access_[page], Access::none);
  EXPECT_EQ(asked_home_, (std::vector<Stamp>{{writer, 1}}));
  answer(page, 1);
  EXPECT_EQ(pages_.touch(page, Access::write), Pages::Touch::open);
}

// [DSM-PULL-2] [DSM-COPY-1]
TEST_F(Reader, OpensNoPageForStoresAheadThatHasADiffOfTheWriter) {
  constexpr PageNumber second = page + 1;
  begin();
  pages_.look_ahead_from(0);
  for (const PageNumber each : {page, second}) {
    fetch(each, 0);
    EXPECT_EQ(pages_.touch(each, Access::write), Pages::Touch::open);
  }
  pages_.end_interval();
  learn(1, {second});
  read_at_writer(second, 1);
  EXPECT_EQ(pages_.touch(page, Access::write), Pages::Touch::open);
  EXPECT_EQ(access_[second], Access::read);
}

// The home may not have the diff yet. [DSM-PULL-2] [DSM-COPY-2]
TEST_F(Reader, AsksTheHomeForTheDiffsOfACopyThatItGaveUp) {
  begin();
  pages_.limit_copies(1);
  fetch(page, 0);
  learn(1);
  read_at_writer(page, 1);
  fetch(page + 1, 0);
  EXPECT_EQ(access_[page], Access::none);
  EXPECT_EQ(pages_.touch(page, Access::read), Pages::Touch::asked);
  EXPECT_EQ(asked_home_, (std::vector<Stamp>{{writer, 1}}));
}

// [DSM-MAIL-1]
TEST_F(Reader, RefusesDiffsThatItDidNotAskFor) {
  begin();
  fetch(page, 0);
  const Pages::ToldDiff first{1, runs_}, second{2, runs_}, third{3, runs_};
  const auto is_taken = [&](Rank from, std::vector<Pages::ToldDiff> told) {
    return pages_.heard_tell_diffs(from, page, told);
  };
  EXPECT_FALSE(is_taken(writer, {first})) << "nobody asked";
  learn(1);
  learn(2);
  EXPECT_EQ(pages_.touch(page, Access::read), Pages::Touch::asked);
  EXPECT_FALSE(is_taken(home, {first, second})) << "another rank was asked";
  EXPECT_FALSE(is_taken(writer, {first})) << "one is missing";
  EXPECT_FALSE(is_taken(writer, {first, third})) << "another one";
  EXPECT_FALSE(is_taken(writer, {second, first})) << "another order";
  EXPECT_FALSE(pages_.heard_tell_page(home, page, {}, bytes_)) << "the home was not asked";
  const std::span<const std::byte> cut_short = std::span(runs_).first(3);
  EXPECT_FALSE(is_taken(writer, {first, {2, cut_short}})) << "the second one is not whole";
  EXPECT_EQ(applied_, 0);
  EXPECT_TRUE(is_taken(writer, {first, second}));
  EXPECT_FALSE(is_taken(writer, {first, second})) << "they came before";
}

}  // namespace
}  // namespace iw::dsm
