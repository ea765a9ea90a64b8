/* The structured iteration matrix against I - gamma J, J from differences of the right-hand side
 * (newton_fixture.h): derivatives of order one are accurate to about 1e-12, or to 1e-9 if b has noise of
 * 1e-12. Solutions of systems of order one then agree to
 *   1e-10 with given derivatives: noise of 1e-12 over the reference's steps,
 *   2e-7  with forward differences with steps of 1.5e-8: errors are half the step times second
 *         derivatives up to 10, weighted with gamma or its square, in up to ten entries,
 *   2e-6  where b is itself by differences, with steps of 1e-6, for which its noise causes errors of 1e-6,
 *         too: ten times the increments' error, weighted with the square of gamma.
 * The faults that the tests must detect, a block or a term that is missing or has a wrong sign, change the
 * solutions by about 0.1 (gamma = 0.3). */
#include <cpodes/lu/lu_impl.h>
#include <cpodes/mechanics/accelerations.h>
#include <cpodes/mechanics/functions.h>
#include <cpodes/mechanics/newton/newton_impl.h>
#include <math.h>
#include <models/bending_chain.h>
#include <models/counters.h>
#include <string.h>

#include "mechanics/lattice.h"
#include "mechanics/newton_fixture.h"
#include "support/mech_run.h"
#include "support/support.h"

#define GIVEN  1.0e-10
#define COARSE 2.0e-7
#define NOISY  2.0e-6
#define GAMMA  0.3
#define TIME   0.7

typedef struct {
  const char *name;
  double tolerance;
  Lattice lattice;
} Case;

/* clang-format off */
static const Case cases[] = {
    {"differences", COARSE, {0}},
    {"differences, sparse", COARSE, {.sparse = 1}},
    {"given", GIVEN, {.dynamics = 1, .constraints = 1}},
    {"given, sparse", GIVEN, {.sparse = 1, .dynamics = 1, .constraints = 1}},
    {"dynamics given", COARSE, {.dynamics = 1}},
    {"constraints given, sparse", COARSE, {.sparse = 1, .constraints = 1}},
    {"b by differences", NOISY, {.b_by_differences = 1}},
    {"b by differences, sparse", NOISY, {.sparse = 1, .b_by_differences = 1}},
    {"b by differences, derivatives given", 1.0e-9, {.b_by_differences = 1, .dynamics = 1, .constraints = 1}},
    {"z", COARSE, {.nz = 2}},
    {"z, sparse", COARSE, {.nz = 2, .sparse = 1}},
    {"z, given but to lambda", COARSE, {.nz = 2, .dynamics = 1, .constraints = 1, .auxiliary = 1}},
    {"quadrature", COARSE, {.nz = 2, .nquad = 1}},
    {"quadrature, sparse", COARSE, {.nz = 2, .nquad = 1, .sparse = 1}},
    {"quadrature, friction, quaternions", NOISY, {.nz = 2, .nquad = 1, .friction = 1, .quaternions = 2, .b_by_differences = 1}},
    {"quadrature, FULL motion", COARSE, {.nz = 2, .nquad = 1, .full = 1}},
    {"half, quadrature", COARSE, {.newton = CP_NEWTON_HALF, .nz = 2, .nquad = 1}},
    {"friction", COARSE, {.friction = 1}},
    {"friction, sparse", COARSE, {.friction = 1, .sparse = 1}},
    {"friction, given", GIVEN, {.friction = 1, .dynamics = 1, .constraints = 1, .lambda_jac = 1}},
    {"friction, given, sparse", GIVEN, {.friction = 1, .dynamics = 1, .constraints = 1, .lambda_jac = 1, .sparse = 1}},
    {"friction and z, sparse", COARSE, {.friction = 1, .nz = 2, .sparse = 1}},
    {"quaternion of a body", NOISY, {.quaternions = 1, .b_by_differences = 1}},
    {"quaternions of both frames", NOISY, {.quaternions = 2, .b_by_differences = 1}},
    {"quaternions, sparse", NOISY, {.quaternions = 2, .b_by_differences = 1, .sparse = 1}},
    {"quaternions, z, sparse", NOISY, {.quaternions = 2, .b_by_differences = 1, .nz = 2, .sparse = 1}},
    {"redundant rows", COARSE, {.redundant = 1}},
    {"redundant rows, sparse", COARSE, {.redundant = 1, .sparse = 1}},
    {"redundant rows, given", GIVEN, {.redundant = 1, .dynamics = 1, .constraints = 1}},
    {"a row off", COARSE, {.off = 1}},
    {"a row off, sparse", COARSE, {.off = 1, .sparse = 1}},
    {"FULL motion", COARSE, {.full = 1}},
    {"FULL motion, given, sparse", GIVEN, {.full = 1, .dynamics = 1, .constraints = 1, .sparse = 1}},
    {"FULL and DIRECT motions", COARSE, {.full = 1, .direct = 1}},
    {"FULL and DIRECT motions, sparse", COARSE, {.full = 1, .direct = 1, .sparse = 1}},
    {"FULL motion and quaternion", NOISY, {.full = 1, .quaternions = 1, .b_by_differences = 1}},
    {"half", COARSE, {.newton = CP_NEWTON_HALF}},
    {"half, b by differences", NOISY, {.newton = CP_NEWTON_HALF, .b_by_differences = 1}},
    {"half, z, friction", COARSE, {.newton = CP_NEWTON_HALF, .nz = 2, .friction = 1}},
    {"half, quaternions", NOISY, {.newton = CP_NEWTON_HALF, .quaternions = 2, .b_by_differences = 1}},
    {"half, FULL motion", COARSE, {.newton = CP_NEWTON_HALF, .full = 1}},
};
/* clang-format on */
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- the system under test ---- */

