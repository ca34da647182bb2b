// The contract of write tracking: how the engine learns which pages of its cached copies the
// application has stored to. One file per mechanism beside this one; recommended.cc chooses.
//
// An Area is the memory of one subsegment, mapped twice over one anonymous file:
//   pristine()  the file itself, written by the library only; what the last version says;
//   view()      what the application reads and writes: a private copy-on-write view of the file. A
//               page that was never stored to shows the pristine page ("clean"); at the first
//               store the kernel gives the view its own copy ("private"). No twin is ever made.
//
// Invariant: while no writer lock is held and no apply is under way, view and pristine copy are
// equal, save for stores made outside a lock, and those pages are listed by the next collect().
// An Area keeps a set `known private` such that every private page of the view is in that set or
// will be listed by the next collect(). Each step keeps both:
//   store       makes a page private and, in the same step, listed by the next collect();
//   collect     moves the listed pages into `known private` and watches them again first, so a
//               store that comes during or after it is listed by the collect after;
//   apply       writes the pristine copy, which clean pages show at once; apply_done() then gives
//               the touched `known private` pages the pristine bytes (by copy, or by dropping the
//               private page) and watches them again, so applied bytes are never listed;
//   commit      gives the pristine copy the released bytes; the page stays private and equal;
//   rollback    drops private pages: the view shows the pristine copy, equal again.
// Where the system cannot drop private pages (platform::can_drop_private_pages) they are given the
// pristine bytes instead and stay `known private`, so that the next apply renews them again.
//
// Order at a release: collect, find the changed words, send; after the acknowledgement commit what
// was sent, or rollback every collected page. At an acquire: collect; what it lists was stored
// outside a lock: report and rollback; apply what is new; arm.
//
// An Area is used by one thread at a time (its segment's mutex); only the application's loads and
// stores to the view run beside it. apply excludes readers: a lock-free reader would see torn
// values. What throws std::bad_alloc is to be done again, or to be ended by show_pristine().
// Everything fails with ECHILD in a forked child, which has neither the pristine copy nor
// the tracking; its view is a copy that the parent's later stores to clean pages may show through.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "platform/byte_range.h"
#include "platform/memory.h"
#include "platform/status.h"
#include "track/prices.h"
#include "track/store_forecast.h"
#include "track/whole_history.h"

namespace iw::track {

using platform::Placement;
using platform::Status;
using PageRange = platform::ByteRange;  // page aligned where pages are meant

enum class Access { none, read, write };

class Area {
 public:
  virtual ~Area() = default;
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  [[nodiscard]] virtual std::byte* view() const = 0;
  // Never fault on it, never give it to the application. Equal memory to view() if read-only.
  [[nodiscard]] virtual std::byte* pristine() const = 0;
  [[nodiscard]] virtual std::size_t size_bytes() const = 0;

  // The writer lock is acquired: stores are now allowed, until the next collect().
  virtual Status arm() = 0;

  // Replaces `dirty` by the pages stored to since the last collect (sorted, coalesced; pages that
  // were not stored to may be among them) and watches them again. After a failure the pages stored
  // to remain to be listed.
  virtual Status collect(std::vector<PageRange>& dirty) = 0;

  // How many of the pages that the last collect listed were open: they could be stored to without a
  // notice, and are listed and must be compared whether they were stored to or not, because that
  // costs less than to notice their stores (store_forecast.h). Some mechanisms gain nothing by this
  // and always return 0.
  [[nodiscard]] virtual std::size_t open_pages() const { return 0; }

  // The history for the caller that compares; kept here because it ends with the area.
  [[nodiscard]] WholeHistory& whole_history() { return whole_history_; }

  // Incoming data. begin_apply announces [offset, offset+size) and returns where to write it, once,
  // in any order, until apply_done(). Returns null if the range is out of bounds. Pointer values
  // that are written are addresses in the view. apply copies ready bytes.
  virtual std::byte* begin_apply(std::size_t offset, std::size_t size_bytes) = 0;
  virtual Status apply(std::size_t offset, const void* bytes, std::size_t size_bytes) = 0;
  virtual Status apply_done() = 0;

