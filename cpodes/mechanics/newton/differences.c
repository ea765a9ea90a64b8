/* Partial derivatives by difference quotients of
 *
 *   F = f + f_lambda - M a - A^T lambda,   B = b - A a,   zdot          a = u' and lambda held
 *
 * or, for HALF, of u' and zdot as functions of the state. Positions are displaced along N e_j.
 * One-sided quotients suffice for an iteration; derivatives that are results are of sixth order. */
#include "cpodes/base/differences.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/forces.h"
#include "cpodes/mechanics/kinematics.h"
#include "cpodes/mechanics/motions.h"
#include "newton_impl.h"

#include <math.h>
#include <string.h>

/* ---- passes: blocks of one direction are differentiated together, unless one is sparse and
 * another is not (the groups of columns would be lost), or one is noisier (it needs longer
 * increments) ---- */

static int makeColors(CPArena *arena, void *A, void **object) {
  CPColoring *colors = CP_NEW(arena, colors, 1);
  *object            = colors;
  return colors ? cpColoringCreate(arena, colors, A) : CP_MEM_FAIL;
}

/* Groups the columns of the pass's blocks, which are placed one below the other. */
static int colorPass(CPPartials P, CPPass *pass) {
  CPPlaces entries = {0};
  CPMat all        = {0};
  int rows         = 0;
  for (int of = 0; of < CP_OUTPUTS; of++) {
    if (!pass->of[of]) continue;
    cpPlacesAddMat(&entries, &P->block[of][pass->by].J, rows, 0, 0);
    rows += P->rows[of];
  }
  int flag     = cpMatFromPlaces(&all, rows, P->cols[pass->by], &entries);
  void *colors = NULL;
  if (!flag) {
    const CPMemoKey key[] = {{&rows, sizeof rows},
                             {all.start, ((size_t)all.cols + 1) * sizeof *all.start},
                             {all.row, cpMatEntries(&all) * sizeof *all.row}};
    flag = cpMemoGet(P->mech->model->memo, &P->arena, makeColors, key, 3, &all, &colors);
  }
  if (!flag) pass->colors = *(const CPColoring *)colors;
  cpMatFree(&all);
  return flag;
}

int cpPassesCreate(CPPartials P) {
  const CPMech mech       = P->mech;
  const int b_is_noisy    = mech->na > 0 && !mech->eq->b && !mech->operators;
  const int all_are_noisy = b_is_noisy && !P->kkt; /* HALF: u' and lambda follow from b */
  int flag                = CP_SUCCESS;
  for (int by = 0; by < CP_DIRECTIONS; by++)
    for (int kind = 0; !flag && kind < CP_PASS_KINDS; kind++) {
      const int forces = kind == 4, stands_in = kind == 5, sparse = kind & 1 && !stands_in,
                noisy = kind == 2 || kind == 3 || (stands_in && all_are_noisy);
      CPPass *pass    = &P->pass[P->npasses];
      int any         = 0;
      *pass           = (CPPass){.by        = (CPDirection)by,
                                 .forces    = forces,
                                 .stands_in = stands_in,
                                 .root      = noisy ? CP_INEXACT : CP_HALF_DIGITS};
      for (int of = 0; of < CP_OUTPUTS; of++) {
        const CPBlock *block = &P->block[of][by];
        const int is_noisy   = all_are_noisy || (b_is_noisy && of == CP_OF_B);
        pass->of[of]         = forces      ? of == CP_OF_F && cpForcesAreDisplaced(P, pass->by)
                               : stands_in ? of == CP_OF_F && !P->kkt && block->given
                                           : block->exists && !block->given &&
                                         (block->J.start != NULL) == sparse && is_noisy == noisy;
        any |= pass->of[of];
      }
      if (!any) continue;
      P->npasses++;
      if (sparse || (forces && P->block[CP_OF_F][by].J.start)) flag = colorPass(P, pass);
    }
  return flag;
}

/* ---- the outputs ---- */

