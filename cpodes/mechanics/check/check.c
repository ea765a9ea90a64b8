/* CPMechCheck compares the functions of a model with each other and with differences. */
#include "check_impl.h"
#include "cpodes/base/random.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/actions/actions.h"
#include "cpodes/mechanics/kinematics.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- life cycle ---- */

static int create(CPCheck *check) {
  const CPMech mech = check->mech;
  CPArena *arena    = &check->arena;
  const int most    = mech->nq + mech->nu + mech->nz + mech->m + mech->motions->count;
  CPCheckPoint *at = &check->at, *near = &check->near, *along = &check->along;
  CP_ARRAYS(arena, mech->nq, &at->q, &near->q, &along->q, &check->q_state);
  CP_ARRAYS(arena, mech->nu, &at->u, &near->u, &along->u, &check->u_state, &check->a);
  CP_ARRAYS(arena, mech->nz, &at->z, &near->z, &along->z);
  CP_ARRAYS(arena, mech->m, &at->lambda, &near->lambda, &along->lambda);
  CP_ARRAYS(arena, most, &check->given, &check->expected, &check->value, &check->centre,
            &check->terms, &check->largest_terms, &check->e, &check->w, &check->x);
  for (int k = 0; k < CP_CHECK_STEPS; k++)
    for (int of = 0; of < CP_CHECK_SIDES; of++) CP_NEW(arena, check->differences[k].from[of], most);
  CP_NEW(arena, check->skipped, most);
  CP_NEW(arena, check->left, mech->m);
  CP_NEW(arena, check->row, most);
  const int flag = cpMatOwn(arena, &check->A);
  return flag ? flag : cpArenaStatus(arena);
}

/* ---- the state ---- */

/* Moves x away from special values, by up to 0.3 times the largest entry, because at rest most
 * terms vanish. Up to `rest`, entries are roundoff of 0. */
static void perturb(double *x, int length, unsigned seed, double rest) {
  unsigned state       = seed;
  const double largest = cpLargest(x, length), size = largest > rest ? 0.3 * largest : 0.3;
  for (int i = 0; i < length; i++) x[i] += size * cpUniformAwayFromZero(&state);
}

/* Keeps A of the state, because differences evaluate it at other states, and finds its rows without entries. */
static int keepA(CPCheck *check) {
  const CPMech mech = check->mech;
  if (mech->operators) return CP_SUCCESS;
  int flag = cpMechA(mech, check->at.t, check->at.q);
  if (!flag && !check->A.value && (flag = cpMatClone(&check->A, &mech->A)))
    cpReason(mech->text, flag, "no memory for a copy of A");
  if (!flag && cpMatEntries(&check->A) > 0)
    memcpy(check->A.value, mech->A.value, cpMatEntries(&check->A) * sizeof(double));
  memset(check->left, mech->eq->use_rows != NULL, (size_t)mech->m);
  for (int j = 0; !flag && j < mech->nu; j++)
    for (size_t k = cpMatFirst(&check->A, j); k < cpMatFirst(&check->A, j + 1); k++)
      if (check->A.value[k] != 0.0) check->left[cpMatRow(&check->A, j, k)] = 0;
  return flag;
}

static int readState(CPCheck *check, sunrealtype t, const sunrealtype *y) {
  const CPMech mech = check->mech;
  double *q         = check->at.q;
  CPMechState s;
  const int flag = cpMechRead(mech, t, y, &s);
  if (flag) return flag;
  check->at.t = t;
  memcpy(q, s.q, (size_t)mech->nq * sizeof *s.q);
  memcpy(check->at.u, s.u, (size_t)mech->nu * sizeof *s.u);
  if (mech->nz > 0) memcpy(check->at.z, s.z, (size_t)mech->nz * sizeof *s.z);
  /* Functions are checked at the prescribed norms, because quaternions and vectors with other norms
   * have another meaning. */
  for (int k = 0; k < cpMechNumNorms(mech); k++) {
    const CPUnitNorm n = cpMechNorm(mech, k);
    const double norm  = sqrt(cpDot(q + n.first, q + n.first, n.length));
    if (fabs(norm - n.value) > CP_CHECK_LIMIT * n.value)
      cpReport(&mech->log, CV_WARNING, "CPMechCheck",
               "the %s %d to %d has norm %.6g, not %g; it is checked with that",
               k < mech->coords->nquaternions ? "quaternion" : "vector of coordinates", n.first,
               n.first + n.length - 1, norm, n.value);
  }
  const int zero = cpMechNormalise(mech, t, q);
  return zero ? zero : keepA(check);
}

/* ---- the check ---- */

/* Moves positions along an allowed velocity P x with a random x, because most functions are first
 * tried at special positions: a quaternion that is 1, a rod that lies on an axis. If there is no
 * such velocity, or M is missing or not definite, check->moved remains 0. */
