/* A mechanical system in implicit form (CPImplicitSystem), for methods that solve for their stages
 * themselves:
 *
 *   k = (q', u', z'),   r_q = N(q) u - k_q,                      r_z      = zdot - k_z,
 *                       r_u = f + f_lambda - M k_u - A^T lambda,  r_lambda = b - A k_u
 *
 * in this order. Residuals need no factors. Constraints of all levels have the rows of A. */
#include "cpodes/mechanics/newton/newton_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct CPMechImplicit_ {
  CPArena arena;
  /* that of CP_REAL_FACTORS is mech->newton->S instead */
  CPNewtonMatrix S[CP_FACTORS];
  CPPartials stage[CP_FACTORS - CP_STAGE_FACTORS]; /* created on first use */
  CPImplicitSystem system;
  int any_fixed;     /* 1: a row of the Newton matrix is fixed */
  int rank_is_known; /* 1: partial derivatives need not find the dependent rows anew */
  double *size;      /* [m] lengths of the rows of A: the diagonal of S^-1 */
  double *length;    /* [m] lengths of the rows of A at the newest partial derivatives */
  double *longest;   /* [m] largest of them since the start */
  double *null;      /* [nullity][m] y_k, with memory for `room` of them */
  double *idle;      /* [nullity][m] n_k, likewise, unless idle_is_old */
  int nullity, room, idle_is_old;
  int dependent; /* number of dependent rows, the nullity unless that exceeds MOST_NULL */
  /* what the newest residual leaves out of the scaled rows, and its largest acceleration */
  double left_out, largest;
  double *a, *lambda, *x, *e; /* [nu], [m], [nu + m + nz], [n] */
  double *known[2];           /* [n + m] */
  double *leading;            /* [nu + nz + m] */
  double *force, *mu;         /* [nu], [m] */
  double *shortest;           /* [m] lambda without its parts along n_k */
  double *change;             /* [max(nu, nz)] */
};

static CPNewtonMatrix *matrix(CPMech mech, int which) {
  return which == CP_REAL_FACTORS ? &mech->newton->S : &mech->implicit->S[which];
}

/* ---- dependent rows ----
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

/* Can the motion depend on the multipliers? */
static int takesLambda(const CPMech mech) { return mech->model.f_lambda || mech->nz > 0; }

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

