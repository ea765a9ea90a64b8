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
#include "mechanics_impl.h"

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
  const int flag = cpCallUser(&mech->log, f.x(at, &x, p->data));
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
static int differentiate(CPMech mech, CPPrescribed *p, double t) {
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
    bend += second[k - 1] * ((plus - p->value) + (minus - p->value));
  }
  if (!p->gd) p->rate = slope / e;
  if (!p->gdd) p->curvature = p->gd ? slope / e : bend / e / e;
  if (isfinite(p->rate) && isfinite(p->curvature)) return CP_SUCCESS;
  return complain(mech, p, -CP_MECH_NONFINITE, f, t, t, "has differences that overflow");
}

int cpMechMotions(CPMech mech, sunrealtype t) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < mech->motions.count; k++) {
    CPPrescribed *p = &mech->motions.list[k];
    flag            = evaluate(mech, p, (Function){p->g, "g"}, t, t, &p->value);
    if (!flag && p->gd) flag = evaluate(mech, p, (Function){p->gd, "g'"}, t, t, &p->rate);
    if (!flag && p->gdd) flag = evaluate(mech, p, (Function){p->gdd, "g''"}, t, t, &p->curvature);
    if (!flag && !(p->gd && p->gdd)) flag = differentiate(mech, p, t);
  }
  return flag;
}

void cpMechAskName(const CPMech mech, CPMechName what, int i, sunrealtype t,
                   char name[CP_MECH_ROW_NAME]) {
  name[0] = '\0';
  if (mech->model.row_name && i < mech->na && !cpMechData(mech))
    mech->model.row_name(what, i, t, name, CP_MECH_ROW_NAME, mech->data);
  name[CP_MECH_ROW_NAME - 1] = '\0';
}

const char *cpMechRowName(const CPMech mech, int i, char name[CP_MECH_ROW_NAME]) {
  cpMechAskName(mech, CP_NAME_ROW, i, 0.0, name);
  if (!name[0]) snprintf(name, CP_MECH_ROW_NAME, "constraint %d", i);
  for (int k = 0; k < mech->motions.count; k++)
    if (mech->motions.list[k].row == i)
      snprintf(name, CP_MECH_ROW_NAME, "the prescribed motion of coordinate %d",
               mech->motions.list[k].i);
  return name;
}

const char *cpMechMotionNames(const CPMech mech, char names[CP_MECH_MOTIONS]) {
  enum { MOST = 4 };
  size_t used = 0;
  names[0]    = '\0';
  for (int k = 0; k < mech->motions.count && k <= MOST; k++) {
    const char *before = k == 0 ? "; prescribed are the coordinates " : ", ";
    if (k == MOST) snprintf(names + used, CP_MECH_MOTIONS - used, ", ...");
    else snprintf(names + used, CP_MECH_MOTIONS - used, "%s%d", before, mech->motions.list[k].i);
    used = strlen(names);
  }
  return names;
}

/* ---- set-up ---- */

/* Returns j with q_i' = u_j, or -1 if there is none. */
static int velocityOf(const CPMech mech, int i) {
  for (int j = 0; j < mech->nu; j++)
    if (mech->coords.pair[j] == i) return j;
  return -1;
}

static int noVelocity(CPMech mech, int i, const char *function) {
  return cpRefuse(&mech->log, function,
                  "coordinate %d has no velocity u_j of its own, with q_i' = u_j, and cannot be "
                  "prescribed",
                  i);
}

int cpMechMotionsSetUp(CPMech mech, const char *function) {
  int row = mech->na, nfull = 0;
  for (int k = 0; k < mech->motions.count; k++) {
    CPPrescribed *p = &mech->motions.list[k];
    p->j            = velocityOf(mech, p->i);
    p->row          = p->how == CP_MOTION_FULL ? -1 : row++;
    nfull += p->how == CP_MOTION_FULL;
    if (p->j < 0) return noVelocity(mech, p->i, function);
  }
  for (int k = 0; k < mech->motions.count; k++)
    mech->motions.is_full[mech->motions.list[k].j] = mech->motions.list[k].row < 0;
  mech->motions.nfull = nfull;
  mech->m             = row;
  return CP_SUCCESS;
}

int CPMechPrescribe(CPMech mech, sunindextype i, CPMotion how, CPMotionFn g, CPMotionFn gd,
                    CPMotionFn gdd, sunrealtype step, void *data) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_USE, __func__);
  if (flag) return flag;
  CPLog *log = &mech->log;
  if (mech->operators)
    return cpReport(log, CP_NOT_SUPPORTED, __func__,
                    "motions cannot be prescribed without the matrices M and A: accelerations are "
                    "the function udot's");
  if (i < 0 || i >= mech->nq)
    return cpRefuse(log, __func__, "i must be from 0 to %d, is %ld", mech->nq - 1, (long)i);
  for (int k = 0; k < mech->motions.count; k++)
    if (mech->motions.list[k].i == i)
      return cpRefuse(log, __func__, "coordinate %ld is prescribed already", (long)i);
  /* Pairs are final once all quaternions have been added. */
  cpMechPair(mech);
  if ((mech->model.N || mech->nq - mech->nu == mech->coords.nquaternions) &&
      velocityOf(mech, (int)i) < 0)
    return noVelocity(mech, (int)i, __func__);
  if (how != CP_MOTION_DIRECT && how != CP_MOTION_RATE && how != CP_MOTION_FULL)
    return cpRefuse(log, __func__, "how must be a CPMotion, is %d", (int)how);
  if (!g) return cpRefuse(log, __func__, "g must not be NULL");
  if (!(gd && gdd) && !(step > 0.0 && isfinite(step)))
    return cpRefuse(log, __func__, "step must be positive and finite for differences of %s, is %g",
                    gd ? "g'" : "g", step);
  CPPrescribed *more =
      cpMechGrow(mech, mech->motions.list, mech->motions.count, sizeof *more, __func__);
  if (!more) return CP_MEM_FAIL;
  mech->motions.list          = more;
  more[mech->motions.count++] = (CPPrescribed){.i    = (int)i,
                                               .j    = -1,
                                               .row  = -1,
                                               .how  = how,
                                               .g    = g,
                                               .gd   = gd,
                                               .gdd  = gdd,
                                               .step = step,
                                               .data = data};
  return CP_SUCCESS;
}
