/* The closest points of two convex solids.
 *
 * With the outward unit normal n of solid a, m = -R^T n is that of solid b in its own axes, and where they are closest
 *
 *   x + R q_b(m) - q_a(n) = sigma n,   |n| = 1,   gap = sigma - skin_a - skin_b,
 *
 * where q is the point of a core with this normal. Cores consist of features: on each, q is a point p, plus the gradient of a smooth
 * support function h(n), plus lambda_i times lines e_i that n is perpendicular to, e_i . n = 0:
 *
 *   ends of a segment, corners of a box           p
 *   a segment itself, edges and faces of a box    p, one or two lines
 *   the rims of a cylinder, its side              p, and h = r sqrt(n_x^2 + n_y^2); the side has a line
 *   its caps                                      p, two lines
 *   an ellipsoid                                  h = |D n|, with the half axes D
 *
 * Newton's method finds (n, sigma, lambda). Derivatives come from the same equations, of which x and R are functions of the six
 * variables: with the matrix of the last step, each further step makes those of one more degree exact.
 *
 * On a half-space n is known.
 *
 * Features come from alternating projections on both cores, or on smaller ones if these touch, and change where a solution is outside
 * of its feature: where lambda is beyond an end, or n points away from the side on which it is. Convex solids that are apart have one
 * solution. Those that are in each other have several, of which that continues the distance which is the least deep: its features and normal
 * are those of where the solids have been moved apart along it (pull). */
#include "closest_impl.h"

#include <float.h>
#include <string.h>

/* q: out, the point of a feature with the normal n, for its lambdas from `lambda` on. Returns the place after them. */
static const Taylor *pointOf(const Solid *s, const Feature *f, const Taylor *n,
                             const Taylor *lambda, Taylor *q) {
  const int last = f->curved == RING ? 2 : 3;
  Taylor square  = taylorConstant(n->n, n->degree, 0);
  for (int k = 0; k < 3; k++) {
    q[k] = taylorConstant(n->n, n->degree, f->end[k] * s->half[k]);
    if (f->line[k]) taylorAdd(1, lambda++, &q[k]);
  }
  if (!f->curved) return lambda;
  for (int k = 0; k < last; k++) /* q = D^2 n / |D n| */
    taylorAddProduct(s->half[k] * s->half[k], &n[k], &n[k], &square);
  const sunrealtype r = 1 / sqrt(square.v), r3 = r * r * r;
  const Taylor inverse = taylorOf(&square, r, -r3 / 2, 3 * r3 * r * r / 4);
  for (int k = 0; k < last; k++) taylorAddProduct(s->half[k] * s->half[k], &n[k], &inverse, &q[k]);
  return lambda;
}

/* m: out, -R^T n */
static void normalOfB(Taylor (*R)[3], const Taylor *n, Taylor *m) {
  for (int k = 0; k < 3; k++) {
    taylorSet(n->n, n->degree, 0, &m[k]);
    for (int i = 0; i < 3; i++) taylorAddProduct(-1, &R[i][k], &n[i], &m[k]);
  }
}

/* at: out, R q */
static void turned(Taylor (*R)[3], const Taylor *q, Taylor *at) {
  for (int i = 0; i < 3; i++) {
    taylorSet(q->n, q->degree, 0, &at[i]);
    for (int k = 0; k < 3; k++) taylorAddProduct(1, &R[i][k], &q[k], &at[i]);
  }
}

/* What the solution consists of: z = (n, sigma, lambda_a, lambda_b). E [c->n]: out, what is left of the equations; at: out, R q_b */
static void residual(const Closest *c, const Taylor *x, Taylor (*R)[3], const Taylor *z, Taylor *E,
                     Taylor *at) {
  Taylor m[3], qa[3], qb[3];
  normalOfB(R, z, m);
  const Taylor *lambda = pointOf(c->solid[0], &c->feature[0], z, z + 4, qa);
  pointOf(c->solid[1], &c->feature[1], m, lambda, qb);
  turned(R, qb, at);
  E[3] = taylorConstant(z->n, z->degree, SUN_RCONST(-0.5));
  for (int i = 0; i < 3; i++) {
    E[i] = x[i];
    taylorAdd(1, &at[i], &E[i]);
    taylorAdd(-1, &qa[i], &E[i]);
    taylorAddProduct(-1, &z[3], &z[i], &E[i]);
    taylorAddProduct(SUN_RCONST(0.5), &z[i], &z[i], &E[3]);
  }
  int l = 4;
  for (int k = 0; k < 3; k++)
    if (c->feature[0].line[k]) E[l++] = z[k];
  for (int k = 0; k < 3; k++)
    if (c->feature[1].line[k]) E[l++] = m[k];
}

