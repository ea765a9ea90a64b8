/* Suggests a method for the motion that begins at a state, from these quantities:
 *
 *   rho       spectral radius of the Jacobian J of y' = f(t, y): an explicit method takes steps of
 *             at most about 6 / rho
 *   omega     rate of the motion: positions change by their own size in 1 / omega
 *   amplitude of the fastest mode in y', if it is an oscillation
 *
 * Directions normal to the manifold have eigenvalues of 0 or of the size of omega, because f
 * differentiates the constraints: the largest eigenvalue is that of the motion along the
 * manifold. */
#include "actions.h"
#include "cpodes/base/random.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/kinematics.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Along the negative real axis and the imaginary axis DOP853 is stable for |h lambda| up to about 6
 * (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.5, take 6.1
 * for its detection of stiffness). */
#define STABLE 6.0
/* An implicit method is suggested if stability requires more than this number of explicit steps in a
 * time of 1 / omega. It does not depend on the tolerance: where accuracy limits the steps, RADAU needs
 * as many more of them as DOP853 (bench/README.md, "The automatic choice"). */
#define MANY 5.0
/* Power iterations: the radius changes by less than ACCURACY after 4 to 8 of them, or there is no
 * dominant eigenvalue. A radius below this part of omega limits no step and is not iterated any further.
 * Without restoring forces (a point on a rod, a chain in its plane) some power of J is even zero. */
#define ITERATIONS 10
#define ACCURACY   0.1
/* RADAU tests its estimate against 0.1 rtol^(2/3) (radau.c, s = 3) and begins to follow an oscillation
 * at amplitudes of 0.005 to 0.02 rtol^(2/3) of the size of positions. Below this part of rtol^(2/3) it
 * is stepped over (bench/README.md). */
#define SKIPPED 0.003
/* BDF of order k is A(alpha)-stable, with alpha = 90, 90, 86.0, 73.4, 51.8 degrees for k = 1 ... 5
 * (Hairer and Wanner, Solving Ordinary Differential Equations II, table V.2.1). It is of use up to the
 * angle of order 4, whose cotangent this is. */
#define BDF_DECAY 0.299
/* From this tolerance on steps of BS54 suit the accuracy, below it those of DOP853, whose order is higher: evaluations
 * of f at equal tolerances and errors over the catalogue (guide, "Which method?"). If stability requires more than one step in
 * 1 / omega, a mode faster than the motion limits the steps, and evaluations of DOP853 carry further at any tolerance: BS54 takes
 * 1.02 to 1.4 times as many from 3.7 steps on, 0.5 to 1 times up to 0.8 (bench/README.md, "The automatic choice"). */
#define LOOSE 1e-3
/* Products with J that extract the fastest oscillation from y' */
#define SIFTED 4

typedef struct {
  CPArena arena;
  CPMech mech;
  double t;
  const double *y;
  double size, omega;               /* size of positions; rate of the motion */
  double *f, *moved, *v, *Jv, *JJv; /* [n] */
  double *lambda;                   /* [m] */
} Room;

/* yd = f(t, y) */
static int evaluate(Room *room, const double *y, double *yd) {
  const CPMech mech = room->mech;
  CPMechState s;
  int flag = cpMechRead(mech, room->t, y, &s);
  if (!flag) flag = cpMechAccelerate(mech, &s, yd + mech->nq, room->lambda);
  if (!flag) flag = cpMechOtherRates(mech, &s, room->lambda, yd);
  return flag;
}

/* Velocities count in units of omega, so that nothing depends on the unit of time. */
static double unit(const Room *room, int i) {
  const int velocity = i >= room->mech->nq && i < room->mech->nq + room->mech->nu;
  return velocity ? room->omega : 1.0;
}

static double dot(const Room *room, const double *a, const double *b) {
  double sum = 0.0;
  for (int i = 0; i < room->mech->n; i++) sum += a[i] * b[i] / (unit(room, i) * unit(room, i));
  return sum;
}

/* Jv = J v by differences */
static int times(Room *room, const double *v, double *Jv) {
  const int n         = room->mech->n;
  const double moving = CP_HALF_DIGITS * room->size / sqrt(dot(room, v, v));
  for (int i = 0; i < n; i++) room->moved[i] = room->y[i] + moving * v[i];
  const int flag = evaluate(room, room->moved, Jv);
  for (int i = 0; i < n; i++) Jv[i] = (Jv[i] - room->f[i]) / moving;
  return flag;
}

/* Finds the largest eigenvalue, or one of the largest pair, as a root of x^2 = c1 x + c0, where
 * J^2 v = c1 J v + c0 v in the least-squares sense. If f fails near the state, the iteration ends
 * with its newest values. */
