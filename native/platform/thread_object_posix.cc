// Keys of POSIX threads.
#include <pthread.h>

#include <new>

#include "platform/invariant.h"
#include "platform/thread_object.h"

namespace iw::platform {

struct ThreadEntry {
  const ThreadSlot& slot;
  void* object;

  // The key is empty by now.
  static void end(void* ended) {
    auto* const entry = static_cast<ThreadEntry*>(ended);
    const auto key = static_cast<pthread_key_t>(entry->slot.index_);
    (void)pthread_setspecific(key, entry);
    entry->slot.destroy_(entry->object);
    (void)pthread_setspecific(key, nullptr);
    delete entry;
  }
};

namespace {

unsigned long new_key() {
  pthread_key_t key{};
  const int failure = pthread_key_create(&key, ThreadEntry::end);
  IW_INVARIANT(failure == 0, "no key for what threads have of their own");
  return key;
}

}  // namespace

ThreadSlot::ThreadSlot(Destroy destroy) : destroy_(destroy), index_(new_key()) {}

void* ThreadSlot::get() const {
  const void* const mine = pthread_getspecific(static_cast<pthread_key_t>(index_));
  return mine == nullptr ? nullptr : static_cast<const ThreadEntry*>(mine)->object;
}

void ThreadSlot::set(void* object) const {
  auto* const entry = new ThreadEntry{*this, object};
  if (pthread_setspecific(static_cast<pthread_key_t>(index_), entry) == 0) return;
  delete entry;
  throw std::bad_alloc();
}

// exit() ends no key's objects.
void ThreadSlot::process_ends() const {
  void* const mine = pthread_getspecific(static_cast<pthread_key_t>(index_));
  if (mine != nullptr) ThreadEntry::end(mine);
}

}  // namespace iw::platform
