/* The promises of integrators: the solution within the tolerances, on the manifold, whatever
 * happened before. */
#include "world.h"

#include <math.h>
#include <string.h>

/* Errors may be this many tolerances. Runs are less than two periods of a pendulum; the defects in
 * question (a frozen state, stages of a failed attempt) are larger by orders of magnitude. */
#define ERROR_PER_TOLERANCE 3e4
/* Tolerances above this are not judged: an error of 0.3 says nothing. */
#define LOOSEST_JUDGED 1e-5
#define ROUNDOFF       1e-7
/* Steps without progress, while h shrinks or grows again below the roundoff of t */
enum { MOST_IDLE_STEPS = 10 };

static sunrealtype *of(N_Vector v) { return N_VGetArrayPointer(v); }

void promise_start(World *w, Promise *k, sunrealtype t0, N_Vector y0) {
  sunrealtype c[MOST_C], largest = 0.0;
  k->started = 1;
  k->t0 = k->t = k->root_free = k->reached = k->low = k->high = t0;
  k->returned                                                 = NAN;
  if (!y0 || N_VGetLength(y0) != w->m.n) {
    k->consistent = 0;
    return;
  }
  memcpy(k->y0, of(y0), (size_t)w->m.n * sizeof *k->y0);
  memcpy(k->reference, k->y0, sizeof k->y0);
  mechanism_constraints(&w->m, t0, k->y0, c);
  for (int i = 0; i < w->m.m; i++) largest = fmax(largest, fabs(c[i]));
  sunrealtype norm = w->m.quaternion < 0 ? 1.0 : 0.0;
  for (int i = 0; w->m.quaternion >= 0 && i < 4; i++)
    norm += k->y0[w->m.quaternion + i] * k->y0[w->m.quaternion + i];
  largest = fmax(largest, fabs(norm - 1.0));
  for (int i = 0; i < w->m.n; i++) largest = fmax(largest, 1e-3 * fabs(k->y0[i]) - 0.1);
  k->consistent = largest <= 1e-9; /* and not far away */
}

static void forget_reference(Promise *k) {
  k->reached = k->t0;
  memcpy(k->reference, k->y0, sizeof k->y0);
}

void promise_compare(World *w, Promise *k, sunrealtype t, N_Vector y, const char *what) {
  if (!k->started || w->another_solution || !k->consistent || k->tol > LOOSEST_JUDGED ||
      k->tol <= 0.0)
    return;
  if (w->m.features & FRICTION || fabs(t - k->t0) > 1.5) return;
  if (fabs(t - k->reached) > fabs(t - k->t0)) forget_reference(k);
  mechanism_advance(&w->m, k->reached, t, k->reference);
  k->reached = t;
  for (int i = 0; i < w->m.n; i++) {
    const sunrealtype error = fabs(of(y)[i] - k->reference[i]);
    if (!(error <= ERROR_PER_TOLERANCE * k->tol + ROUNDOFF))
      complain(w, what, "%s: at t = %.15g component %d is %.15g, not %.15g; tolerance %g", w->call,
               t, i, of(y)[i], k->reference[i], k->tol);
  }
}

static void check_manifold(World *w, const Promise *k, sunrealtype t, N_Vector y, sunrealtype eps) {
  sunrealtype c[MOST_C];
  if (!k->projected || !k->consistent || k->tol <= 0.0 || k->tol > 1.0) return;
  if (w->another_solution || w->off_manifold) return;
  mechanism_constraints(&w->m, t, of(y), c);
  for (int i = 0; i < w->m.m; i++) {
    sunrealtype unit = 0.0;
    for (int j = 0; j < w->m.n; j++) {
      const sunrealtype g = mechanism_entry(&w->m, i, j, of(y)) * k->tol * (1.0 + fabs(of(y)[j]));
      unit += g * g;
    }
    if (!(fabs(c[i]) <= 3.0 * eps * sqrt(unit) + 1e-10))
      complain(w, "success off the manifold", "%s: at t = %.15g constraint %d is %g, %g units",
               w->call, t, i, c[i], c[i] / sqrt(unit));
  }
}

