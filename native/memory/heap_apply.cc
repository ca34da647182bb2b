// What arrives from the server: blocks created, filled and erased, complete copies.
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "memory/heap.h"
#include "memory/heap_state.h"
#include "platform/invariant.h"
#include "types/type.h"

namespace iw::memory {

using types::error_code;

Subsegment* Heap::applied_to(const Block& block, std::size_t offset_bytes, std::size_t size_bytes) {
  if (state_->is_forked() || offset_bytes > block.size_bytes ||
      size_bytes > block.size_bytes - offset_bytes) {
    return nullptr;
  }
  Subsegment*& subsegment = state_->last_applied_to;
  const bool is_known = subsegment != nullptr && block.address >= subsegment->begin() &&
                        block.address < subsegment->end();
  if (!is_known) {
    GateReader inside(state_->anchor->gate);
    subsegment = subsegment_at(*state_->anchor, block.address);
  }
  if (subsegment != nullptr) subsegment->is_touched = true;
  return subsegment;
}

std::byte* Heap::begin_apply(const Block& block, std::size_t offset_bytes, std::size_t size_bytes) {
  Subsegment* const subsegment = applied_to(block, offset_bytes, size_bytes);
  if (subsegment == nullptr) return nullptr;
  return subsegment->area().begin_apply(subsegment->offset_of(block.address) + offset_bytes,
                                        size_bytes);
}

bool Heap::apply(const Block& block, std::size_t offset_bytes, std::span<const std::byte> bytes) {
  Subsegment* const subsegment = applied_to(block, offset_bytes, bytes.size());
  if (subsegment == nullptr) return false;
  const std::size_t offset = subsegment->offset_of(block.address) + offset_bytes;
  return subsegment->area().apply(offset, bytes.data(), bytes.size()).ok();
}

Result Heap::apply_done() {
  if (state_->is_forked()) return forked();
  Result result;
  for (Subsegment* one = next_subsegment(nullptr); one != nullptr; one = next_subsegment(one)) {
    if (!one->is_touched) continue;
    one->is_touched = false;
    track::Area& area = one->area();
    if (auto bad = without_memory(area, [&] { return area.apply_done(); }); !bad) {
      result = failed(bad);
    }
  }
  return result;
}

bool Heap::has_own_subsegment(const Block& block) const {
  GateReader inside(state_->anchor->gate);
  const Subsegment* subsegment = subsegment_at(*state_->anchor, block.address);
  return subsegment != nullptr && subsegment->is_single();
}

// Through the pristine copy, until apply_done.
Result Heap::zero(const Block& block) {
  if (block.is_reserved) return {};
  std::byte* bytes = begin_apply(block, 0, block.size_bytes);
  if (bytes == nullptr) return forked();
  std::memset(bytes, 0, block.size_bytes);
  return {};
}

// For a block that is erased: its own subsegment, if it has one, is dropped with it.
Result Heap::zero_unless_alone(const Block& block) {
  return has_own_subsegment(block) ? Result{} : zero(block);
}

Result Heap::insert(std::uint64_t serial, const types::Type& type, std::uint64_t count,
                    std::string_view name, bool is_owned, Block& out) {
  if (state_->is_forked()) return forked();
  IW_INVARIANT(!state_->section.is_open, "a block arrives in a writer section");
  Block known;
  bool is_doubtful = false;
  bool is_known = false;
  {
    GateReader inside(state_->anchor->gate);
    const RecordId id = state_->index.by_serial(serial);
    is_known = id != no_record;
    if (is_known) {
      known = state_->index.block_of(state_->index.at(id));
      is_doubtful = state_->index.at(id).is(flag_doubtful);
    }
  }
  const bool fits = is_known && types::same_type(*known.type, type) && known.count == count;
  try {
    if (fits && (is_doubtful || known.is_reserved)) {
      if (Result bad = fill_known(known, type, name, is_owned); !bad) return bad;
    } else {
      if (is_doubtful) {
        if (Result bad = zero_unless_alone(known); !bad) return bad;
        release({&known, 1});
      }
      std::lock_guard inside(state_->anchor->gate);
      RecordId id = no_record;
      const unsigned flags = is_owned ? flag_owned : 0U;
      if (Result bad = state_->create({serial, type, count, name, flags}, id); !bad) return bad;
    }
  } catch (const std::bad_alloc&) {
    return Result::no_memory();
  }
  find(serial, out);
  return {};
}

// It keeps its place: reserved, or doubtful with old data.
Result Heap::fill_known(const Block& known, const types::Type& type, std::string_view name,
                        bool is_owned) {
  if (Result bad = zero(known); !bad) return bad;
  std::lock_guard inside(state_->anchor->gate);
  BlockIndex& index = state_->index;
  const RecordId id = index.by_serial(known.serial);
  if (name != index.name_of(index.at(id)) || index.by_name(name) != id) {
    const RecordId other = name.empty() ? no_record : index.by_name(name);
    if (other != no_record || (!name.empty() && !types::is_block_name(name))) {
      return {error_code::BAD_NAME, "block " + std::to_string(known.serial) +
                                        " cannot be named \"" + std::string(name) + "\""};
    }
    index.rename(id, name);
  }
  index.set_type(id, type);
  state_->clear_flags(id, flag_doubtful | flag_reserved | flag_owned);
  if (is_owned) state_->add_flags(id, flag_owned);
  return {};
}

Result Heap::erase(std::uint64_t serial) {
  if (state_->is_forked()) return forked();
  IW_INVARIANT(!state_->section.is_open, "a block is erased in a writer section");
  Block block;
  if (!find(serial, block)) {
    return Result::malformed("block " + std::to_string(serial) + " is freed and does not exist");
  }
  if (Result bad = zero_unless_alone(block); !bad) return bad;
  release({&block, 1});
  return {};
}

Result Heap::begin_full_copy() {
  if (state_->is_forked()) return forked();
  IW_INVARIANT(!state_->section.is_open, "a complete copy arrives in a writer section");
  std::lock_guard inside(state_->anchor->gate);
  state_->index.for_each_block([this](RecordId id) {
    state_->index.unlink_name(id);
    state_->add_flags(id, flag_doubtful);
  });
  return {};
}

bool Heap::keeps_place(std::uint64_t serial, const types::Type& type, std::uint64_t count) const {
  if (state_->is_forked()) return false;
  GateReader inside(state_->anchor->gate);
  const RecordId id = state_->index.by_serial(serial);
  if (id == no_record || !state_->index.at(id).is(flag_doubtful | flag_reserved)) return false;
  const Block known = state_->index.block_of(state_->index.at(id));
  return known.count == count && types::same_type(*known.type, type);
}

Result Heap::end_full_copy() {
  if (state_->is_forked()) return forked();
  std::vector<Block> gone;
  {
    GateReader inside(state_->anchor->gate);
    state_->index.for_each_block([&](RecordId id) {
      const Record& record = state_->index.at(id);
      if (record.is(flag_doubtful)) gone.push_back(state_->index.block_of(record));
    });
  }
  for (const Block& block : gone) {
    if (Result bad = zero_unless_alone(block); !bad) return bad;
  }
  release(gone);
  return {};
}

}  // namespace iw::memory
