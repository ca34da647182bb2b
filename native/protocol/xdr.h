// The runtime of the generated codecs: XDR (RFC 4506) in memory.
//
// Decoding is strict, because the bytes come from the network: declared bounds hold, padding is
// zero, booleans and optionals are 0 or 1, text is UTF-8, recursion ends at kMaxDepth, and a count
// is believed only if the bytes for that many elements are there, so that no allocation exceeds
// what was received by more than the elements' own size in memory. The first failure stays in
// Reader::error(); whatever was decoded into is then unspecified, but safe to destroy.
// Encoding a value beyond its bound is a mistake of the caller's, and aborts with a message.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace iw::xdr {

// How deep recursive types may nest.
inline constexpr std::uint32_t kMaxDepth = 128;

inline constexpr std::uint32_t kNoBound = 0xffffffff;

// The zeros that fill the last unit of four.
constexpr std::size_t padding(std::size_t bytes) { return (4 - bytes % 4) % 4; }

// Whether the bytes are UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(const std::uint8_t* p, std::size_t n) {
  std::size_t i = 0;
  while (i < n) {
    const std::uint8_t lead = p[i++];
    if (lead < 0x80) continue;
    const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || n - i < more) return false;
    // Only the first byte behind the lead has a narrower range than 80..bf.
    const std::uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (p[i] < low || p[i] > high) return false;
    for (std::size_t k = 1; k < more; ++k) {
      if ((p[i + k] & 0xc0) != 0x80) return false;
    }
    i += more;
  }
  return true;
}

// Appends encodings to a vector.
class Writer {
 public:
  explicit Writer(std::vector<std::uint8_t>& out) : out_(out) {}

  void u32(std::uint32_t v) { big_endian(v); }
  void i32(std::int32_t v) { big_endian(static_cast<std::uint32_t>(v)); }
  void u64(std::uint64_t v) { big_endian(v); }
  void i64(std::int64_t v) { big_endian(static_cast<std::uint64_t>(v)); }
  void f32(float v) { big_endian(std::bit_cast<std::uint32_t>(v)); }
  void f64(double v) { big_endian(std::bit_cast<std::uint64_t>(v)); }
  void boolean(bool v) { u32(v ? 1 : 0); }
  // Integers smaller than four bytes travel as four.
  void i8(std::int8_t v) { i32(v); }
  void u8(std::uint8_t v) { u32(v); }
  void i16(std::int16_t v) { i32(v); }
  void u16(std::uint16_t v) { u32(v); }

  void length(std::size_t n, std::uint32_t bound) {
    if (n > bound) {
      std::fprintf(stderr,
                   "interweave: a value of length %zu is longer than its bound of %lu; it must be "
                   "checked before it is encoded\n",
                   n, static_cast<unsigned long>(bound));
      std::abort();
    }
    u32(static_cast<std::uint32_t>(n));
  }

  // opaque[n]
  void fixed(const void* p, std::size_t n) {
    const auto* bytes = static_cast<const std::uint8_t*>(p);
    out_.insert(out_.end(), bytes, bytes + n);
    out_.insert(out_.end(), padding(n), 0);
  }

 private:
  template <typename T>
  void big_endian(T v) {
    for (std::size_t shift = sizeof(T) * 8; shift != 0; shift -= 8) {
      out_.push_back(static_cast<std::uint8_t>(v >> (shift - 8)));
    }
  }

  std::vector<std::uint8_t>& out_;
};

// Bytes being decoded. Every function returns false, and sets error(), where the bytes do not fit.
class Reader {
 public:
  Reader(const std::uint8_t* p, std::size_t n) : at_(p), left_(n) {}

  // How many bytes are not yet decoded.
  [[nodiscard]] std::size_t remaining() const { return left_; }
  // Why decoding failed; empty text while it has not.
  [[nodiscard]] const char* error() const { return error_; }
  [[nodiscard]] bool fail(const char* why) {
    if (*error_ == '\0') error_ = why;
    return false;
  }
  // Fails unless all bytes are decoded.
  [[nodiscard]] bool finish() { return left_ == 0 || fail("bytes follow the value"); }

