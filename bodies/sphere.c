/* Elastic spheres: Hertz, Hunt and Crossley, and friction that is continuous in the velocity.
 *
 * With d = P_b - P_a and its rate, n = d / |d| between spheres, z_a on a plane, the depth x and the share s_a of body a in it:
 *
 *   r = -(R_b - (1 - s_a) x) n                    from P_b to the place of contact
 *   V = d' + omega_b x r - omega_a x (d + r)      of b relative to a, there
 *   N = 4/3 E sqrt(R) x^(3/2) (1 - 3/2 c n . V)   where both factors are positive
 *   F = N (n - g V_T),  V_T = V - n (n . V),  g = (mu + 2 (mu_s - mu) / (1 + q^2)) / max(v_0, |V_T|) + mu_v,  q = |V_T| / v_0
 *
 * F acts on b and -F on a, there. The law is written once, with values that carry derivatives with respect to the six motions of one of the
 * bodies (taylor.h). */
#include "sphere.h"

#include "elements.h"
#include "taylor.h"

#include <string.h>

typedef enum { RADIUS, RADIUS_A, MODULUS, DAMPING, MU, MU_STICKING, VISCOUS, SPEED, SHARE } Number;
enum { NUMBERS = SHARE + 1, MOTIONS = 6 };

/* Which derivatives are taken: none, in the directions of the six motions of one body, with respect to their velocities */
typedef enum { NO_SLOPES, BY_POSITION, BY_VELOCITY } Slopes;

typedef Taylor Vector[3];

/* What moves, in space: d and its rate, the normal of the plane, and of both bodies the angular velocity, the arm from the centre of mass to
 * the point P, and the axes */
typedef struct {
  int n, degree;
  Vector d, rate, normal, w[2], arm[2], axis[2][3];
} Places;

/* The normal force, the force on b, and the torques on both bodies about their points */
typedef struct {
  Taylor load;
  Vector F, T[2];
} Acting;

static Taylor constant(const Places *at, sunrealtype v) {
  return taylorConstant(at->n, at->degree, v);
}

static void zero(const Places *at, Vector x) {
  for (int k = 0; k < 3; k++) x[k] = constant(at, 0);
}

static Taylor dotOf(const Places *at, const Vector a, const Vector b) {
  Taylor p = constant(at, 0);
  for (int k = 0; k < 3; k++) taylorAddProduct(1, &a[k], &b[k], &p);
  return p;
}

/* c += f (a x b) */
static void addCross(sunrealtype f, const Vector a, const Vector b, Vector c) {
  for (int k = 0; k < 3; k++) {
    taylorAddProduct(f, &a[(k + 1) % 3], &b[(k + 2) % 3], &c[k]);
    taylorAddProduct(-f, &a[(k + 2) % 3], &b[(k + 1) % 3], &c[k]);
  }
}

/* y += f c x */
static void addScaled(sunrealtype f, const Taylor *c, const Vector x, Vector y) {
  for (int k = 0; k < 3; k++) taylorAddProduct(f, c, &x[k], &y[k]);
}

static void addVector(sunrealtype f, const Vector x, Vector y) {
  for (int k = 0; k < 3; k++) taylorAdd(f, &x[k], &y[k]);
}

/* The slope of x for motion j changes by f value. */
static void seed(Vector x, int j, sunrealtype f, const sunrealtype *value) {
  for (int k = 0; k < 3; k++) x[k].d[j] += f * value[k];
}

/* Derivatives with respect to the motions of side s; axis: those of its body */
static void seedMotions(Slopes slopes, int s, const Pose *pose, Places *at) {
  const sunrealtype sign  = s ? 1 : -1;
  Taylor *const turning[] = {at->w[s],       at->arm[s],     at->axis[s][0],
                             at->axis[s][1], at->axis[s][2], at->normal};
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
    for (int i = 0; i < (s ? 5 : 6); i++) { /* The normal turns with a. */
      const sunrealtype own[3] = {turning[i][0].v, turning[i][1].v, turning[i][2].v};
      cross3(axis, own, turned);
      seed(turning[i], j, 1, turned);
    }
  }
}

