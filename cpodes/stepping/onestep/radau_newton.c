/* Newton's iteration for the stages of Radau IIA.
 *
 * Simplified Newton: with A = T D T^-1 (radau.h) the corrections are dx = T w. With the Newton
 * matrix D(g) of CPImplicitSystem, w solves one real system D(h real) w_0 = (T^-1 r)_0 and, for
 * each complex pair, D(h (re - i im)) (w_1 + i w_2) = (T^-1 r)_1 + i (T^-1 r)_2.
 *
 * Where directions rotate with the motion, such as those of constraints and of a stiff damper, this
 * contracts slowly. The equations are then solved in the form D_mid D_i^-1 r_i = 0, where D_i is
 * the real matrix of stage i at its own state: in this form the rotating directions are the same in
 * all stages. With x~_i = D_i^-1 r_i, and D(g) of the middle stage,
 *
 *   w_0 = (T^-1 x~)_0,
 *   w_1 + i w_2 = D(h (re - i im))^-1 D(h real) v = s v + (1 - s) D(h (re - i im))^-1 D(0) v,
 *   v = (T^-1 x~)_1 + i (T^-1 x~)_2,   s = real / (re - i im).
 *
 * If a damper c rotates at the rate omega, the contraction is about h omega in place of h omega
 * sqrt(h c / m). This takes s - 1 more partial derivatives and real factors, and is done only where
 * the contraction would limit steps to half the length that errors admit. */
#include "radau.h"

#include <math.h>
#include <string.h>

/* The contraction at which the iteration is given up */
#define DIVERGENT 0.99

/* Y_i = B_i + f sum_j w_ij Z_j, i, j < s. The rows Z_i, B_i and Y_i have length n and the distances
 * dZ, dB and dY; with dB = 0 all B_i are equal, and B may be Y. With a constant s and four columns
 * at a time all operands stay in registers. */
enum { COLUMNS = 4 };

CP_WIDE_PART void block(int s, int n, const double w[][CP_RADAU_STAGES], double f, const double *Z,
                        int dZ, const double *B, int dB, double *Y, int dY) {
  double z[CP_RADAU_STAGES][COLUMNS], y[COLUMNS];
  for (int k = 0; k < s; k++)
    for (int j = 0; j < n; j++) z[k][j] = f * Z[k * dZ + j];
  for (int i = 0; i < s; i++) {
    for (int j = 0; j < n; j++) y[j] = B[i * dB + j];
    for (int k = 0; k < s; k++)
      for (int j = 0; j < n; j++) y[j] += w[i][k] * z[k][j];
    for (int j = 0; j < n; j++) Y[i * dY + j] = y[j];
  }
}

CP_WIDE_PART void product(int s, int n, const double w[][CP_RADAU_STAGES], double f,
                          const double *Z, int dZ, const double *B, int dB, double *Y, int dY) {
  int j = 0;
  for (; j + COLUMNS <= n; j += COLUMNS) block(s, COLUMNS, w, f, Z + j, dZ, B + j, dB, Y + j, dY);
  if (j + 2 <= n) block(s, 2, w, f, Z + j, dZ, B + j, dB, Y + j, dY), j += 2;
  if (j < n) block(s, 1, w, f, Z + j, dZ, B + j, dB, Y + j, dY);
}

CP_WIDE static void combine(int s, int n, const double w[][CP_RADAU_STAGES], double f,
                            const double *Z, int dZ, const double *B, int dB, double *Y, int dY) {
  if (s == 3) product(3, n, w, f, Z, dZ, B, dB, Y, dY);
  else if (s == 5) product(5, n, w, f, Z, dZ, B, dB, Y, dY);
  else product(CP_RADAU_STAGES, n, w, f, Z, dZ, B, dB, Y, dY);
}

/* Y_i = y + h sum_j a_ij k_j. Where the equations contain q' = u, k_q is set to the u of the stage,
 * so that its residual is 0. */
