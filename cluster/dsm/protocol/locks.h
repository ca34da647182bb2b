// The locks of one rank, and those that this rank is the home of. A pure state machine. Implements
// [DSM-LOCK-1] to [DSM-LOCK-7] of spec/cluster/dsm.x (PIPE, sections 2.1 and 3).
//
// A lock here:
//
//   state   meaning                                           leaves by
//   away    the lock is elsewhere, or never was anywhere      acquire: asks the lock's home
//   asked   this rank waits for the lock                      the grant: held
//   held    a thread of this rank has the lock                release: here, or away if it is
//   wanted here    nobody has it; an acquire costs no message        acquire: held; a forward: away
//   given back     its home was told to take it back          its answer: away; a forward: away;
//                                                             acquire: asked
//
// Nothing is remembered of a lock that is away, nor at its home of one that is nobody's.
//
// At its home a lock has a tail: the rank that asked last. Each rank but the tail knows the next
// one. So requests are served in the order in which they came to the home.
#pragma once

#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dsm/dsm.gen.h"
#include "dsm/protocol/pages.h"
#include "dsm/protocol/time.h"

namespace iw::dsm {

using LockId = std::uint64_t;

// How often this rank has passed a barrier.
using Epoch = std::uint64_t;

class LockMail {
 public:
  virtual ~LockMail() = default;
  virtual void ask_lock(Rank to, LockId lock, bool is_try, const VectorTime& known) = 0;
  virtual void forward(Rank to, LockId lock, Rank asker, bool is_try, const VectorTime& known) = 0;
  virtual void grant(Rank to, LockId lock, Epoch epoch, std::span<const Interval> intervals) = 0;
  virtual void refuse(Rank to, LockId lock) = 0;  // of a try
  // To the home: the tail gave the lock away, or not.
  virtual void tell_tried(Rank to, LockId lock, bool is_given) = 0;
  // At most given_locks_max; the answers have all of them.
  virtual void give_back(Rank to, Epoch epoch, std::span<const GivenLock> locks) = 0;
  virtual void take_back(Rank to, std::span<const GivenLock> locks) = 0;
};

// What became of an acquire that had to ask.
class LockListener {
 public:
  virtual ~LockListener() = default;
  virtual void acquired(LockId lock) = 0;
  virtual void not_acquired(LockId lock) = 0;  // by a try
  // Its grant was kept until a barrier, and left an interval out.
  virtual void granted_with_gap(Rank from) = 0;
};

class Locks {
 public:
  Locks(Rank me, Rank ranks, Pages& pages, LockMail& mail, LockListener& listener)
      : me_(me), ranks_(ranks), pages_(pages), mail_(mail), listener_(listener) {}

  // So many free locks stay at this rank.
  static constexpr std::size_t kept_usual = 16384;
  void keep(std::size_t most) { kept_most_ = batch_above_ = most; }

  enum class Outcome : std::uint8_t { held, asked, busy };
  // One thread of this rank at a time asks for a lock. asked: the listener will be told.
  Outcome acquire(LockId lock);
  // busy: somebody has the lock, or it was not given without waiting.
  Outcome try_acquire(LockId lock);
  // False: no thread of this rank has the lock.
  bool release(LockId lock);
  // This rank has passed another barrier. All ranks that have know of intervals up to that time.
  void passed_barrier(const VectorTime& common);
  // Free locks wait to be given back, until `all_know` brings a time that is late enough. Called
  // when locks were released.
  bool wants_common_time();
  // All ranks know of the intervals up to that time. True: locks wait for a later one.
  bool all_know(const VectorTime& common);
  // That something is remembered of, as of a rank or of a home.
  std::size_t remembered() const { return locks_.size() + homes_.size(); }

  // False: the message is not one that the protocol allows now. Its sender broke the protocol, and
  // nothing has changed. REQUIRES: the lock's home is where it is asked for.
  Rank home_of(LockId lock) const;
  void heard_ask_lock(Rank from, LockId lock, bool is_try, const VectorTime& known);
  [[nodiscard]] bool heard_forward(LockId lock, Rank asker, bool is_try, const VectorTime& known);
  [[nodiscard]] bool heard_grant(Rank from, LockId lock, Epoch epoch,
                                 std::vector<Interval> intervals);
  [[nodiscard]] bool heard_refuse(LockId lock);
  [[nodiscard]] bool heard_tell_tried(Rank from, LockId lock, bool is_given);
  // REQUIRES: this rank is the home of all of them.
  [[nodiscard]] bool heard_give_back(Rank from, Epoch epoch, std::span<const GivenLock> locks);
  [[nodiscard]] bool heard_take_back(Rank from, std::span<const GivenLock> locks);
  Epoch epoch() const { return epoch_; }

 private:
  enum class Place : std::uint8_t { away, asked, held, here };
  // Until the home has answered whether it takes the lock back, a forward is for the lock that was
  // given back: for the first of this rank's two turns, if it has asked again.
  enum class Return : std::uint8_t { none, open, handed_over };
  struct Asker {
    Rank rank;
    VectorTime known;
  };
  struct Lock {
    Place place = Place::away;
    Return given_back = Return::none;
    bool is_tried = false;  // and not waited for, where it is asked
    bool is_idle = false;   // since the batch was made
    std::optional<Asker> next;
  };
  struct Question {
    Rank rank;
    bool is_try;
    VectorTime known;
  };
  struct Home {
    std::optional<Rank> tail;
    // A try is at the tail: until it is answered, nobody knows who is the tail.
    std::optional<Rank> trying;
    // The rank that tries has got the lock and gave it back, before the tail said so.
    bool is_given_back = false;
    std::list<Question> waiting;  // takes no memory while it is empty, and most are
  };
  struct Grant {
    Rank from;
    LockId lock;
    Epoch epoch;
    std::vector<Interval> intervals;
  };

  Outcome ask(LockId lock, bool is_try);
  // A rank passes a barrier only when this one has arrived there.
  bool is_possible(Epoch epoch) const { return epoch <= epoch_ + 1; }
  void take_question(LockId lock, Home& home, const Question& question);
  void hand_over(LockId lock, const Asker& to);
  void forget_if_away(LockId lock);
  void take_from_here(Lock& here);
  void give_back_batch();
  bool take_back_one(Rank from, LockId lock);
  void take_forward(LockId lock, Lock& here, const Asker& asker, bool is_try);
  void take_or_keep(Grant grant);
  void take_grant(const Grant& grant);
  void take_refusal(LockId lock);
  void end_try(LockId lock, Home& home, bool is_given);

  const Rank me_;
  const Rank ranks_;
  Pages& pages_;
  LockMail& mail_;
  LockListener& listener_;
  Epoch epoch_ = 0;
  std::unordered_map<LockId, Lock> locks_;
  std::unordered_map<LockId, Home> homes_;
  std::size_t kept_most_ = kept_usual;
  std::size_t free_count_ = 0;  // of locks that are here
  // With more free locks, a batch is made. A batch looks at all locks, and where all of them are in
  // use it gives none back: the next one waits until there are half as many more, or for a barrier.
  std::size_t batch_above_ = kept_usual;
  // Locks that are idle are given back when all ranks know the intervals up to that time.
  std::optional<VectorTime> batch_;
  Epoch epoch_of_givers_ = 0;  // the latest one
  std::vector<Grant> early_;   // from ranks that have passed a barrier which this rank has not
};

}  // namespace iw::dsm
