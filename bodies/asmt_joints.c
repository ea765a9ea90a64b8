/* Joints of assemblies, from MarkerI to MarkerJ. Where rows of the solver hold for equal and for opposite axes alike, the second marker
 * is turned so that they are equal. Joints that the mechanism does not have are rows of joints with bodies without mass between
 * them. */
#include "asmt_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *key, const void *marker) {
  return strcmp(key, ((const AsmtMarker *)marker)->path);
}

const AsmtMarker *asmtMarker(Asmt *a, int at, const char *which) {
  const char *path    = asmtValue(a, at, which);
  const AsmtMarker *m = path && a->nmarkers > 0 ? bsearch(path, a->marker, (size_t)a->nmarkers,
                                                          sizeof *a->marker, compare)
                                                : NULL;
  if (!m) asmtWrong(a, at, "there is no marker \"%.200s\"", path ? path : which);
  return m;
}

static void axisOf(const AsmtFrame *frame, int k, sunrealtype *v) {
  for (int i = 0; i < 3; i++) v[i] = frame->A[i][k];
}

CPMarker asmtMarkerAt(const AsmtFrame *frame) {
  CPMarker m;
  memcpy(m.point, frame->r, sizeof m.point);
  axisOf(frame, 2, m.axis);
  axisOf(frame, 0, m.across);
  return m;
}

const char *asmtPartName(const Asmt *a, int part) {
  return part == NONE ? NULL : a->part[part].name;
}

/* Turns frame[1] by half turns about its axes so that its axes point as those of frame[0], where the joint aligns them. all: 0 if
 * it aligns only z */
static void alignTo(const Asmt *a, const int *part, AsmtFrame *frame, int all) {
  AsmtFrame own[2];
  sunrealtype one[3], two[3], sign[3] = {1, 1, 1};
  for (int k = 0; k < 2; k++) asmtPlaced(a, part[k], &frame[k], &own[k]);
  for (int k = all ? 0 : 2; k < 3; k += 2) {
    axisOf(&own[0], k, one);
    axisOf(&own[1], k, two);
    if (dot3(one, two) < 0) sign[k] = -1;
  }
  sign[1] = sign[0] * sign[2];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) frame[1].A[i][k] *= sign[k];
}

/* Adds a joint between two parts, at frames of them, and keeps it. */
static int join(Asmt *a, int at, const char *name, const char *path, CPJointKind kind,
                const int *part, const AsmtFrame *frame, sunrealtype length) {
  AsmtFrame own, other;
  CPJoint joint = {CP_NEW_JOINT(name),
                   .kind   = kind,
                   .a      = asmtPartName(a, part[0]),
                   .b      = asmtPartName(a, part[1]),
                   .in     = CP_IN_BODIES,
                   .on_a   = asmtMarkerAt(&frame[0]),
                   .on_b   = asmtMarkerAt(&frame[1]),
                   .length = length};
  if (asmtRefused(a, at, CPBodiesAdd(a->bodies, &joint.head, NULL))) return 1;
  if (ROOM(a->joint, a->njoints, 1)) return asmtWrong(a, at, "no memory");
  AsmtJoint *j = &a->joint[a->njoints++];
  *j           = (AsmtJoint){.part  = {part[0], part[1]},
                             .slide = kind == CP_JOINT_PRISMATIC || kind == CP_JOINT_CYLINDRICAL ? 0 : NONE,
                             .turn  = kind == CP_JOINT_REVOLUTE      ? 0
                                      : kind == CP_JOINT_CYLINDRICAL ? 1
                                                                     : NONE};
  snprintf(j->name, sizeof j->name, "%s", name);
  snprintf(j->path, sizeof j->path, "%s", path);
  asmtPlaced(a, part[0], &frame[0], &own);
  asmtPlaced(a, part[1], &frame[1], &other);
  axisOf(&own, 2, j->axis);
  sunrealtype slide = 0, c = 0, s = 0;
  for (int i = 0; i < 3; i++) {
    slide += own.A[i][2] * (other.r[i] - own.r[i]);
    c += own.A[i][0] * other.A[i][0], s += own.A[i][1] * other.A[i][0];
  }
  if (j->slide != NONE) j->value[j->slide] = slide;
  if (j->turn != NONE) j->value[j->turn] = atan2(s, c);
  /* others are no edges of paths */
  if (kind != CP_JOINT_FIXED && j->slide == NONE && j->turn == NONE) j->part[0] = j->part[1] = NONE;
  return 0;
}

/* A part without mass at a frame in the assembly. Returns its index, or NONE after a message. */
static int addPart(Asmt *a, int at, const char *base, const AsmtFrame *frame) {
  CPBody body = {.mass = 0};
  return asmtAddPart(a, at, base, frame, &body);
}

