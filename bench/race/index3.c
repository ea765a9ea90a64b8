#include "index3.h"

#include "functions.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STIFFNESS, DAMPING, MASS, ROWS, FORCE };

bool index3_takes(const CPPlugin *model) {
  return race_has_matrices(model) && race_is_smooth(model) && model->mech.p && model->mech.np > 0;
}

/* ---------------------------------------------------------------------------------- life cycle -- */

/* Is M the same at the start and some distance away? M: set to that of the start */
static int look_at_mass(Index3 *s) {
  const sunrealtype *q = N_VGetArrayPointer(s->model->y0);
  SUNMatrix off        = matrix_like(s->model->mech.M_tmpl, s->nu, s->nu, s->model->ctx);
  sunrealtype *moved   = calloc((size_t)s->nu, sizeof *moved);
  int flag             = off && moved ? mech_mass(s->model, 0, q, s->M) : -1;
  for (sunindextype j = 0; !flag && j < s->nu; j++)
    moved[j] = q[j] + 0.01 * (1 + fabs(q[j])) * (double)(1 + j % 3);
  if (!flag) flag = mech_mass(s->model, 0, moved, off);
  const size_t bytes = (size_t)matrix_entries(s->M) * sizeof(sunrealtype);
  s->constant_mass   = !flag && !memcmp(matrix_values(s->M), matrix_values(off), bytes);
  if (off) SUNMatDestroy(off);
  free(moved);
  return flag ? -1 : 0;
}

/* Are there entries off the diagonal? */
static int look_at_diagonal(Index3 *s) {
  const size_t count  = (size_t)matrix_entries(s->M);
  sunindextype *place = calloc(2 * count, sizeof *place);
  if (!place) return -1;
  matrix_places(s->M, place, place + count);
  for (size_t k = 0; s->constant_mass && k < count; k++)
    if (place[k] != place[count + k] && matrix_values(s->M)[k] != 0) s->full_mass = true;
  free(place);
  return 0;
}

/* Places S, or its transpose, with its first entry at (row, col) of a matrix whose columns have the
 * length ld. */
static int lay_out(Index3Block *block, SUNMatrix S, bool transposed, sunrealtype scale,
                   sunindextype row, sunindextype col, sunindextype ld) {
  const sunindextype count = matrix_entries(S);
  sunindextype *i = calloc(2 * (size_t)count, sizeof *i), *j = i + count;
  *block = (Index3Block){S, scale, count, calloc((size_t)count, sizeof *block->place)};
  if (i) matrix_places(S, i, j);
  for (sunindextype k = 0; i && block->place && k < count; k++)
    block->place[k] = transposed ? row + j[k] + (col + i[k]) * ld : row + i[k] + (col + j[k]) * ld;
  free(i);
  return i && block->place ? 0 : -1;
}

static int lay_out_all(Index3 *s) {
  const sunindextype nu = s->nu, ld = s->rows;
  Index3Block *block = s->block;
  if (lay_out(&block[ROWS], s->A, false, 1, nu, 0, ld)) return -1;
  if (lay_out(&block[FORCE], s->A, true, -1, 0, s->n - s->na, ld)) return -1;
  if (s->constant_mass) { /* in B; a diagonal is stored with columns of length 0 */
    if (lay_out(&block[MASS], s->M, false, 1, 0, 0, s->full_mass ? ld : 0)) return -1;
  } else if (lay_out(&block[MASS], s->M, false, -1, 0, 2 * nu, ld)) return -1;
  if (!s->formulas) return 0;
  return lay_out(&block[STIFFNESS], s->K, false, 1, 0, 0, ld) ||
         lay_out(&block[DAMPING], s->C, false, 1, 0, nu, ld);
}

/* If M is sparse, the pattern of K may be unspecified. */
static bool has_formulas(const CPEquations *m) {
  const bool dense = !m->M_tmpl || SUNMatGetID(m->M_tmpl) == SUNMATRIX_DENSE;
  return m->dynamics_jac && (m->K_tmpl || dense);
}

int index3_create(const CPPlugin *model, Index3 *s) {
  const CPEquations *m = &model->mech;
  *s   = (Index3){.model = model, .nu = m->nu, .na = m->np, .formulas = has_formulas(m)};
  s->M = matrix_like(m->M_tmpl, s->nu, s->nu, model->ctx);
  s->A = matrix_like(m->A_tmpl, s->na, s->nu, model->ctx);
  if (s->formulas) {
    s->K = matrix_like(m->K_tmpl, s->nu, s->nu, model->ctx);
    s->C = matrix_like(m->C_tmpl ? m->C_tmpl : m->K_tmpl, s->nu, s->nu, model->ctx);
  }
  if (!s->M || !s->A || (s->formulas && (!s->K || !s->C))) return -1;
  if (look_at_mass(s) || look_at_diagonal(s)) return -1;
  s->structure = (s->constant_mass ? 1 : 2) * s->nu;
  s->rows      = s->nu + s->na;
  s->n         = s->structure + s->rows;
  s->zero      = calloc((size_t)(s->nu + 2 * s->rows), sizeof *s->zero);
  if (!s->zero) return -1;
  s->base   = s->zero + s->nu;
  s->beside = s->base + s->rows;
  return lay_out_all(s);
}

