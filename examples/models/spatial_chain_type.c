/* Two tables: without springs, where the energy is conserved; and with a spring-damper at each joint, where
 * it falls. */
#include "plugin.h"
#include "spatial_chain.h"
#include "types.h"

#include <math.h>
#include <stdlib.h>

enum { RODS, LENGTH, RADIUS, MASS, GRAVITY, ANGLE, SPIN, FREE_PARAMETERS };
enum { STIFFNESS = FREE_PARAMETERS, DAMPING, NUM_PARAMETERS };
enum {
  SPARSE_FROM = 3
}; /* rods: where sparse matrices are faster (test/reference/spatial_chain.c) */

/* The chain without springs has the first FREE_PARAMETERS of them */
static const CPPluginParameter parameters[NUM_PARAMETERS] = {
    [RODS]      = {"n", "", "number of rods", 10, 1, 1e5},
    [LENGTH]    = {"l", "m", "length of a rod", 1, 1e-3, 1e3},
    [RADIUS]    = {"radius", "m", "radius of a rod", 0.05, 1e-3, 1e2},
    [MASS]      = {"m", "kg", "mass of a rod", 1, 1e-3, 1e3},
    [GRAVITY]   = {"g", "m/s^2", "gravity along -y", 9.81, 1e-3, 1e3},
    [ANGLE]     = {"angle", "rad", "of the straight chain above +x at first", -0.8, -1.5, 1.5},
    [SPIN]      = {"spin", "rad/s", "rate at which it turns about y at first", 1, -1e2, 1e2},
    [STIFFNESS] = {"k", "N m", "stiffness of each joint", 1e5, 0, 1e12},
    [DAMPING]   = {"d", "N m s", "damping of each joint", 1e3, 0, 1e12},
};

/* ------------------------------------------------------------------------------- quantities -- */

static const RigidBodies *bodies_of(const CPPlugin *model) {
  return &((const SpatialChain *)model->data)->bodies;
}

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return rigid_body_energy(bodies_of(model), y);
}

static sunrealtype momentum(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  sunrealtype L[3];
  rigid_body_momentum(bodies_of(model), y, L);
  return L[1];
}

static sunrealtype last_axial_rate(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  const int n = bodies_of(model)->nbodies;
  return N_VGetArrayPointer(y)[7 * n + 6 * (n - 1) + 3];
}

/* Energy of a fall from the horizontal; angular momentum of a bar that falls as far about its end */
static sunrealtype fall(const CPPlugin *model) {
  const sunrealtype *p = model->parameter;
  return p[RODS] * p[RODS] / 2 * p[MASS] * p[GRAVITY] * p[LENGTH];
}

static sunrealtype swing(const CPPlugin *model) {
  const sunrealtype *p = model->parameter, whole = p[RODS] * p[LENGTH], mass = p[RODS] * p[MASS];
  return mass * whole * sqrt(p[GRAVITY] * whole / 3);
}

static sunrealtype pendulum_rate(const CPPlugin *model) {
  const sunrealtype *p = model->parameter;
  return sqrt(p[GRAVITY] / p[LENGTH]);
}

static const CPPluginQuantity free_quantities[] = {
    {"energy", "J", energy, 1, 490.5, fall},
    {"angular momentum about y", "kg m^2/s", momentum, 1, 571.8, swing},
    {"angular velocity of the last rod about its axis", "rad/s", last_axial_rate, 1, 3.13,
     pendulum_rate},
};

static const CPPluginQuantity bending_quantities[] = {
    {"energy", "J", energy, 0, 490.5, fall},
    {"angular momentum about y", "kg m^2/s", momentum, 1, 571.8, swing},
};

static int bending_conserves(const CPPlugin *model, int i) {
  return bending_quantities[i].conserved || model->parameter[DAMPING] == 0;
}

/* -------------------------------------------------------------------- reference and drawing -- */

/* The newest reference, which takes long to compute */
typedef struct {
  sunrealtype t; /* its time, or -1 if there is none yet */
  int flag;
  N_Vector y;
  sunrealtype *lambda; /* [3 n] */
} Known;

static SpatialChainStart start_of(const CPPlugin *model) {
  return (SpatialChainStart){.angle = model->parameter[ANGLE], .spin = model->parameter[SPIN]};
}

/* The number of steps of an explicit method, so short that the fastest motions, those of the dampers about the rods'
   axes, 4 d / J_1, and of the springs, 4 sqrt(k / J_2), are within its stability region even with the double step */
static sunrealtype steps_to(const SpatialChain *c, sunrealtype t) {
  const sunrealtype *J = c->body[0].J;
  return ceil(t * (100 + c->data.d / J[0] + 2 * sqrt(c->data.k / J[1])));
}

static int is_single_at_rest(const CPPlugin *model) {
  return bodies_of(model)->nbodies == 1 && model->parameter[SPIN] == 0;
}

