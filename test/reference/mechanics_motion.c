/* Prescribed motions against closed forms: two masses of which one is driven, and a slider-crank
 * whose crank is.
 *
 * The two masses, x1 = g(t), M = [m1, m12; m12, m2], C = [c1 + c2, -c2; -c2, c2], K alike:
 *
 *   r = x2 - g:     m2 r'' + c2 r' + k2 r = -(m2 + m12) g''
 *   drive force     F = (m1 + m12) g'' + m12 r'' + c1 g' + k1 g - c2 r' - k2 r
 *
 * solved for g = a sin(omega t) by a particular solution and a damped oscillation, and for g of
 * straight legs by the latter; at a kink the momentum (row 2 of M x') is kept, so that x2' jumps by
 * -m12 / m2 of what g' does, and the drive's impulse is row 1 of M times the jump.
 *
 * The bound on errors is that of trajectories.c: N steps of local errors sqrt(n) (1 + |y|) tol / 6,
 * each grown by at most the condition. Here r and r' obey an oscillator of omega_0 = 3, damped: that
 * is at most omega_0; an offset of x1 (RATE) moves the rest position of x2 with it, a factor of 2 at
 * most by overshoot.
 */
#include "reference.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_mechanics.h>
#include <cpodes/mechanics/mech.h>
#include <float.h>
#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static const sunrealtype m1 = 2.0, m12 = 0.5, m2 = 1.0;
static const sunrealtype k1 = 4.0, c1 = 0.4, k2 = 9.0, c2 = 0.6;
static const sunrealtype amplitude = 0.5, omega = 1.3; /* of the sine */
static const sunrealtype speed = 0.4, T = 2.0;         /* of straight legs, and their duration */
static const sunrealtype condition = 3.0;

static const CPMotionKind ways[]     = {CP_MOTION_DIRECT, CP_MOTION_RATE, CP_MOTION_FULL};
static const char *const way_names[] = {"DIRECT", "RATE", "FULL"};

/* ---- the motions ---- */

static int sine(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = amplitude * sin(omega * t);
  return 0;
}

static int sine_rate(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = amplitude * omega * cos(omega * t);
  return 0;
}

static int sine_curvature(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = -amplitude * omega * omega * sin(omega * t);
  return 0;
}

/* Leg k = *data of a triangle wave, continued beyond its ends */
static int straight_leg(sunrealtype t, sunrealtype *g, void *data) {
  const int k = *(int *)data;
  *g          = k % 2 ? speed * ((k + 1) * T - t) : speed * (t - k * T);
  return 0;
}

/* ---- the closed form ---- */

typedef struct {
  sunrealtype t, g, gd, gdd; /* the motion */
  sunrealtype r, rd, rdd;    /* the follower */
} Exact;

static Exact motion_at(sunrealtype t, int leg) {
  Exact e = {.t = t};
  if (leg < 0) {
    sine(t, &e.g, NULL);
    sine_rate(t, &e.gd, NULL);
    sine_curvature(t, &e.gdd, NULL);
  } else {
    straight_leg(t, &e.g, &leg);
    e.gd = leg % 2 ? -speed : speed;
  }
  return e;
}

/* P'' + c2/m2 P' + k2/m2 P = size sin(omega t), and P' */
static void particular(sunrealtype t, int leg, sunrealtype *p, sunrealtype *pd) {
  const sunrealtype w = omega, stiff = k2 / m2 - w * w, damp = c2 / m2 * w;
  const sunrealtype size =
      leg < 0 ? (1.0 + m12 / m2) * amplitude * w * w / (stiff * stiff + damp * damp) : 0.0;
  *p  = size * (stiff * sin(w * t) - damp * cos(w * t));
  *pd = size * w * (stiff * cos(w * t) + damp * sin(w * t));
}

