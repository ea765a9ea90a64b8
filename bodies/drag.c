/* Drag and lift of a fluid on a box or an ellipsoid, by the two models of MuJoCo (chapter "Fluid forces" of its documentation): the laws are
 * those at CPDrag. All products are of vectors in the axes of the box or ellipsoid. */
#include "elements.h"
#include "wrench.h"

#include <string.h>

typedef enum { DENSITY, VISCOSITY, WIND, SIZE = WIND + 3, BLUNT = SIZE + 3 } Number;
enum { SLENDER = BLUNT + 1, ANGULAR, KUTTA, MAGNUS, NUMBERS };

/* v, w: out, the velocity relative to the fluid and the angular velocity, in the axes of the law */
static void velocities(const sunrealtype *p, const Places *at, TaylorVector v, TaylorVector w) {
  TaylorVector V;
  for (int k = 0; k < 3; k++) V[k] = at->rate[k], V[k].v -= p[WIND + k];
  for (int k = 0; k < 3; k++)
    v[k] = taylorDot(3, at->frame[k], V), w[k] = taylorDot(3, at->frame[k], at->w[1]);
}

/* The force f and the torque t, in these axes, are those on b. */
static int give(const Places *at, const TaylorVector f, const TaylorVector t, Loads *out) {
  for (int k = 0; k < 3; k++) {
    taylorAddScaled(1, &f[k], at->frame[k], out->F);
    taylorAddScaled(1, &t[k], at->frame[k], out->T[1]);
  }
  return 0;
}

/* -(a + b |x|) x */
static Taylor resistance(sunrealtype a, sunrealtype b, const Taylor *x) {
  const sunrealtype size = fabs(x->v);
  return taylorOf(x, -(a + b * size) * x->v, -(a + 2 * b * size), x->v < 0 ? 2 * b : -2 * b);
}

int boxLaw(const sunrealtype *p, const Places *at, Loads *out) {
  const sunrealtype pi = 4 * atan(SUN_RCONST(1.0)), *l = p + SIZE, rho = p[DENSITY],
                    mean = (l[0] + l[1] + l[2]) / 3;
  TaylorVector v, w, f, t;
  velocities(p, at, v, w);
  for (int i = 0; i < 3; i++) {
    const sunrealtype lj = l[(i + 1) % 3], lk = l[(i + 2) % 3], lj2 = lj * lj, lk2 = lk * lk;
    f[i] = resistance(3 * pi * p[VISCOSITY] * mean, rho / 2 * lj * lk, &v[i]);
    t[i] = resistance(pi * p[VISCOSITY] * mean * mean * mean,
                      rho / 64 * l[i] * (lj2 * lj2 + lk2 * lk2), &w[i]);
  }
  return give(at, f, t, out);
}

/* Carlson's integral R_D(x, y, z) = 3/2 int_0^inf dt / (sqrt((t + x) (t + y)) (t + z)^(3/2)), by duplication (B. C. Carlson, Numerical
 * Algorithms 10, 1995): the arguments come closer by a factor of 4 each time, until the terms of order 6 of the series are below roundoff. NaN if all
 * arguments are 0 or infinite. */
static sunrealtype integralD(sunrealtype x, sunrealtype y, sunrealtype z) {
  sunrealtype sum = 0, part = 1, mean, a, b, c;
  for (;;) {
    mean = (x + y + 3 * z) / 5;
    a = 1 - x / mean, b = 1 - y / mean, c = -(a + b) / 3;
    if (!(fmax(fmax(fabs(a), fabs(b)), fabs(c)) >= SUN_RCONST(2e-3))) break; /* also if NaN */
    const sunrealtype lambda = sqrt(x * y) + sqrt(x * z) + sqrt(y * z);
    sum += part / (sqrt(z) * (z + lambda));
    part /= 4;
    x = (x + lambda) / 4, y = (y + lambda) / 4, z = (z + lambda) / 4;
  }
  const sunrealtype e = a * b, g = c * c, E2 = e - 6 * g, E3 = (3 * e - 8 * g) * c,
                    E4 = 3 * (e - g) * g, E5 = e * g * c,
                    series = 1 - 3 * E2 / 14 + E3 / 6 + 9 * E2 * E2 / 88 - 3 * E4 / 22 -
                             9 * E2 * E3 / 52 + 3 * E5 / 26;
  return 3 * sum + part * series / (mean * sqrt(mean));
}

