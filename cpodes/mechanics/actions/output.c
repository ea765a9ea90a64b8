/* Quantities at one state, and counters. */
#include "actions.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/forces.h"
#include "cpodes/mechanics/functions.h"

#include <math.h>
#include <string.h>

/* Workspace of one evaluation */
typedef struct {
  CPArena arena;
  double *a, *force, *Mu, *f; /* [nu] */
  double *lambda, *rows, *b;  /* [m] */
} Room;

/* Returns the largest |r_i| of the active rows with mask 1, or of all active rows if mask is
 * NULL. */
static double largest(const CPMech mech, const double *r, const char *mask) {
  double size = 0.0;
  for (int i = 0; i < mech->m; i++)
    if (!mech->rows.off[i] && (!mask || mask[i])) size = fmax(size, fabs(r[i]));
  return size;
}

/* With operators b needs a function v or b, which such a model may lack. */
static int hasB(const CPMech mech) {
  return !mech->operators || mech->eq->b || mech->na == mech->nv;
}

static int residuals(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  double *r = room->rows;
  int flag  = cpMechPositions(mech, s->t, s->q, r); /* p(t, q) */
  if (flag) return flag;
  out->position = largest(mech, r, mech->model->rows.at_position);
  flag          = cpMechVelocities(mech, s->t, s->q, s->u, r); /* v(t, q, u) */
  if (flag) return flag;
  out->velocity = largest(mech, r, mech->model->rows.at_velocity);
  out->norms    = 0.0;
  for (int k = 0; k < cpMechNumNorms(mech); k++) {
    const CPUnitNorm n   = cpMechNorm(mech, k);
    const sunrealtype *q = s->q + n.first;
    out->norms           = fmax(out->norms, fabs(sqrt(cpDot(q, q, n.length)) - n.value));
  }
  out->acceleration = NAN;
  if (!hasB(mech)) return CP_SUCCESS;
  flag = cpMechB(mech, s, room->b);
  if (!flag) flag = cpMechTimes(mech, s->t, s->q, 0, room->a, r);
  for (int i = 0; !flag && i < mech->m; i++) r[i] -= room->b[i]; /* A a - b */
  if (!flag) out->acceleration = largest(mech, r, NULL);
  return flag;
}

/* Computes the constraint forces -A^T lambda, their power, and u.M u / 2. FULL motions have no
 * multiplier: the force that drives u_j is row j of M a - f. */
static int forces(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  const int nu  = mech->nu;
  double *force = room->force, *Mu = room->Mu;
  int flag = cpMechTimes(mech, s->t, s->q, 1, room->lambda, force);
  for (int j = 0; !flag && j < nu; j++) force[j] = -force[j];
  if (!flag && !mech->operators) flag = cpMechMass(mech, s->t, s->q);
  if (!flag && mech->motions->nfull > 0) {
    flag = cpMechForces(mech, s, room->f);
    if (!flag) flag = cpMechAddForces(mech, s, 1, room->lambda, room->f);
    cpMatTimes(&mech->userM.A, 1.0, room->a, 0.0, Mu);
    for (int j = 0; j < nu; j++)
      if (mech->motions->is_full[j]) force[j] = Mu[j] - room->f[j];
  }
  if (flag) return flag;
  out->power   = cpDot(force, s->u, nu);
  out->kinetic = NAN;
  if (mech->operators && !mech->eq->Mu) return CP_SUCCESS;
  if (!mech->operators) cpMatTimes(&mech->userM.A, 1.0, s->u, 0.0, Mu);
  else flag = cpMechOperator(mech, mech->eq->Mu, "Mu", s->t, s->q, s->u, Mu, nu);
  if (!flag) out->kinetic = 0.5 * cpDot(s->u, Mu, nu);
  return flag;
}

static void copyDense(const CPMat *A, double *to) {
  memset(to, 0, (size_t)A->rows * (size_t)A->cols * sizeof *to);
  for (int j = 0; j < A->cols; j++, to += A->rows)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++)
      to[cpMatRow(A, j, k)] = A->value[k];
}

/* M by the operator Mu, and A by its products; unit [nu] is 0 before and after. */
static int massByProducts(CPMech mech, const CPMechState *s, double *unit, double *M) {
  int flag = CP_SUCCESS;
  for (int k = 0; k < mech->nu && !flag; k++, M += mech->nu) {
    unit[k] = 1.0;
    flag    = cpMechOperator(mech, mech->eq->Mu, "Mu", s->t, s->q, unit, M, mech->nu);
    unit[k] = 0.0;
  }
  return flag;
}
static int rowsByProducts(CPMech mech, const CPMechState *s, double *unit, double *A) {
  int flag = CP_SUCCESS;
  for (int k = 0; k < mech->nu && !flag; k++, A += mech->m) {
    unit[k] = 1.0;
    flag    = cpMechTimes(mech, s->t, s->q, 0, unit, A);
    unit[k] = 0.0;
  }
  return flag;
}

/* M, A, f and b, as far as they are wanted */
static int terms(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  const size_t nu = (size_t)mech->nu, m = (size_t)mech->m;
  int flag = CP_SUCCESS;
  if ((out->M && mech->operators && !mech->eq->Mu) || (out->b && !hasB(mech)))
    return cpReason(mech->text, CP_NOT_SUPPORTED, "with operators %s",
                    out->b && !hasB(mech) ? "b needs a function v or b" : "M needs Mu");
  memset(room->Mu, 0, nu * sizeof *room->Mu);
  if (out->M && mech->operators) flag = massByProducts(mech, s, room->Mu, out->M);
  else if (out->M && !(flag = cpMechMass(mech, s->t, s->q))) copyDense(&mech->userM.A, out->M);
  if (!flag && out->A && cpMechMultiplies(mech)) flag = rowsByProducts(mech, s, room->Mu, out->A);
  else if (!flag && out->A && !(flag = cpMechA(mech, s->t, s->q))) copyDense(&mech->A, out->A);
  for (size_t k = 0; k < nu && !flag && out->A; k++)
    for (size_t i = 0; i < m; i++)
      if (mech->rows.off[i]) out->A[k * m + i] = 0.0;
  if (!flag && out->f) flag = cpMechForces(mech, s, out->f);
  if (!flag && out->b) flag = cpMechB(mech, s, out->b);
  for (size_t i = 0; i < m && !flag && out->b; i++)
    if (mech->rows.off[i]) out->b[i] = 0.0;
  return flag;
}

