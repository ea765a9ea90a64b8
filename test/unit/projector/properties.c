/* Every mathematical property of the projector, over every solver x form of G x metric x problem,
 * with and without levels; table[] lists what a solver supports.
 *
 * The bounds come from the problem's own sensitivity, computed in extended precision. With K the
 * right inverse of G by levels, size_i the row's size in units of the tolerances (guide, P3) and
 * W = diag(ewt),
 *
 *   kappa = max_j sum_i W_j |K_ji| size_i
 *
 * bounds the distance from the manifold, in units of the tolerances, for residuals of one unit. The
 * tests' states are h = 1e-4 off the manifold, weights 1/ewt are about 1e-5, eps is 1e-6
 * (fixture.h). */
#include "projector/fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const sunrealtype h = 1.0e-4;

/* ------------------------------------------------------------------------------ what is varied -- */

/* How G is given; the bits of Solver.gradients. */
static const struct {
  int user_jac;
  Storage storage;
} gradients[] = {{1, DENSE}, {0, DENSE}, {1, CSC},      {1, CSR},
                 {0, CSC},   {0, CSR},   {1, PRODUCTS}, {1, PRODUCTS_AND_DIAGONAL}};
enum {
  N_GRADIENTS    = sizeof gradients / sizeof gradients[0],
  MATRICES       = 0x3f,
  WITHOUT_MATRIX = 0xc0
};

/* Solvers with factors support metrics that are matrices; KRYLOV supports operators, with one level
 * and no held components. */
static const struct {
  CPNorm norm;
  MetricKind metric;
} metrics[] = {{CP_NORM_ERROR, OF_NORM},
               {CP_NORM_L2, OF_NORM},
               {CP_NORM_ERROR, MATRIX_DENSE},
               {CP_NORM_ERROR, MATRIX_CSC},
               {CP_NORM_ERROR, OPERATOR}};
enum { N_METRICS = sizeof metrics / sizeof metrics[0] };

/* What a solver takes */
typedef struct {
  CPLinSol type;
  int gradients;
  int dependent; /* supports dependent rows */
} Solver;

static const Solver table[] = {
    {CP_LINSOL_SCHUR, MATRICES, 0},          {CP_LINSOL_QR, MATRICES, 1},
    {CP_LINSOL_SPARSE, MATRICES, 1},         {CP_LINSOL_AUTO, MATRICES, 1},
    {CP_LINSOL_PRODUCTS, WITHOUT_MATRIX, 1}, {CP_LINSOL_AUTO, WITHOUT_MATRIX, 1},
};
enum { N_TABLE = sizeof table / sizeof table[0] };

/* A manifold, each row of its c `copies` times, and bits of held components and of rows that are
 * switched off. */
typedef struct {
  const Manifold *mf;
  int copies;
  unsigned held, off;
} Problem;

static const Problem problems[] = {
    {&circle, 1, 0, 0},
    {&sphere, 1, 0, 0},
    {&planes, 1, 0, 0},
    {&crank_loop, 1, 0, 0},
    {&pendulum_qu, 1, 0, 0},
    {&pendulum_uq, 1, 0, 0},
    {&pendulum_quz, 1, 0, 0},
    {&crank_qu, 1, 0, 0},
    {&bodies_blocked, 1, 0, 0},
    {&bodies_one_by_one, 1, 0, 0},
    {&pivot_moving, 1, 0, 0},
    {&knife_on_circle, 1, 0, 0},
    {&norms_beside, 1, 0, 0},
    {&norms_alone, 1, 0, 0},
    {&long_chain, 1, 0, 0},
    /* held: the first component, or one of each level */
    {&sphere, 1, 0x1, 0},
    {&planes, 1, 0x5, 0},
    {&crank_loop, 1, 0x1, 0},
    {&pendulum_qu, 1, 0x5, 0},
    {&crank_qu, 1, 0x9, 0},
    {&bodies_blocked, 1, 0x1, 0},
    {&norms_beside, 1, 0x101, 0},
    {&norms_alone, 1, 0x1, 0},
    {&long_chain, 1, 0x24, 0},
    /* switched off: one row of several, one of each level */
    {&planes, 1, 0, 0x1},
    {&crank_loop, 1, 0, 0x2},
    {&crank_qu, 1, 0, 0xa},
    {&bodies_blocked, 1, 0, 0xc},
    {&bodies_one_by_one, 1, 0, 0x3},
    {&knife_on_circle, 1, 0, 0x4},
    {&norms_beside, 1, 0, 0x1},
    {&long_chain, 1, 0, 0x11},
    {&crank_qu, 1, 0x9, 0x5},
    /* dependent */
    {&circle, 3, 0, 0},
    {&planes, 3, 0, 0},
    {&crank_qu, 3, 0, 0},
    {&pivot_moving, 3, 0, 0},
    {&bodies_blocked, 3, 0, 0},
    {&knife_on_circle, 3, 0, 0},
    {&norms_beside, 3, 0, 0},
    {&long_chain, 3, 0x24, 0x12},
    {&crank_loop, 3, 0x1, 0},
    {&crank_qu, 3, 0, 0xa},
};
enum { N_PROBLEMS = sizeof problems / sizeof problems[0] };