/* Added masses and moments of an ellipsoid, per density of the fluid: V k_i / (2 - k_i), and V / 5 (r_j^2 - r_k^2)^2 (k_k - k_j) /
 * (2 (r_j^2 - r_k^2) + (r_j^2 + r_k^2) (k_j - k_k)), with Lamb's k_i = r_i r_j r_k int_0^inf dt / ((t + r_i^2) sqrt((t + r_i^2) (t + r_j^2)
 * (t + r_k^2))). Returns 1 if they are not finite, since half axes are 0, or so small or large that their products are. */
static int addedMasses(const sunrealtype *r, sunrealtype V, sunrealtype *m, sunrealtype *J) {
  const sunrealtype square[3] = {r[0] * r[0], r[1] * r[1], r[2] * r[2]};
  sunrealtype kappa[3];
  for (int i = 0; i < 3; i++)
    kappa[i] =
        2 * r[0] * r[1] * r[2] / 3 * integralD(square[(i + 1) % 3], square[(i + 2) % 3], square[i]);
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const sunrealtype off = square[j] - square[k], turn = kappa[j] - kappa[k],
                      under = 2 * off + (square[j] + square[k]) * turn;
    m[i]                    = V * kappa[i] / (2 - kappa[i]);
    J[i] = under != 0 ? -V / 5 * off * off * turn / under : 0; /* 0 where both axes are equal */
    if (!isfinite(m[i]) || !isfinite(J[i])) return 1;
  }
  return 0;
}

int ellipsoidLaw(const sunrealtype *p, const Places *at, Loads *out) {
  const sunrealtype pi = 4 * atan(SUN_RCONST(1.0)), *r = p + SIZE, rho = p[DENSITY],
                    D = 2 * (r[0] + r[1] + r[2]) / 3, V = 4 * pi / 3 * r[0] * r[1] * r[2],
                    most = fmax(fmax(r[0], r[1]), r[2]), least = fmin(fmin(r[0], r[1]), r[2]),
                    middle = r[0] + r[1] + r[2] - most - least, area = pi * most * middle,
                    largest = 8 * pi / 15 * middle * pow(most, 4);
  sunrealtype m[3], J[3];
  TaylorVector v, w, n, P, L, M, f, t, lift;
  velocities(p, at, v, w);
  if (addedMasses(r, V, m, J)) return 1;
  wrenchZero(at, n), wrenchZero(at, P), wrenchZero(at, L), wrenchZero(at, M);
  wrenchZero(at, f), wrenchZero(at, t), wrenchZero(at, lift);
  for (int i = 0; i < 3; i++) {
    const sunrealtype rj = r[(i + 1) % 3], rk = r[(i + 2) % 3],
                      I = 8 * pi / 15 * r[i] * pow(fmax(rj, rk), 4);
    taylorAdd(rj * rj * rk * rk, &v[i], &n[i]);
    taylorAdd(rho * m[i], &v[i], &P[i]);
    taylorAdd(rho * J[i], &w[i], &L[i]);
    taylorAdd(p[ANGULAR] * I + p[SLENDER] * (largest - I), &w[i], &M[i]);
  }
  taylorAddCross(1, P, w, f);
  taylorAddCross(1, P, v, t);
  taylorAddCross(1, L, w, t);
  taylorAddCross(p[MAGNUS] * rho * V, w, v, f);
  Taylor slow     = wrenchConstant(at, 3 * pi * p[VISCOSITY] * D),
         turning  = wrenchConstant(at, pi * p[VISCOSITY] * D * D * D);
  const Taylor N2 = taylorDot(3, n, v), N4 = taylorDot(3, n, n);
  /* At rest in the fluid these terms, which are of second order, vanish. */
  if (N2.v > 0 && N4.v > 0) {
    const Taylor s2 = taylorDot(3, v, v), s = taylorRoot(&s2), over_2 = taylorInverse(&N2),
                 seen = taylorDot(1, &N4, &over_2), width = taylorRoot(&seen); /* A = pi width */
    Taylor hidden = wrenchConstant(at, p[SLENDER] * area), over_4 = taylorInverse(&N4),
           over_s = taylorInverse(&s);
    taylorAdd(pi * (p[BLUNT] - p[SLENDER]), &width, &hidden);
    taylorAddProduct(rho, &s, &hidden, &slow);
    const Taylor part = taylorDot(1, &N2, &over_4), cosine = taylorDot(1, &part, &over_s),
                 lifting = taylorDot(1, &cosine, &width);
    TaylorVector round;
    wrenchZero(at, round);
    taylorAddCross(p[KUTTA] * rho * pi, n, v, round);
    taylorAddCross(1, round, v, lift);
    taylorAddScaled(1, &lifting, lift, f);
  }
  const Taylor M2 = taylorDot(3, M, M), size = taylorRoot(&M2);
  taylorAdd(rho, &size, &turning);
  taylorAddScaled(-1, &slow, v, f);
  taylorAddScaled(-1, &turning, w, t);
  return give(at, f, t, out);
}

