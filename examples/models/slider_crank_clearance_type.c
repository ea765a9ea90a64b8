#include "plugin.h"
#include "slider_crank_clearance.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { CLEARANCE, SPEED, FRICTION, RESTITUTION, GRAVITY };

static const CPPluginParameter parameters[] = {
    [CLEARANCE]   = {"c", "m", "clearance of the slider, above and below", 0.001, 1e-6, 0.1},
    [SPEED]       = {"omega", "rad/s", "speed of the crank at the start", 150, 1, 1e4},
    [FRICTION]    = {"mu", "1", "friction in the guide", 0.01, 0, 10},
    [RESTITUTION] = {"e", "1", "restitution of the corners", 0, 0, 1},
    [GRAVITY]     = {"g", "m/s^2", "gravity", 9.81, 0, 1e3},
};

static const CPPluginCoordinate coordinates[] = {
    {"theta1", "rad", "angle of the crank"},
    {"theta2", "rad", "angle of the rod"},
    {"theta3", "rad", "angle of the slider"},
};

static const CPPluginCoordinate multipliers[] = {
    {"N upper left", "N", "force of the guide on the upper left corner"},
    {"N upper right", "N", "force of the guide on the upper right corner"},
    {"N lower left", "N", "force of the guide on the lower left corner"},
    {"N lower right", "N", "force of the guide on the lower right corner"},
    {"F upper left", "N", "friction at the upper left corner"},
    {"F upper right", "N", "friction at the upper right corner"},
    {"F lower left", "N", "friction at the lower left corner"},
    {"F lower right", "N", "friction at the lower right corner"},
};

typedef struct {
  ClearanceCrank crank; /* first: the user_data of its functions */
  CPContactPoint corner[CLEARANCE_CORNERS];
} Data;

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return clearance_crank_energy(model->data, y);
}

static sunrealtype start_energy(const CPPlugin *model) {
  return clearance_crank_energy(model->data, model->y0);
}

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "J",
     .value     = energy,
     .conserved = CP_QUANTITY_FALLS,
     .scale     = 7.49555,
     .scale_of  = start_energy},
};

static void corner_at(const ClearanceCrank *crank, int k, const sunrealtype *q, sunrealtype *x) {
  sunrealtype X, Y;
  clearance_crank_centre(crank, q, x);
  clearance_crank_corner(crank, k, &X, &Y);
  x[0] += X * cos(q[2]) - Y * sin(q[2]);
  x[1] += X * sin(q[2]) + Y * cos(q[2]);
}

/* The guide presses the corners towards its middle; v_T grows along it. */
static void frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  (void)t;
  for (int k = 0; k < CLEARANCE_CORNERS; k++, frame += 12) {
    for (int i = 0; i < 12; i++) frame[i] = 0;
    corner_at(model->data, k, N_VGetArrayPointer(y), frame);
    frame[4] = k < 2 ? -1 : 1;
    frame[6] = 1;
  }
}

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  const ClearanceCrank *s = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), h = s->b + s->c, c = cos(q[2]), S = sin(q[2]);
  const sunrealtype left = s->l2 - s->l1 - 2 * s->a, right = s->l1 + s->l2 + 2 * s->a;
  sunrealtype x[2];
  clearance_crank_centre(s, q, x);
  const sunrealtype at[10][2] = {{0, 0},
                                 {s->l1 * cos(q[0]), s->l1 * sin(q[0])},
                                 {x[0], x[1]},
                                 {left, h},
                                 {right, h},
                                 {left, -h},
                                 {right, -h},
                                 {x[0] + c * s->a, x[1] + S * s->a},
                                 {x[0] - S * s->b, x[1] + c * s->b},
                                 {x[0], x[1]}};
  (void)t;
  plugin_planar(10, at, xyz);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {
      CP_POINT_GROUND, CP_POINT_PLAIN,  CP_POINT_MASS,  CP_POINT_GROUND, CP_POINT_GROUND,
      CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_PLAIN, CP_POINT_PLAIN,  CP_POINT_PLAIN};
  static const int segment[][2]    = {{0, 1}, {1, 2}, {3, 4}, {5, 6}};
  static const char *const names[] = {"upper left", "upper right", "lower left", "lower right"};
  const sunrealtype *p             = model->parameter;
  Data *d                          = calloc(1, sizeof *d);
  model->data                      = d;
  if (!d || plugin_start(model, 6) ||
      CPPluginDraw(model, 10, kind, 4, segment, 1, &(CPPluginShape){CP_SHAPE_BOX, {2, 7, 8, 9}}))
    return -1;
  d->crank = clearance_crank(p[CLEARANCE], p[GRAVITY]);
  for (int k = 0; k < CLEARANCE_CORNERS; k++)
    d->corner[k] =
        (CPContactPoint){CP_SIZED(CPContactPoint),         .name = names[k], .normal = k,
                         .tangent = CLEARANCE_CORNERS + k, .ntangents = 1,   .law.mu = p[FRICTION],
                         .law.restitution = p[RESTITUTION]};
  /* The slider moves along the guide's middle: l1 theta1' + l2 theta2' = 0. */
  sunrealtype *u0 = N_VGetArrayPointer(model->y0) + 3;
  u0[0] = p[SPEED], u0[1] = -p[SPEED] * d->crank.l1 / d->crank.l2, u0[2] = -0.01;
  model->mech      = clearance_crank_model();
  model->contact   = d->corner;
  model->ncontacts = CLEARANCE_CORNERS;
  return 0;
}

const CPPluginType slider_crank_clearance_type = {
    .name           = "slider_crank_clearance",
    .title          = "Slider-crank with clearance in its guide",
    .source         = "P. Flores, R. Leine, C. Glocker, Multibody System Dynamics 23, 2010",
    .t_end          = 0.1,
    .method         = "dop853",
    .parameters     = parameters,
    .nparameters    = sizeof parameters / sizeof parameters[0],
    .quantities     = quantities,
    .nquantities    = sizeof quantities / sizeof quantities[0],
    .coordinates    = coordinates,
    .ncoordinates   = sizeof coordinates / sizeof coordinates[0],
    .multipliers    = multipliers,
    .nmultipliers   = sizeof multipliers / sizeof multipliers[0],
    .create         = create,
    .points         = points,
    .contact_frames = frames,
};
