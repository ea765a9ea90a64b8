/* y' = f(t, y) for CVODES: (q, u, z)' = (N u, a, zdot).
 *
 * Many vector fields agree on the manifold and differ off it. At distance d from it, the rows of
 * A a = b are inconsistent by about d, and at a narrow angle alpha between rows the error of a is
 * about d / sin(alpha), which is unbounded near a singular position. Methods that only evaluate f
 * then use f(pi(y)), its value at the nearest state on the manifold, which is as smooth as the
 * motion. Implicit methods do not: their iteration matrix is that of f without pi, and their
 * corrector damps components normal to the manifold. */
#include "accelerations.h"
#include "constraints.h"
#include "expected.h"
#include "forces.h"
#include "kinematics.h"
#include "motions.h"
#include "shaky.h"

#include "cpodes/projector/newton.h"
#include "cpodes/stepping/stepper.h"

#include <math.h>
#include <string.h>

/* The angle between rows is narrow if its sine is below NARROW, and below NARROW times the sine at the first
 * state. Adams methods pass singular positions with any value from 0.003 to 1 (bench/singular.c); larger ones
 * cost more projections. Models with udot solve for the stages of a step with M and A, which give the angle, if the step before
 * ended within CP_CHANGES of it, or changed the sine by as much. */
#define NARROW CP_NARROW_ANGLE
/* All stages of a step are evaluated on the manifold if one of them must be, since the order of a
 * method is that for one f, or if their narrowest angles alpha differ by more than CP_CHANGES. The
 * Lipschitz constant L of f normal to the manifold is about |alpha'| / alpha, so that h L is then
 * about 1. */

static void freeProjection(CPMechStage *stage) {
  cpWorkFree(&stage->work);
  if (stage->y) N_VDestroy(stage->y);
  if (stage->w) N_VDestroy(stage->w);
  stage->y = stage->w = NULL;
}

void cpMechStageFree(CPMech mech) {
  freeProjection(&mech->stage);
  cpArenaFree(&mech->stage.memory);
  mech->stage.largest = NULL;
}

/* stage.y <- pi(y), up to ON_MANIFOLD of the tolerance, but neither more than CP_ROUNDED of the state, whose size in
 * tolerances has no unit, nor less than CP_FUZZ of it, which is roundoff. What is left is an error in f that
 * grows with 1 / sin(alpha)^2, since u is projected with a wrong A: with 1e-3 steps of low order shrink next to
 * a singular position, where this error rejects them, until none is possible (bench/singular.c, BS32, 40 windows). */
#define ON_MANIFOLD 1.0e-5
static int projectStage(CPMech mech, sunrealtype t, N_Vector y) {
  if (!mech->stage.work) {
    mech->stage.y = N_VClone(mech->y_tmpl);
    mech->stage.w = N_VClone(mech->y_tmpl);
    if (!mech->stage.y || !mech->stage.w || cpWorkCreate(&mech->stage.work, mech->P)) {
      freeProjection(&mech->stage);
      return cpReason(mech->text, CP_MEM_FAIL, "no memory for a projection");
    }
  }
  const CPIntegrator host = mech->host; /* which has weights once it has a step size */
  const sunrealtype eps = cpWorkOptions(mech->stage.work)->eps, *yd = N_VGetArrayPointer(y);
  sunrealtype *w = N_VGetArrayPointer(mech->stage.w), size = 0.0;
  if (!host || host->ops->step(host) == 0.0 || host->ops->weights(host, mech->stage.w))
    for (int i = 0; i < mech->n; i++) w[i] = 1.0 / (CP_ROUNDED * (1.0 + fabs(yd[i])));
  else {
    for (int i = 0; i < mech->n; i++) size = fmax(size, fabs(yd[i]) * w[i]);
    N_VScale(1.0 / fmax(CP_FUZZ * size, fmin(ON_MANIFOLD, CP_ROUNDED * size)), mech->stage.w,
             mech->stage.w);
  }
  N_VScale(eps, mech->stage.w, mech->stage.w);
  N_VScale(1.0, y, mech->stage.y);
  const int flag =
      cpProject(mech->stage.work, t, mech->stage.y, mech->stage.w, NULL, 0, &(CPProjected){0});
  return flag ? cpReason(mech->text, flag, "%s", cpWorkText(mech->stage.work)) : CP_SUCCESS;
}

