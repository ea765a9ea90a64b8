#include "picture.h"

#include "../options.h"
#include "figures.h"
#include "gnuplot.h"
#include "view.h"

#include <math.h>
#include <string.h>

enum { MOST_MARKS = 80, MOST_PALE = 12, MOST_POINTS = 400, WIDTH = 480, MARGIN = 70 };

bool picture_possible(const History *history) {
  return history->frames.rows > 0 && history->info->npoints > 0;
}

typedef struct {
  FILE *script;
  const Theme *theme;
  const History *history;
  View view;
} Picture;

enum { MOMENTS = 8, MOST_PATHS = 5 };
/* Relative to the size: distances below which points coincide, in the drawing and on a path, and
 * below which paths hide each other */
static const double fine = 1. / 1500, smooth = 1. / 400, apart = 1. / 30;
static const double coil = 1. / 60; /* relative to the size: half the width of a spring */

/* ---------------------------------------------------------------------------------------- moments -- */

static const double *point_at(const Picture *p, long frame, int point) {
  const Rows *frames = &p->history->frames;
  return frames->data + frame * frames->width + 1 + 3 * (long)point;
}

static int picture_moments(const History *history) {
  return history->frames.rows < MOMENTS ? (int)history->frames.rows : MOMENTS;
}

static long frame_of(const History *history, int moment) {
  const int moments = picture_moments(history);
  return moments > 1 ? moment * (history->frames.rows - 1) / (moments - 1) : 0;
}

