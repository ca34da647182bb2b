// The memory of this process that others reach by messages (answering.h), by the names that its
// keys say. Everything that is asked is checked against it.
//
// Invariants: a name is never given twice, and cannot be guessed by who was not told it; what is
// asked for lies within one region, words at addresses that are multiples of 8; once a region has
// been removed, nobody is in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "fabric/fabric.h"
#include "fabric/secrets.h"
#include "platform/mutex.h"

namespace iw::fabric {

class Regions {
 public:
  // Nothing when there are too many.
  std::optional<RegionName> add(std::span<std::byte> bytes);
  void remove(const RegionName& name);

  // bad_argument: there is no such region, or it is not there.
  Status put(const RegionName& name, std::uint64_t offset, Bytes from);
  Status get(const RegionName& name, std::uint64_t offset, std::span<std::byte> to);
  Status fetch_add(const RegionName& name, std::uint64_t offset, std::uint64_t add,
                   std::uint64_t* before);
  Status compare_swap(const RegionName& name, std::uint64_t offset, std::uint64_t expected,
                      std::uint64_t desired, std::uint64_t* before);

 private:
  struct Region {
    std::uint64_t secret;
    std::span<std::byte> bytes;
  };
  std::byte* find(const RegionName& name, std::uint64_t offset, std::size_t bytes) const
      IW_REQUIRES(mutex_);
  std::byte* find_word(const RegionName& name, std::uint64_t offset) const IW_REQUIRES(mutex_);

  platform::Mutex mutex_;  // also while something is copied
  Secrets secrets_ IW_GUARDED_BY(mutex_);
  std::uint64_t next_number_ IW_GUARDED_BY(mutex_) = 1;
  std::unordered_map<std::uint64_t, Region> regions_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::fabric