  [[nodiscard]] bool u32(std::uint32_t& v) { return big_endian(v); }
  [[nodiscard]] bool i32(std::int32_t& v) { return converted<std::uint32_t>(v); }
  [[nodiscard]] bool u64(std::uint64_t& v) { return big_endian(v); }
  [[nodiscard]] bool i64(std::int64_t& v) { return converted<std::uint64_t>(v); }
  [[nodiscard]] bool f32(float& v) { return converted<std::uint32_t>(v); }
  [[nodiscard]] bool f64(double& v) { return converted<std::uint64_t>(v); }
  [[nodiscard]] bool i8(std::int8_t& v) { return narrowed<std::int32_t>(v); }
  [[nodiscard]] bool u8(std::uint8_t& v) { return narrowed<std::uint32_t>(v); }
  [[nodiscard]] bool i16(std::int16_t& v) { return narrowed<std::int32_t>(v); }
  [[nodiscard]] bool u16(std::uint16_t& v) { return narrowed<std::uint32_t>(v); }

  [[nodiscard]] bool boolean(bool& v) {
    std::uint32_t word = 0;
    if (!u32(word)) return false;
    if (word > 1) return fail("a bool is neither 0 nor 1");
    v = word == 1;
    return true;
  }

  // A length or count, within its bound, of things that take `least` bytes each or more.
  [[nodiscard]] bool length(std::size_t& n, std::uint32_t bound, std::uint64_t least) {
    std::uint32_t word = 0;
    if (!u32(word)) return false;
    if (word > bound) return fail("a length or count is above its bound");
    n = word;
    return has(word, least);
  }

  // Whether `count` things of `least` bytes each can be there.
  [[nodiscard]] bool has(std::uint64_t count, std::uint64_t least) {
    // Both factors are below 2^32, so the product fits.
    return count * least <= left_ || fail("the bytes end too early");
  }

  // opaque[n], into memory that the caller has for it.
  [[nodiscard]] bool fixed(void* to, std::size_t n) {
    const std::uint8_t* from = padded(n);
    if (from == nullptr) return false;
    auto* bytes = static_cast<std::uint8_t*>(to);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = from[i];
    return true;
  }

  // The next n bytes, stepping over them and their padding; nullptr on failure.
  [[nodiscard]] const std::uint8_t* padded(std::size_t n) {
    const std::size_t pad = padding(n);
    if (left_ < n || left_ - n < pad) {
      (void)fail("the bytes end too early");
      return nullptr;
    }
    const std::uint8_t* bytes = at_;
    for (std::size_t i = 0; i < pad; ++i) {
      if (bytes[n + i] != 0) {
        (void)fail("padding is not zero");
        return nullptr;
      }
    }
    at_ += n + pad;
    left_ -= n + pad;
    return bytes;
  }

  // Around the decoder of a type that may contain itself.
  [[nodiscard]] bool enter() {
    if (depth_ == kMaxDepth) return fail("the value is nested too deeply");
    ++depth_;
    return true;
  }
  bool leave(bool ok) {
    --depth_;
    return ok;
  }

 private:
  template <typename T>
  bool big_endian(T& v) {
    if (left_ < sizeof(T)) return fail("the bytes end too early");
    T word = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) word = static_cast<T>(word << 8 | at_[i]);
    at_ += sizeof(T);
    left_ -= sizeof(T);
    v = word;
    return true;
  }

  template <typename Word, typename T>
  bool converted(T& v) {
    Word word = 0;
    if (!big_endian(word)) return false;
    v = std::bit_cast<T>(word);
    return true;
  }

  template <typename Wide, typename T>
  bool narrowed(T& v) {
    std::uint32_t word = 0;
    if (!big_endian(word)) return false;
    const auto wide = static_cast<Wide>(word);
    if (static_cast<Wide>(static_cast<T>(wide)) != wide) {
      return fail("a number is too large for its type");
    }
    v = static_cast<T>(wide);
    return true;
  }

  const std::uint8_t* at_;
  std::size_t left_;
  std::uint32_t depth_ = 0;
  const char* error_ = "";
};

