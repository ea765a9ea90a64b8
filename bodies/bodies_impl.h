/* Shared by the files of this room.
 *
 * All elements are made of measures: scalar functions s(q) of two bodies. A constraint is sum_k c_k s_k = offset, a
 * force acts along the gradient of s, a sensor returns s and s'. So each primitive is written once, in measures.c.
 *
 * Local directions: 0-2 move body a along the axes of space, 3-5 turn it about its own axes, 6-8 and 9-11 do so with b.
 */
#ifndef CPODES_BODIES_IMPL_H
#define CPODES_BODIES_IMPL_H

#include <cpodes/cpodes_bodies.h>
#include <math.h>

enum { LOCAL = 12, TEXT = 512, GROUND = -1, SPARSE_FROM = 24, MAX_ROWS = 6, NONE = -1 };

/* ---- vectors in space ---- */

static inline sunrealtype dot3(const sunrealtype *a, const sunrealtype *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
/* c = a x b; c is neither of them */
static inline void cross3(const sunrealtype *a, const sunrealtype *b, sunrealtype *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}
/* y += s x */
static inline void add3(sunrealtype s, const sunrealtype *x, sunrealtype *y) {
  for (int k = 0; k < 3; k++) y[k] += s * x[k];
}

/* A body's place: column k of its rotation is axis[k] */
typedef struct {
  sunrealtype r[3], axis[3][3];
  sunrealtype phi;              /* in the plane: the angle */
  sunrealtype v[3], w[3];       /* velocities in space */
  sunrealtype acc[3], alpha[3]; /* accelerations in space, where they are wanted */
} Pose;

static inline void toSpace(const Pose *pose, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++)
    y[i] = pose->axis[0][i] * x[0] + pose->axis[1][i] * x[1] + pose->axis[2][i] * x[2];
}
static inline void toBody(const Pose *pose, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++) y[i] = dot3(pose->axis[i], x);
}

/* ---- measures ---- */

/* One side of a joint or force: body, point relative to the centre of mass, directions, in the body's axes */
typedef struct {
  int body;
  sunrealtype point[3], axis[3][3];
} Side;

/* phi = 0 in the axes of side a at P_a: that of a function, or where it is NULL the sphere of a contact, whose radii are two
   parameters */
typedef struct {
  CPSurfaceFn fn;
  void *data;
  int radius[2];
} Surface;

typedef struct {
  Side side[2];
  sunrealtype turns; /* in the plane: whole turns, so that the angle at the placement is in (-pi, pi] */
  Surface surface;
} Pair;

typedef enum {
  POINT,  /* the vector P_b - P_a: three rows, or two in the plane */
  ALONG,  /* axis i of `from` . (P_b - P_a) */
  DOT,    /* axis i of `from` . axis j of the other side */
  LENGTH, /* |P_b - P_a| */
  ANGLE,  /* of axis j of the other side, from axis i of `from` towards the next axis */
  SPIN,   /* rate only: axis i of `from` . (omega_other - omega_from) */
  SINE,   /* of the angle between axis i of `from` and axis j of the other side */
  ROLL, /* rate only, i = 0 or 1: velocity along axis i of `from`, relative to the centre, of the point of the other
             side's unit circle about its axis j that is lowest over axis 2 of `from` */
  LEVEL, /* phi at P_b, of the pair's surface on side a */
  GLIDE, /* rate only, i = 0 or 1: along tangent i of that level, the velocity of P_b relative to side a */
  TWIST /* rate only, i = 0 or 1: omega_b - omega_a along this tangent */
} MeasureKind;

typedef struct {
  MeasureKind kind;
  int from, i, j;
} Measure;

/* What a measure is asked for: values s, s', s''; the gradient g; derivatives of s' and the Hessian H; derivatives of s'' */
typedef enum { VALUES, GRADIENT, HESSIAN, ACCELERATION } Order;

typedef struct {
  sunrealtype s, rate, acc;                              /* s, s', s'' */
  sunrealtype g[LOCAL];                                  /* D_j s = d s'/d u_j = d s''/d u'_j */
  sunrealtype rate_q[LOCAL], acc_q[LOCAL], acc_u[LOCAL]; /* D_j s', D_j s'', d s''/d u_j */
  sunrealtype H[LOCAL][LOCAL];                           /* D_j g_i */
} Jet;

/* Bit G is set if directions 3 G ... 3 G + 2 occur in the gradient; bit 4 Gi + Gj: in the Hessian */
typedef struct {
  unsigned g, H;
} Mask;

/* Which directions of group 0 and 1 (moving, turning) a body has: from first[] to last[] - 1 */
typedef struct {
  int dimension, nu, nq, first[2], last[2];
} Space;

