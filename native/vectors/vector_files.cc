#include "vectors/vector_files.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace iw::vectors {
namespace {

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "vectors: %s\n", why.c_str());
  std::abort();
}

Json parsed(const std::string& text, const std::string& file) {
  try {
    return parse_json(text);
  } catch (const JsonError& wrong) {
    fail(file + ": " + wrong.what());
  }
}

unsigned digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  fail(std::string("no hex digit: ") + c);
}

void append_hex(const std::string& line, std::vector<std::byte>& out) {
  std::string digits = line.substr(0, line.find(';'));
  std::erase(digits, ' ');
  if (digits.size() % 2 != 0) fail("half a byte: " + line);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    out.push_back(static_cast<std::byte>(digit(digits[i]) << 4 | digit(digits[i + 1])));
  }
}

std::vector<Vector> load(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(IW_VECTORS) / folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Vector> vectors;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (Json& json : parsed(text, file.string()).items) {
      vectors.push_back({json.find("name")->text, json.find("kind")->text, std::move(json)});
    }
  }
  return vectors;
}

}  // namespace

std::string Vector::text(std::string_view member) const {
  const Json* const found = json.find(member);
  return found == nullptr ? "" : found->text;
}

std::vector<std::byte> Vector::bytes() const {
  std::vector<std::byte> out;
  const Json* const lines = json.find("bytes");
  if (lines == nullptr) return out;
  if (lines->kind == Json::Kind::string) append_hex(lines->text, out);
  for (const Json& line : lines->items) append_hex(line.text, out);
  return out;
}

const Json* Vector::context(std::string_view member) const {
  const Json* const all = json.find("context");
  return all == nullptr ? nullptr : all->find(member);
}

std::uint64_t Vector::context_number(std::string_view member, std::uint64_t other) const {
  const Json* const found = context(member);
  return found == nullptr ? other : found->as_number();
}

std::vector<Json> Vector::context_items(std::string_view member) const {
  const Json* const found = context(member);
  return found == nullptr ? std::vector<Json>{} : found->items;
}

std::vector<std::byte> Vector::context_types() const {
  std::vector<std::byte> out;
  for (const Json& name : context_items("types")) {
    const std::vector<Vector>& good = vectors_of("good");
    const auto found = std::find_if(
        good.begin(), good.end(), [&name](const Vector& other) { return other.name == name.text; });
    if (found == good.end()) fail("there is no vector " + name.text);
    const std::vector<std::byte> bytes = found->bytes();
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

const std::vector<Vector>& vectors_of(const std::string& folder) {
  static std::map<std::string, std::vector<Vector>> loaded;
  const auto found = loaded.find(folder);
  return found != loaded.end() ? found->second : loaded.emplace(folder, load(folder)).first->second;
}

}  // namespace iw::vectors
