// The readers of one writer, and the items on their way to them.
//
// Invariants:
// - With the mutex held, no code of the program runs, and no thread waits for another process. So
//   readers are pinged, and dead ones are dropped, whatever the program does with the object.
// - A thread that adds updates or objects holds the object's mutex, so that they are in the order
// of
//   the calls.
// - The object's mutex is locked before this one, and this one before the inbox's.
#pragma once

#include <functional>
#include <list>

#include "containers/reader_link.h"
#include "interweave/containers/active.hpp"
#include "platform/mutex.h"

namespace iw::containers {

class Readership {
 public:
  Readership(std::shared_ptr<WriterInbox> inbox, Endpoint& endpoint, const Options& options);

  // REQUIRES, of this and the next four: the object's mutex is held.
  void ship(const std::shared_ptr<const Parcel>& update);
  // The object has changed, and no update says how.
  void want_objects();
  // Sends the object to the readers that want it now.
  void send_object(const std::shared_ptr<const Parcel>& object);
  // Sends the object and the role to the taker. Tells the others to look for the name again
  // [CONT-14].
  void hand_over(int taker, const std::shared_ptr<const Parcel>& object);
  // Adds the last messages. The object, unless it is nullptr, goes to the readers that lack it.
  void end(const std::shared_ptr<const Parcel>& object);

  bool wants_object_now() const;
  // Called by the thread that marshals the object. False: the readership is stopped.
  bool wait_until_object_wanted();
  void stop();
  bool lacks_objects() const;
  bool has(int link) const;
  void let_in(int link, const en_t& reader);

  // Called by the thread that serves: sends what there is room for, pings, and drops dead readers.
  void pass(Clock::time_point now);
  bool wants_answers() const;
  // Waits until every reader has answered all its messages. The thread that serves continues
  // meanwhile.
  void await_answers(Clock::time_point deadline);
  // Takes into account all messages that have come until now.
  WriterStatistics statistics();

 private:
  void catch_up() IW_REQUIRES(mutex_);
  void note(const WriterInbox::News& news) IW_REQUIRES(mutex_);
  void add(const WriterInbox::Joiner& joiner) IW_REQUIRES(mutex_);
  bool is_object_wanted() const IW_REQUIRES(mutex_);
  bool have_all_answered() const IW_REQUIRES(mutex_);
  void send_to(ReaderLink& link) IW_REQUIRES(mutex_);
  ReaderLink* find(int number) IW_REQUIRES(mutex_);
  void drop(int number) IW_REQUIRES(mutex_);
  void drop_if(const std::function<bool(ReaderLink&)>& is_gone) IW_REQUIRES(mutex_);
  void drop_the_dead(Clock::time_point now) IW_REQUIRES(mutex_);

  const std::shared_ptr<WriterInbox> inbox_;
  Endpoint& endpoint_;
  const Options options_;
  mutable platform::Mutex mutex_;
  platform::Condition changed_;  // an object is wanted, all is answered, or it is stopped
  std::list<ReaderLink> links_ IW_GUARDED_BY(mutex_);
  WriterStatistics statistics_ IW_GUARDED_BY(mutex_);
  Clock::time_point last_pass_ IW_GUARDED_BY(mutex_) = Clock::now();
  bool is_awaited_ IW_GUARDED_BY(mutex_) = false;
  bool is_stopped_ IW_GUARDED_BY(mutex_) = false;
};

}  // namespace iw::containers
