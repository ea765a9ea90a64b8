#include "run.h"
#include "check.h"
#include "timing.h"
#include <math.h>
#include <models/counters.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_config.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

/* Far above any useful run: ends runs that progress too slowly */
static const long int step_limit = 1000000;

/* The objects of one integration */
typedef struct {
  void *cvode_mem;
  CPIntegrator mem; /* NULL unless cpodes projects */
  CPProjector P;
  CPMech mech;                  /* NULL unless a CPMech is projected */
  SUNNonlinearSolver nonlinear; /* if NULL, Newton, the default */
  SUNLinearSolver linear;
  SUNMatrix J, G;
  N_Vector y, c;
} Run;

static void quiet(int code, const char *function, const char *message, void *data) {
  (void)code;
  (void)function;
  (void)message;
  (void)data;
}

/* -------------------------------------------------------------------------------- setting up -- */

static CPProjector create_projector(Run *run, const Mechanism *s, const RunOptions *o,
                                    SUNContext ctx) {
  CPProjector P = CHECK_POINTER(CPProjectorCreate(s->model->c, run->y, run->c, ctx));
  CHECK(CPProjectorSetUserData(P, s->model->data));
  if (!o->difference_G) {
    run->G = CHECK_POINTER(SUNDenseMatrix(s->model->m, s->model->n, ctx));
    CHECK(CPProjectorSetJacFn(P, s->G, run->G));
  }
  if (o->coupled) {
    int *zeros = CHECK_POINTER(calloc((size_t)(s->model->m + s->model->n), sizeof *zeros));
    CHECK(CPProjectorSetLevels(P, zeros, zeros + s->model->m));
    free(zeros);
  }
  CHECK(CPProjectorSetLinearSolver(P, o->linsol));
  CHECK(CPProjectorSetNorm(P, o->norm, NULL, NULL));
  CHECK(CPProjectorSetEps(P, o->eps));
  return P;
}

static void create_cpodes(Run *run, const Mechanism *s, const RunOptions *o, SUNContext ctx) {
  run->mem       = CHECK_POINTER(CPIntegratorCreate(o->lmm == CV_BDF ? "BDF" : "ADAMS", ctx));
  run->cvode_mem = CPIntegratorGetCVodeMem(run->mem);
  CHECK(CPIntegratorInit(run->mem, s->model->f, 0.0, s->model->y0));
  CHECK(CPIntegratorSStolerances(run->mem, o->tol, o->tol));
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(run->mem), quiet, NULL));
  run->P = create_projector(run, s, o, ctx);
  CHECK(CPIntegratorSetProjector(run->mem, run->P));
  CHECK(CPIntegratorSetErrEst(run->mem, o->err_est));
  CHECK(CPIntegratorSetMaxCorrection(run->mem, o->max_correction));
  CHECK(CPIntegratorSetProjFrequency(run->mem, o->proj_frequency, o->test_constraint));
  if (run->nonlinear) CHECK(CPIntegratorSetNonlinearSolver(run->mem, run->nonlinear));
}

static void create_mechanics(Run *run, const Mechanism *s, const RunOptions *o, SUNContext ctx) {
  run->mem       = CHECK_POINTER(CPIntegratorCreate(o->lmm == CV_BDF ? "BDF" : "ADAMS", ctx));
  run->cvode_mem = CPIntegratorGetCVodeMem(run->mem);
  run->mech      = CHECK_POINTER(CPPluginMech(s->model));
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(run->mech), quiet, NULL));
  CHECK(CPMechSetMetric(run->mech, o->metric));
  if (o->lmm == CV_ADAMS && o->newton) CHECK(CPMechSetNewton(run->mech, CP_NEWTON_KKT));
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(run->mem), quiet, NULL));
  CHECK(CPMechAttach(run->mech, run->mem, 0.0, s->model->y0));
  CHECK(CPIntegratorSStolerances(run->mem, o->tol, o->tol));
  CHECK(CPIntegratorSetErrEst(run->mem, o->err_est));
  if (run->nonlinear) CHECK(CPIntegratorSetNonlinearSolver(run->mem, run->nonlinear));
}

