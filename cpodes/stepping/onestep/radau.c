/* Radau IIA with 3 stages (order 5), 5 stages (order 9), or the number of these that promises longer steps for its cost.
 *
 * The unknowns of stage i are x_i = (k_i, lambda_i), derivatives and multipliers (CPImplicitSystem),
 *
 *   Y_i = y + h sum_j a_ij k_j,   0 = r(t + c_i h, Y_i, x_i).
 *
 * Simplified Newton: with A = T D T^-1 the corrections are dx = T w, where w solves one real system D(h real) w_0 =
 * (T^-1 r)_0 and, for each complex pair, D(h (re - i im)) (w_1 + i w_2) = (T^-1 r)_1 + i (T^-1 r)_2.
 *
 * Where directions turn with the motion, such as those of A and of a stiff damper, this contracts slowly. With D_i, the
 * real matrix of stage i at its own state, the equations are therefore solved in the form D_mid D_i^-1 r_i = 0, in which
 * what turns is the same in all stages: with x~_i = D_i^-1 r_i, D the matrices of the middle,
 *
 *   w_0 = (T^-1 x~)_0,   w_1 + i w_2 = D(h (re - i im))^-1 D(h real) v = s v + (1 - s) D(h (re - i im))^-1 D(0) v,
 *   v = (T^-1 x~)_1 + i (T^-1 x~)_2,   s = real / (re - i im).
 *
 * If a damper c turns at the rate w, the contraction is some h w in place of h w sqrt(h c / m). It takes s - 1 more
 * partial derivatives and real factors, and is done where contraction would make steps half as long as errors admit.
 *
 * Choices that were measured on eight stiff mechanisms (figures: instructions relative to RADAU5, geometric mean, 3 /
 * 5 stages): partial derivatives at the predicted middle of the step, not at its start (0.53 -> 0.46 / 0.43 -> 0.36); a
 * predictor through the old step's start as well (0.59 -> 0.53 / 0.45 -> 0.43), cut where its terms grow; steps bounded
 * by the contraction of Newton's iteration, without which a tenth to a half of the steps with 5 stages fail; its end at
 * 0.005 tolerances (0.02 and 0.002 are within 0.01). */
#include "radau.h"

#include "explicit.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* Newton's iteration ends where its error is this part of the tolerance. */
#define KAPPA 0.005
/* Most iterations (with fixed steps there is no smaller one), and the contraction of which nothing is expected. */
#define MAX_ITERATIONS 10
#define MAX_FIXED      50
#define DIVERGENT      0.99
/* Partial derivatives are kept up to this contraction, and steps are to lead to this one at most. */
#define KEEP 0.01
#define FAST 0.2
/* Stages have partial derivatives of their own where these promise steps that are so many times as long. They belong to
 * predicted states, so that steps must grow slowly; after a failure they are computed anew at the newest iterate. The
 * second correction removes an error that the first one has made, unless it is so many times as large. */
#define WORTHWHILE    2.0
#define GROW_STAGES   2.0
#define MOST_RENEWALS 2
#define MISLEADING    3.0
/* Step sizes: the error aims below 1 by SAFETY, and successive sizes have a ratio between CUT and GROW. */
#define SAFETY 0.9
#define CUT    0.2
#define GROW   8.0
/* After a first failure of Newton's iteration, the ratio of sizes: the middle of the step, where the partial derivatives
 * belong, may be next to a singular position, and is to be elsewhere. With smaller ratios 3 of 57 runs of five four-bars
 * end at one, with this one 1. */
#define ASIDE 0.7
/* Another number of stages must promise to be that much better, and be chosen after so many steps at least. */
#define INERTIA   1.2
#define MIN_STEPS 3
/* Positions and velocities are projected up to this part of the tolerance. */
#define PROJECTION 0.1

