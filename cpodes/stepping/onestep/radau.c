/* Radau IIA with s = 3, 5 or 7 stages and order 2 s - 1, or with 3 or 5, whichever promises the
 * longer steps for their cost.
 *
 * The unknowns of stage i are x_i = (k_i, lambda_i), its derivatives and multipliers
 * (CPImplicitSystem):
 *
 *   Y_i = y + h sum_j a_ij k_j,   0 = r(t + c_i h, Y_i, x_i).
 *
 * These choices were measured on eight stiff mechanisms. The figures are instructions relative to
 * RADAU5, as geometric means, with 3 and with 5 stages.
 * - Partial derivatives belong to the predicted middle of the step, not to its start: 0.53 -> 0.46
 *   and 0.43 -> 0.36.
 * - The predictor also goes through the start of the last step (0.59 -> 0.53 and 0.45 -> 0.43), and
 *   is cut where its terms grow.
 * - The contraction of Newton's iteration bounds the steps; without that, a tenth to a half of the
 *   steps with 5 stages fail.
 * - Newton's iteration ends at 0.005 tolerances; 0.02 and 0.002 are within 0.01. */
#include "radau.h"

#include "explicit.h"

#include <math.h>
#include <string.h>

/* Partial derivatives are kept for the next step up to this contraction. */
#define KEEP 0.01
/* Each stage gets its own partial derivatives if these promise steps that are WORTHWHILE times as long. */
#define WORTHWHILE 2.0
/* The contraction goes with a power of the step size, whose inverse is CONTRACTION, and it should stay
 * below CP_RADAU_FAST. If stages have their own derivatives, the contraction is due to errors of the
 * predicted states, of order s + 1 in h, and is about h times their square: the power is 2 s + 3, and
 * the contraction should stay below FAST_STAGES. (With a power of 4 step sizes oscillate, and the
 * flyball governor takes 1.4 times the iterations for ten times the error.) */
#define CONTRACTION 0.7
#define FAST_STAGES 0.1
/* Step sizes have the safety factor SAFETY, and successive sizes a ratio between 1 / GROW and GROW. With
 * SAFETY 0.9 and GROW 8 more steps are rejected, and six mechanisms take 5 % more instructions for
 * the same error; between 0.7 and 0.8 SAFETY makes no difference. */
#define SAFETY 0.8
#define GROW   5.0
/* The ratio of sizes after a first failure of Newton's iteration. The middle of the step, where
 * partial derivatives are evaluated, may be next to a singular position, and this ratio moves it
 * away. With smaller ratios 3 of 57 runs of five four-bars end at such a position, with this ratio
 * 1. */
#define ASIDE 0.7
/* An error estimate is a surprise if it is SURPRISE times that of the last step, extrapolated to this
 * step size, and as many tolerances. */
#define SURPRISE 10.0
/* The number of stages changes only if that promises a gain of CP_GROWTH, after MIN_STEPS steps at
 * least. */
#define MIN_STEPS 3

/* ---- an attempt ---- */

/* The estimate has order s, and the method order 2 s - 1. A tolerance tol relative to the state
 * therefore corresponds to 0.1 tol^((s + 1) / (2 s)) for the estimate (RADAU5's rule for s = 3).
 * Returns tol divided by that. */
static sunrealtype scale(sunrealtype tol, int s) {
  return 10.0 * pow(tol, 1.0 - (s + 1.0) / (2.0 * s));
}

/* Returns the decay of the divided differences of the newest attempt in two orders. */
static double decayOf(const CPRadau R) {
  const int s = R->table->s;
  return R->size_new[s] / fmax(R->size_new[s - 2], 1.0e-300);
}

/* Returns the factor by which the weight of an estimate of `error` tolerances is larger than scale,
 * which supposes that the solution is smooth, and so that its divided differences decay. In a step over
 * a jump of f they do not, and where the test passed the error was up to 4,300 tolerances. The error of
 * order 2 s over the estimate is about decay^(s - 1): the least weight of an estimate that comes as a
 * surprise. (Vibrations that steps do not resolve, as those of elastic parts, do not decay either, but
 * are no surprise.) */
