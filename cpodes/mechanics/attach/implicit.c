/* A mechanical system in implicit form (CPImplicitSystem), for methods that solve for their stages
 * themselves:
 *
 *   k = (q', u', z'),   r_q = N(q) u - k_q,                      r_z      = zdot - k_z,
 *                       r_u = f + f_lambda - M k_u - A^T lambda,  r_lambda = b - A k_u
 *
 * in this order. Residuals need no factors. Constraints of all levels have the rows of A. Quadratures
 * are left out of the iteration: their r_z is 0, and their k_z follows from the stages. */
#include "implicit.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/kinematics.h"
#include "cpodes/mechanics/motions.h"
#include "cpodes/mechanics/shaky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static CPNewtonMatrix *matrix(CPMech mech, int which) {
  return which == CP_REAL_FACTORS ? &mech->newton->S : &mech->implicit->S[which];
}

/* ---- the residual ---- */

static int anyFixed(const CPMech mech) {
  return memchr(mech->newton->P->fixed, 1, (size_t)(mech->nu + mech->m)) != NULL;
}

static int start(sunrealtype t, const sunrealtype *y, sunrealtype *x, void *data) {
  const CPMech mech = data;
  double *lambda    = x + mech->n;
  CPMechState s;
  int flag = cpMechRead(mech, t, y, &s);
  if (!flag) flag = cpMechSolve(mech, &s, x + mech->nq, lambda);
  mech->stage.start = NAN;
  flag              = cpMechShakyStart(mech, &s, x + mech->nq, flag);
  if (!flag) flag = cpMechOtherRates(mech, &s, lambda, x);
  if (!flag) flag = cpMechFindNull(mech);
  if (!flag) cpMechLengths(mech, &mech->kkt->A, NULL, mech->implicit->longest);
  if (!flag) cpMechMakeShortest(x, mech);
  if (!flag) cpMechFixRows(mech, mech->newton->P->fixed + mech->nu);
  mech->newton->P->layout       = mech->rows.layout;
  mech->implicit->any_fixed     = anyFixed(mech);
  mech->implicit->rank_is_known = !flag;
  return flag;
}

/* q' = u */
static int velocities(void *data) {
  const CPMech mech = data;
  return mech->coords->in_order && mech->motions->nfull == 0 ? mech->nq : 0;
}

/* An unknown whose row of the Newton matrix is fixed has the equation x = known: u' of FULL motions
 * is g'', multipliers of rows that are off are zero, and multipliers of dependent rows keep their
 * predicted values until cpMechMakeShortest(). */
static int residual(sunrealtype t, const sunrealtype *y, const sunrealtype *x, sunrealtype *r,
                    void *data) {
  const CPMech mech           = data;
  struct CPMechImplicit_ *own = mech->implicit;
  const int nq = mech->nq, nu = mech->nu, nz = mech->nz, m = mech->m;
  const int unknown     = mech->newton->P->nz; /* auxiliary states that are not quadratures */
  const char *fixed     = mech->newton->P->fixed;
  const int turns_first = own->nullity > 0 && cpMechTakesLambda(mech);
  const double *a = x + nq, *lambda = a + nu + nz, *shortest;
  double *ru = r + nq, *rz = ru + nu, *rlambda = rz + nz;
  CPMechState s;
  int flag = cpMechRead(mech, t, y, &s);
  if (flag) return flag;
  if (own->any_fixed) {
    for (int i = 0; i < m; i++) own->lambda[i] = mech->rows.off[i] ? 0.0 : lambda[i];
    a = memcpy(own->a, a, (size_t)nu * sizeof *a), lambda = own->lambda;
  }
  if (turns_first) {
    flag = cpMechA(mech, t, s.q);
    if (!flag) flag = cpMechTurnNull(mech);
    if (flag) return flag;
  }
  shortest = cpMechShortest(mech, lambda);
  if (velocities(mech)) {
    memset(r, 0, (size_t)nq * sizeof *r); /* k_q is u, so r_q is zero. */
  } else {
    flag = cpMechKinematics(mech, s.q, CP_N, s.u, r);
    cpMechPutFullRates(mech, r, own->a);
    for (int i = 0; i < nq; i++) r[i] -= x[i];
  }
  if (!flag) flag = cpMechForm(mech, &s, a, shortest, ru, rlambda, unknown > 0 ? rz : NULL);
  if (!turns_first) {
    if (!flag && own->nullity > 0 && cpMechMultiplies(mech)) flag = cpMechA(mech, t, s.q);
    if (!flag) flag = cpMechTurnNull(mech);
  }
  if (flag) return flag;
  memcpy(mech->stage.lambda, shortest, (size_t)m * sizeof *shortest); /* for the error weights */
  own->left_out = cpMechLeaveOut(mech, rlambda);
  own->largest  = own->left_out > 0.0 ? cpLargest(a, nu) : 0.0;
  for (int k = 0; k < nz; k++) rz[k] = k < unknown ? rz[k] - x[nq + nu + k] : 0.0;
  for (int j = 0; own->any_fixed && j < nu; j++)
    if (fixed[j]) ru[j] = a[j] - x[nq + j];
  for (int i = 0; own->any_fixed && i < m; i++)
    if (fixed[nu + i]) rlambda[i] = lambda[i] - x[nq + nu + nz + i];
  return CP_SUCCESS;
}

