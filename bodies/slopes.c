/* Derivatives of quantities (sensors.c): in the directions of the velocities, and with respect to them. What depends on positions and
 * velocities alone is a function of the motions of bodies. Its derivatives with respect to these are exact, and in joint coordinates they
 * are pulled back to the tree. Accelerations x'' are functions of (q, u, u') in the same way, and u' is one of the state: its part is the
 * product of its derivatives with dx''/du', by one adjoint solution (CPMechVjp). What depends on multipliers, and the few others that `slope`
 * refuses, are differences of sixth order. */
#include "laws.h"
#include "sensors.h"
#include "tree.h"

#include "cpodes/base/differences.h"

#include <cpodes/cpodes_sens.h>
#include <stdlib.h>
#include <string.h>

/* The gradient [2 nu] of a quantity at t, and where it is taken; by_a [nu]: with respect to u' */
typedef struct {
  Mechanism *m;
  sunrealtype t;
  const sunrealtype *q, *u;
  int nu;
  sunrealtype *g, *by_a;
} Slope;

/* s->g += c times a function of the motions of the bodies of a pair, with the derivatives by_q, by_u and by_a, or NULL for none, in its
 * local directions */
static void addMotion(const Slope *s, const Pair *pair, const sunrealtype *by_q,
                      const sunrealtype *by_u, const sunrealtype *by_a, sunrealtype c) {
  const Mechanism *m = s->m;
  Jet jet            = {0};
  const unsigned all =
      (pair->side[0].body == GROUND ? 0u : 0x3u) | (pair->side[1].body == GROUND ? 0u : 0xCu);
  EACH_DIRECTION(&m->space, all, j) {
    jet.acc_q[j] = by_q[j], jet.acc_u[j] = by_u[j];
    if (by_a) jet.g[j] = by_a[j];
  }
  if (m->tree) {
    treeAddSlopes(m, pair, &jet, c, s->g, s->g + s->nu);
    if (by_a) treeAddGradient(m, pair, GROUND, (Mask){all, 0}, by_a, c, s->by_a);
    return;
  }
  EACH_DIRECTION(&m->space, all, j) {
    const sunindextype i = bodiesColumnOf(&m->space, pair, j);
    s->g[i] += c * by_q[j], s->g[s->nu + i] += c * by_u[j];
    if (by_a) s->by_a[i] += c * by_a[j];
  }
}

/* The same of a term, its rate (level 1), or its acceleration (level 2), for which the poses have those of the motion. own: its pair if it has
 * none. Returns 1 if that is not known here. */
static int addTerm(const Slope *s, const Term *term, const Pair *own, int level, sunrealtype c) {
  const Mechanism *m = s->m;
  const Pair *pair   = term->pair == NONE ? own : &m->pair[term->pair];
  if (m->tree && term->velocity != NONE && !term->f) {
    (level < 2 ? s->g + level * s->nu : s->by_a)[term->velocity] += c * bodiesShare(m, term);
    return 0;
  }
  if (term->m.kind == OWN) return 1;
  sunrealtype by_q[LOCAL] = {0}, by_u[LOCAL] = {0}, by_a[LOCAL] = {0};
  Jet jet;
  if (term->pair == NONE)
    bodiesJet(&m->space, m->param, pair, &term->m, bodiesPose(m, pair->side[0].body),
              bodiesPose(m, pair->side[1].body), level < 2 ? HESSIAN : ACCELERATION, &jet);
  else bodiesTermJet(m, term, level < 2 ? HESSIAN : ACCELERATION, &jet);
  EACH_DIRECTION(&m->space, bodiesMask(&m->space, pair, &term->m).g, j) {
    by_q[j] = level == 0 ? jet.g[j] : level == 1 ? jet.rate_q[j] : jet.acc_q[j];
    by_u[j] = level == 0 ? 0 : level == 1 ? jet.g[j] : jet.acc_u[j];
    by_a[j] = jet.g[j];
  }
  addMotion(s, pair, by_q, by_u, level == 2 ? by_a : NULL, c * bodiesWeight(m, term));
  return 0;
}

