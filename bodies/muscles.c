/* Muscles and activations as MuJoCo defines them (https://mujoco.readthedocs.io, chapter "Modeling", section "Muscles"): the force
 * over length and speed, and the rate of an activation. */
#include "muscles.h"

#include <string.h>

/* The active force over the scaled length, a spline of four parabolas about the middles of lmin, 1 and lmax, and its slope */
static sunrealtype active(sunrealtype L, sunrealtype lmin, sunrealtype lmax, sunrealtype *slope) {
  const sunrealtype a = (lmin + 1) / 2, b = (1 + lmax) / 2;
  *slope = 0;
  if (L <= lmin || L >= lmax) return 0;
  const int outside       = L <= a || L > b;
  const sunrealtype width = L <= 1 ? 1 - a : b - 1,
                    at    = L <= a  ? lmin
                            : L > b ? lmax
                                    : 1,
                    x     = (L - at) / width;
  *slope                  = (outside ? x : -x) / width;
  return outside ? x * x / 2 : 1 - x * x / 2;
}

/* The active force over the scaled speed, and its slope */
static sunrealtype moving(sunrealtype V, sunrealtype fvmax, sunrealtype *slope) {
  const sunrealtype y = fvmax - 1;
  *slope              = 0;
  if (V <= -1) return 0;
  if (V <= 0) return *slope = 2 * (V + 1), (V + 1) * (V + 1);
  if (V > y) return fvmax;
  *slope = 2 * (y - V) / y;
  return fvmax - (y - V) * (y - V) / y;
}

/* The passive force as a part of fpmax, and its slope */
static sunrealtype passive(sunrealtype L, sunrealtype lmax, sunrealtype *slope) {
  const sunrealtype width = (lmax - 1) / 2, x = (L - 1) / width;
  *slope = 0;
  if (x <= 0) return 0;
  *slope = fmin(x, 1) / width;
  return x <= 1 ? x * x / 2 : x - SUN_RCONST(0.5);
}

void muscleForce(const sunrealtype *p, sunrealtype x, sunrealtype rate, sunrealtype w,
                 sunrealtype F[4]) {
  const sunrealtype unit = (p[LENGTH_MAX] - p[LENGTH_MIN]) / (p[RANGE_MAX] - p[RANGE_MIN]),
                    L = p[RANGE_MIN] + (x - p[LENGTH_MIN]) / unit, V = rate / (unit * p[VMAX]);
  sunrealtype active_L, passive_L, moving_V;
  const sunrealtype f_L = active(L, p[LMIN], p[LMAX], &active_L),
                    f_V = moving(V, p[FVMAX], &moving_V), f_P = passive(L, p[LMAX], &passive_L);
  F[0] = -p[PEAK_FORCE] * (f_L * f_V * w + p[FPMAX] * f_P);
  F[1] = -p[PEAK_FORCE] * (active_L * f_V * w + p[FPMAX] * passive_L) / unit;
  F[2] = -p[PEAK_FORCE] * f_L * moving_V * w / (unit * p[VMAX]);
  F[3] = -p[PEAK_FORCE] * f_L * f_V;
}

static sunrealtype muscleRate(const sunrealtype *times, sunrealtype w, sunrealtype z,
                              ActivationSlopes *slope) {
  const sunrealtype control = fmin(fmax(w, 0), 1), inside = fmin(fmax(z, 0), 1),
                    more   = SUN_RCONST(0.5) + SUN_RCONST(1.5) * inside,
                    more_z = z > 0 && z < 1 ? SUN_RCONST(1.5) : 0, d = control - z;
  const sunrealtype up = times[0] * more, down = times[1] / more, up_z = times[0] * more_z,
                    down_z = -down * more_z / more;
  sunrealtype part = d > 0, part_d = 0, part_t = 0;
  if (times[2] > 0) { /* 6 s^5 - 15 s^4 + 10 s^3 */
    const sunrealtype s = fmin(fmax(d / times[2] + SUN_RCONST(0.5), 0), 1);
    part                = s * s * s * (3 * s * (2 * s - 5) + 10);
    part_d              = 30 * s * s * (1 - s) * (1 - s) / times[2];
    part_t              = -part_d * d / times[2];
  }
  const sunrealtype tau = down + (up - down) * part, tau_d = (up - down) * part_d,
                    by_d = 1 / tau - d * tau_d / (tau * tau), by_tau = -d / (tau * tau);
  slope->w       = w == control ? by_d : 0;
  slope->z       = by_tau * (down_z + (up_z - down_z) * part) - by_d;
  slope->time[0] = by_tau * more * part;
  slope->time[1] = by_tau * (1 - part) / more;
  slope->time[2] = by_tau * (up - down) * part_t;
  return d / tau;
}

sunrealtype activationRate(CPActivation kind, const sunrealtype *times, sunrealtype w,
                           sunrealtype z, ActivationSlopes *slope) {
  *slope = (ActivationSlopes){.w = 1};
  switch (kind) {
  case CP_ACTIVATION_FILTER:
    slope->w = 1 / times[0], slope->z = -slope->w;
    slope->time[0] = (z - w) / (times[0] * times[0]);
    return (w - z) / times[0];
  case CP_ACTIVATION_MUSCLE: return muscleRate(times, w, z, slope);
  case CP_ACTIVATION_NONE:
  case CP_ACTIVATION_INTEGRATOR: break;
  }
  return w;
}

const char *muscleWrong(CPMuscle *m) {
  static const sunrealtype range[2] = {SUN_RCONST(0.75), SUN_RCONST(1.05)};
  const struct {
    sunrealtype *x, usual;
  } defaults[]               = {{&m->lmin, SUN_RCONST(0.5)},
                                {&m->lmax, SUN_RCONST(1.6)},
                                {&m->vmax, SUN_RCONST(1.5)},
                                {&m->fpmax, SUN_RCONST(1.3)},
                                {&m->fvmax, SUN_RCONST(1.2)}};
  const sunrealtype *given[] = {&m->force, m->length, m->length + 1, m->range, m->range + 1};
  if (m->range[0] == 0 && m->range[1] == 0) memcpy(m->range, range, sizeof range);
  for (int k = 0; k < 5; k++) {
    if (*defaults[k].x == 0) *defaults[k].x = defaults[k].usual;
    if (!isfinite(*defaults[k].x) || !isfinite(*given[k])) return "numbers must be finite";
  }
  if (m->fpmax < 0) m->fpmax = 0;
  if (!(m->force > 0)) return "force must be positive";
  if (!(m->length[0] < m->length[1])) return "length must begin below its end";
  if (!(m->range[0] < m->range[1])) return "range must begin below its end";
  if (!(m->lmin < 1)) return "lmin must be less than 1";
  if (!(m->lmax > 1)) return "lmax must be more than 1";
  if (!(m->vmax > 0)) return "vmax must be positive";
  return m->fvmax > 1 ? NULL : "fvmax must be more than 1";
}
