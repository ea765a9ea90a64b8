/* What the laws of tyres, spheres and fluids share: the places of both bodies, the components of what acts on them, and their derivatives */
#include "wrench.h"

#include "elements.h"
#include "formulas.h"

#include <string.h>

enum { MOTIONS = 6 };

/* Which derivatives are taken: none, in the directions of the six motions of one body, with respect to their velocities */
typedef enum { NO_SLOPES, BY_POSITION, BY_VELOCITY } Slopes;

/* The slope of x for motion j changes by f value. */
static void seed(TaylorVector x, int j, sunrealtype f, const sunrealtype *value) {
  for (int k = 0; k < 3; k++) x[k].d[j] += f * value[k];
}

/* Derivatives with respect to the motions of side s; pose: that of its body */
static void seedMotions(Slopes slopes, int s, const Pose *pose, Places *at) {
  const sunrealtype sign  = s ? 1 : -1;
  Taylor *const turning[] = {at->w[s],       at->arm[s],     at->z[s],
                             at->axis[s][0], at->axis[s][1], at->axis[s][2]};
  sunrealtype arm[3], rate[3], turned[3];
  for (int k = 0; k < 3; k++) arm[k] = at->arm[s][k].v;
  cross3(pose->w, arm, rate);
  for (int j = 0; j < MOTIONS; j++) {
    const sunrealtype e[3] = {j == 0, j == 1, j == 2}, *axis = pose->axis[j % 3];
    if (j < 3) {
      seed(slopes == BY_VELOCITY ? at->rate : at->d, j, sign, e);
      continue;
    }
    cross3(axis, arm, turned);
    seed(slopes == BY_VELOCITY ? at->rate : at->d, j, sign, turned);
    if (slopes == BY_VELOCITY) {
      seed(at->w[s], j, 1, axis);
      continue;
    }
    cross3(axis, rate, turned);
    seed(at->rate, j, sign, turned);
    for (size_t i = 0; i < sizeof turning / sizeof turning[0]; i++) {
      const sunrealtype own[3] = {turning[i][0].v, turning[i][1].v, turning[i][2].v};
      cross3(axis, own, turned);
      seed(turning[i], j, 1, turned);
    }
  }
}

static void setVector(const Places *at, const sunrealtype *value, TaylorVector x) {
  for (int k = 0; k < 3; k++) x[k] = wrenchConstant(at, value[k]);
}

/* s: the side whose motions are those of the derivatives */
static void placesOf(const Mechanism *b, const Pair *pair, Slopes slopes, int s, Places *at) {
  const Pose *pose[2];
  Moving d;
  sunrealtype v[3];
  for (int k = 0; k < 2; k++) pose[k] = bodiesPose(b, pair->side[k].body);
  bodiesSpan(pair, pose[0], pose[1], GRADIENT, &d);
  at->n      = slopes == NO_SLOPES ? 0 : MOTIONS;
  at->degree = slopes != NO_SLOPES;
  setVector(at, d.x, at->d);
  setVector(at, d.rate, at->rate);
  for (int k = 0; k < 2; k++) {
    toSpace(pose[k], pair->side[k].axis[Z], v);
    setVector(at, v, at->z[k]);
    setVector(at, pose[k]->w, at->w[k]);
    if (pair->side[k].body == GROUND) continue;
    toSpace(pose[k], pair->side[k].point, v);
    setVector(at, v, at->arm[k]);
    for (int l = 0; l < 3; l++) setVector(at, pose[k]->axis[l], at->axis[k][l]);
  }
  if (slopes != NO_SLOPES) seedMotions(slopes, s, pose[s], at);
}

/* The axes of side b, which are fixed in its body */
static void frameOf(const Side *side, Places *at) {
  for (int l = 0; l < 3; l++) {
    wrenchZero(at, at->frame[l]);
    for (int k = 0; k < 3; k++) taylorAddVector(side->axis[l][k], at->axis[1][k], at->frame[l]);
  }
}

