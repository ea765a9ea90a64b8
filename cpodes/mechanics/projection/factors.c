/* The factors of [W A^T; A 0] for projections of positions, velocities and vectors: the metric W,
 * the renewal of factors, the sizes of the rows, and the products
 *
 *   x = K r = W^-1 A^T (A W^-1 A^T)^+ r,    mu = K^T w.
 *
 * For models with operators, conjugate gradients take the place of factors. */
#include "cpodes/base/random.h"
#include "cpodes/mechanics/functions.h"
#include "projection.h"

#include <float.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

/* The narrowest angle of A may change by CP_CHANGES while factors are kept. Distance and rate of
 * convergence show whether stored factors serve, except in directions to which the constraints
 * hardly respond, next to a singular position. */

/* So may gamma while factors in the metric NEWTON are kept with the same partial derivatives. Any definite W makes a projection; this one takes the same steps up to scatter as a
 * metric of the newest gamma does, on seven mechanisms and nine tolerances, with 0.6 to 0.9 of the
 * factorisations. */

/* ---- the metric ---- */

/* Measured on the pendulum, the slider-crank, the car axis and Andrews' mechanism
 * (bench/metrics.c): of the steps with ERROR, BDF takes 0.78 to 1.02 with NEWTON, 0.76 to 1.02 with
 * KINETIC and 0.79 to 1.02 with L2, and Adams takes 0.94 to 1.02 with KINETIC. Errors are smaller
 * with BDF (0.74 and 0.65 in the mean), and the same up to scatter with Adams. If stiffness acts
 * along the normals, only NEWTON is better than no projection. With sparse matrices a factorisation
 * costs little more than a projection, but a second one in each step that renews the Newton matrix
 * increases the cost of steps by half (stiff chain of 1,000). RADAU projects with its own factors,
 * which are in the metric NEWTON, unless rows are dependent; in another metric its errors are then 8
 * times as large on Bennett's linkage, and 40 times on parallel cranks that pass singular positions. */
CPMechMetric cpMechMetricInUse(const CPMech mech) {
  CPMechMetric metric = mech->options.metric;
  if (metric == CP_METRIC_DEFAULT) {
    if (mech->operators || mech->not_definite) return CP_METRIC_ERROR;
    const int sparse = mech->userM.A.start && !mech->implicit;
    const int costly = sparse || mech->stats.newton != CP_NEWTON_KKT;
    metric           = costly ? CP_METRIC_KINETIC : CP_METRIC_NEWTON;
  }
  /* KINETIC replaces NEWTON until there is a Newton matrix. */
  return metric == CP_METRIC_NEWTON && !mech->newton ? CP_METRIC_KINETIC : metric;
}

static CPMechMetric metricOf(const CPMechProjection *own) {
  return own->initial ? CP_METRIC_ERROR : cpMechMetricInUse(own->mech);
}

/* Replaces a metric that is not definite, and returns whether there is another one. M replaces the
 * Newton matrix until that is renewed, and by default the error weights replace M. */
static int changeMetric(CPMechFactors *f) {
  const CPMech mech = f->own->mech;
  if (f->metric == CP_METRIC_NEWTON && !f->use_mass) return f->use_mass = 1;
  if (mech->options.metric != CP_METRIC_DEFAULT || mech->not_definite) return 0;
  return mech->not_definite = 1;
}

/* Has the Newton matrix changed too much since the factors in its metric were made? */
static int isOutdated(const CPMechFactors *f) {
  const CPMech mech = f->own->mech;
  sunrealtype t;
  if (f->nnewton == mech->stats.nnewton) return 0;
  const double gamma = cpMechNewtonGamma(mech, &t);
  return f->use_mass || f->t_partials != t ||
         !(gamma < CP_CHANGES * f->gamma && f->gamma < CP_CHANGES * gamma);
}

static int isDiagonal(CPMechMetric metric) {
  return metric == CP_METRIC_ERROR || metric == CP_METRIC_L2;
}

