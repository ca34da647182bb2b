// What every mechanism promises (tracker.h).
#include "track/tracker.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <thread>

#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

class TrackerContract : public EachTracker {};
IW_FOR_EACH_TRACKER(TrackerContract);

// At its beginning, past every area.
void write_to_file(int fd, std::size_t size_bytes, std::string_view text) {
  platform::Mapping mapping;
  platform::MapRequest request;
  request.fd = fd;
  request.size_bytes = size_bytes;
  ASSERT_TRUE(platform::map_file(request, mapping).ok());
  std::memcpy(mapping.begin(), text.data(), text.size());
}

TEST_P(TrackerContract, ANewAreaIsZeroAndNothingWasStored) {
  auto area = new_area(16);
  EXPECT_EQ(area->size_bytes(), 16 * platform::page_size());
  EXPECT_EQ(view_word(*area, 7), 0u);
  if (tracker().finds_pages()) {
    EXPECT_EQ(collected(*area), Pages{});
  }
}

TEST_P(TrackerContract, FindsThePagesStoredTo) {
  auto area = new_area(64);
  ASSERT_TRUE(area->arm().ok());
  for (std::size_t page : {3, 4, 10, 63}) view_word(*area, page, page) = 1;
  const Pages found = collected(*area);
  if (tracker().finds_pages()) {
    EXPECT_EQ(found, (Pages{3, 4, 10, 63}));
  } else {
    EXPECT_EQ(found.size(), 64u);
  }
  EXPECT_EQ(word_of(area->pristine(), 10, 10), 0u) << "the store reached the pristine copy";
}

TEST_P(TrackerContract, LoadsAreNotStores) {
  if (!tracker().finds_pages()) return;
  auto area = new_area(64);
  ASSERT_TRUE(area->arm().ok());
  std::uint32_t sum = 0;
  for (std::size_t page = 0; page < 64; ++page) sum += view_word(*area, page);
  EXPECT_EQ(sum, 0u);
  EXPECT_EQ(collected(*area), Pages{});
}

TEST_P(TrackerContract, CollectWatchesAgain) {
  auto area = new_area(8);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(area->arm().ok());
    view_word(*area, 5) = 100 + static_cast<std::uint32_t>(round);
    EXPECT_TRUE(collected(*area).contains(5));
    ASSERT_TRUE(commit_pages(*area, 5).ok());
    if (tracker().finds_pages()) {
      EXPECT_EQ(collected(*area), Pages{});
    }
  }
}

// The half of the no-diff mode that saves notices: [ICDCS'03 3.3].
class OpenPages : public EachTracker {
 protected:
  static constexpr std::size_t pages = 64;
  static constexpr int enough = 20;  // sections until the forecast has learned

  void TearDown() override { set_opening(OpeningRule::by_price); }

  // Stores another value to the first pages, and says which pages are listed.
  Pages section(Area& area, std::size_t stored) {
    EXPECT_TRUE(area.arm().ok());
    ++value_;
    for (std::size_t page = 0; page < stored; ++page) view_word(area, page) = value_;
    Pages found = collected(area);
    for (std::size_t page = 0; page < stored; ++page) EXPECT_TRUE(found.contains(page)) << page;
    EXPECT_TRUE(commit_pages(area, 0, stored).ok());
    EXPECT_EQ(std::memcmp(area.view(), area.pristine(), area.size_bytes()), 0);
    return found;
  }
  // What a writer does before it stores: a stray store is looked for.
  static Pages look(Area& area) { return collected(area); }

  std::uint32_t value_ = 0;
};
IW_FOR_EACH_TRACKER(OpenPages);

TEST_P(OpenPages, NoneIsOpenIfThatIsNotWanted) {
  auto area = new_area(pages);
  set_opening(OpeningRule::never);
  for (int i = 0; i < enough; ++i) {
    section(*area, pages);
    EXPECT_EQ(area->open_pages(), 0u);
  }
}

