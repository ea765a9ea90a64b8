/* The impulses of closed contacts that approach.
 *
 *   v+ = v- + W P,  w = v+ + e v-:  Newton's law and Coulomb's law of impulses, or Poisson's
 *
 * The energy changes by 1/2 P^T (v- + v+). With friction, Newton's law may let it grow (T. R. Kane,
 * Stanford Mechanics Alumni Club Newsletter, 1984). All e are then reduced by a common factor, the
 * largest for which it does not grow; with e = 0 it never grows, since P_N v_N+ = 0 and P_T^T
 * v_T+ <= 0. So they are where there are no impulses with them: a rod on a hinge whose tip strikes a floor within the cone of friction
 * could only fly back if it slid back, and friction then would push it down. */
#include "contact_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Newton's law: x with W x + v + factor e v- = v+ + factor e v-, where v is the velocity without x;
 * in an impact v = v-. */
static int newtonsImpulses(CPContact c, sunrealtype factor) {
  ContactProblem *P = &c->problem;
  for (int i = 0; i < P->n; i++) P->c[i] = c->velocity[i] + factor * c->e[i] * c->before_v[i];
  const int failed = contactSolveProblem(c);
  for (int i = 0; i < P->n; i++) P->w[i] -= factor * c->e[i] * c->before_v[i];
  return failed;
}

/* Poisson's law: compression, v = v- + W x_c, ends with 0 <= v_N perpendicular to x_c >= 0. Expansion has the impulse x with
 * 0 <= v_N+ = (v + W x)_N perpendicular to x_N - factor e x_cN >= 0 (C. Glocker, F. Pfeiffer, Nonlinear Dynamics 7, 1995). */
static int poissonsImpulses(CPContact c, sunrealtype factor) {
  ContactProblem *P = &c->problem;
  memcpy(P->c, c->velocity, (size_t)P->n * sizeof *P->c);
  if (contactSolveProblem(c)) return 1;
  memcpy(c->compression, P->x, (size_t)P->n * sizeof *P->x);
  memcpy(P->c, P->w, (size_t)P->n * sizeof *P->c);
  for (int k = 0; k < P->ncontacts; k++) {
    const int N     = P->law[k].first;
    P->law[k].given = factor * c->e[N] * P->x[N];
    for (int i = N; i <= N + P->law[k].ntangents; i++) P->x[i] = i == N ? P->law[k].given : 0.0;
  }
  if (contactProduct(c, P->x, P->w)) return 1;
  for (int i = 0; i < P->n; i++) P->c[i] += P->w[i];
  const int failed = contactSolveProblem(c);
  for (int k = 0; k < P->ncontacts; k++) {
    P->x[P->law[k].first] += P->law[k].given;
    P->law[k].given = 0.0;
  }
  for (int i = 0; i < P->n; i++) P->x[i] += c->compression[i];
  return failed;
}

/* Solves for impulses x and velocities w = v+ with all e multiplied by factor. Returns the growth
 * of energy relative to its terms, or NaN if there is no solution. */
static sunrealtype impulses(CPContact c, sunrealtype factor) {
  ContactProblem *P  = &c->problem;
  sunrealtype growth = 0, terms = 0;
  int poisson = 0;
  for (int k = 0; k < P->ncontacts; k++)
    poisson |= c->point[P->law[k].contact].law.kind == CP_RESTITUTION_POISSON;
  if (!P->times) memcpy(P->W, c->W, (size_t)(P->n * P->n) * sizeof *P->W);
  if (poisson ? poissonsImpulses(c, factor) : newtonsImpulses(c, factor)) return NAN;
  for (int i = 0; i < P->n; i++) {
    if (c->row[i] >= c->na) continue;
    growth += P->x[i] * (c->velocity[i] + P->w[i]);
    terms += fabs(P->x[i] * c->velocity[i]) + fabs(P->x[i] * P->w[i]);
  }
  return terms > 0.0 ? growth / terms : 0.0;
}

