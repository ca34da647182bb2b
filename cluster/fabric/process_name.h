// The name of a process, and the fields of an Address: little-endian, at fixed places.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "fabric/fabric.h"

namespace iw::fabric {

// The nonce is random: a process that was never told it cannot speak as this one or with it.
struct ProcessName {
  std::array<char, 32> computer{};  // NUL-terminated, cut off if need be
  std::uint64_t host = 0;           // of this boot of the machine: equal where memory can be shared
  std::array<std::uint64_t, 2> nonce{};
  std::uint32_t pid = 0;
  bool operator==(const ProcessName&) const = default;
};

// Where a process answers the door (see door.h).
struct Place {
  std::uint32_t ip4 = 0;  // network byte order
  std::uint16_t port = 0;
};

struct AddressParts {
  ProcessName process;
  Place place;
  std::uint32_t worker = 0;
};

ProcessName name_of_this_process();
Address encode(const AddressParts& parts);
// Nothing if these bytes are no address.
std::optional<AddressParts> decode(const Address& address);

}  // namespace iw::fabric
