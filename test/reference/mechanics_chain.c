/* Chains by CPMech: by the recursion's operators, by matrices, and with stiff bending, against each
 * other and against y' = f(t, y) of the same mechanism. */
#include "jacobians.h"
#include "support/mech_run.h"

#include "models/bending_chain.h"
#include "models/chain_mechanism.h"
#include "reference.h"
#include <math.h>
#include <models/counters.h>
#include <sunlinsol/sunlinsol_dense.h>

/* ------------------------------------------------------------------------- operators, n = 12 -- */

enum { LINKS = 12, LEN = 4 * LINKS };

static MechRun *run_by_operators(Chain *chain, N_Vector y) {
  const CPEquations model = chain_mechanism(chain);
  return mech_run_create(&model, chain, entries(y));
}

static MechRun *run_by_matrices(BendingChain *chain, int sparse, N_Vector y) {
  CPEquations model;
  ck_assert_int_eq(bending_chain_model(chain, sparse, test_context, &model), 0);
  MechRun *run = mech_run_create(&model, chain, entries(y));
  bending_chain_model_free(&model);
  return run;
}

static BendingChain *new_chain(sunindextype n, sunrealtype k, sunrealtype d) {
  BendingChain *chain = bending_chain_create(n, 9.81, k, d);
  ck_assert_ptr_nonnull(chain);
  return chain;
}

/* Sums of at most 4 n terms of size n g and n times the links' rates; the tridiagonal solution has
   a condition below n^2. */
START_TEST(operators_and_matrices_agree_at_a_state) {
  BendingChain *chain     = new_chain(LINKS, 0, 0);
  N_Vector y              = vector_of(LEN, NULL);
  unsigned long long seed = 3;
  bending_chain_initial(chain, 0.4, y);
  for (int i = LEN / 2; i < LEN; i++) entries(y)[i] = random_number(&seed);
  MechRun *run[3] = {run_by_operators(chain->rods, y), run_by_matrices(chain, 0, y),
                     run_by_matrices(chain, 1, y)};
  sunrealtype udot[3][LEN / 2], lambda[3][LINKS], Sx[3][LINKS], x[LINKS], tangent[3][LEN / 2];
  SUNMatrix S = SUNDenseMatrix(LINKS, LINKS, test_context);
  for (int i = 0; i < LINKS; i++) x[i] = random_number(&seed);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < LEN / 2; i++) tangent[k][i] = entries(y)[LEN / 2 + i];
    ck_assert_int_eq(CPMechAccelerations(run[k]->mech, 0, y, udot[k], lambda[k]), CP_SUCCESS);
    ck_assert_int_eq(CPMechDelassus(run[k]->mech, 0, y, S, NULL), CP_SUCCESS);
    for (int i = 0; i < LINKS; i++) {
      Sx[k][i] = 0;
      for (int j = 0; j < LINKS; j++) Sx[k][i] += SM_ELEMENT_D(S, i, j) * x[j];
    }
    ck_assert_int_eq(CPMechProject(run[k]->mech, CP_TANGENT, 0, y, tangent[k]), CP_SUCCESS);
  }
  SUNMatDestroy(S);
  const sunrealtype bound = 4 * LINKS * ROUNDOFF * LINKS * LINKS * 10;
  for (int k = 1; k < 3; k++) {
    for (int i = 0; i < LINKS; i++) {
      ck_assert_double_le(fabs(lambda[k][i] - lambda[0][i]), bound * LINKS);
      ck_assert_double_le(fabs(Sx[k][i] - Sx[0][i]), 100 * ROUNDOFF);
    }
    for (int i = 0; i < LEN / 2; i++) {
      ck_assert_double_le(fabs(udot[k][i] - udot[0][i]), bound * LINKS);
      ck_assert_double_le(fabs(tangent[k][i] - tangent[0][i]), 1e-9); /* conjugate gradients */
    }
  }
  for (int k = 0; k < 3; k++) mech_run_free(&run[k]);
  bending_chain_free(&chain);
  N_VDestroy(y);
}
END_TEST