/* --------------------------------------------------------------------------- the current case -- */

static Case k;
static const Problem *problem;
static const Solver *solver;
static int levels; /* 0: coupled */
/* the problem for the dense reference: with the requested levels, and without the rows that are off */
static Manifold reference;
static InverseMetric D;                       /* the metric of the reference, by levels */
static long double M[MAX_STATES][MAX_STATES]; /* metric on all components */

static int is_held(int j) { return problem->held >> j & 1u; }
static int is_off(int i) { return problem->off >> i & 1u; }

static void set_reference(void) {
  reference = *problem->mf;
  if (!levels) {
    reference.nlevels = 1;
    memset(reference.row_level, 0, sizeof reference.row_level);
    memset(reference.col_level, 0, sizeof reference.col_level);
  }
  for (int i = 0; i < reference.m; i++)
    if (is_off(i)) reference.row_level[i] = -1;
}

static void set_metric_of_norm(void) {
  for (int j = 0; j < reference.n; j++)
    M[j][j] =
        k.setting.norm == CP_NORM_L2 ? 1.0L : (long double)entries(k.ewt)[j] * entries(k.ewt)[j];
}

/* M <- the inverse of the operator's D */
static void set_metric_of_operator(void) {
  for (int b = 0; b < reference.n; b++) {
    long double A[MAX_STATES][MAX_STATES], x[MAX_STATES] = {0.0L};
    for (int i = 0; i < reference.n; i++)
      for (int j = 0; j < reference.n; j++) A[i][j] = fixture_metric(OPERATOR, i, j);
    x[b] = 1.0L;
    solve_dense(reference.n, A, x);
    for (int i = 0; i < reference.n; i++) M[i][b] = x[i];
  }
}

static void set_metric(void) {
  int held[MAX_STATES];
  memset(M, 0, sizeof M);
  for (int j = 0; j < reference.n; j++) held[j] = is_held(j);
  if (k.setting.metric == OF_NORM) set_metric_of_norm();
  else if (k.setting.metric == OPERATOR) set_metric_of_operator();
  else
    for (int i = 0; i < reference.n; i++)
      for (int j = 0; j < reference.n; j++) M[i][j] = fixture_metric(k.setting.metric, i, j);
  matrix_metric(&reference, 1, M, held, &D);
}

static int only_norms(void) { return problem->mf->m == problem->mf->nnorms; }

static Equations equations_of_problem(void) {
  static const sunrealtype factors[3] = {1.0, 1.0e3, -1.0e-4};
  static sunrealtype scale[3 * MAX_ROWS];
  Equations eq = equations_of(problem->mf);
  eq.copies    = problem->copies;
  eq.scale     = scale;
  for (int i = 0; i < equations_rows(&eq); i++)
    scale[i] = factors[i * eq.copies / equations_rows(&eq)];
  return eq;
}

static void open_case(Setting setting) {
  case_open(&k, equations_of_problem(), setting);
  if (!only_norms()) case_set_levels(&k, levels);
  if (problem->held) case_hold(&k, problem->held);
  if (problem->off) case_switch_off(&k, problem->off);
  set_reference();
  set_metric();
}

