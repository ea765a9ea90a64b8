#include "projector/manifolds.h"

#include <string.h>

typedef long double Row[MAX_STATES];

/* ----------------------------------------------------------------------------- the equations -- */

static void eval_circle(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  c[0]    = y[0] * y[0] + y[1] * y[1] - 1.0L;
  G[0][0] = 2.0L * y[0];
  G[0][1] = 2.0L * y[1];
}

static void eval_sphere(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  c[0] = -1.0L;
  for (int i = 0; i < 3; i++) {
    c[0] += y[i] * y[i];
    G[0][i] = 2.0L * y[i];
  }
}

static void eval_planes(long double t, const long double *y, long double *c, Row *G) {
  static const long double A[2][5] = {{1.0L, 2.0L, -1.0L, 0.0L, 3.0L},
                                      {0.0L, 1.0L, 1.0L, -2.0L, 0.5L}};
  static const long double b[2]    = {1.0L, -2.0L};
  (void)t;
  for (int i = 0; i < 2; i++) {
    c[i] = -b[i];
    for (int j = 0; j < 5; j++) {
      c[i] += A[i][j] * y[j];
      G[i][j] = A[i][j];
    }
  }
}

/* Slider-crank with crank length 1/2 (E. J. Haug, Intermediate Dynamics, 1992, example 6.1.8):
 * q = (crank angle, slider, rod angle). */
static const long double crank_a = 0.5L;

static void eval_crank_loop(long double t, const long double *q, long double *c, Row *G) {
  const long double a = crank_a;
  (void)t;
  c[0]    = q[1] - cosl(q[2]) - a * cosl(q[0]);
  c[1]    = -sinl(q[2]) - a * sinl(q[0]);
  G[0][0] = a * sinl(q[0]);
  G[0][1] = 1.0L;
  G[0][2] = sinl(q[2]);
  G[1][0] = -a * cosl(q[0]);
  G[1][2] = -cosl(q[2]);
}

static void eval_crank_qu(long double t, const long double *y, long double *c, Row *G) {
  const long double a  = crank_a;
  const long double *u = y + 3;
  eval_crank_loop(t, y, c, G);
  for (int i = 0; i < 2; i++) { /* velocity rows: (dp/dq) u */
    c[2 + i] = 0.0L;
    for (int j = 0; j < 3; j++) {
      c[2 + i] += G[i][j] * u[j];
      G[2 + i][3 + j] = G[i][j];
    }
  }
  G[2][0] = a * cosl(y[0]) * u[0];
  G[2][2] = cosl(y[2]) * u[2];
  G[3][0] = a * sinl(y[0]) * u[0];
  G[3][2] = sinl(y[2]) * u[2];
}

/* A point at distance 1 from (sx, 0), which moves with velocity svx: rows
 *   rx^2 + ry^2 - 1,   rx wx + ry wy     with r = (x - sx, y), w = (vx - svx, vy);
 * the second is half of the time derivative of the first, as users write it. x, v: columns. */
static void eval_distance(const long double *y, int x, int v, long double sx, long double svx,
                          long double *c, Row *G) {
  const long double rx = y[x] - sx, ry = y[x + 1];
  const long double wx = y[v] - svx, wy = y[v + 1];
  c[0]        = rx * rx + ry * ry - 1.0L;
  c[1]        = rx * wx + ry * wy;
  G[0][x]     = 2.0L * rx;
  G[0][x + 1] = 2.0L * ry;
  G[1][x]     = wx;
  G[1][x + 1] = wy;
  G[1][v]     = rx;
  G[1][v + 1] = ry;
}

static void eval_pendulum_qu(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  eval_distance(y, 0, 2, 0.0L, 0.0L, c, G);
}

static void eval_pendulum_uq(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  eval_distance(y, 2, 0, 0.0L, 0.0L, c, G);
}

static void eval_pivot_moving(long double t, const long double *y, long double *c, Row *G) {
  eval_distance(y, 0, 2, sinl(t), cosl(t), c, G);
}