  // After the acknowledgement: copies these byte ranges of the view to the pristine copy. Ranges
  // may have any alignment: pass the runs that were sent. A word outside of them either was equal
  // when compared, or was stored to without the lock after the collect. In that case its page is
  // listed again, and the store is found.
  virtual Status commit(std::span<const PageRange> ranges) = 0;
  // The same for some of the ranges; commit() follows with the rest, perhaps none.
  virtual Status commit_some(std::span<const PageRange> ranges) = 0;

  // Makes the view show the pristine copy again on these pages, which are no longer listed.
  virtual Status rollback(std::span<const PageRange> pages) = 0;

  // Lists these pages again at the next collect(), because the caller could not keep its list.
  // Takes no memory.
  virtual void list_again(std::span<const PageRange> pages) = 0;

  // Makes the view show the pristine copy again everywhere, and ends the section and any apply.
  // Stands in for rollback() and apply_done(): it takes no memory, but more time. The next
  // collect() may list pages that were not stored to.
  virtual Status show_pristine() = 0;

  // For IW_LOG=locks: the accesses that the application may make until the next call. Other
  // accesses are reported to the stray handler and then let through. Everything starts with `write`
  // (`read` for read-only areas), which costs nothing.
  virtual Status set_access(Access access) = 0;

 protected:
  Area() = default;

 private:
  WholeHistory whole_history_;
};

class Tracker {
 public:
  virtual ~Tracker() = default;
  [[nodiscard]] virtual const char* name() const = 0;

  // False if collect() simply lists every page: then looking for stray stores is a full compare.
  [[nodiscard]] virtual bool finds_pages() const = 0;

  // size_bytes is a multiple of the page size. memfd: an anonymous file to map, at least that
  // large and never to shrink (the caller keeps its descriptor), or -1 for a new one of zeros.
  // Areas of 64 KiB without an address and a file share mappings, and begin at multiples of 64 KiB
  // (slab.h); at the end of one its addresses show zeros until all that share them have ended.
  // Read-only areas keep no second copy: their view cannot be stored to. Null and `status` set on
  // failure.
  virtual std::unique_ptr<Area> create(std::size_t size_bytes, void* wanted_address, bool read_only,
                                       int memfd, Status& status,
                                       Placement placement = Placement::if_free) = 0;

  // Measures what the mechanism's steps cost, for the areas made from now on. Until then areas go
  // by prices that were measured elsewhere. Mechanisms that do not choose measure nothing.
  virtual Status measure_prices(Clock clock) = 0;
  [[nodiscard]] virtual Prices prices() const = 0;
};

// The process-wide choice: the mechanism named by IW_TRACKER, or the first of tracker_names() whose
// self-test passes. If IW_TRACKER names an unknown or unavailable mechanism, the result is a
// tracker whose create() always fails with a text that names the choices. If descriptors or memory
// are missing, the choice cannot be made: the result is a tracker whose create() fails for lack of
// them, and the next call tries again.
Tracker& recommended();
// Makes the choice. EMFILE, ENFILE, ENOMEM: it cannot be made now.
Status choose_recommended();
// Makes the choice and measures its prices, once a process. It takes some 0.2 ms where the kernel
// notes stores, and 1 ms where a handler does. A thread that comes meanwhile does not wait, and its
// areas go by the prices that were measured elsewhere.
Status measure_recommended(Clock clock);

// All mechanisms, the preferred one first.
std::span<const char* const> tracker_names();

// The named mechanism if it is known and its self-test passes on this machine, else null.
Tracker* find_tracker(std::string_view name, Status& status);

// Whether pages are opened, and how. For measurements; holds for all areas of the process, from
// their next section on.
enum class OpeningRule {
  by_price,          // by default: as StoreForecast says
  never,             // every page is watched
  all_each_section,  // all pages ever stored to
  all_kept           // the same, if the mechanism can keep them open
};
void set_opening(OpeningRule rule);

// Called from a fault handler when the application accesses an area in a way that no lock allows,
// if the mechanism or set_access() can see the access. `kind` is read or write. The access is then
// let through, and a store is listed by the next collect(). A store to a read-only area cannot be
// let through: it is reported, and the process takes its SIGSEGV.
//
// REQUIRES: the handler does only async-signal-safe things. Null removes it.
using StrayHandler = void (*)(void* address, Access kind) noexcept;
void set_stray_handler(StrayHandler handler);

}  // namespace iw::track
