#include "vectors/json.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
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

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Json document() {
    Json value = this->value();
    skip_space();
    if (at_ != text_.size()) fail("something follows the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* why) {
    std::fprintf(stderr, "%s: byte %zu: %s\n", file_.c_str(), at_, why);
    std::abort();
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
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
    if (!take(c)) fail("another character was expected");
  }
  bool word(std::string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  Json value() {
    switch (peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return Json::string(string());
      default:
        break;
    }
    if (word("null")) return {};
    if (word("true")) return Json::boolean(true);
    if (word("false")) return Json::boolean(false);
    const std::size_t end = text_.find_first_not_of("0123456789+-.eE", at_);
    if (end == at_) fail("there is no value");
    const std::size_t begin = std::exchange(at_, std::min(end, text_.size()));
    return Json::number(text_.substr(begin, at_ - begin));
  }

  Json object() {
    std::vector<Json::Member> members;
    expect('{');
    if (take('}')) return Json::object({});
    do {
      if (peek() != '"') fail("a member's name was expected");
      std::string name = string();
      expect(':');
      members.push_back({std::move(name), value()});
    } while (take(','));
    expect('}');
    return Json::object(std::move(members));
  }

  Json array() {
    std::vector<Json> items;
    expect('[');
    if (take(']')) return Json::array({});
    do {
      items.push_back(value());
    } while (take(','));
    expect(']');
    return Json::array(std::move(items));
  }

  std::string string() {
    std::string out;
    expect('"');
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        out.push_back(text_[at_]);
        continue;
      }
      const char c = ++at_ < text_.size() ? text_[at_] : '\0';
      if (c == 'u') {
        append_utf8(out, static_cast<unsigned>(std::stoul(text_.substr(at_ + 1, 4), nullptr, 16)));
        at_ += 4;
      } else {
        out.push_back(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
      }
    }
    expect('"');
    return out;
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace

Json::Json() = default;
Json::Json(Kind kind, std::string text) : kind(kind), text(std::move(text)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::boolean(bool value) { return {Kind::boolean, value ? "true" : "false"}; }
Json Json::number(std::string text) { return {Kind::number, std::move(text)}; }
Json Json::string(std::string text) { return {Kind::string, std::move(text)}; }

Json Json::array(std::vector<Json> items) {
  Json value(Kind::array, {});
  value.items = std::move(items);
  return value;
}

Json Json::object(std::vector<Member> members) {
  Json value(Kind::object, {});
  value.members = std::move(members);
  return value;
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

Json parse_json(const std::string& text, const std::string& file) {
  return Parser(text, file).document();
}

}  // namespace iw::vectors
