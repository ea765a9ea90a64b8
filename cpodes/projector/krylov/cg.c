/* Conjugate gradients for S mu = r, S = G D G^T, in least-squares form (CGLS: Hestenes & Stiefel,
 * J. Res. Nat. Bur. Standards 49, 1952, section 10; Bjorck, Numerical Methods for Least Squares
 * Problems, 1996, 7.4): with the preconditioner B ~ S^-1 they minimise
 *
 *   |r - G x|_B   over x in D G^T span{B r, B S B r, ...}
 *
 * the same space, products and solves as plain conjugate gradients on S. Two things are better
 * here. The residual falls monotonically, and it is the residual that the inexact Newton iteration
 * is after: x lies in range(D G^T) whatever is left. And rows that depend on each other need not
 * agree: what contradicts remains in r, while plain conjugate gradients diverge (S mu = r then has
 * no solution).
 *
 *   z = B r,  d = D G^T z
 *   repeat:  q = G d,  alpha = gamma / (q, B q),  x += alpha d,  r -= alpha q,  z -= alpha B q
 *            g = G^T z,  gamma' = (g, D g),  d = D g + gamma'/gamma d
 *
 * An exact preconditioner needs one iteration. */
#include "krylov_impl.h"

#include <math.h>

/* Sine of the angle between the residual and the null space of G^T below which nothing but
 * contradictions remains of it: roundoff in G^T z is some 1e-15 of its terms; the square is the
 * least eigenvalue of B S, next to the largest, that counts as one. */
#define NORMAL_PART 1.0e-7
/* Growth of the residual that roundoff cannot explain. */
#define GROWTH 10.0
/* Disagreement of (z, G d) and (G^T z, d), or (B q, r) and (q, B r), that cannot be meant. */
#define NOT_TRANSPOSED 1.0e-6

/* In exact arithmetic as many iterations as S has different eigenvalues, at most m; roundoff takes
 * the rest. */
static long int mostIterations(const CPWork work) {
  return 10 * (long int)N_VGetLength(work->P->c_tmpl) + 100;
}

/* Are (a, b) and (c, d) different, while they should not? */
static int disagree(N_Vector a, N_Vector b, N_Vector c, N_Vector d) {
  const double first = N_VDotProd(a, b), second = N_VDotProd(c, d);
  const double sizes = sqrt(N_VDotProd(a, a)) * sqrt(N_VDotProd(b, b));
  return fabs(first - second) >
         NOT_TRANSPOSED * fmax(fmax(fabs(first), fabs(second)), 1.0e-4 * sizes);
}

/* Why it does not converge. k->q and k->Bq hold a pair, k->d some direction. */
static int explain(CPWork work, int l, const char *symptom) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovPrecondition(work, l, k->r, k->z);
  if (!flag && work->P->psolve && disagree(k->Bq, k->r, k->q, k->z))
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.15g: %s, and the preconditioner is not symmetric", k->t, symptom);
  if (!flag) flag = cpKrylovTransTimes(work, k->t, k->y, k->q, k->g);
  if (!flag) flag = cpKrylovTimes(work, k->t, k->y, k->d, k->Bq);
  if (flag) return flag;
  if (disagree(k->q, k->Bq, k->g, k->d))
    return cpReason(
        work->text, -CP_CNSTRJAC_WRONG,
        "at t = %.15g: %s, and the products G v and G^T w are not each other's transpose "
        "(CPProjectorCheckJacTimes)",
        k->t, symptom);
  return cpReason(work->text, -CP_PROJ_CONV_FAILURE, "at t = %.15g: %s%s", k->t, symptom,
                  work->P->psolve ? ""
                                  : "; a preconditioner may help (CPProjectorSetPreconditioner)");
}

/* Which vector is not finite, after a scalar that is not. */
static int blameProduct(CPWork work) {
  const CPKrylov k = work->krylov;
  if (!cpVectorFinite(k->g))
    return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                    "at t = %.15g: the product G^T w has a NaN or Inf", k->t);
  return cpReason(work->text, -CP_REPTD_USERFUNC_ERR, "at t = %.15g: the metric gave NaN or Inf",
                  k->t);
}

static int blamePreconditioner(CPWork work) {
  return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                  "at t = %.15g: the preconditioner's solve gave NaN or Inf", work->krylov->t);
}

/* g = G^T z, s = D g, *gamma = (g, s) */
static int steepest(CPWork work, int l, double *gamma) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovTransTimes(work, k->t, k->y, k->z, k->g);
  if (!flag) flag = cpKrylovMetric(work, l, k->g, k->s);
  if (flag) return flag;
  *gamma = N_VDotProd(k->g, k->s);
  if (!isfinite(*gamma))
    return cpVectorFinite(k->z) ? blameProduct(work) : blamePreconditioner(work);
  if (*gamma < 0.0)
    return cpReason(work->text, -CP_METRIC_INDEFINITE,
                    "at t = %.15g: the metric is not positive definite: (x, D x) = %g", k->t,
                    *gamma);
  return CP_SUCCESS;
}

