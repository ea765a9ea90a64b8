/* A mechanism from a file (cpodes_bodies.h) as a model. The file is read into memory once; each
 * model parses it again and has its own bodies. */
#define _GNU_SOURCE /* open_memstream, strtok_r */
#include "mechanism.h"

#include "options.h"
#include "output/files.h"
#include "simulation/method.h"
#include "simulation/problem.h"

#include <cpodes/cpodes_bodies.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MESSAGE = 600, NAME_LENGTH = 256, MOST_NAMES = 4000, PER_BODY = 7 };

static const char *const of_space[PER_BODY] = {"x", "y", "z", "e0", "e1", "e2", "e3"};
static const char *const velocities[]       = {"x'", "y'", "z'", "wx", "wy", "wz"};
static const char *const of_plane[PER_BODY] = {"x", "y", "phi"};
static const char *const meanings[PER_BODY] = {"x of its centre of mass", "y of its centre of mass",
                                               "z of its centre of mass", "quaternion, scalar",
                                               "quaternion, along x",     "quaternion, along y",
                                               "quaternion, along z"};
static const char *const rates[]            = {
               "velocity of its centre of mass, along x of space",
               "velocity of its centre of mass, along y of space",
               "velocity of its centre of mass, along z of space",
               "angular velocity along its own axis x (omega_body, not omega)",
               "angular velocity along its own axis y (omega_body, not omega)",
               "angular velocity along its own axis z (omega_body, not omega)"};
/* the state of the energy balance */
static const CPPluginCoordinate work         = {"work", "J",
                                                "of drives, forces, dampers and friction since the start"};
static const char *const meanings2[PER_BODY] = {"x of its centre of mass",
                                                "y of its centre of mass", "angle"};

/* A coordinate of a joint, which is an output. name: of the coordinate and of its rate */
typedef struct {
  CPCoordinate of;
  char joint[CP_BODIES_TEXT], name[2][CP_BODIES_TEXT + 2];
} Sensor;

/* The file of this process. Like a loaded shared object, it is part of the program's set-up. */
static struct {
  CPPluginType type;
  CPBodiesFile run;
  char *text;
  size_t size;
  /* names: of parameters and coordinates, each in NAME_LENGTH characters. */
  char *path, *names, *shown; /* shown: path without control characters */
  char *inputs; /* paths of the files that it was read from, and "" after the last one */
  CPPluginParameter *parameters;
  CPPluginCoordinate *coordinates; /* coordinates, then velocities */
  int nsensors;
  Sensor *sensor;               /* [nsensors] */
  CPPluginQuantity *quantities; /* [1 + 2 nsensors] the energy, and two for each sensor */
  char *left_out; /* the notes about the parts of the file that are left out, or NULL */
  int strict;     /* 1: start velocities must be possible as they are */
  int told;       /* 1: the notes of the assembly have been printed */
} mechanism;

int mechanism_is_file(const char *name) {
  static const char *const ends[] = {".yaml", ".yml", ".xml", ".urdf", ".mjcf"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (has_end(name, ends[i])) return 1;
  return 0;
}

int mechanism_reads(const char *path) {
  for (const char *input = mechanism.inputs; input && *input; input += strlen(input) + 1)
    if (is_same_file(input, path)) return 1;
  return 0;
}

/* ------------------------------------------------------------------------------ the model -- */

/* In the file's unit of length: 1e-12 with a margin. At a tolerance of 1e-6, it costs one-step
 * methods 1 to 4 % more instructions on five mechanisms, and BDF 2 to 27 %. */
static const sunrealtype loop_closure = SUN_RCONST(3e-13);

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  CPBodiesPowers p;
  if (CPBodiesGetPowers(model->data, t, y, NULL, &p)) return NAN;
  const sunrealtype *state = N_VGetArrayPointer(y);
  return p.kinetic + p.potential - (mechanism.run.balance ? state[N_VGetLength(y) - 1] : 0);
}

