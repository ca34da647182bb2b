// The exact solution of the Riemann problem of the Euler equations for an ideal gas: two constant
// states meet at a diaphragm that vanishes at time 0. Depends on nothing else in the example.
#pragma once

#include <optional>

namespace astroflow {

struct GasState {
  double density = 0;
  double velocity = 0;
  double pressure = 0;
};

// A tube along x in [0, 1] with the diaphragm at `diaphragm`.
struct ShockTube {
  GasState left;
  GasState right;
  double diaphragm = 0.5;
  double gamma = 1.4;
};

inline constexpr ShockTube kSodTube{{1.0, 0.0, 1.0}, {0.125, 0.0, 0.1}, 0.5, 1.4};
inline constexpr ShockTube kLaxTube{{0.445, 0.698, 3.528}, {0.5, 0.0, 0.571}, 0.5, 1.4};

// The wave on one side of the contact: a shock (head == tail) or a rarefaction fan. `head` is the
// edge that touches the undisturbed state, `tail` the one that touches the star region.
struct Wave {
  bool is_shock = false;
  double head = 0;
  double tail = 0;
};

class ExactRiemann {
 public:
  // Nothing if a state is not a gas (density or pressure <= 0) or the states part so fast that a
  // vacuum opens between them.
  static std::optional<ExactRiemann> solve(const ShockTube& tube);

  double star_pressure() const { return star_pressure_; }
  double star_velocity() const { return star_velocity_; }
  double star_density_left() const { return star_density_left_; }
  double star_density_right() const { return star_density_right_; }
  const Wave& left_wave() const { return left_wave_; }
  const Wave& right_wave() const { return right_wave_; }

  // The state on the ray (x - diaphragm) / time = speed.
  GasState at_speed(double speed) const;
  // The state at a place and time; at time 0 the initial states.
  GasState at(double x, double time) const;

 private:
  ExactRiemann() = default;
  GasState inside_fan(const GasState& outer, double sign, double speed) const;

  ShockTube tube_;
  double star_pressure_ = 0;
  double star_velocity_ = 0;
  double star_density_left_ = 0;
  double star_density_right_ = 0;
  Wave left_wave_;
  Wave right_wave_;
};

}  // namespace astroflow
