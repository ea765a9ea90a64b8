/* Sensitivities through events, against derivatives of closed forms, and of whole runs where there
 * is no closed form. */
#include "fixture.h"
#include "models/rocking_block.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

#define TOL SUN_RCONST(1.0e-9)

/* ---- a body that strikes and slides: (x, y) with the gap y, the sliding velocity x' and unit mass ---- */

enum { GRAVITY, RESTITUTION, FRICTION, HEIGHT, SPEED, PARAMETERS };

typedef struct {
  sunrealtype p[PARAMETERS];
  int lacks_mass, lacks_rows; /* do the functions of M and A fail? */
  sunrealtype t_wrong;        /* from then on, restitution is too large; 0: never */
  sunrealtype t;              /* of the newest forces */
} Puck;

static const Puck usual = {.p = {9.81, 0.6, 0.3, 1.0, 8.0}};

static Puck *puck_of(void *data) { return data; }

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *run) {
  const Puck *puck = puck_of(run);
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = puck && puck->lacks_mass ? NAN : 1;
  return 0;
}
static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *run) {
  (void)t, (void)q;
  SM_ELEMENT_D(A, 0, 1) = SM_ELEMENT_D(A, 1, 0) = 1;
  return puck_of(run)->lacks_rows ? -1 : 0;
}
static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *run) {
  (void)q, (void)u, (void)z;
  f[1]            = -puck_of(run)->p[GRAVITY];
  puck_of(run)->t = t;
  return 0;
}
static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *run) {
  (void)t, (void)run;
  p[0] = q[1];
  return 0;
}
static int no_bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *run) {
  (void)t, (void)q, (void)u, (void)run;
  b[0] = b[1] = 0;
  return 0;
}
static int laws(int i, CPContactLaw *law, void *run) {
  (void)i;
  law->restitution = puck_of(run)->p[RESTITUTION];
  const Puck *puck = puck_of(run);
  law->mu = law->mu_static = puck->p[FRICTION];
  if (puck->t_wrong > 0.0 && puck->t >= puck->t_wrong) law->restitution = 1.5;
  return 0;
}

/* ---- a rod with friction that changes ---- */

typedef struct {
  Body body;
  sunrealtype mu;
} Rod;

static int rod_laws(int i, CPContactLaw *law, void *data) {
  const Rod *rod = data; /* whose first member is the body */
  (void)i;
  law->mu = law->mu_static = rod->mu;
  return 0;
}

static const CPEquations puck_model = {
    CP_SIZED(CPEquations), .nu = 2,  .np = 1,     .nv = 2, .M = mass, .A = rows,
    .f = weight,           .p = gap, .b = no_bias};
static const CPContactPoint puck_point = {
    CP_SIZED(CPContactPoint), .name = "puck", .normal = 0,         .tangent = 1,
    .ntangents = 1,           .law.mu = 1,    .law.restitution = 0};

static Run *puck_create(Puck *puck) {
  const sunrealtype y0[] = {0, puck->p[HEIGHT], puck->p[SPEED], 0};
  Run *run               = run_create(&puck_model, puck, 1, &puck_point, y0);
  ck_assert_int_eq(CPContactSetLawFn(run->contact, laws, puck), CP_SUCCESS);
  return run;
}

static void begin(Run *run, int method, sunrealtype tol) {
  const int flag = run_attach(run, method, tol);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
}

static Run *puck_run(Puck *puck, int method, sunrealtype tol) {
  Run *run = puck_create(puck);
  begin(run, method, tol);
  return run;
}

/* All parameters of the puck, and the derivatives S of its start */
static CPParameters parameters_of(Puck *puck, N_Vector *S) {
  for (int i = 0; i < PARAMETERS; i++) N_VConst(0.0, S[i]);
  entries(S[HEIGHT])[1] = 1;
  entries(S[SPEED])[2]  = 1;
  return (CPParameters){CP_SIZED(CPParameters), .n = PARAMETERS, .values = puck->p, .y0S = S};
}

static Run *puck_with_sensitivities(Puck *puck, int method, N_Vector **S) {
  Run *run                      = puck_create(puck);
  *S                            = N_VCloneVectorArray(PARAMETERS, run->y);
  const CPParameters parameters = parameters_of(puck, *S);
  run_differentiate(run, &parameters);
  begin(run, method, TOL);
  return run;
}

/* Its motion y [4], and the integral of its height: flights with the speeds v, e v, ... between
 * impacts, each of which reduces the speed x' by mu (1 + e) v; after the end of the bouncing it
 * slides until it rests. */
enum { STATES = 4, VALUES };

static void exact(const sunrealtype *p, sunrealtype t, sunrealtype *y) {
  const sunrealtype g = p[GRAVITY], e = p[RESTITUTION], mu = p[FRICTION];
  sunrealtype begin = 0, v = 0, h = p[HEIGHT], x = 0, speed = p[SPEED], area = 0;
  for (;;) {
    const sunrealtype end = begin + (v + sqrt(v * v + 2 * g * h)) / g, s = fmin(t, end) - begin;
    area += h * s + v * s * s / 2 - g * s * s * s / 6;
    x += speed * s;
    y[0] = x, y[1] = h + v * s - g * s * s / 2, y[2] = speed, y[3] = v - g * s, y[4] = area;
    if (t <= end) return;
    const sunrealtype strikes = g * (end - begin) - v;
    begin = end, h = 0, v = e * strikes, speed -= mu * (1 + e) * strikes;
    if (v < 1e-12) break;
  }
  const sunrealtype s = fmin(t - begin, speed / (mu * g));
  y[0] = x + speed * s - mu * g * s * s / 2, y[1] = 0, y[2] = speed - mu * g * s, y[3] = 0;
  if (s < t - begin) y[2] = 0;
}