typedef struct {
  CPArena arena;   /* of all below; empty before the first start */
  int least, most; /* numbers of stages: indices of cpRadauTables */
  CPImplicitSystem system;
  int n, N; /* lengths of k and of x */
  const CPRadauTable *table,
      *last; /* of the next attempt; of the last step, or NULL if there is none */
  sunrealtype hlast;
  /* states and unknowns of the stages */
  sunrealtype *Y;     /* [s n] */
  sunrealtype *x;     /* [s N] */
  sunrealtype *r, *w; /* [s N] residuals, and T^-1 r */
  sunrealtype *x0;    /* [N] at the start of the step */
  sunrealtype *e;     /* [n] estimate */
  /* The polynomial k of a step by divided differences: k = sum_p D_p prod_{l < p} (theta - node_l), nodes c_s, ..., c_1,
   * 0; of the last step, and of the newest attempt; [s + 1] sizes h |D_p|. moved [n]: correction by the projection */
  sunrealtype *D, *D_new; /* [(s + 1) N + n] */
  sunrealtype size[CP_RADAU_STAGES + 1], size_new[CP_RADAU_STAGES + 1];
  /* Multipliers of the last step do not continue those at its start; the same of the attempts since then */
  int jump, jumps;
  int jumped; /* since the start */
  /* Newton's iteration */
  int have_partials, fresh;   /* There are partial derivatives; they are of this step. */
  int by_stages, have_stages; /* Stages are to have derivatives of their own; they have them. */
  sunrealtype plain;          /* step size to which the contraction without these leads */
  sunrealtype h_factors; /* the factors belong to this step size and these stages; 0: there are none */
  const CPRadauTable *table_factors;
  sunrealtype eta,
      theta; /* contraction: theta / (1 - theta), kept from step to step, and theta itself */
  int iterations;
  int failures; /* successive attempts whose iteration failed */
  int since;    /* steps with this number of stages */
  int stages;   /* chosen for the next step: index of cpRadauTables */
  int first;    /* no step has been made since the start */
} * Radau;

static sunrealtype *entries(N_Vector v) { return N_VGetArrayPointer(v); }

/* ---- sums ---- */

/* y = y0 + sum_k w_k Z_k, rows of length n and distance `stride`; y0 NULL: 0 */
CP_WIDE static void sum(int n, const double *y0, int terms, const double *w, const double *Z,
                        int stride, double *restrict y) {
  if (y0) memcpy(y, y0, (size_t)n * sizeof *y);
  else memset(y, 0, (size_t)n * sizeof *y);
  for (int k = 0; k < terms; k++) {
    const double *restrict z = Z + (size_t)k * (size_t)stride, f = w[k];
    for (int j = 0; f != 0.0 && j < n; j++) y[j] += f * z[j];
  }
}

/* Y_i = y + h sum_j a_ij k_j */
static void states(CPOneStepMem mem, sunrealtype h) {
  const Radau R         = mem->own;
  const CPRadauTable *T = R->table;
  for (int i = 0; i < T->s; i++) {
    double w[CP_RADAU_STAGES];
    for (int j = 0; j < T->s; j++) w[j] = h * T->A[i][j];
    sum(R->n, entries(mem->base.y), T->s, w, R->x, R->N, R->Y + i * R->n);
  }
}

static sunrealtype squares(int n, const sunrealtype *x, const sunrealtype *ewt) {
  sunrealtype s = 0.0;
  for (int j = 0; j < n; j++) s += x[j] * x[j] * ewt[j] * ewt[j];
  return s;
}

/* ---- the predictor: the polynomial of the last step ---- */

static double node(const CPRadauTable *T, int k) { return k < T->s ? T->c[T->s - 1 - k] : 0.0; }

/* The differences of the attempt, with their sizes */
static void differences(CPOneStepMem mem, sunrealtype h) {
  const Radau R         = mem->own;
  const CPRadauTable *T = R->table;
  const int s = T->s, N = R->N;
  const size_t bytes = (size_t)N * sizeof *R->D;
  for (int k = 0; k < s; k++) memcpy(R->D_new + k * N, R->x + (s - 1 - k) * N, bytes);
  memcpy(R->D_new + s * N, R->x0, bytes);
  for (int level = 1; level <= s; level++)
    for (int k = s; k >= level; k--) {
      const double f           = 1.0 / (node(T, k) - node(T, k - level));
      double *restrict a       = R->D_new + k * N;
      const double *restrict b = a - N;
      for (int j = 0; j < N; j++) a[j] = f * (a[j] - b[j]);
    }
  for (int k = 0; k <= s; k++)
    R->size_new[k] = fabs(h) * sqrt(squares(R->n, R->D_new + k * N, entries(mem->base.ewt)) / R->n);
}

