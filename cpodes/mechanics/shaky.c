/* Loops at rest in a shaky position: to first order the rows of A leave a freedom along which the load accelerates,
 * but no motion begins with it, and no finite multipliers balance the load.
 *
 * Let W be the null space of A there, lambda one of A^T (a self-stress), and H_i the second derivative of p_i, so
 * that b(w) - b(0) = -(w^T H_i w)_i. A motion from rest, q = q_0 + a t^2 / 2 + ..., with a in W, satisfies p = 0
 * up to t^4 only if
 *
 *   Q(a) = sum_i lambda_i (b_i(a) - b_i(0)) = 0
 *
 * for every lambda. Finite multipliers give the accelerations of the KKT system, and if these do not satisfy it,
 * there are none. If Q has both signs in W, motions may branch, and one of them is followed; but if Q >= 0 for
 * some lambda, the position is rigid in all directions with Q > 0 (prestress stability: R. Connelly, W. Whiteley,
 * SIAM J. Discrete Math. 9, 1996), and the mechanism is refused: within its closure a method could only stay
 * there, with multipliers that depend on the tolerance. lambda is the one for which Q(a) is largest.
 *
 * The load may begin later. Loops that rest in such a position when a run starts are therefore remembered, and
 * tested after each step, at rest in that position whatever roundoff has made of it. */
#include "shaky.h"
#include "accelerations.h"
#include "cpodes/base/random.h"
#include "cpodes/projector/newton.h"
#include "kinematics.h"
#include "motions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A position beside the start, for the entries of A that vanish at the start only */
#define ASIDE 0.1
/* With more columns in the loops the signs of Q are not examined: the cost grows with the third power. */
enum { MOST_COLUMNS = 600 };

/* What rests in a shaky position */
struct CPMechShaky_ {
  CPArena arena;
  int any;
  char *in_q, *in_u;  /* [nq], [nu] 1: a component of the bodies that rest */
  double *q0, *q, *u; /* [nq], [nq], [nu] their position; a state */
};

typedef struct {
  CPMech mech;
  const CPMechState *s;
  CPArena arena;
  char *used;     /* [entries of A] 1: the row depends on the bodies of the column */
  char *rests;    /* [m] 1: a row of positions whose velocities are all zero */
  double *b0, *b; /* [m] b(0); b(v) - b(0) */
  double *aside; /* [nu] f beside the start: at the start its terms may cancel in coordinates of joints */
  double *w, *v;         /* [nu] the accelerations in W; workspace */
  double *r, *lambda;    /* [m] */
  int ncolumns, *column; /* the columns of rows with lambda_i != 0 */
  int *place;            /* [nu] the index in column, or -1 */
} Shaky;

/* Notes that memory is missing; other failures are left to the method. Returns flag. */
static int failed(Shaky *x, int flag) {
  if (flag == CP_MEM_FAIL) x->arena.failed = 1;
  return flag;
}

/* x->b <- b(v) - b(0) at the position of the start. Returns 0 or a code. */
static int quadratic(Shaky *x, const double *v) {
  const CPMechState s = {.t = x->s->t, .q = x->s->q, .u = v, .z = x->s->z};
  const int flag      = cpMechB(x->mech, &s, x->b);
  for (int i = 0; i < x->mech->m; i++) x->b[i] -= x->b0[i];
  return flag;
}

/* v <- the part of v in W, orthogonal in the metric of M. room: [nu] */
static int inNullSpace(Shaky *x, double *v, double *room) {
  const CPMech mech = x->mech;
  cpMatTimes(&mech->kkt->M, 1.0, v, 0.0, room);
  return failed(x, cpSaddleSolve(mech->kkt, room, NULL, v, NULL));
}

/* Finds the entries of A that are not zero at the start or at another position: b depends also on velocities for
 * which A vanishes at the start, and a dense A does not tell which. */
