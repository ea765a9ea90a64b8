/* Vectors, poses and measures. All elements are made of measures: scalar functions s(q) of two bodies. A constraint is
 * sum_k c_k s_k = offset, a force acts along the gradient of s, and a sensor returns s and s'. So each primitive is written
 * once, in measures.c.
 *
 * Local directions: 0-2 move body a along the axes of space, 3-5 turn it about its own axes; 6-8
 * and 9-11 do the same with b. */
#ifndef CPODES_BODIES_MEASURES_H
#define CPODES_BODIES_MEASURES_H

#include "closest.h"

#include <cpodes/cpodes_bodies.h>
#include <math.h>

enum { LOCAL = 12, GROUND = -1 };

/* ---- vectors in space ---- */

static inline sunrealtype dot3(const sunrealtype *a, const sunrealtype *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
/* The length of a, however long it is */
static inline sunrealtype length3(const sunrealtype *a) { return hypot(hypot(a[0], a[1]), a[2]); }
/* c = a x b; c must be neither a nor b */
static inline void cross3(const sunrealtype *a, const sunrealtype *b, sunrealtype *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}
/* y += s x */
static inline void add3(sunrealtype s, const sunrealtype *x, sunrealtype *y) {
  for (int k = 0; k < 3; k++) y[k] += s * x[k];
}

/* The pose of a body; axis[k] is column k of its rotation. */
typedef struct {
  sunrealtype r[3], axis[3][3];
  sunrealtype phi, turns;       /* the angle, in the plane, and the whole turns that it lacks */
  sunrealtype v[3], w[3];       /* velocities in space */
  sunrealtype acc[3], alpha[3]; /* accelerations in space, if requested */
  int accelerating; /* 1: they count at every order, as they are not 0 at u' = 0; or 0 */
} Pose;

static inline void toSpace(const Pose *pose, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++)
    y[i] = pose->axis[0][i] * x[0] + pose->axis[1][i] * x[1] + pose->axis[2][i] * x[2];
}
static inline void toBody(const Pose *pose, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++) y[i] = dot3(pose->axis[i], x);
}

/* ---- measures ---- */

/* One side of a joint or force: its body, its point relative to the centre of mass, and its
 * directions, in body axes */
typedef struct {
  int body;
  sunrealtype point[3], axis[3][3];
} Side;

/* A surface phi = 0 on side a, in its axes at P_a: phi is a function, or if that is NULL, the
 * sphere of a contact, whose radii are two parameters; or radii of pulleys on both sides, or NONE = -1 of a point. */
typedef struct {
  CPSurfaceFn fn;
  void *data;
  int radius[2];
} Surface;

typedef struct {
  Side side[2];
  /* in the plane: whole turns that put the angle at the placement into (-pi, pi] */
  sunrealtype turns;
  Surface surface;
  Solid solid[2]; /* of a contact of shapes: what has its centre and axes on each side */
} Pair;

typedef enum {
  POINT,  /* the vector P_b - P_a: three rows, or two in the plane */
  ALONG,  /* axis i of `from` . (P_b - P_a) */
  DOT,    /* axis i of `from` . axis j of the other side */
  LENGTH, /* |P_b - P_a| */
  ANGLE,  /* the angle of axis j of the other side, from axis i of `from` towards the next axis */
  SPIN,   /* rate only: axis i of `from` . (omega_other - omega_from) */
  SINE,   /* the sine of the angle between axis i of `from` and axis j of the other side */
  /* rate only, i = 0 or 1. Of the unit circle of the other side about its axis j, take the point
   * that is lowest along axis 2 of `from`: the velocity of this point relative to the centre, along
   * axis i of `from` */
  ROLL,
  LEVEL, /* phi at P_b, for the surface of the pair on side a */
  /* rate only, i = 0 or 1: the velocity of P_b relative to side a, along tangent i of that level */
  GLIDE,
  TWIST, /* rate only, i = 0 or 1: omega_b - omega_a along that tangent */
  NEAR,  /* the gap between the solids of the pair */
  SLIP, /* rate only, i = 0 or 1: the velocity of solid b relative to a where it is nearest, along tangent i */
  /* rate only: the velocity of P_b along axis 0 of side b, and omega_b along its axis 1, which are of any length: a force and a
   * torque that move with b act on them */
  WRENCH,
  OWN, /* coordinate i of a joint by functions, an angle if j is 1: the tree has it (bodiesTermJet) */
  /* the part of a rope between two nodes, in the plane of side `from`: the length of the tangent, plus R_a psi - R_b psi for its
   * direction psi, in (-pi, pi], and the radii of the surface, whose signs are the senses in which the rope turns */
  TANGENT,
  /* part i = 0, 1 or 2 of the length of a path from a point over a sphere or a cylinder to a point, between three bodies, on three
   * consecutive pairs: point and geom, geom and point, point and point, which share the derivatives in their directions. The first one
   * has the value and the rates. The geom is solid[1] of the first pair, a point or a segment with a skin; if j is 1, there
   * is a fourth pair, whose side b is the point that tells on which side the path runs (wrapping.c). */
  WRAP
} MeasureKind;

typedef struct {
  MeasureKind kind;
  int from, i, j;
} Measure;

/* What to evaluate of a measure, each including the ones before: the values s, s'; that of s''; the
 * gradient g; the derivatives of s' and the Hessian H; the derivatives of s'', without H; all of them. */
typedef enum { RATES, VALUES, GRADIENT, HESSIAN, ACCELERATION, COMPLETE } Order;

