/* Positions in the coordinates of a spanning tree, by least squares.
 *
 * Forward kinematics closes the joints of the tree, whatever its coordinates are, so that only the rows of the other joints,
 * of couplers and of drives are left. A drive of one coordinate of the tree sets it. The other coordinates x make the sum of
 * squares |r(x)|^2 of these rows least, where rows that align axes are rotation vectors (bodiesTilt), by the method of Levenberg
 * and Marquardt:
 *
 *   (J^T J + mu D) dx = -J^T r,   J = dr/dx,   D = the largest diagonal of J^T J so far
 *
 * (J. J. More, Lecture Notes in Mathematics 630, 1978, for D; K. Madsen, H. B. Nielsen and O. Tingleff, Methods for Non-Linear Least
 * Squares Problems, 2004, for mu). Bodies that are held are rows as well. Targets of frames are rows with a small weight at
 * first, and left out at the end, so that joints are closed. Coordinates of the tree stay within their limits: those at a limit
 * that the gradient would leave rest in a step. */
#include "assembly_impl.h"
#include "tree.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Larger problems are left to the sparse iteration: the cost grows with the third power. */
enum { MOST_UNKNOWNS = 400, MOST_STEPS = 200 };
/* Rows are closed up to this part of the extent, from where Newton's iteration takes over. */
static const sunrealtype closed_enough = SUN_RCONST(1e-7);
/* Where coordinates are given, it is to leave them as they are. */
static const sunrealtype closed_exactly = SUN_RCONST(1e-14), closed_nearly = SUN_RCONST(1e-10),
                         soft = SUN_RCONST(1e-4);

typedef struct {
  const Assembly *a;
  Mechanism b;             /* that of the assembly, with a tree and poses of its own */
  const CPAssembly *wish;  /* ranges and targets, or NULL */
  int aims;                /* 1: targets are rows */
  int n, m, hard;          /* numbers of velocities, of equations, and of those but for targets */
  int most;                /* number of equations at most */
  int *unknown;            /* [n] 1: the coordinate may change */
  sunrealtype *q, *next;   /* [nq] */
  sunrealtype *r, *trial;  /* [m] */
  sunrealtype *J;          /* [m n] by rows */
  sunrealtype *H, *L;      /* [n n] J^T J, and the factor */
  sunrealtype *g, *D, *dx; /* [n] */
  sunrealtype *low, *high; /* [n] limits of coordinates */
  Pose *held;              /* [nbodies] poses at the guess */
} Fit;

static int isHeld(const Assembly *a, int body) {
  return a->id && N_VGetArrayPointer(a->id)[a->b->space.nq * body] == 0;
}

static int isLength(const Fit *f, const Row *row) {
  const MeasureKind kind = bodiesRowTerm(&f->b, row, 0)->m.kind;
  return kind == POINT || kind == ALONG || kind == LENGTH || kind == WRAP || kind == LEVEL ||
         kind == NEAR;
}
/* The unit of a row, by which it is divided */
static sunrealtype unitOf(const Fit *f, const Row *row) {
  return isLength(f, row) ? f->a->extent : 1;
}

/* row += the derivative of the velocity along (F, N) at a point of a body, at the distance arm from its centre of mass, in space */
static void addMotion(const Fit *f, int body, const sunrealtype *arm, const sunrealtype *F,
                      const sunrealtype *N, sunrealtype *row) {
  const Tree *tree = f->b.tree;
  const int n      = tree->node_of_body[body];
  sunrealtype d[3], lever[3];
  Wrench w;
  for (int k = 0; k < 3; k++) d[k] = f->b.pose[body].r[k] + arm[k] - tree->motion[n + 1].P[k];
  cross3(d, F, lever);
  for (int k = 0; k < 3; k++) w.F[k] = F[k], w.N[k] = N[k] + lever[k];
  treeAlongPath(tree, n, GROUND, w, row);
}

/* Equations that put a point of a body, given from its centre of mass, and its axes into a pose, with weights for distance and angle: r,
 * and J if it is not NULL. Returns their number. */
