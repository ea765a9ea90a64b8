/* Calls the user's functions and checks their results. Functions return 0, or a code (positive if recoverable) with
 * the reason in mech->text. */
#ifndef CPODES_MECHANICS_FUNCTIONS_H
#define CPODES_MECHANICS_FUNCTIONS_H

#include "mech.h"

/* Evaluates the motions at s->t. With FULL motions, s->q and s->u become copies with the prescribed
 * values, in workspace that lasts until the next call. */
int cpMechReadMotions(CPMech mech, CPMechState *s);
static inline int cpMechRead(CPMech mech, sunrealtype t, const sunrealtype *y, CPMechState *s) {
  *s = (CPMechState){.t = t, .q = y, .u = y + mech->nq, .z = y + mech->nq + mech->nu};
  return mech->motions->count > 0 ? cpMechReadMotions(mech, s) : CP_SUCCESS;
}
/* Converts what a user's function returned to a code. */
int cpMechResult(CPMech mech, int flag, sunrealtype t, const char *name);
/* As cpMechResult; if flag is 0, an entry of x is not finite, and -CP_MECH_NONFINITE is
 * returned. */
int cpMechWrong(CPMech mech, int flag, sunrealtype t, const char *name, const double *x);
/* Checks a user's function that returned flag and filled x [length]. Returns 0, a code, or
 * -CP_MECH_NONFINITE. */
static inline int cpMechChecked(CPMech mech, int flag, sunrealtype t, const char *name,
                                const double *x, int length) {
  return !flag && cpAllFinite(x, length) ? CP_SUCCESS : cpMechWrong(mech, flag, t, name, x);
}
/* Checks a user's function that returned flag and filled a matrix, and takes the matrix over into
 * U->A. Returns 0 or a code. */
int cpMechTake(CPMech mech, CPUserMat *U, int flag, sunrealtype t, const char *name);
/* Evaluate M into userM.A, and A into mech->A. */
int cpMechMass(CPMech mech, sunrealtype t, const sunrealtype *q);
/* Bodies are light if the forces on others lose half of their digits on them: M_jj / w_j^2 is less than CP_HALF_DIGITS of the largest one, in
 * which error weights w [nu] give masses and moments of inertia one unit. M is the one that was evaluated last. cpMechHeaviest returns the
 * largest one; any_light: out. */
double cpMechHeaviest(CPMech mech, const double *w, int *any_light);
int cpMechIsLight(CPMech mech, const double *w, double largest, int j);
int cpMechA(CPMech mech, sunrealtype t, const sunrealtype *q);
int cpMechForces(CPMech mech, const CPMechState *s, double *f);
/* r <- M a - f by the model's inverse dynamics */
int cpMechInverse(CPMech mech, const CPMechState *s, const double *a, double *r);
int cpMechPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p);
/* Without a function v, but with A, v = A u + dp/dt evaluates mech->A at q. */
int cpMechVelocities(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     double *v);
/* rates [m] <- v - A u, which does not depend on u; evaluates mech->A at q. For models with
 * matrices and without a function v. p: p(t, q) if it is known, which saves evaluations, or NULL */
int cpMechRates(CPMech mech, sunrealtype t, const sunrealtype *q, const double *p, double *rates);
/* Without a function b, differences may overwrite mech->A with values near q. */
int cpMechB(CPMech mech, const CPMechState *s, double *b);
/* Evaluates f and b into mech->terms, and M and A as above, whose entries are not tested. If one is not
 * finite, u' or the multipliers are not finite, or the factorisation fails, and cpMechTestTerms finds
 * the function at fault. */
int cpMechEvaluate(CPMech mech, const CPMechState *s);
int cpMechTestTerms(CPMech mech, sunrealtype t);
/* 1 and an entry of M that differs from its mirror image by more than tolerance times the largest entry; or 0. */
int cpMechAsymmetric(const CPMat *M, double tolerance, int *i, int *j);
/* Is the newest userM, of which factors use one triangle, symmetric? It is tested at the factorisations 1, 2, 4,
 * 8, ..., since entries may vanish at the start. */
static inline int cpMechIsMassTested(const CPMech mech) {
  return !(mech->stats.nkkt & (mech->stats.nkkt + 1));
}
int cpMechTestMass(CPMech mech, sunrealtype t);
/* Forgets how far columns of A move positions. */
void cpMechForgetReach(CPMech mech);
int cpMechAuxiliary(CPMech mech, const CPMechState *s, const double *lambda, double *zdot);
/* Sets the entries of FULL motions, which are not unknowns, in q and u to their prescribed values.
 * Returns whether an entry has changed. */
int cpMechPutFull(CPMech mech, sunrealtype *q, sunrealtype *u);
/* Sets the entries of FULL motions in q' and u' to g' and g''. */
void cpMechPutFullRates(const CPMech mech, sunrealtype *qdot, sunrealtype *udot);
/* y += c A x, or c A^T x if transposed. A has been evaluated, unless the model has products. */
int cpMechAddTimes(CPMech mech, const CPMechState *s, int transposed, double c, const double *x,
                   double *y);
/* Residuals of the implicit form at s with u' = a and lambda. F, B and Z may each be NULL.
 * F = f + f_lambda - M a - A^T lambda,  B = b - A a,  Z = zdot */
int cpMechForm(CPMech mech, const CPMechState *s, const double *a, const double *lambda, double *F,
               double *B, double *Z);
/* y [length] <- the product of x with the user's operator `function`, checked. */
int cpMechOperator(CPMech mech, CPMechTimesFn function, const char *name, sunrealtype t,
                   const sunrealtype *q, const double *x, double *y, int length);
/* Are products with A those of the user's operators? */
static inline int cpMechMultiplies(const CPMech mech) {
  return mech->operators || (mech->eq->inverse && mech->eq->Au);
}
/* y <- A x, or A^T x if transposed, by matrices or by the user's operators. */
int cpMechTimes(CPMech mech, sunrealtype t, const sunrealtype *q, int transposed, const double *x,
                double *y);

#endif
