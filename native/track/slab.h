// The memory of small areas, many in one pair of mappings.
//
// A process has some 65,000 mappings (vm.max_map_count), and may have more segments than that open.
// A slab is one anonymous file, mapped twice as map_two_views does (mapped_area.h), and cut into
// slices. An area of a slice's size has a slice to itself. Slices are given out in order, and none
// is given out twice: at its end a slice gives the memory of its pages back, and its addresses when
// all slices of the slab have ended. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>

#include "platform/memory.h"
#include "platform/status.h"

namespace iw::track {

using platform::Status;

inline constexpr std::size_t slice_bytes = std::size_t{64} << 10;
inline constexpr std::size_t slab_bytes =
    sizeof(void*) == 8 ? std::size_t{64} << 20 : std::size_t{4} << 20;

struct Slab;

// The owner of a slice.
class Slice {
 public:
  Slice() = default;
  Slice(Slice&&) noexcept = default;
  Slice& operator=(Slice&&) = delete;
  ~Slice();

  // Both begin at multiples of the slice's size.
  [[nodiscard]] std::byte* view() const { return view_; }
  [[nodiscard]] std::byte* pristine() const { return pristine_; }
  explicit operator bool() const { return slab_ != nullptr; }

 private:
  friend Status take_slice(bool, Slice&);

  std::shared_ptr<const Slab> slab_;
  std::byte* view_ = nullptr;
  std::byte* pristine_ = nullptr;
};

// Zeros. ENOTSUP where pages cannot be given back one by one; then each area has its own mappings.
Status take_slice(bool read_only, Slice& out);

}  // namespace iw::track
