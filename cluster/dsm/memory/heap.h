// The heap of one rank: a memory file that is mapped twice. The application's view lies at one
// address in all processes, and the system protects it page by page. The library's alias lies
// anywhere and is never protected. Twins lie in memory of their own (twin_slab.h).
//
// An access that a page does not allow becomes a fault on the thread that made it, in one of two
// ways:
//
//   userfaultfd  the view's page table is filled and emptied entry by entry; a fault is a SIGBUS.
//                Linux 6.4 or newer.
//   sigsegv      mprotect; a fault is a SIGSEGV. Each stretch of equal protection is a mapping of
//                the kernel, of which a process may have 65,530. When they are used up, all pages
//                are closed at once, and each is opened again at its next fault.
//
// Memory and the tables of pages are taken from the system when pages are touched, and not before.
// A child that is forked does not have the heap, and a core dump does not show it.
//
// The kernel's own accesses to the view, in system calls, raise no signal: interpose.cc.
//
// All functions but map, addresses, watch and the getters are called with the rank's mutex held;
// none of them waits. If the system has no memory for a page, the process ends with status 3 and a
// message. So it does after any other failure that a caller cannot answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dsm/memory/faults.h"
#include "dsm/protocol/page_memory.h"

namespace iw::dsm {

struct HeapOptions {
  // Of address space; a multiple of page_bytes.
  std::size_t bytes = std::size_t{64} << 30;
  // A power of two from the processor's page to page_bytes_max (dsm.gen.h).
  std::size_t page_bytes = 4096;
  FaultWay way = FaultWay::best;
};

class Heap final : public PageMemory {
 public:
  // Where the view may lie, in the order in which ranks try: addresses that the system, allocators
  // and sanitizers leave free on one processor or another. The first ones have room for 1 TiB.
  static std::span<const std::uintptr_t> addresses();

  // nullptr, and why in *error. `at`, a multiple of the page: where the view is to be. *is_taken:
  // something else is mapped there, and another address may do. Thread-safe.
  static std::unique_ptr<Heap> map(const HeapOptions& options, std::byte* at, bool* is_taken,
                                   std::string* error);
  ~Heap() override;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  std::byte* begin() const;
  std::size_t bytes() const;
  std::size_t page_bytes() const;
  // Never best.
  FaultWay way() const;
  // The memory file, which other processes may map.
  int file() const;
  bool has(const void* address) const;
  // REQUIRES: the heap has the address.
  PageNumber page_of(const void* address) const;

  // Until then the whole view may be loaded and stored, and nobody hears of it. Afterwards no page
  // may be accessed until `allow` says so. Returns, in ascending order, the pages that do not
  // consist of zeroes. keeps_bytes: rank 0; otherwise all bytes are given back to the system, and
  // the list is empty.
  // REQUIRES: no other thread accesses the view. Called once.
  std::vector<PageNumber> end_replay(bool keeps_bytes);

  // Faults in the view are told to the handler, which outlives the watch. nullptr: they are not any
  // longer, and no call of the former handler is running. Called without the rank's mutex, because
  // it waits for such calls.
  void watch(FaultHandler* handler);

  std::size_t twins() const;
  // Of twins, those among them that are kept for the next ones.
  std::size_t twin_bytes() const;

  // PageMemory
  void allow(PageNumber first, std::size_t count, Access access) override;
  void allow_all(std::span<const PageNumber> pages, Access access) override;
  [[nodiscard]] bool make_twin(PageNumber page) override;
  std::span<const std::byte> take_diff(PageNumber page) override;
  [[nodiscard]] bool apply(PageNumber page, std::span<const std::byte> runs) override;
  std::span<const std::byte> read(PageNumber page) override;
  void fill(PageNumber page, std::span<const std::byte> bytes) override;
  void give_back(PageNumber first, std::size_t count) override;

 private:
  class Parts;
  explicit Heap(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace iw::dsm
