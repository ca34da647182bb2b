// Address space and the memory behind it: reservations without memory, anonymous files that can be
// mapped several times (shared, or as a private copy-on-write view), protection.
// Sizes and addresses are multiples of page_size(); the calls refuse others with EINVAL.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/file_descriptor.h"
#include "platform/status.h"

namespace iw::platform {

std::size_t page_size();
std::size_t round_up_to_page(std::size_t size_bytes);

// The address space that this process can have: the machine's, or the process's own limit (ulimit
// -v) if that is less.
std::uint64_t address_space_bytes();
// The unused part of the process's own limit; address_space_bytes() if it does not have a limit.
std::uint64_t unused_address_space_bytes();

// The bound for all mappings of this process together. On 64-bit machines: half of the machine's
// address space, and three quarters of the mappings that the system allows a process. The rest is
// left to the program. Beyond the bound, reserve() and map_file() fail with ENOMEM and say which
// limit was reached.
struct MappingUse {
  std::uint64_t bytes = 0;  // of address space
  std::uint64_t mappings = 0;
};
MappingUse mapping_limits();
MappingUse mapping_use();

enum class Protection { none, read, read_write };

// How binding the wanted address of a mapping is.
enum class Placement {
  if_free,          // there if the range is free, anywhere otherwise (or when it is null)
  must,             // there, or fail with EEXIST
  over_reservation  // there, replacing a part of a Mapping made by reserve(); given back when the
                    // new mapping ends. The reservation must outlive it.
};

// A part of what all mappings may take, given back at its end.
class MappingClaim {
 public:
  MappingClaim() = default;
  // `bytes`: of address space that was not claimed before.
  static Status make(std::uint64_t bytes, MappingClaim& out);
  MappingClaim(MappingClaim&& other) noexcept { *this = static_cast<MappingClaim&&>(other); }
  MappingClaim& operator=(MappingClaim&& other) noexcept;
  ~MappingClaim() { give_back(); }
  void give_back();

 private:
  std::uint64_t bytes_ = 0;
  bool is_made_ = false;
};

// Owner of a range of the address space; unmaps it at its end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { release(); }

  [[nodiscard]] std::byte* begin() const { return begin_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  explicit operator bool() const { return begin_ != nullptr; }
  void release();

  // A forked child does not inherit the range (and its Mapping objects forget it).
  Status keep_from_children();

 private:
  friend Status reserve(std::size_t, void*, Placement, Mapping&);
  friend Status map_file(const struct MapRequest&, Mapping&);
  Mapping(std::byte* begin, std::size_t size_bytes, bool in_reservation, bool is_file,
          MappingClaim claim)
      : begin_(begin),
        size_bytes_(size_bytes),
        in_reservation_(in_reservation),
        is_file_(is_file),
        claim_(static_cast<MappingClaim&&>(claim)) {}

  std::byte* begin_ = nullptr;
  std::size_t size_bytes_ = 0;
  bool in_reservation_ = false;
  bool is_file_ = false;
  bool absent_in_children_ = false;
  unsigned made_in_fork_ = 0;
  MappingClaim claim_;
};

// Inaccessible address space; costs no memory until protect() makes it accessible.
Status reserve(std::size_t size_bytes, void* wanted, Placement placement, Mapping& out);

// An anonymous file of zeros. Pages take memory when first written.
Status create_shared_memory(std::size_t size_bytes, FileDescriptor& out);
Status file_size(int fd, std::size_t& size_bytes);
// Writes into the file, as a store through a mapping does. Where the file has no page yet, this
// takes half the time, because nobody clears the page first. ENOTSUP where files cannot be written
// so.
Status write_file(int fd, std::size_t offset, const void* bytes, std::size_t size_bytes);

struct MapRequest {
  int fd = -1;
  std::size_t size_bytes = 0;
  Protection protection = Protection::read_write;
  bool private_view = false;  // stores go to a private copy of the page, made at the first one
  void* wanted = nullptr;
  Placement placement = Placement::if_free;
};
Status map_file(const MapRequest& request, Mapping& out);

// Async-signal-safe.
Status protect(std::byte* begin, std::size_t size_bytes, Protection protection);

// Takes the pages that lie in the range whole, in one call. They come faster so than one by one,
// when they are first touched. Changes no byte. Does nothing where the system cannot do it, has no
// memory, or has the page in the middle already.
void prefault(std::byte* begin, std::size_t size_bytes);

// Whether a private view's pages can be made to show the file again. Windows has no call for that:
// such pages stay private, and the caller copies the file's bytes into them.
#if defined(_WIN32)
inline constexpr bool can_drop_private_pages = false;
#else
inline constexpr bool can_drop_private_pages = true;
#endif

// Gives the file's pages in a shared mapping back to the system. They are zeros afterwards, also in
// other mappings of the file. ENOTSUP where that is not possible.
Status drop_file_pages(std::byte* begin, std::size_t size_bytes);

// Drops the private copies of a private view's pages: they show the file again. ENOTSUP where that
// is not possible.
Status drop_private_pages(std::byte* begin, std::size_t size_bytes);

}  // namespace iw::platform
