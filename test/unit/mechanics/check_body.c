/* CPMechCheck and a body on a ball joint: what it names in addition to wrong entries.
 *
 * r + R(e) s = 0, s fixed in the body; u = (r', omega), omega in the body's frame or in the
 * world's. */
#include "support/mech_run.h"
#include "support/support.h"
#include <cpodes/cpodes_mechanics.h>

#include <string.h>

enum { NU = 6, NQ = 7, NA = 3 };

/* The faults */
typedef struct {
  CPFrame frame;       /* in which A takes omega */
  int A_elsewhere;     /* A is right only at the given state */
  double inertia[3];   /* about the axes */
  double product;      /* of inertia, M(3, 4) */
  int fixed;           /* three more rows: omega = 0 */
  int driven;          /* coordinate 0 is held where it is */
  const double *state; /* [NQ] at which A is right */
} Body;

static Body body;
static CPMech mech;
static N_Vector y;
static MessageLog messages;
static const double arm[3] = {0.3, -0.2, 0.5};

/* R(e) x */
static void rotate(const sunrealtype *e, const double *x, double *result) {
  const double w = e[0], a = e[1], b = e[2], c = e[3];
  const double R[3][3] = {{1 - 2 * (b * b + c * c), 2 * (a * b - w * c), 2 * (a * c + w * b)},
                          {2 * (a * b + w * c), 1 - 2 * (a * a + c * c), 2 * (b * c - w * a)},
                          {2 * (a * c - w * b), 2 * (b * c + w * a), 1 - 2 * (a * a + b * b)}};
  for (int i = 0; i < 3; i++) result[i] = R[i][0] * x[0] + R[i][1] * x[1] + R[i][2] * x[2];
}

static void cross(const double *a, const double *b, double *c) {
  for (int i = 0; i < 3; i++)
    c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < 3; i++) {
    SM_ELEMENT_D(M, i, i)         = 2.0;
    SM_ELEMENT_D(M, 3 + i, 3 + i) = body.inertia[i];
  }
  SM_ELEMENT_D(M, 3, 4) = SM_ELEMENT_D(M, 4, 3) = body.product;
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  f[2] = -9.81;
  return 0;
}

static int joint(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  double Rs[3];
  (void)t, (void)data;
  rotate(q + 3, arm, Rs);
  for (int i = 0; i < 3; i++) p[i] = q[i] + Rs[i];
  return 0;
}

/* Column j of omega: R (e_j x s) or e_j x R s */
static int jacobian(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  const sunrealtype *e = body.A_elsewhere ? body.state + 3 : q + 3;
  double Rs[3], x[3], column[3];
  (void)t, (void)data;
  rotate(e, arm, Rs);
  for (int j = 0; j < 3; j++) {
    double unit[3] = {0.0, 0.0, 0.0};
    unit[j]        = 1.0;
    cross(unit, body.frame == CP_FRAME_BODY ? arm : Rs, x);
    if (body.frame == CP_FRAME_BODY) rotate(e, x, column);
    else memcpy(column, x, sizeof column);
    for (int i = 0; i < 3; i++) {
      SM_ELEMENT_D(A, i, j)     = i == j;
      SM_ELEMENT_D(A, i, 3 + j) = column[i];
    }
  }
  for (int i = NA; i < SM_ROWS_D(A); i++) SM_ELEMENT_D(A, i, i) = 1.0;
  return 0;
}

/* -R (omega x (omega x s)), or -omega x (omega x R s) */
static int rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                 void *data) {
  double Rs[3], x[3], xx[3];
  (void)t, (void)data;
  rotate(q + 3, arm, Rs);
  cross(u + 3, body.frame == CP_FRAME_BODY ? arm : Rs, x);
  cross(u + 3, x, xx);
  if (body.frame == CP_FRAME_BODY) {
    memcpy(x, xx, sizeof x);
    rotate(q + 3, x, xx);
  }
  for (int i = 0; i < 3; i++) b[i] = -xx[i];
  return 0;
}

static const double upright[NQ] = {-0.3, 0.2, -0.5, 1.0, 0.0, 0.0, 0.0};
static double tilted[NQ]        = {0.0, 0.0, 0.0, 0.6, 0.48, 0.64, 0.0};

static int motion(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = body.state[0];
  return 0;
}

