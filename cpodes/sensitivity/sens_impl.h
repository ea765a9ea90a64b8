/* Forward sensitivities (guide, "Sensitivities").
 *
 * CVODES solves for one sensitivity after the other (CV_STAGGERED1), each as a plain vector, so
 * that a nonlinear solver around the inner one can project them as step.c projects states:
 *
 *   s <- s - K (G s + dc/dp),   K = D G^T (G D G^T)^+                                         (S1)
 *
 * at the projected state of the attempt. All sensitivities share the factors of that state, and
 * nothing else uses them, so that the states are the same as without sensitivities. The rule by
 * which the correction enters the history is that of the states (multistep_impl.h). */
#ifndef CPODES_SENS_IMPL_H
#define CPODES_SENS_IMPL_H

#include "cpodes/stepping/multistep/multistep_impl.h"

#include <cpodes/cpodes_sens.h>

typedef struct CPSens_ {
  CPArena arena;
  CPMultistep mem;
  CPParams params;
  CPWrapped nls;
  CPConstraintSensFn cS; /* the user's dc/dp, or NULL */
  CPWork work;     /* factors at the latest state; NULL before first use, or without a projector */
  N_Vector ewt, s; /* error weights of the states; one sensitivity */
  N_Vector *start, *delta; /* [Ns] start; correction of the latest attempt, pending or not */
  N_Vector r, c,
      Gs;         /* dc/dp, c for differences, G s; NULL before their first use, or without rows */
  N_Vector moved; /* [n] workspace */
  /* pending corrections (forward.c) */
  char *pending; /* [Ns] */
  CPMark mark;   /* of the attempt that made them */
  int has_start; /* CPIntegratorSensReInit has been called since the last start of the states */
  int off;       /* CVodeSensToggleOff has been called */
  int is_rough;  /* the right-hand sides are CVODES' difference quotients */
  int start_checked;
  int attempted;    /* A step has been tried since the start, so CVODES has written its history. */
  long int nsolves; /* attempts seen */
  long int nsolves_before; /* attempts seen before the latest call of CPIntegratorEvolve */
  CPIntegratorSensStats stats;
  long int base_setups; /* factorisations before the start */
} * CPSens;

static inline CPSens cpSensOf(CPMultistep mem) { return mem->sens.data; }

/* cpStepperEnter, for the functions that sensitivities call, too; cpStepperLeave ends it. */
static inline void cpSensEnter(CPSens sens) {
  cpStepperEnter(&sens->mem->base);
  cpWorkLend(sens->work, cpStepperLent(&sens->mem->base));
}

/* parameters.c */
/* Creates Ns parameters of size 1, whose array is not known yet. Returns 0 or CP_MEM_FAIL. */
int cpParamsCreate(CPParams *params, int Ns);
/* Checks the arguments and fills *params, which must be empty. Returns 0, or a code that has been
 * reported for function. */
int cpParamsSet(CPParams *params, int Ns, sunrealtype *p, const sunrealtype *pbar, const int *plist,
                CPLog *log, const char *function);
void cpParamsFree(CPParams *params);
/* The step relative to a parameter's size for which truncation (36 (3e-3)^6 for 1 / p) and roundoff
 * (DBL_EPSILON / 3e-3) are equal. */
#define CP_PARAM_PART 3.0e-3
/* result = df/dp_i at (t, y), by differences with steps of `part` times the parameter's size, which
 * is restored afterwards. value: workspace. Returns 0, or the code that f returned. */
int cpParamDifference(const CPParams *params, int iS, sunrealtype part, CVRhsFn f, sunrealtype t,
                      N_Vector y, void *data, N_Vector value, N_Vector result);
/* Returns the typical size of states near y, the least scale for differences. */
sunrealtype cpSensLeastSize(N_Vector y);
/* ySdot = derivative of f along (yS, e_iS). moved, value: workspace. Returns the code that f
 * returned. */
int cpSensDirection(const CPParams *params, CVRhsFn f, sunrealtype t, N_Vector y, int iS,
                    N_Vector yS, N_Vector ySdot, N_Vector moved, N_Vector value, void *user_data);
/* Computes dc/dp_iS at (t, y). *r: the vector, or NULL if it is 0. Returns 0, or a code with the
 * reason in cpWorkText(sens->work). */
int cpSensRows(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r);
/* As cpSensRows, but always by differences. To be called after cpSensRows, like the next
 * function. */
int cpSensRowsByDifferences(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r);
/* sens->Gs = G s at (t, y), by a difference of sixth order along s. */
int cpSensRowsAlong(CPSens sens, sunrealtype t, N_Vector y, N_Vector s);

/* forward.c */
int cpSensInstall(CPSens sens, SUNNonlinearSolver inner);
/* Applies (S1) at (t, y), with y on the manifold, by the factors of sens->work, which are computed
 * if there are none. Returns the code of cpTangentTo. */
int cpSensProject(CPSens sens, sunrealtype t, N_Vector y, N_Vector ewt, int iS, N_Vector s);
/* Switches sensitivities off until CPIntegratorSensReInit. */
int cpSensOff(CPMultistep mem);
/* CPSensHooks */
void cpSensBegin(void *data);
void cpSensEnd(void *data);
void cpSensAttempt(void *data, const CPAttempt *a);
int cpSensTakeBack(void *data, const CPAttempt *a);
void cpSensRestart(void *data);
void cpSensNewProjector(void *data);
int cpSensNewSolver(void *data);
int cpSensBypassed(void *data, long int steps);
/* Must CVODES form difference quotients without knowing the parameters? */
int cpSensLacksParameters(CPSens sens);

/* adjoint.c: calls CVodeB, and reports its failure for function. */
int cpBackward(CPMultistep mem, sunrealtype tBout, int itaskB, const char *function);

/* sens.c: returns an array of count clones of tmpl. */
N_Vector *cpSensVectors(CPArena *arena, int count, N_Vector tmpl);
/* The first checks that mem has sensitivities, the second also that it is idle. They return
 * 0 or an error code that has been reported. */
int cpSensExist(CPMultistep mem, const char *function);
int cpSensCheck(CPMultistep mem, const char *function);
/* Creates sens->work if there is a projector and no work yet. Returns 0 or CP_MEM_FAIL. */
int cpSensUpdate(CPSens sens);

#endif
