#include "dsm/memory/checked_memory.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "dsm/protocol/page_diff.h"

namespace iw::dsm {

void CheckedMemory::check_replay(std::span<const PageNumber> pages) {
  const std::vector<std::byte> zeroes(heap_.page_bytes());
  for (const PageNumber page : pages) check(page, zeroes);
}

void CheckedMemory::allow(PageNumber first, std::size_t count, Access access) {
  // Protected first: the application may store until then.
  if (access != Access::write) heap_.allow(first, count, access);
  for (PageNumber page = first; page < first + count; page++) {
    const std::span<const std::byte> bytes = heap_.read(page);
    if (access == Access::write) {
      open_.try_emplace(page, bytes.begin(), bytes.end());
    } else if (const auto found = open_.find(page); found != open_.end()) {
      check(page, found->second);
      open_.erase(found);
    }
  }
  if (access == Access::write) heap_.allow(first, count, access);
}

// Another rank's stores are not this rank's.
bool CheckedMemory::apply(PageNumber page, std::span<const std::byte> runs) {
  if (!heap_.apply(page, runs)) return false;
  const auto found = open_.find(page);
  if (found == open_.end()) return true;
  return apply_runs(runs, found->second);
}

void CheckedMemory::check(PageNumber page, std::span<const std::byte> before) {
  const std::span<const std::byte> now = heap_.read(page);
  const auto begin = reinterpret_cast<std::uintptr_t>(heap_.begin()) + page * heap_.page_bytes();
  for (std::size_t at = 0; at < now.size(); at += sizeof(Word)) {
    if (std::memcmp(&now[at], &before[at], sizeof(Word)) == 0) continue;
    Word word = 0;
    std::memcpy(&word, &now[at], sizeof word);
    check_word(begin + at, word);
  }
}

void CheckedMemory::check_word(std::uintptr_t at, Word word) {
  constexpr Word first_address = 1 << 16;
  constexpr unsigned user_bits = 47;
  const bool may_be_address = word >= first_address && (word >> (user_bits - 1) >> 1) == 0 &&
                              !heap_.has(reinterpret_cast<const void*>(word));
  if (!may_be_address || told_ > told_most) return;
  const Mapping* mapping = find(word);
  if (mapping == nullptr) {
    // It may be new. A number of few bits is not looked for again.
    if (sizeof(Word) > 4 && word >> 31 >> 1 == 0) return;
    read_mappings();
    mapping = find(word);
  }
  if (mapping == nullptr) return;
  if (told_++ == told_most) {
    std::fprintf(stderr, "interweave: rank %u: further pointers out of the heap are not shown\n",
                 rank_);
    return;
  }
  std::fprintf(stderr,
               "interweave: rank %u: IW_DSM_CHECK: the word at %p in the shared heap is a pointer "
               "out of the heap, to %p in %s. It means nothing at other ranks. Put the data into "
               "the heap, or its index.\n",
               rank_, reinterpret_cast<void*>(at), reinterpret_cast<void*>(word),
               mapping->name.c_str());
}

const CheckedMemory::Mapping* CheckedMemory::find(Word word) const {
  const auto behind = mappings_.upper_bound(word);
  if (behind == mappings_.begin()) return nullptr;
  const Mapping& mapping = std::prev(behind)->second;
  return word < mapping.end ? &mapping : nullptr;
}

void CheckedMemory::read_mappings() {
  mappings_.clear();
  std::ifstream file("/proc/self/maps");
  std::string last_file;
  Word last_end = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Word begin = 0, end = 0;
    char dash = 0;
    std::string rights, offset, device, inode, name;
    words >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode >> std::ws;
    if (words.fail() && end == 0) continue;
    std::getline(words, name);
    // Globals that begin as zeroes lie in memory without a name, behind those of their file.
    if (name.empty() && begin == last_end) name = last_file;
    last_file = name.starts_with('/') ? name : "";
    last_end = end;
    if (rights.starts_with("---")) continue;
    const bool has_file = !name.empty() && name[0] != '[';
    mappings_[begin] = {end, name == "[stack]"  ? "the stack of the first thread"
                             : name == "[heap]" ? "memory of malloc"
                             : has_file         ? "globals or constants of " + name
                                                : "memory of malloc or a thread's stack"};
  }
}

}  // namespace iw::dsm
