/* Explicit Butcher tables. The error estimate is the difference between the solution and the
 * embedded one. Interpolation begins with Hermite's cubic, whose error is O(h^4), and raises its
 * order by bootstrapping (W. H. Enright, K. R. Jackson, S. P. Norsett, P. G. Thomsen, ACM
 * Transactions on Mathematical Software 12 (1986) 193-218): f evaluated on the cubic gives one more
 * derivative of the same accuracy, which integration raises to O(h^5), and so on. Level m uses m
 * derivatives inside the step and has degree m + 3. */
#include "explicit.h"

/* The theta at which f is evaluated; those of level m begin at index m (m - 1) / 2. The conditions
 * determine a unique polynomial unless the integral of theta (1 - theta) prod_i (theta - theta_i)
 * over [0, 1] vanishes (at level 1: theta_1 = 1/2). These points keep small both the interpolation
 * error and the amplification of errors in the data. */
enum { MAX_LEVEL = 5 };
// clang-format off
static const sunrealtype points[] = {
    0.75,
    0.2, 0.8,
    0.15, 0.35, 0.85,
    1.0 / 7, 2.0 / 7, 5.0 / 7, 6.0 / 7,
    0.07, 0.21, 0.36, 0.79, 0.93};
// clang-format on

/* The index of the first vector k of a level. Those of level 1 follow f(t1, y1). */
static int placeOf(int level, int last) { return last + 1 + level * (level - 1) / 2; }

/* ---- polynomials ---- */

/* prod_i (theta - node_i), i /= skip */
static CPPolynomial product(const sunrealtype *node, int n, int skip) {
  CPPolynomial p = {{1.0}};
  for (int i = 0, degree = 0; i < n; i++) {
    if (i == skip) continue;
    for (int k = ++degree; k >= 0; k--) p.a[k] = (k ? p.a[k - 1] : 0.0) - node[i] * p.a[k];
  }
  return p;
}

/* scale int_0^theta p, where p has degree n - 1 */
static CPPolynomial integral(const CPPolynomial *p, int n, sunrealtype scale) {
  CPPolynomial P = {{0.0}};
  for (int k = 0; k < n; k++) P.a[k + 1] = scale * p->a[k] / (k + 1);
  return P;
}

/* At each level y'(theta) interpolates the derivatives at 0, 1 and the points of the level, and its
 * integral over the step is y1 - y0. Let W be the integral from 0 of w = prod_i (theta - node_i),
 * and I_j the integral of the j-th Lagrange polynomial. Then
 *   y = y0 + (y1 - y0) W / W(1) + h sum_j (I_j - W I_j(1) / W(1)) f_j. */
static void levelInterpolant(CPInterpolant *ip, int level, int last) {
  const int n                     = level + 2;
  sunrealtype node[MAX_LEVEL + 2] = {0.0, 1.0};
  ip->degree                      = n + 1;
  ip->terms                       = n;
  ip->place[0]                    = 0;
  ip->place[1]                    = last;
  for (int i = 0; i < level; i++) {
    node[2 + i]      = points[level * (level - 1) / 2 + i];
    ip->place[2 + i] = placeOf(level, last) + i;
  }
  const CPPolynomial w = product(node, n, -1), W = integral(&w, n + 1, 1.0);
  ip->difference = integral(&w, n + 1, 1.0 / cpPolynomialValue(&W, n + 1, 1.0, 0));
  for (int j = 0; j < n; j++) {
    const CPPolynomial l  = product(node, n, j);
    const CPPolynomial I  = integral(&l, n, 1.0 / cpPolynomialValue(&l, n - 1, node[j], 0));
    const sunrealtype all = cpPolynomialValue(&I, n, 1.0, 0);
    for (int k = 0; k <= ip->degree; k++) ip->p[j].a[k] = I.a[k] - all * ip->difference.a[k];
  }
}

/* ---- the kind ---- */

static int create(CPOneStep mem) {
  CPExplicit e               = mem->own;
  const ARKodeButcherTable B = mem->table;
  const int s                = B->stages;
  /* An interpolation error O(h^(levels + 4)) does not lower the order. */
  int levels = B->q <= 4 ? 0 : B->q - 4;
  if (levels > MAX_LEVEL) levels = MAX_LEVEL;
  CP_NEW(&mem->memory, e->ip, levels + 1);
  CP_NEW(&mem->memory, e->error, s);
  if (cpArenaStatus(&mem->memory)) return CP_MEM_FAIL;
  e->fsal = s > 1 && B->c[s - 1] == 1.0 && B->b[s - 1] == 0.0;
  for (int j = 0; j < s - 1; j++) e->fsal &= B->A[s - 1][j] == B->b[j];
  e->last = e->fsal ? s - 1 : s;
  e->nk   = placeOf(levels + 1, e->last);
  for (int m = 0; m <= levels; m++) levelInterpolant(&e->ip[m], m, e->last);
  e->highest = &e->ip[levels];
  for (int i = 0; B->d && i < s; i++) e->error[i] = B->b[i] - B->d[i];
  mem->embedded  = B->d ? B->p : 0;
  e->error_order = (B->p < B->q ? B->p : B->q) + 1;
  return CP_SUCCESS;
}

static int estimate(CPOneStep mem, const CPCourse *c, sunrealtype h, sunrealtype *norm) {
  return cpExplicitError(mem, c, h, ((CPExplicit)mem->own)->error, norm);
}

static int stateAt(CPOneStep mem, const CPCourse *c, int place, sunrealtype *theta, N_Vector z) {
  const CPExplicit e = mem->own;
  int level          = 1;
  while (placeOf(level + 1, e->last) <= place) level++;
  *theta = points[place - placeOf(1, e->last)];
  return cpInterpolate(mem, c, &e->ip[level - 1], *theta, 0, z);
}

const CPExplicitKind cpTableKind = {
    .create = create, .estimate = estimate, .state = stateAt, .shrink = 0.2, .grow = 10.0};
