/* The solvers of saddle-point systems against LAPACK's least squares. */
#include "saddle/fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support/alloc.h"
#include "support/support.h"

/* name, n, independent, combined, doubled, zero, mass, density, spread */
static const KktCase cases[] = {
    {"one coordinate, one row", 1, 1, 0, 0, 0, MASS_FULL, 1.0, 0.0},
    {"no rows", 7, 0, 0, 0, 0, MASS_FULL, 1.0, 0.0},
    {"no rows, diagonal", 40, 0, 0, 0, 0, MASS_DIAGONAL, 1.0, 0.0},
    {"full", 10, 4, 0, 0, 0, MASS_FULL, 1.0, 0.0},
    {"full, large", 60, 35, 0, 0, 0, MASS_FULL, 1.0, 0.0},
    {"as many rows as coordinates", 40, 40, 0, 0, 0, MASS_FULL, 0.3, 0.0},
    {"sparse rows, diagonal mass", 60, 35, 0, 0, 0, MASS_DIAGONAL, 0.05, 0.0},
    {"sparse rows, blocks", 60, 20, 0, 0, 0, MASS_BLOCKS, 0.05, 0.0},
    {"rows of many lengths", 30, 12, 0, 0, 0, MASS_BLOCKS, 0.3, 3.0},
    {"a doubled row", 6, 2, 0, 1, 0, MASS_FULL, 1.0, 0.0},
    {"a row of zeros", 6, 2, 0, 0, 1, MASS_FULL, 1.0, 0.0},
    {"dependent rows", 12, 5, 2, 2, 0, MASS_BLOCKS, 1.0, 0.0},
    {"many dependent rows", 60, 15, 12, 10, 2, MASS_FULL, 0.1, 0.0},
    {"more rows than coordinates", 10, 8, 9, 5, 0, MASS_DIAGONAL, 0.5, 0.0},
    {"as many independent rows as coordinates", 9, 9, 4, 3, 1, MASS_FULL, 0.5, 0.0},
    {"dependent rows of many lengths", 30, 10, 5, 5, 1, MASS_DIAGONAL, 0.2, 1.0},
    {"barely definite", 12, 4, 0, 0, 0, MASS_BARELY_DEFINITE, 1.0, 0.0},
    {"barely definite, no rows", 5, 0, 0, 0, 0, MASS_BARELY_DEFINITE, 1.0, 0.0},
    {"barely definite, large", 60, 20, 3, 0, 0, MASS_BARELY_DEFINITE, 0.3, 0.0},
    {"a massless coordinate", 20, 6, 0, 0, 0, MASS_MASSLESS, 0.3, 0.0},
    {"a massless coordinate, dependent rows", 20, 6, 3, 2, 0, MASS_MASSLESS, 0.3, 0.0},
    {"singular mass", 20, 8, 0, 0, 0, MASS_SINGULAR, 0.5, 0.0},
    {"singular mass, large", 60, 20, 3, 3, 0, MASS_SINGULAR, 0.5, 0.0},
    {"indefinite mass", 20, 8, 0, 0, 0, MASS_INDEFINITE, 0.5, 0.0},
    {"indefinite mass, large", 60, 20, 0, 0, 0, MASS_INDEFINITE, 0.2, 0.0},
    {"indefinite mass, dependent rows", 60, 20, 3, 2, 1, MASS_INDEFINITE, 0.2, 0.0}};

/* AUTO, for dense and for sparse matrices. */
typedef struct {
  CPLinSol type;
  int sparse;
} Solver;

static const Solver solvers[] = {{CP_LINSOL_SCHUR, 0},  {CP_LINSOL_SCHUR, 1}, {CP_LINSOL_QR, 0},
                                 {CP_LINSOL_QR, 1},     {CP_LINSOL_KKT, 0},   {CP_LINSOL_KKT, 1},
                                 {CP_LINSOL_SPARSE, 1}, {CP_LINSOL_AUTO, 0},  {CP_LINSOL_AUTO, 1}};
enum { N_CASES = sizeof cases / sizeof cases[0], N_SOLVERS = 9, N_PAIRS = N_CASES * N_SOLVERS };

/* Those that form A M^-1 A^T need a definite M and independent rows. */
static int is_schur(CPLinSol type) { return type == CP_LINSOL_SCHUR || type == CP_LINSOL_SPARSE; }

static KktProblem p;
static CPSaddle saddle;
static double a[KKT_N], lambda[KKT_M], ra[KKT_N], rlambda[KKT_M];
static double condition;

static const CPMat *W, *A;
static const char *off = p.off;

static int create(CPLinSol type, const CPMat *M, const CPMat *rows) {
  W = M, A = rows, off = p.off;
  return cpSaddleCreate(&saddle,
                        (CPSaddleOptions){.type = type, .shortest = 1, .finest = CP_ROUNDED}, W, A);
}

static int factor(void) {
  cpSaddleUseRows(saddle, off);
  return cpSaddleFactor(saddle, (CPWeight){.matrix = W}, A, 0.0);
}

static void open_solver(const Solver *s) {
  ck_assert_int_eq(create(s->type, s->sparse ? &p.Ms : &p.Md, s->sparse ? &p.As : &p.Ad),
                   CP_SUCCESS);
}

static void open_pair(int pair) {
  kkt_make(&p, &cases[pair / N_SOLVERS], 1);
  open_solver(&solvers[pair % N_SOLVERS]);
}

static void close_pair(void) {
  cpSaddleFree(&saddle);
  ck_assert_ptr_null(saddle);
  kkt_free(&p);
}

/* The expected code of this solver for this problem. */
static int expected(const Solver *s, const KktCase *c) {
  if (!is_schur(s->type)) return 0;
  if (c->mass >= MASS_MASSLESS && c->mass != MASS_BARELY_DEFINITE) return CP_SADDLE_NOT_DEFINITE;
  return c->combined + c->doubled + c->zero > 0 ? CP_SADDLE_DEPENDENT : 0;
}

/* Backward errors of order u, of vectors and matrices of the order's length, times the condition
 * that the reference has measured; the Schur complement squares it. */
static double bound(void) {
  const double kappa = is_schur(cpSaddleTypeOf(saddle)) ? condition * condition : condition;
  return (p.n + p.m) * kappa * DBL_EPSILON;
}

static void check_solution(void) {
  condition = kkt_reference(&p, ra, rlambda);
  memset(a, 0xff, sizeof a); /* NaN */
  memset(lambda, 0xff, sizeof lambda);
  ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
  const double size = kkt_norm(ra, p.n) + kkt_norm(rlambda, p.m);
  ck_assert_double_le(kkt_distance(a, ra, p.n), bound() * size);
  ck_assert_double_le(kkt_distance(a, p.a0, p.n), bound() * size);
  ck_assert_double_le(kkt_distance(lambda, rlambda, p.m), bound() * size);
}

START_TEST(solutions_are_those_of_least_squares) {
  open_pair(_i);
  const int flag = factor();
  ck_assert_int_eq(flag, expected(&solvers[_i % N_SOLVERS], &cases[_i / N_SOLVERS]));
  if (!flag) check_solution();
  close_pair();
}
END_TEST