static void check_finite(World *w, N_Vector y, sunrealtype t, int flag) {
  for (int i = 0; i < w->m.n; i++)
    if (!isfinite(of(y)[i]))
      complain(w,
               flag < 0 ? "failure with a state that is not finite"
                        : "success with a state that is not finite",
               "%s returned %d: component %d is %g", w->call, flag, i, of(y)[i]);
  if (!isfinite(t))
    complain(w, "a time that is not finite", "%s returned %d: t = %g", w->call, flag, t);
}

static int is_of_argument(int flag) {
  return flag == CP_ILL_INPUT || flag == CV_ILL_INPUT || flag == CP_MEM_NULL ||
         flag == CP_NO_INIT || flag == CV_NO_MALLOC || flag == CV_TOO_CLOSE || flag == CV_MEM_NULL;
}

/* Was t - ROOT_TIME passed without a root? This counts only if it was watched all the time. */
static void check_roots(World *w, Promise *k, int flag, sunrealtype tret) {
  const sunrealtype from = k->root_free, gap = 1e-9;
  if (flag == CV_ROOT_RETURN) k->root_free = tret;
  if (!k->roots || disturb_touched(ON_ROOT) || flag == CV_ROOT_RETURN) return;
  if ((tret - from) * (from - k->t0) < 0.0)
    return; /* an output in the last step, before its root */
  if (fabs(ROOT_TIME - from) > gap && fabs(ROOT_TIME - tret) > gap &&
      (ROOT_TIME - from) * (tret - ROOT_TIME) > 0.0)
    complain(w, "a root was passed in silence", "%s: t = %.15g, from %.15g", w->call, tret, from);
}

void promise_judge(World *w, Promise *k, int flag, sunrealtype tout, int itask, N_Vector yout,
                   sunrealtype tret, sunrealtype reached) {
  if (!yout || N_VGetLength(yout) != w->m.n) return;
  check_finite(w, yout, tret, flag);
  if (is_of_argument(flag)) k->returned = NAN;
  if (!k->started || is_of_argument(flag)) return;
  if (of(yout)[0] == SENTINEL)
    complain(w, "nothing was handed out", "%s returned %d", w->call, flag);
  const sunrealtype slack = 1e-12 * (1.0 + fabs(tret));
  k->low                  = fmin(k->low, reached);
  k->high                 = fmax(k->high, reached);
  if (tret < k->low - slack || tret > k->high + slack)
    complain(w, "a time that was not reached", "%s returned %d: t = %.15g, not in %.15g ... %.15g",
             w->call, flag, tret, k->low, k->high);
  if (flag < 0) {
    k->t        = tret;
    k->returned = NAN; /* CVODES may return its newest step once more */
    if (flag == CP_OUTPUT_PROJ_FAIL && tret == ROOT_TIME)
      k->root_free = tret; /* this may be the time of a root */
    promise_compare(w, k, tret, yout, "failure without the last good state");
    if (flag != CP_OUTPUT_PROJ_FAIL && flag != CP_INCONSISTENT_IC && tret != k->t0)
      check_manifold(w, k, tret, yout, fmax(1.0, k->eps));
    return;
  }
  if (flag != CP_SUCCESS && flag != CV_TSTOP_RETURN && flag != CV_ROOT_RETURN)
    complain(w, "a code of no meaning", "%s returned %d", w->call, flag);
  if (flag == CP_SUCCESS && itask == CV_NORMAL && tret != tout)
    complain(w, "success short of tout", "%s: t = %.17g, tout = %.17g", w->call, tret, tout);
  const int is_start =
      tret == k->t0 && fabs(tout - tret) <= slack; /* for which no step is promised */
  k->idle = flag == CP_SUCCESS && itask == CV_ONE_STEP && tret == k->returned && !is_start
                ? k->idle + 1
                : 0;
  if (k->idle > (tret == k->t0 ? 0 : MOST_IDLE_STEPS))
    complain(w, "a step that goes nowhere", "%s: t = %.17g", w->call, tret);
  promise_compare(w, k, tret, yout, "success with a wrong state");
  check_manifold(w, k, tret, yout, k->eps);
  check_roots(w, k, flag, tret);
  k->t = k->returned = tret;
}
