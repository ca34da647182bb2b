#include "track/store_forecast.h"

#include <algorithm>
#include <new>

namespace iw::track {

namespace {

constexpr unsigned most_looks = 32;  // so that one long pause is soon forgotten

// The other way must be cheaper by this before it is taken.
constexpr double worth_changing = 0.9;

// What a store earns that does not follow on a store of the section before. Pages that are stored
// to at random would be opened and closed again and again if it earned all of the worth.
constexpr double lone_part = 0.7;

}  // namespace

StoreForecast::StoreForecast(std::size_t page_count, const Prices& prices, Opening most)
    : prices_(prices),
      most_(most),
      pages_(zeroes(page_count)),
      open_(page_count),
      quiet_(page_count),
      noticed_(page_count),
      changed_(page_count),
      scratch_(page_count),
      opening_(most) {
  reckon(open_);
}

StoreForecast::Page* StoreForecast::zeroes(std::size_t page_count) {
  auto* const pages = static_cast<Page*>(std::calloc(page_count, sizeof(Page)));
  if (pages == nullptr && page_count != 0) throw std::bad_alloc();
  return pages;
}

// Chooses the way to open, and the worth of a notice, for so many pages.
void StoreForecast::reckon(const PageSet& working) {
  const std::size_t pages = working.size();
  const double compare = prices_.compare_of(pages);
  const double calls =
      pages == 0 ? 1 : static_cast<double>(working.stretches()) / static_cast<double>(pages);
  const double kept = compare * (1 + looks_each_section_);
  const double each = compare + prices_.mark + prices_.open_page + prices_.open_call * calls;
  if (most_ == Opening::each_section) {
    opening_ = Opening::each_section;
  } else if (opening_ == Opening::each_section) {
    if (kept < each * worth_changing) opening_ = Opening::kept;
  } else {
    opening_ = each < kept * worth_changing ? Opening::each_section : Opening::kept;
  }
  const double open_page = opening_ == Opening::kept ? kept : each;
  const double notice = prices_.notice + prices_.mark + compare;
  worth_ = std::min<double>(most_worth, notice / open_page);
}

void StoreForecast::section_begins() {
  looks_each_section_ = (3 * looks_each_section_ + std::min(looks_, most_looks)) / 4;
  looks_ = 0;
  noticed_.remove(changed_);
  quiet_.add(noticed_);
  quiet_.remove(changed_);
  reckon(open_);
  if (worth_ < 1) {
    close_all();
  } else {
    settle();
  }
  noticed_.clear();
  changed_.clear();
  ++section_;
}

void StoreForecast::set_credit(Page& page, double credit) const {
  const double kept = std::clamp<double>(credit, 0, keep_factor * worth_);
  page.credit = static_cast<std::uint16_t>(kept * credit_parts);
}

// Gives the open pages what the last section earned, and closes those whose credit is used up.
void StoreForecast::settle() {
  const bool is_review = section_ - reviewed_ >= review_sections;
  if (is_review) reviewed_ = section_;
  scratch_.clear();
  open_.for_each_run([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      if (is_open_still(i, is_review)) continue;
      pages_[i].section = static_cast<std::uint16_t>(section_);
      scratch_.add(i, i + 1);
    }
  });
  open_.remove(scratch_);
}

bool StoreForecast::is_open_still(std::size_t at, bool is_review) {
  Page& page = pages_[at];
  if (changed_.contains(at)) return earn(page) >= 0;
  if (quiet_.contains(at)) {
    if (is_review) set_credit(page, reopening_credit());
    return !is_review;
  }
  if (age(page) <= page.credit / credit_parts) return true;
  set_credit(page, 0);
  return false;
}

// A store pays for the sections since the one before it. Returns the credit, negative if the page
// is in debt.
double StoreForecast::earn(Page& page) {
  const double worth = age(page) == 1 ? worth_ : lone_part * worth_;
  const double credit = page.credit / credit_parts + worth - age(page);
  set_credit(page, credit);
  page.section = static_cast<std::uint16_t>(section_);
  return credit;
}

void StoreForecast::noticed(const PageSet& pages) {
  scratch_ = pages;
  scratch_.add(open_);
  reckon(scratch_);
  noticed_ = pages;
  pages.for_each_run([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      Page& page = pages_[i];
      (void)earn(page);
      // Credits are rounded down.
      const bool is_enough = (page.credit + patience) / credit_parts >= opening_credit();
      if (worth_ > 1 && is_enough) open_.add(i, i + 1);
    }
  });
}

void StoreForecast::looked() {
  ++looks_;
  if (opening_ != Opening::kept || open_.is_empty()) return;
  const double compare = prices_.compare_of(open_.size());
  const double most = keep_factor * (prices_.notice + prices_.mark + compare);
  if (looks_ * compare > most) close_all();
}

// They are soon opened again, if that still pays.
void StoreForecast::close_all() {
  open_.for_each_run([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      set_credit(pages_[i], reopening_credit());
      pages_[i].section = static_cast<std::uint16_t>(section_);
    }
  });
  open_.clear();
}

}  // namespace iw::track