static int putBody(Fit *f, int body, const sunrealtype *point, const Pose *to, sunrealtype along,
                   sunrealtype about, sunrealtype *r, sunrealtype *J) {
  static const sunrealtype none[3] = {0, 0, 0};
  const Space *s                   = &f->b.space;
  const Pose *now                  = &f->b.pose[body];
  const Pair axes                  = {.side = {{.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                               {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}}};
  sunrealtype tilt[3], turn[3][3], arm[3];
  toSpace(now, point, arm);
  bodiesTilt(&axes, to, now, 3, tilt, turn);
  along /= f->a->extent;
  for (int k = 0; k < s->dimension; k++) {
    const sunrealtype F[3] = {(k == 0) * along, (k == 1) * along, (k == 2) * along};
    r[k]                   = along * (now->r[k] + arm[k] - to->r[k]);
    if (J) addMotion(f, body, arm, F, none, J + k * f->n);
  }
  for (int k = s->dimension == 2 ? 2 : 0, i = s->dimension; k < 3; k++, i++) {
    sunrealtype N[3] = {0, 0, 0};
    add3(about, turn[k], N);
    r[i] = about * tilt[k];
    if (J) addMotion(f, body, arm, none, N, J + i * f->n);
  }
  return s->nu;
}

/* The same for a target */
static int aim(Fit *f, const CPTarget *target, sunrealtype *r, sunrealtype *J) {
  sunrealtype point[3], e[4];
  const sunrealtype size = hypot(length3(target->quaternion), target->quaternion[3]);
  Pose to                = {.r = {0, 0, 0}};
  for (int k = 0; k < 4; k++) e[k] = size > 0 ? target->quaternion[k] / size : k == 0;
  bodiesRotation(e, to.axis);
  memcpy(to.r, target->position, sizeof to.r);
  memcpy(point, target->point, sizeof point);
  add3(-1, f->b.body[target->body].centre, point);
  return putBody(f, target->body, point, &to, soft * target->along, soft * target->about, r, J);
}

/* The equation that keeps the coordinate of a joint that is not in the tree within its range. Returns 1, or 0 if it is in the
 * tree. */
static int confine(Fit *f, const CPRange *range, sunrealtype *r, sunrealtype *J) {
  const Row row = {.term = f->b.nterms, .nterms = 1}; /* beyond all others (createFit) */
  Term *term    = bodiesRowTerm(&f->b, &row, 0);
  Jet jet;
  bodiesCoordinate(&f->b, range->coordinate, term);
  if (treeHas(f->b.tree, &f->b, bodiesJointOf(&f->b, range->coordinate))) return 0;
  bodiesTermJet(&f->b, term, VALUES, &jet);
  const int angle        = term->m.kind == ANGLE;
  const sunrealtype unit = angle ? 1 : f->a->extent, sum = range->low + range->high,
                    middle = isfinite(sum) ? sum / 2 : 0;
  sunrealtype x            = term->coef * jet.s;
  if (angle) x = middle + remainder(x - middle, 8 * atan(SUN_RCONST(1.0)));
  r[0] = (x - fmax(range->low, fmin(range->high, x))) / unit;
  if (!J || (r[0] == 0 && range->low < range->high)) return 1;
  treeGradient(&f->b, &row, 0, J);
  for (int j = 0; j < f->n; j++) J[j] /= unit;
  return 1;
}

/* r: out, all equations at q; J: out, their derivatives, or NULL. Returns 0, or 1 if they cannot be evaluated. */
static int evaluate(Fit *f, const sunrealtype *q, sunrealtype *r, sunrealtype *J) {
  const Assembly *a = f->a;
  Mechanism *b      = &f->b;
  int m             = 0;
  bodiesPoses(b, q, NULL, NULL);
  if (bodiesRowsAt(a, b, q, a->p)) return 1;
  if (J) memset(J, 0, (size_t)f->most * (size_t)f->n * sizeof *J);
  for (int i = 0; i < b->njoints; i++) {
    const Joint *joint = &b->joint[i];
    if (joint->nrows == 0 || !a->mask[b->row[joint->first].first] || treeHas(b->tree, b, i))
      continue;
    for (int k = joint->first; k < joint->first + joint->nrows; k++) {
      const Row *row         = &b->row[k];
      const sunrealtype unit = unitOf(f, row);
      const int count        = bodiesComponents(b, row);
      for (int c = 0; c < count; c++, m++) {
        r[m] = a->p[row->first + c] / unit;
        if (!isfinite(r[m])) return 1;
        if (!J) continue;
        treeGradient(b, row, c, J + m * f->n);
        for (int j = 0; j < f->n; j++) J[m * f->n + j] /= unit;
      }
    }
  }
  for (int i = 0; i < b->nbodies; i++)
    if (isHeld(a, i)) {
      static const sunrealtype centre[3] = {0, 0, 0};
      m += putBody(f, i, centre, &f->held[i], 1, 1, r + m, J ? J + m * f->n : NULL);
    }
  for (int i = 0; f->wish && i < f->wish->nranges; i++)
    m += confine(f, &f->wish->ranges[i], r + m, J ? J + m * f->n : NULL);
  f->hard = m;
  for (int i = 0; f->aims && i < f->wish->ntargets; i++)
    m += aim(f, &f->wish->targets[i], r + m, J ? J + m * f->n : NULL);
  f->m = m;
  for (int j = 0; J && j < f->n; j++)
    for (int i = 0; i < m && !f->unknown[j]; i++) J[i * f->n + j] = 0;
  return 0;
}

/* The number of equations at most */
static int countEquations(const Fit *f) {
  const Mechanism *b = &f->b;
  int m              = 0;
  for (int i = 0; i < b->njoints; i++)
    for (int k = 0; k < b->joint[i].nrows; k++)
      m += bodiesComponents(b, &b->row[b->joint[i].first + k]);
  for (int i = 0; i < b->nbodies; i++) m += isHeld(f->a, i) * b->space.nu;
  return f->wish ? m + f->wish->nranges + f->wish->ntargets * b->space.nu : m;
}

/* to <- q moved by the velocities dx */
static void moveBy(const Tree *tree, const sunrealtype *q, const sunrealtype *dx, sunrealtype *to) {
  memcpy(to, q, (size_t)tree->nq * sizeof *q);
  for (int n = 0; n < tree->nnodes; n++) {
    const Node *node     = &tree->node[n];
    sunrealtype *x       = to + node->q;
    const sunrealtype *d = dx + node->u;
    if (node->kind == HINGE || node->kind == SLIDE) x[0] += d[0];
    for (int k = 0; node->kind == CUSTOM && k < node->nu; k++) x[k] += d[k];
    if (node->kind == AFLOAT) add3(1, d, x), x += 3, d += 3;
    if (node->kind != AFLOAT && node->kind != SWIVEL) continue;
    /* e o exp(d / 2) */
    const sunrealtype theta = length3(d), part = theta > 0 ? sin(theta / 2) / theta : 0,
                      c = cos(theta / 2), v[3] = {part * d[0], part * d[1], part * d[2]};
    const sunrealtype e[4] = {x[0], x[1], x[2], x[3]};
    sunrealtype w[3];
    cross3(e + 1, v, w);
    x[0] = c * e[0] - dot3(e + 1, v);
    for (int k = 0; k < 3; k++) x[1 + k] = c * e[1 + k] + e[0] * v[k] + w[k];
  }
}

/* dx: out, -(H + mu D)^-1 g. Returns 0, or 1 if the matrix is not definite. */
static int solve(Fit *f, sunrealtype mu) {
  const int n    = f->n;
  sunrealtype *L = f->L, *x = f->dx;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) {
      sunrealtype sum = f->H[i * n + j] + (i == j ? mu * f->D[i] : 0);
      for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
      if (i == j && !(sum > 0)) return 1;
      L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
    }
    x[i] = -f->g[i];
    for (int k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
    x[i] /= L[i * n + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
    x[i] /= L[i * n + i];
  }
  return 0;
}

static sunrealtype squareOf(const sunrealtype *r, int m) {
  sunrealtype sum = 0;
  for (int i = 0; i < m; i++) sum += r[i] * r[i];
  return sum;
}

/* Forms J, g and H at q; coordinates at a limit that -g would leave rest. Returns 0, or 1 if they cannot be evaluated. */
static int formEquations(Fit *f) {
  const int n      = f->n;
  const Tree *tree = f->b.tree;
  if (evaluate(f, f->q, f->r, f->J)) return 1;
  for (int i = 0; i < n; i++) {
    const sunrealtype x = f->q[treeCoordinate(tree, i)];
    f->g[i]             = 0;
    for (int k = 0; k < f->m; k++) f->g[i] += f->J[k * n + i] * f->r[k];
    if ((x > f->low[i] || f->g[i] <= 0) && (x < f->high[i] || f->g[i] >= 0)) continue;
    f->g[i] = 0;
    for (int k = 0; k < f->m; k++) f->J[k * n + i] = 0;
  }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) {
      sunrealtype sum = 0;
      for (int k = 0; k < f->m; k++) sum += f->J[k * n + i] * f->J[k * n + j];
      f->H[i * n + j] = sum;
    }
    f->D[i] = fmax(f->D[i], f->H[i * n + i]);
    if (f->D[i] == 0) f->D[i] = 1;
  }
  return 0;
}

