/* y' = f(t, y) as an implicit system: r = f(t, y) - k, D(g) = I - g J. */
#include "radau.h"

#include <math.h>
#include <string.h>

typedef struct {
  CPOneStep mem;
  int n;
  N_Vector y, f, tmp[3]; /* a state, f at it, and workspace of the user's Jacobian */
  CPUserMat J;
  /* difference quotients: groups of columns, increments [n], points that are evaluated in one
   * call */
  CPColoring colors;
  double *step; /* of differences and of comparisons with them */
  CPGross gross;
  int room;
  sunrealtype *t;     /* [room] */
  sunrealtype *Y, *F; /* [room n] */
  CPLu lu[CP_STAGE_FACTORS];
} CPOde;

/* ode->f = f(t, y) */
static int evaluate(CPOde *ode, sunrealtype t, const sunrealtype *y) {
  memcpy(N_VGetArrayPointer(ode->y), y, (size_t)ode->n * sizeof *y);
  return cpOneStepRhs(ode->mem, t, ode->y, ode->f, 0);
}

static int start(sunrealtype t, const sunrealtype *y, sunrealtype *k, void *data) {
  CPOde *ode     = data;
  const int flag = evaluate(ode, t, y);
  if (!flag) memcpy(k, N_VGetArrayPointer(ode->f), (size_t)ode->n * sizeof *k);
  return flag;
}

static int residual(sunrealtype t, const sunrealtype *y, const sunrealtype *k, sunrealtype *r,
                    void *data) {
  CPOde *ode           = data;
  const int flag       = evaluate(ode, t, y);
  const sunrealtype *f = N_VGetArrayPointer(ode->f);
  for (int j = 0; !flag && j < ode->n; j++) r[j] = f[j] - k[j];
  return flag;
}

static int residuals(int s, const sunrealtype *t, const sunrealtype *Y, const sunrealtype *k,
                     sunrealtype *r, void *data) {
  const CPOde *ode = data;
  const int flag   = cpOneStepRhsBatch(ode->mem, s, t, Y, r);
  for (int j = 0; !flag && j < s * ode->n; j++) r[j] -= k[j];
  return flag;
}

/* ---- J ---- */

/* F_i = f(t, Y_i), i < k */
static int evaluateAll(CPOde *ode, int k, sunrealtype t) {
  const size_t n = (size_t)ode->n;
  int flag       = CP_SUCCESS;
  for (int i = 0; i < k; i++) ode->t[i] = t;
  if (ode->mem->batch) return cpOneStepRhsBatch(ode->mem, k, ode->t, ode->Y, ode->F);
  for (int i = 0; !flag && i < k; i++) {
    flag = evaluate(ode, t, ode->Y + i * n);
    memcpy(ode->F + i * n, N_VGetArrayPointer(ode->f), n * sizeof *ode->F);
  }
  return flag;
}

/* Point 0 of the difference quotients is y; at point p the columns of group p - 1 are moved. Sets
 * col to these columns, and returns their number. */
static int columns(const CPOde *ode, int p, const int **col) {
  const int *start = ode->colors.start;
  if (p == 0) return 0;
  *col = ode->colors.col + start[p - 1];
  return start[p] - start[p - 1];
}

/* Sets the increments: the larger of a relative change and a tolerance, as only the latter knows the
 * size of a component that is small, such as that of an intermediate product of a reaction. */
static void setSteps(CPOde *ode, const sunrealtype *y, const sunrealtype *ewt) {
  const double root = sqrt(CP_UROUND);
  for (int j = 0; j < ode->n; j++) {
    volatile double moved = y[j] + fmax(root * fabs(y[j]), fmin(1.0 / ewt[j], root));
    ode->step[j]          = moved - y[j]; /* y_j + step_j is exact */
  }
}