/* d exact / dp_i of this puck, by differences of sixth order */
static void derivative_of(const Puck *puck, int i, sunrealtype t, sunrealtype *d) {
  const sunrealtype h = 1e-3 * puck->p[i];
  memset(d, 0, VALUES * sizeof *d);
  for (int k = -3; k <= 3; k++) {
    Puck moved = *puck;
    sunrealtype y[VALUES];
    moved.p[i] += k * h;
    exact(moved.p, t, y);
    for (int j = 0; j < VALUES; j++) d[j] += sixth_order(k) * y[j] / h;
  }
}

static void exact_derivative(int i, sunrealtype t, sunrealtype *d) {
  derivative_of(&usual, i, t, d);
}

/* In flight, after one, two and four impacts; sliding, after infinitely many; at rest */
static const sunrealtype times[] = {0.3, 0.7, 1.2, 1.6, 2.4, 3.5};
enum { TIMES = sizeof times / sizeof *times };

START_TEST(forward_sensitivities_pass_impacts_accumulation_sliding_and_rest) {
  Puck puck = usual;
  N_Vector *S;
  Run *run = puck_with_sensitivities(&puck, _i, &S);
  for (int n = 0; n < TIMES; n++) {
    run_to(run, times[n]);
    run_sensitivities(run, S);
    for (int i = 0; i < PARAMETERS; i++) {
      sunrealtype d[VALUES], size = 1;
      exact_derivative(i, times[n], d);
      for (int j = 0; j < STATES; j++) size = fmax(size, fabs(d[j]));
      for (int j = 0; j < STATES; j++)
        ck_assert_msg(fabs(entries(S[i])[j] - d[j]) <= 10 * TOL * size,
                      "t = %g, parameter %d, component %d: %.12g for %.12g", times[n], i, j,
                      entries(S[i])[j], d[j]);
    }
  }
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
  for (int i = 0; i < PARAMETERS; i++) ck_assert_double_eq(puck.p[i], usual.p[i]);
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

static int way(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  (void)t, (void)data;
  values[0] = entries(y)[0], values[1] = 0;
  return 0;
}
static int height(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  (void)t, (void)data;
  values[0] = 0, values[1] = entries(y)[1];
  return 0;
}

/* The distance at the end, and the integral of the height, adjoint and forward */
START_TEST(gradients_pass_impacts_accumulation_sliding_and_rest) {
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 2, .end = way, .integrand = height};
  const int method = _i % METHODS, forward = _i / METHODS;
  for (int n = 0; n < TIMES; n += test_is_short() ? 4 : 1) { /* one flight, and all phases */
    Puck puck   = usual;
    Run *run    = puck_run(&puck, method, asked_of(method, TOL));
    N_Vector *S = N_VCloneVectorArray(PARAMETERS, run->y), *start = N_VCloneVectorArray(2, run->y);
    sunrealtype G[2], dG[2 * PARAMETERS], y[VALUES];
    const CPParameters parameters = parameters_of(&puck, S);
    const int flag =
        CPSessionGradient(run->session, times[n], &F, &parameters,
                          &(CPGradientOptions){CP_SIZED(CPGradientOptions), .reltol = 1e-10,
                                               .mode = (CPGradientMode)forward},
                          G, dG, forward ? NULL : start);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
    exact(usual.p, times[n], y);
    ck_assert_double_eq_tol(G[0], y[0], 10 * TOL * fabs(y[0]));
    ck_assert_double_eq_tol(G[1], y[4], 10 * TOL);
    for (int i = 0; i < PARAMETERS; i++) {
      sunrealtype d[VALUES];
      exact_derivative(i, times[n], d);
      ck_assert_msg(fabs(dG[i] - d[0]) <= 10 * TOL * fmax(1, fabs(d[0])),
                    "t = %g: way, parameter %d: %.12g for %.12g", times[n], i, dG[i], d[0]);
      ck_assert_msg(fabs(dG[PARAMETERS + i] - d[4]) <= 10 * TOL * fmax(1, fabs(d[4])),
                    "t = %g: area, parameter %d: %.12g for %.12g", times[n], i, dG[PARAMETERS + i],
                    d[4]);
    }
    for (int k = 0; k < 2 && !forward; k++) { /* the start depends on only two of the parameters */
      ck_assert_double_eq_tol(entries(start[k])[2], dG[k * PARAMETERS + SPEED], 10 * TOL);
      ck_assert_double_eq_tol(entries(start[k])[1], dG[k * PARAMETERS + HEIGHT], 10 * TOL);
    }
    sunrealtype t;
    ck_assert_int_eq(CPSessionRun(run->session, 4, run->y, &t), CP_NO_INIT);
    N_VDestroyVectorArray(S, PARAMETERS);
    N_VDestroyVectorArray(start, 2);
    run_free(&run);
  }
}
END_TEST

static int way_gradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp, void *data) {
  (void)t, (void)y, (void)gp, (void)data;
  entries(gy)[0] = k == 0;
  return 0;
}

