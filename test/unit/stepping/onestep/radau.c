/* Radau IIA: coefficients, orders, Jacobians, stiff equations, failures of stages. */
#include "cpodes/stepping/onestep/radau.h"
#include "stepping/onestep/fixture.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- coefficients ----
 *
 * Errors are some roundings of sums whose terms are below 30 (T^-1 with five stages). */
#define ROUNDED (100.0 * DBL_EPSILON * 30.0)

START_TEST(stages_integrate_polynomials) { /* sum_j a_ij c_j^p = c_i^(p + 1) / (p + 1), p < s */
  const CPRadauTable *T = &cpRadauTables[_i];
  for (int i = 0; i < T->s; i++)
    for (int p = 0; p < T->s; p++) {
      double sum = -pow(T->c[i], p + 1) / (p + 1);
      for (int j = 0; j < T->s; j++) sum += T->A[i][j] * pow(T->c[j], p);
      ck_assert_double_le(fabs(sum), ROUNDED);
    }
}
END_TEST

START_TEST(the_last_stage_has_the_order_of_radau_quadrature) { /* sum_j b_j c_j^p = 1 / (p + 1), p < 2 s - 1 */
  const CPRadauTable *T = &cpRadauTables[_i];
  ck_assert_double_eq(T->c[T->s - 1], 1.0);
  for (int p = 0; p < 2 * T->s; p++) {
    double sum = -1.0 / (p + 1);
    for (int j = 0; j < T->s; j++) sum += T->A[T->s - 1][j] * pow(T->c[j], p);
    if (p < 2 * T->s - 1) ck_assert_double_le(fabs(sum), ROUNDED);
    else ck_assert_double_gt(fabs(sum), 1.0e-8); /* and no higher one */
  }
}
END_TEST

START_TEST(eigenvectors_diagonalise_A) { /* A T = T D, T T^-1 = 1 */
  const CPRadauTable *T                      = &cpRadauTables[_i];
  double D[CP_RADAU_STAGES][CP_RADAU_STAGES] = {{T->real}};
  for (int p = 0; p < T->pairs; p++) {
    const int k = 2 * p + 1;
    D[k][k] = D[k + 1][k + 1] = T->re[p];
    D[k][k + 1]               = T->im[p];
    D[k + 1][k]               = -T->im[p];
  }
  for (int i = 0; i < T->s; i++)
    for (int j = 0; j < T->s; j++) {
      double difference = 0.0, unit = i == j ? -1.0 : 0.0;
      for (int k = 0; k < T->s; k++) {
        difference += T->A[i][k] * T->T[k][j] - T->T[i][k] * D[k][j];
        unit += T->T[i][k] * T->T_inv[k][j];
      }
      ck_assert_double_le(fabs(difference), ROUNDED);
      ck_assert_double_le(fabs(unit), ROUNDED);
    }
}
END_TEST

START_TEST(the_embedded_formula_has_the_order_of_the_stages) {
  const CPRadauTable *T = &cpRadauTables[_i];
  for (int p = 0; p <= T->s; p++) {
    double sum = p == 0 ? T->real : 0.0;
    for (int j = 0; j < T->s; j++) sum += T->d[j] * pow(T->c[j], p);
    if (p < T->s) ck_assert_double_le(fabs(sum), ROUNDED);
    else ck_assert_double_le(fabs(fabs(sum) - T->constant), ROUNDED);
  }
}
END_TEST

/* ---- orders: the pendulum on and off its manifold ---- */

static OneRun run;

/* Stages are solved to 0.005 tolerances. Terms of higher order are within 2^0.4 at these steps,
 * where errors are 1e-5 to 1e-11. Between the ends of steps the polynomial has the order of the
 * stages plus one; with 7 stages that requires smaller steps, where errors at their ends are
 * roundoff. */
