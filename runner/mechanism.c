/* A mechanism from a file (cpodes_bodies.h) as a model. The file is read into memory once; each
 * model parses it again and has its own bodies. */
#define _GNU_SOURCE /* open_memstream, strtok_r */
#include "mechanism.h"

#include "options.h"
#include "output/files.h"
#include "recorded.h"
#include "simulation/method.h"
#include "simulation/problem.h"

#include <cpodes/cpodes_bodies.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <models/names.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LENGTH = 256, MOST_NAMES = 4000, MOST_STARTS = 256 };

/* What the file asks for, which is an output: the name of a quantity, and that of its column; or its distance from what is recorded */
typedef struct {
  char *of, *name;
  const Series *recorded;
} Sensor;

/* The file of this process. Like a loaded shared object, it is part of the program's set-up. */
static struct {
  CPPluginType type;
  CPBodies bodies; /* as read first; `run` points to its texts */
  CPBodiesFile run;
  char *text;
  size_t size;
  /* names: of parameters and coordinates, each in NAME_LENGTH characters. */
  char *path, *names, *shown;     /* shown: path without control characters */
  char *settings;                 /* of the file's parameters, one a line */
  const char *start[MOST_STARTS]; /* JOINT=VALUE, or the name of a keyframe */
  int nstarts;
  const char *base; /* of a robot in URDF, or NULL */
  CPPluginParameter *parameters;
  CPPluginCoordinate *coordinates; /* coordinates, then velocities, activations of actuators, and the work */
  char *row_names;                 /* those of the multipliers */
  CPPluginCoordinate *rows;
  int nsensors;
  Sensor *sensor;               /* [nsensors] */
  CPPluginQuantity *quantities; /* [1 + nsensors] the energy, and the sensors */
  int joints, chosen;           /* 1: joint coordinates; 1: as the user has chosen, not the file */
  int compares;                 /* 1: the motion is compared with the recorded one */
  Recorded recorded;
  int strict; /* 1: start velocities must be possible as they are */
  int told;   /* 1: the notes of the assembly have been printed */
} mechanism;

int mechanism_is_file(const char *name) {
  static const char *const ends[] = {".yaml", ".yml",   ".xml",  ".urdf", ".mjcf",
                                     ".sdf",  ".world", ".osim", ".asmt"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (has_end(name, ends[i])) return 1;
  return 0;
}

enum { EXAMPLES_FOLDERS = 2 };

/* The folder of the examples beside the program (0), or in its source (1); "" if it is unknown. Until the next call. */
static const char *examples_folder(int which) {
  static char path[3072];
  char program[2048];
  if (which == 1) return CPODES_EXAMPLES_SOURCE;
  const ssize_t length             = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  char *slash                      = strrchr(program, '/');
  if (!slash) return "";
  slash[1] = '\0';
  snprintf(path, sizeof path, "%s../" CPODES_EXAMPLES, program);
  return path;
}

const char *mechanism_example(const char *name) {
  static char path[4096];
  for (int i = 0; i < EXAMPLES_FOLDERS; i++) {
    const char *folder = examples_folder(i);
    snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
    if (*folder && !access(path, R_OK)) return path;
  }
  return NULL;
}

static int is_yaml(const struct dirent *entry) { return has_end(entry->d_name, ".yaml"); }

int mechanism_example_at(int i, const char **name, const char **title) {
  static char own[256], line[256];
  char path[4096];
  struct dirent **entry = NULL;
  int n                 = 0;
  for (int k = 0; k < EXAMPLES_FOLDERS && n <= 0; k++) {
    const char *folder = examples_folder(k);
    n                  = *folder ? scandir(folder, &entry, is_yaml, alphasort) : 0;
    if (i < n) {
      snprintf(own, sizeof own, "%.*s", (int)strcspn(entry[i]->d_name, "."), entry[i]->d_name);
      snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
    }
  }
  for (int k = 0; k < n; k++) free(entry[k]);
  free(entry);
  if (i >= n) return 0;
  FILE *file = fopen(path, "r");
  line[0]    = '\0';
  if (file && !fgets(line, sizeof line, file)) line[0] = '\0';
  if (file) fclose(file);
  static const char *const ends[] = {". ", ".\n", ": ", ":\n", "; ", " [", "\n"};
  char *says                      = line + strspn(line, "# ");
  for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
    char *end = strstr(says, ends[k]);
    if (end) *end = '\0';
  }
  *name = own, *title = line[0] == '#' ? says : "";
  return 1;
}

const char *mechanism_near(const char *name) {
  static char near[256];
  char other[sizeof near];
  near[0] = '\0';
  for (int i = 0; i < EXAMPLES_FOLDERS; i++) {
    const char *folder = examples_folder(i);
    DIR *open          = *folder ? opendir(folder) : NULL;
    for (struct dirent *entry; open && (entry = readdir(open));) {
      if (!has_end(entry->d_name, ".yaml")) continue;
      snprintf(other, sizeof other, "%.*s", (int)strcspn(entry->d_name, "."), entry->d_name);
      const char *names[] = {near, other};
      if (!near[0] || nearest_name(name, names, 2) == other) memcpy(near, other, sizeof near);
    }
    if (open) closedir(open);
  }
  return near[0] ? near : NULL;
}

int mechanism_names(const char *setting) {
  const char *sign = strchr(setting, '=');
  return sign && sign > setting && !memchr(setting, '.', (size_t)(sign - setting));
}

int mechanism_reads(const char *path) {
  const char *input = mechanism.run.files;
  if (!input || is_same_file(mechanism.path, path)) return input != NULL;
  for (; *input; input += strlen(input) + 1)
    if (is_same_file(input, path)) return 1;
  return 0;
}

/* ------------------------------------------------------------------------------ the model -- */

/* In the file's unit of length: 1e-12 with a margin. At a tolerance of 1e-6, it costs one-step
 * methods 1 to 4 % more instructions on five mechanisms, and BDF 2 to 27 %. */
static const sunrealtype loop_closure = SUN_RCONST(3e-13);

