// A writer container: the object, its readers, and the threads that serve them.
//
// The thread that makes a call also hands it to Active Messages. Three threads do the rest, so that
// no wait delays another:
//
//   thread        does                                                waits for
//   server_       lets readers in, sends what did not fit, pings,     messages
//                 drops dead readers
//   marshaller_   marshals the object for readers that want it        views and calls of the
//   program giver_        gives the role away                                 the name server
//
// The object's mutex is locked before the Readership's and the inbox's.
//
// The role is given away in steps [CONT-14], each of which can fail:
// 1. Calls are refused from now on.
// 2. The name is unregistered.
// 3. The reader that wants the role is sent the whole object, then the role.
// 4. The reader registers the name, and says so.
// If it does not say so in time, this writer takes the name again. The name server gives the name
// to one of the two, so there are never two writers. While the server does not answer, nobody knows
// who has the role, and this writer asks again.
#pragma once

#include <atomic>
#include <thread>

#include "containers/held_name.h"
#include "containers/readership.h"
#include "platform/mutex.h"

namespace iw::containers {

class Writer final : public ActiveWriter {
 public:
  Writer(std::string name, std::shared_ptr<StandardContainer> object, const Options& options);
  ~Writer() override;

  void ship(const FunctionTable::Number* function, const Marshal& arguments,
            const std::function<void()>& call) override;
  std::mutex& mutex() override { return mutex_.native(); }
  bool is_writer() const override { return role_ == Role::kept; }
  WriterStatistics statistics() override { return readers_.statistics(); }

 private:
  enum class Role { kept, being_given, unknown, given };

  void serve();
  void end_threads();
  void marshal_objects();
  void give_roles();
  void give_role(int taker);
  void take_role_back();
  std::string why_no_writer() const;
  void send_objects() IW_REQUIRES(mutex_);
  std::shared_ptr<const Parcel> snapshot() IW_REQUIRES(mutex_);
  void say_goodbye();

  const std::string name_;
  const std::shared_ptr<StandardContainer> object_;
  const Options options_;
  const std::shared_ptr<WriterInbox> inbox_;
  Endpoint endpoint_;
  HeldName held_name_;
  Readership readers_;
  std::atomic<Role> role_ = Role::kept;
  platform::Mutex mutex_;  // of the object, and of what follows
  // The object as it is now. nullptr: it is not marshalled.
  std::shared_ptr<const Parcel> snapshot_ IW_GUARDED_BY(mutex_);
  std::thread server_, marshaller_, giver_;
};

}  // namespace iw::containers
