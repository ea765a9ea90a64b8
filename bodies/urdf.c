/* URDF (http://wiki.ros.org/urdf/XML): a tree of links, whose root, to which no joint leads, is the
 * ground. Couplings are mimic joints; closed loops are not part of the format. */
#include "robot_impl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  Robot *r;
  /* joint: the one that leads to the link of the same index, or NULL */
  const xmlNode **link, **joint;
  Loops loops; /* of the YAML file beside it, whose name is `beside` */
  char beside[1000];
  int *next, *first; /* linked lists of the children of a link, ended by -1 */
  int nlinks;
} Urdf;

int urdfOrigin(Robot *r, const xmlNode *n, const Place *parent, Place *place) {
  sunrealtype xyz[3] = {0, 0, 0}, rpy[3] = {0, 0, 0}, e[4];
  const xmlNode *origin = robotChild(n, "origin");
  const char *at        = origin ? robotText(origin, "xyz") : NULL,
             *turn      = origin ? robotText(origin, "rpy") : NULL;
  if ((at && robotNumbers(r, origin, "xyz", at, 3, 3, xyz, NULL)) ||
      (turn && robotNumbers(r, origin, "rpy", turn, 3, 3, rpy, NULL)))
    return 1;
  robotAngles(rpy, 1, e);
  robotPlace(parent, xyz, e, place);
  return 0;
}

/* Reads a number of an element; x: in, the default; out. Returns 0, or 1 after a message. */
static int number(Robot *r, const xmlNode *n, const char *attribute, int required, sunrealtype *x) {
  const char *text = n ? robotText(n, attribute) : NULL;
  if (text) return robotNumbers(r, n, attribute, text, 1, 1, x, NULL);
  return required ? robotWrong(r, n, "%s must be given", attribute) : 0;
}

static int readInertial(Robot *r, const xmlNode *link, const Place *place) {
  const xmlNode *n = robotChild(link, "inertial");
  Mass mass        = {0};
  Place at;
  if (!n) return 0;
  const xmlNode *m = robotChild(n, "mass"), *J = robotChild(n, "inertia");
  if (!m || !J) return robotWrong(r, n, "mass and inertia must be given");
  if (urdfOrigin(r, n, place, &at) || number(r, m, "value", 1, &mass.mass)) return 1;
  for (int k = 0; k < 6; k++)
    if (number(r, J, robot_moments[k], k < 3, &mass.J[k])) return 1;
  if (!(mass.mass >= 0))
    return robotWrong(r, m, "value must not be negative, and is %g", (double)mass.mass);
  robotMass(r, &at, &mass);
  return 0;
}

/* Only joints of these types have limits of position; other limits are those of a motor. The defaults of both are 0, but no one means that a
 * joint with neither stays where it is: exporters leave both out where they know none. */
static int readStops(Robot *r, const xmlNode *joint, RobotJoint *j) {
  const xmlNode *limit = robotChild(joint, "limit"), *dynamics = robotChild(joint, "dynamics");
  const char *type = robotText(joint, "type");
  j->limited       = limit && type && (!strcmp(type, "revolute") || !strcmp(type, "prismatic"));
  if (j->limited && !robotText(limit, "lower") && !robotText(limit, "upper")) {
    j->limited = 0;
    if (robotTell(r, joint, CHANGED, "joints whose limit has no lower and upper are not limited"))
      return 1;
  }
  return number(r, limit, "lower", 0, &j->range[0]) || number(r, limit, "upper", 0, &j->range[1]) ||
         number(r, dynamics, "friction", 0, &j->friction);
}

/* Reads the YAML file with the name of this one, if there is one with loops; other files do not matter. */
static int readBeside(Urdf *u) {
  const char *dot = strrchr(u->r->file, '.'), *why;
  size_t size;
  if (!dot || u->r->open ||
      snprintf(u->beside, sizeof u->beside, "%.*s.yaml", (int)(dot - u->r->file), u->r->file) >=
          (int)sizeof u->beside)
    return 0;
  char *text = bodiesFile(u->beside, &size, &why);
  if (!text) return 0;
  int failed = 0;
  if (strstr(text, "closed_loop")) {
    failed = bodiesReadLoops(text, size, u->beside, &u->loops, u->r->message, u->r->length);
    if (!failed && u->loops.nloops > 0 && bodiesHasRead(u->r->bodies, u->beside))
      failed = robotWrong(u->r, NULL, "no memory");
  }
  free(text);
  return failed;
}