/* Operator methods form no matrix, and projections use Krylov's method. All runs, and that of
 * y' = f with a projector of its own, follow one trajectory. Released at rest from the horizontal,
 * the chain does not whip until t = 1: errors grow like those of a falling body, by 1 + t, in each
 * of n links. */
START_TEST(operators_follow_the_matrices) {
  const sunrealtype t_end = 1, tol = 1e-8;
  BendingChain *chain = new_chain(LINKS, 0, 0);
  N_Vector y          = vector_of(LEN, NULL);
  MechCounters stats;
  CPLinSol solver;
  bending_chain_initial(chain, 0, y);
  MechRun *run[3] = {run_by_operators(chain->rods, y), run_by_matrices(chain, 0, y),
                     run_by_matrices(chain, 1, y)};
  for (int k = 0; k < 3; k++) {
    mech_run_start(run[k], CV_ADAMS, tol);
    mech_run_to(run[k], t_end);
    CPMechOutput out = CP_INIT(CPMechOutput);
    ck_assert_int_eq(CPMechEvaluate(run[k]->mech, t_end, run[k]->y, &out), CP_SUCCESS);
    ck_assert_double_le(fmax(out.position, out.velocity), tol * LINKS);
    ck_assert_double_le(fabs(chain_energy(chain->rods, run[k]->y)),
                        mech_run_bound(run[k], 10, 20 * LINKS));
    ck_assert_double_le(mech_run_error(run[k], LEN, entries(run[0]->y)),
                        mech_run_bound(run[k], 10, 2 * (1 + t_end) * LINKS));
    if (wants_figures())
      printf("chain of %d, %s: %ld steps, distance %.1e\n", LINKS,
             k == 0   ? "operators"
             : k == 1 ? "dense"
                      : "sparse",
             mech_run_steps(run[k]), mech_run_error(run[k], LEN, entries(run[0]->y)));
  }
  ck_assert_int_eq(mech_counters(run[0]->mech, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nM, 0);
  ck_assert_int_eq(stats.nkkt, 0);
  ck_assert_int_gt(stats.nudot, mech_run_steps(run[0]));
  CPProjector P = CPMechGetProjector(run[0]->mech);
  ck_assert_int_eq(CPProjectorGetLinearSolver(P, &solver, NULL), CP_SUCCESS);
  ck_assert_int_eq(solver, CP_LINSOL_PRODUCTS);
  for (int k = 0; k < 3; k++) mech_run_free(&run[k]);
  bending_chain_free(&chain);
  N_VDestroy(y);
}
END_TEST

/* ----------------------------------------------------------------------------- stiff bending -- */

enum { STIFF = 20 };

/* The index-3 form and the ODE form have been written down separately */
START_TEST(bending_chain_is_its_ode_form) {
  const int n = _i % 3 + 1, sparse = _i / 3; /* 1, 2, 3 masses; the tests below loop over the same */
  BendingChain *chain = new_chain(n, 300, 20);
  N_Vector y = vector_of(4 * n, NULL), ydot = vector_copy(y);
  unsigned long long seed = 8;
  CPMechReport report     = CP_INIT(CPMechReport);
  sunrealtype udot[6], lambda[3], tensions[3];
  bending_chain_initial(chain, 0.3, y);
  for (int i = 0; i < 4 * n; i++) entries(y)[i] += random_number(&seed) / 4;
  MechRun *run = run_by_matrices(chain, sparse, y);
  ck_assert_int_eq(bending_chain_rhs(0, y, ydot, chain), 0);
  ck_assert_int_eq(bending_chain_tensions(chain, y, tensions), 0);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, y, udot, lambda), CP_SUCCESS);
  const sunrealtype bound = 100 * ROUNDOFF * 300 * 16; /* of the springs' forces */
  for (int i = 0; i < 2 * n; i++)
    ck_assert_double_le(fabs(udot[i] - entries(ydot)[2 * n + i]), bound);
  for (int i = 0; i < n; i++) ck_assert_double_le(fabs(lambda[i] - tensions[i]), bound);

  /* A, b, v and all partial derivatives against differences */
  ck_assert_msg(CPMechCheck(run->mech, 0, y, &report) == CP_SUCCESS, "%s", run->log.text);
  const sunrealtype errors[] = {report.A_p, report.A_v, report.v_p, report.b_v, report.K,
                                report.C,   report.Bq,  report.Bu,  report.Uq,  report.Uu};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) ck_assert_double_le(errors[i], 1e-6);
  mech_run_free(&run);
  bending_chain_free(&chain);
  N_VDestroy(y);
  N_VDestroy(ydot);
}
END_TEST

