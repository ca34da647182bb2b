// A block as lookups return it: a copy, correct at the time of the call. Blocks never move. Only
// the thread that holds the segment's mutex frees a block or changes its flags.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iw::types {
struct Type;
}

namespace iw::memory {

struct Block {
  std::uint64_t serial = 0;  // 48 bits, at least 1
  const types::Type* type = nullptr;
  std::uint64_t count = 0;  // of values of the type
  std::byte* address = nullptr;
  std::size_t size_bytes = 0;  // count * the type's size in memory

  bool is_new = false;       // allocated in this writer section
  bool is_freed = false;     // freed in this writer section; only iteration over freed() shows it
  bool is_reserved = false;  // address space only: its data has not arrived, all zeros
  bool is_owned = false;     // belongs to a sequence or text field
  bool has_name = false;

  [[nodiscard]] std::byte* end() const { return address + size_bytes; }
  // One past the end belongs to the block, too: two blocks never touch.
  [[nodiscard]] bool covers(const std::byte* at) const { return at >= address && at <= end(); }
};

}  // namespace iw::memory
