/* Diagonally implicit methods: interpolation, error test, step control. */
#include "implicit.h"

#include "explicit.h"

#include <math.h>

/* ---- interpolation ----
 *
 * The solution between t_n and t_n + h, theta = (t - t_n) / h: the cubic polynomial of values and
 * derivatives at both ends, whose error is O(h^4), or for methods of order 5 and more the polynomial of degree 4 that
 * also has the value ym in the middle, with an error of O(h^5).
 *
 * The derivatives at the ends are those of stages if the method is stiffly accurate. Otherwise they are evaluated when
 * output is asked for. ym = y_n + h sum bm_i k_i satisfies the order conditions of a step to the middle up to order 4 (E.
 * Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section II.2), with the weights of least
 * norm. f is not evaluated at interpolated states, because stiffness would amplify their errors. */

/* ---- weights of ym ---- */

#define MAX_CONDITIONS 8
/* Rows whose relative size falls below this depend on those before. */
#define DEPENDENT 1.0e-10

/* Conditions that have been kept: orthonormal rows q with right-hand sides g. */
typedef struct {
  int s, n;  /* numbers of stages and of conditions */
  double *q; /* [MAX_CONDITIONS x s] */
  double g[MAX_CONDITIONS];
} Conditions;

/* Adds sum_i row_i b_i = rhs, and returns whether it contradicts the others. Overwrites row [s]. */
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

/* Solves the conditions of the eight rooted trees with up to four vertices for st->bm, which becomes NULL if they
 * contradict each other. */
static int createMiddle(CPOneStepMem mem) {
  static const double power[] = {1, 2, 3, 3, 4, 4, 4, 4}, density[] = {1, 2, 3, 6, 4, 8, 12, 24};
  const double theta         = 0.5;
  CPImplicit *st             = cpImplicit(mem);
  const ARKodeButcherTable B = mem->table;
  const int s                = B->stages;
  CPArena temporary          = {0};
  double *c2, *Ac, *Ac2, *AAc, *row;
  Conditions conditions = {.s = s};
  CP_NEW(&mem->base.memory, st->bm, s);
  CP_ARRAYS(&temporary, s, &c2, &Ac, &Ac2, &AAc, &row);
  CP_NEW(&temporary, conditions.q, MAX_CONDITIONS * s);
  if (cpArenaStatus(&mem->base.memory) || cpArenaStatus(&temporary)) {
    cpArenaFree(&temporary);
    return CP_MEM_FAIL;
  }
  for (int i = 0; i < s; i++) c2[i] = B->c[i] * B->c[i];
  timesA(B, B->c, Ac);
  timesA(B, c2, Ac2);
  timesA(B, Ac, AAc);
  int contradiction = 0;
  for (int tree = 0; tree < MAX_CONDITIONS; tree++) {
    for (int i = 0; i < s; i++) {
      const double c         = B->c[i],
                   of_tree[] = {1.0, c, c2[i], Ac[i], c2[i] * c, c * Ac[i], Ac2[i], AAc[i]};
      row[i]                 = of_tree[tree];
    }
    contradiction |= addCondition(&conditions, row, pow(theta, power[tree]) / density[tree]);
  }
  for (int k = 0; k < conditions.n; k++)
    for (int i = 0; i < s; i++) st->bm[i] += conditions.g[k] * conditions.q[k * s + i];
  if (contradiction) st->bm = NULL;
  cpArenaFree(&temporary);
  return CP_SUCCESS;
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
  return base ? cpLinearCombination(s + 1, st->factor, st->vector, sum)
              : cpLinearCombination(s, st->factor + 1, st->vector + 1, sum);
}

/* ---- the polynomial ---- */

static int degree(CPOneStepMem mem) { return cpImplicit(mem)->bm ? 4 : 3; }

/* Weights of y_n, y_{n+1}, h f_n, h f_{n+1}, ym. The quartic is the cubic plus the multiple of
 * theta^2 (1 - theta)^2 that makes it pass through ym. */
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

/* Requires f0 and f1, and ym if the polynomial is to pass through the value in the middle. */
static int evaluate(CPOneStepMem mem, sunrealtype t, int k, int middle, N_Vector dky) {
  CPImplicit *st      = cpImplicit(mem);
  const sunrealtype h = mem->base.t - mem->tlast, theta = (t - mem->tlast) / h;
  const CPPolynomial *weights = middle ? quartic : cubic;
  N_Vector v[5]               = {mem->ylast, mem->base.y, st->f0, st->f1, st->ym};
  sunrealtype w[5];
  for (int i = 0; i < 5; i++) w[i] = cpPolynomialValue(&weights[i], 4, theta, k) / pow(h, k);
  w[2] *= h;
  w[3] *= h;
  return cpLinearCombination(middle ? 5 : 4, w, v, dky) ? CP_VECTOROP_ERR : CP_SUCCESS;
}

