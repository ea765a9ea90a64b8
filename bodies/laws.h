/* What laws say: the force T along the sum x of a law's terms at the rate x', written once for their values alone, where u' and the
 * energy balance need them, and with derivatives. */
#ifndef CPODES_BODIES_LAWS_H
#define CPODES_BODIES_LAWS_H

#include "formulas.h"
#include "kinks.h"
#include "tree.h"

/* The parameters of an actuator, and its ranges */
enum { CONTROL, GEAR, GAIN, BIAS = GAIN + 3, NUM_ACTUATOR = BIAS + 3 };
enum { OF_CONTROL, OF_FORCE, OF_ACTIVATION, NUM_CLAMPS };

/* Places of pieces, -1 at the lower end of a range, 1 at the upper one, 0 between: of the force, of the activation as it acts, and of the
 * rate of the activation, which is 0 at an end that it would leave */
enum { AT_FORCE, AT_ACTIVATION, AT_RATE };

static inline int lawPlace(const Law *law, int k) { return law->place ? law->place - 1 + k : NONE; }

/* x, within the two parameters of a range, at this place of its pieces, or NONE; anywhere if the range is NONE */
static inline sunrealtype lawClamped(const Mechanism *b, int range, int place, sunrealtype x,
                                     int *is_clamped) {
  *is_clamped = 0;
  if (range == NONE) return x;
  const sunrealtype *p = b->param + range;
  int piece            = x >= p[1] ? 1 : x <= p[0] ? -1 : 0;
  if (place != NONE && b->kinks) {
    const sunrealtype inside[3][2] = {
        {INFINITY, p[0] - x}, {x - p[0], p[1] - x}, {x - p[1], INFINITY}};
    piece = bodiesPieceOf(b, place, piece, inside);
  }
  *is_clamped = piece != 0;
  return piece ? p[piece > 0] : x;
}

/* F [4]: in, out, the force of an actuator, and its derivatives with respect to s, s' and w; its muscle takes their place, and its
 * function is added. Returns what the function returned. (actuators.c) */
int lawOwnForce(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype s, sunrealtype rate,
                sunrealtype w, Order order, sunrealtype F[4]);

/* Actuators: F = (gain + gain_x s + gain_v s') w + bias + bias_x s + bias_v s' + function, or the force of a muscle, for s = gear x,
 * and T = gear F. The control w and the force F may be clamped. The activation z, a state of the mechanism, may take the place of w.
 * T [4], or [1] if the order is VALUES: out, as lawForce, and dT/dz. Returns what a function returned. */
static inline int lawActuator(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x,
                              sunrealtype rate, Order order, sunrealtype *T) {
  const sunrealtype *p = b->param + law->param, gear = p[GEAR], *gain = p + GAIN, *bias = p + BIAS,
                    s = gear * x, v = gear * rate;
  const int activates = law->activation > 0;
  int off, clamped, flag = 0;
  const sunrealtype w    = lawClamped(b, law->clamp[activates ? OF_ACTIVATION : OF_CONTROL],
                                   activates ? lawPlace(law, AT_ACTIVATION) : NONE,
                                   activates ? b->z[law->activation - 1] : p[CONTROL], &off),
                    full = gain[0] + gain[1] * s + gain[2] * v;
  sunrealtype F = full * w + bias[0] + bias[1] * s + bias[2] * v, F_s = gain[1] * w + bias[1],
              F_v = gain[2] * w + bias[2], F_w = full;
  if (law->muscle != NONE || law->formula) {
    sunrealtype own[4] = {F, F_s, F_v, F_w};
    flag               = lawOwnForce(b, law, t, s, v, w, order, own);
    F = own[0], F_s = own[1], F_v = own[2], F_w = own[3];
  }
  T[0] = gear * lawClamped(b, law->clamp[OF_FORCE], lawPlace(law, AT_FORCE), F, &clamped);
  if (order == VALUES) return flag;
  T[1] = clamped ? 0 : gear * gear * F_s;
  T[2] = clamped ? 0 : gear * gear * F_v;
  T[3] = clamped || off ? 0 : gear * F_w; /* an activation beyond its range acts as one at its end */
  return flag;
}