/* J of the ODE form by central differences of step e: truncation e^2 / 6 times third derivatives of
   forces of size 300 * 16 that S, which moves with q, is divided out of: below 100 of them;
   roundoff of these forces / e */
START_TEST(ode_form_has_its_jacobian) {
  const int n         = 4;
  const sunrealtype e = 1e-5, bound = (e * e / 6 * 100 + 10 * ROUNDOFF / e) * 300 * 16;
  BendingChain *chain = new_chain(n, 300, 20);
  N_Vector y = vector_of(4 * n, NULL), tmp = vector_copy(y);
  N_Vector before = vector_copy(y), after = vector_copy(y);
  SUNMatrix J             = SUNDenseMatrix(4 * n, 4 * n, test_context);
  unsigned long long seed = 9;
  bending_chain_initial(chain, 0.3, y);
  for (int i = 0; i < 4 * n; i++) entries(y)[i] += random_number(&seed) / 4;
  ck_assert_int_eq(bending_chain_jacobian(0, y, NULL, J, chain, tmp, NULL, NULL), 0);
  for (int j = 0; j < 4 * n; j++) {
    const sunrealtype yj = entries(y)[j];
    entries(y)[j]        = yj - e;
    ck_assert_int_eq(bending_chain_rhs(0, y, before, chain), 0);
    entries(y)[j] = yj + e;
    ck_assert_int_eq(bending_chain_rhs(0, y, after, chain), 0);
    entries(y)[j] = yj;
    for (int i = 0; i < 4 * n; i++) {
      const sunrealtype quotient = (entries(after)[i] - entries(before)[i]) / (2 * e);
      ck_assert_double_le(fabs(SM_ELEMENT_D(J, i, j) - quotient), bound);
    }
  }
  SUNMatDestroy(J);
  N_VDestroy(y);
  N_VDestroy(tmp);
  N_VDestroy(before);
  N_VDestroy(after);
  bending_chain_free(&chain);
}
END_TEST

/* The full iteration matrix I - gamma J, dense, as CVODES makes it from a Jacobian. Its user data
 * is the CPMech. */
static int full_jacobian(sunrealtype t, N_Vector y, N_Vector ydot, SUNMatrix J, void *user_data,
                         N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  return bending_chain_jacobian(t, y, ydot, J, CPMechGetUserData(user_data), tmp1, tmp2, tmp3);
}

typedef enum { FULL, HALF, DENSE, SPARSE, NUM_WAYS } Way;
static const char *const way_name[NUM_WAYS] = {"full", "half", "dense KKT", "sparse KKT"};