/* J e = f(t, y + e) - f(t, y) for the increments e of each group, with `room` points in one call */
static int differences(CPOde *ode, sunrealtype t, const sunrealtype *y, const sunrealtype *ewt) {
  const CPMat *J  = &ode->J.A;
  const size_t n  = (size_t)ode->n;
  sunrealtype *f0 = N_VGetArrayPointer(ode->tmp[0]);
  const int *col  = NULL;
  setSteps(ode, y, ewt);
  for (int p = 0; p <= ode->colors.ngroups; p += ode->room) {
    const int left = ode->colors.ngroups + 1 - p, k = left < ode->room ? left : ode->room;
    for (int i = 0; i < k; i++) {
      sunrealtype *Y = memcpy(ode->Y + i * n, y, n * sizeof *y);
      for (int c = columns(ode, p + i, &col) - 1; c >= 0; c--) Y[col[c]] += ode->step[col[c]];
    }
    const int flag = evaluateAll(ode, k, t);
    if (flag) return flag;
    if (p == 0) memcpy(f0, ode->F, n * sizeof *f0);
    for (int i = 0; i < k; i++) {
      const sunrealtype *f = ode->F + i * n;
      for (int c = columns(ode, p + i, &col) - 1; c >= 0; c--)
        for (size_t e = cpMatFirst(J, col[c]); e < cpMatFirst(J, col[c] + 1); e++) {
          const int row = cpMatRow(J, col[c], e);
          J->value[e]   = (f[row] - f0[row]) / ode->step[col[c]];
        }
    }
  }
  return CP_SUCCESS;
}

/* Where J is compared with f */
typedef struct {
  CPOde *ode;
  sunrealtype t;
  const sunrealtype *y;
} Point;

static int displaced(const CPGross *c, void *data) {
  const Point *at = data;
  sunrealtype *y  = N_VGetArrayPointer(at->ode->y);
  for (int j = 0; j < c->n; j++) y[j] = at->y[j] + c->v[j];
  return cpOneStepRhs(at->ode->mem, at->t, at->ode->y, at->ode->f, 0);
}

/* Is the user's J grossly too large along random increments? Returns 0, or a code with the reason in
 * base.text. */
static int compare(CPOde *ode, sunrealtype t, const sunrealtype *y, const sunrealtype *k,
                   const sunrealtype *ewt, sunrealtype h) {
  CPGross *c         = &ode->gross;
  const CPGrossOf *f = c->of;
  Point at           = {ode, t, y};
  int flag           = CP_SUCCESS;
  setSteps(ode, y, ewt);
  for (int j = 0; j < ode->n; j++) f->beside[j] = fabs(ode->step[j] / h);
  if (!cpGrossIsDue(c)) return CP_SUCCESS;
  memset(f->right, 0, (size_t)ode->n);
  if (((CPRadau)ode->mem->own)->last) flag = evaluate(ode, t, y), k = f->change;
  if (!flag) memcpy(f->value, k, (size_t)ode->n * sizeof *k); /* At the start k is f(t, y). */
  if (!flag) flag = cpFindGross(c, &at);
  if (flag) return flag > 0 ? CP_SUCCESS : flag; /* there is nothing to compare */
  if (c->wrong < 0) return CP_SUCCESS;
  return cpReason(ode->mem->base.text, CP_ILL_INPUT,
                  "at t = %.10g: the Jacobian function is grossly wrong: for a change of y it says "
                  "that f changes by %.3g in row %d, and it changes by %.3g",
                  t, f->product[c->row], c->row, f->change[c->row]);
}

static int partials(int which, sunrealtype t, const sunrealtype *y, const sunrealtype *k,
                    const sunrealtype *ewt, sunrealtype h, int *jump, void *data) {
  CPOde *ode          = data;
  const CPOneStep mem = ode->mem;
  char *text          = mem->base.text;
  int i, j;
  (void)which; /* without `leading` there are no CP_STAGE_FACTORS */
  *jump = 0;
  if (!mem->jac) return differences(ode, t, y, ewt);
  memcpy(N_VGetArrayPointer(ode->y), y, (size_t)ode->n * sizeof *y);
  memcpy(N_VGetArrayPointer(ode->f), k, (size_t)ode->n * sizeof *k);
  cpUserMatClear(&ode->J);
  const int flag = mem->jac(t, ode->y, ode->f, ode->J.S, cpOneStepUserData(&mem->base), ode->tmp[0],
                            ode->tmp[1], ode->tmp[2]);
  if (flag) return cpUserResult(text, flag, t, "the Jacobian function");
  switch (cpUserMatTake(&ode->J, &i, &j)) {
  case 0: return compare(ode, t, y, k, ewt, h);
  case -1:
    return cpReason(text, -CP_RHS_NONFINITE,
                    "at t = %.10g: the Jacobian function returned NaN or Inf (row %d, column %d)",
                    t, i, j);
  default:
    return cpReason(text, CP_ILL_INPUT,
                    "at t = %.10g: the Jacobian function changed the index arrays of its matrix", t);
  }
}