/* H += the second derivatives of h at n: D^2 / |D n| - q q^T / |D n| */
static void addCurvature(const Solid *s, const Feature *f, const sunrealtype *n,
                         sunrealtype (*H)[3]) {
  const int last     = f->curved == RING ? 2 : 3;
  sunrealtype square = 0, q[3];
  if (!f->curved) return;
  for (int k = 0; k < last; k++) square += s->half[k] * s->half[k] * n[k] * n[k];
  const sunrealtype r = 1 / sqrt(square);
  for (int k = 0; k < last; k++) q[k] = s->half[k] * s->half[k] * n[k] * r;
  for (int k = 0; k < last; k++)
    for (int l = 0; l < last; l++)
      H[k][l] += ((k == l ? s->half[k] * s->half[k] : 0) - q[k] * q[l]) * r;
}

/* Sets the derivatives of the equations with respect to z, and factors them. Returns 1 if they are singular. */
static int factor(Closest *c) {
  sunrealtype Ha[3][3] = {{0}}, Hb[3][3] = {{0}}, RH[3][3] = {{0}}, m[3];
  sunrealtype(*J)[MOST] = c->J;
  const int n           = c->n;
  memset(J, 0, sizeof c->J);
  closestToB(c, 1, c->z, m);
  for (int k = 0; k < 3; k++) m[k] = -m[k];
  addCurvature(c->solid[0], &c->feature[0], c->z, Ha);
  addCurvature(c->solid[1], &c->feature[1], m, Hb);
  for (int i = 0; i < 3; i++)
    for (int l = 0; l < 3; l++)
      for (int k = 0; k < 3; k++) RH[i][l] += c->R[i][k] * Hb[k][l];
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      J[i][j] = -Ha[i][j] - (i == j ? c->z[3] : 0);
      for (int l = 0; l < 3; l++) J[i][j] -= RH[i][l] * c->R[j][l];
    }
    J[i][3] = -c->z[i];
    J[3][i] = c->z[i];
  }
  for (int side = 0, l = 4; side < 2; side++)
    for (int k = 0; k < 3; k++)
      if (c->feature[side].line[k]) {
        for (int i = 0; i < 3; i++) {
          const sunrealtype e = side ? c->R[i][k] : i == k;
          J[i][l]             = side ? e : -e;
          J[l][i]             = side ? -e : e;
        }
        l++;
      }
  sunrealtype most = 0;
  for (int k = 0; k < n; k++) { /* by columns, with pivots */
    int p = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(J[i][k]) > fabs(J[p][k])) p = i;
    most        = fmax(most, fabs(J[p][k]));
    c->pivot[k] = p;
    if (!(fabs(J[p][k]) > 64 * DBL_EPSILON * most)) return 1;
    for (int j = 0; j < n && p != k; j++) {
      const sunrealtype swap = J[k][j];
      J[k][j] = J[p][j], J[p][j] = swap;
    }
    for (int i = k + 1; i < n; i++) {
      J[i][k] /= J[k][k];
      for (int j = k + 1; j < n; j++) J[i][j] -= J[i][k] * J[k][j];
    }
  }
  return 0;
}

static void solve(const Closest *c, sunrealtype *x) {
  for (int k = 0; k < c->n; k++) {
    const sunrealtype swap = x[k];
    x[k] = x[c->pivot[k]], x[c->pivot[k]] = swap;
  }
  for (int k = 0; k < c->n; k++)
    for (int i = k + 1; i < c->n; i++) x[i] -= c->J[i][k] * x[k];
  for (int k = c->n - 1; k >= 0; k--) {
    x[k] /= c->J[k][k];
    for (int i = 0; i < k; i++) x[i] -= c->J[i][k] * x[k];
  }
}

static void constants(int n, const sunrealtype *z, Taylor *t) {
  for (int k = 0; k < n; k++) t[k] = taylorConstant(VARIABLES, 0, z[k]);
}

/* Newton's method in these features, with steps that are halved while what is left of the equations grows. Returns 0, or 1 if it
 * fails. */