/* Integrates to t_end by the given iteration matrix, and checks that energy never grows. */
static MechRun *bend_until(sunrealtype t_end, BendingChain *chain, Way way, sunrealtype tol,
                           N_Vector y) {
  static const CPMechNewton newton[NUM_WAYS] = {CP_NEWTON_NONE, CP_NEWTON_HALF, CP_NEWTON_KKT,
                                                CP_NEWTON_KKT};
  MechRun *run                               = run_by_matrices(chain, way == SPARSE, y);
  SUNMatrix J                                = NULL;
  SUNLinearSolver LS                         = NULL;
  sunrealtype energy                         = bending_chain_energy(chain, run->y);
  ck_assert_int_eq(CPMechSetNewton(run->mech, newton[way]), CP_SUCCESS);
  mech_run_start(run, CV_BDF, tol);
  if (way == FULL) {
    void *cvode_mem = CPIntegratorGetCVodeMem(run->cpode);
    J               = SUNDenseMatrix(4 * STIFF, 4 * STIFF, test_context);
    LS              = SUNLinSol_Dense(run->y, J, test_context);
    ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, LS, J), CV_SUCCESS);
    ck_assert_int_eq(CVodeSetJacFn(cvode_mem, full_jacobian), CV_SUCCESS);
  }
  for (int i = 1; i <= 5; i++) {
    mech_run_to(run, i * t_end / 5);
    const sunrealtype now = bending_chain_energy(chain, run->y);
    ck_assert_double_le(now, energy + mech_run_bound(run, STIFF, 10 * 9.81 * STIFF));
    energy = now;
  }
  if (LS) SUNLinSolFree(LS);
  if (J) SUNMatDestroy(J);
  return run;
}

/* All iteration matrices are I - gamma J, eliminated: the same steps within 5 % in the geometric
 * mean over a ladder of tolerances, and the same end. The bending is stiff, so errors of a step are
 * damped, except for the swing as a whole. */
START_TEST(structured_newton_takes_the_steps_of_the_full_one) {
  const sunrealtype t_end = 0.5, d = _i ? 1e4 : 1e3, ladder[] = {0.8, 0.9, 1, 1.12, 1.25};
  enum { RUNGS = sizeof ladder / sizeof *ladder };
  BendingChain *chain          = new_chain(STIFF, 1e5, d);
  N_Vector y                   = vector_of(4 * STIFF, NULL);
  sunrealtype excess[NUM_WAYS] = {0}; /* mean of log(steps / those of the full matrix) */
  bending_chain_initial(chain, -0.5, y);
  for (int rung = 0; rung < RUNGS; rung++) {
    const sunrealtype tol = 1e-6 * ladder[rung];
    MechRun *full         = bend_until(t_end, chain, FULL, tol, y);
    for (Way way = HALF; way < NUM_WAYS; way++) {
      MechRun *run          = bend_until(t_end, chain, way, tol, y);
      const sunrealtype off = mech_run_error(run, 4 * STIFF, entries(full->y));
      MechCounters stats;
      ck_assert_int_eq(mech_counters(run->mech, &stats), CP_SUCCESS);
      ck_assert_int_eq(stats.newton, way == HALF ? CP_NEWTON_HALF : CP_NEWTON_KKT);
      ck_assert_int_gt(stats.nnewton, 0);
      /* All derivatives are given, and only compared: differences take as many for each block. */
      ck_assert_int_lt(stats.nDQ, STIFF);
      ck_assert_double_le(off, 2 * mech_run_bound(run, STIFF, 1 + t_end));
      excess[way] +=
          log((sunrealtype)mech_run_steps(run) / (sunrealtype)mech_run_steps(full)) / RUNGS;
      mech_run_free(&run);
    }
    mech_run_free(&full);
  }
  for (Way way = HALF; way < NUM_WAYS; way++) {
    if (wants_figures())
      printf("bending d = %g, %s: %.3f of the full matrix' steps\n", d, way_name[way],
             exp(excess[way]));
    ck_assert_double_le(fabs(excess[way]), log(1.05));
  }
  bending_chain_free(&chain);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(mechanics_chain) {
  Suite *suite = suite_create("mechanics_chain");
  TCase *tcase = tcase_create("chain");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_test(tcase, operators_and_matrices_agree_at_a_state);
  tcase_add_test(tcase, operators_follow_the_matrices);
  tcase_add_loop_test(tcase, bending_chain_is_its_ode_form, 0, 6);
  tcase_add_test(tcase, ode_form_has_its_jacobian);
  tcase_add_loop_test(tcase, structured_newton_takes_the_steps_of_the_full_one, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