static int energies(const CPPlugin *model, sunrealtype t, N_Vector y, const sunrealtype *lambda,
                    CPPluginEnergies *e) {
  CPBodiesPowers p;
  if (CPBodiesGetPowers(model->data, t, y, lambda, &p)) return 1;
  e->kinetic   = p.kinetic;
  e->potential = p.potential;
  e->power     = fabs(p.dissipation) + fabs(p.applied) + fabs(p.drives);
  return 0;
}

/* Returns the mass of all bodies and sets radius to the largest radius of gyration. */
static sunrealtype mass_of(CPBodies b, sunrealtype *radius) {
  const sunrealtype *p = CPBodiesParameters(b);
  sunrealtype mass     = 0;
  *radius              = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_BODY); i++) {
    static const char *const moments[] = {"J_xx", "J_yy", "J_zz"};
    char name[NAME_LENGTH];
    snprintf(name, sizeof name, "%s.mass", CPBodiesName(b, CP_BODY, i));
    const int at = CPBodiesFindParameter(b, name);
    if (at < 0 || !(p[at] > 0)) continue;
    mass += p[at];
    for (int k = 0; k < 3; k++) {
      snprintf(name, sizeof name, "%s.%s", CPBodiesName(b, CP_BODY, i), moments[k]);
      const int J = CPBodiesFindParameter(b, name);
      if (J >= 0) *radius = fmax(*radius, sqrt(p[J] / p[at]));
    }
  }
  return mass;
}

/* The largest edge of the box that contains all centres of mass and joints at the start, or the
 * largest radius of gyration. */
static sunrealtype extent(const CPPlugin *model) {
  static const sunrealtype origin[3];
  CPBodies b         = model->data;
  sunrealtype low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY},
              most;
  const int joints = CPBodiesCount(b, CP_JOINT), bodies = CPBodiesCount(b, CP_BODY);
  mass_of(b, &most);
  for (int i = 0; i < joints + bodies; i++) {
    sunrealtype x[2][3];
    const int failed = i < joints ? CPBodiesPoints(b, CP_JOINT, i, model->y0, x[0], x[1])
                                  : CPBodiesPoint(b, CPBodiesName(b, CP_BODY, i - joints), origin,
                                                  model->y0, x[0], NULL);
    for (int side = 0; !failed && side < (i < joints ? 2 : 1); side++)
      for (int k = 0; k < 3; k++)
        low[k] = fmin(low[k], x[side][k]), high[k] = fmax(high[k], x[side][k]);
  }
  for (int k = 0; k < 3; k++) most = fmax(most, high[k] - low[k]);
  return most;
}

/* What the mechanism would exchange by moving through its extent: its weight does work there, or it
 * does so within the time of the file. The run adds what it exchanges (CPPluginType.energies). */
static sunrealtype energy_scale(const CPPlugin *model) {
  const sunrealtype *p = CPBodiesParameters(model->data); /* gravity is the first parameter */
  const sunrealtype g = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), L = extent(model);
  sunrealtype radius;
  const sunrealtype scale =
      mass_of(model->data, &radius) * fmax(g * L, pow(L / model->type->t_end, 2));
  return scale > 0 && isfinite(scale) ? scale : 1;
}

/* The sensors follow the energy, if that is among the quantities, and each is two quantities. */
static sunrealtype sensor(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  sunrealtype x[2];
  i -= mechanism.run.balance != 0;
  (void)t;
  return CPBodiesCoordinate(model->data, mechanism.sensor[i / 2].of, y, &x[0], &x[1]) ? NAN
                                                                                      : x[i % 2];
}

/* Contacts conserve the energy if they have no friction and their impacts are elastic. */
static int conserves(const CPPlugin *model, int i) {
  (void)i;
  for (int k = 0; k < model->ncontacts; k++) {
    const CPContactPoint *c = &model->contact[k];
    if (c->law.mu > 0 || c->law.mu_static > 0 || c->law.restitution < 1) return 0;
  }
  return 1;
}

/* The data of a model's contacts */
typedef struct {
  CPContactPoint *contact; /* [CPBodiesContacts] */
  sunrealtype reach;       /* half the length of the lines that show their planes [m] */
} Contacts;

static void frames(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  (void)t;
  for (int i = 0; i < model->ncontacts; i++, frame += 12)
    CPBodiesContactFrame(model->data, i, y, frame);
}

