#include "bouncing_ball.h"
#include "contact_frame.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { MASS, GRAVITY, HEIGHT, RESTITUTION };

static const CPPluginParameter parameters[] = {
    [MASS]        = {"m", "kg", "mass", 1, 1e-3, 1e3},
    [GRAVITY]     = {"g", "m/s^2", "gravity", 9.81, 1e-3, 1e3},
    [HEIGHT]      = {"h", "m", "height of the start", 1, 1e-3, 1e3},
    [RESTITUTION] = {"e", "1", "restitution", 0.9, 0, 1},
};

static const CPPluginCoordinate coordinates[] = {{"y", "m", "height, which is the gap"}};

static const CPPluginCoordinate multipliers[] = {{"N", "N", "force of the floor"}};

typedef struct {
  BouncingBall ball; /* first: the user_data of its functions */
  CPContactPoint floor;
} Data;

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return bouncing_ball_energy(model->data, y);
}

static sunrealtype fall(const CPPlugin *model) {
  const BouncingBall *ball = model->data;
  return ball->m * ball->g * ball->h;
}

/* Impacts dissipate energy unless e = 1. */
static int conserves(const CPPlugin *model, int i) {
  (void)i;
  return model->parameter[RESTITUTION] == 1;
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 0, .scale = 9.81, .scale_of = fall},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  bouncing_ball_exact(model->data, t, N_VGetArrayPointer(y));
  return 0;
}

/* The ball above the floor, which is half as wide as the initial height. The size of the ball is used only in the drawing */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const sunrealtype h = model->parameter[HEIGHT], r = h / 20, at = N_VGetArrayPointer(y)[0] + r;
  const sunrealtype x[6][2] = {{-h / 4, 0}, {h / 4, 0}, {0, at}, {r, at}, {0, at + r}, {0, at}};
  plugin_planar(6, x, xyz);
}

static void frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  (void)model, (void)t;
  planar_contact_frame(0, N_VGetArrayPointer(y)[0], 1, 0, frame);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_PLAIN,
                                           CP_POINT_PLAIN,  CP_POINT_PLAIN,  CP_POINT_PLAIN};
  static const int segment[][2]         = {{0, 1}};
  const sunrealtype *p                  = model->parameter;
  Data *d                               = malloc(sizeof *d);
  model->data                           = d;
  if (!d || plugin_start(model, 2) ||
      CPPluginDraw(model, 6, kind, 1, segment, 1, &(CPPluginShape){CP_SHAPE_SPHERE, {2, 3, 4, 5}}))
    return -1;
  d->ball                          = (BouncingBall){p[MASS], p[GRAVITY], p[HEIGHT], p[RESTITUTION]};
  d->floor                         = (CPContactPoint){CP_SIZED(CPContactPoint), .name = "floor",
                                                      .law.restitution = p[RESTITUTION]};
  N_VGetArrayPointer(model->y0)[0] = p[HEIGHT];
  model->mech                      = bouncing_ball_model();
  model->contact                   = &d->floor;
  model->ncontacts                 = 1;
  model->known                     = 1;
  model->reference_error           = 1e-13 * p[HEIGHT]; /* roundoff of the sums of flights */
  return 0;
}

const CPPluginType bouncing_ball_type = {
    .name           = "bouncing_ball",
    .title          = "Bouncing ball that comes to rest",
    .source         = "closed form: flights between impacts are parabolas, in a geometric series",
    .t_end          = 9,
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
