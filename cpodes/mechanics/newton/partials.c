/* Everything in the iteration matrix that does not depend on gamma: M, A, the blocks K, C, ..., Zl
 * by the user's functions or by differences, and which rows are fixed. */
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/forces.h"
#include "cpodes/mechanics/functions.h"
#include "newton_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- which blocks exist, and which of them the user gives ---- */

/* The rows of auxiliary_jac, those of quadratures included unless Zz_tmpl leaves them out */
static int ratesGiven(const CPEquations *model) {
  return model->Zz_tmpl ? (int)cpTemplateRows(model->Zz_tmpl) : (int)model->nz;
}

static SUNMatrix templateOf(const CPPartials P, CPOutput of, CPDirection by) {
  const CPEquations *model                        = P->mech->eq;
  const SUNMatrix tmpl[CP_OUTPUTS][CP_DIRECTIONS] = {
      {model->K_tmpl, model->C_tmpl ? model->C_tmpl : model->K_tmpl, model->Fz_tmpl, NULL},
      {model->Bq_tmpl, model->Bu_tmpl, NULL, NULL},
      {model->Zq_tmpl, model->Zu_tmpl, model->Zz_tmpl, NULL}};
  const int has = of == CP_OF_Z ? P->nz == ratesGiven(model) : P->kkt;
  return has ? tmpl[of][by] : NULL;
}

/* Rows of motions in B are zero, and so are the derivatives of B with respect to z and lambda. */
static int exists(const CPPartials P, CPOutput of, CPDirection by) {
  if (P->rows[of] == 0 || P->cols[by] == 0) return 0;
  if (of == CP_OF_B) return by == CP_BY_Q || by == CP_BY_U;
  if (of == CP_OF_F && by == CP_BY_LAMBDA) return cpMechHasLambdaForces(P->mech);
  return 1;
}

/* If the matrix is sparse, the user's function fills only blocks that have a template. With HALF
 * and auxiliary_jac, the dependence of zdot on the state through lambda is neglected. */
static int isGiven(const CPPartials P, CPOutput of, CPDirection by) {
  const CPEquations *model = P->mech->eq;
  if (by == CP_BY_LAMBDA) return of == CP_OF_F && cpMechKnowsLambdaJac(P->mech);
  if (of == CP_OF_Z) return model->auxiliary_jac && P->nz == ratesGiven(model);
  if (!P->kkt) /* It knows no added forces, and no motions. */
    return model->udot_jac && P->mech->forces.count == 0 && P->mech->motions->count == 0;
  if (of == CP_OF_F && cpMechIsLinear(P->mech)) return 1;
  if (P->sparse && by != CP_BY_Z && !templateOf(P, of, by)) return 0;
  if (of == CP_OF_B) return model->constraint_jac != NULL;
  return model->dynamics_jac != NULL;
}

/* ---- forces of CPMechAddForce ---- */

static SUNMatrix forceTemplate(const CPMechForce *force, CPDirection by) {
  return by == CP_BY_Z                    ? force->Fz_tmpl
         : by == CP_BY_U && force->C_tmpl ? force->C_tmpl
                                          : force->K_tmpl;
}

/* The user's function fills what isGiven says of the model's. */
static int forceIsGiven(const CPPartials P, const CPMechForce *force, CPDirection by) {
  return force->jac && (!P->sparse || by == CP_BY_Z || forceTemplate(force, by));
}

/* Are there forces whose derivatives are added to those of the model, by differences? */
int cpForcesAreDisplaced(const CPPartials P, CPDirection by) {
  const CPMechForceList *forces = &P->mech->forces;
  int any                       = 0;
  if (by == CP_BY_LAMBDA || !P->block[CP_OF_F][by].given) return 0;
  for (int k = 0; k < forces->count; k++) any |= !forceIsGiven(P, &forces->list[k], by);
  return any;
}

int cpForcesDisplaced(CPPartials P, CPDirection by, const CPMechState *s, double *F) {
  const CPMechForceList *forces = &P->mech->forces;
  int flag                      = CP_SUCCESS;
  memset(F, 0, (size_t)P->nu * sizeof *F);
  for (int k = 0; !flag && k < forces->count; k++)
    if (!forceIsGiven(P, &forces->list[k], by))
      flag = cpMechAddForce(P->mech, &forces->list[k], s, P->lambda, F);
  return flag;
}