static Lattice lattice;
static CPMech mech;
static N_Vector y;
static CPMechNewtonMem newton;

static void create(const Lattice *like) {
  lattice = *like;
  mech    = lattice_create(&lattice, test_context);
  y       = lattice_state(&lattice);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(cpMechSetUp(mech, "test"), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonCreate(&newton, mech), CP_SUCCESS);
  ck_assert_ptr_nonnull(newton);
}

static void destroy(void) {
  cpMechNewtonFree(&newton);
  N_VDestroy(y);
  CPMechFree(&mech);
}

/* Forms matrix and factors at (TIME, y); returns whether partial derivatives are new. */
static int set_up(int jok, double gamma) {
  int renewed = 0;
  ck_assert_int_eq(cpNewtonSystem(newton, TIME, entries(y), NULL, jok, gamma, &renewed), CP_SUCCESS);
  ck_assert_int_eq(SUNLinSolSetup(newton->LS, newton->matrix), 0);
  return renewed;
}

START_TEST(solves_the_system_of_the_ode) {
  const Case *c = &cases[_i];
  create(&c->lattice);
  SUNMatrix J = ode_jacobian(mech, TIME, y);
  set_up(0, GAMMA);
  const double error = system_residual(newton, y, J, GAMMA);
  ck_assert_msg(error <= c->tolerance, "%s: %.2e > %.2e", c->name, error, c->tolerance);
  SUNMatDestroy(J);
  destroy();
}
END_TEST

/* ---- corrections k of (y', lambda) that remove residuals r, for real and complex gamma ----
 *
 * Those for gamma = 0 solve a linear problem in M, A, Fl, Zl alone. The others follow from them and
 * from the derivatives of y' and lambda as functions of the state, from which the matrix has not
 * been formed:
 *
 *   (I - gamma J) k_y = k_y(0),   k_lambda = k_lambda(0) + gamma (dlambda/dy) k_y */
enum { MOST = 2 * LATTICE_NU + 12 }; /* y' with two quaternions and z; lambda */

typedef double complex Vector[MOST];

static Vector residuals; /* (r_q, r_F, r_z, r_B) */

static void draw_residuals(int parts) {
  unsigned long long seed = 5;
  N_Vector r              = vector_of(2 * MOST, NULL);
  random_fill(r, &seed);
  for (int i = 0; i < MOST; i++)
    residuals[i] = entries(r)[i] + (parts - 1.0) * I * entries(r)[MOST + i];
  N_VDestroy(r);
}

