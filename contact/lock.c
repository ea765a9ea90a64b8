/* The end of a motion at a contact: a drive that pushes a body against a floor, a wall or a stop.
 *
 * At such a state no impulses and accelerations satisfy the laws of contact together with all rows of A, but some do without
 * those rows of prescribed motions, A u = -v(t, q, 0) != 0 or A u' = b(t, q, 0) != 0, that carry the load of the contacts: the
 * joints alone leave a way out. */
#include "contact_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gathers the contacts that are closed at c->p. */
static void gatherClosed(CPContact c, sunrealtype t) {
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    c->keep[i]         = !point->is_elastic && !point->is_held &&
                 (point->phase != CP_CONTACT_OPEN ||
                  c->p[point->normal] <= contactClosedGap(c, i, t, c->tol_q));
  }
  contactGather(c, c->keep);
}

/* The contact of the problem that approaches fastest at c->v */
static int fastest(const CPContact c) {
  const ContactProblem *P = &c->problem;
  int k                   = 0;
  for (int j = 1; j < P->ncontacts; j++)
    if (c->v[c->row[P->law[j].first]] < c->v[c->row[P->law[k].first]]) k = j;
  return k;
}

/* n^T W n of law k */
static sunrealtype mobility(const CPContact c, int k) {
  int ld;
  return *contactBlock(c, k, &ld);
}

/* The power load [na] that the rows of prescribed motions need against a normal impulse of the contact of law k or, where motions
 * start, the change of power; 0 in other rows. Returns 0, or nonzero if that is not known. */
static int findLoad(CPContact c, sunrealtype t, N_Vector y, int k, sunrealtype *load) {
  ContactProblem *P    = &c->problem;
  const sunrealtype *q = N_VGetArrayPointer(y);
  sunrealtype *rest    = c->force;
  memset(P->x, 0, (size_t)P->n * sizeof *P->x);
  P->x[P->law[k].first] = 1.0;
  if (contactReact(c, P->x, P->w, c->lambda)) return 1;
  memset(rest, 0, (size_t)c->nu * sizeof *rest);
  memset(c->b, 0, (size_t)c->na * sizeof *c->b);
  if (contactVelocities(c, t, q, rest, contactOff(c)) || contactCall(c, b, t, q, rest, c->b))
    return 1;
  for (int i = 0; i < c->na; i++)
    load[i] = c->is_contact[i] ? 0.0 : fabs(c->lambda[i] * (c->v[i] != 0.0 ? c->v[i] : c->b[i]));
  return contactLargest(c->na, load) == 0.0;
}

/* Switches the rows with a load [na] on or off. Returns CPMechSetActive's code. */
static int switchLoaded(CPContact c, const sunrealtype *load, int on) {
  for (int i = 0; i < c->na; i++) c->mask[i] = load[i] != 0.0 ? on : -1;
  return CPMechSetActive(c->mech, c->mask);
}

/* Has the event a solution in which no closed contact goes on to approach? y and the phases stay as they are. */
static int isAdmissible(CPContact c, sunrealtype t, N_Vector y) {
  const CPContactStats stats = c->stats;
  int passes                 = !contactDecide(c, t, y, "CPSessionRun");
  if (passes) gatherClosed(c, t);
  for (int k = 0; k < c->problem.ncontacts && passes; k++) {
    const int N = c->row[c->problem.law[k].first];
    passes      = c->v[N] >= -c->tol_v * c->scale[N];
  }
  contactUndo(c, y);
  c->stats = stats;
  return passes;
}

/* Writes that the contacts of the problem hold a drive, by the names of the elements that their rows belong to. */
static void tellClosed(CPContact c, sunrealtype t, char *text, size_t length) {
  const ContactProblem *P = &c->problem;
  size_t used             = 0;
  for (int k = 0; k < P->ncontacts && used < length; k++) {
    char name[CP_TEXT_LENGTH / 2] = "";
    const Point *point            = &c->point[P->law[k].contact];
    if (!CPMechGetData(c->mech, &c->data))
      c->model->row_name(CP_NAME_ELEMENT, point->normal, t, name, sizeof name, c->data);
    if (!name[0]) snprintf(name, sizeof name, "contact \"%s\"", point->name);
    used += (size_t)snprintf(text + used, length - used, "%s%s", k > 0 ? ", " : "", name);
  }
  if (used < length)
    snprintf(text + used, length - used, P->ncontacts > 1 ? " hold it" : " holds it");
}

