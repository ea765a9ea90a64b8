/* Accelerations and multipliers: M a + A^T lambda = f, A a = b.
 *
 * Accelerations a_j = g'' of FULL motions are not unknowns: rows and columns j of M are replaced by
 * those of the identity, columns j of A by zeros, and their terms move to the right-hand sides:
 *
 *   f_k - sum_j M_kj g_j'',   b - sum_j A_j g_j''. */
#include "accelerations.h"
#include "constraints.h"
#include "forces.h"
#include "functions.h"
#include "kinematics.h"
#include "motions.h"

#include "cpodes/projector/newton.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* K [n n] <- M + A^T A, which is positive definite if M is where A x = 0 */
static void addSquares(const CPMech mech, double *K) {
  const int n    = mech->nu;
  const CPMat *M = &mech->userM.A, *A = &mech->A;
  for (int j = 0; j < n; j++) {
    for (size_t k = cpMatFirst(M, j); k < cpMatFirst(M, j + 1); k++)
      K[cpMatRow(M, j, k) * n + j] += M->value[k];
    for (int i = 0; i < n; i++)
      for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++)
        if (!mech->rows.off[cpMatRow(A, j, k)])
          K[i * n + j] += A->value[k] * cpMatEntry(A, cpMatRow(A, j, k), i);
  }
}

/* The velocity that M holds least where A x = 0: that at which Cholesky's factorisation with pivoting of M + A^T A, scaled to unit diagonal,
 * ends. Larger systems are not examined, as the cost grows with the third power. Returns -1 then, and if out of memory. */
static int leastHeld(CPMech mech) {
  enum { MOST_VELOCITIES = 500 };
  const int n = mech->nu;
  double *K   = n > MOST_VELOCITIES ? NULL : calloc((size_t)n * ((size_t)n + 1), sizeof *K);
  int least   = -1;
  if (!K) return -1;
  double *done = K + n * n;
  addSquares(mech, K);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) /* the diagonal last */
      if (i != j) K[i * n + j] /= sqrt(fmax(K[i * n + i], DBL_MIN) * fmax(K[j * n + j], DBL_MIN));
  for (int i = 0; i < n; i++) K[i * n + i] = K[i * n + i] > 0.0;
  for (int k = 0; k < n; k++) {
    int p = -1;
    for (int i = 0; i < n; i++)
      if (done[i] == 0.0 && (p < 0 || K[i * n + i] > K[p * n + p])) p = i;
    least = p; /* that of the least pivot */
    if (!(K[p * n + p] > n * DBL_EPSILON)) break;
    done[p] = 1.0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n && done[i] == 0.0; j++)
        if (done[j] == 0.0) K[i * n + j] -= K[i * n + p] * K[p * n + j] / K[p * n + p];
  }
  free(K);
  return least;
}

CP_RARE static int notDefinite(CPMech mech, sunrealtype t) {
  char name[CP_MECH_ROW_NAME] = "";
  const int j                 = leastHeld(mech);
  if (j >= 0) cpMechAskName(mech, CP_NAME_VELOCITY, j, t, name, sizeof name);
  return cpReason(mech->text, -CP_MASS_INDEFINITE,
                  "at t = %.10g: M must be positive definite where A x = 0, and is not (%s)%s%s%s",
                  t, cpSaddleName(mech->kkt), name[0] ? ": " : "", name,
                  name[0] ? " has a motion that moves no mass, or too little of it" : "");
}

CP_RARE static int failedFactor(CPMech mech, sunrealtype t, int flag) {
  switch (flag) {
  case CP_SADDLE_NOT_DEFINITE: return notDefinite(mech, t);
  case CP_SADDLE_DEPENDENT: {
    char name[CP_MECH_ROW_NAME];
    return cpReason(mech->text, -CP_KKT_RANK,
                    "at t = %.10g: %s depends on others, up to an angle that the KKT solver '%s' "
                    "cannot resolve (CP_LINSOL_QR can)",
                    t, cpMechRowName(mech, mech->kkt->dependent, name), cpSaddleName(mech->kkt));
  }
  case CP_SADDLE_NONFINITE: return cpMechTestTerms(mech, t);
  default: return cpSaddleFailed(mech->kkt, flag, t, NULL, mech->text);
  }
}

/* The largest part of its terms, relative to x, that an entry of solve.residual is in the rows that
 * are on. */
