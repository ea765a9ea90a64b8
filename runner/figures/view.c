#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void view_project(const View *view, const double *xyz, double *paper) {
  const double x = xyz[0], y = xyz[1], z = xyz[2];
  paper[0] = view->spatial ? (x - z) * sqrt(0.5) : x; /* seen from (1, 1, 1) */
  paper[1] = view->spatial ? (2 * y - x - z) / sqrt(6) : y;
}

const char *axes_of(const History *history) {
  return history->info->settings->model.type->z_is_up ? "yzx" : "xyz";
}

static double positive(double extent) { return extent > 0 && isfinite(extent) ? extent : 1; }

/* Widens the bounds [n] to include x - reach and x + reach. */
static void widen(double *least, double *most, int n, const double *x, const double *reach) {
  for (int k = 0; k < n; k++) {
    if (!isfinite(x[k]) || !isfinite(reach[k])) continue;
    least[k] = fmin(least[k], x[k] - reach[k]);
    most[k]  = fmax(most[k], x[k] + reach[k]);
  }
}

/* x [3] <- the place xyz, on paper if there is a view */
static void take_place(const View *view, const double *xyz, double *x) {
  memcpy(x, xyz, 3 * sizeof *x);
  if (view) view_project(view, xyz, x);
}

/* The bounds [n] of all points and shapes at all times, of their coordinates (n = 3) or on paper
 * (n = 2). */
static void bounds_of(const History *history, const View *view, double *least, double *most) {
  const RunInfo *info = history->info;
  const Rows *frames  = &history->frames;
  const int n         = view ? 2 : 3;
  for (int k = 0; k < n; k++) least[k] = most[k] = NAN;
  for (long i = 0; i < frames->rows; i++) {
    const double *xyz = frames->data + i * frames->width + 1;
    double x[3], end[3];
    for (int p = 0; p < info->npoints; p++) {
      take_place(view, xyz + 3 * p, x);
      widen(least, most, n, x, (double[3]){0});
    }
    for (int s = 0; s < info->nshapes; s++) { /* up to the corners of a box */
      const int *point = info->shape[s].point;
      double reach[3]  = {0};
      take_place(view, xyz + 3 * point[0], x);
      for (int j = 1; j < 4; j++) {
        take_place(view, xyz + 3 * point[j], end);
        for (int k = 0; k < n; k++) reach[k] += fabs(end[k] - x[k]);
      }
      widen(least, most, n, x, reach);
    }
  }
  for (int k = 0; k < n; k++)
    if (isnan(least[k])) least[k] = most[k] = 0;
}

Box box_of(const History *history) {
  Box b = {.extent = 0};
  bounds_of(history, NULL, b.least, b.most);
  for (int k = 0; k < 3; k++) b.extent = fmax(b.extent, b.most[k] - b.least[k]);
  b.extent  = positive(b.extent);
  b.spatial = b.most[2] - b.least[2] > b.extent / VIEW_LEVELS;
  return b;
}

View view_of(const History *history) {
  View view = {.spatial = box_of(history).spatial};
  bounds_of(history, &view, view.low, view.high);
  view.size = positive(fmax(view.high[0] - view.low[0], view.high[1] - view.low[1]));
  return view;
}

