// JSON (RFC 8259), as much as the vectors and the agents of conformance/ need: numbers stay the
// text that was written, so that no 64-bit number loses anything. For tests only.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace iw::vectors {

struct Json {
  struct Member;
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  std::string text = {};  // number as written; string; "true" and "false"
  std::vector<Json> items = {};
  std::vector<Member> members;  // an initializer would need a complete Member

  static Json boolean(bool value);
  static Json number(std::string text);
  static Json string(std::string text);
  static Json array(std::vector<Json> items);
  static Json object(std::vector<Member> members);

  [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
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

// A text that is not JSON: what() says why, and at which byte.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether \u00e9 in a string becomes a character or the byte 0xE9; above \u00ff there are no bytes.
enum class JsonStrings : std::uint8_t { utf8, bytes };

Json parse_json(std::string_view text, JsonStrings strings = JsonStrings::utf8);

}  // namespace iw::vectors