/* Evaluates the outputs of the pass, without terms that do not depend on this direction. */
static int evaluate(CPPartials P, const CPPass *pass, const CPMechState *s, const double *lambda,
                    double *const out[CP_OUTPUTS]) {
  CPMech mech          = P->mech;
  const CPDirection by = pass->by;
  const int *of        = pass->of;
  double *F = out[CP_OF_F], *B = out[CP_OF_B], *Z = out[CP_OF_Z];
  int flag = CP_SUCCESS;
  mech->stats.nDQ++;
  if (pass->forces) return cpForcesDisplaced(P, by, s, F);
  if (!P->kkt) {
    flag = cpMechSolve(mech, s, F, B); /* u', lambda */
    return flag || !of[CP_OF_Z] ? flag : cpMechAuxiliary(mech, s, B, Z);
  }
  if (by == CP_BY_Q || pass->whole)
    return cpMechForm(mech, s, P->a, lambda, of[CP_OF_F] ? F : NULL, of[CP_OF_B] ? B : NULL,
                      of[CP_OF_Z] ? Z : NULL);
  if (of[CP_OF_B]) flag = cpMechB(mech, s, B);
  if (of[CP_OF_F]) memset(F, 0, (size_t)P->nu * sizeof *F);
  if (!flag && of[CP_OF_F] && by != CP_BY_LAMBDA) flag = cpMechForces(mech, s, F);
  if (!flag && of[CP_OF_F]) flag = cpMechAddForces(mech, s, 1, lambda, F);
  return flag || !of[CP_OF_Z] ? flag : cpMechAuxiliary(mech, s, lambda, Z);
}

/* ---- increments ---- */

/* An increment is a relative change of the variable or of its typical size, or one tolerance if
 * that is larger (but at most `root`), since derivatives must be good over a tolerance anyway.
 * Positions without a coordinate of their own are angles of quaternions (or of the user's N), of
 * size 1. Auxiliary states, whose sizes need not be related, have no typical size but a tolerance. */
static void setSteps(CPPartials P, CPDirection by, double root, const double *ewt) {
  const CPMech mech                          = P->mech;
  const double *x[CP_DIRECTIONS]             = {P->q, P->u, P->z, P->lambda};
  const double *const weights[CP_DIRECTIONS] = {ewt, ewt ? ewt + mech->nq : NULL,
                                                ewt ? ewt + mech->nq + mech->nu : NULL, NULL};
  const double typical = cpTypicalOf(by == CP_BY_Q ? cpMechLargestCoordinate(mech, P->q)
                                                   : cpLargest(x[by], P->cols[by]));
  for (int j = 0; j < P->cols[by]; j++) {
    const int i         = by == CP_BY_Q ? mech->coords->pair[j] : j;
    const double weight = weights[by] && i >= 0 ? weights[by][i] : 0.0;
    const double tol    = weight > 0.0 ? fmin(1.0 / weight, root) : 0.0;
    double *step        = &P->step[by][j];
    const double least  = by == CP_BY_Z && tol > 0.0 ? 0.0 : typical;
    *step               = i < 0 ? root : fmax(root * fmax(fabs(x[by][i]), least), tol);
    if (by == CP_BY_Q) continue;
    volatile double moved = x[by][i] + *step;
    *step                 = moved - x[by][i]; /* makes x + step exact */
  }
}

/* ---- one group of columns ---- */

/* Evaluates the outputs with the group's variables displaced by the given number of increments. If cols is NULL,
 * the group consists of the first columns. */
static int displaced(CPPartials P, const CPPass *pass, double steps, const int *cols, int ncols,
                     double *const out[CP_OUTPUTS]) {
  const CPDirection by           = pass->by;
  const double *x[CP_DIRECTIONS] = {NULL, P->u, P->z, P->lambda};
  CPMechState s                  = {P->t, P->q, P->u, P->z};
  double *x2                     = P->x2[by];
  const size_t size              = (size_t)P->cols[by] * sizeof *x2;
  if (by == CP_BY_Q) memset(x2, 0, size);
  else memcpy(x2, x[by], size);
  for (int k = 0; k < ncols; k++) {
    const int j = cols ? cols[k] : k;
    x2[j] += steps * P->step[by][j];
  }
  if (by == CP_BY_Q) {
    const int flag = cpMechMove(P->mech, P->q, x2, P->q2);
    if (flag) return flag;
    s.q = P->q2;
  }
  if (by == CP_BY_U) s.u = x2;
  if (by == CP_BY_Z) s.z = x2;
  return evaluate(P, pass, &s, by == CP_BY_LAMBDA ? x2 : P->lambda, out);
}

