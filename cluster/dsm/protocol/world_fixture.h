// A cluster in one thread: ranks with a few threads and small pages, the messages between them, and
// programs that run on them. A test chooses which message arrives next, or which rank makes its
// next step.
//
// The model checks what programs rely on. The words that a lock protects are also kept in one place
// (`truth`), because the lock orders all who touch them. A load must find the word that stands
// there. Each load and store asks for access as a fault would, and is refused without it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsm/protocol/barriers.h"
#include "dsm/protocol/locks.h"
#include "dsm/protocol/page_diff.h"
#include "dsm/protocol/pages.h"

namespace iw::dsm {

using Word = std::uint32_t;
inline constexpr std::size_t words_a_page = 4;
inline constexpr std::size_t page_bytes = words_a_page * sizeof(Word);

// One operation of a program.
struct Step {
  enum class Kind : std::uint8_t { load, store, acquire, try_acquire, release, barrier } kind;
  std::uint64_t number = 0;  // a word, a lock or a barrier
  Word value = 0;            // to store
};

class World;

class ModelRank final : public PageMemory,
                        public PageMail,
                        public PageListener,
                        public DirectPages,
                        public LockMail,
                        public LockListener,
                        public BarrierMail,
                        public BarrierListener {
 public:
  ModelRank(World& world, Rank me, const BarrierTree& tree, std::size_t page_count)
      : world_(world),
        me_(me),
        bytes_(page_count * page_bytes),
        twins_(page_count),
        access_(page_count, Access::none),
        rows_(page_count, VectorTime(tree.ranks)),
        pages(me, tree.ranks, *this, *this, *this),
        locks(me, tree.ranks, pages, *this, *this),
        barriers(me, tree, pages, *this, *this) {}

  // What the rank's program stored in the replay.
  void store_initially(std::uint64_t word, Word value) {
    std::memcpy(&bytes_[word * sizeof value], &value, sizeof value);
  }

  void add_thread(std::vector<Step> program) { threads_.push_back({std::move(program)}); }
  std::size_t threads() const { return threads_.size(); }
  bool is_done() const {
    return std::ranges::all_of(threads_, [](const Thread& each) { return each.is_done(); });
  }
  // A page, a lock, the barrier or another thread.
  std::string waits() const {
    std::string text;
    for (const Thread& each : threads_) {
      if (!each.waits_for) continue;
      static constexpr const char* kinds[] = {"page", "lock", "barrier", "thread"};
      text += std::string(kinds[static_cast<std::size_t>(each.waits_for->kind)]) + " " +
              std::to_string(each.waits_for->number) + ", ";
    }
    return text;
  }
  bool may_step(std::size_t thread) const {
    return !threads_[thread].is_done() && !threads_[thread].waits_for;
  }
  void step(std::size_t thread);
  std::size_t twins_made() const { return twins_made_; }
  std::size_t twins() const { return twins_count_; }
  std::vector<std::string> mismatches;
  std::vector<Rank> gaps;  // these ranks' grants had some

  // PageMemory
  void allow(PageNumber first, std::size_t count, Access access) override {
    std::fill_n(access_.begin() + static_cast<std::ptrdiff_t>(first), count, access);
  }
  bool make_twin(PageNumber page) override {
    const auto now = page_of(page);
    twins_[page].assign(now.begin(), now.end());
    twins_count_++;
    twins_made_++;
    return true;
  }
  std::span<const std::byte> take_diff(PageNumber page) override {
    EXPECT_NE(access_[page], Access::write) << "a diff of a page that may change meanwhile";
    const std::vector<std::byte> twin = std::move(twins_[page]);
    twins_[page].clear();
    twins_count_--;
    runs_ = runs_between(twin, page_of(page));
    return runs_;
  }
  bool apply(PageNumber page, std::span<const std::byte> runs) override {
    return apply_runs(runs, page_of(page));
  }
  std::span<const std::byte> read(PageNumber page) override { return page_of(page); }
  void fill(PageNumber page, std::span<const std::byte> bytes) override {
    EXPECT_TRUE(twins_[page].empty()) << "stores are lost";
    const auto there = page_of(page);
    std::ranges::fill(there, std::byte{});
    std::ranges::copy(bytes, there.begin());
  }
  void give_back(PageNumber first, std::size_t count) override {
    for (PageNumber page = first; page < first + count; page++) {
      EXPECT_EQ(access_[page], Access::none) << "a page that is given back is in use";
      fill(page, {});
    }
  }

  // PageListener
  void ready(PageNumber page) override { wake({Awaited::Kind::page, page}); }
  void needs_no_interval(Rank asker, PageNumber page) override {
    ADD_FAILURE() << "rank " << asker << " needs an interval of page " << page << " that never was";
  }

  // PageMail
  void ask_home(Rank to, PageNumber page) override;
  void tell_home(Rank to, PageNumber page, Rank home) override;
  void ask_initial(Rank to, PageNumber page) override;
  void tell_initial(Rank to, PageNumber page, std::span<const std::byte> bytes) override;
  void ask_page(Rank to, PageNumber page, std::span<const Stamp> needed) override;
  void tell_page(Rank to, PageNumber page, std::span<const Stamp> there,
                 std::span<const std::byte> bytes) override;
  void send_diff(Rank to, PageNumber page, Sequence sequence,
                 std::span<const std::byte> runs) override;
  void flush_diffs() override {}
  void pull_diffs(Rank to, PageNumber page, Sequence last, Rank asker) override;
  void ask_diffs(Rank to, PageNumber page, const DiffRange& range) override;
  void tell_diffs(Rank to, PageNumber page, std::span<const KeptDiff* const> diffs) override;

  // DirectPages
  void tell_present(PageNumber page) override { rows_[page][me_] = 1; }
  void tell_flushed(PageNumber page, Stamp stamp) override {
    rows_[page][stamp.writer] = stamp.sequence;
  }
  std::span<const std::byte> find(Rank home, PageNumber page, std::span<const Stamp> needed,
                                  std::vector<Stamp>* there) override;
  void tell_reader(Rank home, PageNumber page) override;
  bool has_new_readers() override { return std::exchange(has_new_readers_, false); }
  bool is_read(PageNumber page) override { return read_.contains(page); }
  std::optional<Rank> find_home(Rank directory, PageNumber page, Rank otherwise) override;
  void tell_initial_bytes(PageNumber page) override { initial_.insert(page); }
  std::optional<std::span<const std::byte>> find_initial(PageNumber page) override;

  // LockMail and LockListener
  void ask_lock(Rank to, LockId lock, bool is_try, const VectorTime& known) override;
  void forward(Rank to, LockId lock, Rank asker, bool is_try, const VectorTime& known) override;
  void grant(Rank to, LockId lock, Epoch epoch, std::span<const Interval> intervals) override;
  void refuse(Rank to, LockId lock) override;
  void tell_tried(Rank to, LockId lock, bool is_given) override;
  void give_back(Rank to, Epoch epoch, std::span<const GivenLock> given) override;
  void take_back(Rank to, std::span<const GivenLock> given) override;
  void acquired(LockId lock) override;
  void not_acquired(LockId lock) override;
  void granted_with_gap(Rank from) override { gaps.push_back(from); }

  // BarrierMail and BarrierListener
  void arrive(Rank to, BarrierId barrier, const VectorTime& known,
              std::span<const Interval> held) override;
  void let_go(Rank to, const VectorTime& common, std::span<const Interval> lacking) override;
  void passed(const VectorTime& common) override {
    locks.passed_barrier(common);
    wake({Awaited::Kind::barrier, 0});
  }
  void mismatch(Rank rank, BarrierId there, BarrierId here) override {
    mismatches.push_back(std::to_string(rank) + ": " + std::to_string(there) + " and " +
                         std::to_string(here));
  }
  void arrived_twice(Rank rank, BarrierId barrier) override {
    mismatches.push_back(std::to_string(rank) + ": twice at " + std::to_string(barrier));
  }

 private:
  std::span<std::byte> page_of(PageNumber page) {
    return std::span(bytes_).subspan(page * page_bytes, page_bytes);
  }
  struct Awaited {
    enum class Kind : std::uint8_t { page, lock, barrier, thread } kind;
    std::uint64_t number;
    friend bool operator==(const Awaited&, const Awaited&) = default;
  };
  struct Thread {
    std::vector<Step> program;
    std::size_t next = 0;
    std::optional<Awaited> waits_for = std::nullopt;
    bool is_done() const { return next == program.size(); }
  };
  void wake(const Awaited& what);
  bool access_word(Thread& thread, const Step& step);
  void acquire(Thread& thread, const Step& step);
  void release(Thread& thread, LockId lock);
  Thread& thread_that_asked(LockId lock);
  void take_lock(Thread& thread, LockId lock);
  static void skip_section(Thread& thread);

  World& world_;
  const Rank me_;
  std::vector<std::byte> bytes_;
  std::vector<std::vector<std::byte>> twins_;
  std::vector<std::byte> runs_;  // of the last diff
  std::size_t twins_count_ = 0;
  std::size_t twins_made_ = 0;
  std::vector<Access> access_;
  std::vector<VectorTime> rows_;  // for other ranks that read directly
  std::set<PageNumber> read_;     // by them
  bool has_new_readers_ = false;
  std::map<PageNumber, Rank> homes_;  // as the directory
  std::set<PageNumber> initial_;
  std::vector<Thread> threads_;
  std::set<LockId> in_use_;  // a thread of this rank has or asks for the lock

 public:
  Pages pages;
  Locks locks;
  Barriers barriers;
};

// What may happen next: a rank's step, or the arrival of the first message of a channel. Diffs have
// channels of their own, because other messages may overtake them [DSM-PAGE-7].
struct Choice {
  enum class Kind : std::uint8_t { step, message, diff } kind;
  Rank from = 0;
  Rank to = 0;
  std::size_t thread = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

class World {
 public:
  // `fan_in` 0: as usual.
  World(Rank ranks, std::size_t pages, Rank fan_in = 0)
      : truth(pages * words_a_page), channels_(ranks), diff_channels_(ranks) {
    for (Rank rank = 0; rank < ranks; rank++) {
      all_.push_back(
          std::make_unique<ModelRank>(*this, rank, BarrierTree::of(ranks, fan_in), pages));
      channels_[rank].resize(ranks);
      diff_channels_[rank].resize(ranks);
    }
  }

