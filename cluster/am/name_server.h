// The name server: a map from strings to the names of endpoints. A registration belongs to the
// endpoint that made it, and ends with that endpoint.
//
// When the server's worker takes another transport, it leaves endpoints that may live. Their
// registrations stay. A thread connects with them again, so that the server hears of their ends. It
// ends the registrations of those that are gone.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "am/am.gen.h"
#include "interweave/am.h"
#include "platform/mutex.h"

namespace iw::am {

struct Connection;

// REQUIRES: is destroyed before AM_Terminate.
class NameServer {
 public:
  NameServer() = default;
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;
  // Starts to serve, in a bundle of its own, on the library's thread. Returns an AM_ result.
  int start(en_t* own_name);

 private:
  struct Registration {
    Name name;
    std::uint64_t number;  // the claim's
    en_t owner;
  };
  int enter(const Claim& claim, const en_t& asking);
  static NameServer& of_token(void* token, en_t* asking);
  static void on_register(void* token, void* block, std::size_t nbytes);
  static void on_look_up(void* token, void* block, std::size_t nbytes);
  static void on_unregister(void* token, void* block, std::size_t nbytes);
  static void on_undo(void* token, void* block, std::size_t nbytes);
  void forget(const en_t& owner);
  void seek_those_left();
  bool is_settled(const en_t& owner);

  eb_t bundle_ = nullptr;
  ep_t endpoint_ = nullptr;
  std::map<std::string, Registration, std::less<>> registered_;  // touched inside an Exclusion

  platform::Mutex mutex_;  // taken inside an Exclusion
  platform::Condition changed_;
  std::deque<en_t> left_ IW_GUARDED_BY(mutex_);
  bool is_stopping_ IW_GUARDED_BY(mutex_) = false;
  std::thread seeker_;
};

}  // namespace iw::am
