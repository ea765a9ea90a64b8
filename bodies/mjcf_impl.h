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

typedef struct {
  Robot *r;
  const xmlNode *root;
  const xmlNode **class_, **mesh;
  xmlHashTablePtr given; /* (tag, attribute, class, or NULL for the top class) -> text */
  int nclasses, nmeshes, inertia, strippath, autolimits;
  Mass *body;             /* of the body that is being read, in space */
  sunrealtype total[2];   /* mass of all bodies; what it is to be, or 0 */
  sunrealtype least[2];   /* of a body's mass and principal moments */
  int balance, nelements; /* balance: principal moments that no body has become equal */
  int off;                /* kinds of Disabled that the file switches off itself */
  int tree;               /* number of the tree of bodies that is being read */
  int here;               /* place of its body; NONE: the world; UNNAMED */
  /* angle: radians per unit of angle in the file; group: the range of groups of geoms that have
   * mass. */
  sunrealtype angle, group[2];
  const char *eulerseq, *folder;
  const xmlNode *key; /* the keyframe at which it starts, or NULL */
  Derived *derived;   /* [nderived] */
  int nderived;
  int nactuators, nactivations; /* that have been read */
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

/* ---- mjcf_tendons.c ---- */

/* Adds the tendons of a section. Returns as mjcfClass. */
int mjcfTendons(Mjcf *m, const xmlNode *section);

/* ---- mjcf_actuators.c ---- */

/* Adds the actuators of a section. Returns as mjcfClass. */
int mjcfActuators(Mjcf *m, const xmlNode *section);

/* ---- mjcf_reference.c ---- */

/* Sets what follows from the inertia at the reference pose, of all m->derived. Returns as mjcfClass. */
int mjcfDerive(Mjcf *m);

#endif
