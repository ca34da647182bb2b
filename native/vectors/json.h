// JSON (RFC 8259), as much as the vectors need: numbers stay the text that was written, so that no
// 64-bit number loses anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iw::vectors {

struct Json {
  struct Member;
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  std::string text;  // number as written; string; "true" and "false"
  std::vector<Json> items;
  std::vector<Member> members;

  // Out of line, where Member is whole.
  Json();
  Json(Kind kind, std::string text);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json boolean(bool value);
  static Json number(std::string text);
  static Json string(std::string text);
  static Json array(std::vector<Json> items);
  static Json object(std::vector<Member> members);

  // Null if there is no such member.
  [[nodiscard]] const Json* find(std::string_view name) const;
  // Of a number, or of a string of digits.
  [[nodiscard]] std::uint64_t as_number() const;
  [[nodiscard]] std::string print() const;
};

struct Json::Member {
  std::string name;
  Json value;
};

// Equal but for the order of members.
bool operator==(const Json& a, const Json& b);

// Ends the program with a message if the text is not JSON: the file is one of ours.
Json parse_json(const std::string& text, const std::string& file);

}  // namespace iw::vectors