/* The degree from which the terms of the polynomial, at the end of a step that is so many times as long as the last one,
 * begin to grow: its error is the next term, and that of the highest degree is guessed. */
static int degreeOf(const CPRadauTable *L, const sunrealtype *size, double ratio) {
  double term[CP_RADAU_STAGES + 1], product = 1.0, least = INFINITY;
  int degree = 0;
  for (int k = 0; k <= L->s; k++) {
    term[k] = size[k] * product;
    product *= 1.0 + ratio - node(L, k);
  }
  for (int k = 0; k <= L->s; k++) {
    const double error =
        k < L->s ? term[k + 1] : term[k] * fmin(1.0, term[k] / fmax(term[k - 1], 1.0e-300));
    if (error < least) least = error, degree = k;
  }
  return degree;
}

/* x_i of the new step by the polynomial of the last one. Multipliers of dependent rows are not unique, and jump between
 * two steps when others of these rows are dropped. */
static void predict(CPOneStepMem mem, sunrealtype h) {
  const Radau R         = mem->own;
  const CPRadauTable *T = R->table, *L = R->last;
  const int n = R->n, N = R->N;
  const size_t bytes = (size_t)N * sizeof *R->x;
  for (int i = 0; !L && i < T->s; i++) memcpy(R->x + i * N, R->x0, bytes);
  if (!L) return;
  const double ratio      = h / R->hlast;
  const int degree        = degreeOf(L, R->size, ratio);
  const int degree_lambda = R->jump && degree == L->s ? degree - 1 : degree;
  for (int i = 0; i < T->s; i++) {
    double w[CP_RADAU_STAGES + 1] = {1.0};
    for (int k = 0; k < L->s; k++) w[k + 1] = w[k] * (1.0 + ratio * T->c[i] - node(L, k));
    sum(n, NULL, degree + 1, w, R->D, N, R->x + i * N);
    sum(R->system.m, NULL, degree_lambda + 1, w, R->D + n, N, R->x + i * N + n);
  }
}

/* ---- Newton's iteration ---- */

static int because(CPOneStepMem mem, int flag) {
  const CPImplicitSystem *system = &((Radau)mem->own)->system;
  if (system->text == mem->base.text) return flag;
  return cpReason(mem->base.text, flag, "%s", system->text);
}

/* The real factors of stage i, if it has its own: the middle one shares those of the step. */
static int factorsOf(const CPRadauTable *T, int i) {
  const int m = T->s / 2;
  return i == m ? CP_REAL_FACTORS : CP_STAGE_FACTORS + (i < m ? i : i - 1);
}

/* Has stages get partial derivatives of their own, unless multipliers are not unique: other rows may be dropped at every
 * stage then. Without them the contraction leads to steps of size `plain`. */
static void askForStages(Radau R, sunrealtype plain) {
  if (R->by_stages || R->jumped || !R->system.leading) return;
  R->by_stages     = 1;
  R->have_partials = 0;
  R->plain         = plain;
}

/* Partial derivatives at the middle of the predicted step, or at its start if there is no prediction */
static int partials(CPOneStepMem mem, sunrealtype h) {
  const Radau R          = mem->own;
  const CPRadauTable *T  = R->table;
  const CPStepper base   = &mem->base;
  const sunrealtype *ewt = entries(base->ewt);
  const int m            = T->s / 2;
  int jump               = 0, flag;
  R->have_stages         = R->by_stages && R->last;
  if (R->last)
    flag = R->system.partials(CP_REAL_FACTORS, base->t + T->c[m] * h, R->Y + m * R->n,
                              R->x + m * R->N, ewt, &jump, R->system.data);
  else
    flag = R->system.partials(CP_REAL_FACTORS, base->t, entries(base->y), R->x0, ewt, &jump,
                              R->system.data);
  mem->stats.njev++;
  R->jumped |= jump;
  if (R->jumped) R->have_stages = R->by_stages = 0;
  for (int i = 0; R->have_stages && !flag && i < T->s; i++) {
    if (i == m) continue;
    flag = R->system.partials(factorsOf(T, i), base->t + T->c[i] * h, R->Y + i * R->n,
                              R->x + i * R->N, ewt, &jump, R->system.data);
    mem->stats.njev++;
  }
  R->have_partials = R->fresh = !flag;
  R->jumps |= jump;
  R->h_factors = 0.0;
  return flag ? because(mem, flag) : flag;
}