/* Computes both ends of a line of the contact's plane, if it has one, along each of its directions.
 * Returns the place after them. */
static sunrealtype *plane_points(const CPPlugin *model, int i, N_Vector y, sunrealtype *xyz) {
  const Contacts *contacts = model->own;
  CPBodiesContactRows rows;
  sunrealtype frame[12], Pa[3], Pb[3];
  if (CPBodiesContact(model->data, i, &rows) || rows.on != CP_ON_PLANE ||
      CPBodiesContactFrame(model->data, i, y, frame) ||
      CPBodiesPoints(model->data, CP_JOINT, rows.joint, y, Pa, Pb))
    return xyz;
  for (int along = 0; along < rows.ntangents; along++)
    for (int sign = -1; sign <= 1; sign += 2, xyz += 3)
      for (int k = 0; k < 3; k++)
        xyz[k] = Pa[k] + sign * contacts->reach * frame[6 + 3 * along + k];
  return xyz;
}

/* The points are: for each joint its point on both sides, then the bodies' frames, both ends of
 * each spring, the points of shapes, and the lines of the planes of contacts. Segments lead from
 * each body to its joints, and join both points of a joint, which differ for rods and guides. */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  static const sunrealtype origin[3];
  CPBodies b = model->data;
  CPShapeKind kind;
  for (int i = 0; i < CPBodiesCount(b, CP_JOINT); i++, xyz += 6)
    CPBodiesPoints(b, CP_JOINT, i, y, xyz, xyz + 3);
  for (int i = 0; i < CPBodiesCount(b, CP_BODY); i++, xyz += 3)
    CPBodiesPoint(b, CPBodiesName(b, CP_BODY, i), origin, y, xyz, NULL);
  for (int i = 0; i < CPBodiesCount(b, CP_SPRING); i++, xyz += 6)
    CPBodiesPoints(b, CP_SPRING, i, y, xyz, xyz + 3);
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++, xyz += 12)
    CPBodiesShapePoints(b, i, y, &kind, xyz);
  for (int i = 0; i < model->ncontacts; i++) xyz = plane_points(model, i, y, xyz);
}

static void add_segment(CPPluginDrawing *d, int from, int to, CPPluginSegmentKind kind) {
  d->segment[d->nsegments][0]     = from;
  d->segment[d->nsegments][1]     = to;
  d->segment_kind[d->nsegments++] = kind;
}

/* Does the joint belong to a contact? rows: out. */
static int is_contact(const CPPlugin *model, int joint, CPBodiesContactRows *rows) {
  for (int i = 0; i < model->ncontacts; i++)
    if (!CPBodiesContact(model->data, i, rows) && rows->joint == joint) return 1;
  return 0;
}

/* Returns the number of lines that show planes. */
static int count_lines(const CPPlugin *model) {
  int n = 0;
  CPBodiesContactRows rows;
  for (int i = 0; i < model->ncontacts; i++)
    if (!CPBodiesContact(model->data, i, &rows) && rows.on == CP_ON_PLANE) n += rows.ntangents;
  return n;
}