/* Returns 1 after a message with the place of a loop or change. */
static int wrongBeside(const Urdf *u, int line, int column, const char *rule, const char *name) {
  snprintf(u->r->message, u->r->length, "%s:%d:%d: %s \"%.100s\"", u->beside, line, column, rule,
           name);
  bodiesOneLine(u->r->message, u->r->length);
  return 1;
}

/* The link of this name, or to which the joint of this name leads, or -1 */
static int frameOf(const Urdf *u, const char *name) {
  for (int i = 0; i < u->nlinks; i++) {
    const char *link  = robotText(u->link[i], "name"),
               *joint = u->joint[i] ? robotText(u->joint[i], "name") : NULL;
    if ((link && !strcmp(link, name)) || (joint && !strcmp(joint, name))) return i;
  }
  return -1;
}

static int closeLoops(const Urdf *u) {
  for (int i = 0; i < u->loops.nloops; i++) {
    const LoopOfUrdf *l = &u->loops.loop[i];
    Place side[2];
    int frame[2];
    for (int k = 0; k < 2; k++) {
      if ((frame[k] = frameOf(u, l->frame[k])) < 0)
        return wrongBeside(u, l->line, l->column, "there is no link or joint", l->frame[k]);
      side[k] = u->r->place[frame[k]];
    }
    if (robotLoop(u->r, u->link[frame[0]], NULL, l->fixed, side)) return 1;
  }
  return 0;
}

/* The link with the name of link i but for its end _2, if that is closing_NAME_1, or NONE: onshape-to-robot makes such a pair of links
 * of a mate that closes a loop. */
static int pairOf(const Urdf *u, int i) {
  const char *name    = robotText(u->link[i], "name");
  const size_t length = name ? strlen(name) : 0;
  char other[200];
  if (length < 2 || length >= sizeof other || strncmp(name, "closing_", 8) ||
      strcmp(name + length - 2, "_1"))
    return NONE;
  memcpy(other, name, length + 1);
  other[length - 1] = '2';
  const void *found = xmlHashLookup2(u->r->names, BAD_CAST "link", BAD_CAST other);
  return found ? (int)(intptr_t)found - 1 : NONE;
}

/* Their origins meet. */
static int closePairs(const Urdf *u) {
  for (int i = 0; i < u->nlinks; i++) {
    const int pair = pairOf(u, i);
    if (pair == NONE) continue;
    const Place side[2] = {u->r->place[i], u->r->place[pair]};
    if (robotTell(u->r, u->link[i], CHANGED,
                  "pairs of links closing_NAME_1 and _2 to loops whose points meet") ||
        robotLoop(u->r, u->link[i], NULL, 0, side))
      return 1;
  }
  return 0;
}

/* Reads a link to which a ball joint leads, or two hinges about axes of the link, instead of the joint of the URDF. */
static int readChanged(Urdf *u, int i, const xmlNode *n, const char *as, Place *place) {
  static const sunrealtype origin[3];
  Robot *r         = u->r;
  const char *name = robotText(n, "name");
  for (int k = 0; k < (as[0] == 'U' ? 2 : 1); k++) {
    sunrealtype axis[3] = {0, 0, 0};
    if (as[0] == 'U') axis[as[7 + k] - 'X'] = 1;
    if (!robotJoint(r, n, as[0] == 'U' ? HINGE : BALL, k ? NULL : name, place, origin, axis))
      return 1;
  }
  r->place[i] = *place;
  return readInertial(r, u->link[i], place);
}