void index3_free(Index3 *s) {
  SUNMatrix own[] = {s->M, s->A, s->K, s->C};
  for (int i = 0; i < 4; i++)
    if (own[i]) SUNMatDestroy(own[i]);
  for (int b = 0; b < INDEX3_BLOCKS; b++) free(s->block[b].place);
  free(s->zero);
}

int index3_start(const Index3 *s, sunrealtype *Y) {
  CPMech mech = CPPluginMech(s->model);
  if (!mech) return -1;
  memcpy(Y, N_VGetArrayPointer(s->model->y0), 2 * (size_t)s->nu * sizeof *Y);
  const int flag = CPMechAccelerations(
      mech, 0, s->model->y0, s->constant_mass ? s->base : Y + 2 * s->nu, Y + s->n - s->na);
  CPMechFree(&mech);
  return flag;
}

/* ----------------------------------------------------------------------------------- functions -- */

static const sunrealtype *accelerations(const Index3 *s, const sunrealtype *Y) {
  return s->constant_mass ? s->zero : Y + 2 * s->nu;
}

static const sunrealtype *multipliers(const Index3 *s, const sunrealtype *Y) {
  return Y + s->n - s->na;
}

int index3_residual(Index3 *s, sunrealtype t, const sunrealtype *Y, sunrealtype *r) {
  s->residuals++;
  if (mech_forces(s->model, t, Y, Y + s->nu, r)) return 1;
  if (mech_positions(s->model, t, Y, r + s->nu)) return 1;
  if (!s->constant_mass) {
    if (mech_mass(s->model, t, Y, s->M)) return 1;
    matrix_times(s->M, -1, accelerations(s, Y), r); /* - M w */
  }
  if (mech_rows(s->model, t, Y, s->A)) return 1;
  matrix_trans_times(s->A, -1, multipliers(s, Y), r); /* - A^T lambda */
  return 0;
}

static int formulas(Index3 *s, sunrealtype t, const sunrealtype *Y) {
  matrix_clear(s->K);
  matrix_clear(s->C);
  return s->model->mech.dynamics_jac(t, Y, Y + s->nu, NULL, accelerations(s, Y), multipliers(s, Y),
                                     s->K, s->C, NULL, s->model->data);
}

/* K and C: the first nu rows of the first 2 nu columns, by forward differences with steps like
 * those of RADAU5 */
static int differences(Index3 *s, sunrealtype t, sunrealtype *Y, sunrealtype *J) {
  int flag = index3_residual(s, t, Y, s->base);
  for (sunindextype j = 0; !flag && j < 2 * s->nu; j++) {
    const sunrealtype Y_j = Y[j];
    Y[j] += sqrt(1e-16 * fmax(1e-5, fabs(Y_j)));
    flag = index3_residual(s, t, Y, s->beside);
    for (sunindextype i = 0; i < s->nu; i++)
      J[i + j * s->rows] = (s->beside[i] - s->base[i]) / (Y[j] - Y_j);
    Y[j] = Y_j;
  }
  return flag;
}

static void add_block(const Index3Block *block, sunrealtype *matrix) {
  for (sunindextype k = 0; k < block->entries; k++)
    matrix[block->place[k]] += block->scale * matrix_values(block->S)[k];
}

int index3_jacobian(Index3 *s, sunrealtype t, sunrealtype *Y, sunrealtype *J) {
  memset(J, 0, (size_t)(s->rows * s->n) * sizeof *J);
  if (s->formulas ? formulas(s, t, Y) : differences(s, t, Y, J)) return 1;
  if (!s->constant_mass && mech_mass(s->model, t, Y, s->M)) return 1;
  if (mech_rows(s->model, t, Y, s->A)) return 1;
  for (int b = 0; b < INDEX3_BLOCKS; b++)
    if (b != MASS || !s->constant_mass) add_block(&s->block[b], J);
  return 0;
}

void index3_mass(const Index3 *s, sunrealtype *B) {
  memset(B, 0, (size_t)(s->full_mass ? s->rows * s->rows : s->rows) * sizeof *B);
  if (s->constant_mass) add_block(&s->block[MASS], B);
}