static int without_matrix(void) { return k.setting.storage >= PRODUCTS; }

/* Does the solver support the combination? */
static int applies(Setting setting) {
  if (problem->copies > 1 && !solver->dependent) return 0;
  if (levels && problem->mf->nlevels == 1) return 0;
  if (setting.storage < PRODUCTS && setting.metric == OPERATOR) return 0;
  if (setting.storage < PRODUCTS)
    return !only_norms() || (setting.user_jac && setting.storage == DENSE);
  if (problem->mf->nnorms > 0) return 0;
  return setting.metric == OF_NORM || (setting.metric == OPERATOR && !levels && !problem->held);
}

typedef void (*Check)(void);

/* The combination number `index` of solver, form of G and metric in table[]; returns 0 if there are
 * fewer. setting: out; sets solver. */
static int find_setting(int index, Setting *setting) {
  for (int r = 0; r < N_TABLE; r++)
    for (int d = 0; d < N_METRICS; d++)
      for (int g = 0; g < N_GRADIENTS; g++) {
        solver = &table[r];
        if (!(solver->gradients >> g & 1) || index-- > 0) continue;
        *setting = (Setting){solver->type, metrics[d].norm, gradients[g].user_jac,
                             gradients[g].storage, metrics[d].metric};
        return 1;
      }
  return 0;
}

/* One of them, with all problems, with and without levels. */
static void check_setting(int index, Check check) {
  Setting setting;
  ck_assert(find_setting(index, &setting));
  for (int p = 0; p < N_PROBLEMS; p++)
    for (levels = 0; levels < 2; levels++) {
      problem = &problems[p];
      if (!applies(setting)) continue;
      open_case(setting);
      check();
      case_close(&k);
    }
}

/* ---------------------------------------------------------------------------------- sensitivity -- */

typedef long double Gradients[MAX_ROWS][MAX_STATES];

static void evaluate(N_Vector y, long double *c, Gradients G) {
  long double z[MAX_STATES];
  memset(c, 0, MAX_ROWS * sizeof *c);
  memset(G, 0, sizeof(Gradients));
  for (int j = 0; j < reference.n; j++) z[j] = entries(y)[j];
  reference.eval((long double)k.t, z, c, G);
}

static int in_level(int i, int l) { return reference.row_level[i] == l; }

/* size_i over the free components of the row's level */
static long double row_size(Gradients G, int i) {
  long double sum = 0.0L;
  for (int j = 0; j < reference.n; j++)
    if (reference.col_level[j] == reference.row_level[i] && !is_held(j)) {
      const long double g = G[i][j] / entries(k.ewt)[j];
      sum += g * g;
    }
  return sqrtl(sum);
}

/* x <- D_l G' S^-1 r of one level, r on its rows; mu <- S^-1 r */
static void level_right_inverse(Gradients G, int l, const long double *r, long double *mu,
                                long double *x) {
  long double S[MAX_STATES][MAX_STATES], b[MAX_ROWS], DG[MAX_ROWS][MAX_STATES];
  int row[MAX_ROWS], m = 0;
  for (int i = 0; i < reference.m; i++)
    if (in_level(i, l)) row[m++] = i;
  for (int a = 0; a < m; a++)
    for (int j = 0; j < reference.n; j++) {
      DG[a][j] = 0.0L;
      for (int q = 0; q < reference.n; q++) DG[a][j] += D.D[l][j][q] * G[row[a]][q];
    }
  for (int a = 0; a < m; a++) {
    b[a] = r[row[a]];
    for (int c = 0; c < m; c++) {
      S[a][c] = 0.0L;
      for (int j = 0; j < reference.n; j++) S[a][c] += G[row[a]][j] * DG[c][j];
    }
  }
  solve_dense(m, S, b);
  memset(mu, 0, MAX_ROWS * sizeof *mu);
  memset(x, 0, MAX_STATES * sizeof *x);
  for (int a = 0; a < m; a++) {
    mu[row[a]] = b[a];
    for (int j = 0; j < reference.n; j++) x[j] += DG[a][j] * b[a];
  }
}

