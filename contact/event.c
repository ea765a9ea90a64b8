/* An event: what contacts are closed; their impulses, if any two approach each other; then their accelerations, which
 * decide about phases.
 *
 *   velocities     v+ = v- + W P,  w = v+ + e v-:  Newton's law and Coulomb's law of impulses, or Poisson's
 *   accelerations  w = W F + a,    a: without contacts
 *
 * Energy changes by 1/2 P^T (v- + v+). Newton's law with friction may let it grow (T. R. Kane, Stanford Mechanics Alumni
 * Club Newsletter, 1984). All e are then reduced by the same factor, to the largest for which it does not; with
 * e = 0 it never grows, since P_N v_N+ = 0 and P_T^T v_T+ <= 0. */
#include "contact_impl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* A flight that lasts less than this many roundoffs of t is the end of an accumulation. Root functions that are zero at a
 * start are looked at 1e5 of them later. */
#define RESOLVED 1.0e6
/* Gaps are known up to this many roundoffs of the coordinates. */
#define NOISE 256
/* At a root of a normal force, or of the distance from the cone of friction, these parts of the force are zero. */
#define AT_ROOT 1.0e-6
/* Events are known up to this many roundoffs of t (CVODES' search for roots: 100 of the end of the step). */
#define LOCATED 1.0e3
/* Energy that grows by this part of its terms is roundoff. */
#define ROUNDOFF   1.0e-10
#define BISECTIONS 50
/* Rows whose pivots are this part of their diagonal are dependent. */
#define DEPENDENT 1.0e-8
/* The velocities after impulses must be those predicted, up to this part. */
#define WRONG 1.0e-6

/* A failure of CPMech, which has reported it. */
static int passOn(CPContact c, int flag) {
  snprintf(c->message, sizeof c->message, "%s", CPMechGetLastMessage(c->mech));
  return flag;
}

static int userFailed(CPContact c, const char *function, const char *name, sunrealtype t, int flag) {
  return contactError(c, flag < 0 ? CP_USERFUNC_FAIL : CP_REPTD_USERFUNC_ERR, function,
                      "at t = %.15g: %s failed (%d)", t, name, flag);
}

int contactMeasure(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + c->nq;
  memset(c->p, 0, (size_t)c->na * sizeof *c->p);
  memset(c->v, 0, (size_t)c->na * sizeof *c->v);
  int flag = c->model.p(t, q, c->p, c->user_data);
  if (flag) return userFailed(c, function, "p", t, flag);
  if (c->model.v) flag = c->model.v(t, q, u, c->v, c->user_data);
  else flag = contactRows(c, t, q);
  if (flag) return userFailed(c, function, c->model.v ? "v" : "A", t, flag);
  if (!c->model.v) contactTimes(c->A, u, c->v);
  for (int i = 0; i < c->na; i++)
    if (!isfinite(c->p[i]) || !isfinite(c->v[i]))
      return contactError(c, CP_MECH_NONFINITE, function,
                          "at t = %.15g: row %d of p or v is not finite", t, i);
  return CP_SUCCESS;
}

int contactActivate(CPContact c) {
  for (int i = 0; i < c->na; i++) c->mask[i] = !c->is_contact[i];
  for (int i = 0; i < c->npoints; i++) {
    const Point *point = &c->point[i];
    if (point->phase == CP_CONTACT_OPEN) continue;
    c->mask[point->normal] = 1;
    for (int k = 0; k < point->ntangents; k++)
      c->mask[point->tangent + k] = point->phase == CP_CONTACT_STICKING && !point->implied;
  }
  return CPMechSetActive(c->mech, c->mask);
}

/* Rows of the model's other constraints are on, and those of the problem if with_contacts. */
static int activateRows(CPContact c, int with_contacts) {
  for (int i = 0; i < c->na; i++) c->mask[i] = !c->is_contact[i];
  for (int i = 0; i < c->problem.n && with_contacts; i++) c->mask[c->row[i]] = 1;
  return CPMechSetActive(c->mech, c->mask);
}