static int quadratures(sunrealtype t, const sunrealtype *y, sunrealtype *x, void *data) {
  const CPMech mech = data;
  const int first = mech->newton->P->nz, nquad = mech->newton->P->nquad;
  double *zdot = mech->implicit->change, *k = x + mech->nq + mech->nu + first;
  CPMechState s;
  int flag = cpMechRead(mech, t, y, &s);
  if (!flag) flag = cpMechAuxiliary(mech, &s, cpMechShortest(mech, x + mech->n), zdot);
  if (!flag) memcpy(k, zdot + first, (size_t)nquad * sizeof *k);
  return flag;
}

/* ---- Newton's matrix ---- */

/* J <- J (1 - sum_k n_k n_k^T) for the derivatives J of f_lambda and zdot with respect to lambda,
 * which are dense and lack the columns of motions, where Newton's matrix neglects the sum. */
static void takeShortest(CPMech mech, CPPartials P) {
  const struct CPMechImplicit_ *own = mech->implicit;
  for (int of = 0; of < CP_OUTPUTS; of++) {
    const CPBlock *block = &P->block[of][CP_BY_LAMBDA];
    for (int k = 0; block->exists && k < own->nullity; k++) {
      const double *n = cpMechIdle(mech) + (size_t)k * (size_t)mech->m;
      double *change  = own->change;
      cpMatTimes(&block->J, 1.0, n, 0.0, change);
      for (int j = 0; j < block->J.cols; j++)
        for (int i = 0; i < block->J.rows; i++)
          block->J.value[(size_t)j * (size_t)block->J.rows + (size_t)i] -= change[i] * n[j];
    }
  }
}

/* Partial derivatives at a stage, with the same fixed rows as in the middle of the step */
static int stagePartials(CPMech mech, int which, sunrealtype t, const sunrealtype *y,
                         const sunrealtype *x, const sunrealtype *ewt) {
  CPPartials *P     = &mech->implicit->stage[which - CP_STAGE_FACTORS];
  CPNewtonMatrix *S = matrix(mech, which);
  int flag          = CP_SUCCESS;
  if (!*P) { /* created on first use, because only some motions need it */
    flag = cpPartialsCreate(P, mech, CP_NEWTON_KKT, 1);
    if (!flag) flag = cpNewtonMatrixCreate(S, *P, 0);
    if (flag) {
      cpNewtonMatrixFree(S);
      cpPartialsFree(P);
      return cpReason(mech->text, flag, "no memory for the iteration matrix of a stage");
    }
  }
  (*P)->keep_rank = 1;
  (*P)->seen      = cpMechShortest;
  flag            = cpPartialsAt(*P, t, y, x + mech->nq, cpMechShortest(mech, x + mech->n), ewt);
  if (flag) return flag;
  memcpy((*P)->fixed, mech->newton->P->fixed, (size_t)(mech->nu + mech->m));
  takeShortest(mech, *P);
  return CP_SUCCESS;
}

/* A row that is shorter than CP_HALF_DIGITS of its largest length so far has vanished: A may be zero
 * beyond some time or position, with a matrix that is regular because of the derivatives of b. */

/* Has a row vanished at the newest partial derivatives? Sets length. */
static int hasVanished(CPMech mech) {
  struct CPMechImplicit_ *own = mech->implicit;
  double *length              = own->length;
  int any                     = 0;
  cpMatRowLengths(&mech->newton->P->A, NULL, own->mu, length);
  for (int i = 0; i < mech->m; i++) {
    own->longest[i] = fmax(own->longest[i], length[i]);
    any |= !mech->rows.off[i] && length[i] < CP_HALF_DIGITS * own->longest[i];
    if (length[i] == 0.0) length[i] = 1.0;
  }
  return any;
}