/* Norms of M and A, for bounds. */
static double frobenius(const double *B, int entries) { return kkt_norm(B, entries); }

/* |M a + A' lambda - f| and |A a - b| against u times the sizes of the terms and the order, times
 * 10 for the factors' own roundoff. The Schur complement has the additional terms A M^-1 A' lambda
 * and A M^-1 f, with |M^-1| <= 2. */
START_TEST(residuals_are_roundoff) {
  static double r[KKT_N], s[KKT_M];
  open_pair(_i);
  if (factor() == 0) {
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    const double u      = 10.0 * (p.n + p.m) * DBL_EPSILON;
    const double size_W = frobenius(p.M, p.n * p.n), size_A = frobenius(p.A, p.n * p.m);
    const double force =
        size_W * kkt_norm(a, p.n) + size_A * kkt_norm(lambda, p.m) + kkt_norm(p.f, p.n);
    const double moving = size_A * kkt_norm(a, p.n) + kkt_norm(p.b, p.m);
    const double schur  = is_schur(cpSaddleTypeOf(saddle)) ? 2.0 * size_A * force : 0.0;
    memcpy(r, p.f, sizeof r);
    memcpy(s, p.b, sizeof s);
    cpMatTimes(&p.Md, -1.0, a, 1.0, r);
    cpMatTimes(&p.Ad, -1.0, a, 1.0, s);
    for (int j = 0; j < p.n; j++)
      for (int i = 0; i < p.m; i++) r[j] -= p.A[i + j * p.m] * lambda[i];
    ck_assert_double_le(kkt_norm(r, p.n), u * force);
    ck_assert_double_le(kkt_norm(s, p.m), u * (moving + schur));
  }
  close_pair();
}
END_TEST

/* As many rows as the rank are kept, and they are independent. */
START_TEST(rank_and_dependent_rows_fit_to_each_other) {
  char kept[KKT_M];
  int count = 0;
  open_pair(_i);
  if (factor() == 0) {
    ck_assert_int_eq(saddle->rank, p.rank);
    for (int i = 0; i < p.m; i++) count += kept[i] = !saddle->is_dependent[i];
    ck_assert_int_eq(count, p.rank);
    if (p.m > 0) ck_assert_int_eq(kkt_rank(&p, kept), p.rank);
    if (p.rank == p.m) ck_assert_int_eq(saddle->dependent, -1);
    else ck_assert(saddle->is_dependent[saddle->dependent]);
  }
  close_pair();
}
END_TEST

/* Off the manifold, accelerations depend on which row of several is left out. */
START_TEST(roundoff_does_not_choose_between_rows) {
  static char left_out[KKT_M];
  unsigned long long state = 7;
  open_pair(_i);
  for (int k = 0; k < 20 && !factor(); k++) {
    if (k == 0) memcpy(left_out, saddle->is_dependent, (size_t)p.m);
    ck_assert(!memcmp(left_out, saddle->is_dependent, (size_t)p.m));
    for (int i = 0; i < p.m; i++) {
      const double factor_of_row = 1.0 + 1.0e-14 * random_number(&state);
      for (int j = 0; j < p.n; j++) p.A[i + j * p.m] *= factor_of_row;
    }
    kkt_refresh(&p);
  }
  close_pair();
}
END_TEST

/* b of a dependent row and of one that is off is ignored. */
START_TEST(right_hand_sides_of_rows_left_out_do_not_matter) {
  open_pair(_i);
  p.off[p.m / 2] = p.m > 1;
  kkt_refresh(&p);
  if (factor() == 0) {
    for (int i = 0; i < p.m; i++)
      if (p.off[i] || saddle->is_dependent[i]) p.b[i] = NAN;
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    kkt_refresh(&p);
    condition         = kkt_reference(&p, ra, rlambda);
    const double size = kkt_norm(ra, p.n) + kkt_norm(rlambda, p.m);
    ck_assert_double_le(kkt_distance(a, ra, p.n), bound() * size);
    ck_assert_double_le(kkt_distance(lambda, rlambda, p.m), bound() * size);
    for (int i = 0; i < p.m; i++)
      if (p.off[i]) ck_assert_double_eq(lambda[i], 0.0);
  }
  close_pair();
}
END_TEST

/* ---- M not definite where A x = 0 ---- */

static const KktCase bad_masses[] = {
    {"indefinite, no rows", 5, 0, 0, 0, 0, MASS_INDEFINITE_TANGENT, 1.0, 0.0},
    {"singular, no rows", 5, 0, 0, 0, 0, MASS_SINGULAR_TANGENT, 1.0, 0.0},
    {"indefinite", 12, 4, 0, 0, 0, MASS_INDEFINITE_TANGENT, 1.0, 0.0},
    {"indefinite, large", 60, 20, 0, 0, 0, MASS_INDEFINITE_TANGENT, 0.3, 0.0},
    {"indefinite, dependent rows", 12, 4, 2, 1, 0, MASS_INDEFINITE_TANGENT, 1.0, 0.0},
    {"barely indefinite, no rows", 5, 0, 0, 0, 0, MASS_BARELY_INDEFINITE, 1.0, 0.0},
    {"barely indefinite", 12, 4, 0, 0, 0, MASS_BARELY_INDEFINITE, 1.0, 0.0},
    {"barely indefinite, large", 60, 20, 3, 0, 0, MASS_BARELY_INDEFINITE, 0.3, 0.0},
    {"singular", 12, 4, 0, 0, 0, MASS_SINGULAR_TANGENT, 1.0, 0.0},
    {"singular, large", 60, 20, 0, 0, 0, MASS_SINGULAR_TANGENT, 0.3, 0.0},
    {"singular, dependent rows", 60, 20, 4, 4, 0, MASS_SINGULAR_TANGENT, 0.3, 0.0}};
enum { N_BAD = sizeof bad_masses / sizeof bad_masses[0] };

START_TEST(masses_that_are_not_definite_on_the_tangent_space_are_refused) {
  kkt_make(&p, &bad_masses[_i / N_SOLVERS], 1);
  open_solver(&solvers[_i % N_SOLVERS]);
  ck_assert_int_eq(factor(), CP_SADDLE_NOT_DEFINITE);
  close_pair();
}
END_TEST

/* After a refusal the object works with a better M. */
START_TEST(a_refused_mass_leaves_no_trace) {
  kkt_make(&p, &bad_masses[2], 1);
  open_solver(&solvers[_i]);
  ck_assert_int_eq(factor(), CP_SADDLE_NOT_DEFINITE);
  for (int j = 0; j < p.n; j++) p.M[j * (p.n + 1)] += 20.0;
  kkt_refresh(&p);
  ck_assert_int_eq(factor(), 0);
  check_solution();
  close_pair();
}
END_TEST

/* ---- units ---- */

/* M in other units, A in others, and one coordinate and one row in units of their own: powers of
 * two, so that nothing is rounded. a, lambda are in units in which everything was of order one. A
 * coordinate without a mass of its own is assumed to have the unit of the others. */
