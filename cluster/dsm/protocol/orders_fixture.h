// Runs a small world in every order that can make a difference.
//
// Two choices that act on different ranks commute: each takes from its own rank's state, and adds
// to the ends of its own rank's channels. So of the orders that differ in such pairs only, one is
// run (sleep sets, P. Godefroid, 1996). Where ranks read each other's memory nothing commutes, and
// all orders are run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dsm/protocol/world_fixture.h"

namespace iw::dsm {

class OrdersOfAWorld {
 public:
  OrdersOfAWorld(std::function<std::unique_ptr<World>()> make, bool do_ranks_commute)
      : make_(std::move(make)), do_ranks_commute_(do_ranks_commute) {}

  // Returns how many orders were run. `seen` looks at each world when it is done.
  std::size_t run(const std::function<void(World&)>& seen) {
    std::size_t orders = 0;
    do {
      const auto world = make_();
      const bool is_whole = run_one(*world);
      EXPECT_TRUE(!is_whole || world->is_done()) << "all ranks wait";
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << "in the order " << order();
        return orders;
      }
      if (!is_whole) continue;
      seen(*world);
      orders++;
    } while (turn_to_next());
    return orders;
  }

 private:
  struct Turn {
    std::vector<Choice> choices;
    // Whatever begins with one of these was run already.
    std::vector<Choice> asleep;
    std::size_t taken = 0;
    bool is_asleep(std::size_t choice) const {
      return std::ranges::find(asleep, choices[choice]) != asleep.end();
    }
    // From `taken` on. False: nothing is left.
    bool find_awake() {
      while (taken < choices.size() && is_asleep(taken)) taken++;
      return taken < choices.size();
    }
  };

  static Rank acts_on(const Choice& choice) {
    return choice.kind == Choice::Kind::step ? choice.from : choice.to;
  }

  // False: all that could follow was run already.
  bool run_one(World& world) {
    std::vector<Choice> asleep;
    for (std::size_t depth = 0;; depth++) {
      std::vector<Choice> choices = world.choices();
      if (choices.empty() || ::testing::Test::HasFailure()) return true;
      if (depth == path_.size()) {
        path_.push_back({std::move(choices), asleep});
        if (!path_.back().find_awake()) {
          path_.pop_back();
          return false;
        }
      }
      const Turn& turn = path_[depth];
      const Choice taken = turn.choices[turn.taken];
      asleep = turn.asleep;
      std::erase_if(asleep, [&](const Choice& each) {
        return !do_ranks_commute_ || acts_on(each) == acts_on(taken);
      });
      world.take(taken);
    }
  }

  bool turn_to_next() {
    while (!path_.empty()) {
      Turn& last = path_.back();
      last.asleep.push_back(last.choices[last.taken]);
      if (last.find_awake()) return true;
      path_.pop_back();
    }
    return false;
  }

  std::string order() const {
    std::string text;
    for (const Turn& each : path_) text += std::to_string(each.taken) + " ";
    return text;
  }

  const std::function<std::unique_ptr<World>()> make_;
  const bool do_ranks_commute_;
  std::vector<Turn> path_;
};

}  // namespace iw::dsm