typedef struct {
  sunrealtype s, rate, acc;                              /* s, s', s'' */
  sunrealtype g[LOCAL];                                  /* D_j s = d s'/d u_j = d s''/d u'_j */
  sunrealtype rate_q[LOCAL], acc_q[LOCAL], acc_u[LOCAL]; /* D_j s', D_j s'', d s''/d u_j */
  sunrealtype H[LOCAL][LOCAL];                           /* D_j g_i */
} Jet;

/* Bit G of g is set if directions 3 G ... 3 G + 2 occur in the gradient, bit 4 Gi + Gj of H if they
 * occur in the Hessian. */
typedef struct {
  unsigned g, H;
} Mask;

/* The directions first[] ... last[] - 1 that a body has in group 0 (translation) and group 1
 * (rotation) */
typedef struct {
  int dimension, nu, nq, first[2], last[2];
} Space;

/* Loops over those local directions j of these groups that the bodies have; the groups are evaluated once. */
#define EACH_DIRECTION(space, groups, j)                           \
  for (unsigned j##_in = (groups), j##_ = 0; j##_ < 4; j##_++)     \
    if (j##_in & (1u << j##_))                                     \
      for (int j       = 3 * (int)j##_ + (space)->first[j##_ % 2], \
               j##_end = 3 * (int)j##_ + (space)->last[j##_ % 2];  \
           j < j##_end; j++)

Mask bodiesMask(const Space *space, const Pair *pair, const Measure *m);
/* jet: out, the measure at the poses of both sides; entries outside the mask are not written.
 * param: the parameters of surfaces. */
void bodiesJet(const Space *space, const sunrealtype *param, const Pair *pair, const Measure *m,
               const Pose *a, const Pose *b, Order order, Jet *jet);
/* The derivatives of first, second and third order of a function F of one or two measures S, C */
typedef struct {
  sunrealtype S, C, SS, SC, CC, SSS, SSC, SCC, CCC;
} Function;
/* The chain rule. jet: in, the jet of S; out, the jet of F except for its value. */
void bodiesCompose(const Space *space, const Function *F, const Jet *C, Mask mask, Order order,
                   Jet *jet);
/* jet += the jet of the rate F(c) m', where F is a function of n measures c with the jets C [n]. */
void bodiesAddScaled(const Space *space, const Taylor *F, int n, const Jet *C, const Jet *m,
                     Mask mask, Order order, Jet *jet);
/* At P_b, for the poses of both sides: the gradient g of the surface and its tangents t, all three
 * of length |g|, in the axes of side a. Returns what the function of the surface returned. */
int bodiesLevel(const Space *space, const sunrealtype *param, const Pair *pair, const Pose *a,
                const Pose *b, sunrealtype *g, sunrealtype t[2][3]);

/* The same where the solids of the pair are nearest, with |g| = 1; point: out, on the surface of b, in space. Returns 1 if there
 * is no such place, or more than one (closest.h). gap: out, may be NULL */
int bodiesNearest(const Space *space, const Pair *pair, const Pose *a, const Pose *b,
                  sunrealtype *gap, sunrealtype *point, sunrealtype *g, sunrealtype t[2][3]);

/* The straight part of a rope: its direction psi in the plane of side `from`; out: the length of the tangent, or NAN if pulleys
 * overlap. */
sunrealtype bodiesHeading(const Space *space, const sunrealtype *param, const Pair *pair, int from,
                          const Pose *a, const Pose *b, sunrealtype *length);
/* e [4]: out, the unit quaternion of a rotation matrix by rows, scalar >= 0 */
void bodiesQuaternion(sunrealtype R[3][3], sunrealtype *e);
/* That of a pose */
static inline void bodiesAttitude(const Pose *pose, sunrealtype *e) {
  sunrealtype R[3][3];
  for (int k = 0; k < 9; k++) R[k / 3][k % 3] = pose->axis[k % 3][k / 3];
  bodiesQuaternion(R, e);
}
/* The rotation from side a to side b of a joint, as a vector r in the axes of a, and its derivative
 * D_k . (omega_b - omega_a) in space. n = 3: of all axes; n = 2: the shortest one that turns z_a to
 * z_b. Unlike the products x_a . z_b, y_a . z_b, x_a . y_b, it vanishes for equal axes only. */
void bodiesTilt(const Pair *pair, const Pose *a, const Pose *b, int n, sunrealtype r[3],
                sunrealtype D[3][3]);

/* A vector that moves with one or both bodies: the sum over sides of arm and, if move is not 0, of
 * the centre */
typedef struct {
  sunrealtype x[3], rate[3], acc[3];
  struct {
    sunrealtype move; /* +-1: moves with the body's centre; 0: does not */
    sunrealtype arm[3], rate[3], acc[3];
  } side[2];
  const Pose *pose[2];
} Moving;

/* P_b - P_a */
void bodiesSpan(const Pair *pair, const Pose *a, const Pose *b, Order order, Moving *d);
/* Derivatives in the local direction j of x, of x'', and of x'' with respect to u_j. D [3]: out. */
static inline void bodiesMovingX(const Moving *d, int j, sunrealtype *D) {
  D[0] = D[1] = D[2] = 0;
  if (j % 6 < 3) D[j % 3] = d->side[j / 6].move;
  else cross3(d->pose[j / 6]->axis[j % 3], d->side[j / 6].arm, D);
}
void bodiesMovingAcc(const Moving *d, int j, sunrealtype *D);
void bodiesMovingAccU(const Moving *d, int j, sunrealtype *D);
/* D_j D_i x . y */
sunrealtype bodiesMovingHessian(const Moving *d, int i, int j, const sunrealtype *y);

#endif
