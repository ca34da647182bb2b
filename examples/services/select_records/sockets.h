// The few socket calls that shipping records over TCP takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace select_records {

// Throw services::Failure.
int listen_on_any_port(const std::string& host);
// Sending and receiving on it fails, too, when the other end does nothing for so long.
int connect_to(const std::string& host, std::uint64_t port, std::chrono::milliseconds patience);

std::uint64_t port_of(int fd);
void send_at_once(int fd);
// Whether all bytes went.
bool send_all(int fd, std::span<const std::byte> bytes);
bool receive_all(int fd, std::span<std::byte> bytes);

}  // namespace select_records
