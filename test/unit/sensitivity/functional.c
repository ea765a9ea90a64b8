/* Functionals of the pendulum's motion whose gradients have closed forms. */
#include "sensitivity/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static SensRun r;
static Run *const run = &r.run;

/* G_0 = x(t1) + L,  G_1 = g y(t1) + int 0,  G_2 = int y' dt = y(t1) - y(0) */
enum { NG = 3 };

static int fault_of_end, fault_of_integrand;

static int end_values(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  const Pendulum *p = user_data;
  (void)t;
  g[0] = entries(y)[0] + p->L;
  g[1] = p->g * entries(y)[1];
  return fault_of_end;
}
static int integrands(sunrealtype t, N_Vector y, sunrealtype *h, void *user_data) {
  (void)t, (void)user_data;
  h[2] = entries(y)[3];
  return fault_of_integrand;
}
static int end_gradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                        void *user_data) {
  const Pendulum *p = user_data;
  (void)t;
  if (k == 0) entries(gy)[0] = gp[BY_L] = 1.0;
  if (k == 1) entries(gy)[1] = p->g, gp[BY_G] = entries(y)[1];
  return 0;
}
static int integrand_gradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                              void *user_data) {
  (void)t, (void)y, (void)gp, (void)user_data;
  if (k == 2) entries(gy)[3] = 1.0;
  return 0;
}

static const CPGradientOptions by_sensitivities = {CP_SIZED(CPGradientOptions),
                                                   .mode = CP_GRADIENT_FORWARD};

static CPFunctional functional(int with_gradients) {
  return (CPFunctional){CP_SIZED(CPFunctional),
                        .ng             = NG,
                        .end            = end_values,
                        .integrand      = integrands,
                        .end_grad       = with_gradients ? end_gradient : NULL,
                        .integrand_grad = with_gradients ? integrand_gradient : NULL,
                        .user_data      = &run->world.p};
}

/* f' = J and df/dp of the pendulum: x'' = -x tau, y'' = -y tau - g, tau = (v^2 - g y) / L^2 */
static int user_adjoint(sunrealtype t, N_Vector yv, N_Vector lv, N_Vector Jl, sunrealtype *lfp,
                        void *user_data) {
  const Pendulum *p    = user_data;
  const sunrealtype *y = entries(yv), *l = entries(lv), L2 = p->L * p->L;
  const sunrealtype tau = (y[2] * y[2] + y[3] * y[3] - p->g * y[1]) / L2;
  const sunrealtype a   = -(y[0] * l[2] + y[1] * l[3]); /* the factor of d tau */
  (void)t;
  entries(Jl)[0] = -tau * l[2];
  entries(Jl)[1] = -tau * l[3] - a * p->g / L2;
  entries(Jl)[2] = l[0] + a * 2.0 * y[2] / L2;
  entries(Jl)[3] = l[1] + a * 2.0 * y[3] / L2;
  lfp[BY_L]      = -2.0 * a * tau / p->L;
  lfp[BY_G]      = -a * y[1] / L2 - l[3];
  return 0;
}

static void expect(const sunrealtype *G, const sunrealtype *dG, sunrealtype t, sunrealtype bound) {
  const Pendulum *p = &run->world.p;
  sunrealtype y[4];
  N_Vector *s = N_VCloneVectorArray(NS, run->y);
  pendulum_exact(p, t, y);
  sens_exact(p, t, s);
  ck_assert_double_eq_tol(G[0], y[0] + p->L, bound);
  ck_assert_double_eq_tol(G[1], p->g * y[1], bound * p->g);
  ck_assert_double_eq_tol(G[2], y[1], bound);
  for (int i = 0; i < NS; i++) {
    const sunrealtype *si = entries(s[i]);
    ck_assert_double_eq_tol(dG[0 * NS + i], si[0] + (i == BY_L), bound);
    ck_assert_double_eq_tol(dG[1 * NS + i], p->g * si[1] + (i == BY_G ? y[1] : 0), p->g * bound);
    ck_assert_double_eq_tol(dG[2 * NS + i], si[1], bound);
  }
  N_VDestroyVectorArray(s, NS);
}

/* Errors of the states are 1e-6 to 1e-5 at this tolerance, growing linearly with time; those of the
 * sensitivities are a few times larger. */
#define TOL   1.0e-9
#define BOUND 1.0e-5

START_TEST(forward_gradients_are_those_of_the_closed_form) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F = functional(_i / ALL_METHODS);
  const sunrealtype t  = test_is_short() ? 0.5 : 2.0;
  sens_open(&r, methods[_i % ALL_METHODS], TOL);
  ck_assert_success(run,
                    CPIntegratorGradient(run->mem, t, &F, NULL, &by_sensitivities, G, dG, NULL));
  expect(G, dG, t, BOUND);
  sens_close(&r);
  sens_open_states(&r, methods[_i % ALL_METHODS], TOL); /* by sensitivities of the call's own */
  const CPParameters parameters = sens_parameters(&r);
  ck_assert_success(
      run, CPIntegratorGradient(run->mem, t, &F, &parameters, &by_sensitivities, G, dG, NULL));
  ck_assert_ptr_null(CPIntegratorGetSens(run->mem, NULL));
  expect(G, dG, t, BOUND);
  sens_close(&r);
}
END_TEST

