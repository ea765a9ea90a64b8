/* Limits of the projector: states with components of very different size, tolerances below
 * roundoff, rows that no free component moves, weights near the largest number. */
#include "projector/fixture.h"

#include <cpodes/projector/projector_impl.h>

#include <math.h>
#include <models/counters.h>
#include <string.h>

/* ---- one component that is far larger than the others ---- */

enum { ANGLE_N = 7, ANGLE_M = 4 };
#define LARGE 1.0e8

/* A point (x, y) of the unit circle at the angle a, their rates (u, v, w), and an unrelated momentum:
 *   0 = x - cos a,  0 = y - sin a,  0 = u + w sin a,  0 = v - w cos a */
static int angle_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s = entries(y);
  entries(c)[0]        = s[0] - cos(s[2]);
  entries(c)[1]        = s[1] - sin(s[2]);
  entries(c)[2]        = s[3] + s[5] * sin(s[2]);
  entries(c)[3]        = s[4] - s[5] * cos(s[2]);
  return 0;
}

static int angle_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const sunrealtype a = entries(y)[2], w = entries(y)[5];
  SM_ELEMENT_D(G, 0, 0) = SM_ELEMENT_D(G, 1, 1) = 1.0;
  SM_ELEMENT_D(G, 2, 3) = SM_ELEMENT_D(G, 3, 4) = 1.0;
  SM_ELEMENT_D(G, 0, 2) = SM_ELEMENT_D(G, 2, 5) = sin(a);
  SM_ELEMENT_D(G, 1, 2) = SM_ELEMENT_D(G, 3, 5) = -cos(a);
  SM_ELEMENT_D(G, 2, 2)                         = w * cos(a);
  SM_ELEMENT_D(G, 3, 2)                         = w * sin(a);
  return 0;
}

/* At the angle 0 with the rate 1, off by h; tolerances 1e-6 of each component. */
static N_Vector angle_state(sunrealtype h) {
  return VECTOR(1.0 + 3.0 * h, -2.0 * h, h, 2.0 * h, 1.0 - h, 1.0, LARGE);
}
static N_Vector angle_weights(void) {
  return VECTOR(1.0e6, 1.0e6, 1.0e6, 1.0e6, 1.0e6, 1.0e6, 1.0e6 / LARGE);
}

static CPProjector P;
static MessageLog message;

/* jac may be NULL: differences. */
static void open_projector(CPConstraintFn c, CPConstraintJacFn jac, N_Vector y, int m) {
  N_Vector c_tmpl = vector_of(m, NULL);
  SUNMatrix G     = SUNDenseMatrix(m, N_VGetLength(y), test_context);
  P               = CPProjectorCreate(c, y, c_tmpl, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &message), CP_SUCCESS);
  if (jac) ck_assert_int_eq(CPProjectorSetJacFn(P, jac, G), CP_SUCCESS);
  SUNMatDestroy(G);
  N_VDestroy(c_tmpl);
}