/* q = G d, Bq = B q, *delta = (q, B q) > 0 */
static int curvature(CPWork work, int l, double *delta) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovTimes(work, k->t, k->y, k->d, k->q);
  if (flag) return flag;
  cpKrylovMask(work, l, k->q);
  flag = cpKrylovPrecondition(work, l, k->q, k->Bq);
  if (flag) return flag;
  *delta = N_VDotProd(k->q, k->Bq);
  if (isfinite(*delta) && *delta > 0.0) return CP_SUCCESS;
  if (!cpVectorFinite(k->q))
    return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                    "at t = %.15g: the product G v has a NaN or Inf", k->t);
  if (!isfinite(*delta)) return blamePreconditioner(work);
  if (N_VMaxNorm(k->q) == 0.0)
    return cpReason(work->text, -CP_CNSTRJAC_WRONG,
                    "at t = %.15g: G^T w is not zero, but G D G^T w is: the products are not each "
                    "other's transpose",
                    k->t);
  return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                  "at t = %.15g: the preconditioner is not positive definite: (r, B r) = %g", k->t,
                  *delta);
}

/* Rayleigh quotients of B S: the largest one is kept, over solves with the same G. */
static void note(CPWork work, int l, double quotient) {
  double *largest = &work->krylov->largest[l];
  *largest        = fmax(*largest, quotient);
}

/* Nothing but contradictions left: the part of the residual in range(G) is gone, as its quotient
 * tells. */
static int isContradiction(const CPWork work, int l, double quotient) {
  return quotient <= NORMAL_PART * NORMAL_PART * work->krylov->largest[l];
}

/* x and r, and mu if it is wanted, moved along d. */
static void move(CPWork work, double alpha, int with_mu) {
  const CPKrylov k = work->krylov;
  N_VLinearSum(1.0, k->x, alpha, k->d, k->x);
  N_VLinearSum(1.0, k->r, -alpha, k->q, k->r);
  N_VLinearSum(1.0, k->z, -alpha, k->Bq, k->z);
  if (with_mu) N_VLinearSum(1.0, k->mu, alpha, k->p, k->mu);
  CP_COUNT(work, nli);
}

/* The next direction. */
static void turn(CPWork work, double beta, int with_mu) {
  const CPKrylov k = work->krylov;
  N_VLinearSum(1.0, k->s, beta, k->d, k->d);
  if (with_mu) N_VLinearSum(1.0, k->z, beta, k->p, k->p);
}

/* (r, z) of a preconditioner that is positive definite. */
static int checkPositive(CPWork work, double rz) {
  if (!isfinite(rz)) return blamePreconditioner(work);
  if (rz > 0.0) return CP_SUCCESS;
  return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                  "at t = %.15g: the preconditioner is not positive definite: (r, B r) = %g",
                  work->krylov->t, rz);
}

static int begin(CPWork work, int l, double *gamma, double *rz, int with_mu) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovPrecondition(work, l, k->r, k->z);
  if (flag) return flag;
  *rz  = N_VDotProd(k->r, k->z);
  flag = checkPositive(work, *rz);
  if (!flag) flag = steepest(work, l, gamma);
  if (flag) return flag;
  N_VScale(1.0, k->s, k->d);
  if (with_mu) N_VScale(1.0, k->z, k->p);
  return CP_SUCCESS;
}

/* The same of z = B r as it has been carried along. Where little is left of r, as where rows
 * measure very differently by B and by weight, z has lost its digits, and is made anew before B is
 * blamed. */
static int product(CPWork work, int l, double *rz) {
  const CPKrylov k = work->krylov;
  *rz              = N_VDotProd(k->r, k->z);
  if (*rz > 0.0) return checkPositive(work, *rz);
  const int flag = cpKrylovPrecondition(work, l, k->r, k->z);
  if (flag) return flag;
  *rz = N_VDotProd(k->r, k->z);
  return checkPositive(work, *rz);
}

int cpKrylovSolve(CPWork work, int l, double goal, int with_mu) {
  const CPKrylov k   = work->krylov;
  const double first = cpKrylovNorm(work, k->weight, k->r);
  double gamma, delta, rz;
  if (with_mu) N_VConst(0.0, k->mu);
  if (first == 0.0) return CP_SUCCESS;
  CP_COUNT(work, nlinsolves);
  int flag = begin(work, l, &gamma, &rz, with_mu);
  if (flag) return flag;
  const double rz_start = rz;
  for (long int i = 0; i < mostIterations(work); i++) {
    note(work, l, gamma / rz);
    if (isContradiction(work, l, gamma / rz)) return CP_SUCCESS;
    flag = curvature(work, l, &delta);
    if (flag) return flag;
    note(work, l, delta / gamma); /* of d, which is in the range of D G^T */
    if (isContradiction(work, l, gamma / rz)) return CP_SUCCESS;
    move(work, gamma / delta, with_mu);
    if (cpKrylovNorm(work, k->weight, k->r) <= goal * first) return CP_SUCCESS;
    const double previous = gamma;
    flag                  = product(work, l, &rz);
    if (!flag && rz > GROWTH * rz_start)
      return explain(work, l, "the residual of conjugate gradients grows");
    if (!flag) flag = steepest(work, l, &gamma);
    if (flag) return flag;
    turn(work, gamma / previous, with_mu);
  }
  return explain(work, l, "conjugate gradients do not converge");
}