/* At t, from start on the same leg (-1: the sine) */
static Exact exact_after(const Exact *start, sunrealtype t, int leg) {
  const sunrealtype delta = c2 / m2 / 2.0, wd = sqrt(k2 / m2 - delta * delta), tau = t - start->t;
  sunrealtype p0, pd0, p, pd;
  Exact e = motion_at(t, leg);
  particular(start->t, leg, &p0, &pd0);
  particular(t, leg, &p, &pd);
  const sunrealtype h0 = start->r - p0, s0 = (start->rd - pd0 + delta * h0) / wd;
  const sunrealtype h = exp(-delta * tau) * (h0 * cos(wd * tau) + s0 * sin(wd * tau));
  e.r                 = p + h;
  e.rd  = pd + exp(-delta * tau) * wd * (s0 * cos(wd * tau) - h0 * sin(wd * tau)) - delta * h;
  e.rdd = -(c2 * e.rd + k2 * e.r + (m2 + m12) * e.gdd) / m2;
  return e;
}

/* After a jump of g' by the beginning of a leg: m12 g' + m2 x2' stays */
static Exact exact_kink(const Exact *end, int leg) {
  Exact e = motion_at(end->t, leg);
  e.r     = end->r;
  e.rd    = end->rd - (1.0 + m12 / m2) * (e.gd - end->gd);
  return e;
}

static sunrealtype exact_force(const Exact *e) {
  return (m1 + m12) * e->gdd + m12 * e->rdd + c1 * e->gd + k1 * e->g - c2 * e->rd - k2 * e->r;
}

/* ---- runs ---- */

static MessageLog messages;
static int sparse; /* of the tests with matrices by columns */

/* The first mass moves by g. */
static CPMech two_masses(CPMotion g, N_Vector y) {
  SUNMatrix M = SUNDenseMatrix(2, 2, test_context), C = SUNMatClone(M), K = SUNMatClone(M);
  const sunrealtype entries_of[3][3] = {{m1, m12, m2}, {c1 + c2, -c2, c2}, {k1 + k2, -k2, k2}};
  SUNMatrix all[]                    = {M, C, K};
  for (int k = 0; k < 3; k++) {
    SM_ELEMENT_D(all[k], 0, 0) = entries_of[k][0];
    SM_ELEMENT_D(all[k], 0, 1) = SM_ELEMENT_D(all[k], 1, 0) = entries_of[k][1];
    SM_ELEMENT_D(all[k], 1, 1)                              = entries_of[k][2];
  }
  for (int k = 0; sparse && k < 3; k++) {
    SUNMatrix dense = all[k];
    all[k]          = SUNSparseFromDenseMatrix(dense, 0.0, CSC_MAT);
    SUNMatDestroy(dense);
  }
  CPEquations model = linear_equations(2, all[0], all[1], all[2]);
  model.motions = &g, model.nmotions = 1;
  CPMech mech = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages);
  for (int k = 0; k < 3; k++) SUNMatDestroy(all[k]);
  return mech;
}

typedef struct {
  CPMech mech;
  CPIntegrator cpode;
  SUNNonlinearSolver fixed_point;
  N_Vector y;
  sunrealtype t;
  long int steps;
} Motion;

/* mech, prescribed, from y at t = 0; owns both. */
static Motion start_motion(CPMech mech, N_Vector y, int lmm, sunrealtype tol) {
  Motion run = {.mech  = mech,
                .y     = y,
                .cpode = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context)};
  ck_assert_int_eq(CPMechAttach(mech, run.cpode, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(run.cpode, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(run.cpode), 200000), CV_SUCCESS);
  if (lmm == CV_ADAMS) {
    run.fixed_point = SUNNonlinSol_FixedPoint(y, 0, test_context);
    ck_assert_int_eq(CPIntegratorSetNonlinearSolver(run.cpode, run.fixed_point), CP_SUCCESS);
  }
  return run;
}

static void advance(Motion *run, sunrealtype t) {
  const int flag = CPIntegratorEvolve(run->cpode, t, run->y, &run->t, CV_NORMAL);
  ck_assert_msg(flag >= 0, "CPIntegratorEvolve returned %d at t = %g: %s", flag, run->t,
                CPObjectGetLastMessage(CP_OBJECT(run->cpode)));
  CVodeGetNumSteps(CPIntegratorGetCVodeMem(run->cpode), &run->steps);
}

static void end_motion(Motion *run) {
  CPIntegratorFree(&run->cpode);
  CPMechFree(&run->mech);
  if (run->fixed_point) SUNNonlinSolFree(run->fixed_point);
  N_VDestroy(run->y);
}

typedef struct {
  sunrealtype driven, rate;  /* of x1, x1' */
  sunrealtype state, force;  /* of x2, x2'; F */
  sunrealtype size, impulse; /* largest entry of y; error of impulses */
} MotionErrors;

