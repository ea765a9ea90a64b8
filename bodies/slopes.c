/* Derivatives of quantities (sensors.c): in the directions of the velocities, and with respect to them. What depends on positions and
 * velocities alone is a function of the motions of bodies. Its derivatives with respect to these are exact, and in joint coordinates they
 * are pulled back to the tree. Accelerations x'' are functions of (q, u, u') in the same way, and u' is one of the state: its part is the
 * product of its derivatives with dx''/du', by one adjoint solution (CPMechVjp). Reactions are sums of multipliers times gradients of measures,
 * whose derivatives have the Hessians of these, and those of the multipliers, from the same equations (CPMechJvp). What `slope` refuses are
 * differences of sixth order. */
#include "laws.h"
#include "sensors.h"
#include "tree.h"

#include "cpodes/base/differences.h"

#include <cpodes/cpodes_sens.h>
#include <stdlib.h>
#include <string.h>

/* The gradient [2 nu] of a quantity at t, and where it is taken; by_a [nu] and by_l [m->nv]: with respect to u' and the multipliers, which are
 * lambda */
typedef struct {
  Mechanism *m;
  sunrealtype t;
  const sunrealtype *q, *u, *lambda;
  int nu;
  sunrealtype *g, *by_a, *by_l;
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
  if (law->kind == FRICTION) return 1;
  bodiesLawAt(m, of->index, s->q, s->u, &x, &rate);
  if (of->quantity == STORED)
    return addLawSum(s, law, 0, m->param[law->param] * lawStretch(m, law, x));
  if (of->quantity != SCALAR_FORCE && of->quantity != POWER) return of->quantity != ACTIVATION;
  const int power     = of->quantity == POWER;
  const sunrealtype c = power ? rate : 1, own[2] = {x, rate};
  if (bodiesLaw(m, law, s->t, x, rate, 0, GRADIENT, T)) return 1;
  if (law->inertance != NONE) { /* T - I x'' */
    sunrealtype now[2], acc;
    bodiesLawSum(m, law, ACCELERATION, &now[0], &now[1], &acc);
    T[0] -= m->param[law->inertance] * acc;
    if (addLawSum(s, law, 2, -c * m->param[law->inertance])) return 1;
  }
  if (addLawSum(s, law, 0, c * T[1]) || addLawSum(s, law, 1, c * T[2] + (power ? T[0] : 0)))
    return 1;
  if (!law->formula || law->formula->ninputs == 0) return 0;
  if (bodiesFormula(m, law->formula, 0, s->t, 2, own, &value, by)) return 1;
  for (int i = 0; i < law->formula->ninputs; i++) by[3 + i] *= c;
  return addInputs(s, law->formula, by + 3);
}

/* ---- wrenches ---- */

/* The same of T (e . F + n . N) for constant T, e and n, where F and N are the force and the moment about the point of this side that the
 * gradient of a term makes on its body. unit: out, e . F + n . N. Returns as addTerm. */
static int addWrench(const Slope *s, const Term *term, int side, sunrealtype T,
                     const sunrealtype *e, const sunrealtype *n, sunrealtype *unit) {
  const Mechanism *m      = s->m;
  const Pair *pair        = &m->pair[term->pair];
  const Pose *pose        = bodiesPose(m, pair->side[side].body);
  const Mask mask         = bodiesTermMask(m, term);
  const sunrealtype c     = bodiesWeight(m, term);
  sunrealtype by_q[LOCAL] = {0}, none[LOCAL] = {0}, arm[3], moved[3], turned[3];
  Jet jet;
  *unit = 0;
  if (term->m.kind == OWN) return 1;
  bodiesTermJet(m, term, HESSIAN, &jet);
  toSpace(pose, pair->side[side].point, arm);
  EACH_DIRECTION(&m->space, mask.g & (side ? 0xCu : 0x3u), i) {
    const sunrealtype along[3] = {i % 3 == 0, i % 3 == 1, i % 3 == 2};
    const int turns            = i % 6 > 2;
    sunrealtype w              = turns ? dot3(n, pose->axis[i % 3]) : e[i % 3];
    if (!turns) cross3(arm, along, turned), w -= dot3(n, turned);
    *unit += c * jet.g[i] * w;
    EACH_DIRECTION(&m->space, (mask.H >> 4 * (i / 3)) & 0xFu, j)
    by_q[j] += T * c * jet.H[i][j] * w;
    EACH_DIRECTION(&m->space, side ? 0x8u : 0x2u, j) { /* the arm and the axes turn */
      cross3(pose->axis[j % 3], turns ? pose->axis[i % 3] : arm, moved);
      if (turns) by_q[j] += T * c * jet.g[i] * dot3(n, moved);
      else cross3(moved, along, turned), by_q[j] -= T * c * jet.g[i] * dot3(n, turned);
    }
  }
  addMotion(s, pair, by_q, none, NULL, 1);
  return 0;
}

