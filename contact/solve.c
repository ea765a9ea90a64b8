/* The problem of an event: x and w = W x + c of contacts with
 *
 *   0 <= x_N perpendicular to w_N >= 0,
 *   |x_T| <= mu x_N,  and  x_T = -mu x_N w_T / |w_T| where w_T != 0      Coulomb's law,
 *   x_T = -mu x_N s                                                      contacts that slide already,
 *   w_N = 0                                                              contacts that are glued,
 *   mu (x_N + given) in place of mu x_N                                  in the expansion of Poisson's law.
 *
 * It is F(x) = x - proj(x - w) = 0, proj onto x_N >= 0 and onto the disc of radius mu max(0, x_N - w_N) (P. Alart, A. Curnier,
 * Comput. Methods Appl. Mech. Eng. 92, 1991). Few contacts in the plane: every combination of open, sticking and sliding ones is a
 * linear system, and F decides. Otherwise: projected Gauss-Seidel, then Newton's method on F, which is semismooth. */
#include "contact_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define RESIDUAL 1.0e-12 /* of F, relative to c */
/* Combinations of up to this many contacts are tried in turn. */
#define ENUMERATED 3
/* Sweeps of Gauss-Seidel before Newton's method, the first time; each further trial has GROWTH times as many. */
#define SWEEPS 20
#define TRIALS 4
#define GROWTH 8
/* Where Newton's method fails, it starts again from solutions with W + shift I, whose shifts go to zero by tenths. */
#define FIRST_SHIFT 0.1
#define LAST_SHIFT  1.0e-6
#define ITERATIONS  40
#define HALVINGS    8

/* ---- linear systems ---- */

/* LU with partial pivoting in A, b -> x. Returns 1 if a pivot is roundoff. */
static int gauss(int n, sunrealtype *A, sunrealtype *x) {
  sunrealtype size = 0;
  for (int k = 0; k < n * n; k++) size = fmax(size, fabs(A[k]));
  for (int k = 0; k < n; k++) {
    int p = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(A[i + k * n]) > fabs(A[p + k * n])) p = i;
    if (!(fabs(A[p + k * n]) > 64 * n * DBL_EPSILON * size)) return 1;
    for (int j = 0; p != k && j <= n; j++) {
      sunrealtype *column = j < n ? A + j * n : x;
      const sunrealtype a = column[k];
      column[k]           = column[p];
      column[p]           = a;
    }
    for (int i = k + 1; i < n; i++) {
      const sunrealtype l = A[i + k * n] / A[k + k * n];
      if (l == 0.0) continue;
      for (int j = k + 1; j < n; j++) A[i + j * n] -= l * A[k + j * n];
      x[i] -= l * x[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    x[k] /= A[k + k * n];
    for (int i = 0; i < k; i++) x[i] -= A[i + k * n] * x[k];
  }
  return 0;
}

/* Where A is singular: x <- x + A^T (A A^T + delta I)^{-1} (b - A x) from x = 0, which converges to A^+ b. room [2 n n + n] */
void contactLinearSolve(int n, sunrealtype *A, sunrealtype *b, sunrealtype *x, sunrealtype *room) {
  sunrealtype *LU = room, *shifted = room + n * n, *r = shifted + n * n, trace = 0;
  memcpy(LU, A, (size_t)(n * n) * sizeof *A);
  memcpy(x, b, (size_t)n * sizeof *x);
  if (!gauss(n, LU, x)) return;
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
    gauss(n, LU, r);
    for (int k = 0; k < n; k++)
      for (int i = 0; i < n; i++) x[k] += A[i + k * n] * r[i];
  }
}

/* ---- the natural map ---- */

/* w = W x + c and F(x) [n]. Returns its largest entry. */
static sunrealtype naturalMap(const ContactProblem *p, const sunrealtype *x, sunrealtype *F) {
  const int n         = p->n;
  sunrealtype largest = 0;
  memcpy(p->w, p->c, (size_t)n * sizeof *p->w);
  for (int j = 0; j < n; j++)
    for (int i = 0; x[j] != 0.0 && i < n; i++) p->w[i] += p->W[i + j * n] * x[j];
  for (int k = 0; k < p->ncontacts; k++) {
    const ContactLaw *law = &p->law[k];
    const int N           = law->first;
    const sunrealtype r = fmax(0.0, x[N] - p->w[N]), radius = law->mu * (r + law->given);
    sunrealtype length = 0;
    F[N]               = law->glued ? p->w[N] : x[N] - r;
    for (int i = N + 1; i <= N + law->ntangents; i++) length = hypot(length, x[i] - p->w[i]);
    for (int i = N + 1; i <= N + law->ntangents; i++) {
      if (law->slides) F[i] = x[i] + radius * law->s[i - N - 1];
      else F[i] = length <= radius ? p->w[i] : x[i] - radius * (x[i] - p->w[i]) / length;
    }
    for (int i = N; i <= N + law->ntangents; i++) largest = fmax(largest, fabs(F[i]));
  }
  return isfinite(largest) ? largest : INFINITY;
}

