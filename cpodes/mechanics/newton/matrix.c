/* The iteration matrix for one gamma, its right-hand side, and what follows from its solution; the equations are those
 * of newton_impl.h. */
#include "newton_impl.h"

#include <string.h>

/* ---- quaternions: E is the multiplication by g / gamma = (0, omega / 2), from the right in the body's
 * frame (sign +1), from the left in the world's (-1). 1 / (1 - g) = (1 + g) / (1 + |g|^2), so that
 *
 *   (1 - gamma E)^-1 p = p o (1 + g) / (1 + |g|^2)     (body)
 *   T w = (w + sign w x g) / (1 + |g|^2)
 * ---- */

typedef struct {
  double sign, g[3], scale; /* scale = 1 / (1 + |g|^2) */
} Rotation;

static Rotation rotationOf(const CPQuaternion *Q, const double *u, double gamma) {
  Rotation R    = {.sign = Q->frame == CP_FRAME_BODY ? 1.0 : -1.0};
  double square = 0.0;
  for (int d = 0; d < 3; d++) {
    R.g[d] = 0.5 * gamma * u[Q->first_u + d];
    square += R.g[d] * R.g[d];
  }
  R.scale = 1.0 / (1.0 + square);
  return R;
}

static double cross(const double *a, const double *b, int d) {
  const int e = (d + 1) % 3, f = (d + 2) % 3;
  return a[e] * b[f] - a[f] * b[e];
}

/* JT <- J T. A row (x, y, z) of a quaternion's three columns times T is T^T (x, y, z), which is T with -g. */
static void timesT(const CPPartials P, double gamma, const CPMat *J, CPMat *JT) {
  const CPMech mech = P->mech;
  memcpy(JT->value, J->value, cpMatEntries(J) * sizeof *J->value);
  for (int k = 0; k < mech->coords.nquaternions; k++) {
    const Rotation R   = rotationOf(&mech->coords.quaternions[k], P->u, gamma);
    const int j        = mech->coords.quaternions[k].first_u;
    const size_t count = cpMatFirst(J, j + 1) - cpMatFirst(J, j);
    double *column     = JT->value + cpMatFirst(J, j);
    for (size_t e = 0; e < count; e++) {
      const double row[3] = {column[e], column[e + count], column[e + 2 * count]};
      for (int d = 0; d < 3; d++)
        column[e + (size_t)d * count] = R.scale * (row[d] - R.sign * cross(row, R.g, d));
    }
  }
}

/* ---- the matrix is a sum of terms ---- */

static int newTerm(CPNewtonMatrix *S, const CPMat *J, int power, int row, int col, int transposed) {
  CPTerm *term = &S->term[S->nterms++];
  *term        = (CPTerm){J, power, row, col, transposed, NULL};
  if (!S->P->sparse) return CP_SUCCESS;
  if (!CP_NEW(&S->arena, term->place, cpMatEntries(J))) return CP_MEM_FAIL;
  for (size_t k = 0; k < cpMatEntries(J); k++) term->place[k] = CP_NO_PLACE;
  return CP_SUCCESS;
}

/*   [ M - gamma C  - gamma^2 K T    A^T - Fl   - gamma Fz  ]
 *   [ A - gamma Bu - gamma^2 Bq T       0           0      ]
 *   [   - gamma Zu - gamma^2 Zq T     - Zl       - gamma Zz]   and diagonal entries 1 (units) */
static int createTerms(CPNewtonMatrix *S) {
  const CPPartials P = S->P;
  const int nu = P->nu, m = P->m, quaternions = P->mech->coords.nquaternions > 0;
  const int row[CP_OUTPUTS]      = {0, nu, nu + m};
  const int col[CP_DIRECTIONS]   = {0, 0, nu + m, nu};
  const int power[CP_DIRECTIONS] = {2, 1, 1, 0};
  int flag                       = CP_SUCCESS;
  if (P->kkt) {
    flag = newTerm(S, &P->M, -1, 0, 0, 0);
    if (!flag) flag = newTerm(S, &P->A, -1, nu, 0, 0);
    if (!flag) flag = newTerm(S, &P->A, -1, 0, nu, 1);
  }
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int by = 0; !flag && by < CP_DIRECTIONS; by++) {
      const CPMat *J = &P->block[of][by].J;
      if (!P->block[of][by].exists) continue;
      if (by == CP_BY_Q && quaternions) {
        flag = cpMatOwn(&S->arena, &S->JT[of]);
        if (!flag) flag = cpMatClone(&S->JT[of], J);
        J = &S->JT[of];
      }
      if (!flag) flag = newTerm(S, J, power[by], row[of], col[by], 0);
    }
  return flag;
}

