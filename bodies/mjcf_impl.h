/* What the readers of parts of MJCF share */
#ifndef CPODES_BODIES_MJCF_H
#define CPODES_BODIES_MJCF_H

#include "robot_impl.h"

enum { UNNAMED = -2 };

/* An actuator, the law of this index, whose damping follows from a damping ratio, or whose force as a muscle from a scale > 0 */
typedef struct {
  const xmlNode *node;
  int law;
  sunrealtype ratio, scale;
} Derived;

/* What the fluid acts on: a box of the same inertia as a body, or a geom's ellipsoid. place: among those of the Robot; coefficients: blunt,
 * slender, angular, kutta and magnus */
typedef struct {
  const xmlNode *node;
  int place, is_box;
  sunrealtype size[3], coefficients[5];
} MjcfDrag;

/* An asset, and its mass for unit density, as a solid or a surface, where that is known */
typedef struct {
  const xmlNode *node;
  int known[2];
  Mass mass[2];
} MjcfMesh;

/* The main file, one that is attached to another, or a composite: its settings and classes hold for what it contains */
typedef struct {
  xmlNodePtr root;
  const xmlNode **class_;
  MjcfMesh *mesh;
  xmlHashTablePtr given; /* (tag, attribute, class, or NULL for the top class) -> text */
  const char *file;      /* its path, from the folder of the main file; NULL: the main file */
  const char *prefix;    /* of all its names */
  int nclasses, nmeshes, inertia, strippath, autolimits;
  int joints[2];        /* its joints are those from the first number to before the second */
  sunrealtype least[2]; /* of a body's mass and principal moments */
  int balance;          /* principal moments that no body has become equal */
  /* angle: radians per unit of angle in the file; group: the range of groups of geoms that have
   * mass. */
  sunrealtype angle, group[2];
  const char *eulerseq, *folder;
  char *joined;      /* folder, if it is made from the file's, or NULL */
  xmlNodePtr copies; /* of sections, until they are added to the root, or NULL */
  int depth;         /* of attachments */
} MjcfModel;

typedef struct {
  Robot *r;
  MjcfModel *model;   /* that is being read */
  MjcfModel **models; /* [nmodels], the main file first */
  struct Scope {
    const xmlNode *frame; /* what it contains is of this model */
    MjcfModel *model;
  } * scope;
  int nmodels, nscopes;
  Mass *body;           /* of the body that is being read, in space */
  Place part;           /* the place of the newest part of this mass */
  sunrealtype fluid[5]; /* density, viscosity and wind */
  MjcfDrag *drag;       /* [ndrags] */
  int ndrags;
  int has_fluid_shape;    /* has the body that is being read geoms on which the fluid acts? */
  sunrealtype total[2];   /* mass of all bodies; what it is to be, or 0 */
  int nelements;          /* that have been copied */
  int off;                /* kinds of Disabled that the file switches off itself */
  int tree;               /* number of the tree of bodies that is being read */
  int here;               /* place of its body; NONE: the world; UNNAMED */
  const xmlNode *key;     /* the keyframe at which it starts, or NULL */
  const MjcfModel *keyed; /* the model that has it */
  Derived *derived;       /* [nderived] */
  int nderived;
  int nactuators, nactivations; /* of the model that have been read */
  struct {
    char name[128]; /* in the mechanism, or "" */
  } * tendon;       /* [ntendons] */
  int ntendons;
} Mjcf;

/* What a flag of an option may switch off; the mechanism does not have it anyway. */
enum { NO_CONTACT = 1, NO_LIMITS = 2, NO_FRICTION = 4, NO_ACTUATION = 8 };

/* Returns an attribute of an element; if it has none, that of its class, of the enclosing classes,
 * or of the top class; or NULL. */
const char *mjcfGet(const Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
                    const char *attribute);
/* class_: out, the class that an element names, or `around`. Returns 0, or 1 after a message. */
int mjcfClass(Mjcf *m, const xmlNode *n, const char *attribute, const xmlNode *around,
              const xmlNode **class_);
