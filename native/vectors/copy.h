// A cached copy without a server: for vectors and fuzz targets, which give it diffs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "diff/pieces.h"
#include "diff/unit_writer.h"
#include "diff/update.h"
#include "memory/heap.h"
#include "swizzle/slot_table.h"
#include "swizzle/stub_arena.h"
#include "swizzle/swizzler.h"
#include "types/registry.h"
#include "types/result.h"
#include "types/segment_types.h"
#include "vectors/units.h"

namespace iw::vectors {

using types::Result;
using Bytes = std::vector<std::byte>;

// No other segment is known.
class NoResolver final : public swizzle::Resolver {
 public:
  memory::Heap* find(const types::Url&) override { return nullptr; }
};

struct Copy {
  types::Registry registry;
  types::SegmentTypes types{registry};
  swizzle::SlotTable slots{types::Url{"localhost", types::kDefaultPort, "", "/test"}};
  NoResolver resolver;
  swizzle::StubArena stubs{1024};
  std::unique_ptr<memory::Heap> heap;
  std::uint64_t version = 0;
  diff::Limits limits;

  Copy() {
    memory::HeapOptions options;
    options.url = slots.segment();
    options.reservation_bytes = 0;
    const Result result = memory::Heap::create(options, heap);
    if (!result.ok()) std::abort();
  }

  Result apply(std::span<const std::byte> bytes) {
    diff::CachedCopy copy{*heap, types, slots};
    diff::Update update;
    Result result = diff::Update::read(bytes, copy, limits, update);
    if (!result.ok()) return result;
    // As the session does: read() leaves it to its caller.
    if (update.from() != version && !update.is_complete() && !update.is_metadata_only()) {
      return Result::malformed("the diff is from another version");
    }
    result = update.apply(copy, resolver, stubs);
    if (result.ok() && !update.is_metadata_only()) version = update.to();
    return result;
  }

  Units units_of(const memory::Block& block) {
    swizzle::Swizzler swizzler(*heap, slots, resolver, stubs);
    Units units;
    for (std::uint64_t i = 0; i < block.count; ++i) {
      read_units(*block.type, block.address + i * block.type->size_bytes, swizzler, units);
    }
    return units;
  }

  Result travelling(const memory::Block& block, Bytes& out) {
    swizzle::Swizzler swizzler(*heap, slots, resolver, stubs);
    diff::Pieces pieces;
    diff::UnitWriter units(pieces, swizzler, false);
    const types::Step array = types::array_step(*block.type, block.count);
    if (!units.write(array, 0, array.end_unit(), block.address)) return units.error();
    std::vector<diff::Pieces::Slice> slices;
    pieces.slices(slices);
    for (const auto& slice : slices) out.insert(out.end(), slice.begin(), slice.end());
    return {};
  }
};

}  // namespace iw::vectors
