#include "bushing_crank.h"
#include "crank_drawing.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { A, K, C };

static const CPPluginParameter parameters[] = {
    [A] = {"a", "m", "length of the crank", 0.5, 1e-3, 0.99},
    [K] = {"K", "N/m", "stiffness of the bushing", 1e6, 0, 1e9},
    [C] = {"C", "N s/m", "damping of the bushing", 1e5, 0, 1e9},
};

static const CPPluginCoordinate coordinates[] = {
    {"q", "rad", "angle of the crank from +x"},
    {"x", "m", "middle of the rod, along the guide"},
    {"y", "m", "the same, across the guide"},
    {"p", "rad", "angle of the rod from +x"},
};

/* Radau IIA of order 5 in extended precision for the two angles and their rates, without constraints:
   steps of 2 and 1 ms agree in 13 digits, RADAU5 (R, deSolve 1.34, rtol = 1e-13) in 11. Published
   numbers do not exist. */
static const sunrealtype end_angles[4] = {0.5861089923340376, -0.2802144317835656,
                                          -0.7313874400008491,
                                          0.3170239513462984}; /* q, p and their rates */

/* x = cos p + a cos q, y = sin p + a sin q, and their rates */
static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  const sunrealtype a = model->parameter[A];
  const sunrealtype q = end_angles[0], p = end_angles[1], qd = end_angles[2], pd = end_angles[3];
  const sunrealtype end[2 * BUSHING_CRANK_NQ] = {q,
                                                 cos(p) + a * cos(q),
                                                 sin(p) + a * sin(q),
                                                 p,
                                                 qd,
                                                 -sin(p) * pd - a * sin(q) * qd,
                                                 cos(p) * pd + a * cos(q) * qd,
                                                 pd};
  return plugin_ends(model, t, end, y);
}

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return bushing_crank_energy(model->data, y);
}

/* 1.5 J: work of the force over the stroke, and the energy that the spring can store */
static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .scale = 1.5},
};

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const sunrealtype *q = N_VGetArrayPointer(y);
  crank_points(model->parameter[A], q[0], q[1], q[2], q[3], xyz);
}

static int create(CPPlugin *model) {
  BushingCrank *s = malloc(sizeof *s);
  model->data     = s;
  if (!s || plugin_start(model, 2 * BUSHING_CRANK_NQ)) return -1;
  if (crank_draw(model)) return -1;
  *s         = bushing_crank_stiff();
  s->crank.a = model->parameter[A];
  s->K       = model->parameter[K];
  s->C       = model->parameter[C];
  bushing_crank_initial(s, model->y0);
  model->mech            = bushing_crank_model();
  model->stiff           = 1;
  model->known           = plugin_is_default(model);
  model->reference_error = 1e-13;
  return 0;
}

const CPPluginType bushing_crank_type = {
    .name         = "bushing_crank",
    .title        = "Slider-crank with a stiff guide bushing",
    .source       = "Newton's law (examples/models/bushing_crank.h), after slider_crank",
    .t_end        = 20,
    .parameters   = parameters,
    .nparameters  = sizeof parameters / sizeof parameters[0],
    .quantities   = quantities,
    .nquantities  = sizeof quantities / sizeof quantities[0],
    .coordinates  = coordinates,
    .ncoordinates = sizeof coordinates / sizeof coordinates[0],
    .create       = create,
    .reference    = reference,
    .points       = points,
};