static int findUsed(Shaky *x) {
  const CPMech mech    = x->mech;
  const CPMat *A       = &mech->kkt->A;
  const size_t entries = cpMatEntries(A);
  double *q            = CP_NEW(&x->arena, q, mech->nq);
  unsigned state       = 1;
  if (!CP_NEW(&x->arena, x->used, entries)) return CP_MEM_FAIL;
  for (int j = 0; j < mech->nu; j++) x->v[j] = ASIDE * cpUniform(&state);
  int flag = cpMechMove(mech, x->s->q, x->v, q);
  if (!flag) flag = cpMechNormalise(mech, x->s->t, q);
  if (!flag) flag = cpMechA(mech, x->s->t, q);
  if (!flag && mech->eq->typical > 0.0)
    flag = cpMechForces(mech, &(CPMechState){x->s->t, q, x->s->u, x->s->z}, x->aside);
  for (int position = 0; position < 2 && !flag; position++) {
    const double *value = position ? mech->A.value : A->value;
    const double least  = CP_ROUNDED * cpLargest(value, (int)entries);
    for (size_t k = 0; k < entries; k++) x->used[k] |= fabs(value[k]) > least;
  }
  return flag;
}

/* Marks the rows that rest. Returns whether a dependent one is among them. */
static int findResting(Shaky *x) {
  const CPMech mech  = x->mech;
  const CPMat *A     = &mech->kkt->A;
  const double still = CP_ROUNDED * cpLargest(x->s->u, mech->nu);
  int any            = 0;
  if (findUsed(x)) return 0;
  for (int i = 0; i < mech->m; i++) x->rests[i] = i < mech->np && !mech->rows.off[i];
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); fabs(x->s->u[j]) > still && k < cpMatFirst(A, j + 1); k++)
      if (x->used[k]) x->rests[cpMatRow(A, j, k)] = 0;
  for (int i = 0; i < mech->m; i++) any |= x->rests[i] && mech->kkt->is_dependent[i];
  return any;
}

/* x->w becomes 1 at its largest entry. Returns whether it is not zero. */
static int scaled(Shaky *x) {
  const double most = cpLargest(x->w, x->mech->nu);
  for (int j = 0; j < x->mech->nu && most > 0.0; j++) x->w[j] /= most;
  return most > 0.0;
}

/* x->w <- the accelerations a in W, and 0 where they are roundoff. Returns whether any is left. */
static int accelerations(Shaky *x, const double *a) {
  const CPMech mech = x->mech;
  double size       = 0.0;
  memcpy(x->w, a, (size_t)mech->nu * sizeof *a);
  if (inNullSpace(x, x->w, x->v)) return 0;
  for (int j = 0; j < mech->nu; j++) {
    const double *M_jj = cpMatAt(&mech->kkt->M, j, j);
    const double f     = fmax(fabs(mech->terms.f[j]), fabs(x->aside[j]));
    size               = fmax(size, fabs(a[j]) + (M_jj && *M_jj > 0.0 ? f / *M_jj : 0.0));
  }
  for (int j = 0; j < mech->nu; j++)
    if (!(fabs(x->w[j]) > CP_ROUNDED * size)) x->w[j] = 0.0;
  return scaled(x);
}

/* x->w <- any velocities in W. Returns whether these are not zero. */
static int anyVelocities(Shaky *x) {
  const CPMech mech = x->mech;
  unsigned state    = 1;
  for (int j = 0; j < mech->nu; j++) {
    const double *M_jj = cpMatAt(&mech->kkt->M, j, j);
    x->w[j]            = cpUniform(&state) / (M_jj && *M_jj > 0.0 ? sqrt(*M_jj) : 1.0);
  }
  return !inNullSpace(x, x->w, x->v) && scaled(x);
}

/* lambda <- the part of the residual of A a = b(w) - b(0) in the null space of A^T, with Q(w) > 0. Returns
 * whether that is not zero, in rows that rest. */
static int selfStress(Shaky *x) {
  const CPMech mech = x->mech;
  double terms = 0.0, largest = 0.0;
  if (quadratic(x, x->w) || failed(x, cpSaddleSolve(mech->kkt, NULL, x->b, x->v, NULL))) return 0;
  memcpy(x->r, x->b, (size_t)mech->m * sizeof *x->r);
  cpMatTimes(&mech->kkt->A, -1.0, x->v, 1.0, x->r);
  for (int i = 0; i < mech->m; i++) {
    if (x->rests[i]) terms = fmax(terms, fmax(fabs(x->b[i]), fabs(x->r[i] - x->b[i])));
    if (!x->rests[i] || !mech->kkt->is_dependent[i]) x->r[i] = 0.0;
    largest = fmax(largest, fabs(x->r[i]));
  }
  if (!(largest > fmax(CP_CONTRADICTION * terms, CP_ROUNDED * cpMechTermsOfB(&mech->kkt->A, x->w))))
    return 0;
  cpMatTransposedTimes(&mech->kkt->A, 1.0, x->r, 0.0, x->v);
  if (failed(x, cpSaddleMultipliers(mech->kkt, x->v, x->lambda))) return 0;
  for (int i = 0; i < mech->m; i++) x->lambda[i] = x->r[i] - x->lambda[i];
  const double least = CP_INEXACT * cpLargest(x->lambda, mech->m);
  for (int i = 0; i < mech->m; i++) {
    if (fabs(x->lambda[i]) <= least) x->lambda[i] = 0.0;
    if (x->lambda[i] != 0.0 && !x->rests[i]) return 0;
  }
  return 1;
}