START_TEST(adjoint_gradients_are_those_of_the_closed_form) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F            = functional(_i / ALL_METHODS % 2);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions),
                                     .reltol    = 1.0e-10,
                                     .abstol    = 1.0e-10,
                                     .steps     = _i % 3 ? 30 : 0,
                                     .method    = _i % 5 ? NULL : "RADAU",
                                     .adjoint   = _i / 2 % 2 ? user_adjoint : NULL,
                                     .user_data = &run->world.p};
  const sunrealtype t             = test_is_short() ? 0.5 : 2.0;
  sens_open_states(&r, methods[_i % ALL_METHODS], TOL);
  const CPParameters parameters = sens_parameters(&r);
  if (_i & 1) sens_start(&r, 1); /* whose parameters these are otherwise */
  ck_assert_success(run, CPIntegratorGradient(run->mem, t, &F, _i & 1 ? NULL : &parameters,
                                              &options, G, dG, NULL));
  expect(G, dG, t, BOUND);
  sens_close(&r);
}
END_TEST

/* The runs inside have tighter tolerances than the ones that the start has to satisfy. */
START_TEST(a_start_within_the_tolerances_serves_both_ways) {
  const sunrealtype tol           = 1.0e-6;
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions),
                                     .mode = (CPGradientMode)(_i / ALL_METHODS)};
  const CPFunctional F            = functional(1);
  sunrealtype G[NG], dG[NG * NS];
  sens_open_states(&r, methods[_i % ALL_METHODS], tol);
  entries(run->y)[0] += 0.5 * tol;
  entries(r.s[BY_L])[0] += 0.5 * tol;
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, run->y));
  const CPParameters parameters = sens_parameters(&r);
  ck_assert_success(run,
                    CPIntegratorGradient(run->mem, 0.5, &F, &parameters, &options, G, dG, NULL));
  expect(G, dG, 0.5, 100.0 * tol);
  entries(r.s[BY_L])[0] += 100.0 * tol;
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, run->y));
  ck_assert_flag(run, CPIntegratorGradient(run->mem, 0.5, &F, &parameters, &options, G, dG, NULL),
                 CP_INCONSISTENT_IC);
  ck_assert_message(run, "sensitivity 0");
  sens_close(&r);
}
END_TEST

/* Starts are often differences. What is off in them across the manifold is projected away, as in forward runs, in place of entering
 * the gradient. */
START_TEST(gradients_do_not_depend_on_the_part_of_a_start_across_the_manifold) {
  const sunrealtype tol           = 1.0e-6;
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions),
                                     .mode = (CPGradientMode)(_i / ALL_METHODS)};
  const CPFunctional F            = functional(1);
  sunrealtype G[NG], dG[2][NG * NS];
  for (int k = 0; k < 2; k++) {
    sens_open_states(&r, methods[_i % ALL_METHODS], tol);
    const CPParameters parameters = sens_parameters(&r);
    entries(r.s[BY_L])[0] += k * 0.5 * tol; /* along the rod */
    ck_assert_success(
        run, CPIntegratorGradient(run->mem, 0.5, &F, &parameters, &options, G, dG[k], NULL));
    sens_close(&r);
  }
  for (int i = 0; i < NG * NS; i++) ck_assert_double_eq_tol(dG[1][i], dG[0][i], 1.0e-4 * tol);
}
END_TEST

START_TEST(a_run_backwards_has_gradients_too) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F = functional(_i / ALL_METHODS);
  sens_open(&r, methods[_i % ALL_METHODS], TOL);
  ck_assert_success(run, CPIntegratorGradient(run->mem, -1.5, &F, NULL, NULL, G, dG, NULL));
  expect(G, dG, -1.5, BOUND);
  sens_close(&r);
}
END_TEST

START_TEST(a_run_without_length_has_the_gradients_of_its_end_terms) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F = functional(_i / 2);
  sens_open(&r, methods[_i % 2 ? 4 : 1], TOL); /* DOP853, Adams */
  ck_assert_success(run,
                    CPIntegratorGradient(run->mem, 0.0, &F, NULL, &by_sensitivities, G, dG, NULL));
  expect(G, dG, 0.0, BOUND);
  ck_assert_success(run, CPIntegratorGradient(run->mem, 0.0, &F, NULL, NULL, G, dG, NULL));
  expect(G, dG, 0.0, BOUND);
  sens_close(&r);
}
END_TEST

