/* Accelerations near expected ones, by inverse dynamics.
 *
 * In Newton's iteration of a multistep method, y' = k is known but for the correction that is sought. The
 * residuals r = (f - M a - A^T lambda, b - A a) at the expected a, and at the newest lambda, take one
 * recursion and products with A and A^T, and
 *
 *   L (da, dlambda) = r,   L = [M A^T; A 0]
 *
 * is solved by conjugate residuals, with factors of L_0 = L at an earlier state as a preconditioner. The
 * unknowns need only be as accurate as the iteration, and B = L_0^-1 L differs from 1 in few directions.
 * (L_0^-1 alone is useless even one step later: M in joint coordinates has eigenvalues whose ratios grow with
 * the fourth power of the number of joints, and the small ones turn by far more than the joints.) */
#include "expected.h"
#include "accelerations.h"
#include "functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The part of the tolerance of the iteration to which u' is computed */
#define SOLVED 1.0e-5
enum { MOST_PRODUCTS = 20 };

struct CPMechExpected_ {
  CPArena arena;
  CPSaddle saddle;           /* factors of L_0 */
  int known;                 /* there are factors, for rows.layout `layout`, and lambda */
  long int layout, products; /* products since L_0 was factored */
  double *lambda;            /* [m] of the newest evaluation */
  int asked; /* 1: at the next evaluation y' is expected to be near ydot [n]; weights ewt [n] */
  const sunrealtype *ydot, *ewt;
  double gamma, tol;
  double *a, *at_a; /* [nu] expected u', r(a) */
  double *s, *x, *w,
      *r;          /* [nu + m] what is left, L_0^-1 r - B x; x; weights of the norm; a residual */
  double *zdot[2]; /* [nz] */
  double *basis;   /* [MOST_PRODUCTS][2][nu + m] p and q = B p, q orthonormal */
};

void cpMechExpectedFree(CPMech mech) {
  if (!mech->expected) return;
  cpSaddleFree(&mech->expected->saddle);
  cpArenaFree(&mech->expected->arena);
  free(mech->expected);
  mech->expected = NULL;
}

/* Forces that depend on lambda make L nonlinear, and FULL motions change its unknowns; udot is a recursion. */
int cpMechExpectedCreate(CPMech mech) {
  /* With a function M and few velocities, new factors take less time than products. */
  const int cheap = mech->eq->M && (mech->userM.A.start || mech->nu < CP_LARGE_DENSE);
  if (!mech->eq->inverse || mech->eq->udot || mech->eq->f_lambda || mech->forces.count > 0 ||
      mech->motions->nfull > 0 || cheap)
    return CP_SUCCESS;
  struct CPMechExpected_ *own = mech->expected = calloc(1, sizeof *own);
  if (!own) return CP_MEM_FAIL;
  const size_t order = (size_t)(mech->nu + mech->m);
  CP_ARRAYS(&own->arena, mech->nu, &own->a, &own->at_a);
  CP_ARRAYS(&own->arena, order, &own->s, &own->x, &own->w, &own->r);
  CP_ARRAYS(&own->arena, mech->nz, &own->zdot[0], &own->zdot[1]);
  CP_NEW(&own->arena, own->lambda, mech->m);
  CP_NEW(&own->arena, own->basis, 2 * MOST_PRODUCTS * order);
  int flag = cpArenaStatus(&own->arena);
  if (!flag) flag = cpSaddleCreate(&own->saddle, mech->kkt->options, &mech->userM.A, &mech->A);
  if (flag) cpMechExpectedFree(mech);
  return flag;
}

void cpMechExpect(N_Vector ydot, N_Vector ewt, sunrealtype gamma, sunrealtype tol, void *data) {
  struct CPMechExpected_ *own = ((CPMech)data)->expected;
  if (!own) return;
  own->asked = ydot != NULL;
  if (!ydot) own->known = 0;
  if (!ydot) return;
  own->ydot  = N_VGetArrayPointer(ydot);
  own->ewt   = N_VGetArrayPointer(ewt);
  own->gamma = gamma;
  own->tol   = tol;
}