static void correct(CPNewtonMatrix *S, double complex gamma, Vector k) {
  double re[MOST], im[MOST];
  for (int i = 0; i < MOST; i++) {
    re[i] = creal(residuals[i]);
    im[i] = cimag(residuals[i]);
  }
  ck_assert_int_eq(cpNewtonAssemble(S, gamma), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonFactor(S), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonCorrect(S, re, S->parts == 2 ? im : NULL), CP_SUCCESS);
  for (int i = 0; i < MOST; i++) k[i] = re[i] + (S->parts == 2 ? I * im[i] : 0.0);
}

/* sum += sign J x or sign J^T x */
static void add(const CPMat *J, double sign, int transposed, const double complex *x,
                double complex *sum) {
  for (int j = 0; j < J->cols; j++)
    for (size_t e = cpMatFirst(J, j); e < cpMatFirst(J, j + 1); e++) {
      const int i = cpMatRow(J, j, e);
      sum[transposed ? j : i] += sign * J->value[e] * x[transposed ? i : j];
    }
}

/* The largest residual of k for gamma = 0 in the equations whose unknowns are not fixed. */
static double error_at_zero(const Vector k) {
  const CPPartials P = newton->P;
  const int nq = mech->nq, nu = P->nu, m = P->m, nz = P->nz;
  const double complex *k_u = k + nq, *k_z = k_u + nu, *k_lambda = k_z + mech->nz;
  double largest = 0.0;
  Vector r;
  memcpy(r, residuals, sizeof r);
  double complex *r_F = r + nq, *r_z = r_F + nu, *r_B = r_z + mech->nz;
  for (int i = 0; i < nq; i++) largest = fmax(largest, cabs(k[i] - r[i]));
  if (P->kkt) {
    add(&P->M, -1.0, 0, k_u, r_F);
    add(&P->A, -1.0, 0, k_u, r_B);
    add(&P->A, -1.0, 1, k_lambda, r_F);
  } else
    for (int j = 0; j < nu; j++) r_F[j] -= k_u[j];
  if (P->block[CP_OF_F][CP_BY_LAMBDA].exists)
    add(&P->block[CP_OF_F][CP_BY_LAMBDA].J, 1.0, 0, k_lambda, r_F);
  if (P->block[CP_OF_Z][CP_BY_LAMBDA].exists)
    add(&P->block[CP_OF_Z][CP_BY_LAMBDA].J, 1.0, 0, k_lambda, r_z);
  for (int j = 0; j < nz; j++) r_z[j] -= k_z[j];
  for (int j = 0; j < nu; j++) largest = fmax(largest, cabs(P->fixed[j] ? k_u[j] : r_F[j]));
  for (int j = 0; j < nz; j++) largest = fmax(largest, cabs(r_z[j]));
  for (int i = 0; i < m; i++)
    largest = fmax(largest, cabs(P->fixed[nu + i] ? k_lambda[i] : r_B[i]));
  return largest;
}

static void multipliers_at(const double *state, double *lambda) {
  double a[LATTICE_NU];
  CPMechState s;
  ck_assert_int_eq(cpMechRead(mech, TIME, state, &s), CP_SUCCESS);
  ck_assert_int_eq(cpMechSolve(mech, &s, a, lambda), CP_SUCCESS);
}

/* The error of k for any gamma; J is the Jacobian of y'. (dlambda/dy) k_y comes from central
 * differences of fourth order along its two parts with steps of 0.01: errors of about 1e-8 where
 * derivatives are of order one. For redundant rows only A^T lambda is unique. */