TEST_P(OpenPages, PagesStoredToAgainAndAgainAreOpenedAndOnlyThey) {
  auto area = new_area(pages);
  for (int i = 0; i < enough; ++i) {
    look(*area);
    section(*area, 10);
  }
  EXPECT_EQ(area->open_pages(), is_exact() ? 10u : 0u);
  look(*area);
  const Pages found = section(*area, 12);
  EXPECT_EQ(area->open_pages(), is_exact() ? 10u : 0u) << "the others were noticed";
  if (is_exact()) {
    EXPECT_EQ(found.size(), 12u);
  }
}

TEST_P(OpenPages, PagesThatAreNoLongerStoredToAreWatchedAgain) {
  auto area = new_area(pages);
  for (int i = 0; i < enough; ++i) section(*area, pages);
  EXPECT_EQ(area->open_pages(), is_exact() ? pages : 0u);
  const int bound = StoreForecast::keep_factor * StoreForecast::most_worth + 2;
  for (int i = 0; i < bound; ++i) section(*area, 1);
  EXPECT_LE(area->open_pages(), 1u);
  if (is_exact()) {
    EXPECT_EQ(section(*area, 5), (Pages{0, 1, 2, 3, 4}));
  }
}

TEST_P(OpenPages, AStrayStoreToAnOpenPageIsListedAndCanBeUndone) {
  auto area = new_area(pages);
  for (int i = 0; i < enough; ++i) section(*area, 10);
  view_word(*area, 7) = 4711;
  view_word(*area, 60) = 4711;
  const Pages found = look(*area);
  EXPECT_TRUE(found.contains(7));
  EXPECT_TRUE(found.contains(60));
  ASSERT_TRUE(rollback_pages(*area, 7).ok());
  ASSERT_TRUE(rollback_pages(*area, 60).ok());
  EXPECT_EQ(std::memcmp(area->view(), area->pristine(), area->size_bytes()), 0);
  section(*area, 10);
}

TEST_P(OpenPages, AppliedBytesShowOnOpenPages) {
  auto area = new_area(pages);
  for (int i = 0; i < enough; ++i) section(*area, 40);
  look(*area);
  for (const std::size_t page : {std::size_t{3}, std::size_t{50}}) {
    ASSERT_TRUE(apply_word(*area, page, 9, 77).ok());
  }
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 3, 9), 77u);
  EXPECT_EQ(view_word(*area, 50, 9), 77u);
  EXPECT_EQ(std::memcmp(area->view(), area->pristine(), area->size_bytes()), 0);
  std::byte* to = area->begin_apply(0, area->size_bytes());  // so much that pages are dropped
  for (std::size_t page = 0; page < pages; ++page) word_of(to, page, 1) = 2;
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(std::memcmp(area->view(), area->pristine(), area->size_bytes()), 0);
  section(*area, 40);
}

TEST_P(OpenPages, AllPagesEverStoredToCanBeOpened) {
  auto area = new_area(pages);
  const bool can_keep = GetParam() == "wp-async";
  for (const OpeningRule rule : {OpeningRule::all_each_section, OpeningRule::all_kept}) {
    set_opening(rule);
    section(*area, 20);
    const Pages found = section(*area, 1);
    EXPECT_EQ(area->open_pages(), is_exact() ? 20u : 0u);
    if (is_exact()) {
      EXPECT_EQ(found.size(), 20u);
      EXPECT_EQ(look(*area).size(), rule == OpeningRule::all_kept && can_keep ? 20u : 0u);
    }
  }
}

TEST_P(TrackerContract, AppliedBytesShowOnCleanPagesAndAreNotListed) {
  auto area = new_area(8);
  ASSERT_TRUE(apply_word(*area, 2, 3, 77).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 2, 3), 77u);
  if (tracker().finds_pages()) {
    EXPECT_EQ(collected(*area), Pages{});
  }
}