static int newton(Closest *c) {
  enum { EVALUATIONS = 60 };
  static const sunrealtype near =
      SUN_RCONST(1e-10); /* Here only rounding can make residuals grow. */
  const sunrealtype size = closestSize(c->solid[0]) + closestSize(c->solid[1]);
  sunrealtype before = INFINITY, least = INFINITY, step[MOST] = {0};
  Taylor x[3], R[3][3], z[MOST], E[MOST], at[3];
  constants(3, c->x, x);
  for (int i = 0; i < 3; i++) constants(3, c->R[i], R[i]);
  constants(c->n, c->z, z);
  residual(c, x, R, z, E, at);
  for (int i = 0; i < 3; i++) c->z[3] += E[i].v * c->z[i]; /* sigma follows the normal */
  for (int evaluation = 0; evaluation < EVALUATIONS; evaluation++) {
    sunrealtype left = 0, most = 0, turn = 0;
    constants(c->n, c->z, z);
    residual(c, x, R, z, E, at);
    for (int k = 0; k < c->n; k++) left = hypot(left, k < 3 ? E[k].v / size : E[k].v);
    if (left > least && least > near) {
      for (int k = 0; k < c->n; k++) step[k] /= 2, c->z[k] += step[k];
      continue;
    }
    least = left;
    if (factor(c)) return 1;
    for (int k = 0; k < c->n; k++) step[k] = E[k].v;
    solve(c, step);
    for (int k = 0; k < c->n; k++) {
      if (!isfinite(step[k])) return 1;
      if (k < 3) turn = fmax(turn, fabs(step[k]));
      most = fmax(most, fabs(step[k]) / (k < 3 ? 1 : size + fabs(c->z[3])));
    }
    const sunrealtype damp = turn > SUN_RCONST(0.5) ? SUN_RCONST(0.5) / turn : 1;
    for (int k = 0; k < c->n; k++) step[k] *= damp, c->z[k] -= step[k];
    /* Newton's method has converged where its steps no longer decrease. */
    if (most <= 4 * DBL_EPSILON || (most < near && most >= before)) return 0;
    before = most;
  }
  return 1;
}

/* Moves to the next feature where the solution is outside of one. Returns 1 if it does. */
static int leave(Closest *c) {
  static const sunrealtype rounding = SUN_RCONST(1e-12);
  int l = 4, left = 0;
  for (int side = 0; side < 2; side++) {
    const Solid *s = c->solid[side];
    Feature *f     = &c->feature[side];
    sunrealtype m[3];
    if (side) closestToB(c, 1, c->z, m);
    for (int k = 0; k < 3; k++) m[k] = side ? -m[k] : c->z[k];
    if (s->core == CYLINDER_CORE && f->line[0]) { /* a cap */
      const sunrealtype r = hypot(c->z[l], c->z[l + 1]);
      l += 2;
      if (r > s->half[0] * (1 + rounding)) f->line[0] = f->line[1] = 0, f->curved = RING, left = 1;
      continue;
    }
    for (int k = 0; k < 3; k++) {
      if (f->line[k]) {
        const sunrealtype lambda = c->z[l++];
        if (fabs(lambda) <= s->half[k] * (1 + rounding)) continue;
        f->end[k] = lambda > 0 ? 1 : -1, f->line[k] = 0, left = 1;
      } else if (f->end[k] && f->end[k] * m[k] < -rounding) f->end[k] = 0, f->line[k] = 1, left = 1;
    }
  }
  return left;
}

/* Between lines that are parallel, or nearly and in one plane, where Newton's equations are singular, an end of one is nearest, or as near as
 * any point: takes the nearest of all ends. Returns 1 if there is no line. */
static int chooseEnd(Closest *c) {
  sunrealtype best = INFINITY, q[3], on[3];
  Feature unused, *of = NULL;
  int nearest = 0;
  for (int side = 1; side >= 0; side--) {
    Feature *f = &c->feature[side];
    if (!f->line[2] || f->line[0] || f->line[1]) continue;
    for (int end = -1; end <= 1; end += 2) {
      const sunrealtype own[3] = {0, 0, end * c->solid[side]->half[2]};
      if (side) closestFromB(c, own, q);
      else closestToB(c, 0, own, q);
      closestProject(c->solid[!side], 0, q, on, &unused);
      const sunrealtype far = hypot(hypot(q[0] - on[0], q[1] - on[1]), q[2] - on[2]);
      if (far < best) best = far, of = f, nearest = end;
    }
  }
  if (!of) return 1;
  of->line[2] = 0, of->end[2] = nearest;
  return 0;
}

