/* The parts of Newton's iteration that judge residuals: how far off a state is, what is noise, and
 * why an iteration does not converge. */
#include "cpodes/base/random.h"
#include "cpodes/mechanics/functions.h"
#include "cpodes/mechanics/kinematics.h"
#include "cpodes/mechanics/motions.h"
#include "projection.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

static int lift(CPNewton *newton, const double *r, double *x) {
  return cpMechLift(newton->self, r, x, CP_CG_RTOL_OF_STATE);
}

/* In coordinates of joints terms cancel in the entries of A, which all have those of the poses: the largest ones count for all rows. Where
 * a loop turns as a whole, what its joint is open by turns with it, and rows that depend on each other cannot make that rate zero. */
static int terms(CPNewton *newton, N_Vector x, double *result) {
  const CPMechProblem *p = newton->self;
  const CPMechFactors *f = p->factors;
  double *size           = p->own->z;
  if (f->saddle) {
    cpMechSizes(p, NV_DATA_S(x), size);
    cpMatAbsTimes(&f->A, size, result);
    double least = p->own->mech->eq->typical > 0.0 ? cpLargest(result, f->A.rows) : 0.0;
    if (least > 0.0 && p->open > 0.0)
      least += cpMechFastestTurn(p->own->mech, NV_DATA_S(x)) * p->open / CP_UROUND;
    for (int i = 0; i < f->A.rows; i++) result[i] = fmax(result[i], least);
  }
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
  for (int j = 0; j < A->cols; j++) gradient[j] = p->fixed[j] ? 0.0 : cpMatEntry(A, i, j);
  return cpMechLiftTransposed(p, gradient, mu);
}

/* ---- is A the derivative? ---- */

/* Av <- A v at own->moved */
static int timesHere(void *self, sunrealtype t, const double *v, double *Av) {
  const CPMechProjection *own = ((CPMechProblem *)self)->own;
  return cpMechFailed(((CPMechProblem *)self)->own, cpMechTimes(own->mech, t, own->moved, 0, v, Av));
}

/* *err <- how far the operator A^T is from the transpose of A, for v in newton->x, with A v in
 * rows->b. */
static int transposeError(CPMechProblem *p, sunrealtype t, unsigned *state, double *err) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  const double *v = NV_DATA_S(p->factors->newton.x), *Av = p->rows.b;
  double *w = own->mu, *ATw = own->w, terms = 0.0, both = 0.0;
  const double largest = cpLargest(Av, mech->m), least = largest > 0.0 ? 1.0e-14 * largest : 1.0;
  for (int i = 0; i < mech->m; i++) w[i] = cpUniformAwayFromZero(state) / (fabs(Av[i]) + least);
  const int flag = cpMechFailed(own, cpMechTimes(mech, t, own->moved, 1, w, ATw));
  for (int i = 0; i < mech->m; i++) both += Av[i] * w[i], terms += fabs(Av[i] * w[i]);
  for (int j = 0; j < mech->nu; j++) both -= v[j] * ATw[j], terms += fabs(v[j] * ATw[j]);
  *err = terms > 0.0 ? fabs(both) / terms : 0.0;
  return flag;
}

