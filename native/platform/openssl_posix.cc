// See openssl.h.
#include <dlfcn.h>

#include <string>

#include "platform/openssl.h"

namespace iw::platform::openssl {

namespace {

struct Library {
  Functions functions;
  bool is_whole = false;
  std::string why;
};

// The library is never unloaded: threads may be inside it until the process ends. A program that
// has loaded OpenSSL for itself shares it with us.
void load(Library& out) {
  const auto missing = [&out] {
    const char* const said = dlerror();
    out.why = said == nullptr ? "libssl.so.3 cannot be loaded" : said;
  };
  void* const found = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (found == nullptr) return missing();
    // dlsym also looks into libcrypto.so.3, on which libssl depends.
#define IW_FIND(result, name, parameters)                                           \
  out.functions.name = reinterpret_cast<result(*) parameters>(dlsym(found, #name)); \
  if (out.functions.name == nullptr) return missing();
  IW_OPENSSL_FUNCTIONS(IW_FIND)
#undef IW_FIND
  // Otherwise OpenSSL would free its tables at exit() while our threads use them. This does nothing
  // if the program itself has begun OpenSSL before.
  out.is_whole = out.functions.OPENSSL_init_ssl(init_no_atexit, nullptr) == 1;
  if (!out.is_whole) out.why = "libssl.so.3 does not begin";
}

}  // namespace

const Functions* functions(const char*& why) {
  static const Library& library = *[] {
    auto* const made = new Library;
    load(*made);
    return made;
  }();
  why = library.why.c_str();
  return library.is_whole ? &library.functions : nullptr;
}

}  // namespace iw::platform::openssl
