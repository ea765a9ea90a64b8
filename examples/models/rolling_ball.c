#include "rolling_ball.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  const RollingBall *ball = user_data;
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = ball->m;
  SM_ELEMENT_D(M, 2, 2)                         = 2 * ball->m * ball->r * ball->r / 5;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  const RollingBall *ball = user_data;
  (void)t, (void)q, (void)u, (void)z;
  f[0] = f[2] = 0;
  f[1]        = -ball->m * ball->g;
  return 0;
}

static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const RollingBall *ball = user_data;
  (void)t;
  p[0] = q[1] - ball->r;
  return 0;
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const RollingBall *ball = user_data;
  (void)t, (void)q;
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 1, 0) = 1, SM_ELEMENT_D(A, 1, 2) = -ball->r;
  return 0;
}

static int straight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                    void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  b[0] = b[1] = 0;
  return 0;
}

CPEquations rolling_ball_model(void) {
  return (CPEquations){CP_SIZED(CPEquations), .nu = 3,  .np = 1,   .nv = 2,      .M = mass,
                       .f = weight,           .p = gap, .A = rows, .b = straight};
}

sunrealtype rolling_ball_energy(const RollingBall *ball, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + 3, spin = ball->r * u[2];
  return ball->m * ((u[0] * u[0] + u[1] * u[1]) / 2 + spin * spin / 5 + ball->g * (q[1] - ball->r));
}

void rolling_ball_exact(const RollingBall *ball, sunrealtype mu, sunrealtype v, sunrealtype t,
                        sunrealtype *y) {
  const sunrealtype a = mu * ball->g, slips = a > 0 ? fmin(t, 2 * v / (7 * a)) : t;
  const sunrealtype rolls = t - slips, spin = 5 * a / (2 * ball->r);
  y[3] = v - a * slips, y[4] = 0, y[5] = spin * slips;
  y[0] = slips * (v - a * slips / 2) + y[3] * rolls;
  y[1] = ball->r;
  y[2] = spin * slips * slips / 2 + y[5] * rolls;
}