/* J [n n] = dF/dx at x, with w as naturalMap left it. With z = x - w, d = z_T / |z_T| and r = max(0, z_N):
 *
 *   dF_T = dx_T - mu d dr - mu r / |z_T| (I - d d^T) (dx_T - dw_T)   sliding,   dF_T = dw_T   sticking. */
static void derivative(const ContactProblem *p, const sunrealtype *x, sunrealtype *J) {
  const int n = p->n;
  for (int k = 0; k < p->ncontacts; k++) {
    const ContactLaw *law = &p->law[k];
    const int N = law->first, m = law->ntangents, T = N + 1;
    const sunrealtype r = fmax(0.0, x[N] - p->w[N]), radius = law->mu * (r + law->given);
    sunrealtype d[2] = {0, 0}, length = 0;
    for (int i = 0; i < m; i++) length = hypot(length, x[T + i] - p->w[T + i]);
    const int sticks = !law->slides && length <= radius;
    for (int i = 0; i < m; i++)
      d[i] = law->slides ? -law->s[i] : length > 0.0 ? (x[T + i] - p->w[T + i]) / length : 0.0;
    for (int j = 0; j < n; j++) {
      const sunrealtype *W = p->W + j * n;
      const sunrealtype dr = r > 0.0 ? (j == N) - W[N] : 0.0;
      sunrealtype dz[2] = {0, 0}, along = 0;
      J[N + j * n] = law->glued ? W[N] : (j == N) - dr;
      for (int i = 0; i < m; i++) dz[i] = (j == T + i) - W[T + i], along += d[i] * dz[i];
      for (int i = 0; i < m; i++) {
        J[T + i + j * n] = sticks ? W[T + i] : (j == T + i) - law->mu * d[i] * dr;
        if (!sticks && !law->slides && m == 2)
          J[T + i + j * n] -= radius / length * (dz[i] - along * d[i]);
      }
    }
  }
}

/* ---- methods ---- */

static int enumerate(ContactProblem *p, sunrealtype *A, sunrealtype *F, sunrealtype *room,
                     sunrealtype size) {
  /* What exceeds the given impulse is open in the last three. */
  enum { STICK, SLIP_FORWARD, SLIP_BACK, OPEN, OPEN_SLIP_BACK, OPEN_STICK, KINDS };
  const int n = p->n;
  int number  = 1;
  for (int k = 0; k < p->ncontacts; k++) {
    if (p->law[k].ntangents > 1) return 1;
    number *= KINDS;
  }
  if (p->ncontacts > ENUMERATED) return 1;
  for (int trial = 0; trial < number; trial++) {
    int rest = trial, skip = 0;
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int k = 0; k < p->ncontacts && !skip; k++, rest /= KINDS) {
      const ContactLaw *law = &p->law[k];
      /* One that slides opens if it can, though in Painleve's configurations it need not. */
      const int kind = law->slides && rest % KINDS <= OPEN ? OPEN - rest % KINDS : rest % KINDS;
      const int N = law->first, T = N + 1, open = kind >= OPEN;
      skip = (open && law->glued) || (kind > OPEN && law->given == 0.0) ||
             (kind != STICK && kind != OPEN && (law->slides || law->ntangents == 0));
      for (int j = 0; j < n; j++) A[N + j * n] = open ? j == N : p->W[N + j * n];
      F[N] = open ? 0.0 : -p->c[N];
      if (law->ntangents == 0) continue;
      const int forward   = kind == SLIP_FORWARD || kind == OPEN;
      const sunrealtype s = law->slides ? law->s[0] : forward ? 1.0 : -1.0;
      const int sticks    = (kind == STICK && !law->slides) || kind == OPEN_STICK;
      for (int j = 0; j < n; j++) A[T + j * n] = sticks ? p->W[T + j * n] : j == T;
      F[T] = sticks ? -p->c[T] : -law->mu * s * law->given;
      if (!sticks) A[T + N * n] = law->mu * s;
    }
    if (skip) continue;
    contactLinearSolve(n, A, F, p->x, room);
    if (naturalMap(p, p->x, F) <= RESIDUAL * size) return 0;
  }
  return 1;
}

