#include "vectors/json.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace iw::vectors {
namespace {

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xE0 | code >> 12));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

constexpr int kMostNested = 200;

class Parser {
 public:
  Parser(std::string_view text, JsonStrings strings) : text_(text), strings_(strings) {}

  Json document() {
    Json whole = value(0);
    skip_space();
    if (at_ != text_.size()) fail("something follows the value");
    return whole;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw JsonError("JSON: byte " + std::to_string(at_) + ": " + why);
  }
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  char peek() {
    skip_space();
    if (at_ == text_.size()) fail("the text ends in a value");
    return text_[at_];
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("missing ") + c);
  }

  Json value(int depth) {
    if (depth > kMostNested) fail("nested too deeply");
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return Json::string(string());
      default:
        return word();
    }
  }

  // A number, true, false or null.
  Json word() {
    const std::size_t end = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    std::string word(text_.substr(at_, end - at_));
    if (word != "null" && word != "true" && word != "false" &&
        (word.empty() || word.find_first_not_of("0123456789+-.eE") != std::string::npos)) {
      fail("'" + word + "' is not a value");
    }
    at_ = end;
    if (word == "null") return {};
    if (word == "true" || word == "false") return Json::boolean(word == "true");
    return Json::number(std::move(word));
  }

  Json object(int depth) {
    std::vector<Json::Member> members;
    expect('{');
    if (take('}')) return Json::object({});
    do {
      std::string name = string();
      expect(':');
      members.push_back({std::move(name), value(depth + 1)});
    } while (take(','));
    expect('}');
    return Json::object(std::move(members));
  }

  Json array(int depth) {
    std::vector<Json> items;
    expect('[');
    if (take(']')) return Json::array({});
    do {
      items.push_back(value(depth + 1));
    } while (take(','));
    expect(']');
    return Json::array(std::move(items));
  }

  std::string string() {
    std::string out;
    expect('"');
    for (;;) {
      if (at_ == text_.size()) fail("a string without end");
      const char c = text_[at_++];
      if (c == '"') return out;
      if (c == '\\') {
        append_escaped(out);
      } else {
        out.push_back(c);
      }
    }
  }

  void append_escaped(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      ++at_;
      out.push_back(kMeanings[known]);
      return;
    }
    const std::string digits(c == 'u' ? text_.substr(at_ + 1, 4) : "");
    if (digits.size() != 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      fail("an escape that is not one of JSON's");
    }
    const auto code = static_cast<unsigned>(std::stoul(digits, nullptr, 16));
    if (strings_ == JsonStrings::utf8) {
      append_utf8(out, code);
    } else if (code <= 0xFF) {
      out.push_back(static_cast<char>(code));
    } else {
      fail("only \\u0000 to \\u00ff are bytes");
    }
    at_ += 5;
  }

  std::string_view text_;
  JsonStrings strings_;
  std::size_t at_ = 0;
};

}  // namespace

Json Json::boolean(bool value) { return {Kind::boolean, value ? "true" : "false", {}, {}}; }
Json Json::number(std::string text) { return {Kind::number, std::move(text), {}, {}}; }
Json Json::string(std::string text) { return {Kind::string, std::move(text), {}, {}}; }

Json Json::array(std::vector<Json> items) { return {Kind::array, {}, std::move(items), {}}; }

Json Json::object(std::vector<Member> members) {
  return {Kind::object, {}, {}, std::move(members)};
}

const Json* Json::find(std::string_view name) const {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [name](const Member& member) { return member.name == name; });
  return found == members.end() ? nullptr : &found->value;
}

std::uint64_t Json::as_number() const { return std::strtoull(text.c_str(), nullptr, 10); }

std::string Json::print() const {
  std::string out;
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
    case Kind::number:
      return text;
    case Kind::string:
      return '"' + text + '"';
    case Kind::array:
      for (const Json& item : items) out += (out.empty() ? "" : ", ") + item.print();
      return '[' + out + ']';
    case Kind::object:
      for (const auto& [name, value] : members) {
        out += (out.empty() ? "\"" : ", \"") + name + "\": " + value.print();
      }
      return '{' + out + '}';
  }
  return out;
}

bool operator==(const Json& a, const Json& b) {
  if (a.kind != b.kind || a.text != b.text || a.items != b.items ||
      a.members.size() != b.members.size()) {
    return false;
  }
  return std::all_of(a.members.begin(), a.members.end(), [&b](const Json::Member& member) {
    const Json* const other = b.find(member.name);
    return other != nullptr && *other == member.value;
  });
}

Json parse_json(std::string_view text, JsonStrings strings) {
  return Parser(text, strings).document();
}

}  // namespace iw::vectors
