/* Contacts of curves in assemblies: cams. A curve is a plane spline (x(s), y(s)) of a part; its heading is atan2(y', x'). A point without mass
 * runs along each of both curves by a joint by functions, with the curve's heading, so that s on both curves are coordinates, and both
 * curves have one point and one tangent. */
#include "asmt_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 100000 };

/* The numbers of the row that begins with this letter and a tabulator, below the line `at`. x [most]: out. Returns their number, or -1 after a
 * message. */
static int rowOf(Asmt *a, int at, char letter, sunrealtype *x) {
  for (int i = at + 1; i < a->line[at].end; i = a->line[i].end) {
    const char *text = a->line[i].text;
    if (text[0] != letter || text[1] != '\t') continue;
    int n = 0;
    for (text += 2; *text; text += strspn(text, " \t")) {
      char *end;
      const sunrealtype value = strtod(text, &end);
      if (end == text || !isfinite(value) || n == MOST_POINTS)
        return asmtWrong(a, i, "there must be at most %d finite numbers", MOST_POINTS), -1;
      x[n++] = value, text = end;
    }
    return n;
  }
  return 0;
}

/* The spline of one coordinate; a curve that ends where it begins is periodic. */
static int splineOf(Asmt *a, int at, int n, const sunrealtype *s, sunrealtype *x, int closed,
                    CPFunction *f) {
  if (closed) x[n - 1] = x[0];
  const CPTable table = {
      CP_SIZED(CPTable), .order = 5, .ends = closed ? CP_ENDS_PERIODIC : CP_ENDS_NATURAL,
      .nx = n,           .x = s,     .value = x};
  CPFunctionOptions options = CP_INIT(CPFunctionOptions);
  options.table             = &table;
  return CPFunctionCreate(&options, f) ? asmtWrong(a, at, "%s", CPObjectGetLastMessage(NULL)) : 0;
}

static int headingOf(Asmt *a, int at, AsmtCurve *curve) {
  static const char *const variable[] = {"s"};
  const CPDefinition definition[2]    = {
         {CP_SIZED(CPDefinition), .name = "x", .function = curve->motion[0]},
         {CP_SIZED(CPDefinition), .name = "y", .function = curve->motion[1]}};
  CPFunctionOptions options = CP_INIT(CPFunctionOptions);
  options.text              = "atan2(y'(s), x'(s))";
  options.nvariables        = 1;
  options.variable          = variable;
  options.ndefinitions      = 2;
  options.definition        = definition;
  return CPFunctionCreate(&options, &curve->motion[2])
             ? asmtWrong(a, at, "%s", CPObjectGetLastMessage(NULL))
             : 0;
}

/* The rows s, x, y, z of numbers [4][MOST_POINTS]; z may be missing. Returns the number of points, 0 if they are no plane curve, or -1 after a
 * message. */
static int pointsOf(Asmt *a, int at, sunrealtype (*row)[MOST_POINTS]) {
  int n[4];
  for (int k = 0; k < 4; k++)
    if ((n[k] = rowOf(a, at, "sxyz"[k], row[k])) < 0) return -1;
  if (n[0] < 4 || n[1] != n[0] || n[2] != n[0] || (n[3] != 0 && n[3] != n[0])) return 0;
  for (int i = 1; i < n[3]; i++)
    if (row[3][i] != row[3][0]) return 0;
  return n[0];
}

/* The plane spline below the line `at`. It stays without functions, and contacts of it are left out, if it is none. */
static int readSpline(Asmt *a, int at, AsmtCurve *curve) {
  static const sunrealtype same = SUN_RCONST(1e-10); /* of numbers with fourteen digits */
  sunrealtype order = 0, size = 0, gap = 0, (*row)[MOST_POINTS] = calloc(4, sizeof *row);
  const int n = !row ? asmtWrong(a, at, "no memory"), -1 : pointsOf(a, at, row);
  int failed  = n < 0 || asmtNumbers(a, at, "Order", 1, &order);
  if (n > 0 && order == 5 && !failed) {
    for (int i = 0; i < n; i++)
      size = fmax(size, hypot(row[1][i] - row[1][0], row[2][i] - row[2][0]));
    gap = hypot(row[1][n - 1] - row[1][0], row[2][n - 1] - row[2][0]);
    for (int k = 0; k < 2 && !failed; k++)
      failed = splineOf(a, at, n, row[0], row[k + 1], gap <= same * size, &curve->motion[k]);
    add3(row[3][0],
         (sunrealtype[]){curve->frame.A[0][2], curve->frame.A[1][2], curve->frame.A[2][2]},
         curve->frame.r);
    failed = failed || headingOf(a, at, curve);
  }
  free(row);
  return failed;
}