/* W [n n] <- the Delassus operator of the problem's rows, without the others: S_cc - S_co S_oo^+ S_oc. */
static int delassus(CPContact c, sunrealtype t, N_Vector y) {
  const int n       = c->problem.n;
  int other         = 0;
  sunrealtype *S_oo = c->problem.room, *column = c->problem.x, *x = c->problem.w;
  int flag = activateRows(c, 1);
  if (!flag) flag = CPMechDelassus(c->mech, t, y, c->S);
  if (flag) return passOn(c, flag);
  for (int i = 0; i < c->na; i++) other += !c->is_contact[i];
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) c->W[i + j * n] = SUNDenseMatrix_Column(c->S, c->row[j])[c->row[i]];
    if (other == 0) continue;
    for (int l = 0, m = 0; l < c->na; l++) {
      if (c->is_contact[l]) continue;
      column[m] = SUNDenseMatrix_Column(c->S, c->row[j])[l];
      for (int i = 0, k = 0; i < c->na; i++)
        if (!c->is_contact[i]) S_oo[k++ + m * other] = SUNDenseMatrix_Column(c->S, l)[i];
      m++;
    }
    contactLinearSolve(other, S_oo, column, x, S_oo + other * other);
    for (int l = 0, m = 0; l < c->na; l++) {
      if (c->is_contact[l]) continue;
      for (int i = 0; i < n; i++)
        c->W[i + j * n] -= SUNDenseMatrix_Column(c->S, l)[c->row[i]] * x[m];
      m++;
    }
  }
  return CP_SUCCESS;
}

