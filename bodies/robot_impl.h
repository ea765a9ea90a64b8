/* Robots in XML files: what the readers of MJCF and URDF share. A reader lists links (bodies that move), their masses and
 * the joints that lead to them, all in the axes of space at the placement; robotBuild makes the mechanism of them. */
#ifndef CPODES_ROBOT_IMPL_H
#define CPODES_ROBOT_IMPL_H

#include "bodies_impl.h"

#include <libxml/hash.h>
#include <libxml/tree.h>

/* A frame in space: origin [m], quaternion with the scalar first; and the link that it moves with, or GROUND */
typedef struct {
  sunrealtype q[7];
  int link;
} Place;

/* Mass, centre of mass, and xx, yy, zz, xy, xz, yz of the tensor about it */
typedef struct {
  sunrealtype mass, centre[3], J[6];
} Mass;

typedef struct {
  const xmlNode *node;
  char name[128]; /* that of the body in the mechanism */
  Place place;    /* of its frame; link: the parent's */
  Mass mass;      /* in space */
  int first, njoints;
} Link;

typedef enum { HINGE, SLIDE, BALL, FREE, PLANE } JointType;

/* One joint of a link, which may have several in a row. Its coordinate is ref at the placement. */
typedef struct {
  const xmlNode *node;
  JointType type;
  const char *name; /* of the file, or NULL */
  sunrealtype point[3], axis[3], ref, springref, stiffness, damping, armature;
  char joint[128]; /* the mechanism's joint, and the coordinate of it: sign * x_k = value - ref */
  int k;
  sunrealtype sign;
} RobotJoint;

typedef struct {
  char text[160]; /* what is left out */
  const xmlNode *node;
  int count;
} Note;

/* Where the tag of an element begins */
typedef struct {
  const char *file;
  int line, column;
} Spot;

typedef struct {
  const char *file; /* for messages; its folder is that of included files and meshes */
  char *message;
  size_t length;
  xmlDocPtr doc;
  CPBodies bodies;
  Link *link;
  RobotJoint *joint;
  Note *note;
  Place *place; /* those that have names */
  int nlinks, njoints, nnotes, nplaces;
  xmlHashTablePtr names; /* (kind, name) -> index + 1 */
  char **included;       /* names of files */
  Spot *spot;            /* of the element whose _private is its index + 1 */
  int nincluded, nspots;
} Robot;

/* ---- xml.c ---- */

/* Writes "file:line:column: <tag name>: ..." and returns 1; at: NULL for the file as a whole */
int robotWrong(Robot *r, const xmlNode *at, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Lists what is left out, each text once with its number. Returns 0, or 1 without memory. */
int robotNote(Robot *r, const xmlNode *at, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* An attribute, or NULL */
const char *robotText(const xmlNode *n, const char *attribute);
/* Up to `most` numbers of a text, at least `least`, finite; count: out, or NULL. Returns 0, or 1 after robotWrong */
int robotNumbers(Robot *r, const xmlNode *n, const char *attribute, const char *text, int least,
                 int most, sunrealtype *x, int *count);
static inline int robotIs(const xmlNode *n, const char *tag) {
  return n->type == XML_ELEMENT_NODE && !xmlStrcmp(n->name, BAD_CAST tag);
}
/* Notes each attribute of n that is not among `known`, words with blanks around them */
int robotAttributes(Robot *r, const xmlNode *n, const char *known);
/* Whole file into memory, which the caller frees; path is relative to r->file, folder between them or NULL. NULL after
   robotWrong. */
char *robotFile(Robot *r, const xmlNode *at, const char *folder, const char *path, size_t *size);
/* Gives `index` to the name, in lower case letters of kind, or reports that it is given twice */
int robotName(Robot *r, const xmlNode *at, const char *kind, const char *name, int index);
/* The index, or -1 after robotWrong */
int robotFind(Robot *r, const xmlNode *at, const char *kind, const char *name);

/* ---- robot.c ---- */

/* place = parent, then pos [3] and quat [4] */
void robotPlace(const Place *parent, const sunrealtype *pos, const sunrealtype *quat, Place *place);
/* e = e_1 e_2 */
void robotTurn(const sunrealtype *e1, const sunrealtype *e2, sunrealtype *e);
/* e = e_1 e_2 of the rotation by an angle about axis k */
void robotAxis(int k, sunrealtype angle, sunrealtype *e);
/* Quaternion of the frame with these axes, orthonormal, by columns */
void robotAxes(sunrealtype axis[3][3], sunrealtype *e);
static inline void robotPose(const Place *place, Pose *pose) {
  static const Space space = {3, 6, 7, {0, 0}, {3, 3}};
  bodiesPoseAt(&space, place->q, NULL, NULL, pose);
}
/* Adds a mass, given in the frame of place, to its link */
void robotMass(Robot *r, const Place *place, const Mass *mass);
/* A new link at place with room for its joints: index, or -1 without memory (reported) */
int robotLink(Robot *r, const xmlNode *node, const char *name, const Place *place);
RobotJoint *robotJoint(Robot *r, const xmlNode *node, JointType type, const char *name,
                       const Place *place, const sunrealtype *point, const sunrealtype *axis);
/* Adds all links and joints to r->bodies */
int robotBuild(Robot *r);
/* value_1 - ref_1 = offset + ratio (value_2 - ref_2) of joints i and j; j < 0: value_1 - ref_1 = offset */
int robotCouple(Robot *r, const xmlNode *at, const char *name, int i, int j, sunrealtype offset,
                sunrealtype ratio);
/* A name that no element has: base, with what names must not have replaced, and a number if it is taken. Returns 0, or 1
   after robotWrong. */
int robotUnique(Robot *r, const xmlNode *at, const char *base, const char *suffix, char *name);

/* ---- solids.c ---- */

typedef enum { SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, NUM_SOLIDS } SolidKind;
/* Of unit density; size: half lengths, or the radius and half the length along z */
void solidMass(SolidKind shape, const sunrealtype *size, Mass *mass);
/* Of unit density: the body within a mesh (STL or OBJ by the name's end), scaled along its axes. Returns NULL, or what is
   wrong. */
const char *meshMass(const char *name, const char *data, size_t size, const sunrealtype *scale,
                     Mass *mass);
/* mass *= by */
static inline void scaleMass(sunrealtype by, Mass *mass) {
  mass->mass *= by;
  for (int k = 0; k < 6; k++) mass->J[k] *= by;
}
/* The sum of two */
void addMass(const Mass *more, Mass *mass);
/* Turned and moved by a pose */
void moveMass(const Pose *pose, Mass *mass);

/* ---- mjcf.c, urdf.c ---- */

int robotReadMjcf(Robot *r, const xmlNode *root);
int robotReadUrdf(Robot *r, const xmlNode *root);

#endif