START_TEST(errors_are_of_the_order_at_steps_and_between) {
  static const char *const names[] = {"RADAU5", "RADAU9", "RADAU13"};
  static const int steps[] = {20, 8, 4}, steps_between[] = {20, 8, 8};
  const int k = _i % 3, stages = 3 + 2 * k, order = 2 * stages - 1;
  one_open(&run, names[k], 1.0e-12);
  if (_i >= 3) ck_assert_done(&run, CPIntegratorSetProjector(run.mem, NULL));
  const OneErrors one = one_errors(&run, steps[k]), half = one_errors(&run, 2 * steps[k]);
  const OneErrors whole = one_errors(&run, steps_between[k]),
                  finer = one_errors(&run, 2 * steps_between[k]);
  const double end = log2(one.end / half.end), inside = log2(whole.inside / finer.inside);
  const double within = fmin(order, stages + 2);
  ck_assert_msg(end >= order - 0.4, "%s: %g (%g)", run.method, end, half.end);
  ck_assert_msg(inside >= within - 0.4, "%s: %g between steps (%g)", run.method, inside,
                finer.inside);
  one_close(&run);
}
END_TEST

/* ---- stiff equations: Robertson's reaction (E. Hairer, G. Wanner, Solving Ordinary Differential
 * Equations II, IV.1) ---- */

typedef enum { DIFFERENCES, DENSE, SPARSE, SPARSE_DIFFERENCES, KINDS } JacobianKind;

static int jac_result;
static sunrealtype jac_factor;
static int jac_entry; /* the one with this factor, by columns, or -1: all */
static long int jac_calls;

static int robertson(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  const sunrealtype *v = entries(y);
  (void)t, (void)data;
  entries(ydot)[0] = -0.04 * v[0] + 1.0e4 * v[1] * v[2];
  entries(ydot)[2] = 3.0e7 * v[1] * v[1];
  entries(ydot)[1] = -entries(ydot)[0] - entries(ydot)[2];
  return 0;
}

static int robertson_jac(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data,
                         N_Vector t1, N_Vector t2, N_Vector t3) {
  const sunrealtype *v = entries(y), a = 1.0e4 * v[2], b = 1.0e4 * v[1], c = 6.0e7 * v[1];
  const sunrealtype values[9] = {-0.04, 0.04, 0.0, a, -a - c, c, b, -b, 0.0}; /* by columns */
  sunrealtype *to =
      SUNMatGetID(J) == SUNMATRIX_DENSE ? SUNDenseMatrix_Data(J) : SUNSparseMatrix_Data(J);
  (void)t, (void)fy, (void)data, (void)t1, (void)t2, (void)t3;
  for (int k = 0; k < 9; k++)
    to[k] = jac_entry < 0 || k == jac_entry ? jac_factor * values[k] : values[k];
  jac_calls++;
  return jac_result;
}

static SUNMatrix full_pattern(void) {
  SUNMatrix J = SUNSparseMatrix(3, 3, 9, CSC_MAT, test_context);
  for (int j = 0; j <= 3; j++) SUNSparseMatrix_IndexPointers(J)[j] = 3 * j;
  for (int k = 0; k < 9; k++) SUNSparseMatrix_IndexValues(J)[k] = k % 3;
  return J;
}

static MessageLog messages;

static CPIntegrator open_robertson(const char *method, JacobianKind kind, N_Vector y,
                                   sunrealtype tol) {
  SUNMatrix J      = kind == SPARSE || kind == SPARSE_DIFFERENCES ? full_pattern() : NULL;
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  const int given  = kind == DENSE || kind == SPARSE;
  memset(&messages, 0, sizeof messages);
  jac_result = 0, jac_factor = 1.0, jac_entry = -1, jac_calls = 0;
  entries(y)[0] = 1.0, entries(y)[1] = 0.0, entries(y)[2] = 0.0;
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, J, given ? robertson_jac : NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, robertson, 0.0, y), CP_SUCCESS);
  CPIntegratorSStolerances(mem, tol, 1.0e-4 * tol);
  if (J) SUNMatDestroy(J);
  return mem;
}

