#include "chain_type.h"
#include "plugin.h"

#include <stdlib.h>

int chain_draw(CPPlugin *model, sunindextype n) {
  if (CPPluginDraw(model, (int)n + 1, NULL, (int)n, NULL, 0, NULL)) return -1;
  CPPluginDrawing *d = &model->drawing;
  for (int i = 0; i < n; i++) {
    d->kind[i + 1]   = CP_POINT_MASS;
    d->segment[i][0] = i;
    d->segment[i][1] = i + 1;
  }
  d->kind[0] = CP_POINT_GROUND;
  return 0;
}

void chain_points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  for (int k = 0; k < 3; k++) xyz[k] = 0;
  plugin_planar(model->drawing.npoints - 1, (const sunrealtype(*)[2])N_VGetArrayPointer(y), xyz + 3);
}

typedef struct {
  sunrealtype t; /* time of y, or -1 if there is none yet */
  int flag;
  N_Vector y;
} Cache;

int chain_cache(CPPlugin *model) {
  Cache *cache = malloc(sizeof *cache);
  model->own   = cache;
  if (!cache) return -1;
  cache->t = -1;
  cache->y = N_VClone(model->y0);
  return cache->y ? 0 : -1;
}

void chain_cache_free(CPPlugin *model) {
  Cache *cache = model->own;
  if (cache && cache->y) N_VDestroy(cache->y);
  free(cache);
}

int chain_known(const CPPlugin *model, const ChainOf *chain, int nsteps, sunrealtype t, N_Vector y) {
  Cache *cache = model->own;
  if (t == 0) {
    N_VScale(1, model->y0, y);
    return 0;
  }
  if (cache->t != t) {
    sunrealtype error = 0;
    const int flag    = chain_reference(chain, t, nsteps, cache->y, &error);
    cache->flag       = flag || !(error <= model->reference_error);
    cache->t          = t;
  }
  N_VScale(1, cache->y, y);
  return cache->flag;
}
