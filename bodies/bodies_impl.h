/* Interfaces between the files of this folder.
 *
 * All elements are made of measures: scalar functions s(q) of two bodies. A constraint is sum_k c_k
 * s_k = offset, a force acts along the gradient of s, and a sensor returns s and s'. So each
 * primitive is written once, in measures.c.
 *
 * Local directions: 0-2 move body a along the axes of space, 3-5 turn it about its own axes; 6-8
 * and 9-11 do the same with b. */
#ifndef CPODES_BODIES_IMPL_H
#define CPODES_BODIES_IMPL_H

#include "cpodes/base/object.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>

/* Numbers of enumerators of the public headers */
enum {
  NUM_JOINTS = CP_JOINT_ROLLING_DISC + 1,
  NUM_ON     = CP_ON_SURFACE + 1,
  NUM_TOUCH  = CP_TOUCH_BOX + 1,
  NUM_SHAPES = CP_SHAPE_WHEEL + 1
};
enum { LOCAL = 12, TEXT = 512, GROUND = -1, SPARSE_FROM = 16, MAX_ROWS = 6, NONE = -1 };

/* ---- vectors in space ---- */

static inline sunrealtype dot3(const sunrealtype *a, const sunrealtype *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
/* The length of a, however long it is */
static inline sunrealtype length3(const sunrealtype *a) { return hypot(hypot(a[0], a[1]), a[2]); }
/* c = a x b; c must be neither a nor b */
static inline void cross3(const sunrealtype *a, const sunrealtype *b, sunrealtype *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}
/* y += s x */
static inline void add3(sunrealtype s, const sunrealtype *x, sunrealtype *y) {
  for (int k = 0; k < 3; k++) y[k] += s * x[k];
}

/* The pose of a body; axis[k] is column k of its rotation. */
typedef struct {
  sunrealtype r[3], axis[3][3];
  sunrealtype phi;              /* the angle, in the plane */
  sunrealtype v[3], w[3];       /* velocities in space */
  sunrealtype acc[3], alpha[3]; /* accelerations in space, if requested */
} Pose;

static inline void toSpace(const Pose *pose, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++)
    y[i] = pose->axis[0][i] * x[0] + pose->axis[1][i] * x[1] + pose->axis[2][i] * x[2];
}
static inline void toBody(const Pose *pose, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++) y[i] = dot3(pose->axis[i], x);
}

/* ---- measures ---- */

/* One side of a joint or force: its body, its point relative to the centre of mass, and its
 * directions, in body axes */
typedef struct {
  int body;
  sunrealtype point[3], axis[3][3];
} Side;

/* A surface phi = 0 on side a, in its axes at P_a: phi is a function, or if that is NULL, the
 * sphere of a contact, whose radii are two parameters. */
typedef struct {
  CPSurfaceFn fn;
  void *data;
  int radius[2];
} Surface;

typedef struct {
  Side side[2];
  /* in the plane: whole turns that put the angle at the placement into (-pi, pi] */
  sunrealtype turns;
  Surface surface;
} Pair;

typedef enum {
  POINT,  /* the vector P_b - P_a: three rows, or two in the plane */
  ALONG,  /* axis i of `from` . (P_b - P_a) */
  DOT,    /* axis i of `from` . axis j of the other side */
  LENGTH, /* |P_b - P_a| */
  ANGLE,  /* the angle of axis j of the other side, from axis i of `from` towards the next axis */
  SPIN,   /* rate only: axis i of `from` . (omega_other - omega_from) */
  SINE,   /* the sine of the angle between axis i of `from` and axis j of the other side */
  /* rate only, i = 0 or 1. Of the unit circle of the other side about its axis j, take the point
   * that is lowest along axis 2 of `from`: the velocity of this point relative to the centre, along
   * axis i of `from` */
  ROLL,
  LEVEL, /* phi at P_b, for the surface of the pair on side a */
  /* rate only, i = 0 or 1: the velocity of P_b relative to side a, along tangent i of that level */
  GLIDE,
  TWIST /* rate only, i = 0 or 1: omega_b - omega_a along that tangent */
} MeasureKind;

typedef struct {
  MeasureKind kind;
  int from, i, j;
} Measure;

/* What to evaluate of a measure, each including the ones before: the values s, s', s''; the
 * gradient g; the derivatives of s' and the Hessian H; the derivatives of s''. */