TEST_P(TrackerContract, AppliedBytesShowOnPrivatePagesAndAreNotListed) {
  auto area = new_area(8);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 2, 0) = 1;
  EXPECT_TRUE(collected(*area).contains(2));
  ASSERT_TRUE(commit_pages(*area, 2).ok());

  ASSERT_TRUE(apply_word(*area, 2, 3, 77).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 2, 0), 1u);
  EXPECT_EQ(view_word(*area, 2, 3), 77u);
  if (tracker().finds_pages()) {
    EXPECT_EQ(collected(*area), Pages{});
  }

  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 2, 4) = 2;
  EXPECT_TRUE(collected(*area).contains(2)) << "not watched any more after an apply";
}

TEST_P(TrackerContract, AppliesOverManyPrivatePagesAtOnce) {
  constexpr std::size_t pages = 200;
  auto area = new_area(pages);
  ASSERT_TRUE(area->arm().ok());
  for (std::size_t page = 0; page < pages; ++page) view_word(*area, page) = 1;
  EXPECT_EQ(collected(*area).size(), pages);
  ASSERT_TRUE(commit_pages(*area, 0, pages).ok());

  std::byte* to = area->begin_apply(0, area->size_bytes());
  ASSERT_NE(to, nullptr);
  for (std::size_t page = 0; page < pages; ++page) word_of(to, page, 1) = 2;
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(std::memcmp(area->view(), area->pristine(), area->size_bytes()), 0);
  EXPECT_EQ(view_word(*area, 150, 0), 1u);
  EXPECT_EQ(view_word(*area, 150, 1), 2u);
  if (tracker().finds_pages()) {
    EXPECT_EQ(collected(*area), Pages{});
  }

  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 150, 2) = 3;
  EXPECT_TRUE(collected(*area).contains(150));
  EXPECT_EQ(word_of(area->pristine(), 150, 2), 0u);
}

// The first bytes of a large area make its pages.
TEST_P(TrackerContract, LongBytesThatArriveFirstShowEverywhere) {
  constexpr std::size_t mib = 1 << 20;
  const std::size_t pages = 17 * mib / platform::page_size();
  for (const bool read_only : {false, true}) {
    auto area = new_area(pages, read_only);
    std::vector<std::uint32_t> words(3 * mib / sizeof(std::uint32_t));
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i + 1);
    const std::size_t offset = 2 * mib + 4;
    ASSERT_TRUE(area->apply(offset, words.data(), 3 * mib).ok());
    ASSERT_TRUE(area->apply(16 * mib, words.data(), mib).ok());
    EXPECT_FALSE(area->apply(16 * mib + 4, words.data(), mib).ok());
    ASSERT_TRUE(area->apply_done().ok());
    ASSERT_TRUE(area->apply(8 * mib, words.data(), 2 * mib).ok());
    ASSERT_TRUE(area->apply_done().ok());
    for (const std::byte* memory : {area->view(), area->pristine()}) {
      EXPECT_EQ(std::memcmp(memory + offset, words.data(), 3 * mib), 0);
      EXPECT_EQ(std::memcmp(memory + 8 * mib, words.data(), 2 * mib), 0);
      EXPECT_EQ(std::memcmp(memory + 16 * mib, words.data(), mib), 0);
    }
    EXPECT_EQ(word_of(area->view(), 0, 2 * mib / sizeof(std::uint32_t)), 0u);
    EXPECT_EQ(word_of(area->view(), 0, 5 * mib / sizeof(std::uint32_t) + 1), 0u);
  }
}

#if defined(__linux__)
std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_P(TrackerContract, FewLargeAreasKeepADescriptorAndNoneAfterItsFirstBytes) {
  const std::size_t pages = (16 << 20) / platform::page_size();
  const std::size_t before = open_descriptors();
  std::vector<std::unique_ptr<Area>> areas;
  for (int i = 0; i < 40; ++i) areas.push_back(new_area(pages, true));
  const std::size_t kept = open_descriptors() - before;
  EXPECT_LE(kept, 16u);
  for (const auto& area : areas) {
    ASSERT_TRUE(area->apply(0, "word", 4).ok());
    ASSERT_TRUE(area->apply_done().ok());
  }
  EXPECT_LE(open_descriptors(), before);
  areas.clear();
  const auto one = new_area(pages);
  ASSERT_TRUE(one->arm().ok());
  (void)collected(*one);
  EXPECT_LE(open_descriptors(), before + 1) << "the area's own, of its mechanism";
}
#endif

