/* The mechanisms of examples/models in general position: as CPMechs, and as plain dense functions
 * from which the tests compute the expected projections. In the space of velocities, w [nu],
 * q <- q + N w:
 *
 *   K = D A^T (A D A^T)^+,   P = I - K A,   V = (dv/dq) N           D^-1 = W the metric
 *
 * A and M are the model's; p and v are compared with them elsewhere. */
#ifndef CPODES_TEST_SYSTEMS_H
#define CPODES_TEST_SYSTEMS_H

#include "support/support.h"
#include <cpodes/cpodes_mechanics.h>
#include <models/bending_chain.h>
#include <models/bushing_crank.h>
#include <models/car_axis.h>
#include <models/chain.h>
#include <models/flexible_crank.h>
#include <models/four_bar.h>
#include <models/knife_edge.h>
#include <models/pendulum.h>
#include <models/spatial_four_bar.h>

enum { MAX_U = 24, MAX_Q = 28, MAX_ROWS = 24, MAX_N = MAX_Q + MAX_U };

typedef enum {
  PENDULUM,
  SLIDER_CRANK,
  CAR_AXIS,
  ANDREWS,
  FOUR_BAR,
  FOUR_BAR_SPARSE,
  KNIFE_EDGE,
  BODIES,          /* two bodies with quaternions and a ball joint, in their own axes */
  BODIES_IN_SPACE, /* the same with angular velocities in the axes of space, sparse */
  SPATIAL_LOOP,    /* redundant: 20 rows of rank 17 */
  OPERATORS_CHAIN, /* operators only */
  BENDING_CHAIN,   /* sparse */
  BUSHING_CRANK,
  FLEXIBLE_CRANK,
  SYSTEMS
} SystemName;

typedef struct {
  const char *name;
  CPEquations model; /* with its templates */
  SUNMatrix A, M;    /* for the model's functions; NULL with operators */
  void *user_data;
  int nq, nu, np, nv, n;
  int nquaternions, first_q[3], first_u[3];
  CPFrame frame;
  CPMech mech;
  sunrealtype t;
  N_Vector y;          /* satisfies p = 0 and v = 0 to roundoff, and moves */
  N_Vector ewt;        /* 1 / (1e-6 |y_i| + 1e-6) */
  CPMechMetric normal; /* the meaning of CP_METRIC_DEFAULT without an integrator */
  int redundant;
  MessageLog log;
  /* what user_data points to */
  union {
    Pendulum pendulum;
    SliderCrank slider_crank;
    CarAxis car_axis;
    KnifeEdge knife_edge;
    BushingCrank bushing;
    FlexibleCrank flexible;
    SpatialFourBar loop;
    struct {
      RigidBody body[2];
      Joint joint[1];
      CPQuaternion quaternion[2];
      RigidBodies all;
    } bodies;
  } is;
  FourBar *four_bar;
  Chain *chain;
  BendingChain *bending;
} System;

System *system_create(SystemName name);
void system_free(System **system);

/* ---- its functions, dense, by columns ---- */

void system_A(const System *s, const sunrealtype *q, double *A); /* nv x nu */
void system_M(const System *s, const sunrealtype *q, double *M); /* nu x nu */
void system_p(const System *s, const sunrealtype *q, double *p);
/* A u + dp/dt, by differences of p; or the model's own v, if there is no p. */
void system_v(const System *s, const sunrealtype *q, const sunrealtype *u, double *v);
/* result = N w;  w = N^+ d, with quaternions near norm one */
void system_N(const System *s, const sunrealtype *q, const double *w, double *result);
void system_N_inverse(const System *s, const sunrealtype *q, const double *d, double *w);
/* V, nv x nu, by differences of sixth order: accurate to about 1e-11 of its entries. */
void system_V(const System *s, const sunrealtype *y, double *V);
/* largest | |quaternion| - 1 | */
double system_norms(const System *s, const sunrealtype *y);
void system_normalise(const System *s, sunrealtype *y);
/* w with q1 = normalised q0 + N(q0) w, |q0| = 1 */
void system_displacement(const System *s, const sunrealtype *q0, const sunrealtype *q1, double *w);
/* its inverse, q1 out */
void system_displace(const System *s, const sunrealtype *q0, const double *w, sunrealtype *q1);

/* ---- projections ---- */

/* W at q for positions or velocities. DEFAULT means s->normal, and NEWTON means M, which it is
 * without an integrator. */
void system_metric(const System *s, CPMechMetric metric, int velocities, const sunrealtype *q,
                   double *W);
/* K, nu x rows, of the first rows of A. Returns the ratio of the largest and the least nonzero
 * singular value of A W^{-1/2}. */
double system_lift(const System *s, int rows, const double *A, const double *W, double *K);
/* unit_i = sqrt(sum_j (A_ij / w_j)^2), the unit of residuals. */
void system_units(const System *s, int velocities, const double *A, double *unit);

#endif
