/* Stick that falls on a floor, turning, and strikes it with both of its ends. Without friction and with e = 1 its energy is
 * conserved; with friction it never grows. Equations: floor_body.h, with J = m l^2 / 12 and the points (-+l/2, 0). */
#include "floor_body.h"
#include "types.h"

#include <stdlib.h>

enum { MASS, LENGTH, GRAVITY, TILT, FRICTION, RESTITUTION };

static const CPModelParameter parameters[] = {
    [MASS]        = {"m", "kg", "mass", 1, 1e-3, 1e3},
    [LENGTH]      = {"l", "m", "length", 1, 1e-3, 1e3},
    [GRAVITY]     = {"g", "m/s^2", "gravity", 10, 1e-3, 1e3},
    [TILT]        = {"theta0", "rad", "angle at the start", 0.78539816339744831, -1.5, 1.5},
    [FRICTION]    = {"mu", "1", "friction on the floor", 0.01, 0, 10},
    [RESTITUTION] = {"e", "1", "restitution of both ends", 1, 0, 1},
};

static const CPModelCoordinate coordinates[] = {
    {"x", "m", "centre, along the floor"},
    {"y", "m", "centre, above the floor"},
    {"theta", "rad", "angle to the floor"},
};

static const CPModelCoordinate multipliers[] = {
    {"N left", "N", "force of the floor on the left end"},
    {"N right", "N", "force of the floor on the right end"},
    {"F left", "N", "friction at the left end"},
    {"F right", "N", "friction at the right end"},
};

typedef struct {
  FloorBody stick; /* first: the user_data of its functions */
  CPContactPoint end[2];
} Data;

static sunrealtype energy(const CPModel *model, sunrealtype t, N_Vector y) {
  (void)t;
  return floor_body_energy(model->data, y);
}

static sunrealtype fall(const CPModel *model) {
  const FloorBody *stick = model->data;
  return stick->m * stick->g * N_VGetArrayPointer(model->y0)[1];
}

static int conserves(const CPModel *model, int i) {
  (void)i;
  return model->parameter[FRICTION] == 0 && model->parameter[RESTITUTION] == 1;
}

static const CPModelQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 0, .scale = 10, .scale_of = fall},
};

static void frames(const CPModel *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  (void)t;
  floor_body_frames(model->data, y, frame);
}

static void points(const CPModel *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  const FloorBody *stick = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), l = model->parameter[LENGTH];
  sunrealtype x[5][2] = {{-l, 0}, {l, 0}, {0}, {0}, {q[0], q[1]}};
  (void)t;
  for (int k = 0; k < 2; k++) {
    floor_body_arm(stick, k, q[2], &x[2 + k][0], &x[2 + k][1]);
    x[2 + k][0] += q[0], x[2 + k][1] += q[1];
  }
  CPModelPlanar(5, (const sunrealtype(*)[2])x, xyz);
}

static int create(CPModel *model) {
  static const CPModelPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_PLAIN,
                                          CP_POINT_PLAIN, CP_POINT_MASS};
  static const int segment[][2]        = {{0, 1}, {2, 4}, {4, 3}};
  static const char *const names[]     = {"left end", "right end"};
  const sunrealtype *p = model->parameter, l = p[LENGTH];
  Data *d     = calloc(1, sizeof *d);
  model->data = d;
  if (!d || CPModelStart(model, 6) || CPModelDraw(model, 5, kind, 3, segment)) return -1;
  d->stick = (FloorBody){
      .m = p[MASS], .J = p[MASS] * l * l / 12, .g = p[GRAVITY], .npoints = 2, .a = {-l / 2, l / 2}};
  for (int i = 0; i < 2; i++)
    d->end[i] = (CPContactPoint){.name        = names[i],
                                 .normal      = i,
                                 .tangent     = 2 + i,
                                 .ntangents   = 1,
                                 .mu          = p[FRICTION],
                                 .restitution = p[RESTITUTION]};
  const sunrealtype start[] = {0, l, p[TILT], -0.5, 0.1, 0.1};
  for (int i = 0; i < 6; i++) N_VGetArrayPointer(model->y0)[i] = start[i];
  model->mech      = floor_body_model(&d->stick);
  model->contact   = d->end;
  model->ncontacts = 2;
  return 0;
}

const CPModelType impacting_stick_type = {
    .name           = "impacting_stick",
    .title          = "Stick that strikes the floor with both ends",
    .source         = "V. Acary et al., siconos-tutorials, examples/mechanics/ImpactingStick",
    .t_end          = 2,
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
    .points         = points,
    .contact_frames = frames,
};
