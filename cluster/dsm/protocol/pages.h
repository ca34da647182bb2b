// The pages of one rank: faults, homes, intervals and diffs. A pure state machine: it touches no
// memory of the application, sends nothing itself and never waits. The memory that a fault needs
// for its own page is not malloc's (fault_memory.h). Implements [DSM-PAGE-1] to [DSM-PAGE-8],
// [DSM-PULL-1] to [DSM-PULL-3] of spec/cluster/dsm.x (PIPE, sections 2.1, 3 and 7).
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
// is stale has no twin. A page in state write at its home is in that list or private [DSM-PAGE-10].
// The time of a diff is told to others only after the diff is on its way.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dsm/protocol/access_history.h"
#include "dsm/protocol/diff_store.h"
#include "dsm/protocol/fault_memory.h"
#include "dsm/protocol/interval_log.h"
#include "dsm/protocol/page_memory.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

// The messages of ranks about pages. Messages of one rank to another arrive in their order, but for
// diffs, which others may overtake [DSM-PAGE-7].
class PageMail {
 public:
  virtual ~PageMail() = default;
  virtual void ask_home(Rank to, PageNumber page) = 0;
  virtual void tell_home(Rank to, PageNumber page, Rank home) = 0;
  virtual void ask_initial(Rank to, PageNumber page) = 0;
  virtual void tell_initial(Rank to, PageNumber page, std::span<const std::byte> bytes) = 0;
  virtual void ask_page(Rank to, PageNumber page, std::span<const Stamp> needed) = 0;
  // The bytes have the diffs of all intervals up to those in `there`, besides the needed ones. They
  // stay where they are, and may be sent later: newer bytes do no harm.
  virtual void tell_page(Rank to, PageNumber page, std::span<const Stamp> there,
                         std::span<const std::byte> bytes) = 0;
  virtual void send_diff(Rank to, PageNumber page, Sequence sequence,
                         std::span<const std::byte> runs) = 0;
  // The interval has no more diffs.
  virtual void flush_diffs() = 0;
  // The home asks for all that were not sent: up to `last` for the rank `asker`.
  virtual void pull_diffs(Rank to, PageNumber page, Sequence last, Rank asker) = 0;
  // A reader asks.
  virtual void ask_diffs(Rank to, PageNumber page, const DiffRange& range) = 0;
  // All that were asked for, or none.
  virtual void tell_diffs(Rank to, PageNumber page, std::span<const KeptDiff* const> diffs) = 0;
};

// Pages and tables that are read in other ranks' memory, without their processors [DSM-PAGE-9].
class DirectPages {
 public:
  virtual ~DirectPages() = default;
  // This rank is the page's home and has its bytes.
  virtual void tell_present(PageNumber page) = 0;
  // They have that interval's diff.
  virtual void tell_flushed(PageNumber page, Stamp stamp) = 0;
  // The page's bytes at its home, and in *there which intervals they have besides those that are
  // needed. Empty: they cannot be reached, or lack something that is needed.
  virtual std::span<const std::byte> find(Rank home, PageNumber page, std::span<const Stamp> needed,
                                          std::vector<Stamp>* there) = 0;
  // This rank is going to read the page at its home for the first time [DSM-PAGE-10].
  virtual void tell_reader(Rank home, PageNumber page) = 0;
  // Other ranks have told of pages here since the last call.
  virtual bool has_new_readers() = 0;
  // Another rank has told that it reads the page here.
  virtual bool is_read(PageNumber page) = 0;
  // The page's home as its directory has it, and `otherwise` from now on if it has none. Nothing:
  // the directory cannot be reached. This rank can reach itself.
  virtual std::optional<Rank> find_home(Rank directory, PageNumber page, Rank otherwise) = 0;
  // This rank is rank 0, and has the page's initial bytes.
  virtual void tell_initial_bytes(PageNumber page) = 0;
  // They are empty if the page is zeroes. Nothing: rank 0 cannot be reached.
  virtual std::optional<std::span<const std::byte>> find_initial(PageNumber page) = 0;
};

class PageListener {
 public:
  virtual ~PageListener() = default;
  // The page may be accessed in another way than before: threads that wait for it touch it again.
  virtual void ready(PageNumber page) = 0;
  // That rank needs a diff of this rank that never was [DSM-PULL-3].
  virtual void needs_no_interval(Rank asker, PageNumber page) = 0;
};