static int countUnknowns(const Closest *c) {
  int n = 4;
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++) n += c->feature[side].line[k];
  return n;
}

/* Makes the derivatives of z of this order exact, by those of the equations. */
static void advance(const Closest *c, int order, const Taylor *E, Taylor *z) {
  sunrealtype y[MOST];
  for (int k = 0; k < VARIABLES; k++)
    for (int l = 0; l < (order == 1 ? 1 : VARIABLES); l++) {
      for (int i = 0; i < c->n; i++) y[i] = order == 1 ? E[i].d[k] : E[i].dd[k][l];
      solve(c, y);
      for (int i = 0; i < c->n; i++) *(order == 1 ? &z[i].d[k] : &z[i].dd[k][l]) -= y[i];
    }
}

/* X: out, where the centre of b is as a function of the six variables */
static void movedCentre(const sunrealtype *x, int degree, Taylor *X) {
  for (int i = 0; i < 3; i++) {
    taylorSet(VARIABLES, degree, x[i], &X[i]);
    if (degree > 0) X[i].d[i] = 1;
  }
}

/* X, Q: out, where b is as functions of the six variables: it moves by (1 + W + W^2/2) R, with W v = w x v for the rotation vector w. */
static void moved(const sunrealtype *x, sunrealtype (*R)[3], int degree, Taylor *X, Taylor (*Q)[3]) {
  movedCentre(x, degree, X);
  for (int k = 0; k < 3; k++) {
    const sunrealtype r[3] = {R[0][k], R[1][k], R[2][k]};
    for (int i = 0; i < 3; i++) {
      const int j = (i + 1) % 3, l = (i + 2) % 3;
      Taylor *q = &Q[i][k];
      taylorSet(VARIABLES, degree, r[i], q);
      if (degree > 0) q->d[3 + j] = r[l], q->d[3 + l] = -r[j];
      for (int p = 0; p < 3 && degree > 1; p++) /* W^2 r = w (w . r) - r (w . w) */
        for (int o = 0; o < 3; o++)
          q->dd[3 + p][3 + o] = ((p == i) * r[o] + (o == i) * r[p]) / 2 - (p == o) * r[i];
    }
  }
}

/* The same on a half-space, whose normal is z: gap = (x + R q_b)_z - skin_b */
static int onHalfSpace(const Solid *b, const sunrealtype *x, sunrealtype R[3][3], int degree,
                       Taylor *gap, Taylor *n, Taylor *at) {
  Taylor X[3], Q[3][3], m[3], q[3];
  moved(x, R, degree, X, Q);
  for (int k = 0; k < 3; k++) taylorSet(VARIABLES, degree, k == 2, &n[k]);
  normalOfB(Q, n, m);
  Feature f = closestSupport(b, (sunrealtype[]){m[0].v, m[1].v, m[2].v});
  int flat  = 0;
  for (int k = 0; k < 3; k++) /* It lies on a line or face, of which any corner will do. */
    if (f.line[k]) f.end[k] = 1, f.line[k] = 0, flat |= b->half[k] > 0; /* A rim has no length. */
  pointOf(b, &f, m, NULL, q);
  turned(Q, q, at);
  *gap = X[2];
  taylorAdd(1, &at[2], gap);
  return flat;
}

/* The same of a point and a half-space b: n = -z_b, gap = n . x - skin_a */
static void onHalfSpaceOfB(const sunrealtype *x, sunrealtype R[3][3], int degree, Taylor *gap,
                           Taylor *n, Taylor *at) {
  Taylor X[3], Q[3][3];
  moved(x, R, degree, X, Q);
  *gap = taylorConstant(VARIABLES, degree, 0);
  for (int k = 0; k < 3; k++) {
    n[k] = at[k] = taylorConstant(VARIABLES, degree, 0);
    taylorAdd(-1, &Q[k][2], &n[k]);
    taylorAddProduct(1, &n[k], &X[k], gap);
  }
  for (int k = 0; k < 3; k++) { /* the foot of the point, gap n - x */
    taylorAddProduct(1, gap, &n[k], &at[k]);
    taylorAdd(-1, &X[k], &at[k]);
  }
}

