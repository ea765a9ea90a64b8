/* Loops that are redundant but for rounding.
 *
 * Joints of a closed loop may depend on each other: the axes of a four-bar are parallel, those of
 * Bennett's linkage are at exact angles. If such data are rounded to d digits, the rows are independent,
 * at angles of 10^-d, and the loop has lost its freedom. Moving the joints' frames in their bodies by as
 * little gives it back, which is done here.
 *
 * Let u be a combination of rows p with u^T A = 0, but for rounding. In each position of the exact loop
 * it vanishes, so that moving the frames by x has to satisfy u^T (p + D x) = 0, D = dp/dx, in all
 * positions. Equations from some positions along the motion are solved for the least x by damped least squares. Lengths
 * are parts of the loop's extent, angles in rad.
 *
 * In a singular position of the exact loop, such as the flat one of a parallelogram, more rows are dependent, and their
 * equations have to hold too: without them the loop never gets there. On the manifold M of the other rows, u^T p has a
 * critical point there, where u^T A = 0. If it is moved by rounding, the value of u^T p at its own critical point counts
 * (bodiesTurn). */
#include "loops.h"

#include "cpodes/base/compat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* Loops with more rows than this are left as they are: the cost grows with the third power. */
enum { MOST_ROWS = 300, FRAME = 6 };
/* Next to a singular position, where other rows are at smaller angles, equations are inaccurate. */
const sunrealtype bodiesSharp = SUN_RCONST(0.1);

typedef struct {
  int part, n, length;
  sunrealtype *x; /* n entries of u^T A, the equation, and its right-hand side */
} Equation;

struct Loops_ {
  CPModel model;
  Mechanism *b;
  sunrealtype extent;
  sunrealtype *size; /* [nbodies] of a part: the diagonal of the box around it, where it was first examined, or 0 */
  int *part; /* [nbodies] a body of the same part: of bodies that loops connect without the ground */
  int *joints;      /* [nbodies] number of the body's joints that are in loops */
  char *used;       /* [njoints] 1: the joint is in a loop */
  char *off;        /* [nv] 1: the row belongs to none of these */
  int *place;       /* [nv] of a row among those of the part, or NONE */
  int *row, *joint; /* [nv], [njoints] the rows and joints of the part */
  SUNMatrix A;
  Equation *equation;
  int nequations, capacity;
  sunrealtype clear; /* the least sine of a row that is not narrow */
};

static int bodyOf(const Mechanism *b, const Row *row, int k) {
  return b->pair[bodiesRowTerm(b, row, k / 2)->pair].side[k % 2].body;
}

static int partOf(const Loops l, int body) {
  while (l->part[body] != body) body = l->part[body] = l->part[l->part[body]];
  return body;
}

/* A body of joint i, or GROUND */
static int memberOf(const Mechanism *b, int i) {
  const Row *row = &b->row[b->joint[i].first];
  for (int k = 0; k < 2 * row->nterms; k++)
    if (bodyOf(b, row, k) != GROUND) return bodyOf(b, row, k);
  return GROUND;
}

/* Leaves out bodies that hang on one joint, again and again: what is left are loops. Returns the number of
 * joints in them. */