static int createForces(CPPartials P) {
  const CPMech mech = P->mech;
  int flag          = CP_SUCCESS;
  CP_NEW(&P->arena, P->force, mech->forces.count);
  if (cpArenaStatus(&P->arena)) return CP_MEM_FAIL;
  for (int k = 0; k < mech->forces.count; k++)
    for (int by = 0; !flag && by < CP_BY_LAMBDA; by++) {
      const CPMechForce *force = &mech->forces.list[k];
      SUNMatrix tmpl           = forceTemplate(force, (CPDirection)by);
      if (!P->cols[by] || (!tmpl && !forceIsGiven(P, force, (CPDirection)by))) continue;
      flag = cpUserMatOwn(&P->arena, &P->force[k][by]);
      if (!flag)
        flag = cpUserMatCreate(&P->force[k][by], NULL, tmpl, P->nu, P->cols[by], mech->ctx);
    }
  return flag;
}

/* Does a force without a pattern, or with a dense one, make the block full? Without a pattern, derivatives
 * with respect to positions and velocities have that of M and A. */
static int forceIsFull(const CPPartials P, int k, CPDirection by) {
  if (by == CP_BY_LAMBDA) return 0;
  return P->force[k][by].S ? !P->force[k][by].A.start : by == CP_BY_Z;
}

/* Adds the derivatives of all forces that are given to the blocks of F that are given. */
static int addForces(CPPartials P) {
  const CPMech mech = P->mech;
  int flag          = CP_SUCCESS;
  for (int k = 0; !flag && k < mech->forces.count; k++) {
    const CPMechForce *force  = &mech->forces.list[k];
    SUNMatrix S[CP_BY_LAMBDA] = {NULL};
    if (!force->f || !force->jac) continue;
    for (int by = 0; by < CP_BY_LAMBDA; by++) {
      if (!P->cols[by] || !forceIsGiven(P, force, (CPDirection)by)) continue;
      S[by] = P->force[k][by].S;
      cpUserMatClear(&P->force[k][by]);
    }
    const double *q = cpMechWhole(mech, P->q);
    flag =
        cpCallUser(&mech->log, force->jac(P->t, q, P->u, P->z, force->on_lambda ? P->lambda : NULL,
                                          S[0], S[1], S[2], force->data));
    cpMechEndWhole(mech, q);
    for (int by = 0; by < CP_BY_LAMBDA; by++) {
      CPBlock *block = &P->block[CP_OF_F][by];
      if (!S[by] || flag) continue;
      flag = cpMechTake(mech, &P->force[k][by], flag, P->t, "jac (CPMechAddForce)");
      if (!flag && block->given) cpMatAdd(&block->J, 1.0, &P->force[k][by].A);
    }
    if (flag) return cpMechResult(mech, flag, P->t, "jac (CPMechAddForce)");
  }
  return flag;
}

/* ---- creation ---- */

/* A block that is given, or of zdot, or with respect to z, has the pattern of its template. A block
 * by differences also contains the pattern that follows from M and A: derivatives of B = b - A a
 * with respect to positions and velocities have the pattern of A, those of M a and A^T lambda in F
 * with respect to positions have the patterns of M and A^T A, and springs and dampers mostly have
 * their entries among these. */