START_TEST(units_do_not_matter) {
  const KktCase *c  = &cases[_i / N_SOLVERS];
  const int has_own = c->mass != MASS_MASSLESS && c->mass != MASS_INDEFINITE;
  const double mass = ldexp(1.0, 60), length = ldexp(1.0, -40);
  const double own = has_own ? ldexp(1.0, 25) : 1.0;
  static double own_a[KKT_N], own_lambda[KKT_M];
  open_pair(_i);
  condition = kkt_reference(&p, ra, rlambda);
  for (int j = 0; j < p.n; j++) own_a[j] = j == p.n - 1 ? own : 1.0;
  for (int i = 0; i < p.m; i++) own_lambda[i] = length * (p.rank == p.m && i == 0 ? own : 1.0);
  for (int j = 0; j < p.n; j++) {
    for (int i = 0; i < p.n; i++) p.M[i + j * p.n] *= mass * own_a[i] * own_a[j];
    for (int i = 0; i < p.m; i++) p.A[i + j * p.m] *= own_lambda[i] * own_a[j];
    p.a0[j] /= own_a[j];
  }
  for (int i = 0; i < p.m; i++) p.lambda0[i] *= mass / own_lambda[i];
  kkt_refresh(&p);
  const int flag = factor();
  ck_assert_int_eq(flag, expected(&solvers[_i % N_SOLVERS], c));
  if (!flag) {
    ck_assert_int_eq(saddle->rank, p.rank);
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    for (int j = 0; j < p.n; j++) a[j] *= own_a[j];
    for (int i = 0; i < p.m; i++) lambda[i] *= own_lambda[i] / mass;
    const double size = kkt_norm(ra, p.n) + kkt_norm(rlambda, p.m);
    ck_assert_double_le(kkt_distance(a, ra, p.n), bound() * size);
    ck_assert_double_le(kkt_distance(lambda, rlambda, p.m), bound() * size);
  }
  close_pair();
}
END_TEST

/* Rows whose squares underflow or overflow, all rows where multipliers have minimum norm, else every other
 * row. The dense Schur complement consists of such squares, and may refuse them, as may the quick way. */
START_TEST(rows_may_have_any_length) {
  static const int exponents[] = {0, 1, -960, -560, -530, -500, 500, 560, 960};
  const Solver *s              = &solvers[_i % N_SOLVERS];
  open_pair(_i);
  condition         = kkt_reference(&p, ra, rlambda);
  const double size = kkt_norm(ra, p.n) + kkt_norm(rlambda, p.m);
  for (size_t k = 1; k < sizeof exponents / sizeof exponents[0]; k++) {
    static double own[KKT_M];
    for (int i = 0; i < p.m; i++) {
      const double more = ldexp(1.0, exponents[k] - exponents[k - 1]);
      own[i]            = p.rank == p.m && i % 2 ? 1.0 : ldexp(1.0, exponents[k]);
      for (int j = 0; own[i] != 1.0 && j < p.n; j++) p.A[i + j * p.m] *= more;
      if (own[i] != 1.0) p.lambda0[i] /= more;
    }
    kkt_refresh(&p);
    int quick = saddle->quick && saddle->quick(saddle, W->value, A->value, p.f, p.b, a, lambda);
    const int flag = quick ? 0 : factor();
    if (flag != CP_SADDLE_DEPENDENT || s->type != CP_LINSOL_SCHUR)
      ck_assert_int_eq(flag, expected(s, &cases[_i / N_SOLVERS]));
    if (flag) continue;
    cpSaddleRecordRank(saddle);
    if (!quick) ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    for (int i = 0; i < p.m; i++) lambda[i] *= own[i];
    ck_assert_double_le(kkt_distance(a, ra, p.n), bound() * size);
    ck_assert_double_le(kkt_distance(lambda, rlambda, p.m), bound() * size);
  }
  close_pair();
}
END_TEST

/* ---- one object, many states ---- */

static const KktCase plain     = {"plain", 30, 12, 0, 0, 0, MASS_BLOCKS, 0.2, 0.0};
static const KktCase full_rows = {"full rows", 30, 12, 0, 0, 0, MASS_BLOCKS, 1.0, 0.0};
static const KktCase loop      = {"loop", 30, 12, 3, 3, 0, MASS_BLOCKS, 0.2, 0.0};

static unsigned long long seed;

/* Entries change by orders of magnitude: pivots that were good no longer are. */
static void disturb(void) {
  for (int k = 0; k < p.n * p.m; k++) p.A[k] *= pow(10.0, 2.0 * random_number(&seed));
  for (int i = 0; i < p.m; i++)
    p.A[i * (p.m + 1)] *= random_number(&seed) > 0.0 ? 1.0 : 1.0e-12 * random_number(&seed);
  for (int j = 0; j < p.n; j++) {
    const double d = pow(10.0, random_number(&seed));
    for (int i = 0; i < p.n; i++) p.M[i + j * p.n] *= d, p.M[j + i * p.n] *= d;
  }
  kkt_refresh(&p);
}

START_TEST(a_sequence_of_matrices_is_solved_by_one_object) {
  kkt_make(&p, &plain, 2);
  open_solver(&solvers[_i]);
  seed = 5;
  for (int k = 0; k < 30; k++) {
    static KktProblem original;
    memcpy(original.M, p.M, sizeof p.M);
    memcpy(original.A, p.A, sizeof p.A);
    disturb();
    ck_assert_int_eq(factor(), 0);
    check_solution();
    memcpy(p.M, original.M, sizeof p.M);
    memcpy(p.A, original.A, sizeof p.A);
  }
  close_pair();
}
END_TEST

/* Coupled pairs of coordinates, and rows that hold all of them and are therefore eliminated last.
 * The masses of three pairs become dependent up to 1e-13, where pivots that were good are roundoff;
 * and back. */
START_TEST(pivots_that_were_good_are_given_up) {
  static const KktCase coupled = {"coupled", 20, 3, 0, 0, 0, MASS_DIAGONAL, 1.0, 0.0};
  if (is_schur(solvers[_i].type)) return;
  kkt_make(&p, &coupled, 1);
  for (int j = 0; j < p.n; j += 2) p.M[j * p.n + j + 1] = p.M[(j + 1) * p.n + j] = 0.3;
  for (int j = 0; j < 6; j += 2) {
    p.M[j * (p.n + 1)]   = 1.0;
    p.M[j * p.n + j + 1] = p.M[(j + 1) * p.n + j] = 0.7;
  }
  kkt_nest(&p, 0, 1);
  open_solver(&solvers[_i]);
  for (int k = 0; k < 6; k++) {
    for (int j = 1; j < 6; j += 2) p.M[j * (p.n + 1)] = k % 2 ? 0.49 * (1.0 + 1.0e-13) : 1.0;
    kkt_refresh(&p);
    ck_assert_int_eq(factor(), 0);
    check_solution();
  }
  close_pair();
}
END_TEST

