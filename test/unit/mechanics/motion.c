/* Prescribed motions: their values and differences, their three ways at one state, and refused
 * arguments. The motion of most tests is x(t) = sin(omega t + 0.4), whose derivatives are known. */
#include <cpodes/cpodes_mechanics.h>
#include <cpodes/mechanics/motions.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "models/slider_crank.h"
#include "support/mech_run.h"
#include "support/support.h"

static const sunrealtype omega = 2.0;

static CPMech mech;
static N_Vector y;
static MessageLog messages;

/* A system of n masses without forces, with these motions. */
static void open_masses(int n, int nmotions, const CPMotion *motions) {
  SUNMatrix M = SUNDenseMatrix(n, n, test_context);
  for (int i = 0; i < n; i++) SM_ELEMENT_D(M, i, i) = 1.0;
  const CPEquations model = {CP_SIZED(CPEquations), .nu = n, .M_tmpl = M, .motions = motions,
                             .nmotions = nmotions};
  y                       = vector_of(2 * n, NULL);
  mech                    = create_mech(&model, y, test_context);
  SUNMatDestroy(M);
  ck_assert_ptr_nonnull(mech);
  memset(&messages, 0, sizeof messages);
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages);
}

static void close_masses(void) {
  CPMechFree(&mech);
  if (y) N_VDestroy(y);
  y = NULL;
}

/* ---- motions ---- */

/* The behaviour of a motion, and the times at which it was evaluated */
typedef struct {
  int flag;             /* returned for t > bad_from */
  sunrealtype bad_from; /* if flag is 0, the value bad is given from here on */
  sunrealtype bad;
  int calls;
  sunrealtype earliest, latest;
} Record;

static Record record;

static void reset_record(void) {
  record = (Record){.bad_from = INFINITY, .earliest = INFINITY, .latest = -INFINITY};
}

static int recorded(sunrealtype t, sunrealtype value, sunrealtype *x, void *data) {
  Record *r   = data;
  r->earliest = fmin(r->earliest, t);
  r->latest   = fmax(r->latest, t);
  r->calls++;
  *x = value;
  if (!(t > r->bad_from)) return 0;
  if (!r->flag) *x = r->bad;
  return r->flag;
}

static int sine(sunrealtype t, sunrealtype *g, void *data) {
  return recorded(t, sin(omega * t + 0.4), g, data);
}

static int sine_rate(sunrealtype t, sunrealtype *gd, void *data) {
  return recorded(t, omega * cos(omega * t + 0.4), gd, data);
}

static int sine_curvature(sunrealtype t, sunrealtype *gdd, void *data) {
  return recorded(t, -omega * omega * sin(omega * t + 0.4), gdd, data);
}

static int silent(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)g, (void)data;
  return 0;
}

/* t^degree */
static int power(sunrealtype t, sunrealtype *g, void *data) {
  *g = pow(t, *(int *)data);
  return 0;
}

static int line(sunrealtype t, sunrealtype *g, void *data) {
  *g = *(sunrealtype *)data * t;
  return 0;
}

static void prescribe(CPMotionFn g, CPMotionFn gd, CPMotionFn gdd, sunrealtype step, void *data) {
  const CPMotion by = {0, CP_MOTION_FULL, g, gd, gdd, step, data};
  open_masses(1, 1, &by);
}

/* Errors of g' and g'' of the sine, the largest over t in [0, 3]. */
typedef struct {
  double rate, curvature;
} DifferenceErrors;

static DifferenceErrors errors_at_step(double step) {
  DifferenceErrors e                = {0};
  mech->model->motions.list[0].step = step;
  for (int k = 0; k <= 300; k++) {
    const double t = 0.01 * k;
    ck_assert_int_eq(cpMechMotions(mech, t), 0);
    const CPMotionValue *p = &mech->motion[0];
    e.rate                 = fmax(e.rate, fabs(p->rate - omega * cos(omega * t + 0.4)));
    e.curvature = fmax(e.curvature, fabs(p->curvature + omega * omega * sin(omega * t + 0.4)));
  }
  return e;
}

