/* The parts of Newton's iteration that judge residuals: how far off a state is, what is noise, and why an iteration does
 * not converge. */
#include "projection.h"

#include "cpodes/base/random.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <string.h>

/* Residual that a row without any gradient may have. */
#define ZERO_ROW_RESIDUAL 1.0e-12

static double sizeOf(const CPMechProblem *p, int i) {
  return p->size[i] > 0.0 ? p->size[i] : ZERO_ROW_RESIDUAL;
}

/* A row that nothing moves is satisfied within its tolerance: no correction can do better. */
static int isLeftAlone(const CPMechProblem *p, int i) {
  return p->is_dead[i] && fabs(p->c[i]) <= sizeOf(p, i);
}

static int residuals(void *self, sunrealtype t, N_Vector x) {
  CPMechProblem *p = self;
  cpWorkCount(p->own->work, CP_NCE, 1);
  return cpMechResiduals(p, t, NV_DATA_S(x), p->c);
}

static double measure(void *self, int *worst, double *residual) {
  const CPMechProblem *p = self;
  double violation       = 0.0;
  int row                = -1;
  for (int i = 0; i < p->own->mech->m; i++) {
    if (p->off[i] || isLeftAlone(p, i)) continue;
    const double size = sizeOf(p, i);
    if (row < 0 || fabs(p->c[i]) > violation * size) violation = fabs(p->c[i]) / size, row = i;
  }
  *worst = row < 0 ? -1 : p->own->mech->rows.number[p->which][row];
  if (residual) *residual = row < 0 ? 0.0 : p->c[row];
  return violation;
}

static double distance(void *self) {
  const CPMechProblem *p = self;
  double largest         = 0.0;
  for (int i = 0; i < p->own->mech->m; i++)
    if (p->size[i] > 0.0) largest = fmax(largest, fabs(p->c[i]) / p->size[i]);
  return largest;
}

static int direction(void *self, N_Vector x) {
  CPMechProblem *p = self;
  return cpMechLift(p, p->c, NV_DATA_S(x), CP_GOAL_OF_STATE);
}

/* The sizes of the first iteration, damped = 1, made positive: a row without gradient at the start may get one on the
 * way. */
static double merit(void *self) {
  const CPMechProblem *p = self;
  double phi             = 0.0;
  for (int i = 0; i < p->own->mech->m; i++)
    phi += (p->c[i] / p->frozen[i]) * (p->c[i] / p->frozen[i]);
  return phi;
}

static int renew(void *self, sunrealtype t, N_Vector x, N_Vector ewt, int damped, CPRank *rank) {
  CPMechProblem *p = self;
  const int m = p->own->mech->m, flag = cpMechRenew(p, t, NV_DATA_S(x), ewt, damped, rank);
  if (flag || damped != 1) return flag;
  double smallest = INFINITY;
  for (int i = 0; i < m; i++)
    if (p->size[i] > 0.0) smallest = fmin(smallest, p->size[i]);
  if (!isfinite(smallest)) smallest = 1.0;
  for (int i = 0; i < m; i++) p->frozen[i] = p->size[i] > 0.0 ? p->size[i] : smallest;
  return CP_SUCCESS;
}

/* ---- noise ---- */

/* Multiple of roundoff in the terms of a constraint below which its residual is noise. */
#define FLOOR_FACTOR 8.0
/* Are all residuals above eps at most as large as bound_i? */
static int areWithin(const CPMechProblem *p, double eps, double factor, const double *bound) {
  for (int i = 0; i < p->own->mech->m; i++)
    if (fabs(p->c[i]) > eps * p->size[i] && fabs(p->c[i]) > factor * bound[i] && !isLeftAlone(p, i))
      return 0;
  return 1;
}

/* The terms of c may be larger than A and x tell (states that are displacements). Then second differences of c along the
 * next correction are as large as c. */
