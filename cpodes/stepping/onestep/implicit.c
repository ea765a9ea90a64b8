/* Diagonally implicit methods: interpolation, error test, step control. */
#include "implicit.h"

#include "explicit.h"

#include <math.h>

/* ---- interpolation ----
 *
 * The solution between t_n and t_n + h, theta = (t - t_n) / h: the cubic polynomial of values and
 * derivatives at both ends, whose error is O(h^4); for methods of order 5 and more that of degree 4 that
 * also has the value ym in the middle, O(h^5).
 *
 * Derivatives at the ends are those of stages where the method is stiffly accurate, else evaluated when
 * output is asked for. ym = y_n + h sum bm_i k_i satisfies the order conditions of a step to the
 * middle up to order 4 (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential
 * Equations I, section II.2), with the weights of least norm. No f is evaluated at interpolated states:
 * its errors would be as many times larger as the problem is stiff. */

/* ---- weights of ym ---- */

#define MAX_CONDITIONS 8
/* Rows below this relative size depend on those before. */
#define DEPENDENT 1.0e-10

typedef struct {
  int s, n;  /* stages; conditions kept, orthonormal rows q with right-hand sides g */
  double *q; /* [MAX_CONDITIONS x s] */
  double g[MAX_CONDITIONS];
} Conditions;

/* sum_i row_i b_i = rhs. Does it contradict the others? row [s] is spoilt. */
static int addCondition(Conditions *c, double *row, double rhs) {
  const double size = sqrt(cpDot(row, row, c->s));
  for (int twice = 0; twice < 2; twice++)
    for (int k = 0; k < c->n; k++) {
      const double *q = c->q + k * c->s, along = cpDot(row, q, c->s);
      for (int i = 0; i < c->s; i++) row[i] -= along * q[i];
      rhs -= along * c->g[k];
    }
  const double norm = sqrt(cpDot(row, row, c->s));
  if (norm <= DEPENDENT * size) return fabs(rhs) > DEPENDENT * size;
  for (int i = 0; i < c->s; i++) c->q[c->n * c->s + i] = row[i] / norm;
  c->g[c->n++] = rhs / norm;
  return 0;
}

/* y <- A x */
static void timesA(ARKodeButcherTable B, const double *x, double *y) {
  for (int i = 0; i < B->stages; i++) y[i] = cpDot(B->A[i], x, i + 1);
}

/* The conditions of the eight rooted trees with up to four vertices, at theta. work [5 s]. */
static int addConditions(Conditions *c, ARKodeButcherTable B, double theta, double *work) {
  const int s = B->stages;
  double *Ac = work, *Ac2 = work + s, *AAc = work + 2 * s, *row = work + 3 * s, *c2 = work + 4 * s;
  for (int i = 0; i < s; i++) c2[i] = B->c[i] * B->c[i];
  timesA(B, B->c, Ac);
  timesA(B, c2, Ac2);
  timesA(B, Ac, AAc);
  int contradiction = 0;
  for (int tree = 0; tree < MAX_CONDITIONS; tree++) {
    static const double power[] = {1, 2, 3, 3, 4, 4, 4, 4}, density[] = {1, 2, 3, 6, 4, 8, 12, 24};
    for (int i = 0; i < s; i++) {
      const double of_tree[] = {1.0,    B->c[i], c2[i], Ac[i], c2[i] * B->c[i], B->c[i] * Ac[i],
                                Ac2[i], AAc[i]};
      row[i]                 = of_tree[tree];
    }
    contradiction |= addCondition(c, row, pow(theta, power[tree]) / density[tree]);
  }
  return contradiction;
}

/* st->bm; NULL if there are no such weights. */
static int createMiddle(CPOneStepMem mem) {
  CPImplicit *st    = cpImplicit(mem);
  CPArena temporary = {0};
  const int s       = mem->table->stages;
  double *work;
  Conditions c = {.s = s};
  CP_NEW(&mem->base.memory, st->bm, s);
  CP_NEW(&temporary, work, 5 * s);
  CP_NEW(&temporary, c.q, MAX_CONDITIONS * s);
  int flag = cpArenaStatus(&mem->base.memory);
  if (!flag) flag = cpArenaStatus(&temporary);
  if (!flag && addConditions(&c, mem->table, 0.5, work)) {
    st->bm = NULL; /* they contradict each other */
  } else if (!flag) {
    for (int k = 0; k < c.n; k++)
      for (int i = 0; i < s; i++) st->bm[i] += c.g[k] * c.q[k * s + i];
  }
  cpArenaFree(&temporary);
  return flag;
}

