/* Partial derivatives by difference quotients of
 *
 *   F = f + f_lambda - M a - A^T lambda,   B = b - A a,   zdot          a = u' and lambda held
 *
 * or, for HALF, of u' and zdot as functions of the state. Positions are moved along N e_j. One-sided
 * ones are what an iteration needs; of sixth order where they are results (newton->sixth_order). */
#include "newton_impl.h"

#include <math.h>
#include <string.h>

/* ---- the outputs ---- */

/* What does not change in this direction is left out. */
static int evaluateF(CPMechNewtonMem newton, const CPPass *pass, const CPMechState *s,
                     const double *lambda, double *F) {
  CPMech mech = newton->mech;
  int flag    = CP_SUCCESS;
  memset(F, 0, (size_t)newton->nu * sizeof *F);
  if (pass->by != CP_BY_LAMBDA) flag = cpMechForces(mech, s, F);
  if (!flag) flag = cpMechAddLambdaForces(mech, s, lambda, F);
  if (flag || pass->by != CP_BY_Q) return flag;
  flag = cpMechMass(mech, s->t, s->q);
  if (flag) return flag;
  cpMatTimes(&mech->userM.A, -1.0, newton->a, 1.0, F);
  cpMatTransposedTimes(&mech->A, -1.0, newton->lambda, 1.0, F);
  return CP_SUCCESS;
}

static int evaluateKkt(CPMechNewtonMem newton, const CPPass *pass, const CPMechState *s,
                       const double *lambda, double *const out[CP_OUTPUTS]) {
  CPMech mech = newton->mech;
  int flag    = CP_SUCCESS;
  if (pass->of[CP_OF_B]) { /* first: it may evaluate A elsewhere */
    flag = cpMechB(mech, s->t, s->q, s->u, newton->bm);
    memcpy(out[CP_OF_B], newton->bm, (size_t)newton->na * sizeof(double));
  }
  if (!flag && pass->by == CP_BY_Q && (pass->of[CP_OF_F] || pass->of[CP_OF_B]))
    flag = cpMechA(mech, s->t, s->q);
  if (!flag && pass->of[CP_OF_B] && pass->by == CP_BY_Q)
    cpMatTimes(&mech->userA.A, -1.0, newton->a, 1.0, out[CP_OF_B]);
  if (!flag && pass->of[CP_OF_F]) flag = evaluateF(newton, pass, s, lambda, out[CP_OF_F]);
  if (!flag && pass->of[CP_OF_Z]) flag = cpMechAuxiliary(mech, s, lambda, out[CP_OF_Z]);
  return flag;
}

static int evaluateHalf(CPMechNewtonMem newton, const CPPass *pass, const CPMechState *s,
                        double *const out[CP_OUTPUTS]) {
  int flag = cpMechSolve(newton->mech, s, out[CP_OF_F], newton->bm);
  if (!flag && pass->of[CP_OF_Z]) flag = cpMechAuxiliary(newton->mech, s, newton->bm, out[CP_OF_Z]);
  return flag;
}

static int evaluate(CPMechNewtonMem newton, const CPPass *pass, const CPMechState *s,
                    const double *lambda, double *const out[CP_OUTPUTS]) {
  newton->mech->stats.nDQ++;
  return cpIsKkt(newton) ? evaluateKkt(newton, pass, s, lambda, out)
                         : evaluateHalf(newton, pass, s, out);
}

/* ---- increments ---- */

/* Truncation (0.01)^6 / 140 and roundoff DBL_EPSILON / 0.01 are of one size. */
#define SIXTH_ORDER_STEP 0.01

/* A relative change of the variable, or of its typical size, or one tolerance, over which derivatives
 * must be good anyway. weight 0: there is none. */
static double increment(double root, double x, double typical, double weight) {
  const double tolerance = weight > 0.0 ? fmin(1.0 / weight, root) : 0.0;
  return fmax(root * fmax(fabs(x), typical), tolerance);
}

/* Positions without a coordinate of their own are angles of quaternions (or the user's): size 1. */
static void setPositionSteps(CPMechNewtonMem newton, double root, const double *ewt) {
  const CPMech mech    = newton->mech;
  const double typical = cpTypicalOf(cpLargest(newton->q, mech->nq));
  for (int j = 0; j < newton->nu; j++) {
    const int i = mech->pair[j];
    newton->step[CP_BY_Q][j] =
        i < 0 ? root : increment(root, newton->q[i], typical, ewt ? ewt[i] : 0.0);
  }
}

static void setSteps(CPMechNewtonMem newton, CPDirection by, double root, const double *ewt) {
  const CPMech mech               = newton->mech;
  const double *x[CP_DIRECTIONS]  = {newton->q, newton->u, newton->z, newton->lambda};
  const int offset[CP_DIRECTIONS] = {0, mech->nq, mech->nq + mech->nu, -1},
            cols                  = cpColsOf(newton, by);
  if (by == CP_BY_Q) {
    setPositionSteps(newton, root, ewt);
    return;
  }
  const double typical = cpTypicalOf(cpLargest(x[by], cols));
  for (int j = 0; j < cols; j++) {
    const double weight   = ewt && offset[by] >= 0 ? ewt[offset[by] + j] : 0.0;
    volatile double moved = x[by][j] + increment(root, x[by][j], typical, weight);
    newton->step[by][j]   = moved - x[by][j]; /* a machine number */
  }
}

/* ---- one group of columns ---- */