/* F: minus the multiplier; FULL: what equation 1 lacks */
static sunrealtype drive_force(Motion *run, CPMotionKind how) {
  const sunrealtype *y = entries(run->y);
  sunrealtype udot[2], lambda = 0.0;
  ck_assert_int_eq(CPMechAccelerations(run->mech, run->t, run->y, udot, &lambda), CP_SUCCESS);
  if (how != CP_MOTION_FULL) return -lambda;
  return m1 * udot[0] + m12 * udot[1] + (c1 + c2) * y[2] - c2 * y[3] + (k1 + k2) * y[0] - k2 * y[1];
}

static void compare(Motion *run, CPMotionKind how, const Exact *e, MotionErrors *errors) {
  const sunrealtype *y = entries(run->y);
  errors->driven       = fmax(errors->driven, fabs(y[0] - e->g));
  errors->rate         = fmax(errors->rate, fabs(y[2] - e->gd));
  errors->state        = fmax(errors->state, fabs(y[1] - e->g - e->r));
  errors->state        = fmax(errors->state, fabs(y[3] - e->gd - e->rd));
  errors->force        = fmax(errors->force, fabs(drive_force(run, how) - exact_force(e)));
  for (int i = 0; i < 4; i++) errors->size = fmax(errors->size, fabs(y[i]));
}

static sunrealtype state_bound(const MotionErrors *e, sunrealtype tol, long int steps) {
  return (sunrealtype)steps * condition * 2.0 * (1.0 + e->size) * tol / 6.0;
}

/* F is made of these parts of the state; accelerations are, too, by the equations. */
static sunrealtype force_bound(const MotionErrors *e, sunrealtype tol, long int steps) {
  const sunrealtype gain = (k1 + k2 + c1 + c2) + (1.0 + m12 / m2) * (k2 + c2) * 2.0;
  return gain * state_bound(e, tol, steps);
}

/* The sine over [0, t_end], with mass 2 initially at rest; step 0: derivatives are given, otherwise
 * they are differences. */
static MotionErrors sine_errors(CPMotionKind how, int lmm, sunrealtype tol, sunrealtype step,
                                sunrealtype t_end, long int *steps) {
  MotionErrors errors = {0};
  const Exact start   = {.gd = amplitude * omega, .rd = -amplitude * omega};
  N_Vector y          = VECTOR(0.0, 0.0, amplitude * omega, 0.0);
  const CPMotion by   = {.kind = how,
                         .g    = sine,
                         .gd   = step > 0.0 ? NULL : sine_rate,
                         .gdd  = step > 0.0 ? NULL : sine_curvature,
                         .step = step};
  CPMech mech         = two_masses(by, y);
  Motion run          = start_motion(mech, y, lmm, tol);
  for (int k = 1; k <= 50; k++) {
    advance(&run, k * t_end / 50.0);
    const Exact e = exact_after(&start, run.t, -1);
    compare(&run, how, &e, &errors);
  }
  *steps = run.steps;
  end_motion(&run);
  return errors;
}

/* Loop: way, method. */
START_TEST(all_ways_converge_to_the_closed_form) {
  const int way = _i / 2, lmm = _i % 2 ? CV_ADAMS : CV_BDF;
  for (sunrealtype tol = 1e-5; tol > 1e-11; tol /= 10.0) {
    long int steps;
    const MotionErrors e = sine_errors(ways[way], lmm, tol, 0.0, 20.0, &steps);
    if (wants_figures())
      printf("%-6s lmm %d tol %.0e: steps %5ld, x1 %.1e x1' %.1e state %.1e (%.1e) F %.1e (%.1e)\n",
             way_names[way], lmm, tol, steps, e.driven, e.rate, e.state,
             state_bound(&e, tol, steps), e.force, force_bound(&e, tol, steps));
    ck_assert_double_le(e.state, state_bound(&e, tol, steps));
    ck_assert_double_le(e.force, force_bound(&e, tol, steps));
    ck_assert_double_le(e.driven, state_bound(&e, tol, steps));
  }
}
END_TEST

