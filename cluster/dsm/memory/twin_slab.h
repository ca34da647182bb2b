// Memory for twins: pages' copies that live for one interval. It is taken from the system in
// chunks and not from malloc, because a twin is made while an instruction of the program faults.
//
// A chunk is aligned to its size, so a twin's address tells its chunk. The first place of a chunk
// holds the chunk's head. An empty chunk is kept for the next twins while few are kept, and given
// back otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iw::dsm {

class TwinSlab {
 public:
  // REQUIRES: a power of two, at most 64 KiB.
  explicit TwinSlab(std::size_t twin_bytes);
  ~TwinSlab();
  TwinSlab(const TwinSlab&) = delete;
  TwinSlab& operator=(const TwinSlab&) = delete;

  // Room for a twin; nullptr: the system has no memory.
  std::byte* take();
  void give_back(std::byte* twin);

  std::size_t twins() const { return twins_; }
  // What was taken from the system.
  std::size_t bytes() const { return chunks_ * chunk_bytes_; }

 private:
  struct Chunk;

  Chunk* map_chunk();
  void unmap_chunk(Chunk* chunk);
  std::size_t places() const { return chunk_bytes_ / twin_bytes_; }
  std::uint64_t all_free() const;
  void link(Chunk* chunk);
  void unlink(Chunk* chunk);

  const std::size_t twin_bytes_;
  const std::size_t chunk_bytes_;
  Chunk* with_room_ = nullptr;  // a list of the chunks that have a free place
  std::size_t twins_ = 0;
  std::size_t chunks_ = 0;
  std::size_t empty_chunks_ = 0;
};

}  // namespace iw::dsm
