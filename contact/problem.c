/* What impulses and accelerations share at an event: the rows of the closed contacts, their
 * Delassus operator, and the accelerations without contact forces. */
#include "contact_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

int contactPassOn(CPContact c, int flag) {
  snprintf(c->message, sizeof c->message, "%s", CPMechGetLastMessage(c->mech));
  return flag;
}

int contactUserFailed(CPContact c, const char *function, const char *name, sunrealtype t, int flag) {
  return contactError(c, flag < 0 ? CP_USERFUNC_FAIL : CP_REPTD_USERFUNC_ERR, function,
                      "at t = %.10g: %s failed (%d)", t, name, flag);
}

int contactReady(CPContact c, N_Vector y, const char *function) {
  if (!c) return contactError(NULL, CP_MEM_NULL, function, "contact must not be NULL");
  if (c->calling) return contactIdle(c, function);
  if (!y) return contactError(c, CP_ILL_INPUT, function, "y must not be NULL");
  if (N_VGetLength(y) != c->n)
    return contactError(c, CP_ILL_INPUT, function, "y must have length nq + nu + nz = %d, has %ld",
                        c->n, (long)N_VGetLength(y));
  /* Motions may have been prescribed since the last call. */
  const int m = (int)CPMechGetNumMultipliers(c->mech);
  if (m != c->m && contactSizeMultipliers(c, m))
    return contactError(c, CP_MEM_FAIL, function, "no memory for %d multipliers", m);
  return CP_SUCCESS;
}

int contactVelocities(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u) {
  memset(c->v, 0, (size_t)c->na * sizeof *c->v);
  if (c->model.v) return contactCalled(c, c->model.v(t, q, u, c->v, contactData(c)));
  contactTimes(c->A, u, c->v);
  return 0;
}

int contactMeasure(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  memset(c->p, 0, (size_t)c->na * sizeof *c->p);
  int flag = contactCalled(c, c->model.p(t, q, c->p, contactData(c)));
  if (flag) return contactUserFailed(c, function, "p", t, flag);
  if (!c->model.v) flag = contactRows(c, t, q);
  if (!flag) flag = contactVelocities(c, t, q, q + c->nq);
  if (flag) return contactUserFailed(c, function, c->model.v ? "v" : "A", t, flag);
  for (int i = 0; i < c->na; i++) {
    char name[256] = "";
    if (isfinite(c->p[i]) && isfinite(c->v[i])) continue;
    if (c->model.row_name) c->model.row_name(CP_NAME_ROW, i, t, name, sizeof name, c->user_data);
    return contactError(c, CP_MECH_NONFINITE, function,
                        "at t = %.10g: row %d of p or v%s%s is not finite", t, i,
                        *name ? ", of " : "", name);
  }
  return CP_SUCCESS;
}

int contactActivate(CPContact c) {
  for (int i = 0; i < c->na; i++) c->mask[i] = !c->is_contact[i];
  for (int i = 0; i < c->npoints; i++) {
    const Point *point = &c->point[i];
    if (point->phase == CP_CONTACT_OPEN) continue;
    c->mask[point->normal] = 1;
    for (int k = 0; k < point->ntangents; k++)
      c->mask[point->tangent + k] =
          point->phase == CP_CONTACT_STICKING && !(point->implied >> k & 1);
  }
  return CPMechSetActive(c->mech, c->mask);
}

int contactActivateRows(CPContact c, int with_contacts) {
  for (int i = 0; i < c->na; i++) c->mask[i] = !c->is_contact[i];
  for (int i = 0; i < c->problem.n && with_contacts; i++) c->mask[c->row[i]] = 1;
  return CPMechSetActive(c->mech, c->mask);
}

/* y = W x: the change of the velocities of the problem's rows by impulses x, under the other
 * constraints. */