/* Other factors, and roundoff; the steps are the same except for the effect of roundoff. */
START_TEST(sparse_matrices_run_alike) {
  const sunrealtype tol = 1e-8;
  for (int way = 0; way < 3; way++) {
    long int steps, steps_dense;
    sparse                   = 0;
    const MotionErrors dense = sine_errors(ways[way], CV_BDF, tol, 0.0, 20.0, &steps_dense);
    sparse                   = 1;
    const MotionErrors e     = sine_errors(ways[way], CV_BDF, tol, 0.0, 20.0, &steps);
    if (wants_figures())
      printf("%-6s sparse: steps %ld (%ld), state %.1e (%.1e)\n", way_names[way], steps,
             steps_dense, e.state, dense.state);
    ck_assert_double_le(fabs((double)steps / (double)steps_dense - 1.0), 0.05);
    ck_assert_double_le(e.state, state_bound(&e, tol, steps));
    ck_assert_double_le(e.force, force_bound(&e, tol, steps));
  }
  sparse = 0;
}
END_TEST

/* The same figures with g', g'' by differences, whose errors, 1e-11 at this step (motion.c), are
 * far below tol. */
START_TEST(differences_are_as_good_as_derivatives) {
  const sunrealtype tol = 1e-9, step = 0.03 / omega;
  for (int way = 0; way < 3; way++) {
    long int steps, steps_given;
    const MotionErrors given = sine_errors(ways[way], CV_BDF, tol, 0.0, 20.0, &steps_given);
    const MotionErrors e     = sine_errors(ways[way], CV_BDF, tol, step, 20.0, &steps);
    if (wants_figures())
      printf("%-6s differences: steps %ld (%ld), state %.1e (%.1e), F %.1e (%.1e)\n",
             way_names[way], steps, steps_given, e.state, given.state, e.force, given.force);
    ck_assert_double_le(e.state, state_bound(&e, tol, steps));
    ck_assert_double_le(e.force, force_bound(&e, tol, steps));
    /* accuracy within a factor of two of the run with derivatives, and steps within a tenth */
    ck_assert_double_le(e.state, 2.0 * given.state);
    ck_assert_double_le(e.force, 2.0 * given.force);
    ck_assert_double_le(fabs((double)steps / (double)steps_given - 1.0), 0.1);
  }
}
END_TEST

/* ---- drift ---- */

/* A quick return, whose fast part has small steps and whose slow part has large ones. (With
 * constant, repeating steps, a multistep method's errors in x1' = g'(t) are a difference that
 * vanishes over a period.) */
static const sunrealtype quickness = 0.8;

static int quick_return(sunrealtype t, sunrealtype *g, void *data) {
  const sunrealtype R = quickness;
  (void)data;
  *g = amplitude * atan2(R * sin(omega * t), 1.0 - R * cos(omega * t));
  return 0;
}

static int quick_return_rate(sunrealtype t, sunrealtype *g, void *data) {
  const sunrealtype R = quickness, c = cos(omega * t);
  (void)data;
  *g = amplitude * omega * R * (c - R) / (1.0 - 2.0 * R * c + R * R);
  return 0;
}

static int quick_return_curvature(sunrealtype t, sunrealtype *g, void *data) {
  const sunrealtype R = quickness, D = 1.0 - 2.0 * R * cos(omega * t) + R * R;
  (void)data;
  *g = -amplitude * omega * omega * R * (1.0 - R * R) * sin(omega * t) / (D * D);
  return 0;
}

/* Largest |x1 - g| within the first period, and within `periods` of them */
static void drift_of(CPMotionKind how, int lmm, sunrealtype tol, int periods, sunrealtype *first,
                     sunrealtype *all) {
  const sunrealtype period = 2.0 * acos(-1.0) / omega;
  N_Vector y               = vector_of(4, NULL);
  quick_return_rate(0.0, &entries(y)[2], NULL);
  const CPMotion by = {
      .kind = how, .g = quick_return, .gd = quick_return_rate, .gdd = quick_return_curvature};
  CPMech mech = two_masses(by, y);
  Motion run  = start_motion(mech, y, lmm, tol);
  *all        = 0.0;
  for (int k = 1; k <= 10 * periods; k++) {
    sunrealtype g;
    advance(&run, k * period / 10.0);
    quick_return(run.t, &g, NULL);
    *all = fmax(*all, fabs(entries(run.y)[0] - g));
    if (k == 10) *first = *all;
  }
  end_motion(&run);
}

