// TYPES sections: what a segment takes is described again by the same descriptors, and has a layout
// and a plan that agree with it. Hashes are put right, since no mutation would find them.
#include <string>
#include <vector>

#include "fuzz/native/target.h"
#include "protocol/descriptor.gen.h"
#include "types/descriptor.h"
#include "types/registry.h"
#include "types/segment_types.h"

namespace {

using iw::protocol::type_descriptor;
using iw::types::Result;
using iw::types::SegmentTypes;
using iw::types::Type;

bool read(const std::uint8_t* data, std::size_t size, std::vector<type_descriptor>& out) {
  iw::xdr::Reader reader(data, size);
  while (reader.remaining() != 0) {
    type_descriptor one;
    if (!decode(reader, one)) return false;
    out.push_back(std::move(one));
  }
  return true;
}

void check(const SegmentTypes& types, const type_descriptor& descriptor) {
  const Type* const type = types.find(descriptor.serial);
  FUZZ_CHECK(type != nullptr);
  FUZZ_CHECK(type->units >= 1 && type->units <= iw::types::kMaxUnits);
  FUZZ_CHECK(type->slot_bytes >= 1 && type->slot_bytes <= iw::types::kMaxUnits);
  FUZZ_CHECK(type->align_bytes != 0 && type->size_bytes % type->align_bytes == 0);
  FUZZ_CHECK(type->plan.steps.back().end_unit() == type->units);
  FUZZ_CHECK(type->plan.steps.back().end_bytes() <= type->size_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<type_descriptor> found;
  if (!read(data, size, found)) return 0;
  std::vector<std::uint8_t> written;
  iw::xdr::Writer writer(written);
  for (const type_descriptor& one : found) encode(writer, one);
  FUZZ_CHECK(written == std::vector<std::uint8_t>(data, data + size));

  iw::types::Registry registry;
  SegmentTypes types(registry);
  const Result result = types.add_received(found);
  if (!result.ok()) {
    FUZZ_CHECK(types.next_serial() == iw::protocol::FIRST_TYPE_SERIAL);
    return 0;
  }
  for (const type_descriptor& one : found) check(types, one);
  return 0;
}