int cpMechTakeExpected(CPMech mech) {
  const int asked = mech->expected && mech->expected->asked;
  if (mech->expected) mech->expected->asked = 0;
  return asked;
}

void cpMechExpectedFactor(CPMech mech, const CPMat *M, const CPMat *A, const double *lambda) {
  struct CPMechExpected_ *own = mech->expected;
  if (!own) return;
  memcpy(own->lambda, lambda, (size_t)mech->m * sizeof *lambda);
  cpSaddleUseRows(own->saddle, mech->rows.off);
  own->known = mech->kkt->dependent < 0 &&
               !cpSaddleFactor(own->saddle, (CPWeight){.matrix = M}, A, mech->kkt->ranktol) &&
               own->saddle->dependent < 0;
  own->layout   = mech->rows.layout;
  own->products = 0;
}

static double product(const CPMech mech, const double *x, const double *y) {
  const double *w = mech->expected->w;
  double sum      = 0.0;
  for (int i = 0; i < mech->nu + mech->m; i++) sum += w[i] * x[i] * y[i];
  return sum;
}

static void add(int count, double c, const double *x, double *y) {
  for (int i = 0; i < count; i++) y[i] += c * x[i];
}

/* x <- L_0^-1 r; rows that are off take no part. */
static int precondition(CPMech mech, const double *r, double *x) {
  const int flag = cpSaddleSolve(mech->expected->saddle, r, r + mech->nu, x, x + mech->nu);
  return flag ? cpSaddleFailed(mech->expected->saddle, flag, NAN, NULL, mech->text) : CP_SUCCESS;
}

/* q <- L p */
static int times(CPMech mech, const CPMechState *s, const double *p, double *q) {
  struct CPMechExpected_ *own = mech->expected;
  double *moved               = mech->solve.rhs;
  int flag                    = CP_SUCCESS;
  own->products++;
  memset(q + mech->nu, 0, (size_t)mech->m * sizeof *q);
  if (mech->eq->Mu) {
    flag = cpMechOperator(mech, mech->eq->Mu, "Mu", s->t, s->q, p, q, mech->nu);
  } else {
    for (int j = 0; j < mech->nu; j++) moved[j] = own->a[j] + p[j];
    flag = cpMechInverse(mech, s, moved, q);
    add(mech->nu, -1.0, own->at_a, q);
  }
  if (!flag) flag = cpMechAddTimes(mech, s, 1, 1.0, p + mech->nu, q);
  return flag ? flag : cpMechAddTimes(mech, s, 0, 1.0, p, q + mech->nu);
}

/* *sum += the square of the norm of the change that dlambda makes to gamma z'. Returns 1 if z' cannot be
 * evaluated at that trial. */
static int addAuxiliary(CPMech mech, const CPMechState *s, const double *dlambda, double *sum) {
  struct CPMechExpected_ *own = mech->expected;
  double *moved               = own->r + mech->nu;
  if (mech->nz == 0) return CP_SUCCESS;
  for (int i = 0; i < mech->m; i++) moved[i] = own->lambda[i] + dlambda[i];
  int flag = cpMechAuxiliary(mech, s, own->lambda, own->zdot[0]);
  if (!flag) flag = cpMechAuxiliary(mech, s, moved, own->zdot[1]);
  for (int k = 0; !flag && k < mech->nz; k++) {
    const double change = own->zdot[1][k] - own->zdot[0][k],
                 part   = own->gamma * own->ewt[mech->nq + mech->nu + k] * change;
    *sum += part * part / mech->n;
  }
  return flag > 0 ? 1 : flag;
}

/* s <- L_0^-1 r at the expected a and the newest lambda, x <- 0, and weights: those of the WRMS norm of
 * gamma da, and for dlambda such that it has the same norm in s, with that of gamma dz'. */
