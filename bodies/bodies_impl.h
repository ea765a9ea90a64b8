/* A mechanism: its elements, made of measures, and what is computed from them. */
#ifndef CPODES_BODIES_IMPL_H
#define CPODES_BODIES_IMPL_H

#include "cpodes/base/object.h"
#include "measures.h"

#include <math.h>

enum { TEXT = 512, SPARSE_FROM = 16, NONE = -1, MOST_MOTIONS = 6, OWN_NAME = 64 };

typedef struct {
  sunrealtype coef;
  int ratio; /* index of a parameter that multiplies coef, or NONE */
  int pair;
  Measure m;
  /* A function of one variable: the term is f(sense s), or just s if it is NULL. Then coef is a factor of f. */
  const struct Formula_ *f;
  sunrealtype sense;
  /* In joint coordinates: the velocity of the tree to whose coordinate x it is tied, or NONE, and its sign: the measure is
   * sign x, where x counts turns. */
  int velocity, coordinate; /* and that coordinate, by its number in q */
  sunrealtype sign;
  int counts; /* 1: in joint coordinates its value is that of x, with its turns */
} Term;

/* The equation sum of terms - offset - motion(t) = 0. POINT is the only term of its row, and has 3 rows, with the sign
 * P_a - P_b = 0. */
typedef struct {
  int term, nterms;  /* its terms are those from `term` on (Mechanism) */
  int offset, drive; /* index of a parameter, index of a drive, or NONE */
  int wraps;         /* angles in space, or driven: the sum counts modulo whole turns */
  /* A limit: 1 if the sum must not be less than the parameter `offset`, -1 if minus the sum must not be more. The parameter
   * `other` is the limit on the other side, or NONE. */
  int limit, other;
  int rope;   /* 1: its terms are the parts of a rope, minus their lengths (ropes.c) */
  int first;  /* the row of p, or of v */
  int aligns; /* number of rows that align the axes of its joint, of which it is one, or 0 */
  sunindextype places; /* number of its blocks in A, which are passed over while it is off */
} Row;

typedef struct {
  int name, param;       /* param: mass, then the moments and products of inertia */
  int full;              /* are there products of inertia? */
  sunrealtype centre[3]; /* of mass, in the frame */
  sunrealtype guess[13]; /* q, then u, at the placement */
} Body;

typedef struct {
  /* first, nrows: rows of bodies->row. Couplers and drives have kind NONE. */
  int name, kind, pair, first, nrows, first_roll, nrolls;
  int first_coordinate;         /* among those of all joints */
  int contact;                  /* the contact that has its rows, or NONE */
  int switched;                 /* 1: it keeps its rows in joint coordinates */
  int latched;                  /* 1: it is off until a latch closes it */
  int moved;                    /* the side whose frame the assembly may move (redundant.c) */
  const struct Custom_ *custom; /* its motions by functions, or NULL (custom.c) */
} Joint;

typedef struct {
  CPDriveFn g;
  void *data;
  int param;
} Drive;

typedef enum { SPRING, FRICTION, DRAG, MOTOR } LawKind;
enum { RANGE_PLACES = 3 };
/* A force along the sum of terms; friction has one */
typedef struct {
  LawKind kind;
  int name;
  int term, nterms; /* as of a row */
  int on_tree; /* in joint coordinates: it acts on a sum of coordinates of the tree, and not on bodies */
  /* param: stiffness, damping and free length, or the factor and speed of friction, or drag. force:
   * a parameter, or NONE. joint: the one with friction. */
  int param, force, joint;
  int is_tendon; /* 1: other elements act on its terms by its name */
  int inertance; /* index of a parameter, or NONE */
  /* of an actuator: the first of two parameters, the range of its control, its force, and its activation, or NONE; its muscle, the
   * first parameter, or NONE; its activation, 1 + the index of the state, or 0, which begins at `start`; times: the first
   * parameter */
  int clamp[3], muscle, activation, times;
  int place; /* 1 + the first of RANGE_PLACES places where the ranges of force and activation have pieces, or 0 (kinks.c) */
  CPActivation dynamics;
  sunrealtype start;
  CPLawFn law;
  void *data;
  const struct Formula_ *formula; /* which is added to law; or NULL */
} Law;