/* The sum of the distances at all times, in every phase, with and without a gradient, and forward; the run goes on after the last of them. */
START_TEST(gradients_at_many_times_pass_all_events) {
  Puck puck   = usual;
  Run *run    = puck_run(&puck, _i % METHODS, asked_of(_i % METHODS, TOL));
  N_Vector *S = N_VCloneVectorArray(PARAMETERS, run->y);
  sunrealtype G[2], dG[2 * PARAMETERS], value = 0, sum[PARAMETERS] = {0};
  const CPParameters parameters = parameters_of(&puck, S);
  const CPFunctional F          = {
               CP_SIZED(CPFunctional), .ng = 2,         .end = way,
               .times = times,         .ntimes = TIMES, .end_grad = _i / METHODS == 1 ? way_gradient : NULL};
  const int flag = CPSessionGradient(
      run->session, 3.6, &F, &parameters,
      &(CPGradientOptions){CP_SIZED(CPGradientOptions), .reltol = 1e-10,
                           .mode = _i / METHODS == 2 ? CP_GRADIENT_FORWARD : CP_GRADIENT_ADJOINT},
      G, dG, NULL);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
  for (int n = 0; n < TIMES; n++)
    for (int i = 0; i <= PARAMETERS; i++) {
      sunrealtype y[VALUES];
      if (i == PARAMETERS) exact(usual.p, times[n], y);
      else exact_derivative(i, times[n], y);
      *(i == PARAMETERS ? &value : &sum[i]) += y[0];
    }
  ck_assert_double_eq_tol(G[0], value, 10 * TIMES * TOL * fabs(value));
  for (int i = 0; i < PARAMETERS; i++)
    ck_assert_msg(fabs(dG[i] - sum[i]) <= 10 * TIMES * TOL * fmax(1, fabs(sum[i])),
                  "parameter %d: %.12g for %.12g", i, dG[i], sum[i]);
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

START_TEST(adjoint_gradients_refuse_times_that_lead_elsewhere) {
  const sunrealtype wrong[][2] = {{0.5, 0.4}, {-0.1, 0.5}, {0.5, 1.1}, {NAN, 0.5}};
  Puck puck                    = usual;
  Run *run                     = puck_run(&puck, 0, TOL);
  sunrealtype G[2];
  CPFunctional F = {CP_SIZED(CPFunctional), .ng = 2, .end = way, .ntimes = 2, .times = wrong[_i]};
  ck_assert_int_eq(CPSessionGradient(run->session, 1, &F, NULL, NULL, G, NULL, NULL), CP_ILL_INPUT);
  ck_assert_ptr_nonnull(strstr(run->log.text, "times["));
  F.ntimes = 0;
  ck_assert_int_eq(CPSessionGradient(run->session, 1, &F, NULL, NULL, G, NULL, NULL), CP_ILL_INPUT);
  ck_assert_ptr_nonnull(strstr(run->log.text, "ntimes"));
  F.times = NULL; /* the start is as it was */
  ck_assert_int_eq(CPSessionGradient(run->session, 1, &F, NULL, NULL, G, NULL, NULL), CP_SUCCESS);
  run_free(&run);
}
END_TEST

static int final_height(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  (void)t, (void)data;
  values[0] = entries(y)[1];
  return 0;
}

/* A puck that only falls strikes where all coordinates are zero up to roundoff, which is no measure of them. */
START_TEST(adjoint_gradients_pass_impacts_at_the_origin) {
  const CPFunctional F    = {CP_SIZED(CPFunctional), .ng = 1, .end = final_height};
  const int plist[]       = {GRAVITY, RESTITUTION};
  const sunrealtype end[] = {0.7, 1.2}; /* after one and two impacts */
  for (int n = 0; n < 2; n++) {
    Puck puck        = usual;
    puck.p[FRICTION] = puck.p[SPEED] = 0;
    const Puck falling               = puck;
    Run *run                         = puck_run(&puck, _i, asked_of(_i, TOL));
    N_Vector start                   = N_VClone(run->y);
    sunrealtype G, dG[2], d[3][VALUES];
    const CPParameters parameters = {CP_SIZED(CPParameters), .n = 2, .values = puck.p,
                                     .plist = plist};
    const int flag                = CPSessionGradient(
                       run->session, end[n], &F, &parameters,
                       &(CPGradientOptions){CP_SIZED(CPGradientOptions), .reltol = 1e-10}, &G, dG, &start);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
    derivative_of(&falling, GRAVITY, end[n], d[0]);
    derivative_of(&falling, RESTITUTION, end[n], d[1]);
    derivative_of(&falling, HEIGHT, end[n], d[2]);
    for (int i = 0; i < 2; i++)
      ck_assert_double_eq_tol(dG[i], d[i][1], 10 * TOL * fmax(1, fabs(d[i][1])));
    ck_assert_double_eq_tol(entries(start)[1], d[2][1], 10 * TOL * fmax(1, fabs(d[2][1])));
    N_VDestroy(start);
    run_free(&run);
  }
}
END_TEST

/* The rate of a quadrature that is the height */
static int rise(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *zdot, void *run) {
  (void)t, (void)q, (void)z, (void)lambda, (void)run;
  zdot[0] = u[1];
  return 0;
}

/* As a work, which may have any sign: at impacts it is 0 up to roundoff, and nothing depends on it. */
START_TEST(gradients_do_not_depend_on_a_quadrature_that_is_zero_at_impacts) {
  const CPFunctional F    = {CP_SIZED(CPFunctional), .ng = 1, .end = final_height};
  const int plist[]       = {GRAVITY, RESTITUTION};
  const sunrealtype end[] = {0.7, 1.2};
  CPEquations model       = puck_model;
  model.nz = model.nquad = 1, model.zdot = rise;
  for (int n = 0; n < 2; n++) {
    Puck puck = usual;
    sunrealtype G, dG[2], d[2][VALUES];
    const sunrealtype y0[] = {0, puck.p[HEIGHT], puck.p[SPEED], 0, puck.p[HEIGHT]};
    Run *run               = run_create(&model, &puck, 1, &puck_point, y0);
    ck_assert_int_eq(CPContactSetLawFn(run->contact, laws, &puck), CP_SUCCESS);
    begin(run, _i, asked_of(_i, TOL));
    const CPParameters parameters = {CP_SIZED(CPParameters), .n = 2, .values = puck.p,
                                     .plist = plist};
    const int flag                = CPSessionGradient(
                       run->session, end[n], &F, &parameters,
                       &(CPGradientOptions){CP_SIZED(CPGradientOptions), .reltol = 1e-10}, &G, dG, NULL);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
    derivative_of(&usual, GRAVITY, end[n], d[0]);
    derivative_of(&usual, RESTITUTION, end[n], d[1]);
    for (int i = 0; i < 2; i++)
      ck_assert_double_eq_tol(dG[i], d[i][1], 10 * TOL * fmax(1, fabs(d[i][1])));
    run_free(&run);
  }
}
END_TEST

/* At the impact the puck slides 90 times slower than it falls, and hardly loses speed: differences by parts of the largest velocity
 * would reverse it. */
START_TEST(impacts_of_contacts_that_slip_slowly_have_derivatives_both_ways) {
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 2, .end = way};
  const sunrealtype t  = 0.7;
  Puck slow            = usual;
  slow.p[FRICTION] = 0.005, slow.p[SPEED] = 0.05;
  Puck puck   = slow;
  Run *run    = puck_run(&puck, _i, asked_of(_i, TOL));
  N_Vector *S = N_VCloneVectorArray(PARAMETERS, run->y);
  sunrealtype G[2], dG[2 * PARAMETERS], d[VALUES];
  const CPParameters parameters = parameters_of(&puck, S);
  const int flag                = CPSessionGradient(
                     run->session, t, &F, &parameters,
                     &(CPGradientOptions){CP_SIZED(CPGradientOptions), .reltol = 1e-10}, G, dG, NULL);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
  run_free(&run);
  N_VDestroyVectorArray(S, PARAMETERS);
  run = puck_with_sensitivities(&puck, _i, &S);
  run_to(run, t);
  run_sensitivities(run, S);
  for (int i = 0; i < PARAMETERS; i++) {
    derivative_of(&slow, i, t, d);
    ck_assert_double_eq_tol(dG[i], d[0], 10 * TOL * fmax(1, fabs(d[0])));
    for (int j = 0; j < STATES; j++)
      ck_assert_double_eq_tol(entries(S[i])[j], d[j], 10 * TOL * fmax(1, fabs(d[j])));
  }
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

/* CVODES repeats the steps of a flight that has more of them than lie between two checkpoints. Those of the last flight begin at
 * the newest root, with the bound on first steps that restarts at roots have. */
START_TEST(adjoint_gradients_repeat_flights_from_their_checkpoints) {
  const CPFunctional F  = {CP_SIZED(CPFunctional), .ng = 1, .end = final_height};
  const int plist[]     = {GRAVITY, RESTITUTION};
  const long int most[] = {1, 5, 13};
  for (int n = 0; n < 3; n++) {
    Puck puck = usual;
    Run *run  = puck_run(&puck, _i, asked_of(_i, TOL));
    sunrealtype G, dG[2], d[VALUES];
    const CPParameters parameters = {CP_SIZED(CPParameters), .n = 2, .values = puck.p,
                                     .plist = plist};
    const int flag                = CPSessionGradient(
                       run->session, 1.2, &F, &parameters,
                       &(CPGradientOptions){CP_SIZED(CPGradientOptions), .reltol = 1e-10, .steps = most[n]}, &G,
                       dG, NULL);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
    for (int i = 0; i < 2; i++) {
      exact_derivative(plist[i], 1.2, d);
      ck_assert_double_eq_tol(dG[i], d[1], 10 * TOL * fmax(1, fabs(d[1])));
    }
    run_free(&run);
  }
}
END_TEST

/* A functional without terms whose gradient after the run is that of the height */
START_TEST(gradients_of_what_follows_begin_behind_the_last_event) {
  sunrealtype G, dG[2][PARAMETERS];
  N_Vector *S = NULL, *start = NULL, *after = NULL;
  for (int k = 0; k < 2; k++) {
    Puck puck            = usual;
    Run *run             = puck_run(&puck, _i, asked_of(_i, TOL));
    const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = k ? NULL : final_height};
    if (!S) S = N_VCloneVectorArray(PARAMETERS, run->y);
    if (!start) start = N_VCloneVectorArray(2, run->y);
    if (!after) after = N_VCloneVectorArray(1, run->y);
    N_VConst(0.0, after[0]);
    entries(after[0])[1]          = 1;
    const CPParameters parameters = parameters_of(&puck, S);
    const int flag =
        CPSessionGradient(run->session, 1.2, &F, &parameters,
                          &(CPGradientOptions){CP_SIZED(CPGradientOptions), .reltol = 1e-10,
                                               .after = k ? after : NULL},
                          &G, dG[k], &start[k]);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
    run_free(&run);
  }
  for (int i = 0; i < PARAMETERS; i++)
    ck_assert_double_eq_tol(dG[1][i], dG[0][i], 10 * TOL * fmax(1, fabs(dG[0][i])));
  for (int j = 0; j < STATES; j++)
    ck_assert_double_eq_tol(entries(start[1])[j], entries(start[0])[j], 10 * TOL);
  ck_assert_double_ge(fabs(dG[0][GRAVITY]), 1e-3);
  N_VDestroyVectorArray(S, PARAMETERS);
  N_VDestroyVectorArray(start, 2);
  N_VDestroyVectorArray(after, 1);
}
END_TEST