static int respond(void *contact, const sunrealtype *x, sunrealtype *y) {
  const CPContact c       = contact;
  const ContactProblem *P = &c->problem;
  memset(c->impulse, 0, (size_t)c->na * sizeof *c->impulse);
  for (int i = 0; i < P->n; i++) c->impulse[c->row[i]] = x[i];
  c->mode        = IMPULSES;
  const int flag = CPMechAccelerations(c->mech, c->product_t, c->product_y, c->udot, c->lambda);
  c->mode        = MOTION;
  for (int j = 0; j < c->nu; j++) c->udot[j] -= c->driven[j];
  memset(c->b, 0, (size_t)c->na * sizeof *c->b);
  contactTimes(c->A, c->udot, c->b);
  for (int i = 0; i < P->n; i++) y[i] = c->b[c->row[i]];
  return flag;
}

/* Copies the block of law k from column j of that block in W. */
static void keepBlock(ContactProblem *P, int k, int j, const sunrealtype *column) {
  for (int i = 0; i <= P->law[k].ntangents; i++)
    P->block[9 * k + 3 * j + i] = column[P->law[k].first + i];
}

/* Prepares products with W, and computes its columns if they can be stored, otherwise its blocks. */
static int prepareProducts(CPContact c, sunrealtype t, N_Vector y) {
  ContactProblem *P = &c->problem;
  const int n       = P->n;
  c->product_t = t, c->product_y = y;
  memset(c->driven, 0, (size_t)c->nu * sizeof *c->driven);
  int flag = contactActivateRows(c, 0);
  if (!flag && (flag = contactRows(c, t, N_VGetArrayPointer(y))) != 0)
    return contactUserFailed(c, "CPContactSolve", "A", t, flag);
  memset(P->x, 0, (size_t)n * sizeof *P->x);
  if (!flag) flag = respond(c, P->x, P->w);
  memcpy(c->driven, c->udot, (size_t)c->nu * sizeof *c->driven);
  for (int k = 0; k < P->ncontacts && !flag; k++)
    for (int j = 0; j <= P->law[k].ntangents && !flag; j++) {
      const int first     = P->law[k].first;
      sunrealtype *column = n <= c->direct ? c->W + (first + j) * n : P->w;
      P->x[first + j]     = 1.0;
      flag                = respond(c, P->x, column);
      P->x[first + j]     = 0.0;
      keepBlock(P, k, j, column);
    }
  if (flag) return contactPassOn(c, flag);
  if (n > c->direct) P->times = respond, P->data = c;
  return CP_SUCCESS;
}

int contactStored(const CPContact c) { return c->problem.times != respond; }

int contactProduct(CPContact c, const sunrealtype *x, sunrealtype *y) {
  const int n = c->problem.n;
  if (c->problem.times) {
    const int flag = c->problem.times(c, x, y);
    return flag ? contactPassOn(c, flag) : CP_SUCCESS;
  }
  contactSquareTimes(n, c->W, x, y);
  return CP_SUCCESS;
}

const sunrealtype *contactBlock(const CPContact c, int k, int *ld) {
  *ld = c->problem.times ? 3 : c->problem.n;
  return c->problem.times ? c->problem.block + 9 * k : c->W + c->problem.law[k].first * (1 + *ld);
}

/* The product with a stored W, for an event that is too large for factors. */
static int storedTimes(void *contact, const sunrealtype *x, sunrealtype *y) {
  const CPContact c = contact;
  contactSquareTimes(c->problem.n, c->W, x, y);
  return 0;
}

static void prepareStored(CPContact c) {
  ContactProblem *P = &c->problem;
  for (int k = 0; k < P->ncontacts; k++)
    for (int j = 0; j <= P->law[k].ntangents; j++)
      keepBlock(P, k, j, c->W + (P->law[k].first + j) * P->n);
  P->times = storedTimes, P->data = c;
}

/* W [n n] <- the Delassus operator of the problem's rows, with the other rows eliminated:
 * S_cc - S_co S_oo^+ S_oc. */