/* CPProjectorCheckJac's own limit for a right Jacobian is 1e-4. */
START_TEST(a_large_component_does_not_make_a_right_jacobian_wrong) {
  N_Vector y = angle_state(0.0), ewt = angle_weights();
  sunrealtype err;
  sunindextype row, col;
  open_projector(angle_c, angle_jac, y, ANGLE_M);
  ck_assert_int_eq(CPProjectorCheckJac(P, 0.0, y, ewt, &err, &row, &col), CP_SUCCESS);
  ck_assert_double_lt(err, 1.0e-4);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

/* A central difference in proportion to the angle would turn it by 4 rad or more. Loop index: whether an entry
 * has the wrong sign. */
static int angle_jac_wrong(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  const int flag = angle_jac(t, y, c, G, user_data);
  SM_ELEMENT_D(G, 1, 2) *= -1.0;
  return flag;
}

START_TEST(an_angle_that_counts_its_turns_does_not_make_a_right_jacobian_wrong) {
  N_Vector y = angle_state(0.0), ewt = angle_weights();
  sunrealtype err;
  sunindextype row, col;
  for (double turns = 1.0e5; turns < 1.0e7; turns *= 10.0) {
    entries(y)[2] = 6.283185307179586 * turns + 0.3;
    open_projector(angle_c, _i ? angle_jac_wrong : angle_jac, y, ANGLE_M);
    ck_assert_int_eq(CPProjectorCheckJac(P, 0.0, y, ewt, &err, &row, &col), CP_SUCCESS);
    if (_i) ck_assert_double_gt(err, 0.1);
    else ck_assert_double_lt(err, 1.0e-4);
    CPProjectorFree(&P);
  }
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

/* The same with products */
static int angle_Gv_of(N_Vector y, N_Vector v, N_Vector Gv, sunrealtype sign) {
  const sunrealtype a = entries(y)[2], w = entries(y)[5], *x = entries(v);
  entries(Gv)[0] = x[0] + sin(a) * x[2];
  entries(Gv)[1] = x[1] - sign * cos(a) * x[2];
  entries(Gv)[2] = x[3] + sin(a) * x[5] + w * cos(a) * x[2];
  entries(Gv)[3] = x[4] - cos(a) * x[5] + w * sin(a) * x[2];
  return 0;
}
static int angle_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data) {
  (void)t, (void)user_data;
  return angle_Gv_of(y, v, Gv, 1.0);
}
static int angle_Gv_wrong(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data) {
  (void)t, (void)user_data;
  return angle_Gv_of(y, v, Gv, -1.0);
}
static int angle_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype a = entries(y)[2], *x = entries(w), rate = entries(y)[5];
  N_VConst(0.0, GTw);
  entries(GTw)[0] = x[0], entries(GTw)[1] = x[1];
  entries(GTw)[2] = sin(a) * x[0] - cos(a) * x[1] + rate * (cos(a) * x[2] + sin(a) * x[3]);
  entries(GTw)[3] = x[2], entries(GTw)[4] = x[3];
  entries(GTw)[5] = sin(a) * x[2] - cos(a) * x[3];
  return 0;
}

START_TEST(an_angle_that_counts_its_turns_does_not_make_right_products_wrong) {
  N_Vector y = angle_state(0.0), ewt = angle_weights(), c_tmpl = vector_of(ANGLE_M, NULL);
  sunrealtype err;
  for (double turns = 1.0e5; turns < 1.0e7; turns *= 10.0) {
    entries(y)[2] = 6.283185307179586 * turns + 0.3;
    P = CPProjectorCreateProducts(angle_c, _i ? angle_Gv_wrong : angle_Gv, angle_GTw, y, c_tmpl,
                                  test_context);
    ck_assert_int_eq(CPProjectorCheckJac(P, 0.0, y, ewt, &err, NULL, NULL), CP_SUCCESS);
    if (_i) ck_assert_double_gt(err, 0.1);
    else ck_assert_double_lt(err, 1.0e-4);
    CPProjectorFree(&P);
  }
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(c_tmpl);
}
END_TEST

/* ---- a motion that has made many turns ---- */

#define RATE SUN_RCONST(314.15926535897931)

/* The angle of (x, y) is RATE t up to whole turns; t loses digits. */
static int turning_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  entries(c)[0] = remainder(atan2(entries(y)[1], entries(y)[0]) - RATE * t, 6.283185307179586);
  return 0;
}
static int turning_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const sunrealtype *x = entries(y), square = x[0] * x[0] + x[1] * x[1];
  SM_ELEMENT_D(G, 0, 0) = -x[1] / square;
  SM_ELEMENT_D(G, 0, 1) = x[0] / square;
  return 0;
}
static int turning_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *x = entries(y), square = x[0] * x[0] + x[1] * x[1];
  entries(Gv)[0] = (x[0] * entries(v)[1] - x[1] * entries(v)[0]) / square;
  return 0;
}
static int turning_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *x = entries(y), square = x[0] * x[0] + x[1] * x[1];
  entries(GTw)[0] = -x[1] / square * entries(w)[0];
  entries(GTw)[1] = x[0] / square * entries(w)[0];
  return 0;
}

/* The roundoff of RATE t after 1e3 to 1e6 turns is up to 1e-9, and eps tolerances are 1e-13. Each projection ends
 * there, whichever digits t has. Loop index: whether there are only products with G. */
