// What is the same on all systems. See socket.h.
#include "platform/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "platform/clock.h"
#include "platform/socket_waits.h"
#include "platform/tls_stream.h"

namespace iw::platform {

int milliseconds_until(std::int64_t deadline_ns) {
  if (deadline_ns == never_ns) return -1;
  const std::int64_t left_ns = deadline_ns - now_ns();
  if (left_ns <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((left_ns - 1) / 1'000'000 + 1, INT_MAX));
}

Status wait_writable(int fd, std::int64_t deadline_ns) {
  std::array<Interest, 1> one{Interest{.fd = fd, .want_read = false, .want_write = true}};
  if (Status bad = wait_for(one, deadline_ns); !bad) return bad;
  if (!one[0].writable) return {ETIMEDOUT, "the deadline has passed"};
  return {};
}

Status Socket::send_some(std::span<const Slice> slices, std::size_t& sent_bytes) {
  if (tls_ != nullptr) return tls_->send_some(slices, sent_bytes);
  return send_plain(fd_.get(), slices, sent_bytes);
}

Status Socket::receive(const Space& into, std::size_t& got_bytes) {
  if (tls_ != nullptr) return tls_->receive(into, got_bytes);
  return receive_plain(fd_.get(), into, got_bytes);
}

bool Socket::has_pending() const { return tls_ != nullptr && tls_->has_pending(); }

void Socket::retire() {
  if (tls_ != nullptr) tls_->retire();
}

Status Socket::send(std::span<const Slice> slices, std::int64_t deadline_ns) {
  std::size_t first = 0;
  std::size_t skip_bytes = 0;  // already sent of slices[first]
  while (first < slices.size()) {
    std::array<Slice, 64> rest;
    const std::size_t count = std::min(rest.size(), slices.size() - first);
    std::copy_n(slices.begin() + static_cast<std::ptrdiff_t>(first), count, rest.begin());
    rest[0].data = static_cast<const std::byte*>(rest[0].data) + skip_bytes;
    rest[0].size_bytes -= skip_bytes;
    std::size_t sent = 0;
    if (Status bad = send_some({rest.data(), count}, sent); !bad) return bad;
    const bool is_full = sent == 0 && std::any_of(rest.begin(), rest.begin() + count,
                                                  [](auto& s) { return s.size_bytes != 0; });
    if (is_full) {
      if (Status bad = wait_writable(fd_.get(), deadline_ns); !bad) return bad;
      continue;
    }
    sent += skip_bytes;
    while (first < slices.size() && sent >= slices[first].size_bytes) {
      sent -= slices[first++].size_bytes;
    }
    skip_bytes = sent;
  }
  bool is_empty = tls_ == nullptr;
  while (!is_empty) {
    if (Status bad = tls_->flush(is_empty); !bad) return bad;
    if (is_empty) break;
    if (Status bad = wait_writable(fd_.get(), deadline_ns); !bad) return bad;
  }
  return {};
}

std::size_t Space::put(std::span<const std::byte> bytes) const {
  const std::size_t in_first = std::min(bytes.size(), first.size());
  const std::size_t in_rest = std::min(bytes.size() - in_first, rest.size());
  std::copy_n(bytes.begin(), in_first, first.begin());
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(in_first), in_rest, rest.begin());
  return in_first + in_rest;
}

}  // namespace iw::platform
