/* The iteration matrix for one gamma, its right-hand side, and the quantities that follow from its
 * solution, with the equations of newton_impl.h. */
#include "cpodes/mechanics/kinematics.h"
#include "newton_impl.h"

#include <string.h>

/* ---- quaternions: E is the multiplication by g / gamma = (0, omega / 2), from the right in the
 * body frame (sign +1), from the left in the world frame (-1). As
 * 1 / (1 - g) = (1 + g) / (1 + g.g),
 *
 *   (1 - gamma E)^-1 p = p o (1 + g) / (1 + g.g)     (body)
 *   T w = (w + sign w x g) / (1 + g.g)
 *
 * This holds for a complex gamma, too, where products are those of quaternions with complex
 * components. Real and imaginary parts are computed one by one: most gamma are real, and complex
 * products of C test for NaN. ---- */

static void setRotation(CPRotation *R, const CPMechQuaternion *Q, const double *u,
                        double complex gamma) {
  double complex square = 1.0;
  R->sign               = Q->frame == CP_FRAME_BODY ? 1.0 : -1.0;
  for (int d = 0; d < 3; d++) {
    const double complex g = 0.5 * gamma * u[Q->first_u + d];
    R->g[0][d] = creal(g), R->g[1][d] = cimag(g);
    square += g * g;
  }
  const double complex scale = 1.0 / square;
  R->scale[0] = creal(scale), R->scale[1] = cimag(scale);
}

static double cross(const double *a, const double *b, int d) {
  const int e = (d + 1) % 3, f = (d + 2) % 3;
  return a[e] * b[f] - a[f] * b[e];
}

/* *re + i *im is multiplied by R's scale. */
static void rescale(const CPRotation *R, double *re, double *im) {
  const double x = *re, y = *im;
  *re = R->scale[0] * x - R->scale[1] * y;
  *im = R->scale[0] * y + R->scale[1] * x;
}

/* JT <- J T. For a row (x, y, z) in the three columns of a quaternion, this is T^T (x, y, z), and
 * T^T is T with -g. */
static void timesT(const CPNewtonMatrix *S, const CPMat *J, CPMat JT[2]) {
  const CPMech mech = S->P->mech;
  const size_t size = cpMatEntries(J) * sizeof *J->value;
  memcpy(JT[0].value, J->value, size);
  if (S->parts == 2) memset(JT[1].value, 0, size);
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    const CPRotation *R = &S->rotation[k];
    const int j         = mech->coords->quaternions[k].first_u;
    const size_t first = cpMatFirst(J, j), count = cpMatFirst(J, j + 1) - first;
    for (size_t e = first; e < first + count; e++) {
      const double row[3] = {J->value[e], J->value[e + count], J->value[e + 2 * count]};
      for (int d = 0; d < 3; d++) {
        double re = row[d] - R->sign * cross(row, R->g[0], d),
               im = S->parts == 2 ? -R->sign * cross(row, R->g[1], d) : 0.0;
        rescale(R, &re, &im);
        JT[0].value[e + (size_t)d * count] = re;
        if (S->parts == 2) JT[1].value[e + (size_t)d * count] = im;
      }
    }
  }
}

/* ---- the matrix is a sum of terms ---- */

/* Adds a term with the weight factor * gamma^power. */
static int newTerm(CPNewtonMatrix *S, const CPMat *J, double complex factor, int power, int row,
                   int col, int transposed) {
  S->factor[S->nterms]  = factor;
  S->power[S->nterms++] = power;
  return cpLuTerm(S->lu, J, row, col, transposed);
}

/*   [ M - gamma C  - gamma^2 K T    A^T - Fl   - gamma Fz  ]
 *   [ A - gamma Bu - gamma^2 Bq T       0           0      ]
 *   [   - gamma Zu - gamma^2 Zq T     - Zl       - gamma Zz]   and diagonal entries 1 */
