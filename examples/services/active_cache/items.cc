#include "active_cache/items.h"

#include <algorithm>

namespace active_cache {

using services::Failure;
using services::Lock;
using services::Segment;

std::string Item::text() const {
  return {bytes.data(), std::min<std::size_t>(nbytes, bytes.size())};
}

Items::Items() : shared_(Segment<Catalogue>::named("active-cache catalogue", DDSS_VERSION)) {}

Segment<Item> Items::known(const std::string& name) {
  shared_.get_if_newer(&catalogue_, &version_);
  const auto end = catalogue_.entries.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                    catalogue_.count, std::uint64_t{items_max}));
  const auto found = std::find_if(catalogue_.entries.begin(), end,
                                  [&](const Entry& entry) { return name == entry.name.data(); });
  return Segment<Item>(found == end ? 0 : found->key);
}

Segment<Item> Items::find(const std::string& name) {
  const auto item = known(name);
  if (item.key() == 0) {
    throw Failure("the cache has no item '" + name + "'; active-cache set " + name +
                  " TEXT makes it");
  }
  return item;
}

Segment<Item> Items::find_or_add(const std::string& name) {
  if (const auto item = known(name); item.key() != 0) return item;
  const Lock lock(shared_.key());
  if (const auto item = known(name); item.key() != 0) return item;
  if (catalogue_.count >= items_max) {
    throw Failure("the catalogue is full: " + std::to_string(items_max) + " items");
  }
  Catalogue longer = catalogue_;
  Entry& entry = longer.entries[longer.count++];
  name.copy(entry.name.data(), name_bytes_max);
  entry.key = services::named("active-cache item " + name, sizeof(Item), DDSS_VERSION);
  shared_.put(longer);
  return Segment<Item>(entry.key);
}

std::uint64_t Items::set(const std::string& name, const std::string& text) {
  if (name.empty() || name.size() > name_bytes_max || name.find('+') != std::string::npos) {
    throw Failure("'" + name + "' is not an item's name: 1 to 31 bytes without '+'");
  }
  if (text.size() > item_bytes_max) throw Failure("the text is longer than 1016 bytes");
  const auto item = find_or_add(name);
  Item value{};
  value.nbytes = text.size();
  text.copy(value.bytes.data(), item_bytes_max);
  const Lock lock(item.key());  // two puts at once would not be kept apart
  item.put(value);
  std::uint64_t version = 0;
  services::check(ddss_version(item.key(), &version), "asking for a version");
  return version;
}

}  // namespace active_cache