/* The same of e . F + n . N of the force and the moment on body b of a joint, a row, or a contact, as bodiesReaction has them */
static int ofReaction(const Slope *s, int joint, const sunrealtype *e, const sunrealtype *n) {
  Mechanism *m     = s->m;
  const Joint *j   = &m->joint[joint];
  const Pair *pair = &m->pair[j->pair];
  if (m->tree && treeHas(m->tree, m, joint)) return 1;
  const int side        = pair->side[1].body == GROUND ? 0 : 1;
  const int has_point   = bodiesRowTerm(m, &m->row[j->first], 0)->m.kind == POINT;
  sunrealtype effect[3] = {e[0], e[1], e[2]}, lever[3], F[3], N[3], unit;
  Moving d;
  if (side == 0 && !has_point) { /* n . N = n . (N_a - d x F) = n . N_a - (n x d) . F */
    sunrealtype by_q[LOCAL] = {0}, none[LOCAL] = {0}, D[3];
    bodiesSpan(pair, bodiesPose(m, pair->side[0].body), bodiesPose(m, pair->side[1].body), VALUES,
               &d);
    cross3(n, d.x, lever);
    add3(-1, lever, effect);
    if (bodiesReaction(m, s->t, s->lambda, joint, F, N)) return 1;
    EACH_DIRECTION(&m->space, 0x3u, i) {
      bodiesMovingX(&d, i, D);
      cross3(D, F, lever);
      by_q[i] = -dot3(n, lever);
    }
    addMotion(s, pair, by_q, none, NULL, 1);
  }
  for (int r = 0; r < j->nrows + j->nrolls; r++) {
    const Row *row = bodiesRowOf(m, j, r);
    if (bodiesRowTerm(m, row, 0)->m.kind == POINT) {
      for (int k = 0; k < m->space.dimension; k++) s->by_l[row->first + k] += e[k];
      continue;
    }
    const sunrealtype sign = side ? -1 : 1;
    for (int k = 0; k < row->nterms; k++) {
      if (addWrench(s, bodiesRowTerm(m, row, k), side, sign * s->lambda[row->first], effect, n,
                    &unit))
        return 1;
      s->by_l[row->first] += sign * unit;
    }
  }
  return 0;
}