/* ---- differences ---- */

/* Errors are the leading terms e^6 omega^7 / 140 and e^6 omega^8 / 560, up to the next ones, of
 * relative size (e omega)^2, where roundoff is small. */
START_TEST(differences_are_of_sixth_order) {
  reset_record();
  prescribe(sine, NULL, NULL, 0.1, &record);
  for (double step = 0.1; step > 0.04; step /= 2.0) {
    const DifferenceErrors e = errors_at_step(step);
    const double rate = pow(step, 6) * pow(omega, 7) / 140.0, curvature = rate * omega / 4.0;
    const double next = pow(step * omega, 2);
    ck_assert_double_le(fabs(e.rate / rate - 1.0), next);
    ck_assert_double_le(fabs(e.curvature / curvature - 1.0), next);
  }
}
END_TEST

/* Where truncation is negligible: x is right to an ulp, and its argument to one of omega t + 0.4 < 7,
   2 DBL_EPSILON each in all for |x|, |x'| / omega <= 1 and arguments below 8 (6 ulps of roundings
   at most in omega (t + k e) + 0.4, of DBL_EPSILON / 2 times 8). Sums of coefficients: 11/6, 272/45. */
START_TEST(noise_is_that_of_the_motion_over_powers_of_the_step) {
  reset_record();
  prescribe(sine, NULL, NULL, 0.1, &record);
  for (double step = 1e-2; step > 1e-5; step /= 4.0) {
    const DifferenceErrors e = errors_at_step(step);
    const double x           = (0.5 + 3.0 * 8.0 / 2.0) * DBL_EPSILON;
    const double rate        = pow(step, 6) * pow(omega, 7) / 140.0;
    ck_assert_double_le(e.rate, rate + 11.0 / 6.0 * x / step);
    ck_assert_double_le(e.curvature, rate * omega / 4.0 + 272.0 / 45.0 * x / step / step);
  }
}
END_TEST

/* Sixth order: exact for g' up to degree 6, for g'' up to 7; one degree more has an error. */
START_TEST(differences_are_exact_for_polynomials) {
  int degree = 0;
  prescribe(power, NULL, NULL, 0.5, &degree);
  for (degree = 0; degree <= 8; degree++) {
    ck_assert_int_eq(cpMechMotions(mech, 1.0), 0);
    const CPMotionValue *p = &mech->motion[0];
    const double noise     = 7 * DBL_EPSILON * pow(2.5, degree) * 6.1 / 0.25; /* a few ulps each */
    const double rate = degree, curvature = degree * (degree - 1.0);
    if (degree <= 6) ck_assert_double_le(fabs(p->rate - rate), noise);
    else ck_assert_double_gt(fabs(p->rate - rate), 1e3 * noise);
    if (degree <= 7) ck_assert_double_le(fabs(p->curvature - curvature), noise);
    else ck_assert_double_gt(fabs(p->curvature - curvature), 1e3 * noise);
  }
}
END_TEST

START_TEST(given_derivatives_are_used_and_nothing_else) {
  reset_record();
  prescribe(sine, sine_rate, sine_curvature, 0.0, &record);
  ck_assert_int_eq(cpMechMotions(mech, 0.7), 0);
  const CPMotionValue *p = &mech->motion[0];
  ck_assert_double_eq(p->value, sin(omega * 0.7 + 0.4));
  ck_assert_double_eq(p->rate, omega * cos(omega * 0.7 + 0.4));
  ck_assert_double_eq(p->curvature, -omega * omega * sin(omega * 0.7 + 0.4));
  ck_assert_int_eq(record.calls, 3);
  ck_assert_double_eq(record.earliest, 0.7);
  ck_assert_double_eq(record.latest, 0.7);
}
END_TEST

/* g'' is then the first difference of g', with the error e^6 omega^8 / 140. Second differences
 * would have a quarter of that, so a large step distinguishes them. */
