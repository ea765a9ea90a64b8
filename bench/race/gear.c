#include "gear.h"

#include "functions.h"
#include "support.h"

#include <cpodes/base/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* Blocks of the Jacobian, and the positions of their first entries */
enum { CJ, MINUS_ONE, STIFFNESS, MASS, DAMPING, ROWS_Q, ROWS_U, RATE, FORCE_U, FORCE_Q };

static bool by_formulas(const CPPlugin *model) {
  return model->mech.dynamics_jac && model->mech.constraint_jac;
}

static bool is_sparse(SUNMatrix S) { return S && SUNMatGetID(S) == SUNMATRIX_SPARSE; }

bool gear_takes(const CPPlugin *model) {
  return race_has_matrices(model) && model->mech.p && model->mech.np > 0 && race_is_smooth(model);
}

/* ------------------------------------------------------------------------------------ residual -- */

int gear_residual(sunrealtype t, N_Vector x, N_Vector xdot, N_Vector r, void *user_data) {
  Gear *g               = user_data;
  const sunindextype nu = g->nu, m = g->m;
  const sunrealtype *q = N_VGetArrayPointer(x), *u = q + nu, *lambda = u + nu, *mu = lambda + m;
  const sunrealtype *qdot = N_VGetArrayPointer(xdot), *udot = qdot + nu;
  sunrealtype *kinematics = N_VGetArrayPointer(r), *dynamics = kinematics + nu, *p = dynamics + nu,
              *v = p + m;
  g->residuals++;
  if (!g->constant_mass && mech_mass(g->model, t, q, g->M)) return 1;
  if (mech_rows(g->model, t, q, g->A)) return 1;
  if (mech_forces(g->model, t, q, u, dynamics)) return 1;
  if (mech_positions(g->model, t, q, p)) return 1;
  if (mech_velocities(g->model, t, q, u, g->A, v)) return 1;
  for (sunindextype j = 0; j < nu; j++) {
    kinematics[j] = qdot[j] - u[j];
    dynamics[j]   = -dynamics[j];
  }
  matrix_trans_times(g->A, 1, mu, kinematics);
  matrix_times(g->M, 1, udot, dynamics);
  matrix_trans_times(g->A, 1, lambda, dynamics);
  return 0;
}

/* ------------------------------------------------------------------------------------ Jacobian -- */

static sunrealtype increment(sunrealtype x) {
  return sqrt(SUN_UNIT_ROUNDOFF) * fmax(fabs(x), 1e-2);
}

/* F = f - M a - A^T lambda; M: at q, unless it is constant */
static int balance(Gear *g, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                   const sunrealtype *udot, const sunrealtype *lambda, sunrealtype *F) {
  g->residuals++;
  if (!g->constant_mass && mech_mass(g->model, t, q, g->M)) return 1;
  if (mech_rows(g->model, t, q, g->other) || mech_forces(g->model, t, q, u, F)) return 1;
  matrix_times(g->M, -1, udot, F);
  matrix_trans_times(g->other, -1, lambda, F);
  return 0;
}

/* K, C and V by differences, column by column; M and A at q afterwards */
static int differences(Gear *g, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *udot, const sunrealtype *lambda) {
  const sunindextype nu = g->nu, m = g->m;
  sunrealtype *moved = g->work, *F = moved + nu, *F1 = F + nu, *f = F1 + nu, *v = f + nu,
              *v1 = v + m;
  int flag        = balance(g, t, q, u, udot, lambda, F) || mech_forces(g->model, t, q, u, f) ||
             mech_velocities(g->model, t, q, u, g->other, v);
  memcpy(moved, q, (size_t)nu * sizeof *q);
  for (sunindextype j = 0; !flag && j < nu; j++) {
    moved[j] = q[j] + increment(q[j]);
    flag     = balance(g, t, moved, u, udot, lambda, F1) ||
           mech_velocities(g->model, t, moved, u, g->other, v1);
    const sunrealtype e = moved[j] - q[j];
    for (sunindextype i = 0; i < nu; i++) SM_ELEMENT_D(g->K, i, j) = (F1[i] - F[i]) / e;
    for (sunindextype i = 0; i < m; i++) SM_ELEMENT_D(g->V, i, j) = (v1[i] - v[i]) / e;
    moved[j] = q[j];
  }
  memcpy(moved, u, (size_t)nu * sizeof *u);
  for (sunindextype j = 0; !flag && j < nu; j++) {
    moved[j] = u[j] + increment(u[j]);
    flag     = mech_forces(g->model, t, q, moved, F1);
    g->residuals++;
    const sunrealtype e = moved[j] - u[j];
    for (sunindextype i = 0; i < nu; i++) SM_ELEMENT_D(g->C, i, j) = (F1[i] - f[i]) / e;
    moved[j] = u[j];
  }
  if (!flag && !g->constant_mass) flag = mech_mass(g->model, t, q, g->M);
  return flag;
}

