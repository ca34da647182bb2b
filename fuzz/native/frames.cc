// The frames of a connection: however the bytes are cut, the same messages come out.
#include <algorithm>
#include <vector>

#include "fuzz/native/target.h"
#include "session/frame_reader.h"

namespace {

constexpr std::uint64_t kMaxBulkBytes = 1 << 20;

struct Found {
  std::vector<iw::session::Message> messages;
  bool is_refused = false;
};

Found read(std::span<const std::byte> bytes, std::size_t cut_bytes) {
  iw::session::FrameReader reader;
  reader.set_max_bulk_bytes(kMaxBulkBytes);
  Found found;
  while (!bytes.empty() && !found.is_refused) {
    const std::size_t taken = reader.space().put(bytes.first(std::min(bytes.size(), cut_bytes)));
    FUZZ_CHECK(taken != 0);
    bytes = bytes.subspan(taken);
    found.is_refused = !reader.received(taken, found.messages);
  }
  return found;
}

}  // namespace

// The first byte says how the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = bytes_of(data + 1, size - 1);
  const Found whole = read(rest, rest.size());
  const Found cut = read(rest, std::size_t{data[0]} + 1);
  FUZZ_CHECK(whole.is_refused == cut.is_refused);
  FUZZ_CHECK(whole.messages.size() == cut.messages.size());
  for (std::size_t i = 0; i < whole.messages.size(); ++i) {
    const iw::session::Message& one = whole.messages[i];
    const iw::session::Message& other = cut.messages[i];
    FUZZ_CHECK(one.head == other.head && one.body == other.body);
    FUZZ_CHECK(one.part == other.part);
    const bool has_bulk = one.part != iw::session::Part::first;
    FUZZ_CHECK(one.bulk.size_bytes() == (has_bulk ? one.head.bulk_bytes : 0));
    FUZZ_CHECK(std::ranges::equal(one.bulk.bytes(), other.bulk.bytes()));
  }
  return 0;
}
