/* Slider-crank with an elastic connecting rod, driven with constant speed: the rod bends in two modes,
 * and stretches by two finite-element coordinates. Fast oscillations of small amplitude on a slow
 * motion; undamped unless the damping is switched on.
 *
 *   M(q) q'' + A(q)^T lambda = f(q, q')
 *
 *   0 = l1 sin phi1 + (l2 + q4) sin phi2                    positions [m]
 *   0 = x3 - l1 cos phi1 - (l2 + q4) cos phi2
 *   0 = phi1 - Omega t                                      [rad], depends on time
 *
 *   q = (phi1, phi2, x3, q1, q2, q3, q4)   crank and rod angle [rad], slider, bending, stretch [m]
 *
 * With S = sin(phi1 - phi2), C = cos(phi1 - phi2), e = (q1, ..., q4) and matrices Mq, Kq, Bq, Dq and
 * vectors c1, c2, c12, c21 of the rod (flexible_crank.c):
 *
 *   M = [ J1 + m2 l1^2      .                                  0     .
 *         M12               J2 + e^T Mq e + 2 rho c12^T e      0     .            symmetric
 *         0                 0                                  m3    .
 *         rho l1 (C c2 - S c1)   rho (c21 + Bq^T e)            0     Mq ]
 *   M12 = l1 l2 m2 C / 2 + rho l1 (S c2 + C c1)^T e
 *
 * Frequencies of the rod are some 1,000 to 40,000 /s; t in [0, 0.1] s.
 *
 * Source: B. Simeon, Mathematical Modelling of Systems 2 (1996); Test Set for IVP Solvers, "crank",
 * whose pi = 3.1415927 is taken here: it changes the bending in the seventh digit.
 */
#ifndef CPODES_EXAMPLES_FLEXIBLE_CRANK_H
#define CPODES_EXAMPLES_FLEXIBLE_CRANK_H

#include <cpodes/cpodes_mechanics.h>

enum { FLEXIBLE_CRANK_NQ = 7, FLEXIBLE_CRANK_NP = 3 }; /* the state has 14 entries */

typedef struct {
  sunrealtype Omega;   /* speed of the crank [rad/s] */
  sunrealtype damping; /* 0: none; 1: half a percent of the critical one (Dq) */
} FlexibleCrank;       /* the user_data of the model */

FlexibleCrank flexible_crank_testset(void); /* Omega = 150, no damping */

/* Its functions for a CPMech, with its partial derivatives */
CPEquations flexible_crank_model(void);

/* y [14]: out, the state at t = 0, close to the motion without fast oscillations (Omega = 150). The
   source's x3 violates its constraint by 2e-10; here it satisfies it. */
void flexible_crank_initial(N_Vector y);

/* q [7]: in. x [npoints]: out, points of the bent rod from the crank pin to the slider [m] */
void flexible_crank_shape(const sunrealtype *q, int npoints, sunrealtype (*x)[2]);

#endif