static void states(CPOneStep mem, sunrealtype h) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  const sunrealtype *y  = N_VGetArrayPointer(mem->base.y);
  const int n = R->n, N = R->N, nq = R->system.velocities ? R->system.velocities(R->system.data) : 0;
  combine(T->s, n - nq, T->A, h, R->x + nq, N, y + nq, 0, R->Y + nq, n);
  if (nq == 0) return;
  for (int i = 0; i < T->s; i++) memcpy(R->x + i * N, R->Y + i * n + nq, (size_t)nq * sizeof *R->x);
  combine(T->s, nq, T->A, h, R->x, N, y, 0, R->Y, n);
}

void cpRadauStates(const CPRadau R, sunrealtype h, const sunrealtype *y, const sunrealtype *k,
                   sunrealtype *Y) {
  combine(R->table->s, R->n, R->table->A, h, k, R->N, y, 0, Y, R->n);
}

int cpRadauBecause(CPOneStep mem, int flag) {
  const CPImplicitSystem *system = &((CPRadau)mem->own)->system;
  if (system->text == mem->base.text) return flag;
  return cpReason(mem->base.text, flag, "%s", system->text);
}

/* Returns the index of the real factors of stage i for stages with derivatives of their own. The
 * middle stage has those of the step. */
static int factorsOf(const CPRadauTable *T, int i) {
  const int m = T->s / 2;
  return i == m ? CP_REAL_FACTORS : CP_STAGE_FACTORS + (i < m ? i : i - 1);
}

/* Sets the units in which residuals are measured (residue). */
static void setUnit(CPOneStep mem) {
  const CPRadau R        = mem->own;
  const sunrealtype *ewt = N_VGetArrayPointer(mem->base.ewt);
  if (!R->system.diagonal) {
    memcpy(R->unit, ewt, (size_t)R->n * sizeof *ewt);
    return;
  }
  R->system.diagonal(R->unit, R->system.data);
  for (int j = 0; j < R->n; j++) R->unit[j] = R->unit[j] > 0.0 ? ewt[j] / R->unit[j] : 0.0;
}

/* At a prediction f may be so far from all solutions that no difference agrees with its derivatives. They
 * are wrong only if they are wrong at the start of the step, too; otherwise the attempt fails. */
static int wrongAtStart(CPOneStep mem, sunrealtype h, int flag) {
  const CPRadau R         = mem->own;
  const CPIntegrator base = &mem->base;
  int jump                = 0;
  mem->stats.njev++;
  return R->system.partials(CP_REAL_FACTORS, base->t, N_VGetArrayPointer(base->y), R->x0,
                            N_VGetArrayPointer(base->ewt), h, &jump, R->system.data) == flag
             ? flag
             : -flag;
}

/* Computes partial derivatives at the predicted middle of the step, or at its start if there is no
 * prediction, and with by_stages also at the other predicted stages. */
static int partials(CPOneStep mem, sunrealtype h) {
  const CPRadau R         = mem->own;
  const CPRadauTable *T   = R->table;
  const CPIntegrator base = &mem->base;
  const sunrealtype *ewt  = N_VGetArrayPointer(base->ewt);
  const int m             = T->s / 2;
  int jump                = 0, flag;
  R->have_stages          = R->by_stages && R->last;
  if (R->last)
    flag = R->system.partials(CP_REAL_FACTORS, base->t + T->c[m] * h, R->Y + m * R->n,
                              R->x + m * R->N, ewt, h, &jump, R->system.data);
  else
    flag = R->system.partials(CP_REAL_FACTORS, base->t, N_VGetArrayPointer(base->y), R->x0, ewt, h,
                              &jump, R->system.data);
  mem->stats.njev++;
  R->jumped |= jump;
  if (R->jumped) R->have_stages = R->by_stages = 0;
  for (int i = 0; R->have_stages && !flag && i < T->s; i++) {
    if (i == m) continue;
    flag = R->system.partials(factorsOf(T, i), base->t + T->c[i] * h, R->Y + i * R->n,
                              R->x + i * R->N, ewt, h, &jump, R->system.data);
    mem->stats.njev++;
  }
  if (R->last && (flag == CP_MECH_DERIV_WRONG || flag == CP_ILL_INPUT))
    flag = wrongAtStart(mem, h, flag);
  if (!flag) setUnit(mem);
  R->have_partials = R->fresh = !flag;
  R->jumps |= jump;
  R->h_factors = 0.0;
  R->known     = 0.0;
  return flag ? cpRadauBecause(mem, flag) : flag;
}