static double error_of(SUNMatrix J, double complex gamma, const Vector k, const Vector zero) {
  const int n    = mech->n;
  double largest = 0.0;
  for (int i = n - newton->P->nquad; i < n; i++)
    largest = fmax(largest, cabs(k[i] - residuals[i])); /* Quadratures are left out. */
  for (int i = 0; i < n - newton->P->nquad; i++) {
    double complex r = k[i] - zero[i];
    for (int j = 0; j < n; j++) r -= gamma * SM_ELEMENT_D(J, i, j) * k[j];
    largest = fmax(largest, cabs(r));
  }
  Vector change = {0.0};
  for (int part = 0; part < 2; part++)
    for (int step = -2; step <= 2; step++) {
      const double h = 0.01, weight[] = {1.0 / 12.0, -2.0 / 3.0, 0.0, 2.0 / 3.0, -1.0 / 12.0};
      double lambda[MOST];
      N_Vector moved = vector_copy(y);
      for (int i = 0; i < n; i++)
        entries(moved)[i] += step * h * (part ? cimag(k[i]) : creal(k[i]));
      multipliers_at(entries(moved), lambda);
      for (int i = 0; i < newton->P->m; i++)
        change[i] += weight[step + 2] / h * lambda[i] * (part ? 1.0 * I : 1.0);
      N_VDestroy(moved);
    }
  Vector off = {0.0}, force = {0.0};
  for (int i = 0; i < newton->P->m; i++) off[i] = k[n + i] - zero[n + i] - gamma * change[i];
  if (newton->P->m > 0) add(&newton->P->A, 1.0, 1, off, force);
  for (int j = 0; j < newton->P->nu; j++) largest = fmax(largest, cabs(force[j]));
  return largest;
}

START_TEST(corrections_remove_residuals) {
  const Case *c                 = &cases[_i];
  const double complex gammas[] = {GAMMA, GAMMA * (0.6 + 0.8 * I), GAMMA * (0.6 - 0.8 * I)};
  const double tolerance        = fmax(c->tolerance / GAMMA, 1e-7); /* y moves by gamma k */
  create(&c->lattice);
  set_up(0, GAMMA);
  SUNMatrix J = ode_jacobian(mech, TIME, y);
  CPNewtonMatrix complex_one;
  ck_assert_int_eq(cpNewtonMatrixCreate(&complex_one, newton->P, 1), CP_SUCCESS);
  for (int k = 0; k < 3; k++) {
    CPNewtonMatrix *S = k == 0 ? &newton->S : &complex_one;
    Vector zero, all;
    draw_residuals(S->parts);
    correct(S, 0.0, zero);
    const double at_zero = error_at_zero(zero);
    ck_assert_msg(at_zero <= 1e-13, "%s: %.2e", c->name, at_zero);
    correct(S, gammas[k], all);
    const double error = error_of(J, gammas[k], all, zero);
    ck_assert_msg(error <= tolerance, "%s: %.2e > %.2e", c->name, error, tolerance);
  }
  cpNewtonMatrixFree(&complex_one);
  SUNMatDestroy(J);
  destroy();
}
END_TEST

/* Differences may overflow: an infinite pivot would count as a large one. */
START_TEST(a_matrix_that_is_not_finite_is_a_failure_and_renewed) {
  const double values[] = {INFINITY, -INFINITY, NAN};
  int renewed           = 0;
  create(&cases[_i].lattice);
  for (int k = 0; k < 3; k++) {
    set_up(0, GAMMA);
    for (int of = 0; of < CP_OUTPUTS; of++)
      if (newton->P->block[of][CP_BY_U].exists)
        newton->P->block[of][CP_BY_U].J.value[0] = values[k];
    ck_assert_int_eq(cpNewtonSystem(newton, TIME, entries(y), NULL, 1, GAMMA, &renewed),
                     -CP_MECH_NONFINITE);
    ck_assert_mentions(mech->text, "not finite");
    ck_assert_int_eq(set_up(1, GAMMA), 1);
  }
  destroy();
}
END_TEST

/* With jok only gamma changes: no function is called, and the solution is that for the new gamma. */
START_TEST(other_gamma_needs_no_function) {
  const Case *c = &cases[_i];
  create(&c->lattice);
  SUNMatrix J = ode_jacobian(mech, TIME, y);
  ck_assert(set_up(0, 2.0 * GAMMA));
  const CPMechStats before = mech->stats;
  ck_assert(!set_up(1, GAMMA));
  const double error = system_residual(newton, y, J, GAMMA);
  ck_assert_msg(error <= c->tolerance, "%s: %.2e > %.2e", c->name, error, c->tolerance);
  ck_assert_int_eq(mech->stats.nf, before.nf);
  ck_assert_int_eq(mech->stats.nA, before.nA);
  ck_assert_int_eq(mech->stats.nM, before.nM);
  ck_assert_int_eq(mech->stats.nudot, before.nudot);
  ck_assert_int_eq(mech->stats.npartials, before.npartials);
  ck_assert_int_eq(mech->stats.nnewton, before.nnewton + 1);
  SUNMatDestroy(J);
  destroy();
}
END_TEST

