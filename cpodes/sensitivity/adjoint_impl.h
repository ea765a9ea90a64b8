/* The backward run of adjoint gradients: what its equations (adjoint_equations.c) and the run itself (functional_adjoint.c) share */
#ifndef CPODES_ADJOINT_IMPL_H
#define CPODES_ADJOINT_IMPL_H

#include "functional_impl.h"
#include "samples.h"

/* All derivatives of a function at the latest time, by differences: [n + Np][length], with respect to y and p */
typedef struct {
  CVRhsFn fn;
  void *data;
  sunrealtype t, *entry; /* t: NaN before the first one */
  int length;
  N_Vector value, derivative, error; /* [length] */
} Differences;

typedef struct {
  CPFunctionalRun run; /* the forward run */
  CPGradientOptions o;
  CPTape tape;
  CPNodes nodes;      /* of end terms at many times */
  CPIntegrator back;  /* from t1 to t0 */
  int N;              /* l [n] and q [N - n] of a functional; q is empty without parameters */
  N_Vector Z, abstol; /* [ng N] (l, q) of all functionals, and their absolute tolerances */
  N_Vector kept;      /* [ng N] Z while the size of steps is found */
  N_Vector l, Jl;     /* [n] l of one functional, and J^T l */
  sunrealtype *lfp;   /* [Np] l^T df/dp */
  sunrealtype *size;  /* [ng] sums of |dg/dy| over the end terms up to now */
  sunrealtype t;      /* run.y is the state at t; NaN: not known */
  sunrealtype h;      /* proposed size of the next step; 0 before the first one */
  int leaves;         /* q' is not needed: CPSystem.leave_out */
  int has_jumped;     /* Z is not that of back any more */
  long int taken, window,
      covered; /* steps back; taken at the start of a window, and the steps forward there */
  Differences f, end, integrand;
  int cause; /* code of the latest failure of the right-hand side, with its reason in mem->text; or 0 */
} Adjoint;

/* Computes run.gy and run.gp, the derivatives of value k of fn at (t, run.y); they are zero if fn is NULL. Returns what a function
 * returned. */
int cpAdjointGradient(Adjoint *a, CPFunctionalFn fn, CPFunctionalGradFn grad, Differences *D,
                      sunrealtype t, int k);
/* The same of the integrand */
int cpAdjointIntegrand(Adjoint *a, sunrealtype t, int k);
/* Computes a->Jl = J^T l and a->lfp = l^T df/dp at (t, run.y). */
int cpAdjointProducts(Adjoint *a, sunrealtype t, N_Vector l);
/* run.y <- the state at t, which must depend on t only. That of one-step methods is as the steps have it: next to a singular position a
 * projection would move velocities by more than their errors, and the equations have large derivatives there. The polynomials of
 * multistep methods lack the steps' own projections, so that their states are projected. */
int cpAdjointState(Adjoint *a, sunrealtype t);
/* Notes why functional k's equations failed at t. Returns flag. */
int cpAdjointFailed(Adjoint *a, sunrealtype t, int k, int flag);
/* CPSystem.leave_out, a CVRhsFn and a CVLsJacFn, whose data is an Adjoint */
int cpAdjointLeave(int on, void *adjoint);
int cpAdjointRhs(sunrealtype t, N_Vector Z, N_Vector Zdot, void *adjoint);
int cpAdjointJacobian(sunrealtype t, N_Vector Z, N_Vector Zdot, SUNMatrix S, void *adjoint,
                      N_Vector t1, N_Vector t2, N_Vector t3);

#endif
