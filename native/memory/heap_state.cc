#include "memory/heap_state.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>

#include "platform/invariant.h"
#include "platform/process.h"
#include "types/type.h"

namespace iw::memory {

namespace {

using types::error_code;

// Subsegments grow with the heap; a block beyond the bound has one of its own, so that its memory
// can go back to the system as soon as it is freed.
constexpr std::size_t largest_shared_subsegment = std::size_t{32} << 20;
constexpr std::size_t largest_shared_extent = std::size_t{256} << 10;

// Of blocks and of the heap, so that no sum of a few of them overflows.
constexpr std::size_t largest_block = ~std::size_t{0} / 4;

std::size_t rounded_up(std::size_t size, std::size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// One byte more than the block's size, because the address one past the end must not be in another
// block.
std::size_t extent_of(std::size_t size_bytes) { return rounded_up(size_bytes + 1, kPlaceBytes); }

std::uint64_t next_heap_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Result forked() {
  return {error_code::FORKED,
          "the segment was opened before fork: its copy belongs to the parent; open it again"};
}

Result failed(const platform::Status& status) {
  if (status.ok()) return {};
  if (status.code == ECHILD) return forked();
  const bool is_scarcity = status.code == ENOMEM || status.code == EMFILE || status.code == ENFILE;
  return Result::of(is_scarcity ? error_code::NO_MEMORY : error_code::INTERNAL, [&status] {
    return std::string(status.what) + ": " + platform::error_text(status.code);
  });
}

HeapState::HeapState(const HeapOptions& chosen, track::Tracker& chosen_tracker)
    : options(chosen),
      tracker(chosen_tracker),
      number(next_heap_number()),
      made_in_fork(platform::fork_count()),
      space(chosen.url.text(), chosen.reservation_bytes),
      access(chosen.read_only ? track::Access::read : track::Access::write) {}

bool HeapState::is_forked() const { return made_in_fork != platform::fork_count(); }

RecordId HeapState::visible(std::uint64_t serial) const {
  const RecordId id = index.by_serial(serial);
  return id != no_record && index.at(id).is_visible() ? id : no_record;
}

Subsegment& HeapState::subsegment_of(RecordId id) const {
  Subsegment* found = subsegment_at(*anchor, index.at(id).address);
  IW_INVARIANT(found != nullptr, "a block lies in no subsegment");
  return *found;
}

bool HeapState::block_at(const Subsegment& subsegment, const std::byte* address,
                         Block& out) const noexcept {
  Trail none;
  none.predicts = false;
  const std::byte* const start = subsegment.start_at_or_before(address);
  return start != nullptr && block_from(start, address, none, out);
}

bool HeapState::block_from(const std::byte* start, const std::byte* address, Trail& trail,
                           Block& out) const noexcept {
  const RecordId id = index.by_address(start, trail);
  if (id == no_record || !index.at(id).is_visible()) return false;
  out = index.block_of(index.at(id));
  return out.covers(address);
}

std::size_t HeapState::used_bytes(const Subsegment& subsegment) const {
  const std::byte* last = subsegment.start_at_or_before(subsegment.end() - 1);
  const RecordId id = index.by_address(last);
  IW_INVARIANT(id != no_record, "a beginning without an extent");
  const Record& record = index.at(id);
  return subsegment.offset_of(last) + (record.is(flag_free) ? 0 : index.size_bytes(record));
}

Result HeapState::check(const NewBlock& wanted, std::size_t& extent_bytes) const {
  if (wanted.serial == 0 || wanted.serial > kMaxSerial) {
    return {error_code::BAD_ARGUMENT,
            "block " + std::to_string(wanted.serial) + ": serials are 1 to 2^48 - 1"};
  }
  if (wanted.count == 0) {
    return {error_code::BAD_ARGUMENT,
            "block " + std::to_string(wanted.serial) + ": a block has at least one element, not 0"};
  }
  if (index.by_serial(wanted.serial) != no_record) {
    return Result::malformed("block " + std::to_string(wanted.serial) + " exists already");
  }
  if (!wanted.name.empty() && !types::is_block_name(wanted.name)) {
    return {error_code::BAD_NAME,
            "a block's name is 1 to 255 bytes of UTF-8, begins with no digit and has no '#'"};
  }
  if (!wanted.name.empty() && index.by_name(wanted.name) != no_record) {
    return {error_code::BAD_NAME, "the segment has a block named \"" + std::string(wanted.name) +
                                      "\" already; free it first or take another name"};
  }
  const std::uint64_t limit = std::min<std::uint64_t>(options.limit_bytes, largest_block);
  if (wanted.count > limit / wanted.type.size_bytes ||
      wanted.count * wanted.type.size_bytes > limit - native_bytes) {
    return {error_code::NO_MEMORY, "a block of " + std::to_string(wanted.count) + " " +
                                       wanted.type.spelled() +
                                       " does not fit into what this process keeps of a segment, " +
                                       std::to_string(limit) + " bytes"};
  }
  IW_INVARIANT(wanted.type.align_bytes <= kGranuleBytes, "no type is aligned so coarsely");
  extent_bytes = extent_of(static_cast<std::size_t>(wanted.count) * wanted.type.size_bytes);
  return {};
}

Result HeapState::create(const NewBlock& wanted, RecordId& out) {
  std::size_t extent_bytes = 0;
  if (Result bad = check(wanted, extent_bytes); !bad) return bad;
  Result placed = types::or_no_memory([&] { return place(wanted, extent_bytes, out); });
  if (!placed) index.unprepare(wanted.type);
  return placed;
}

Result HeapState::place(const NewBlock& wanted, std::size_t extent_bytes, RecordId& out) {
  index.prepare(wanted.type);
  const std::uint32_t name = index.keep_name(wanted.name);
  Result placed =
      types::or_no_memory([&] { return extent_for(extent_bytes, wanted.type.align_bytes, out); });
  if (!placed) {
    index.forget_name(name);
    return placed;
  }
  index.make_block(out, wanted.serial, wanted.type, wanted.count, wanted.flags, name);
  native_bytes += index.size_bytes(index.at(out));
  return {};
}

// A free extent of just that size, in no bin.
Result HeapState::extent_for(std::size_t extent_bytes, std::size_t align_bytes, RecordId& out) {
  const std::size_t slack = align_bytes > kPlaceBytes ? align_bytes - kPlaceBytes : 0;
  out = no_record;
  if (extent_bytes <= largest_shared_extent) out = free_extents.find(extent_bytes + slack);
  if (out == no_record) {
    if (Result bad = add_subsegment(extent_bytes, out); !bad) return bad;
    if (subsegment_of(out).is_single()) return {};
  } else {
    free_extents.remove(out);
  }
  const auto at = reinterpret_cast<std::uintptr_t>(index.at(out).address);
  const std::size_t front = slack == 0 ? 0 : (align_bytes - at % align_bytes) % align_bytes;
  if (front != 0) {
    const RecordId rest = cut_front(out, front);
    free_extents.add(out);
    out = rest;
  }
  if (index.at(out).count > extent_bytes) free_extents.add(cut_front(out, extent_bytes));
  return {};
}

// Shortens a free extent to its front and gives what is behind it.
RecordId HeapState::cut_front(RecordId id, std::size_t front_bytes) {
  Record& front = index.at(id);
  std::byte* behind = front.address + front_bytes;
  const auto rest_bytes = static_cast<std::size_t>(front.count) - front_bytes;
  front.count = front_bytes;
  subsegment_of(id).set_start(behind);
  return index.add_free(behind, rest_bytes);
}

Result HeapState::add_subsegment(std::size_t extent_bytes, RecordId& out) {
  const bool single = extent_bytes > largest_shared_extent;
  std::size_t size = rounded_up(extent_bytes, kGranuleBytes);
  if (!single) {
    size = std::max(size, std::min(shared_bytes, largest_shared_subsegment));
    size = rounded_up(size, kGranuleBytes);
  }
  subsegments.reserve(subsegments.size() + 1);
  std::unique_ptr<Subsegment> made;
  if (auto bad = Subsegment::create(tracker, options.read_only, size, single, space, made); !bad) {
    return failed(bad);
  }
  if (section.is_armed) {
    if (auto bad = made->area().arm(); !bad) return failed(bad);
  }
  if (auto bad = made->area().set_access(access); !bad) return failed(bad);
  made->map_entry = take_entry();
  if (!enter_in_map(*made, *anchor)) {
    give_back(made->map_entry);
    return Result::no_memory();
  }
  made->set_start(made->begin());
  out = index.add_free(made->begin(), size);
  if (!single) {
    ++shared_subsegments;
    shared_bytes += size;
  }
  subsegments.insert(subsegment_from(made->begin()), std::move(made));
  return {};
}

std::vector<std::unique_ptr<Subsegment>>::const_iterator HeapState::subsegment_from(
    const std::byte* address) const {
  return std::lower_bound(
      subsegments.begin(), subsegments.end(), address,
      [](const auto& one, const std::byte* at) { return std::less<>()(one->begin(), at); });
}

void HeapState::release(RecordId id) {
  const std::size_t size = index.size_bytes(index.at(id));
  Subsegment& subsegment = subsegment_of(id);
  native_bytes -= size;
  if (subsegment.is_single()) {
    index.make_free(id, subsegment.size_bytes());
    index.remove(id);
    return drop_subsegment(subsegment);
  }
  index.make_free(id, extent_of(size));
  id = joined_with_neighbours(id);
  if (index.at(id).count == subsegment.size_bytes() && shared_subsegments > 1) {
    index.remove(id);
    return drop_subsegment(subsegment);
  }
  free_extents.add(id);
}

// The extent is in no bin; neither is the result.
RecordId HeapState::joined_with_neighbours(RecordId id) {
  Subsegment& subsegment = subsegment_of(id);
  const auto absorb = [&](RecordId front, RecordId behind) {
    subsegment.clear_start(index.at(behind).address);
    index.at(front).count += index.at(behind).count;
    index.remove(behind);
    return front;
  };
  if (std::byte* next = subsegment.start_after(index.at(id).address); next != nullptr) {
    const RecordId behind = index.by_address(next);
    if (index.at(behind).is(flag_free)) {
      free_extents.remove(behind);
      absorb(id, behind);
    }
  }
  if (index.at(id).address == subsegment.begin()) return id;
  const RecordId front = index.by_address(subsegment.start_at_or_before(index.at(id).address - 1));
  if (!index.at(front).is(flag_free)) return id;
  free_extents.remove(front);
  return absorb(front, id);
}

void HeapState::drop_subsegment(Subsegment& subsegment) {
  MapEntry* entry = subsegment.map_entry;
  if (!subsegment.is_single()) {
    --shared_subsegments;
    shared_bytes -= subsegment.size_bytes();
  }
  std::erase_if(section.collected,
                [&](const SubsegmentPages& one) { return one.subsegment == &subsegment; });
  remove_from_map(subsegment);
  if (last_applied_to == &subsegment) last_applied_to = nullptr;
  const auto at =
      subsegments.begin() + (subsegment_from(subsegment.begin()) - subsegments.cbegin());
  // There is room: pin() has seen to it.
  if (subsegment.pins > 0) parked.push_back(std::move(*at));
  subsegments.erase(at);
  give_back(entry);
}

}  // namespace iw::memory