/* The group's columns += weight (after - before) / step */
static void addColumns(CPPartials P, const CPPass *pass, double weight, double *const after[],
                       double *const before[], const int *cols, int ncols) {
  for (int of = 0; of < CP_OUTPUTS; of++) {
    if (!pass->of[of]) continue;
    CPMat *J = &P->block[of][pass->by].J;
    for (int c = 0; c < ncols; c++) {
      const int j       = cols[c];
      const double step = P->step[pass->by][j];
      for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++) {
        const int i = cpMatRow(J, j, k);
        J->value[k] += weight * (after[of][i] - before[of][i]) / step;
      }
    }
  }
}

/* J e = (F(x + h e) - F(x)) / h, or sum over p of w_p (F(x + p h e) - F(x - p h e)) / h */
static int difference(CPPartials P, const CPPass *pass, const int *cols, int ncols) {
  int flag = CP_SUCCESS;
  if (P->sixth_order == 0.0) {
    flag = displaced(P, pass, 1.0, cols, ncols, P->perturbed);
    if (!flag) addColumns(P, pass, 1.0, P->perturbed, P->value, cols, ncols);
  }
  for (int p = 1; !flag && P->sixth_order > 0.0 && p <= 3; p++) {
    flag = displaced(P, pass, -p, cols, ncols, P->opposite);
    if (!flag) flag = displaced(P, pass, p, cols, ncols, P->perturbed);
    if (!flag) addColumns(P, pass, cpSixthOrder[p - 1], P->perturbed, P->opposite, cols, ncols);
  }
  return flag;
}

/* ---- all passes ---- */

static int runPass(CPPartials P, const CPPass *pass, const double *ewt) {
  const CPMechState s = {P->t, P->q, P->u, P->z};
  const int *start = pass->colors.start, *col = pass->colors.col;
  const int cols = P->cols[pass->by], motion = pass->by == CP_BY_Q || pass->by == CP_BY_U;
  setSteps(P, pass->by, P->sixth_order > 0.0 ? P->sixth_order : pass->root, ewt);
  for (int of = 0; of < CP_OUTPUTS; of++)
    if (pass->of[of] && !pass->forces) cpMatZero(&P->block[of][pass->by].J);
  int flag = evaluate(P, pass, &s, P->lambda, P->value);
  if (!flag && pass->by == CP_BY_LAMBDA) {
    /* Few outputs, if any, depend on lambda. If none changes with all of lambda, the columns are
     * zero. */
    double *lambda2 = P->x2[CP_BY_LAMBDA];
    int changes     = 0;
    for (int i = 0; i < cols; i++)
      lambda2[i] = P->lambda[i] + P->step[CP_BY_LAMBDA][i] * (1.0 + i % 7);
    flag = evaluate(P, pass, &s, lambda2, P->perturbed);
    for (int of = 0; of < CP_OUTPUTS; of++)
      changes |= pass->of[of] &&
                 memcmp(P->value[of], P->perturbed[of], (size_t)P->rows[of] * sizeof(double));
    if (!changes) return flag;
  }
  for (int g = 0; start && !flag && g < pass->colors.ngroups; g++)
    flag = difference(P, pass, col + start[g], start[g + 1] - start[g]);
  for (int j = 0; !start && !flag && j < cols; j++)
    if (!motion || !P->mech->motions->is_full[j]) flag = difference(P, pass, &j, 1);
  return flag;
}

int cpPartialsDifferences(CPPartials P, int forces, const double *ewt) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < P->npasses; k++)
    if (P->pass[k].forces || (!forces && (!P->pass[k].stands_in || P->leaves_udot)))
      flag = runPass(P, &P->pass[k], ewt);
  return flag;
}

/* ---- quadratures ---- */

