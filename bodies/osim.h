/* OpenSim's models (.osim): what the parts of their reader share. */
#ifndef CPODES_BODIES_OSIM_H
#define CPODES_BODIES_OSIM_H

#include "robot_impl.h"

typedef struct {
  const xmlNode *node; /* NULL: the ground */
  char name[128];      /* in the mechanism */
  int joint;           /* that which leads to it, or NONE */
} OsimBody;

typedef struct {
  const xmlNode *node;
  const char *name;
  sunrealtype value, speed;
  int joint, k; /* k: its coordinate in the mechanism, NONE if it is locked or its body is afloat */
  int locked;
  const xmlNode *prescribed; /* function of time, or NULL */
} OsimCoordinate;

/* A place on a body: its frame in that of the body */
typedef struct {
  int body; /* GROUND, or an index */
  Pose pose;
} OsimFrame;

/* z = scale f(x), where f is offset + ratio x, or a function */
typedef struct {
  sunrealtype offset, ratio;
  CPFunction f; /* or NULL */
} OsimFunction;

enum { MOST_AXES = 6 };
typedef struct {
  const xmlNode *node;
  char name[128]; /* in the mechanism, "" if it has no joint */
  OsimFrame on[2];
  int first, ncoordinates; /* among the coordinates */
  int ball, afloat;        /* turns by a quaternion; its body moves freely, without a joint */
  int nmotions;
  struct {
    int about, of; /* of: a coordinate of the joint, or NONE */
    sunrealtype axis[3];
    OsimFunction z;
  } motion[MOST_AXES];
} OsimJoint;

typedef struct {
  Robot *r;
  const xmlNode *model;
  OsimBody *body;
  OsimJoint *joint;
  OsimCoordinate *coordinate;
  int nbodies, njoints, ncoordinates;
} Osim;

/* ---- osim.c ---- */

/* The text of the child of this tag, without blanks at the ends, in `text` [size]; "" if there is none */
const char *osimText(const xmlNode *n, const char *tag, char *text, size_t size);
/* Reads count numbers of a child; x is as it was if there is no such child. Returns 0, or 1 after a message. */
int osimNumbers(Robot *r, const xmlNode *n, const char *tag, int count, sunrealtype *x);
/* Is the text of a child "true"? */
int osimIs(const xmlNode *n, const char *tag);
/* The child <objects> of a child of this tag, or that child itself; NULL if there is none */
const xmlNode *osimObjects(const xmlNode *n, const char *tag);
/* Index of the coordinate of this name, or NONE */
int osimCoordinate(const Osim *o, const char *name);
/* frame: out, the one that a child of n, such as socket_parent_frame, names. Returns 0, or 1 after a message. */
int osimFrame(Osim *o, const xmlNode *n, const char *const *tags, OsimFrame *frame);
/* pose = pose, followed by the translation and the body-fixed rotations about x, y, z that these children of n give. Returns 0, or 1
 * after a message. */
int osimOffset(Robot *r, const xmlNode *n, const char *location, const char *orientation,
               Pose *pose);
/* on: out, a frame as one side of a joint */
void osimMarker(const OsimFrame *frame, CPMarker *on);
/* The name of a frame's body in the mechanism, or NULL for the ground */
const char *osimBodyName(const Osim *o, int body);
/* to = a b */
void osimTimes(const Pose *a, const Pose *b, Pose *to);

/* ---- osim_functions.c ---- */

/* Reads the function in n, or in its child <function>, of a coordinate, times scale. z: out, whose f the caller frees. Returns 0, or 1
 * after a message. */
int osimFunction(Robot *r, const xmlNode *n, sunrealtype scale, OsimFunction *z);
/* value, slope: out, z(x) and z'(x); slope may be NULL. Returns 0, or 1 after a message with the element. */
int osimEvaluate(Robot *r, const xmlNode *at, const OsimFunction *z, sunrealtype x,
                 sunrealtype *value, sunrealtype *slope);

/* ---- osim_joints.c ---- */

/* Lists all joints and coordinates. Return 0, or 1 after a message. */
int osimListJoints(Osim *o);
/* Adds all bodies and joints to the mechanism, where they start. */
int osimAddJoints(Osim *o);
int osimPlace(Osim *o);

/* ---- osim_forces.c ---- */

/* Adds constraints, and forces or what is told of them. */
int osimAddConstraints(Osim *o);
int osimAddForces(Osim *o);
/* The name of a constraint or force in the mechanism. Returns 0, or 1 after a message. */
int osimForceName(Osim *o, const xmlNode *n, char *name);

/* ---- osim_paths.c ---- */

/* Add elastic paths; forces on a coordinate, linear or by an expression. Return 0, or 1 after a message. */
int osimAddPath(Osim *o, const xmlNode *n);
int osimAddCoordinateForce(Osim *o, const xmlNode *n);
/* law: out, the force along the distance of two points by an expression, which the caller frees */
int osimDistanceLaw(Osim *o, const xmlNode *n, CPFunction *law);

/* ---- osim_contacts.c ---- */

/* Adds the contacts of a HuntCrossleyForce. Returns 0, or 1 after a message. */
int osimAddContact(Osim *o, const xmlNode *n);

#endif
