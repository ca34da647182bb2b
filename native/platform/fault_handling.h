// Inside platform: between the table of watched ranges (fault.cc) and the system's way of telling
// of faults (fault_posix.cc, fault_windows.cc).
#pragma once

#include <cstddef>

#include "platform/fault.h"

namespace iw::platform {

// Asks the handler of the range that contains the address. False: no range contains it, or its
// handler refused. Async-signal-safe.
bool handle_watched_fault(std::byte* address, FaultAccess access) noexcept;

// The system's: from now on faults go to handle_watched_fault before they go to others. Called with
// the watches locked.
Status put_fault_handler_on_top();

// For fork: the child has the table, and no running handler.
void forget_running_handlers();

}  // namespace iw::platform
