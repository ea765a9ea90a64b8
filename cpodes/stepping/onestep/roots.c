/* Roots of g along the solution: changes of sign between the ends of a step, located by the Illinois
 * variant of the regula falsi (M. Dowell, P. Jarratt, BIT 11 (1971) 168-174), the first of them where
 * there are several. States in between are interpolated and projected. */
#include "onestep_impl.h"

#include "cpodes/base/random.h"

#include <math.h>
#include <stdlib.h>

/* Where g_i is zero at a start but for errors, its sign is that after it has left zero. It is looked for from
 * so many roundoffs of t on, then after ten times that, and so on. */
#define SOON  1.0e3
#define LATER 10.0
/* By so many times what errors of the state make of g_i is that zero. */
#define MARGIN 10.0
/* Secants take less than that; then every second step is a bisection (jumps, multiple roots). */
#define SECANTS        8
#define MAX_ITERATIONS 200

/* ---- options ---- */

static void freeValues(CPRoots *r) {
  free(r->direction);
  free(r->found);
  free(r->at_zero);
  free(r->zero);
  free(r->noise);
  free(r->lo);
  free(r->hi);
  free(r->mid);
}

static void freeVectors(CPRoots *r) {
  if (r->y) N_VDestroy(r->y);
  if (r->trial) N_VDestroy(r->trial);
}

void cpRootsFree(CPRoots *roots) {
  freeValues(roots);
  freeVectors(roots);
}

static int allocateValues(CPRoots *r, int n) {
  const size_t count = (size_t)n;
  r->direction       = calloc(count, sizeof *r->direction);
  r->found           = calloc(count, sizeof *r->found);
  r->at_zero         = calloc(count, sizeof *r->at_zero);
  r->zero            = calloc(count, sizeof *r->zero);
  r->noise           = calloc(count, sizeof *r->noise);
  r->lo              = calloc(count, sizeof *r->lo);
  r->hi              = calloc(count, sizeof *r->hi);
  r->mid             = calloc(count, sizeof *r->mid);
  return r->direction && r->found && r->at_zero && r->zero && r->noise && r->lo && r->hi && r->mid
             ? CP_SUCCESS
             : CP_MEM_FAIL;
}

int CPOneStepRootInit(CPOneStepMem mem, int nrtfn, CVRootFn g) {
  CPRoots roots = {.g = g, .n = nrtfn, .tfound = NAN};
  int flag      = cpStepperExists((CPStepper)mem, __func__);
  if (flag) return flag;
  if (nrtfn < 0)
    return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "nrtfn must be >= 0: nrtfn = %d", nrtfn);
  if (nrtfn > 0 && !g)
    return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "g must not be NULL");
  if (nrtfn > 0 && allocateValues(&roots, nrtfn)) {
    freeValues(&roots);
    return cpReport(&mem->base.log, CP_MEM_FAIL, __func__, "no memory");
  }
  cpRootsFree(&mem->roots);
  mem->roots = roots;
  return CP_SUCCESS;
}

static int checkRoots(CPOneStepMem mem, const int *list, const char *name, const char *function) {
  int flag = cpStepperExists((CPStepper)mem, function);
  if (flag) return flag;
  if (!mem->roots.n)
    return cpReport(&mem->base.log, CP_NO_INIT, function, "call CPOneStepRootInit first");
  if (!list) return cpReport(&mem->base.log, CP_ILL_INPUT, function, "%s must not be NULL", name);
  return CP_SUCCESS;
}

int CPOneStepSetRootDirection(CPOneStepMem mem, const int *rootdir) {
  int flag = checkRoots(mem, rootdir, "rootdir", __func__);
  if (flag) return flag;
  CPRoots *r = &mem->roots;
  for (int i = 0; i < r->n; i++)
    if (rootdir[i] < -1 || rootdir[i] > 1)
      return cpReport(&mem->base.log, CP_ILL_INPUT, __func__,
                      "rootdir must be -1, 0 or 1: rootdir[%d] = %d", i, rootdir[i]);
  for (int i = 0; i < r->n; i++) r->direction[i] = rootdir[i];
  r->pending = 0; /* found by the old ones */
  return CP_SUCCESS;
}

int CPOneStepGetRootInfo(CPOneStepMem mem, int *rootsfound) {
  int flag = checkRoots(mem, rootsfound, "rootsfound", __func__);
  if (flag) return flag;
  for (int i = 0; i < mem->roots.n; i++) rootsfound[i] = mem->roots.found[i];
  return CP_SUCCESS;
}

/* ---- values ---- */

static void swapValues(sunrealtype **a, sunrealtype **b) {
  sunrealtype *kept = *a;
  *a                = *b;
  *b                = kept;
}

static int evaluateAt(CPOneStepMem mem, sunrealtype t, N_Vector y, sunrealtype *values) {
  const CPRoots *r = &mem->roots;
  mem->stats.nge++;
  const int result = r->g(t, y, values, cpOneStepUserData(&mem->base));
  if (result)
    return cpReason(mem->base.text, CV_RTFUNC_FAIL, "at t = %.15g: the root function g failed (%d)",
                    t, result);
  if (cpAllFinite(values, r->n)) return CP_SUCCESS;
  return cpReason(mem->base.text, CV_RTFUNC_FAIL,
                  "at t = %.15g: the root function g returned NaN or Inf", t);
}

