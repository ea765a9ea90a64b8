/* Elastic spheres: Hertz, Hunt and Crossley, and friction that is continuous in the velocity.
 *
 * With d = P_b - P_a and its rate, n = d / |d| between spheres, z_a on a plane, the depth x and the share s_a of body a in it:
 *
 *   r = -(R_b - (1 - s_a) x) n                    from P_b to the place of contact
 *   V = d' + omega_b x r - omega_a x (d + r)      of b relative to a, there
 *   N = 4/3 E sqrt(R) x^(3/2) (1 - 3/2 c n . V)   where both factors are positive
 *   F = N (n - g V_T),  V_T = V - n (n . V),  g = (mu + 2 (mu_s - mu) / (1 + q^2)) / max(v_0, |V_T|) + mu_v,  q = |V_T| / v_0
 *
 * F acts on b and -F on a, there. */
#include "elements.h"
#include "wrench.h"

#include <string.h>

typedef enum { RADIUS, RADIUS_A, MODULUS, DAMPING, MU, MU_STICKING, VISCOUS, SPEED, SHARE } Number;
enum { NUMBERS = SHARE + 1 };

/* It is not defined where the centres coincide. */
int sphereLaw(const sunrealtype *p, const Places *at, Loads *out) {
  const Taylor one = wrenchConstant(at, 1);
  const int plane  = p[RADIUS_A] == 0;
  TaylorVector n, r, from_a, V, push;
  Taylor x = wrenchConstant(at, p[RADIUS_A] + p[RADIUS]);
  wrenchZero(at, n), wrenchZero(at, r), wrenchZero(at, V), wrenchZero(at, push);

  /* the depth and the place of contact */
  if (plane) taylorAddVector(1, at->z[0], n);
  const Taylor square = taylorDot(3, at->d, at->d), along = taylorDot(3, at->z[0], at->d);
  if (!plane && !(square.v > 0)) return 1;
  if (plane) taylorAdd(-1, &along, &x);
  else {
    const Taylor distance = taylorRoot(&square), inverse = taylorInverse(&distance);
    taylorAdd(-1, &distance, &x);
    taylorAddScaled(1, &inverse, at->d, n);
  }
  if (!(x.v > 0)) return 0;
  Taylor lever = wrenchConstant(at, -p[RADIUS]);
  taylorAdd(1 - p[SHARE], &x, &lever);
  taylorAddScaled(1, &lever, n, r);
  memcpy(from_a, r, sizeof r);
  taylorAddVector(1, at->d, from_a);

  /* the normal force */
  taylorAddVector(1, at->rate, V);
  taylorAddCross(1, at->w[1], r, V);
  taylorAddCross(-1, at->w[0], from_a, V);
  const Taylor opening = taylorDot(3, n, V);
  Taylor loss          = one;
  taylorAdd(SUN_RCONST(-1.5) * p[DAMPING], &opening, &loss);
  if (!(loss.v > 0)) return 0;
  const sunrealtype R = plane ? p[RADIUS] : p[RADIUS] * p[RADIUS_A] / (p[RADIUS] + p[RADIUS_A]),
                    k = 4 * p[MODULUS] * sqrt(R) / 3, root = sqrt(x.v);
  const Taylor hertz = taylorOf(&x, k * x.v * root, SUN_RCONST(1.5) * k * root, 0);
  taylorAddProduct(1, &hertz, &loss, &out->load);

  /* friction, per sliding velocity */
  taylorAddScaled(-1, &opening, n, V); /* V_T */
  const Taylor slip = taylorDot(3, V, V), speed = taylorRoot(&slip);
  const sunrealtype v_0 = p[SPEED], over = 1 + slip.v / (v_0 * v_0),
                    most = 2 * (p[MU_STICKING] - p[MU]);
  const Taylor curve = taylorOf(&slip, p[MU] + most / over, -most / (over * over * v_0 * v_0), 0),
               rise  = speed.v < v_0 ? wrenchConstant(at, 1 / v_0) : taylorInverse(&speed);
  Taylor g           = wrenchConstant(at, p[VISCOUS]);
  taylorAddProduct(1, &curve, &rise, &g);

  taylorAddVector(1, n, push);
  taylorAddScaled(-1, &g, V, push);
  taylorAddScaled(1, &out->load, push, out->F);
  taylorAddCross(1, r, out->F, out->T[1]);
  taylorAddCross(-1, from_a, out->F, out->T[0]);
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
