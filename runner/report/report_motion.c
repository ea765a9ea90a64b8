/* The frames of the animation as integers: differences between frames in units of a few thousandths
 * of the largest extent, which are short, and exact enough for a screen. */
#include "../figures/view.h"
#include "report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

bool report_moves(const Report *r) { return r->info->npoints > 0 && r->history->frames.rows > 0; }

/* Coordinates of a frame: [3 npoints] */
static const double *frame_at(const Report *r, long i) {
  return r->history->frames.data + i * r->history->frames.width + 1;
}

/* ---------------------------------------------------------------------------------------- data -- */

/* Each of these returns a new value, or NULL if out of memory. */
static json_t *times(const Report *r) {
  json_t *list = json_array();
  for (long i = 0; list && i < r->history->frames.rows; i++)
    json_array_append_new(list, json_real(frame_at(r, i)[-1]));
  return list;
}

static json_t *kinds(const Report *r) {
  json_t *list = json_array();
  for (int i = 0; list && i < r->info->npoints; i++)
    json_array_append_new(list, json_integer(r->info->kind[i]));
  return list;
}

/* The start, the end and the look of each segment (CPPluginSegmentKind). */
static json_t *segments(const Report *r) {
  json_t *list = json_array();
  for (int i = 0; list && i < r->info->nsegments; i++)
    json_array_append_new(list, json_pack("[i,i,i]", r->info->segment[i][0], r->info->segment[i][1],
                                          (int)segment_look(r->info, i)));
  return list;
}

/* The kind of each shape, and the points of its centre and of the ends of its half axes. */
static json_t *shapes(const Report *r) {
  json_t *list = json_array();
  for (int i = 0; list && i < r->info->nshapes; i++) {
    const CPPluginShape *s = &r->info->shape[i];
    json_array_append_new(list, json_pack("[i,i,i,i,i]", (int)s->kind, s->point[0], s->point[1],
                                          s->point[2], s->point[3]));
  }
  return list;
}

/* For each kind of shape that occurs, the places of its lines along the half axes; null ends a
 * line. */
static json_t *outlines(const Report *r, bool flat) {
  json_t *kinds = json_array();
  double at[OUTLINE_MOST][3];
  for (int kind = 0; kinds && kind <= CP_SHAPE_WHEEL; kind++) {
    json_t *list = json_array();
    int count    = 0;
    for (int i = 0; i < r->info->nshapes && !count; i++)
      if ((int)r->info->shape[i].kind == kind) count = shape_outline(kind, flat, at);
    for (int i = 0; list && i < count; i++)
      json_array_append_new(
          list, isnan(at[i][0]) ? json_null() : json_pack("[f,f,f]", at[i][0], at[i][1], at[i][2]));
    json_array_append_new(kinds, list);
  }
  return kinds;
}

static json_t *coil(void) {
  json_t *list = json_array();
  double at[SPRING_MOST][2];
  const int count = spring_outline(at);
  for (int i = 0; list && i < count; i++)
    json_array_append_new(list, json_pack("[f,f]", at[i][0], at[i][1]));
  return list;
}

/* newest [3 npoints]: in, out, the sums of the integers up to the frame. A point that is not finite
 * stays where it was. */
static json_t *changes(const Report *r, long frame, const Box *b, long *newest) {
  const int dimension = b->spatial ? 3 : 2;
  const double *x = frame_at(r, frame), unit = b->extent / VIEW_LEVELS;
  json_t *list = json_array();
  for (long k = 0; list && k < 3 * (long)r->info->npoints; k++) {
    if (k % 3 >= dimension) continue;
    const long now = isfinite(x[k]) ? lround((x[k] - b->least[k % 3]) / unit) : newest[k];
    json_array_append_new(list, json_integer(now - newest[k]));
    newest[k] = now;
  }
  return list;
}

static json_t *frames(const Report *r, const Box *b) {
  long *newest = calloc(3 * (size_t)r->info->npoints, sizeof *newest);
  json_t *list = newest ? json_array() : NULL;
  for (long i = 0; list && i < r->history->frames.rows; i++)
    json_array_append_new(list, changes(r, i, b, newest));
  free(newest);
  return list;
}

/* ---- forces of contacts ---- */

/* The place and the force of contact i in a frame: [6]. */
static const double *arrow_at(const Report *r, long frame, int i) {
  return frame_at(r, frame) + 3L * r->info->npoints + 6L * i;
}