/* *factor <- the largest one with which there are impulses, and energy does not grow. Returns 1 if there is none. */
static int reduce(CPContact c, sunrealtype *factor) {
  sunrealtype low = 0.0;
  if (isnan(impulses(c, low))) return 1;
  c->stats.nreduced++;
  while (*factor - low > DBL_EPSILON) {
    const sunrealtype middle                             = (low + *factor) / 2;
    *(impulses(c, middle) <= CP_ROUNDED ? &low : factor) = middle;
  }
  *factor = low;
  return isnan(impulses(c, low));
}

/* The name of the contact to which row i of the problem belongs. */
static const char *rowName(CPContact c, int i) {
  const ContactProblem *P = &c->problem;
  int k                   = P->ncontacts - 1;
  while (k > 0 && P->law[k].first > i) k--;
  return c->point[P->law[k].contact].name;
}

/* c->impact.work <- the work of the impulses of constraints that move, -Lambda . g' with A u = v + g', for the balance of the model.
 * Lambda: c->lambda in the other rows of A, and -P in those of contacts. The work of contacts themselves is P . (v- + v+) / 2, so that
 * T - W changes by that alone. */
static int findWork(CPContact c, sunrealtype t, const sunrealtype *q) {
  const ContactProblem *P = &c->problem;
  memset(c->force, 0, (size_t)c->nu * sizeof *c->force);
  const int flag = contactVelocities(c, t, q, c->force, contactOff(c)); /* v(t, q, 0) = -g' */
  for (int i = 0; i < P->n; i++)
    if (c->row[i] < c->na) c->lambda[c->row[i]] = -P->x[i];
  c->impact.work = contactDot(c->na, c->lambda, c->v);
  return flag;
}

/* Do the rows of other constraints that react, by c->lambda, keep their velocities before [na]? Where these constraints let nothing move
 * in the direction of an impulse, W is roundoff, and the impulses that it yields break them. (Rows that are off do not react.) */
static int othersHold(CPContact c, const sunrealtype *before, sunrealtype size) {
  EACH_LIVE(c, i)
    if (!c->is_contact[i] && c->lambda[i] != 0.0 &&
        fabs(c->v[i] - before[i]) > fmax(CP_INEXACT * size, c->round_v * c->scale[i]))
      return 0;
  return 1;
}

int contactApplyImpulses(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const ContactProblem *P = &c->problem;
  const int work          = (int)c->model->work;
  sunrealtype *u = N_VGetArrayPointer(y) + c->nq, *z = u + c->nu;
  int flag = contactActivateRows(c, 0);
  if (!flag) flag = contactReact(c, P->x, c->before_v, c->lambda);
  if (flag) return contactPassOn(c, flag);
  memcpy(c->b, c->v, (size_t)c->na * sizeof *c->b);
  flag = work ? findWork(c, t, u - c->nq) : 0;
  if (flag) return contactUserFailed(c, function, "v", t, flag);
  if (work) z[work - 1] += c->impact.work;
  for (int j = 0; j < c->nu; j++) u[j] += c->udot[j];
  flag                   = contactMeasure(c, t, y, function);
  const sunrealtype size = contactLargest(P->n, c->velocity);
  if (!flag && !othersHold(c, c->b, size)) return contactNoSolution(c, t, "impulses");
  for (int i = 0; i < P->n && !flag; i++) {
    const sunrealtype after = c->velocity[i] + c->before_v[i];
    if (!(fabs(c->v[c->row[i]] - after) <=
          fmax(CP_INEXACT * size, contactZeroVelocity(c, c->row[i]))))
      flag = cpReport(
          &c->log, CP_MECH_A_WRONG, function,
          "at t = %.10g: row %d, of contact \"%s\", has the velocity %g after an impact, and not "
          "%g: A is not the derivative of v",
          t, c->row[i], rowName(c, i), c->v[c->row[i]], after);
  }
  return flag;
}

/* Stores the velocities of the problem's rows before an impact, and their coefficients of
 * restitution. */
static void takeVelocities(CPContact c) {
  const ContactProblem *P = &c->problem;
  for (int k = 0; k < P->ncontacts; k++)
    for (int i = 0; i <= P->law[k].ntangents; i++)
      c->e[P->law[k].first + i] =
          i == 0 && c->impact.plastic[k] ? 0.0 : contactE(&c->point[P->law[k].contact], i);
  for (int i = 0; i < P->n; i++) c->velocity[i] = c->before_v[i] = c->v[c->row[i]];
}

