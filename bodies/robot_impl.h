/* Robots in XML files: what the readers of MJCF, URDF and SDF share. A reader lists links (bodies that
 * move), their masses and the joints that lead to them, all in the axes of space at the placement;
 * robotBuild makes the mechanism from them. */
#ifndef CPODES_ROBOT_IMPL_H
#define CPODES_ROBOT_IMPL_H

#include "files.h"
#include "hull.h"

#include <cpodes/cpodes_language.h>
#include <libxml/hash.h>
#include <libxml/tree.h>

/* A frame in space: its origin [m] and quaternion, scalar first; and the link with which it moves,
 * or GROUND */
typedef struct {
  sunrealtype q[7];
  int link;
} Place;

/* Mass, centre of mass, and the components xx, yy, zz, xy, xz, yz of the inertia tensor about it */
typedef struct {
  sunrealtype mass, centre[3], J[6];
} Mass;

typedef struct {
  const xmlNode *node;
  char name[128]; /* of the body in the mechanism */
  Place place;    /* of its frame; place.link is the parent */
  Mass mass;      /* in space */
  Mass lifted;    /* the part of it on which gravity does not act */
  int first, njoints;
} Link;

typedef enum { HINGE, SLIDE, BALL, FREE, PLANE } JointType;

/* One joint of a link, which may have several in a row. In the reference pose, that of link->place, its coordinate is ref. */
typedef struct {
  const xmlNode *node;
  JointType type;
  const char *name; /* in the file, or NULL */
  sunrealtype point[3], axis[3], ref, springref, stiffness, damping, armature;
  sunrealtype springdamper[2]; /* time constant and damping ratio from which stiffness and damping follow, if both are positive */
  /* at the start: a coordinate, the quaternion of a ball joint, or position and quaternion of a free body; its rate, or
   * velocities, where those of a rotation are in the link's axes */
  sunrealtype value[7], rate[6];
  int limited;                    /* has it the stops range [2]? */
  int has_stops;                  /* 1: the mechanism has them */
  sunrealtype range[2], friction; /* friction: dry, >= 0 */
  sunrealtype total[2];           /* range of the force of all its actuators, or equal ends */
  int held;                       /* 1: it moves no mass, and does not move */
  int closes, side[2];            /* 1: it closes a loop, from link side[0] to side[1], or GROUND */
  /* the mechanism's joint, and the index of its coordinate, 0 or NONE */
  char joint[128];
  int k;
} RobotJoint;

/* What is told of a part of a file: it acts on the motion and is left out; it has been changed; it acts in no run of this
 * mechanism; it means nothing for rigid bodies whose constraints are exact. */
typedef enum { LEFT_OUT, CHANGED, WITHOUT_EFFECT, WITHOUT_MEANING } Group;

typedef struct {
  char text[200];
  Group group;
  const xmlNode *node;
  int count;
} Note;

/* What touches others. Indices are those of arrays of Robot. */
typedef struct {
  const xmlNode *node;
  const char *name; /* in the file, or NULL */
  const char *what; /* what it is called, if it has no shape: "height fields" */
  const xmlNode *mesh; /* of a mesh: its element, and the number of its file among those of the reader */
  int source;
  int kind;            /* CPShapeKind, or -1 */
  sunrealtype size[3]; /* as that of a CPShape */
  int place;           /* of its centre and axes */
  int body; /* what excluded pairs call its body, as its place in the file; -1: the world; -2: it has no name */
  /* which set of bodies it belongs to, such as a tree or a model; -1: the world. Those of one do not touch each other, unless both have
   * `self`. */
  int tree, self;
  unsigned type,
      affinity;   /* geoms touch where one has a bit of type that the other one has of affinity */
  int dimensions; /* 1: without friction */
  sunrealtype friction; /* >= 0 */
  /* of the mechanism, itself and as a polyhedron, whose surface is at most `off` within; or -1: not yet */
  int shape, facets;
  sunrealtype off;
} RobotGeom;

/* The position of an element's tag in a file */
typedef struct {
  const char *file;
  int line, column;
} Spot;

struct Robot_;
/* hull: out, owned by the caller; its points are NULL if the mesh of a geom has none, such as a missing file. Returns 0, or 1 after
 * robotWrong. */
typedef int (*MeshOf)(struct Robot_ *r, const RobotGeom *g, void *data, MeshHull *hull);