static int formulas(Gear *g, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                    const sunrealtype *udot, const sunrealtype *lambda) {
  const CPEquations *s = &g->model->mech;
  matrix_clear(g->K);
  matrix_clear(g->C);
  matrix_clear(g->Bq);
  matrix_clear(g->Bu);
  if (s->dynamics_jac(t, q, u, NULL, udot, lambda, g->K, g->C, NULL, g->model->data)) return 1;
  if (s->constraint_jac(t, q, u, udot, g->Bq, g->Bu, g->model->data)) return 1;
  if (!g->constant_mass && mech_mass(g->model, t, q, g->M)) return 1;
  return 0;
}

/* All blocks: M, A, K, C and V at the state */
static int partials(Gear *g, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                    const sunrealtype *udot, const sunrealtype *lambda) {
  if (by_formulas(g->model) ? formulas(g, t, q, u, udot, lambda)
                            : differences(g, t, q, u, udot, lambda))
    return 1;
  return mech_rows(g->model, t, q, g->A);
}

static void add_block(const GearBlock *block, sunrealtype scale, sunrealtype *J) {
  if (!block->S) {
    for (sunindextype k = 0; k < block->entries; k++) J[block->place[k]] += scale;
    return;
  }
  const sunrealtype *value = matrix_values(block->S);
  for (sunindextype k = 0; k < block->entries; k++)
    J[block->place[k]] += scale * value[block->from[k]];
}

/* With b = -(dv/dq) u - ... quadratic in u: dv/dq = -1/2 db/du */
int gear_jacobian(sunrealtype t, sunrealtype cj, N_Vector x, N_Vector xdot, N_Vector r, SUNMatrix J,
                  void *user_data, N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  (void)r, (void)tmp1, (void)tmp2, (void)tmp3;
  Gear *g              = user_data;
  const sunrealtype *q = N_VGetArrayPointer(x), *u = q + g->nu, *lambda = u + g->nu;
  const sunrealtype *udot = N_VGetArrayPointer(xdot) + g->nu;
  const bool given        = by_formulas(g->model);
  if (partials(g, t, q, u, udot, lambda)) return 1;
  const sunrealtype scale[GEAR_BLOCKS] = {
      [CJ] = cj,      [MINUS_ONE] = -1, [STIFFNESS] = -1, [MASS] = cj,
      [DAMPING] = -1, [ROWS_Q] = 1,     [ROWS_U] = 1,     [RATE] = given ? -0.5 : 1.0,
      [FORCE_U] = 1,  [FORCE_Q] = 1};
  if (g->pattern) SUNMatCopy(g->pattern, J);
  else matrix_clear(J);
  for (int b = 0; b < GEAR_BLOCKS; b++) add_block(&g->block[b], scale[b], matrix_values(J));
  return 0;
}

/* --------------------------------------------------------------------------------- the pattern -- */

typedef struct {
  sunindextype col, row;
} Place;

static int in_order(const void *a, const void *b) {
  const Place *x = a, *y = b;
  if (x->col != y->col) return (x->col > y->col) - (x->col < y->col);
  return (x->row > y->row) - (x->row < y->row);
}

/* Takes all entries of S, or those that are not zero; if S is NULL, the n entries of the unit
 * matrix. */
static int take_entries(SUNMatrix S, sunindextype n, bool all, GearBlock *block) {
  const sunindextype most = S ? matrix_entries(S) : n;
  block->S                = S;
  block->from             = calloc((size_t)most, sizeof *block->from);
  block->place            = calloc((size_t)most, sizeof *block->place);
  if (!block->from || !block->place) return -1;
  for (sunindextype k = 0; k < most; k++)
    if (all || !S || is_sparse(S) || matrix_values(S)[k] != 0) block->from[block->entries++] = k;
  return 0;
}

/* The places of a block's entries in the whole matrix, shifted by (row, col), transposed or not.
 * place [block->entries]: the result */
