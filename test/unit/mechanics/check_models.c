/* CPMechCheck on the models of examples/models, on operators, and on prescribed motions. */
#include "mechanics/constant.h"
#include "models/andrews.h"
#include "models/bending_chain.h"
#include "models/bushing_crank.h"
#include "models/car_axis.h"
#include "models/flexible_crank.h"
#include "models/four_bar.h"
#include "models/knife_edge.h"
#include "models/pendulum.h"
#include "models/slider_crank.h"
#include "models/spatial_four_bar.h"
#include "support/mech_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* As in check.c */
#define GOOD  SUN_RCONST(1e-8)
#define WRONG SUN_RCONST(1e-4)

static sunrealtype largest(const CPMechReport *r) {
  const sunrealtype all[] = {r->A_p, r->A_v, r->v_p, r->b_v, r->M,  r->K,  r->C,
                             r->Fz,  r->Bq,  r->Bu,  r->Zq,  r->Zu, r->Zz, r->Fl,
                             r->Uq,  r->Uu,  r->Uz,  r->N,   r->ATl};
  sunrealtype worst       = 0;
  for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) worst = fmax(worst, all[k]);
  return worst;
}

static void assert_good(CPMech mech, sunrealtype t, N_Vector y) {
  CPMechReport report = CP_INIT(CPMechReport);
  const int flag      = CPMechCheck(mech, t, y, &report);
  ck_assert_msg(flag == CP_SUCCESS, "%d, %s", flag, CPObjectGetLastMessage(CP_OBJECT(mech)));
  if (getenv("CPODES_FIGURES")) fprintf(stderr, "largest error %.1e\n", largest(&report));
  ck_assert_double_lt(largest(&report), GOOD);
}

/* Frees what CPMechCreate has copied. */
static CPMech create(const CPEquations *model, N_Vector y, void *user_data) {
  CPMech mech = create_mech(model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, user_data), CP_SUCCESS);
  return mech;
}

/* At t = 0.01, from the state y. */
static void check(CPEquations model, N_Vector y, void *user_data) {
  CPMech mech = create(&model, y, user_data);
  assert_good(mech, SUN_RCONST(0.01), y);
  CPMechFree(&mech);
  N_VDestroy(y);
}

/* ---- the models ---- */

enum { PLANAR = 7 };
static const int length[PLANAR] = {4, 6, 8, 6, 14, 8, 14};

/* As it is, and with v and b by differences, which are then differentiated themselves. */
static void check_both(CPEquations model, N_Vector y, void *user_data) {
  CPEquations by_differences = model;
  by_differences.v = by_differences.b = NULL;
  check(by_differences, vector_copy(y), user_data);
  check(model, y, user_data);
}

START_TEST(planar_mechanisms_pass) {
  Pendulum pendulum     = {.L = 1, .g = SUN_RCONST(9.81)};
  SliderCrank crank     = slider_crank_haug();
  CarAxis axis          = car_axis_testset();
  KnifeEdge knife       = {.g = SUN_RCONST(9.81), .alpha = SUN_RCONST(0.3), .omega = 2};
  FlexibleCrank elastic = flexible_crank_testset();
  BushingCrank bushing  = bushing_crank_stiff();
  N_Vector y[PLANAR];
  for (int k = 0; k < PLANAR; k++) y[k] = vector_of(length[k], NULL);
  pendulum_initial(&pendulum, y[0]);
  slider_crank_initial(&crank, y[1]);
  car_axis_initial(&axis, y[2]);
  knife_edge_initial(&knife, y[3]);
  flexible_crank_initial(y[4]);
  bushing_crank_initial(&bushing, y[5]);
  andrews_initial(y[6]);
  CPEquations half  = pendulum_model();
  half.dynamics_jac = NULL; /* the derivatives of the constraints alone are compared as well */
  check(half, vector_copy(y[0]), &pendulum);
  check_both(pendulum_model(), y[0], &pendulum);
  check_both(slider_crank_model(), y[1], &crank);
  check_both(car_axis_model(), y[2], &axis);
  check(knife_edge_model(), y[3], &knife);
  CPEquations rod = flexible_crank_model();
  check(rod, vector_copy(y[4]), &elastic);
  /* b by differences has errors of about 1e-11 here, which the differences for Bq and Bu amplify to
   * 1e-7 */
  rod.constraint_jac = NULL;
  check_both(rod, y[4], &elastic);
  check_both(bushing_crank_model(), y[5], &bushing);
  check_both(andrews_model(), y[6], NULL);
}
END_TEST

