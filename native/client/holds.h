// The locks that the calling thread holds [PROC-3, PROC-4]. What a thread still holds when it ends
// is given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace iw::client {

class Segment;

struct Hold {
  Segment* segment = nullptr;
  std::uint32_t reads = 0;
  std::uint32_t writes = 0;
  bool is_strict = false;     // counted among the segment's strict readers
  std::uint64_t opening = 0;  // which opening of the segment it belongs to
};

// Null: the thread holds nothing of the segment.
Hold* find_hold(const Segment* segment);
// Throws std::bad_alloc; one add_hold() of this thread after it does not. Pointers from find_hold
// are void.
void prepare_hold();
Hold& add_hold(const Hold& hold) noexcept;
void drop_hold(const Segment* segment) noexcept;
// The thread's holds, in the order of taking them; a copy, and a pointer as from find_hold, which
// is null behind the last.
std::vector<Hold> all_holds();
Hold* hold_at(std::size_t index) noexcept;

}  // namespace iw::client
