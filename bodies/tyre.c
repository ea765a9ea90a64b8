/* Tyres: the brush model with a uniform contact, on the slips of theory (H. B. Pacejka, Tire and Vehicle Dynamics, chapter 3).
 *
 * With the wheel's centre at the height h above the ground, whose normal is n, its axis a, and c = |a x n|:
 *
 *   e_x = a x n / c, e_y = n x e_x, e_z = e_x x a    along, across, and from the place of contact to the centre, at rho = h / c
 *   delta = R c - h,  N = k delta (1 + d delta')     the load, where both factors are positive
 *   V = v - rho omega x e_z, V_r = rho omega . a     the velocity of the wheel where it touches, and that of rolling
 *   W = sqrt(V_r^2 + V_0^2), sigma_i = -e_i . V / W  the slips, s = C |sigma| / (3 mu N)
 *   F_i = C sigma_i (1 - s + s^2 / 3) if s < 1, else mu N sigma_i / |sigma|
 *   M_n = -a_0 C sigma_y (1 - s)^3 / 3 V_r / W if s < 1, else 0      the aligning torque
 *   M_a = -f N rho V_r / W                           rolling resistance
 *
 * The law is written once, with values that carry derivatives with respect to the six motions of the body (taylor.h). */
#include "tyre.h"

#include "elements.h"
#include "taylor.h"

#include <string.h>

typedef enum { RADIUS, STIFFNESS, DAMPING, MU, SLIP_STIFFNESS, HALF_LENGTH, ROLLING, SPEED } Number;
enum { NUMBERS = SPEED + 1, MOTIONS = 6 };

/* Which derivatives are taken: none, in the directions of the six motions, with respect to their velocities */
typedef enum { NO_SLOPES, BY_POSITION, BY_VELOCITY } Slopes;

typedef Taylor Vector[3];

/* What moves: from the ground's point to the wheel's centre, its velocity, the wheel's axis, its angular velocity, from the centre of
 * mass to the wheel's centre, and the axes of the body; all in space */
typedef struct {
  int n, degree;
  Vector x, v, a, w, arm, axis[3];
} Wheel;

typedef struct {
  Taylor load, slip[2];
  Vector F, N; /* N: about the wheel's centre */
} Acting;

static Taylor constant(const Wheel *wheel, sunrealtype v) {
  return taylorConstant(wheel->n, wheel->degree, v);
}

static Taylor product(const Taylor *a, const Taylor *b) {
  Taylor p = taylorConstant(a->n, a->degree, 0);
  taylorAddProduct(1, a, b, &p);
  return p;
}

static Taylor reciprocal(const Taylor *a) { return taylorOf(a, 1 / a->v, -1 / (a->v * a->v), 0); }

/* Its slope at 0 counts as 0: there |sigma| has a factor that vanishes. */
static Taylor root(const Taylor *a) {
  const sunrealtype r = sqrt(a->v);
  return taylorOf(a, r, r > 0 ? 1 / (2 * r) : 0, 0);
}

static Taylor dotOf(const Vector a, const Vector b) {
  Taylor p = product(&a[0], &b[0]);
  for (int k = 1; k < 3; k++) taylorAddProduct(1, &a[k], &b[k], &p);
  return p;
}

/* c += f (a x b) */
static void addCross(sunrealtype f, const Vector a, const Vector b, Vector c) {
  for (int k = 0; k < 3; k++) {
    taylorAddProduct(f, &a[(k + 1) % 3], &b[(k + 2) % 3], &c[k]);
    taylorAddProduct(-f, &a[(k + 2) % 3], &b[(k + 1) % 3], &c[k]);
  }
}

/* y += c x */
static void addScaled(const Taylor *c, const Vector x, Vector y) {
  for (int k = 0; k < 3; k++) taylorAddProduct(1, c, &x[k], &y[k]);
}

static void zero(const Wheel *wheel, Vector x) {
  for (int k = 0; k < 3; k++) x[k] = constant(wheel, 0);
}

