// Inside platform, on Windows: its error numbers (winsock's among them) as errno values.
#pragma once

namespace iw::platform {

int errno_of(unsigned long windows_code);

}  // namespace iw::platform
