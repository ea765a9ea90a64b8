/* The assembly of a mechanism, whose order assembly.c has */
#ifndef CPODES_BODIES_ASSEMBLY_IMPL_H
#define CPODES_BODIES_ASSEMBLY_IMPL_H

#include "loops.h"

/* Largest offset of a redundant row, as a part of the extent (in radians: of 1), and the tolerance with
 * which loops are closed before rows get offsets. */
static const sunrealtype largest_offset = SUN_RCONST(1e-6), loose = SUN_RCONST(1e-5);
/* What misses by more has not been rounded. */
static const sunrealtype rounded = SUN_RCONST(1e-2);
/* The tolerance of CPMechCalcIC is 1e-10 divided by weights up to 1. */
static const sunrealtype calc_ic = SUN_RCONST(1e-10);
/* Projections of the trials end at 1e-3 of that tolerance, so that an offset of more is noticed. */
static const sunrealtype trial_eps = SUN_RCONST(1e-3);

typedef struct {
  CPLog *log;
  Mechanism *b;
  CPModel model; /* of trial: that of the caller, with its data */
  CPMech trial;
  sunrealtype t, extent;
  /* y: the guess; x: the newest state; keep: a copy; probe: workspace; id: as for CPMechCalcIC; weights: for `loose`; start: another guess */
  N_Vector y, x, keep, id, weights, probe, start;
  int *mask; /* [nv] rows of trial */
  char *off; /* [nv] rows that no part of the assembly asks for: those of contacts, but for stops */
  sunrealtype *p, *begin; /* [np] */
  int opposite;           /* a joint that an attempt has closed with opposite axes, or NONE */
  int redundant;     /* number of dependent rows along the motion of loops that have been mended */
  char meeting[220]; /* joints that move in the branches that meet at the start, or "" */
  char coarse[TEXT]; /* loops whose frames would have to be moved by more than rounding, or "" */
  int open; /* the joint that is farthest from closed at the least squares of the loops, or NONE */
  sunrealtype gap[2]; /* of that joint there: [m], [rad] */
} Assembly;

static inline sunrealtype *positionsOf(N_Vector y) { return N_VGetArrayPointer(y); }
static inline sunrealtype *velocitiesOf(const Mechanism *b, N_Vector y) {
  return N_VGetArrayPointer(y) + (sunindextype)b->nbodies * b->space.nq;
}
static inline sunrealtype largestOf(const sunrealtype *x, int n) {
  sunrealtype largest = 0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  return largest;
}
/* A random number in [-1, 1) */
static inline sunrealtype uniform(unsigned *state) {
  *state = 1664525u * *state + 1013904223u; /* (Numerical Recipes) */
  return (sunrealtype)(*state >> 8) / (1 << 23) - 1;
}

/* assembly.c */
/* Writes poses of all bodies into the positions q of absolute coordinates. */
void bodiesPutPoses(const Mechanism *b, const Pose *pose, sunrealtype *q);
/* Appends a line to the notes of the assembly, or "..." if there is no room. */
void bodiesNote(Mechanism *b, const char *line);

/* closing.c */
/* Returns a joint whose axes are opposite to each other at x, where its rows are satisfied, or NONE. */
int bodiesOpposite(Mechanism *b, N_Vector y);
/* The diagonal of the box around all bodies and joints at y. */
sunrealtype bodiesExtent(Mechanism *b, N_Vector y);
/* p <- the position rows at q of b, which is a->b or another form of it; those that are a->off remain */
int bodiesRowsAt(const Assembly *a, Mechanism *b, const sunrealtype *q, sunrealtype *p);
/* p <- the position rows at y, in the present form; 0 for those that are a->off */
int bodiesPositionRows(const Assembly *a, N_Vector y, sunrealtype *p);
/* Returns the joint, coupler or drive whose rows are violated most at the guess. size: out. */
const Joint *bodiesMostOpen(const Assembly *a, sunrealtype *size);
/* Closes positions from x, in place, with the rows in this form. Returns 1 if they are closed, 0 if
 * not, or CP_MEM_FAIL. */
int bodiesCloseRows(Assembly *a, Assembling form, int loosely);
/* Makes all attempts. Returns as bodiesCloseRows; x is the state if it is 1. */
int bodiesAttempt(Assembly *a, int loosely);

