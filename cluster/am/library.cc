#include "am/library.h"

#include <cstdio>

namespace iw::am {

// Never destroyed: a program that calls exit() may have threads that still use it.
Library& Library::only() {
  static auto* const library = new Library;
  return *library;
}

int Library::init() {
  const platform::MutexLock held(mutex_);
  if (opened_ == 0) {
    std::string error;
    // The name server is started by hand, so it has the environment's key or no key.
    fabric::Options options;
    options.takes_key_of_rendezvous = false;
    fabric_ = fabric::Fabric::open(options, &error);
    if (!fabric_) {
      std::fprintf(stderr, "interweave: AM_Init: %s\n", error.c_str());
      return AM_ERR_RESOURCE;
    }
  }
  opened_++;
  return AM_OK;
}

int Library::terminate() {
  std::unique_ptr<fabric::Fabric> ended_fabric;
  std::set<eb_t> ended;
  {
    const platform::MutexLock held(mutex_);
    if (opened_ == 0) return AM_ERR_NOT_INIT;
    if (in_any_handler()) return AM_ERR_RESOURCE;
    if (--opened_ > 0) return AM_OK;
    ended_fabric.swap(fabric_);
    ended.swap(bundles_);
  }
  // Without the library's mutex, because a call of the name server's client may hold the client's
  // mutex and wait for the library's.
  forget_name_client(ended);
  for (const eb_t bundle : ended) delete bundle;
  return AM_OK;
}

bool Library::is_open() {
  const platform::MutexLock held(mutex_);
  return opened_ > 0;
}

int Library::add_bundle(int type, eb_t* bundle) {
  const platform::MutexLock held(mutex_);
  if (opened_ == 0) return AM_ERR_NOT_INIT;
  fabric::Status status;
  auto worker = fabric_->add_worker(&status);
  if (!worker) return AM_ERR_RESOURCE;
  *bundle = new iw_am_bundle(std::move(worker), type);
  bundles_.insert(*bundle);
  return AM_OK;
}

int Library::free_bundle(eb_t bundle) {
  const platform::MutexLock held(mutex_);
  if (bundles_.erase(bundle) == 0) return AM_ERR_BAD_ARG;
  delete bundle;
  return AM_OK;
}

}  // namespace iw::am