static double raised(CPOneStep mem, sunrealtype h, sunrealtype error) {
  const CPRadau R = mem->own;
  const int s     = R->table->s;
  if (!R->last) return 1.0;
  const double expected = fmax(1.0, R->error * pow(fabs(h / R->hlast), s + 1.0));
  if (!(error > SURPRISE * expected)) return 1.0;
  cpRadauDifferences(mem, h);
  const double decay = sqrt(decayOf(R));
  return fmax(1.0, fmin(1.0, pow(decay, s - 1.0)) / scale(R->tol, s));
}

/* err = scale (I - h real J)^-1 h (real k_0 + sum_j d_j k_j), and its norm. Where Newton's iteration
 * diverged, its matrix says nothing of this step, and err is not filtered by it: next to a singular
 * position that makes little difference, but in a step over a jump of friction the filter reduced the
 * estimate below the tolerance, and errors were 17,000 tolerances. */
int cpRadauError(CPOneStep mem, sunrealtype h, const sunrealtype *x, const sunrealtype *x0,
                 sunrealtype size, N_Vector ewt, N_Vector err, sunrealtype *tol, sunrealtype *ratio,
                 sunrealtype *norm) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  double w[CP_RADAU_STAGES + 1];
  *tol   = 1.0 / fmax(size, 1.0e2);
  *ratio = scale(*tol, T->s);
  for (int j = 0; j < T->s; j++) w[j] = *ratio * h * T->d[j];
  for (int j = 0; j < R->n; j++) R->e[j] = *ratio * h * T->real * x0[j];
  cpRadauSum(R->n, R->e, T->s, w, x, R->N, N_VGetArrayPointer(err));
  const int flag =
      R->accelerated ? CP_SUCCESS : R->system.filter(N_VGetArrayPointer(err), R->system.data);
  if (flag) return cpRadauBecause(mem, flag);
  *norm = cpWrmsNorm(err, ewt);
  if (isnan(*norm)) *norm = INFINITY;
  return CP_SUCCESS;
}

static int estimate(CPOneStep mem, sunrealtype h, sunrealtype *norm) {
  const CPRadau R         = mem->own;
  const CPIntegrator base = &mem->base;
  sunrealtype ratio;
  *norm         = 0.0;
  mem->have_err = mem->hfixed == 0.0;
  if (!mem->have_err) return CP_SUCCESS;
  const sunrealtype size = cpStepperSize(base, base->y, base->err);
  const int flag =
      cpRadauError(mem, h, R->x, R->x0, size, base->ewt, base->err, &R->tol, &ratio, norm);
  if (flag) return flag;
  R->estimate         = *norm / ratio;
  const double factor = raised(mem, h, R->estimate);
  if (factor > 1.0) N_VScale(factor, mem->base.err, mem->base.err);
  *norm *= factor;
  return CP_SUCCESS;
}

/* Is the attempt to be rejected because its projection moves the state by more than the tolerance? Without
 * this, parallelograms that approach their singular positions in long steps have velocity errors of up
 * to 60,000 tolerances while the error test passes. Regular motions have corrections below 0.2. Next
 * to a singular position they may be due to roundoff: if a rejection does not make them LESSENED times as large,
 * attempts are no longer rejected until a correction is small again. The correction is an error of order 2 s
 * in h, and norm becomes that of an estimate of order s + 1 with the same step size. */
#define LESSENED 0.5

static int movedTooFar(CPOneStep mem, sunrealtype *norm) {
  const CPRadau R              = mem->own;
  const sunrealtype correction = mem->base.stats.correction, before = R->moved;
  if (!mem->base.P || isinf(cpOneStepMaxCorrection(mem))) return 0;
  if (correction <= 1.0) R->moved = INFINITY;
  if (correction <= 1.0 || correction > LESSENED * before) return 0;
  *norm    = pow(correction, (R->table->s + 1.0) / (2.0 * R->table->s));
  R->moved = correction;
  return 1;
}

