#include "hook.h"

#include "functions.h"
#include "support.h"

#include <cpodes/matrix/lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

void F77(dpotf2)(const char *uplo, const int *n, double *a, const int *lda, int *info);

enum { MAX_ITERS = 6 };

static bool is_chain(const CPPlugin *model) {
  return !strcmp(model->type->name, "chain") || !strcmp(model->type->name, "bending_chain");
}

bool hook_takes(const CPPlugin *model) {
  if (is_chain(model)) return true;
  return race_has_matrices(model) && model->mech.p &&
         (!model->mech.A_tmpl || SUNMatGetID(model->mech.A_tmpl) == SUNMATRIX_DENSE);
}

int hook_create(const CPPlugin *model, void *cvode_mem, Hook *hook) {
  *hook           = (Hook){.model = model, .cvode_mem = cvode_mem};
  const size_t nu = (size_t)model->mech.nu, m = (size_t)model->mech.np;
  if (is_chain(model)) {
    hook->chain = chain_create(model->n / 4, 0);
    return hook->chain ? chain_attach(hook->chain, cvode_mem, model->y0) : -1;
  }
  hook->ewt      = N_VClone(model->y0);
  hook->A        = SUNDenseMatrix(model->mech.np, model->mech.nu, model->ctx);
  hook->scaled   = calloc(m * nu, sizeof *hook->scaled);
  hook->S        = calloc(m * m, sizeof *hook->S);
  hook->residual = calloc(m, sizeof *hook->residual);
  hook->step     = calloc(nu, sizeof *hook->step);
  hook->other    = calloc(m, sizeof *hook->other);
  return hook->ewt && hook->A && hook->scaled && hook->S && hook->residual && hook->step &&
                 hook->other
             ? 0
             : -1;
}

void hook_free(Hook *hook) {
  if (hook->chain) chain_free(&hook->chain);
  if (hook->ewt) N_VDestroy(hook->ewt);
  if (hook->A) SUNMatDestroy(hook->A);
  free(hook->scaled);
  free(hook->S);
  free(hook->residual);
  free(hook->step);
  free(hook->other);
}

/* S = A D A^T with D = diag(1 / w^2), and its factor. Returns 1 if it is not positive definite. */
static int factor(Hook *hook, const double *w) {
  const int m = (int)hook->model->mech.np, nu = (int)hook->model->mech.nu;
  const double *A = SM_DATA_D(hook->A), one = 1, zero = 0;
  for (int j = 0; j < nu; j++)
    for (int i = 0; i < m; i++) hook->scaled[i + (size_t)j * m] = A[i + (size_t)j * m] / w[j];
  int info = 0;
  F77(dsyrk)("L", "N", &m, &nu, &one, hook->scaled, &m, &zero, hook->S, &m);
  F77(dpotf2)("L", &m, hook->S, &m, &info);
  return info != 0;
}

/* x = x - D A^T S^-1 residual; hook->step holds the change. */
static void correct(Hook *hook, const double *w, double *residual, double *x) {
  const int m = (int)hook->model->mech.np, nu = (int)hook->model->mech.nu, unit = 1;
  F77(dtrsv)("L", "N", "N", &m, hook->S, &m, residual, &unit);
  F77(dtrsv)("L", "T", "N", &m, hook->S, &m, residual, &unit);
  memset(hook->step, 0, (size_t)nu * sizeof *hook->step);
  matrix_trans_times(hook->A, 1, residual, hook->step);
  for (int j = 0; j < nu; j++) {
    hook->step[j] /= w[j] * w[j];
    x[j] -= hook->step[j];
  }
}

/* The WRMS norm of the change over the whole state, of which it is one half */
static double wrms(const Hook *hook, const double *w) {
  double sum            = 0;
  const sunindextype nu = hook->model->mech.nu;
  for (sunindextype j = 0; j < nu; j++) sum += hook->step[j] * hook->step[j] * w[j] * w[j];
  return sqrt(sum / (double)(2 * nu));
}