/* ---- several contacts ---- */

/* A block rocks without sliding: at each impact one corner is struck while the other one opens.
 * Sensitivities to gravity and to the initial angle against differences of the closed form. */
START_TEST(sensitivities_of_a_rocking_block_are_those_of_its_closed_form) {
  RockingBlock block;
  rocking_block_init(&block, 1, 0.25, 0.5, 9.81, 0.2);
  const CPEquations model       = floor_body_model(&block.body);
  const CPContactPoint points[] = {{CP_SIZED(CPContactPoint), .name = "left", .normal = 0,
                                    .tangent = 2, .ntangents = 1, .law.mu = 1},
                                   {CP_SIZED(CPContactPoint), .name = "right", .normal = 1,
                                    .tangent = 3, .ntangents = 1, .law.mu = 1}};
  const sunrealtype at[] = {0.3, 0.8, 1.1}, theta0 = block.theta0;
  const int gravity = (int)(&block.body.g - &block.body.m), plist[] = {gravity, gravity};
  const sunrealtype pbar[] = {9.81, 9.81};
  sunrealtype y0[6];
  rocking_block_at(&block, theta0, 0, y0);
  Run *run    = run_create(&model, &block.body, 2, points, y0);
  N_Vector *S = N_VCloneVectorArray(2, run->y);
  N_VConst(0.0, S[0]);
  for (int j = 0; j < 6;
       /* dy0/dtheta0; the second sensitivity is the sum of those to the start and to gravity */
       j++) {
    sunrealtype y[2][6];
    rocking_block_at(&block, theta0 + 1e-5, 0, y[1]);
    rocking_block_at(&block, theta0 - 1e-5, 0, y[0]);
    entries(S[1])[j] = (y[1][j] - y[0][j]) / 2e-5;
  }
  run_differentiate(run, &(CPParameters){CP_SIZED(CPParameters), .n = 2, .values = &block.body.m,
                                         .pbar = pbar, .plist = plist, .y0S = S});
  begin(run, _i, TOL);
  for (int n = 0; n < 3; n++) {
    sunrealtype d[2][6] = {{0}};
    run_to(run, at[n]);
    run_sensitivities(run, S);
    for (int k = -3; k <= 3; k++)
      for (int i = 0; i < 2; i++) {
        RockingBlock moved;
        sunrealtype y[6];
        const sunrealtype h = i == 0 ? 1e-2 : 2e-4;
        rocking_block_init(&moved, 1, 0.25, 0.5, i == 0 ? 9.81 + k * h : 9.81,
                           i == 0 ? theta0 : theta0 + k * h);
        rocking_block_exact(&moved, at[n], y);
        for (int j = 0; j < 6; j++) d[i][j] += sixth_order(k) * y[j] / h;
      }
    for (int i = 0; i < 2; i++) {
      sunrealtype size = 1;
      for (int j = 0; j < 6; j++) size = fmax(size, fabs(d[i][j]));
      for (int j = 0; j < 6; j++) {
        const sunrealtype found = entries(S[i])[j] - (i == 0 ? 0 : entries(S[0])[j]);
        ck_assert_msg(fabs(found - d[i][j]) <= 100 * TOL * size,
                      "t = %g, sensitivity %d, component %d: %.12g for %.12g", at[n], i, j, found,
                      d[i][j]);
      }
    }
  }
  ck_assert_int_ge(run->nevents, 6);
  N_VDestroyVectorArray(S, 2);
  run_free(&run);
}
END_TEST

