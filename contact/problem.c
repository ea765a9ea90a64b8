/* What impulses and accelerations share at an event: the rows of the closed contacts, their
 * Delassus operator, and the accelerations without contact forces. */
#include "contact_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int contactPassOn(CPContact c, int flag) {
  snprintf(c->log.text, sizeof c->log.text, "%s", CPObjectGetLastMessage(CP_OBJECT(c->mech)));
  return flag;
}

int contactUserFailed(CPContact c, const char *function, const char *name, sunrealtype t, int flag) {
  return cpReport(&c->log, flag < 0 ? CP_USERFUNC_FAIL : CP_REPTD_USERFUNC_ERR, function,
                  "at t = %.10g: %s failed (%d)", t, name, flag);
}

int contactReady(CPContact c, N_Vector y, const char *function) {
  if (!c) return cpReport(NULL, CP_MEM_NULL, function, "contact must not be NULL");
  if (c->calling || (CPMechGetUse(c->mech) & CP_MECH_BUSY)) return contactIdle(c, function);
  if (!y) return cpReport(&c->log, CP_ILL_INPUT, function, "y must not be NULL");
  if (N_VGetLength(y) != c->n)
    return cpReport(&c->log, CP_ILL_INPUT, function,
                    "y must have length nq + nu + nz = %d, has %ld", c->n, (long)N_VGetLength(y));
  /* Motions may have been prescribed since the last call. */
  const int m = (int)CPMechGetNumMultipliers(c->mech);
  if (m != c->m && contactSizeMultipliers(c, m))
    return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for %d multipliers", m);
  return contactObjects(c, y) ? cpReport(&c->log, CP_MEM_FAIL, function, "no memory for states")
                              : CP_SUCCESS;
}

void contactCountTurns(CPContact c, sunrealtype t) {
  EACH_NEAR(c, i) {
    Point *point  = &c->point[i];
    point->turn.t = t, point->turn.gap = c->p[point->normal], point->turn.rate = c->v[point->normal];
  }
}

/* The multiple of the period is added that brings the gap nearest to the one before, moved on by the mean of both rates. */
sunrealtype contactOnTurn(const Point *point, sunrealtype t, sunrealtype gap, sunrealtype v) {
  const sunrealtype period = point->turn.period,
                    passed = isnan(point->turn.t) ? 0.0 : t - point->turn.t;
  if (!(period > 0.0)) return gap;
  const sunrealtype expected = point->turn.gap + 0.5 * passed * (point->turn.rate + v);
  return gap + period * round((expected - gap) / period);
}

int contactMeasureRows(CPContact c, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const char *off, const char *function) {
  memset(c->p, 0, (size_t)c->na * sizeof *c->p);
  contactSkip(c, off);
  int flag = c->np > 0 ? contactCall(c, p, t, q, c->p) : 0;
  contactSkip(c, NULL);
  if (flag) return contactUserFailed(c, function, "p", t, flag);
  if (!c->model->v) flag = contactRows(c, t, q, off);
  if (!flag) flag = contactVelocities(c, t, q, u, off);
  if (flag) return contactUserFailed(c, function, c->model->v ? "v" : "A", t, flag);
  EACH_NEAR(c, i) {
    const int row = c->point[i].normal;
    if (c->point[i].turn.period > 0.0)
      c->p[row] = contactOnTurn(&c->point[i], t, c->p[row], c->v[row]);
  }
  sunrealtype none = 0.0;
  for (int i = 0; i < c->na; i++) none += 0.0 * c->p[i] + 0.0 * c->v[i];
  for (int i = 0; i < c->na && none != 0.0; i++) { /* It is NaN: some are not finite. */
    char name[256] = "";
    if (isfinite(c->p[i]) && isfinite(c->v[i])) continue;
    if (c->model->row_name && !CPMechGetData(c->mech, &c->data))
      c->model->row_name(CP_NAME_ROW, i, t, name, sizeof name, c->data);
    return cpReport(&c->log, CP_MECH_NONFINITE, function,
                    "at t = %.10g: row %d of p or v%s%s is not finite", t, i, *name ? ", of " : "",
                    name);
  }
  return CP_SUCCESS;
}

int contactMeasure(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  return contactMeasureRows(c, t, q, q + c->nq, contactOff(c), function);
}

int contactActivate(CPContact c) {
  for (int i = 0; i < c->na; i++) c->mask[i] = c->is_contact[i] ? 0 : -1;
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    if (point->phase == CP_CONTACT_OPEN || point->is_elastic) continue;
    c->mask[point->normal] = 1;
    for (int k = 0; k < point->ntangents; k++)
      c->mask[point->tangent + k] =
          point->phase == CP_CONTACT_STICKING && !(point->implied >> k & 1);
  }
  return CPMechSetActive(c->mech, c->mask);
}