/* Dependent as long as the rows on which they depend are on; in any order. */
START_TEST(rows_are_switched_off_and_on) {
  static const char *const patterns[] = {"000000000000000000", "010101010101010101",
                                         "000000000000000000", "111111111111111111",
                                         "110000000000000011", "000000000000000000"};
  if (is_schur(solvers[_i].type)) return;
  kkt_make(&p, &loop, 3);
  open_solver(&solvers[_i]);
  for (size_t k = 0; k < sizeof patterns / sizeof patterns[0]; k++) {
    char on[KKT_M];
    for (int i = 0; i < p.m; i++) p.off[i] = patterns[k][i] == '1', on[i] = !p.off[i];
    kkt_refresh(&p);
    ck_assert_int_eq(factor(), 0);
    ck_assert_int_eq(saddle->rank, kkt_rank(&p, on));
    check_solution();
  }
  off = NULL; /* no row is off */
  ck_assert_int_eq(factor(), 0);
  check_solution();
  close_pair();
}
END_TEST

/* ---- angles between rows ---- */

/* Down to 1e-4 all of them distinguish an angle from dependence, and solve: the condition is then
 * that of the reference, about 1e8. */
START_TEST(rows_at_narrow_angles_count) {
  static const double sines[] = {1.0e-1, 1.0e-2, 1.0e-3, 1.0e-4};
  for (int k = 0; k < 4; k++) {
    kkt_make(&p, &plain, 4);
    kkt_narrow(&p, sines[k]);
    open_solver(&solvers[_i]);
    ck_assert_int_eq(factor(), 0);
    ck_assert_int_eq(saddle->rank, p.m);
    check_solution();
    close_pair();
  }
}
END_TEST

/* Between 1e-7 and 1e-10 only orthogonal factors do. */
START_TEST(rows_at_angles_of_roundoff_are_dependent) {
  static const double sines[] = {1.0e-8, 1.0e-12, 0.0};
  for (int k = 0; k < 3; k++) {
    kkt_make(&p, &plain, 4);
    kkt_narrow(&p, sines[k]);
    open_solver(&solvers[_i]);
    const int flag = factor(), orthogonal = cpSaddleTypeOf(saddle) == CP_LINSOL_QR;
    ck_assert_int_eq(flag, is_schur(solvers[_i].type) ? CP_SADDLE_DEPENDENT : 0);
    ck_assert_int_eq(saddle->rank, k == 0 && orthogonal ? p.m : p.m - 1);
    close_pair();
  }
}
END_TEST

/* A row in the span of others at narrow angles has a pivot that is roundoff times large
 * coefficients. Solutions by rows at angles of 0.01, where others of the same span are further
 * apart, lose the square of that compared with the condition of the whole. */
START_TEST(dependence_hides_in_narrow_angles) {
  enum { SEEDS = 100 };
  static const KktCase shape = {"nested", 24, 8, 0, 0, 0, MASS_BLOCKS, 1.0, 0.0};
  for (unsigned long long k = 0; k < SEEDS; k++) {
    const int dependent = 1 + (int)(k % 2);
    kkt_make(&p, &shape, k);
    kkt_nest(&p, dependent, k);
    open_solver(&solvers[_i]);
    const int flag = factor();
    ck_assert_int_eq(flag, is_schur(solvers[_i].type) ? CP_SADDLE_DEPENDENT : 0);
    if (!flag) {
      ck_assert_int_eq(saddle->rank, p.rank);
      condition = kkt_reference(&p, ra, rlambda);
      ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
      const double size = kkt_norm(ra, p.n) + kkt_norm(rlambda, p.m);
      ck_assert_double_le(kkt_distance(a, p.a0, p.n), 1.0e4 * bound() * size);
      ck_assert_double_le(kkt_distance(lambda, rlambda, p.m), 1.0e4 * bound() * size);
    }
    close_pair();
  }
}
END_TEST

/* ---- the choice ---- */

START_TEST(auto_takes_sparse_matrices_sparse_and_others_dense) {
  kkt_make(&p, &plain, 1);
  for (int k = 0; k < 4; k++) {
    const int sparse_M = k & 1, sparse_A = k & 2;
    ck_assert_int_eq(create(CP_LINSOL_AUTO, sparse_M ? &p.Ms : &p.Md, sparse_A ? &p.As : &p.Ad),
                     CP_SUCCESS);
    ck_assert_int_eq(cpSaddleTypeOf(saddle), k == 3 ? CP_LINSOL_SPARSE : CP_LINSOL_SCHUR);
    ck_assert_int_eq(factor(), 0);
    check_solution();
    cpSaddleFree(&saddle);
  }
  kkt_free(&p);
}
END_TEST

/* Bodies have small blocks. */
START_TEST(auto_takes_the_sparse_schur_complement_where_blocks_of_the_mass_are_small) {
  static const Mass masses[] = {MASS_DIAGONAL, MASS_BLOCKS, MASS_FULL};
  for (int k = 0; k < 3; k++) {
    kkt_make(&p, &(KktCase){"mass", 40, 10, 0, 0, 0, masses[k], 0.2, 0.0}, 1);
    open_solver(&(Solver){CP_LINSOL_AUTO, 1});
    ck_assert_int_eq(cpSaddleTypeOf(saddle), k < 2 ? CP_LINSOL_SPARSE : CP_LINSOL_KKT);
    ck_assert_int_eq(factor(), 0);
    check_solution();
    close_pair();
  }
}
END_TEST

START_TEST(the_sparse_schur_complement_of_dense_matrices_is_refused) {
  kkt_make(&p, &plain, 1);
  for (int k = 0; k < 3; k++) {
    const CPMat *M = k & 1 ? &p.Ms : &p.Md, *rows = k & 2 ? &p.As : &p.Ad;
    ck_assert_int_eq(create(CP_LINSOL_SPARSE, M, rows), CP_ILL_INPUT);
    ck_assert_ptr_null(saddle);
  }
  kkt_free(&p);
}
END_TEST

START_TEST(the_whole_matrix_needs_a_mass) {
  kkt_make(&p, &plain, 1);
  ck_assert_int_eq(create(CP_LINSOL_KKT, NULL, &p.As), CP_ILL_INPUT);
  ck_assert_ptr_null(saddle);
  kkt_free(&p);
}
END_TEST

static const CPLinSol first_solver[]   = {CP_LINSOL_SCHUR, CP_LINSOL_SPARSE};
static const CPLinSol general_solver[] = {CP_LINSOL_QR, CP_LINSOL_KKT};

/* Row 1 of A becomes twice row 0, or again what it was. */
static void make_dependent(int dependent, const double *row) {
  for (int j = 0; j < p.n; j++) p.A[1 + j * p.m] = dependent ? 2.0 * p.A[j * p.m] : row[j];
  kkt_refresh(&p);
}

/* Another problem with the same rows: equal rows are not factored again. */
static void change_masses(void) {
  for (int j = 0; j < p.n * p.n; j++) p.M[j] *= 1.0001;
  kkt_refresh(&p);
}