/* Two bodies, (x, y, vx, vy) each; rows p1, v1, p2, v2 (velocity rows are the full derivatives). */
static void eval_bodies_blocked(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  for (int k = 0; k < 2; k++) {
    const int x = 4 * k, v = 4 * k + 2;
    Row *p = G + 2 * k, *rate = p + 1;
    c[2 * k]     = -1.0L;
    c[2 * k + 1] = 0.0L;
    for (int i = 0; i < 2; i++) {
      const long double r = y[x + i] - (k ? y[x - 4 + i] : 0.0L);
      const long double w = y[v + i] - (k ? y[v - 4 + i] : 0.0L);
      c[2 * k] += r * r;
      c[2 * k + 1] += 2.0L * r * w;
      (*p)[x + i]    = 2.0L * r;
      (*rate)[x + i] = 2.0L * w;
      (*rate)[v + i] = 2.0L * r;
      if (k) {
        (*p)[x - 4 + i]    = -2.0L * r;
        (*rate)[x - 4 + i] = -2.0L * w;
        (*rate)[v - 4 + i] = -2.0L * r;
      }
    }
  }
}

/* A knife edge with heading phi whose contact point is held on the unit circle: q = (x, y, phi);
 * rows: the circle, its rate, and vx sin(phi) - vy cos(phi) = 0, to which no position constraint
 * belongs. */
static void eval_knife_on_circle(long double t, const long double *y, long double *c, Row *G) {
  const long double s = sinl(y[2]), co = cosl(y[2]);
  (void)t;
  eval_distance(y, 0, 3, 0.0L, 0.0L, c, G);
  c[2]    = y[3] * s - y[4] * co;
  G[2][2] = y[3] * co + y[4] * s;
  G[2][3] = s;
  G[2][4] = -co;
}

/* 0 = |(y_first, ...)| - value */
static void eval_norm(const long double *y, int first, int length, long double value,
                      long double *c, long double *g) {
  long double square = 0.0L;
  for (int j = first; j < first + length; j++) square += y[j] * y[j];
  *c = sqrtl(square) - value;
  for (int j = first; j < first + length; j++) g[j] = y[j] / sqrtl(square);
}

static void eval_norms_beside(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  c[0]    = y[4] + 2.0L * y[8] - y[5] * y[9] - 3.0L;
  G[0][4] = 1.0L;
  G[0][5] = -y[9];
  G[0][8] = 2.0L;
  G[0][9] = -y[5];
  c[1]    = y[8] * y[8] + y[9] * y[9] - 1.0L;
  G[1][8] = 2.0L * y[8];
  G[1][9] = 2.0L * y[9];
  eval_norm(y, 0, 4, 1.0L, &c[2], G[2]);
  eval_norm(y, 4, 4, 2.0L, &c[3], G[3]);
}

static void eval_norms_alone(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  eval_norm(y, 0, 4, 1.0L, &c[0], G[0]);
  eval_norm(y, 4, 3, 3.0L, &c[1], G[1]);
}

/* |r_k - r_{k-1}|^2 = 1, r_k = (x_k, y_k), r_{-1} = 0 */
static void eval_long_chain(long double t, const long double *y, long double *c, Row *G) {
  (void)t;
  for (int k = 0; k < 9; k++) {
    c[k] = -1.0L;
    for (int j = 2 * k; j < 2 * k + 2; j++) {
      const long double d = y[j] - (k ? y[j - 2] : 0.0L);
      c[k] += d * d;
      G[k][j] = 2.0L * d;
      if (k) G[k][j - 2] = -2.0L * d;
    }
  }
}

/* --------------------------------------------------------------------------------- the table -- */

/* Points: to double precision if that is simple, otherwise to a few digits (the tests perturb
 * them). */
const Manifold circle = {.name    = "circle",
                         .n       = 2,
                         .m       = 1,
                         .eval    = eval_circle,
                         .point   = {0.8, 0.6},
                         .apart   = 0.5,
                         .nlevels = 1};

