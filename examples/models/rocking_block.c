#include "rocking_block.h"

#include "elliptic.h"

#include <float.h>
#include <math.h>

static sunrealtype alpha(const RockingBlock *block) { return atan2(block->w, block->h); }

static sunrealtype frequency(const RockingBlock *block) { /* p */
  return sqrt(3 * block->body.g / (4 * hypot(block->w, block->h)));
}

static sunrealtype ratio(const RockingBlock *block) { /* of the rates after and before an impact */
  const sunrealtype s = sin(alpha(block));
  return fmax(0, 1 - 1.5 * s * s);
}

/* F(phi | m), the inverse of the amplitude, by Newton's method: F is convex, and phi is below it. */
static sunrealtype integral(sunrealtype phi, sunrealtype m) {
  sunrealtype u = phi, step = 1;
  for (int i = 0; i < 50 && fabs(step) > DBL_EPSILON * u; i++) {
    const sunrealtype at = elliptic_amplitude(u, m), s = sin(at);
    step = (phi - at) / sqrt(1 - m * s * s);
    u += step;
  }
  return u;
}

/* From rest at psi_m, k^2 = m: half a flight, in units of 1/p, to the impact with the rate omega. There cd = sin(phi) with
 * cos(phi) = omega / (2 p k), which does not lose digits where the flight is short. */
static sunrealtype half_flight(sunrealtype m, sunrealtype omega, sunrealtype p) {
  const sunrealtype c2 = omega * omega / (4 * p * p * m); /* cos(phi)^2 */
  return integral(asin(sqrt(c2 / (1 - m + m * c2))), m);
}

/* k^2 of the flight between two impacts with the rate omega */
static sunrealtype modulus(const RockingBlock *block, sunrealtype omega) {
  const sunrealtype p = frequency(block);
  return (1 + cos(alpha(block)) + omega * omega / (2 * p * p)) / 2;
}

/* Rate of the first impact */
static sunrealtype first_rate(const RockingBlock *block) {
  const sunrealtype a = alpha(block), half = block->theta0 / 2;
  return 2 * frequency(block) * sqrt(sin(a - half) * sin(half)); /* cos(a - theta0) - cos(a) */
}

void rocking_block_at(const RockingBlock *block, sunrealtype theta, sunrealtype rate,
                      sunrealtype *y) {
  const int left = theta > 0 || (theta == 0 && rate > 0);
  sunrealtype X, Y;
  floor_body_arm(&block->body, left ? 0 : 1, theta, &X, &Y);
  y[0] = (left ? -block->w : block->w) - X, y[1] = -Y, y[2] = theta;
  y[3] = Y * rate, y[4] = -X * rate, y[5] = rate;
}

/* The newest impact up to t, with the rate after it and the corner on which the block turns; or the start, with the rate of
 * the first impact */
typedef struct {
  sunrealtype t, rate;
  int side; /* -1: the right corner, 1: the left one, 0: it stands */
} Impact;

static Impact newest_impact(const RockingBlock *block, sunrealtype t) {
  const sunrealtype p = frequency(block), r = ratio(block);
  const sunrealtype half = (alpha(block) - block->theta0) / 2;
  Impact at              = {.t = 0, .rate = first_rate(block), .side = 1};
  sunrealtype next       = half_flight(cos(half) * cos(half), at.rate, p) / p;
  while (t >= next) {
    at = (Impact){.t = next, .rate = r * at.rate, .side = -at.side};
    const sunrealtype flight =
        at.rate > 0 ? 2 * half_flight(modulus(block, at.rate), at.rate, p) / p : 0;
    /* A flight shorter than the roundoff of t counts as rest. */
    if (!(flight > DBL_EPSILON * next)) return (Impact){.t = next};
    next += flight;
  }
  return at;
}

void rocking_block_exact(const RockingBlock *block, sunrealtype t, sunrealtype *y) {
  const sunrealtype p = frequency(block), a = alpha(block), half = (a - block->theta0) / 2;
  const Impact at = newest_impact(block, t);
  if (at.side == 0) { /* It stands. */
    rocking_block_at(block, 0, 0, y);
    y[0] = 0;
    return;
  }
  const int started   = at.t > 0;
  const sunrealtype m = started ? modulus(block, at.rate) : cos(half) * cos(half);
  const sunrealtype s = started ? p * (t - at.t) - half_flight(m, at.rate, p) : p * t;
  /* cd = sn(s + K): the amplitude there is a right angle at rest. */
  const sunrealtype c = cos(elliptic_amplitude(fabs(s), m)), sn2 = 1 - c * c, dn2 = 1 - m * sn2;
  const sunrealtype psi = 2 * acos(fmin(1, sqrt(m) * c / sqrt(dn2)));
  /* psi' = 2 p sqrt(m) sqrt(1 - cd^2) */
  const sunrealtype speed = 2 * p * sqrt(m * (1 - m) * sn2 / dn2);
  rocking_block_at(block, at.side * (a - psi), (s > 0 ? -at.side : at.side) * speed, y);
}

sunrealtype rocking_block_rest(const RockingBlock *block) {
  return newest_impact(block, INFINITY).t;
}

/* The least coefficient of friction without sliding, in the first fall, which is the fastest and the widest, and at impacts */
static sunrealtype least_friction(const RockingBlock *block) {
  enum { PLACES = 200 };
  const sunrealtype a = alpha(block), r = ratio(block), g = block->body.g;
  const sunrealtype R = hypot(block->w, block->h), p2 = 3 * g / (4 * R);
  sunrealtype most = block->h * (1 - r) / (block->w * (1 + r));
  for (int i = 0; i <= PLACES; i++) {
    const sunrealtype psi = a - block->theta0 * i / PLACES;
    const sunrealtype w2  = 2 * p2 * (cos(a - block->theta0) - cos(psi)); /* psi'^2 */
    const sunrealtype F   = R * sin(psi) * (p2 * cos(psi) - w2);
    const sunrealtype N   = g - R * (p2 * sin(psi) * sin(psi) + w2 * cos(psi));
    most                  = N > 0 ? fmax(most, fabs(F) / N) : INFINITY;
  }
  return most;
}

void rocking_block_init(RockingBlock *block, sunrealtype m, sunrealtype w, sunrealtype h,
                        sunrealtype g, sunrealtype theta0) {
  *block = (RockingBlock){
      .body = {.m = m, .J = m * (w * w + h * h) / 3, .g = g, .npoints = 2, .a = {-w, w}, .b = {-h, -h}},
      .w      = w,
      .h      = h,
      .theta0 = theta0};
  block->friction = least_friction(block);
}
