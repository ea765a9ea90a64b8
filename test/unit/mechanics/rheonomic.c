/* Time-dependent constraints: v and b by differences, and the norm that tests steps. A mass is
 * driven by 0 = p = q_0 - sin(w t); another one swings freely and is hardly affected:
 *
 *   q_1'' = -q_1 + c q_0,   c = 1e-3 */
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <math.h>

typedef struct {
  sunrealtype w, c;
} Drive;

static int masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}

static int first_mass(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = 1;
  return 0;
}

static int spring(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)u, (void)z;
  f[1] = -q[1] + ((const Drive *)user_data)->c * q[0];
  return 0;
}

static int driven(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  p[0] = q[0] - sin(((const Drive *)user_data)->w * t);
  return 0;
}

static MechRun *driven_run(Drive *d) {
  const CPEquations model   = {CP_SIZED(CPEquations), .nu = 2,     .np = 1,    .M = masses,
                               .A = first_mass,       .f = spring, .p = driven};
  const sunrealtype start[] = {0, 1, d->w, 0};
  return mech_run_create(&model, d, start);
}

/* At t with q_0 = sin(w t), u_0 = w cos(w t): v = 0 and u_0' = b = -w^2 sin(w t). Differences of
 * sixth order, with steps that suit the motion, leave about 1e-12 of w in v, and, if v is by
 * differences as well, 1e-10 of w^2 in b: (noise of v) / (step of about 0.02 / w). The steps start
 * from a time that is w times too long. */
START_TEST(differences_find_the_time_of_an_explicit_motion) {
  Drive d             = {.w = pow(10, _i), .c = 1e-3};
  MechRun *run        = driven_run(&d);
  const sunrealtype t = 0.7 / d.w;
  sunrealtype udot[2], *y = entries(run->y);
  y[0] = sin(d.w * t), y[2] = d.w * cos(d.w * t);
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot};
  ck_assert_int_eq(CPMechEvaluate(run->mech, t, run->y, &out), CP_SUCCESS);
  ck_assert_double_le(out.velocity, 1e-12 * d.w);
  ck_assert_double_le(fabs(udot[0] + d.w * d.w * sin(d.w * t)), 1e-10 * d.w * d.w);
  mech_run_free(&run);
}
END_TEST

static long int steps_with(Drive *d, CPErrEst mode) {
  MechRun *run = driven_run(d);
  mech_run_start(run, CV_BDF, 1e-8);
  ck_assert_int_eq(CPIntegratorSetErrEst(run->cpode, mode), CP_SUCCESS);
  mech_run_to(run, 10);
  const long int steps = mech_run_steps(run);
  mech_run_free(&run);
  return steps;
}

/* The driven mass has errors along the normals only. The share of these that a projected test
 * counts keeps steps from growing until projections move too far and cut them (48,861 steps without
 * any share, 3,573 with an unprojected test). */
START_TEST(what_is_driven_costs_no_more_steps_than_unprojected_tests_take) {
  Drive d = {.w = 10, .c = 1e-3};
  ck_assert_int_eq(steps_with(&d, CP_ERREST_DEFAULT), steps_with(&d, CP_ERREST_PROJECTED));
  ck_assert_double_le((double)steps_with(&d, CP_ERREST_DEFAULT),
                      1.2 * (double)steps_with(&d, CP_ERREST_UNPROJECTED));
}
END_TEST

/* ---- no freedom left ---- */

/* Both masses are driven: all error is normal to the constraints, and its projection is zero at any
 * step size. Output between the ends of steps shows whether the steps follow the motion. */
static int both_masses(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = SM_ELEMENT_D(A, 1, 1) = 1;
  return 0;
}

static int both_driven(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const sunrealtype w = ((const Drive *)user_data)->w;
  p[0]                = q[0] - sin(w * t);
  p[1]                = q[1] - cos(2 * w * t);
  return 0;
}

static void driven_motion(sunrealtype w, sunrealtype t, sunrealtype *y) {
  y[0] = sin(w * t), y[1] = cos(2 * w * t), y[2] = w * cos(w * t), y[3] = -2 * w * sin(2 * w * t);
}

static const char *const all_methods[] = {"BDF",
                                          "Adams",
                                          "DOP853",
                                          "ARKODE_DORMAND_PRINCE_7_4_5",
                                          "ARKODE_BOGACKI_SHAMPINE_4_2_3",
                                          "ARKODE_VERNER_8_5_6",
                                          "ARKODE_CASH_KARP_6_4_5",
                                          "RADAU"};
enum { METHODS = sizeof all_methods / sizeof *all_methods, DECADES = 7 };

