/* The comparison of a matrix with another one, or with central differences of sixth order. */
#include "check_impl.h"
#include "cpodes/base/differences.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/forces.h"
#include "cpodes/mechanics/kinematics.h"
#include "cpodes/mechanics/motions.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Steps, as parts of the distance in which the state changes by its own size. With the first step,
 * truncation is (2e-3 k)^6 / 140 for a function like sin(k x), below 1e-8 up to k = 50, and
 * roundoff is 1e-13 of the terms; with the second step the figures are k = 1700 and 4e-12. A function
 * may bend at the state: a ball lies beside the end of a capsule, and on one side of it the nearest
 * point is on the cylinder. It then has two derivatives, from either side, whose differences of third
 * order have (h k)^3 / 4. Of all these, the one nearest to the compared value counts, because it cannot
 * agree by chance. Where roundoff of accelerations is multiplied by the condition of M and A, or beside a point without a derivative, both
 * steps disagree, and the derivative is not known by that. */
static const double STEP[CP_CHECK_STEPS] = {2.0e-3, 6.0e-5};
static const double FROM_ONE_SIDE[3]     = {3.0, -3.0 / 2.0, 1.0 / 3.0}; /* of f(k h) - f(0) */

/* An entry matters if it changes the function by CP_CHECK_LIMIT of its terms over that distance. Terms of forces may cancel, as those of the gyroscopic torque do in a body with equal moments of
 * inertia. Such terms have the size (M u)_i u_i, and their roundoff in a difference quotient with
 * the smaller step is 5e-12 of that size, below CP_ROUNDED. This is CP_CHECK_LIMIT of an entry that matters,
 * which is CP_CHECK_LIMIT of a term. Errors are relative to the largest entry of the row, or, if that is larger, to this part of the largest
 * entry of the matrix, which may have cancelled. */
#define CANCELLED (CP_ROUNDED / (CP_CHECK_LIMIT * CP_CHECK_LIMIT))

/* ---- directions ---- */

static int setDirection(CPCheck *check, CPCheckAlong along, int j) {
  const CPMech mech    = check->mech;
  const CPMechState s  = cpCheckStateOf(&check->at);
  CPCheckPoint *d      = &check->along;
  double *const unit[] = {[CP_ALONG_U] = d->u, [CP_ALONG_Z] = d->z, [CP_ALONG_LAMBDA] = d->lambda};
  d->t                 = along == CP_ALONG_MOTION || along == CP_ALONG_TIME;
  memset(d->q, 0, (size_t)mech->nq * sizeof *d->q);
  memset(d->u, 0, (size_t)mech->nu * sizeof *d->u);
  memset(d->z, 0, (size_t)mech->nz * sizeof *d->z);
  memset(d->lambda, 0, (size_t)mech->m * sizeof *d->lambda);
  if (along == CP_ALONG_Q) return cpMechColumn(mech, s.q, j, d->q);
  if (along == CP_ALONG_MOTION) return cpMechKinematics(mech, s.q, CP_N, s.u, d->q);
  if (along != CP_ALONG_TIME) unit[along][j] = 1.0;
  return CP_SUCCESS;
}

/* Returns the tau for which x + tau dx changes by its own size or the typical one, at most `most`. */
static double reach(const double *x, const double *dx, int length, double typical, double most) {
  for (int i = 0; i < length; i++)
    if (dx[i] != 0.0) most = fmin(most, fmax(fmin(fabs(x[i]), 1.0), typical) / fabs(dx[i]));
  return most;
}

static double reachOf(const double *x, const double *dx, int length, double most) {
  return reach(x, dx, length, cpTypicalOf(cpLargest(x, length)), most);
}

static double reachOfPositions(const CPMech mech, const double *q, const double *dq, double most) {
  const double typical      = cpTypicalOf(cpMechLargestCoordinate(mech, q));
  const CPMechQuaternion *Q = mech->coords->quaternions;
  int i                     = 0;
  for (int k = 0; k < mech->coords->nquaternions; i = Q[k++].first_q + 4) {
    most = reach(q + i, dq + i, Q[k].first_q - i, typical, most);
    most = reachOf(q + Q[k].first_q, dq + Q[k].first_q, 4, most);
  }
  return reach(q + i, dq + i, mech->nq - i, typical, most);
}

/* ---- functions ---- */

static void addSizes(const double *x, int length, double *size) {
  for (int i = 0; i < length; i++) size[i] += fabs(x[i]);
}

/* y -= x, a term of y */
static void subtract(const double *x, int length, double *y, double *terms) {
  for (int i = 0; i < length; i++) y[i] -= x[i];
  addSizes(x, length, terms);
}