/* The first part of a run, with what the second one has left, has the gradient of both, although parameters change the manifold. */
START_TEST(two_runs_have_the_gradient_of_one) {
  sunrealtype G[2][NG], dG[2][NG * NS], none[NG];
  const CPFunctional F = functional(_i / ALL_METHODS), nothing = {CP_SIZED(CPFunctional), .ng = NG};
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = 1.0e-10};
  sens_open_states(&r, methods[_i % ALL_METHODS], TOL);
  const CPParameters parameters = sens_parameters(&r);
  CPParameters second           = parameters;
  N_Vector *l = N_VCloneVectorArray(NG, run->y), *s = N_VCloneVectorArray(NS, run->y);
  second.y0S = NULL;
  pendulum_exact(&run->world.p, 1.0, entries(run->y));
  ck_assert_success(run, CPIntegratorReInit(run->mem, 1.0, run->y));
  ck_assert_success(run, CPIntegratorGradient(run->mem, 2.0, &F, &second, &options, G[1], dG[1], l));
  CPGradientOptions first = options;
  first.after             = l;
  pendulum_exact(&run->world.p, 0.0, entries(run->y));
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, run->y));
  ck_assert_success(
      run, CPIntegratorGradient(run->mem, 1.0, &nothing, &parameters, &first, none, dG[0], NULL));
  pendulum_exact(&run->world.p, 1.0, entries(run->y));
  G[1][2] += entries(run->y)[1]; /* the integral up to 1 */
  for (int k = 0; k < NG * NS; k++) dG[1][k] += dG[0][k];
  sens_exact(&run->world.p, 1.0, s);
  for (int i = 0; i < NS; i++) dG[1][2 * NS + i] += entries(s[i])[1];
  expect(G[1], dG[1], 2.0, BOUND);
  for (int k = 0; k < NG; k++) ck_assert_double_eq(none[k], 0.0);
  N_VDestroyVectorArray(l, NG);
  N_VDestroyVectorArray(s, NS);
  sens_close(&r);
}
END_TEST

/* The stop time of a run that has ended is left unchanged: one on the other side would be an error
 * of its own. */
START_TEST(a_failure_at_the_end_of_a_run_backwards_is_reported_as_it_is) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F = functional(1);
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  ck_assert_success(run, CPIntegratorEvolve(run->mem, -0.5, run->y, &run->t, CV_ONE_STEP));
  ck_assert_success(run, CVodeSensToggleOff(run->cvode_mem));
  ck_assert_flag(run,
                 CPIntegratorGradient(run->mem, run->t, &F, NULL, &by_sensitivities, G, dG, NULL),
                 CV_NO_SENS);
  ck_assert_int_eq(run->log.code, CV_NO_SENS);
  sens_close(&r);
}
END_TEST

/* From (cos e, sin e) at rest: d/de of G_0, against P^T l(t0) = (0, dG/dy, 0, dG/dvy) at e = 0. */
/* The absolute tolerance follows: with an absolute tolerance of 1e-8 the errors are 2.5e-8. Those
 * of the states, at 1e-12, and of the closed form's differences are below 1e-10. */
START_TEST(a_relative_tolerance_alone_decides_on_the_digits_of_a_gradient) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F            = functional(1);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = 1.0e-12,
                                     .method = _i ? "DOP853" : "RADAU"};
  sens_open(&r, ADAMS_FIXED_POINT, 1.0e-12);
  ck_assert_success(run, CPIntegratorGradient(run->mem, 1.0, &F, NULL, &options, G, dG, NULL));
  expect(G, dG, 1.0, 2.0e-9);
  sens_close(&r);
}
END_TEST

/* An infinite difference for the Newton matrix of a backward problem would be a pivot, and freeze a
 * component. */
static long int adjoint_calls, bad_call; /* after those of the start */
static int adjoint_with_inf(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                            void *user_data) {
  const int flag = user_adjoint(t, y, l, Jl, lfp, user_data);
  if (adjoint_calls++ == bad_call) entries(Jl)[bad_call % 4] = INFINITY;
  return flag;
}

START_TEST(one_inf_in_the_adjoint_equations_spoils_no_gradient) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F            = functional(1);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .method = "RADAU",
                                     .adjoint = adjoint_with_inf, .user_data = &run->world.p};
  for (bad_call = NG; bad_call <= 40; bad_call += test_is_short() ? 13 : 1) {
    adjoint_calls = 0;
    sens_open(&r, BDF_NEWTON, TOL);
    ck_assert_success(run, CPIntegratorGradient(run->mem, 0.3, &F, NULL, &options, G, dG, NULL));
    expect(G, dG, 0.3, BOUND);
    sens_close(&r);
  }
}
END_TEST

START_TEST(the_gradient_with_respect_to_the_start_is_that_of_runs_side_by_side) {
  sunrealtype G[NG], dG[NG * NS], value[2];
  /* errors of runs are about 1e-9, truncation is about e^2 */
  const sunrealtype e             = 1.0e-3;
  const CPFunctional F            = functional(1);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions),
                                     .steps = 20}; /* and no stop time remains */
  sens_open(&r, methods[_i], 1.0e-10);
  N_Vector *gradient = N_VCloneVectorArray(NG, run->y), y0 = vector_copy(run->y);
  ck_assert_success(run, CPIntegratorGradient(run->mem, 1.0, &F, NULL, &options, G, dG, gradient));
  for (int k = 0; k < 2; k++) {
    entries(y0)[0] = cos(e);
    entries(y0)[1] = k == 0 ? sin(e) : -sin(e);
    ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
    ck_assert_success(
        run, CPIntegratorEvolve(run->mem, 1.0, run->y, &run->t, CV_NORMAL)); /* no sensitivities */
    value[k] = entries(run->y)[0];
  }
  const sunrealtype *g = entries(gradient[0]);
  ck_assert_double_eq_tol(g[1], (value[0] - value[1]) / (2 * e), 1.0e-5);
  ck_assert_double_eq_tol(g[0], 0.0, 1.0e-12);
  ck_assert_double_eq_tol(g[2], 0.0, 1.0e-12);
  N_VDestroyVectorArray(gradient, NG);
  N_VDestroy(y0);
  sens_close(&r);
}
END_TEST