// A value for each page that was ever asked for: the table grows with these pages, by chunks of
// neighbours. A value stays where it is.
template <typename Value>
class PageTable {
 public:
  Value& of(PageNumber page) {
    const std::size_t chunk = page / chunk_pages;
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    if (!chunks_[chunk]) chunks_[chunk] = make_for_faults<Chunk>();
    return (*chunks_[chunk])[page % chunk_pages];
  }
  const Value* find(PageNumber page) const {
    const std::size_t chunk = page / chunk_pages;
    if (chunk >= chunks_.size() || !chunks_[chunk]) return nullptr;
    return &(*chunks_[chunk])[page % chunk_pages];
  }
  Value* find(PageNumber page) { return const_cast<Value*>(std::as_const(*this).find(page)); }

 private:
  static constexpr std::size_t chunk_pages = fault_chunk_bytes / sizeof(Value);
  using Chunk = std::array<Value, chunk_pages>;
  FaultVector<FaultPointer<Chunk>> chunks_;
};

// Which diffs stay at their writers.
struct DiffOptions {
  bool are_pulled = false;           // by their homes [DSM-PULL-1]; equal at all ranks
  bool are_read_at_writers = false;  // [DSM-PULL-2]
  std::size_t kept_bytes_most = std::size_t{16} << 20;
};

struct PageCounts {
  std::uint64_t pulls = 0;         // questions of this rank, as a home, for diffs
  std::uint64_t writer_reads = 0;  // of pages, by the diffs of their last writer
  std::uint64_t kept_bytes = 0;    // of diffs that this rank keeps, now
  std::uint64_t kept_bytes_most = 0;
  std::uint64_t intervals = 0;     // in which this rank changed pages
  std::uint64_t direct_reads = 0;  // of pages, in the memory of their homes
  std::uint64_t twins_made = 0;
  std::uint64_t twins = 0;  // now
  std::uint64_t twins_most = 0;
  std::uint64_t opened_ahead = 0;  // pages, with another one that faulted
  std::uint64_t copies = 0;        // of pages away from their home, now
  std::uint64_t copies_most = 0;
  std::uint64_t evictions = 0;         // of copies, because of the limit
  std::uint64_t stale_given_back = 0;  // copies
};

class Pages {
 public:
  Pages(Rank me, Rank ranks, PageMemory& memory, PageMail& mail, PageListener& listener)
      : me_(me), ranks_(ranks), memory_(memory), mail_(mail), listener_(listener), log_(ranks) {
    there_.reserve(ranks);
  }

  // Before begin(). Outlives this. Without it, pages come by messages.
  void use(DirectPages* direct) { direct_ = direct; }
  // Before begin(), too.
  void use(const DiffOptions& options, std::size_t page_bytes) {
    options_ = options;
    page_bytes_ = page_bytes;
  }
  // The replay is over [DSM-START-1]. Rank 0 wrote these pages in it; pages from `end` on are
  // zeroes everywhere.
  void begin(std::span<const PageNumber> written_by_0, PageNumber end);
  // The homes are chosen, by all ranks alike, before anybody touches the pages. The last choice for
  // a page counts. Takes memory for a stretch of pages, not for each.
  // By turns: the next page is at the next rank.
  void place(PageNumber first, std::size_t count, Rank home, bool is_by_turns = false);

  // Copies of pages away from their home, at most. Pages that are written count, and stay.
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
  void limit_copies(std::size_t pages);
  // Copies are given back when they have been stale for so many periods, at
  // least 1.
  void give_back_after(std::uint32_t periods) { stale_periods_ = periods; }
  // Each page is opened by a fault of its own.
  void look_at_faults_only() { looks_ahead_ = false; }
  // Pages are opened ahead if so many were closed at the last synchronisation.
  void look_ahead_from(std::uint32_t closed) { history_.expect_from(closed); }

  // open: the application may load or store. asked: `ready` will say when to touch again.
  // no_memory: the page could not have a twin, and is as before.
  enum class Touch : std::uint8_t { open, asked, no_memory };
  Touch touch(PageNumber page, Access wanted);
  // Diffs what was written since the last interval, and sends the diffs to the pages' homes.
  void end_interval();
  // At an acquire or a barrier: these intervals happened before [DSM-TIME-2]. All of one
  // synchronisation, because a period begins if some are new; returns whether it did.
  bool learn(std::span<const Interval> intervals);
  // The same at a barrier, where others wait for this rank: threads may access stale pages until
  // close_stale(). Only mail may be sent before it.
  bool learn_first(std::span<const Interval> intervals) { return take_notice(intervals, true); }
  // More of the same synchronisation: no other period begins.
  void learn_rest(std::span<const Interval> intervals) { take_notice(intervals, false); }
  void close_stale();

