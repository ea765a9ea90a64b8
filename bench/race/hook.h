/* A projection for CVODES' own hook (CVodeSetProjFn), written by hand as an expert would for a mechanical system
 * q' = u, 0 = p(t, q), 0 = v(t, q, u), with A = dp/dq = dv/du and D = diag(1 / ewt^2):
 *
 *   positions    q <- q - D A^T (A D A^T)^-1 p(t, q)              simplified Newton
 *   velocities   u <- u - D A^T (A D A^T)^-1 v(t, q, u)           once: they enter linearly
 *   error        e_q, e_u likewise onto the tangent spaces, A e_q = 0 and A e_u + (dv/dq) e_q = 0
 */
#ifndef CPODES_BENCH_HOOK_H
#define CPODES_BENCH_HOOK_H

#include <models/chain.h>
#include <models/model.h>
#include <stdbool.h>

typedef struct {
  const CPPlugin *model;
  void *cvode_mem;
  Chain *chain; /* tridiagonal; if it is set, the members below are not needed */
  N_Vector ewt;
  SUNMatrix A;                     /* dense, m x nu */
  double *scaled, *S;              /* [m x nu] A D^1/2, [m x m] Cholesky factor of A D A^T */
  double *residual, *step, *other; /* [m], [nu], [m] */
} Hook;

bool hook_takes(const CPPlugin *model);
/* cvode_mem: provides the error weights; if NULL, the caller writes them to ewt, or to that of
 * chain if there is one. Returns 0, or -1 if memory is lacking; call hook_free in any case. */
int hook_create(const CPPlugin *model, void *cvode_mem, Hook *hook);
void hook_free(Hook *hook);
/* Like CVProjFn */
int hook_project(Hook *hook, sunrealtype t, N_Vector y, N_Vector corr, sunrealtype eps,
                 N_Vector err);

#endif
