/* The metrics of mechanical systems' projections on ladders of close tolerances: steps, evaluations of f and
 * errors at the end, relative to those of CP_METRIC_ERROR.
 *
 * Each ladder has nine tolerances from 0.8 to 1.25 times its middle, in equal ratios; what is printed are
 * geometric means over it. The default metric is chosen by these figures (cpodes/mechanics/projection/space.c).
 * The bushing crank is stiff along the normals of its constraints: there is no ladder for Adams.
 *
 * Bound: the bushing crank at 1e-8 takes fewer steps with NEWTON than without projection.
 */
#include "check.h"
#include "options.h"
#include "run.h"
#include <math.h>
#include <models/andrews.h>
#include <models/bushing_crank.h>
#include <nvector/nvector_serial.h>
#include <string.h>

enum { RUNGS = 9, VARIANTS = 5 };

static const sunrealtype middles[] = {1.0e-6, 1.0e-8, 1.0e-10};
enum { MIDDLES = sizeof middles / sizeof middles[0] };
static const long int step_limit = 1000000;

/* What is projected; a mechanism of mechanisms.h, or one that has start and reference only */
typedef struct {
  Mechanism *m;
  CPMechModel model;
  sunindextype compared; /* components of the state that have a reference */
  bool stiff;            /* BDF only, and also without projection */
} Problem;

typedef struct {
  const char *name;
  CPMechMetric metric;
  bool projected;
} Variant;

static const Variant variants[VARIANTS] = {{"ERROR", CP_METRIC_ERROR, true},
                                           {"KINETIC", CP_METRIC_KINETIC, true},
                                           {"NEWTON", CP_METRIC_NEWTON, true},
                                           {"L2", CP_METRIC_L2, true},
                                           {"none", CP_METRIC_ERROR, false}};

/* ---------------------------------------------------------------------------------- problems -- */

static Mechanism *new_mechanism(const char *name, sunindextype n, sunrealtype t_end, SUNContext ctx) {
  Mechanism *m = CHECK_POINTER(calloc(1, sizeof *m));
  m->name      = name;
  m->n         = n;
  m->t_end     = t_end;
  m->y0        = CHECK_POINTER(N_VNew_Serial(n, ctx));
  m->y_end     = CHECK_POINTER(N_VNew_Serial(n, ctx));
  return m;
}

/* Reference at t = 0.03, positions: extrapolation method of order 20 in quadruple precision, projected after every
   step; 480 and 960 steps agree in all digits, the published ones (Test Set for IVP Solvers) in nine. */
static Problem andrews(SUNContext ctx) {
  static const sunrealtype end[ANDREWS_NQ] = {1.5810771195153707e+01, -1.5756371058411839e+01,
                                              4.0822240119645805e-02, -5.3473011634207959e-01,
                                              5.2440996587995407e-01, 5.3473011634207959e-01,
                                              1.0480807410419379e+00};
  Problem p = {.m        = new_mechanism("andrews", 2 * ANDREWS_NQ, 0.03, ctx),
               .model    = andrews_model(),
               .compared = ANDREWS_NQ};
  andrews_initial(p.m->y0);
  memcpy(N_VGetArrayPointer(p.m->y_end), end, sizeof end);
  return p;
}

static Figures integrate(const Problem *p, const Variant *variant, const RunOptions *o, N_Vector y,
                         SUNContext ctx);

/* Reference: this library's, with a tolerance 100 times below the least of the ladders */
static Problem bushing_crank(SUNContext ctx) {
  static BushingCrank crank;
  crank     = bushing_crank_stiff();
  Problem p = {.m        = new_mechanism("bushing_crank", 2 * BUSHING_CRANK_NQ, 20.0, ctx),
               .model    = bushing_crank_model(),
               .compared = BUSHING_CRANK_NQ,
               .stiff    = true};
  p.m->data = &crank;
  bushing_crank_initial(&crank, p.m->y0);
  const RunOptions tight = {.lmm = CV_BDF, .tol = 1.0e-12};
  N_Vector y             = CHECK_POINTER(N_VClone(p.m->y0));
  CHECK(integrate(&p, &variants[2], &tight, y, ctx).flag < 0);
  N_VScale(1.0, y, p.m->y_end);
  N_VDestroy(y);
  return p;
}

static Problem known(const char *name, CPMechModel model, SUNContext ctx) {
  Problem p  = {.m = mechanism_create(name, ctx), .model = model};
  p.compared = p.m->n / 2;
  return p;
}