static double largestPart(CPMech mech, const double *x) {
  return cpRelativeDistance(&mech->A, mech->solve.residual, mech->rows.off, x, NULL,
                            mech->solve.rhs, mech->solve.rhs_b);
}

/* *distance <- largestPart of p with x_j = q_j, but no less than their typical size, or 1 (radian) if velocity j has no
 * coordinate. */
static int relativeDistance(CPMech mech, sunrealtype t, const sunrealtype *q, double *distance) {
  double *size   = mech->solve.rhs;
  const int flag = cpMechPositions(mech, t, q, mech->solve.residual);
  for (int j = 0; j < mech->nu; j++) {
    const int i = mech->coords->pair[j];
    size[j]     = i >= 0 ? fmax(fabs(q[i]), mech->eq->typical) : 1.0;
  }
  *distance = flag ? 0.0 : largestPart(mech, size);
  return flag;
}

/* Adds to the reason how far the state is off the manifold: rows that are dependent on the manifold
 * contradict each other off it, whatever their b. */
CP_RARE static int tellDistance(CPMech mech, const CPMechState *s, int flag) {
  char reason[CP_TEXT_LENGTH];
  double distance = 0.0;
  strcpy(reason, mech->text);
  if (relativeDistance(mech, s->t, s->q, &distance)) return flag;
  if (cpMechVelocities(mech, s->t, s->q, s->u, mech->solve.residual)) return flag;
  const double slip = largestPart(mech, s->u);
  return cpReason(
      mech->text, flag,
      "%.*s; the state is off the manifold by %.1e of the terms of p and %.1e of those of v%s",
      CP_TEXT_LENGTH - 200, reason, distance, slip,
      fmax(distance, slip) > CP_INEXACT ? ", which may be why" : ": are p, v and b right?");
}

/* *ranktol <- the sine below which rows count as dependent. It depends on the distance from the
 * manifold, until the rows in use are known to be independent; an action may use rows that the
 * system does not. */
CP_RARE static int chooseRankTolerance(CPMech mech, sunrealtype t, const sunrealtype *q,
                                       double *ranktol) {
  double distance = 0.0;
  const int flag  = relativeDistance(mech, t, q, &distance);
  *ranktol        = cpSaddleZeroAngle(mech->kkt, distance);
  return flag;
}

/* reduced <- M and A with FULL motions held (cpMatFix); evaluates the motions at t. */
CP_RARE static int reduce(CPMech mech, sunrealtype t) {
  const CPMat *M = &mech->reduced.M, *A = &mech->reduced.A;
  memcpy(M->value, mech->userM.A.value, cpMatEntries(M) * sizeof *M->value);
  memcpy(A->value, mech->A.value, cpMatEntries(A) * sizeof *A->value);
  cpMatFix(&mech->reduced.M, &mech->reduced.A, mech->motions->is_full);
  return cpMechMotions(mech, t);
}

/* Factors the newest M and A, which must be those at (t, q). */
static int factor(CPMech mech, sunrealtype t, const sunrealtype *q) {
  const int full = mech->motions->nfull > 0;
  CPSaddle kkt   = mech->kkt;
  double ranktol = 0.0;
  int flag       = CP_SUCCESS;
  if (mech->solve.off != mech->rows.off) cpSaddleUseRows(kkt, mech->solve.off = mech->rows.off);
  if (!kkt->knows_rows) flag = chooseRankTolerance(mech, t, q, &ranktol);
  if (!flag && full) flag = reduce(mech, t);
  if (!flag && cpMechIsMassTested(mech)) flag = cpMechTestMass(mech, t);
  if (flag) return flag;
  mech->stats.nkkt++;
  flag = cpSaddleFactor(kkt, (CPWeight){.matrix = full ? &mech->reduced.M : &mech->userM.A},
                        full ? &mech->reduced.A : &mech->A, ranktol);
  if (flag) return failedFactor(mech, t, flag);
  mech->stats.rank   = kkt->rank;
  mech->stats.unique = kkt->dependent < 0;
  return CP_SUCCESS;
}

int cpMechFactor(CPMech mech, sunrealtype t, const sunrealtype *q) {
  int flag = cpMechMass(mech, t, q);
  if (!flag) flag = cpMechA(mech, t, q);
  return flag ? flag : factor(mech, t, q);
}

