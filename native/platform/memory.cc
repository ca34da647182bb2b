// What is the same on all systems. See memory.h.
#include "platform/memory.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "platform/placement.h"

namespace iw::platform {

namespace {

std::atomic<std::uint64_t> claimed_bytes{0};
std::atomic<std::uint64_t> claimed_mappings{0};

// A Status' text lives for ever: it is made once, of the limit that was reached first.
Status no_bytes_left() {
  static const std::string text = "reserving address space: half of what this machine has, " +
                                  std::to_string(mapping_limits().bytes >> 30) +
                                  " GiB, is in use, and the rest is the program's";
  return {ENOMEM, text.c_str()};
}

Status no_mappings_left() {
  static const std::string text =
      "reserving address space: " + std::to_string(mapping_limits().mappings) +
      " mappings, three quarters of those that the system allows "
      "(vm.max_map_count), are in use, and the rest is the program's";
  return {ENOMEM, text.c_str()};
}

}  // namespace

MappingUse mapping_use() { return {claimed_bytes, claimed_mappings}; }

Status MappingClaim::make(std::uint64_t bytes, MappingClaim& out) {
  out.give_back();
  out.bytes_ = bytes;
  out.is_made_ = true;
  const std::uint64_t all_bytes = claimed_bytes.fetch_add(bytes) + bytes;
  const std::uint64_t all_mappings = claimed_mappings.fetch_add(1) + 1;
  const MappingUse limits = mapping_limits();
  if (all_bytes <= limits.bytes && all_mappings <= limits.mappings) return {};
  out.give_back();
  return all_bytes > limits.bytes ? no_bytes_left() : no_mappings_left();
}

MappingClaim& MappingClaim::operator=(MappingClaim&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  bytes_ = std::exchange(other.bytes_, 0);
  is_made_ = std::exchange(other.is_made_, false);
  return *this;
}

void MappingClaim::give_back() {
  if (!std::exchange(is_made_, false)) return;
  claimed_bytes -= std::exchange(bytes_, 0);
  --claimed_mappings;
}

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
  claim_ = std::move(other.claim_);
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
