// Learns which pages of one area the writer sections store to, and says by their prices which pages
// to open: to let be stored to without a notice. An open page is listed and compared whether it was
// stored to or not. This is the half of the no-diff mode of ICDCS'03 3.3 that saves notices, page
// by page.
//
// The choice for a page. A notice costs `notice + mark + compare`. An open page costs each section
//   kept:          one compare, and one more for each look between sections, or
//   each_section:  one compare, one mark, and its share of the calls that open it again.
// The worth of a notice is the number of sections that an open page costs as much. Each page has a
// credit in sections: each section costs 1, each store earns the worth, or less if the section
// before did not store to the page. A page is wanted when its credit is that of `patience` sections
// in a row that stored to it, and until its credit is used up. So pages are wanted whose stores
// earn more than they cost.
//
// The choice for all. A mechanism that keeps pages open takes the others one by one, because a look
// at everything would close the kept pages. So a few kept pages make every notice dearer. The
// wanted pages are opened if they save more than that, as a whole. While they do not, they stay
// watched. When they save it no longer, those that the last section has not stored to are not
// wanted any more.
//
// The choice is looked at again without a notice, because a commit tells which open pages had
// changed. Pages that are stored to with equal values look idle and are not: they are noticed as
// soon as they are closed. Such `quiet` pages stay open for `review_sections`.
//
// So after a change of behaviour a page costs at most patience + 1 notices more if all sections
// store to it, and at most keep_factor * most_worth sections of an open page (review_sections of a
// quiet one) if none does.
//
// Pure: no memory is read, and time is an argument (Prices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "track/page_set.h"
#include "track/prices.h"

namespace iw::track {

// What a mechanism can do at most (it can do those before, too), and what the forecast chooses.
enum class Opening {
  none,          // every page is watched
  each_section,  // pages are opened as a section begins, and watched again as it ends
  kept           // pages stay open between sections, and every collect lists them
};

class StoreForecast {
 public:
  // REQUIRES: `most`, which the mechanism can do, is not none.
  StoreForecast(std::size_t page_count, const Prices& prices, Opening most);

  // A section begins; the one before, its commit included, has ended. Then open_pages() are to be
  // open as opening() says. Takes no memory.
  void section_begins();
  // A section ends. These pages were noticed in it, and are not open ones.
  void noticed(const PageSet& pages);
  // A commit has changed these pages.
  void changed(std::size_t first, std::size_t end) { changed_.add(first, end); }
  // The pages are collected between two sections, while so many are open: those of the section
  // before, which may have been opened in another way. Afterwards open_pages() may be empty.
  void looked(std::size_t kept_pages);

  [[nodiscard]] Opening opening() const { return opening_; }
  [[nodiscard]] const PageSet& open_pages() const { return open_; }

  static constexpr int patience = 3;
  static constexpr int keep_factor = 4;
  static constexpr int most_worth = 15;
  static constexpr int review_sections = 64;

 private:
  struct Page {
    std::uint16_t section = 0;  // in which it earned last, modulo 2^16
    std::uint16_t credit = 0;   // in parts of a section
  };
  struct Free {
    void operator()(Page* pages) const noexcept { std::free(pages); }
  };
  static constexpr double credit_parts = 256;

  static Page* zeroes(std::size_t page_count);

  [[nodiscard]] std::uint16_t age(const Page& page) const {
    return static_cast<std::uint16_t>(section_ - page.section);
  }
  void set_credit(Page& page, double credit) const;
  [[nodiscard]] double opening_credit() const { return patience * (worth_ - 1); }
  // One notice opens such a page again.
  [[nodiscard]] double reopening_credit() const { return (patience - 1) * (worth_ - 1); }
  [[nodiscard]] double notice_cost(double pages) const;
  void reckon(const PageSet& working);
  void weigh();
  [[nodiscard]] bool saves(double factor) const;
  void settle();
  bool is_wanted_still(std::size_t at, bool is_review);
  double earn(Page& page);
  void give_up_scratch();

  const std::size_t page_count_;
  const Prices prices_;
  const Opening most_;
  // Zeroes that no store has touched take no memory: most pages of a large area are never stored
  // to.
  std::unique_ptr<Page[], Free> pages_;
  PageSet wanted_;
  PageSet open_;     // all wanted ones as the section began, or none
  PageSet quiet_;    // noticed, and not changed, in the last section that they were noticed in
  PageSet noticed_;  // in the last section
  PageSet changed_;  // since the last section began
  PageSet scratch_;  // because a section begins without taking memory
  Opening opening_;
  double worth_ = 0;
  double open_page_cost_ = 0;
  double beside_cost_ = 0;         // of a section, to take others one by one
  double stored_part_ = 1;         // of the wanted pages, by a section
  double other_stretches_ = 0;     // noticed in a section, of pages that are not wanted
  unsigned looks_ = 0;             // since the last section
  double looks_each_section_ = 1;  // a writer looks for stray stores as it begins
  std::uint32_t section_ = 1000;   // every page was stored to long ago
  std::uint32_t reviewed_ = 1000;
};

}  // namespace iw::track
