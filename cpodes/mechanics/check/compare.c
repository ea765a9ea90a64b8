/* Central differences of sixth order, and the comparison of matrices with them. */
#include "check_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Steps, as parts of the distance in which the state changes by its own size. With the first, truncation
 * is (2e-3 k)^6 / 140 for a function like sin(k x), below 1e-8 up to k = 50, and roundoff 1e-13 of
 * its terms; with the second k = 1700 and 4e-12. Of both derivatives the one nearer to what it is
 * compared with counts: it cannot agree by chance. */
static const double STEP[2] = {2.0e-3, 6.0e-5};

/* An entry matters if it changes the function by this part of its terms over that distance. */
#define RELEVANT 1.0e-4
/* A row is measured by its own largest entry, but at least by this part of the matrix'. */
#define LEAST_ROW 1.0e-3

/* ---- directions ---- */

static void noDirection(CPCheck *check) {
  const CPMech mech = check->mech;
  check->dt         = 0.0;
  memset(check->dq, 0, (size_t)mech->nq * sizeof(double));
  memset(check->du, 0, (size_t)mech->nu * sizeof(double));
  memset(check->dz, 0, (size_t)mech->nz * sizeof(double));
  memset(check->dl, 0, (size_t)mech->m * sizeof(double));
}

int cpAlongPosition(CPCheck *check, int j) {
  noDirection(check);
  return cpMechColumn(check->mech, check->s.q, j, check->dq);
}

int cpAlongVelocity(CPCheck *check, int j) {
  noDirection(check);
  check->du[j] = 1.0;
  return CP_SUCCESS;
}

int cpAlongAuxiliary(CPCheck *check, int j) {
  noDirection(check);
  check->dz[j] = 1.0;
  return CP_SUCCESS;
}

int cpAlongMultiplier(CPCheck *check, int j) {
  noDirection(check);
  check->dl[j] = 1.0;
  return CP_SUCCESS;
}

void cpAlongTime(CPCheck *check) {
  noDirection(check);
  check->dt = 1.0;
}

int cpAlongMotion(CPCheck *check) {
  cpAlongTime(check);
  return cpMechKinematics(check->mech, check->s.q, CP_N, check->s.u, check->dq);
}

/* tau for which x + tau dx changes by its own size; at most `most`. */
static double reach(const double *x, const double *dx, int length, double most) {
  const double typical = cpTypicalOf(cpLargest(x, length));
  for (int i = 0; i < length; i++)
    if (dx[i] != 0.0) most = fmin(most, fmax(fmin(fabs(x[i]), 1.0), typical) / fabs(dx[i]));
  return most;
}

static double reachOfDirection(const CPCheck *check) {
  const CPMech mech = check->mech;
  double most       = check->dt != 0.0 ? mech->difference_time / fabs(check->dt) : INFINITY;
  most              = reach(check->q, check->dq, mech->nq, most);
  most              = reach(check->u, check->du, mech->nu, most);
  most              = reach(check->z, check->dz, mech->nz, most);
  most              = reach(check->lambda, check->dl, mech->m, most);
  return isinf(most) ? 1.0 : most;
}

/* ---- differences ---- */

static void move(const double *x, double tau, const double *dx, int length, double *result) {
  for (int i = 0; i < length; i++) result[i] = x[i] + tau * dx[i];
}

/* check->f = f at tau along the direction */
static int evaluateAt(CPCheck *check, const CPFunction *f, double tau) {
  const CPMech mech   = check->mech;
  const CPMechState s = {check->s.t + tau * check->dt, check->q2, check->u2, check->z2};
  move(check->q, tau, check->dq, mech->nq, check->q2);
  move(check->u, tau, check->du, mech->nu, check->u2);
  move(check->z, tau, check->dz, mech->nz, check->z2);
  move(check->lambda, tau, check->dl, mech->m, check->lambda2);
  const int flag = f->evaluate(check, &s, check->lambda2, check->f, check->terms);
  for (int i = 0; !flag && i < f->rows; i++)
    check->largest_f[i] = fmax(check->largest_f[i], check->terms[i]);
  return flag;
}

static int differentiate(CPCheck *check, const CPFunction *f, double h, double *derivative) {
  int flag = CP_SUCCESS;
  memset(derivative, 0, (size_t)f->rows * sizeof *derivative);
  for (int k = 1; !flag && k <= 3; k++)
    for (int sign = 1; !flag && sign >= -1; sign -= 2) {
      flag = evaluateAt(check, f, sign * k * h);
      for (int i = 0; !flag && i < f->rows; i++)
        derivative[i] += sign * cpSixthOrder[k - 1] / h * check->f[i];
    }
  return flag;
}