/* The problem consists of the closed contacts, or of those of them that stay so (keep [npoints]). */
static void gather(CPContact c, const char *keep) {
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

static int solve(CPContact c) {
  const int failed = contactSolve(&c->problem);
  c->stats.nsolved++;
  c->stats.nnewton += c->problem.newton;
  if (!failed) c->stats.residual = fmax(c->stats.residual, c->problem.residual);
  return failed;
}

static int noSolution(CPContact c, sunrealtype t, const char *function, const char *what) {
  const ContactProblem *P = &c->problem;
  char names[CONTACT_TEXT / 2];
  size_t used = 0;
  for (int k = 0; k < P->ncontacts && used < sizeof names; k++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"", k > 0 ? ", " : "",
                             c->point[P->law[k].contact].name);
  return contactError(c, CP_CONTACT_NO_SOLUTION, function,
                      "at t = %.15g: no %s of the %d closed contacts %s%s satisfy the laws of "
                      "contact (residual %.1e)",
                      t, what, P->ncontacts, names, used < sizeof names ? "" : " ...", P->residual);
}

/* a [na] <- A u' - b without contacts */
static int freeAccelerations(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  c->mode              = FREE;
  int flag             = activateRows(c, 0);
  if (!flag) flag = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  c->mode = MOTION;
  if (flag) return passOn(c, flag);
  memset(c->a, 0, (size_t)c->na * sizeof *c->a);
  memset(c->b, 0, (size_t)c->na * sizeof *c->b);
  flag = contactRows(c, t, q);
  if (!flag) flag = c->model.b(t, q, q + c->nq, c->b, c->user_data);
  if (flag) return userFailed(c, function, "A or b", t, flag);
  contactTimes(c->A, c->udot, c->a);
  for (int i = 0; i < c->na; i++) c->a[i] -= c->b[i];
  return CP_SUCCESS;
}

/* ---- impulses ---- */

/* Newton's law: x with W x + (1 + factor e) v- = v+ + factor e v-. */
static int newtonsImpulses(CPContact c, sunrealtype factor) {
  ContactProblem *P = &c->problem;
  for (int i = 0; i < P->n; i++) P->c[i] = (1.0 + factor * c->e[i]) * c->velocity[i];
  const int failed = solve(c);
  for (int i = 0; i < P->n; i++) P->w[i] -= factor * c->e[i] * c->velocity[i];
  return failed;
}

/* Poisson's law: compression, v = v- + W x_c, ends with 0 <= v_N perpendicular to x_c >= 0. Expansion has the impulse x with
 * 0 <= v_N+ = (v + W x)_N perpendicular to x_N - factor e x_cN >= 0 (C. Glocker, F. Pfeiffer, Nonlinear Dynamics 7, 1995). */
static int poissonsImpulses(CPContact c, sunrealtype factor) {
  ContactProblem *P = &c->problem;
  memcpy(P->c, c->velocity, (size_t)P->n * sizeof *P->c);
  if (solve(c)) return 1;
  memcpy(c->compression, P->x, (size_t)P->n * sizeof *P->x);
  memcpy(P->c, P->w, (size_t)P->n * sizeof *P->c);
  for (int k = 0; k < P->ncontacts; k++) {
    const int N     = P->law[k].first;
    P->law[k].given = factor * c->e[N] * P->x[N];
    for (int i = 0; i < P->n; i++) P->c[i] += c->W[i + N * P->n] * P->law[k].given;
  }
  const int failed = solve(c);
  for (int k = 0; k < P->ncontacts; k++) {
    P->x[P->law[k].first] += P->law[k].given;
    P->law[k].given = 0.0;
  }
  for (int i = 0; i < P->n; i++) P->x[i] += c->compression[i];
  return failed;
}

/* Solves for impulses x and velocities w = v+ with all e times factor. Returns the growth of energy relative to its terms, or
 * NaN. */
static sunrealtype impulses(CPContact c, sunrealtype factor) {
  ContactProblem *P  = &c->problem;
  sunrealtype growth = 0, terms = 0;
  int poisson = 0;
  for (int k = 0; k < P->ncontacts; k++) poisson |= c->point[P->law[k].contact].poisson;
  memcpy(P->W, c->W, (size_t)(P->n * P->n) * sizeof *P->W);
  if (poisson ? poissonsImpulses(c, factor) : newtonsImpulses(c, factor)) return NAN;
  for (int i = 0; i < P->n; i++) {
    growth += P->x[i] * (c->velocity[i] + P->w[i]);
    terms += fabs(P->x[i] * c->velocity[i]) + fabs(P->x[i] * P->w[i]);
  }
  return terms > 0.0 ? growth / terms : 0.0;
}

/* The largest factor of all e that does not let energy grow. Returns 0, or 1 if there is no solution. */
static int restitution(CPContact c, sunrealtype *factor) {
  sunrealtype low = 0.0, growth = impulses(c, *factor);
  if (growth <= ROUNDOFF) return 0;
  if (isnan(growth)) return 1;
  c->stats.nreduced++;
  for (int k = 0; k < BISECTIONS; k++) {
    const sunrealtype middle = (low + *factor) / 2;
    growth                   = impulses(c, middle);
    if (isnan(growth)) return 1;
    *(growth <= ROUNDOFF ? &low : factor) = middle;
  }
  *factor = low;
  return isnan(impulses(c, low));
}

/* Name of the contact that has row i of the problem */
static const char *rowName(CPContact c, int i) {
  const ContactProblem *P = &c->problem;
  int k                   = P->ncontacts - 1;
  while (k > 0 && P->law[k].first > i) k--;
  return c->point[P->law[k].contact].name;
}

/* u <- u + M^{-1} A^T P under the other constraints; then c->v. */
static int applyImpulses(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  const ContactProblem *P = &c->problem;
  sunrealtype *u = N_VGetArrayPointer(y) + c->nq, size = 0;
  memset(c->impulse, 0, (size_t)c->na * sizeof *c->impulse);
  for (int i = 0; i < P->n; i++) c->impulse[c->row[i]] = P->x[i];
  c->mode  = IMPULSES;
  int flag = activateRows(c, 0);
  if (!flag) flag = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  c->mode = MOTION;
  if (flag) return passOn(c, flag);
  for (int j = 0; j < c->nu; j++) u[j] += c->udot[j];
  flag = contactMeasure(c, t, y, function);
  for (int i = 0; i < P->n; i++) size = fmax(size, fabs(c->velocity[i]));
  for (int i = 0; i < P->n && !flag; i++) {
    sunrealtype after = c->velocity[i];
    for (int j = 0; j < P->n; j++) after += c->W[i + j * P->n] * P->x[j];
    if (!(fabs(c->v[c->row[i]] - after) <=
          fmax(WRONG * size, 0.1 * c->small_v * c->scale[c->row[i]])))
      flag = contactError(
          c, CP_MECH_A_WRONG, function,
          "at t = %.15g: row %d, of contact \"%s\", has the velocity %g after an impact, and not "
          "%g: A is not the derivative of v, or a motion is prescribed",
          t, c->row[i], rowName(c, i), c->v[c->row[i]], after);
  }
  return flag;
}

/* If closed contacts approach each other: new velocities in y and c->v. */
static int impact(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  ContactProblem *P = &c->problem;
  int approaching = 0, accumulated = 0;
  sunrealtype factor = 1;
  for (int k = 0; k < P->ncontacts; k++) {
    const int row = c->row[P->law[k].first];
    approaching |= c->v[row] < -c->small_v * c->scale[row];
  }
  if (!approaching) return CP_SUCCESS;
  for (int k = 0; k < P->ncontacts; k++) {
    const int N = P->law[k].first, row = c->row[N];
    for (int i = 0; i <= P->law[k].ntangents; i++) c->e[N + i] = c->point[P->law[k].contact].e[i];
    /* Newton's law would have one that rests or recedes, and is pressed by the impact of another, penetrate. */
    if (!c->point[P->law[k].contact].poisson && c->v[row] >= -c->small_v * c->scale[row])
      c->e[N] = 0.0;
  }
  for (int i = 0; i < P->n; i++) c->velocity[i] = c->v[c->row[i]];
  const int flag = freeAccelerations(c, t, y, function);
  if (flag) return flag;
  if (restitution(c, &factor)) return noSolution(c, t, function, "impulses");
  for (int k = 0; k < P->ncontacts; k++) {
    const int N           = P->law[k].first;
    CPContactEvent *event = &c->event[P->law[k].contact];
    const sunrealtype e = factor * c->e[N], v = P->w[N]; /* after */
    const sunrealtype a = fmax(0.0, -c->a[c->row[N]]), flight = RESOLVED * DBL_EPSILON * fabs(t);
    event->struck = P->x[N] > 0.0;
    if (e == 1.0 || (event->struck ? e == 0.0 : event->before == CP_CONTACT_OPEN || v <= 0.0))
      continue;
    /* Flights that follow last sum_k 2 v e^k / a, of which a way v times as long is what remains. A contact that opens by the
     * impact of another one, as of a rocking block, is taken to come back like that, too. */
    const sunrealtype remains = a > 0.0 ? 2.0 * v / (a * (1.0 - e)) : 0.0;
    const sunrealtype scale = c->scale[c->row[N]], way = v * remains;
    const int is_short = a > 0.0 && (way <= c->small_q * scale || 2.0 * v <= a * flight);
    if (!(v <= c->small_v * scale) && !is_short) continue;
    accumulated = event->accumulated = 1;
    event->t_closed                  = t + remains;
    P->law[k].glued                  = !event->struck;
    c->e[N]                          = 0;
    c->stats.naccumulations++;
  }
  if (accumulated && restitution(c, &factor)) return noSolution(c, t, function, "impulses");
  c->stats.nimpacts++;
  for (int k = 0; k < P->ncontacts; k++)
    for (int i = 0; i <= P->law[k].ntangents; i++) {
      CPContactEvent *event = &c->event[P->law[k].contact];
      event->velocity[0][i] = c->velocity[P->law[k].first + i];
      event->impulse[i]     = P->x[P->law[k].first + i];
    }
  return applyImpulses(c, t, y, function);
}

/* ---- accelerations ---- */

/* n^T W (n - mu s) of a law, in the problem's W. */
static sunrealtype criterion(const ContactProblem *P, const sunrealtype *W, const ContactLaw *law,
                             const sunrealtype *s) {
  sunrealtype value = W[law->first * (1 + P->n)];
  for (int k = 0; k < law->ntangents; k++)
    value -= law->mu * s[k] * W[law->first + (law->first + 1 + k) * P->n];
  return value;
}

static int painleve(CPContact c, sunrealtype t, const ContactLaw *law, const char *function) {
  const Point *point = &c->point[law->contact];
  return contactError(
      c, CP_CONTACT_PAINLEVE, function,
      "at t = %.15g: contact \"%s\" slides with the velocity %g and mu = %g where a normal force "
      "does not push it apart (Painleve): n^T W (n - mu s) = %.3e",
      t, point->name, c->v[point->tangent], law->mu, criterion(&c->problem, c->W, law, law->s));
}

/* Solves for the forces of the problem's contacts, whose velocities are c->v. Contacts that begin to slide get a direction,
 * and coefficient mu in place of mu_static. */
static int forces(CPContact c, sunrealtype t, const char *function) {
  ContactProblem *P = &c->problem;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law         = &P->law[k];
    const Point *point      = &c->point[law->contact];
    const sunrealtype *v_T  = c->v + point->tangent;
    const sunrealtype speed = law->ntangents == 0   ? 0.0
                              : law->ntangents == 1 ? fabs(v_T[0])
                                                    : hypot(v_T[0], v_T[1]);
    law->mu                 = point->mu_static;
    law->slides             = speed > 2.0 * c->small_v * c->scale[point->tangent];
    for (int i = 0; i < law->ntangents && law->slides; i++) law->s[i] = v_T[i] / speed;
    if (law->slides) law->mu = point->mu;
  }
  for (int again = 1; again;) {
    again = 0;
    memcpy(P->W, c->W, (size_t)(P->n * P->n) * sizeof *P->W);
    for (int i = 0; i < P->n; i++) P->c[i] = c->a[c->row[i]];
    if (solve(c)) {
      for (int k = 0; k < P->ncontacts; k++)
        if (P->law[k].slides && criterion(P, c->W, &P->law[k], P->law[k].s) <= 0.0)
          return painleve(c, t, &P->law[k], function);
      return noSolution(c, t, function, "accelerations");
    }
    for (int k = 0; k < P->ncontacts; k++) {
      ContactLaw *law      = &P->law[k];
      const Point *point   = &c->point[law->contact];
      const sunrealtype *x = P->x + law->first;
      const sunrealtype T  = law->ntangents == 0   ? 0.0
                             : law->ntangents == 1 ? fabs(x[1])
                                                   : hypot(x[1], x[2]);
      if (x[0] > 0.0 && law->slides && criterion(P, c->W, law, law->s) <= 0.0)
        return painleve(c, t, law, function);
      const int at_root = c->fired[ROOTS * law->contact + 1] && point->phase == CP_CONTACT_STICKING;
      if (law->slides || T == 0.0 || T < (1.0 - AT_ROOT) * law->mu * x[0]) continue;
      const sunrealtype bound = 64 * P->n * DBL_EPSILON * law->mu * x[0];
      if (!at_root && T < law->mu * x[0] - bound) continue;
      law->slides = 1, law->mu = point->mu;
      for (int i = 0; i < law->ntangents; i++) law->s[i] = -x[1 + i] / T;
      again = 1;
    }
  }
  return CP_SUCCESS;
}

