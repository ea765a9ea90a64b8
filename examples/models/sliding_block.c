#include "sliding_block.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  const SlidingBlock *block = user_data;
  for (int i = 0; i < 2; i++) SM_ELEMENT_D(M, i, i) = block->m;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const SlidingBlock *block = user_data;
  f[0]                      = -block->m * block->g * sin(block->alpha);
  f[1]                      = -block->m * block->g * cos(block->alpha);
  return 0;
}

static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1];
  return 0;
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *user_data) {
  (void)t, (void)q, (void)user_data;
  v[0] = u[1];
  v[1] = u[0];
  return 0;
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 1, 0) = 1;
  return 0;
}

static int straight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                    void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  b[0] = b[1] = 0;
  return 0;
}

CPEquations sliding_block_model(void) {
  return (CPEquations){CP_SIZED(CPEquations), .nu = 2,  .np = 1,         .nv = 2,   .M = mass,
                       .f = weight,           .p = gap, .v = velocities, .A = rows, .b = straight};
}

sunrealtype sliding_block_energy(const SlidingBlock *block, N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  const sunrealtype up = s[0] * sin(block->alpha) + s[1] * cos(block->alpha);
  return block->m * ((s[2] * s[2] + s[3] * s[3]) / 2 + block->g * up);
}

void sliding_block_exact(const SlidingBlock *block, sunrealtype t, sunrealtype *y) {
  const sunrealtype pull = block->g * sin(block->alpha), press = block->g * cos(block->alpha);
  const sunrealtype up = pull + block->mu * press, back = fmax(pull - block->mu * press, 0);
  const sunrealtype t1 = block->v / up, s = t - t1;
  y[0] = t < t1 ? t * (block->v - up * t / 2) : block->v * t1 / 2 - back * s * s / 2;
  y[2] = t < t1 ? block->v - up * t : -back * s;
  y[1] = y[3] = 0;
}
