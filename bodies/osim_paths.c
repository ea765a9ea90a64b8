/* OpenSim's elastic forces: springs and ligaments on paths along points of bodies, and over a sphere or a cylinder between two of them, which
 * are tendons; and springs whose force is an expression, on coordinates and between points. */
#include "osim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAW = 1000 };

/* -------------------------------------------------------------------------------------- paths -- */

typedef struct {
  CPRopeNode node[CP_MOST_NODES];
  int n, points, geoms;
} Path;

static void putNode(const Osim *o, Path *path, int at, const OsimFrame *frame) {
  memmove(path->node + at + 1, path->node + at, (size_t)(path->n++ - at) * sizeof *path->node);
  path->node[at] = (CPRopeNode){.body = osimBodyName(o, frame->body)};
  memcpy(path->node[at].point, frame->pose.r, sizeof path->node[at].point);
}

static int readPoint(Osim *o, const xmlNode *n, Path *path) {
  static const char *const parent[] = {"socket_parent_frame", "parent_frame", "socket_parent",
                                       "body", NULL};
  OsimFrame frame;
  if (osimFrame(o, n, parent, &frame) || osimOffset(o->r, n, "location", "", &frame.pose)) return 1;
  putNode(o, path, path->n, &frame);
  path->points++;
  return 0;
}

/* The surface of this name, and its body, or NULL */
static const xmlNode *findSurface(const Osim *o, const char *name, int *body) {
  const xmlNode *ground = robotChild(o->model, "Ground");
  for (int i = -1; i < o->nbodies; i++) {
    const xmlNode *set = osimObjects(i < 0 ? ground : o->body[i].node, "WrapObjectSet");
    for (const xmlNode *c = set ? set->children : NULL; c; c = c->next) {
      const char *own = c->type == XML_ELEMENT_NODE ? robotText(c, "name") : NULL;
      if (own && !strcmp(own, name)) return *body = i < 0 ? GROUND : i, c;
    }
  }
  return NULL;
}

/* Puts the surface of a PathWrap into the path, whose points have been read. why: out, what keeps it from being a node of a tendon, or NULL.
 * Returns 0, or 1 after a message. */
static int readWrap(Osim *o, const xmlNode *n, Path *path, const char **why) {
  char text[200];
  OsimFrame geom       = {.body = GROUND, .pose = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}};
  const xmlNode *own   = findSurface(o, osimText(n, "wrap_object", text, sizeof text), &geom.body);
  sunrealtype range[2] = {-1, -1}, radius = 0;
  if (!own) return robotWrong(o->r, n, "there is no surface \"%.100s\"", text);
  if (robotChild(own, "active") && !osimIs(own, "active")) return 0;
  osimText(own, "quadrant", text, sizeof text);
  if (osimNumbers(o->r, n, "range", 2, range) || osimNumbers(o->r, own, "radius", 1, &radius) ||
      osimOffset(o->r, own, "translation", "xyz_body_rotation", &geom.pose))
    return 1;
  const int first = range[0] < 1 ? 1 : (int)range[0],
            last  = range[1] < 1 ? path->points : (int)range[1];
  *why = !robotIs(own, "WrapSphere") && !robotIs(own, "WrapCylinder") ? "over ellipsoids and tori"
         : *text && strcmp(text, "all") != 0                          ? "on one side of a surface"
         : path->geoms > 0                                            ? "over several surfaces"
         : last != first + 1 || last > path->points ? "over a surface between any of several points"
                                                    : NULL;
  if (*why || path->n == CP_MOST_NODES) return 0;
  putNode(o, path, first, &geom);
  path->node[first].radius = radius;
  if (robotIs(own, "WrapCylinder"))
    memcpy(path->node[first].axis, geom.pose.axis[2], sizeof path->node[first].axis);
  path->geoms++;
  return 0;
}

static const xmlNode *element(const xmlNode *c) {
  while (c && (c->type != XML_ELEMENT_NODE || robotIs(c, "groups"))) c = c->next;
  return c;
}

static const xmlNode *firstOf(const xmlNode *set) { return set ? element(set->children) : NULL; }