  // This rank is the page's home and has its bytes.
  bool is_at_home(PageNumber page) const {
    const State* state = states_.find(page);
    return state != nullptr && state->home == me_ && state->has_copy;
  }
  // The application may access the page in this way already.
  bool is_open(PageNumber page, Access wanted) const {
    const State* state = states_.find(page);
    return state != nullptr && state->access >= wanted;
  }

  const IntervalLog& log() const { return log_; }
  PageCounts counts() const {
    PageCounts all = counts_;
    all.kept_bytes = kept_.bytes();
    all.kept_bytes_most = kept_.bytes_most();
    return all;
  }
  void forget_up_to(const VectorTime& time) { log_.forget_up_to(time); }

  // False: the message is not one that the protocol allows now. Its sender broke the protocol.
  // Nothing has changed. REQUIRES: the heap has the page, and the job the ranks.
  void heard_ask_home(Rank from, PageNumber page);
  [[nodiscard]] bool heard_tell_home(PageNumber page, Rank home);
  void heard_ask_initial(Rank from, PageNumber page);
  [[nodiscard]] bool heard_tell_initial(PageNumber page, std::span<const std::byte> bytes);
  [[nodiscard]] bool heard_ask_page(Rank from, PageNumber page, std::span<const Stamp> needed);
  [[nodiscard]] bool heard_tell_page(Rank from, PageNumber page, std::span<const Stamp> there,
                                     std::span<const std::byte> bytes);
  // False, too: the runs are malformed.
  [[nodiscard]] bool heard_diff(Rank from, PageNumber page, Sequence sequence,
                                std::span<const std::byte> runs);
  [[nodiscard]] bool heard_pull_diffs(Rank from, PageNumber page, Sequence last, Rank asker);
  void heard_ask_diffs(Rank from, PageNumber page, const DiffRange& range);
  struct ToldDiff {
    Sequence sequence;
    std::span<const std::byte> runs;
  };
  [[nodiscard]] bool heard_tell_diffs(Rank from, PageNumber page, std::span<const ToldDiff> diffs);

 private:
  struct Waiting {
    Rank rank;
    FaultVector<Stamp> needed;
  };
  struct State {
    std::optional<Rank> home;
    Access access = Access::none;
    bool has_copy = false;
    // The answer to a question about the page is under way.
    bool is_asked = false;
    // Rank 0 keeps what it wrote in the replay for the page's home.
    bool is_initial = false;
    // At home: another rank asked for it.
    bool was_asked = false;
    // At home: open for stores across intervals, because no other rank has had it.
    bool is_private = false;
    // Intervals of others that the copy here lacks.
    SparseTime needed;
    // Needed when the page was asked for.
    FaultVector<Stamp> asked;
    // The last diff that this rank sent of the page.
    Sequence own = 0;
    // At home: whose diffs the page has, and who waits for it.
    SparseTime flushed;
    FaultVector<Waiting> waiting;
    AccessHistory::Page history;
    // At home: of zeroes, and not opened yet.
    bool is_untouched = false;
    // Away from home: in the line of copies that may go.
    bool is_in_line = false;
    // Away from home: the period in which the copy last became stale.
    std::uint32_t stale_since = 0;

    bool is_valid() const { return has_copy && needed.empty(); }
  };

  // More of a page's state, where diffs stay at their writers.
  struct Kept {
    // The intervals that made the copy stale since it was asked for last, if they are of one
    // writer.
    DiffRange lacking;
    Rank lacking_of = 0;
    // This writer was asked for these. Count 0: it was not, or has answered.
    DiffRange asked;
    // The copy has these diffs from their writers. The home may lack them.
    SparseTime from_writers;
    // At home: whose diffs were asked for.
    SparseTime pulled;
  };

