/* Prescribed motions q_i(t) = g(t): their values, and central differences for g' and g'' if these
 * are not given.
 *
 * Formulas of sixth order with step e, each with its truncation error for a smooth x and its
 * roundoff for an x computed to the last bit (eps is the unit roundoff; roundoff in t counts like
 * roundoff in x):
 *
 *   x'  = sum_k c'_k  (x(t + k e) - x(t - k e)) / e              e^6 |x^(7)| / 140 + 2 eps |x| / e
 *   x'' = sum_k c''_k (x(t + k e) - 2 x(t) + x(t - k e)) / e^2   e^6 |x^(8)| / 560 + 6 eps |x| / e^2
 *
 * For sin(omega t) the best step for g'' is 0.03 / omega, with an error of 2e-12 omega^2. */
#include "motions.h"
#include "cpodes/base/differences.h"

#include <math.h>
#include <string.h>

static const double second[3] = {3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0}; /* c''_k */

/* ---- values ---- */

/* A function of a motion, and its name. */
typedef struct {
  CPMotionFn x;
  const char *name;
} Function;

static int complain(CPMech mech, const CPPrescribed *p, int code, Function f, double t, double at,
                    const char *what) {
  char place[64] = "";
  if (at != t) snprintf(place, sizeof place, " for differences around t = %.15g", t);
  return cpReason(mech->text, code, "prescribed motion of coordinate %d: %s at t = %.10g%s %s",
                  p->i, f.name, at, place, what);
}

/* *value = x(at). Messages name t, the time of the motion, if it differs from `at`. */
static int evaluate(CPMech mech, const CPPrescribed *p, Function f, double t, double at,
                    double *value) {
  char what[64];
  sunrealtype x  = NAN; /* detects a function that sets nothing */
  const int flag = p->data ? cpCallUser(&mech->log, f.x(at, &x, p->data))
                           : cpMechCallFunction(mech, f.x, at, &x);
  *value         = x;
  if (!flag && isfinite(x)) return CP_SUCCESS;
  if (flag) snprintf(what, sizeof what, "failed, it returned %d", flag);
  else snprintf(what, sizeof what, "is not finite: %g", x);
  const int code = flag < 0   ? CP_USERFUNC_FAIL
                   : flag > 0 ? -CP_REPTD_USERFUNC_ERR
                              : -CP_MECH_NONFINITE;
  return complain(mech, p, code, f, t, at, what);
}

/* Computes the rate and the curvature that are not given, from g' or, without g', from g. */
static int differentiate(CPMech mech, const CPPrescribed *p, CPMotionValue *v, double t) {
  const Function f = p->gd ? (Function){p->gd, "g'"} : (Function){p->g, "g"};
  const double e   = p->step;
  double slope = 0.0, bend = 0.0;
  if (!(t + e > t && t - e < t))
    return complain(mech, p, CP_USERFUNC_FAIL, f, t, t, "has a step of differences too small for t");
  for (int k = 1; k <= 3; k++) {
    double plus = 0.0, minus = 0.0;
    int flag = evaluate(mech, p, f, t, t + k * e, &plus);
    if (!flag) flag = evaluate(mech, p, f, t, t - k * e, &minus);
    if (flag) return flag;
    slope += cpSixthOrder[k - 1] * (plus - minus);
    bend += second[k - 1] * ((plus - v->value) + (minus - v->value));
  }
  if (!p->gd) v->rate = slope / e;
  if (!p->gdd) v->curvature = p->gd ? slope / e : bend / e / e;
  if (isfinite(v->rate) && isfinite(v->curvature)) return CP_SUCCESS;
  return complain(mech, p, -CP_MECH_NONFINITE, f, t, t, "has differences that overflow");
}

int cpMechMotions(CPMech mech, sunrealtype t) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < mech->motions->count; k++) {
    const CPPrescribed *p = &mech->motions->list[k];
    CPMotionValue *v      = &mech->motion[k];
    flag                  = evaluate(mech, p, (Function){p->g, "g"}, t, t, &v->value);
    if (!flag && p->gd) flag = evaluate(mech, p, (Function){p->gd, "g'"}, t, t, &v->rate);
    if (!flag && p->gdd) flag = evaluate(mech, p, (Function){p->gdd, "g''"}, t, t, &v->curvature);
    if (!flag && !(p->gd && p->gdd)) flag = differentiate(mech, p, v, t);
  }
  return flag;
}

void cpMechAskName(const CPMech mech, CPMechName what, int i, sunrealtype t, char *name,
                   size_t length) {
  const int of_row = what != CP_NAME_STATE && what != CP_NAME_VELOCITY && what != CP_NAME_FAILURE;
  name[0]          = '\0';
  if (mech->eq->row_name && !(of_row && i >= mech->na) && !cpMechData(mech))
    mech->eq->row_name(what, i, t, name, length, mech->data);
  name[length - 1] = '\0';
}

const char *cpMechRowName(const CPMech mech, int i, char name[CP_MECH_ROW_NAME]) {
  cpMechAskName(mech, CP_NAME_ROW, i, 0.0, name, CP_MECH_ROW_NAME);
  if (!name[0]) snprintf(name, CP_MECH_ROW_NAME, "constraint %d", i);
  for (int k = 0; k < mech->motions->count; k++)
    if (mech->motions->list[k].row == i)
      snprintf(name, CP_MECH_ROW_NAME, "the prescribed motion of coordinate %d",
               mech->motions->list[k].i);
  return name;
}

const char *cpMechMotionNames(const CPMech mech, char names[CP_MECH_MOTIONS]) {
  enum { MOST = 4 };
  size_t used = 0;
  names[0]    = '\0';
  for (int k = 0; k < mech->motions->count && k <= MOST; k++) {
    const char *before = k == 0 ? "; prescribed are the coordinates " : ", ";
    if (k == MOST) snprintf(names + used, CP_MECH_MOTIONS - used, ", ...");
    else snprintf(names + used, CP_MECH_MOTIONS - used, "%s%d", before, mech->motions->list[k].i);
    used = strlen(names);
  }
  return names;
}
