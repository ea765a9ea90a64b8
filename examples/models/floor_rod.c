#include "floor_rod.h"
#include "plugin.h"

#include <stdlib.h>

int floor_rod_create(CPPlugin *model, sunrealtype m, sunrealtype l, sunrealtype g, sunrealtype mu,
                     const char *const *names) {
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_GROUND, CP_POINT_PLAIN,
                                           CP_POINT_PLAIN, CP_POINT_MASS};
  static const int segment[][2]         = {{0, 1}, {2, 4}, {4, 3}};
  FloorRod *d                           = calloc(1, sizeof *d);
  model->data                           = d;
  if (!d || plugin_start(model, 6) || CPPluginDraw(model, 5, kind, 3, segment, 0, NULL)) return -1;
  d->rod = (FloorBody){.m = m, .J = m * l * l / 12, .g = g, .npoints = 2, .a = {-l / 2, l / 2}};
  for (int i = 0; i < 2; i++)
    d->end[i] = (CPContactPoint){CP_SIZED(CPContactPoint), .name = names[i], .normal = i,
                                 .tangent = 2 + i,         .ntangents = 1,   .law.mu = mu};
  model->mech      = floor_body_model(&d->rod);
  model->contact   = d->end;
  model->ncontacts = 2;
  return 0;
}

void floor_rod_points(const CPPlugin *model, N_Vector y, sunrealtype right, sunrealtype *xyz) {
  const FloorBody *rod = model->data;
  const sunrealtype *q = N_VGetArrayPointer(y), l = 2 * rod->a[1];
  sunrealtype x[5][2] = {{-l, 0}, {right, 0}, {0}, {0}, {q[0], q[1]}};
  for (int k = 0; k < 2; k++) {
    floor_body_arm(rod, k, q[2], &x[2 + k][0], &x[2 + k][1]);
    x[2 + k][0] += q[0], x[2 + k][1] += q[1];
  }
  plugin_planar(5, (const sunrealtype(*)[2])x, xyz);
}