int contactActivateRows(CPContact c, int with_contacts) {
  for (int i = 0; i < c->na; i++) c->mask[i] = c->is_contact[i] ? 0 : -1;
  for (int i = 0; i < c->problem.n && with_contacts; i++) c->mask[c->row[i]] = 1;
  return CPMechSetActive(c->mech, c->mask);
}

/* f [nu] <- A^T P, with P in the problem's rows */
static void pushed(CPContact c, const sunrealtype *P, sunrealtype *f) {
  memset(f, 0, (size_t)c->nu * sizeof *f);
  for (int i = 0; i < c->problem.n; i++)
    if (c->row[i] < c->na && P[i] != 0.0) contactAddRow(c, c->A, c->row[i], P[i], f);
}

/* w [n] <- the velocities of the problem's rows for a change d [nu] */
static void rowVelocities(CPContact c, const sunrealtype *d, sunrealtype *w) {
  for (int i = 0; i < c->problem.n; i++)
    w[i] = c->row[i] < c->na ? contactRowTimes(c, c->A, c->row[i], d) : 0.0;
}

/* w += x in rows beyond those of A */
static void addHeld(CPContact c, const sunrealtype *x, sunrealtype *w) {
  for (int i = 0; i < c->problem.n; i++)
    if (c->row[i] >= c->na) w[i] += x[i];
}

int contactReact(CPContact c, const sunrealtype *x, sunrealtype *w, sunrealtype *mu) {
  pushed(c, x, c->force);
  const int flag = CPMechSolve(c->mech, c->product_t, c->product_y, 1, c->force, NULL, c->udot, mu);
  rowVelocities(c, c->udot, w);
  addHeld(c, x, w);
  return flag;
}

/* contactReact as the products of a ContactProblem */
static int respond(void *contact, const sunrealtype *x, sunrealtype *w) {
  return contactReact(contact, x, w, NULL);
}

/* Copies the block of law k from column j of that block in W. */
static void keepBlock(ContactProblem *P, int k, int j, const sunrealtype *column) {
  for (int i = 0; i <= P->law[k].ntangents; i++)
    P->block[9 * k + 3 * j + i] = column[P->law[k].first + i];
}

/* The blocks of a W that is not stored */
static int findBlocks(CPContact c) {
  ContactProblem *P = &c->problem;
  int flag          = CP_SUCCESS;
  memset(P->x, 0, (size_t)P->n * sizeof *P->x);
  for (int k = 0; k < P->ncontacts && !flag; k++)
    for (int j = 0; j <= P->law[k].ntangents && !flag; j++) {
      P->x[P->law[k].first + j] = 1.0;
      flag                      = respond(c, P->x, P->w);
      P->x[P->law[k].first + j] = 0.0;
      keepBlock(P, k, j, P->w);
    }
  return flag ? contactPassOn(c, flag) : CP_SUCCESS;
}

/* Marks the laws whose tangential forces f others carry, such as a drive of the same joint: M d = f - A^T mu is roundoff in all velocities
 * that FULL motions leave free. f [n nu], d [n nu], mu [n m] of all rows; f becomes M d. */
static void findCarried(CPContact c, sunrealtype *f, const sunrealtype *d, sunrealtype *mu) {
  ContactProblem *P = &c->problem;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law = &P->law[k];
    law->carried    = law->ntangents > 0;
    for (int j = law->first + 1; j <= law->first + law->ntangents && law->carried; j++) {
      sunrealtype *rest = f + j * c->nu, *load = mu + j * c->m;
      const sunrealtype size = contactLargest(c->nu, rest);
      for (int i = 0; i < c->na; i++) load[i] = -load[i];
      contactTransposedTimes(c, c->A, load, rest);
      for (int i = 0; i < c->nu; i++)
        law->carried &= d[j * c->nu + i] == 0.0 || fabs(rest[i]) <= CP_ROUNDED * size;
    }
  }
}

