#include "dsm/protocol/access_history.h"

#include <gtest/gtest.h>

#include <array>

namespace iw::dsm {
namespace {

using Pages = std::array<AccessHistory::Page, AccessHistory::many_usual>;

void close_all(AccessHistory& history, Pages& pages, bool are_written) {
  history.begin_period();
  for (AccessHistory::Page& each : pages) {
    history.closed(each);
    if (are_written) history.written(each);
  }
}

TEST(AccessHistory, ExpectsWhatWasDoneBeforeManyPagesWereClosed) {
  AccessHistory history;
  Pages pages;
  EXPECT_FALSE(history.is_expected(pages[0], Access::read));
  close_all(history, pages, false);
  EXPECT_TRUE(history.is_expected(pages[0], Access::read));
  EXPECT_FALSE(history.is_expected(pages[0], Access::write));
  close_all(history, pages, true);
  EXPECT_TRUE(history.is_expected(pages[0], Access::write));
}

TEST(AccessHistory, ForgetsPagesThatAreNotUsed) {
  AccessHistory history;
  Pages pages;
  close_all(history, pages, true);
  for (std::uint32_t i = 0; i < AccessHistory::recent; i++) {
    EXPECT_TRUE(history.is_expected(pages[0], Access::write));
    history.begin_period();
  }
  EXPECT_TRUE(history.is_expected(pages[0], Access::write));
  history.begin_period();
  EXPECT_FALSE(history.is_expected(pages[0], Access::write));
}

TEST(AccessHistory, LeavesFewPagesAlone) {
  AccessHistory history;
  AccessHistory::Page page;
  for (int i = 0; i < 100; i++) {
    history.begin_period();
    history.closed(page);
    history.written(page);
    EXPECT_FALSE(history.is_expected(page, Access::read));
    EXPECT_FALSE(history.is_expected(page, Access::write));
  }
}

TEST(AccessHistory, AGuessIsConfirmedByAFault) {
  AccessHistory history;
  Pages pages;
  for (int i = 0; i < AccessHistory::ahead_most; i++) {
    close_all(history, pages, true);
    ASSERT_TRUE(history.is_expected(pages[0], Access::write));
    AccessHistory::opened_ahead(pages[0], Access::write);
  }
  close_all(history, pages, true);
  EXPECT_FALSE(history.is_expected(pages[0], Access::write));
  EXPECT_TRUE(history.is_expected(pages[0], Access::read));
  AccessHistory::faulted(pages[0], Access::write);
  EXPECT_TRUE(history.is_expected(pages[0], Access::write));
}

}  // namespace
}  // namespace iw::dsm
