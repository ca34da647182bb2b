// The name server: a map from strings to the names of endpoints. A registration belongs to the
// endpoint that made it, and ends with that endpoint.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "am/am.gen.h"
#include "interweave/am.h"

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

  eb_t bundle_ = nullptr;
  ep_t endpoint_ = nullptr;
  std::map<std::string, Registration, std::less<>> registered_;
};

}  // namespace iw::am
