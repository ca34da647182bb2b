// Direct reading of pages among the ranks of one machine [DSM-PAGE-9]. Each rank has a table in a
// memory file, which says what its pages have. Others map the table and the rank's heap when they
// first need a page there. They find the files by the process's descriptors.
//
// Invariants: a row never says more than the page's bytes have, because the word is stored behind
// the bytes and loaded before them. Files are used only if the table begins with the nonce that the
// rank told, so a number of a process or of a file on another machine does no harm.
//
// The rank's exclusion is held in all calls.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "dsm/dsm.gen.h"
#include "dsm/memory/heap_mapping.h"
#include "dsm/protocol/pages.h"

namespace iw::dsm {

class HomeTables final : public DirectPages {
 public:
  struct Shape {
    Rank me = 0;
    Rank ranks = 1;
    PageNumber pages = 0;
    std::size_t page_bytes = 0;
  };
  // nullptr: the system gives no table.
  static std::unique_ptr<HomeTables> make(const Shape& shape);
  ~HomeTables() override;
  HomeTables(const HomeTables&) = delete;
  HomeTables& operator=(const HomeTables&) = delete;

  // To be told to other ranks. heap_file: this rank's.
  Memory memory(int heap_file) const;
  // That rank's memory is tried when a page of it is needed.
  void may_reach(Rank rank, const Memory& memory) { others_[rank].memory = memory; }

  // DirectPages
  void tell_present(PageNumber page) override;
  void tell_flushed(PageNumber page, Stamp stamp) override;
  std::span<const std::byte> find(Rank home, PageNumber page, std::span<const Stamp> needed,
                                  std::vector<Stamp>* there) override;
  void tell_reader(Rank home, PageNumber page) override;
  bool has_new_readers() override;
  bool is_read(PageNumber page) override;
  std::optional<Rank> find_home(Rank directory, PageNumber page, Rank otherwise) override;
  void tell_initial_bytes(PageNumber page) override;
  std::optional<std::span<const std::byte>> find_initial(PageNumber page) override;

 private:
  struct Other {
    Memory memory;  // pid 0: it is not tried
    Mapping table;
    Mapping heap;
  };
  explicit HomeTables(const Shape& shape) : shape_(shape), others_(shape.ranks) {}
  std::size_t table_bytes() const;
  std::uint64_t* row_in(const Mapping& table, PageNumber page) const;
  bool is_open(Other& other) const;
  void open(Other& other) const;

  const Shape shape_;
  int file_ = -1;
  std::array<std::uint64_t, 2> nonce_{};
  Mapping table_;
  std::vector<Other> others_;
  std::uint64_t readers_ = 0;  // that this rank has looked at
};

}  // namespace iw::dsm
