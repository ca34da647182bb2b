// The heap of one rank as the protocol sees it: the bytes of its pages, their protection and their
// twins. Pages have all the same size. The protocol calls it with its mutex held.
//
// An implementation maps the bytes twice: the application's view, which `allow` protects, and the
// library's, through which the other functions read and write at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dsm/protocol/time.h"

namespace iw::dsm {

enum class Access : std::uint8_t { none, read, write };

class PageMemory {
 public:
  virtual ~PageMemory() = default;
  // The application's access to `count` pages from `first` on. A page starts with none.
  virtual void allow(PageNumber first, std::size_t count, Access access) = 0;
  // The same of many pages at once, in ascending order: one system call may do for all of them.
  virtual void allow_all(std::span<const PageNumber> pages, Access access) {
    for (std::size_t begin = 0; begin < pages.size();) {
      std::size_t end = begin + 1;
      while (end < pages.size() && pages[end] == pages[end - 1] + 1) end++;
      allow(pages[begin], end - begin, access);
      begin = end;
    }
  }
  // Returns false if the system has no memory for a twin. The page has no twin then.
  [[nodiscard]] virtual bool make_twin(PageNumber page) = 0;
  // The runs in which the page differs from its twin [DSM-DIFF-1]; empty: none. The twin is
  // dropped. The runs are valid until the next call.
  virtual std::span<const std::byte> take_diff(PageNumber page) = 0;
  // False: the runs are malformed, and the page is as before.
  [[nodiscard]] virtual bool apply(PageNumber page, std::span<const std::byte> runs) = 0;
  // The bytes of the page. They may change while another thread stores.
  virtual std::span<const std::byte> read(PageNumber page) = 0;
  // Replaces the whole page. No bytes: with zeroes.
  virtual void fill(PageNumber page, std::span<const std::byte> bytes) = 0;
  // The pages' memory goes back to the system. They are zeroes. REQUIRES: access none, and no
  // twins.
  virtual void give_back(PageNumber first, std::size_t count) = 0;
};

}  // namespace iw::dsm