START_TEST(auto_returns_to_its_first_solver_when_rows_are_independent_again) {
  static double row[KKT_N];
  kkt_make(&p, &full_rows, 1);
  for (int j = 0; j < p.n; j++) row[j] = p.A[1 + j * p.m];
  open_solver(&(Solver){CP_LINSOL_AUTO, _i});
  ck_assert_int_eq(factor(), 0);
  ck_assert_int_eq(cpSaddleTypeOf(saddle), first_solver[_i]);
  make_dependent(1, row);
  ck_assert_int_eq(factor(), 0);
  ck_assert_int_eq(cpSaddleTypeOf(saddle), general_solver[_i]);
  ck_assert_int_eq(saddle->rank, p.m - 1);
  make_dependent(0, row);
  for (int k = 0; k < 3; k++, change_masses()) {
    ck_assert_int_eq(factor(), 0);
    ck_assert_int_eq(saddle->rank, p.m);
    check_solution();
  }
  ck_assert_int_eq(cpSaddleTypeOf(saddle), first_solver[_i]);
  close_pair();
}
END_TEST

START_TEST(auto_tries_its_first_solver_once_on_rows_that_stay_dependent) {
  kkt_make(&p, &full_rows, 1);
  make_dependent(1, NULL);
  open_solver(&(Solver){CP_LINSOL_AUTO, _i});
  for (int k = 0; k < 20; k++, change_masses()) {
    ck_assert_int_eq(factor(), 0);
    ck_assert_int_eq(cpSaddleTypeOf(saddle), general_solver[_i]);
    ck_assert_int_eq(saddle->rank, p.m - 1);
    ck_assert_int_eq(saddle->patience, 1); /* there has been one refusal */
  }
  close_pair();
}
END_TEST

/* Refused at factorisations 0, 2, 6 and 14 of 20. */
START_TEST(auto_tries_its_first_solver_ever_less_often_on_masses_that_stay_indefinite) {
  kkt_make(&p, &(KktCase){"indefinite", 20, 8, 0, 0, 0, MASS_INDEFINITE, 0.5, 0.0}, 1);
  open_solver(&(Solver){CP_LINSOL_AUTO, 0});
  int refusals = 0;
  for (int k = 0; k < 20; k++, change_masses()) {
    const int patience = saddle->patience;
    ck_assert_int_eq(factor(), 0);
    check_solution();
    refusals += saddle->patience > patience;
  }
  ck_assert_int_eq(refusals, 4);
  close_pair();
}
END_TEST

/* ---- parts of the system ---- */

/* Right-hand sides that are NULL are zero, so that K b and K' f add up to the solution. A part that
 * is not requested does not change the other one. */
START_TEST(solutions_are_the_sums_of_their_parts) {
  static double x[2][KKT_N], mu[2][KKT_M], alone[KKT_N];
  open_pair(_i);
  if (factor() == 0) {
    condition = kkt_reference(&p, ra, rlambda);
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, NULL, x[0], mu[0]), 0);
    ck_assert_int_eq(cpSaddleSolve(saddle, NULL, p.b, x[1], mu[1]), 0);
    double size = 0.0;
    for (int k = 0; k < 2; k++) size += kkt_norm(x[k], p.n) + kkt_norm(mu[k], p.m);
    for (int k = 0; k < 2; k++) {
      const double *f = k ? NULL : p.f, *b = k ? p.b : NULL;
      ck_assert_int_eq(cpSaddleSolve(saddle, f, b, alone, NULL), 0);
      for (int j = 0; j < p.n; j++) ck_assert_double_eq(alone[j], x[k][j]);
      ck_assert_int_eq(cpSaddleSolve(saddle, f, b, NULL, alone), 0);
      for (int i = 0; i < p.m; i++) ck_assert_double_eq(alone[i], mu[k][i]);
    }
    for (int j = 0; j < p.n; j++) x[0][j] += x[1][j];
    for (int i = 0; i < p.m; i++) mu[0][i] += mu[1][i];
    ck_assert_double_le(kkt_distance(a, x[0], p.n), bound() * size);
    ck_assert_double_le(kkt_distance(lambda, mu[0], p.m), bound() * size);
  }
  close_pair();
}
END_TEST

/* ---- a diagonal W ---- */

static const KktCase diagonals[] = {
    {"no rows", 40, 0, 0, 0, 0, MASS_DIAGONAL, 1.0, 0.0},
    {"full", 40, 12, 0, 0, 0, MASS_DIAGONAL, 1.0, 0.0},
    {"sparse rows", 60, 35, 0, 0, 0, MASS_DIAGONAL, 0.05, 0.0},
    {"as many rows as coordinates", 40, 40, 0, 0, 0, MASS_DIAGONAL, 0.3, 0.0},
    {"more rows than coordinates", 10, 8, 9, 5, 0, MASS_DIAGONAL, 0.5, 0.0},
    {"dependent rows of many lengths", 30, 10, 5, 5, 1, MASS_DIAGONAL, 0.2, 1.0}};
static const CPLinSol by_roots[] = {CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_SPARSE, CP_LINSOL_AUTO};
enum { N_DIAGONALS = sizeof diagonals / sizeof diagonals[0], N_BY_ROOTS = 4 };

static int factor_by_roots(const double *root) {
  cpSaddleUseRows(saddle, p.off);
  return cpSaddleFactor(saddle, (CPWeight){.root = root}, &p.As, 0.0);
}

/* mu is arbitrary as long as it gives the same A' mu. */
static void check_force(void) {
  static double force[KKT_N], expected[KKT_N];
  const double size = kkt_norm(ra, p.n) + kkt_norm(rlambda, p.m);
  cpMatTransposedTimes(&p.Ad, 1.0, lambda, 0.0, force);
  cpMatTransposedTimes(&p.Ad, 1.0, rlambda, 0.0, expected);
  ck_assert_double_le(kkt_distance(a, ra, p.n), bound() * size);
  ck_assert_double_le(kkt_distance(force, expected, p.n), kkt_norm(p.A, p.n * p.m) * bound() * size);
}

START_TEST(a_diagonal_weight_is_given_by_its_roots) {
  static double root[KKT_N];
  const KktCase *c          = &diagonals[_i / N_BY_ROOTS];
  const CPLinSol type       = by_roots[_i % N_BY_ROOTS];
  const int dependent       = c->combined + c->doubled + c->zero > 0;
  const int wants_full_rank = type == CP_LINSOL_SCHUR;
  kkt_make(&p, c, 1);
  for (int j = 0; j < p.n; j++) root[j] = 1.0 / sqrt(p.M[j * (p.n + 1)]);
  ck_assert_int_eq(
      cpSaddleCreate(&saddle, (CPSaddleOptions){.type = type, .finest = CP_ROUNDED}, NULL, &p.As),
      0);
  const int flag = factor_by_roots(root);
  ck_assert_int_eq(flag, dependent && wants_full_rank ? CP_SADDLE_DEPENDENT : 0);
  if (!flag) {
    ck_assert_int_eq(saddle->rank, p.rank);
    condition = kkt_reference(&p, ra, rlambda);
    condition *= condition; /* by S, but for QR */
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    check_force();
  }
  close_pair();
}
END_TEST

