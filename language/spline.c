/* Tables: interpolating splines of odd degree 2p - 1, and tensor products of two (de Boor, A Practical Guide to Splines, chapters
 * IV and XVII). A node has the derivatives f, ..., f^(p-1), and in an interval of length h
 *
 *   f(x) = sum_a h^a (B_0a(s) f^(a)_i + B_1a(s) f^(a)_i+1),    s = (x - x_i)/h,
 *
 * with Hermite's polynomials B. The derivatives beyond f follow from the continuity of f^(p), ..., f^(2p-2) at the inner nodes and
 * from the ends: a block tridiagonal system of blocks of size p - 1, cyclic if the table is periodic. */
#include "language_impl.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { P = 3, B = P - 1 }; /* the largest ones: order 5 */

/* hermite[p - 1][side][a]: coefficients of B in powers of s */
static const sunrealtype hermite[P][2][P][2 * P] = {
    {{{1, -1}}, {{0, 1}}},
    {{{1, 0, -3, 2}, {0, 1, -2, 1}}, {{0, 0, 3, -2}, {0, 0, -1, 1}}},
    {{{1, 0, 0, -10, 15, -6}, {0, 1, 0, -6, 8, -3}, {0, 0, 0.5, -1.5, 1.5, -0.5}},
     {{0, 0, 0, 10, -15, 6}, {0, 0, 0, -4, 7, -3}, {0, 0, 0, 0.5, -1, 0.5}}}};

typedef struct {
  int n, p, beyond; /* beyond: the number of terms of Taylor's polynomial beyond the ends */
  sunrealtype *x;   /* [n] */
  int *guide;       /* [n + 2] guide[k]: the number of nodes in the buckets before k */
  sunrealtype scale;
} Axis;

typedef struct {
  struct CPFunction_ head; /* first */
  int periodic, slopes;    /* slopes: of how many derivatives of a table it is the spline */
  CPFunction of;           /* of a slope: the table or slope whose derivative it is; or NULL */
  CPTableEnds ends;
  sunrealtype slope[4]; /* at clamped ends */
  Axis axis[2];         /* the second one of a table in one variable has one node */
  sunrealtype *node;    /* [n_0 n_1 p_0 p_1] derivatives at the nodes */
} Spline;

/* ------------------------------------------------------------------------------- evaluation -- */

/* Derivative d of B at s, for the degree 2p - 1 */
static sunrealtype basis(int p, int side, int a, int d, sunrealtype s) {
  const sunrealtype *c = hermite[p - 1][side][a];
  sunrealtype value    = 0;
  for (int k = 2 * p - 1; k >= d; k--) {
    sunrealtype factor = c[k];
    for (int j = 0; j < d; j++) factor *= k - j;
    value = value * s + factor;
  }
  return value;
}

/* The bucket of x; all nodes of lower buckets are below x, and all of higher ones above it. */
static int bucketOf(const Axis *axis, sunrealtype x) {
  return (int)((x - axis->x[0]) * axis->scale);
}

/* Of order 1: the interval that is held, or, if none is, `low` in the period number `turns`, where x is; *x: in its period */
static int intervalOf(const Axis *axis, int periodic, int low, sunrealtype turns,
                      const Pieces *pieces, sunrealtype at, sunrealtype *x) {
  const int n              = axis->n - 1; /* intervals */
  const sunrealtype number = turns * n + low;
  const int counts = fabs(number) < INT_MAX, held = pieces->held ? *pieces->held : ANY_PIECE;
  sunrealtype inside[2] = {INFINITY, INFINITY};
  if (pieces->own) *pieces->own = counts ? (int)number : ANY_PIECE;
  if (held != ANY_PIECE) {
    turns = floor((sunrealtype)held / n);
    low   = (int)(held - turns * n);
    *x    = at;
    if (periodic) {
      const sunrealtype period = axis->x[n] - axis->x[0];
      *x -= turns * period;
      if (pieces->turns)
        *x -= period * round((*x - (axis->x[low] + axis->x[low + 1]) / 2) / period);
    }
    if (periodic || low > 0) inside[0] = *x - axis->x[low];
    if (periodic || low < n - 1) inside[1] = axis->x[low + 1] - *x;
  }
  if (pieces->inside) memcpy(pieces->inside, inside, sizeof inside);
  return low;
}