static int findLoops(Loops l, const int *mask) {
  const Mechanism *b = l->b;
  int left = 0, removed = 1;
  for (int i = 0; i < b->nbodies; i++) l->part[i] = i;
  for (int i = 0; i < b->njoints; i++) {
    const Row *row = b->joint[i].nrows > 0 ? &b->row[b->joint[i].first] : NULL;
    l->used[i]     = row && row->drive == NONE && mask[row->first];
    for (int k = 0; l->used[i] && k < 2 * row->nterms; k++)
      if (bodyOf(b, row, k) != GROUND) l->joints[bodyOf(b, row, k)]++;
  }
  while (removed > 0) {
    removed = 0;
    for (int i = b->njoints - 1; i >= 0; i--) {
      if (!l->used[i] || b->joint[i].kind == NONE) continue;
      const Side *side = b->pair[b->joint[i].pair].side;
      int hangs        = 0;
      for (int k = 0; k < 2; k++)
        hangs |=
            side[k].body != GROUND && l->joints[side[k].body] <= b->row[b->joint[i].first].nterms;
      if (!hangs) continue;
      for (int k = 0; k < 2; k++)
        if (side[k].body != GROUND) l->joints[side[k].body] -= b->row[b->joint[i].first].nterms;
      l->used[i] = 0;
      removed++;
    }
  }
  for (int i = 0; i < b->njoints; i++) {
    const Row *row = b->joint[i].nrows > 0 ? &b->row[b->joint[i].first] : NULL;
    for (int k = 0; l->used[i] && k < 2 * row->nterms; k++)
      if (bodyOf(b, row, k) != GROUND)
        l->part[partOf(l, bodyOf(b, row, k))] = partOf(l, memberOf(b, i));
    left += l->used[i];
  }
  memset(l->off, 1, (size_t)b->nv);
  for (int i = 0; i < b->njoints; i++)
    if (l->used[i]) bodiesSkipJoint(b, i, 0, l->off);
  return left;
}

void bodiesFreeLoops(Loops l) {
  if (!l) return;
  if (l->A) SUNMatDestroy(l->A);
  for (int i = 0; i < l->nequations; i++) free(l->equation[i].x);
  free(l->equation);
  free(l->size);
  free(l->part);
  free(l->joints);
  free(l->used);
  free(l->off);
  free(l->place);
  free(l->row);
  free(l->joint);
  free(l);
}

int bodiesFindLoops(CPModel model, Mechanism *b, const int *mask, sunrealtype extent, Loops *loops) {
  Loops l = *loops = calloc(1, sizeof *l);
  if (!l) return CP_MEM_FAIL;
  l->b      = b;
  l->model  = model;
  l->extent = extent;
  l->size   = calloc((size_t)b->nbodies, sizeof *l->size);
  l->part   = calloc((size_t)b->nbodies, sizeof *l->part);
  l->joints = calloc((size_t)b->nbodies, sizeof *l->joints);
  l->used   = calloc((size_t)b->njoints + 1, sizeof *l->used);
  l->off    = malloc((size_t)b->nv + 1);
  l->joint  = calloc((size_t)b->njoints + 1, sizeof *l->joint);
  l->place  = calloc((size_t)b->nv + 1, sizeof *l->place);
  l->row    = calloc((size_t)b->nv + 1, sizeof *l->row);
  int flag  = !l->size || !l->part || !l->joints || !l->used || !l->off || !l->joint || !l->place ||
             !l->row;
  if (!flag && findLoops(l, mask) > 0) {
    SUNMatrix tmpl = CPModelGetEquations(model)->A_tmpl;
    l->A           = tmpl ? SUNMatClone(tmpl)
                          : SUNDenseMatrix(b->nv, (sunindextype)b->space.nu * b->nbodies, b->ctx);
    flag           = !l->A || (tmpl && SUNMatCopy(tmpl, l->A));
    if (!flag) return CP_SUCCESS;
  }
  bodiesFreeLoops(l);
  *loops = NULL;
  return flag ? CP_MEM_FAIL : CP_SUCCESS;
}

static sunrealtype product(int n, const sunrealtype *a, const sunrealtype *b) {
  sunrealtype sum = 0;
  for (int j = 0; j < n; j++) sum += a[j] * b[j];
  return sum;
}

/* Four rows at once, of which a vector type keeps the sums in registers. Each sum has the order of its row, so that roundoff,
 * which decides between equal rows, does not depend on the registers. */
enum { LANES = 4 };
typedef sunrealtype Lanes __attribute__((vector_size(LANES * sizeof(sunrealtype))));

/* along [stride] <- q^T X, of n columns of X, in which the entries of `stride` rows follow each other; 0 where four are marked */
static CP_WIDE void multiply(int n, int stride, const char *marked, const sunrealtype *q,
                             const sunrealtype *X, sunrealtype *along) {
  for (int i = 0; i < stride; i += LANES) {
    Lanes sum      = {0}, x;
    const int none = marked[i] && marked[i + 1] && marked[i + 2] && marked[i + 3];
    for (int j = 0; j < n && !none; j++) {
      memcpy(&x, X + j * stride + i, sizeof x);
      sum += q[j] * x;
    }
    memcpy(along + i, &sum, sizeof sum);
  }
}