/* Contacts that stick although their tangential rows depend on other rows that are on: W = L L^T, normal rows first, has pivots
 * that are zero there. */
static void findImplied(CPContact c) {
  const ContactProblem *P = &c->problem;
  sunrealtype *L          = P->room;
  int on                  = 0;
  int *row                = c->order; /* of the problem, in the order of L */
  for (int tangential = 0; tangential < 2; tangential++)
    for (int k = 0; k < P->ncontacts; k++) {
      const ContactLaw *law = &P->law[k];
      Point *point          = &c->point[law->contact];
      if (point->phase == CP_CONTACT_OPEN || (tangential && point->phase == CP_CONTACT_SLIDING))
        continue;
      const int before = on;
      for (int i = tangential; i <= tangential * law->ntangents && !point->implied; i++) {
        const int r       = law->first + i;
        sunrealtype pivot = c->W[r * (1 + P->n)];
        for (int j = 0; j < on; j++) {
          sunrealtype sum = c->W[r + row[j] * P->n];
          for (int m = 0; m < j; m++) sum -= L[on + m * P->n] * L[j + m * P->n];
          L[on + j * P->n] = L[j + j * P->n] > 0.0 ? sum / L[j + j * P->n] : 0.0;
          pivot -= L[on + j * P->n] * L[on + j * P->n];
        }
        const int dependent = !(pivot > DEPENDENT * c->W[r * (1 + P->n)]);
        L[on * (1 + P->n)]  = dependent ? 0.0 : sqrt(pivot);
        if (!tangential || !dependent) row[on++] = r;
        else point->implied = 1, on = before;
      }
      for (int i = 0; i < law->ntangents && point->implied; i++)
        point->s[i] = -P->x[law->first + 1 + i] / (point->mu_static * P->x[law->first]);
    }
}

