// See status.h.
#include <cerrno>
#include <cstring>

#include "platform/status.h"

namespace iw::platform {

Status last_failure(const char* what) { return {errno != 0 ? errno : EIO, what}; }

const char* error_text(int code) { return std::strerror(code); }

}  // namespace iw::platform
