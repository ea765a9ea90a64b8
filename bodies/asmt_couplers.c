/* Gears, racks, screws, motions and limits of assemblies, which act on the coordinates of joints, and forces between markers. */
#include "asmt_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------- couplers -- */

/* A sum of coordinates of joints, and its value at the placement */
typedef struct {
  CPCoordinate of[CP_MOST_COUPLED];
  sunrealtype ratio[CP_MOST_COUPLED], angle[CP_MOST_COUPLED], value;
  int n;
} Sum;

static int nodeOf(const Asmt *a, int joint, int side) { /* The ground is the last one. */
  const int part = a->joint[joint].part[side];
  return part == NONE ? a->nparts : part;
}

/* Finds the joint by which each part is reached first from a part, on the shortest way: by [nparts + 1], nodes; NONE where there is
 * none. queue [nparts + 1] */
static void spread(const Asmt *a, int from, int *by, int *queue) {
  int end = 0;
  for (int i = 0; i <= a->nparts; i++) by[i] = NONE;
  queue[end++] = from;
  for (int k = 0; k < end; k++)
    for (int j = 0; j < a->njoints; j++)
      for (int i = 0; i < 2; i++) {
        const int to = nodeOf(a, j, 1 - i);
        if (nodeOf(a, j, i) != queue[k] || to == from || to == queue[k] || by[to] != NONE) continue;
        by[to]       = j;
        queue[end++] = to;
      }
}

static int addTo(Asmt *a, int at, Sum *sum, const AsmtJoint *j, int k, sunrealtype ratio) {
  if (sum->n == CP_MOST_COUPLED)
    return asmtWrong(a, at, "more than %d joints are between its parts", CP_MOST_COUPLED);
  sum->of[sum->n]      = (CPCoordinate){j->name, k};
  sum->angle[sum->n]   = j->value[k];
  sum->ratio[sum->n++] = ratio;
  sum->value += ratio * j->value[k];
  return 0;
}

/* Adds along (displacement of the second part relative to the first one along the unit vector x) + about (its angle about z) to the
 * sum. x and z are axes in the assembly. */
static int addWay(Asmt *a, int at, const int *part, const sunrealtype *x, const sunrealtype *z,
                  sunrealtype along, sunrealtype about, Sum *sum) {
  static const sunrealtype parallel = SUN_RCONST(1e-6); /* of markers with at least seven digits */
  int *by = malloc(2 * (size_t)(a->nparts + 1) * sizeof *by), failed = 0;
  if (!by) return asmtWrong(a, at, "no memory");
  const int from = part[0] == NONE ? a->nparts : part[0], to = part[1] == NONE ? a->nparts : part[1];
  spread(a, from, by, by + a->nparts + 1);
  if (by[to] == NONE) failed = asmtWrong(a, at, "no joints are between its parts");
  for (int i = to; i != from && !failed;) {
    const AsmtJoint *j      = &a->joint[by[i]];
    const int forward       = nodeOf(a, by[i], 1) == i;
    const sunrealtype slope = dot3(j->axis, x), turns = dot3(j->axis, z), sign = forward ? 1 : -1;
    if (j->slide != NONE && along != 0 && fabs(slope) > parallel)
      failed = addTo(a, at, sum, j, j->slide, sign * slope * along);
    if (j->turn != NONE && about != 0 && !failed)
      failed = fabs(fabs(turns) - 1) > parallel
                   ? asmtWrong(a, at, "the axis of %s must be parallel to it", j->name)
                   : addTo(a, at, sum, j, j->turn, turns > 0 ? sign * about : -sign * about);
    i = nodeOf(a, by[i], forward ? 0 : 1);
  }
  free(by);
  return failed;
}

static int addSum(Asmt *a, int at, const Sum *sum) {
  char name[110];
  if (sum->n < 2) return asmtWrong(a, at, "it must couple two coordinates of joints");
  const char *path = asmtValue(a, at, "Name");
  asmtName(a, path ? path : a->line[at].text, name); /* FreeCAD leaves some names empty. */
  CPCoupler coupler = {CP_NEW_COUPLER(name),
                       .of         = {sum->of[0], sum->of[1]},
                       .ratio      = {sum->ratio[0], sum->ratio[1]},
                       .offset     = sum->value,
                       .nmore      = sum->n - 2,
                       .more       = sum->of + 2,
                       .more_ratio = sum->ratio + 2};
  return asmtRefused(a, at, CPBodiesAdd(a->bodies, &coupler.head, NULL));
}

