#include "bouncing_ball.h"

#include <float.h>
#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  const BouncingBall *ball = user_data;
  SM_ELEMENT_D(M, 0, 0)    = ball->m;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const BouncingBall *ball = user_data;
  f[0]                     = -ball->m * ball->g;
  return 0;
}

static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[0];
  return 0;
}

static int normal(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = 1;
  return 0;
}

static int no_turning(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  b[0] = 0;
  return 0;
}

CPEquations bouncing_ball_model(void) {
  return (CPEquations){CP_SIZED(CPEquations), .nu = 1,  .np = 1,     .M = mass,
                       .f = weight,           .p = gap, .A = normal, .b = no_turning};
}

sunrealtype bouncing_ball_energy(const BouncingBall *ball, N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  return ball->m * (s[1] * s[1] / 2 + ball->g * s[0]);
}

void bouncing_ball_exact(const BouncingBall *ball, sunrealtype t, sunrealtype *y) {
  const sunrealtype g = ball->g, t1 = sqrt(2 * ball->h / g);
  sunrealtype impact = t1, speed = ball->e * g * t1; /* the newest one, after it */
  if (t < t1) {
    y[0] = ball->h - g * t * t / 2;
    y[1] = -g * t;
    return;
  }
  /* A flight shorter than the roundoff of t counts as rest. */
  while (t >= impact + 2 * speed / g && 2 * speed / g > DBL_EPSILON * t) {
    impact += 2 * speed / g;
    speed *= ball->e;
  }
  const sunrealtype s = t - impact;
  const int flies     = s < 2 * speed / g;
  y[0]                = flies ? s * (speed - g * s / 2) : 0;
  y[1]                = flies ? speed - g * s : 0;
}