/* What a model of the file owns: its mechanism, and a CPMech that quantities and drawings use, whose
 * data all others share. */
typedef struct {
  CPBodies bodies;
  CPModel model;
  CPMech mech;
  CPContactPoint *contact;          /* [ncontacts] */
  const sunrealtype *udot, *lambda; /* at the state whose quantities are asked for, or NULL */
  sunrealtype reach; /* half the length of the lines that show planes of contacts [m] */
} Built;

static Built *built(const CPPlugin *model) { return model->own; }

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  CPPowers p = CP_INIT(CPPowers);
  if (CPMechGetPowers(built(model)->mech, t, y, NULL, &p)) return NAN;
  const sunrealtype *state = N_VGetArrayPointer(y);
  return p.kinetic + p.potential - (mechanism.run.balance ? state[N_VGetLength(y) - 1] : 0);
}

static int energies(const CPPlugin *model, sunrealtype t, N_Vector y, const sunrealtype *lambda,
                    CPPluginEnergies *e) {
  CPPowers p = CP_INIT(CPPowers);
  if (CPMechGetPowers(built(model)->mech, t, y, lambda, &p)) return 1;
  e->kinetic   = p.kinetic;
  e->potential = p.potential;
  e->power     = fabs(p.dissipation) + fabs(p.applied) + fabs(p.drives);
  return 0;
}

/* Describes a thing, whose index is right. */
static CPDescription thing(CPBodies b, CPThing thing, int i) {
  CPDescription d = CP_INIT(CPDescription);
  CPBodiesDescribe(b, thing, i, &d);
  return d;
}

/* Returns the mass of all bodies and sets radius to the largest radius of gyration. */
static sunrealtype mass_of(CPBodies b, sunrealtype *radius) {
  const sunrealtype *p = CPBodiesParameters(b);
  sunrealtype mass     = 0;
  *radius              = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_BODY); i++) {
    char name[NAME_LENGTH];
    int at; /* of the mass, followed by the three moments */
    snprintf(name, sizeof name, "%s.mass", thing(b, CP_BODY, i).name);
    if (CPBodiesFind(b, CP_PARAMETER, name, &at) || !(p[at] > 0)) continue;
    mass += p[at];
    for (int k = 1; k <= 3; k++) *radius = fmax(*radius, sqrt(p[at + k] / p[at]));
  }
  return mass;
}

/* The largest edge of the box that contains all centres of mass and joints at the start, or the
 * largest radius of gyration. */
static sunrealtype extent(const CPPlugin *model) {
  CPBodies b         = built(model)->bodies;
  CPMech mech        = built(model)->mech;
  sunrealtype low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY},
              most;
  const int joints = CPBodiesCount(b, CP_JOINT), bodies = CPBodiesCount(b, CP_BODY);
  mass_of(b, &most);
  for (int i = 0; i < joints + bodies; i++) {
    const CPDescription d = thing(b, i < joints ? CP_JOINT : CP_BODY, i < joints ? i : i - joints);
    sunrealtype x[12];
    CPBodyFrame frame = CP_INIT(CPBodyFrame);
    const int failed  = i < joints ? CPMechGetPoints(mech, CP_JOINT, i, model->y0, x)
                                   : CPMechGetFrame(mech, i - joints, d.centre, model->y0, &frame);
    if (i >= joints) memcpy(x, frame.position, sizeof frame.position);
    for (int k = 0; !failed && k < (i < joints ? 6 : 3); k++)
      low[k % 3] = fmin(low[k % 3], x[k]), high[k % 3] = fmax(high[k % 3], x[k]);
  }
  for (int k = 0; k < 3; k++) most = fmax(most, high[k] - low[k]);
  return most;
}

/* What the mechanism would exchange by moving through its extent: its weight does work there, or it
 * does so within the time of the file. The run adds what it exchanges (CPPluginType.energies). */
static sunrealtype energy_scale(const CPPlugin *model) {
  const sunrealtype *p =
      CPBodiesParameters(built(model)->bodies); /* gravity is the first parameter */
  const sunrealtype g = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), L = extent(model);
  sunrealtype radius;
  const sunrealtype scale =
      mass_of(built(model)->bodies, &radius) * fmax(g * L, pow(L / model->type->t_end, 2));
  return scale > 0 && isfinite(scale) ? scale : 1;
}

static void observe(const CPPlugin *model, const sunrealtype *udot, const sunrealtype *lambda) {
  built(model)->udot = udot, built(model)->lambda = lambda;
}

/* The sensors follow the energy, if that is among the quantities. A vector counts by its length. */
static sunrealtype sensor(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  const Sensor *s  = &mechanism.sensor[i - (mechanism.run.balance != 0)];
  const Built *own = built(model);
  CPSensor at      = {CP_SIZED(CPSensor), .udot = own->udot, .lambda = own->lambda};
  if (CPMechGetSensor(own->mech, s->of, t, y, &at)) return NAN;
  const sunrealtype *x = at.value;
  if (s->recorded) return recorded_distance(&mechanism.recorded, s->recorded, t, x);
  return at.count == 1 ? x[0] : sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

/* Contacts conserve the energy, up to the work that is known, if their impacts are elastic and without friction. Dry friction of
 * joints and elastic stops have none, and their work is in the balance. */
static int conserves(const CPPlugin *model, int i) {
  (void)i;
  for (int k = 0; k < model->ncontacts; k++) {
    const CPContactPoint *c = &model->contact[k];
    if ((c->normal < 0 || c->law.stiffness > 0) && mechanism.run.balance) continue;
    if (c->law.mu > 0 || c->law.mu_static > 0 || c->law.restitution < 1) return 0;
  }
  return 1;
}

static void frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  (void)t;
  for (int i = 0; i < model->ncontacts; i++, frame += 12)
    CPMechGetPoints(built(model)->mech, CP_CONTACT, i, y, frame);
}

/* Computes both ends of a line of the contact's plane, if it has one, along each of its directions.
 * Returns the place after them. */
