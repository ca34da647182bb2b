// scan: for containers without userfaultfd. The page tables tell which pages of the view are
// private; those were stored to. A page cannot be marked again, so a commit drops the collected
// pages. They are then clean and show the pristine copy, and their next store is seen.
#include <cerrno>
#include <memory>
#include <utility>

#include "platform/page_scan.h"
#include "track/mechanisms.h"

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

}  // namespace

Status make_scan(std::unique_ptr<Tracker>& out) {
  return make_sharing_tracker<ScanArea, Scanner>({"scan", true, false}, out);
}

}  // namespace iw::track
