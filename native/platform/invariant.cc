#include "platform/invariant.h"

#include <cstdio>
#include <cstdlib>

namespace iw::platform {

void broken_invariant(const char* condition, const char* why, const char* file, int line) noexcept {
  std::fprintf(stderr, "interweave: broken invariant: %s (%s) at %s:%d\n", why, condition, file,
               line);
  std::abort();
}

}  // namespace iw::platform
