// Sets of pages of one area, by page number: a bit each. AtomicPageSet is what a fault handler may
// write to while another thread takes its content.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cstddef>
#include <vector>

namespace iw::track {

using PageWord = std::size_t;
inline constexpr std::size_t pages_per_word = sizeof(PageWord) * CHAR_BIT;

class PageSet {
 public:
  explicit PageSet(std::size_t page_count)
      : page_count_(page_count), words_((page_count + pages_per_word - 1) / pages_per_word) {}

  void add(std::size_t first, std::size_t end) {
    for_each_word(first, end, [](PageWord& word, PageWord mask) { word |= mask; });
  }
  void remove(std::size_t first, std::size_t end) {
    for_each_word(first, end, [](PageWord& word, PageWord mask) { word &= ~mask; });
  }
  void add(const PageSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  void remove(const PageSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  }
  void keep_only(const PageSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  }
  void clear() { words_.assign(words_.size(), 0); }
  [[nodiscard]] bool contains(std::size_t page) const {
    return ((words_[page / pages_per_word] >> (page % pages_per_word)) & 1) != 0;
  }
  [[nodiscard]] bool is_empty() const {
    return std::all_of(words_.begin(), words_.end(), [](PageWord word) { return word == 0; });
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for (const PageWord word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  // How many maximal runs of pages there are.
  [[nodiscard]] std::size_t stretches() const {
    std::size_t count = 0;
    for_each_run([&count](std::size_t, std::size_t) { ++count; });
    return count;
  }

  // Calls f(first, end) for each maximal run of pages, in order. Runs fewer than `gap` pages apart
  // come as one call (which then includes pages that are not in the set).
  template <typename F>
  void for_each_run(F f, std::size_t gap = 1) const {
    std::size_t first = next(0, true);
    while (first < page_count_) {
      std::size_t end = next(first, false);
      std::size_t following = next(end, true);
      while (following < page_count_ && following - end < gap) {
        end = next(following, false);
        following = next(end, true);
      }
      f(first, end);
      first = following;
    }
  }

 private:
  friend class AtomicPageSet;

  template <typename F>
  void for_each_word(std::size_t first, std::size_t end, F f) {
    while (first < end) {
      const std::size_t bit = first % pages_per_word;
      const std::size_t count = std::min(pages_per_word - bit, end - first);
      const PageWord ones = ~PageWord{0} >> (pages_per_word - count);
      f(words_[first / pages_per_word], ones << bit);
      first += count;
    }
  }

  // The first page at or after `from` that is in the set (or, with false, is not).
  [[nodiscard]] std::size_t next(std::size_t from, bool member) const {
    while (from < page_count_) {
      const PageWord word = words_[from / pages_per_word];
      const PageWord wanted = (member ? word : ~word) >> (from % pages_per_word);
      if (wanted != 0) {
        return std::min(page_count_, from + static_cast<std::size_t>(std::countr_zero(wanted)));
      }
      from = (from / pages_per_word + 1) * pages_per_word;
    }
    return page_count_;
  }

  std::size_t page_count_;
  std::vector<PageWord> words_;
};

class AtomicPageSet {
 public:
  explicit AtomicPageSet(std::size_t page_count)
      : words_((page_count + pages_per_word - 1) / pages_per_word) {}

  // Async-signal-safe.
  void add(std::size_t page) noexcept {
    words_[page / pages_per_word].fetch_or(PageWord{1} << (page % pages_per_word));
  }
  [[nodiscard]] bool contains(std::size_t page) const noexcept {
    return ((words_[page / pages_per_word].load() >> (page % pages_per_word)) & 1) != 0;
  }

  void clear() {
    for (auto& word : words_) word.store(0);
  }
  // Moves the pages that are also in `among` to `out`.
  void take(const PageSet& among, PageSet& out) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (among.words_[i] == 0 || words_[i].load(std::memory_order_relaxed) == 0) continue;
      out.words_[i] |= words_[i].fetch_and(~among.words_[i]) & among.words_[i];
    }
  }

 private:
  std::vector<std::atomic<PageWord>> words_;
};

}  // namespace iw::track