static void create(const double *q, CPFrame frame) {
  CPEquations model = {CP_SIZED(CPEquations), .nu = NU, .nq = NQ, .np = NA, .nv = NA, .na = NA};
  model.M = mass, model.f = forces, model.p = joint, model.A = jacobian, model.b = rates;
  const CPQuaternion attitude = {3, 3, frame};
  const CPMotion driven       = {.g = motion, .step = 0.01};
  if (body.fixed) model.na = NU;
  model.quaternions = &attitude, model.nquaternions = 1;
  model.motions = &driven, model.nmotions = body.driven;
  messages = (MessageLog){0};
  y        = vector_of(NQ + NU, NULL);
  memcpy(entries(y), q, NQ * sizeof *q);
  body.state = entries(y);
  mech       = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
}

static void destroy(void) {
  CPMechFree(&mech);
  N_VDestroy(y);
}

#define SOUND .inertia = {0.1, 0.2, 0.3}

static const double *state(int tilt) {
  double Rs[3];
  rotate(tilted + 3, arm, Rs);
  for (int i = 0; i < 3; i++) tilted[i] = -Rs[i];
  return tilt ? tilted : upright;
}

static int check(CPMechReport *report) { return CPMechCheck(mech, 0.0, y, report); }

static const CPFrame frames[2]    = {CP_FRAME_BODY, CP_FRAME_WORLD};
static const char *const names[2] = {"CP_FRAME_BODY", "CP_FRAME_WORLD"};

START_TEST(a_sound_body_passes_and_has_three_freedoms) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){SOUND, .frame = frames[_i % 2]};
  create(state(_i / 2), body.frame);
  ck_assert_msg(check(&report) == CP_SUCCESS, "%s", messages.text);
  ck_assert_int_eq(report.freedom, 3);
  ck_assert_int_eq(messages.count, 0);
  destroy();
}
END_TEST

/* In the upright position both frames agree, so the fault appears only away from it. */
START_TEST(the_frame_that_would_fit_is_named) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){SOUND, .frame = frames[_i % 2]};
  create(state(_i / 2), frames[1 - _i % 2]);
  ck_assert_int_eq(check(&report), CP_MECH_A_WRONG);
  ck_assert_mentions(messages.text, "it fits with");
  ck_assert_mentions(messages.text, names[_i % 2]);
  ck_assert_mentions(messages.text, "coordinate 3");
  destroy();
}
END_TEST

START_TEST(no_frame_is_named_where_none_fits) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){SOUND, .frame = CP_FRAME_BODY, .A_elsewhere = 1};
  create(state(_i), CP_FRAME_BODY);
  ck_assert_int_eq(check(&report), CP_MECH_A_WRONG);
  ck_assert_msg(!strstr(messages.text, "fits"), "%s", messages.text);
  destroy();
}
END_TEST

/* v is A u: its derivative is wrong where A is wrong away from the state, and b is right. */
START_TEST(an_A_that_is_wrong_elsewhere_is_not_blamed_on_b) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){SOUND, .frame = frames[_i % 2], .A_elsewhere = 1};
  create(state(_i / 2), body.frame);
  ck_assert_int_eq(check(&report), CP_MECH_A_WRONG);
  ck_assert_mentions(messages.text, "moved by half a percent: A(");
  destroy();
}
END_TEST

START_TEST(a_negative_inertia_is_named) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){SOUND, .frame = CP_FRAME_BODY};
  body.inertia[1]     = -0.2;
  create(state(_i), CP_FRAME_BODY);
  ck_assert_int_eq(check(&report), CP_MASS_INDEFINITE);
  ck_assert_mentions(messages.text, "M(4, 4) is -0.2");
  destroy();
}
END_TEST

/* Its diagonal is positive. */
START_TEST(an_inertia_that_is_not_definite_is_named) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){.inertia = {0.1, 0.2, 0.3}, .product = 4.0, .frame = CP_FRAME_BODY};
  create(state(_i), CP_FRAME_BODY);
  ck_assert_int_eq(check(&report), CP_MASS_INDEFINITE);
  ck_assert_mentions(messages.text, "positive definite");
  destroy();
}
END_TEST

/* A body without inertia is allowed if the constraints hold it. */
START_TEST(no_inertia_is_no_negative_one) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){.frame = CP_FRAME_BODY, .fixed = 1};
  create(state(_i), CP_FRAME_BODY);
  ck_assert_msg(check(&report) == CP_SUCCESS, "%s", messages.text);
  destroy();
}
END_TEST