/* ---- right-hand sides ---- */

void cpMechMoveKnown(CPMech mech, const double *known, double *f, double *b) {
  cpMatTimes(&mech->userM.A, -1.0, known, 1.0, f);
  cpMatTimes(&mech->A, -1.0, known, 1.0, b);
  for (int j = 0; j < mech->nu; j++)
    if (mech->motions->is_full[j]) f[j] = known[j];
}

/* rhs, rhs_b <- f, b minus the columns of FULL motions times their g''. */
CP_RARE static void moveFull(CPMech mech, const double *f, const double *b) {
  double *known = mech->solve.known;
  memcpy(mech->solve.rhs, f, (size_t)mech->nu * sizeof *f);
  memcpy(mech->solve.rhs_b, b, (size_t)mech->m * sizeof *b);
  memset(known, 0, (size_t)mech->nu * sizeof *known);
  for (int k = 0; k < mech->motions->count; k++)
    if (mech->motions->list[k].how == CP_MOTION_FULL)
      known[mech->motions->list[k].j] = mech->motion[k].curvature;
  cpMechMoveKnown(mech, known, mech->solve.rhs, mech->solve.rhs_b);
}

static double largestProduct(const CPMat *A, const double *a) {
  double largest = 0.0;
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++)
      largest = fmax(largest, fabs(A->value[k] * a[j]));
  return largest;
}

double cpMechTermsOfB(const CPMat *A, const double *u) {
  double size = 0.0;
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++)
      size = fmax(size, fabs(A->value[k]) * u[j] * u[j]);
  return size;
}

/* Returns the largest |A a - b|_i of the dependent rows. worst: out, its row; terms: out, the
 * largest terms of all rows. In coordinates of joints those of b cancel within a row where bodies turn alike, as the cranks of a
 * parallelogram do: with one row for each joint, they would be entries of b. */
static double contradiction(CPMech mech, const CPMechState *s, const double *a, const double *b,
                            int *worst, double *terms) {
  double largest = 0.0, *r = mech->solve.residual;
  memcpy(r, b, (size_t)mech->m * sizeof *r);
  *terms = mech->eq->typical * cpMechTermsOfB(&mech->kkt->A, s->u);
  for (int i = 0; i < mech->m; i++) *terms = fmax(*terms, fabs(b[i]));
  cpMatTimes(&mech->kkt->A, -1.0, a, 1.0, r);
  for (int i = 0; i < mech->m; i++) {
    if (mech->rows.off[i]) continue;
    *terms = fmax(*terms, fabs(r[i] - b[i]));
    if (!mech->kkt->is_dependent[i] || !(fabs(r[i]) > largest)) continue;
    largest = fabs(r[i]);
    *worst  = i;
  }
  return largest;
}

/* The largest entry of a dependent row beside the largest one of the shortest independent row, at least 1: roundoff of the latter's b is
 * multiplied by as much where it determines the former's. Entries of coordinates of joints cancel: those of a loop's joint along an axis of
 * space vanish where the loop turns across that, but not the roundoff of its b. */
CP_RARE static double amplification(CPMech mech) {
  const CPMat *A = &mech->kkt->A;
  double *length = mech->solve.residual, longest = 0.0, shortest = INFINITY;
  memset(length, 0, (size_t)mech->m * sizeof *length);
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++)
      length[cpMatRow(A, j, k)] = fmax(length[cpMatRow(A, j, k)], fabs(A->value[k]));
  for (int i = 0; i < mech->m; i++) {
    if (mech->rows.off[i]) continue;
    if (mech->kkt->is_dependent[i]) longest = fmax(longest, length[i]);
    else shortest = fmin(shortest, length[i]);
  }
  return mech->eq->typical > 0.0 && shortest > 0.0 ? fmax(1.0, longest / shortest) : 1.0;
}

/* *open <- what dependent rows contradict each other by, since the state is off the manifold by p and v that none of them can change: these
 * turn with a loop in coordinates of joints, so that A u' - b = 2 w v + w^2 p. */
