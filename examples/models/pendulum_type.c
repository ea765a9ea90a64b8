#include "pendulum.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { LENGTH, GRAVITY };

static const CPPluginParameter parameters[] = {
    [LENGTH]  = {"L", "m", "length of the rod", 1, 1e-3, 1e3},
    [GRAVITY] = {"g", "m/s^2", "gravity along -y", 9.81, 1e-3, 1e3},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "to the right"},
    {"y", "m", "upwards; -L: hanging"},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return pendulum_energy(model->data, y);
}

/* Kinetic energy at the lowest point */
static sunrealtype fall(const CPPlugin *model) {
  const Pendulum *p = model->data;
  return p->L * p->g;
}

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "m^2/s^2",
     .value     = energy,
     .conserved = 1,
     .scale     = 9.81,
     .scale_of  = fall},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  pendulum_exact(model->data, t, N_VGetArrayPointer(y));
  return 0;
}

static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  const Pendulum *p = model->data;
  sunrealtype y[PENDULUM_N];
  pendulum_exact(p, t, y);
  lambda[0] = (y[2] * y[2] + y[3] * y[3] - p->g * y[1]) / p->L;
  return 0;
}

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)model, (void)t;
  const sunrealtype *q = N_VGetArrayPointer(y), x[2][2] = {[1] = {q[0], q[1]}};
  plugin_planar(2, x, xyz);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_MASS};
  static const int rod[][2]             = {{0, 1}};
  Pendulum *p                           = malloc(sizeof *p);
  model->data                           = p;
  if (!p || plugin_start(model, PENDULUM_N) || CPPluginDraw(model, 2, kind, 1, rod, 0, NULL))
    return -1;
  *p = (Pendulum){.L = model->parameter[LENGTH], .g = model->parameter[GRAVITY]};
  pendulum_initial(p, model->y0);
  model->mech  = pendulum_model();
  model->f     = pendulum_rhs;
  model->m     = PENDULUM_M;
  model->c     = pendulum_constraints;
  model->G     = pendulum_jacobian;
  model->known = 1;
  /* some 10 eps per radian of the phase (pendulum.h) */
  model->reference_error = 2e-15 * p->L * (1 + sqrt(p->g / p->L) * model->type->t_end);
  return 0;
}

const CPPluginType pendulum_type = {
    .name             = "pendulum",
    .title            = "Pendulum in Cartesian coordinates",
    .source           = "IFToMM library of computational benchmark problems, A01; closed form",
    .t_end            = 20,
    .parameters       = parameters,
    .nparameters      = sizeof parameters / sizeof parameters[0],
    .quantities       = quantities,
    .nquantities      = sizeof quantities / sizeof quantities[0],
    .coordinates      = coordinates,
    .ncoordinates     = sizeof coordinates / sizeof coordinates[0],
    .create           = create,
    .reference        = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
};
