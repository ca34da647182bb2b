// A front end that keeps responses, with strong coherence: before a kept response is given, the
// versions of all items it was made of are read where they lie, without the help of the back end's
// processor. Whatever was written before the request came is in the answer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "active_cache/items.h"

namespace active_cache {

struct Answer {
  std::string text;
  bool was_kept;  // no item was news
};

class FrontEnd {
 public:
  // A page is named by its items: "head+news+foot".
  Answer answer(const std::string& page);

 private:
  struct Part {
    std::string name;
    services::Segment<Item> item;
    Item value{};
    std::uint64_t version = 0;
  };
  struct Response {
    std::vector<Part> parts;
    std::string text;
  };
  Response& response(const std::string& page);

  Items items_;
  std::map<std::string, Response> responses_;
};

}  // namespace active_cache