typedef struct {
  int name, pair, param, follows; /* pair: the ground's origin and the point of the force */
  CPPointForceFn fn;
  void *data;
  const struct Formula_ *formula; /* which is added to fn; or NULL */
  /* At a point, param is that of a constant force; otherwise the numbers of the law begin there: of a tyre (tyre.c), where the pair's
   * side a has the ground's normal, of an elastic sphere (sphere.c), or of a fluid on a box or an ellipsoid (drag.c). */
  enum { AT_A_POINT = 0, OF_A_TYRE, OF_A_SPHERE, ON_A_BOX, ON_AN_ELLIPSOID } law;
} PointForce;

typedef struct {
  /* Indices of parameters, or NONE: radius; those of the law, which has their values when it is described: mu and, after it,
   * mu_static; restitution; of dry friction the force in motion, or the factor of the load, and, after it, at rest; stiffness and,
   * after it, damping. load: the joint whose reaction loads the friction, or NONE; drum: of a rope that rubs on a pulley, the part
   * that leads to it, or NONE */
  int joint, radius, friction, restitution, force, elastic, load, drum;
  CPContactOn on;
  CPContactLaw law;
} Contact;

typedef struct {
  int name;
  CPShapeKind kind;
  int pair;            /* sides: the ground's origin, and the shape's centre and axes */
  sunrealtype half[3]; /* lengths of the half axes, of a mesh of half of its extents */
  struct Mesh_ *mesh;  /* of which it is an owner (polyhedra.h), or NULL */
} Shape;

/* Two polyhedra that may meet, and the first of the contacts for their features (touching.c), of which there are at most 8: a polygon in
 * which two boxes touch has so many corners. */
enum { MEETING_CONTACTS = 8 };
typedef struct {
  int shape[2], contact, count;
} Meeting;

/* The places of a matrix's blocks, in the order in which they are filled */
typedef struct {
  SUNMatrix tmpl;
  sunindextype *place;
} Plan;

enum { PLAN_M, PLAN_A, PLAN_K, PLAN_C, PLAN_BQ, PLAN_BU, NUM_PLANS };

typedef struct {
  int name, kind, index; /* kind 0: free; -1: deleted */
} Entry;

/* What a file says about a run; texts are "" if they are not given. */
enum { RUN_TEXT = 200 };
typedef struct {
  const char *parameters; /* in: NAME=TEXT lines that replace the file's, or NULL */
  const char *moved;      /* in: the parameter that is moved by `by`, or NULL */
  sunrealtype by, value;  /* value: out, that of the parameter before */
  char title[RUN_TEXT], method[RUN_TEXT], held[RUN_TEXT], coordinates[RUN_TEXT];
  int method_at[2]; /* line and column of the method's name */
  sunrealtype t_end;
  int assemble, balance;
  int open;   /* in: 1 if elements are added to those of a robot */
  int writes; /* in: as that of CPBodiesFile */
} Run;

typedef struct {
  int owner; /* a name */
  const char *field;
} Label;

/* While positions are assembled, velocities are at rest and drives do not move. ALIGNING: the rows
 * that align axes are rotation vectors (bodiesTilt). */
typedef enum { AS_IN_MOTION, AT_REST, ALIGNING } Assembling;
enum { NOTES = 1200 };
enum { OF_LATCH = 6 }; /* numbers that move a latch (latches.c) */

