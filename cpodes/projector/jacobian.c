/* G = dc/dy: the user's matrix [mc x n], by the user's function or by difference quotients, several
 * columns at a time where the pattern allows it (A. R. Curtis, M. J. D. Powell, J. K. Reid, J.
 * Inst. Maths Applics 13 (1974) 117-119); and work->g [m x n], the entries of G and of the unit
 * norms by columns.
 *
 * A dense matrix carries no pattern, but constraints of mechanisms involve few components each.
 * Unless a solver needs a constant pattern, the zeros of a dense matrix are therefore omitted from
 * g (compact). */
#include "projector_impl.h"

#include <math.h>
#include <string.h>

/* The increments h_j of y_j are machine numbers. If states are small compared with the constants of
 * a constraint (displacements from a reference position), an increment of sqrt(u) times the state
 * is lost in roundoff. Such a constraint does resolve an increment of one tolerance, over which G
 * must be accurate anyway. */
static int differences(CPWork work, sunrealtype t, N_Vector y, const double *c) {
  const CPColoring *colors = &work->colors;
  const CPUserMat *U       = &work->G;
  sunrealtype *data = cpMatrixData(U->S), *z = N_VGetArrayPointer(work->v);
  const sunrealtype *y0 = N_VGetArrayPointer(y);
  double *h = work->room.z, *dc = work->room.c2;
  const double root = sqrt(CP_UROUND), typical = cpTypicalSize(y);
  cpCopy(work->v, y);
  for (int q = 0; q < colors->ngroups; q++) {
    const int *cols = colors->col + colors->start[q], *end = colors->col + colors->start[q + 1];
    for (const int *j = cols; j < end; j++) {
      const volatile double next =
          z[*j] + fmax(root * fmax(fabs(z[*j]), typical), fmin(1.0 / work->rows.w[*j], root));
      h[*j] = next - z[*j];
      z[*j] += h[*j];
    }
    const int flag = cpConstraint(work, CP_COUNTER(nceDQ), t, work->v, dc);
    if (flag) return flag;
    for (int i = 0; i < work->P->m; i++) dc[i] -= c[i];
    for (const int *j = cols; j < end; j++) {
      z[*j] = y0[*j];
      for (size_t k = cpMatFirst(&U->A, *j); k < cpMatFirst(&U->A, *j + 1); k++)
        data[U->source ? U->source[k] : k] = dc[cpMatRow(&U->A, *j, k)] / h[*j];
    }
  }
  return CP_SUCCESS;
}

/* Gathers g from the values of G and, unless y is NULL, the gradients of the norms at y. g may be G
 * itself. */
static int gather(CPWork work, sunrealtype t, const double *y) {
  const CPProjector P = work->P;
  const CPMat *user = &work->G.A, *norms = &work->norms;
  CPMat *g     = &work->g;
  double *size = work->room.s;
  size_t count = 0;
  if (g->start == user->start) { /* g is G, whose values may lie elsewhere now */
    g->value = user->value;
    return CP_SUCCESS;
  }
  for (int k = 0; y && k < P->nnorms; k++) {
    char name[CP_ROW_NAME];
    size[P->mc + k] = cpUnitNorm(P, k, y);
    if (size[P->mc + k] == 0.0)
      return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                      "at t = %.10g: %s is zero, and has no gradient there", t,
                      cpRowName(P, P->mc + k, name));
  }
  for (int j = 0; j < g->cols; j++) {
    g->start[j] = count;
    for (size_t k = cpMatFirst(user, j); k < cpMatFirst(user, j + 1); k++) {
      if (work->compact && user->value[k] == 0.0) continue;
      g->row[count]     = cpMatRow(user, j, k);
      g->value[count++] = user->value[k];
    }
    for (size_t k = norms->start[j]; k < norms->start[j + 1]; k++) {
      g->row[count]     = norms->row[k];
      g->value[count++] = y ? y[j] / size[norms->row[k]] : 0.0;
    }
  }
  g->start[g->cols] = count;
  return CP_SUCCESS;
}

int cpTakeMatrix(CPWork work, sunrealtype t, CPUserMat *U, const char *name, const char *option,
                 int code) {
  int i = 0, j = 0;
  const int flag = cpUserMatTake(U, &i, &j);
  if (flag == -2)
    return cpReason(work->text, CP_USERFUNC_FAIL,
                    "at t = %.10g: %s function changed the index arrays of its template (%s)", t,
                    name, option);
  return flag ? cpReason(work->text, code, "at t = %.10g: entry (%d, %d) of %s is %g", t, i, j,
                         name, *cpMatAt(&U->A, i, j))
              : CP_SUCCESS;
}

int cpJacobian(CPWork work, sunrealtype t, N_Vector y, const double *c) {
  const CPProjector P = work->P;
  CPUserMat *U        = &work->G;
  int flag            = CP_SUCCESS;
  CP_COUNT(work, nje);
  if (P->mc > 0 && P->user.jac) {
    memcpy(N_VGetArrayPointer(work->uc), c, (size_t)P->mc * sizeof *c);
    cpUserMatClear(U);
    flag = cpCallProjector(work, P->user.jac(t, y, work->uc, U->S, cpWorkData(work)));
    if (flag) flag = cpUserResult(work->text, flag, t, "the constraint Jacobian");
  } else if (P->mc > 0) flag = differences(work, t, y, c);
  if (!flag)
    flag = cpTakeMatrix(work, t, U, "the constraint Jacobian", "CPProjectorSetJacFn",
                        -CP_CNSTRJAC_NONFINITE);
  return flag ? flag : gather(work, t, N_VGetArrayPointer(y));
}

int cpJacobianAt(CPWork work, sunrealtype t, N_Vector y) {
  const int flag = cpConstraint(work, CP_COUNTER(nce), t, y, work->rows.c);
  return flag ? flag : cpJacobian(work, t, y, work->rows.c);
}

void cpJacobianPattern(CPWork work) {
  work->compact = 0;
  gather(work, 0.0, NULL);
}

int cpJacobianCreate(CPWork work) {
  CPProjector P     = work->P;
  CPArena *arena    = &work->storage;
  CPUserMat *U      = &work->G;
  CPMat *s          = &work->norms;
  CPPlaces of_norms = {0};
  if (cpUserMatOwn(arena, U) || cpUserMatCreate(U, NULL, P->G_tmpl, P->mc, P->n, P->ctx))
    return CP_MEM_FAIL;
  for (int k = 0; k < P->nnorms; k++)
    for (int j = 0; j < P->norms[k].length; j++)
      cpPlacesAdd(&of_norms, P->mc + k, P->norms[k].first + j);
  if (cpMatFromPlaces(s, P->m, P->n, &of_norms) || cpMatOwn(arena, s)) return CP_MEM_FAIL;
  const size_t length = cpMatEntries(&U->A) + cpMatEntries(s);
  work->g             = P->G_tmpl && P->nnorms == 0 ? U->A : (CPMat){.rows = P->m, .cols = P->n};
  if (!work->g.value) {
    CP_NEW(arena, work->g.start, P->n + 1);
    CP_NEW(arena, work->g.row, length);
    CP_NEW(arena, work->g.value, length);
  }
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  if (P->mc > 0 && !P->user.jac && cpColoringCreate(arena, &work->colors, &U->A))
    return CP_MEM_FAIL;
  cpJacobianPattern(work);
  return CP_SUCCESS;
}
