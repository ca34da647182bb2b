// Bytes that arrive piece by piece. The buffer grows by the bytes that have come, without clearing
// them. A large buffer grows by moving pages instead of copying.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "platform/memory.h"

namespace iw::session {

class ByteBuffer {
 public:
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), size_bytes_}; }

  // Room for `extra_bytes` more behind the present bytes; empty without memory.
  std::span<std::byte> room(std::size_t extra_bytes) {
    const std::size_t needed_bytes = size_bytes_ + extra_bytes;
    if (needed_bytes > capacity_bytes_ && !grow(needed_bytes)) return {};
    if (needed_bytes >= prefaulted_bytes_ + prefault_bytes) prefault(needed_bytes);
    return {memory_.get() + size_bytes_, extra_bytes};
  }
  // So many bytes of the room are filled.
  void filled(std::size_t bytes) { size_bytes_ += bytes; }
  // The same bytes once more. Throws std::bad_alloc.
  [[nodiscard]] ByteBuffer copy() const {
    ByteBuffer out;
    const std::span<std::byte> place = out.room(size_bytes_);
    if (place.size() < size_bytes_) throw std::bad_alloc();
    std::copy_n(memory_.get(), size_bytes_, place.begin());
    out.filled(size_bytes_);
    return out;
  }

 private:
  // For less memory the call costs as much as it saves.
  static constexpr std::size_t prefault_bytes = 65536;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  bool grow(std::size_t needed_bytes) {
    std::size_t wanted_bytes = capacity_bytes_ * 2;
    if (wanted_bytes < needed_bytes) wanted_bytes = needed_bytes;
    auto* moved = static_cast<std::byte*>(std::realloc(memory_.get(), wanted_bytes));
    if (moved == nullptr) return false;
    (void)memory_.release();
    memory_.reset(moved);
    capacity_bytes_ = wanted_bytes;
    return true;
  }

  void prefault(std::size_t end_bytes) {
    const std::size_t begin_bytes = std::max(size_bytes_, prefaulted_bytes_);
    platform::prefault(memory_.get() + begin_bytes, end_bytes - begin_bytes);
    prefaulted_bytes_ = end_bytes;
  }

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_bytes_ = 0;
  std::size_t capacity_bytes_ = 0;
  std::size_t prefaulted_bytes_ = 0;  // from the beginning on
};

}  // namespace iw::session