static int begin(CPMech mech, const CPMechState *s) {
  struct CPMechExpected_ *own = mech->expected;
  const int nu = mech->nu, m = mech->m;
  double *r = own->r, rates = 0.0, multipliers = 0.0;
  memcpy(own->a, own->ydot + mech->nq, (size_t)nu * sizeof *own->a);
  memset(own->x, 0, (size_t)(nu + m) * sizeof *own->x);
  int flag = cpMechB(mech, s, r + nu);
  if (!flag && !cpMechMultiplies(mech)) flag = cpMechA(mech, s->t, s->q);
  if (!flag) flag = cpMechInverse(mech, s, own->a, own->at_a);
  memcpy(r, own->at_a, (size_t)nu * sizeof *r);
  for (int i = 0; i < m; i++) r[nu + i] = -r[nu + i];
  if (!flag) flag = cpMechAddTimes(mech, s, 1, 1.0, own->lambda, r);
  if (!flag) flag = cpMechAddTimes(mech, s, 0, 1.0, own->a, r + nu);
  for (int i = 0; i < nu + m; i++) r[i] = -r[i];
  if (!flag) flag = precondition(mech, r, own->s);
  if (flag) return flag;
  for (int j = 0; j < nu; j++) {
    const double weight = own->gamma * own->ewt[mech->nq + j];
    own->w[j]           = weight * weight / mech->n;
    rates += own->w[j] * own->s[j] * own->s[j];
  }
  flag = addAuxiliary(mech, s, own->s + nu, &rates);
  for (int i = nu; i < nu + m; i++) multipliers += own->s[i] * own->s[i];
  for (int i = nu; i < nu + m; i++) own->w[i] = multipliers > 0.0 ? rates / multipliers : 1.0;
  return flag;
}

/* Returns 1 if the iteration fails. */
static int iterate(CPMech mech, const CPMechState *s) {
  struct CPMechExpected_ *own = mech->expected;
  const int order             = mech->nu + mech->m;
  int flag                    = begin(mech, s);
  for (int k = 0; !flag; k++) {
    double *p = own->basis + 2 * (size_t)k * (size_t)order, *q = p + order;
    const double size = sqrt(product(mech, own->s, own->s));
    if (size <= SOLVED * own->tol) break;
    if (k == MOST_PRODUCTS || !isfinite(size)) return 1;
    memcpy(p, own->s, (size_t)order * sizeof *p);
    flag = times(mech, s, p, own->r);
    if (!flag) flag = precondition(mech, own->r, q);
    if (flag) return flag;
    for (int l = 0; l < k; l++) {
      const double *before = own->basis + 2 * (size_t)l * (size_t)order;
      add(2 * order, -product(mech, q, before + order), before, p);
    }
    const double length = sqrt(product(mech, q, q));
    if (!(length > 0.0)) return 1;
    for (int i = 0; i < 2 * order; i++) p[i] /= length;
    const double c = product(mech, own->s, q);
    add(order, c, p, own->x);
    add(order, -c, q, own->s);
  }
  add(order, 1.0, own->s, own->x); /* B is nearly 1 in what is left. */
  return flag;
}

/* Factors are made anew when products have taken as much time. Without a function M, M takes a recursion per
 * column. */
static int isWorn(const CPMech mech) {
  return mech->expected->products > (mech->eq->M ? mech->nu / 8 : mech->nu);
}

int cpMechAccelerateExpected(CPMech mech, const CPMechState *s, double *a, double *lambda) {
  struct CPMechExpected_ *own = mech->expected;
  int flag                    = 1;
  if (own->known && own->layout == mech->rows.layout && !isWorn(mech)) flag = iterate(mech, s);
  if (flag == 1) {
    flag = cpMechSolve(mech, s, a, lambda);
    if (!flag) cpMechExpectedFactor(mech, &mech->userM.A, &mech->A, lambda);
    return flag;
  }
  if (flag) return flag;
  mech->stats.nudot++;
  for (int j = 0; j < mech->nu; j++) a[j] = own->a[j] + own->x[j];
  for (int i = 0; i < mech->m; i++) lambda[i] = own->lambda[i] += own->x[mech->nu + i];
  flag = cpMechChecked(mech, 0, s->t, "u'", a, mech->nu);
  return flag ? flag : cpMechChecked(mech, 0, s->t, "lambda", lambda, mech->m);
}
