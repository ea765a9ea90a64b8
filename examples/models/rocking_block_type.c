#include "plugin.h"
#include "rocking_block.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { MASS, WIDTH, HEIGHT, GRAVITY, TILT, FRICTION };

static const CPPluginParameter parameters[] = {
    [MASS]     = {"m", "kg", "mass", 1, 1e-3, 1e3},
    [WIDTH]    = {"w", "m", "half width", 0.25, 1e-3, 1e2},
    [HEIGHT]   = {"h", "m", "half height", 0.5, 1e-3, 1e2},
    [GRAVITY]  = {"g", "m/s^2", "gravity", 9.81, 1e-3, 1e3},
    [TILT]     = {"theta0", "rad", "angle at the start, below atan(w / h)", 0.2, 1e-4, 1.5},
    [FRICTION] = {"mu", "1", "friction on the floor", 0.6, 0, 10},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "centre, along the floor"},
    {"y", "m", "centre, above the floor"},
    {"theta", "rad", "angle; on the left corner where it is positive"},
};

static const CPPluginCoordinate multipliers[] = {
    {"N left", "N", "force of the floor on the left corner"},
    {"N right", "N", "force of the floor on the right corner"},
    {"F left", "N", "friction at the left corner"},
    {"F right", "N", "friction at the right corner"},
};

typedef struct {
  RockingBlock block; /* first: the user_data of its functions */
  CPContactPoint corner[2];
} Data;

/* Energy that is lost until it stands */
static sunrealtype fall(const CPPlugin *model) {
  const RockingBlock *block = model->data;
  return block->body.m * block->body.g * (N_VGetArrayPointer(model->y0)[1] - block->h);
}

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "J",
     .value     = floor_body_model_energy,
     .conserved = 0,
     .scale     = 0.38946309808617811,
     .scale_of  = fall},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  rocking_block_exact(model->data, t, N_VGetArrayPointer(y));
  return 0;
}

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  const RockingBlock *block = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), w = block->w, h = block->h;
  const sunrealtype c = cos(q[2]), s = sin(q[2]);
  const sunrealtype x[6][2] = {{-3 * w, 0},
                               {3 * w, 0},
                               {q[0], q[1]},
                               {q[0] + c * w, q[1] + s * w},
                               {q[0] - s * h, q[1] + c * h},
                               {q[0], q[1]}};
  (void)t;
  plugin_planar(6, x, xyz);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_MASS,
                                           CP_POINT_PLAIN,  CP_POINT_PLAIN,  CP_POINT_PLAIN};
  static const int segment[][2]         = {{0, 1}};
  static const char *const names[]      = {"left corner", "right corner"};
  const sunrealtype *p                  = model->parameter;
  Data *d                               = calloc(1, sizeof *d);
  model->data                           = d;
  if (!d) return -1;
  if (p[TILT] >= atan2(p[WIDTH], p[HEIGHT]))
    return CPPluginRefuse(model, "theta0 must be less than atan(w / h) = %g, is %g: it would topple",
                          (double)atan2(p[WIDTH], p[HEIGHT]), (double)p[TILT]);
  if (plugin_start(model, 6) ||
      CPPluginDraw(model, 6, kind, 1, segment, 1, &(CPPluginShape){CP_SHAPE_BOX, {2, 3, 4, 5}}))
    return -1;
  rocking_block_init(&d->block, p[MASS], p[WIDTH], p[HEIGHT], p[GRAVITY], p[TILT]);
  rocking_block_at(&d->block, p[TILT], 0, N_VGetArrayPointer(model->y0));
  for (int i = 0; i < 2; i++)
    d->corner[i] =
        (CPContactPoint){CP_SIZED(CPContactPoint), .name = names[i], .normal = i,
                         .tangent = 2 + i,         .ntangents = 1,   .law.mu = p[FRICTION]};
  model->mech      = floor_body_model(&d->block.body);
  model->contact   = d->corner;
  model->ncontacts = 2;
  /* With more than ten events in a hundredth of the duration of the first fall time stepping takes over. */
  model->dense_events    = 10;
  model->dense_time      = rocking_block_rest(&d->block) / 100;
  model->known           = p[FRICTION] > d->block.friction;
  model->reference_error = 1e-14 * (1 + p[HEIGHT] + p[WIDTH]); /* roundoff */
  return 0;
}

const CPPluginType rocking_block_type = {
    .name           = "rocking_block",
    .title          = "Block that rocks on its corners until it stands",
    .source         = "G. W. Housner, Bulletin of the Seismological Society of America 53, 1963; "
                      "closed form, by elliptic functions",
    .t_end          = 2.5,
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
    .reference      = reference,
    .points         = points,
    .contact_frames = floor_body_frames,
};
