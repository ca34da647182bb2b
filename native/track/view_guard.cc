#include "track/view_guard.h"

#include <cerrno>
#include <cstring>

#include "platform/process.h"

namespace iw::track {

namespace {

std::atomic<StrayHandler> stray_handler{nullptr};

// Protecting a stretch with holes costs less than many calls (each may split a kernel mapping).
constexpr std::size_t protect_gap_pages = 128;

}  // namespace

void set_stray_handler(StrayHandler handler) { stray_handler.store(handler); }

ViewGuard::ViewGuard(std::byte* view, std::size_t size_bytes, Stores stores)
    : view_(view),
      size_bytes_(size_bytes),
      page_bytes_(platform::page_size()),
      stores_(stores),
      made_in_fork_(platform::fork_count()),
      access_(stores == Stores::refused ? Access::read : Access::write),
      opened_(size_bytes / page_bytes_),
      stored_(size_bytes / page_bytes_) {}

// A forked child may do with its copy what it likes.
void ViewGuard::report_stray(std::byte* address, Access kind) const noexcept {
  StrayHandler handler = stray_handler.load();
  if (handler != nullptr && made_in_fork_ == platform::fork_count()) handler(address, kind);
}

Status ViewGuard::start() {
  if (is_started_) return platform::keep_fault_handler_on_top();
  Status status = platform::FaultWatch::start(view_, size_bytes_, &on_fault, this, watch_);
  is_started_ = status.ok();
  return status;
}

Status ViewGuard::set_access(Access access) {
  if (stores_ == Stores::refused && access == Access::write) {
    return {EACCES, "set_access: the area is read-only"};
  }
  if (Status bad = start(); !bad) return bad;
  access_.store(access);
  opened_.clear();
  return platform::protect(view_, size_bytes_, resting_protection());
}

platform::Protection ViewGuard::resting_protection() const noexcept {
  switch (access_.load()) {
    case Access::none:
      return platform::Protection::none;
    case Access::read:
      return platform::Protection::read;
    case Access::write:
      break;
  }
  return stores_ == Stores::free ? platform::Protection::read_write : platform::Protection::read;
}

Status ViewGuard::open_for_stores(const PageSet& pages) {
  Status status;
  pages.for_each_run([&](std::size_t first, std::size_t end) {
    const Status one = platform::protect(view_ + first * page_bytes_, (end - first) * page_bytes_,
                                         platform::Protection::read_write);
    if (!one.ok()) status = one;
    for (std::size_t page = first; page < end; ++page) stored_.add(page);
  });
  return status;
}

Status ViewGuard::take_stored(const PageSet& among, PageSet& out) {
  PageSet taken(size_bytes_ / page_bytes_);
  stored_.take(among, taken);
  out.add(taken);
  const platform::Protection resting = resting_protection();
  Status status;
  taken.for_each_run(
      [&](std::size_t first, std::size_t end) {
        Status one =
            platform::protect(view_ + first * page_bytes_, (end - first) * page_bytes_, resting);
        if (!one.ok()) status = one;
      },
      protect_gap_pages);
  // Too many kernel mappings: one call over everything needs none. Pages noted and not taken are
  // then protected, too, which costs them a fault.
  if (status.code == ENOMEM) status = platform::protect(view_, size_bytes_, resting);
  return status;
}

// A page may be closed, and then must be opened to be looked at. Pages that are equal are left
// alone: a clean one stays clean.
Status ViewGuard::overwrite(std::size_t first, std::size_t end, const std::byte* from) {
  const platform::Protection resting = resting_protection();
  const auto give = [&](std::size_t page, platform::Protection protection) {
    if (resting == platform::Protection::read_write) return Status{};
    return platform::protect(view_ + page * page_bytes_, page_bytes_, protection);
  };
  Status status;
  for (std::size_t page = first; page < end; ++page) {
    std::byte* const to = view_ + page * page_bytes_;
    const std::byte* const bytes = from + page * page_bytes_;
    const auto is_equal = [&] { return std::memcmp(to, bytes, page_bytes_) == 0; };
    if (resting != platform::Protection::none && is_equal()) continue;
    if (Status one = give(page, platform::Protection::read_write); !one) {
      status = one;
      continue;
    }
    std::memcpy(to, bytes, page_bytes_);
    Status one = give(page, platform::Protection::read);
    if (!is_equal()) stored_.add(page);
    if (one.ok() && resting == platform::Protection::none) one = give(page, resting);
    if (!one.ok()) status = one;
  }
  return status;
}

bool ViewGuard::on_fault(void* context, std::byte* address, platform::FaultAccess kind) noexcept {
  auto* self = static_cast<ViewGuard*>(context);
  const std::size_t page = static_cast<std::size_t>(address - self->view_) / self->page_bytes_;
  // A machine that does not tell: where loads are allowed, or the page was opened for them, it
  // was a store.
  const bool loads_are_allowed =
      self->access_.load() != Access::none || self->opened_.contains(page);
  const bool is_store = kind == platform::FaultAccess::write ||
                        (kind == platform::FaultAccess::unknown && loads_are_allowed);
  return is_store ? self->on_store(address, page) : self->on_load(address, page);
}

bool ViewGuard::on_load(std::byte* address, std::size_t page) noexcept {
  if (access_.load() == Access::none && !opened_.contains(page)) {
    report_stray(address, Access::read);
  }
  const bool opened =
      platform::protect(view_ + page * page_bytes_, page_bytes_, platform::Protection::read).ok();
  opened_.add(page);
  return opened;
}

bool ViewGuard::on_store(std::byte* address, std::size_t page) noexcept {
  const bool is_allowed =
      access_.load() == Access::write && (stores_ == Stores::free || stores_allowed_.load());
  if (!is_allowed) report_stray(address, Access::write);
  if (stores_ == Stores::refused) return false;
  return open_for_store(page);
}

// The kernel limits the number of mappings, and an opened page may need two more. At the limit the
// surrounding stretch is opened, doubled until that succeeds: all of it then counts as stored to.
bool ViewGuard::open_for_store(std::size_t page) noexcept {
  const std::size_t page_count = size_bytes_ / page_bytes_;
  for (std::size_t stretch = 1;; stretch *= 2) {
    const std::size_t first = page / stretch * stretch;
    const std::size_t count = std::min(stretch, page_count - first);
    const Status status = platform::protect(view_ + first * page_bytes_, count * page_bytes_,
                                            platform::Protection::read_write);
    if (status.ok()) {
      for (std::size_t i = first; i < first + count; ++i) {
        stored_.add(i);
        opened_.add(i);
      }
      return true;
    }
    if (status.code != ENOMEM || count == page_count) return false;
  }
}

}  // namespace iw::track
