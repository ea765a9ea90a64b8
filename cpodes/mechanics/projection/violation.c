/* The parts of Newton's iteration that judge residuals: how far off a state is, what is noise, and why an iteration does
 * not converge. */
#include "projection.h"

#include "cpodes/base/random.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

static int residuals(CPNewton *newton, sunrealtype t, N_Vector x) {
  CPMechProblem *p = newton->self;
  CP_COUNT(p->own->work, nce);
  return cpMechResiduals(p, t, NV_DATA_S(x), p->rows.c);
}

static int renew(CPNewton *newton, sunrealtype t, N_Vector x, N_Vector ewt, int damped,
                 CPRank *rank) {
  return cpMechRenew(newton->self, t, NV_DATA_S(x), ewt, damped, rank);
}

static int lift(CPNewton *newton, const double *r, double *x) {
  return cpMechLift(newton->self, r, x, CP_GOAL_OF_STATE);
}

static int terms(CPNewton *newton, N_Vector x, double *result) {
  const CPMechFactors *f = ((CPMechProblem *)newton->self)->factors;
  if (f->saddle) cpMatAbsTimes(&f->A, NV_DATA_S(x), result);
  return f->saddle != NULL;
}

static int times(CPNewton *newton, N_Vector x, double *r) {
  return cpMechRowsTimes(newton->self, NV_DATA_S(x), r);
}

/* mu = K^T g_i */
static int combination(CPNewton *newton, int i, double *mu) {
  CPMechProblem *p = newton->self;
  const CPMat *A   = &p->factors->A;
  double *gradient = p->own->correction;
  for (int j = 0; j < A->cols; j++) {
    const double *entry = cpMatAt(A, i, j);
    gradient[j]         = entry && !p->held[j] ? *entry : 0.0;
  }
  return cpMechLiftTransposed(p, gradient, mu);
}

/* ---- is A the derivative? ---- */

/* Smallest relative error that a user cannot mean: differences are good to about 1e-7. */
#define WRONG 1.0e-2
/* (A v, w) - (v, A^T w) next to the size of its terms: roundoff leaves 1e-15, products in single precision 1e-7. */
#define NOT_TRANSPOSED 1.0e-6

/* difference <- c(t, x + d) - c(t, x - d), step d. Residuals as large as c leave noise in it. */
static int differenceAlong(CPMechProblem *p, sunrealtype t, const double *x, const double *d,
                           double *difference, double *c) {
  const CPMech mech = p->own->mech;
  double *trial     = NV_DATA_S(p->own->trial);
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (int j = 0; j < mech->nu; j++) trial[j] = x[j] + sign * d[j];
    CP_COUNT(p->own->work, nce);
    const int flag = cpMechResiduals(p, t, trial, c);
    if (flag) return flag;
    for (int i = 0; i < mech->m; i++) difference[i] = sign > 0 ? c[i] : difference[i] - c[i];
  }
  return CP_SUCCESS;
}

/* A step of central differences that component j can take. */
static double stepOf(const CPMechProblem *p, const double *x, int j) {
  const double typical = cpTypicalOf(cpLargest(x, p->own->mech->nu));
  return cbrt(CP_UROUND) * fmax(fmax(fabs(x[j]), typical), 1.0 / p->rows.w[j]);
}

/* Largest parts by which A is not the derivative along a pseudo-random vector, and A^T not the transpose of A. */
static int compareAlong(CPMechProblem *p, sunrealtype t, const double *x, const double *q,
                        unsigned seed, double *err, double *transpose) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  double *d = own->correction, *Ad = own->r, *difference = own->r2, *c = own->r3, *w = own->mu,
         *ATw  = own->w;
  double terms = 0.0, both = 0.0;
  unsigned state = seed;
  for (int j = 0; j < mech->nu; j++) d[j] = stepOf(p, x, j) * cpUniformAwayFromZero(&state);
  int flag = differenceAlong(p, t, x, d, difference, c);
  if (!flag) flag = cpMechFailed(own, cpMechATimes(mech, t, q, d, Ad));
  if (flag) return flag;
  *err = *transpose = 0.0;
  for (int i = 0; i < mech->m; i++) {
    const double size =
        fabs(difference[i]) + fabs(2.0 * Ad[i]) + 1.0e3 * CP_UROUND / WRONG * fmax(1.0, fabs(c[i]));
    if (!p->off[i]) *err = fmax(*err, fabs(difference[i] - 2.0 * Ad[i]) / size);
  }
  if (!mech->operators) return CP_SUCCESS;
  const double least = 1.0e-14 * cpLargest(Ad, mech->m);
  for (int i = 0; i < mech->m; i++)
    w[i] = cpUniformAwayFromZero(&state) / (fabs(Ad[i]) + (least > 0.0 ? least : 1.0));
  flag = cpMechFailed(own, cpMechATransposedTimes(mech, t, q, w, ATw));
  for (int i = 0; i < mech->m; i++) both += Ad[i] * w[i], terms += fabs(Ad[i] * w[i]);
  for (int j = 0; j < mech->nu; j++) both -= d[j] * ATw[j], terms += fabs(d[j] * ATw[j]);
  *transpose = terms > 0.0 ? fabs(both) / terms : 0.0;
  return flag;
}

