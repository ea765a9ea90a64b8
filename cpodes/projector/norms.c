/* Closed forms for unit norms that are the only constraints and share no component, in a diagonal
 * metric. Each norm moves its own components q only:
 *
 *   state       x = q - mu D q,  |x| = r:   mu = e / (m_1 + sqrt(m_1^2 - m_2 e)),
 *                                            e = |q|^2 - r^2,  m_k = q^T D^k q
 *   tangent     v <- v - D q (q^T v) / (q^T D q)
 *   cotangent   v <- v - q (q^T D v) / (q^T D q)
 *
 * The first is the limit of Newton's iteration with the gradient of the initial state (newton.c);
 * with D = I it is q r / |q|. If there is no such limit, or it loses digits, the iteration is used,
 * which names what fails. */
#include "projector_impl.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* LANES successive quaternions are projected together, in lanes of vector registers. Norms with
 * more components than LONGEST are left to the iteration. */
enum { LANES = 16, LONGEST = 4 * LANES };

/* Below this, and above its inverse, squares of the sums may have lost digits. */
#define LEAST_SUM sqrt(CP_LEAST_SQUARES)
/* x loses digits if |q|^2 / r^2 is above FAR, or m_1^2 over the radicand. */
#define FAR 4.0

typedef struct {
  const CPUnitNorm *norm; /* [count] */
  /* in_row: they are quaternions with the same value, which follow each other in the state */
  int count, in_row;
  int weighted; /* 1: D_j = 1 / w_j^2; 0: D = I */
  double eps;
  const double *w;  /* [n] measuring weights */
  double *y;        /* [n] the state */
  double *kept;     /* [n] copy of the old state; NULL if the norms are only measured */
  double violation; /* square of the largest violation before the projection */
  int worst;        /* the norm with this violation */
} Norms;

/* Measures and moves `lanes` norms with the same value and length, which start at norm `first` and
 * follow each other in the state. Returns 1, or 0 with nothing moved if one of them has no closed
 * form. */
CP_WIDE_PART int some(Norms *norms, int first, int lanes, int length, int weighted) {
  const CPUnitNorm *u = norms->norm + first;
  const double r = u->value, most = norms->violation;
  const double roundoff = (8.0 + length) * CP_UROUND * r, bound = norms->eps * norms->eps;
  const double *restrict w = norms->w + u->first;
  double *restrict q       = norms->y + u->first;
  double Dq[LONGEST], mu[LANES], violation[LANES];
  int64_t bad = 0, larger = 0;
  for (int j = 0; weighted && j < lanes * length; j++) Dq[j] = q[j] / (w[j] * w[j]);
  for (int k = 0; k < lanes; k++) {
    double m0 = 0.0, m1 = 0.0, m2 = 0.0;
#pragma GCC unroll 4
    for (int i = 0; i < length; i++) {
      const int j    = k * length + i;
      const double a = q[j], b = weighted ? Dq[j] : a / (w[j] * w[j]);
      m0 += a * a;
      m1 += a * b;
      m2 += b * b;
    }
    const double s = sqrt(m0), e = m0 - r * r, root2 = m1 * m1 - m2 * e;
    const double size = m0 / m1; /* 1 / |gradient|^2 */
    mu[k]             = e / (weighted ? m1 + sqrt(root2) : m0 + r * s);
    violation[k]      = (s - r) * (s - r) * size;
    larger |= violation[k] > most;
    bad |= !(m0 > LEAST_SUM);
    bad |= !(m1 > LEAST_SUM);
    bad |= !(m1 < 1.0 / LEAST_SUM);
    bad |= !(m0 < FAR * (r * r));
    bad |= !(roundoff * roundoff * size < bound);
    if (weighted) bad |= !(FAR * root2 > m1 * m1);
  }
  if (bad) return 0;
  for (int k = 0; larger && k < lanes; k++)
    if (violation[k] > norms->violation) norms->violation = violation[k], norms->worst = first + k;
  if (!norms->kept) return 1;
  double *restrict kept = norms->kept + u->first;
#pragma GCC unroll 4
  for (int k = 0; k < lanes; k++) {
    double *x           = q + k * length;
    const double *along = weighted ? Dq + k * length : x;
    memcpy(kept + k * length, x, (size_t)length * sizeof *x);
    for (int i = 0; i < length; i++) x[i] -= mu[k] * along[i];
  }
  return 1;
}

/* Treats all norms, or those before the first one without a closed form; returns their number. */
CP_WIDE_PART int all(Norms *norms, int weighted) {
  int k = 0;
  for (; norms->in_row && k + LANES <= norms->count; k += LANES)
    if (!some(norms, k, LANES, 4, weighted)) return k;
  for (; k < norms->count; k++)
    if (!some(norms, k, 1, norms->norm[k].length, weighted)) return k;
  return k;
}

