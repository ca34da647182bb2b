// The part that all mechanisms with a second copy share: the steps that keep the invariant of
// tracker.h. A mechanism adds the way to find stored pages.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "track/mapped_area.h"
#include "track/page_set.h"
#include "track/tracker.h"

namespace iw::track {

class CowArea : public MappedArea {
 public:
  // Begins to watch stores, before anybody knows the area.
  virtual Status start() { return {}; }
  // What the mechanism can do. Pages are opened by these prices if it is more than none.
  [[nodiscard]] virtual Opening most_opening() const { return Opening::none; }
  void open_by(const Prices& prices);
  // Measures the prices of the mechanism. REQUIRES: most_opening() is not none; the area was made
  // and started for this, and ends with it.
  Status measure(Clock clock, Prices& out);

  Status arm() override;
  Status collect(std::vector<PageRange>& dirty) override;
  [[nodiscard]] std::size_t open_pages() const final { return listed_open_pages_; }
  std::byte* begin_apply(std::size_t offset, std::size_t size_bytes) final;
  Status apply_done() final;
  Status commit(std::span<const PageRange> ranges) override { return commit_some(ranges); }
  Status commit_some(std::span<const PageRange> ranges) final;
  Status rollback(std::span<const PageRange> pages) final;
  void list_again(std::span<const PageRange> pages) final;
  Status show_pristine() override;

 protected:
  CowArea(TwoViews views, Stores stores);

  // Adds the pages of `among` (or some more) that were stored to since they were last taken, and
  // watches them again. Pages that are kept() are neither: every collect lists them.
  virtual Status take_stored(const PageSet& among, PageSet& out) = 0;
  // Whether a page that take_stored has found may be stored to by the library and taken again.
  // Otherwise such pages are renewed by dropping them.
  [[nodiscard]] virtual bool can_store_to_view() const { return false; }

  // Lets all pages of `among` be stored to without further notice. take_stored then lists those of
  // them that are not kept(). REQUIRES: most_opening() is not none. False: not now.
  virtual bool open(const PageSet& among) {
    (void)among;
    return false;
  }
  // The pages that stay open between sections.
  [[nodiscard]] const PageSet& kept() const { return kept_; }

  Status drop(const PageSet& pages);
  [[nodiscard]] std::size_t page_bytes() const { return page_bytes_; }
  [[nodiscard]] std::size_t page_count() const { return size_bytes() / page_bytes_; }
  [[nodiscard]] const PageSet& all_pages() const { return all_pages_; }
  [[nodiscard]] PageSet& known_private() { return known_private_; }

 private:
  void note_changed(std::span<const PageRange> ranges);
  Status check_ranges(std::span<const PageRange> ranges, std::size_t alignment_bytes) const;
  Status copy_into_view(const PageSet& pages);
  void begin_section();
  void open_pages_of(Opening opening, const PageSet& pages);
  void begin_collect();
  void end_section();

  const std::size_t page_bytes_;
  PageSet all_pages_;
  PageSet known_private_;  // see tracker.h
  PageSet pending_;        // taken from the mechanism, not yet listed by a collect
  PageSet touched_;        // by an apply that is not yet done
  PageSet kept_;
  PageSet opened_;   // in this section; between sections those that are kept
  PageSet scratch_;  // because arm() takes no memory
  std::optional<StoreForecast> forecast_;
  std::size_t listed_open_pages_ = 0;
  bool is_armed_ = false;
};

}  // namespace iw::track
