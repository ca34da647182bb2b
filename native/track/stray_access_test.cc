// Accesses that no lock allows: reported at once where pages are protected (sigsegv, IW_LOG=locks),
// let through, and to be undone afterwards.
#include <array>
#include <atomic>
#include <string_view>

#include "platform/process.h"
#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

struct Report {
  std::atomic<void*> address;
  std::atomic<Access> kind;
};
std::array<Report, 64> reports;
std::atomic<std::size_t> report_count{0};

void note(void* address, Access kind) noexcept {
  Report& report = reports[report_count.fetch_add(1)];
  report.address = address;
  report.kind = kind;
}

std::size_t page_of(const Area& area, std::size_t report) {
  const auto* address = static_cast<const std::byte*>(reports[report].address.load());
  return static_cast<std::size_t>(address - area.view()) / platform::page_size();
}

class StrayAccess : public EachTracker {
 protected:
  void SetUp() override {
    EachTracker::SetUp();
    report_count = 0;
    set_stray_handler(note);
  }
  void TearDown() override { set_stray_handler(nullptr); }
};
IW_FOR_EACH_TRACKER(StrayAccess);

TEST_P(StrayAccess, AStoreWithoutALockIsReportedAtOnceWhereStoresAreTrapped) {
  auto area = new_area(8);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1) = 1;
  EXPECT_EQ(report_count, 0u) << "a store under the lock was reported";
  EXPECT_TRUE(collected(*area).contains(1));
  ASSERT_TRUE(commit_pages(*area, 1).ok());

  view_word(*area, 1, 1) = 2;
  view_word(*area, 3) = 2;
  view_word(*area, 3, 5) = 2;
  EXPECT_EQ(report_count, traps_stores() ? 2u : 0u);
  if (traps_stores()) {
    EXPECT_EQ(page_of(*area, 0), 1u);
    EXPECT_EQ(page_of(*area, 1), 3u);
    EXPECT_EQ(reports[0].kind, Access::write);
  }
  EXPECT_TRUE(collected(*area).contains(3));
  ASSERT_TRUE(rollback_pages(*area, 1, 3).ok());
  EXPECT_EQ(view_word(*area, 1, 1), 0u);
  EXPECT_EQ(view_word(*area, 1), 1u);
}

TEST_P(StrayAccess, BetweenLocksEveryTouchIsReportedOncePerPage) {
  auto area = new_area(8);
  ASSERT_TRUE(apply_word(*area, 2, 0, 42).ok());
  ASSERT_TRUE(area->apply_done().ok());
  ASSERT_TRUE(area->set_access(Access::none).ok());
  EXPECT_EQ(view_word(*area, 2), 42u);
  EXPECT_EQ(view_word(*area, 2, 9), 0u);
  ASSERT_EQ(report_count, 1u);
  EXPECT_EQ(page_of(*area, 0), 2u);
  EXPECT_EQ(reports[0].kind, Access::read);

  view_word(*area, 5) = 1;
  view_word(*area, 2) = 1;  // a page opened for loads only
  ASSERT_GE(report_count, 3u);
  EXPECT_EQ(reports[report_count - 1].kind, Access::write);
  EXPECT_EQ(page_of(*area, report_count - 1), 2u);

  ASSERT_TRUE(area->set_access(Access::write).ok());
  const Pages found = collected(*area);
  EXPECT_TRUE(found.contains(2));
  EXPECT_TRUE(found.contains(5));
  ASSERT_TRUE(rollback_pages(*area, 0, 8).ok());
  EXPECT_EQ(view_word(*area, 2), 42u);
  EXPECT_EQ(view_word(*area, 5), 0u);
}

TEST_P(StrayAccess, UnderAReaderLockLoadsAreFineAndStoresAreReported) {
  auto area = new_area(8);
  ASSERT_TRUE(area->set_access(Access::read).ok());
  EXPECT_EQ(view_word(*area, 3), 0u);
  EXPECT_EQ(report_count, 0u);
  view_word(*area, 3) = 1;
  ASSERT_EQ(report_count, 1u);
  EXPECT_EQ(reports[0].kind, Access::write);
  ASSERT_TRUE(area->set_access(Access::none).ok());
  EXPECT_EQ(view_word(*area, 3), 1u);
  EXPECT_EQ(report_count, 2u) << "the page was not closed again";
}

TEST_P(StrayAccess, UnderTheWriterLockNothingIsReportedAndStoresAreFound) {
  auto area = new_area(8);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(area->set_access(Access::none).ok());
    ASSERT_TRUE(area->set_access(Access::write).ok());
    ASSERT_TRUE(area->arm().ok());
    view_word(*area, 6) = static_cast<std::uint32_t>(round) + 1;
    EXPECT_TRUE(collected(*area).contains(6));
    ASSERT_TRUE(commit_pages(*area, 6).ok());
  }
  EXPECT_EQ(report_count, 0u);
}

TEST_P(StrayAccess, AnApplyReachesPagesThatAreClosed) {
  auto area = new_area(8);
  ASSERT_TRUE(area->arm().ok());
  view_word(*area, 1) = 1;
  EXPECT_TRUE(collected(*area).contains(1));
  ASSERT_TRUE(commit_pages(*area, 1).ok());
  ASSERT_TRUE(area->set_access(Access::none).ok());
  ASSERT_TRUE(apply_word(*area, 1, 0, 2).ok());
  ASSERT_TRUE(area->apply_done().ok());
  EXPECT_EQ(report_count, 0u);
  ASSERT_TRUE(area->set_access(Access::read).ok());
  EXPECT_EQ(view_word(*area, 1), 2u);
}

TEST_P(StrayAccess, LoadsFromAClosedReadOnlyAreaAreReportedAndGoOn) {
  auto area = new_area(2, true);
  ASSERT_TRUE(apply_word(*area, 1, 0, 3).ok());
  ASSERT_TRUE(area->set_access(Access::none).ok());
  EXPECT_EQ(view_word(*area, 1), 3u);
  ASSERT_EQ(report_count, 1u);
  EXPECT_EQ(reports[0].kind, Access::read);
}

// The death test's statement runs in a forked child, so the area must be made there.
void store_to_a_watched_read_only_area(Tracker& tracker) {
  Status status;
  auto area = tracker.create(platform::page_size(), nullptr, true, -1, status);
  if (area == nullptr || !area->set_access(Access::read).ok()) return;
  set_stray_handler([](void*, Access kind) noexcept {
    const std::array<std::string_view, 1> text{kind == Access::write ? "stray write\n"
                                                                     : "stray read\n"};
    platform::write_to_stderr(text);
  });
  view_word(*area, 0) = 1;
}

TEST_P(StrayAccess, AStoreToAWatchedReadOnlyAreaIsReportedBeforeItEndsTheProcess) {
  EXPECT_DEATH(store_to_a_watched_read_only_area(tracker()), "stray write");
}

}  // namespace
}  // namespace iw::track