/* ---- failures ---- */

static int pair_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *f, void *run) {
  (void)t, (void)q, (void)u, (void)z, (void)run;
  f[0] = f[1] = -9.81;
  return 0;
}
static int pair_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *run) {
  (void)t, (void)run;
  p[0] = q[0], p[1] = q[1];
  return 0;
}

static int first(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  (void)t, (void)data;
  values[0] = entries(y)[0];
  return 0;
}

/* Two balls dropped from the same height strike at the same time, but at two times if one height
 * changes: there is no derivative. */
START_TEST(events_that_coincide_by_chance_have_no_derivative) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 2,        .np = 2,     .M = mass, .A = mass,
      .f = pair_weight,      .p = pair_gaps, .b = no_bias};
  const CPContactPoint points[] = {
      {CP_SIZED(CPContactPoint), .name = "red", .normal = 0, .law.restitution = 0.5},
      {CP_SIZED(CPContactPoint), .name = "green", .normal = 1, .law.restitution = 0.5}};
  const sunrealtype y0[] = {1, 1, 0, 0};
  const CPFunctional F   = {CP_SIZED(CPFunctional), .ng = 1, .end = first};
  sunrealtype none = 1, G, t, y_end = sqrt(2 / SUN_RCONST(9.81));
  Run *run    = run_create(&model, NULL, 2, points, y0);
  N_Vector *S = N_VCloneVectorArray(1, run->y);
  N_VConst(0.0, S[0]);
  entries(S[0])[1] = 1;
  run_differentiate(run, &(CPParameters){CP_SIZED(CPParameters), .n = 1, .values = &none, .y0S = S});
  begin(run, _i, TOL);
  ck_assert_int_eq(CPSessionRun(run->session, 1, run->y, &t), CP_CONTACT_NO_GRADIENT);
  ck_assert_double_eq_tol(t, y_end, 10 * TOL);
  ck_assert_double_lt(entries(run->y)[2], 0); /* the state before the event */
  ck_assert_ptr_nonnull(strstr(run->log.text, "red"));
  ck_assert_ptr_nonnull(strstr(run->log.text, "green"));
  N_VDestroyVectorArray(S, 1);
  run_free(&run);
  run = run_start(&model, NULL, 2, points, y0, _i, TOL);
  ck_assert_int_eq(CPSessionGradient(run->session, 1, &F, NULL, NULL, &G, NULL, NULL),
                   CP_CONTACT_NO_GRADIENT);
  run_free(&run);
}
END_TEST