/* The settings of CPIntegratorCreate (guide, "Defaults"): only the projection shall differ. */
static void set_as_cpodes(void *cvode_mem, int lmm) {
  CHECK(CVodeSetEtaFixedStepBounds(cvode_mem, 0.0, lmm == CV_ADAMS ? 1.25 : 1.3));
  CHECK(CVodeSetLSetupFrequency(cvode_mem, 60));
}

static void create_cvodes(Run *run, const Mechanism *s, const RunOptions *o, SUNContext ctx) {
  run->cvode_mem = CHECK_POINTER(CVodeCreate(o->lmm, ctx));
  set_as_cpodes(run->cvode_mem, o->lmm);
  CHECK(CVodeInit(run->cvode_mem, s->model->f, 0.0, s->model->y0));
  CHECK(CVodeSStolerances(run->cvode_mem, o->tol, o->tol));
  if (run->nonlinear) CHECK(CVodeSetNonlinearSolver(run->cvode_mem, run->nonlinear));
  if (o->by == BY_HOOK) {
    CHECK(chain_attach(s->chain, run->cvode_mem, run->y));
    CHECK(CVodeSetProjFn(run->cvode_mem, chain_cvode_projection));
    if (o->hook_eps > 0.0) CHECK(CVodeSetEpsProj(run->cvode_mem, o->hook_eps));
  }
}

/* This library judges the iteration only of SUNDIALS' Newton solver. */
static int foreign_newton(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt,
                          sunrealtype tol, sunbooleantype callLSetup, void *mem) {
  return SUNNonlinSolSolve_Newton(NLS, y0, ycor, ewt, tol, callLSetup, mem);
}

static Run run_create(const Mechanism *s, const RunOptions *o, SUNContext ctx) {
  Run run = {.y = CHECK_POINTER(N_VClone(s->model->y0))};
  run.c   = CHECK_POINTER(N_VNew_Serial(s->model->m, ctx));
  N_VScale(1.0, s->model->y0, run.y);
  if (o->lmm == CV_ADAMS && !o->newton)
    run.nonlinear = CHECK_POINTER(SUNNonlinSol_FixedPoint(run.y, o->anderson, ctx));

  if (o->cvodes_test) {
    run.nonlinear             = CHECK_POINTER(SUNNonlinSol_Newton(run.y, ctx));
    run.nonlinear->ops->solve = foreign_newton;
  }

  if (o->by == BY_CPODES) create_cpodes(&run, s, o, ctx);
  else if (o->by == BY_MECHANICS) create_mechanics(&run, s, o, ctx);
  else create_cvodes(&run, s, o, ctx);

  if (o->by != BY_MECHANICS && (!run.nonlinear || o->cvodes_test)) {
    run.J      = CHECK_POINTER(SUNDenseMatrix(s->model->n, s->model->n, ctx));
    run.linear = CHECK_POINTER(SUNLinSol_Dense(run.y, run.J, ctx));
    CHECK(CVodeSetLinearSolver(run.cvode_mem, run.linear, run.J));
  }
  if (!run.mech) CHECK(CVodeSetUserData(run.cvode_mem, s->model->data));
  CHECK(CVodeSetMaxNumSteps(run.cvode_mem, step_limit));
  CHECK(CVodeSetStopTime(run.cvode_mem, s->t_end)); /* the end is a step, not an interpolation */
  if (o->set) CHECK(o->set(run.mem, o->value));
  return run;
}

static void run_free(Run *run) {
  if (run->mem) CPIntegratorFree(&run->mem);
  else CVodeFree(&run->cvode_mem);
  CPMechFree(&run->mech);
  CPProjectorFree(&run->P);
  if (run->nonlinear) SUNNonlinSolFree(run->nonlinear);
  if (run->linear) SUNLinSolFree(run->linear);
  if (run->J) SUNMatDestroy(run->J);
  if (run->G) SUNMatDestroy(run->G);
  N_VDestroy(run->c);
  N_VDestroy(run->y);
}