/* Moves coordinates of the tree into their ranges. */
static void clamp(const Fit *f, sunrealtype *q) {
  for (int i = 0; i < f->n; i++) {
    sunrealtype *x = &q[treeCoordinate(f->b.tree, i)];
    if (isfinite(f->low[i]) || isfinite(f->high[i])) *x = fmax(f->low[i], fmin(f->high[i], *x));
  }
}

/* Moves q to a least sum of squares. Returns 1 if all equations but for targets are satisfied there, up to `bound` or, where that
 * is at roundoff, nearly. */
static int leastSquares(Fit *f, sunrealtype bound) {
  static const sunrealtype least = SUN_RCONST(1e-14);
  const int n                    = f->n;
  const Tree *tree               = f->b.tree;
  sunrealtype mu = SUN_RCONST(1e-3), grow = 2;
  memset(f->D, 0, (size_t)n * sizeof *f->D);
  if (evaluate(f, f->q, f->r, NULL)) return 0;
  sunrealtype square = squareOf(f->r, f->m);
  for (int step = 0, fresh = 1; step < MOST_STEPS && largestOf(f->r, f->m) > bound; step++) {
    if (fresh && formEquations(f)) return 0;
    fresh              = 0;
    sunrealtype better = NAN, model = 0;
    if (!solve(f, mu)) {
      moveBy(tree, f->q, f->dx, f->next);
      clamp(f, f->next);
      for (int i = 0; i < n; i++) model += f->dx[i] * (mu * f->D[i] * f->dx[i] - f->g[i]);
      if (!evaluate(f, f->next, f->trial, NULL)) better = squareOf(f->trial, f->m);
    }
    const sunrealtype gain = (square - better) / model;
    if (gain > 0) {
      const int over = square - better < least * square; /* a least one that is not 0 */
      memcpy(f->q, f->next, (size_t)tree->nq * sizeof *f->q);
      memcpy(f->r, f->trial, (size_t)f->m * sizeof *f->r);
      square = better;
      fresh  = 1;
      mu *= fmax(SUN_RCONST(1.0) / 3, 1 - pow(2 * gain - 1, 3));
      grow = 2;
      if (over) break;
    } else {
      mu *= grow;
      grow *= 2;
      if (mu > 1 / DBL_EPSILON) break;
    }
  }
  return largestOf(f->r, f->hard) <= fmax(bound, f->wish ? closed_nearly : 0);
}