/* The slope of x is `value` for motion j. */
static void seed(const Wheel *wheel, Vector x, int j, const sunrealtype *value) {
  if (wheel->degree == 0) return;
  for (int k = 0; k < 3; k++) x[k].d[j] = value[k];
}

static void setVector(const Wheel *wheel, const sunrealtype *value, Vector x) {
  for (int k = 0; k < 3; k++) x[k] = constant(wheel, value[k]);
}

static void wheelOf(const Mechanism *b, const PointForce *tyre, Slopes slopes, Wheel *wheel) {
  const Pair *pair = &b->pair[tyre->pair];
  const Pose *pose = bodiesPose(b, pair->side[1].body);
  Moving d;
  sunrealtype a[3], turned[3];
  bodiesSpan(pair, &bodies_ground, pose, GRADIENT, &d);
  toSpace(pose, pair->side[1].axis[Z], a);
  const sunrealtype *turns[] = {d.side[1].arm, d.side[1].rate, a, pose->w, pose->axis[0],
                                pose->axis[1], pose->axis[2]};
  wheel->n                   = slopes == NO_SLOPES ? 0 : MOTIONS;
  wheel->degree              = slopes != NO_SLOPES;
  setVector(wheel, d.x, wheel->x);
  setVector(wheel, d.rate, wheel->v);
  setVector(wheel, a, wheel->a);
  setVector(wheel, pose->w, wheel->w);
  setVector(wheel, d.side[1].arm, wheel->arm);
  for (int k = 0; k < 3; k++) setVector(wheel, pose->axis[k], wheel->axis[k]);
  for (int j = 0; j < MOTIONS && slopes != NO_SLOPES; j++) {
    const sunrealtype e[3] = {j == 0, j == 1, j == 2}, *axis = pose->axis[j % 3];
    if (slopes == BY_VELOCITY) {
      cross3(axis, d.side[1].arm, turned);
      seed(wheel, wheel->v, j, j < 3 ? e : turned);
      if (j >= 3) seed(wheel, wheel->w, j, axis);
      continue;
    }
    if (j < 3) {
      seed(wheel, wheel->x, j, e);
      continue;
    }
    Taylor *const to[] = {wheel->arm,     wheel->v,       wheel->a,      wheel->w,
                          wheel->axis[0], wheel->axis[1], wheel->axis[2]};
    for (int i = 0; i < 7; i++) {
      cross3(axis, turns[i], turned);
      seed(wheel, to[i], j, turned);
      if (i == 0) seed(wheel, wheel->x, j, turned);
    }
  }
}