static int createTerms(CPNewtonMatrix *S) {
  const CPPartials P = S->P;
  const int nu = P->nu, m = P->m, quaternions = P->mech->coords->nquaternions > 0;
  const int row[CP_OUTPUTS]          = {0, nu, nu + m};
  const int col[CP_DIRECTIONS]       = {0, 0, nu + m, nu};
  const int power[CP_DIRECTIONS]     = {2, 1, 1, 0};
  const CPMat *const own[CP_OUTPUTS] = {&P->M, &P->A, NULL};
  int flag                           = P->kkt ? newTerm(S, &P->A, 1.0, 0, 0, nu, 1) : CP_SUCCESS;
  for (int of = 0; of < CP_OUTPUTS;
       of++) { /* Terms at one place are neighbours, so that they are added together. */
    if (!flag && P->kkt && own[of]) flag = newTerm(S, own[of], 1.0, 0, row[of], 0, 0);
    for (int by = 0; !flag && by < CP_DIRECTIONS; by++) {
      const CPMat *J = &P->block[of][by].J;
      if (!P->block[of][by].exists) continue;
      if (by != CP_BY_Q || !quaternions) {
        flag = newTerm(S, J, -1.0, power[by], row[of], col[by], 0);
        continue;
      }
      for (int part = 0; !flag && part < S->parts; part++) {
        CPMat *JT = &S->JT[of][part];
        flag      = cpMatLike(&S->arena, JT, J);
        if (!flag) flag = newTerm(S, JT, part ? -I : -1.0, power[by], row[of], col[by], 0);
      }
    }
  }
  return flag;
}

int cpNewtonAssemble(CPNewtonMatrix *S, double complex gamma) {
  const CPPartials P            = S->P;
  char *text                    = P->mech->text;
  const double complex powers[] = {1.0, gamma, gamma * gamma};
  double complex weight[CP_MAX_TERMS];
  S->gamma = gamma;
  for (int k = 0; k < P->mech->coords->nquaternions; k++)
    setRotation(&S->rotation[k], &P->mech->coords->quaternions[k], P->u, gamma);
  for (int of = 0; of < CP_OUTPUTS; of++)
    if (S->JT[of][0].value) timesT(S, &P->block[of][CP_BY_Q].J, S->JT[of]);
  /* Parts are multiplied by hand, because complex products of C test for NaN. (CMPLX is not defined
   * by every compiler with glibc.) */
  for (int k = 0; k < S->nterms; k++) {
    const double complex f = S->factor[k], g = powers[S->power[k]];
    weight[k] =
        creal(f) * creal(g) - cimag(f) * cimag(g) + (creal(f) * cimag(g) + cimag(f) * creal(g)) * I;
  }
  const int flag = cpLuAssemble(S->lu, weight);
  if (flag) return cpReason(text, flag, "no memory for the iteration matrix");
  if (cpLuFinite(S->lu)) return CP_SUCCESS;
  P->valid = 0; /* a difference has overflowed, which factors might not show */
  return cpReason(text, -CP_MECH_NONFINITE, "at t = %.10g: the iteration matrix is not finite",
                  P->t);
}

int cpNewtonFactor(CPNewtonMatrix *S) {
  const CPMech mech = S->P->mech;
  mech->stats.nnewton++;
  const int flag = cpLuFactor(S->lu);
  if (flag > 0)
    return cpReason(mech->text, -CP_LINSOL_FAIL,
                    "at t = %.10g: the iteration matrix is singular (gamma = %g)", S->P->t,
                    creal(S->gamma));
  return flag ? cpReason(mech->text, flag, "no factors of the iteration matrix") : CP_SUCCESS;
}

/* ---- right-hand sides, and what follows from the solution; vectors are pairs of real and
 * imaginary parts ---- */

/* v <- w, but zero in FULL motions, whose velocities are not unknowns. */
static void freeVelocities(const CPNewtonMatrix *S, double *const w[2], double *const v[2]) {
  for (int part = 0; part < S->parts; part++)
    for (int j = 0; j < S->P->nu; j++) v[part][j] = S->P->fixed[j] ? 0.0 : w[part][j];
}

