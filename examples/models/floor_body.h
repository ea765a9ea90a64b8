/* Rigid body in the plane above a floor, which some of its points may touch.
 *
 *   m x'' = sum_k F_k,   m y'' = -m g + sum_k N_k,   J theta'' = sum_k (X_k N_k - Y_k F_k)
 *   0 <= y + Y_k  perpendicular to  N_k >= 0       gap of point k, and the force of the floor
 *   v_k = x' - Y_k theta'                           its sliding velocity; Coulomb's law for F_k
 *
 *   (x, y, theta; x', y', theta')   state [m, m, rad; m/s, m/s, rad/s]: centre of mass, angle
 *   X = a cos(theta) - b sin(theta), Y = a sin(theta) + b cos(theta): point (a, b) of the body's axes, from its centre of mass
 */
#ifndef CPODES_EXAMPLES_FLOOR_BODY_H
#define CPODES_EXAMPLES_FLOOR_BODY_H

#include <cpodes/cpodes_plugin.h>

enum { FLOOR_BODY_POINTS = 4 };

typedef struct {
  sunrealtype m, J, g; /* mass [kg], inertia about the centre of mass [kg m^2], gravity [m/s^2] */
  int npoints;         /* up to FLOOR_BODY_POINTS */
  sunrealtype a[FLOOR_BODY_POINTS], b[FLOOR_BODY_POINTS]; /* [m] */
} FloorBody;                                              /* the user_data of the functions below */

/* Row k of p is the gap of point k, row npoints + k of v its sliding velocity. */
CPEquations floor_body_model(const FloorBody *body);
/* Point k from the centre of mass, in space: X, Y, out */
void floor_body_arm(const FloorBody *body, int k, sunrealtype theta, sunrealtype *X, sunrealtype *Y);
sunrealtype floor_body_energy(const FloorBody *body, N_Vector y);

/* For CPPluginQuantity.value and CPPluginType.contact_frames of models whose data begins with a FloorBody. The normal of the
 * floor points upwards. frame [12 npoints]: out */
sunrealtype floor_body_model_energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y);
void floor_body_frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame);

#endif
