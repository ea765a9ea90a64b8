/* Reading of YAML files: what the files yaml*.c share. Each section of a file is a list of mappings, and each mapping is a structure of
 * cpodes_bodies.h, whose fields are listed in a table; one function reads them all. */
#ifndef CPODES_BODIES_YAML_H
#define CPODES_BODIES_YAML_H

#include "files.h"
#include "language/language.h"
#include "sensors.h"

#include <stddef.h>
#include <yaml.h>

typedef enum {
  NUMBER,    /* a finite number */
  COUNT,     /* a whole number, an int */
  VECTOR,    /* three finite numbers, or two in the plane */
  DIRECTION, /* a nonzero vector; if it is missing, the structures have a default */
  INERTIA,
  FOUR,
  THREE,
  TWO,
  NAME,
  KIND,        /* a kind of joint */
  SHAPE,       /* a kind of shape */
  ON,          /* what a contact has on side a */
  TOUCH,       /* what a contact has on side b */
  IN,          /* "space" or "bodies" */
  COORDINATE,  /* a name, or [name, k] */
  COORDINATES, /* 1 ... MOST_SUMMED */
  RATIOS,      /* as many numbers */
  NODES,       /* of a rope, as many as `counts` after them */
  MOTIONS,     /* of a joint by functions, the same */
  STARTS,      /* 1 to 6 numbers */
  POINTS,      /* of a mesh, and their number after them */
  MESH_FILE,   /* the same of the hull of a mesh in a file: its name, or [name, scale] */
  FUNCTION,    /* a function of x, the second of these coordinates */
  /* a number, or a function of t; of t and quantities; of t, x, v and quantities, as a spring; of t, x, v and w, as an actuator */
  MOTION,
  SIGNAL,
  FORMULA,
  CURVE,
  FORMULAS, /* a vector of such functions of t and of the point's position and velocity */
  ENDS,     /* of a table */
  DYNAMICS, /* of an activation */
  YES,      /* true or false */
  COPY      /* text, copied to an array of RUN_TEXT */
} Type;

typedef struct {
  const char *key;
  Type type;
  size_t offset;
  int required;
  /* what a number is measured in, "m|rad": the second one if the coordinate of the element is an angle; NULL: anything */
  const char *unit;
} Field;

#define QUANTITY(type_, key, member, kind, required, unit) \
  { key, kind, offsetof(type_, member), required, unit }
#define FIELD(type_, key, member, kind, required) QUANTITY(type_, key, member, kind, required, NULL)

typedef struct {
  CPBody body; /* first, so that its fields have the same offsets */
  sunrealtype omega_body[3];
} BodyKeys;

/* The most coordinates of a tendon of a file; couplers may have fewer (CP_MOST_COUPLED). */
enum { MOST_SUMMED = 32 };

typedef struct {
  CPDrive drive; /* first, as the body above */
  sunrealtype motion;
} DriveKeys;

typedef struct {
  CPCoupler coupler; /* first, as the body above */
  CPCoordinate of[MOST_SUMMED];
  sunrealtype ratio[MOST_SUMMED], function;
} CouplerKeys;

typedef struct {
  CPActuator actuator; /* first, as the body above */
  sunrealtype curve;
} ActuatorKeys;

/* A node of a path, and a point on whose side this runs */
typedef struct {
  CPRopeNode node; /* first, as the body above */
  CPRopeNode side;
} NodeKeys;

/* The nodes of a path. side: NULL, or those in `sides` */
typedef struct {
  CPRopeNode node[CP_MOST_NODES], sides[CP_MOST_NODES];
  const CPRopeNode *side[CP_MOST_NODES];
  int nnodes, sided;
} PathKeys;

typedef struct {
  CPRope rope; /* first, as the body above */
  PathKeys path;
  sunrealtype motion;
} RopeKeys;

typedef struct {
  CPController controller; /* first, as the body above */
  sunrealtype control;
} ControllerKeys;

typedef struct {
  CPRelease release; /* first, as the body above */
  sunrealtype when;
} ReleaseKeys;