/* Evaluates W at (t, q). w: error weights. */
static int evaluateMetric(CPMechProblem *p, sunrealtype t, const double *q, const double *w,
                          CPWeight *weight) {
  CPMechFactors *f  = p->factors;
  const CPMech mech = p->own->mech;
  if (isDiagonal(f->metric)) {
    for (int j = 0; j < mech->nu; j++)
      f->root[j] = p->fixed[j] ? 0.0 : f->metric == CP_METRIC_L2 ? 1.0 : 1.0 / w[j];
    *weight = (CPWeight){.root = f->root};
    return CP_SUCCESS;
  }
  /* Derivatives of the forces on light bodies are far above their mass. In them a direction that no force resists, as the spin of a
   * rod between two balls, is coupled to others, and a projection would turn the rod by many times what it corrects. */
  int any_light = 0, of_newton = f->metric == CP_METRIC_NEWTON && !f->use_mass;
  if (of_newton) cpMechHeaviest(mech, w, &any_light);
  of_newton = of_newton && !any_light && !cpMechNewtonMetric(mech, &f->W);
  if (!of_newton) {
    const int flag = cpMechMass(mech, t, q);
    if (flag) return cpMechFailed(p->own, flag);
    if (f->W.value) cpMatZero(&f->W);
    if (f->W.value) cpMatAdd(&f->W, 1.0, &mech->userM.A); /* The pattern of W contains that of M. */
  }
  const CPMat *W = f->W.value ? &f->W : &mech->userM.A;
  *weight        = (CPWeight){.matrix = W};
  const int flag = cpMetricCheck(W, t, cpWorkText(p->own->work));
  if (!f->A_fixed.value) return flag;
  memcpy(f->A_fixed.value, f->A.value, cpMatEntries(&f->A) * sizeof *f->A.value);
  cpMatFix(&f->W, &f->A_fixed, p->fixed);
  return flag;
}

/* ---- products and factors ---- */

/* Products of the operators at the factors' (t, q), for conjugate gradients */
static int times(void *self, N_Vector v, N_Vector Av) {
  return cpMechRowsTimes(((CPMechFactors *)self)->newton.self, NV_DATA_S(v), NV_DATA_S(Av));
}

static int transposed(void *self, N_Vector w, N_Vector ATw) {
  CPMechFactors *f = self;
  CP_COUNT(f->own->work, nprods);
  const int flag = cpMechTimes(f->own->mech, f->t, f->q, 1, NV_DATA_S(w), NV_DATA_S(ATw));
  return cpMechFailed(f->own, flag);
}

static int metric(void *self, N_Vector g, N_Vector Dg) {
  CPMechFactors *f  = self;
  const CPMech mech = f->own->mech;
  if (f->metric == CP_METRIC_KINETIC)
    return cpMechFailed(f->own, cpMechOperator(mech, mech->eq->Minv, "Minv", f->t, f->q,
                                               NV_DATA_S(g), NV_DATA_S(Dg), mech->nu));
  for (int j = 0; j < mech->nu; j++) NV_DATA_S(Dg)[j] = f->root[j] * f->root[j] * NV_DATA_S(g)[j];
  return CP_SUCCESS;
}

static const CPKrylovProducts products = {.times = times, .transposed = transposed, .metric = metric};

int cpMechRowsTimes(CPMechProblem *p, const double *v, double *r) {
  CPMechFactors *f = p->factors;
  int flag         = CP_SUCCESS;
  if (f->saddle) cpMatTimes(&f->A, 1.0, v, 0.0, r);
  else {
    CP_COUNT(p->own->work, nprods);
    flag = cpMechFailed(p->own, cpMechTimes(p->own->mech, f->t, f->q, 0, v, r));
  }
  for (int i = 0; i < p->own->mech->m; i++)
    if (p->off[i]) r[i] = 0.0;
  return flag;
}

int cpMechSubtractRows(CPMechProblem *p, const double *mu, double *w) {
  CPMechFactors *f = p->factors;
  double *ATmu     = p->own->z;
  if (f->saddle) {
    cpMatTransposedTimes(&f->A, -1.0, mu, 1.0, w);
    return CP_SUCCESS;
  }
  CP_COUNT(p->own->work, nprods);
  const int flag = cpMechTimes(p->own->mech, f->t, f->q, 1, mu, ATmu);
  for (int j = 0; !flag && j < p->own->mech->nu; j++) w[j] -= ATmu[j];
  return cpMechFailed(p->own, flag);
}

