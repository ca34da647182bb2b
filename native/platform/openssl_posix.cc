// See openssl.h.
#include <dlfcn.h>

#include <atomic>
#include <memory>
#include <string>

#include "platform/openssl.h"

namespace iw::platform::openssl {

namespace {

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

// Without a lock, which a thread could hold while another one forks. Two threads may load it both.
// Failures are not kept, because a lack of descriptors passes.
const Functions* functions(std::string& why) {
  static std::atomic<const Functions*> loaded{nullptr};
  if (const Functions* const before = loaded.load(std::memory_order_acquire)) return before;
  auto made = std::make_unique<Functions>();
  why = load(*made);
  if (!why.empty()) return nullptr;
  const Functions* first = nullptr;
  if (!loaded.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) return first;
  return made.release();
}

}  // namespace iw::platform::openssl
