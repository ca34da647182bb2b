#include "client/names.h"

#include <new>

#include "client/segment.h"

namespace iw::client {

void Names::join(Segment& segment) { by_path_.emplace(segment.url().path, &segment); }

void Names::leave(const Segment& segment) noexcept {
  const auto [first, last] = by_path_.equal_range(segment.url().path);
  for (auto at = first; at != last; ++at) {
    if (at->second != &segment) continue;
    by_path_.erase(at);
    break;
  }
  const auto [first_other, last_other] = of_.equal_range(&segment);
  for (auto at = first_other; at != last_other; ++at) others_.erase(at->second);
  of_.erase(first_other, last_other);
}

std::vector<Segment*> Names::with_path(std::string_view path) const {
  std::vector<Segment*> all;
  const auto [first, last] = by_path_.equal_range(path);
  for (auto at = first; at != last; ++at) all.push_back(at->second);
  return all;
}

const Names::Other* Names::find(const std::string& name) const {
  const auto found = others_.find(name);
  return found == others_.end() ? nullptr : &found->second;
}

void Names::add(const std::string& name, const Other& other) {
  drop(name);
  const auto added = others_.emplace(name, other).first;
  try {
    of_.emplace(other.segment, added);
  } catch (const std::bad_alloc&) {
    others_.erase(added);
    throw;
  }
}

void Names::drop(const std::string& name) noexcept {
  const auto found = others_.find(name);
  if (found == others_.end()) return;
  const auto [first, last] = of_.equal_range(found->second.segment);
  for (auto at = first; at != last; ++at) {
    if (at->second != found) continue;
    of_.erase(at);
    break;
  }
  others_.erase(found);
}

}  // namespace iw::client