/* The same of two lines that are not parallel: with r = z_b in the axes of a, n = z x r / |z x r|, gap = n . x, and on b the point
 * x + s r, whose part across z is along n: s = -(x . r) / (r . r), both without their components along z. */
static void betweenLines(const sunrealtype *x, sunrealtype R[3][3], int degree, Taylor *gap,
                         Taylor *n, Taylor *at) {
  Taylor X[3], Q[3][3], square = taylorConstant(VARIABLES, degree, 0), along = square, s = square;
  moved(x, R, degree, X, Q);
  for (int k = 0; k < 2; k++) {
    taylorAddProduct(1, &Q[k][2], &Q[k][2], &square);
    taylorAddProduct(-1, &X[k], &Q[k][2], &along);
  }
  const sunrealtype r = 1 / sqrt(square.v), r2 = r * r;
  const Taylor root    = taylorOf(&square, r, -r * r2 / 2, 3 * r * r2 * r2 / 4),
               inverse = taylorOf(&square, r2, -r2 * r2, 2 * r2 * r2 * r2);
  taylorAddProduct(1, &along, &inverse, &s);
  *gap = taylorConstant(VARIABLES, degree, 0);
  for (int k = 0; k < 3; k++) {
    n[k] = at[k] = taylorConstant(VARIABLES, degree, 0);
    if (k < 2) taylorAddProduct(k ? 1 : -1, &Q[!k][2], &root, &n[k]);
    taylorAddProduct(1, &n[k], &X[k], gap);
    taylorAddProduct(1, &s, &Q[k][2], &at[k]);
  }
}

/* gap: out, |X|; n: out, X / |X|, or 0 where X is 0 */
static void lengthOf(const Taylor *X, int degree, Taylor *gap, Taylor *n) {
  const Taylor square = taylorDot(3, X, X);
  const sunrealtype l = sqrt(square.v), r = l > 0 ? 1 / l : 0;
  *gap                 = taylorOf(&square, l, r / 2, -r * r * r / 4);
  const Taylor inverse = taylorOf(&square, r, -r * r * r / 2, 3 * r * r * r * r * r / 4);
  for (int k = 0; k < 3; k++) {
    n[k] = taylorConstant(VARIABLES, degree, 0);
    taylorAddProduct(1, &X[k], &inverse, &n[k]);
  }
}

/* The same of a line and a point, either of which is a: with the line's direction r and its centre, n leads from or to the foot of the
 * point on the line. */
static void lineAndPoint(int line_is_a, const sunrealtype *x, sunrealtype R[3][3], int degree,
                         Taylor *gap, Taylor *n, Taylor *at) {
  Taylor X[3], Q[3][3], along = taylorConstant(VARIABLES, degree, 0);
  moved(x, R, degree, X, Q);
  for (int k = 0; k < 3; k++) {
    n[k] = taylorConstant(VARIABLES, degree, k == 2); /* the direction, for now */
    if (!line_is_a) n[k] = Q[k][2];
    taylorAddProduct(1, &X[k], &n[k], &along);
  }
  for (int k = 0; k < 3; k++) { /* x - (x . r) r; on b, the line, the foot is at -(x . r) r */
    at[k]       = taylorConstant(VARIABLES, degree, 0);
    Taylor foot = at[k];
    taylorAddProduct(-1, &along, &n[k], &foot);
    if (!line_is_a) at[k] = foot;
    taylorAdd(1, &foot, &X[k]);
  }
  lengthOf(X, degree, gap, n);
}

/* The same of no solid */
static void nowhere(sunrealtype far, int degree, Taylor *gap, Taylor *n, Taylor *at) {
  *gap = taylorConstant(VARIABLES, degree, far);
  for (int k = 0; k < 3; k++)
    n[k] = taylorConstant(VARIABLES, degree, k == 2), at[k] = taylorConstant(VARIABLES, degree, 0);
}

/* The same of two balls: n = x / |x| */
static void betweenBalls(const sunrealtype *x, int degree, Taylor *gap, Taylor *n, Taylor *at) {
  Taylor X[3];
  movedCentre(x, degree, X);
  lengthOf(X, degree, gap, n);
  for (int k = 0; k < 3; k++) at[k] = taylorConstant(VARIABLES, degree, 0);
}

