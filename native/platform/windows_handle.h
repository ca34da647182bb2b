// Inside platform, on Windows: kernel handles as file descriptors. A handle has 32 significant
// bits, and the kernel leaves the lowest two to programs. The lowest bit tells handles from
// sockets, which are given out unchanged.
#pragma once

#include <windows.h>

#include <cstdint>

namespace iw::platform {

inline bool is_handle(int fd) { return (fd & 1) != 0; }
inline int descriptor_of(HANDLE handle) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(handle)) | 1;
}
inline HANDLE handle_of(int fd) {
  return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(fd & ~1));
}

}  // namespace iw::platform
