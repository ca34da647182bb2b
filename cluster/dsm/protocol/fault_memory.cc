#include "dsm/protocol/fault_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "platform/mutex.h"

namespace iw::dsm {
namespace {

// Pieces have sizes of powers of two; larger ones are mappings of their own.
constexpr std::size_t least_bytes = 16, most_bytes = 64 << 10, slab_bytes = 256 << 10;
constexpr std::size_t classes = std::bit_width(most_bytes / least_bytes);

struct FreePiece {
  FreePiece* next;
};

platform::Mutex mutex;
std::array<FreePiece*, classes> free_pieces IW_GUARDED_BY(mutex);

std::size_t class_of(std::size_t bytes) {
  const std::size_t rounded = std::bit_ceil(std::max(bytes, least_bytes));
  return static_cast<std::size_t>(std::countr_zero(rounded / least_bytes));
}

// A child that is forked has no heap, and does not use the memory.
void* map(std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped != MAP_FAILED) return mapped;
  std::fprintf(stderr,
               "interweave: no memory for what the shared heap keeps of its pages. Give the job "
               "more memory.\n");
  constexpr int no_memory = 3;
  _exit(no_memory);
}

void cut_slab(std::size_t which) IW_REQUIRES(mutex) {
  const std::size_t piece = least_bytes << which;
  auto* const slab = static_cast<std::byte*>(map(slab_bytes));
  for (std::size_t at = slab_bytes; at >= piece; at -= piece) {
    free_pieces[which] = new (slab + at - piece) FreePiece{free_pieces[which]};
  }
}

}  // namespace

void* take_fault_memory(std::size_t bytes) {
  if (bytes > most_bytes) return map(bytes);
  const std::size_t which = class_of(bytes);
  const platform::MutexLock lock(mutex);
  if (free_pieces[which] == nullptr) cut_slab(which);
  FreePiece* const piece = free_pieces[which];
  free_pieces[which] = piece->next;
  return piece;
}

void give_fault_memory_back(void* memory, std::size_t bytes) {
  if (bytes > most_bytes) {
    munmap(memory, bytes);
    return;
  }
  const platform::MutexLock lock(mutex);
  FreePiece*& first = free_pieces[class_of(bytes)];
  first = new (memory) FreePiece{first};
}

}  // namespace iw::dsm
