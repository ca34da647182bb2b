// Making a heap, looking things up in it, reserving space. See heap_write.cc for writer sections
// and heap_apply.cc for what arrives.
#include "memory/heap.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "memory/heap_state.h"
#include "platform/invariant.h"
#include "types/type.h"

namespace iw::memory {

using types::error_code;

Result Heap::create(const HeapOptions& options, std::unique_ptr<Heap>& out) {
  if (options.tracker == nullptr) {
    if (const auto missing = track::choose_recommended(); !missing) return failed(missing);
  }
  track::Tracker& tracker = options.tracker != nullptr ? *options.tracker : track::recommended();
  return types::or_no_memory([&] {
    std::unique_ptr<Heap> made(new Heap(std::make_unique<HeapState>(options, tracker)));
    HeapState& state = *made->state_;
    state.anchor = take_anchor();
    {
      std::lock_guard inside(state.anchor->gate);
      state.anchor->made_in_fork.store(state.made_in_fork, std::memory_order_relaxed);
      state.anchor->heap.store(&state, std::memory_order_relaxed);
    }
    out = std::move(made);
    return Result{};
  });
}

Heap::Heap(std::unique_ptr<HeapState> state) : state_(std::move(state)) {}

// In a forked child the gate may be locked for ever, and nobody enters it. The memory is freed
// without it.
Heap::~Heap() {
  if (state_->is_forked()) return;
  HeapAnchor* anchor = state_->anchor;
  if (anchor == nullptr) return;  // memory ended in its making
  {
    std::lock_guard inside(anchor->gate);
    for (const auto& subsegment : state_->subsegments) {
      MapEntry* entry = subsegment->map_entry;
      remove_from_map(*subsegment);
      give_back(entry);
    }
    anchor->heap.store(nullptr, std::memory_order_relaxed);
  }
  give_back(anchor);
}

std::uint64_t Heap::number() const { return state_->number; }
const types::Url& Heap::url() const { return state_->options.url; }
bool Heap::is_read_only() const { return state_->options.read_only; }

bool Heap::find(std::uint64_t serial, Block& out) const {
  if (state_->is_forked()) return false;
  GateReader inside(state_->anchor->gate);
  const RecordId id = state_->visible(serial);
  if (id == no_record) return false;
  out = state_->index.block_of(state_->index.at(id));
  return true;
}

bool Heap::find(std::uint64_t serial, Trail& trail, Block& out) const {
  find(std::span(&serial, 1), trail, &out);
  return out.serial != 0;
}

void Heap::find(std::span<const std::uint64_t> serials, Trail& trail, Block* out) const {
  std::fill_n(out, serials.size(), Block{});
  if (state_->is_forked()) return;
  GateReader inside(state_->anchor->gate);
  const BlockIndex& index = state_->index;
  std::array<std::uint64_t, kFoundTogether> keys;
  for (std::size_t i = 0; i < serials.size(); ++i) {
    if (i % keys.size() == 0 && i + 1 < serials.size() && !trail.is_followed) {
      const auto some = serials.subspan(i, std::min(keys.size(), serials.size() - i));
      std::copy(some.begin(), some.end(), keys.begin());
      index.fetch_serials(std::span(keys.data(), some.size()));
    }
    const RecordId id = index.by_serial(serials[i], trail);
    if (id == no_record || !index.at(id).is_visible()) continue;
    out[i] = index.block_of(index.at(id));
  }
}

bool Heap::find(std::string_view name, Block& out) const {
  if (state_->is_forked() || name.empty()) return false;
  GateReader inside(state_->anchor->gate);
  const RecordId id = state_->index.by_name(name);
  if (id == no_record || !state_->index.at(id).is_visible()) return false;
  out = state_->index.block_of(state_->index.at(id));
  return true;
}

bool Heap::find_at(const void* address, Block& out) const {
  if (state_->is_forked()) return false;
  GateReader inside(state_->anchor->gate);
  const Subsegment* subsegment = subsegment_at(*state_->anchor, address);
  return subsegment != nullptr &&
         state_->block_at(*subsegment, static_cast<const std::byte*>(address), out);
}

Subsegment* Heap::pin(const void* address) {
  if (state_->is_forked()) return nullptr;
  std::lock_guard inside(state_->anchor->gate);
  Subsegment* const found = subsegment_at(*state_->anchor, address);
  if (found == nullptr) return nullptr;
  state_->parked.reserve(state_->parked.size() + state_->subsegments.size());
  ++found->pins;
  return found;
}

void Heap::unpin(Subsegment* pinned) {
  if (state_->is_forked()) return;
  std::lock_guard inside(state_->anchor->gate);
  if (--pinned->pins == 0) {
    std::erase_if(state_->parked, [pinned](const auto& one) { return one.get() == pinned; });
  }
}

std::string Heap::name_of(std::uint64_t serial) const {
  if (state_->is_forked()) return {};
  GateReader inside(state_->anchor->gate);
  const RecordId id = state_->visible(serial);
  return id == no_record ? std::string() : std::string(state_->index.name_of(state_->index.at(id)));
}

bool Heap::next_by_serial(std::uint64_t after, Block& out) const {
  if (state_->is_forked()) return false;
  BlockIndex& index = state_->index;
  for (;;) {
    {
      GateReader inside(state_->anchor->gate);
      if (!index.needs_sorting()) {
        const RecordId id = index.next_visible(after);
        if (id != no_record) out = index.block_of(index.at(id));
        return id != no_record;
      }
    }
    std::lock_guard inside(state_->anchor->gate);
    index.sort();
  }
}

bool Heap::next_by_address(const void* after, Block& out) const {
  if (state_->is_forked()) return false;
  const auto* from = static_cast<const std::byte*>(after);
  GateReader inside(state_->anchor->gate);
  const auto& all = state_->subsegments;
  auto at = state_->subsegment_from(from);
  if (at != all.begin() && from < (*std::prev(at))->end()) --at;
  for (; at != all.end(); ++at) {
    const Subsegment& one = **at;
    const std::byte* start =
        after == nullptr || from < one.begin() ? one.begin() : one.start_after(from);
    for (; start != nullptr; start = one.start_after(start)) {
      const Record& record = state_->index.at(state_->index.by_address(start));
      if (!record.is_visible()) continue;
      out = state_->index.block_of(record);
      return true;
    }
  }
  return false;
}

Result Heap::reserve(std::uint64_t serial, const types::Type& type, std::uint64_t count,
                     std::string_view name, Block& out) {
  if (state_->is_forked()) return forked();
  std::lock_guard inside(state_->anchor->gate);
  BlockIndex& index = state_->index;
  RecordId id = state_->visible(serial);
  if (id == no_record) {
    try {
      if (Result bad = state_->create({serial, type, count, name, flag_reserved}, id); !bad) {
        return bad;
      }
    } catch (const std::bad_alloc&) {
      return Result::no_memory();
    }
  }
  const Block block = index.block_of(index.at(id));
  if (!types::same_type(*block.type, type) || block.count != count) {
    return Result::malformed("block " + std::to_string(serial) + " is " +
                             std::to_string(block.count) + " " + block.type->spelled() +
                             " here, and was said to be " + std::to_string(count) + " " +
                             type.spelled());
  }
  out = block;
  return {};
}

Subsegment* Heap::next_subsegment(const Subsegment* behind) const {
  GateReader inside(state_->anchor->gate);
  const auto& all = state_->subsegments;
  const auto next = behind == nullptr ? all.begin() : state_->subsegment_from(behind->end());
  return next == all.end() ? nullptr : next->get();
}

Result Heap::set_access(track::Access access) {
  if (state_->is_forked()) return forked();
  if (is_read_only() && access == track::Access::write) access = track::Access::read;
  {
    std::lock_guard inside(state_->anchor->gate);
    state_->access = access;
  }
  Result result;
  for (Subsegment* one = next_subsegment(nullptr); one != nullptr; one = next_subsegment(one)) {
    if (auto bad = one->area().set_access(access); !bad) result = failed(bad);
  }
  return result;
}

Usage Heap::usage() const {
  Usage usage;
  if (state_->is_forked()) return usage;
  GateReader inside(state_->anchor->gate);
  usage.blocks = state_->index.block_count();
  usage.native_bytes = state_->native_bytes;
  usage.overhead_bytes = sizeof(HeapState) + state_->index.bytes();
  usage.subsegments = state_->subsegments.size();
  for (const auto& one : state_->subsegments) {
    usage.capacity_bytes += one->size_bytes();
    usage.overhead_bytes += one->overhead_bytes();
  }
  return usage;
}

}  // namespace iw::memory
