// URLs and MIPs as text (spec/format/mip.md): parsing and the canonical form. Nothing here asks
// whether the segment or the block exists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "types/result.h"

namespace iw::types {

inline constexpr std::uint16_t kDefaultPort = 7747;
inline constexpr std::size_t kMaxMipBytes = 4096;
inline constexpr std::size_t kMaxPathBytes = 1024;
inline constexpr std::size_t kMaxBlockNameBytes = 255;
inline constexpr std::size_t kMaxHosts = 8;

struct Host {
  std::string name;  // in lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;  // "host:port"
  friend bool operator==(const Host&, const Host&) = default;
};

struct Url {
  // TCP: host in lower case, an IPv6 address without its brackets, and port. Unix socket: file.
  std::string host;
  std::uint16_t port = 0;
  std::string socket_file;
  std::string path;            // begins with '/'
  bool secure = false;         // TLS [MIP-2]
  std::vector<Host> others{};  // servers of the same space, which are asked after the first [MIP-7]

  [[nodiscard]] bool is_unix() const { return !socket_file.empty(); }
  // "iw://host:port", "iws://host:port" or "unix:FILE": equal for all segments of a server. Several
  // hosts have commas between them.
  [[nodiscard]] std::string server() const;
  // The URL once for each host, with that host alone.
  [[nodiscard]] std::vector<Url> of_each_host() const;
  // server() and path, for both forms: the canonical text.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Url&, const Url&) = default;
};

struct Mip {
  Url url;
  // Neither: the segment itself. Serials begin at 1.
  std::uint64_t serial = 0;
  std::string block_name;
  std::uint64_t unit = 0;
  friend bool operator==(const Mip&, const Mip&) = default;
};

Result parse_url(std::string_view text, Url& out);
Result parse_mip(std::string_view text, Mip& out);

// The canonical MIP [MIP-3].
std::string mip_text(const Url& url, std::uint64_t serial, std::uint64_t unit);

// [SEG-4]: UTF-8, 1 to 255 bytes, no digit first, no '#', no control characters.
bool is_block_name(std::string_view name);
// '/' first, no '#', no control characters, UTF-8, at most 1,024 bytes.
bool is_path(std::string_view path);

}  // namespace iw::types
