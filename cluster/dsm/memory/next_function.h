// The function of that name that a program would call if this library did not define it once more.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace iw::dsm {

template <typename Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}
  Function* get() {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = dlsym(RTLD_NEXT, name_);
      found_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function*>(found);
  }

 private:
  const char* const name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace iw::dsm
