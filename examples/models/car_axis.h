/* Car axis on a bumpy road: two points joined by a rigid axle, each on a spring; the right spring's
 * foot follows the road. The left end stays at right angles to the line between the two feet,
 * (0, 0) and (xb, yb): this constraint depends on time.
 *
 *   K xl'' = (L0 - Ll) xl / Ll             - lambda1 xb - 2 lambda2 (xl - xr)
 *   K yl'' = (L0 - Ll) yl / Ll             - lambda1 yb - 2 lambda2 (yl - yr) - K grav
 *   K xr'' = (L0 - Lr) (xr - xb) / Lr                   + 2 lambda2 (xl - xr)
 *   K yr'' = (L0 - Lr) (yr - yb) / Lr                   + 2 lambda2 (yl - yr) - K grav
 *
 *   yb = r sin(w t),  xb = sqrt(L^2 - yb^2),   Ll, Lr spring lengths,   K = m eps^2 / 2
 *
 *   0 = xl xb + yl yb,  0 = (xl - xr)^2 + (yl - yr)^2 - L^2          positions
 *   and their rates, with the partial time derivative xl xb' + yl yb'   velocities
 *
 *   y = (xl, yl, xr, yr, and their rates), all quantities without unit
 *
 * The index is reduced: lambda follows from the second derivative of the constraints. The multipliers
 * have the opposite sign of those of the source.
 * Source: Test Set for IVP Solvers, "caraxis" (S. Schneider).
 */
#ifndef CPODES_EXAMPLES_CAR_AXIS_H
#define CPODES_EXAMPLES_CAR_AXIS_H

#include <cpodes/cpodes_mechanics.h>

enum { CAR_AXIS_N = 8, CAR_AXIS_M = 4 }; /* length of y and c */

typedef struct {
  sunrealtype L;    /* length of the axle */
  sunrealtype L0;   /* free length of the springs */
  sunrealtype eps;  /* 1 / sqrt(stiffness) of the springs */
  sunrealtype m;    /* mass of the chassis */
  sunrealtype r, w; /* amplitude and angular frequency of the road */
  sunrealtype grav; /* gravity */
} CarAxis;          /* the user_data of the functions below */

CarAxis car_axis_testset(
    void); /* L = 1, L0 = 0.5, eps = 0.01, m = 10, r = 0.1, w = 10, grav = 1; t in [0, 3] */

int car_axis_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int car_axis_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int car_axis_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* The same as functions for a CPMech, with the same user_data */
CPEquations car_axis_model(void);

/* y [8]: out, the state at t = 0 */
void car_axis_initial(const CarAxis *a, N_Vector y);

/* x: out, foot (xb, yb) of the right spring */
void car_axis_foot(const CarAxis *a, sunrealtype t, sunrealtype x[2]);

/* Accelerations [4] and multipliers [2] at (t, y); returns 1 where the constraints are dependent */
int car_axis_accelerations(const CarAxis *a, sunrealtype t, N_Vector y, sunrealtype acc[4],
                           sunrealtype lambda[2]);

#endif