static int factor(CPOneStepMem mem, sunrealtype h) {
  const Radau R         = mem->own;
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
  if (flag) return because(mem, flag);
  R->h_factors     = h;
  R->table_factors = T;
  return CP_SUCCESS;
}

/* w <- D^-1 w for all systems, and the norm of the changes of states that follow */
static int solve(CPOneStepMem mem, sunrealtype h, sunrealtype *norm) {
  const Radau R          = mem->own;
  const CPRadauTable *T  = R->table;
  const sunrealtype *ewt = entries(mem->base.ewt), g = h * T->real;
  const int n = R->n, N = R->N;
  int flag =
      R->have_stages ? CP_SUCCESS : R->system.solve(CP_REAL_FACTORS, R->w, NULL, R->system.data);
  sunrealtype all = g * g * squares(n, R->w, ewt);
  for (int p = 0; !flag && p < T->pairs; p++) {
    sunrealtype *w             = R->w + (2 * p + 1) * N;
    const double complex share = T->real / (T->re[p] - I * T->im[p]);
    if (R->have_stages) {
      memcpy(R->r, w, (size_t)(2 * N) * sizeof *w);
      R->system.leading(w, R->system.data);
      R->system.leading(w + N, R->system.data);
    }
    flag = R->system.solve(CP_COMPLEX_FACTORS + p, w, w + N, R->system.data);
    for (int j = 0; R->have_stages && j < N; j++) {
      const double complex v =
          share * (R->r[j] + I * R->r[N + j]) + (1.0 - share) * (w[j] + I * w[N + j]);
      w[j]     = creal(v);
      w[N + j] = cimag(v);
    }
    all += h * h * (T->re[p] * T->re[p] + T->im[p] * T->im[p]) *
           (squares(n, w, ewt) + squares(n, w + N, ewt));
  }
  *norm = sqrt(all / (n * T->s));
  return flag ? because(mem, flag) : flag;
}

/* Solves for the stages from the predicted x. Returns 0, a code of the system's functions, or -CV_CONV_FAILURE. */
static int newton(CPOneStepMem mem, sunrealtype h) {
  const Radau R         = mem->own;
  const CPRadauTable *T = R->table;
  const int n = R->n, N = R->N, s = T->s;
  sunrealtype norm, before = 0.0;
  R->eta         = pow(fmax(R->eta, CP_UROUND), 0.8);
  R->theta       = 0.0;
  const int most = mem->hfixed > 0.0 ? MAX_FIXED : MAX_ITERATIONS;
  for (int it = 1; it <= most; it++) {
    for (int i = 0; i < s; i++) {
      if (!R->system.counts_f) mem->stats.nfe++;
      const int flag = R->system.residual(mem->base.t + T->c[i] * h, R->Y + i * n, R->x + i * N,
                                          R->r + i * N, R->system.data);
      if (flag) mem->stats.nrhsfails++;
      if (flag) return because(mem, flag);
    }
    int flag = CP_SUCCESS;
    for (int i = 0; R->have_stages && !flag && i < s; i++)
      flag = R->system.solve(factorsOf(T, i), R->r + i * N, NULL, R->system.data);
    if (flag) return because(mem, flag);
    for (int i = 0; i < s; i++) sum(N, NULL, s, T->T_inv[i], R->r, N, R->w + i * N);
    flag = solve(mem, h, &norm);
    if (flag) return flag;
    mem->stats.nni++;
    R->iterations = it;
    if (!isfinite(norm)) break;
    if (it > 1) {
      const sunrealtype ratio = norm / before;
      R->theta                = it == 2 ? ratio : sqrt(ratio * R->theta);
      const int early         = R->have_stages && it == 2 && ratio < MISLEADING;
      if (R->theta >= DIVERGENT && !early) break;
      R->eta = early ? 1.0 : R->theta / (1.0 - R->theta);
      if (!early && norm * R->eta * pow(R->theta, most - 1 - it) > KAPPA) break;
    }
    before = fmax(norm, 1.0e-300);
    for (int i = 0; i < s; i++) { /* x += T w */
      sum(N, R->x + i * N, s, T->T[i], R->w, N, R->r);
      memcpy(R->x + i * N, R->r, (size_t)N * sizeof *R->x);
    }
    states(mem, h);
    if (R->eta * norm <= KAPPA) return CP_SUCCESS;
  }
  mem->stats.nsolvefails++;
  return cpReason(mem->base.text, -CV_CONV_FAILURE,
                  "at t = %.15g: Newton's iteration for the stages does not converge (h = %g)",
                  mem->base.t, h);
}