CP_RARE static int openAccelerations(CPMech mech, const CPMechState *s, double *open) {
  const double turn = cpMechFastestTurn(mech, s->u);
  double *r         = mech->solve.residual;
  *open             = 0.0;
  if (!(mech->eq->typical > 0.0 && turn > 0.0)) return CP_SUCCESS;
  int flag = cpMechPositions(mech, s->t, s->q, r);
  for (int i = 0; !flag && i < mech->m; i++)
    if (!mech->rows.off[i]) *open = fmax(*open, turn * turn * fabs(r[i]));
  if (!flag) flag = cpMechVelocities(mech, s->t, s->q, s->u, r);
  for (int i = 0; !flag && i < mech->m; i++)
    if (!mech->rows.off[i]) *open = fmax(*open, 2.0 * turn * fabs(r[i]));
  return flag;
}

CP_RARE static int checkDependent(CPMech mech, const CPMechState *s, const double *f,
                                  const double *b, const double *a) {
  int worst      = -1;
  double terms   = 0.0;
  const double r = contradiction(mech, s, a, b, &worst, &terms);
  if (r <= CP_CONTRADICTION * terms) return CP_SUCCESS;
  const double part =
      fmax(CP_ROUNDED, mech->kkt->ranktol); /* Dependent rows differ by up to ranktol. */
  /* At rest, forces and reactions cancel in u', which leaves their roundoff: the terms of u'_j have
   * the size |u'_j| + |f_j| / M_jj. A u'_j that vanishes may contain roundoff of the terms of other
   * components, so `rounded` takes the largest size of all. Those of b are products of velocities, which cancel where
   * a loop turns as a whole. */
  const CPMat *A = &mech->kkt->A;
  double *size   = mech->motions->nfull > 0 ? mech->solve.known : mech->solve.rhs; /* not f */
  for (int j = 0; j < mech->nu; j++) {
    const double *M_jj = cpMatAt(&mech->userM.A, j, j);
    size[j]            = fabs(a[j]) + (M_jj && *M_jj > 0.0 ? fabs(f[j]) / *M_jj : 0.0);
  }
  const double fastest = cpLargest(s->u, mech->nu);
  const double rounded = 1.0e2 * CP_UROUND * (cpLargest(size, mech->nu) + fastest * fastest) *
                         cpLargest(A->value, (int)cpMatFirst(A, A->cols));
  const double known = CP_CONTRADICTION * terms + part * largestProduct(A, size);
  double open        = 0.0;
  if (r <= known + rounded) return CP_SUCCESS;
  const int flag = openAccelerations(mech, s, &open);
  if (flag || r <= known + amplification(mech) * (rounded + CP_FLOOR_FACTOR * open)) return flag;
  char name[CP_MECH_ROW_NAME], motions[CP_MECH_MOTIONS];
  const int conflict = mech->motions->count > 0;
  return cpReason(mech->text, conflict ? -CP_MOTION_CONFLICT : -CP_KKT_INCONSISTENT,
                  "at t = %.10g: the accelerations that %s asks for contradict those of the rows "
                  "that it depends on (A u' - b = %.3e)%s",
                  s->t, cpMechRowName(mech, worst, name), r, cpMechMotionNames(mech, motions));
}

/* If an entry of f or b is not finite, neither is u' or lambda, unless its row is off, dependent or
 * FULL. */
int cpMechKktTrial(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                   double *lambda) {
  if (mech->motions->nfull > 0) {
    moveFull(mech, f, b);
    f = mech->solve.rhs;
    b = mech->solve.rhs_b;
  }
  int flag = cpSaddleSolve(mech->kkt, f, b, a, lambda);
  if (flag) return failedFactor(mech, s->t, flag);
  flag = cpMechChecked(mech, 0, s->t, "u'", a, mech->nu);
  return flag ? flag : cpMechChecked(mech, 0, s->t, "lambda", lambda, mech->m);
}

int cpMechKktCheck(CPMech mech, const CPMechState *s, const double *f, const double *b,
                   const double *a) {
  const int full = mech->motions->nfull > 0;
  if (mech->kkt->dependent < 0) return CP_SUCCESS;
  return checkDependent(mech, s, full ? mech->solve.rhs : f, full ? mech->solve.rhs_b : b, a);
}

int cpMechKkt(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
              double *lambda) {
  const int flag = cpMechKktTrial(mech, s, f, b, a, lambda);
  return flag ? flag : cpMechKktCheck(mech, s, f, b, a);
}