/* x <- K r, mu <- (A D A^T)^+ r by conjugate gradients; each may be NULL. */
static int byProducts(CPMechProblem *p, const double *r, double rtol, double *x, double *mu) {
  CPMechFactors *f    = p->factors;
  const CPMech mech   = p->own->mech;
  long int iterations = 0;
  memcpy(NV_DATA_S(f->rhs), r, (size_t)mech->m * sizeof *r);
  N_VConst(0.0, f->solution);
  for (int i = 0; i < mech->m; i++) {
    if (p->off[i]) NV_DATA_S(f->rhs)[i] = 0.0;
    NV_DATA_S(f->weight)[i] = p->rows.is_idle[i] ? 0.0 : 1.0 / (p->rows.size[i] * p->rows.size[i]);
  }
  const int flag = cpKrylovSolve(f->krylov, f->weight, rtol, f->rhs, f->solution,
                                 mu ? f->multipliers : NULL, &iterations, cpWorkText(p->own->work));
  cpWorkCount(p->own->work, CP_COUNTER(nli), iterations);
  CP_COUNT(p->own->work, nlinsolves);
  if (!flag && x) memcpy(x, NV_DATA_S(f->solution), (size_t)mech->nu * sizeof *x);
  if (!flag && mu) memcpy(mu, NV_DATA_S(f->multipliers), (size_t)mech->m * sizeof *mu);
  return flag;
}

/* x, mu <- the solution with the factors */
static int solve(CPMechProblem *p, const double *w, const double *r, double *x, double *mu) {
  const CPSaddle saddle = p->factors->saddle;
  const int flag        = cpSaddleSolve(saddle, w, r, x, mu);
  return flag ? cpSaddleFailed(saddle, flag, NAN, NULL, cpWorkText(p->own->work)) : CP_SUCCESS;
}

int cpMechLift(CPMechProblem *p, const double *r, double *x, double rtol) {
  return p->factors->saddle ? solve(p, NULL, r, x, NULL) : byProducts(p, r, rtol, x, NULL);
}

int cpMechLiftTransposed(CPMechProblem *p, const double *w, double *mu) {
  CPMechFactors *f = p->factors;
  if (f->saddle) return solve(p, w, NULL, NULL, mu);
  memcpy(NV_DATA_S(p->own->trial), w, (size_t)p->own->mech->nu * sizeof *w);
  int flag = metric(f, p->own->trial, f->solution); /* mu = (A D A^T)^+ A D w */
  if (!flag) flag = cpMechRowsTimes(p, NV_DATA_S(f->solution), p->own->r2);
  return flag ? flag : byProducts(p, p->own->r2, CP_CG_RTOL_OF_VECTOR, NULL, mu);
}

/* ---- sizes of the rows ---- */

/* Sizes from products alone: for random v with variances 1/w_j^2, |g_i|^2 is the mean of (A
 * v)_i^2. */

static int estimateRows(CPMechProblem *p, const double *w, int all, double *size) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  double *v             = own->z;
  memset(size, 0, (size_t)mech->m * sizeof *size);
  for (int k = 0; k < CP_SIZE_DIRECTIONS; k++) {
    unsigned state = 2166136261u + 7919u * (unsigned)k;
    for (int i = 0; i < 4; i++) cpUniform(&state); /* separates the sequences of successive k */
    for (int j = 0; j < mech->nu; j++) {
      const double u = cpUniformAwayFromZero(&state);
      v[j]           = !all && p->fixed[j] ? 0.0 : w ? u / w[j] : u;
    }
    const int flag = cpMechRowsTimes(p, v, own->r);
    if (flag) return flag;
    for (int i = 0; i < mech->m; i++)
      size[i] += own->r[i] * own->r[i] / (CP_SECOND_MOMENT * CP_SIZE_DIRECTIONS);
  }
  for (int i = 0; i < mech->m; i++) size[i] = sqrt(size[i]);
  return CP_SUCCESS;
}

