/* Sensitivities of the pendulum to its length and to gravity against its closed form by elliptic functions
 * (pendulum_exact), whose derivatives are differences of sixth order; as a right-hand side with a
 * projector, and as a CPMech. */
#include "reference.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <stdio.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { BY_L, BY_G, NS };

/* d(state)/d(L, g) at t. Steps of 1e-3: truncation (1e-3)^6 and roundoff 1e-15 / 1e-3, both far below
   1e-10 of the derivative. s [NS] */
static void exact(const Pendulum *pendulum, sunrealtype t, sunrealtype s[NS][PENDULUM_N]) {
  const sunrealtype part = 1.0e-3;
  for (int i = 0; i < NS; i++) {
    for (int j = 0; j < PENDULUM_N; j++) s[i][j] = 0.0;
    for (int k = -3; k <= 3; k++) {
      if (k == 0) continue;
      Pendulum p          = *pendulum;
      sunrealtype *moved  = i == BY_L ? &p.L : &p.g, y[PENDULUM_N];
      const sunrealtype e = part * *moved;
      *moved += k * e;
      pendulum_exact(&p, t, y);
      for (int j = 0; j < PENDULUM_N; j++) s[i][j] += sixth_order(k) / e * y[j];
    }
  }
}

/* Largest |s_i - exact| / |exact|, in the largest norm */
static sunrealtype relative_error(const Pendulum *p, sunrealtype t, N_Vector *s) {
  sunrealtype worst = 0.0, ref[NS][PENDULUM_N];
  exact(p, t, ref);
  for (int i = 0; i < NS; i++) {
    sunrealtype size = 0.0, off = 0.0;
    for (int j = 0; j < PENDULUM_N; j++) {
      size = fmax(size, fabs(ref[i][j]));
      off  = fmax(off, fabs(ref[i][j] - entries(s[i])[j]));
    }
    worst = fmax(worst, off / size);
  }
  return worst;
}

/* Largest |G s_i + dc/dp_i| / (1 + |s_i|): c = (|x|^2 - L^2, x . v) */
static sunrealtype residual(const Pendulum *p, N_Vector yv, N_Vector *sv) {
  const sunrealtype *y = entries(yv);
  sunrealtype worst    = 0.0;
  for (int i = 0; i < NS; i++) {
    const sunrealtype *s       = entries(sv[i]);
    const sunrealtype position = 2.0 * (y[0] * s[0] + y[1] * s[1] - (i == BY_L ? p->L : 0.0));
    const sunrealtype velocity = y[2] * s[0] + y[3] * s[1] + y[0] * s[2] + y[1] * s[3];
    worst = fmax(worst, fmax(fabs(position), fabs(velocity)) / (1.0 + N_VMaxNorm(sv[i])));
  }
  return worst;
}

/* Steps to t = 10, nearly five periods, or to 4 in a short run; the largest residual and the error at the end */
typedef struct {
  sunrealtype error, residual;
} Found;

static Found march(CPIntegrator mem, Pendulum *p, N_Vector y, N_Vector *s) {
  Found found                   = {0.0, 0.0};
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = &p->L, .y0S = s};
  CPSens sens                   = NULL;
  sunrealtype t                 = 0.0;
  void *cvode_mem               = CPIntegratorGetCVodeMem(mem);
  const sunrealtype end         = test_is_short() ? 4.0 : 10.0;
  ck_assert_int_eq(CVodeSetStopTime(cvode_mem, end), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 100000), CV_SUCCESS);
  ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, y, test_context));
  ck_assert_int_eq(CPSensSetErrCon(sens, SUNTRUE), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetSens(mem, sens), CP_SUCCESS);
  while (t < end) {
    ck_assert_msg(CPIntegratorEvolve(mem, end, y, &t, CV_ONE_STEP) >= 0, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mem)));
    ck_assert_int_eq(CPSensGetDky(sens, t, 0, s), CP_SUCCESS);
    found.residual = fmax(found.residual, residual(p, y, s));
  }
  CPSensFree(&sens);
  found.error = relative_error(p, t, s);
  if (wants_figures()) printf("relative error %.2e, residual %.2e\n", found.error, found.residual);
  return found;
}

static Found with_projector(int lmm, int projected) {
  Pendulum p = {1.0, 9.81};
  N_Vector y = vector_of(PENDULUM_N, NULL), c = vector_of(PENDULUM_M, NULL);
  SUNMatrix A              = SUNDenseMatrix(PENDULUM_N, PENDULUM_N, test_context);
  SUNLinearSolver LS       = SUNLinSol_Dense(y, A, test_context);
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPoint(y, 0, test_context);
  CPProjector P            = CPProjectorCreate(pendulum_constraints, y, c, test_context);
  CPIntegrator mem         = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  pendulum_initial(&p, y);
  ck_assert_int_eq(CPProjectorSetUserData(P, &p), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, pendulum_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-10, 1.0e-10), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, projected ? P : NULL), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &p), CV_SUCCESS);
  if (lmm == CV_ADAMS) ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, fixed), CP_SUCCESS);
  else ck_assert_int_eq(CVodeSetLinearSolver(CPIntegratorGetCVodeMem(mem), LS, A), CV_SUCCESS);
  N_Vector *s = N_VCloneVectorArray(NS, y);
  for (int i = 0; i < NS; i++) N_VConst(0.0, s[i]);
  entries(s[BY_L])[0] = 1.0;
  const Found found   = march(mem, &p, y, s);
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  SUNNonlinSolFree(fixed);
  N_VDestroyVectorArray(s, NS);
  N_VDestroy(y);
  N_VDestroy(c);
  return found;
}

