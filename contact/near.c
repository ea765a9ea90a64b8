/* The contacts that may close within a step (CPEquations.far_rows). The others are open, and neither their gaps and velocities nor
 * their laws and rows are evaluated: no loop visits them. They are found at the start and at the end of each step, and remain until the
 * next one, beyond an event, which does not move anything. */
#include "contact_impl.h"

#include <math.h>
#include <string.h>

/* Gaps that are this many tolerances wide exceed the errors of all states of a step. */
#define CLEAR 10.0

/* rows [na] <- off in the rows of a contact */
static void setRows(const Point *point, char off, char *rows) {
  if (!point->is_held) rows[point->normal] = off;
  memset(rows + point->tangent, off, (size_t)point->ntangents);
}

/* Lists the contacts that are near, and the rows that are on. */
static void list(CPContact c) {
  c->nnear = c->nlive = 0;
  c->known.t          = NAN; /* Rows that were not live may have any entries. */
  for (int i = 0; i < c->npoints; i++)
    if (!c->is_far[i]) c->near[c->nnear++] = i;
  for (int i = 0; i < c->na; i++)
    if (!c->off[i]) c->live[c->nlive++] = i;
}

/* A contact that is no longer near has no events, and its gap no offset. */
static void leave(CPContact c, int i) {
  Point *point   = &c->point[i];
  point->zero[0] = 0.0;
  point->fade = point->height = INFINITY;
  point->step.is_near = 1, point->step.turns = 0;
  c->keep[i]   = 0;
  c->event[i]  = (CPContactEvent){CP_SIZED(CPContactEvent), .contact = i, .name = point->name,
                                  .t = c->t, .t_closed = c->t};
  c->is_far[i] = 1;
  setRows(point, 1, c->off);
}

static void comeBack(CPContact c, int i) {
  c->is_far[i] = 0;
  setRows(&c->point[i], 0, c->off);
}

void contactAllNear(CPContact c) {
  for (int i = 0; i < c->npoints; i++)
    if (c->is_far[i]) comeBack(c, i);
  list(c);
}

const char *contactOff(const CPContact c) { return c->nnear < c->npoints ? c->off : NULL; }

/* A gap that counts turns is followed, and an elastic one acts by its rate. */
static int mayBeFar(const Point *point) {
  return point->phase == CP_CONTACT_OPEN && !point->is_held && !point->is_elastic &&
         !(point->turn.period > 0.0);
}

/* found [na] <- the gaps that are far. Returns 1 if that is not known. */
static int find(CPContact c, const sunrealtype *y0, const sunrealtype *y1, sunrealtype h) {
  const sunrealtype *const q[2] = {y0, y1}, *const u[2] = {y0 + c->nq, y1 + c->nq};
  if (!c->model->far_rows || !c->model->skip_rows || c->sens.Ns > 0 || c->recorded) return 1;
  memset(c->found, 0, (size_t)c->na);
  return contactCall(c, far_rows, q, u, h, CLEAR * c->tol_q, c->found) != 0;
}

/* Evaluates the gaps, their rates and the scales of the contacts that have been far until now, and whose rows are on in `found`, at the
 * start of a step. Returns 0 or an error code that has been reported. */
static int meet(CPContact c, sunrealtype t, const sunrealtype *y) {
  const sunrealtype *u = y + c->nq;
  memcpy(c->skipped, c->found, (size_t)c->na);
  int flag = contactMeasureRows(c, t, y, u, c->skipped, "CPSessionRun");
  if (!flag && contactSome(c, t, y, NULL, NULL))
    flag = contactUserFailed(c, "CPSessionRun", "A", t, -1);
  if (flag) return flag;
  contactScalesOf(c, c->some, u, c->found);
  for (int k = 0; k < c->nnear; k++) {
    Point *point  = &c->point[c->near[k]];
    const int gap = point->normal;
    if (point->is_held || c->found[gap]) continue;
    point->step.gap[0] = point->step.gap[1] = c->p[gap];
    point->step.rate[0] = point->step.rate[1] = c->v[gap];
  }
  return CP_SUCCESS;
}

int contactNear(CPContact c, sunrealtype t, const sunrealtype *y0, const sunrealtype *y1,
                sunrealtype h) {
  int back = 0, gone = 0;
  if (find(c, y0, y1, h)) {
    for (int i = 0; i < c->na; i++) c->found[i] = (char)!c->off[i];
    back = c->nnear < c->npoints;
    contactAllNear(c);
    return back ? meet(c, t, y0) : CP_SUCCESS;
  }
  for (int i = 0; i < c->npoints; i++) {
    const int row = c->gap[i], far = row < c->na && c->found[row];
    if (far == c->is_far[i] || (far && !mayBeFar(&c->point[i]))) continue;
    if (far) leave(c, i), gone = 1;
    else c->is_far[i] = 2, back = 1;
  }
  if (!back && !gone) return CP_SUCCESS;
  memset(c->found, 1, (size_t)c->na);
  for (int i = 0; i < c->npoints && back; i++)
    if (c->is_far[i] == 2) comeBack(c, i), setRows(&c->point[i], 0, c->found);
  list(c);
  return back ? meet(c, t, y0) : CP_SUCCESS;
}
