// See page_scan.h. The kernel interfaces are defined here because the headers of the distributions
// we build on are older than the kernels we run on. Facts: Linux, userfaultfd(2) and
// Documentation/admin-guide/mm/pagemap.rst.
#include "platform/page_scan.h"

#include <cerrno>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "platform/memory.h"
#endif

namespace iw::platform {

#if defined(__linux__) && defined(SYS_userfaultfd)

namespace {

struct UffdApi {
  std::uint64_t api, features, ioctls;
};
struct UffdRange {
  std::uint64_t start, length;
};
struct UffdRegister {
  UffdRange range;
  std::uint64_t mode, ioctls;
};
struct UffdWriteProtect {
  UffdRange range;
  std::uint64_t mode;
};
constexpr auto uffdio_api = _IOWR(0xAA, 0x3F, UffdApi);
constexpr auto uffdio_register = _IOWR(0xAA, 0x00, UffdRegister);
constexpr auto uffdio_write_protect = _IOWR(0xAA, 0x06, UffdWriteProtect);
constexpr auto uffd_dev_new = _IO(0xAA, 0x00);
constexpr std::uint64_t uffd_api_version = 0xAA;
constexpr std::uint64_t feature_wp = 1u << 0;
constexpr std::uint64_t feature_wp_shared_memory = 1u << 12;
constexpr std::uint64_t feature_wp_unpopulated = 1u << 13;
constexpr std::uint64_t feature_wp_async = 1u << 15;
constexpr std::uint64_t register_mode_wp = 1u << 1;
constexpr std::uint64_t write_protect_mode_wp = 1u << 0;
constexpr int user_mode_only = 1;

struct PageRegion {
  std::uint64_t start, end, categories;
};
struct ScanArguments {
  std::uint64_t size, flags, start, end, walk_end, regions, regions_count, max_pages;
  std::uint64_t category_inverted, category_mask, category_any_of, return_mask;
};
constexpr auto pagemap_scan = _IOWR('f', 16, ScanArguments);
constexpr std::uint64_t scan_mark_again = 1u << 0;  // PM_SCAN_WP_MATCHING
constexpr std::uint64_t scan_check_async = 1u << 1;
constexpr std::uint64_t page_is_written = 1u << 1;
constexpr std::uint64_t page_is_file = 1u << 2;
constexpr std::uint64_t page_is_present = 1u << 3;
constexpr std::uint64_t page_is_swapped = 1u << 4;

// A direct cast would sign-extend the pointer on some 32-bit machines.
std::uint64_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

FileDescriptor open_userfaultfd() {
  const int flags = O_CLOEXEC | O_NONBLOCK;
  FileDescriptor fd(static_cast<int>(syscall(SYS_userfaultfd, flags | user_mode_only)));
  if (fd) return fd;
  // Containers without the system call may have been given the device.
  const int failure = errno;
  FileDescriptor device(::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
  if (device) return FileDescriptor(ioctl(device.get(), uffd_dev_new, flags));
  errno = failure;
  return {};
}

void append(std::vector<ByteRange>& out, std::size_t begin_bytes, std::size_t end_bytes) {
  if (!out.empty() && out.back().end_bytes == begin_bytes) {
    out.back().end_bytes = end_bytes;
  } else {
    out.push_back({begin_bytes, end_bytes});
  }
}

// Runs one kind of scan over the whole range: the kernel stops when the region list is full.
Status scan(int fd, ScanArguments arguments, const std::byte* base, const std::byte* begin,
            std::size_t size_bytes, std::vector<ByteRange>& out) {
  std::array<PageRegion, 128> regions;
  arguments.size = sizeof arguments;
  arguments.regions = number(regions.data());
  arguments.regions_count = regions.size();
  arguments.start = number(begin);
  arguments.end = arguments.start + size_bytes;
  while (arguments.start < arguments.end) {
    // Before, since a page that is marked again is not found again.
    if (out.capacity() - out.size() < regions.size()) {
      out.reserve(2 * out.size() + regions.size());
    }
    const int found = ioctl(fd, pagemap_scan, &arguments);
    if (found < 0) return last_failure("PAGEMAP_SCAN");
    for (int i = 0; i < found; ++i) {
      const PageRegion& region = regions[static_cast<std::size_t>(i)];
      append(out, static_cast<std::size_t>(region.start - number(base)),
             static_cast<std::size_t>(region.end - number(base)));
    }
    if (arguments.walk_end <= arguments.start) return {EIO, "PAGEMAP_SCAN made no progress"};
    arguments.start = arguments.walk_end;
  }
  return {};
}

}  // namespace

Status WriteWatch::open(WriteWatch& out) {
  FileDescriptor fd = open_userfaultfd();
  if (!fd) return last_failure("userfaultfd");
  UffdApi api{uffd_api_version,
              feature_wp | feature_wp_shared_memory | feature_wp_unpopulated | feature_wp_async, 0};
  if (ioctl(fd.get(), uffdio_api, &api) != 0) return last_failure("userfaultfd: no WP_ASYNC");
  out.fd_ = std::move(fd);
  return {};
}

Status WriteWatch::start(std::byte* begin, std::size_t size_bytes) const {
  UffdRegister area{{number(begin), size_bytes}, register_mode_wp, 0};
  if (ioctl(fd_.get(), uffdio_register, &area) != 0) return last_failure("UFFDIO_REGISTER");
  UffdWriteProtect mark{{number(begin), size_bytes}, write_protect_mode_wp};
  if (ioctl(fd_.get(), uffdio_write_protect, &mark) != 0) {
    return last_failure("UFFDIO_WRITEPROTECT");
  }
  return {};
}

Status WriteWatch::let_write(std::byte* begin, std::size_t size_bytes) const {
  UffdWriteProtect pages{{number(begin), size_bytes}, 0};
  if (ioctl(fd_.get(), uffdio_write_protect, &pages) == 0) return {};
  return last_failure("UFFDIO_WRITEPROTECT");
}

Status PageScanner::open(PageScanner& out) {
  FileDescriptor fd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!fd) return last_failure("opening /proc/self/pagemap");
  out.fd_ = std::move(fd);
  return {};
}

Status PageScanner::take_written(const std::byte* base, const std::byte* begin,
                                 std::size_t size_bytes, std::vector<ByteRange>& out) const {
  ScanArguments arguments{};
  arguments.flags = scan_mark_again | scan_check_async;
  arguments.category_mask = page_is_written;
  arguments.return_mask = page_is_written;
  return scan(fd_.get(), arguments, base, begin, size_bytes, out);
}

Status PageScanner::list_written(const std::byte* base, const std::byte* begin,
                                 std::size_t size_bytes, std::vector<ByteRange>& out) const {
  ScanArguments arguments{};
  arguments.flags = scan_check_async;
  arguments.category_mask = page_is_written;
  arguments.return_mask = page_is_written;
  return scan(fd_.get(), arguments, base, begin, size_bytes, out);
}

Status PageScanner::list_private(const std::byte* base, const std::byte* begin,
                                 std::size_t size_bytes, std::vector<ByteRange>& out) const {
  ScanArguments arguments{};
  arguments.category_inverted = page_is_file;  // not of the file, but present or swapped
  arguments.category_mask = page_is_file;
  arguments.category_any_of = page_is_present | page_is_swapped;
  arguments.return_mask = page_is_present | page_is_swapped;
  const std::size_t before = out.size();
  Status status = scan(fd_.get(), arguments, base, begin, size_bytes, out);
  if (status.code != ENOTTY && status.code != EINVAL) return status;
  out.resize(before);
  return list_private_by_page_map(base, begin, size_bytes, out);
}

// Linux before 6.7: one 64-bit entry per page; bit 63 present, 62 swapped, 61 page of a file.
Status PageScanner::list_private_by_page_map(const std::byte* base, const std::byte* begin,
                                             std::size_t size_bytes,
                                             std::vector<ByteRange>& out) const {
  constexpr std::uint64_t has_page = std::uint64_t{3} << 62;
  constexpr std::uint64_t is_file = std::uint64_t{1} << 61;
  std::array<std::uint64_t, 512> entries;
  const std::size_t page = page_size();
  const std::size_t first_offset = static_cast<std::size_t>(begin - base);
  const std::uint64_t first_page = number(begin) / page;
  for (std::size_t done = 0; done < size_bytes / page;) {
    const std::size_t wanted = std::min(entries.size(), size_bytes / page - done);
    const ssize_t got = pread(fd_.get(), entries.data(), wanted * sizeof entries[0],
                              static_cast<off_t>((first_page + done) * sizeof entries[0]));
    if (got <= 0) return last_failure("reading /proc/self/pagemap");
    const std::size_t count = static_cast<std::size_t>(got) / sizeof entries[0];
    for (std::size_t i = 0; i < count; ++i) {
      if ((entries[i] & has_page) == 0 || (entries[i] & is_file) != 0) continue;
      const std::size_t offset = first_offset + (done + i) * page;
      append(out, offset, offset + page);
    }
    done += count;
  }
  return {};
}

#else

Status WriteWatch::open(WriteWatch&) { return {ENOSYS, "userfaultfd: not on this system"}; }
Status WriteWatch::start(std::byte*, std::size_t) const { return {ENOSYS, "userfaultfd"}; }
Status WriteWatch::let_write(std::byte*, std::size_t) const { return {ENOSYS, "userfaultfd"}; }
Status PageScanner::open(PageScanner&) { return {ENOSYS, "page map: not on this system"}; }
Status PageScanner::take_written(const std::byte*, const std::byte*, std::size_t,
                                 std::vector<ByteRange>&) const {
  return {ENOSYS, "page map"};
}
Status PageScanner::list_written(const std::byte*, const std::byte*, std::size_t,
                                 std::vector<ByteRange>&) const {
  return {ENOSYS, "page map"};
}
Status PageScanner::list_private(const std::byte*, const std::byte*, std::size_t,
                                 std::vector<ByteRange>&) const {
  return {ENOSYS, "page map"};
}
Status PageScanner::list_private_by_page_map(const std::byte*, const std::byte*, std::size_t,
                                             std::vector<ByteRange>&) const {
  return {ENOSYS, "page map"};
}

#endif

}  // namespace iw::platform