/* The dependent rows are found at starts, and again if there are some, if rows have been switched
 * or have vanished, or after a singular matrix, but not otherwise: next to a singular position no
 * row may be dropped without need. */
static int partials(int which, sunrealtype t, const sunrealtype *y, const sunrealtype *x,
                    const sunrealtype *ewt, sunrealtype h, int *jump, void *data) {
  const CPMech mech = data;
  if (which >= CP_STAGE_FACTORS) return stagePartials(mech, which, t, y, x, ewt);
  const CPPartials P          = mech->newton->P;
  struct CPMechImplicit_ *own = mech->implicit;
  const double *a = x + mech->nq, *lambda = cpMechShortest(mech, x + mech->n);
  const int before = own->dependent;
  P->keep_rank     = own->rank_is_known && before == 0 && P->layout == mech->rows.layout;
  int flag         = cpPartialsAt(P, t, y, a, lambda, ewt);
  if (!flag && hasVanished(mech) && P->keep_rank) {
    P->keep_rank = 0;
    flag         = cpPartialsAt(P, t, y, a, lambda, ewt);
  }
  if (!flag) flag = cpPartialsCompare(P, h, ewt);
  if (!flag && !P->keep_rank) flag = cpMechFindNull(mech);
  if (!flag && !P->keep_rank) cpMechFixRows(mech, P->fixed + mech->nu);
  if (!flag) takeShortest(mech, P);
  own->rank_is_known = !flag;
  own->any_fixed     = anyFixed(mech);
  *jump              = own->dependent != before || own->dependent > own->nullity;
  return flag;
}

static void diagonal(sunrealtype *d, void *data) {
  const CPMech mech = data;
  for (int j = 0; j < mech->n; j++) d[j] = 1.0;
  for (int j = 0; j < mech->nu; j++) {
    const double *M_jj = cpMatAt(&mech->newton->P->M, j, j);
    d[mech->nq + j]    = M_jj ? *M_jj : 0.0;
  }
}

static int factor(int which, sunrealtype g, sunrealtype gi, void *data) {
  const CPMech mech = data;
  CPNewtonMatrix *S = matrix(mech, which);
  int flag          = CP_SUCCESS;
  if (!S->P) { /* Only a method with 7 stages has a third pair. */
    flag = cpNewtonMatrixCreate(S, mech->newton->P, 1);
    if (flag) cpNewtonMatrixFree(S), S->P = NULL;
    if (flag) return cpReason(mech->text, flag, "no factors of the iteration matrix");
  }
  flag = cpNewtonAssemble(S, g + gi * I);
  if (!flag) flag = cpNewtonFactor(S);
  if (flag > 0) mech->implicit->rank_is_known = 0;
  return flag;
}

/* x_i <- r_i in the fixed unknowns, whose equations are dx_i = r_i */
static void keepFixed(const CPMech mech, const double *r, double *x) {
  const char *fixed = mech->newton->P->fixed;
  const int first   = mech->nq + mech->nu + mech->nz;
  for (int j = 0; j < mech->nu; j++)
    if (fixed[j]) x[mech->nq + j] = r[mech->nq + j];
  for (int i = 0; i < mech->m; i++)
    if (fixed[mech->nu + i]) x[first + i] = r[first + i];
}

static int solve(int which, sunrealtype *re, sunrealtype *im, void *data) {
  const CPMech mech  = data;
  const size_t bytes = (size_t)(mech->n + mech->m) * sizeof *re;
  double *const x[2] = {re, im}, *const *known = mech->implicit->known;
  const int parts = matrix(mech, which)->parts, any = mech->implicit->any_fixed;
  for (int k = 0; any && k < parts; k++) memcpy(known[k], x[k], bytes);
  const int flag = cpNewtonCorrect(matrix(mech, which), re, im);
  for (int k = 0; any && k < parts; k++) keepFixed(mech, known[k], x[k]);
  return flag;
}

/* x <- D(0) x, D(0) = [1; M A^T - Fl; 1 - Zl; A], in the order (q', u', z', lambda), with the
 * identity for the fixed unknowns */