/* s: the side whose motions are those of the derivatives */
static void placesOf(const Mechanism *b, const PointForce *sphere, Slopes slopes, int s, Places *at) {
  const Pair *pair = &b->pair[sphere->pair];
  const Pose *pose[2];
  Moving d;
  sunrealtype v[3];
  for (int k = 0; k < 2; k++) pose[k] = bodiesPose(b, pair->side[k].body);
  bodiesSpan(pair, pose[0], pose[1], GRADIENT, &d);
  at->n      = slopes == NO_SLOPES ? 0 : MOTIONS;
  at->degree = slopes != NO_SLOPES;
  toSpace(pose[0], pair->side[0].axis[Z], v);
  for (int i = 0; i < 3; i++) {
    at->d[i] = constant(at, d.x[i]), at->rate[i] = constant(at, d.rate[i]);
    at->normal[i] = constant(at, v[i]);
  }
  for (int k = 0; k < 2; k++) {
    toSpace(pose[k], pair->side[k].point, v);
    for (int i = 0; i < 3; i++) {
      at->w[k][i]   = constant(at, pose[k]->w[i]);
      at->arm[k][i] = constant(at, v[i]);
      for (int l = 0; l < 3; l++) at->axis[k][l][i] = constant(at, pose[k]->axis[l][i]);
    }
  }
  if (slopes != NO_SLOPES) seedMotions(slopes, s, pose[s], at);
}

/* Returns 0, or 1 if the centres coincide. */
static int act(const sunrealtype *p, const Places *at, Acting *out) {
  const Taylor one = constant(at, 1);
  const int plane  = p[RADIUS_A] == 0;
  Vector n, r, from_a, V, push;
  Taylor x  = constant(at, p[RADIUS_A] + p[RADIUS]);
  out->load = constant(at, 0);
  zero(at, n), zero(at, r), zero(at, V), zero(at, push);
  zero(at, out->F), zero(at, out->T[0]), zero(at, out->T[1]);

  /* the depth and the place of contact */
  if (plane) addVector(1, at->normal, n);
  const Taylor square = dotOf(at, at->d, at->d), along = dotOf(at, at->normal, at->d);
  if (!plane && !(square.v > 0)) return 1;
  const sunrealtype length = sqrt(square.v);
  if (plane) taylorAdd(-1, &along, &x);
  else {
    const Taylor distance = taylorOf(&square, length, 1 / (2 * length), 0),
                 inverse  = taylorOf(&distance, 1 / length, -1 / square.v, 0);
    taylorAdd(-1, &distance, &x);
    addScaled(1, &inverse, at->d, n);
  }
  if (!(x.v > 0)) return 0;
  Taylor lever = constant(at, -p[RADIUS]);
  taylorAdd(1 - p[SHARE], &x, &lever);
  addScaled(1, &lever, n, r);
  memcpy(from_a, r, sizeof r);
  addVector(1, at->d, from_a);

  /* the normal force */
  addVector(1, at->rate, V);
  addCross(1, at->w[1], r, V);
  addCross(-1, at->w[0], from_a, V);
  const Taylor opening = dotOf(at, n, V);
  Taylor loss          = one;
  taylorAdd(SUN_RCONST(-1.5) * p[DAMPING], &opening, &loss);
  if (!(loss.v > 0)) return 0;
  const sunrealtype R = plane ? p[RADIUS] : p[RADIUS] * p[RADIUS_A] / (p[RADIUS] + p[RADIUS_A]),
                    k = 4 * p[MODULUS] * sqrt(R) / 3, root = sqrt(x.v);
  const Taylor hertz = taylorOf(&x, k * x.v * root, SUN_RCONST(1.5) * k * root, 0);
  taylorAddProduct(1, &hertz, &loss, &out->load);

  /* friction, per sliding velocity */
  addScaled(-1, &opening, n, V); /* V_T */
  const Taylor slip     = dotOf(at, V, V);
  const sunrealtype v_0 = p[SPEED], s = sqrt(slip.v), over = 1 + slip.v / (v_0 * v_0),
                    most = 2 * (p[MU_STICKING] - p[MU]);
  const Taylor curve = taylorOf(&slip, p[MU] + most / over, -most / (over * over * v_0 * v_0), 0),
               rise  = s < v_0 ? constant(at, 1 / v_0)
                               : taylorOf(&slip, 1 / s, -1 / (2 * s * slip.v), 0);
  Taylor g           = constant(at, p[VISCOUS]);
  taylorAddProduct(1, &curve, &rise, &g);

  addVector(1, n, push);
  addScaled(-1, &g, V, push);
  addScaled(1, &out->load, push, out->F);
  addCross(1, r, out->F, out->T[1]);
  addCross(-1, from_a, out->F, out->T[0]);
  return 0;
}