static int changesLikeNoise(CPMechProblem *p, sunrealtype t, const double *x, double eps) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  double *step = own->correction, *second = own->r, *c = own->r2, *largest = own->r3,
         *trial = NV_DATA_S(own->trial);
  int flag      = cpMechLift(p, p->c, step, CP_GOAL_OF_STATE);
  if (flag) return flag < 0 ? flag : 0;
  for (int j = 0; j < mech->nu; j++)
    if (fabs(step[j]) * p->w[j] > CP_NOISE_REACH) return 0;
  memset(largest, 0, (size_t)mech->m * sizeof *largest);
  for (int multiple = 1; multiple <= 4; multiple *= 2) {
    for (int i = 0; i < mech->m; i++) second[i] = -2.0 * p->c[i];
    for (int sign = -1; sign <= 1; sign += 2) {
      for (int j = 0; j < mech->nu; j++) trial[j] = x[j] + sign * multiple * step[j];
      cpWorkCount(own->work, CP_NCE, 1);
      flag = cpMechResiduals(p, t, trial, c);
      if (flag) return flag < 0 ? flag : 0;
      for (int i = 0; i < mech->m; i++) second[i] += c[i];
    }
    for (int i = 0; i < mech->m; i++) largest[i] = fmax(largest[i], fabs(second[i]));
  }
  return areWithin(p, eps, 1.0 / CP_NOISE_PART, largest);
}

static int isNoise(void *self, sunrealtype t, N_Vector x, double eps, int thorough) {
  CPMechProblem *p = self;
  if (p->factors->saddle) { /* c_i = O(u sum_j |A_ij x_j|) */
    cpMatAbsTimes(&p->factors->A, NV_DATA_S(x), p->own->r);
    if (areWithin(p, eps, FLOOR_FACTOR * CP_UROUND, p->own->r)) return 1;
  }
  return thorough ? changesLikeNoise(p, t, NV_DATA_S(x), eps) : 0;
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
    cpWorkCount(p->own->work, CP_NCE, 1);
    const int flag = cpMechResiduals(p, t, trial, c);
    if (flag) return flag;
    for (int i = 0; i < mech->m; i++) difference[i] = sign > 0 ? c[i] : difference[i] - c[i];
  }
  return CP_SUCCESS;
}

/* A step of central differences that component j can take. */
static double stepOf(const CPMechProblem *p, const double *x, int j) {
  const double typical = cpTypicalOf(cpLargest(x, p->own->mech->nu));
  return cbrt(CP_UROUND) * fmax(fmax(fabs(x[j]), typical), 1.0 / p->w[j]);
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
                   size = fmax(fabs(a), fabs(dq)) / p->w[j];
      square[i] += size * size;
      if (fabs(a - dq) / p->w[j] > worst[i]) worst[i] = fabs(a - dq) / p->w[j], where[i] = j;
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

/* ---- why there is no convergence ---- */

/* Part of the largest residual that a best correction must leave for it to be a contradiction. */
#define REMAINS 0.1
/* Smallest coefficient with which a constraint takes part in a dependence, and most constraints that a message names. */
#define INVOLVED 1.0e-6
#define NAMED    8
/* Violations that a message of the damped iteration names */
#define NAMED_WORST 3

static void append(char *text, size_t length, const char *more) {
  const size_t used = strlen(text);
  if (used < length) snprintf(text + used, length - used, "%s", more);
}

static const char *nameOf(const CPMechProblem *p, int i, char name[CP_ROW_NAME]) {
  return cpMechNameRow(p->own->mech, p->own->mech->rows.number[p->which][i], name);
}

/* Do the residuals lie outside of what corrections can reach? Then the reason says which row keeps what. */
static int isContradiction(CPMechProblem *p, char *text, size_t length) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  const CPSaddle saddle = p->factors->saddle;
  double largest = 0.0, remains = 0.0, *left = own->r;
  char name[CP_ROW_NAME], keeps[80];
  int row = -1, named = 0;
  if (saddle && saddle->rank >= saddle->nrows) return 0;
  if (cpMechLift(p, p->c, own->correction, CP_GOAL_OF_DOUBT) ||
      cpMechRowsTimes(p, own->correction, left))
    return 0;
  for (int i = 0; i < mech->m; i++) {
    if (p->off[i] || p->is_dead[i] || !(p->size[i] > 0.0)) continue;
    largest = fmax(largest, fabs(p->c[i]) / p->size[i]);
    if (fabs(p->c[i] - left[i]) > remains * p->size[i])
      remains = fabs(p->c[i] - left[i]) / p->size[i], row = i;
  }
  if (!(remains > REMAINS * largest)) return 0;
  snprintf(keeps, sizeof keeps, ", keeps a residual of %.3e", p->c[row] - left[row]);
  if (saddle) {
    const CPMat *A   = &p->factors->A;
    double *gradient = own->correction, *mu = own->mu; /* The row is mu^T A, mu = K^T gradient. */
    snprintf(text, length, "others contradict it (rank %d of %d): %s, whose gradient is given",
             saddle->rank, saddle->nrows, nameOf(p, row, name));
    for (int j = 0; j < A->cols; j++) {
      const double *entry = cpMatAt(A, row, j);
      gradient[j]         = entry && !p->held[j] ? *entry : 0.0;
    }
    const int known = !cpMechLiftTransposed(p, gradient, mu);
    for (int k = 0; known && k < A->rows && named <= NAMED; k++) {
      if (k == row || p->off[k] || fabs(mu[k]) < INVOLVED) continue;
      append(text, length, named == 0 ? " by " : ", ");
      append(text, length, named++ == NAMED ? "..." : nameOf(p, k, name));
    }
  } else snprintf(text, length, "constraints contradict each other: %s", nameOf(p, row, name));
  append(text, length, keeps);
  return 1;
}