/* ---- an attempt ---- */

/* The estimate is of order s, and the method of order 2 s - 1: a tolerance of tol, relative to the state, is that of
 * 0.1 tol^((s + 1) / (2 s)) of the estimate (RADAU5's rule for s = 3). Returns the ratio of the two. */
static sunrealtype scale(CPOneStepMem mem, int s) {
  const sunrealtype tol = 1.0 / fmax(N_VWrmsNorm(mem->base.y, mem->base.ewt), 1.0e2);
  return 10.0 * pow(tol, 1.0 - (s + 1.0) / (2.0 * s));
}

/* err = scale (I - h real J)^-1 h (real k_0 + sum_j d_j k_j), and its norm */
static int estimate(CPOneStepMem mem, sunrealtype h, sunrealtype *norm) {
  const Radau R         = mem->own;
  const CPRadauTable *T = R->table;
  const double ratio    = scale(mem, T->s);
  double w[CP_RADAU_STAGES + 1];
  *norm         = 0.0;
  mem->have_err = mem->hfixed == 0.0;
  if (!mem->have_err) return CP_SUCCESS;
  for (int j = 0; j < T->s; j++) w[j] = ratio * h * T->d[j];
  for (int j = 0; j < R->n; j++) R->e[j] = ratio * h * T->real * R->x0[j];
  sum(R->n, R->e, T->s, w, R->x, R->N, entries(mem->base.err));
  const int flag = R->system.filter(entries(mem->base.err), R->system.data);
  if (flag) return because(mem, flag);
  *norm = N_VWrmsNorm(mem->base.err, mem->base.ewt);
  if (isnan(*norm)) *norm = INFINITY;
  return CP_SUCCESS;
}

/* ynew = Y_s, projected: by the real factors, or, where these do not lead to the manifold, by the projector */
static int project(CPOneStepMem mem) {
  const Radau R             = mem->own;
  const CPStepper base      = &mem->base;
  const CPImplicitSystem *S = &R->system;
  const sunrealtype *Y      = R->Y + (R->table->s - 1) * R->n;
  sunrealtype *moved = R->D_new + (R->table->s + 1) * R->N, *y = entries(mem->ynew);
  int flag;
  memcpy(y, Y, (size_t)R->n * sizeof *y);
  if (base->P && S->project) {
    flag = S->project(mem->tnew, y, entries(base->ewt), PROJECTION, S->data);
    if (flag < 0) return because(mem, flag);
    for (int j = 0; j < R->n; j++) moved[j] = y[j] - Y[j];
    const sunrealtype correction = sqrt(squares(R->n, moved, entries(base->ewt)) / R->n);
    if (!(correction <= cpOneStepMaxCorrection(mem))) flag = 1;
    if (!flag) {
      base->stats.nproj++;
      base->stats.correction    = correction;
      base->stats.maxcorrection = fmax(base->stats.maxcorrection, correction);
      return CP_SUCCESS;
    }
    memcpy(y, Y, (size_t)R->n * sizeof *y);
  }
  flag = cpOneStepProject(mem, mem->tnew, mem->ynew);
  for (int j = 0; !flag && j < R->n; j++) moved[j] = y[j] - Y[j];
  return flag;
}