/* Sets the coordinates that drives prescribe. */
static void setDriven(Fit *f) {
  const Mechanism *b = &f->b;
  for (int i = 0; i < b->nrows; i++) {
    const Row *row   = &b->row[i];
    const Term *term = bodiesRowTerm(b, row, 0);
    const int k      = row->drive == NONE || !f->a->mask[row->first] ? NONE : term->velocity;
    if (k == NONE || !f->unknown[k]) continue;
    if (bodiesRowsAt(f->a, &f->b, f->q, f->a->p)) return;
    f->q[term->coordinate] -= f->a->p[row->first] / bodiesShare(b, term);
    f->unknown[k] = 0;
  }
}

/* Turns and moves what may change at random, by up to this part of a turn and of the extent, but for what changes no equation there: a
 * body that lies beside a loop stays where it is. */
static void scatter(Fit *f, const sunrealtype *q, sunrealtype part, unsigned *state) {
  const Tree *tree = f->b.tree;
  for (int k = 0; k < f->n; k++) {
    const sunrealtype most = treeAxis(tree, k).turns ? 4 * atan(SUN_RCONST(1.0)) : f->a->extent;
    f->dx[k]               = f->unknown[k] * part * most * uniform(state);
  }
  moveBy(tree, q, f->dx, f->q);
  if (!evaluate(f, f->q, f->r, f->J))
    for (int k = 0; k < f->n; k++) {
      int acts = 0;
      for (int i = 0; i < f->m; i++) acts |= f->J[i * f->n + k] != 0;
      f->dx[k] *= acts;
    }
  moveBy(tree, q, f->dx, f->q);
  clamp(f, f->q);
}