  ModelRank& rank(Rank number) { return *all_[number]; }
  std::size_t size() const { return all_.size(); }
  void send(Rank from, Rank to, std::function<void(ModelRank&)> arrive) {
    messages++;
    channels_[from][to].push_back(std::move(arrive));
  }
  void send_diff(Rank from, Rank to, std::function<void(ModelRank&)> arrive) {
    diffs++;
    diff_channels_[from][to].push_back(std::move(arrive));
  }

  std::vector<Choice> choices() const {
    std::vector<Choice> found;
    for (Rank rank = 0; rank < all_.size(); rank++) {
      for (std::size_t thread = 0; thread < all_[rank]->threads(); thread++) {
        if (!all_[rank]->may_step(thread)) continue;
        found.push_back({Choice::Kind::step, rank, rank, thread});
      }
      for (Rank to = 0; to < all_.size(); to++) {
        if (!channels_[rank][to].empty()) found.push_back({Choice::Kind::message, rank, to});
        if (!diff_channels_[rank][to].empty()) found.push_back({Choice::Kind::diff, rank, to});
      }
    }
    return found;
  }

  void take(const Choice& choice) {
    if (choice.kind == Choice::Kind::step) return rank(choice.from).step(choice.thread);
    auto& channels = choice.kind == Choice::Kind::diff ? diff_channels_ : channels_;
    auto& channel = channels[choice.from][choice.to];
    const auto arrive = std::move(channel.front());
    channel.pop_front();
    arrive(rank(choice.to));
  }

