// The debug mode IW_DSM_CHECK=yes: finds pointers that one rank stores into the heap, and that mean
// nothing at another rank: to globals, constants, stacks and memory of malloc.
//
// A page is looked at when its interval ends. Each word that differs from the page's bytes when it
// was opened for stores, and that is an address mapped in this process and outside of the heap,
// is told on stderr, with the address that holds it and the mapping's name. A number may look like
// such an address by chance, which is rare with 64 bits.
//
// Costs a copy of each page that is open for stores, and a comparison; and a look at the
// process's mappings for each word that might be an address. The rank's exclusion is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsm/memory/heap.h"
#include "dsm/protocol/page_memory.h"

namespace iw::dsm {

class CheckedMemory final : public PageMemory {
 public:
  static constexpr unsigned told_most = 20;

  CheckedMemory(Heap& heap, unsigned rank) : heap_(heap), rank_(rank) {}

  // All words of these pages, which were zeroes once: rank 0's in the replay.
  void check_replay(std::span<const PageNumber> pages);

  // PageMemory
  void allow(PageNumber first, std::size_t count, Access access) override;
  [[nodiscard]] bool make_twin(PageNumber page) override { return heap_.make_twin(page); }
  std::span<const std::byte> take_diff(PageNumber page) override { return heap_.take_diff(page); }
  [[nodiscard]] bool apply(PageNumber page, std::span<const std::byte> runs) override;
  std::span<const std::byte> read(PageNumber page) override { return heap_.read(page); }
  void fill(PageNumber page, std::span<const std::byte> bytes) override { heap_.fill(page, bytes); }
  void give_back(PageNumber first, std::size_t count) override { heap_.give_back(first, count); }

 private:
  using Word = std::uintptr_t;
  struct Mapping {
    Word end;
    std::string name;
  };

  void check(PageNumber page, std::span<const std::byte> before);
  void check_word(std::uintptr_t at, Word word);
  const Mapping* find(Word word) const;
  void read_mappings();

  Heap& heap_;
  const unsigned rank_;
  std::unordered_map<PageNumber, std::vector<std::byte>> open_;  // as the pages were
  std::map<Word, Mapping> mappings_;
  unsigned told_ = 0;
};

}  // namespace iw::dsm