  State& state_of(PageNumber page) { return states_.of(page); }
  Rank directory_of(PageNumber page) const { return static_cast<Rank>(page % ranks_); }
  bool prepare(PageNumber page, State& state, Access access);
  Touch open(PageNumber page, State& state, Access wanted);
  std::optional<Rank> chosen_home(PageNumber page) const;
  void look_up_home(PageNumber page, State& state) const;
  std::span<const Stamp> begin_question(PageNumber page, State& state);
  void fetch(PageNumber page, State& state);
  bool read_directly(PageNumber page, State& state, std::span<const Stamp> needed);
  void take_bytes(PageNumber page, State& state, std::span<const Stamp> there,
                  std::span<const std::byte> bytes);
  void fetch_initial(PageNumber page, State& state);
  void has_initial(PageNumber page, State& state);
  void serve(PageNumber page, State& state);
  bool has_had_reader(PageNumber page, const State& state) const;
  void publish(PageNumber page, State& state);
  void publish_read();
  void keep_private();
  void protect_written();
  bool take_notice(std::span<const Interval> intervals, bool begins_period);
  bool is_new(const Interval& interval) const;
  bool is_written(const Interval& interval) const;
  // The page has to be closed for the application.
  bool invalidate(PageNumber page, Stamp by);
  void invalidate_all(const Interval& interval);
  void take_home(PageNumber page, State& state, Rank home);
  // pages_kept.cc
  bool are_kept() const { return options_.are_pulled || options_.are_read_at_writers; }
  void send_or_keep(PageNumber page, Rank home, Sequence sequence, std::span<const std::byte> runs);
  void send_unsent(PageNumber page, Rank home);
  void pull(PageNumber page, State& state, std::span<const Stamp> needed, Rank asker);
  void pull_for_itself(PageNumber page, State& state);
  void lacks(PageNumber page, Stamp by);
  bool ask_writer(PageNumber page, const State& state);
  void asks_home(PageNumber page);
  void has_bytes_of_home(PageNumber page, const State& state);
  bool is_ahead_of_home(PageNumber page) const;
  void give_up_diffs_of_writers(PageNumber page, State& state);
  static bool is_answer_to(const DiffRange& asked, std::span<const ToldDiff> diffs);
  // pages_ahead.cc
  class Opening;
  Touch open_with_neighbours(PageNumber page, State& state, Access wanted);
  bool is_expected(PageNumber page, const State& state, Access wanted) const;
  void open_expected(PageNumber page, Access wanted, Opening& opening);
  bool fetch_ahead(PageNumber page, State& state);
  void ask_ahead(PageNumber page, const State& asked);
  bool is_in_sequence(PageNumber page) const;
  void open_untouched(PageNumber page, Opening& opening);
  bool is_zeroes(PageNumber page);
  // pages_copies.cc
  void has_new_copy(PageNumber page, State& state);
  void join_line(PageNumber page, State& state);
  void give_copy_back(PageNumber page, State& state);
  void make_room_for_copy();
  void begin_stale(PageNumber page, State& state);
  void give_back_stale();
  Rank home_in_directory(PageNumber page, Rank otherwise);

  const Rank me_;
  const Rank ranks_;
  PageMemory& memory_;
  PageMail& mail_;
  PageListener& listener_;
  DirectPages* direct_ = nullptr;
  std::vector<Stamp> there_;     // what the last page had that was read directly
  FaultVector<Stamp> question_;  // what the last page needs that was asked for
  IntervalLog log_;
  PageTable<State> states_;
  FaultMap<PageNumber, Rank> directory_;  // of the pages that this rank keeps it for
  // Chosen homes of stretches of pages, by the first page. Stretches do not overlap.
  struct Stretch {
    PageNumber end;
    Rank home;  // of the page `origin`
    bool is_by_turns;
    PageNumber origin;
  };
  std::map<PageNumber, Stretch> placed_;
  FaultVector<PageNumber> written_;     // in the present interval
  FaultVector<PageNumber> open_stale_;  // they are to be closed for the application
  FaultVector<PageNumber> private_;     // and some that are private no more
  PageNumber zeroes_from_ = 0;
  bool looks_ahead_ = true;
  AccessHistory history_;
  // Stale copies, in the order of the periods that made them stale. Some are valid again.
  struct Stale {
    PageNumber page;
    std::uint32_t since;
  };
  FaultDeque<Stale> stale_;
  // A stale page is usually fetched again soon. Until then its memory is kept for it.
  std::uint32_t stale_periods_ = 16;
  std::size_t copies_most_ = no_limit;
  FaultDeque<PageNumber> line_;  // copies, if they are limited, in the order in which they came
  DiffOptions options_;
  std::size_t page_bytes_ = 0;
  DiffStore kept_;
  PageTable<Kept> kept_states_;  // empty unless diffs stay at their writers
  PageCounts counts_;
};

}  // namespace iw::dsm