/* why: out, what the path has that a tendon has not, or NULL. Returns 0, or 1 after a message. */
static int readPath(Osim *o, const xmlNode *n, Path *path, const char **why) {
  const xmlNode *of = robotChild(n, "GeometryPath");
  if (!of) of = robotChild(robotChild(n, "path"), "GeometryPath");
  *path = (Path){.n = 0};
  *why  = NULL;
  for (const xmlNode *c = firstOf(osimObjects(of, "PathPointSet")); c && !*why; c = element(c->next))
    if (!robotIs(c, "PathPoint")) *why = "along points that move, or count in a range alone";
    else if (path->n == CP_MOST_NODES - 1) *why = "along more than 15 points";
    else if (readPoint(o, c, path)) return 1;
  if (path->n < 2 && !*why) *why = "without two points";
  for (const xmlNode *c = firstOf(osimObjects(of, "PathWrapSet")); c && !*why; c = element(c->next))
    if (readWrap(o, c, path, why)) return 1;
  return 0;
}

/* --------------------------------------------------------------------------------------- laws -- */

/* law [LAW]: out, the force in the direction in which x grows, with the rate v: minus the tension */
static int springLaw(Osim *o, const xmlNode *n, char *law) {
  sunrealtype K = 1, D = 0, free = 0;
  if (osimNumbers(o->r, n, "stiffness", 1, &K) || osimNumbers(o->r, n, "dissipation", 1, &D) ||
      osimNumbers(o->r, n, "resting_length", 1, &free))
    return 1;
  snprintf(law, LAW, "-%.17g*max(0,x-%.17g)*(1+%.17g*v)", (double)K, (double)free, (double)D);
  return 0;
}

/* L. Blankevoort, R. Huiskes, J. Biomech. Eng. 113, 1991: with the strain e and e_t at the end of the toe region the tension is
 * k e^2 / (2 e_t), then k (e - e_t / 2), and, while the ligament lengthens, c e' more. */
static int ligamentLaw(Osim *o, const xmlNode *n, char *law) {
  sunrealtype k = 1, c = SUN_RCONST(0.003), toe = SUN_RCONST(0.06), slack = 0;
  if (osimNumbers(o->r, n, "linear_stiffness", 1, &k) ||
      osimNumbers(o->r, n, "damping_coefficient", 1, &c) ||
      osimNumbers(o->r, n, "transition_strain", 1, &toe) ||
      osimNumbers(o->r, n, "slack_length", 1, &slack))
    return 1;
  if (!(slack > 0) || !(toe > 0))
    return robotWrong(o->r, n, "slack_length and transition_strain must be positive");
  snprintf(
      law, LAW,
      "-if(x<=%.17g,0,if(x<%.17g,%.17g*(x-%.17g)^2,%.17g*((x-%.17g)/%.17g-%.17g))+%.17g*max(0,v))",
      (double)slack, (double)(slack * (1 + toe)), (double)(k / (2 * toe * slack * slack)),
      (double)slack, (double)k, (double)slack, (double)slack, (double)(toe / 2),
      (double)(c / slack));
  return 0;
}

/* The law as a function of t, x and v, which may call f. law: out, owned by the caller */
static int lawOf(Osim *o, const xmlNode *n, const char *text, const char *const *variable,
                 CPFunction f, CPFunction *law) {
  const CPDefinition curve        = {CP_SIZED(CPDefinition), .name = "f", .function = f};
  const CPFunctionOptions options = {
      CP_SIZED(CPFunctionOptions), .text = text,        .nvariables = 3, .variable = variable,
      .ndefinitions = f != NULL,   .definition = &curve};
  return robotFunction(o->r, n, &options, law);
}

static const char *const plain[] = {"t", "x", "v"};