/* rates <- zdot at the state, displaced by `step` along d */
static int ratesAlong(CPPartials P, const double *const d[CP_DIRECTIONS], double step,
                      double *rates) {
  const CPMech mech                = P->mech;
  const int columns[CP_DIRECTIONS] = {P->nu, P->nu, P->nz, P->m};
  const double *x[CP_DIRECTIONS]   = {NULL, P->u, P->z, P->lambda};
  const CPMechState s2             = {P->t, P->q2, P->x2[CP_BY_U], P->x2[CP_BY_Z]};
  if (mech->nz > 0) memcpy(P->x2[CP_BY_Z], P->z, (size_t)mech->nz * sizeof *P->z);
  for (int by = 0; by < CP_DIRECTIONS; by++)
    for (int j = 0; j < columns[by]; j++)
      P->x2[by][j] = (x[by] ? x[by][j] : 0.0) + (d[by] ? step * d[by][j] : 0.0);
  const int flag = cpMechMove(mech, P->q, P->x2[CP_BY_Q], P->q2);
  return flag ? flag : cpMechAuxiliary(mech, &s2, P->x2[CP_BY_LAMBDA], rates);
}

/* A line from the state along d. changes: do the rates of quadratures change along it? count: of evaluations */
typedef struct {
  CPPartials P;
  const double *const *d;
  int changes, count;
} Line;

enum { CONSTANT = 1 };

/* A CPMoved. Rates that are the same on both sides do not depend on the direction, as often on the multipliers, and are not evaluated again. */
static int quadraturesAlong(double e, double *value, void *data) {
  Line *line         = data;
  const CPPartials P = line->P;
  const size_t size  = (size_t)P->nquad * sizeof *value;
  double *rates      = P->perturbed[CP_OF_Z];
  const int flag     = ratesAlong(P, line->d, e, rates);
  memcpy(value, rates + P->nz, size);
  line->changes |= flag || memcmp(value, P->zdot + P->nz, size);
  return ++line->count == 2 && !line->changes ? CONSTANT : flag;
}

int cpPartialsAlong(CPPartials P, const double *const along[CP_DIRECTIONS], double *change) {
  const CPMech mech = P->mech;
  const int first = P->nz, columns[CP_DIRECTIONS] = {P->nu, P->nu, P->nz, P->m};
  const double *x[CP_DIRECTIONS] = {P->q, P->u, P->z, P->lambda};
  const double *d[CP_DIRECTIONS];
  double *rates = P->perturbed[CP_OF_Z], size = 0.0;
  memcpy(d, along, sizeof d);
  if (d[CP_BY_LAMBDA] && P->seen) d[CP_BY_LAMBDA] = P->seen(mech, d[CP_BY_LAMBDA]);
  for (int by = 0; by < CP_DIRECTIONS; by++) {
    const double largest = cpLargest(x[by], by == CP_BY_Q ? mech->nq : columns[by]);
    /* Multipliers have any unit: increments of 1e-3 N beside 1e5 N would lose as many digits. */
    const double typical = by == CP_BY_LAMBDA && largest > 0.0 ? largest : cpTypicalOf(largest);
    if (d[by]) size = fmax(size, cpLargest(d[by], columns[by]) / typical);
  }
  memset(change, 0, (size_t)P->nquad * sizeof *change);
  if (size == 0.0) return CP_SUCCESS;
  if (P->sixth_order > 0.0) {
    Line line      = {.P = P, .d = d};
    const int flag = cpDifferentiate(quadraturesAlong, &line, P->nquad, P->sixth_order / size, 0.0,
                                     change, P->room);
    return flag && !line.changes ? CP_SUCCESS : flag;
  }
  const double step = sqrt(CP_UROUND) / size;
  const int flag    = ratesAlong(P, d, step, rates);
  for (int k = 0; !flag && k < P->nquad; k++)
    change[k] = (rates[first + k] - P->zdot[first + k]) / step;
  return flag;
}

/* ---- the user's functions ---- */

static const char *const given_by[CP_OUTPUTS] = {"dynamics_jac", "constraint_jac", "auxiliary_jac"};
static const char *const with_respect_to[CP_BY_LAMBDA] = {"positions", "velocities", "z"};

