// Measures what a mechanism's steps cost here, on a few pages of an area made for this. Every step
// is done a few times, and its least time counts: the first stores to a page make its private copy.
#include <algorithm>
#include <array>
#include <cstring>

#include "platform/differing_words.h"
#include "track/cow_area.h"

namespace iw::track {

namespace {

constexpr int rounds = 6;
constexpr double least_ns = 1;
constexpr double most_ns = 1e6;

// The least time of one step over the rounds.
class Step {
 public:
  explicit Step(Clock clock) : clock_(clock) {}

  template <typename F>
  void time(F f) {
    const std::int64_t begin_ns = clock_();
    f();
    ns_ = std::min(ns_, static_cast<double>(clock_() - begin_ns));
  }
  [[nodiscard]] double ns() const { return ns_; }

 private:
  const Clock clock_;
  double ns_ = 1e12;
};

double price(double ns, std::size_t count) {
  return std::clamp(ns / static_cast<double>(count), least_ns, most_ns);
}

}  // namespace

Status CowArea::measure(Clock clock, Prices& out) {
  PageSet stored(page_count());  // every second page: each is a stretch of its own
  for (std::size_t page = 0; page < page_count(); page += 2) stored.add(page, page + 1);
  PageSet found(page_count());
  const auto store = [&] {
    stored.for_each_run([&](std::size_t first, std::size_t) {
      *reinterpret_cast<volatile std::byte*>(view() + first * page_bytes_) = std::byte{1};
    });
  };
  Status status = arm();
  const auto take = [&] {
    if (Status bad = take_stored(all_pages_, found); !bad) status = bad;
  };
  std::array<std::uint64_t, 16> masks;
  const std::size_t masks_a_page = page_bytes_ / platform::bytes_per_mask;
  const auto compare = [&] {
    for (std::size_t i = 0; i < page_count() * masks_a_page; i += masks.size()) {
      const std::size_t at = i * platform::bytes_per_mask;
      (void)platform::differing_words(view() + at, pristine() + at, masks.size(), masks.data());
    }
  };
  Step notices(clock), marks(clock), opens(clock), stores(clock), opens_all(clock), scans(clock),
      compares(clock);
  for (int i = 0; i < rounds && status.ok(); ++i) {
    notices.time(store);
    marks.time(take);
    opens.time([&] { (void)open(stored); });
    stores.time(store);
    take();
    scans.time(take);
    opens_all.time([&] { (void)open(all_pages_); });
    take();
    compares.time(compare);
  }
  const std::size_t count = stored.size();
  out.notice = price(notices.ns() - stores.ns(), count);
  out.mark = price(marks.ns() - scans.ns(), count);
  out.open_page = price(opens_all.ns(), page_count());
  out.open_call = price(opens.ns() - out.open_page * static_cast<double>(count), count);
  out.compare = price(compares.ns(), page_count());
  return status;
}

}  // namespace iw::track