/* size_i <- |g_i| = sqrt(sum_j (A_ij / w_j)^2) over the components that are free, or over all; 0 if in coordinates of joints its terms cancel,
 * up to the finest angle of solvers */
static int sizesOf(CPMechProblem *p, const double *w, int all, double *size) {
  double *unit = p->own->z;
  if (!p->factors->saddle) return estimateRows(p, w, all, size);
  for (int j = 0; j < p->own->mech->nu; j++) unit[j] = !all && p->fixed[j] ? 0.0 : 1.0 / w[j];
  cpMatRowLengths(&p->factors->A, unit, p->own->r, size);
  const double least = cpMechLeastRow(p->own->mech, cpLargest(size, p->rows.m));
  for (int i = 0; i < p->rows.m && least > 0.0; i++)
    if (size[i] < least) size[i] = 0.0;
  return CP_SUCCESS;
}

int cpMechMeasureRows(CPMechProblem *p, N_Vector ewt) {
  CPRows *rows     = &p->rows;
  double *over_all = p->own->r2;
  int ndead        = 0;
  if (p->measured == p->factors->made) return CP_SUCCESS;
  int flag = cpMechWeights(p, ewt ? cpData(ewt) : NULL, rows->w);
  if (!flag) flag = sizesOf(p, rows->w, 0, rows->size);
  for (int i = 0; !flag && i < rows->m; i++) {
    rows->is_idle[i] = p->off[i] || !(rows->size[i] >= DBL_MIN);
    ndead += rows->is_idle[i] && !p->off[i];
  }
  if (ndead > 0) flag = sizesOf(p, rows->w, 1, over_all);
  for (int i = 0; !flag && i < rows->m; i++)
    if (rows->is_idle[i]) rows->size[i] = p->off[i] ? INFINITY : over_all[i];
  if (!flag) p->measured = p->factors->made;
  return flag;
}

/* ---- new factors ---- */

static int failedFactor(CPMechProblem *p, sunrealtype t, int flag) {
  const CPMech mech = p->own->mech;
  char *text        = cpWorkText(p->own->work), name[CP_ROW_NAME];
  const int row     = p->factors->saddle->dependent;
  if (flag == CP_SADDLE_NOT_DEFINITE) return cpMetricIndefinite(text, t, -1);
  cpMechNameRow(mech, row < 0 ? -1 : mech->model->rows.number[p->which][row], name);
  return cpSaddleFailed(p->factors->saddle, flag, t, name, text);
}

static void freeSolver(CPMechFactors *f) {
  cpSaddleFree(&f->saddle);
  cpMatFree(&f->W);
  cpMatFree(&f->A_fixed);
  f->metric = CP_METRIC_DEFAULT;
}

void cpMechProjectionClear(CPMechProjection *own) {
  for (int k = 0; k < 2; k++) {
    CPMechFactors *f = &own->factors[k];
    freeSolver(f);
    cpKrylovFree(&f->krylov);
    *f = (CPMechFactors){0};
  }
  cpArenaFree(&own->arena);
  own->is_created = 0;
}

/* Creates a solver for this metric. If the solver that the user has set does not take these
 * matrices, their structure decides. */
static int createSolver(CPMechFactors *f, CPMechMetric metric) {
  const CPMech mech       = f->own->mech;
  const CPLinSol linsol   = cpWorkOptions(f->own->work)->linsol;
  const CPMat *W          = isDiagonal(metric) ? NULL : &mech->userM.A;
  CPSaddleOptions options = {.type       = linsol,
                             .may_change = linsol == CP_LINSOL_AUTO,
                             .definite   = 1,
                             .cancels    = mech->eq->typical > 0.0,
                             .finest     = CP_ROUNDED,
                             .memo       = mech->model->memo};
  freeSolver(f);
  int flag             = f->A.value ? CP_SUCCESS : cpMatLike(&f->own->arena, &f->A, &mech->A);
  f->own->arena.failed = 0; /* Memory may be found the next time. */
  if (!flag && metric == CP_METRIC_NEWTON) flag = cpMechNewtonPattern(mech, &f->W);
  else if (!flag && W && mech->motions->nfull > 0) flag = cpMatClone(&f->W, W);
  if (!flag && W && mech->motions->nfull > 0) flag = cpMatClone(&f->A_fixed, &mech->A);
  if (W && f->W.value) W = &f->W;
  if (!flag) flag = cpSaddleCreate(&f->saddle, options, W, &f->A);
  if (flag == CP_ILL_INPUT) {
    options.type = CP_LINSOL_AUTO;
    flag         = cpSaddleCreate(&f->saddle, options, W, &f->A);
  }
  if (flag)
    return cpReason(cpWorkText(f->own->work), flag,
                    flag == CP_MEM_FAIL ? "no memory for the linear solver"
                                        : "the linear solver cannot be set up");
  f->metric = metric;
  return CP_SUCCESS;
}