/* w [d][side][a]: out, what multiplies f^(a) at nodes i and i + 1 in derivative d of f; i is returned. */
static int weights(const Axis *axis, int periodic, sunrealtype x, int order, const Pieces *pieces,
                   sunrealtype w[3][2][P]) {
  const sunrealtype at = x;
  sunrealtype turns    = 0;
  const int n = axis->n, p = axis->p;
  const sunrealtype *nodes = axis->x, first = nodes[0], last = nodes[n - 1];
  int low = 0, high = n - 1;
  memset(w, 0, 3 * sizeof *w);
  if (n == 1) return w[0][0][0] = 1, 0;
  if (periodic) {
    turns = floor((x - first) / (last - first));
    x -= (last - first) * turns;
    x = x > last ? last : x < first ? first : x; /* roundoff */
  }
  const int before = !(x >= first), beyond = x > last; /* a NaN is before the first node */
  if (!before && !beyond) {
    const int k = bucketOf(axis, x);
    low         = axis->guide[k] > 0 ? axis->guide[k] - 1 : 0;
    high        = axis->guide[k + 1] < n - 1 ? axis->guide[k + 1] : n - 1;
    while (high - low > 1) {
      const int middle                     = low + (high - low) / 2;
      *(nodes[middle] <= x ? &low : &high) = middle;
    }
  } else if (beyond) low = n - 2;
  if ((before || beyond) && p > 1 && !periodic) { /* Taylor's polynomial, of a table of degree p - 1 */
    const sunrealtype dx = x - (before ? first : last);
    sunrealtype power    = 1;
    for (int a = 0; a < axis->beyond; power *= dx / ++a)
      for (int d = 0; d <= order && a + d < axis->beyond; d++) w[d][beyond][a + d] = power;
    return low;
  }
  if (p == 1 && pieces) low = intervalOf(axis, periodic, low, turns, pieces, at, &x);
  const sunrealtype h = nodes[low + 1] - nodes[low], s = (x - nodes[low]) / h;
  for (int side = 0; side < 2; side++)
    for (int a = 0; a < p; a++)
      for (int d = 0; d <= order; d++)
        w[d][side][a] = basis(p, side, a, d, s) *
                        (a == 2 ? h * h
                         : a    ? h
                                : 1) /
                        (d == 2 ? h * h
                         : d    ? h
                                : 1);
  return low;
}

static void evaluate(const struct CPFunction_ *f, const sunrealtype *x, int order,
                     const Pieces *pieces, sunrealtype *jet) {
  Pieces room;
  const Spline *s = (const Spline *)(const void *)f;
  const int two = f->n == 2, n1 = s->axis[1].n, p0 = s->axis[0].p, p1 = s->axis[1].p;
  sunrealtype w0[3][2][P], w1[3][2][P];
  const int i = weights(&s->axis[0], s->periodic, x[0], order, pieces, w0),
            j = weights(&s->axis[1], s->periodic, two ? x[1] : 0, order,
                        piecesFrom(pieces, 1, &room), w1);
  for (int total = 0, m = 0; total <= order; total++) /* f; f_x, f_y; f_xx, f_xy, f_yy */
    for (int d1 = 0; d1 <= (two ? total : 0); d1++) {
      sunrealtype sum = 0;
      for (int side = 0; side < (two ? 4 : 2); side++) {
        const sunrealtype *c =
            s->node + (size_t)((i + side % 2) * n1 + j + side / 2) * (size_t)(p0 * p1);
        for (int a = 0; a < p0; a++)
          for (int b = 0; b < p1; b++)
            sum += w0[total - d1][side % 2][a] * w1[d1][side / 2][b] * c[a * p1 + b];
      }
      jet[m++] = sum;
    }
}

static void destroy(struct CPFunction_ *f) {
  Spline *s = (Spline *)(void *)f;
  for (int k = 0; k < 2; k++) {
    free(s->axis[k].x);
    free(s->axis[k].guide);
  }
  free(s->node);
  CPFunctionFree(&s->of);
  free(s);
}

/* ---------------------------------------------------------------------------------- slopes -- */

static void *copyOf(const void *from, size_t size) {
  void *copy = malloc(size);
  return copy ? memcpy(copy, from, size) : NULL;
}

