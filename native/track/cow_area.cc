#include "track/cow_area.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace iw::track {

namespace {

// A stretch of at least this many pages is renewed by dropping it in one call, a smaller one by
// copying: dropped pages must be copied by the kernel again at their next store.
constexpr std::size_t drop_from_pages = 32;

std::atomic<OpeningRule> opening_rule{OpeningRule::by_price};

}  // namespace

void set_opening(OpeningRule rule) { opening_rule = rule; }

CowArea::CowArea(TwoViews views, Stores stores)
    : MappedArea(std::move(views), stores),
      page_bytes_(platform::page_size()),
      all_pages_(page_count()),
      known_private_(page_count()),
      pending_(page_count()),
      touched_(page_count()),
      kept_(page_count()),
      opened_(page_count()),
      scratch_(page_count()) {
  all_pages_.add(0, page_count());
}

void CowArea::open_by(const Prices& prices) {
  if (most_opening() != Opening::none) forecast_.emplace(page_count(), prices, most_opening());
}

Status CowArea::check_ranges(std::span<const PageRange> ranges, std::size_t alignment_bytes) const {
  for (const PageRange& range : ranges) {
    if (range.begin_bytes > range.end_bytes || range.end_bytes > size_bytes() ||
        range.begin_bytes % alignment_bytes != 0 || range.end_bytes % alignment_bytes != 0) {
      return {EINVAL, "a range is outside the area or not page aligned"};
    }
  }
  return {};
}

Status CowArea::arm() {
  if (Status bad = check_process(); !bad) return bad;
  if (!is_armed_ && forecast_) begin_section();
  is_armed_ = true;
  return {};
}

void CowArea::begin_section() {
  forecast_->section_begins();
  switch (opening_rule.load(std::memory_order_relaxed)) {
    case OpeningRule::by_price:
      return open_pages_of(forecast_->opening(), forecast_->open_pages());
    case OpeningRule::never:
      return open_pages_of(Opening::none, all_pages_);
    case OpeningRule::all_each_section:
      return open_pages_of(Opening::each_section, known_private_);
    case OpeningRule::all_kept:
      return open_pages_of(most_opening(), known_private_);
  }
}

// Pages that were kept and no longer are remain open until the section ends.
void CowArea::open_pages_of(Opening opening, const PageSet& pages) {
  opened_ = kept_;
  kept_.clear();
  if (opening == Opening::none) return;
  if (opening == Opening::kept) kept_ = pages;
  scratch_ = pages;
  scratch_.remove(opened_);
  if (open(scratch_)) {
    opened_.add(scratch_);
  } else {
    kept_.remove(scratch_);
  }
}

// Between sections nobody but a stray store changes the pages that are kept open.
void CowArea::begin_collect() {
  if (!forecast_ || is_armed_) return;
  opened_ = kept_;
  forecast_->looked(kept_.size());
  if (forecast_->open_pages().is_empty() &&
      opening_rule.load(std::memory_order_relaxed) == OpeningRule::by_price) {
    kept_.clear();
  }
}

// REQUIRES: pending_ has the pages that were stored to in the section.
void CowArea::end_section() {
  if (forecast_ && is_armed_) {
    scratch_ = pending_;
    scratch_.remove(opened_);
    forecast_->noticed(scratch_);
  }
  is_armed_ = false;
}

Status CowArea::collect(std::vector<PageRange>& dirty) {
  dirty.clear();
  if (Status bad = check_process(); !bad) return bad;
  has_pages();
  begin_collect();
  if (Status bad = take_stored(all_pages_, pending_); !bad) return bad;
  end_section();
  pending_.add(kept_);
  known_private_.add(pending_);
  pending_.for_each_run([&](std::size_t first, std::size_t end) {
    dirty.push_back({first * page_bytes_, end * page_bytes_});
  });
  opened_.keep_only(pending_);
  listed_open_pages_ = opened_.size();
  pending_.clear();
  return {};
}

std::byte* CowArea::begin_apply(std::size_t offset, std::size_t size) {
  std::byte* const to = MappedArea::begin_apply(offset, size);
  if (to != nullptr && size != 0) {
    touched_.add(offset / page_bytes_, (offset + size - 1) / page_bytes_ + 1);
  }
  return to;
}

