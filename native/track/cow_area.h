// The part that all mechanisms with a second copy share: the two mappings over one anonymous file,
// and the steps that keep the invariant of tracker.h. A mechanism adds the way to find stored
// pages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "platform/memory.h"
#include "track/page_set.h"
#include "track/tracker.h"
#include "track/view_guard.h"

namespace iw::track {

struct AreaRequest {
  std::size_t size_bytes;
  void* wanted_address;
  bool read_only;
  int memfd;  // or -1
  Placement placement;
};

// The pristine copy (not inherited by children) and the view over it.
struct TwoViews {
  platform::Mapping pristine;
  platform::Mapping view;
};
Status map_two_views(const AreaRequest& request, TwoViews& out);

class CowArea : public Area {
 public:
  std::byte* view() const final { return views_.view.begin(); }
  std::byte* pristine() const final { return views_.pristine.begin(); }
  std::size_t size_bytes() const final { return views_.view.size_bytes(); }

  Status arm() override;
  Status collect(std::vector<PageRange>& dirty) override;
  [[nodiscard]] bool was_open() const final { return was_open_; }
  std::byte* begin_apply(std::size_t offset, std::size_t size_bytes) final;
  Status apply(std::size_t offset, const void* bytes, std::size_t size_bytes) final;
  Status apply_done() final;
  Status commit(std::span<const PageRange> ranges) override { return commit_some(ranges); }
  Status commit_some(std::span<const PageRange> ranges) final;
  Status rollback(std::span<const PageRange> pages) final;
  void list_again(std::span<const PageRange> pages) final;
  Status show_pristine() override;
  Status set_access(Access access) final;

 protected:
  CowArea(TwoViews views, Stores stores);

  // Adds the pages of `among` (or some more) that were stored to since they were last taken, and
  // watches them again.
  virtual Status take_stored(const PageSet& among, PageSet& out) = 0;
  // Whether a page that take_stored has found may be stored to by the library and taken again.
  // Otherwise such pages are renewed by dropping them.
  [[nodiscard]] virtual bool can_store_to_view() const { return false; }

  // Lets all pages of `among` be stored to without further notice; take_stored then lists them all.
  // False: the mechanism cannot do so, or gains nothing by it.
  virtual bool open(const PageSet& among) {
    (void)among;
    return false;
  }

  Status check_process() const;
  Status drop(const PageSet& pages);
  [[nodiscard]] std::size_t page_bytes() const { return page_bytes_; }
  [[nodiscard]] std::size_t page_count() const { return size_bytes() / page_bytes_; }
  [[nodiscard]] const PageSet& all_pages() const { return all_pages_; }
  [[nodiscard]] PageSet& known_private() { return known_private_; }
  ViewGuard& guard() { return guard_; }

 private:
  Status check_ranges(std::span<const PageRange> ranges, std::size_t alignment_bytes) const;
  Status copy_into_view(const PageSet& pages);
  void end_section();

  TwoViews views_;
  const std::size_t page_bytes_;
  const unsigned made_in_fork_;
  PageSet all_pages_;
  PageSet known_private_;  // see tracker.h
  PageSet pending_;        // taken from the mechanism, not yet listed by a collect
  PageSet touched_;        // by an apply that is not yet done
  RewriteHistory history_;
  bool is_armed_ = false;
  bool is_open_ = false;   // the section is, whose pages are listed whether stored to or not
  bool was_open_ = false;  // the section was, that the last collect ended
  ViewGuard guard_;        // last: no fault may find the rest gone
};

}  // namespace iw::track