static sunrealtype *plane_points(const CPPlugin *model, int i, N_Vector y, sunrealtype *xyz) {
  const Built *own            = built(model);
  const CPDescription contact = thing(own->bodies, CP_CONTACT, i);
  sunrealtype frame[12], P[12];
  if (contact.kind != CP_ON_PLANE || CPMechGetPoints(own->mech, CP_CONTACT, i, y, frame) ||
      CPMechGetPoints(own->mech, CP_JOINT, contact.joint, y, P))
    return xyz;
  for (int along = 0; along < contact.nrates; along++)
    for (int sign = -1; sign <= 1; sign += 2, xyz += 3)
      for (int k = 0; k < 3; k++) xyz[k] = P[k] + sign * own->reach * frame[6 + 3 * along + k];
  return xyz;
}

/* Adds two balls with the radius of a capsule at its ends. Returns the place of the last one. */
static sunrealtype *add_ends(sunrealtype *xyz) {
  sunrealtype radius = 0, length = 0;
  for (int k = 0; k < 3; k++) {
    radius += pow(xyz[3 + k] - xyz[k], 2);
    length += pow(xyz[9 + k] - xyz[k], 2);
  }
  for (int end = 1; end <= 2; end++)
    for (int k = 0; k < 3; k++) {
      const sunrealtype along = xyz[9 + k] - xyz[k], move = end == 1 ? along : -along;
      for (int i = 0; i < 12; i += 3) xyz[12 * end + i + k] = xyz[i + k] + move;
      xyz[12 * end + 9 + k] = xyz[k] + move + along * sqrt(radius / length);
    }
  return xyz + 24;
}

/* The number of shapes of drawings that show a shape: none a mesh, which has points and edges */
static int parts_of(CPBodies b, int i) {
  const int kind = thing(b, CP_SHAPE, i).kind;
  return kind == CP_SHAPE_CAPSULE ? 3 : kind == CP_SHAPE_MESH ? 0 : 1;
}

/* The corners of a mesh, from its centre and the ends of its half axes. Returns the end of xyz. */
static sunrealtype *mesh_points(const CPDescription *mesh, const sunrealtype *axes,
                                sunrealtype *xyz) {
  for (int i = 0; i < mesh->npoints; i++, xyz += 3) {
    memcpy(xyz, axes, 3 * sizeof *xyz);
    for (int k = 0; k < 3; k++) {
      const sunrealtype *end = axes + 3 + 3 * k;
      const sunrealtype half = hypot(hypot(end[0] - axes[0], end[1] - axes[1]), end[2] - axes[2]);
      for (int j = 0; j < 3; j++) xyz[j] += mesh->points[3 * i + k] / half * (end[j] - axes[j]);
    }
  }
  return xyz;
}

/* The numbers of points and edges of all meshes */
static void count_meshes(CPBodies b, int *points, int *edges) {
  *points = *edges = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++) {
    const CPDescription shape = thing(b, CP_SHAPE, i);
    *points += shape.npoints, *edges += shape.nedges;
  }
}

/* The points are: for each joint its point on both sides, then the bodies' frames, both ends of
 * each spring, the points of shapes, the lines of the planes of contacts, four points of each part of a path, and the corners of
 * meshes. Segments lead from each body to its joints, and join both points of a joint, which differ for rods and guides. */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  CPBodies b  = built(model)->bodies;
  CPMech mech = built(model)->mech;
  sunrealtype both[12];
  for (int i = 0; i < CPBodiesCount(b, CP_JOINT); i++, xyz += 6)
    if (!CPMechGetPoints(mech, CP_JOINT, i, y, both)) memcpy(xyz, both, 6 * sizeof *xyz);
  for (int i = 0; i < CPBodiesCount(b, CP_BODY); i++, xyz += 3) {
    CPBodyFrame frame = CP_INIT(CPBodyFrame);
    if (!CPMechGetFrame(mech, i, NULL, y, &frame)) memcpy(xyz, frame.position, 3 * sizeof *xyz);
  }
  for (int i = 0; i < CPBodiesCount(b, CP_SPRING); i++, xyz += 6)
    if (!CPMechGetPoints(mech, CP_SPRING, i, y, both)) memcpy(xyz, both, 6 * sizeof *xyz);
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++) {
    const int parts = parts_of(b, i);
    if (parts > 0) CPMechGetPoints(mech, CP_SHAPE, i, y, xyz);
    if (parts > 1) xyz = add_ends(xyz);
    xyz += parts > 0 ? 12 : 0;
  }
  for (int i = 0; i < model->ncontacts; i++) xyz = plane_points(model, i, y, xyz);
  for (int i = 0; i < CPBodiesCount(b, CP_PATH); i++, xyz += 12)
    CPMechGetPoints(mech, CP_PATH, i, y, xyz);
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++) {
    const CPDescription shape = thing(b, CP_SHAPE, i);
    if (shape.npoints > 0 && !CPMechGetPoints(mech, CP_SHAPE, i, y, both))
      xyz = mesh_points(&shape, both, xyz);
  }
}

static void add_segment(CPPluginDrawing *d, int from, int to, CPPluginSegmentKind kind) {
  d->segment[d->nsegments][0]     = from;
  d->segment[d->nsegments][1]     = to;
  d->segment_kind[d->nsegments++] = kind;
}

/* The first contact that each joint belongs to, or -1, in an array that the caller frees; NULL if out of memory */
static int *contacts_of(const CPPlugin *model, int joints) {
  int *of = malloc(((size_t)joints + 1) * sizeof *of);
  for (int i = 0; of && i < joints; i++) of[i] = -1;
  for (int i = model->ncontacts - 1; of && i >= 0; i--) {
    const int joint = thing(built(model)->bodies, CP_CONTACT, i).joint;
    if (joint >= 0) of[joint] = i;
  }
  return of;
}

/* Returns the number of lines that show planes. */
static int count_lines(const CPPlugin *model) {
  int n = 0;
  for (int i = 0; i < model->ncontacts; i++) {
    const CPDescription contact = thing(built(model)->bodies, CP_CONTACT, i);
    if (contact.kind == CP_ON_PLANE) n += (int)contact.nrates;
  }
  return n;
}