static int createPattern(const CPPartials P, CPOutput of, CPDirection by, const CPBlock *block,
                         CPMat *J) {
  const CPMech mech = P->mech;
  const CPMat *tmpl = templateOf(P, of, by) ? &block->user.A : NULL;
  const int rows = P->rows[of], cols = P->cols[by], to_motion = by == CP_BY_Q || by == CP_BY_U;
  if (tmpl ? !tmpl->start : !P->sparse || of == CP_OF_Z || !to_motion)
    return cpMatCreateDense(J, rows, cols);
  int ours     = P->sparse && !block->given && of != CP_OF_Z && to_motion;
  CPPlaces all = {0};
  for (int k = 0; of == CP_OF_F && k < mech->forces.count; k++)
    if (forceIsFull(P, k, by)) return cpMatCreateDense(J, rows, cols);
  for (int k = 0; of == CP_OF_F && by != CP_BY_LAMBDA && k < mech->forces.count; k++) {
    if (P->force[k][by].S) cpPlacesAddMat(&all, &P->force[k][by].A, 0, 0, 0);
    else ours = 1;
  }
  if (tmpl) cpPlacesAddMat(&all, tmpl, 0, 0, 0);
  if (ours && of == CP_OF_F && (by == CP_BY_Q || !mech->eq->C_tmpl)) {
    cpPlacesAddMat(&all, &mech->userM.A, 0, 0, 0);
    cpPlacesAddNormal(&all, &mech->userA.A);
  }
  if (ours && of == CP_OF_B && (by == CP_BY_Q || !tmpl))
    cpPlacesAddMat(&all, &mech->userA.A, 0, 0, 0);
  const int flag = cpMatFromPlaces(J, rows, cols, &all);
  if (flag || mech->coords->nquaternions == 0 ||
      !(by == CP_BY_Q || (by == CP_BY_U && !block->given)))
    return flag;
  /* The columns of a quaternion's three velocities share a pattern: a function of one of its
   * components depends on all three rotations, and b, because of q' = N u, on all three velocities.
   * T mixes them, too. */
  cpPlacesAddMat(&all, J, 0, 0, 0);
  for (int n = 0; n < mech->coords->nquaternions; n++) {
    const int first = mech->coords->quaternions[n].first_u;
    for (size_t k = J->start[first]; k < J->start[first + 3]; k++)
      for (int d = 0; d < 3; d++) cpPlacesAdd(&all, J->row[k], first + d);
  }
  cpMatFree(J);
  return cpMatFromPlaces(J, rows, cols, &all);
}

typedef struct {
  CPPartials P;
  CPOutput of;
  CPDirection by;
} BlockOf;

static void freePattern(void *J) { cpMatFree(J); }

/* The pattern of a block, without values, for the memo */
static int makePattern(CPArena *arena, void *argument, void **object) {
  const BlockOf *b = argument;
  CPMat *J         = CP_NEW(arena, J, 1);
  if (!J) return CP_MEM_FAIL;
  const int flag = createPattern(b->P, b->of, b->by, &b->P->block[b->of][b->by], J);
  free(J->value);
  J->value = NULL;
  *object  = J;
  if (!cpArenaOwn(arena, J, freePattern)) return CP_MEM_FAIL;
  return flag;
}

/* Creates block->J. Without forces of the user, its pattern depends on the model alone. */
static int createBlock(CPPartials P, CPOutput of, CPDirection by) {
  CPBlock *block            = &P->block[of][by];
  const CPMechForceList *on = &P->mech->forces;
  BlockOf b                 = {P, of, by};
  void *pattern             = NULL;
  const int what[] = {(int)of, (int)by, P->rows[of], P->cols[by], P->kkt, P->sparse, block->given};
  const CPMemoKey key = {what, sizeof what};
  const CPMemo memo   = on->count == on->own ? P->mech->model->memo : NULL;
  const int flag      = cpMemoGet(memo, &P->arena, makePattern, &key, 1, &b, &pattern);
  return flag ? flag : cpMatLike(&P->arena, &block->J, pattern);
}

static int createBlocks(CPPartials P) {
  int flag = CP_SUCCESS;
  for (CPOutput of = 0; of < CP_OUTPUTS; of++)
    for (CPDirection by = 0; !flag && by < CP_DIRECTIONS; by++) {
      CPBlock *block = &P->block[of][by];
      SUNMatrix tmpl = templateOf(P, of, by);
      block->exists  = exists(P, of, by);
      if (!block->exists) continue;
      block->given         = isGiven(P, of, by);
      flag                 = cpUserMatOwn(&P->arena, &block->user);
      const int by_springs = of == CP_OF_F && cpMechIsLinear(P->mech);
      if (!flag && !by_springs && (block->given || tmpl))
        flag = cpUserMatCreate(&block->user, P->mech->model->memo, tmpl, P->rows[of], P->cols[by],
                               P->mech->ctx);
      if (!flag) flag = createBlock(P, of, by);
    }
  return flag;
}