int languageHasSlope(CPFunction f) {
  const Spline *s = (const Spline *)(const void *)f;
  return f->evaluate == evaluate && f->n == 1 && s->slopes < s->axis[0].p - 1;
}

/* f' is of lower degree, so that Hermite's polynomials of degree 2p - 1 through its derivatives at the nodes are f' itself. Those up to
 * f^(2p-2) are continuous. */
CPFunction languageSlope(CPFunction f) {
  const Spline *s = (const Spline *)(const void *)f;
  const Axis *at  = &s->axis[0];
  const int n = at->n, p = at->p;
  Spline *slope = copyOf(s, sizeof *s);
  if (!slope) return NULL;
  Axis *own = &slope->axis[0];
  slope->of = cpFunctionShare(f);
  atomic_init(&slope->head.owners, 1);
  slope->slopes++, own->beyond--;
  own->x              = copyOf(at->x, (size_t)n * sizeof *at->x);
  own->guide          = copyOf(at->guide, ((size_t)n + 2) * sizeof *at->guide);
  slope->axis[1].x    = copyOf(s->axis[1].x, sizeof *at->x);
  slope->node         = malloc((size_t)(n * p) * sizeof *s->node);
  Dimension *result   = &slope->head.result;
  const Dimension *by = &s->head.argument[0];
  for (int k = 0; k < 3; k++) result->power[k] -= by->power[k];
  result->plain &= by->plain;
  if (!own->x || !own->guide || !slope->axis[1].x || !slope->node)
    return destroy(&slope->head), NULL;
  for (int i = 0; i < n; i++) {
    const int low       = i < n - 1 ? i : n - 2; /* f^(p) from the interval behind the node */
    const sunrealtype h = at->x[low + 1] - at->x[low], power[P] = {1, h, h * h};
    sunrealtype next = 0;
    for (int side = 0; side < 2; side++)
      for (int a = 0; a < p; a++)
        next += basis(p, side, a, p, i - low) * power[a] * s->node[(low + side) * p + a];
    for (int a = 0; a < p - 1; a++) slope->node[i * p + a] = s->node[i * p + a + 1];
    slope->node[i * p + p - 1] = next / (h * power[p - 1]);
  }
  return &slope->head;
}

int cpFunctionTable(CPFunction f, CPTable *table, CPFunction *of) {
  const Spline *s = (const Spline *)(const void *)f;
  if (f->evaluate != evaluate) return 1;
  const Axis *x = &s->axis[0], *y = &s->axis[1];
  if ((*of = s->of)) return 0;
  sunrealtype *value = malloc((size_t)x->n * (size_t)y->n * sizeof *value);
  if (!value) return CP_MEM_FAIL;
  for (size_t i = 0; i < (size_t)x->n * (size_t)y->n; i++)
    value[i] = s->node[i * (size_t)(x->p * y->p)];
  *table = (CPTable){CP_SIZED(CPTable), .order = 2 * x->p - 1, .ends = s->ends, .nx = x->n,
                     .x = x->x,         .value = value};
  memcpy(table->slope, s->slope, sizeof s->slope);
  if (f->n == 2) table->ny = y->n, table->y = y->x;
  return 0;
}

/* ---------------------------------------------------------------------------- interpolation -- */

/* X [b][columns] = M^-1 X. Returns 1 if M is singular. */
static int solve(int b, sunrealtype M[B][B], sunrealtype X[B][1 + B + B], int columns) {
  if (b == 2 && fabs(M[1][0]) > fabs(M[0][0]))
    for (int k = 0; k < 2 + columns; k++) {
      sunrealtype *u = k < 2 ? &M[0][k] : &X[0][k - 2], *v = k < 2 ? &M[1][k] : &X[1][k - 2], t = *u;
      *u = *v, *v = t;
    }
  const sunrealtype l    = b == 2 ? M[1][0] / M[0][0] : 0,
                    last = b == 2 ? M[1][1] - l * M[0][1] : M[0][0];
  if (!(fabs(last) > 0) || !isfinite(last)) return 1;
  for (int k = 0; k < columns; k++) {
    X[b - 1][k] = (X[b - 1][k] - l * X[0][k]) / last;
    if (b == 2) X[0][k] = (X[0][k] - M[0][1] * X[1][k]) / M[0][0];
  }
  return 0;
}

