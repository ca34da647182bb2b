// Linux (and systems with its memfd_create). See memory.h; what all systems share is in memory.cc.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "platform/memory.h"
#include "platform/placement.h"
#include "platform/process.h"

namespace iw::platform {

namespace {

int posix_protection(Protection protection) {
  switch (protection) {
    case Protection::none:
      return PROT_NONE;
    case Protection::read:
      return PROT_READ;
    case Protection::read_write:
      return PROT_READ | PROT_WRITE;
  }
  return PROT_NONE;
}

#if defined(MAP_FIXED_NOREPLACE)
constexpr int no_replace = MAP_FIXED_NOREPLACE;
#else
constexpr int no_replace = 0;  // the address is then a hint, and the answer is checked
#endif

std::byte* try_map(void* address, std::size_t size_bytes, int protection, int flags, int fd) {
  void* got = mmap(address, size_bytes, protection, flags, fd, 0);
  return got == MAP_FAILED ? nullptr : static_cast<std::byte*>(got);
}

// Kernels that do not know MAP_FIXED_NOREPLACE take the address for a hint.
std::byte* map_if_free(void* wanted, std::size_t size_bytes, int protection, int flags, int fd) {
  std::byte* got = try_map(wanted, size_bytes, protection, flags | no_replace, fd);
  if (got == nullptr || got == wanted) return got;
  munmap(got, size_bytes);
  errno = EEXIST;
  return nullptr;
}

std::byte* map_placed(void* wanted, Placement placement, std::size_t size_bytes, int protection,
                      int flags, int fd) {
  if (placement == Placement::over_reservation) {
    return try_map(wanted, size_bytes, protection, flags | MAP_FIXED, fd);
  }
  if (wanted != nullptr) {
    std::byte* got = map_if_free(wanted, size_bytes, protection, flags, fd);
    if (got != nullptr || placement == Placement::must) return got;
  }
  return try_map(nullptr, size_bytes, protection, flags, fd);
}

constexpr int reservation_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void Mapping::release() {
  if (begin_ == nullptr) return;
  // In a child that did not inherit the range, something else may live there by now.
  const bool is_ours = !absent_in_children_ || made_in_fork_ == fork_count();
  if (is_ours && in_reservation_) {
    (void)try_map(begin_, size_bytes_, PROT_NONE, reservation_flags | MAP_FIXED, -1);
  } else if (is_ours) {
    munmap(begin_, size_bytes_);
  }
  begin_ = nullptr;
  size_bytes_ = 0;
}

Status Mapping::keep_from_children() {
#if defined(MADV_DONTFORK)
  if (madvise(begin_, size_bytes_, MADV_DONTFORK) != 0) {
    if (errno == EINVAL || errno == ENOSYS) return {};  // emulators: the child has it, too
    return last_failure("madvise(DONTFORK)");
  }
  absent_in_children_ = true;
  made_in_fork_ = fork_count();
#endif
  return {};
}

Status reserve(std::size_t size_bytes, void* wanted, Placement placement, Mapping& out) {
  if (Status bad = check_placement(wanted, placement, size_bytes); !bad) return bad;
  std::byte* got = map_placed(wanted, placement, size_bytes, PROT_NONE, reservation_flags, -1);
  if (got == nullptr) return last_failure("reserving address space");
  out = Mapping(got, size_bytes, placement == Placement::over_reservation, false);
  return {};
}

Status create_shared_memory(std::size_t size_bytes, FileDescriptor& out) {
  FileDescriptor fd(memfd_create("interweave", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return last_failure("memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) return last_failure("ftruncate");
  out = std::move(fd);
  return {};
}

Status file_size(int fd, std::size_t& size_bytes) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return last_failure("fstat");
  size_bytes = static_cast<std::size_t>(info.st_size);
  return {};
}

Status map_file(const MapRequest& request, Mapping& out) {
  if (Status bad = check_placement(request.wanted, request.placement, request.size_bytes); !bad) {
    return bad;
  }
  const int flags = (request.private_view ? MAP_PRIVATE : MAP_SHARED) | MAP_NORESERVE;
  std::byte* got = map_placed(request.wanted, request.placement, request.size_bytes,
                              posix_protection(request.protection), flags, request.fd);
  if (got == nullptr) return last_failure("mapping a file");
  out = Mapping(got, request.size_bytes, request.placement == Placement::over_reservation, true);
  if (!request.private_view) return {};
  // In a process that locks its memory (mlockall), the kernel has just copied every page.
  munlock(got, request.size_bytes);
  return drop_private_pages(got, request.size_bytes);
}

Status protect(std::byte* begin, std::size_t size_bytes, Protection protection) {
  if (mprotect(begin, size_bytes, posix_protection(protection)) != 0) {
    return last_failure("mprotect");
  }
  return {};
}

Status drop_private_pages(std::byte* begin, std::size_t size_bytes) {
  constexpr int dontneed_locked = 24;  // Linux 5.18; the plain one refuses locked memory
  if (madvise(begin, size_bytes, MADV_DONTNEED) == 0) return {};
  if (errno == EINVAL && madvise(begin, size_bytes, dontneed_locked) == 0) return {};
  return last_failure("madvise(DONTNEED)");
}

}  // namespace iw::platform