static void compute(const CPPlugin *model, sunrealtype t) {
  const SpatialChain *chain    = model->data;
  const SpatialChainStart from = start_of(model);
  Known *known                 = model->own;
  sunrealtype error            = 0;
  known->t                     = t;
  known->flag                  = 0;
  if (is_single_at_rest(model)) {
    spatial_chain_exact(chain, from.angle, t, N_VGetArrayPointer(known->y), known->lambda);
    return;
  }
  const int steps = (int)steps_to(chain, t);
  const int flag = spatial_chain_reference(chain, &from, t, steps, known->y, known->lambda, &error);
  known->flag    = flag || !(error <= model->reference_error);
}

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  Known *known = model->own;
  if (known->t != t) compute(model, t);
  N_VScale(1, known->y, y);
  return known->flag;
}

static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  Known *known = model->own;
  if (known->t != t) compute(model, t);
  for (int i = 0; i < 3 * bodies_of(model)->nbodies; i++) lambda[i] = known->lambda[i];
  return known->flag;
}

/* Sets the members of CPPlugin: whether the reference can be computed within some seconds, and its error */
static int create_known(CPPlugin *model) {
  const SpatialChain *chain = model->data;
  const sunrealtype n       = chain->bodies.nbodies;
  Known *known              = calloc(1, sizeof *known);
  model->own                = known;
  if (!known) return -1;
  known->t      = -1;
  known->y      = N_VClone(model->y0);
  known->lambda = calloc(3 * (size_t)n, sizeof *known->lambda);
  if (!known->y || !known->lambda) return -1;
  model->known = is_single_at_rest(model) || steps_to(chain, model->type->t_end) * n * n * n < 1e7;
  model->reference_error = (chain->data.k > 0 ? 1e-9 : 1e-10) * chain->data.l;
  return 0;
}

/* The origin, then the end of each rod */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  for (int k = 0; k < 3; k++) xyz[k] = 0;
  for (int i = 0; i < bodies_of(model)->nbodies; i++)
    spatial_chain_end(model->data, i, y, xyz + 3 * (i + 1));
}

static int draw(CPPlugin *model, int n) {
  if (CPPluginDraw(model, n + 1, NULL, n, NULL, 0, NULL)) return -1;
  for (int i = 0; i <= n; i++) model->drawing.kind[i] = i == 0 ? CP_POINT_GROUND : CP_POINT_JOINT;
  for (int i = 0; i < n; i++) {
    model->drawing.segment[i][0] = i;
    model->drawing.segment[i][1] = i + 1;
  }
  return 0;
}

/* --------------------------------------------------------------------------------- life cycle -- */

static int create_chain(CPPlugin *model, sunrealtype k, sunrealtype d) {
  const sunrealtype *p         = model->parameter;
  const int n                  = (int)p[RODS];
  const SpatialChainStart from = start_of(model);
  const SpatialChainData data  = {
       .l = p[LENGTH], .radius = p[RADIUS], .m = p[MASS], .g = p[GRAVITY], .k = k, .d = d};
  SpatialChain *chain = spatial_chain_create(n, &data);
  model->data         = chain;
  if (!chain || plugin_start(model, 13 * (sunindextype)n) || draw(model, n)) return -1;
  if (rigid_body_model(&chain->bodies, 6 * n >= MODEL_SPARSE, model->ctx, &model->mech)) return -1;
  spatial_chain_initial(chain, &from, model->y0);
  return create_known(model);
}

static int create_free(CPPlugin *model) { return create_chain(model, 0, 0); }

static int create_bending(CPPlugin *model) {
  model->stiff = 1;
  return create_chain(model, model->parameter[STIFFNESS], model->parameter[DAMPING]);
}

static void destroy(CPPlugin *model) {
  Known *known = model->own;
  if (known) {
    if (known->y) N_VDestroy(known->y);
    free(known->lambda);
    free(known);
  }
  SpatialChain *chain = model->data;
  spatial_chain_free(&chain);
}

const CPPluginType spatial_chain_type = {
    .name   = "spatial_chain",
    .title  = "Chain in space, of rods on ball joints",
    .source = "Newton's and Euler's equations; extrapolation in minimal coordinates; n = 1 without "
              "spin: closed form",
    .t_end  = 2,
    .parameters       = parameters,
    .nparameters      = FREE_PARAMETERS,
    .whole            = "n",
    .units            = "m m m 1 1 1 1",
    .velocity_units   = "m/s m/s m/s rad/s rad/s rad/s",
    .quantities       = free_quantities,
    .nquantities      = sizeof free_quantities / sizeof free_quantities[0],
    .create           = create_free,
    .destroy          = destroy,
    .reference        = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
};

const CPPluginType spatial_bending_chain_type = {
    .name   = "spatial_bending_chain",
    .title  = "Chain in space with stiff joints",
    .source = "Newton's and Euler's equations; extrapolation in minimal coordinates; n = 1 without "
              "spin: closed form",
    .t_end  = 2,
    .parameters       = parameters,
    .nparameters      = NUM_PARAMETERS,
    .whole            = "n",
    .units            = "m m m 1 1 1 1",
    .velocity_units   = "m/s m/s m/s rad/s rad/s rad/s",
    .quantities       = bending_quantities,
    .nquantities      = sizeof bending_quantities / sizeof bending_quantities[0],
    .conserves        = bending_conserves,
    .create           = create_bending,
    .destroy          = destroy,
    .reference        = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
};