/* Computes the diagonal of the preconditioner: 1 / size_i^2, or 0 in idle rows. Sizes are Euclidean
 * with L2. */
static int makePreconditioner(CPMechProblem *p) {
  CPMechFactors *f = p->factors;
  double *size = p->own->r2, *inverse = NV_DATA_S(f->jacobi);
  int flag = CP_SUCCESS;
  if (f->metric == CP_METRIC_L2) flag = estimateRows(p, NULL, 0, size);
  else memcpy(size, p->rows.size, (size_t)p->own->mech->m * sizeof *size);
  for (int i = 0; i < p->own->mech->m; i++)
    inverse[i] = p->rows.is_idle[i] || !(size[i] > 0.0) ? 0.0 : 1.0 / (size[i] * size[i]);
  return flag;
}

void cpMechSizes(const CPMechProblem *p, const double *x, double *size) {
  const CPMech mech = p->own->mech;
  for (int j = 0; j < mech->nu; j++) {
    const double least = mech->coords->pair[j] < 0 ? 1.0 : mech->eq->typical;
    size[j]            = p->which == CP_POSITIONS ? fmax(fabs(x[j]), least) : x[j];
  }
}

/* Factors W and A. The sine below which rows count as dependent follows from the distance from the
 * manifold, the largest |c_i| / sum_j |A_ij x_j|, which is relative to the terms of the constraint
 * as far as A shows them. */
static int factor(CPMechProblem *p, sunrealtype t, const double *x, CPWeight W, int damped) {
  CPMechFactors *f  = p->factors;
  const CPMech mech = p->own->mech;
  const CPMat *A    = f->A_fixed.value ? &f->A_fixed : &f->A;
  double *size = p->own->z, *terms = p->own->r, angle = CP_ROUNDED;
  if (!cpSaddleUseRows(f->saddle, p->off) && !damped) { /* Far off the manifold all rows count. */
    cpMechSizes(p, x, size);
    angle = cpSaddleZeroAngle(f->saddle, cpRelativeDistance(&f->A, p->rows.c, p->rows.is_idle, size,
                                                            p->rows.w, size, terms));
  }
  const int result = cpSaddleFactor(f->saddle, W, A, angle);
  CP_COUNT(p->own->work, nsetups);
  mech->stats.nprojfact++;
  if (!result) cpSaddleRecordRank(f->saddle);
  return result ? failedFactor(p, t, result) : CP_SUCCESS;
}