/* The same of a bushing, as bushingForce in sensors.c */
static int ofBushing(const Slope *s, int first, const sunrealtype *e, const sunrealtype *n) {
  Mechanism *m     = s->m;
  const int own    = bodiesLawTerm(m, &m->law[first], 0)->pair;
  const Pair *pair = &m->pair[own];
  for (int i = first; i < m->nlaws && bodiesLawTerm(m, &m->law[i], 0)->pair == own; i++) {
    const Term *term = bodiesLawTerm(m, &m->law[i], 0);
    sunrealtype T[3], unit = 0, by_q[LOCAL] = {0}, none[LOCAL] = {0}, axis[3], turned[3];
    Jet jet;
    bodiesTermJet(m, term, VALUES, &jet);
    if (bodiesLaw(m, &m->law[i], 0, jet.s, jet.rate, 0, GRADIENT, T)) return 1;
    if (term->m.kind == SPIN) {
      const Pose *pose = bodiesPose(m, pair->side[0].body);
      toSpace(pose, pair->side[0].axis[term->m.i], axis);
      unit = dot3(n, axis);
      EACH_DIRECTION(&m->space, pair->side[0].body == GROUND ? 0u : 0x2u, k) {
        cross3(pose->axis[k % 3], axis, turned);
        by_q[k] = T[0] * dot3(n, turned);
      }
      addMotion(s, pair, by_q, none, NULL, 1);
    } else if (pair->side[1].body != GROUND && addWrench(s, term, 1, T[0], e, n, &unit)) return 1;
    /* The values of a law are without the weight of its term. */
    const sunrealtype weight = bodiesWeight(m, term);
    if (addTerm(s, term, NULL, 0, unit * T[1] / weight) ||
        addTerm(s, term, NULL, 1, unit * T[2] / weight))
      return 1;
  }
  return 0;
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
  } else if (of->quantity == ALPHA) {
    for (int k = 0; k < 3; k++) {
      const Measure turning =
          m->space.dimension == 2 ? (Measure){ANGLE, 0, 0, 0} : (Measure){SPIN, 0, k, 0};
      const Term term = {.coef = 1, .ratio = NONE, .pair = NONE, .m = turning, .velocity = NONE};
      own.side[0]     = (Side){GROUND, {0, 0, 0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
      memcpy(own.side[1].axis, own.side[0].axis, sizeof own.side[1].axis);
      if ((m->space.dimension == 3 || k == 2) && addTerm(s, &term, &own, 2, e[k])) return 1;
    }
  } else if (of->kind == NAME_BODY) ofBody(s, of, pair, e);
  else if (of->kind != NAME_FORCE) {
    static const sunrealtype zero[3] = {0, 0, 0};
    const sunrealtype *by_F          = of->quantity == MOMENT ? zero : e,
                      *by_N          = of->quantity == MOMENT ? e : zero;
    if (of->kind == NAME_BUSHING ? ofBushing(s, of->index, by_F, by_N)
                                 : ofReaction(s, of->index, by_F, by_N))
      return 1;
  } else if (ofForce(s, &m->force[of->index], e, 0)) return 1;
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

/* The force -lambda of a drive or coupler, or its power, for the rate that a drive gives at t */
static int ofRow(const Slope *s, const Sensor *of) {
  const Joint *j = &s->m->joint[of->index];
  const Row *row = j->nrows > 0 ? &s->m->row[j->first] : NULL;
  DriveAt drive  = {0};
  if (!row || row->rope || j->contact != NONE) return 1;
  if (row->drive != NONE && bodiesDrive(s->m, row->drive, s->t, &drive)) return 1;
  s->by_l[row->first] = of->quantity == POWER ? -drive.rate : -1;
  return 0;
}

/* s->g <- the gradient, where the poses are; x [3]: the value in space. Returns 1 if it is not known here. */
static int slope(const Slope *s, const Sensor *of, const sunrealtype *x) {
  const Mechanism *m = s->m;
  const int has_law  = of->kind == NAME_FORCE && m->force[of->index].law != AT_A_POINT;
  memset(s->g, 0, 2 * (size_t)s->nu * sizeof *s->g);
  memset(s->by_a, 0, (size_t)s->nu * sizeof *s->by_a);
  memset(s->by_l, 0, (size_t)m->nv * sizeof *s->by_l);
  if (m->tree && treeMotions(m->tree)) return 1;
  if (of->kind == NAME_LAW) return ofLaw(s, of);
  switch (of->quantity) {
  case POSITION:
  case VELOCITY:
  case ACCELERATION_OF:
  case OMEGA:
  case ALPHA:
  case MOMENTUM: return ofVector(s, of, x);
  case KINETIC: {
    const Pair body = {.side = {{.body = GROUND}, {.body = of->index}}};
    ofBody(s, of, &body, NULL);
    return 0;
  }
  case REACTION:
  case MOMENT: return has_law || ofVector(s, of, x);
  case AXIAL: { /* F is along the rod, so that its direction counts, but not how it turns */
    static const sunrealtype zero[3] = {0, 0, 0};
    const Pair *pair                 = &m->pair[m->joint[of->index].pair];
    sunrealtype along[3]             = {0, 0, 0};
    Moving d;
    bodiesSpan(pair, bodiesPose(m, pair->side[0].body), bodiesPose(m, pair->side[1].body), VALUES,
               &d);
    add3(-1 / length3(d.x), d.x, along);
    return ofReaction(s, of->index, along, zero);
  }
  case SCALAR_FORCE:
  case POWER: {
    Moving d;
    if (of->kind == NAME_JOINT) return ofRow(s, of);
    if (of->kind != NAME_FORCE || has_law) return 1;
    const Pair *pair = &m->pair[m->force[of->index].pair];
    bodiesSpan(pair, &bodies_ground, bodiesPose(m, pair->side[1].body), VALUES, &d);
    return ofForce(s, &m->force[of->index], d.rate, 1);
  }
  case VALUE_RATE_2:
  case ORIENTATION:
  case VALUE:
  case VALUE_RATE: {
    Pair own;
    Term term;
    Sensor is       = *of;
    const int twice = of->quantity == VALUE_RATE_2;
    if (twice) is.quantity = VALUE;
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
      g[i] += cpCentralWeight(cpSixthOrder, k) * s.value[0] / h;
    }
  }
  N_VDestroy(moved);
  return flag;
}

/* l = N e_i or, for i >= nu, the direction of velocity i - nu, as a direction of the state */
static void direction(const CPEquations *e, const Slope *s, int i, sunrealtype *l) {
  const int nq = bodiesCoordinates(s->m);
  memcpy(l, s->q, (size_t)nq * sizeof *l);
  if (i < s->nu) moveAlong(e, i, 1, l);
  for (int k = 0; k < nq; k++) l[k] -= s->q[k];
  for (int k = 0; k < s->nu; k++) l[nq + k] = k == i - s->nu;
}

static int any(const sunrealtype *x, int n) {
  while (n > 0 && x[n - 1] == 0) n--;
  return n > 0;
}

/* s->g += the parts of u' and of the multipliers. Returns 1 if that needs differences. */
static int addMotions(CPMech mech, const Slope *s, N_Vector y) {
  const CPEquations *e = CPModelGetEquations(CPMechGetModel(mech));
  const int nq = bodiesCoordinates(s->m), nv = s->m->nv, by_l = any(s->by_l, nv);
  if (!by_l && !any(s->by_a, s->nu)) return 0;
  if (s->m->nfrictions > 0) return 1; /* whose forces depend on multipliers */
  N_Vector l = N_VClone(y), product = l ? N_VClone(y) : NULL;
  sunrealtype *lambda = malloc(((size_t)nv + 1) * sizeof *lambda);
  int flag            = !product || !lambda;
  if (!flag) {
    sunrealtype *x = N_VGetArrayPointer(l), *by = N_VGetArrayPointer(product);
    N_VConst(0, l);
    memcpy(x + nq, s->by_a, (size_t)s->nu * sizeof *x);
    if (!by_l) flag = CPMechVjp(mech, s->t, y, NULL, l, product, NULL); /* all at once */
    N_VConst(0, l);
    for (int i = 0; i < 2 * s->nu && !flag; i++) {
      direction(e, s, i, x);
      if (by_l) flag = CPMechJvp(mech, s->t, y, NULL, l, NULL, product, lambda);
      for (int k = 0; k < nq + s->nu && !by_l; k++) s->g[i] += x[k] * by[k];
      for (int k = 0; k < s->nu && by_l; k++) s->g[i] += s->by_a[k] * by[nq + k];
      for (int k = 0; k < nv && by_l; k++) s->g[i] += s->by_l[k] * lambda[k];
    }
  }
  free(lambda);
  if (product) N_VDestroy(product);
  if (l) N_VDestroy(l);
  return flag != 0;
}

int bodiesSlope(CPMech mech, Mechanism *m, const Sensor *of, const char *name, sunrealtype t,
                N_Vector y, const sunrealtype *lambda, const sunrealtype *x, sunrealtype *g) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  const int nu         = bodiesVelocities(m);
  if (of->vector && of->component == NONE)
    return cpReport(CP_OBJECT(mech), CP_NOT_SUPPORTED, "CPMechGetSensor",
                    "%.100s: derivatives are those of a component, %.100s.x", name, name);
  sunrealtype *by = malloc(((size_t)(nu + m->nv) + 1) * sizeof *by);
  if (!by) return cpReport(CP_OBJECT(mech), CP_MEM_FAIL, "CPMechGetSensor", "no memory");
  const Slope s     = {m, t, q, q + bodiesCoordinates(m), lambda, nu, g, by, by + nu};
  const int unknown = slope(&s, of, x) || addMotions(mech, &s, y);
  free(by);
  return unknown ? differences(mech, m, name, t, y, nu, g) : CP_SUCCESS;
}