START_TEST(robertsons_reaction_takes_few_steps_with_any_jacobian) {
  static const char *const methods_of[] = {"RADAU", "RADAU5", "RADAU9", "RADAU13"};
  /* by CVODES 6.4, BDF, rtol 1e-13, which agrees to 1e-10 with rtol 1e-12 */
  static const sunrealtype at4e4[] = {0.03898337709, 1.621768316e-7, 0.9610164607};
  N_Vector y                       = vector_of(3, NULL);
  CPIntegrator mem                 = open_robertson(methods_of[_i / KINDS], _i % KINDS, y, 1.0e-6);
  sunrealtype t;
  IntegratorCounters s;
  const int flag = CPIntegratorEvolve(mem, 4.0e4, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%s", messages.text);
  integrator_counters(mem, &s);
  for (int i = 0; i < 3; i++)
    ck_assert_msg(fabs(entries(y)[i] - at4e4[i]) <= 1.0e-5 * at4e4[i], "y%d = %.8g", i,
                  entries(y)[i]);
  ck_assert_int_lt(s.nst, 200);
  ck_assert_int_eq(s.nlinsetups, s.nlureal + s.nlucomplex);
  ck_assert_int_ge(s.nlucomplex, s.nlureal);
  ck_assert_int_le(s.njev, s.nattempts + s.nsolvefails);
  ck_assert_int_eq(jac_calls, _i % KINDS == DENSE || _i % KINDS == SPARSE ? s.njev : 0);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

/* At the end y_1 is 1e-13 of y_2, and f is nonlinear in it. Exact values: E. Hairer, G. Wanner, Solving Ordinary
 * Differential Equations II, IV.10, test set. Any J gives 70 (RADAU13) to 300 steps (RADAU5); increments in
 * proportion to the largest component gave 6,000. */
START_TEST(differences_are_as_small_as_tolerances_of_small_components) {
  static const char *const methods_of[] = {"RADAU", "RADAU5", "RADAU9", "RADAU13"};
  static const sunrealtype end[]        = {0.2083340149701255e-7, 0.8333360770334713e-13,
                                           0.9999999791665050};
  N_Vector y = vector_of(3, NULL), abstol = vector_of(3, (const sunrealtype[]){1e-12, 1e-17, 1e-12});
  CPIntegrator mem = open_robertson(methods_of[_i / KINDS], _i % KINDS, y, 1.0e-6);
  sunrealtype t;
  IntegratorCounters s;
  CPIntegratorSVtolerances(mem, 1.0e-6, abstol);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0e11, y, &t, CV_NORMAL), CP_SUCCESS);
  integrator_counters(mem, &s);
  for (int i = 0; i < 3; i++)
    ck_assert_msg(fabs(entries(y)[i] - end[i]) <= 1.0e-4 * end[i], "y%d = %.8g", i, entries(y)[i]);
  ck_assert_int_lt(s.nst, 500);
  CPIntegratorFree(&mem);
  N_VDestroy(abstol);
  N_VDestroy(y);
}
END_TEST

START_TEST(the_number_of_stages_grows_with_the_accuracy) {
  N_Vector y = vector_of(3, NULL);
  int order = 0, embedded = 0, stages = 0;
  CPIntegrator mem = open_robertson("RADAU", DENSE, y, 1.0e-10);
  sunrealtype t;
  CPIntegratorGetMethod(mem, NULL, &order, &embedded, &stages);
  ck_assert_int_eq(order, 5); /* at the start */
  ck_assert_int_eq(CPIntegratorEvolve(mem, 40.0, y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorGetMethod(mem, NULL, &order, &embedded, &stages);
  ck_assert_int_eq(order, 9);
  ck_assert_int_eq(stages, 5);
  ck_assert_int_eq(embedded, 5);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

static int rotation(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)data;
  entries(ydot)[0] = -entries(y)[1];
  entries(ydot)[1] = entries(y)[0];
  return 0;
}

/* The estimate, which is of lower order, is scaled by the tolerance relative to the state, whether
 * rtol or atol determines it. */
START_TEST(an_absolute_tolerance_counts_as_a_relative_one_of_the_same_size) {
  static const char *const methods_of[] = {"RADAU", "RADAU5", "RADAU9"};
  long int steps[2];
  for (int absolute = 0; absolute < 2; absolute++) {
    N_Vector y       = VECTOR(1.0, 0.0);
    CPIntegrator mem = CPIntegratorCreate(methods_of[_i], test_context);
    IntegratorCounters s;
    sunrealtype t;
    ck_assert_int_eq(CPIntegratorInit(mem, rotation, 0.0, y), CP_SUCCESS);
    CPIntegratorSStolerances(mem, absolute ? 1.0e-300 : 1.0e-8, absolute ? 1.0e-8 : 1.0e-12);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 10.0, y, &t, CV_NORMAL), CP_SUCCESS);
    /* The local errors of about fifty steps, each below the tolerance */
    ck_assert_double_le(hypot(entries(y)[0] - cos(10.0), entries(y)[1] - sin(10.0)), 50.0 * 1.0e-8);
    integrator_counters(mem, &s);
    steps[absolute] = s.nst;
    CPIntegratorFree(&mem);
    N_VDestroy(y);
  }
  ck_assert_int_ge(steps[1], steps[0] / 2); /* small components count as well */
}
END_TEST

