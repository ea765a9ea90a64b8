/* Double pendulum: two uniform rods of lengths l1, l2 and masses m1, m2, the first on a fixed hinge
 * at the origin, the second on the end of the first; gravity g along -y. Angles are measured from
 * the vertical, 0: hanging. SI units.
 *
 *   q = (x1, y1, phi1, x2, y2, phi2)     centres of mass and angles of the rods; u = q'
 *
 *   M u' + A(q)^T lambda = f,            M = diag(m1, m1, J1, m2, m2, J2),  J = m l^2 / 12
 *   0 = p(q)                             the hinges: both ends at a hinge coincide
 *
 * my_model_type, at the end of this file, is what cpodes reads; everything else serves it. For a
 * mechanism of your own, change coordinates, M, A = dp/dq, f and p. `cpodes check` finds
 * contradictions. */
#include <cpodes/cpodes_plugin.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ---- parameters: `cpodes run --param NAME=VALUE` sets them ---- */

enum { L1, L2, M1, M2, PHI1, PHI2, GRAVITY };

static const CPPluginParameter parameters[] = {
    /* name, unit, meaning, default, least, most */
    [L1]      = {"l1", "m", "length of the first rod", 1, 0.01, 100},
    [L2]      = {"l2", "m", "length of the second rod", 1, 0.01, 100},
    [M1]      = {"m1", "kg", "mass of the first rod", 1, 0.001, 1000},
    [M2]      = {"m2", "kg", "mass of the second rod", 1, 0.001, 1000},
    [PHI1]    = {"phi1", "rad", "angle of the first rod at the start", 0.5, -3.1, 3.1},
    [PHI2]    = {"phi2", "rad", "angle of the second rod at the start", 1, -3.1, 3.1},
    [GRAVITY] = {"g", "m/s^2", "gravity along -y", 9.81, 0, 1000},
};

/* The user_data of the functions below */
typedef struct {
  sunrealtype l1, l2, m1, m2, J1, J2, g;
} Rods;

/* ---- the mechanism; matrices and vectors are zero when a function gets them ---- */

enum { X1, Y1, TURN1, X2, Y2, TURN2, NQ, NP = 4 };

static int mass_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  const Rods *r              = user_data;
  const sunrealtype mass[NQ] = {r->m1, r->m1, r->J1, r->m2, r->m2, r->J2};
  (void)t, (void)q;
  for (int i = 0; i < NQ; i++) SM_ELEMENT_D(M, i, i) = mass[i];
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  const Rods *r = user_data;
  (void)t, (void)q, (void)u, (void)z;
  f[Y1] = -r->m1 * r->g;
  f[Y2] = -r->m2 * r->g;
  return 0;
}

static int hinges(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const Rods *r = user_data;
  (void)t;
  p[0] = q[X1] - r->l1 / 2 * sin(q[TURN1]);
  p[1] = q[Y1] + r->l1 / 2 * cos(q[TURN1]);
  p[2] = q[X2] - r->l1 * sin(q[TURN1]) - r->l2 / 2 * sin(q[TURN2]);
  p[3] = q[Y2] + r->l1 * cos(q[TURN1]) + r->l2 / 2 * cos(q[TURN2]);
  return 0;
}

/* A = dp/dq */
static int hinge_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const Rods *r = user_data;
  (void)t;
  SM_ELEMENT_D(A, 0, X1) = SM_ELEMENT_D(A, 1, Y1) = 1;
  SM_ELEMENT_D(A, 2, X2) = SM_ELEMENT_D(A, 3, Y2) = 1;
  SM_ELEMENT_D(A, 0, TURN1)                       = -r->l1 / 2 * cos(q[TURN1]);
  SM_ELEMENT_D(A, 1, TURN1)                       = -r->l1 / 2 * sin(q[TURN1]);
  SM_ELEMENT_D(A, 2, TURN1)                       = -r->l1 * cos(q[TURN1]);
  SM_ELEMENT_D(A, 3, TURN1)                       = -r->l1 * sin(q[TURN1]);
  SM_ELEMENT_D(A, 2, TURN2)                       = -r->l2 / 2 * cos(q[TURN2]);
  SM_ELEMENT_D(A, 3, TURN2)                       = -r->l2 / 2 * sin(q[TURN2]);
  return 0;
}

/* A u' = b: minus the terms of the second derivative of p without u'. May be left out; cpodes then
 * uses differences. */
static int hinge_accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                               sunrealtype *b, void *user_data) {
  const Rods *r        = user_data;
  const sunrealtype c1 = u[TURN1] * u[TURN1], c2 = u[TURN2] * u[TURN2];
  (void)t;
  b[0] = -r->l1 / 2 * c1 * sin(q[TURN1]);
  b[1] = r->l1 / 2 * c1 * cos(q[TURN1]);
  b[2] = -r->l1 * c1 * sin(q[TURN1]) - r->l2 / 2 * c2 * sin(q[TURN2]);
  b[3] = r->l1 * c1 * cos(q[TURN1]) + r->l2 / 2 * c2 * cos(q[TURN2]);
  return 0;
}