/* A loop over the local directions j of these groups that the bodies have */
#define EACH_DIRECTION(space, groups, j) \
  for (int j##_ = 0; j##_ < 4; j##_++)   \
    if ((groups) & (1u << j##_))         \
      for (int j = 3 * j##_ + (space)->first[j##_ % 2]; j < 3 * j##_ + (space)->last[j##_ % 2]; j++)

Mask bodiesMask(const Space *space, const Pair *pair, const Measure *m);
/* jet: out, of the measure at the poses of both sides. Entries outside of the mask are not written. param: those of
   surfaces */
void bodiesJet(const Space *space, const sunrealtype *param, const Pair *pair, const Measure *m,
               const Pose *a, const Pose *b, Order order, Jet *jet);
/* Where P_b is at the poses of both sides: phi = 0's gradient g and its tangents t, all three of the length |g|, in the axes of
   side a. Returns what the function of the surface returned. */
int bodiesLevel(const sunrealtype *param, const Pair *pair, const Pose *a, const Pose *b,
                sunrealtype *g, sunrealtype t[2][3]);

/* A vector that moves with one or both bodies: sum over sides of (centre if it moves along) + arm */
typedef struct {
  sunrealtype x[3], rate[3], acc[3];
  struct {
    sunrealtype move; /* +-1: moves with the body's centre, 0: does not */
    sunrealtype arm[3], rate[3], acc[3];
  } side[2];
  const Pose *pose[2];
} Moving;

/* P_b - P_a */
void bodiesSpan(const Pair *pair, const Pose *a, const Pose *b, Order order, Moving *d);
/* Derivatives in the local direction j: of x; of x''; of x'' to u_j. D [3]: out */
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

/* sum of terms - offset - motion(t) = 0; POINT: 3 rows, with the sign P_a - P_b = 0 */
typedef struct {
  Term term[2];
  int nterms, offset, drive; /* parameter, drive, or NONE */
  int wraps;                 /* angles in space: the sum counts modulo whole turns of them */
  int first;                 /* row */
} Row;

typedef struct {
  int name, param;       /* mass, then the moments and products of inertia */
  int full;              /* are there products of inertia? */
  sunrealtype centre[3]; /* in the frame */
  sunrealtype guess[13]; /* q, then u */
} Body;

typedef struct {
  int name, kind, pair, first, nrows, first_roll,
      nrolls; /* rows of bodies->row; couplers, drives: kind NONE */
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
  int param, force,
      joint; /* stiffness, damping, free, and force or NONE; or factor, speed, and the joint; or drag */
  int inertance; /* parameter or NONE */
  CPLawFn law;
  void *data;
} Law;

typedef struct {
  int pair, param, follows; /* pair: the ground's origin and the point */
  CPPointForceFn fn;
  void *data;
} PointForce;

typedef struct {
  int joint, radius, param, poisson; /* radius: parameter; param: friction, sticking, restitution */
  CPContactOn on;
} Contact;

typedef struct {
  CPShapeKind kind;
  int pair;            /* the ground's origin, and centre and axes */
  sunrealtype half[3]; /* lengths of the half axes */
} Shape;

/* Where the blocks of a matrix go, in the order in which they are filled */
typedef struct {
  SUNMatrix tmpl;
  sunindextype *place;
} Plan;

enum { PLAN_M, PLAN_A, PLAN_K, PLAN_C, PLAN_BQ, PLAN_BU, NUM_PLANS };

typedef struct {
  int name, kind, index; /* kind 0: free; -1: has been taken, and is no more */
} Entry;

typedef struct {
  int owner; /* a name */
  const char *field;
} Label;

struct CPBodies_ {
  SUNContext ctx;
  Space space;
  CPErrHandlerFn handler;
  void *data;
  char message[TEXT];
  int balance, ready, has_mech;

  Body *body;
  Joint *joint;
  Row *row, *roll; /* positions; nonholonomic */
  Pair *pair;
  Drive *drive;
  Law *law;
  PointForce *force;
  Shape *shape;
  Contact *contact;
  int *length; /* the laws of springs between points */
  sunrealtype *param;
  int nlengths, nbodies, njoints, nrows, nrolls, npairs, ndrives, nlaws, nforces, nshapes,
      ncontacts, nparams, nfrictions, ninertances;

  char *notes; /* of the reader; NULL: none */
  char *text;  /* all names, each ended by a zero */
  int ntext;
  Entry *entry; /* [capacity] table of names: open addressing */
  int nentries, capacity;
  Label *label; /* [nparams] */

  int np, nv;
  Pose *pose;
  Plan plan[NUM_PLANS];
  CPMechModel model;
};

enum { NAME_BODY = 1, NAME_JOINT, NAME_OTHER };

/* Room for `more` elements behind the first `count`; arrays have lengths 8, 16, 32, ... Returns 0, or 1 without
   memory. */
int bodiesRoom(void *address, int count, int more, size_t size);
#define ROOM(array, count, more) bodiesRoom(&(array), (count), (more), sizeof *(array))
/* Where the name (length characters) of an element stands in b->text, or -1 */
int bodiesNamed(const struct CPBodies_ *b, const char *name, size_t length);
/* Has an element this name, or is it "ground"? */
int bodiesTaken(const struct CPBodies_ *b, const char *name);

int bodiesError(CPBodies b, int code, const char *function, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;
/* Index of the element of this kind and name (length characters), or -1 */
int bodiesFind(const struct CPBodies_ *b, int kind, const char *name, size_t length);
void bodiesPoseAt(const Space *space, const sunrealtype *q, const sunrealtype *u,
                  const sunrealtype *udot, Pose *pose);
/* F [3] of a point force, and its derivatives [9], d from the origin to its point */
int bodiesPointForce(const struct CPBodies_ *b, const PointForce *force, sunrealtype t,
                     const Moving *d, sunrealtype *F, sunrealtype *Fx, sunrealtype *Fv);
/* Poses of all bodies; u, udot may be NULL */
void bodiesPoses(CPBodies b, const sunrealtype *q, const sunrealtype *u, const sunrealtype *udot);
extern const Pose bodies_ground;
static inline const Pose *bodiesPose(const struct CPBodies_ *b, int body) {
  return body == GROUND ? &bodies_ground : &b->pose[body];
}
/* The measure of coordinate k of a joint: term: out. Returns 0, or 1 if there is none. */
int bodiesCoordinateTerm(const struct CPBodies_ *b, int joint, int k, Term *term);
/* s, s', s'' and what order asks for, of a term's measure at the current poses */
static inline void bodiesTermJet(const struct CPBodies_ *b, const Term *term, Order order, Jet *jet) {
  const Pair *pair = &b->pair[term->pair];
  bodiesJet(&b->space, b->param, pair, &term->m, bodiesPose(b, pair->side[0].body),
            bodiesPose(b, pair->side[1].body), order, jet);
}
/* g [3] of a drive. Returns what the user's function returned. */
int bodiesDrive(const struct CPBodies_ *b, int drive, sunrealtype t, sunrealtype *g);
/* x - free of a spring; of an angle in space the shorter way round, as whole turns are not known */
sunrealtype bodiesStretch(const struct CPBodies_ *b, const Law *law, sunrealtype x);
/* T [3] of a law and its derivatives at x, rate; reaction: of a joint with friction. Returns as the user's function */
int bodiesLaw(const struct CPBodies_ *b, const Law *law, sunrealtype t, sunrealtype x,
              sunrealtype rate, sunrealtype reaction, sunrealtype *T);
/* |F| across the point of the joint, for its multipliers */
sunrealtype bodiesReactionSize(const struct CPBodies_ *b, int joint, const sunrealtype *lambda,
                               int *first, int *count);
/* Names of the kinds of joints. Returns NULL if there is no such kind. */
const char *bodiesKindName(int kind);
/* Those of CPContactTouch */
const char *bodiesTouchName(int touch);
/* The first column of body `body`, of its group 0 or 1 */
static inline sunindextype bodiesColumn(const Space *s, int body, int group) {
  return (sunindextype)body * s->nu + (group ? s->last[0] : 0);
}
/* The column of the local direction j */
static inline sunindextype bodiesColumnOf(const Space *s, const Pair *pair, int j) {
  const int group = (j / 3) % 2;
  return bodiesColumn(s, pair->side[j / 6].body, group) + j % 3 - s->first[group];
}
/* Completes the mechanism: rows, model, templates. Returns 0 or a code, reported. */
int bodiesBuild(CPBodies b, const char *function);
void bodiesFreePlans(CPBodies b);
int bodiesPowers(CPBodies b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 const sunrealtype *lambda, CPBodiesPowers *powers);
void bodiesPositions(CPBodies b, const Row *row, sunrealtype t, sunrealtype *p);

/* ---- files ---- */

/* Whole file and a zero, which the caller frees; NULL if it cannot be read */
char *bodiesFile(const char *path, size_t *size);
/* The path of a file that stands beside the file `from`, unless it is absolute, into whole [length]. Returns 1 if it is
   too long. */
int bodiesBeside(const char *from, const char *path, char *whole, size_t length);
/* As CPBodiesReadText; run has its defaults */
CPBodies bodiesReadYaml(const char *data, size_t size, const char *name, SUNContext ctx,
                        CPBodiesFile *run, char *message, size_t length);
CPBodies bodiesReadXml(const char *data, size_t size, const char *name, SUNContext ctx,
                       CPBodiesFile *run, char *message, size_t length);

#endif
