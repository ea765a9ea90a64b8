/* The projector of a mechanical system: positions, then velocities, then the error estimate, each in
 * the space of velocities (space.h).
 *
 *   state     q <- q + N w, normalised, p(t, q) = 0;  then u <- u + x, v(t, q, u) = 0
 *   vectors   e_q <- N P N^+ e_q,   e_u <- P e_u - K (dv/dq) e_q'
 *
 * with P = I - K A, K = D A^T (A D A^T)^+ of each level, e_q' the projected e_q; a vector (e_q, e_u)
 * is then tangential to {p = 0, v = 0}. z is left alone. Coordinates and velocities of FULL motions
 * take their prescribed values, their errors are 0. */
#include "projection.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>

/* ---- workspace ---- */

void cpMechWorkFree(CPMechWork *address) {
  CPMechWork w = *address;
  if (!w) return;
  for (int which = 0; which < 2; which++) cpWorkFree(&w->level[which]);
  if (w->x) N_VDestroy(w->x);
  if (w->weights) N_VDestroy(w->weights);
  free(w->q); /* the arrays are one */
  free(w);
  *address = NULL;
}

double cpMechWorkSine(CPMechWork w) {
  double sine = 1.0;
  for (int which = 0; which < 2; which++)
    if (w->level[which]) sine = fmin(sine, cpWorkSine(w->level[which]));
  return sine;
}

static int allocateArrays(CPMech mech, CPMechWork w) {
  const size_t nq = (size_t)mech->nq, nu = (size_t)mech->nu, m = (size_t)mech->m;
  w->q = calloc(3 * nq + (size_t)mech->n + nu + 4 * m, sizeof *w->q);
  if (!w->q) return CP_MEM_FAIL;
  w->e     = w->q + nq;
  w->w     = w->e + mech->n;
  w->moved = w->w + nu;
  w->d     = w->moved + nq;
  w->plus  = w->d + nq;
  w->minus = w->plus + m;
  w->r     = w->minus + m;
  w->mu    = w->r + m;
  return CP_SUCCESS;
}

static int createWork(CPWork work) {
  const CPMech mech   = work->P->owner;
  const CPMechSpace s = mech->space;
  CPMechWork w        = calloc(1, sizeof *w);
  work->mech          = w;
  if (!w) return CP_MEM_FAIL;
  w->x       = N_VNew_Serial(mech->nu, mech->ctx);
  w->weights = N_VNew_Serial(mech->nu, mech->ctx);
  int flag   = w->x && w->weights ? allocateArrays(mech, w) : CP_MEM_FAIL;
  for (int which = 0; !flag && which < 2; which++)
    if (s->level[which].P) flag = cpWorkCreate(&w->level[which], s->level[which].P);
  return flag;
}

/* ---- options ---- */

/* Those of the outer projector that the inner ones share. */
static void passOptions(CPProjector P, CPProjector inner, int shared) {
  const long int frequency = shared ? 2 * P->jacfreq : P->jacfreq; /* two projections a step */
  inner->eps               = P->eps;
  inner->maxiters          = P->maxiters;
  inner->jacfreq           = frequency;
  if (inner->linsol != P->linsol) CPProjectorSetLinearSolver(inner, P->linsol);
}

/* Newton's matrix may have changed: with it the metric. */
static void renewMetric(CPMech mech) {
  const CPMechSpace s = mech->space;
  if (s->metric != CP_METRIC_NEWTON || s->nnewton == mech->stats.nnewton) return;
  s->nnewton  = mech->stats.nnewton;
  s->use_mass = 0;
  for (int which = 0; which < 2; which++)
    if (s->level[which].P) s->level[which].P->contents++;
}