/* Phases by the forces and laws of the problem; contacts that are not in it are open. */
static void setPhases(CPContact c) {
  const ContactProblem *P = &c->problem;
  sunrealtype size        = 0; /* of forces */
  for (int i = 0; i < P->n; i++) size = fmax(size, fabs(P->c[i]) / P->W[i * (1 + P->n)]);
  for (int i = 0; i < c->npoints; i++) c->point[i].phase = CP_CONTACT_OPEN, c->point[i].implied = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    const ContactLaw *law = &P->law[k];
    Point *point          = &c->point[law->contact];
    const int at_root =
        c->fired[ROOTS * law->contact] && c->before[law->contact].phase != CP_CONTACT_OPEN;
    if (!(P->x[law->first] > (at_root ? AT_ROOT * size : 0.0))) continue;
    point->phase = law->slides || law->ntangents == 0 ? CP_CONTACT_SLIDING : CP_CONTACT_STICKING;
    for (int i = 0; i < law->ntangents; i++) point->s[i] = law->slides ? law->s[i] : 0.0;
  }
  findImplied(c);
}

/* A gap that may be zero at t: of a part of the tolerance, or what it changes by in the uncertainty of t. */
static sunrealtype closedGap(CPContact c, int i, sunrealtype t) {
  const int row = c->point[i].normal;
  return c->small_q * c->scale[row] + fabs(c->v[row]) * LOCATED * DBL_EPSILON * fabs(t);
}