/* The elements of a mechanism, and what is computed from them; the data of the model's functions */
typedef struct {
  Space space;
  int balance;
  Body *body;
  Joint *joint;
  Term *term;      /* those of a row or law are consecutive */
  Row *row, *roll; /* rows of positions; nonholonomic rows */
  Drive *drive;
  Law *law;
  PointForce *force;
  Shape *shape;
  Contact *contact;
  Meeting *meeting;
  struct Controller_ *controller; /* controllers.c */
  struct Release_ *release;       /* releases.c */
  int *length;                    /* indices of the laws of springs between points */
  int nlengths, nbodies, njoints, ncoordinates, nterms, nrows, nrolls, npairs, ndrives, nlaws,
      nforces, nshapes, ncontacts, nmeetings, nparams, nfrictions, ninertances, nelastic_ropes,
      nactivations, ncontrollers, nreleases,
      nplaces;  /* nplaces: where functions and ranges have pieces (kinks.c) */
  char *text;   /* all names, each terminated by a zero */
  int ntext;    /* bytes */
  Entry *entry; /* [capacity] hash table of names, with open addressing */
  int capacity;
  int np, nv;
  Plan plan[NUM_PLANS];
  SUNContext plans;   /* of the templates of `plan`, if they are kept */
  CPModel absolute;   /* in joint coordinates: the same in absolute ones, for assemblies */
  struct Tree_ *tree; /* joint coordinates (tree.h); NULL: absolute ones */
  const Pair *built;  /* [npairs] as of the model, in the data of a CPMech */
  const sunrealtype *built_known; /* `known` of the model */
  struct Formulas_ *formulas;     /* functions of a file, or NULL (formulas.c) */
  struct Follow_ *follow; /* which numbers follow parameters of the file, or NULL (following.c) */

  /* what a run changes: the data of each CPMech have their own */
  SUNContext ctx;
  const sunrealtype *z; /* [nactivations, and balance] as the function that is being called has got it */
  /* [nv] 1: the row may be left out by the function that is being called (CPEquations.skip_rows); NULL: all are needed */
  const char *off;
  /* Coordinate i lacks turns[i] whole turns while an integrator works (CPEquations.turns); NULL: all are complete */
  const sunrealtype *turns;
  sunrealtype *param; /* [nparams] */
  sunrealtype *known; /* the values of parameters of the file where the numbers that follow them are, if there are some */
  Pair *pair; /* [npairs], whose frames an assembly may move */
  Pose *pose; /* [nbodies] */
  /* [np] what each row of p is to be, instead of 0: while loops are closed step by step, and where
   * redundant rows do not fit together by rounding; then, for each joint, by how much the frame of a
   * side is moved, and turned, in its body [6], where a loop is redundant but for rounding */
  sunrealtype *shift;
  Assembling assembling;
  sunrealtype assembled;       /* the time of the newest assembly */
  char singular[TEXT];         /* what is special about its position, or "" */
  char *changed;               /* its notes [NOTES], or NULL */
  struct Acting_ *acting;      /* what acts at events of a run, or NULL (sources.c) */
  struct Latch_ *latch;        /* [nreleases] the latches of a run, or NULL (latches.c) */
  sunrealtype *moved;          /* [OF_LATCH nreleases] behind the parameters: their moves */
  struct Kinks_ *kinks;        /* the pieces of functions in a run, or NULL (kinks.c) */
  struct Failed_ *failed;      /* which function has failed (formulas.c); NULL: not in a run */
  struct Meetings_ *meetings;  /* the features of polyhedra in a run, or NULL (touching.c) */
  sunrealtype velocity_change; /* the largest relative change of a start velocity by it */
} Mechanism;

struct CPBodies_ {
  CPLog log; /* first */
  Mechanism m;
  CPFormulation formulation;
  int numbered; /* rows have numbers, and there is a tree if that is the formulation */

  Run run;               /* what its file says about a run */
  char *sensors;         /* what the file asks for, separated by blanks, or NULL */
  int nsensors;          /* number of bytes of `sensors`, without the zero */
  char *notes, *remarks; /* of the file's reader, or NULL */
  char *files; /* paths of the files that the reader has read, each terminated by a zero, as is the list; or NULL */
  int nfiles;  /* number of bytes of `files`, without the last one */
  char described[TEXT];             /* the name in the newest description */
  const struct FileWriter_ *writer; /* of the format in which it is written, or NULL */
  void *written;                    /* by that */
  struct Kept_ *kept;               /* texts of the file, while it is read, or NULL; the reader's */
  int nentries;                     /* number of used ones in m.entry */
  Label *label;                     /* [nparams] */
};

/* following.c: moves the numbers that follow parameters of the file to their present values. All functions that read numbers, but not
 * those that they call, begin with bodiesUpdate. latches.c: places the frames of joints that latches have closed. */
void bodiesMove(Mechanism *m);
void bodiesPlaceLatches(Mechanism *m);
static inline void bodiesUpdate(Mechanism *m) {
  if (m->follow) bodiesMove(m);
  if (m->latch) bodiesPlaceLatches(m);
}

/* The numbers of coordinates, of velocities, and of components of a state */
int bodiesCoordinates(const Mechanism *m);
int bodiesVelocities(const Mechanism *m);
static inline int bodiesStates(const Mechanism *m) {
  return bodiesCoordinates(m) + bodiesVelocities(m) + m->nactivations + m->balance;
}