/* With a velocity of one tolerance, the time at which a gap is zero is unknown. */
START_TEST(gaps_that_are_touched_have_no_derivative) {
  Puck puck                     = {.p = {1, 0.5, 0.3, 1, 1}};
  const sunrealtype y0[]        = {0, 1e-6, 1, -1e-9};
  CPEquations weightless        = puck_model;
  weightless.f                  = NULL;
  Run *run                      = run_create(&weightless, &puck, 1, &puck_point, y0);
  N_Vector *S                   = N_VCloneVectorArray(PARAMETERS, run->y);
  const CPParameters parameters = parameters_of(&puck, S);
  sunrealtype t;
  run_differentiate(run, &parameters);
  begin(run, _i, TOL);
  ck_assert_int_eq(CPSessionRun(run->session, 2000, run->y, &t), CP_CONTACT_NO_GRADIENT);
  ck_assert_ptr_nonnull(strstr(run->log.text, "touches"));
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

/* What CPSessionStart returns with these sensitivities */
static int attempt(Run *run, CPParameters parameters, int method) {
  CPSensFree(&run->sens);
  run_differentiate(run, &parameters);
  const int flag = run_attach(run, method, TOL);
  CPSessionFree(&run->session);
  CPSensFree(&run->sens);
  return flag;
}

START_TEST(wrong_arguments_are_named) {
  Puck puck            = usual;
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = first};
  sunrealtype G, dG[PARAMETERS], *p = puck.p;
  Run *run    = puck_run(&puck, DOP853, TOL);
  N_Vector *S = N_VCloneVectorArray(PARAMETERS, run->y);
  for (int i = 0; i < PARAMETERS; i++) N_VConst(0.0, S[i]);
  const CPParameters one     = {CP_SIZED(CPParameters), .n = 1, .values = p, .y0S = S},
                     nowhere = {CP_SIZED(CPParameters), .n = 1, .pbar = p, .y0S = S};
#define ADJOINT(t, F, parameters, G, dG) \
  CPSessionGradient(run->session, t, F, parameters, NULL, G, dG, NULL)
  ck_assert_int_eq(CPContactSetLawFn(NULL, laws, NULL), CP_MEM_NULL);
  ck_assert_int_eq(attempt(run, nowhere, BDF), CP_ILL_INPUT);
  ck_assert_mentions(run->log.text, "must not be NULL");
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 10, 1e-2), CP_SUCCESS);
  ck_assert_int_eq(attempt(run, one, BDF), CP_NOT_SUPPORTED);
  begin(run, BDF, TOL);
  ck_assert_int_eq(ADJOINT(1, &F, &one, &G, dG), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 0, 0), CP_SUCCESS);
  begin(run, BDF, TOL);
  ck_assert_int_eq(ADJOINT(1, NULL, &one, &G, dG), CP_ILL_INPUT);
  ck_assert_int_eq(ADJOINT(1, &F, &nowhere, &G, dG), CP_ILL_INPUT);
  ck_assert_int_eq(ADJOINT(1, &F, &one, NULL, dG), CP_ILL_INPUT);
  ck_assert_int_eq(ADJOINT(1, &F, &one, &G, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(ADJOINT(0, &F, &one, &G, dG), CP_ILL_INPUT);
  ck_assert_int_eq(
      ADJOINT(1, &F, (&(CPParameters){CP_SIZED(CPParameters), .n = -1, .values = p}), &G, dG),
      CP_ILL_INPUT);
  ck_assert_int_eq(
      CPSessionGradient(run->session, 1, &F, &one,
                        &(CPGradientOptions){CP_SIZED(CPGradientOptions), .mode = (CPGradientMode)2},
                        &G, dG, NULL),
      CP_ILL_INPUT);
  run_differentiate(
      run, &(CPParameters){CP_SIZED(CPParameters), .n = PARAMETERS, .values = p, .y0S = S});
  begin(run, BDF, TOL);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 10, 1e-2), CP_NOT_SUPPORTED);
  ck_assert_int_eq(ADJOINT(1, &F, &one, &G, dG), CP_TOO_LATE);
  puck.p[RESTITUTION] = 1.5; /* is detected where it is used */
  ck_assert_int_eq(run_solve(run, 1), CP_ILL_INPUT);
  ck_assert_ptr_nonnull(strstr(run->log.text, "restitution"));
  puck = usual;
  run_to(run, 1);
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

/* Negative friction would drive what slides. It is refused before anything is integrated with it,
 * and the run then continues as if it had never been tried. */
START_TEST(laws_that_break_their_rules_while_a_contact_slides_end_calls) {
  Puck puck = usual;
  Run *run  = puck_run(&puck, _i, TOL);
  sunrealtype y[VALUES], before[STATES], force[3], criterion;
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = NULL};
  run_to(run, 2.0);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_SLIDING);
  for (int i = 0; i < STATES; i++) before[i] = entries(run->y)[i];
  const sunrealtype wrong[] = {-1, NAN, INFINITY};
  for (int k = 0; k < 3; k++) {
    puck.p[FRICTION] = wrong[k];
    ck_assert_int_eq(run_solve(run, 2.4), CP_ILL_INPUT);
    ck_assert_mentions(run->log.text, "mu must be");
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run->contact)), "\"puck\"");
    ck_assert_int_eq(CPSessionStep(run->session, 2.4, run->y, &run->t), CP_ILL_INPUT);
    ck_assert_int_eq(CPContactEvaluate(run->contact, 2, run->y, NULL, force, NULL, NULL),
                     CP_ILL_INPUT);
    ck_assert_int_eq(CPContactEvaluate(run->contact, 2, run->y, &out, force, NULL, NULL),
                     CP_ILL_INPUT);
    ck_assert_int_eq(CPContactPainleve(run->contact, 2, run->y, &criterion), CP_ILL_INPUT);
    ck_assert_double_eq(run->t, 2);
    for (int i = 0; i < STATES; i++) ck_assert_double_eq(entries(run->y)[i], before[i]);
  }
  puck.p[FRICTION] = usual.p[FRICTION];
  run_to(run, 2.4);
  exact(usual.p, 2.4, y);
  for (int i = 0; i < STATES; i++)
    ck_assert_double_eq_tol(entries(run->y)[i], y[i], 100 * TOL * fmax(1, fabs(y[i])));
  run_free(&run);
  puck         = usual;
  puck.t_wrong = 0.2; /* in the middle of a call, in flight */
  run          = puck_run(&puck, _i, TOL);
  ck_assert_int_eq(run_solve(run, 0.4), CV_RTFUNC_FAIL);
  run_free(&run);
}
END_TEST

