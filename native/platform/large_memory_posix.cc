// See large_memory.h. Where mappings cannot be moved to a chosen address, the memory is the C
// library's, and is given back at its end only.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "platform/large_memory.h"

namespace iw::platform {

#if defined(MREMAP_FIXED) && defined(MADV_HUGEPAGE)

namespace {

constexpr std::size_t large_page_bytes = std::size_t{2} << 20;

std::size_t round_up_to_large_page(std::size_t bytes) {
  return (bytes + large_page_bytes - 1) / large_page_bytes * large_page_bytes;
}

// Begins at a large page. Null: there is no address space.
std::byte* map_aligned(std::size_t size_bytes) {
  const std::size_t mapped_bytes = size_bytes + large_page_bytes;
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapped);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(first) % large_page_bytes;
  const std::size_t before_bytes = past == 0 ? 0 : large_page_bytes - past;
  std::byte* const begin = first + before_bytes;
  if (before_bytes != 0) munmap(first, before_bytes);
  munmap(begin + size_bytes, large_page_bytes - before_bytes);
  return begin;
}

}  // namespace

LargeMemory::~LargeMemory() {
  if (begin_ != nullptr) munmap(begin_, size_bytes_);
}

bool LargeMemory::grow(std::size_t size_bytes) {
  if (size_bytes <= size_bytes_) return true;
  const std::size_t wanted_bytes = round_up_to_large_page(size_bytes);
  std::byte* const place = map_aligned(wanted_bytes);
  if (place == nullptr) return false;
  // The mapping grows as it moves, and so stays one: before Linux 6.17 mremap moves only one.
  if (begin_ != nullptr && mremap(begin_, size_bytes_, wanted_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                                  place) == MAP_FAILED) {
    munmap(place, wanted_bytes);
    return false;
  }
  (void)madvise(place, wanted_bytes, MADV_HUGEPAGE);
  begin_ = place;
  size_bytes_ = wanted_bytes;
  return true;
}

void LargeMemory::give_back(std::size_t begin_offset, std::size_t end_offset) {
  const std::size_t begin = round_up_to_large_page(begin_offset);
  const std::size_t end = end_offset / large_page_bytes * large_page_bytes;
  if (begin < end) (void)madvise(begin_ + begin, end - begin, MADV_DONTNEED);
}

#else

LargeMemory::~LargeMemory() { std::free(begin_); }

bool LargeMemory::grow(std::size_t size_bytes) {
  if (size_bytes <= size_bytes_) return true;
  void* const moved = std::realloc(begin_, size_bytes);
  if (moved == nullptr) return false;
  begin_ = static_cast<std::byte*>(moved);
  size_bytes_ = size_bytes;
  return true;
}

void LargeMemory::give_back(std::size_t, std::size_t) {}

#endif

}  // namespace iw::platform