/* mid at t, in the state trial, which is not projected where that may do better elsewhere. */
static int evaluateBetween(CPOneStepMem mem, sunrealtype t) {
  CPRoots *r     = &mem->roots;
  const int flag = cpOneStepSolution(mem, t, r->trial, " (CV_ROOT_RETURN)");
  r->trial_raw   = flag == CP_OUTPUT_PROJ_FAIL;
  if (r->trial_raw && mem->base.output_cause < 0)
    return cpReason(mem->base.text, mem->base.output_cause,
                    "at t = %.15g: no state for root functions: %s", t, cpWorkText(mem->base.out));
  return flag && !r->trial_raw ? flag : evaluateAt(mem, t, r->trial, r->mid);
}

/* size_i = |what errors of the state trial by off_i make of g_i|; lo: its values in the state itself. */
static int sensitivity(CPOneStepMem mem, N_Vector off, sunrealtype *size) {
  CPRoots *r = &mem->roots;
  if (cpHasData(
          off)) { /* signs that differ: a difference of two components does not show equal errors */
    unsigned state = 1;
    sunrealtype *d = N_VGetArrayPointer(off);
    for (sunindextype i = 0; i < N_VGetLength(off); i++) d[i] *= cpUniformAwayFromZero(&state);
  }
  N_VLinearSum(1.0, r->trial, MARGIN, off, off);
  const int flag = evaluateAt(mem, r->tlo, off, size);
  for (int i = 0; i < r->n; i++) size[i] = fabs(size[i] - r->lo[i]);
  return flag;
}

/* Which g_i are zero at the start, in the state trial, but for errors: those of roundoff, and where a root has just
 * been returned those by the tolerance. */
static int findZeros(CPOneStepMem mem) {
  CPRoots *r = &mem->roots;
  N_VInv(mem->base.ewt, r->y);
  int flag = sensitivity(mem, r->y, r->hi);
  N_VAbs(r->trial, r->y);
  N_VScale(CP_UROUND, r->y, r->y);
  if (!flag) flag = sensitivity(mem, r->y, r->noise);
  for (int i = 0; i < r->n; i++) {
    const int returned = cpRootsAt(r, r->tlo) && r->found[i];
    r->at_zero[i]      = fabs(r->lo[i]) <= (returned ? fmax(r->hi[i], r->noise[i]) : r->noise[i]);
    r->zero[i]         = r->lo[i];
  }
  r->zero_is_new = 1;
  return flag;
}

int cpRootsAt(const CPRoots *r, sunrealtype t) { return r->n && t == r->tfound; }

int cpRootsStart(CPOneStepMem mem) {
  CPRoots *r = &mem->roots;
  if (!r->n || r->have_lo) return CP_SUCCESS;
  if (!r->y) r->y = N_VClone(mem->base.y);
  if (!r->trial) r->trial = N_VClone(mem->base.y);
  if (!r->y || !r->trial)
    return cpReason(mem->base.text, CP_MEM_FAIL, "no memory for root finding");
  r->tlo   = mem->tret;
  int flag = evaluateBetween(mem, r->tlo);
  swapValues(&r->lo, &r->mid);
  if (!flag) flag = findZeros(mem);
  r->have_lo = !flag;
  return flag;
}

/* ---- changes of sign ---- */

/* Does g_i go through zero, in the direction asked for, from lo to value? */
static int crosses(const CPRoots *r, int i, sunrealtype value) {
  if (r->at_zero[i] || r->direction[i] * r->lo[i] > 0.0) return 0;
  return value == 0.0 || (r->lo[i] > 0.0) != (value > 0.0);
}

static int anyCrosses(const CPRoots *r, const sunrealtype *values) {
  for (int i = 0; i < r->n; i++)
    if (crosses(r, i, values[i])) return 1;
  return 0;
}

/* Which g_i have left zero at tlo: they are beyond what errors can make of zero, and they have gone there. (What
 * an error has left on one side goes through zero on its way to the other one, which is no root.) */
static int leaveZero(CPRoots *r) {
  int left_there = 0;
  for (int i = 0; i < r->n; i++) {
    const sunrealtype g = r->lo[i], way = g - r->zero[i];
    if (r->at_zero[i]) r->at_zero[i] = !(g * way > 0.0) || !(fabs(g) > r->noise[i]);
    left_there += r->at_zero[i];
  }
  return left_there;
}

/* mid, at t, becomes the upper end; trial is its state. */
static void moveUpper(CPRoots *r, sunrealtype t) {
  N_Vector kept = r->y;
  r->y          = r->trial;
  r->trial      = kept;
  r->raw        = r->trial_raw;
  r->thi        = t;
  swapValues(&r->hi, &r->mid);
}

static void moveLower(CPRoots *r, sunrealtype t) {
  r->tlo = t;
  swapValues(&r->lo, &r->mid);
}

