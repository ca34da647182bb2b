// Diffs against a cached copy: refused without a trace, or applied so that the copy can be written
// again. Each input meets an empty copy and one with all types of the vectors.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/native/target.h"
#include "vectors/copy.h"
#include "vectors/decode.h"
#include "vectors/json.h"
#include "vectors/vector_files.h"

namespace {

using namespace iw::vectors;
using iw::memory::Block;

// Blocks of the vectors' contexts, and of a type with everything.
constexpr const char* kRich = R"({
  "types": ["node", "strings", "figure-3", "compound"],
  "slots": ["/other"],
  "blocks": [
    {"serial": 1, "type": 79, "count": 1, "name": "m"},
    {"serial": 5, "type": 5, "count": 4, "name": "a"},
    {"serial": 6, "type": 11, "count": 1, "name": ""},
    {"serial": 7, "type": 70, "count": 1, "name": ""},
    {"serial": 8, "type": 65, "count": 3, "name": "old"},
    {"serial": 9, "type": 68, "count": 2, "name": ""},
    {"serial": 200, "type": 2, "count": 400, "name": ""}
  ]})";

// An input may make half of the arena's stubs without meeting its bound.
constexpr std::size_t kMostStubs = 512;

Bytes diff_of(const char* context) {
  Vector vector;
  vector.json = Json::object({{"context", parse_json(context)}});
  return context_diff(vector);
}

std::vector<Block> blocks_of(const Copy& copy) {
  std::vector<Block> blocks;
  Block block;
  for (std::uint64_t at = 0; copy.heap->next_by_serial(at, block); at = block.serial) {
    blocks.push_back(block);
  }
  return blocks;
}

// Everything about the copy that the program sees.
Bytes seen(const std::vector<Block>& blocks) {
  Bytes out;
  for (const Block& block : blocks) {
    out.push_back(static_cast<std::byte>(block.serial));
    out.insert(out.end(), block.address, block.end());
  }
  return out;
}

// The copy of one context, as it was before each input. To make one anew costs twenty times what
// most inputs cost, so what an input did is undone in it; where that does not give the same blocks
// at the same places, it is made anew all the same.
class Specimen {
 public:
  explicit Specimen(const char* context) : context_(diff_of(context)) { begin(); }

  void meet(std::span<const std::byte> bytes) {
    iw::diff::CachedCopy cached{*copy_->heap, copy_->types, copy_->slots};
    iw::diff::Update update;
    if (!iw::diff::Update::read(bytes, cached, copy_->limits, update).ok()) return;
    FUZZ_CHECK(seen(blocks_of(*copy_)) == seen_);
    const bool is_complete = update.is_complete();
    const Result result = update.apply(cached, copy_->resolver, copy_->stubs);
    if (!result.ok()) {
      FUZZ_CHECK(result.code == iw::types::error_code::NO_MEMORY ||
                 seen(blocks_of(*copy_)) == seen_);
      begin();
      return;
    }
    write_again();
    undo(is_complete);
  }

 private:
  void begin() {
    copy_ = std::make_unique<Copy>();
    copy_->limits.new_bytes = 1 << 20;
    FUZZ_CHECK(copy_->apply(context_).ok());
    types_ = copy_->types;
    slots_ = copy_->slots;
    blocks_ = blocks_of(*copy_);
    names_.clear();
    for (const Block& block : blocks_) names_.push_back(copy_->heap->name_of(block.serial));
    seen_ = seen(blocks_);
  }

  void write_again() {
    for (const Block& block : blocks_of(*copy_)) {
      written_.clear();
      FUZZ_CHECK(block.is_reserved || copy_->travelling(block, written_).ok());
    }
  }

  void undo(bool was_complete) {
    for (const Block& block : blocks_of(*copy_)) {
      FUZZ_CHECK(copy_->heap->erase(block.serial).ok());
    }
    // Otherwise a diff only adds to them, so that the same number are the same.
    if (was_complete || copy_->types.next_serial() != types_->next_serial()) {
      copy_->types = *types_;
    }
    if (was_complete || copy_->slots.size() != slots_->size()) copy_->slots = *slots_;
    bool is_same = copy_->stubs.size() <= kMostStubs;
    for (std::size_t i = 0; is_same && i < blocks_.size(); ++i) {
      const Block& was = blocks_[i];
      Block made;
      is_same = copy_->heap->insert(was.serial, *was.type, was.count, names_[i], was.is_owned, made)
                    .ok() &&
                made.address == was.address;
    }
    if (!is_same || !copy_->heap->apply_done().ok()) begin();
  }

  const Bytes context_;
  std::unique_ptr<Copy> copy_;
  std::optional<iw::types::SegmentTypes> types_;
  std::optional<iw::swizzle::SlotTable> slots_;
  std::vector<Block> blocks_;
  std::vector<std::string> names_;
  Bytes seen_;
  Bytes written_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Specimen empty("{}");
  static Specimen rich(kRich);
  empty.meet(bytes_of(data, size));
  rich.meet(bytes_of(data, size));
  return 0;
}
