// The second pass: what read() has checked goes into the copy.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "diff/plain_numbers.h"
#include "diff/run_head.h"
#include "diff/unit_placer.h"
#include "diff/update.h"
#include "platform/byte_range.h"
#include "platform/invariant.h"
#include "platform/memory.h"
#include "types/navigation.h"

namespace iw::diff {

using platform::ByteRange;
using types::error_code;

namespace {

// Bytes of so long a run are handed over as they lie, because memory that is new takes them faster
// so.
constexpr std::size_t long_run_bytes = 1 << 20;
// A longer run is taken in parts, so that its bytes are spent part by part.
constexpr std::size_t part_of_run_bytes = 4 << 20;

// The whole pages that a part of a block touches, as far as they are the block's.
ByteRange pages_around(const ByteRange& part, std::size_t offset_in_page, std::size_t block_bytes) {
  const std::size_t page = platform::page_size();
  const std::size_t begin = (offset_in_page + part.begin_bytes) / page * page;
  const std::size_t end = platform::round_up_to_page(offset_in_page + part.end_bytes);
  return {begin - std::min(begin, offset_in_page), std::min(block_bytes, end - offset_in_page)};
}

}  // namespace

class UpdateWriter {
 public:
  UpdateWriter(const Update& update, CachedCopy& copy, swizzle::Resolver& resolver,
               swizzle::StubArena& stubs, const Options& options, const Spent& spent)
      : update_(update),
        spent_(spent),
        heap_(copy.heap),
        swizzler_(copy.heap, copy.slots, resolver, stubs),
        units_(swizzler_, options) {
    trail_.predicts = options.predicts_blocks;
    swizzler_.predict_blocks(options.predicts_blocks);
  }

  Result write();
  [[nodiscard]] std::uint64_t searches() const { return trail_.searched + swizzler_.searched(); }

 private:
  Result free_blocks();
  Result make_way(const Update::NewBlock& block, std::string_view& name);
  Result keep_blocks();
  Result create_blocks();
  Result change_blocks();
  Result change_block(const memory::Block& block, Reader changes);
  template <typename ByteOf, typename Place>
  Result place_runs(const memory::Block& block, Reader changes, ByteOf byte_of, Place place);
  template <typename ByteOf, typename Place>
  bool place_in_parts(Reader& changes, std::uint64_t first, std::uint64_t end, ByteOf byte_of,
                      Place place, std::byte* to);
  static Result no_memory_of(const memory::Block& block);

  void say_spent(const std::byte* end);

