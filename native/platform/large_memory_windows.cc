// See large_memory.h. Memory of the C library, which is given back at its end only.
#include <cstdlib>

#include "platform/large_memory.h"

namespace iw::platform {

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

}  // namespace iw::platform