static int draw(CPPlugin *model) {
  CPBodies b       = model->data;
  const int joints = CPBodiesCount(b, CP_JOINT), bodies = CPBodiesCount(b, CP_BODY),
            springs = CPBodiesCount(b, CP_SPRING), shapes = CPBodiesCount(b, CP_SHAPE);
  const int spring = 2 * joints + bodies, shape = spring + 2 * springs, plane = shape + 4 * shapes;
  const int lines    = count_lines(model);
  CPPluginDrawing *d = &model->drawing;
  sunrealtype xyz[12];
  if (CPPluginDraw(model, plane + 2 * lines, NULL, 3 * joints + springs + lines, NULL, shapes, NULL))
    return -1;
  d->nsegments = 0; /* counts those added so far */
  for (int i = 0; i < joints; i++) {
    const int kind = CPBodiesJointKind(b, i);
    CPBodiesContactRows contact;
    int sides[2];
    CPBodiesSides(b, CP_JOINT, i, sides);
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
    if (is_contact(model, i, &contact)) {
      d->kind[2 * i] = d->kind[2 * i + 1] = CP_POINT_PLAIN;
      d->nsegments -= 1 + (sides[0] >= 0) + (sides[1] >= 0);
      for (int side = contact.on == CP_ON_PLANE; side < 2; side++)
        if (sides[side] >= 0)
          add_segment(d, 2 * i + side, 2 * joints + sides[side], CP_SEGMENT_BAR);
    }
  }
  for (int i = 0; i < bodies; i++) d->kind[2 * joints + i] = CP_POINT_MASS;
  for (int i = spring; i < d->npoints; i++) d->kind[i] = CP_POINT_PLAIN;
  for (int i = 0; i < springs; i++) {
    int sides[2];
    CPBodiesSides(b, CP_SPRING, i, sides);
    for (int side = 0; side < 2; side++)
      if (sides[side] < 0) d->kind[spring + 2 * i + side] = CP_POINT_GROUND;
    add_segment(d, spring + 2 * i, spring + 2 * i + 1, CP_SEGMENT_SPRING);
  }
  for (int i = 0; i < lines; i++)
    add_segment(d, plane + 2 * i, plane + 2 * i + 1, CP_SEGMENT_GUIDE);
  for (int i = 0; i < shapes; i++) {
    CPBodiesShapePoints(b, i, model->y0, &d->shape[i].kind, xyz);
    for (int k = 0; k < 4; k++) d->shape[i].point[k] = shape + 4 * i + k;
  }
  return 0;
}

/* CPPluginFree destroys the templates, so the bodies keep their own. */
static int clone_templates(CPEquations *mech) {
  SUNMatrix *all[] = {&mech->M_tmpl, &mech->A_tmpl,  &mech->K_tmpl,
                      &mech->C_tmpl, &mech->Bq_tmpl, &mech->Bu_tmpl};
  int failed       = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    SUNMatrix tmpl = *all[i];
    if (!tmpl) continue;
    *all[i] = SUNMatClone(tmpl);
    if (!*all[i] || SUNMatCopy(tmpl, *all[i])) failed = -1;
  }
  return failed;
}

static int assemble(CPPlugin *model) {
  CPMech mech = CPPluginMech(model);
  if (!mech) return -1;
  const int flag = CPBodiesAssemble(model->data, mech, 0, model->y0, mechanism.run.held);
  CPMechFree(&mech);
  if (flag)
    return CPPluginRefuse(model, "%s: %s", mechanism.path,
                          CPObjectGetLastMessage(CP_OBJECT((CPBodies)model->data)));
  sunrealtype change;
  const char *notes = CPBodiesAssemblyNotes(model->data, &change);
  const char *body  = change > 0 ? strstr(notes, "body \"") : NULL; /* the line about velocities */
  if (mechanism.strict && body)
    return CPPluginRefuse(model, "%s: --strict: %.*s", mechanism.path, (int)strcspn(body, "\n"),
                          body);
  for (const char *line = notes; !mechanism.told && *line; line += strcspn(line, "\n") + 1)
    fprintf(stderr, "%s: %.*s\n", mechanism.path, (int)strcspn(line, "\n"), line);
  mechanism.told = 1;
  return 0;
}

/* Twice the largest distance of a joint from the planes' points at the start. */
static sunrealtype reach_of(const CPPlugin *model) {
  CPBodies b       = model->data;
  sunrealtype most = 0;
  for (int i = 0; i < model->ncontacts; i++) {
    CPBodiesContactRows rows;
    sunrealtype Pa[3], Pb[3], end[2][3];
    if (CPBodiesContact(b, i, &rows) || CPBodiesPoints(b, CP_JOINT, rows.joint, model->y0, Pa, Pb))
      continue;
    for (int j = 0; j < CPBodiesCount(b, CP_JOINT); j++) {
      if (CPBodiesPoints(b, CP_JOINT, j, model->y0, end[0], end[1])) continue;
      for (int side = 0; side < 2; side++)
        most = fmax(most, sqrt(pow(end[side][0] - Pa[0], 2) + pow(end[side][1] - Pa[1], 2) +
                               pow(end[side][2] - Pa[2], 2)));
    }
  }
  return most > 0 ? 2 * most : 1;
}