/* The end of a rod has n^T W (n - mu s) = 1 + 12 x (x + mu y), (x, y) from the centre. */
START_TEST(painleves_criterion_has_the_friction_of_the_moment) {
  const sunrealtype x = -0.3, y = -0.4;
  Rod rod                 = {{.m = 1, .J = SUN_RCONST(1.0) / 12, .a = {-0.5}, .npoints = 1}, 0.1};
  const CPEquations model = floor_body_model(&rod.body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "end", .tangent = 1,
                                .ntangents = 1, .law.mu = 1};
  const sunrealtype y0[]     = {0, -y, atan2(y, x) - acos(-1.0), 1, 0, 0};
  Run *run                   = run_create(&model, &rod, 1, &point, y0);
  ck_assert_int_eq(CPContactSetLawFn(run->contact, rod_laws, &rod), CP_SUCCESS);
  ck_assert_int_eq(run_attach(run, DOP853, TOL), CP_SUCCESS);
  for (rod.mu = 0.1; rod.mu < 2; rod.mu += 0.7) {
    sunrealtype value;
    ck_assert_int_eq(CPContactPainleve(run->contact, 0, run->y, &value), CP_SUCCESS);
    ck_assert_double_eq_tol(value, 1 + 12 * x * (x + rod.mu * y), 1e-12);
  }
  run_free(&run);
}
END_TEST

/* Without a function the laws are again those of the creation, whatever the last function, or
 * differences, have set. */