int contactPenetrates(CPContact c, int i, sunrealtype t, const char *function) {
  const Point *point = &c->point[i];
  if (!(c->p[point->normal] < -10.0 * closedGap(c, i, t))) return CP_SUCCESS;
  return contactError(c, CP_CONTACT_PENETRATION, function,
                      "at t = %.15g: contact \"%s\" penetrates: its gap is %.3e", t, point->name,
                      c->p[point->normal]);
}

/* Velocities of rows that are to be on, which are zero but for a part of the tolerance, become zero. */
static int settle(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  ContactProblem *P = &c->problem;
  sunrealtype *W_on = P->room, *v_on = P->w, *x_on = P->c, largest = 0;
  int n = 0, flag = contactActivate(c);
  if (flag) return passOn(c, flag);
  for (int i = 0; i < P->n; i++)
    if (c->mask[c->row[i]] != 0.0) c->order[n++] = i;
  for (int i = 0; i < n; i++) {
    v_on[i] = -c->v[c->row[c->order[i]]];
    largest = fmax(largest, fabs(v_on[i]) / c->scale[c->row[c->order[i]]]);
    for (int j = 0; j < n; j++) W_on[i + j * n] = c->W[c->order[i] + c->order[j] * P->n];
  }
  if (!(largest > 0.1 * c->small_v)) return CP_SUCCESS;
  contactLinearSolve(n, W_on, v_on, x_on, W_on + n * n);
  memset(P->x, 0, (size_t)P->n * sizeof *P->x);
  for (int i = 0; i < n; i++) P->x[c->order[i]] = x_on[i];
  for (int i = 0; i < P->n; i++) c->velocity[i] = c->v[c->row[i]];
  return applyImpulses(c, t, y, function);
}