START_TEST(a_given_rate_is_differentiated) {
  reset_record();
  prescribe(sine, sine_rate, NULL, 0.1, &record);
  const DifferenceErrors e = errors_at_step(0.1);
  const double expected    = pow(0.1, 6) * pow(omega, 8) / 140.0;
  ck_assert_double_eq(e.rate, 0.0);
  ck_assert_double_le(fabs(e.curvature / expected - 1.0), pow(0.1 * omega, 2));
}
END_TEST

START_TEST(a_given_curvature_stays_with_differences_of_g) {
  reset_record();
  prescribe(sine, NULL, sine_curvature, 0.1, &record);
  const DifferenceErrors e = errors_at_step(0.1);
  const double expected    = pow(0.1, 6) * pow(omega, 7) / 140.0;
  ck_assert_double_eq(e.curvature, 0.0);
  ck_assert_double_le(fabs(e.rate / expected - 1.0), pow(0.1 * omega, 2));
}
END_TEST

START_TEST(differences_reach_three_steps_and_no_farther) {
  reset_record();
  prescribe(sine, NULL, NULL, 0.25, &record);
  ck_assert_int_eq(cpMechMotions(mech, 1.0), 0);
  ck_assert_double_eq(record.earliest, 0.25);
  ck_assert_double_eq(record.latest, 1.75);
  ck_assert_int_eq(record.calls, 7);
}
END_TEST

/* At a kink the user changes the data of g, and not t. */
START_TEST(values_follow_the_data_at_the_same_time) {
  sunrealtype slope = 2.0;
  prescribe(line, NULL, NULL, 0.125, &slope);
  ck_assert_int_eq(cpMechMotions(mech, 1.0), 0);
  ck_assert_double_eq(mech->motion[0].rate, 2.0);
  slope = -3.0;
  ck_assert_int_eq(cpMechMotions(mech, 1.0), 0);
  ck_assert_double_eq(mech->motion[0].rate, -3.0);
}
END_TEST

/* A slider-crank whose b is formed by differences */
static void open_crank(SliderCrank *crank, sunrealtype time, const CPMotion *by) {
  CPEquations model = slider_crank_model();
  model.b           = NULL;
  model.time        = time;
  model.motions = by, model.nmotions = by ? 1 : 0;
  close_masses();
  y = vector_of(SLIDER_CRANK_N, NULL);
  slider_crank_initial(crank, y);
  entries(y)[3] = 1.0; /* with the pin at the top x' follows, p' = 0 */
  entries(y)[4] = -crank->a;
  mech          = create_mech(&model, y, test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages);
  CPMechSetUserData(mech, crank);
}

/* Over 1e-16 of a second positions of size 1 do not change: b would be 0. */
START_TEST(differences_over_no_time_are_refused) {
  SliderCrank crank = slider_crank_haug();
  sunrealtype udot[3];
  for (int k = 0; k < 2; k++) {
    const sunrealtype t = k;
    open_crank(&crank, k ? 1e-13 : 1e-16, NULL);
    ck_assert_int_eq(CPMechAccelerations(mech, t, y, udot, NULL), CP_ILL_INPUT);
    ck_assert_mentions(messages.text, k ? "1e-13 (member time" : "1e-16 (member time");
  }
  open_crank(&crank, 1e-6, NULL);
  ck_assert_int_eq(CPMechAccelerations(mech, 1.0, y, udot, NULL), CP_SUCCESS);
}
END_TEST

/* dp/dt and b of the model's constraints are also differences, but not of motions: g may end there. */
START_TEST(differences_of_constraints_ask_no_motion) {
  SliderCrank crank = slider_crank_haug();
  sunrealtype udot[3];
  const CPMotion by = {.kind = CP_MOTION_FULL, .g = sine, .step = 1e-3, .data = &record};
  reset_record();
  open_crank(&crank, 0.0, &by);
  ck_assert_int_eq(CPMechAccelerations(mech, 1.0, y, udot, NULL), CP_SUCCESS);
  ck_assert_double_ge(record.earliest, 1.0 - 3.0 * 1e-3);
  ck_assert_double_le(record.latest, 1.0 + 3.0 * 1e-3);
}
END_TEST

