#include "platform/openssl.h"

#include <dlfcn.h>

#include <string>

namespace iw::platform::openssl {

namespace {

constexpr const char* library_name = "libssl.so.3";

struct Loaded {
  Functions functions;
  bool is_whole = false;
  std::string why;
};

Loaded load() {
  Loaded out;
  // Never closed: threads may be inside until the process ends. Symbols of libcrypto are found
  // through libssl, which depends on it.
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  const auto fail = [&] {
    const char* const said = dlerror();
    out.why = said == nullptr ? library_name : said;
    return out;
  };
  if (library == nullptr) return fail();
#define IW_LOAD(result, name, parameters)                                                     \
  out.functions.name = reinterpret_cast<decltype(out.functions.name)>(dlsym(library, #name)); \
  if (out.functions.name == nullptr) return fail();
  IW_OPENSSL_FUNCTIONS(IW_LOAD)
#undef IW_LOAD
  // By itself OpenSSL would free what it has when the process begins to exit, beside our threads.
  out.is_whole = out.functions.OPENSSL_init_ssl(init_no_atexit, nullptr) == 1;
  if (!out.is_whole) out.why = "OpenSSL cannot begin";
  return out;
}

}  // namespace

const Functions* functions(const char*& why) {
  static const Loaded& loaded = *new Loaded(load());
  why = loaded.why.c_str();
  return loaded.is_whole ? &loaded.functions : nullptr;
}

}  // namespace iw::platform::openssl