/* The same motions on the manifold but other ones off it: f plus multiples of c */
static int other_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  sunrealtype c[PENDULUM_M];
  N_Vector cv    = N_VMake_Serial(PENDULUM_M, c, test_context);
  const int flag = world_rhs(t, y, ydot, user_data);
  pendulum_constraints(t, y, cv, &((World *)user_data)->p);
  entries(ydot)[0] += 2.0 * c[1] * entries(y)[1];
  entries(ydot)[3] -= 3.0 * c[0];
  N_VDestroy(cv);
  return flag;
}

static void open_other(void) {
  memset(&r, 0, sizeof r);
  run_create(run, ADAMS_FIXED_POINT, TOL);
  run->inner = inner_solver(ADAMS_FIXED_POINT, run->y);
  ck_assert_success(run, CPIntegratorSetNonlinearSolver(run->mem, run->inner));
  ck_assert_success(run, CPIntegratorInit(run->mem, other_rhs, 0.0, run->y));
  ck_assert_success(run, CPIntegratorSStolerances(run->mem, TOL, TOL));
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, run->P));
  ck_assert_success(run, CVodeSetUserData(run->cvode_mem, &run->world));
  r.s = N_VCloneVectorArray(NS, run->y);
  for (int i = 0; i < NS; i++) N_VConst(0.0, r.s[i]);
  entries(r.s[BY_L])[0] = 1.0;
  sens_start(&r, 1);
}

START_TEST(what_f_is_off_the_manifold_does_not_matter) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F = functional(1);
  N_Vector gradient[2][NG];
  for (int k = 0; k < 2; k++) {
    if (k == 0) sens_open(&r, ADAMS_FIXED_POINT, TOL);
    else open_other();
    for (int i = 0; i < NG; i++) gradient[k][i] = vector_of(PENDULUM_N, NULL);
    ck_assert_success(run, CPIntegratorGradient(run->mem, 2.0, &F, NULL, NULL, G, dG, gradient[k]));
    expect(G, dG, 2.0, BOUND);
    sens_close(&r);
  }
  for (int i = 0; i < NG; i++) {
    ck_assert_double_le(max_distance(gradient[0][i], gradient[1][i]), 10.0 * BOUND);
    N_VDestroy(gradient[0][i]);
    N_VDestroy(gradient[1][i]);
  }
}
END_TEST

/* CPIntegratorGradientCheck with this start */
static int compare(CPIntegrator mem, sunrealtype t0, sunrealtype t1, const CPFunctional *F,
                   const CPGradientOptions *options, CPStartFn begin, sunrealtype step, FILE *out,
                   sunrealtype *worst) {
  const CPParameters parameters = sens_parameters(&r);
  CPGradientOptions own = options ? *options : (CPGradientOptions)CP_INIT(CPGradientOptions);
  own.start             = begin;
  return CPIntegratorGradientCheck(mem, t0, t1, F, &parameters, &own, step, out, worst);
}

static int good_starts = -1; /* number of starts that succeed; negative: all */
static int start(sunrealtype t0, N_Vector y0, void *user_data) {
  (void)t0;
  pendulum_initial(user_data, y0);
  return good_starts < 0 || good_starts-- > 0 ? 0 : -1;
}

START_TEST(the_check_finds_all_three_alike_and_prints_them) {
  char *text           = NULL;
  size_t length        = 0;
  FILE *out            = open_memstream(&text, &length);
  sunrealtype worst    = 1.0;
  const CPFunctional F = functional(0);
  sens_open(&r, methods[_i], methods[_i].lmm == CV_BDF ? TOL / 3.0 : TOL);
  ck_assert_success(run, compare(run->mem, 0.0, 1.0, &F, NULL, start, 1.0e-4, out, &worst));
  fclose(out);
  ck_assert_bound(run, worst, 1.0e-5); /* tolerances of 1e-9 and 1e-8 each step */
  ck_assert_mentions(text, "forward");
  char *line = strchr(text, '\n');
  for (int k = 0; k < NG * NS; k++, line = strchr(line + 1, '\n')) {
    int kg, kp;
    double value[3];
    ck_assert_int_eq(sscanf(line, "%d %d %lf %lf %lf", &kg, &kp, &value[0], &value[1], &value[2]),
                     5);
    ck_assert_int_eq(kg * NS + kp, k);
    ck_assert_double_eq_tol(value[0], value[1], 1.0e-5);
    ck_assert_double_eq_tol(value[0], value[2], 1.0e-4);
  }
  free(text);
  sens_close(&r);
}
END_TEST