static void times(Gradients G, const long double *x, long double *r) {
  for (int i = 0; i < reference.m; i++) {
    r[i] = 0.0L;
    for (int j = 0; j < reference.n; j++) r[i] += G[i][j] * x[j];
  }
}

/* x <- K r and mu <- the multipliers of all levels */
static void right_inverse(Gradients G, const long double *r, long double *mu, long double *x) {
  memset(x, 0, MAX_STATES * sizeof *x);
  memset(mu, 0, MAX_ROWS * sizeof *mu);
  for (int l = 0; l < reference.nlevels; l++) {
    long double rest[MAX_ROWS], step[MAX_STATES], mul[MAX_ROWS];
    times(G, x, rest);
    for (int i = 0; i < reference.m; i++) rest[i] = r[i] - rest[i];
    level_right_inverse(G, l, rest, mul, step);
    for (int j = 0; j < reference.n; j++) x[j] += step[j];
    for (int i = 0; i < reference.m; i++) mu[i] += mul[i];
  }
}

typedef struct {
  sunrealtype kappa;
  /* Largest weighted error of P v and of (P' w) / W, for |W v| <= 1 and |w / W| <= 1 */
  sunrealtype roundoff;  /* due to rounding, and to the residuals that conjugate gradients leave */
  sunrealtype quotients; /* in addition, due to difference quotients */
} Sensitivity;

/* The residual that conjugate gradients leave, in the rows' units, relative to the initial one
 * (they measure by sizes that are estimates without the diagonal: at most twice the right ones). */
static const sunrealtype cg_residual = 2.0e-10;

/* A difference quotient's error: c is rounded to 1e-16 (rows of copies: times their scale), and increments
 * of states near zero are 1.5e-10 (as in tangent.c). */
static const sunrealtype quotient_error = 1.0e-6;

/* First-order perturbation theory of x = D G' mu, S mu = r, S = G D G', r = G v. A perturbation E of G and one
 * of S change P v by at most
 *
 *   |K E v| + |P D E' mu| + |K dS mu|.
 *
 * Rounding: |E| <= a u |G| and |dS| <= a u |G| D |G'| with a = 3 n + 3 m + 10, the operations of
 * products, factorisation and solves one after another. Each gain below is the largest weighted row sum
 * for |W v| <= 1, where |G v| <= sqrt(n) size. Difference quotients: |E_ij| <= quotient_error where G
 * has an entry. P' by the same operations, transposed: a row sum of its error is at most n
 * times the largest entry of the other. */
static Sensitivity sensitivity(N_Vector y) {
  long double c[MAX_ROWS], x[MAX_STATES], mu[MAX_ROWS], size[MAX_ROWS], gain[MAX_STATES] = {0.0L};
  long double byRows[MAX_STATES] = {0.0L}, largest[MAX_ROWS] = {0.0L};
  Gradients G;
  const sunrealtype *W = entries(k.ewt);
  const int n = reference.n, m = reference.m;
  evaluate(y, c, G);
  for (int i = 0; i < m; i++) size[i] = is_off(i) ? 0.0L : row_size(G, i);

  for (int i = 0; i < m; i++) { /* residual size_i of row i alone */
    long double r[MAX_ROWS] = {0.0L}, reach = 0.0L, of_entries = 0.0L;
    r[i] = size[i];
    right_inverse(G, r, mu, x);
    for (int q = 0; q < m; q++) largest[q] += fabsl(mu[q]);
    for (int j = 0; j < n; j++) {
      gain[j] += W[j] * fabsl(x[j]);
      reach = fmaxl(reach, W[j] * fabsl(x[j]));
      if (G[i][j] != 0.0L) of_entries += 1.0L / W[j];
    }
    for (int j = 0; j < n && size[i] > 0.0L; j++)
      byRows[j] += W[j] * fabsl(x[j]) * of_entries / size[i];
  }
  long double kappa = 0.0L, entry = 0.0L, K_dS_mu = 0.0L, P_D_E_mu = 0.0L, P_D_Q_mu = 0.0L;
  for (int j = 0; j < n; j++) {
    kappa = fmaxl(kappa, gain[j]);
    entry = fmaxl(entry, byRows[j]);
  }
  const long double rn = sqrtl((long double)n), of_P = 1.0L + rn * kappa;
  for (int l = 0; l < reference.nlevels; l++)
    for (int j = 0; j < n; j++) {
      long double rounded = 0.0L, quotient = 0.0L;
      for (int i = 0; i < m; i++)
        for (int q = 0; in_level(i, l) && q < n; q++) {
          rounded += fabsl(D.D[l][j][q] * G[i][q]) * rn * largest[i];
          if (G[i][q] != 0.0L) quotient += fabsl(D.D[l][j][q]) * rn * largest[i];
        }
      P_D_E_mu = fmaxl(P_D_E_mu, W[j] * rounded);
      P_D_Q_mu = fmaxl(P_D_Q_mu, W[j] * quotient);
    }
  K_dS_mu = rn * kappa * P_D_E_mu; /* |K| |G| (D |G'| |mu|) */

  const sunrealtype a = 3.0 * n + 3.0 * m + 10.0;
  Sensitivity s       = {.kappa = (sunrealtype)kappa};
  s.roundoff = a * DBL_EPSILON / 2.0 * (sunrealtype)(rn * kappa * of_P + of_P * P_D_E_mu + K_dS_mu);
  s.quotients = quotient_error * (sunrealtype)(of_P * (entry + P_D_Q_mu));
  if (without_matrix()) s.roundoff += cg_residual * (sunrealtype)(of_P * rn * kappa);
  if (k.setting.user_jac || only_norms()) s.quotients = 0.0;
  return s;
}