static Problem pendulum(SUNContext ctx) { return known("pendulum", pendulum_model(), ctx); }
static Problem slider_crank(SUNContext ctx) {
  return known("slider_crank", slider_crank_model(), ctx);
}
static Problem car_axis(SUNContext ctx) { return known("car_axis", car_axis_model(), ctx); }

static const struct {
  const char *name;
  Problem (*create)(SUNContext ctx);
} catalogue[] = {{"pendulum", pendulum},
                 {"slider_crank", slider_crank},
                 {"car_axis", car_axis},
                 {"andrews", andrews},
                 {"bushing_crank", bushing_crank}};

/* --------------------------------------------------------------------------------- one run -- */

static void quiet(int code, const char *function, const char *message, void *data) {
  (void)code, (void)function, (void)message, (void)data;
}

static void collect(CPodeMem mem, Figures *f) {
  void *cvode_mem = CPodeGetCVodeMem(mem);
  long int error_fails, solve_fails;
  CHECK(CVodeGetNumSteps(cvode_mem, &f->steps));
  CHECK(CVodeGetNumRhsEvals(cvode_mem, &f->rhs));
  CHECK(CVodeGetNumErrTestFails(cvode_mem, &error_fails));
  CHECK(CVodeGetNumStepSolveFails(cvode_mem, &solve_fails));
  CHECK(CVodeGetNumLinSolvSetups(cvode_mem, &f->setups));
  f->rejected = error_fails + solve_fails;
  snprintf(f->message, sizeof f->message, "%s", f->flag < 0 ? CPodeGetLastMessage(mem) : "");
}

static CPodeMem attach(CPMech mech, const Problem *p, const Variant *variant, const RunOptions *o,
                       SUNContext ctx) {
  CPodeMem mem = CHECK_POINTER(CPodeCreate(o->lmm, ctx));
  CHECK(CPodeSetErrHandlerFn(mem, quiet, NULL));
  CHECK(CPMechAttach(mech, mem, 0.0, p->m->y0));
  CHECK(CPodeSStolerances(mem, o->tol, o->tol));
  if (!variant->projected) CHECK(CPodeSetProjector(mem, NULL));
  CHECK(CVodeSetMaxNumSteps(CPodeGetCVodeMem(mem), step_limit));
  CHECK(CVodeSetStopTime(CPodeGetCVodeMem(mem), p->m->t_end)); /* a step, not an interpolation */
  return mem;
}

/* y: out, the end */
static Figures integrate(const Problem *p, const Variant *variant, const RunOptions *o, N_Vector y,
                         SUNContext ctx) {
  Figures f   = {0};
  CPMech mech = CHECK_POINTER(CPMechCreate(&p->model, p->m->y0, ctx));
  sunrealtype t;
  CHECK(CPMechSetUserData(mech, p->m->data));
  CHECK(CPMechSetErrHandlerFn(mech, quiet, NULL));
  CHECK(CPMechSetMetric(mech, variant->metric));
  CPodeMem mem = attach(mech, p, variant, o, ctx);
  f.flag       = CPode(mem, p->m->t_end, y, &t, CV_NORMAL);
  collect(mem, &f);
  for (sunindextype i = 0; i < p->compared; i++)
    f.error = fmax(f.error, fabs(N_VGetArrayPointer(y)[i] - N_VGetArrayPointer(p->m->y_end)[i]));
  CPodeFree(&mem);
  CPMechFree(&mech);
  return f;
}

/* ---------------------------------------------------------------------------------- ladders -- */

typedef struct {
  GeometricMean steps, rhs, error;
  int failed;
} Summary;

static sunrealtype rung(sunrealtype middle, int i) {
  return middle * 0.8 * pow(1.25 / 0.8, (double)i / (RUNGS - 1));
}

static Summary climb(const Problem *p, const Variant *variant, int lmm, sunrealtype middle,
                     FILE *csv, SUNContext ctx) {
  Summary s  = {0};
  N_Vector y = CHECK_POINTER(N_VClone(p->m->y0));
  for (int i = 0; i < RUNGS; i++) {
    const RunOptions o = {.lmm = lmm, .tol = rung(middle, i)};
    const Figures f    = integrate(p, variant, &o, y, ctx);
    csv_run(csv, "metrics", variant->name, p->m, &o, &f);
    if (f.flag < 0) {
      s.failed++;
      continue;
    }
    mean_add(&s.steps, (double)f.steps);
    mean_add(&s.rhs, (double)f.rhs);
    mean_add(&s.error, (double)f.error);
  }
  N_VDestroy(y);
  return s;
}