static int jumps_up(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)data;
  entries(ydot)[0] = entries(y)[0] < 1.0 ? 1.0 : 3.0;
  entries(ydot)[1] = entries(y)[0] < 1.0 ? cos(t) : -entries(y)[1];
  return 0;
}

/* The conversion of the tolerance for the estimate supposes that the solution is smooth. The largest
 * errors were 350, 840 and 4,300 tolerances with 3, 5 and 7 stages. */
START_TEST(a_step_over_a_jump_has_a_small_error) {
  static const char *const methods_of[] = {"RADAU", "RADAU5", "RADAU9", "RADAU13"};
  for (int half = 6; half <= 20; half++) {
    const sunrealtype tol = (half % 2 ? 3.0 : 1.0) * pow(10.0, -((half + 1) / 2));
    N_Vector y            = VECTOR(0.0, 0.0);
    CPIntegrator mem      = CPIntegratorCreate(methods_of[_i], test_context);
    sunrealtype t;
    ck_assert_int_eq(CPIntegratorInit(mem, jumps_up, 0.0, y), CP_SUCCESS);
    CPIntegratorSStolerances(mem, tol, tol);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 2.0, y, &t, CV_NORMAL), CP_SUCCESS);
    const sunrealtype error =
        fmax(fabs(entries(y)[0] - 4.0), fabs(entries(y)[1] - sin(1.0) * exp(-1.0)));
    ck_assert_msg(error <= 100.0 * tol, "%s at %g: an error of %g tolerances", methods_of[_i], tol,
                  error / tol);
    CPIntegratorFree(&mem);
    N_VDestroy(y);
  }
}
END_TEST

/* ---- the right-hand side at several points at once: heat in a rod with a varying source ---- */

enum { ROD = CP_MAX_BATCH + 20 }; /* more than one call is needed for differences */

typedef struct {
  long int single, batches, points, most; /* calls and points */
  int result;                             /* of stages at times from `from` on */
  sunrealtype factor, from;               /* its last value is multiplied by factor */
  int failing;                            /* this many times */
} Rod;

static void heat(int n, sunrealtype t, const sunrealtype *y, sunrealtype *ydot) {
  for (int i = 0; i < n; i++) {
    const sunrealtype left = i > 0 ? y[i - 1] : 0.0, right = i + 1 < n ? y[i + 1] : 0.0;
    ydot[i] = n * (left - 2.0 * y[i] + right) - y[i] * y[i] + cos(t * (i + 1));
  }
}

static int rod_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *rod) {
  ((Rod *)rod)->single++;
  heat((int)N_VGetLength(y), t, entries(y), entries(ydot));
  return 0;
}

static int batch(int n, int k, const sunrealtype *t, const sunrealtype *Y, sunrealtype *F, Rod *rod) {
  for (int i = 0; i < k; i++) heat(n, t[i], Y + i * n, F + i * n);
  rod->batches++;
  rod->points += k;
  if (k > rod->most) rod->most = k;
  if (t[0] < rod->from || t[k - 1] == t[0] || rod->failing == 0) return 0; /* not in differences */
  rod->failing--;
  F[k * n - 1] *= rod->factor;
  return rod->result;
}

static int short_batch(int k, const sunrealtype *t, const sunrealtype *Y, sunrealtype *F, void *rod) {
  return batch(4, k, t, Y, F, rod);
}

static int long_batch(int k, const sunrealtype *t, const sunrealtype *Y, sunrealtype *F, void *rod) {
  return batch(ROD, k, t, Y, F, rod);
}

static SUNMatrix tridiagonal(int n) {
  SUNMatrix J         = SUNSparseMatrix(n, n, 3 * n - 2, CSC_MAT, test_context);
  sunindextype *start = SUNSparseMatrix_IndexPointers(J), *row = SUNSparseMatrix_IndexValues(J),
               e = 0;
  for (int j = 0; j < n; j++) {
    start[j] = e;
    for (int i = j - 1; i <= j + 1; i++)
      if (i >= 0 && i < n) row[e++] = i;
  }
  start[n] = e;
  return J;
}