int asmtCouples(const char *type) {
  return !strcmp(type, "GearJoint") || !strcmp(type, "RackPinionJoint") ||
         !strcmp(type, "ScrewJoint");
}

/* Gears: radiusI theta_I + radiusJ theta_J is constant, with the angles of both parts relative to the carrier, where the ways to
 * the ground meet; racks: x_I . d + pitchRadius theta; screws: 2 pi z_I . d - pitch theta, with the angle theta of J relative to I. */
int asmtAddCoupler(Asmt *a, int at) {
  const char *type  = a->line[at].text;
  const int is_gear = !strcmp(type, "GearJoint"), is_rack = !strcmp(type, "RackPinionJoint");
  sunrealtype c[2] = {0, 0}, x[3], z[3];
  Sum sum          = {.n = 0};
  const AsmtMarker *side[2];
  AsmtFrame own;
  if (!asmtCouples(type)) return 0;
  if (!(side[0] = asmtMarker(a, at, "MarkerI")) || !(side[1] = asmtMarker(a, at, "MarkerJ")))
    return 1;
  const int part[2] = {side[0]->part, side[1]->part};
  if (asmtNumbers(a, at,
                  is_gear   ? "radiusI"
                  : is_rack ? "pitchRadius"
                            : "pitch",
                  1, &c[0]) ||
      (is_gear && asmtNumbers(a, at, "radiusJ", 1, &c[1])))
    return 1;
  if (c[0] == 0 || (is_gear && c[1] == 0))
    return asmtWrong(a, at, "its radius or pitch must not be 0");
  asmtPlaced(a, part[0], &side[0]->frame, &own);
  for (int i = 0; i < 3; i++) x[i] = own.A[i][0], z[i] = own.A[i][2];
  if (!is_gear)
    return addWay(a, at, part, is_rack ? x : z, z, is_rack ? 1 : 2 * acos(-1.0),
                  is_rack ? c[0] : -c[0], &sum) ||
           addSum(a, at, &sum);
  /* The way from I to J leads over the carrier: from I to it the angle is that of the carrier. */
  if (addWay(a, at, part, x, z, 0, 1, &sum)) return 1;
  if (sum.n != 2) return asmtWrong(a, at, "both gears must be on hinges of one part");
  for (int k = 0; k < 2; k++) { /* The way is known from J on. */
    const sunrealtype factor = k == 0 ? c[1] : -c[0];
    sum.value += (factor - 1) * sum.ratio[k] * sum.angle[k];
    sum.ratio[k] *= factor;
  }
  /* The angles at the placement are known but for whole turns. */
  sum.value = remainder(sum.value, 2 * acos(-1.0) * fmin(fabs(c[0]), fabs(c[1])));
  return addSum(a, at, &sum);
}

/* ----------------------------------------------------------------------------------- motions -- */

/* The joint that MotionJoint names or, without a name, the one from the part of MarkerI to that of MarkerJ that turns, or slides; NULL
 * after a message */
static const AsmtJoint *jointOf(Asmt *a, int at, int turns) {
  const char *path = asmtValue(a, at, "MotionJoint"), *slash = path ? strrchr(path, '/') : NULL;
  const AsmtMarker *one = path ? NULL : asmtMarker(a, at, "MarkerI"),
                   *two = one ? asmtMarker(a, at, "MarkerJ") : NULL;
  if (!path && !two) return NULL;
  for (int i = 0; i < a->njoints; i++) {
    const AsmtJoint *j = &a->joint[i];
    if (path ? slash && !strcmp(j->path, slash + 1)
             : j->part[0] == one->part && j->part[1] == two->part &&
                   (turns ? j->turn : j->slide) != NONE)
      return j;
  }
  asmtWrong(a, at, "there is no joint \"%.200s\"", path ? path : "");
  return NULL;
}

/* text [strlen(from) + 1]: out, an expression of Smalltalk as one of ours: numbers end in d, functions of markers have an argument, comments are
 * in quotes, <n> is the end of a line: "2.0d*pi*time", "rIJ(self)", "arctan(x)". Logarithms are log here. */
static void plain(const char *from, char *text) {
  static const char *const words[][2] = {{"(self)", ""}, {"<n>", " "}, {"arc", "a"}};
  int quoted                          = 0;
  for (const char *c = from; *c; c++) {
    const int after_digit = c > from && (isdigit((unsigned char)c[-1]) || c[-1] == '.');
    size_t k = 0, length = 0;
    if (*c == '"') quoted = !quoted;
    if (quoted || *c == '"' || (*c == 'd' && after_digit && !isalnum((unsigned char)c[1])))
      continue;
    while (k < 3 && strncmp(c, words[k][0], length = strlen(words[k][0])) != 0) k++;
    if (k < 3) {
      for (const char *w = words[k][1]; *w; w++) *text++ = *w;
      c += length - 1;
    } else *text++ = *c;
  }
  *text = '\0';
}

