/* Mechanisms as files of robots: what the writers of MJCF, URDF and SDF share. */
#ifndef CPODES_BODIES_WRITING_H
#define CPODES_BODIES_WRITING_H

#include "robot_impl.h"

enum {
  LOST,
  TENDONS,
  ACTUATORS,
  EQUALITIES,
  PAIRS,
  QPOS,
  QVEL,
  CTRL,
  ACT,
  WHOLE,
  FINAL,
  NUM_TEXTS
};

/* What acts on coordinate x = k of a joint. range: wide if it is not limited; mimics: 1 if x = multiplier x_of + offset */
typedef struct {
  int joint, k, limited, mimics, of, of_k;
  sunrealtype stiffness, damping, free, armature, friction, range[2], multiplier, offset;
} Acting;

/* A shape of contacts. meets: 1: one of them is with a shape of another body that moves; friction: the largest coefficient */
typedef struct {
  int shape, meets;
  sunrealtype friction;
} Collision;

/* A coupler: x of the first joint = x[0] + x[1] x of the second one; row: its joint */
typedef struct {
  int row, joint[2], k[2];
  sunrealtype x[2];
} Coupled;

typedef struct {
  Text text[NUM_TEXTS];
  Acting *acting;
  Coupled *coupled;     /* of MJCF, where both joints must be in the tree */
  int *tendon;          /* [ntendons] laws of those that have been written */
  Collision *collision; /* of URDF and SDF */
  int nacting, ncoupled, ntendons, ncollisions, failed;
} Written;

/* A body in the tree. parent: a body, or GROUND; joint: that leads to it from there, or NONE: it moves freely; turned: it leads from it to the
 * parent; pose: where all coordinates are 0, or at the start, of its centre of mass */
typedef struct {
  int parent, joint, turned, placed, children;
  Pose pose;
} Node;

/* What a kind of joint is in a tree: joints along or about axes of its frame, and how the names of their coordinates end */
typedef struct {
  const char *type, *state;
  int axis;
} Part;
extern const Part write_parts[CP_JOINT_FIXED + 1][4];
/* What a kind of shape is in MJCF and, but for planes, in SDF */
extern const char *const write_shapes[];

typedef struct {
  CPBodies bodies;
  const Mechanism *b;
  Written *w;
  Node *node;
  char *used; /* [njoints] 1: the joint is one of the tree */
  N_Vector y;
  const char *title;
} Writer;

int writeStartFile(CPBodies b);
void writeFree(CPBodies b);
/* Writes a file: `put` writes all but the list of what is lost to the text WHOLE. from_zero: 1 if bodies are to be where all coordinates are 0,
 * in a tree, 0: at the start. Returns it, or NULL if out of memory. */
const char *writeFile(CPBodies b, int from_zero, void (*put)(const Writer *x));

/* Writes a character of a text in XML, or numbers with blanks between them. */
void writeCharacter(Text *out, char c);
void writeList(Text *out, int n, const sunrealtype *x);
/* Writes a text or numbers as the value of an attribute. */
void writeText(Text *out, const char *attribute, const char *text);
void writeNumbers(Text *out, const char *attribute, int n, const sunrealtype *x);
/* Lists what the format cannot say. */
void writeLost(Written *w, const char *what, const char *name);
/* The same of the start velocity of a body, unless it is 0 */
void writeLostVelocity(const Writer *x, int body);
/* The name [TEXT] of coordinate k of a joint in formats in which each one is a joint */
const char *writeJointName(const Mechanism *b, int joint, int k, char *name);
/* The joint of a coordinate, or NONE */
int writeJointOf(const Mechanism *b, const CPCoordinate *of);
/* Is it a joint, and no contact, coupler or drive? */
static inline int writeIsJoint(const Joint *joint) {
  return joint->contact == NONE && joint->kind >= 0;
}
/* What acts on coordinate k of a joint; if nothing does, all of it is 0, but for the range */
const Acting *writeActing(const Written *w, int joint, int k);
/* The same to add to it; NULL if out of memory */
Acting *writeToActing(Written *w, int joint, int k);
/* The contacts of a shape, or NULL if it has none */
const Collision *writeCollision(const Written *w, int shape);
/* Takes a spring, limit, friction, or coupler of two coordinates as what acts on them, contacts of shapes as what they are on, and lists what
 * cannot be taken. Bodies, joints and
 * shapes are written at the end. */
void writeElement(CPBodies b, const CPElement *e);

/* The pose of a body, or of the ground */
const Pose *writePose(const Node *node, int body);
/* r: out, the origin of a body's frame in space */
void writeOrigin(const Writer *x, int body, sunrealtype *r);
/* Coordinate k of a joint and its rate at the start: as the state has them, with their turns; where another joint cuts a loop, by the
 * places of the bodies */
void writeStart(const Writer *x, int joint, int k, sunrealtype *value);
/* The same by the places of the bodies */
void writeStartBetween(const Writer *x, int joint, int k, sunrealtype *value);
/* angle: out, of rotations about the fixed axes x, y and z, one after the other, to these axes, by columns */
void writeAngles(sunrealtype axis[3][3], sunrealtype *angle);

#endif
