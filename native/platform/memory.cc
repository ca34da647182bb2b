// What is the same on all systems. See memory.h.
#include "platform/memory.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include "platform/placement.h"

namespace iw::platform {

std::size_t round_up_to_page(std::size_t size_bytes) {
  const std::size_t mask = page_size() - 1;
  return (size_bytes + mask) & ~mask;
}

Mapping::Mapping(Mapping&& other) noexcept { *this = std::move(other); }

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this == &other) return *this;
  release();
  begin_ = std::exchange(other.begin_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  in_reservation_ = other.in_reservation_;
  is_file_ = other.is_file_;
  absent_in_children_ = other.absent_in_children_;
  made_in_fork_ = other.made_in_fork_;
  return *this;
}

Status check_placement(const void* wanted, Placement placement, std::size_t size_bytes) {
  const std::size_t mask = page_size() - 1;
  if (size_bytes == 0 || (size_bytes & mask) != 0 ||
      (reinterpret_cast<std::uintptr_t>(wanted) & mask) != 0) {
    return {EINVAL, "mapping: not a multiple of the page"};
  }
  if (placement != Placement::if_free && wanted == nullptr) {
    return {EINVAL, "mapping: no address given"};
  }
  return {};
}

}  // namespace iw::platform