/* C [side][d][a]: out, what multiplies f^(a) at both ends of an interval of length h in its derivative p + d at one end, times
 * scale^(p + d - 1). D: the same for Hermite's polynomials */
static void contribution(int p, sunrealtype D[2][B][P], sunrealtype h, sunrealtype scale,
                         sunrealtype C[2][B][P]) {
  const sunrealtype r = scale / h, power[P] = {1 / h, 1, h};
  sunrealtype row = p > 2 ? r * r : r; /* (scale/h)^(p + d - 1) */
  for (int d = 0; d < p - 1; d++, row *= r)
    for (int side = 0; side < 2; side++)
      for (int a = 0; a < p; a++) C[side][d][a] = D[side][d][a] * row * power[a];
}

/* Cubic ends: f''' = (12 (f_0 - f_1) + 6 h (f'_0 + f'_1))/h^3 in the interval at the end is 6 [x_0 x_1 x_2 x_3] f. Returns
 * f'_0 + f'_1. */
static sunrealtype slopesAtEnd(const Axis *axis, int high, const sunrealtype *node, size_t stride) {
  const int n = axis->n, first = high && n > 3 ? n - 4 : 0, i = high ? n - 2 : 0;
  const sunrealtype *x = axis->x + first, h = axis->x[i + 1] - axis->x[i];
  sunrealtype f[4] = {0}; /* becomes divided differences */
  for (int k = 0; k < 4 && n > 3; k++) f[k] = node[(size_t)(first + k) * stride];
  for (int order = 1; order < 4; order++)
    for (int k = 3; k >= order && n > 3; k--) f[k] = (f[k] - f[k - 1]) / (x[k] - x[k - order]);
  return h * h * f[3] + 2 * (node[(size_t)(i + 1) * stride] - node[(size_t)i * stride]) / h;
}

/* Computes f^(a), a = 1 ... p - 1, at nodes i = 0 ... n - 1, at node[i * stride + a * step], from f at node[i * stride]. slope:
 * the derivatives at the ends, if they are clamped. row [n b (2 b + 1)]: workspace. Returns 1 if there is no such spline. */
