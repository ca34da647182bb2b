#include "diff/collect.h"

#include <string>
#include <utility>

#include "diff/block_runs.h"
#include "diff/varint.h"
#include "memory/subsegment.h"
#include "protocol/descriptor.gen.h"

namespace iw::diff {

// Builds CHANGES first, since translating pointers may add slots.
class Collector {
 public:
  Collector(const Release& release, CollectedDiff& out)
      : release_(release),
        out_(out),
        blocks_(out.changes_, out.statistics_, release.swizzler, release.may_send_views,
                release.options) {}

  Result collect();

 private:
  void add_parts(const memory::SubsegmentRuns& changed, memory::Trail& trail);
  void write_section(Tag tag, const Pieces& body);
  void write_types();
  void write_slots();
  void write_freed();
  Result write_blocks();
  void write_head();

  const Release& release_;
  CollectedDiff& out_;
  BlockRuns blocks_;
};

// Parts come in the order of the runs that they are of.
void Collector::add_parts(const memory::SubsegmentRuns& changed, memory::Trail& trail) {
  auto run = changed.runs.begin();
  const auto take = [&](const memory::BlockPart& one, const memory::RunsBehind& behind) {
    const std::size_t at = changed.subsegment->offset_of(one.view);
    while (run->offset_bytes + run->length_bytes <= at) ++run;
    blocks_.add_part(one, run->has_gaps);
    const std::size_t taken = blocks_.add_runs_behind(behind);
    run += static_cast<std::ptrdiff_t>(taken);
    return taken;
  };
  release_.heap.for_each_part(std::span(&changed, 1), trail, take);
}

void Collector::write_section(Tag tag, const Pieces& body) {
  if (body.size_bytes() == 0) return;
  std::vector<Pieces::Slice> slices;
  body.slices(slices);
  const auto number = static_cast<std::uint8_t>(tag);
  out_.head_.append(&number, 1);
  out_.head_.append_varint(body.size_bytes());
  for (const Pieces::Slice& slice : slices) out_.head_.append(slice.data(), slice.size());
}

void Collector::write_types() {
  std::vector<std::uint8_t> bytes;
  xdr::Writer writer(bytes);
  for (const protocol::type_descriptor& one : release_.types.uncommitted()) encode(writer, one);
  Pieces body;
  body.append(bytes.data(), bytes.size());
  write_section(Tag::types, body);
}

void Collector::write_slots() {
  const std::vector<std::string> texts = release_.slots.uncommitted();
  if (texts.empty()) return;
  Pieces body;
  body.append_varint(release_.slots.first_uncommitted());
  for (const std::string& text : texts) {
    body.append_varint(text.size());
    body.append(text.data(), text.size());
  }
  write_section(Tag::slots, body);
}

void Collector::write_freed() {
  Pieces body;
  std::uint64_t last = 0;
  for (const memory::Block& block : release_.heap.freed()) {
    body.append_varint(zigzag_delta(last, block.serial));
    last = block.serial;
  }
  write_section(Tag::freed, body);
}

Result Collector::write_blocks() {
  Pieces body;
  std::uint64_t last = 0;
  for (const memory::Block& block : release_.heap.created()) {
    const std::uint32_t type = release_.types.serial_of(*block.type);
    if (type == 0) {
      return {types::error_code::INTERNAL, "block " + std::to_string(block.serial) +
                                               " is of type " + block.type->spelled() +
                                               ", which was not added to the segment's types"};
    }
    const std::string name = block.has_name ? release_.heap.name_of(block.serial) : std::string();
    body.append_varint(zigzag_delta(last, block.serial));
    body.append_varint(type);
    body.append_varint(block.count);
    body.append_varint(name.size());
    body.append(name.data(), name.size());
    last = block.serial;
  }
  write_section(Tag::blocks, body);
  return {};
}

void Collector::write_head() {
  out_.head_.append(kMagic.data(), kMagic.size());
  const std::uint8_t flags = 0;
  out_.head_.append(&flags, 1);
  out_.head_.append_varint(release_.from);
  out_.head_.append_varint(release_.from + 1);
}

Result Collector::collect() {
  memory::Trail trail;
  trail.predicts = release_.options.predicts_blocks;
  release_.swizzler.predict_blocks(trail.predicts);
  const std::uint64_t searched_before = release_.swizzler.searched();
  for (const memory::SubsegmentRuns& changed : release_.runs) add_parts(changed, trail);
  blocks_.end_block();
  out_.statistics_.searches = trail.searched + release_.swizzler.searched() - searched_before;
  if (!blocks_.error().ok()) return blocks_.error();
  write_head();
  const std::uint64_t header_bytes = out_.head_.size_bytes();
  write_types();
  write_slots();
  write_freed();
  Result result = write_blocks();
  if (!result.ok()) return result;
  if (out_.changes_.size_bytes() != 0) {
    const auto tag = static_cast<std::uint8_t>(Tag::changes);
    out_.head_.append(&tag, 1);
    out_.head_.append_varint(out_.changes_.size_bytes());
  }
  out_.is_empty_ = out_.head_.size_bytes() == header_bytes;
  out_.statistics_.bytes = out_.head_.size_bytes() + out_.changes_.size_bytes();
  return {};
}

std::vector<std::span<const std::byte>> CollectedDiff::slices() const {
  std::vector<std::span<const std::byte>> out;
  head_.slices(out);
  changes_.slices(out);
  return out;
}

std::vector<std::byte> CollectedDiff::flattened() const {
  std::vector<std::byte> out;
  out.reserve(static_cast<std::size_t>(size_bytes()));
  for (const auto& slice : slices()) out.insert(out.end(), slice.begin(), slice.end());
  return out;
}

Result collect(const Release& release, CollectedDiff& out) {
  out.clear();
  return Collector(release, out).collect();
}

}  // namespace iw::diff
