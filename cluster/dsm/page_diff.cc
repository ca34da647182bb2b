#include "dsm/page_diff.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace iw::dsm {
namespace {

// Before each run's bytes; both numbers have their lowest byte first.
struct RunHead {
  std::uint16_t offset = 0;
  std::uint16_t bytes_less_1 = 0;

  std::size_t bytes() const { return std::size_t{bytes_less_1} + 1; }
  std::size_t end() const { return offset + bytes(); }
};

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, &bytes[offset], sizeof word);
  return word;
}

// The first byte from `at` on that differs, or the end.
std::size_t next_change(std::span<const std::byte> twin, std::span<const std::byte> page,
                        std::size_t at) {
  for (; at % 8 != 0 && at < page.size(); at++) {
    if (twin[at] != page[at]) return at;
  }
  while (at < page.size() && word_at(twin, at) == word_at(page, at)) at += 8;
  while (at < page.size() && twin[at] == page[at]) at++;
  return at;
}

void append_run(std::vector<std::byte>& runs, std::span<const std::byte> page, std::size_t begin,
                std::size_t end) {
  const RunHead head{static_cast<std::uint16_t>(begin),
                     static_cast<std::uint16_t>(end - begin - 1)};
  const std::size_t place = runs.size();
  runs.resize(place + sizeof head + end - begin);
  std::memcpy(&runs[place], &head, sizeof head);
  std::memcpy(&runs[place + sizeof head], &page[begin], end - begin);
}

// The head of the run with which `runs` begins, if the run is whole, behind `least` and in the
// page.
std::optional<RunHead> whole_run(std::span<const std::byte> runs, std::size_t least,
                                 std::size_t page_bytes) {
  RunHead head;
  if (runs.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, runs.data(), sizeof head);
  const bool is_whole = runs.size() - sizeof head >= head.bytes();
  if (!is_whole || head.offset < least || head.end() > page_bytes) return std::nullopt;
  return head;
}

bool are_whole(std::span<const std::byte> runs, std::size_t page_bytes) {
  for (std::size_t least = 0; !runs.empty();) {
    const auto head = whole_run(runs, least, page_bytes);
    if (!head) return false;
    least = head->end();
    runs = runs.subspan(sizeof *head + head->bytes());
  }
  return true;
}

}  // namespace

std::vector<std::byte> runs_between(std::span<const std::byte> twin,
                                    std::span<const std::byte> page) {
  std::vector<std::byte> runs;
  for (std::size_t begin = next_change(twin, page, 0); begin < page.size();) {
    std::size_t end = begin + 1;
    while (end < page.size() && twin[end] != page[end]) end++;
    append_run(runs, page, begin, end);
    begin = next_change(twin, page, end);
  }
  return runs;
}

bool apply_runs(std::span<const std::byte> runs, std::span<std::byte> page) {
  if (!are_whole(runs, page.size())) return false;
  while (!runs.empty()) {
    RunHead head;
    std::memcpy(&head, runs.data(), sizeof head);
    std::memcpy(&page[head.offset], &runs[sizeof head], head.bytes());
    runs = runs.subspan(sizeof head + head.bytes());
  }
  return true;
}

}  // namespace iw::dsm