/* Adds the parts of ropes and tendons, whose points begin at `first`: straight ones, and arcs on pulleys up to the next one. */
static void draw_paths(CPBodies b, CPPluginDrawing *d, int first) {
  const int n = CPBodiesCount(b, CP_PATH);
  char name[128]; /* Longer names than 100 characters are refused. */
  for (int i = 0; i < n; i++) {
    const int at = first + 4 * i;
    snprintf(name, sizeof name, "%s", thing(b, CP_PATH, i).name);
    for (int k = 0; k < 3; k++) add_segment(d, at + k, at + k + 1, CP_SEGMENT_BAR);
    if (i + 1 < n && !strcmp(name, thing(b, CP_PATH, i + 1).name))
      add_segment(d, at + 3, at + 4, CP_SEGMENT_BAR);
  }
}

/* Adds the edges of meshes, whose points begin at `first`. */
static void draw_meshes(CPBodies b, CPPluginDrawing *d, int first) {
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++) {
    const CPDescription shape = thing(b, CP_SHAPE, i);
    for (int e = 0; e < 2 * shape.nedges; e += 2)
      add_segment(d, first + shape.edges[e], first + shape.edges[e + 1], CP_SEGMENT_BAR);
    first += shape.npoints;
  }
}

static int draw(CPPlugin *model) {
  CPBodies b       = built(model)->bodies;
  const int joints = CPBodiesCount(b, CP_JOINT), bodies = CPBodiesCount(b, CP_BODY),
            springs = CPBodiesCount(b, CP_SPRING);
  int shapes        = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++) shapes += parts_of(b, i);
  const int spring = 2 * joints + bodies, shape = spring + 2 * springs, plane = shape + 4 * shapes;
  const int lines    = count_lines(model);
  CPPluginDrawing *d = &model->drawing;
  const int path = plane + 2 * lines, parts = CPBodiesCount(b, CP_PATH), mesh = path + 4 * parts;
  int corners, edges;
  count_meshes(b, &corners, &edges);
  if (CPPluginDraw(model, mesh + corners, NULL, 3 * joints + springs + lines + 4 * parts + edges,
                   NULL, shapes, NULL))
    return -1;
  int *contacts = contacts_of(model, joints);
  if (!contacts) return -1;
  d->nsegments = 0; /* counts those added so far */
  for (int i = 0; i < joints; i++) {
    const CPDescription joint = thing(b, CP_JOINT, i);
    const int kind = joint.kind, sides[2] = {joint.a, joint.b}, contact = contacts[i];
    for (int side = 0; side < 2; side++) {
      d->kind[2 * i + side] = kind == CP_JOINT_NONE ? CP_POINT_PLAIN
                              : sides[side] < 0     ? CP_POINT_GROUND
                                                    : CP_POINT_JOINT;
      if (sides[side] >= 0 && kind != CP_JOINT_NONE)
        add_segment(d, 2 * i + side, 2 * joints + sides[side], CP_SEGMENT_BAR);
    }
    if (kind != CP_JOINT_NONE)
      add_segment(d, 2 * i, 2 * i + 1, kind == CP_JOINT_ROD ? CP_SEGMENT_BAR : CP_SEGMENT_GUIDE);
    /* bars lead from bodies to their points; a plane has lines instead */
    if (contact >= 0 && kind != CP_JOINT_NONE) {
      d->kind[2 * i] = d->kind[2 * i + 1] = CP_POINT_PLAIN;
      d->nsegments -= 1 + (sides[0] >= 0) + (sides[1] >= 0);
      for (int side = thing(b, CP_CONTACT, contact).kind == CP_ON_PLANE; side < 2; side++)
        if (sides[side] >= 0)
          add_segment(d, 2 * i + side, 2 * joints + sides[side], CP_SEGMENT_BAR);
    }
  }
  free(contacts);
  for (int i = 0; i < bodies; i++) d->kind[2 * joints + i] = CP_POINT_MASS;
  for (int i = spring; i < d->npoints; i++) d->kind[i] = CP_POINT_PLAIN;
  for (int i = 0; i < springs; i++) {
    const CPDescription of = thing(b, CP_SPRING, i);
    if (of.a < 0) d->kind[spring + 2 * i] = CP_POINT_GROUND;
    if (of.b < 0) d->kind[spring + 2 * i + 1] = CP_POINT_GROUND;
    add_segment(d, spring + 2 * i, spring + 2 * i + 1, CP_SEGMENT_SPRING);
  }
  for (int i = 0; i < lines; i++)
    add_segment(d, plane + 2 * i, plane + 2 * i + 1, CP_SEGMENT_GUIDE);
  draw_paths(b, d, path);
  draw_meshes(b, d, mesh);
  for (int i = 0, at = 0; i < CPBodiesCount(b, CP_SHAPE); i++) {
    static const CPShapeKind shown[] = {
        [CP_SHAPE_BOX] = CP_SHAPE_BOX,          [CP_SHAPE_CYLINDER] = CP_SHAPE_CYLINDER,
        [CP_SHAPE_SPHERE] = CP_SHAPE_SPHERE,    [CP_SHAPE_WHEEL] = CP_SHAPE_WHEEL,
        [CP_SHAPE_CAPSULE] = CP_SHAPE_CYLINDER, [CP_SHAPE_ELLIPSOID] = CP_SHAPE_SPHERE,
        [CP_SHAPE_PLANE] = CP_SHAPE_BOX};
    for (int part = 0; part < parts_of(b, i); part++, at++) {
      d->shape[at].kind = part ? CP_SHAPE_SPHERE : shown[thing(b, CP_SHAPE, i).kind];
      for (int k = 0; k < 4; k++) d->shape[at].point[k] = shape + 4 * at + k;
    }
  }
  return 0;
}

