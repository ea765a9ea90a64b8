/* What mechanics.c, mechanics_state.c and mechanics_parameters.c share */
#ifndef CPODES_SENSITIVITY_MECHANICS_IMPL_H
#define CPODES_SENSITIVITY_MECHANICS_IMPL_H

#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/forces.h"
#include "cpodes/mechanics/kinematics.h"
#include "cpodes/mechanics/motions.h"
#include "cpodes/mechanics/newton/newton_impl.h"
#include "sens_impl.h"

struct CPMechSens_ {
  CPArena arena;
  CPMech mech;
  CPParamPartialsFn jac;
  /* the parameters and their derivatives */
  const CPParams *params; /* NULL if there are none */
  const CPParams *theirs; /* of the integrator's sensitivities, or NULL */
  CPParams own;           /* of the newest product (CPMechJvp, CPMechVjp) */
  CPArena by_params;      /* owns the next four */
  double *by_param;       /* [Ns x stride] derivatives of F [nu], B [m], Z [nz], p and v [m] */
  char *known;            /* [Ns] known at this state */
  int leaves_udot;        /* udot_jac has left the derivatives of u' to M */
  int checked;            /* the user's have been compared with differences */
  double *values_of_p;    /* [Ns] the parameters at this state */
  size_t stride;
  /* the state, its solution, and what is known there */
  int valid, has_matrices;
  long int layout, nM, nA;     /* counters when mech->kkt had the factors of this state */
  double t, *y, *a0, *lambda0; /* [n], [nu], [m] */
  CPPartials partials; /* with respect to the state, as matrices; NULL before their first use */
  /* workspace */
  N_Vector value, result, error; /* [stride] for differences */
  N_Vector at_y, at_moved,
      along;            /* [n] for differences along a vector: y, a moved state, the vector */
  N_Vector rates_error; /* [n] for differences of the whole right-hand side */
  N_Vector solution[3]; /* [n + m] those of (y', lambda), and room for differences */
  double *x, *f, *b, *a, *lambda; /* [nu], [nu], [m], [nu], [m] */
  double *qdot;                   /* [nq] */
  /* of quadratures, which the matrices leave out */
  int has_quadratures;
  double *quadratures; /* [2 nu + nz + m][nquad] derivatives of their rates */
  double *change;      /* [nquad] along one direction */
  double *unit;        /* [n + m] a direction */
};
typedef struct CPMechSens_ *CPMechSens;

static inline double *byParam(const CPMechSens sens, int iS) {
  return sens->by_param + (size_t)iS * sens->stride;
}

static inline CPMechState stateOf(const CPMechSens sens, const double *y) {
  const CPMech mech = sens->mech;
  return (CPMechState){sens->t, y, y + mech->nq, y + mech->nq + mech->nu};
}

/* mechanics_state.c */
/* Returns mech->sens, which is created at its first use, or NULL if there is no memory. */
CPMechSens cpMechSensOf(CPMech mech);
/* Does (S2) of mechanics.c hold for this system? */
int cpMechSensIsDirect(const CPMech mech);
/* Are the derivatives of u' those of udot_jac? Forces that depend on parameters need M in any case. */
int cpMechSensIsByUdot(const CPMechSens sens);
/* Factors the matrices of the state again if other factors have replaced theirs. */
int cpMechSensFactor(CPMechSens sens);
/* Computes u', lambda and factors at (t, y), unless they are already those of this state. udot and
 * lambda: the solution that the right-hand side has just computed there; if they are NULL, it is
 * computed here. A user's recursion leaves no factors. Returns 0, or a code with the reason in
 * mech->text, like all functions below. */
int cpMechSensSetState(CPMechSens sens, sunrealtype t, const sunrealtype *y,
                       const sunrealtype *udot, const sunrealtype *lambda);
/* Computes the partial derivatives with respect to the state in sens->partials: the user's, or
 * differences of sixth order. They are those of the iteration matrix with M and A, whichever matrix
 * the integrator uses, or those of udot_jac. Rows of quadratures, which no model gives, are left out,
 * since they take six evaluations for each column. */
int cpMechSensFindMatrices(CPMechSens sens);
/* Zq += the derivatives of the rates of quadratures, which the matrices leave out. The directions are taken one by one: their sizes may
 * differ by orders. */
int cpMechSensAddQuadratures(CPMechSens sens, const double *const along[CP_DIRECTIONS], double *Zq);
/* The rows of quadratures in sens->quadratures, column by column. An adjoint needs all of them if it begins with a work. */
int cpMechSensFindQuadratures(CPMechSens sens);

/* mechanics_parameters.c. Both return 0, or a code with the reason in mech->text. */
/* F, B, Z at s, with the accelerations and multipliers of the state */
int cpMechSensEvaluate(CPMechSens sens, const CPMechState *s, double *F);
/* Computes the derivatives with respect to parameter iS at the state, in byParam. */
int cpMechSensParameter(CPMechSens sens, int iS);

#endif
