// Bytes to send, in pieces: own bytes, and between them views of memory that is sent from where it
// lies. The views must stay as they are until the last piece is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace iw::diff {

class Pieces {
 public:
  using Slice = std::span<const std::byte>;

  [[nodiscard]] std::uint64_t size_bytes() const { return own_.size() + viewed_bytes_; }

  void append(const void* from, std::size_t count) {
    const auto* bytes = static_cast<const std::byte*>(from);
    own_.insert(own_.end(), bytes, bytes + count);
  }
  void append_varint(std::uint64_t value);
  // `count` more bytes, to be written before the next call.
  std::byte* extend(std::size_t count) {
    own_.resize(own_.size() + count);
    return own_.data() + own_.size() - count;
  }
  void append_view(const std::byte* from, std::size_t count) {
    views_.push_back({own_.size(), {from, count}});
    viewed_bytes_ += count;
  }

  // A place to which a length is added once what follows is there. An own byte precedes it.
  struct Place {
    std::size_t own_offset = 0;
    std::uint64_t size_before = 0;
  };
  [[nodiscard]] Place here() const { return {own_.size(), size_bytes()}; }
  // Inserts the number of bytes behind the place, as a varint.
  void insert_length(const Place& place);

  // Appends the slices in order.
  void slices(std::vector<Slice>& out) const;

 private:
  struct View {
    std::size_t own_offset;  // own bytes before it
    Slice bytes;
  };

  std::vector<std::byte> own_;
  std::vector<View> views_;
  std::uint64_t viewed_bytes_ = 0;
};

}  // namespace iw::diff