/* Rows shorter than this part of the longest are rows of zeros up to roundoff, and so are entries of
 * a row compared with its largest one. */
#define NO_ROW CP_HALF_DIGITS

/* If no row is CP_CHANGES times as short as at its maximum (squared), where lengths are a by-product, none loses
 * its gradient. */

/* Is a row shorter than that, by squared lengths that are a by-product? Updates the maxima. No row is
 * off then. */
static inline int isAnyShorter(int m, const double *square, CPMechStage *stage) {
  int any = 0;
  for (int i = 0; i < m; i++) {
    const double longest = stage->longest[i];
    if (square[i] > longest && square[i] < INFINITY) {
      stage->longest[i]     = square[i];
      stage->longest_of_all = fmax(square[i], stage->longest_of_all);
    } else if (CP_CHANGES * square[i] < longest && longest > NO_ROW * NO_ROW * stage->longest_of_all)
      any = 1;
  }
  return any;
}

/* Returns the least length, at most 1, of a row of A each entry of which is divided by its maximum so
 * far, and updates the maxima. Neither units of velocities nor factors of rows change this
 * ratio. Lengths in units in which some entries are small would consist of the others, which may
 * vanish with a lever arm while the row keeps its gradient. Rows that are off do not count. */
CP_RARE static double leastPartOfRows(CPMech mech) {
  const CPMat *A  = mech->motions->nfull > 0 ? &mech->reduced.A : &mech->A;
  double *largest = mech->stage.largest, *of_row = mech->stage.largest_of_row;
  double *part = mech->stage.square, least = 1.0;
  const char *off = mech->rows.off;
  if (mech->kkt->nrows == 0) return 1.0;
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++) {
      if (off[cpMatRow(A, j, k)]) continue;
      const double a = fabs(A->value[k]);
      double *most   = &of_row[cpMatRow(A, j, k)];
      if (a > largest[k] && a < INFINITY) largest[k] = a, *most = fmax(a, *most);
    }
  const double of_all = cpLargest(of_row, mech->m);
  memset(part, 0, (size_t)mech->m * sizeof *part);
  for (int j = 0; j < A->cols; j++)
    for (size_t k = cpMatFirst(A, j); k < cpMatFirst(A, j + 1); k++) {
      const int i = cpMatRow(A, j, k);
      if (off[i]) continue;
      const double a = largest[k] > NO_ROW * of_row[i] ? A->value[k] / largest[k] : 0.0;
      part[i] += a * a;
    }
  for (int i = 0; i < mech->m; i++)
    if (!off[i] && of_row[i] > NO_ROW * of_all) least = fmin(least, part[i]);
  return sqrt(least);
}

/* Returns the sine of the narrowest angle between rows, times the least relative length of a row.
 * Constraints become dependent if an angle between them vanishes, or if one of them loses its
 * gradient, which rows scaled to equal length do not show. */
static inline double narrowest(CPMech mech) {
  CPMechStage *stage = &mech->stage;
  if (mech->stats.nkkt == 0) return 1.0; /* as with operators */
  if (stage->nkkt != mech->stats.nkkt) {
    const double *square = mech->kkt->square;
    stage->part          = 1.0;
    if (!square || isAnyShorter(mech->m, square, stage) || stage->nkkt == 0)
      stage->part = leastPartOfRows(mech);
    stage->nkkt = mech->stats.nkkt;
  }
  return mech->kkt->sine * stage->part;
}

/* Is f(pi(y)) needed in place of the newest accelerations, whose evaluation returned flag? */
static inline int needManifold(CPMech mech, int flag) {
  if (mech->eq->regular) return 0;
  const double sine = narrowest(mech);
  if (sine < mech->stage.least_sine) mech->stage.least_sine = sine;
  if (sine > mech->stage.largest_sine) mech->stage.largest_sine = sine;
  /* Dependent rows may contradict each other only because y is off the manifold. */
  const int needed =
      flag ? flag == -CP_KKT_INCONSISTENT || flag == -CP_MOTION_CONFLICT
           : sine < NARROW && !mech->newton && mech->kkt && sine < NARROW * mech->kkt->usual_sine;
  mech->stage.was_needed |= needed;
  return needed || (!flag && mech->stage.all_on_manifold);
}