  bool is_done() const {
    return std::ranges::all_of(all_, [](const auto& each) { return each->is_done(); });
  }

  // The words as all who hold the locks see them.
  std::vector<Word> truth;
  std::set<LockId> held;
  std::size_t messages = 0;
  std::size_t diffs = 0;
  std::size_t direct_reads = 0;
  std::size_t locks_given_back = 0;

 private:
  std::vector<std::unique_ptr<ModelRank>> all_;
  using Channel = std::deque<std::function<void(ModelRank&)>>;
  std::vector<std::vector<Channel>> channels_;  // [from][to]
  std::vector<std::vector<Channel>> diff_channels_;
};

inline void ModelRank::wake(const Awaited& what) {
  for (Thread& each : threads_) {
    if (each.waits_for == what) each.waits_for.reset();
  }
}

inline void ModelRank::step(std::size_t number) {
  Thread& thread = threads_[number];
  const Step& step = thread.program[thread.next];
  using Kind = Step::Kind;
  switch (step.kind) {
    case Kind::load:
    case Kind::store:
      if (access_word(thread, step)) thread.next++;
      return;
    case Kind::acquire:
    case Kind::try_acquire:
      return acquire(thread, step);
    case Kind::release:
      return release(thread, step.number);
    case Kind::barrier:
      thread.waits_for = {Awaited::Kind::barrier, 0};
      thread.next++;
      return barriers.arrive(step.number);
  }
}

// False: the access is refused; the thread tries again when its page is ready.
inline bool ModelRank::access_word(Thread& thread, const Step& step) {
  const bool is_store = step.kind == Step::Kind::store;
  const Access wanted = is_store ? Access::write : Access::read;
  const PageNumber page = step.number / words_a_page;
  if (access_[page] < wanted) {
    thread.waits_for = {Awaited::Kind::page, page};
    if (pages.touch(page, wanted) == Pages::Touch::asked) return false;
    thread.waits_for.reset();
    EXPECT_GE(access_[page], wanted);
  }
  Word word;
  std::byte* const place = &bytes_[step.number * sizeof word];
  std::memcpy(&word, place, sizeof word);
  EXPECT_EQ(word, world_.truth[step.number])
      << "rank " << me_ << ", step " << thread.next << ", word " << step.number;
  if (is_store) {
    std::memcpy(place, &step.value, sizeof word);
    world_.truth[step.number] = step.value;
  }
  return true;
}

inline void ModelRank::acquire(Thread& thread, const Step& step) {
  const bool is_try = step.kind == Step::Kind::try_acquire;
  if (in_use_.contains(step.number)) {
    if (is_try) return skip_section(thread);
    thread.waits_for = {Awaited::Kind::thread, step.number};
    return;
  }
  in_use_.insert(step.number);
  // The answer may come at once, by the listener.
  thread.waits_for = {Awaited::Kind::lock, step.number};
  const auto outcome = is_try ? locks.try_acquire(step.number) : locks.acquire(step.number);
  if (outcome == Locks::Outcome::held) take_lock(thread, step.number);
  if (outcome == Locks::Outcome::busy) not_acquired(step.number);
}

inline void ModelRank::release(Thread& thread, LockId lock) {
  world_.held.erase(lock);
  in_use_.erase(lock);
  thread.next++;
  EXPECT_TRUE(locks.release(lock));
  locks.wants_common_time();
  wake({Awaited::Kind::thread, lock});
}

inline ModelRank::Thread& ModelRank::thread_that_asked(LockId lock) {
  return *std::ranges::find(threads_, Awaited{Awaited::Kind::lock, lock}, &Thread::waits_for);
}

inline void ModelRank::take_lock(Thread& thread, LockId lock) {
  EXPECT_TRUE(world_.held.insert(lock).second) << "two ranks hold lock " << lock;
  thread.waits_for.reset();
  thread.next++;
}

// A try failed: the program leaves out all up to the release.
inline void ModelRank::skip_section(Thread& thread) {
  const LockId lock = thread.program[thread.next].number;
  const auto ends = [&](const Step& each) {
    return each.kind == Step::Kind::release && each.number == lock;
  };
  while (!ends(thread.program[thread.next])) thread.next++;
  thread.next++;
}

inline void ModelRank::acquired(LockId lock) { take_lock(thread_that_asked(lock), lock); }
inline void ModelRank::not_acquired(LockId lock) {
  Thread& thread = thread_that_asked(lock);
  thread.waits_for.reset();
  in_use_.erase(lock);
  skip_section(thread);
  wake({Awaited::Kind::thread, lock});
}

inline void ModelRank::ask_home(Rank to, PageNumber page) {
  world_.send(me_, to, [=, from = me_](ModelRank& at) { at.pages.heard_ask_home(from, page); });
}
inline void ModelRank::tell_home(Rank to, PageNumber page, Rank home) {
  world_.send(me_, to, [=](ModelRank& at) { EXPECT_TRUE(at.pages.heard_tell_home(page, home)); });
}
inline void ModelRank::ask_initial(Rank to, PageNumber page) {
  world_.send(me_, to, [=, from = me_](ModelRank& at) { at.pages.heard_ask_initial(from, page); });
}
inline void ModelRank::tell_initial(Rank to, PageNumber page, std::span<const std::byte> bytes) {
  world_.send(me_, to, [page, sent = std::vector(bytes.begin(), bytes.end())](ModelRank& at) {
    EXPECT_TRUE(at.pages.heard_tell_initial(page, sent));
  });
}
inline void ModelRank::ask_page(Rank to, PageNumber page, std::span<const Stamp> needed) {
  world_.send(me_, to,
              [page, from = me_, sent = std::vector(needed.begin(), needed.end())](ModelRank& at) {
                EXPECT_TRUE(at.pages.heard_ask_page(from, page, sent));
              });
}
inline void ModelRank::tell_page(Rank to, PageNumber page, std::span<const Stamp> there,
                                 std::span<const std::byte> bytes) {
  world_.send(me_, to,
              [page, from = me_, told = std::vector(there.begin(), there.end()),
               sent = std::vector(bytes.begin(), bytes.end())](ModelRank& at) {
                EXPECT_TRUE(at.pages.heard_tell_page(from, page, told, sent));
              });
}
inline void ModelRank::send_diff(Rank to, PageNumber page, Sequence sequence,
                                 std::span<const std::byte> runs) {
  world_.send_diff(
      me_, to,
      [page, sequence, from = me_, sent = std::vector(runs.begin(), runs.end())](ModelRank& at) {
        EXPECT_TRUE(at.pages.heard_diff(from, page, sequence, sent));
      });
}
inline std::span<const std::byte> ModelRank::find(Rank home, PageNumber page,
                                                  std::span<const Stamp> needed,
                                                  std::vector<Stamp>* there) {
  ModelRank& other = world_.rank(home);
  const VectorTime& row = other.rows_[page];
  const auto is_there = [&](Stamp each) {
    return each.writer == home || row[each.writer] >= each.sequence;
  };
  if (row[home] == 0 || !std::ranges::all_of(needed, is_there)) return {};
  there->clear();
  for (Rank rank = 0; rank < row.size(); rank++) {
    if (rank != home && row[rank] != 0) there->push_back({rank, row[rank]});
  }
  world_.direct_reads++;
  return other.read(page);
}
inline std::optional<Rank> ModelRank::find_home(Rank directory, PageNumber page, Rank otherwise) {
  return world_.rank(directory).homes_.try_emplace(page, otherwise).first->second;
}
inline std::optional<std::span<const std::byte>> ModelRank::find_initial(PageNumber page) {
  ModelRank& first = world_.rank(0);
  if (!first.initial_.contains(page)) return std::span<const std::byte>();
  return std::span<const std::byte>(first.page_of(page));
}
inline void ModelRank::tell_reader(Rank home, PageNumber page) {
  ModelRank& other = world_.rank(home);
  other.read_.insert(page);
  other.has_new_readers_ = true;
}
inline void ModelRank::ask_lock(Rank to, LockId lock, bool is_try, const VectorTime& known) {
  world_.send(me_, to, [=, from = me_](ModelRank& at) {
    at.locks.heard_ask_lock(from, lock, is_try, known);
  });
}
inline void ModelRank::forward(Rank to, LockId lock, Rank asker, bool is_try,
                               const VectorTime& known) {
  world_.send(me_, to, [=](ModelRank& at) {
    EXPECT_TRUE(at.locks.heard_forward(lock, asker, is_try, known));
  });
}
inline void ModelRank::grant(Rank to, LockId lock, Epoch epoch,
                             std::span<const Interval> intervals) {
  world_.send(me_, to,
              [lock, epoch, from = me_, sent = std::vector(intervals.begin(), intervals.end())](
                  ModelRank& at) { EXPECT_TRUE(at.locks.heard_grant(from, lock, epoch, sent)); });
}
inline void ModelRank::refuse(Rank to, LockId lock) {
  world_.send(me_, to, [=](ModelRank& at) { EXPECT_TRUE(at.locks.heard_refuse(lock)); });
}
inline void ModelRank::tell_tried(Rank to, LockId lock, bool is_given) {
  world_.send(me_, to, [=, from = me_](ModelRank& at) {
    EXPECT_TRUE(at.locks.heard_tell_tried(from, lock, is_given));
  });
}
inline void ModelRank::arrive(Rank to, BarrierId barrier, const VectorTime& known,
                              std::span<const Interval> held) {
  world_.send(
      me_, to,
      [barrier, known, from = me_, sent = std::vector(held.begin(), held.end())](ModelRank& at) {
        EXPECT_TRUE(at.barriers.heard_arrive(from, barrier, known, sent));
      });
}
inline void ModelRank::let_go(Rank to, const VectorTime& common,
                              std::span<const Interval> lacking) {
  world_.send(me_, to,
              [common, from = me_, sent = std::vector(lacking.begin(), lacking.end())](
                  ModelRank& at) { EXPECT_TRUE(at.barriers.heard_let_go(from, common, sent)); });
}
inline void ModelRank::give_back(Rank to, Epoch epoch, std::span<const GivenLock> given) {
  world_.locks_given_back += given.size();
  world_.send(me_, to,
              [epoch, from = me_, sent = std::vector(given.begin(), given.end())](ModelRank& at) {
                EXPECT_TRUE(at.locks.heard_give_back(from, epoch, sent));
              });
}
inline void ModelRank::take_back(Rank to, std::span<const GivenLock> given) {
  world_.send(me_, to, [from = me_, sent = std::vector(given.begin(), given.end())](ModelRank& at) {
    EXPECT_TRUE(at.locks.heard_take_back(from, sent));
  });
}
inline void ModelRank::pull_diffs(Rank to, PageNumber page, Sequence last, Rank asker) {
  world_.send(me_, to, [=, from = me_](ModelRank& at) {
    EXPECT_TRUE(at.pages.heard_pull_diffs(from, page, last, asker));
  });
}
inline void ModelRank::ask_diffs(Rank to, PageNumber page, const DiffRange& range) {
  world_.send(me_, to,
              [=, from = me_](ModelRank& at) { at.pages.heard_ask_diffs(from, page, range); });
}
inline void ModelRank::tell_diffs(Rank to, PageNumber page,
                                  std::span<const KeptDiff* const> diffs) {
  std::vector<KeptDiff> sent;
  for (const KeptDiff* each : diffs) sent.push_back(*each);
  world_.send(me_, to, [page, from = me_, sent](ModelRank& at) {
    std::vector<Pages::ToldDiff> told;
    for (const KeptDiff& each : sent) told.push_back({each.sequence, each.runs});
    EXPECT_TRUE(at.pages.heard_tell_diffs(from, page, told));
  });
}

}  // namespace iw::dsm
