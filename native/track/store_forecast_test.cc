// The forecast under chosen prices: the pages that it opens, their cost compared with the best
// fixed way, and the sections that it takes to follow a change.
#include "track/store_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace iw::track {
namespace {

using PageList = std::vector<std::size_t>;

PageSet set_of(std::size_t page_count, const PageList& pages) {
  PageSet set(page_count);
  for (const std::size_t page : pages) set.add(page, page + 1);
  return set;
}

PageList spread(std::size_t count, std::size_t page_count) {
  PageList pages;
  for (std::size_t i = 0; i < count; ++i) pages.push_back(i * page_count / count);
  return pages;
}

// Does what an area does, without memory, and adds up what that costs.
class World {
 public:
  World(std::size_t page_count, const Prices& prices, Opening most = Opening::kept)
      : page_count_(page_count),
        prices_(prices),
        forecast_(page_count, prices, most),
        open_(page_count),
        kept_(page_count) {}

  // Returns the cost of a section that stores to these pages, and changes all or none of them.
  double section(const PageList& stored, bool are_changed = true, int looks = 1) {
    double ns = 0;
    for (int i = 0; i < looks; ++i) {
      forecast_.looked(kept_.size());
      if (forecast_.open_pages().is_empty()) kept_.clear();
      ns += compare_cost(kept_, kept_.size());
    }
    forecast_.section_begins();
    ns += open();
    PageSet noticed = set_of(page_count_, stored);
    const PageSet all = noticed;
    noticed.remove(open_);
    notices_ = noticed.size();
    ns += cost(noticed, prices_.notice + prices_.mark);
    ns += beside_kept(noticed);
    ns += compare_cost(noticed, noticed.size() + open_.size());
    ns += compare_cost(open_, noticed.size() + open_.size());
    forecast_.noticed(noticed);
    if (are_changed) {
      all.for_each_run([&](std::size_t first, std::size_t end) { forecast_.changed(first, end); });
    }
    return ns;
  }

  [[nodiscard]] std::size_t notices() const { return notices_; }
  [[nodiscard]] StoreForecast& forecast() { return forecast_; }

 private:
  static double cost(const PageSet& pages, double each) {
    return static_cast<double>(pages.size()) * each;
  }

  [[nodiscard]] double compare_cost(const PageSet& pages, std::size_t working) const {
    return cost(pages, prices_.compare_of(working));
  }

  // The others are taken one by one, or the kept pages are opened again.
  [[nodiscard]] double beside_kept(const PageSet& noticed) const {
    if (kept_.is_empty() || noticed.is_empty()) return 0;
    const auto others = static_cast<double>(noticed.stretches());
    const auto kept = static_cast<double>(kept_.stretches());
    return std::min(others * prices_.open_call,
                    prices_.scan_of(page_count_) + kept * prices_.open_call);
  }

  double open() {
    open_ = forecast_.open_pages();
    double ns = 0;
    if (forecast_.opening() == Opening::each_section) {
      ns = static_cast<double>(open_.stretches()) * prices_.open_call +
           cost(open_, prices_.open_page + prices_.mark);
      kept_.clear();
    } else {
      kept_ = open_;
    }
    return ns;
  }

