/* The benchmark mechanisms themselves, apart from the library: f against reference multipliers and
 * against c, G against differences of c, closed forms against tables, conserved energies.
 */
#include "jacobians.h"
#include "reference.h"

#include "models/chain.h"
#include <math.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ------------------------------------------------------------------------------- closed forms --
   */

/* The angle is good to about 10 units of roundoff times 1 + w t (pendulum.h); the state moves by at
   most |y'| <= 3 w (fall through 1 m: velocity below 1.5 w, acceleration below 3 g) for each unit
   of w t. */
static void compare_with_closed_form(const char *rows, sunrealtype g) {
  const Pendulum pendulum = {.L = 1, .g = g};
  Sample samples[MAX_SAMPLES];
  const int nsamples  = read_table("pendulum.csv", rows, PENDULUM_N, samples, MAX_SAMPLES);
  const sunrealtype w = sqrt(g);

  for (int i = 0; i < nsamples; i++) {
    sunrealtype y[PENDULUM_N];
    pendulum_exact(&pendulum, samples[i].t, y);
    const sunrealtype bound = 10 * ROUNDOFF * (1 + w * samples[i].t) * 3 * w;
    for (int k = 0; k < PENDULUM_N; k++) ck_assert_double_le(fabs(y[k] - samples[i].y[k]), bound);
  }
}

START_TEST(pendulum_exact_is_the_table) {
  compare_with_closed_form("iftomm_a01", SUN_RCONST(9.81));
  compare_with_closed_form("cpodes_period2", PENDULUM_G_PERIOD2);
}
END_TEST

/* The state that d/dt of the closed form, by central differences of step e, agrees with f: error
   e^2 |y'''| / 6 plus roundoff of |y| / e; |y'''| <= 10 w^3 for angles up to w t. */
START_TEST(knife_edge_exact_solves_its_equations) {
  const sunrealtype e = 1e-5;
  Mechanism mech      = mechanism(KNIFE_EDGE);
  KnifeEdge *knife    = &mech.par.knife_edge;
  N_Vector y = vector_of(mech.n, NULL), ydot = vector_of(mech.n, NULL), c = vector_of(mech.m, NULL);

  for (int i = 0; i < mech.nsamples; i++) {
    const sunrealtype t = mech.samples[i].t;
    sunrealtype before[KNIFE_EDGE_N], after[KNIFE_EDGE_N];
    knife_edge_exact(knife, t - e, before);
    knife_edge_exact(knife, t, entries(y));
    knife_edge_exact(knife, t + e, after);
    ck_assert_int_eq(mech.f(t, y, ydot, knife), 0);
    ck_assert_int_eq(mech.c(t, y, c, knife), 0);
    const sunrealtype w = knife->omega, size = 1 + N_VMaxNorm(y);
    const sunrealtype bound = e * e * 10 * w * w * w * size / 6 + 10 * ROUNDOFF * size / e;
    for (int k = 0; k < mech.n; k++)
      ck_assert_double_le(fabs(entries(ydot)[k] - (after[k] - before[k]) / (2 * e)), bound);
    ck_assert_double_le(fabs(entries(c)[0]), 10 * ROUNDOFF * size);
    ck_assert_double_le(fabs(knife_edge_energy(knife, y)), 10 * ROUNDOFF * size * size);
  }
  N_VDestroy(y);
  N_VDestroy(ydot);
  N_VDestroy(c);
}
END_TEST

/* ----------------------------------------------------------------------- reference multipliers --
   */

/* The tables carry 16 or 17 digits of the state and the multipliers; roundoff in the state is
   amplified by the elimination, whose condition is below 100 for both, and by the stiffness 1/K =
   2000 of the car axis' springs against forces of size one. */
START_TEST(slider_crank_has_the_multipliers_of_the_table) {
  Mechanism mech = mechanism(SLIDER_CRANK);
  for (int i = 0; i < mech.nsamples; i++) {
    sunrealtype acc[3], lambda[2];
    N_Vector y = vector_of(mech.n, mech.samples[i].y);
    ck_assert_int_eq(slider_crank_accelerations(&mech.par.slider_crank, y, acc, lambda), 0);
    for (int k = 0; k < 2; k++)
      ck_assert_double_le(fabs(lambda[k] - mech.samples[i].more[k]), 100 * ROUNDOFF * 5);
    N_VDestroy(y);
  }
}
END_TEST