/* Solves for the stages with the partial derivatives that there are, and once more with new ones if that fails. */
static int stages(CPOneStepMem mem, sunrealtype h) {
  const Radau R = mem->own;
  int renew     = 0;
  if (R->have_stages) R->have_partials = 0;
  for (int tries = 0;; tries++) {
    int flag = CP_SUCCESS;
    if (!renew) predict(mem, h);
    states(mem, h);
    if (!R->have_partials) flag = partials(mem, h);
    const int fresh = R->fresh;
    if (!flag) flag = factor(mem, h);
    if (!flag) flag = newton(mem, h);
    if (!flag) return CP_SUCCESS;
    R->eta = 1.0;
    if (fresh && flag == -CV_CONV_FAILURE) askForStages(R, fabs(h) * pow(FAST / R->theta, 0.7));
    R->have_partials = 0; /* those of a shorter step are at another state */
    renew = R->have_stages && flag == -CV_CONV_FAILURE && R->theta < 1.0 && tries < MOST_RENEWALS;
    if (!renew && (fresh || flag != -CV_CONV_FAILURE || R->theta > 0.5)) return flag;
  }
}

static int attempt(CPOneStepMem mem, sunrealtype h, sunrealtype *norm) {
  const Radau R = mem->own;
  int flag      = stages(mem, h);
  if (flag) {
    if (flag == -CV_CONV_FAILURE) {
      const int aside = R->failures == 0 && R->theta < 10.0;
      mem->shrink = aside ? ASIDE : fmax(CUT, fmin(0.6, pow(0.1 / fmax(R->theta, 1.0e-3), 0.7)));
    }
    R->since = 0;
    if (R->failures++ > 0 && R->table > &cpRadauTables[R->least]) R->table--;
    return flag;
  }
  R->failures = 0;
  flag        = estimate(mem, h, norm);
  if (flag || *norm > 1.0) return flag;
  flag = project(mem);
  if (flag) {
    mem->shrink      = 0.5;
    R->have_partials = 0;
  } else differences(mem, h);
  return flag;
}

/* ---- step sizes and numbers of stages ---- */

static sunrealtype clamped(sunrealtype ratio) { return fmin(fmax(ratio, CUT), GROW); }

/* The ratio of step sizes that an error asks for, with s stages */
static sunrealtype by_error(const Radau R, sunrealtype error, int s) {
  const double most = 2.0 * MAX_ITERATIONS;
  const double safe = SAFETY * fmin(1.0, (1.0 + most) / (R->iterations + most));
  return clamped(safe * pow(fmax(error, 1.0e-10), -1.0 / (s + 1.0)));
}

/* After an accepted step: the number of stages that promises the longest step for its cost. The error with more or fewer
 * of them follows from those of the differences. Returns the ratio of step sizes, at which Newton's contraction is to be
 * below FAST. */
static sunrealtype choose(CPOneStepMem mem, sunrealtype norm) {
  const Radau R         = mem->own;
  const CPRadauTable *T = R->table;
  const int now         = (int)(T - cpRadauTables);
  double by_theta       = R->theta > 0.0 ? fmax(0.5, pow(FAST / R->theta, 0.7)) : INFINITY;
  if (WORTHWHILE * by_theta < by_error(R, norm, T->s)) askForStages(R, fabs(mem->hlast) * by_theta);
  if (R->by_stages) by_theta = R->have_stages ? fmin(by_theta, GROW_STAGES) : GROW_STAGES;
  const double decay = R->size_new[T->s] / fmax(R->size_new[T->s - 2], 1.0e-300);
  sunrealtype best = 0.0, ratio = 1.0;
  for (int k = R->least; k <= R->most; k++) {
    const CPRadauTable *X = &cpRadauTables[k];
    sunrealtype error     = norm;
    if (k != now) {
      error *= X->constant / T->constant * scale(mem, X->s) / scale(mem, T->s);
      error = k > now ? error * decay : error / decay;
    }
    const sunrealtype by   = fmin(by_theta, by_error(R, error, X->s));
    const sunrealtype gain = by / X->s * (k == now ? INERTIA : 1.0);
    if (gain > best) best = gain, ratio = by, R->stages = k;
  }
  return ratio;
}

