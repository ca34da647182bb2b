// The readers of one writer, and what is on its way to them.
//
// Nothing here runs code of the program's or waits for another process, and nobody who does holds
// the mutex: so readers are pinged, and the dead are dropped, whatever the program does with the
// object meanwhile. Who adds updates and objects holds the object's mutex: so they are in the
// order of the calls. The object's mutex is locked before this one, this one before the inbox's.
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

  // By who holds the object's mutex.
  void ship(const std::shared_ptr<const Parcel>& update);
  // There was a change that no update tells of.
  void want_objects();
  // To those that want it now.
  void send_object(const std::shared_ptr<const Parcel>& object);
  // The reader gets the object and the role, the others look for the name.
  void hand_over(int taker, const std::shared_ptr<const Parcel>& object);
  // The last messages; the object (nullptr: none) goes to those that lack it.
  void end(const std::shared_ptr<const Parcel>& object);

  bool wants_object_now() const;
  // For the thread that marshals the object. False: stopped.
  bool wait_until_object_wanted();
  void stop();
  bool lacks_objects() const;
  bool has(int link) const;
  void let_in(int link, const en_t& reader);

  // For the thread that serves: it sends what there is room for, pings, and drops the dead.
  void pass(Clock::time_point now);
  bool wants_answers() const;
  // Until every reader has answered all it was sent, or then. The thread that serves goes on.
  void await_answers(Clock::time_point deadline);
  // By what has come until now.
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
  platform::Condition changed_;  // an object is wanted, all is answered, or stopped
  std::list<ReaderLink> links_ IW_GUARDED_BY(mutex_);
  WriterStatistics statistics_ IW_GUARDED_BY(mutex_);
  Clock::time_point last_pass_ IW_GUARDED_BY(mutex_) = Clock::now();
  bool is_awaited_ IW_GUARDED_BY(mutex_) = false;
  bool is_stopped_ IW_GUARDED_BY(mutex_) = false;
};

}  // namespace iw::containers
