// What AM_Init makes: the process's fabric and its bundles.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "am/bundle.h"
#include "platform/mutex.h"

namespace iw::am {

// The name server's client has no bundle from here on, if its bundle is one of these (names.cc).
// Waits for a call of the client that is under way.
void forget_name_client(const std::set<eb_t>& ended);
// AMNS_Init, which says on stderr what this leaves in *why, if anything.
int find_name_server(const char* server, std::string* why);

class Library {
 public:
  static Library& only();
  int init();
  int terminate();
  bool is_open();
  int add_bundle(int type, eb_t* bundle);
  int free_bundle(eb_t bundle);

 private:
  platform::Mutex mutex_;
  int opened_ IW_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<fabric::Fabric> fabric_ IW_GUARDED_BY(mutex_);
  std::set<eb_t> bundles_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::am
