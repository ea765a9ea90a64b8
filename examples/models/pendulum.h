/* Planar pendulum in Cartesian coordinates: a point mass on a massless rod, released horizontally.
 *
 *   x'' = -x tau,  y'' = -y tau - g,   tau = (x'^2 + y'^2 - g y) / L^2   (tension / (m L))
 *
 *   0 = x^2 + y^2 - L^2        position      [m^2]
 *   0 = x x' + y y'            velocity      [m^2/s]
 *
 *   y = (x, y, x', y')         state         [m, m, m/s, m/s]
 *   L  rod length [m],  g  gravity along -y [m/s^2]
 *
 * Every state on the manifold has the closed form of pendulum_exact.
 * Source: IFToMM library of computational benchmark problems, A01 (L = 1, g = 9.81); SUNDIALS,
 * example cvPendulum_dns (L = 1, g such that the period is 2).
 */
#ifndef CPODES_EXAMPLES_PENDULUM_H
#define CPODES_EXAMPLES_PENDULUM_H

#include <cpodes/cpodes_mechanics.h>

enum { PENDULUM_N = 4, PENDULUM_M = 2 }; /* length of y and c */

/* (2 K(m = 1/2))^2, K the complete elliptic integral of the first kind: with L = 1 the period is 2
   s */
#define PENDULUM_G_PERIOD2 SUN_RCONST(13.7503716360407456549801915596)

typedef struct {
  sunrealtype L; /* rod length [m] */
  sunrealtype g; /* gravity [m/s^2] */
} Pendulum;      /* the user_data of the functions below */

int pendulum_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int pendulum_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int pendulum_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* The same manifold described by three dependent rows: position, velocity and their sum
   (SUNDIALS 2.7, CPODES example cpsPend_dnsL). c [3], G [3 x 4] */
enum { PENDULUM_M_REDUNDANT = 3 };
int pendulum_constraints_redundant(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int pendulum_jacobian_redundant(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* The same pendulum as functions for a CPMech, with partial derivatives and the same user_data:

     (x'', y'') + lambda (x, y) / L = (0, -g),   0 = (x^2 + y^2 - L^2) / (2 L)     per mass

   lambda [m/s^2] is the tension of the rod. */
CPEquations pendulum_model(void);

/* Tension of the rod per mass at y, L tau [m/s^2] */
sunrealtype pendulum_tension(const Pendulum *p, N_Vector y);

/* y [4]: out, at rest at (L, 0) */
void pendulum_initial(const Pendulum *p, N_Vector y);

/* Kinetic and potential energy per mass [m^2/s^2]; 0 for the motion from pendulum_initial */
sunrealtype pendulum_energy(const Pendulum *p, N_Vector y);

/* The motion from pendulum_initial by Jacobi's elliptic functions. y [4]: out; the angle is good
   to some 10 eps (1 + sqrt(g/L) t) */
void pendulum_exact(const Pendulum *p, sunrealtype t, sunrealtype *y);

#endif
