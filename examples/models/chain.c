#include "chain.h"

#include "chain_impl.h"
#include <cvodes/cvodes.h>
#include <math.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

/* D = 1/ewt^2 of component k of mass i; D = 1 where there is no ewt */
static sunrealtype inv_metric(const sunrealtype *ewt, sunindextype i, int k) {
  return ewt ? 1 / (ewt[2 * i + k] * ewt[2 * i + k]) : 1;
}

/* ------------------------------------------------- the tridiagonal matrix S = G D G^T, LDL^T -- */

/* S = G D G^T at the positions r, row i of G being (d_i at r_i, -d_i at r_{i-1}); factored in
   place. Returns 1 if S is not positive definite. */
static int factor(Chain *c, const sunrealtype *r, const sunrealtype *ewt) {
  for (sunindextype i = 0; i < c->n; i++) {
    c->diag[i] = c->sub[i] = 0;
    for (int k = 0; k < 2; k++) {
      const sunrealtype d = diff(r, i, k);
      c->diag[i] += d * d * inv_metric(ewt, i, k);
      if (i == 0) continue;
      c->diag[i] += d * d * inv_metric(ewt, i - 1, k);
      c->sub[i] -= d * diff(r, i - 1, k) * inv_metric(ewt, i - 1, k);
    }
    if (ldl_step(c->diag, c->sub, i)) return 1;
  }
  return 0;
}

/* rhs <- S^-1 rhs */
static void solve(Chain *c) { ldl_solve(c->n, c->diag, c->sub, c->rhs); }

/* delta = D G^T rhs */
static void spread(Chain *c, const sunrealtype *r, const sunrealtype *ewt) {
  for (sunindextype i = 0; i < c->n; i++)
    for (int k = 0; k < 2; k++) {
      sunrealtype pull = diff(r, i, k) * c->rhs[i];
      if (i + 1 < c->n) pull -= diff(r, i + 1, k) * c->rhs[i + 1];
      c->delta[2 * i + k] = inv_metric(ewt, i, k) * pull;
    }
}

/* --------------------------------------------------------------------------------- mechanism -- */

Chain *chain_create(sunindextype n, sunrealtype g) {
  Chain *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->n = n;
  c->g = g;

  const size_t len = (size_t)n;
  c->diag          = calloc(len, sizeof *c->diag);
  c->sub           = calloc(len, sizeof *c->sub);
  c->rhs           = calloc(len, sizeof *c->rhs);
  c->delta         = calloc(2 * len, sizeof *c->delta);
  c->prec_diag     = calloc(2 * len, sizeof *c->prec_diag);
  c->prec_sub      = calloc(2 * len, sizeof *c->prec_sub);
  if (!c->diag || !c->sub || !c->rhs || !c->delta || !c->prec_diag || !c->prec_sub) chain_free(&c);
  return c;
}

void chain_free(Chain **chain) {
  Chain *c = *chain;
  if (!c) return;
  free(c->diag);
  free(c->sub);
  free(c->rhs);
  free(c->delta);
  free(c->prec_diag);
  free(c->prec_sub);
  if (c->ewt) N_VDestroy(c->ewt);
  free(c);
  *chain = NULL;
}

int chain_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  Chain *c             = user_data;
  const sunindextype n = c->n;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;
  sunrealtype *rd = N_VGetArrayPointer(ydot), *vd = rd + 2 * n;

  for (sunindextype i = 0; i < n; i++)
    c->rhs[i] = dot_diff(v, i, v, i); /* G G^T lambda = |w|^2 - ... */
  c->rhs[0] -= c->g * r[1];
  if (factor(c, r, NULL)) return 1;
  solve(c);
  spread(c, r, NULL); /* delta = G^T lambda */

  for (sunindextype i = 0; i < 2 * n; i++) {
    rd[i] = v[i];
    vd[i] = -c->delta[i] - (i % 2 ? c->g : 0);
  }
  return 0;
}

int chain_constraints(sunrealtype t, N_Vector y, N_Vector cvec, void *user_data) {
  (void)t;
  const Chain *c       = user_data;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * c->n;
  sunrealtype *pos = N_VGetArrayPointer(cvec), *vel = pos + c->n;

  for (sunindextype i = 0; i < c->n; i++) {
    pos[i] = (dot_diff(r, i, r, i) - 1) / 2;
    vel[i] = dot_diff(r, i, v, i);
  }
  return 0;
}

int chain_jacobian(sunrealtype t, N_Vector y, N_Vector cvec, SUNMatrix G, void *user_data) {
  (void)t, (void)cvec;
  const Chain *c       = user_data;
  const sunindextype n = c->n;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;

  for (sunindextype i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) {
      const sunindextype at = 2 * i + k;
      const sunrealtype d = diff(r, i, k), w = diff(v, i, k);
      SM_ELEMENT_D(G, i, at)             = d;
      SM_ELEMENT_D(G, n + i, at)         = w;
      SM_ELEMENT_D(G, n + i, 2 * n + at) = d;
      if (i == 0) continue;
      SM_ELEMENT_D(G, i, at - 2)             = -d;
      SM_ELEMENT_D(G, n + i, at - 2)         = -w;
      SM_ELEMENT_D(G, n + i, 2 * n + at - 2) = -d;
    }
  return 0;
}

