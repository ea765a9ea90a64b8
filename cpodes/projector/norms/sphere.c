/* Nearest point on a sphere. Stationary points of
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
#include "sphere.h"

#include <math.h>

/* Squares and their sums outside of these may have lost digits. */
#define LEAST_SQUARE   1.0e-280
#define LARGEST_SQUARE 1.0e280
/* h is close to the least of length lines: Newton's method needs some steps for each of those
 * that it meets, and is quadratic at its end. */
#define MAX_STEPS(length) (100 + 10 * (length))
/* Entries below this part of |q| count as zero. */
#define LEAST_PART 1.0e-200
/* Least D relative to the largest: below, sums lose digits. */
#define LEAST_METRIC 1.0e-140

static double squares(int length, const double *q) {
  double sum = 0.0;
  for (int i = 0; i < length; i++) sum += q[i] * q[i];
  return sum;
}

double cpSphereNorm(int length, const double *q) {
  const double sum = squares(length, q);
  if (sum > LEAST_SQUARE && sum < LARGEST_SQUARE) return sqrt(sum);
  double norm = 0.0;
  for (int i = 0; i < length; i++) norm = hypot(norm, q[i]);
  return norm;
}

/* D, scaled; 0: held, or zero. 1: all that count are free and have the same. */
static int inverseMetric(int length, const double *weight, const double *id, const double *x,
                         double *D) {
  double least = INFINITY;
  int equal    = 1;
  for (int i = 0; i < length; i++) {
    D[i] = (!id || id[i] != 0.0) && x[i] != 0.0;
    if (weight && D[i] > 0.0 && weight[i] < least) least = weight[i];
  }
  for (int i = 0; i < length; i++) {
    const double ratio = weight ? least / weight[i] : 1.0;
    if (D[i] > 0.0) D[i] = ratio * ratio > LEAST_METRIC ? ratio * ratio : LEAST_METRIC;
    equal = equal && (D[i] == 1.0 || x[i] == 0.0);
  }
  return equal;
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

static double lowerBound(int length, const double *q, const double *D) {
  double bound = 0.0;
  for (int i = 0; i < length; i++)
    if (D[i] > 0.0) bound = fmax(bound, (fabs(q[i]) - (1.0 - D[i])) / D[i]);
  return bound;
}

/* The last step is made in x itself, which gives |x| to the last digit. */
static void finish(int length, double *x, const double *D, double nu, double step) {
  for (int i = 0; i < length; i++) {
    if (D[i] == 0.0) continue;
    const double t = factor(D[i], nu);
    x[i] *= t * (1.0 - step * D[i] * t);
  }
}

/* x <- the point on the unit sphere nearest to x. */
static int solveSecular(int length, double *x, const double *D) {
  const double roundoff = (4.0 + length) * CP_UROUND;
  double nu             = 1.0;
  for (int k = 0; k < MAX_STEPS(length); k++) {
    double s;
    const double square = secular(length, x, D, nu, &s);
    if (!(s > 0.0)) return CP_SPHERE_HELD;
    const double step = square / s * (sqrt(square) - 1.0); /* of 1 / |x| = 1 */
    if (nu + step == nu || fabs(square - 1.0) <= roundoff) {
      finish(length, x, D, nu, step);
      return 0;
    }
    nu += step;
    if (square < 1.0) nu = fmax(nu, lowerBound(length, x, D));
  }
  return CP_SPHERE_FAR;
}

static int isInRange(double norm, double value) {
  return norm > value / CP_SPHERE_RANGE && norm < value * CP_SPHERE_RANGE;
}

/* On the ray through q: nearest where all have the same weight. */
static void scaleTo(int length, double factor, double *q) {
  for (int i = 0; i < length; i++) q[i] *= factor;
}

int cpSphereNearest(int length, double value, const double *weight, const double *id, double *q,
                    double *x, double *D) {
  const double norm = cpSphereNorm(length, q);
  double held       = 0.0;
  if (norm == 0.0) return CP_SPHERE_ZERO;
  for (int i = 0; i < length; i++) x[i] = fabs(q[i]) > LEAST_PART * norm ? q[i] / value : 0.0;
  if (inverseMetric(length, weight, id, x, D)) {
    scaleTo(length, value / norm, q);
    return 0;
  }
  if (!isInRange(norm, value)) return CP_SPHERE_FAR;
  for (int i = 0; i < length; i++)
    if (D[i] == 0.0) held += x[i] * x[i];
  if (held >= 1.0) return CP_SPHERE_HELD;
  int flag = solveSecular(length, x, D);
  if (flag == CP_SPHERE_FAR && held == 0.0) { /* never met; keeps the promise */
    scaleTo(length, value / norm, q);
    return 0;
  }
  for (int i = 0; !flag && i < length; i++)
    if (D[i] > 0.0) q[i] = x[i] * value;
  return flag;
}

/* ---- groups of quaternions near their spheres ----
 *
 * Expansions for small x_i = lambda D_i, without roots and with one division: loops over the
 * group that compilers turn into vector instructions. With the moments m_k = sum_i q_i^2 D_i^k,
 *
 *   lambda = e + 3/2 m_2/m_1 e^2 + (9/2 (m_2/m_1)^2 - 2 m_3/m_1) e^3 + O(e^4),
 *   e      = (m_0 - r^2) / (2 m_1).
 *
 * Since 1 + (lambda + mu) D = (1 + lambda D)(1 + mu D t) with t = 1 / (1 + lambda D), what
 * remains after a step is the same equation for q t and D t: repeated steps converge, at order
 * four. Only the ratios of D count: D_i is the product of the other three squared weights.
 *
 * In wide registers 100,000 quaternions take half the time (bench/quaternions). */
enum { GROUP = CP_SPHERE_GROUP };

/* Up to here x^4 is roundoff, which bounds what the last step leaves out: x^3 of the correction
 * q x. */
#define NEAR 1.0e-4
/* Beyond this the expansion says little. Below 1 every step stays within the domain, which has
 * one root. */
#define REACH 0.3
#define STEPS 4

/* Components a, b, c, d of quaternion k; A, B, C, D: their inverse metric. */
typedef struct {
  double a[GROUP], b[GROUP], c[GROUP], d[GROUP];
  double A[GROUP], B[GROUP], C[GROUP], D[GROUP];
  double residual[GROUP]; /* |q|^2 - value^2 */
  double lambda[GROUP];
  double m3[GROUP];
  double reach[GROUP]; /* above all |x_i| */
} Group;

CP_WIDE_PART void load(const double *q, Group *g) {
  for (int k = 0; k < GROUP; k++) {
    g->a[k] = q[4 * k];
    g->b[k] = q[4 * k + 1];
    g->c[k] = q[4 * k + 2];
    g->d[k] = q[4 * k + 3];
  }
}

CP_WIDE_PART void store(const Group *g, double *q) {
  for (int k = 0; k < GROUP; k++) {
    q[4 * k]     = g->a[k];
    q[4 * k + 1] = g->b[k];
    q[4 * k + 2] = g->c[k];
    q[4 * k + 3] = g->d[k];
  }
}

CP_WIDE_PART void loadMetric(const double *w, Group *g) {
  for (int k = 0; k < GROUP; k++) {
    const double a = w[4 * k] * w[4 * k], b = w[4 * k + 1] * w[4 * k + 1];
    const double c = w[4 * k + 2] * w[4 * k + 2], d = w[4 * k + 3] * w[4 * k + 3];
    const double ab = a * b, cd = c * d;
    g->A[k] = b * cd;
    g->B[k] = a * cd;
    g->C[k] = ab * d;
    g->D[k] = ab * c;
  }
}

CP_WIDE_PART double larger(double a, double b) { return a > b ? a : b; }

CP_WIDE_PART void expand(Group *g, double square) {
  for (int k = 0; k < GROUP; k++) {
    const double A = g->A[k], B = g->B[k], C = g->C[k], D = g->D[k];
    double a = g->a[k] * g->a[k], b = g->b[k] * g->b[k];
    double c = g->c[k] * g->c[k], d = g->d[k] * g->d[k];
    const double m0 = (a + b) + (c + d);
    a *= A, b *= B, c *= C, d *= D;
    const double m1 = (a + b) + (c + d);
    a *= A, b *= B, c *= C, d *= D;
    const double m2      = (a + b) + (c + d);
    const double m3      = (a * A + b * B) + (c * C + d * D);
    const double inverse = 1.0 / m1, residual = m0 - square;
    const double e = 0.5 * residual * inverse, second = m2 * inverse, third = m3 * inverse;
    g->residual[k] = residual;
    g->m3[k]       = m3;
    g->lambda[k]   = e * (1.0 + e * (1.5 * second + e * (4.5 * second * second - 2.0 * third)));
    g->reach[k]    = fabs(g->lambda[k]) * larger(larger(A, B), larger(C, D));
  }
}

CP_WIDE static int groupInRange(double value, const double *q) {
  const double least = value / CP_SPHERE_RANGE, largest = value * CP_SPHERE_RANGE;
  const double above = least * least, below = largest * largest;
  double square[GROUP];
  int out = !(value * value > LEAST_SQUARE && value * value < LARGEST_SQUARE);
  for (int k = 0; k < GROUP; k++)
    square[k] = (q[4 * k] * q[4 * k] + q[4 * k + 1] * q[4 * k + 1]) +
                (q[4 * k + 2] * q[4 * k + 2] + q[4 * k + 3] * q[4 * k + 3]);
  for (int k = 0; k < GROUP; k++) out |= !(square[k] > above);
  for (int k = 0; k < GROUP; k++) out |= !(square[k] < below);
  return !out;
}

int cpSphereGroupInRange(double value, const double *q) { return groupInRange(value, q); }

/* Are all |x_i| at most that? */
CP_WIDE_PART int within(const Group *g, double reach) {
  int far = 0;
  for (int k = 0; k < GROUP; k++) far |= !(g->reach[k] <= reach);
  return !far;
}

/* Sums of squares that lost no digits; those that overflow show in reach. */
CP_WIDE_PART int isSafe(const Group *g, double square) {
  int lost = !(square > LEAST_SQUARE);
  for (int k = 0; k < GROUP; k++) lost |= !(g->m3[k] > LEAST_SQUARE);
  return !lost;
}

/* (q, D) <- (q t, D t) */
CP_WIDE_PART void step(Group *g) {
  for (int k = 0; k < GROUP; k++) {
    const double l = g->lambda[k];
    const double a = 1.0 / (1.0 + l * g->A[k]), b = 1.0 / (1.0 + l * g->B[k]);
    const double c = 1.0 / (1.0 + l * g->C[k]), d = 1.0 / (1.0 + l * g->D[k]);
    g->a[k] *= a, g->b[k] *= b, g->c[k] *= c, g->d[k] *= d;
    g->A[k] *= a, g->B[k] *= b, g->C[k] *= c, g->D[k] *= d;
  }
}

/* q - q x (1 - x (1 - x)) */
CP_WIDE_PART void lastStep(Group *g) {
  for (int k = 0; k < GROUP; k++) {
    const double l = g->lambda[k];
    const double a = l * g->A[k], b = l * g->B[k], c = l * g->C[k], d = l * g->D[k];
    g->a[k] -= g->a[k] * a * (1.0 - a * (1.0 - a));
    g->b[k] -= g->b[k] * b * (1.0 - b * (1.0 - b));
    g->c[k] -= g->c[k] * c * (1.0 - c * (1.0 - c));
    g->d[k] -= g->d[k] * d * (1.0 - d * (1.0 - d));
  }
}

CP_WIDE_PART void findWorst(const Group *g, double square, double *worst, int *which) {
  const double limit = *worst * square;
  int any            = 0;
  for (int k = 0; k < GROUP; k++) any |= fabs(g->residual[k]) > limit;
  for (int k = 0; any && k < GROUP; k++)
    if (fabs(g->residual[k]) > *worst * square) {
      *worst = fabs(g->residual[k]) / square;
      *which = k;
    }
}

CP_WIDE static int groupWeighted(double value, const double *weight, double *q, double *worst,
                                 int *which) {
  const double square = value * value;
  Group g;
  load(q, &g);
  loadMetric(weight, &g);
  expand(&g, square);
  if (!isSafe(&g, square)) return 0;
  findWorst(&g, square, worst, which);
  for (int k = 0; !within(&g, NEAR); k++) {
    if (k == STEPS || !within(&g, REACH)) return 0;
    step(&g);
    expand(&g, square);
  }
  lastStep(&g);
  store(&g, q);
  return 1;
}

/* Residual up to which scale() is exact: (35/128 e^4)^2 is below roundoff. */
#define EQUAL_REACH 1.0e-2

/* lambda <- 1 / sqrt(1 + e), e = |q|^2 / r^2 - 1, by its series and a step of Newton's method. */
CP_WIDE_PART void scale(Group *g, double square) {
  const double inverse = 1.0 / square;
  for (int k = 0; k < GROUP; k++) {
    const double a = g->a[k] * g->a[k], b = g->b[k] * g->b[k];
    const double c = g->c[k] * g->c[k], d = g->d[k] * g->d[k];
    g->residual[k] = ((a + b) + (c + d)) - square;
    const double e = g->residual[k] * inverse;
    const double s = 1.0 - e * (0.5 - e * (0.375 - 0.3125 * e));
    g->reach[k]    = fabs(e);
    g->lambda[k]   = s + 0.5 * s * (1.0 - s * s * (1.0 + e));
  }
}

CP_WIDE static int groupEqual(double value, double *q, double *worst, int *which) {
  const double square = value * value;
  Group g;
  load(q, &g);
  scale(&g, square);
  if (!within(&g, EQUAL_REACH) || !(square > LEAST_SQUARE)) return 0;
  findWorst(&g, square, worst, which);
  for (int k = 0; k < GROUP; k++)
    for (int i = 0; i < 4; i++) q[4 * k + i] *= g.lambda[k];
  return 1;
}

int cpSphereGroup(double value, const double *weight, double *q, double *worst, int *which) {
  return weight ? groupWeighted(value, weight, q, worst, which) : groupEqual(value, q, worst, which);
}
