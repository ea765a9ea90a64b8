#include "view.h"

#include <math.h>

void view_project(const View *view, const double *xyz, double *paper) {
  const double x = xyz[0], y = xyz[1], z = xyz[2];
  paper[0] = view->spatial ? (x - z) * sqrt(0.5) : x; /* seen from (1, 1, 1) */
  paper[1] = view->spatial ? (2 * y - x - z) / sqrt(6) : y;
}

const char *axes_of(const History *history) {
  return history->info->settings->model.type->z_is_up ? "yzx" : "xyz";
}

static double positive(double extent) { return extent > 0 && isfinite(extent) ? extent : 1; }

Box box_of(const History *history) {
  const Rows *frames = &history->frames;
  Box b              = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, 0, false};
  for (long i = 0; i < frames->rows; i++)
    for (long k = 0; k + 1 < frames->width; k++) {
      const double x = frames->data[i * frames->width + 1 + k];
      if (!isfinite(x)) continue;
      b.least[k % 3] = fmin(b.least[k % 3], x);
      b.most[k % 3]  = fmax(b.most[k % 3], x);
    }
  for (int k = 0; k < 3; k++) {
    if (isnan(b.least[k])) b.least[k] = b.most[k] = 0;
    b.extent = fmax(b.extent, b.most[k] - b.least[k]);
  }
  b.extent  = positive(b.extent);
  b.spatial = b.most[2] - b.least[2] > b.extent / VIEW_LEVELS;
  return b;
}

View view_of(const History *history) {
  const Rows *frames = &history->frames;
  View view          = {box_of(history).spatial, {NAN, NAN}, {NAN, NAN}, 1};
  for (long i = 0; i < frames->rows; i++)
    for (long p = 1; p < frames->width; p += 3) {
      double paper[2];
      view_project(&view, frames->data + i * frames->width + p, paper);
      for (int k = 0; k < 2 && isfinite(paper[0]) && isfinite(paper[1]); k++) {
        view.low[k]  = fmin(view.low[k], paper[k]);
        view.high[k] = fmax(view.high[k], paper[k]);
      }
    }
  for (int k = 0; k < 2; k++)
    if (isnan(view.low[k])) view.low[k] = view.high[k] = 0;
  view.size = positive(fmax(view.high[0] - view.low[0], view.high[1] - view.low[1]));
  return view;
}

double nice_length(double most) {
  const double power = pow(10, floor(log10(most))), digit = most / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}
