/* Conjugate gradients for S mu = r, S = A D A^T, in least-squares form (CGLS: Hestenes & Stiefel,
 * J. Res. Nat. Bur. Standards 49, 1952, section 10; Bjorck, Numerical Methods for Least Squares
 * Problems, 1996, 7.4): with the preconditioner B ~ S^-1 they minimise
 *
 *   |r - A x|_B   over x in D A^T span{B r, B S B r, ...}.
 *
 * The space, the products and the solves are those of plain conjugate gradients on S, but two
 * things are better. The residual falls monotonically, and it is the quantity that an inexact
 * Newton iteration needs: x lies in range(D A^T) whatever the remaining residual. And dependent
 * rows need not be consistent: the contradiction remains in r, while plain conjugate gradients
 * diverge (S mu = r has no solution then). An exact preconditioner needs one iteration. */
#include "krylov.h"

#include "cpodes/base/errors.h"
#include "cpodes/base/roundoff.h"

#include <math.h>
#include <stdlib.h>

/* Growth of the residual (r, B r) that roundoff cannot explain. */
#define GROWTH 10.0

int cpKrylovCreate(CPKrylov *krylov, const CPKrylovProducts *products, void *self, N_Vector x_tmpl,
                   N_Vector diagonal) {
  CPKrylov k = *krylov = calloc(1, sizeof *k);
  if (!k) return CP_MEM_FAIL;
  k->products = products;
  k->self     = self;
  k->diagonal = diagonal;
  CP_VECTORS(&k->arena, diagonal, &k->z, &k->q, &k->Bq, &k->p, &k->scaled);
  CP_VECTORS(&k->arena, x_tmpl, &k->d, &k->g, &k->s);
  const int flag = cpArenaStatus(&k->arena);
  if (flag) cpKrylovFree(krylov);
  return flag;
}

void cpKrylovFree(CPKrylov *krylov) {
  if (!*krylov) return;
  cpArenaFree(&(*krylov)->arena);
  free(*krylov);
  *krylov = NULL;
}

void cpKrylovReset(CPKrylov k) { k->largest = 0.0; }

/* z = B r */
static int precondition(CPKrylov k, N_Vector r, N_Vector z) {
  if (k->products->precondition) return k->products->precondition(k->self, r, z);
  N_VProd(k->diagonal, r, z);
  return CP_SUCCESS;
}

double cpKrylovNorm(N_Vector weight, N_Vector c, N_Vector tmp) {
  N_VProd(c, weight, tmp);
  N_VProd(c, tmp, tmp);
  return sqrt(N_VMaxNorm(tmp));
}

/* ---- failures ---- */

static int blamePreconditioner(char *text, double rz) {
  if (!isfinite(rz))
    return cpReason(text, -CP_REPTD_USERFUNC_ERR, "the preconditioner's solve gave NaN or Inf");
  return cpReason(text, -CP_REPTD_USERFUNC_ERR,
                  "the preconditioner is not positive definite: (r, B r) = %g", rz);
}

/* Do (a, b) and (c, d), which should be equal, differ? */
static int disagree(N_Vector a, N_Vector b, N_Vector c, N_Vector d) {
  const double first = N_VDotProd(a, b), second = N_VDotProd(c, d);
  const double sizes = sqrt(N_VDotProd(a, a)) * sqrt(N_VDotProd(b, b));
  return fabs(first - second) > CP_INEXACT * fmax(fmax(fabs(first), fabs(second)), 1.0e-4 * sizes);
}

/* Writes to text why the iteration does not converge. On entry k->Bq = B k->q, and k->d is any
 * direction. */
static int explain(CPKrylov k, N_Vector r, const char *symptom, char *text) {
  const CPKrylovProducts *p = k->products;
  int flag                  = precondition(k, r, k->z);
  if (!flag && p->precondition && disagree(k->Bq, r, k->q, k->z))
    return cpReason(text, -CP_REPTD_USERFUNC_ERR, "%s, and the preconditioner is not symmetric",
                    symptom);
  if (!flag) flag = p->transposed(k->self, k->q, k->g);
  if (!flag) flag = p->times(k->self, k->d, k->Bq);
  if (flag) return flag;
  if (disagree(k->q, k->Bq, k->g, k->d))
    return cpReason(text, -CP_CNSTRJAC_WRONG,
                    "%s, and the products G v and G^T w are not each other's transpose "
                    "(CPProjectorCheckJac)",
                    symptom);
  return cpReason(text, -CP_PROJ_CONV_FAILURE, "%s%s", symptom,
                  p->precondition ? ""
                                  : "; a preconditioner may help (CPProjectorSetPreconditioner)");
}

/* ---- the iteration ---- */

