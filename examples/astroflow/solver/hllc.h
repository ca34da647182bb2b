// The HLLC flux (Toro, Spruce, Speares 1994) between two reconstructed states, with Einfeldt's
// bounds on the wave speeds. The Riemann fan is modelled as two waves and a contact; the flux is
// that of the one state of the fan which stands on the face, so it is exactly zero for mass, energy
// and tracer at a wall. No branches: the compiler turns the loop into vector code.
#pragma once

#include <cmath>

#include "solver/gas_rows.h"

namespace astroflow {

inline double smaller(double a, double b) { return a < b ? a : b; }
inline double larger(double a, double b) { return a > b ? a : b; }

struct FanSpeeds {
  double left;
  double right;
};

inline FanSpeeds einfeldt_speeds(double gamma, double rho_l, double u_l, double p_l, double rho_r,
                                 double u_r, double p_r) {
  const double c2_l = gamma * p_l / rho_l;
  const double c2_r = gamma * p_r / rho_r;
  const double weight_l = std::sqrt(rho_l);
  const double weight_r = std::sqrt(rho_r);
  const double inverse = 1 / (weight_l + weight_r);
  const double u_roe = (weight_l * u_l + weight_r * u_r) * inverse;
  const double du = u_r - u_l;
  const double c2_roe = (weight_l * c2_l + weight_r * c2_r) * inverse +
                        0.5 * weight_l * weight_r * (inverse * inverse) * (du * du);
  const double c_roe = std::sqrt(c2_roe);
  return {smaller(u_l - std::sqrt(c2_l), u_roe - c_roe),
          larger(u_r + std::sqrt(c2_r), u_roe + c_roe)};
}

// flux[.][i] through face i, whose states are left[.][i] and right[.][i].
inline void hllc_row(int n, double gamma, const ConstRow& left, const ConstRow& right,
                     const Row& flux) {
  const double *rl = left[0], *ul = left[1], *tl = left[2], *pl = left[3], *cl = left[4];
  const double *rr = right[0], *ur = right[1], *tr = right[2], *pr = right[3], *cr = right[4];
  double* __restrict mass = flux[0];
  double* __restrict normal = flux[1];
  double* __restrict tangential = flux[2];
  double* __restrict energy = flux[3];
  double* __restrict tracer = flux[4];
  const double inverse_gamma_1 = 1 / (gamma - 1);
  for (int i = 0; i < n; ++i) {
    const FanSpeeds fan = einfeldt_speeds(gamma, rl[i], ul[i], pl[i], rr[i], ur[i], pr[i]);
    const double m_l = rl[i] * (fan.left - ul[i]);
    const double m_r = rr[i] * (fan.right - ur[i]);
    const double contact = ((pr[i] - pl[i]) + (m_l * ul[i] - m_r * ur[i])) / (m_l - m_r);

    // The side of the contact on which the face stands.
    const bool from_left = contact >= 0;
    const double rho = from_left ? rl[i] : rr[i];
    const double u = from_left ? ul[i] : ur[i];
    const double t = from_left ? tl[i] : tr[i];
    const double p = from_left ? pl[i] : pr[i];
    const double c = from_left ? cl[i] : cr[i];
    const double m = from_left ? m_l : m_r;
    const double speed = from_left ? fan.left : fan.right;
    const double e = p * inverse_gamma_1 + 0.5 * rho * (u * u + t * t);

    // Inside the fan the face sees the star state, outside it the undisturbed one.
    const bool inside = (fan.left < 0) & (fan.right > 0);
    const double inverse = 1 / (speed - contact);
    const double p_star = p + m * (contact - u);
    const double e_star = ((speed - u) * e - p * u + p_star * contact) * inverse;
    const double rho_face = inside ? m * inverse : rho;
    const double u_face = inside ? contact : u;
    const double p_face = inside ? p_star : p;
    const double e_face = inside ? e_star : e;

    const double mass_flux = rho_face * u_face;
    mass[i] = mass_flux;
    normal[i] = mass_flux * u_face + p_face;
    tangential[i] = mass_flux * t;
    energy[i] = u_face * (e_face + p_face);
    tracer[i] = mass_flux * c;
  }
}

}  // namespace astroflow