START_TEST(bending_chain_passes_dense_and_sparse) {
  CPEquations model;
  BendingChain *chain = bending_chain_create(12, SUN_RCONST(9.81), 100, 20);
  ck_assert_ptr_nonnull(chain);
  ck_assert_int_eq(bending_chain_model(chain, _i, test_context, &model), 0);
  N_Vector y = vector_of(48, NULL);
  bending_chain_initial(chain, SUN_RCONST(0.3), y);
  CPMech mech = create(&model, y, chain);
  bending_chain_model_free(&model);
  assert_good(mech, 0, y);
  CPMechFree(&mech);
  N_VDestroy(y);
  bending_chain_free(&chain);
}
END_TEST

/* Bending couples masses that are two apart, whereas links couple only neighbours. Without a matrix
 * this does not matter. */
START_TEST(sparse_pattern_that_lacks_entries_is_named) {
  CPEquations model;
  CPMechReport report = CP_INIT(CPMechReport);
  BendingChain *chain = bending_chain_create(12, SUN_RCONST(9.81), 100, 20);
  ck_assert_ptr_nonnull(chain);
  ck_assert_int_eq(bending_chain_model(chain, 1, test_context, &model), 0);
  N_Vector y = vector_of(48, NULL);
  bending_chain_initial(chain, SUN_RCONST(0.3), y);
  CPEquations lacking  = model;
  lacking.K_tmpl       = NULL;
  lacking.dynamics_jac = NULL;
  CPMech mech          = create(&lacking, y, chain);
  bending_chain_model_free(&model);
  ck_assert_int_eq(CPMechCheck(mech, 0, y, &report), CP_MECH_DERIV_WRONG);
  ck_assert_msg(strstr(CPObjectGetLastMessage(CP_OBJECT(mech)), "K_tmpl lacks an entry: K("), "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  ck_assert(report.K > SUN_RCONST(1e-4) && report.C > SUN_RCONST(1e-4));
  CPIntegrator adams = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_int_eq(CPMechAttach(mech, adams, 0, y), CP_SUCCESS);
  assert_good(mech, 0, y);
  CPIntegratorFree(&adams);
  CPMechFree(&mech);
  N_VDestroy(y);
  bending_chain_free(&chain);
}
END_TEST

START_TEST(four_bar_passes) {
  FourBar *f = four_bar_create(3, SUN_RCONST(9.81));
  ck_assert_ptr_nonnull(f);
  N_Vector y = vector_of(four_bar_n(3), NULL);
  four_bar_state(f, SUN_RCONST(0.7), 2, y);
  check(four_bar_model(f), y, f);
  four_bar_free(&f);
}
END_TEST

/* Quaternions in both frames; their norms are off by 1 % at this state. */
START_TEST(bodies_in_space_pass) {
  const sunrealtype rods[3] = {1, 2, SUN_RCONST(1.5)}, rate[3] = {2, -1, SUN_RCONST(0.5)};
  sunrealtype angle[3] = {SUN_RCONST(1.1), 0, 0};
  SpatialFourBar bar;
  CPEquations model;
  spatial_four_bar_create(&bar, rods, 2, SUN_RCONST(9.81), _i / 2 ? CP_FRAME_WORLD : CP_FRAME_BODY);
  ck_assert_int_eq(spatial_four_bar_close(&bar, angle), 0);
  ck_assert_int_eq(rigid_body_model(&bar.bodies, _i % 2, test_context, &model), 0);
  N_Vector y = vector_of(SPATIAL_FOUR_BAR_N, NULL);
  spatial_four_bar_place(&bar, angle, rate, y);
  for (int k = 3; k < 7; k++) entries(y)[k] *= SUN_RCONST(1.01);
  CPMech mech = create(&model, y, &bar.bodies);
  rigid_body_model_free(&model);
  assert_good(mech, 0, y);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* A pendulum on a ball joint at its origin. A is for angular velocities in the world's frame, which
 * are those in the body's frame when its quaternion is 1. */
static int body_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 6; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int ball_joint(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype w = q[3], x = q[4], y = q[5], z = q[6]; /* the joint is on the body's z axis */
  p[0] = q[0] + 2 * (x * z + w * y);
  p[1] = q[1] + 2 * (y * z - w * x);
  p[2] = q[2] + w * w - x * x - y * y + z * z;
  return 0;
}

static int ball_joint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype w = q[3], x = q[4], y = q[5], z = q[6];
  const sunrealtype r[3] = {2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z};
  for (int i = 0; i < 3; i++) {
    SM_ELEMENT_D(A, i, i)               = 1;
    SM_ELEMENT_D(A, i, 3 + (i + 1) % 3) = r[(i + 2) % 3];
    SM_ELEMENT_D(A, i, 3 + (i + 2) % 3) = -r[(i + 1) % 3];
  }
  return 0;
}

START_TEST(frame_that_is_wrong_shows_where_the_quaternion_is_1) {
  const CPFrame frame         = _i ? CP_FRAME_BODY : CP_FRAME_WORLD;
  const CPQuaternion attitude = {3, 3, frame};
  const CPEquations model     = {CP_SIZED(CPEquations),
                                 .nu           = 6,
                                 .nq           = 7,
                                 .np           = 3,
                                 .M            = body_mass,
                                 .A            = ball_joint_matrix,
                                 .p            = ball_joint,
                                 .quaternions  = &attitude,
                                 .nquaternions = 1};
  CPMechReport report         = CP_INIT(CPMechReport);
  N_Vector y                  = vector_of(13, NULL);
  entries(y)[2]               = -1;
  entries(y)[3]               = 1;
  CPMech mech                 = create(&model, y, NULL);
  const int flag              = CPMechCheck(mech, 0, y, &report);
  ck_assert_int_eq(flag, frame == CP_FRAME_BODY ? CP_MECH_A_WRONG : CP_SUCCESS);
  if (flag)
    ck_assert_msg(strstr(CPObjectGetLastMessage(CP_OBJECT(mech)), "moved"), "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* ---- operators ---- */

/* Checks at a state of the mechanism with constant matrices: the code, and what the message must
 * mention. */
static CPMechReport found(Constant *c, int code, const char *word) {
  CPMechReport report = CP_INIT(CPMechReport);
  constant_build(c);
  const int flag = CPMechCheck(c->mech, 0, c->y, &report);
  ck_assert_msg(flag == code, "%d, %s", flag, c->log.text);
  if (code) ck_assert_mentions(c->log.text, word);
  constant_free(c);
  return report;
}

START_TEST(operators_are_compared_with_each_other) {
  Constant good = {.form = OPERATORS, .state = 11};
  constant_fill(&good);
  Constant wrong      = good;
  CPMechReport report = found(&wrong, CP_SUCCESS, "");
  ck_assert_double_lt(largest(&report), GOOD);

  wrong           = good;
  wrong.wrong_ATl = SUN_RCONST(0.01);
  report          = found(&wrong, CP_MECH_A_WRONG, "by ATl");
  ck_assert_double_gt(report.ATl, WRONG);

  wrong            = good;
  wrong.wrong_Minv = SUN_RCONST(0.01);
  report           = found(&wrong, CP_MECH_DERIV_WRONG, "Minv");
  ck_assert_double_gt(report.ATl, WRONG);
  ck_assert_double_lt(report.M, GOOD);

  wrong = good;
  wrong.M[0][3] += SUN_RCONST(0.05);
  report = found(&wrong, CP_MECH_DERIV_WRONG, "Mu is not symmetric");
  ck_assert_double_gt(report.M, WRONG);
}
END_TEST

/* ---- accelerations and their derivatives ---- */

/* u_0' = -sin q_0 + z u_1,  u_1' = q_0 u_0^2 - 3 q_1 */
static int accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)t, (void)lambda, (void)data;
  udot[0] = -sin(q[0]) + z[0] * u[1];
  udot[1] = q[0] * u[0] * u[0] - 3 * q[1];
  return 0;
}

static int decay(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 const sunrealtype *lambda, sunrealtype *zdot, void *data) {
  (void)t, (void)q, (void)u, (void)lambda, (void)data;
  zdot[0] = -z[0];
  return 0;
}

/* data: offsets of Uq(1, 0), Uu(1, 0), Uz(0, 0) */
static int accelerations_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz,
                             void *data) {
  const sunrealtype *wrong = data;
  (void)t;
  SM_ELEMENT_D(Uq, 0, 0) = -cos(q[0]);
  SM_ELEMENT_D(Uq, 1, 0) = u[0] * u[0] + wrong[0];
  SM_ELEMENT_D(Uq, 1, 1) = -3;
  SM_ELEMENT_D(Uu, 0, 1) = z[0];
  SM_ELEMENT_D(Uu, 1, 0) = 2 * q[0] * u[0] + wrong[1];
  SM_ELEMENT_D(Uz, 0, 0) = u[1] + wrong[2];
  return 0;
}