/* ---- failures ---- */

START_TEST(failures_have_codes_and_name_the_coordinate) {
  reset_record();
  prescribe(sine, NULL, NULL, 0.1, &record);
  record.bad_from = 0.5;
  record.flag     = 3;
  ck_assert_int_eq(cpMechMotions(mech, 1.0), -CP_REPTD_USERFUNC_ERR);
  ck_assert_mentions(mech->text, "coordinate 0: g at t = 1 ");
  ck_assert_mentions(mech->text, "returned 3");
  record.flag = -2;
  ck_assert_int_eq(cpMechMotions(mech, 1.0), CP_USERFUNC_FAIL);
  ck_assert_mentions(mech->text, "returned -2");
  record.flag = 0;
  record.bad  = INFINITY;
  ck_assert_int_eq(cpMechMotions(mech, 1.0), -CP_MECH_NONFINITE);
  ck_assert_mentions(mech->text, "is not finite: inf");
  ck_assert_int_eq(cpMechMotions(mech, 0.1), 0);
}
END_TEST

/* g is valid at t = 1, but not three steps later. */
START_TEST(a_failure_of_differences_tells_where_and_why_there) {
  reset_record();
  prescribe(sine, NULL, NULL, 0.25, &record);
  record.bad_from = 1.6;
  record.bad      = NAN;
  ck_assert_int_eq(cpMechMotions(mech, 1.0), -CP_MECH_NONFINITE);
  ck_assert_mentions(mech->text, "g at t = 1.75 for differences around t = 1 ");
}
END_TEST

START_TEST(a_motion_that_sets_nothing_is_found_out) {
  prescribe(silent, silent, silent, 0.0, NULL);
  ck_assert_int_eq(cpMechMotions(mech, 0.0), -CP_MECH_NONFINITE);
}
END_TEST

START_TEST(a_step_below_the_resolution_of_t_is_fatal) {
  reset_record();
  prescribe(sine, NULL, NULL, 1e-10, &record);
  ck_assert_int_eq(cpMechMotions(mech, 1.0), 0);
  ck_assert_int_eq(cpMechMotions(mech, 1e8), CP_USERFUNC_FAIL);
  ck_assert_mentions(mech->text, "too small for t");
}
END_TEST

/* The public functions return these codes as negative ones. */
START_TEST(public_functions_report_a_motion_that_fails) {
  sunrealtype udot;
  reset_record();
  prescribe(sine, NULL, NULL, 0.1, &record);
  record.bad_from = 0.5;
  record.flag     = 1;
  ck_assert_int_eq(CPMechAccelerations(mech, 1.0, y, &udot, NULL), CP_REPTD_USERFUNC_ERR);
  ck_assert_mentions(messages.text, "prescribed motion of coordinate 0");
  ck_assert_str_eq(messages.function, "CPMechAccelerations");
}
END_TEST

/* ---- refused motions ---- */

static int is_refused(CPMotion first, CPMotion second, int count) {
  const CPMotion by[]   = {first, second};
  SUNMatrix M           = SUNDenseMatrix(1, 1, test_context);
  SM_ELEMENT_D(M, 0, 0) = 1.0;
  const CPEquations of  = {CP_SIZED(CPEquations), .nu = 1, .M_tmpl = M, .motions = by,
                           .nmotions = count};
  CPModel model         = CPModelCreate(&of);
  const int refused     = model == NULL;
  CPModelFree(&model);
  SUNMatDestroy(M);
  return refused;
}