typedef struct Robot_ {
  /* for messages; the paths of included files and meshes are relative to its folder */
  const char *file;
  char *message;
  size_t length;
  xmlDocPtr doc;
  CPBodies bodies;
  Link *link;
  RobotJoint *joint;
  Note *note;
  Place *place; /* the places that have names */
  RobotGeom *geom;
  int (*excluded)[2]; /* RobotGeom.body of bodies whose geoms do not touch */
  int nlinks, njoints, nnotes, nplaces, ngeoms, nexcluded;
  xmlHashTablePtr names; /* (kind, name) -> index + 1 */
  const char *title;     /* of the file, where its root does not have it */
  const char *settings;  /* lines NAME=TEXT, or NULL (CPBodiesFile) */
  int moved;             /* 1: it does not start in the reference pose at rest */
  int open;              /* 1: other files add elements */
  const char *loose;     /* [njoints] 1: these stops are left out; or NULL */
  int loops; /* 1: joints close loops: the reference pose is only a guess, and links without mass may move */
  int mends;       /* 1: moments of inertia that no body has are changed to the nearest ones */
  char **included; /* names of files */
  Spot *spot;      /* position of the element whose _private is the index + 1 */
  int nincluded, nspots;
  int least;     /* 1: friction between geoms is the smaller one of both, 0: the larger one */
  MeshOf meshes; /* or NULL */
  void *meshes_data;
} Robot;

/* ---- xml.c ---- */

