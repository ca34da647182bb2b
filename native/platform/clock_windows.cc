// Windows' interrupt time counts suspended time (Windows 10). Where the function is missing, the
// performance counter is used; it also counts suspended time on the machines that we know of.
#include <windows.h>

#include "platform/clock.h"

namespace iw::platform {

namespace {

using InterruptTime = void(WINAPI*)(PULONGLONG);

InterruptTime find_interrupt_time() {
  const HMODULE system = GetModuleHandleW(L"kernelbase.dll");
  if (system == nullptr) return nullptr;
  return reinterpret_cast<InterruptTime>(
      reinterpret_cast<void*>(GetProcAddress(system, "QueryInterruptTimePrecise")));
}

std::int64_t frequency() {
  LARGE_INTEGER per_second{};
  QueryPerformanceFrequency(&per_second);
  return per_second.QuadPart;
}

}  // namespace

std::int64_t now_ns() {
  static const InterruptTime interrupt_time = find_interrupt_time();
  if (interrupt_time != nullptr) {
    ULONGLONG hundreds_of_ns = 0;
    interrupt_time(&hundreds_of_ns);
    return static_cast<std::int64_t>(hundreds_of_ns) * 100;
  }
  static const std::int64_t per_second = frequency();
  LARGE_INTEGER count{};
  QueryPerformanceCounter(&count);
  // In two parts: the whole would overflow after some weeks.
  return count.QuadPart / per_second * 1'000'000'000 +
         count.QuadPart % per_second * 1'000'000'000 / per_second;
}

}  // namespace iw::platform
