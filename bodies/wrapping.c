/* Paths that wrap around spheres and cylinders. In the axes of the geom, with its centre at 0, the length between the points P and Q is a
 * function L of six variables. In the plane through 0, P and Q, or across the axis of a cylinder, the path consists of two tangents and an
 * arc, or, where it is held inside, of two straight parts that meet at the nearest point of the circle:
 *
 *   S = W(rho_P) + W(rho_Q) + R psi,   W = sqrt(rho^2 - R^2) - R arccos(R / rho),
 *
 * for the distances rho from the centre and the angle psi from P to Q on the side where it runs. Along the axis a cylinder adds z:
 * L = sqrt(S^2 + (z_Q - z_P)^2), as the path is straight on the unrolled cylinder. When the path wraps is decided as in MuJoCo. */
#include "wrapping.h"

#include "bodies_impl.h"

#include <float.h>
#include <string.h>

enum { PARTS = 3, COUNT = 6 }; /* coordinates of P, then of Q */

static sunrealtype sumOfSquares(const sunrealtype *x, int n) {
  sunrealtype sum = 0;
  for (int k = 0; k < n; k++) sum += x[k] * x[k];
  return sum;
}

/* The plane of the path at given points: `flat` axes, of which e leads to P, n is across, and f = n x e */
typedef struct {
  int flat;                   /* 2: across a cylinder; 3: a sphere */
  sunrealtype R, rho[2], phi; /* of P and Q; the angle from P to Q about n */
  sunrealtype n[3];
  int inside;     /* 1: the path is held inside: the side is nearer to the centre than R */
  int degenerate; /* a sphere, whose centre is on the line of P and Q */
} Plane;

/* side: out, a point as it is seen in the plane. Returns the plane. */
static Plane planeOf(const Wrap *w, const sunrealtype *x, sunrealtype *side) {
  Plane p          = {.flat = w->cylinder ? 2 : 3, .R = w->radius, .n = {0, 0, 1}};
  sunrealtype e[3] = {0, 0, 0}, f[3];
  for (int k = 0; k < 2; k++) p.rho[k] = sqrt(sumOfSquares(x + 3 * k, p.flat));
  memcpy(e, x, (size_t)p.flat * sizeof *e);
  for (int k = 0; k < 3; k++) e[k] /= p.rho[0];
  if (!w->cylinder) {
    cross3(e, x + 3, p.n);
    p.degenerate = !(length3(p.n) > 8 * DBL_EPSILON * p.rho[1]);
    if (p.degenerate) { /* any plane: that across e and the diagonal of its two smaller components */
      int largest = fabs(e[1]) > fabs(e[0]);
      if (fabs(e[2]) > fabs(e[largest])) largest = 2;
      const sunrealtype diagonal[3] = {largest != 0, largest != 1, largest != 2};
      cross3(e, diagonal, p.n);
    }
    const sunrealtype length = length3(p.n);
    for (int k = 0; k < 3; k++) p.n[k] /= length;
  }
  cross3(p.n, e, f);
  p.inside = w->sided && sumOfSquares(w->side, 3) < w->radius * w->radius;
  p.phi    = atan2(dot3(f, x + 3), dot3(e, x + 3));
  side[0] = dot3(e, w->side), side[1] = dot3(f, w->side);
  return p;
}

/* How the path runs: straight; on the circle, counterclockwise or clockwise; inside to the circle and back */
typedef enum { STRAIGHT, FORWARDS, BACKWARDS, INSIDE } Course;

/* The arc of a path of this sense, at least 0 and less than a turn; or -1 if its straight parts cross. meets: 1 if the line from P to Q
 * meets the circle; then those of the shorter path do not cross. */
static sunrealtype arcOf(const Plane *p, int sense, int meets) {
  const sunrealtype turn = 8 * atan(SUN_RCONST(1.0)), a = acos(p->R / p->rho[0]),
                    b   = acos(p->R / p->rho[1]),
                    psi = sense * p->phi + (sense * p->phi < 0 ? turn : 0);
  if (meets && sense * p->phi >= 0) return fmax(0, psi - a - b);
  if (psi >= fabs(a - b) && psi < a + b) return -1;
  return psi - a - b + (psi < a + b ? turn : 0);
}