static CPIntegrator open_rod(const char *method, Rod *rod, N_Vector y, int sparse,
                             CPRhsBatchFn function) {
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  SUNMatrix J      = sparse ? tridiagonal((int)N_VGetLength(y)) : NULL;
  *rod             = (Rod){.from = INFINITY};
  memset(&messages, 0, sizeof messages);
  N_VConst(1.0, y);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, J, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetRhsBatchFn(mem, function), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, rod_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetUserData(mem, rod), CP_SUCCESS);
  CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6);
  if (J) SUNMatDestroy(J);
  return mem;
}

START_TEST(several_points_at_once_change_no_number) {
  static const char *const methods_of[] = {"RADAU", "RADAU5", "RADAU9"};
  const int sparse = _i / 3 % 2, n = _i / 6 ? ROD : 4;
  IntegratorCounters s[2];
  N_Vector y[2];
  Rod rod[2];
  for (int k = 0; k < 2; k++) {
    sunrealtype t;
    y[k]             = vector_of(n, NULL);
    CPIntegrator mem = open_rod(methods_of[_i % 3], &rod[k], y[k], sparse,
                                k == 0   ? NULL
                                : n == 4 ? short_batch
                                         : long_batch);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y[k], &t, CV_NORMAL), CP_SUCCESS);
    integrator_counters(mem, &s[k]);
    CPIntegratorFree(&mem);
    ck_assert_int_eq(s[k].nfe, rod[k].single + rod[k].points);
  }
  ck_assert_mem_eq(entries(y[0]), entries(y[1]), (size_t)n * sizeof(sunrealtype));
  ck_assert_mem_eq(&s[0], &s[1], sizeof s[0]);
  ck_assert_int_eq(rod[0].batches, 0);
  /* One call for each iteration and for each Jacobian, or two if it has more points than fit; the
   * start and the size of the first step need one f each. */
  const int points = sparse ? 4 : n + 1, calls = points > CP_MAX_BATCH ? 2 : 1;
  ck_assert_int_eq(rod[1].single, 2);
  ck_assert_int_eq(rod[1].batches, s[1].nni + calls * s[1].njev);
  ck_assert_int_eq(rod[1].most, calls == 2 ? CP_MAX_BATCH : points > 5 || _i % 3 == 1 ? points : 5);
  N_VDestroy(y[0]);
  N_VDestroy(y[1]);
}
END_TEST

