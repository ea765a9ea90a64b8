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
 *   M_a = -f N rho V_r / W                           rolling resistance */
#include "elements.h"
#include "wrench.h"

#include <string.h>

typedef enum { RADIUS, STIFFNESS, DAMPING, MU, SLIP_STIFFNESS, HALF_LENGTH, ROLLING, SPEED } Number;
enum { NUMBERS = SPEED + 1 };

/* It is not defined where the centre is below the ground. */
int tyreLaw(const sunrealtype *p, const Places *at, Loads *out) {
  const Taylor none = wrenchConstant(at, 0), one = wrenchConstant(at, 1);
  const Taylor *const n = at->z[0], *const axle = at->z[1], *const w = at->w[1];
  TaylorVector across, e_x, e_y, e_z, rate, spoke, V;

  /* the load */
  const Taylor h = taylorDot(3, n, at->d), lean = taylorDot(3, n, axle);
  wrenchZero(at, across), wrenchZero(at, rate);
  taylorAddCross(1, axle, n, across);
  const Taylor c2 = taylorDot(3, across, across), c = taylorRoot(&c2);
  if (!(p[RADIUS] * c.v - h.v > 0)) return 0;
  if (!(h.v > 0)) return 1;
  taylorAddCross(1, w, axle, rate);
  const Taylor over_c = taylorInverse(&c), lean_rate = taylorDot(3, n, rate),
               h_rate = taylorDot(3, n, at->rate), turning = taylorDot(1, &lean, &lean_rate);
  Taylor delta = none, grip = one;
  taylorAdd(p[RADIUS], &c, &delta), taylorAdd(-1, &h, &delta);
  taylorAddProduct(-p[DAMPING] * p[RADIUS], &turning, &over_c, &grip); /* c c' = -(n.a) (n.a)' */
  taylorAdd(-p[DAMPING], &h_rate, &grip);
  if (!(grip.v > 0)) return 0;
  taylorAddProduct(p[STIFFNESS], &delta, &grip, &out->load);
  const Taylor N = out->load;

  /* slips */
  wrenchZero(at, e_x), wrenchZero(at, e_y), wrenchZero(at, e_z), wrenchZero(at, spoke),
      wrenchZero(at, V);
  taylorAddScaled(1, &over_c, across, e_x);
  taylorAddCross(1, n, e_x, e_y);
  taylorAddCross(1, e_x, axle, e_z);
  const Taylor rho = taylorDot(1, &h, &over_c);
  taylorAddScaled(-1, &rho, e_z, spoke);
  taylorAddVector(1, at->rate, V);
  taylorAddCross(1, w, spoke, V);
  const Taylor spin = taylorDot(3, w, axle), V_r = taylorDot(1, &rho, &spin);
  Taylor W2 = wrenchConstant(at, p[SPEED] * p[SPEED]), s2 = none;
  taylorAddProduct(1, &V_r, &V_r, &W2);
  const Taylor W = taylorRoot(&W2), over_W = taylorInverse(&W);
  Taylor *const e[] = {e_x, e_y};
  for (int k = 0; k < 2; k++) {
    const Taylor sliding = taylorDot(3, e[k], V);
    taylorAddProduct(-1, &sliding, &over_W, &out->slip[k]);
    taylorAddProduct(1, &out->slip[k], &out->slip[k], &s2);
  }

  /* forces in the ground, and the part of the contact that adheres */
  const sunrealtype C = p[SLIP_STIFFNESS];
  const Taylor sigma = taylorRoot(&s2), over_N = taylorInverse(&N);
  Taylor s = none, slope = none, adheres = none;
  taylorAddProduct(C / (3 * p[MU]), &sigma, &over_N, &s);
  if (s.v < 1) {
    taylorAdd(C, &one, &slope), taylorAdd(-C, &s, &slope), taylorAddProduct(C / 3, &s, &s, &slope);
    taylorAdd(1, &one, &adheres), taylorAdd(-1, &s, &adheres);
  } else {
    const Taylor over = taylorInverse(&sigma);
    taylorAddProduct(p[MU], &N, &over, &slope);
  }
  taylorAddScaled(1, &N, n, out->F);
  for (int k = 0; k < 2; k++) {
    const Taylor F = taylorDot(1, &slope, &out->slip[k]);
    taylorAddScaled(1, &F, e[k], out->F);
  }

  /* torques about the centre */
  const Taylor sense = taylorDot(1, &V_r, &over_W), square = taylorDot(1, &adheres, &adheres),
               trail  = taylorDot(1, &adheres, &square),
               turned = taylorDot(1, &trail, &out->slip[1]), arm = taylorDot(1, &N, &rho);
  Taylor aligning = none, rolling = none;
  taylorAddProduct(-p[HALF_LENGTH] * C / 3, &turned, &sense, &aligning);
  taylorAddProduct(-p[ROLLING], &arm, &sense, &rolling);
  taylorAddCross(1, spoke, out->F, out->T[1]);
  taylorAddScaled(1, &aligning, n, out->T[1]);
  taylorAddScaled(1, &rolling, axle, out->T[1]);
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
