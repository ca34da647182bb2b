// Atomic changes of words of a segment's data: adding, swapping, and a barrier that counts
// [DDSS-WORD-1..2].
#include "ddss/segment.h"

namespace iw::ddss {

int Segment::change(std::size_t offset, const Atomic& what, std::uint64_t* before) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  const std::size_t size = descriptor_.size;
  if (offset % word != 0) return DDSS_EARGUMENT;
  if (offset > size || size - offset < word) return DDSS_ERANGE;
  switch (descriptor_.model) {
    case DDSS_NULL:
      return change_word(offset, what, before);
    case DDSS_READ:
    case DDSS_WRITE:
    case DDSS_STRICT:
      return under_lock([&] { return change_word(offset, what, before); });
    default:
      return DDSS_EMODEL;
  }
}

int Segment::change_word(std::size_t offset, const Atomic& what, std::uint64_t* before) {
  const int error = check_key();
  if (error != 0) return error;
  const std::size_t at = data_offset() + offset;
  return what.is_swap ? data_.swap(at, what.expected, what.value, before)
                      : data_.add(at, what.value, before);
}

// The word counts all arrivals there ever were. It is never set back, so no thread misses that its
// turn is complete.
int Segment::barrier(int count) {
  if (count < 1) return DDSS_EARGUMENT;
  if (descriptor_.model != DDSS_NULL) return DDSS_EMODEL;
  std::uint64_t before = 0;
  const int error = change(0, {false, 1, 0}, &before);
  if (error != 0) return error;
  const auto each = static_cast<std::uint64_t>(count);
  return await_count((before / each + 1) * each);
}

// A thread that stops waiting takes its 1 away, unless the last thread has arrived meanwhile.
int Segment::await_count(std::uint64_t count) {
  Patience patience(data_);
  for (;;) {
    std::uint64_t now = 0;
    int error = data_.get(data_offset(), &now);
    if (error != 0) return error;
    if (now >= count) return check_key();
    if ((error = patience.pause()) == 0) continue;
    std::uint64_t before = 0;
    const int swapped = data_.swap(data_offset(), now, now - 1, &before);
    if (swapped != 0 || before == now) return error;
  }
}

}  // namespace iw::ddss
