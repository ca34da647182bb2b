// What an area's earlier writer sections say about the next one: the two halves of the no-diff mode
// of ICDCS'03 3.3, each with a periodic return to looking, to see whether it still pays.
//
// Where nearly all pages are stored to in every section, being told of each page costs more than it
// saves: RewriteHistory opens the section (all pages may be stored to at once, all are listed), and
// all of them are compared. Where, moreover, nearly all bytes are found changed in every release,
// comparing costs more than it saves: WholeHistory says that a release may take everything for
// changed without looking.
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

  // A section that was watched has stored to so many of the pages.
  void watched(std::size_t stored_pages, std::size_t all_pages) {
    rewrites_ = stored_pages >= worth_opening(all_pages) ? rewrites_ + 1 : 0;
    if (rewrites_ < patience) return;
    open_left_ = open_sections;
    rewrites_ = patience - 1;
  }

  static constexpr int patience = 3;
  static constexpr int open_sections = 15;

  // How many stored pages make it cheaper to compare all than to be told of each. To be told costs
  // some 0.5 us a page stored to; to compare one 0.1 us where both copies fit the cache, more than
  // the fault where they come from memory.
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
  // A release begins to look for what changed. True: everything did, unless a sample says no.
  bool whole_next() {
    if (whole_left_ == 0) return false;
    --whole_left_;
    return true;
  }

  // The sample said no: it is for the compare to tell whether the mode goes on.
  void doubted() { whole_left_ = 0; }

  // A release has compared: so many of the bytes of all blocks were changed.
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