enum {
  NAME_BODY = 1,
  NAME_JOINT,
  NAME_LAW,
  NAME_SHAPE,
  NAME_BUSHING,
  NAME_FORCE,
  NAME_OTHER,
  NAME_CONTROLLER,
  NAME_RELEASE
};

/* Checks an argument, or several, of these names. Returns 0, or CP_ILL_INPUT, which has been reported. */
int bodiesGiven(CPLog *log, const char *function, const char *names, int given);
/* Returns the index of the element of this kind and name (length characters), or -1. */
int bodiesFind(const Mechanism *b, int kind, const char *name, size_t length);
/* The kind NAME_... of the element of this name, and its index, of a bushing that of its first law; or 0 */
int bodiesLookUp(const Mechanism *b, const char *name, size_t length, int *index);
/* Computes only the poses of a pair's bodies at y, so that a query about one element does not cost the time of all. */
void bodiesPlacePair(Mechanism *b, const Pair *pair, N_Vector y);
/* pose: out, that of a body's centre of mass at its own coordinates q, velocities u and accelerations u', or without these (NULL) */
void bodiesPoseAt(const Space *space, const sunrealtype *q, const sunrealtype *u,
                  const sunrealtype *udot, Pose *pose);
/* The same of the frame of body i, whose origin is not its centre of mass, without accelerations */
void bodiesFrameAt(const Mechanism *b, int i, const sunrealtype *q, const sunrealtype *u,
                   Pose *frame);
/* Computes the force F [3] and its derivatives [9], or without them (NULL), for a point force; d points from the origin to
 * its point. */
int bodiesPointForce(const Mechanism *b, const PointForce *force, sunrealtype t, const Moving *d,
                     sunrealtype *F, sunrealtype *Fx, sunrealtype *Fv);
/* The force F [3] of point force i at the poses, and the velocity rate [3] of its point. Returns what the user's function
 * returned. */
int bodiesForceOf(const Mechanism *b, int i, sunrealtype t, sunrealtype *F, sunrealtype *rate);
/* axis: out, the columns of the rotation of a quaternion of any norm, R = 1 + 2 (e_0 [e]x + [e]x [e]x) / |e|^2 */
static inline void bodiesRotation(const sunrealtype *e, sunrealtype axis[3][3]) {
  const sunrealtype s = 2 / (e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    axis[i][i] = 1 - s * (e[j + 1] * e[j + 1] + e[k + 1] * e[k + 1]);
    axis[j][i] = s * (e[i + 1] * e[j + 1] - e[0] * e[k + 1]);
    axis[i][j] = s * (e[i + 1] * e[j + 1] + e[0] * e[k + 1]);
  }
}
/* Computes the poses of all bodies; u and udot may be NULL. In joint coordinates their accelerations are those at udot, or at
 * u' = 0, and their velocities those of the bodies. */
void bodiesPoses(Mechanism *b, const sunrealtype *q, const sunrealtype *u, const sunrealtype *udot);
extern const Pose bodies_ground;
static inline const Pose *bodiesPose(const Mechanism *b, int body) {
  return body == GROUND ? &bodies_ground : &b->pose[body];
}
/* term: out, the measure of coordinate k of a joint. Returns 0, or 1 if there is none. */
int bodiesCoordinateTerm(const Mechanism *b, int joint, int k, Term *term);
/* The joint of coordinate i among those of all joints; term: out, its measure */
int bodiesJointOf(const Mechanism *b, int i);
void bodiesCoordinate(const Mechanism *b, int i, Term *term);
/* Returns the coordinate JOINT or JOINT.K, or NONE. */
int bodiesFindCoordinate(const Mechanism *b, const char *name, size_t length);
/* The pair of joint, contact, spring, shape or part i of a path, or NONE */
int bodiesPairOf(const Mechanism *b, CPThing thing, int i);
/* Term k of a row, and of a law */
static inline Term *bodiesRowTerm(const Mechanism *b, const Row *row, int k) {
  return &b->term[row->term + k];
}
static inline Term *bodiesLawTerm(const Mechanism *b, const Law *law, int k) {
  return &b->term[law->term + k];
}
/* f [4]: out, the function of a term at the measure s, and its derivatives with respect to s, the third one at the order ACCELERATION.
 * Returns 0, or what the function returned. */
int bodiesTermFunction(const Mechanism *b, const Term *term, sunrealtype s, Order order,
                       sunrealtype *f);