static int factor(CPOneStep mem, sunrealtype h) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  if (R->h_factors == h && R->table_factors == T) return CP_SUCCESS;
  R->h_factors = 0.0;
  int flag     = CP_SUCCESS;
  for (int i = 0; !flag && i < T->s; i++) {
    const int which = factorsOf(T, i);
    if (which != CP_REAL_FACTORS && !R->have_stages) continue;
    flag = R->system.factor(which, h * T->real, 0.0, R->system.data);
    mem->stats.nlureal++;
  }
  for (int p = 0; !flag && p < T->pairs; p++) {
    flag = R->system.factor(CP_COMPLEX_FACTORS + p, h * T->re[p], -h * T->im[p], R->system.data);
    mem->stats.nlucomplex++;
  }
  if (flag) return cpRadauBecause(mem, flag);
  R->h_factors     = h;
  R->table_factors = T;
  return CP_SUCCESS;
}

/* w_1 + i w_2 <- s (r_1 + i r_2) + (1 - s) (w_1 + i w_2), s = real / (re - i im). Real and
 * imaginary parts are written out, since complex products of C test for NaN. */
static void blend(int N, double real, double re, double im, const double *r, double *w) {
  const double square = re * re + im * im, sr = real * re / square, si = real * im / square;
  for (int j = 0; j < N; j++) {
    const double dr = r[j] - w[j], di = r[N + j] - w[N + j];
    w[j] += sr * dr - si * di;
    w[N + j] += sr * di + si * dr;
  }
}

/* Solves the real system, unless stages have factors of their own, and the complex ones. w:
 * right-hand sides T^-1 r, then solutions. */
static int solve(CPOneStep mem) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  const int N           = R->N;
  int flag =
      R->have_stages ? CP_SUCCESS : R->system.solve(CP_REAL_FACTORS, R->w, NULL, R->system.data);
  for (int p = 0; !flag && p < T->pairs; p++) {
    sunrealtype *w = R->w + (2 * p + 1) * N;
    if (R->have_stages) {
      memcpy(R->r, w, (size_t)(2 * N) * sizeof *w);
      flag = R->system.leading(w, R->system.data);
      if (!flag) flag = R->system.leading(w + N, R->system.data);
    }
    if (!flag) flag = R->system.solve(CP_COMPLEX_FACTORS + p, w, w + N, R->system.data);
    if (R->have_stages) blend(N, T->real, T->re[p], T->im[p], R->r, w);
  }
  return flag ? cpRadauBecause(mem, flag) : flag;
}

/* Returns the norm of h D w, the changes that w makes to the states in the eigenvectors of A. */
static sunrealtype changesIn(const CPRadau R, sunrealtype h, const sunrealtype *w, N_Vector weights) {
  const CPRadauTable *T  = R->table;
  const sunrealtype *ewt = N_VGetArrayPointer(weights), g = h * T->real;
  sunrealtype all = g * g * cpRadauSquares(R->n, w, ewt);
  for (int p = 0; p < T->pairs; p++) {
    const sunrealtype *re = w + (2 * p + 1) * R->N, *im = re + R->N;
    all += h * h * (T->re[p] * T->re[p] + T->im[p] * T->im[p]) *
           (cpRadauSquares(R->n, re, ewt) + cpRadauSquares(R->n, im, ewt));
  }
  return sqrt(all / (R->n * T->s));
}

static sunrealtype changes(CPOneStep mem, sunrealtype h, const sunrealtype *w) {
  return changesIn(mem->own, h, w, mem->base.ewt);
}