/* Six components on each body: the force, and the torque about the centre of mass in its axes */
static int generalised(const Mechanism *b, const PointForce *sphere, Slopes slopes, int s,
                       Taylor f[2][MOTIONS]) {
  Places at;
  Acting out;
  placesOf(b, sphere, slopes, s, &at);
  if (act(b->param + sphere->param, &at, &out)) return 1;
  for (int k = 0; k < 2; k++) {
    const sunrealtype sign = k ? 1 : -1;
    addCross(sign, at.arm[k], out.F, out.T[k]);
    for (int i = 0; i < 3; i++) {
      f[k][i] = constant(&at, 0);
      taylorAdd(sign, &out.F[i], &f[k][i]);
      f[k][3 + i] = dotOf(&at, at.axis[k][i], out.T[k]);
    }
  }
  return 0;
}

int bodiesSphere(const Mechanism *b, const PointForce *sphere, WrenchState *state) {
  Places at;
  Acting out;
  placesOf(b, sphere, NO_SLOPES, 0, &at);
  memset(state, 0, sizeof *state);
  if (act(b->param + sphere->param, &at, &out)) return 1;
  state->load = out.load.v;
  for (int k = 0; k < 3; k++) {
    state->force[k] = out.F[k].v, state->torque[k] = out.T[1][k].v;
    state->power +=
        out.F[k].v * at.rate[k].v + out.T[0][k].v * at.w[0][k].v + out.T[1][k].v * at.w[1][k].v;
  }
  return 0;
}

int bodiesAddSphereForce(const Mechanism *b, const PointForce *sphere, sunrealtype *f) {
  const Pair *pair = &b->pair[sphere->pair];
  Taylor own[2][MOTIONS];
  if (generalised(b, sphere, NO_SLOPES, 0, own)) return 1;
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < MOTIONS && pair->side[k].body != GROUND; i++)
      f[bodiesColumn(&b->space, pair->side[k].body, 0) + i] += own[k][i].v;
  return 0;
}

int bodiesFillSphere(const Mechanism *b, const PointForce *sphere, Writer *K, Writer *C) {
  const Pair *pair   = &b->pair[sphere->pair];
  Writer *const to[] = {K, C};
  Taylor own[2][MOTIONS];
  for (int l = 0; l < 2; l++)
    for (int s = 0; s < 2; s++) {
      if (pair->side[s].body == GROUND) continue;
      /* While blocks are listed, the state is not a user's. */
      if (K->data && generalised(b, sphere, l ? BY_VELOCITY : BY_POSITION, s, own)) return 1;
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

int bodiesAddElasticSphere(CPBodies b, const CPElasticSphere *sphere) {
  static const char *const fields[] = {"radius",   "radius_a", "modulus", "damping", "friction",
                                       "sticking", "viscous",  "speed",   "share"};
  const sunrealtype numbers[]       = {sphere->radius,  sphere->radius_a, sphere->modulus,
                                       sphere->damping, sphere->friction, sphere->sticking,
                                       sphere->viscous, sphere->speed,    sphere->share};
  const char *name                  = sphere->head.name;
  Pair pair                         = {0};
  int flag                          = bodiesCheckName(b, name, NUMBERS);
  if (flag) return flag;
  if (b->m.space.dimension == 2)
    return refused(b, CP_NOT_SUPPORTED, "%s: there are no elastic spheres in the plane", name);
  for (int k = 0; k < NUMBERS; k++) {
    const int positive = k == RADIUS || k == MODULUS || k == SPEED;
    if ((flag = bodiesCheckSign(b, name, fields[k], numbers[k], positive))) return flag;
  }
  if (sphere->share > 1)
    return refused(b, CP_ILL_INPUT, "%s: share must be at most 1, and is %g", name,
                   (double)sphere->share);
  if ((flag = bodiesFindSides(b, name, sphere->a, sphere->b, &pair)) ||
      (flag = bodiesMakePair(b, name, sphere->in, 0, &sphere->on_a, &sphere->on_b, &pair)))
    return flag;
  if (ROOM(b->m.pair, b->m.npairs, 1) || ROOM(b->m.force, b->m.nforces, 1))
    return bodiesNoMemory(b, name);
  const int i = b->m.nforces++, text = bodiesTakeName(b, name, NAME_FORCE, i);
  b->m.force[i] =
      (PointForce){.name = text, .pair = b->m.npairs, .param = b->m.nparams, .law = OF_A_SPHERE};
  for (int k = 0; k < NUMBERS; k++) bodiesTakeParam(b, text, fields[k], numbers[k]);
  b->m.pair[b->m.npairs++] = pair;
  return NONE;
}