/* g = A^T z, s = D g, *gamma = (g, s) */
static int steepest(CPKrylov k, double *gamma, char *text) {
  int flag = k->products->transposed(k->self, k->z, k->g);
  if (!flag) flag = k->products->metric(k->self, k->g, k->s);
  if (flag) return flag;
  *gamma = N_VDotProd(k->g, k->s);
  if (!isfinite(*gamma)) /* g and s themselves are finite */
    return cpReason(text, -CP_REPTD_USERFUNC_ERR, "the product (G^T w, D G^T w) overflows");
  if (*gamma < 0.0)
    return cpReason(text, -CP_METRIC_INDEFINITE,
                    "the metric is not positive definite: (x, D x) = %g", *gamma);
  return CP_SUCCESS;
}

/* q = A d, Bq = B q, *delta = (q, B q) > 0 */
static int curvature(CPKrylov k, double *delta, char *text) {
  int flag = k->products->times(k->self, k->d, k->q);
  if (!flag) flag = precondition(k, k->q, k->Bq);
  if (flag) return flag;
  *delta = N_VDotProd(k->q, k->Bq);
  if (isfinite(*delta) && *delta > 0.0) return CP_SUCCESS;
  if (isfinite(*delta) && N_VMaxNorm(k->q) == 0.0)
    return cpReason(
        text, -CP_CNSTRJAC_WRONG,
        "G^T w is not zero, but G D G^T w is: the products are not each other's transpose");
  return blamePreconditioner(text, *delta);
}

int cpKrylovSolve(CPKrylov k, N_Vector weight, double rtol, N_Vector r, N_Vector x, N_Vector mu,
                  long int *iterations, char *text) {
  const double first = cpKrylovNorm(weight, r, k->scaled);
  double gamma, delta, rz_start = 0.0;
  if (mu) N_VConst(0.0, mu);
  if (first == 0.0) return CP_SUCCESS;
  int flag = precondition(k, r, k->z); /* z = B r */
  if (flag) return flag;

  /* In exact arithmetic the number of iterations is at most the number of different eigenvalues of
   * S; roundoff adds to it. */
  const long int most = 10 * (long int)N_VGetLength(r) + 100;
  double previous     = 0.0;
  for (long int i = 0; i < most; i++) {
    double rz = N_VDotProd(r, k->z);
    if (i > 0 && !(rz > 0.0)) {
      /* If r has become small, as where B and weight scale the rows very differently, the
       * recurrence for z has lost its digits. z is computed anew before B is blamed. */
      flag = precondition(k, r, k->z);
      if (flag) return flag;
      rz = N_VDotProd(r, k->z);
    }
    if (!isfinite(rz) || rz <= 0.0) return blamePreconditioner(text, rz);
    if (i == 0) rz_start = rz;
    if (rz > GROWTH * rz_start)
      return explain(k, r, "the residual of conjugate gradients grows", text);
    flag = steepest(k, &gamma, text); /* g = A'z, s = D g, gamma = (g, s) */
    if (flag) return flag;
    const double beta = i > 0 ? gamma / previous : 0.0; /* d = s + beta d, p = z + beta p */
    if (i == 0) N_VScale(1.0, k->s, k->d);
    else N_VLinearSum(1.0, k->s, beta, k->d, k->d);
    if (mu && i == 0) N_VScale(1.0, k->z, k->p);
    else if (mu) N_VLinearSum(1.0, k->z, beta, k->p, k->p);
    previous = gamma;

    /* Rayleigh quotients of B S at z and at d, which is in the range of D A^T: if the quotient at z
     * is tiny compared with the largest one, no part of r is left in range(A), and the rest is a
     * contradiction. The least eigenvalue of B S that counts as nonzero is half of the digits of
     * the largest one, squared. */
    k->largest = fmax(k->largest, gamma / rz);
    if (gamma / rz <= CP_HALF_DIGITS * CP_HALF_DIGITS * k->largest) return CP_SUCCESS;
    flag = curvature(k, &delta, text); /* q = A d, delta = (q, B q) */
    if (flag) return flag;
    k->largest = fmax(k->largest, delta / gamma);
    if (gamma / rz <= CP_HALF_DIGITS * CP_HALF_DIGITS * k->largest) return CP_SUCCESS;

    const double alpha = gamma / delta;
    N_VLinearSum(1.0, x, alpha, k->d, x);           /* x += alpha d */
    N_VLinearSum(1.0, r, -alpha, k->q, r);          /* r -= alpha q */
    N_VLinearSum(1.0, k->z, -alpha, k->Bq, k->z);   /* z -= alpha B q */
    if (mu) N_VLinearSum(1.0, mu, alpha, k->p, mu); /* mu += alpha p */
    ++*iterations;
    if (cpKrylovNorm(weight, r, k->scaled) <= rtol * first) return CP_SUCCESS;
  }
  return explain(k, r, "conjugate gradients do not converge", text);
}