  const std::size_t page_count_;
  const Prices prices_;
  StoreForecast forecast_;
  PageSet open_;
  PageSet kept_;
  std::size_t notices_ = 0;
};

double watched_ns(const Prices& prices, std::size_t stored) {
  return static_cast<double>(stored) * (prices.notice + prices.mark + prices.compare_of(stored));
}
double kept_ns(const Prices& prices, std::size_t open) {
  return static_cast<double>(open) * prices.compare_of(open) * 2;
}
double opened_ns(const Prices& prices, std::size_t open, std::size_t stretches) {
  return static_cast<double>(open) * (prices.compare_of(open) + prices.mark + prices.open_page) +
         static_cast<double>(stretches) * prices.open_call;
}

constexpr int enough = 20;  // sections to learn

struct NamedPrices {
  const char* name;
  Prices prices;
};

std::vector<NamedPrices> machines() {
  return {{"as measured", {}},
          {"a handler", {6000, 900, 1500, 30, 60}},
          {"cheap notices", {20, 5, 350, 20, 60}},
          {"slow compares", {500, 50, 350, 20, 2000}},
          {"all alike", {100, 100, 100, 100, 100}}};
}

TEST(StoreForecast, TheSamePagesAgainCostNoMoreThanTheBestFixedWay) {
  for (const NamedPrices& machine : machines()) {
    const Prices& prices = machine.prices;
    for (const std::size_t page_count : {std::size_t{256}, std::size_t{16384}}) {
      for (const std::size_t stored : {1, 8, 25, 82, 256}) {
        World world(page_count, prices);
        const PageList pages = spread(stored, page_count);
        for (int i = 0; i < enough; ++i) world.section(pages);
        const std::size_t stretches = stored == page_count ? 1 : stored;
        const double best = std::min(
            {watched_ns(prices, stored), kept_ns(prices, stored), kept_ns(prices, page_count),
             opened_ns(prices, stored, stretches), opened_ns(prices, page_count, 1)});
        // Hysteresis keeps one way to open until the other is a tenth cheaper.
        EXPECT_LE(world.section(pages), best * 1.12)
            << machine.name << ": " << stored << " of " << page_count;
      }
    }
  }
}

TEST(StoreForecast, OtherPagesEachTimeAreWatched) {
  constexpr std::size_t page_count = 16384;
  constexpr unsigned seed = 7;
  std::mt19937 random(seed);
  World world(page_count, {});
  double ns = 0;
  double watched = 0;
  for (int i = 0; i < 200; ++i) {
    PageList pages;
    for (int k = 0; k < 82; ++k) pages.push_back(random() % page_count);
    std::sort(pages.begin(), pages.end());
    pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
    ns += world.section(pages);
    watched += watched_ns({}, pages.size());
  }
  EXPECT_LE(ns, watched * 1.01) << "seed " << seed;
}

// One page of each stretch of this many, by chance.
PageList any_of_each(std::size_t stretch, std::size_t page_count, std::mt19937& random) {
  PageList pages;
  for (std::size_t first = 0; first + stretch <= page_count; first += stretch) {
    pages.push_back(first + random() % stretch);
  }
  return pages;
}

// The machine of bench/figures/tracking.md.
constexpr Prices dear_notices{1000, 60, 350, 20, 50};
// Another one, on which each call is dear.
constexpr Prices dear_calls{700, 146, 752, 131, 85};

TEST(StoreForecast, OtherPagesOfFewAreAllWatchedOrAllKept) {
  for (const Prices& prices : {Prices{}, dear_notices, dear_calls}) {
    for (const std::size_t stretch : {2, 3, 5, 10, 30}) {
      std::mt19937 random(11);
      World world(256, prices);
      double ns = 0;
      constexpr int sections = 400;
      for (int i = 0; i < 4 * enough + sections; ++i) {
        const double one = world.section(any_of_each(stretch, 256, random));
        if (i >= 4 * enough) ns += one;
      }
      const double best = std::min(watched_ns(prices, 256 / stretch), kept_ns(prices, 256));
      // At one of 10 both ways cost nearly the same. Up to one of 3 all pages are kept.
      EXPECT_LE(ns / sections, best * (stretch <= 3 ? 1.02 : 1.2)) << "one of " << stretch;
    }
  }
}

TEST(StoreForecast, KeptPagesAreGivenUpByLooksAlsoAfterTheWayToOpenHasChanged) {
  World world(16384, {});
  const PageList pages = spread(82, 16384);
  for (int i = 0; i < enough; ++i) world.section(pages);
  ASSERT_EQ(world.forecast().opening(), Opening::kept);
  // The section that noticed all pages has made each_section the cheaper way.
  world.section(spread(16384, 16384));
  ASSERT_EQ(world.forecast().opening(), Opening::each_section);
  int looks = 0;
  while (!world.forecast().open_pages().is_empty() && looks < 100) {
    world.forecast().looked(82);
    ++looks;
  }
  EXPECT_LT(looks, 100);
}

TEST(StoreForecast, PagesAreOpenedAfterPatience) {
  World world(256, {});
  const PageList pages = spread(82, 256);
  for (int i = 0; i <= StoreForecast::patience; ++i) {
    world.section(pages);
    EXPECT_EQ(world.notices(), 82u) << i;
  }
  world.section(pages);
  EXPECT_EQ(world.notices(), 0u);
  EXPECT_EQ(world.forecast().open_pages().size(), 82u);
}

TEST(StoreForecast, ScatteredPagesAreKeptAndLongStretchesInMemoryAreOpenedEachSection) {
  World scattered(16384, {});
  World whole(16384, {});
  const PageList all = spread(16384, 16384);
  for (int i = 0; i < enough; ++i) {
    scattered.section(spread(82, 16384));
    whole.section(all);
  }
  EXPECT_EQ(scattered.forecast().opening(), Opening::kept);
  EXPECT_EQ(whole.forecast().opening(), Opening::each_section);
  EXPECT_EQ(whole.forecast().open_pages().size(), 16384u);
}

TEST(StoreForecast, AMechanismThatCannotKeepPagesOpenDoesNot) {
  World world(256, machines()[1].prices, Opening::each_section);
  for (int i = 0; i < enough; ++i) world.section(spread(82, 256));
  EXPECT_EQ(world.notices(), 0u);
  EXPECT_EQ(world.forecast().opening(), Opening::each_section);
}

TEST(StoreForecast, NothingIsOpenedWhereNoticesAreCheap) {
  World world(256, machines()[2].prices);
  for (int i = 0; i < enough; ++i) world.section(spread(256, 256));
  EXPECT_TRUE(world.forecast().open_pages().is_empty());
}

TEST(StoreForecast, AChangeOfBehaviourIsFollowedInABoundedNumberOfSections) {
  World world(256, {});
  const PageList many = spread(256, 256);
  const PageList one{17};
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < enough; ++i) world.section(many);
    EXPECT_EQ(world.notices(), 0u);
    const int most = StoreForecast::keep_factor * StoreForecast::most_worth;
    int sections = 0;
    while (world.forecast().open_pages().size() > 1 && sections <= most) {
      world.section(one);
      ++sections;
    }
    EXPECT_LE(sections, most);
    EXPECT_LT(world.section(one), watched_ns({}, 1)) << "the page that is stored to stays open";
  }
}

