// What finding the stores of a writer section costs, from the look for stray stores with which the
// section begins until the pristine copy has the changes, for each fixed way and for the way that
// is chosen by price. Each section stores one word to each of 1, 8, 25, 82 ... pages of an area of
// 256 or 16,384 pages: the same pages each time, or others. Uses the room native/track directly: no
// server, no heap. Writes tracking.csv: pages,dirty,which,way,us,open_pages.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "harness/results.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "runs/runs.h"
#include "track/tracker.h"

namespace {

using namespace iw;

constexpr int kTurns = 9;
constexpr int kLearningTurns = 2;

struct Way {
  const char* name;
  const char* tracker;
  track::OpeningRule rule;
};
// The last one is the choice.
constexpr Way kWays[] = {
    {"watched", "wp-async", track::OpeningRule::never},
    {"opened", "wp-async", track::OpeningRule::all_each_section},
    {"kept-open", "wp-async", track::OpeningRule::all_kept},
    {"scan", "scan", track::OpeningRule::never},
    {"sigsegv", "sigsegv", track::OpeningRule::never},
    {"compare", "compare", track::OpeningRule::never},
    {"chosen", nullptr, track::OpeningRule::by_price},
};

void require(const track::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "tracking: %s\n", status.what);
  std::exit(1);
}

// The pages that a section stores to.
class Pattern {
 public:
  Pattern(std::size_t pages, std::size_t dirty, bool are_same)
      : pages_(pages), dirty_(dirty), are_same_(are_same) {}

  const std::vector<std::size_t>& next() {
    if (are_same_ && !stored_.empty()) return stored_;
    stored_.clear();
    const std::size_t stride = pages_ / dirty_;
    for (std::size_t i = 0; i < dirty_; ++i) {
      stored_.push_back(i * pages_ / dirty_ + (are_same_ ? 0 : random_() % stride));
    }
    return stored_;
  }

 private:
  const std::size_t pages_, dirty_;
  const bool are_same_;
  std::vector<std::size_t> stored_;
  std::mt19937 random_{1};
};

class Segment {
 public:
  Segment(const Way& way, track::Tracker& tracker, std::size_t pages, std::size_t dirty,
          bool are_same)
      : way_(way), pattern_(pages, dirty, are_same) {
    track::Status status;
    area_ = tracker.create(pages * platform::page_size(), nullptr, false, -1, status);
    require(status);
    // As a program fills a new array.
    track::set_opening(way_.rule);
    require(area_->arm());
    for (std::size_t page = 0; page < pages; ++page) word(page) = 1;
    finish(pages);
  }

  void turn(int sections, bool is_measured) {
    track::set_opening(way_.rule);
    for (int i = 0; i < sections; ++i) {
      const std::vector<std::size_t>& stored = pattern_.next();
      ++value_;
      const std::int64_t begin_ns = platform::now_ns();
      look();
      require(area_->arm());
      for (const std::size_t page : stored) word(page) = value_;
      finish(stored.size());
      const double us = static_cast<double>(platform::now_ns() - begin_ns) / 1e3;
      if (is_measured) samples_.push_back(us);
    }
  }

  [[nodiscard]] double us() const { return bench::median(samples_); }
  [[nodiscard]] std::size_t open_pages() const { return area_->open_pages(); }
  [[nodiscard]] const char* name() const { return way_.name; }

 private:
  std::uint32_t& word(std::size_t page) {
    return *reinterpret_cast<std::uint32_t*>(area_->view() + page * platform::page_size());
  }

  void find_changes() {
    require(area_->collect(dirty_));
    found_.clear();
    runs::find_changed_runs(area_->view(), area_->pristine(), dirty_, found_);
  }

  void look() {
    find_changes();
    if (!found_.empty()) require({1, "a stray store that nobody made"});
  }

  void finish(std::size_t stored) {
    find_changes();
    if (found_.size() != stored) require({1, "stores were missed"});
    ranges_.clear();
    for (const runs::Run& run : found_) {
      ranges_.push_back({run.offset_bytes, run.offset_bytes + run.length_bytes});
    }
    require(area_->commit(ranges_));
  }

  const Way& way_;
  Pattern pattern_;
  std::unique_ptr<track::Area> area_;
  std::vector<track::PageRange> dirty_;
  std::vector<runs::Run> found_;
  std::vector<track::PageRange> ranges_;
  std::uint32_t value_ = 1;
  std::vector<double> samples_;
};

struct Case {
  std::size_t pages, dirty;
  bool are_same;
};

// The segments take turns, because the machine is shared.
std::vector<std::unique_ptr<Segment>> measure(const Case& one) {
  std::vector<std::unique_ptr<Segment>> segments;
  for (const Way& way : kWays) {
    track::Status status;
    track::Tracker* const tracker =
        way.tracker == nullptr ? &track::recommended() : track::find_tracker(way.tracker, status);
    if (tracker == nullptr) continue;
    segments.push_back(
        std::make_unique<Segment>(way, *tracker, one.pages, one.dirty, one.are_same));
  }
  const int sections = one.pages <= 256 ? 40 : one.dirty <= 256 ? 12 : 4;
  for (int turn = -kLearningTurns; turn < kTurns; ++turn) {
    for (const auto& segment : segments) segment->turn(turn < 0 ? 20 : sections, turn >= 0);
  }
  return segments;
}

double print(const Case& one, bench::Csv& csv) {
  const auto segments = measure(one);
  const char* const which = one.are_same ? "same" : "others";
  double best_us = 1e12;
  std::printf("%6zu %6zu %-7s", one.pages, one.dirty, which);
  for (const auto& segment : segments) {
    if (segment != segments.back()) best_us = std::min(best_us, segment->us());
    std::printf(" %9s %8.1f", segment->name(), segment->us());
    csv.row(bench::format("%zu,%zu,%s,%s,%.2f,%zu", one.pages, one.dirty, which, segment->name(),
                          segment->us(), segment->open_pages()));
  }
  const double ratio = segments.back()->us() / best_us;
  std::printf("  ratio %.2f\n", ratio);
  std::fflush(stdout);
  csv.row(bench::format("%zu,%zu,%s,ratio,%.3f,0", one.pages, one.dirty, which, ratio));
  return ratio;
}

}  // namespace

int main() {
  require(track::measure_recommended(&platform::now_ns));
  const track::Prices prices = track::recommended().prices();
  std::printf(
      "prices of %s, ns: notice %.0f, mark %.0f, open call %.0f, open page %.0f, compare %.0f\n",
      track::recommended().name(), prices.notice, prices.mark, prices.open_call, prices.open_page,
      prices.compare);
  std::printf("us of a section, medians; pages of the area, dirty pages, the same or others\n");
  bench::Csv csv("tracking.csv", "pages,dirty,which,way,us,open_pages");
  double worst = 0;
  for (const std::size_t pages : {std::size_t{256}, std::size_t{16384}}) {
    for (const std::size_t dirty : {1, 8, 25, 82, 256, 4096, 16384}) {
      if (dirty > pages) continue;
      worst = std::max(worst, print({pages, dirty, true}, csv));
      if (dirty * 2 <= pages) worst = std::max(worst, print({pages, dirty, false}, csv));
    }
  }
  std::printf("verdict: chosen costs at most %.2fx the best fixed way (target: 1.1)\n", worst);
  csv.finish();
  return 0;
}