/* x += gamma w */
static void addGamma(const CPNewtonMatrix *S, int count, double *const w[2], double *const x[2]) {
  const double re = creal(S->gamma), im = cimag(S->gamma);
  for (int i = 0; i < count; i++) x[0][i] += re * w[0][i];
  if (S->parts == 1) return;
  for (int i = 0; i < count; i++) {
    x[0][i] -= im * w[1][i];
    x[1][i] += im * w[0][i] + re * w[1][i];
  }
}

/* y += c p o (0, g), a real quaternion and a real vector */
static void addProduct(double sign, double c, const double *p, const double *g, double *y) {
  y[0] -= c * (p[1] * g[0] + p[2] * g[1] + p[3] * g[2]);
  y[1] += c * (p[0] * g[0] + sign * (p[2] * g[2] - p[3] * g[1]));
  y[2] += c * (p[0] * g[1] + sign * (p[3] * g[0] - p[1] * g[2]));
  y[3] += c * (p[0] * g[2] + sign * (p[1] * g[1] - p[2] * g[0]));
}

/* x <- (1 - gamma E)^-1 x, positions */
static void turn(const CPNewtonMatrix *S, double *const x[2]) {
  const CPMech mech = S->P->mech;
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    const CPRotation *R = &S->rotation[k];
    const int first     = mech->coords->quaternions[k].first_q;
    double turned[2][4];
    for (int part = 0; part < S->parts; part++) {
      const double *p = x[part] + first;
      memcpy(turned[part], p, sizeof turned[part]);
      addProduct(R->sign, 1.0, p, R->g[0], turned[part]);
    }
    if (S->parts == 2) {
      addProduct(R->sign, -1.0, x[1] + first, R->g[1], turned[0]);
      addProduct(R->sign, 1.0, x[0] + first, R->g[1], turned[1]);
    }
    for (int d = 0; d < 4; d++)
      if (S->parts == 2) rescale(R, &turned[0][d], &turned[1][d]);
      else turned[0][d] *= R->scale[0];
    for (int part = 0; part < S->parts; part++)
      memcpy(x[part] + first, turned[part], sizeof turned[part]);
  }
}

/* x <- (1 - gamma E)^-1 (x + gamma N v), positions */
static int positions(CPNewtonMatrix *S, double *const v[2], double *const x[2]) {
  const CPMech mech = S->P->mech;
  if (mech->coords->in_order) {
    addGamma(S, mech->nq, v, x);
    return CP_SUCCESS;
  }
  for (int part = 0; part < S->parts; part++) {
    const int flag = cpMechKinematics(mech, S->P->q, CP_N, v[part], S->Nv[part]);
    if (flag) return flag;
  }
  addGamma(S, mech->nq, S->Nv, x);
  turn(S, x);
  return CP_SUCCESS;
}

/* s <- N^+ x: the change x of positions in terms of the directions N e_j of K, Bq and Zq */
static int directions(CPNewtonMatrix *S, double *const x[2]) {
  for (int part = 0; part < S->parts; part++) {
    const int flag = cpMechKinematics(S->P->mech, S->P->q, CP_N_INVERSE, x[part], S->s[part]);
    if (flag) return flag;
  }
  freeVelocities(S, S->s, S->s);
  return CP_SUCCESS;
}

/* x += [K; Bq; Zq] w if by is CP_BY_Q, and so on; x [order] is one part. */
static void addBlocks(const CPNewtonMatrix *S, CPDirection by, const double *w, double *x) {
  const CPPartials P          = S->P;
  const int first[CP_OUTPUTS] = {0, P->nu, P->nu + P->m};
  for (int of = 0; of < CP_OUTPUTS; of++) cpBlockTimes(&P->block[of][by], 1.0, w, x + first[of]);
}

