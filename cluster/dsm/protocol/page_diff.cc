#include "dsm/protocol/page_diff.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

namespace iw::dsm {
namespace {

// Before each run's bytes; both numbers have their lowest byte first.
struct RunHead {
  std::uint16_t offset = 0;
  std::uint16_t bytes_less_1 = 0;

  std::size_t bytes() const { return std::size_t{bytes_less_1} + 1; }
  std::size_t end() const { return offset + bytes(); }
};

using Word = std::uint64_t;
static_assert(std::endian::native == std::endian::little, "a word's first byte is its lowest");

constexpr std::size_t block_bytes = 64;
// Runs of so many bytes are copied without a look at their length.
constexpr std::size_t short_bytes = 16;
static_assert(most_run_bytes(0) >= short_bytes);

// A bit for each of 64 bytes: 1 if they differ.
#if defined(__SSE2__)
Word differing_bytes(const std::byte* one, const std::byte* other) {
  Word equal = 0;
  for (std::size_t i = 0; i < block_bytes; i += sizeof(__m128i)) {
    const __m128i same =
        _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(one + i)),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(other + i)));
    equal |= Word{static_cast<std::uint16_t>(_mm_movemask_epi8(same))} << i;
  }
  return ~equal;
}
#else
// A bit for each byte: 1 if the byte is not 0.
Word bytes_to_bits(Word word) {
  constexpr Word low = 0x7f7f7f7f7f7f7f7f;
  const Word highest = (((word & low) + low) | word) & ~low;
  // Each byte's highest bit goes to another bit of the highest byte.
  return ((highest >> 7) * 0x0102040810204080) >> 56;
}

Word differing_bytes(const std::byte* one, const std::byte* other) {
  Word bits = 0;
  for (std::size_t i = 0; i < block_bytes; i += sizeof(Word)) {
    Word words[2];
    std::memcpy(&words[0], one + i, sizeof(Word));
    std::memcpy(&words[1], other + i, sizeof(Word));
    if (words[0] != words[1]) bits |= bytes_to_bits(words[0] ^ words[1]) << i;
  }
  return bits;
}
#endif

Word differing_bytes(std::span<const std::byte> one, std::span<const std::byte> other) {
  Word bits = 0;
  for (std::size_t i = 0; i < one.size(); i++) bits |= Word{one[i] != other[i]} << i;
  return bits;
}

class RunWriter {
 public:
  RunWriter(std::span<const std::byte> page, std::byte* room)
      : page_(page), room_(room), end_(room) {}

  void write(std::size_t begin, std::size_t end) {
    const RunHead head{static_cast<std::uint16_t>(begin),
                       static_cast<std::uint16_t>(end - begin - 1)};
    std::memcpy(end_, &head, sizeof head);
    const bool is_short = end - begin <= short_bytes && page_.size() - begin >= short_bytes;
    std::memcpy(end_ + sizeof head, page_.data() + begin, is_short ? short_bytes : end - begin);
    end_ += sizeof head + end - begin;
  }

  // The bits of 64 bytes, or fewer at the end. A run may continue in the next ones.
  void block(std::size_t offset, Word bits) {
    if (is_open_) {
      if (bits == ~Word{0}) return;
      write(begin_, offset + static_cast<std::size_t>(std::countr_one(bits)));
      bits &= bits + 1;
      is_open_ = false;
    }
    while (bits != 0) {
      const auto begin = static_cast<std::size_t>(std::countr_zero(bits));
      const auto bytes = static_cast<std::size_t>(std::countr_one(bits >> begin));
      if (begin + bytes == block_bytes) {
        begin_ = offset + begin;
        is_open_ = true;
        return;
      }
      write(offset + begin, offset + begin + bytes);
      bits &= bits + (Word{1} << begin);  // the lowest ones are no more
    }
  }

  std::size_t finish() {
    if (is_open_) write(begin_, page_.size());
    return static_cast<std::size_t>(end_ - room_);
  }

 private:
  const std::span<const std::byte> page_;
  std::byte* const room_;
  std::byte* end_;
  bool is_open_ = false;
  std::size_t begin_ = 0;  // of the run that is open
};

// Two copies of a power of two, which overlap: nothing outside is stored, because another thread
// may store there at the same time.
template <typename Part>
void copy_twice(std::byte* to, const std::byte* from, std::size_t bytes) {
  Part first, last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + bytes - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + bytes - sizeof last, &last, sizeof last);
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > short_bytes) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= sizeof(Word)) {
    copy_twice<Word>(to, from, bytes);
  } else if (bytes >= sizeof(std::uint32_t)) {
    copy_twice<std::uint32_t>(to, from, bytes);
  } else if (bytes >= sizeof(std::uint16_t)) {
    copy_twice<std::uint16_t>(to, from, bytes);
  } else {
    *to = *from;
  }
}

}  // namespace

std::size_t write_runs(std::span<const std::byte> twin, std::span<const std::byte> page,
                       std::span<std::byte> room) {
  RunWriter runs(page, room.data());
  std::size_t offset = 0;
  for (; offset + block_bytes <= page.size(); offset += block_bytes) {
    runs.block(offset, differing_bytes(twin.data() + offset, page.data() + offset));
  }
  runs.block(offset, differing_bytes(twin.subspan(offset), page.subspan(offset)));
  return runs.finish();
}

std::vector<std::byte> runs_between(std::span<const std::byte> twin,
                                    std::span<const std::byte> page) {
  std::vector<std::byte> runs(most_run_bytes(page.size()));
  runs.resize(write_runs(twin, page, runs));
  return runs;
}

bool are_whole(std::span<const std::byte> runs, std::size_t page_bytes) {
  const std::byte* at = runs.data();
  const std::byte* const end = at + runs.size();
  for (std::size_t least = 0; at != end;) {
    RunHead head;
    const auto left = static_cast<std::size_t>(end - at);
    if (left < sizeof head) return false;
    std::memcpy(&head, at, sizeof head);
    const bool is_whole = left - sizeof head >= head.bytes();
    if (!is_whole || head.offset < least || head.end() > page_bytes) return false;
    least = head.end();
    at += sizeof head + head.bytes();
  }
  return true;
}

bool apply_runs(std::span<const std::byte> runs, std::span<std::byte> page) {
  if (!are_whole(runs, page.size())) return false;
  const std::byte* const end = runs.data() + runs.size();
  for (const std::byte* at = runs.data(); at != end;) {
    RunHead head;
    std::memcpy(&head, at, sizeof head);
    copy(page.data() + head.offset, at + sizeof head, head.bytes());
    at += sizeof head + head.bytes();
  }
  return true;
}

}  // namespace iw::dsm
