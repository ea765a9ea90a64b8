/* Attaches a mechanical system to an integrator: right-hand side, projector, error weights,
 * iteration matrix. */
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/actions/actions.h"
#include "cpodes/mechanics/expected.h"
#include "cpodes/mechanics/functions.h"
#include "cpodes/mechanics/motions.h"
#include "cpodes/mechanics/shaky.h"
#include "cpodes/stepping/stepper.h"

#include <math.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ---- error weights ---- */

/* Error estimates are sums of h u' with weights whose sizes add up to this (RADAU5; 4 with DOP853). */
enum { SUM_OF_WEIGHTS = 12 };

/* The roundoff u (|f_j| + sum_i |A_ij lambda_i|) of the forces on a light body, over M_jj, is an error of u'_j that no size of the step
 * reduces: a floor of the tolerances, h times that for u_j, h^2 for coordinates. The moments about all axes of a body have the
 * roundoff of the largest, from which they are turned. The newest multipliers and matrices are those of a state near y. */
static void boundByRoundoff(CPMech mech, sunrealtype *w) {
  const double h       = fabs(mech->host->ops->step(mech->host)),
               part    = SUM_OF_WEIGHTS * CP_FLOOR_FACTOR * CP_UROUND * h;
  const double *lambda = mech->stage.lambda;
  const CPMat *A       = &mech->A;
  double *size         = mech->solve.a;
  int any_light        = 0;
  if (h == 0.0 || mech->operators) return;
  const double heaviest = cpMechHeaviest(mech, w + mech->nq, &any_light);
  if (!any_light) return;
  for (int j = 0; j < mech->nu; j++) {
    size[j] = fabs(mech->terms.f[j]);
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++)
      if (!mech->rows.off[cpMatRow(A, j, k)])
        size[j] += fabs(A->value[k] * lambda[cpMatRow(A, j, k)]);
  }
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    double *moment = size + mech->coords->quaternions[k].first_u;
    moment[0] = moment[1] = moment[2] = cpLargest(moment, 3);
  }
  for (int j = 0; j < mech->nu; j++) {
    const double M_jj  = cpMatEntry(&mech->userM.A, j, j);
    const int i        = mech->coords->pair[j];
    const int is_light = cpMechIsLight(mech, w + mech->nq, heaviest, j);
    const double floor = is_light ? part * size[j] / M_jj : 0.0;
    size[j]            = h * floor;
    if (floor * w[mech->nq + j] > 1.0) w[mech->nq + j] = 1.0 / floor;
    if (i >= 0 && h * floor * w[i] > 1.0) w[i] = 1.0 / (h * floor);
  }
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    const CPMechQuaternion *e = &mech->coords->quaternions[k];
    const double angle        = cpLargest(size + e->first_u, 3) / 2.0;
    for (int i = e->first_q; i < e->first_q + 4; i++)
      if (angle * w[i] > 1.0) w[i] = 1.0 / angle;
  }
}

/* Multiplied by a time tau, errors of velocities have the unit of positions, and so have those of z
 * multiplied by a power of tau: w_u <- tau w_u, w_z <- tau^z_order w_z. CP_TAU_STEP stands for the
 * step size, at most 1 (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section
 * VII.7: RADAU5 multiplies these errors by h).
 *
 * Group norms: w_i <- sqrt(n / n_g) w_i for the n_g components of group g = q, u, z, so that
 * 1/n sum_i (w_i e_i)^2 = sum_g 1/n_g sum_{i in g} (w_i e_i)^2 with the former weights on the
 * right. */
static int scaleWeights(N_Vector ewt, void *data) {
  const CPMech mech   = data;
  sunrealtype *w      = N_VGetArrayPointer(ewt);
  const int groups[3] = {mech->nq, mech->nu, mech->nz}, *z_order = mech->eq->z_order;
  double tau = mech->options.tau;
  boundByRoundoff(mech, w);
  if (tau == CP_TAU_STEP) {
    const double h = mech->host->ops->step(mech->host);
    /* There is no step size before the first step. */
    tau = h != 0.0 ? fmin(1.0, fabs(h)) : 1.0;
  }
  for (int j = 0; tau != 0.0 && j < mech->nu; j++) w[mech->nq + j] *= tau;
  for (int k = 0; tau != 0.0 && z_order && k < mech->nz; k++)
    w[mech->nq + mech->nu + k] *= pow(tau, z_order[k]);
  for (int g = 0; mech->options.group_norms && g < 3; g++)
    for (int i = 0; i < groups[g]; i++) *w++ *= sqrt((double)mech->n / groups[g]);
  return CP_SUCCESS;
}

/* ---- the system, as an integrator sees it ---- */

static int cause(const char **reason, void *data) {
  const CPMech mech = data;
  *reason           = mech->text;
  return mech->attached.cause;
}

void cpMechDetach(void *data) {
  const CPMech mech = data;
  cpMechImplicitFree(&mech->implicit);
  cpMechNewtonFree(&mech->newton);
  cpMechExpectedFree(mech);
  if (mech->attached.fixed_point) SUNNonlinSolFree(mech->attached.fixed_point);
  mech->attached.fixed_point = NULL;
  mech->host                 = NULL;
  mech->attached.installed   = 0;
}

static void begin(sunrealtype t, void *data) { ((CPMech)data)->stage.start = t; }