/* ------------------------------------------------------------------------------- integrating -- */

static int advance(Run *run, sunrealtype t_end, sunrealtype *t, int itask) {
  if (run->mem) return CPIntegratorEvolve(run->mem, t_end, run->y, t, itask);
  return CVode(run->cvode_mem, t_end, run->y, t, itask);
}

static void count_correction(Figures *figures, sunrealtype correction) {
  int decade        = 0;
  sunrealtype limit = 1.0e-2;
  for (; decade < CORRECTION_DECADES - 1 && correction > limit; decade++) limit *= 10.0;
  figures->corrections[decade]++;
}

static void observe_step(Run *run, const Mechanism *s, sunrealtype t, Figures *figures) {
  int order;
  CHECK(CVodeGetLastOrder(run->cvode_mem, &order));
  figures->order_steps[order]++;
  CHECK(s->model->c(t, run->y, run->c, s->model->data));
  figures->violation = fmax(figures->violation, N_VMaxNorm(run->c));
  if (!run->mem) return;
  long int before = figures->proj.nproj;
  CHECK(integrator_counters(run->mem, &figures->proj));
  if (figures->proj.nproj > before) count_correction(figures, figures->proj.correction);
}

static int march_observed(Run *run, const Mechanism *s, Figures *figures) {
  sunrealtype t = 0.0;
  for (long int step = 0; step < step_limit && t < s->t_end; step++) {
    int flag = advance(run, s->t_end, &t, CV_ONE_STEP);
    if (flag < 0) return flag;
    observe_step(run, s, t, figures);
  }
  return t < s->t_end ? CV_TOO_MUCH_WORK : 0;
}

static int march_timed(Run *run, const Mechanism *s, Figures *figures) {
  sunrealtype t    = 0.0;
  double start     = seconds_now();
  int flag         = advance(run, s->t_end, &t, CV_NORMAL);
  figures->seconds = seconds_now() - start;
  return flag;
}

/* Evaluations of f, including those for partial derivatives */
static long int forces(CPMech mech) {
  MechCounters stats;
  CHECK(mech_counters(mech, &stats));
  return stats.nf;
}

static void collect(Run *run, const Mechanism *s, const RunOptions *o, Figures *figures) {
  long int rhs, difference_rhs = 0, error_fails, solve_fails, projection_fails = 0;
  CHECK(CVodeGetNumSteps(run->cvode_mem, &figures->steps));
  CHECK(CVodeGetNumRhsEvals(run->cvode_mem, &rhs));
  CHECK(CVodeGetNumErrTestFails(run->cvode_mem, &error_fails));
  CHECK(CVodeGetNumStepSolveFails(run->cvode_mem, &solve_fails));
  CHECK(CVodeGetNumLinSolvSetups(run->cvode_mem, &figures->setups));
  if (run->linear) CHECK(CVodeGetNumLinRhsEvals(run->cvode_mem, &difference_rhs));
  if (o->by == BY_HOOK) CHECK(CVodeGetNumProjFails(run->cvode_mem, &projection_fails));
  if (run->mem) CHECK(integrator_counters(run->mem, &figures->proj));
  if (run->mem && figures->flag < 0)
    snprintf(figures->message, sizeof figures->message, "%s",
             CPObjectGetLastMessage(CP_OBJECT(run->mem)));
  figures->rhs            = run->mech ? forces(run->mech) : rhs + difference_rhs;
  figures->rejected       = error_fails + solve_fails + projection_fails;
  figures->error          = mechanism_error(s, run->y);
  figures->position_error = mechanism_position_error(s, run->y);
}

Figures run_observed(Mechanism *mechanism, const RunOptions *options, SUNContext ctx) {
  Figures figures = {0};
  Run run         = run_create(mechanism, options, ctx);
  figures.flag    = march_observed(&run, mechanism, &figures);
  collect(&run, mechanism, options, &figures);
  run_free(&run);
  return figures;
}

