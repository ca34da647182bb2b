// The prices are measured by the clock that is given, and by nothing else.
#include <cstdint>

#include "platform/clock.h"
#include "track/mechanisms.h"
#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

class MeasuredPrices : public EachTracker {
 protected:
  // A tracker of this test alone, because the other tests rely on the prices before measuring.
  void SetUp() override {
    EachTracker::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!is_exact()) GTEST_SKIP() << "it opens no pages";
    ASSERT_TRUE((GetParam() == "sigsegv" ? make_sigsegv(own_) : make_wp_async(own_)).ok());
  }

  static std::int64_t stopped_clock() { return 0; }
  static std::int64_t ticking_clock() {
    static std::int64_t now_ns = 0;
    return now_ns += 32'000;
  }

  std::unique_ptr<Tracker> own_;
};
IW_FOR_EACH_TRACKER(MeasuredPrices);

TEST_P(MeasuredPrices, AreDifferencesOfTheClock) {
  // 16 of 32 pages are stored to, and each step takes one tick.
  ASSERT_TRUE(own_->measure_prices(ticking_clock).ok());
  const Prices prices = own_->prices();
  EXPECT_EQ(prices.compare, 1000);
  EXPECT_EQ(prices.open_page, 1000);
  EXPECT_EQ(prices.open_call, 1000);
  EXPECT_EQ(prices.notice, 1) << "with and without a notice a store takes as long";
}

TEST_P(MeasuredPrices, AreNeverNothing) {
  ASSERT_TRUE(own_->measure_prices(stopped_clock).ok());
  const Prices prices = own_->prices();
  for (const double one :
       {prices.notice, prices.mark, prices.open_call, prices.open_page, prices.compare}) {
    EXPECT_GE(one, 1);
  }
}

TEST_P(MeasuredPrices, AreThoseOfANewTrackerUntilTheyAreMeasured) {
  EXPECT_EQ(own_->prices().notice, Prices{}.notice);
  ASSERT_TRUE(own_->measure_prices(platform::now_ns).ok());
  EXPECT_NE(own_->prices().notice, Prices{}.notice);
}

}  // namespace
}  // namespace iw::track