/* Evaluates check->value and check->terms at the point near, and may leave A and M of mech
 * there. */
static int evaluate(CPCheck *check, CPCheckValue what, int rows) {
  const CPMech mech          = check->mech;
  const CPMechState s        = cpCheckStateOf(&check->near);
  const double *lambda       = check->near.lambda;
  const CPMotionValue *drive = mech->motion;
  double *value = check->value, *terms = check->terms, *w = check->w;
  int flag = CP_SUCCESS;
  switch (what) {
  case CP_VALUE_P: flag = cpMechPositions(mech, s.t, s.q, value); break;
  case CP_VALUE_V:
  case CP_VALUE_MINUS_V: flag = cpMechVelocities(mech, s.t, s.q, s.u, value); break;
  case CP_VALUE_G:
  case CP_VALUE_GD:
    flag = cpMechMotions(mech, s.t);
    for (int k = 0; !flag && k < rows; k++)
      value[k] = what == CP_VALUE_G ? drive[k].value : drive[k].rate;
    break;
  case CP_VALUE_FORCES:
  case CP_VALUE_F:
    flag = cpMechForces(mech, &s, value);
    if (!flag) flag = cpMechAddForces(mech, &s, 1, lambda, value);
    break;
  case CP_VALUE_B: flag = cpMechB(mech, &s, value); break;
  case CP_VALUE_Z: flag = cpMechAuxiliary(mech, &s, lambda, value); break;
  case CP_VALUE_UDOT:
    flag = cpMechSolve(mech, &s, value, w);
    /* Reactions are not continuous at a singular position, nor is u'. */
    if (!flag && cpCheckRank(mech) != check->rank) memset(check->skipped, 1, (size_t)rows);
    break;
  }
  memset(terms, 0, (size_t)rows * sizeof *terms);
  if (!flag) addSizes(value, rows, terms);
  for (int i = 0; what == CP_VALUE_MINUS_V && i < rows; i++) value[i] = -value[i];
  if (!flag && what == CP_VALUE_B) { /* B = b - A a */
    flag = cpMechTimes(mech, s.t, s.q, 0, check->a, w);
    if (!flag) subtract(w, rows, value, terms);
  }
  if (!flag && (what == CP_VALUE_FORCES || what == CP_VALUE_F) && !mech->operators) {
    flag = cpMechMass(mech, s.t, s.q);
    if (!flag) cpMatTimes(&mech->userM.A, 1.0, s.u, 0.0, w);
    for (int i = 0; !flag && i < rows; i++) terms[i] += CANCELLED * fabs(w[i] * s.u[i]);
  }
  if (!flag && what == CP_VALUE_F) { /* F = f + f_lambda - M a - A^T lambda */
    flag = cpMechMass(mech, s.t, s.q);
    if (!flag) cpMatTimes(&mech->userM.A, 1.0, check->a, 0.0, w);
    if (!flag) subtract(w, rows, value, terms);
    if (!flag && mech->m > 0) flag = cpMechTimes(mech, s.t, s.q, 1, lambda, w);
    if (!flag && mech->m > 0) subtract(w, rows, value, terms);
  }
  return flag;
}

/* ---- differences ---- */

static void move(const double *x, double tau, const double *dx, int length, double *result) {
  for (int i = 0; i < length; i++) result[i] = x[i] + tau * dx[i];
}

/* A step of time of which all multiples up to three are exact beside t: a time that is rounded would change
 * functions of it by their rate times the roundoff of t. */
static double exactStep(double t, double h) {
  const double far = 4.0 * (fabs(t) + 4.0 * h), step = (far + h) - far;
  return step > 0.0 ? step : far * DBL_EPSILON;
}

/* Evaluates the function at tau along the direction. */
static int evaluateAlong(CPCheck *check, const CPComparison *c, double tau) {
  const CPMech mech     = check->mech;
  const CPCheckPoint *x = &check->at, *d = &check->along;
  CPCheckPoint *near = &check->near;
  near->t            = x->t + tau * d->t;
  move(x->q, tau, d->q, mech->nq, near->q);
  move(x->u, tau, d->u, mech->nu, near->u);
  move(x->z, tau, d->z, mech->nz, near->z);
  move(x->lambda, tau, d->lambda, mech->m, near->lambda);
  return evaluate(check, c->value, c->rows);
}

/* Along the direction, central: sum over k of w_k (f(k h) - f(-k h)) / h; from one side: sum of w_k (f(+-k h) - f(0)) / (+-h), with
 * f(0) in check->centre */
