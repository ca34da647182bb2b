#include "fabric/process_name.h"

#include <sys/random.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "fabric/hash.h"

namespace iw::fabric {
namespace {

constexpr std::uint32_t address_magic = 0x31465749;  // "IWF1"

// Machines that this library runs on are little-endian; a test of the address' bytes holds this.
template <typename T>
void store(std::byte*& at, const T& value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

template <typename T>
void load(const std::byte*& at, T& value) {
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
}

// Shared memory needs the same kernel and the same name space of it.
std::uint64_t host_of_this_process() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = "";
  const ssize_t length = readlink("/proc/self/ns/ipc", space, sizeof space - 1);
  boot.append(space, length > 0 ? static_cast<std::size_t>(length) : 0);
  return hash(std::as_bytes(std::span(boot)));
}

}  // namespace

ProcessName name_of_this_process() {
  ProcessName name;
  char computer[256] = "";
  gethostname(computer, sizeof computer - 1);
  std::memcpy(name.computer.data(), computer, name.computer.size() - 1);
  name.host = host_of_this_process();
  name.pid = static_cast<std::uint32_t>(getpid());
  if (getrandom(name.nonce.data(), sizeof name.nonce, 0) != sizeof name.nonce) std::abort();
  return name;
}

Address encode(const AddressParts& parts) {
  Address address;
  std::byte* at = address.bytes.data();
  store(at, address_magic);
  store(at, parts.process.pid);
  store(at, parts.process.computer);
  store(at, parts.process.host);
  store(at, parts.process.nonce);
  store(at, parts.worker);
  store(at, parts.place.ip4);
  store(at, parts.place.port);
  return address;
}

std::optional<AddressParts> decode(const Address& address) {
  AddressParts parts;
  std::uint32_t magic = 0;
  const std::byte* at = address.bytes.data();
  load(at, magic);
  load(at, parts.process.pid);
  load(at, parts.process.computer);
  load(at, parts.process.host);
  load(at, parts.process.nonce);
  load(at, parts.worker);
  load(at, parts.place.ip4);
  load(at, parts.place.port);
  if (magic != address_magic || parts.process.computer.back() != '\0') return std::nullopt;
  return parts;
}

std::string to_string(const Address& address) {
  const auto parts = decode(address);
  if (!parts) return "?";
  char text[64];
  std::snprintf(text, sizeof text, "%s:%08x:%08x", parts->process.computer.data(),
                parts->process.pid, parts->worker);
  return text;
}

const char* to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::pending:
      return "under way";
    case Status::timed_out:
      return "the deadline has passed";
    case Status::peer_dead:
      return "the peer died or closed its worker";
    case Status::unreachable:
      return "no transport leads to the peer";
    case Status::no_memory:
      return "out of memory";
    case Status::bad_argument:
      return "bad argument";
    case Status::in_handler:
      return "a handler may not wait";
    case Status::failed:
      return "the transport failed";
  }
  return "?";
}

}  // namespace iw::fabric
