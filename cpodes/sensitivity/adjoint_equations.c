/* The equations of the backward run, l' = -J^T l - dh/dy, q' = -(l^T df/dp + dh/dp), along the states of the tape. Products with
 * the Jacobian are the system's, the user's, or differences, which are computed once for each time. */
#include "adjoint_impl.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- differences ---- */

/* Computes the derivatives of D at (t, run.y), by differences of sixth order. */
static int differentiate(Adjoint *a, Differences *D, sunrealtype t) {
  CPFunctionalRun *w  = &a->run;
  const CPParams none = {0};
  const size_t length = (size_t)D->length, n = a->tape.n;
  int flag = CP_SUCCESS;
  if (D->t == t) return CP_SUCCESS;
  D->t = NAN;
  if (!D->entry) {
    CP_NEW(&w->arena, D->entry, (size_t)a->N * length);
    D->value      = cpArenaTake(&w->arena, N_VNew_Serial(D->length, w->mem->ctx));
    D->derivative = cpArenaTake(&w->arena, N_VNew_Serial(D->length, w->mem->ctx));
    D->error      = cpArenaTake(&w->arena, N_VNew_Serial(D->length, w->mem->ctx));
    if (cpArenaStatus(&w->arena)) return D->entry = NULL, CP_MEM_FAIL;
  }
  for (size_t j = 0; !flag && j < (size_t)a->N; j++) {
    const CPAlong along = {.iS = j < n ? -1 : (int)(j - n)};
    N_VConst(0.0, w->y1);
    if (j < n) N_VGetArrayPointer(w->y1)[j] = 1.0;
    flag = cpSensDirection(&w->mem->system, w->params ? w->params : &none, D->fn, t, w->y, along,
                           w->y1, D->derivative, w->moved, D->value, D->error, D->data);
    memcpy(D->entry + j * length, N_VGetArrayPointer(D->derivative), length * sizeof *D->entry);
  }
  if (!flag) D->t = t;
  return flag;
}

int cpAdjointGradient(Adjoint *a, CPFunctionalFn fn, CPFunctionalGradFn grad, Differences *D,
                      sunrealtype t, int k) {
  CPFunctionalRun *w        = &a->run;
  CPFunctionalCalled called = {fn, w->F->user_data};
  N_VConst(0.0, w->gy);
  memset(w->gp, 0, (size_t)w->Np * sizeof *w->gp);
  if (!fn) return CP_SUCCESS;
  if (grad) return cpFunctionalDerivatives(w, grad, t, k);
  D->fn = cpFunctionalAsRhs, D->data = &called, D->length = w->F->ng;
  const int flag = differentiate(a, D, t);
  for (int j = 0; !flag && j < a->N; j++)
    *(j < (int)a->tape.n ? N_VGetArrayPointer(w->gy) + j : w->gp + j - a->tape.n) =
        D->entry[j * D->length + k];
  return flag;
}

int cpAdjointIntegrand(Adjoint *a, sunrealtype t, int k) {
  const CPFunctional *F = a->run.F;
  return cpAdjointGradient(a, F->integrand, F->integrand_grad, &a->integrand, t, k);
}

/* ---- right-hand sides ---- */

int cpAdjointProducts(Adjoint *a, sunrealtype t, N_Vector l) {
  CPFunctionalRun *w        = &a->run;
  const CPIntegrator mem    = w->mem;
  const CPSensSystem *model = mem->system.sens;
  int flag                  = CP_SUCCESS;
  memset(a->lfp, 0, (size_t)w->Np * sizeof *a->lfp);
  N_VConst(0.0, a->Jl);
  if (a->o.adjoint) return a->o.adjoint(t, w->y, l, a->Jl, a->lfp, a->o.user_data);
  if (model && model->transposes(mem->system.data))
    return model->products(t, w->y, l, a->Jl, w->params && !a->leaves ? a->lfp : NULL,
                           mem->system.data);
  a->f.fn = mem->f, a->f.data = mem->ops->data(mem), a->f.length = (int)a->tape.n;
  flag = differentiate(a, &a->f, t);
  for (int j = 0; !flag && j < a->N; j++)
    *(j < a->f.length ? N_VGetArrayPointer(a->Jl) + j : a->lfp + j - a->f.length) =
        cpDot(a->f.entry + (size_t)j * a->tape.n, N_VGetArrayPointer(l), a->f.length);
  return flag;
}

