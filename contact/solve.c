/* The problem of an event: x and w = W x + c of contacts with
 *
 *   0 <= x_N perpendicular to w_N >= 0,
 *   |x_T| <= mu x_N,  and  x_T = -mu x_N w_T / |w_T| where w_T != 0      Coulomb's law,
 *   x_T = -mu x_N s                                                      contacts that slide already,
 *   w_N = 0                                                              contacts that are glued,
 *   mu (x_N + given) in place of mu x_N                                  in the expansion of Poisson's law.
 *
 * It is equivalent to F(x) = x - proj(x - w) = 0, where proj projects onto x_N >= 0 and onto the
 * disc of radius mu max(0, x_N - w_N) (P. Alart, A. Curnier, Comput. Methods Appl. Mech. Eng. 92,
 * 1991). For few contacts in the plane, every combination of open, sticking and sliding contacts is
 * a linear system, and F decides which one is the solution. Otherwise projected Gauss-Seidel sweeps
 * (projected gradients if W is known only by products) are followed by Newton's method on F, which
 * is semismooth. If that fails, as for redundant contacts, the proximal point algorithm (R. T.
 * Rockafellar, SIAM J. Control Optim. 14, 1976) solves the problem with
 *
 *   W + shift I,  c - shift center,
 *
 * whose solution is the next center, while the shifts decrease, and, where W has too few digits for the last of these, Levenberg's
 * method ends what they begin. A small shift with the center 0 then selects the solution of least norm. Where all this fails, many sweeps
 * lead near a solution. A first guess (ContactProblem) is tried first, as the center of a small shift.
 *
 * islands.c scales the problem, and splits it into those that are solved here. */
#include "complementarity.h"
#include "cpodes/base/object.h"
#include "cpodes/base/roundoff.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define RESIDUAL CP_ITERATED /* of F, relative to c */
/* All combinations are tried for up to this many contacts. */
#define ENUMERATED 3
/* The most iterations of Newton's method, and the most centers. A step may increase |F| up to the largest
 * of the newest MEMORY values (L. Grippo, F. Lampariello, S. Lucidi, SIAM J. Numer. Anal. 23, 1986),
 * which takes two thirds of the iterations that a monotone line search takes. */
#define ITERATIONS 40
#define MEMORY     10
/* Shifts, relative to W_ii = 1: the factor by which they decrease, from 1, when Newton's method succeeds, and increase when it
 * fails; the least one, above the pivots that are roundoff; and the one that selects the solution of least norm, where half of
 * the digits of W remain. By the same factor each shifted problem, and the polished one, is solved more accurately
 * than the unshifted one. */
#define SMALLER     0.1
#define LEAST_SHIFT (RESIDUAL / SMALLER)
#define NORM_SHIFT  sqrt(DBL_EPSILON)

/* Lists the rows of F' that are not rows of I. Returns their number. */
static int rowsOn(const ContactProblem *p, int *on) {
  int number = 0;
  for (int k = 0; k < p->ncontacts; k++) {
    const ContactLaw *law = &p->law[k];
    const int closed      = law->pressed || law->glued;
    const int coupled     = law->sticks || law->turns > 0.0 || (law->mu > 0.0 && law->pressed);
    if (closed) on[number++] = law->first;
    for (int i = 1; coupled && i <= law->ntangents; i++) on[number++] = law->first + i;
  }
  return number;
}

/* ---- methods ---- */

static int enumerate(ContactProblem *p, sunrealtype *A, sunrealtype *F, sunrealtype *room,
                     sunrealtype size) {
  /* In the last three kinds, the impulse beyond the given one is zero. */
  enum { STICK, SLIP_FORWARD, SLIP_BACK, OPEN, OPEN_SLIP_BACK, OPEN_STICK, KINDS };
  const int n = p->n;
  int number  = 1;
  if (p->ncontacts > ENUMERATED) return 1;
  for (int k = 0; k < p->ncontacts; k++) {
    if (p->law[k].ntangents > 1) return 1;
    number *= KINDS;
  }
  for (int trial = 0; trial < number; trial++) {
    int rest = trial, skip = 0;
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int k = 0; k < p->ncontacts && !skip; k++, rest /= KINDS) {
      const ContactLaw *law = &p->law[k];
      /* A sliding contact is first tried as open, although it need not open in Painleve's
       * configurations. */
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
    if (contactNaturalMap(p, p->x, F) <= RESIDUAL * size) return 0;
  }
  return 1;
}

