/* The bodies above the floor, as a mechanical system with rows for its contacts: gaps, then tangential velocities. */
#include "contact_scene.h"

#include "mechanism_impl.h"

#include <math.h>

#define GRAVITY 9.81

static const Scene *the;

void scene_use(const Scene *scene) { the = scene; }

/* From the centre of mass to corner k */
static void arm(const Scene *s, int k, sunrealtype theta, sunrealtype *x, sunrealtype *y) {
  const sunrealtype a = k == 0 ? -s->a : s->a;
  *x                  = a * cos(theta) + s->b * sin(theta);
  *y                  = a * sin(theta) - s->b * cos(theta);
}

void scene_gaps(const Scene *s, const sunrealtype *q, sunrealtype *gap) {
  for (int k = 0; k < s->ncontacts; k++) {
    sunrealtype x, y = 0.0;
    if (!s->in_space) arm(s, k, q[2], &x, &y);
    gap[k] = q[1] + y;
  }
}

sunrealtype scene_energy(const Scene *s, const sunrealtype *y) {
  const sunrealtype *u = y + SCENE_U;
  return 0.5 * (u[0] * u[0] + u[1] * u[1] + (s->in_space ? 1.0 : s->J) * u[2] * u[2]) +
         GRAVITY * y[1];
}

/* ---- matrices ---- */

static int has_M(const void *data, int i, int j) {
  (void)data;
  return i == j;
}

static sunrealtype entry_M(const void *data, int i, int j) {
  (void)data;
  return i != j ? 0.0 : i == 2 && !the->in_space ? the->J : 1.0;
}

static int has_A(const void *data, int i, int j) {
  const Scene *s = data;
  if (s->in_space) return i == 0 ? j == 1 : i == 1 ? j == 0 : j == 2;
  return j == 2 || j == (i < s->ncontacts ? 1 : 0);
}

static sunrealtype entry_A(const void *data, int i, int j) {
  const sunrealtype *q = data;
  sunrealtype x = 0.0, y = 0.0;
  if (!has_A(the, i, j)) return 0.0;
  if (the->in_space || j != 2) return 1.0;
  arm(the, i % the->ncontacts, q[2], &x, &y);
  return i < the->ncontacts ? x : -y;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  sunrealtype *values;
  (void)t, (void)q, (void)user_data;
  const long n = matrix_fill(M, entry_M, NULL, &values);
  return disturb(ON_MASS, values, n);
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  sunrealtype *values;
  (void)t, (void)user_data;
  const long n = matrix_fill(A, entry_A, q, &values);
  return disturb(ON_ROWS, values, n);
}

/* ---- vectors ---- */

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[1] = -GRAVITY;
  return disturb(ON_FORCE, f, SCENE_U);
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  scene_gaps(the, q, p);
  return disturb(ON_POSITION, p, the->ncontacts);
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *user_data) {
  (void)t, (void)user_data;
  for (int i = 0; i < the->nrows; i++) {
    v[i] = 0.0;
    for (int j = 0; j < SCENE_U; j++) v[i] += entry_A(q, i, j) * u[j];
  }
  return disturb(ON_VELOCITY, v, the->nrows);
}

static int accelerations_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           sunrealtype *b, void *user_data) {
  (void)t, (void)user_data;
  for (int k = 0; k < the->ncontacts && !the->in_space; k++) {
    sunrealtype x, y;
    arm(the, k, q[2], &x, &y);
    b[k] = y * u[2] * u[2];
    if (the->nrows > the->ncontacts) b[the->ncontacts + k] = x * u[2] * u[2];
  }
  return disturb(ON_B, b, the->nrows);
}

int scene_model(const Scene *s, int own_velocity, SUNContext ctx, CPEquations *model) {
  *model =
      (CPEquations){CP_SIZED(CPEquations), .nu = SCENE_U,  .np = s->ncontacts,
                    .nv = s->nrows,        .M = mass,      .A = rows,
                    .f = weight,           .p = positions, .v = own_velocity ? velocities : NULL,
                    .b = accelerations_b};
  if (s->form == DENSE) return 1;
  model->M_tmpl = matrix_of(s->form, SCENE_U, SCENE_U, has_M, NULL, ctx);
  model->A_tmpl = matrix_of(s->form, s->nrows, SCENE_U, has_A, s, ctx);
  return model->M_tmpl && model->A_tmpl;
}

int scene_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = N_VGetArrayPointer(y)[SCENE_U];
  return disturb(ON_ROOT, g, 1);
}
