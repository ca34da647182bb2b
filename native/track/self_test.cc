// Whether a mechanism works here is found out by trying: kernel versions, containers and emulators
// do not tell reliably.
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "platform/memory.h"
#include "track/mechanisms.h"

namespace iw::track {

namespace {

constexpr std::size_t page_count = 8;

class Trial {
 public:
  Trial(Area& area, bool is_exact) : area_(area), is_exact_(is_exact) {}

  Status run() {
    const std::uint32_t first = 0x1234;
    // Data arrive; a store is found, once; the pristine copy does not have it.
    if (Status bad = incoming(0, first); !bad) return bad;
    if (load(0) != first) return {ENOTSUP, "self-test: applied bytes are not in the view"};
    if (Status bad = area_.arm(); !bad) return bad;
    store(2, 7);
    if (Status bad = expect_stored(2); !bad) return bad;
    if (load(2) != 7 || pristine(2) != 0) return {ENOTSUP, "self-test: no pristine copy"};
    if (Status bad = area_.commit(whole_page(2)); !bad) return bad;
    if (pristine(2) != 7) return {ENOTSUP, "self-test: commit"};
    // The same page is found again, and can be rolled back.
    if (Status bad = area_.arm(); !bad) return bad;
    store(2, 8);
    if (Status bad = expect_stored(2); !bad) return bad;
    if (Status bad = area_.rollback(whole_page(2)); !bad) return bad;
    if (load(2) != 7) return {ENOTSUP, "self-test: rollback"};
    // Data arrive for a page that is private: visible, and not taken for a store.
    if (Status bad = area_.arm(); !bad) return bad;
    store(5, 1);
    if (Status bad = expect_stored(5); !bad) return bad;
    if (Status bad = area_.commit(whole_page(5)); !bad) return bad;
    if (Status bad = incoming(5, first); !bad) return bad;
    if (load(5) != first) return {ENOTSUP, "self-test: applied bytes are not in a private page"};
    return expect_stored(page_count);
  }

 private:
  [[nodiscard]] std::size_t at(std::size_t page) const { return page * platform::page_size(); }

  [[nodiscard]] std::uint32_t load(std::size_t page) const { return word(area_.view() + at(page)); }
  [[nodiscard]] std::uint32_t pristine(std::size_t page) const {
    return word(area_.pristine() + at(page));
  }
  static std::uint32_t word(const std::byte* address) {
    return *reinterpret_cast<const volatile std::uint32_t*>(address);
  }
  void store(std::size_t page, std::uint32_t value) {
    *reinterpret_cast<volatile std::uint32_t*>(area_.view() + at(page)) = value;
  }

  std::span<const PageRange> whole_page(std::size_t page) {
    range_ = {at(page), at(page + 1)};
    return {&range_, 1};
  }

  Status incoming(std::size_t page, std::uint32_t value) {
    if (Status bad = area_.apply(at(page), &value, sizeof value); !bad) return bad;
    return area_.apply_done();
  }

  // Exactly that page, or none if it is page_count.
  Status expect_stored(std::size_t page) {
    std::vector<PageRange> dirty;
    if (Status bad = area_.collect(dirty); !bad) return bad;
    bool is_found = page == page_count;
    std::size_t pages = 0;
    for (const PageRange& range : dirty) {
      is_found = is_found || (range.begin_bytes <= at(page) && at(page) < range.end_bytes);
      pages += range.size_bytes() / platform::page_size();
    }
    if (!is_found) return {ENOTSUP, "self-test: a store was not found"};
    const std::size_t expected = page == page_count ? 0 : 1;
    if (is_exact_ && pages != expected) {
      return {ENOTSUP, "self-test: pages were found that were not stored to"};
    }
    return {};
  }

  Area& area_;
  const bool is_exact_;
  PageRange range_;
};

}  // namespace

Status self_test(Tracker& tracker) {
  Status status;
  const std::size_t size_bytes = page_count * platform::page_size();
  std::unique_ptr<Area> area = tracker.create(size_bytes, nullptr, false, -1, status);
  if (area == nullptr) return status;
  return Trial(*area, tracker.finds_pages()).run();
}

}  // namespace iw::track
