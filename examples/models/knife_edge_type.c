#include "knife_edge.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { GRAVITY, ALPHA, OMEGA };

static const CPPluginParameter parameters[] = {
    [GRAVITY] = {"g", "m/s^2", "gravity", 9.81, 1e-3, 1e3},
    [ALPHA]   = {"alpha", "rad", "inclination of the plane", 0.5, 1e-3, 1.5},
    [OMEGA]   = {"omega", "rad/s", "spin", 1, 1e-2, 1e2},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "down the slope"},
    {"y", "m", "along the slope"},
    {"phi", "rad", "angle of the blade from x"},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return knife_edge_energy(model->data, y);
}

/* Kinetic energy at the lowest point of the cycloid */
static sunrealtype fall(const CPPlugin *model) {
  const KnifeEdge *k = model->data;
  return pow(k->g * sin(k->alpha) / k->omega, 2) / 2;
}

static sunrealtype spin(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  (void)model, (void)t;
  return N_VGetArrayPointer(y)[5];
}

static sunrealtype given_spin(const CPPlugin *model) { return model->parameter[OMEGA]; }

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "m^2/s^2",
     .value     = energy,
     .conserved = 1,
     .scale     = 11.06,
     .scale_of  = fall},
    {.name = "spin", .unit = "rad/s", .value = spin, .conserved = 1, .scale = 1, .scale_of = given_spin},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  knife_edge_exact(model->data, t, N_VGetArrayPointer(y));
  return 0;
}

/* g sin(alpha) sin(phi) + phi' (velocity along the blade), on the closed form */
static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  const KnifeEdge *k     = model->data;
  const sunrealtype pull = k->g * sin(k->alpha);
  lambda[0]              = 2 * pull * sin(k->omega * t);
  return 0;
}

/* The blade on the plane, which descends along x, and its initial position. Its length does not enter the equations; with 1.2 m
 * it is visible next to the 46 m of the cycloid. */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const KnifeEdge *k      = model->data;
  const sunrealtype *q    = N_VGetArrayPointer(y);
  const sunrealtype at[4] = {0, 0, -0.6, 0.6};
  for (int i = 0; i < 4; i++, xyz += 3) {
    const sunrealtype x = i ? q[0] + at[i] * cos(q[2]) : 0;
    xyz[0]              = x * cos(k->alpha);
    xyz[1]              = i ? q[1] + at[i] * sin(q[2]) : 0;
    xyz[2]              = -x * sin(k->alpha);
  }
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_MASS, CP_POINT_JOINT,
                                           CP_POINT_JOINT};
  static const int segment[][2]         = {{2, 1}, {1, 3}};
  KnifeEdge *k                          = malloc(sizeof *k);
  model->data                           = k;
  if (!k || plugin_start(model, KNIFE_EDGE_N) || CPPluginDraw(model, 4, kind, 2, segment, 0, NULL))
    return -1;
  *k = (KnifeEdge){model->parameter[GRAVITY], model->parameter[ALPHA], model->parameter[OMEGA]};
  knife_edge_initial(k, model->y0);
  model->mech  = knife_edge_model();
  model->f     = knife_edge_rhs;
  model->m     = KNIFE_EDGE_M;
  model->c     = knife_edge_constraints;
  model->G     = knife_edge_jacobian;
  model->known = 1;
  /* roundoff of the angle times the length of the cycloid */
  const sunrealtype size = k->g / (k->omega * k->omega), turned = k->omega * model->type->t_end;
  model->reference_error = 1e-15 * (1 + size) * (1 + turned);
  return 0;
}

const CPPluginType knife_edge_type = {
    .name             = "knife_edge",
    .title            = "Knife edge on an inclined plane (nonholonomic)",
    .source           = "Neimark, Fufaev, Dynamics of Nonholonomic Systems, 1972; closed form",
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
    .z_is_up          = 1,
};