/* ynew = Y_s, projected with the real factors or, where that is not available or fails, by the
 * projector */
static int project(CPOneStep mem) {
  const CPRadau R           = mem->own;
  const CPIntegrator base   = &mem->base;
  const CPImplicitSystem *S = &R->system;
  const sunrealtype *Y      = R->Y + (R->table->s - 1) * R->n;
  sunrealtype *moved = R->D_new + (R->table->s + 1) * R->N, *y = N_VGetArrayPointer(mem->ynew);
  double violation;
  int flag;
  memcpy(y, Y, (size_t)R->n * sizeof *y);
  if (base->P && S->project) {
    flag = S->project(mem->tnew, y, N_VGetArrayPointer(base->ewt), cpProjectorEps(base->P),
                      &violation, S->data);
    if (flag < 0) return cpRadauBecause(mem, flag);
    for (int j = 0; j < R->n; j++) moved[j] = y[j] - Y[j];
    const sunrealtype correction =
        sqrt(cpRadauSquares(R->n, moved, N_VGetArrayPointer(base->ewt)) / R->n);
    if (!(correction <= cpOneStepMaxCorrection(mem))) flag = 1;
    if (!flag) {
      base->stats.nproj++;
      base->stats.violation     = violation;
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

static int attempt(CPOneStep mem, sunrealtype h, sunrealtype *norm) {
  const CPRadau R           = mem->own;
  const sunrealtype largest = mem->base.stats.maxcorrection;
  int flag                  = cpRadauStages(mem, h);
  if (flag) {
    if (flag == -CV_CONV_FAILURE) {
      const int aside = R->failures == 0 && R->theta < 10.0;
      mem->shrink =
          aside ? ASIDE : fmax(1.0 / GROW, fmin(0.6, pow(0.1 / fmax(R->theta, 1.0e-3), 0.7)));
    }
    R->since = 0;
    if (R->failures++ > 0 && R->table > &cpRadauTables[R->least]) R->table--;
    return flag;
  }
  R->failures = 0;
  flag        = estimate(mem, h, norm);
  if (flag || *norm > 1.0) return flag;
  flag = project(mem);
  if (!flag && R->system.verify) {
    flag = R->system.verify(mem->tnew, N_VGetArrayPointer(mem->ynew), R->system.data);
    if (flag) cpRadauBecause(mem, flag);
  }
  if (flag) {
    mem->shrink      = 0.5;
    R->have_partials = 0;
    return flag;
  }
  if (movedTooFar(mem, norm)) mem->base.stats.maxcorrection = largest;
  else cpRadauDifferences(mem, h);
  return flag;
}

/* ---- step sizes and numbers of stages ---- */

static sunrealtype clamped(sunrealtype ratio) { return fmin(fmax(ratio, 1.0 / GROW), GROW); }

/* Returns the ratio of step sizes that the error admits with s stages. */
static sunrealtype by_error(const CPRadau R, sunrealtype error, int s) {
  const double most = 2.0 * CP_RADAU_ITERATIONS;
  const double safe = SAFETY * fmin(1.0, (1.0 + most) / (R->iterations + most));
  return clamped(safe * pow(fmax(error, 1.0e-10), -1.0 / (s + 1.0)));
}

/* The cost of a step in units of one of its stages: partial derivatives, real factors, projection
 * and estimate together take as long as a stage (callgrind, slider-crank in a bushing). */
static double cost(const CPRadauTable *T) { return T->s + 1.0; }

/* Returns the ratio of step sizes that Newton's contraction admits with s stages. `decay`: of the
 * divided differences, by which more stages are predicted better. */
static double byContraction(const CPRadau R, double decay, int s) {
  const int now = R->table->s;
  double theta  = R->theta;
  /* theta is not that of the next step if only that one has derivatives of its own for each stage */
  if (theta == 0.0 || (R->by_stages && !R->have_stages)) return INFINITY;
  if (!R->have_stages) return fmax(0.5, pow(CP_RADAU_FAST / theta, CONTRACTION));
  if (s != now) theta = s > now ? theta * decay : theta / decay;
  /* Two iterations are no reason for shorter steps: shorter ones may not contract any faster. */
  const double least = R->iterations <= 2 ? 1.0 : 0.5;
  return fmax(least, pow(FAST_STAGES / theta, 1.0 / (2.0 * s + 3.0)));
}

/* After an accepted step, chooses the number of stages that promises the longest step for its cost.
 * The error with more or fewer stages is extrapolated from the decay of the divided differences.
 * Returns the ratio of step sizes. */
static sunrealtype choose(CPOneStep mem, sunrealtype norm) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  const int now         = (int)(T - cpRadauTables);
  const double decay    = decayOf(R);
  const double by_theta = byContraction(R, decay, T->s);
  sunrealtype by[CP_RADAU_TABLES], longest = 0.0, best = 0.0, ratio = 1.0;
  for (int k = R->least; k <= R->most; k++) {
    const CPRadauTable *X = &cpRadauTables[k];
    sunrealtype error     = norm;
    if (k != now) {
      error *= X->constant / T->constant * scale(R->tol, X->s) / scale(R->tol, T->s);
      error = k > now ? error * decay : error / decay;
    }
    by[k]   = by_error(R, error, X->s);
    longest = fmax(longest, by[k] * cost(T) / cost(X));
  }
  /* Stages get no derivatives of their own if multipliers are not unique: each stage might then
   * omit other rows. Nor do they after an acceleration, which suits this motion better. */
  if (R->fresh && !R->accelerated && WORTHWHILE * by_theta < longest && !R->by_stages &&
      !R->jumped && R->system.leading) {
    R->by_stages     = 1;
    R->have_partials = 0;
    R->plain         = fabs(mem->hlast) * by_theta;
  }
  for (int k = R->least; k <= R->most; k++) {
    const sunrealtype size = fmin(byContraction(R, decay, cpRadauTables[k].s), by[k]);
    const sunrealtype gain = size / cost(&cpRadauTables[k]) * (k == now ? CP_GROWTH : 1.0);
    if (gain > best) best = gain, ratio = size, R->stages = k;
  }
  return ratio;
}

static sunrealtype ratio(CPOneStep mem, sunrealtype norm, int accepted) {
  const CPRadau R = mem->own;
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

static void accepted(CPOneStep mem) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table;
  sunrealtype *D        = R->D;
  R->D                  = R->D_new;
  R->D_new              = D;
  memcpy(R->size, R->size_new, sizeof R->size);
  memcpy(R->x0, R->x + (T->s - 1) * R->N, (size_t)R->N * sizeof *R->x0);
  R->last   = T;
  R->hlast  = mem->hlast;
  R->error  = R->estimate;
  R->origin = 1.0;
  if (mem->beside.of.data) cpRadauVaryAccepted(mem);
  R->fresh = R->first = 0;
  R->jump = R->jumps, R->jumps = 0;
  const int fleeting = R->system.fleeting && R->system.fleeting(R->system.data);
  if (mem->hfixed > 0.0 || R->theta > KEEP || fleeting) R->have_partials = 0;
  if (mem->hfixed > 0.0) return;
  if (&cpRadauTables[R->stages] != T) R->since = 0;
  R->table = &cpRadauTables[R->stages];
}

static void takenBack(CPOneStep mem) {
  const CPRadau R = mem->own;
  R->origin       = 0.0;
  cpRadauStart(R, R->D, R->x0);
  if (mem->beside.of.data) cpRadauVaryTakenBack(mem);
}

/* ---- life cycle ---- */

static void destroy(void *own) { cpArenaFree(&((CPRadau)own)->arena); }

static int create(CPOneStep mem) {
  CPRadau R;
  if (!CP_NEW(&mem->memory, R, 1) || !cpArenaOwn(&mem->memory, R, destroy)) return CP_MEM_FAIL;
  mem->own      = R;
  R->least      = !strcmp(mem->name, CP_RADAU13) ? 2 : !strcmp(mem->name, CP_RADAU9);
  R->most       = !strcmp(mem->name, CP_RADAU13) ? 2 : strcmp(mem->name, CP_RADAU5) != 0;
  mem->embedded = cpRadauTables[R->least].s;
  mem->stages   = cpRadauTables[R->least].s;
  mem->order    = 2 * mem->stages - 1;
  return CP_SUCCESS;
}

/* Called at the first start, since a system that is attached after the creation determines the
 * unknowns. */
static int allocate(CPOneStep mem) {
  const CPRadau R          = mem->own;
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
  CP_NEW(&R->arena, R->v, s * R->N);
  CP_NEW(&R->arena, R->x0, R->N);
  CP_NEW(&R->arena, R->zero, R->N);
  CP_NEW(&R->arena, R->unit, R->n);
  CP_NEW(&R->arena, R->first_r, R->n);
  CP_NEW(&R->arena, R->e, R->n);
  CP_NEW(&R->arena, R->D, (s + 1) * R->N + R->n);
  CP_NEW(&R->arena, R->D_new, (s + 1) * R->N + R->n);
  if (!flag) flag = cpArenaStatus(&R->arena);
  if (flag) cpArenaFree(&R->arena), R->Y = NULL;
  mem->allocated = !flag;
  return flag ? cpReason(mem->base.text, flag, "no memory for the stages") : flag;
}

static int start(CPOneStep mem) {
  const CPRadau R         = mem->own;
  const CPIntegrator base = &mem->base;
  int flag                = R->Y ? CP_SUCCESS : allocate(mem);
  if (flag) return flag;
  if (!R->table) R->table = &cpRadauTables[R->least]; /* otherwise kept, as the step size is */
  R->by_stages = R->have_stages = 0;
  R->plain = R->theta = 0.0;
  R->last             = NULL;
  R->have_partials = R->failures = R->since = R->jumps = R->jumped = 0;
  R->h_factors                                                     = 0.0;
  R->eta = R->eta_quad = 1.0;
  R->first             = 1;
  R->moved             = INFINITY;
  mem->on_manifold     = 0;
  if (mem->beside.of.data) cpRadauVaryStart(mem);
  if (!R->system.counts_f) mem->stats.nfe++;
  flag = R->system.start(base->t, N_VGetArrayPointer(base->y), R->x0, R->system.data);
  if (flag == -CV_REPTD_RHSFUNC_ERR) return CV_FIRST_RHSFUNC_ERR;
  return flag ? cpRadauBecause(mem, -abs(flag)) : flag;
}

static int begin(CPOneStep mem) {
  const CPRadau R = mem->own;
  const int flag = R->system.changed && R->system.changed(R->system.data) ? start(mem) : CP_SUCCESS;
  if (flag) return flag;
  mem->order  = 2 * R->table->s - 1;
  mem->stages = mem->embedded = R->table->s;
  if (mem->h != 0.0 || mem->hfixed > 0.0) return CP_SUCCESS;
  N_Vector f0 = mem->base.err;
  memcpy(N_VGetArrayPointer(f0), R->x0, (size_t)R->n * sizeof *R->x0);
  return cpInitialStep(mem, f0, mem->base.tmp, &mem->h);
}

static void stats(CPOneStep mem, CPIntegratorStats *stats) {
  stats->nlinsetups = mem->stats.nlureal + mem->stats.nlucomplex;
}

const CPOneStepMethod cpRadauMethod = {.implicit         = 1,
                                       .create           = create,
                                       .start            = start,
                                       .begin            = begin,
                                       .attempt          = attempt,
                                       .ratio            = ratio,
                                       .accepted         = accepted,
                                       .taken_back       = takenBack,
                                       .interpolate      = cpRadauInterpolate,
                                       .degree           = cpRadauDegree,
                                       .vary_init        = cpRadauVaryInit,
                                       .vary_start       = cpRadauVaryStart,
                                       .vary             = cpRadauVary,
                                       .vary_interpolate = cpRadauVaryInterpolate,
                                       .stats            = stats};