START_TEST(slider_crank_starts_with_the_published_accelerations) {
  Mechanism mech = mechanism(SLIDER_CRANK);
  N_Vector y     = vector_of(mech.n, NULL);
  sunrealtype acc[3], lambda[2];
  slider_crank_initial(&mech.par.slider_crank, y);
  ck_assert_double_le(error_against(y, mech.y0), 4 * ROUNDOFF);
  ck_assert_int_eq(slider_crank_accelerations(&mech.par.slider_crank, y, acc, lambda), 0);
  /* 16 digits; 100: see above */
  ck_assert_double_le(fabs(acc[0] + 0.5133974596215561), 100 * ROUNDOFF);
  ck_assert_double_le(fabs(acc[1] - 0.2566987298107781), 100 * ROUNDOFF);
  ck_assert_double_le(fabs(acc[2]), 100 * ROUNDOFF);
  N_VDestroy(y);
}
END_TEST

START_TEST(car_axis_has_the_multipliers_of_the_table) {
  Mechanism mech = mechanism(CAR_AXIS);
  N_Vector y0    = vector_of(mech.n, NULL);
  car_axis_initial(&mech.par.car_axis, y0);
  ck_assert_double_le(error_against(y0, mech.y0), 2 * ROUNDOFF);
  N_VDestroy(y0);
  for (int i = 0; i < mech.nsamples; i++) {
    sunrealtype acc[4], lambda[2];
    N_Vector y = vector_of(mech.n, mech.samples[i].y);
    ck_assert_int_eq(car_axis_accelerations(&mech.par.car_axis, mech.samples[i].t, y, acc, lambda),
                     0);
    for (int k = 0; k < 2; k++) /* the table has the opposite sign */
      ck_assert_double_le(fabs(lambda[k] + mech.samples[i].more[k]), 100 * ROUNDOFF);
    N_VDestroy(y);
  }
}
END_TEST

/* ------------------------------------------------------------------------- f, c and G together --
   */

/* Accelerations of the chain in angles theta_i from the downward vertical (Lagrange's equations of
   the n-fold pendulum): sum_j a_ij (theta_j'' cos(theta_i - theta_j) + theta_j'^2 sin(theta_i -
   theta_j)) = -g (n - i) sin(theta_i), a_ij = n - max(i, j), i and j from 0; solved by elimination
   without pivoting (the matrix is positive definite). */
static void accelerations_in_angles(int n, sunrealtype g, const sunrealtype *theta,
                                    const sunrealtype *rate, sunrealtype *acc) {
  enum { MAX_LINKS = 10 };
  sunrealtype A[MAX_LINKS][MAX_LINKS];
  for (int i = 0; i < n; i++) {
    acc[i] = -g * (n - i) * sin(theta[i]);
    for (int j = 0; j < n; j++) {
      const int a = n - (i > j ? i : j);
      A[i][j]     = a * cos(theta[i] - theta[j]);
      acc[i] -= a * rate[j] * rate[j] * sin(theta[i] - theta[j]);
    }
  }
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) {
      const sunrealtype l = A[i][k] / A[k][k];
      for (int j = k; j < n; j++) A[i][j] -= l * A[k][j];
      acc[i] -= l * acc[k];
    }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) acc[i] -= A[i][j] * acc[j];
    acc[i] /= A[i][i];
  }
}

/* Positions, velocities and accelerations of the masses from the angles */
static void from_angles(int n, const sunrealtype *theta, const sunrealtype *rate,
                        const sunrealtype *acc, sunrealtype *y, sunrealtype *a) {
  sunrealtype r[2] = {0, 0}, v[2] = {0, 0}, b[2] = {0, 0};
  for (int i = 0; i < n; i++) {
    const sunrealtype along[2]  = {sin(theta[i]),
                                   -cos(theta[i])}; /* unit vectors along and across the rod */
    const sunrealtype across[2] = {cos(theta[i]), sin(theta[i])};
    for (int k = 0; k < 2; k++) {
      y[2 * i + k]         = r[k] += along[k];
      y[2 * n + 2 * i + k] = v[k] += rate[i] * across[k];
      a[2 * i + k]         = b[k] += acc[i] * across[k] - rate[i] * rate[i] * along[k];
    }
  }
}

/* Both systems are solved to roundoff times their conditions, below n^2 * 10 here, of
   accelerations up to about 10 g n. Loop index + 1: number of masses */
START_TEST(chain_moves_as_in_angles) {
  const int n             = _i + 1;
  const sunrealtype g     = 9.81;
  unsigned long long seed = 7 + (unsigned long long)n;
  Chain *chain            = chain_create(n, g);
  N_Vector y = vector_of(4 * n, NULL), ydot = vector_of(4 * n, NULL), c = vector_of(2 * n, NULL);
  ck_assert_ptr_nonnull(chain);

  for (int trial = 0; trial < 20; trial++) {
    sunrealtype theta[10], rate[10], acc[10], a[20];
    for (int i = 0; i < n; i++)
      theta[i] = 3 * random_number(&seed), rate[i] = 2 * random_number(&seed);
    accelerations_in_angles(n, g, theta, rate, acc);
    from_angles(n, theta, rate, acc, entries(y), a);

    ck_assert_int_eq(chain_constraints(0, y, c, chain), 0);
    ck_assert_double_le(N_VMaxNorm(c), 100 * n * ROUNDOFF);
    ck_assert_int_eq(chain_rhs(0, y, ydot, chain), 0);
    for (int k = 0; k < 2 * n; k++)
      ck_assert_double_le(fabs(entries(ydot)[2 * n + k] - a[k]), 10 * n * n * ROUNDOFF * 10 * g * n);
  }
  chain_free(&chain);
  N_VDestroy(y);
  N_VDestroy(ydot);
  N_VDestroy(c);
}
END_TEST