sunrealtype contactResolution(sunrealtype t) { return 1.0e6 * DBL_EPSILON * fabs(t); }

sunrealtype contactReturn(const CPContact c, int i, sunrealtype t) {
  const Point *point      = &c->point[i];
  const sunrealtype least = fmax(c->impact.pull[i], -c->a[point->normal]),
                    v     = c->event[i].velocity[0][0];
  const int flew          = c->event[i].before == CP_CONTACT_OPEN && t > point->left.t;
  return flew ? fmax(least, (point->left.v - v) / (t - point->left.t)) : least;
}

int contactSkips(const CPContact c, int i, sunrealtype t, sunrealtype v, sunrealtype e) {
  CPContactEvent *event = &c->event[i];
  const sunrealtype a = contactReturn(c, i, t), scale = c->scale[c->point[i].normal],
                    remains = a > 0.0 ? 2.0 * v / (a * (1.0 - e)) : 0.0, way = v * remains,
                    flight = contactResolution(t);
  const int is_short       = a > 0.0 && (way <= c->small_q * scale || 2.0 * v <= a * flight);
  if (e == 1.0 || (!(v <= c->small_v * scale) && !is_short)) return 0;
  event->accumulated = 1;
  event->t_closed    = t + remains;
  return 1;
}

/* Finds contacts whose returns after this impact are skipped, and makes them plastic. With these impulses others may
 * strike that would return in their place, so that it is called until it finds none. factor: that of all e. largest: the largest
 * |velocity| before. Returns the number of those that it finds. */
static int skipReturns(CPContact c, sunrealtype t, sunrealtype factor, sunrealtype largest) {
  ContactProblem *P = &c->problem;
  int found         = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    const int N           = P->law[k].first;
    CPContactEvent *event = &c->event[P->law[k].contact];
    const sunrealtype e = factor * c->e[N], v = P->w[N]; /* normal velocity after the impact */
    /* The impulses of resting contacts are due to roundoff and errors, and do not count as impacts. */
    const sunrealtype small = c->small_v * c->scale[c->row[N]];
    int ld;
    /* the part of the velocity that is due to its own impulse */
    const sunrealtype moved = P->x[N] * *contactBlock(c, k, &ld);
    event->struck |= P->x[N] > 0.0 && (c->velocity[N] < -small || moved > small);
    if (event->accumulated ||
        (event->struck ? e == 0.0 : event->before == CP_CONTACT_OPEN || v <= CP_ROUNDED * largest))
      continue;
    /* A contact that is opened by the impact of another, as in a rocking block, is assumed to
     * return by itself as well. */
    if (!contactSkips(c, P->law[k].contact, t, v, e)) continue;
    found++;
    P->law[k].glued = c->impact.glued[k] = !event->struck;
    c->e[N]                              = 0;
    c->impact.plastic[k]                 = 1;
    c->stats.naccumulations++;
  }
  return found;
}

/* Releases the contacts that are glued since others lift them, if there are no impulses with them: a foot between others,
 * one of which strikes, is a pivot about which the last one would penetrate. They fly, however short that is. Returns
 * their number. */
static int releaseGlued(CPContact c) {
  int released = 0;
  for (int k = 0; k < c->problem.ncontacts; k++) {
    CPContactEvent *event = &c->event[c->problem.law[k].contact];
    if (!c->impact.glued[k]) continue;
    c->problem.law[k].glued = c->impact.glued[k] = 0;
    event->t_closed                              = NAN;
    c->stats.naccumulations--, released++;
  }
  return released;
}

int contactRestitution(CPContact c, int releases, sunrealtype *factor) {
  for (;;) {
    const sunrealtype growth = impulses(c, *factor);
    if (!isnan(growth) && contactLargest(c->problem.n, c->e) == 0.0)
      return 0; /* It grows by errors alone. */
    if (growth <= CP_ROUNDED || (!isnan(growth) && !reduce(c, factor))) return 0;
    if (releases && releaseGlued(c)) continue;
    return isnan(growth) ? reduce(c, factor) : 1;
  }
}

