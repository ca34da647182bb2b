#include "viewer/steering.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "solver/solver.h"

namespace astroflow {
namespace {

constexpr double kCflStep = 0.05;

double stepped(double cfl, double by) {
  // Rounded to whole steps, so that going up and down again ends where it began.
  const double steps = std::round((cfl + by) / kCflStep);
  return std::clamp(steps * kCflStep, kLowestCfl, kHighestCfl);
}

}  // namespace

bool is_steering_key(char key) {
  return std::string_view("p+=-1234").find(key) != std::string_view::npos;
}

void apply_key(char key, Wants& wants) {
  switch (key) {
    case 'p':
      wants.pause = !wants.pause;
      break;
    case '+':
    case '=':  // the same key without shift
      wants.cfl = stepped(wants.cfl, kCflStep);
      break;
    case '-':
      wants.cfl = stepped(wants.cfl, -kCflStep);
      break;
    case '1':
    case '2':
    case '3':
    case '4':
      wants.problem = key - '0';
      wants.restart = true;
      wants.pause = false;
      break;
    default:
      break;
  }
}

}  // namespace astroflow