typedef struct {
  CPJoint joint; /* first, as the body above */
  CPJointMotion motion[MOST_MOTIONS];
  int nmotions; /* after them */
} JointKeys;

typedef struct {
  CPTendon tendon; /* first, as the body above */
  CPCoordinate of[MOST_SUMMED];
  sunrealtype ratio[MOST_SUMMED];
  PathKeys path;
} TendonKeys;

/* CP_RESTITUTION_POISSON is the value of "poisson: true", which is an int. */
typedef union {
  CPElement head;
  BodyKeys body;
  JointKeys joint;
  CPBodyContact contact;
  CouplerKeys coupler;
  RopeKeys rope;
  TendonKeys tendon;
  DriveKeys drive;
  CPSpring spring;
  CPBushing bushing;
  CPForce force;
  CPFriction friction;
  CPLimit limit;
  ActuatorKeys actuator;
  ControllerKeys controller;
  ReleaseKeys release;
  CPShape shape;
  CPTyre tyre;
  CPElasticSphere sphere;
  CPDrag drag;
} Element;

enum { DEEPEST = 8 }; /* The schema has 5 levels: file, couplers, coupler, of, coordinate. */

typedef struct {
  int name, node; /* name: offset in Reader.names; node: its index, or 0 in a free entry */
} Anchor;

typedef struct Reader_ {
  const char *file, *data;
  size_t size; /* of the data, in bytes */
  /* of a file that another one includes: that one, what its names begin with, and the parameters that it is given, in the scope
   * `from` */
  struct Reader_ *outer;
  const char *prefix;
  const yaml_node_t *given,
      *with; /* with: which elements of that file it means by names of its own */
  Scope *from;
  int mirror;     /* 1 + the component of space that changes its sign, or 0 */
  int repeats;    /* within `repeat`: names may have {i} */
  int in_element; /* names are those of elements */
  Scope **scopes; /* [nscopes] of repetitions: of the present ones, and of those that files which are included keep */
  int keeps;    /* the newest one is kept */
  char **texts; /* [ntexts] names that have been made */
  int nscopes, ntexts;
  yaml_document_t document;
  struct {
    int node, key; /* key: of a mapping, whose value comes next; or 0 */
  } open[DEEPEST]; /* the lists and mappings around the next node */
  int depth;
  Anchor *anchor; /* [capacity] hash table with open addressing */
  char *names;    /* of anchors, each terminated by a zero */
  int nanchors, capacity, nnames;
  int dimension;
  Scope *scope;    /* the file's parameters and functions */
  CPBodies bodies; /* what has been read so far, or NULL */
  int angle;       /* is the coordinate of the element an angle? */
  /* of the element: its functions, and the quantities on which they depend, with their units */
  CPFunction function[MOST_MOTIONS];
  char inputs[TEXT], variables[TEXT]; /* variables: as the file names them */
  const char *unit[CP_MOST_VARIABLES];
  int ninputs;
  sunrealtype *points; /* of the element, a mesh */
  Kept *kept;          /* or NULL */
  const char *element; /* the structure that is read, or NULL */
  char *message;
  size_t length;
} Reader;

enum { UNIT = 20 };

/* ---- yaml_mirror.c ---- */

/* Makes an element that of the mirror image, if its file or one that includes it is mirrored. Returns 0, or 1 after a message. */
int yamlMirror(Reader *r, const yaml_node_t *n, CPElementKind kind, Element *e);

/* ---- yaml_document.c ---- */

/* Builds the document from the text of a reader. Returns 0, or 1 after a message. Call yamlClose in any case. */
int yamlParse(Reader *r);
/* Frees all that a reader owns. */
void yamlClose(Reader *r);
/* Writes "file:line:column: ..." and returns 1. */
int yamlWrong(Reader *r, yaml_mark_t at, const char *format, ...) CP_PRINTF(3, 4);
const yaml_node_t *yamlNode(Reader *r, int index);
static inline const char *yamlText(const yaml_node_t *n) {
  return (const char *)n->data.scalar.value;
}
/* Returns the value of a key of a mapping, or NULL. */
const yaml_node_t *yamlSection(Reader *r, const yaml_node_t *top, const char *key);