/* The frame whose z is axis k of a frame, and whose x is the next one */
static AsmtFrame turned(const AsmtFrame *frame, int k) {
  AsmtFrame f = *frame;
  for (int i = 0; i < 3; i++)
    for (int l = 0; l < 3; l++) f.A[i][l] = frame->A[i][(k + 1 + l) % 3];
  return f;
}

/* A joint as a row: slides along some axes of the first marker, then a last joint. Slides and parts between are NAME_x, ... */
static int joinInRow(Asmt *a, int at, const char *name, const char *path, const char *slides,
                     CPJointKind last, const int *part, const AsmtFrame *frame) {
  int from = part[0];
  AsmtFrame on[2], there, local = frame[0];
  asmtPlaced(a, part[1], &frame[1], &there);
  asmtPlaced(a, part[0], &frame[0], &on[0]);
  for (int k = 0; k < 3;
       k++) { /* The parts between are at the second marker, with the axes of the first one. */
    sunrealtype d[3] = {there.r[0] - on[0].r[0], there.r[1] - on[0].r[1], there.r[2] - on[0].r[2]},
                z[3];
    char own[110];
    if (!strchr(slides, 'x' + k)) continue;
    axisOf(&on[0], k, z);
    AsmtFrame next = on[0];
    add3(dot3(d, z), z, next.r);
    snprintf(own, sizeof own, "%.90s_%c", name, 'x' + k);
    const int to = addPart(a, at, own, &next);
    if (to == NONE) return 1;
    asmtName(a, own, own);
    const AsmtFrame sides[2] = {turned(&local, k), turned(&asmt_origin, k)};
    if (join(a, at, own, "", CP_JOINT_PRISMATIC, (const int[2]){from, to}, sides, 0)) return 1;
    from = to, local = asmt_origin, on[0] = next;
  }
  const AsmtFrame ends[2] = {local, frame[1]};
  return join(a, at, name, path, last, (const int[2]){from, part[1]}, ends, 0);
}

/* Turns a frame about its z so that its x points to where d does across z, unless d is along z. */
static void aim(AsmtFrame *frame, const sunrealtype *d) {
  sunrealtype x[3] = {d[0], d[1], d[2]}, y[3], z[3];
  axisOf(frame, 2, z);
  add3(-dot3(x, z), z, x);
  const sunrealtype across = length3(x);
  if (!(across > 0)) return;
  for (int i = 0; i < 3; i++) x[i] /= across;
  cross3(z, x, y);
  for (int i = 0; i < 3; i++) frame->A[i][0] = x[i], frame->A[i][1] = y[i];
}

/* Two joints with a link without mass of this length between them, across the axis of the first marker: hinges with parallel axes, or with a
 * slide, or a cylindrical and a ball joint */
static int joinByLink(Asmt *a, int at, const char *name, const char *path, CPJointKind last,
                      const int *part, const AsmtFrame *frame, sunrealtype length) {
  const CPJointKind first = last == CP_JOINT_BALL ? CP_JOINT_CYLINDRICAL : CP_JOINT_REVOLUTE;
  AsmtFrame there, link, end = asmt_origin;
  sunrealtype d[3], z[3];
  char part_name[110], joint_name[110];
  asmtPlaced(a, part[0], &frame[0], &link);
  asmtPlaced(a, part[1], &frame[1], &there);
  axisOf(&link, 2, z);
  for (int i = 0; i < 3; i++) d[i] = there.r[i] - link.r[i];
  aim(&link, d);
  if (first == CP_JOINT_CYLINDRICAL) add3(dot3(d, z), z, link.r);
  end.r[0] = length;
  snprintf(part_name, sizeof part_name, "%.90s_link", name);
  snprintf(joint_name, sizeof joint_name, "%.90s_a", name);
  const int between = addPart(a, at, part_name, &link);
  if (between == NONE) return 1;
  asmtName(a, joint_name, joint_name);
  return join(a, at, joint_name, "", first, (const int[2]){part[0], between},
              (const AsmtFrame[2]){frame[0], asmt_origin}, 0) ||
         join(a, at, name, path, last, (const int[2]){between, part[1]},
              (const AsmtFrame[2]){end, frame[1]}, 0);
}

/* Axes z of both markers at an angle: slides along all axes of the first one, a hinge about its z, and one about an axis at that angle on a
 * part without mass. Where z . z = 1 or -1 the axes are parallel. */