static int take_contacts(CPPlugin *model) {
  CPBodies b  = model->data;
  const int n = CPBodiesCount(b, CP_CONTACT);
  if (n == 0) return 0;
  if (model->mech.f_lambda)
    return CPPluginRefuse(model, "%s: joints with friction cannot be combined with contacts",
                          mechanism.path);
  Contacts *contacts = calloc(1, sizeof *contacts);
  model->own         = contacts;
  if (!contacts || !(contacts->contact = calloc((size_t)n, sizeof *contacts->contact))) return -1;
  for (int i = 0; i < n; i++) {
    CPBodiesContactRows rows;
    if (CPBodiesContact(b, i, &rows)) return -1;
    contacts->contact[i] =
        (CPContactPoint){.name        = rows.name,
                         .normal      = rows.normal,
                         .tangent     = rows.tangent,
                         .ntangents   = rows.ntangents,
                         .law         = {.mu          = rows.mu,
                                         .mu_static   = rows.mu_static,
                                         .restitution = rows.restitution,
                                         .kind        = rows.poisson ? CP_RESTITUTION_POISSON
                                                                     : CP_RESTITUTION_NEWTON}};
  }
  model->contact   = contacts->contact;
  model->ncontacts = n;
  contacts->reach  = reach_of(model);
  return 0;
}

static int create(CPPlugin *model) {
  char message[MESSAGE];
  CPBodiesFile run;
  CPBodies b  = CPBodiesReadText(mechanism.text, mechanism.size, mechanism.path, model->ctx, &run,
                                 message, sizeof message);
  model->data = b;
  if (!b) return CPPluginRefuse(model, "%s", message);
  if (CPBodiesModel(b, &model->mech)) {
    model->mech = (CPEquations){0};
    return CPPluginRefuse(model, "%s: %s", mechanism.path, CPObjectGetLastMessage(CP_OBJECT(b)));
  }
  for (int i = 0; i < model->type->nparameters; i++) CPBodiesParameters(b)[i] = model->parameter[i];
  if (clone_templates(&model->mech) || !(model->y0 = CPBodiesState(b))) return -1;
  model->n       = N_VGetLength(model->y0);
  model->closure = loop_closure;
  if (take_contacts(model)) return -1;
  if (draw(model) || (run.assemble && assemble(model))) return -1;
  return 0;
}

static void destroy(CPPlugin *model) {
  CPBodies b         = model->data;
  Contacts *contacts = model->own;
  if (contacts) free(contacts->contact);
  free(contacts);
  CPBodiesFree(&b);
}

/* ------------------------------------------------------------------------------ the table -- */

