/* Is W positive definite where A x = 0? K is regular, so it is if W is positive semidefinite; and if
 * W + rho A^T A is, for any rho (Debreu, Definite and semidefinite quadratic forms, Econometrica 20,
 * 1952). Cholesky factors tell: block by block where W has small ones, else by CHOLMOD. */
#include "kkt_impl.h"
#include "weight.h"

#include <string.h>

/* Added to the diagonal of the scaled W, so that semidefinite within roundoff passes. */
#define SHIFT 1.0e-13
/* rho, with the scaled W and A: the larger, the more is recognised, and the more roundoff of A^T A
 * covers. */
static const double rhos[] = {1.0e2, 1.0e5};

int cpKktCreateMass(CPSaddle s) {
  CPKkt *c = s->used.content;
  CP_NEW(&s->used.arena, c->first, s->n + 1);
  CP_NEW(&s->used.arena, c->block, CP_SMALL * CP_SMALL);
  if (cpArenaStatus(&s->used.arena)) return CP_MEM_FAIL;
  c->nblocks = cpWeightBlocksAreSmall(&c->M, c->first) ? cpWeightBlocksFind(&c->M, c->first) : 0;
  return CP_SUCCESS;
}

void cpKktFreeMass(CPKkt *c) {
  if (!c->is_started) return;
  cholmod_l_free_sparse(&c->W, &c->chol);
  cholmod_l_free_factor(&c->L, &c->chol);
  cholmod_l_finish(&c->chol);
}

static int failure(const CPKkt *c) {
  const int status = c->chol.status;
  return status == CHOLMOD_OUT_OF_MEMORY || status == CHOLMOD_TOO_LARGE ? CP_MEM_FAIL
                                                                        : CP_LINSOL_FAIL;
}

/* c->W <- the scaled W, whose upper triangle counts. */
static int formMatrix(CPSaddle s) {
  CPKkt *c          = s->used.content;
  cholmod_common *l = &c->chol;
  const size_t n = (size_t)s->n, entries = c->M.start[n];
  if (!c->is_started) {
    cholmod_l_start(l);
    c->is_started                 = 1;
    l->print                      = 0;
    l->quick_return_if_not_posdef = 1;
    l->final_ll                   = 1; /* a factor that is not L L^T may have any pivots */
    l->nmethods                   = 1; /* METIS may end the program for want of memory */
    l->method[0].ordering         = CHOLMOD_AMD;
  }
  if (!c->W) {
    c->W = cholmod_l_allocate_sparse(n, n, entries, 1, 1, 1, CHOLMOD_REAL, l);
    if (!c->W) return failure(c);
    Index *p = c->W->p, *i = c->W->i;
    for (size_t j = 0; j <= n; j++) p[j] = (Index)c->M.start[j];
    for (size_t e = 0; e < entries; e++) i[e] = c->M.row[e];
  }
  double *value = c->W->x;
  for (size_t j = 0; j < n; j++) /* K's first columns begin with W's */
    memcpy(value + c->M.start[j], c->value + c->start[j],
           (c->M.start[j + 1] - c->M.start[j]) * sizeof *value);
  return CP_SUCCESS;
}

/* Is S positive semidefinite? 0, CP_SADDLE_NOT_DEFINITE or a negative code. */
static int factor(CPKkt *c, cholmod_sparse *S, cholmod_factor *L) {
  double shift[2] = {SHIFT, 0.0};
  if (!S || !L) return failure(c);
  cholmod_l_factorize_p(S, shift, NULL, 0, L, &c->chol);
  if (c->chol.status < CHOLMOD_OK) return failure(c);
  return c->chol.status == CHOLMOD_NOT_POSDEF ? CP_SADDLE_NOT_DEFINITE : 0;
}

static int isWeightSemidefinite(CPSaddle s) {
  CPKkt *c = s->used.content;
  if (c->nblocks == 0) {
    const int flag = formMatrix(s);
    if (flag) return flag;
    if (!c->L) c->L = cholmod_l_analyze(c->W, &c->chol);
    return factor(c, c->W, c->L);
  }
  for (int b = 0; b < c->nblocks; b++) {
    const int first = c->first[b], size = c->first[b + 1] - first;
    const double *d = c->scale + first;
    cpWeightBlockGather(&c->M, first, size, c->block);
    for (int k = 0; k < size; k++) {
      double *column = c->block + (size_t)k * (size_t)size;
      for (int i = 0; i <= k; i++) column[i] *= d[i] * d[k];
      column[k] += SHIFT;
    }
    if (!cpCholeskySmall(c->block, size)) return CP_SADDLE_NOT_DEFINITE;
  }
  return 0;
}

/* A^T A of the scaled rows that are kept, both triangles. */
static cholmod_sparse *normalMatrix(CPSaddle s) {
  CPKkt *c          = s->used.content;
  cholmod_common *l = &c->chol;
  const size_t n = (size_t)s->n, m = (size_t)s->m;
  const Index *first = c->start + n; /* K's last columns are A^T, and a diagonal */
  cholmod_sparse *T  = cholmod_l_allocate_sparse(n, m, c->A.start[n], 1, 1, 0, CHOLMOD_REAL, l);
  if (!T) return NULL;
  Index *p = T->p, *i = T->i, count = 0;
  double *x = T->x;
  for (size_t k = 0; k < m; k++) {
    p[k] = count;
    for (Index q = first[k]; q < first[k + 1] - 1; q++) {
      i[count]   = c->row[q];
      x[count++] = c->value[q];
    }
  }
  p[m]                   = count;
  cholmod_sparse *normal = cholmod_l_aat(T, NULL, 0, 1, l);
  cholmod_l_free_sparse(&T, l);
  return normal;
}

/* Is W + rho A^T A definite? */
static int isDefiniteWithRows(CPSaddle s) {
  CPKkt *c          = s->used.content;
  cholmod_common *l = &c->chol;
  int flag          = formMatrix(s);
  if (flag) return flag;
  cholmod_sparse *normal = normalMatrix(s);
  flag                   = normal ? CP_SADDLE_NOT_DEFINITE : failure(c);
  for (size_t k = 0; flag > 0 && k < sizeof rhos / sizeof rhos[0]; k++) {
    double alpha[2] = {1.0, 0.0}, beta[2] = {rhos[k], 0.0};
    c->W->stype       = 0; /* both have both triangles */
    cholmod_sparse *S = cholmod_l_add(c->W, normal, alpha, beta, 1, 1, l);
    c->W->stype       = 1;
    if (S) S->stype = 1;
    cholmod_factor *L = S ? cholmod_l_analyze(S, l) : NULL;
    flag              = factor(c, S, L);
    cholmod_l_free_factor(&L, l);
    cholmod_l_free_sparse(&S, l);
  }
  cholmod_l_free_sparse(&normal, l);
  return flag;
}

int cpKktCheckMass(CPSaddle s) {
  const int flag = isWeightSemidefinite(s);
  return flag > 0 && s->rank > 0 ? isDefiniteWithRows(s) : flag;
}
