// An incoming diff, on its way into the cached copy (spec/format/diff.md).
//
// read() checks the whole diff against the copy and changes nothing [DIFF-1]. apply() can then fail
// only for lack of memory or address space. Between the two calls the session may ask other
// segments for the blocks that the diff points at. The copy must not change between the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diff/format.h"
#include "diff/varint.h"
#include "memory/heap.h"
#include "swizzle/slot_table.h"
#include "swizzle/stub_arena.h"
#include "swizzle/swizzler.h"
#include "types/result.h"
#include "types/segment_types.h"

namespace iw::diff {

using types::Result;

struct CachedCopy {
  memory::Heap& heap;
  types::SegmentTypes& types;
  swizzle::SlotTable& slots;
};

struct Limits {
  // The size in this machine's memory of all blocks that the diff creates [DIFF-2].
  std::uint64_t new_bytes = std::uint64_t{1} << 46;
};

// A block of another segment that a pointer of the diff leads to.
struct ForeignReference {
  std::uint16_t slot = 0;  // of Update::slots()
  std::uint64_t serial = 0;
  friend auto operator<=>(const ForeignReference&, const ForeignReference&) = default;
};

// Told while a large diff is applied: its bytes before `end` are not read again.
using Spent = std::function<void(const std::byte* end)>;

class Update {
 public:
  // Checks the diff. `bytes` must remain valid until apply() is done, or has said that they are
  // spent.
  static Result read(std::span<const std::byte> bytes, const CachedCopy& copy, const Limits& limits,
                     Update& out);

  // The versions that the diff leads from and to. The caller compares them with the copy's version:
  // a diff fits if it is complete or if from() is the copy's version.
  [[nodiscard]] std::uint64_t from() const { return from_; }
  [[nodiscard]] std::uint64_t to() const { return to_; }
  [[nodiscard]] bool is_complete() const { return from_ == 0 && !metadata_only_; }
  [[nodiscard]] bool is_metadata_only() const { return metadata_only_; }
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

  // Ascending, each once.
  [[nodiscard]] const std::vector<ForeignReference>& foreign_references() const { return foreign_; }
  // The slot table after this diff; null: as it is in the copy.
  [[nodiscard]] const swizzle::SlotTable* slots() const { return slots_ ? &*slots_ : nullptr; }

  // REQUIRES: a complete copy. Returns the first block of `heap` that the diff does not have with
  // the same type, count and name; 0 if it has them all. Reserved and owned blocks do not count
  // [LOST-2].
  [[nodiscard]] std::uint64_t missing_block(const memory::Heap& heap) const;

  // Applies the diff to the copy. REQUIRES: no thread reads the segment meanwhile. After a failure
  // or std::bad_alloc the copy is safe but is not of any version. A complete copy must then replace
  // it before anybody reads it.
  // `spent` is called from time to time; nothing of the diff may be read afterwards.
  Result apply(CachedCopy& copy, swizzle::Resolver& resolver,
               swizzle::StubArena& stubs = swizzle::StubArena::program(),
               const Options& options = {}, const Spent& spent = {});

 private:
  friend class UpdateReader;
  friend class UpdateWriter;

  struct NewBlock {
    std::uint64_t serial = 0;
    const types::Type* type = nullptr;
    std::uint64_t count = 0;
    std::string_view name;
    bool is_owned = false;  // by a field that the diff changes, too
  };
  struct SerialSpan {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };

  std::uint64_t from_ = 0;
  std::uint64_t to_ = 0;
  bool metadata_only_ = false;
  std::optional<types::SegmentTypes> types_;  // if the diff has types, or is complete
  std::optional<swizzle::SlotTable> slots_;   // likewise
  std::vector<std::uint64_t> freed_;          // ascending
  bool has_live_ = false;
  std::vector<SerialSpan> live_;      // ascending
  std::vector<NewBlock> new_blocks_;  // in the order of the diff
  std::unordered_map<std::uint64_t, std::size_t> new_by_serial_;
  Reader changes_;
  std::vector<ForeignReference> foreign_;
  Statistics statistics_;
};

}  // namespace iw::diff
