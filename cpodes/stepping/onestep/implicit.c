/* Diagonally implicit methods: error test, step control, life cycle. */
#include "implicit.h"

#include <math.h>

/* ---- judging an attempt ---- */

/* An attempt that its error rejects is not projected. */
int cpImplicitJudge(CPOneStepMem mem, N_Vector y) {
  const CPStepper s          = &mem->base;
  CPImplicit *st             = cpImplicit(mem);
  const ARKodeButcherTable B = mem->table;
  mem->have_err              = mem->hfixed == 0.0;
  if (!cpVectorFinite(y))
    return cpReason(s->text, -CP_RHS_NONFINITE, "at t = %.15g: the stages are not finite", s->t);
  st->error = 0.0;
  if (mem->have_err) {
    for (int i = 0; i < B->stages; i++) st->w[i] = B->b[i] - B->d[i];
    cpImplicitSum(mem, NULL, st->w, s->err); /* err = h sum (b_i - d_i) k_i */
    st->error = N_VWrmsNorm(s->err, s->ewt);
    if (isnan(st->error)) st->error = INFINITY; /* overflow */
  }
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
  int flag    = st->have_f1 ? CP_SUCCESS : cpOneStepRhs(mem, mem->base.t, mem->base.y, st->f1, 0);
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
  CPImplicit *st;
  mem->order    = mem->table->q;
  mem->embedded = mem->table->d ? mem->table->p : 0;
  mem->stages   = mem->table->stages;
  mem->own      = CP_NEW(&mem->memory, st, 1);
  return cpArenaStatus(&mem->memory);
}

static int init(CPOneStepMem mem) {
  CPImplicit *st  = cpImplicit(mem);
  CPArena *memory = &mem->base.memory;
  const int s     = mem->table->stages;
  *st             = (CPImplicit){.stiffly_accurate = isStifflyAccurate(mem->table),
                                 .solves_first     = mem->table->A[0][0] != 0.0};
  CP_NEW(memory, st->w, s);
  CP_NEW(memory, st->factor, s + 1);
  CP_NEW(memory, st->vector, s + 1);
  CP_NEW(memory, st->k, s);
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

const CPOneStepMethod cpImplicitMethod = {.implicit          = 1,
                                          .create            = create,
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
                                          .set_linear_solver = cpArkSetLinearSolver};
