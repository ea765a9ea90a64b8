#include "bending_chain.h"

#include "bending_chain_impl.h"
#include "chain_mechanism.h"
#include "columns.h"

#include <math.h>
#include <stdlib.h>

/* -------------------------------------------------------------------------------- life cycle -- */

BendingChain *bending_chain_create(sunindextype n, sunrealtype g, sunrealtype k, sunrealtype d) {
  BendingChain *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->rods = chain_create(n, g);
  c->k    = k;
  c->d    = d;
  c->work = calloc((size_t)n, sizeof *c->work);
  if (!c->rods || !c->work) bending_chain_free(&c);
  return c;
}

void bending_chain_free(BendingChain **chain) {
  BendingChain *c = *chain;
  if (!c) return;
  chain_free(&c->rods);
  free(c->work);
  free(c);
  *chain = NULL;
}

void bending_chain_initial(const BendingChain *chain, sunrealtype angle, N_Vector y) {
  sunrealtype *r = N_VGetArrayPointer(y);

  N_VConst(0, y);
  for (sunindextype i = 0; i < chain->rods->n; i++) {
    r[2 * i]     = (sunrealtype)(i + 1) * cos(angle);
    r[2 * i + 1] = (sunrealtype)(i + 1) * sin(angle);
  }
}

/* ------------------------------------------------------------------------------------ energy -- */

/* |D x|^2 */
static sunrealtype bend_square(sunindextype n, const sunrealtype *x) {
  sunrealtype sum = 0;
  for (sunindextype i = 0; i + 1 < n; i++)
    for (int k = 0; k < 2; k++) sum += bend(x, i, k) * bend(x, i, k);
  return sum;
}

sunrealtype bending_chain_energy(const BendingChain *chain, N_Vector y) {
  const sunindextype n = chain->rods->n;
  return chain_energy(chain->rods, y) + chain->k * bend_square(n, N_VGetArrayPointer(y)) / 2;
}

/* ------------------------------------------------------------------------ the index-3 system -- */

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  chain_put_masses(((const BendingChain *)user_data)->rods->n, M);
  return 0;
}

static int rods(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  chain_put_rods(((const BendingChain *)user_data)->rods->n, 1, q, A);
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)z;
  bending_chain_forces(user_data, q, u, f);
  return 0;
}

static int lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  return chain_lengths(t, q, p, ((const BendingChain *)user_data)->rods);
}

static int rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                 void *user_data) {
  return chain_rates(t, q, u, v, ((const BendingChain *)user_data)->rods);
}

static int accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                         void *user_data) {
  return chain_centripetal(t, q, u, b, ((const BendingChain *)user_data)->rods);
}

/* -scale D^T D - d(A^T lambda)/dq; if lambda is NULL, it is 0 */
static void put_stiffness(const BendingChain *c, sunrealtype scale, const sunrealtype *lambda,
                          SUNMatrix K) {
  const sunindextype n = c->rods->n;
  Columns col          = columns_of(K);
  for (sunindextype j = 0; j < 2 * n; j++, next_column(&col))
    for (sunindextype i = j / 2 - 2; i <= j / 2 + 2; i++) {
      if (i < 0 || i >= n) continue;
      sunrealtype entry = -scale * bend_product(n, i, j / 2);
      if (lambda) entry -= tension_entry(n, lambda, i, j / 2);
      put_entry(&col, 2 * i + j % 2, entry);
    }
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)Fz;
  const BendingChain *c = user_data;
  put_stiffness(c, c->k, lambda, K);
  put_stiffness(c, c->d, NULL, C);
  return 0;
}

/* b - A a = -|w_i|^2 - d_i . (a_i - a_{i-1}) */
static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)q;
  const sunindextype n = ((const BendingChain *)user_data)->rods->n;
  chain_put_rods(n, -1, udot, Bq);
  chain_put_rods(n, -2, u, Bu);
  return 0;
}

/* --------------------------------------------------------------------------------- templates -- */

void bending_chain_model_free(CPEquations *model) {
  SUNMatrix *tmpl[] = {&model->M_tmpl, &model->A_tmpl, &model->K_tmpl, &model->Bq_tmpl,
                       &model->Bu_tmpl};
  for (size_t i = 0; i < sizeof tmpl / sizeof *tmpl; i++) {
    if (*tmpl[i]) SUNMatDestroy(*tmpl[i]);
    *tmpl[i] = NULL;
  }
}

/* The patterns, by filling the matrices for any state, here q of zeros */
static int create_templates(BendingChain *c, SUNContext ctx, CPEquations *model) {
  const sunindextype n = c->rods->n, nu = 2 * n;
  const sunindextype bands = n > 1 ? 5 * n - 6 : 1; /* entries of D^T D */
  sunrealtype *zero        = calloc((size_t)nu, sizeof *zero);

  model->M_tmpl  = SUNSparseMatrix(nu, nu, nu, CSC_MAT, ctx);
  model->A_tmpl  = SUNSparseMatrix(n, nu, 2 * nu - 2, CSC_MAT, ctx);
  model->K_tmpl  = SUNSparseMatrix(nu, nu, 2 * bands, CSC_MAT, ctx);
  model->Bq_tmpl = SUNSparseMatrix(n, nu, 2 * nu - 2, CSC_MAT, ctx);
  model->Bu_tmpl = SUNSparseMatrix(n, nu, 2 * nu - 2, CSC_MAT, ctx);
  if (!zero || !model->M_tmpl || !model->A_tmpl || !model->K_tmpl || !model->Bq_tmpl ||
      !model->Bu_tmpl) {
    free(zero);
    bending_chain_model_free(model);
    return -1;
  }
  chain_put_masses(n, model->M_tmpl);
  chain_put_rods(n, 1, zero, model->A_tmpl);
  chain_put_rods(n, 1, zero, model->Bq_tmpl);
  chain_put_rods(n, 1, zero, model->Bu_tmpl);
  put_stiffness(c, 1, NULL, model->K_tmpl);
  free(zero);
  return 0;
}

int bending_chain_model(BendingChain *chain, int sparse, SUNContext ctx, CPEquations *model) {
  *model = (CPEquations){CP_SIZED(CPEquations),
                         .nu             = 2 * chain->rods->n,
                         .np             = chain->rods->n,
                         .M              = mass,
                         .A              = rods,
                         .f              = forces,
                         .p              = lengths,
                         .v              = rates,
                         .b              = accelerations,
                         .dynamics_jac   = dynamics_jac,
                         .constraint_jac = constraint_jac,
                         .udot           = bending_chain_udot,
                         .udot_jac       = bending_chain_udot_jac};
  return sparse ? create_templates(chain, ctx, model) : 0;
}

/* ----------------------------------------------------------------- invariants of the ODE form -- */

int bending_chain_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  return chain_constraints(t, y, c, ((const BendingChain *)user_data)->rods);
}

int bending_chain_constraint_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G,
                                      void *user_data) {
  Chain *rods = ((const BendingChain *)user_data)->rods;
  return SUNMatGetID(G) == SUNMATRIX_SPARSE ? chain_sparse_jacobian(t, y, c, G, rods)
                                            : chain_jacobian(t, y, c, G, rods);
}
