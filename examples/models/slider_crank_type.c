#include "crank_drawing.h"
#include "plugin.h"
#include "slider_crank.h"
#include "types.h"

#include <stdlib.h>

enum { NQ = SLIDER_CRANK_N / 2, NP = SLIDER_CRANK_M / 2 };
enum { A, J1, M2, J2, K, C, L0, F };

static const CPPluginParameter parameters[] = {
    [A]  = {"a", "m", "length of the crank", 0.5, 1e-3, 0.99},
    [J1] = {"J1", "kg m^2", "moment of inertia of the crank", 1, 1e-6, 1e6},
    [M2] = {"m2", "kg", "mass of the rod", 1, 1e-6, 1e6},
    [J2] = {"J2", "kg m^2", "moment of inertia of the rod", 2, 1e-6, 1e6},
    [K]  = {"k", "N/m", "stiffness of the spring", 1, 0, 1e6},
    [C]  = {"c", "N s/m", "damping of the damper", 1, 0, 1e6},
    [L0] = {"l0", "m", "free length of the spring", 1, 0, 10},
    [F]  = {"F", "N", "force on the end of the rod along +x", 1, 1e-6, 1e6},
};

static const CPPluginCoordinate coordinates[] = {
    {"q", "rad", "angle of the crank from +x"},
    {"x", "m", "slider joint, the middle of the rod"},
    {"p", "rad", "angle of the rod from +x"},
};

/* Extrapolation of order 20 in quadruple precision, positions and velocities projected after each
   step; half the step agrees in 17 digits. The published table (SUNDIALS, idaSlCrank_dns) has 5
   digits, which agree. */
static const sunrealtype end[SLIDER_CRANK_N] = {1.275675848650239,   1.023578558979840,
                                                -0.4988130491824987, -0.2399149971960007,
                                                0.1337782832157776,  0.03973149599132174};
static const sunrealtype start_lambda[NP]    = {1.310288568297003, -1.170170592217177};
static const sunrealtype end_lambda[NP]      = {1.1137561582630466e+00, -7.6250727510644780e-01};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  return plugin_ends(model, t, end, y);
}

static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  return plugin_ends_lambda(model, t, NP, start_lambda, end_lambda, lambda);
}

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return slider_crank_energy(model->data, y);
}

/* Work of the force over the stroke, and the energy that the spring can store */
static sunrealtype energy_scale(const CPPlugin *model) {
  const SliderCrank *s = model->data;
  return 2 * s->a * s->F + s->k * s->l0 * s->l0 / 2;
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .scale = 1.5, .scale_of = energy_scale},
};

/* The damper dissipates energy, which is conserved without it. */
static int conserves(const CPPlugin *model, int i) {
  (void)i;
  return model->parameter[C] == 0;
}

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const sunrealtype *q = N_VGetArrayPointer(y);
  crank_points(((const SliderCrank *)model->data)->a, q[0], q[1], 0, q[2], xyz);
}

static int create(CPPlugin *model) {
  const sunrealtype *p = model->parameter;
  SliderCrank *s       = malloc(sizeof *s);
  model->data          = s;
  if (!s || plugin_start(model, SLIDER_CRANK_N)) return -1;
  if (crank_draw(model)) return -1;
  *s = (SliderCrank){p[A], p[J1], p[M2], p[J2], p[K], p[C], p[L0], p[F]};
  slider_crank_initial(s, model->y0);
  model->mech            = slider_crank_model();
  model->f               = slider_crank_rhs;
  model->m               = SLIDER_CRANK_M;
  model->c               = slider_crank_constraints;
  model->G               = slider_crank_jacobian;
  model->known           = plugin_is_default(model);
  model->reference_error = 1e-15; /* of the digits that are printed */
  return 0;
}

const CPPluginType slider_crank_type = {
    .name         = "slider_crank",
    .title        = "Slider-crank with a spring-damper",
    .source       = "Haug, Intermediate Dynamics, 1992, example 6.1.8; SUNDIALS, idaSlCrank_dns",
    .t_end        = 10,
    .parameters   = parameters,
    .nparameters  = sizeof parameters / sizeof parameters[0],
    .quantities   = quantities,
    .nquantities  = sizeof quantities / sizeof quantities[0],
    .conserves    = conserves,
    .coordinates  = coordinates,
    .ncoordinates = sizeof coordinates / sizeof coordinates[0],
    .create       = create,
    .reference    = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
};