static void findColumns(Shaky *x) {
  const CPMat *A = &x->mech->kkt->A;
  x->ncolumns    = 0;
  for (int j = 0; j < A->cols; j++) {
    x->place[j] = -1;
    for (size_t k = cpMatFirst(A, j); x->place[j] < 0 && k < cpMatFirst(A, j + 1); k++)
      if (x->used[k] && x->lambda[cpMatRow(A, j, k)] != 0.0) x->place[j] = x->ncolumns;
    if (x->place[j] >= 0) x->column[x->ncolumns++] = j;
  }
}

/* H [n x n] <- the matrix of Q in the n columns, from b along sums of two groups of columns that share no row */
static int formH(Shaky *x, const CPColoring *colors, double *one, double *H) {
  const CPMech mech = x->mech;
  const CPMat *A    = &mech->kkt->A;
  const int n = x->ncolumns, m = mech->m;
  int flag      = CP_SUCCESS;
  double *alone = CP_NEW(&x->arena, alone, (size_t)colors->ngroups * (size_t)m);
  int *in       = CP_NEW(&x->arena, in, (size_t)colors->ngroups * (size_t)m);
  int *group    = CP_NEW(&x->arena, group, mech->nu);
  if (cpArenaStatus(&x->arena)) return CP_MEM_FAIL;
  for (int i = 0; i < colors->ngroups * m; i++) in[i] = -1;
  for (int g = 0; g < colors->ngroups; g++)
    for (int c = colors->start[g]; c < colors->start[g + 1]; c++) group[colors->col[c]] = g;
  for (int j = 0; j < A->cols; j++) /* in: the column of the group in row i */
    for (size_t k = cpMatFirst(A, j); x->place[j] >= 0 && k < cpMatFirst(A, j + 1); k++)
      if (x->used[k]) in[group[j] * m + cpMatRow(A, j, k)] = x->place[j];
  for (int g = 0; g < colors->ngroups && !flag; g++)
    for (int h = g; h >= 0 && !flag; h--) { /* a group alone comes first */
      double *of = alone + (size_t)g * (size_t)m, *other = alone + (size_t)h * (size_t)m;
      memset(one, 0, (size_t)mech->nu * sizeof *one);
      for (int j = 0; j < mech->nu; j++)
        one[j] = x->place[j] >= 0 && (group[j] == g || group[j] == h);
      flag = quadratic(x, one);
      if (g == h) memcpy(of, x->b, (size_t)m * sizeof *of);
      for (int i = 0; i < m; i++) {
        const int j = in[g * m + i], l = in[h * m + i];
        if (x->lambda[i] == 0.0 || j < 0 || l < 0) continue;
        const double entry = x->lambda[i] * (g == h ? of[i] : (x->b[i] - of[i] - other[i]) / 2.0);
        H[j * n + l] += entry;
        if (j != l) H[l * n + j] += entry;
      }
    }
  return flag;
}

/* Is the symmetric G [n x n] positive semidefinite? Cholesky's algorithm with pivoting; overwrites G. */
static int isSemidefinite(double *G, int n) {
  const double zero = CP_INEXACT * cpLargest(G, n * n);
  for (int step = 0; step < n; step++) {
    int pivot = 0;
    for (int j = 1; j < n; j++)
      if (G[j * n + j] > G[pivot * n + pivot]) pivot = j;
    const double d = G[pivot * n + pivot];
    if (!(d > zero)) break;
    for (int j = 0; j < n; j++) {
      const double factor = G[j * n + pivot] / d;
      for (int l = 0; l < n && j != pivot && factor != 0.0; l++)
        if (l != pivot) G[j * n + l] -= factor * G[pivot * n + l];
    }
    for (int j = 0; j < n; j++) G[pivot * n + j] = G[j * n + pivot] = 0.0;
  }
  return cpLargest(G, n * n) <= zero;
}

