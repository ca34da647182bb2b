// What a rank did with its pages before synchronisations closed them, and so what it is likely to
// do next. A program that uses many pages in each interval then pays a fault for each stretch of
// pages, not for each page. A program that has few pages open at a lock is left alone.
//
// A guess must be confirmed now and then: a page is opened ahead at most `ahead_most` times in a
// row, and then waits for a fault of its own. Values; no I/O.
#pragma once

#include <cstdint>

#include "dsm/protocol/page_memory.h"

namespace iw::dsm {

class AccessHistory {
 public:
  struct Page {
    // Periods; 0: never.
    std::uint32_t closed_at = 0;
    std::uint32_t written_at = 0;
    // Opened ahead so often since its last fault of this kind.
    std::uint8_t read_ahead = 0, write_ahead = 0;
  };
  // Below so many pages that were closed in a period, nothing is expected.
  static constexpr std::uint32_t many_usual = 16;
  static constexpr std::uint8_t ahead_most = 32;
  // Where a page that is open for stores counts as written, and other ranks fetch it again.
  static constexpr std::uint8_t ahead_most_costly = 2;
  // A program may load in one interval and store in the next one.
  static constexpr std::uint32_t recent = 8;

  void expect_from(std::uint32_t many) { many_ = many; }

  // An interval ends, or write notices come: pages are going to be closed.
  void begin_period() {
    period_++;
    closed_ = 0;
  }
  std::uint32_t period() const { return period_; }

  // The page was open, and is not any longer; or not for stores.
  void closed(Page& page) {
    page.closed_at = period_;
    if (++closed_ >= many_) many_at_ = period_;
  }
  // It was stored to. At its home: it was open for stores.
  void written(Page& page) const { page.written_at = period_; }
  static void faulted(Page& page, Access wanted) {
    (wanted == Access::write ? page.write_ahead : page.read_ahead) = 0;
  }
  static void opened_ahead(Page& page, Access access) {
    (access == Access::write ? page.write_ahead : page.read_ahead)++;
  }

  // Many pages are used again and again, and this is one of them.
  bool is_recent(const Page& page, Access wanted) const {
    return is_recent(many_at_) &&
           is_recent(wanted == Access::write ? page.written_at : page.closed_at);
  }
  // It is to be opened when a page near it is.
  bool is_expected(const Page& page, Access wanted, std::uint8_t most = ahead_most) const {
    const std::uint8_t ahead = wanted == Access::write ? page.write_ahead : page.read_ahead;
    return ahead < most && is_recent(page, wanted);
  }

 private:
  bool is_recent(std::uint32_t period) const { return period > 0 && period_ - period <= recent; }

  std::uint32_t many_ = many_usual, many_at_ = 0;
  std::uint32_t period_ = 0, closed_ = 0;
};

}  // namespace iw::dsm
