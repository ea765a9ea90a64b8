#include "spatial_four_bar.h"

#include <math.h>

/* A revolute joint about z between points on the x axes of a and b */
static Joint hinge(int a, sunrealtype at_a, int b, sunrealtype at_b) {
  return (Joint){.kind    = JOINT_REVOLUTE,
                 .a       = a,
                 .b       = b,
                 .point_a = {at_a, 0, 0},
                 .point_b = {at_b, 0, 0},
                 .axis_a  = {0, 0, 1},
                 .axis_b  = {0, 0, 1}};
}

void spatial_four_bar_create(SpatialFourBar *four_bar, const sunrealtype length[3],
                             sunrealtype base, sunrealtype g, CPFrame frame) {
  const sunrealtype *l = length;
  *four_bar            = (SpatialFourBar){
                 .length = {l[0], l[1], l[2]},
                 .base   = base,
                 .joint  = {hinge(GROUND, 0, CRANK, -l[CRANK] / 2),
                            hinge(CRANK, l[CRANK] / 2, COUPLER, -l[COUPLER] / 2),
                            hinge(COUPLER, l[COUPLER] / 2, ROCKER, l[ROCKER] / 2),
                            hinge(GROUND, base, ROCKER, -l[ROCKER] / 2)},
                 .bodies = {.nbodies = 3, .njoints = 4, .g = {0, -g, 0}, .frame = frame},
  };
  for (int i = 0; i < 3; i++) {
    const sunrealtype across = l[i] * l[i] * l[i] / 12; /* and a hundredth of it along the rod */
    four_bar->body[i]        = (RigidBody){.m = l[i], .J = {across / 100, across, across}};
  }
  four_bar->bodies.body       = four_bar->body;
  four_bar->bodies.joint      = four_bar->joint;
  four_bar->bodies.quaternion = four_bar->quaternion;
}

void spatial_four_bar_place(const SpatialFourBar *four_bar, const sunrealtype angle[3],
                            const sunrealtype rate[3], N_Vector y) {
  sunrealtype end[3] = {0, 0, 0}, end_rate[3] = {0, 0, 0}; /* where the rod begins */
  for (int i = 0; i < 3; i++) {
    if (i == ROCKER) {
      end[0] = four_bar->base, end[1] = 0;
      end_rate[0] = end_rate[1] = 0;
    }
    const sunrealtype half = four_bar->length[i] / 2, turn[3] = {0, 0, angle[i]};
    const sunrealtype along[3] = {half * cos(angle[i]), half * sin(angle[i]), 0};
    const sunrealtype omega[3] = {0, 0, rate[i]};
    const sunrealtype swing[3] = {-rate[i] * along[1], rate[i] * along[0], 0};
    sunrealtype r[3], v[3];
    for (int k = 0; k < 3; k++) {
      r[k] = end[k] + along[k];
      v[k] = end_rate[k] + swing[k];
      end[k] += 2 * along[k];
      end_rate[k] += 2 * swing[k];
    }
    rigid_body_place(&four_bar->bodies, i, r, turn, v, omega, y);
  }
}

/* From B_0 the ground of the rocker is at distance s in direction phi, and B_1 is to the left of it
   by the angle at B_0 of the triangle with the sides coupler, rocker and s. */
int spatial_four_bar_close(const SpatialFourBar *four_bar, sunrealtype angle[3]) {
  const sunrealtype *l = four_bar->length, a = angle[CRANK];
  const sunrealtype dx = four_bar->base - l[CRANK] * cos(a), dy = -l[CRANK] * sin(a);
  const sunrealtype s = hypot(dx, dy), phi = atan2(dy, dx);
  const sunrealtype c = (l[COUPLER] * l[COUPLER] + s * s - l[ROCKER] * l[ROCKER]) / (2 * s);
  if (!(fabs(c) <= l[COUPLER])) return 1;
  angle[COUPLER] = phi + acos(c / l[COUPLER]);
  angle[ROCKER] =
      atan2(l[COUPLER] * sin(angle[COUPLER]) - dy, l[COUPLER] * cos(angle[COUPLER]) - dx);
  return 0;
}