/* Refuses a start where a function has no finite value, such as one with a division by zero. */
static int check_forces(CPPlugin *model) {
  CPMech mech       = built(model)->mech;
  sunrealtype *udot = calloc((size_t)CPModelGetEquations(built(model)->model)->nu + 1, sizeof *udot);
  const int flag    = udot ? CPMechAccelerations(mech, 0, model->y0, udot, NULL) : 0;
  free(udot);
  if (flag != CP_REPTD_USERFUNC_ERR && flag != CP_MECH_NONFINITE) return 0; /* the run tells */
  return CPPluginRefuse(model, "%s: %s", mechanism.path, CPObjectGetLastMessage(CP_OBJECT(mech)));
}

/* The coordinates that --start gives, of which there are at most MOST_STARTS. Returns their number. */
static int given_starts(CPBodies b, CPRange *given) {
  int n = 0;
  for (int i = 0; i < mechanism.nstarts; i++) {
    const char *start = mechanism.start[i], *sign = strchr(start, '=');
    char name[NAME_LENGTH];
    int k;
    if (!sign || sign == start || sign[-1] == '\'' || sign - start >= NAME_LENGTH) continue;
    snprintf(name, sizeof name, "%.*s", (int)(sign - start), start);
    if (CPBodiesFind(b, CP_COORDINATE, name, &k)) continue;
    double value;
    if (read_number(sign + 1, thing(b, CP_COORDINATE, k).kind == 1 ? "rad" : "m", &value)) continue;
    given[n++] = (CPRange){.coordinate = k, .low = value, .high = value};
  }
  return n;
}

/* The first of them that has another value at the start, up to whole turns and digits that nobody types; or NULL */
static const CPRange *lost_start(const CPPlugin *model, const CPRange *given, int n) {
  static const sunrealtype typed = SUN_RCONST(1e-9);
  CPBodies b                     = built(model)->bodies;
  for (int i = 0; i < n; i++) {
    sunrealtype x = 0;
    CPMechGetCoordinate(built(model)->mech, given[i].coordinate, model->y0, &x, NULL);
    const int is_angle = thing(b, CP_COORDINATE, given[i].coordinate).kind == 1;
    sunrealtype off    = x - given[i].low;
    if (is_angle) off = remainder(off, 8 * atan(SUN_RCONST(1.0)));
    if (fabs(off) > typed * (1 + fabs(given[i].low))) return &given[i];
  }
  return NULL;
}

/* Loops start with the joints' values that are given if they close so, or else as near as possible to them, which is told. */
static int assemble_given(CPPlugin *model, CPAssembly *assembly) {
  const CPAssembly free = {CP_SIZED(CPAssembly), .held = mechanism.run.held};
  CPMech mech           = built(model)->mech;
  CPRange given[MOST_STARTS];
  const int n    = given_starts(built(model)->bodies, given);
  N_Vector guess = n > 0 ? N_VClone(model->y0) : NULL;
  *assembly      = free;
  if (guess) N_VScale(1, model->y0, guess);
  int flag            = CPMechAssemble(mech, 0, model->y0, assembly);
  const CPRange *lost = guess && !flag ? lost_start(model, given, n) : NULL;
  if (lost) {
    assembly->offsets = NULL, assembly->ranges = given, assembly->nranges = n;
    N_VScale(1, guess, model->y0);
    flag = CPMechAssemble(mech, 0, model->y0, assembly);
    if (!flag) lost = NULL;
    else *assembly = free, flag = CPMechAssemble(mech, 0, model->y0, assembly);
  }
  if (lost && !flag && !mechanism.told) {
    sunrealtype x = 0;
    CPMechGetCoordinate(mech, lost->coordinate, model->y0, &x, NULL);
    fprintf(stderr,
            "%s: joint \"%s\" starts at %g, and not at %g: its loop does not close with what "
            "--start gives\n",
            mechanism.path, thing(built(model)->bodies, CP_COORDINATE, lost->coordinate).name,
            (double)x, (double)lost->low);
  }
  if (guess) N_VDestroy(guess);
  return flag;
}

static int assemble(CPPlugin *model) {
  CPMech mech = built(model)->mech;
  CPAssembly assembly;
  if (assemble_given(model, &assembly))
    return CPPluginRefuse(model, "%s: %s", mechanism.path, CPObjectGetLastMessage(CP_OBJECT(mech)));
  const char *notes = assembly.notes;
  const char *body =
      assembly.change > 0 ? strstr(notes, "body \"") : NULL; /* the line about velocities */
  if (mechanism.strict && body)
    return CPPluginRefuse(model, "%s: --strict: %.*s", mechanism.path, (int)strcspn(body, "\n"),
                          body);
  for (const char *line = notes; !mechanism.told && *line; line += strcspn(line, "\n") + 1)
    fprintf(stderr, "%s: %.*s\n", mechanism.path, (int)strcspn(line, "\n"), line);
  mechanism.told = 1;
  return check_forces(model);
}

/* Twice the largest distance of the planes' points from the corners of the box that contains all joints, at the start. */
static sunrealtype reach_of(const CPPlugin *model) {
  CPBodies b         = built(model)->bodies;
  CPMech mech        = built(model)->mech;
  sunrealtype low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  sunrealtype most = 0, P[12];
  for (int j = 0; j < CPBodiesCount(b, CP_JOINT); j++)
    for (int k = 0, failed = CPMechGetPoints(mech, CP_JOINT, j, model->y0, P); !failed && k < 6; k++)
      low[k % 3] = fmin(low[k % 3], P[k]), high[k % 3] = fmax(high[k % 3], P[k]);
  for (int i = 0; i < model->ncontacts; i++) {
    sunrealtype square          = 0;
    const CPDescription contact = thing(b, CP_CONTACT, i);
    if (contact.kind != CP_ON_PLANE || CPMechGetPoints(mech, CP_JOINT, contact.joint, model->y0, P))
      continue;
    for (int k = 0; k < 3; k++) square += pow(fmax(P[k] - low[k], high[k] - P[k]), 2);
    most = fmax(most, sqrt(square));
  }
  return most > 0 ? 2 * most : 1;
}

