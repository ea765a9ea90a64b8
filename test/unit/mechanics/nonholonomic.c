/* Nonholonomic constraints, and levels of different length, against closed forms. */
#include "support/mech_run.h"

#include "models/knife_edge.h"
#include <math.h>

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

/* Loop index of the tests: the method, and one more bit */
static int method_of(int index) { return index % 2 ? CV_ADAMS : CV_BDF; }

/* --------------------------------------------------- nonholonomic: the knife edge, m = J = 1 -- */

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (sunindextype i = 0; i < SM_ROWS_D(M); i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int blade(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = sin(q[2]);
  SM_ELEMENT_D(A, 0, 1) = -cos(q[2]);
  return 0;
}

static int downhill(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const KnifeEdge *k = user_data;
  f[0]               = k->g * sin(k->alpha);
  return 0;
}

static int slip(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                void *user_data) {
  (void)t, (void)user_data;
  v[0] = u[0] * sin(q[2]) - u[1] * cos(q[2]);
  return 0;
}

static int slip_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                  void *user_data) {
  (void)t, (void)user_data;
  b[0] = -u[2] * (u[0] * cos(q[2]) + u[1] * sin(q[2]));
  return 0;
}

/* With and without the user's v and b. A perturbation of the velocity grows by 1 + t in the
 * position; one of the angle turns the pull g sin(alpha), which moves the skate by g t^2 / 2. */
START_TEST(knife_edge_follows_its_cycloid) {
  KnifeEdge k             = {.g = 9.81, .alpha = 0.3, .omega = 1.5};
  const int by_user       = _i / 2;
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu = 3,
                             .nv = 1,
                             .M  = unit_mass,
                             .A  = blade,
                             .f  = downhill,
                             .v  = by_user ? slip : NULL,
                             .b  = by_user ? slip_b : NULL};
  const sunrealtype y0[] = {0, 0, 0, 0, 0, k.omega}, t_end = 4;
  MechRun *run = mech_run_create(&model, &k, y0);
  sunrealtype exact[6], udot[3], lambda[1], size = 0, v[1];
  mech_run_start(run, method_of(_i), 1e-8);
  for (int i = 1; i <= 4; i++) {
    mech_run_to(run, i * t_end / 4);
    knife_edge_exact(&k, run->t, exact);
    for (int j = 0; j < 6; j++) size = fmax(size, fabs(exact[j]));
    const sunrealtype growth = 1 + t_end + k.g * sin(k.alpha) * t_end * t_end / 2;
    const sunrealtype bound  = mech_run_bound(run, size, growth);
    ck_assert_double_le(mech_run_error(run, 6, exact), bound);

    /* M u' + A^T lambda = f: lambda = g sin(alpha) sin(phi) + phi' |v|, |v| along the blade; its
       derivatives are below g + |u| + |phi'| */
    const sunrealtype *s = entries(run->y), along = s[3] * cos(s[2]) + s[4] * sin(s[2]);
    ck_assert_int_eq(CPMechAccelerations(run->mech, run->t, run->y, udot, lambda), CP_SUCCESS);
    const sunrealtype closed = k.g * sin(k.alpha) * sin(k.omega * run->t) +
                               k.omega * (exact[3] * cos(exact[2]) + exact[4] * sin(exact[2]));
    ck_assert_double_le(fabs(lambda[0] - closed), (k.g + 2 * size) * bound);
    /* at the state itself only b by differences is off, by about 1e-12 of its size */
    const sunrealtype here = k.g * sin(k.alpha) * sin(s[2]) + s[5] * along;
    ck_assert_double_le(fabs(lambda[0] - here), by_user ? 20 * ROUNDOFF * k.g : 1e-11 * k.g);
    slip(0, s, s + 3, v, NULL);
    ck_assert_double_le(fabs(v[0]), run->tol);
  }
  mech_run_free(&run);
}
END_TEST