static int interpolate(const Axis *axis, CPTableEnds ends, const sunrealtype *slope,
                       sunrealtype *node, size_t stride, size_t step, sunrealtype *row) {
  const int p = axis->p, b = p - 1, n = axis->n, cyclic = ends == CP_ENDS_PERIODIC;
  const int last = cyclic ? n - 2 : n - 1,
            w    = 2 * b + 1; /* of row: the right neighbour, f, the last unknown */
  sunrealtype M[B][B], X[B][1 + B + B], closing[B][1 + B + B], centre[B][B];
  sunrealtype D[2][2][B][P];
  for (int side = 0; side < 4; side++)
    for (int d = 0; d < b; d++)
      for (int a = 0; a < p; a++)
        D[side / 2][side % 2][d][a] = basis(p, side % 2, a, p + d, side / 2);
  for (int i = 0; i <= last; i++) {
    sunrealtype C[2][B][P], L[B][B] = {{0}};
    memset(M, 0, sizeof M), memset(X, 0, sizeof X);
    const int ended      = !cyclic && (i == 0 || i == n - 1);
    const sunrealtype hr = axis->x[i + (i < n - 1)] - axis->x[i - (i == n - 1)],
                      hl = i > 0    ? axis->x[i] - axis->x[i - 1]
                           : cyclic ? axis->x[n - 1] - axis->x[n - 2]
                                    : hr;
    for (int left = 0; left < 2; left++) {
      if (ended && (ends != CP_ENDS_NATURAL || left == (i == 0))) continue;
      const int neighbour    = left ? (i > 0 ? i - 1 : n - 2) : i + 1;
      const sunrealtype sign = left ? 1 : -1;
      contribution(p, D[left], left ? hl : hr, fmin(hl, hr), C);
      for (int d = 0; d < b; d++) {
        X[d][b] -= sign * (C[left][d][0] * node[(size_t)i * stride] +
                           C[!left][d][0] * node[(size_t)neighbour * stride]);
        for (int a = 0; a < b; a++) {
          M[d][a] += sign * C[left][d][a + 1];
          if (left) L[d][a] += sign * C[0][d][a + 1];
          else X[d][a] += sign * C[1][d][a + 1];
        }
      }
    }
    if (ended && ends == CP_ENDS_CLAMPED)
      for (int d = 0; d < b; d++) M[d][d] = 1, X[d][b] = slope[2 * d + (i > 0)];
    if (ended && ends == CP_ENDS_CUBIC && b > 0)
      M[0][0] = 1, *(i > 0 ? L[0] : X[0]) = 1, X[0][b] = slopesAtEnd(axis, i > 0, node, stride);
    /* Neighbours that are the last unknown go to its columns, and the last row of a cyclic system waits for all others. */
    for (int d = 0; d < b && cyclic; d++)
      for (int a = 0; a < b; a++) {
        if (i == 0) X[d][b + 1 + a] = L[d][a], L[d][a] = 0;
        if (i == last - 1) X[d][b + 1 + a] += X[d][a], X[d][a] = 0;
      }
    if (cyclic && i == last) {
      memcpy(centre, M, sizeof M), memcpy(closing, X, sizeof X);
      for (int d = 0; d < b; d++)
        for (int a = 0; a < b; a++) closing[d][b + 1 + a] = L[d][a];
      break;
    }
    const sunrealtype *above = row + (size_t)(i - (i > 0)) * (size_t)(b * w);
    for (int d = 0; d < b && i > 0; d++)
      for (int c = 0; c < b; c++) {
        for (int a = 0; a < b; a++) M[d][a] -= L[d][c] * above[c * w + a];
        for (int k = b; k < w; k++) X[d][k] -= L[d][c] * above[c * w + k];
      }
    if (b > 0 && solve(b, M, X, w)) return 1;
    for (int d = 0; d < b; d++)
      memcpy(row + (size_t)i * (size_t)(b * w) + d * w, X[d], (size_t)w * sizeof(sunrealtype));
  }
  sunrealtype end[B] = {0}; /* the last unknown of a cyclic system */
  if (cyclic && b > 0) {    /* backwards, all others become an affine function of it */
    for (int i = last - 2; i >= 0; i--)
      for (int d = 0; d < b; d++)
        for (int k = b; k < w; k++)
          for (int c = 0; c < b; c++)
            row[(size_t)i * (size_t)(b * w) + d * w + k] -=
                row[(size_t)i * (size_t)(b * w) + d * w + c] *
                row[(size_t)(i + 1) * (size_t)(b * w) + c * w + k];
    const sunrealtype *one = row, *before = row + (size_t)(last - 1) * (size_t)(b * w);
    memset(X, 0, sizeof X);
    for (int d = 0; d < b; d++) {
      X[d][0] = closing[d][b];
      for (int c = 0; c < b; c++) {
        X[d][0] -= closing[d][c] * one[c * w + b] + closing[d][b + 1 + c] * before[c * w + b];
        for (int a = 0; a < b; a++)
          centre[d][a] -= closing[d][c] * one[c * w + b + 1 + a] +
                          closing[d][b + 1 + c] * before[c * w + b + 1 + a];
      }
    }
    if (solve(b, centre, X, 1)) return 1;
    for (int d = 0; d < b; d++) end[d] = X[d][0];
  }
  for (int i = n - 1; i >= 0 && b > 0; i--)
    for (int d = 0; d < b; d++) {
      const sunrealtype *r = row + (size_t)i * (size_t)(b * w) + d * w;
      sunrealtype *to      = node + (size_t)i * stride + (size_t)(d + 1) * step;
      if (cyclic && i >= last) {
        *to = i == last ? end[d] : 0;
        continue;
      }
      *to = r[b];
      for (int c = 0; c < b; c++)
        *to -= cyclic      ? r[b + 1 + c] * end[c]
               : i < n - 1 ? r[c] * to[stride + (size_t)c * step - (size_t)d * step]
                           : 0;
    }
  for (int d = 1; d < p && cyclic; d++)
    node[(size_t)(n - 1) * stride + (size_t)d * step] = node[(size_t)d * step];
  return 0;
}

/* ---------------------------------------------------------------------------------- tables -- */