static double picture_time(const History *history, int moment) {
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

static int count_looks(const RunInfo *info, CPPluginSegmentKind look) {
  int count = 0;
  for (int s = 0; s < info->nsegments; s++) count += segment_look(info, s) == look;
  return count;
}

static void write_spring(const Picture *p, const double *from, const double *to) {
  double at[SPRING_MOST][2];
  const int count       = spring_outline(at);
  const double along[2] = {to[0] - from[0], to[1] - from[1]};
  const double width    = coil * p->view.size / hypot(along[0], along[1]);
  for (int i = 0; i < count && isfinite(width); i++)
    write_point(p, (double[2]){from[0] + at[i][0] * along[0] - width * at[i][1] * along[1],
                               from[1] + at[i][0] * along[1] + width * at[i][1] * along[0]});
  fputc('\n', p->script);
}

/* Writes the segments of one look. Consecutive bars are one line, without points that cannot be
 * distinguished. */
static void write_segments(const Picture *p, long frame, CPPluginSegmentKind look) {
  const RunInfo *info = p->history->info;
  double from[2], to[2], written[2] = {NAN, NAN};
  for (int s = 0; s < info->nsegments; s++) {
    const int *segment = info->segment[s];
    if (segment_look(info, s) != look) continue;
    const bool follows =
        s > 0 && segment_look(info, s - 1) == look && info->segment[s - 1][1] == segment[0];
    const bool goes_on = s + 1 < info->nsegments && segment_look(info, s + 1) == look &&
                         info->segment[s + 1][0] == segment[1];
    view_project(&p->view, point_at(p, frame, segment[0]), from);
    view_project(&p->view, point_at(p, frame, segment[1]), to);
    if (look == CP_SEGMENT_SPRING) {
      write_spring(p, from, to);
      continue;
    }
    if (!follows) {
      if (!isnan(written[0])) fputc('\n', p->script);
      write_point(p, from);
      memcpy(written, from, sizeof written);
    }
    if (goes_on && is_close(p, to, written, fine)) continue;
    write_point(p, to);
    memcpy(written, to, sizeof written);
  }
}

/* Writes the lines of all shapes, or the outer edge of each. */
static void write_shapes(const Picture *p, long frame, bool edges) {
  const RunInfo *info = p->history->info;
  double at[OUTLINE_MOST][3], paper[OUTLINE_MOST][2];
  for (int s = 0; s < info->nshapes; s++) {
    const CPPluginShape *shape = &info->shape[s];
    const double *o            = point_at(p, frame, shape->point[0]);
    const int count            = shape_outline(shape->kind, !p->view.spatial, at);
    int places                 = 0;
    for (int i = 0; i < count; i++) {
      double x[3];
      for (int k = 0; k < 3; k++) {
        x[k] = o[k];
        for (int j = 0; j < 3; j++)
          x[k] += at[i][j] * (point_at(p, frame, shape->point[1 + j])[k] - o[k]);
      }
      view_project(&p->view, x, paper[places]);
      if (isfinite(paper[places][0])) places++;
      if (edges) continue;
      if (isnan(at[i][0])) fputc('\n', p->script);
      else write_point(p, paper[places - 1]);
    }
    if (!edges) continue;
    places = convex_hull(paper, places);
    for (int i = 0; i <= places && places > 0; i++) write_point(p, paper[i % places]);
    fputc('\n', p->script);
  }
}

static void picture_write_moment(const Picture *p, int moment) {
  const RunInfo *info = p->history->info;
  const long frame    = frame_of(p->history, moment);
  fprintf(p->script, "$rods%d << EOD\n", moment);
  write_segments(p, frame, CP_SEGMENT_BAR);
  fprintf(p->script, "EOD\n$springs%d << EOD\n", moment);
  write_segments(p, frame, CP_SEGMENT_SPRING);
  fprintf(p->script, "EOD\n$shapes%d << EOD\n", moment);
  write_shapes(p, frame, false);
  fprintf(p->script, "EOD\n$edges%d << EOD\n", moment);
  write_shapes(p, frame, true);
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
  const int kind = p->history->info->kind[point];
  if (kind == CP_POINT_GROUND || kind == CP_POINT_PLAIN) return false;
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

/* Are two points close to each other at the start, in the middle and at the end? Then their paths
 * hide each other. */
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

/* Writes the paths of some of the moving points, the last one among them. */
static int picture_write_paths(const Picture *p) {
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

/* ------------------------------------------------------------------------------------- commands -- */

static int count_kind(const RunInfo *info, int kind) {
  int count = 0;
  for (int i = 0; i < info->npoints; i++) count += info->kind[i] == kind;
  return count;
}

/* "#aarrggbb" of a moment: pale at first. */
static void fade(const char *colour, int moment, int moments, char *faded, size_t length) {
  const int transparency =
      moments > 1 ? (int)(215 * pow(1 - moment / (moments - 1.), 0.8)) : 0; /* 0: opaque */
  snprintf(faded, length, "#%02x%s", transparency, colour + 1);
}

static const char *separator(int *curves) { return (*curves)++ ? ", " : "plot"; }

/* Many marks hide the lines, so they appear only at the last moment, and not at all if even that
 * has too many. */
static bool shows(const RunInfo *info, CPPluginPointKind kind, bool last) {
  const int count = count_kind(info, kind);
  return count > 0 && (info->nsegments == 0 || count <= (last ? MOST_POINTS : MOST_PALE));
}

static void plot_joints(const Picture *p, int moment, bool last, const char *colour, int *curves) {
  const bool many = count_kind(p->history->info, CP_POINT_JOINT) > MOST_MARKS / 2;
  if (last && !many) /* rings are hollow */
    fprintf(p->script, "%s $points%d_1 with points pt 7 ps 0.8 lc rgb '%s'", separator(curves),
            moment, p->theme->paper);
  fprintf(p->script, "%s $points%d_1 with points pt 6 ps %s lw 1.4 lc rgb '%s'", separator(curves),
          moment,
          many   ? "0.3"
          : last ? "0.8"
                 : "0.5",
          colour);
}

static void plot_moment(const Picture *p, int moment, int *curves) {
  const RunInfo *info = p->history->info;
  const int moments   = picture_moments(p->history);
  const bool last     = moment + 1 == moments;
  const double width  = info->nsegments > 50 ? 1.5 : 2.6;
  char colour[16];
  fade(p->theme->colour(0), moment, moments, colour, sizeof colour);
  if (info->nshapes > 0 && last)
    fprintf(p->script,
            "%s $edges%d with filledcurves closed fs transparent solid 0.15 noborder fc rgb '%s'",
            separator(curves), moment, colour);
  if (info->nshapes > 0)
    fprintf(p->script, "%s $%s%d with lines lw 1 lc rgb '%s'", separator(curves),
            last ? "shapes" : "edges", moment, colour);
  if (count_looks(info, CP_SEGMENT_BAR) > 0)
    fprintf(p->script, "%s $rods%d with lines lw %.2g lc rgb '%s'", separator(curves), moment,
            last ? 1.3 * width : width, colour);
  if (count_looks(info, CP_SEGMENT_SPRING) > 0)
    fprintf(p->script, "%s $springs%d with lines lw 1.3 lc rgb '%s'", separator(curves), moment,
            colour);
  if (shows(info, CP_POINT_JOINT, last)) plot_joints(p, moment, last, colour, curves);
  if (shows(info, CP_POINT_MASS, last))
    fprintf(p->script, "%s $points%d_2 with points pt 7 ps %s lc rgb '%s'", separator(curves),
            moment, count_kind(info, CP_POINT_MASS) > MOST_MARKS ? "0.4" : "0.85", colour);
  if (last && shows(info, CP_POINT_GROUND, last))
    fprintf(p->script, "%s $points%d_0 with points pt 9 ps %s lc rgb '%s'", separator(curves),
            moment, count_kind(info, CP_POINT_GROUND) > MOST_MARKS / 2 ? "0.6" : "1", p->theme->ink);
}

/* Draws paths over the pale moments and behind the last one. */
static void plot_all(const Picture *p, int paths) {
  const int moments = picture_moments(p->history);
  int curves        = 0;
  if (count_looks(p->history->info, CP_SEGMENT_GUIDE) > 0)
    fprintf(p->script, "%s $guides with lines lw 1.6 dt (6,5) lc rgb '%s'", separator(&curves),
            p->theme->ink);
  for (int m = 0; m < moments - 1; m++) plot_moment(p, m, &curves);
  for (int i = 0; i < paths; i++)
    fprintf(p->script, "%s $path%d with lines lw 1.3 dt (5,3) lc rgb '%s'", separator(&curves), i,
            p->theme->colour(i + 1));
  plot_moment(p, moments - 1, &curves);
  fprintf(p->script, "\n");
}

/* Draws three short arrows instead of axes, to the left of everything. */
static void write_triad(const Picture *p) {
  const char *names      = axes_of(p->history);
  const double length    = nice_length(p->view.size / 8);
  const double origin[2] = {p->view.low[0] - length, p->view.low[1] + length};
  for (int k = 0; k < 3; k++) {
    const double unit[3] = {k == 0, k == 1, k == 2};
    double tip[2];
    view_project(&p->view, unit, tip);
    fprintf(p->script,
            "set arrow from %.6g, %.6g rto %.6g, %.6g size screen 0.01,20 lw 1.2 lc rgb '%s'\n",
            origin[0], origin[1], length * tip[0], length * tip[1], p->theme->ink);
    fprintf(p->script, "set label '%c' at %.6g, %.6g center textcolor rgb '%s'\n", names[k],
            origin[0] + 1.35 * length * tip[0], origin[1] + 1.35 * length * tip[1], p->theme->ink);
  }
}

static void write_axes(const Picture *p) {
  const View *v       = &p->view;
  const double margin = 0.05 * v->size;
  const char *unit = has_units(p->history->info) ? " [m]" : "", *names = axes_of(p->history);
  fprintf(p->script,
          "set xrange [%.8g:%.8g]\nset yrange [%.8g:%.8g]\nset size ratio -1\nunset key\n",
          v->low[0] - margin - (v->spatial ? 2 * nice_length(v->size / 8) : 0), v->high[0] + margin,
          v->low[1] - margin, v->high[1] + margin);
  if (v->spatial) {
    fprintf(p->script, "unset border\nunset tics\n");
    write_triad(p);
    return;
  }
  fprintf(p->script, "set border 3 lc rgb '%s'\nset tics nomirror scale 0.6 textcolor rgb '%s'\n",
          p->theme->ink, p->theme->ink);
  const double step =
      nice_length(v->size / 3.7); /* fewer than gnuplot would choose, since letters are large */
  fprintf(p->script, "set xtics %g\nset ytics %g\n", step, step);
  fprintf(p->script, "set grid lt 1 lc rgb '%s' lw 0.6\nset format '%%g'\n", p->theme->faint);
  fprintf(p->script, "set xlabel '%c%s' textcolor rgb '%s'\nset ylabel '%c%s' textcolor rgb '%s'\n",
          names[0], unit, p->theme->ink, names[1], unit, p->theme->ink);
}

void picture_plot(FILE *script, const Theme *theme, const History *history) {
  const Picture p = {script, theme, history, view_of(history)};
  const int paths = picture_write_paths(&p);
  fprintf(script, "$guides << EOD\n");
  write_segments(&p, history->frames.rows - 1, CP_SEGMENT_GUIDE);
  fprintf(script, "EOD\n");
  for (int m = 0; m < picture_moments(history); m++) picture_write_moment(&p, m);
  write_axes(&p);
  plot_all(&p, paths);
}

int picture_height(const History *history, int width) {
  const View v = view_of(history);
  const double aspect =
      (v.high[1] - v.low[1] + 0.1 * v.size) / (v.high[0] - v.low[0] + 0.1 * v.size);
  const double height = (width - MARGIN) * aspect;
  return MARGIN + (int)fmax(0.2 * width, fmin(height, 0.75 * width));
}

/* --------------------------------------------------------------------------------------- the file -- */

void picture_describe(const History *history, char *text, size_t length) {
  const RunInfo *info = history->info;
  const View view     = view_of(history);
  snprintf(text, length,
           "%s at %d moments from t = %.4g to %.4g, evenly spaced, pale at first and dark at the "
           "end%s. It moves within "
           "%.3g by %.3g. Triangles: fixed points; rings: joints; discs: masses; dashed "
           "lines: guides; thin ones: paths of points.",
           info->settings->model.type->title, picture_moments(history), picture_time(history, 0),
           picture_time(history, picture_moments(history) - 1),
           !view.spatial                ? ""
           : axes_of(history)[1] == 'z' ? ", seen from (1, 1, 1), z up"
                                        : ", seen from (1, 1, 1), y up",
           view.high[0] - view.low[0], view.high[1] - view.low[1]);
}

static void write_caption(FILE *script, const History *history) {
  char caption[200];
  const View view = view_of(history);
  snprintf(caption, sizeof caption, "%d moments, t = %.4g ... %.4g%s", picture_moments(history),
           picture_time(history, 0), picture_time(history, picture_moments(history) - 1),
           has_units(history->info) ? " s" : "");
  if (view.spatial)
    snprintf(caption + strlen(caption), sizeof caption - strlen(caption), "; arrows: %g%s",
             nice_length(view.size / 8), has_units(history->info) ? " m" : "");
  fprintf(script, "set title ");
  gnuplot_string(script, history->info->settings->model.type->title);
  fprintf(script, " noenhanced textcolor rgb '%s'\nset label ", paper_theme.ink);
  gnuplot_string(script, caption);
  fprintf(script,
          " at screen 0.5, screen 0.025 center noenhanced textcolor rgb '%s'\nset bmargin %d\n",
          paper_theme.ink, view.spatial ? 3 : 5);
}

int picture_write(const History *history, const char *path) {
  if (!picture_possible(history)) return complain("%s: the model has no drawing", path);
  FILE *script = tmpfile();
  if (!script) return complain("%s: there is no temporary file", path);
  gnuplot_set_terminal(script, path, WIDTH, picture_height(history, WIDTH) + MARGIN / 2);
  write_caption(script, history);
  picture_plot(script, &paper_theme, history);
  fprintf(script, "unset output\n");
  const int flag = gnuplot_write(script, path);
  fclose(script);
  return flag;
}
