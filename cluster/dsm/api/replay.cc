#include "dsm/api/replay.h"

#include <algorithm>
#include <utility>

namespace iw::dsm {

void Replay::leave_to_first_touch(PageNumber first, std::size_t count, Rank ranks) {
  const PageNumber end = first + count;
  for (const Placement& each : std::exchange(homes_, {})) {
    const PageNumber each_end = each.first + each.count;
    if (each.first < first) {
      homes_.push_back(
          {each.first, std::min(each_end, first) - each.first, each.home, each.is_by_turns});
    }
    if (each_end > end) {
      const PageNumber from = std::max(each.first, end);
      const PageNumber turns = each.is_by_turns ? from - each.first : 0;
      homes_.push_back({from, each_end - from, static_cast<Rank>((each.home + turns) % ranks),
                        each.is_by_turns});
    }
  }
}

void Replay::place_blocks(PageNumber first, std::size_t count, Rank ranks) {
  for (Rank rank = 0; rank < ranks; rank++) {
    const std::size_t begin = count * rank / ranks;
    const std::size_t end = count * (rank + std::size_t{1}) / ranks;
    place_at(first + begin, end - begin, rank);
  }
}

void Replay::place_round_robin(PageNumber first, std::size_t count) {
  if (count > 0) homes_.push_back({first, count, 0, true});
}

void Replay::place_at(PageNumber first, std::size_t count, Rank home) {
  if (count > 0) homes_.push_back({first, count, home, false});
}

}  // namespace iw::dsm