/* Velocities and phases after the event at (t, y). */
static int decide(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  int flag = contactMeasure(c, t, y, function);
  if (!flag && (flag = contactRows(c, t, N_VGetArrayPointer(y))) != 0)
    return userFailed(c, function, "A", t, flag);
  if (!flag) contactScales(c);
  for (int i = 0; i < c->npoints && !flag; i++) {
    const Point *point    = &c->point[i];
    const sunrealtype gap = c->p[point->normal];
    c->event[i]           = (CPContactEvent){
                  .contact = i, .name = point->name, .t = t, .before = point->phase, .t_closed = t};
    c->keep[i] = point->phase != CP_CONTACT_OPEN || gap <= closedGap(c, i, t);
    for (int k = 0; k <= point->ntangents; k++)
      c->event[i].velocity[0][k] = c->v[k == 0 ? point->normal : point->tangent + k - 1];
    flag = contactPenetrates(c, i, t, function);
  }
  if (flag) return flag;
  gather(c, c->keep);
  if (c->problem.n > 0) flag = delassus(c, t, y);
  if (!flag && c->problem.n > 0) flag = impact(c, t, y, function);
  for (int i = 0; i < c->npoints; i++)
    c->keep[i] &= c->v[c->point[i].normal] <= c->small_v * c->scale[c->point[i].normal];
  gather(c, c->keep);
  if (!flag && c->problem.n > 0) flag = delassus(c, t, y);
  if (!flag && c->problem.n > 0) flag = freeAccelerations(c, t, y, function);
  if (!flag && c->problem.n > 0) flag = forces(c, t, function);
  if (!flag) setPhases(c);
  if (!flag) flag = settle(c, t, y, function);
  return flag;
}

/* The gap of a contact that opens, and the velocity of one that begins to slide, is zero but for errors, of either sign. Its root
 * function has to begin clearly above zero. So values are subtracted that are a part of the tolerance below these. They
 * fade while the gap of one that leaves at some velocity grows to four times their size, or in the first quarter of a flight if
 * it is lower, so that the next impact is where the gap is zero, whatever brings the contact back. */
static void setZeros(CPContact c, sunrealtype t) {
  c->share = 1.0;
  for (int i = 0; i < c->npoints; i++) {
    Point *point              = &c->point[i];
    const CPContactEvent *was = &c->event[i];
    const sunrealtype gap = c->p[point->normal], v = c->v[point->normal], a = -c->a[point->normal];
    const int leaves = v > c->small_v * c->scale[point->normal], jumps = leaves && a > 0.0;
    const sunrealtype height  = jumps ? v * v / (2.0 * a) : 0.0;
    const sunrealtype small_v = c->small_v * c->scale[point->tangent], v_T = c->v[point->tangent];
    if (point->phase == CP_CONTACT_OPEN &&
        (was->struck || was->before != CP_CONTACT_OPEN || c->fired[ROOTS * i])) {
      const int is_flight       = height > 4.0 * fabs(gap);
      const sunrealtype small_q = c->small_q * c->scale[point->normal];
      point->zero[0]            = gap - (height > 0.0 ? fmin(height / 32.0, small_q) : small_q);
      if (leaves && (!jumps || is_flight))
        point->fade = fmin(4.0 * fmax(fabs(gap), small_q), jumps ? height : INFINITY) / v;
      else point->fade = INFINITY;
      point->t_zero          = t;
      const sunrealtype part = 2.0 * v / (2.0 * v + a * (t - c->t_first));
      if (jumps) c->share = fmin(c->share, part * part);
    }
    if (point->phase == CP_CONTACT_SLIDING && point->ntangents == 1)
      point->zero[1] =
          fabs(v_T) <= 2.0 * small_v ? fmin(0.0, point->s[0] * v_T) - 0.25 * small_v : 0.0;
  }
}

