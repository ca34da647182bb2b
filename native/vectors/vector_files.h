// The files of spec/vectors; its README says what is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vectors/json.h"

namespace iw::vectors {

struct Vector {
  std::string name;
  std::string kind;
  Json json;

  // "" if there is no such member.
  [[nodiscard]] std::string text(std::string_view member) const;
  // Empty for a vector that has none.
  [[nodiscard]] std::vector<std::byte> bytes() const;

  // Members of the context; null, the other number and nothing where there are none.
  [[nodiscard]] const Json* context(std::string_view member) const;
  [[nodiscard]] std::uint64_t context_number(std::string_view member, std::uint64_t other) const;
  [[nodiscard]] std::vector<Json> context_items(std::string_view member) const;
  // The body of a TYPES section with all types that the segment has.
  [[nodiscard]] std::vector<std::byte> context_types() const;
};

// All of "good" or "malformed".
const std::vector<Vector>& vectors_of(const std::string& folder);

}  // namespace iw::vectors