/* side [2]: or NULL. arc: out, of a path on the circle */
static Course courseOf(const Plane *p, const sunrealtype *side, sunrealtype *arc) {
  const sunrealtype q[2] = {p->rho[1] * cos(p->phi), p->rho[1] * sin(p->phi)},
                    d[2] = {q[0] - p->rho[0], q[1]}, dd = sumOfSquares(d, 2);
  if (!(p->rho[0] >= p->R && p->rho[1] >= p->R && dd > 0)) return STRAIGHT;
  const sunrealtype part    = fmin(1, fmax(0, -p->rho[0] * d[0] / dd)),
                    near[2] = {p->rho[0] + part * d[0], part * d[1]},
                    gap     = sqrt(sumOfSquares(near, 2)) - p->R;
  if (p->inside) return gap > 0 && p->rho[0] > p->R && p->rho[1] > p->R ? INSIDE : STRAIGHT;
  if (gap >
      0) { /* A path that misses the circle is on the wrong side if the ray from the centre away from the side meets it. */
    const sunrealtype turn = p->phi < 0 ? -1 : 1;
    if (!side || !(turn * side[1] < 0 && turn * (side[1] * q[0] - side[0] * q[1]) > 0))
      return STRAIGHT;
  }
  sunrealtype best = -INFINITY;
  Course course    = STRAIGHT;
  for (int sense = 1; sense >= -1; sense -= 2) {
    /* Of both paths that is taken whose points of contact have their middle nearest to the side, or the nearer points. */
    const sunrealtype own = arcOf(p, sense, !(gap > 0)), from = sense * acos(p->R / p->rho[0]),
                      middle = from + sense * own / 2, reach = cos(own / 2);
    if (own < 0) continue;
    const sunrealtype good =
        !side ? reach * reach
              : (reach < 0 ? -1 : 1) * (side[0] * cos(middle) + side[1] * sin(middle));
    if (good > best) best = good, *arc = own, course = sense > 0 ? FORWARDS : BACKWARDS;
  }
  return course;
}

/* The angle from P to where the path inside touches the circle: of incidence and reflection there, sin a_P = rho_P sin(theta) / d_P and
 * sin a_Q are equal. Their difference grows from where the line from Q is a tangent to where that from P is one. */
static sunrealtype touching(const Plane *p) {
  const sunrealtype G = fabs(p->phi);
  sunrealtype low = fmax(0, G - acos(p->R / p->rho[1])), high = fmin(G, acos(p->R / p->rho[0]));
  while (high - low > 2 * DBL_EPSILON * high) {
    const sunrealtype x = (low + high) / 2, y = G - x;
    const sunrealtype a = p->rho[0] * sin(x) / hypot(p->rho[0] - p->R * cos(x), p->R * sin(x)),
                      b = p->rho[1] * sin(y) / hypot(p->rho[1] - p->R * cos(y), p->R * sin(y));
    if (x <= low || x >= high) break;
    if (a < b) low = x;
    else high = x;
  }
  return (low + high) / 2;
}

/* The distance of a point at the distance rho from the centre to that of the circle at the angle theta from it, and R rho sin(theta) */
static Taylor toCircle(sunrealtype R, const Taylor *rho, const Taylor *theta, Taylor *moment) {
  const sunrealtype c = cos(theta->v), s = sin(theta->v);
  const Taylor cosine = taylorOf(theta, c, -s, -c), sine = taylorOf(theta, s, c, -s);
  Taylor square = taylorDot(1, rho, rho);
  square.v += R * R;
  taylorAddProduct(-2 * R, rho, &cosine, &square);
  *moment = taylorConstant(COUNT, rho->degree, 0);
  taylorAddProduct(R, rho, &sine, moment);
  return taylorRoot(&square);
}

/* dS/dtheta of the path inside, and S: the sum of both distances, whose derivatives are moment / distance */
static Taylor slopeInside(sunrealtype R, const Taylor *rho, const Taylor *angle,
                          const Taylor *theta, Taylor *S) {
  Taylor slope = taylorConstant(COUNT, rho->degree, 0), rest = *angle, moment;
  *S = slope;
  taylorAdd(-1, theta, &rest);
  for (int k = 0; k < 2; k++) {
    const Taylor d = toCircle(R, &rho[k], k ? &rest : theta, &moment), r = taylorInverse(&d);
    taylorAdd(1, &d, S);
    taylorAddProduct(k ? -1 : 1, &moment, &r, &slope);
  }
  return slope;
}

/* By a step of Newton theta has its first derivatives, and with them S its second ones, since dS/dtheta = 0. */
static Taylor pathInside(const Plane *p, const Taylor *rho, const Taylor *angle) {
  const sunrealtype x = touching(p), h[2] = {x, fabs(p->phi) - x};
  sunrealtype bend   = 0;
  Taylor theta       = taylorConstant(COUNT, angle->degree, x), S;
  const Taylor slope = slopeInside(p->R, rho, angle, &theta, &S);
  for (int k = 0; k < 2; k++) { /* d^2 S / d theta^2 */
    const sunrealtype c = p->R * p->rho[k] * cos(h[k]), s = p->R * p->rho[k] * sin(h[k]),
                      d = sqrt(p->rho[k] * p->rho[k] + p->R * p->R - 2 * c);
    bend += c / d - s * s / (d * d * d);
  }
  taylorAdd(-1 / bend, &slope, &theta);
  theta.v = x;
  slopeInside(p->R, rho, angle, &theta, &S);
  return S;
}

