/* A mechanical system in implicit form: its members (implicit.c), and its dependent rows
 * (dependent.c). */
#ifndef CPODES_MECHANICS_IMPLICIT_H
#define CPODES_MECHANICS_IMPLICIT_H

#include "cpodes/mechanics/newton/newton_impl.h"

struct CPMechImplicit_ {
  CPArena arena;
  /* that of CP_REAL_FACTORS is mech->newton->S instead */
  CPNewtonMatrix S[CP_FACTORS];
  CPPartials stage[CP_FACTORS - CP_STAGE_FACTORS]; /* created on first use */
  CPImplicitSystem system;
  int any_fixed;     /* 1: a row of the Newton matrix is fixed */
  int rank_is_known; /* 1: partial derivatives need not find the dependent rows anew */
  double *scale;     /* [nu] of the velocities, by M */
  double *size;      /* [m] lengths of the rows of A in that scale: the diagonal of S^-1 */
  double *length;    /* [m] lengths of the rows of A at the newest partial derivatives */
  double *longest;   /* [m] largest of them since the start */
  double *null;      /* [nullity][m] y_k, with memory for `room` of them */
  double *idle;      /* [nullity][m] n_k, likewise, unless idle_is_old */
  int nullity, room, idle_is_old;
  int dependent; /* number of dependent rows, the nullity unless that exceeds MOST_NULL */
  /* what the newest residual leaves out of the scaled rows, and its largest acceleration */
  double left_out, largest;
  double *a, *lambda, *x, *e; /* [nu], [m], [nu + m + nz], [n] */
  double *known[2];           /* [n + m] */
  double *leading;            /* [nu + nz + m] */
  double *force, *mu;         /* [nu], [m] */
  double *shortest;           /* [m] lambda without its parts along n_k */
  double *change;             /* [max(nu, nz)] */
};

/* ---- dependent.c ---- */
/* Can the motion depend on the multipliers? */
int cpMechTakesLambda(const CPMech mech);
/* length [rows] <- lengths of the rows of A, 1 for rows of zeros. scale [nu] or NULL: of the velocities */
void cpMechLengths(CPMech mech, const CPMat *A, const double *scale, double *length);
/* Computes the y_k from the stored factors. */
int cpMechFindNull(CPMech mech);
/* Marks the rows that Newton's matrix leaves out: those that are off, and one for each y_k. fixed [m]: out */
void cpMechFixRows(CPMech mech, char *fixed);
/* Moves the y_k to the null space at the newest A. Fails if the rank changes within the step. */
int cpMechTurnNull(CPMech mech);
/* r <- S^-1 (1 - sum_k y_k y_k^T) S r. Returns the largest |y_k^T S r|. */
double cpMechLeaveOut(CPMech mech, double *r);
/* Returns the n_k [nullity][m]: S y_k is in the null space of A^T. */
const double *cpMechIdle(CPMech mech);
/* Returns the multipliers that f_lambda and zdot see: lambda without its parts along the newest
 * n_k. */
const double *cpMechShortest(CPMech mech, const double *lambda);
/* Removes the parts along the n_k from the multipliers in x (CPImplicitSystem). */
void cpMechMakeShortest(sunrealtype *x, void *data);

#endif