int cpRadauCorrect(CPOneStep mem, sunrealtype h, sunrealtype *r, N_Vector ewt, sunrealtype *norm) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  const int N = R->N, kept = R->have_stages;
  int flag = CP_SUCCESS;
  for (int i = 0; i < T->s && R->system.leading && !flag; i++)
    flag = R->system.leading(r + i * N, R->system.data);
  if (flag) return cpRadauBecause(mem, flag);
  combine(T->s, N, T->T_inv, 1.0, r, N, R->zero, 0, R->w, N);
  R->have_stages = 0; /* the factors of the step alone */
  flag           = solve(mem);
  R->have_stages = kept;
  if (flag) return flag;
  *norm = changesIn(R, h, R->w, ewt);
  combine(T->s, N, T->T, 1.0, R->w, N, R->zero, 0, r, N);
  return CP_SUCCESS;
}

/* ---- acceleration ----
 *
 * Next to a singular position the derivatives of the stages differ strongly: an angle between
 * constraints changes its sign within the step, and the iteration multiplies the errors in that
 * direction, one in each stage, by factors of up to 4 in size, while all other errors contract as
 * usual. Shorter steps would only lead to the position. An iteration that fails is therefore
 * continued with Anderson's acceleration, which does for it what GMRES does for a linear one (D. G.
 * Anderson, J. ACM 12, 1965; H. F. Walker, P. Ni, SIAM J. Numer. Anal. 49, 2011): with the changes
 * dw_l of the corrections w and the changes dx_l of x that have caused them,
 *
 *   step = w - sum_l c_l (dx_l + dw_l),   |w - sum_l c_l dw_l| minimal.
 *
 * The pairs (dw_l, dx_l + dw_l) are combined such that the dw_l are orthonormal. */
#define SLOW 0.35 /* an iteration that contracts faster than this is not accelerated */
enum { MOST_ACCELERATED = 15 }; /* the most iterations with the acceleration, and pairs */

static sunrealtype dot(CPOneStep mem, const sunrealtype *v, const sunrealtype *w) {
  const CPRadau R        = mem->own;
  const sunrealtype *ewt = N_VGetArrayPointer(mem->base.ewt);
  sunrealtype sum        = 0.0;
  for (int i = 0; i < R->table->s; i++)
    for (int j = 0; j < R->n; j++) sum += v[i * R->N + j] * w[i * R->N + j] * ewt[j] * ewt[j];
  return sum;
}

/* Returns the accelerated step for the corrections w, after those before, v. *pairs: in, out, the
 * number of pairs. */
static const sunrealtype *accelerate(CPOneStep mem, int *pairs) {
  const CPRadau R      = mem->own;
  const int all        = R->table->s * R->N;
  const sunrealtype *w = R->w, *v = R->v;
  sunrealtype *step = R->step, *pair = R->pair + (size_t)(2 * *pairs) * (size_t)all;
  if (*pairs == 0) memcpy(step, v, (size_t)all * sizeof *step);
  for (int j = 0; j < all; j++) {
    pair[j]       = w[j] - v[j];
    pair[all + j] = step[j] + pair[j];
  }
  const sunrealtype whole = dot(mem, pair, pair);
  for (const sunrealtype *p = R->pair; p < pair; p += 2 * all) {
    const sunrealtype c = dot(mem, p, pair);
    for (int j = 0; j < 2 * all; j++) pair[j] -= c * p[j];
  }
  const sunrealtype rest = dot(mem, pair, pair);
  if (rest > CP_UROUND * whole) { /* otherwise the pair adds nothing but roundoff */
    for (int j = 0; j < 2 * all; j++) pair[j] /= sqrt(rest);
    ++*pairs, pair += 2 * all;
  }
  memcpy(step, w, (size_t)all * sizeof *step);
  for (const sunrealtype *p = R->pair; p < pair; p += 2 * all) {
    const sunrealtype c = dot(mem, p, w);
    for (int j = 0; j < all; j++) step[j] -= c * p[all + j];
  }
  return step;
}

