#include "dsm/pages.h"

#include <algorithm>
#include <utility>

namespace iw::dsm {

void Pages::begin(std::span<const PageNumber> written_by_0, PageNumber end) {
  zeroes_from_ = end;
  for (const PageNumber page : written_by_0) {
    if (me_ == 0) state_of(page).is_initial = true;
  }
}

bool Pages::touch(PageNumber page, Access wanted) {
  State& state = state_of(page);
  if (state.access >= wanted) return true;
  if (!state.is_valid()) fetch(page, state);
  if (!state.is_valid()) return false;
  open(page, state, wanted);
  return true;
}

void Pages::open(PageNumber page, State& state, Access wanted) {
  if (wanted == Access::write) {
    if (state.home != me_) memory_.make_twin(page);
    written_.push_back(page);
  }
  state.access = wanted;
  memory_.allow(page, wanted);
}

// Asks for what is missing first: the home, then the contents.
void Pages::fetch(PageNumber page, State& state) {
  if (state.is_asked) return;
  if (!state.home) {
    state.is_asked = true;
    const Rank directory = directory_of(page);
    if (directory != me_) return mail_.ask_home(directory, page);
    return heard_tell_home(page, directory_.try_emplace(page, me_).first->second);
  }
  if (state.home == me_) {
    // what is needed comes by diffs
    if (!state.has_copy) fetch_initial(page, state);
    return;
  }
  state.is_asked = true;
  state.asked.assign(state.needed.stamps().begin(), state.needed.stamps().end());
  std::vector<Stamp> needed = state.asked;
  if (state.own != 0) needed.push_back({me_, state.own});
  mail_.ask_page(*state.home, page, needed);
}

void Pages::fetch_initial(PageNumber page, State& state) {
  if (me_ == 0 || page >= zeroes_from_) return has_initial(page, state);
  state.is_asked = true;
  mail_.ask_initial(0, page);
}

void Pages::has_initial(PageNumber page, State& state) {
  state.is_initial = false;
  state.has_copy = true;
  serve(page, state);
}

void Pages::end_interval() {
  if (written_.empty()) return;
  Interval interval{{me_, log_.known()[me_] + 1}, {}};
  for (const PageNumber page : std::exchange(written_, {})) {
    State& state = state_of(page);
    state.access = Access::read;
    // Protection first, so that no store is lost of an application that continues to store.
    memory_.allow(page, Access::read);
    if (state.home != me_) {
      const std::vector<std::byte> runs = memory_.take_diff(page);
      if (runs.empty()) continue;
      mail_.send_diff(*state.home, page, interval.stamp.sequence, runs);
      state.own = interval.stamp.sequence;
    }
    interval.pages.push_back(page);
  }
  mail_.flush_diffs();
  if (!interval.pages.empty()) log_.add(std::move(interval));
}

bool Pages::is_written(const Interval& interval) const {
  return std::ranges::any_of(interval.pages, [&](PageNumber page) {
    const auto found = states_.find(page);
    return found != states_.end() && found->second.access == Access::write;
  });
}

void Pages::learn(std::span<const Interval> intervals) {
  if (std::ranges::any_of(intervals, [&](const Interval& each) { return is_written(each); })) {
    end_interval();
  }
  for (const Interval& each : intervals) {
    if (!log_.add(each)) continue;
    for (const PageNumber page : each.pages) invalidate(page, each.stamp);
  }
}

void Pages::invalidate(PageNumber page, Stamp by) {
  State& state = state_of(page);
  if (state.home == me_ && state.flushed.of(by.writer) >= by.sequence) return;
  state.needed.raise(by);
  if (state.access == Access::none) return;
  state.access = Access::none;
  memory_.allow(page, Access::none);
}

void Pages::heard_ask_home(Rank from, PageNumber page) {
  mail_.tell_home(from, page, directory_.try_emplace(page, from).first->second);
}

void Pages::heard_tell_home(PageNumber page, Rank home) {
  State& state = state_of(page);
  state.is_asked = false;
  state.home = home;
  fetch(page, state);
  if (state.is_valid()) memory_.ready(page);
}

void Pages::heard_ask_initial(Rank from, PageNumber page) {
  State& state = state_of(page);
  const bool has_bytes = std::exchange(state.is_initial, false);
  mail_.tell_initial(from, page, has_bytes ? memory_.read(page) : std::span<const std::byte>());
}

void Pages::heard_tell_initial(PageNumber page, std::span<const std::byte> bytes) {
  State& state = state_of(page);
  state.is_asked = false;
  memory_.fill(page, bytes);
  has_initial(page, state);
  if (state.is_valid()) memory_.ready(page);
}

void Pages::heard_ask_page(Rank from, PageNumber page, std::span<const Stamp> needed) {
  State& state = state_of(page);
  state.waiting.push_back({from, {needed.begin(), needed.end()}});
  serve(page, state);
}

// Answers who waits for the page and needs nothing that it lacks. The home may not have heard yet
// that it is the home: its directory said so to another rank first.
void Pages::serve(PageNumber page, State& state) {
  if (state.home != me_ || state.waiting.empty()) return;
  if (!state.has_copy) return fetch(page, state);
  std::erase_if(state.waiting, [&](const Waiting& each) {
    const auto is_there = [&](Stamp stamp) {
      return stamp.writer == me_ || state.flushed.of(stamp.writer) >= stamp.sequence;
    };
    if (!std::ranges::all_of(each.needed, is_there)) return false;
    mail_.tell_page(each.rank, page, memory_.read(page));
    return true;
  });
}

void Pages::heard_tell_page(PageNumber page, std::span<const std::byte> bytes) {
  State& state = state_of(page);
  memory_.fill(page, bytes);
  state.is_asked = false;
  state.has_copy = true;
  SparseTime there;
  for (const Stamp each : state.asked) there.raise(each);
  state.needed.drop_covered_by(there);
  // Another thread may have acquired a lock meanwhile. Then the page is touched, and asked for,
  // again.
  memory_.ready(page);
}

void Pages::heard_diff(Rank from, PageNumber page, Sequence sequence,
                       std::span<const std::byte> runs) {
  State& state = state_of(page);
  memory_.apply(page, runs);
  state.flushed.raise({from, sequence});
  const bool was_valid = state.is_valid();
  state.needed.drop_covered_by(state.flushed);
  serve(page, state);
  if (!was_valid && state.is_valid()) memory_.ready(page);
}

}  // namespace iw::dsm