/* As if those columns of A were zero. */
START_TEST(components_that_are_held_do_not_move) {
  static double root[KKT_N], held_column[KKT_M];
  kkt_make(&p, &diagonals[1], 1);
  p.a0[3] = 0.0;
  for (int i = 0; i < p.m; i++) held_column[i] = p.A[i + 3 * p.m], p.A[i + 3 * p.m] = 0.0;
  kkt_refresh(&p);
  condition = kkt_reference(&p, ra, rlambda);
  condition *= condition;
  for (int i = 0; i < p.m; i++) p.Ad.value[i + 3 * p.m] = held_column[i];
  for (int j = 0; j < p.n; j++) root[j] = j == 3 ? 0.0 : 1.0 / sqrt(p.M[j * (p.n + 1)]);
  for (int dense = 0; dense < 2; dense++) {
    const CPSaddleOptions options = {.type   = dense ? CP_LINSOL_SCHUR : by_roots[_i],
                                     .finest = CP_ROUNDED};
    const CPMat *rows             = dense ? &p.Ad : &p.As;
    ck_assert_int_eq(cpSaddleCreate(&saddle, options, NULL, rows), 0);
    cpSaddleUseRows(saddle, p.off);
    ck_assert_int_eq(cpSaddleFactor(saddle, (CPWeight){.root = root}, rows, 0.0), 0);
    p.f[3] = 5.0;
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    ck_assert_double_eq(a[3], 0.0);
    for (int i = 0; i < p.m; i++) p.Ad.value[i + 3 * p.m] = 0.0;
    check_force();
    for (int i = 0; i < p.m; i++) p.Ad.value[i + 3 * p.m] = held_column[i];
    cpSaddleFree(&saddle);
  }
  kkt_free(&p);
}
END_TEST

/* As of contacts of all pairs of bodies, in a structure that couples all coordinates; expected: what the other rows give alone. */
START_TEST(rows_that_are_off_are_not_in_the_factors) {
  enum { N = 60, ROWS = 3000, ON = 3 };
  static size_t start[N + 1], few_start[N + 1];
  static int row[N * ROWS], few_row[N * ON], diagonal[N];
  static size_t diagonal_start[N + 1];
  static double value[N * ROWS], few_value[N * ON], mass[N], f[N], b[ROWS], few_b[ON], x[N],
      few_x[N], mu[ROWS], few_mu[ON];
  static char is_off[ROWS];
  const CPSaddleOptions options = {
      .type = _i ? CP_LINSOL_KKT : CP_LINSOL_AUTO, .shortest = 1, .finest = CP_ROUNDED};
  const CPMat M = {.rows = N, .cols = N, .start = diagonal_start, .row = diagonal, .value = mass},
              many = {.rows = ROWS, .cols = N, .start = start, .row = row, .value = value},
              some = {.rows = ON, .cols = N, .start = few_start, .row = few_row, .value = few_value};
  CPSaddle few;
  seed = 1;
  for (int i = 0; i < ROWS; i++) is_off[i] = i % (ROWS / ON) != 7;
  for (int j = 0, e = 0, k = 0; j < N; j++) {
    f[j] = random_number(&seed), mass[j] = 2.0 + random_number(&seed);
    diagonal[j] = j, diagonal_start[j + 1] = (size_t)j + 1;
    for (int i = 0; i < ROWS; i++) {
      row[e] = i, value[e++] = is_off[i] ? 0.0 : random_number(&seed);
      if (!is_off[i]) few_row[k] = i / (ROWS / ON), few_value[k++] = value[e - 1];
    }
    start[j + 1] = (size_t)e, few_start[j + 1] = (size_t)k;
  }
  for (int i = 0; i < ROWS; i++) b[i] = random_number(&seed);
  for (int i = 0; i < ROWS; i++)
    if (!is_off[i]) few_b[i / (ROWS / ON)] = b[i];
  ck_assert_int_eq(cpSaddleCreate(&saddle, options, &M, &many), 0);
  ck_assert_int_eq(cpSaddleCreate(&few, options, &M, &some), 0);
  cpSaddleUseRows(saddle, is_off);
  ck_assert_int_eq(cpSaddleFactor(saddle, (CPWeight){.matrix = &M}, &many, 0.0), 0);
  ck_assert_int_eq(cpSaddleFactor(few, (CPWeight){.matrix = &M}, &some, 0.0), 0);
  ck_assert_int_eq(saddle->rank, ON);
  ck_assert_int_eq(saddle->few->m, ON);
  ck_assert_int_eq(cpSaddleSolve(saddle, f, b, x, mu), 0);
  ck_assert_int_eq(cpSaddleSolve(few, f, few_b, few_x, few_mu), 0);
  for (int j = 0; j < N; j++) ck_assert_double_eq(x[j], few_x[j]);
  for (int i = 0; i < ROWS; i++)
    ck_assert_double_eq(mu[i], is_off[i] ? 0.0 : few_mu[i / (ROWS / ON)]);
  ck_assert_int_eq(cpSaddleTypeOf(saddle), cpSaddleTypeOf(few));
  cpSaddleFree(&saddle);
  cpSaddleFree(&few);
}
END_TEST

/* ---- light coordinates ---- */

static const KktCase light_cases[] = {
    {"light coordinates", 12, 9, 0, 0, 0, MASS_DIAGONAL, 1.0, 0.0},
    {"light coordinates, sparse rows", 40, 25, 0, 0, 0, MASS_DIAGONAL, 0.1, 0.0},
    {"light coordinates, dependent rows", 12, 7, 2, 1, 0, MASS_DIAGONAL, 1.0, 0.0}};
static const double light[] = {1.0e-4, 1.0e-8, 1.0e-12};
enum { N_LIGHT = 3, N_LIGHT_CASES = 3 };

/* The first half of the coordinates is light. More rows than those have a part in them, and so angles between
 * rows are as narrow as the root of the mass in the metric of M; in another metric they are wide. Off the
 * manifold sines below 0.01 count as zero. a = a0 by construction. */
START_TEST(light_coordinates_do_not_hide_the_rank) {
  const KktCase *c  = &light_cases[_i / N_SOLVERS % N_LIGHT_CASES];
  const Solver *s   = &solvers[_i % N_SOLVERS];
  const double mass = light[_i / N_SOLVERS / N_LIGHT_CASES];
  kkt_make(&p, c, 3);
  for (int j = 0; j < p.n / 2; j++) p.M[j * (p.n + 1)] *= mass;
  kkt_refresh(&p);
  open_solver(s);
  cpSaddleUseRows(saddle, off);
  const int flag = cpSaddleFactor(saddle, (CPWeight){.matrix = W}, A, 1.0e-2);
  ck_assert_int_eq(flag, is_schur(s->type) && p.rank < p.m ? CP_SADDLE_DEPENDENT : 0);
  if (!flag) {
    ck_assert_int_eq(saddle->rank, p.rank);
    ck_assert_double_gt(fmax(saddle->sine, saddle->widest), 1.0e-2);
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, p.b, a, lambda), 0);
    ck_assert_double_le(kkt_distance(a, p.a0, p.n), 1.0e-9 * kkt_norm(p.a0, p.n));
    if (p.rank == p.m)
      ck_assert_double_le(kkt_distance(lambda, p.lambda0, p.m), 1.0e-9 * kkt_norm(p.lambda0, p.m));
    ck_assert_int_eq(cpSaddleSolve(saddle, p.f, NULL, NULL, rlambda), 0); /* a part alone */
    ck_assert_int_eq(cpSaddleSolve(saddle, NULL, p.b, ra, NULL), 0);
  }
  close_pair();
}
END_TEST