/* Sparse and dense matrices have the same solutions; new values in an old structure too. */
START_TEST(sparse_factors_follow_the_state) {
  create(&(Lattice){.sparse = 1, .friction = 1, .nz = 2});
  for (int k = 0; k < 4; k++) {
    for (sunindextype i = 0; i < N_VGetLength(y); i++)
      entries(y)[i] += 0.1 * sin(7.0 * (double)i + k);
    SUNMatrix J = ode_jacobian(mech, TIME, y);
    set_up(0, GAMMA / (1 + k));
    ck_assert_double_le(system_residual(newton, y, J, GAMMA / (1 + k)), COARSE);
    SUNMatDestroy(J);
  }
  destroy();
}
END_TEST

/* A matrix with z keeps the places of its entries: dzdot_0/dq_1 = u_2, and at another state
 * dzdot_1/dz_0 = cos(z_0) z_1, which keeps its place when it is zero. */
START_TEST(entries_that_were_zero_get_their_place) {
  create(&(Lattice){.sparse = 1, .nz = 2});
  const double u             = entries(y)[LATTICE_NU + 2];
  entries(y)[LATTICE_NU + 2] = 0.0;
  set_up(0, GAMMA);
  const int64_t before           = (int)newton->S.lu->S.start[newton->S.lu->order];
  entries(y)[LATTICE_NU + 2]     = u;
  entries(y)[2 * LATTICE_NU + 1] = 0.0;
  SUNMatrix J                    = ode_jacobian(mech, TIME, y);
  set_up(0, GAMMA);
  ck_assert_int_eq((int)newton->S.lu->S.start[newton->S.lu->order], before + 1);
  ck_assert_double_le(system_residual(newton, y, J, GAMMA), COARSE);
  SUNMatDestroy(J);
  destroy();
}
END_TEST

/* Point masses on rods, M = 1: K, which comes only from A^T lambda, has the pattern of A^T A.
 * Tensions are about n g = 6, and second derivatives are no larger: the tolerance is that of
 * differences. */
START_TEST(patterns_follow_from_those_of_M_and_A) {
  enum { MASSES = 6 };
  CPEquations model;
  BendingChain *chain = bending_chain_create(MASSES, 1.0, 0.0, 0.0);
  ck_assert_int_eq(bending_chain_model(chain, 1, test_context, &model), 0);
  CPEquations bare    = model;
  bare.dynamics_jac   = NULL;
  bare.constraint_jac = NULL;
  bare.K_tmpl = bare.Bq_tmpl = bare.Bu_tmpl = NULL;
  y                                         = vector_of(4 * MASSES, NULL);
  bending_chain_initial(chain, 0.4, y);
  for (int i = 0; i < 4 * MASSES; i++) entries(y)[i] += 0.2 * sin(5.0 * i);
  mech = create_mech(&bare, y, test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, chain), CP_SUCCESS);
  ck_assert_int_eq(cpMechSetUp(mech, "test"), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonCreate(&newton, mech), CP_SUCCESS);
  ck_assert(newton->P->sparse);
  SUNMatrix J = ode_jacobian(mech, TIME, y);
  set_up(0, GAMMA);
  ck_assert_double_le(system_residual(newton, y, J, GAMMA), COARSE);
  SUNMatDestroy(J);
  destroy();
  bending_chain_model_free(&model);
  bending_chain_free(&chain);
}
END_TEST