Status CowArea::apply_done() {
  if (Status bad = check_process(); !bad) return bad;
  has_pages();
  PageSet renewed = touched_;
  renewed.keep_only(known_private_);
  touched_.clear();
  PageSet dropped(page_count());
  const bool can_copy = can_store_to_view() && guard().access() == Access::write;
  renewed.for_each_run([&](std::size_t first, std::size_t end) {
    if (!can_copy || end - first >= drop_from_pages) dropped.add(first, end);
  });
  renewed.remove(dropped);
  if (Status bad = drop(dropped); !bad) return bad;
  return copy_into_view(renewed);
}

// Copies the pristine bytes into the view. Taking the stored pages afterwards removes our own
// stores; other pages that are found were stored to by the application just now.
Status CowArea::copy_into_view(const PageSet& pages) {
  bool any = false;
  pages.for_each_run([&](std::size_t first, std::size_t end) {
    any = true;
    std::memcpy(view() + first * page_bytes_, pristine() + first * page_bytes_,
                (end - first) * page_bytes_);
  });
  if (!any) return {};
  PageSet stored(page_count());
  const Status status = take_stored(pages, stored);
  stored.remove(pages);
  pending_.add(stored);
  return status;
}

// `pages` may be known_private_ itself.
Status CowArea::drop(const PageSet& pages) {
  Status status;
  if constexpr (!platform::can_drop_private_pages) {
    pages.for_each_run([&](std::size_t first, std::size_t end) {
      const Status one = guard().overwrite(first, end, pristine());
      if (!one.ok()) status = one;
    });
    return status;
  }
  pages.for_each_run([&](std::size_t first, std::size_t end) {
    const Status one =
        platform::drop_private_pages(view() + first * page_bytes_, (end - first) * page_bytes_);
    if (one.ok()) {
      known_private_.remove(first, end);
    } else {
      status = one;
    }
  });
  return status;
}

Status CowArea::commit_some(std::span<const PageRange> ranges) {
  if (Status bad = check_process(); !bad) return bad;
  if (Status bad = check_ranges(ranges, 1); !bad) return bad;
  for (const PageRange& range : ranges) {
    std::memcpy(pristine() + range.begin_bytes, view() + range.begin_bytes, range.size_bytes());
  }
  if (forecast_) note_changed(ranges);
  return {};
}

void CowArea::note_changed(std::span<const PageRange> ranges) {
  std::size_t noted_bytes = 0;  // ranges that end before here are noted; most share a page
  for (const PageRange& range : ranges) {
    if (range.end_bytes <= noted_bytes || range.begin_bytes == range.end_bytes) continue;
    const std::size_t end = (range.end_bytes - 1) / page_bytes_ + 1;
    forecast_->changed(range.begin_bytes / page_bytes_, end);
    noted_bytes = end * page_bytes_;
  }
}

Status CowArea::rollback(std::span<const PageRange> pages) {
  if (Status bad = check_process(); !bad) return bad;
  if (Status bad = check_ranges(pages, page_bytes_); !bad) return bad;
  PageSet dropped(page_count());
  for (const PageRange& range : pages) {
    dropped.add(range.begin_bytes / page_bytes_, range.end_bytes / page_bytes_);
  }
  // The pages are watched again before they are dropped, so a store in between is listed. Other
  // pages that are found remain to be listed.
  PageSet stored(page_count());
  if (Status bad = take_stored(dropped, stored); !bad) {
    pending_.add(stored);
    return bad;
  }
  pending_.add(stored);
  pending_.remove(dropped);
  return drop(dropped);
}

void CowArea::list_again(std::span<const PageRange> pages) {
  for (const PageRange& range : pages) {
    pending_.add(range.begin_bytes / page_bytes_, range.end_bytes / page_bytes_);
  }
}

// Pages stored to since the last collect are not taken here: they will be listed, and are equal.
Status CowArea::show_pristine() {
  if (Status bad = check_process(); !bad) return bad;
  is_armed_ = false;
  touched_.clear();
  return drop(all_pages_);
}

}  // namespace iw::track