/* The check must detect a wrong gradient of the user's. */
static int wrong_gradient(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                          void *user_data) {
  const int flag = user_adjoint(t, y, l, Jl, lfp, user_data);
  lfp[BY_L] *= 1.1;
  return flag;
}

START_TEST(the_check_finds_a_wrong_derivative) {
  sunrealtype worst               = 0.0;
  const CPFunctional F            = functional(1);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .adjoint = wrong_gradient,
                                     .user_data = &run->world.p};
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  ck_assert_success(run, compare(run->mem, 0.0, 1.0, &F, &options, start, 1.0e-4, NULL, &worst));
  ck_assert_double_gt(worst, 1.0e-3);
  sens_close(&r);
}
END_TEST

/* ---- memory ---- */

/* ---- failures ---- */

#define ck_assert_error(call, code, ...) \
  do {                                   \
    ck_assert_flag(run, call, code);     \
    ck_assert_message(run, __VA_ARGS__); \
  } while (0)

START_TEST(arguments_are_checked) {
  sunrealtype G[NG], dG[NG * NS], worst;
  CPFunctional F = functional(1), none = {CP_SIZED(CPFunctional), .ng = 1}, empty = functional(1);
  CPGradientOptions bad              = {CP_SIZED(CPGradientOptions), .method = "ADAMS"};
  const CPGradientOptions negative[] = {{CP_SIZED(CPGradientOptions), .reltol = -1e-6},
                                        {CP_SIZED(CPGradientOptions), .reltol = NAN},
                                        {CP_SIZED(CPGradientOptions), .abstol = -1e-6},
                                        {CP_SIZED(CPGradientOptions), .steps = -1}};
  sens_open_states(&r, ADAMS_FIXED_POINT, TOL);
  CPIntegrator mem = run->mem;
  empty.ng         = 0;
  ck_assert_int_eq(CPIntegratorGradient(NULL, 1, &F, NULL, &by_sensitivities, G, dG, NULL),
                   CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorGradient(NULL, 1, &F, NULL, NULL, G, dG, NULL), CP_MEM_NULL);
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, &by_sensitivities, G, dG, NULL),
                  CP_NO_INIT, "parameters");
  ck_assert_int_eq(compare(NULL, 0, 1, &F, NULL, start, 1e-4, NULL, &worst), CP_MEM_NULL);
  sens_start(&r, 1);
  ck_assert_error(compare(mem, 0, 1, NULL, NULL, start, 1e-4, NULL, &worst), CP_ILL_INPUT,
                  "F must not");
  ck_assert_error(CPIntegratorGradient(mem, 1, NULL, NULL, &by_sensitivities, G, dG, NULL),
                  CP_ILL_INPUT, "F must not");
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, &by_sensitivities, NULL, dG, NULL),
                  CP_ILL_INPUT, "G must not");
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, &by_sensitivities, G, NULL, NULL),
                  CP_ILL_INPUT, "dG");
  ck_assert_error(CPIntegratorGradient(mem, 1, &none, NULL, &by_sensitivities, G, dG, NULL),
                  CP_ILL_INPUT, "integrands");
  ck_assert_error(CPIntegratorGradient(mem, 1, &empty, NULL, &by_sensitivities, G, dG, NULL),
                  CP_ILL_INPUT, "ng", "0");
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, NULL, G, NULL, NULL), CP_ILL_INPUT, "dG");
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, &bad, G, dG, NULL), CP_ILL_INPUT, "method",
                  "ADAMS");
  for (int k = 0; k < 4; k++)
    ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, &negative[k], G, dG, NULL), CP_ILL_INPUT,
                    "reltol, abstol and steps must not be negative");
  ck_assert_error(CPIntegratorGradient(mem, NAN, &F, NULL, NULL, G, dG, NULL), CP_ILL_INPUT,
                  "t1 must be finite", "nan");
  ck_assert_error(compare(mem, 0, 1, &F, NULL, NULL, 1e-4, NULL, &worst), CP_ILL_INPUT, "start");
  ck_assert_error(compare(mem, 0, 1, &F, NULL, start, 0.0, NULL, &worst), CP_ILL_INPUT, "step", "0");
  ck_assert_error(compare(mem, 0, 1, &F, NULL, start, 1.0, NULL, &worst), CP_ILL_INPUT, "step",
                  "between 0 and 1");
  N_Vector shorter[NG];
  for (int k = 0; k < NG; k++) shorter[k] = vector_of(3, NULL);
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, NULL, G, dG, shorter), CP_ILL_INPUT,
                  "gradient", "3");
  CPParameters parameters = sens_parameters(&r);
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, &parameters, NULL, G, dG, NULL), CP_ILL_INPUT,
                  "must be NULL", "CPIntegratorSetSens");
  ck_assert_success(run, CPIntegratorSetSens(mem, NULL));
  parameters.y0S = shorter;
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, &parameters, NULL, G, dG, NULL), CP_ILL_INPUT,
                  "y0S", "3");
  bad = (CPGradientOptions){CP_SIZED(CPGradientOptions), .after = shorter};
  ck_assert_error(CPIntegratorGradient(mem, 1, &none, NULL, &bad, G, NULL, NULL), CP_ILL_INPUT,
                  "after", "3");
  bad.mode = CP_GRADIENT_FORWARD;
  ck_assert_error(CPIntegratorGradient(mem, 1, &none, NULL, &bad, G, NULL, NULL), CP_ILL_INPUT,
                  "after", "backward");
  N_Vector unwanted[NG] = {NULL};
  F                     = functional(0); /* whose derivatives have no parameters */
  ck_assert_success(run, CPIntegratorGradient(mem, 0, &F, NULL, NULL, G, NULL, unwanted));
  ck_assert_success(run, CPIntegratorReInit(mem, 0, run->y));
  bad = (CPGradientOptions){CP_SIZED(CPGradientOptions), .mode = (CPGradientMode)2};
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, &bad, G, dG, NULL), CP_ILL_INPUT, "mode",
                  "2");
  for (int k = 0; k < NG; k++) N_VDestroy(shorter[k]);
  ck_assert_success(run, run_step(run));
  ck_assert_error(CPIntegratorGradient(mem, 1, &F, NULL, NULL, G, dG, NULL), CP_TOO_LATE,
                  "CPIntegratorReInit");
  sens_close(&r);
}
END_TEST

