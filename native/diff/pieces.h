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

  [[nodiscard]] std::uint64_t size_bytes() const { return size_ + viewed_bytes_; }

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
    views_.clear();
    viewed_bytes_ = 0;
  }
  void append_view(const std::byte* from, std::size_t count) {
    views_.push_back({size_, {from, count}});
    viewed_bytes_ += count;
  }

  // A place to which a length is added once what follows is there. An own byte precedes it.
  struct Place {
    std::size_t own_offset = 0;
    std::uint64_t size_before = 0;
  };
  [[nodiscard]] Place here() const { return {size_, size_bytes()}; }
  // Inserts the number of bytes behind the place, as a varint.
  void insert_length(const Place& place);

  // Appends the slices in order.
  void slices(std::vector<Slice>& out) const;

 private:
  struct View {
    std::size_t own_offset;  // own bytes before it
    Slice bytes;
  };

  void grow(std::size_t count);

  // Not a vector, because most bytes are written once, in small parts, and need not be zeroed.
  std::unique_ptr<std::byte[]> own_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::vector<View> views_;
  std::uint64_t viewed_bytes_ = 0;
};

}  // namespace iw::diff
