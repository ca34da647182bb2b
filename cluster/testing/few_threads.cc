// Loaded before the C library (LD_PRELOAD), lets a process start IW_TEST_THREADS threads and no
// more, as where a limit of processes has been reached.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  static std::atomic<int> started{0};
  const char* const most = std::getenv("IW_TEST_THREADS");
  if (most != nullptr && started++ >= std::atoi(most)) return EAGAIN;
  static const auto next =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, start, argument);
}
