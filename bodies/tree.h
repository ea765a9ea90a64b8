/* Joint coordinates: a tree whose edges are joints. Its nodes are moved by one joint coordinate each, or by those of a ball
 * joint or a free body; joints with several coordinates are chains of nodes, all but the last one without a body. All
 * other joints are rows, which are evaluated with the poses of the bodies and pulled back by the transpose of
 * J = d(velocities of bodies)/du.
 *
 * The names are those of R. Featherstone, Rigid Body Dynamics Algorithms (2008): S spans the motion subspace of a node, I^A
 * and p^A are its articulated-body inertia and bias force. All vectors are in the axes of space, and each node has its own
 * origin P, a point of its joint, so that S of a hinge is (z, 0), and nothing is lost far from the origin of space. */
#ifndef CPODES_BODIES_TREE_H
#define CPODES_BODIES_TREE_H

#include "bodies_impl.h"
#include "columns.h"

#include <cpodes/cpodes_language.h>

/* The parameters of a body: mass, then moments and products of inertia */
enum { MASS_NUMBERS = 7 };

typedef enum {
  WELD,   /* does not move in its parent */
  HINGE,  /* turns about its z */
  SLIDE,  /* moves along its z */
  SWIVEL, /* turns about its origin: a quaternion, and the angular velocity relative to the parent in its own axes */
  AFLOAT, /* a body in space: as an absolute one, with its centre of mass as the origin */
  CUSTOM  /* moves by functions of its coordinates (custom.c) */
} NodeKind;

/* The motions of a joint by functions, which the description and its models own together (formulas.c) */
enum { MOST_OWN = 6 };
typedef struct {
  int about, of; /* of: a coordinate, or NONE */
  sunrealtype axis[3], ratio, offset;
  const struct Formula_ *f; /* or NULL: ratio times the coordinate */
} JointMotion;
typedef struct Custom_ {
  struct Custom_ *next;
  int nmotions, n; /* n: number of coordinates */
  JointMotion motion[MOST_MOTIONS];
  int angle[MOST_OWN]; /* is it an angle? */
  char name[MOST_OWN][OWN_NAME];
  sunrealtype start[MOST_OWN];
} Custom;
typedef sunrealtype Screw[6]; /* of a motion: (w, v), where v is that of the point at the node's origin */
/* What a run keeps of such a node. z_m = offset + f(x), and s_m spans motion m; all in the axes of space. S: of the coordinates.
 * U = I^A S, and the rows of Y are L^-1 U^T for the factor L of S^T U */
typedef struct {
  const Mechanism *m;                                                       /* whose node it is */
  sunrealtype x[MOST_OWN], u[MOST_OWN], udot[MOST_OWN], z[MOST_MOTIONS][3]; /* z, dz/dx, d^2z/dx^2 */
  Screw s[MOST_MOTIONS], S[MOST_OWN], Y[MOST_OWN];
  sunrealtype L[MOST_OWN][MOST_OWN];
} OwnMotion;

typedef struct {
  NodeKind kind;
  int parent;                  /* GROUND, or a node before this one */
  int last;                    /* the last node of its subtree, which are consecutive */
  int body, joint, coordinate; /* body: NONE within a chain; joint: NONE if the node is afloat */
  int q, u, nq, nu;            /* its coordinates and velocities */
  const Custom *custom;        /* of a joint by functions, and what a run keeps of it; or NULL */
  OwnMotion *own;
  int back; /* 1: its joint leads from its body to that of the parent, so that motions are inverse */
  sunrealtype R[3][3], p[3]; /* at q = 0 in the axes of its parent: its axes, its origin */
  sunrealtype B[3][3], c[3]; /* in its axes: those of its body, and its centre of mass */
  sunrealtype m, h[3],
      I[6]; /* mass, m c, moments and products of inertia about its origin: xx, yy, zz, xy, xz, yz */
  sunrealtype phi, turn; /* in the plane, the angle of its axes: that of its parent + phi + turn q */
} Node;