/* Compares A with differences at own->moved, the positions of x. */
static int compareThere(CPMechProblem *p, sunrealtype t, N_Vector x, const char *before) {
  CPMechProjection *own = p->own;
  CPNewton *newton      = &p->factors->newton;
  const CPMech mech     = own->mech;
  char *text            = cpWorkText(own->work), name[CP_ROW_NAME];
  double err = 0.0, transpose = 0.0;
  int row = -1, col = -1, flag = CP_SUCCESS;
  for (unsigned seed = 1; seed <= 2; seed++) { /* An error must show twice. */
    unsigned state = seed;
    flag           = cpDerivativeAlong(newton, t, x, timesHere, p->off, &state, &err);
    if (!flag && mech->operators) flag = transposeError(p, t, &state, &transpose);
    /* The residuals fail at these distances: nothing can be compared. */
    if (flag > 0) return CP_SUCCESS;
    if (flag) return flag;
    p->derivative_is_right = err <= CP_WRONG_JACOBIAN && transpose <= CP_INEXACT;
    if (p->derivative_is_right) return CP_SUCCESS;
  }
  if (mech->operators)
    return cpReason(text, -CP_CNSTRJAC_WRONG,
                    err > CP_WRONG_JACOBIAN
                        ? "at t = %.10g: %sthe product Au is not the derivative of the constraints "
                          "along u (relative error %.1e, CPMechCheck)"
                        : "at t = %.10g: %sthe product ATl is not the transpose of Au: (A u, l) "
                          "and (u, A^T l) differ by %.1e of their terms (CPMechCheck)",
                    t, before, err > CP_WRONG_JACOBIAN ? err : transpose);
  flag = cpDerivativeEntries(newton, t, x, &mech->A, 1, p->off, &err, &row, &col);
  if (flag) return flag > 0 ? CP_SUCCESS : flag;
  p->derivative_is_right = !(err > CP_WRONG_JACOBIAN);
  if (p->derivative_is_right) return CP_SUCCESS;
  return cpReason(text, -CP_CNSTRJAC_WRONG,
                  "at t = %.10g: %sentry (%d, %d) of the constraint Jacobian, %g, is not the "
                  "derivative of %s (relative "
                  "error %.1e of the row)",
                  t, before, row, col, cpMatEntry(&mech->A, row, col),
                  cpMechNameRow(mech, mech->model->rows.number[p->which][row], name), err);
}

/* A is the derivative with respect to rotations from the state at which it is evaluated. With
 * respect to rotations from the start of the iteration it is not, by the angle of rotation since
 * then, so the start is replaced by that state. */
int cpMechCompareDerivative(CPMechProblem *p, sunrealtype t, N_Vector x, const char *before) {
  CPMechProjection *own = p->own;
  const double *begin   = p->q;
  double *there         = NV_DATA_S(own->trial);
  int flag              = CP_SUCCESS;
  if (p->derivative_is_right) return CP_SUCCESS;
  if (p->which == CP_POSITIONS) flag = cpMechFailed(own, cpMechPositionsOf(p, t, NV_DATA_S(x)));
  if (flag) return flag;
  memcpy(own->moved, p->which == CP_POSITIONS ? own->q : p->q,
         (size_t)own->mech->nq * sizeof *begin);
  memcpy(there, NV_DATA_S(x), (size_t)own->mech->nu * sizeof *there);
  for (int j = 0; j < own->mech->nu && p->which == CP_POSITIONS; j++)
    if (own->mech->coords->pair[j] < 0) there[j] = 0.0;
  p->q            = own->moved;
  own->q_is_known = 0;
  flag            = compareThere(p, t, own->trial, before);
  p->q            = begin;
  own->q_is_known = 0;
  return flag;
}

static int compare(CPNewton *newton, sunrealtype t, N_Vector x) {
  return cpMechCompareDerivative(newton->self, t, x, "no convergence, and ");
}

static int explain(CPNewton *newton, sunrealtype t, N_Vector x, int damped) {
  const CPMechProjection *own = ((CPMechProblem *)newton->self)->own;
  const int flag              = cpRowsExplain(newton, t, x, damped);
  char motions[CP_MECH_MOTIONS];
  if (flag == -CP_PROJ_INCONSISTENT || flag == CP_IC_FAIL)
    cpAppend(cpWorkText(own->work), CP_TEXT_LENGTH, cpMechMotionNames(own->mech, motions));
  return flag;
}

const CPNewtonParts cpMechNewtonParts = {.residuals = cpMechResiduals,
                                         .renew     = cpMechRenew,
                                         CP_ROWS_PARTS,
                                         .explain     = explain,
                                         .terms       = terms,
                                         .lift        = lift,
                                         .times       = times,
                                         .combination = combination,
                                         .compare     = compare};
