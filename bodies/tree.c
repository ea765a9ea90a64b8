/* The choice of the edges, and the frames of the nodes.
 *
 * Edges are chosen greedily (R. C. Prim, Bell System Tech. J. 36, 1957): of all joints between the tree and the other
 * bodies that which leaves the fewest freedoms, so that the fewest rows are left; of equal ones that which is nearest to
 * the root, and of these the first one. Bodies without mass are passed at once, so that the tree hangs others on them. Where
 * no joint leads on, the first body that is left is afloat. Joints with friction remain rows, since their forces depend on
 * multipliers.
 *
 * Along a joint from a to b the frame of side a becomes that of side b by motions about or along one axis each:
 *
 *   revolute Z(x);  prismatic T_z(x);  cylindrical T_z(x_0) Z(x_1);  planar T_x(x_0) T_y(x_1) Z(x_2);
 *   universal Z(x_0) W Z(x_1), where W has the columns z, -y, x and is its own inverse.
 *
 * If b is nearer to the root, the inverse motions follow in reverse order. Each motion is one about or along z in the axes
 * E, M = E Z(x) E^T, and an inverse one is the same motion with y and z turned round. */
#include "tree.h"

#include "formulas.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 3 };
typedef struct {
  NodeKind kind;
  int axis; /* 0, 1, 2: x, y, z of the frame of side a */
} Step;
typedef struct {
  int freedoms, nsteps;
  Step step[MOST];
} EdgeKind;

/* The steps of a joint, in the order of its coordinates. Returns NULL if it cannot be an edge. */
static const EdgeKind *edgeOf(const Mechanism *b, int joint) {
  static const EdgeKind kinds[] = {[CP_JOINT_BALL]        = {3, 1, {{SWIVEL, 2}}},
                                   [CP_JOINT_REVOLUTE]    = {1, 1, {{HINGE, 2}}},
                                   [CP_JOINT_UNIVERSAL]   = {2, 2, {{HINGE, 2}, {HINGE, 2}}},
                                   [CP_JOINT_CYLINDRICAL] = {2, 2, {{SLIDE, 2}, {HINGE, 2}}},
                                   [CP_JOINT_PRISMATIC]   = {1, 1, {{SLIDE, 2}}},
                                   [CP_JOINT_PLANAR] = {3, 3, {{SLIDE, 0}, {SLIDE, 1}, {HINGE, 2}}},
                                   [CP_JOINT_FIXED]  = {0, 1, {{WELD, 2}}}};
  static const EdgeKind custom  = {0, 1, {{CUSTOM, 2}}};
  const int kind                = b->joint[joint].kind;
  if (kind == CP_JOINT_CUSTOM) return &custom;
  return kind >= 0 && kind <= CP_JOINT_FIXED && !b->joint[joint].switched ? &kinds[kind] : NULL;
}

/* ------------------------------------------------------------------------------- the choice -- */

enum { LEVELS = 4 }; /* numbers of freedoms that edges leave */

/* The joints at each body, and at the ground, at [nbodies] */
typedef struct {
  int *first, *next; /* first [nbodies + 1], next [2 njoints]: entries 2 joint + side */
} Incidence;

static int placeOf(const Mechanism *b, int body) { return body == GROUND ? b->nbodies : body; }

typedef struct {
  int *queue[LEVELS], head[LEVELS], tail[LEVELS];
} Queues;

static int hasMass(const Mechanism *b, int body) {
  return body == GROUND || b->param[b->body[body].param] > 0;
}

/* Puts all joints of a body, which the tree has reached, into the queues of their freedoms, or first, if they lead to a body
 * without mass or away from it. */
static void reach(const Mechanism *b, const Incidence *at, const char *rough, int body, Queues *q) {
  for (int e = at->first[placeOf(b, body)]; e >= 0; e = at->next[e]) {
    const EdgeKind *edge = rough[e / 2] ? NULL : edgeOf(b, e / 2);
    const int to         = b->pair[b->joint[e / 2].pair].side[!(e % 2)].body,
              k          = !edge                                ? NONE
                           : hasMass(b, body) && hasMass(b, to) ? edge->freedoms
                                                                : 0;
    if (k != NONE) q->queue[k][q->tail[k]++] = e;
  }
}

