// The second pass: what read() has checked goes into the copy.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "diff/plain_numbers.h"
#include "diff/unit_placer.h"
#include "diff/update.h"
#include "platform/byte_order.h"
#include "platform/byte_range.h"
#include "platform/invariant.h"
#include "platform/memory.h"
#include "types/navigation.h"

namespace iw::diff {

using platform::ByteRange;
using types::error_code;

namespace {

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
               swizzle::StubArena& stubs, const Options& options)
      : update_(update),
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
  Result change_numbers(const memory::Block& block, Reader changes, std::size_t number_bytes);
  static Result no_memory_of(const memory::Block& block);

  const Update& update_;
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

// Most runs are short. A run on the same pages as the run before need not be announced again.
Result UpdateWriter::change_numbers(const memory::Block& block, Reader changes,
                                    std::size_t number_bytes) {
  const std::size_t offset_in_page =
      reinterpret_cast<std::uintptr_t>(block.address) % platform::page_size();
  ByteRange announced;
  std::byte* to = nullptr;  // where the block's first byte is, or would be
  std::size_t end_byte = 0;
  while (changes.remaining() != 0) {
    std::uint64_t gap = 0;
    std::uint64_t count = 0;
    const std::byte* from = nullptr;
    IW_INVARIANT(
        changes.varint(gap) && changes.varint(count) && changes.take(count * number_bytes, from),
        "the first pass has read these");
    const std::size_t begin_byte = end_byte + static_cast<std::size_t>(gap) * number_bytes;
    end_byte = begin_byte + static_cast<std::size_t>(count) * number_bytes;
    if (end_byte > announced.end_bytes) {
      announced = pages_around({begin_byte, end_byte}, offset_in_page, block.size_bytes);
      to = heap_.begin_apply(block, announced.begin_bytes, announced.size_bytes());
      if (to == nullptr) return no_memory_of(block);
      to -= announced.begin_bytes;
    }
    if (platform::is_little_endian && number_bytes == 4 && count == 1) {
      std::memcpy(to + begin_byte, from, 4);
    } else if (platform::is_little_endian && number_bytes == 8 && count == 1) {
      std::memcpy(to + begin_byte, from, 8);
    } else {
      platform::copy_little_endian(to + begin_byte, from, number_bytes,
                                   static_cast<std::size_t>(count));
    }
  }
  return {};
}

Result UpdateWriter::change_block(const memory::Block& block, Reader changes) {
  const std::size_t number_bytes = plain_number_bytes(*block.type);
  if (number_bytes != 0) return change_numbers(block, changes, number_bytes);
  const types::Step array = types::array_step(*block.type, block.count);
  std::uint64_t end = 0;
  while (changes.remaining() != 0) {
    std::uint64_t gap = 0;
    std::uint64_t count = 0;
    IW_INVARIANT(changes.varint(gap) && changes.varint(count), "the first pass has read these");
    const std::uint64_t first = end + gap;
    end = first + count;
    const std::size_t begin_byte = types::byte_of_unit(*block.type, block.count, first);
    const std::size_t end_byte = types::byte_of_unit(*block.type, block.count, end);
    std::byte* const to = heap_.begin_apply(block, begin_byte, end_byte - begin_byte);
    if (to == nullptr) return no_memory_of(block);
    if (!units_.place(changes, array, first, end, to, begin_byte)) return units_.error();
  }
  return {};
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
                     const Options& options) {
  // Blocks use the new types and pointers the new slots, so these come first.
  if (types_) copy.types = std::move(*types_);
  if (slots_) copy.slots = std::move(*slots_);
  types_.reset();
  slots_.reset();
  UpdateWriter writer(*this, copy, resolver, stubs, options);
  Result result = writer.write();
  statistics_.searches = writer.searches();
  // Every block of a complete copy has a type of its own table.
  if (result.ok() && is_complete()) copy.types.drop_replaced();
  return result;
}

}  // namespace iw::diff