/* All but the terms */
static int motion(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  const size_t nu = (size_t)mech->nu, m = (size_t)mech->m;
  int flag = cpMechSolve(mech, s, room->a, room->lambda);
  if (!flag) flag = residuals(mech, s, room, out);
  if (!flag) flag = forces(mech, s, room, out);
  if (flag) return flag;
  out->rank   = mech->operators ? -1 : mech->kkt->rank;
  out->unique = mech->operators || mech->kkt->dependent < 0;
  if (out->udot) memcpy(out->udot, room->a, nu * sizeof *room->a);
  if (out->lambda) memcpy(out->lambda, room->lambda, m * sizeof *room->lambda);
  if (out->reaction) memcpy(out->reaction, room->force, nu * sizeof *room->force);
  CPMechOutput *last = &mech->stats.last;
  *last              = *out;
  last->udot = last->lambda = last->reaction = last->M = last->A = last->f = last->b = NULL;
  return CP_SUCCESS;
}

/* Computes the values of out, and keeps them in stats.last. Returns 0, or a code with the
 * reason in mech->text; out is then unchanged. */
static int evaluateAt(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out) {
  const int only_terms =
      (out->M || out->A || out->f || out->b) && !out->udot && !out->lambda && !out->reaction;
  CPMechOutput values = *out;
  CPMechState s;
  Room room = {.a = NULL};
  CP_ARRAYS(&room.arena, mech->nu, &room.a, &room.force, &room.Mu, &room.f);
  CP_ARRAYS(&room.arena, mech->m, &room.lambda, &room.rows, &room.b);
  int flag = cpArenaStatus(&room.arena);
  if (flag) cpReason(mech->text, flag, "out of memory");
  if (!flag) flag = cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = terms(mech, &s, &room, &values);
  if (only_terms) {
    values.kinetic = values.power = values.norms = NAN;
    values.position = values.velocity = values.acceleration = NAN;
  } else if (!flag) flag = motion(mech, &s, &room, &values);
  if (!flag) *out = values;
  cpArenaFree(&room.arena);
  return flag;
}

int CPMechEvaluate(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out) {
  CPMechOutput own = {.size = 0};
  int flag         = cpMechCheckState(mech, y, __func__);
  if (!flag) flag = cpTake(&mech->log, &own, out, __func__);
  if (flag) return flag;
  flag = cpMechReport(mech, evaluateAt(mech, t, y, &own), __func__);
  if (!flag) cpGive(out, &own);
  return flag;
}

/* ---- counters ---- */

static const CPCounter table[] = {CP_STAT(CPMechStats, nM, "mass_evals"),
                                  CP_STAT(CPMechStats, nA, "constraint_matrix_evals"),
                                  CP_STAT(CPMechStats, nf, "force_evals"),
                                  CP_STAT(CPMechStats, nb, "acceleration_constraint_evals"),
                                  CP_STAT(CPMechStats, nv, "velocity_constraint_evals"),
                                  CP_STAT(CPMechStats, np, "position_constraint_evals"),
                                  CP_STAT(CPMechStats, nudot, "accelerations"),
                                  CP_STAT(CPMechStats, nkkt, "kkt_factorizations"),
                                  CP_STAT(CPMechStats, nlambda, "multiplier_iters"),
                                  CP_STAT(CPMechStats, npartials, "partials_evals"),
                                  CP_STAT(CPMechStats, nDQ, "evals_dq"),
                                  CP_STAT(CPMechStats, nnewton, "newton_factorizations"),
                                  CP_STAT(CPMechStats, nprojfact, "projection_factorizations"),
                                  CP_STAT(CPMechStats, rank, "rank"),
                                  CP_STAT(CPMechStats, unique, "unique_multipliers"),
                                  CP_STAT(CPMechStats, linsol, "kkt_solver"),
                                  CP_STAT(CPMechStats, newton, "newton_solver"),
                                  CP_STAT(CPMechStats, last.rank, "last_rank"),
                                  CP_STAT(CPMechStats, last.unique, "last_unique_multipliers"),
                                  CP_STAT(CPMechStats, last.kinetic, "kinetic_energy"),
                                  CP_STAT(CPMechStats, last.power, "constraint_power"),
                                  CP_STAT(CPMechStats, last.position, "position_residual"),
                                  CP_STAT(CPMechStats, last.velocity, "velocity_residual"),
                                  CP_STAT(CPMechStats, last.acceleration, "acceleration_residual"),
                                  CP_STAT(CPMechStats, last.norms, "norm_residual"),
                                  {NULL, 0, CP_OF_INT}};

static void readCounters(CPObject object, void *to) {
  const CPMech mech  = (CPMech)object;
  CPMechStats *stats = to;
  *stats             = mech->stats;
  if (stats->nkkt > 0 && mech->kkt) stats->linsol = cpSaddleTypeOf(mech->kkt);
}

static CPObject owned(CPObject mech) { return CP_OBJECT(((CPMech)mech)->P); }

const CPKind cpMechKind = {table, readCounters, owned};