static int take_contacts(CPPlugin *model) {
  Built *own  = built(model);
  const int n = CPBodiesCount(own->bodies, CP_CONTACT);
  if (n == 0) return 0;
  if (model->mech.f_lambda)
    return CPPluginRefuse(model, "%s: joints with friction cannot be combined with contacts",
                          mechanism.path);
  if (!(own->contact = calloc((size_t)n, sizeof *own->contact))) return -1;
  for (int i = 0; i < n; i++) {
    const CPDescription d = thing(own->bodies, CP_CONTACT, i);
    own->contact[i]       = (CPContactPoint){CP_SIZED(CPContactPoint),   .name = d.name,
                                             .normal = d.first,          .tangent = d.first_rate,
                                             .ntangents = (int)d.nrates, .period = d.period,
                                             .nearest = d.nearest,       .law = *d.law};
  }
  model->contact   = own->contact;
  model->ncontacts = n;
  own->reach       = reach_of(model);
  return 0;
}

static void use_coordinates(CPBodies b) {
  if (mechanism.chosen)
    CPBodiesSetFormulation(b, mechanism.joints ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
  else mechanism.joints = mechanism.run.formulation == CP_JOINT_COORDINATES;
}

static int create(CPPlugin *model) {
  Built *own = model->own = calloc(1, sizeof *own);
  if (!own) return -1;
  CPBodiesFile again = {CP_SIZED(CPBodiesFile), .parameters = mechanism.settings};
  if (CPBodiesRead(mechanism.path, mechanism.text, mechanism.size, &own->bodies, &again))
    return CPPluginRefuse(model, "%s", CPObjectGetLastMessage(NULL));
  CPBodies b = own->bodies;
  use_coordinates(b);
  for (int i = 0; i < model->type->nparameters; i++) CPBodiesParameters(b)[i] = model->parameter[i];
  if (CPBodiesBuild(b, &own->model))
    return CPPluginRefuse(model, "%s: %s", mechanism.path, CPObjectGetLastMessage(CP_OBJECT(b)));
  if (!(model->y0 = CPBodiesState(b, model->ctx)) ||
      !(own->mech = CPMechCreate(own->model, model->y0, model->ctx)))
    return -1;
  model->mech = *CPModelGetEquations(own->model);
  model->data = model->mech.model_data = CPMechGetUserData(own->mech);
  model->mech.new_data                 = NULL;
  model->mech.free_data                = NULL;
  model->mech.free_model_data          = NULL;
  model->n                             = N_VGetLength(model->y0);
  model->closure                       = loop_closure;
  if (take_contacts(model)) return -1;
  if (draw(model) || (mechanism.run.assemble && assemble(model))) return -1;
  return 0;
}

static void destroy(CPPlugin *model) {
  Built *own = built(model);
  if (!own) return;
  /* Its templates are the CPModel's, and none that CPPluginFree destroys. */
  model->mech = (CPEquations){0};
  CPMechFree(&own->mech);
  CPModelFree(&own->model);
  CPBodiesFree(&own->bodies);
  free(own->contact);
  free(own);
}

/* ------------------------------------------------------------------------------ the table -- */

/* Creates the names of parameters and coordinates. Returns 0, or -1 if out of memory. */
static int name_all(CPBodies b) {
  CPPluginType *type = &mechanism.type;
  const int planar = mechanism.run.dimension == 2, all = CPBodiesCount(b, CP_PARAMETER),
            np = all < MOST_NAMES ? all : MOST_NAMES, states = CPBodiesCount(b, CP_STATE);
  int q = 0, u = 0;
  while (q < states && thing(b, CP_STATE, q).kind == 0) q++;
  while (q + u < states && thing(b, CP_STATE, q + u).kind == 1) u++;
  const int nc = q <= MOST_NAMES ? q : 0, nz = states - q - u;
  /* As many as coordinates are their rates. */
  const int nv          = q == u || nc == 0 ? 0 : u;
  mechanism.names       = calloc((size_t)(np + nc + nv + nz) + 1, NAME_LENGTH);
  mechanism.parameters  = calloc((size_t)np + 1, sizeof *mechanism.parameters);
  mechanism.coordinates = calloc((size_t)(nc + nv + nz) + 1, sizeof *mechanism.coordinates);
  if (!mechanism.names || !mechanism.parameters || !mechanism.coordinates) return -1;
  char *name = mechanism.names;
  for (int i = 0; i < np; i++, name += NAME_LENGTH) {
    static const char *const products[] = {"J_xy", "J_xz", "J_yz"};
    /* J_xx and J_yy precede J_xy ... */
    static const int of[3][2] = {{3, 2}, {4, 2}, {4, 3}};
    sunrealtype least = -SUN_RCONST(1e300), most = SUN_RCONST(1e300);
    const sunrealtype *p = CPBodiesParameters(b) + i;
    snprintf(name, NAME_LENGTH, "%s", thing(b, CP_PARAMETER, i).name);
    const char *field = strchr(name, '.') + 1;
    if (!strcmp(field, "mass") || !strcmp(field, "inertance") || !strcmp(field, "J_zz") ||
        (!planar && (!strcmp(field, "J_xx") || !strcmp(field, "J_yy"))) ||
        (!strcmp(field, "length") && *p > 0))  /* 0 is the radius of a point */
      least = *p > 0 ? SUN_RCONST(1e-300) : 0; /* Bodies may have no mass. */
    if (!strcmp(field, "time") || !strcmp(field, "time_2")) least = SUN_RCONST(1e-300);
    const int is_restitution = !strcmp(field, "restitution");
    if (is_restitution || !strcmp(field, "friction") || !strcmp(field, "sticking")) least = 0;
    if (is_restitution) most = 1;
    for (int k = 0; k < 3 && !planar; k++)
      if (!strcmp(field, products[k])) /* The product of small moments would underflow. */
        most = sqrt(p[-of[k][0]]) * sqrt(p[-of[k][1]]), least = -most;
    mechanism.parameters[i] = (CPPluginParameter){name, "", "as in the file", *p, least, most};
  }
  for (int i = 0; i < nc + nv + nz; i++, name += NAME_LENGTH) {
    const CPDescription d = thing(b, CP_STATE, i < nc + nv ? i : q + u + i - nc - nv);
    snprintf(name, NAME_LENGTH, "%s", d.kind == 2 ? "work" : d.name);
    mechanism.coordinates[i] = (CPPluginCoordinate){name, d.unit, d.meaning};
  }
  type->auxiliaries          = nz > 0 ? mechanism.coordinates + nc + nv : NULL;
  type->nauxiliaries         = nz;
  type->parameters           = mechanism.parameters;
  type->nparameters          = np;
  type->coordinates          = nc > 0 ? mechanism.coordinates : NULL;
  type->ncoordinates         = nc;
  type->units                = mechanism.joints ? NULL : planar ? "m m rad" : "m m m 1 1 1 1";
  type->velocity_units       = planar || mechanism.joints ? NULL : "m/s m/s m/s rad/s rad/s rad/s";
  type->velocities           = nv > 0 ? mechanism.coordinates + nc : NULL;
  type->nvelocities          = nv;
  const sunrealtype *gravity = CPBodiesParameters(b); /* the first parameters */
  type->z_is_up              = !planar && fabs(gravity[2]) > fabs(gravity[1]);
  return 0;
}

/* Names the multipliers, but for those of contacts, after the joints whose rows they belong to. Returns 0, or -1 if out of memory. */
static int name_rows(CPBodies b) {
  int na = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_JOINT); i++) {
    const CPDescription d = thing(b, CP_JOINT, i);
    na += (int)(d.count + d.nrates);
  }
  if (na == 0 || na > MOST_NAMES) return 0;
  char *name = mechanism.row_names = calloc((size_t)na + 1, NAME_LENGTH);
  mechanism.rows                   = calloc((size_t)na + 1, sizeof *mechanism.rows);
  if (!name || !mechanism.rows) return -1;
  for (int i = 0; i < CPBodiesCount(b, CP_JOINT); i++) {
    const CPDescription d = thing(b, CP_JOINT, i);
    const int count       = (int)(d.count + d.nrates);
    for (int k = 0; k < count; k++) {
      const long at = (long)(k < d.count ? d.first + k : d.first_rate + k - d.count);
      char *own = name + at * NAME_LENGTH, number[16] = "";
      if (count > 1) snprintf(number, sizeof number, " %d", k + 1);
      snprintf(own, NAME_LENGTH, "%.200s row%s", d.name, number);
      mechanism.rows[at] = (CPPluginCoordinate){own, "", "of a constraint"};
    }
  }
  for (int i = 0; i < CPBodiesCount(b, CP_CONTACT); i++) { /* are named after what they are */
    const CPDescription d = thing(b, CP_CONTACT, i);
    for (int k = 0; k < d.count; k++) mechanism.rows[d.first + k].name = NULL;
    for (int k = 0; k < d.nrates; k++) mechanism.rows[d.first_rate + k].name = NULL;
  }
  mechanism.type.multipliers  = mechanism.rows;
  mechanism.type.nmultipliers = na;
  return 0;
}