static void gaussSeidel(ContactProblem *p, int sweeps) {
  const int n = p->n;
  for (int sweep = 0; sweep < sweeps; sweep++)
    for (int k = 0; k < p->ncontacts; k++) {
      const ContactLaw *law = &p->law[k];
      const int N           = law->first;
      sunrealtype length    = 0;
      for (int i = N; i <= N + law->ntangents; i++) {
        sunrealtype w = p->c[i]; /* W_ii = 1 */
        for (int j = 0; j < n; j++) w += p->W[i + j * n] * p->x[j];
        p->x[i] -= w;
        if (i == N) p->x[N] = law->glued ? p->x[N] : fmax(0.0, p->x[N]);
        else length = hypot(length, p->x[i]);
      }
      const sunrealtype radius = law->mu * (fmax(0.0, p->x[N]) + law->given);
      for (int i = 0; i < law->ntangents; i++) {
        if (law->slides) p->x[N + 1 + i] = -radius * law->s[i];
        else if (length > radius) p->x[N + 1 + i] *= radius / length;
      }
    }
}

static sunrealtype norm(int n, const sunrealtype *F) {
  sunrealtype sum = 0;
  for (int i = 0; i < n; i++) sum += F[i] * F[i];
  return sqrt(sum);
}

static int newton(ContactProblem *p, sunrealtype *J, sunrealtype *F, sunrealtype *d, sunrealtype *x,
                  sunrealtype *room, sunrealtype size) {
  const int n = p->n;
  for (int k = 0; k < ITERATIONS; k++) {
    if (naturalMap(p, p->x, F) <= RESIDUAL * size) return 0;
    const sunrealtype before = norm(n, F);
    derivative(p, p->x, J);
    contactLinearSolve(n, J, F, d, room);
    sunrealtype step = 1;
    for (int halvings = 0; halvings <= HALVINGS; halvings++, step /= 2) {
      for (int i = 0; i < n; i++) x[i] = p->x[i] - step * d[i];
      if (isfinite(naturalMap(p, x, F)) && norm(n, F) < (1.0 - 1e-4 * step) * before) break;
    }
    for (int i = 0; i < n; i++) x[i] = p->x[i] - step * d[i];
    memcpy(p->x, x, (size_t)n * sizeof *x);
  }
  return !(naturalMap(p, p->x, F) <= RESIDUAL * size);
}

int contactSolve(ContactProblem *p) {
  const int n    = p->n;
  sunrealtype *J = p->room, *room = J + n * n, *F = room + 2 * n * n + n, *d = F + n, *x = d + n,
              *scale = x + n, size = 0;
  int failed = 1;
  /* Rows are scaled so that W_ii = 1 at most, tangential ones alike: x = scale x', W' = scale W scale. */
  for (int k = 0; k < p->ncontacts; k++) {
    ContactLaw *law = &p->law[k];
    const int N     = law->first;
    sunrealtype w   = 0;
    scale[N]        = 1.0 / sqrt(p->W[N + N * n]);
    for (int i = N + 1; i <= N + law->ntangents; i++) w = fmax(w, p->W[i + i * n]);
    for (int i = N + 1; i <= N + law->ntangents; i++) scale[i] = w > 0.0 ? 1.0 / sqrt(w) : 1.0;
    if (law->ntangents > 0) law->mu *= scale[N] / scale[N + 1];
    law->given /= scale[N];
  }
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) p->W[i + j * n] *= scale[i] * scale[j];
    p->c[j] *= scale[j];
    size = fmax(size, fabs(p->c[j]));
  }
  memset(p->x, 0, (size_t)n * sizeof *p->x);
  p->newton = 0;
  if (naturalMap(p, p->x, F) == 0.0) failed = 0;
  if (failed) failed = enumerate(p, J, F, room, size);
  if (failed) {
    memset(p->x, 0, (size_t)n * sizeof *p->x);
    p->newton = 1;
    for (int trial = 0, sweeps = SWEEPS; failed && trial < TRIALS; trial++, sweeps *= GROWTH) {
      gaussSeidel(p, sweeps);
      memcpy(d, p->x, (size_t)n * sizeof *d);
      failed = newton(p, J, F, scale + n, x, room, size);
      for (sunrealtype shift = FIRST_SHIFT; failed && shift >= LAST_SHIFT; shift *= 0.1) {
        for (int i = 0; i < n; i++) p->W[i * (1 + n)] += shift;
        newton(p, J, F, scale + n, x, room, size);
        for (int i = 0; i < n; i++) p->W[i * (1 + n)] -= shift;
        failed = newton(p, J, F, scale + n, x, room, size);
      }
      if (failed) memcpy(p->x, d, (size_t)n * sizeof *d);
    }
  }
  p->residual = size > 0.0 ? naturalMap(p, p->x, F) / size : 0.0;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) p->W[i + j * n] /= scale[i] * scale[j];
    p->c[j] /= scale[j];
    p->x[j] *= scale[j];
    p->w[j] /= scale[j];
  }
  for (int k = 0; k < p->ncontacts; k++) {
    ContactLaw *law = &p->law[k];
    if (law->ntangents > 0) law->mu *= scale[law->first + 1] / scale[law->first];
    law->given *= scale[law->first];
  }
  return failed;
}
