/* The solution between t_n and t_n + h, theta = (t - t_n) / h: the cubic polynomial of values and
 * derivatives at both ends, whose error is O(h^4); for methods of order 5 and more that of degree 4 that
 * also has the value ym in the middle, O(h^5).
 *
 * Derivatives at the ends are those of stages where the method is stiffly accurate, else evaluated when
 * output is asked for. ym = y_n + h sum bm_i k_i satisfies the order conditions of a step to the
 * middle up to order 4 (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential
 * Equations I, section II.2), with the weights of least norm. No f is evaluated at interpolated states:
 * its errors would be as many times larger as the problem is stiff. */
#include "explicit.h"
#include "implicit.h"

#include <math.h>

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

int cpContinuousCreate(CPOneStepMem mem) {
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

void cpContinuousAccept(CPOneStepMem mem) {
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

int cpContinuousDegree(CPOneStepMem mem) { return cpImplicit(mem)->bm ? 4 : 3; }

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

int cpContinuousEvaluate(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky) {
  CPImplicit *st = cpImplicit(mem);
  int flag       = evaluateEnd(mem, mem->tlast, mem->ylast, st->f0, &st->have_f0);
  if (!flag) flag = evaluateEnd(mem, mem->base.t, mem->base.y, st->f1, &st->have_f1);
  return flag ? flag : evaluate(mem, t, k, st->bm != NULL, dky);
}

/* Far beyond its end the polynomial of lower degree is the better one. */
void cpContinuousPredict(CPOneStepMem mem, sunrealtype t, N_Vector guess) {
  CPImplicit *st = cpImplicit(mem);
  if (st->have_last && st->have_f0 && st->have_f1) evaluate(mem, t, 0, 0, guess);
  else if (st->have_f1) N_VLinearSum(1.0, mem->base.y, t - mem->base.t, st->f1, guess);
}