/* Workspace: vectors [n], and a matrix [n n] */
typedef struct {
  sunrealtype *F, *h, *Wh, *y, *rhs, *trial, *newest, *center, *kept, *J;
  sunrealtype tolerance; /* of F */
} Work;

/* W is symmetric, so its rows are its columns. */
static void gaussSeidel(ContactProblem *p, int sweeps) {
  const int n = p->n;
  for (int sweep = 0; sweep < sweeps; sweep++)
    for (int k = 0; k < p->ncontacts; k++) {
      const ContactLaw *law = &p->law[k];
      const int N           = law->first;
      for (int i = N; i <= N + law->ntangents; i++) {
        const sunrealtype *W = p->W + i * n;
        sunrealtype w[4]     = {p->c[i]}; /* W_ii = 1 */
        int j                = 0;
        for (; j + 4 <= n; j += 4)
          for (int l = 0; l < 4; l++) w[l] += W[j + l] * p->x[j + l];
        for (; j < n; j++) w[0] += W[j] * p->x[j];
        p->x[i] -= (w[0] + w[1]) + (w[2] + w[3]);
      }
      contactProject(law, p->x + N);
    }
}

static sunrealtype norm(int n, const sunrealtype *F) { return sqrt(contactDot(n, F, F)); }

/* Solves F'(x) h = F: the rows that are rows of I give h at once, the others are eliminated.
 * Returns 1 if F' is singular. */
static int newtonStep(ContactProblem *p, const Work *work) {
  const int n    = p->n;
  sunrealtype *h = work->h, *Wh = work->Wh, *y = work->y, *rhs = work->rhs, *J = work->J;
  if (p->times) return contactKrylovStep(p, work->F, h, Wh, J);
  const int number = rowsOn(p, p->on);
  memcpy(h, work->F, (size_t)n * sizeof *h);
  for (int a = 0; a < number; a++) h[p->on[a]] = 0.0;
  contactShiftedTimes(p, h, Wh);
  contactDerivativeTimes(p, h, Wh, y);
  for (int a = 0; a < number; a++) rhs[a] = work->F[p->on[a]] - y[p->on[a]];
  sunrealtype *unit = work->trial;
  memset(unit, 0, (size_t)n * sizeof *unit);
  for (int b = 0; b < number; b++) {
    const int j = p->on[b];
    for (int i = 0; i < n; i++) Wh[i] = p->weight * p->W[i + j * n];
    Wh[j] += p->weight * p->shift, unit[j] = 1.0;
    contactDerivativeTimes(p, unit, Wh, y);
    for (int a = 0; a < number; a++) J[a + b * number] = y[p->on[a]];
    unit[j] = 0.0;
  }
  const int singular = contactGauss(number, J, rhs);
  for (int a = 0; a < number; a++) h[p->on[a]] = rhs[a];
  return singular;
}

/* h <- J^T (J J^T + delta I)^{-1} F with J = F'(x), delta = |F|^2 / |c| (K. Levenberg, Quarterly of Applied Mathematics 2, 1944). Where
 * solutions are not isolated F' is singular at all of them, and these steps converge faster than linearly (N. Yamashita, M. Fukushima,
 * Computing Supplement 15, 2001). Returns 1 if there is none. */
static int levenbergStep(ContactProblem *p, const Work *work, sunrealtype size) {
  const int n    = p->n;
  sunrealtype *h = work->h, *rhs = work->rhs, *J = work->J, *JJ = J + n * n, *unit = work->trial;
  memset(unit, 0, (size_t)n * sizeof *unit);
  for (int j = 0; j < n; j++) {
    unit[j] = 1.0;
    contactDerivativeTimes(p, unit, p->W + j * n, J + j * n);
    unit[j] = 0.0;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      sunrealtype sum = 0;
      for (int k = 0; k < n; k++) sum += J[i + k * n] * J[j + k * n];
      JJ[i + j * n] = JJ[j + i * n] = sum;
    }
  const sunrealtype least = norm(n, work->F) / size;
  for (int i = 0; i < n; i++) JJ[i * (n + 1)] += fmax(least * least, n * RESIDUAL);
  memcpy(rhs, work->F, (size_t)n * sizeof *rhs);
  if (contactGauss(n, JJ, rhs)) return 1;
  for (int k = 0; k < n; k++) h[k] = contactDot(n, J + k * n, rhs);
  return 0;
}