/* HALF has 1 in place of M, zeta' has 1 with both, and fixed rows have nothing but 1. */
static int hasUnit(const CPPartials P, int i) {
  return P->fixed[i] || i >= P->nu + P->m || !P->kkt;
}

/* The pattern of a sparse matrix is the union of its terms' patterns, without the rows and columns that are fixed. A
 * dense block (of z) takes part where it is not zero, or has not been zero before. */
static int createPattern(CPNewtonMatrix *S) {
  const CPPartials P = S->P;
  const char *fixed  = P->fixed;
  CPMat *matrix      = &S->lu.S;
  CPPlaces all       = {0};
  for (int place = 0; place <= 1; place++) { /* collects entries, then asks for their places */
    for (CPTerm *term = S->term; term < S->term + S->nterms; term++)
      for (int c = 0; c < term->J->cols; c++)
        for (size_t k = cpMatFirst(term->J, c); k < cpMatFirst(term->J, c + 1); k++) {
          const int r        = cpMatRow(term->J, c, k);
          const int i        = term->row + (term->transposed ? c : r),
                    j        = term->col + (term->transposed ? r : c);
          const int is_fixed = fixed[i] || fixed[j];
          if (place) {
            const double *at = is_fixed ? NULL : cpMatAt(matrix, i, j);
            term->place[k]   = at ? (size_t)(at - matrix->value) : CP_NO_PLACE;
          } else if (!is_fixed &&
                     (term->J->start || term->J->value[k] != 0.0 || term->place[k] != CP_NO_PLACE))
            cpPlacesAdd(&all, i, j);
        }
    if (place) break;
    for (int i = 0; i < S->lu.order; i++)
      if (hasUnit(P, i)) cpPlacesAdd(&all, i, i);
    cpMatFree(matrix);
    if (cpMatFromPlaces(matrix, S->lu.order, S->lu.order, &all)) return CP_MEM_FAIL;
  }
  memcpy(S->fixed_then, fixed, (size_t)S->lu.order);
  S->lu.is_new = 1;
  return CP_SUCCESS;
}

/* S += factor J, J with its first entry at (row, col). Returns 1 if S is sparse and an entry that is not zero has no
 * place in it: one of a dense block (others lack places only where they are fixed). */
static int addTerm(CPMat *S, const CPTerm *term, double factor, const char *fixed) {
  const CPMat *J     = term->J;
  const size_t order = (size_t)S->rows, *place = term->place;
  const size_t by_row = term->transposed ? order : 1, by_col = term->transposed ? 1 : order;
  double *column = S->start ? NULL : S->value + (size_t)term->col * order + (size_t)term->row;
  int misses     = 0;
  for (int j = 0; j < J->cols; j++) {
    const size_t first = cpMatFirst(J, j), end = cpMatFirst(J, j + 1);
    if (!S->start) {
      for (size_t k = first; k < end; k++)
        column[(size_t)cpMatRow(J, j, k) * by_row] += factor * J->value[k];
      column += by_col;
      continue;
    }
    for (size_t k = first; k < end; k++) {
      if (place[k] != CP_NO_PLACE) S->value[place[k]] += factor * J->value[k];
      else if (!J->start)
        misses |=
            J->value[k] != 0.0 && !fixed[term->col + j] && !fixed[term->row + cpMatRow(J, j, k)];
    }
  }
  return misses;
}