int cpPartialsCreate(CPPartials *address, CPMech mech, CPMechNewton type, int leaves_out) {
  CPPartials P = *address = calloc(1, sizeof *P);
  if (!P) return CP_MEM_FAIL;
  const int kkt = type == CP_NEWTON_KKT, na = kkt ? mech->na : 0;
  P->mech               = mech;
  P->kkt                = kkt;
  P->sparse             = kkt && mech->userM.A.start && mech->A.start;
  P->nu                 = mech->nu;
  P->m                  = kkt ? mech->m : 0;
  const int quads_given = mech->eq->auxiliary_jac && ratesGiven(mech->eq) == mech->nz;
  P->nquad              = leaves_out && !quads_given ? (int)mech->eq->nquad : 0;
  P->nz                 = mech->nz - P->nquad;
  memcpy(P->rows, (int[]){mech->nu, na, P->nz}, sizeof P->rows);
  memcpy(P->cols, (int[]){mech->nu, mech->nu, P->nz, na}, sizeof P->cols);
  /* Arrays have the lengths of the whole mechanism, because HALF also needs multipliers and b. */
  const int output[CP_OUTPUTS]   = {mech->nu, mech->m, mech->nz},
            input[CP_DIRECTIONS] = {mech->nu, mech->nu, mech->nz, mech->m};
  CP_ARRAYS(&P->arena, mech->nq, &P->q, &P->q2);
  CP_ARRAYS(&P->arena, mech->nu, &P->u, &P->a);
  CP_ARRAYS(&P->arena, mech->nz, &P->z, &P->zdot);
  CP_NEW(&P->arena, P->lambda, mech->m);
  CP_NEW(&P->arena, P->room, 4 * P->nquad);
  CP_NEW(&P->arena, P->fixed, P->nu + P->m + P->nz);
  for (int of = 0; of < CP_OUTPUTS; of++)
    CP_ARRAYS(&P->arena, output[of], &P->value[of], &P->perturbed[of], &P->opposite[of]);
  for (int by = 0; by < CP_DIRECTIONS; by++)
    CP_ARRAYS(&P->arena, input[by], &P->x2[by], &P->step[by]);
  int flag = cpArenaStatus(&P->arena);
  if (!flag) flag = createForces(P);
  if (!flag) flag = createBlocks(P);
  if (!flag && kkt) flag = cpMatLike(&P->arena, &P->M, &mech->userM.A);
  if (!flag && kkt) flag = cpMatLike(&P->arena, &P->A, &mech->A);
  if (!flag) flag = cpPassesCreate(P);
  if (!flag) flag = cpComparisonsCreate(P);
  if (flag) cpPartialsFree(address);
  return flag;
}

void cpPartialsFree(CPPartials *address) {
  if (*address) cpArenaFree(&(*address)->arena);
  free(*address);
  *address = NULL;
}

/* ---- the user's functions ---- */

/* Takes over the blocks of this output that the user's function, which has returned flag, has
 * filled. */
static int take(CPPartials P, int flag, CPOutput of, CPDirection first, CPDirection last,
                const char *function) {
  flag = cpMechResult(P->mech, flag, P->t, function);
  for (int by = (int)first; !flag && by <= (int)last; by++) {
    CPBlock *block = &P->block[of][by];
    if (!block->given) continue;
    flag = cpMechTake(P->mech, &block->user, CP_SUCCESS, P->t, function);
    if (flag) continue;
    cpMatZero(&block->J);
    cpMatAdd(&block->J, 1.0, &block->user.A);
  }
  return flag;
}