START_TEST(constants_without_a_function_are_those_of_the_creation) {
  Puck puck = usual;
  N_Vector *S;
  Run *run = puck_with_sensitivities(&puck, BDF, &S);
  sunrealtype force[3];
  run_to(run, 2.0);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_SLIDING);
  ck_assert_int_eq(CPContactEvaluate(run->contact, 2, run->y, NULL, force, NULL, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(force[1], -usual.p[FRICTION] * force[0], 1e-12);
  ck_assert_int_eq(CPContactSetLawFn(run->contact, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPContactEvaluate(run->contact, 2, run->y, NULL, force, NULL, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(force[1], -puck_point.law.mu * force[0], 1e-12);
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

/* its rows of friction were left out */
START_TEST(contacts_without_friction_get_none_later) {
  Puck puck              = usual;
  CPContactPoint ice     = puck_point;
  const sunrealtype y0[] = {0, 1, 1, 0};
  ice.law.mu             = 0;
  Run *run               = run_create(&puck_model, &puck, 1, &ice, y0);
  ck_assert_int_eq(CPContactSetLawFn(run->contact, laws, &puck), CP_SUCCESS);
  ck_assert_int_eq(run_attach(run, DOP853, TOL), CP_ILL_INPUT);
  ck_assert_mentions(run->log.text, "must stay 0");
  run_free(&run);
  puck.p[FRICTION] = 0;
  run              = puck_run(&puck, DOP853, TOL);
  run_free(&run);
}
END_TEST

/* At an event, sensitivities need the right-hand side in addition to the accelerations. */
START_TEST(functions_that_fail_at_an_event_with_sensitivities_are_reported) {
  Puck puck = usual;
  N_Vector *S;
  Run *run = puck_with_sensitivities(&puck, _i, &S);
  int flag = CP_SUCCESS;
  while (flag == CP_SUCCESS) flag = CPSessionStep(run->session, 1, run->y, &run->t);
  ck_assert_int_eq(flag, CV_ROOT_RETURN);
  for (int k = 0; k < 2; k++) {
    puck.lacks_mass = k == 0, puck.lacks_rows = k == 1;
    const int count = run->log.count;
    flag            = CPSessionStep(run->session, 1, run->y, &run->t);
    ck_assert_int_eq(flag, k == 0 ? CP_MECH_NONFINITE : CP_USERFUNC_FAIL);
    ck_assert_int_gt(run->log.count, count);
    ck_assert_int_eq(run->log.code, flag);
    ck_assert_mentions(run->log.text, k == 0 ? "M is nan" : "A failed");
    ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(run->contact)), run->log.text);
  }
  puck.lacks_rows = 0;
  run_to(run, 1);
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

/* A new start begins them anew, or ends them, also after an adjoint run. */
START_TEST(new_starts_have_new_sensitivities) {
  Puck puck = usual;
  N_Vector *S, *again;
  Run *run               = puck_with_sensitivities(&puck, BDF, &S);
  const sunrealtype y0[] = {0, puck.p[HEIGHT], puck.p[SPEED], 0};
  again                  = N_VCloneVectorArray(PARAMETERS, run->y);
  run_to(run, 1.2);
  run_sensitivities(run, S);
  memcpy(entries(run->y), y0, sizeof y0);
  ck_assert_int_eq(CPSessionStart(run->session, 0, run->y, 2), CP_SUCCESS);
  run_to(run, 1.2);
  run_sensitivities(run, again);
  for (int i = 0; i < PARAMETERS; i++)
    for (int j = 0; j < STATES; j++)
      ck_assert_double_eq_tol(entries(again[i])[j], entries(S[i])[j], 1e-7);
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 2, .end = way, .integrand = height};
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = PARAMETERS, .values = puck.p};
  sunrealtype G[2], dG[2 * PARAMETERS];
  for (int round = 0; round < 2; round++) {
    memcpy(entries(run->y), y0, sizeof y0);
    ck_assert_int_eq(CPSessionSetConfigFn(run->session, NULL, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(run->session, 0, run->y, 2), CP_SUCCESS);
    ck_assert_int_eq(CPSensReInit(run->sens, NULL), CP_NO_INIT);
    const int flag = CPSessionGradient(run->session, 1.2, &F, &parameters, NULL, G, dG, NULL);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
    ck_assert_double_eq_tol(dG[FRICTION], entries(S[FRICTION])[0], 1e-6);
    memcpy(entries(run->y), y0, sizeof y0);
    ck_assert_int_eq(CPSessionSetConfigFn(run->session, with_sens, run->sens), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(run->session, 0, run->y, 2), CP_SUCCESS);
    run_to(run, 1.2);
    run_sensitivities(run, again);
    ck_assert_double_eq_tol(entries(again[FRICTION])[0], entries(S[FRICTION])[0], 1e-7);
  }
  N_VDestroyVectorArray(S, PARAMETERS);
  N_VDestroyVectorArray(again, PARAMETERS);
  run_free(&run);
}
END_TEST

static int nan_gradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp, void *data) {
  (void)t, (void)y, (void)k, (void)gp, (void)data;
  entries(gy)[1] = NAN;
  return 0;
}

/* A user's derivative that is NaN in the first flight, after all others have been passed: one message, parameters as before, and a new
 * start has the gradient. */
START_TEST(derivatives_that_are_not_finite_end_gradients_alone) {
  const sunrealtype early[]     = {0.3};
  CPFunctional F                = {CP_SIZED(CPFunctional),   .ng = 1,        .end = final_height,
                                   .end_grad = nan_gradient, .times = early, .ntimes = 1};
  Puck puck                     = usual;
  Run *run                      = puck_run(&puck, _i, asked_of(_i, TOL));
  N_Vector *S                   = N_VCloneVectorArray(PARAMETERS, run->y);
  const sunrealtype y0[]        = {0, puck.p[HEIGHT], puck.p[SPEED], 0};
  const CPParameters parameters = parameters_of(&puck, S);
  sunrealtype G, dG[PARAMETERS], d[VALUES];
  const int count = run->log.count;
  F.integrand     = final_height; /* so that later flights have something to pass */
  ck_assert_int_eq(CPSessionGradient(run->session, 1.2, &F, &parameters, NULL, &G, dG, NULL),
                   CP_ILL_INPUT);
  ck_assert_mentions(run->log.text, "NaN");
  ck_assert_mentions(run->log.text, "end term");
  ck_assert_int_le(run->log.count, count + 2); /* of the integrator and of the contacts */
  for (int i = 0; i < PARAMETERS; i++) ck_assert_double_eq(puck.p[i], usual.p[i]);
  memcpy(entries(run->y), y0, sizeof y0);
  ck_assert_int_eq(CPSessionStart(run->session, 0, run->y, 2), CP_SUCCESS);
  F.end_grad = NULL, F.times = NULL, F.integrand = NULL;
  ck_assert_int_eq(CPSessionGradient(run->session, 1.2, &F, &parameters, NULL, &G, dG, NULL),
                   CP_SUCCESS);
  for (int i = 0; i < PARAMETERS; i++) {
    exact_derivative(i, 1.2, d);
    ck_assert_double_eq_tol(dG[i], d[1], 1e-6 * fmax(1, fabs(d[1])));
  }
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

START_TEST(sensitivities_may_be_removed_on_the_way) {
  Puck puck = usual;
  N_Vector *S;
  Run *run = puck_with_sensitivities(&puck, _i, &S);
  sunrealtype y[VALUES];
  run_to(run, 0.5); /* after one impact */
  CPSensFree(&run->sens);
  ck_assert_ptr_null(run->sens);
  run_to(run, 1.2);
  exact(usual.p, 1.2, y);
  for (int j = 0; j < STATES; j++)
    ck_assert_double_eq_tol(entries(run->y)[j], y[j], 100 * TOL * fmax(1, fabs(y[j])));
  N_VDestroyVectorArray(S, PARAMETERS);
  run_free(&run);
}
END_TEST

TEST_SUITE(gradient) {
  Suite *suite = suite_create("contact/gradient");
  TCase *tc    = tcase_create("gradient");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, forward_sensitivities_pass_impacts_accumulation_sliding_and_rest, 0,
                      METHODS);
  tcase_add_loop_test(tc, gradients_at_many_times_pass_all_events, 0, 3 * METHODS);
  tcase_add_loop_test(tc, adjoint_gradients_refuse_times_that_lead_elsewhere, 0, 4);
  tcase_add_loop_test(tc, gradients_pass_impacts_accumulation_sliding_and_rest, 0, 2 * METHODS);
  tcase_add_loop_test(tc, adjoint_gradients_pass_impacts_at_the_origin, 0, METHODS);
  tcase_add_loop_test(tc, gradients_do_not_depend_on_a_quadrature_that_is_zero_at_impacts, 0,
                      METHODS);
  tcase_add_loop_test(tc, gradients_of_what_follows_begin_behind_the_last_event, 0, METHODS);
  tcase_add_loop_test(tc, adjoint_gradients_repeat_flights_from_their_checkpoints, 0, METHODS);
  tcase_add_loop_test(tc, impacts_of_contacts_that_slip_slowly_have_derivatives_both_ways, 0,
                      METHODS);
  tcase_add_loop_test(tc, sensitivities_of_a_rocking_block_are_those_of_its_closed_form, 0, METHODS);
  tcase_add_loop_test(tc, events_that_coincide_by_chance_have_no_derivative, 0, METHODS);
  tcase_add_loop_test(tc, gaps_that_are_touched_have_no_derivative, 0, METHODS);
  tcase_add_test(tc, wrong_arguments_are_named);
  tcase_add_loop_test(tc, laws_that_break_their_rules_while_a_contact_slides_end_calls, 0, METHODS);
  tcase_add_test(tc, painleves_criterion_has_the_friction_of_the_moment);
  tcase_add_test(tc, constants_without_a_function_are_those_of_the_creation);
  tcase_add_test(tc, contacts_without_friction_get_none_later);
  tcase_add_loop_test(tc, functions_that_fail_at_an_event_with_sensitivities_are_reported, 0,
                      METHODS);
  tcase_add_test(tc, new_starts_have_new_sensitivities);
  tcase_add_loop_test(tc, sensitivities_may_be_removed_on_the_way, 0, METHODS);
  tcase_add_loop_test(tc, derivatives_that_are_not_finite_end_gradients_alone, 0, METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