/* ---- yaml_values.c: they return 0, or 1 after a message ---- */

/* Where the text of a scalar begins */
Place yamlPlace(const Reader *r, const yaml_node_t *n);
/* The message is that of the expression or table. key: of a value, or NULL; n: its text, or NULL. Returns 1. */
int yamlWrongText(Reader *r, const char *key, const yaml_node_t *n);
/* unit: of the value, for expressions; NULL: any */
int yamlNumber(Reader *r, const yaml_node_t *n, const char *key, const char *unit, sunrealtype *x);
/* Records an expression whose value is *x, a number of the element or not, or which is the function f of n variables, if the file is to be
 * written. Returns 0, or 1 after a message. */
int yamlKeep(Reader *r, const yaml_node_t *n, const char *key, const sunrealtype *x, CPFunction f,
             int nvariables, const char *const *variable);
/* Reads least ... most numbers; rule is the wording of this condition in a message. */
int yamlNumbers(Reader *r, const yaml_node_t *n, const Field *f, int least, int most,
                const char *rule, sunrealtype *x);
int yamlName(Reader *r, const yaml_node_t *n, const char *key, const char **name);
int yamlCoordinate(Reader *r, const yaml_node_t *n, const char *key, CPCoordinate *of);
/* The words that are allowed in place of a wrong one, for the end of a message. Begin with {.wrong = {.name, .length}}. */
typedef struct {
  Nearest wrong;
  char list[TEXT / 2];
} Words;
void yamlListWord(Words *words, const char *word);
/* Returns the list, behind which the nearest word is suggested if one is near. */
const char *yamlWords(Words *words);
/* The word of an enumeration */
const char *yamlWord(Type type, int k);
/* Reads a mapping into the fields of a structure. sections: NULL, or keys that other functions
 * read. */
int yamlMapping(Reader *r, const yaml_node_t *n, const char *what, const Field *fields,
                const char *const *sections, void *structure);

/* ---- yaml_patterns.c ---- */

/* Replaces the keys << of all mappings by the keys of the mappings that they name. Returns 0, or 1 after a message. */
int yamlMerge(Reader *r);
/* Calls `work` with a mapping, or, if that has the key repeat, {i: n}, once for i = 1 ... n, a number of r->scope. */
int yamlRepeat(Reader *r, const yaml_node_t *n,
               int (*work)(Reader *r, const yaml_node_t *n, void *data), void *data);
/* *name: in, as the file has it; out, with numbers in place of {i}, and with the prefix of the file. own: 1 of an element that is
 * defined; 0: the nearest of the files that have such an element counts */
int yamlResolve(Reader *r, const yaml_node_t *n, int own, const char **name);

/* All files that make up a mechanism: the one that is read, and those that it includes, in order */
typedef struct {
  Reader **reader; /* [count] */
  int count, depth;
} Files;
/* Adds the files that a file includes, whose own reader has been added. Returns 0, or 1 after a message. */
int yamlInclude(Reader *r, const yaml_node_t *top, Files *files);

/* ---- yaml.c ---- */

/* Reads the keys of a file that is included, its parameters and functions. Returns 0, or 1 after a message. */
int yamlOpen(Reader *r);

/* ---- yaml_elements.c ---- */

typedef struct {
  const char *key, *what;
  const Field *fields;
  CPElementKind kind;
  size_t size;
  int (*check)(Reader *r, const yaml_node_t *n, Element *e); /* or NULL */
} ElementKeys;
extern const ElementKeys yaml_elements[]; /* the last one has no key */

/* ---- yaml_write.c ---- */

/* The record of a mechanism takes the parameters and remarks of a reader. Returns 0, or 1 if out of memory. */
int yamlTakeTexts(CPBodies b, Kept *kept);

/* ---- yaml_names.c ---- */

/* Defines the file's parameters, with what replaces or moves them (run->parameters, run->moved), and its functions. */
int yamlNames(Reader *r, const yaml_node_t *top, Run *run);

#endif