/* The first body that the tree has not reached from which a joint by functions leads to `body`, or on the way to it; or body. A joint
 * by functions should move its side b. */
static int firstOf(const Mechanism *b, const char *reached, int body) {
  for (int step = 0, i = 0; i < b->njoints && step < b->nbodies; i++) {
    const Pair *pair = &b->pair[b->joint[i].pair];
    const int from   = pair->side[0].body;
    if (b->joint[i].kind != CP_JOINT_CUSTOM || pair->side[1].body != body || from == GROUND ||
        reached[from])
      continue;
    body = from, i = -1, step++;
  }
  return body;
}

/* edge: out, [nbodies] 2 joint + side of the joint that leads to a body, where `side` is its parent's, or NONE; order: out,
 * [nbodies] parents before children. Returns 0, or 1 if out of memory. */
static int choose(const Mechanism *b, int *edge, int *order) {
  const int n = b->nbodies, nj = b->njoints;
  int *memory = calloc((size_t)n + 1 + 2 * (size_t)nj * (1 + LEVELS), sizeof *memory);
  char *rough = calloc((size_t)nj + 1, 1), *reached = calloc((size_t)n + 1, 1);
  const int failed = !memory || !rough || !reached;
  if (!failed) {
    const Incidence at = {memory, memory + n + 1};
    Queues q           = {{0}, {0}, {0}};
    int count = 0, next = 0;
    for (int k = 0; k < LEVELS; k++) q.queue[k] = memory + n + 1 + 2 * nj * (1 + k);
    for (int i = 0; i < b->nlaws; i++)
      if (b->law[i].kind == FRICTION) rough[b->law[i].joint] = 1;
    for (int i = 0; i < b->ncontacts; i++)
      if (b->contact[i].load != NONE) rough[b->contact[i].load] = 1;
    for (int i = 0; i <= n; i++) at.first[i] = NONE;
    for (int e = 2 * nj - 1; e >= 0; e--) { /* the first joints come first */
      const int i = placeOf(b, b->pair[b->joint[e / 2].pair].side[e % 2].body);
      at.next[e]  = at.first[i];
      at.first[i] = e;
    }
    reach(b, &at, rough, GROUND, &q);
    while (count < n) {
      int level = 0, body = NONE, from = NONE;
      while (level < LEVELS && q.head[level] == q.tail[level]) level++;
      if (level < LEVELS) {
        from = q.queue[level][q.head[level]++];
        body = b->pair[b->joint[from / 2].pair].side[!(from % 2)].body;
        if (body == GROUND || reached[body]) continue;
      } else {
        while (reached[next]) next++;
        body = firstOf(b, reached, next);
      }
      reached[body]  = 1;
      edge[body]     = from;
      order[count++] = body;
      reach(b, &at, rough, body, &q);
    }
  }
  free(memory);
  free(rough);
  free(reached);
  return failed;
}

/* ---------------------------------------------------------------------------------- nodes -- */

static int widthOf(NodeKind kind, int of_q) {
  return kind == WELD ? 0 : kind == SWIVEL ? 3 + of_q : kind == AFLOAT ? 6 + of_q : 1;
}

