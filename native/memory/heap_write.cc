// Writer sections: allocating and freeing so that both can be undone, finding what was stored,
// commit and rollback. Work on memory is done outside the gate: only this thread touches areas.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

#include "memory/heap.h"
#include "memory/heap_state.h"
#include "platform/invariant.h"
#include "types/type.h"

namespace iw::memory {

using types::error_code;

namespace {

// In order of address.
void add_pages(Subsegment& subsegment, const std::vector<ByteRange>& pages,
               std::vector<SubsegmentPages>& all) {
  auto at = std::lower_bound(all.begin(), all.end(), subsegment.begin(),
                             [](const auto& one, const std::byte* begin) {
                               return std::less<>()(one.subsegment->begin(), begin);
                             });
  if (at == all.end() || at->subsegment != &subsegment) at = all.insert(at, {&subsegment, {}});
  at->pages.insert(at->pages.end(), pages.begin(), pages.end());
  runs::coalesce(at->pages);
}

Result not_writing() {
  return {error_code::NO_LOCK, "this needs the segment's writer lock; acquire it first"};
}

bool is_serial_range(const SerialRange& range) {
  return range.first != 0 && range.first <= kMaxSerial &&
         range.count <= kMaxSerial - range.first + 1;
}

// Ranges for an area's commit, some together.
class Taken {
 public:
  explicit Taken(track::Area& area) : area_(area) {}

  void add(ByteRange range) {
    if (count_ == ranges_.size()) {
      note(area_.commit_some(ranges_));
      count_ = 0;
    }
    ranges_[count_++] = range;
  }
  platform::Status end() {
    note(area_.commit(std::span(ranges_.data(), count_)));
    return status_;
  }

 private:
  void note(const platform::Status& status) {
    if (!status) status_ = status;
  }