/* X -= q along^T, of `length` columns; square [stride] <- those of the lengths of the rows that change, in n of them */
static CP_WIDE void subtract(int n, int length, int stride, const sunrealtype *q,
                             const sunrealtype *along, sunrealtype *X, sunrealtype *square) {
  for (int i = 0; i < stride; i += LANES) {
    Lanes sum = {0}, x, by;
    if (along[i] == 0 && along[i + 1] == 0 && along[i + 2] == 0 && along[i + 3] == 0) continue;
    memcpy(&by, along + i, sizeof by);
    for (int j = 0; j < length; j++) {
      memcpy(&x, X + j * stride + i, sizeof x);
      x -= by * q[j];
      if (j < n) sum += x * x;
      memcpy(X + j * stride + i, &x, sizeof x);
    }
    memcpy(square + i, &sum, sizeof sum);
  }
}

/* The room of orthogonalise, for m rows of `length` entries */
static size_t roomFor(int m, int length) {
  const size_t stride = (size_t)(m + LANES - 1) / LANES * LANES;
  return stride * (size_t)(length + 3) + (size_t)length;
}

/* Gram and Schmidt with pivoting, for rows of `length` entries of which the first n are vectors: rows that are
 * marked become orthonormal, and the others orthogonal to them; of those only `excluded` ones are longer than `least`.
 * marked [m + LANES]; room [roomFor]. Returns the least length of a marked one in its turn. */
static sunrealtype orthogonalise(sunrealtype *X, int m, int n, int length, sunrealtype least,
                                 const char *excluded, char *marked, sunrealtype *room) {
  sunrealtype shortest = INFINITY;
  if (m < 1) return shortest;
  const int stride = (m + LANES - 1) / LANES * LANES;
  sunrealtype *Y = room, *q = Y + stride * length, *size = q + length, *along = size + stride,
              *square = along + stride;
  memset(marked, 0, (size_t)m);
  memset(marked + m, 1, (size_t)(stride - m));
  memset(Y, 0, (size_t)stride * (size_t)length * sizeof *Y);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < length; j++) Y[j * stride + i] = X[i * length + j];
  for (int i = 0; i < m; i++) size[i] = sqrt(product(n, X + i * length, X + i * length));
  for (int k = 0; k < m; k++) {
    int pivot           = NONE;
    sunrealtype largest = least;
    for (int i = 0; i < m; i++)
      if (!marked[i] && !excluded[i] && size[i] > largest) largest = size[i], pivot = i;
    if (pivot == NONE) break;
    shortest = fmin(shortest, largest);
    for (int j = 0; j < length; j++) q[j] = Y[j * stride + pivot] / largest;
    marked[pivot] = 1;
    multiply(n, stride, marked, q, Y, along);
    for (int i = 0; i < stride; i++)
      if (marked[i]) along[i] = 0;
    subtract(n, length, stride, q, along, Y, square);
    for (int i = 0; i < m; i++)
      if (along[i] != 0) size[i] = sqrt(square[i]);
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < length && !marked[i]; j++) X[i * length + j] = Y[j * stride + i];
  return shortest;
}

static int countRows(const Mechanism *b, const Joint *joint) {
  int count = 0;
  for (int r = joint->first; r < joint->first + joint->nrows; r++)
    count += bodiesComponents(b, &b->row[r]);
  return count;
}

/* Lists the joints of a part and its rows. Returns the number of joints. m: out, the number of rows. */
static int listPart(Loops l, int part, int *m) {
  const Mechanism *b = l->b;
  int count          = 0;
  *m                 = 0;
  for (int i = 0; i < b->nv; i++) l->place[i] = NONE;
  for (int i = 0; i < b->njoints; i++) {
    if (!l->used[i] || memberOf(b, i) == GROUND || partOf(l, memberOf(b, i)) != part) continue;
    l->joint[count++] = i;
    const int first = b->row[b->joint[i].first].first, end = first + countRows(b, &b->joint[i]);
    for (int r = first; r < end; r++) l->place[r] = *m, l->row[(*m)++] = r;
  }
  return count;
}