/* ------------------------------------------------------------------------------------- measures -- */

/* max_j W_j |a_j - b_j| */
static sunrealtype weighted_distance(N_Vector a, N_Vector b) {
  sunrealtype d = 0.0;
  for (int j = 0; j < reference.n; j++)
    d = fmax(d, entries(k.ewt)[j] * fabs(entries(a)[j] - entries(b)[j]));
  return d;
}

/* max_j |a_j - b_j| / W_j */
static sunrealtype gradient_distance(N_Vector a, N_Vector b) {
  sunrealtype d = 0.0;
  for (int j = 0; j < reference.n; j++)
    d = fmax(d, fabs(entries(a)[j] - entries(b)[j]) / entries(k.ewt)[j]);
  return d;
}

static N_Vector random_vector(unsigned long long seed) {
  N_Vector v = vector_copy(k.y);
  random_fill(v, &seed);
  N_VDiv(v, k.ewt, v);
  return v;
}

static N_Vector random_gradient(unsigned long long seed) {
  N_Vector w = vector_copy(k.y);
  random_fill(w, &seed);
  N_VProd(w, k.ewt, w);
  return w;
}

static void project(void) { ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt)); }

static void tangent(N_Vector v) {
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
}

static void cotangent(N_Vector w) {
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, w));
}

/* Violations in units of eps: KRYLOV without the diagonal measures by sizes that are at most twice
 * the right ones; those of G 1e-4 away differ by less than 1 %. */
static sunrealtype violation_bound(void) {
  return (k.setting.storage == PRODUCTS ? 2.0 : 1.0) * 1.01 * k.eps;
}

/* ----------------------------------------------------------------------------------- properties -- */

/* In units of the tolerances, by exact arithmetic; held components keep every bit. */
static void check_on_manifold(void) {
  long double c[MAX_ROWS];
  Gradients G;
  case_perturb(&k, h, 1);
  N_Vector start = vector_copy(k.y);
  project();
  evaluate(k.y, c, G);
  for (int i = 0; i < reference.m; i++)
    if (!is_off(i))
      ck_assert_bound(&k, (sunrealtype)(fabsl(c[i]) / row_size(G, i)), violation_bound());
  for (int j = 0; j < reference.n; j++)
    if (is_held(j)) ck_assert_mem_eq(&entries(k.y)[j], &entries(start)[j], sizeof(sunrealtype));
  N_VDestroy(start);
}

/* The second projection can move the state only by what the first one leaves; 2 allows for the G of
 * the first one, from 1e-4 away. */