START_TEST(the_roundoff_of_a_motion_fails_no_projection) {
  N_Vector y = VECTOR(1.0, 0.0), ewt = VECTOR(1.0e9, 1.0e9), c = VECTOR(0.0);
  open_projector(turning_c, turning_jac, y, 1);
  if (_i) {
    CPProjectorFree(&P);
    P = CPProjectorCreateProducts(turning_c, turning_Gv, turning_GTw, y, c, test_context);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &message), CP_SUCCESS);
  }
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-4), CP_SUCCESS);
  for (int k = 0; k < 600; k++) {
    const sunrealtype t = 20.0 * pow(10.0, k / 200.0) + k / 7.0, a = RATE * t + 1.0e-7;
    entries(y)[0] = cos(a);
    entries(y)[1] = sin(a);
    ck_assert_msg(CPProjectorProject(P, t, y, ewt) == CP_SUCCESS, "%s", message.text);
    turning_c(t, y, c, NULL);
    ck_assert_double_le(fabs(entries(c)[0]), fmax(1.0e-13, 8.0 * 2.3e-16 * a));
  }
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(c);
}
END_TEST

/* From h = 1e-5 off the manifold, a correction with G accurate to 1e-7 leaves 1e-12 of it, and the
 * curvature of c about 10 h^2 = 1e-9: less than eps tolerances of 1e-6, times |g_i| >= 1. One
 * correction suffices. No row contains the large component, so it stays. */
START_TEST(differences_are_good_beside_a_large_component) {
  N_Vector y = angle_state(1.0e-5), ewt = angle_weights(), c = vector_of(ANGLE_M, NULL);
  ProjectorCounters stats;
  open_projector(angle_c, NULL, y, ANGLE_M);
  ck_assert_msg(CPProjectorProject(P, 0.0, y, ewt) == CP_SUCCESS, "%s", message.text);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.niters, 1);
  angle_c(0.0, y, c, NULL);
  ck_assert_double_le(N_VMaxNorm(c), CP_EPS_DEFAULT * 1.0e-6 * sqrt(2.0)); /* |g_i|, own level */
  ck_assert_double_eq(entries(y)[6], LARGE);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(c);
}
END_TEST