/* Returns 1 if the pattern of a sparse matrix lacks an entry. */
static int sumTerms(CPNewtonMatrix *S) {
  const CPPartials P    = S->P;
  CPMat *matrix         = &S->lu.S;
  const double factor[] = {-1.0, -S->gamma, -S->gamma * S->gamma};
  int misses            = 0;
  cpMatZero(matrix);
  for (const CPTerm *term = S->term; term < S->term + S->nterms; term++)
    misses |= addTerm(matrix, term, term->power < 0 ? 1.0 : factor[term->power], P->fixed);
  for (int i = 0; !misses && i < S->lu.order; i++) {
    for (int j = 0; P->fixed[i] && !P->sparse && j < S->lu.order; j++)
      *cpMatAt(matrix, i, j) = *cpMatAt(matrix, j, i) = 0.0;
    if (hasUnit(P, i)) *cpMatAt(matrix, i, i) += 1.0;
  }
  return misses;
}

int cpNewtonAssemble(CPNewtonMatrix *S, double gamma) {
  const CPPartials P = S->P;
  int flag = CP_SUCCESS, misses = 0;
  S->gamma = gamma;
  for (int of = 0; of < CP_OUTPUTS; of++)
    if (S->JT[of].value) timesT(P, gamma, &P->block[of][CP_BY_Q].J, &S->JT[of]);
  if (P->sparse && (!S->lu.S.value || memcmp(P->fixed, S->fixed_then, (size_t)S->lu.order)))
    flag = createPattern(S);
  if (!flag) misses = sumTerms(S);
  if (misses) flag = createPattern(S);
  if (misses && !flag) sumTerms(S);
  return flag;
}

/* ---- its right-hand side, and what follows from its solution ---- */

/* w <- v, without velocities that FULL motions prescribe: nothing depends on them. */
static void freeVelocities(const CPPartials P, const double *v, double *w) {
  for (int j = 0; j < P->nu; j++) w[j] = P->fixed[j] ? 0.0 : v[j];
}

/* rq <- (1 - gamma E)^-1 (r_q + gamma N v) */
static int positions(CPNewtonMatrix *S, const double *r, const double *v, double *rq) {
  const CPPartials P = S->P;
  const CPMech mech  = P->mech;
  const int flag     = cpMechKinematics(mech, P->q, CP_N, v, rq);
  for (int i = 0; !flag && i < mech->nq; i++) rq[i] = r[i] + S->gamma * rq[i];
  for (int k = 0; !flag && k < mech->coords.nquaternions; k++) {
    const Rotation R = rotationOf(&mech->coords.quaternions[k], P->u, S->gamma);
    double *p        = rq + mech->coords.quaternions[k].first_q;
    const double p0 = p[0], v3[3] = {p[1], p[2], p[3]};
    p[0] = R.scale * (p0 - cpDot(v3, R.g, 3));
    for (int d = 0; d < 3; d++)
      p[d + 1] = R.scale * (v3[d] + p0 * R.g[d] + R.sign * cross(v3, R.g, d));
  }
  return flag;
}

int cpNewtonSolve(CPNewtonMatrix *S, const double *r, double *x) {
  const CPPartials P = S->P;
  const CPMech mech  = P->mech;
  const double gamma = S->gamma;
  const int nu = P->nu, nz = P->nz, order = S->lu.order;
  const double *ru = r + mech->nq, *rz = ru + nu;
  double *du = x + mech->nq, *dz = du + nu, *v = S->v;
  double *da = S->x, *dzeta = S->x + nu + P->m;

  /* s = N^+ (1 - gamma E)^-1 (r_q + gamma N r_u) */
  freeVelocities(P, ru, v);
  int flag = positions(S, r, v, S->rq);
  if (!flag) flag = cpMechKinematics(mech, P->q, CP_N_INVERSE, S->rq, S->s);
  if (flag) return flag;
  freeVelocities(P, S->s, S->s);

  /* [K; Bq; Zq] s + [C; Bu; Zu] r_u + [Fz; 0; Zz] r_z */
  const double *const along[]   = {S->s, v, rz};
  double *const rhs[CP_OUTPUTS] = {S->x, S->x + nu, dzeta};
  memset(S->x, 0, (size_t)order * sizeof *S->x);
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int by = 0; by < CP_BY_LAMBDA; by++)
      if (P->block[of][by].exists) cpMatTimes(&P->block[of][by].J, 1.0, along[by], 1.0, rhs[of]);
  for (int i = 0; i < order; i++)
    if (P->fixed[i]) S->x[i] = 0.0;

  flag = S->lu.ops->solve(&S->lu, S->x); /* a', lambda', zeta' */
  if (flag) return cpReason(mech->text, flag, "the factors of the iteration matrix failed");

  for (int j = 0; j < nu; j++) du[j] = ru[j] + gamma * da[j];
  for (int j = 0; j < nz; j++) dz[j] = rz[j] + gamma * dzeta[j];
  freeVelocities(P, du, v);
  return positions(S, r, v, x); /* dq = (1 - gamma E)^-1 (r_q + gamma N du) */
}

