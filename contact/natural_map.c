/* The natural map of the problem of an event, F(x) = x - proj(x - w) (solve.c), its derivative, and the linear algebra of
 * small dense matrices. */
#include "complementarity.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- linear algebra ---- */

sunrealtype contactDot(int n, const sunrealtype *a, const sunrealtype *b) {
  sunrealtype sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

sunrealtype contactLargest(int n, const sunrealtype *x) {
  sunrealtype size = 0.0;
  for (int i = 0; i < n; i++) size = fmax(size, fabs(x[i]));
  return size;
}

int contactGauss(int n, sunrealtype *A, sunrealtype *x) {
  sunrealtype size = 0;
  for (int k = 0; k < n * n; k++) size = fabs(A[k]) > size ? fabs(A[k]) : size;
  for (int k = 0; k < n; k++) {
    int p               = k;
    sunrealtype largest = fabs(A[k + k * n]);
    for (int i = k + 1; i < n; i++)
      if (fabs(A[i + k * n]) > largest) p = i, largest = fabs(A[i + k * n]);
    if (!(fabs(A[p + k * n]) > 64 * n * DBL_EPSILON * size)) return 1;
    for (int j = 0; p != k && j <= n; j++) {
      sunrealtype *column = j < n ? A + j * n : x;
      const sunrealtype a = column[k];
      column[k]           = column[p];
      column[p]           = a;
    }
    for (int i = k + 1; i < n; i++) A[i + k * n] /= A[k + k * n];
    for (int j = k + 1; j <= n; j++) {
      sunrealtype *column  = j < n ? A + j * n : x;
      const sunrealtype *l = A + k * n, a = column[k];
      if (a != 0.0)
        for (int i = k + 1; i < n; i++) column[i] -= l[i] * a;
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    x[k] /= A[k + k * n];
    for (int i = 0; i < k; i++) x[i] -= A[i + k * n] * x[k];
  }
  return 0;
}

/* If A is singular, x <- x + A^T (A A^T + delta I)^{-1} (b - A x) from x = 0, which converges to
 * A^+ b. room [2 n n + n]. */
void contactLinearSolve(int n, sunrealtype *A, sunrealtype *b, sunrealtype *x, sunrealtype *room) {
  sunrealtype *LU = room, *shifted = room + n * n, *r = shifted + n * n, trace = 0;
  memcpy(LU, A, (size_t)(n * n) * sizeof *A);
  memcpy(x, b, (size_t)n * sizeof *x);
  if (!contactGauss(n, LU, x)) return;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      sunrealtype sum = 0;
      for (int k = 0; k < n; k++) sum += A[i + k * n] * A[j + k * n];
      shifted[i + j * n] = sum;
      if (i == j) trace += sum;
    }
  for (int i = 0; i < n; i++) shifted[i + i * n] += 1e-9 * trace + DBL_MIN;
  memset(x, 0, (size_t)n * sizeof *x);
  for (int iteration = 0; iteration < 6; iteration++) {
    for (int i = 0; i < n; i++) {
      r[i] = b[i];
      for (int k = 0; k < n; k++) r[i] -= A[i + k * n] * x[k];
    }
    memcpy(LU, shifted, (size_t)(n * n) * sizeof *A);
    contactGauss(n, LU, r);
    for (int k = 0; k < n; k++)
      for (int i = 0; i < n; i++) x[k] += A[i + k * n] * r[i];
  }
}

/* ---- the natural map and its derivative ---- */

void contactSquareTimes(int n, const sunrealtype *W, const sunrealtype *x, sunrealtype *y) {
  memset(y, 0, (size_t)n * sizeof *y);
  for (int j = 0; j < n; j++) {
    const sunrealtype *column = W + j * n, a = x[j];
    if (a != 0.0)
      for (int i = 0; i < n; i++) y[i] += column[i] * a;
  }
}

void contactProblemTimes(const ContactProblem *p, const sunrealtype *x, sunrealtype *y) {
  const int n = p->n;
  if (p->times) {
    for (int i = 0; i < n; i++) p->scaled[i] = p->scale[i] * x[i];
    const int failed = p->times(p->data, p->scaled, y);
    for (int i = 0; i < n; i++) y[i] = failed ? NAN : y[i] * p->scale[i];
    return;
  }
  contactSquareTimes(n, p->W, x, y);
}

void contactShiftedTimes(const ContactProblem *p, const sunrealtype *x, sunrealtype *y) {
  contactProblemTimes(p, x, y);
  for (int i = 0; i < p->n; i++) y[i] = p->weight * (y[i] + p->shift * x[i]);
}

sunrealtype contactMapAtW(ContactProblem *p, const sunrealtype *x, sunrealtype *F) {
  sunrealtype largest = 0;
  for (int k = 0; k < p->ncontacts; k++) {
    ContactLaw *law = &p->law[k];
    const int N = law->first, T = N + 1, m = law->ntangents;
    const sunrealtype r = fmax(0.0, x[N] - p->w[N]), radius = law->mu * (r + law->given);
    sunrealtype length = 0;
    for (int i = 0; i < m; i++) length = hypot(length, x[T + i] - p->w[T + i]);
    law->pressed = r > 0.0;
    law->sticks  = !law->slides && radius > 0.0 && length <= radius;
    law->turns   = m == 2 && !law->slides && !law->sticks && radius > 0.0 ? radius / length : 0.0;
    F[N]         = law->glued ? p->w[N] : x[N] - r;
    for (int i = 0; i < m; i++) {
      law->d[i] = law->slides ? -law->s[i] : length > 0.0 ? (x[T + i] - p->w[T + i]) / length : 0.0;
      F[T + i]  = law->sticks ? p->w[T + i] : x[T + i] - radius * law->d[i];
    }
    for (int i = N; i <= N + m; i++) largest = fmax(largest, fabs(F[i]));
  }
  return isfinite(largest) ? largest : INFINITY;
}

sunrealtype contactNaturalMap(ContactProblem *p, const sunrealtype *x, sunrealtype *F) {
  contactProblemTimes(p, x, p->w);
  for (int i = 0; i < p->n; i++)
    p->w[i] = p->weight * (p->w[i] + p->c[i]) +
              (p->shift > 0.0 ? p->weight * p->shift * (x[i] - p->center[i]) : 0.0);
  return contactMapAtW(p, x, F);
}

/* With z = x - w, d = z_T / |z_T| and r = max(0, z_N):
 *
 *   dF_T = dx_T - mu d dr - mu r / |z_T| (I - d d^T) (dx_T - dw_T)   sliding,   dF_T = dw_T   sticking. */
void contactLawDerivative(const ContactLaw *law, const sunrealtype *h, const sunrealtype *Wh,
                          sunrealtype *y) {
  const sunrealtype dr = law->pressed ? h[0] - Wh[0] : 0.0;
  sunrealtype along    = 0;
  y[0]                 = law->glued || law->pressed ? Wh[0] : h[0];
  for (int i = 0; i < law->ntangents; i++) along += law->d[i] * (h[1 + i] - Wh[1 + i]);
  for (int i = 0; i < law->ntangents; i++)
    y[1 + i] = law->sticks ? Wh[1 + i]
                           : h[1 + i] - law->mu * law->d[i] * dr -
                                 law->turns * (h[1 + i] - Wh[1 + i] - along * law->d[i]);
}

void contactDerivativeTimes(const ContactProblem *p, const sunrealtype *h, const sunrealtype *Wh,
                            sunrealtype *y) {
  for (int k = 0; k < p->ncontacts; k++) {
    const int N = p->law[k].first;
    contactLawDerivative(&p->law[k], h + N, Wh + N, y + N);
  }
}

void contactProject(const ContactLaw *law, sunrealtype *x) {
  sunrealtype length = 0;
  if (!law->glued) x[0] = fmax(0.0, x[0]);
  const sunrealtype radius = law->mu * (fmax(0.0, x[0]) + law->given);
  for (int i = 1; i <= law->ntangents; i++) length = hypot(length, x[i]);
  for (int i = 1; i <= law->ntangents; i++) {
    if (law->slides) x[i] = -radius * law->s[i - 1];
    else if (length > radius) x[i] *= radius / length;
  }
}