/* The forward run, and the backward problem, which needs more steps here. */
START_TEST(a_run_that_takes_too_many_steps_ends) {
  sunrealtype G[NG], dG[NG * NS];
  CPFunctional F            = functional(1);
  const CPGradientOptions o = {CP_SIZED(CPGradientOptions), .steps = 10, .reltol = 1.0e-10};
  int told                  = 0;
  for (F.mxsteps = 10; !told && F.mxsteps < 40; F.mxsteps += 4) {
    sens_open_states(&r, _i ? methods[4] : ADAMS_FIXED_POINT, _i ? 1.0e-4 : TOL); /* DOP853 */
    sens_start(&r, 1);
    if (_i == 0)
      ck_assert_error(CPIntegratorGradient(run->mem, 1, &F, NULL, &by_sensitivities, G, dG, NULL),
                      CV_TOO_MUCH_WORK, "10 steps", "mxsteps", "t1");
    else
      ck_assert_error(CPIntegratorGradient(run->mem, 1, &F, NULL, &o, G, dG, NULL),
                      CV_TOO_MUCH_WORK, "mxsteps");
    told = _i == 0 || strstr(CPObjectGetLastMessage(CP_OBJECT(run->mem)), "backward");
    sens_close(&r);
  }
  ck_assert(told);
}
END_TEST

static int no_number(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data) {
  (void)t, (void)y, (void)user_data;
  values[0] = NAN;
  return 0;
}

static int seven(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data) {
  (void)t, (void)y, (void)user_data;
  values[0] = 7.0;
  return 0;
}

static int no_gradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                       void *user_data) {
  (void)t, (void)y, (void)k, (void)gy, (void)gp, (void)user_data; /* they are zero on entry */
  return 0;
}

/* There is nothing to which errors could be relative; and the table is printed without `worst`,
 * too. */
START_TEST(gradients_of_a_constant_are_zero) {
  char *text           = NULL;
  size_t length        = 0;
  FILE *out            = open_memstream(&text, &length);
  sunrealtype worst    = 1.0;
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = seven, .end_grad = no_gradient,
                          .user_data = functional(0).user_data};
  sens_open(&r, ADAMS_FIXED_POINT, 1.0e-5);
  ck_assert_success(run, compare(run->mem, 0.0, 0.1, &F, NULL, start, 1.0e-4, _i ? out : NULL,
                                 _i ? NULL : &worst));
  fclose(out);
  if (_i) ck_assert_mentions(text, "0.000000000000000e+00");
  else ck_assert_double_eq(worst, 0.0);
  free(text);
  sens_close(&r);
}
END_TEST

START_TEST(a_functional_that_is_not_finite_is_refused) {
  sunrealtype G, dG[NS];
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = _i % 2 ? no_number : NULL,
                          .integrand = _i % 2 ? NULL : no_number};
  sens_open(&r, ADAMS_FIXED_POINT, 1.0e-5);
  const int flag =
      _i / 2 ? CPIntegratorGradient(run->mem, 0.2, &F, NULL, NULL, &G, dG, NULL)
             : CPIntegratorGradient(run->mem, 0.2, &F, NULL, &by_sensitivities, &G, dG, NULL);
  ck_assert_flag(run, flag, CP_ILL_INPUT);
  ck_assert_message(run, "NaN");
  sens_close(&r);
}
END_TEST

static int nan_of_state;
static int nan_gradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                        void *user_data) {
  (void)t, (void)y, (void)k, (void)user_data;
  *(nan_of_state ? entries(gy) : gp) = NAN;
  return 0;
}

START_TEST(a_gradient_that_is_not_finite_is_refused) {
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions),
                                     .mode = (CPGradientMode)(_i / 2 % 2)};
  const int at_end                = _i / 4;
  CPFunctional F                  = functional(1);
  sunrealtype G[NG], dG[NG * NS];
  nan_of_state                                = _i % 2;
  *(at_end ? &F.end_grad : &F.integrand_grad) = nan_gradient;
  sens_open_states(&r, methods[4], 1.0e-6);
  const CPParameters parameters = sens_parameters(&r);
  ck_assert_error(CPIntegratorGradient(run->mem, 0.2, &F, &parameters, &options, G, dG, NULL),
                  CP_ILL_INPUT,
                  "t = ", at_end ? "gradient of the end term" : "gradient of the integrand", "NaN");
  sens_close(&r);
}
END_TEST