/* The point of a solid with the outward normal m, for which any of a face or line will do: q, out */
static void extreme(const Solid *s, const sunrealtype *m, sunrealtype *q) {
  Taylor at[3], n[3];
  Feature f = closestSupport(s, m);
  constants(3, m, n);
  memset(f.line, 0, sizeof f.line);
  pointOf(s, &f, n, NULL, at);
  for (int k = 0; k < 3; k++) q[k] = at[k].v;
}

/* n: out, the outward normal of a feature that is a flat face. Returns 1 if it is none. */
static int isNoFace(const Feature *f, sunrealtype *n) {
  int flat = -1;
  for (int k = 0; k < 3; k++)
    if (f->end[k] && f->line[(k + 1) % 3] && f->line[(k + 2) % 3]) flat = k;
  for (int k = 0; k < 3; k++) n[k] = k == flat ? f->end[k] : 0;
  return flat < 0;
}

/* The distance along n of the planes that touch a, and b, at most that of the solids; qa, qb: out, where */
static sunrealtype alongNormal(const Closest *c, const sunrealtype *n, sunrealtype *qa,
                               sunrealtype *qb) {
  sunrealtype m[3], x[3], sum = 0;
  closestToB(c, 1, n, m);
  for (int k = 0; k < 3; k++) m[k] = -m[k];
  extreme(c->solid[0], n, qa), extreme(c->solid[1], m, qb);
  closestFromB(c, qb, x);
  for (int k = 0; k < 3; k++) sum += n[k] * (x[k] - qa[k]);
  return sum;
}

/* The same of solids with parallel flat faces, of whose points many are nearest: the largest distance along the normal of a face, or that
 * of the first guess. Returns 1, with no results, if the solids are not apart by more than errors. */
static int betweenPlanes(Closest *c, int degree, Taylor *gap, Taylor *n, Taylor *at) {
  const sunrealtype size = closestSize(c->solid[0]) + closestSize(c->solid[1]);
  Taylor X[3], Q[3][3], q[3];
  sunrealtype qa[3], qb[3], normal[3], m[3];
  if (closestGuess(c, 0)) return 1;
  sunrealtype best = alongNormal(c, c->z, qa, qb);
  for (int side = 0; side < 2; side++) {
    if (isNoFace(&c->feature[side], m)) continue;
    for (int i = 0; i < 3; i++)
      normal[i] = side ? -(c->R[i][0] * m[0] + c->R[i][1] * m[1] + c->R[i][2] * m[2]) : m[i];
    const sunrealtype far = alongNormal(c, normal, qa, qb);
    if (far > best) best = far, memcpy(c->z, normal, sizeof normal);
  }
  *gap = taylorConstant(VARIABLES, degree, 0);
  if (!(best > sqrt(DBL_EPSILON) * size)) return 1;
  alongNormal(c, c->z, qa, qb);
  moved(c->x, c->R, degree, X, Q);
  for (int k = 0; k < 3; k++) q[k] = taylorConstant(VARIABLES, degree, qb[k]);
  turned(Q, q, at);
  for (int k = 0; k < 3; k++) {
    n[k] = taylorConstant(VARIABLES, degree, c->z[k]);
    taylorAdd(c->z[k], &X[k], gap);
    taylorAdd(c->z[k], &at[k], gap);
  }
  gap->v = best;
  return 0;
}

/* Newton's method from the features, normal and lambdas of c, and from there to other features. Returns 1 if it does not lead to a solution. */
static int converge(Closest *c) {
  enum { CHANGES = 8 };
  for (int change = 0; change < CHANGES; change++) {
    if ((c->n = countUnknowns(c)) > MOST) return 1;
    if (newton(c)) {
      if (chooseEnd(c)) return 1;
    } else if (!leave(c)) return 0;
    /* sigma and lambdas of the new features follow; the normal stays */
    memset(c->z + 3, 0, sizeof c->z - 3 * sizeof *c->z);
  }
  return 1;
}

/* The same from features of thinner cores. If these are apart, the solids are in each other by no more than they are thinner, up to sqrt(3) times
 * at corners: deeper solutions, as on the far sides, are none. A point may be inside of the other solid. */