/* ---- conserved quantities ---- */

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  const Rods *r        = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + NQ;
  const sunrealtype kinetic = r->m1 * (u[X1] * u[X1] + u[Y1] * u[Y1]) + r->J1 * u[TURN1] * u[TURN1] +
                              r->m2 * (u[X2] * u[X2] + u[Y2] * u[Y2]) + r->J2 * u[TURN2] * u[TURN2];
  (void)i, (void)t;
  return kinetic / 2 + r->g * (r->m1 * q[Y1] + r->m2 * q[Y2]);
}

/* From hanging to standing; the drift of the energy is judged by this scale */
static sunrealtype energy_scale(const CPPlugin *model) {
  const Rods *r        = model->data;
  const sunrealtype at = r->m1 * r->l1 + r->m2 * (2 * r->l1 + r->l2);
  return r->g > 0 ? r->g * at : 1;
}

/* An output: it is displayed, but not judged */
static sunrealtype tip_speed(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  const Rods *r        = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + NQ;
  (void)t;
  return hypot(u[X2] + r->l2 / 2 * cos(q[TURN2]) * u[TURN2],
               u[Y2] + r->l2 / 2 * sin(q[TURN2]) * u[TURN2]);
}

static const CPPluginQuantity quantities[] = {
    {.name      = "energy",
     .unit      = "J",
     .value     = energy,
     .conserved = CP_QUANTITY_CONSERVED, /* or CP_QUANTITY_FALLS */
     .scale     = 39.24,
     .scale_of  = energy_scale},
    {.name = "tip speed", .unit = "m/s", .value = tip_speed, .conserved = CP_QUANTITY_FREE},
};

/* ---- display ---- */

static const CPPluginCoordinate coordinates[] = {
    {"x1", "m", "centre of the first rod"},    {"y1", "m", "the same, upwards"},
    {"phi1", "rad", "angle of the first rod"}, {"x2", "m", "centre of the second rod"},
    {"y2", "m", "the same, upwards"},          {"phi2", "rad", "angle of the second rod"},
};

/* Hinge, joint, end: xyz of each. */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  const Rods *r        = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y);
  const sunrealtype x1 = r->l1 * sin(q[TURN1]), y1 = -r->l1 * cos(q[TURN1]);
  const sunrealtype all[9] = {
      0, 0, 0, x1, y1, 0, x1 + r->l2 * sin(q[TURN2]), y1 - r->l2 * cos(q[TURN2]), 0};
  (void)t;
  memcpy(xyz, all, sizeof all);
}

/* ---- creation of a model with the values of its parameters ---- */

/* At rest, on the constraints */
static void start(const Rods *r, sunrealtype phi1, sunrealtype phi2, sunrealtype *q) {
  q[TURN1] = phi1;
  q[X1]    = r->l1 / 2 * sin(phi1);
  q[Y1]    = -r->l1 / 2 * cos(phi1);
  q[TURN2] = phi2;
  q[X2]    = 2 * q[X1] + r->l2 / 2 * sin(phi2);
  q[Y2]    = 2 * q[Y1] - r->l2 / 2 * cos(phi2);
}

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_JOINT, CP_POINT_MASS};
  static const int rods[][2]            = {{0, 1}, {1, 2}};
  const sunrealtype *p                  = model->parameter;
  Rods *r                               = malloc(sizeof *r);
  model->data                           = r; /* is freed with the model */
  model->n                              = 2 * NQ;
  model->y0                             = N_VNew_Serial(model->n, model->ctx); /* so is this */
  if (!r || !model->y0 || CPPluginDraw(model, 3, kind, 2, rods, 0, NULL)) return -1;
  N_VConst(0, model->y0);
  *r = (Rods){.l1 = p[L1],
              .l2 = p[L2],
              .m1 = p[M1],
              .m2 = p[M2],
              .J1 = p[M1] * p[L1] * p[L1] / 12,
              .J2 = p[M2] * p[L2] * p[L2] / 12,
              .g  = p[GRAVITY]};
  start(r, p[PHI1], p[PHI2], N_VGetArrayPointer(model->y0));
  model->mech =
      (CPEquations){CP_SIZED(CPEquations), .nu = NQ,    .np = NP,    .M = mass_matrix,
                    .A = hinge_matrix,     .f = forces, .p = hinges, .b = hinge_accelerations};
  return 0;
}

static const CPPluginType my_model_type = {
    .name         = "my_model",
    .title        = "Double pendulum of two rods",
    .source       = "Newton's and Euler's laws",
    .t_end        = 10,
    .parameters   = parameters,
    .nparameters  = sizeof parameters / sizeof parameters[0],
    .quantities   = quantities,
    .nquantities  = sizeof quantities / sizeof quantities[0],
    .coordinates  = coordinates,
    .ncoordinates = sizeof coordinates / sizeof coordinates[0],
    .create       = create,
    .points       = points,
};

CP_PLUGIN_MODULE(my_model_type)