/* A row that is switched off between two set-ups: stored derivatives are then useless. */
START_TEST(switched_rows_renew_everything) {
  const int mask[LATTICE_ROWS] = {1, 1, 0};
  create(&(Lattice){.sparse = _i});
  set_up(0, GAMMA);
  ck_assert_int_eq(CPMechSetActive(mech, mask), CP_SUCCESS);
  ck_assert(set_up(1, GAMMA));
  SUNMatrix J = ode_jacobian(mech, TIME, y);
  ck_assert_double_le(system_residual(newton, y, J, GAMMA), COARSE);
  SUNMatDestroy(J);
  destroy();
}
END_TEST

/* M, K and C are tridiagonal: three groups of columns, and one more evaluation, for positions and
 * for velocities; rows of b add none. */
START_TEST(columns_are_perturbed_together) {
  create(&(Lattice){.sparse = 1});
  set_up(0, GAMMA);
  ck_assert_int_eq(mech->stats.nDQ, 2 * (3 + 1));
  destroy();
}
END_TEST

/* Another method requests derivatives at its own accelerations and multipliers, and a matrix with
 * its own gamma, without an integrator. F = f - M a - A^T lambda makes K affine in (a, lambda). */
START_TEST(derivatives_and_matrix_belong_to_no_integrator) {
  create(&(Lattice){.sparse = _i, .nz = 2});
  set_up(0, GAMMA);
  enum { RUNS = 3 };
  double a[RUNS][LATTICE_NU], lambda[RUNS][LATTICE_ROWS], largest = 0.0, difference = 0.0;
  CPPartials P = NULL;
  CPNewtonMatrix S;
  CPMat K[RUNS] = {{0}};
  ck_assert_int_eq(cpPartialsCreate(&P, mech, CP_NEWTON_KKT, 1), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonMatrixCreate(&S, P, 0), CP_SUCCESS);
  P->sixth_order = 1;
  for (int k = 0; k < RUNS; k++) {
    for (int j = 0; j < LATTICE_NU; j++) a[k][j] = newton->P->a[j] + k * cos(j);
    for (int i = 0; i < LATTICE_ROWS; i++) lambda[k][i] = newton->P->lambda[i] + k * sin(1.0 + i);
    ck_assert_int_eq(cpPartialsAt(P, TIME, entries(y), a[k], lambda[k], NULL), CP_SUCCESS);
    ck_assert_int_eq(cpMatClone(&K[k], &P->block[CP_OF_F][CP_BY_Q].J), CP_SUCCESS);
    cpMatAdd(&K[k], 1.0, &P->block[CP_OF_F][CP_BY_Q].J);
  }
  for (size_t e = 0; e < cpMatEntries(&K[0]); e++) {
    const double first = K[1].value[e] - K[0].value[e], second = K[2].value[e] - K[1].value[e];
    largest    = fmax(largest, fabs(first));
    difference = fmax(difference, fabs(second - first));
  }
  ck_assert_double_ge(largest, 0.1);
  ck_assert_double_le(difference, 1e-10);

  N_Vector x = vector_copy(y), expected = vector_copy(y);
  P->sixth_order = 0; /* as newton's */
  ck_assert_int_eq(cpPartialsAt(P, TIME, entries(y), a[0], lambda[0], NULL), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonAssemble(&S, GAMMA), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonFactor(&S), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonSolve(&S, entries(y), entries(x)), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonSolve(&newton->S, entries(y), entries(expected)), CP_SUCCESS);
  N_VLinearSum(1.0, x, -1.0, expected, x);
  ck_assert_double_le(N_VMaxNorm(x), 1e-12 * N_VMaxNorm(expected));
  N_VDestroy(x);
  N_VDestroy(expected);
  for (int k = 0; k < RUNS; k++) cpMatFree(&K[k]);
  cpNewtonMatrixFree(&S);
  cpPartialsFree(&P);
  destroy();
}
END_TEST