int cpPartialsGiven(CPPartials P) {
  const double t = P->t, *q = P->q, *u = P->u, *z = P->z, *a = P->a, *lambda = P->lambda;
  const CPMech mech                      = P->mech;
  SUNMatrix S[CP_OUTPUTS][CP_DIRECTIONS] = {{NULL}};
  int any[CP_OUTPUTS] = {0}, flag = CP_SUCCESS;
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int by = 0; by < CP_DIRECTIONS; by++) {
      if (!P->block[of][by].given) continue;
      cpUserMatClear(&P->block[of][by].user);
      S[of][by] = P->block[of][by].user.S;
      any[of] |= by != CP_BY_LAMBDA;
    }
  const SUNMatrix *F = S[CP_OF_F], *B = S[CP_OF_B], *Z = S[CP_OF_Z];
  if (any[CP_OF_F] && cpMechIsLinear(mech)) {
    for (int by = 0; by < CP_BY_LAMBDA; by++)
      if (P->block[CP_OF_F][by].given) cpMatZero(&P->block[CP_OF_F][by].J);
    flag = addForces(P);
  } else if (any[CP_OF_F]) {
    if (P->kkt) flag = cpMechCall(mech, dynamics_jac, t, q, u, z, a, lambda, F[0], F[1], F[2]);
    else if (mech->operators || cpMechIsAsModelled(mech))
      flag = cpMechUdotJac(mech, &(CPMechState){t, q, u, z}, F[0], F[1], F[2]);
    else flag = 1;
    P->leaves_udot = !P->kkt && flag > 0 && !mech->operators;
    flag           = P->leaves_udot
                         ? CP_SUCCESS
                         : take(P, flag, CP_OF_F, CP_BY_Q, CP_BY_Z, P->kkt ? "dynamics_jac" : "udot_jac");
    if (!flag) flag = addForces(P);
  }
  if (!flag && any[CP_OF_B]) {
    flag = cpMechCall(mech, constraint_jac, t, q, u, a, B[0], B[1]);
    flag = take(P, flag, CP_OF_B, CP_BY_Q, CP_BY_U, "constraint_jac");
  }
  if (!flag && any[CP_OF_Z]) {
    flag = cpMechCall(mech, auxiliary_jac, t, q, u, z, lambda, Z[0], Z[1], Z[2]);
    flag = take(P, flag, CP_OF_Z, CP_BY_Q, CP_BY_Z, "auxiliary_jac");
  }
  if (!flag && F[CP_BY_LAMBDA]) {
    const CPMechState s = {t, q, u, z};
    CPMat *Fl           = &P->block[CP_OF_F][CP_BY_LAMBDA].J;
    cpMatZero(Fl);
    flag = cpMechLambdaJac(mech, &s, lambda, Fl);
  }
  return flag;
}

/* ---- evaluation at a state ---- */

void cpPartialsKeep(CPPartials P, const CPMechState *s, const double *a, const double *lambda) {
  const CPMech mech = P->mech;
  P->t              = s->t;
  memcpy(P->q, s->q, (size_t)mech->nq * sizeof *P->q);
  memcpy(P->u, s->u, (size_t)mech->nu * sizeof *P->u);
  if (mech->nz > 0) memcpy(P->z, s->z, (size_t)mech->nz * sizeof *P->z);
  if (!a) return;
  memcpy(P->a, a, (size_t)mech->nu * sizeof *P->a);
  if (mech->m > 0) memcpy(P->lambda, lambda, (size_t)mech->m * sizeof *P->lambda);
}

int cpPartialsAt(CPPartials P, sunrealtype t, const sunrealtype *y, const double *a,
                 const double *lambda, const double *ewt) {
  const CPMech mech = P->mech;
  CPMechState s;
  P->valid = 0;
  mech->stats.npartials++;
  int flag = cpMechRead(mech, t, y, &s);
  if (flag) return flag;
  cpPartialsKeep(P, &s, a, lambda);
  s                    = (CPMechState){t, P->q, P->u, P->z};
  const int finds_rank = P->m > 0 && !P->keep_rank;
  if (!a) flag = cpMechSolve(mech, &s, P->a, P->lambda);
  else if (finds_rank) flag = cpMechFactor(mech, t, P->q); /* finds the dependent rows */
  if (flag) return flag;
  P->layout = mech->rows.layout;
  for (int j = 0; j < P->nu; j++) P->fixed[j] = mech->motions->is_full[j];
  for (int i = 0; i < P->m; i++)
    P->fixed[P->nu + i] = mech->rows.off[i] || mech->kkt->is_dependent[i];

  if (P->kkt) {
    if (a && !finds_rank && !P->has_factors) { /* M and A have not been evaluated for the factors. */
      flag = cpMechMass(mech, t, P->q);
      if (!flag) flag = cpMechA(mech, t, P->q);
      if (flag) return flag;
    }
    memcpy(P->M.value, mech->userM.A.value, cpMatEntries(&P->M) * sizeof(double));
    memcpy(P->A.value, mech->A.value, cpMatEntries(&P->A) * sizeof(double));
  }
  flag = cpPartialsGiven(P);
  if (!flag && P->leaves_udot && P->sixth_order > 0.0) return 1; /* No difference is as good. */
  const int linear = flag ? flag : cpMechLinearizeForces(mech, &s);
  P->fleeting      = !flag && linear == 1;
  if (linear < 0) flag = linear;
  if (!flag) flag = cpPartialsDifferences(P, 0, ewt);
  cpMechLinearizeForces(mech, NULL);
  if (!flag && P->nquad > 0) flag = cpMechAuxiliary(mech, &s, P->lambda, P->zdot);
  P->valid = !flag;
  return flag;
}