const Manifold sphere = {.name    = "sphere",
                         .n       = 3,
                         .m       = 1,
                         .eval    = eval_sphere,
                         .point   = {2.0 / 3, -1.0 / 3, 2.0 / 3},
                         .apart   = 0.5,
                         .nlevels = 1};

const Manifold planes = {.name    = "planes",
                         .n       = 5,
                         .m       = 2,
                         .eval    = eval_planes,
                         .point   = {1.0, 0.0, 0.0, 1.0, 0.0},
                         .apart   = 0.5,
                         .nlevels = 1};

/* sin(rod) = -sin(crank)/2, slider = cos(rod) + cos(crank)/2, at crank = 0.9 */
#define CRANK_POSITIONS 0.9, 1.230913531081487, -0.4024387883270812
const Manifold crank_loop = {.name    = "crank_loop",
                             .n       = 3,
                             .m       = 2,
                             .eval    = eval_crank_loop,
                             .point   = {CRANK_POSITIONS},
                             .apart   = 0.5,
                             .nlevels = 1};

const Manifold crank_qu = {.name  = "crank_qu",
                           .n     = 6,
                           .m     = 4,
                           .eval  = eval_crank_qu,
                           .point = {CRANK_POSITIONS, 0.7, -0.3667748695872066, -0.236454154911208},
                           .apart = 0.5,
                           .nlevels   = 2,
                           .row_level = {0, 0, 1, 1},
                           .col_level = {0, 0, 0, 1, 1, 1}};

const Manifold pendulum_qu = {.name      = "pendulum_qu",
                              .n         = 4,
                              .m         = 2,
                              .eval      = eval_pendulum_qu,
                              .point     = {0.6, -0.8, 1.6, 1.2},
                              .apart     = 0.5,
                              .nlevels   = 2,
                              .row_level = {0, 1},
                              .col_level = {0, 0, 1, 1}};

const Manifold pendulum_uq = {.name      = "pendulum_uq",
                              .n         = 4,
                              .m         = 2,
                              .eval      = eval_pendulum_uq,
                              .point     = {1.6, 1.2, 0.6, -0.8},
                              .apart     = 0.5,
                              .nlevels   = 2,
                              .row_level = {0, 1},
                              .col_level = {1, 1, 0, 0}};

/* No constraint contains the auxiliary states, so their level is arbitrary. */
const Manifold pendulum_quz = {.name      = "pendulum_quz",
                               .n         = 6,
                               .m         = 2,
                               .eval      = eval_pendulum_qu,
                               .point     = {0.6, -0.8, 1.6, 1.2, 3.0, -2.0},
                               .apart     = 0.5,
                               .nlevels   = 2,
                               .row_level = {0, 1},
                               .col_level = {0, 0, 1, 1, 1, 1}};

const Manifold bodies_blocked = {.name      = "bodies_blocked",
                                 .n         = 8,
                                 .m         = 4,
                                 .eval      = eval_bodies_blocked,
                                 .point     = {0.6, -0.8, 1.6, 1.2, 1.4, -1.4, 2.2, 2.0},
                                 .apart     = 0.5,
                                 .nlevels   = 2,
                                 .row_level = {0, 1, 0, 1},
                                 .col_level = {0, 0, 1, 1, 0, 0, 1, 1}};

const Manifold bodies_one_by_one = {.name      = "bodies_one_by_one",
                                    .n         = 8,
                                    .m         = 4,
                                    .eval      = eval_bodies_blocked,
                                    .point     = {0.6, -0.8, 1.6, 1.2, 1.4, -1.4, 2.2, 2.0},
                                    .apart     = 0.5,
                                    .nlevels   = 4,
                                    .row_level = {0, 2, 1, 3},
                                    .col_level = {0, 0, 2, 2, 1, 1, 3, 3}};

/* At t = 1/2 the pivot is at sin(1/2) and has velocity cos(1/2). */
const Manifold pivot_moving = {.name      = "pivot_moving",
                               .n         = 4,
                               .m         = 2,
                               .eval      = eval_pivot_moving,
                               .point     = {1.079425538604203, -0.8, 2.477582561890373, 1.2},
                               .time      = 0.5,
                               .apart     = 0.5,
                               .nlevels   = 2,
                               .row_level = {0, 1},
                               .col_level = {0, 0, 1, 1}};

