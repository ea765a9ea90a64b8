/* The problem of an event where W is known only by products: a first guess by projected gradients,
 * and Newton's step F'(x) h = F by GMRES (Y. Saad, M. H. Schultz, SIAM J. Sci. Stat. Comput. 7,
 * 1986). The right preconditioner is F' with only the contacts' own blocks of W. */
#include "complementarity.h"
#include "cpodes/base/roundoff.h"

#include <math.h>
#include <string.h>

/* Newton's steps are solved to this fraction of |F|, which is what each of the last iterations
 * gains. */
#define ACCURACY 1.0e-3

/* y = P^{-1} x, where P is F' with W replaced by its diagonal blocks */
static void precondition(const ContactProblem *p, const sunrealtype *x, sunrealtype *y) {
  memcpy(y, x, (size_t)p->n * sizeof *y);
  for (int k = 0; k < p->ncontacts; k++) {
    const ContactLaw *law = &p->law[k];
    const int rows        = 1 + law->ntangents;
    sunrealtype J[9], unit[3] = {0, 0, 0}, Wh[3];
    for (int j = 0; j < rows; j++) {
      unit[j] = 1;
      for (int i = 0; i < rows; i++)
        Wh[i] = p->weight * (p->block[9 * k + 3 * j + i] + (i == j) * p->shift);
      contactLawDerivative(law, unit, Wh, J + j * rows);
      unit[j] = 0;
    }
    /* Where a block is singular, y is either finite or reset below. */
    contactGauss(rows, J, y + law->first);
    for (int i = law->first; i < law->first + rows; i++)
      if (!isfinite(y[i])) y[i] = x[i];
  }
}

/* Accelerated gradients (Y. Nesterov, Soviet Math. Dokl. 27, 1983) with restarts (B. O'Donoghue, E.
 * Candes, Found. Comput. Math. 15, 2015). They end where a step changes the guess by CP_INEXACT of it: Newton's method gains more. */
void contactProjectedGradient(ContactProblem *p, int steps, sunrealtype *y, sunrealtype *v,
                              sunrealtype *w) {
  const int n        = p->n;
  sunrealtype *x     = p->x;
  sunrealtype lambda = 0, theta = 1;
  for (int i = 0; i < n; i++) v[i] = 1 + (i * 7 % 11) / 11.0; /* not an eigenvector */
  for (int k = 0; k < CONTACT_SWEEPS; k++) { /* lambda: the largest eigenvalue of W */
    contactProblemTimes(p, v, w);
    lambda = sqrt(contactDot(n, w, w) / contactDot(n, v, v));
    memcpy(v, w, (size_t)n * sizeof *v);
  }
  if (!(lambda > 0.0) || !isfinite(lambda)) return;
  memcpy(y, x, (size_t)n * sizeof *y);
  for (int k = 0; k < steps; k++) {
    contactProblemTimes(p, y, w);
    for (int i = 0; i < n; i++) v[i] = y[i] - (w[i] + p->c[i]) / lambda;
    for (int l = 0; l < p->ncontacts; l++) contactProject(&p->law[l], v + p->law[l].first);
    sunrealtype along = 0, change = 0;
    for (int i = 0; i < n; i++) {
      along += (y[i] - v[i]) * (v[i] - x[i]);
      change = fmax(change, fmax(fabs(v[i] - x[i]), fabs(v[i] - y[i])));
    }
    const sunrealtype next     = along > 0.0 ? 1.0 : (1.0 + sqrt(1.0 + 4.0 * theta * theta)) / 2.0;
    const sunrealtype momentum = along > 0.0 ? 0.0 : (theta - 1.0) / next;
    for (int i = 0; i < n; i++) {
      y[i] = v[i] + momentum * (v[i] - x[i]);
      x[i] = v[i];
    }
    theta = next;
    if (change <= CP_INEXACT * contactLargest(n, x)) break;
  }
}

int contactKrylovStep(const ContactProblem *p, const sunrealtype *F, sunrealtype *h,
                      sunrealtype *Wh, sunrealtype *basis) {
  const int n = p->n;
  /* H holds the columns of H = Q R, (c, s) its rotations, and g the right-hand side */
  sunrealtype *z = basis + (CONTACT_BASIS + 1) * n, *r = z + n;
  sunrealtype H[CONTACT_BASIS][CONTACT_BASIS + 1], c[CONTACT_BASIS], s[CONTACT_BASIS],
      g[CONTACT_BASIS + 1];
  const sunrealtype size = sqrt(contactDot(n, F, F));
  memset(h, 0, (size_t)n * sizeof *h);
  memcpy(r, F, (size_t)n * sizeof *r);
  for (int steps = 0; steps <= n; steps += CONTACT_BASIS) {
    const sunrealtype length = sqrt(contactDot(n, r, r));
    int m                    = 0;
    if (!isfinite(length)) return 1;
    if (length <= ACCURACY * size) return 0;
    for (int i = 0; i < n; i++) basis[i] = r[i] / length;
    g[0] = length;
    while (m < CONTACT_BASIS && fabs(g[m]) > ACCURACY * size) {
      sunrealtype *v = basis + (m + 1) * n;
      precondition(p, basis + m * n, z);
      contactShiftedTimes(p, z, Wh);
      contactDerivativeTimes(p, z, Wh, v);
      for (int twice = 0; twice < 2; twice++)
        for (int j = 0; j <= m; j++) {
          const sunrealtype a = contactDot(n, v, basis + j * n);
          H[m][j]             = twice ? H[m][j] + a : a;
          for (int i = 0; i < n; i++) v[i] -= a * basis[j * n + i];
        }
      const sunrealtype rest = sqrt(contactDot(n, v, v));
      if (!isfinite(rest)) return 1;
      for (int i = 0; i < n && rest > 0.0; i++) v[i] /= rest;
      for (int j = 0; j < m; j++) {
        const sunrealtype a = H[m][j], b = H[m][j + 1];
        H[m][j]     = c[j] * a + s[j] * b;
        H[m][j + 1] = c[j] * b - s[j] * a;
      }
      const sunrealtype diagonal = hypot(H[m][m], rest);
      if (diagonal == 0.0) break;
      c[m] = H[m][m] / diagonal, s[m] = rest / diagonal;
      H[m][m]  = diagonal;
      g[m + 1] = -s[m] * g[m];
      g[m] *= c[m];
      m++;
    }
    memset(z, 0, (size_t)n * sizeof *z);
    for (int j = m - 1; j >= 0; j--) { /* Solves R x = g in place. */
      for (int k = j + 1; k < m; k++) g[j] -= H[k][j] * g[k];
      g[j] /= H[j][j];
      for (int i = 0; i < n; i++) z[i] += g[j] * basis[j * n + i];
    }
    precondition(p, z, r);
    for (int i = 0; i < n; i++) h[i] += r[i];
    contactShiftedTimes(p, h, Wh);
    contactDerivativeTimes(p, h, Wh, r);
    for (int i = 0; i < n; i++) r[i] = F[i] - r[i];
    if (m == 0) break;
  }
  /* F' is singular, or nearly so. With a shift, h is still used, and the line search judges it. */
  return p->shift == 0.0;
}
