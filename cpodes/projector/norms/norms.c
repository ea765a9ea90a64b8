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
  CPEntries *g        = &work->g;
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

/* Are all norms quaternions of one size, one after another? */
static int isRow(const CPProjector P) {
  const CPUnitNorm *u = P->norms;
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
         !P->metric && !P->metric_matrix && !P->violation;
}

/* What a projection of norms alone works with. */
typedef struct {
  CPWork work;
  sunrealtype t;
  const double *ewt, *id; /* [n], NULL: not given                           */
  const double *weight;   /* of the metric; NULL: all ones                  */
  double *y;              /* [n] the state                                  */
  double *kept;           /* [n] what it was; NULL: nothing can fail        */
  double worst;           /* largest | |q|^2 / value^2 - 1 | of the start ... */
  int which;              /* ... and its norm                               */
} Spheres;

static Spheres spheres(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPProjector P = work->P;
  Spheres s           = {.work = work, .t = t};
  s.ewt               = ewt ? N_VGetArrayPointer(ewt) : NULL;
  s.id                = P->id ? N_VGetArrayPointer(P->id) : NULL;
  s.weight            = P->norm == CP_NORM_L2 ? NULL : s.ewt;
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

static double largestViolation(const Spheres *s, int *which) {
  double largest = 0.0;
  *which         = 0;
  for (int k = 0; k < s->work->P->nnorms; k++) {
    const double violation = violationOf(s, k);
    if (violation > largest) largest = violation, *which = k;
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

static int projectOne(Spheres *s, int k) {
  const CPUnitNorm *u   = &s->work->P->norms[k];
  const int j           = u->first;
  const double relative = normOf(u, s->y) / u->value, residual = fabs(relative * relative - 1.0);
  const int flag =
      cpSphereNearest(u->length, u->value, s->weight ? s->weight + j : NULL,
                      s->id ? s->id + j : NULL, s->y + j, s->work->x + j, s->work->z + j);
  if (residual > s->worst) s->worst = residual, s->which = k;
  if (!flag || (flag == CP_SPHERE_HELD && violationOf(s, k) == 0.0)) return CP_SUCCESS;
  return explain(s, k, flag);
}

/* Can norms k ... k + CP_SPHERE_GROUP - 1 be projected together? */
static int isGroup(const Spheres *s, int k) {
  return !s->id && s->work->norms_layout == CP_NORMS_ROW &&
         k + CP_SPHERE_GROUP <= s->work->P->nnorms;
}

static int projectGroup(Spheres *s, int k) {
  const CPUnitNorm *u = s->work->P->norms;
  const int j         = u->first + 4 * k;
  int which           = -1;
  if (!cpSphereGroup(u->value, s->weight ? s->weight + j : NULL, s->y + j, &s->worst, &which))
    return 0;
  if (which >= 0) s->which = k + which;
  return 1;
}

static int isInRange(const CPUnitNorm *u, const double *y) {
  const double relative = normOf(u, y) / u->value;
  return relative > 1.0 / CP_SPHERE_RANGE && relative < CP_SPHERE_RANGE;
}

/* All are free, and as far from zero and infinity as in cpSphereNearest's promise. */
static int cannotFail(const Spheres *s) {
  const CPUnitNorm *u = s->work->P->norms;
  int k               = 0;
  if (s->id) return 0;
  for (; isGroup(s, k); k += CP_SPHERE_GROUP)
    if (!cpSphereGroupInRange(u->value, s->y + u->first + 4 * k)) return 0;
  for (; k < s->work->P->nnorms; k++)
    if (!isInRange(&u[k], s->y)) return 0;
  return 1;
}

static void keep(Spheres *s, int k) {
  const CPUnitNorm *u = &s->work->P->norms[k];
  if (s->kept) memcpy(s->kept + u->first, s->y + u->first, (size_t)u->length * sizeof *s->y);
}

static void restore(Spheres *s, int count) {
  for (int k = 0; k < count; k++) {
    const CPUnitNorm *u = &s->work->P->norms[k];
    memcpy(s->y + u->first, s->kept + u->first, (size_t)u->length * sizeof *s->y);
  }
}

/* All norms, in place. */
static int projectAll(Spheres *s) {
  int k = 0, flag = CP_SUCCESS;
  while (!flag && k < s->work->P->nnorms) {
    int count = !s->kept && isGroup(s, k) ? CP_SPHERE_GROUP : 1;
    if (count > 1 && projectGroup(s, k)) {
      k += count;
      continue;
    }
    for (; !flag && count > 0; count--) {
      keep(s, k);
      flag = projectOne(s, k++);
    }
  }
  if (flag) restore(s, k);
  return flag;
}

int cpNormsProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   int *moved) {
  Spheres s = spheres(work, t, y, ewt);
  if (only_if_needed) {
    work->violation = largestViolation(&s, &s.which);
    work->worst     = work->P->mc + s.which;
    if (work->violation <= work->P->eps) {
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
  }
  s.kept         = cannotFail(&s) ? NULL : N_VGetArrayPointer(work->y);
  const int flag = projectAll(&s);
  if (flag) return flag;
  CP_COUNT(work, niters);
  work->violation   = violationOf(&s, s.which);
  work->worst_start = work->worst = work->P->mc + s.which;
  work->rate                      = 0.0;
  work->valid                     = 0; /* of another state; none are kept for norms alone */
  *moved                          = 1;
  return CP_SUCCESS;
}