START_TEST(bad_motions_are_refused) {
  const CPMotion good  = {0, CP_MOTION_DIRECT, sine, NULL, NULL, 0.1, NULL};
  const CPMotion bad[] = {{-1, CP_MOTION_DIRECT, sine, NULL, NULL, 0.1, NULL},
                          {1, CP_MOTION_DIRECT, sine, NULL, NULL, 0.1, NULL},
                          {0, (CPMotionKind)7, sine, NULL, NULL, 0.1, NULL},
                          {0, CP_MOTION_DIRECT, NULL, sine, sine, 0.1, NULL},
                          {0, CP_MOTION_DIRECT, sine, NULL, sine, 0.0, NULL},
                          {0, CP_MOTION_DIRECT, sine, sine, NULL, -0.1, NULL},
                          {0, CP_MOTION_DIRECT, sine, NULL, NULL, NAN, NULL},
                          {0, CP_MOTION_DIRECT, sine, NULL, NULL, INFINITY, NULL}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) ck_assert(is_refused(bad[k], good, 1));
  ck_assert(!is_refused(good, good, 1));
  ck_assert(is_refused(good, good, 2)); /* the same coordinate */
}
END_TEST

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < SUNDenseMatrix_Rows(M); i++) SM_ELEMENT_D(M, i, i) = 1.0;
  return 0;
}

static int free_fall(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)data;
  return 0;
}

static int half(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x, sunrealtype *v,
                void *data) {
  (void)q, (void)data;
  *v = what == CP_N || what == CP_N_TRANSPOSE ? 0.5 * *x : 2.0 * *x;
  return 0;
}

/* q' = u / 2: the coordinate has no velocity of its own. Nor has a coordinate of a quaternion. A recursion takes no
 * motions. */
START_TEST(motions_need_a_velocity_and_matrices) {
  const CPMotion first        = {0, CP_MOTION_RATE, sine, NULL, NULL, 0.1, NULL},
                 third        = {2, CP_MOTION_RATE, sine, NULL, NULL, 0.1, NULL};
  const CPQuaternion attitude = {0, 0, CP_FRAME_BODY};
  const CPEquations models[]  = {
       {.nu = 1, .M = unit_mass, .N = half, .motions = &first, .nmotions = 1},
       {.nu = 1, .udot = free_fall, .motions = &first, .nmotions = 1},
       {.nu           = 4,
        .nq           = 5,
        .M            = unit_mass,
        .quaternions  = &attitude,
        .nquaternions = 1,
        .motions      = &third,
        .nmotions     = 1}};
  for (size_t k = 0; k < sizeof models / sizeof *models; k++)
    ck_assert_ptr_null(CPModelCreate(&models[k]));
}
END_TEST

/* y = (a quaternion, s), u = (omega, s'): coordinate 4 belongs to velocity 3. */
START_TEST(coordinates_beside_quaternions_have_their_velocities) {
  const CPQuaternion attitude = {0, 0, CP_FRAME_BODY};
  const CPMotion by           = {4, CP_MOTION_FULL, sine, sine_rate, sine_curvature, 0.0, &record};
  const CPEquations model     = {
          CP_SIZED(CPEquations),    .nu = 4,           .nq = 5,        .M = unit_mass,
          .quaternions = &attitude, .nquaternions = 1, .motions = &by, .nmotions = 1};
  sunrealtype udot[4];
  reset_record();
  y    = VECTOR(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
  mech = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPMechAccelerations(mech, 0.3, y, udot, NULL), CP_SUCCESS);
  ck_assert_double_eq(udot[3], -omega * omega * sin(omega * 0.3 + 0.4));
  for (int j = 0; j < 3; j++) ck_assert_double_eq(udot[j], 0.0);
}
END_TEST

/* Without data of its own, a motion gets those of the model's functions. */
START_TEST(motions_without_data_get_the_users) {
  const CPMotion by = {.kind = CP_MOTION_FULL, .g = line, .step = 0.125};
  sunrealtype slope = 2.0;
  open_masses(1, 1, &by);
  ck_assert_int_eq(CPMechSetUserData(mech, &slope), CP_SUCCESS);
  ck_assert_int_eq(cpMechMotions(mech, 1.0), 0);
  ck_assert_double_eq(mech->motion[0].rate, 2.0);
}
END_TEST