/* Is Q >= 0 in W? */
static int isStable(Shaky *x) {
  const CPMech mech = x->mech;
  CPColoring colors;
  findColumns(x);
  const int n = x->ncolumns;
  if (n > MOST_COLUMNS || failed(x, cpColoringCreate(&x->arena, &colors, &mech->kkt->A))) return 0;
  double *one = NULL, *V = NULL, *H = NULL, *G = NULL;
  CP_NEW(&x->arena, one, mech->nu);
  CP_ARRAYS(&x->arena, (size_t)n * (size_t)n, &V, &H, &G);
  if (cpArenaStatus(&x->arena) || formH(x, &colors, one, H)) return 0;
  for (int k = 0; k < n; k++) { /* V: row k is the part of e_k in W, where e_k has the length 1 */
    const double *M_kk = cpMatAt(&mech->kkt->M, x->column[k], x->column[k]);
    memset(one, 0, (size_t)mech->nu * sizeof *one);
    one[x->column[k]] = M_kk && *M_kk > 0.0 ? 1.0 / sqrt(*M_kk) : 1.0;
    if (inNullSpace(x, one, x->v)) return 0;
    for (int j = 0; j < n; j++) V[k * n + j] = one[x->column[j]];
  }
  double *row = x->v; /* G = V H V^T */
  for (int k = 0; k < n; k++) {
    for (int l = 0; l < n; l++) row[l] = cpDot(V + k * n, H + l * n, n);
    for (int l = 0; l < n; l++) G[k * n + l] = cpDot(row, V + l * n, n);
  }
  return isSemidefinite(G, n);
}

/* What the model knows about the state, or "" */
enum { STATE = CP_TEXT_LENGTH / 2 };
static const char *describe(const CPMech mech, sunrealtype t, char state[STATE]) {
  cpMechAskName(mech, CP_NAME_STATE, 0, t, state, STATE);
  return state;
}

/* The reason: what the model knows about the state, or the names of the elements in the loops. */
static void tell(const Shaky *x) {
  enum { MOST = 8 };
  const CPMech mech = x->mech;
  char name[CP_MECH_ROW_NAME], last[CP_MECH_ROW_NAME] = "", state[STATE];
  int listed = 0;
  if (describe(mech, x->s->t, state)[0]) {
    cpWrite(mech->text, "at t = %.10g: %s", x->s->t, state);
    return;
  }
  cpWrite(
      mech->text,
      "at t = %.10g: the mechanism is shaky in its position: to first order it has %d "
      "freedoms, but no finite motion begins as its load accelerates it, and no finite reaction "
      "balances the load (",
      x->s->t, mech->nu - mech->kkt->rank);
  for (int i = 0; i < mech->m && listed <= MOST; i++) {
    if (x->lambda[i] == 0.0) continue;
    cpMechAskName(mech, CP_NAME_ELEMENT, i, x->s->t, name, sizeof name);
    if (!name[0]) cpMechRowName(mech, i, name);
    if (!strcmp(name, last)) continue; /* rows of an element follow each other */
    memcpy(last, name, sizeof last);
    cpAppend(mech->text, CP_TEXT_LENGTH, listed++ ? ", " : "");
    cpAppend(mech->text, CP_TEXT_LENGTH, listed > MOST ? "..." : name);
  }
  cpAppend(mech->text, CP_TEXT_LENGTH, ")");
}

/* Remembers the position of the bodies in the loops of x. Components of q that the velocities of these bodies do
 * not determine one by one, as with a function N, are those of the state. */
