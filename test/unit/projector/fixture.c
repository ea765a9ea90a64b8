#include "projector/fixture.h"

#include <math.h>
#include <string.h>

const Setting settings[] = {
    {CP_LINSOL_AUTO, CP_NORM_ERROR, 1},  {CP_LINSOL_AUTO, CP_NORM_ERROR, 0},
    {CP_LINSOL_AUTO, CP_NORM_L2, 1},     {CP_LINSOL_AUTO, CP_NORM_L2, 0},
    {CP_LINSOL_SCHUR, CP_NORM_ERROR, 1}, {CP_LINSOL_SCHUR, CP_NORM_ERROR, 0},
    {CP_LINSOL_SCHUR, CP_NORM_L2, 1},    {CP_LINSOL_SCHUR, CP_NORM_L2, 0},
    {CP_LINSOL_QR, CP_NORM_ERROR, 1},    {CP_LINSOL_QR, CP_NORM_ERROR, 0},
    {CP_LINSOL_QR, CP_NORM_L2, 1},       {CP_LINSOL_QR, CP_NORM_L2, 0},
    {CP_LINSOL_QRP, CP_NORM_ERROR, 1},   {CP_LINSOL_QRP, CP_NORM_ERROR, 0},
    {CP_LINSOL_QRP, CP_NORM_L2, 1},      {CP_LINSOL_QRP, CP_NORM_L2, 0}};
const int n_settings = sizeof settings / sizeof settings[0];

const Setting solvers[] = {{CP_LINSOL_AUTO, CP_NORM_ERROR, 1},
                           {CP_LINSOL_SCHUR, CP_NORM_ERROR, 1},
                           {CP_LINSOL_QR, CP_NORM_ERROR, 1},
                           {CP_LINSOL_QRP, CP_NORM_ERROR, 1}};
const int n_solvers     = sizeof solvers / sizeof solvers[0];

Equations equations_of(const Manifold *mf) {
  return (Equations){.mf = mf, .copies = 1, .jac_factor = 1.0};
}

int equations_rows(const Equations *eq) { return eq->copies * eq->mf->m; }

int equations_states(const Equations *eq) { return eq->mf->n + eq->padding; }

static int is_among(long int call, long int from, long int until) {
  return call >= from && call <= until;
}

static void evaluate(const Equations *eq, sunrealtype t, N_Vector y, long double *c,
                     long double G[][MAX_STATES]) {
  long double z[MAX_STATES];
  for (int j = 0; j < eq->mf->n; j++) z[j] = entries(y)[j];
  memset(c, 0, MAX_ROWS * sizeof *c);
  memset(G, 0, MAX_ROWS * sizeof *G);
  eq->mf->eval((long double)t, z, c, G);
}

int equations_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  Equations *eq = user_data;
  long double value[MAX_ROWS], G[MAX_ROWS][MAX_STATES];
  eq->c_calls++;
  evaluate(eq, t, y, value, G);
  for (int i = 0; i < equations_rows(eq); i++)
    entries(c)[i] = (sunrealtype)(value[i % eq->mf->m] * (eq->scale ? eq->scale[i] : 1.0)) +
                    (eq->offset ? eq->offset[i] : 0.0);
  if (is_among(eq->c_calls, eq->c_bad_from, eq->c_bad_until)) entries(c)[0] = eq->c_bad;
  return is_among(eq->c_calls, eq->c_flag_from, eq->c_flag_until) ? eq->c_flag : 0;
}

int equations_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix A, void *user_data) {
  Equations *eq = user_data;
  long double value[MAX_ROWS], G[MAX_ROWS][MAX_STATES];
  (void)c;
  eq->jac_calls++;
  evaluate(eq, t, y, value, G);
  for (int i = 0; i < equations_rows(eq); i++)
    for (int j = 0; j < eq->mf->n; j++)
      SM_ELEMENT_D(A, i, j) = (sunrealtype)(G[i % eq->mf->m][j] * (eq->scale ? eq->scale[i] : 1.0));
  for (int i = 0; eq->jac_noise != 0.0 && i < equations_rows(eq); i++)
    for (int j = 0; j < equations_states(eq); j++) SM_ELEMENT_D(A, i, j) += eq->jac_noise;
  if (eq->jac_factor != 1.0) SM_ELEMENT_D(A, eq->jac_row, eq->jac_col) *= eq->jac_factor;
  return is_among(eq->jac_calls, eq->jac_flag_from, eq->jac_flag_until) ? eq->jac_flag : 0;
}

static void set_point(Case *k) {
  for (int j = 0; j < equations_states(&k->eq); j++)
    entries(k->y)[j] = j < k->eq.mf->n ? k->eq.mf->point[j] : 0.25 * j;
}

void case_open(Case *k, Equations eq, Setting setting) {
  static const sunrealtype atol[3] = {1.0e-6, 5.0e-6, 3.0e-7};
  memset(k, 0, sizeof *k);
  k->eq      = eq;
  k->setting = setting;
  k->t       = eq.mf->time;
  k->eps     = 1.0e-6;
  k->y       = vector_of(equations_states(&eq), NULL);
  k->ewt     = vector_copy(k->y);
  set_point(k);
  for (int j = 0; j < equations_states(&eq); j++)
    entries(k->ewt)[j] = 1.0 / (1.0e-5 * fabs(entries(k->y)[j]) + atol[j % 3]);

  N_Vector c  = vector_of(equations_rows(&eq), NULL);
  SUNMatrix G = SUNDenseMatrix(equations_rows(&eq), equations_states(&eq), test_context);
  ck_assert_ptr_nonnull(G);
  k->P = CPProjectorCreate(equations_c, k->y, c, test_context);
  ck_assert_ptr_nonnull(k->P);
  ck_assert_success(k, CPProjectorSetErrHandlerFn(k->P, message_log, &k->log));
  ck_assert_success(k, CPProjectorSetUserData(k->P, &k->eq));
  ck_assert_success(k, CPProjectorSetLinearSolver(k->P, setting.solver));
  ck_assert_success(k, CPProjectorSetNorm(k->P, setting.norm));
  ck_assert_success(k, CPProjectorSetEps(k->P, k->eps));
  if (setting.user_jac) ck_assert_success(k, CPProjectorSetJacFn(k->P, equations_jac, G));
  SUNMatDestroy(G);
  N_VDestroy(c);
}

void case_close(Case *k) {
  CPProjectorFree(&k->P);
  N_VDestroy(k->ewt);
  N_VDestroy(k->y);
}

void case_perturb(Case *k, sunrealtype h, unsigned long long seed) {
  set_point(k);
  for (int j = 0; j < equations_states(&k->eq); j++) entries(k->y)[j] += h * random_number(&seed);
}

void case_set_levels(Case *k, int levels) {
  const Manifold *mf = k->eq.mf;
  N_Vector row       = vector_of(equations_rows(&k->eq), NULL),
           col       = vector_of(equations_states(&k->eq), NULL);
  for (int i = 0; levels && i < equations_rows(&k->eq); i++)
    entries(row)[i] = mf->row_level[i % mf->m];
  for (int j = 0; levels && j < equations_states(&k->eq); j++)
    entries(col)[j] = j < mf->n ? mf->col_level[j] : mf->nlevels - 1;
  ck_assert_success(k, CPProjectorSetLevels(k->P, row, col));
  N_VDestroy(row);
  N_VDestroy(col);
}

CPProjectorStats case_stats(Case *k) {
  CPProjectorStats stats;
  ck_assert_success(k, CPProjectorGetStats(k->P, &stats));
  return stats;
}
