/* The iteration matrix as a sum of terms: M, A, A^T and the blocks, each at its place,
 *
 *   [ M - gamma C - gamma^2 K T, ... ],   see newton_impl.h. */
#include "newton_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- terms ---- */

static void addTerm(CPMechNewtonMem newton, const CPMat *J, int row, int col, int transposed) {
  newton->term[newton->nterms++] =
      (CPTerm){.J = J, .row = row, .col = col, .transposed = transposed};
}

/* In the order of newton_impl.h: M, A, A^T, then the blocks by outputs and directions. */
void cpTermsCreate(CPMechNewtonMem newton) {
  const int turns = newton->mech->nquaternions > 0, nu = newton->nu;
  const int row[CP_OUTPUTS]    = {0, nu, nu + newton->m};
  const int col[CP_DIRECTIONS] = {0, 0, nu + newton->m, nu};
  newton->nterms               = 0;
  if (cpIsKkt(newton)) {
    addTerm(newton, &newton->M, 0, 0, 0);
    addTerm(newton, &newton->A, nu, 0, 0);
    addTerm(newton, &newton->A, 0, nu, 1);
  }
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int by = 0; by < CP_DIRECTIONS; by++) {
      if (!newton->block[of][by].exists) continue;
      const CPMat *J = by == CP_BY_Q && turns ? &newton->turned[of] : &newton->block[of][by].J;
      addTerm(newton, J, row[of], col[by], 0);
    }
}

void cpTermsFree(CPMechNewtonMem newton) {
  for (int k = 0; k < newton->nterms; k++) free(newton->term[k].place);
  newton->nterms = 0;
}

/* Factor of each term, in the same order. */
static void setFactors(const CPMechNewtonMem newton, double gamma, double factor[CP_MAX_TERMS]) {
  const double of_block[CP_DIRECTIONS] = {-gamma * gamma, -gamma, -gamma, -1.0};
  int count                            = 0;
  for (int k = 0; cpIsKkt(newton) && k < 3; k++) factor[count++] = 1.0;
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int by = 0; by < CP_DIRECTIONS; by++)
      if (newton->block[of][by].exists) factor[count++] = of_block[by];
}

/* ---- values ---- */

static void addDense(CPMechNewtonMem newton, const CPTerm *term, double factor) {
  const CPMat *J      = term->J;
  const size_t order  = (size_t)newton->order;
  const size_t by_row = term->transposed ? order : 1, by_col = term->transposed ? 1 : order;
  double *first = newton->lu.value + (size_t)term->col * order + (size_t)term->row;
  for (int j = 0; j < J->cols; j++) {
    double *column = first + (size_t)j * by_col;
    for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++)
      column[(size_t)cpMatRow(J, j, k) * by_row] += factor * J->value[k];
  }
}

static void addSparse(CPMechNewtonMem newton, const CPTerm *term, double factor) {
  const size_t entries = cpMatEntries(term->J);
  double *value        = newton->lu.value;
  for (size_t k = 0; k < entries; k++)
    if (term->place[k] != CP_NO_PLACE) value[term->place[k]] += factor * term->J->value[k];
}

/* A dense block of a sparse matrix has places where it has had entries so far. */
static int lacksPlaces(const CPMechNewtonMem newton, const CPTerm *term) {
  if (!term->place) return 1;
  if (term->J->start) return 0;
  for (int j = 0; j < term->J->cols; j++) {
    if (newton->fixed[term->col + j]) continue;
    for (size_t k = cpMatFirst(term->J, j); k < cpMatFirst(term->J, j + 1); k++)
      if (term->place[k] == CP_NO_PLACE && term->J->value[k] != 0.0 &&
          !newton->fixed[term->row + cpMatRow(term->J, j, k)])
        return 1;
  }
  return 0;
}

static void setFixedDense(CPMechNewtonMem newton) {
  const size_t order = (size_t)newton->order;
  for (size_t i = 0; i < order; i++) {
    if (!newton->fixed[i]) continue;
    for (size_t j = 0; j < order; j++)
      newton->lu.value[i + j * order] = newton->lu.value[j + i * order] = 0.0;
    newton->lu.value[i + i * order] = 1.0;
  }
}

/* HALF: 1 in place of M; zeta' has 1 with both. Fixed rows of a sparse matrix have their diagonal
 * only. */
static void addDiagonal(CPMechNewtonMem newton) {
  const size_t order = (size_t)newton->order;
  for (size_t i = 0; i < order; i++) {
    const int unit = newton->fixed[i] || i >= (size_t)(newton->nu + newton->m) || !cpIsKkt(newton);
    if (!unit) continue;
    if (newton->sparse) newton->lu.value[newton->diagonal[i]] += 1.0;
    else newton->lu.value[i * (order + 1)] += 1.0;
  }
}

static int needsPlaces(const CPMechNewtonMem newton) {
  if (!newton->lu.start || memcmp(newton->fixed, newton->placed, (size_t)newton->order)) return 1;
  for (int k = 0; k < newton->nterms; k++)
    if (lacksPlaces(newton, &newton->term[k])) return 1;
  return 0;
}

int cpNewtonAssemble(CPMechNewtonMem newton, double gamma) {
  double factor[CP_MAX_TERMS];
  newton->gamma     = gamma;
  newton->assembled = 0;
  for (int of = 0; of < CP_OUTPUTS; of++)
    if (newton->turned[of].value)
      cpTurn(newton, gamma, &newton->block[of][CP_BY_Q].J, &newton->turned[of]);
  if (newton->sparse && needsPlaces(newton)) {
    const int flag = cpPlacesCreate(newton);
    if (flag) return flag;
  }
  setFactors(newton, gamma, factor);
  memset(newton->lu.value, 0, cpLuEntries(&newton->lu) * sizeof *newton->lu.value);
  for (int k = 0; k < newton->nterms; k++) {
    if (newton->sparse) addSparse(newton, &newton->term[k], factor[k]);
    else addDense(newton, &newton->term[k], factor[k]);
  }
  addDiagonal(newton);
  if (!newton->sparse) setFixedDense(newton);
  newton->assembled = 1;
  return CP_SUCCESS;
}
