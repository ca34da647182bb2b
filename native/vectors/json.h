// JSON (RFC 8259), as much as the vectors need: numbers stay the text that was written, so that no
// 64-bit number loses anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iw::vectors {

struct Json {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  std::string text;  // number as written; string; "true" and "false"
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  static Json boolean(bool value) { return {Kind::boolean, value ? "true" : "false", {}, {}}; }
  static Json number(std::string text) { return {Kind::number, std::move(text), {}, {}}; }
  static Json string(std::string text) { return {Kind::string, std::move(text), {}, {}}; }
  static Json array(std::vector<Json> items) { return {Kind::array, {}, std::move(items), {}}; }
  static Json object(std::vector<std::pair<std::string, Json>> members) {
    return {Kind::object, {}, {}, std::move(members)};
  }

  // Null if there is no such member.
  [[nodiscard]] const Json* find(std::string_view name) const;
  // Of a number, or of a string of digits.
  [[nodiscard]] std::uint64_t as_number() const;
  [[nodiscard]] std::string print() const;
};

// Equal but for the order of members.
bool operator==(const Json& a, const Json& b);

// Ends the program with a message if the text is no JSON: it is a file of ours.
Json parse_json(const std::string& text, const std::string& file);

}  // namespace iw::vectors