/* Adds the output of a quantity, with the name of its column. Returns 0, or -1 after a complaint. */
static int add_sensor(const char *of, const char *name, const char *unit) {
  Sensor *s                                = &mechanism.sensor[mechanism.nsensors++];
  *s                                       = (Sensor){strdup(of), strdup(name), NULL};
  mechanism.quantities[mechanism.nsensors] = (CPPluginQuantity){
      .name = s->name, .unit = unit, .value = sensor, .conserved = CP_QUANTITY_FREE};
  return s->of && s->name ? 0 : complain("no memory");
}

/* Makes quantities from the sensors that the file names, which the reader has checked; a coordinate JOINT or JOINT.K has its rate
 * as well. Returns 0, or -1 after a complaint. */
static int find_sensors(CPBodies b) {
  const char *word = mechanism.run.sensors;
  /* twice the number of words with blanks between them */
  const size_t most    = strlen(word) + 2 + (size_t)mechanism.recorded.count;
  mechanism.sensor     = calloc(most, sizeof *mechanism.sensor);
  mechanism.quantities = calloc(1 + most, sizeof *mechanism.quantities);
  if (!mechanism.sensor || !mechanism.quantities) return complain("no memory");
  for (size_t length; *(word += strspn(word, " ")); word += length) {
    char name[2 * NAME_LENGTH], rate[2 * NAME_LENGTH + 8];
    int i;
    length = strcspn(word, " ");
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    if (CPBodiesFind(b, CP_SENSOR, name, &i))
      return complain("%s", CPObjectGetLastMessage(CP_OBJECT(b)));
    const int angle = !strcmp(thing(b, CP_SENSOR, i).unit, "rad"),
              whole = !CPBodiesFind(b, CP_COORDINATE, name, &(int){0});
    /* a name that a component of the state has in joint coordinates is not given twice */
    const int is_state = !CPBodiesFind(b, CP_STATE, name, &(int){0});
    snprintf(rate, sizeof rate, "%s%s", is_state ? "sensor " : "", name);
    if (add_sensor(name, rate, thing(b, CP_SENSOR, i).unit)) return -1;
    snprintf(rate, sizeof rate, "%s.rate", name);
    snprintf(name + length, sizeof name - length, "'");
    if (whole && add_sensor(rate, name, angle ? "rad/s" : "m/s")) return -1;
  }
  return 0;
}

/* Makes quantities from the distances to what is recorded, of the elements that have been read. Returns 0, or -1 after a complaint. */
static int find_recorded(CPBodies b) {
  for (int i = 0; i < mechanism.recorded.count; i++) {
    const Series *s = &mechanism.recorded.series[i];
    char name[2 * NAME_LENGTH];
    int at;
    if (CPBodiesFind(b, CP_SENSOR, s->of, &at)) continue;
    snprintf(name, sizeof name, "%s off", s->of);
    if (add_sensor(s->of, name, thing(b, CP_SENSOR, at).unit)) return -1;
    mechanism.sensor[mechanism.nsensors - 1].recorded = s;
  }
  return 0;
}

