/* Checks of the drawing: finite points, and ground that does not move. */
#include "model_check_impl.h"

#include <math.h>
#include <stdlib.h>

int model_drawing_is_possible(ModelCheck *c) {
  const CPPluginDrawing *d = &c->model->drawing;
  if (d->npoints < 1 || d->nsegments < 0 || !d->kind || (d->nsegments > 0 && !d->segment))
    return model_contradicts(c, "there is a function points, but no drawing: CPPluginDraw");
  for (int i = 0; i < d->nsegments; i++)
    for (int k = 0; k < 2; k++)
      if (d->segment[i][k] < 0 || d->segment[i][k] >= d->npoints)
        return model_contradicts(c, "segment %d of the drawing ends at point %d, but there are %d",
                                 i, d->segment[i][k], d->npoints);
  for (int i = 0; i < d->nsegments; i++)
    if ((int)d->segment_kind[i] < 0 || d->segment_kind[i] > CP_SEGMENT_SPRING)
      return model_contradicts(c, "segment %d of the drawing has kind %d, but there are %d", i,
                               (int)d->segment_kind[i], CP_SEGMENT_SPRING + 1);
  for (int i = 0; i < d->nshapes; i++)
    for (int k = 0; k < 4; k++)
      if (d->shape[i].point[k] < 0 || d->shape[i].point[k] >= d->npoints || d->shape[i].kind < 0 ||
          d->shape[i].kind > CP_SHAPE_WHEEL)
        return model_contradicts(
            c, "shape %d of the drawing has kind %d and point %d, but there are %d kinds and %d points",
            i, (int)d->shape[i].kind, d->shape[i].point[k], CP_SHAPE_WHEEL + 1, d->npoints);
  return 1;
}

/* Points at state k. Ground points may move with time, but not with the state: they are those at y0 */
static int points_are_true_at(const ModelCheck *c, int k) {
  const CPPluginDrawing *d = &c->model->drawing;
  sunrealtype *xyz = calloc(6 * d->npoints, sizeof *xyz), *start = xyz + 3 * d->npoints;
  if (!xyz) return model_contradicts(c, "no memory");
  for (int i = 0; i < 6 * d->npoints; i++) xyz[i] = NAN;
  c->type->points(c->model, c->time[k], c->state[k], xyz);
  c->type->points(c->model, c->time[k], c->model->y0, start);
  int result = 1;
  for (int i = 0; i < 3 * d->npoints && result; i++) {
    if (!isfinite(xyz[i]))
      result = model_contradicts(c, "point %d of the drawing is not finite", i / 3);
    else if (d->kind[i / 3] == CP_POINT_GROUND && xyz[i] != start[i])
      result = model_contradicts(c, "point %d of the drawing is ground, but moves with the state",
                                 i / 3);
  }
  free(xyz);
  return result;
}

static sunrealtype dot(const sunrealtype *a, const sunrealtype *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Positions must be finite, and directions orthogonal unit vectors; in the plane the last one is 0, and all are
 * on no surface. */
static int frames_are_true_at(const ModelCheck *c, int state) {
  static const sunrealtype close = 1e-12;
  const int n                    = c->model->ncontacts;
  sunrealtype *frames            = malloc((size_t)(12 * n) * sizeof *frames);
  if (!frames) return model_contradicts(c, "no memory");
  for (int i = 0; i < 12 * n; i++) frames[i] = NAN;
  c->type->contact_frames(c->model, c->time[state], c->state[state], frames);
  int result = 1;
  for (int i = 0; i < n && result; i++) {
    const sunrealtype *place = frames + 12 * i, *axis = place + 3;
    const int planar     = dot(axis + 6, axis + 6) == 0;
    const int on_nothing = planar && dot(axis, axis) == 0 && dot(axis + 3, axis + 3) == 0;
    int right            = isfinite(place[0] + place[1] + place[2]);
    for (int j = 0; j < 3; j++)
      for (int k = 0; k <= j; k++) {
        const sunrealtype wanted = j == k && !(planar && j == 2) && !on_nothing;
        right                    = right && fabs(dot(axis + 3 * j, axis + 3 * k) - wanted) <= close;
      }
    if (!right)
      result = model_contradicts(
          c, "contact_frames: contact \"%s\" has no finite place with unit vectors at right angles",
          c->model->contact[i].name);
  }
  free(frames);
  return result;
}

int model_points_are_true(ModelCheck *c) {
  int result = model_drawing_is_possible(c);
  for (int k = 0; k < c->nstates && result; k++) result = points_are_true_at(c, k);
  for (int k = 0; k < c->nstates && result && c->type->contact_frames && c->model->ncontacts > 0;
       k++)
    result = frames_are_true_at(c, k);
  return result;
}
