// A segment's lock, as the threads of this node take it. They change the words of lock_words.h by
// one-sided atomics and wait by looking at the words, so that no other processor is needed.
//
// The node notes what its threads hold and wait for, so that a lock can be recovered
// (lock_recovery.cc) when a node died or a thread waited in vain. A waiting thread recovers it; for
// a thread that only tries, a thread in the background does. The recovery freezes the queue, asks
// all nodes for their holdings, and makes the words anew. Threads that waited ask again.
//
// Invariants:
// - While a holding is in_flight, its thread may be changing the words, so a survey says busy.
// - A holding that a survey counted is not released until the lock is made anew.
// - A waiting holding that a survey saw must ask again, whatever it has seen since.
// - A recovery freezes the queue only if the queue is still as it was when the recovery was found
// to
//   be needed. It changes words only while the queue is frozen by its own node. One thread of a
//   node recovers at a time.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "ddss/backend.h"
#include "ddss/lock_words.h"
#include "ddss/node_link.h"
#include "platform/mutex.h"

namespace iw::ddss {

// Adds one node's survey to those of other nodes.
void add(Survey* all, const Survey& one);

// The other nodes, as a segment needs them.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  virtual NodeNumber number() const = 0;
  virtual std::uint64_t deaths() const = 0;  // see Members
  // False for a node that is not known yet.
  virtual bool is_gone(NodeNumber number) const = 0;
  // Sums up all nodes that may have reached the lock before the call.
  virtual int survey(Key key, Survey* found) = 0;
  // Lets another thread call the lock's recover_as_ordered() soon.
  virtual void order_recovery(Key key) = 0;
  // Lets the node with the data do a put.
  virtual int store(const Descriptor& what, std::uint64_t offset,
                    std::span<const std::byte> from) = 0;
};

// The pauses of a thread that waits by looking: none at first, then ever longer ones.
class Patience {
 public:
  explicit Patience(const NodeLink& link) : link_(link) {}
  // DDSS_ETIMEDOUT: the link's timeout is over, or nobody wants the result any more.
  int pause();
  bool is_long() const { return looks_ > looks_without_pause; }

 private:
  static constexpr int looks_without_pause = 256;
  const NodeLink& link_;
  int looks_ = 0;
  std::chrono::microseconds length_{10};
  fabric::Deadline deadline_{};
};

class Lock {
 public:
  Lock(Neighbours& neighbours, Key key, const NodeLink& link, std::uint64_t offset)
      : neighbours_(neighbours), key_(key), link_(link), offset_(offset) {}

  int acquire(Hold hold);
  // DDSS_EBUSY, at once: the lock is taken or being recovered [DDSS-LOCK-4].
  int try_acquire(Hold hold);
  int release();
  bool is_held_here() const;  // by this thread
  int word(std::uint64_t* queue) const { return link_.get(offset_, queue); }
  // Returns the holds of this node's threads. Waiting threads of this node must ask again
  // afterwards.
  Survey survey();

  // Recovers the lock if a node died that the lock does not know of [DDSS-LOCK-5].
  int recover_if_needed();
  void recover_as_ordered();
  // Work of the segment in a recovery of its lock. `look` runs before the nodes are asked, and
  // `repair` afterwards, with the result of `look` and the nodes' answers. DDSS_EBUSY: another
  // recovery must follow.
  struct Repair {
    void* segment = nullptr;
    int (*look)(void* segment, std::uint64_t* begun) = nullptr;
    int (*repair)(void* segment, std::uint64_t begun, const Survey& found) = nullptr;
  };
  void on_recovery(const Repair& repair) { repair_ = repair; }

 private:
  enum class State : std::uint8_t { in_flight, waiting, held };
  struct QueuePlace {
    std::uint16_t ticket = 0;
    std::uint16_t epoch = 0;
    std::uint32_t sharers_before = 0;
  };
  struct Holding {
    std::thread::id owner;
    Hold hold;
    State state = State::in_flight;
    bool must_ask_again = false;
    unsigned counted = 0;
    QueuePlace place = {};
  };
  enum class Asked : std::uint8_t { granted, queued, being_recovered, failed };

  Holding* mine() IW_REQUIRES(mutex_);
  const Holding* mine() const IW_REQUIRES(mutex_) { return const_cast<Lock*>(this)->mine(); }
  bool enter(Hold hold);
  void leave();
  void set_state(State state);
  Asked ask_exclusive(QueuePlace* place, int* error);
  Asked ask_shared(QueuePlace* place, int* error);
  int swap_in(Hold hold, const LockWords& words, QueuePlace* place, bool* is_in);
  Asked await_turn(Hold hold, const QueuePlace& place, Patience* patience, int* error);
  int hold_at(const QueuePlace& place);
  int pause_while_waiting(Patience* patience);
  int give_up(int error);
  int prepare_release(Hold* hold, QueuePlace* place);
  int release_shared(const QueuePlace& place);

  int look(LockWords* words) const;
  bool is_to_be_recovered(const LockWords& words) const;
  void order_recovery();
  int recover(const LockWords& words);
  int abandon_recovery(std::uint64_t queue_before, int error);
  int make_anew(const Survey& found, std::uint64_t begun, std::uint64_t deaths);
  int look_at_own_freeze(std::uint64_t* queue) const;
  int set_word(std::size_t member, std::uint64_t value) const;
  int set_queue(std::uint64_t value) const;

  Neighbours& neighbours_;
  const Key key_;
  const NodeLink link_;
  const std::uint64_t offset_;  // of the lock's words
  Repair repair_;
  std::atomic<bool> is_recovery_ordered_{false};
  std::atomic<bool> is_recovering_{false};  // by a thread of this node
  // This node may have left the queue frozen. Then only this node can recover the lock.
  std::atomic<bool> is_left_frozen_{false};
  mutable platform::Mutex mutex_;  // never held during a call of the fabric
  std::vector<Holding> holdings_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::ddss