int cpMechOnManifold(void *data, int all) {
  const CPMech mech = data;
  const int needed =
      mech->stage.was_needed || CP_CHANGES * mech->stage.least_sine < mech->stage.largest_sine;
  mech->stage.was_needed      = 0;
  mech->stage.least_sine      = 1.0;
  mech->stage.largest_sine    = 0.0;
  mech->stage.all_on_manifold = all;
  return needed;
}

int cpMechStepEnds(void *data) {
  const CPMech mech = data;
  if (mech->operators || !cpMechKnowsUdot(mech) || mech->m == 0 || !mech->stage.largest)
    return CP_SUCCESS;
  mech->stage.narrows = 0;
  if (!memchr(mech->rows.off, 0, (size_t)mech->m)) return CP_SUCCESS; /* There is no angle. */
  mech->attached.cause = cpMechFactor(mech, mech->stage.t, mech->stage.q);
  if (mech->attached.cause) return mech->attached.cause;
  cpSaddleRecordRank(mech->kkt);
  const double before = mech->stage.last_sine, now = narrowest(mech);
  mech->stage.narrows =
      now < CP_CHANGES * NARROW * mech->kkt->usual_sine || CP_CHANGES * now < before;
  mech->stage.last_sine = now;
  return CP_SUCCESS;
}

/* ---- accelerations ---- */

/* Solves with the newest terms, if these are one system. If an entry of f, b or lambda is not
 * finite, neither is u', unless its row is off; cpMechSolveTerms then finds the function at fault. */
static inline int solveTerms(CPMech mech, const CPMechState *s, double *a, double *lambda) {
  CPSaddle kkt   = mech->kkt;
  const int flag = cpMechIsMassTested(mech) ? cpMechTestMass(mech, s->t) : CP_SUCCESS;
  if (flag) return flag;
  if (!kkt->quick || mech->solve.off != mech->rows.off ||
      !kkt->quick(kkt, mech->userM.A.value, mech->A.value, mech->terms.f, mech->terms.b, a, lambda))
    return cpMechSolveTerms(mech, s, a, lambda);
  mech->stats.nkkt++;
  return kkt->nrows < mech->m ? cpMechTestTerms(mech, s->t) : CP_SUCCESS;
}

/* cpMechSolve where the terms are plain. */
static inline int solvePlain(CPMech mech, const CPMechState *s, double *a, double *lambda) {
  const CPEquations *model = mech->eq;
  const CPMechTerms *own   = &mech->terms;
  CPMechStats *stats       = &mech->stats;
  const char *name         = "current_data";
  stats->nudot++;
  mech->log.running++;
  int flag   = cpMechData(mech) ? -1 : CP_SUCCESS;
  void *data = mech->data;
  if (!flag) {
    memset(own->f, 0, own->length * sizeof *own->f);
    stats->nf++, name = "f";
    flag = model->f(s->t, s->q, s->u, s->z, own->f, data);
  }
  cpMechSkipRows(mech, 1);
  if (!flag) {
    stats->nb++, name = "b";
    flag = model->b(s->t, s->q, s->u, own->b, data);
  }
  if (!flag) {
    stats->nM++, name = "M";
    flag = model->M(s->t, s->q, mech->userM.S, data);
  }
  if (!flag) {
    stats->nA++, name = "A";
    flag = model->A(s->t, s->q, mech->userA.S, data);
  }
  cpMechSkipRows(mech, 0);
  mech->log.running--;
  return flag ? cpMechResult(mech, flag, s->t, name) : solveTerms(mech, s, a, lambda);
}

int cpMechSolve(CPMech mech, const CPMechState *s, double *a, double *lambda) {
  if (mech->terms.are_plain) return solvePlain(mech, s, a, lambda);
  mech->stats.nudot++;
  if (mech->operators) return cpMechUdot(mech, s, a, lambda);
  const int flag = cpMechEvaluate(mech, s),
            once = !cpMechHasLambdaForces(mech) && !mech->motions->nfull;
  if (flag) return flag;
  return once ? solveTerms(mech, s, a, lambda) : cpMechSolveTerms(mech, s, a, lambda);
}

