// A half-open range of byte offsets within one piece of memory: [begin_bytes, end_bytes).
#pragma once

#include <cstddef>

namespace iw::platform {

struct ByteRange {
  std::size_t begin_bytes = 0;
  std::size_t end_bytes = 0;

  [[nodiscard]] std::size_t size_bytes() const { return end_bytes - begin_bytes; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace iw::platform