static int block_places(const GearBlock *block, bool transposed, sunindextype row, sunindextype col,
                        Place *place) {
  const size_t most = block->S ? (size_t)matrix_entries(block->S) : (size_t)block->entries;
  sunindextype *i = calloc(most, sizeof *i), *j = calloc(most, sizeof *j);
  const int fine = i && j;
  if (fine && block->S) matrix_places(block->S, i, j);
  for (sunindextype k = 0; fine && k < block->entries; k++) {
    const sunindextype from = block->from[k];
    const Place at          = block->S ? (Place){j[from], i[from]} : (Place){from, from};
    place[k] =
        transposed ? (Place){col + at.row, row + at.col} : (Place){col + at.col, row + at.row};
  }
  free(i);
  free(j);
  return fine ? 0 : -1;
}

/* The sorted union of places [count] becomes the pattern of *J; the number of an entry replaces its
 * place. */
static SUNMatrix sparse_pattern(sunindextype n, Place *sorted, sunindextype count, SUNContext ctx) {
  qsort(sorted, (size_t)count, sizeof *sorted, in_order);
  sunindextype unique = 0;
  for (sunindextype k = 0; k < count; k++)
    if (k == 0 || in_order(&sorted[k - 1], &sorted[k])) sorted[unique++] = sorted[k];
  SUNMatrix J = SUNSparseMatrix(n, n, unique, CSC_MAT, ctx);
  if (!J) return NULL;
  for (sunindextype k = 0; k < unique; k++) {
    SM_INDEXVALS_S(J)[k] = sorted[k].row;
    SM_INDEXPTRS_S(J)[sorted[k].col + 1]++;
  }
  for (sunindextype j = 0; j < n; j++) SM_INDEXPTRS_S(J)[j + 1] += SM_INDEXPTRS_S(J)[j];
  return J;
}

static sunindextype find_entry(SUNMatrix J, Place place) {
  if (!is_sparse(J)) return place.row + place.col * SM_ROWS_D(J);
  sunindextype low = SM_INDEXPTRS_S(J)[place.col], high = SM_INDEXPTRS_S(J)[place.col + 1];
  while (high - low > 1) {
    const sunindextype middle = (low + high) / 2;
    if (SM_INDEXVALS_S(J)[middle] <= place.row) low = middle;
    else high = middle;
  }
  return low;
}

static int lay_out(Gear *g, bool sparse, SUNMatrix *J) {
  const sunindextype nu = g->nu, m = g->m;
  const struct {
    SUNMatrix S;
    bool transposed;
    sunindextype row, col;
  } layout[GEAR_BLOCKS] = {[CJ]        = {NULL, false, 0, 0},
                           [MINUS_ONE] = {NULL, false, 0, nu},
                           [STIFFNESS] = {g->K, false, nu, 0},
                           [MASS]      = {g->M, false, nu, nu},
                           [DAMPING]   = {g->C, false, nu, nu},
                           [ROWS_Q]    = {g->A, false, 2 * nu, 0},
                           [ROWS_U]    = {g->A, false, 2 * nu + m, nu},
                           [RATE]      = {g->V, false, 2 * nu + m, 0},
                           [FORCE_U]   = {g->A, true, nu, 2 * nu},
                           [FORCE_Q]   = {g->A, true, 0, 2 * nu + m}};
  sunindextype total = 0, first = 0;
  for (int b = 0; b < GEAR_BLOCKS; b++) {
    if (take_entries(layout[b].S, nu, !sparse, &g->block[b])) return -1;
    total += g->block[b].entries;
  }
  Place *place  = calloc((size_t)total, sizeof *place),
        *sorted = calloc((size_t)total, sizeof *sorted);
  int flag      = place && sorted ? 0 : -1;
  for (int b = 0; !flag && b < GEAR_BLOCKS; first += g->block[b++].entries)
    flag = block_places(&g->block[b], layout[b].transposed, layout[b].row, layout[b].col,
                        place + first);
  if (!flag) {
    memcpy(sorted, place, (size_t)total * sizeof *place);
    *J = sparse ? sparse_pattern(g->n, sorted, total, g->model->ctx)
                : SUNDenseMatrix(g->n, g->n, g->model->ctx);
    if (!*J) flag = -1;
  }
  if (!flag && sparse && !(g->pattern = matrix_copy(*J))) flag = -1;
  first = 0;
  for (int b = 0; !flag && b < GEAR_BLOCKS; first += g->block[b++].entries) {
    const GearBlock *block = &g->block[b];
    for (sunindextype k = 0; !flag && k < block->entries; k++)
      block->place[k] = find_entry(*J, place[first + k]);
  }
  free(place);
  free(sorted);
  return flag;
}

/* ---------------------------------------------------------------------------------- life cycle -- */

