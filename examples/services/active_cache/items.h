// The data that responses are made of: items, each a text in a segment of its own under
// DDSS_VERSION, so that who keeps a copy can ask for its version; and a catalogue of their names.
// All lie with the space's founder, the back end.
#pragma once

#include <array>
#include <string>

#include "space/space.h"

namespace active_cache {

inline constexpr std::size_t item_bytes_max = 1016, name_bytes_max = 31, items_max = 256;

struct Item {
  std::uint64_t nbytes;
  std::array<char, item_bytes_max> bytes;
  std::string text() const;
};

class Items {
 public:
  Items();
  // Gives the item a new text, and makes the item if it does not exist. Returns its version.
  std::uint64_t set(const std::string& name, const std::string& text);
  // Throws services::Failure if the item does not exist.
  services::Segment<Item> find(const std::string& name);

 private:
  struct Entry {
    std::array<char, name_bytes_max + 1> name;
    ddss_key_t key;
  };
  struct Catalogue {
    std::uint64_t count;
    std::array<Entry, items_max> entries;
  };
  services::Segment<Item> known(const std::string& name);  // key 0: the item is not known
  services::Segment<Item> find_or_add(const std::string& name);

  const services::Segment<Catalogue> shared_;
  Catalogue catalogue_{};  // as of version_
  std::uint64_t version_ = 0;
};

}  // namespace active_cache