/* Sets values and limits of coordinates of the tree; angles take the turn that is nearest to the middle of their range. */
static void setRanges(Fit *f) {
  const Mechanism *b = &f->b;
  for (int k = 0; k < f->n; k++) f->low[k] = -INFINITY, f->high[k] = INFINITY;
  for (int i = 0; f->wish && i < f->wish->nranges; i++) {
    const CPRange *range = &f->wish->ranges[i];
    const int joint      = bodiesJointOf(b, range->coordinate);
    for (int n = 0; n < b->tree->nnodes; n++) {
      const Node *node = &b->tree->node[n];
      const int k      = range->coordinate - b->joint[joint].first_coordinate - node->coordinate;
      if (node->joint != joint || k < 0 || k >= node->nu) continue;
      sunrealtype *x           = &f->q[node->q + k];
      const sunrealtype middle = (range->low + range->high) / 2, turn = 8 * atan(SUN_RCONST(1.0));
      if (node->kind == HINGE && isfinite(middle)) *x = middle + remainder(*x - middle, turn);
      *x                      = fmax(range->low, fmin(range->high, *x));
      f->low[node->u + k]     = range->low;
      f->high[node->u + k]    = range->high;
      f->unknown[node->u + k] = range->low < range->high;
    }
  }
}

static int createFit(Fit *f, Assembly *a, const CPAssembly *wish) {
  f->a      = a;
  f->wish   = wish;
  f->b      = *a->b;
  f->b.tree = NULL;
  f->b.pose = calloc(2 * (size_t)f->b.nbodies, sizeof *f->b.pose);
  /* what is tied to the tree */
  f->b.term  = malloc(((size_t)f->b.nterms + 1) * sizeof *f->b.term);
  int failed = !f->b.term;
  if (f->b.term) memcpy(f->b.term, a->b->term, (size_t)f->b.nterms * sizeof *f->b.term);
  failed += bodiesCopyArray(&f->b.row, (size_t)f->b.nrows * sizeof *f->b.row);
  failed += bodiesCopyArray(&f->b.roll, (size_t)f->b.nrolls * sizeof *f->b.roll);
  failed += bodiesCopyArray(&f->b.law, (size_t)f->b.nlaws * sizeof *f->b.law);
  if (failed || !f->b.pose || !(f->b.tree = treeMake(&f->b))) return 1;
  f->b.assembling = ALIGNING;
  f->held         = f->b.pose + f->b.nbodies;
  f->n            = f->b.tree->nu;
  f->most         = countEquations(f);
  if (f->n > MOST_UNKNOWNS) return 0;
  const size_t n = (size_t)f->n, m = (size_t)f->most, nq = (size_t)f->b.tree->nq;
  f->unknown = malloc((n + 1) * sizeof *f->unknown);
  f->q       = calloc(3 * nq + 2 * m + m * n + 2 * n * n + 5 * n + 1, sizeof *f->q);
  if (!f->unknown || !f->q) return 1;
  f->next  = f->q + 2 * nq; /* q [nq] is followed by the guess */
  f->r     = f->next + nq;
  f->trial = f->r + m;
  f->J     = f->trial + m;
  f->H     = f->J + m * n;
  f->L     = f->H + n * n;
  f->g     = f->L + n * n;
  f->D     = f->g + n;
  f->dx    = f->D + n;
  f->low   = f->dx + n;
  f->high  = f->low + n;
  return 0;
}