/* Where nodes are and how they move, in the axes of space; entry 0 is the ground */
typedef struct {
  Padded R[3], P, r;      /* axes, origin, and its distance from that of the parent */
  Padded w, v;            /* velocities of the axes and of the origin */
  Padded cw, cv;          /* what velocities add to the accelerations (kinematics.c) */
  Padded alpha, a;        /* accelerations */
  sunrealtype phi, turns; /* as of a pose */
} Motion;

/* A spring-damper along one coordinate of the tree, without functions: a law as robots have one or two at each joint. With the share of
 * the coordinate, that of the term, x = share q and T = force - k (x - x_0) - d x' acts on its velocity as share T. param: the first
 * one of k, d, x_0; force, inertance: a parameter, or NONE */
typedef struct {
  int term, q, u, param, force, inertance;
} Line;

/* Force F and moment N about the origin */
typedef struct {
  sunrealtype F[3], N[3];
} Wrench;

/* F = M a + G alpha, N = G^T a + J alpha, by columns */
typedef struct {
  Column M[3], G[3], J[3];
} Inertia;

/* What the articulated-body recursion keeps of a node: I^A and p^A = (F, N), U = I^A S, D = 1 / (S^T U) */
typedef struct {
  Inertia I;
  Column F, N;
  sunrealtype U[6], D;
} Articulated;

typedef struct Tree_ {
  int nnodes, nq, nu;
  Node *node; /* [nnodes] */
  int *order; /* [nnodes] of the nodes by their depth: neighbours do not wait for each other in recursions */
  int *node_of_body;     /* [nbodies] */
  int *node_of_velocity; /* [nu] */
  int *last_of_pair;     /* [npairs] the last node of the chain of a joint's pair, or NONE */
  Term *input; /* of all formulas (Formula.first_input); an angle that is a coordinate counts turns */
  int recursive; /* may u' come from the recursion? */
  int nothers;   /* number of all other laws but friction */
  Line *line;    /* [nlines] */
  int *full;     /* [nfull] the laws that are no lines */
  int nlines, nfull;
  int bare;               /* are all rows sums of its coordinates? */
  int first_mass;         /* the first parameter of the bodies */
  size_t nmasses;         /* number of parameters from there to the last one of a body */
  size_t length;          /* of vectors of all bodies' velocities */
  Plan square, rows;      /* of M, K and C, which are sparse or dense; of A, Bq and Bu */
  sunindextype *diagonal; /* [nu] the places of the diagonal in a sparse square, or NULL */

  /* what a run changes */
  sunrealtype *masses; /* [nmasses] the parameters of bodies of which the nodes were made, beginning with NaN at first */
  Motion *motion; /* [nnodes + 1] */
  OwnMotion *own; /* of the nodes that move by functions */
  sunrealtype *x, *sine,
      *cosine; /* [treePadded(nq)] q, and sines and cosines of all of them, whether they are angles or not */
  sunrealtype *known; /* [nq + nu] where poses and motions are, without u', as far as `level` says */
  int level;          /* 0: nowhere, 1: at q, 2: at (q, u) */
  Articulated *articulated;
  Wrench *wrench;                       /* [nnodes] */
  sunrealtype *tau, *armature, *column; /* [nu]; tau is 0 between calls */
  sunrealtype *twist, *force;           /* [length] velocities of bodies, and forces on them */
  sunrealtype *value[NUM_PLANS];        /* matrices of the bodies */
  sunrealtype *size;                    /* [nu] of the terms of entries (pullback.c) */
  struct Delassus_ *delassus; /* of the rows, if u' comes from the recursion and there are some (delassus.c) */
  struct Along_ *along;         /* [nu] of velocities (inverse.c), or NULL */
  struct Composite_ *composite; /* [nnodes] of composite bodies (inverse.c), or NULL */
  struct Response_ *response;   /* [nnodes] of forces on bodies (inverse.c), or NULL */
  struct Forward_ *forward;     /* of the derivatives of u' (forward.c), or NULL */
} Tree;