START_TEST(a_mechanism_without_freedom_is_followed) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,     .np = 2,         .M = masses,
                             .A = both_masses,      .f = spring, .p = both_driven};
  const int method        = _i / DECADES;
  const sunrealtype tol   = pow(10, -4 - _i % DECADES);
  Drive d                 = {.w = 3, .c = 1e-3};
  sunrealtype exact[4], t;
  driven_motion(d.w, 0, exact);
  MechRun *run     = mech_run_create(&model, &d, exact);
  CPIntegrator mem = method < 2 ? NULL : CPIntegratorCreate(all_methods[method], test_context);
  if (!mem) mech_run_start(run, method ? CV_ADAMS : CV_BDF, tol);
  else ck_assert_int_eq(CPMechAttach(run->mech, mem, 0, run->y), CP_SUCCESS);
  if (mem) {
    CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log);
    CPIntegratorSStolerances(mem, tol, tol);
    CPIntegratorSetMaxNumSteps(mem, -1);
  }
  for (int i = 1; i <= 50; i++) {
    const int flag = mem ? CPIntegratorEvolve(mem, 0.2 * i, run->y, &t, CV_NORMAL)
                         : CPIntegratorEvolve(run->cpode, 0.2 * i, run->y, &t, CV_NORMAL);
    ck_assert_msg(flag == CP_SUCCESS, "%s, tol %g: %d, %s", all_methods[method], tol, flag,
                  run->log.text);
    driven_motion(d.w, 0.2 * i, exact);
    ck_assert_double_le(mech_run_error(run, 4, exact), 10 * tol);
  }
  ck_assert_msg(run->log.count == 0, "%s", run->log.text);
  CPIntegratorFree(&mem);
  mech_run_free(&run);
}
END_TEST

/* ---- a motion whose value has lost digits ---- */

/* A follower, q_1 = sin(q_0), of a crank that has made many turns: q_0 = start + w t */
typedef struct {
  sunrealtype start, w;
  int row; /* the motion is a row of the model's own */
} Cam;

static int turned(sunrealtype t, sunrealtype *g, void *data) {
  const Cam *cam = data;
  *g             = cam->start + cam->w * t;
  return 0;
}

static int turning_rate(sunrealtype t, sunrealtype *gd, void *data) {
  (void)t;
  *gd = ((const Cam *)data)->w;
  return 0;
}

static int nothing(sunrealtype t, sunrealtype *gdd, void *data) {
  (void)t, (void)data;
  *gdd = 0;
  return 0;
}

static int cam_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t;
  SM_ELEMENT_D(A, 0, 0) = -cos(q[0]);
  SM_ELEMENT_D(A, 0, 1) = 1;
  if (((const Cam *)data)->row) SM_ELEMENT_D(A, 1, 0) = 1;
  return 0;
}

static int cam_bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                    void *data) {
  (void)t;
  b[0] = -sin(q[0]) * u[0] * u[0];
  if (((const Cam *)data)->row) b[1] = 0;
  return 0;
}

static int cam_rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                     void *data) {
  const Cam *cam = data;
  (void)t;
  v[0] = u[1] - cos(q[0]) * u[0];
  if (cam->row) v[1] = u[0] - cam->w;
  return 0;
}

static int cam_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const Cam *cam = data;
  p[0]           = q[1] - sin(q[0]);
  if (cam->row) p[1] = q[0] - (cam->start + cam->w * t);
  return 0;
}

static int no_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)f, (void)data;
  return 0;
}

static long int steps_of_cam(Cam *cam, int how, sunrealtype tol) {
  const CPMotion by = {
      .kind = (CPMotionKind)how, .g = turned, .gd = turning_rate, .gdd = nothing, .data = cam};
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 2,        .np = 1 + cam->row,   .M = masses,
      .A = cam_matrix,       .b = cam_bias,  .f = no_force,        .v = cam_rates,
      .p = cam_positions,    .motions = &by, .nmotions = !cam->row};
  const sunrealtype start[] = {cam->start, sin(cam->start), cam->w, cos(cam->start) * cam->w};
  const sunrealtype end     = cam->start + cam->w * 10;
  MechRun *run              = mech_run_create(&model, cam, start);
  mech_run_start(run, CV_BDF, tol);
  mech_run_to(run, 10);
  ck_assert_double_le(fabs(entries(run->y)[1] - sin(end)), tol + 1e-9);
  const long int steps = mech_run_steps(run);
  mech_run_free(&run);
  return steps;
}

/* After a million turns the last digit of q_0 is worth 9e-10. Differences of high order make several tolerances
 * of it, which no smaller step reduces: 133,474 steps by BDF. Loop index: how, where the row of the model's own is
 * tried in place of RATE; tolerance. */
START_TEST(turns_before_the_start_cost_no_steps) {
  const int how = _i % 3, row = how == CP_MOTION_RATE;
  const sunrealtype tol = pow(10, -9 - _i / 3);
  Cam none = {.w = 3, .row = row}, many = {.start = 2e6 * acos(-1), .w = 3, .row = row};
  const long int steps = steps_of_cam(&none, how, tol), after = steps_of_cam(&many, how, tol);
  ck_assert_msg((double)after <= 1.2 * (double)steps, "tol %g: %ld steps, %ld without turns", tol,
                after, steps);
}
END_TEST

TEST_SUITE(rheonomic) {
  Suite *suite = suite_create("rheonomic");
  TCase *tcase = tcase_create("rheonomic");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, differences_find_the_time_of_an_explicit_motion, -1, 4);
  tcase_add_test(tcase, what_is_driven_costs_no_more_steps_than_unprojected_tests_take);
  tcase_add_loop_test(tcase, a_mechanism_without_freedom_is_followed, 0, METHODS * DECADES);
  tcase_add_loop_test(tcase, turns_before_the_start_cost_no_steps, 0, 6);
  suite_add_tcase(suite, tcase);
  return suite;
}
