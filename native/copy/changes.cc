#include "copy/changes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>

#include "memory/subsegment.h"
#include "types/type.h"

namespace iw::copy {

using memory::Block;
using memory::Subsegment;
using memory::SubsegmentPages;
using memory::SubsegmentRuns;
using types::Result;

namespace {

// Below, comparing costs nothing to speak of.
constexpr std::size_t least_whole_bytes = std::size_t{16} << 10;
// Smaller blocks (on average) cost more to look up than to compare.
constexpr std::size_t least_block_bytes = 1024;

constexpr std::size_t sampled_words = 64;
constexpr std::size_t equal_words_allowed = 3;
constexpr std::size_t word_bytes = 4;

std::size_t bytes_of(std::span<const platform::ByteRange> ranges) {
  std::size_t bytes = 0;
  for (const platform::ByteRange& range : ranges) bytes += range.size_bytes();
  return bytes;
}

std::size_t bytes_of(std::span<const runs::Run> runs) {
  std::size_t bytes = 0;
  for (const runs::Run& run : runs) bytes += run.length_bytes;
  return bytes;
}

// Lists the blocks of a subsegment, each as a run. Returns false if the blocks are too small, if
// `most_bytes` would not be nearly all of their bytes, or if they hold pointers. A pointer that
// nobody stored to may lead to a freed block whose place another block has taken [DIFF-9].
bool list_blocks(const memory::Heap& heap, const Subsegment& subsegment, std::size_t most_bytes,
                 std::vector<runs::Run>& out) {
  out.clear();
  std::size_t bytes = 0;
  const std::byte* after = subsegment.begin() - 1;
  Block block;
  while (heap.next_by_address(after, block) && block.address < subsegment.end()) {
    after = block.address;
    if (block.type->contains_pointers) return false;
    bytes += block.size_bytes;
    out.push_back({subsegment.offset_of(block.address), block.size_bytes});
    if (out.size() > most_bytes / least_block_bytes || bytes / 2 > most_bytes) return false;
  }
  return bytes >= least_whole_bytes;
}

// Whether words all over the runs differ from the pristine copy, with few exceptions.
bool looks_changed(const Subsegment& subsegment, std::span<const runs::Run> runs,
                   std::size_t bytes) {
  const std::byte* const view = subsegment.area().view();
  const std::byte* const pristine = subsegment.area().pristine();
  const std::size_t stratum_bytes = bytes / sampled_words;
  std::size_t equal = 0;
  std::size_t passed_bytes = 0;  // of the runs before the current one
  auto run = runs.begin();
  for (std::size_t i = 0; i < sampled_words; ++i) {
    // At another place of each stratum, lest all are of one field of many records.
    const std::size_t at = i * stratum_bytes + i * 40503 % stratum_bytes;
    while (at >= passed_bytes + run->length_bytes) passed_bytes += (run++)->length_bytes;
    const std::size_t in_run = (at - passed_bytes) / word_bytes * word_bytes;
    const std::size_t offset = run->offset_bytes + in_run;
    const std::size_t length = std::min(word_bytes, run->length_bytes - in_run);
    equal += std::memcmp(view + offset, pristine + offset, length) == 0 ? 1 : 0;
  }
  return equal <= equal_words_allowed;
}

// Fills `out` if the area is to be taken as it is.
bool take_whole(const memory::Heap& heap, const SubsegmentPages& written,
                std::vector<runs::Run>& out) {
  Subsegment& subsegment = *written.subsegment;
  track::WholeHistory& history = subsegment.area().whole_history();
  if (!history.whole_next()) return false;
  const std::size_t listed_bytes = bytes_of(written.pages);
  if (list_blocks(heap, subsegment, listed_bytes, out)) {
    const std::size_t bytes = bytes_of(out);
    if (listed_bytes >= bytes && looks_changed(subsegment, out, bytes)) return true;
  }
  history.doubted();
  return false;
}

void learn(const memory::Heap& heap, const SubsegmentRuns& found, std::vector<runs::Run>& blocks) {
  const std::size_t changed_bytes = bytes_of(found.runs);
  const bool may_be_whole = list_blocks(heap, *found.subsegment, changed_bytes, blocks);
  const std::size_t all_bytes = may_be_whole ? bytes_of(blocks) : 0;
  found.subsegment->area().whole_history().compared(changed_bytes, all_bytes);
}

bool is_before(const SubsegmentRuns& a, const SubsegmentRuns& b) {
  return std::less<>()(a.subsegment->begin(), b.subsegment->begin());
}

}  // namespace

Result find_changes(const memory::Heap& heap, std::span<const SubsegmentPages> written,
                    const Optimisations& optimisations, std::vector<SubsegmentRuns>& out,
                    LookedAt& looked_at) {
  std::vector<SubsegmentRuns> whole;
  std::vector<SubsegmentPages> others;  // copied only if there is a whole one
  std::vector<runs::Run> blocks;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const SubsegmentPages& one = written[i];
    if (optimisations.no_diff && take_whole(heap, one, blocks)) {
      if (whole.empty()) others.assign(written.begin(), written.begin() + i);
      whole.push_back({one.subsegment, blocks});
      looked_at.whole_bytes += bytes_of(blocks);
    } else if (!whole.empty()) {
      others.push_back(one);
    }
  }
  if (!whole.empty()) written = others;
  for (const SubsegmentPages& one : written) looked_at.compared_bytes += bytes_of(one.pages);
  if (Result found = heap.changed_runs(written, out, splicing_of(optimisations)); !found) {
    return found;
  }
  if (optimisations.no_diff) {
    for (const SubsegmentRuns& one : out) learn(heap, one, blocks);
  }
  out.insert(out.end(), std::make_move_iterator(whole.begin()),
             std::make_move_iterator(whole.end()));
  std::sort(out.begin(), out.end(), is_before);
  return {};
}

}  // namespace iw::copy