static int dominant(Room *room, double *re, double *im) {
  const int n    = room->mech->n;
  unsigned state = 1;
  int flag       = CP_SUCCESS;
  double *v = room->v, *Jv = room->Jv, *JJv = room->JJv;
  *re = *im = 0.0;
  for (int i = 0; i < n; i++) v[i] = unit(room, i) * cpUniformAwayFromZero(&state);
  for (int k = 0; k < ITERATIONS; k++) {
    const double before = hypot(*re, *im);
    flag                = times(room, v, Jv);
    if (flag || !(cpLargest(Jv, n) > 0.0)) break;
    flag = times(room, Jv, JJv);
    if (flag) break;
    const double vv = dot(room, v, v), vJ = dot(room, v, Jv), JJ = dot(room, Jv, Jv);
    const double vJJ = dot(room, v, JJv), JJJ = dot(room, Jv, JJv), det = JJ * vv - vJ * vJ;
    const double next = dot(room, JJv, JJv);
    if (!(next > 0.0) || !isfinite(next)) break;
    if (det > 1e-10 * JJ * vv) {
      const double c1 = (JJJ * vv - vJJ * vJ) / det, c0 = (JJ * vJJ - vJ * JJJ) / det;
      const double square = 0.25 * c1 * c1 + c0;
      *re                 = 0.5 * c1 + (square > 0.0 ? copysign(sqrt(square), c1) : 0.0);
      *im                 = square < 0.0 ? sqrt(-square) : 0.0;
    } else { /* v is an eigenvector */
      *re = JJJ / JJ;
      *im = 0.0;
    }
    const double radius = hypot(*re, *im);
    if (k > 0 && (radius < ACCURACY * room->omega || fabs(radius - before) <= ACCURACY * before))
      break;
    for (int i = 0; i < n; i++) v[i] = JJv[i] / sqrt(next);
  }
  return flag < 0 ? flag : CP_SUCCESS;
}

/* *amplitude <- the amplitude of the fastest oscillation, relative to the size of positions, or 1
 * if f fails near the state. J^k y' / rho^k retains this oscillation of y', and (omega / rho)^k of
 * slower motion. */
static int amplitudeOf(Room *room, double rho, double *amplitude) {
  const int nq = room->mech->nq, n = room->mech->n;
  int flag = CP_SUCCESS;
  memcpy(room->v, room->f, (size_t)n * sizeof *room->v);
  for (int k = 0; k < SIFTED && !flag && dot(room, room->v, room->v) > 0.0; k++) {
    flag = times(room, room->v, room->Jv);
    for (int i = 0; i < n; i++) room->v[i] = room->Jv[i] / rho;
  }
  const double q = cpLargest(room->v, nq) / rho,
               u = cpLargest(room->v + nq, room->mech->nu) / (rho * rho);
  *amplitude     = flag ? 1.0 : fmax(q, u) / room->size;
  return flag < 0 ? flag : CP_SUCCESS;
}

/* The problem is stiff if its fastest mode limits explicit steps, and implicit ones may skip it. The
 * mode has to be followed until its amplitude A, which falls as exp(-a t), a = -re, is below the part
 * that is skipped:
 *
 *   t = log(A / skipped) / a   if the mode is damped, a > omega: what excites it is the motion, and its
 *                              response has died out before the motion has changed;
 *       0                      if A <= skipped, else the whole time if it is not damped.
 *
 * While they follow it, implicit methods need up to MANY times the work for each radian of its
 * oscillation, and few steps if it is an exponential. A = 1 is a bound, so that most damped modes need
 * no evaluation for their amplitude; DBL_EPSILON is one for what counts at rtol = 0.
 * RADAU needs M and A. BDF follows undamped oscillations, whatever their amplitude (guide, "Choosing a
 * method"), and those outside its regions of stability. */