START_TEST(levels_are_detected_beside_a_large_component) {
  const int row_level[ANGLE_M] = {0, 0, 1, 1};
  N_Vector y = angle_state(0.0), ewt = angle_weights();
  open_projector(angle_c, _i ? angle_jac : NULL, y, ANGLE_M);
  ck_assert_msg(CPProjectorProject(P, 0.0, y, ewt) == CP_SUCCESS, "%s", message.text);
  for (int i = 0; i < ANGLE_M; i++) ck_assert_int_eq(P->row_level[i], row_level[i]);
  for (int j = 0; j < 6; j++) ck_assert_int_eq(P->col_level[j], j >= 3);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

/* ---- tolerances of the constraints below roundoff ---- */

/* States on the pendulum's manifold up to roundoff. Project and Assemble accept the same states. */
START_TEST(a_tolerance_below_roundoff_is_met_at_the_floor_by_both_projections) {
  Case k;
  N_Vector ctol = VECTOR(1.0e-18, 1.0e-18);
  case_open(&k, equations_of(&pendulum_qu), solvers[_i % n_solvers]);
  const sunrealtype angle = 0.1 + 0.37 * (_i / n_solvers), rate = 0.3;
  const sunrealtype state[] = {cos(angle), sin(angle), -rate * sin(angle), rate * cos(angle)};
  ck_assert_success(&k, CPProjectorSetConstraintTol(k.P, ctol));
  memcpy(entries(k.y), state, sizeof state);
  ck_assert_success(&k, CPProjectorAssemble(k.P, k.t, k.y, k.ewt));
  memcpy(entries(k.y), state, sizeof state);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_success(&k, CPProjectorAssemble(k.P, k.t, k.y, k.ewt));
  N_VDestroy(ctol);
  case_close(&k);
}
END_TEST

/* ---- rows that no free component moves ---- */

/* The pendulum with its position held off the circle by a number of tolerances; the distance is c_0
 * / |g_0 / ewt|. */
static int project_held(Case *k, Setting setting, sunrealtype tolerances) {
  const int id[] = {0, 0, 1, 1};
  case_open(k, equations_of(&pendulum_qu), setting);
  sunrealtype *z = entries(k->y), *w = entries(k->ewt);
  const sunrealtype unit = hypot(2.0 * z[0] / w[0], 2.0 * z[1] / w[1]);
  const sunrealtype r2   = z[0] * z[0] + z[1] * z[1];
  const sunrealtype f    = sqrt((1.0 + tolerances * unit) / r2); /* of a rod of length 1 */
  z[0] *= f;
  z[1] *= f;
  ck_assert_success(k, CPProjectorSetFree(k->P, id));
  N_Vector start = vector_copy(k->y);
  const int flag = CPProjectorProject(k->P, k->t, k->y, k->ewt);
  for (int j = 0; j < 2; j++) ck_assert_double_eq(z[j], entries(start)[j]);
  N_VDestroy(start);
  return flag;
}

START_TEST(held_rows_are_satisfied_within_one_tolerance_and_named_beyond) {
  Case k;
  N_Vector c = vector_of(2, NULL);
  ck_assert_int_eq(project_held(&k, solvers[_i], 0.5), CP_SUCCESS);
  /* the velocity's row has been satisfied: |c_1| <= eps |g_1 / ewt|, where only x' and y' are free */
  equations_c(k.t, k.y, c, &k.eq);
  const sunrealtype *z = entries(k.y), *w = entries(k.ewt);
  ck_assert_double_le(fabs(entries(c)[1]), k.eps * hypot(z[0] / w[2], z[1] / w[3]));
  N_VDestroy(c);
  case_close(&k);

  ck_assert_int_eq(project_held(&k, solvers[_i], 2.0), -CP_PROJ_INCONSISTENT);
  ck_assert_mentions(k.log.text, "constraint 0");
  ck_assert_mentions(k.log.text, "no free component");
  case_close(&k);
}
END_TEST

/* The roundoff of the largest term of c_0 is 1e8 u; ewt requires 1e-11. Row 1, which no free
 * component moves, is off by offset: a constant, or y_1 held. */
typedef struct {
  sunrealtype offset;
  int is_constant;
} LeftAlone;

#define ROUGH 1.0e8

static int rough_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const LeftAlone *row = user_data;
  entries(c)[0]        = (entries(y)[0] * entries(y)[0] - 2.0 * ROUGH * ROUGH) / ROUGH;
  entries(c)[1]        = row->is_constant ? row->offset : entries(y)[1] + row->offset;
  return 0;
}

/* Such a row counts as satisfied: 1e-14 < 1e-12 for a row of zeros, half a tolerance of y_1. The
 * other row ends at its floor, as it does next to a row without any residual. */
START_TEST(a_row_that_is_left_alone_does_not_keep_others_from_their_floor) {
  LeftAlone rows[] = {{0.0, 1}, {1.0e-14, 1}, {0.0, 0}, {0.5e-6, 0}};
  N_Vector y = VECTOR(sqrt(2.0) * ROUGH + 1.0e-5, 0.0), ewt = VECTOR(1.0e12, 1.0e6);
  const int id[] = {1, 0};
  ProjectorCounters stats;
  open_projector(rough_c, NULL, y, 2);
  ck_assert_int_eq(CPProjectorSetUserData(P, &rows[_i]), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetFree(P, id), CP_SUCCESS);
  ck_assert_msg(CPProjectorProject(P, 0.0, y, ewt) == CP_SUCCESS, "%s", message.text);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nfloor, 1);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

static int displaced_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  N_Vector place = VECTOR(sqrt(2.0) * ROUGH + entries(y)[0], entries(y)[1]);
  const int flag = rough_c(t, place, c, user_data);
  N_VDestroy(place);
  return flag;
}

static int displaced_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c;
  const LeftAlone *row  = user_data;
  SM_ELEMENT_D(G, 0, 0) = 2.0 * (sqrt(2.0) * ROUGH + entries(y)[0]) / ROUGH;
  SM_ELEMENT_D(G, 1, 1) = row->is_constant ? 0.0 : 1.0;
  return 0;
}

