/* Diagonally implicit methods (guide, "Diagonally implicit methods").
 *
 *   z_i = y_n + h sum_{j <= i} a_ij k_j,   k_i = f(t_n + c_i h, z_i)
 *
 * ARKODE solves for the stages, and takes one step of a given size in each call. An attempt is judged in the function that
 * ARKODE calls after a step: there the error is tested and the state projected. ARKODE never changes the size of a step,
 * and a rejected one is taken back by a reset. So two limits of ARKODE's own loop do not apply: that a failure in this
 * function ends the run, and that a reset loses the stop time and the interpolation.
 *
 * ARKODE deduces k_i from the stages that it has solved for, k_i = (z_i - y_n - ...) / (h a_ii). A new evaluation of f
 * would amplify the remaining error of the iteration by h J, besides its cost. */
#ifndef CPODES_IMPLICIT_H
#define CPODES_IMPLICIT_H

#include "onestep_impl.h"

typedef struct {
  long int njev, nlinsetups, nni;
} CPArkCounters;

typedef struct {
  void *ark;              /* ARKODE's memory, or NULL before init */
  SUNNonlinearSolver NLS; /* its Newton iteration */
  int stiffly_accurate;   /* b is the last row of A, so that k_s belongs to the end of the step */
  /* the state of ARKODE */
  int ready;           /* ARKODE is at (t, y) of the integrator */
  int in_stages;       /* the stages have begun: f asked for earlier is f(t, y) */
  int solves_first;    /* the first stage is implicit */
  int jacobian_serves; /* the newest reset is no reason for a new Jacobian */
  N_Vector handed;     /* the state that a call of ARKODE returns */
  N_Vector *k;         /* [stages] vectors owned by ARKODE, of the newest attempt */
  int stage;           /* number of the k that are known */
  /* the attempt */
  sunrealtype h, error; /* its size, and the norm of its error */
  int iterating;        /* Newton's iteration is running */
  int unsolved;     /* 0, or why the attempt failed: what the iteration returned, or a code of f */
  long int nsetups; /* number of Newton matrices when one was checked last */
  int judged, verdict; /* whether cpImplicitJudge was called, and what it returned */
  int f_failed;        /* what cpOneStepRhs returned when it failed */
  CPArkCounters base;  /* at the start */
  /* the last step's polynomial */
  N_Vector f0, f1,
      ym; /* derivatives at its ends, where f1 is f(t, y), and the solution in its middle */
  int have_f0, have_f1, have_last; /* have_last: there has been a step */
  sunrealtype *bm; /* [stages] ym = y_n + h sum bm_i k_i of order 4, or NULL if there are no such weights */
  /* workspace: weights of stages, and linear combinations of 1 + stages vectors */
  sunrealtype *w, *factor;
  N_Vector *vector;
} CPImplicit;

static inline CPImplicit *cpImplicit(CPOneStepMem mem) { return mem->own; }

/* arkode.c. Functions return 0 or a code, with the reason in base.text. */

/* Requests ARKODE's memory in base.memory. */
int cpArkCreate(CPOneStepMem mem);
/* Attempts a step of size h from (t, y), and returns 0, a positive code if a smaller step may help, or a negative one if
 * the failure is fatal. ARKODE goes on from the state that cpImplicitJudge makes of y. */
int cpArkAttempt(CPOneStepMem mem, sunrealtype h);
/* Attaches the linear solver, whose matrix is computed by the system. Returns 0 or ARKODE's code. */
int cpArkSetLinearSolver(CPOneStepMem mem, SUNLinearSolver LS, SUNMatrix S);
/* A start: the counters of cpArkStats begin at zero. */
void cpArkStart(CPOneStepMem mem);
void cpArkStats(CPOneStepMem mem, CPOneStepStats *stats);

/* implicit.c */

/* Tests the error of the attempt, and projects the state y (in, out) at its end. The norm of the error is
 * cpImplicit(mem)->error. Returns what cpArkAttempt does, where an error above 1 is no failure. */
int cpImplicitJudge(CPOneStepMem mem, N_Vector y);
/* sum = base + h sum w_i k_i, with the k of the newest attempt. If base is NULL, its term is missing. */
int cpImplicitSum(CPOneStepMem mem, N_Vector base, const sunrealtype *w, N_Vector sum);
/* Evaluates f = f(t, y) unless *have, which is then set. Returns what cpOneStepRhs does. */
int cpImplicitRhs(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector f, int *have, int output);
/* Evaluates the last step's polynomial at t beyond its end if that needs no evaluation of f. Otherwise guess keeps its
 * value. */
void cpImplicitPredict(CPOneStepMem mem, sunrealtype t, N_Vector guess);

#endif