static int joinAtAngle(Asmt *a, int at, const char *name, const int *part, AsmtFrame *frame) {
  sunrealtype angle = 0, other[3];
  AsmtFrame there, tilted, end = asmt_origin;
  char part_name[110], hinge[110];
  if (asmtChild(a, at, "theIzJz") != NONE && asmtNumbers(a, at, "theIzJz", 1, &angle)) return 1;
  if (fabs(sin(angle)) < SUN_RCONST(1e-8)) { /* whose cosine is 1 or -1 to all digits */
    alignTo(a, part, frame, 0);
    return joinInRow(a, at, name, "", "xy", CP_JOINT_CYLINDRICAL, part, frame);
  }
  asmtPlaced(a, part[0], &frame[0], &tilted);
  asmtPlaced(a, part[1], &frame[1], &there); /* whose origin the part has */
  memcpy(tilted.r, there.r, sizeof tilted.r);
  axisOf(&there, 2, other);
  aim(&tilted, other); /* The second axis leans to where it does at the placement. */
  end.A[0][0] = end.A[2][2] = cos(angle);
  end.A[0][2]               = sin(angle);
  end.A[2][0]               = -sin(angle);
  snprintf(part_name, sizeof part_name, "%.90s_part", name);
  snprintf(hinge, sizeof hinge, "%.90s_a", name);
  const int between = addPart(a, at, part_name, &tilted);
  if (between == NONE) return 1;
  asmtName(a, hinge, hinge);
  return joinInRow(a, at, hinge, "", "xyz", CP_JOINT_REVOLUTE, (const int[2]){part[0], between},
                   (const AsmtFrame[2]){frame[0], asmt_origin}) ||
         join(a, at, name, "", CP_JOINT_REVOLUTE, (const int[2]){between, part[1]},
              (const AsmtFrame[2]){end, frame[1]}, 0);
}

/* A constant-velocity joint turns about an axis in the plane across both shafts: by an angle about z, by the bend about x, and back
 * about z. */
static int joinShafts(Asmt *a, int at, const char *name, const int *part, const AsmtFrame *frame) {
  AsmtFrame own[2], between[2];
  sunrealtype z[2][3], x[3];
  for (int k = 0; k < 2; k++) {
    asmtPlaced(a, part[k], &frame[k], &own[k]);
    axisOf(&own[k], 2, z[k]);
  }
  cross3(z[0], z[1], x);
  if (!(length3(x) > 0))
    return asmtWrong(
        a, at, "the shafts of a constant-velocity joint must not be in one line at the start");
  for (int k = 0; k < 2; k++) { /* axes: x along the bend, z along the shaft */
    between[k] = own[k];
    memcpy(between[k].r, own[0].r, sizeof own[0].r);
    aim(&between[k], x);
  }
  const char *const suffix[3] = {"_a", "_bend", "_b"};
  char names[3][110], parts[110];
  int middle[2];
  for (int k = 0; k < 2; k++) {
    snprintf(parts, sizeof parts, "%.90s_part", name);
    if ((middle[k] = addPart(a, at, parts, &between[k])) == NONE) return 1;
  }
  for (int k = 0; k < 3; k++) {
    snprintf(parts, sizeof parts, "%.90s%s", name, suffix[k]);
    asmtName(a, parts, names[k]);
    const int of[2]    = {k == 0 ? part[0] : middle[k - 1], k == 2 ? part[1] : middle[k]};
    AsmtFrame sides[2] = {k == 0 ? frame[0] : asmt_origin, k == 2 ? frame[1] : asmt_origin};
    if (k == 1) sides[0] = turned(&asmt_origin, 0), sides[1] = turned(&asmt_origin, 0);
    if (join(a, at, names[k], "", CP_JOINT_REVOLUTE, of, sides, 0)) return 1;
  }
  /* Without a twist both angles cancel, or, as the rows of the solver allow, their sum is half a turn. */
  sunrealtype sum = 0;
  for (int k = 0; k < 3; k += 2) {
    const AsmtFrame *one = k ? &between[1] : &own[0], *two = k ? &own[1] : &between[0];
    sunrealtype c = 0, s = 0;
    for (int i = 0; i < 3; i++) c += one->A[i][0] * two->A[i][0], s += one->A[i][1] * two->A[i][0];
    sum += atan2(s, c);
  }
  const sunrealtype half  = acos(-1.0);
  const CPCoupler coupler = {CP_NEW_COUPLER(name), .of = {{names[0], 0}, {names[2], 0}},
                             .ratio = {1, 1}, .offset = half * round(sum / half)};
  return asmtRefused(a, at, CPBodiesAdd(a->bodies, &coupler.head, NULL));
}

