#include "types/mip.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "protocol/xdr.h"

namespace iw::types {

namespace {

constexpr std::size_t kShownBytes = 200;

Result bad(std::string_view text, const std::string& why) {
  const std::string shown(text.substr(0, kShownBytes));
  return {error_code::BAD_URL,
          "\"" + shown + (text.size() > kShownBytes ? "...\"" : "\"") + ": " + why};
}

constexpr const char* kForm =
    "a URL is [iw://|iws://]host[:port]/path or unix:FILE:/path; servers of one space have commas "
    "between them: host[:port],host[:port]/path";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_plain_text(std::string_view text) {
  if (!xdr::is_utf8(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())) return false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '#') return false;
  }
  return true;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_host_character(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' || c == '.' || c == '_';
}

// IPv6 without its brackets: hex digits, colons, and what an embedded IPv4 address or a zone needs.
bool is_ipv6(std::string_view host) {
  if (host.find(':') == std::string_view::npos) return false;
  const std::size_t zone = host.find('%');
  for (const char c : host.substr(0, zone)) {
    if (!is_digit(c) && !(lower(c) >= 'a' && lower(c) <= 'f') && c != ':' && c != '.') return false;
  }
  if (zone == std::string_view::npos) return true;
  for (const char c : host.substr(zone + 1)) {
    if (!is_host_character(c)) return false;
  }
  return zone + 1 < host.size();
}

template <typename T>
bool parse_number(std::string_view digits, T& out) {
  if (digits.empty() || !is_digit(digits[0])) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return error == std::errc{} && end == digits.data() + digits.size();
}

Result parse_unix(std::string_view whole, std::string_view rest, Url& out) {
  const std::size_t colon = rest.find(":/");
  if (colon == std::string_view::npos || colon == 0) {
    return bad(whole, "a Unix socket is unix:FILE:/path");
  }
  out.socket_file = rest.substr(0, colon);
  out.path = rest.substr(colon + 1);
  if (!is_plain_text(out.socket_file)) return bad(whole, "the socket's file name is not text");
  return {};
}

Result parse_host(std::string_view whole, std::string_view authority, Host& out) {
  std::string_view port;
  bool has_port = false;
  std::string_view host = authority;
  if (!authority.empty() && authority[0] == '[') {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return bad(whole, "the bracket of [IPv6] is not closed");
    host = authority.substr(1, close - 1);
    const std::string_view behind = authority.substr(close + 1);
    has_port = !behind.empty();
    if (has_port && behind[0] != ':') return bad(whole, kForm);
    port = has_port ? behind.substr(1) : behind;
    if (!is_ipv6(host)) return bad(whole, "the text between the brackets is not an IPv6 address");
  } else {
    const std::size_t colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    host = authority.substr(0, colon);
    if (has_port) port = authority.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) {
      return bad(whole, "an IPv6 address is written in brackets: [::1]");
    }
    for (const char c : host) {
      if (!is_host_character(c)) return bad(whole, "the host is not a name or an address");
    }
  }
  if (host.empty()) return bad(whole, std::string("the host is missing; ") + kForm);
  if (host.size() > 255) return bad(whole, "the host is longer than 255 bytes");
  out.port = kDefaultPort;
  if (has_port && (!parse_number(port, out.port) || out.port == 0)) {
    return bad(whole, "a port is a number from 1 to 65535");
  }
  for (const char c : host) out.name.push_back(lower(c));
  return {};
}

// [MIP-7]
Result parse_hosts(std::string_view whole, std::string_view list, Url& out) {
  std::vector<Host> hosts;
  while (true) {
    const std::size_t comma = list.find(',');
    Host host;
    if (Result result = parse_host(whole, list.substr(0, comma), host); !result.ok()) return result;
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) {
      return bad(whole, "the host " + host.text() + " stands in the list twice");
    }
    if (hosts.size() == kMaxHosts) return bad(whole, "the list has more than eight hosts");
    hosts.push_back(std::move(host));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  out.host = std::move(hosts.front().name);
  out.port = hosts.front().port;
  hosts.erase(hosts.begin());
  out.others = std::move(hosts);
  return {};
}

}  // namespace

bool is_block_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxBlockNameBytes && !is_digit(name[0]) &&
         is_plain_text(name);
}

bool is_path(std::string_view path) {
  return !path.empty() && path[0] == '/' && path.size() <= kMaxPathBytes && is_plain_text(path);
}

std::string Host::text() const {
  const bool brackets = name.find(':') != std::string::npos;
  return (brackets ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

std::string Url::server() const {
  if (is_unix()) return "unix:" + socket_file;
  std::string server = (secure ? "iws://" : "iw://") + Host{host, port}.text();
  for (const Host& other : others) server += "," + other.text();
  return server;
}

std::vector<Url> Url::of_each_host() const {
  Url one = *this;
  one.others.clear();
  std::vector<Url> all{one};
  for (const Host& other : others) {
    one.host = other.name;
    one.port = other.port;
    all.push_back(one);
  }
  return all;
}

std::string Url::text() const { return server() + (is_unix() ? ":" : "") + path; }

Result parse_url(std::string_view text, Url& out) {
  Url url;
  if (text.size() > kMaxMipBytes) return bad(text, "it is longer than 4,096 bytes");
  if (text.starts_with("unix:")) {
    Result result = parse_unix(text, text.substr(5), url);
    if (!result.ok()) return result;
  } else {
    std::string_view rest = text;
    const std::size_t scheme = text.find("://");
    if (scheme != std::string_view::npos && scheme < text.find('/')) {
      const std::string_view name = text.substr(0, scheme);
      if (name != "iw" && name != "iws") return bad(text, kForm);
      url.secure = name == "iws";
      rest = text.substr(scheme + 3);
    }
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return bad(text, std::string("no /path; ") + kForm);
    Result result = parse_hosts(text, rest.substr(0, slash), url);
    if (!result.ok()) return result;
    url.path = rest.substr(slash);
  }
  if (!is_path(url.path)) {
    return bad(text,
               "a path begins with '/', has no '#' and no control characters, and is at "
               "most 1,024 bytes of UTF-8");
  }
  out = std::move(url);
  return {};
}

Result parse_mip(std::string_view text, Mip& out) {
  if (text.size() > kMaxMipBytes) return bad(text, "it is longer than 4,096 bytes");
  Mip mip;
  const std::size_t hash = text.find('#');
  Result result = parse_url(text.substr(0, hash), mip.url);
  if (!result.ok()) return result;
  if (hash != std::string_view::npos) {
    std::string_view block = text.substr(hash + 1);
    const std::size_t second = block.find('#');
    if (second != std::string_view::npos) {
      if (!parse_number(block.substr(second + 1), mip.unit)) {
        return bad(text, "the offset behind the second '#' is not a number of units");
      }
      block = block.substr(0, second);
    }
    if (!block.empty() && is_digit(block[0])) {
      if (block[0] == '0' || !parse_number(block, mip.serial) || mip.serial >> 48 != 0) {
        return bad(text, "a block's serial is a number from 1 to 2^48-1 without leading zeros");
      }
    } else if (is_block_name(block)) {
      mip.block_name = block;
    } else {
      return bad(text,
                 "behind '#' comes a block's serial or its name (1 to 255 bytes, no digit "
                 "first)");
    }
  }
  out = std::move(mip);
  return {};
}

std::string mip_text(const Url& url, std::uint64_t serial, std::uint64_t unit) {
  std::string text = url.text();
  text += '#';
  text += std::to_string(serial);
  if (unit == 0) return text;
  text += '#';
  return text += std::to_string(unit);
}

}  // namespace iw::types