void bodiesTellLoop(Loops l, int joint, char *text, size_t length) {
  enum { MOST = 8 };
  const Mechanism *b = l->b;
  const int part     = partOf(l, memberOf(b, joint));
  size_t used        = 0;
  int listed         = 0;
  text[0]            = '\0';
  for (int i = 0; i < b->njoints && listed <= MOST && used < length; i++) {
    if (!l->used[i] || memberOf(b, i) == GROUND || partOf(l, memberOf(b, i)) != part) continue;
    used += (size_t)snprintf(text + used, length - used, "%s%.40s", listed ? ", " : "",
                             listed == MOST ? "..." : b->text + b->joint[i].name);
    listed++;
  }
}

/* The side of a joint whose frame is moved: in the body with more joints. A loop fits together by the distances of
 * points within its bodies, and where one of several cranks holds a joint of each of its points, only the
 * coupler's frames change the distances between cranks. (Frames of the ground do not move; what they could do, the
 * coupler's do.) */
static int movedSide(const Mechanism *b, int joint) { return b->joint[joint].moved; }

void bodiesChooseFrames(Mechanism *b, int *count) {
  memset(count, 0, (size_t)b->nbodies * sizeof *count);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < b->njoints; i++) {
      Joint *joint = &b->joint[i];
      if (joint->kind == NONE) continue;
      const Side *side = b->pair[joint->pair].side;
      const int a = side[0].body, c = side[1].body;
      const int weight =
          a == GROUND || c == GROUND ? 1 : 2; /* cranks have two joints, as a coupler of two has */
      if (pass) joint->moved = a == GROUND || (c != GROUND && count[c] > count[a]);
      else if (a != GROUND) count[a] += weight;
      if (!pass && c != GROUND) count[c] += weight;
    }
}

/* x [FRAME] <- dp_i/dx for the frame of a joint. row: row i of A, for the joint's moved body, by velocity and
 * angular velocity in its axes. */
static void byFrame(const Mechanism *b, int joint, const sunrealtype *row, sunrealtype *x) {
  const Side *side = &b->pair[b->joint[joint].pair].side[movedSide(b, joint)];
  sunrealtype turn[3];
  toBody(&b->pose[side->body], row, x); /* a point that moves by x and a frame that turns by phi: */
  cross3(side->point, x, turn);         /* the body would move by x - phi x point */
  for (int k = 0; k < 3; k++) x[3 + k] = row[3 + k] - turn[k];
}

/* Loops are much smaller than the mechanism now and then; angles between their rows are those in their own unit of length. */
static sunrealtype sizeOf(Loops l, int part) {
  static const sunrealtype least = SUN_RCONST(1e-6); /* of the extent */
  const Mechanism *b             = l->b;
  sunrealtype from[3] = {INFINITY, INFINITY, INFINITY}, to[3] = {-INFINITY, -INFINITY, -INFINITY},
              square = 0;
  if (l->size[part] > 0) return l->size[part];
  for (int i = 0; i < b->njoints; i++) {
    if (!l->used[i] || memberOf(b, i) == GROUND || partOf(l, memberOf(b, i)) != part) continue;
    for (int k = 0; k < 4; k++) { /* points and origins */
      const Side *side = &b->pair[bodiesRowTerm(b, &b->row[b->joint[i].first], 0)->pair].side[k % 2];
      sunrealtype x[3] = {0, 0, 0};
      if (side->body == GROUND && k > 1) continue;
      if (k < 2) toSpace(bodiesPose(b, side->body), side->point, x);
      add3(1, bodiesPose(b, side->body)->r, x);
      for (int j = 0; j < 3; j++) from[j] = fmin(from[j], x[j]), to[j] = fmax(to[j], x[j]);
    }
  }
  for (int j = 0; j < 3; j++) square += (to[j] - from[j]) * (to[j] - from[j]);
  return l->size[part] = fmax(sqrt(square), least * l->extent);
}

