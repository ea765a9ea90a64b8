/* Matrices of rows, and velocities of rows. Of many contacts that are open, friction and elastic forces need few rows, and leave the
 * others out (CPEquations.skip_rows). */
#include "contact_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

static int isDense(const SUNMatrix A) { return SUNMatGetID(A) == SUNMATRIX_DENSE; }

static sunrealtype *dataOf(const SUNMatrix A) { return isDense(A) ? SM_DATA_D(A) : SM_DATA_S(A); }

/* Calls for all entries of A, with its row, column, and number: those of a row by ascending columns */
typedef void (*Visit)(ContactRows *rows, sunindextype i, sunindextype j, sunindextype k);
static void visitAll(const SUNMatrix A, ContactRows *rows, Visit visit) {
  if (isDense(A)) {
    for (sunindextype j = 0; j < SM_COLUMNS_D(A); j++)
      for (sunindextype i = 0; i < SM_ROWS_D(A); i++) visit(rows, i, j, i + j * SM_ROWS_D(A));
    return;
  }
  const int by_rows = SM_SPARSETYPE_S(A) == CSR_MAT;
  for (sunindextype outer = 0; outer < SM_NP_S(A); outer++)
    for (sunindextype k = SM_INDEXPTRS_S(A)[outer]; k < SM_INDEXPTRS_S(A)[outer + 1]; k++) {
      const sunindextype inner = SM_INDEXVALS_S(A)[k];
      visit(rows, by_rows ? outer : inner, by_rows ? inner : outer, k);
    }
}
static void countEntry(ContactRows *rows, sunindextype i, sunindextype j, sunindextype k) {
  (void)j, (void)k;
  rows->first[i + 1]++;
}
static void placeEntry(ContactRows *rows, sunindextype i, sunindextype j, sunindextype k) {
  const sunindextype at = rows->first[i]++;
  rows->entry[at] = k, rows->column[at] = j;
}

int contactIndexRows(CPContact c) {
  ContactRows *rows = &c->rows;
  const size_t n = (size_t)c->na, nnz = (size_t)(isDense(c->A) ? SM_LDATA_D(c->A) : SM_NNZ_S(c->A));
  rows->first = calloc(n + 2, sizeof *rows->first);
  rows->entry = malloc((2 * nnz + 1) * sizeof *rows->entry);
  if (!rows->first || !rows->entry) return 1;
  rows->column = rows->entry + nnz;
  rows->first++; /* while they are placed, first[i] is the next place in row i */
  visitAll(c->A, rows, countEntry);
  for (int i = 0; i < c->na; i++) rows->first[i + 1] += rows->first[i];
  visitAll(c->A, rows, placeEntry);
  rows->first--;
  return 0;
}

void contactForgetRows(CPContact c) {
  free(c->rows.first);
  free(c->rows.entry);
  c->rows = (ContactRows){0};
}

sunrealtype contactRowTimes(const CPContact c, const SUNMatrix A, int i, const sunrealtype *x) {
  const ContactRows *rows = &c->rows;
  const sunrealtype *a    = dataOf(A);
  sunrealtype sum         = 0;
  for (sunindextype k = rows->first[i]; k < rows->first[i + 1]; k++)
    sum += a[rows->entry[k]] * x[rows->column[k]];
  return sum;
}

void contactAddRow(const CPContact c, const SUNMatrix A, int i, sunrealtype s, sunrealtype *y) {
  const ContactRows *rows = &c->rows;
  const sunrealtype *a    = dataOf(A);
  for (sunindextype k = rows->first[i]; k < rows->first[i + 1]; k++)
    y[rows->column[k]] += s * a[rows->entry[k]];
}

void contactTimes(const CPContact c, const SUNMatrix A, const sunrealtype *x, sunrealtype *y) {
  EACH_LIVE(c, i) y[i] += contactRowTimes(c, A, i, x);
}

void contactTransposedTimes(const CPContact c, const SUNMatrix A, const sunrealtype *x,
                            sunrealtype *y) {
  EACH_LIVE(c, i)
    if (x[i] != 0.0) contactAddRow(c, A, i, x[i], y);
}

void contactSpread(const CPContact c, const SUNMatrix A, const sunrealtype *x, const int *column,
                   SUNMatrix B) {
  EACH_LIVE(c, i)
    if (x[i] != 0.0) contactAddRow(c, A, i, x[i], SM_COLUMN_D(B, column[i]));
}

void contactScalesOf(CPContact c, const SUNMatrix A, const sunrealtype *u, const char *off) {
  const ContactRows *rows = &c->rows;
  const sunrealtype *a    = dataOf(A);
  for (int j = 0; j < c->nu; j++) c->udot[j] = c->atol + c->rtol * fabs(u[j]);
  EACH_LIVE(c, i) {
    if (off && off[i]) continue;
    c->scale[i] = c->error[i] = 0.0;
    for (sunindextype k = rows->first[i]; k < rows->first[i + 1]; k++) {
      const sunrealtype size = fabs(a[rows->entry[k]]);
      c->scale[i]            = fmax(c->scale[i], size);
      c->error[i] += size * c->udot[rows->column[k]];
    }
  }
  /* The tangential directions are arbitrary, and one of them may be one in which nothing moves, as of a planar mechanism in space: both
   * rows have the scale of the larger one, which that of the first one would otherwise be taken for. */
  EACH_NEAR(c, i) {
    const int row = c->point[i].tangent;
    if (c->point[i].ntangents != 2 || (off && (off[row] || off[row + 1]))) continue;
    c->scale[row] = c->scale[row + 1] = fmax(c->scale[row], c->scale[row + 1]);
    c->error[row] = c->error[row + 1] = fmax(c->error[row], c->error[row + 1]);
  }
}

void contactScales(CPContact c, N_Vector y) {
  contactScalesOf(c, c->A, N_VGetArrayPointer(y) + c->nq, NULL);
}

/* Rows of contacts that are far keep what they have, which nothing reads. */
static int evaluate(CPContact c, sunrealtype t, const sunrealtype *q, const char *off, SUNMatrix A) {
  sunrealtype *a = dataOf(A);
  EACH_LIVE(c, i)
    for (sunindextype k = c->rows.first[i]; k < c->rows.first[i + 1]; k++)
      a[c->rows.entry[k]] = 0.0;
  contactSkip(c, off);
  const int flag = contactCall(c, A, t, q, A);
  contactSkip(c, NULL);
  return flag;
}

int contactRows(CPContact c, sunrealtype t, const sunrealtype *q, const char *off) {
  return evaluate(c, t, q, off, c->A);
}

int contactVelocities(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const char *off) {
  int flag = 0;
  memset(c->v, 0, (size_t)c->na * sizeof *c->v);
  contactSkip(c, off);
  if (c->model->v) flag = contactCall(c, v, t, q, u, c->v);
  else contactTimes(c, c->A, u, c->v);
  contactSkip(c, NULL);
  return flag;
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
    if (!known) flag = evaluate(c, t, q, c->skipped, c->some), c->known.with_v = 0;
    contactSkip(c, c->skipped);
    if (moves) memset(c->known.v, 0, na * sizeof *v);
    if (!flag && moves && c->model->v) flag = contactCall(c, v, t, q, u, c->known.v);
    else if (!flag && moves) contactTimes(c, c->some, u, c->known.v);
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