double nice_length(double most) {
  const double power = pow(10, floor(log10(most))), digit = most / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

/* ---------------------------------------------------------------------------- what is drawn -- */

CPPluginSegmentKind segment_look(const RunInfo *info, int s) {
  const int *ends                = info->segment[s];
  const bool from_ground         = info->kind[ends[0]] == CP_POINT_GROUND,
             to_ground           = info->kind[ends[1]] == CP_POINT_GROUND;
  const CPPluginSegmentKind kind = (CPPluginSegmentKind)info->segment_kind[s];
  return kind == CP_SEGMENT_BAR && from_ground && to_ground ? CP_SEGMENT_GUIDE : kind;
}

/* Appends a unit circle about axis k at the height z, then turned about the last axis, after
 * `count` places. Returns the new number of places. */
static int circle(double (*at)[3], int count, int k, double turn, double z) {
  enum { SIDES = 24 };
  for (int i = 0; i <= SIDES; i++, count++) {
    const double phi       = 2 * acos(-1) * i / SIDES;
    at[count][k]           = z;
    at[count][(k + 1) % 3] = cos(phi);
    at[count][(k + 2) % 3] = sin(phi);
    const double x = at[count][0], y = at[count][1];
    at[count][0] = x * cos(turn) - y * sin(turn);
    at[count][1] = x * sin(turn) + y * cos(turn);
  }
  at[count][0] = at[count][1] = at[count][2] = NAN;
  return count + 1;
}

static int line(double (*at)[3], int count, const double *from, const double *to) {
  memcpy(at[count], from, sizeof at[count]);
  memcpy(at[count + 1], to, sizeof at[count]);
  at[count + 2][0] = at[count + 2][1] = at[count + 2][2] = NAN;
  return count + 3;
}

int shape_outline(CPShapeKind kind, bool flat, double (*at)[3]) {
  static const double corner[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
  const double pi = acos(-1), r = sqrt(0.5);
  int count = 0;
  /* A sphere is drawn as a globe: the equator and six meridians, one of which is close to the edge
   * in any view. */
  for (int end = -1; end <= 1 && kind != CP_SHAPE_BOX; end++)
    if (flat || kind == CP_SHAPE_SPHERE ? end == 0 : end != 0) count = circle(at, count, 2, 0, end);
  for (int i = 0; i < 6 && kind == CP_SHAPE_SPHERE && !flat; i++)
    count = circle(at, count, 0, i * pi / 6, 0);
  for (int i = 0; i < 4; i++) {
    const double *a = corner[i], *b = corner[(i + 1) % 4];
    for (int end = -1; end <= 1 && kind == CP_SHAPE_BOX; end += 2)
      count = line(at, count, (double[3]){a[0], a[1], end}, (double[3]){b[0], b[1], end});
    if (kind == CP_SHAPE_BOX && !flat)
      count = line(at, count, (double[3]){a[0], a[1], -1}, (double[3]){a[0], a[1], 1});
    if (kind == CP_SHAPE_CYLINDER && !flat)
      count =
          line(at, count, (double[3]){r * a[0], r * a[1], -1}, (double[3]){r * a[0], r * a[1], 1});
    if (kind == CP_SHAPE_WHEEL)
      count = line(at, count, (double[3]){0, 0, 0}, (double[3]){r * a[0], r * a[1], 0});
  }
  return count;
}

static int compare_places(const void *first, const void *second) {
  const double *a = first, *b = second;
  return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

/* Andrew's monotone chain (Inf. Proc. Lett. 9, 1979): the lower edge from left to right, then the
 * upper one back. */
int convex_hull(double (*paper)[2], int n) {
  double corner[2 * OUTLINE_MOST][2];
  int count = 0;
  qsort(paper, (size_t)n, sizeof *paper, compare_places);
  for (int i = 0, least = 2; i < 2 * n; i++) {
    const double *x = paper[i < n ? i : 2 * n - 1 - i];
    if (i == n) { /* x is the last corner already */
      least = count + 1;
      continue;
    }
    while (count >= least &&
           (corner[count - 1][0] - corner[count - 2][0]) * (x[1] - corner[count - 2][1]) <=
               (corner[count - 1][1] - corner[count - 2][1]) * (x[0] - corner[count - 2][0]))
      count--;
    memcpy(corner[count++], x, sizeof corner[0]);
  }
  if (count > 0) count--; /* the last one is the first again */
  memcpy(paper, corner, (size_t)(count < n ? count : n) * sizeof *paper);
  return count < n ? count : n;
}

int spring_outline(double (*at)[2]) {
  enum { COILS = 6 };
  static const double straight = 0.15; /* straight fraction at each end */
  int count                    = 0;
  at[count][0] = 0, at[count++][1] = 0;
  for (int i = 0; i <= 2 * COILS; i++, count++) {
    at[count][0] = straight + (1 - 2 * straight) * i / (2 * COILS);
    at[count][1] = i == 0 || i == 2 * COILS ? 0 : i % 2 ? 1 : -1;
  }
  at[count][0] = 1, at[count++][1] = 0;
  return count;
}