/* Creates the names of parameters and coordinates. Returns 0, or -1 if out of memory. */
static int name_all(CPBodies b) {
  CPPluginType *type = &mechanism.type;
  const int planar = CPBodiesDimension(b) == 2, each = planar ? 3 : PER_BODY,
            bodies = CPBodiesCount(b, CP_BODY);
  int np           = 0;
  while (np < MOST_NAMES && !CPBodiesParameterName(b, np, (char[NAME_LENGTH]){0}, NAME_LENGTH))
    np++;
  const int nc = each * bodies <= MOST_NAMES ? each * bodies : 0;
  /* In the plane they are the rates of the coordinates. */
  const int nv          = planar || nc == 0 ? 0 : 6 * bodies;
  mechanism.names       = calloc((size_t)(np + nc + nv) + 1, NAME_LENGTH);
  mechanism.parameters  = calloc((size_t)np + 1, sizeof *mechanism.parameters);
  mechanism.coordinates = calloc((size_t)(nc + nv) + 1, sizeof *mechanism.coordinates);
  if (!mechanism.names || !mechanism.parameters || !mechanism.coordinates) return -1;
  char *name = mechanism.names;
  for (int i = 0; i < np; i++, name += NAME_LENGTH) {
    static const char *const products[] = {"J_xy", "J_xz", "J_yz"};
    /* J_xx and J_yy precede J_xy ... */
    static const int of[3][2] = {{3, 2}, {4, 2}, {4, 3}};
    sunrealtype least = -SUN_RCONST(1e300), most = SUN_RCONST(1e300);
    const sunrealtype *p = CPBodiesParameters(b) + i;
    CPBodiesParameterName(b, i, name, NAME_LENGTH);
    const char *field = strchr(name, '.') + 1;
    if (!strcmp(field, "mass") || !strcmp(field, "inertance") || !strcmp(field, "J_zz") ||
        (!planar && (!strcmp(field, "J_xx") || !strcmp(field, "J_yy"))) ||
        (!strcmp(field, "length") && *p > 0)) /* 0 is the radius of a point */
      least = SUN_RCONST(1e-300);
    const int is_restitution = !strcmp(field, "restitution");
    if (is_restitution || !strcmp(field, "friction") || !strcmp(field, "sticking")) least = 0;
    if (is_restitution) most = 1;
    for (int k = 0; k < 3 && !planar; k++)
      if (!strcmp(field, products[k])) /* The product of small moments would underflow. */
        most = sqrt(p[-of[k][0]]) * sqrt(p[-of[k][1]]), least = -most;
    mechanism.parameters[i] = (CPPluginParameter){name, "", "as in the file", *p, least, most};
  }
  for (int i = 0; i < nc; i++, name += NAME_LENGTH) {
    const int k = i % each;
    snprintf(name, NAME_LENGTH, "%s.%s", CPBodiesName(b, CP_BODY, i / each),
             (planar ? of_plane : of_space)[k]);
    mechanism.coordinates[i] = (CPPluginCoordinate){name,
                                                    planar && k == 2 ? "rad"
                                                    : k < 3          ? "m"
                                                                     : "1",
                                                    (planar ? meanings2 : meanings)[k]};
  }
  for (int i = 0; i < nv; i++, name += NAME_LENGTH) {
    const int k = i % 6;
    snprintf(name, NAME_LENGTH, "%s.%s", CPBodiesName(b, CP_BODY, i / 6), velocities[k]);
    mechanism.coordinates[nc + i] = (CPPluginCoordinate){name, k < 3 ? "m/s" : "rad/s", rates[k]};
  }
  type->parameters           = mechanism.parameters;
  type->nparameters          = np;
  type->coordinates          = nc > 0 ? mechanism.coordinates : NULL;
  type->ncoordinates         = nc;
  type->units                = planar ? "m m rad" : "m m m 1 1 1 1";
  type->velocity_units       = planar ? NULL : "m/s m/s m/s rad/s rad/s rad/s";
  type->velocities           = nv > 0 ? mechanism.coordinates + nc : NULL;
  type->nvelocities          = nv;
  const sunrealtype *gravity = CPBodiesParameters(b); /* the first parameters */
  type->z_is_up              = !planar && fabs(gravity[2]) > fabs(gravity[1]);
  return 0;
}

/* Is coordinate k of a joint of this kind an angle, and not a displacement? */
static int is_angle(int kind, int k) {
  return kind == CP_JOINT_REVOLUTE || kind == CP_JOINT_UNIVERSAL ||
         (kind == CP_JOINT_CYLINDRICAL && k == 1) || (kind == CP_JOINT_PLANAR && k == 2);
}