/* Makes a jet that of a function of the measure, in joint coordinates at the value of a coordinate that counts turns (terms.c). */
void bodiesApply(const Mechanism *b, const Term *term, Mask mask, Order order, Jet *jet);
/* Is it an angle? */
static inline int bodiesIsAngle(const Measure *m) {
  return m->kind == ANGLE || (m->kind == OWN && m->j);
}
/* The jet of a coordinate of a joint by functions where the tree is, with its gradient if the order is more than VALUES, as that of
 * the nearest motion of the joint (custom.c) */
void treeOwnJet(const Mechanism *b, const Term *term, Order order, Jet *jet);
/* The jet of a part of a path that wraps (wrapping.c) */
void bodiesWrapJet(const Mechanism *b, const Term *term, Order order, Jet *jet);
/* Evaluates a term at the current poses, to the given order, without its factor. */
static inline void bodiesTermJet(const Mechanism *b, const Term *term, Order order, Jet *jet) {
  if (term->m.kind == OWN) {
    treeOwnJet(b, term, order, jet);
    return;
  }
  if (term->m.kind == WRAP) {
    bodiesWrapJet(b, term, order, jet);
    return;
  }
  const Pair *pair = &b->pair[term->pair];
  bodiesJet(&b->space, b->param, pair, &term->m, bodiesPose(b, pair->side[0].body),
            bodiesPose(b, pair->side[1].body), order, jet);
  if (term->f || term->counts)
    bodiesApply(b, term, bodiesMask(&b->space, pair, &term->m), order, jet);
}
/* The groups of its directions: those of a function occur in pairs. */
static inline Mask bodiesTermMask(const Mechanism *b, const Term *term) {
  Mask mask = bodiesMask(&b->space, &b->pair[term->pair], &term->m);
  for (int gi = 0; term->f && gi < 4; gi++)
    if (mask.g & 1u << gi) mask.H |= mask.g << 4 * gi;
  return mask;
}
/* x, rate: out, the sum of a law's terms and its rate at the current poses; acc: its second derivative; may be NULL */
void bodiesLawSum(const Mechanism *b, const Law *law, Order order, sunrealtype *x,
                  sunrealtype *rate, sunrealtype *acc);
/* The same for n terms from `first` on, which may be the parts of a rope */
void bodiesSum(const Mechanism *b, int first, int n, int rope, Order order, sunrealtype *x,
               sunrealtype *rate, sunrealtype *acc);
/* The value of a drive as the sum of g and rest, since turns that it has made would otherwise use up the
 * digits of its angle, and its two derivatives */
typedef struct {
  sunrealtype g, rest, rate, acc;
} DriveAt;
/* Row i of positions, or of rolling after all of these */
static inline Row *bodiesRow(const Mechanism *b, int i) {
  return i < b->nrows ? &b->row[i] : &b->roll[i - b->nrows];
}
/* Row r of joint j: its positions come first. */
static inline Row *bodiesRowOf(const Mechanism *b, const Joint *j, int r) {
  return r < j->nrows ? &b->row[j->first + r] : &b->roll[j->first_roll + r - j->nrows];
}
/* The number of rows of A that it is */
static inline int bodiesComponents(const Mechanism *b, const Row *row) {
  return bodiesRowTerm(b, row, 0)->m.kind == POINT ? b->space.dimension : 1;
}
/* May component i of a row be left out now? */
static inline int bodiesIsOff(const Mechanism *b, const Row *row, int i) {
  return b->off && b->off[row->first + i];
}
/* May the whole row? */
static inline int bodiesIsRowOff(const Mechanism *b, const Row *row) {
  int is_off = b->off != NULL;
  for (int i = is_off ? bodiesComponents(b, row) - 1 : -1; i >= 0 && is_off; i--)
    is_off = bodiesIsOff(b, row, i);
  return is_off;
}
/* CPEquations.skip_rows */
int bodiesSkipRows(const char *off, void *mechanism);
/* CPEquations.far_rows (far.c) */
int bodiesFarRows(const sunrealtype *const q[2], const sunrealtype *const u[2], sunrealtype h,
                  sunrealtype margin, char *far, void *mechanism);