/* Checks the nodes of an axis, and copies them. Returns 0, or 1 with a rule, which is "" if out of memory. */
static int makeAxis(Axis *axis, char name, int n, int least, int p, const sunrealtype *x,
                    sunrealtype scale, char rule[RULE]) {
  *axis = (Axis){.n = n, .p = p, .beyond = p};
  if (n < least || !x)
    return snprintf(rule, RULE, "a table of this kind needs %d rows of %c, and has %d", least, name,
                    n),
           1;
  axis->x     = malloc((size_t)n * sizeof *axis->x);
  axis->guide = calloc((size_t)n + 2, sizeof *axis->guide);
  if (!axis->x || !axis->guide) return 1;
  for (int i = 0; i < n; i++) {
    axis->x[i] = scale * x[i];
    if (!isfinite(axis->x[i]))
      return snprintf(rule, RULE, "%c must be finite; row %d is %g", name, i + 1, (double)x[i]), 1;
    if (i > 0 && !(axis->x[i] > axis->x[i - 1]))
      return snprintf(rule, RULE, "%c must increase; row %d has %g after %g", name, i + 1,
                      (double)x[i], (double)x[i - 1]),
             1;
  }
  axis->scale = (n - 1) / (axis->x[n - 1] - axis->x[0]);
  if (!isfinite(axis->scale) || !(axis->scale > 0))
    return snprintf(rule, RULE, "%c has too large or too small a range", name), 1;
  for (int i = 0; i < n; i++) axis->guide[bucketOf(axis, axis->x[i]) + 1]++;
  for (int k = 0; k <= n; k++) axis->guide[k + 1] += axis->guide[k];
  return 0;
}

/* Makes the spline of values [nx ny]. Returns 0, or 1 with a rule. */
static int makeSpline(Spline *s, const CPTable *t, const sunrealtype *value,
                      const sunrealtype scale[3], char rule[RULE]) {
  Axis *x = &s->axis[0], *y = &s->axis[1];
  const int p = x->p * y->p, longest = x->n > y->n ? x->n : y->n, b = x->p - 1;
  const size_t cell = (size_t)p, line = (size_t)y->n * cell;
  s->node          = calloc((size_t)x->n * line, sizeof *s->node);
  sunrealtype *row = malloc(((size_t)longest * (size_t)(b * (2 * b + 1)) + 1) * sizeof *row);
  int failed       = !s->node || !row;
  for (int i = 0; i < x->n && !failed; i++)
    for (int j = 0; j < y->n && !failed; j++) {
      const sunrealtype f = scale[2] * value[(size_t)i * (size_t)y->n + (size_t)j];
      const sunrealtype first =
          scale[2] * value[i == x->n - 1 ? (size_t)j : (size_t)i * (size_t)y->n];
      s->node[(size_t)i * line + (size_t)j * cell] = f;
      if (!isfinite(f))
        failed = snprintf(rule, RULE, "a value must be finite; that in row %d is %g", i + 1,
                          (double)f) > 0;
      else if (s->periodic && (i == x->n - 1 || (y->n > 1 && j == y->n - 1)) && f != first)
        failed =
            snprintf(
                rule,
                RULE, "a periodic table must end with the value at its beginning, %.17g, and ends with %.17g",
                (double)first, (double)f) > 0;
    }
  const sunrealtype by[]    = {scale[2] / scale[0], scale[2] / (scale[0] * scale[0])},
                    slope[] = {by[0] * t->slope[0], by[0] * t->slope[1], by[1] * t->slope[2],
                               by[1] * t->slope[3]};
  memcpy(s->slope, slope, sizeof slope);
  for (int j = 0; j < y->n && !failed; j++)
    if (interpolate(x, t->ends, slope, s->node + (size_t)j * cell, line, (size_t)y->p, row))
      failed = 2;
  for (int i = 0; i < x->n * x->p && !failed && y->n > 1; i++)
    if (interpolate(y, t->ends, slope,
                    s->node + (size_t)(i / x->p) * line + (size_t)(i % x->p * y->p), cell, 1, row))
      failed = 2;
  for (size_t k = 0; k < (size_t)x->n * line && !failed; k++)
    if (!isfinite(s->node[k])) failed = 2;
  if (failed == 2)
    snprintf(rule, RULE, "there is no spline through these rows in the range of numbers");
  free(row);
  return failed != 0;
}