/* Newton's method from p->x until the largest entry of F is at most tolerance; with damp > 0 by Levenberg's steps for |c| = damp.
 * p->x: out, the iterate with the least residual; least: out, that residual. Returns the number of iterations, or
 * -1 if the given number does not suffice or F' is singular. */
static int newton(ContactProblem *p, const Work *work, int iterations, sunrealtype tolerance,
                  sunrealtype damp, sunrealtype *least) {
  const int n = p->n;
  sunrealtype history[MEMORY], *x = work->newest;
  *least = INFINITY;
  memcpy(x, p->x, (size_t)n * sizeof *x);
  for (int k = 0;; k++) {
    const sunrealtype largest = contactNaturalMap(p, x, work->F);
    if (largest < *least) {
      *least = largest;
      memcpy(p->x, x, (size_t)n * sizeof *x);
    }
    if (*least <= tolerance) return k;
    if (k == iterations || isinf(largest) || p->left-- <= 0) return -1;
    history[k % MEMORY] = norm(n, work->F);
    sunrealtype before = 0, step = 1;
    for (int i = 0; i <= k && i < MEMORY; i++) before = fmax(before, history[i]);
    if (damp > 0.0 ? levenbergStep(p, work, damp) : newtonStep(p, work)) return -1;
    for (int halvings = 0;; halvings++, step /= 2) {
      for (int i = 0; i < n; i++) work->trial[i] = x[i] - step * work->h[i];
      if (halvings > CP_MOST_ATTEMPTS) break;
      if (isfinite(contactNaturalMap(p, work->trial, work->F)) &&
          norm(n, work->F) < (1.0 - 1e-4 * step) * before)
        break;
    }
    memcpy(x, work->trial, (size_t)n * sizeof *x);
  }
}

/* The residual F of the unshifted problem at p->x. */
static sunrealtype residual(ContactProblem *p, const Work *work) {
  const sunrealtype shift = p->shift;
  p->shift                = 0.0;
  const sunrealtype value = contactNaturalMap(p, p->x, work->F);
  p->shift                = shift;
  return value;
}

/* Newton's method for the shifted problem, from its center. Where W is nearly singular, a step that takes a small w to zero
 * changes x by |w| / shift, and where a law then changes, F by as much: no line search accepts it. Divided by the shift, w is
 * measured as x is, and x - w = center - (W x + c) / shift, which the laws judge, varies little (the augmented Lagrangian). But
 * the roundoff of W x is divided, too, and so the last steps are those of the problem itself. */
static int shifted(ContactProblem *p, const Work *work, sunrealtype tolerance) {
  sunrealtype least;
  const int iterations = newton(p, work, ITERATIONS, tolerance, 0.0, &least);
  if (iterations >= 0) return iterations;
  memcpy(p->x, work->center, (size_t)p->n * sizeof *p->x);
  p->weight = 1.0 / p->shift;
  newton(p, work, ITERATIONS, tolerance * p->weight, 0.0, &least);
  p->weight = 1.0;
  return newton(p, work, ITERATIONS, tolerance, 0.0, &least);
}

/* The proximal point algorithm. p->x: in, the first guess; work->center: in, the first center. Returns 0, or 1 if it finds no solution. */
static int proximal(ContactProblem *p, const Work *work, sunrealtype size) {
  const size_t bytes = (size_t)p->n * sizeof *p->x;
  sunrealtype least  = size;
  p->center          = work->center;
  p->shift           = SMALLER;
  for (int k = 0; k < ITERATIONS && least > work->tolerance; k++) {
    const int iterations = shifted(p, work, SMALLER * fmax(least, work->tolerance));
    const sunrealtype F  = residual(p, work);
    if (iterations >= 0 || F < least) memcpy(work->center, p->x, bytes);
    else memcpy(p->x, work->center, bytes);
    least = iterations >= 0 && k == 0 ? F : fmin(F, least);
    if (iterations < 0) p->shift = fmin(p->shift / sqrt(SMALLER), 1.0);
    else p->shift = fmax(SMALLER * p->shift, LEAST_SHIFT);
  }
  p->shift      = 0.0;
  sunrealtype F = residual(p, work);
  if (!(F <= work->tolerance) && !p->times) newton(p, work, ITERATIONS, work->tolerance, size, &F);
  return !(F <= work->tolerance);
}

