// Microseconds per dirty page of a whole writer lock (arm, stores of four words a page, collect,
// find the changed words, commit), and of an update of as many private pages, for each mechanism.
// Medians of many rounds over random pages. Built with -DIW_BENCH=ON only.
//   track_bench [MiB]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "platform/clock.h"
#include "platform/memory.h"
#include "runs/runs.h"
#include "track/tracker.h"

namespace {

using namespace iw;

constexpr std::size_t words_per_store = 4;

[[noreturn]] void give_up(const track::Status& status) {
  std::fprintf(stderr, "track_bench: %s\n", status.what);
  std::exit(1);
}

void require(const track::Status& status) {
  if (!status.ok()) give_up(status);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

class Bench {
 public:
  Bench(track::Tracker& tracker, std::size_t size_bytes) {
    track::Status status;
    area_ = tracker.create(size_bytes, nullptr, false, -1, status);
    if (area_ == nullptr) give_up(status);
    pages_.resize(size_bytes / platform::page_size());
    std::iota(pages_.begin(), pages_.end(), std::size_t{0});
    std::byte* all = area_->begin_apply(0, size_bytes);
    std::fill_n(reinterpret_cast<std::uint32_t*>(all), size_bytes / 4, 1u);
    require(area_->apply_done());
  }

  void print(const char* name, std::size_t dirty_pages) {
    std::vector<double> lock_us;
    std::vector<double> update_us;
    const std::size_t rounds = std::max<std::size_t>(15, 20'000 / (dirty_pages + 20));
    for (std::size_t i = 0; i < rounds; ++i) {
      std::shuffle(pages_.begin(), pages_.end(), random_);
      lock_us.push_back(writer_lock(dirty_pages));
      update_us.push_back(update(dirty_pages));
    }
    std::printf("%-9s %8zu %12.2f %12.2f\n", name, dirty_pages,
                median(lock_us) / static_cast<double>(dirty_pages),
                median(update_us) / static_cast<double>(dirty_pages));
  }

 private:
  double writer_lock(std::size_t dirty_pages) {
    const std::int64_t begin_ns = platform::now_ns();
    require(area_->arm());
    ++value_;
    for (std::size_t i = 0; i < dirty_pages; ++i) {
      auto* words = reinterpret_cast<std::uint32_t*>(area_->view() + at(i));
      for (std::size_t w = 0; w < words_per_store; ++w) words[w * 200] = value_;
    }
    require(area_->collect(dirty_));
    found_.clear();
    runs::find_changed_runs(area_->view(), area_->pristine(), dirty_, found_);
    ranges_.clear();
    for (const runs::Run& run : found_) {
      ranges_.push_back({run.offset_bytes, run.offset_bytes + run.length_bytes});
    }
    require(area_->commit(ranges_));
    const double us = microseconds_since(begin_ns);
    if (found_.size() != dirty_pages * words_per_store) give_up({1, "stores were missed"});
    return us;
  }

  double update(std::size_t dirty_pages) {
    const std::int64_t begin_ns = platform::now_ns();
    ++value_;
    for (std::size_t i = 0; i < dirty_pages; ++i) require(area_->apply(at(i), &value_, 4));
    require(area_->apply_done());
    return microseconds_since(begin_ns);
  }

  [[nodiscard]] std::size_t at(std::size_t i) const { return pages_[i] * platform::page_size(); }
  static double microseconds_since(std::int64_t begin_ns) {
    return static_cast<double>(platform::now_ns() - begin_ns) / 1000;
  }

  std::unique_ptr<track::Area> area_;
  std::vector<std::size_t> pages_;
  std::vector<track::PageRange> dirty_;
  std::vector<runs::Run> found_;
  std::vector<track::PageRange> ranges_;
  std::uint32_t value_ = 1;
  std::mt19937 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  const std::size_t size_bytes = std::max<std::size_t>(mib, 1) << 20;
  const std::size_t pages = size_bytes / iw::platform::page_size();
  std::printf("%zu MiB, us per page\nmechanism    pages  writer lock       update\n", mib);
  for (const char* name : iw::track::tracker_names()) {
    iw::track::Status status;
    iw::track::Tracker* tracker = iw::track::find_tracker(name, status);
    if (tracker == nullptr) {
      std::printf("%-9s not here: %s\n", name, status.what);
      continue;
    }
    Bench bench(*tracker, size_bytes);
    for (std::size_t share : {std::size_t{0}, pages / 100, pages / 10, pages}) {
      bench.print(name, std::max<std::size_t>(share, 1));
    }
  }
  return 0;
}