/* The heading is not along the circle: the two velocity rows keep the point at rest, but it may
 * spin. */
const Manifold knife_on_circle = {.name      = "knife_on_circle",
                                  .n         = 6,
                                  .m         = 3,
                                  .eval      = eval_knife_on_circle,
                                  .point     = {0.6, -0.8, 0.3, 0.0, 0.0, 1.5},
                                  .apart     = 0.06,
                                  .nlevels   = 2,
                                  .row_level = {0, 1, 1},
                                  .col_level = {0, 0, 0, 1, 1, 1}};

const Manifold norms_beside = {.name    = "norms_beside",
                               .n       = 10,
                               .m       = 4,
                               .eval    = eval_norms_beside,
                               .point   = {0.5, 0.5, -0.5, 0.5, 1.0, -1.0, 1.0, 1.0, 0.6, 0.8},
                               .apart   = 0.3,
                               .nlevels = 1,
                               .nnorms  = 2,
                               .norm    = {{0, 4, 1.0}, {4, 4, 2.0}}};

const Manifold norms_alone = {.name    = "norms_alone",
                              .n       = 8,
                              .m       = 2,
                              .eval    = eval_norms_alone,
                              .point   = {0.5, 0.5, -0.5, 0.5, 2.0, -1.0, 2.0, 0.3},
                              .apart   = 0.5,
                              .nlevels = 1,
                              .nnorms  = 2,
                              .norm    = {{0, 4, 1.0}, {4, 3, 3.0}}};

/* Links in the directions of the triangle 3, 4, 5, and along the axes. */
const Manifold long_chain = {.name    = "long_chain",
                             .n       = 18,
                             .m       = 9,
                             .eval    = eval_long_chain,
                             .point   = {0.6, -0.8, 1.4, -1.4, 1.4, -2.4, 2.2, -1.8, 3.2, -1.8, 3.8,
                                         -2.6, 4.4, -1.8, 5.2, -2.4, 6.2, -2.4},
                             .apart   = 0.45,
                             .nlevels = 1};

const Manifold *const manifolds[] = {&circle,         &sphere,       &planes,         &crank_loop,
                                     &pendulum_qu,    &pendulum_uq,  &pendulum_quz,   &crank_qu,
                                     &bodies_blocked, &pivot_moving, &knife_on_circle};
const int n_manifolds             = sizeof manifolds / sizeof manifolds[0];

/* ----------------------------------------------------------------------------- the reference -- */

void solve_dense(int n, Row *A, long double *b) {
  for (int k = 0; k < n; k++) {
    int p = k;
    for (int i = k + 1; i < n; i++)
      if (fabsl(A[i][k]) > fabsl(A[p][k])) p = i;
    for (int j = 0; j < n; j++) {
      long double a = A[k][j];
      A[k][j]       = A[p][j];
      A[p][j]       = a;
    }
    long double a = b[k];
    b[k]          = b[p];
    b[p]          = a;
    for (int i = k + 1; i < n; i++) {
      long double l = A[i][k] / A[k][k];
      for (int j = k; j < n; j++) A[i][j] -= l * A[k][j];
      b[i] -= l * b[k];
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) b[i] -= A[i][j] * b[j];
    b[i] /= A[i][i];
  }
}

void inverse_metric(CPNorm norm, N_Vector ewt, long double *D) {
  for (sunindextype j = 0; j < N_VGetLength(ewt); j++) {
    const long double w = entries(ewt)[j];
    D[j]                = norm == CP_NORM_L2 ? 1.0L : 1.0L / (w * w);
  }
}

typedef struct {
  long double c[MAX_ROWS];
  long double G[MAX_ROWS][MAX_STATES];
} Evaluation;

static void evaluate(const Manifold *mf, const long double *y, Evaluation *e) {
  memset(e, 0, sizeof *e);
  mf->eval((long double)mf->time, y, e->c, e->G);
}