/* --------------------- np = 1, nv = 3: a ball of radius 1, mass 1 rolls on an inclined plane -- */

/* x down the slope, z normal to it; omega in space; J = 2/5. Contact point c = (0, 0, -1) from the
   centre: r' + omega x c = (x' - omega_y, y' + omega_x, z'). The plane: z = 1. */
static const sunrealtype BALL_J = 0.4, BALL_DOWN = 3, BALL_ONTO = 9; /* gravity's components */

static int ball_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 6; i++) SM_ELEMENT_D(M, i, i) = i < 3 ? 1 : BALL_J;
  return 0;
}

static int ball_contact(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 2) = 1;
  SM_ELEMENT_D(A, 1, 0) = 1, SM_ELEMENT_D(A, 1, 4) = -1;
  SM_ELEMENT_D(A, 2, 1) = 1, SM_ELEMENT_D(A, 2, 3) = 1;
  return 0;
}

static int ball_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = BALL_DOWN, f[2] = -BALL_ONTO;
  return 0;
}

static int ball_height(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[2] - 1;
  return 0;
}

/* The centre accelerates with 5/7 of the slope's pull, keeps its speed sideways, and the spin about
 * the normal stays. Reactions: the weight, and 2/7 of the pull. */
START_TEST(ball_rolls_with_five_sevenths) {
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu           = 6,
                             .nq           = 7,
                             .np           = 1,
                             .nv           = 3,
                             .M            = ball_mass,
                             .A            = ball_contact,
                             .f            = ball_weight,
                             .p            = ball_height,
                             .quaternions  = &(const CPQuaternion){3, 3, CP_FRAME_WORLD},
                             .nquaternions = 1};
  const sunrealtype v = 0.7, spin = 2, t = 2, a = BALL_DOWN * 5 / 7;
  const sunrealtype y0[] = {0, 0, 1, 1, 0, 0, 0, 0, v, 0, -v, 0, spin};
  MechRun *run           = mech_run_create(&model, NULL, y0);
  mech_run_start(run, method_of(_i), 1e-8);
  mech_run_to(run, t);

  const sunrealtype *s       = entries(run->y);
  const sunrealtype centre[] = {a * t * t / 2, v * t, 1};
  const sunrealtype motion[] = {a * t, v, 0, -v, a * t, spin};
  const sunrealtype bound    = mech_run_bound(run, a * t * t, 1 + t);
  sunrealtype norm = 0, error = 0, udot[6], lambda[3], reaction[6];
  for (int i = 0; i < 3; i++) error = fmax(error, fabs(s[i] - centre[i]));
  for (int i = 0; i < 6; i++) error = fmax(error, fabs(s[7 + i] - motion[i]));
  for (int i = 0; i < 4; i++) norm += s[3 + i] * s[3 + i];
  ck_assert_double_le(error, bound);
  ck_assert_double_le(fabs(sqrt(norm) - 1), 1e-12);

  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda, .reaction = reaction};
  ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
  ck_assert_double_le(fabs(lambda[0] + BALL_ONTO), 20 * ROUNDOFF * BALL_ONTO);
  ck_assert_double_le(fabs(lambda[1] - BALL_DOWN * 2 / 7), 20 * ROUNDOFF * BALL_ONTO);
  ck_assert_double_le(fabs(lambda[2]), 20 * ROUNDOFF * BALL_ONTO);
  ck_assert_double_le(fabs(reaction[4] - BALL_DOWN * 2 / 7), 20 * ROUNDOFF * BALL_ONTO);
  ck_assert_int_eq(out.rank, 3);
  ck_assert(out.unique);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(nonholonomic) {
  Suite *suite = suite_create("nonholonomic");
  TCase *tcase = tcase_create("nonholonomic");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, knife_edge_follows_its_cycloid, 0, 4);
  tcase_add_loop_test(tcase, ball_rolls_with_five_sevenths, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}