/* W as a function of rho^2 */
static Taylor unwound(sunrealtype R, const Taylor *square) {
  const sunrealtype u = square->v, s = sqrt(fmax(0, u - R * R)), r = s > 0 ? 1 / s : 0;
  return taylorOf(square, s - R * acos(fmin(1, R / sqrt(u))), s / (2 * u),
                  (2 * R * R - u) * r / (4 * u * u));
}

/* The angle phi: alpha + S / C in axes turned by the present one, where S is 0. At a sphere |P x Q| is the component across the plane. */
static Taylor angleOf(const Plane *p, const Taylor *x) {
  Taylor across[3], c = taylorDot(p->flat, x, x + 3), w = taylorConstant(COUNT, x->degree, 0);
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    across[k] = taylorConstant(COUNT, x->degree, 0);
    taylorAddProduct(1, &x[i], &x[3 + j], &across[k]);
    taylorAddProduct(-1, &x[j], &x[3 + i], &across[k]);
    taylorAdd(p->n[k], &across[k], &w);
  }
  if (p->flat == 3 && !p->degenerate) {
    const Taylor square = taylorDot(3, across, across);
    w                   = taylorRoot(&square);
  }
  const sunrealtype cosine = cos(p->phi), sine = sin(p->phi);
  Taylor S = taylorConstant(COUNT, x->degree, 0), C = S, phi = S;
  taylorAdd(cosine, &w, &S), taylorAdd(-sine, &c, &S);
  taylorAdd(cosine, &c, &C), taylorAdd(sine, &w, &C);
  S.v                  = 0;
  const Taylor inverse = taylorInverse(&C);
  taylorAddProduct(1, &S, &inverse, &phi);
  phi.v = p->phi;
  return phi;
}

Taylor bodiesWrapped(const Wrap *w, const sunrealtype *at, int degree) {
  Taylor x[COUNT], d[3], S;
  sunrealtype side[2], arc = 0;
  for (int k = 0; k < COUNT; k++) {
    x[k] = taylorConstant(COUNT, degree, at[k]);
    if (degree > 0) x[k].d[k] = 1;
  }
  for (int k = 0; k < 3; k++) d[k] = x[3 + k], taylorAdd(-1, &x[k], &d[k]);
  const Plane p       = planeOf(w, at, side);
  const Course course = courseOf(&p, w->sided ? side : NULL, &arc);
  if (course == STRAIGHT) {
    S = taylorDot(3, d, d);
    return taylorRoot(&S);
  }
  const Taylor square[2] = {taylorDot(p.flat, x, x), taylorDot(p.flat, x + 3, x + 3)},
               phi       = angleOf(&p, x);
  if (course == INSIDE) {
    const Taylor rho[2] = {taylorRoot(&square[0]), taylorRoot(&square[1])};
    Taylor angle        = taylorConstant(COUNT, degree, 0);
    taylorAdd(p.phi < 0 ? -1 : 1, &phi, &angle);
    S = pathInside(&p, rho, &angle);
  } else {
    S                  = unwound(p.R, &square[0]);
    const Taylor other = unwound(p.R, &square[1]);
    taylorAdd(1, &other, &S);
    taylorAdd(course == FORWARDS ? p.R : -p.R, &phi, &S);
    S.v =
        sqrt(fmax(0, square[0].v - p.R * p.R)) + sqrt(fmax(0, square[1].v - p.R * p.R)) + p.R * arc;
  }
  if (p.flat == 3) return S;
  Taylor whole = taylorDot(1, &S, &S);
  taylorAddProduct(1, &d[2], &d[2], &whole);
  return taylorRoot(&whole);
}

/* F [6]: out, the first derivatives of L, and their first ones; the second derivatives of these are differences along the rates, and
 * only what these rates make of them counts. */
