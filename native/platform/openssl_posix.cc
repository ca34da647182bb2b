// See openssl.h.
#include <dlfcn.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "platform/openssl.h"
#include "platform/thread_object.h"

namespace iw::platform::openssl {

namespace {

std::atomic<const Functions*> loaded{nullptr};

// Without this, OpenSSL frees a thread's memory after the thread's end. It would take its locks for
// that while no Visit keeps forks off.
struct EndOfThread {
  ~EndOfThread() {
    const NoFork no_fork;
    if (const Functions* const library = loaded.load()) library->OPENSSL_thread_stop();
  }
};

// The library is never unloaded: threads may be inside it until the process ends. A program that
// has loaded OpenSSL for itself shares it with us.
std::string load(Functions& out) {
  const auto missing = [] {
    const char* const said = dlerror();
    return std::string(said == nullptr ? "libssl.so.3 cannot be loaded" : said);
  };
  void* const found = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (found == nullptr) return missing();
    // dlsym also looks into libcrypto.so.3, on which libssl depends.
#define IW_FIND(result, name, parameters)                                 \
  out.name = reinterpret_cast<result(*) parameters>(dlsym(found, #name)); \
  if (out.name == nullptr) return missing();
  IW_OPENSSL_FUNCTIONS(IW_FIND)
#undef IW_FIND
  // Otherwise OpenSSL would free its tables at exit() while our threads use them. This does nothing
  // if the program itself has begun OpenSSL before.
  return out.OPENSSL_init_ssl(init_no_atexit, nullptr) == 1 ? "" : "libssl.so.3 does not begin";
}

}  // namespace

Visit::Visit() noexcept {
  try {
    (void)object_of_this_thread<EndOfThread>();
  } catch (const std::bad_alloc&) {
    return;  // OpenSSL then frees the thread's memory by itself
  }
}

// Two threads may load the library at the same time. A failure is not kept, because a lack of
// descriptors passes.
const Functions* functions(std::string& why) {
  if (const Functions* const before = loaded.load(std::memory_order_acquire)) return before;
  const NoFork no_fork;
  // Before OpenSSL has its own: ends of threads come in the order of their keys.
  (void)slot_of_threads<EndOfThread>();
  auto made = std::make_unique<Functions>();
  why = load(*made);
  if (!why.empty()) return nullptr;
  const Functions* first = nullptr;
  if (!loaded.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) return first;
  return made.release();
}

}  // namespace iw::platform::openssl