typedef enum { VALUES, GRADIENT, HESSIAN, ACCELERATION } Order;

typedef struct {
  sunrealtype s, rate, acc;                              /* s, s', s'' */
  sunrealtype g[LOCAL];                                  /* D_j s = d s'/d u_j = d s''/d u'_j */
  sunrealtype rate_q[LOCAL], acc_q[LOCAL], acc_u[LOCAL]; /* D_j s', D_j s'', d s''/d u_j */
  sunrealtype H[LOCAL][LOCAL];                           /* D_j g_i */
} Jet;

/* Bit G of g is set if directions 3 G ... 3 G + 2 occur in the gradient, bit 4 Gi + Gj of H if they
 * occur in the Hessian. */
typedef struct {
  unsigned g, H;
} Mask;

/* The directions first[] ... last[] - 1 that a body has in group 0 (translation) and group 1
 * (rotation) */
typedef struct {
  int dimension, nu, nq, first[2], last[2];
} Space;

/* Loops over those local directions j of these groups that the bodies have. */
#define EACH_DIRECTION(space, groups, j) \
  for (int j##_ = 0; j##_ < 4; j##_++)   \
    if ((groups) & (1u << j##_))         \
      for (int j = 3 * j##_ + (space)->first[j##_ % 2]; j < 3 * j##_ + (space)->last[j##_ % 2]; j++)

Mask bodiesMask(const Space *space, const Pair *pair, const Measure *m);
/* jet: out, the measure at the poses of both sides; entries outside the mask are not written.
 * param: the parameters of surfaces. */
void bodiesJet(const Space *space, const sunrealtype *param, const Pair *pair, const Measure *m,
               const Pose *a, const Pose *b, Order order, Jet *jet);
/* At P_b, for the poses of both sides: the gradient g of the surface and its tangents t, all three
 * of length |g|, in the axes of side a. Returns what the function of the surface returned. */
int bodiesLevel(const sunrealtype *param, const Pair *pair, const Pose *a, const Pose *b,
                sunrealtype *g, sunrealtype t[2][3]);

/* The rotation from side a to side b of a joint, as a vector r in the axes of a, and its derivative
 * D_k . (omega_b - omega_a) in space. n = 3: of all axes; n = 2: the shortest one that turns z_a to
 * z_b. Unlike the products x_a . z_b, y_a . z_b, x_a . y_b, it vanishes for equal axes only. */
void bodiesTilt(const Pair *pair, const Pose *a, const Pose *b, int n, sunrealtype r[3],
                sunrealtype D[3][3]);

/* A vector that moves with one or both bodies: the sum over sides of arm and, if move is not 0, of
 * the centre */
typedef struct {
  sunrealtype x[3], rate[3], acc[3];
  struct {
    sunrealtype move; /* +-1: moves with the body's centre; 0: does not */
    sunrealtype arm[3], rate[3], acc[3];
  } side[2];
  const Pose *pose[2];
} Moving;

/* P_b - P_a */
void bodiesSpan(const Pair *pair, const Pose *a, const Pose *b, Order order, Moving *d);
/* Derivatives in the local direction j of x, of x'', and of x'' with respect to u_j. D [3]: out. */
void bodiesMovingX(const Moving *d, int j, sunrealtype *D);
void bodiesMovingAcc(const Moving *d, int j, sunrealtype *D);
void bodiesMovingAccU(const Moving *d, int j, sunrealtype *D);
/* D_j D_i x . y */
sunrealtype bodiesMovingHessian(const Moving *d, int i, int j, const sunrealtype *y);

/* ---- the mechanism ---- */

typedef struct {
  sunrealtype coef;
  int ratio; /* index of a parameter that multiplies coef, or NONE */
  int pair;
  Measure m;
} Term;

/* The equation sum of terms - offset - motion(t) = 0. POINT has 3 rows, with the sign
 * P_a - P_b = 0. */
typedef struct {
  Term term[2];
  int nterms, offset, drive; /* index of a parameter, index of a drive, or NONE */
  int wraps;                 /* angles in space, or driven: the sum counts modulo whole turns */
  int first;                 /* the row of p, or of v */
  int aligns; /* number of rows that align the axes of its joint, of which it is one, or 0 */
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
  int moved; /* the side whose frame the assembly may move (redundant.c) */
} Joint;

typedef struct {
  CPDriveFn g;
  void *data;
  int param;
} Drive;

typedef enum { SPRING, FRICTION, DRAG } LawKind;
typedef struct {
  LawKind kind;
  Term term;
  /* param: stiffness, damping and free length, or the factor and speed of friction, or drag. force:
   * a parameter, or NONE. joint: the one with friction. */
  int param, force, joint;
  int inertance; /* index of a parameter, or NONE */
  CPLawFn law;
  void *data;
} Law;

typedef struct {
  int pair, param, follows; /* pair: the ground's origin and the point of the force */
  CPPointForceFn fn;
  void *data;
} PointForce;

typedef struct {
  /* radius: index of a parameter; param: friction, sticking, restitution */
  int joint, radius, param, poisson;
  CPContactOn on;
} Contact;

typedef struct {
  CPShapeKind kind;
  int pair;            /* sides: the ground's origin, and the shape's centre and axes */
  sunrealtype half[3]; /* lengths of the half axes */
} Shape;

/* The places of a matrix's blocks, in the order in which they are filled */
typedef struct {
  SUNMatrix tmpl;
  sunindextype *place;
} Plan;

enum { PLAN_M, PLAN_A, PLAN_K, PLAN_C, PLAN_BQ, PLAN_BU, NUM_PLANS };

typedef struct {
  int name, kind, index; /* kind 0: free; -1: deleted */
} Entry;

typedef struct {
  int owner; /* a name */
  const char *field;
} Label;

/* While positions are assembled, velocities are at rest and drives do not move. ALIGNING: the rows
 * that align axes are rotation vectors (bodiesTilt). */
typedef enum { AS_IN_MOTION, AT_REST, ALIGNING } Assembling;
enum { NOTES = 1200 };

struct CPBodies_ {
  CPLog log;
  SUNContext ctx;
  Space space;
  int balance, ready, has_mech;

  Body *body;
  Joint *joint;
  Row *row, *roll; /* rows of positions; nonholonomic rows */
  Pair *pair;
  Drive *drive;
  Law *law;
  PointForce *force;
  Shape *shape;
  Contact *contact;
  int *length; /* indices of the laws of springs between points */
  sunrealtype *param;
  int nlengths, nbodies, njoints, nrows, nrolls, npairs, ndrives, nlaws, nforces, nshapes,
      ncontacts, nparams, nfrictions, ninertances;

  char *notes; /* notes of the file's reader, or NULL */
  char *files; /* paths of the files that the reader has read, each terminated by a zero */
  int nfiles;  /* number of bytes of `files` */
  char *text;  /* all names, each terminated by a zero */
  int ntext;
  Entry *entry; /* [capacity] hash table of names, with open addressing */
  int nentries, capacity;
  Label *label; /* [nparams] */

  int np, nv;
  /* [np] what each row of p is to be, instead of 0: while loops are closed step by step, and where
   * redundant rows do not fit together by rounding; then, for each joint, by how much the frame of a
   * side is moved, and turned, in its body [6], where a loop is redundant but for rounding */
  sunrealtype *shift;
  Assembling assembling;
  char *changed;               /* notes of the newest assembly [NOTES], or NULL */
  char singular[TEXT];         /* what is special about the assembled position, or "" */
  sunrealtype assembled;       /* its time */
  sunrealtype velocity_change; /* the largest relative change of a start velocity by it */
  Pose *pose;
  Plan plan[NUM_PLANS];
  CPQuaternion *quaternion; /* [nbodies] in space, or NULL */
  CPEquations model;
};

enum { NAME_BODY = 1, NAME_JOINT, NAME_OTHER };

/* Makes room for `more` elements after the first `count`; arrays have lengths 8, 16, 32, ...
 * Returns 0, or 1 without memory. */
int bodiesRoom(void *address, int count, int more, size_t size);
#define ROOM(array, count, more) bodiesRoom(&(array), (count), (more), sizeof *(array))
unsigned bodiesHash(const char *name, size_t length);
/* Returns the offset in b->text of the name (length characters) of an element, or -1. */
int bodiesNamed(const struct CPBodies_ *b, const char *name, size_t length);
/* Does an element have this name, or is it "ground"? */
int bodiesTaken(const struct CPBodies_ *b, const char *name);

/* Checks an argument, or several, of these names. Returns 0, or CP_ILL_INPUT, which has been reported. */
int bodiesGiven(CPBodies b, const char *function, const char *names, int given);
/* Returns the index of the element of this kind and name (length characters), or -1. */
int bodiesFind(const struct CPBodies_ *b, int kind, const char *name, size_t length);
void bodiesPoseAt(const Space *space, const sunrealtype *q, const sunrealtype *u,
                  const sunrealtype *udot, Pose *pose);
/* Computes the force F [3] and its derivatives [9] for a point force; d points from the origin to
 * its point. */
int bodiesPointForce(const struct CPBodies_ *b, const PointForce *force, sunrealtype t,
                     const Moving *d, sunrealtype *F, sunrealtype *Fx, sunrealtype *Fv);
/* Computes the poses of all bodies; u and udot may be NULL. */
void bodiesPoses(CPBodies b, const sunrealtype *q, const sunrealtype *u, const sunrealtype *udot);
extern const Pose bodies_ground;
static inline const Pose *bodiesPose(const struct CPBodies_ *b, int body) {
  return body == GROUND ? &bodies_ground : &b->pose[body];
}
/* term: out, the measure of coordinate k of a joint. Returns 0, or 1 if there is none. */
int bodiesCoordinateTerm(const struct CPBodies_ *b, int joint, int k, Term *term);
/* Evaluates a term's measure at the current poses, to the given order. */
static inline void bodiesTermJet(const struct CPBodies_ *b, const Term *term, Order order, Jet *jet) {
  const Pair *pair = &b->pair[term->pair];
  bodiesJet(&b->space, b->param, pair, &term->m, bodiesPose(b, pair->side[0].body),
            bodiesPose(b, pair->side[1].body), order, jet);
}
/* The value of a drive as the sum of g and rest, since turns that it has made would otherwise use up the
 * digits of its angle, and its two derivatives */
typedef struct {
  sunrealtype g, rest, rate, acc;
} DriveAt;
/* Returns what the user's function returned. */
int bodiesDrive(const struct CPBodies_ *b, int drive, sunrealtype t, DriveAt *at);
/* x - free of a spring. An angle in space goes the shorter way round, since whole turns are
 * unknown. */
sunrealtype bodiesStretch(const struct CPBodies_ *b, const Law *law, sunrealtype x);
/* Computes T [3], the value of a law and its derivatives at x and rate; reaction: of the joint with
 * friction. Returns what the user's function returned. */
int bodiesLaw(const struct CPBodies_ *b, const Law *law, sunrealtype t, sunrealtype x,
              sunrealtype rate, sunrealtype reaction, sunrealtype *T);
/* Returns |F| across the point of the joint, from its multipliers. */
sunrealtype bodiesReactionSize(const struct CPBodies_ *b, int joint, const sunrealtype *lambda,
                               int *first, int *count);
/* Returns the name of a kind of joints, or NULL if there is no such kind. */
const char *bodiesKindName(int kind);
/* The same for CPContactTouch. */
const char *bodiesTouchName(int touch);
/* The first column of a body, in its group 0 or 1. */
static inline sunindextype bodiesColumn(const Space *s, int body, int group) {
  return (sunindextype)body * s->nu + (group ? s->last[0] : 0);
}
/* The column of the local direction j. */
static inline sunindextype bodiesColumnOf(const Space *s, const Pair *pair, int j) {
  const int group = (j / 3) % 2;
  return bodiesColumn(s, pair->side[j / 6].body, group) + j % 3 - s->first[group];
}
/* Completes the mechanism: rows, model, templates. Returns 0 or an error code that has been
 * reported. */
int bodiesBuild(CPBodies b, const char *function);
/* Checks that the mechanism is complete, and that y has its length. Returns 0 or an error code that
 * has been reported. */
int bodiesCheckState(CPBodies b, N_Vector y, const char *function);
/* mask [nv]: out, 1 for the rows of joints, couplers and drives, 0 for those of contacts. */
/* Creates a CPMech of the built equations; returns NULL without memory. */
CPMech bodiesCreateMech(CPBodies b, N_Vector y);
void bodiesWithoutContacts(const struct CPBodies_ *b, sunrealtype *mask);

/* ---- loops that are redundant but for rounding (redundant.c) ---- */

typedef struct Loops_ *Loops;
/* loops: out, NULL if there are none. mask [nv]: rows that are off are 0. Returns 0 or CP_MEM_FAIL. */
int bodiesFindLoops(CPBodies b, const sunrealtype *mask, sunrealtype extent, Loops *loops);
void bodiesFreeLoops(Loops l);
/* text: out, the names of the joints of the loops to which this joint belongs */
void bodiesTellLoop(Loops l, int joint, char *text, size_t length);
/* At q, where p [np] are the position rows, finds rows at angles below `narrow` with others, sets their mask to 0, and
 * adds their equations to l. narrow = 0: these are the rows whose mask is 0 already. sine: out, the largest one of their
 * angles. Returns their number or CP_MEM_FAIL. */
int bodiesLoopsAt(Loops l, sunrealtype t, const sunrealtype *q, const sunrealtype *p,
                  sunrealtype narrow, sunrealtype *mask, sunrealtype *sine);
int bodiesEquations(const struct Loops_ *l);
/* At the newest position: the least sine of a row that is not narrow, in its turn. Below bodiesSharp there are no
 * equations, unless narrow was 0. */
sunrealtype bodiesClear(const struct Loops_ *l);
extern const sunrealtype bodiesSharp;
/* The largest violation in the equations from the first-th one on. */
sunrealtype bodiesOpen(const struct Loops_ *l, int first);
/* The equations from the first-th one on are those of the same rows at q, q + h w and q + h v (w [2 nu]: w, v). y [2]:
 * out, where q + y_0 w + y_1 v has the least u^T A. Leaves the equations at q, with the violation of each row where its
 * own u^T A vanishes. Returns 0 if y is not unique. */
int bodiesTurn(Loops l, int first, sunrealtype h, const sunrealtype *w, sunrealtype *y);
/* Forgets all equations from the first-th one on. */
void bodiesForgetEquations(Loops l, int first);
/* move [6 njoints]: out, motions of the joints' frames: the sum of squares of the equations and of damping * motions is
 * least. Returns 0 or CP_MEM_FAIL. */
int bodiesFitLoops(Loops l, sunrealtype damping, sunrealtype *move);
/* Chooses the side of each joint whose frame may be moved. count: [nbodies] room, zeros */
void bodiesChooseFrames(CPBodies b, int *count);
/* Moves the frames, and adds the motions to b->shift. */
void bodiesMoveFrames(CPBodies b, const sunrealtype *move);
/* What owns the rows of joint i: "joint", "coupler", "drive" or "contact". */
const char *bodiesNoun(const struct CPBodies_ *b, int i);
/* What row i of A is called in messages, a CPMechRowNameFn. */
void bodiesRowName(CPMechName what, sunindextype i, sunrealtype t, char *name, size_t length,
                   void *bodies);
void bodiesFreePlans(CPBodies b);
/* powers += the powers, and the energies of springs and inertances. Returns what a user's function
 * returned. */
int bodiesPowers(CPBodies b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 const sunrealtype *lambda, CPBodiesPowers *powers);

/* ---- files ---- */

/* Reads a whole regular file of at most 1 GiB and appends a zero; the caller frees it. Returns NULL if
 * it cannot be read, with the reason *why. */
char *bodiesFile(const char *path, size_t *size, const char **why);
/* Does the name end with `end`, which is in lower case? Case does not matter. */
int bodiesEndsWith(const char *name, const char *end);
/* Records that the file at path has been read for this mechanism. Returns 0, or 1 without memory. */
int bodiesHasRead(CPBodies b, const char *path);
/* Returns the first control character of a text in UTF-8, C1 included, or NULL. */
const char *bodiesControl(const char *text);
/* Makes a message, which may contain names from files, one line without control characters. */
void bodiesOneLine(char *message, size_t length);
/* Writes to whole [length] the path of a file that stands in the folder of the file `from`, unless
 * path is absolute. Returns 1 if it is too long. */
int bodiesBeside(const char *from, const char *path, char *whole, size_t length);
/* As CPBodiesReadText; run holds its defaults. */
CPBodies bodiesReadYaml(const char *data, size_t size, const char *name, SUNContext ctx,
                        CPBodiesFile *run, char *message, size_t length);
CPBodies bodiesReadXml(const char *data, size_t size, const char *name, SUNContext ctx,
                       CPBodiesFile *run, char *message, size_t length);

#endif