/* Adds the nodes that lead to a body. */
static void addNodes(const Mechanism *b, Tree *tree, int body, int from) {
  static const EdgeKind free_plane = {3, 3, {{SLIDE, 0}, {SLIDE, 1}, {HINGE, 2}}},
                        free_space = {6, 1, {{AFLOAT, 2}}};
  const EdgeKind *edge             = from != NONE              ? edgeOf(b, from / 2)
                                     : b->space.dimension == 2 ? &free_plane
                                                               : &free_space;
  const int joint = from == NONE ? NONE : from / 2, back = from == NONE ? 0 : from % 2;
  int parent = from == NONE ? GROUND : b->pair[b->joint[joint].pair].side[back].body;
  if (parent != GROUND) parent = tree->node_of_body[parent];
  for (int k = 0; k < edge->nsteps; k++) {
    const int step = back ? edge->nsteps - 1 - k : k;
    Node *node     = &tree->node[tree->nnodes];
    *node          = (Node){.kind       = edge->step[step].kind,
                            .parent     = parent,
                            .last       = tree->nnodes,
                            .body       = k + 1 < edge->nsteps ? NONE : body,
                            .joint      = joint,
                            .coordinate = step,
                            .back       = back,
                            .q          = tree->nq,
                            .u          = tree->nu,
                            .nq         = widthOf(edge->step[step].kind, 1),
                            .nu         = widthOf(edge->step[step].kind, 0)};
    if (node->kind == CUSTOM) {
      node->custom = b->joint[joint].custom;
      node->nq = node->nu = node->custom->n;
    }
    tree->nq += node->nq;
    tree->nu += node->nu;
    parent = tree->nnodes++;
  }
  tree->node_of_body[body] = parent;
}

/* Sorts the nodes by their depth. Returns 0, or 1 if out of memory. */
static int orderByDepth(Tree *tree) {
  const int n = tree->nnodes;
  int *depth = calloc(2 * (size_t)n + 1, sizeof *depth), *start = depth + n;
  tree->order = malloc(((size_t)n + 1) * sizeof *tree->order);
  if (!depth || !tree->order) {
    free(depth);
    return 1;
  }
  for (int i = 0; i < n; i++) {
    const int parent = tree->node[i].parent;
    depth[i]         = parent == GROUND ? 0 : depth[parent] + 1;
    if (depth[i] + 1 < n) start[depth[i] + 1]++;
  }
  for (int k = 1; k < n; k++) start[k] += start[k - 1];
  for (int i = 0; i < n; i++) tree->order[start[depth[i]]++] = i;
  free(depth);
  return 0;
}

/* Numbers the bodies so that each subtree is consecutive, and adds their nodes. Returns 0, or 1 if out of memory. */
static int addAll(const Mechanism *b, Tree *tree, const int *edge, const int *order) {
  const int n = b->nbodies;
  int *child = calloc(3 * (size_t)n + 1, sizeof *child), *sibling, *stack, depth = 0;
  if (!child) return 1;
  sibling = child + n + 1, stack = sibling + n; /* child [n + 1]: of the ground at n */
  for (int i = 0; i <= n; i++) child[i] = NONE;
  for (int k = n - 1; k >= 0;
       k--) { /* so that children come in the order in which they were reached */
    const int body = order[k], from = edge[body];
    const int parent =
        placeOf(b, from == NONE ? GROUND : b->pair[b->joint[from / 2].pair].side[from % 2].body);
    sibling[body] = child[parent];
    child[parent] = body;
  }
  for (int body = child[n]; body != NONE || depth > 0;) {
    if (body == NONE) {
      body = sibling[stack[--depth]];
      continue;
    }
    addNodes(b, tree, body, edge[body]);
    stack[depth++] = body;
    body           = child[body];
  }
  for (int i = tree->nnodes - 1; i >= 0; i--) {
    const int parent = tree->node[i].parent;
    if (parent >= 0 && tree->node[parent].last < tree->node[i].last)
      tree->node[parent].last = tree->node[i].last;
  }
  free(child);
  return orderByDepth(tree);
}

/* Finds the velocity to whose coordinate a term is tied. */
static void tie(const Mechanism *b, const Tree *tree, Term *of) {
  of->velocity = NONE;
  for (int n = tree->last_of_pair[of->pair]; n >= 0; n = tree->node[n].parent) {
    const Node *node = &tree->node[n];
    Term term;
    if (node->joint == NONE || b->joint[node->joint].pair != of->pair) break;
    if (node->kind == CUSTOM && of->m.kind == OWN) /* The measure is the coordinate itself. */
      of->velocity = node->u + of->m.i, of->coordinate = node->q + of->m.i, of->sign = 1;
    if (bodiesCoordinateTerm(b, node->joint, node->coordinate, &term)) break;
    if (of->m.kind == term.m.kind && of->m.from == term.m.from && of->m.i == term.m.i &&
        of->m.j == term.m.j)
      of->velocity = node->u, of->coordinate = node->q, of->sign = term.coef;
  }
}

