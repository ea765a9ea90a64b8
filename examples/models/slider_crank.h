/* Rigid slider-crank with a spring-damper, three coordinates and two loop closures. No gravity.
 *
 * Crank of length a, pivoted at the origin, angle q from +x. Rod of length 2, angle p; its
 * midpoint is the slider joint at (x, 0), its upper end is the crank pin, a horizontal force F
 * acts on its lower end. A spring-damper of length l joins the middle of the crank and the middle
 * of the rod's upper half.
 *
 *   M (q, x, p)'' + G^T lambda = Q,   M = diag(J1, m2, J2)
 *
 *   0 = x - cos p - a cos q,  0 = -sin p - a sin q       positions       [m]
 *   and their rates                                      velocities      [m/s]
 *
 *   l^2 = x^2 - x (cos p + a cos q) + (1 + a^2) / 4 + a cos(p - q) / 2
 *   phi = (k (l - l0) + c l') / l
 *   Q   = ( -phi a (sin(p - q)/2 + x sin q) / 2,
 *            phi (cos p/2 - x + a cos q/2) + F,
 *           -phi (x sin p - a sin(p - q)/2) / 2 - F sin p )
 *
 *   y = (q, x, p, q', x', p')   state  [rad, m, rad, rad/s, m/s, rad/s]
 *
 * Source: E. J. Haug, Intermediate Dynamics, Prentice Hall 1992, example 6.1.8; SUNDIALS, example
 * idaSlCrank_dns.
 */
#ifndef CPODES_EXAMPLES_SLIDER_CRANK_H
#define CPODES_EXAMPLES_SLIDER_CRANK_H

#include <cpodes/cpodes_mechanics.h>

enum { SLIDER_CRANK_N = 6, SLIDER_CRANK_M = 4 }; /* length of y and c */

typedef struct {
  sunrealtype a;      /* crank length [m] */
  sunrealtype J1;     /* moment of inertia of the crank about its pivot [kg m^2] */
  sunrealtype m2, J2; /* mass [kg] and moment of inertia [kg m^2] of the rod */
  sunrealtype k, c;   /* spring [N/m] and damper [N s/m] */
  sunrealtype l0;     /* free length of the spring [m] */
  sunrealtype F;      /* force on the rod's lower end, along +x [N] */
} SliderCrank;        /* the user_data of the functions below */

SliderCrank slider_crank_haug(void); /* a = 0.5, J1 = m2 = k = c = l0 = F = 1, J2 = 2 */

int slider_crank_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int slider_crank_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int slider_crank_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* The same as functions for a CPMech, with the same user_data */
CPEquations slider_crank_model(void);

/* y [6]: out, at rest with the crank upright */
void slider_crank_initial(const SliderCrank *s, N_Vector y);

/* Kinetic energy, energy of the spring and potential -F (x + cos p) of the force [J]; falls at the
   rate of slider_crank_dissipation */
sunrealtype slider_crank_energy(const SliderCrank *s, N_Vector y);

/* Power c l'^2 lost in the damper [W] */
sunrealtype slider_crank_dissipation(const SliderCrank *s, N_Vector y);

/* Accelerations (q'', x'', p'') and multipliers (lambda1, lambda2) at y. Returns 1 where the
   constraints are dependent */
int slider_crank_accelerations(const SliderCrank *s, N_Vector y, sunrealtype acc[3],
                               sunrealtype lambda[2]);

#endif