int cpMechProjectionUpdate(CPWork work) {
  CPProjector P     = work->P;
  const CPMech mech = P->owner;
  int flag          = mech->ready ? CP_SUCCESS : cpMechSetUp(mech, "CPMech");
  if (flag) return cpReason(work->text, flag, "%s", mech->log.text);
  if (!work->mech && (flag = createWork(work))) {
    cpMechWorkFree(&work->mech);
    return cpReason(work->text, flag, "no memory for a projection");
  }
  flag = cpMechSpaceRows(mech);
  if (flag) return cpReason(work->text, flag, "the rows of constraints cannot be switched");
  renewMetric(mech);
  for (int which = 0; which < 2; which++) {
    if (!mech->space->level[which].P) continue;
    passOptions(P, mech->space->level[which].P, mech->space->shared);
    if (!work->valid) work->mech->level[which]->valid = 0;
    work->mech->level[which]->age += work->age;
  }
  work->valid = 1;
  work->age   = 0;
  return CP_SUCCESS;
}

/* ---- one level ---- */

CPWork cpMechLevelWork(CPWork work, int which) {
  const CPMech mech = work->P->owner;
  return work->mech->level[mech->space->shared ? CP_POSITIONS : which];
}

int cpMechLevelIsOn(CPWork work, int which) {
  const CPMech mech = work->P->owner;
  return mech->space->level[which].nrows > 0 && mech->space->level[which].nactive > 0;
}

/* Failures of the model's functions have their own reason. */
static int failed(CPWork work, CPWork inner, int flag) {
  const CPMech mech             = work->P->owner;
  const int ours                = mech->space_flag;
  char motions[CP_MECH_MOTIONS] = "";
  if (ours) return cpReason(work->text, ours, "%s", mech->text);
  if (flag == -CP_PROJ_INCONSISTENT || flag == CP_IC_FAIL) cpMechMotionNames(mech, motions);
  return cpReason(work->text, flag, "%.*s%s", CP_TEXT_LENGTH - CP_MECH_MOTIONS, inner->text,
                  motions);
}

/* Rank of both levels, -1 before anything has been factored, and how many rows depend on others. */
static void gatherRank(CPMech mech) {
  CPProjector outer   = mech->P;
  outer->stats.rank   = -1;
  outer->ndependent   = 0;
  const CPMechSpace s = mech->space;
  for (int which = 0; which < 2; which++) {
    const CPProjector P = s->level[s->shared ? CP_POSITIONS : which].P;
    if (!P || P->stats.rank < 0) continue;
    outer->stats.rank = P->stats.rank + (outer->stats.rank > 0 ? outer->stats.rank : 0);
    outer->ndependent += P->ndependent;
  }
}

/* Counters of the inner works, as the outer one's. */
static void gatherStats(CPWork work) {
  const CPMech mech   = work->P->owner;
  CPProjectorStats *o = &work->stats, *p = &work->P->stats;
  o->niters = o->nce = o->nceDQ = o->nje = o->nsetups = o->nfloor = 0;
  o->nli = o->nlinsolves = o->nprods = o->npsolves = 0;
  for (int which = 0; which < 2; which++) {
    const CPWork inner = work->mech->level[which];
    if (!inner) continue;
    const CPProjectorStats *i = &inner->stats;
    o->niters += i->niters, o->nce += i->nce, o->nceDQ += i->nceDQ, o->nje += i->nje;
    o->nsetups += i->nsetups, o->nfloor += i->nfloor, o->nli += i->nli;
    o->nlinsolves += i->nlinsolves, o->nprods += i->nprods, o->npsolves += i->npsolves;
    work->rank_fell |= inner->rank_fell;
    inner->rank_fell = 0;
  }
  const CPProjectorStats none = {0}, *a = &none, *b = &none;
  if (mech->space->level[0].P) a = &mech->space->level[0].P->stats;
  if (mech->space->level[1].P) b = &mech->space->level[1].P->stats;
  p->niters = a->niters + b->niters, p->nce = a->nce + b->nce, p->nceDQ = a->nceDQ + b->nceDQ;
  p->nje = a->nje + b->nje, p->nsetups = a->nsetups + b->nsetups;
  p->nfloor = a->nfloor + b->nfloor, p->nli = a->nli + b->nli;
  p->nlinsolves = a->nlinsolves + b->nlinsolves, p->nprods = a->nprods + b->nprods;
  p->npsolves           = a->npsolves + b->npsolves;
  p->nlevels            = 2;
  p->linsol             = a->linsol ? a->linsol : b->linsol;
  mech->stats.nprojfact = p->nsetups;
  gatherRank(mech);
  work->full_rank = p->rank;
}