/* Reads a link and the joint that leads to it, at the place of its parent. */
static int readLink(Urdf *u, int i, const Place *parent) {
  static const char *const types[] = {"revolute", "continuous", "prismatic", "floating",
                                      "planar",   "spherical",  "fixed"};
  static const JointType kinds[]   = {HINGE, HINGE, SLIDE, FREE, PLANE, BALL};
  enum { BALLS = 5, FIXED }; /* "spherical" is Bullet's, and not of the format */
  static const sunrealtype origin[3];
  Robot *r         = u->r;
  const xmlNode *n = u->joint[i];
  Place place      = *parent;
  int type         = 0;
  if (n) {
    sunrealtype axis[3] = {1, 0, 0};
    const char *name    = robotText(n, "type");
    const xmlNode *a = robotChild(n, "axis"), *dynamics = robotChild(n, "dynamics");
    while (type <= FIXED && (!name || strcmp(types[type], name))) type++;
    if (type > FIXED) return robotWrong(r, n, "there is no type \"%.60s\"", name ? name : "");
    const char *as = "", *joint_name = robotText(n, "name");
    for (int k = 0; k < u->loops.nchanges && joint_name; k++) {
      const ChangeOfUrdf *c = &u->loops.change[k];
      if (strcmp(c->joint, joint_name)) continue;
      as                = c->type;
      const int is_hook = !strncmp(as, "UJOINT_", 7) && strspn(as + 7, "XYZ") == 2 && !as[9];
      if (!is_hook && strcmp(as, "SPHERICAL") && strcmp(as, "FIXED"))
        return wrongBeside(u, c->line, c->column, "there is no joint_type", as);
    }
    if (!strcmp(as, "FIXED")) type = FIXED;
    if (urdfOrigin(r, n, parent, &place)) return 1;
    if (a && robotText(a, "xyz") && robotNumbers(r, a, "xyz", robotText(a, "xyz"), 3, 3, axis, NULL))
      return 1;
    if (type < FIXED) {
      if ((place.link = robotLink(r, u->link[i], robotText(u->link[i], "name"), &place)) < 0)
        return 1;
      if (*as) return readChanged(u, i, n, as, &place);
      RobotJoint *j = robotJoint(r, n, kinds[type], robotText(n, "name"), &place, origin, axis);
      if (!j || number(r, dynamics, "damping", 0, &j->damping) || readStops(r, n, j)) return 1;
      if (j->damping < 0)
        return robotWrong(r, dynamics, "damping must not be negative, and is %g",
                          (double)j->damping);
      if (j->damping != 0 && type > 2 && type != BALLS)
        return robotWrong(r, dynamics, "the damping of a %s joint is not supported", types[type]);
    }
  }
  u->r->place[i] = place;
  return place.link == GROUND ? 0 : readInertial(r, u->link[i], &place);
}

/* Is this a single body, which has mass? Other programs drop it, or push it: then the root moves freely unless `base` says otherwise. */
static int isOneBody(const Urdf *u, int root) {
  const xmlNode *inertial = robotChild(u->link[root], "inertial"),
                *mass     = robotChild(inertial, "mass");
  const char *value       = mass ? robotText(mass, "value") : NULL;
  int moves               = 0;
  for (int i = 0; i < u->nlinks && !moves; i++) {
    const char *type = u->joint[i] ? robotText(u->joint[i], "type") : NULL;
    moves            = i != root && (!type || strcmp(type, "fixed"));
  }
  return !moves && value && strtod(value, NULL) > 0;
}

/* Reads the root, to which no joint leads: it is the ground, or moves freely. */
static int readRoot(Urdf *u, int i, const char *base) {
  static const sunrealtype none[3];
  static const Place world = {{0, 0, 0, 1, 0, 0, 0}, GROUND};
  Robot *r                 = u->r;
  const xmlNode *n         = u->link[i];
  if (!strcmp(base, "fixed")) {
    if (robotChild(n, "inertial") &&
        robotTell(r, n, WITHOUT_EFFECT, "the mass of %.100s, which is the ground (base=fixed)",
                  robotText(n, "name")))
      return 1;
    return readLink(u, i, &world);
  }
  r->place[i] = world;
  if ((r->place[i].link = robotLink(r, n, robotText(n, "name"), &world)) < 0 ||
      !robotJoint(r, n, FREE, NULL, &r->place[i], none, none))
    return 1;
  return readInertial(r, n, &r->place[i]);
}

