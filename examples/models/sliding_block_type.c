#include "contact_frame.h"
#include "plugin.h"
#include "sliding_block.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { MASS, GRAVITY, ALPHA, FRICTION, SPEED };

static const CPPluginParameter parameters[] = {
    [MASS]     = {"m", "kg", "mass", 1, 1e-3, 1e3},
    [GRAVITY]  = {"g", "m/s^2", "gravity", 9.81, 1e-3, 1e3},
    [ALPHA]    = {"alpha", "rad", "inclination of the slope", 0.5, 1e-3, 1.5},
    [FRICTION] = {"mu", "1", "friction; from tan(alpha) on the block stays where it stops", 0.3, 0,
                  10},
    [SPEED]    = {"v", "m/s", "speed at the start, up the slope", 3, 1e-3, 1e3},
};

static const CPPluginCoordinate coordinates[] = {
    {"x", "m", "way up the slope"},
    {"y", "m", "gap above it"},
};

static const CPPluginCoordinate multipliers[] = {
    {"N", "N", "force of the slope across it"},
    {"F", "N", "friction, up the slope"},
};

typedef struct {
  SlidingBlock block; /* first: the user_data of its functions */
  CPContactPoint slope;
} Data;

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return sliding_block_energy(model->data, y);
}

static sunrealtype throw_energy(const CPPlugin *model) {
  const SlidingBlock *block = model->data;
  return block->m * block->v * block->v / 2;
}

static int conserves(const CPPlugin *model, int i) {
  (void)i;
  return model->parameter[FRICTION] == 0;
}

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "J",
     .value     = energy,
     .conserved = 0,
     .scale     = 4.5,
     .scale_of  = throw_energy},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  sliding_block_exact(model->data, t, N_VGetArrayPointer(y));
  return 0;
}

/* The slope is as long as the path of a block without friction, and the block is a tenth of it. */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const SlidingBlock *block = model->data;
  const sunrealtype c = cos(block->alpha), s = sin(block->alpha);
  const sunrealtype *q  = N_VGetArrayPointer(y);
  const sunrealtype way = block->v * block->v / (2 * block->g * s), a = way / 20, b = way / 30;
  const sunrealtype along[6]  = {-way, way, q[0], q[0] + a, q[0], q[0]},
                    across[6] = {0, 0, q[1] + b, q[1] + b, q[1] + 2 * b, q[1] + b};
  sunrealtype x[6][2];
  for (int i = 0; i < 6; i++) {
    x[i][0] = c * along[i] - s * across[i];
    x[i][1] = s * along[i] + c * across[i];
  }
  plugin_planar(6, (const sunrealtype(*)[2])x, xyz);
}

static void frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  const SlidingBlock *block = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), c = cos(block->alpha), s = sin(block->alpha);
  (void)t;
  planar_contact_frame(c * q[0] - s * q[1], s * q[0] + c * q[1], c, s, frame);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_PLAIN,
                                           CP_POINT_PLAIN,  CP_POINT_PLAIN,  CP_POINT_PLAIN};
  static const int segment[][2]         = {{0, 1}};
  const sunrealtype *p                  = model->parameter;
  Data *d                               = malloc(sizeof *d);
  model->data                           = d;
  if (!d || plugin_start(model, 4) ||
      CPPluginDraw(model, 6, kind, 1, segment, 1, &(CPPluginShape){CP_SHAPE_BOX, {2, 3, 4, 5}}))
    return -1;
  d->block = (SlidingBlock){p[MASS], p[GRAVITY], p[ALPHA], p[FRICTION], p[SPEED]};
  d->slope = (CPContactPoint){CP_SIZED(CPContactPoint), .name = "slope", .tangent = 1,
                              .ntangents = 1, .law.mu = p[FRICTION]};
  N_VGetArrayPointer(model->y0)[2] = p[SPEED];
  model->mech                      = sliding_block_model();
  model->contact                   = &d->slope;
  model->ncontacts                 = 1;
  model->known                     = 1;
  const sunrealtype way            = p[SPEED] + p[GRAVITY] * model->type->t_end;
  model->reference_error           = 1e-15 * (1 + way * model->type->t_end); /* roundoff */
  return 0;
}

const CPPluginType sliding_block_type = {
    .name           = "sliding_block",
    .title          = "Block thrown up a slope with friction",
    .source         = "closed form: Coulomb's law, constant accelerations up and back",
    .t_end          = 1.5,
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