START_TEST(rows_are_named_in_messages) {
  char name[CP_MECH_ROW_NAME];
  const CPMotion by[] = {{2, CP_MOTION_RATE, sine, NULL, NULL, 0.1, &record},
                         {0, CP_MOTION_FULL, sine, NULL, NULL, 0.1, &record},
                         {1, CP_MOTION_DIRECT, sine, NULL, NULL, 0.1, &record}};
  reset_record();
  open_masses(3, 3, by);
  ck_assert_str_eq(cpMechRowName(mech, 0, name), "the prescribed motion of coordinate 2");
  ck_assert_str_eq(cpMechRowName(mech, 1, name), "the prescribed motion of coordinate 1");
  ck_assert_int_eq(CPMechGetNumMultipliers(mech), 2);
}
END_TEST

/* ---- the three ways at one state ---- */

/* M = [2, 1; 1, 3], coordinate 0 prescribed: u0' = g'', u1' = (f1 - g'') / 3, F = 2 g'' + u1' - f0,
   lambda = -F. */
static int coupled_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = 2.0;
  SM_ELEMENT_D(M, 0, 1) = SM_ELEMENT_D(M, 1, 0) = 1.0;
  SM_ELEMENT_D(M, 1, 1)                         = 3.0;
  return 0;
}

/* f = (q0 + u0, 5 q0 - 2 u0 + q1), which reveals the state that it gets */
static int state_forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, sunrealtype *f, void *data) {
  (void)t, (void)z, (void)data;
  f[0] = q[0] + u[0];
  f[1] = 5.0 * q[0] - 2.0 * u[0] + q[1];
  return 0;
}

START_TEST(each_way_gives_the_prescribed_acceleration) {
  const CPMotionKind how  = (CPMotionKind)_i;
  const CPMotion by       = {0, how, sine, sine_rate, sine_curvature, 0.0, &record};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,        .M = coupled_mass,
                             .f = state_forces,     .motions = &by, .nmotions = 1};
  const sunrealtype t = 0.3, phase = omega * t + 0.4, g = sin(phase), gd = omega * cos(phase);
  const sunrealtype gdd = -omega * omega * sin(phase), q1 = 0.7;
  sunrealtype udot[2], lambda                             = 0.0;
  reset_record();
  /* FULL: the state's entries for coordinate 0 are ignored */
  y    = how == CP_MOTION_FULL ? VECTOR(99.0, q1, 99.0, 0.0) : VECTOR(g, q1, gd, 0.0);
  mech = create_mech(&model, y, test_context);
  const sunrealtype f0 = g + gd, f1 = 5.0 * g - 2.0 * gd + q1;
  const sunrealtype u1 = (f1 - gdd) / 3.0, F = 2.0 * gdd + u1 - f0;
  ck_assert_int_eq(CPMechGetNumMultipliers(mech), how == CP_MOTION_FULL ? 0 : 1);
  ck_assert_int_eq(CPModelGetEquations(CPMechGetModel(mech))->nmotions, 1);
  ck_assert_int_eq(CPMechAccelerations(mech, t, y, udot, &lambda), CP_SUCCESS);
  /* a few roundings of numbers below 10 */
  ck_assert_double_le(fabs(udot[0] - gdd), 1e-14);
  ck_assert_double_le(fabs(udot[1] - u1), 1e-14);
  if (how != CP_MOTION_FULL) ck_assert_double_le(fabs(lambda + F), 1e-13);
}
END_TEST

/* ---- special motions ---- */

/* A step across 0, or a peak there */
static int across_zero(sunrealtype t, sunrealtype *g, void *peak) {
  *g = peak ? (t != 0.0) : (t > 0.0);
  return 0;
}

/* The values are finite, but not their differences over so small a step. */
START_TEST(differences_that_overflow_are_named) {
  sunrealtype a;
  prescribe(across_zero, NULL, NULL, _i ? 1.0e-200 : 1.0e-320, _i ? &a : NULL);
  ck_assert_int_eq(CPMechAccelerations(mech, 0.0, y, &a, NULL), CP_MECH_NONFINITE);
  ck_assert_mentions(messages.text, "overflow");
}
END_TEST