/* The row of a motion that ends at (t, y) since the contact of law k of the closed ones holds it, or -1. load [na]: workspace */
static int rowHeldBy(CPContact c, sunrealtype t, N_Vector y, int k, sunrealtype *load) {
  const char *function = "CPSessionRun";
  int row              = -1;
  gatherClosed(c, t);
  if (contactDelassus(c, t, y, function)) return -1;
  const sunrealtype with = mobility(c, k);
  if (findLoad(c, t, y, k, load) || switchLoaded(c, load, 0)) return -1;
  const int moves  = !contactDelassus(c, t, y, function) && with > CP_ROUNDED * mobility(c, k);
  const int passes = isAdmissible(c, t, y);
  for (int i = 0; i < c->na && passes; i++)
    if (load[i] > 0.0 && (row < 0 || load[i] > load[row])) row = i;
  if (switchLoaded(c, load, 1)) return -1;
  return moves && isAdmissible(c, t, y) ? -1 : row;
}

/* Returns the row of a motion that ends at (t, y), or -1. The contact that approaches fastest is asked first; the others as well, since
 * a drive may push a body that only passes on to a floor what it gets. load [na]: workspace. holds [length]: out, what is said of
 * the closed contacts */
static int lockedRow(CPContact c, sunrealtype t, N_Vector y, sunrealtype *load, char *holds,
                     size_t length) {
  if (contactMeasure(c, t, y, "CPSessionRun")) return -1;
  /* What has gone below the tolerance of gaps counts as closed. */
  EACH_NEAR(c, i)
    if (!c->point[i].is_elastic && c->scale[c->point[i].normal] > 0.0)
      c->tol_q = fmax(c->tol_q, -2.0 * c->p[c->point[i].normal] / c->scale[c->point[i].normal]);
  gatherClosed(c, t);
  if (c->problem.n == 0) return -1;
  const int n = c->problem.ncontacts, first = fastest(c);
  tellClosed(c, t, holds, length);
  int row = rowHeldBy(c, t, y, first, load);
  for (int k = 0; k < n && row < 0; k++)
    if (k != first) row = rowHeldBy(c, t, y, k, load);
  return row;
}

int contactTell(CPContact c, sunrealtype t, N_Vector y, int flag, const char *function) {
  char reason[CP_TEXT_LENGTH], name[CP_TEXT_LENGTH / 2] = "", holds[CP_TEXT_LENGTH / 2] = "";
  if (flag != CP_CONTACT_PENETRATION && flag != CP_CONTACT_NO_SOLUTION) return flag;
  if (flag == CP_CONTACT_NO_SOLUTION && c->yields) return flag;
  memcpy(reason, c->log.text, sizeof reason);
  const CPEquations *own = c->model;
  const int late         = flag == CP_CONTACT_NO_SOLUTION || t > c->t_first;
  if (own->v && own->b && own->row_name && late) {
    /* What is tried may fail, and is not reported. */
    CPObject mech = CP_OBJECT(c->mech), log = CP_OBJECT(c);
    const CPErrHandlerFn of_mech = mech->handler, of_contacts = log->handler;
    const sunrealtype tol_q = c->tol_q;
    sunrealtype *load       = calloc((size_t)c->na, sizeof *load);
    mech->handler = log->handler = NULL;
    const int row                = load ? lockedRow(c, t, y, load, holds, sizeof holds) : -1;
    mech->handler = of_mech, log->handler = of_contacts, c->tol_q = tol_q;
    free(load);
    if (row >= 0 && !CPMechGetData(c->mech, &c->data))
      own->row_name(CP_NAME_LIMIT, row, t, name, sizeof name, c->data);
    if (name[0])
      return cpReport(&c->log, CP_CONTACT_NO_SOLUTION, function, "at t = %.10g: %s: %s", t, name,
                      holds);
  }
  return cpReport(&c->log, flag, function, "%s", reason);
}