static const struct {
  const char *type;
  int kind;         /* CPJointKind, or NONE: it is a row */
  int aligns;       /* 1: it aligns z, 2: all axes, 0: none */
  const char *row;  /* the axes along which a row slides before its last joint */
  CPJointKind last; /* of a row, or behind a link with a distance that is not 0 */
  int has_offset, has_distance;
} kinds[] = {{"RevoluteJoint", CP_JOINT_REVOLUTE, 1, "", 0, 0, 0},
             {"CylindricalJoint", CP_JOINT_CYLINDRICAL, 1, "", 0, 0, 0},
             {"TranslationalJoint", CP_JOINT_PRISMATIC, 2, "", 0, 0, 0},
             {"FixedJoint", CP_JOINT_FIXED, 2, "", 0, 0, 0},
             {"SphericalJoint", CP_JOINT_BALL, 0, "", 0, 0, 0},
             {"UniversalJoint", CP_JOINT_UNIVERSAL, 0, "", 0, 0, 0},
             {"PlanarJoint", CP_JOINT_PLANAR, 1, "", 0, 1, 0},
             {"PointInPlaneJoint", CP_JOINT_POINT_ON_PLANE, 0, "", 0, 1, 0},
             {"PointInLineJoint", CP_JOINT_POINT_ON_LINE, 0, "", 0, 0, 0},
             {"SphSphJoint", CP_JOINT_ROD, 0, "", 0, 0, 1},
             {"CylSphJoint", CP_JOINT_POINT_ON_LINE, 0, "", CP_JOINT_BALL, 0, 1},
             {"RevCylJoint", CP_JOINT_CYLINDRICAL, 1, "", CP_JOINT_CYLINDRICAL, 0, 1},
             {"RevRevJoint", CP_JOINT_REVOLUTE, 1, "", CP_JOINT_REVOLUTE, 0, 1},
             {"NoRotationJoint", NONE, 2, "xy", CP_JOINT_PRISMATIC, 0, 0},
             {"ParallelAxesJoint", NONE, 1, "xy", CP_JOINT_CYLINDRICAL, 0, 0},
             {"PerpendicularJoint", NONE, 0, "xyz", CP_JOINT_UNIVERSAL, 0, 0},
             {"LineInPlaneJoint", NONE, 0, "xy", CP_JOINT_UNIVERSAL, 1, 0},
             {"AngleJoint", NONE, 0, "", 0, 0, 0},
             {"ConstantVelocityJoint", NONE, 1, "", 0, 0, 0}};

int asmtAddJoint(Asmt *a, int at) {
  const char *type = a->line[at].text, *path = asmtValue(a, at, "Name");
  size_t k = 0;
  char name[110];
  if (!path) path = type; /* FreeCAD leaves some names empty. */
  while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].type, type)) k++;
  if (k == sizeof kinds / sizeof *kinds) {
    if (asmtCouples(type)) return 0;
    if (!strcmp(type, "CurveCurveContact"))
      return asmtName(a, path, name), asmtAddContact(a, at, name);
    if (strstr(type, "Contact"))
      return asmtNote(a, at, "contacts of curves and surfaces: %.60s", type);
    return asmtWrong(a, at, "this kind of joint is not supported");
  }
  const AsmtMarker *side[2] = {asmtMarker(a, at, "MarkerI"), NULL};
  if (!side[0] || !(side[1] = asmtMarker(a, at, "MarkerJ"))) return 1;
  const int part[2]    = {side[0]->part, side[1]->part};
  AsmtFrame frame[2]   = {side[0]->frame, side[1]->frame};
  sunrealtype distance = 0, offset = 0;
  if (part[0] == part[1]) return 0; /* It has no effect. */
  if ((asmtChild(a, at, "offset") != NONE && asmtNumbers(a, at, "offset", 1, &offset)) ||
      (kinds[k].has_distance && asmtNumbers(a, at, "distanceIJ", 1, &distance)))
    return 1;
  const int by_link = kinds[k].has_distance && distance != 0 && kinds[k].kind != CP_JOINT_ROD;
  if (kinds[k].has_distance && distance == 0 && kinds[k].kind == CP_JOINT_ROD)
    return asmtWrong(a, at, "distanceIJ must be positive");
  if (kinds[k].has_offset) /* of the second marker, along z of the first one */
    for (int i = 0; i < 3; i++) frame[0].r[i] += offset * frame[0].A[i][2];
  if (kinds[k].aligns) alignTo(a, part, frame, kinds[k].aligns == 2);
  asmtName(a, path, name);
  if (!strcmp(type, "ConstantVelocityJoint")) return joinShafts(a, at, name, part, frame);
  if (!strcmp(type, "AngleJoint")) return joinAtAngle(a, at, name, part, frame);
  if (by_link) return joinByLink(a, at, name, path, kinds[k].last, part, frame, distance);
  if (kinds[k].kind == NONE)
    return joinInRow(a, at, name, path, kinds[k].row, kinds[k].last, part, frame);
  return join(a, at, name, path, (CPJointKind)kinds[k].kind, part, frame, distance);
}