static int createInterpolant(CPOneStepMem mem) {
  CPImplicit *st  = cpImplicit(mem);
  CPArena *memory = &mem->base.memory;
  st->f0          = cpArenaVector(memory, mem->base.y0);
  st->f1          = cpArenaVector(memory, mem->base.y0);
  if (mem->table->q >= 5) st->ym = cpArenaVector(memory, mem->base.y0);
  if (cpArenaStatus(memory)) return CP_MEM_FAIL;
  return st->ym ? createMiddle(mem) : CP_SUCCESS;
}

int cpImplicitSum(CPOneStepMem mem, N_Vector base, const sunrealtype *w, N_Vector sum) {
  const CPImplicit *st = cpImplicit(mem);
  const int s          = mem->table->stages;
  for (int i = 0; i < s; i++) {
    st->factor[i + 1] = st->h * w[i];
    st->vector[i + 1] = st->k[i];
  }
  st->factor[0] = 1.0;
  st->vector[0] = base;
  return base ? N_VLinearCombination(s + 1, st->factor, st->vector, sum)
              : N_VLinearCombination(s, st->factor + 1, st->vector + 1, sum);
}

/* The attempt becomes the step: keeps what its polynomial needs. */
static void keepForInterpolation(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  N_Vector f     = st->f0;
  st->f0         = st->f1;
  st->f1         = f;
  st->have_f0    = st->have_f1;
  st->have_f1    = st->stiffly_accurate;
  if (st->have_f1) N_VScale(1.0, st->k[mem->table->stages - 1], st->f1);
  if (st->bm) cpImplicitSum(mem, mem->base.y, st->bm, st->ym);
  st->have_last = 1;
}

/* ---- the polynomial ---- */

static int degree(CPOneStepMem mem) { return cpImplicit(mem)->bm ? 4 : 3; }

/* Weights of y_n, y_{n+1}, h f_n, h f_{n+1}, ym. With ym theta^2 (1 - theta)^2 is added so often that the
 * polynomial passes through it. */
static const CPPolynomial cubic[5]   = {{{1, 0, -3, 2, 0}},
                                        {{0, 0, 3, -2, 0}},
                                        {{0, 1, -2, 1, 0}},
                                        {{0, 0, -1, 1, 0}},
                                        {{0, 0, 0, 0, 0}}};
static const CPPolynomial quartic[5] = {{{1, 0, -11, 18, -8}},
                                        {{0, 0, -5, 14, -8}},
                                        {{0, 1, -4, 5, -2}},
                                        {{0, 0, 1, -3, 2}},
                                        {{0, 0, 16, -32, 16}}};

/* Needs f0 and f1, and ym if it is to pass through that. */
static int evaluate(CPOneStepMem mem, sunrealtype t, int k, int middle, N_Vector dky) {
  CPImplicit *st      = cpImplicit(mem);
  const sunrealtype h = mem->base.t - mem->tlast, theta = (t - mem->tlast) / h;
  const CPPolynomial *weights = middle ? quartic : cubic;
  N_Vector v[5]               = {mem->ylast, mem->base.y, st->f0, st->f1, st->ym};
  sunrealtype w[5];
  for (int i = 0; i < 5; i++) w[i] = cpPolynomialValue(&weights[i], 4, theta, k) / pow(h, k);
  w[2] *= h;
  w[3] *= h;
  return N_VLinearCombination(middle ? 5 : 4, w, v, dky) ? CP_VECTOROP_ERR : CP_SUCCESS;
}

static int evaluateEnd(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector f, int *have) {
  int flag = CP_SUCCESS;
  if (!*have) flag = cpOneStepRhs(mem, t, y, f, 1);
  *have = !flag;
  return flag > 0 ? -flag : flag;
}

static int interpolate(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky) {
  CPImplicit *st = cpImplicit(mem);
  int flag       = evaluateEnd(mem, mem->tlast, mem->ylast, st->f0, &st->have_f0);
  if (!flag) flag = evaluateEnd(mem, mem->base.t, mem->base.y, st->f1, &st->have_f1);
  return flag ? flag : evaluate(mem, t, k, st->bm != NULL, dky);
}

/* Far beyond its end the polynomial of lower degree is the better one. */
void cpImplicitPredict(CPOneStepMem mem, sunrealtype t, N_Vector guess) {
  CPImplicit *st = cpImplicit(mem);
  if (st->have_last && st->have_f0 && st->have_f1) evaluate(mem, t, 0, 0, guess);
  else if (st->have_f1) N_VLinearSum(1.0, mem->base.y, t - mem->base.t, st->f1, guess);
}

/* ---- judging an attempt ---- */

