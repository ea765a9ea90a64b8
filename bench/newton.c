/* Structured Newton compared with the full I - gamma J, both with LAPACK, or with KLU.
 *
 *   dense    1,000 coupled coordinates with 100 constraints, stiff (coupled.h): the condensed matrix, of
 *            order 1,100, compared with the full one, of order 2,000
 *   sparse   a chain of N = 100 ... 10,000 point masses with stiff overdamped bending spring-dampers:
 *            the condensed matrix by KLU; at N = 100 compared with the full one by LAPACK
 *
 * Both sides are the same CPMech with the same tolerances and metric of the projection, and with
 * partial derivatives from the same formulas. The full J is computed from these by LAPACK for the
 * dense part, and by elimination in a tridiagonal matrix for the chain.
 *
 *   seconds   of the whole run
 *   less f    the same without evaluations of f, each of which takes as long as one CPMechAccelerations:
 *             Jacobians, matrices, their factors and solutions, and the rest of the step, which takes
 *             little time
 *
 * Bounds: dense, less f: full takes at least 3 times as long, with the same steps; sparse, whole
 * runs: the time per step and N varies by at most a factor of 2, full takes at least 8 times as
 * long, and steps agree within 5 %. */
#include "check.h"
#include "coupled.h"
#include "lapack_dense.h"
#include "mech.h"
#include "options.h"
#include "timing.h"
#include <math.h>
#include <models/bending_chain.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef struct {
  sunrealtype tolerance, end; /* time */
} Span;

static const int coordinates = 1000, constraints = 100;
static const Span dense_spans[]     = {{1.0e-4, 4.0}, {1.0e-6, 1.0}};
static const Span chain_span        = {1.0e-6, 10.0};
static const sunindextype lengths[] = {100, 300, 1000, 3000, 10000};
enum {
  NLENGTHS = sizeof lengths / sizeof lengths[0],
  NSPANS   = sizeof dense_spans / sizeof dense_spans[0]
};
static const double bound_dense  = 3.0;
static const double bound_sparse = 8.0;
static const double bound_flat   = 2.0;
static const double bound_steps  = 0.05;

typedef struct {
  long int steps, f, setups, jacobians;
  double seconds, less_f;
  N_Vector y; /* at the end */
} Run;

/* CVODES' user_data is the CPMech; the full Jacobian also needs this. */
static Coupled *coupled;
static BendingChain *chain;

/* ------------------------------------------------------------------------------------- a run -- */

/* Seconds of one evaluation of u' and lambda, as in f */
static double acceleration_seconds(CPMech mech, sunrealtype t, N_Vector y) {
  enum { TIMES = 5 };
  double *udot        = CHECK_POINTER(malloc((size_t)N_VGetLength(y) * sizeof *udot));
  const double before = seconds_now();
  for (int k = 0; k < TIMES; k++) CHECK(CPMechAccelerations(mech, t, y, udot, NULL));
  const double after = seconds_now();
  free(udot);
  return (after - before) / TIMES;
}

typedef struct {
  CPEquations model;
  void *user_data;
  N_Vector y0;
  Span span;
} Problem;