/* A metric that is not definite: M in place of Newton's matrix, and by default the error weights in
 * place of M. 0: there is none. */
static int otherMetric(CPMech mech) {
  const CPMechSpace s = mech->space;
  if (s->metric == CP_METRIC_NEWTON && !s->use_mass) return s->use_mass = 1;
  if (mech->metric != CP_METRIC_DEFAULT || s->not_definite) return 0;
  s->not_definite = 1;
  return cpMechSpaceMetric(mech) == CP_SUCCESS;
}

int cpMechLevelCall(CPWork work, int which, sunrealtype t, const double *q,
                    int (*call)(CPWork, sunrealtype, N_Vector, N_Vector, void *), N_Vector ewt,
                    void *arg) {
  const CPMech mech   = work->P->owner;
  const CPMechSpace s = mech->space;
  const CPWork inner  = cpMechLevelWork(work, which);
  s->which            = which;
  s->t                = t;
  s->q0               = q;
  mech->space_flag    = 0;
  int flag            = CP_SUCCESS;
  if (ewt)
    flag = cpMechSpaceWeights(mech, which, q, N_VGetArrayPointer(ewt),
                              N_VGetArrayPointer(work->mech->weights));
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  N_Vector weights = ewt ? work->mech->weights : NULL;
  if (s->shared && inner->valid && inner->revision == inner->P->revision)
    cpMeasureBy(inner, work->mech->x, weights);
  flag = call(inner, t, work->mech->x, weights, arg);
  while (flag == -CP_METRIC_INDEFINITE && !mech->space_flag && otherMetric(mech)) {
    inner->valid = 0;
    flag         = call(inner, t, work->mech->x, weights, arg);
  }
  gatherStats(work);
  return flag ? failed(work, inner, flag) : CP_SUCCESS;
}

/* ---- the state ---- */

typedef struct {
  int only_if_needed, moved;
} Projection;

static int projectLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  Projection *p  = arg;
  int moved      = 0;
  const int flag = cpProject(inner, t, x, ewt, p->only_if_needed, &moved);
  p->moved |= moved;
  return flag;
}

static int assembleLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  Projection *p = arg;
  p->moved      = 1;
  inner->valid  = 0;
  return cpAssemble(inner, t, x, ewt);
}

/* The newest projection's figures, of the level that is farther off. */
static void noteViolation(CPWork work, int which) {
  const CPMech mech  = work->P->owner;
  const CPWork inner = cpMechLevelWork(work, which);
  const int first    = which == CP_VELOCITIES ? mech->space->level[0].nrows : 0;
  if (which == CP_POSITIONS || inner->violation > work->violation) {
    work->violation = inner->violation;
    work->worst     = first + inner->worst;
  }
  if (which == CP_POSITIONS || work->worst_start < 0)
    work->worst_start = first + inner->worst_start;
  work->floor_violation = inner->floor_violation;
  work->floor_worst     = first + inner->floor_worst;
}

/* Number of a FULL motion, the k-th of all, among the rows: behind them. */
static int rowOfMotion(const CPMech mech, int k) {
  return mech->space->level[0].nrows + mech->space->level[1].nrows + k;
}

/* Distance of FULL coordinates and velocities from their prescribed values, in units of the state's
 * tolerance; *worst: row, *residual: in its own unit. */
static double motionsViolation(const CPMech mech, const double *y, const double *ewt, int *worst,
                               double *residual) {
  double largest = 0.0;
  for (int k = 0; k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    const int place[2]    = {g->i, mech->nq + g->j};
    const double value[2] = {g->value, g->rate};
    for (int d = 0; g->how == CP_MOTION_FULL && d < 2; d++) {
      const double off = y[place[d]] - value[d];
      const double w   = ewt ? ewt[place[d]] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(value[d])));
      if (!(fabs(off) * w > largest)) continue;
      largest   = fabs(off) * w;
      *worst    = rowOfMotion(mech, k);
      *residual = off;
    }
  }
  return largest;
}