/* An attempt that its error rejects is not projected. */
int cpImplicitJudge(CPOneStepMem mem, N_Vector y) {
  const CPStepper s          = &mem->base;
  CPImplicit *st             = cpImplicit(mem);
  const ARKodeButcherTable B = mem->table;
  mem->have_err              = mem->hfixed == 0.0;
  if (!cpVectorFinite(y))
    return cpReason(s->text, -CP_RHS_NONFINITE, "at t = %.15g: the stages are not finite", s->t);
  st->error = 0.0;
  if (mem->have_err) {
    for (int i = 0; i < B->stages; i++) st->w[i] = B->b[i] - B->d[i];
    cpImplicitSum(mem, NULL, st->w, s->err); /* err = h sum (b_i - d_i) k_i */
    st->error = N_VWrmsNorm(s->err, s->ewt);
    if (isnan(st->error)) st->error = INFINITY; /* overflow */
  }
  if (st->error > 1.0) return CP_SUCCESS;
  N_VScale(1.0, y, mem->ynew);
  const int flag = cpOneStepProject(mem, mem->tnew, mem->ynew);
  if (!flag) N_VScale(1.0, mem->ynew, y);
  return flag;
}

/* ---- step control ---- */

#define SAFETY 0.9
#define GROWTH 5.0
#define CUT    0.2

/* By the error alone: what is known of the errors before does not help (bench/implicit.c: predicting by
 * them takes 1.0 to 1.04 times the evaluations). */
static sunrealtype ratio(CPOneStepMem mem, sunrealtype error, int accepted) {
  const double order = fmin(mem->order, mem->embedded) + 1.0;
  (void)accepted;
  return fmin(fmax(SAFETY * pow(error, -1.0 / order), CUT), GROWTH);
}

static int begin(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  if (mem->h != 0.0 || mem->hfixed > 0.0) return CP_SUCCESS;
  int flag    = st->have_f1 ? CP_SUCCESS : cpOneStepRhs(mem, mem->base.t, mem->base.y, st->f1, 0);
  st->have_f1 = !flag;
  st->have_f0 = 0; /* it is workspace here */
  if (!flag) flag = cpInitialStep(mem, st->f1, st->f0, &mem->h);
  return flag > 0 ? -flag : flag;
}

static int attempt(CPOneStepMem mem, sunrealtype h, sunrealtype *error) {
  const int flag = cpArkAttempt(mem, h);
  *error         = cpImplicit(mem)->error;
  return flag;
}

static void accepted(CPOneStepMem mem) {
  keepForInterpolation(mem);
  if (mem->tnew == mem->tlimit) cpImplicit(mem)->ready = 0; /* ARKODE's t may differ by roundoff */
}

/* ---- life cycle ---- */

static int isStifflyAccurate(ARKodeButcherTable B) {
  const int s = B->stages;
  for (int j = 0; j < s; j++)
    if (fabs(B->b[j] - B->A[s - 1][j]) > 100.0 * CP_UROUND) return 0;
  return 1;
}

static int create(CPOneStepMem mem) {
  CPImplicit *st;
  mem->order    = mem->table->q;
  mem->embedded = mem->table->d ? mem->table->p : 0;
  mem->stages   = mem->table->stages;
  mem->own      = CP_NEW(&mem->memory, st, 1);
  return cpArenaStatus(&mem->memory);
}

static int init(CPOneStepMem mem) {
  CPImplicit *st  = cpImplicit(mem);
  CPArena *memory = &mem->base.memory;
  const int s     = mem->table->stages;
  *st             = (CPImplicit){.stiffly_accurate = isStifflyAccurate(mem->table),
                                 .solves_first     = mem->table->A[0][0] != 0.0};
  CP_NEW(memory, st->w, s);
  CP_NEW(memory, st->factor, s + 1);
  CP_NEW(memory, st->vector, s + 1);
  CP_NEW(memory, st->k, s);
  const int flag = createInterpolant(mem);
  return flag ? flag : cpArkCreate(mem);
}

static int start(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  st->have_f0 = st->have_f1 = st->have_last = 0;
  cpArkStart(mem);
  return CP_SUCCESS;
}

static void *arkodeMem(CPOneStepMem mem) { return cpImplicit(mem)->ark; }

const CPOneStepMethod cpImplicitMethod = {.implicit          = 1,
                                          .create            = create,
                                          .init              = init,
                                          .start             = start,
                                          .begin             = begin,
                                          .attempt           = attempt,
                                          .ratio             = ratio,
                                          .accepted          = accepted,
                                          .interpolate       = interpolate,
                                          .degree            = degree,
                                          .stats             = cpArkStats,
                                          .arkode_mem        = arkodeMem,
                                          .set_linear_solver = cpArkSetLinearSolver};