TEST_P(TrackerContract, CommitMovesOnlyTheGivenBytes) {
  auto area = new_area(4);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1, 0) = 10;
  view_word(*area, 1, 1) = 11;
  EXPECT_TRUE(collected(*area).contains(1));
  const PageRange first_word{platform::page_size(), platform::page_size() + 4};
  ASSERT_TRUE(area->commit({&first_word, 1}).ok());
  EXPECT_EQ(word_of(area->pristine(), 1, 0), 10u);
  EXPECT_EQ(word_of(area->pristine(), 1, 1), 0u);
  EXPECT_EQ(view_word(*area, 1, 0), 10u);
}

TEST_P(TrackerContract, RollbackShowsThePristineCopyAndWatchesAgain) {
  auto area = new_area(100);
  ASSERT_TRUE(apply_word(*area, 50, 0, 5).ok());
  ASSERT_TRUE(area->apply_done().ok());
  ASSERT_TRUE(area->arm().ok());
  for (std::size_t page = 40; page < 60; ++page) view_word(*area, page) = 9;
  EXPECT_TRUE(collected(*area).contains(59));
  ASSERT_TRUE(rollback_pages(*area, 40, 20).ok());
  EXPECT_EQ(view_word(*area, 50), 5u);
  EXPECT_EQ(view_word(*area, 41), 0u);
  if (tracker().finds_pages()) {
    EXPECT_EQ(collected(*area), Pages{});
  }
  ASSERT_TRUE(apply_word(*area, 50, 0, 6).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 50), 6u);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 50) = 7;
  EXPECT_TRUE(collected(*area).contains(50));
}

TEST_P(TrackerContract, RollbackForgetsStoresThatWereNotCollected) {
  auto area = new_area(16);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 4) = 1;
  view_word(*area, 6) = 1;
  ASSERT_TRUE(rollback_pages(*area, 4).ok());
  EXPECT_EQ(view_word(*area, 4), 0u);
  EXPECT_EQ(view_word(*area, 6), 1u);
  const Pages found = collected(*area);
  EXPECT_TRUE(found.contains(6)) << "a store to a page that was not rolled back is lost";
  if (is_exact()) {
    EXPECT_EQ(found, Pages{6});
  }
}

TEST_P(TrackerContract, AStoreOutsideALockIsListedAndCanBeUndone) {
  auto area = new_area(16);
  view_word(*area, 9) = 1;  // no arm
  EXPECT_TRUE(collected(*area).contains(9));
  ASSERT_TRUE(rollback_pages(*area, 9).ok());
  EXPECT_EQ(view_word(*area, 9), 0u);
}

TEST_P(TrackerContract, AStoreOutsideALockBesideAnApplyIsStillListed) {
  auto area = new_area(16);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1) = 1;
  view_word(*area, 5) = 1;
  EXPECT_TRUE(collected(*area).contains(5));
  ASSERT_TRUE(commit_pages(*area, 1, 5).ok());
  ASSERT_TRUE(apply_word(*area, 1, 0, 2).ok());
  ASSERT_TRUE(apply_word(*area, 5, 0, 2).ok());
  view_word(*area, 3) = 9;  // no lock
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 5), 2u);
  const Pages found = collected(*area);
  EXPECT_TRUE(found.contains(3));
  if (is_exact()) {
    EXPECT_EQ(found, Pages{3});
  }
}