/* r <- S^-1 (1 - sum_k y_k y_k^T) S r. Returns the largest |y_k^T S r|. */
static double leaveOut(CPMech mech, double *r) {
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

/* Returns the n_k: S y_k is in the null space of A^T. */
static const double *idle(CPMech mech) {
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

static void settle(sunrealtype *x, void *data) {
  const CPMech mech = data;
  removeParts(mech, idle(mech), x + mech->n);
}

/* force <- (S A)^T y, zero in FULL motions. Returns its length. */
static double transposedTimes(CPMech mech, const CPMat *A, const double *y) {
  struct CPMechImplicit_ *own = mech->implicit;
  for (int i = 0; i < mech->m; i++) own->mu[i] = mech->rows.off[i] ? 0.0 : y[i] / own->size[i];
  cpMatTransposedTimes(A, 1.0, own->mu, 0.0, own->force);
  for (int j = 0; j < mech->nu; j++)
    if (mech->motions.is_full[j]) own->force[j] = 0.0;
  return sqrt(cpDot(own->force, own->force, mech->nu));
}

/* y <- y - S^-1 mu, where A^T mu = force, with the stored factors */
static int removeImage(CPMech mech, double *y) {
  const struct CPMechImplicit_ *own = mech->implicit;
  const int flag                    = cpSaddleMultipliers(mech->kkt, own->force, own->mu);
  if (flag) return cpSaddleFailed(mech->kkt, flag, NAN, NULL, mech->text);
  for (int i = 0; i < mech->m; i++) y[i] -= own->size[i] * own->mu[i];
  return CP_SUCCESS;
}

/* turnNull moves the y_k to the null space at the newest A. As the stored factors are those of a
 * nearby state, it iterates until |(S A)^T y| is below TURNED, or does not halve any more, because
 * of roundoff or of the distance from the manifold. */
enum { MOST_TURNS = 4 };
#define TURNED 1.0e-8
/* If this loses more than SHARE of a y_k, its row is independent at the newest A: the rank changes
 * within the step. */
#define SHARE 0.5

static int turnNull(CPMech mech) {
  struct CPMechImplicit_ *own = mech->implicit;
  own->idle_is_old            = 1;
  for (int k = 0; k < own->nullity; k++) {
    double *y = own->null + (size_t)k * (size_t)mech->m, before = INFINITY;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
      const double off = transposedTimes(mech, &mech->A, y);
      if (off < TURNED || !(off < 0.5 * before)) break;
      before         = off;
      const int flag = removeImage(mech, y);
      if (flag) return flag;
    }
    if (!(orthonormalise(own->null, mech->m, k) >= SHARE)) {
      own->rank_is_known = 0;
      return cpReason(mech->text, -CP_KKT_RANK, "the rank of A changes within a step");
    }
  }
  return CP_SUCCESS;
}

/* length [rows] <- lengths of the rows of A, 1 for rows of zeros */
static void lengths(CPMech mech, const CPMat *A, double *length) {
  cpMatRowLengths(A, NULL, mech->implicit->mu, length);
  for (int i = 0; i < A->rows; i++)
    if (length[i] == 0.0) length[i] = 1.0;
}

/* Computes the y_k. If row i is dependent, the factors give a solution mu other than e_i of
 * A^T mu = A^T e_i, and S^-1 (e_i - mu) is in the null space of (S A)^T. */
static int findNull(CPMech mech) {
  struct CPMechImplicit_ *own = mech->implicit;
  const CPSaddle kkt          = mech->kkt;
  const CPMat *A              = &kkt->A;
  const int m                 = mech->m;
  own->nullity = own->dependent = 0;
  if (kkt->dependent < 0) return CP_SUCCESS;
  for (int i = 0; i < m; i++) own->dependent += kkt->is_dependent[i] && !mech->rows.off[i];
  if (own->dependent > MOST_NULL && !takesLambda(mech)) return CP_SUCCESS;
  if (own->dependent > own->room) {
    own->room = 0;
    CP_ARRAYS(&own->arena, (size_t)own->dependent * (size_t)m, &own->null, &own->idle);
    if (cpArenaStatus(&own->arena))
      return cpReason(mech->text, CP_MEM_FAIL, "no memory for dependent rows");
    own->room = own->dependent;
  }
  lengths(mech, A, own->size);
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

/* ---- the residual ---- */

/* Returns the multipliers that f_lambda and zdot see: lambda without its parts along the newest
 * n_k. */
static const double *shortestOf(CPMech mech, const double *lambda) {
  double *shortest = mech->implicit->shortest;
  if (mech->implicit->nullity == 0 || !takesLambda(mech)) return lambda;
  memcpy(shortest, lambda, (size_t)mech->m * sizeof *lambda);
  removeParts(mech, idle(mech), shortest);
  return shortest;
}

static int anyFixed(const CPMech mech) {
  return memchr(mech->newton->P->fixed, 1, (size_t)(mech->nu + mech->m)) != NULL;
}

static int start(sunrealtype t, const sunrealtype *y, sunrealtype *x, void *data) {
  const CPMech mech = data;
  double *lambda    = x + mech->n;
  CPMechState s;
  int flag = cpMechRead(mech, t, y, &s);
  if (!flag) flag = cpMechSolve(mech, &s, x + mech->nq, lambda);
  if (!flag) flag = cpMechOtherRates(mech, &s, lambda, x);
  if (!flag) flag = findNull(mech);
  if (!flag) lengths(mech, &mech->kkt->A, mech->implicit->longest);
  if (!flag) settle(x, mech);
  for (int i = 0; !flag && i < mech->m; i++)
    mech->newton->P->fixed[mech->nu + i] = mech->rows.off[i] || mech->kkt->is_dependent[i];
  mech->newton->P->layout       = mech->rows.layout;
  mech->implicit->any_fixed     = anyFixed(mech);
  mech->implicit->rank_is_known = !flag;
  return flag;
}

/* q' = u */
static int velocities(void *data) {
  const CPMech mech = data;
  return mech->coords.in_order && mech->motions.nfull == 0 ? mech->nq : 0;
}

/* An unknown whose row of the Newton matrix is fixed has the equation x = known: u' of FULL motions
 * is g'', multipliers of rows that are off are zero, and multipliers of dependent rows keep their
 * predicted values until settle(). */
static int residual(sunrealtype t, const sunrealtype *y, const sunrealtype *x, sunrealtype *r,
                    void *data) {
  const CPMech mech           = data;
  struct CPMechImplicit_ *own = mech->implicit;
  const int nq = mech->nq, nu = mech->nu, nz = mech->nz, m = mech->m;
  const char *fixed     = mech->newton->P->fixed;
  const int turns_first = own->nullity > 0 && takesLambda(mech);
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
    if (!flag) flag = turnNull(mech);
    if (flag) return flag;
  }
  shortest = shortestOf(mech, lambda);
  if (velocities(mech)) {
    memset(r, 0, (size_t)nq * sizeof *r); /* k_q is u, so r_q is zero. */
  } else {
    flag = cpMechKinematics(mech, s.q, CP_N, s.u, r);
    cpMechPutFullRates(mech, r, own->a);
    for (int i = 0; i < nq; i++) r[i] -= x[i];
  }
  if (!flag) flag = cpMechForm(mech, &s, a, shortest, ru, rlambda, rz);
  if (!turns_first) {
    if (!flag && own->nullity > 0 && cpMechMultiplies(mech)) flag = cpMechA(mech, t, s.q);
    if (!flag) flag = turnNull(mech);
  }
  if (flag) return flag;
  own->left_out = leaveOut(mech, rlambda);
  own->largest  = own->left_out > 0.0 ? cpLargest(a, nu) : 0.0;
  for (int k = 0; k < nz; k++) rz[k] -= x[nq + nu + k];
  for (int j = 0; own->any_fixed && j < nu; j++)
    if (fixed[j]) ru[j] = a[j] - x[nq + j];
  for (int i = 0; own->any_fixed && i < m; i++)
    if (fixed[nu + i]) rlambda[i] = lambda[i] - x[nq + nu + nz + i];
  return CP_SUCCESS;
}

/* ---- Newton's matrix ---- */

/* J <- J (1 - sum_k n_k n_k^T) for the derivatives J of f_lambda and zdot with respect to lambda,
 * which are dense and lack the columns of motions, where Newton's matrix neglects the sum. */
static void takeShortest(CPMech mech, CPPartials P) {
  const struct CPMechImplicit_ *own = mech->implicit;
  for (int of = 0; of < CP_OUTPUTS; of++) {
    const CPBlock *block = &P->block[of][CP_BY_LAMBDA];
    for (int k = 0; block->exists && k < own->nullity; k++) {
      const double *n = idle(mech) + (size_t)k * (size_t)mech->m;
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
    flag = cpPartialsCreate(P, mech, CP_NEWTON_KKT);
    if (!flag) flag = cpNewtonMatrixCreate(S, *P, 0);
    if (flag) {
      cpNewtonMatrixFree(S);
      cpPartialsFree(P);
      return cpReason(mech->text, flag, "no memory for the iteration matrix of a stage");
    }
  }
  (*P)->keep_rank = 1;
  flag            = cpPartialsAt(*P, t, y, x + mech->nq, shortestOf(mech, x + mech->n), ewt);
  if (!flag) takeShortest(mech, *P);
  return flag;
}

/* A row that is shorter than this part of its largest length so far has vanished: A may be zero
 * beyond some time or position, with a matrix that is regular because of the derivatives of b. */
#define VANISHED 1.0e-8

/* Has a row vanished at the newest partial derivatives? Sets length. */
static int hasVanished(CPMech mech) {
  struct CPMechImplicit_ *own = mech->implicit;
  double *length              = own->length;
  int any                     = 0;
  cpMatRowLengths(&mech->newton->P->A, NULL, own->mu, length);
  for (int i = 0; i < mech->m; i++) {
    own->longest[i] = fmax(own->longest[i], length[i]);
    any |= !mech->rows.off[i] && length[i] < VANISHED * own->longest[i];
    if (length[i] == 0.0) length[i] = 1.0;
  }
  return any;
}

/* The dependent rows are found at starts, and again if there are some, if rows have been switched
 * or have vanished, or after a singular matrix, but not otherwise: next to a singular position no
 * row may be dropped without need. */
static int partials(int which, sunrealtype t, const sunrealtype *y, const sunrealtype *x,
                    const sunrealtype *ewt, int *jump, void *data) {
  const CPMech mech = data;
  if (which >= CP_STAGE_FACTORS) return stagePartials(mech, which, t, y, x, ewt);
  const CPPartials P          = mech->newton->P;
  struct CPMechImplicit_ *own = mech->implicit;
  const double *a = x + mech->nq, *lambda = shortestOf(mech, x + mech->n);
  const int before = own->dependent;
  P->keep_rank     = own->rank_is_known && before == 0 && P->layout == mech->rows.layout;
  int flag         = cpPartialsAt(P, t, y, a, lambda, ewt);
  if (!flag && hasVanished(mech) && P->keep_rank) {
    P->keep_rank = 0;
    flag         = cpPartialsAt(P, t, y, a, lambda, ewt);
  }
  if (!flag && !P->keep_rank) flag = findNull(mech);
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
static void leading(sunrealtype *x, void *data) {
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
}

/* Have rows been switched on or off since the newest partial derivatives? */
static int changed(void *data) {
  const CPMech mech = data;
  return mech->newton->P->layout != mech->rows.layout;
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
 * are suspect if they are off by more than this part of the accelerations, and cpMechSolve tests
 * them at the state that has been projected. */
#define SUSPECT 1.0e-3

static int verify(sunrealtype t, const sunrealtype *y, void *data) {
  const CPMech mech           = data;
  struct CPMechImplicit_ *own = mech->implicit;
  CPMechState s;
  if (own->left_out <= SUSPECT * own->largest) return CP_SUCCESS;
  const int flag = cpMechRead(mech, t, y, &s);
  return flag ? flag : cpMechSolve(mech, &s, own->a, own->lambda);
}

/* Positions are projected first, then velocities. Up to O(g), the solution w of
 * D(g) (w, lambda', zeta') = (0, -p, 0), or (0, -v, 0),
 * is the correction of Newton's method in the metric of the Newton matrix. */
#define MOST_CORRECTIONS 6
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
  int flag = mech->motions.count > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
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
      if (flag || k > MOST_CORRECTIONS) return flag < 0 ? flag : 1;
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
  struct CPMechImplicit_ *own = mech->implicit = calloc(1, sizeof *own);
  if (!own) return cpReason(mech->text, CP_MEM_FAIL, "no memory for the iteration matrix");
  CP_ARRAYS(&own->arena, mech->nu, &own->a, &own->force);
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
  own->system     = (CPImplicitSystem){.data       = mech,
                                       .text       = mech->text,
                                       .m          = mech->m,
                                       .growth     = large ? CP_GROWTH_DENSE : CP_GROWTH,
                                       .start      = start,
                                       .residual   = residual,
                                       .partials   = partials,
                                       .diagonal   = diagonal,
                                       .factor     = factor,
                                       .solve      = solve,
                                       .leading    = leading,
                                       .settle     = settle,
                                       .filter     = filter,
                                       .verify     = verify,
                                       .project    = project,
                                       .velocities = velocities,
                                       .changed    = changed};
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
