/* The end of a motion: a mechanism that a prescribed motion drives into a dead centre, or, as far as the
 * model knows, a singular position from which none of the velocities leads on.
 *
 * At such a state (t, q) there are multipliers with A^T lambda = 0 and lambda^T v(t, q, 0) != 0, so that no
 * velocities satisfy A u + v(t, q, 0) = 0. Near it, the solution of
 *
 *   M a + A^T lambda = 0,   A a = v(t, q, 0)
 *
 * has almost this direction. Where a motion passes a singular position, lambda^T v(t, q, 0) = 0, and the
 * solution is bounded, so that A^T lambda is not small compared with its terms. */
#include "accelerations.h"
#include "cpodes/projector/newton.h"
#include "kinematics.h"
#include "motions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A^T lambda counts as 0 below this part of its largest term. At 1e-6 of the time before a dead centre,
 * where angles are about the root of that, it is some 1e-3. Rows with larger terms than that are named. */
#define LIMIT 5.0e-3

/* *size <- |lambda_i| times the largest entry of row i of A, in lambda; returns A^T lambda relative to the
 * largest of these. */
static double relativeProduct(const CPMat *A, const double *lambda, double *product, double *size) {
  double largest = 0.0, sum = 0.0;
  memset(size, 0, (size_t)A->rows * sizeof *size);
  cpMatTransposedTimes(A, 1.0, lambda, 0.0, product);
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++) {
      const int i = cpMatRow(A, j, k);
      size[i]     = fmax(size[i], fabs(A->value[k] * lambda[i]));
      largest     = fmax(largest, size[i]);
    }
  for (int j = 0; j < A->cols; j++) sum = fmax(sum, fabs(product[j]));
  return largest > 0.0 ? sum / largest : 1.0;
}

/* Appends the elements of rows with large terms, each once. */
static void tellElements(CPMech mech, const double *size, double largest, const double *drives,
                         sunrealtype t, char *text) {
  enum { MOST = 8 };
  int listed = 0;
  char name[CP_MECH_ROW_NAME], last[CP_MECH_ROW_NAME] = "";
  for (int i = 0; i < mech->na && listed <= MOST; i++) {
    if (drives[i] != 0.0 || size[i] < LIMIT * largest) continue;
    cpMechAskName(mech, CP_NAME_ELEMENT, i, t, name, sizeof name);
    if (!name[0]) cpMechRowName(mech, i, name);
    if (!strcmp(name, last)) continue; /* rows of an element follow each other */
    memcpy(last, name, sizeof last);
    cpAppend(text, CP_TEXT_LENGTH, listed++ == 0 ? ", a dead centre of " : ", ");
    cpAppend(text, CP_TEXT_LENGTH, listed > MOST ? "..." : name);
  }
}

/* Solves for a and lambda at s, where rates are the v at rest. Returns whether A^T lambda is almost 0. */
static int isLimit(CPMech mech, const CPMechState *s, const double *zero, const double *rates,
                   double *a, double *lambda, double *size) {
  int flag = cpMechFactor(mech, s->t, s->q);
  if (!flag) flag = cpMechKkt(mech, s, zero, rates, a, lambda);
  return !flag && relativeProduct(&mech->A, lambda, a, size) < LIMIT;
}

/* So near to a dead centre that rows count as dependent, the solution is that of a state which is behind by
 * LIMIT^2 of the largest velocity's coordinate, where A^T lambda is of that order. */
int cpMechLimit(sunrealtype t, N_Vector y, char *text, void *data) {
  CPMech mech = data;
  CPMechState s;
  CPArena arena = {0};
  double *zero = NULL, *rates = NULL, *a = NULL, *lambda = NULL, *size = NULL, *q = NULL, *w = NULL;
  double largest = 0.0;
  int found = 0, drive = -1;
  if (!mech->ready || mech->operators || mech->m == 0 || mech->motions->nfull > 0) return 0;
  CP_ARRAYS(&arena, mech->nu, &zero, &a, &w);
  CP_ARRAYS(&arena, mech->m, &rates, &lambda, &size);
  CP_ARRAYS(&arena, mech->nq, &q);
  int flag = cpArenaStatus(&arena) ? CP_MEM_FAIL : cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = cpMechVelocities(mech, t, s.q, zero, rates);
  for (int i = 0; !flag && i < mech->m; i++)
    if (mech->rows.off[i]) rates[i] = 0.0;
  if (!flag && cpLargest(rates, mech->m) > 0.0) {
    found              = isLimit(mech, &s, zero, rates, a, lambda, size);
    const double speed = cpLargest(s.u, mech->nu);
    for (int j = 0; j < mech->nu && speed > 0.0; j++) w[j] = -LIMIT * LIMIT / speed * s.u[j];
    if (!found && !cpMechMove(mech, s.q, w, q))
      found = isLimit(mech, &(CPMechState){t, q, s.u, s.z}, zero, rates, a, lambda, size);
  }
  for (int i = 0; found && i < mech->m; i++) {
    largest = fmax(largest, size[i]);
    if (rates[i] != 0.0 && (drive < 0 || size[i] > size[drive])) drive = i;
  }
  if (found && drive >= 0) {
    char name[CP_MECH_ROW_NAME];
    cpMechAskName(mech, CP_NAME_LIMIT, drive, t, name, sizeof name);
    if (!name[0])
      snprintf(name + strlen(cpMechRowName(mech, drive, name)), 40, " cannot be satisfied beyond t");
    cpWrite(text, "at t = %.10g: %s", t, name);
    tellElements(mech, size, largest, rates, t, text);
  }
  cpArenaFree(&arena);
  if (found && drive >= 0) return 1;
  char state[CP_TEXT_LENGTH - 32];
  cpMechAskName(mech, CP_NAME_STATE, 0, t, state, sizeof state);
  if (!state[0]) return 0;
  cpWrite(text, "at t = %.10g: %s", t, state);
  return 1;
}
