/* The norms by which CVODES chooses order and step size.
 *
 * After a step CVODES compares the error estimates of the orders q-1, q and q+1. The norm at order
 * q comes from our solve function. CVODES computes the other two itself, as N_VWrmsNorm of zn[q]
 * and of acor - c zn[qmax], before it calls our solve function again. If only the first norm were
 * projected, the order would hardly ever change. Therefore the vectors of CVODES have our own
 * N_VWrmsNorm, which in that interval multiplies the vector's own norm by the ratio of the
 * projected to the unprojected norm at order q. So the orders are compared as without projection
 * (except for a factor at order q+1, step.c), and the step size is that of the projected estimate.
 *
 * (Projecting all three would cost two more projections, takes as many steps at equal error, and
 * can lead to an order that is the best only among its neighbours: the errors of a rotation are
 * normal at odd orders and tangential at even ones, so that order 3 looks better than 4, and 5,
 * which takes half the steps, is never considered.)
 *
 * At all other times, and with all other weights, the norm is the vector's own.
 *
 * The vectors that CVodeInit clones are *adopted*: they get an operation table that knows the
 * integrator. The vector's own table is kept and restored before the vector is destroyed, so that
 * any implementation of N_Vector will do. Later clones of these vectors are ordinary vectors. */
#include "multistep_impl.h"

#include <stdlib.h>

/* The operations of an adopted vector: its own except those below. */
typedef struct {
  struct _generic_N_Vector_Ops ops; /* first, since the vector's ops points here */
  N_Vector_Ops own;
  CPMultistep mem;
  int number; /* order in which CVODES has cloned them: zn[0], zn[1], ... come last */
} CPAdopted;

static CPAdopted *adopted(N_Vector v) { return (CPAdopted *)v->ops; }

static void adopt(N_Vector v, CPMultistep mem);

static N_Vector cloneBy(N_Vector (*operation)(N_Vector), N_Vector w) {
  CPAdopted *a = adopted(w);
  w->ops       = a->own;
  N_Vector v   = operation(w);
  w->ops       = &a->ops;
  if (v && a->mem->norms.adopting) adopt(v, a->mem);
  return v;
}
static N_Vector clone(N_Vector w) { return cloneBy(adopted(w)->own->nvclone, w); }
static N_Vector cloneEmpty(N_Vector w) { return cloneBy(adopted(w)->own->nvcloneempty, w); }

static void destroy(N_Vector v) {
  CPAdopted *a = adopted(v);
  v->ops       = a->own;
  free(a);
  v->ops->nvdestroy(v);
}

/* Once CVODES has accepted the step of the latest solve, its norms with these weights are those at
 * the orders q-1 and q+1, until the norm of zn[0], by which the next step tests whether too much
 * accuracy is requested. (A new start takes norms, too.) */
static sunrealtype wrmsNorm(N_Vector x, N_Vector w) {
  const CPAdopted *a     = adopted(x);
  CPOrderNorms *norms    = &a->mem->norms;
  const sunrealtype norm = a->own->nvwrmsnorm(x, w);
  if (!norms->active || w != norms->ewt || cpStepsTaken(a->mem) != a->mem->attempt.nst + 1)
    return norm;
  norms->active = x != norms->zn0;
  norms->taken += norms->active;
  if (!norms->active) return norm;
  /* The norm at order q-1 is that of zn[q]; the norm at order q+1 is that of a vector cloned before
   * zn[0]. */
  return norms->ratio * (a->number < adopted(norms->zn0)->number ? norms->higher : 1.0) * norm;
}

static void adopt(N_Vector v, CPMultistep mem) {
  CPAdopted *a = malloc(sizeof *a);
  if (!a) {
    mem->norms.no_memory = 1; /* SUNDIALS 6 does not expect a clone to fail */
    return;
  }
  *a = (CPAdopted){.ops = *v->ops, .own = v->ops, .mem = mem, .number = mem->norms.adopted++};
  a->ops.nvclone    = clone;
  a->ops.nvdestroy  = destroy;
  a->ops.nvwrmsnorm = wrmsNorm;
  if (v->ops->nvcloneempty) a->ops.nvcloneempty = cloneEmpty;
  v->ops = &a->ops;
}

CPMultistep cpAdoptedBy(N_Vector v) {
  return v->ops->nvwrmsnorm == wrmsNorm ? adopted(v)->mem : NULL;
}

N_Vector cpAdoptedVector(CPMultistep mem) {
  N_Vector v           = N_VClone(mem->base.y0);
  mem->norms.no_memory = 0;
  if (v) adopt(v, mem);
  if (!v || !mem->norms.no_memory) return v;
  N_VDestroy(v);
  return NULL;
}

int cpInitCVodes(CPMultistep mem, CVRhsFn f, sunrealtype t0, N_Vector y0) {
  N_Vector y           = N_VClone(y0);
  mem->norms.no_memory = !y;
  if (!y) return CP_MEM_FAIL;
  N_VScale(1.0, y0, y);
  cpUseOwnLoops(y);
  adopt(y, mem);
  mem->norms.adopting = 1;
  const int flag      = CVodeInit(mem->cvode_mem, f, t0, y);
  mem->norms.adopting = 0;
  mem->norms.possible = !flag && !mem->norms.no_memory;
  mem->base.begun     = !flag;
  N_VDestroy(y);
  return !flag && mem->norms.no_memory ? CP_MEM_FAIL : flag;
}

int cpRefuseOtherVectors(CPMultistep mem, const char *function) {
  CPAttempt a;
  cpAttemptRead(mem, &a);
  const int ours = !mem->norms.possible || a.ypred->ops->nvwrmsnorm == wrmsNorm;
  if (ours && N_VGetLength(a.ypred) == N_VGetLength(mem->base.y0)) return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_NOT_SUPPORTED, function,
                  "CVODES has been given another history (CVodeResizeHistory), of which cpodes has "
                  "no states: create another integrator");
}

void cpOrderNormsBegin(CPMultistep mem, const CPAttempt *a, N_Vector ewt) {
  mem->norms.active = mem->norms.begun = mem->norms.possible;
  mem->norms.zn0                       = a->ypred;
  mem->norms.ewt                       = ewt;
}

void cpOrderNormsForget(CPMultistep mem) { mem->norms.active = mem->norms.begun = 0; }

int cpOrderNormsEnd(CPMultistep mem, const CPAttempt *a) {
  CPOrderNorms *norms = &mem->norms;
  CPOrderChoice now   = {
        .nst = a->nst, .nfail = a->nfail, .begun = norms->begun, .taken = norms->taken};
  const CPOrderChoice last = norms->choice;
  cpOrderNormsForget(mem);
  if (!norms->possible || !cpCarriesOver(mem) || a->nst == last.nst) return CP_SUCCESS;
  CVodeGetLastOrder(mem->cvode_mem, &now.q);
  norms->choice = now;
  norms->taken  = 0;
  if (now.q == last.q || last.nst < 1 || now.nst != last.nst + 1 || now.nfail != last.nfail ||
      !last.begun || last.taken)
    return CP_SUCCESS;
  return cpReason(mem->base.text, CP_SELFCHECK_FAIL,
                  "at t = %.10g: CVODES has changed its order without a norm that cpodes knows of: "
                  "this CVODES works differently",
                  a->t);
}
