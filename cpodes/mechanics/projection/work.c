/* The workspace of a mechanical system's projector, and its options. */
#include "projection.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>

/* ---- workspace ---- */

void cpMechFreeOwn(void *self) {
  CPWork work  = self;
  CPMechWork w = work->own;
  if (!w) return;
  for (int which = 0; which < 2; which++) { cpWorkFree(&w->level[which]); }
  if (w->x) N_VDestroy(w->x);
  if (w->weights) N_VDestroy(w->weights);
  if (w->vector) N_VDestroy(w->vector);
  for (int which = 0; which < 2; which++)
    if (w->rows[which]) N_VDestroy(w->rows[which]);
  free(w->q); /* the arrays are one */
  free(w);
  work->own = NULL;
}

int cpMechIterations(void *self, CPNewton *list[2]) {
  const CPMechWork w = cpMechOwn(self);
  int count          = 0;
  for (int which = 0; w && which < 2; which++)
    if (w->level[which]) list[count++] = &w->level[which]->newton;
  return count;
}

static int allocateArrays(CPMech mech, CPMechWork w) {
  const size_t nq = (size_t)mech->nq, nu = (size_t)mech->nu, m = (size_t)mech->m;
  w->q = calloc(3 * nq + (size_t)mech->n + nu + 4 * m, sizeof *w->q);
  if (!w->q) return CP_MEM_FAIL;
  w->e     = w->q + nq;
  w->w     = w->e + mech->n;
  w->moved = w->w + nu;
  w->d     = w->moved + nq;
  w->plus  = w->d + nq;
  w->minus = w->plus + m;
  w->r     = w->minus + m;
  w->mu    = w->r + m;
  return CP_SUCCESS;
}

static int createWork(CPWork work) {
  const CPMech mech   = work->P->model;
  const CPMechSpace s = mech->space;
  CPMechWork w        = calloc(1, sizeof *w);
  work->own           = w;
  if (!w) return CP_MEM_FAIL;
  w->nnewton = -1;
  w->sine    = 1.0;
  w->x       = N_VNew_Serial(mech->nu, mech->ctx);
  w->weights = N_VNew_Serial(mech->nu, mech->ctx);
  int flag   = w->x && w->weights ? allocateArrays(mech, w) : CP_MEM_FAIL;
  if (!flag && !(w->vector = N_VMake_Serial(mech->nu, w->w, mech->ctx))) flag = CP_MEM_FAIL;
  for (int which = 0; !flag && which < 2; which++) {
    const CPMechLevel *level = &s->level[which];
    if (level->nrows == 0) continue;
    w->rows[which] = N_VMake_Serial(level->nrows, w->r, mech->ctx);
    flag           = w->rows[which] ? cpWorkCreate(&w->level[which], level->P) : CP_MEM_FAIL;
  }
  return flag;
}

/* ---- options ---- */

/* Those of the outer projector that the inner ones share. */
static void passOptions(CPProjector P, CPProjector inner) {
  inner->eps      = P->eps;
  inner->maxiters = P->maxiters;
  inner->jacfreq  = P->jacfreq;
  if (inner->linsol != P->linsol) CPProjectorSetLinearSolver(inner, P->linsol);
}

/* Newton's matrix may have changed: with it the metric, and this work's factors. */
static void renewMetric(CPWork work) {
  const CPMech mech   = work->P->model;
  const CPMechSpace s = mech->space;
  const long int now  = mech->stats.nnewton;
  if (s->metric != CP_METRIC_NEWTON || cpMechOwn(work)->nnewton == now) return;
  if (s->nnewton != now) s->use_mass = 0;
  s->nnewton = cpMechOwn(work)->nnewton = now;
  for (int which = 0; which < 2; which++)
    if (cpMechOwn(work)->level[which]) cpMechOwn(work)->level[which]->newton.valid = 0;
}

/* Ratio by which the narrowest angle of A may change while factors are kept. */
#define ANGLE_CHANGES 2.0

/* Kept factors are as good as the distance and the rate of convergence tell but for directions in which constraints hardly
 * ask for anything, next to a singular position: there the angles tell. */
static void renewAngles(CPWork work) {
  const CPMech mech  = work->P->model;
  const CPMechWork w = cpMechOwn(work);
  const double sine  = mech->operators ? 1.0 : mech->kkt->sine;
  if (sine < ANGLE_CHANGES * w->sine && w->sine < ANGLE_CHANGES * sine) return;
  w->sine = sine;
  for (int which = 0; which < 2; which++)
    if (w->level[which]) w->level[which]->newton.valid = 0;
}

int cpMechProjectionUpdate(CPWork work) {
  CPProjector P     = work->P;
  const CPMech mech = P->model;
  int flag          = mech->ready ? CP_SUCCESS : cpMechSetUp(mech, "CPMech");
  if (flag) return cpReason(work->text, flag, "%s", mech->log.text);
  if (!work->own && (flag = createWork(work))) {
    cpMechFreeOwn(work);
    return cpReason(work->text, flag, "no memory for a projection");
  }
  flag = cpMechSpaceRows(mech);
  if (flag) return cpReason(work->text, flag, "the rows of constraints cannot be switched");
  renewMetric(work);
  renewAngles(work);
  if (work->contents != P->contents) work->contents = P->contents, work->forget = 1; /* user data */
  for (int which = 0; which < 2; which++) {
    if (!mech->space->level[which].P) continue;
    passOptions(P, mech->space->level[which].P);
    cpMechOwn(work)->level[which]->newton.uses = mech->space->shared ? 2 : 1;
    if (work->forget) cpMechOwn(work)->level[which]->newton.valid = 0;
  }
  work->forget = 0;
  return CP_SUCCESS;
}