static int shifted(const CPGross *c, void *data) {
  const CPPartials P = data;
  const CPPass pass = {.by = (CPDirection)(c - P->gross), .whole = 1, .of = {1, P->m > 0, P->nz > 0}};
  return displaced(P, &pass, 1.0, NULL, c->n, P->perturbed);
}

/* Sets the increments v of a comparison, and w = |v| / h with the roundoff of u'. */
static void setIncrements(CPPartials P, CPDirection by, double h, const double *ewt) {
  const double root = sqrt(CP_UROUND);
  double *v = P->step[by], *w = P->x2[CP_BY_U];
  setSteps(P, by, root, ewt);
  for (int j = 0; j < P->nu; j++) {
    if (by != CP_BY_Z && P->mech->motions->is_full[j]) v[j] = 0.0;
    w[j] = root * fabs(P->a[j]) + (by != CP_BY_Z ? fabs(v[j] / h) : 0.0);
  }
}

/* Sets terms beside which products count: |M| w and |A| w, and those of F and B, whose roundoff may hide
 * changes. */
static void setBeside(CPPartials P) {
  const double root = sqrt(CP_UROUND), *w = P->x2[CP_BY_U];
  double *F = P->opposite[CP_OF_F];
  cpMatAbsTimes(&P->M, w, F);
  cpMatAbsTimes(&P->A, w, P->opposite[CP_OF_B]);
  for (int j = 0; j < P->nu; j++)
    for (size_t k = cpMatFirst(&P->A, j); k < cpMatFirst(&P->A, j + 1); k++)
      F[j] += root * fabs(P->A.value[k] * P->lambda[cpMatRow(&P->A, j, k)]);
}

int cpComparisonsCreate(CPPartials P) {
  const int compares = P->kkt && !P->mech->eq->differenced;
  for (int by = 0; compares && by < CP_BY_LAMBDA; by++)
    for (int of = 0; of < CP_OUTPUTS; of++) {
      CPGross *c = &P->gross[by];
      if (!P->block[of][by].given) continue;
      c->n = P->cols[by], c->v = P->step[by], c->displaced = shifted;
      cpGrossAdd(&P->arena, &c->of[of], &P->block[of][by].J, P->value[of], P->perturbed[of],
                 P->opposite[of]);
    }
  return cpArenaStatus(&P->arena);
}

int cpPartialsCompare(CPPartials P, double h, const double *ewt) {
  const CPMechState s         = {P->t, P->q, P->u, P->z};
  const CPPass all            = {.whole = 1, .of = {1, P->m > 0, P->nz > 0}};
  const int first[CP_OUTPUTS] = {0, P->nu, P->nu + P->m};
  int known = 0, flag = CP_SUCCESS;
  for (int by = 0; !flag && by < CP_BY_LAMBDA; by++) {
    CPGross *c = &P->gross[by];
    if (!c->displaced) continue; /* nothing is given */
    setIncrements(P, (CPDirection)by, h, ewt);
    if (!cpGrossIsDue(c)) continue;
    setBeside(P);
    if (!known++) flag = evaluate(P, &all, &s, P->lambda, P->value);
    for (int of = 0; of < CP_OUTPUTS; of++) /* Fixed rows are of no interest. */
      if (c->of[of].J) memcpy(c->of[of].right, P->fixed + first[of], (size_t)P->rows[of]);
    if (!flag) flag = cpFindGross(c, P);
    if (!flag && c->wrong >= 0) {
      char name[CP_MECH_ROW_NAME] = "";
      const int of_A              = first[c->wrong] == P->nu && P->mech->eq->row_name;
      if (of_A) cpMechRowName(P->mech, c->row, name);
      flag =
          cpReason(P->mech->text, CP_MECH_DERIV_WRONG,
                   "at t = %.10g: %s is grossly wrong: for a change of the %s it says that row "
                   "%d%s%s changes by %.3g, and it changes by %.3g (CPMechCheck finds the entry)",
                   P->t, given_by[c->wrong], with_respect_to[by], c->row, of_A ? ", of " : "", name,
                   c->of[c->wrong].product[c->row], c->of[c->wrong].change[c->row]);
    }
  }
  P->valid = flag >= 0;
  return flag > 0 ? CP_SUCCESS : flag; /* where the functions fail there is nothing to compare */
}
