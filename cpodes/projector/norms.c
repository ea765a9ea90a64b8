/* Unit norms: rows mc ... m - 1 of the constraints,
 *
 *   c = |q| - value,  q = (y_first, ..., y_{first+length-1}),   dc/dq = q / |q|.
 *
 * Where they are all there is, and share no component, each is projected by itself, on its sphere. */
#include "norms.h"

#include <math.h>
#include <string.h>

/* Squares and their sums outside of these may have lost digits. */
#define LEAST_SQUARE   1.0e-280
#define LARGEST_SQUARE 1.0e280

static double normOf(const CPUnitNorm *u, const double *y) {
  return cpSphereNorm(u->length, y + u->first);
}

static int isZero(CPWork work, sunrealtype t, int k) {
  char name[CP_ROW_NAME];
  return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                  "at t = %.15g: %s is zero, and has no gradient there", t,
                  cpRowName(work->P, work->P->mc + k, name));
}

/* ---- as rows of c and G ---- */

void cpNormResiduals(const CPProjector P, const double *y, double *c) {
  for (int k = 0; k < P->nnorms; k++) c[P->mc + k] = normOf(&P->norms[k], y) - P->norms[k].value;
}

int cpNormSizes(CPWork work, sunrealtype t, const double *y, double *norm) {
  const CPProjector P = work->P;
  for (int k = 0; k < P->nnorms; k++) {
    norm[P->mc + k] = normOf(&P->norms[k], y);
    if (norm[P->mc + k] == 0.0) return isZero(work, t, k);
  }
  return CP_SUCCESS;
}

/* ---- alone ---- */

CPNormsLayout cpNormsLayout(const CPWork work) {
  const CPProjector P = work->P;
  const CPUnitNorm *u = P->norms;
  const size_t *start = work->norms.pattern.start;
  for (int j = 0; j < P->n; j++) /* Norms share a component. */
    if (start[j + 1] > start[j] + 1) return CP_NORMS_COUPLED;
  for (int k = 0; P->nlevels > 1 && k < P->nnorms; k++)
    for (int i = 0; i < u[k].length; i++) /* A norm does not move components of another level. */
      if (P->col_level[u[k].first + i] != P->row_level[P->mc + k]) return CP_NORMS_COUPLED;
  /* The value must have a harmless square. */
  if (P->nnorms == 0 || !(u[0].value > 1.0e-100 && u[0].value < 1.0e100)) return CP_NORMS_APART;
  for (int k = 0; k < P->nnorms; k++)
    if (u[k].length != 4 || u[k].first != u[0].first + 4 * k || u[k].value != u[0].value)
      return CP_NORMS_APART;
  return CP_NORMS_ROW;
}

int cpNormsAlone(const CPWork work) {
  const CPProjector P = work->P;
  return P->mc == 0 && work->norms.layout != CP_NORMS_COUPLED && work->linsol == CP_LINSOL_BLOCK &&
         cpHasDiagonalMetric(P) && !P->user.violation;
}

/* What a projection of norms alone works with. */
typedef struct {
  CPWork work;
  sunrealtype t;
  const double *ewt, *id; /* [n], or NULL                                  */
  const double *weight;   /* of the metric; NULL if all are 1              */
  double *y;              /* [n] the state                                  */
  double *kept;           /* [n] what it was; NULL if nothing can fail     */
} Spheres;

/* As cpViolation measures it: | |q| - value | over the size of the gradient in the weights, over
 * the free components. What cannot move is satisfied within one tolerance. */
static double violationOf(const Spheres *s, int k) {
  const CPUnitNorm *u   = &s->work->P->norms[k];
  const double norm     = normOf(u, s->y);
  const double residual = fabs(norm - u->value);
  double freely = 0.0, overAll = 0.0;
  if (norm == 0.0) return INFINITY;
  for (int j = u->first; j < u->first + u->length; j++) {
    const double w  = s->ewt ? s->ewt[j] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(s->y[j])));
    const double gw = s->y[j] / norm / w;
    overAll         = hypot(overAll, gw);
    if (!s->id || s->id[j] != 0.0) freely = hypot(freely, gw);
  }
  if (freely == 0.0 && residual <= overAll) return 0.0;
  return residual / (freely > 0.0 ? freely : overAll);
}