/* x - free of a spring. An angle in space goes the shorter way round, since whole turns are unknown. */
static inline sunrealtype lawStretch(const Mechanism *b, const Law *law, sunrealtype x) {
  const sunrealtype s = x - b->param[law->param + 2];
  const Term *term    = bodiesLawTerm(b, law, 0);
  if (b->tree && law->on_tree) return s;
  if (term->m.kind != ANGLE || b->space.dimension == 2 || law->nterms > 1 || term->f) return s;
  return remainder(s, 8 * atan(SUN_RCONST(1.0)));
}

/* T of a spring-damper with the numbers p, without what is added to it */
static inline sunrealtype lawSpring(const sunrealtype *p, sunrealtype stretch, sunrealtype rate) {
  return -(p[0] * stretch + p[1] * rate);
}

/* T [3], or [1] if the order is VALUES: out, the force of a law other than an actuator, and its derivatives with respect to x and x';
 * reaction: of the joint with friction. Returns what the user's function returned. */
static inline int lawPassive(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x,
                             sunrealtype rate, sunrealtype reaction, Order order, sunrealtype *T) {
  const sunrealtype *p = b->param + law->param;
  sunrealtype f = 0, f_x = 0, f_v = -p[0]; /* of drag */
  int flag = 0;
  if (law->kind == SPRING) {
    if (law->law || law->formula) {
      sunrealtype own[3];
      flag = bodiesLawFunction(b, law, t, x, rate, order, own);
      f = own[0], f_x = own[1], f_v = own[2];
    } else f_v = 0;
    if (law->force != NONE) f += b->param[law->force];
    f += lawSpring(p, lawStretch(b, law, x), rate);
    f_x -= p[0];
    f_v -= p[1];
  } else if (law->kind == DRAG) {
    f = -p[0] * rate;
  } else {
    const sunrealtype slope = tanh(rate / p[1]);
    f                       = -p[0] * reaction * slope;
    f_v                     = -p[0] * reaction * (1 - slope * slope) / p[1];
  }
  T[0] = f;
  if (order > VALUES) T[1] = f_x, T[2] = f_v;
  return flag;
}

/* The same of any law */
static inline int lawForce(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x,
                           sunrealtype rate, sunrealtype reaction, Order order, sunrealtype *T) {
  sunrealtype all[4];
  if (law->kind != MOTOR) return lawPassive(b, law, t, x, rate, reaction, order, T);
  const int flag = lawActuator(b, law, t, x, rate, order, all);
  T[0]           = all[0];
  if (order > VALUES) T[1] = all[1], T[2] = all[2];
  return flag;
}

/* x, rate: out, the sum of the terms of a law on the tree, whose coordinates count turns, and its rate */
static inline void lawAtTree(const Mechanism *b, const Law *law, const sunrealtype *q,
                             const sunrealtype *u, sunrealtype *x, sunrealtype *rate) {
  *x = *rate = 0;
  for (int k = 0; k < law->nterms; k++) {
    const Term *term        = bodiesLawTerm(b, law, k);
    const sunrealtype share = bodiesShare(b, term);
    *x += share * bodiesWhole(b, q, term->coordinate);
    *rate += share * u[term->velocity];
  }
}

/* The same of a line; force: out, what is added to it. Returns its share. */
static inline sunrealtype lineAt(const Mechanism *b, const Line *line, const sunrealtype *q,
                                 const sunrealtype *u, sunrealtype *stretch, sunrealtype *rate,
                                 sunrealtype *force) {
  const sunrealtype share = bodiesShare(b, &b->term[line->term]);
  *stretch                = share * bodiesWhole(b, q, line->q) - b->param[line->param + 2];
  *rate                   = share * u[line->u];
  *force                  = line->force == NONE ? 0 : b->param[line->force];
  return share;
}

#endif