/* Older ligaments: F f(x / slack) where they are longer than that */
static int curveLaw(Osim *o, const xmlNode *n, CPFunction *law) {
  sunrealtype F = 1, slack = 0;
  OsimFunction z;
  char text[LAW];
  const xmlNode *curve = robotChild(n, "force_length_curve");
  if (osimNumbers(o->r, n, "pcsa_force", 1, &F) || osimNumbers(o->r, n, "resting_length", 1, &slack))
    return 1;
  if (!(slack > 0)) return robotWrong(o->r, n, "resting_length must be positive");
  if (osimFunction(o->r, curve ? curve : n, F, &z)) return 1;
  snprintf(text, sizeof text,
           z.f ? "-if(x<=%.17g,0,%.17g+f(x/%.17g))" : "-if(x<=%.17g,0,%.17g+%.17g*x)",
           (double)slack, (double)z.offset, (double)(z.f ? slack : z.ratio / slack));
  const int failed = lawOf(o, n, text, plain, z.f, law);
  CPFunctionFree(&z.f);
  return failed;
}

int osimAddPath(Osim *o, const xmlNode *n) {
  Path path;
  const char *why;
  char name[128], text[LAW];
  CPFunction law = NULL;
  if (readPath(o, n, &path, &why)) return 1;
  if (why) return robotNote(o->r, n, "paths of the kind %.60s %s", (const char *)n->name, why);
  int failed = osimForceName(o, n, name);
  if (!failed && robotIs(n, "Ligament")) failed = curveLaw(o, n, &law);
  else if (!failed)
    failed = (robotIs(n, "PathSpring") ? springLaw : ligamentLaw)(o, n, text) ||
             lawOf(o, n, text, plain, NULL, &law);
  if (failed) return 1;
  const CPTendon tendon = {CP_NEW_TENDON(name), .nnodes = path.n, .node = path.node,
                           .in = CP_IN_BODIES, .function = law};
  const int flag        = CPBodiesAdd(o->r->bodies, &tendon.head, NULL);
  CPFunctionFree(&law);
  return robotRefused(o->r, n, flag);
}

/* -------------------------------------------------------------------------------- expressions -- */

/* The expression without blanks at its ends, times a sign. Lepton's operators are those of expressions here. */
static int expression(Osim *o, const xmlNode *n, const char *const *variable, const char *sign,
                      CPFunction *law) {
  char own[LAW - 20], text[LAW];
  osimText(n, "expression", own, sizeof own);
  if (strlen(own) + 1 == sizeof own) return robotWrong(o->r, n, "its expression is too long");
  snprintf(text, sizeof text, "%s(%s)", sign, *own ? own : "0");
  return lawOf(o, n, text, variable, NULL, law);
}

int osimDistanceLaw(Osim *o, const xmlNode *n, CPFunction *law) {
  static const char *const variable[] = {"t", "d", "ddot"};
  return expression(o, n, variable, "-", law); /* positive forces attract */
}

int osimAddCoordinateForce(Osim *o, const xmlNode *n) {
  static const char *const variable[] = {"t", "q", "qdot"};
  char name[128], coordinate[200];
  const char *path =
                 osimText(n, robotChild(n, "socket_coordinate") ? "socket_coordinate" : "coordinate",
                          coordinate, sizeof coordinate),
             *slash = strrchr(path, '/');
  const int i       = osimCoordinate(o, slash ? slash + 1 : path);
  if (i == NONE) return robotWrong(o->r, n, "there is no coordinate \"%.100s\"", path);
  const OsimCoordinate *c = &o->coordinate[i];
  if (c->k == NONE && c->locked)
    return robotTell(o->r, n, WITHOUT_EFFECT, "springs of locked coordinates");
  if (c->k == NONE)
    return robotNote(o->r, n, "springs of coordinates of bodies that move freely, of the kind %.60s",
                     (const char *)n->name);
  CPSpring spring = {CP_NEW_SPRING(name), .of = {o->joint[c->joint].name, c->k}};
  if (osimForceName(o, n, name)) return 1;
  if (robotIs(n, "SpringGeneralizedForce")) {
    if (osimNumbers(o->r, n, "stiffness", 1, &spring.stiffness) ||
        osimNumbers(o->r, n, "viscosity", 1, &spring.damping) ||
        osimNumbers(o->r, n, "rest_length", 1, &spring.free))
      return 1;
  } else if (expression(o, n, variable, "", &spring.function)) return 1;
  const int flag = CPBodiesAdd(o->r->bodies, &spring.head, NULL);
  CPFunctionFree(&spring.function);
  return robotRefused(o->r, n, flag);
}
