// The comparison works on masks, one bit a word, 64 words at a time: splicing is a few shifts, and
// a run costs two bit scans however long it is. A word's neighbours may lie in the masks before and
// after, so a mask is spliced when its successor is known. Where nothing changed, everything, or
// the same fields of each record, the masks of 4 KiB are equal and cost little more than one.
#include "runs/runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "platform/differing_words.h"

namespace iw::runs {

namespace {

constexpr std::size_t word_bytes = 4;
constexpr std::size_t masks_at_once = 16;  // 4 KiB

// Turns a sequence of masks into runs.
class RunBuilder {
 public:
  RunBuilder(std::vector<Run>& out, Splicing splicing) : out_(out), splicing_(splicing) {}

  // The next range of memory; it does not touch the one before.
  void begin(std::size_t offset_bytes) {
    next_offset_bytes_ = offset_bytes;
    pending_offset_bytes_ = offset_bytes;
  }

  // Masks cover 64 words each; only a range's last one may cover fewer.
  void add(std::uint64_t mask, std::size_t covered_bytes) {
    if (has_pending_) settle(mask);
    pending_ = mask;
    has_pending_ = true;
    next_offset_bytes_ += covered_bytes;
  }

  // Whether a mask between others like it neither opens nor closes a run.
  [[nodiscard]] bool is_steady(std::uint64_t mask) const {
    const std::uint64_t spliced = spliced_mask(mask, mask, mask);
    return spliced == 0 || spliced == ~std::uint64_t{0};
  }

  // The same as add(mask, bytes_per_mask) `count` times. REQUIRES: is_steady(mask). The masks
  // between the first and the last have the gaps of these two, so nothing is done for them.
  void add_same(std::uint64_t mask, std::size_t count) {
    add(mask, platform::bytes_per_mask);
    if (count == 1) return;
    settle(mask);
    pending_offset_bytes_ += (count - 2) * platform::bytes_per_mask;
    next_offset_bytes_ += (count - 1) * platform::bytes_per_mask;
  }

  void finish() {
    if (has_pending_) settle(0);
    if (is_open_) close(next_offset_bytes_);
    has_pending_ = false;
    before_ = 0;
  }

 private:
  void settle(std::uint64_t following) {
    const std::uint64_t spliced = spliced_mask(pending_, before_, following);
    const std::uint64_t gaps = spliced & ~pending_;
    before_ = pending_;
    emit(spliced, gaps);
    pending_offset_bytes_ += platform::bytes_per_mask;
  }

  [[nodiscard]] std::uint64_t spliced_mask(std::uint64_t mask, std::uint64_t before,
                                           std::uint64_t after) const {
    return splicing_ == Splicing::on ? with_small_gaps_filled(mask, before, after) : mask;
  }

  // A gap of one word has changed words on both sides; of two, one next to it and one behind.
  static std::uint64_t with_small_gaps_filled(std::uint64_t mask, std::uint64_t before,
                                              std::uint64_t after) {
    const std::uint64_t left_1 = (mask << 1) | (before >> 63);
    const std::uint64_t left_2 = (mask << 2) | (before >> 62);
    const std::uint64_t right_1 = (mask >> 1) | (after << 63);
    const std::uint64_t right_2 = (mask >> 2) | (after << 62);
    return mask | (left_1 & right_1) | (left_1 & right_2) | (left_2 & right_1);
  }

  // Every change from 0 to 1 opens a run, every change from 1 to 0 closes it. The gaps lie in runs.
  void emit(std::uint64_t mask, std::uint64_t gaps) {
    std::uint64_t changes = mask ^ ((mask << 1) | (is_open_ ? 1 : 0));
    while (changes != 0) {
      const auto word = static_cast<std::size_t>(std::countr_zero(changes));
      const std::size_t offset_bytes = pending_offset_bytes_ + word * word_bytes;
      if (is_open_) {
        const std::uint64_t before = (std::uint64_t{1} << word) - 1;
        has_gaps_ |= (gaps & before) != 0;
        gaps &= ~before;
        close(offset_bytes);
      } else {
        open_offset_bytes_ = offset_bytes;
        is_open_ = true;
      }
      changes &= changes - 1;
    }
    has_gaps_ |= gaps != 0;
  }