static void countTurns(const Mechanism *b, const Tree *tree, Term *of) {
  of->counts = 0;
  if (of->m.kind != ANGLE) return;
  tie(b, tree, of);
  of->counts = of->velocity != NONE;
}

void treeCountTurns(const Mechanism *b, Term *of) {
  if (b->tree) countTurns(b, b->tree, of);
}

/* Ties the inputs of all formulas. Returns 0, or 1 if out of memory. */
static int findInputs(const Mechanism *b, Tree *tree) {
  const Formula *newest = bodiesFirstFormula(b);
  const int count       = newest ? newest->first_input + newest->ninputs : 0;
  tree->input           = malloc(((size_t)count + 1) * sizeof *tree->input);
  for (const Formula *f = newest; f && tree->input; f = f->next)
    for (int i = 0; i < f->ninputs; i++) {
      Term *of = &tree->input[f->first_input + i];
      *of      = f->input[i].term;
      countTurns(b, tree, of);
    }
  return !tree->input;
}

/* Lists the laws on one coordinate of the tree, and the others. Returns 0, or 1 if out of memory. */
static int listLaws(const Mechanism *b, Tree *tree) {
  tree->line = malloc(((size_t)b->nlaws + 1) * sizeof *tree->line);
  tree->full = malloc(((size_t)b->nlaws + 1) * sizeof *tree->full);
  if (!tree->line || !tree->full) return 1;
  for (int i = 0; i < b->nlaws; i++) {
    const Law *law   = &b->law[i];
    const Term *term = bodiesLawTerm(b, law, 0);
    if (law->kind == SPRING && law->on_tree && law->nterms == 1 && !law->law && !law->formula)
      tree->line[tree->nlines++] = (Line){law->term,  term->coordinate, term->velocity,
                                          law->param, law->force,       law->inertance};
    else tree->full[tree->nfull++] = i;
  }
  return 0;
}

/* Ties the terms of laws and rows, and lists the laws. Returns 0, or 1 if out of memory. */
static int findTerms(Mechanism *b, Tree *tree) {
  int *last = tree->last_of_pair = malloc(((size_t)b->npairs + 1) * sizeof *last);
  if (!last) return 1;
  for (int i = 0; i < b->npairs; i++) last[i] = NONE;
  for (int n = 0; n < tree->nnodes; n++)
    if (tree->node[n].joint != NONE) last[b->joint[tree->node[n].joint].pair] = n;
  tree->recursive = tree->bare = 1;
  for (int i = 0; i < b->nlaws; i++) {
    Law *law = &b->law[i];
    /* A force that depends on other bodies is one on bodies, and the inertance of a sum is no armature. */
    law->on_tree = law->kind != FRICTION && !(law->formula && law->formula->ninputs > 0) &&
                   (law->inertance == NONE || law->nterms == 1);
    for (int k = 0; k < law->nterms; k++) {
      Term *of = bodiesLawTerm(b, law, k);
      tie(b, tree, of);
      of->counts = of->velocity != NONE && (law->nterms > 1 || of->f || of->coef != of->sign);
      law->on_tree &= of->velocity != NONE && !of->f && (of->m.kind != OWN || law->nterms == 1);
    }
    if (law->inertance != NONE && !law->on_tree) tree->recursive = 0;
    if (law->kind != FRICTION && !law->on_tree) tree->nothers++;
  }
  for (int i = 0; i < b->nrows + b->nrolls; i++) {
    Row *row = bodiesRow(b, i);
    int bent = 0;
    for (int k = 0; k < row->nterms; k++) bent |= bodiesRowTerm(b, row, k)->f != NULL;
    for (int k = 0; k < row->nterms; k++) {
      Term *of = bodiesRowTerm(b, row, k);
      tie(b, tree, of);
      of->counts = bent && of->velocity != NONE;
      tree->bare &= of->velocity != NONE && !bent;
    }
  }
  return findInputs(b, tree) || listLaws(b, tree);
}