/* Models that know udot factor A where a run starts, and later only where they must. */
static int rank(void *data, int *rows) {
  const CPMech mech = data;
  *rows             = 0;
  if (mech->operators || !mech->stage.largest) return -1;
  const int is_new = cpMechKnowsUdot(mech) && mech->stage.t != mech->host->t;
  if (is_new && cpMechFactor(mech, mech->stage.t, mech->stage.q)) return -1;
  for (int i = 0; i < mech->m; i++) *rows += !mech->rows.off[i];
  return (int)mech->stats.rank;
}

/* ---- attaching ---- */

/* Called once, after the first start. Explicit methods have no iteration matrix. Adams methods,
 * which are for nonstiff problems, have one only on request: fixed-point iteration takes 0.9 times
 * as many evaluations of f as Newton's iteration (pendulum), and no partial derivatives. */
static int install(CPMech mech, CPIntegrator s) {
  /* No position is singular: the start of a run need not be examined. */
  const int always_full = mech->m == 0 || (mech->eq->regular && mech->motions->count == 0);
  const CPSystem system = {.data        = mech,
                           .acts        = mech->eq->event_source && !mech->eq->kinks,
                           .angles      = mech->eq->angles,
                           .nangles     = mech->eq->nangles,
                           .turns       = mech->turns,
                           .turned      = mech->turns ? cpMechTurned : NULL,
                           .scale       = scaleWeights,
                           .begin       = begin,
                           .linsys      = cpMechLinearSystem,
                           .leave_out   = cpMechLeaveQuadratures,
                           .quadratures = cpMechQuadratures,
                           .on_manifold = mech->eq->regular ? NULL : cpMechOnManifold,
                           .rank        = always_full ? NULL : rank,
                           .expect      = mech->eq->inverse ? cpMechExpect : NULL,
                           .ends        = cpMechStepEnds,
                           .accepted    = cpMechShakyStep,
                           .limit       = cpMechLimit,
                           .fastest     = cpMechFastest,
                           .cause       = cause,
                           .detach      = cpMechDetach,
                           .sens        = &cpMechSensModel};
  if (mech->turns) memset(mech->turns, 0, (size_t)mech->nq * sizeof *mech->turns);
  CPIteration iteration = s->ops->iteration(s);
  const int is_adams    = iteration == CP_FIXED_POINT || iteration == CP_USERS_ITERATION;
  if (is_adams && mech->options.newton_type != CP_NEWTON_AUTO) iteration = CP_NEWTON;
  mech->stage.narrows   = 0;
  mech->stage.last_sine = 0.0;
  mech->stats.newton    = CP_NEWTON_NONE;
  int flag              = s->ops->system(s, &system);
  if (!flag && iteration == CP_FIXED_POINT) {
    mech->attached.fixed_point = SUNNonlinSol_FixedPoint(mech->y_tmpl, 0, mech->ctx);
    flag = mech->attached.fixed_point ? CPIntegratorSetNonlinearSolver(s, mech->attached.fixed_point)
                                      : CP_MEM_FAIL;
  }
  if (!flag && iteration == CP_NEWTON && mech->options.newton_type != CP_NEWTON_NONE)
    flag = cpMechNewtonAttach(mech, s);
  if (!flag && iteration == CP_NEWTON && mech->newton) flag = cpMechExpectedCreate(mech);
  if (!flag && iteration == CP_IMPLICIT) flag = cpMechImplicitAttach(mech, &s->system.implicit);
  return flag ? flag : CPIntegratorSetProjector(s, mech->P);
}

static int attach(CPMech mech, CPIntegrator s, sunrealtype t0, N_Vector y0, const char *function) {
  int flag = cpMechCheckState(mech, y0, function);
  if (flag) return flag;
  if (!s) return cpRefuse(&mech->log, function, "mem must not be NULL");
  const int again = s->begun;
  if (s->attached)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, function,
                    "mem has memory of CVODES' that is not its own (CPIntegratorAttach): use "
                    "CPIntegratorCreate");
  cpMechForgetReach(mech); /* runs are alike */
  if (mech->host && mech->host != s)
    return cpRefuse(&mech->log, function,
                    "the system is attached to another integrator: free that first");
  if (!mech->host && again)
    return cpRefuse(&mech->log, function,
                    "mem has a right-hand side already: use a new one of CPIntegratorCreate's");
  if (mech->host && !mech->attached.installed)
    return cpRefuse(&mech->log, function,
                    "mem is what an earlier %s left when it failed: free it and create another one",
                    function);
  s->log.text[0]       = '\0';
  mech->text[0]        = '\0';
  mech->attached.cause = 0;
  flag = again ? CPIntegratorReInit(s, t0, y0) : CPIntegratorInit(s, CPMechRhs, t0, y0);
  if (!flag && !mech->host) {
    mech->host               = s;
    flag                     = install(mech, s);
    mech->attached.installed = !flag;
  }
  if (!flag) return CP_SUCCESS;
  if (flag == CP_MEM_FAIL) return cpReport(&mech->log, flag, function, "no memory");
  return cpReport(&mech->log, flag, function, "the integrator refused it: %s",
                  s->log.text[0] ? s->log.text : mech->text);
}

/* Both objects keep the message, because the user may query either of them. */
int CPMechAttach(CPMech mech, CPIntegrator mem, sunrealtype t0, N_Vector y0) {
  const int flag = attach(mech, mem, t0, y0, __func__);
  if (flag && mem) cpWrite(mem->log.text, "%s", mech ? mech->log.text : "mech must not be NULL");
  return flag;
}

int CPMechGetUse(CPMech mech) {
  if (!mech) return 0;
  return (mech->host ? CP_MECH_ATTACHED : 0) | (mech->log.running > 0 ? CP_MECH_BUSY : 0);
}
