#include "dsm/protocol/pages.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace iw::dsm {

void Pages::begin(std::span<const PageNumber> written_by_0, PageNumber end) {
  zeroes_from_ = end;
  for (const PageNumber page : written_by_0) {
    if (me_ != 0) break;
    state_of(page).is_initial = true;
    if (direct_ != nullptr) direct_->tell_initial_bytes(page);
  }
}

void Pages::place(PageNumber first, std::size_t count, Rank home, bool is_by_turns) {
  if (count == 0) return;
  const PageNumber end = first + count;
  // Older stretches keep their parts before and behind the new one.
  auto next = placed_.lower_bound(first);
  if (next != placed_.begin() && std::prev(next)->second.end > first) {
    Stretch& before = std::prev(next)->second;
    if (before.end > end) placed_.emplace(end, before);
    before.end = first;
  }
  while (next != placed_.end() && next->first < end) {
    if (next->second.end > end) placed_.emplace(end, next->second);
    next = placed_.erase(next);
  }
  placed_.emplace(first, Stretch{end, home, is_by_turns, first});
}

std::optional<Rank> Pages::chosen_home(PageNumber page) const {
  const auto behind = placed_.upper_bound(page);
  if (behind == placed_.begin()) return std::nullopt;
  const Stretch& found = std::prev(behind)->second;
  if (page >= found.end) return std::nullopt;
  const PageNumber turns = found.is_by_turns ? page - found.origin : 0;
  return static_cast<Rank>((found.home + turns) % ranks_);
}

void Pages::look_up_home(PageNumber page, State& state) const {
  if (!state.home) state.home = chosen_home(page);
}

Pages::Touch Pages::touch(PageNumber page, Access wanted) {
  State& state = state_of(page);
  if (state.access >= wanted) return Touch::open;
  const bool was_asked = state.is_asked;
  if (wanted == Access::write) give_up_diffs_of_writers(page, state);
  if (!state.is_valid()) fetch(page, state);
  if (!state.is_valid()) {
    if (looks_ahead_ && state.is_asked && !was_asked) ask_ahead(page, state);
    return Touch::asked;
  }
  return looks_ahead_ ? open_with_neighbours(page, state, wanted) : open(page, state, wanted);
}

// Returns false if the system has no memory for a twin. Otherwise the caller opens the page.
bool Pages::prepare(PageNumber page, State& state, Access access) {
  if (access == Access::write) {
    if (state.home != me_) {
      if (!memory_.make_twin(page)) return false;
      counts_.twins_made++;
      counts_.twins_most = std::max(counts_.twins_most, ++counts_.twins);
    }
    written_.push_back(page);
  }
  state.access = access;
  return true;
}

Pages::Touch Pages::open(PageNumber page, State& state, Access wanted) {
  if (!prepare(page, state, wanted)) return Touch::no_memory;
  memory_.allow(page, 1, wanted);
  return Touch::open;
}

// Asks for what is missing first: the home, then the contents.
void Pages::fetch(PageNumber page, State& state) {
  if (state.is_asked) return;
  look_up_home(page, state);
  if (!state.home) {
    state.is_asked = true;
    const Rank directory = directory_of(page);
    if (directory == me_) return take_home(page, state, home_in_directory(page, me_));
    std::optional<Rank> home;
    if (direct_ != nullptr) home = direct_->find_home(directory, page, me_);
    if (home) return take_home(page, state, *home);
    return mail_.ask_home(directory, page);
  }
  if (state.home == me_) {
    if (!state.has_copy) return fetch_initial(page, state);
    // The missing intervals come by diffs.
    return pull_for_itself(page, state);
  }
  const std::span<const Stamp> needed = begin_question(page, state);
  if (direct_ != nullptr && read_directly(page, state, needed)) return;
  state.is_asked = true;
  if (ask_writer(page, state)) return;
  asks_home(page);
  send_unsent(page, *state.home);
  mail_.ask_page(*state.home, page, needed);
}

// The intervals that its home has to have. Valid until the next question.
std::span<const Stamp> Pages::begin_question(PageNumber page, State& state) {
  state.asked.assign(state.needed.stamps().begin(), state.needed.stamps().end());
  question_.assign(state.asked.begin(), state.asked.end());
  if (state.own != 0) question_.push_back({me_, state.own});
  if (const Kept* kept = kept_states_.find(page)) {
    const auto ahead = kept->from_writers.stamps();
    question_.insert(question_.end(), ahead.begin(), ahead.end());
  }
  return question_;
}

bool Pages::read_directly(PageNumber page, State& state, std::span<const Stamp> needed) {
  if (!state.has_copy) direct_->tell_reader(*state.home, page);
  const std::span<const std::byte> bytes = direct_->find(*state.home, page, needed, &there_);
  if (bytes.empty()) return false;
  take_bytes(page, state, there_, bytes);
  counts_.direct_reads++;
  return true;
}

