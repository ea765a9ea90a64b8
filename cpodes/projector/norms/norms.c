/* Unit norms: rows mc ... m - 1 of the constraints,
 *
 *   c = |q| - value,  q = (y_first, ..., y_{first+length-1}),   dc/dq = q / |q|.
 *
 * Where they are all there is, and share no component, each is projected by itself, on its sphere
 * (sphere.c). */
#include "sphere.h"

#include <math.h>
#include <string.h>

static double normOf(const CPUnitNorm *u, const double *y) {
  return cpSphereNorm(u->length, y + u->first);
}

static int isZero(CPWork work, sunrealtype t, int k) {
  char name[CP_ROW_NAME];
  return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                  "at t = %.15g: %s is zero, and has no gradient there", t,
                  cpRowName(work->P, work->P->mc + k, name));
}

/* ---- as rows of c and G ---- */

void cpNormResiduals(const CPProjector P, const double *y, double *c) {
  for (int k = 0; k < P->nnorms; k++) c[P->mc + k] = normOf(&P->norms[k], y) - P->norms[k].value;
}

int cpNormGradients(CPWork work, sunrealtype t, const double *y) {
  const CPProjector P = work->P;
  CPMat *g            = &work->g;
  double *norm        = work->s; /* [m] */
  for (int k = 0; k < P->nnorms; k++) {
    norm[P->mc + k] = normOf(&P->norms[k], y);
    if (norm[P->mc + k] == 0.0) return isZero(work, t, k);
  }
  for (int j = 0; j < P->n; j++) /* the norms' entries are the last of a column */
    for (size_t k = g->start[j + 1]; k > g->start[j] && g->row[k - 1] >= P->mc; k--)
      g->value[k - 1] = y[j] / norm[g->row[k - 1]];
  return CP_SUCCESS;
}

/* ---- alone ---- */

static int shareComponents(const CPWork work) {
  const size_t *start = work->norms.start;
  for (int j = 0; j < work->P->n; j++)
    if (start[j + 1] > start[j] + 1) return 1;
  return 0;
}

/* Does a norm contain components of another level than its own, which it does not move? */
static int crossLevels(const CPProjector P) {
  for (int k = 0; P->nlevels > 1 && k < P->nnorms; k++)
    for (int i = 0; i < P->norms[k].length; i++)
      if (P->col_level[P->norms[k].first + i] != P->row_level[P->mc + k]) return 1;
  return 0;
}

/* Are all norms quaternions of one size, one after another? Of a size with a harmless square. */
static int isRow(const CPProjector P) {
  const CPUnitNorm *u = P->norms;
  if (P->nnorms == 0 || !(u[0].value > 1.0e-100 && u[0].value < 1.0e100)) return 0;
  for (int k = 0; k < P->nnorms; k++)
    if (u[k].length != 4 || u[k].first != u[0].first + 4 * k || u[k].value != u[0].value) return 0;
  return 1;
}

CPNormsLayout cpNormsLayout(const CPWork work) {
  if (shareComponents(work) || crossLevels(work->P)) return CP_NORMS_COUPLED;
  return isRow(work->P) ? CP_NORMS_ROW : CP_NORMS_APART;
}

int cpNormsAlone(const CPWork work) {
  const CPProjector P = work->P;
  return P->mc == 0 && work->norms_layout != CP_NORMS_COUPLED && work->linsol == CP_LINSOL_BLOCK &&
         cpHasDiagonalMetric(P) && !P->violation;
}

/* What a projection of norms alone works with. */
typedef struct {
  CPWork work;
  sunrealtype t;
  const double *ewt, *id; /* [n], NULL: not given                           */
  const double *weight;   /* of the metric; NULL: all ones                  */
  double *y;              /* [n] the state                                  */
  double *kept;           /* [n] what it was; NULL: nothing can fail        */
} Spheres;

static Spheres spheres(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPProjector P = work->P;
  Spheres s           = {.work = work, .t = t};
  s.ewt               = ewt ? N_VGetArrayPointer(ewt) : NULL;
  s.id                = P->id ? N_VGetArrayPointer(P->id) : NULL;
  s.weight            = work->norm == CP_NORM_L2 ? NULL : s.ewt;
  s.y                 = N_VGetArrayPointer(y);
  return s;
}

/* As cpViolation measures it: | |q| - value | over the size of the gradient in the weights, over
 * the free components. What cannot move is satisfied within one tolerance. */
static double violationOf(const Spheres *s, int k) {
  const CPUnitNorm *u   = &s->work->P->norms[k];
  const double norm     = normOf(u, s->y);
  const double residual = fabs(norm - u->value);
  double freely = 0.0, overAll = 0.0;
  if (norm == 0.0) return INFINITY;
  for (int j = u->first; j < u->first + u->length; j++) {
    const double w  = s->ewt ? s->ewt[j] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(s->y[j])));
    const double gw = s->y[j] / norm / w;
    overAll         = hypot(overAll, gw);
    if (!s->id || s->id[j] != 0.0) freely = hypot(freely, gw);
  }
  if (freely == 0.0 && residual <= overAll) return 0.0;
  return residual / (freely > 0.0 ? freely : overAll);
}

static double largestViolation(const Spheres *s, int *worst) {
  double largest = 0.0;
  for (int k = 0; k < s->work->P->nnorms; k++) {
    const double violation = violationOf(s, k);
    if (violation > largest) largest = violation, *worst = s->work->P->mc + k;
  }
  return largest;
}