static int row_in(const Manifold *mf, int levels, int i, int level) {
  return !levels || mf->row_level[i] == level;
}

static int col_in(const Manifold *mf, int levels, int j, int level) {
  return !levels || mf->col_level[j] == level;
}

void diagonal_metric(const Manifold *mf, int levels, const long double *D, InverseMetric *metric) {
  memset(metric, 0, sizeof *metric);
  for (int l = 0; l < MAX_LEVELS; l++)
    for (int j = 0; j < mf->n; j++)
      if (col_in(mf, levels, j, l)) metric->D[l][j][j] = D[j];
}

void matrix_metric(const Manifold *mf, int levels, Row *M, const int *held, InverseMetric *metric) {
  memset(metric, 0, sizeof *metric);
  for (int l = 0; l < MAX_LEVELS; l++) {
    int at[MAX_STATES], k = 0;
    for (int j = 0; j < mf->n; j++)
      if (col_in(mf, levels, j, l) && !(held && held[j])) at[k++] = j;
    for (int b = 0; b < k; b++) { /* column b of the block's inverse */
      long double A[MAX_STATES][MAX_STATES], x[MAX_STATES] = {0.0L};
      for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) A[i][j] = M[at[i]][at[j]];
      x[b] = 1.0L;
      solve_dense(k, A, x);
      for (int i = 0; i < k; i++) metric->D[l][at[i]][at[b]] = x[i];
    }
  }
}

/* D_l G' r of one level; D_l is zero outside its columns. */
static long double moved(const Manifold *mf, Row *D, Row *G, const long double *r, int j) {
  long double sum = 0.0L;
  for (int k = 0; k < mf->n; k++)
    for (int i = 0; i < mf->m; i++) sum += D[j][k] * G[i][k] * r[i];
  return sum;
}

/* mu <- (G D G')^-1 r over the rows and columns of one level; entries of other rows become 0. */
static void solve_gram(const Manifold *mf, int levels, int level, Row *D, Row *G, long double *r) {
  long double A[MAX_ROWS][MAX_STATES];
  int row[MAX_ROWS], k = 0;
  long double b[MAX_ROWS];
  for (int i = 0; i < mf->m; i++)
    if (row_in(mf, levels, i, level)) row[k++] = i;
  for (int a = 0; a < k; a++) {
    b[a] = r[row[a]];
    for (int c = 0; c < k; c++) {
      A[a][c] = 0.0L;
      for (int i = 0; i < mf->n; i++)
        for (int j = 0; j < mf->n; j++) A[a][c] += G[row[a]][i] * D[i][j] * G[row[c]][j];
    }
  }
  solve_dense(k, A, b);
  for (int i = 0; i < mf->m; i++) r[i] = 0.0L;
  for (int a = 0; a < k; a++) r[row[a]] = b[a];
}

/* One level of the minimiser: d <- D G' (G D G')^-1 (G d - c) at y + d until it no longer changes.
 * This is the Gauss-Newton iteration with the whole correction in the objective; it contracts with
 * the factor (distance * curvature), below 1/10 for the tests' states: 40 sweeps exhaust long
 * double. */
static void reference_level(const Manifold *mf, int levels, int level, Row *D, long double *y) {
  long double d[MAX_STATES] = {0.0L};
  for (int sweep = 0; sweep < 40; sweep++) {
    long double z[MAX_STATES], r[MAX_ROWS];
    Evaluation e;
    for (int j = 0; j < mf->n; j++) z[j] = y[j] + d[j];
    evaluate(mf, z, &e);
    for (int i = 0; i < mf->m; i++) {
      r[i] = -e.c[i];
      for (int j = 0; j < mf->n; j++) r[i] += e.G[i][j] * d[j];
    }
    solve_gram(mf, levels, level, D, e.G, r);
    for (int j = 0; j < mf->n; j++) d[j] = moved(mf, D, e.G, r, j);
  }
  for (int j = 0; j < mf->n; j++) y[j] += d[j];
}

static void load(N_Vector x, long double *z) {
  for (sunindextype j = 0; j < N_VGetLength(x); j++) z[j] = entries(x)[j];
}