static int leading(sunrealtype *x, void *data) {
  const CPMech mech  = data;
  const CPPartials P = mech->newton->P;
  const int nu = mech->nu, nz = mech->nz, m = mech->m;
  double *in = mech->implicit->leading, *u = x + mech->nq, *z = u + nu, *lambda = z + nz;
  double *known           = mech->implicit->known[0];
  const double *lambda_in = in + nu + nz;
  memcpy(in, u, (size_t)(nu + nz + m) * sizeof *in);
  memcpy(known, x, (size_t)(mech->n + m) * sizeof *x);
  for (int j = 0; j < nu; j++)
    if (P->fixed[j]) in[j] = 0.0;
  for (int i = 0; i < m; i++)
    if (P->fixed[nu + i]) in[nu + nz + i] = 0.0;
  cpMatTimes(&P->M, 1.0, in, 0.0, u);
  cpMatTransposedTimes(&P->A, 1.0, lambda_in, 1.0, u);
  cpMatTimes(&P->A, 1.0, in, 0.0, lambda);
  cpBlockTimes(&P->block[CP_OF_F][CP_BY_LAMBDA], -1.0, lambda_in, u);
  cpBlockTimes(&P->block[CP_OF_Z][CP_BY_LAMBDA], -1.0, lambda_in, z);
  keepFixed(mech, known, x);
  return CP_SUCCESS;
}

/* Have rows been switched on or off since the newest partial derivatives? */
static int changed(void *data) {
  const CPMech mech = data;
  return mech->newton->P->layout != mech->rows.layout;
}

static int fleeting(void *data) {
  const CPMech mech = data;
  return mech->newton->P->fleeting;
}

static int filter(sunrealtype *e, void *data) {
  const CPMech mech = data;
  double *x         = mech->implicit->e;
  const int flag    = cpNewtonSolve(&mech->newton->S, e, x);
  if (!flag) memcpy(e, x, (size_t)mech->n * sizeof *e);
  return flag;
}

/* ---- the end of a step ---- */

/* Rows that depend on others may contradict them there, which the residual leaves out: such rows
 * are suspect if they are off by more than CP_CONTRADICTION of the accelerations, and cpMechSolve tests
 * them at the state that has been projected. */

static int verify(sunrealtype t, const sunrealtype *y, void *data) {
  const CPMech mech           = data;
  struct CPMechImplicit_ *own = mech->implicit;
  CPMechState s;
  if (own->left_out <= CP_CONTRADICTION * own->largest) return CP_SUCCESS;
  const int flag = cpMechRead(mech, t, y, &s);
  return flag ? flag : cpMechSolve(mech, &s, own->a, own->lambda);
}

/* Positions are projected first, then velocities. Up to O(g), the solution w of
 * D(g) (w, lambda', zeta') = (0, -p, 0), or (0, -v, 0),
 * is the correction of Newton's method in the metric of the Newton matrix. */

/* For a large g the constraint row of D(g) is far from A, so that even a small w may end far from
 * the manifold. A correction is accepted if A w - r is at most this part of the residual r. */
#define LEFT 0.5

static int isCorrection(CPMech mech, const double *w, const double *r) {
  struct CPMechImplicit_ *own = mech->implicit;
  const CPMat *A              = &mech->newton->P->A;
  double *left = own->lambda, before = 0.0, after = 0.0;
  memcpy(left, r, (size_t)mech->m * sizeof *left);
  cpMatTimes(A, -1.0, w, 1.0, left);
  for (int i = 0; i < mech->m; i++) {
    if (mech->rows.off[i]) continue;
    before = fmax(before, fabs(r[i]) / own->length[i]);
    after  = fmax(after, fabs(left[i]) / own->length[i]);
  }
  return after <= LEFT * before;
}

static int project(sunrealtype t, sunrealtype *y, const sunrealtype *ewt, sunrealtype tol,
                   double *violation, void *data) {
  const CPMech mech = data;
  const int nq = mech->nq, nu = mech->nu, m = mech->m, order = nu + m + mech->nz;
  double *x = mech->implicit->x, *moved = mech->implicit->e, *r = mech->implicit->mu, *u = y + nq;
  if (mech->options.metric != CP_METRIC_DEFAULT || mech->implicit->dependent > 0) return 1;
  int flag = mech->motions->count > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
  if (flag) return flag < 0 ? flag : 1;
  cpMechPutFull(mech, y, u);
  *violation = 0.0;
  for (int level = 0; level < 2; level++)
    for (int k = 1;; k++) {
      double size = 0.0;
      memset(x, 0, (size_t)order * sizeof *x);
      if (level == 0) flag = cpMechPositions(mech, t, y, x + nu);
      else flag = cpMechVelocities(mech, t, y, u, x + nu);
      for (int i = 0; i < m; i++) x[nu + i] = mech->rows.off[i] ? 0.0 : -x[nu + i];
      memcpy(r, x + nu, (size_t)m * sizeof *r);
      if (!flag) flag = cpLuSolve(mech->newton->S.lu, x, NULL);
      if (!flag && !isCorrection(mech, x, r)) return 1;
      if (!flag && level == 0) flag = cpMechKinematics(mech, y, CP_N, x, moved);
      if (flag || k > CP_MOST_ITERATIONS) return flag < 0 ? flag : 1;
      const int count      = level == 0 ? nq : nu;
      const double *change = level == 0 ? moved : x, *w = level == 0 ? ewt : ewt + nq;
      for (int j = 0; j < count; j++) {
        (level == 0 ? y : u)[j] += change[j];
        size += change[j] * w[j] * change[j] * w[j];
      }
      if (!isfinite(size)) return 1;
      if (sqrt(size / mech->n) > tol) continue;
      /* |c_i| = |G_i x| <= |G_i / ewt| |ewt x| before the last correction x */
      *violation = fmax(*violation, sqrt(size));
      if (level == 0) flag = cpMechNormalise(mech, t, y);
      if (flag) return flag < 0 ? flag : 1;
      break;
    }
  return CP_SUCCESS;
}

