// Copies of pages away from their home: those that are stale for long, and those above the limit,
// are given back to the system.
#include <algorithm>

#include "dsm/protocol/pages.h"

namespace iw::dsm {
namespace {

// Copies that are not written, and may be evicted, are not fewer. An instruction may load from two
// pages, and needs both at one time; so may one of each thread.
constexpr std::size_t clean_least = 16;
// Each copy that is given back is a system call, while the threads of the rank wait.
constexpr int given_back_most = 1024;

}  // namespace

void Pages::limit_copies(std::size_t pages) { copies_most_ = pages; }

void Pages::has_new_copy(PageNumber page, State& state) {
  state.has_copy = true;
  counts_.copies++;
  counts_.copies_most = std::max(counts_.copies_most, counts_.copies);
  join_line(page, state);
}

void Pages::join_line(PageNumber page, State& state) {
  if (copies_most_ == no_limit || state.is_in_line) return;
  state.is_in_line = true;
  line_.push_back(page);
}

void Pages::give_copy_back(PageNumber page, State& state) {
  if (state.access != Access::none) memory_.allow(page, 1, Access::none);
  state.access = Access::none;
  state.has_copy = false;
  memory_.give_back(page, 1);
  counts_.copies--;
}

// The copies that came first are looked at first. A page that is written leaves the line until its
// interval ends, so that a miss does not look at all of these. A page that is under way stays.
void Pages::make_room_for_copy() {
  const std::size_t most =
      std::max<std::size_t>(copies_most_, counts_.twins + std::min(copies_most_, clean_least));
  for (std::size_t left = line_.size(); left > 0 && counts_.copies >= most; left--) {
    const PageNumber page = line_.front();
    line_.pop_front();
    State& state = state_of(page);
    state.is_in_line = false;
    if (!state.has_copy || state.access == Access::write) continue;
    if (state.is_asked) {
      join_line(page, state);
    } else {
      give_copy_back(page, state);
      counts_.evictions++;
    }
  }
}

// Whether a thread had touched the copy or not: it may have been fetched ahead.
void Pages::begin_stale(PageNumber page, State& state) {
  state.stale_since = history_.period();
  stale_.push_back({page, state.stale_since});
}

// The rest is given back at the next synchronisation.
void Pages::give_back_stale() {
  for (int given = 0; given < given_back_most && !stale_.empty();) {
    const auto [page, since] = stale_.front();
    if (history_.period() - since < stale_periods_) return;
    stale_.pop_front();
    State& state = state_of(page);
    const bool is_still_stale =
        state.has_copy && !state.needed.empty() && state.stale_since == since;
    if (!is_still_stale) continue;
    if (state.is_asked) {
      // The answer may lack something again.
      begin_stale(page, state);
      continue;
    }
    give_copy_back(page, state);
    counts_.stale_given_back++;
    given++;
  }
}

}  // namespace iw::dsm