static double size_of(const double *force) { return hypot(hypot(force[0], force[1]), force[2]); }

double report_usual_force(const Report *r) {
  const long frames = r->history->frames.rows, most = frames * r->info->narrows;
  double *size = calloc((size_t)most + 1, sizeof *size);
  long count   = 0;
  for (long f = 0; f < frames && size; f++)
    for (int i = 0; i < r->info->narrows; i++) {
      const double force = size_of(arrow_at(r, f, i) + 3);
      if (isfinite(force) && force > 0) size[count++] = force;
    }
  if (count > 0) qsort(size, (size_t)count, sizeof *size, ascending);
  const double usual = count > 0 ? size[(count - 1) * 9 / 10] : 0;
  free(size);
  return usual;
}

/* For each frame the contacts with a force: number, place in units of the drawing, force in units
 * of unit. */
static json_t *arrows(const Report *r, const Box *b, double unit) {
  const int dimension = b->spatial ? 3 : 2;
  json_t *list        = json_array();
  for (long f = 0; list && f < r->history->frames.rows; f++) {
    json_t *frame = json_array();
    for (int i = 0; frame && i < r->info->narrows; i++) {
      const double *x = arrow_at(r, f, i), *force = x + 3;
      if (!isfinite(size_of(x)) || !(size_of(force) > unit) || !isfinite(size_of(force))) continue;
      json_array_append_new(frame, json_integer(i));
      for (int k = 0; k < dimension; k++)
        json_array_append_new(frame,
                              json_integer(lround((x[k] - b->least[k]) * VIEW_LEVELS / b->extent)));
      for (int k = 0; k < dimension; k++)
        json_array_append_new(frame, json_integer(lround(force[k] / unit)));
    }
    json_array_append_new(list, frame);
  }
  return list;
}

/* Returns null if there are none. */
static json_t *forces(const Report *r, const Box *b) {
  enum { FORCE_LEVELS = 500 };
  const double usual = r->usual_force, unit = usual / FORCE_LEVELS;
  if (!(usual > 0)) return json_null();
  return json_pack("{s:f, s:f, s:s, s:o}", "usual", usual, "unit", unit, "name",
                   has_units(r->info) ? " N" : "", "frames", arrows(r, b, unit));
}

static json_t *motion(const Report *r) {
  const Box b = box_of(r->history);
  return json_pack(
      "{s:i, s:s, s:s, s:s, s:f, s:[f,f,f], s:[f,f,f], s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
      "dimension", b.spatial ? 3 : 2, "axes", axes_of(r->history), "lengths",
      has_units(r->info) ? " m" : "", "clock", has_units(r->info) ? " s" : "", "unit",
      b.extent / VIEW_LEVELS, "origin", b.least[0], b.least[1], b.least[2], "most", b.most[0],
      b.most[1], b.most[2], "kinds", kinds(r), "segments", segments(r), "shapes", shapes(r),
      "outlines", outlines(r, !b.spatial), "coil", coil(), "times", times(r), "frames",
      frames(r, &b), "forces", forces(r, &b));
}

static int put_safely(const char *text, size_t length, void *out) {
  html_script(out, text, length);
  return 0;
}