/* Doubles are closer together on the side of t = -1 that is nearer to zero: -1 + 1e-16 is a double,
 * -1 - 1e-16 is not. */
START_TEST(a_step_must_move_t_both_ways) {
  sunrealtype a;
  prescribe(across_zero, NULL, NULL, 1.0e-16, NULL);
  ck_assert_int_eq(CPMechAccelerations(mech, -1.0, y, &a, NULL), CP_USERFUNC_FAIL);
  ck_assert_mentions(messages.text, "too small");
}
END_TEST

static int unit_masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (sunindextype i = 0; i < SM_ROWS_D(M); i++) SM_ELEMENT_D(M, i, i) = 1.0;
  return 0;
}
static int sum_of_all(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  for (int i = 0; i < 6; i++) p[0] += q[i];
  return 0;
}
static int ones(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  for (sunindextype j = 0; j < SM_COLUMNS_D(A); j++) SM_ELEMENT_D(A, 0, j) = 1.0;
  return 0;
}
static int square_of_time(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = t * t;
  return 0;
}

/* q_0 + ... + q_5 = 0, and each of them shall be t^2. */
START_TEST(of_many_motions_that_contradict_a_constraint_some_are_named) {
  CPMotion by[6];
  for (int i = 0; i < 6; i++)
    by[i] = (CPMotion){.coordinate = i, .kind = CP_MOTION_FULL, .g = square_of_time, .step = 0.01};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 6,      .np = 1,
                             .M = unit_masses,      .A = ones,    .p = sum_of_all,
                             .motions = by,         .nmotions = 6};
  sunrealtype a[6];
  N_Vector state = vector_of(12, NULL);
  CPMech many    = create_mech(&model, state, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(many), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(many, 0.0, state, a, NULL), CP_MOTION_CONFLICT);
  ck_assert_mentions(messages.text, "0, 1, 2, 3, ...");
  CPMechFree(&many);
  N_VDestroy(state);
}
END_TEST

TEST_SUITE(motion) {
  Suite *suite = suite_create("mechanics/motion");
  TCase *tc    = tcase_create("motion");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, NULL, close_masses);
  tcase_add_test(tc, differences_are_of_sixth_order);
  tcase_add_loop_test(tc, differences_that_overflow_are_named, 0, 2);
  tcase_add_test(tc, a_step_must_move_t_both_ways);
  tcase_add_test(tc, of_many_motions_that_contradict_a_constraint_some_are_named);
  tcase_add_test(tc, noise_is_that_of_the_motion_over_powers_of_the_step);
  tcase_add_test(tc, differences_are_exact_for_polynomials);
  tcase_add_test(tc, given_derivatives_are_used_and_nothing_else);
  tcase_add_test(tc, a_given_rate_is_differentiated);
  tcase_add_test(tc, a_given_curvature_stays_with_differences_of_g);
  tcase_add_test(tc, differences_reach_three_steps_and_no_farther);
  tcase_add_test(tc, values_follow_the_data_at_the_same_time);
  tcase_add_test(tc, differences_of_constraints_ask_no_motion);
  tcase_add_test(tc, differences_over_no_time_are_refused);
  tcase_add_test(tc, failures_have_codes_and_name_the_coordinate);
  tcase_add_test(tc, a_failure_of_differences_tells_where_and_why_there);
  tcase_add_test(tc, a_motion_that_sets_nothing_is_found_out);
  tcase_add_test(tc, a_step_below_the_resolution_of_t_is_fatal);
  tcase_add_test(tc, public_functions_report_a_motion_that_fails);
  tcase_add_test(tc, bad_motions_are_refused);
  tcase_add_test(tc, motions_need_a_velocity_and_matrices);
  tcase_add_test(tc, coordinates_beside_quaternions_have_their_velocities);
  tcase_add_test(tc, motions_without_data_get_the_users);
  tcase_add_test(tc, rows_are_named_in_messages);
  tcase_add_loop_test(tc, each_way_gives_the_prescribed_acceleration, 0, 3);
  suite_add_tcase(suite, tc);
  return suite;
}