// The bytes have what was asked for, and those intervals.
void Pages::take_bytes(PageNumber page, State& state, std::span<const Stamp> there,
                       std::span<const std::byte> bytes) {
  if (!state.has_copy) {
    make_room_for_copy();
    has_new_copy(page, state);
  }
  memory_.fill(page, bytes);
  SparseTime has;
  for (const Stamp each : state.asked) has.raise(each);
  for (const Stamp each : there) has.raise(each);
  state.needed.drop_covered_by(has);
  has_bytes_of_home(page, state);
}

void Pages::fetch_initial(PageNumber page, State& state) {
  if (me_ == 0 || page >= zeroes_from_) {
    state.is_untouched = !state.is_initial;
    return has_initial(page, state);
  }
  const auto initial = direct_ != nullptr ? direct_->find_initial(page) : std::nullopt;
  if (initial) {
    state.is_untouched = initial->empty();
    if (!initial->empty()) memory_.fill(page, *initial);
    return has_initial(page, state);
  }
  state.is_asked = true;
  mail_.ask_initial(0, page);
}

void Pages::has_initial(PageNumber page, State& state) {
  state.is_initial = false;
  state.has_copy = true;
  if (direct_ != nullptr) direct_->tell_present(page);
  serve(page, state);
}

// Protection first, so that no store is lost of an application that continues to store.
void Pages::protect_written() {
  std::ranges::sort(written_);
  memory_.allow_all(written_, Access::read);
  for (const PageNumber page : written_) {
    State& state = state_of(page);
    state.access = Access::read;
    history_.closed(state.history);
  }
}

bool Pages::has_had_reader(PageNumber page, const State& state) const {
  return state.was_asked || (direct_ != nullptr && direct_->is_read(page));
}

// The reader has the bytes of some moment of this interval. All stores up to its end count as later
// ones.
void Pages::publish(PageNumber page, State& state) {
  state.is_private = false;
  written_.push_back(page);
}

void Pages::publish_read() {
  if (direct_ == nullptr || !direct_->has_new_readers()) return;
  std::erase_if(private_, [&](PageNumber page) {
    State& state = state_of(page);
    if (state.is_private && direct_->is_read(page)) publish(page, state);
    return !state.is_private;
  });
}

// A page that its home writes alone costs one fault, not one in each interval.
void Pages::keep_private() {
  std::erase_if(written_, [&](PageNumber page) {
    State& state = state_of(page);
    state.is_private = state.home == me_ && !has_had_reader(page, state);
    if (state.is_private) private_.push_back(page);
    return state.is_private;
  });
}

void Pages::end_interval() {
  publish_read();
  keep_private();
  if (written_.empty()) return;
  Interval interval{{me_, log_.known()[me_] + 1}, {}};
  history_.begin_period();
  protect_written();
  for (const PageNumber page : written_) {
    State& state = state_of(page);
    if (state.home != me_) {
      const std::span<const std::byte> runs = memory_.take_diff(page);
      counts_.twins--;
      join_line(page, state);
      if (runs.empty()) continue;
      send_or_keep(page, *state.home, interval.stamp.sequence, runs);
      state.own = interval.stamp.sequence;
    }
    history_.written(state.history);
    interval.pages.push_back(page);
  }
  written_.clear();
  mail_.flush_diffs();
  if (interval.pages.empty()) return;
  counts_.intervals++;
  log_.add(std::move(interval));
}

bool Pages::is_new(const Interval& interval) const {
  return interval.stamp.sequence > log_.known()[interval.stamp.writer];
}

bool Pages::is_written(const Interval& interval) const {
  return std::ranges::any_of(interval.pages, [&](PageNumber page) {
    const State* found = states_.find(page);
    return found != nullptr && found->access == Access::write;
  });
}

bool Pages::learn(std::span<const Interval> intervals) {
  const bool has_new = learn_first(intervals);
  close_stale();
  return has_new;
}

bool Pages::take_notice(std::span<const Interval> intervals, bool begins_period) {
  bool has_new = false, has_written = false;
  for (const Interval& each : intervals) {
    if (!is_new(each)) continue;
    has_new = true;
    has_written = has_written || is_written(each);
  }
  if (has_written) end_interval();
  if (has_new && begins_period) history_.begin_period();
  for (const Interval& each : intervals) {
    if (log_.add(each)) invalidate_all(each);
  }
  return has_new;
}

void Pages::invalidate_all(const Interval& interval) {
  for (const PageNumber page : interval.pages) {
    if (invalidate(page, interval.stamp)) open_stale_.push_back(page);
  }
}

// Those of all intervals together. No page is in two of them.
void Pages::close_stale() {
  std::ranges::sort(open_stale_);
  memory_.allow_all(open_stale_, Access::none);
  open_stale_.clear();
  give_back_stale();
}

