#include "json.h"

namespace agent {

namespace {

constexpr int most_nested = 200;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json whole() {
    Json value = any(0);
    skip_blanks();
    if (at_ != text_.size()) throw BadCommand("more after the end of the JSON text");
    return value;
  }

 private:
  char peek() { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (peek() == ' ') ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) throw BadCommand(std::string("JSON: missing ") + wanted);
  }

  Json any(int depth) {
    if (depth > most_nested) throw BadCommand("JSON: nested too deeply");
    skip_blanks();
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return {Json::Kind::string, string(), {}, {}};
      default:
        return word();
    }
  }

  Json object(int depth) {
    Json value{Json::Kind::object, {}, {}, {}};
    expect('{');
    if (take('}')) return value;
    do {
      skip_blanks();
      std::string name = string();
      expect(':');
      value.members.emplace_back(std::move(name), any(depth + 1));
    } while (take(','));
    expect('}');
    return value;
  }

  Json array(int depth) {
    Json value{Json::Kind::array, {}, {}, {}};
    expect('[');
    if (take(']')) return value;
    do value.items.push_back(any(depth + 1));
    while (take(','));
    expect(']');
    return value;
  }

  // A number, true, false or null.
  Json word() {
    const std::size_t begin = at_;
    while (std::string_view(",]} ").find(peek()) == std::string_view::npos && at_ < text_.size()) {
      ++at_;
    }
    const std::string text(text_.substr(begin, at_ - begin));
    if (text == "null") return {};
    if (text == "true" || text == "false") return {Json::Kind::boolean, text, {}, {}};
    if (text.empty() || text.find_first_not_of("-0123456789.eE+") != std::string::npos) {
      throw BadCommand("JSON: '" + text + "' is not a value");
    }
    return {Json::Kind::number, text, {}, {}};
  }

  std::string string() {
    expect('"');
    std::string bytes;
    while (peek() != '"') {
      if (at_ >= text_.size()) throw BadCommand("JSON: a string without end");
      const char c = text_[at_++];
      bytes += c == '\\' ? escaped() : c;
    }
    ++at_;
    return bytes;
  }

  char escaped() {
    const char c = peek();
    ++at_;
    if (c == '"' || c == '\\' || c == '/') return c;
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == 'r') return '\r';
    if (c == 'b') return '\b';
    if (c == 'f') return '\f';
    const std::string digits(text_.substr(std::min(at_, text_.size()), 4));
    if (c != 'u' || digits.size() != 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos ||
        digits.compare(0, 2, "00") != 0) {
      throw BadCommand("JSON: only \\u0000 to \\u00ff are bytes");
    }
    at_ += 4;
    return static_cast<char>(std::stoi(digits, nullptr, 16));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Json* Json::member(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

Json parse_json(std::string_view text) { return Parser(text).whole(); }

std::string quoted(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.append(1, '\\').append(1, c);
    } else if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return text.append(1, '"');
}

}  // namespace agent
