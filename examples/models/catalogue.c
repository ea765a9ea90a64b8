#include "model.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const ModelType *const catalogue[] = {
    &pendulum_type,
    &slider_crank_type,
    &andrews_type,
    &car_axis_type,
    &flexible_crank_type,
    &four_bar_type,
    &bushing_crank_type,
    &spatial_four_bar_type,
    &knife_edge_type,
    &chain_type,
    &bending_chain_type,
    &newton_cradle_type,
    &spatial_chain_type,
    &spatial_bending_chain_type,
};
/* clang-format on */

enum { NUM_TYPES = sizeof catalogue / sizeof catalogue[0] };

const ModelType *model_type(int i) { return i >= 0 && i < NUM_TYPES ? catalogue[i] : NULL; }

const ModelType *model_find(const char *name) {
  for (int i = 0; i < NUM_TYPES; i++)
    if (!strcmp(catalogue[i]->name, name)) return catalogue[i];
  return NULL;
}

enum { MAX_NAME = 63 }; /* names are compared so far */

static size_t min3(size_t a, size_t b, size_t c) {
  const size_t d = a < b ? a : b;
  return d < c ? d : c;
}

/* Levenshtein's distance: insertions, deletions and substitutions of letters from a to b */
static size_t edit_distance(const char *a, const char *b) {
  const size_t na = strnlen(a, MAX_NAME), nb = strnlen(b, MAX_NAME);
  size_t row[MAX_NAME + 1]; /* row[j]: from the first i letters of a to the first j of b */
  for (size_t j = 0; j <= nb; j++) row[j] = j;
  for (size_t i = 1; i <= na; i++) {
    size_t diagonal = row[0];
    row[0]          = i;
    for (size_t j = 1; j <= nb; j++) {
      const size_t above = row[j];
      row[j]             = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal           = above;
    }
  }
  return row[nb];
}

const char *model_nearest(const char *name) {
  int nearest       = 0;
  size_t difference = edit_distance(name, catalogue[0]->name);
  for (int i = 1; i < NUM_TYPES; i++) {
    const size_t d = edit_distance(name, catalogue[i]->name);
    if (d >= difference) continue;
    difference = d;
    nearest    = i;
  }
  return catalogue[nearest]->name;
}

int model_parameter(const ModelType *type, const char *name) {
  for (int i = 0; i < type->nparameters; i++)
    if (!strcmp(type->parameters[i].name, name)) return i;
  return -1;
}
