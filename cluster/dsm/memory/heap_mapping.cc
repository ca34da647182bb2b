#include "dsm/memory/heap_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dsm/dsm.gen.h"
#include "dsm/protocol/page_diff.h"

namespace iw::dsm {
namespace {

std::string in_mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

bool is_limited(int resource) {
  rlimit limit{};
  return getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0 &&
         limit.rlim_cur != RLIM_INFINITY;
}

std::string why_no_room(std::size_t bytes) {
  return "the heap of " + in_mebibytes(bytes) + " cannot be mapped twice: " + std::strerror(errno) +
         (is_limited(RLIMIT_AS) ? "; the address space of this process is limited (ulimit -v)"
                                : "") +
         "; raise the limit, or set IW_DSM_HEAP to less";
}

// False, and why in *error.
bool are_valid(const HeapOptions& options, const std::byte* at, std::string* error) {
  const auto system_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (!std::has_single_bit(options.page_bytes) || options.page_bytes < system_page ||
      options.page_bytes > page_bytes_max) {
    *error = std::to_string(options.page_bytes) + " bytes are not a valid page size: set " +
             "IW_DSM_PAGE to a power of two from " + std::to_string(system_page) + " to " +
             std::to_string(page_bytes_max);
    return false;
  }
  if (options.bytes == 0 || options.bytes % options.page_bytes != 0) {
    *error = std::to_string(options.bytes) + " bytes are not a valid heap size: set IW_DSM_HEAP " +
             "to a multiple of the page size, " + std::to_string(options.page_bytes);
    return false;
  }
  if (at == nullptr || reinterpret_cast<std::uintptr_t>(at) % options.page_bytes != 0) {
    *error = "the heap's address is not a multiple of its page size";
    return false;
  }
  return true;
}

// The size of a file that exists in memory only is limited as that of others.
int make_file(std::size_t bytes, std::string* error) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
    *error = "a heap of " + in_mebibytes(bytes) + " is more than the limit of a file's size " +
             "(ulimit -f): raise the limit, or set IW_DSM_HEAP to less";
    return -1;
  }
  const int file = memfd_create("interweave-dsm", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  *error = "a memory file of " + in_mebibytes(bytes) + " cannot be made: " + std::strerror(errno) +
           "; set IW_DSM_HEAP to less";
  if (file >= 0) close(file);
  return -1;
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_), owner_(other.owner_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  std::swap(owner_, other.owner_);
  return *this;
}

Mapping::~Mapping() {
  if (begin_ != nullptr && owner_ == getpid()) munmap(begin_, bytes_);
}

Mapping Mapping::make(std::byte* at, std::size_t bytes, int file) {
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* begin = mmap(at, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, file, 0);
  Mapping made;
  if (begin == MAP_FAILED) return made;
  made.begin_ = static_cast<std::byte*>(begin);
  made.bytes_ = bytes;
  made.owner_ = getpid();
  for (const int advice : {MADV_DONTFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE}) {
    madvise(begin, bytes, advice);
  }
  return made;
}

HeapMapping::HeapMapping(HeapMapping&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      page_bytes_(other.page_bytes_),
      view_(std::move(other.view_)),
      alias_(std::move(other.alias_)),
      access_(std::move(other.access_)),
      twins_(std::move(other.twins_)),
      room_(std::move(other.room_)) {}

HeapMapping::~HeapMapping() {
  if (file_ >= 0) close(file_);
}

bool HeapMapping::map_tables(std::size_t pages) {
  access_ = Mapping::make(nullptr, pages * sizeof(Access), -1);
  twins_ = Mapping::make(nullptr, pages * sizeof(std::byte*), -1);
  room_ = Mapping::make(nullptr, most_run_bytes(page_bytes_), -1);
  return access_.begin() != nullptr && twins_.begin() != nullptr && room_.begin() != nullptr;
}

bool HeapMapping::map_view(std::byte* at, bool* is_taken, std::string* error) {
  view_ = Mapping::make(at, alias_.bytes(), file_);
  if (view_.begin() == at) return true;
  // The system chose another place, or does not have that address at all.
  *is_taken = view_.begin() != nullptr || errno != ENOMEM || !is_limited(RLIMIT_AS);
  if (*is_taken) {
    *error = "something else lies at the heap's address; try another one";
  } else {
    *error = why_no_room(alias_.bytes());
  }
  return false;
}

std::optional<HeapMapping> HeapMapping::make(const HeapOptions& options, std::byte* at,
                                             bool* is_taken, std::string* error) {
  if (!are_valid(options, at, error)) return std::nullopt;
  HeapMapping made;
  made.page_bytes_ = options.page_bytes;
  made.file_ = make_file(options.bytes, error);
  if (made.file_ < 0) return std::nullopt;
  made.alias_ = Mapping::make(nullptr, options.bytes, made.file_);
  if (made.alias_.begin() == nullptr || !made.map_tables(options.bytes / options.page_bytes)) {
    *error = why_no_room(options.bytes);
    return std::nullopt;
  }
  if (!made.map_view(at, is_taken, error)) return std::nullopt;
  return made;
}

// The file says where it has memory. A page that was only loaded has some, too.
std::vector<PageNumber> HeapMapping::pages_with_bytes() const {
  std::vector<PageNumber> pages;
  constexpr std::size_t step = 64;
  static constexpr std::byte zeroes[step]{};
  off_t hole = 0;
  for (;;) {
    const off_t data = lseek(file_, hole, SEEK_DATA);
    if (data < 0) return pages;
    hole = lseek(file_, data, SEEK_HOLE);
    for (auto at = static_cast<std::size_t>(data); at < static_cast<std::size_t>(hole);) {
      const PageNumber page = at / page_bytes_;
      const bool is_new = pages.empty() || pages.back() != page;
      const bool has_bytes = is_new && std::memcmp(alias() + at, zeroes, step) != 0;
      if (has_bytes) pages.push_back(page);
      at = is_new && !has_bytes ? at + step : (page + 1) * page_bytes_;
    }
  }
}

void HeapMapping::give_back(std::size_t offset, std::size_t bytes) const {
  int result;
  do {
    result = fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  // A kernel without it, or that has no memory for it: zeroes at least.
  if (result != 0) std::memset(alias() + offset, 0, bytes);
}

}  // namespace iw::dsm
