/* One step: attempts of the method's, of sizes that shrink until one is accepted. */
#include "onestep_impl.h"

#include <math.h>
#include <string.h>

/* After a failure that tells nothing of the right size. */
#define SHRINK_FAILED 0.25
/* A step does not end where the narrowest angle between constraints has a sine below this, and narrower than at its
 * start, if one of a few shorter ones ends elsewhere. */
#define LEAST_SINE       0.02
#define SHRINK_ELSEWHERE 0.7
#define MOST_ELSEWHERE   4
/* ... and what passes such a position: longer steps, a few times, if their error is to be below the second. */
#define GROW_SINGULAR 1.5
#define NOTHING       0.01
#define MOST_LONGER   4
/* Attempts of one step: what is left of its size is below roundoff by any measure. */
#define MAX_ATTEMPTS 60
/* A step that ends so near before tstop is stretched to end there. */
#define STRETCH 1.01

/* ---- sizes ---- */

/* The size to be tried, and tnew. */
static sunrealtype sized(CPOneStepMem mem, sunrealtype h) {
  sunrealtype size = fabs(h);
  if (mem->hmax > 0.0) size = fmin(size, mem->hmax);
  size = fmax(size, mem->hmin);
  if (mem->hfixed > 0.0) size = mem->hfixed;
  mem->tnew = mem->t + mem->dir * size;
  if (!((mem->t + STRETCH * mem->dir * size - mem->tlimit) * mem->dir > 0.0))
    return mem->dir * size;
  mem->tnew = mem->tlimit;
  return mem->tlimit - mem->t;
}

static int giveUp(CPOneStepMem mem, sunrealtype h, int code) {
  char reason[CP_TEXT_LENGTH];
  if (code == CV_ERR_FAILURE)
    return cpReason(mem->text, code,
                    "from t = %.15g no step size passes the error test, down to %g", mem->t, h);
  memcpy(reason, mem->text, sizeof reason);
  cpWrite(mem->text, "every attempt of the step from t = %.15g failed, down to a size of %g: %s",
          mem->t, h, reason);
  return code;
}

/* A smaller size for an attempt that failed with code, or 0: there is none. */
static sunrealtype smaller(CPOneStepMem mem, sunrealtype h, sunrealtype ratio, int failed) {
  sunrealtype size = fmax(fabs(h) * ratio, mem->hmin);
  if (mem->hfixed > 0.0 || !(size < fabs(h)) || mem->t + mem->dir * size == mem->t) return 0.0;
  if (failed && mem->stats.nst > 0 && cpIsCreeping(&mem->creeping, mem->tnew, h, mem->t0, mem->t))
    return 0.0;
  return mem->dir * size;
}

/* The proposal for the next step, after one of size h that was accepted. Where tstop had cut it, the
 * size before was good as well. */
static void propose(CPOneStepMem mem, sunrealtype h, sunrealtype norm, int rejected) {
  mem->hlast     = h;
  mem->norm_last = norm;
  if (mem->hfixed > 0.0) return;
  sunrealtype ratio = mem->ops->ratio(mem, norm, 1);
  if (rejected) ratio = fmin(ratio, 1.0);
  const int cut = !rejected && mem->tnew == mem->tlimit;
  if (!cut || fabs(h * ratio) > fabs(mem->h)) mem->h = h * ratio;
}

/* ---- attempts ---- */

/* Counts a rejected attempt; returns the ratio by which the size shrinks. */
static sunrealtype rejected(CPOneStepMem mem, int flag, sunrealtype norm) {
  if (flag == 0) {
    mem->stats.netf++;
    return mem->ops->ratio(mem, norm, 0);
  }
  return SHRINK_FAILED;
}

/* A step that all but ends at a singular position leaves the next one a start where roundoff decides: it ends before,
 * and the next one passes the position. */
static int isToEndElsewhere(CPOneStepMem mem, int tries) {
  const double sine = mem->model.sine ? mem->model.sine(mem->model.data) : 1.0;
  const int nearer  = sine < LEAST_SINE && sine < SHRINK_ELSEWHERE * mem->sine;
  if (nearer && mem->hfixed == 0.0 && mem->tnew != mem->tlimit && tries <= MOST_ELSEWHERE) return 1;
  mem->sine = sine;
  return 0;
}

/* Has an attempt failed by the roundoff of a stage that all but hits a singular position? By the last step its error would
 * have been nothing. Shorter steps only land nearer there, and their stages are nearer to each other: a longer one. */
static int isRoundoff(CPOneStepMem mem, sunrealtype h, int tries) {
  if (!mem->on_manifold || mem->hfixed > 0.0 || mem->stats.nst == 0 || tries > MOST_LONGER)
    return 0;
  const sunrealtype ratio = h / mem->hlast;
  return ratio > 0.0 && mem->norm_last * pow(ratio, mem->order) < NOTHING;
}

static int attempts(CPOneStepMem mem) {
  int flag = mem->ops->begin(mem);
  if (flag) return flag;
  sunrealtype h = sized(mem, mem->h), norm = 0.0;
  for (int tries = 1;; tries++) {
    if (mem->t + h == mem->t)
      return cpReason(mem->text, CV_TOO_MUCH_ACC,
                      "at t = %.15g: a step of %g is below the roundoff of t", mem->t, h);
    mem->stats.nattempts++;
    cpWorkAttempt(mem->step);
    flag = mem->ops->attempt(mem, h, &norm);
    if (flag < 0) return flag;
    if (flag == 0 && norm <= 1.0 && !isToEndElsewhere(mem, tries)) {
      propose(mem, h, norm, tries > 1);
      mem->ops->accepted(mem);
      cpWorkAccepted(mem->step);
      return CP_SUCCESS;
    }
    if ((flag > 0 || norm > 1.0) && isRoundoff(mem, h, tries)) {
      mem->h = GROW_SINGULAR * h;
      h      = sized(mem, mem->h);
      continue;
    }
    const sunrealtype ratio =
        flag == 0 && norm <= 1.0 ? SHRINK_ELSEWHERE : rejected(mem, flag, norm);
    const sunrealtype next = smaller(mem, h, ratio, flag != 0);
    if (next == 0.0 || tries == MAX_ATTEMPTS) return giveUp(mem, h, flag ? -flag : CV_ERR_FAILURE);
    mem->h = next;
    h      = sized(mem, next);
  }
}

/* The sizes of a step that failed say nothing about the steps after it. */
int cpOneStepStep(CPOneStepMem mem) {
  const sunrealtype proposed = mem->h;
  const int flag             = attempts(mem);
  if (flag) mem->h = proposed;
  return flag;
}