static void check_idempotence(void) {
  case_perturb(&k, h, 2);
  const sunrealtype kappa = sensitivity(k.y).kappa;
  project();
  N_Vector once = vector_copy(k.y);
  project();
  ck_assert_bound(&k, weighted_distance(k.y, once), 2.0 * kappa * violation_bound());
  N_VDestroy(once);
}

/* x <- x - (its part in range(D_l G_l')), level by level without the coupling terms. */
static void remove_range(N_Vector y, long double *x) {
  long double c[MAX_ROWS], r[MAX_ROWS], mu[MAX_ROWS], step[MAX_STATES], part[MAX_STATES];
  Gradients G;
  evaluate(y, c, G);
  for (int l = 0; l < reference.nlevels; l++) {
    for (int j = 0; j < reference.n; j++) part[j] = reference.col_level[j] == l ? x[j] : 0.0L;
    times(G, part, r);
    level_right_inverse(G, l, r, mu, step);
    for (int j = 0; j < reference.n; j++) x[j] -= step[j];
  }
}

/* The correction of simplified Newton is in range(D G') with G at the start; in closed form with
 * that at the end. y itself is rounded in each of at most 10 corrections. */
static void check_range(void) {
  case_perturb(&k, h, 3);
  N_Vector start = vector_copy(k.y);
  project();
  long double x[MAX_STATES];
  sunrealtype size = 0.0, outside = 0.0, rounded = 0.0;
  for (int j = 0; j < reference.n; j++) {
    const sunrealtype w = entries(k.ewt)[j];
    x[j]                = (long double)entries(k.y)[j] - entries(start)[j];
    size                = fmax(size, w * fabs((sunrealtype)x[j]));
    rounded             = fmax(rounded, 10.0 * DBL_EPSILON / 2.0 * w * fabs(entries(k.y)[j]));
  }
  ck_assert_double_gt(size, 0.1); /* there was something to correct */
  const Sensitivity s = sensitivity(start);
  remove_range(start, x);
  for (int j = 0; j < reference.n; j++)
    outside = fmax(outside, entries(k.ewt)[j] * fabs((sunrealtype)x[j]));
  const sunrealtype of_P = 1.0 + sqrt(reference.n) * s.kappa;
  ck_assert_bound(&k, outside, (s.roundoff + s.quotients) * size + of_P * rounded);
  N_VDestroy(start);
}

/* P P = P; G P v = 0 */
static void check_projector(void) {
  N_Vector v           = random_vector(4);
  const Sensitivity s  = sensitivity(k.y);
  const sunrealtype of = 1.0 + sqrt(reference.n) * s.kappa; /* |P v| in terms of |v| */
  tangent(v);
  N_Vector once = vector_copy(v);
  tangent(v);
  ck_assert_bound(&k, weighted_distance(v, once), 2.0 * of * s.roundoff);

  long double c[MAX_ROWS], x[MAX_STATES] = {0.0L}, r[MAX_ROWS];
  Gradients G;
  evaluate(k.y, c, G);
  for (int j = 0; j < reference.n; j++) x[j] = entries(once)[j];
  times(G, x, r);
  for (int i = 0; i < reference.m; i++) {
    long double size = 0.0L; /* |G v| <= size for |W v| <= 1 */
    for (int j = 0; j < reference.n; j++) size += fabsl(G[i][j]) / entries(k.ewt)[j];
    if (!is_off(i))
      ck_assert_bound(&k, (sunrealtype)(fabsl(r[i]) / size), s.roundoff + s.quotients);
  }
  for (int j = 0; j < reference.n; j++)
    if (is_held(j)) ck_assert_double_eq(entries(once)[j], entries(v)[j]);
  N_VDestroy(v);
  N_VDestroy(once);
}