/* Starts at the guess, with what is prescribed. */
static void begin(Fit *f) {
  Mechanism *b = &f->b;
  Tree *tree   = b->tree;
  if (!f->a->b->tree) { /* the poses of the guess, and the coordinates of the tree there */
    b->tree = NULL;
    bodiesPoses(b, positionsOf(f->a->y), NULL, NULL);
    b->tree = tree;
    memcpy(f->held, b->pose, (size_t)b->nbodies * sizeof *f->held);
    treeRead(b, tree, f->q, f->dx);
  } else memcpy(f->q, positionsOf(f->a->y), (size_t)tree->nq * sizeof *f->q);
  for (int k = 0; k < f->n; k++) f->unknown[k] = 1;
  setRanges(f);
  if (b->np > 0) setDriven(f);
  memcpy(f->q + tree->nq, f->q, (size_t)tree->nq * sizeof *f->q); /* the guess */
}

/* Writes the positions that have been found into x. */
static void finish(Fit *f) {
  bodiesPoses(&f->b, f->q, NULL, NULL);
  if (f->a->b->tree) memcpy(positionsOf(f->a->x), f->q, (size_t)f->b.tree->nq * sizeof *f->q);
  else bodiesPutPoses(&f->b, f->b.pose, positionsOf(f->a->x));
}

static void freeFit(Fit *f) {
  treeFree(f->b.tree);
  free(f->b.row);
  free(f->b.roll);
  free(f->b.law);
  free(f->b.term);
  free(f->b.pose);
  free(f->unknown);
  free(f->q);
}

/* Least squares from starts that are scattered about q. Returns as leastSquares. */
static int fromElsewhere(Fit *f, sunrealtype bound) {
  enum { STARTS = 10 };
  sunrealtype *guess = f->q + f->b.tree->nq;
  unsigned state     = 1;
  int closed         = 0;
  for (int start = 1; start <= STARTS && !closed; start++) {
    scatter(f, guess, start / (sunrealtype)STARTS, &state);
    closed = leastSquares(f, bound);
  }
  return closed;
}

/* Keeps which joint is farthest from closed at the least squares, and by how much, if its rows are lengths and rotation vectors. */
static void keepOpen(const Fit *f, Assembly *a) {
  const Mechanism *b  = &f->b;
  sunrealtype largest = 0;
  for (int i = 0, m = 0; i < b->njoints; i++) {
    const Joint *joint    = &b->joint[i];
    sunrealtype square[2] = {0, 0};
    int measured          = 1;
    if (joint->nrows == 0 || !a->mask[b->row[joint->first].first] || treeHas(b->tree, b, i))
      continue;
    for (int k = joint->first; k < joint->first + joint->nrows; k++) {
      const Row *row  = &b->row[k];
      const int count = bodiesComponents(b, row);
      measured &= row->aligns > 0 || isLength(f, row);
      square[row->aligns > 0] += squareOf(f->r + m, count);
      m += count;
    }
    if (!(square[0] + square[1] > largest)) continue;
    largest   = square[0] + square[1];
    a->open   = measured ? i : NONE;
    a->gap[0] = sqrt(square[0]) * a->extent, a->gap[1] = sqrt(square[1]);
  }
}

int bodiesCloseTree(Assembly *a, int scattered) {
  Fit f      = {0};
  int closed = createFit(&f, a, NULL) ? CP_MEM_FAIL : 0;
  if (!closed && f.n > 0 && f.n <= MOST_UNKNOWNS) {
    begin(&f);
    closed = scattered ? fromElsewhere(&f, closed_enough) : leastSquares(&f, closed_enough);
    if (closed) finish(&f);
    else if (!scattered) keepOpen(&f, a);
  }
  freeFit(&f);
  return closed;
}

int bodiesFitWishes(Assembly *a, const CPAssembly *wish, sunrealtype *miss) {
  Fit f      = {0};
  int closed = createFit(&f, a, wish) ? CP_MEM_FAIL : 0;
  if (!closed && f.n > 0 && f.n <= MOST_UNKNOWNS) {
    begin(&f);
    f.aims = wish->ntargets > 0;
    if (f.aims) leastSquares(&f, closed_exactly);
    f.aims = 0;
    closed = leastSquares(&f, closed_exactly);
    if (!closed && wish->ntargets == 0) closed = fromElsewhere(&f, closed_exactly);
    f.aims = 1;
    if (closed && !evaluate(&f, f.q, f.r, NULL))
      *miss = sqrt(squareOf(f.r + f.hard, f.m - f.hard)) / soft;
    if (closed) finish(&f);
  }
  freeFit(&f);
  return closed;
}