int cpMechRenew(CPNewton *newton, sunrealtype t, N_Vector xv, N_Vector ewt, int damped,
                CPRank *rank) {
  CPMechProblem *p      = newton->self;
  const double *x       = NV_DATA_S(xv);
  CPMechFactors *f      = p->factors;
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  CPWeight W;
  int flag = p->which == CP_POSITIONS ? cpMechPositionsOf(p, t, x) : CP_SUCCESS;
  if (flag) return cpMechFailed(own, flag);
  memcpy(f->q, p->which == CP_POSITIONS ? own->q : p->q, (size_t)mech->nq * sizeof *f->q);
  if (f->nnewton != mech->stats.nnewton) f->use_mass = 0;
  f->nnewton = mech->stats.nnewton;
  f->gamma   = cpMechNewtonGamma(mech, &f->t_partials);
  f->t       = t;
  f->made++;
  CP_COUNT(own->work, nje);
  if (mech->operators) {
    *rank     = (CPRank){.rank = -1, .sine = 1.0};
    f->metric = metricOf(own);
    cpKrylovReset(f->krylov);
    flag = cpMechMeasureRows(p, ewt);
    if (!flag && isDiagonal(f->metric)) flag = evaluateMetric(p, t, f->q, p->rows.w, &W);
    cpWorkSetSolver(own->work, CP_LINSOL_PRODUCTS, 2);
    return flag ? flag : makePreconditioner(p);
  }
  if (!p->rates_are_known) flag = cpMechFailed(own, cpMechA(mech, t, f->q));
  for (int again = !flag; again;) {
    const CPMechMetric metric = metricOf(own);
    if (f->metric != metric) flag = createSolver(f, metric);
    if (!flag) memcpy(f->A.value, mech->A.value, cpMatEntries(&f->A) * sizeof *f->A.value);
    if (!flag) flag = cpMechMeasureRows(p, ewt);
    if (!flag) flag = evaluateMetric(p, t, f->q, p->rows.w, &W);
    if (!flag) flag = factor(p, t, x, W, damped);
    again = flag == -CP_METRIC_INDEFINITE && changeMetric(f);
    if (again) flag = CP_SUCCESS;
  }
  if (flag) return flag;
  *rank = (CPRank){.rank        = f->saddle->rank,
                   .ndependent  = f->saddle->nrows - f->saddle->rank,
                   .sine        = f->saddle->sine,
                   .is_doubtful = !cpSaddleIsClear(f->saddle)};
  cpWorkSetSolver(own->work, cpSaddleTypeOf(f->saddle), 2);
  return CP_SUCCESS;
}

/* ---- updates for the options ---- */

static N_Vector serial(CPArena *arena, int length, SUNContext ctx) {
  N_Vector v = arena->failed ? NULL : cpArenaTake(arena, N_VNew_Serial(length, ctx));
  if (v) N_VConst(0.0, v);
  return v;
}

static void createFactors(CPMechProjection *own, CPMechFactors *f) {
  const CPMech mech = own->mech;
  CPArena *arena    = &own->arena;
  CP_NEW(arena, f->q, mech->nq);
  CP_NEW(arena, f->root, mech->nu);
  cpNewtonVectors(&f->newton, arena, own->problem[0].x);
  if (!mech->operators) return;
  f->jacobi      = serial(arena, mech->m, mech->ctx);
  f->weight      = serial(arena, mech->m, mech->ctx);
  f->rhs         = serial(arena, mech->m, mech->ctx);
  f->multipliers = serial(arena, mech->m, mech->ctx);
  f->solution    = serial(arena, mech->nu, mech->ctx);
  if (!cpArenaStatus(arena) && cpKrylovCreate(&f->krylov, &products, f, f->solution, f->jacobi))
    arena->failed = 1;
}

/* Sets the rows that are off, and the factors of both problems, which are the same if rows and
 * metric are the same. With operators they are not, because products are evaluated at the state of
 * the factors, which is another one for positions than for velocities. Returns 0 or CP_MEM_FAIL. */
static int updateProblems(CPMechProjection *own, CPMechMetric metric) {
  const CPMech mech = own->mech;
  const int shared  = metric != CP_METRIC_ERROR && !mech->operators &&
                     !memcmp(mech->model->rows.at_position, mech->model->rows.at_velocity,
                             (size_t)mech->m); /* the same rows */
  for (int which = 0; which < 2; which++) {
    CPMechProblem *p = &own->problem[which];
    const char *there =
        which == CP_POSITIONS ? mech->model->rows.at_position : mech->model->rows.at_velocity;
    p->factors  = &own->factors[shared ? 0 : which];
    p->nactive  = 0;
    p->measured = 0;
    for (int i = 0; i < mech->m; i++) p->nactive += !(p->off[i] = !there[i] || mech->rows.off[i]);
    own->factors[which].newton.uses = shared ? 2 : 1;
    if (p->factors->q) continue;
    createFactors(own, p->factors);
    if (!cpArenaStatus(&own->arena)) continue;
    own->arena.failed = 0; /* Memory may be found the next time. */
    p->factors->q     = NULL;
    own->layout       = -1;
    return CP_MEM_FAIL;
  }
  return CP_SUCCESS;
}

