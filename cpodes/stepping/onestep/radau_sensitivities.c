/* Sensitivities beside a step of Radau IIA: the linear collocation equations with the stages Y_i of the state,
 *
 *   S_i = s + h sum_j a_ij K_j,   K_i = J(t + c_i h, Y_i) S_i + df/dp.
 *
 * They are solved by the iteration of the stages with the factors of the accepted step, whose residuals are those of exact
 * products with J: their error does not depend on that of the factors. */
#include "radau.h"

#include <math.h>
#include <string.h>

/* One sensitivity; rows of slopes have the length N, whose last components, those of multipliers, are not used. */
typedef struct {
  sunrealtype *K, *K0;    /* [s N] slopes of the stages; [N] at the start of the step */
  sunrealtype *S, *r;     /* [s n] stages; [s N] residuals, then corrections */
  sunrealtype *D, *D_new; /* [(s + 1) N + n] polynomials as CPRadau.D */
  N_Vector ewt;
} Variation;

typedef struct {
  Variation *of;  /* [count] */
  int have_first; /* K0 are the slopes at (t, y, s) */
} RadauBeside;

/* The lengths of arrays are known after the first start of the method only. */
int cpRadauVaryInit(CPOneStep mem) {
  RadauBeside *b;
  if (!CP_NEW(&mem->beside.memory, b, 1)) return CP_MEM_FAIL;
  mem->beside.own = b;
  return CP_SUCCESS;
}

static int allocate(CPOneStep mem) {
  const CPRadau R = mem->own;
  RadauBeside *b  = mem->beside.own;
  CPArena *memory = &mem->beside.memory;
  const int s     = cpRadauTables[R->most].s;
  const int count = mem->beside.of.count;
  CP_NEW(memory, b->of, count);
  for (int p = 0; b->of && p < count; p++) {
    Variation *v = &b->of[p];
    CP_ARRAYS(memory, s * R->N, &v->K, &v->r);
    CP_ARRAYS(memory, (s + 1) * R->N + R->n, &v->D, &v->D_new);
    CP_NEW(memory, v->K0, R->N);
    CP_NEW(memory, v->S, s * R->n);
    v->ewt = cpArenaVector(memory, mem->base.y0);
  }
  if (!cpArenaStatus(memory)) return CP_SUCCESS;
  b->of = NULL;
  return cpReason(mem->base.text, CP_MEM_FAIL, "no memory for sensitivities");
}

int cpRadauVaryStart(CPOneStep mem) {
  RadauBeside *b = mem->beside.own;
  b->have_first  = 0;
  return b->of ? CP_SUCCESS : allocate(mem);
}

/* K <- J S + df/dp at (t, Y) with the slope k of the state */
static int slope(CPOneStep mem, sunrealtype t, const sunrealtype *Y, const sunrealtype *k, int p,
                 const sunrealtype *S, sunrealtype *K) {
  const CPOneStepBeside *b = &mem->beside;
  const size_t bytes       = (size_t)((CPRadau)mem->own)->n * sizeof *K;
  memcpy(N_VGetArrayPointer(b->y), Y, bytes);
  memcpy(N_VGetArrayPointer(b->err), k, bytes);
  memcpy(N_VGetArrayPointer(b->moved), S, bytes);
  const int flag = cpOneStepVariation(mem, t, b->y, b->err, p, b->moved, mem->base.tmp);
  if (!flag) memcpy(K, N_VGetArrayPointer(mem->base.tmp), bytes);
  return flag;
}

/* r_i <- J S_i + df/dp - K_i for all sensitivities, so that a stage's factors serve all */
static int residuals(CPOneStep mem, sunrealtype h) {
  const CPRadau R       = mem->own;
  const RadauBeside *b  = mem->beside.own;
  const CPRadauTable *T = R->table;
  int flag              = CP_SUCCESS;
  for (int i = 0; i < T->s; i++)
    for (int p = 0; p < mem->beside.of.count && !flag; p++) {
      const Variation *v = &b->of[p];
      sunrealtype *r     = v->r + i * R->N;
      memset(r, 0, (size_t)R->N * sizeof *r);
      flag = slope(mem, mem->base.t + T->c[i] * h, R->Y + i * R->n, R->x + i * R->N, p,
                   v->S + i * R->n, r);
      for (int j = 0; j < R->n; j++) r[j] -= v->K[i * R->N + j];
    }
  return flag;
}