/* A marker of a curve, at s: its place, with x along the tangent */
static int placeOn(Asmt *a, int at, const AsmtCurve *curve, sunrealtype s, AsmtFrame *frame) {
  sunrealtype z[3];
  AsmtFrame there = asmt_origin;
  for (int k = 0; k < 3; k++)
    if (CPFunctionEvaluate(curve->motion[k], &s, &z[k], NULL, NULL))
      return asmtWrong(a, at, "its curve has no tangent at s = %g", (double)s);
  there.r[0] = z[0], there.r[1] = z[1];
  there.A[0][0] = there.A[1][1] = cos(z[2]);
  there.A[1][0]                 = sin(z[2]);
  there.A[0][1]                 = -there.A[1][0];
  asmtFollow(&curve->frame, &there, frame);
  return 0;
}

int asmtReadCurves(Asmt *a, int at, int part, const char *assembly, const char *owner) {
  const int curves = asmtChild(a, at, "RefCurves");
  for (int i = curves + 1; curves != NONE && i < a->line[curves].end; i = a->line[i].end) {
    const int spline = asmtChild(a, i, "GeneralSpline"), markers = asmtChild(a, i, "CurveMarkers");
    if (ROOM(a->curve, a->ncurves, 1)) return asmtWrong(a, i, "no memory");
    AsmtCurve *curve = &a->curve[a->ncurves++];
    *curve           = (AsmtCurve){.motion = {NULL}};
    if (asmtFrame(a, i, &curve->frame) || (spline != NONE && readSpline(a, spline, curve)))
      return 1;
    for (int k = markers + 1; markers != NONE && k < a->line[markers].end; k = a->line[k].end) {
      AsmtMarker own = {.part = part, .frame = curve->frame, .curve = a->ncurves};
      if (asmtNumbers(a, k, "s", 1, &own.s) ||
          (curve->motion[2] && placeOn(a, k, curve, own.s, &own.frame)) ||
          asmtAddMarker(a, k, assembly, owner, &own))
        return 1;
    }
  }
  return 0;
}

/* The joint by which the point with this name runs along a curve from s on. z, x: signs of the axes of the point in those of the curve; height:
 * of the plane of the curve above the point */
static int runAlong(Asmt *a, int at, const char *name, const char *point, const AsmtMarker *on,
                    const int *sign, sunrealtype height) {
  static const char *const names[] = {"s"};
  const AsmtCurve *curve           = &a->curve[on->curve - 1];
  CPJointMotion motion[3];
  for (int k = 0; k < 3; k++) {
    motion[k]          = (CPJointMotion)CP_INIT(CPJointMotion);
    motion[k].about    = k == 2;
    motion[k].axis[k]  = 1;
    motion[k].function = curve->motion[k];
  }
  const CPJoint joint = {
      CP_NEW_JOINT(name),
      .kind         = CP_JOINT_CUSTOM,
      .a            = asmtPartName(a, on->part),
      .b            = point,
      .in           = CP_IN_BODIES,
      .on_a         = asmtMarkerAt(&curve->frame),
      .on_b         = {.point = {0, 0, height}, .axis = {0, 0, sign[0]}, .across = {sign[1], 0, 0}},
      .motion       = motion,
      .nmotions     = 3,
      .ncoordinates = 1,
      .start        = {on->s},
      .names        = names};
  return asmtRefused(a, at, CPBodiesAdd(a->bodies, &joint.head, NULL));
}

int asmtAddContact(Asmt *a, int at, const char *name) {
  const AsmtMarker *side[2];
  AsmtFrame own[2];
  CPBody body        = {.mass = 0};
  int sign[2][2]     = {{1, 1}, {1, 1}};
  sunrealtype height = 0, along[2] = {0, 0};
  char point[110], second[110];
  for (int k = 0; k < 2; k++) {
    if (!(side[k] = asmtMarker(a, at, k ? "MarkerJ" : "MarkerI"))) return 1;
    if (side[k]->curve == 0 || !a->curve[side[k]->curve - 1].motion[2])
      return asmtNote(a, at, "contacts of curves that are no plane splines of order 5: %.60s", name);
    asmtPlaced(a, side[k]->part, &side[k]->frame, &own[k]);
  }
  for (int i = 0; i < 3; i++) {
    height += own[0].A[i][2] * (own[1].r[i] - own[0].r[i]);
    along[0] += own[0].A[i][2] * own[1].A[i][2];
    along[1] += own[0].A[i][0] * own[1].A[i][0];
  }
  for (int k = 0; k < 2; k++) sign[1][k] = along[k] < 0 ? -1 : 1;
  snprintf(point, sizeof point, "%.90s_point", name);
  snprintf(second, sizeof second, "%.90s_b", name);
  const int part = asmtAddPart(a, at, point, &own[0], &body);
  if (part == NONE) return 1;
  asmtName(a, second, second);
  snprintf(point, sizeof point, "%s", a->part[part].name);
  return runAlong(a, at, name, point, side[0], sign[0], 0) ||
         runAlong(a, at, second, point, side[1], sign[1], height);
}