/* Loop: method. If the drift of each period is equal, the largest over 64 periods is 64 times that
 * of one period; the test requires a tenth of this in the mean over the tolerances, since errors of
 * the first period depend on how the method starts. */
START_TEST(the_position_of_rate_drifts_and_of_no_other) {
  const int lmm      = _i ? CV_ADAMS : CV_BDF;
  sunrealtype growth = 0.0; /* sum of logarithms */
  int tolerances     = 0;
  for (sunrealtype tol = 1e-5; tol > 5e-10; tol /= 10.0) {
    sunrealtype first, all;
    drift_of(CP_MOTION_RATE, lmm, tol, 64, &first, &all);
    if (wants_figures()) printf("lmm %d, tol %.0e: drift %.1e, %.1e\n", lmm, tol, first, all);
    ck_assert_double_ge(first, 1e-3 * tol); /* not roundoff */
    growth += log(all / first);
    tolerances++;
  }
  ck_assert_double_ge(exp(growth / tolerances), 6.4);
  /* one correction of x1 = g leaves the roundoff of x1, half an ulp of 0.5 or so */
  sunrealtype first, all;
  drift_of(CP_MOTION_DIRECT, lmm, 1e-6, 64, &first, &all);
  ck_assert_double_le(all, DBL_EPSILON);
  drift_of(CP_MOTION_FULL, lmm, 1e-6, 64, &first, &all);
  ck_assert_double_eq(all, 0.0);
}
END_TEST

/* RATE does not know the position: an offset at the start remains, within the bound of the run.
 * With DIRECT and FULL such a start is refused, until CPIntegratorCalcIC has removed the offset. */
START_TEST(an_offset_of_the_driven_position) {
  const sunrealtype offset = 0.25, tol = 1e-8;
  for (int way = 0; way < 3; way++) {
    long int steps;
    sunrealtype g;
    N_Vector y        = VECTOR(offset, 0.0, amplitude * omega, 0.0);
    const CPMotion by = {.kind = ways[way], .g = sine, .gd = sine_rate, .gdd = sine_curvature};
    CPMech mech       = two_masses(by, y);
    Motion run        = start_motion(mech, y, CV_BDF, tol);
    CPObjectSetErrHandlerFn(CP_OBJECT(run.cpode), message_log, &messages);
    if (ways[way] != CP_MOTION_RATE) {
      ck_assert_int_eq(CPIntegratorEvolve(run.cpode, 10.0, run.y, &run.t, CV_NORMAL),
                       CP_INCONSISTENT_IC);
      ck_assert_mentions(messages.text, "prescribed motion of coordinate 0: 2.500e-01");
      ck_assert_int_eq(CPIntegratorCalcIC(run.cpode, NULL), CP_SUCCESS);
    }
    advance(&run, 10.0);
    CVodeGetNumSteps(CPIntegratorGetCVodeMem(run.cpode), &steps);
    sine(10.0, &g, NULL);
    const sunrealtype error = entries(run.y)[0] - g;
    if (ways[way] == CP_MOTION_RATE)
      ck_assert_double_le(fabs(error - offset), (double)steps * 2.0 * 2.0 * tol / 6.0);
    else ck_assert_double_le(fabs(error), DBL_EPSILON);
    end_motion(&run);
  }
}
END_TEST

/* ---- kinks ---- */

/* Impulses come from g' by differences of step 0.1, whose noise is 2 DBL_EPSILON |g| / step, |g| = 40
   at most far out on a leg: times m1 + m12 about 1e-13. */
static void kink(Motion *run, CPMotionKind how, const Exact *before, const Exact *after,
                 MotionErrors *errors) {
  const sunrealtype jump = (m1 - m12 * m12 / m2) * (after->gd - before->gd); /* row 1 of M [x'] */
  sunrealtype impulse    = -jump;
  ck_assert_int_eq(
      CPMechImpact(run->mech, run->t, run->y, NULL, 0.0, how == CP_MOTION_FULL ? NULL : &impulse),
      CP_SUCCESS);
  errors->impulse = fmax(errors->impulse, fabs(impulse + jump));
  errors->rate    = fmax(errors->rate, fabs(entries(run->y)[2] - after->gd));
}