/* Lengths of vectors whose entries are computed in lanes, with 0 in those that are left over */
enum { TREE_LANES = 8 };
static inline int treePadded(int n) { return (n + TREE_LANES - 1) / TREE_LANES * TREE_LANES; }

/* y = R x, and C = A B, by columns; C must be neither A nor B */
CP_WIDE_PART void rotate3(sunrealtype R[3][3], const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++) y[i] = R[0][i] * x[0] + R[1][i] * x[1] + R[2][i] * x[2];
}
CP_WIDE_PART void rotations3(sunrealtype A[3][3], sunrealtype B[3][3], sunrealtype C[3][3]) {
  for (int j = 0; j < 3; j++) rotate3(A, B[j], C[j]);
}

/* The accelerations of a node that does not move in its parent, and of any node at u' = 0 */
CP_WIDE_PART void treeCarryOn(const Motion *up, Motion *at) {
  Column a, alpha, more, r, swing;
  load3(up->a, &a), load3(up->alpha, &alpha), load3(at->r, &r);
  vector3(&alpha, &r, &swing);
  load3(at->cv, &more), a += swing + more;
  load3(at->cw, &more), alpha += more;
  store4(&a, at->a), store4(&alpha, at->alpha);
}

/* y = R x, from the axes of the node to those of space */
CP_WIDE_PART void nodeToSpace(const Motion *at, const sunrealtype *x, sunrealtype *y) {
  for (int i = 0; i < 3; i++) y[i] = at->R[0][i] * x[0] + at->R[1][i] * x[1] + at->R[2][i] * x[2];
}

/* The coordinate that belongs to a velocity of a node without a quaternion */
static inline int treeCoordinate(const Tree *tree, int k) {
  const Node *node = &tree->node[tree->node_of_velocity[k]];
  return node->q + k - node->u;
}

/* Chooses the edges of a mechanism, whose pairs are known, and ties terms to their velocities. Returns the tree, or NULL if out of memory. */
Tree *treeMake(Mechanism *b);
/* A copy with what a run changes, for the data of a CPMech */
Tree *treeCopy(const Tree *from, const Mechanism *data);
void treeFree(Tree *tree);
/* Frees a copy. */
void treeFreeCopy(Tree *tree);
/* Is this joint an edge? */
int treeHas(const Tree *tree, const Mechanism *b, int joint);
/* The velocity of coordinate k of a joint by functions, or NONE if it is no edge */
int treeVelocityOf(const Mechanism *b, int joint, int k);
/* Makes an angle, if it is a coordinate of the tree where that is, count turns (Term.counts). */
void treeCountTurns(const Mechanism *b, Term *of);
/* The side, 0 or 1, whose body an edge moves, or NONE */
int treeSide(const Tree *tree, const Mechanism *b, int joint);
/* Sets the frames of the nodes, which those of pairs define; their masses follow (treeRefresh). */
void treeSetFrames(const Mechanism *b, Tree *tree);

/* Moves all nodes to (q, u); u may be NULL, for 0. */
void treeMove(const Mechanism *b, Tree *tree, const sunrealtype *q, const sunrealtype *u);
/* Sets the accelerations of all nodes, where that of the ground is -gravity, or 0; udot may be NULL, for 0. */
void treeAccelerate(Tree *tree, const sunrealtype *udot, const sunrealtype *gravity);
/* Moves the nodes and the bodies to (q, u), unless they are there; u NULL: their velocities do not matter. udot: for their
 * accelerations, or NULL, for u' = 0 */
void treePose(Mechanism *b, const sunrealtype *q, const sunrealtype *u, const sunrealtype *udot);
/* tau += S^T w of one node, whose velocities begin at tau */
void treeOnVelocities(const Node *node, const Motion *at, const Wrench *w, sunrealtype *tau);
/* up += a wrench about the origin of a node, about that of its parent */
static inline void treeAddToParent(const Motion *at, const Wrench *w, Wrench *up) {
  sunrealtype lever[3];
  cross3(at->r, w->F, lever);
  add3(1, w->F, up->F);
  add3(1, w->N, up->N), add3(1, lever, up->N);
}
/* momenta [length]: out, those of the bodies, at their poses: of masses, and of inertances between them. p [nu]: out, J^T of these, and the
 * momenta of coordinates that have an inertance, at the rates u */