/* (v, P w) = (P v, w) in the metric, for vectors that move no held component. */
static void check_symmetry(void) {
  if (levels) return; /* positions first: the projection is not orthogonal */
  N_Vector v = random_vector(5), w = random_vector(6);
  for (int j = 0; j < reference.n; j++)
    if (is_held(j)) entries(v)[j] = entries(w)[j] = 0.0;
  N_Vector Pv = vector_copy(v), Pw = vector_copy(w);
  tangent(Pv);
  tangent(Pw);
  long double difference = 0.0L, size = 0.0L;
  for (int i = 0; i < reference.n; i++)
    for (int j = 0; j < reference.n; j++) {
      difference += M[i][j] * ((long double)entries(v)[i] * entries(Pw)[j] -
                               (long double)entries(Pv)[i] * entries(w)[j]);
      size += fabsl(M[i][j]) / (entries(k.ewt)[i] * entries(k.ewt)[j]);
    }
  ck_assert_bound(&k, (sunrealtype)(fabsl(difference) / size), 2.0 * sensitivity(k.y).roundoff);
  N_Vector const all[] = {v, w, Pv, Pw};
  for (int i = 0; i < 4; i++) N_VDestroy(all[i]);
}

/* w'(P v) = (P'w)'v: n terms of size 1 */
static void check_transpose(void) {
  N_Vector v = random_vector(7), w = random_gradient(8);
  N_Vector Pv = vector_copy(v), Ptw = vector_copy(w);
  tangent(Pv);
  cotangent(Ptw);
  const int n = reference.n;
  ck_assert_bound(&k, fabs(dot(w, Pv) - dot(Ptw, v)), (n + n * n) * sensitivity(k.y).roundoff);
  N_Vector const all[] = {v, w, Pv, Ptw};
  for (int i = 0; i < 4; i++) N_VDestroy(all[i]);
}

static void check_dense_reference(void) {
  N_Vector v = random_vector(9), w = random_gradient(10);
  N_Vector Pv = vector_copy(v), Ptw = vector_copy(w);
  reference_tangent_in(&reference, 1, &D, k.y, Pv);
  reference_cotangent_in(&reference, 1, &D, k.y, Ptw);
  tangent(v);
  cotangent(w);
  const Sensitivity s     = sensitivity(k.y);
  const sunrealtype bound = s.roundoff + s.quotients;
  ck_assert_bound(&k, weighted_distance(v, Pv), bound);
  ck_assert_bound(&k, gradient_distance(w, Ptw), reference.n * bound);
  N_Vector const all[] = {v, w, Pv, Ptw};
  for (int i = 0; i < 4; i++) N_VDestroy(all[i]);
}

/* The distance between projection and nearest point, for a state far off the manifold. *accuracy:
 * that of the projection itself: eps, and corrections with an inexact G. */
static sunrealtype error_from(sunrealtype far, sunrealtype *accuracy) {
  const Setting setting = k.setting;
  case_close(&k);
  open_case(setting); /* no factors of another state */
  case_perturb(&k, far, 11);
  N_Vector start = vector_copy(k.y), nearest = vector_copy(k.y);
  const Sensitivity s = sensitivity(k.y);
  reference_project_in(&reference, 1, &D, nearest);
  project();
  const sunrealtype error = weighted_distance(k.y, nearest);
  *accuracy = 2.0 * s.kappa * violation_bound() + s.quotients * weighted_distance(k.y, start);
  N_VDestroy(start);
  N_VDestroy(nearest);
  return error;
}

/* It differs by O(distance^2): ten times nearer, a hundred times smaller; 50 leaves room for third order. */
static void check_nearest(void) {
  sunrealtype accuracy;
  const sunrealtype far = error_from(1.0e-3, &accuracy), near = error_from(1.0e-4, &accuracy);
  ck_assert_bound(&k, near, far / 50.0 + accuracy);
}

/* ---- reported quantities ---- */

/* A sparse metric that couples more than 16 components is factored with the constraints, also
 * where the sparse solver is asked for. */
static int metric_is_the_solvers(void) {
  return reference.n > 16 && k.setting.metric == MATRIX_CSC && !without_matrix() &&
         (solver->type == CP_LINSOL_AUTO || solver->type == CP_LINSOL_SPARSE);
}