/* c->W [n n], by one solution for each column. W is symmetric up to roundoff, which the mean removes. */
static int findColumns(CPContact c, const char *function) {
  ContactProblem *P = &c->problem;
  const size_t n = (size_t)P->n, nu = (size_t)c->nu, m = (size_t)c->m;
  sunrealtype *f = malloc(n * (2 * nu + m) * sizeof *f), *d = f + n * nu, *mu = d + n * nu,
              *W = c->W;
  if (!f)
    return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for the impulses of %d rows", P->n);
  memset(P->x, 0, n * sizeof *P->x);
  for (size_t j = 0; j < n; j++) {
    P->x[j] = 1.0;
    pushed(c, P->x, f + j * nu);
    P->x[j] = 0.0;
  }
  const int flag = CPMechSolve(c->mech, c->product_t, c->product_y, P->n, f, NULL, d, mu);
  for (size_t j = 0; j < n && !flag; j++) {
    rowVelocities(c, d + j * nu, W + j * n);
    if (c->row[j] >= c->na) W[j + j * n] = 1.0;
  }
  if (!flag) findCarried(c, f, d, mu);
  free(f);
  for (size_t j = 0; j < n && !flag; j++)
    for (size_t i = 0; i < j; i++)
      W[i + j * n] = W[j + i * n] = 0.5 * (W[i + j * n] + W[j + i * n]);
  return flag ? contactPassOn(c, flag) : CP_SUCCESS;
}

int contactStored(const CPContact c) { return !c->problem.times; }

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

/* Memory for an event with n rows, of which W, or what replaces it, is found next: of thousands of contacts few are closed.
 * Returns 0 or CP_MEM_FAIL. */
static int makeRoom(CPContact c, int n, const char *function) {
  ContactProblem *P = &c->problem;
  int stored = c->most.stored, all = c->most.all;
  if (n <= (n <= c->stored ? stored : all)) return CP_SUCCESS;
  if (n <= c->stored) stored = n;
  if (n > all) all = n;
  const int direct   = P->direct > 0 && P->direct < stored ? P->direct : stored;
  const size_t n_all = (size_t)all, n_W = (size_t)stored, d = (size_t)direct,
               dense = 4 * d * d + 19 * d, sparse = n_W * n_W + 16 * n_W,
               room = (dense > sparse ? dense : sparse) + (CONTACT_BASIS + 26) * n_all;
  free(c->W), free(P->on);
  c->W  = malloc((2 * n_W * n_W + room) * sizeof *c->W);
  P->on = malloc((2 * (size_t)c->npoints + 4 * n_all + 1 + (P->direct > 0 ? n_W * n_W : 0)) *
                 sizeof *P->on);
  if (!c->W || !P->on) {
    free(c->W), free(P->on);
    c->W = NULL, P->on = NULL, c->most.stored = c->most.all = 0;
    return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for the impulses of %d rows", n);
  }
  c->most.stored = stored, c->most.all = all;
  P->W = c->W + n_W * n_W, P->room = P->W + n_W * n_W;
  return CP_SUCCESS;
}

/* W [n n] <- the Delassus operator of the problem's rows under the other constraints: the columns are the
 * changes of their velocities by unit impulses. Of c->A the other rows may be left out. */
int contactDelassus(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const int n = c->problem.n;
  int flag    = makeRoom(c, n, function);
  if (flag) return flag;
  flag = contactActivateRows(c, 0);
  if (flag) return contactPassOn(c, flag);
  memcpy(c->skipped, c->is_contact, (size_t)c->na);
  for (int i = 0; i < n; i++)
    if (c->row[i] < c->na) c->skipped[c->row[i]] = 0;
  flag = contactRows(c, t, N_VGetArrayPointer(y), c->skipped);
  if (flag) return contactUserFailed(c, function, "A", t, flag);
  c->product_t = t, c->product_y = y, c->problem.times = NULL;
  if (n <= c->stored) return findColumns(c, function);
  flag             = findBlocks(c);
  c->problem.times = respond, c->problem.data = c;
  return flag;
}

void contactGather(CPContact c, const char *keep) {
  ContactProblem *P = &c->problem;
  P->n = P->ncontacts = 0;
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    if (!keep[i]) continue;
    ContactLaw *law = &P->law[P->ncontacts++];
    *law            = (ContactLaw){
                   .contact = i, .first = P->n, .ntangents = point->ntangents, .mu = point->law.mu};
    for (int k = 0; k <= point->ntangents; k++)
      c->row[P->n++] = k == 0 ? point->normal : point->tangent + k - 1;
  }
}

/* Can the normal impulse of law k move nothing, but for roundoff, although tangential ones can? Such a contact lies between bodies that
 * turn about its normal, and the joints carry what presses it. */
static int isIdle(const CPContact c, int k) {
  const ContactLaw *law = &c->problem.law[k];
  sunrealtype largest   = 0;
  int ld;
  const sunrealtype *W = contactBlock(c, k, &ld);
  for (int i = 1; i <= law->ntangents; i++) largest = fmax(largest, W[i * (1 + ld)]);
  return !c->point[law->contact].is_held && W[0] <= 64 * DBL_EPSILON * largest;
}

