// Numbers of the diff format: unsigned LEB128 of at most 10 bytes, in the shortest form only; and
// zigzag, which makes small negative numbers short. Reading is bounded and refuses everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace iw::diff {

inline constexpr std::size_t kMaxVarintBytes = 10;

// Returns how many bytes were written, at most kMaxVarintBytes.
inline std::size_t put_varint(std::uint64_t value, std::byte* to) {
  std::size_t n = 0;
  for (; value >= 0x80; value >>= 7) to[n++] = static_cast<std::byte>(value | 0x80);
  to[n++] = static_cast<std::byte>(value);
  return n;
}

// The difference from one serial to the next. Differences wrap, so every pair has one.
constexpr std::uint64_t zigzag_delta(std::uint64_t from, std::uint64_t to) {
  const std::uint64_t n = to - from;
  return (n << 1) ^ (n >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t apply_zigzag(std::uint64_t from, std::uint64_t zigzag) {
  return from + ((zigzag >> 1) ^ ((zigzag & 1) != 0 ? ~std::uint64_t{0} : 0));
}

// Bytes being read. Every function returns false if the bytes do not have the expected form. It
// then has not moved past their end.
class Reader {
 public:
  Reader() = default;
  explicit Reader(std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] const std::byte* at() const { return at_; }

  [[nodiscard]] bool take(std::uint64_t count, const std::byte*& out) {
    if (count > remaining()) return false;
    out = at_;
    at_ += count;
    return true;
  }

  [[nodiscard]] bool take(std::uint64_t count, Reader& out) {
    const std::byte* from = nullptr;
    if (!take(count, from)) return false;
    out = Reader(std::span(from, static_cast<std::size_t>(count)));
    return true;
  }

  [[nodiscard]] bool u8(std::uint8_t& out) {
    if (at_ == end_) return false;
    out = std::to_integer<std::uint8_t>(*at_++);
    return true;
  }

  // Inline everywhere: sparse updates are many short runs, whose heads take most of the time.
  [[nodiscard, gnu::always_inline]] bool varint(std::uint64_t& out) {
    if (at_ == end_) return false;
    std::uint64_t byte = std::to_integer<std::uint64_t>(*at_++);
    std::uint64_t value = byte & 0x7F;
    for (unsigned shift = 7; byte >= 0x80; shift += 7) {
      if (at_ == end_) return false;
      byte = std::to_integer<std::uint64_t>(*at_++);
      // The tenth byte has one bit to give; a last byte of zero is an overlong form.
      if (byte == 0 || (shift == 63 && byte > 1)) return false;
      value |= (byte & 0x7F) << shift;
    }
    out = value;
    return true;
  }

 private:
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace iw::diff
