/* Slider-crank of slider_crank.h whose guide is a stiff, overdamped bushing: the slider joint is held on
 * the line y = 0 by a spring K and a damper C instead of a constraint.
 *
 *   M (q, x, y, p)'' + A^T lambda = Q,   M = diag(J1, m2, m2, J2)
 *
 *   0 = x - cos p - a cos q,  0 = y - sin p - a sin q       positions, the crank pin     [m]
 *
 *   Q = forces of the spring-damper between crank and rod and of F, as there,
 *       and (0, 0, -K y - C y', 0)
 *
 * The bushing acts along y, in which the pin's constraint moves the slider as well: a projection that
 * ignores stiffness pushes the slider against its bushing, which pushes back with C y'. The time
 * constants are m2 / C = 1e-5 s and C / K = 0.1 s.
 *
 *   y = (q, x, y, p, and their rates)   state
 */
#ifndef CPODES_EXAMPLES_BUSHING_CRANK_H
#define CPODES_EXAMPLES_BUSHING_CRANK_H

#include "slider_crank.h"

enum { BUSHING_CRANK_NQ = 4, BUSHING_CRANK_NP = 2 }; /* the state has 8 entries */

typedef struct {
  SliderCrank crank;
  sunrealtype K; /* stiffness of the bushing [N/m] */
  sunrealtype C; /* its damping [N s/m] */
} BushingCrank;  /* the user_data of the model */

BushingCrank bushing_crank_stiff(void); /* slider_crank_haug, K = 1e6, C = 1e5; t in [0, 20] */

/* Its functions for a CPMech */
CPEquations bushing_crank_model(void);

/* y [8]: out, at rest with the crank upright and no force in the bushing */
void bushing_crank_initial(const BushingCrank *s, N_Vector y);

/* Kinetic energy, energy of spring and bushing and potential -F (x + cos p) of the force [J]; both dampers
   dissipate it */
sunrealtype bushing_crank_energy(const BushingCrank *s, N_Vector y);

#endif
