// Predicts an area's next writer section from its earlier ones: the two halves of the no-diff mode
// of ICDCS'03 3.3. Each half periodically observes again, to see whether it still pays.
//
// If every section stores to nearly all pages, a notice for each page costs more than it saves.
// RewriteHistory then opens the section: pages that earlier sections stored to may be stored to
// without notice, and all of them are listed and compared. If every release also finds nearly all
// bytes changed, comparing costs more than it saves. WholeHistory then says that a release may send
// everything without comparing.
#pragma once

#include <cstddef>

namespace iw::track {

class RewriteHistory {
 public:
  // A section begins. True: open it.
  bool open_next() {
    if (open_left_ == 0) return false;
    --open_left_;
    return true;
  }

  // A watched section has stored to so many of the pages.
  void watched(std::size_t stored_pages, std::size_t all_pages) {
    rewrites_ = stored_pages >= worth_opening(all_pages) ? rewrites_ + 1 : 0;
    if (rewrites_ < patience) return;
    open_left_ = open_sections;
    rewrites_ = patience - 1;
  }

  static constexpr int patience = 3;
  static constexpr int open_sections = 15;

  // The number of stored pages from which comparing all pages is cheaper than a notice for each. A
  // notice costs some 0.5 us for each page stored to. To compare a page costs 0.1 us if both copies
  // are in the cache; from memory it costs more than the notice.
  static constexpr std::size_t worth_opening(std::size_t all_pages) {
    return all_pages <= cached_pages ? (all_pages + 3) / 4 : all_pages - all_pages / 4;
  }
  static constexpr std::size_t cached_pages = 512;

 private:
  int rewrites_ = 0;
  int open_left_ = 0;
};

class WholeHistory {
 public:
  // A release begins. True: it may take everything as changed, unless a sample contradicts.
  bool whole_next() {
    if (whole_left_ == 0) return false;
    --whole_left_;
    return true;
  }

  // The sample contradicted. The next compare decides whether the mode continues.
  void doubted() { whole_left_ = 0; }

  // A release has compared, and found so many of the bytes of all blocks changed.
  void compared(std::size_t changed_bytes, std::size_t all_bytes) {
    const bool is_whole = all_bytes > 0 && changed_bytes >= all_bytes - all_bytes / 100 * 3;
    wholes_ = is_whole ? wholes_ + 1 : 0;
    if (wholes_ < patience) return;
    whole_left_ = whole_releases;
    wholes_ = patience - 1;
  }

  static constexpr int patience = 3;
  static constexpr int whole_releases = 15;

 private:
  int wholes_ = 0;
  int whole_left_ = 0;
};

}  // namespace iw::track