void report_motion_data(const Report *r, FILE *out) {
  json_t *data = motion(r);
  if (data) json_dump_callback(data, put_safely, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
  else complain("there is no memory for the animation, which is left out of the report");
  json_decref(data);
}

/* --------------------------------------------------------------------------------------- words -- */

void report_motion_class(const Report *r, FILE *out) {
  const Box b = box_of(r->history);
  fprintf(out, "%s%s", b.spatial ? "space" : "plane", report_is_pictured(r) ? " pictured" : "");
}

static void range(FILE *out, char axis, double least, double most) {
  char from[NUMBER_TEXT], to[NUMBER_TEXT];
  fprintf(out, ", %c from %s to %s m", axis, number_text(from, least, 4), number_text(to, most, 4));
}

void report_motion_description(const Report *r, FILE *out) {
  const Box b         = box_of(r->history);
  const int dimension = b.spatial ? 3 : 2;
  const char *axes    = axes_of(r->history);
  char t[NUMBER_TEXT];
  fprintf(out, "Points: %d, segments: %d, %s", r->info->npoints, r->info->nsegments,
          dimension == 3   ? "in space"
          : axes[1] == 'z' ? "in the plane of y and z"
                           : "in the plane of x and y");
  for (int a = 0; a < dimension; a++) range(out, axes[a], b.least[a], b.most[a]);
  fprintf(out, ", until t = %s s. Lengths are true to scale in both directions.",
          number_text(t, r->history->last_t, 6));
}

void report_motion_keys(const Report *r, FILE *out) {
  const Box b = box_of(r->history);
  fputs("Keys, when the picture has the focus: <kbd>Space</kbd> plays and pauses, ", out);
  fputs(
      b.spatial
          ? "<kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd> turn the view (so does dragging), "
            "<kbd>Page Up</kbd> <kbd>Page Down</kbd> move in time, "
          : "<kbd>←</kbd> <kbd>→</kbd> move in time by a hundredth, <kbd>Page Up</kbd> <kbd>Page "
            "Down</kbd> by a tenth, ",
      out);
  fputs("<kbd>Home</kbd> and <kbd>End</kbd> go to the start and the end, <kbd>+</kbd> and "
        "<kbd>-</kbd> "
        "zoom, and then dragging (in space with <kbd>Shift</kbd>) and <kbd>Shift</kbd> with arrows "
        "move the picture.",
        out);
}

/* -------------------------------------------------------------------------------------- legend -- */

static bool has_kind(const Report *r, int kind) {
  for (int i = 0; i < r->info->npoints; i++)
    if (r->info->kind[i] == kind) return true;
  return false;
}

static bool has_segment(const Report *r, CPPluginSegmentKind look) {
  for (int i = 0; i < r->info->nsegments; i++)
    if (segment_look(r->info, i) == look) return true;
  return false;
}

static void entry(FILE *out, bool shown, const char *shape, const char *name) {
  if (shown)
    fprintf(
        out,
        "<li><svg viewBox=\"0 0 32 20\" aria-hidden=\"true\" focusable=\"false\">%s</svg>%s</li>\n",
        shape, name);
}

void report_legend(const Report *r, FILE *out) {
  entry(out, has_kind(r, CP_POINT_GROUND),
        "<path d=\"M11 3h10v9h-10z\" fill=\"var(--ground)\"/><path d=\"M6 12h20M12 12l-4 6M18 "
        "12l-4 6M24 "
        "12l-4 6\" stroke=\"var(--ground)\" stroke-width=\"1.5\"/>",
        "ground");
  entry(out, has_kind(r, CP_POINT_JOINT),
        "<circle cx=\"16\" cy=\"10\" r=\"6\" fill=\"var(--joint)\" stroke=\"var(--body)\" "
        "stroke-width=\"2.5\"/>",
        "joint or point of a body");
  entry(out, has_kind(r, CP_POINT_MASS),
        "<circle cx=\"16\" cy=\"10\" r=\"7\" fill=\"var(--mass)\"/>", "mass");
  entry(out, has_segment(r, CP_SEGMENT_BAR),
        "<path d=\"M3 10h26\" stroke=\"var(--body)\" stroke-width=\"4\" stroke-linecap=\"round\"/>",
        "link");
  entry(
      out, has_segment(r, CP_SEGMENT_GUIDE),
      "<path d=\"M2 10h28\" stroke=\"var(--ground)\" stroke-width=\"2\" stroke-dasharray=\"6 5\"/>",
      "guide");
  entry(out, has_segment(r, CP_SEGMENT_SPRING),
        "<path d=\"M2 10h5l2 -5l4 10l4 -10l4 10l2 -5h7\" fill=\"none\" stroke=\"var(--body)\" "
        "stroke-width=\"1.8\"/>",
        "spring or damper");
  entry(out, r->info->nshapes > 0,
        "<path d=\"M4 4h24v12h-24z\" fill=\"var(--mass)\" fill-opacity=\".2\" "
        "stroke=\"var(--mass)\" stroke-width=\"1.5\"/>",
        "shape of a body");
  entry(out, r->usual_force > 0,
        "<path d=\"M3 10h20\" stroke=\"var(--force)\" stroke-width=\"2.5\"/><path d=\"M21 4l9 6l-9 "
        "6z\" fill=\"var(--force)\"/>",
        "force on the body at a contact");
  entry(out, true,
        "<path d=\"M2 14q14 -14 28 -4\" fill=\"none\" stroke=\"var(--trail)\" stroke-width=\"2\"/>",
        "path of the last moments");
}
