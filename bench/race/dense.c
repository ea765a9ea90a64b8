#include "dense.h"

#include "../coupled.h"
#include <models/plugin.h>

static const CPPluginParameter parameters[] = {
    {"n", "1", "number of coordinates; ten times that of the constraints", 1000, 10, 5000},
};

static int create(CPPlugin *model) {
  const int n      = (int)(model->parameter[0] + 0.5);
  Coupled *coupled = coupled_create(n, n / 10);
  model->data      = coupled;
  if (!coupled || plugin_start(model, 2 * n)) return -1;
  model->mech  = coupled_model(coupled);
  model->stiff = 1;
  return 0;
}

static void destroy(CPPlugin *model) {
  Coupled *coupled = model->data;
  coupled_free(&coupled);
}

const CPPluginType dense_type = {
    .name        = "dense",
    .title       = "Coordinates that are all coupled, stiff",
    .source      = "bench/coupled.h",
    .t_end       = 1,
    .parameters  = parameters,
    .nparameters = sizeof parameters / sizeof parameters[0],
    .create      = create,
    .destroy     = destroy,
};
