/* The parts of the damped Gauss-Newton iteration (../assemble.c) with products only. */
#include "krylov_impl.h"

#include <stdio.h>

/* Residual of conjugate gradients: a correction that is good to a tenth descends as well; the last
 * ones are Project's. */
#define GOAL 1.0e-2

double cpKrylovMerit(CPWork work, int at_trial) {
  const CPKrylov k = work->krylov;
  const N_Vector c = at_trial ? k->c2 : k->c;
  N_VProd(c, k->frozen, k->p);
  return N_VDotProd(c, k->p);
}

/* Weights that stay finite: a row without gradient at the start may get one on the way. */
void cpKrylovFreeze(CPWork work) {
  const CPKrylov k = work->krylov;
  N_VProd(k->weight, k->dead, k->frozen);
  N_VLinearSum(1.0, k->weight, -1.0, k->frozen, k->frozen);
  const double largest = N_VMaxNorm(k->frozen);
  N_VLinearSum(1.0, k->frozen, largest > 0.0 ? largest : 1.0, k->dead, k->frozen);
}

int cpKrylovDirection(CPWork work) { return cpKrylovRightInverse(work, work->krylov->c, GOAL); }

int cpKrylovTrial(CPWork work, sunrealtype t, double lambda) {
  const CPKrylov k = work->krylov;
  N_VLinearSum(1.0, work->y, -lambda, k->x, work->v);
  return cpUserConstraint(work, t, work->v, k->c2);
}

void cpKrylovAccept(CPWork work) {
  N_VScale(1.0, work->v, work->y);
  N_VScale(1.0, work->krylov->c2, work->krylov->c);
}

void cpKrylovNameViolated(CPWork work, char *text, size_t length) {
  char name[CP_ROW_NAME];
  snprintf(text, length, "%s (%.3e)", cpRowName(work->P, work->worst, name),
           cpKrylovWorstResidual(work, work->krylov->c, work->worst));
}