int contactDelassus(CPContact c, sunrealtype t, N_Vector y) {
  const int n = c->problem.n;
  int other   = 0;
  for (int i = 0; i < c->m; i++) other += !c->is_contact[i];
  c->problem.times = NULL;
  if (!c->S || (other > 0 && c->m > c->direct)) return prepareProducts(c, t, y);
  sunrealtype *S_oo = c->problem.room, *column = c->other, *x = column + c->m;
  int flag = contactActivateRows(c, 1);
  if (!flag) flag = CPMechDelassus(c->mech, t, y, c->S);
  if (flag) return contactPassOn(c, flag);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) c->W[i + j * n] = SUNDenseMatrix_Column(c->S, c->row[j])[c->row[i]];
    if (other == 0) continue;
    for (int l = 0, m = 0; l < c->m; l++) {
      if (c->is_contact[l]) continue;
      column[m] = SUNDenseMatrix_Column(c->S, c->row[j])[l];
      for (int i = 0, k = 0; i < c->m; i++)
        if (!c->is_contact[i]) S_oo[k++ + m * other] = SUNDenseMatrix_Column(c->S, l)[i];
      m++;
    }
    contactLinearSolve(other, S_oo, column, x, S_oo + other * other);
    for (int l = 0, m = 0; l < c->m; l++) {
      if (c->is_contact[l]) continue;
      for (int i = 0; i < n; i++)
        c->W[i + j * n] -= SUNDenseMatrix_Column(c->S, l)[c->row[i]] * x[m];
      m++;
    }
  }
  if (n > c->direct) prepareStored(c);
  return CP_SUCCESS;
}

void contactGather(CPContact c, const char *keep) {
  ContactProblem *P = &c->problem;
  P->n = P->ncontacts = 0;
  for (int i = 0; i < c->npoints; i++) {
    const Point *point = &c->point[i];
    if (!keep[i]) continue;
    ContactLaw *law = &P->law[P->ncontacts++];
    *law = (ContactLaw){.contact = i, .first = P->n, .ntangents = point->ntangents, .mu = point->mu};
    for (int k = 0; k <= point->ntangents; k++)
      c->row[P->n++] = k == 0 ? point->normal : point->tangent + k - 1;
  }
}

int contactSolveProblem(CPContact c) {
  const int failed = contactSolve(&c->problem);
  c->stats.nsolved++;
  c->stats.nnewton += c->problem.newton;
  if (!failed) c->stats.residual = fmax(c->stats.residual, c->problem.residual);
  return failed;
}

int contactNoSolution(CPContact c, sunrealtype t, const char *function, const char *what) {
  const ContactProblem *P = &c->problem;
  char names[CONTACT_TEXT / 2];
  size_t used = 0;
  for (int k = 0; k < P->ncontacts && used < sizeof names; k++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"", k > 0 ? ", " : "",
                             c->point[P->law[k].contact].name);
  return contactError(c, CP_CONTACT_NO_SOLUTION, function,
                      "at t = %.10g: no %s of the %d closed contacts %s%s satisfy the laws of "
                      "contact (residual %.1e)",
                      t, what, P->ncontacts, names, used < sizeof names ? "" : " ...", P->residual);
}

int contactRowAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  memset(c->a, 0, (size_t)c->na * sizeof *c->a);
  memset(c->b, 0, (size_t)c->na * sizeof *c->b);
  int flag = contactRows(c, t, q);
  if (!flag) flag = contactCalled(c, c->model.b(t, q, q + c->nq, c->b, contactData(c)));
  if (flag) return contactUserFailed(c, function, "A or b", t, flag);
  contactTimes(c->A, c->udot, c->a);
  for (int i = 0; i < c->na; i++) c->a[i] -= c->b[i];
  return CP_SUCCESS;
}

int contactFreeAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  c->mode  = FREE;
  int flag = contactActivateRows(c, 0);
  if (!flag) flag = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  c->mode = MOTION;
  return flag ? contactPassOn(c, flag) : contactRowAccelerations(c, t, y, function);
}
