// scan: for containers without userfaultfd. The page tables tell which pages of the view are
// private; those were stored to. A page cannot be marked again, so a commit drops the collected
// pages. They are then clean and show the pristine copy, and their next store is seen.
#include <cerrno>
#include <memory>
#include <utility>

#include "platform/page_scan.h"
#include "track/mechanisms.h"
#include "track/per_process.h"

namespace iw::track {

namespace {

struct Scanner {
  platform::PageScanner pages;

  Status open() { return platform::PageScanner::open(pages); }
};

class ScanArea final : public CowArea {
 public:
  ScanArea(TwoViews views, std::shared_ptr<const Scanner> scanner)
      : CowArea(std::move(views), Stores::free), scanner_(std::move(scanner)) {}

  Status commit(std::span<const PageRange> ranges) override {
    if (Status bad = CowArea::commit(ranges); !bad) return bad;
    return drop(known_private());
  }

 private:
  Status take_stored(const PageSet& among, PageSet& out) override {
    Status status;
    among.for_each_run([&](std::size_t first, std::size_t end) {
      if (!status.ok()) return;
      std::vector<PageRange> found;
      status = scanner_->pages.list_private(view(), view() + first * page_bytes(),
                                            (end - first) * page_bytes(), found);
      for (const PageRange& range : found) {
        out.add(range.begin_bytes / page_bytes(), range.end_bytes / page_bytes());
      }
    });
    return status;
  }

  std::shared_ptr<const Scanner> scanner_;
};

class ScanTracker final : public Tracker {
 public:
  Status open() {
    std::shared_ptr<const Scanner> first;
    return scanner_.get(first);
  }

  [[nodiscard]] const char* name() const override { return "scan"; }
  [[nodiscard]] bool finds_pages() const override { return true; }

  std::unique_ptr<Area> create(std::size_t size_bytes, void* wanted_address, bool read_only,
                               int memfd, Status& status, Placement placement) override {
    const AreaRequest request{size_bytes, wanted_address, read_only, memfd, placement};
    if (read_only) return create_read_only(request, false, status);
    TwoViews views;
    std::shared_ptr<const Scanner> scanner;
    status = map_two_views(request, views);
    if (status.ok()) status = scanner_.get(scanner);
    if (!status.ok()) return nullptr;
    return std::make_unique<ScanArea>(std::move(views), std::move(scanner));
  }

 private:
  PerProcess<Scanner> scanner_;
};

}  // namespace

Status make_scan(std::unique_ptr<Tracker>& out) {
  auto tracker = std::make_unique<ScanTracker>();
  if (Status bad = tracker->open(); !bad) return bad;
  out = std::move(tracker);
  return {};
}

}  // namespace iw::track
