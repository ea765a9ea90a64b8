#include "contact_frame.h"
#include "plugin.h"
#include "rolling_ball.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { MASS, RADIUS, GRAVITY, FRICTION, SPEED };

static const CPPluginParameter parameters[] = {
    [MASS]     = {"m", "kg", "mass", 1, 1e-3, 1e3},
    [RADIUS]   = {"r", "m", "radius", 0.1, 1e-3, 1e2},
    [GRAVITY]  = {"g", "m/s^2", "gravity", 9.81, 1e-3, 1e3},
    [FRICTION] = {"mu", "1", "friction on the floor", 0.2, 0, 10},
    [SPEED]    = {"v", "m/s", "speed at the start, without spin", 3, 1e-3, 1e3},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "centre, along the floor"},
    {"y", "m", "centre, above the floor"},
    {"phi", "rad", "angle of the spin, clockwise"},
};

static const CPPluginCoordinate multipliers[] = {
    {"N", "N", "force of the floor"},
    {"F", "N", "friction, along the floor"},
};

typedef struct {
  RollingBall ball; /* first: the user_data of its functions */
  CPContactPoint floor;
} Data;

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return rolling_ball_energy(model->data, y);
}

static sunrealtype kinetic(const CPPlugin *model) {
  const sunrealtype *p = model->parameter;
  return p[MASS] * p[SPEED] * p[SPEED] / 2;
}

static int conserves(const CPPlugin *model, int i) {
  (void)i;
  return model->parameter[FRICTION] == 0;
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 0, .scale = 4.5, .scale_of = kinetic},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  const sunrealtype *p = model->parameter;
  rolling_ball_exact(model->data, p[FRICTION], p[SPEED], t, N_VGetArrayPointer(y));
  return 0;
}

static void frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  const RollingBall *ball = model->data;
  const sunrealtype *q    = N_VGetArrayPointer(y);
  (void)t;
  planar_contact_frame(q[0], q[1] - ball->r, 1, 0, frame);
}

/* A radius shows the spin. The floor is as long as the path. */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  const RollingBall *ball = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), r = ball->r, c = cos(q[2]), s = sin(q[2]);
  const sunrealtype way     = model->parameter[SPEED] * model->type->t_end;
  const sunrealtype at[2]   = {q[0], q[1]};
  const sunrealtype x[7][2] = {{-2 * r, 0},
                               {way, 0},
                               {at[0], at[1]},
                               {at[0] + c * r, at[1] - s * r},
                               {at[0] + s * r, at[1] + c * r},
                               {at[0], at[1]},
                               {at[0] + s * r, at[1] + c * r}};
  (void)t;
  plugin_planar(7, x, xyz);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_MASS,
                                           CP_POINT_PLAIN,  CP_POINT_PLAIN,  CP_POINT_PLAIN,
                                           CP_POINT_PLAIN};
  static const int segment[][2]         = {{0, 1}, {2, 6}};
  const sunrealtype *p                  = model->parameter;
  Data *d                               = calloc(1, sizeof *d);
  model->data                           = d;
  if (!d || plugin_start(model, 6) ||
      CPPluginDraw(model, 7, kind, 2, segment, 1, &(CPPluginShape){CP_SHAPE_SPHERE, {2, 3, 4, 5}}))
    return -1;
  d->ball  = (RollingBall){p[MASS], p[RADIUS], p[GRAVITY]};
  d->floor = (CPContactPoint){CP_SIZED(CPContactPoint), .name = "floor", .tangent = 1,
                              .ntangents = 1, .law.mu = p[FRICTION]};
  N_VGetArrayPointer(model->y0)[1] = p[RADIUS];
  N_VGetArrayPointer(model->y0)[3] = p[SPEED];
  model->mech                      = rolling_ball_model();
  model->contact                   = &d->floor;
  model->ncontacts                 = 1;
  model->known                     = 1;
  /* roundoff; phi is the largest coordinate */
  model->reference_error = 1e-15 * (1 + p[SPEED] * model->type->t_end * fmax(1, 1 / p[RADIUS]));
  return 0;
}

const CPPluginType rolling_ball_type = {
    .name           = "rolling_ball",
    .title          = "Ball that slips first and then rolls",
    .source         = "closed form: Coulomb's law, constant accelerations until 2 v / (7 mu g)",
    .t_end          = 1,
    .method         = "dop853",
    .parameters     = parameters,
    .nparameters    = sizeof parameters / sizeof parameters[0],
    .quantities     = quantities,
    .nquantities    = sizeof quantities / sizeof quantities[0],
    .conserves      = conserves,
    .coordinates    = coordinates,
    .ncoordinates   = sizeof coordinates / sizeof coordinates[0],
    .multipliers    = multipliers,
    .nmultipliers   = sizeof multipliers / sizeof multipliers[0],
    .create         = create,
    .reference      = reference,
    .points         = points,
    .contact_frames = frames,
};
