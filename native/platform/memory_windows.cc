// Windows: views of sections that the paging file backs. See memory.h; what all systems share is in
// memory.cc.
//
// A view cannot be mapped over reserved address space. That part of the reservation is released
// first, and the remaining parts are reserved again at once. Other software could take the
// addresses in between. The mapping then fails with EEXIST, or the reservation has a hole where
// mappings fail. (Placeholders, of Windows 10, would close the gap, but are not available
// everywhere.)
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "platform/memory.h"
#include "platform/mutex.h"
#include "platform/placement.h"
#include "platform/windows_handle.h"

namespace iw::platform {

namespace {

const SYSTEM_INFO& system_info() {
  static const SYSTEM_INFO info = [] {
    SYSTEM_INFO asked{};
    GetSystemInfo(&asked);
    return asked;
  }();
  return info;
}

// Reservations and views begin at multiples of it (64 KiB) and keep others out of their last one.
std::size_t granule_bytes() { return system_info().dwAllocationGranularity; }
std::size_t whole_granules(std::size_t size_bytes) {
  return (size_bytes + granule_bytes() - 1) / granule_bytes() * granule_bytes();
}
bool at_granule(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % granule_bytes() == 0;
}

// The pieces that reservations consist of, each an allocation of its own.
class Reservations {
 public:
  static Reservations& all() {
    static auto* one = new Reservations;  // never destroyed: mappings may end during exit
    return *one;
  }

  std::byte* reserve(void* wanted, std::size_t size_bytes) {
    const MutexLock lock(mutex_);
    return add(wanted, whole_granules(size_bytes));
  }

  // The whole range, of which nothing is mapped any more.
  void release(std::byte* begin, std::size_t size_bytes) {
    const MutexLock lock(mutex_);
    take_out(begin, begin + size_bytes);
  }

  // Calls map() while the range is free.
  template <typename Map>
  std::byte* replace(std::byte* begin, std::size_t size_bytes, Map map) {
    const MutexLock lock(mutex_);
    std::byte* const end = begin + whole_granules(size_bytes);
    const Range released = take_out(begin, end);
    std::byte* const got = map();
    const DWORD failure = GetLastError();
    if (released.begin < begin) add(released.begin, size_between(released.begin, begin));
    if (end < released.end) add(end, size_between(end, released.end));
    if (got == nullptr) add(begin, size_between(begin, end));
    SetLastError(failure);
    return got;
  }

  template <typename Unmap>
  void give_back(std::byte* begin, std::size_t size_bytes, Unmap unmap) {
    const MutexLock lock(mutex_);
    unmap();
    add(begin, whole_granules(size_bytes));
  }

 private:
  struct Range {
    std::byte* begin;
    std::byte* end;
  };

  static std::size_t size_between(const std::byte* begin, const std::byte* end) {
    return static_cast<std::size_t>(end - begin);
  }

  std::byte* add(void* wanted, std::size_t size_bytes) IW_REQUIRES(mutex_) {
    auto* const got =
        static_cast<std::byte*>(VirtualAlloc(wanted, size_bytes, MEM_RESERVE, PAGE_NOACCESS));
    if (got == nullptr) return nullptr;
    try {
      pieces_.emplace(got, size_bytes);
    } catch (const std::bad_alloc&) {
      VirtualFree(got, 0, MEM_RELEASE);
      SetLastError(ERROR_NOT_ENOUGH_MEMORY);
      return nullptr;
    }
    return got;
  }

  // Releases all pieces that lie in the range or reach into it; returns what they and it cover.
  Range take_out(std::byte* begin, std::byte* end) IW_REQUIRES(mutex_) {
    Range covered{begin, end};
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin() && std::prev(piece)->first + std::prev(piece)->second > begin) {
      --piece;
    }
    while (piece != pieces_.end() && piece->first < end) {
      covered.begin = std::min(covered.begin, piece->first);
      covered.end = std::max(covered.end, piece->first + piece->second);
      VirtualFree(piece->first, 0, MEM_RELEASE);
      piece = pieces_.erase(piece);
    }
    return covered;
  }

  Mutex mutex_;
  std::map<std::byte*, std::size_t> pieces_ IW_GUARDED_BY(mutex_);
};

bool is_copy_on_write(const std::byte* address) {
  MEMORY_BASIC_INFORMATION info{};
  return VirtualQuery(address, &info, sizeof info) != 0 && info.AllocationProtect == PAGE_WRITECOPY;
}

DWORD windows_protection(const std::byte* begin, Protection protection) {
  switch (protection) {
    case Protection::none:
      return PAGE_NOACCESS;
    case Protection::read:
      return PAGE_READONLY;
    case Protection::read_write:
      break;
  }
  return is_copy_on_write(begin) ? PAGE_WRITECOPY : PAGE_READWRITE;
}

// At the wanted address, or anywhere if that is null.
std::byte* map_view(const MapRequest& request, void* wanted) {
  const DWORD access = request.private_view ? FILE_MAP_COPY : FILE_MAP_WRITE;
  return static_cast<std::byte*>(
      MapViewOfFileEx(handle_of(request.fd), access, 0, 0, request.size_bytes, wanted));
}

std::byte* map_placed(const MapRequest& request) {
  if (request.placement == Placement::over_reservation) {
    return Reservations::all().replace(static_cast<std::byte*>(request.wanted), request.size_bytes,
                                       [&] { return map_view(request, request.wanted); });
  }
  if (request.wanted != nullptr) {
    std::byte* got = map_view(request, request.wanted);
    if (got != nullptr || request.placement == Placement::must) return got;
  }
  return map_view(request, nullptr);
}

}  // namespace

