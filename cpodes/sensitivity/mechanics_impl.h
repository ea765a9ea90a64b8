/* What mechanics.c and mechanics_parameters.c share */
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

/* mechanics_parameters.c. Both return 0, or a code with the reason in mech->text. */
/* F, B, Z at s, with the accelerations and multipliers of the state */
int cpMechSensEvaluate(CPMechSens sens, const CPMechState *s, double *F);
/* Computes the derivatives with respect to parameter iS at the state, in byParam. */
int cpMechSensParameter(CPMechSens sens, int iS);

#endif