/* A contact that has been released is not skipped. While impulses are sought `accumulated` kept it from being glued again. */
static void countReleased(CPContact c) {
  for (int k = 0; k < c->problem.ncontacts; k++) {
    CPContactEvent *event = &c->event[c->problem.law[k].contact];
    if (isnan(event->t_closed)) event->accumulated = 0, event->t_closed = event->t;
  }
}

/* c->impact.pull <- N W_NN of the contacts of the impact, with the forces N >= 0 that hold all of them, without friction: the
 * acceleration that closes a contact if the others keep theirs. A ball on balls that fall without contact forces as it does comes back
 * by that alone. Where there are no such forces, nothing is known. That of a single contact is -a, with which contactReturn begins. */
static void findPulls(CPContact c) {
  ContactProblem *P = &c->problem;
  if (!P->times) memcpy(P->W, c->W, (size_t)(P->n * P->n) * sizeof *P->W);
  for (int i = 0; i < P->n; i++) P->c[i] = c->a[c->row[i]];
  for (int k = 0; k < P->ncontacts; k++) P->law[k].mu = 0.0;
  const int failed = contactSolveProblem(c);
  for (int k = 0; k < P->ncontacts; k++) {
    int ld;
    ContactLaw *law = &P->law[k];
    law->mu         = c->point[law->contact].law.mu;
    if (!failed) c->impact.pull[law->contact] = P->x[law->first] * *contactBlock(c, k, &ld);
  }
}

int contactImpact(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  ContactProblem *P  = &c->problem;
  int approaching    = 0;
  sunrealtype factor = 1;
  for (int k = 0; k < P->ncontacts; k++) {
    const int row = c->row[P->law[k].first];
    approaching |= c->v[row] < -c->small_v * c->scale[row];
  }
  if (!approaching) return CP_SUCCESS;
  for (int k = 0; k < P->ncontacts; k++) {
    const int row      = c->row[P->law[k].first];
    const Point *point = &c->point[P->law[k].contact];
    /* With Newton's law, a contact that rests or recedes, and is loaded by the impact of another,
     * would penetrate. */
    c->impact.plastic[k] = point->law.kind != CP_RESTITUTION_POISSON &&
                           (point->rested || c->v[row] >= -c->small_v * c->scale[row]);
    c->impact.glued[k] = 0;
  }
  takeVelocities(c);
  const int flag = contactFreeAccelerations(c, t, y, function);
  if (flag) return flag;
  if (P->ncontacts > 1) findPulls(c);
  const sunrealtype largest = contactLargest(P->n, c->velocity);
  do
    if (contactRestitution(c, 1, &factor)) return contactNoSolution(c, t, "impulses");
  while (skipReturns(c, t, factor, largest));
  countReleased(c);
  c->stats.nimpacts++;
  c->impact.any = 1;
  memcpy(c->impact.keep, c->keep, (size_t)c->npoints);
  for (int k = 0; k < P->ncontacts; k++)
    for (int i = 0; i <= P->law[k].ntangents; i++) {
      CPContactEvent *event = &c->event[P->law[k].contact];
      event->velocity[0][i] = c->velocity[P->law[k].first + i];
      event->impulse[i]     = P->x[P->law[k].first + i];
    }
  return contactApplyImpulses(c, t, y, function);
}

int contactRepeatImpact(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  ContactProblem *P  = &c->problem;
  sunrealtype factor = 1;
  int flag           = contactLaws(c, t, N_VGetArrayPointer(y), 0, function);
  if (!flag) flag = contactMeasure(c, t, y, function);
  if (flag) return flag;
  contactGather(c, c->impact.keep);
  flag = contactDelassus(c, t, y, function);
  if (flag) return flag;
  for (int k = 0; k < P->ncontacts; k++) P->law[k].glued = c->impact.glued[k];
  takeVelocities(c);
  if (contactRestitution(c, 0, &factor))
    return contactReported(c, contactNoSolution(c, t, "impulses"), function);
  flag = contactApplyImpulses(c, t, y, function);
  return flag == CP_CONTACT_NO_SOLUTION ? contactReported(c, flag, function) : flag;
}