int bodiesAddDrag(CPBodies b, const CPDrag *drag) {
  static const char *const fields[NUMBERS] = {"density", "viscosity", "wind_x", "wind_y", "wind_z",
                                              "size_x",  "size_y",    "size_z", "blunt",  "slender",
                                              "angular", "kutta",     "magnus"};
  const char *name                         = drag->head.name;
  const int is_box = length3(drag->edges) != 0, is_ellipsoid = length3(drag->half_axes) != 0;
  const sunrealtype *s               = is_box ? drag->edges : drag->half_axes;
  const sunrealtype numbers[NUMBERS] = {
      drag->density, drag->viscosity, drag->wind[0], drag->wind[1], drag->wind[2], s[0], s[1], s[2],
      drag->blunt,   drag->slender,   drag->angular, drag->kutta,   drag->magnus};
  int flag = bodiesCheckName(b, name, NUMBERS);
  if (flag) return flag;
  if (b->m.space.dimension == 2)
    return refused(b, CP_NOT_SUPPORTED, "%s: there is no drag of fluids in the plane", name);
  if (is_box == is_ellipsoid)
    return refused(b, CP_ILL_INPUT, "%s: one of edges and half_axes must be given", name);
  for (int k = 0; k < NUMBERS; k++) {
    if (k >= WIND && k < SIZE) flag = bodiesCheckFinite(b, name, "wind", &numbers[k], 1);
    else
      flag = bodiesCheckSign(b, name,
                             k >= SIZE && k < BLUNT ? is_box ? "edges" : "half_axes" : fields[k],
                             numbers[k], is_ellipsoid && k >= SIZE && k < BLUNT);
    if (flag) return flag;
  }
  sunrealtype m[3], J[3];
  if (is_ellipsoid && addedMasses(s, 1, m, J))
    return refused(b, CP_ILL_INPUT, "%s: half_axes of %g, %g and %g have no finite added masses",
                   name, (double)s[0], (double)s[1], (double)s[2]);
  const CPMarker ground = {.axis = {0, 0, 1}};
  Pair pair             = {0};
  if ((flag = bodiesFindSides(b, name, NULL, drag->body, &pair)) ||
      (flag = bodiesMakePair(b, name, drag->in, 0, &ground, &drag->on, &pair)))
    return flag;
  if (ROOM(b->m.pair, b->m.npairs, 1) || ROOM(b->m.force, b->m.nforces, 1))
    return bodiesNoMemory(b, name);
  const int i = b->m.nforces++, text = bodiesTakeName(b, name, NAME_FORCE, i);
  b->m.force[i] = (PointForce){.name  = text,
                               .pair  = b->m.npairs,
                               .param = b->m.nparams,
                               .law   = is_box ? ON_A_BOX : ON_AN_ELLIPSOID};
  for (int k = 0; k < (is_box ? (int)BLUNT : NUMBERS); k++)
    bodiesTakeParam(b, text, fields[k], numbers[k]);
  b->m.pair[b->m.npairs++] = pair;
  return NONE;
}
