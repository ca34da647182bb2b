// The structure hash of types: FNV-1a over the signature of spec/format/type-descriptor.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "types/type.h"

namespace iw::types {

class Fnv1a {
 public:
  void bytes(const void* from, std::size_t count);
  void u8(std::uint8_t value) { bytes(&value, 1); }
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void text(std::string_view value);
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 14695981039346656037U;
};

// The hash of a type's structure, whose parts and unnamed targets have theirs.
std::uint64_t structure_hash(const Type& type);

// Fills in `hash` of a group of types. REQUIRES: parts and targets are known, parts come before the
// types that embed them, and targets outside the group have their hashes. Returns false if a chain
// of unnamed targets leads back to itself or is longer than twice kMaxDepth: such a type has no
// hash.
bool hash_group(std::span<Type* const> group);

}  // namespace iw::types