static int evaluate(int way, const CPFunctional *F) {
  sunrealtype G[NG], dG[NG * NS];
  if (way == 0) return CPIntegratorGradient(run->mem, 0.5, F, NULL, NULL, G, dG, NULL);
  if (way == 1) return CPIntegratorGradient(run->mem, 0.5, F, NULL, &by_sensitivities, G, dG, NULL);
  return compare(run->mem, 0.0, 0.5, F, NULL, start, 1.0e-4, NULL, NULL);
}

START_TEST(failing_functions_are_named_every_way) {
  const CPFunctional F = functional(1);
  fault_of_end         = _i % 2;
  fault_of_integrand   = !fault_of_end;
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  const int flag = evaluate(_i / 2, &F);
  ck_assert_flag(run, flag, CP_ILL_INPUT);
  ck_assert_message(run, fault_of_end ? "end term" : "integrand", "(1)");
  fault_of_end = fault_of_integrand = 0;
  sens_close(&r);
}
END_TEST

/* Failures in the finite differences, in the derivatives of the start, and in the runs. */
START_TEST(a_start_that_fails_is_named_whenever_it_does) {
  const CPFunctional F = functional(1);
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  good_starts = _i;
  ck_assert_error(compare(run->mem, 0.0, 0.1, &F, NULL, start, 1.0e-4, NULL, NULL), CP_ILL_INPUT,
                  "start failed", "-1");
  good_starts = -1;
  sens_close(&r);
}
END_TEST

/* With a length that is off by more than 0.001, as in the derivatives of the start, its speed is a NaN. */
static int start_beside(sunrealtype t0, N_Vector y0, void *user_data) {
  const World *world = user_data;
  const int flag     = start(t0, y0, user_data);
  if (fabs(world->p.L - 1.0) > 1.0e-3) entries(y0)[3] = NAN;
  return flag;
}

START_TEST(a_start_whose_derivatives_are_not_finite_is_told) {
  const CPFunctional F = functional(1);
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  ck_assert_error(compare(run->mem, 0.0, 0.1, &F, NULL, start_beside, 1.0e-4, NULL, NULL),
                  CP_ILL_INPUT, "yS0[0]", "finite");
  sens_close(&r);
}
END_TEST

/* With a first step of about 1e140, nothing of y0 remains when CVODES removes its prediction: the
 * checkpoint of the next run would hold zeros, and its sensitivities, too. The run starts in
 * motion, where all components of f are large. */
START_TEST(a_failed_first_step_spoils_no_gradient) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F            = functional(1);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .steps = _i / 2 ? 20 : 0};
  N_Vector *zn0, *zn1, *spare;
  sunrealtype t, gamma, rl1;
  void *data;
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  ck_assert_success(run, CVodeSetStopTime(run->cvode_mem, 0.5));
  sens_until(&r, 0.5);
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.5, run->y));
  ck_assert_success(run, CPSensReInit(r.sens, r.s));
  run->world.f = (Fault){.after = 0.6, .times = -1, .flag = -1};
  ck_assert_success(run, CVodeSetInitStep(run->cvode_mem, 1.0e140));
  ck_assert_int_lt(CPIntegratorEvolve(run->mem, 1.0e300, run->y, &run->t, CV_NORMAL), 0);
  ck_assert_success(run, CVodeSetInitStep(run->cvode_mem, 0.0));
  run->world.f = (Fault){0};
  ck_assert_success(run, CVodeGetNonlinearSystemDataSens(run->cvode_mem, &t, &zn0, &spare, &gamma,
                                                         &rl1, &zn1, &data));
  for (int i = 0; i < NS; i++) ck_assert_double_eq(max_distance(zn0[i], r.s[i]), 0.0);
  ck_assert_success(
      run, _i % 2 ? CPIntegratorGradient(run->mem, 1.0, &F, NULL, &by_sensitivities, G, dG, NULL)
                  : CPIntegratorGradient(run->mem, 1.0, &F, NULL, &options, G, dG, NULL));
  G[2] += entries(run->y)[1]; /* of the earlier motion */
  for (int i = 0; i < NS; i++) dG[2 * NS + i] += entries(r.s[i])[1];
  expect(G, dG, 1.0, BOUND);
  sens_close(&r);
}
END_TEST

static int fault_of_adjoint;
static int adjoint_after_half(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                              void *user_data) {
  adjoint_calls++;
  return t < 0.5 ? fault_of_adjoint : user_adjoint(t, y, l, Jl, lfp, user_data);
}

/* After recoverable failures CVODES continues with steps that do not move t until it reaches its
 * limit, a million. */