static sunrealtype ratio(CPOneStepMem mem, sunrealtype norm, int accepted) {
  const Radau R = mem->own;
  if (!accepted) {
    if (!R->fresh && R->theta > KEEP) R->have_partials = 0;
    return R->first ? 0.1 : by_error(R, norm, R->table->s);
  }
  const sunrealtype next = choose(mem, norm);
  if (++R->since < MIN_STEPS) R->stages = (int)(R->table - cpRadauTables);
  if (next * fabs(mem->hlast) < R->plain) R->by_stages = 0;
  const int same = R->stages == (int)(R->table - cpRadauTables);
  return same && R->theta <= KEEP && next >= 1.0 && next <= R->system.growth ? 1.0 : next;
}

static void accepted(CPOneStepMem mem) {
  const Radau R         = mem->own;
  const CPRadauTable *T = R->table;
  sunrealtype *D        = R->D;
  R->D                  = R->D_new;
  R->D_new              = D;
  memcpy(R->size, R->size_new, sizeof R->size);
  memcpy(R->x0, R->x + (T->s - 1) * R->N, (size_t)R->N * sizeof *R->x0);
  R->last  = T;
  R->hlast = mem->hlast;
  R->fresh = R->first = 0;
  R->jump = R->jumps, R->jumps = 0;
  if (mem->hfixed > 0.0 || R->theta > KEEP) R->have_partials = 0;
  if (mem->hfixed > 0.0) return;
  if (&cpRadauTables[R->stages] != T) R->since = 0;
  R->table = &cpRadauTables[R->stages];
}

/* ---- interpolation: y(theta) = y_0 + h int_0^theta k, with k of the last step ---- */

static int degree(CPOneStepMem mem) { return ((Radau)mem->own)->last->s + 1; }

/* The difference of order s has k at the start as well. Its term vanishes at both ends, and makes the polynomial more
 * accurate by one order, unless the step skips a fast transient: then the term is not small. */
static int interpolate(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky) {
  const Radau R         = mem->own;
  const CPRadauTable *L = R->last;
  const sunrealtype h = mem->hlast, theta = (t - mem->tlast) / h, unit = pow(h, -k);
  const int terms          = R->size[L->s] <= R->size[L->s - 1] ? L->s + 1 : L->s;
  const CPPolynomial blend = {{0.0, 0.0, 3.0, -2.0}}; /* of the correction by the projection */
  CPPolynomial product     = {{0.0, 1.0}}; /* the integral of prod_{l < p} (theta - node_l) */
  double w[CP_RADAU_STAGES + 1], moved = unit * cpPolynomialValue(&blend, 3, theta, k);
  for (int p = 0; p < terms; p++) {
    w[p] = h * unit * cpPolynomialValue(&product, p + 1, theta, k);
    double a[CP_MAX_DEGREE + 1];
    for (int i = 0; i <= p; i++) a[i] = (i + 1) * product.a[i + 1];
    a[p + 1] = 0.0;
    for (int i = p + 1; i >= 0; i--) {
      a[i]             = (i > 0 ? a[i - 1] : 0.0) - node(L, p) * a[i];
      product.a[i + 1] = a[i] / (i + 1);
    }
  }
  sunrealtype *y = entries(dky), *correction = R->D + (L->s + 1) * R->N;
  sum(R->n, k == 0 ? entries(mem->ylast) : NULL, terms, w, R->D, R->N, y);
  for (int j = 0; j < R->n; j++) y[j] += moved * correction[j];
  return CP_SUCCESS;
}

/* ---- life cycle ---- */

static void destroy(void *own) { cpArenaFree(&((Radau)own)->arena); }

