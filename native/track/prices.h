// The measured prices of a mechanism's steps, by which a StoreForecast chooses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iw::track {

// In nanoseconds; a page is one of the system's.
struct Prices {
  double notice = 500;     // the first store to a watched page
  double mark = 50;        // to watch one stored page again
  double open_call = 350;  // to open a stretch of pages, whatever its length
  double open_page = 20;   // each page of the stretch
  double compare = 60;     // one equal page, both copies in the nearest cache

  // What a compare costs more where both copies of so many pages are not in the nearest cache, or
  // in none, by bench/figures/tracking.md. To measure it would take milliseconds.
  static constexpr std::size_t near_pages = 64;
  static constexpr std::size_t cached_pages = 1024;
  static constexpr double cache_factor = 1.3;
  static constexpr double memory_factor = 4;

  // A look at the page table of so many pages, beside the call.
  static constexpr double scan_page = 1;

  [[nodiscard]] double scan_of(std::size_t pages) const {
    return open_call + scan_page * static_cast<double>(pages);
  }

  // Of each of so many pages.
  [[nodiscard]] double compare_of(std::size_t pages) const {
    if (pages <= near_pages) return compare;
    return compare * (pages <= cached_pages ? cache_factor : memory_factor);
  }
};

// Nanoseconds since some fixed moment. Only platform and client have one.
using Clock = std::int64_t (*)();

}  // namespace iw::track
