// Structs that are read of others alone: requests for access to regions, addresses, keys of memory,
// claims of names. Only bytes of the region that is named change, and a struct that decodes is
// written back to the same bytes.
#include <algorithm>

#include "am/am.gen.h"
#include "fabric/access_messages.h"
#include "fabric/memory_key.h"
#include "fabric/packed.h"
#include "fabric/regions.h"
#include "fuzz/cluster/played_worker.h"
#include "fuzz/native/target.h"

using namespace iw;
using namespace iw::fabric;

namespace {

constexpr std::size_t region_bytes = 64;
constexpr std::byte untouched{0xa5};

void decode_key(Bytes bytes) {
  static_cast<void>(is_packed_key(bytes));
  Bytes own_key;
  const auto key = decode(bytes, &own_key);
  if (key) FUZZ_CHECK(std::ranges::equal(encode(*key, own_key), bytes));
}

void decode_claim(Bytes bytes) {
  am::Claim claim;
  if (!am::decode(bytes, &claim)) return;
  FUZZ_CHECK(claim.text.size() <= am::string_bytes_max);
  FUZZ_CHECK(std::ranges::equal(encode(claim), bytes));
}

void decode_address(Bytes bytes) {
  Address address;
  if (!read_whole(bytes, &address)) return;
  const auto parts = decode(address);
  static_cast<void>(to_string(address));
  if (!parts) return;
  const Address again = encode(*parts);
  constexpr std::size_t named = offsetof(AddressFields, unused);
  FUZZ_CHECK(std::equal(again.bytes.begin(), again.bytes.begin() + named, address.bytes.begin()));
}

Status access(Regions& regions, const Request& request, Bytes data) {
  std::uint64_t before = 0;
  std::array<std::byte, 256> to;
  switch (request.access) {
    case Access::put:
    case Access::put_and_tell:
      return regions.put(request.region, request.offset, data);
    case Access::get:
      return regions.get(request.region, request.offset,
                         std::span(to).first(request.operand % to.size()));
    case Access::fetch_add:
      return regions.fetch_add(request.region, request.offset, request.operand, &before);
    case Access::compare_swap:
      return regions.compare_swap(request.region, request.offset, request.operand, request.desired,
                                  &before);
    default:
      return Status::ok;
  }
}

void reach(fuzzing::Input& input) {
  alignas(8) std::array<std::byte, 3 * region_bytes> memory;
  memory.fill(untouched);
  Regions regions;
  const auto name = regions.add(std::span(memory).subspan(region_bytes, region_bytes));
  FUZZ_CHECK(name.has_value());
  while (!input.is_over()) {
    Request request;
    if (!read_whole(input.bytes(sizeof request), &request)) continue;
    const auto data = input.bytes(input.byte());
    // The secret cannot be guessed: a fuzzer that names the region is told it.
    const bool is_told = request.region.number == name->number && request.region.secret == 0;
    if (is_told) request.region.secret = name->secret;
    const Status status = access(regions, request, data);
    FUZZ_CHECK(status == Status::ok || status == Status::bad_argument);
  }
  const auto is_untouched = [](std::byte each) { return each == untouched; };
  FUZZ_CHECK(std::all_of(memory.begin(), memory.begin() + region_bytes, is_untouched));
  FUZZ_CHECK(std::all_of(memory.end() - region_bytes, memory.end(), is_untouched));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::Input input(data, size);
  const unsigned which = input.byte() % 4;
  const auto rest = bytes_of(data, size).last(size == 0 ? 0 : size - 1);
  if (which == 0) decode_key(rest);
  if (which == 1) decode_address(rest);
  if (which == 2) reach(input);
  if (which == 3) decode_claim(rest);
  return 0;
}