int languageTable(const CPTable *t, const char *const *unit, const char *result, Place place,
                  CPFunction *f) {
  Columns columns   = {0};
  const char *of[3] = {unit ? unit[0] : NULL, unit && t->y ? unit[1] : NULL, result};
  const int two = t->ny > 0 || t->y, order = t->order ? t->order : 3, p = (order + 1) / 2;
  const int least = t->ends == CP_ENDS_PERIODIC                ? 4
                    : order == 5 && t->ends == CP_ENDS_NATURAL ? 3
                    : order == 3 && t->ends == CP_ENDS_CUBIC   ? 3
                                                               : 2;
  sunrealtype scale[3];
  Dimension d[3];
  Wrong wrong = {0, ""};
  *f          = NULL;
  if (t->csv) {
    const int flag = two ? CP_SUCCESS : languageColumns(t, place, &columns);
    if (flag) return free(columns.x), free(columns.value), flag;
  }
  Spline *s  = calloc(1, sizeof *s);
  int failed = !s;
  if (s)
    s->head = (struct CPFunction_){
        .owners = 1, .n = two ? 2 : 1, .level = 1, .evaluate = evaluate, .destroy = destroy};
  for (int k = 0; k < 3 && !failed; k++) {
    const char *head      = columns.x && k != 1 ? columns.unit[k / 2] : "";
    failed                = languageWholeUnit(of[k], &d[k], &scale[k], wrong.rule);
    const Dimension given = d[k];
    if (!failed && *head) failed = languageWholeUnit(head, &d[k], &scale[k], wrong.rule);
    if (!failed && *head && of[k] && *of[k] && !sameDimension(&given, &d[k]))
      failed = snprintf(wrong.rule, RULE, "a column has the unit %.40s, and %.40s is required",
                        head, of[k]) > 0;
  }
  if (!failed && order != 1 && order != 3 && order != 5)
    failed = snprintf(wrong.rule, RULE, "the order must be 1, 3 or 5, and is %d", order) > 0;
  if (!failed && ((int)t->ends < CP_ENDS_NATURAL || t->ends > CP_ENDS_CUBIC))
    failed =
        snprintf(wrong.rule, RULE, "ends must be natural, clamped, periodic or cubic, and are %d",
                 (int)t->ends) > 0;
  if (!failed && t->ends == CP_ENDS_CUBIC && order == 5)
    failed = snprintf(wrong.rule, RULE, "cubic ends need order 3, and the order is 5") > 0;
  for (int k = 0; k < 4 && !failed; k++)
    if (!isfinite(t->slope[k])) failed = snprintf(wrong.rule, RULE, "slopes must be finite") > 0;
  if (!failed && two && t->csv) failed = snprintf(wrong.rule, RULE, "a map has no csv") > 0;
  const sunrealtype *value = columns.x ? columns.value : t->value, *x = columns.x ? columns.x : t->x;
  if (!failed && !value) failed = snprintf(wrong.rule, RULE, "a table needs values") > 0;
  if (!failed) {
    const sunrealtype none = 0;
    s->periodic            = t->ends == CP_ENDS_PERIODIC;
    s->ends                = t->ends;
    s->head.npieces        = p > 1 ? 0 : s->head.n; /* along each variable */
    s->head.timed          = two ? "\0" : "\1";
    s->head.jumps          = "\0";
    s->head.argument[0] = d[0], s->head.argument[1] = d[1], s->head.result = d[2];
    failed = makeAxis(&s->axis[0], 'x', columns.x ? columns.n : t->nx, least, p, x, scale[0],
                      wrong.rule);
    if (!failed && two)
      failed = makeAxis(&s->axis[1], 'y', t->ny, least, p, t->y, scale[1], wrong.rule);
    else if (!failed) {
      s->axis[1] = (Axis){.n = 1, .p = 1, .x = malloc(sizeof none)};
      failed     = !s->axis[1].x;
      if (!failed) s->axis[1].x[0] = none;
    }
    if (!failed && (double)s->axis[0].n * s->axis[1].n > INT_MAX / (P * P))
      failed = snprintf(wrong.rule, RULE, "the table is too large") > 0;
    failed = failed || makeSpline(s, t, value, scale, wrong.rule);
  }
  free(columns.x);
  free(columns.value);
  if (!failed) return *f = &s->head, CP_SUCCESS;
  if (s) destroy(&s->head);
  return languageReport("CPFunctionCreate", NULL, place, &wrong);
}
