#include "active_cache/front_end.h"

#include <sstream>

namespace active_cache {
namespace {

constexpr std::size_t responses_max = 4096;

}  // namespace

FrontEnd::Response& FrontEnd::response(const std::string& page) {
  if (const auto found = responses_.find(page); found != responses_.end()) return found->second;
  Response made;
  std::istringstream names(page);
  for (std::string name; std::getline(names, name, '+');) {
    made.parts.push_back(Part{name, items_.find(name)});
  }
  if (made.parts.empty()) throw services::Failure("a page is named by its items, like head+news");
  if (responses_.size() >= responses_max) responses_.clear();
  return responses_.emplace(page, std::move(made)).first->second;
}

// An item that is written while the others are looked at may be in the answer or not; both are
// right for a request that was not answered yet.
Answer FrontEnd::answer(const std::string& page) {
  Response& kept = response(page);
  bool is_kept = !kept.text.empty();
  for (Part& part : kept.parts) {
    if (part.item.get_if_newer(&part.value, &part.version)) is_kept = false;
  }
  if (!is_kept) {
    kept.text.clear();
    for (const Part& part : kept.parts) kept.text += part.name + ": " + part.value.text() + "\n";
  }
  return {kept.text, is_kept};
}

}  // namespace active_cache
