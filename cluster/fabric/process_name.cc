#include "fabric/process_name.h"

#include <sys/random.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "fabric/hash.h"

namespace iw::fabric {
namespace {

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
  AddressFields fields;
  fields.mark = address_mark;
  fields.pid = parts.process.pid;
  fields.computer = parts.process.computer;
  fields.host = parts.process.host;
  fields.nonce = parts.process.nonce;
  fields.worker = parts.worker;
  fields.ip4 = std::bit_cast<decltype(fields.ip4)>(parts.place.ip4);
  fields.port = std::bit_cast<decltype(fields.port)>(parts.place.port);
  return std::bit_cast<Address>(fields);
}

std::optional<AddressParts> decode(const Address& address) {
  const auto fields = std::bit_cast<AddressFields>(address);
  if (fields.mark != address_mark || fields.computer.back() != '\0')
    return std::nullopt;  // [FAB-8]
  AddressParts parts;
  parts.process.pid = fields.pid;
  parts.process.computer = fields.computer;
  parts.process.host = fields.host;
  parts.process.nonce = fields.nonce;
  parts.worker = fields.worker;
  parts.place.ip4 = std::bit_cast<std::uint32_t>(fields.ip4);
  parts.place.port = std::bit_cast<std::uint16_t>(fields.port);
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
    case Status::refused:
      return "the two processes did not prove the same job key (IW_CLUSTER_KEY) to each other";
  }
  return "?";
}

}  // namespace iw::fabric
