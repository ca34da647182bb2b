// Newton's iteration on the pressure between the two waves, then the wave pattern that follows
// from it. Notation: "star" is the region between the waves, split by the contact; the right side
// is the mirror image of the left, so one formula with sign -1 (left) or +1 (right) serves both.
#include "exact/riemann.h"

#include <algorithm>
#include <cmath>

namespace astroflow {
namespace {

constexpr double kRelativeTolerance = 1e-14;
constexpr int kMaxIterations = 100;

double sound_speed(const GasState& s, double gamma) {
  return std::sqrt(gamma * s.pressure / s.density);
}

bool is_gas(const GasState& s) {
  return std::isfinite(s.velocity) && s.density > 0 && s.pressure > 0 && std::isfinite(s.density) &&
         std::isfinite(s.pressure);
}

struct VelocityJump {
  double value;
  double derivative;
};

// How much the wave that joins `s` to pressure `p` changes the velocity.
VelocityJump velocity_jump(const GasState& s, double gamma, double p) {
  if (p > s.pressure) {  // a shock
    const double a = 2 / ((gamma + 1) * s.density);
    const double b = (gamma - 1) / (gamma + 1) * s.pressure;
    const double root = std::sqrt(a / (p + b));
    return {(p - s.pressure) * root, root * (1 - (p - s.pressure) / (2 * (p + b)))};
  }
  const double c = sound_speed(s, gamma);
  const double ratio = p / s.pressure;
  const double exponent = (gamma - 1) / (2 * gamma);
  return {2 * c / (gamma - 1) * (std::pow(ratio, exponent) - 1),
          1 / (s.density * c) * std::pow(ratio, -(gamma + 1) / (2 * gamma))};
}

// The pressure if both waves were rarefactions: exact then, and a positive start otherwise.
double two_rarefaction_pressure(const ShockTube& t) {
  const double cl = sound_speed(t.left, t.gamma);
  const double cr = sound_speed(t.right, t.gamma);
  const double z = (t.gamma - 1) / (2 * t.gamma);
  const double numerator = cl + cr - (t.gamma - 1) / 2 * (t.right.velocity - t.left.velocity);
  const double denominator = cl / std::pow(t.left.pressure, z) + cr / std::pow(t.right.pressure, z);
  return std::pow(numerator / denominator, 1 / z);
}

double solve_star_pressure(const ShockTube& t) {
  double p = two_rarefaction_pressure(t);
  const double du = t.right.velocity - t.left.velocity;
  for (int i = 0; i < kMaxIterations; ++i) {
    const VelocityJump l = velocity_jump(t.left, t.gamma, p);
    const VelocityJump r = velocity_jump(t.right, t.gamma, p);
    // The function is increasing and concave: from the left Newton cannot overshoot, from the
    // right it may, so a step never goes below a tenth of where it was.
    const double next =
        std::max(p - (l.value + r.value + du) / (l.derivative + r.derivative), 0.1 * p);
    const double change = std::abs(next - p) / (0.5 * (next + p));
    p = next;
    if (change < kRelativeTolerance) break;
  }
  return p;
}

double star_density(const GasState& s, double gamma, double p) {
  const double ratio = p / s.pressure;
  if (ratio <= 1) return s.density * std::pow(ratio, 1 / gamma);
  const double g = (gamma - 1) / (gamma + 1);
  return s.density * (ratio + g) / (g * ratio + 1);
}

Wave wave_beside(const GasState& s, double gamma, double p, double u, double sign) {
  const double c = sound_speed(s, gamma);
  const double ratio = p / s.pressure;
  Wave wave;
  wave.is_shock = ratio > 1;
  if (wave.is_shock) {
    const double mach = std::sqrt((gamma + 1) / (2 * gamma) * ratio + (gamma - 1) / (2 * gamma));
    wave.head = wave.tail = s.velocity + sign * c * mach;
  } else {
    wave.head = s.velocity + sign * c;
    wave.tail = u + sign * c * std::pow(ratio, (gamma - 1) / (2 * gamma));
  }
  return wave;
}

}  // namespace

std::optional<ExactRiemann> ExactRiemann::solve(const ShockTube& tube) {
  if (!(tube.gamma > 1) || !is_gas(tube.left) || !is_gas(tube.right)) return std::nullopt;
  const double cl = sound_speed(tube.left, tube.gamma);
  const double cr = sound_speed(tube.right, tube.gamma);
  const double parting = tube.right.velocity - tube.left.velocity;
  if (parting >= 2 * (cl + cr) / (tube.gamma - 1)) return std::nullopt;  // vacuum

  ExactRiemann exact;
  exact.tube_ = tube;
  const double p = solve_star_pressure(tube);
  const double jump_left = velocity_jump(tube.left, tube.gamma, p).value;
  const double jump_right = velocity_jump(tube.right, tube.gamma, p).value;
  const double u =
      0.5 * (tube.left.velocity + tube.right.velocity) + 0.5 * (jump_right - jump_left);
  exact.star_pressure_ = p;
  exact.star_velocity_ = u;
  exact.star_density_left_ = star_density(tube.left, tube.gamma, p);
  exact.star_density_right_ = star_density(tube.right, tube.gamma, p);
  exact.left_wave_ = wave_beside(tube.left, tube.gamma, p, u, -1);
  exact.right_wave_ = wave_beside(tube.right, tube.gamma, p, u, +1);
  return exact;
}

GasState ExactRiemann::inside_fan(const GasState& outer, double sign, double speed) const {
  const double gamma = tube_.gamma;
  const double c0 = sound_speed(outer, gamma);
  // Along the fan u + 2c/(gamma-1) (left) or u - 2c/(gamma-1) (right) is constant.
  const double c = 2 / (gamma + 1) * (c0 + sign * (gamma - 1) / 2 * (speed - outer.velocity));
  const double ratio = c / c0;
  return {outer.density * std::pow(ratio, 2 / (gamma - 1)), speed - sign * c,
          outer.pressure * std::pow(ratio, 2 * gamma / (gamma - 1))};
}

GasState ExactRiemann::at_speed(double speed) const {
  const bool left = speed <= star_velocity_;
  const double sign = left ? -1 : +1;
  const GasState& outer = left ? tube_.left : tube_.right;
  const Wave& wave = left ? left_wave_ : right_wave_;
  if (sign * speed >= sign * wave.head) return outer;
  if (sign * speed > sign * wave.tail) return inside_fan(outer, sign, speed);
  return {left ? star_density_left_ : star_density_right_, star_velocity_, star_pressure_};
}

GasState ExactRiemann::at(double x, double time) const {
  if (time <= 0) return x < tube_.diaphragm ? tube_.left : tube_.right;
  return at_speed((x - tube_.diaphragm) / time);
}

}  // namespace astroflow
