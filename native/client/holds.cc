#include "client/holds.h"

#include "client/segment.h"
#include "platform/invariant.h"
#include "platform/thread_object.h"

namespace iw::client {
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

}  // namespace

Hold* find_hold(const Segment* segment) {
  auto* const mine = platform::existing_object_of_this_thread<ThreadHolds>();
  if (mine == nullptr) return nullptr;
  for (Hold& hold : mine->all) {
    if (hold.segment == segment) return &hold;
  }
  return nullptr;
}

void prepare_hold() {
  std::vector<Hold>& all = platform::object_of_this_thread<ThreadHolds>().all;
  if (all.size() == all.capacity()) all.reserve(2 * all.size() + 4);
}

Hold& add_hold(const Hold& hold) noexcept {
  auto* const mine = platform::existing_object_of_this_thread<ThreadHolds>();
  IW_INVARIANT(mine != nullptr && mine->all.size() < mine->all.capacity(),
               "a hold without prepare_hold()");
  return mine->all.emplace_back(hold);
}

void drop_hold(const Segment* segment) noexcept {
  if (auto* const mine = platform::existing_object_of_this_thread<ThreadHolds>(); mine != nullptr) {
    std::erase_if(mine->all, [segment](const Hold& hold) { return hold.segment == segment; });
  }
}

std::vector<Hold> all_holds() {
  const auto* const mine = platform::existing_object_of_this_thread<ThreadHolds>();
  return mine == nullptr ? std::vector<Hold>() : mine->all;
}

Hold* hold_at(std::size_t index) noexcept {
  auto* const mine = platform::existing_object_of_this_thread<ThreadHolds>();
  return mine != nullptr && index < mine->all.size() ? &mine->all[index] : nullptr;
}

}  // namespace iw::client