/* A state near the start, with accelerations and multipliers: x [3 nu + m] = (q, u, u', lambda) */
static void state_beside(const Gear *g, sunrealtype *x) {
  const sunrealtype *y0 = N_VGetArrayPointer(g->model->y0);
  unsigned seed         = 1;
  for (sunindextype j = 0; j < 3 * g->nu + g->m; j++) {
    const sunrealtype start = j < 2 * g->nu ? y0[j] : 0;
    x[j]                    = start + 1e-2 * (1 + fabs(start)) * cpUniformAwayFromZero(&seed);
  }
}

/* Is M the same at the start and near it? All blocks are evaluated near the start: entries that are
 * zero there are assumed to be always zero. */
static int look_beside_the_start(Gear *g) {
  const sunindextype nu = g->nu;
  sunrealtype *x        = calloc((size_t)(3 * nu + g->m), sizeof *x);
  SUNMatrix M           = matrix_like(g->model->mech.M_tmpl, nu, nu, g->model->ctx);
  int flag              = x && M ? 0 : -1;
  if (!flag) flag = mech_mass(g->model, 0, N_VGetArrayPointer(g->model->y0), M);
  if (!flag) {
    const sunrealtype t = 0.37 * g->model->type->t_end; /* prescribed motions have moved by then */
    state_beside(g, x);
    flag = mech_mass(g->model, t, x, g->M) || partials(g, t, x, x + nu, x + 2 * nu, x + 3 * nu);
    const size_t bytes = (size_t)matrix_entries(M) * sizeof(sunrealtype);
    g->constant_mass   = !memcmp(matrix_values(g->M), matrix_values(M), bytes);
  }
  g->residuals = 0;
  if (M) SUNMatDestroy(M);
  free(x);
  return flag ? -1 : 0;
}

int gear_create(const CPPlugin *model, bool sparse, Gear *g, SUNMatrix *J) {
  const CPEquations *s = &model->mech;
  const bool formulas  = by_formulas(model);
  SUNMatrix C_tmpl     = s->C_tmpl ? s->C_tmpl : s->K_tmpl;
  *g                   = (Gear){.model = model, .nu = s->nu, .m = s->np, .n = 2 * (s->nu + s->np)};
  *J                   = NULL;
  g->M                 = matrix_like(s->M_tmpl, s->nu, s->nu, model->ctx);
  g->A                 = matrix_like(s->A_tmpl, s->np, s->nu, model->ctx);
  g->K                 = matrix_like(formulas ? s->K_tmpl : NULL, s->nu, s->nu, model->ctx);
  g->C                 = matrix_like(formulas ? C_tmpl : NULL, s->nu, s->nu, model->ctx);
  if (formulas) {
    g->Bq = matrix_like(s->Bq_tmpl ? s->Bq_tmpl : s->A_tmpl, s->np, s->nu, model->ctx);
    g->Bu = matrix_like(s->Bu_tmpl ? s->Bu_tmpl : s->A_tmpl, s->np, s->nu, model->ctx);
    g->V  = g->Bu;
  } else {
    g->V     = SUNDenseMatrix(s->np, s->nu, model->ctx);
    g->other = matrix_like(s->A_tmpl, s->np, s->nu, model->ctx);
  }
  g->work = calloc((size_t)(5 * s->nu + 2 * s->np), sizeof *g->work);
  if (!g->M || !g->A || !g->K || !g->C || !g->V || !g->work) return -1;
  if (formulas ? !g->Bq : !g->other) return -1;
  return look_beside_the_start(g) || lay_out(g, sparse, J) ? -1 : 0;
}

void gear_free(Gear *g) {
  SUNMatrix own[] = {g->M, g->A, g->K, g->C, g->V, g->Bq, g->other, g->pattern};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (own[i]) SUNMatDestroy(own[i]);
  for (int b = 0; b < GEAR_BLOCKS; b++) {
    free(g->block[b].from);
    free(g->block[b].place);
  }
  free(g->work);
}

int gear_start(const Gear *g, N_Vector x, N_Vector xdot) {
  const sunrealtype *y0 = N_VGetArrayPointer(g->model->y0);
  sunrealtype *X = N_VGetArrayPointer(x), *Xdot = N_VGetArrayPointer(xdot);
  const size_t nu = (size_t)g->nu;
  CPMech mech     = CPPluginMech(g->model);
  if (!mech) return -1;
  N_VConst(0, x);
  N_VConst(0, xdot);
  memcpy(X, y0, 2 * nu * sizeof *X);
  memcpy(Xdot, y0 + nu, nu * sizeof *Xdot);
  const int flag = CPMechAccelerations(mech, 0, g->model->y0, Xdot + nu, X + 2 * nu);
  CPMechFree(&mech);
  return flag;
}