START_TEST(a_mechanism_without_freedom_is_told_so) {
  CPMechReport report = CP_INIT(CPMechReport);
  body                = (Body){SOUND, .frame = CP_FRAME_BODY, .fixed = 1};
  create(state(_i), CP_FRAME_BODY);
  ck_assert_msg(check(&report) == CP_SUCCESS, "%s", messages.text);
  ck_assert_int_eq(report.freedom, 0);
  ck_assert_int_eq(messages.count, 1);
  ck_assert_int_eq(messages.code, CV_WARNING);
  ck_assert_mentions(messages.text, "no velocity is free");
  destroy();
}
END_TEST

/* ---- a quaternion off its norm ---- */

START_TEST(a_quaternion_off_its_norm_is_named) {
  CPMechReport report = CP_INIT(CPMechReport);
  sunrealtype t;
  N_Vector result;
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  body             = (Body){SOUND, .frame = CP_FRAME_BODY};
  create(upright, CP_FRAME_BODY);
  result        = vector_copy(y);
  entries(y)[3] = 1.2;
  ck_assert_int_eq(check(&report), CP_SUCCESS);
  ck_assert_int_eq(messages.code, CV_WARNING);
  ck_assert_mentions(messages.text, "quaternion 3 to 6 has norm 1.2, not 1");
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, result, &t, CV_NORMAL), CP_INCONSISTENT_IC);
  ck_assert_mentions(messages.text, "the norm of the quaternion 3 to 6: 2.000e-01");
  CPIntegratorFree(&mem);
  N_VDestroy(result);
  destroy();
}
END_TEST

/* ---- checks that are refused ---- */

START_TEST(options_may_follow_a_check) {
  CPMechReport report = CP_INIT(CPMechReport);
  sunrealtype t;
  body             = (Body){SOUND, .frame = CP_FRAME_BODY, .driven = 1};
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  create(state(1), CP_FRAME_BODY);
  for (int k = 0; k < 2; k++) {
    ck_assert_msg(check(&report) == CP_SUCCESS, "%s", messages.text);
    ck_assert_int_eq(CPMechSetLinearSolver(mech, k ? CP_LINSOL_QR : CP_LINSOL_SCHUR), CP_SUCCESS);
  }
  ck_assert_int_eq(CPMechGetNumMultipliers(mech), NA + 1);
  ck_assert_int_eq(check(&report), CP_SUCCESS);
  ck_assert_int_eq(report.freedom, 2);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  ck_assert_msg(CPIntegratorEvolve(mem, 0.1, y, &t, CV_NORMAL) == CP_SUCCESS, "%s", messages.text);
  ck_assert_int_eq(check(&report), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetLinearSolver(mech, CP_LINSOL_SCHUR), CP_TOO_LATE); /* in use now */
  ck_assert_msg(CPIntegratorEvolve(mem, 0.2, y, &t, CV_NORMAL) == CP_SUCCESS, "%s", messages.text);
  CPIntegratorFree(&mem);
  destroy();
}
END_TEST

TEST_SUITE(check_body) {
  Suite *suite = suite_create("mechanics/check_body");
  TCase *tc    = tcase_create("check_body");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_sound_body_passes_and_has_three_freedoms, 0, 4);
  tcase_add_loop_test(tc, the_frame_that_would_fit_is_named, 0, 4);
  tcase_add_loop_test(tc, no_frame_is_named_where_none_fits, 0, 2);
  tcase_add_loop_test(tc, an_A_that_is_wrong_elsewhere_is_not_blamed_on_b, 0, 4);
  tcase_add_loop_test(tc, a_negative_inertia_is_named, 0, 2);
  tcase_add_loop_test(tc, an_inertia_that_is_not_definite_is_named, 0, 2);
  tcase_add_loop_test(tc, no_inertia_is_no_negative_one, 0, 2);
  tcase_add_loop_test(tc, a_mechanism_without_freedom_is_told_so, 0, 2);
  tcase_add_test(tc, a_quaternion_off_its_norm_is_named);
  tcase_add_test(tc, options_may_follow_a_check);
  suite_add_tcase(suite, tc);
  return suite;
}
