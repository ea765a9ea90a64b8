#include "plugin.h"
#include "types.h"
#include "woodpecker.h"

#include <stdlib.h>

enum { GRAVITY, STIFFNESS, FRICTION, RESTITUTION };

static const CPPluginParameter parameters[] = {
    [GRAVITY]   = {"g", "m/s^2", "gravity", 9.81, 1e-3, 1e2},
    [STIFFNESS] = {"c", "N m/rad", "stiffness of the spring between sleeve and bird", 5.6e-3, 1e-4,
                   1},
    [FRICTION]  = {"mu", "1", "friction on the pole", 0.3, 0, 2},
    [RESTITUTION] = {"e", "1", "restitution of the beak", 0.5, 0, 1},
};

static const CPPluginCoordinate coordinates[] = {
    {"y", "m", "height of the sleeve"},
    {"phi_M", "rad", "tilt of the sleeve"},
    {"phi_S", "rad", "tilt of the bird"},
};

static const CPPluginCoordinate multipliers[] = {
    {"N beak", "N", "force on the beak, from the pole"},
    {"N lower", "N", "force on the sleeve's lower edge"},
    {"N upper", "N", "force on the sleeve's upper edge"},
    {"F beak", "N", "friction of the beak, upwards"},
    {"F lower", "N", "friction of the lower edge, upwards"},
    {"F upper", "N", "friction of the upper edge, upwards"},
};

typedef struct {
  Woodpecker bird; /* first: the user_data of its functions */
  CPContactPoint contact[WOODPECKER_CONTACTS];
} Data;

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return woodpecker_energy(model->data, y);
}

static const CPPluginQuantity quantities[] = {
    /* twice the energy that a cycle dissipates */
    {.name = "energy", .unit = "J", .value = energy, .conserved = 0, .scale = 5e-4},
};

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)model, (void)t;
  sunrealtype x[WOODPECKER_POINTS][2];
  woodpecker_points(y, x);
  plugin_planar(WOODPECKER_POINTS, (const sunrealtype(*)[2])x, xyz);
}

/* All of them touch the pole's right side: the beak, and the right corners of the sleeve's box. */
static void frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  (void)model, (void)t;
  sunrealtype x[WOODPECKER_POINTS][2];
  woodpecker_points(y, x);
  for (int i = 0; i < 12 * WOODPECKER_CONTACTS; i++) frame[i] = 0;
  for (int k = 0; k < 2; k++) {
    const sunrealtype right = x[5][k], up = x[6][k] - x[4][k];
    frame[k]      = x[10][k];
    frame[12 + k] = right - up;
    frame[24 + k] = right + up;
  }
  for (int i = 0; i < WOODPECKER_CONTACTS; i++) frame[12 * i + 3] = frame[12 * i + 7] = 1;
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_GROUND,
                                           CP_POINT_GROUND, CP_POINT_PLAIN,  CP_POINT_PLAIN,
                                           CP_POINT_PLAIN,  CP_POINT_PLAIN,  CP_POINT_JOINT,
                                           CP_POINT_MASS,   CP_POINT_PLAIN,  CP_POINT_PLAIN};
  static const int segment[][2]         = {{0, 2}, {1, 3}, {4, 8}, {8, 9}, {9, 10}, {9, 11}};
  const sunrealtype *p                  = model->parameter;
  Data *d                               = malloc(sizeof *d);
  model->data                           = d;
  if (!d || plugin_start(model, 6) ||
      CPPluginDraw(model, WOODPECKER_POINTS, kind, 6, segment, 1,
                   &(CPPluginShape){CP_SHAPE_BOX, {4, 5, 6, 7}}))
    return -1;
  d->bird = (Woodpecker){p[GRAVITY], p[STIFFNESS]};
  woodpecker_contacts(p[FRICTION], p[RESTITUTION], d->contact);
  woodpecker_initial(model->y0);
  model->drawing.segment_kind[2] = CP_SEGMENT_SPRING;
  model->mech                    = woodpecker_model();
  model->contact                 = d->contact;
  model->ncontacts               = WOODPECKER_CONTACTS;
  return 0;
}

const CPPluginType woodpecker_type = {
    .name           = "woodpecker",
    .title          = "Woodpecker toy on its pole",
    .source         = "Leine, Glocker, European Journal of Mechanics A/Solids 22, 2003",
    .t_end          = 0.5,
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