/* The same for displacements, whose G and y do not show the roundoff of c; its second differences
 * do, for moves that are small compared with the tolerance 1e-4. Tolerances of c: 1e-12, which is
 * 1e-4 of the noise, and 1e-6. */
START_TEST(a_row_that_is_left_alone_does_not_keep_others_from_being_noise) {
  LeftAlone rows[] = {{0.0, 1}, {0.5e-6, 1}, {0.0, 0}, {0.5e-6, 0}};
  const int id[]   = {1, 0};
  N_Vector y = VECTOR(1.0e-5, 0.0), ewt = VECTOR(1.0e4, 1.0e6);
  N_Vector ctol = VECTOR(1.0e-12, 1.0e-6);
  ProjectorCounters stats;
  open_projector(displaced_c, displaced_jac, y, 2);
  ck_assert_int_eq(CPProjectorSetUserData(P, &rows[_i]), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetFree(P, id), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetConstraintTol(P, ctol), CP_SUCCESS);
  ck_assert_msg(CPProjectorProject(P, 0.0, y, ewt) == CP_SUCCESS, "%s", message.text);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nfloor, 1);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(ctol);
}
END_TEST

/* ---- gradients near the smallest number ---- */

static int tiny_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  entries(c)[0] = (entries(y)[0] - 1.0) * *(const sunrealtype *)user_data;
  return 0;
}

static int tiny_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)y, (void)c;
  SM_ELEMENT_D(G, 0, 0) = *(const sunrealtype *)user_data;
  return 0;
}

/* In units of the tolerance 1e-6, gradients of 1e-300 have an inverse, 1e306; those of 1e-304 have
 * none, and count as zero. That is reported, and no NaN spreads. */
START_TEST(a_gradient_that_has_no_inverse_counts_as_zero) {
  sunrealtype gradient = _i ? 1.0e-304 : 1.0e-300;
  N_Vector y = VECTOR(1.0001, 0.0), start = vector_copy(y), ewt = VECTOR(1.0e6, 1.0e6);
  open_projector(tiny_c, tiny_jac, y, 1);
  ck_assert_int_eq(CPProjectorSetUserData(P, &gradient), CP_SUCCESS);
  const int flag = CPProjectorProject(P, 0.0, y, ewt);
  if (_i) {
    ck_assert_msg(flag == -CP_PROJ_INCONSISTENT, "%d: %s", flag, message.text);
    ck_assert_int_eq(same_bits(y, start), 1);
  } else {
    ck_assert_msg(flag == CP_SUCCESS, "%s", message.text);
    ck_assert_double_eq_tol(entries(y)[0], 1.0, 1.0e-7); /* eps tolerances */
  }
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(start);
  N_VDestroy(ewt);
}
END_TEST

/* ---- weights near the largest number ---- */

static int difference_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  entries(c)[0] = entries(y)[0] - entries(y)[1];
  return 0;
}

/* 1/w^2 = 1e-340 is no number, but w is a valid weight. 0 = x - z from (1, 2): in the error norm x
 * moves by D_x / (D_x + D_z), exactly up to some roundoff if the weights are equal; otherwise only
 * the lighter one moves. */
START_TEST(very_large_weights_do_not_fix_a_component) {
  const sunrealtype weights[][2] = {{1.0e170, 1.0e170}, {1.0e170, 1.0e175}, {1.0e175, 1.0e170}};
  const sunrealtype met[]        = {1.5, 2.0, 1.0};
  N_Vector y = VECTOR(1.0, 2.0), ewt = vector_of(2, weights[_i]);
  open_projector(difference_c, NULL, y, 1);
  ck_assert_msg(CPProjectorProject(P, 0.0, y, ewt) == CP_SUCCESS, "%s", message.text);
  /* differences of 1.5e-8 in c are accurate to 1e-7 of the distance 1, twice: Newton corrects what
   * the first correction left */
  for (int j = 0; j < 2; j++) ck_assert_double_eq_tol(entries(y)[j], met[_i], 1.0e-7);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

/* ---- rows that have no gradient where the search begins ---- */

/* 0 = y_0 y_1 - 1, 0 = y_1 - 3: the first row has a gradient once the second one is satisfied.
 * alone: 0 = y_0^2 + y_1^2 - 1, twice. */
static int late_c(sunrealtype t, N_Vector y, N_Vector c, void *alone) {
  const sunrealtype *s = entries(y);
  (void)t;
  entries(c)[0] = alone ? s[0] * s[0] + s[1] * s[1] - 1.0 : s[0] * s[1] - 1.0;
  entries(c)[1] = alone ? entries(c)[0] : s[1] - 3.0;
  return 0;
}

static int late_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *alone) {
  const sunrealtype *s = entries(y), *x = entries(v);
  (void)t;
  entries(Gv)[0] = alone ? 2.0 * (s[0] * x[0] + s[1] * x[1]) : s[1] * x[0] + s[0] * x[1];
  entries(Gv)[1] = alone ? entries(Gv)[0] : x[1];
  return 0;
}

