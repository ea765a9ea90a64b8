/* Diagonally implicit methods: error test, step control, life cycle. */
#include "implicit.h"

#include <math.h>
#include <stdlib.h>

/* ---- judging an attempt ---- */

/* err <- h sum (b_i - d_i) k_i */
static void estimate(CPOneStepMem mem) {
  CPImplicit *st             = cpImplicit(mem);
  const ARKodeButcherTable B = mem->table;
  for (int i = 0; i < B->stages; i++) st->w[i] = B->b[i] - B->d[i];
  cpImplicitSum(mem, NULL, st->w, mem->err);
}

static sunrealtype norm(CPOneStepMem mem) {
  const sunrealtype size = N_VWrmsNorm(mem->err, mem->ewt);
  return isnan(size) ? INFINITY : size; /* overflow */
}

/* What is rejected is not projected. */
int cpImplicitJudge(CPOneStepMem mem, N_Vector y) {
  CPImplicit *st = cpImplicit(mem);
  mem->have_err  = mem->hfixed == 0.0;
  if (!cpVectorFinite(y))
    return cpReason(mem->text, -CP_RHS_NONFINITE, "at t = %.15g: the stages are not finite", mem->t);
  if (mem->have_err) estimate(mem);
  st->error = mem->have_err ? norm(mem) : 0.0;
  if (st->error > 1.0) return CP_SUCCESS;
  N_VScale(1.0, y, mem->ynew);
  const int flag = cpOneStepProject(mem, mem->tnew, mem->ynew);
  if (!flag) N_VScale(1.0, mem->ynew, y);
  return flag;
}

/* ---- step control ---- */

#define SAFETY 0.9
#define GROWTH 5.0
#define CUT    0.2

/* By the error alone: what is known of the errors before does not help (bench/implicit.c: predicting by
 * them takes 1.0 to 1.04 times the evaluations). */
static sunrealtype ratio(CPOneStepMem mem, sunrealtype error, int accepted) {
  const double order = fmin(mem->order, mem->embedded) + 1.0;
  (void)accepted;
  return fmin(fmax(SAFETY * pow(error, -1.0 / order), CUT), GROWTH);
}

static int begin(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  if (mem->h != 0.0 || mem->hfixed > 0.0) return CP_SUCCESS;
  int flag    = st->have_f1 ? CP_SUCCESS : cpOneStepRhs(mem, mem->t, mem->y, st->f1, 0);
  st->have_f1 = !flag;
  st->have_f0 = 0; /* it is workspace here */
  if (!flag) flag = cpInitialStep(mem, st->f1, st->f0, &mem->h);
  return flag > 0 ? -flag : flag;
}

static int attempt(CPOneStepMem mem, sunrealtype h, sunrealtype *error) {
  const int flag = cpArkAttempt(mem, h);
  *error         = cpImplicit(mem)->error;
  return flag;
}

static void accepted(CPOneStepMem mem) {
  cpContinuousAccept(mem);
  if (mem->tnew == mem->tlimit) cpImplicit(mem)->ready = 0; /* ARKODE's t may differ by roundoff */
}

/* ---- life cycle ---- */

static int isStifflyAccurate(ARKodeButcherTable B) {
  const int s = B->stages;
  for (int j = 0; j < s; j++)
    if (fabs(B->b[j] - B->A[s - 1][j]) > 100.0 * CP_UROUND) return 0;
  return 1;
}

static int create(CPOneStepMem mem) {
  mem->order    = mem->table->q;
  mem->embedded = mem->table->d ? mem->table->p : 0;
  mem->stages   = mem->table->stages;
  mem->stepper  = calloc(1, sizeof(CPImplicit));
  return mem->stepper ? CP_SUCCESS : CP_MEM_FAIL;
}

static int init(CPOneStepMem mem) {
  CPImplicit *st       = cpImplicit(mem);
  const size_t s       = (size_t)mem->table->stages;
  st->stiffly_accurate = isStifflyAccurate(mem->table);
  st->solves_first     = mem->table->A[0][0] != 0.0;
  if (!st->w) st->w = calloc(s, sizeof *st->w);
  if (!st->factor) st->factor = calloc(s + 1, sizeof *st->factor);
  if (!st->vector) st->vector = calloc(s + 1, sizeof *st->vector);
  if (!st->w || !st->factor || !st->vector) return CP_MEM_FAIL;
  const int flag = cpContinuousCreate(mem);
  return flag ? flag : cpArkCreate(mem);
}

static int start(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  st->have_f0 = st->have_f1 = st->have_last = 0;
  cpArkStart(mem);
  return CP_SUCCESS;
}

static void *arkodeMem(CPOneStepMem mem) { return cpImplicit(mem)->ark; }

static void freeImplicit(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  if (!st) return;
  cpArkFree(mem);
  cpContinuousFree(mem);
  free(st->w);
  free(st->factor);
  free(st->vector);
  free(st);
  mem->stepper = NULL;
}

const CPStepperOps cpImplicitOps = {.create            = create,
                                    .init              = init,
                                    .start             = start,
                                    .begin             = begin,
                                    .attempt           = attempt,
                                    .ratio             = ratio,
                                    .accepted          = accepted,
                                    .interpolate       = cpContinuousEvaluate,
                                    .degree            = cpContinuousDegree,
                                    .stats             = cpArkStats,
                                    .arkode_mem        = arkodeMem,
                                    .set_linear_solver = cpArkSetLinearSolver,
                                    .free              = freeImplicit,
                                    .implicit          = 1};