/* ---- the rank that is kept ---- */

static int factor_with(double ranktol) {
  change_masses();
  cpSaddleUseRows(saddle, off);
  return cpSaddleFactor(saddle, (CPWeight){.matrix = W}, A, ranktol);
}

START_TEST(a_rank_that_was_noted_stands) {
  static const CPLinSol types[] = {CP_LINSOL_QR, CP_LINSOL_KKT, CP_LINSOL_AUTO};
  kkt_make(&p, &plain, 4);
  kkt_narrow(&p, 1.0e-3);
  open_solver(&(Solver){types[_i], 1});
  ck_assert_int_eq(factor_with(1.0e-2), 0);
  ck_assert_int_eq(saddle->rank, p.m - 1);
  ck_assert_int_eq(factor_with(0.0), 0);
  ck_assert_int_eq(saddle->rank, p.m);
  ck_assert(!cpSaddleUseRows(saddle, off));
  cpSaddleRecordRank(saddle);
  ck_assert(cpSaddleUseRows(saddle, off));
  ck_assert_int_eq(factor_with(1.0e-2), 0);
  ck_assert_int_eq(saddle->rank, p.m);
  ck_assert_double_lt(saddle->ranktol, 1.0e-3);
  cpSaddleForgetRank(saddle);
  ck_assert(!cpSaddleUseRows(saddle, off));
  ck_assert_int_eq(factor_with(1.0e-2), 0);
  ck_assert_int_eq(saddle->rank, p.m - 1);
  close_pair();
}
END_TEST

/* At an angle close to the one that counts as zero, dependent rows may look independent. */
START_TEST(a_rank_in_doubt_is_not_noted) {
  kkt_make(&p, &plain, 4);
  kkt_narrow(&p, 1.0e-3);
  open_solver(&(Solver){CP_LINSOL_QR, 0});
  ck_assert_int_eq(factor_with(1.0e-4), 0);
  ck_assert_int_eq(saddle->rank, p.m);
  cpSaddleRecordRank(saddle);
  ck_assert(!cpSaddleUseRows(saddle, off));
  close_pair();
}
END_TEST

/* ---- the quick way ---- */

/* Rows i of A have entries in the columns j with i - width < j / alike <= i, and M is diagonal. */
typedef struct {
  int sparse, m, width, alike;
} Band;

static const Band bands[] = {{0, 4, 1, 2},  {0, 4, 2, 2},  {0, 4, 4, 2},  {1, 20, 1, 2},
                             {1, 20, 2, 2}, {1, 20, 3, 2}, {1, 20, 7, 2}, {1, 20, 2, 1},
                             {1, 20, 3, 1}, {1, 20, 2, 3}, {1, 20, 3, 3}, {1, 10, 2, 4},
                             {1, 10, 3, 4}, {1, 8, 2, 7}};
enum { N_BANDS = sizeof bands / sizeof bands[0] };

static void fill_band(const Band *band, double phase, CPMat *M, CPMat *rows) {
  for (int j = 0; j < M->cols; j++) {
    *cpMatAt(M, j, j) = 2.0 + sin(j + phase);
    for (int first = j / band->alike, i = first; i < rows->rows && i < first + band->width; i++)
      *cpMatAt(rows, i, j) = (i == first ? 3.0 : 1.0) * cos(1 + 7 * i + j + phase);
  }
}

static void make_band(const Band *band, CPMat *M, CPMat *rows) {
  const int m = band->m, n = band->alike * m;
  CPPlaces diagonal = {0}, places = {0};
  if (!band->sparse) {
    ck_assert_int_eq(cpMatCreateDense(M, n, n), CP_SUCCESS);
    ck_assert_int_eq(cpMatCreateDense(rows, m, n), CP_SUCCESS);
    return;
  }
  for (int j = 0; j < n; j++) {
    cpPlacesAdd(&diagonal, j, j);
    for (int first = j / band->alike, i = first; i < m && i < first + band->width; i++)
      cpPlacesAdd(&places, i, j);
  }
  ck_assert_int_eq(cpMatFromPlaces(M, n, n, &diagonal), CP_SUCCESS);
  ck_assert_int_eq(cpMatFromPlaces(rows, m, n, &places), CP_SUCCESS);
}

/* A run must not depend on which of them was taken, and so on questions asked before. */
START_TEST(the_quick_way_gives_the_bits_of_the_other) {
  const Band *band = &bands[_i];
  CPMat M, rows;
  CPSaddle other;
  make_band(band, &M, &rows);
  fill_band(band, 0.0, &M, &rows);
  ck_assert_int_eq(create(CP_LINSOL_AUTO, &M, &rows), CP_SUCCESS);
  off = (char[20]){0};
  for (int k = 0; k < 2; k++) { /* what is independent is known from the second time on */
    fill_band(band, 0.1 * k, &M, &rows);
    ck_assert_int_eq(factor(), 0);
    cpSaddleRecordRank(saddle);
  }
  ck_assert(saddle->quick != NULL);
  fill_band(band, 0.2, &M, &rows);
  for (int j = 0; j < M.cols; j++) p.f[j] = sin(3 * j);
  for (int i = 0; i < band->m; i++) p.b[i] = cos(5 * i);
  ck_assert(saddle->quick(saddle, M.value, rows.value, p.f, p.b, a, lambda));
  ck_assert_int_eq(cpSaddleCreate(&other, saddle->options, &M, &rows), CP_SUCCESS);
  ck_assert_int_eq(cpSaddleFactor(other, (CPWeight){.matrix = &M}, &rows, 0.0), 0);
  ck_assert_int_eq(cpSaddleSolve(other, p.f, p.b, ra, rlambda), 0);
  ck_assert_mem_eq(a, ra, (size_t)M.cols * sizeof *a);
  ck_assert_mem_eq(lambda, rlambda, (size_t)band->m * sizeof *lambda);
  ck_assert_double_eq(saddle->sine, other->sine);
  ck_assert_mem_eq(saddle->square, other->square, (size_t)band->m * sizeof *saddle->square);
  for (int i = 0; i < band->m; i++) {
    double square = 0.0;
    for (int j = 0; j < M.cols; j++) {
      const double entry = cpMatEntry(&rows, i, j);
      square += entry * entry / (band->sparse ? cpMatEntry(&M, j, j) : 1.0);
    }
    ck_assert_double_le(fabs(saddle->square[i] - square), M.cols * DBL_EPSILON * square);
  }
  /* Both have factors that solve other problems. */
  ck_assert_int_eq(cpSaddleSolve(saddle, NULL, p.b, a, NULL), 0);
  ck_assert_int_eq(cpSaddleSolve(other, NULL, p.b, ra, NULL), 0);
  ck_assert_mem_eq(a, ra, (size_t)M.cols * sizeof *a);
  cpSaddleFree(&other);
  cpSaddleFree(&saddle);
  cpMatFree(&M);
  cpMatFree(&rows);
}
END_TEST