/* The same of c . x, where x is the point of side b of a pair with the ground, or its velocity (level 1) */
static void addPoint(const Slope *s, const Pair *pair, int level, const sunrealtype *c) {
  const Pose *pose        = bodiesPose(s->m, pair->side[1].body);
  sunrealtype by_q[LOCAL] = {0}, by_u[LOCAL] = {0}, arm[3], swing[3], turned[3];
  toSpace(pose, pair->side[1].point, arm);
  cross3(pose->w, arm, swing);
  sunrealtype *of = level ? by_u : by_q;
  for (int k = 0; k < 3; k++) {
    of[6 + k] = c[k];
    cross3(pose->axis[k], arm, turned), of[9 + k] = dot3(c, turned);
    if (!level) continue;
    cross3(pose->axis[k], swing, turned), by_q[9 + k] = dot3(c, turned);
  }
  addMotion(s, pair, by_q, by_u, NULL, 1);
}

/* The same of c . x'', for which the poses have the accelerations of the motion. Returns as addTerm. */
static int addPointAcceleration(const Slope *s, const Side *point, const sunrealtype *c) {
  const Side ground = {GROUND, {0, 0, 0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const Pair pair   = {.side = {ground, *point}};
  int unknown       = 0;
  for (int k = 0; k < s->m->space.dimension && !unknown; k++) {
    const Term along = {
        .coef = 1, .ratio = NONE, .pair = NONE, .m = {ALONG, 0, k, 0}, .velocity = NONE};
    unknown = addTerm(s, &along, &pair, 2, c[k]);
  }
  return unknown;
}

/* The same of c . x for a vector x that turns with the body of side b */
static void addTurning(const Slope *s, const Pair *pair, const sunrealtype *x, const sunrealtype *c) {
  const Pose *pose        = bodiesPose(s->m, pair->side[1].body);
  sunrealtype by_q[LOCAL] = {0}, by_u[LOCAL] = {0}, turned[3];
  for (int k = 0; k < 3; k++) cross3(pose->axis[k], x, turned), by_q[9 + k] = dot3(c, turned);
  addMotion(s, pair, by_q, by_u, NULL, 1);
}

static int addInputs(const Slope *s, const Formula *formula, const sunrealtype *by) {
  int unknown = 0;
  for (int i = 0; i < formula->ninputs && !unknown; i++)
    unknown = addTerm(s, &formula->input[i].term, NULL, formula->input[i].level, by[i]);
  return unknown;
}

/* ---- laws ---- */

/* The same of the sum of a law's terms, or of its rate */
static int addLawSum(const Slope *s, const Law *law, int level, sunrealtype c) {
  int unknown = 0;
  for (int k = 0; k < law->nterms && !unknown; k++)
    unknown = addTerm(s, bodiesLawTerm(s->m, law, k), NULL, level, c);
  return unknown;
}

/* The force T of a law, its power T x', or the energy k x^2 / 2 of its spring */
static int ofLaw(const Slope *s, const Sensor *of) {
  const Mechanism *m = s->m;
  const Law *law     = &m->law[of->index];
  sunrealtype x, rate, T[3], value, by[CP_MOST_VARIABLES] = {0};
  if (of->quantity == VALUE || of->quantity == VALUE_RATE || of->quantity == VALUE_RATE_2)
    return addLawSum(s, law, of->quantity - VALUE, 1);
  if (law->kind == FRICTION || law->inertance != NONE) return 1;
  bodiesLawAt(m, of->index, s->q, s->u, &x, &rate);
  if (of->quantity == STORED)
    return addLawSum(s, law, 0, m->param[law->param] * lawStretch(m, law, x));
  if (of->quantity != SCALAR_FORCE && of->quantity != POWER) return of->quantity != ACTIVATION;
  const int power     = of->quantity == POWER;
  const sunrealtype c = power ? rate : 1, own[2] = {x, rate};
  if (bodiesLaw(m, law, s->t, x, rate, 0, GRADIENT, T)) return 1;
  if (addLawSum(s, law, 0, c * T[1]) || addLawSum(s, law, 1, c * T[2] + (power ? T[0] : 0)))
    return 1;
  if (!law->formula || law->formula->ninputs == 0) return 0;
  if (bodiesFormula(m, law->formula, 0, s->t, 2, own, &value, by)) return 1;
  for (int i = 0; i < law->formula->ninputs; i++) by[3 + i] *= c;
  return addInputs(s, law->formula, by + 3);
}

/* ---- bodies and points ---- */

/* c . F of a force on a point and, with power = 1, the same of F . v for c = v */
static int ofForce(const Slope *s, const PointForce *force, const sunrealtype *c, int power) {
  const Mechanism *m = s->m;
  const Pair *pair   = &m->pair[force->pair];
  const Pose *pose   = bodiesPose(m, pair->side[1].body);
  sunrealtype F[3], Fx[9], Fv[9], by_x[3], by_v[3], own[3], value;
  Moving d;
  bodiesSpan(pair, &bodies_ground, pose, VALUES, &d);
  if (bodiesPointForce(m, force, s->t, &d, F, Fx, Fv)) return 1;
  for (int j = 0; j < 3; j++) {
    by_x[j] = c[0] * Fx[j] + c[1] * Fx[3 + j] + c[2] * Fx[6 + j];
    by_v[j] = c[0] * Fv[j] + c[1] * Fv[3 + j] + c[2] * Fv[6 + j] + (power ? F[j] : 0);
  }
  addPoint(s, pair, 0, by_x);
  addPoint(s, pair, 1, by_v);
  if (force->follows) {
    toSpace(pose, m->param + force->param, own);
    addTurning(s, pair, own, c);
  }
  const sunrealtype at[6] = {d.x[0], d.x[1], d.x[2], d.rate[0], d.rate[1], d.rate[2]};
  for (int k = 0; k < 3 && force->formula; k++) {
    sunrealtype by[CP_MOST_VARIABLES] = {0};
    if (bodiesFormula(m, force->formula, k, s->t, 6, at, &value, by)) return 1;
    for (int i = 0; i < force->formula->ninputs; i++) by[7 + i] *= c[k];
    if (addInputs(s, force->formula, by + 7)) return 1;
  }
  return 0;
}

/* c . omega, m c . v, or the kinetic energy (c is not used) of the body of side b */
static void ofBody(const Slope *s, const Sensor *of, const Pair *pair, const sunrealtype *c) {
  const Mechanism *m   = s->m;
  const Body *body     = &m->body[of->index];
  const Pose *pose     = &m->pose[of->index];
  const sunrealtype *p = m->param + body->param, mass = p[0];
  sunrealtype by_q[LOCAL] = {0}, by_u[LOCAL] = {0}, w[3], spin[3], turned[3];
  toBody(pose, pose->w, w);
  bodiesTimesInertia(body, p, w, spin);
  for (int k = 0; k < 3; k++) {
    if (of->quantity == OMEGA) {
      cross3(pose->axis[k], pose->w, turned);
      by_q[9 + k] = dot3(c, turned), by_u[9 + k] = dot3(c, pose->axis[k]);
    } else if (of->quantity == MOMENTUM) by_u[6 + k] = mass * c[k];
    else by_u[6 + k] = mass * pose->v[k], by_u[9 + k] = spin[k];
  }
  addMotion(s, pair, by_q, by_u, NULL, 1);
}

/* A component of a vector, along an axis of space or of a body; x [3]: the vector in space */
static int ofVector(const Slope *s, const Sensor *of, const sunrealtype *x) {
  const Mechanism *m   = s->m;
  const Pose *frame    = bodiesPose(m, of->frame);
  const sunrealtype *e = frame->axis[of->component];
  Pair own             = {.side = {{.body = GROUND}, {.body = of->index}}};
  memcpy(own.side[1].point, of->point, sizeof of->point);
  const Pair *pair    = of->kind == NAME_FORCE ? &m->pair[m->force[of->index].pair] : &own;
  sunrealtype part[3] = {x[0], x[1], x[2]};
  if (of->quantity == POSITION || of->quantity == VELOCITY)
    addPoint(s, pair, of->quantity == VELOCITY, e);
  else if (of->quantity == ACCELERATION_OF) {
    if (addPointAcceleration(s, &pair->side[1], e)) return 1;
  } else if (of->kind == NAME_BODY) ofBody(s, of, pair, e);
  else if (ofForce(s, &m->force[of->index], e, 0)) return 1;
  if (of->frame == GROUND) return 0;
  Pair axes = {.side = {{.body = GROUND}, {.body = of->frame}}}; /* e turns, and an origin moves */
  if (of->quantity == POSITION) {
    sunrealtype origin[3];
    const sunrealtype back[3] = {-e[0], -e[1], -e[2]};
    for (int k = 0; k < 3; k++) axes.side[1].point[k] = -m->body[of->frame].centre[k];
    toSpace(frame, axes.side[1].point, origin);
    for (int k = 0; k < 3; k++) part[k] -= frame->r[k] + origin[k];
    addPoint(s, &axes, 0, back);
  }
  addTurning(s, &axes, e, part);
  return 0;
}

/* s->g <- the gradient, where the poses are; x [3]: the value in space. Returns 1 if it is not known here. */
static int slope(const Slope *s, const Sensor *of, const sunrealtype *x) {
  const Mechanism *m = s->m;
  const int has_law  = of->kind == NAME_FORCE && m->force[of->index].law != AT_A_POINT;
  memset(s->g, 0, 2 * (size_t)s->nu * sizeof *s->g);
  memset(s->by_a, 0, (size_t)s->nu * sizeof *s->by_a);
  if (m->tree && treeMotions(m->tree)) return 1;
  if (of->kind == NAME_LAW) return ofLaw(s, of);
  switch (of->quantity) {
  case POSITION:
  case VELOCITY:
  case ACCELERATION_OF:
  case OMEGA:
  case MOMENTUM: return ofVector(s, of, x);
  case KINETIC: {
    const Pair body = {.side = {{.body = GROUND}, {.body = of->index}}};
    ofBody(s, of, &body, NULL);
    return 0;
  }
  case REACTION: return of->kind != NAME_FORCE || has_law || ofVector(s, of, x);
  case POWER: {
    Moving d;
    if (of->kind != NAME_FORCE || has_law) return 1;
    const Pair *pair = &m->pair[m->force[of->index].pair];
    bodiesSpan(pair, &bodies_ground, bodiesPose(m, pair->side[1].body), VALUES, &d);
    return ofForce(s, &m->force[of->index], d.rate, 1);
  }
  case ALPHA:
  case VALUE_RATE_2:
  case ORIENTATION:
  case VALUE:
  case VALUE_RATE: {
    Pair own;
    Term term;
    Sensor is       = *of;
    const int twice = of->quantity == VALUE_RATE_2 || of->quantity == ALPHA;
    if (twice) is.quantity = of->quantity == ALPHA ? OMEGA : VALUE;
    const int level = bodiesSensorTerm(m, &is, &own, &term);
    return level == NONE || addTerm(s, &term, &own, twice ? 2 : level, 1);
  }
  default: return 1;
  }
}

/* ---- differences ---- */

/* Moves coordinates q in the direction of velocity i by h, up to terms of third order. Returns whether that is a rotation. */
static int moveAlong(const CPEquations *e, int i, sunrealtype h, sunrealtype *q) {
  int at = i; /* Each quaternion before it has one coordinate more than velocities. */
  for (int n = 0; n < e->nquaternions; n++) {
    const int k = i - (int)e->quaternions[n].first_u;
    at += k > 2;
    if (k < 0 || k > 2) continue;
    sunrealtype *x = q + e->quaternions[n].first_q, w[3] = {0, 0, 0}, v[3]; /* x <- x (1, w / 2) */
    const sunrealtype before[4] = {x[0], x[1], x[2], x[3]};
    w[k]                        = h / 2;
    cross3(before + 1, w, v);
    x[0] -= dot3(before + 1, w);
    for (int l = 0; l < 3; l++) x[1 + l] += before[0] * w[l] + v[l];
    return 1;
  }
  q[at] += h;
  for (int n = 0; n < e->nangles; n++)
    if (e->angles[n] == at) return 1;
  return 0;
}

/* The largest distance of a body from the origin, or of a point from its body */
static sunrealtype lengthOf(const Mechanism *m) {
  sunrealtype length = 0;
  for (int i = 0; i < m->nbodies; i++) length = fmax(length, length3(m->pose[i].r));
  for (int i = 0; i < 2 * m->npairs; i++)
    length = fmax(length, length3(m->pair[i / 2].side[i % 2].point));
  return length > 0 ? length : 1;
}

static int differences(CPMech mech, Mechanism *m, const char *name, sunrealtype t, N_Vector y,
                       int nu, sunrealtype *g) {
  static const sunrealtype part = CP_SIXTH_ORDER_STEP / 10; /* quantities may be quotients */
  const CPEquations *e          = CPModelGetEquations(CPMechGetModel(mech));
  const int nq                  = bodiesCoordinates(m);
  const sunrealtype *q          = N_VGetArrayPointer(y);
  const sunrealtype length      = lengthOf(m);
  N_Vector moved                = N_VClone(y);
  sunrealtype speed             = 0;
  int flag                      = moved ? 0 : CP_MEM_FAIL;
  if (flag) return cpReport(CP_OBJECT(mech), flag, "CPMechGetSensor", "no memory");
  for (int i = 0; i < nu; i++) speed = fmax(speed, fabs(q[nq + i]));
  for (int i = 0; i < 2 * nu; i++) {
    const int turns     = i >= nu || moveAlong(e, i, 0, N_VGetArrayPointer(moved));
    const sunrealtype h = part * (i >= nu ? (speed > 0 ? speed : 1) : turns ? 1 : length);
    g[i]                = 0;
    for (int k = -3; k <= 3 && !flag; k++) {
      CPSensor s         = CP_INIT(CPSensor);
      sunrealtype *state = N_VGetArrayPointer(moved);
      if (k == 0) continue;
      N_VScale(1, y, moved);
      if (i < nu) moveAlong(e, i, k * h, state);
      else state[nq + i - nu] += k * h;
      flag = CPMechGetSensor(mech, name, t, moved, &s);
      g[i] += (k > 0 ? 1 : -1) * cpSixthOrder[abs(k) - 1] * s.value[0] / h;
    }
  }
  N_VDestroy(moved);
  return flag;
}

/* s->g += the part of u'. Returns 1 if that needs differences. */
static int addAccelerations(CPMech mech, const Slope *s, N_Vector y) {
  const CPEquations *e = CPModelGetEquations(CPMechGetModel(mech));
  const int nq         = bodiesCoordinates(s->m);
  int any              = 0;
  for (int i = 0; i < s->nu; i++) any |= s->by_a[i] != 0;
  if (!any) return 0;
  if (s->m->nfrictions > 0) return 1; /* whose forces depend on multipliers */
  N_Vector l = N_VClone(y), product = l ? N_VClone(y) : NULL;
  int flag = !product;
  if (!flag) {
    sunrealtype *x       = N_VGetArrayPointer(l);
    const sunrealtype *q = N_VGetArrayPointer(y), *by = N_VGetArrayPointer(product);
    N_VConst(0, l);
    memcpy(x + nq, s->by_a, (size_t)s->nu * sizeof *x);
    flag = CPMechVjp(mech, s->t, y, NULL, l, product, NULL);
    for (int i = 0; i < s->nu && !flag; i++) {
      memcpy(x, q, (size_t)nq * sizeof *x);
      moveAlong(e, i, 1, x); /* q + N e_i */
      for (int k = 0; k < nq; k++) s->g[i] += (x[k] - q[k]) * by[k];
      s->g[s->nu + i] += by[nq + i];
    }
  }
  if (product) N_VDestroy(product);
  if (l) N_VDestroy(l);
  return flag != 0;
}

int bodiesSlope(CPMech mech, Mechanism *m, const Sensor *of, const char *name, sunrealtype t,
                N_Vector y, const sunrealtype *x, sunrealtype *g) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  const int nu         = bodiesVelocities(m);
  if (of->vector && of->component == NONE)
    return cpReport(CP_OBJECT(mech), CP_NOT_SUPPORTED, "CPMechGetSensor",
                    "%.100s: derivatives are those of a component, %.100s.x", name, name);
  sunrealtype *by_a = malloc(((size_t)nu + 1) * sizeof *by_a);
  if (!by_a) return cpReport(CP_OBJECT(mech), CP_MEM_FAIL, "CPMechGetSensor", "no memory");
  const Slope s     = {m, t, q, q + bodiesCoordinates(m), nu, g, by_a};
  const int unknown = slope(&s, of, x) || addAccelerations(mech, &s, y);
  free(by_a);
  return unknown ? differences(mech, m, name, t, y, nu, g) : CP_SUCCESS;
}
