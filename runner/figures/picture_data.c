#include "picture_data.h"

#include "gnuplot.h"

#include <math.h>
#include <string.h>

enum { MOMENTS = 8, MOST_PATHS = 5 };
/* Of the size: what is closer is not told apart, in the drawing and on a path; paths that hide each other */
static const double fine = 1. / 1500, smooth = 1. / 400, apart = 1. / 30;

/* ---------------------------------------------------------------------------------------- moments -- */

static const double *point_at(const Picture *p, long frame, int point) {
  const Rows *frames = &p->history->frames;
  return frames->data + frame * frames->width + 1 + 3 * (long)point;
}

int picture_moments(const History *history) {
  return history->frames.rows < MOMENTS ? (int)history->frames.rows : MOMENTS;
}

static long frame_of(const History *history, int moment) {
  const int moments = picture_moments(history);
  return moments > 1 ? moment * (history->frames.rows - 1) / (moments - 1) : 0;
}

double picture_time(const History *history, int moment) {
  return history->frames.data[frame_of(history, moment) * history->frames.width];
}

static void write_point(const Picture *p, const double *paper) {
  gnuplot_number(p->script, paper[0]);
  gnuplot_number(p->script, paper[1]);
  fputc('\n', p->script);
}

static bool is_close(const Picture *p, const double *a, const double *b, double part) {
  return hypot(a[0] - b[0], a[1] - b[1]) < part * p->view.size;
}

/* Segments that follow each other are one line, without the points that nobody could tell apart */
static void write_segments(const Picture *p, long frame) {
  const RunInfo *info = p->history->info;
  double from[2], to[2], written[2] = {NAN, NAN};
  for (int s = 0; s < info->nsegments; s++) {
    const int *segment = info->segment[s];
    const bool follows = s > 0 && info->segment[s - 1][1] == segment[0];
    const bool goes_on = s + 1 < info->nsegments && info->segment[s + 1][0] == segment[1];
    view_project(&p->view, point_at(p, frame, segment[0]), from);
    view_project(&p->view, point_at(p, frame, segment[1]), to);
    if (!follows) {
      if (s > 0) fputc('\n', p->script);
      write_point(p, from);
      memcpy(written, from, sizeof written);
    }
    if (goes_on && is_close(p, to, written, fine)) continue;
    write_point(p, to);
    memcpy(written, to, sizeof written);
  }
}

void picture_write_moment(const Picture *p, int moment) {
  const RunInfo *info = p->history->info;
  const long frame    = frame_of(p->history, moment);
  fprintf(p->script, "$rods%d << EOD\n", moment);
  write_segments(p, frame);
  fprintf(p->script, "EOD\n");
  for (int kind = CP_POINT_GROUND; kind <= CP_POINT_MASS; kind++) {
    fprintf(p->script, "$points%d_%d << EOD\n", moment, kind);
    for (int i = 0; i < info->npoints; i++) {
      double paper[2];
      view_project(&p->view, point_at(p, frame, i), paper);
      if (info->kind[i] == kind) write_point(p, paper);
    }
    fprintf(p->script, "EOD\n");
  }
}

/* ---------------------------------------------------------------------------------------- paths -- */

static bool moves(const Picture *p, int point) {
  double start[2], now[2];
  if (p->history->info->kind[point] == CP_POINT_GROUND) return false;
  view_project(&p->view, point_at(p, 0, point), start);
  for (long f = 1; f < p->history->frames.rows; f++) {
    view_project(&p->view, point_at(p, f, point), now);
    if (!is_close(p, start, now, fine)) return true;
  }
  return false;
}

static void write_path(const Picture *p, int point, int number) {
  double paper[2], written[2] = {NAN, NAN};
  fprintf(p->script, "$path%d << EOD\n", number);
  for (long f = 0; f < p->history->frames.rows; f++) {
    view_project(&p->view, point_at(p, f, point), paper);
    const bool last = f + 1 == p->history->frames.rows;
    if (is_close(p, paper, written, smooth) && !last) continue;
    write_point(p, paper);
    memcpy(written, paper, sizeof written);
  }
  fprintf(p->script, "EOD\n");
}

/* Are two points close at first, midway, and at the end? Then their paths hide each other */
static bool go_together(const Picture *p, int a, int b) {
  const long last = p->history->frames.rows - 1, frames[] = {0, last / 2, last};
  for (int i = 0; i < 3; i++) {
    double at[2], other[2];
    view_project(&p->view, point_at(p, frames[i], a), at);
    view_project(&p->view, point_at(p, frames[i], b), other);
    if (!is_close(p, at, other, apart)) return false;
  }
  return true;
}

/* Of the points that move some, the last among them */
int picture_write_paths(const Picture *p) {
  const int npoints = p->history->info->npoints;
  int moving = 0, seen = 0, count = 0, newest = -1;
  for (int i = 0; i < npoints; i++) moving += moves(p, i);
  for (int i = 0; i < npoints && count < MOST_PATHS; i++) {
    if (!moves(p, i)) continue;
    seen++;
    if (moving > MOST_PATHS && seen * MOST_PATHS / moving <= count) continue;
    if (newest >= 0 && go_together(p, newest, i)) continue;
    write_path(p, i, count++);
    newest = i;
  }
  return count;
}