/* Returns 1 if it does not converge. A and its factors are those of the first iterate. */
static int project_positions(Hook *hook, sunrealtype t, double *q, const double *w, double eps) {
  double first = 0;
  if (mech_rows(hook->model, t, q, hook->A) || factor(hook, w)) return 1;
  for (int iter = 0; iter < MAX_ITERS; iter++) {
    if (mech_positions(hook->model, t, q, hook->residual)) return 1;
    correct(hook, w, hook->residual, q);
    const double norm = wrms(hook, w);
    if (norm <= eps) return 0;
    if (iter == 0) first = norm;
    if (!(norm <= 2 * first)) return 1;
  }
  return 1;
}

/* other = (dv/dq) e = (v(q + s e) - v(q)) / s, with s e of the size 1e-7 */
static int rate(Hook *hook, sunrealtype t, const double *q, const double *u, const double *e,
                double *moved) {
  const sunindextype nu = hook->model->mech.nu, m = hook->model->mech.np;
  double most = 0;
  for (sunindextype j = 0; j < nu; j++) most = fmax(most, fabs(e[j]));
  memset(hook->other, 0, (size_t)m * sizeof *hook->other);
  if (most == 0) return 0;
  const double s = 1e-7 / most;
  for (sunindextype j = 0; j < nu; j++) moved[j] = q[j] + s * e[j];
  if (!hook->model->mech.v && mech_rows(hook->model, t, moved, hook->A)) return 1;
  if (mech_velocities(hook->model, t, moved, u, hook->A, hook->other)) return 1;
  if (!hook->model->mech.v && mech_rows(hook->model, t, q, hook->A)) return 1;
  if (mech_velocities(hook->model, t, q, u, hook->A, hook->residual)) return 1;
  for (sunindextype i = 0; i < m; i++) hook->other[i] = (hook->other[i] - hook->residual[i]) / s;
  return 0;
}

/* The error estimate, at the projected state: first e_q, with A e_q = 0, later e_u */
static void project_error(Hook *hook, const double *w, double *e, const double *given) {
  const sunindextype m = hook->model->mech.np;
  memset(hook->residual, 0, (size_t)m * sizeof *hook->residual);
  matrix_times(hook->A, 1, e, hook->residual);
  for (sunindextype i = 0; given && i < m; i++) hook->residual[i] += given[i];
  correct(hook, w, hook->residual, e);
}

static int project(Hook *hook, sunrealtype t, double *y, double eps, double *err) {
  const sunindextype nu = hook->model->mech.nu;
  double *q = y, *u = y + nu;
  const double *wq = N_VGetArrayPointer(hook->ewt), *wu = wq + nu;
  if (project_positions(hook, t, q, wq, eps)) return 1;
  if (mech_rows(hook->model, t, q, hook->A)) return 1;
  if (err) {
    if (factor(hook, wq)) return 1;
    project_error(hook, wq, err, NULL);
  }
  if (factor(hook, wu) || mech_velocities(hook->model, t, q, u, hook->A, hook->residual)) return 1;
  correct(hook, wu, hook->residual, u);
  if (!err) return 0;
  if (rate(hook, t, q, u, err, hook->step)) return 1;
  project_error(hook, wu, err + nu, hook->other);
  return 0;
}

int hook_project(Hook *hook, sunrealtype t, N_Vector y, N_Vector corr, sunrealtype eps,
                 N_Vector err) {
  if (hook->chain) return chain_cvode_projection(t, y, corr, eps, err, hook->chain);
  if (hook->cvode_mem && CVodeGetErrWeights(hook->cvode_mem, hook->ewt)) return -1;
  N_VScale(1, y, corr); /* corr is the new state until the last line */
  const int flag =
      project(hook, t, N_VGetArrayPointer(corr), eps, err ? N_VGetArrayPointer(err) : NULL);
  N_VLinearSum(1, corr, -1, y, corr);
  return flag;
}