/* The entry of A, just evaluated, that differs most from a difference quotient, as part of its row. */
static int compareEntries(CPMechProblem *p, sunrealtype t, const double *x, double *err, int *row,
                          int *col) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  double *d = own->correction, *square = own->mu, *worst = own->r, *where = own->at,
         *difference = own->r2;
  memset(d, 0, (size_t)mech->nu * sizeof *d);
  for (int i = 0; i < mech->m; i++) square[i] = 0.0, worst[i] = -1.0;
  for (int j = 0; j < mech->nu; j++) {
    d[j]           = stepOf(p, x, j);
    const int flag = differenceAlong(p, t, x, d, difference, own->r3);
    if (flag) return flag;
    for (int i = 0; i < mech->m; i++) {
      const double *entry = cpMatAt(&mech->A, i, j);
      const double a = entry ? *entry : 0.0, dq = difference[i] / (2.0 * d[j]),
                   size = fmax(fabs(a), fabs(dq)) / p->rows.w[j];
      square[i] += size * size;
      if (fabs(a - dq) / p->rows.w[j] > worst[i])
        worst[i] = fabs(a - dq) / p->rows.w[j], where[i] = j;
    }
    d[j] = 0.0;
  }
  *err = 0.0;
  for (int i = 0; i < mech->m; i++)
    if (!p->off[i] && square[i] > 0.0 && worst[i] > *err * sqrt(square[i]))
      *err = worst[i] / sqrt(square[i]), *row = i, *col = (int)where[i];
  return CP_SUCCESS;
}

int cpMechCompareDerivative(CPMechProblem *p, sunrealtype t, const double *x, const char *before) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  char *text            = cpWorkText(own->work), name[CP_ROW_NAME];
  const double *q       = p->q;
  double err = 0.0, transpose = 0.0;
  int row = -1, col = -1, flag = CP_SUCCESS;
  if (p->derivative_is_right) return CP_SUCCESS;
  if (p->which == CP_POSITIONS) flag = cpMechPositionsOf(p, t, x), q = own->q;
  if (flag) return cpMechFailed(own, flag);
  memcpy(own->moved, q, (size_t)mech->nq * sizeof *q); /* residuals use own->q */
  for (unsigned seed = 1; seed <= 2; seed++) {         /* what is wrong is so twice */
    flag = compareAlong(p, t, x, own->moved, seed, &err, &transpose);
    if (flag > 0) return CP_SUCCESS; /* the residuals do not reach that far: nothing to compare */
    if (flag) return flag;
    p->derivative_is_right = err <= WRONG && transpose <= NOT_TRANSPOSED;
    if (p->derivative_is_right) return CP_SUCCESS;
  }
  if (mech->operators)
    return cpReason(text, -CP_CNSTRJAC_WRONG,
                    err > WRONG
                        ? "at t = %.15g: %sthe product Au is not the derivative of the constraints "
                          "along u (relative error %.1e, CPMechCheck)"
                        : "at t = %.15g: %sthe product ATl is not the transpose of Au: (A u, l) "
                          "and (u, A^T l) differ by %.1e of their terms (CPMechCheck)",
                    t, before, err > WRONG ? err : transpose);
  flag = compareEntries(p, t, x, &err, &row, &col);
  if (flag) return flag > 0 ? CP_SUCCESS : flag;
  p->derivative_is_right = !(err > WRONG);
  if (p->derivative_is_right) return CP_SUCCESS;
  const double *entry = cpMatAt(&mech->A, row, col);
  return cpReason(text, -CP_CNSTRJAC_WRONG,
                  "at t = %.15g: %sentry (%d, %d) of the constraint Jacobian, %g, is not the "
                  "derivative of %s (relative "
                  "error %.1e of the row)",
                  t, before, row, col, entry ? *entry : 0.0,
                  cpMechNameRow(mech, mech->rows.number[p->which][row], name), err);
}

static int compare(CPNewton *newton, sunrealtype t, N_Vector x) {
  return cpMechCompareDerivative(newton->self, t, NV_DATA_S(x), "no convergence, and ");
}

static int explain(CPNewton *newton, sunrealtype t, N_Vector x, int damped) {
  const CPMechProjection *own = ((CPMechProblem *)newton->self)->own;
  const int flag              = cpRowsExplain(newton, t, x, damped);
  char motions[CP_MECH_MOTIONS];
  if (flag == -CP_PROJ_INCONSISTENT || flag == CP_IC_FAIL)
    cpAppend(cpWorkText(own->work), CP_TEXT_LENGTH, cpMechMotionNames(own->mech, motions));
  return flag;
}

const CPNewtonParts cpMechNewtonParts = {.residuals   = residuals,
                                         .renew       = renew,
                                         .measure     = cpRowsMeasure,
                                         .distance    = cpRowsDistance,
                                         .direction   = cpRowsDirection,
                                         .merit       = cpRowsMerit,
                                         .is_noise    = cpRowsAreNoise,
                                         .explain     = explain,
                                         .terms       = terms,
                                         .lift        = lift,
                                         .times       = times,
                                         .combination = combination,
                                         .compare     = compare};