START_TEST(a_backward_problem_that_comes_to_a_stop_says_where) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F            = functional(1);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions),
                                     .method  = _i % 2 ? "DOP853" : "RADAU",
                                     .adjoint = adjoint_after_half, .user_data = &run->world.p};
  adjoint_calls                   = 0;
  fault_of_adjoint                = _i / 2 ? -7 : 7;
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  ck_assert_flag(run, CPIntegratorGradient(run->mem, 1.0, &F, NULL, &options, G, dG, NULL),
                 _i / 2 ? CV_RHSFUNC_FAIL : CV_REPTD_RHSFUNC_ERR);
  ck_assert_message(run, "the backward problem of functional", _i / 2 ? "(-7)" : "t = 0.5", "7)");
  ck_assert_int_lt(adjoint_calls, 20000);
  sens_close(&r);
}
END_TEST

static int adjoint_with_nan(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                            void *user_data) {
  const int flag = user_adjoint(t, y, l, Jl, lfp, user_data);
  if (t < 0.5) *(nan_of_state ? entries(Jl) : lfp) = NAN;
  return flag;
}

START_TEST(derivatives_of_a_backward_problem_that_are_not_finite_are_told) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F            = functional(1);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .adjoint = adjoint_with_nan,
                                     .user_data = &run->world.p};
  nan_of_state                    = _i;
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  ck_assert_error(CPIntegratorGradient(run->mem, 1.0, &F, NULL, &options, G, dG, NULL),
                  CP_RHS_NONFINITE, "t = 0.5", "derivatives of functional 0", "NaN");
  sens_close(&r);
}
END_TEST

START_TEST(a_run_that_fails_tells_why_both_ways) {
  sunrealtype G[NG], dG[NG * NS];
  const CPFunctional F = functional(1);
  sens_open(&r, ADAMS_FIXED_POINT, TOL);
  run->world.c   = (Fault){.after = 0.2, .times = -1, .flag = -1};
  const int flag = _i ? CPIntegratorGradient(run->mem, 0.5, &F, NULL, &by_sensitivities, G, dG, NULL)
                      : CPIntegratorGradient(run->mem, 0.5, &F, NULL, NULL, G, dG, NULL);
  ck_assert_flag(run, flag, CP_USERFUNC_FAIL);
  sens_close(&r);
}
END_TEST

TEST_SUITE(functional) {
  Suite *suite = suite_create("Functionals");
  TCase *tc    = tcase_create("functional");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, forward_gradients_are_those_of_the_closed_form, 0, 2 * ALL_METHODS);
  tcase_add_loop_test(tc, adjoint_gradients_are_those_of_the_closed_form, 0, 4 * ALL_METHODS);
  tcase_add_loop_test(tc, gradients_do_not_depend_on_the_part_of_a_start_across_the_manifold, 0,
                      2 * ALL_METHODS);
  tcase_add_loop_test(tc, a_start_within_the_tolerances_serves_both_ways, 0, 2 * ALL_METHODS);
  tcase_add_test(tc, a_failure_at_the_end_of_a_run_backwards_is_reported_as_it_is);
  tcase_add_loop_test(tc, a_run_without_length_has_the_gradients_of_its_end_terms, 0, 4);
  tcase_add_loop_test(tc, a_run_backwards_has_gradients_too, 0, 2 * ALL_METHODS);
  tcase_add_loop_test(tc, two_runs_have_the_gradient_of_one, 0, 2 * ALL_METHODS);
  tcase_add_loop_test(tc, a_relative_tolerance_alone_decides_on_the_digits_of_a_gradient, 0, 2);
  tcase_add_test(tc, one_inf_in_the_adjoint_equations_spoils_no_gradient);
  tcase_add_loop_test(tc, the_gradient_with_respect_to_the_start_is_that_of_runs_side_by_side, 0,
                      ALL_METHODS);
  tcase_add_test(tc, what_f_is_off_the_manifold_does_not_matter);
  tcase_add_loop_test(tc, the_check_finds_all_three_alike_and_prints_them, 0, ALL_METHODS);
  tcase_add_test(tc, the_check_finds_a_wrong_derivative);
  tcase_add_loop_test(tc, a_run_that_takes_too_many_steps_ends, 0, 2);
  tcase_add_test(tc, arguments_are_checked);
  tcase_add_loop_test(tc, gradients_of_a_constant_are_zero, 0, 2);
  tcase_add_loop_test(tc, a_gradient_that_is_not_finite_is_refused, 0, 8);
  tcase_add_loop_test(tc, a_functional_that_is_not_finite_is_refused, 0, 4);
  tcase_add_loop_test(tc, failing_functions_are_named_every_way, 0, 6);
  tcase_add_test(tc, a_start_whose_derivatives_are_not_finite_is_told);
  tcase_add_loop_test(tc, a_start_that_fails_is_named_whenever_it_does, 0, 2 * NS + 6 * NS + 2);
  tcase_add_loop_test(tc, a_run_that_fails_tells_why_both_ways, 0, 2);
  tcase_add_loop_test(tc, a_failed_first_step_spoils_no_gradient, 0, 4);
  tcase_add_loop_test(tc, a_backward_problem_that_comes_to_a_stop_says_where, 0, 4);
  tcase_add_loop_test(tc, derivatives_of_a_backward_problem_that_are_not_finite_are_told, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