/* ---- life cycle ---- */

int cpMechImplicitAttach(CPMech mech, const CPImplicitSystem **system) {
  if (mech->operators)
    return cpReason(
        mech->text, CP_NOT_SUPPORTED,
        "the method solves for u' and lambda at its stages by M and A, or by inverse, and "
        "the system has operators without inverse");
  if (mech->options.newton_type != CP_NEWTON_AUTO && mech->options.newton_type != CP_NEWTON_KKT)
    return cpReason(
        mech->text, CP_NOT_SUPPORTED,
        "the method's matrix is that of CP_NEWTON_KKT, and CPMechSetNewton asks for another one");
  int flag = mech->newton ? CP_SUCCESS : cpNewtonCreate(&mech->newton, mech);
  if (flag) return cpReason(mech->text, flag, "no memory for the iteration matrix");
  mech->newton->P->seen       = cpMechShortest;
  struct CPMechImplicit_ *own = mech->implicit = calloc(1, sizeof *own);
  if (!own) return cpReason(mech->text, CP_MEM_FAIL, "no memory for the iteration matrix");
  CP_ARRAYS(&own->arena, mech->nu, &own->a, &own->force, &own->scale);
  CP_ARRAYS(&own->arena, mech->m, &own->lambda, &own->size, &own->length, &own->longest, &own->mu,
            &own->shortest);
  CP_ARRAYS(&own->arena, mech->n + mech->m, &own->known[0], &own->known[1]);
  CP_ARRAYS(&own->arena, mech->nu + mech->nz + mech->m, &own->leading, &own->x);
  CP_NEW(&own->arena, own->e, mech->n);
  CP_NEW(&own->arena, own->change, mech->nu > mech->nz ? mech->nu : mech->nz);
  flag = cpArenaStatus(&own->arena);
  for (int k = CP_COMPLEX_FACTORS; k < CP_COMPLEX_FACTORS + 2 && !flag; k++)
    flag = cpNewtonMatrixCreate(&own->S[k], mech->newton->P, 1);
  const int large = !mech->newton->P->sparse && mech->nu + mech->m > CP_LARGE_DENSE;
  own->system     = (CPImplicitSystem){.data        = mech,
                                       .text        = mech->text,
                                       .m           = mech->m,
                                       .growth      = large ? CP_GROWTH_DENSE : CP_GROWTH,
                                       .start       = start,
                                       .nquad       = mech->newton->P->nquad,
                                       .residual    = residual,
                                       .quadratures = quadratures,
                                       .partials    = partials,
                                       .diagonal    = diagonal,
                                       .factor      = factor,
                                       .solve       = solve,
                                       .leading     = leading,
                                       .shortest    = cpMechMakeShortest,
                                       .filter      = filter,
                                       .verify      = verify,
                                       .project     = project,
                                       .velocities  = velocities,
                                       .changed     = changed,
                                       .fleeting    = fleeting};
  if (flag) return cpReason(mech->text, flag, "no memory for the iteration matrix");
  mech->stats.newton = mech->newton->type;
  *system            = &mech->implicit->system;
  return CP_SUCCESS;
}

void cpMechImplicitFree(struct CPMechImplicit_ **implicit) {
  if (!*implicit) return;
  for (int k = 0; k < CP_FACTORS; k++) cpNewtonMatrixFree(&(*implicit)->S[k]);
  for (int k = 0; k < CP_FACTORS - CP_STAGE_FACTORS; k++) cpPartialsFree(&(*implicit)->stage[k]);
  cpArenaFree(&(*implicit)->arena);
  free(*implicit);
  *implicit = NULL;
}