static void check_solver_in_use(void) {
  CPLinSol type      = CP_LINSOL_AUTO;
  const char *reason = NULL;
  ck_assert_success(&k, CPProjectorGetLinearSolver(k.P, &type, &reason));
  ck_assert_int_eq(case_stats(&k).linsol, type);
  ck_assert(reason && *reason);
  if (metric_is_the_solvers()) {
    ck_assert_int_eq(type, CP_LINSOL_KKT);
  } else if (solver->type != CP_LINSOL_AUTO) {
    ck_assert_int_eq(type, solver->type);
  } else if (without_matrix()) {
    ck_assert_int_eq(type, CP_LINSOL_PRODUCTS);
  } else {
    ck_assert_int_ne(type, CP_LINSOL_AUTO);
    ck_assert_int_ne(type, CP_LINSOL_PRODUCTS);
  }
}

/* One of each row's copies is independent. */
static void check_dependent_rows(const int *dependent) {
  const int rows = problem->mf->m - problem->mf->nnorms;
  for (int i = 0; i < rows; i++) {
    int marked = 0;
    for (int c = 0; c < problem->copies; c++) marked += dependent[i + c * rows];
    ck_assert_int_eq(marked, is_off(i) ? 0 : problem->copies - 1);
  }
}

static void check_bookkeeping(void) {
  sunindextype rank = -7;
  int marks[3 * MAX_ROWS], *dependent = equations_rows(&k.eq) > 0 ? marks : NULL;
  case_perturb(&k, h, 12);
  project();
  check_solver_in_use();
  if (without_matrix()) {
    ck_assert_int_eq(CPProjectorGetRank(k.P, &rank, dependent), CP_NOT_SUPPORTED);
  } else {
    int active = 0;
    for (int i = 0; i < reference.m; i++) active += !is_off(i);
    ck_assert_success(&k, CPProjectorGetRank(k.P, &rank, dependent));
    ck_assert_int_eq(rank, active);
    if (dependent) check_dependent_rows(dependent);
  }
}

/* --------------------------------------------------------------------------------------- tests -- */

#define PROPERTY(name, check)                    \
  START_TEST(name) { check_setting(_i, check); } \
  END_TEST

PROPERTY(projected_states_violate_nothing_by_more_than_eps, check_on_manifold)
PROPERTY(projecting_twice_moves_nothing_beyond_eps, check_idempotence)
PROPERTY(the_correction_lies_in_the_range_of_D_Gt, check_range)
PROPERTY(P_is_a_projector_onto_the_tangent_space, check_projector)
PROPERTY(P_is_symmetric_in_the_metric_when_there_is_one_level, check_symmetry)
PROPERTY(the_cotangent_projection_is_the_transpose_of_the_tangent_projection, check_transpose)
PROPERTY(P_and_its_transpose_are_those_of_the_dense_reference, check_dense_reference)
PROPERTY(the_projection_is_the_nearest_point_to_first_order, check_nearest)
PROPERTY(solver_rank_and_dependent_rows_are_told, check_bookkeeping)

TEST_SUITE(properties) {
  Setting setting;
  int settings_in_table = 0;
  while (find_setting(settings_in_table, &setting)) settings_in_table++;
  Suite *suite = suite_create("properties");
  TCase *tc    = tcase_create("properties");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_set_timeout(tc, 20.0);
  tcase_add_loop_test(tc, projected_states_violate_nothing_by_more_than_eps, 0, settings_in_table);
  tcase_add_loop_test(tc, projecting_twice_moves_nothing_beyond_eps, 0, settings_in_table);
  tcase_add_loop_test(tc, the_correction_lies_in_the_range_of_D_Gt, 0, settings_in_table);
  tcase_add_loop_test(tc, P_is_a_projector_onto_the_tangent_space, 0, settings_in_table);
  tcase_add_loop_test(tc, P_is_symmetric_in_the_metric_when_there_is_one_level, 0,
                      settings_in_table);
  tcase_add_loop_test(tc, the_cotangent_projection_is_the_transpose_of_the_tangent_projection, 0,
                      settings_in_table);
  tcase_add_loop_test(tc, P_and_its_transpose_are_those_of_the_dense_reference, 0,
                      settings_in_table);
  tcase_add_loop_test(tc, the_projection_is_the_nearest_point_to_first_order, 0, settings_in_table);
  tcase_add_loop_test(tc, solver_rank_and_dependent_rows_are_told, 0, settings_in_table);
  suite_add_tcase(suite, tc);
  return suite;
}