/* ---- comparison ---- */

void cpCompareBegin(CPCheck *check, int rows) {
  for (int i = 0; i < rows; i++) {
    check->largest[i] = check->floor[i] = 0.0;
    check->given[i] = check->expected[i] = 0.0;
    check->error[i]                      = -1.0;
    check->where[i]                      = 0;
  }
}

void cpCompareEntry(CPCheck *check, int i, int j, double given, double expected) {
  const double error = fabs(given - expected);
  check->largest[i]  = fmax(check->largest[i], fmax(fabs(given), fabs(expected)));
  if (!(error > check->error[i])) return;
  check->error[i]    = error;
  check->given[i]    = given;
  check->expected[i] = expected;
  check->where[i]    = j;
}

/* Column j by both steps, and the least size of its rows' largest entries. */
static int differentiateColumn(CPCheck *check, const CPFunction *f) {
  const double distance = reachOfDirection(check);
  memset(check->largest_f, 0, (size_t)f->rows * sizeof *check->largest_f);
  int flag = differentiate(check, f, STEP[0] * distance, check->difference[0]);
  if (!flag) flag = differentiate(check, f, STEP[1] * distance, check->difference[1]);
  for (int i = 0; !flag && i < f->rows; i++)
    check->floor[i] = fmax(check->floor[i], RELEVANT * check->largest_f[i] / distance);
  return flag;
}

static double nearer(double given, double a, double b) {
  return fabs(given - a) < fabs(given - b) ? a : b;
}

int cpCompareColumn(CPCheck *check, const CPFunction *f, int j, const double *given) {
  const int flag = differentiateColumn(check, f);
  for (int i = 0; !flag && i < f->rows; i++)
    cpCompareEntry(check, i, j, given[i],
                   nearer(given[i], check->difference[0][i], check->difference[1][i]));
  return flag;
}

int cpCompareOutside(CPCheck *check, const CPFunction *f, int j, const CPMat *pattern) {
  const int flag = differentiateColumn(check, f);
  for (int i = 0; !flag && i < f->rows; i++) {
    const double d = nearer(0.0, check->difference[0][i], check->difference[1][i]);
    cpCompareEntry(check, i, j, cpMatAt(pattern, i, j) ? d : 0.0, d);
  }
  return flag;
}

/* Row with the largest relative error, *error; -1: nothing was compared. */
static int worstRow(const CPCheck *check, int rows, double *error) {
  double matrix = 0.0;
  int worst     = -1;
  *error        = 0.0;
  for (int i = 0; i < rows; i++) matrix = fmax(matrix, check->largest[i]);
  for (int i = 0; i < rows; i++) {
    const double size = fmax(fmax(check->largest[i], check->floor[i]), LEAST_ROW * matrix);
    if (!(check->error[i] > *error * size)) continue;
    *error = check->error[i] / size;
    worst  = i;
  }
  return worst;
}

static void describe(CPCheck *check, int i, double error, const CPVerdict *verdict) {
  char place[48];
  if (verdict->single) snprintf(place, sizeof place, "[%d]", i);
  else snprintf(place, sizeof place, "(%d, %d)", i, check->where[i]);
  check->code = verdict->code;
  cpWrite(check->text, "at t = %.15g%s: %s%s is %.10g, and %s %.10g (relative error %.1e)",
          check->s.t, check->moved ? ", positions moved by half a percent" : "", verdict->given,
          place, check->given[i], verdict->expected, check->expected[i], error);
}

void cpCompareEnd(CPCheck *check, int rows, const CPVerdict *verdict, sunrealtype *result, int *row,
                  int *col) {
  double error;
  const int i = worstRow(check, rows, &error);
  if (i >= 0 && error > *result) {
    *result = error;
    if (row) *row = i;
    if (col) *col = check->where[i];
  }
  if (i >= 0 && error > CP_CHECK_LIMIT && !check->code) describe(check, i, error, verdict);
}

/* ---- helpers ---- */

void cpColumnOf(const CPMat *J, int j, double *column) {
  memset(column, 0, (size_t)J->rows * sizeof *column);
  for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++)
    column[cpMatRow(J, j, k)] = J->value[k];
}