/* Loop: way, method. */
START_TEST(kinks_with_stops_keep_the_closed_form) {
  const CPMotionKind how = ways[_i / 2];
  const sunrealtype tol  = 1e-8;
  MotionErrors errors    = {0};
  Exact start = {0}, e = {0};
  int leg     = 0;
  N_Vector y  = vector_of(4, NULL);
  CPMech mech = two_masses((CPMotion){.kind = how, .g = straight_leg, .step = 0.1, .data = &leg}, y);
  start       = exact_kink(&e, 0);
  ck_assert_int_eq(CPMechImpact(mech, 0.0, y, NULL, 0.0, NULL), CP_SUCCESS);
  Motion run     = start_motion(mech, y, _i % 2 ? CV_ADAMS : CV_BDF, tol);
  long int steps = 0;
  for (leg = 0; leg < 10; leg++) {
    if (leg > 0) {
      start = exact_kink(&e, leg);
      kink(&run, how, &e, &start, &errors);
      ck_assert_int_eq(CPIntegratorReInit(run.cpode, run.t, run.y), CP_SUCCESS);
    }
    ck_assert_int_eq(CVodeSetStopTime(CPIntegratorGetCVodeMem(run.cpode), (leg + 1) * T),
                     CV_SUCCESS);
    for (int k = 1; k <= 10; k++) {
      advance(&run, (leg + k / 10.0) * T);
      e = exact_after(&start, run.t, leg);
      compare(&run, how, &e, &errors);
    }
    steps += run.steps;
  }
  if (wants_figures())
    printf("kinks %-6s lmm %d: steps %ld, x1 %.1e x1' %.1e state %.1e F %.1e impulse %.1e\n",
           way_names[_i / 2], _i % 2 ? CV_ADAMS : CV_BDF, steps, errors.driven, errors.rate,
           errors.state, errors.force, errors.impulse);
  ck_assert_double_le(errors.impulse, 1e-12);
  ck_assert_double_le(errors.rate, 1e-12);
  ck_assert_double_le(errors.driven,
                      how == CP_MOTION_RATE ? state_bound(&errors, tol, steps) : 1e-15);
  ck_assert_double_le(errors.state, state_bound(&errors, tol, steps));
  ck_assert_double_le(errors.force, force_bound(&errors, tol, steps));
  end_motion(&run);
}
END_TEST

/* ---- step control ---- */

/* x1 = a sin(10 t) beside a mass that it hardly moves, k2 = 1e-4, c2 = 0: nearly all of the error
 * is in the prescribed motion, and a projected norm does not see it. With such a norm, steps are
 * cut by projections that move too far, and the order stays at 1. */
static int fast(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = amplitude * sin(10.0 * t);
  return 0;
}

static int fast_rate(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = 10.0 * amplitude * cos(10.0 * t);
  return 0;
}

static int fast_curvature(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = -100.0 * amplitude * sin(10.0 * t);
  return 0;
}

/* Steps of BDF over 20 s; failures of the projection */
static long int fast_steps(CPMotionKind how, CPErrEst errest, sunrealtype tol, long int *failures) {
  const sunrealtype k = 1e-4;
  N_Vector y          = VECTOR(0.0, 0.0, 10.0 * amplitude, 0.0);
  SUNMatrix M = SUNDenseMatrix(2, 2, test_context), K = SUNMatClone(M);
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1.0;
  SM_ELEMENT_D(K, 0, 0) = SM_ELEMENT_D(K, 1, 1) = k;
  SM_ELEMENT_D(K, 0, 1) = SM_ELEMENT_D(K, 1, 0) = -k;
  const CPMotion by = {.kind = how, .g = fast, .gd = fast_rate, .gdd = fast_curvature};
  CPEquations model = linear_equations(2, M, NULL, K);
  model.motions = &by, model.nmotions = 1;
  CPMech mech = create_mech(&model, y, test_context);
  SUNMatDestroy(M);
  SUNMatDestroy(K);
  Motion run = start_motion(mech, y, CV_BDF, tol);
  IntegratorCounters stats;
  ck_assert_int_eq(CPIntegratorSetErrEst(run.cpode, errest), CP_SUCCESS);
  advance(&run, 20.0);
  ck_assert_int_eq(integrator_counters(run.cpode, &stats), CP_SUCCESS);
  *failures = stats.nprojfails;
  end_motion(&run);
  return run.steps;
}