static int search(Closest *c, sunrealtype less) {
  static const sunrealtype touching = SUN_RCONST(1e-3);
  sunrealtype most = touching * (closestSize(c->solid[0]) + closestSize(c->solid[1]));
  if (closestGuess(c, less) || converge(c)) return 1;
  if (c->solid[0]->core == POINT_CORE || c->solid[1]->core == POINT_CORE) return 0;
  for (int side = 0; side < 2; side++) {
    const Solid *s = c->solid[side];
    if (s->core >= CYLINDER_CORE) most += 2 * less * fmin(s->half[0], fmin(s->half[1], s->half[2]));
  }
  return c->z[3] < -most;
}

/* The same of solids that are in each other: where one moves along the normal, the nearest points stay. So b is moved out, by the depth along the
 * newest normal and a part of the size, which is several times that below which closestGuess sees solids as touching, until the normal there is
 * this one; from that solution Newton's method finds that of b where it is. The error of the normal becomes smaller by the ratio of that move and its
 * sum with the radii of curvature. */
static int pull(Closest *c) {
  enum { ROUNDS = 60 };
  static const sunrealtype margin = SUN_RCONST(5e-3), turn = SUN_RCONST(1e-3);
  const sunrealtype *x = c->x, length = closestLength(x),
                    size = closestSize(c->solid[0]) + closestSize(c->solid[1]);
  sunrealtype n[3], qa[3], qb[3], out[3], off = INFINITY;
  for (int k = 0; k < 3; k++) n[k] = length > 0 ? x[k] / length : k == 2;
  for (int round = 0; round < ROUNDS && off > turn; round++) {
    const sunrealtype by = margin * size - fmin(0, alongNormal(c, n, qa, qb));
    for (int k = 0; k < 3; k++) out[k] = x[k] + by * n[k];
    c->x             = out;
    const int failed = search(c, 0);
    c->x             = x;
    if (failed) return 1;
    off = 0;
    for (int k = 0; k < 3; k++) off = fmax(off, fabs(c->z[k] - n[k])), n[k] = c->z[k];
  }
  const sunrealtype sigma = alongNormal(c, n, qa, qb);
  return off > turn || converge(c) || fabs(c->z[3] - sigma) > turn * size;
}

int closestPoints(const Solid *a, const Solid *b, const sunrealtype *x, sunrealtype R[3][3],
                  int degree, Taylor *gap, Taylor *n, Taylor *at) {
  static const sunrealtype thinner[] = {SUN_RCONST(0.03125), SUN_RCONST(0.125), SUN_RCONST(0.375),
                                        SUN_RCONST(0.75)};
  enum { TRIALS = sizeof thinner / sizeof *thinner };
  sunrealtype skin[2] = {a->skin, b->skin};
  int trial = 0, flat = 0;
  Closest c = {.solid = {a, b}, .x = x, .R = R};
  if (a->core == NO_SOLID) nowhere(a->half[0], degree, gap, n, at);
  else if (a->core == LINE && b->core == LINE) betweenLines(x, R, degree, gap, n, at);
  else if (a->core == LINE || b->core == LINE)
    lineAndPoint(a->core == LINE, x, R, degree, gap, n, at);
  else if (b->core == HALF_SPACE) onHalfSpaceOfB(x, R, degree, gap, n, at);
  else if (a->core == HALF_SPACE) flat = onHalfSpace(b, x, R, degree, gap, n, at);
  else if (a->core == POINT_CORE && b->core == POINT_CORE) betweenBalls(x, degree, gap, n, at);
  else {
    if (search(&c, 0) && pull(&c))
      while (trial < TRIALS && search(&c, thinner[trial])) trial++;
    if (trial < TRIALS && !factor(&c)) {
      Taylor X[3], Q[3][3], z[MOST], E[MOST];
      moved(x, R, degree, X, Q);
      for (int k = 0; k < c.n; k++) z[k] = taylorConstant(VARIABLES, degree, c.z[k]);
      for (int order = 0; order <= degree; order++) {
        residual(&c, X, Q, z, E, at);
        if (order < degree) advance(&c, order + 1, E, z);
      }
      *gap = z[3];
      memcpy(n, z, 3 * sizeof *n);
    } else if (betweenPlanes(&c, degree, gap, n,
                             at)) { /* balls around both, which are nearer to each other */
      betweenBalls(x, degree, gap, n, at);
      skin[0] = closestRadius(a), skin[1] = closestRadius(b);
      flat = 1;
    }
  }
  gap->v -= skin[0] + skin[1];
  for (int i = 0; i < 3; i++) taylorAdd(-skin[1], &n[i], &at[i]);
  return flat;
}