  track::Area& area_;
  platform::Status status_;
  std::array<ByteRange, 128> ranges_;
  std::size_t count_ = 0;
};

// The serials that it leaves are for the next section under the same grant.
SectionChanges end_section(SectionChanges& section) {
  SectionChanges ended = std::exchange(section, SectionChanges{});
  section.serials = std::move(ended.serials);
  return ended;
}

Result bad_serials() { return Result::malformed("the grant's serials are outside 1 to 2^48 - 1"); }

}  // namespace

bool Heap::is_writing() const { return state_->section.is_open; }

Result Heap::begin_write(std::span<const SerialRange> serials) {
  if (state_->is_forked()) return forked();
  if (is_read_only()) return {error_code::READ_ONLY, "the segment was opened read-only"};
  IW_INVARIANT(!state_->section.is_open, "a writer section in a writer section");
  for (const SerialRange& range : serials) {
    if (!is_serial_range(range)) return bad_serials();
  }
  std::vector<SerialRange> begun(serials.rbegin(), serials.rend());
  {
    std::lock_guard inside(state_->anchor->gate);
    state_->section.serials = std::move(begun);
  }
  return continue_write();
}

Result Heap::continue_write() {
  if (state_->is_forked()) return forked();
  if (is_read_only()) return {error_code::READ_ONLY, "the segment was opened read-only"};
  IW_INVARIANT(!state_->section.is_open, "a writer section in a writer section");
  {
    std::lock_guard inside(state_->anchor->gate);
    state_->section.is_open = true;
  }
  Result armed = resume_write();
  if (!armed) (void)rollback_write();
  return armed;
}

Result Heap::add_serials(const SerialRange& range) {
  if (state_->is_forked()) return forked();
  SectionChanges& section = state_->section;
  if (!section.is_open) return not_writing();
  if (!is_serial_range(range)) return bad_serials();
  // The next one is at the back, and serials are given out in ascending order.
  section.serials.insert(section.serials.begin(), range);
  return {};
}

bool Heap::has_serials() const {
  const std::vector<SerialRange>& left = state_->section.serials;
  return std::any_of(left.begin(), left.end(),
                     [](const SerialRange& range) { return range.count > 0; });
}

Result Heap::resume_write() {
  if (state_->is_forked()) return forked();
  IW_INVARIANT(state_->section.is_open, "stores are allowed outside of a writer section");
  {
    std::lock_guard inside(state_->anchor->gate);
    state_->section.is_armed = true;
  }
  Result result;
  for (Subsegment* one = next_subsegment(nullptr); one != nullptr; one = next_subsegment(one)) {
    if (auto bad = one->area().arm(); !bad) result = failed(bad);
  }
  return result;
}

Result Heap::allocate(const types::Type& type, std::uint64_t count, std::string_view name,
                      bool is_owned, Block& out) {
  if (state_->is_forked()) return forked();
  SectionChanges& section = state_->section;
  if (!section.is_open) return not_writing();
  while (!section.serials.empty() && section.serials.back().count == 0) section.serials.pop_back();
  if (section.serials.empty()) {
    return {error_code::TOO_LARGE,
            "the writer lock came with too few block serials for so many allocations; release it "
            "and acquire it again"};
  }
  SerialRange& next = section.serials.back();
  const unsigned flags = flag_new | (is_owned ? flag_owned : 0U);
  std::lock_guard inside(state_->anchor->gate);
  try {
    if (section.created.size() == section.created.capacity()) {
      section.created.reserve(2 * section.created.size() + 16);
    }
    RecordId id = no_record;
    if (Result bad = state_->create({next.first, type, count, name, flags}, id); !bad) return bad;
    out = state_->index.block_of(state_->index.at(id));
  } catch (const std::bad_alloc&) {
    return Result::no_memory();
  }
  section.created.push_back(next.first);
  ++next.first;
  --next.count;
  return {};
}

Result Heap::free(std::uint64_t serial) {
  if (state_->is_forked()) return forked();
  SectionChanges& section = state_->section;
  if (!section.is_open) return not_writing();
  Block block;
  if (!find(serial, block)) {
    return {error_code::NO_BLOCK, "the segment has no block " + std::to_string(serial)};
  }
  // Nobody else knows the block, so its space can be used again at once, all zeros as before.
  if (block.is_new) {
    if (!has_own_subsegment(block)) std::memset(block.address, 0, block.size_bytes);
    release({&block, 1});
    return {};
  }
  std::lock_guard inside(state_->anchor->gate);
  try {
    section.freed.push_back(serial);
  } catch (const std::bad_alloc&) {
    return Result::no_memory();
  }
  const RecordId id = state_->index.by_serial(serial);
  state_->index.unlink_name(id);
  state_->add_flags(id, flag_freed);
  return {};
}

// REQUIRES: the bytes of these blocks are zero, or vanish with their subsegment.
void Heap::release(std::span<const Block> blocks) {
  std::lock_guard inside(state_->anchor->gate);
  for (const Block& block : blocks) state_->release(state_->index.by_serial(block.serial));
}

std::vector<Block> Heap::created() const {
  GateReader inside(state_->anchor->gate);
  const BlockIndex& index = state_->index;
  std::vector<Block> blocks;
  for (const std::uint64_t serial : state_->section.created) {
    const RecordId id = index.by_serial(serial);
    if (id != no_record && index.at(id).is(flag_new))
      blocks.push_back(index.block_of(index.at(id)));
  }
  return blocks;
}

std::vector<Block> Heap::freed() const {
  GateReader inside(state_->anchor->gate);
  std::vector<Block> blocks;
  for (const std::uint64_t serial : state_->section.freed) {
    blocks.push_back(state_->index.block_of(state_->index.at(state_->index.by_serial(serial))));
    blocks.back().is_freed = true;
  }
  return blocks;
}

Result Heap::collect(std::vector<SubsegmentPages>& out) {
  out.clear();
  if (state_->is_forked()) return forked();
  {
    std::lock_guard inside(state_->anchor->gate);
    state_->section.is_armed = false;
  }
  // An area lists a section's stores only once, so they are kept until the section ends.
  if (state_->section.is_open) return collect_into(state_->section.collected, out);
  std::vector<SubsegmentPages> outside;
  return collect_into(outside, out);
}

Result Heap::collect_into(std::vector<SubsegmentPages>& all, std::vector<SubsegmentPages>& out) {
  std::vector<ByteRange> found;
  for (Subsegment* one = next_subsegment(nullptr); one != nullptr; one = next_subsegment(one)) {
    if (auto bad = one->area().collect(found); !bad) return failed(bad);
    if (found.empty()) continue;
    try {
      add_pages(*one, found, all);
    } catch (const std::bad_alloc&) {
      one->area().list_again(found);
      throw;
    }
  }
  out = all;
  return {};
}

Result Heap::changed_runs(std::span<const SubsegmentPages> pages, std::vector<SubsegmentRuns>& out,
                          runs::Splicing splicing) const {
  std::size_t count = 0;
  if (state_->is_forked()) return forked();
  std::vector<ByteRange> ranges;
  for (const SubsegmentPages& one : pages) {
    ranges = one.pages;
    if (!state_->tracker.finds_pages()) {
      // Every page is listed: those where no block ever was need not be looked at.
      GateReader inside(state_->anchor->gate);
      const std::size_t used = (state_->used_bytes(*one.subsegment) + 3) / 4 * 4;
      for (ByteRange& range : ranges) range.end_bytes = std::min(range.end_bytes, used);
      std::erase_if(ranges, [](const ByteRange& r) { return r.begin_bytes >= r.end_bytes; });
    }
    if (count == out.size()) out.emplace_back();
    SubsegmentRuns& found = out[count];
    found.subsegment = one.subsegment;
    found.runs.clear();
    const track::Area& area = one.subsegment->area();
    runs::find_changed_runs(area.view(), area.pristine(), ranges, found.runs, splicing);
    if (!found.runs.empty()) ++count;
  }
  out.resize(count);
  return {};
}

bool Heap::goes_on(const Subsegment& subsegment, std::size_t& from, std::size_t end,
                   BlockPart& part) {
  const std::byte* const first = subsegment.begin() + from;
  if (part.view == nullptr || first < part.view || first >= part.block.end()) {
    return false;
  }
  const std::byte* const last =
      std::min<const std::byte*>(subsegment.begin() + end, part.block.end());
  part.pristine += first - part.view;
  part.view = first;
  part.offset_bytes = static_cast<std::size_t>(first - part.block.address);
  part.length_bytes = static_cast<std::size_t>(last - first);
  from = subsegment.offset_of(last);
  return true;
}

bool Heap::next_part(Subsegment& subsegment, std::size_t& from, std::size_t end, Trail& trail,
                     BlockPart& out) const {
  GateReader inside(state_->anchor->gate);
  const std::byte* at = subsegment.begin() + from;
  const std::byte* start = subsegment.start_at_or_before(at);
  for (; start != nullptr && start < subsegment.begin() + end;
       start = subsegment.start_after(start)) {
    const Record& record = state_->index.at(state_->index.by_address(start, trail));
    if (!record.is_visible()) continue;
    const Block block = state_->index.block_of(record);
    const std::byte* first = std::max<const std::byte*>(at, block.address);
    const std::byte* last = std::min<const std::byte*>(subsegment.begin() + end, block.end());
    if (first >= last) continue;
    out.block = block;
    out.offset_bytes = static_cast<std::size_t>(first - block.address);
    out.length_bytes = static_cast<std::size_t>(last - first);
    out.view = first;
    out.pristine = subsegment.area().pristine() + subsegment.offset_of(first);
    from = subsegment.offset_of(last);
    return true;
  }
  from = end;
  return false;
}

// Takes the bytes that lie in blocks. The next apply_done restores the old bytes of the rest.
Result Heap::commit_runs(const SubsegmentRuns& sent) {
  Subsegment& subsegment = *sent.subsegment;
  Taken taken(subsegment.area());
  const auto undo = [&subsegment](std::size_t begin, std::size_t end) {
    (void)subsegment.area().begin_apply(begin, end - begin);
    subsegment.is_touched = true;
  };
  BlockPart part;
  Trail trail;
  for (const runs::Run& run : sent.runs) {
    std::size_t from = run.offset_bytes;
    std::size_t behind_last = from;
    const std::size_t end = run.offset_bytes + run.length_bytes;
    for (; from < end &&
           (goes_on(subsegment, from, end, part) || next_part(subsegment, from, end, trail, part));
         behind_last = from) {
      const std::size_t begin = subsegment.offset_of(part.view);
      taken.add({begin, from});
      if (begin > behind_last) undo(behind_last, begin);
    }
    if (behind_last < end) undo(behind_last, end);
  }
  return failed(taken.end());
}

Block Heap::freed_block(std::uint64_t serial) const {
  GateReader inside(state_->anchor->gate);
  return state_->index.block_of(state_->index.at(state_->index.by_serial(serial)));
}

Result Heap::commit_write(std::span<const SubsegmentRuns> sent) {
  if (state_->is_forked()) return forked();
  IW_INVARIANT(state_->section.is_open, "a commit without a writer section");
  Result result;
  const auto note = [&result](Result step) {
    if (!step) result = std::move(step);
  };
  for (const SubsegmentRuns& one : sent) note(commit_runs(one));
  for (const std::uint64_t serial : state_->section.freed) {
    note(zero_unless_alone(freed_block(serial)));
  }
  note(apply_done());
  std::lock_guard inside(state_->anchor->gate);
  const SectionChanges ended = end_section(state_->section);
  for (const std::uint64_t serial : ended.freed) {
    state_->release(state_->index.by_serial(serial));
  }
  for (const std::uint64_t serial : ended.created) {
    const RecordId id = state_->index.by_serial(serial);
    if (id != no_record) state_->clear_flags(id, flag_new);
  }
  return result;
}

Result Heap::rollback_write() {
  if (state_->is_forked()) return forked();
  IW_INVARIANT(state_->section.is_open, "a rollback without a writer section");
  Result undone = types::or_no_memory([this] { return undo_section(); });
  if (!undone) undone = undo_all();
  std::lock_guard inside(state_->anchor->gate);
  const SectionChanges ended = end_section(state_->section);
  for (const std::uint64_t serial : ended.created) {
    const RecordId id = state_->index.by_serial(serial);
    if (id != no_record && state_->index.at(id).is(flag_new)) state_->release(id);
  }
  for (const std::uint64_t serial : ended.freed) {
    const RecordId id = state_->index.by_serial(serial);
    state_->clear_flags(id, flag_freed);
    state_->index.relink_name(id);
  }
  return undone;
}

Result Heap::undo_section() {
  std::vector<SubsegmentPages> all;
  if (Result bad = collect(all); !bad) return bad;
  return undo(all);
}

Result Heap::undo(std::span<const SubsegmentPages> pages) {
  if (state_->is_forked()) return forked();
  Result result;
  for (const SubsegmentPages& one : pages) {
    track::Area& area = one.subsegment->area();
    if (auto bad = without_memory(area, [&] { return area.rollback(one.pages); }); !bad) {
      result = failed(bad);
    }
  }
  return result;
}

Result Heap::undo_all() {
  if (state_->is_forked()) return forked();
  {
    std::lock_guard inside(state_->anchor->gate);
    state_->section.is_armed = false;
  }
  Result result;
  for (Subsegment* one = next_subsegment(nullptr); one != nullptr; one = next_subsegment(one)) {
    if (auto bad = one->area().show_pristine(); !bad) result = failed(bad);
  }
  return result;
}

}  // namespace iw::memory
