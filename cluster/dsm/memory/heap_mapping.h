// What a heap maps: its file twice, and tables of its pages. The system gives memory for them when
// they are touched. A forked child has none of it, and does not unmap it either.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsm/memory/heap.h"
#include "dsm/memory/view_protection.h"

namespace iw::dsm {

// A private mapping that is zeroes at first, or a shared one of a file.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // `at`: where it lies if nothing else lies there; otherwise, and for nullptr, anywhere. With
  // MAP_FIXED_NOREPLACE the thread sanitizer would map at 0. file -1: none. Empty if it fails;
  // errno says why.
  static Mapping make(std::byte* at, std::size_t bytes, int file);
  std::byte* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  pid_t owner_ = 0;
};

class HeapMapping {
 public:
  // As Heap::map.
  static std::optional<HeapMapping> make(const HeapOptions& options, std::byte* at, bool* is_taken,
                                         std::string* error);
  HeapMapping(HeapMapping&& other) noexcept;
  HeapMapping& operator=(HeapMapping&&) = delete;
  ~HeapMapping();

  View view() const { return {view_.begin(), view_.bytes(), file_}; }
  std::byte* alias() const { return alias_.begin(); }
  // Of each page.
  Access* access() const { return reinterpret_cast<Access*>(access_.begin()); }
  std::byte** twins() const { return reinterpret_cast<std::byte**>(twins_.begin()); }
  // For the longest diff.
  std::span<std::byte> room() const { return {room_.begin(), room_.bytes()}; }

  // Ascending, those that do not consist of zeroes.
  std::vector<PageNumber> pages_with_bytes() const;
  void give_back(std::size_t offset, std::size_t bytes) const;

 private:
  HeapMapping() = default;
  bool map_tables(std::size_t pages);
  bool map_view(std::byte* at, bool* is_taken, std::string* error);

  int file_ = -1;
  std::size_t page_bytes_ = 0;
  Mapping view_, alias_, access_, twins_, room_;
};

}  // namespace iw::dsm