/* Makes quantities from the sensors that the file names. Returns 0, or -1 after a complaint. */
static int find_sensors(CPBodies b, const char *path) {
  char words[CP_BODIES_TEXT], *rest = words;
  CPEquations model;
  sunrealtype x[2];
  int failed = 0;
  snprintf(words, sizeof words, "%s", mechanism.run.sensors);
  const size_t most    = strlen(words) / 2 + 1; /* of words with blanks between them */
  mechanism.sensor     = calloc(most, sizeof *mechanism.sensor);
  mechanism.quantities = calloc(1 + 2 * most, sizeof *mechanism.quantities);
  if (!mechanism.sensor || !mechanism.quantities) return complain("no memory");
  /* CPBodiesModel completes the mechanism. Its errors are left to create, which reports them. */
  N_Vector y = CPBodiesModel(b, &model) ? NULL : CPBodiesState(b);
  for (char *word; y && !failed && (word = strtok_r(rest, " ", &rest));) {
    const int i = mechanism.nsensors;
    char *dot   = strrchr(word, '.');
    snprintf(mechanism.sensor[i].name[0], sizeof mechanism.sensor[i].name[0], "%s", word);
    snprintf(mechanism.sensor[i].name[1], sizeof mechanism.sensor[i].name[1], "%s'", word);
    if (dot) *dot = '\0'; /* names have no dot */
    snprintf(mechanism.sensor[i].joint, sizeof mechanism.sensor[i].joint, "%s", word);
    char *end              = NULL;
    const long k           = dot ? strtol(dot + 1, &end, 10) : 0;
    mechanism.sensor[i].of = (CPCoordinate){mechanism.sensor[i].joint, (int)k};
    if ((dot && (end == dot + 1 || *end || k < 0 || k > 2)) ||
        CPBodiesCoordinate(b, mechanism.sensor[i].of, y, &x[0], &x[1])) {
      failed = complain("%s: run: sensors: there is no coordinate \"%s\" of a joint", path,
                        mechanism.sensor[i].name[0]);
      break;
    }
    int joint = 0;
    while (joint < CPBodiesCount(b, CP_JOINT) && strcmp(CPBodiesName(b, CP_JOINT, joint), word))
      joint++;
    const int angle = is_angle(CPBodiesJointKind(b, joint), (int)k);
    for (int rate = 0; rate < 2; rate++)
      mechanism.quantities[1 + 2 * i + rate] =
          (CPPluginQuantity){.name      = mechanism.sensor[i].name[rate],
                             .unit      = angle ? (rate ? "rad/s" : "rad") : (rate ? "m/s" : "m"),
                             .value     = sensor,
                             .conserved = CP_QUANTITY_FREE};
    mechanism.nsensors++;
  }
  if (y) N_VDestroy(y);
  return failed;
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

/* Returns 0, or -1 if out of memory. */
static int keep_inputs(CPBodies b) {
  size_t size = 0;
  FILE *out   = open_memstream(&mechanism.inputs, &size);
  if (!out) return -1;
  fwrite(mechanism.path, 1, strlen(mechanism.path) + 1, out);
  const char *path;
  for (int i = 0; (path = CPBodiesFileRead(b, i)); i++) fwrite(path, 1, strlen(path) + 1, out);
  fputc('\0', out);
  const int failed = ferror(out);
  return fclose(out) || failed ? -1 : 0;
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

const CPPluginType *mechanism_load(const char *path) {
  char message[MESSAGE];
  Method method;
  if (read_file(path)) return NULL;
  SUNContext ctx = context_create();
  if (!ctx) return complain("no memory"), NULL;
  CPBodies b = CPBodiesReadText(mechanism.text, mechanism.size, path, ctx, &mechanism.run, message,
                                sizeof message);
  int failed = !b;
  if (!b) complain("%s", message);
  if (b && !mechanism.shown) mechanism.shown = plain(path);
  if (b && (failed = name_all(b) || keep_inputs(b) || !mechanism.shown)) complain("no memory");
  if (b && !failed) failed = find_sensors(b, path) != 0;
  if (b && *CPBodiesNotes(b) && !(mechanism.left_out = strdup(CPBodiesNotes(b))))
    failed = complain("no memory");
  CPBodiesFree(&b);
  SUNContext_Free(&ctx);
  const CPBodiesFile *run = &mechanism.run;
  if (!failed && run->method[0] && method_find(run->method, &method) != METHOD_FOUND) {
    complain("%s:%d:%d: there is no method \"%s\"", path, run->method_at[0], run->method_at[1],
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
  type->nquantities       = run->balance + 2 * mechanism.nsensors;
  type->create            = create;
  type->destroy           = destroy;
  type->points            = points;
  type->conserves         = conserves;
  type->contact_frames    = frames;
  type->auxiliaries       = run->balance ? &work : NULL;
  type->nauxiliaries      = run->balance != 0;
  type->energies          = energies;
  type->extent            = extent;
  type->left_out          = mechanism.left_out;
  return type;
}