/* Completes the reason for a failure of cpMechSolveTerms. */
CP_RARE static int failedSolve(CPMech mech, const CPMechState *s, int flag) {
  if (flag == -CP_KKT_INCONSISTENT)
    return cpMechHeld(mech, s, mech->text) ? flag : tellDistance(mech, s, flag);
  const int bad = flag == -CP_MECH_NONFINITE ? cpMechTestTerms(mech, s->t) : CP_SUCCESS;
  return bad ? bad : flag;
}

int cpMechSolveTerms(CPMech mech, const CPMechState *s, double *a, double *lambda) {
  const double *f = mech->terms.f, *b = mech->terms.b;
  int flag = mech->motions->nfull > 0 ? cpMechTestTerms(mech, s->t) : CP_SUCCESS;
  if (!flag) flag = factor(mech, s->t, s->q); /* [M A^T; A 0] */
  if (flag) return flag;
  /* Ranks of actions are not recorded, because f must not depend on them. */
  cpSaddleRecordRank(mech->kkt);
  if (mech->kkt->rank < mech->m) flag = cpMechTestTerms(mech, s->t);
  if (flag) return flag;
  flag = cpMechHasLambdaForces(mech) ? cpMechIterate(mech, s, f, b, a, lambda)
                                     : cpMechKkt(mech, s, f, b, a, lambda);
  return flag ? failedSolve(mech, s, flag) : CP_SUCCESS;
}

/* Tells udot which rows are on, if it wants to know and that has changed. Returns what use_rows returned then. */
static inline int tellRows(CPMech mech) {
  if (!mech->eq->use_rows) return 0;
  if (mech->rows.told != mech->rows.layout + 1) {
    mech->rows.answer = cpMechCall(mech, use_rows, mech->rows.off);
    mech->rows.told   = mech->rows.layout + 1;
  }
  return mech->rows.answer;
}

int cpMechUdot(CPMech mech, const CPMechState *s, double *a, double *lambda) {
  memset(a, 0, (size_t)mech->nu * sizeof *a);
  if (mech->m > 0) memset(lambda, 0, (size_t)mech->m * sizeof *lambda);
  int flag = tellRows(mech);
  cpMechSkipRows(mech, 1);
  if (!flag) flag = cpMechCall(mech, udot, s->t, s->q, s->u, s->z, a, lambda);
  cpMechSkipRows(mech, 0);
  if (flag > 0 && !mech->operators) return cpMechSolve(mech, s, a, lambda);
  flag = cpMechResult(mech, flag, s->t, "udot");
  if (!flag) flag = cpMechChecked(mech, 0, s->t, "udot", a, mech->nu);
  return flag ? flag : cpMechChecked(mech, 0, s->t, "lambda", lambda, mech->m);
}

int cpMechUdotJac(CPMech mech, const CPMechState *s, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz) {
  int flag = tellRows(mech);
  cpMechSkipRows(mech, 1);
  if (!flag) flag = cpMechCall(mech, udot_jac, s->t, s->q, s->u, s->z, Uq, Uu, Uz);
  cpMechSkipRows(mech, 0);
  return flag;
}

/* The model does not know about motions, nor about rows that are off unless it is told. */
int cpMechIsAsModelled(const CPMech mech) {
  return mech->motions->count == 0 && mech->forces.count == 0 &&
         (mech->eq->use_rows || !memchr(mech->rows.off, 1, (size_t)mech->m));
}

int cpMechKnowsUdot(const CPMech mech) {
  return mech->eq->udot && !mech->operators && cpMechIsAsModelled(mech);
}

int cpMechAccelerate(CPMech mech, const CPMechState *s, double *a, double *lambda) {
  if (!cpMechKnowsUdot(mech)) return cpMechSolve(mech, s, a, lambda);
  mech->stats.nudot++;
  return cpMechUdot(mech, s, a, lambda);
}

int CPMechAccelerations(CPMech mech, sunrealtype t, N_Vector y, sunrealtype *udot,
                        sunrealtype *lambda) {
  CPMechState s;
  int flag = cpMechCheckState(mech, y, __func__);
  if (flag) return flag;
  flag = cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = cpMechSolve(mech, &s, mech->solve.a, mech->solve.lambda);
  if (flag) return cpMechReport(mech, flag, __func__);
  if (udot) memcpy(udot, mech->solve.a, (size_t)mech->nu * sizeof *udot);
  if (lambda) memcpy(lambda, mech->solve.lambda, (size_t)mech->m * sizeof *lambda);
  return CP_SUCCESS;
}