TEST(StoreForecast, APageStoredToEverySecondSectionIsNotOpenedAndClosedAgainAndAgain) {
  World world(256, {});
  const PageList even = spread(128, 256);
  for (int i = 0; i < 4 * enough; ++i) world.section(i % 2 == 0 ? even : PageList{1});
  for (int i = 0; i < 200; ++i) {
    world.section(i % 2 == 0 ? even : PageList{1});
    EXPECT_EQ(world.notices(), 0u) << i;
  }
}

// They look idle. To watch them would cost a notice each section.
TEST(StoreForecast, PagesStoredToWithEqualValuesStayOpenBetweenReviews) {
  World world(256, {});
  const PageList pages = spread(82, 256);
  for (int i = 0; i < 4 * enough; ++i) world.section(pages, false);
  constexpr int reviews = 4;
  std::size_t notices = 0;
  for (int i = 0; i < reviews * StoreForecast::review_sections; ++i) {
    world.section(pages, false);
    notices += world.notices();
  }
  EXPECT_EQ(notices, 82u * reviews) << "a review costs one notice a page";
}

TEST(StoreForecast, EqualValuesThatEndAreForgottenAtTheNextReview) {
  World world(256, {});
  for (int i = 0; i < 4 * enough; ++i) world.section(spread(82, 256), false);
  for (int i = 0; i <= StoreForecast::review_sections; ++i) world.section({});
  EXPECT_TRUE(world.forecast().open_pages().is_empty());
}

TEST(StoreForecast, PagesThatAreOnlyLookedAtAreClosed) {
  World world(256, {});
  const PageList pages = spread(82, 256);
  for (int i = 0; i < enough; ++i) world.section(pages);
  int looks = 0;
  while (!world.forecast().open_pages().is_empty() && looks < 100) {
    world.forecast().looked(pages.size());
    ++looks;
  }
  EXPECT_LE(looks * Prices{}.compare, 5 * watched_ns({}, 1)) << "looks cost more than notices";
  EXPECT_GT(looks, 5);
}

TEST(StoreForecast, NoPagesAreKeptForSectionsThatLookOften) {
  World world(256, {});
  const PageList pages = spread(82, 256);
  double ns = 0;
  for (int i = 0; i < 200; ++i) {
    const double one = world.section(pages, true, 20);
    if (i >= enough) ns += one;
  }
  EXPECT_LE(ns, watched_ns({}, 82) * (200 - enough) * 1.1);
}

}  // namespace
}  // namespace iw::track
