/* Is M positive definite where A x = 0? K is regular, so it is if M is positive semidefinite; and if
 * M + rho A^T A is, for any rho (Debreu, Definite and semidefinite quadratic forms, Econometrica 20,
 * 1952). Cholesky factors tell: block by block where M has small ones, else by CHOLMOD. */
#include "sparse_impl.h"

#include "blocks.h"

#include <stdlib.h>
#include <string.h>

/* Added to the diagonal of the scaled M, so that semidefinite within roundoff passes. */
#define SHIFT 1.0e-13
/* rho, with the scaled M and A: the larger, the more is recognised, and the more roundoff of A^T A
 * covers. */
static const double rhos[] = {1.0e2, 1.0e5};

int cpKktSparseCreateMass(CPKkt kkt) {
  CPKktSparse *s     = kkt->content;
  CPSparseMass *mass = &s->mass;
  mass->first        = malloc(((size_t)kkt->n + 2) * sizeof *mass->first);
  mass->block        = malloc(CP_SMALL * CP_SMALL * sizeof *mass->block);
  if (!mass->first || !mass->block) return CP_MEM_FAIL;
  mass->nblocks = cpKktBlocksAreSmall(&s->M, mass->first) ? cpKktBlocksFind(&s->M, mass->first) : 0;
  return CP_SUCCESS;
}

void cpKktSparseFreeMass(CPKktSparse *s) {
  CPSparseMass *mass = &s->mass;
  free(mass->first);
  free(mass->block);
  if (!mass->is_started) return;
  cholmod_l_free_sparse(&mass->M, &mass->common);
  cholmod_l_free_factor(&mass->L, &mass->common);
  cholmod_l_finish(&mass->common);
}

/* ---- blocks ---- */

static int areBlocksSemidefinite(const CPKktSparse *s) {
  const CPSparseMass *mass = &s->mass;
  for (int b = 0; b < mass->nblocks; b++) {
    const int first = mass->first[b], size = mass->first[b + 1] - first;
    const double *d = s->scale + first;
    cpKktBlocksGather(&s->M, first, size, mass->block);
    for (int k = 0; k < size; k++) {
      double *column = mass->block + (size_t)k * (size_t)size;
      for (int i = 0; i <= k; i++) column[i] *= d[i] * d[k];
      column[k] += SHIFT;
    }
    if (!cpCholeskySmall(mass->block, size)) return 0;
  }
  return 1;
}

/* ---- CHOLMOD ---- */

static int failure(const CPSparseMass *mass) {
  const int status = mass->common.status;
  return status == CHOLMOD_OUT_OF_MEMORY || status == CHOLMOD_TOO_LARGE ? CP_MEM_FAIL
                                                                        : CP_LINSOL_FAIL;
}

/* The upper triangle counts. */
static int start(CPKkt kkt) {
  CPKktSparse *s     = kkt->content;
  CPSparseMass *mass = &s->mass;
  cholmod_common *c  = &mass->common;
  const size_t n = (size_t)kkt->n, entries = s->M.start[n];
  if (!mass->is_started) {
    cholmod_l_start(c);
    mass->is_started              = 1;
    c->print                      = 0;
    c->quick_return_if_not_posdef = 1;
    c->final_ll                   = 1; /* a factor that is not L L^T may have any pivots */
    c->nmethods                   = 1; /* METIS may end the program for want of memory */
    c->method[0].ordering         = CHOLMOD_AMD;
  }
  if (!mass->M) {
    mass->M = cholmod_l_allocate_sparse(n, n, entries, 1, 1, 1, CHOLMOD_REAL, c);
    if (!mass->M) return failure(mass);
    Index *p = mass->M->p, *i = mass->M->i;
    for (size_t j = 0; j <= n; j++) p[j] = (Index)s->M.start[j];
    for (size_t e = 0; e < entries; e++) i[e] = s->M.row[e];
  }
  double *value = mass->M->x;
  for (size_t j = 0; j < n; j++) /* K's first columns begin with M's */
    memcpy(value + s->M.start[j], s->value + s->start[j],
           (s->M.start[j + 1] - s->M.start[j]) * sizeof *value);
  return CP_SUCCESS;
}