  void close(std::size_t end_bytes) {
    end_bytes = std::min(end_bytes, next_offset_bytes_);  // the last word may be a partial one
    out_.push_back({open_offset_bytes_, end_bytes - open_offset_bytes_, has_gaps_});
    is_open_ = false;
    has_gaps_ = false;
  }

  std::vector<Run>& out_;
  const Splicing splicing_;
  std::uint64_t before_ = 0;  // the mask before the pending one, as compared
  std::uint64_t pending_ = 0;
  bool has_pending_ = false;
  std::size_t pending_offset_bytes_ = 0;
  std::size_t next_offset_bytes_ = 0;
  std::size_t open_offset_bytes_ = 0;
  bool is_open_ = false;
  bool has_gaps_ = false;  // the open run
};

// The last words of a range, fewer than a mask has, and perhaps a part of a word.
std::uint64_t compare_rest(const std::byte* view, const std::byte* pristine,
                           std::size_t size_bytes) {
  std::uint64_t mask = 0;
  for (std::size_t done = 0; done < size_bytes; done += word_bytes) {
    const std::size_t part = std::min(word_bytes, size_bytes - done);
    if (std::memcmp(view + done, pristine + done, part) != 0) {
      mask |= std::uint64_t{1} << (done / word_bytes);
    }
  }
  return mask;
}

bool are_same(std::span<const std::uint64_t> masks) {
  std::uint64_t others = 0;
  for (const std::uint64_t mask : masks) others |= mask ^ masks[0];
  return others == 0;
}

void compare_range(const std::byte* view, const std::byte* pristine, ByteRange range,
                   RunBuilder& runs) {
  runs.begin(range.begin_bytes);
  std::size_t at = range.begin_bytes;
  std::array<std::uint64_t, masks_at_once> masks;
  while (range.end_bytes - at >= platform::bytes_per_mask) {
    const std::size_t count =
        std::min(masks_at_once, (range.end_bytes - at) / platform::bytes_per_mask);
    platform::differing_words(view + at, pristine + at, count, masks.data());
    if (are_same(std::span(masks.data(), count)) && runs.is_steady(masks[0])) {
      runs.add_same(masks[0], count);
    } else {
      for (std::size_t i = 0; i < count; ++i) runs.add(masks[i], platform::bytes_per_mask);
    }
    at += count * platform::bytes_per_mask;
  }
  if (at < range.end_bytes) {
    const std::size_t rest = range.end_bytes - at;
    runs.add(compare_rest(view + at, pristine + at, rest), rest);
  }
  runs.finish();
}

}  // namespace

void find_changed_runs(const std::byte* view, const std::byte* pristine, std::size_t size_bytes,
                       std::vector<Run>& out, Splicing splicing) {
  const ByteRange all{0, size_bytes};
  find_changed_runs(view, pristine, {&all, 1}, out, splicing);
}

void find_changed_runs(const std::byte* view, const std::byte* pristine,
                       std::span<const ByteRange> ranges, std::vector<Run>& out,
                       Splicing splicing) {
  RunBuilder runs(out, splicing);
  for (std::size_t i = 0; i < ranges.size();) {
    ByteRange joined = ranges[i++];
    while (i < ranges.size() && ranges[i].begin_bytes == joined.end_bytes) {
      joined.end_bytes = ranges[i++].end_bytes;
    }
    compare_range(view, pristine, joined, runs);
  }
}

void coalesce(std::vector<ByteRange>& ranges) {
  std::erase_if(ranges, [](const ByteRange& r) { return r.begin_bytes >= r.end_bytes; });
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin_bytes < b.begin_bytes; });
  std::size_t kept = 0;
  for (const ByteRange& range : ranges) {
    if (kept != 0 && range.begin_bytes <= ranges[kept - 1].end_bytes) {
      ranges[kept - 1].end_bytes = std::max(ranges[kept - 1].end_bytes, range.end_bytes);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

}  // namespace iw::runs