void treeMomenta(const Mechanism *b, sunrealtype *momenta);
void treePullMomenta(const Mechanism *b, sunrealtype t, const sunrealtype *momenta,
                     const sunrealtype *u, sunrealtype *p);
/* tau [nu] += J^T wrench, for wrenches about the origins of the nodes low ... high, of which all but one, the last one whose
 * parent is before them, are below each other; the others have none. Uses wrench up. */
void treePull(const Tree *tree, int low, int high, Wrench *wrench, sunrealtype *tau);
/* The same for one wrench, about the origin of node n, on the way to a node `end` before it, or the ground */
void treeAlongPath(const Tree *tree, int n, int end, Wrench w, sunrealtype *tau);
/* Velocity k turns, or moves, its subtree about, or along, a; that of a joint by functions turns it about a, and moves it with v. */
typedef struct {
  sunrealtype a[3], v[3];
  int turns, screws;
} Axis;
Axis treeAxis(const Tree *tree, int k);
/* Adds a force F, and a moment in the axes of the body, to the wrench of its node. */
void treeAddWrench(const Mechanism *b, const Tree *tree, int body, const sunrealtype *F,
                   const sunrealtype *moment, Wrench *wrench);
/* q, u: out, the coordinates of the tree at the poses of the bodies; angles are those nearest to q. */
void treeRead(Mechanism *b, const Tree *tree, sunrealtype *q, sunrealtype *u);
/* The masses as they are now */
void treeRefresh(const Mechanism *b, Tree *tree);

/* The articulated-body recursion, in two parts. From the leaves to the root, at accelerations of u' = 0 with the weights, it
 * eliminates all velocities: tau [nu] becomes tau - S^T p^A. armature [nu]; wrench: on the nodes, NULL: none. Nodes must have
 * moved. Returns 0, or 1 + a node whose motion has no inertia. */
int treeEliminate(const Mechanism *b, Tree *tree, sunrealtype *tau, const sunrealtype *armature,
                  const Wrench *wrench);
/* u': out, from the root to the leaves. Returns as treeEliminate. */
int treeOutwards(Tree *tree, const sunrealtype *tau, sunrealtype *udot);
/* Wrenches on node n about its origin become what the eliminated node passes on, about the same point. e, x [count][nu of n]: out,
 * S^T w, which is added to e, and the accelerations that it causes in a parent that stands still */
enum { TREE_LOADS = 4 }; /* at most */
void treeCarry(const Tree *tree, int n, int count, Wrench *w, sunrealtype (*e)[6],
               sunrealtype (*x)[6]);

/* ---- inverse.c ---- */

/* Columns in panels of lanes, as many as a register of x86-64-v3 has: compilers put those of wider types into memory where there are no such
 * registers. Each panel of columns by q is followed by that of the same velocities by u, whose entries are in the same places. */
enum { TREE_PANEL = 4 };
typedef sunrealtype Panel[TREE_PANEL];
/* A row of a panel in a register */
typedef sunrealtype PanelRow
    __attribute__((vector_size(sizeof(Panel)), aligned(sizeof(sunrealtype))));
CP_WIDE_PART void loadPanelRow(const sunrealtype *from, PanelRow *to) {
  memcpy(to, from, sizeof *to);
}
CP_WIDE_PART void storePanelRow(const PanelRow *from, sunrealtype *to) {
  memcpy(to, from, sizeof *from);
}
/* The place of column k by q among the lanes of a row */
static inline sunindextype treeLane(sunindextype k) {
  return k / TREE_PANEL * 2 * TREE_PANEL + k % TREE_PANEL;
}

/* The entries of a square matrix: dense by columns, with n from one to the next; or, where row is not NULL, those of the pattern of the tree,
 * whose entries of the diagonal are listed; or in the lanes of panels, with n from one row to the next */
