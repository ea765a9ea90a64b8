/* Slider-crank whose slider has clearance in its guide (P. Flores, R. Leine, C. Glocker, Multibody System Dynamics 23, 2010).
 *
 *   q = (theta1, theta2, theta3)   angles of crank, rod, and slider, to the guide [rad]
 *   l1, l2  lengths [m],  2 a x 2 b  size of the slider [m],  c  clearance above it and below it [m]
 *   m_i, J_i  masses [kg] and inertias [kg m^2] about the centres of mass, which are in the middle of each body
 *
 * The slider's centre is at l1 (cos, sin) theta1 + l2 (cos, sin) theta2. Its corners (X, Y) = (-+a, -+b) touch the guide, of height
 * 2 (b + c), where the gaps
 *
 *   p = b + c -+ (l1 sin theta1 + l2 sin theta2 + X sin theta3 + Y cos theta3)
 *
 * are zero; v_T is the velocity of a corner along the guide. */
#ifndef CPODES_EXAMPLES_SLIDER_CRANK_CLEARANCE_H
#define CPODES_EXAMPLES_SLIDER_CRANK_CLEARANCE_H

#include <cpodes/cpodes_plugin.h>

enum { CLEARANCE_CORNERS = 4 };

typedef struct {
  sunrealtype l1, l2, a, b, c, m1, m2, m3, J1, J2, J3, g;
} ClearanceCrank; /* the user_data of the functions below */

/* Sets the constants of the source, the clearance c and the gravity g */
ClearanceCrank clearance_crank(sunrealtype c, sunrealtype g);
/* Row k of p is the gap of corner k (upper left, upper right, lower left, lower right), row 4 + k of v its v_T. */
CPEquations clearance_crank_model(void);
/* X, Y: out, corner k from the slider's centre. x: out, position of that centre */
void clearance_crank_corner(const ClearanceCrank *crank, int k, sunrealtype *X, sunrealtype *Y);
void clearance_crank_centre(const ClearanceCrank *crank, const sunrealtype *q, sunrealtype *x);
sunrealtype clearance_crank_energy(const ClearanceCrank *crank, N_Vector y);

#endif
