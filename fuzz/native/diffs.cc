// Diffs against a cached copy: refused without a trace, or applied so that the copy can be written
// again. Each input meets an empty copy and one with all types of the vectors.
#include <memory>
#include <string>

#include "fuzz/native/target.h"
#include "vectors/copy.h"
#include "vectors/decode.h"
#include "vectors/json.h"
#include "vectors/vector_files.h"

namespace {

using namespace iw::vectors;

// Blocks of the vectors' contexts, and of a type with everything.
constexpr const char* kRich = R"({
  "types": ["node", "strings", "figure-3", "compound"],
  "slots": ["/other"],
  "blocks": [
    {"serial": 1, "type": 79, "count": 1, "name": "m"},
    {"serial": 5, "type": 5, "count": 4, "name": "a"},
    {"serial": 6, "type": 11, "count": 1, "name": ""},
    {"serial": 7, "type": 70, "count": 1, "name": ""},
    {"serial": 8, "type": 65, "count": 3, "name": "old"},
    {"serial": 9, "type": 68, "count": 2, "name": ""},
    {"serial": 200, "type": 2, "count": 400, "name": ""}
  ]})";

Bytes diff_of(const char* context) {
  Vector vector;
  vector.json = Json::object({{"context", parse_json(context, "context")}});
  return context_diff(vector);
}

// Everything about the copy that the program sees.
Bytes seen(Copy& copy) {
  Bytes out;
  iw::memory::Block block;
  for (std::uint64_t at = 0; copy.heap->next_by_serial(at, block); at = block.serial) {
    out.push_back(static_cast<std::byte>(block.serial));
    out.insert(out.end(), block.address, block.end());
  }
  return out;
}

void meet(std::span<const std::byte> bytes, const Bytes& context) {
  Copy copy;
  copy.limits.new_bytes = 1 << 20;
  FUZZ_CHECK(copy.apply(context).ok());
  iw::diff::Update update;
  if (!iw::diff::Update::read(bytes, {*copy.heap, copy.types, copy.slots}, copy.limits, update)
           .ok()) {
    return;
  }
  copy.version = update.from();
  const Bytes before = seen(copy);
  const Result result = copy.apply(bytes);
  if (!result.ok()) {
    FUZZ_CHECK(result.code == iw::types::error_code::NO_MEMORY || seen(copy) == before);
    return;
  }
  iw::memory::Block block;
  for (std::uint64_t at = 0; copy.heap->next_by_serial(at, block); at = block.serial) {
    Bytes written;
    FUZZ_CHECK(block.is_reserved || copy.travelling(block, written).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Bytes empty = diff_of("{}");
  static const Bytes rich = diff_of(kRich);
  meet(bytes_of(data, size), empty);
  meet(bytes_of(data, size), rich);
  return 0;
}
