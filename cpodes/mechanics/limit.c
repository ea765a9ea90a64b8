/* The end of a motion: a mechanism that a prescribed motion drives into a dead centre, or, as far as the
 * model knows, a singular position from which none of the velocities leads on.
 *
 * At such a state (t, q) there are multipliers with A^T lambda = 0 and lambda^T v(t, q, 0) != 0, so that no
 * velocities satisfy A u + v(t, q, 0) = 0. Near it, the solution of
 *
 *   M a + A^T lambda = 0,   A a = v(t, q, 0)
 *
 * has almost this direction. Where a motion passes a singular position, lambda^T v(t, q, 0) = 0, and the
 * solution is bounded, so that A^T lambda is not small compared with its terms.
 *
 * Where the mechanism is rigid, rows depend on others, and lambda is the part of the residual of A a = r that is orthogonal to the range of
 * A, for the rates r = v(t, q, 0) of a drive or, where it begins, its accelerations r = b(t, q, 0). */
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

/* Appends the elements of rows with large terms, each once, after `of`. Returns their number. */
static int tellElements(CPMech mech, const double *size, double largest, const double *drives,
                        sunrealtype t, const char *of, char *text) {
  enum { MOST = 8 };
  int listed = 0;
  char name[CP_MECH_ROW_NAME], last[CP_MECH_ROW_NAME] = "";
  for (int i = 0; i < mech->na && listed <= MOST; i++) {
    if (drives[i] != 0.0 || size[i] < LIMIT * largest) continue;
    cpMechAskName(mech, CP_NAME_ELEMENT, i, t, name, sizeof name);
    if (!name[0]) cpMechRowName(mech, i, name);
    if (!strcmp(name, last)) continue; /* rows of an element follow each other */
    memcpy(last, name, sizeof last);
    cpAppend(text, CP_TEXT_LENGTH, listed++ == 0 ? of : ", ");
    cpAppend(text, CP_TEXT_LENGTH, listed > MOST ? "..." : name);
  }
  return listed;
}

/* Solves for a and lambda at s, where rates are the v at rest. Returns whether A^T lambda is almost 0. */
static int isLimit(CPMech mech, const CPMechState *s, const double *zero, const double *rates,
                   double *a, double *lambda, double *size) {
  int flag = cpMechFactor(mech, s->t, s->q);
  if (!flag) flag = cpMechKkt(mech, s, zero, rates, a, lambda);
  return !flag && relativeProduct(&mech->A, lambda, a, size) < LIMIT;
}

/* The row of a drive that turns or moves a part in the row with the largest term, or -1 */
static int findDrive(CPMech mech, const double *drives, const double *size, double *largest) {
  int drive = -1;
  *largest  = 0.0;
  for (int i = 0; i < mech->m; i++) {
    *largest = fmax(*largest, size[i]);
    if (drives[i] != 0.0 && (drive < 0 || size[i] > size[drive])) drive = i;
  }
  return drive;
}

/* lambda <- the part of r that no a reaches by A a = r, if rows depend on others. Returns whether there is one. */
static int isUnreachable(CPMech mech, const double *r, double *a, double *lambda, double *size) {
  double terms = 0.0, largest = 0.0;
  for (int i = 0; i < mech->m; i++) lambda[i] = mech->rows.off[i] ? 0.0 : r[i];
  if (mech->kkt->dependent < 0 || cpSaddleSolve(mech->kkt, NULL, lambda, a, NULL)) return 0;
  cpMatTimes(&mech->A, -1.0, a, 1.0, lambda);
  for (int i = 0; i < mech->m; i++) {
    terms = fmax(terms, fabs(r[i]));
    if (mech->rows.off[i] || !mech->kkt->is_dependent[i]) lambda[i] = 0.0;
    largest = fmax(largest, fabs(lambda[i]));
  }
  if (!(largest > CP_CONTRADICTION * terms)) return 0;
  cpMatTransposedTimes(&mech->A, 1.0, lambda, 0.0, a);
  if (cpSaddleMultipliers(mech->kkt, a, size)) return 0;
  for (int i = 0; i < mech->m; i++) lambda[i] -= size[i];
  return relativeProduct(&mech->A, lambda, a, size) < LIMIT;
}