/* Finds the parameters of bodies, from the first one of the first body to the last one of the last, whatever is between. */
static void findMasses(const Mechanism *b, Tree *tree) {
  int end          = 0;
  tree->first_mass = b->nparams;
  for (int i = 0; i < b->nbodies; i++) {
    const int first = b->body[i].param;
    if (first < tree->first_mass) tree->first_mass = first;
    if (first + MASS_NUMBERS > end) end = first + MASS_NUMBERS;
  }
  tree->nmasses = end > tree->first_mass ? (size_t)(end - tree->first_mass) : 0;
}

static int makeRunning(const Mechanism *b, Tree *tree) {
  const size_t nn = (size_t)tree->nnodes, nu = (size_t)tree->nu, nx = (size_t)treePadded(tree->nq);
  sunrealtype *free_ = calloc(
      tree->nmasses + 2 * tree->length + 3 * nx + (size_t)tree->nq + 5 * nu + 1, sizeof *free_);
  for (int i = 0; i < NUM_PLANS; i++) tree->value[i] = NULL;
  tree->delassus    = NULL;
  tree->along       = NULL;
  tree->composite   = NULL;
  tree->response    = NULL;
  tree->forward     = NULL;
  tree->masses      = free_;
  tree->motion      = calloc(nn + 1, sizeof *tree->motion);
  tree->articulated = calloc(nn + 1, sizeof *tree->articulated);
  tree->wrench      = calloc(nn + 1, sizeof *tree->wrench);
  size_t customs    = 0;
  for (int n = 0; n < tree->nnodes; n++) customs += tree->node[n].kind == CUSTOM;
  tree->own = calloc(customs + 1, sizeof *tree->own);
  if (!free_ || !tree->motion || !tree->articulated || !tree->wrench || !tree->own) return 1;
  for (int n = 0, next = 0; n < tree->nnodes; n++) {
    if (tree->node[n].kind != CUSTOM) continue;
    tree->node[n].own    = &tree->own[next++];
    tree->node[n].own->m = b;
  }
  free_ += tree->nmasses;
  sunrealtype **of_bodies[] = {&tree->twist, &tree->force},
              **of_nodes[]  = {&tree->tau, &tree->armature, &tree->column, &tree->size},
              **of_turns[]  = {&tree->x, &tree->sine, &tree->cosine};
  for (int i = 0; i < 2; i++) *of_bodies[i] = free_, free_ += tree->length;
  for (int i = 0; i < 4; i++) *of_nodes[i] = free_, free_ += nu;
  for (int i = 0; i < 3; i++) *of_turns[i] = free_, free_ += nx;
  tree->known     = free_, free_ += tree->nq + tree->nu;
  tree->level     = 0;
  tree->masses[0] = NAN;
  for (int k = 0; k < 3; k++) tree->motion[0].R[k][k] = 1;
  return 0;
}

static void freeRunning(Tree *tree) {
  treeFreeDelassus(tree->delassus);
  treeFreeForward(tree->forward);
  free(tree->masses);
  free(tree->motion);
  free(tree->articulated);
  free(tree->along);
  free(tree->composite);
  free(tree->response);
  free(tree->wrench);
  free(tree->own);
  for (int i = 0; i < NUM_PLANS; i++) free(tree->value[i]);
  free(tree->node);
}

Tree *treeMake(Mechanism *b) {
  Tree *tree     = calloc(1, sizeof *tree);
  const size_t n = (size_t)b->nbodies;
  int *edge = malloc((2 * n + 1) * sizeof *edge), failed = !tree || !edge;
  if (!failed) {
    tree->node         = calloc(MOST * n + 1, sizeof *tree->node);
    tree->node_of_body = malloc((n + 1) * sizeof *tree->node_of_body);
    failed             = !tree->node || !tree->node_of_body;
  }
  failed = failed || choose(b, edge, edge + n) || addAll(b, tree, edge, edge + n);
  if (!failed) {
    findMasses(b, tree);
    tree->length           = (size_t)b->nbodies * (size_t)b->space.nu;
    tree->node_of_velocity = malloc(((size_t)tree->nu + 1) * sizeof *tree->node_of_velocity);
    failed                 = !tree->node_of_velocity || makeRunning(b, tree);
  }
  if (!failed) {
    for (int i = 0; i < tree->nnodes; i++)
      for (int k = 0; k < tree->node[i].nu; k++) tree->node_of_velocity[tree->node[i].u + k] = i;
    failed = findTerms(b, tree);
    treeSetFrames(b, tree);
  }
  free(edge);
  if (failed) treeFree(tree), tree = NULL;
  return tree;
}

