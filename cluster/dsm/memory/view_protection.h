// How the system is told which pages of a heap's view may be loaded and stored: by userfaultfd or
// by mprotect (FaultWay, faults.h). Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "dsm/memory/faults.h"
#include "dsm/protocol/page_memory.h"

namespace iw::dsm {

// A heap's view: a shared, writable mapping of the whole file.
struct View {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  int file = -1;
};

// A part of the view whose pages had the access `from`.
struct Stretch {
  std::size_t offset;
  std::size_t bytes;
  Access from;
};

class ViewProtection {
 public:
  virtual ~ViewProtection() = default;

  // For a view that exists as long. nullptr, and why in *error.
  static std::unique_ptr<ViewProtection> make(FaultWay way, const View& view, std::string* error);

  // userfaultfd or sigsegv.
  virtual FaultWay way() const = 0;
  // Of a fault.
  virtual int signal_number() const = 0;
  // Nothing may be accessed. Until then everything may be. False, and why in errno.
  [[nodiscard]] virtual bool close_all() = 0;
  // [offset, offset + bytes) had one access, and gets another one. The system may close pages again
  // on its own account (memory that was swapped out, too many mappings); then they fault, and
  // `open_again` is called. False, and why in errno.
  [[nodiscard]] virtual bool change(std::size_t offset, std::size_t bytes, Access from,
                                    Access to) = 0;
  // Stretches in ascending order.
  [[nodiscard]] virtual bool change_all(std::span<const Stretch> stretches, Access to) {
    return std::ranges::all_of(stretches, [&](const Stretch& each) {
      return change(each.offset, each.bytes, each.from, to);
    });
  }
  // A change from `write` to `read` leaves pages of the stretch that were not open for stores as
  // they were.
  virtual bool spares_closed_pages() const { return false; }
  [[nodiscard]] virtual bool open_again(std::size_t offset, std::size_t bytes, Access access) = 0;
};

std::unique_ptr<ViewProtection> protect_by_mprotect(const View& view);
// nullptr, and why in *error: the kernel does not have it, or refuses it.
std::unique_ptr<ViewProtection> protect_by_userfaultfd(const View& view, std::string* error);

}  // namespace iw::dsm