typedef struct {
  sunrealtype *data;
  int n;
  const sunindextype *row, *diagonal;
  int in_lanes;
} Entries;
/* M without armature, at the positions of the nodes: the entries that may differ from 0. Returns 0, or -1 if out of memory. */
int treeMass(Tree *tree, const Entries *M);
/* The place of entry (i, j) where there is no pattern */
static inline sunindextype treePlace(const Entries *e, int i, int j) {
  return e->in_lanes ? (sunindextype)i * e->n + treeLane(j) : (sunindextype)j * e->n + i;
}
/* The place of entry (i, j), which the pattern must have; at: in, out: a place in column j, where the search begins */
static inline sunindextype treeEntry(const Entries *e, int i, int j, sunindextype *at) {
  if (!e->row) return treePlace(e, i, j);
  while (e->row[*at] < i) ++*at;
  while (e->row[*at] > i) --*at;
  return *at;
}
/* At the positions and velocities of the nodes, K -= dtau/dq, C -= dtau/du for tau = M u' + h with the weights of the bodies, less the wrenches that are applied to the nodes, which
 * tree->force [length] and the matrices of the bodies K and C, all of them at the poses, describe as well; or NULL. Returns 0, or -1
 * if out of memory. */
int treeSubtractDerivatives(const Mechanism *b, const sunrealtype *udot, const Wrench *applied,
                            const Entries *K, const Entries *C);
/* Finds how motions change with each velocity, where the nodes have accelerations. Returns 0, or -1 if out of memory. */
int treeMotions(Tree *tree);
/* by_q, by_u [nu] += the changes of a linear function of a body's motion with the velocities that move node n, up to a node `end`
 * above it: wrenches x [3] about its origin, that do power with its changes of position, velocity and acceleration as it turns
 * with the velocity */
void treeAlongMotions(const Tree *tree, int n, int end, Wrench *x, sunrealtype *by_q,
                      sunrealtype *by_u);

/* ---- custom.c ---- */

/* Moves a node by functions of x at the rates u; at: in, its axes at x = 0 in those of space. */
void customMove(const Motion *up, const sunrealtype *x, const sunrealtype *u, Node *node,
                Motion *at);
/* Adds S u' to the accelerations of a node; udot: or NULL, for 0. */
void customAccelerate(const Node *node, const sunrealtype *udot, Motion *at);
/* x, u: in, a guess; out, those at which the node is nearest to the pose of its body relative to its parent's */
void customRead(const Mechanism *b, const Node *node, const Pose *parent, const Pose *body,
                sunrealtype *x, sunrealtype *u);
/* tau [n] += S^T w, and accelerations (a, alpha) += S x */
void customOnVelocities(const Node *node, const Wrench *w, sunrealtype *tau);
/* The parts of the recursion (articulated.c). They return 0, or 1 if S^T I^A S is not definite. */
int customEliminate(const Node *node, const sunrealtype *armature, sunrealtype *tau,
                    Articulated *own);
void customOutwards(const Node *node, const sunrealtype *tau, Motion *at, sunrealtype *x);
void customCarry(const Node *node, Wrench *w, const sunrealtype *e, sunrealtype *x);
/* The changes with coordinate k, beyond those by a rotation of the whole, of the velocity and of the acceleration relative to the parent:
 * dV and dA; and the rate of S_k in the axes of the parent, dS */
void customChange(const Node *node, int k, sunrealtype *dV, sunrealtype *dA, sunrealtype *dS);
/* The change of S_j with coordinate k beyond that by a rotation */
void customChangeOf(const Node *node, int k, int j, sunrealtype *d);
/* bend [3]: out, the first three derivatives of the function of a term that is one of a joint's own coordinates. Returns 0 if it is
 * no such term. */
int treeOwnBend(const Mechanism *b, const Term *term, sunrealtype *bend);
/* Removes from a wrench about the origin of the node what acts on its coordinates. */
void customConstrain(const Node *node, Wrench *w);

/* ---- delassus.c ---- */