/* Notes the children of n that may act on the motion. Neither those in `known`, whose words are
 * surrounded by blanks, do so, nor drawings and sensors; settings of other programs mean nothing here, and motors
 * and limits of controllers have no effect without a control. */
static int others(Robot *r, const xmlNode *n, const char *known) {
  static const char *const silent  = " visual collision material gazebo sensor calibration ";
  static const char *const foreign = " contact mujoco joint_properties self_filter ros2_control "
                                     "collision_checking self_collision_checking kinematic "
                                     "drake:collision_filter_group disable_collisions group "
                                     "collision_filter_group frame gravity origin ";
  static const char *const idle    = " transmission safety_controller ";
  for (const xmlNode *c = n->children; c; c = c->next) {
    if (c->type != XML_ELEMENT_NODE || robotKnows(known, c->name) || robotKnows(silent, c->name))
      continue;
    const Group group = robotKnows(foreign, c->name) ? WITHOUT_MEANING
                        : robotKnows(idle, c->name)  ? WITHOUT_EFFECT
                                                     : LEFT_OUT;
    if (robotTell(r, c, group, group == LEFT_OUT ? "the unknown element %.60s" : "%.60s",
                  (const char *)c->name))
      return 1;
  }
  return 0;
}

/* Reads the links by name, then the joints that lead to them. */
static int readTree(Urdf *u, const xmlNode *root) {
  Robot *r = u->r;
  for (const xmlNode *n = root->children; n; n = n->next) {
    const char *name = robotText(n->type == XML_ELEMENT_NODE ? n : root, "name");
    if (!robotIs(n, "link")) continue;
    if (others(r, n, " inertial ")) return 1;
    if (!name) return robotWrong(r, n, "name must be given");
    if (ROOM(u->link, u->nlinks, 1)) return robotWrong(r, n, "no memory");
    u->link[u->nlinks] = n;
    if (robotName(r, n, "link", name, u->nlinks++)) return 1;
  }
  if (u->nlinks == 0) return robotWrong(r, root, "there must be a link; there is none");
  const size_t count = (size_t)u->nlinks;
  u->joint           = calloc(count, sizeof *u->joint);
  u->next            = malloc(count * sizeof *u->next);
  u->first           = malloc(count * sizeof *u->first);
  if (!u->joint || !u->next || !u->first || ROOM(r->place, 0, u->nlinks))
    return robotWrong(r, root, "no memory");
  memset(r->place, 0, count * sizeof *r->place);
  r->nplaces = u->nlinks;
  for (int i = 0; i < u->nlinks; i++) u->first[i] = u->next[i] = -1;
  for (const xmlNode *n = root->children; n; n = n->next) {
    if (!robotIs(n, "joint")) continue;
    const xmlNode *parent = robotChild(n, "parent"), *to = robotChild(n, "child");
    if (!parent || !to) return robotWrong(r, n, "parent and child must be given");
    if (others(r, n, " origin parent child axis dynamics mimic limit ")) return 1;
    const int a = robotFind(r, parent, "link", robotText(parent, "link")),
              b = a < 0 ? -1 : robotFind(r, to, "link", robotText(to, "link"));
    if (b < 0) return 1;
    if (u->joint[b])
      return robotWrong(r, n, "the link \"%.60s\" has a joint that leads to it already",
                        robotText(to, "link"));
    u->joint[b] = n;
    u->next[b]  = u->first[a];
    u->first[a] = b;
  }
  return others(r, root, " link joint ");
}

/* The type of the joint of this name, "" if it has none, or NULL if there is no such joint */
static const char *typeOf(const xmlNode *root, const char *name) {
  for (const xmlNode *n = root->children; n && name; n = n->next) {
    const char *own  = robotIs(n, "joint") ? robotText(n, "name") : NULL,
               *type = own ? robotText(n, "type") : NULL;
    if (own && !strcmp(own, name)) return type ? type : "";
  }
  return NULL;
}

