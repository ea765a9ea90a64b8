/* Dependent rows of a mechanical system in implicit form.
 *
 * Rows that are dependent on the manifold contradict each other off it, where stages are, and their
 * multipliers are not unique. Let S scale the rows of A to unit length, let y_k be an orthonormal
 * basis of the null space of (S A)^T, and n_k one of that of A^T. The solution is then defined by
 *
 *   (1 - sum_k y_k y_k^T) S (b - A u') = 0,    sum_k n_k n_k^T lambda = 0,
 *
 * that is, by a least-squares solution of the scaled rows and the multipliers of minimum norm, which
 * are those of cpMechSolve as well. Unlike a solution with a choice of independent rows, it is a
 * smooth function of the state, and the Newton matrix may leave out other rows each time it is
 * formed. (Goldberg's linkage takes up to 2,846 steps with a choice of rows, and up to 168 like
 * this.)
 *
 * The unknown lambda keeps parts along n_k, which A^T does not see; f_lambda and zdot are evaluated
 * at (1 - sum_k n_k n_k^T) lambda. */
#include "cpodes/mechanics/forces.h"
#include "implicit.h"

#include <math.h>
#include <string.h>

int cpMechTakesLambda(const CPMech mech) { return cpMechHasLambdaForces(mech) || mech->nz > 0; }

/* Each y_k costs a solution per residual. If the null space is larger, dependent rows are only left
 * out, unless the motion can depend on their multipliers. */
enum { MOST_NULL = 50 };

/* x <- (1 - sum_k e_k e_k^T) x for an orthonormal basis [nullity][m]. Returns the largest
 * |e_k^T x|. */
static double removeParts(CPMech mech, const double *basis, double *x) {
  const int m    = mech->m;
  double largest = 0.0;
  for (int k = 0; k < mech->implicit->nullity; k++) {
    const double *e   = basis + (size_t)k * (size_t)m;
    const double part = cpDot(e, x, m);
    for (int i = 0; i < m; i++) x[i] -= part * e[i];
    largest = fmax(largest, fabs(part));
  }
  return largest;
}

double cpMechLeaveOut(CPMech mech, double *r) {
  const struct CPMechImplicit_ *own = mech->implicit;
  if (own->nullity == 0) return 0.0;
  for (int i = 0; i < mech->m; i++) r[i] /= own->size[i];
  const double largest = removeParts(mech, own->null, r);
  for (int i = 0; i < mech->m; i++) r[i] *= own->size[i];
  return largest;
}

/* Orthonormalises vector k of the basis against those before it by the Gram-Schmidt method, once more if
 * that has cancelled more than half of it. Returns the length that it had after that. */
static double orthonormalise(double *basis, int m, int k) {
  double *y = basis + (size_t)k * (size_t)m, length = sqrt(cpDot(y, y, m)), before;
  do {
    before = length;
    for (int l = 0; l < k; l++) {
      const double *other = basis + (size_t)l * (size_t)m, part = cpDot(other, y, m);
      for (int i = 0; i < m; i++) y[i] -= part * other[i];
    }
    length = sqrt(cpDot(y, y, m));
  } while (length < 0.5 * before);
  for (int i = 0; i < m; i++) y[i] /= length;
  return length;
}

const double *cpMechIdle(CPMech mech) {
  struct CPMechImplicit_ *own = mech->implicit;
  const int m                 = mech->m;
  if (!own->idle_is_old) return own->idle;
  for (int k = 0; k < own->nullity; k++) {
    const double *y = own->null + (size_t)k * (size_t)m;
    double *n       = own->idle + (size_t)k * (size_t)m;
    int exponent; /* Squares of n must neither overflow nor underflow. */
    for (int i = 0; i < m; i++) n[i] = y[i] / own->size[i];
    frexp(cpLargest(n, m), &exponent);
    for (int i = 0; i < m; i++) n[i] = ldexp(n[i], -exponent);
    orthonormalise(own->idle, m, k);
  }
  own->idle_is_old = 0;
  return own->idle;
}

/* force <- (S A)^T y, zero in FULL motions. Returns its length in the scale of the velocities. */
static double transposedTimes(CPMech mech, const CPMat *A, const double *y) {
  struct CPMechImplicit_ *own = mech->implicit;
  for (int i = 0; i < mech->m; i++) own->mu[i] = mech->rows.off[i] ? 0.0 : y[i] / own->size[i];
  cpMatTransposedTimes(A, 1.0, own->mu, 0.0, own->force);
  double square = 0.0;
  for (int j = 0; j < mech->nu; j++) {
    if (mech->motions->is_full[j]) own->force[j] = 0.0;
    square += own->scale[j] * own->force[j] * own->scale[j] * own->force[j];
  }
  return sqrt(square);
}

/* y <- y - (1 - sum_k y_k y_k^T) S^-1 mu, where A^T mu = force, with the stored factors. Multipliers
 * of dependent rows are a choice of the linear solver, which the projection removes. */
static int removeImage(CPMech mech, double *y) {
  const struct CPMechImplicit_ *own = mech->implicit;
  const int flag                    = cpSaddleMultipliers(mech->kkt, own->force, own->mu);
  if (flag) return cpSaddleFailed(mech->kkt, flag, NAN, NULL, mech->text);
  for (int i = 0; i < mech->m; i++) own->mu[i] *= own->size[i];
  removeParts(mech, own->null, own->mu);
  for (int i = 0; i < mech->m; i++) y[i] -= own->mu[i];
  return CP_SUCCESS;
}

