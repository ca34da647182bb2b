#include "platform/status.h"

#include <cerrno>

namespace iw::platform {

Status last_failure(const char* what) { return {errno != 0 ? errno : EIO, what}; }

}  // namespace iw::platform