void contactUndo(CPContact c, N_Vector y) {
  memcpy(c->point, c->before, (size_t)c->npoints * sizeof *c->point);
  N_VScale(1.0, c->saved, y);
  contactActivate(c);
}

int contactEvent(CPContact c, sunrealtype t, N_Vector y, int *changed, const char *function) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  sunrealtype size_q = 0, size_u = 0;
  for (int i = 0; i < c->nq; i++) size_q = fmax(size_q, fabs(q[i]));
  for (int i = 0; i < c->nu; i++) size_u = fmax(size_u, fabs(q[c->nq + i]));
  c->small_q = fmax(0.1 * (c->atol + c->rtol * size_q), NOISE * DBL_EPSILON * size_q);
  c->small_v = 0.1 * (c->atol + c->rtol * size_u);
  memcpy(c->before, c->point, (size_t)c->npoints * sizeof *c->point);
  N_VScale(1.0, y, c->saved);
  int flag = decide(c, t, y, function);
  *changed = 0;
  if (flag) {
    contactUndo(c, y);
    return flag;
  }
  for (int i = 0; i < c->npoints; i++) {
    const Point *point = &c->point[i], *before = &c->before[i];
    c->event[i].after = point->phase;
    for (int k = 0; k <= point->ntangents; k++)
      c->event[i].velocity[1][k] = c->v[k == 0 ? point->normal : point->tangent + k - 1];
    *changed |= c->event[i].struck || point->phase != before->phase || point->s[0] != before->s[0] ||
                point->s[1] != before->s[1] || c->fired[ROOTS * i] || c->fired[ROOTS * i + 1];
  }
  c->stats.nevents += *changed;
  if (*changed) setZeros(c, t);
  flag = contactActivate(c);
  return flag ? passOn(c, flag) : CP_SUCCESS;
}

int CPContactPainleve(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value) {
  if (!c) return contactError(NULL, CP_MEM_NULL, __func__, "contact must not be NULL");
  if (!value) return contactError(c, CP_ILL_INPUT, __func__, "value must not be NULL");
  int flag = contactMeasure(c, t, y, __func__);
  memset(c->keep, 1, (size_t)c->npoints);
  gather(c, c->keep);
  if (!flag) flag = delassus(c, t, y);
  for (int k = 0; k < c->npoints && !flag; k++) {
    const ContactLaw *law = &c->problem.law[k];
    const sunrealtype *v  = c->v + c->row[law->first + (law->ntangents > 0)];
    const sunrealtype *W  = c->W + law->first + (law->first + 1) * c->problem.n;
    sunrealtype s[2] = {0, 0}, speed = 0, coupling = 0;
    for (int i = 0; i < law->ntangents; i++) {
      speed    = hypot(speed, v[i]);
      coupling = hypot(coupling, W[i * c->problem.n]);
    }
    for (int i = 0; i < law->ntangents; i++)
      s[i] = speed > c->small_v * c->scale[c->row[law->first + 1]] ? v[i] / speed
             : coupling > 0.0                                      ? W[i * c->problem.n] / coupling
                                                                   : 0.0;
    value[k] = criterion(&c->problem, c->W, law, s);
  }
  const int restored = contactActivate(c);
  return flag ? flag : restored;
}
