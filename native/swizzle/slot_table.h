// The slot table of one segment [WIRE-5]: the segments that its pointers lead to. Slot k > 0 is
// entry k: `/path` for a segment of the same server, a full URL otherwise. The table only grows and
// is versioned with the segment. Entries that a writer adds are provisional until commit(). Guarded
// by the segment's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "types/mip.h"
#include "types/result.h"

namespace iw::swizzle {

using types::Result;

inline constexpr std::size_t kMaxSlots = 65535;

class SlotTable {
 public:
  explicit SlotTable(const types::Url& segment) : segment_(segment) {}

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const types::Url& segment() const { return segment_; }
  // The entry's text and URL; null: no such slot. Slot 0 has neither.
  [[nodiscard]] const std::string* text_of(std::uint16_t slot) const;
  [[nodiscard]] const types::Url* url_of(std::uint16_t slot) const;

  // For a writer: the slot of another segment, added if it has none. TOO_LARGE when full.
  Result slot_for(const types::Url& url, std::uint16_t& out);

  // A SLOTS section: entries from `first` on (1 is the first slot). Those that are known already
  // must agree. All or none.
  Result add_received(std::uint64_t first, std::span<const std::string> texts);
  // For a complete copy: these entries replace all.
  Result replace(std::span<const std::string> texts);

  // What slot_for() added, to be sent as the SLOTS section beginning at first_uncommitted().
  [[nodiscard]] std::size_t first_uncommitted() const { return committed_ + 1; }
  [[nodiscard]] std::vector<std::string> uncommitted() const;
  void commit();
  void rollback();

 private:
  struct Entry {
    std::string text;
    types::Url url;
  };
  Result parse(const std::string& text, Entry& out) const;
  void append(Entry entry);

  types::Url segment_;
  std::vector<Entry> entries_;
  std::size_t committed_ = 0;
  std::unordered_map<std::string, std::uint16_t> by_text_;
};

}  // namespace iw::swizzle
