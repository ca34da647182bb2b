// Windows' error numbers as errno values. See status.h.
#include <winsock2.h>

#include <cerrno>
#include <cstring>

#include "platform/status.h"
#include "platform/windows_error.h"

namespace iw::platform {

namespace {

struct Meaning {
  DWORD windows_code;
  int code;
  const char* text;  // the C library's strerror does not know the codes of sockets
};

constexpr Meaning meanings[] = {
    {WSAECONNREFUSED, ECONNREFUSED, "Connection refused"},
    {WSAECONNRESET, ECONNRESET, "Connection reset by peer"},
    {WSAECONNABORTED, ECONNRESET, "Connection reset by peer"},
    {WSAENETRESET, ECONNRESET, "Connection reset by peer"},
    {WSAESHUTDOWN, EPIPE, "Broken pipe"},
    {WSAENOTCONN, ENOTCONN, "Not connected"},
    {WSAETIMEDOUT, ETIMEDOUT, "Connection timed out"},
    {WSAEWOULDBLOCK, EAGAIN, "Resource temporarily unavailable"},
    {WSAENETUNREACH, ENETUNREACH, "Network is unreachable"},
    {WSAEHOSTUNREACH, EHOSTUNREACH, "No route to host"},
    {WSAENETDOWN, ENETDOWN, "Network is down"},
    {WSAEADDRNOTAVAIL, EADDRNOTAVAIL, "Cannot assign requested address"},
    {WSAEAFNOSUPPORT, EAFNOSUPPORT, "Address family not supported"},
    {WSAEACCES, EACCES, "Permission denied"},
    {WSAEMFILE, EMFILE, "Too many open files"},
    {WSAENOBUFS, ENOBUFS, "No buffer space available"},
    {ERROR_INVALID_ADDRESS, EEXIST, "Address in use"},
    {ERROR_INVALID_PARAMETER, EINVAL, "Invalid argument"},
    {ERROR_INVALID_HANDLE, EBADF, "Bad file descriptor"},
    {ERROR_ACCESS_DENIED, EACCES, "Permission denied"},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM, "Not enough memory"},
    {ERROR_OUTOFMEMORY, ENOMEM, "Not enough memory"},
    {ERROR_COMMITMENT_LIMIT, ENOMEM, "Not enough memory"},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE, "Too many open files"},
};

}  // namespace

int errno_of(unsigned long windows_code) {
  for (const Meaning& one : meanings) {
    if (one.windows_code == windows_code) return one.code;
  }
  return EIO;
}

Status last_failure(const char* what) { return {errno_of(GetLastError()), what}; }

const char* error_text(int code) {
  for (const Meaning& one : meanings) {
    if (one.code == code) return one.text;
  }
  return std::strerror(code);
}

bool is_shortage(int code) { return code == EMFILE || code == ENOMEM || code == ENOBUFS; }

std::string shortage_text(int code) {
  switch (code) {
    case EMFILE:
      return "no handle is left for this process";
    case ENOMEM:
    case ENOBUFS:
      return "the system has no memory left for it";
    default:
      return "";
  }
}

}  // namespace iw::platform