/* Rows that were dependent are assumed to be so still, and nothing is factored to check that. */
START_TEST(ranks_can_be_kept) {
  create(&(Lattice){.sparse = _i, .redundant = 1});
  CPPartials P = newton->P;
  set_up(0, GAMMA);
  char fixed[LATTICE_NU + LATTICE_ROWS + 1];
  const size_t order   = (size_t)(P->nu + P->m);
  const long int count = mech->stats.nkkt;
  ck_assert_uint_eq(order, sizeof fixed);
  memcpy(fixed, P->fixed, order);
  ck_assert_ptr_nonnull(memchr(fixed, 1, order));
  P->keep_rank = 1;
  ck_assert_int_eq(cpPartialsAt(P, TIME, entries(y), P->a, P->lambda, NULL), CP_SUCCESS);
  ck_assert_int_eq(mech->stats.nkkt, count);
  ck_assert_mem_eq(P->fixed, fixed, order);
  P->keep_rank = 0;
  ck_assert_int_eq(cpPartialsAt(P, TIME, entries(y), P->a, P->lambda, NULL), CP_SUCCESS);
  ck_assert_int_eq(mech->stats.nkkt, count + 1);
  destroy();
}
END_TEST

START_TEST(the_metric_is_the_symmetric_part_of_W) {
  create(&(Lattice){.sparse = _i, .dynamics = 1, .constraints = 1});
  CPMat W = {0};
  double dense[LATTICE_NU][LATTICE_NU], largest = 0.0;
  mech->newton = newton;
  ck_assert_int_eq(cpMechNewtonPattern(mech, &W), CP_SUCCESS);
  ck_assert((W.start != NULL) == _i);
  ck_assert_int_eq(cpMechNewtonMetric(mech, &W), 1);
  set_up(0, GAMMA);
  ck_assert_int_eq(cpMechNewtonMetric(mech, &W), 0);
  for (int i = 0; i < LATTICE_NU; i++)
    for (int j = 0; j < LATTICE_NU; j++) {
      const CPMat *parts[3]   = {&newton->P->M, &newton->P->block[CP_OF_F][CP_BY_U].J,
                                 &newton->P->block[CP_OF_F][CP_BY_Q].J};
      const double factors[3] = {1.0, -GAMMA, -GAMMA * GAMMA};
      dense[i][j]             = 0.0;
      for (int k = 0; k < 3; k++) {
        const double *ij = cpMatAt(parts[k], i, j), *ji = cpMatAt(parts[k], j, i);
        dense[i][j] += 0.5 * factors[k] * ((ij ? *ij : 0.0) + (ji ? *ji : 0.0));
      }
      const double *place = cpMatAt(&W, i, j);
      largest             = fmax(largest, fabs((place ? *place : 0.0) - dense[i][j]));
    }
  ck_assert_double_le(largest, 1e-14);
  mech->newton = NULL;
  cpMatFree(&W);
  destroy();
}
END_TEST

/* ---- partial derivatives that are grossly too large ---- */

typedef struct {
  sunrealtype K, C;  /* factors of the partial derivatives */
  sunrealtype from;  /* the time at which they become wrong */
  sunrealtype until; /* the time at which the damper vanishes from f alone */
} Wrong;

static int unit_masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *wrong) {
  (void)t, (void)q, (void)wrong;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1.0;
  return 0;
}

/* An oscillator, and one that is overdamped */
static int springs(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  const Wrong *wrong = user_data;
  (void)z;
  f[0] = -q[0];
  f[1] = 0.1 * q[0] - 4.0 * q[1] - (t < wrong->until ? 1.0e3 * u[1] : 0.0);
  return 0;
}

static int wrong_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                     SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  const Wrong *wrong = user_data;
  const int is_wrong = t >= wrong->from;
  (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)Fz;
  SM_ELEMENT_D(K, 0, 0) = -1.0;
  SM_ELEMENT_D(K, 1, 0) = 0.1;
  SM_ELEMENT_D(K, 1, 1) = is_wrong ? -4.0 * wrong->K : -4.0;
  SM_ELEMENT_D(C, 1, 1) = is_wrong ? -1.0e3 * wrong->C : -1.0e3;
  return 0;
}