static const char *const variables[] = {"time", "rIJ", "vrIJ"};

/* A function of the time and, if nvariables is 3, of the distance of two markers and its rate */
static CPFunction functionOf(Asmt *a, int at, const char *which, int nvariables) {
  const int i  = asmtChild(a, at, which);
  CPFunction f = NULL;
  if (i == NONE || i + 1 >= a->line[i].end)
    return asmtWrong(a, at, "%s must be given", which), NULL;
  char *text = malloc(strlen(a->line[i + 1].text) + 1);
  if (!text) return asmtWrong(a, at, "no memory"), NULL;
  plain(a->line[i + 1].text, text);
  CPFunctionOptions options = CP_INIT(CPFunctionOptions);
  options.text              = text;
  options.nvariables        = nvariables;
  options.variable          = variables;
  options.file              = a->file;
  options.line              = a->line[i + 1].line;
  options.column            = a->line[i + 1].depth + 1;
  if (CPFunctionCreate(&options, &f))
    snprintf(a->message, a->length, "%s", CPObjectGetLastMessage(NULL));
  free(text);
  return f;
}

/* A motion of all six coordinates of marker J relative to marker I: along x, y and z of I, then about the axes of J in their order. It is a joint
 * by functions with six drives. */
static int addGeneralMotion(Asmt *a, int at) {
  static const char *const function[] = {"rIJI1",   "rIJI2",   "rIJI3",
                                         "angIJJ1", "angIJJ2", "angIJJ3"};
  const char *path                    = asmtValue(a, at, "Name");
  const AsmtMarker *side[2];
  CPJointMotion motion[6];
  sunrealtype order[3] = {1, 2, 3};
  char name[110], drive_name[110];
  if (!path) return asmtWrong(a, at, "Name must be given");
  for (int k = 0; k < 2; k++)
    if (!(side[k] = asmtMarker(a, at, k ? "MarkerJ" : "MarkerI"))) return 1;
  if (asmtChild(a, at, "RotationOrder") != NONE && asmtNumbers(a, at, "RotationOrder", 3, order))
    return 1;
  for (int k = 0; k < 6; k++) {
    const sunrealtype axis = k < 3 ? k + 1 : order[k - 3];
    if (!(axis == 1 || axis == 2 || axis == 3))
      return asmtWrong(a, at, "RotationOrder must have three of the numbers 1, 2, 3");
    motion[k]                     = (CPJointMotion)CP_INIT(CPJointMotion);
    motion[k].about               = k >= 3;
    motion[k].axis[(int)axis - 1] = 1;
    motion[k].coordinate          = k;
  }
  asmtName(a, path, name);
  const CPJoint joint = {CP_NEW_JOINT(name),
                         .kind         = CP_JOINT_CUSTOM,
                         .a            = asmtPartName(a, side[0]->part),
                         .b            = asmtPartName(a, side[1]->part),
                         .in           = CP_IN_BODIES,
                         .on_a         = asmtMarkerAt(&side[0]->frame),
                         .on_b         = asmtMarkerAt(&side[1]->frame),
                         .motion       = motion,
                         .nmotions     = 6,
                         .ncoordinates = 6};
  int failed          = asmtRefused(a, at, CPBodiesAdd(a->bodies, &joint.head, NULL));
  for (int k = 0; k < 6 && !failed; k++) {
    CPFunction f = functionOf(a, at, function[k], 1);
    if (!f) return 1;
    snprintf(drive_name, sizeof drive_name, "%.90s_%s", name, function[k]);
    asmtName(a, drive_name, drive_name);
    const CPDrive drive = {CP_NEW_DRIVE(drive_name), .of = {name, k}, .function = f};
    failed              = asmtRefused(a, at, CPBodiesAdd(a->bodies, &drive.head, NULL));
    CPFunctionFree(&f);
  }
  return failed;
}