/* x: right-hand side, then solution (a', lambda', zeta') */
static int solve(CPNewtonMatrix *S, double *const x[2]) {
  const CPPartials P = S->P;
  for (int i = 0; i < P->nu + P->m + P->nz; i++)
    for (int part = 0; P->fixed[i] && part < S->parts; part++) x[part][i] = 0.0;
  const int flag = cpLuSolve(S->lu, x[0], x[1]);
  return flag ? cpReason(P->mech->text, flag, "the factors of the iteration matrix failed") : flag;
}

int cpNewtonSolve(CPNewtonMatrix *S, const double *r, double *x) {
  const CPPartials P = S->P;
  const CPMech mech  = P->mech;
  const int nq = mech->nq, nu = P->nu, m = P->m, nz = P->nz;
  double *const dq[2] = {x}, *const du[2] = {x + nq}, *const dz[2] = {x + nq + nu};
  double *const da[2] = {S->x[0]}, *const dzeta[2] = {S->x[0] + nu + m};
  memcpy(x, r, (size_t)mech->n * sizeof *x);

  /* s = N^+ (1 - gamma E)^-1 (r_q + gamma N r_u) */
  memcpy(S->rq[0], r, (size_t)nq * sizeof *r);
  freeVelocities(S, du, S->v);
  int flag = positions(S, S->v, S->rq);
  if (!flag) flag = directions(S, S->rq);
  if (flag) return flag;

  /* [K; Bq; Zq] s + [C; Bu; Zu] r_u + [Fz; 0; Zz] r_z */
  memset(S->x[0], 0, (size_t)(nu + m + nz) * sizeof *S->x[0]);
  addBlocks(S, CP_BY_Q, S->s[0], S->x[0]);
  addBlocks(S, CP_BY_U, S->v[0], S->x[0]);
  addBlocks(S, CP_BY_Z, dz[0], S->x[0]);
  flag = solve(S, S->x);
  if (flag) return flag;

  addGamma(S, nu, da, du);
  addGamma(S, nz, dzeta, dz);
  freeVelocities(S, du, S->v);
  flag = positions(S, S->v, dq); /* dq = (1 - gamma E)^-1 (r_q + gamma N du) */
  if (flag || P->nquad == 0 || mech->stage.left_out > 0) return flag;
  flag = directions(S, dq);
  if (!flag)
    flag = cpPartialsAlong(P, (const double *[]){S->s[0], S->v[0], dz[0], S->x[0] + nu}, S->change);
  for (int k = 0; !flag && k < P->nquad; k++) dz[0][nz + k] += creal(S->gamma) * S->change[k];
  return flag;
}

/* v <- gamma N^+ (1 - gamma E)^-1 r, positions, but zero in FULL motions */
static int gammaDirections(CPNewtonMatrix *S, double *const r[2], double *const v[2]) {
  const CPPartials P = S->P;
  const CPMech mech  = P->mech;
  for (int part = 0; part < S->parts; part++) memset(v[part], 0, (size_t)P->nu * sizeof *v[part]);
  if (mech->coords->in_order) {
    addGamma(S, P->nu, r, v);
    freeVelocities(S, v, v);
    return CP_SUCCESS;
  }
  for (int part = 0; part < S->parts; part++)
    memcpy(S->rq[part], r[part], (size_t)mech->nq * sizeof *r[part]);
  turn(S, S->rq);
  const int flag = directions(S, S->rq);
  if (!flag) addGamma(S, P->nu, S->s, v);
  return flag;
}

