#include "view.h"

#include <math.h>

static const double flat = 1e-9; /* so much of the size may z differ in a plane */

void view_project(const View *view, const double *xyz, double *paper) {
  const double x = xyz[0], y = xyz[1], z = xyz[2];
  paper[0] = view->spatial ? (x - z) * sqrt(0.5) : x; /* seen from (1, 1, 1) */
  paper[1] = view->spatial ? (2 * y - x - z) / sqrt(6) : y;
}

/* Ranges of x, y, z over all frames; NaN is no number */
static void find_ranges(const Rows *frames, double *low, double *high) {
  for (int k = 0; k < 3; k++) low[k] = high[k] = NAN;
  for (long i = 0; i < frames->rows; i++) {
    const double *xyz = frames->data + i * frames->width + 1;
    for (long p = 0; p < frames->width - 1; p++) {
      low[p % 3]  = fmin(low[p % 3], xyz[p]);
      high[p % 3] = fmax(high[p % 3], xyz[p]);
    }
  }
}

static void find_paper(View *view, const Rows *frames) {
  for (int k = 0; k < 2; k++) view->low[k] = view->high[k] = NAN;
  for (long i = 0; i < frames->rows; i++)
    for (long p = 1; p < frames->width; p += 3) {
      double paper[2];
      view_project(view, frames->data + i * frames->width + p, paper);
      for (int k = 0; k < 2; k++) {
        view->low[k]  = fmin(view->low[k], paper[k]);
        view->high[k] = fmax(view->high[k], paper[k]);
      }
    }
}

View view_of(const History *history) {
  View view = {.spatial = false};
  double low[3], high[3];
  find_ranges(&history->frames, low, high);
  const double plane = fmax(high[0] - low[0], high[1] - low[1]);
  view.spatial       = high[2] - low[2] > flat * plane;
  find_paper(&view, &history->frames);
  for (int k = 0; k < 2; k++)
    if (isnan(view.low[k])) view.low[k] = view.high[k] = 0;
  view.size = fmax(view.high[0] - view.low[0], view.high[1] - view.low[1]);
  if (!(view.size > 0) || !isfinite(view.size)) view.size = 1;
  return view;
}

double nice_length(double most) {
  const double power = pow(10, floor(log10(most))), digit = most / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}