/* assembly_stops.c */
/* range: out, those of all coordinates that have rigid stops, which the caller frees; broken: out, one of these stops that x violates and
 * the guess y does not, or NULL. Returns their number, or CP_MEM_FAIL. */
int bodiesStops(const Assembly *a, CPRange **range, const Joint **broken);

/* fitting.c */
/* Closes positions in the coordinates of a spanning tree, from the guess, or from starts that are scattered about it, and
 * sets those of x. Returns as bodiesCloseRows. */
int bodiesCloseTree(Assembly *a, int scattered);
/* Closes them with coordinates in their ranges and frames as near to their targets as they can be; miss: out. The mechanism may also
 * be a tree in joint coordinates without rows; then only model, b, t, y, x, mask and extent of a are used, and id may be NULL. Returns as
 * bodiesCloseRows. */
int bodiesFitWishes(Assembly *a, const CPAssembly *wish, sunrealtype *miss);

/* mending.c */
typedef enum { STRICTLY, LOOSELY, OPEN } Closed;
/* Switches on all rows but those that bodiesWithoutContacts leaves out. */
void bodiesSwitchAll(Assembly *a);
/* x <- q moved along the velocities w by the distance h, and at rest. The largest component of w is 1. */
void bodiesMoveAlong(const Assembly *a, N_Vector q, const sunrealtype *w, sunrealtype h, N_Vector x);
/* Chooses velocities at q at random. Returns 1, or 0 if there are none or the projection fails. */
int bodiesAnyVelocity(const Assembly *a, N_Vector q, unsigned *state, sunrealtype *w);
/* Names in text the joints whose coordinates change, by more than this part of the largest rate, given the rates of the poses. */
void bodiesTellMoving(Mechanism *b, sunrealtype part, char *text, size_t length);
/* The largest violation of a row at a->x, but for those of contacts, as a part of the extent, and of drives, if they are
 * left out; INFINITY if the rows cannot be evaluated. Leaves the mask of these rows. */
sunrealtype bodiesOpenBy(Assembly *a, int drives);
/* Closes a->x but for rows that are narrow: at small angles with others. Off the manifold by a distance, dependent rows are at
 * angles of that size. Returns as bodiesCloseRows. */
int bodiesCloseOthers(Assembly *a, Loops l);
/* The number of rows at a->x at angles below this part of what is narrow, which are switched off, as are drives; or
 * CP_MEM_FAIL. */
int bodiesCountNarrow(Assembly *a, Loops l, sunrealtype part);
/* Moves the frames of all joints back. */
void bodiesResetOffsets(Mechanism *b);
/* Moves the joints' frames of loops that are redundant but for rounding, from x on, which is closed like that. Returns 1 if it has, 0
 * if not, or CP_MEM_FAIL. */
int bodiesMendLoops(Assembly *a, Closed how);
/* a->x is closed, without loops that have been mended. If there is a singular position of its loops next to it, but for rounding, frames move so that there is one, and so
 * are the others along the motion that starts there; a->x moves there, unless it is farther than rounding. As from exact data, the
 * velocities of the guess decide between the branches of motions. Returns 1 if that has been done, 0 if not, or CP_MEM_FAIL. */
int bodiesSettleSingular(Assembly *a);
/* a->x is closed after loops have been mended. If more rows are dependent there than along the motion, branches of motions
 * meet, and an error of the position as small as rounding decides between them: a->meeting names the joints. Returns 0 or
 * CP_MEM_FAIL. */
int bodiesFindMeeting(Assembly *a);
/* x has been closed loosely. Finds rows that cannot be closed together with those of the joints before
 * them, and gives these rows offsets. Returns as bodiesCloseRows. */
int bodiesFitRows(Assembly *a);

/* diagnosis.c */
/* Where rows are dependent at the closed position x0, their rank beside it tells whether it is singular.
 * Points beside it are found along velocities that the rows allow. Sets b->singular. Returns 0 or
 * CP_MEM_FAIL. */
int bodiesFindSingular(Assembly *a, N_Vector x0);
/* Finds drives and couplers that contradict each other or the joints, from x. text [TEXT]: out, which ones,
 * or "". Returns 0 or CP_MEM_FAIL. */
int bodiesFindConflict(Assembly *a, char *text);

#endif