static int choose(Room *room, double rtol, double remaining, double re, double im,
                  CPMechSuggestion *s) {
  const int operators = room->mech->operators;
  const double ratio = s->radius / s->motion, skipped = SKIPPED * pow(rtol, 2.0 / 3.0);
  const int fast   = ratio > MANY * STABLE,
            damped = -re > fmax(s->motion, operators ? BDF_DECAY * fabs(im) : 0.0);
  double amplitude = 1.0;
  /* the number of times that the mode decays by e in the time that there is to follow it */
  const double times = damped ? -re * remaining * s->radius / (MANY * fabs(im)) : 0.0;
  int flag = CP_SUCCESS, skips = times >= -log(fmax(skipped, DBL_EPSILON));
  char seen[96] = "";
  if (fast && !skips && im != 0.0 && !operators) {
    flag  = amplitudeOf(room, s->radius, &amplitude);
    skips = amplitude * exp(-times) < skipped;
    snprintf(seen, sizeof seen, " with an amplitude of %.2g", amplitude);
  }
  if (damped && im != 0.0) {
    const size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, ", decays at %.3g", -re);
  }
  s->stiff  = fast && skips;
  s->method = s->stiff                         ? (operators ? "BDF" : "RADAU")
              : rtol < LOOSE || ratio > STABLE ? "DOP853"
                                               : "BS54";
  if (s->radius == 0.0)
    snprintf(s->reason, sizeof s->reason,
             "not stiff: no exponential or oscillation changes faster than a tenth of the rate of "
             "positions, %.3g",
             s->motion);
  else
    snprintf(
        s->reason, sizeof s->reason,
        "%s: the fastest %s changes at a rate of %.3g%s, positions at %.3g; while these change "
        "by their own size, stability requires %.2g explicit steps, and implicit methods pay "
        "off above %g",
        s->stiff ? "stiff"
        : fast   ? damped ? "damped too slowly" : "not damped"
                 : "not stiff",
        im != 0.0 ? "oscillation" : "exponential", s->radius, seen, s->motion, ratio / STABLE, MANY);
  return flag;
}

/* room->y <- y without whole turns of its angles, which would count in its size and take digits from differences. turns [nq]: in,
 * zeros; out, those that the system adds meanwhile. */
static void putAside(Room *room, double *turns, double *y) {
  const CPMech mech = room->mech;
  memcpy(y, room->y, (size_t)mech->n * sizeof *y);
  cpPutTurnsAside(mech->eq->nangles, mech->eq->angles, y, NULL, turns);
  room->y     = y;
  mech->turns = turns;
  cpMechTurned(1, mech);
}

/* The size of positions: the largest, or 1 at a start where all are zero, or angles that are zero up to roundoff, in whose units a rate
 * would exceed that of each mode. */
static double sizeOf(const CPMech mech, const double *y) {
  const double largest = cpLargest(y, mech->nq), zero = mech->eq->nangles > 0 ? CP_HALF_DIGITS : 0.0;
  return largest > zero ? largest : 1.0;
}

int CPMechSuggestMethod(CPMech mech, sunrealtype t, N_Vector y, sunrealtype t_end, sunrealtype rtol,
                        CPMechSuggestion *s) {
  CPMechSuggestion own;
  int flag = cpMechCheckState(mech, y, __func__);
  if (!flag) flag = cpTake(&mech->log, &own, s, __func__);
  if (flag) return flag;
  if (!isfinite(t) || !isfinite(t_end) || t == t_end)
    return cpRefuse(&mech->log, __func__,
                    "t and t_end must be finite and differ: t = %g, t_end = %g", t, t_end);
  if (!(rtol >= 0.0 && isfinite(rtol)))
    return cpRefuse(&mech->log, __func__, "rtol must be finite and at least 0: rtol = %g", rtol);
  Room room = {.mech = mech, .t = t, .y = N_VGetArrayPointer(y)};
  double re = 0.0, im = 0.0;
  CP_ARRAYS(&room.arena, mech->n, &room.f, &room.moved, &room.v, &room.Jv, &room.JJv);
  CP_ARRAYS(&room.arena, mech->m, &room.lambda);
  double *const kept = mech->turns, *turns = NULL, *whole = NULL;
  if (kept) CP_NEW(&room.arena, turns, mech->nq), CP_NEW(&room.arena, whole, mech->n);
  flag = cpArenaStatus(&room.arena);
  if (flag) cpReason(mech->text, flag, "out of memory");
  else if (kept) putAside(&room, turns, whole);
  if (!flag) flag = evaluate(&room, room.y, room.f);
  if (!flag) {
    room.size                    = sizeOf(mech, room.y);
    const double by_velocity     = cpLargest(room.f, mech->nq) / room.size,
                 by_acceleration = sqrt(cpLargest(room.f + mech->nq, mech->nu) / room.size);
    room.omega                   = fmax(1.0 / fabs(t_end - t), fmax(by_velocity, by_acceleration));
    flag                         = dominant(&room, &re, &im);
  }
  if (!flag) {
    own.motion = room.omega;
    own.radius = hypot(re, im);
    if (own.radius < ACCURACY * own.motion) own.radius = 0.0;
    flag = choose(&room, rtol, fabs(t_end - t), re, im, &own);
  }
  if (!flag) cpGive(s, &own);
  if (mech->turned) cpMechTurned(0, mech);
  mech->turns = kept;
  cpArenaFree(&room.arena);
  return cpMechReport(mech, flag, __func__);
}