/* Allocates the pairs, which few motions need. */
static int allocatePairs(CPOneStep mem) {
  const CPRadau R  = mem->own;
  const size_t all = (size_t)cpRadauTables[R->most].s * (size_t)R->N;
  if (R->pair) return CP_SUCCESS;
  if (CP_NEW(&R->arena, R->step, all) && CP_NEW(&R->arena, R->pair, 2 * MOST_ACCELERATED * all))
    return CP_SUCCESS;
  return cpReason(mem->base.text, CP_MEM_FAIL, "no memory for the iteration of the stages");
}

/* ---- quadratures ----
 *
 * Nothing depends on them, so the iteration leaves them out: Y_i = y + h sum_j a_ij k_j with the k_j of
 * the stages that it has solved for. But they depend on multipliers, which it does not test: where all
 * motions are prescribed, k has converged before lambda. They are therefore evaluated in the iteration
 * that should be the last but one, too, and have to have converged in the last one. The change from one
 * evaluation to the next, and from the prediction to the first one, is mostly that by the first of the
 * iterations in between. */

typedef struct {
  int evaluated, passed; /* the iteration of the latest evaluation, and those since the one before */
  sunrealtype change;    /* from the one before */
} Quadratures;

/* Integrates the quadratures after iteration it. *left: the estimated error that further iterations would
 * remove. */
static int integrate(CPOneStep mem, sunrealtype h, int it, Quadratures *Q, sunrealtype *left) {
  const CPRadau R           = mem->own;
  const CPRadauTable *T     = R->table;
  const CPImplicitSystem *S = &R->system;
  const int n = R->n, nquad = S->nquad, first = n - nquad;
  const sunrealtype *ewt = N_VGetArrayPointer(mem->base.ewt) + first;
  sunrealtype *before = R->v, *Y = R->Y + first, sum = 0.0, theta;
  for (int i = 0; i < T->s; i++) {
    memcpy(before + i * nquad, Y + i * n, (size_t)nquad * sizeof *Y);
    const int flag =
        S->quadratures(mem->base.t + T->c[i] * h, R->Y + i * n, R->x + i * R->N, S->data);
    if (flag) return cpRadauBecause(mem, flag);
  }
  combine(T->s, nquad, T->A, h, R->x + first, R->N, N_VGetArrayPointer(mem->base.y) + first, 0, Y,
          n);
  for (int i = 0; i < T->s; i++)
    for (int k = 0; k < nquad; k++) {
      const sunrealtype moved = (Y[i * n + k] - before[i * nquad + k]) * ewt[k];
      sum += moved * moved;
    }
  const sunrealtype change = sqrt(sum / (n * T->s));
  if (Q->evaluated > 0) {
    theta       = fmin(pow(change / fmax(Q->change, 1.0e-300), 1.0 / Q->passed), DIVERGENT);
    R->eta_quad = theta / (1.0 - theta);
  }
  *Q    = (Quadratures){it, it - Q->evaluated, change};
  *left = Q->passed > 1 ? INFINITY : change * fmax(R->eta, R->eta_quad);
  return CP_SUCCESS;
}

/* ---- the iteration ---- */

/* r_i = r(t + c_i h, Y_i, x_i) */
static int residuals(CPOneStep mem, sunrealtype h) {
  const CPRadau R           = mem->own;
  const CPRadauTable *T     = R->table;
  const CPImplicitSystem *S = &R->system;
  sunrealtype t[CP_RADAU_STAGES];
  int flag = CP_SUCCESS;
  for (int i = 0; i < T->s; i++) t[i] = mem->base.t + T->c[i] * h;
  if (S->residuals) flag = S->residuals(T->s, t, R->Y, R->x, R->r, S->data);
  for (int i = 0; !S->residuals && !flag && i < T->s; i++) {
    if (!S->counts_f) mem->stats.nfe++;
    flag = S->residual(t[i], R->Y + i * R->n, R->x + i * R->N, R->r + i * R->N, S->data);
  }
  if (flag) mem->stats.nrhsfails++;
  return flag ? cpRadauBecause(mem, flag) : flag;
}