/* The position that RATE integrates has the same errors. Loop index: way */
START_TEST(step_control_follows_what_is_prescribed) {
  enum { RUNGS = 9 };
  sunrealtype sum_of_logs = 0;
  for (int i = 0; i < RUNGS; i++) {
    const sunrealtype tol = 1e-5 * pow(10, -i / 2.0);
    long int failures, none;
    const long int steps     = fast_steps(ways[_i], CP_ERREST_DEFAULT, tol, &failures);
    const long int reference = fast_steps(CP_MOTION_RATE, CP_ERREST_UNPROJECTED, tol, &none);
    if (wants_figures())
      printf("%-6s fast, tol %.2e: steps %ld, unprojected RATE %ld, failures %ld\n", way_names[_i],
             (double)tol, steps, reference, failures);
    ck_assert_int_eq(failures, 0);
    sum_of_logs += log((sunrealtype)steps / (sunrealtype)reference);
  }
  ck_assert_double_le(exp(sum_of_logs / RUNGS), 1.1);
}
END_TEST

/* ---- a driven slider-crank ---- */

/* q(t) = pi/2 + Omega t + wobble sin(t): constant speed, or not */
typedef struct {
  sunrealtype wobble;
} Crank;

static const sunrealtype Omega = 2.0;

static int crank_angle(sunrealtype t, sunrealtype *g, void *data) {
  *g = acos(0.0) + Omega * t + ((Crank *)data)->wobble * sin(t);
  return 0;
}

static int crank_speed(sunrealtype t, sunrealtype *g, void *data) {
  *g = Omega + ((Crank *)data)->wobble * cos(t);
  return 0;
}

static int crank_acceleration(sunrealtype t, sunrealtype *g, void *data) {
  *g = -((Crank *)data)->wobble * sin(t);
  return 0;
}

/* State (q, x, p) and rates, accelerations, multipliers of the two loop closures and torque */
typedef struct {
  sunrealtype y[6], acc[3], lambda[2], torque;
} CrankState;

/* sin p = -a sin q, x = cos p + a cos q, and their rates; then rows x, p and q of
   M (q, x, p)'' + A^T lambda = Q + torque e_1, one after another */
static CrankState crank_state(const SliderCrank *s, sunrealtype t, Crank *crank) {
  CrankState e;
  sunrealtype Q[3]    = {0.0, 0.0, 0.0}, q, qd, qdd;
  const sunrealtype a = s->a;
  crank_angle(t, &q, crank);
  crank_speed(t, &qd, crank);
  crank_acceleration(t, &qdd, crank);
  const sunrealtype p = asin(-a * sin(q)), pd = -a * cos(q) * qd / cos(p);
  const sunrealtype pdd = (sin(p) * pd * pd + a * sin(q) * qd * qd - a * cos(q) * qdd) / cos(p);
  const sunrealtype xd  = -sin(p) * pd - a * sin(q) * qd;
  const sunrealtype xdd = -cos(p) * pd * pd - sin(p) * pdd - a * cos(q) * qd * qd - a * sin(q) * qdd;
  const sunrealtype y[6] = {q, cos(p) + a * cos(q), p, qd, xd, pd}, acc[3] = {qdd, xdd, pdd};
  memcpy(e.y, y, sizeof y);
  memcpy(e.acc, acc, sizeof acc);
  slider_crank_model().f(t, y, y + 3, NULL, Q, (void *)s);
  e.lambda[0] = Q[1] - s->m2 * xdd;
  e.lambda[1] = (s->J2 * pdd + e.lambda[0] * sin(p) - Q[2]) / cos(p);
  e.torque    = s->J1 * qdd + a * sin(q) * e.lambda[0] - a * cos(q) * e.lambda[1] - Q[0];
  return e;
}

static CPMech crank_mech(SliderCrank *s, const CPMotion *g, N_Vector y) {
  CPEquations model = slider_crank_model();
  model.motions = g, model.nmotions = g ? 1 : 0;
  CPMech mech = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  CPMechSetUserData(mech, s);
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages);
  return mech;
}

static CPMotion crank_by(CPMotionKind how, Crank *crank) {
  return (CPMotion){
      .kind = how, .g = crank_angle, .gd = crank_speed, .gdd = crank_acceleration, .data = crank};
}