/* cpMechTurnNull moves the y_k to the null space at the newest A. As the stored factors are those of a
 * nearby state, it iterates until |(S A)^T y| is below CP_HALF_DIGITS, or does not halve any more, because
 * of roundoff or of the distance from the manifold. If this loses more than half of a y_k, and what is left is
 * not nearly in the null space, its row is independent at the newest A: the rank changes within the step. */
int cpMechTurnNull(CPMech mech) {
  struct CPMechImplicit_ *own = mech->implicit;
  own->idle_is_old            = 1;
  for (int k = 0; k < own->nullity; k++) {
    double *y = own->null + (size_t)k * (size_t)mech->m, before = INFINITY, off = INFINITY;
    double length = 1.0;
    for (;;) {
      off = transposedTimes(mech, &mech->A, y);
      if (off < CP_HALF_DIGITS || !(off < 0.5 * before)) break;
      before         = off;
      const int flag = removeImage(mech, y);
      if (flag) return flag;
      length = fmin(length, orthonormalise(own->null, mech->m, k));
    }
    if (!(length >= 0.5 || off <= CP_NARROW_ANGLE)) {
      own->rank_is_known = 0;
      return cpReason(mech->text, -CP_KKT_RANK, "the rank of A changes within a step");
    }
  }
  return CP_SUCCESS;
}

void cpMechLengths(CPMech mech, const CPMat *A, const double *scale, double *length) {
  cpMatRowLengths(A, scale, mech->implicit->mu, length);
  const double longest = cpLargest(length, A->rows), least = cpMechLeastRow(mech, longest);
  for (int i = 0; i < A->rows; i++)
    if (length[i] <= least) length[i] = longest > 0.0 ? longest : 1.0;
}

/* If row i is dependent, the factors give a solution mu other than e_i of A^T mu = A^T e_i, and
 * S^-1 (e_i - mu) is in the null space of (S A)^T. */
int cpMechFindNull(CPMech mech) {
  struct CPMechImplicit_ *own = mech->implicit;
  const CPSaddle kkt          = mech->kkt;
  const CPMat *A              = &kkt->A;
  const int m                 = mech->m;
  own->nullity = own->dependent = 0;
  if (kkt->dependent < 0) return CP_SUCCESS;
  for (int i = 0; i < m; i++) own->dependent += kkt->is_dependent[i] && !mech->rows.off[i];
  if (own->dependent > MOST_NULL && !cpMechTakesLambda(mech)) return CP_SUCCESS;
  if (own->dependent > own->room) {
    own->room = 0;
    CP_ARRAYS(&own->arena, (size_t)own->dependent * (size_t)m, &own->null, &own->idle);
    if (cpArenaStatus(&own->arena))
      return cpReason(mech->text, CP_MEM_FAIL, "no memory for dependent rows");
    own->room = own->dependent;
  }
  cpSaddleScaleCoordinates(kkt, own->scale);
  cpMechLengths(mech, A, own->scale, own->size);
  for (int i = 0; i < m; i++) {
    if (!kkt->is_dependent[i] || mech->rows.off[i]) continue;
    double *y = own->null + (size_t)own->nullity * (size_t)m;
    memset(y, 0, (size_t)m * sizeof *y);
    y[i] = 1.0;
    transposedTimes(mech, A, y);
    const int flag = removeImage(mech, y);
    if (flag) return flag;
    orthonormalise(own->null, m, own->nullity++);
  }
  own->idle_is_old = 1;
  return CP_SUCCESS;
}

/* Gaussian elimination with pivoting: y_k leaves out the row in which it is largest, since then no other
 * row contributes more than that one to the combination that vanishes. The rows that a linear solver
 * has found dependent follow from its order. */
void cpMechFixRows(CPMech mech, char *fixed) {
  struct CPMechImplicit_ *own = mech->implicit;
  const int m = mech->m, nullity = own->nullity;
  double *y = own->idle;
  for (int i = 0; i < m; i++)
    fixed[i] = mech->rows.off[i] || (nullity == 0 && mech->kkt->is_dependent[i]);
  if (nullity > 0) memcpy(y, own->null, (size_t)nullity * (size_t)m * sizeof *y);
  own->idle_is_old = 1;
  for (int k = 0; k < nullity; k++, y += m) {
    int row = 0;
    for (int i = 1; i < m; i++)
      if (fabs(y[i]) > fabs(y[row])) row = i;
    fixed[row] = 1;
    for (int l = 1; l < nullity - k; l++) {
      double *other = y + (size_t)l * (size_t)m, part = other[row] / y[row];
      for (int i = 0; i < m; i++) other[i] -= part * y[i];
      other[row] = 0.0;
    }
  }
}

/* Forces that depend on multipliers see those without parts along the n_k. Others are of minimum norm
 * in the scale of the rows, which their factors and units do not change. */
void cpMechMakeShortest(sunrealtype *x, void *data) {
  const CPMech mech  = data;
  const double *size = mech->implicit->size;
  double *lambda     = x + mech->n;
  if (mech->implicit->nullity == 0) return;
  if (cpMechTakesLambda(mech)) {
    removeParts(mech, cpMechIdle(mech), lambda);
    return;
  }
  for (int i = 0; i < mech->m; i++) lambda[i] *= size[i];
  removeParts(mech, mech->implicit->null, lambda);
  for (int i = 0; i < mech->m; i++) lambda[i] /= size[i];
}

const double *cpMechShortest(CPMech mech, const double *lambda) {
  double *shortest = mech->implicit->shortest;
  if (mech->implicit->nullity == 0 || !cpMechTakesLambda(mech)) return lambda;
  memcpy(shortest, lambda, (size_t)mech->m * sizeof *lambda);
  removeParts(mech, cpMechIdle(mech), shortest);
  return shortest;
}
