// wp-async (Linux 6.7): the kernel notes the first store to each page by itself (userfaultfd in
// WP_ASYNC mode) and PAGEMAP_SCAN lists the noted pages and marks them again in one step. No
// signals, no protection changes, system calls may store to the view.
//
// Facts the steps rely on, tested by the self-test: a store to the pristine copy shows through
// clean pages and notes nothing; dropping a private page keeps its mark; a private page marked
// again notes the next store.
#include <cerrno>
#include <memory>
#include <new>
#include <utility>

#include "platform/page_scan.h"
#include "track/mechanisms.h"

namespace iw::track {

namespace {

struct Kernel {
  platform::WriteWatch watch;
  platform::PageScanner scanner;

  Status open() {
    if (Status bad = platform::WriteWatch::open(watch); !bad) return bad;
    return platform::PageScanner::open(scanner);
  }
};

// Scanning over a hole costs about a nanosecond a page, another call several hundred.
constexpr std::size_t scan_gap_pages = 512;

class WpAsyncArea final : public CowArea {
 public:
  WpAsyncArea(TwoViews views, std::shared_ptr<const Kernel> kernel)
      : CowArea(std::move(views), Stores::free), kernel_(std::move(kernel)) {}

  Status start() override { return kernel_->watch.start(view(), size_bytes()); }
  [[nodiscard]] Opening most_opening() const override { return Opening::kept; }

 private:
  [[nodiscard]] bool can_store_to_view() const override { return true; }

  Status take_stored(const PageSet& among, PageSet& out) override {
    return kept().is_empty() ? take_written(among, scan_gap_pages, out)
                             : take_beside_kept(among, out);
  }

  // The pages between stretches that are less than `gap` apart are taken, too.
  Status take_written(const PageSet& among, std::size_t gap, PageSet& out) {
    Status status;
    among.for_each_run(
        [&](std::size_t first, std::size_t end) {
          if (!status.ok()) return;
          found_.clear();
          try {
            status = kernel_->scanner.take_written(view(), view() + first * page_bytes(),
                                                   (end - first) * page_bytes(), found_);
          } catch (const std::bad_alloc&) {
            add_found(out);  // they are not found again
            throw;
          }
          add_found(out);
        },
        gap);
    return status;
  }

  // A scan that marks pages again would mark those that are kept open. So the written pages are
  // listed first, and then the others among them are taken. If that needs more calls than opening
  // the kept pages again, they are opened again.
  Status take_beside_kept(const PageSet& among, PageSet& out) {
    PageSet wanted = among;
    wanted.remove(kept());
    PageSet written(page_count());
    if (Status bad = list_written(wanted, written); !bad) return bad;
    written.remove(kept());
    if (written.stretches() <= kept().stretches()) return take_written(written, 1, out);
    const Status status = take_written(wanted, scan_gap_pages, out);
    (void)open(kept());
    return status;
  }

  Status list_written(const PageSet& among, PageSet& out) {
    Status status;
    among.for_each_run(
        [&](std::size_t first, std::size_t end) {
          if (!status.ok()) return;
          found_.clear();
          status = kernel_->scanner.list_written(view(), view() + first * page_bytes(),
                                                 (end - first) * page_bytes(), found_);
          add_found(out);
        },
        scan_gap_pages);
    return status;
  }

  void add_found(PageSet& out) const {
    for (const PageRange& range : found_) {
      out.add(range.begin_bytes / page_bytes(), range.end_bytes / page_bytes());
    }
  }

  // One call for many pages, where each first store would be a fault.
  bool open(const PageSet& among) override {
    Status status;
    among.for_each_run([&](std::size_t first, std::size_t end) {
      const Status one =
          kernel_->watch.let_write(view() + first * page_bytes(), (end - first) * page_bytes());
      if (!one.ok()) status = one;
    });
    return status.ok();
  }

  std::shared_ptr<const Kernel> kernel_;
  std::vector<PageRange> found_;  // kept for its memory
};

}  // namespace

Status make_wp_async(std::unique_ptr<Tracker>& out) {
  return make_sharing_tracker<WpAsyncArea, Kernel>({"wp-async", true, false}, out);
}

}  // namespace iw::track