START_TEST(derivatives_of_accelerations_are_compared) {
  const char *names[]     = {"Uq(1, 0)", "Uu(1, 0)", "Uz(0, 0)", ""};
  sunrealtype wrong[4]    = {0};
  MessageLog log          = {0};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,       .nz = 1,
                             .udot = accelerations, .zdot = decay, .udot_jac = accelerations_jac};
  N_Vector y              = VECTOR(0.4, -0.3, 1.1, 0.8, 0.6);
  CPMech mech             = create(&model, y, wrong);
  CPMechReport report     = CP_INIT(CPMechReport);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  wrong[_i]      = SUN_RCONST(0.01);
  const int flag = CPMechCheck(mech, 0, y, &report);
  ck_assert_msg(flag == (_i < 3 ? CP_MECH_DERIV_WRONG : CP_SUCCESS), "%d, %s", flag, log.text);
  ck_assert_mentions(log.text, names[_i]);
  const sunrealtype error[] = {report.Uq, report.Uu, report.Uz, 1};
  for (int k = 0; k < 3; k++)
    if (k == _i) ck_assert_double_gt(error[k], WRONG);
    else ck_assert_double_lt(error[k], GOOD);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* ---- prescribed motions ---- */

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < 2; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

/* x'' = -x, y'' = -y', with M = 1 and as accelerations */
static int pull(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *f, void *data) {
  (void)t, (void)z, (void)data;
  f[0] = -q[0], f[1] = -u[1];
  return 0;
}
static int pulled(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)lambda;
  return pull(t, q, u, z, udot, data);
}
/* data: what it returns; Uq and Uu stay 0, which is wrong */
static int left_to_M(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)Uq, (void)Uu, (void)Uz;
  return *(const int *)data;
}