/* Newton's corrections are too small by orders of magnitude, and predictors pass for solutions. */
START_TEST(partial_derivatives_that_are_grossly_too_large_end_runs_of_BDF) {
  const sunrealtype factor = pow(10.0, 6 + 3 * (_i % 3)), tol = pow(10.0, -4 - 2 * (_i / 3 % 3));
  Wrong wrong             = {1.0, 1.0, _i / 9 % 2 ? 10.0 : 0.0, 1.0e3};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2, .M = unit_masses, .f = springs,
                             .dynamics_jac = wrong_jac};
  N_Vector state          = vector_of(4, (sunrealtype[]){1.0, 1.0, 0.0, 0.0});
  CPMech oscillators      = create_mech(&model, state, test_context);
  CPIntegrator mem        = CPIntegratorCreate("BDF", test_context);
  MessageLog messages     = {0};
  sunrealtype t           = 0.0;
  if (_i / 18 == 0) wrong.C = factor;
  else if (_i / 18 == 1) wrong.K = factor;
  else wrong.until = wrong.from + log10(factor);
  CPMechSetUserData(oscillators, &wrong);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPMechAttach(oscillators, mem, t, state), CP_SUCCESS);
  CPIntegratorSStolerances(mem, tol, tol);
  CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 20000);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 40.0, state, &t, CV_NORMAL), CP_MECH_DERIV_WRONG);
  ck_assert_mentions(messages.text, "dynamics_jac is grossly wrong");
  ck_assert_double_ge(t, wrong.from);
  wrong.K = wrong.C = 1.0; /* with right ones the run goes on */
  if (_i < 36) ck_assert_int_eq(CPIntegratorEvolve(mem, 40.0, state, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  CPMechFree(&oscillators);
  N_VDestroy(state);
}
END_TEST

/* Such a comparison evaluates f. */
START_TEST(derivatives_that_are_differences_are_not_compared_with_others) {
  sunrealtype f[2];
  for (int differenced = 0; differenced < 2; differenced++) {
    Wrong wrong             = {1.0, 1.0, 0.0, 1.0e3}; /* which nothing is */
    const CPEquations model = {CP_SIZED(CPEquations),     .nu = 2,
                               .M = unit_masses,          .f = springs,
                               .dynamics_jac = wrong_jac, .differenced = differenced};
    N_Vector state          = vector_of(4, (sunrealtype[]){1.0, 1.0, 0.0, 0.0});
    CPMech oscillators      = create_mech(&model, state, test_context);
    CPIntegrator mem        = CPIntegratorCreate("BDF", test_context);
    sunrealtype t           = 0.0;
    CPMechSetUserData(oscillators, &wrong);
    ck_assert_int_eq(CPMechAttach(oscillators, mem, t, state), CP_SUCCESS);
    CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 4.0, state, &t, CV_NORMAL), CP_SUCCESS);
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(oscillators), "force_evals", &f[differenced]),
                     CP_SUCCESS);
    CPIntegratorFree(&mem);
    CPMechFree(&oscillators);
    N_VDestroy(state);
  }
  ck_assert_double_lt(f[1], f[0]);
}
END_TEST

TEST_SUITE(newton) {
  Suite *suite = suite_create("structured Newton");
  TCase *tc    = tcase_create("matrix");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, solves_the_system_of_the_ode, 0, CASES);
  tcase_add_loop_test(tc, corrections_remove_residuals, 0, CASES);
  tcase_add_loop_test(tc, a_matrix_that_is_not_finite_is_a_failure_and_renewed, 0, CASES);
  tcase_add_loop_test(tc, other_gamma_needs_no_function, 0, CASES);
  tcase_add_test(tc, sparse_factors_follow_the_state);
  tcase_add_test(tc, entries_that_were_zero_get_their_place);
  tcase_add_test(tc, patterns_follow_from_those_of_M_and_A);
  tcase_add_loop_test(tc, switched_rows_renew_everything, 0, 2);
  tcase_add_test(tc, columns_are_perturbed_together);
  tcase_add_loop_test(tc, derivatives_and_matrix_belong_to_no_integrator, 0, 2);
  tcase_add_loop_test(tc, ranks_can_be_kept, 0, 2);
  tcase_add_loop_test(tc, the_metric_is_the_symmetric_part_of_W, 0, 2);
  tcase_add_loop_test(tc, partial_derivatives_that_are_grossly_too_large_end_runs_of_BDF, 0, 54);
  tcase_add_test(tc, derivatives_that_are_differences_are_not_compared_with_others);
  suite_add_tcase(suite, tc);
  return suite;
}
