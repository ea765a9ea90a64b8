/* The split of a state into positions q and velocities u, from G at one state, where no levels are
 * given.
 *
 * Index reduction gives v = d/dt p(t, q) = G_p(q) u + p_t, so with q' = u the gradient of a
 * velocity constraint in u is that of its position constraint in q. The states (q, u[, z]) and
 * (u, q[, z]) with halves of n / 2, and with halves up to the last component that is in a
 * constraint, are tried. A split is taken if
 *   - no row has an entry in z,
 *   - there are rows without an entry in u (positions), and each of them has a rate: a row whose
 *     gradient in u is a multiple of its own.
 * Other rows with entries in u are nonholonomic constraints. Unit norms are positions, and need no
 * rate. An entry that is zero at this state only is found later (honourLevels in factor.c). */
#include "projector_impl.h"

#include <math.h>

typedef struct {
  int half, velocities_first;
  const CPMat *g; /* G by columns */
  CPMat rows; /* the same by rows, each entry over the weight of its component: differences have the
                   * same roundoff in all of them, whatever the units */
  const double *w; /* [n] weights */
  int mc;          /* rows of the user's; the others are norms */
  /* Part of the largest entry of a row up to which an entry is zero: half of the digits of G, which has
   * half of all if it comes from differences. Gradients are parallel up to a sine of ten times that. */
  double same;
  double *top;    /* [m] largest entry of the row */
  double *square; /* [m] squared gradient in u */
} Split;

/* Place of component j in u, or an index outside of it */
static int placeInU(const Split *s, int j) { return s->velocities_first ? j : j - s->half; }

static int isVelocity(const Split *s, int j) {
  return placeInU(s, j) >= 0 && placeInU(s, j) < s->half;
}

/* Index of the velocity that belongs to position j */
static int velocityOf(const Split *s, int j) {
  return s->velocities_first ? j - s->half : j + s->half;
}

/* Factor that gives an entry of column j of u the weight of its position */
static double asPosition(const Split *s, int j) {
  return s->w[j] / s->w[s->velocities_first ? j + s->half : j - s->half];
}

static int isPosition(const Split *s, int i) { return s->square[i] == 0.0; }

/* Is the gradient of row k in u a multiple of that of row i in q? */
static int isRate(const Split *s, int i, int k) {
  const CPMat *R = &s->rows;
  double qq = 0.0, qu = 0.0;
  for (size_t e = R->start[i]; e < R->start[i + 1]; e++) {
    const int j = velocityOf(s, R->row[e]);
    if (!isVelocity(s, j)) continue; /* a zero */
    qq += R->value[e] * R->value[e];
    qu += R->value[e] * asPosition(s, j) * cpMatEntry(R, j, k);
  }
  const double squares = qq * s->square[k], sine = 10.0 * s->same;
  return squares - qu * qu <= sine * sine * squares;
}

/* Has position row i a rate? That has an entry in each column of u where row i has a large one in q;
 * of these columns the one with fewest entries is searched. */
static int hasRate(const Split *s, int i) {
  const CPMat *R = &s->rows, *g = s->g;
  int best = -1;
  for (size_t e = R->start[i]; e < R->start[i + 1]; e++) {
    const int j = velocityOf(s, R->row[e]);
    if (fabs(R->value[e]) < 0.5 * s->top[i] || !isVelocity(s, j)) continue;
    if (best < 0 || g->start[j + 1] - g->start[j] < g->start[best + 1] - g->start[best]) best = j;
  }
  for (size_t e = best < 0 ? 0 : g->start[best]; best >= 0 && e < g->start[best + 1]; e++)
    if (g->row[e] < s->mc && !isPosition(s, g->row[e]) && isRate(s, i, g->row[e])) return 1;
  return 0;
}

static int fits(Split *s, int half, int velocities_first) {
  const CPMat *R = &s->rows;
  if (2 * half > R->rows) return 0; /* an odd number of components */
  s->half             = half;
  s->velocities_first = velocities_first;
  for (int i = 0; i < R->cols; i++) {
    s->square[i] = 0.0;
    for (size_t e = R->start[i]; e < R->start[i + 1]; e++) {
      if (!(fabs(R->value[e]) > s->same * s->top[i])) continue;
      if (R->row[e] >= 2 * half || (i >= s->mc && isVelocity(s, R->row[e]))) return 0;
      if (isVelocity(s, R->row[e])) s->square[i] += pow(asPosition(s, R->row[e]) * R->value[e], 2);
    }
  }
  int npositions = 0;
  for (int i = 0; i < s->mc; i++) {
    if (!isPosition(s, i)) continue;
    npositions++;
    if (!hasRate(s, i)) return 0;
  }
  return npositions > 0;
}

/* Returns 1 with the split in *s, or 0 if none fits. */
static int find(Split *s, int n) {
  const CPMat *R = &s->rows;
  int end        = 0; /* 1 + the last component that is in a constraint */
  for (int i = 0; i < R->cols; i++) {
    for (size_t e = R->start[i]; e < R->start[i + 1]; e++)
      s->top[i] = fmax(s->top[i], fabs(R->value[e]));
    if (s->top[i] == 0.0) return 0;
    for (size_t e = R->start[i]; e < R->start[i + 1]; e++)
      if (R->row[e] >= end && fabs(R->value[e]) > s->same * s->top[i]) end = R->row[e] + 1;
  }
  const int shorter = (end + 1) / 2;
  return fits(s, n / 2, 0) || fits(s, shorter, 0) || fits(s, n / 2, 1) || fits(s, shorter, 1);
}

int cpSplitLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  CPArena arena = {0};
  Split s       = {.g    = &work->g,
                   .mc   = P->mc,
                   .w    = work->rows.w,
                   .same = sqrt(P->user.jac ? CP_UROUND : sqrt(CP_UROUND))};
  int found = 0, flag = CP_SUCCESS;
  if (P->mc > 0) { /* norms alone have one level */
    size_t *from = NULL;
    flag         = cpWeights(work, y, ewt);
    if (!flag) flag = cpJacobianAt(work, t, y);
    if (!flag && cpMatTransposed(&arena, &work->g, &s.rows, &from)) flag = CP_MEM_FAIL;
    CP_ARRAYS(&arena, P->m, &s.top, &s.square);
    CP_NEW(&arena, s.rows.value, cpMatEntries(&work->g));
    if (cpArenaStatus(&arena)) flag = cpReason(work->text, CP_MEM_FAIL, "no memory");
    for (size_t e = 0; !flag && e < s.rows.start[P->m]; e++)
      s.rows.value[e] = work->g.value[from[e]] / s.w[s.rows.row[e]];
    found = !flag && find(&s, P->n);
  }
  if (flag >= 0) { /* if c cannot be evaluated at y, there is one level */
    for (int i = 0; i < P->m; i++) P->row_level[i] = found && i < P->mc && !isPosition(&s, i);
    for (int j = 0; j < P->n; j++) P->col_level[j] = found && isVelocity(&s, j);
    P->nlevels = found ? 2 : 1;
  }
  cpArenaFree(&arena);
  return flag > 0 ? CP_SUCCESS : flag;
}