int cpNewtonCorrect(CPNewtonMatrix *S, double *re, double *im) {
  const CPPartials P = S->P;
  const int nq = P->mech->nq, nu = P->nu, m = P->m, nz = P->nz, all = P->mech->nz;
  double *const r[2] = {re, im}, *const dq[2] = {re, im};
  double *x[2] = {S->x[0], S->x[1]};

  /* The right-hand side is (r_F, r_B, r_z) + [K; Bq; Zq] gamma s, s = N^+ (1 - gamma E)^-1 r_q. If
   * q' = u, r_q is often 0. */
  int any = 0;
  for (int part = 0; part < S->parts; part++)
    for (int i = 0; i < nq; i++) any |= r[part][i] != 0.0;
  int flag = any ? gammaDirections(S, r, S->v) : CP_SUCCESS;
  if (flag) return flag;
  for (int part = 0; part < S->parts; part++) {
    if (all == 0) { /* The order of the unknowns is that of the residuals. */
      x[part] = r[part] + nq;
    } else {
      memcpy(x[part], r[part] + nq, (size_t)nu * sizeof *re);
      memcpy(x[part] + nu, r[part] + nq + nu + all, (size_t)m * sizeof *re);
      memcpy(x[part] + nu + m, r[part] + nq + nu, (size_t)nz * sizeof *re);
    }
    if (any) addBlocks(S, CP_BY_Q, S->v[part], x[part]);
  }
  flag = solve(S, x);
  if (flag) return flag;

  for (int part = 0; all > 0 && part < S->parts; part++) {
    memcpy(r[part] + nq, x[part], (size_t)nu * sizeof *re);
    memcpy(r[part] + nq + nu, x[part] + nu + m, (size_t)nz * sizeof *re);
    memcpy(r[part] + nq + nu + all, x[part] + nu, (size_t)m * sizeof *re);
  }
  return positions(S, x, dq); /* (1 - gamma E)^-1 (r_q + gamma N u'') */
}

/* ---- life cycle ---- */

int cpNewtonMatrixCreate(CPNewtonMatrix *S, CPPartials P, int is_complex) {
  const int order = P->nu + P->m + P->nz;
  *S              = (CPNewtonMatrix){.P = P, .parts = is_complex ? 2 : 1};
  for (int part = 0; part < S->parts; part++) {
    CP_NEW(&S->arena, S->x[part], order);
    CP_ARRAYS(&S->arena, P->nu, &S->s[part], &S->v[part]);
    CP_ARRAYS(&S->arena, P->mech->nq, &S->rq[part], &S->Nv[part]);
  }
  CP_NEW(&S->arena, S->change, P->nquad);
  CP_NEW(&S->arena, S->rotation, P->mech->coords->nquaternions);
  int flag = cpArenaStatus(&S->arena);
  /* HALF has the identity in place of M, and both types have it for zeta'. */
  if (!flag)
    flag = cpLuCreate(&S->lu, order, P->sparse, is_complex, P->fixed, P->kkt ? P->nu + P->m : 0);
  if (!flag) cpLuShare(S->lu, P->mech->model->memo);
  return flag ? flag : createTerms(S);
}

void cpNewtonMatrixFree(CPNewtonMatrix *S) {
  cpLuFree(&S->lu);
  cpArenaFree(&S->arena);
}

/* ---- the symmetric part of W = M - gamma C - gamma^2 K T, as a metric of velocities ---- */

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

double cpMechNewtonGamma(const CPMech mech, sunrealtype *t) {
  *t = mech->newton ? mech->newton->P->t : 0.0;
  return mech->newton ? creal(mech->newton->S.gamma) : 0.0;
}

int cpMechNewtonMetric(CPMech mech, CPMat *W) {
  const CPMechNewtonMem newton = mech->newton;
  sunrealtype t;
  const double gamma = cpMechNewtonGamma(mech, &t), square = gamma * gamma;
  if (gamma == 0.0 || !newton->P->kkt || !newton->P->valid) return 1;
  const CPPartials P = newton->P;
  const CPMat *M = &P->M, *C = &P->block[CP_OF_F][CP_BY_U].J, *KT = &newton->S.JT[CP_OF_F][0];
  const CPMat *K = KT->value ? KT : &P->block[CP_OF_F][CP_BY_Q].J;
  if (!M->start && !C->start && !K->start) {
    for (size_t k = 0; k < cpMatEntries(W); k++)
      W->value[k] = M->value[k] - gamma * C->value[k] - square * K->value[k];
  } else {
    cpMatZero(W);
    cpMatAdd(W, 1.0, M);
    cpMatAdd(W, -gamma, C);
    cpMatAdd(W, -square, K);
  }
  cpMatSymmetrise(W);
  return 0;
}