bool Pages::invalidate(PageNumber page, Stamp by) {
  State& state = state_of(page);
  if (state.home == me_ && state.flushed.of(by.writer) >= by.sequence) return false;
  const bool was_valid = state.is_valid();
  state.needed.raise(by);
  if (options_.are_read_at_writers) lacks(page, by);
  if (was_valid && state.home != me_) begin_stale(page, state);
  const Access was = std::exchange(state.access, Access::none);
  if (was == Access::none) return false;
  history_.closed(state.history);
  return true;
}

void Pages::heard_ask_home(Rank from, PageNumber page) {
  mail_.tell_home(from, page, home_in_directory(page, from));
}

// This rank is the page's directory. Others may use its table at the same time.
Rank Pages::home_in_directory(PageNumber page, Rank otherwise) {
  if (direct_ != nullptr) return direct_->find_home(me_, page, otherwise).value_or(otherwise);
  return directory_.try_emplace(page, otherwise).first->second;
}

bool Pages::heard_tell_home(PageNumber page, Rank home) {
  State& state = state_of(page);
  if (!state.is_asked || state.home) return false;
  take_home(page, state, home);
  return true;
}

void Pages::take_home(PageNumber page, State& state, Rank home) {
  state.is_asked = false;
  state.home = home;
  fetch(page, state);
  if (state.is_valid()) listener_.ready(page);
}

void Pages::heard_ask_initial(Rank from, PageNumber page) {
  State& state = state_of(page);
  const bool has_bytes = std::exchange(state.is_initial, false);
  mail_.tell_initial(from, page, has_bytes ? memory_.read(page) : std::span<const std::byte>());
}

bool Pages::heard_tell_initial(PageNumber page, std::span<const std::byte> bytes) {
  State& state = state_of(page);
  if (!state.is_asked || state.home != me_ || state.has_copy) return false;
  state.is_asked = false;
  memory_.fill(page, bytes);
  has_initial(page, state);
  if (state.is_valid()) listener_.ready(page);
  return true;
}

bool Pages::heard_ask_page(Rank from, PageNumber page, std::span<const Stamp> needed) {
  State& state = state_of(page);
  look_up_home(page, state);
  const bool is_elsewhere = state.home && state.home != me_;
  const bool is_second =
      std::ranges::any_of(state.waiting, [&](const Waiting& each) { return each.rank == from; });
  const bool has_ended = std::ranges::all_of(
      needed, [&](Stamp each) { return each.writer != me_ || each.sequence <= log_.known()[me_]; });
  if (is_elsewhere || is_second || !has_ended) return false;
  state.was_asked = true;
  if (state.is_private) publish(page, state);
  state.waiting.push_back({from, {needed.begin(), needed.end()}});
  serve(page, state);
  return true;
}

// Answers who waits for the page and needs nothing that it lacks. The home may not have heard yet
// that it is the home: its directory said so to another rank first.
void Pages::serve(PageNumber page, State& state) {
  look_up_home(page, state);
  if (state.home != me_ || state.waiting.empty()) return;
  if (!state.has_copy) return fetch(page, state);
  std::erase_if(state.waiting, [&](const Waiting& each) {
    const auto is_there = [&](Stamp stamp) {
      return stamp.writer == me_ || state.flushed.of(stamp.writer) >= stamp.sequence;
    };
    if (!std::ranges::all_of(each.needed, is_there)) {
      pull(page, state, each.needed, each.rank);
      return false;
    }
    mail_.tell_page(each.rank, page, state.flushed.stamps(), memory_.read(page));
    return true;
  });
}

bool Pages::heard_tell_page(Rank from, PageNumber page, std::span<const Stamp> there,
                            std::span<const std::byte> bytes) {
  State& state = state_of(page);
  const Kept* const kept = kept_states_.find(page);
  const bool is_asked_of_writer = kept != nullptr && kept->asked.count > 0;
  const bool is_expected = state.is_asked && !is_asked_of_writer && state.home == from;
  if (!is_expected || from == me_) return false;
  state.is_asked = false;
  take_bytes(page, state, there, bytes);
  // Another thread may have acquired a lock meanwhile, and learned of an interval that the home did
  // not have. Then the page is touched, and asked for, again.
  listener_.ready(page);
  return true;
}

bool Pages::heard_diff(Rank from, PageNumber page, Sequence sequence,
                       std::span<const std::byte> runs) {
  State& state = state_of(page);
  const bool is_expected = state.home == me_ && state.has_copy && sequence > state.flushed.of(from);
  if (!is_expected || !memory_.apply(page, runs)) return false;
  state.flushed.raise({from, sequence});
  if (direct_ != nullptr) direct_->tell_flushed(page, {from, sequence});
  const bool was_valid = state.is_valid();
  state.needed.drop_covered_by(state.flushed);
  // A thread may wait for the page, and another one may have learned of more intervals meanwhile.
  if (state.is_asked) pull(page, state, state.needed.stamps(), me_);
  if (state.is_valid()) state.is_asked = false;
  serve(page, state);
  if (!was_valid && state.is_valid()) listener_.ready(page);
  return true;
}

}  // namespace iw::dsm