static inline int accelerate(CPMech mech, const CPMechState *s, sunrealtype *udot) {
  if (mech->terms.are_plain) return solvePlain(mech, s, udot, mech->stage.lambda);
  if (!mech->eq->udot) return cpMechSolve(mech, s, udot, mech->stage.lambda);
  mech->stage.t = s->t;
  memcpy(mech->stage.q, s->q, (size_t)mech->nq * sizeof *s->q);
  const int judged = mech->stage.narrows || s->t == mech->stage.start;
  return judged ? cpMechSolve(mech, s, udot, mech->stage.lambda)
                : cpMechAccelerate(mech, s, udot, mech->stage.lambda);
}

/* u' at s = pi(y) */
CP_RARE static int accelerateOnManifold(CPMech mech, sunrealtype t, N_Vector y, CPMechState *s,
                                        sunrealtype *udot) {
  int flag = projectStage(mech, t, y);
  if (!flag) flag = cpMechRead(mech, t, N_VGetArrayPointer(mech->stage.y), s);
  return flag ? flag : accelerate(mech, s, udot);
}

/* Sets and tests the rest of y', where yd contains u'. */
static inline int rates(CPMech mech, const CPMechState *s, sunrealtype *yd) {
  double zero = 0.0;
  if (!mech->coords->are_all) {
    const int flag = cpMechOtherRates(mech, s, mech->stage.lambda, yd);
    return flag ? flag : cpMechChecked(mech, 0, s->t, "q'", yd, mech->nq);
  }
  if (mech->nu >= CP_MANY) {
    memcpy(yd, s->u, (size_t)mech->nu * sizeof *yd);
    return cpMechChecked(mech, 0, s->t, "q'", yd, mech->nu);
  }
  for (int j = 0; j < mech->nu; j++) {
    yd[j] = s->u[j];
    zero += 0.0 * yd[j]; /* NaN if an entry is NaN or Inf */
  }
  return zero == 0.0 ? CP_SUCCESS : cpMechWrong(mech, 0, s->t, "q'", yd);
}

/* Tests a state from which a run starts, where the evaluation of the accelerations udot, with M and A, has returned flag. */
CP_RARE static int testStart(CPMech mech, const CPMechState *s, const sunrealtype *udot, int flag) {
  mech->stage.start = NAN;
  return mech->operators || mech->m == 0 ? flag : cpMechShakyStart(mech, s, udot, flag);
}

/* Checks the arguments, and allocates what only right-hand sides need, at the first call. */
CP_RARE static int prepare(CPMech mech, N_Vector y, const char *function) {
  const int flag = cpMechCheckState(mech, y, function);
  if (flag || mech->stage.largest) return flag;
  CPMechStage *stage = &mech->stage;
  CP_ARRAYS(&stage->memory, mech->m, &stage->longest, &stage->largest_of_row, &stage->square);
  CP_NEW(&stage->memory, stage->largest, cpMatEntries(&mech->A));
  if (stage->largest && (!mech->kkt || !cpSaddleExpectQuick(mech->kkt))) return CP_SUCCESS;
  stage->largest = NULL;
  cpArenaFree(&stage->memory); /* Memory may be found the next time. */
  mech->attached.cause = CP_MEM_FAIL;
  return cpReason(mech->text, CP_MEM_FAIL, "no memory for a right-hand side");
}

int CPMechRhs(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  CPMech mech = data;
  CPMechState s;
  int flag =
      mech && mech->stage.largest && !mech->log.running ? CP_SUCCESS : prepare(mech, y, __func__);
  if (flag) return flag;
  sunrealtype *yd = cpData(ydot), *udot = yd + mech->nq;
  const int is_near = mech->expected && cpMechTakeExpected(mech);
  flag              = cpMechRead(mech, t, cpData(y), &s);
  if (!flag && is_near) flag = cpMechAccelerateExpected(mech, &s, udot, mech->stage.lambda);
  else if (!flag) flag = accelerate(mech, &s, udot);
  if (flag >= 0 && needManifold(mech, flag)) flag = accelerateOnManifold(mech, t, y, &s, udot);
  if (t == mech->stage.start) flag = testStart(mech, &s, udot, flag);
  if (!flag) flag = rates(mech, &s, yd);
  if (!flag && mech->sens) cpMechSensKeep(mech, t, N_VGetArrayPointer(y), udot, mech->stage.lambda);
  mech->attached.cause = flag;
  return flag;
}
