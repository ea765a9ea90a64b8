#include "floor_body.h"

#include "contact_frame.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

void floor_body_arm(const FloorBody *body, int k, sunrealtype theta, sunrealtype *X, sunrealtype *Y) {
  *X = body->a[k] * cos(theta) - body->b[k] * sin(theta);
  *Y = body->a[k] * sin(theta) + body->b[k] * cos(theta);
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  const FloorBody *body = user_data;
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = body->m;
  SM_ELEMENT_D(M, 2, 2)                         = body->J;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  const FloorBody *body = user_data;
  (void)t, (void)q, (void)u, (void)z;
  f[0] = f[2] = 0;
  f[1]        = -body->m * body->g;
  return 0;
}

static int gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const FloorBody *body = user_data;
  (void)t;
  for (int k = 0; k < body->npoints; k++) {
    sunrealtype X, Y;
    floor_body_arm(body, k, q[2], &X, &Y);
    p[k] = q[1] + Y;
  }
  return 0;
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const FloorBody *body = user_data;
  (void)t;
  for (int k = 0; k < body->npoints; k++) {
    const int normal = k, tangential = body->npoints + k;
    sunrealtype X, Y;
    floor_body_arm(body, k, q[2], &X, &Y);
    SM_ELEMENT_D(A, normal, 1) = 1, SM_ELEMENT_D(A, normal, 2) = X;
    SM_ELEMENT_D(A, tangential, 0) = 1, SM_ELEMENT_D(A, tangential, 2) = -Y;
  }
  return 0;
}

static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                       void *user_data) {
  const FloorBody *body = user_data;
  (void)t;
  for (int k = 0; k < body->npoints; k++) {
    sunrealtype X, Y;
    floor_body_arm(body, k, q[2], &X, &Y);
    b[k]                 = Y * u[2] * u[2];
    b[body->npoints + k] = X * u[2] * u[2];
  }
  return 0;
}

CPEquations floor_body_model(const FloorBody *body) {
  return (CPEquations){
      CP_SIZED(CPEquations), .nu = 3,   .np = body->npoints, .nv = 2 * body->npoints, .M = mass,
      .f = weight,           .p = gaps, .A = rows,           .b = centripetal};
}

sunrealtype floor_body_energy(const FloorBody *body, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + 3;
  return body->m * ((u[0] * u[0] + u[1] * u[1]) / 2 + body->g * q[1]) + body->J * u[2] * u[2] / 2;
}

sunrealtype floor_body_model_energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return floor_body_energy(model->data, y);
}

void floor_body_frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  const FloorBody *body = model->data;
  const sunrealtype *q  = N_VGetArrayPointer(y);
  (void)t;
  for (int k = 0; k < body->npoints; k++, frame += 12) {
    sunrealtype X, Y;
    floor_body_arm(body, k, q[2], &X, &Y);
    planar_contact_frame(q[0] + X, q[1] + Y, 1, 0, frame);
  }
}