/* If jacobian is NULL, Newton is structured. */
static Run run(const Problem *p, CPMechMetric metric, CVLsJacFn jacobian, SUNContext ctx) {
  const sunindextype n = N_VGetLength(p->y0);
  SUNMatrix J          = NULL;
  SUNLinearSolver LS   = NULL;
  Run r                = {.y = CHECK_POINTER(N_VClone(p->y0))};
  sunrealtype t        = 0.0;
  CPMech mech          = create_mech(&p->model, p->y0, ctx);
  CPIntegrator mem     = CHECK_POINTER(CPIntegratorCreate("BDF", ctx));
  void *cvode_mem      = CPIntegratorGetCVodeMem(mem);
  CHECK(CPMechSetUserData(mech, p->user_data));
  CHECK(CPMechSetMetric(mech, metric));
  if (jacobian) CHECK(CPMechSetNewton(mech, CP_NEWTON_NONE));
  CHECK(CPMechAttach(mech, mem, 0.0, p->y0));
  CHECK(CPIntegratorSStolerances(mem, p->span.tolerance, p->span.tolerance));
  CHECK(CVodeSetMaxNumSteps(cvode_mem, 1000000));
  if (jacobian) {
    J  = CHECK_POINTER(SUNDenseMatrix(n, n, ctx));
    LS = CHECK_POINTER(lapack_dense(n, ctx));
    CHECK(CVodeSetLinearSolver(cvode_mem, LS, J));
    CHECK(CVodeSetJacFn(cvode_mem, jacobian));
  }
  const double before = seconds_now();
  CHECK(CPIntegratorEvolve(mem, p->span.end, r.y, &t, CV_NORMAL));
  r.seconds = seconds_now() - before;
  CHECK(CVodeGetNumSteps(cvode_mem, &r.steps));
  CHECK(CVodeGetNumRhsEvals(cvode_mem, &r.f));
  CHECK(CVodeGetNumLinSolvSetups(cvode_mem, &r.setups));
  CHECK(CVodeGetNumJacEvals(cvode_mem, &r.jacobians));
  r.less_f = r.seconds - (double)r.f * acceleration_seconds(mech, t, r.y);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  if (J) SUNMatDestroy(J);
  if (LS) SUNLinSolFree(LS);
  return r;
}

static void head(void) {
  printf("%-32s %7s %7s %8s %5s %10s %10s %12s\n", "", "steps", "f", "set-ups", "J", "seconds",
         "less f", "ms per step");
}

static void report(const Options *options, const char *name, const Run *r) {
  printf("%-32s %7ld %7ld %8ld %5ld %10.3f %10.3f %12.4f\n", name, r->steps, r->f, r->setups,
         r->jacobians, r->seconds, r->less_f, 1e3 * r->seconds / (double)r->steps);
  fflush(stdout);
  if (options->csv)
    fprintf(options->csv, "%s,%ld,%ld,%ld,%ld,%g,%g\n", name, r->steps, r->f, r->setups,
            r->jacobians, r->seconds, r->less_f);
}

/* The largest difference of the final states, in tolerances */
static double difference(const Run *a, const Run *b, sunrealtype tolerance) {
  double largest = 0.0;
  for (sunindextype i = 0; i < N_VGetLength(a->y); i++) {
    const double x = N_VGetArrayPointer(a->y)[i], y = N_VGetArrayPointer(b->y)[i];
    largest = fmax(largest, fabs(x - y) / (tolerance * (1.0 + fabs(x))));
  }
  return largest;
}

static void bound(const char *what, double value, const char *relation, double limit, bool holds) {
  printf("%-60s %8.3g  (%s %g)%s\n", what, value, relation, limit, holds ? "" : "  MISSED");
}

static void compare_steps(const char *what, const Run *structured, const Run *full,
                          sunrealtype tolerance) {
  const double steps = fabs((double)(full->steps - structured->steps)) / (double)structured->steps;
  char text[80];
  snprintf(text, sizeof text, "%s: difference of steps", what);
  bound(text, steps, "<=", bound_steps, steps <= bound_steps);
  printf("%-60s %8.3g\n", "largest difference of the ends, in tolerances",
         difference(structured, full, tolerance));
}

/* ------------------------------------------------------------------------------------- dense -- */

static int full_coupled(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *mech,
                        N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  sunrealtype *udot = N_VGetArrayPointer(tmp1), *lambda = N_VGetArrayPointer(tmp2);
  (void)fy, (void)tmp3;
  const int flag = CPMechAccelerations(mech, t, y, udot, lambda);
  return flag ? flag : coupled_jacobian(coupled, y, udot, lambda, J);
}