void chain_initial(const Chain *chain, N_Vector y) {
  sunrealtype *r = N_VGetArrayPointer(y);

  N_VConst(0, y);
  for (sunindextype i = 0; i < chain->n; i++) r[2 * i] = (sunrealtype)(i + 1);
}

sunrealtype chain_energy(const Chain *chain, N_Vector y) {
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * chain->n;
  sunrealtype energy = 0;

  for (sunindextype i = 0; i < chain->n; i++)
    energy += (v[2 * i] * v[2 * i] + v[2 * i + 1] * v[2 * i + 1]) / 2 + chain->g * r[2 * i + 1];
  return energy;
}

/* ----------------------------------------------------------- projection for CVODES' own hook -- */

int chain_attach(Chain *chain, void *cvode_mem, N_Vector y_tmpl) {
  chain->cvode_mem = cvode_mem;
  if (!chain->ewt) chain->ewt = N_VClone(y_tmpl);
  return chain->ewt ? 0 : -1;
}

/* WRMS norm of delta over all 4 n components of the state; the half that is not corrected counts as 0 */
static sunrealtype wrms(const Chain *c, const sunrealtype *ewt) {
  sunrealtype sum = 0;
  for (sunindextype i = 0; i < 2 * c->n; i++) sum += c->delta[i] * c->delta[i] * ewt[i] * ewt[i];
  return sqrt(sum / (sunrealtype)(4 * c->n));
}

/* Projects the positions r (in: predicted, out: projected) by simplified Newton iteration with the S of the
   predicted state. Returns 1 if it does not converge. */
static int project_positions(Chain *c, sunrealtype *r, const sunrealtype *ewt, sunrealtype eps) {
  enum { MAX_ITERS = 6 };
  sunrealtype first = 0;
  if (factor(c, r, ewt)) return 1;
  for (int iter = 0; iter < MAX_ITERS; iter++) {
    for (sunindextype i = 0; i < c->n; i++) c->rhs[i] = (dot_diff(r, i, r, i) - 1) / 2;
    solve(c);
    spread(c, r, ewt);
    for (sunindextype i = 0; i < 2 * c->n; i++) r[i] -= c->delta[i];

    const sunrealtype norm = wrms(c, ewt);
    if (norm <= eps) return 0;
    if (iter == 0) first = norm;
    if (!(norm <= 2 * first)) return 1; /* diverges, or NaN */
  }
  return 1;
}

/* v <- v - D G^T S^-1 (G v + rate), so that G v = -rate. Row i of the rate is the product of differences i of
   rate_r and rate_v, or 0 if these are NULL. S must be factored with r and ewt. */
static void project_onto_tangent(Chain *c, const sunrealtype *r, sunrealtype *v,
                                 const sunrealtype *ewt, const sunrealtype *rate_r,
                                 const sunrealtype *rate_v) {
  for (sunindextype i = 0; i < c->n; i++) {
    c->rhs[i] = dot_diff(r, i, v, i);
    if (rate_r) c->rhs[i] += dot_diff(rate_v, i, rate_r, i);
  }
  solve(c);
  spread(c, r, ewt);
  for (sunindextype i = 0; i < 2 * c->n; i++) v[i] -= c->delta[i];
}

int chain_cvode_projection(sunrealtype t, N_Vector y, N_Vector corr, sunrealtype epsproj,
                           N_Vector err, void *user_data) {
  (void)t;
  Chain *c             = user_data;
  const sunindextype n = c->n;
  if (c->cvode_mem && CVodeGetErrWeights(c->cvode_mem, c->ewt)) return -1;
  const sunrealtype *wr = N_VGetArrayPointer(c->ewt), *wv = wr + 2 * n;

  N_VScale(1, y, corr); /* corr is the new state until the last line */
  sunrealtype *r = N_VGetArrayPointer(corr), *v = r + 2 * n;
  if (project_positions(c, r, wr, epsproj)) return 1;

  /* The error estimate: e_r with G e_r = 0, then e_v with G e_v + G' e_r = 0, both at the projected state */
  sunrealtype *er = err ? N_VGetArrayPointer(err) : NULL;
  if (err) {
    if (factor(c, r, wr)) return 1;
    project_onto_tangent(c, r, er, wr, NULL, NULL);
  }

  /* One factorisation serves the velocities, which enter linearly, and their error */
  if (factor(c, r, wv)) return 1;
  project_onto_tangent(c, r, v, wv, NULL, NULL);
  if (err) project_onto_tangent(c, r, er + 2 * n, wv, er, v);

  N_VLinearSum(1, corr, -1, y, corr);
  return 0;
}