START_TEST(a_batch_that_fails_once_has_the_step_retried_smaller) {
  N_Vector y = vector_of(4, NULL);
  Rod rod;
  IntegratorCounters s;
  sunrealtype t;
  CPIntegrator mem = open_rod("RADAU", &rod, y, _i % 2, short_batch);
  rod.from = 0.3, rod.failing = 1, rod.result = _i / 2, rod.factor = _i / 2 ? 1.0 : NAN;
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  integrator_counters(mem, &s);
  ck_assert_int_eq(s.nrhsfails, 1);
  ck_assert_int_eq(s.nfe, rod.single + rod.points);
  ck_assert_int_eq(rod.failing, 0);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

/* ---- failures ---- */

START_TEST(a_batch_that_fails_ends_with_its_code_at_the_last_good_state) {
  static const struct {
    int result;
    sunrealtype factor;
    int code;
    const char *word;
  } cases[]  = {{2, 1.0, CV_REPTD_RHSFUNC_ERR, "recoverably (2) at one of"},
                {-2, 1.0, CV_RHSFUNC_FAIL, "for good (-2) at one of"},
                {0, NAN, CP_RHS_NONFINITE, "NaN or Inf (component 3)"}};
  N_Vector y = vector_of(4, NULL);
  Rod rod;
  sunrealtype t = 0.0, before = 0.0;
  CPIntegrator mem = open_rod("RADAU", &rod, y, _i % 2, short_batch);
  const int k      = _i / 2;
  int flag         = CP_SUCCESS;
  rod.from = 0.3, rod.failing = INT_MAX, rod.result = cases[k].result, rod.factor = cases[k].factor;
  while (flag == CP_SUCCESS && t < 1.0) {
    before = t;
    flag   = CPIntegratorEvolve(mem, 1.0, y, &t, CV_ONE_STEP);
  }
  ck_assert_msg(flag == cases[k].code, "%d: %s", flag, messages.text);
  ck_assert_mentions(messages.text, cases[k].word);
  ck_assert_double_eq(t, before);
  rod.failing = 0;
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

START_TEST(batches_are_refused_with_a_reason) {
  N_Vector y = vector_of(4, NULL);
  Rod rod;
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorSetRhsBatchFn(NULL, short_batch), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetRhsBatchFn(mem, short_batch), CP_NOT_SUPPORTED);
  ck_assert_mentions(messages.text, "DOP853");
  CPIntegratorFree(&mem);
  mem = open_rod("RADAU", &rod, y, 0, short_batch);
  sunrealtype t;
  ck_assert_int_eq(CPIntegratorSetRhsBatchFn(mem, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetRhsBatchFn(mem, NULL), CP_TOO_LATE);
  ck_assert_mentions(messages.text, "first step");
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

START_TEST(a_jacobian_that_fails_ends_with_its_code_at_the_last_good_state) {
  static const struct {
    int result;
    sunrealtype factor;
    int code;
    const char *word;
  } cases[]        = {{1, 1.0, CP_REPTD_USERFUNC_ERR, "Jacobian"},
                      {-1, 1.0, CP_USERFUNC_FAIL, "Jacobian"},
                      {0, NAN, CP_RHS_NONFINITE, "Jacobian"},
                      {0, -1.0e9, CP_ILL_INPUT, "grossly wrong"}};
  N_Vector y       = vector_of(3, NULL);
  CPIntegrator mem = open_robertson("RADAU", _i % 2 ? SPARSE : DENSE, y, 1.0e-6);
  const int k      = _i / 2;
  sunrealtype t = 0.0, before = 0.0;
  for (int i = 0; i < 5; i++)
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  jac_result = cases[k].result, jac_factor = cases[k].factor;
  int flag = CP_SUCCESS;
  while (flag == CP_SUCCESS && t < 1.0e5) {
    before = t;
    flag   = CPIntegratorEvolve(mem, 1.0e5, y, &t, CV_ONE_STEP);
  }
  ck_assert_msg(flag == cases[k].code, "%d: %s", flag, messages.text);
  ck_assert_mentions(messages.text, cases[k].word);
  ck_assert_double_eq(t, before);
  jac_result = 0,
  jac_factor =
      1.0; /* from there the run continues, except for the effect of wrong derivatives on the state */
  if (cases[k].code != CP_ILL_INPUT)
    ck_assert_int_eq(CPIntegratorEvolve(mem, t + 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

/* Corrections are small if J is far too large. Without a comparison of J with f runs of df_2/dy_2, which
 * is 0 at the start, times 1e12 ended with success and components of up to 1e100. */
START_TEST(a_jacobian_that_is_grossly_wrong_does_not_pass_unnoticed) {
  static const sunrealtype factors[]    = {-1.0, 1.0e3, 1.0e6, 1.0e9, 1.0e12},
                           at40[]       = {0.7158270688, 0.2841637457};
  static const char *const methods_of[] = {"RADAU", "RADAU5", "RADAU9", "RADAU13"};
  const sunrealtype factor              = factors[_i % 5];
  for (int k = 0; k < 4 * 4 * (test_is_short() ? 1 : 3); k++) {
    const sunrealtype tol = pow(10.0, -4 - k / 16 * 2);
    N_Vector y            = vector_of(3, NULL);
    CPIntegrator mem      = open_robertson(methods_of[k % 4], k & 4 ? SPARSE : DENSE, y, tol);
    sunrealtype t;
    jac_factor = factor, jac_entry = k & 8 ? 4 : -1;
    CPIntegratorSetMaxNumSteps(mem, 2000);
    const int flag = CPIntegratorEvolve(mem, 40.0, y, &t, CV_NORMAL);
    if (flag == CP_SUCCESS)
      for (int i = 0; i < 2; i++)
        ck_assert_msg(fabs(entries(y)[2 * i] - at40[i]) <= 100.0 * tol, "%d: y%d = %g", k, 2 * i,
                      entries(y)[2 * i]);
    if (factor > 0.0 && jac_entry < 0) {
      ck_assert_msg(flag == CP_ILL_INPUT, "%d: %d: %s", k, flag, messages.text);
      ck_assert_mentions(messages.text, "the Jacobian function is grossly wrong");
    }
    CPIntegratorFree(&mem);
    N_VDestroy(y);
  }
}
END_TEST

/* y_0' = 1/2 - tanh(y_0 / width), y_1' = 1/2 - max(y_1, 0) / width */
static sunrealtype width;

static int bends(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)data;
  entries(ydot)[0] = 0.5 - tanh(entries(y)[0] / width);
  entries(ydot)[1] = 0.5 - fmax(entries(y)[1], 0.0) / width;
  return 0;
}

static int bends_jac(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector t1,
                     N_Vector t2, N_Vector t3) {
  const sunrealtype slope = 1.0 / cosh(entries(y)[0] / width);
  (void)t, (void)fy, (void)data, (void)t1, (void)t2, (void)t3;
  SM_ELEMENT_D(J, 0, 0) = -slope * slope / width;
  SM_ELEMENT_D(J, 1, 1) = entries(y)[1] >= 0.0 ? -1.0 / width : 0.0;
  return 0;
}

/* Increments of differences are longer than the width, or lead to the other side. */
START_TEST(a_right_jacobian_is_not_refused_where_f_bends) {
  N_Vector y       = vector_of(2, (sunrealtype[]){0.0, 0.0});
  CPIntegrator mem = CPIntegratorCreate("RADAU", test_context);
  sunrealtype t;
  width = pow(10.0, -1 - _i);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  CPIntegratorSetJacFn(mem, NULL, bends_jac);
  CPIntegratorInit(mem, bends, 0.0, y);
  CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6);
  const int flag = CPIntegratorEvolve(mem, 10.0, y, &t, CV_NORMAL);
  ck_assert_msg(flag != CP_ILL_INPUT, "%s", messages.text);
  /* Steeper bends are not resolved by this tolerance: a run may end, but not be wrong. */
  if (width > 5.0e-8) ck_assert_msg(flag == CP_SUCCESS, "%s", messages.text);
  if (flag == CP_SUCCESS) {
    ck_assert_double_le(fabs(entries(y)[0] - width * atanh(0.5)), 1.0e-5);
    ck_assert_double_le(fabs(entries(y)[1] - 0.5 * width), 1.0e-5);
  }
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

/* y_0' = 1e10 - y_1, y_1' = -y_1 */
static int large(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)data;
  entries(ydot)[0] = 1.0e10 - entries(y)[1];
  entries(ydot)[1] = -entries(y)[1];
  return 0;
}

static int large_jac(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector t1,
                     N_Vector t2, N_Vector t3) {
  (void)t, (void)y, (void)fy, (void)data, (void)t1, (void)t2, (void)t3;
  SM_ELEMENT_D(J, 0, 1) = -1.0;
  SM_ELEMENT_D(J, 1, 1) = -1.0;
  return 0;
}

/* f does not change by increments of y_1, which are below the roundoff of f_0. */
START_TEST(a_right_jacobian_is_not_refused_where_roundoff_hides_changes) {
  N_Vector y       = vector_of(2, (sunrealtype[]){0.0, 1.0});
  CPIntegrator mem = CPIntegratorCreate("RADAU", test_context);
  sunrealtype t;
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  CPIntegratorSetJacFn(mem, NULL, large_jac);
  CPIntegratorSetInitStep(mem, 0.1);
  CPIntegratorInit(mem, large, 0.0, y);
  CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6);
  ck_assert_msg(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL) == CP_SUCCESS, "%s", messages.text);
  ck_assert_double_le(fabs(entries(y)[1] - exp(-1.0)), 1.0e-5);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

static int jac_that_moves_an_entry(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data,
                                   N_Vector t1, N_Vector t2, N_Vector t3) {
  const int flag                    = robertson_jac(t, y, fy, J, data, t1, t2, t3);
  SUNSparseMatrix_IndexValues(J)[0] = 1;
  return flag;
}

START_TEST(a_jacobian_that_changes_its_pattern_ends_the_run) {
  N_Vector y       = vector_of(3, NULL);
  SUNMatrix J      = full_pattern();
  CPIntegrator mem = CPIntegratorCreate("RADAU", test_context);
  sunrealtype t    = 0.0;
  jac_result = 0, jac_factor = 1.0;
  entries(y)[0] = 1.0;
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, J, jac_that_moves_an_entry), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, robertson, 0.0, y), CP_SUCCESS);
  CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-10);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_ILL_INPUT);
  ck_assert_mentions(messages.text, "index arrays");
  ck_assert_double_eq(t, 0.0);
  CPIntegratorFree(&mem);
  SUNMatDestroy(J);
  N_VDestroy(y);
}
END_TEST

