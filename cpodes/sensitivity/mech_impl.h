/* Sensitivities of a mechanical system, by its own partial derivatives. At one state, with
 *
 *   F = f - M a - A^T lambda,   B = b - A a,   Z = zdot               a = u' and lambda held
 *
 * and x = N^+ s_q, the derivative of (a, lambda) along s = (s_q, s_u, s_z) and a parameter is
 *
 *   [ M A^T; A 0 ] [ da; dlambda ] = [ K x + C s_u + Fz s_z + Fp;  Bq x + Bu s_u + Bp ]        (S2)
 *
 * and, since that matrix is symmetric, all products with transposes need one solution, too:
 *
 *   [ M A^T; A 0 ] [ w; mu ] = [ l_u;  Zl^T l_z ],   l_u . da + l_z . Zl dlambda = w . F' + mu . B'.  (S3)
 *
 * Where (S2) does not hold or is not known (operators, forces that depend on multipliers, FULL
 * motions, kinematics of the user's) the whole right-hand side is differentiated along (s, p). */
#ifndef CPODES_SENS_MECH_IMPL_H
#define CPODES_SENS_MECH_IMPL_H

#include "cpodes/mechanics/newton/newton_impl.h"
#include "sens_impl.h"

struct CPMechSens_ {
  CPMech mech;
  const CPParams *params; /* of the integrator's sensitivities, or own */
  CPParams own;           /* of CPMechSetParams */
  CPMechParamJacFn jac;
  /* the state, its solution, and what is known there */
  int valid, has_matrices;
  long int layout, nM, nA;     /* evaluations when mech->kkt had the factors of this state */
  double t, *y, *a0, *lambda0; /* [n], [nu], [m] */
  CPPartials partials;         /* to the state, as matrices; NULL: not made yet */
  /* to parameter i: F [nu], B [m], Z [nz], p and v [m], one after another: `stride` in all */
  double *by_param;
  char *known, *checked; /* [Ns] at this state; against differences, once */
  double *values_of_p;   /* [Ns] parameters at this state */
  size_t stride;
  N_Vector value, result;         /* [stride] of differences */
  N_Vector at_y, at_moved, along; /* [n] of differences along a vector: y, work, the vector */
  double *x, *f, *b, *a, *lambda; /* [nu], [nu], [m], [nu], [m] */
  double *qdot;                   /* [nq] */
};
typedef struct CPMechSens_ *CPMechSens;

static inline double *cpByParam(const CPMechSens sens, int iS) {
  return sens->by_param + (size_t)iS * sens->stride;
}

/* mech_state.c */
/* mech->sens, created at the first use; NULL: no memory. */
CPMechSens cpMechSensOf(CPMech mech);
/* Does (S2) hold for this system? */
int cpMechSensIsDirect(const CPMech mech);
/* u', lambda and factors at (t, y), unless they are those. 0, or a code with the reason in mech->text,
 * as all that follow. */
int cpMechSensState(CPMechSens sens, sunrealtype t, const sunrealtype *y);
/* Partial derivatives there, as matrices in sens->partials: the user's, or differences of sixth order. */
int cpMechSensMatrices(CPMechSens sens);
/* Those to parameter iS, in cpByParam. */
int cpMechSensParameter(CPMechSens sens, int iS);
/* Derivatives of F, B, Z along s and parameter iS, into sens->result, by differences of sixth order. */
int cpMechSensAlong(CPMechSens sens, int iS, const sunrealtype *s);
/* Factors of the state once more, if others have taken their place. */
int cpMechSensFactor(CPMechSens sens);

#endif