int cpImplicitRhs(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector f, int *have, int output) {
  if (*have) return CP_SUCCESS;
  const int flag = cpOneStepRhs(mem, t, y, f, output);
  *have          = !flag;
  return flag;
}

static int interpolate(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky) {
  CPImplicit *st = cpImplicit(mem);
  int flag       = cpImplicitRhs(mem, mem->tlast, mem->ylast, st->f0, &st->have_f0, 1);
  if (!flag) flag = cpImplicitRhs(mem, mem->base.t, mem->base.y, st->f1, &st->have_f1, 1);
  if (flag) return flag > 0 ? -flag : flag;
  return evaluate(mem, t, k, st->bm != NULL, dky);
}

/* Far beyond its end the polynomial of the lower degree is the more accurate one. */
void cpImplicitPredict(CPOneStepMem mem, sunrealtype t, N_Vector guess) {
  CPImplicit *st = cpImplicit(mem);
  if (st->have_last && st->have_f0 && st->have_f1) evaluate(mem, t, 0, 0, guess);
  else if (st->have_f1) N_VLinearSum(1.0, mem->base.y, t - mem->base.t, st->f1, guess);
}

/* ---- judging an attempt ---- */

/* An attempt that the error test rejects is not projected. */
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
    st->error = cpWrmsNorm(s->err, s->ewt);
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

/* The ratio depends on the newest error alone. A controller that also uses the errors before takes 1.0 to 1.04 times the
 * evaluations (bench/implicit.c). */
static sunrealtype ratio(CPOneStepMem mem, sunrealtype error, int accepted) {
  const double order = fmin(mem->order, mem->embedded) + 1.0;
  (void)accepted;
  return fmin(fmax(SAFETY * pow(error, -1.0 / order), CUT), GROWTH);
}

static int begin(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  if (mem->h != 0.0 || mem->hfixed > 0.0) return CP_SUCCESS;
  int flag    = cpImplicitRhs(mem, mem->base.t, mem->base.y, st->f1, &st->have_f1, 0);
  st->have_f0 = 0; /* cpInitialStep uses f0 as workspace. */
  if (!flag) flag = cpInitialStep(mem, st->f1, st->f0, &mem->h);
  return flag > 0 ? -flag : flag;
}

static int attempt(CPOneStepMem mem, sunrealtype h, sunrealtype *error) {
  const int flag = cpArkAttempt(mem, h);
  *error         = cpImplicit(mem)->error;
  return flag;
}

/* Keeps what the polynomial of the step needs. */
static void accepted(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  N_Vector f     = st->f0;
  st->f0         = st->f1;
  st->f1         = f;
  st->have_f0    = st->have_f1;
  st->have_f1    = st->stiffly_accurate;
  if (st->have_f1) N_VScale(1.0, st->k[mem->table->stages - 1], st->f1);
  if (st->bm) cpImplicitSum(mem, mem->base.y, st->bm, st->ym);
  st->have_last = 1;
  if (mem->tnew == mem->tlimit) st->ready = 0; /* The t of ARKODE may differ by roundoff. */
}

/* ---- life cycle ---- */

static int create(CPOneStepMem mem) {
  CPImplicit *st;
  mem->order    = mem->table->q;
  mem->embedded = mem->table->d ? mem->table->p : 0;
  mem->stages   = mem->table->stages;
  mem->own      = CP_NEW(&mem->memory, st, 1);
  return cpArenaStatus(&mem->memory);
}

static int init(CPOneStepMem mem) {
  CPImplicit *st             = cpImplicit(mem);
  CPArena *memory            = &mem->base.memory;
  const ARKodeButcherTable B = mem->table;
  const int s                = B->stages;
  *st = (CPImplicit){.stiffly_accurate = 1, .solves_first = B->A[0][0] != 0.0};
  for (int j = 0; j < s; j++)
    if (fabs(B->b[j] - B->A[s - 1][j]) > 100.0 * CP_UROUND) st->stiffly_accurate = 0;
  CP_NEW(memory, st->w, s);
  CP_NEW(memory, st->factor, s + 1);
  CP_NEW(memory, st->vector, s + 1);
  CP_NEW(memory, st->k, s);
  CP_VECTORS(memory, mem->base.y0, &st->f0, &st->f1);
  if (B->q >= 5) st->ym = cpArenaVector(memory, mem->base.y0);
  int flag = cpArenaStatus(memory);
  if (!flag && st->ym) flag = createMiddle(mem);
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