static int moveOn(CPCheck *check, N_Vector y) {
  const CPMech mech = check->mech;
  double *q = check->at.q, *dq = check->along.q;
  CPAction act;
  int flag = cpActionOpen(&act, mech, check->at.t, y, "CPMechCheck");
  memset(check->x, 0, (size_t)mech->nu * sizeof *check->x);
  perturb(check->x, mech->nu, 5u, 0.0);
  if (!flag) cpActionRows(&act, 1);
  if (!flag) flag = cpActionFactor(&act);
  if (!flag) flag = cpActionMass(&act, check->x, check->w);
  if (!flag) flag = cpActionSolve(&act, check->w, NULL, act.d, act.mu);
  if (!flag) flag = cpMechKinematics(mech, q, CP_N, act.d, dq);
  cpActionClose(&act);
  if (flag == CP_MEM_FAIL) return cpReason(mech->text, flag, "no memory for a check");
  if (flag) return CP_SUCCESS;
  const double size = fmax(mech->eq->typical, cpLargest(q, mech->nq)), way = cpLargest(dq, mech->nq);
  if (!(way > 0.0) || isinf(way)) return CP_SUCCESS;
  /* Relations that hold on the manifold only are then wrong by the square of this: a quarter of CP_CHECK_LIMIT. */
  const double part = sqrt(CP_CHECK_LIMIT) / 2.0;
  const double step = part * (size > 0.0 ? fmin(size, 1.0) : 1.0) / way;
  for (int i = 0; i < mech->nq; i++) q[i] += step * dq[i];
  check->moved = 1;
  return cpMechNormalise(mech, check->at.t, q);
}

/* Compares at the state and at a state nearby. */
static int compareConstraints(CPCheck *check, N_Vector y, int (*compare)(CPCheck *check)) {
  const CPMech mech   = check->mech;
  const size_t length = (size_t)mech->nq * sizeof *check->at.q;
  int flag            = compare(check);
  if (flag || mech->m == 0 || check->code) return flag;
  memcpy(check->q_state, check->at.q, length);
  flag = moveOn(check, y);
  if (!flag && check->moved) flag = keepA(check);
  if (!flag && check->moved) flag = compare(check);
  check->moved = 0;
  memcpy(check->at.q, check->q_state, length);
  return flag ? flag : keepA(check);
}

/* Checks that M is positive definite on the allowed velocities, and that there are some. */
static int checkFreedom(CPCheck *check) {
  const CPMech mech = check->mech;
  if (mech->operators || check->code) return CP_SUCCESS;
  const int flag = cpMechFactor(mech, check->at.t, check->at.q);
  if (flag == -CP_MASS_INDEFINITE) {
    check->code = CP_MASS_INDEFINITE;
    cpWrite(check->text, "%s", mech->text);
  }
  /* Other failures will show in the run. */
  if (flag) return flag == CP_MEM_FAIL ? flag : CP_SUCCESS;
  check->report->freedom = mech->nu - mech->motions->nfull - mech->kkt->rank;
  if (check->report->freedom == 0)
    cpReport(
        &mech->log, CV_WARNING, "CPMechCheck",
        "no velocity is free: the rank of A is %d, of %d velocities that no motion prescribes; "
        "M and f have no influence on the motion, only on the multipliers",
        mech->kkt->rank, mech->nu - mech->motions->nfull);
  return CP_SUCCESS;
}

/* Accelerations are those of the given state, because other velocities may contradict dependent
 * rows. */
static int compareEverything(CPCheck *check, N_Vector y) {
  const CPMech mech   = check->mech;
  const size_t length = (size_t)mech->nu * sizeof *check->at.u;
  /* Slower velocities change no position during the time over which differences are formed. */
  const double rest = DBL_EPSILON * cpTypicalOf(cpLargest(check->at.q, mech->nq)) / mech->eq->time;
  memcpy(check->u_state, check->at.u, length);
  perturb(check->at.u, mech->nu, 1u, rest);
  int flag = cpCheckStructure(check);
  /* A comes first, because rates may be formed with it. */
  if (!flag) flag = compareConstraints(check, y, cpCheckJacobians);
  if (!flag) flag = compareConstraints(check, y, cpCheckRates);
  if (!flag) flag = checkFreedom(check);
  const CPEquations *m  = mech->eq;
  const int accelerates = m->dynamics_jac || m->constraint_jac || m->auxiliary_jac ||
                          m->lambda_jac || m->udot_jac || cpHasPatterns(mech) ||
                          cpMechKnowsUdot(mech);
  if (flag || !accelerates) return flag;
  memcpy(check->at.u, check->u_state, length);
  const CPMechState s = cpCheckStateOf(&check->at);
  flag                = cpMechSolve(mech, &s, check->a, check->at.lambda);
  if (!flag) flag = cpCheckUdot(check);
  perturb(check->a, mech->nu, 2u,
          0.0); /* What partial derivatives hold has the size of the solution. */
  perturb(check->at.lambda, mech->m, 3u, 0.0);
  for (int i = 0; i < mech->m; i++)
    if (check->left[i]) check->at.lambda[i] = 0.0;
  perturb(check->at.u, mech->nu, 1u, rest);
  return flag ? flag : cpCheckPartials(check);
}

/* A check does not count as the first use: options may follow it. */
int CPMechCheck(CPMech mech, sunrealtype t, N_Vector y, CPMechReport *report) {
  const int used = mech && mech->ready;
  CPMechReport own;
  CPCheck check = {.mech = mech, .report = &own};
  int flag      = cpMechCheckState(mech, y, __func__);
  if (!flag) flag = cpTake(&mech->log, &own, report, __func__);
  if (!flag) {
    own  = (CPMechReport){.A_row = -1, .A_col = -1, .b_row = -1, .freedom = -1};
    flag = create(&check);
    if (flag) cpReason(mech->text, flag, "no memory for a check");
    mech->rows.all = 1;
    if (!flag) flag = readState(&check, t, N_VGetArrayPointer(y));
    if (!flag) flag = compareEverything(&check, y);
    mech->rows.all = 0;
    cpArenaFree(&check.arena);
    flag = check.code ? cpReport(&mech->log, check.code, __func__, "%s", check.text)
                      : cpMechReport(mech, flag, __func__);
    cpGive(report, &own);
  }
  if (mech && !used) cpMechTearDown(mech);
  return flag;
}