/* Prescribed values into y; were they there? */
static void putMotions(CPMech mech, sunrealtype *y, int *moved) {
  for (int k = 0; k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    if (g->how != CP_MOTION_FULL) continue;
    if (y[g->i] != g->value || y[mech->nq + g->j] != g->rate) *moved = 1;
    y[g->i]            = g->value;
    y[mech->nq + g->j] = g->rate;
  }
}

typedef int (*LevelCall)(CPWork, sunrealtype, N_Vector, N_Vector, void *);

/* work->y, which has y, to the manifold. */
static int move(CPWork work, sunrealtype t, N_Vector ewt, LevelCall call, Projection *p) {
  const CPMech mech = work->P->owner;
  sunrealtype *y = N_VGetArrayPointer(work->y), *u = y + mech->nq;
  double *x = N_VGetArrayPointer(work->mech->x);
  double residual;
  int flag = mech->nprescribed > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  motionsViolation(mech, y, ewt ? N_VGetArrayPointer(ewt) : NULL, &work->worst_start, &residual);
  putMotions(mech, y, &p->moved);
  flag = cpMechNormalise(mech, t, y);
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  if (cpMechLevelIsOn(work, CP_POSITIONS)) {
    memcpy(work->mech->q, y, (size_t)mech->nq * sizeof(double));
    cpMechSpaceStart(mech, y, x);
    flag = cpMechLevelCall(work, CP_POSITIONS, t, work->mech->q, call, ewt, p);
    if (!flag && cpMechSpacePositions(mech, x)) flag = failed(work, work, -CP_QUATERNION_ZERO);
    if (flag) return flag;
    memcpy(y, mech->space->q, (size_t)mech->nq * sizeof(double));
    noteViolation(work, CP_POSITIONS);
  }
  if (!cpMechLevelIsOn(work, CP_VELOCITIES)) return CP_SUCCESS;
  memcpy(x, u, (size_t)mech->nu * sizeof(double));
  flag = cpMechLevelCall(work, CP_VELOCITIES, t, y, call, ewt, p);
  if (flag) return flag;
  memcpy(u, x, (size_t)mech->nu * sizeof(double));
  noteViolation(work, CP_VELOCITIES);
  return CP_SUCCESS;
}

static int project(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   int *moved) {
  Projection p = {.only_if_needed = only_if_needed};
  int flag     = cpMechProjectionUpdate(work);
  if (flag) return flag;
  work->worst_start = -1;
  cpCopy(work->y, y);
  flag = move(work, t, ewt, projectLevel, &p);
  if (flag) return flag;
  *moved = p.moved || !only_if_needed;
  if (*moved) cpCopy(y, work->y);
  else CP_COUNT(work, nskipped);
  return CP_SUCCESS;
}

static int assemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  Projection p = {0};
  int flag     = cpMechProjectionUpdate(work);
  if (!flag) {
    cpCopy(work->y, y);
    flag = move(work, t, ewt, assembleLevel, &p);
  }
  if (!flag) cpCopy(y, work->y);
  return flag;
}

/* ---- how far off ---- */

typedef struct {
  sunrealtype norm;
  int worst;
} Violation;

static int violationOfLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  Violation *v = arg;
  return cpStateViolation(inner, t, x, ewt, &v->norm, &v->worst);
}

/* Distance of the norms from their values, in units of the state's tolerance. */
static double normsViolation(CPMech mech, const double *q, const double *ewt) {
  double worst = 0.0;
  for (int k = 0; k < mech->nquaternions + mech->nnorms; k++) {
    const CPUnitNorm *n  = &mech->norms[k - mech->nquaternions];
    const int quaternion = k < mech->nquaternions;
    const int first      = quaternion ? mech->quaternions[k].first_q : n->first;
    const int length     = quaternion ? 4 : n->length;
    double square = 0.0, unit = 0.0;
    for (int i = first; i < first + length; i++) {
      const double w = ewt ? ewt[i] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(q[i])));
      square += q[i] * q[i];
      unit += q[i] * q[i] / (w * w);
    }
    const double norm = sqrt(square), off = fabs(norm - (quaternion ? 1.0 : n->value));
    if (unit > 0.0) worst = fmax(worst, off * norm / sqrt(unit));
  }
  return worst;
}