static int late_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *alone) {
  const sunrealtype *s = entries(y), *x = entries(w);
  (void)t;
  entries(GTw)[0] = alone ? 2.0 * s[0] * (x[0] + x[1]) : s[1] * x[0];
  entries(GTw)[1] = alone ? 2.0 * s[1] * (x[0] + x[1]) : s[0] * x[0] + x[1];
  return 0;
}

START_TEST(a_row_may_get_its_gradient_on_the_way) {
  const int products = _i % 2, alone = _i / 2;
  MessageLog log = {0};
  N_Vector y = VECTOR(0.0, 0.0), ewt = VECTOR(1.0e6, 1.0e6), c = VECTOR(0.0, 0.0);
  CPProjector late = products
                         ? CPProjectorCreateProducts(late_c, late_Gv, late_GTw, y, c, test_context)
                         : CPProjectorCreate(late_c, y, c, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(late), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(late, alone ? &log : NULL), CP_SUCCESS);
  const int flag = CPProjectorAssemble(late, 0.0, y, ewt);
  if (alone) { /* the centre of the circle */
    ck_assert_int_eq(flag, CP_IC_FAIL);
    ck_assert_mentions(log.text, "no consistent state found");
    ck_assert_double_eq(N_VMaxNorm(y), 0.0);
  } else { /* by hand */
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, log.text);
    ck_assert_double_eq_tol(entries(y)[0], 1.0 / 3.0, 1.0e-5);
    ck_assert_double_eq_tol(entries(y)[1], 3.0, 1.0e-5);
  }
  CPProjectorFree(&late);
  N_VDestroy(y);
  N_VDestroy(ewt);
  N_VDestroy(c);
}
END_TEST

TEST_SUITE(robustness) {
  Suite *suite = suite_create("robustness");
  TCase *tc    = tcase_create("robustness");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, a_large_component_does_not_make_a_right_jacobian_wrong);
  tcase_add_loop_test(tc, an_angle_that_counts_its_turns_does_not_make_a_right_jacobian_wrong, 0, 2);
  tcase_add_loop_test(tc, an_angle_that_counts_its_turns_does_not_make_right_products_wrong, 0, 2);
  tcase_add_loop_test(tc, the_roundoff_of_a_motion_fails_no_projection, 0, 2);
  tcase_add_test(tc, differences_are_good_beside_a_large_component);
  tcase_add_loop_test(tc, levels_are_detected_beside_a_large_component, 0, 2);
  tcase_add_loop_test(tc, a_tolerance_below_roundoff_is_met_at_the_floor_by_both_projections, 0,
                      4 * n_solvers);
  tcase_add_loop_test(tc, held_rows_are_satisfied_within_one_tolerance_and_named_beyond, 0,
                      n_solvers);
  tcase_add_loop_test(tc, a_row_that_is_left_alone_does_not_keep_others_from_their_floor, 0, 4);
  tcase_add_loop_test(tc, a_row_that_is_left_alone_does_not_keep_others_from_being_noise, 0, 4);
  tcase_add_loop_test(tc, a_gradient_that_has_no_inverse_counts_as_zero, 0, 2);
  tcase_add_loop_test(tc, very_large_weights_do_not_fix_a_component, 0, 3);
  tcase_add_loop_test(tc, a_row_may_get_its_gradient_on_the_way, 0, 4);
  suite_add_tcase(suite, tc);
  return suite;
}
