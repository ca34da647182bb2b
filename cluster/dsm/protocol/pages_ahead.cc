// Pages that are opened together with one that faulted: those that the history expects
// (access_history.h), and pages of zeroes at their chosen home that are touched one after another.
#include <algorithm>

#include "dsm/protocol/pages.h"

namespace iw::dsm {
namespace {

// Neighbours behind the page that are looked at.
constexpr PageNumber window = 64;
constexpr PageNumber untouched_window = 16;

}  // namespace

// Neighbours of equal access change together.
class Pages::Opening {
 public:
  explicit Opening(PageMemory& memory) : memory_(memory) {}
  ~Opening() { flush(); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  void add(PageNumber page, Access access) {
    if (page != first_ + count_ || access != access_) {
      flush();
      first_ = page;
      access_ = access;
    }
    count_++;
  }

 private:
  void flush() {
    if (count_ > 0) memory_.allow(first_, count_, access_);
    count_ = 0;
  }

  PageMemory& memory_;
  PageNumber first_ = 0;
  std::size_t count_ = 0;
  Access access_ = Access::none;
};

Pages::Touch Pages::open_with_neighbours(PageNumber page, State& state, Access wanted) {
  const bool is_recent = history_.is_recent(state.history, wanted);
  AccessHistory::faulted(state.history, wanted);
  const bool is_untouched = std::exchange(state.is_untouched, false);
  // Zeroes at their home will hardly be loaded only, and stores there cost nobody anything.
  const bool opens_for_stores = is_untouched && !has_had_reader(page, state);
  const Access access = opens_for_stores ? Access::write : wanted;
  Opening opening(memory_);
  if (!prepare(page, state, access)) return Touch::no_memory;
  opening.add(page, access);
  if (is_recent) open_expected(page, wanted, opening);
  if (opens_for_stores && is_in_sequence(page)) open_untouched(page, opening);
  return Touch::open;
}

// At home there is no twin, which would say that nothing was stored: each reader fetches the page
// again.
bool Pages::is_expected(PageNumber page, const State& state, Access wanted) const {
  const bool is_costly =
      wanted == Access::write && state.home == me_ && has_had_reader(page, state);
  return history_.is_expected(
      state.history, wanted,
      is_costly ? AccessHistory::ahead_most_costly : AccessHistory::ahead_most);
}

void Pages::open_expected(PageNumber page, Access wanted, Opening& opening) {
  for (PageNumber next = page + 1; next < page + window; next++) {
    State* const state = states_.find(next);
    const bool may_open =
        state != nullptr && state->access < wanted && is_expected(next, *state, wanted);
    if (!may_open || (wanted == Access::write && is_ahead_of_home(next))) continue;
    if (!state->is_valid() && !fetch_ahead(next, *state)) continue;
    if (!prepare(next, *state, wanted)) return;
    opening.add(next, wanted);
    AccessHistory::opened_ahead(state->history, wanted);
    counts_.opened_ahead++;
  }
}

// Without a message. Not a new copy: an old one may have to go for it, and it may be one that is
// about to be opened.
bool Pages::fetch_ahead(PageNumber page, State& state) {
  const bool is_stale_copy = state.has_copy && !state.is_asked && state.home != me_;
  if (direct_ == nullptr || !is_stale_copy) return false;
  return read_directly(page, state, begin_question(page, state)) && state.is_valid();
}

// The answers come while the thread waits for the page.
void Pages::ask_ahead(PageNumber page, const State& asked) {
  if (!history_.is_recent(asked.history, Access::read)) return;
  for (PageNumber next = page + 1; next < page + window; next++) {
    State* const state = states_.find(next);
    const bool is_stale_copy =
        state != nullptr && state->has_copy && state->home != me_ && !state->is_valid();
    if (is_stale_copy && history_.is_expected(state->history, Access::read)) fetch(next, *state);
  }
}

// The page before it was touched first, too.
bool Pages::is_in_sequence(PageNumber page) const {
  const State* const before = page > 0 ? states_.find(page - 1) : nullptr;
  return before != nullptr && before->home == me_ && before->access == Access::write;
}

// Only where the program chose the home: otherwise the first rank that touches a page is its home.
void Pages::open_untouched(PageNumber page, Opening& opening) {
  for (PageNumber next = page + 1; next < page + untouched_window; next++) {
    if (chosen_home(next) != me_ || !is_zeroes(next)) return;
    State& state = state_of(next);
    if (state.home || state.is_asked || state.has_copy || state.is_initial) return;
    state.home = me_;
    has_initial(next, state);
    state.is_untouched = false;
    if (!state.is_valid() || !prepare(next, state, Access::write)) return;
    opening.add(next, Access::write);
    counts_.opened_ahead++;
  }
}

// At the first barrier, and no rank has been its home since.
bool Pages::is_zeroes(PageNumber page) {
  if (me_ == 0 || page >= zeroes_from_) return true;
  const auto initial = direct_ != nullptr ? direct_->find_initial(page) : std::nullopt;
  return initial && initial->empty();
}

}  // namespace iw::dsm