/* Reads the numbers of an attribute. x [most]: in, the default; out. Returns as mjcfClass. */
int mjcfNumbers(Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
                const char *attribute, int least, int most, sunrealtype *x);
/* Reads a keyword; `words` ends with NULL. i: in, the default; out, the index of the keyword. Returns as mjcfClass. */
int mjcfKeyword(Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
                const char *attribute, const char *const *words, int *i);
extern const char *const mjcf_no_yes[];

/* e: out, the rotation that the text of this attribute describes: quat, axisangle, xyaxes, zaxis or euler. Returns as mjcfClass. */
int mjcfTurn(Mjcf *m, const xmlNode *n, const char *attribute, const char *text, sunrealtype *e);
/* e: out, the rotation that takes z to the unit vector v by the shortest way. */
void mjcfTurnZ(const sunrealtype *v, sunrealtype *e);
/* Gives x [size] the length 1. Returns as mjcfClass. */
int mjcfUnit(Mjcf *m, const xmlNode *n, const char *attribute, int size, sunrealtype *x);
/* place = parent, followed by the position and orientation of n. Returns as mjcfClass. */
int mjcfPlace(Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
              const Place *parent, Place *place);
/* Numbers of an attribute in a list, which the caller frees, or NULL. Returns as mjcfClass. */
int mjcfList(Mjcf *m, const xmlNode *n, const char *attribute, sunrealtype **x, int *count);
/* Reads what the elements of the current model need: compiler, default classes and assets. Returns as mjcfClass. */
int mjcfSettings(Mjcf *m);
/* Starts a model of this root with the settings that a file has without a compiler element. Returns NULL after a message. */
MjcfModel *mjcfModel(Mjcf *m, xmlNodePtr root);

/* ---- mjcf_bodies.c ---- */

/* Where the inertia of bodies comes from */
enum { FROM_INERTIAL, FROM_GEOMS, FROM_EITHER };
/* RobotGeom's points of a mesh; mjcf: the Mjcf. Returns 0, or 1 after a message. */
int mjcfHull(Robot *r, const RobotGeom *g, void *mjcf, MeshHull *hull);
/* Reads what a body has: joints, or everything else; geoms: its mass is that of its geoms. Returns as mjcfClass. */
int mjcfChildren(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *body, int joints,
                 int geoms);
/* Excludes pairs of bodies, before the contacts of geoms are known, or adds those of pairs of geoms, afterwards. Returns as
 * mjcfClass. */
int mjcfPairs(Mjcf *m, const xmlNode *section, int pairs);
/* Adds what the fluid does. Returns as mjcfClass. */
int mjcfDrags(Mjcf *m);
/* Notes elements that have no counterpart in the mechanism, if they may act on the motion. Returns as mjcfClass. */
int mjcfIgnore(Mjcf *m, const xmlNode *n);

/* ---- mjcf_macros.c ---- */

/* Replaces all <replicate>, <attach> and <composite> of the current model by frames with what they stand for. Returns as mjcfClass. */
int mjcfExpand(Mjcf *m);
/* The model to which the elements in a frame belong */
MjcfModel *mjcfScope(const Mjcf *m, const xmlNode *frame);

/* ---- mjcf_tendons.c ---- */

/* Adds the tendons of a section. Returns as mjcfClass. */
int mjcfTendons(Mjcf *m, const xmlNode *section);
/* Adds the equality of the lengths of one or two fixed tendons, or notes it. */
int mjcfTendonEquality(Mjcf *m, const xmlNode *n);

/* ---- mjcf_actuators.c ---- */

/* Adds the actuators of a section. Returns as mjcfClass. */
int mjcfActuators(Mjcf *m, const xmlNode *section);

/* ---- mjcf_reference.c ---- */

/* Sets what follows from the inertia at the reference pose, of all m->derived. Returns as mjcfClass. */
int mjcfDerive(Mjcf *m);

#endif