/* The factor of a term's measure */
static inline sunrealtype bodiesWeight(const Mechanism *b, const Term *term) {
  return term->ratio == NONE ? term->coef : term->coef * b->param[term->ratio];
}
/* The factor of the coordinate of the tree to which a term is tied */
static inline sunrealtype bodiesShare(const Mechanism *b, const Term *term) {
  return bodiesWeight(b, term) * term->sign;
}
/* A coordinate of q with its turns */
static inline sunrealtype bodiesWhole(const Mechanism *b, const sunrealtype *q, int i) {
  return b->turns ? q[i] + 8 * atan(SUN_RCONST(1.0)) * b->turns[i] : q[i];
}
/* Is a row a sum of coordinates of the tree, or of functions of them? They count turns. */
static inline int bodiesCountsTurns(const Mechanism *b, const Row *row) {
  int counts = b->tree != NULL;
  for (int k = 0; k < row->nterms && counts; k++)
    counts = bodiesRowTerm(b, row, k)->velocity != NONE;
  return counts;
}
/* Is a row a linear sum of coordinates of the tree? */
static inline int bodiesIsBare(const Mechanism *b, const Row *row) {
  int bare = bodiesCountsTurns(b, row);
  for (int k = 0; k < row->nterms && bare; k++) bare = !bodiesRowTerm(b, row, k)->f;
  return bare;
}
/* Are the ratios of the angles of a row, which wraps, those of whole numbers of teeth? */
int bodiesIsToothed(const Mechanism *b, const Row *row);
/* The change of the sum of a row by whole turns of its angles that the state does not count, or 0 */
sunrealtype bodiesPeriod(const Mechanism *b, const Row *row);
/* Returns what the user's function returned. */
int bodiesDrive(const Mechanism *b, int drive, sunrealtype t, DriveAt *at);
/* T [3]: out, the part of a law that functions have, and its derivatives at x and rate, which are not those if the order is VALUES. Returns
 * what they return. */
int bodiesLawFunction(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x,
                      sunrealtype rate, Order order, sunrealtype *T);
/* Computes T [3], the value of a law and, unless the order is VALUES, its derivatives at x and rate; reaction: of the joint with
 * friction. Returns what the user's function returned. */
int bodiesLaw(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x, sunrealtype rate,
              sunrealtype reaction, Order order, sunrealtype *T);
/* The coordinate x of law i and its rate at the current poses, those of (q, u) */
void bodiesLawAt(const Mechanism *b, int i, const sunrealtype *q, const sunrealtype *u,
                 sunrealtype *x, sunrealtype *rate);
/* The kinetic energy of body i at the current poses */
sunrealtype bodiesKinetic(const Mechanism *b, int i);
/* The reaction of a joint on its body b, as CPMechGetReaction, at the current poses, which for an edge of the tree must have
 * accelerations. Returns what a user's function returned. */
int bodiesReaction(Mechanism *b, sunrealtype t, const sunrealtype *lambda, int joint,
                   sunrealtype *F, sunrealtype *T);
/* zdot [nactivations], Zz: out, the rates of the activations z and, on the diagonal, their derivatives with respect to z; may be NULL.
 * change [nactivations]: in, out, increased by the change of the rates with changes dp [nparams] of the parameters, or NULL */
void bodiesActivations(const Mechanism *b, sunrealtype *zdot, SUNMatrix Zz, const sunrealtype *dp,
                       sunrealtype *change);
/* Adds the generalised forces of a law whose value is T to a column [nu]. */
typedef void AddLaw(const Mechanism *b, const Law *law, sunrealtype T, sunrealtype *column);
/* Fz, without columns of W: the derivatives of forces with respect to activations, at the current poses */
int bodiesFillFz(const Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 AddLaw *addOn, SUNMatrix Fz);
/* Fl, the derivatives of friction in proportion to |F| with respect to the multipliers, which are lambda_k / |F|, at the current poses */
int bodiesFillFl(const Mechanism *b, sunrealtype t, const sunrealtype *lambda, AddLaw *addOn,
                 SUNMatrix Fl);
/* first: out, the first row of the reaction force of a joint across its point, in the order of A. Returns the number of these rows. */
int bodiesReactionRows(const Mechanism *b, int joint, int *first);
/* Returns |F| across the point of the joint, from its multipliers. first, count: out, as above */
sunrealtype bodiesReactionSize(const Mechanism *b, int joint, const sunrealtype *lambda, int *first,
                               int *count);
