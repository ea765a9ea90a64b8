#include "crank_drawing.h"
#include "plugin.h"

#include "types.h"

#include <math.h>

enum { PIVOT, PIN, SLIDER, ROD_END, SPRING_CRANK, SPRING_ROD, GUIDE_LEFT, GUIDE_RIGHT, NPOINTS };

int crank_draw(CPPlugin *model) {
  static const CPPluginPointKind kind[NPOINTS] = {
      [PIVOT] = CP_POINT_GROUND,       [PIN] = CP_POINT_JOINT,
      [SLIDER] = CP_POINT_MASS,        [ROD_END] = CP_POINT_JOINT,
      [SPRING_CRANK] = CP_POINT_PLAIN, [SPRING_ROD] = CP_POINT_PLAIN,
      [GUIDE_LEFT] = CP_POINT_GROUND,  [GUIDE_RIGHT] = CP_POINT_GROUND};
  static const int segment[][2] = {{PIVOT, PIN},
                                   {PIN, SLIDER},
                                   {SLIDER, ROD_END},
                                   {SPRING_CRANK, SPRING_ROD},
                                   {GUIDE_LEFT, GUIDE_RIGHT}};
  if (CPPluginDraw(model, NPOINTS, kind, sizeof segment / sizeof segment[0], segment, 0, NULL))
    return -1;
  model->drawing.segment_kind[3] = CP_SEGMENT_SPRING;
  return 0;
}

void crank_points(sunrealtype a, sunrealtype q, sunrealtype x, sunrealtype y, sunrealtype p,
                  sunrealtype *xyz) {
  const sunrealtype c1 = a * cos(q), s1 = a * sin(q), c2 = cos(p), s2 = sin(p);
  const sunrealtype at[NPOINTS][2] = {[PIN]          = {c1, s1},
                                      [SLIDER]       = {x, y},
                                      [ROD_END]      = {x + c2, y + s2},
                                      [SPRING_CRANK] = {c1 / 2, s1 / 2},
                                      [SPRING_ROD]   = {x - c2 / 2, y - s2 / 2},
                                      [GUIDE_LEFT]   = {0.5 - a, 0},
                                      [GUIDE_RIGHT]  = {1.5 + a, 0}};
  plugin_planar(NPOINTS, at, xyz);
}