/* K += the corrections. Nothing depends on quadratures, which Newton's matrix leaves out: K = their residual + K. */
static int correct(CPOneStep mem, sunrealtype h, Variation *v, N_Vector s, sunrealtype *norm) {
  const CPRadau R = mem->own;
  const int all = R->table->s * R->N, first = R->n - R->system.nquad;
  for (int i = 0; i < R->table->s; i++)
    for (int j = first; j < R->n; j++) v->K[i * R->N + j] += v->r[i * R->N + j];
  const int flag = cpRadauCorrect(mem, h, v->r, v->ewt, norm);
  if (flag) return flag;
  for (int i = 0; i < R->table->s; i++)
    for (int j = first; j < R->n; j++) v->r[i * R->N + j] = 0.0;
  for (int j = 0; j < all; j++) v->K[j] += v->r[j];
  cpRadauStates(R, h, N_VGetArrayPointer(s), v->K, v->S);
  return CP_SUCCESS;
}

/* Solves for the slopes of all sensitivities. The contraction that two corrections show bounds the error that is left. */
static int iterate(CPOneStep mem, sunrealtype h) {
  RadauBeside *b     = mem->beside.own;
  sunrealtype before = 0.0;
  for (int it = 1; it <= CP_MOST_ITERATIONS; it++) {
    sunrealtype norm = 0.0, one = 0.0;
    int flag = residuals(mem, h);
    for (int p = 0; p < mem->beside.of.count && !flag; p++) {
      flag = correct(mem, h, &b->of[p], mem->beside.s[p], &one);
      norm = fmax(norm, one);
    }
    if (flag) return flag;
    if (!isfinite(norm)) break;
    const sunrealtype theta = it > 1 ? norm / fmax(before, 1.0e-300) : 0.5;
    if (theta < 1.0 && norm * theta / (1.0 - theta) <= CP_RADAU_KAPPA) return CP_SUCCESS;
    before = norm;
  }
  return cpReason(
      mem->base.text, -CV_CONV_FAILURE,
      "at t = %.10g: the iteration for sensitivities does not converge, with a step of %g",
      mem->base.t, h);
}

int cpRadauVary(CPOneStep mem, sunrealtype h, sunrealtype *norm) {
  const CPRadau R         = mem->own;
  const CPIntegrator base = &mem->base;
  CPOneStepBeside *b      = &mem->beside;
  RadauBeside *own        = b->own;
  const int s             = R->table->s;
  int flag                = CP_SUCCESS;
  for (int p = 0; p < b->of.count && !flag; p++) {
    Variation *v         = &own->of[p];
    const sunrealtype *S = N_VGetArrayPointer(b->s[p]);
    if (!own->have_first)
      flag = slope(mem, base->t, N_VGetArrayPointer(base->y), R->x0, p, S, v->K0);
    if (!flag) flag = b->of.weights(p, b->s[p], v->ewt, b->of.data);
    if (flag) return flag;
    cpRadauPredict(mem, h, v->D, v->K0, v->K);
    cpRadauStates(R, h, S, v->K, v->S);
  }
  own->have_first = 1;
  flag            = iterate(mem, h);
  for (int p = 0; p < b->of.count && !flag; p++) {
    Variation *v       = &own->of[p];
    sunrealtype *moved = v->D_new + (s + 1) * R->N, *S = N_VGetArrayPointer(b->snew[p]);
    memcpy(S, v->S + (s - 1) * R->n, (size_t)R->n * sizeof *S);
    flag = b->of.project(mem->tnew, mem->ynew, p == 0, p, b->snew[p], b->of.data);
    for (int j = 0; j < R->n; j++) moved[j] = S[j] - v->S[(s - 1) * R->n + j];
    cpRadauDivide(R, v->K, v->K0, v->D_new);
    if (flag || !*b->of.errcon || mem->hfixed > 0.0) continue;
    const sunrealtype size = cpWrmsNorm(b->s[p], v->ewt);
    sunrealtype tol, ratio, error = 0.0;
    flag  = cpRadauError(mem, h, v->K, v->K0, size, v->ewt, b->err, &tol, &ratio, &error);
    *norm = fmax(*norm, error);
  }
  if (flag) mem->shrink = 0.5;
  return flag;
}

int cpRadauVaryInterpolate(CPOneStep mem, int p, sunrealtype t, int k, N_Vector dky) {
  return cpRadauValue(mem, ((RadauBeside *)mem->beside.own)->of[p].D, mem->beside.slast[p], t, k,
                      dky);
}

void cpRadauVaryAccepted(CPOneStep mem) {
  const CPRadau R = mem->own;
  for (int p = 0; p < mem->beside.of.count; p++) {
    Variation *v   = &((RadauBeside *)mem->beside.own)->of[p];
    sunrealtype *D = v->D;
    v->D = v->D_new, v->D_new = D;
    memcpy(v->K0, v->K + (R->table->s - 1) * R->N, (size_t)R->N * sizeof *D);
  }
}

void cpRadauVaryTakenBack(CPOneStep mem) {
  for (int p = 0; p < mem->beside.of.count; p++) {
    Variation *v = &((RadauBeside *)mem->beside.own)->of[p];
    cpRadauStart(mem->own, v->D, v->K0);
  }
}
