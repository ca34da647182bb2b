// Bytes that arrive piece by piece. The buffer grows by the bytes that have come, without clearing
// them. A large buffer grows by moving pages instead of copying, and lies in large pages where the
// system has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "platform/large_memory.h"
#include "platform/memory.h"

namespace iw::session {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&&) = default;
  ByteBuffer& operator=(ByteBuffer&&) = default;

  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {begin(), size_bytes_}; }

  // Room for `extra_bytes` more behind the present bytes; empty without memory.
  std::span<std::byte> room(std::size_t extra_bytes) {
    const std::size_t needed_bytes = size_bytes_ + extra_bytes;
    if (needed_bytes > capacity_bytes_ && !grow(needed_bytes)) return {};
    if (needed_bytes >= prefaulted_bytes_ + prefault_bytes) prefault(needed_bytes);
    return {begin() + size_bytes_, extra_bytes};
  }
  // So many bytes of the room are filled.
  void filled(std::size_t bytes) { size_bytes_ += bytes; }
  // The same bytes once more. Throws std::bad_alloc.
  [[nodiscard]] ByteBuffer copy() const {
    ByteBuffer out;
    const std::span<std::byte> place = out.room(size_bytes_);
    if (place.size() < size_bytes_) throw std::bad_alloc();
    std::copy_n(begin(), size_bytes_, place.begin());
    out.filled(size_bytes_);
    return out;
  }
  // The bytes before `end` were used and are not read again. Gives their memory back in large
  // parts, so that the system has pages for what was made of them. size_bytes() stays as it is.
  void spent(const std::byte* end) {
    if (!large_) return;
    const auto offset = static_cast<std::size_t>(end - begin());
    if (offset - spent_bytes_ < give_back_bytes) return;
    large_.give_back(spent_bytes_, offset);
    spent_bytes_ = offset / give_back_bytes * give_back_bytes;
  }

 private:
  // For less memory the call costs as much as it saves.
  static constexpr std::size_t prefault_bytes = 65536;
  // A large page more or less is then a small part.
  static constexpr std::size_t large_bytes = std::size_t{8} << 20;
  static constexpr std::size_t give_back_bytes = std::size_t{4} << 20;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  [[nodiscard]] std::byte* begin() const { return large_ ? large_.begin() : memory_.get(); }

  bool grow(std::size_t needed_bytes) {
    const std::size_t wanted_bytes = std::max(capacity_bytes_ * 2, needed_bytes);
    if (wanted_bytes >= large_bytes) return grow_large(wanted_bytes);
    auto* moved = static_cast<std::byte*>(std::realloc(memory_.get(), wanted_bytes));
    if (moved == nullptr) return false;
    (void)memory_.release();
    memory_.reset(moved);
    capacity_bytes_ = wanted_bytes;
    return true;
  }

  bool grow_large(std::size_t wanted_bytes) {
    if (!large_.grow(wanted_bytes)) return false;
    if (memory_ != nullptr) {
      std::copy_n(memory_.get(), size_bytes_, large_.begin());
      memory_.reset();
      prefaulted_bytes_ = 0;
    }
    capacity_bytes_ = large_.size_bytes();
    return true;
  }

  void prefault(std::size_t end_bytes) {
    const std::size_t begin_bytes = std::max(size_bytes_, prefaulted_bytes_);
    platform::prefault(begin() + begin_bytes, end_bytes - begin_bytes);
    prefaulted_bytes_ = end_bytes;
  }

  std::unique_ptr<std::byte, Free> memory_;  // of a small buffer
  platform::LargeMemory large_;
  std::size_t size_bytes_ = 0;
  std::size_t capacity_bytes_ = 0;
  std::size_t prefaulted_bytes_ = 0;  // from the beginning on
  std::size_t spent_bytes_ = 0;       // whose memory was given back
};

}  // namespace iw::session