/* Of the damped iteration: the constraints that are violated most */
static int explainDamped(CPMechProblem *p, sunrealtype t) {
  char worst[CP_TEXT_LENGTH / 2] = "", name[CP_ROW_NAME], motions[CP_MECH_MOTIONS],
                              one[CP_ROW_NAME + 20];
  int best[NAMED_WORST] = {-1, -1, -1};
  for (int rank = 0; rank < NAMED_WORST; rank++) {
    double largest = 0.0;
    for (int i = 0; i < p->own->mech->m; i++) {
      if (i == best[0] || i == best[1] || !(fabs(p->c[i]) / p->frozen[i] > largest)) continue;
      largest    = fabs(p->c[i]) / p->frozen[i];
      best[rank] = i;
    }
    if (best[rank] < 0) break; /* All others are satisfied. */
    snprintf(one, sizeof one, "%s%s (%.3e)", rank ? ", " : "", nameOf(p, best[rank], name),
             p->c[best[rank]]);
    append(worst, sizeof worst, one);
  }
  return cpReason(cpWorkText(p->own->work), CP_IC_FAIL,
                  "at t = %.15g: no consistent state found near the one given; violated most: %s%s",
                  t, worst, cpMechMotionNames(p->own->mech, motions));
}

static int explain(void *self, sunrealtype t, N_Vector x, int damped) {
  CPMechProblem *p      = self;
  CPMechProjection *own = p->own;
  char *text            = cpWorkText(own->work);
  char name[CP_ROW_NAME], motions[CP_MECH_MOTIONS], what[CP_TEXT_LENGTH / 4],
      others[CP_TEXT_LENGTH / 2];
  int worst, row = 0;
  double residual;
  if (damped) return explainDamped(p, t);
  const double violation = measure(p, &worst, &residual);
  while (own->mech->rows.number[p->which][row] != worst) row++;
  snprintf(what, sizeof what, "%s is violated by %.3e (%.3g times its tolerance, eps = %g)",
           nameOf(p, row, name), residual, violation, cpWorkOptions(own->work).eps);
  cpMechMotionNames(own->mech, motions);
  if (p->is_dead[row])
    return cpReason(text, -CP_PROJ_INCONSISTENT,
                    "at t = %.15g: %s, and no free component can change it%s", t, what, motions);
  if (isContradiction(p, others, sizeof others))
    return cpReason(text, -CP_PROJ_INCONSISTENT, "at t = %.15g: %s, and %s%s", t, what, others,
                    motions);
  const int flag = cpMechCompareDerivative(p, t, NV_DATA_S(x), "no convergence, and ");
  if (flag) return flag;
  return cpReason(text, -CP_PROJ_CONV_FAILURE, "at t = %.15g: the projection does not converge; %s",
                  t, what);
}

const CPNewtonParts cpMechNewtonParts = {.residuals = residuals,
                                         .renew     = renew,
                                         .measure   = measure,
                                         .distance  = distance,
                                         .direction = direction,
                                         .merit     = merit,
                                         .is_noise  = isNoise,
                                         .explain   = explain};
