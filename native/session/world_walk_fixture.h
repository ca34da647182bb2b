// Tries all orders of steps: from every world that steps lead to, each step that could come next.
//
// A world is a value with an order. A test derives from WorldWalk and says which steps there are,
// what holds in each world, and what holds where no step is left.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace iw::session {

template <typename World>
class WorldWalk {
 public:
  virtual ~WorldWalk() = default;

  void from(const World& world) {
    reach(world);
    while (!to_do_.empty() && failure_.empty()) {
      const World next = to_do_.back();
      to_do_.pop_back();
      const std::size_t before = moves_;
      try_steps(next);
      if (moves_ == before) check_end(next);
    }
  }
  // The first failure; empty: none.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] std::size_t worlds() const { return seen_.size(); }

 protected:
  virtual void try_steps(const World& world) = 0;
  // Called once for each world.
  virtual void check(const World&) {}
  virtual void check_end(const World& world) = 0;

  // A step that changes nothing does not count as one.
  void try_step(const World& world, const std::function<void(World&)>& step) {
    World next = world;
    step(next);
    if (next == world) return;
    ++moves_;
    reach(next);
  }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

 private:
  void reach(const World& world) {
    if (!seen_.insert(world).second) return;
    check(world);
    to_do_.push_back(world);
  }

  std::set<World> seen_;
  std::vector<World> to_do_;
  std::size_t moves_ = 0;
  std::string failure_;
};

}  // namespace iw::session
