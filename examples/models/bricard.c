#include "bricard.h"

#include <math.h>

/* Extrapolation: about 25 steps per second with the gravity of the earth; more steps only add roundoff */
static int steps_to(const SpatialLoop *loop, sunrealtype t) {
  return (int)ceil(8 * t * sqrt(-loop->shape.g[1]));
}

/* The angles of Theta and Phi joints differ only in their function of s */
static void joint_angles(const void *data, int j, sunrealtype s, sunrealtype alpha[3]) {
  (void)data;
  const sunrealtype root = sqrt(SUN_RCONST(3.0)), sine = sin(s), cosine = cos(s);
  const sunrealtype D = 1 + 3 * sine * sine, quarter = acos(SUN_RCONST(0.0));
  if (j % 2 == 0) {
    alpha[0] = quarter - 2 * atan(root * sine);
    alpha[1] = -2 * root * cosine / D;
    alpha[2] = 2 * root * sine * (D + 6 * cosine * cosine) / (D * D);
  } else {
    alpha[0] = quarter - 2 * atan(root * cosine / sqrt(D));
    alpha[1] = 2 * root * sine / sqrt(D);
    alpha[2] = 2 * root * cosine / (D * sqrt(D));
  }
}

void bricard_create(SpatialLoop *loop, sunrealtype g) {
  const sunrealtype along = SUN_RCONST(1.0) / 600, across = SUN_RCONST(1.01) / 12;
  static const int direction[BRICARD_RODS] = {0, 1, 2, 0, 1}; /* of the rods, home */
  LoopShape shape                          = {.n     = BRICARD_RODS,
                                              .point = {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}},
                                              .axis  = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
                                              .g     = {0, -g, 0},
                                              .angles = joint_angles};
  for (int i = 0; i < BRICARD_RODS; i++) {
    shape.m[i] = 1;
    for (int k = 0; k < 3; k++) shape.J[i][k] = k == direction[i] ? along : across;
  }
  spatial_loop_create(loop, &shape);
}

int bricard_motion(const SpatialLoop *loop, sunrealtype t, N_Vector y) {
  sunrealtype s[2] = {asin(1 / sqrt(SUN_RCONST(3.0))), 0};
  if (spatial_loop_motion(loop, t, steps_to(loop, t), y->sunctx, s)) return -1;
  spatial_loop_place(loop, s[0], s[1], y);
  return 0;
}
