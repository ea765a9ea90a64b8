/* Forward sensitivities (guide, "Sensitivities").
 *
 * CVODES solves for one sensitivity after the other (CV_STAGGERED1), each as a plain vector, so that
 * a nonlinear solver around the inner one projects them as step.c projects states:
 *
 *   s <- s - K (G s + dc/dp),   K = D G^T (G D G^T)^+                                         (S1)
 *
 * at the projected state of the attempt, with factors of that state which all sensitivities share and
 * nothing else uses: states step as they do without sensitivities. How the correction enters the
 * history is the states' rule (multistep_impl.h). */
#ifndef CPODES_SENS_IMPL_H
#define CPODES_SENS_IMPL_H

#include "cpodes/stepping/multistep/multistep_impl.h"

#include <cpodes/cpodes_sens.h>

typedef struct CPSens_ {
  CPArena arena;
  CPodeMem mem;
  CPParams params;
  CPWrapped nls;
  CPConstraintSensFn cS; /* dc/dp of the user's, or NULL */
  CPWork work; /* factors at the newest state; NULL before their first use, or without a projector */
  N_Vector ewt, s;         /* error weights of the states; one sensitivity */
  N_Vector *start, *delta; /* [Ns] start; correction of the newest attempt, pending or not */
  N_Vector r, c,
      Gs;         /* dc/dp, c for differences, G s; NULL before their first use, or without rows */
  N_Vector moved; /* [n] workspace */
  /* pending corrections (forward.c) */
  char *pending; /* [Ns] */
  CPMark mark;   /* of the attempt that made them */
  int has_start; /* CPodeSensReInit has been called since the last start of the states */
  int off;       /* CVodeSensToggleOff has been called */
  int is_rough;  /* CVODES' differences are their right-hand side */
  int start_checked;
  int attempted;           /* A step has been tried since the start: CVODES' history is written. */
  long int nsolves;        /* attempts seen */
  long int nsolves_before; /* attempts seen before the newest call of CPode */
  CPodeSensStats stats;
  long int base_setups; /* factorisations before the start */
} * CPSens;

static inline CPSens cpSensOf(CPodeMem mem) { return mem->sens.data; }

/* parameters.c */
/* Ns parameters of size 1 whose array is not known yet. 0 or CP_MEM_FAIL. */
int cpParamsCreate(CPParams *params, int Ns);
/* Fills *params, which is empty, after checks; 0, or a code, reported for function. */
int cpParamsSet(CPParams *params, int Ns, sunrealtype *p, const sunrealtype *pbar, const int *plist,
                CPLog *log, const char *function);
void cpParamsFree(CPParams *params);
/* The part of a parameter's size at which truncation (for 1 / p, 36 (3e-3)^6) and roundoff DBL_EPSILON / 3e-3 are equal */
#define CP_PARAM_PART 3.0e-3
/* result = df/dp_i at (t, y), by differences with steps of `part` of the parameter's size; p is as before afterwards. value:
 * workspace. 0, or what f returned. */
int cpParamDifference(const CPParams *params, int iS, sunrealtype part, CVRhsFn f, sunrealtype t,
                      N_Vector y, void *data, N_Vector value, N_Vector result);
/* The typical size of states near y, below which none is moved for differences */
sunrealtype cpSensLeastSize(N_Vector y);
/* ySdot = f along (yS, e_iS). moved, value: workspace. Returns what f returned. */
int cpSensDirection(const CPParams *params, CVRhsFn f, sunrealtype t, N_Vector y, int iS,
                    N_Vector yS, N_Vector ySdot, N_Vector moved, N_Vector value, void *user_data);
/* *r: dc/dp of parameter iS at (t, y), or NULL where it is 0. 0, or a code with the reason in cpWorkText(sens->work). */
int cpSensRows(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r);
/* The same by differences, whoever else knows them. After cpSensRows, as the next. */
int cpSensRowsByDifferences(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r);
/* sens->Gs: G s at (t, y) by one difference of sixth order along s */
int cpSensRowsAlong(CPSens sens, sunrealtype t, N_Vector y, N_Vector s);

/* forward.c */
int cpSensInstall(CPSens sens, SUNNonlinearSolver inner);
/* (S1) at (t, y), y on the manifold, with the factors of sens->work, which are made if it has none. Returns what cpTangentTo
 * returns. */
int cpSensProject(CPSens sens, sunrealtype t, N_Vector y, N_Vector ewt, int iS, N_Vector s);
/* Switches sensitivities off until CPodeSensReInit. */
int cpSensOff(CPodeMem mem);
/* CPSensHooks */
void cpSensBegin(void *data);
void cpSensEnd(void *data);
void cpSensAttempt(void *data, const CPAttempt *a);
int cpSensTakeBack(void *data, const CPAttempt *a);
void cpSensRestart(void *data);
void cpSensNewProjector(void *data);
int cpSensNewSolver(void *data);
int cpSensBypassed(void *data, long int steps);
/* Does CVODES have to form differences without knowing the parameters? */
int cpSensLacksParameters(CPSens sens);

/* adjoint.c: CVodeB, whose failure is reported for function */
int cpBackward(CPodeMem mem, sunrealtype tBout, int itaskB, const char *function);

/* sens.c: count clones of tmpl, and their array */
N_Vector *cpSensVectors(CPArena *arena, int count, N_Vector tmpl);
/* Is mem there, with sensitivities? 0, or a code, reported. */
int cpSensCheck(CPodeMem mem, const char *function);
/* Creates sens->work, if there is a projector and it has none. 0 or CP_MEM_FAIL. */
int cpSensUpdate(CPSens sens);

#endif