/* Returns 0, or 1 if the centre is below the ground. */
static int act(const sunrealtype *p, const sunrealtype *normal, const Wheel *wheel, Acting *out) {
  const Taylor none = constant(wheel, 0), one = constant(wheel, 1);
  Vector n, across, e_x, e_y, e_z, rate, spoke, V;
  out->load = out->slip[0] = out->slip[1] = none;
  zero(wheel, out->F), zero(wheel, out->N);
  setVector(wheel, normal, n);

  /* the load */
  const Taylor h = dotOf(n, wheel->x), lean = dotOf(n, wheel->a);
  zero(wheel, across), zero(wheel, rate);
  addCross(1, wheel->a, n, across);
  const Taylor c2 = dotOf(across, across), c = root(&c2);
  if (!(p[RADIUS] * c.v - h.v > 0)) return 0;
  if (!(h.v > 0)) return 1;
  addCross(1, wheel->w, wheel->a, rate);
  const Taylor over_c = reciprocal(&c), lean_rate = dotOf(n, rate), h_rate = dotOf(n, wheel->v),
               turning = product(&lean, &lean_rate);
  Taylor delta = none, grip = one;
  taylorAdd(p[RADIUS], &c, &delta), taylorAdd(-1, &h, &delta);
  taylorAddProduct(-p[DAMPING] * p[RADIUS], &turning, &over_c, &grip); /* c c' = -(n.a) (n.a)' */
  taylorAdd(-p[DAMPING], &h_rate, &grip);
  if (!(grip.v > 0)) return 0;
  taylorAddProduct(p[STIFFNESS], &delta, &grip, &out->load);
  const Taylor N = out->load;

  /* slips */
  zero(wheel, e_x), zero(wheel, e_y), zero(wheel, e_z), zero(wheel, spoke), zero(wheel, V);
  addScaled(&over_c, across, e_x);
  addCross(1, n, e_x, e_y);
  addCross(1, e_x, wheel->a, e_z);
  const Taylor rho = product(&h, &over_c);
  for (int k = 0; k < 3; k++) taylorAddProduct(-1, &rho, &e_z[k], &spoke[k]);
  addScaled(&one, wheel->v, V);
  addCross(1, wheel->w, spoke, V);
  const Taylor spin = dotOf(wheel->w, wheel->a), V_r = product(&rho, &spin);
  Taylor W2 = constant(wheel, p[SPEED] * p[SPEED]), s2 = none;
  taylorAddProduct(1, &V_r, &V_r, &W2);
  const Taylor W = root(&W2), over_W = reciprocal(&W);
  Taylor *const e[] = {e_x, e_y};
  for (int k = 0; k < 2; k++) {
    const Taylor sliding = dotOf(e[k], V);
    taylorAddProduct(-1, &sliding, &over_W, &out->slip[k]);
    taylorAddProduct(1, &out->slip[k], &out->slip[k], &s2);
  }

  /* forces in the ground, and the part of the contact that adheres */
  const sunrealtype C = p[SLIP_STIFFNESS];
  const Taylor sigma = root(&s2), over_N = reciprocal(&N);
  Taylor s = none, slope = none, adheres = none;
  taylorAddProduct(C / (3 * p[MU]), &sigma, &over_N, &s);
  if (s.v < 1) {
    taylorAdd(C, &one, &slope), taylorAdd(-C, &s, &slope), taylorAddProduct(C / 3, &s, &s, &slope);
    taylorAdd(1, &one, &adheres), taylorAdd(-1, &s, &adheres);
  } else {
    const Taylor over = reciprocal(&sigma);
    taylorAddProduct(p[MU], &N, &over, &slope);
  }
  addScaled(&N, n, out->F);
  for (int k = 0; k < 2; k++) {
    const Taylor F = product(&slope, &out->slip[k]);
    addScaled(&F, e[k], out->F);
  }

  /* torques about the centre */
  const Taylor sense = product(&V_r, &over_W), square = product(&adheres, &adheres),
               trail = product(&adheres, &square), turned = product(&trail, &out->slip[1]),
               arm = product(&N, &rho);
  Taylor aligning = none, rolling = none;
  taylorAddProduct(-p[HALF_LENGTH] * C / 3, &turned, &sense, &aligning);
  taylorAddProduct(-p[ROLLING], &arm, &sense, &rolling);
  addCross(1, spoke, out->F, out->N);
  addScaled(&aligning, n, out->N);
  addScaled(&rolling, wheel->a, out->N);
  return 0;
}

/* The wheel and what acts on it; of the force on the body six components: F, and the torque about the centre of mass in its axes */
static int generalised(const Mechanism *b, const PointForce *tyre, Slopes slopes, Taylor f[MOTIONS]) {
  Wheel wheel;
  Acting out;
  wheelOf(b, tyre, slopes, &wheel);
  const int flag = act(b->param + tyre->param, b->pair[tyre->pair].side[0].axis[Z], &wheel, &out);
  if (flag) return flag;
  addCross(1, wheel.arm, out.F, out.N);
  for (int k = 0; k < 3; k++) f[k] = out.F[k], f[3 + k] = dotOf(wheel.axis[k], out.N);
  return 0;
}

int bodiesTyre(const Mechanism *b, const PointForce *tyre, WrenchState *state) {
  Wheel wheel;
  Acting out;
  sunrealtype v[3], w[3];
  wheelOf(b, tyre, NO_SLOPES, &wheel);
  memset(state, 0, sizeof *state);
  const int flag = act(b->param + tyre->param, b->pair[tyre->pair].side[0].axis[Z], &wheel, &out);
  if (flag) return flag;
  state->load = out.load.v;
  for (int k = 0; k < 2; k++) state->slip[k] = out.slip[k].v;
  for (int k = 0; k < 3; k++) {
    state->force[k] = out.F[k].v, state->torque[k] = out.N[k].v;
    v[k] = wheel.v[k].v, w[k] = wheel.w[k].v;
  }
  state->power = dot3(state->force, v) + dot3(state->torque, w);
  return 0;
}