/* Corrections may be small although the equations are not satisfied: with wrong partial derivatives,
 * such as an entry that is far too large, in a step over a jump, or after a single iteration, whose
 * contraction is that of an earlier step. A residual above a tolerance must therefore have become LESS
 * times as large as the first one. (In seven stiff mechanisms 0.2 is the largest ratio, and 99 of 100
 * are below 0.08.) Accelerated iterations are not tested, since next to a singular position the
 * accelerations are not determined as well. */
#define LESS 0.05
/* Linear plain equations would take a third more evaluations for that. A single iteration is therefore
 * enough for them up to a residual that is known to be solved by one (known), but not if it is larger than
 * the one from which this is known. (With mechanical systems this saves nothing, and more steps are
 * rejected.) */

static const sunrealtype *lastResidual(const CPRadau R) { return R->r + (R->table->s - 1) * R->N; }

/* Returns the norm of the residual of the last stage in units of the corrections: h |r_j| over the
 * diagonal of -dr/dk. Stiffness makes it larger than the correction. */
static sunrealtype residue(CPOneStep mem, sunrealtype h) {
  const CPRadau R = mem->own;
  return fabs(h) * sqrt(cpRadauSquares(R->n, lastResidual(R), R->unit) / R->n);
}

/* Returns the size of a residual that one iteration with the present partial derivatives makes as small
 * as a tolerance, as its first iteration has reduced each component. first: the first residual */
static sunrealtype known(CPOneStep mem, sunrealtype h, sunrealtype first) {
  const CPRadau R      = mem->own;
  const sunrealtype *r = lastResidual(R);
  sunrealtype largest  = CP_UROUND;
  for (int j = 0; j < R->n; j++) {
    const sunrealtype tolerance = 1.0 / (fabs(h) * R->unit[j]);
    largest                     = fmax(largest, fabs(r[j]) / fmax(fabs(R->first_r[j]), tolerance));
  }
  return fmin(first, 1.0 / largest);
}

/* Solves for the stages from the predicted x. Returns 0, a code of the system's functions, or
 * -CV_CONV_FAILURE. */
