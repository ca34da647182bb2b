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
constexpr double lone_part = 0.9;

// The weight of the last section.
constexpr double of_stored = 0.25;
constexpr double of_others = 0.5;

void mix(double& mean, double sample, double weight) { mean += weight * (sample - mean); }

}  // namespace

StoreForecast::StoreForecast(std::size_t page_count, const Prices& prices, Opening most)
    : page_count_(page_count),
      prices_(prices),
      most_(most),
      pages_(zeroes(page_count)),
      wanted_(page_count),
      open_(page_count),
      quiet_(page_count),
      noticed_(page_count),
      changed_(page_count),
      scratch_(page_count),
      opening_(most) {
  reckon(wanted_);
}

StoreForecast::Page* StoreForecast::zeroes(std::size_t page_count) {
  auto* const pages = static_cast<Page*>(std::calloc(page_count, sizeof(Page)));
  if (pages == nullptr && page_count != 0) throw std::bad_alloc();
  return pages;
}

double StoreForecast::notice_cost(double pages) const {
  return prices_.notice + prices_.mark + prices_.compare_of(static_cast<std::size_t>(pages));
}

// Chooses the way to open, and the worth of a notice, for so many pages.
void StoreForecast::reckon(const PageSet& working) {
  const std::size_t pages = working.size();
  const double count = std::max<double>(1, static_cast<double>(pages));
  const double stretches = pages == 0 ? 1 : static_cast<double>(working.stretches());
  const double compare = prices_.compare_of(pages);
  // The others are taken one by one, or all at once and the kept ones are opened again.
  const double beside = std::min(other_stretches_ * prices_.open_call,
                                 prices_.scan_of(page_count_) + stretches * prices_.open_call);
  const double kept = compare * (1 + looks_each_section_);
  const double each =
      compare + prices_.mark + prices_.open_page + prices_.open_call * stretches / count;
  const double kept_with_others = kept + beside / count;
  if (most_ == Opening::each_section) {
    opening_ = Opening::each_section;
  } else if (opening_ == Opening::each_section) {
    if (kept_with_others < each * worth_changing) opening_ = Opening::kept;
  } else {
    opening_ = each < kept_with_others * worth_changing ? Opening::each_section : Opening::kept;
  }
  open_page_cost_ = opening_ == Opening::kept ? kept : each;
  beside_cost_ = opening_ == Opening::kept ? beside : 0;
  // Beside kept pages a watched one costs a call of its own as well. That counts only while keeping
  // clearly pays, else pages would be opened and closed again and again.
  const bool is_one_by_one = opening_ == Opening::kept && !open_.is_empty() &&
                             other_stretches_ * prices_.open_call <= beside &&
                             saves(worth_changing * worth_changing);
  const double watched_page_cost = notice_cost(count) + (is_one_by_one ? prices_.open_call : 0);
  worth_ = std::min<double>(most_worth, watched_page_cost / open_page_cost_);
}

// The last section has shown which of the wanted pages are stored to, and how many others are.
void StoreForecast::weigh() {
  scratch_ = noticed_;
  scratch_.remove(wanted_);
  mix(other_stretches_, static_cast<double>(scratch_.stretches()), of_others);
  const auto wanted = static_cast<double>(wanted_.size());
  scratch_ = noticed_;
  scratch_.keep_only(wanted_);
  auto stored = static_cast<double>(scratch_.size());
  scratch_ = changed_;
  scratch_.add(quiet_);
  scratch_.keep_only(open_);
  stored += static_cast<double>(scratch_.size());
  mix(stored_part_, wanted == 0 ? 1 : std::min(1.0, stored / wanted), of_stored);
}

// Whether the wanted pages cost less open than watched, by this factor.
bool StoreForecast::saves(double factor) const {
  const auto wanted = static_cast<double>(wanted_.size());
  const double stored = stored_part_ * wanted;
  return wanted * open_page_cost_ + beside_cost_ <= stored * notice_cost(stored) * factor;
}

void StoreForecast::section_begins() {
  looks_each_section_ = (3 * looks_each_section_ + std::min(looks_, most_looks)) / 4;
  looks_ = 0;
  weigh();
  noticed_.remove(changed_);
  quiet_.add(noticed_);
  quiet_.remove(changed_);
  reckon(wanted_);
  if (worth_ < 1) {
    scratch_ = wanted_;
    give_up_scratch();
  } else {
    settle();
  }
  const bool was_open = !open_.is_empty();
  open_.clear();
  if (saves(was_open ? 1 / worth_changing : worth_changing)) {
    open_ = wanted_;
  } else if (was_open) {
    scratch_ = wanted_;
    scratch_.remove(changed_);
    give_up_scratch();
  }
  noticed_.clear();
  changed_.clear();
  ++section_;
}

void StoreForecast::set_credit(Page& page, double credit) const {
  const double kept = std::clamp<double>(credit, 0, keep_factor * worth_);
  page.credit = static_cast<std::uint16_t>(kept * credit_parts);
}

// Gives the open pages what the last section earned, and closes those whose credit is used up. The
// watched ones have earned by their notices.
void StoreForecast::settle() {
  const bool is_review = section_ - reviewed_ >= review_sections;
  if (is_review) reviewed_ = section_;
  scratch_.clear();
  wanted_.for_each_run([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      if (is_wanted_still(i, is_review)) continue;
      pages_[i].section = static_cast<std::uint16_t>(section_);
      scratch_.add(i, i + 1);
    }
  });
  wanted_.remove(scratch_);
}

bool StoreForecast::is_wanted_still(std::size_t at, bool is_review) {
  Page& page = pages_[at];
  if (open_.contains(at)) {
    if (changed_.contains(at)) return earn(page) >= 0;
    if (quiet_.contains(at)) {
      if (is_review) set_credit(page, reopening_credit());
      return !is_review;
    }
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
  scratch_.add(wanted_);
  reckon(scratch_);
  noticed_ = pages;
  pages.for_each_run([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      Page& page = pages_[i];
      if (earn(page) < 0) wanted_.remove(i, i + 1);
      // Credits are rounded down.
      const bool is_enough = (page.credit + patience) / credit_parts >= opening_credit();
      if (worth_ > 1 && is_enough) wanted_.add(i, i + 1);
    }
  });
}

void StoreForecast::looked(std::size_t kept_pages) {
  ++looks_;
  if (kept_pages == 0) return;
  const double compare = prices_.compare_of(kept_pages);
  const double most = keep_factor * (prices_.notice + prices_.mark + compare);
  if (looks_ * compare <= most) return;
  scratch_ = wanted_;
  give_up_scratch();
  open_.clear();
}

// These pages are soon wanted again, if that still pays.
void StoreForecast::give_up_scratch() {
  scratch_.for_each_run([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      set_credit(pages_[i], reopening_credit());
      pages_[i].section = static_cast<std::uint16_t>(section_);
    }
  });
  wanted_.remove(scratch_);
  stored_part_ = 1;
}

}  // namespace iw::track