static void store(const long double *z, N_Vector x) {
  for (sunindextype j = 0; j < N_VGetLength(x); j++) entries(x)[j] = (sunrealtype)z[j];
}

static int count_levels(const Manifold *mf, int levels) { return levels ? mf->nlevels : 1; }

void reference_project_in(const Manifold *mf, int levels, InverseMetric *metric, N_Vector y) {
  long double z[MAX_STATES];
  load(y, z);
  for (int level = 0; level < count_levels(mf, levels); level++)
    reference_level(mf, levels, level, metric->D[level], z);
  store(z, y);
}

void reference_tangent_in(const Manifold *mf, int levels, InverseMetric *metric, N_Vector y,
                          N_Vector v) {
  long double z[MAX_STATES], x[MAX_STATES];
  Evaluation e;
  load(y, z);
  load(v, x);
  evaluate(mf, z, &e);
  for (int level = 0; level < count_levels(mf, levels);
       level++) { /* x <- x - D_l G_l' mu, mu from G x */
    long double mu[MAX_ROWS];
    for (int i = 0; i < mf->m; i++) {
      mu[i] = 0.0L;
      for (int j = 0; j < mf->n; j++) mu[i] += e.G[i][j] * x[j];
    }
    solve_gram(mf, levels, level, metric->D[level], e.G, mu);
    for (int j = 0; j < mf->n; j++) x[j] -= moved(mf, metric->D[level], e.G, mu, j);
  }
  store(x, v);
}

/* P' w column by column: (P' w)_j = w' (P e_j). */
void reference_cotangent_in(const Manifold *mf, int levels, InverseMetric *metric, N_Vector y,
                            N_Vector w) {
  N_Vector out = vector_copy(w);
  for (int j = 0; j < mf->n; j++) {
    N_Vector unit    = vector_of(mf->n, NULL);
    entries(unit)[j] = 1.0;
    reference_tangent_in(mf, levels, metric, y, unit);
    entries(out)[j] = dot(w, unit);
    N_VDestroy(unit);
  }
  for (int j = 0; j < mf->n; j++) entries(w)[j] = entries(out)[j];
  N_VDestroy(out);
}

void reference_project(const Manifold *mf, int levels, const long double *D, N_Vector y) {
  InverseMetric metric;
  diagonal_metric(mf, levels, D, &metric);
  reference_project_in(mf, levels, &metric, y);
}

void reference_tangent(const Manifold *mf, int levels, const long double *D, N_Vector y, N_Vector v) {
  InverseMetric metric;
  diagonal_metric(mf, levels, D, &metric);
  reference_tangent_in(mf, levels, &metric, y, v);
}

void reference_cotangent(const Manifold *mf, int levels, const long double *D, N_Vector y,
                         N_Vector w) {
  InverseMetric metric;
  diagonal_metric(mf, levels, D, &metric);
  reference_cotangent_in(mf, levels, &metric, y, w);
}

sunrealtype tangent_defect(const Manifold *mf, N_Vector y, N_Vector v, N_Vector Pv) {
  long double z[MAX_STATES], x[MAX_STATES], Px[MAX_STATES], worst = 0.0L;
  Evaluation e;
  load(y, z);
  load(v, x);
  load(Pv, Px);
  evaluate(mf, z, &e);
  for (int i = 0; i < mf->m; i++) {
    long double sum = 0.0L, size = 0.0L;
    for (int j = 0; j < mf->n; j++) {
      sum += e.G[i][j] * Px[j];
      size += fabsl(e.G[i][j] * x[j]);
    }
    worst = fmaxl(worst, fabsl(sum) / size);
  }
  return (sunrealtype)worst;
}

sunrealtype largest_residual(const Manifold *mf, N_Vector y) {
  long double z[MAX_STATES], worst = 0.0L;
  Evaluation e;
  load(y, z);
  evaluate(mf, z, &e);
  for (int i = 0; i < mf->m; i++) worst = fmaxl(worst, fabsl(e.c[i]));
  return (sunrealtype)worst;
}