/* d/dt c(t, y(t)) = 0 along y' = f: central difference of step e of c along the direction (1, f).
   Truncation e^2 |c'''| / 6, with third derivatives below 1e4 (car axis: (w L)^3 = 1e3 and
   accelerations / K), roundoff / e. */
START_TEST(motion_stays_on_the_manifold) {
  const sunrealtype e = 1e-6;
  Mechanism mech      = mechanism((MechanismId)_i);
  N_Vector y = vector_of(mech.n, NULL), f = vector_of(mech.n, NULL), moved = vector_of(mech.n, NULL);
  N_Vector before = vector_of(mech.m, NULL), after = vector_of(mech.m, NULL);

  for (int i = 0; i < mech.nsamples; i++) {
    const sunrealtype t = mech.samples[i].t;
    for (int k = 0; k < mech.n; k++) entries(y)[k] = mech.samples[i].y[k];
    ck_assert_int_eq(mech.f(t, y, f, &mech.par), 0);
    N_VLinearSum(1, y, -e, f, moved);
    ck_assert_int_eq(mech.c(t - e, moved, before, &mech.par), 0);
    N_VLinearSum(1, y, e, f, moved);
    ck_assert_int_eq(mech.c(t + e, moved, after, &mech.par), 0);
    N_VLinearSum(1 / (2 * e), after, -1 / (2 * e), before, after);
    ck_assert_double_le(N_VMaxNorm(after), 1e4 * e * e / 6 + 100 * ROUNDOFF / e);
  }
  N_VDestroy(y);
  N_VDestroy(f);
  N_VDestroy(moved);
  N_VDestroy(before);
  N_VDestroy(after);
}
END_TEST

START_TEST(jacobian_is_the_derivative_of_the_constraints) {
  Mechanism mech = mechanism((MechanismId)_i);
  compare_jacobian(mech.c, mech.jac, mech.n, mech.m, 0.3, &mech.par);
}
END_TEST

START_TEST(jacobian_of_chain_and_redundant_pendulum_are_derivatives) {
  Pendulum pendulum = {.L = 1, .g = 1};
  Chain *chain      = chain_create(4, 9.81);
  ck_assert_ptr_nonnull(chain);
  compare_jacobian(pendulum_constraints_redundant, pendulum_jacobian_redundant, PENDULUM_N,
                   PENDULUM_M_REDUNDANT, 0, &pendulum);
  compare_jacobian(chain_constraints, chain_jacobian, 16, 8, 0, chain);
  chain_free(&chain);
}
END_TEST

/* dE/dt along f: 0, or minus the damper's power; by the same central differences */
START_TEST(slider_crank_loses_energy_in_the_damper_only) {
  const sunrealtype e = 1e-5;
  Mechanism mech      = mechanism(SLIDER_CRANK);
  SliderCrank *crank  = &mech.par.slider_crank;
  N_Vector f = vector_of(mech.n, NULL), moved = vector_of(mech.n, NULL);

  for (int i = 0; i < mech.nsamples; i++) {
    N_Vector y = vector_of(mech.n, mech.samples[i].y);
    ck_assert_int_eq(mech.f(0, y, f, crank), 0);
    N_VLinearSum(1, y, e, f, moved);
    const sunrealtype after = slider_crank_energy(crank, moved);
    N_VLinearSum(1, y, -e, f, moved);
    const sunrealtype rate = (after - slider_crank_energy(crank, moved)) / (2 * e);
    ck_assert_double_le(fabs(rate + slider_crank_dissipation(crank, y)),
                        10 * e * e + 100 * ROUNDOFF / e);
    N_VDestroy(y);
  }
  N_VDestroy(f);
  N_VDestroy(moved);
}
END_TEST

/* ------------------------------------------------------- the chain's hand-written projection -- */

/* Both take the positions' correction from the span of D G^T at the given state and end in the
   same point, up to the tolerance of the two iterations, eps each in units of the state's
   tolerance, tol (1 + |y|), |y| <= 10. The velocities' correction comes from D G^T at the
   projected positions here and may come from the given ones there, which changes it by the square
   of the correction times the condition, 10. Errors are projected at the same point, by linear
   algebra: roundoff times the square of a condition below 100. */
