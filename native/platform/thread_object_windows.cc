// Fiber-local storage, which a thread has as one fiber, and which tells of the thread's end.
#include <windows.h>

#include <new>

#include "platform/invariant.h"
#include "platform/process.h"
#include "platform/thread_object.h"

namespace iw::platform {

struct ThreadEntry {
  const ThreadSlot& slot;
  void* object;

  // The slot is empty by now. At the end of the process the last thread comes here, too.
  static void WINAPI end(void* ended) {
    if (other_threads_are_gone()) return;
    auto* const entry = static_cast<ThreadEntry*>(ended);
    const DWORD index = entry->slot.index_;
    FlsSetValue(index, entry);
    entry->slot.destroy_(entry->object);
    FlsSetValue(index, nullptr);
    delete entry;
  }
};

ThreadSlot::ThreadSlot(Destroy destroy) : destroy_(destroy), index_(FlsAlloc(ThreadEntry::end)) {
  IW_INVARIANT(index_ != FLS_OUT_OF_INDEXES, "no slot for what threads have of their own");
}

void* ThreadSlot::get() const {
  const auto* const entry = static_cast<const ThreadEntry*>(FlsGetValue(index_));
  return entry == nullptr ? nullptr : entry->object;
}

void ThreadSlot::set(void* object) const {
  auto* const entry = new ThreadEntry{*this, object};
  if (FlsSetValue(index_, entry) != 0) return;
  delete entry;
  throw std::bad_alloc();
}

// Its entry ends as every thread's does.
void ThreadSlot::process_ends() const {}

}  // namespace iw::platform