int contactPose(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  ContactProblem *P = &c->problem;
  int idle          = 0;
  contactGather(c, c->keep);
  int flag = P->n > 0 ? contactDelassus(c, t, y, function) : CP_SUCCESS;
  for (int k = 0; k < P->ncontacts && !flag; k++)
    if (isIdle(c, k)) c->keep[P->law[k].contact] = 0, idle = 1;
  if (flag || !idle) return flag;
  contactGather(c, c->keep);
  return P->n > 0 ? contactDelassus(c, t, y, function) : CP_SUCCESS;
}

int contactSolveProblem(CPContact c) {
  const int failed = contactSolve(&c->problem);
  c->stats.nsolved++;
  c->stats.nnewton += c->problem.newton;
  if (!failed) c->stats.residual = fmax(c->stats.residual, c->problem.residual);
  return failed;
}

int contactNoSolution(CPContact c, sunrealtype t, const char *what) {
  const ContactProblem *P = &c->problem;
  char names[CP_TEXT_LENGTH / 2];
  size_t used = 0;
  for (int k = 0; k < P->ncontacts && used < sizeof names; k++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"", k > 0 ? ", " : "",
                             c->point[P->law[k].contact].name);
  snprintf(
      c->log.text,
      sizeof c->log.text, "at t = %.10g: no %s of the %d closed contacts %s%s satisfy the laws of contact (residual %.1e)",
      t, what, P->ncontacts, names, used < sizeof names ? "" : " ...", P->residual);
  return CP_CONTACT_NO_SOLUTION;
}

int contactReported(CPContact c, int flag, const char *function) {
  char text[CP_TEXT_LENGTH];
  if (c->yields && flag == CP_CONTACT_NO_SOLUTION) return flag;
  memcpy(text, c->log.text, sizeof text);
  return cpReport(&c->log, flag, function, "%s", text);
}

/* Does an event, or how the contact slides, depend on the accelerations of its rows? Not on those of contacts that are open and stay so. */
static int isOfInterest(const CPContact c, int i) {
  return c->point[i].phase != CP_CONTACT_OPEN || c->before[i].phase != CP_CONTACT_OPEN ||
         c->keep[i] || c->fired[ROOTS * i] || c->event[i].struck;
}

int contactRowAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  memset(c->a, 0, (size_t)c->na * sizeof *c->a);
  memset(c->b, 0, (size_t)c->na * sizeof *c->b);
  memset(c->skipped, 1, (size_t)c->na);
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    if (!isOfInterest(c, i)) continue;
    if (!point->is_held) c->skipped[point->normal] = 0;
    memset(c->skipped + point->tangent, 0, (size_t)point->ntangents);
  }
  int flag = contactSome(c, t, q, NULL, NULL);
  contactSkip(c, c->skipped);
  if (!flag) flag = contactCall(c, b, t, q, q + c->nq, c->b);
  contactSkip(c, NULL);
  if (flag) return contactUserFailed(c, function, "A or b", t, flag);
  contactTimes(c, c->some, c->udot, c->a);
  for (int i = 0; i < c->na; i++) c->a[i] -= c->b[i];
  EACH_NEAR(c, i)
    if (c->point[i].is_held) c->a[c->point[i].normal] = -c->point[i].N;
  return CP_SUCCESS;
}

int contactFreeAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  c->frictionless = 1;
  int flag        = contactActivateRows(c, 0);
  if (!flag) flag = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  c->frictionless = 0;
  if (flag) return contactPassOn(c, flag);
  EACH_NEAR(c, i) {
    Point *point = &c->point[i];
    for (int k = 0; k < point->law.nloads; k++) point->unloaded[k] = c->lambda[point->law.load + k];
    if (point->is_held) point->N = contactNormal(point, c->lambda);
  }
  return contactRowAccelerations(c, t, y, function);
}

int contactLoads(CPContact c, sunrealtype *N) {
  const ContactProblem *P = &c->problem;
  pushed(c, P->x, c->force);
  const int flag =
      CPMechSolve(c->mech, c->product_t, c->product_y, 1, c->force, NULL, c->udot, c->lambda);
  for (int k = 0, n = 0; k < P->ncontacts && !flag; k++) {
    const Point *point = &c->point[P->law[k].contact];
    for (int i = 0; i < point->law.nloads; i++)
      c->lambda[point->law.load + i] += point->unloaded[i];
    if (point->law.nloads > 0) N[n++] = contactNormal(point, c->lambda);
  }
  return flag;
}
