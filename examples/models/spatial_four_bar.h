/* A four-bar linkage in space: three uniform thin rods and the ground, joined by four revolute
 * joints whose axes are parallel.
 *
 *        B_0 ----coupler---- B_1        crank from the ground at the origin to B_0
 *         |                   |         rocker from the ground at (base, 0, 0) to B_1
 *       crank               rocker      axes of the joints along z; gravity along -y
 *         |                   |         rods along the x axes of their bodies, 1 kg per metre
 *       (0,0)             (base,0)
 *
 * Joints: 0 ground and crank, 1 crank and coupler, 2 coupler and rocker, 3 ground and rocker, with 5
 * rows each (rigid_body.h). With 18 velocities and 20 rows of rank 17 there is one degree of freedom.
 * Three rows are redundant, since three of the joints already keep the loop in its plane. With all
 * lengths 1 it moves like the planar linkage of four_bar.h with N = 1.
 *
 * Source: rigid_body.h; F. Gonzalez, J. Kovecses, Multibody System Dynamics 29 (2013), on redundant
 * constraints.
 */
#ifndef CPODES_EXAMPLES_SPATIAL_FOUR_BAR_H
#define CPODES_EXAMPLES_SPATIAL_FOUR_BAR_H

#include "rigid_body.h"

enum { CRANK, COUPLER, ROCKER, SPATIAL_FOUR_BAR_N = 39, SPATIAL_FOUR_BAR_ROWS = 20 };

typedef struct {
  sunrealtype length[3], base; /* of crank, coupler and rocker; between the grounds [m] */
  RigidBody body[3];
  Joint joint[4];
  CPQuaternion quaternion[3];
  RigidBodies bodies; /* of these: user_data of the model; the struct must not be moved */
} SpatialFourBar;

/* four_bar: out. g: gravity [m/s^2] */
void spatial_four_bar_create(SpatialFourBar *four_bar, const sunrealtype length[3],
                             sunrealtype base, sunrealtype g, CPFrame frame);

/* y [39]: out, rods in the plane z = 0 at the given angles from x and turning with the given rates; crank and
   coupler end to end from the origin, and the rocker on its ground. The caller must check whether the loop is
   closed. */
void spatial_four_bar_place(const SpatialFourBar *four_bar, const sunrealtype angle[3],
                            const sunrealtype rate[3], N_Vector y);

/* The angles of coupler and rocker that close the loop for the given angle of the crank, with B_1 on the left of
   the line from B_0 to the rocker's ground. angle [3]: angle[CRANK] in, the others out. Returns 1 if there are
   none. */
int spatial_four_bar_close(const SpatialFourBar *four_bar, sunrealtype angle[3]);

#endif
