// Replaces stubs by addresses [STUB-1]: pointers into a segment whose server could not be asked
// when they arrived, or for whose blocks there was no memory, and which can be resolved now.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "memory/heap.h"
#include "swizzle/slot_table.h"
#include "swizzle/swizzler.h"
#include "types/mip.h"
#include "types/result.h"

namespace iw::copy {

// The blocks of other segments that a copy's stubs stand for because a server did not answer. A
// superset: a pointer may have been stored to since.
class UnreachableBlocks {
 public:
  struct Target {
    types::Url url;
    std::set<std::uint64_t> serials;
  };

  void note(const types::Url& url, std::span<const std::uint64_t> serials);
  [[nodiscard]] bool is_empty() const { return targets_.empty(); }
  [[nodiscard]] std::vector<Target> all() const;
  void forget(const std::set<std::string>& urls) {
    std::erase_if(targets_, [&urls](const auto& one) { return urls.contains(one.first); });
  }
  void clear() { targets_.clear(); }

 private:
  std::map<std::string, Target> targets_;  // by the URL as text
};

// Gives the pointers that are stubs for blocks of these segments (URLs as text) the addresses that
// the resolver knows. Nobody reads or writes the heap meanwhile.
types::Result heal_stubs(memory::Heap& heap, swizzle::SlotTable& slots, swizzle::Resolver& resolver,
                         const std::set<std::string>& segments);

}  // namespace iw::copy
