// The library in a process: its fabric and its bundles, which AM_Init makes.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "am/bundle.h"
#include "platform/mutex.h"

namespace iw::am {

// Takes its bundle from the name server's client, if the bundle is one of these (names.cc). Waits
// until the client's present call has returned.
void forget_name_client(const std::set<eb_t>& ended);
// Does the work of AMNS_Init. Leaves the text that AMNS_Init prints in *why, if there is one.
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