/* Copies a text without its control characters, for titles. Returns NULL if out of memory. */
static char *plain(const char *text) {
  char *copy  = NULL;
  size_t size = 0;
  FILE *out   = open_memstream(&copy, &size);
  if (out) print_plain(out, text);
  if (out && !fclose(out)) {
    for (char *c = copy; *c; c++)
      if (*c == '\n') *c = '?';
    return copy;
  }
  free(copy);
  return NULL;
}

/* Reads the whole file. Returns 0, or -1 after a complaint. */
static int read_file(const char *path) {
  enum { BLOCK = 1 << 16 };
  struct stat status;
  size_t got     = 1;
  mechanism.path = strdup(path);
  /* O_NONBLOCK: a pipe would block. */
  const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return complain("%s cannot be opened: %s", path, strerror(errno));
  if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return complain("%s cannot be read: it is not a regular file", path);
  }
  FILE *file = fdopen(descriptor, "rb"), *text = open_memstream(&mechanism.text, &mechanism.size);
  for (char block[BLOCK]; file && text && got > 0 && !ferror(text);) {
    got = fread(block, 1, sizeof block, file);
    fwrite(block, 1, got, text);
  }
  int failed = !mechanism.path || !file || !text || ferror(file) || ferror(text);
  if (failed) complain("%s cannot be read: %s", path, strerror(errno));
  if (text && fclose(text) && !failed) failed = complain("%s: no memory", path);
  if (file) fclose(file);
  else close(descriptor);
  return failed ? -1 : 0;
}

void mechanism_be_strict(void) { mechanism.strict = 1; }
void mechanism_compare(void) { mechanism.compares = 1; }
int mechanism_recorded(double *t_end) {
  const Recorded *r = &mechanism.recorded;
  if (r->n > 0) *t_end = r->t[r->n - 1];
  return r->n > 0 ? r->n - 1 : 0;
}
/* The series that quantity i is the distance from, or NULL */
static const Series *compared(int i) {
  const int k = i - (mechanism.run.balance != 0);
  return k < 0 || k >= mechanism.nsensors ? NULL : mechanism.sensor[k].recorded;
}

double mechanism_recorded_size(int i) {
  return compared(i) ? recorded_size(&mechanism.recorded, compared(i)) : -1;
}
double mechanism_recorded_bound(int i, double rtol, double atol) {
  const double size = mechanism_recorded_size(i);
  return size < 0 ? -1 : 10 * (rtol * size + atol);
}
int mechanism_recorded_contradicts(int i) { return compared(i) && compared(i)->contradicts; }
void mechanism_use_joints(int joints) { mechanism.joints = joints, mechanism.chosen = 1; }

void mechanism_use_base(const char *kind) { mechanism.base = kind; }
int mechanism_start_at(const char *start) {
  if (mechanism.nstarts == MOST_STARTS)
    return complain("--start may be given %d times at most", MOST_STARTS);
  mechanism.start[mechanism.nstarts++] = start;
  return 0;
}

int mechanism_is_placed(void) { return mechanism.nstarts > 0 || mechanism.base; }

/* Joins the settings of the file's parameters. Returns 0, or -1 after a complaint. */
static int take_settings(const char *const *settings, int count) {
  size_t size;
  FILE *out = open_memstream(&mechanism.settings, &size);
  for (int i = 0; out && i < count; i++)
    if (mechanism_names(settings[i])) fprintf(out, "%s\n", settings[i]);
  for (int i = 0; out && i < mechanism.nstarts; i++)
    fprintf(out, "start%c%s\n", strchr(mechanism.start[i], '=') ? '.' : '=', mechanism.start[i]);
  if (out && mechanism.base) fprintf(out, "base=%s\n", mechanism.base);
  return out && !fclose(out) ? 0 : complain("no memory");
}

const CPPluginType *mechanism_load(const char *path, const char *const *settings, int count) {
  Method method;
  if (read_file(path) || take_settings(settings, count)) return NULL;
  mechanism.run = (CPBodiesFile){CP_SIZED(CPBodiesFile), .parameters = mechanism.settings};
  int failed    = CPBodiesRead(path, mechanism.text, mechanism.size, &mechanism.bodies,
                               &mechanism.run) != CP_SUCCESS;
  CPBodies b    = mechanism.bodies;
  if (!b) complain("%s", CPObjectGetLastMessage(NULL));
  if (b) use_coordinates(b);
  if (b && !mechanism.shown) mechanism.shown = plain(path);
  if (b && (failed = name_all(b) || name_rows(b) || !mechanism.shown)) complain("no memory");
  if (b && !failed && mechanism.compares)
    failed = recorded_read(path, mechanism.text, &mechanism.recorded) != 0;
  if (b && !failed) failed = find_sensors(b) || find_recorded(b);
  const CPBodiesFile *run = &mechanism.run;
  if (!failed && run->method[0] && method_find(run->method, &method) != METHOD_FOUND) {
    complain("%s:%d:%d: there is no method \"%s\"", path, run->method_line, run->method_column,
             run->method);
    failed = 1;
  }
  if (failed) return NULL;
  CPPluginType *type      = &mechanism.type;
  type->name              = "mechanism";
  type->title             = run->title[0] ? run->title : mechanism.shown;
  type->source            = mechanism.shown;
  type->t_end             = run->t_end;
  type->method            = run->method[0] ? run->method : NULL;
  mechanism.quantities[0] = (CPPluginQuantity){.name      = "energy",
                                               .unit      = "J",
                                               .value     = energy,
                                               .conserved = 1,
                                               .scale     = 1,
                                               .scale_of  = energy_scale};
  type->quantities        = mechanism.quantities + !run->balance;
  type->nquantities       = run->balance + mechanism.nsensors;
  type->create            = create;
  type->destroy           = destroy;
  type->points            = points;
  type->conserves         = conserves;
  type->contact_frames    = frames;
  type->energies          = energies;
  type->observe           = mechanism.nsensors > 0 ? observe : NULL;
  type->extent            = extent;
  type->left_out          = *run->notes ? run->notes : NULL;
  type->remarks           = *run->remarks ? run->remarks : NULL;
  return type;
}