/* x2 <- x with the group's columns moved by so many steps; for positions their directions into v first. */
static int moveGroup(CPMechNewtonMem newton, const CPPass *pass, double steps, const int *cols,
                     int ncols) {
  const double *x[CP_DIRECTIONS] = {NULL, newton->u, newton->z, newton->lambda};
  double *x2[CP_DIRECTIONS]      = {newton->v, newton->u2, newton->z2, newton->lambda2};
  const size_t size              = (size_t)cpColsOf(newton, pass->by) * sizeof(double);
  if (pass->by == CP_BY_Q) memset(newton->v, 0, size);
  else memcpy(x2[pass->by], x[pass->by], size);
  for (int k = 0; k < ncols; k++) x2[pass->by][cols[k]] += steps * newton->step[pass->by][cols[k]];
  return pass->by == CP_BY_Q ? cpMechMove(newton->mech, newton->q, newton->v, newton->q2)
                             : CP_SUCCESS;
}

/* Column j += weight (perturbed - before) / step */
static void addColumn(CPMechNewtonMem newton, const CPPass *pass, double *const before[CP_OUTPUTS],
                      double weight, int j) {
  for (int of = 0; of < CP_OUTPUTS; of++) {
    if (!pass->of[of]) continue;
    CPMat *J            = &newton->block[of][pass->by].J;
    const double *after = newton->perturbed[of];
    for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++) {
      const int i = cpMatRow(J, j, k);
      J->value[k] += weight * (after[i] - before[of][i]) / newton->step[pass->by][j];
    }
  }
}

static int displaced(CPMechNewtonMem newton, const CPPass *pass, double steps, const int *cols,
                     int ncols, double *const out[CP_OUTPUTS]) {
  const CPMechState s  = {.t = newton->t,
                          .q = pass->by == CP_BY_Q ? newton->q2 : newton->q,
                          .u = pass->by == CP_BY_U ? newton->u2 : newton->u,
                          .z = pass->by == CP_BY_Z ? newton->z2 : newton->z};
  const double *lambda = pass->by == CP_BY_LAMBDA ? newton->lambda2 : newton->lambda;
  const int flag       = moveGroup(newton, pass, steps, cols, ncols);
  return flag ? flag : evaluate(newton, pass, &s, lambda, out);
}

static int oneSided(CPMechNewtonMem newton, const CPPass *pass, const int *cols, int ncols) {
  const int flag = displaced(newton, pass, 1.0, cols, ncols, newton->perturbed);
  for (int k = 0; !flag && k < ncols; k++) addColumn(newton, pass, newton->value, 1.0, cols[k]);
  return flag;
}

static int sixthOrder(CPMechNewtonMem newton, const CPPass *pass, const int *cols, int ncols) {
  int flag = CP_SUCCESS;
  for (int p = 0; !flag && p < 3; p++) {
    flag = displaced(newton, pass, -(p + 1.0), cols, ncols, newton->opposite);
    if (!flag) flag = displaced(newton, pass, p + 1.0, cols, ncols, newton->perturbed);
    for (int k = 0; !flag && k < ncols; k++)
      addColumn(newton, pass, newton->opposite, cpSixthOrder[p], cols[k]);
  }
  return flag;
}

static int difference(CPMechNewtonMem newton, const CPPass *pass, const int *cols, int ncols) {
  return newton->sixth_order ? sixthOrder(newton, pass, cols, ncols)
                             : oneSided(newton, pass, cols, ncols);
}

/* ---- passes ---- */

/* lambda is often seen by few outputs, if any: do they change if all of it does? In the opposite
 * case the columns are zero. */
static int ignoresLambda(CPMechNewtonMem newton, const CPPass *pass, int *flag) {
  const CPMechState s = {newton->t, newton->q, newton->u, newton->z};
  for (int i = 0; i < newton->na; i++)
    newton->lambda2[i] = newton->lambda[i] + newton->step[CP_BY_LAMBDA][i] * (1.0 + i % 7);
  *flag = evaluate(newton, pass, &s, newton->lambda2, newton->perturbed);
  for (int of = 0; !*flag && of < CP_OUTPUTS; of++)
    if (pass->of[of] && memcmp(newton->value[of], newton->perturbed[of],
                               (size_t)cpRowsOf(newton, (CPOutput)of) * sizeof(double)))
      return 0;
  return 1;
}

static int runPass(CPMechNewtonMem newton, const CPPass *pass, const double *ewt) {
  const CPMechState s = {newton->t, newton->q, newton->u, newton->z};
  const int moves     = pass->by == CP_BY_Q || pass->by == CP_BY_U;
  setSteps(newton, pass->by, newton->sixth_order ? SIXTH_ORDER_STEP : pass->root, ewt);
  for (int of = 0; of < CP_OUTPUTS; of++)
    if (pass->of[of]) cpMatZero(&newton->block[of][pass->by].J);
  int flag = evaluate(newton, pass, &s, newton->lambda, newton->value);
  if (!flag && pass->by == CP_BY_LAMBDA && ignoresLambda(newton, pass, &flag)) return flag;
  if (pass->colors.start) {
    const int *start = pass->colors.start, *col = pass->colors.col;
    for (int g = 0; !flag && g < pass->colors.ngroups; g++)
      flag = difference(newton, pass, col + start[g], start[g + 1] - start[g]);
  } else {
    for (int j = 0; !flag && j < cpColsOf(newton, pass->by); j++)
      if (!moves || !newton->mech->is_full[j]) flag = difference(newton, pass, &j, 1);
  }
  return flag;
}

int cpNewtonDifferences(CPMechNewtonMem newton, const double *ewt) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < newton->npasses; k++) flag = runPass(newton, &newton->pass[k], ewt);
  return flag;
}