/* Are all norms near their values, and finite? Then none fails whose components are free.
 * work->newton.worst_start: the farthest one. */
static int areNear(CPWork work, const double *y) {
  const CPUnitNorm *u = work->P->norms;
  const int count     = work->P->nnorms;
  double worst        = 0.0;
  int near = 1, farthest = 0, k = 0;
  if (work->norms.layout == CP_NORMS_ROW) {
    near = cpSphereGroupsAreNear(count, u->value, y + u->first, &worst, &farthest);
    k    = count - count % CP_SPHERE_GROUP;
  }
  for (; k < count; k++) {
    const double relative  = normOf(&u[k], y) / u[k].value;
    const double deviation = fabs(relative * relative - 1.0);
    if (deviation > worst) worst = deviation, farthest = k;
    near = near && deviation <= CP_SPHERE_NEAR;
  }
  work->newton.worst_start = work->P->mc + farthest;
  return near;
}

/* In a row, they are all of y but what is before and behind them. */
int cpNormsAreNear(CPWork work, N_Vector y) {
  const CPProjector P = work->P;
  if (work->revision != P->revision || P->nlevels == 0) return 0; /* still to be set up */
  if (!cpNormsAlone(work) || work->norms.layout != CP_NORMS_ROW) return 0;
  const double *yd = N_VGetArrayPointer(y);
  const int first = P->norms[0].first, end = first + 4 * P->nnorms;
  work->norms.are_near =
      areNear(work, yd) && cpAllFinite(yd, first) && cpAllFinite(yd + end, P->n - end);
  return work->norms.are_near;
}

/* Norm k by itself, in place. What no free component can change may be within its tolerance. */
static int projectOne(const Spheres *s, int k) {
  const CPWork work   = s->work;
  const CPUnitNorm *u = &work->P->norms[k];
  const int j         = u->first;
  char name[CP_ROW_NAME];
  const int flag =
      cpSphereNearest(u->length, u->value, s->weight ? s->weight + j : NULL,
                      s->id ? s->id + j : NULL, s->y + j, work->room.x + j, work->room.z + j);
  if (!flag || (flag == CP_SPHERE_HELD && violationOf(s, k) == 0.0)) return CP_SUCCESS;
  if (flag == CP_SPHERE_ZERO) return isZero(work, s->t, k);
  cpRowName(work->P, work->P->mc + k, name);
  if (flag == CP_SPHERE_HELD)
    return cpReason(
        work->text, -CP_PROJ_INCONSISTENT,
        "at t = %.15g: %s is %.15g instead of %.15g, and no free component can change it", s->t,
        name, normOf(u, s->y), u->value);
  return cpReason(
      work->text, -CP_PROJ_CONV_FAILURE,
      "at t = %.15g: %s, %g instead of %g, cannot be projected: it is too far away, or its "
      "weights differ too much",
      s->t, name, normOf(u, s->y), u->value);
}

/* All norms, in place, in groups as far as they lie near their spheres. */
static int projectAll(const Spheres *s) {
  const CPUnitNorm *u = s->work->P->norms;
  const int count     = s->work->P->nnorms;
  const int in_groups = !s->id && s->work->norms.layout == CP_NORMS_ROW;
  const size_t size   = (size_t)s->work->P->n * sizeof *s->y;
  int k = 0, flag = CP_SUCCESS;
  if (s->kept) memcpy(s->kept, s->y, size);
  while (!flag && k < count) {
    const int j = u->first + 4 * k;
    if (in_groups)
      k += cpSphereGroups(count - k, u->value, s->weight ? s->weight + j : NULL, s->y + j);
    const int end = k + CP_SPHERE_GROUP < count ? k + CP_SPHERE_GROUP : count;
    while (!flag && k < end) flag = projectOne(s, k++);
  }
  if (flag) memcpy(s->y, s->kept, size);
  return flag;
}

int cpNormsProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result) {
  const CPProjector P  = work->P;
  Spheres s            = {.work = work, .t = t, .y = N_VGetArrayPointer(y)};
  s.ewt                = ewt ? N_VGetArrayPointer(ewt) : NULL;
  s.id                 = P->id ? N_VGetArrayPointer(P->id) : NULL;
  s.weight             = work->norm == CP_NORM_L2 ? NULL : s.ewt;
  const int near       = work->norms.are_near || areNear(work, s.y);
  work->norms.are_near = 0;
  if (!near && !cpVectorFinite(y)) {
    const int j = cpFirstNonFinite(y);
    return cpReason(work->text, -CP_CNSTR_NONFINITE,
                    "at t = %.15g: component %d of the state is %g", t, j, s.y[j]);
  }
  if (only_if_needed) {
    result->violation = 0.0;
    for (int k = 0; k < P->nnorms; k++) {
      const double violation = violationOf(&s, k);
      if (violation > result->violation)
        result->violation = violation, result->worst_start = P->mc + k;
    }
    if (result->violation <= P->eps) {
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
  }
  s.kept         = near && !s.id ? NULL : N_VGetArrayPointer(work->v);
  const int flag = projectAll(&s);
  if (flag) return flag;
  CP_COUNT(work, niters);
  const int worst = work->newton.worst_start;
  *result         = (CPProjected){1, violationOf(&s, worst - P->mc), worst};
  cpNewtonForget(&work->newton); /* no factors are kept for norms alone */
  return CP_SUCCESS;
}

/* ---- the nearest point on a sphere ----
 *
 * Stationary points of
 *
 *   1/2 sum_i (x_i - q_i)^2 / D_i + lambda/2 (|x|^2 - r^2)   are
 *
 *   x_i = q_i / (1 + lambda D_i),   sum_i x_i^2 = r^2.
 *
 * On lambda > -1 / max D, where the nearest one is, h(lambda) = 1 / |x| is increasing and
 * concave, as the power mean of exponent -2 of the lines (1 + lambda D_i) / |q_i| (so Newton's
 * method is used for the equation of the trust region, which has this form: More & Sorensen,
 * SIAM J. Sci. Stat. Comput. 4, 1983). Newton's method on h = 1 / r never steps beyond the root
 * from its left, and steps to its left from its right: it converges from any start within the
 * domain, monotonically from the second iterate on. That one is kept within the domain by
 *
 *   lambda >= max_i (|q_i| / r - 1) / D_i,
 *
 * which holds at the root since no |x_i| exceeds r. Components that are zero stay zero and take
 * no part; should D be largest there and q deep inside the sphere, x is stationary but not the
 * nearest point, which is then not unique. With equal D h is a line, and x = q r / |q|.
 *
 * With the largest D scaled to 1 the unknown is nu = 1 + lambda > 0, which keeps its digits near
 * 0. */
/* h is close to the least of length lines: Newton's method needs some steps for each of those
 * that it meets, and is quadratic at its end. */
#define MAX_STEPS(length) (100 + 10 * (length))
/* Entries below this part of |q| count as zero. */
#define LEAST_PART 1.0e-200
/* Least D relative to the largest: below, sums lose digits. */
#define LEAST_METRIC 1.0e-140

double cpSphereNorm(int length, const double *q) {
  double sum = 0.0, norm = 0.0;
  for (int i = 0; i < length; i++) sum += q[i] * q[i];
  if (sum > LEAST_SQUARE && sum < LARGEST_SQUARE) return sqrt(sum);
  for (int i = 0; i < length; i++) norm = hypot(norm, q[i]);
  return norm;
}

/* 1 / (1 + lambda D) */
static double factor(double D, double nu) { return 1.0 / ((1.0 - D) + nu * D); }

/* |x|^2 and s, -1/2 of its derivative. q relative to the radius. */
static double secular(int length, const double *q, const double *D, double nu, double *s) {
  double square = 0.0;
  *s            = 0.0;
  for (int i = 0; i < length; i++) {
    if (q[i] == 0.0) continue;
    const double t = factor(D[i], nu), x = q[i] * t;
    square += x * x;
    *s += x * x * D[i] * t;
  }
  return square;
}

/* x <- the point on the unit sphere nearest to x. The last step is made in x itself, which gives |x| to
 * the last digit. */
static int solveSecular(int length, double *x, const double *D) {
  const double roundoff = (4.0 + length) * CP_UROUND;
  double nu             = 1.0;
  for (int k = 0; k < MAX_STEPS(length); k++) {
    double s;
    const double square = secular(length, x, D, nu, &s);
    if (!(s > 0.0)) return CP_SPHERE_HELD;
    const double step = square / s * (sqrt(square) - 1.0); /* of 1 / |x| = 1 */
    if (nu + step == nu || fabs(square - 1.0) <= roundoff) {
      for (int i = 0; i < length; i++) {
        const double t = factor(D[i], nu);
        if (D[i] != 0.0) x[i] *= t * (1.0 - step * D[i] * t);
      }
      return 0;
    }
    nu += step;
    if (!(square < 1.0)) continue;
    double bound = 0.0; /* nu >= max_i (|q_i| / r - (1 - D_i)) / D_i */
    for (int i = 0; i < length; i++)
      if (D[i] > 0.0) bound = fmax(bound, (fabs(x[i]) - (1.0 - D[i])) / D[i]);
    nu = fmax(nu, bound);
  }
  return CP_SPHERE_FAR;
}

/* The nearest point on the ray through q, where all components have the same weight. */
static void scaleTo(int length, double factor, double *q) {
  for (int i = 0; i < length; i++) q[i] *= factor;
}

int cpSphereNearest(int length, double value, const double *weight, const double *id, double *q,
                    double *x, double *D) {
  const double norm = cpSphereNorm(length, q);
  double held = 0.0, least = INFINITY;
  int equal = 1; /* All components that count are free and have the same weight. */
  if (norm == 0.0) return CP_SPHERE_ZERO;
  for (int i = 0; i < length; i++) {
    x[i] = fabs(q[i]) > LEAST_PART * norm ? q[i] / value : 0.0;
    D[i] = (!id || id[i] != 0.0) && x[i] != 0.0; /* 0: held, or zero */
    if (weight && D[i] > 0.0 && weight[i] < least) least = weight[i];
  }
  for (int i = 0; i < length; i++) { /* D, scaled */
    const double ratio = weight ? least / weight[i] : 1.0;
    if (D[i] > 0.0) D[i] = ratio * ratio > LEAST_METRIC ? ratio * ratio : LEAST_METRIC;
    else held += x[i] * x[i];
    equal = equal && (D[i] == 1.0 || x[i] == 0.0);
  }
  if (equal) {
    scaleTo(length, value / norm, q);
    return 0;
  }
  if (!(norm > value / CP_SPHERE_RANGE && norm < value * CP_SPHERE_RANGE)) return CP_SPHERE_FAR;
  if (held >= 1.0) return CP_SPHERE_HELD;
  const int flag = solveSecular(length, x, D);
  if (flag == CP_SPHERE_FAR && held == 0.0) { /* This has never been met. It keeps the promise. */
    scaleTo(length, value / norm, q);
    return 0;
  }
  for (int i = 0; !flag && i < length; i++)
    if (D[i] > 0.0) q[i] = x[i] * value;
  return flag;
}

/* ---- groups of quaternions near their spheres ----
 *
 * Expansions for small a_i = lambda D_i, without roots: loops over the group that compilers turn
 * into vector instructions. With the moments m_k = sum_i q_i^2 D_i^k, s = m_2 / m_1, v = m_3 / m_1,
 *
 *   lambda = e (1 + 3/2 s e + (9/2 s^2 - 2 v) e^2) + O(e^4),   e = (m_0 - r^2) / (2 m_1),
 *   x_i    = q_i (1 - a_i + a_i^2 - a_i^3) + O(a^4).
 *
 * v is not needed: of the terms of third order,
 *
 *   lambda = e (1 + s e (3/2 + 7/2 s e)),   x_i = q_i (1 - a_i (1 - a_i))
 *
 * leave |x| / r off by (m_0 / r^2 - 1) / 2 times the variance v - s^2 of the e D_i, which is at
 * most a quarter of the square of the largest one, and x_i by 3 q_i a^3.
 *
 * Since 1 + (lambda + mu) D = (1 + lambda D)(1 + mu D t) with t = 1 / (1 + lambda D), what
 * remains after a step is the same equation for q t and D t: repeated steps converge, at order
 * three. Only the ratios of D count: D_i is the product of the other three squared weights.
 *
 * In wide registers 100,000 quaternions take a third of the time (bench/quaternions). */
enum { GROUP = CP_SPHERE_GROUP };

/* Up to here a^3 / 4 is half a rounding. */
#define NEAR 6.0e-6
/* Beyond this the expansion says little. Below 1 every step stays within the domain, which has
 * one root. */
#define REACH 0.3
#define STEPS 4

/* A step's results, by quaternion. They do not lie as q does: GCC would compute component by
 * component. */
typedef struct {
  double a[GROUP], b[GROUP], c[GROUP], d[GROUP]; /* x                                    */
  double lambda[GROUP];                          /* sum of all steps                     */
  double reach[GROUP];                           /* of this step: largest |a_i|          */
  double m2[GROUP];                              /* shows whether squares lost digits    */
} Group;

CP_WIDE_PART double larger(double a, double b) { return a > b ? a : b; }

CP_WIDE_PART void step(double square, const double *weight, const double *q, int first, Group *g) {
  for (int k = 0; k < GROUP; k++) {
    const double *w = weight + 4 * k;
    const double aa = w[0] * w[0], bb = w[1] * w[1], cc = w[2] * w[2], dd = w[3] * w[3];
    const double ab = aa * bb, cd = cc * dd;
    double a = q[4 * k], b = q[4 * k + 1], c = q[4 * k + 2], d = q[4 * k + 3];
    double A = bb * cd, B = aa * cd, C = ab * dd, D = ab * cc;
    if (!first) { /* (q, D) <- (q t, D t) */
      const double l = g->lambda[k];
      const double s = 1.0 / (1.0 + l * A), t = 1.0 / (1.0 + l * B);
      const double u = 1.0 / (1.0 + l * C), v = 1.0 / (1.0 + l * D);
      a *= s, b *= t, c *= u, d *= v;
      A *= s, B *= t, C *= u, D *= v;
    }
    const double a0 = a * a, b0 = b * b, c0 = c * c, d0 = d * d;
    const double a1 = a0 * A, b1 = b0 * B, c1 = c0 * C, d1 = d0 * D;
    const double m0 = (a0 + b0) + (c0 + d0), m1 = (a1 + b1) + (c1 + d1);
    const double m2      = (a1 * A + b1 * B) + (c1 * C + d1 * D);
    const double inverse = 1.0 / m1;
    const double e = 0.5 * (m0 - square) * inverse, se = m2 * inverse * e;
    const double l  = e + e * se * (1.5 + 3.5 * se);
    const double la = l * A, lb = l * B, lc = l * C, ld = l * D;
    g->a[k]      = a - a * la * (1.0 - la);
    g->b[k]      = b - b * lb * (1.0 - lb);
    g->c[k]      = c - c * lc * (1.0 - lc);
    g->d[k]      = d - d * ld * (1.0 - ld);
    g->lambda[k] = first ? l : g->lambda[k] + l;
    g->reach[k]  = fabs(l) * larger(larger(A, B), larger(C, D));
    g->m2[k]     = m2;
  }
}

/* Are all |a_i| at most that, from sums of squares that lost no digits? Those that overflow show
 * in reach. */
CP_WIDE_PART int within(const Group *g, double reach) {
  int far = 0;
  for (int k = 0; k < GROUP; k++) far |= !(g->reach[k] <= reach);
  for (int k = 0; k < GROUP; k++) far |= !(g->m2[k] > LEAST_SQUARE);
  return !far;
}

CP_WIDE_PART void store(const Group *g, double *q) {
  for (int k = 0; k < GROUP; k++) {
    q[4 * k]     = g->a[k];
    q[4 * k + 1] = g->b[k];
    q[4 * k + 2] = g->c[k];
    q[4 * k + 3] = g->d[k];
  }
}

CP_WIDE_PART int groupWeighted(double square, const double *weight, double *q) {
  Group g;
  step(square, weight, q, 1, &g);
  for (int k = 0; !within(&g, NEAR); k++) {
    if (k == STEPS || !within(&g, REACH)) return 0;
    step(square, weight, q, 0, &g);
  }
  store(&g, q);
  return 1;
}

/* Residual up to which the factor is exact: (35/128 e^4)^2 is below roundoff. */
#define EQUAL_REACH 1.0e-2

/* q / sqrt(1 + e), e = |q|^2 / r^2 - 1, by its series and a step of Newton's method. */
CP_WIDE_PART int groupEqual(double square, double *q) {
  const double inverse = 1.0 / square;
  double t[GROUP], reach[GROUP];
  int far = 0;
  for (int k = 0; k < GROUP; k++) {
    const double a = q[4 * k], b = q[4 * k + 1], c = q[4 * k + 2], d = q[4 * k + 3];
    const double e = (((a * a + b * b) + (c * c + d * d)) - square) * inverse;
    const double s = 1.0 - e * (0.5 - e * (0.375 - 0.3125 * e));
    reach[k]       = fabs(e);
    t[k]           = s + 0.5 * s * (1.0 - s * s * (1.0 + e));
  }
  for (int k = 0; k < GROUP; k++) far |= !(reach[k] <= EQUAL_REACH);
  if (far) return 0;
  for (int k = 0; k < GROUP; k++)
    for (int i = 0; i < 4; i++) q[4 * k + i] *= t[k];
  return 1;
}

CP_WIDE static int groups(int count, double square, const double *weight, double *q) {
  int k = 0;
  if (weight)
    while (k + GROUP <= count && groupWeighted(square, weight + 4 * k, q + 4 * k)) k += GROUP;
  else
    while (k + GROUP <= count && groupEqual(square, q + 4 * k)) k += GROUP;
  return k;
}

int cpSphereGroups(int count, double value, const double *weight, double *q) {
  return groups(count, value * value, weight, q);
}

CP_WIDE_PART double deviationOf(double square, const double *q) {
  return fabs(((q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3])) - square);
}

/* Does any deviate by more than that, or is not finite? */
CP_WIDE_PART int isAnyBeyond(double limit, double square, const double *q) {
  double deviation[GROUP];
  int any = 0;
  for (int k = 0; k < GROUP; k++) deviation[k] = deviationOf(square, q + 4 * k);
  for (int k = 0; k < GROUP; k++) any |= !(deviation[k] <= limit);
  return any;
}

CP_WIDE static int groupsAreNear(int count, double square, const double *q, double *worst,
                                 int *which) {
  int near = 1;
  for (int first = 0; first + GROUP <= count; first += GROUP) {
    if (!isAnyBeyond(*worst * square, square, q + 4 * first)) continue;
    for (int k = first; k < first + GROUP; k++) {
      const double deviation = deviationOf(square, q + 4 * k) / square;
      if (deviation > *worst) *worst = deviation, *which = k;
      near = near && deviation <= CP_SPHERE_NEAR;
    }
  }
  return near;
}

int cpSphereGroupsAreNear(int count, double value, const double *q, double *worst, int *which) {
  return groupsAreNear(count, value * value, q, worst, which);
}