START_TEST(projection_for_the_hook_of_cvodes_is_that_of_the_projector) {
  enum { N = 5, LEN = 4 * N };
  const sunrealtype tol = 1e-6, eps = 1e-6;
  unsigned long long seed = 3;
  Chain *chain            = chain_create(N, 9.81);
  N_Vector y = vector_of(LEN, NULL), corr = vector_of(LEN, NULL), err = vector_of(LEN, NULL);
  N_Vector c = vector_of(2 * N, NULL), ewt = vector_of(LEN, NULL);
  chain_initial(chain, y);

  /* A CVODES that has made a step, for its error weights */
  sunrealtype t         = 0;
  void *cvode_mem       = CVodeCreate(CV_BDF, test_context);
  SUNMatrix A           = SUNDenseMatrix(LEN, LEN, test_context);
  SUNLinearSolver solve = SUNLinSol_Dense(y, A, test_context);
  ck_assert_int_eq(CVodeInit(cvode_mem, chain_rhs, 0, y), CV_SUCCESS);
  ck_assert_int_eq(CVodeSStolerances(cvode_mem, tol, tol), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(cvode_mem, chain), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, solve, A), CV_SUCCESS);
  ck_assert_int_eq(CVode(cvode_mem, 0.5, y, &t, CV_NORMAL), CV_SUCCESS);
  ck_assert_int_eq(CVodeGetErrWeights(cvode_mem, ewt), CV_SUCCESS);
  ck_assert_int_eq(chain_attach(chain, cvode_mem, y), 0);

  CPProjector P = CPProjectorCreate(chain_constraints, y, c, test_context);
  SUNMatrix G   = SUNDenseMatrix(2 * N, LEN, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPProjectorSetUserData(P, chain), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, chain_jacobian, G), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetEps(P, eps), CP_SUCCESS);

  ck_assert_int_eq(chain_cvode_projection(t, y, corr, eps, NULL, chain), 0);
  N_VLinearSum(1, y, 1, corr, y);
  for (int trial = 0; trial < 10; trial++) {
    random_fill(err, &seed);
    N_VLinearSum(1, y, tol, err, y); /* as far off the manifold as a step */
    random_fill(err, &seed);
    N_VScale(tol, err, err);
    N_Vector projected = vector_copy(y), error = vector_copy(err);

    ck_assert_int_eq(chain_cvode_projection(t, y, corr, eps, err, chain), 0);
    N_VLinearSum(1, y, 1, corr, y);
    ck_assert_int_eq(CPProjectorProject(P, t, projected, ewt), CP_SUCCESS);
    const sunrealtype moved = N_VMaxNorm(corr);
    ck_assert_double_gt(moved, tol / 100); /* there was something to do */
    ck_assert_double_le(max_distance(y, projected), 2 * eps * tol * 11 + 10 * moved * moved);
    ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, t, y, ewt, error), CP_SUCCESS);
    ck_assert_double_le(max_distance(err, error), 1e4 * ROUNDOFF * tol);
    N_VDestroy(projected);
    N_VDestroy(error);
  }
  CPProjectorFree(&P);
  CVodeFree(&cvode_mem);
  SUNLinSolFree(solve);
  SUNMatDestroy(A);
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(corr);
  N_VDestroy(err);
  N_VDestroy(c);
  N_VDestroy(ewt);
  chain_free(&chain);
}
END_TEST

TEST_SUITE(models) {
  Suite *suite = suite_create("models");
  TCase *tcase = tcase_create("reference");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_test(tcase, pendulum_exact_is_the_table);
  tcase_add_test(tcase, knife_edge_exact_solves_its_equations);
  tcase_add_test(tcase, slider_crank_has_the_multipliers_of_the_table);
  tcase_add_test(tcase, slider_crank_starts_with_the_published_accelerations);
  tcase_add_test(tcase, car_axis_has_the_multipliers_of_the_table);
  tcase_add_loop_test(tcase, chain_moves_as_in_angles, 0, 10);
  tcase_add_loop_test(tcase, motion_stays_on_the_manifold, 0, NUM_MECHANISMS);
  tcase_add_loop_test(tcase, jacobian_is_the_derivative_of_the_constraints, 0, NUM_MECHANISMS);
  tcase_add_test(tcase, jacobian_of_chain_and_redundant_pendulum_are_derivatives);
  tcase_add_test(tcase, slider_crank_loses_energy_in_the_damper_only);
  tcase_add_test(tcase, projection_for_the_hook_of_cvodes_is_that_of_the_projector);
  suite_add_tcase(suite, tcase);
  return suite;
}