/* 0, CP_KKT_NOT_DEFINITE or a negative code. */
static int factor(CPSparseMass *mass, cholmod_sparse *S, cholmod_factor *L) {
  double shift[2] = {SHIFT, 0.0};
  if (!S || !L) return failure(mass);
  cholmod_l_factorize_p(S, shift, NULL, 0, L, &mass->common);
  if (mass->common.status < CHOLMOD_OK) return failure(mass);
  return mass->common.status == CHOLMOD_NOT_POSDEF ? CP_KKT_NOT_DEFINITE : 0;
}

static int isMassSemidefinite(CPKkt kkt) {
  CPKktSparse *s     = kkt->content;
  CPSparseMass *mass = &s->mass;
  if (mass->nblocks > 0) return areBlocksSemidefinite(s) ? 0 : CP_KKT_NOT_DEFINITE;
  const int flag = start(kkt);
  if (flag) return flag;
  if (!mass->L) mass->L = cholmod_l_analyze(mass->M, &mass->common);
  return factor(mass, mass->M, mass->L);
}

/* A^T A of the scaled rows that are kept, both triangles. */
static cholmod_sparse *normalMatrix(CPKkt kkt) {
  CPKktSparse *s    = kkt->content;
  cholmod_common *c = &s->mass.common;
  const size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  const Index *first = s->start + n; /* K's last columns are A^T, and a diagonal */
  cholmod_sparse *T  = cholmod_l_allocate_sparse(n, m, s->A.start[n], 1, 1, 0, CHOLMOD_REAL, c);
  if (!T) return NULL;
  Index *p = T->p, *i = T->i, count = 0;
  double *x = T->x;
  for (size_t k = 0; k < m; k++) {
    p[k] = count;
    for (Index q = first[k]; q < first[k + 1] - 1; q++) {
      i[count]   = s->row[q];
      x[count++] = s->value[q];
    }
  }
  p[m]                   = count;
  cholmod_sparse *normal = cholmod_l_aat(T, NULL, 0, 1, c);
  cholmod_l_free_sparse(&T, c);
  return normal;
}

/* M + rho A^T A */
static int factorAugmented(CPSparseMass *mass, cholmod_sparse *normal, double rho) {
  cholmod_common *c = &mass->common;
  double alpha[2] = {1.0, 0.0}, beta[2] = {rho, 0.0};
  mass->M->stype    = 0; /* both have both triangles */
  cholmod_sparse *S = cholmod_l_add(mass->M, normal, alpha, beta, 1, 1, c);
  mass->M->stype    = 1;
  if (S) S->stype = 1;
  cholmod_factor *L = S ? cholmod_l_analyze(S, c) : NULL;
  const int flag    = factor(mass, S, L);
  cholmod_l_free_factor(&L, c);
  cholmod_l_free_sparse(&S, c);
  return flag;
}

static int isDefiniteWithRows(CPKkt kkt) {
  CPKktSparse *s     = kkt->content;
  CPSparseMass *mass = &s->mass;
  int flag           = start(kkt);
  if (flag) return flag;
  cholmod_sparse *normal = normalMatrix(kkt);
  flag                   = normal ? CP_KKT_NOT_DEFINITE : failure(mass);
  for (size_t k = 0; flag > 0 && k < sizeof rhos / sizeof rhos[0]; k++)
    flag = factorAugmented(mass, normal, rhos[k]);
  cholmod_l_free_sparse(&normal, &mass->common);
  return flag;
}

int cpKktSparseCheckMass(CPKkt kkt) {
  const int flag = isMassSemidefinite(kkt);
  return flag > 0 && kkt->rank > 0 ? isDefiniteWithRows(kkt) : flag;
}