/* X [m x length] <- rows of the part in units of their lengths: A, D, p. */
static void gather(Loops l, int part, int m, int njoints, int n, const sunrealtype *p,
                   sunrealtype *X) {
  const Mechanism *b = l->b;
  const Space *s     = &b->space;
  const int length = n + FRAME * njoints + 1, sparse = SUNMatGetID(l->A) == SUNMATRIX_SPARSE;
  const sunrealtype unit = sizeOf(l, part);
  int column             = 0;
  memset(X, 0, (size_t)m * (size_t)length * sizeof *X);
  for (int i = 0; i < b->nbodies; i++) {
    if (partOf(l, i) != part || l->joints[i] == 0) continue;
    for (int k = 0; k < s->nu; k++, column++) {
      const sunindextype j    = (sunindextype)s->nu * i + k,
                         from = sparse ? SM_INDEXPTRS_S(l->A)[j] : 0,
                         to   = sparse ? SM_INDEXPTRS_S(l->A)[j + 1] : b->nv;
      for (sunindextype e = from; e < to; e++) {
        const int place = l->place[sparse ? SM_INDEXVALS_S(l->A)[e] : e];
        if (place != NONE)
          X[place * length + column] = sparse ? SM_DATA_S(l->A)[e] : SM_COLUMN_D(l->A, j)[e];
      }
    }
    /* the frames that are moved in this body */
    for (int c = 0; c < njoints; c++) {
      const Joint *joint = &b->joint[l->joint[c]];
      if (joint->kind == NONE || b->pair[joint->pair].side[movedSide(b, l->joint[c])].body != i)
        continue;
      const int first = l->place[b->row[joint->first].first], end = first + countRows(b, joint);
      for (int r = first; r < end; r++) {
        const sunrealtype *of = X + r * length + column - s->nu;
        sunrealtype row[6]    = {of[0], of[1]}, x[FRAME];
        if (s->dimension == 2) row[5] = of[2];
        else memcpy(row, of, sizeof row);
        byFrame(b, l->joint[c], row, x);
        for (int k = 0; k < FRAME; k++)
          X[r * length + n + FRAME * c + k] =
              s->dimension == 2 && k > 1 && k < 5 ? 0 : x[k] * (k < 3 ? unit : 1);
      }
    }
    for (int k = 0; k < s->last[0]; k++)
      for (int r = 0; r < m; r++) X[r * length + column - s->nu + k] *= unit;
  }
  for (int r = 0; r < m; r++) {
    sunrealtype size = 0;
    for (int j = 0; j < n; j++) size = hypot(size, X[r * length + j]);
    X[r * length + length - 1] = p[l->row[r]];
    for (int j = 0; j < length && size > 0; j++) X[r * length + j] /= size;
  }
}

static int addEquation(Loops l, int part, const sunrealtype *x, int n, int length) {
  if (l->nequations == l->capacity) {
    const int capacity = 2 * l->capacity + 16;
    Equation *more     = realloc(l->equation, (size_t)capacity * sizeof *more);
    if (!more) return CP_MEM_FAIL;
    l->equation = more;
    l->capacity = capacity;
  }
  sunrealtype *copy = malloc((size_t)length * sizeof *copy);
  if (!copy) return CP_MEM_FAIL;
  memcpy(copy, x, (size_t)length * sizeof *copy);
  l->equation[l->nequations++] = (Equation){part, n, length, copy};
  return CP_SUCCESS;
}