static int create(CPOneStepMem mem) {
  Radau R;
  if (!CP_NEW(&mem->memory, R, 1) || !cpArenaOwn(&mem->memory, R, destroy)) return CP_MEM_FAIL;
  mem->own      = R;
  R->least      = !strcmp(mem->name, CP_RADAU9);
  R->most       = strcmp(mem->name, CP_RADAU5) != 0;
  mem->embedded = cpRadauTables[R->least].s;
  mem->stages   = cpRadauTables[R->least].s;
  mem->order    = 2 * mem->stages - 1;
  return CP_SUCCESS;
}

/* Memory is requested at the first start: a system that is attached later decides what the unknowns are. */
static int init(CPOneStepMem mem) {
  (void)mem;
  return CP_SUCCESS;
}

static int allocate(CPOneStepMem mem) {
  const Radau R            = mem->own;
  const CPSystem *attached = &mem->base.system;
  int flag                 = CP_SUCCESS;
  if (attached->implicit) R->system = *attached->implicit;
  else flag = cpRadauOde(mem, &R->arena, &R->system);
  R->n        = (int)N_VGetLength(mem->base.y0);
  R->N        = R->n + R->system.m;
  const int s = cpRadauTables[R->most].s;
  CP_NEW(&R->arena, R->Y, s * R->n);
  CP_NEW(&R->arena, R->x, s * R->N);
  CP_NEW(&R->arena, R->r, s * R->N);
  CP_NEW(&R->arena, R->w, s * R->N);
  CP_NEW(&R->arena, R->x0, R->N);
  CP_NEW(&R->arena, R->e, R->n);
  CP_NEW(&R->arena, R->D, (s + 1) * R->N + R->n);
  CP_NEW(&R->arena, R->D_new, (s + 1) * R->N + R->n);
  if (!flag) flag = cpArenaStatus(&R->arena);
  if (flag) cpArenaFree(&R->arena), R->Y = NULL;
  return flag ? cpReason(mem->base.text, flag, "no memory for the stages") : flag;
}

static int start(CPOneStepMem mem) {
  const Radau R        = mem->own;
  const CPStepper base = &mem->base;
  int flag             = R->Y ? CP_SUCCESS : allocate(mem);
  if (flag) return flag;
  if (!R->table) R->table = &cpRadauTables[R->least];
  R->last          = NULL;
  R->have_partials = R->failures = R->since = R->jumps = R->jumped = 0;
  R->h_factors                                                     = 0.0;
  R->eta                                                           = 1.0;
  R->first                                                         = 1;
  mem->on_manifold                                                 = 0;
  mem->sine = 0.0; /* a step may end wherever it does */
  if (!R->system.counts_f) mem->stats.nfe++;
  flag = R->system.start(base->t, entries(base->y), R->x0, R->system.data);
  if (flag == -CV_REPTD_RHSFUNC_ERR) return CV_FIRST_RHSFUNC_ERR;
  return flag ? because(mem, -abs(flag)) : flag;
}

static int begin(CPOneStepMem mem) {
  const Radau R  = mem->own;
  const int flag = R->system.changed && R->system.changed(R->system.data) ? start(mem) : CP_SUCCESS;
  if (flag) return flag;
  mem->order  = 2 * R->table->s - 1;
  mem->stages = mem->embedded = R->table->s;
  if (mem->h != 0.0 || mem->hfixed > 0.0) return CP_SUCCESS;
  N_Vector f0 = mem->base.err;
  memcpy(entries(f0), R->x0, (size_t)R->n * sizeof *R->x0);
  return cpInitialStep(mem, f0, mem->base.tmp, &mem->h);
}

static void stats(CPOneStepMem mem, CPOneStepStats *stats) {
  stats->nlinsetups = mem->stats.nlureal + mem->stats.nlucomplex;
}

const CPOneStepMethod cpRadauMethod = {.implicit      = 1,
                                       .solves_stages = 1,
                                       .create        = create,
                                       .init          = init,
                                       .start         = start,
                                       .begin         = begin,
                                       .attempt       = attempt,
                                       .ratio         = ratio,
                                       .accepted      = accepted,
                                       .interpolate   = interpolate,
                                       .degree        = degree,
                                       .stats         = stats};
