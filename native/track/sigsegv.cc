// sigsegv: the portable mechanism. The view is protected against stores. The first store to a page
// faults; the handler notes the page and opens it, and the kernel makes its private copy. Outside
// the writer lock the same fault is a stray store and is reported at once. The store then continues
// on a private page, and the next acquire undoes it.
//
// On Windows, where a vectored exception handler takes the fault, it has the same name.
//
// System calls that store to a protected page fail with EFAULT: receive into other memory and copy.
#include <memory>
#include <utility>

#include "track/mechanisms.h"

namespace iw::track {

namespace {

class SigsegvArea final : public CowArea {
 public:
  explicit SigsegvArea(TwoViews views) : CowArea(std::move(views), Stores::trapped) {}

  Status start() override {
    if (Status bad = guard().start(); !bad) return bad;
    return platform::protect(view(), size_bytes(), platform::Protection::read);
  }

  // Stores outside of the lock are reported at once, so no page is kept open.
  [[nodiscard]] Opening most_opening() const override { return Opening::each_section; }

  Status arm() override {
    if (Status bad = platform::keep_fault_handler_on_top(); !bad) return bad;
    if (Status bad = CowArea::arm(); !bad) return bad;
    guard().allow_stores(true);
    return {};
  }

  Status collect(std::vector<PageRange>& dirty) override {
    guard().allow_stores(false);
    return CowArea::collect(dirty);
  }

  Status show_pristine() override {
    guard().allow_stores(false);
    return CowArea::show_pristine();
  }

 private:
  Status take_stored(const PageSet& among, PageSet& out) override {
    return guard().take_stored(among, out);
  }

  bool open(const PageSet& among) override {
    return guard().access() == Access::write && guard().open_for_stores(among).ok();
  }
};

}  // namespace

Status make_sigsegv(std::unique_ptr<Tracker>& out) {
  out = std::make_unique<PlainTracker<SigsegvArea>>(MechanismFacts{"sigsegv", true, true});
  return {};
}

}  // namespace iw::track