static int keep(const Shaky *x) {
  const CPMech mech         = x->mech;
  struct CPMechShaky_ *kept = mech->shaky;
  if (!kept && (kept = mech->shaky = calloc(1, sizeof *kept))) {
    CP_NEW(&kept->arena, kept->in_q, mech->nq);
    CP_NEW(&kept->arena, kept->in_u, mech->nu);
    CP_ARRAYS(&kept->arena, mech->nq, &kept->q0, &kept->q);
    CP_NEW(&kept->arena, kept->u, mech->nu);
  }
  if (!kept || cpArenaStatus(&kept->arena)) return cpReason(mech->text, CP_MEM_FAIL, "no memory");
  memset(kept->in_q, 0, (size_t)mech->nq);
  memcpy(kept->q0, x->s->q, (size_t)mech->nq * sizeof *kept->q0);
  for (int j = 0; j < mech->nu; j++) {
    kept->in_u[j] = x->place[j] >= 0;
    if (kept->in_u[j] && mech->coords->pair[j] >= 0) kept->in_q[mech->coords->pair[j]] = 1;
  }
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    const CPMechQuaternion *e = &mech->coords->quaternions[k];
    for (int j = 0; j < 3; j++)
      if (kept->in_u[e->first_u + j]) memset(kept->in_q + e->first_q, 1, 4);
  }
  kept->any = 1;
  return CP_SUCCESS;
}

/* Is the load at s, with the accelerations a, one that no finite multipliers balance? Then tells it. If not, and
 * if `starts`, remembers loops that are shaky under another load. Returns 0 or a code. */
static int examine(CPMech mech, const CPMechState *s, const double *a, int starts) {
  Shaky x  = {.mech = mech, .s = s};
  int flag = CP_SUCCESS;
  /* Rows that are switched may be contacts, which open. */
  if (mech->kkt->dependent < 0 || mech->motions->nfull > 0 || mech->rows.layout > 0)
    return CP_SUCCESS;
  CP_NEW(&x.arena, x.rests, mech->m);
  CP_ARRAYS(&x.arena, mech->m, &x.b0, &x.b, &x.r, &x.lambda);
  CP_ARRAYS(&x.arena, mech->nu, &x.w, &x.v, &x.aside);
  CP_NEW(&x.arena, x.column, mech->nu);
  CP_NEW(&x.arena, x.place, mech->nu);
  flag = cpArenaStatus(&x.arena) ? cpReason(mech->text, CP_MEM_FAIL, "no memory") : CP_SUCCESS;
  if (!flag && findResting(&x)) {
    const CPMechState rest = {.t = s->t, .q = s->q, .u = x.v, .z = s->z};
    memset(x.v, 0, (size_t)mech->nu * sizeof *x.v);
    const int usable = !cpMechB(mech, &rest, x.b0);
    if (usable && accelerations(&x, a) && selfStress(&x) && isStable(&x)) {
      tell(&x);
      flag = CP_KKT_INCONSISTENT;
    } else if (usable && starts && anyVelocities(&x) && selfStress(&x) && isStable(&x)) {
      flag = keep(&x);
    }
  }
  if (!flag && cpArenaStatus(&x.arena)) flag = cpReason(mech->text, CP_MEM_FAIL, "no memory");
  cpArenaFree(&x.arena);
  return flag;
}

int cpMechShakyStart(CPMech mech, const CPMechState *s, const double *a, int flag) {
  char state[STATE], reason[STATE];
  if (mech->shaky) mech->shaky->any = 0;
  if (!flag) return examine(mech, s, a, 1);
  if (flag != -CP_KKT_INCONSISTENT || !describe(mech, s->t, state)[0]) return flag;
  memcpy(reason, mech->text, sizeof reason);
  reason[sizeof reason - 1] = '\0';
  return cpReason(mech->text, flag, "%.*s; %s", STATE / 2, reason, state);
}

int cpMechShakyStep(sunrealtype t, N_Vector y, void *data) {
  const CPMech mech         = data;
  struct CPMechShaky_ *kept = mech->shaky;
  CPMechState s;
  if (!kept || !kept->any || cpMechRead(mech, t, N_VGetArrayPointer(y), &s)) return CP_SUCCESS;
  for (int i = 0; i < mech->nq; i++) kept->q[i] = kept->in_q[i] ? kept->q0[i] : s.q[i];
  for (int j = 0; j < mech->nu; j++) kept->u[j] = kept->in_u[j] ? 0.0 : s.u[j];
  s.q = kept->q, s.u = kept->u;
  const int flag = cpMechSolve(mech, &s, mech->solve.a, mech->solve.lambda);
  if (flag) return mech->attached.cause = flag == CP_MEM_FAIL ? flag : CP_SUCCESS;
  return mech->attached.cause = examine(mech, &s, mech->solve.a, 0);
}

void cpMechShakyFree(CPMech mech) {
  if (mech->shaky) cpArenaFree(&mech->shaky->arena);
  free(mech->shaky);
  mech->shaky = NULL;
}