/* Reads the equations x = offset + multiplier x_other of mimic joints. */
static int readMimics(Robot *r, const xmlNode *root) {
  for (const xmlNode *n = root->children; n; n = n->next) {
    const xmlNode *mimic = robotIs(n, "joint") ? robotChild(n, "mimic") : NULL;
    sunrealtype offset = 0, multiplier = 1;
    if (!mimic) continue;
    if (number(r, mimic, "offset", 0, &offset) || number(r, mimic, "multiplier", 0, &multiplier))
      return 1;
    const char *type = robotText(n, "type"), *to = robotText(mimic, "joint");
    if (type && !strcmp(type, "fixed")) {
      if (robotTell(r, mimic, WITHOUT_EFFECT, "the mimic of fixed joints")) return 1;
      continue;
    }
    const char *of = typeOf(root, to);
    if (!of) { /* Other programs do not look for it. */
      if (robotNote(r, mimic, "mimics of joints that the file does not have")) return 1;
      continue;
    }
    const int is_fixed = !strcmp(of, "fixed"), i = robotFind(r, n, "joint", robotText(n, "name")),
              j = i < 0 || is_fixed ? -1 : robotFind(r, mimic, "joint", to);
    if (i < 0 || (j < 0 && !is_fixed) ||
        robotCouple(r, mimic, NULL, i, j, (sunrealtype[5]){offset, multiplier}))
      return 1;
  }
  return 0;
}

int robotReadUrdf(Robot *r, const xmlNode *root) {
  enum { REACHED = -2 };
  static const sunrealtype g[]     = {0, 0, -9.81};
  static const char *const known[] = {"base", "contacts", "files", NULL};
  char base[20]                    = "fixed";
  Urdf u                           = {.r = r};
  r->mends                         = 1;
  int failed                       = readBeside(&u) || readTree(&u, root),
      *queue = failed ? NULL : malloc((size_t)u.nlinks * sizeof *queue), end = 0;
  if (!failed && !queue) failed = robotWrong(r, root, "no memory");
  const int given = robotSetting(r, known[0], base, sizeof base);
  if (given && !failed && strcmp(base, "fixed") && strcmp(base, "free"))
    failed = robotWrong(r, root, "base must be fixed or free, and is \"%s\"", base);
  for (int i = 0; i < u.nlinks && !failed; i++)
    if (!u.joint[i]) queue[end++] = i;
  if (!failed && end != 1)
    failed = robotWrong(r, end ? u.link[queue[1]] : u.joint[0],
                        "one link must be the root, which no joint leads to, and %d are", end);
  if (!failed && !given && isOneBody(&u, queue[0])) {
    strcpy(base, "free");
    failed = robotTell(r, u.link[queue[0]], CHANGED,
                       "the base to a free one, as no joint moves (base=fixed)");
  }
  for (int k = 0; k < end && !failed; k++) { /* Parents come before children. */
    const int i        = queue[k];
    const char *parent = k ? robotText(robotChild(u.joint[i], "parent"), "link") : NULL;
    failed             = k ? readLink(&u, i, &r->place[robotFind(r, u.joint[i], "link", parent)])
                           : readRoot(&u, i, base);
    for (int j = u.first[i]; j >= 0; j = u.next[j]) queue[end++] = j;
    u.first[i] = REACHED;
  }
  for (int i = 0; i < u.nlinks && !failed && end < u.nlinks; i++)
    if (u.first[i] != REACHED)
      failed = robotWrong(r, u.joint[i], "%d links form cycles", u.nlinks - end);
  if (!failed) failed = robotRefused(r, root, bodiesSetGravity(r->bodies, g));
  r->loops = u.loops.nloops > 0;
  for (int i = 0; i < u.nlinks && !failed; i++) r->loops |= pairOf(&u, i) != NONE;
  if (!failed)
    failed = robotStart(r, known) || robotBuild(r) || readMimics(r, root) || closeLoops(&u) ||
             closePairs(&u) || urdfContacts(r, u.link, u.joint, u.nlinks);
  free(queue);
  free(u.link);
  free(u.joint);
  free(u.next);
  free(u.first);
  free(u.loops.loop);
  free(u.loops.change);
  return failed;
}