/* Writes "file:line:column: <tag name>: ..." and returns 1; at: NULL for the file as a whole. */
int robotWrong(Robot *r, const xmlNode *at, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Records what is told of a part, as "actuators"; each text is listed once, with its count. What does not act, such as lights,
 * is silent. Returns 0, or 1 if out of memory. */
int robotTell(Robot *r, const xmlNode *at, Group group, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;
#define robotNote(r, at, ...) robotTell(r, at, LEFT_OUT, __VA_ARGS__)
/* The position of an element's tag */
const Spot *robotSpot(const Robot *r, const xmlNode *at);
/* Parses a text. Returns NULL after a message with the parser's error and its position. */
xmlDocPtr robotParse(Robot *r, const char *name, const char *data, size_t size);
/* Returns an attribute, or NULL. */
const char *robotText(const xmlNode *n, const char *attribute);
/* Reads finite numbers from a text, at least `least` and at most `most`; count: out, or NULL.
 * Returns 0, or 1 after robotWrong. */
int robotNumbers(Robot *r, const xmlNode *n, const char *attribute, const char *text, int least,
                 int most, sunrealtype *x, int *count);
static inline int robotIs(const xmlNode *n, const char *tag) {
  return n->type == XML_ELEMENT_NODE && !xmlStrcmp(n->name, BAD_CAST tag);
}
/* The child of n with this tag, or NULL; n: or NULL */
static inline xmlNode *robotChild(const xmlNode *n, const char *tag) {
  xmlNode *c = n ? n->children : NULL;
  while (c && !robotIs(c, tag)) c = c->next;
  return c;
}
/* Is a name among the words of `known`, which are surrounded by blanks? */
int robotKnows(const char *known, const xmlChar *name);
/* Notes each attribute of n among the words of `acting`, which are surrounded by blanks, that is not
 * zero or switched off: it acts on the motion, and the mechanism does not have it. */
int robotAttributes(Robot *r, const xmlNode *n, const char *acting);
/* Reads a whole file into memory, which the caller frees. The path is relative to the folder of
 * r->file, and to `folder` in it unless that is NULL. Returns NULL after robotWrong, also if the file is far from that of r (bodiesMayRead). */
char *robotFile(Robot *r, const xmlNode *at, const char *folder, const char *path, size_t *size);
/* Gives `index` to the name, among the names of this kind, or reports that the name is given twice. */
int robotName(Robot *r, const xmlNode *at, const char *kind, const char *name, int index);
/* Returns the index of a name, or -1 after robotWrong. */
int robotFind(Robot *r, const xmlNode *at, const char *kind, const char *name);

/* ---- formats.c ---- */

/* The element after n in the order of the file, within `top`, or NULL */
xmlNodePtr robotNext(xmlNodePtr n, const xmlNode *top);
/* Replaces all <include> below a root by what the files contain; file: the one of the root, from the folder of the main file, or NULL.
 * Returns 0, or 1 after a message. */
int robotInclude(Robot *r, xmlNodePtr root, const char *file);
/* Parses the text of an included file, which it frees, and keeps its name for messages. Returns NULL after a message. */
xmlDocPtr robotIncluded(Robot *r, const xmlNode *at, const char *path, char *data, size_t size);

/* The path of a file that a URI names: what follows package://, model:// or file://; or all of it */
const char *robotPath(const char *uri);

/* ---- robot.c ---- */

/* place = parent, followed by pos [3] and quat [4] */
void robotPlace(const Place *parent, const sunrealtype *pos, const sunrealtype *quat, Place *place);
/* e = e_1 e_2 */
void robotTurn(const sunrealtype *e1, const sunrealtype *e2, sunrealtype *e);
/* e: out, the rotation by an angle about axis k */
void robotAxis(int k, sunrealtype angle, sunrealtype *e);
/* e: out, the rotations by angle [3] about x, y and z, one after the other: about axes that are fixed, or that turn with them */
void robotAngles(const sunrealtype *angle, int are_fixed, sunrealtype *e);
/* e: out, the quaternion of the frame whose axes, by columns, are orthonormal */
void robotAxes(sunrealtype axis[3][3], sunrealtype *e);
/* f: out, owned by the caller. Returns 0, or 1 after robotWrong. */
int robotFunction(Robot *r, const xmlNode *at, const CPFunctionOptions *options, CPFunction *f);
/* on: out, a place as one side of a joint, in the frame of its link */
void robotMarker(const Robot *r, const Place *place, CPMarker *on);
static inline void robotPose(const Place *place, Pose *pose) {
  static const Space space = {3, 6, 7, {0, 0}, {3, 3}};
  bodiesPoseAt(&space, place->q, NULL, NULL, pose);
}
/* What URDF and SDF call the moments of inertia, in the order of CPBody */
extern const char *const robot_moments[6];
/* Adds a mass, given in the frame of place, to the link of place. */
void robotMass(Robot *r, const Place *place, const Mass *mass);
/* Gravity does not act on this part of a mass, given in the frame of place. */
void robotLift(Robot *r, const Place *place, const Mass *mass, sunrealtype part);
/* Adds a link at place, with room for its joints. Returns its index, or -1 after a report that
 * there is no memory. */
int robotLink(Robot *r, const xmlNode *node, const char *name, const Place *place);
RobotJoint *robotJoint(Robot *r, const xmlNode *node, JointType type, const char *name,
                       const Place *place, const sunrealtype *point, const sunrealtype *axis);
/* Adds a joint that closes a loop: robotBuild makes rows of it, from the link of side[0] to that of side[1]. */
RobotJoint *robotClosing(Robot *r, const xmlNode *node, JointType type, const char *name,
                         const Place *place, const sunrealtype *point, const sunrealtype *axis,
                         const int *side);
/* Returns 1 after a message if flag, the result of a function for r->bodies, is an error code. */
int robotRefused(Robot *r, const xmlNode *at, int flag);
/* Adds all links and joints to r->bodies. */
int robotBuild(Robot *r);
/* [njoints] 1: the stops without which the loops of a robot that has been read close within the others, to be freed; or NULL: there
 * are none */
char *robotLooseStops(const Robot *r);
/* Welds both places, side [2], to each other, or joins their points. name: of the joint, or NULL */
int robotLoop(Robot *r, const xmlNode *at, const char *name, int weld, const Place *side);
/* Adds value_1 - ref_1 = P(value_2 - ref_2), P(x) = c [5] c_0 + c_1 x + ... + c_4 x^4, for joints i and j; if j < 0,
 * value_1 - ref_1 = offset. */
int robotCouple(Robot *r, const xmlNode *at, const char *name, int i, int j, const sunrealtype *c);
/* Adds a coupler as in joint coordinates, in which any ratios will do. */
int robotCoupler(Robot *r, const xmlNode *at, const CPCoupler *coupler);
/* Makes a name that no element has: base, with characters replaced that names must not have, and a
 * number if it is taken. Returns 0, or 1 after robotWrong. */
int robotUnique(Robot *r, const xmlNode *at, const char *base, const char *suffix, char *name);

/* ---- robot_contacts.c ---- */

/* Adds a geom with its place. */
int robotGeom(Robot *r, const RobotGeom *g, const Place *place);
/* The geoms of two bodies, as RobotGeom.body names them, do not touch. */
int robotExclude(Robot *r, const xmlNode *at, int a, int b);
/* Adds the contacts of all geoms that touch, after robotBuild: those of different trees of bodies, and of the world. */
int robotContacts(Robot *r);
/* on: in, the default; out, 0, 1 or 2 if the setting "contacts" is "no", "yes" or "meshes" */
int robotTouches(Robot *r, int *on);
/* Adds that of geoms i and j. */
int robotTouch(Robot *r, const xmlNode *at, int i, int j, sunrealtype friction);

/* ---- urdf_contacts.c ---- */

/* Adds the contacts of the links of URDF, after robotBuild; place [nlinks]: of their frames; joint [nlinks]: that leads to each, or
 * NULL. */
int urdfContacts(Robot *r, const xmlNode *const *link, const xmlNode *const *joint, int nlinks);
/* place = parent, followed by the origin of n, if it has one: xyz, and rpy about fixed axes (urdf.c) */
int urdfOrigin(Robot *r, const xmlNode *n, const Place *parent, Place *place);

/* ---- robot_start.c ---- */

/* Copies a setting. Returns 1 if it is given; text is as before if it is longer than size - 1. */
int robotSetting(Robot *r, const char *key, char *text, size_t size);
/* Sets what settings start.NAME=VALUE and start.NAME'=RATE give, where `find` finds it, which returns NULL after a message. unit: out, of
 * its values, or NULL: any. known: the names of all other settings of the format, ended by NULL; has: what the format has, for a message */
typedef sunrealtype *(*StartOf)(Robot *r, void *data, const char *name, int is_rate,
                                const char **unit);
int robotStarts(Robot *r, const char *const *known, const char *has, StartOf find, void *data);
/* The same for joints */
int robotStart(Robot *r, const char *const *known);
/* place, velocity [nlinks]: out, at the start; the velocity of the frame's origin, and the angular velocity, in space */
int robotStartPlaces(Robot *r, Place *place, sunrealtype (*velocity)[6]);

/* ---- robot_springs.c ---- */

/* Sets the stiffness and damping of joints that have a springdamper. Returns 0, or 1 after robotWrong. */
int robotSprings(Robot *r);

/* ---- solids.c ---- */

typedef enum { SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, NUM_SOLIDS } SolidKind;
/* The mass of a solid of unit density. size: half lengths, or the radius and half the length along
 * z. */
void solidMass(SolidKind shape, const sunrealtype *size, Mass *mass);
/* How a mesh has mass: what it encloses, with volumes that count as positive or have signs; its convex hull; its surface */
typedef enum { MESH_LEGACY, MESH_CONVEX, MESH_EXACT, MESH_SHELL } MeshWay;
/* Sets the mass of a mesh of unit density. Returns NULL, mesh_is_open if the mass is that of an open surface, or what is wrong. */
const char *meshMass(const MeshSource *from, MeshWay way, Mass *mass);
extern const char mesh_is_open[];
/* meshHull for the reader of a geom at an element (MeshOf): without points if there is none. Returns 1 after a message that there is no memory. */
int robotHull(Robot *r, const xmlNode *at, const MeshSource *from, int most, MeshHull *hull);
/* mass *= by */
static inline void scaleMass(sunrealtype by, Mass *mass) {
  mass->mass *= by;
  for (int k = 0; k < 6; k++) mass->J[k] *= by;
}
/* value [3], axis: out, the principal moments of J (xx, yy, zz, xy, xz, yz) and their unit vectors
 * (axis[i][k], i = 0, 1, 2) */
void principalInertia(const sunrealtype *J, sunrealtype *value, sunrealtype axis[3][3]);
/* J: out, the tensor with these moments about these axes */
void composeInertia(const sunrealtype *value, sunrealtype axis[3][3], sunrealtype *J);
/* Adds more to mass. */
void addMass(const Mass *more, Mass *mass);
/* Transforms a mass by a pose. */
void moveMass(const Pose *pose, Mass *mass);

/* ---- mjcf.c, urdf.c, sdf.c ---- */

int robotReadMjcf(Robot *r, xmlNodePtr root);
int robotReadUrdf(Robot *r, const xmlNode *root);
int robotReadOsim(Robot *r, const xmlNode *root);
int robotReadSdf(Robot *r, xmlNode *root);

#endif