Figures run_to_end(Mechanism *mechanism, const RunOptions *options, N_Vector y, SUNContext ctx) {
  Figures figures = {0};
  Run run         = run_create(mechanism, options, ctx);
  figures.flag    = march_timed(&run, mechanism, &figures);
  collect(&run, mechanism, options, &figures);
  if (y) N_VScale(1.0, run.y, y);
  run_free(&run);
  return figures;
}

Figures run_timed(Mechanism *mechanism, const RunOptions *options, SUNContext ctx) {
  return run_to_end(mechanism, options, NULL, ctx);
}

/* --------------------------------------------------------------------------------- reporting -- */

int highest_order(const Figures *figures) {
  int order = MAX_ORDER;
  while (order > 0 && !figures->order_steps[order]) order--;
  return order;
}

double share_above_order(const Figures *figures, int order) {
  long int above = 0, all = 0;
  for (int q = 0; q <= MAX_ORDER; q++) {
    all += figures->order_steps[q];
    if (q > order) above += figures->order_steps[q];
  }
  return all ? (double)above / (double)all : 0.0;
}

const char *method_name(int lmm) { return lmm == CV_BDF ? "BDF" : "Adams"; }

void mean_add(GeometricMean *mean, double value) {
  mean->sum_of_logs += log(value);
  mean->count++;
}

double mean_value(const GeometricMean *mean) { return exp(mean->sum_of_logs / mean->count); }

Ladder run_ladder(Mechanism *mechanism, RunOptions options, const char *program,
                  const char *variant, FILE *csv,
                  void (*print)(sunrealtype tol, const Figures *figures), SUNContext ctx) {
  enum { RUNGS = 9 };
  const sunrealtype middle = options.tol;
  Ladder ladder            = {0};
  for (int i = 0; i < RUNGS; i++) {
    options.tol     = middle * 0.8 * pow(1.25 / 0.8, (double)i / (RUNGS - 1));
    const Figures f = (print ? run_observed : run_timed)(mechanism, &options, ctx);
    csv_run(csv, program, variant, mechanism, &options, &f);
    if (print) print(options.tol, &f);
    if (f.flag < 0) {
      ladder.failed++;
      continue;
    }
    mean_add(&ladder.steps, (double)f.steps);
    mean_add(&ladder.rhs, (double)f.rhs);
    mean_add(&ladder.error, (double)f.error);
    mean_add(&ladder.position_error, (double)f.position_error);
    if (f.steps > ladder.most_steps) ladder.most_steps = f.steps;
    ladder.largest_error = fmax(ladder.largest_error, f.error);
  }
  return ladder;
}

void csv_header(FILE *csv) {
  if (!csv) return;
  fprintf(csv, "program,variant,mechanism,method,tolerance,flag,steps,rhs,setups,rejected,order,"
               "above_order_6,error,violation,projections,skipped,error_projections,failed,"
               "large_corrections,c,G,factorisations,corrections,largest_correction,seconds\n");
}

void csv_run(FILE *csv, const char *program, const char *variant, const Mechanism *mechanism,
             const RunOptions *options, const Figures *f) {
  if (!csv) return;
  const IntegratorCounters *p = &f->proj;
  fprintf(csv, "%s,%s,%s,%s,%.6e,%d,%ld,%ld,%ld,%ld,%d,%.4f,%.6e,%.6e,", program, variant,
          mechanism->name, method_name(options->lmm), (double)options->tol, f->flag, f->steps,
          f->rhs, f->setups, f->rejected, highest_order(f), share_above_order(f, 6),
          (double)f->error, (double)f->violation);
  fprintf(csv, "%ld,%ld,%ld,%ld,%ld,%ld,%ld,%ld,%ld,%.6e,%.9f\n", p->nproj, p->nskipped,
          p->nerrproj, p->nprojfails, p->nlargecorr, p->nce, p->nje, p->nsetups, p->niters,
          (double)p->maxcorrection, f->seconds);
}