static Found with_mechanics(int lmm, CPMechMetric metric) {
  Pendulum p              = {1.0, 9.81};
  const CPEquations model = pendulum_model();
  sunrealtype y0[4]       = {p.L, 0.0, 0.0, 0.0};
  MechRun *run            = mech_run_create(&model, &p, y0);
  ck_assert_int_eq(CPMechSetMetric(run->mech, metric), CP_SUCCESS);
  mech_run_start(run, lmm, 1.0e-10);
  N_Vector *s = N_VCloneVectorArray(NS, run->y);
  for (int i = 0; i < NS; i++) N_VConst(0.0, s[i]);
  entries(s[BY_L])[0] = 1.0;
  const Found found   = march(run->cpode, &p, run->y, s);
  N_VDestroyVectorArray(s, NS);
  mech_run_free(&run);
  return found;
}

/* G s, or its part by dv/dq, is a difference of sixth order here: its roundoff is DBL_EPSILON / 3e-3 of
   terms |y| |s| <= 6 |s|, 4e-13 (1 + |s|) for each of six evaluations and two parts. */
#define ROUNDOFF 1.0e-11

START_TEST(with_a_projector_they_are_those_of_the_closed_form) {
  const Found found = with_projector(_i, 1);
  ck_assert_double_lt(found.error, 1.0e-6);
  ck_assert_double_lt(found.residual, ROUNDOFF);
}
END_TEST

START_TEST(without_projection_they_leave_the_linearised_manifold) {
  ck_assert_double_gt(with_projector(_i, 0).residual, 100.0 * ROUNDOFF);
}
END_TEST

static const CPMechMetric metrics[] = {CP_METRIC_DEFAULT, CP_METRIC_ERROR, CP_METRIC_L2,
                                       CP_METRIC_KINETIC, CP_METRIC_NEWTON};
enum { METRICS = sizeof metrics / sizeof metrics[0] };

/* BDF only with NEWTON, whose metric is that of Newton's iteration */
START_TEST(sensitivities_of_a_mechanical_system_are_those_of_the_closed_form) {
  const int lmm             = _i % 2 ? CV_ADAMS : CV_BDF;
  const CPMechMetric metric = metrics[_i / 2];
  const Found found         = with_mechanics(lmm, metric);
  ck_assert_double_lt(found.error, 1.0e-6);
  ck_assert_double_lt(found.residual, ROUNDOFF);
}
END_TEST

/* lambda = L tau along the motion: d(lambda)/dp by the closed form */
START_TEST(multipliers_have_the_sensitivities_of_the_rods_tension) {
  Pendulum p              = {1.0, 9.81};
  const CPEquations model = pendulum_model();
  const sunrealtype t = 0.4, part = 1.0e-3;
  sunrealtype y0[4], s0[NS][PENDULUM_N], lambda;
  pendulum_exact(&p, t, y0);
  exact(&p, t, s0);
  MechRun *run                  = mech_run_create(&model, &p, y0);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = &p.L};
  for (int i = 0; i < NS; i++) {
    N_Vector s = vector_of(PENDULUM_N, s0[i]), y = vector_of(PENDULUM_N, NULL);
    sunrealtype ref = 0.0;
    for (int k = -3; k <= 3; k++) {
      if (k == 0) continue;
      Pendulum moved      = p;
      sunrealtype *value  = i == BY_L ? &moved.L : &moved.g;
      const sunrealtype e = part * *value;
      *value += k * e;
      pendulum_exact(&moved, t, entries(y));
      ref += sixth_order(k) / e * pendulum_tension(&moved, y);
    }
    const sunrealtype dp[NS] = {i == BY_L, i == BY_G};
    ck_assert_int_eq(CPMechJvp(run->mech, t, run->y, &parameters, s, dp, NULL, &lambda), CP_SUCCESS);
    ck_assert_double_eq_tol(lambda, ref, 1.0e-9 * (1.0 + fabs(ref)));
    N_VDestroy(s);
    N_VDestroy(y);
  }
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(sensitivity_pendulum) {
  Suite *suite = suite_create("Sensitivities of the pendulum");
  TCase *tc    = tcase_create("pendulum");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, with_a_projector_they_are_those_of_the_closed_form, CV_ADAMS, CV_BDF + 1);
  tcase_add_loop_test(tc, without_projection_they_leave_the_linearised_manifold, CV_ADAMS,
                      CV_BDF + 1);
  tcase_add_loop_test(tc, sensitivities_of_a_mechanical_system_are_those_of_the_closed_form, 0,
                      2 * METRICS);
  tcase_add_test(tc, multipliers_have_the_sensitivities_of_the_rods_tension);
  suite_add_tcase(suite, tc);
  return suite;
}