static Taylor lengthAt(const Wrap *w, const Jet *C, Order order, Taylor *F) {
  const int degree = order == RATES || order == GRADIENT ? 1 : 2;
  sunrealtype at[COUNT], near[COUNT], speed = 0, size = w->radius;
  for (int k = 0; k < COUNT; k++)
    at[k] = C[k].s, speed = hypot(speed, C[k].rate), size = fmax(size, fabs(at[k]));
  const Taylor L = bodiesWrapped(w, at, degree);
  for (int k = 0; k < COUNT; k++) {
    F[k] = taylorConstant(COUNT, order == ACCELERATION ? 2 : degree - 1, L.d[k]);
    for (int l = 0; l < COUNT && degree > 1; l++) F[k].d[l] = L.dd[k][l];
  }
  if (order != ACCELERATION || !(speed > 0)) return L;
  const sunrealtype h = cbrt(DBL_EPSILON) * size;
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int k = 0; k < COUNT; k++) near[k] = at[k] + sign * h * C[k].rate / speed;
    const Taylor moved = bodiesWrapped(w, near, 2);
    for (int k = 0; k < COUNT; k++)
      for (int l = 0; l < COUNT; l++)
        for (int i = 0; i < COUNT; i++)
          F[k].dd[i][l] += sign * moved.dd[k][l] / (2 * h) * C[i].rate / speed;
  }
  return L;
}

/* The side of a wrap's pair `of` that is on the body of side s of pair `part`; or NONE */
static int sideOf(int of, int part, int s) {
  static const int node[PARTS][2] = {{0, 1}, {1, 2}, {0, 2}}; /* P, the geom, Q */
  for (int k = 0; k < 2; k++)
    if (node[of][k] == node[part][s]) return k;
  return NONE;
}

/* to: out, the jet of a coordinate of pair `of` in the directions of pair `part` */
static void moveJet(const Jet *from, int of, int part, Jet *to) {
  const sunrealtype sign = of == 0 ? -1 : 1; /* The first pair leads to the geom. */
  memset(to, 0, sizeof *to);
  to->s = sign * from->s, to->rate = sign * from->rate, to->acc = sign * from->acc;
  for (int s = 0; s < 2; s++) {
    const int side = sideOf(of, part, s);
    for (int j = 6 * s; j < 6 * s + 6 && side != NONE; j++) {
      const int k = j % 6 + 6 * side;
      to->g[j] = sign * from->g[k], to->rate_q[j] = sign * from->rate_q[k];
      to->acc_q[j] = sign * from->acc_q[k], to->acc_u[j] = sign * from->acc_u[k];
      for (int i = 0; i < LOCAL; i++) {
        const int other = sideOf(of, part, i / 6);
        if (other != NONE) to->H[i][j] = sign * from->H[i % 6 + 6 * other][k];
      }
    }
  }
}

void bodiesWrapJet(const Mechanism *b, const Term *term, Order order, Jet *jet) {
  static const int from[2] = {1, 0}; /* the side of the geom */
  const Space *space       = &b->space;
  const int part           = term->m.i;
  const Pair *pair         = &b->pair[term->pair - part];
  const Side *geom         = &pair->side[1];
  const Pose *frame        = bodiesPose(b, geom->body);
  Jet C[COUNT], own;
  Taylor F[COUNT];
  memset(jet, 0, sizeof *jet);
  if (part > 0 && order <= VALUES) return;
  for (int k = 0; k < COUNT; k++) {
    const Pair *of     = &pair[k / 3];
    const Measure axis = {ALONG, from[k / 3], k % 3, 0};
    memset(&own, 0, sizeof own);
    bodiesJet(space, b->param, of, &axis, bodiesPose(b, of->side[0].body),
              bodiesPose(b, of->side[1].body), order, &own);
    moveJet(&own, k / 3, part, &C[k]);
  }
  Wrap w = {
      .cylinder = pair->solid[1].core == SEGMENT, .sided = term->m.j, .radius = pair->solid[1].skin};
  if (w.sided) {
    const Side *at   = &pair[PARTS].side[1];
    const Pose *pose = bodiesPose(b, at->body);
    sunrealtype d[2][3];
    toSpace(pose, at->point, d[1]), toSpace(frame, geom->point, d[0]);
    add3(1, pose->r, d[1]), add3(-1, frame->r, d[1]), add3(-1, d[0], d[1]);
    toBody(frame, d[1], d[0]);
    for (int k = 0; k < 3; k++) w.side[k] = dot3(geom->axis[k], d[0]);
  }
  const Mask mask = bodiesMask(space, &b->pair[term->pair], &term->m);
  const Taylor L  = lengthAt(&w, C, order, F);
  for (int k = 0; k < COUNT; k++) bodiesAddScaled(space, &F[k], COUNT, C, &C[k], mask, order, jet);
  jet->s = L.v;
  if (part == 0) return;
  /* Of directions and pairs of them that several parts have, the first part has the derivatives. */
  jet->s = jet->rate = jet->acc = 0;
  for (int j = 0; j < LOCAL; j++) {
    if (part == 2 || j < 6) jet->g[j] = jet->rate_q[j] = jet->acc_q[j] = jet->acc_u[j] = 0;
    for (int i = 0; i < LOCAL; i++)
      if (part == 2 ? i / 6 == j / 6 : i < 6 && j < 6) jet->H[i][j] = 0;
  }
}
