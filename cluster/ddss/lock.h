// A segment's lock, as the threads of this node take it: one-sided atomics on the words that
// lock_words.h describes, and waiting by looking at them, so that nobody's processor is needed.
//
// What this node's threads hold and wait for is noted here, for one purpose: when a node died, or a
// thread waited in vain, somebody who waits recovers the lock (lock_recovery.cc), or, for one who
// only tries, a thread that works behind. It freezes the queue, asks all nodes who holds the lock,
// and makes the words anew; who waited asks again.
//
// Invariants: while a holding is in_flight the words may just be changing for it, and a survey says
// busy; a survey that counts a holding keeps it from being let go until the lock is made anew. A
// waiting holding that was surveyed must ask again, whatever it saw since. A recovery freezes the
// queue only as it was when it was found to be recovered, and changes words only while the queue is
// frozen by its own node, of which one thread at a time recovers.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "ddss/backend.h"
#include "ddss/lock_words.h"
#include "ddss/node_link.h"
#include "platform/mutex.h"

namespace iw::ddss {

// Into what is known from other nodes.
void add(Survey* all, const Survey& one);

// The other nodes, as a segment sees them.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  virtual NodeNumber number() const = 0;
  virtual std::uint64_t deaths() const = 0;  // see Members
  // False of a node that is not known yet.
  virtual bool is_gone(NodeNumber number) const = 0;
  // Of all nodes together that may have reached the lock before the call.
  virtual int survey(Key key, Survey* found) = 0;
  // Has the lock's recover_as_ordered() called soon, by another thread.
  virtual void order_recovery(Key key) = 0;
  // Has the node with the data do a put.
  virtual int store(const Descriptor& what, std::uint64_t offset,
                    std::span<const std::byte> from) = 0;
};

// Waiting by looking: at first as often as possible, then ever more seldom.
class Patience {
 public:
  explicit Patience(const NodeLink& link) : link_(link) {}
  // DDSS_ETIMEDOUT when the link's time is over, or nobody wants to know any more.
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
  // DDSS_EBUSY at once if it is taken or being recovered.
  int try_acquire(Hold hold);
  int release();
  bool is_held_here() const;  // by this thread
  int word(std::uint64_t* queue) const { return link_.get(offset_, queue); }
  // What this node's threads hold; whoever waits must ask again.
  Survey survey();

  // If there is reason to: a node died that the lock does not know of.
  int recover_if_needed();
  void recover_as_ordered();
  // What a recovery does besides, with what was begun before the nodes were asked, and what they
  // said. DDSS_EBUSY: it must be done once more, later.
  struct Repair {
    void* segment = nullptr;
    int (*look)(void* segment, std::uint64_t* begun) = nullptr;
    int (*repair)(void* segment, std::uint64_t begun, const Survey& found) = nullptr;
  };
  void on_recovery(const Repair& repair) { repair_ = repair; }

 private:
  enum class State : std::uint8_t { in_flight, waiting, held };
  struct Place {
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
    Place place = {};
  };
  enum class Asked : std::uint8_t { granted, queued, being_recovered, failed };

  Holding* mine() IW_REQUIRES(mutex_);
  const Holding* mine() const IW_REQUIRES(mutex_) { return const_cast<Lock*>(this)->mine(); }
  bool enter(Hold hold);
  void leave();
  void set_state(State state);
  Asked ask_exclusive(Place* place, int* error);
  Asked ask_shared(Place* place, int* error);
  int swap_in(Hold hold, const LockWords& words, Place* place, bool* is_in);
  Asked await_turn(Hold hold, const Place& place, Patience* patience, int* error);
  int hold_at(const Place& place);
  int pause_while_waiting(Patience* patience);
  int give_up(int error);
  int prepare_release(Hold* hold, Place* place);
  int release_shared(const Place& place);

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
  const std::uint64_t offset_;  // of the words
  Repair repair_;
  std::atomic<bool> is_recovery_ordered_{false};
  std::atomic<bool> is_recovering_{false};   // a thread of this node is at it
  std::atomic<bool> is_left_frozen_{false};  // perhaps, by this node, which alone can recover it
  mutable platform::Mutex mutex_;            // never held during a call of the fabric
  std::vector<Holding> holdings_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::ddss
