#include "memory/address_space.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace iw::memory {

namespace {

constexpr std::size_t smallest_reservation = std::size_t{64} << 20;

// Where reservations are placed on 64-bit machines: above the sanitizers' shadows, below programs,
// libraries and stacks of the usual layouts. Elsewhere the system chooses.
constexpr std::uint64_t first_address = std::uint64_t{0x2000} << 32;
constexpr std::uint64_t end_address = std::uint64_t{0x5000} << 32;
#if defined(__SANITIZE_THREAD__)
constexpr int places_to_try = 0;  // the thread sanitizer keeps these addresses for itself
#else
constexpr int places_to_try = 8;
#endif

constexpr std::uint64_t shares = 16;
constexpr std::uint64_t shares_of_own_limit = 8;
// Smaller reservations lie side by side, wherever there is room, and are made when they are needed.
// Scattered, each would need a leaf of the address map for itself.
constexpr std::uint64_t smallest_share_with_a_place = std::uint64_t{4} << 30;
// A 32-bit process runs out of addresses before it runs out of mappings.
constexpr bool many_share_mappings = platform::can_drop_private_pages && sizeof(void*) == 8;

std::atomic<std::uint64_t> spaces_now{0};

// What the n-th one may reserve: a power of two, so that places of different sizes seldom overlap.
std::uint64_t share_bytes(std::uint64_t n) {
  const std::uint64_t of_all = platform::address_space_bytes() / shares / n;
  const std::uint64_t of_rest = platform::unused_address_space_bytes() / shares_of_own_limit;
  return std::bit_floor(std::min(of_all, of_rest));
}

// FNV-1a, the same on every machine and in every version of this library.
std::uint64_t hash_of(std::string_view url) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : url) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash ^ (hash >> 32);
}

// The environment's IW_RESERVATION_MIB: where address space is dear (a limit of the process, an
// emulator that keeps a record of each page). Anything but a number counts as not given.
std::size_t largest_reservation_bytes() {
  const char* const given = std::getenv("IW_RESERVATION_MIB");
  if (given == nullptr) return std::numeric_limits<std::size_t>::max();
  std::size_t mib = 0;
  const char* const end = given + std::strlen(given);
  const auto parsed = std::from_chars(given, end, mib);
  if (parsed.ec != std::errc{} || parsed.ptr != end || mib >> (sizeof mib * 8 - 21) != 0) {
    return std::numeric_limits<std::size_t>::max();
  }
  return mib << 20;
}

}  // namespace

AddressSpace::AddressSpace(std::string_view url, std::size_t wanted_bytes) {
  if (wanted_bytes == 0) return;
  free_.reserve(1);
  is_counted_ = true;
  const std::uint64_t share = share_bytes(spaces_now.fetch_add(1, std::memory_order_relaxed) + 1);
  wanted_bytes =
      std::min(wanted_bytes, largest_reservation_bytes()) / kGranuleBytes * kGranuleBytes;
  if (wanted_bytes > share) wanted_bytes = static_cast<std::size_t>(share);
  is_one_of_many_ = share < smallest_share_with_a_place && many_share_mappings;
  if (is_one_of_many_) {
    later_bytes_ = wanted_bytes;
    return;
  }
  const std::uint64_t hash = hash_of(url);
  reserve(wanted_bytes, share < smallest_share_with_a_place ? nullptr : &hash);
}

// At the place that the hash chooses, if it is free; anywhere without a hash.
void AddressSpace::reserve(std::size_t size_bytes, const std::uint64_t* hash) {
  for (std::size_t size = size_bytes; !reservation_ && size >= smallest_reservation; size /= 2) {
    if (hash != nullptr && reserve_at_place(*hash, size)) break;
    if (!platform::reserve(size, nullptr, platform::Placement::if_free, reservation_)) {
      reservation_.release();
    }
  }
  if (!reservation_) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(reservation_.begin());
  const std::size_t skipped = (kGranuleBytes - begin % kGranuleBytes) % kGranuleBytes;
  first_granule_ = reservation_.begin() + skipped;
  free_.push_back({0, (reservation_.size_bytes() - skipped) / kGranuleBytes * kGranuleBytes});
}

AddressSpace::~AddressSpace() {
  if (is_counted_) spaces_now.fetch_sub(1, std::memory_order_relaxed);
}

bool AddressSpace::reserve_at_place(std::uint64_t hash, std::size_t size_bytes) {
  if constexpr (sizeof(void*) == 8) {
    const std::uint64_t places = (end_address - first_address) / size_bytes;
    for (int i = 0; i < places_to_try && places != 0; ++i) {
      const std::uint64_t place =
          (hash + static_cast<std::uint64_t>(i) * (hash >> 17 | 1)) % places;
      auto* wanted =
          reinterpret_cast<void*>(static_cast<std::uintptr_t>(first_address + place * size_bytes));
      if (platform::reserve(size_bytes, wanted, platform::Placement::must, reservation_)) {
        return true;
      }
    }
  }
  return false;
}

std::byte* AddressSpace::take(std::size_t size_bytes) {
  if (size_bytes > kGranuleBytes && later_bytes_ != 0) {
    reserve(std::exchange(later_bytes_, 0), nullptr);
  }
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->size_bytes() < size_bytes) continue;
    std::byte* taken = first_granule_ + range->begin_bytes;
    range->begin_bytes += size_bytes;
    if (range->size_bytes() == 0) free_.erase(range);
    return taken;
  }
  return nullptr;
}

void AddressSpace::give_back(std::byte* begin, std::size_t size_bytes) {
  const auto offset = static_cast<std::size_t>(begin - first_granule_);
  auto next = std::lower_bound(
      free_.begin(), free_.end(), offset,
      [](const platform::ByteRange& range, std::size_t at) { return range.begin_bytes < at; });
  next = free_.insert(next, {offset, offset + size_bytes});
  if (std::next(next) != free_.end() && std::next(next)->begin_bytes == next->end_bytes) {
    next->end_bytes = std::next(next)->end_bytes;
    free_.erase(std::next(next));
  }
  if (next != free_.begin() && std::prev(next)->end_bytes == next->begin_bytes) {
    std::prev(next)->end_bytes = next->end_bytes;
    free_.erase(next);
  }
}

}  // namespace iw::memory