START_TEST(solvers_have_names_and_unknown_types_are_refused) {
  kkt_make(&p, &plain, 1);
  open_solver(&solvers[_i]);
  ck_assert_int_gt((int)strlen(cpSaddleName(saddle)), 0);
  if (solvers[_i].type != CP_LINSOL_AUTO)
    ck_assert_int_eq(cpSaddleTypeOf(saddle), solvers[_i].type);
  cpSaddleFree(&saddle);
  cpSaddleFree(&saddle);
  cpSaddleFree(NULL);
  ck_assert_int_eq(create((CPLinSol)77, &p.Md, &p.Ad), CP_ILL_INPUT);
  ck_assert_ptr_null(saddle);
  kkt_free(&p);
}
END_TEST

/* ---- memory ---- */

/* With dependent rows, everything that is allocated late is allocated. */
static int run(const Solver *s) {
  int flag = create(s->type, s->sparse ? &p.Ms : &p.Md, s->sparse ? &p.As : &p.Ad);
  if (!flag) flag = factor();
  if (!flag) flag = cpSaddleSolve(saddle, p.f, p.b, a, lambda);
  return flag;
}

START_TEST(every_allocation_may_fail) {
  const Solver *s = &solvers[_i];
  long n          = 0;
  kkt_make(&p, is_schur(s->type) ? &plain : &loop, 1);
  for (int denied = 1; denied; n++) {
    alloc_watch_failing(n + 1);
    const int flag = run(s);
    denied         = alloc_has_failed();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    if (saddle) { /* with memory again, the same object works */
      ck_assert_int_eq(factor(), 0);
      check_solution();
    }
    cpSaddleFree(&saddle);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
  kkt_free(&p);
  ck_assert_int_gt(n, 5);
}
END_TEST

/* KLU and CHOLMOD continue if they do not need the memory. */
START_TEST(every_allocation_of_suitesparse_may_fail) {
  const Solver *s = &solvers[_i];
  long n = 0, failures = 0;
  if (!s->sparse) return;
  kkt_make(&p, is_schur(s->type) ? &plain : &loop, 1);
  alloc_count_suitesparse(1);
  for (int denied = 1; denied; n++) {
    alloc_watch_failing(n + 1);
    const int flag = run(s);
    denied         = alloc_has_failed();
    if (flag) ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    failures += flag != 0;
    if (saddle) { /* with memory again, the same object works */
      ck_assert_int_eq(factor(), 0);
      check_solution();
    }
    cpSaddleFree(&saddle);
    alloc_unwatch();
    ck_assert_msg(alloc_live() == 0, "allocation %ld: %ld blocks are lost", n + 1, alloc_live());
  }
  alloc_count_suitesparse(0);
  kkt_free(&p);
  ck_assert_int_gt(failures, 20);
}
END_TEST

START_TEST(repeated_factorisations_allocate_nothing) {
  const Solver *s = &solvers[_i];
  kkt_make(&p, is_schur(s->type) ? &plain : &loop, 1);
  ck_assert_int_eq(run(s), CP_SUCCESS);
  int flag = 0;
  alloc_watch(); /* no assertions here: they allocate */
  for (int k = 0; !flag && k < 3; k++) {
    flag = factor();
    if (!flag) flag = cpSaddleSolve(saddle, p.f, p.b, a, lambda);
  }
  alloc_unwatch();
  ck_assert_int_eq(flag, 0);
  ck_assert_int_eq(alloc_count(), 0);
  close_pair();
}
END_TEST

TEST_SUITE(saddle) {
  Suite *suite = suite_create("saddle/saddle");
  TCase *tcase = tcase_create("saddle");
  tcase_add_loop_test(tcase, solutions_are_those_of_least_squares, 0, N_PAIRS);
  tcase_add_loop_test(tcase, residuals_are_roundoff, 0, N_PAIRS);
  tcase_add_loop_test(tcase, rank_and_dependent_rows_fit_to_each_other, 0, N_PAIRS);
  tcase_add_loop_test(tcase, roundoff_does_not_choose_between_rows, 0, N_PAIRS);
  tcase_add_loop_test(tcase, right_hand_sides_of_rows_left_out_do_not_matter, 0, N_PAIRS);
  tcase_add_loop_test(tcase, masses_that_are_not_definite_on_the_tangent_space_are_refused, 0,
                      N_BAD * N_SOLVERS);
  tcase_add_loop_test(tcase, units_do_not_matter, 0, N_PAIRS);
  tcase_add_loop_test(tcase, rows_may_have_any_length, 0, N_PAIRS);
  tcase_add_loop_test(tcase, a_refused_mass_leaves_no_trace, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, a_sequence_of_matrices_is_solved_by_one_object, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, pivots_that_were_good_are_given_up, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, rows_are_switched_off_and_on, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, rows_at_narrow_angles_count, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, rows_at_angles_of_roundoff_are_dependent, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, dependence_hides_in_narrow_angles, 0, N_SOLVERS);
  tcase_add_test(tcase, auto_takes_sparse_matrices_sparse_and_others_dense);
  tcase_add_test(tcase, auto_takes_the_sparse_schur_complement_where_blocks_of_the_mass_are_small);
  tcase_add_test(tcase, the_sparse_schur_complement_of_dense_matrices_is_refused);
  tcase_add_test(tcase, the_whole_matrix_needs_a_mass);
  tcase_add_loop_test(tcase, auto_returns_to_its_first_solver_when_rows_are_independent_again, 0, 2);
  tcase_add_loop_test(tcase, auto_tries_its_first_solver_once_on_rows_that_stay_dependent, 0, 2);
  tcase_add_test(tcase, auto_tries_its_first_solver_ever_less_often_on_masses_that_stay_indefinite);
  tcase_add_loop_test(tcase, solutions_are_the_sums_of_their_parts, 0, N_PAIRS);
  tcase_add_loop_test(tcase, a_diagonal_weight_is_given_by_its_roots, 0, N_DIAGONALS * N_BY_ROOTS);
  tcase_add_loop_test(tcase, components_that_are_held_do_not_move, 0, N_BY_ROOTS);
  tcase_add_loop_test(tcase, rows_that_are_off_are_not_in_the_factors, 0, 2);
  tcase_add_loop_test(tcase, light_coordinates_do_not_hide_the_rank, 0,
                      N_SOLVERS * N_LIGHT_CASES * N_LIGHT);
  tcase_add_loop_test(tcase, a_rank_that_was_noted_stands, 0, 3);
  tcase_add_test(tcase, a_rank_in_doubt_is_not_noted);
  tcase_add_loop_test(tcase, the_quick_way_gives_the_bits_of_the_other, 0, N_BANDS);
  tcase_add_loop_test(tcase, solvers_have_names_and_unknown_types_are_refused, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, every_allocation_may_fail, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, every_allocation_of_suitesparse_may_fail, 0, N_SOLVERS);
  tcase_add_loop_test(tcase, repeated_factorisations_allocate_nothing, 0, N_SOLVERS);
  suite_add_tcase(suite, tcase);
  return suite;
}
