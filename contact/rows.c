/* Matrices of rows, and velocities of rows. Of many contacts that are open, friction and elastic forces need few rows, and leave the
 * others out (CPEquations.skip_rows). */
#include "contact_impl.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* For each entry a_ij: y_i += a_ij x_j, y_j += a_ij x_i, y_i += |a_ij| x_j, y_i = max(y_i, |a_ij|), or, where y is a dense matrix with as
 * many rows as A has columns, y_jk += a_ij x_i with k = column [i]. */
typedef enum { PRODUCT, TRANSPOSED, ABSOLUTE, LARGEST, SPREAD } Walk;
typedef struct {
  const sunrealtype *x;
  sunrealtype *y;
  const int *column;
  sunindextype rows; /* of that matrix */
} Vectors;
static inline void visit(Walk what, sunindextype i, sunindextype j, sunrealtype a, Vectors v) {
  if (what == PRODUCT) v.y[i] += a * v.x[j];
  else if (what == TRANSPOSED) v.y[j] += a * v.x[i];
  else if (what == ABSOLUTE) v.y[i] += fabs(a) * v.x[j];
  else if (what == LARGEST) v.y[i] = fmax(v.y[i], fabs(a));
  else if (v.x[i] != 0.0) v.y[j + v.rows * v.column[i]] += a * v.x[i];
}

static void walk(const SUNMatrix A, Walk what, Vectors v) {
  if (SUNMatGetID(A) == SUNMATRIX_DENSE) {
    for (sunindextype j = 0; j < SM_COLUMNS_D(A); j++)
      for (sunindextype i = 0; i < SM_ROWS_D(A); i++) visit(what, i, j, SM_ELEMENT_D(A, i, j), v);
    return;
  }
  const int by_rows = SM_SPARSETYPE_S(A) == CSR_MAT;
  for (sunindextype outer = 0; outer < SM_NP_S(A); outer++)
    for (sunindextype k = SM_INDEXPTRS_S(A)[outer]; k < SM_INDEXPTRS_S(A)[outer + 1]; k++) {
      const sunindextype inner = SM_INDEXVALS_S(A)[k];
      visit(what, by_rows ? outer : inner, by_rows ? inner : outer, SM_DATA_S(A)[k], v);
    }
}

void contactTimes(const SUNMatrix A, const sunrealtype *x, sunrealtype *y) {
  walk(A, PRODUCT, (Vectors){.x = x, .y = y});
}
void contactTransposedTimes(const SUNMatrix A, const sunrealtype *x, sunrealtype *y) {
  walk(A, TRANSPOSED, (Vectors){.x = x, .y = y});
}
void contactSpread(const SUNMatrix A, const sunrealtype *x, const int *column, SUNMatrix B) {
  walk(A, SPREAD, (Vectors){x, SM_DATA_D(B), column, SM_ROWS_D(B)});
}

void contactScales(CPContact c, N_Vector y) {
  const sunrealtype *u = N_VGetArrayPointer(y) + c->nq;
  for (int j = 0; j < c->nu; j++) c->udot[j] = c->atol + c->rtol * fabs(u[j]);
  memset(c->scale, 0, (size_t)c->na * sizeof *c->scale);
  memset(c->error, 0, (size_t)c->na * sizeof *c->error);
  walk(c->A, LARGEST, (Vectors){.y = c->scale});
  walk(c->A, ABSOLUTE, (Vectors){.x = c->udot, .y = c->error});
}

static int evaluate(CPContact c, sunrealtype t, const sunrealtype *q, SUNMatrix A) {
  if (SUNMatGetID(A) == SUNMATRIX_DENSE) SUNMatZero(A);
  else memset(SM_DATA_S(A), 0, (size_t)SM_NNZ_S(A) * sizeof(sunrealtype)); /* The pattern stays. */
  return contactCall(c, A, t, q, A);
}

int contactRows(CPContact c, sunrealtype t, const sunrealtype *q) {
  return evaluate(c, t, q, c->A);
}

int contactVelocities(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u) {
  memset(c->v, 0, (size_t)c->na * sizeof *c->v);
  if (c->model->v) return contactCall(c, v, t, q, u, c->v);
  contactTimes(c->A, u, c->v);
  return 0;
}

void contactSkip(CPContact c, const char *off) {
  if (c->model->skip_rows) contactCall(c, skip_rows, off);
}

/* The number of evaluations of M, between which parameters do not change */
static sunrealtype modelAge(CPContact c) {
  sunrealtype nM = NAN;
  CPObjectGetStat(CP_OBJECT(c->mech), "mass_evals", &nM);
  return nM;
}

/* The iteration for the multipliers, and differences along velocities, ask for the same rows again. */
int contactSome(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                sunrealtype *v) {
  const size_t nq = (size_t)c->nq * sizeof *q, nu = (size_t)c->nu * sizeof *u, na = (size_t)c->na;
  const sunrealtype age = modelAge(c);
  const int known       = c->known.t == t && c->known.age == age && !memcmp(c->known.q, q, nq) &&
                    !memcmp(c->known.skipped, c->skipped, na);
  const int moves = v && !(known && c->known.with_v && !memcmp(c->known.u, u, nu));
  int flag        = 0;
  if (!known || moves) {
    c->known.t = NAN; /* until all has succeeded */
    contactSkip(c, c->skipped);
    if (!known) flag = evaluate(c, t, q, c->some), c->known.with_v = 0;
    if (moves) memset(c->known.v, 0, na * sizeof *v);
    if (!flag && moves && c->model->v) flag = contactCall(c, v, t, q, u, c->known.v);
    else if (!flag && moves) contactTimes(c->some, u, c->known.v);
    contactSkip(c, NULL);
    if (flag) return flag;
    c->known.t = t, c->known.age = age;
    memcpy(c->known.q, q, nq);
    memcpy(c->known.skipped, c->skipped, na);
    if (moves) memcpy(c->known.u, u, nu), c->known.with_v = 1;
  }
  for (int i = 0; i < c->na && v; i++)
    if (!c->skipped[i]) v[i] = c->known.v[i];
  return 0;
}