/* Loop: wobble, way, method. With the crank driven there is no freedom left: DIRECT and FULL find the
   state by projection, to a fraction of the tolerance. RATE adds up local errors of q, which x and p
   follow with a factor below 1 (a / cos p), velocities with one of 3 at most (a q' (1 + q')).
   Accelerations and multipliers follow the state with the forces' and the rates' factors, which are
   below 10 each. */
START_TEST(a_driven_crank_moves_as_its_kinematics_say) {
  Crank crank   = {.wobble = _i / 6 ? 0.3 : 0.0};
  const int way = _i / 2 % 3, lmm = _i % 2 ? CV_ADAMS : CV_BDF;
  const CPMotionKind how = ways[way];
  const sunrealtype tol  = 1e-8;
  SliderCrank s          = slider_crank_haug();
  CrankState e           = crank_state(&s, 0.0, &crank);
  N_Vector y             = vector_of(6, e.y);
  const CPMotion by      = crank_by(how, &crank);
  CPMech mech            = crank_mech(&s, &by, y);
  Motion run             = start_motion(mech, y, lmm, tol);
  sunrealtype state = 0.0, driven = 0.0, forces = 0.0, size = 0.0;
  for (int k = 1; k <= 50; k++) {
    sunrealtype udot[3], lambda[3], reaction[3];
    CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda,
                        .reaction = reaction};
    advance(&run, 0.2 * k);
    e = crank_state(&s, run.t, &crank);
    ck_assert_int_eq(CPMechEvaluate(mech, run.t, y, &out), CP_SUCCESS);
    driven = fmax(driven, fabs(entries(y)[0] - e.y[0]));
    for (int i = 0; i < 6; i++) state = fmax(state, fabs(entries(y)[i] - e.y[i]));
    for (int i = 0; i < 6; i++) size = fmax(size, fabs(e.y[i]));
    for (int i = 0; i < 3; i++) forces = fmax(forces, fabs(udot[i] - e.acc[i]));
    for (int i = 0; i < 2; i++) forces = fmax(forces, fabs(lambda[i] - e.lambda[i]));
    if (how != CP_MOTION_FULL) forces = fmax(forces, fabs(lambda[2] + e.torque));
    /* everything that acts on the crank except Q: the torque and the loop's reaction */
    const sunrealtype loop = -s.a * sin(e.y[0]) * e.lambda[0] + s.a * cos(e.y[0]) * e.lambda[1];
    forces                 = fmax(forces, fabs(reaction[0] - e.torque - loop));
  }
  if (wants_figures())
    printf("crank %-6s lmm %d wobble %.1f: steps %ld, q %.1e, state %.1e, forces %.1e\n",
           way_names[way], lmm, crank.wobble, run.steps, driven, state, forces);
  const sunrealtype added = (sunrealtype)run.steps * sqrt(6.0) * (1.0 + size) * tol / 6.0;
  const sunrealtype bound = how == CP_MOTION_RATE ? 3.0 * added : tol * (1.0 + size);
  ck_assert_double_le(driven, how == CP_MOTION_RATE ? added : 4.0 * DBL_EPSILON * size);
  ck_assert_double_le(state, bound);
  ck_assert_double_le(forces, 100.0 * bound);
  end_motion(&run);
}
END_TEST

TEST_SUITE(mechanics_motion) {
  Suite *suite = suite_create("reference/mechanics_motion");
  TCase *tc    = tcase_create("motion");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, all_ways_converge_to_the_closed_form, 0, 6);
  tcase_add_test(tc, sparse_matrices_run_alike);
  tcase_add_test(tc, differences_are_as_good_as_derivatives);
  tcase_add_loop_test(tc, the_position_of_rate_drifts_and_of_no_other, 0, 2);
  tcase_add_test(tc, an_offset_of_the_driven_position);
  tcase_add_loop_test(tc, kinks_with_stops_keep_the_closed_form, 0, 6);
  tcase_add_loop_test(tc, step_control_follows_what_is_prescribed, 0, 3);
  tcase_add_loop_test(tc, a_driven_crank_moves_as_its_kinematics_say, 0, 12);
  suite_add_tcase(suite, tc);
  return suite;
}