/* From a start on: tlo goes on until each g_i that is zero there has left it, or another one goes through zero, which
 * is the upper end then. Later on they may leave it at ends of steps. */
static int activate(CPOneStepMem mem) {
  CPRoots *r              = &mem->roots;
  const sunrealtype start = r->tlo, length = fabs(r->thi - start);
  sunrealtype s = SOON * cpOneStepTimeRoundoff(mem);
  for (; r->zero_is_new && s < length && leaveZero(r); s *= LATER) {
    const sunrealtype t = start + mem->dir * s;
    const int flag      = evaluateBetween(mem, t);
    if (flag) return flag;
    if (anyCrosses(r, r->mid)) {
      moveUpper(r, t);
      return CP_SUCCESS;
    }
    moveLower(r, t);
  }
  r->zero_is_new = 0;
  return CP_SUCCESS;
}

/* ---- location ---- */

/* The function whose root is nearest to the beginning, by secants, and with a change of sign proper;
 * -1: all are zero at thi. */
static int firstOf(const CPRoots *r) {
  int first           = -1;
  sunrealtype nearest = INFINITY;
  for (int i = 0; i < r->n; i++) {
    if (r->hi[i] == 0.0 || !crosses(r, i, r->hi[i])) continue;
    const sunrealtype fraction = r->lo[i] / (r->lo[i] - r->hi[i]);
    if (fraction < nearest) nearest = fraction, first = i;
  }
  return first;
}

/* Illinois: the weights of the values at the ends, of the function that is followed; the end that
 * stays twice has its weight halved. */
typedef struct {
  int i, moved; /* 1: the upper end was moved last, -1: the lower one */
  sunrealtype wlo, whi;
} Secant;

static sunrealtype nextTime(const CPRoots *r, Secant *s, sunrealtype tol) {
  const int i = firstOf(r);
  if (i != s->i) *s = (Secant){i, 0, 1.0, 1.0};
  sunrealtype fraction = 1.0; /* exactly zero at thi: are there others before? */
  if (i >= 0) {
    const sunrealtype lo = s->wlo * r->lo[i], hi = s->whi * r->hi[i];
    fraction = lo / (lo - hi);
  }
  const sunrealtype margin = 0.5 * tol / fabs(r->thi - r->tlo);
  return r->tlo + fmin(fmax(fraction, margin), 1.0 - margin) * (r->thi - r->tlo);
}

static void moved(Secant *s, int upper) {
  if (upper) s->whi = 1.0, s->wlo *= s->moved == 1 ? 0.5 : 1.0;
  else s->wlo = 1.0, s->whi *= s->moved == -1 ? 0.5 : 1.0;
  s->moved = upper ? 1 : -1;
}

/* Narrows [tlo, thi] down to roundoff around the earliest root. */
static int locate(CPOneStepMem mem) {
  CPRoots *r            = &mem->roots;
  const sunrealtype tol = cpOneStepTimeRoundoff(mem);
  Secant s              = {-1, 0, 1.0, 1.0};
  for (int k = 0; k < MAX_ITERATIONS && fabs(r->thi - r->tlo) > tol; k++) {
    const int halve     = k >= SECANTS && k % 2;
    const sunrealtype t = halve ? r->tlo + 0.5 * (r->thi - r->tlo) : nextTime(r, &s, tol);
    const int flag      = evaluateBetween(mem, t);
    if (flag) return flag;
    const int upper = anyCrosses(r, r->mid);
    if (upper) moveUpper(r, t);
    else moveLower(r, t);
    moved(&s, upper);
  }
  return CP_SUCCESS;
}

/* The interval begins at thi from now on. */
static void goOn(CPRoots *r) {
  r->tlo = r->thi;
  swapValues(&r->lo, &r->hi);
  leaveZero(r);
  for (int i = 0; i < r->n; i++) {
    if (r->at_zero[i] || r->lo[i] != 0.0) continue;
    r->at_zero[i] = r->zero_is_new = 1;
    r->zero[i]                     = 0.0;
  }
}

int cpRootsSearch(CPOneStepMem mem) {
  CPRoots *r = &mem->roots;
  if (!r->n || r->pending || !mem->have_step || r->tlo == mem->base.t) return CP_SUCCESS;
  N_VScale(1.0, mem->base.y, r->y);
  int flag = evaluateAt(mem, mem->base.t, r->y, r->hi);
  r->thi   = mem->base.t;
  r->raw   = 0;
  if (!flag) flag = activate(mem);
  if (flag) return flag;
  if (!anyCrosses(r, r->hi)) {
    goOn(r);
    return CP_SUCCESS;
  }
  flag       = locate(mem);
  r->pending = !flag;
  return flag;
}

void cpRootsReturned(CPRoots *roots) {
  for (int i = 0; i < roots->n; i++)
    roots->found[i] = !crosses(roots, i, roots->hi[i]) ? 0 : roots->lo[i] > 0.0 ? -1 : 1;
  roots->tfound  = roots->thi;
  roots->pending = 0;
  goOn(roots);
}