static int differentiate(CPCheck *check, const CPComparison *c, double h, CPCheckDerivatives *d) {
  for (int of = 0; of < CP_CHECK_SIDES; of++)
    memset(d->from[of], 0, (size_t)c->rows * sizeof *d->from[of]);
  for (int k = 1; k <= 3; k++)
    for (int sign = 1; sign >= -1; sign -= 2) {
      const int flag = evaluateAlong(check, c, sign * k * h);
      double *side   = d->from[sign > 0 ? CP_CHECK_ABOVE : CP_CHECK_BELOW];
      if (flag) return flag;
      for (int i = 0; i < c->rows; i++) {
        d->from[CP_CHECK_CENTRAL][i] +=
            cpCentralWeight(cpSixthOrder, sign * k) / h * check->value[i];
        side[i] += sign * FROM_ONE_SIDE[k - 1] / h * (check->value[i] - check->centre[i]);
        check->largest_terms[i] = fmax(check->largest_terms[i], check->terms[i]);
      }
    }
  return CP_SUCCESS;
}

/* Differentiates column j with both steps, and raises the floor of its rows. */
static int differentiateColumn(CPCheck *check, const CPComparison *c, int j) {
  int flag = setDirection(check, c->along, j);
  if (flag) return flag;
  const CPMech mech     = check->mech;
  const CPCheckPoint *x = &check->at, *d = &check->along;
  double distance    = d->t != 0.0 ? mech->eq->time / fabs(d->t) : INFINITY;
  const double least = d->t != 0.0 ? CP_HALF_DIGITS * fabs(x->t / d->t) : 0.0;
  const double size  = cpTypicalOf(fmax(mech->eq->typical, cpLargest(x->q, mech->nq)));
  distance           = fmin(reach(x->q, d->q, mech->nq, size, distance),
                            fmax(reachOfPositions(mech, x->q, d->q, distance), least));
  distance           = reachOf(x->u, d->u, mech->nu, distance);
  distance           = reachOf(x->z, d->z, mech->nz, distance);
  distance           = reachOf(x->lambda, d->lambda, mech->m, distance);
  if (isinf(distance)) distance = 1.0;
  memset(check->largest_terms, 0, (size_t)c->rows * sizeof *check->largest_terms);
  flag = evaluateAlong(check, c, 0.0);
  if (!flag) memcpy(check->centre, check->value, (size_t)c->rows * sizeof *check->centre);
  for (int k = 0; !flag && k < CP_CHECK_STEPS; k++)
    flag = differentiate(check, c,
                         d->t != 0.0 ? exactStep(x->t, STEP[k] * distance) : STEP[k] * distance,
                         &check->differences[k]);
  /* Differences of p do not see motions that change coordinates of their size by their roundoff. */
  const int of_p    = c->value == CP_VALUE_P && c->along == CP_ALONG_MOTION;
  const double lost = of_p ? CP_UROUND / STEP[0] * size *
                                 cpLargest(mech->A.value, (int)cpMatFirst(&mech->A, mech->nu))
                           : 0.0;
  const double rounded =
      c->value == CP_VALUE_UDOT ? CP_ROUNDED * cpCheckAccelerationTerms(check) : 0.0;
  for (int i = 0; !flag && i < c->rows; i++)
    check->row[i].floor = fmax(check->row[i].floor, fmax(CP_CHECK_LIMIT * check->largest_terms[i],
                                                         fmax(lost, rounded) / CP_CHECK_LIMIT) /
                                                        distance);
  return flag;
}

/* ---- the comparison ---- */

/* check->given <- column j of the given matrix; expected <- its mirror image, in the entries that
 * the column has. */
static int givenColumn(CPCheck *check, const CPComparison *c, int j, double *expected) {
  const CPMech mech = check->mech;
  const CPMat *J    = c->matrix;
  double *column    = check->given;
  if (!J) {
    memset(check->x, 0, (size_t)mech->nu * sizeof *check->x);
    check->x[j] = 1.0;
    return cpMechTimes(mech, check->at.t, check->at.q, 0, check->x, column);
  }
  memset(column, 0, (size_t)c->rows * sizeof *column);
  if (c->is_symmetric) memset(expected, 0, (size_t)c->rows * sizeof *expected);
  for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++) {
    const int i          = cpMatRow(J, j, k);
    const double *mirror = c->is_symmetric && J->value[k] != 0.0 ? cpMatAt(J, j, i) : NULL;
    column[i]            = J->value[k];
    if (mirror) expected[i] = *mirror;
  }
  return CP_SUCCESS;
}

/* *d <- of the derivatives of row i, with both steps, the one that is nearest to x; one from a side must be at least twice as near as the
 * central ones, which have less roundoff. Returns its distance from x, less the disagreement of both steps. sides: CP_CHECK_SIDES, or 1 for
 * the central ones alone */
