// The pages of one rank: faults, homes, intervals and diffs. A pure state machine: it touches no
// memory of the application, sends nothing itself and never waits. Implements [DSM-PAGE-1] to
// [DSM-PAGE-8] of spec/cluster/dsm.x (PIPE, section 2.1).
//
// A page of one rank:
//
//   state    the application may   how it gets there
//   absent   nothing               at first
//   stale    nothing               somebody's interval has it (a write notice), and its home is not
//                                  known to have that interval's diff
//   read     load                  it came from its home; or an interval ended
//   write    load and store        a store; away from home a twin was made first
//
// Invariants: a page with a twin is in state write and in the list of written pages. A page that
// is stale has no twin. The time of a diff is told to others only after the diff is on its way.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dsm/interval_log.h"
#include "dsm/time.h"

namespace iw::dsm {

enum class Access : std::uint8_t { none, read, write };

// The bytes of the heap in this process, and its protection. Pages have all the same size.
class PageMemory {
 public:
  virtual ~PageMemory() = default;
  virtual void allow(PageNumber page, Access access) = 0;
  virtual void make_twin(PageNumber page) = 0;
  // The runs in which the page differs from its twin; empty: none. The twin is dropped.
  virtual std::vector<std::byte> take_diff(PageNumber page) = 0;
  virtual void apply(PageNumber page, std::span<const std::byte> runs) = 0;
  virtual std::span<const std::byte> read(PageNumber page) = 0;
  // Replaces the whole page. No bytes: with zeroes.
  virtual void fill(PageNumber page, std::span<const std::byte> bytes) = 0;
  // The page may be accessed in another way than before: threads that wait for it touch it again.
  virtual void ready(PageNumber page) = 0;
};

// What ranks say to each other about pages. Messages of one rank to another arrive in their order.
class PageMail {
 public:
  virtual ~PageMail() = default;
  virtual void ask_home(Rank to, PageNumber page) = 0;
  virtual void tell_home(Rank to, PageNumber page, Rank home) = 0;
  virtual void ask_initial(Rank to, PageNumber page) = 0;
  virtual void tell_initial(Rank to, PageNumber page, std::span<const std::byte> bytes) = 0;
  virtual void ask_page(Rank to, PageNumber page, std::span<const Stamp> needed) = 0;
  virtual void tell_page(Rank to, PageNumber page, std::span<const std::byte> bytes) = 0;
  virtual void send_diff(Rank to, PageNumber page, Sequence sequence,
                         std::span<const std::byte> runs) = 0;
  // The interval has no more diffs.
  virtual void flush_diffs() = 0;
};

class Pages {
 public:
  Pages(Rank me, Rank ranks, PageMemory& memory, PageMail& mail)
      : me_(me), ranks_(ranks), memory_(memory), mail_(mail), log_(ranks) {}

  // The replay is over [DSM-START-1]. Rank 0 wrote these pages in it; pages from `end` on are
  // zeroes everywhere.
  void begin(std::span<const PageNumber> written_by_0, PageNumber end);
  // The home is chosen, by all ranks alike, before anybody touches the page.
  void place(PageNumber page, Rank home) { state_of(page).home = home; }

  // True: the application may load or store. False: `ready` will say when to touch again.
  bool touch(PageNumber page, Access wanted);
  // Diffs what was written since the last interval, and sends the diffs to the pages' homes.
  void end_interval();
  // At an acquire or a barrier: these intervals happened before [DSM-TIME-2].
  void learn(std::span<const Interval> intervals);

  const IntervalLog& log() const { return log_; }
  void forget_up_to(const VectorTime& time) { log_.forget_up_to(time); }

  void heard_ask_home(Rank from, PageNumber page);
  void heard_tell_home(PageNumber page, Rank home);
  void heard_ask_initial(Rank from, PageNumber page);
  void heard_tell_initial(PageNumber page, std::span<const std::byte> bytes);
  void heard_ask_page(Rank from, PageNumber page, std::span<const Stamp> needed);
  void heard_tell_page(PageNumber page, std::span<const std::byte> bytes);
  void heard_diff(Rank from, PageNumber page, Sequence sequence, std::span<const std::byte> runs);

 private:
  struct Waiting {
    Rank rank;
    std::vector<Stamp> needed;
  };
  struct State {
    std::optional<Rank> home;
    Access access = Access::none;
    bool has_copy = false;
    // The answer to a question about the page is under way.
    bool is_asked = false;
    // Rank 0 keeps what it wrote in the replay for the page's home.
    bool is_initial = false;
    // Intervals of others that the copy here lacks.
    SparseTime needed;
    // Needed when the page was asked for.
    std::vector<Stamp> asked;
    // The last diff that this rank sent of the page.
    Sequence own = 0;
    // At home: whose diffs the page has, and who waits for it.
    SparseTime flushed;
    std::vector<Waiting> waiting;

    bool is_valid() const { return has_copy && needed.empty(); }
  };

  State& state_of(PageNumber page) { return states_[page]; }
  Rank directory_of(PageNumber page) const { return static_cast<Rank>(page % ranks_); }
  void open(PageNumber page, State& state, Access wanted);
  void fetch(PageNumber page, State& state);
  void fetch_initial(PageNumber page, State& state);
  void has_initial(PageNumber page, State& state);
  void serve(PageNumber page, State& state);
  bool is_written(const Interval& interval) const;
  void invalidate(PageNumber page, Stamp by);

  const Rank me_;
  const Rank ranks_;
  PageMemory& memory_;
  PageMail& mail_;
  IntervalLog log_;
  std::unordered_map<PageNumber, State> states_;
  std::unordered_map<PageNumber, Rank> directory_;  // of the pages that this rank keeps it for
  std::vector<PageNumber> written_;                 // in the present interval
  PageNumber zeroes_from_ = 0;
};

}  // namespace iw::dsm