/* Replaces p->x by the solution that is nearest to work->center, if that can be found by iterations whose residuals are halved, from `most`
 * on. Returns 1, with p->x as it was, if not. */
static int nearest(ContactProblem *p, const Work *work, sunrealtype most) {
  const size_t bytes = (size_t)p->n * sizeof *p->x;
  sunrealtype least, before = most;
  memcpy(work->kept, p->x, bytes);
  p->center = work->center, p->shift = NORM_SHIFT;
  for (int k = 0; k < ITERATIONS; k++) {
    newton(p, work, ITERATIONS, SMALLER * work->tolerance, 0.0, &least);
    memcpy(work->center, p->x, bytes);
    const sunrealtype F = residual(p, work);
    if (F <= SMALLER * work->tolerance || F > before / 2) break;
    before = F;
  }
  const int failed = !(residual(p, work) <= work->tolerance);
  if (failed) memcpy(p->x, work->kept, bytes);
  p->shift = 0.0;
  return failed;
}

int contactZeroSolves(ContactProblem *p, sunrealtype *F) {
  const size_t bytes = (size_t)p->n * sizeof *p->x;
  memcpy(F, p->x, bytes), memset(p->x, 0, bytes);
  memcpy(p->w, p->c, bytes);
  if (contactMapAtW(p, p->x, F + p->n) == 0.0) return 1;
  if (p->guessed) memcpy(p->x, F, bytes);
  return 0;
}

int contactSolveScaled(ContactProblem *p, sunrealtype size) {
  const int n         = p->n;
  sunrealtype *vector = p->room, least;
  const Work work     = {.F         = vector,
                         .h         = vector + n,
                         .Wh        = vector + 2 * n,
                         .y         = vector + 3 * n,
                         .rhs       = vector + 4 * n,
                         .trial     = vector + 5 * n,
                         .newest    = vector + 6 * n,
                         .center    = vector + 7 * n,
                         .kept      = vector + 8 * n,
                         .J         = vector + 11 * n,
                         .tolerance = (p->guessed ? CP_ROUNDED : RESIDUAL) * size};
  p->newton = 0, p->shift = 0.0, p->weight = 1.0;
  if (contactZeroSolves(p, work.F)) return 0;
  memcpy(work.center, p->x, (size_t)n * sizeof *p->x);
  if (!p->times && !enumerate(p, work.J, work.F, work.J + n * n, size)) return 0;
  p->newton = 1;
  memcpy(p->x, work.center, (size_t)n * sizeof *p->x);
  p->left = p->hurries ? 4 * ITERATIONS : INT_MAX;
  for (int trial = 0; p->guessed && !p->times && trial < 2; trial++) {
    gaussSeidel(p, trial * CONTACT_SWEEPS * CONTACT_SWEEPS);
    memcpy(work.center, p->x, (size_t)n * sizeof *p->x);
    if (!nearest(p, &work, CP_INEXACT * size)) return 0;
  }
  if (!p->times || !p->guessed) memset(p->x, 0, (size_t)n * sizeof *p->x);
  if (p->times) contactProjectedGradient(p, ITERATIONS * CONTACT_SWEEPS, work.F, work.h, work.Wh);
  else gaussSeidel(p, CONTACT_SWEEPS);
  newton(p, &work, ITERATIONS, (p->times ? SMALLER : 1.0) * work.tolerance, 0.0, &least);
  if (least <= work.tolerance) return 0;
  memset(p->x, 0, (size_t)n * sizeof *p->x);
  memset(work.center, 0, (size_t)n * sizeof *p->x);
  if (proximal(p, &work, size)) {
    if (p->times || p->hurries) return 1;
    memset(p->x, 0, (size_t)n * sizeof *p->x);
    gaussSeidel(p, ITERATIONS * ITERATIONS);
    memcpy(work.center, p->x, (size_t)n * sizeof *p->x);
    return nearest(p, &work, INFINITY);
  }
  memset(work.center, 0, (size_t)n * sizeof *p->x);
  if (!p->guessed) nearest(p, &work, INFINITY);
  return 0;
}
