// Windows, which has no fork.
// clang-format off
#include <windows.h>  // before those that need it
#include <bcrypt.h>
// clang-format on

#include <algorithm>
#include <array>
#include <cerrno>

#include "platform/process.h"

namespace iw::platform {

std::int64_t process_id() { return GetCurrentProcessId(); }

std::string program_name() {
  std::array<char, 1024> path{};
  const DWORD size = GetModuleFileNameA(nullptr, path.data(), static_cast<DWORD>(path.size()));
  const std::string whole(path.data(), std::min<std::size_t>(size, path.size()));
  const std::size_t folder = whole.find_last_of("\\/");
  return folder == std::string::npos ? whole : whole.substr(folder + 1);
}

std::string host_name() {
  std::array<char, 256> name{};
  DWORD size = static_cast<DWORD>(name.size());
  const BOOL is_said = GetComputerNameExA(ComputerNameDnsHostname, name.data(), &size);
  return is_said != 0 ? std::string(name.data(), size) : std::string();
}

unsigned fork_count() noexcept { return 0; }

bool other_threads_are_gone() noexcept {
  using Ask = BOOLEAN(WINAPI*)();
  const HMODULE system = GetModuleHandleW(L"ntdll.dll");
  const auto ask = reinterpret_cast<Ask>(
      reinterpret_cast<void*>(GetProcAddress(system, "RtlDllShutdownInProgress")));
  return ask != nullptr && ask() != 0;
}

void write_to_stderr(std::span<const std::string_view> pieces) noexcept {
  std::array<char, 2048> line;
  std::size_t size = 0;
  for (const std::string_view piece : pieces) {
    const std::size_t part = std::min(piece.size(), line.size() - size);
    std::copy_n(piece.begin(), part, line.begin() + static_cast<std::ptrdiff_t>(size));
    size += part;
  }
  DWORD written = 0;
  (void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), line.data(), static_cast<DWORD>(size), &written,
                  nullptr);
}

Status random_bytes(std::span<std::byte> out) {
  const NTSTATUS status =
      BCryptGenRandom(nullptr, reinterpret_cast<PUCHAR>(out.data()), static_cast<ULONG>(out.size()),
                      BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  return status == 0 ? Status{} : Status{EIO, "BCryptGenRandom"};
}

}  // namespace iw::platform