/* Beside M, udot_jac may leave u' to M and A by a positive value, and is compared where it does not. */
START_TEST(derivatives_that_are_left_to_M_are_not_compared) {
  int answer              = _i;
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,
                             .M = unit_mass,        .f = pull,
                             .udot = pulled,        .udot_jac = left_to_M};
  N_Vector y              = VECTOR(0.4, -0.3, 1.1, 0.8);
  CPMech mech             = create(&model, y, &answer);
  CPMechReport report     = CP_INIT(CPMechReport);
  MessageLog log          = {0};
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPMechCheck(mech, 0, y, &report), _i ? CP_SUCCESS : CP_MECH_DERIV_WRONG);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* data: factors of g' and g'' */
static int sway(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = sin(3 * t + 1);
  return 0;
}

static int sway_d(sunrealtype t, sunrealtype *g, void *data) {
  *g = 3 * cos(3 * t + 1) * ((sunrealtype *)data)[0];
  return 0;
}

static int sway_dd(sunrealtype t, sunrealtype *g, void *data) {
  *g = -9 * sin(3 * t + 1) * ((sunrealtype *)data)[1];
  return 0;
}

/* Loop index: which derivative is wrong (2: none), in which of three ways. (A wrong g' also changes
 * g'', its derivative.) */
START_TEST(derivatives_of_prescribed_motions_are_compared) {
  const CPMotionKind how[] = {CP_MOTION_DIRECT, CP_MOTION_RATE, CP_MOTION_FULL};
  const char *names[]      = {"g' of motion", "g'' of motion", ""};
  sunrealtype factor[3]    = {1, 1, 1};
  MessageLog log           = {0};
  const CPMotion by        = {
             .coordinate = 1, .kind = how[_i / 3], .g = sway, .gd = sway_d, .gdd = sway_dd, .data = factor};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2, .M = unit_mass, .motions = &by,
                             .nmotions = 1};
  N_Vector y              = VECTOR(0, 0, 0, 0);
  CPMech mech             = create(&model, y, NULL);
  CPMechReport report     = CP_INIT(CPMechReport);
  factor[_i % 3]          = SUN_RCONST(1.001);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  const int flag = CPMechCheck(mech, SUN_RCONST(0.2), y, &report);
  ck_assert_msg(flag == (_i % 3 < 2 ? CP_MECH_B_WRONG : CP_SUCCESS), "%d, %s", flag, log.text);
  ck_assert_mentions(log.text, names[_i % 3]);
  if (_i % 3 == 2) ck_assert_double_lt(largest(&report), GOOD);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* ---- correct ones that are less smooth, regular or normalised than the others ---- */

