// A writer container: the object, its readers, a thread that serves them and one that lets them in.
//
// A call is made and handed to Active Messages by who makes it; what did not fit is sent by the
// thread when answers come. The mutex is locked before the inbox's, and by no handler; nobody holds
// it who waits for another process.
//
// The role is given away in steps of which each can fail: calls are refused from now on; the name
// is unregistered; the reader that wants the role is sent the whole object, and then the role; it
// registers the name and says so. If it does not in time, the name is registered here again, which
// the name server allows to one of the two: so there are never two writers.
#pragma once

#include <functional>
#include <list>
#include <thread>

#include "containers/reader_link.h"
#include "interweave/containers/active.hpp"

namespace iw::containers {

class Writer final : public ActiveWriter {
 public:
  Writer(std::string name, std::shared_ptr<StandardContainer> object, const Options& options);
  ~Writer() override;

  void ship(const FunctionTable::Number* function, const Marshal& arguments,
            const std::function<void()>& call) override;
  std::mutex& mutex() override { return mutex_; }
  bool is_writer() const override;
  WriterStatistics statistics() const override;

 private:
  enum class Role { kept, being_given, given };

  void serve();
  void let_in();
  void hear(const WriterInbox::News& news);
  void pass(Clock::time_point now);
  void note(const WriterInbox::News& news);
  void want_objects();
  void send_to(ReaderLink& link);
  std::shared_ptr<const Parcel> snapshot();
  ReaderLink* find(int number);
  void drop(int number);
  void drop_if(const std::function<bool(ReaderLink&)>& is_gone);
  void drop_the_dead(Clock::time_point now);
  bool begin_giving(int taker);
  void give_role(int taker);
  bool is_role_left(bool is_taken, Clock::time_point now);
  void take_role_back();
  bool has_outbox() const;
  bool is_settled() const;
  void settle(Clock::time_point deadline);
  void say_goodbye();

  const std::string name_;
  const std::shared_ptr<StandardContainer> object_;
  const Options options_;
  const std::shared_ptr<WriterInbox> inbox_;
  Endpoint endpoint_;
  mutable std::mutex mutex_;  // of the object, and of what follows
  std::list<ReaderLink> links_;
  std::shared_ptr<const Parcel> snapshot_;  // the object as it is; nullptr: not marshalled
  WriterStatistics statistics_;
  Role role_ = Role::kept;
  Clock::time_point role_deadline_{};
  Clock::time_point last_pass_ = Clock::now();
  std::thread server_, doorkeeper_;
};

}  // namespace iw::containers