/* Does a drive ask a structure to move that is rigid at (t, q), with the rates or accelerations that begin there? */
int cpMechHeld(CPMech mech, const CPMechState *s, char *text) {
  CPArena arena = {0};
  double *zero = NULL, *r = NULL, *a = NULL, *lambda = NULL, *size = NULL, largest = 0.0;
  char name[CP_MECH_ROW_NAME] = "";
  if (!mech->eq->v || mech->operators || mech->m == 0 || mech->motions->count > 0) return 0;
  CP_ARRAYS(&arena, mech->nu, &zero, &a);
  CP_ARRAYS(&arena, mech->m, &r, &lambda, &size);
  int flag = cpArenaStatus(&arena) ? CP_MEM_FAIL : CP_SUCCESS, drive = -1;
  /* A little later, where a drive t^3 has begun */
  const CPMechState rest = {s->t + CP_HALF_DIGITS * mech->eq->time, s->q, zero, s->z};
  for (int level = 0; level < 2 && !flag && drive < 0; level++) {
    if (level == 0) flag = cpMechVelocities(mech, rest.t, rest.q, zero, r);
    else flag = cpMechB(mech, &rest, r);
    if (flag || !(cpLargest(r, mech->m) > 0.0)) continue; /* no drive: factors stay as they are */
    flag = cpMechFactor(mech, s->t, s->q);
    if (!flag && isUnreachable(mech, r, a, lambda, size))
      drive = findDrive(mech, r, size, &largest);
  }
  if (drive >= 0) cpMechAskName(mech, CP_NAME_LIMIT, drive, s->t, name, sizeof name);
  if (name[0]) {
    cpWrite(text, "at t = %.10g: %s", s->t, name);
    const int count = tellElements(mech, size, largest, r, s->t, ": ", text);
    if (count > 0) cpAppend(text, CP_TEXT_LENGTH, count > 1 ? " hold it" : " holds it");
  }
  cpArenaFree(&arena);
  return name[0] != '\0';
}

/* So near to a dead centre that rows count as dependent, the solution is that of a state which is behind by
 * LIMIT^2 of the largest velocity's coordinate, where A^T lambda is of that order. */
int cpMechLimit(sunrealtype t, N_Vector y, char *text, void *data) {
  CPMech mech = data;
  CPMechState s;
  CPArena arena = {0};
  double *zero = NULL, *rates = NULL, *a = NULL, *lambda = NULL, *size = NULL, *q = NULL, *w = NULL;
  double largest = 0.0;
  int found      = 0;
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
  const int drive = found ? findDrive(mech, rates, size, &largest) : -1;
  if (drive >= 0) {
    char name[CP_MECH_ROW_NAME];
    cpMechAskName(mech, CP_NAME_LIMIT, drive, t, name, sizeof name);
    if (!name[0])
      snprintf(name + strlen(cpMechRowName(mech, drive, name)), 40, " cannot be satisfied beyond t");
    cpWrite(text, "at t = %.10g: %s", t, name);
    tellElements(mech, size, largest, rates, t, ", a dead centre of ", text);
  }
  cpArenaFree(&arena);
  if (drive >= 0 || (!flag && cpMechHeld(mech, &s, text))) return 1;
  char state[CP_TEXT_LENGTH - 32];
  cpMechAskName(mech, CP_NAME_STATE, 0, t, state, sizeof state);
  if (!state[0]) return 0;
  cpWrite(text, "at t = %.10g: %s", t, state);
  return 1;
}

/* ---- what changes fastest, where no step passes ---- */

/* Velocities below the typical one count as that. */
void cpMechFastest(sunrealtype t, N_Vector y, char *text, size_t length, void *data) {
  CPMech mech = data;
  CPMechState s;
  CPArena arena = {0};
  double *a = NULL, *lambda = NULL, most = 0.0;
  char name[CP_MECH_ROW_NAME] = "";
  int fastest                 = -1;
  CP_ARRAYS(&arena, mech->nu, &a);
  CP_ARRAYS(&arena, mech->m, &lambda);
  int flag = cpArenaStatus(&arena) ? CP_MEM_FAIL : cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = cpMechSolve(mech, &s, a, lambda);
  const double typical = flag ? 1.0 : cpTypicalOf(cpLargest(s.u, mech->nu));
  for (int j = 0; j < mech->nu && !flag; j++) {
    const double rate = fabs(a[j]) / fmax(fabs(s.u[j]), typical);
    if (rate > most) most = rate, fastest = j;
  }
  if (fastest >= 0) cpMechAskName(mech, CP_NAME_VELOCITY, fastest, t, name, sizeof name);
  if (name[0])
    snprintf(text, length, "; a velocity of %s, %.3g, changes fastest, at a rate of %.3g", name,
             s.u[fastest], a[fastest]);
  cpArenaFree(&arena);
}