/* The first column of a body, in its group 0 or 1. */
static inline sunindextype bodiesColumn(const Space *s, int body, int group) {
  return (sunindextype)body * s->nu + (group ? s->last[0] : 0);
}
/* The column of the local direction j. */
static inline sunindextype bodiesColumnOf(const Space *s, const Pair *pair, int j) {
  const int group = (j / 3) % 2;
  return bodiesColumn(s, pair->side[j / 6].body, group) + j % 3 - s->first[group];
}
/* Makes the patterns of the matrices by listing the blocks at the placement. Returns 0, or -1 if out of memory. */
int bodiesMakePlans(Mechanism *b, sunindextype nu, sunindextype na, SUNContext ctx);
/* Sets the functions and templates of the equations. */
void bodiesTakeFunctions(const Mechanism *b, CPEquations *e);
/* jet->g: out, the gradient of term k of a row, of its component i if it is a vector, with the term's factor */
Mask bodiesGradient(const Mechanism *b, const Row *row, int k, int i, Jet *jet);
/* f += weights and gyroscopic torques at the velocities u of bodies; what the accelerations of their poses take; the forces of laws, or those of friction, on bodies;
 * these and forces on points. The last two return what a user's function returned. */
void bodiesAddWeights(const Mechanism *b, const sunrealtype *u, sunrealtype *f);
void bodiesAddInertial(const Mechanism *b, sunrealtype *f);
int bodiesAddLaws(const Mechanism *b, int friction, sunrealtype t, const sunrealtype *lambda,
                  sunrealtype *f);
int bodiesAddForces(const Mechanism *b, sunrealtype t, sunrealtype *f);
/* y = J x in the axes of a body. p: its mass, then its moments and products of inertia, or slopes of these */
void bodiesTimesInertia(const Body *body, const sunrealtype *p, const sunrealtype *x,
                        sunrealtype *y);
/* M of all such equations in absolute coordinates */
int bodiesMass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *bodies);
/* Replaces the array at this address by a copy. Returns 0, or 1 if there is no memory; then it is NULL. */
int bodiesCopyArray(void *address, size_t size);
/* Chooses the tree if there is to be one, and numbers the rows. Returns 0, or an error code that has been reported. */
int bodiesChooseCoordinates(CPBodies b);
/* Are there bodies without mass, or without inertia about some axis? */
int bodiesAreLight(const Mechanism *m);
/* Refuses a mechanism in joint coordinates of which some motion moves no mass. Returns 0, or an error code that has been
 * reported. */
int bodiesCheckMass(CPBodies b);
/* m: out, the data of a CPMech whose model was built here. Return 0, or an error code that has been reported; the second
 * one also checks y, a state. */
int bodiesOf(CPMech mech, const char *function, Mechanism **m);
int bodiesAt(CPMech mech, N_Vector y, const char *function, Mechanism **m);
/* Checks that there is a thing i. Returns 0, or an error code that has been reported. */
int bodiesCheckIndex(CPLog *log, const Mechanism *m, CPThing thing, int i, const char *function);
/* mask [nv]: out, 1 for the rows of joints, couplers and drives, 0 for those of contacts and of joints that a latch will close. */
void bodiesWithoutContacts(const Mechanism *b, int *mask);
/* Sets the entries of the rows of joint i. */
void bodiesMaskJoint(const Mechanism *b, int i, int value, int *mask);
/* The same for its rows of positions, of those that bodiesSkipRows is to leave out. */
void bodiesSkipJoint(const Mechanism *b, int i, int value, char *off);
/* What owns the rows of joint i: "joint", "coupler", "drive", "contact", "limit" or "friction". */
const char *bodiesNoun(const Mechanism *b, int i);
/* Is it a coupler or a drive? */
static inline int bodiesIsCoupling(const Mechanism *b, int i) {
  return b->joint[i].kind == NONE && b->joint[i].contact == NONE;
}
/* What row i of A is called in messages, a CPMechRowNameFn. */
void bodiesRowName(CPMechName what, sunindextype i, sunrealtype t, char *name, size_t length,
                   void *mechanism);
/* powers += the powers, and if energies, those of springs, inertances and elastic ropes. of_contacts += the power on the bodies of those tensions
 * among them that contacts are, which a CPContact adds by CPMechAddForce. Returns what a user's function returned. */
int bodiesPowers(Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 const sunrealtype *lambda, int energies, CPPowers *powers,
                 sunrealtype *of_contacts);

#endif