int bodiesAddTyreForce(const Mechanism *b, const PointForce *tyre, sunrealtype *f) {
  const sunindextype first = bodiesColumn(&b->space, b->pair[tyre->pair].side[1].body, 0);
  Taylor own[MOTIONS];
  const int flag = generalised(b, tyre, NO_SLOPES, own);
  for (int k = 0; k < MOTIONS && !flag; k++) f[first + k] += own[k].v;
  return flag;
}

int bodiesFillTyre(const Mechanism *b, const PointForce *tyre, Writer *K, Writer *C) {
  const sunindextype first = bodiesColumn(&b->space, b->pair[tyre->pair].side[1].body, 0);
  Writer *const to[]       = {K, C};
  Taylor own[2][MOTIONS];
  /* While blocks are listed, the state is not a user's. */
  for (int l = 0; l < 2 && K->data; l++)
    if (generalised(b, tyre, l ? BY_VELOCITY : BY_POSITION, own[l])) return 1;
  for (int l = 0; l < 2; l++)
    for (int j = 0; j < MOTIONS; j++) {
      sunrealtype *column = next(to[l], first, first + j, MOTIONS);
      for (int i = 0; i < MOTIONS && K->data; i++) column[i] += own[l][i].d[j];
    }
  return 0;
}

int bodiesAddTyre(CPBodies b, const CPTyre *tyre) {
  static const char *const fields[] = {"radius",         "stiffness",   "damping", "friction",
                                       "slip_stiffness", "half_length", "rolling", "speed"};
  const sunrealtype numbers[]       = {tyre->radius,   tyre->stiffness,      tyre->damping,
                                       tyre->friction, tyre->slip_stiffness, tyre->half_length,
                                       tyre->rolling,  tyre->speed};
  const char *name                  = tyre->head.name;
  int flag                          = bodiesCheckName(b, name, NUMBERS);
  if (flag) return flag;
  if (b->m.space.dimension == 2)
    return refused(b, CP_NOT_SUPPORTED, "%s: there are no tyres in the plane", name);
  for (int k = 0; k < NUMBERS; k++) {
    const int may_be_zero = k == DAMPING || k == HALF_LENGTH || k == ROLLING;
    if ((flag = bodiesCheckSign(b, name, fields[k], numbers[k], !may_be_zero))) return flag;
  }
  Pair pair = {0};
  if ((flag = bodiesFindSides(b, name, NULL, tyre->body, &pair))) return flag;
  CPMarker ground = {.axis = {0, 0, 1}}, on = {.axis = {0, 1, 0}};
  memcpy(ground.point, tyre->ground, sizeof ground.point);
  memcpy(on.point, tyre->point, sizeof on.point);
  if (length3(tyre->normal) != 0) memcpy(ground.axis, tyre->normal, sizeof ground.axis);
  if (length3(tyre->axis) != 0) memcpy(on.axis, tyre->axis, sizeof on.axis);
  if ((flag = bodiesMakePair(b, name, tyre->in, 0, &ground, &on, &pair))) return flag;
  if (ROOM(b->m.pair, b->m.npairs, 1) || ROOM(b->m.force, b->m.nforces, 1))
    return bodiesNoMemory(b, name);
  const int i = b->m.nforces++, text = bodiesTakeName(b, name, NAME_FORCE, i);
  b->m.force[i] =
      (PointForce){.name = text, .pair = b->m.npairs, .param = b->m.nparams, .law = OF_A_TYRE};
  for (int k = 0; k < NUMBERS; k++) bodiesTakeParam(b, text, fields[k], numbers[k]);
  b->m.pair[b->m.npairs++] = pair;
  return NONE;
}
