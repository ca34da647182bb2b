// Diffs that stay at their writers: until their home asks for them [DSM-PULL-1] [DSM-PULL-3], or
// for readers [DSM-PULL-2].
//
// A reader's copy must have all that happened before, in the order in which it happened:
//
// - The writer is asked only for intervals that made the copy stale after it was last whole. An
//   older diff could undo what this rank, or another one, stored behind it.
// - The diffs of one writer only: of several the home knows the order.
// - A rank stores only to a copy whose diffs the home has. The home applies diffs as they come, so
//   the rank's own diff could come to the home before one that it follows.
#include <algorithm>

#include "dsm/protocol/messages.h"
#include "dsm/protocol/page_diff.h"
#include "dsm/protocol/pages.h"

namespace iw::dsm {

void Pages::send_or_keep(PageNumber page, Rank home, Sequence sequence,
                         std::span<const std::byte> runs) {
  if (!options_.are_pulled) mail_.send_diff(home, page, sequence, runs);
  if (!are_kept()) return;
  kept_.keep(page, {sequence, {runs.begin(), runs.end()}, !options_.are_pulled});
  while (kept_.bytes() > options_.kept_bytes_most) {
    const PageNumber oldest = kept_.oldest_page();
    send_unsent(oldest, *state_of(oldest).home);
    if (options_.are_read_at_writers) kept_.drop_first(oldest);
  }
}

// Without a message if there is nothing.
void Pages::send_unsent(PageNumber page, Rank home) {
  if (!options_.are_pulled) return;
  bool is_any = false;
  kept_.send_unsent(page, [&](const KeptDiff& each) {
    mail_.send_diff(home, page, each.sequence, each.runs);
    is_any = true;
  });
  if (is_any) mail_.flush_diffs();
  if (!options_.are_read_at_writers) kept_.drop_sent(page);
}

// The home asks for what it lacks of `needed`, once. The asker has sent its own already.
void Pages::pull(PageNumber page, State& state, std::span<const Stamp> needed, Rank asker) {
  if (!options_.are_pulled) return;
  Kept& kept = kept_states_.of(page);
  for (const Stamp each : needed) {
    const bool is_coming = each.writer == me_ || each.writer == asker ||
                           state.flushed.of(each.writer) >= each.sequence ||
                           kept.pulled.of(each.writer) >= each.sequence;
    if (is_coming) continue;
    kept.pulled.raise(each);
    counts_.pulls++;
    mail_.pull_diffs(each.writer, page, each.sequence, asker);
  }
}

// This rank is the home, and its page is stale.
void Pages::pull_for_itself(PageNumber page, State& state) {
  if (!options_.are_pulled) return;
  // Until all of them have come.
  state.is_asked = true;
  pull(page, state, state.needed.stamps(), me_);
}

// The copy lacks one more interval.
void Pages::lacks(PageNumber page, Stamp by) {
  Kept& kept = kept_states_.of(page);
  if (kept.lacking.count > 0 && kept.lacking_of != by.writer) kept.lacking = DiffRange::none();
  kept.lacking_of = by.writer;
  kept.lacking.add(by.sequence);
}

// False: the home is to be asked.
bool Pages::ask_writer(PageNumber page, const State& state) {
  if (!options_.are_read_at_writers) return false;
  Kept& kept = kept_states_.of(page);
  const auto needed = state.needed.stamps();
  const bool is_of_one = state.has_copy && kept.lacking.is_range() && needed.size() == 1 &&
                         needed[0] == Stamp{kept.lacking_of, kept.lacking.last} &&
                         kept.lacking_of != *state.home;
  if (!is_of_one) return false;
  kept.asked = std::exchange(kept.lacking, {});
  mail_.ask_diffs(kept.lacking_of, page, kept.asked);
  return true;
}

// Intervals that come from now on are not among those that the home is asked for.
void Pages::asks_home(PageNumber page) {
  if (options_.are_read_at_writers) kept_states_.of(page).lacking = {};
}

// They may have intervals, too, that came since the home was asked.
void Pages::has_bytes_of_home(PageNumber page, const State& state) {
  if (!options_.are_read_at_writers) return;
  Kept& kept = kept_states_.of(page);
  kept.from_writers = {};
  kept.lacking = state.needed.empty() ? DiffRange{} : DiffRange::none();
}

bool Pages::is_ahead_of_home(PageNumber page) const {
  const Kept* const kept = kept_states_.find(page);
  return kept != nullptr && !kept->from_writers.empty();
}

// Before a store.
void Pages::give_up_diffs_of_writers(PageNumber page, State& state) {
  if (!is_ahead_of_home(page)) return;
  Kept& kept = kept_states_.of(page);
  for (const Stamp each : kept.from_writers.stamps()) state.needed.raise(each);
  kept.from_writers = {};
  kept.lacking = DiffRange::none();
  if (std::exchange(state.access, Access::none) != Access::none) {
    memory_.allow(page, 1, Access::none);
  }
}

// A home asks for a diff that never was because another rank said that it needs one.
bool Pages::heard_pull_diffs(Rank from, PageNumber page, Sequence last, Rank asker) {
  const State* const state = states_.find(page);
  const bool is_any = state != nullptr && state->own != 0;
  if (!options_.are_pulled || (is_any && state->home != from)) return false;
  if (!is_any || state->own < last) {
    listener_.needs_no_interval(asker, page);
  } else {
    send_unsent(page, from);
  }
  return true;
}

void Pages::heard_ask_diffs(Rank from, PageNumber page, const DiffRange& range) {
  std::vector<const KeptDiff*> found = kept_.find(page, range);
  std::size_t bytes = 0;
  for (const KeptDiff* each : found) bytes += packed_bytes(each->runs.size());
  if (bytes > page_bytes_) found.clear();
  mail_.tell_diffs(from, page, found);
}

bool Pages::heard_tell_diffs(Rank from, PageNumber page, std::span<const ToldDiff> diffs) {
  Kept* const kept = kept_states_.find(page);
  State& state = state_of(page);
  const bool is_expected = kept != nullptr && kept->asked.count > 0 && state.is_asked &&
                           state.asked[0].writer == from &&
                           (diffs.empty() || is_answer_to(kept->asked, diffs));
  // All of them before the first changes the page: the message is taken whole or not at all.
  const bool are_sound = std::ranges::all_of(
      diffs, [&](const ToldDiff& each) { return are_whole(each.runs, page_bytes_); });
  if (!is_expected || !are_sound) return false;
  for (const ToldDiff& each : diffs) {
    if (!memory_.apply(page, each.runs)) return false;
  }
  state.is_asked = false;
  kept->asked = {};
  if (diffs.empty()) {
    kept->lacking = DiffRange::none();
  } else {
    SparseTime has;
    has.raise(state.asked[0]);
    state.needed.drop_covered_by(has);
    if (state.needed.empty()) kept->lacking = {};
    kept->from_writers.raise(state.asked[0]);
    counts_.writer_reads++;
  }
  listener_.ready(page);
  return true;
}

bool Pages::is_answer_to(const DiffRange& asked, std::span<const ToldDiff> diffs) {
  return diffs.size() == asked.count && diffs.front().sequence == asked.first &&
         diffs.back().sequence == asked.last &&
         std::ranges::adjacent_find(diffs, std::ranges::greater_equal(), &ToldDiff::sequence) ==
             diffs.end();
}

}  // namespace iw::dsm