CP_WIDE static int allWeighted(Norms *norms) { return all(norms, 1); }
CP_WIDE static int allEqual(Norms *norms) { return all(norms, 0); }

/* Measures the norms, and moves them if kept is not NULL. Returns 1, or 0 with nothing moved if one
 * has no closed form. */
static int apply(Norms *norms, double *kept) {
  norms->kept      = kept;
  norms->violation = -1.0;
  const int done   = norms->weighted ? allWeighted(norms) : allEqual(norms);
  for (int k = 0; kept && done < norms->count && k < done; k++) {
    const CPUnitNorm *u = &norms->norm[k];
    memcpy(norms->y + u->first, kept + u->first, (size_t)u->length * sizeof *kept);
  }
  return done == norms->count;
}

/* Sets *norms; returns 0 if closed forms do not apply. */
static int prepare(CPWork work, N_Vector y, N_Vector ewt, Norms *norms) {
  const CPProjector P = work->P;
  if (P->free || (!ewt && cpWeights(work, y, NULL))) return 0;
  /* weights of public calls have been checked (projector.c) */
  if (ewt && work != P->work && !cpVectorAtLeast(ewt, CP_LEAST_WEIGHT)) return 0;
  *norms = (Norms){.norm     = P->norms,
                   .count    = P->nnorms,
                   .in_row   = work->norms_in_row,
                   .weighted = work->norm == CP_NORM_ERROR,
                   .eps      = P->options.eps,
                   .w        = ewt ? N_VGetArrayPointer(ewt) : work->rows.w,
                   .y        = N_VGetArrayPointer(y)};
  return 1;
}

void cpNormsLayOut(CPWork work) {
  const CPProjector P = work->P;
  const size_t *start = work->norms.start;
  work->norms_apart   = P->mc == 0 && cpHasDiagonalMetric(P);
  work->norms_in_row  = 1;
  for (int j = 0; j < P->n; j++) work->norms_apart &= start[j + 1] - start[j] <= 1;
  for (int k = 0; k < P->nnorms; k++) {
    const CPUnitNorm *u = &P->norms[k], *u0 = P->norms;
    work->norms_apart &= u->length <= LONGEST;
    work->norms_in_row &= u->length == 4 && u->first == u0->first + 4 * k && u->value == u0->value;
  }
}

int cpNormsProject(CPWork work, N_Vector y, N_Vector ewt, int only_if_needed, CPProjected *result) {
  Norms norms;
  if (!prepare(work, y, ewt, &norms)) return 0;
  if (only_if_needed) {
    if (!apply(&norms, NULL)) return 0;
    *result = (CPProjected){0, sqrt(norms.violation), norms.worst, 0};
    if (result->violation <= norms.eps) return CP_COUNT(work, nskipped), 1;
  }
  if (!apply(&norms, N_VGetArrayPointer(work->newton.y))) return 0;
  CP_COUNT(work, niters);
  cpNewtonForget(&work->newton);
  work->newton.rank   = (CPRank){.rank = work->P->m, .sine = 1.0};
  result->moved       = 1;
  result->worst_start = norms.worst;
  norms.norm += norms.worst;
  norms.count       = 1;
  result->violation = apply(&norms, NULL) ? sqrt(norms.violation) : 0.0;
  return 1;
}

int cpNormsViolation(CPWork work, N_Vector y, N_Vector ewt, CPViolation *violation) {
  Norms norms;
  if (!prepare(work, y, ewt, &norms) || !apply(&norms, NULL)) return 0;
  const int k = norms.worst;
  *violation  = (CPViolation){sqrt(norms.violation), k,
                              cpUnitNorm(work->P, k, norms.y) - norms.norm[k].value};
  return 1;
}

int cpNormsTangent(CPWork work, N_Vector y, N_Vector ewt, N_Vector v, int transposed) {
  Norms norms;
  if (!prepare(work, y, ewt, &norms)) return 0;
  const double *q = norms.y, *w = norms.w;
  double *x = N_VGetArrayPointer(v), *f = work->room.r;
  for (int k = 0; k < norms.count; k++) {
    const int first = norms.norm[k].first, end = first + norms.norm[k].length;
    double qv = 0.0, qDq = 0.0;
    for (int j = first; j < end; j++) {
      const double Dq = norms.weighted ? q[j] / (w[j] * w[j]) : q[j];
      qv += (transposed ? Dq : q[j]) * x[j];
      qDq += Dq * q[j];
    }
    if (!(qDq > LEAST_SUM && qDq < 1.0 / LEAST_SUM)) return 0;
    f[k] = qv / qDq;
  }
  for (int k = 0; k < norms.count; k++) {
    const int first = norms.norm[k].first, end = first + norms.norm[k].length;
    for (int j = first; j < end; j++)
      x[j] -= f[k] * (norms.weighted && !transposed ? q[j] / (w[j] * w[j]) : q[j]);
  }
  return 1;
}