/* ---- life cycle ---- */

int cpNewtonMatrixCreate(CPNewtonMatrix *S, CPPartials P) {
  const int order = P->nu + P->m + P->nz;
  *S              = (CPNewtonMatrix){.P = P};
  S->lu           = (struct CPLu_){
                .ops = P->sparse ? &cpLuKluOps : &cpLuDenseOps, .arena = &S->arena, .order = order};
  CP_NEW(&S->arena, S->fixed_then, order);
  CP_NEW(&S->arena, S->x, order);
  CP_NEW(&S->arena, S->s, P->nu);
  CP_NEW(&S->arena, S->v, P->nu);
  CP_NEW(&S->arena, S->rq, P->mech->nq);
  int flag = cpMatOwn(&S->arena, &S->lu.S);
  if (!flag) flag = S->lu.ops->create(&S->lu);
  return flag ? flag : createTerms(S);
}

void cpNewtonMatrixFree(CPNewtonMatrix *S) { cpArenaFree(&S->arena); }

/* ---- the symmetric part of W = M - gamma C - gamma^2 K T, as a metric of velocities ---- */

/* Velocities of FULL motions move nothing: their rows have the diagonal only. */
static void addSymmetric(const CPPartials P, CPMat *W, double factor, const CPMat *J) {
  for (int j = 0; j < J->cols; j++)
    for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++) {
      const int i = cpMatRow(J, j, k);
      if (i != j && (P->fixed[i] || P->fixed[j])) continue;
      *cpMatAt(W, i, j) += 0.5 * factor * J->value[k];
      *cpMatAt(W, j, i) += 0.5 * factor * J->value[k];
    }
}

int cpMechNewtonPattern(CPMech mech, CPMat *W) {
  const CPPartials P = mech->newton ? mech->newton->P : NULL;
  const CPMat *K     = P ? &P->block[CP_OF_F][CP_BY_Q].J : NULL,
              *C     = P ? &P->block[CP_OF_F][CP_BY_U].J : NULL;
  if (!P || !P->sparse || !K->start || !C->start) return cpMatCreateDense(W, mech->nu, mech->nu);
  CPPlaces all = {0};
  for (int transposed = 0; transposed <= 1; transposed++) {
    cpPlacesAddMat(&all, &P->M, 0, 0, transposed);
    cpPlacesAddMat(&all, C, 0, 0, transposed);
    cpPlacesAddMat(&all, K, 0, 0, transposed);
  }
  return cpMatFromPlaces(W, mech->nu, mech->nu, &all);
}

int cpMechNewtonMetric(CPMech mech, CPMat *W) {
  const CPMechNewtonMem newton = mech->newton;
  if (!newton || !newton->P->kkt || !newton->P->valid || newton->S.gamma == 0.0) return 1;
  const CPPartials P = newton->P;
  const CPMat *KT = &newton->S.JT[CP_OF_F], *K = &P->block[CP_OF_F][CP_BY_Q].J;
  const double gamma = newton->S.gamma;
  cpMatZero(W);
  addSymmetric(P, W, 1.0, &P->M);
  addSymmetric(P, W, -gamma, &P->block[CP_OF_F][CP_BY_U].J);
  addSymmetric(P, W, -gamma * gamma, KT->value ? KT : K);
  return 0;
}
