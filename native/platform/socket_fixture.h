// Helpers for tests of all kinds of sockets.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>

#include "platform/clock.h"
#include "platform/socket.h"

namespace iw::platform {

inline constexpr std::int64_t second_ns = 1'000'000'000;

// Waits for data and receives some of it.
inline Status receive_soon(Socket& socket, std::span<std::byte> into, std::size_t& got) {
  Interest interest{.fd = socket.fd()};
  if (Status bad = wait_for({&interest, 1}, now_ns() + 10 * second_ns); !bad) return bad;
  return socket.receive({into, {}}, got);
}

inline void expect_exchange(Socket& client, Socket& server) {
  const Slice slices[] = {{"ab", 2}, {nullptr, 0}, {"cde", 3}};
  ASSERT_TRUE(client.send(slices, now_ns() + second_ns).ok());
  std::string text;
  while (text.size() < 5) {
    std::byte buffer[16];
    std::size_t got = 0;
    ASSERT_TRUE(receive_soon(server, buffer, got).ok());
    ASSERT_GT(got, 0u);
    text.append(reinterpret_cast<const char*>(buffer), got);
  }
  EXPECT_EQ(text, "abcde");
}

}  // namespace iw::platform