TEST_P(TrackerContract, AStoreOfTheSameValueChangesNothing) {
  auto area = new_area(4);
  ASSERT_TRUE(apply_word(*area, 1, 0, 5).ok());
  ASSERT_TRUE(area->apply_done().ok());
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1) = 5;
  const Pages found = collected(*area);
  if (is_exact()) {
    EXPECT_EQ(found, Pages{1});
  }
  EXPECT_EQ(std::memcmp(area->view(), area->pristine(), area->size_bytes()), 0);
  ASSERT_TRUE(area->commit({}).ok());
  ASSERT_TRUE(apply_word(*area, 1, 0, 6).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 1), 6u);
}

TEST_P(TrackerContract, StoresOfTwoThreadsAreAllFound) {
  constexpr std::size_t pages = 128;
  auto area = new_area(pages);
  ASSERT_TRUE(area->arm().ok());
  // Each thread stores to its own word of every page, so both meet on each page.
  auto store = [&](std::size_t word) {
    for (std::size_t page = 0; page < pages; ++page) view_word(*area, page, word) = 1;
  };
  std::thread one(store, 0);
  std::thread two(store, 1);
  one.join();
  two.join();
  EXPECT_EQ(collected(*area).size(), pages);
  for (std::size_t page = 0; page < pages; ++page) {
    ASSERT_EQ(view_word(*area, page, 0), 1u);
    ASSERT_EQ(view_word(*area, page, 1), 1u);
  }
}

TEST_P(TrackerContract, NoStoreIsLostBetweenCollects) {
  constexpr std::size_t pages = 64;
  auto area = new_area(pages);
  std::vector<std::uint32_t> compared(pages);  // what a comparison after a collect has seen
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    for (std::uint32_t round = 1; round <= 300; ++round) {
      for (std::size_t page = round % 3; page < pages; page += 1 + round % 5) {
        std::atomic_ref<std::uint32_t>(word_of(area->view(), page)).store(round);
      }
    }
    is_done = true;
  });
  for (bool is_last = false; !is_last;) {
    is_last = is_done;
    for (std::size_t page : collected(*area)) {
      compared[page] = std::atomic_ref<std::uint32_t>(word_of(area->view(), page)).load();
    }
  }
  writer.join();
  for (std::size_t page = 0; page < pages; ++page) {
    EXPECT_EQ(compared[page], view_word(*area, page)) << "page " << page;
  }
}

TEST_P(TrackerContract, TakesAFileItDidNotCreate) {
  platform::FileDescriptor file;
  const std::size_t size_bytes = 4 * platform::page_size();
  ASSERT_TRUE(platform::create_shared_memory(size_bytes, file).ok());
  write_to_file(file.get(), size_bytes, "hello");
  Status status;
  auto one = tracker().create(size_bytes, nullptr, false, file.get(), status);
  auto other = tracker().create(size_bytes, nullptr, false, file.get(), status);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(std::memcmp(one->view(), "hello", 5), 0);

  ASSERT_TRUE(one->arm().ok());
  view_word(*one, 1) = 3;
  EXPECT_EQ(view_word(*other, 1), 0u);
  EXPECT_TRUE(collected(*one).contains(1));
  ASSERT_TRUE(commit_pages(*one, 1).ok());
  EXPECT_EQ(view_word(*other, 1), 3u) << "clean pages of both show the one pristine copy";

  EXPECT_EQ(tracker().create(2 * size_bytes, nullptr, false, file.get(), status), nullptr);
  EXPECT_EQ(status.code, EINVAL);
}

