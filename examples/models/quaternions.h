/* Free rigid bodies without forces, their orientations as unit quaternions.
 *
 *   q' = q (0, omega) / 2            kinematics, product of quaternions, omega in the body's axes
 *   J omega' = (J omega) x omega     Euler's equations, J = diag(J_1, J_2, J_3), the same for all bodies
 *
 *   0 = (|q|^2 - 1) / 2              for each body     [1]
 *
 *   y = (q of body 1, ..., q of body n, omega of body 1, ..., omega of body n)   state  [1, rad/s]
 *   q = (q_0; q_1, q_2, q_3), scalar first: the rotation from the body's axes to those of space
 *
 * With J_1 = J_2 = J_3 each omega is constant: quaternions_exact. In any case the energies and the
 * angular momenta in space are conserved.
 *
 * Source: H. Goldstein, C. Poole, J. Safko, Classical Mechanics, 2002, 4.5 and 5.5; no published
 * numbers belong to it.
 */
#ifndef CPODES_EXAMPLES_QUATERNIONS_H
#define CPODES_EXAMPLES_QUATERNIONS_H

#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nvector.h>

/* r = p (s; v), the product of quaternions; r is not p */
void quaternion_times(const sunrealtype p[4], sunrealtype s, const sunrealtype v[3],
                      sunrealtype r[4]);

/* r: p followed by a rotation by the angle [rad] about a unit vector, which is given in the axes after p; r must not
   be p */
void quaternion_turned(const sunrealtype p[4], const sunrealtype axis[3], sunrealtype angle,
                       sunrealtype r[4]);

typedef struct {
  sunindextype n;   /* number of bodies; y has 7 n components, c has n */
  sunrealtype J[3]; /* principal moments of inertia [kg m^2], > 0 */
} Quaternions;      /* the user_data of the functions below */

int quaternions_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int quaternions_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);

/* G [n x 7 n]: dense, or sparse with the index arrays of quaternions_pattern, which stay */
int quaternions_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);
/* Its template, of type CSC_MAT or CSR_MAT, which the caller frees; NULL if out of memory */
SUNMatrix quaternions_pattern(sunindextype n, int type, SUNContext ctx);

/* y [7 n]: out; body i, from 0, is turned by 0.7 i about the axis (1, 2, 2) / 3, and has omega =
   (cos i, sin i, 1/2 + 1 / (i + 1)) */
void quaternions_initial(const Quaternions *bodies, N_Vector y);

/* The motion from y0 at time 0, for J_1 = J_2 = J_3: q = q_0 (cos |omega| t/2; sin |omega| t/2
   omega / |omega|). y0, y [7 n]: in, and out */
void quaternions_exact(const Quaternions *bodies, sunrealtype t, N_Vector y0, N_Vector y);

/* Kinetic energy of all bodies [J] */
sunrealtype quaternions_energy(const Quaternions *bodies, N_Vector y);

/* Angular momentum of a body (from 0) in the axes of space [kg m^2/s]; L [3]: out. It is multiplied by |q|^2 if q
   is not a unit quaternion */
void quaternions_momentum(const Quaternions *bodies, N_Vector y, sunindextype body,
                          sunrealtype L[3]);

#endif