/* ---- linear systems ---- */

static int factor(int which, sunrealtype g, sunrealtype gi, void *data) {
  CPOde *ode = data;
  CPLu lu    = ode->lu[which];
  char *text = ode->mem->base.text;
  double t   = ode->mem->base.t;
  int flag   = cpLuAssemble(lu, (double complex[]){-(g + gi * I)});
  if (!flag && !cpLuFinite(lu))
    return cpReason(text, -CP_RHS_NONFINITE, "at t = %.10g: " CP_MATRIX_NONFINITE, t);
  if (!flag) flag = cpLuFactor(lu);
  if (flag > 0)
    return cpReason(text, -CV_LSETUP_FAIL,
                    "at t = %.10g: the matrix of Newton's iteration is singular (gamma = %g)", t, g);
  return flag ? cpReason(text, flag, "at t = %.10g: no factors of Newton's matrix", t) : CP_SUCCESS;
}

static int solve(int which, sunrealtype *re, sunrealtype *im, void *data) {
  const CPOde *ode = data;
  const int flag   = cpLuSolve(ode->lu[which], re, im);
  return flag ? cpReason(ode->mem->base.text, flag, "the factors of Newton's matrix failed") : flag;
}

static int filter(sunrealtype *e, void *data) { return solve(CP_REAL_FACTORS, e, NULL, data); }

/* ---- life cycle ---- */

static void freeLu(void *lu) { cpLuFree(lu); }

int cpRadauOde(CPOneStep mem, CPArena *arena, CPImplicitSystem *system) {
  CPOde *ode;
  if (!CP_NEW(arena, ode, 1)) return CP_MEM_FAIL;
  const N_Vector y0 = mem->base.y0;
  const int n       = (int)N_VGetLength(y0);
  *ode              = (CPOde){.mem = mem, .n = n};
  ode->y            = cpArenaVector(arena, y0);
  ode->f            = cpArenaVector(arena, y0);
  for (int k = 0; k < 3; k++) ode->tmp[k] = cpArenaVector(arena, y0);
  cpUserMatOwn(arena, &ode->J);
  for (int k = 0; k < CP_STAGE_FACTORS; k++) cpArenaOwn(arena, &ode->lu[k], freeLu);
  int flag = cpArenaStatus(arena);
  if (!flag) flag = cpUserMatCreate(&ode->J, NULL, mem->J_tmpl, n, n, mem->base.ctx);
  const CPMat *J = &ode->J.A;
  CP_NEW(arena, ode->step, n);
  ode->gross = (CPGross){.n = n, .v = ode->step, .displaced = displaced};
  if (!flag)
    cpGrossAdd(arena, &ode->gross.of[0], J, N_VGetArrayPointer(ode->tmp[0]),
               N_VGetArrayPointer(ode->f), N_VGetArrayPointer(ode->tmp[1]));
  if (!flag) flag = cpArenaStatus(arena);
  if (!flag && !mem->jac) {
    flag             = cpColoringCreate(arena, &ode->colors, J);
    const int points = mem->batch ? ode->colors.ngroups + 1 : 1;
    ode->room        = points < CP_MAX_BATCH ? points : CP_MAX_BATCH;
    CP_NEW(arena, ode->t, ode->room);
    CP_NEW(arena, ode->Y, (size_t)ode->room * (size_t)n);
    CP_NEW(arena, ode->F, (size_t)ode->room * (size_t)n);
    if (!flag) flag = cpArenaStatus(arena);
  }
  const CPRadau R   = mem->own;
  const int factors = CP_COMPLEX_FACTORS + cpRadauTables[R->most].pairs;
  for (int k = 0; k < factors && !flag; k++) {
    flag = cpLuCreate(&ode->lu[k], n, J->start != NULL, k >= CP_COMPLEX_FACTORS, NULL, 0);
    if (!flag) flag = cpLuTerm(ode->lu[k], J, 0, 0, 0);
  }
  *system =
      (CPImplicitSystem){.data      = ode,
                         .text      = mem->base.text,
                         .counts_f  = 1,
                         .growth    = !J->start && n > CP_LARGE_DENSE ? CP_GROWTH_DENSE : CP_GROWTH,
                         .start     = start,
                         .residual  = residual,
                         .residuals = mem->batch ? residuals : NULL,
                         .partials  = partials,
                         .factor    = factor,
                         .solve     = solve,
                         .filter    = filter};
  return flag;
}
