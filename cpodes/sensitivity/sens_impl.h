/* Forward sensitivities (guide, "Sensitivities"). One-step methods carry them beside the state (beside.c).
 *
 * With BDF and Adams (forward.c) CVODES solves for one sensitivity after the other (CV_STAGGERED1), each as a plain vector, so
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

#define CP_SENS_NO_START \
  "CPIntegratorReInit is a new start, for the sensitivities, too: call CPSensReInit after it"

struct CPSens_ {
  CPLog log; /* for messages while no integrator computes them */
  CPArena arena;
  CPIntegrator mem; /* the integrator that computes them, or NULL */
  CPParams params;
  CPWrapped nls;
  CVSensRhs1Fn fS1;      /* the user's right-hand side, or NULL */
  CPConstraintSensFn cS; /* the user's dc/dp, or NULL */
  int errcon;            /* their errors are tested */
  CPWork work;     /* factors at the latest state; NULL before first use, or without a projector */
  N_Vector ewt, s; /* error weights of the states; one sensitivity */
  N_Vector *given; /* [Ns] the start of the parameters */
  N_Vector *start, *delta; /* [Ns] start; correction of the latest attempt, pending or not */
  N_Vector r, c,
      Gs;         /* dc/dp, c for differences, G s; NULL before their first use, or without rows */
  N_Vector moved; /* [n] workspace */
  /* pending corrections (forward.c) */
  char *pending; /* [Ns] */
  CPMark mark;   /* of the attempt that made them */
  int has_start; /* CPSensReInit has been called since the last start of the states */
  int off;       /* CVodeSensToggleOff has been called */
  int is_rough;  /* the right-hand sides are CVODES' difference quotients */
  int start_checked;
  int attempted;    /* A step has been tried since the start, so CVODES has written its history. */
  long int nsolves; /* attempts seen */
  long int nsolves_before; /* attempts seen before the latest call of CPIntegratorEvolve */
  CPIntegratorSensStats stats;
  long int base_setups; /* factorisations before the start */
};

static inline CPSens cpSensOf(CPIntegrator mem) { return mem->sens; }

/* cpStepperEnter, for the functions that sensitivities call, too; cpStepperLeave ends it. */
static inline void cpSensEnter(CPSens sens) {
  cpStepperEnter(sens->mem);
  cpWorkLend(sens->work, cpStepperLent(sens->mem));
}

/* parameters.c */
/* Checks the parameters and copies them to *params, which must be empty. Returns 0, or a code that has been reported for function. */
int cpParamsSet(CPParams *params, const CPParameters *given, CPLog *log, const char *function);
void cpParamsFree(CPParams *params);
/* The step relative to a parameter's size for which truncation (36 (3e-3)^6 for 1 / p) and roundoff
 * (DBL_EPSILON / 3e-3) are equal. */
#define CP_PARAM_PART 3.0e-3
/* A direction in the space of parameters: that of parameter iS (none if it is negative), or dp [Ns] if that is not NULL. */
typedef struct {
  int iS;
  const sunrealtype *dp;
} CPAlong;
/* result = the derivative of f with respect to the parameters along this direction at (t, y), by differences with steps of `part`
 * times the size of parameter iS, or times dp; the parameters are restored afterwards. value: workspace. Returns 0, or the code
 * that f returned. */
int cpParamDifference(const CPParams *params, CPAlong along, sunrealtype part, CVRhsFn f,
                      sunrealtype t, N_Vector y, void *data, N_Vector value, N_Vector result);
/* The size of a component y of a state for increments of differences, beside the largest of all on which anything depends */
double cpSensSize(double y, double largest);
/* ySdot = derivative of f along yS and `along`. system: that whose states have the sizes of y. moved, value: workspace;
 * error: workspace for steps that follow f, or NULL. Returns the code that f returned. */
int cpSensDirection(const CPSystem *system, const CPParams *params, CVRhsFn f, sunrealtype t,
                    N_Vector y, CPAlong along, N_Vector yS, N_Vector ySdot, N_Vector moved,
                    N_Vector value, N_Vector error, void *user_data);
/* CVSensRhs1Fn by a directional difference of f, for integrators that know f */
int cpSensDifferences(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                      N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2);
/* Computes dc/dp_iS at (t, y). *r: the vector, or NULL if it is 0. Returns 0, or a code with the
 * reason in cpWorkText(sens->work). */
int cpSensRows(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r);
/* As cpSensRows, but always by differences. To be called after cpSensRows, like the next
 * function. */
int cpSensRowsByDifferences(CPSens sens, sunrealtype t, N_Vector y, int iS, N_Vector *r);
/* sens->Gs = G s at (t, y), by a difference of sixth order along s. */
int cpSensRowsAlong(CPSens sens, sunrealtype t, N_Vector y, N_Vector s);

/* Checks that (S1) would move the start by at most its tolerance, weight [Ns], and that the user's dc/dp is right. *failed: out, the
 * sensitivity that could not be projected, with the reason in cpWorkText(sens->work), or -1. Returns 0, or a code with the
 * reason in the integrator's text otherwise. */
int cpSensCheckStart(CPSens sens, N_Vector *weight, int *failed);

/* beside.c */
/* cpSensCheckStart with the weights of sensitivities, and those of the states in mem->ewt. Returns 0, or a code with the reason in the integrator's
 * text. */
int cpSensVerify(CPSens sens);
/* Gives a one-step method the sensitivities. Returns 0 or CP_MEM_FAIL. */
int cpSensCarry(CPSens sens);

/* forward.c */
/* Gives CVODES the sensitivities, and takes them away; freeing: the integrator is being freed. Return 0 or a code. */
int cpSensJoin(CPSens sens);
void cpSensLeave(CPSens sens, int freeing);
/* CVodeSensReInit, CVodeSetSensErrCon, CPSensGetDky */
int cpSensRestartCVODES(CPSens sens, N_Vector *yS0, const char *function);
int cpSensTest(CPSens sens, const char *function);
int cpSensInterpolate(CPSens sens, sunrealtype t, int k, N_Vector *dkyS, const char *function);
/* Applies (S1) at (t, y), with y on the manifold, by the factors of sens->work, which are computed
 * if there are none. Returns the code of cpTangentTo. */
int cpSensProject(CPSens sens, sunrealtype t, N_Vector y, N_Vector ewt, int iS, N_Vector s);
/* Switches sensitivities off until CPSensReInit. */
int cpSensOff(CPIntegrator mem);
void cpSensStats(void *data, CPIntegratorSensStats *stats);
/* CPSensHooks */
void cpSensRestart(void *data);
void cpSensNewProjector(void *data);

/* sens.c: returns an array of count clones of tmpl. */
N_Vector *cpSensVectors(CPArena *arena, int count, N_Vector tmpl);
/* CPIntegratorSetSens for an initialised integrator; removes them at any time. */
/* CPSensCreate with a code. *sens: out */
int cpSensCreate(const CPParameters *parameters, N_Vector y_tmpl, CPSens *sens);
int cpSensSet(CPIntegrator mem, CPSens sens, const char *function);
/* Returns 0, or CP_NOT_SUPPORTED, which has been reported, if the attached system has events that derivatives do not pass. */
int cpSensPasses(CPIntegrator mem, const char *function);
/* Creates sens->work if there is a projector and no work yet. Returns 0 or CP_MEM_FAIL. */
int cpSensUpdate(CPSens sens);

#endif