Tree *treeCopy(const Tree *from, const Mechanism *data) {
  Tree *tree = malloc(sizeof *tree);
  if (!tree) return NULL;
  *tree      = *from;
  tree->node = malloc((size_t)tree->nnodes * sizeof *tree->node);
  if (!tree->node) {
    free(tree);
    return NULL;
  }
  memcpy(tree->node, from->node, (size_t)tree->nnodes * sizeof *tree->node);
  if (makeRunning(data, tree)) {
    freeRunning(tree);
    free(tree);
    return NULL;
  }
  return tree;
}

void treeFreeCopy(Tree *tree) {
  if (tree) freeRunning(tree);
  free(tree);
}

void treeFree(Tree *tree) {
  if (!tree) return;
  free(tree->node_of_body);
  free(tree->node_of_velocity);
  free(tree->order);
  free(tree->input);
  free(tree->line);
  free(tree->full);
  free(tree->last_of_pair);
  if (tree->square.tmpl) SUNMatDestroy(tree->square.tmpl);
  if (tree->rows.tmpl) SUNMatDestroy(tree->rows.tmpl);
  free(tree->square.place);
  free(tree->diagonal);
  free(tree->rows.place);
  treeFreeCopy(tree);
}

int treeSide(const Tree *tree, const Mechanism *b, int joint) {
  const Pair *pair = &b->pair[b->joint[joint].pair];
  for (int side = 0; side < 2; side++) {
    const int body = pair->side[side].body;
    if (body != GROUND && tree->node[tree->node_of_body[body]].joint == joint) return side;
  }
  return NONE;
}

int treeVelocityOf(const Mechanism *b, int joint, int k) {
  const int n = b->tree->last_of_pair[b->joint[joint].pair];
  return n == NONE ? NONE : b->tree->node[n].u + k;
}

int treeHas(const Tree *tree, const Mechanism *b, int joint) {
  return treeSide(tree, b, joint) != NONE;
}

/* --------------------------------------------------------------------------------- frames -- */

static void transpose(sunrealtype A[3][3], sunrealtype T[3][3]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) T[j][i] = A[i][j];
}

/* E: out, right-handed axes whose z is an axis of the frame, turned round if back */
static void axesOf(int axis, int back, sunrealtype E[3][3]) {
  const sunrealtype sign = back ? -1 : 1;
  memset(E, 0, 9 * sizeof(sunrealtype));
  E[0][(axis + 1) % 3] = 1;
  E[1][(axis + 2) % 3] = sign;
  E[2][axis]           = sign;
}