// string<bound>
inline void put_string(Writer& w, const std::string& text, std::uint32_t bound) {
  w.length(text.size(), bound);
  w.fixed(text.data(), text.size());
}

[[nodiscard]] inline bool get_string(Reader& r, std::string& text, std::uint32_t bound) {
  std::size_t n = 0;
  if (!r.length(n, bound, 1)) return false;
  const std::uint8_t* bytes = r.padded(n);
  if (bytes == nullptr) return false;
  if (!is_utf8(bytes, n)) return r.fail("a string is not UTF-8");
  text.assign(bytes, bytes + n);
  return true;
}

// opaque<bound>
inline void put_opaque(Writer& w, const std::vector<std::uint8_t>& bytes, std::uint32_t bound) {
  w.length(bytes.size(), bound);
  w.fixed(bytes.data(), bytes.size());
}

[[nodiscard]] inline bool get_opaque(Reader& r, std::vector<std::uint8_t>& to,
                                     std::uint32_t bound) {
  std::size_t n = 0;
  if (!r.length(n, bound, 1)) return false;
  const std::uint8_t* bytes = r.padded(n);
  if (bytes == nullptr) return false;
  to.assign(bytes, bytes + n);
  return true;
}

// T[n]
template <typename T, std::size_t N, typename Each>
void put_elements(Writer& w, const std::array<T, N>& values, Each each) {
  for (const T& value : values) each(w, value);
}

template <typename T, std::size_t N, typename Each>
[[nodiscard]] bool get_elements(Reader& r, std::array<T, N>& values, Each each) {
  for (T& value : values) {
    if (!each(r, value)) return false;
  }
  return true;
}

// T<bound>; an element takes `least` bytes or more.
template <typename T, typename Each>
void put_array(Writer& w, const std::vector<T>& values, std::uint32_t bound, Each each) {
  w.length(values.size(), bound);
  for (const T& value : values) each(w, value);
}

template <typename T, typename Each>
[[nodiscard]] bool get_array(Reader& r, std::vector<T>& values, std::uint32_t bound,
                             std::uint64_t least, Each each) {
  std::size_t n = 0;
  if (!r.length(n, bound, least)) return false;
  values.clear();
  values.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    T value{};
    if (!each(r, value)) return false;
    values.push_back(std::move(value));
  }
  return true;
}

// T *
template <typename T, typename Each>
void put_optional(Writer& w, const std::unique_ptr<T>& value, Each each) {
  w.boolean(value != nullptr);
  if (value != nullptr) each(w, *value);
}

template <typename T, typename Each>
[[nodiscard]] bool get_optional(Reader& r, std::unique_ptr<T>& value, Each each) {
  std::uint32_t present = 0;
  if (!r.u32(present)) return false;
  if (present > 1) return r.fail("an optional is neither 0 nor 1");
  value.reset();
  if (present == 0) return true;
  value = std::make_unique<T>();
  return each(r, *value);
}

// Equality that looks behind optionals. Declared first, so that each finds the others.
template <typename T>
bool same(const T& a, const T& b);
template <typename T>
bool same(const std::unique_ptr<T>& a, const std::unique_ptr<T>& b);
template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b);
template <typename T, std::size_t N>
bool same(const std::array<T, N>& a, const std::array<T, N>& b);

template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}

template <typename T>
bool same(const std::unique_ptr<T>& a, const std::unique_ptr<T>& b) {
  return a == b || (a != nullptr && b != nullptr && same(*a, *b));
}

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

template <typename T, std::size_t N>
bool same(const std::array<T, N>& a, const std::array<T, N>& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const T& x, const T& y) { return same(x, y); });
}

}  // namespace iw::xdr

namespace iw::protocol {
namespace xdr = ::iw::xdr;
}  // namespace iw::protocol