static int newton(CPOneStep mem, sunrealtype h) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  const int N = R->N, s = T->s;
  sunrealtype before = 0.0, left = 0.0, first = 0.0, left_quad;
  int pairs = 0, unsolved = 0;
  Quadratures Q  = {0};
  int most       = mem->hfixed > 0.0 ? CP_MOST_ITERATIONS : CP_RADAU_ITERATIONS;
  R->eta         = pow(fmax(R->eta, CP_UROUND), 0.8);
  R->eta_quad    = pow(fmax(R->eta_quad, CP_UROUND), 0.8);
  R->theta       = 0.0;
  R->accelerated = 0;
  for (int it = 1; it <= most; it++) {
    int flag = residuals(mem, h);
    if (flag) return flag;
    /* Stages with derivatives of their own overwrite their residuals. */
    if (it == 1 || R->have_stages) left = residue(mem, h);
    if (it == 1) first = left;
    if (it == 1 && !R->system.diagonal)
      memcpy(R->first_r, lastResidual(R), (size_t)R->n * sizeof *R->r);
    for (int i = 0; R->have_stages && !flag && i < s; i++)
      flag = R->system.solve(factorsOf(T, i), R->r + i * N, NULL, R->system.data);
    if (flag) return cpRadauBecause(mem, flag);
    sunrealtype *v = R->v;
    R->v = R->w, R->w = v;
    combine(s, N, T->T_inv, 1.0, R->r, N, R->zero, 0, R->w, N);
    flag = solve(mem);
    if (flag) return flag;
    const sunrealtype *step = R->w;
    sunrealtype norm        = changes(mem, h, step);
    mem->stats.nni++;
    R->iterations = it;
    if (!isfinite(norm)) break;
    /* With derivatives of the stages the iteration converges fast: of two corrections that are both as small as it leaves
     * them, the ratio is one of roundoff. */
    if (it > 1 && R->have_stages && !R->accelerated && fmax(norm, before) <= CP_RADAU_KAPPA)
      R->eta = fmin(R->eta, 1.0);
    else if (it > 1 && !R->accelerated) {
      const sunrealtype now = norm / before;
      R->theta              = it == 2 ? now : sqrt(now * R->theta);
      /* With derivatives of the stages the second correction removes an error that the first one has made. */
      const int early = R->have_stages && it == 2;
      R->eta          = early ? 1.0 : R->theta / (1.0 - R->theta);
      if (!early && (R->theta >= DIVERGENT ||
                     norm * R->eta * pow(R->theta, most - 1 - it) > CP_RADAU_KAPPA)) {
        if (!R->fresh || R->theta < SLOW) break;
        flag = allocatePairs(mem);
        if (flag) return flag;
        R->accelerated = 1;
        R->eta         = 1.0;
        most           = it + MOST_ACCELERATED - 1;
      }
    }
    /* The accelerated step may vanish while the corrections do not, where no combination of the
     * earlier changes makes these smaller, as in a step over a discontinuity. */
    if (R->accelerated) {
      step                  = accelerate(mem, &pairs);
      const sunrealtype all = changes(mem, h, step);
      if (!isfinite(all)) break;
      norm = fmax(norm, all);
    }
    before = fmax(norm, 1.0e-300);
    combine(s, N, T->T, 1.0, step, N, R->x, N, R->x, N); /* x += T step */
    states(mem, h);
    left_quad = 0.0;
    if (R->system.nquad > 0 && R->eta * norm * R->eta / (1.0 + R->eta) <= CP_RADAU_KAPPA) {
      flag = integrate(mem, h, it, &Q, &left_quad);
      if (flag) return flag;
    }
    if (R->eta * norm > CP_RADAU_KAPPA) continue;
    if (it > 1 && !R->have_stages) left = residue(mem, h);
    const sunrealtype enough = it == 1 && !R->system.diagonal ? R->known : LESS * first;
    unsolved                 = !isfinite(left) || !(R->accelerated || left <= fmax(1.0, enough));
    if (unsolved) continue;
    if (it == 2 && !R->system.diagonal) R->known = fmax(R->known, known(mem, h, first));
    if (left_quad <= CP_RADAU_KAPPA) return CP_SUCCESS;
  }
  mem->stats.nsolvefails++;
  if (unsolved)
    return cpReason(mem->base.text, -CV_CONV_FAILURE,
                    "Newton's iteration for the stages does not reduce the residuals: are the "
                    "partial derivatives right?");
  /* The message of a step that is given up has t and h. To write them here would take longer than
   * an iteration. */
  return cpReason(mem->base.text, -CV_CONV_FAILURE,
                  "Newton's iteration for the stages does not converge");
}

int cpRadauStages(CPOneStep mem, sunrealtype h) {
  const CPRadau R = mem->own;
  if (R->have_stages) R->have_partials = 0;
  for (;;) {
    int flag = CP_SUCCESS;
    cpRadauPredict(mem, h, R->D, R->x0, R->x);
    states(mem, h);
    if (!R->have_partials) flag = partials(mem, h);
    const int fresh = R->fresh;
    if (!flag) flag = factor(mem, h);
    if (!flag) flag = newton(mem, h);
    for (int i = 0; !flag && R->system.shortest && i < R->table->s; i++)
      R->system.shortest(R->x + i * R->N, R->system.data);
    if (!flag) return CP_SUCCESS;
    R->eta = R->eta_quad = 1.0;
    R->have_partials     = 0; /* A shorter step has its middle at another state. */
    if (fresh || flag != -CV_CONV_FAILURE || R->theta > 0.5) return flag;
  }
}