int bodiesLoopsAt(Loops l, sunrealtype t, const sunrealtype *q, const sunrealtype *p,
                  sunrealtype narrow, int *mask, sunrealtype *sine) {
  Mechanism *b    = l->b;
  const int fixed = narrow == 0;
  int flag = 0, count = 0;
  *sine    = 0;
  l->clear = INFINITY;
  if (SUNMatGetID(l->A) == SUNMATRIX_SPARSE)
    memset(SM_DATA_S(l->A), 0, (size_t)SM_NNZ_S(l->A) * sizeof(sunrealtype));
  else SUNMatZero(l->A);
  bodiesSkipRows(l->off, b);
  flag = CPModelGetEquations(l->model)->A(t, q, l->A, b);
  bodiesSkipRows(NULL, b);
  if (flag) return 0;
  for (int part = 0; part < b->nbodies && !flag; part++) {
    if (partOf(l, part) != part || l->joints[part] == 0) continue;
    int m, n = 0;
    const int njoints = listPart(l, part, &m);
    for (int i = 0; i < b->nbodies; i++)
      n += partOf(l, i) == part && l->joints[i] > 0 ? b->space.nu : 0;
    if (m == 0 || m > MOST_ROWS) continue;
    const int length = n + FRAME * njoints + 1;
    sunrealtype *X   = malloc(((size_t)m * (size_t)length + roomFor(m, length)) * sizeof *X);
    char *marked = calloc((size_t)m + LANES, 2), *excluded = marked ? marked + m + LANES : NULL;
    if (!X || !marked) flag = CP_MEM_FAIL;
    else gather(l, part, m, njoints, n, p, X);
    for (int r = 0; r < m && !flag; r++) excluded[r] = fixed && mask[l->row[r]] == 0;
    const sunrealtype clear =
        flag ? 0 : orthogonalise(X, m, n, length, narrow, excluded, marked, X + m * length);
    l->clear = fmin(l->clear, clear);
    for (int r = 0; r < m && !flag; r++) {
      sunrealtype square = 0;
      if (marked[r]) continue;
      for (int j = 0; j < n; j++) square += X[r * length + j] * X[r * length + j];
      *sine           = fmax(*sine, sqrt(square));
      mask[l->row[r]] = 0;
      count++;
      if (fixed || clear > bodiesSharp) flag = addEquation(l, part, X + r * length, n, length);
    }
    free(X);
    free(marked);
  }
  return flag ? flag : count;
}

void bodiesForgetEquations(Loops l, int first) {
  while (l->nequations > first) free(l->equation[--l->nequations].x);
}

int bodiesEquations(const struct Loops_ *l) { return l->nequations; }

sunrealtype bodiesClear(const struct Loops_ *l) { return l->clear; }

sunrealtype bodiesOpen(const struct Loops_ *l, int first) {
  sunrealtype most = 0;
  for (int i = first; i < l->nequations; i++)
    most = fmax(most, fabs(l->equation[i].x[l->equation[i].length - 1]));
  return most;
}

/* y [2] <- the least squares solution of N + y_0 dN/dw + y_1 dN/dv = 0 for `rows` rows u^T A = N. step: the number of
 * equations from those at q to those at q + h w, and at q + h v. Returns 0 if it is not unique. */
static int turn(const Equation *e, int rows, int step, sunrealtype h, sunrealtype *y) {
  sunrealtype ww = 0, wv = 0, vv = 0, wr = 0, vr = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < e[i].n; j++) {
      const sunrealtype r = e[i].x[j], w = (e[i + step].x[j] - r) / h,
                        v = (e[i + 2 * step].x[j] - r) / h;
      ww += w * w, wv += w * v, vv += v * v, wr += w * r, vr += v * r;
    }
  const sunrealtype det = ww * vv - wv * wv;
  y[0]                  = (wv * vr - vv * wr) / det;
  y[1]                  = (wv * wr - ww * vr) / det;
  return det > SUN_RCONST(1e-6) * ww * vv && ww > SUN_RCONST(1e-6);
}

/* The product of u^T A and velocities w */
static sunrealtype along(Loops l, const Equation *e, const sunrealtype *w) {
  const Space *s  = &l->b->space;
  sunrealtype sum = 0;
  int column      = 0;
  for (int i = 0; i < l->b->nbodies; i++)
    for (int k = 0; partOf(l, i) == e->part && l->joints[i] > 0 && k < s->nu; k++)
      sum += e->x[column++] * w[s->nu * i + k] / (k < s->last[0] ? sizeOf(l, e->part) : 1);
  return sum;
}