int cpAdjointState(Adjoint *a, sunrealtype t) {
  CPFunctionalRun *w     = &a->run;
  const CPIntegrator mem = w->mem;
  if (t == a->t) return CP_SUCCESS;
  cpTapeState(&a->tape, t, w->y);
  a->t = t;
  if (!mem->P || !mem->ops->multistep) return CP_SUCCESS;
  a->t = NAN;
  cpStepperEnter(mem);
  int flag = cpStepperWeights(mem, w->y, mem->ewt);
  cpWorkForget(mem->out);
  if (!flag) flag = cpProject(mem->out, t, w->y, mem->ewt, NULL, 0, &(CPProjected){0});
  cpWorkForget(mem->out);
  cpStepperLeave(mem, flag);
  if (flag)
    cpWrite(mem->text, "the state at t = %.10g cannot be projected: %s", t, cpWorkText(mem->out));
  else a->t = t;
  return flag;
}

int cpAdjointFailed(Adjoint *a, sunrealtype t, int k, int flag) {
  const CPIntegrator mem = a->run.mem;
  const char *reason     = NULL;
  const int code         = cpStepperCause(mem, &reason);
  if (code) cpWrite(mem->text, "%s", reason);
  else if (flag == -CP_RHS_NONFINITE)
    cpWrite(mem->text,
            "at t = %.10g: the derivatives of functional %d's backward problem are NaN or Inf", t,
            k);
  else
    cpWrite(mem->text, "at t = %.10g: the backward problem of functional %d failed%s (%d)", t, k,
            flag < 0 ? "" : " recoverably, again and again", flag);
  a->cause = code                        ? code
             : flag == -CP_RHS_NONFINITE ? CP_RHS_NONFINITE
             : flag < 0                  ? CV_RHSFUNC_FAIL
                                         : CV_REPTD_RHSFUNC_ERR;
  return flag;
}

int cpAdjointLeave(int on, void *adjoint) { return ((Adjoint *)adjoint)->leaves = on, 0; }

int cpAdjointRhs(sunrealtype t, N_Vector Z, N_Vector Zdot, void *adjoint) {
  Adjoint *a         = adjoint;
  CPFunctionalRun *w = &a->run;
  const size_t n     = a->tape.n;
  int flag           = cpAdjointState(a, t);
  if (flag) return a->cause = flag < 0 ? flag : CP_OUTPUT_PROJ_FAIL, flag;
  for (int k = 0; k < w->F->ng; k++) {
    const sunrealtype *z = N_VGetArrayPointer(Z) + (size_t)k * (size_t)a->N;
    sunrealtype *zdot = N_VGetArrayPointer(Zdot) + (size_t)k * (size_t)a->N, *qdot = zdot + n;
    memcpy(N_VGetArrayPointer(a->l), z, n * sizeof *z);
    flag = cpAdjointProducts(a, t, a->l);
    if (!flag) flag = cpAdjointIntegrand(a, t, k);
    if (flag == CP_FUNCTIONAL_NONFINITE ||
        (!flag && !(cpVectorFinite(a->Jl) && cpManyFinite(a->lfp, (size_t)w->Np))))
      flag = -CP_RHS_NONFINITE;
    if (flag) return cpAdjointFailed(a, t, k, flag);
    const sunrealtype *Jl = N_VGetArrayPointer(a->Jl), *gy = N_VGetArrayPointer(w->gy);
    for (size_t j = 0; j < n; j++) zdot[j] = -Jl[j] - gy[j];
    for (int i = 0; w->params && i < w->Np; i++) qdot[i] = -a->lfp[i] - w->gp[i];
  }
  return CP_SUCCESS;
}

/* RADAU's Jacobian consists of the blocks (-J^T, -df/dp^T) of the functionals, whose columns are products with unit vectors at
 * the same state. */
int cpAdjointJacobian(sunrealtype t, N_Vector Z, N_Vector Zdot, SUNMatrix S, void *adjoint,
                      N_Vector t1, N_Vector t2, N_Vector t3) {
  Adjoint *a        = adjoint;
  const int n       = (int)a->tape.n;
  sunrealtype *into = SUNSparseMatrix_Data(S);
  int flag          = cpAdjointState(a, t);
  (void)Z, (void)Zdot, (void)t1, (void)t2, (void)t3;
  for (int j = 0; !flag && j < n; j++) {
    N_VConst(0.0, a->l);
    N_VGetArrayPointer(a->l)[j] = 1.0;
    flag                        = cpAdjointProducts(a, t, a->l);
    for (int k = 0; !flag && k < a->run.F->ng; k++)
      for (int i = 0; i < a->N; i++)
        into[((size_t)k * (size_t)n + (size_t)j) * (size_t)a->N + (size_t)i] =
            i < n ? -N_VGetArrayPointer(a->Jl)[i] : -a->lfp[i - n];
  }
  return flag ? cpAdjointFailed(a, t, 0, flag) : CP_SUCCESS;
}
