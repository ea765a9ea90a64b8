#include "chain_type.h"
#include "chain_mechanism.h"
#include "plugin.h"
#include "types.h"

#include <math.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { MASSES, GRAVITY };

static const CPPluginParameter parameters[] = {
    [MASSES]  = {"n", "1", "number of masses", 10, 1, 1e6},
    [GRAVITY] = {"g", "m/s^2", "gravity along -y", 9.81, 1e-3, 1e3},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return chain_energy(model->data, y);
}

/* From stretched to hanging */
static sunrealtype fall(const CPPlugin *model) {
  const sunrealtype n = model->parameter[MASSES];
  return model->parameter[GRAVITY] * n * (n + 1) / 2;
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 539.55, .scale_of = fall},
};

/* Steps of 0.01 s: results with half as many differ by less than model->reference_error. The motion is a fall at
   any length of the chain, and becomes unpredictable only late */
static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  const Chain *c      = model->data;
  const ChainOf chain = {.n = c->n, .g = c->g};
  return chain_known(model, &chain, 100 * (int)ceil(t), t, y);
}

static int create(CPPlugin *model) {
  const sunindextype n = (sunindextype)model->parameter[MASSES];
  const int sparse     = 2 * n >= MODEL_SPARSE;
  Chain *c             = chain_create(n, model->parameter[GRAVITY]);
  model->data          = c;
  if (!c || plugin_start(model, 4 * n) || chain_draw(model, n)) return -1;
  if (chain_matrices(c, sparse, model->ctx, &model->mech) || chain_cache(model)) return -1;
  chain_initial(c, model->y0);
  model->f = chain_rhs;
  model->m = 2 * n;
  model->c = chain_constraints;
  model->G = sparse ? chain_sparse_jacobian : chain_jacobian;
  if (sparse && !(model->G_tmpl = chain_pattern(n, CSC_MAT, model->ctx))) return -1;
  model->known           = 1;
  model->reference_error = 5e-11 * fmax(1, (sunrealtype)n / 1000);
  return 0;
}

static void destroy(CPPlugin *model) {
  chain_cache_free(model);
  chain_free((Chain **)&model->data);
}

const CPPluginType chain_type = {
    .name        = "chain",
    .title       = "Chain of point masses",
    .source      = "Newton's law (examples/models/chain.h); extrapolation in minimal coordinates",
    .t_end       = 2,
    .parameters  = parameters,
    .nparameters = sizeof parameters / sizeof parameters[0],
    .whole       = "n",
    .units       = "m",
    .quantities  = quantities,
    .nquantities = sizeof quantities / sizeof quantities[0],
    .create      = create,
    .destroy     = destroy,
    .reference   = reference,
    .points      = chain_points,
};