std::size_t page_size() { return system_info().dwPageSize; }

std::uint64_t address_space_bytes() {
  return reinterpret_cast<std::uintptr_t>(system_info().lpMaximumApplicationAddress);
}

std::uint64_t unused_address_space_bytes() { return address_space_bytes(); }

MappingUse mapping_limits() {
  return {address_space_bytes() / 2, std::numeric_limits<std::uint64_t>::max()};
}

void Mapping::release() {
  if (begin_ == nullptr) return;
  if (!is_file_) {
    Reservations::all().release(begin_, size_bytes_);
  } else if (in_reservation_) {
    Reservations::all().give_back(begin_, size_bytes_, [this] { UnmapViewOfFile(begin_); });
  } else {
    UnmapViewOfFile(begin_);
  }
  begin_ = nullptr;
  size_bytes_ = 0;
  claim_.give_back();
}

Status Mapping::keep_from_children() { return {}; }  // there are none

Status reserve(std::size_t size_bytes, void* wanted, Placement placement, Mapping& out) {
  if (Status bad = check_placement(wanted, placement, size_bytes); !bad) return bad;
  if (placement == Placement::over_reservation) {
    return {ENOTSUP, "a reservation within a reservation"};
  }
  MappingClaim claim;
  if (Status bad = MappingClaim::make(size_bytes, claim); !bad) return bad;
  std::byte* got = nullptr;
  if (wanted != nullptr && at_granule(wanted)) {
    got = Reservations::all().reserve(wanted, size_bytes);
  } else if (placement == Placement::must) {
    return {EINVAL, "mapping: not a multiple of 64 KiB"};
  }
  if (got == nullptr && placement == Placement::if_free) {
    got = Reservations::all().reserve(nullptr, size_bytes);
  }
  if (got == nullptr) return last_failure("reserving address space");
  out = Mapping(got, size_bytes, false, false, std::move(claim));
  return {};
}

Status create_shared_memory(std::size_t size_bytes, FileDescriptor& out) {
  const std::uint64_t size = size_bytes;
  const HANDLE section =
      CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE,
                         static_cast<DWORD>(size >> 32), static_cast<DWORD>(size), nullptr);
  if (section == nullptr) return last_failure("CreateFileMapping");
  out = FileDescriptor(descriptor_of(section));
  return {};
}

// A section does not tell, but a view of all of it does.
Status file_size(int fd, std::size_t& size_bytes) {
  void* const view = MapViewOfFile(handle_of(fd), FILE_MAP_READ, 0, 0, 0);
  if (view == nullptr) return last_failure("MapViewOfFile");
  MEMORY_BASIC_INFORMATION info{};
  const bool is_known = VirtualQuery(view, &info, sizeof info) != 0;
  size_bytes = info.RegionSize;
  UnmapViewOfFile(view);
  return is_known ? Status{} : last_failure("VirtualQuery");
}

Status map_file(const MapRequest& request, Mapping& out) {
  if (Status bad = check_placement(request.wanted, request.placement, request.size_bytes); !bad) {
    return bad;
  }
  const bool in_reservation = request.placement == Placement::over_reservation;
  MappingClaim claim;
  if (Status bad = MappingClaim::make(in_reservation ? 0 : request.size_bytes, claim); !bad) {
    return bad;
  }
  std::byte* got = map_placed(request);
  if (got == nullptr) return last_failure("mapping a file");
  out = Mapping(got, request.size_bytes, in_reservation, true, std::move(claim));
  if (request.protection == Protection::read_write) return {};
  return protect(got, request.size_bytes, request.protection);
}

Status protect(std::byte* begin, std::size_t size_bytes, Protection protection) {
  const DWORD wanted = windows_protection(begin, protection);
  DWORD previous = 0;
  if (VirtualProtect(begin, size_bytes, wanted, &previous) != 0) return {};
  // Reserved address space has no memory yet.
  if (GetLastError() == ERROR_INVALID_ADDRESS &&
      VirtualAlloc(begin, size_bytes, MEM_COMMIT, wanted) != nullptr) {
    return {};
  }
  return last_failure("VirtualProtect");
}

Status write_file(int, std::size_t, const void*, std::size_t) {
  return {ENOTSUP, "anonymous files cannot be written to on Windows"};
}

void prefault(std::byte*, std::size_t) {}

Status drop_file_pages(std::byte*, std::size_t) {
  return {ENOTSUP, "pages of a file cannot be given back on Windows"};
}

Status drop_private_pages(std::byte*, std::size_t) {
  return {ENOTSUP, "private pages cannot be dropped on Windows"};
}

}  // namespace iw::platform
