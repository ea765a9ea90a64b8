/* SDF: what its files share. A file describes models, in a world or by themselves. Each of them is a scope with links, joints,
 * frames and models, whose names, as "arm::hand", are those of its inside. */
#ifndef CPODES_SDF_IMPL_H
#define CPODES_SDF_IMPL_H

#include "robot_impl.h"

typedef enum { SDF_WORLD, SDF_MODEL, SDF_LINK, SDF_JOINT, SDF_FRAME } SdfKind;

/* The state of a pose: it is found by following those that it is relative to. */
typedef enum { POSE_UNKNOWN, POSE_SOUGHT, POSE_KNOWN } PoseState;

typedef struct {
  xmlNode *node;
  SdfKind kind;
  const char *name;
  int scope;  /* index of the thing of whose inside it is, or NONE */
  Place pose; /* relative to that scope; its link is not used */
  PoseState state;
  int is_static; /* of a model, or of what is in it: it does not move */
  char *path;    /* of a link or joint: its name in the mechanism */
  int joint[2];  /* of a joint: indices of those of the robot, or NONE */
  int side[2];   /* of a joint: things of the links of parent and child, or GROUND */
  int pair;      /* of a joint: 1 if it is an edge of the tree */
} SdfThing;

typedef struct {
  Robot *r;
  SdfThing *thing;       /* The place of a link in space has the same index in r->place. */
  xmlHashTablePtr names; /* (scope, name) -> index + 1 */
  int nthings, top;      /* top: the world, or NONE */
  int depth;             /* of the names that are being followed */
  size_t read;           /* characters of included files */
  const char *missing;   /* the first model that was not found, or NULL */
  char *models;          /* folders of models that the user named, separated by colons, or NULL */
} Sdf;

/* The text of an element without the blanks around it, or NULL if there is no element. It is that of the tree. */
const char *sdfText(xmlNode *n);
/* The text of a child, or NULL */
const char *sdfChildText(const xmlNode *n, const char *tag);
/* Is the text "true" or "1"? */
int sdfIsTrue(const char *text);
/* Reads a number of a child; x: in, the default; out; infinite where the text is. Returns 0, or 1 after a message. */
int sdfNumber(Sdf *s, const xmlNode *n, const char *tag, sunrealtype *x);

/* The link of the robot to which a thing of a link belongs, or GROUND; thing: or GROUND */
static inline int sdfOnLink(const Sdf *s, int thing) {
  return thing == GROUND ? GROUND : s->r->place[thing].link;
}
/* Is a joint of this type? */
int sdfIs(const SdfThing *t, const char *type);
/* v: out, an axis of a joint, `axis` or `axis2`, in space */
int sdfAxis(Sdf *s, const SdfThing *t, const char *tag, sunrealtype *v);

/* ---- sdf_couplers.c ---- */

/* Adds what couples the joints, which have been added. */
int sdfCouple(Sdf *s);

/* ---- sdf_contacts.c ---- */

/* Adds the contacts of the collision shapes of links, after robotBuild. */
int sdfContacts(Sdf *s);

/* ---- sdf_include.c ---- */

/* Replaces the <include> of root, and those of the models that they bring, by these models. Returns 0, or 1 after a message. */
int sdfInclude(Sdf *s, xmlNode *root);

/* from: out, the mesh that n names, with its scale; data: out, the text of its file, which the caller frees, or NULL, maybe after a message: it
 * is searched for as models are. Returns 1 after a message that the scale is wrong. */
int sdfMesh(Sdf *s, const xmlNode *n, MeshSource *from, char **data);

/* ---- sdf_frames.c ---- */

/* Lists what n, a world, a model or the root, contains, as the inside of `scope`. */
int sdfGather(Sdf *s, xmlNode *n, int scope);
/* place: out, the pose that an element <pose> of n gives, or none, without that to which it is relative */
int sdfRaw(Sdf *s, const xmlNode *n, Place *place);
/* place: out, the frame of a thing in space */
int sdfPlace(Sdf *s, int thing, Place *place);
/* place: out, in space, a frame that is named in a scope */
int sdfNamedPlace(Sdf *s, int scope, const xmlNode *at, const char *name, Place *place);
/* link: out, the thing of the link to which a frame that is named in a scope is attached, or GROUND */
int sdfLinkOf(Sdf *s, int scope, const xmlNode *at, const char *name, int *link);
/* The thing of this name in a scope, or -1 after a message */
int sdfFind(Sdf *s, int scope, const xmlNode *at, const char *name);

/* ---- sdf_mass.c ---- */

/* Adds the mass of a link to its body. */
int sdfMass(Sdf *s, int link);

/* ---- sdf_notes.c ---- */

/* Tells what of a file is left out, has no effect, or means nothing here. */
int sdfTell(Sdf *s, const xmlNode *root);

#endif
