/* u' and lambda at a state: rhs.c, accelerations.c and multipliers.c */
#ifndef CPODES_MECHANICS_ACCELERATIONS_H
#define CPODES_MECHANICS_ACCELERATIONS_H

#include "mech.h"

/* Solves for a [nu] and lambda [m] at s. */
int cpMechSolve(CPMech mech, const CPMechState *s, double *a, double *lambda);
int cpMechOnManifold(void *mech, int all); /* CPSystem's on_manifold */
int cpMechStepEnds(void *mech);            /* CPSystem's ends */
void cpMechStageFree(CPMech mech);

/* As cpMechSolve, with the newest f, b, M and A, which must be those at s. */
int cpMechSolveTerms(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Are the accelerations those of the model: is there no motion and no added force, and no row off that use_rows does not tell of? */
int cpMechIsAsModelled(const CPMech mech);
/* Does udot, given in addition to M, describe the whole system? */
int cpMechKnowsUdot(const CPMech mech);
/* As cpMechSolve, but by the model's udot if cpMechKnowsUdot. */
int cpMechAccelerate(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Evaluates u' and lambda by the model's function udot, or with M and A where that leaves them to these. Returns 0 or a code. */
int cpMechUdot(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Evaluates the derivatives of u' by the model's function udot_jac, to which it tells the rows that are on. Returns what that returned: a
 * positive value also if it cannot do without those that are off, or leaves u' to M and A. */
int cpMechUdotJac(CPMech mech, const CPMechState *s, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz);
/* multipliers.c: iterates a and lambda with forces that depend on lambda. f: the other forces; b:
 * right-hand side of A a = b. */
int cpMechIterate(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                  double *lambda);
/* f -= M known, b -= A known, where known [nu] is zero except in FULL motions; there f_j = known_j.
 * M and A are those of the newest evaluation. */
void cpMechMoveKnown(CPMech mech, const double *known, double *f, double *b);
/* Solves M a + A^T lambda = f, A a = b with the stored factors, and with the prescribed
 * accelerations of FULL motions. Returns the recoverable -CP_KKT_INCONSISTENT or
 * -CP_MOTION_CONFLICT if the b of a dependent row contradicts the other rows. */
int cpMechKkt(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
              double *lambda);
/* The same where the result is one of an iteration, which does not ask whether dependent rows contradict others; and the test alone, of the
 * newest such result. */
int cpMechKktTrial(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                   double *lambda);
int cpMechKktCheck(CPMech mech, const CPMechState *s, const double *f, const double *b,
                   const double *a);
/* The size of the terms of b at the velocities u [nu]: products of lever arms, as entries of A are, with squares of velocities. Where
 * two of them cancel, as in a parallelogram, b is smaller, and its roundoff a part of this. */
double cpMechTermsOfB(const CPMat *A, const double *u);
/* Factors the KKT matrix at (t, q) for problems with given f and b, to be solved by
 * cpSaddleSolve(mech->kkt). FULL motions are held as in CPMechReduced. */
int cpMechFactor(CPMech mech, sunrealtype t, const sunrealtype *q);

#endif
