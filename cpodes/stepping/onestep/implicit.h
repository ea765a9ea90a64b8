/* Diagonally implicit methods (guide, "Diagonally implicit methods").
 *
 *   z_i = y_n + h sum_{j <= i} a_ij k_j,   k_i = f(t_n + c_i h, z_i)
 *
 * ARKODE solves for the stages, one step of a given size in each call. Its function after a step
 * (the hook) is where an attempt is judged: error test and projection. ARKODE never changes the size
 * of a step, and one that is rejected is taken back by a reset. So the limits of ARKODE's own
 * loop do not apply: that a failing hook ends the run, and a reset loses stop time and interpolation.
 *
 * ARKODE deduces k_i from the stages that it has solved for, k_i = (z_i - y_n - ...) / (h a_ii):
 * evaluated anew, f would amplify what the iteration left by h J (and cost an evaluation). */
#ifndef CPODES_IMPLICIT_H
#define CPODES_IMPLICIT_H

#include "onestep_impl.h"

/* Counters of ARKODE's */
typedef struct {
  long int njev, nlinsetups, nni;
} CPArkCounters;

typedef struct {
  void *ark;              /* ARKODE's memory; NULL before init */
  SUNNonlinearSolver NLS; /* its Newton iteration */
  int stiffly_accurate; /* b is the last row of A, and c_s = 1: k_s belongs to the end of the step */
  /* ARKODE's state */
  int ready;           /* ARKODE stands at (t, y) of the integrator */
  int in_stages;       /* stages are being solved for: before, f is asked for at (t, y) */
  int solves_first;    /* the first stage is implicit */
  int jacobian_serves; /* the newest reset is no reason for a new Jacobian */
  N_Vector handed;     /* what a call hands out */
  N_Vector *k;         /* [stages] ARKODE's own, of the newest attempt */
  int stage;           /* number of those that are known */
  /* the attempt */
  sunrealtype h, error; /* its size, and the norm of its error */
  int iterating;        /* inside of Newton's iteration */
  int unsolved;         /* 0, or why it failed: what it returned, or a code of f */
  long int nsetups;     /* Newton matrices that ARKODE had made when one was checked last */
  int judged, verdict;  /* what cpImplicitJudge returned */
  int f_failed;         /* what cpOneStepRhs returned when it failed */
  CPArkCounters base;   /* at the start */
  /* the last step's polynomial */
  N_Vector f0, f1, ym; /* derivatives at its ends, f1 at (t, y), and the solution in its middle */
  int have_f0, have_f1, have_last; /* have_last: there has been a step */
  sunrealtype *bm; /* [stages] ym = y_n + h sum bm_i k_i of order 4; NULL: no such weights */
  /* workspace: weights of stages, and linear combinations of 1 + stages vectors */
  sunrealtype *w, *factor;
  N_Vector *vector;
} CPImplicit;

static inline CPImplicit *cpImplicit(CPOneStepMem mem) { return mem->own; }

/* arkode.c: all return 0 or a code, with the reason in base.text.
 *
 * In base.memory. */
int cpArkCreate(CPOneStepMem mem);
/* One attempt from (t, y) with step h: 0; positive: a smaller step may help; negative: fatal. It is judged once the
 * stages are solved for: ARKODE goes on from what that makes of y. */
int cpArkAttempt(CPOneStepMem mem, sunrealtype h);
/* The linear solver whose matrix the system makes. 0, or ARKODE's code. */
int cpArkSetLinearSolver(CPOneStepMem mem, SUNLinearSolver LS, SUNMatrix S);
/* Counters begin anew; those since then. */
void cpArkStart(CPOneStepMem mem);
void cpArkStats(CPOneStepMem mem, CPOneStepStats *stats);

/* implicit.c: error test and projection of the state y (in, out) at the end of the attempt, with the norm of its error in
 * cpImplicit(mem)->error. Returns as cpArkAttempt; an error above 1 is no failure. */
int cpImplicitJudge(CPOneStepMem mem, N_Vector y);
/* sum <- base + h sum w_i k_i of the newest attempt; without base if that is NULL. */
int cpImplicitSum(CPOneStepMem mem, N_Vector base, const sunrealtype *w, N_Vector sum);

/* The last step's polynomial beyond its end, where it is known without f; otherwise guess stays. */
void cpImplicitPredict(CPOneStepMem mem, sunrealtype t, N_Vector guess);

#endif
