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

#include "cpodes/base/arena.h"
#include "cpodes/stepping/multistep/multistep_impl.h"

#include <cpodes/cpodes_sens.h>

typedef struct CPSens_ {
  CPArena arena;
  CPodeMem mem;
  CPParams params;
  CPWrapped nls;
  CPConstraintSensFn cS;
  CPWork work;             /* factors at the newest state; NULL: no projector, or not made yet */
  N_Vector ewt, s;         /* weights of states; a sensitivity */
  N_Vector *start, *delta; /* [Ns] start; correction of the newest attempt, pending or not */
  N_Vector r, c, Gs;       /* dc/dp; c of differences; G s; NULL: no rows, or not known yet */
  N_Vector moved;          /* work [n] */
  /* pending corrections (pending.c) */
  char *pending; /* [Ns] */
  CPMark mark;   /* of the attempt that made them */
  int has_start; /* CPodeSensReInit has been called since the last start of the states */
  int off;       /* CVodeSensToggleOff has been called */
  int is_rough;  /* their right-hand side is by CVODES' differences */
  int start_checked;
  int attempted;           /* a step has been since the start: CVODES' history is written */
  long int nsolves;        /* attempts seen                     */
  long int nsolves_before; /* ... at the last call of the hook */
  CPodeSensStats stats;
  long int base_setups;
} * CPSens;

static inline CPSens cpSensOf(CPodeMem mem) { return mem->sens.data; }

/* parameters.c */
/* Ns parameters of size 1 whose array is not known yet. 0 or CP_MEM_FAIL. */
int cpParamsCreate(CPParams *params, int Ns);
/* Fills *params, which is empty, after checks; 0, or a code, reported for function. */
int cpParamsSet(CPParams *params, int Ns, sunrealtype *p, const sunrealtype *pbar, const int *plist,
                CPLog *log, const char *function);
void cpParamsFree(CPParams *params);
/* Keeps the values of the parameters as they are now, and puts them back. */
void cpParamsKeep(CPParams *params);
void cpParamsRestore(const CPParams *params);
/* The part of a parameter's size at which truncation (for 1 / p, 36 (3e-3)^6) and roundoff DBL_EPSILON / 3e-3 are equal */
#define CP_PARAM_PART 3.0e-3
/* result = sum_k w_k (g(p_i + k e) - g(p_i - k e)) / e, by calls of g that leave a vector in value; e is `part` of the
 * parameter's size, and p is as before afterwards. 0, or what g returned. */
typedef int (*CPOfParams)(void *data, N_Vector value);
int cpParamDifference(const CPParams *params, int iS, sunrealtype part, CPOfParams g, void *data,
                      N_Vector value, N_Vector result);
/* The typical size of states near y, below which none is moved for differences */
sunrealtype cpSensLeastSize(N_Vector y);
/* ySdot = f along (yS, e_iS). moved, value: workspace. Returns what f returned. */
int cpSensDirection(const CPParams *params, CVRhsFn f, sunrealtype t, N_Vector y, int iS,
                    N_Vector yS, N_Vector ySdot, N_Vector moved, N_Vector value, void *user_data);
/* *r: dc/dp at (t, y), NULL: 0. work: of the rows. 0, or a code with the reason in cpWorkText. */
int cpSensRows(CPSens sens, CPWork work, sunrealtype t, N_Vector y, int iS, N_Vector *r);
/* sens->Gs: G s at (t, y), by one difference of sixth order along s; after cpSensRows. */
int cpSensRowsAlong(CPSens sens, CPWork work, sunrealtype t, N_Vector y, N_Vector s);
/* cpSensRows by differences, whoever else knows them; after it. */
int cpSensRowsByDifferences(CPSens sens, CPWork work, sunrealtype t, N_Vector y, int iS,
                            N_Vector *r);

/* forward.c */
int cpSensInstall(CPSens sens, SUNNonlinearSolver inner);
/* s <- s - K (G s + dc/dp) at (t, y), y on the manifold; factors are sens->work's, made anew if it is not
 * valid. As cpTangentTo. */
int cpSensProject(CPSens sens, sunrealtype t, N_Vector y, N_Vector ewt, int iS, N_Vector s);
/* No sensitivities until CPodeSensReInit. */
int cpSensOff(CPodeMem mem);
/* The hooks */
void cpSensBegin(void *data);
void cpSensEnd(void *data);
void cpSensAttempt(void *data, const CPAttempt *a);
int cpSensTakeBack(void *data, const CPAttempt *a);
void cpSensRestart(void *data);
void cpSensNewProjector(void *data);
int cpSensNewSolver(void *data);
int cpSensBypassed(void *data, long int steps);
/* Do CVODES' differences lack the parameters? */
int cpSensLacksParameters(CPSens sens);

/* adjoint.c: CVodeB; a failure is reported for function. */
int cpBackward(CPodeMem mem, sunrealtype tBout, int itaskB, const char *function);

/* sens.c: count clones of tmpl, and their array */
N_Vector *cpSensVectors(CPArena *arena, int count, N_Vector tmpl);
/* Is mem there, with sensitivities? 0, or a code, reported. */
int cpSensCheck(CPodeMem mem, const char *function);
/* Is iS the index of one? 0, or a code, reported. */
int cpSensCheckIndex(CPodeMem mem, int iS, const char *function);
/* The workspace of the projector that the integrator has now. */
int cpSensUpdate(CPSens sens);

#endif