int bodiesTurn(Loops l, int first, sunrealtype h, const sunrealtype *w, sunrealtype *y) {
  const int count = (l->nequations - first) / 3;
  Equation *e     = l->equation + first;
  if (!turn(e, count, count, h, y)) return 0;
  for (int i = 0; i < count; i++) {
    sunrealtype own[2];
    if (!turn(e + i, 1, count, h, own)) continue;
    e[i].x[e[i].length - 1] += (own[0] * along(l, e + i, w) +
                                own[1] * along(l, e + i, w + l->b->space.nu * l->b->nbodies)) /
                               2;
  }
  bodiesForgetEquations(l, first + count);
  return 1;
}

/* x [n] <- the least squares solution of X (x, 1) = 0, X [m x (n + 1)], by Gram and Schmidt for columns. R
 * [n x (n + 1)]: room. */
static void solve(sunrealtype *X, int m, int n, sunrealtype *R, sunrealtype *x) {
  const int length = n + 1;
  for (int j = 0; j < n; j++) {
    sunrealtype square = 0, *row = R + j * length;
    for (int i = 0; i < m; i++) square += X[i * length + j] * X[i * length + j];
    memset(row, 0, (size_t)length * sizeof *row);
    row[j] = sqrt(square);
    for (int i = 0; i < m; i++) {
      X[i * length + j] /= row[j];
      for (int k = j + 1; k < length; k++) row[k] += X[i * length + j] * X[i * length + k];
    }
    for (int i = 0; i < m; i++)
      for (int k = j + 1; k < length; k++) X[i * length + k] -= X[i * length + j] * row[k];
  }
  for (int j = n - 1; j >= 0; j--) {
    x[j] = -R[j * length + n];
    for (int k = j + 1; k < n; k++) x[j] -= R[j * length + k] * x[k];
    x[j] /= R[j * length + j];
  }
}

int bodiesFitLoops(Loops l, sunrealtype damping, sunrealtype *move) {
  const Mechanism *b = l->b;
  int flag           = 0;
  memset(move, 0, FRAME * (size_t)b->njoints * sizeof *move);
  for (int part = 0; part < b->nbodies && !flag; part++) {
    int count = 0, m, length = 0;
    for (int i = 0; i < l->nequations; i++)
      if (l->equation[i].part == part) count++, length = l->equation[i].length - l->equation[i].n;
    if (count == 0) continue;
    const int n    = length - 1;
    sunrealtype *X = calloc((size_t)(count + n) * (size_t)length, sizeof *X),
                *R = malloc((size_t)length * (size_t)length * sizeof *R);
    if (!X || !R) flag = CP_MEM_FAIL;
    count = 0;
    for (int i = 0; i < l->nequations && !flag; i++)
      if (l->equation[i].part == part)
        memcpy(X + length * count++, l->equation[i].x + l->equation[i].n,
               (size_t)length * sizeof *X);
    for (int j = 0; j < n && !flag; j++) X[(count + j) * length + j] = damping;
    if (!flag) {
      sunrealtype *x = R + n * length;
      solve(X, count + n, n, R, x);
      const int njoints = listPart(l, part, &m);
      for (int c = 0; c < FRAME * njoints; c++)
        move[FRAME * l->joint[c / FRAME] + c % FRAME] = x[c] * (c % FRAME < 3 ? sizeOf(l, part) : 1);
    }
    free(X);
    free(R);
  }
  return flag;
}

void bodiesMoveFrames(Mechanism *b, const sunrealtype *move) {
  for (int i = 0; i < b->njoints; i++) {
    const sunrealtype *x = move + FRAME * i;
    if (b->joint[i].kind == NONE) continue;
    Side *side = &b->pair[b->joint[i].pair].side[movedSide(b, i)];
    add3(1, x, side->point);
    for (int k = 0; k < 3; k++) {
      sunrealtype first[3], second[3];
      cross3(x + 3, side->axis[k], first);
      cross3(x + 3, first, second);
      for (int j = 0; j < 3; j++) side->axis[k][j] += first[j] + second[j] / 2;
    }
    for (int k = 0; k < FRAME; k++) b->shift[b->np + FRAME * i + k] += x[k];
  }
}
