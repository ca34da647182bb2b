#include "dsm/memory/twin_slab.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace iw::dsm {
namespace {

constexpr std::size_t least_chunk_bytes = 256 << 10;
constexpr std::size_t least_places = 16;
// An interval that makes fewer twins takes no memory from the system and gives none back.
constexpr std::size_t kept_bytes = 32 << 20;

}  // namespace

struct TwinSlab::Chunk {
  std::uint64_t free;  // a bit for each place; never that of the head
  Chunk* previous;
  Chunk* next;
};

TwinSlab::TwinSlab(std::size_t twin_bytes)
    : twin_bytes_(twin_bytes),
      chunk_bytes_(std::max(least_chunk_bytes, least_places * twin_bytes)) {}

TwinSlab::~TwinSlab() {
  // Those with a twin in each place are not in the list: their owner has given back all twins.
  while (with_room_ != nullptr) {
    Chunk* chunk = with_room_;
    unlink(chunk);
    unmap_chunk(chunk);
  }
}

std::uint64_t TwinSlab::all_free() const {
  return (~std::uint64_t{0} >> (64 - places())) & ~std::uint64_t{1};
}

TwinSlab::Chunk* TwinSlab::map_chunk() {
  const std::size_t asked = 2 * chunk_bytes_;
  void* mapped = mmap(nullptr, asked, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t before = (chunk_bytes_ - address % chunk_bytes_) % chunk_bytes_;
  if (before != 0) munmap(begin, before);
  std::byte* const chunk = begin + before;
  munmap(chunk + chunk_bytes_, chunk_bytes_ - before);
  // All memory at once, because single pages take several times as long. Linux 5.14 or newer.
  constexpr int populate_write = 23;
  for (const int advice : {MADV_DONTFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE, populate_write}) {
    madvise(chunk, chunk_bytes_, advice);
  }
  chunks_++;
  empty_chunks_++;
  return new (chunk) Chunk{all_free(), nullptr, nullptr};
}

void TwinSlab::unmap_chunk(Chunk* chunk) {
  munmap(chunk, chunk_bytes_);
  chunks_--;
}

void TwinSlab::link(Chunk* chunk) {
  chunk->previous = nullptr;
  chunk->next = with_room_;
  if (with_room_ != nullptr) with_room_->previous = chunk;
  with_room_ = chunk;
}

void TwinSlab::unlink(Chunk* chunk) {
  (chunk->previous != nullptr ? chunk->previous->next : with_room_) = chunk->next;
  if (chunk->next != nullptr) chunk->next->previous = chunk->previous;
}

std::byte* TwinSlab::take() {
  if (with_room_ == nullptr) {
    Chunk* const chunk = map_chunk();
    if (chunk == nullptr) return nullptr;
    link(chunk);
  }
  Chunk* const chunk = with_room_;
  if (chunk->free == all_free()) empty_chunks_--;
  const int place = std::countr_zero(chunk->free);
  chunk->free &= chunk->free - 1;
  if (chunk->free == 0) unlink(chunk);
  twins_++;
  return reinterpret_cast<std::byte*>(chunk) + static_cast<std::size_t>(place) * twin_bytes_;
}

void TwinSlab::give_back(std::byte* twin) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(twin) % chunk_bytes_;
  auto* const chunk = reinterpret_cast<Chunk*>(twin - offset);
  if (chunk->free == 0) link(chunk);
  chunk->free |= std::uint64_t{1} << (offset / twin_bytes_);
  twins_--;
  if (chunk->free != all_free()) return;
  if ((empty_chunks_ + 1) * chunk_bytes_ <= kept_bytes) {
    empty_chunks_++;
    return;
  }
  unlink(chunk);
  unmap_chunk(chunk);
}

}  // namespace iw::dsm
