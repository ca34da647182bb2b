// Linux (and systems with its memfd_create). See memory.h; what all systems share is in memory.cc.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
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

constexpr bool has_64_bits = sizeof(void*) == 8;

// Stacks lie at the upper end of what programs may have.
std::uint64_t machine_bytes() {
  if constexpr (!has_64_bits) return std::uint64_t{1} << 32;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return std::uint64_t{1} << std::min(static_cast<int>(std::bit_width(here)), 62);
}

std::uint64_t own_limit_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return limit.rlim_cur;
}

// The first number in a file of /proc; false: it cannot be read now.
bool read_number(const char* path, std::uint64_t& out) {
  const FileDescriptor fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  std::array<char, 64> text;
  const ssize_t got = read(fd.get(), text.data(), text.size());
  return got > 0 && std::from_chars(text.data(), text.data() + got, out).ec == std::errc{};
}

// Linux' own default until it could be read.
std::uint64_t most_mappings() {
  static std::atomic<std::uint64_t> known{0};
  if (const std::uint64_t most = known.load(std::memory_order_relaxed); most != 0) return most;
  std::uint64_t most = 0;
  if (!read_number("/proc/sys/vm/max_map_count", most)) return 65530;
  known.store(most, std::memory_order_relaxed);
  return most;
}

}  // namespace

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::uint64_t address_space_bytes() { return std::min(machine_bytes(), own_limit_bytes()); }

std::uint64_t unused_address_space_bytes() {
  const std::uint64_t limit = own_limit_bytes();
  if (limit == std::numeric_limits<std::uint64_t>::max()) return machine_bytes();
  std::uint64_t used_pages = 0;
  if (!read_number("/proc/self/statm", used_pages)) return address_space_bytes();
  const std::uint64_t used = used_pages * page_size();
  return std::min(machine_bytes(), limit - std::min(limit, used));
}

MappingUse mapping_limits() {
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  return {has_64_bits ? machine_bytes() / 2 : none, most_mappings() / 4 * 3};
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
  claim_.give_back();
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
  const bool in_reservation = placement == Placement::over_reservation;
  MappingClaim claim;
  if (Status bad = MappingClaim::make(in_reservation ? 0 : size_bytes, claim); !bad) return bad;
  std::byte* got = map_placed(wanted, placement, size_bytes, PROT_NONE, reservation_flags, -1);
  if (got == nullptr) return last_failure("reserving address space");
  out = Mapping(got, size_bytes, in_reservation, false, std::move(claim));
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

Status write_file(int fd, std::size_t offset, const void* bytes, std::size_t size_bytes) {
  const auto* from = static_cast<const std::byte*>(bytes);
  while (size_bytes > 0) {
    const ssize_t written = pwrite(fd, from, size_bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return last_failure("pwrite");
    from += written;
    offset += static_cast<std::size_t>(written);
    size_bytes -= static_cast<std::size_t>(written);
  }
  return {};
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
  const int flags = (request.private_view ? MAP_PRIVATE : MAP_SHARED) | MAP_NORESERVE;
  std::byte* got = map_placed(request.wanted, request.placement, request.size_bytes,
                              posix_protection(request.protection), flags, request.fd);
  if (got == nullptr) return last_failure("mapping a file");
  out = Mapping(got, request.size_bytes, in_reservation, true, std::move(claim));
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

#if defined(__linux__)

namespace {

// False also where the system does not say. An emulated machine's page may be several of the
// kernel's, and the kernel answers for each of its own.
bool is_present(std::byte* page) {
  constexpr std::size_t smallest_page_bytes = 4096;
  std::array<unsigned char, 64> presence{};
  if (page_size() > presence.size() * smallest_page_bytes) return false;
  return mincore(page, page_size(), presence.data()) == 0 && (presence[0] & 1) != 0;
}

}  // namespace

// Memory that was used before mostly is there as a whole. The call would look at each page of it,
// and that costs more than it saves. So one page is asked for, in the middle, because malloc notes
// sizes at both ends.
void prefault(std::byte* begin, std::size_t size_bytes) {
  constexpr int populate_write = 23;  // Linux 5.14
  const std::size_t page = page_size();
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  if (skipped >= size_bytes) return;
  const std::size_t pages_bytes = (size_bytes - skipped) / page * page;
  if (pages_bytes == 0) return;
  std::byte* const first = begin + skipped;
  if (is_present(first + pages_bytes / page / 2 * page)) return;
  (void)madvise(first, pages_bytes, populate_write);
}

#else

void prefault(std::byte*, std::size_t) {}

#endif

Status drop_file_pages(std::byte* begin, std::size_t size_bytes) {
#if defined(MADV_REMOVE)
  if (madvise(begin, size_bytes, MADV_REMOVE) == 0) return {};
  return last_failure("madvise(REMOVE)");
#else
  (void)begin;
  (void)size_bytes;
  return {ENOTSUP, "giving pages of a file back"};
#endif
}

Status drop_private_pages(std::byte* begin, std::size_t size_bytes) {
  constexpr int dontneed_locked = 24;  // Linux 5.18; the plain one refuses locked memory
  if (madvise(begin, size_bytes, MADV_DONTNEED) == 0) return {};
  if (errno == EINVAL && madvise(begin, size_bytes, dontneed_locked) == 0) return {};
  return last_failure("madvise(DONTNEED)");
}

}  // namespace iw::platform