static void dense(const Options *options, Span span, SUNContext ctx) {
  coupled         = CHECK_POINTER(coupled_create(coordinates, constraints));
  const Problem p = {.model     = coupled_model(coupled),
                     .user_data = coupled,
                     .y0        = CHECK_POINTER(N_VNew_Serial(2 * coordinates, ctx)),
                     .span      = span};
  N_VConst(0.0, p.y0);
  printf("%d coupled coordinates, %d constraints, tolerance %g, t = 0 ... %g\n", coordinates,
         constraints, span.tolerance, span.end);
  head();
  const Run structured = run(&p, CP_METRIC_ERROR, NULL, ctx);
  report(options, "structured, dense LU", &structured);
  const Run other = run(&p, CP_METRIC_DEFAULT, NULL, ctx);
  report(options, "structured, default metric", &other);
  const Run full = run(&p, CP_METRIC_ERROR, full_coupled, ctx);
  report(options, "full, dense LU", &full);
  printf("%-60s %8.3g\n", "dense: whole run, full / structured", full.seconds / structured.seconds);
  bound("dense: less f, full / structured", full.less_f / structured.less_f, ">=", bound_dense,
        full.less_f >= bound_dense * structured.less_f);
  compare_steps("dense", &structured, &full, span.tolerance);
  N_VDestroy(structured.y);
  N_VDestroy(full.y);
  N_VDestroy(other.y);
  N_VDestroy(p.y0);
  coupled_free(&coupled);
}

/* ------------------------------------------------------------------------------------- chain -- */

static int full_chain(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *mech,
                      N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  (void)mech;
  return bending_chain_jacobian(t, y, fy, J, chain, tmp1, tmp2, tmp3);
}

/* given: with the chain's partial derivatives, otherwise by differences */
static Run run_chain(sunindextype n, bool given, CVLsJacFn jacobian, SUNContext ctx) {
  Problem p = {.span = chain_span};
  chain     = CHECK_POINTER(bending_chain_create(n, 9.81, 1e5, 1e4));
  CHECK(bending_chain_model(chain, 1, ctx, &p.model));
  if (!given) p.model.dynamics_jac = NULL, p.model.constraint_jac = NULL;
  p.user_data = chain;
  p.y0        = CHECK_POINTER(N_VNew_Serial(4 * n, ctx));
  bending_chain_initial(chain, 0.0, p.y0);
  const Run r = run(&p, CP_METRIC_KINETIC, jacobian, ctx);
  bending_chain_model_free(&p.model);
  N_VDestroy(p.y0);
  bending_chain_free(&chain);
  return r;
}

static void sparse(const Options *options, SUNContext ctx) {
  double least = INFINITY, most = 0.0;
  printf("chains that resist bending, tolerance %g, t = 0 ... %g\n", chain_span.tolerance,
         chain_span.end);
  head();
  for (size_t k = 0; k < NLENGTHS; k++) {
    char name[40];
    const Run r = run_chain(lengths[k], true, NULL, ctx);
    snprintf(name, sizeof name, "structured, KLU, N = %ld", (long)lengths[k]);
    report(options, name, &r);
    least = fmin(least, r.seconds / (double)(r.steps * lengths[k]));
    most  = fmax(most, r.seconds / (double)(r.steps * lengths[k]));
    N_VDestroy(r.y);
  }
  const Run differences = run_chain(lengths[NLENGTHS - 1], false, NULL, ctx);
  report(options, "the same by differences", &differences);
  const Run structured = run_chain(lengths[0], true, NULL, ctx);
  report(options, "structured, KLU, N = 100", &structured);
  const Run full = run_chain(lengths[0], true, full_chain, ctx);
  report(options, "full, dense LU, N = 100", &full);
  bound("chains: largest / least time per step and N", most / least, "<=", bound_flat,
        most <= bound_flat * least);
  bound("chain of 100: whole run, full / structured", full.seconds / structured.seconds,
        ">=", bound_sparse, full.seconds >= bound_sparse * structured.seconds);
  compare_steps("chain of 100", &structured, &full, chain_span.tolerance);
  N_VDestroy(differences.y);
  N_VDestroy(structured.y);
  N_VDestroy(full.y);
}

int main(int argc, char **argv) {
  Options options = options_parse(argc, argv, "structured Newton beside the full I - gamma J",
                                  "[dense] [sparse]", 1);
  SUNContext ctx  = check_context();
  for (int k = 0; k < NSPANS && options_select(&options, "dense"); k++)
    dense(&options, dense_spans[k], ctx);
  if (options_select(&options, "sparse")) sparse(&options, ctx);
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