/* Sets the frames of the nodes that lead to the body of node `last`, from the first one of its chain on. */
static void setChain(const Mechanism *b, Tree *tree, int first, int last) {
  static sunrealtype unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                     swap[3][3] = {{0, 0, 1}, {0, -1, 0}, {1, 0, 0}};
  const Node *up = tree->node[first].parent == GROUND ? NULL : &tree->node[tree->node[first].parent];
  const int joint = tree->node[first].joint, back = tree->node[first].back;
  const Side origin = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const Pair *pair  = joint == NONE ? NULL : &b->pair[b->joint[joint].pair];
  Side from = pair ? pair->side[back] : origin, to = pair ? pair->side[!back] : origin;
  sunrealtype frame[3][3], point[3], rest[3][3], E[3][3], T[3][3];
  Pose parent = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  if (up) { /* the body in the axes of its node */
    memcpy(parent.axis, up->B, sizeof up->B);
    memcpy(parent.r, up->c, sizeof up->c);
  }
  rotations3(parent.axis, from.axis, frame);
  toSpace(&parent, from.point, point);
  add3(1, parent.r, point);
  for (int n = first; n <= last; n++) {
    Node *node           = &tree->node[n];
    const EdgeKind *edge = joint == NONE ? NULL : edgeOf(b, joint);
    const int axis       = edge                  ? edge->step[node->coordinate].axis
                           : node->kind == SLIDE ? node->coordinate
                                                 : 2;
    axesOf(axis, back && edge->freedoms > 0 && node->kind != SWIVEL && node->kind != CUSTOM, E);
    if (n > first && joint != NONE && b->joint[joint].kind == CP_JOINT_UNIVERSAL)
      memcpy(T, frame, sizeof T), rotations3(T, swap, frame);
    if (node->kind == SWIVEL || node->kind == AFLOAT) {
      /* Its axes are those of the body, in those of the parent's body. */
      memcpy(node->R, parent.axis, sizeof node->R);
      memcpy(node->B, unit, sizeof unit);
      memcpy(node->p, point, sizeof point);
      for (int k = 0; k < 3; k++) node->c[k] = -to.point[k];
      continue;
    }
    rotations3(frame, E, node->R);
    memcpy(node->p, point, sizeof point);
    point[0] = point[1] = point[2] = 0;
    transpose(E, rest);
    memcpy(frame, rest, sizeof frame); /* the frame after the motion, in the axes of the node */
    if (n < last) continue;
    transpose(to.axis, T);
    rotations3(frame, T, node->B); /* the body in the axes of the node */
    for (int k = 0; k < 3; k++) node->c[k] = 0;
    for (int k = 0; k < 3; k++) add3(-to.point[k], node->B[k], node->c);
  }
}

/* In the plane the angle of a body is that of the measures: sign (phi_b - phi_a) + constant = x. */
static void setAngles(const Mechanism *b, Tree *tree, int n) {
  Node *node = &tree->node[n];
  node->phi = node->turn = 0;
  if (b->space.dimension != 2) return;
  if (node->joint == NONE) {
    node->turn = node->kind == HINGE;
    return;
  }
  const Pair *pair       = &b->pair[b->joint[node->joint].pair];
  const Measure angle    = {ANGLE, 0, 0, 0};
  const sunrealtype sign = node->back ? -1 : 1;
  Jet jet;
  bodiesJet(&b->space, b->param, pair, &angle, &bodies_ground, &bodies_ground, VALUES, &jet);
  node->phi  = -sign * jet.s; /* x = sign (phi - phi of the parent) + jet.s */
  node->turn = node->kind == HINGE ? sign : 0;
}

void treeSetFrames(const Mechanism *b, Tree *tree) {
  for (int n = 0; n < tree->nnodes; n++) {
    int last = n;
    while (tree->node[last].body == NONE) last++;
    setChain(b, tree, n, last);
    for (; n < last; n++) setAngles(b, tree, n);
    setAngles(b, tree, n);
  }
  tree->masses[0] = NAN;
  tree->level     = 0;
}

/* The node's mass, and its moments about its origin, from those about the centre of mass in the axes of the body */
static void setMass(Node *node, const sunrealtype *mass, int full) {
  static const int at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  const sunrealtype *J = mass + 1, *c = node->c;
  node->m = mass[0];
  for (int i = 0; i < 3; i++) node->h[i] = mass[0] * c[i];
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 3; j++) {
      sunrealtype sum = 0;
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++)
          if (k == l || full) sum += node->B[k][i] * J[at[k][l]] * node->B[l][j];
      node->I[at[i][j]] = sum + mass[0] * ((i == j) * dot3(c, c) - c[i] * c[j]);
    }
}

/* Parameters belong to the user, who may change them at any time: one comparison of all those of bodies, which are neighbours, costs less
 * than one for each. */
void treeRefresh(const Mechanism *b, Tree *tree) {
  const sunrealtype *now = b->param + tree->first_mass;
  if (!memcmp(tree->masses, now, tree->nmasses * sizeof *now)) return;
  for (int i = 0; i < b->nbodies; i++)
    setMass(&tree->node[tree->node_of_body[i]], b->param + b->body[i].param, b->body[i].full);
  memcpy(tree->masses, now, tree->nmasses * sizeof *now);
}