/* The law where the bodies are, with derivatives. Returns what it returns. */
static int evaluate(const Mechanism *b, const PointForce *force, Slopes slopes, int s, Places *at,
                    Loads *out) {
  const Pair *pair = &b->pair[force->pair];
  placesOf(b, pair, slopes, s, at);
  if (force->law == ON_A_BOX || force->law == ON_AN_ELLIPSOID) frameOf(&pair->side[1], at);
  out->load = out->slip[0] = out->slip[1] = wrenchConstant(at, 0);
  wrenchZero(at, out->F), wrenchZero(at, out->T[0]), wrenchZero(at, out->T[1]);
  static WrenchLaw *const laws[] = {
      [OF_A_TYRE] = tyreLaw, [OF_A_SPHERE] = sphereLaw, [ON_A_BOX] = boxLaw, [ON_AN_ELLIPSOID] = ellipsoidLaw};
  const int flag = laws[force->law](b->param + force->param, at, out);
  if (flag && b->failed) *b->failed = (Failed){.force = force};
  else if (b->failed && b->failed->force == force) *b->failed = (Failed){NULL};
  return flag;
}

/* Six components on each body but the ground: the force, and the torque about the centre of mass in its axes */
static int generalised(const Mechanism *b, const PointForce *force, Slopes slopes, int s,
                       Taylor f[2][MOTIONS]) {
  Places at;
  Loads out;
  if (evaluate(b, force, slopes, s, &at, &out)) return 1;
  for (int k = 0; k < 2; k++) {
    const sunrealtype sign = k ? 1 : -1;
    if (b->pair[force->pair].side[k].body == GROUND) continue;
    taylorAddCross(sign, at.arm[k], out.F, out.T[k]);
    wrenchZero(&at, f[k]);
    taylorAddVector(sign, out.F, f[k]);
    for (int i = 0; i < 3; i++) f[k][3 + i] = taylorDot(3, at.axis[k][i], out.T[k]);
  }
  return 0;
}

int bodiesWrench(const Mechanism *b, const PointForce *force, WrenchState *state) {
  Places at;
  Loads out;
  memset(state, 0, sizeof *state);
  if (evaluate(b, force, NO_SLOPES, 0, &at, &out)) return 1;
  state->load = out.load.v;
  for (int k = 0; k < 2; k++) state->slip[k] = out.slip[k].v;
  for (int k = 0; k < 3; k++) {
    state->force[k] = out.F[k].v, state->torque[k] = out.T[1][k].v;
    state->power +=
        out.F[k].v * at.rate[k].v + out.T[0][k].v * at.w[0][k].v + out.T[1][k].v * at.w[1][k].v;
  }
  return 0;
}

int bodiesAddWrench(const Mechanism *b, const PointForce *force, sunrealtype *f) {
  const Pair *pair = &b->pair[force->pair];
  Taylor own[2][MOTIONS];
  if (generalised(b, force, NO_SLOPES, 0, own)) return 1;
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < MOTIONS && pair->side[k].body != GROUND; i++)
      f[bodiesColumn(&b->space, pair->side[k].body, 0) + i] += own[k][i].v;
  return 0;
}

int bodiesFillWrench(const Mechanism *b, const PointForce *force, Writer *K, Writer *C) {
  const Pair *pair   = &b->pair[force->pair];
  Writer *const to[] = {K, C};
  Taylor own[2][MOTIONS];
  for (int l = 0; l < 2; l++)
    for (int s = 0; s < 2; s++) {
      if (pair->side[s].body == GROUND) continue;
      /* While blocks are listed, the state is not a user's. */
      if (K->data && generalised(b, force, l ? BY_VELOCITY : BY_POSITION, s, own)) return 1;
      for (int j = 0; j < MOTIONS; j++)
        for (int k = 0; k < 2; k++) {
          if (pair->side[k].body == GROUND) continue;
          sunrealtype *column = next(to[l], bodiesColumn(&b->space, pair->side[k].body, 0),
                                     bodiesColumn(&b->space, pair->side[s].body, 0) + j, MOTIONS);
          for (int i = 0; i < MOTIONS && K->data; i++) column[i] += own[k][i].d[j];
        }
    }
  return 0;
}
