// Windows: a vectored exception handler, which sees a fault before any frame of the thread does.
// What it does not know goes on to the next handler by itself. See fault.h.
#include <windows.h>

#include <cerrno>

#include "platform/fault.h"
#include "platform/fault_handling.h"

namespace iw::platform {

namespace {

FaultAccess kind_of_access(const EXCEPTION_RECORD& record) {
  constexpr ULONG_PTR was_read = 0;
  constexpr ULONG_PTR was_write = 1;
  if (record.ExceptionInformation[0] == was_read) return FaultAccess::read;
  return record.ExceptionInformation[0] == was_write ? FaultAccess::write : FaultAccess::unknown;
}

LONG CALLBACK on_exception(EXCEPTION_POINTERS* exception) {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  if (record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION || record.NumberParameters < 2) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  // What the interrupted code is about to look at.
  const int saved_errno = errno;
  const DWORD saved_error = GetLastError();
  auto* address = reinterpret_cast<std::byte*>(record.ExceptionInformation[1]);
  const bool is_handled = handle_watched_fault(address, kind_of_access(record));
  SetLastError(saved_error);
  errno = saved_errno;
  return is_handled ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

PVOID installed = nullptr;  // guarded by the watches' lock

}  // namespace

// Windows does not tell who is on top. The new entry comes before the old one goes: there is no
// moment without.
Status put_fault_handler_on_top() {
  const PVOID on_top = AddVectoredExceptionHandler(1, on_exception);
  if (on_top == nullptr) return {ENOMEM, "AddVectoredExceptionHandler"};
  if (installed != nullptr) RemoveVectoredExceptionHandler(installed);
  installed = on_top;
  return {};
}

}  // namespace iw::platform
