// Bytes to send, in pieces: own bytes, and between them views of memory that is sent without a
// copy. REQUIRES: the viewed memory does not change until the last piece is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "diff/varint.h"

namespace iw::diff {

class Pieces {
 public:
  using Slice = std::span<const std::byte>;
  // Fewer bytes are cheaper to copy than to send as a slice of their own.
  static constexpr std::size_t kLeastSliceBytes = 4096;

  [[nodiscard]] std::uint64_t size_bytes() const { return size_ - unused_bytes_ + viewed_bytes_; }

  void append(const void* from, std::size_t count) {
    if (count != 0) std::memcpy(extend(count), from, count);
  }
  void append_varint(std::uint64_t value) {
    std::byte* const to = extend(kMaxVarintBytes);
    size_ -= kMaxVarintBytes - put_varint(value, to);
  }
  // `count` more bytes, all to be written before the next call.
  std::byte* extend(std::size_t count) {
    if (count > capacity_ - size_) grow(count);
    size_ += count;
    return own_.get() + size_ - count;
  }
  // Takes back the last `count` bytes that extend() gave.
  void shrink(std::size_t count) { size_ -= count; }
  // Empty again, with the memory it has.
  void clear() {
    size_ = 0;
    unused_bytes_ = 0;
    views_.clear();
    viewed_bytes_ = 0;
  }
  void append_view(const std::byte* from, std::size_t count) {
    views_.push_back({size_, size_, {from, count}});
    viewed_bytes_ += count;
  }

  // A body, which travels behind its length as a varint. Bodies are not nested.
  struct Body {
    std::size_t view = 0;  // where views_ has the room for the length
    std::uint64_t size_before = 0;
  };
  [[nodiscard]] Body begin_body();
  // Writes the length. A long body stays where it is, and the rest of the room is left out.
  void end_body(const Body& body);

  // Appends the slices in order.
  void slices(std::vector<Slice>& out) const;

 private:
  struct View {
    std::size_t own_end;   // of the own bytes before it
    std::size_t own_next;  // own bytes continue here; those between are not used
    Slice bytes;
  };

  void grow(std::size_t count);

  // Not a vector, because most bytes are written once, in small parts, and need not be zeroed.
  std::unique_ptr<std::byte[]> own_;
  std::size_t size_ = 0;
  std::size_t unused_bytes_ = 0;  // of these
  std::size_t capacity_ = 0;
  std::vector<View> views_;
  std::uint64_t viewed_bytes_ = 0;
};

}  // namespace iw::diff
