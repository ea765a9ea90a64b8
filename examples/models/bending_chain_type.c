#include "bending_chain.h"
#include "chain_type.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { MASSES, GRAVITY, STIFFNESS, DAMPING };

static const CPPluginParameter parameters[] = {
    [MASSES]    = {"n", "1", "number of masses", 20, 2, 1e6},
    [GRAVITY]   = {"g", "m/s^2", "gravity along -y", 9.81, 1e-3, 1e3},
    [STIFFNESS] = {"k", "N/m", "stiffness of each joint", 1e5, 0, 1e9},
    [DAMPING]   = {"d", "N s/m", "damping of each joint", 1e3, 0, 1e9},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return bending_chain_energy(model->data, y);
}

/* From stretched to hanging */
static sunrealtype fall(const CPPlugin *model) {
  const sunrealtype n = model->parameter[MASSES];
  return model->parameter[GRAVITY] * n * (n + 1) / 2;
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .scale = 2060.1, .scale_of = fall},
};

static int conserves(const CPPlugin *model, int i) {
  (void)i;
  return model->parameter[DAMPING] == 0;
}

/* The number of steps of an explicit method, so short that the fastest motions, 16 d and 4 sqrt(k) per
   second, are within its stability region even with the double step */
static int steps_to(const BendingChain *c, sunrealtype t) {
  return (int)ceil(t * (100 + 4 * c->d + 2 * sqrt(c->k)));
}

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  const BendingChain *c = model->data;
  const ChainOf chain   = {c->rods->n, c->rods->g, c->k, c->d};
  return chain_known(model, &chain, steps_to(c, t), t, y);
}

static int create(CPPlugin *model) {
  const sunindextype n = (sunindextype)model->parameter[MASSES];
  const int sparse     = 2 * n >= MODEL_SPARSE;
  BendingChain *c = bending_chain_create(n, model->parameter[GRAVITY], model->parameter[STIFFNESS],
                                         model->parameter[DAMPING]);
  model->data     = c;
  if (!c || plugin_start(model, 4 * n) || chain_draw(model, n)) return -1;
  if (bending_chain_model(c, sparse, model->ctx, &model->mech) || chain_cache(model)) return -1;
  bending_chain_initial(c, 0, model->y0);
  model->f     = bending_chain_rhs;
  model->m     = 2 * n;
  model->c     = bending_chain_constraints;
  model->G     = bending_chain_constraint_jacobian;
  model->stiff = 1;
  if (sparse && !(model->G_tmpl = chain_pattern(n, CSC_MAT, model->ctx))) return -1;
  /* if it takes less than half a minute */
  model->known           = steps_to(c, model->type->t_end) * (sunrealtype)n < 5e6;
  model->reference_error = 1e-9;
  return 0;
}

static void destroy(CPPlugin *model) {
  chain_cache_free(model);
  bending_chain_free((BendingChain **)&model->data);
}

const CPPluginType bending_chain_type = {
    .name        = "bending_chain",
    .title       = "Chain that resists bending",
    .source      = "Newton's law and Rayleigh's dissipation (examples/models/bending_chain.h); "
                   "extrapolation in "
                   "minimal coordinates",
    .t_end       = 1,
    .parameters  = parameters,
    .nparameters = sizeof parameters / sizeof parameters[0],
    .whole       = "n",
    .units       = "m",
    .quantities  = quantities,
    .nquantities = sizeof quantities / sizeof quantities[0],
    .conserves   = conserves,
    .create      = create,
    .destroy     = destroy,
    .reference   = reference,
    .points      = chain_points,
};