static double nearest(const CPCheck *check, int i, int sides, double x, double *d) {
  double best = INFINITY, error = INFINITY;
  for (int of = CP_CHECK_CENTRAL; of < sides; of++) {
    const double by[] = {check->differences[0].from[of][i], check->differences[1].from[of][i]};
    for (int k = 0; k < CP_CHECK_STEPS; k++) {
      const double off = fabs(x - by[k]), part = of == CP_CHECK_CENTRAL ? 1.0 : 0.5;
      if (part * best <= off) continue;
      best = off, *d = by[k];
      error = fmax(0.0, off - fabs(by[0] - by[1]));
    }
  }
  return error;
}

static int compareColumn(CPCheck *check, const CPComparison *c, int j) {
  const double *given    = c->given_vector ? c->given_vector : check->given;
  const double *expected = c->is_symmetric ? check->expected : c->expected_vector;
  int flag               = CP_SUCCESS;
  if (!c->given_vector && !c->pattern) flag = givenColumn(check, c, j, check->expected);
  if (!expected && !flag) flag = differentiateColumn(check, c, j);
  for (int i = 0; !flag && i < c->rows; i++) {
    CPCheckRow *row = &check->row[i];
    double d = expected ? expected[i] : 0.0, x = c->pattern ? 0.0 : given[i], error = fabs(x - d);
    /* outside a pattern a bend is an entry, too */
    if (!expected) error = nearest(check, i, c->pattern ? 1 : CP_CHECK_SIDES, x, &d);
    if (c->pattern && cpMatAt(c->pattern, i, j)) x = d, error = 0.0;
    if (c->skipped && c->skipped[i]) continue;
    row->largest = fmax(row->largest, fmax(fabs(x), fabs(d)));
    if (!(error > row->error)) continue;
    row->error    = error;
    row->given    = x;
    row->expected = d;
    row->where    = j;
  }
  return flag;
}

double cpCheckAccelerationTerms(const CPCheck *check) {
  const CPMech mech    = check->mech;
  const double fastest = cpLargest(check->at.u, mech->nu);
  double terms         = fastest * fastest;
  for (int j = 0; !mech->operators && j < mech->nu; j++) {
    const double *M_jj = cpMatAt(&mech->userM.A, j, j);
    if (M_jj && *M_jj > 0.0) terms = fmax(terms, fabs(mech->terms.f[j]) / *M_jj);
  }
  return terms;
}

int cpCompare(CPCheck *check, const CPComparison *c, CPCheckWorst *found) {
  CPCheckRow *rows   = check->row;
  CPCheckWorst worst = {.row = -1, .col = -1};
  double matrix      = 0.0;
  int flag           = CP_SUCCESS;
  for (int i = 0; i < c->rows; i++)
    rows[i] = (CPCheckRow){.error = -1.0, .floor = CP_ROUNDED / CP_CHECK_LIMIT * c->terms};
  const int cols = c->given_vector ? 1 : c->cols;
  for (int j = 0; !flag && j < cols; j++) flag = compareColumn(check, c, j);
  if (flag) return flag;
  for (int i = 0; i < c->rows; i++) matrix = fmax(matrix, rows[i].largest);
  for (int i = 0; i < c->rows; i++) {
    const double size = fmax(fmax(rows[i].largest, rows[i].floor), CANCELLED * matrix);
    if (rows[i].error > worst.error * size)
      worst = (CPCheckWorst){rows[i].error / size, i, rows[i].where};
  }
  if (found) *found = worst;
  *c->result = fmax(*c->result, worst.error);
  if (worst.error <= CP_CHECK_LIMIT || check->code) return CP_SUCCESS;
  /* Is row `worst.row` one of A? */
  const int of_row = check->mech->eq->row_name && !c->expected_vector && !c->is_symmetric &&
                     (c->value <= CP_VALUE_MINUS_V || c->value == CP_VALUE_B);
  char place[48 + CP_MECH_ROW_NAME], name[CP_MECH_ROW_NAME] = "";
  if (of_row) cpMechRowName(check->mech, worst.row, name);
  const char *comma = of_row ? ", of " : "";
  if (c->given_vector) snprintf(place, sizeof place, "[%d]%s%s", worst.row, comma, name);
  else snprintf(place, sizeof place, "(%d, %d)%s%s", worst.row, worst.col, comma, name);
  const CPCheckRow *row = &rows[worst.row];
  check->code           = c->code;
  cpWrite(check->text, "at t = %.10g%s: %s%s is %.10g, and %s %.10g (relative error %.1e)",
          check->at.t, check->moved ? ", positions moved by half a percent" : "", c->given, place,
          row->given, c->expected, row->expected, worst.error);
  return CP_SUCCESS;
}