int asmtAddMotion(Asmt *a, int at) {
  const char *type = a->line[at].text, *path = asmtValue(a, at, "Name");
  const int turns = !strcmp(type, "RotationalMotion");
  char name[110];
  if (!strcmp(type, "AllowRotation")) return 0; /* It helps the solver of positions. */
  if (!strcmp(type, "GeneralMotion")) return addGeneralMotion(a, at);
  if (!turns && strcmp(type, "TranslationalMotion"))
    return asmtWrong(a, at, "this kind of motion is not supported");
  const AsmtJoint *j = jointOf(a, at, turns);
  if (!j) return 1;
  const int k = turns ? j->turn : j->slide;
  if (!path) return asmtWrong(a, at, "Name must be given");
  if (k == NONE) return asmtWrong(a, at, "the joint %s has no such coordinate", j->name);
  CPFunction f = functionOf(a, at, turns ? "RotationZ" : "TranslationZ", 1);
  if (!f) return 1;
  asmtName(a, path, name);
  const CPDrive drive = {CP_NEW_DRIVE(name), .of = {j->name, k}, .function = f};
  const int failed    = asmtRefused(a, at, CPBodiesAdd(a->bodies, &drive.head, NULL));
  CPFunctionFree(&f);
  return failed;
}

static CPFunction oppositeOf(Asmt *a, int at, CPFunction f) {
  CPFunction opposite           = NULL;
  const CPDefinition definition = {CP_SIZED(CPDefinition), .name = "f", .function = f};
  CPFunctionOptions options     = CP_INIT(CPFunctionOptions);
  options.text                  = "-f(time, rIJ, vrIJ)";
  options.nvariables            = 3;
  options.variable              = variables;
  options.ndefinitions          = 1;
  options.definition            = &definition;
  if (CPFunctionCreate(&options, &opposite)) asmtWrong(a, at, "no memory");
  return opposite;
}

int asmtAddForce(Asmt *a, int at) {
  const char *type = a->line[at].text, *path = asmtValue(a, at, "Name"),
             *twist = asmtValue(a, at, "twist");
  const AsmtMarker *side[2];
  char name[110];
  if (strcmp(type, "InLineForceTorque")) return asmtNote(a, at, "%.60s", type);
  if (!path) return asmtWrong(a, at, "Name must be given");
  for (int k = 0; k < 2; k++)
    if (!(side[k] = asmtMarker(a, at, k ? "MarkerJ" : "MarkerI"))) return 1;
  if (twist && strtod(twist, NULL) != 0 && asmtNote(a, at, "the twist of %.60s", type)) return 1;
  CPFunction tension = functionOf(a, at, "tension", 3),
             f       = tension ? oppositeOf(a, at, tension) : NULL;
  CPFunctionFree(&tension);
  if (!f) return 1;
  asmtName(a, path, name);
  CPSpring spring = {CP_NEW_SPRING(name), .in = CP_IN_BODIES, .function = f};
  spring.a        = asmtPartName(a, side[0]->part);
  spring.b        = asmtPartName(a, side[1]->part);
  memcpy(spring.point_a, side[0]->frame.r, sizeof spring.point_a);
  memcpy(spring.point_b, side[1]->frame.r, sizeof spring.point_b);
  const int failed = asmtRefused(a, at, CPBodiesAdd(a->bodies, &spring.head, NULL));
  CPFunctionFree(&f);
  return failed;
}

int asmtAddLimit(Asmt *a, int at) {
  const char *type = asmtValue(a, at, "Type"), *path = asmtValue(a, at, "Name");
  const int turns    = !strcmp(a->line[at].text, "RotationLimit");
  const AsmtJoint *j = jointOf(a, at, turns);
  sunrealtype x      = 0;
  char name[110];
  if (!j) return 1;
  const int k = turns ? j->turn : j->slide;
  if (!path || !type || (strcmp(type, "=>") && strcmp(type, "=<")))
    return asmtWrong(a, at, "Name, and Type => or =<, must be given");
  if (k == NONE) return asmtWrong(a, at, "the joint %s has no such coordinate", j->name);
  CPFunction f = functionOf(a, at, "Limit", 0);
  if (!f) return 1;
  CPFunctionEvaluate(f, &x, &x, NULL, NULL);
  CPFunctionFree(&f);
  const int is_lower    = !strcmp(type, "=>");
  const sunrealtype now = j->value[k];
  if (is_lower ? now < x : now > x)
    return asmtNote(a, at, "limits of joints that the start violates");
  asmtName(a, path, name);
  const CPLimit limit = {CP_NEW_LIMIT(name), .of = {{j->name, k}},
                         .lower = is_lower ? x : -INFINITY, .upper = is_lower ? INFINITY : x};
  return asmtRefused(a, at, CPBodiesAdd(a->bodies, &limit.head, NULL));
}
