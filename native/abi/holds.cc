#include "abi/holds.h"

#include <algorithm>

#include "abi/segment.h"
#include "platform/thread_object.h"

namespace iw::abi {
namespace {

struct ThreadHolds {
  std::vector<Hold> all;

  ~ThreadHolds() {
    while (!all.empty()) {
      const Hold hold = all.back();
      hold.segment->thread_ended(hold);
      if (!all.empty() && all.back().segment == hold.segment) all.pop_back();
    }
  }
};

std::vector<Hold>& holds() { return platform::object_of_this_thread<ThreadHolds>().all; }

}  // namespace

Hold* find_hold(const Segment* segment) {
  for (Hold& hold : holds()) {
    if (hold.segment == segment) return &hold;
  }
  return nullptr;
}

Hold& add_hold(const Hold& hold) {
  holds().push_back(hold);
  return holds().back();
}

void drop_hold(const Segment* segment) {
  std::vector<Hold>& all = holds();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [segment](const Hold& hold) { return hold.segment == segment; }),
            all.end());
}

std::vector<Hold> all_holds() { return holds(); }

}  // namespace iw::abi
