// Windows: a vectored exception handler, which sees a fault before any frame of the thread does.
// The system passes faults that the handler does not know to the next handler. See fault.h.
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
  // The interrupted code may be about to read these.
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

// Windows does not tell which handler is on top. The new entry is added before the old one is
// removed, so there is always a handler.
Status put_fault_handler_on_top() {
  const PVOID on_top = AddVectoredExceptionHandler(1, on_exception);
  if (on_top == nullptr) return {ENOMEM, "AddVectoredExceptionHandler"};
  if (installed != nullptr) RemoveVectoredExceptionHandler(installed);
  installed = on_top;
  return {};
}

}  // namespace iw::platform