TEST_P(TrackerContract, MapsAtTheWantedAddressIfItIsFree) {
  const std::size_t size_bytes = 8 * platform::page_size();
  platform::Mapping space;
  ASSERT_TRUE(platform::reserve(size_bytes, nullptr, Placement::if_free, space).ok());
  std::byte* wanted = space.begin();
  Status status;
  auto elsewhere = tracker().create(size_bytes, wanted, false, -1, status);
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_NE(elsewhere->view(), wanted);
  auto inside =
      tracker().create(size_bytes / 2, wanted, false, -1, status, Placement::over_reservation);
  ASSERT_NE(inside, nullptr) << status.what;
  EXPECT_EQ(inside->view(), wanted);
  view_word(*inside, 1) = 1;
  EXPECT_TRUE(collected(*inside).contains(1));
  inside.reset();
  EXPECT_EQ(tracker().create(size_bytes, wanted, false, -1, status, Placement::must), nullptr);
  EXPECT_EQ(status.code, EEXIST) << "the part was not given back to the reservation";
  space.release();
  auto there = tracker().create(size_bytes, wanted, false, -1, status, Placement::must);
  ASSERT_NE(there, nullptr) << status.what;
  EXPECT_EQ(there->view(), wanted);
}

TEST_P(TrackerContract, RefusesRangesOutsideTheArea) {
  auto area = new_area(4);
  const std::size_t size = area->size_bytes();
  EXPECT_EQ(area->begin_apply(size, 1), nullptr);
  EXPECT_EQ(area->begin_apply(1, size), nullptr);
  EXPECT_EQ(area->begin_apply(SIZE_MAX, 2), nullptr);
  EXPECT_EQ(area->apply(size - 1, "ab", 2).code, EINVAL);
  EXPECT_EQ(commit_pages(*area, 3, 2).code, EINVAL);
  EXPECT_EQ(rollback_pages(*area, 4).code, EINVAL);
  const PageRange unaligned{1, platform::page_size()};
  EXPECT_EQ(area->rollback({&unaligned, 1}).code, EINVAL);
  Status status;
  EXPECT_EQ(tracker().create(platform::page_size() + 1, nullptr, false, -1, status), nullptr);
  EXPECT_EQ(status.code, EINVAL);
  EXPECT_EQ(tracker().create(0, nullptr, false, -1, status), nullptr);
}

TEST_P(TrackerContract, ReadOnlyAreasShowWhatArrivesAndRefuseTheRest) {
  auto area = new_area(4, true);
  ASSERT_TRUE(apply_word(*area, 1, 0, 5).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(view_word(*area, 1), 5u);
  EXPECT_EQ(area->arm().code, EACCES);
  EXPECT_EQ(commit_pages(*area, 1).code, EACCES);
  EXPECT_EQ(area->set_access(Access::write).code, EACCES);
  EXPECT_EQ(collected(*area), Pages{});
  EXPECT_EQ(area->begin_apply(area->size_bytes(), 1), nullptr);
}

TEST_P(TrackerContract, ReadOnlyAreasKeepNoSecondCopy) {
  platform::FileDescriptor file;
  const std::size_t size_bytes = 64 * platform::page_size();
  ASSERT_TRUE(platform::create_shared_memory(size_bytes, file).ok());
  Status status;
  auto area = tracker().create(size_bytes, nullptr, true, file.get(), status);
  ASSERT_NE(area, nullptr);
  std::byte* to = area->begin_apply(0, size_bytes);
  std::memset(to, 1, size_bytes);
  EXPECT_EQ(std::memcmp(area->view(), to, size_bytes), 0);
  // Shared pages, not private ones: the file's own later content shows.
  write_to_file(file.get(), size_bytes, "x");
  EXPECT_EQ(static_cast<char>(area->view()[0]), 'x');
}

TEST_P(TrackerContract, AStoreToAReadOnlyAreaEndsTheProcess) {
  auto area = new_area(1, true);
  EXPECT_DEATH(view_word(*area, 0) = 1, "");
}

TEST_P(TrackerContract, AreasComeAndGoWhileOthersAreUsed) {
  auto steady = new_area(32);
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    for (std::uint32_t i = 0; !is_done || i < 1000; ++i) view_word(*steady, i % 32, 1) = i;
  });
  for (int i = 0; i < 200; ++i) {
    auto brief = new_area(4);
    view_word(*brief, 3) = 1;
    EXPECT_TRUE(collected(*brief).contains(3));
    (void)collected(*steady);
  }
  is_done = true;
  writer.join();
}

}  // namespace
}  // namespace iw::track