/* Ratios to ERROR over all ladders of a method on mechanisms that are not stiff along normals */
typedef struct {
  GeometricMean mean;
  double least, largest;
} Range;

static void range_add(Range *range, double ratio) {
  if (range->mean.count == 0) range->least = range->largest = ratio;
  range->least   = fmin(range->least, ratio);
  range->largest = fmax(range->largest, ratio);
  mean_add(&range->mean, ratio);
}

static bool applies(const Problem *p, const Variant *variant, int lmm) {
  if (!variant->projected) return p->stiff;
  return variant->metric != CP_METRIC_NEWTON || lmm == CV_BDF; /* Adams has no Newton matrix */
}

/* steps, errors [VARIANTS]: ratios are added */
static void print_ladder(const Problem *p, int lmm, sunrealtype middle, Range *steps, Range *errors,
                         FILE *csv, SUNContext ctx) {
  Summary base = {0};
  printf("%s, %s, tol about %.0e\n", p->m->name, method_name(lmm), (double)middle);
  for (int k = 0; k < VARIANTS; k++) {
    if (!applies(p, &variants[k], lmm)) continue;
    const Summary s = climb(p, &variants[k], lmm, middle, csv, ctx);
    if (k == 0) base = s;
    const double fewer = mean_value(&s.steps) / mean_value(&base.steps);
    const double worse = mean_value(&s.error) / mean_value(&base.error);
    printf("  %-8s %9.1f %9.1f %9.2e   %6.3f %6.3f %8.3f", variants[k].name, mean_value(&s.steps),
           mean_value(&s.rhs), mean_value(&s.error), fewer,
           mean_value(&s.rhs) / mean_value(&base.rhs), worse);
    if (s.failed > 0) printf("   %d runs failed", s.failed);
    printf("\n");
    if (p->stiff) continue;
    range_add(&steps[k], fewer);
    range_add(&errors[k], worse);
  }
}

static void print_ranges(int lmm, const Range *steps, const Range *errors) {
  for (int k = 1; k < VARIANTS; k++)
    if (steps[k].mean.count > 0)
      printf("%s, %s: relative to ERROR steps %.3f in the mean, %.3f to %.3f; errors %.2f, %.2f to "
             "%.2f\n",
             method_name(lmm), variants[k].name, mean_value(&steps[k].mean), steps[k].least,
             steps[k].largest, mean_value(&errors[k].mean), errors[k].least, errors[k].largest);
}

static void print_bound(const Problem *p, SUNContext ctx) {
  const RunOptions o  = {.lmm = CV_BDF, .tol = 1.0e-8};
  N_Vector y          = CHECK_POINTER(N_VClone(p->m->y0));
  const Figures with  = integrate(p, &variants[2], &o, y, ctx);
  const Figures none  = integrate(p, &variants[4], &o, y, ctx);
  const Figures plain = integrate(p, &variants[0], &o, y, ctx);
  printf(
      "%s, BDF, tol 1e-8: %ld steps with NEWTON, %ld without projection (ERROR: %ld): bound %s\n",
      p->m->name, with.steps, none.steps, plain.steps,
      with.flag >= 0 && with.steps < none.steps ? "kept" : "EXCEEDED");
  N_VDestroy(y);
}

int main(int argc, char **argv) {
  Options options =
      options_parse(argc, argv, "Metrics of mechanical systems' projections", "[MECHANISM...]", 0);
  SUNContext ctx           = context_create();
  Range steps[2][VARIANTS] = {0}, errors[2][VARIANTS] = {0};
  csv_header(options.csv);
  printf("  %-8s %9s %9s %9s   relative to ERROR\n", "metric", "steps", "f evals", "error");
  for (size_t i = 0; i < sizeof catalogue / sizeof catalogue[0]; i++) {
    if (!options_select(&options, catalogue[i].name)) continue;
    Problem p = catalogue[i].create(ctx);
    for (int adams = 0; adams < (p.stiff ? 1 : 2); adams++)
      for (int k = 0; k < MIDDLES; k++)
        print_ladder(&p, adams ? CV_ADAMS : CV_BDF, middles[k], steps[adams], errors[adams],
                     options.csv, ctx);
    if (p.stiff) print_bound(&p, ctx);
    mechanism_free(&p.m);
  }
  print_ranges(CV_BDF, steps[0], errors[0]);
  print_ranges(CV_ADAMS, steps[1], errors[1]);
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