/* In turn: a force that is constant up to roundoff, with K = 0; one that changes with 300 q; one
 * with the noise of an inner iteration, relative size 1e-11; and a position constraint without
 * gradient, which is zero up to roundoff, beside another one. */
typedef enum { ROUNDOFF, FAST, NOISY, SINGULAR_ROW, PECULIARITIES } Peculiarity;

static int peculiar_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *z, sunrealtype *f, void *data) {
  (void)t, (void)u, (void)z;
  const sunrealtype s = sin(q[0] + 1), c = cos(q[0] + 1);
  switch (*(Peculiarity *)data) {
  case FAST: f[0] = sin(300 * q[1]); break;
  case NOISY: f[0] = q[0] + SUN_RCONST(1e-11) * sin(1e9 * q[0]); break;
  default: f[0] = SUN_RCONST(1e6) * (s * s + c * c);
  }
  return 0;
}

static int peculiar_K(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                      SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  (void)t, (void)u, (void)z, (void)udot, (void)lambda, (void)C, (void)Fz;
  if (*(Peculiarity *)data == FAST) SM_ELEMENT_D(K, 0, 1) = 300 * cos(300 * q[1]);
  if (*(Peculiarity *)data == NOISY) SM_ELEMENT_D(K, 0, 0) = 1;
  return 0;
}

static int singular_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = 1000 * ((q[0] + 1) * (q[0] + 1) - q[0] * q[0] - 2 * q[0] - 1);
  p[1] = 1000 * q[1];
  return 0;
}

static int singular_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(A, 1, 1) = 1000;
  return 0;
}

START_TEST(peculiar_models_pass) {
  Peculiarity which = (Peculiarity)_i;
  CPEquations model = {CP_SIZED(CPEquations), .nu = 2, .M = unit_mass, .f = peculiar_force,
                       .dynamics_jac = peculiar_K};
  if (which == SINGULAR_ROW) {
    model.np           = 2;
    model.p            = singular_positions;
    model.A            = singular_A;
    model.f            = NULL;
    model.dynamics_jac = NULL;
  }
  check(model, VECTOR(0.7, 0.6, 0.5, 0), &which);
}
END_TEST

