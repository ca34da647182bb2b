// Whether an area is rewritten nearly whole in every writer section. Then being told of each page
// costs more than it saves: the section is opened (all pages may be stored to at once, all are
// listed), which is the no-diff mode of ICDCS'03 3.3; what changed is still found by comparing.
// From time to time one section is watched again, to see whether it still pays.
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
    const bool is_rewritten = stored_pages >= all_pages - all_pages / 4;
    rewrites_ = is_rewritten ? rewrites_ + 1 : 0;
    if (rewrites_ < patience) return;
    open_left_ = open_sections;
    rewrites_ = patience - 1;
  }

  static constexpr int patience = 3;
  static constexpr int open_sections = 15;

 private:
  int rewrites_ = 0;
  int open_left_ = 0;
};

}  // namespace iw::track
