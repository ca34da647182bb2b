// Stubs: inaccessible addresses for places that cannot be in this process's memory now (design,
// decision 3). A stub keeps its MIP: unswizzled, it gives back the same wire pointer. When the
// program touches a stub, a line on stderr gives the MIP and the reason. The process then takes its
// SIGSEGV.
//
// Each place has one address for the life of the arena, on a page of its own, because faults are
// exact only to the page. Places are never forgotten, because the program may hold their addresses.
// Their number is therefore bounded. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "types/mip.h"
#include "types/result.h"

namespace iw::swizzle {

using types::Result;

enum class StubReason : std::uint8_t {
  not_mapped,        // the block has no place in this process; gives way to every other reason
  unreachable,       // the segment's server could not be asked
  no_segment,        // the segment does not exist, or may not be read
  no_block,          // the segment has no such block
  beyond_end,        // the block has fewer units
  wrong_type,        // the type there is not the pointer's target type
  no_address_space,  // no room for the block
};

struct StubTarget {
  types::Url url;
  std::uint64_t serial = 0;
  std::uint64_t unit = 0;
  StubReason reason = StubReason::not_mapped;
};

inline constexpr std::size_t kMaxStubs = sizeof(void*) == 8 ? std::size_t{1} << 20 : 4096;

class StubArena {
 public:
  // The program's. Made at its first use, never ends; a forked child has its own.
  static StubArena& program();

  explicit StubArena(std::size_t max_stubs = kMaxStubs);
  ~StubArena();
  StubArena(const StubArena&) = delete;
  StubArena& operator=(const StubArena&) = delete;

  // Gives the address of the place, and makes the place if it is new. The newest reason counts, so
  // a caller that knows better than the Swizzler gives its reason before or after it. NO_MEMORY:
  // the arena is full.
  Result stub_for(const types::Url& url, std::uint64_t serial, std::uint64_t unit,
                  StubReason reason, void*& out);

  // Returns false if the address is not a stub.
  bool find(const void* address, StubTarget& out) const;

  [[nodiscard]] std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iw::swizzle