/* q_0 = 0 and q_0 (1 + q_1^2) = 0: the accelerations agree only if u_0 = 0, as at this state. */
static int twice_the_wall(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[0];
  p[1] = q[0] * (1 + q[1] * q[1]);
  return 0;
}

static int twice_the_wall_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  SM_ELEMENT_D(A, 0, 0) = 1;
  SM_ELEMENT_D(A, 1, 0) = 1 + q[1] * q[1];
  SM_ELEMENT_D(A, 1, 1) = 2 * q[0] * q[1];
  return 0;
}

static int no_forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                     SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  (void)t, (void)u, (void)z, (void)udot, (void)C, (void)Fz, (void)data;
  SM_ELEMENT_D(K, 0, 1) = -2 * q[1] * lambda[1]; /* of -A^T lambda */
  SM_ELEMENT_D(K, 1, 0) = -2 * q[1] * lambda[1];
  SM_ELEMENT_D(K, 1, 1) = -2 * q[0] * lambda[1];
  return 0;
}

START_TEST(rows_that_agree_at_their_own_velocities_only_pass) {
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu           = 2,
                             .np           = 2,
                             .M            = unit_mass,
                             .p            = twice_the_wall,
                             .A            = twice_the_wall_A,
                             .dynamics_jac = no_forces};
  check(model, VECTOR(0, 0.8, 0, 3), NULL);
}
END_TEST

/* p = R_20 of a quaternion that is not normalised, whereas A = (0, -R_22, R_21) is for a normalised
 * one. */
static int inertia(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = i + 1;
  return 0;
}

static int tilt(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = 2 * (q[1] * q[3] - q[0] * q[2]);
  return 0;
}

static int tilt_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  const sunrealtype n   = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
  SM_ELEMENT_D(A, 0, 1) = -(n - 2 * (q[1] * q[1] + q[2] * q[2])) / n;
  SM_ELEMENT_D(A, 0, 2) = 2 * (q[2] * q[3] + q[0] * q[1]) / n;
  return 0;
}

START_TEST(quaternions_are_compared_at_norm_one) {
  const CPQuaternion attitude = {0, 0, CP_FRAME_BODY};
  const CPEquations model     = {
          CP_SIZED(CPEquations), .nu = 3,     .nq = 4,   .np = 1,
          .M = inertia,          .A = tilt_A, .p = tilt, .quaternions = &attitude,
          .nquaternions = 1};
  N_Vector y  = VECTOR(0.9, 0.3, -0.4, 0.2, 1, 2, 3); /* norm 1.05 */
  CPMech mech = create(&model, y, NULL);
  assert_good(mech, 0, y);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(check_models) {
  Suite *suite = suite_create("mechanics/check_models");
  TCase *tc    = tcase_create("models");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, planar_mechanisms_pass);
  tcase_add_loop_test(tc, bending_chain_passes_dense_and_sparse, 0, 2);
  tcase_add_test(tc, sparse_pattern_that_lacks_entries_is_named);
  tcase_add_loop_test(tc, frame_that_is_wrong_shows_where_the_quaternion_is_1, 0, 2);
  tcase_add_test(tc, four_bar_passes);
  tcase_add_loop_test(tc, bodies_in_space_pass, 0, 4);
  tcase_add_test(tc, operators_are_compared_with_each_other);
  tcase_add_loop_test(tc, derivatives_that_are_left_to_M_are_not_compared, 0, 2);
  tcase_add_loop_test(tc, derivatives_of_accelerations_are_compared, 0, 4);
  tcase_add_loop_test(tc, derivatives_of_prescribed_motions_are_compared, 0, 9);
  tcase_add_loop_test(tc, peculiar_models_pass, 0, PECULIARITIES);
  tcase_add_test(tc, rows_that_agree_at_their_own_velocities_only_pass);
  tcase_add_test(tc, quaternions_are_compared_at_norm_one);
  suite_add_tcase(suite, tc);
  return suite;
}