static int explain(const Spheres *s, int k, int reason) {
  const CPUnitNorm *u = &s->work->P->norms[k];
  const double norm   = normOf(u, s->y);
  char name[CP_ROW_NAME];
  if (reason == CP_SPHERE_ZERO) return isZero(s->work, s->t, k);
  cpRowName(s->work->P, s->work->P->mc + k, name);
  if (reason == CP_SPHERE_HELD)
    return cpReason(
        s->work->text, -CP_PROJ_INCONSISTENT,
        "at t = %.15g: %s is %.15g instead of %.15g, and no free component can change it", s->t,
        name, norm, u->value);
  return cpReason(
      s->work->text, -CP_PROJ_CONV_FAILURE,
      "at t = %.15g: %s, %g instead of %g, cannot be projected: it is too far away, or its "
      "weights differ too much",
      s->t, name, norm, u->value);
}

static int projectOne(const Spheres *s, int k) {
  const CPUnitNorm *u = &s->work->P->norms[k];
  const int j         = u->first;
  const int flag =
      cpSphereNearest(u->length, u->value, s->weight ? s->weight + j : NULL,
                      s->id ? s->id + j : NULL, s->y + j, s->work->x + j, s->work->z + j);
  if (!flag || (flag == CP_SPHERE_HELD && violationOf(s, k) == 0.0)) return CP_SUCCESS;
  return explain(s, k, flag);
}

/* Norms k, k + 1, ...; returns how many. */
static int projectGroups(const Spheres *s, int k) {
  const CPUnitNorm *u = s->work->P->norms;
  const int j         = u->first + 4 * k;
  if (s->id || s->work->norms_layout != CP_NORMS_ROW) return 0;
  return cpSphereGroups(s->work->P->nnorms - k, u->value, s->weight ? s->weight + j : NULL,
                        s->y + j);
}

/* Are all norms near their values, and finite? Then none fails whose components are free.
 * work->newton.worst_start: the farthest one. */
static int areNear(CPWork work, const double *y) {
  const CPUnitNorm *u = work->P->norms;
  const int count     = work->P->nnorms;
  double worst        = 0.0;
  int near = 1, farthest = 0, k = 0;
  if (work->norms_layout == CP_NORMS_ROW) {
    near = cpSphereGroupsAreNear(count, u->value, y + u->first, &worst, &farthest);
    k    = count - count % CP_SPHERE_GROUP;
  }
  for (; k < count; k++) {
    const double relative  = normOf(&u[k], y) / u[k].value;
    const double deviation = fabs(relative * relative - 1.0);
    if (deviation > worst) worst = deviation, farthest = k;
    near = near && deviation <= CP_SPHERE_NEAR;
  }
  work->newton.worst_start = work->P->mc + farthest;
  return near;
}

/* In a row, they are all of y but what is before and behind them. */
int cpNormsAreNear(CPWork work, N_Vector y) {
  const CPProjector P = work->P;
  if (work->revision != P->revision || P->nlevels == 0) return 0; /* still to be set up */
  if (!cpNormsAlone(work) || work->norms_layout != CP_NORMS_ROW) return 0;
  const double *yd = N_VGetArrayPointer(y);
  const int first = P->norms[0].first, end = first + 4 * P->nnorms;
  work->norms_near =
      areNear(work, yd) && cpAllFinite(yd, first) && cpAllFinite(yd + end, P->n - end);
  return work->norms_near;
}

/* All norms, in place. */
static int projectAll(const Spheres *s) {
  const int count   = s->work->P->nnorms;
  const size_t size = (size_t)s->work->P->n * sizeof *s->y;
  int k = 0, flag = CP_SUCCESS;
  if (s->kept) memcpy(s->kept, s->y, size);
  while (!flag && k < count) {
    k += projectGroups(s, k);
    const int end = k + CP_SPHERE_GROUP < count ? k + CP_SPHERE_GROUP : count;
    while (!flag && k < end) flag = projectOne(s, k++);
  }
  if (flag) memcpy(s->y, s->kept, size);
  return flag;
}

static int notFinite(CPWork work, sunrealtype t, N_Vector y) {
  const int j = cpFirstNonFinite(y);
  return cpReason(work->text, -CP_CNSTR_NONFINITE, "at t = %.15g: component %d of the state is %g",
                  t, j, N_VGetArrayPointer(y)[j]);
}

int cpNormsProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result) {
  Spheres s        = spheres(work, t, y, ewt);
  const int near   = work->norms_near || areNear(work, s.y);
  work->norms_near = 0;
  if (!near && !cpVectorFinite(y)) return notFinite(work, t, y);
  if (only_if_needed) {
    result->violation = largestViolation(&s, &result->worst_start);
    if (result->violation <= work->P->eps) {
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
  }
  s.kept         = near && !s.id ? NULL : N_VGetArrayPointer(work->v);
  const int flag = projectAll(&s);
  if (flag) return flag;
  CP_COUNT(work, niters);
  const int worst = work->newton.worst_start;
  *result         = (CPProjected){1, violationOf(&s, worst - work->P->mc), worst};
  cpNewtonForget(&work->newton); /* no factors are kept for norms alone */
  return CP_SUCCESS;
}