/* Returns the operator, or NULL if out of memory. */
struct Delassus_ *treeDelassus(const Mechanism *b);
void treeFreeDelassus(struct Delassus_ *d);
/* Takes the rows with off [na] = 0, a CPMechRowsFn; 1: they are too many, or there is no memory. */
int treeUseRows(const char *off, void *bodies);
/* Where b [na] of the rows is put for treeCloseLoops, or NULL if none is on */
sunrealtype *treeTargets(const Tree *tree);
/* The same for a panel of right-hand sides e [nu][stride], and b [na][stride] of the rows, with the factors of the newest treeCloseLoops.
 * Rows that depend on others have no multipliers. */
void treeCloseColumns(const Tree *tree, int stride, Panel *e, Panel *b);
/* tau [nu], as treeEliminate leaves it, loses the reactions of the rows; lambda [na]: out. Returns 0, or 1 if the rank of the
 * rows is not clear or they contradict each other. */
int treeCloseLoops(const Mechanism *b, sunrealtype *tau, sunrealtype *lambda);

/* ---- forward.c ---- */

/* The partial derivatives of treeAccelerations, a CPMechAccelerationJacFn */
int treeAccelerationsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz,
                         void *bodies);
void treeFreeForward(struct Forward_ *f);

/* ---- pullback.c ---- */

/* g [nu] += the gradient of component i of a row with respect to the velocities of the tree, at the poses of the bodies */
void treeGradient(const Mechanism *b, const Row *row, int i, sunrealtype *g);

/* by_q, by_u [nu] += scale times the derivatives of a function of the motions of the bodies of a pair, whose own with respect to positions,
 * velocities and accelerations are acc_q, acc_u and g of the jet. treeMotions precedes it. */
void treeAddSlopes(const Mechanism *b, const Pair *pair, const Jet *jet, sunrealtype scale,
                   sunrealtype *by_q, sunrealtype *by_u);

/* q, u: out, the coordinates at the placement; q: in, angles near which they are to be. Returns 0, or -1 if out of memory. */
int treeStart(Mechanism *b, sunrealtype *q, sunrealtype *u);
/* Does the model have matrices, which it needs unless there are neither rows nor inertances between bodies? */
int treeHasMatrices(const Mechanism *b);
/* Does u' come from the recursion, with the Delassus operator if there are rows? */
int treeIsRecursive(const Mechanism *b);
/* Makes the patterns of the matrices, from those of the bodies. Returns 0, or -1 if out of memory. */
int treeMakePlans(Mechanism *b, SUNContext ctx);
/* The reaction of an edge on body b of its joint, F [3] and T [3] about P_b, where the poses have the accelerations of the motion.
 * Returns what a user's function returned. */
int treeReaction(Mechanism *b, sunrealtype t, const sunrealtype *lambda, int joint, sunrealtype *F,
                 sunrealtype *T);
void treeTakeFunctions(const Mechanism *b, CPEquations *e);
/* Adds the functions dynamics_jac and constraint_jac of the model, the latter to the entries of the pattern `rows`. They return as
 * these. The nodes must have moved to (q, u). */
int treeDifferentiate(Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                      const Entries *K, const Entries *C, SUNMatrix Fz);
int treeDifferentiateRows(Mechanism *b, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, sunrealtype *Bq, sunrealtype *Bu);
/* The node of a side's body, or GROUND */
int treeNodeOf(const Tree *tree, const Pair *pair, int side);
/* The last node that moves both nodes, or GROUND; either may be GROUND. */
static inline int treeJoin(const Tree *tree, int n, int other) {
  if (other == GROUND) return GROUND;
  while (n != GROUND && (n > other || tree->node[n].last < other)) n = tree->node[n].parent;
  return n;
}
/* tau [nu] += scale J^T g along the velocities below `common`, for a gradient g [LOCAL] of a function of the motions of a pair */
void treeAddGradient(const Mechanism *b, const Pair *pair, int common, Mask mask,
                     const sunrealtype *g, sunrealtype scale, sunrealtype *tau);
/* u' by the recursion; lambda [na]: out. Returns 1 where the KKT system must decide (delassus.c). */
int treeAccelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda, void *bodies);
int treeMassMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *bodies);

#endif