START_TEST(jacobians_are_refused_with_a_reason) {
  N_Vector y       = vector_of(3, NULL);
  SUNMatrix small  = SUNDenseMatrix(2, 2, test_context);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorSetJacFn(NULL, NULL, robertson_jac), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, NULL, robertson_jac), CP_NOT_SUPPORTED);
  ck_assert_mentions(messages.text, "DOP853");
  CPIntegratorFree(&mem);
  sunrealtype t;
  entries(y)[0] = 1;
  mem           = open_robertson("RADAU", DENSE, y, 1.0e-6);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, small, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, NULL, robertson_jac), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, NULL, robertson_jac), CP_TOO_LATE);
  CPIntegratorFree(&mem);
  mem = CPIntegratorCreate("RADAU", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, small, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetErrEst(mem, CP_ERREST_PROJECTED), CP_NOT_SUPPORTED);
  ck_assert_mentions(messages.text, "before the projection");
  ck_assert_int_eq(CPIntegratorSetErrEst(mem, CP_ERREST_UNPROJECTED), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, robertson, 0.0, y), CP_ILL_INPUT);
  ck_assert_mentions(messages.text, "J_tmpl");
  CPIntegratorFree(&mem);
  SUNMatDestroy(small);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(radau) {
  Suite *suite = suite_create("Radau IIA");
  TCase *tc    = tcase_create("radau");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, stages_integrate_polynomials, 0, CP_RADAU_TABLES);
  tcase_add_loop_test(tc, the_last_stage_has_the_order_of_radau_quadrature, 0, CP_RADAU_TABLES);
  tcase_add_loop_test(tc, eigenvectors_diagonalise_A, 0, CP_RADAU_TABLES);
  tcase_add_loop_test(tc, the_embedded_formula_has_the_order_of_the_stages, 0, CP_RADAU_TABLES);
  tcase_add_loop_test(tc, errors_are_of_the_order_at_steps_and_between, 0, 6);
  tcase_add_loop_test(tc, robertsons_reaction_takes_few_steps_with_any_jacobian, 0, 4 * KINDS);
  tcase_add_loop_test(tc, differences_are_as_small_as_tolerances_of_small_components, 0, 4 * KINDS);
  tcase_add_test(tc, the_number_of_stages_grows_with_the_accuracy);
  tcase_add_loop_test(tc, an_absolute_tolerance_counts_as_a_relative_one_of_the_same_size, 0, 3);
  tcase_add_loop_test(tc, a_step_over_a_jump_has_a_small_error, 0, 4);
  tcase_add_loop_test(tc, several_points_at_once_change_no_number, 0, 12);
  tcase_add_loop_test(tc, a_batch_that_fails_once_has_the_step_retried_smaller, 0, 4);
  tcase_add_loop_test(tc, a_batch_that_fails_ends_with_its_code_at_the_last_good_state, 0, 6);
  tcase_add_test(tc, batches_are_refused_with_a_reason);
  tcase_add_loop_test(tc, a_jacobian_that_fails_ends_with_its_code_at_the_last_good_state, 0, 8);
  tcase_add_loop_test(tc, a_jacobian_that_is_grossly_wrong_does_not_pass_unnoticed, 0, 5);
  tcase_add_loop_test(tc, a_right_jacobian_is_not_refused_where_f_bends, 0, 13);
  tcase_add_test(tc, a_right_jacobian_is_not_refused_where_roundoff_hides_changes);
  tcase_add_test(tc, a_jacobian_that_changes_its_pattern_ends_the_run);
  tcase_add_test(tc, jacobians_are_refused_with_a_reason);
  suite_add_tcase(suite, tc);
  return suite;
}