static void createProblem(CPMechProjection *own, int which) {
  CPArena *arena   = &own->arena;
  CPMechProblem *p = &own->problem[which];
  const int m      = own->mech->m;
  p->own           = own;
  p->which         = which;
  p->x             = serial(arena, own->mech->nu, own->mech->ctx);
  CP_NEW(arena, p->off, m);
  CP_NEW(arena, p->fixed, own->mech->nu);
  CP_NEW(arena, p->rates, m);
  cpRowsCreate(&p->rows, arena, m, own->mech->nu);
  p->rows.unit = p->rows.size;
  if (p->fixed) memcpy(p->fixed, own->mech->motions->is_full, (size_t)own->mech->nu);
}

static int create(CPMechProjection *own) {
  const CPMech mech = own->mech;
  CPArena *arena    = &own->arena;
  for (int which = 0; which < 2; which++) createProblem(own, which);
  for (int k = 0; k < 2; k++) {
    CPMechFactors *f = &own->factors[k];
    f->own           = own;
    cpNewtonInit(&f->newton, arena, &cpMechNewtonParts, NULL, own->work, NULL);
  }
  own->trial = serial(arena, mech->nu, mech->ctx);
  own->y     = cpArenaVector(arena, mech->y_tmpl);
  CP_ARRAYS(arena, mech->n, &own->e);
  CP_ARRAYS(arena, mech->nq, &own->q, &own->moved, &own->d);
  CP_ARRAYS(arena, mech->nu, &own->w, &own->z, &own->correction, &own->x_of_q);
  CP_ARRAYS(arena, mech->m, &own->r, &own->r2, &own->r3, &own->mu);
  CP_ARRAYS(arena, 4 * mech->m, &own->room);
  own->sine       = 1.0;
  own->is_created = !cpArenaStatus(arena);
  if (own->is_created)
    cpWorkSetIterations(own->work, &own->factors[0].newton, &own->factors[1].newton);
  else cpMechProjectionClear(own);
  return own->is_created ? CP_SUCCESS : CP_MEM_FAIL;
}

int cpMechFactorsUpdate(CPMechProjection *own) {
  const CPMech mech = own->mech;
  char *text        = cpWorkText(own->work);
  int flag          = mech->ready ? CP_SUCCESS : cpMechSetUp(mech, "CPMech");
  if (flag) return cpReason(text, flag, "%s", mech->log.text);
  if (!own->is_created && create(own))
    return cpReason(text, CP_MEM_FAIL, "no memory for a projection");
  const CPProjectorOptions *options = cpWorkOptions(own->work);
  const CPMechMetric metric         = metricOf(own);
  if (own->layout != mech->rows.layout || own->contents != options->contents ||
      own->metric != metric || own->metric_changes != mech->options.metric_changes) {
    if (updateProblems(own, metric))
      return cpReason(text, CP_MEM_FAIL, "no memory for a projection");
    const int only_rows = own->contents == options->contents && own->metric == metric &&
                          own->metric_changes == mech->options.metric_changes;
    for (int k = 0; k < 2; k++) {
      CPMechFactors *f = &own->factors[k];
      cpNewtonReset(&f->newton);
      if (!only_rows) freeSolver(f);
      else if (f->saddle) cpSaddleForgetRank(f->saddle);
    }
    own->layout         = mech->rows.layout;
    own->contents       = options->contents;
    own->metric         = metric;
    own->metric_changes = mech->options.metric_changes;
  }
  const double sine = mech->operators ? 1.0 : mech->kkt->sine;
  const int turned  = !(sine < CP_CHANGES * own->sine && own->sine < CP_CHANGES * sine);
  if (turned) own->sine = sine;
  for (int k = 0; k < 2; k++) {
    CPMechFactors *f = &own->factors[k];
    if (turned || (metric == CP_METRIC_NEWTON && isOutdated(f))) cpNewtonForget(&f->newton);
  }
  return CP_SUCCESS;
}