  const Update& update_;
  const Spent& spent_;
  memory::Heap& heap_;
  swizzle::Swizzler swizzler_;
  UnitPlacer units_;
  memory::Trail trail_;  // of the blocks that change
};

Result UpdateWriter::free_blocks() {
  for (const std::uint64_t serial : update_.freed_) {
    Result result = heap_.erase(serial);
    if (!result.ok()) return result;
  }
  if (!update_.has_live_ || update_.is_complete()) return {};
  auto live = update_.live_.begin();
  memory::Block block;
  for (std::uint64_t at = 0; heap_.next_by_serial(at, block); at = block.serial) {
    while (live != update_.live_.end() && live->end <= block.serial) ++live;
    if (live != update_.live_.end() && live->first <= block.serial) continue;
    Result result = heap_.erase(block.serial);
    if (!result.ok()) return result;
  }
  return {};
}

// Resolves a conflict about a block's name. A diff without data gives the new block no name,
// because in this older copy another block may have it. Otherwise a reserved block that has the
// name is erased, because the name has passed to another block since the reserved block was
// announced.
Result UpdateWriter::make_way(const Update::NewBlock& block, std::string_view& name) {
  memory::Block holder;
  name = block.name;
  if (name.empty() || !heap_.find(name, holder) || holder.serial == block.serial) return {};
  if (update_.metadata_only_) {
    name = {};
    return {};
  }
  return holder.is_reserved ? heap_.erase(holder.serial) : Result{};
}

// Erases the blocks that a complete copy does not have. Blocks that stay keep their place even if
// memory runs out, because pointers of other segments lead there. The others are erased before
// pointers are swizzled, so that no pointer leads to them, and before more memory is needed.
Result UpdateWriter::keep_blocks() {
  Result result = heap_.begin_full_copy();
  if (!result.ok()) return result;
  memory::Block here;
  for (const auto& [serial, type, count, name, is_owned] : update_.new_blocks_) {
    if (!heap_.keeps_place(serial, *type, count)) continue;
    result = heap_.insert(serial, *type, count, name, is_owned, here);
    if (!result.ok()) return result;
  }
  return heap_.end_full_copy();
}

Result UpdateWriter::create_blocks() {
  for (const Update::NewBlock& block : update_.new_blocks_) {
    memory::Block made;
    if (update_.is_complete() && heap_.find(block.serial, made)) continue;  // it stays
    std::string_view name;
    Result result = make_way(block, name);
    if (!result.ok()) return result;
    result = update_.metadata_only_
                 ? heap_.reserve(block.serial, *block.type, block.count, name, made)
                 : heap_.insert(block.serial, *block.type, block.count, name, block.is_owned, made);
    if (!result.ok()) return result;
  }
  return {};
}

Result UpdateWriter::no_memory_of(const memory::Block& block) {
  return {error_code::INTERNAL, "block " + std::to_string(block.serial) + " has no memory"};
}

void UpdateWriter::say_spent(const std::byte* end) {
  if (spent_) spent_(end);
}

// Places the units [first, end) of one run.
template <typename ByteOf, typename Place>
bool UpdateWriter::place_in_parts(Reader& changes, std::uint64_t first, std::uint64_t end,
                                  ByteOf byte_of, Place place, std::byte* to) {
  const std::uint64_t unit_bytes = (byte_of(end) - byte_of(first)) / (end - first) + 1;
  const std::uint64_t most = std::max<std::uint64_t>(1, part_of_run_bytes / unit_bytes);
  for (std::uint64_t at = first; at < end;) {
    const std::uint64_t count = std::min(most, end - at);
    const ByteRange part{byte_of(at), byte_of(at + count)};
    if (!place(changes, at, count, part, to + part.begin_bytes)) return false;
    say_spent(changes.at());
    at += count;
  }
  return true;
}

// byte_of(unit) is where a unit begins in the block. place(changes, first, count, part, to) takes
// `count` units from `first` on, which are `part` of the block's bytes, and writes them to `to`.
// Most runs are short. A run on the same pages as the run before need not be announced again.
template <typename ByteOf, typename Place>
Result UpdateWriter::place_runs(const memory::Block& block, Reader changes, ByteOf byte_of,
                                Place place) {
  const std::size_t offset_in_page =
      reinterpret_cast<std::uintptr_t>(block.address) % platform::page_size();
  std::size_t announced_end = 0;
  std::byte* to = nullptr;  // where the block's first byte is, or would be
  std::uint64_t end = 0;
  while (changes.remaining() != 0) {
    RunHead run;
    IW_INVARIANT(run.read(changes), "the first pass has read this");
    const std::uint64_t first = end + run.gap;
    end = first + run.count;
    const ByteRange part{byte_of(first), byte_of(end)};
    if (part.end_bytes > announced_end) {
      const ByteRange pages = pages_around(part, offset_in_page, block.size_bytes);
      to = heap_.begin_apply(block, pages.begin_bytes, pages.size_bytes());
      if (to == nullptr) return no_memory_of(block);
      to -= pages.begin_bytes;
      announced_end = pages.end_bytes;
    }
    const bool is_placed = part.size_bytes() <= part_of_run_bytes
                               ? place(changes, first, run.count, part, to + part.begin_bytes)
                               : place_in_parts(changes, first, end, byte_of, place, to);
    if (!is_placed) return units_.error();
  }
  return {};
}

Result UpdateWriter::change_block(const memory::Block& block, Reader changes) {
  using Unit = std::uint64_t;
  if (const std::size_t bytes = plain_number_bytes(*block.type); bytes != 0) {
    return with_number_bytes(bytes, [&](auto number_bytes) {
      return place_runs(
          block, changes, [=](Unit unit) { return static_cast<std::size_t>(unit) * number_bytes; },
          [&, number_bytes](Reader& from, Unit, Unit count, const ByteRange& part, std::byte* to) {
            const std::byte* numbers = nullptr;
            IW_INVARIANT(from.take(count * number_bytes, numbers), "the first pass has read these");
            if (platform::is_little_endian && part.size_bytes() >= long_run_bytes) {
              const bool is_there =
                  heap_.apply(block, part.begin_bytes, {numbers, part.size_bytes()});
              IW_INVARIANT(is_there, "the run was announced");
              return true;
            }
            copy_run_of_numbers<number_bytes>(to, numbers, count);
            return true;
          });
    });
  }
  const types::Step array = types::array_step(*block.type, block.count);
  return place_runs(
      block, changes,
      [&](Unit unit) { return types::byte_of_unit(*block.type, block.count, unit); },
      [&](Reader& from, Unit first, Unit count, const ByteRange& part, std::byte* to) {
        return units_.place(from, array, first, first + count, to, part.begin_bytes);
      });
}

Result UpdateWriter::change_blocks() {
  Reader changes = update_.changes_;
  std::uint64_t serial = 0;
  while (changes.remaining() != 0) {
    std::uint64_t zigzag = 0;
    std::uint64_t bytes = 0;
    Reader body;
    IW_INVARIANT(changes.varint(zigzag) && changes.varint(bytes) && changes.take(bytes, body),
                 "the first pass has read these");
    serial = apply_zigzag(serial, zigzag);
    memory::Block block;
    if (!heap_.find(serial, trail_, block)) {
      return {error_code::INTERNAL, "block " + std::to_string(serial) + " has vanished"};
    }
    Result result = change_block(block, body);
    if (!result.ok()) return result;
    say_spent(changes.at());
  }
  return {};
}

Result UpdateWriter::write() {
  const Result result = types::or_no_memory([this] {
    Result step;
    if (update_.is_complete()) step = keep_blocks();
    if (step.ok()) step = free_blocks();
    if (step.ok()) step = create_blocks();
    if (step.ok()) step = change_blocks();
    return step;
  });
  // Also after a failure, so that view and pristine copy agree.
  Result done = heap_.apply_done();
  return result.ok() ? done : result;
}

Result Update::apply(CachedCopy& copy, swizzle::Resolver& resolver, swizzle::StubArena& stubs,
                     const Options& options, const Spent& spent) {
  // Blocks use the new types and pointers the new slots, so these come first.
  if (types_) copy.types = std::move(*types_);
  if (slots_) copy.slots = std::move(*slots_);
  types_.reset();
  slots_.reset();
  UpdateWriter writer(*this, copy, resolver, stubs, options, spent);
  Result result = writer.write();
  statistics_.searches = writer.searches();
  // Every block of a complete copy has a type of its own table.
  if (result.ok() && is_complete()) copy.types.drop_replaced();
  return result;
}

}  // namespace iw::diff