static int violation(CPWork work, sunrealtype t, N_Vector yv, N_Vector ewt, sunrealtype *norm,
                     int *worst) {
  const CPMech mech = work->P->owner;
  int flag          = cpMechProjectionUpdate(work);
  if (flag) return flag;
  const sunrealtype *y = N_VGetArrayPointer(yv), *w = ewt ? N_VGetArrayPointer(ewt) : NULL;
  double *x       = N_VGetArrayPointer(work->mech->x);
  int motion      = -1;
  double residual = 0.0;
  if (mech->nfull > 0) flag = cpMechMotions(mech, t);
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  *norm           = normsViolation(mech, y, w);
  *worst          = -1;
  const double of = motionsViolation(mech, y, w, &motion, &residual);
  if (of > *norm) *norm = of, *worst = motion, work->worst_residual = residual;
  for (int which = 0; !flag && which < 2; which++) {
    if (!cpMechLevelIsOn(work, which)) continue;
    Violation v = {0.0, -1};
    if (which == CP_POSITIONS) cpMechSpaceStart(mech, y, x);
    else memcpy(x, y + mech->nq, (size_t)mech->nu * sizeof *x);
    flag = cpMechLevelCall(work, which, t, y, violationOfLevel, ewt, &v);
    if (flag || !(v.norm > *norm)) continue;
    *norm                = v.norm;
    *worst               = v.worst + (which == CP_VELOCITIES ? mech->space->level[0].nrows : 0);
    work->worst_residual = cpMechLevelWork(work, which)->worst_residual;
  }
  return flag;
}

static int probeLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  (void)arg;
  return cpJacobianProbe(inner, t, x, ewt);
}

static int probe(CPWork work, sunrealtype t, N_Vector yv, N_Vector ewt) {
  const CPMech mech    = work->P->owner;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  double *x            = N_VGetArrayPointer(work->mech->x);
  int flag             = CP_SUCCESS;
  for (int which = 0; !flag && which < 2; which++) {
    if (!cpMechLevelIsOn(work, which)) continue;
    if (which == CP_POSITIONS) cpMechSpaceStart(mech, y, x);
    else memcpy(x, y + mech->nq, (size_t)mech->nu * sizeof *x);
    work->mech->level[which]->valid = 0; /* the probe wants factors of this state */
    flag = cpMechLevelCall(work, which, t, y, violationOfLevel, ewt, &(Violation){0.0, -1});
    if (!flag) flag = cpMechLevelCall(work, which, t, y, probeLevel, ewt, NULL);
  }
  return flag;
}

const CPMethod cpMechMethod = {.project   = project,
                               .tangent   = cpMechTangent,
                               .error     = cpMechError,
                               .cotangent = cpMechCotangent,
                               .violation = violation,
                               .assemble  = assemble,
                               .probe     = probe};

/* ---- creation ---- */

/* Positions, then velocities, then FULL motions: names for messages. -1: norms */
static const char *rowName(const CPProjector P, int i, char name[]) {
  const CPMech mech = P->owner;
  char inner[CP_MECH_ROW_NAME];
  if (i < 0 || !mech->space) {
    snprintf(name, CP_ROW_NAME, "the norm of a quaternion");
    return name;
  }
  const int np = mech->space->level[0].nrows, k = i - rowOfMotion(mech, 0);
  if (k >= 0 && k < mech->nprescribed) {
    snprintf(name, CP_ROW_NAME, "the prescribed motion of coordinate %d", mech->prescribed[k].i);
    return name;
  }
  const int which = i >= np, row = mech->space->level[which].row[i - which * np];
  snprintf(name, CP_ROW_NAME, "%s %.50s", which ? "velocity" : "position",
           cpMechRowName(mech, row, inner));
  return name;
}

int cpMechProjectorCreate(CPMech mech) {
  mech->P = cpProjectorCreateOwned(&cpMechMethod, mech, mech->y_tmpl, mech->ctx);
  if (mech->P) mech->P->name_row = rowName;
  return mech->P ? CP_SUCCESS : CP_MEM_FAIL;
}
