/* Prescribed motions, q_i(t) = g(t): their values, and g', g'' by central differences.
 *
 * Sixth order, step e; errors for a smooth x, and noise where x is computed to the last bit (eps the
 * unit roundoff; that of t counts like one of x):
 *
 *   x'  = sum_k c'_k  (x(t + k e) - x(t - k e)) / e              e^6 |x^(7)| / 140 + 2 eps |x| / e
 *   x'' = sum_k c''_k (x(t + k e) - 2 x(t) + x(t - k e)) / e^2   e^6 |x^(8)| / 560 + 6 eps |x| / e^2
 *
 * For sin(omega t) the best step of g'' is 0.03 / omega: the error is then 2e-12 of omega^2. */
#include "mechanics_impl.h"

#include <math.h>
#include <string.h>

enum { REACH = 3 };
static const double second[REACH] = {3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0}; /* c''_k */

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
  return cpReason(mech->text, code, "prescribed motion of coordinate %d: %s at t = %.15g%s %s",
                  p->i, f.name, at, place, what);
}

/* *value = x(at), asked for because of time t. */
static int evaluate(CPMech mech, const CPPrescribed *p, Function f, double t, double at,
                    double *value) {
  char what[64];
  sunrealtype x  = NAN; /* a function that sets nothing is found out */
  const int flag = f.x(at, &x, p->data);
  *value         = x;
  if (!flag && isfinite(x)) return CP_SUCCESS;
  if (flag) snprintf(what, sizeof what, "failed, it returned %d", flag);
  else snprintf(what, sizeof what, "is not finite: %g", x);
  const int code = flag < 0   ? CP_USERFUNC_FAIL
                   : flag > 0 ? -CP_REPTD_USERFUNC_ERR
                              : -CP_MECH_NONFINITE;
  return complain(mech, p, code, f, t, at, what);
}

/* plus[k - 1] = x(t + k e), minus[k - 1] = x(t - k e) */
static int evaluateAround(CPMech mech, const CPPrescribed *p, Function f, double t,
                          double plus[REACH], double minus[REACH]) {
  int flag = CP_SUCCESS;
  if (!(t + p->step > t && t - p->step < t))
    return complain(mech, p, CP_USERFUNC_FAIL, f, t, t, "has a step of differences too small for t");
  for (int k = 1; !flag && k <= REACH; k++) {
    flag = evaluate(mech, p, f, t, t + k * p->step, &plus[k - 1]);
    if (!flag) flag = evaluate(mech, p, f, t, t - k * p->step, &minus[k - 1]);
  }
  return flag;
}

static double slope(double e, const double plus[REACH], const double minus[REACH]) {
  double sum = 0.0;
  for (int k = 0; k < REACH; k++) sum += cpSixthOrder[k] * (plus[k] - minus[k]);
  return sum / e;
}

static double bend(double e, double x, const double plus[REACH], const double minus[REACH]) {
  double sum = 0.0;
  for (int k = 0; k < REACH; k++) sum += second[k] * ((plus[k] - x) + (minus[k] - x));
  return sum / e / e;
}

static int differences(CPMech mech, CPPrescribed *p, double t) {
  const Function f = p->gd ? (Function){p->gd, "g'"} : (Function){p->g, "g"};
  double plus[REACH], minus[REACH];
  const int flag = evaluateAround(mech, p, f, t, plus, minus);
  if (flag) return flag;
  if (!p->gd) p->rate = slope(p->step, plus, minus);
  if (!p->gdd)
    p->curvature = p->gd ? slope(p->step, plus, minus) : bend(p->step, p->value, plus, minus);
  if (isfinite(p->rate) && isfinite(p->curvature)) return CP_SUCCESS;
  return complain(mech, p, -CP_MECH_NONFINITE, f, t, t, "has differences that overflow");
}

static int evaluateMotion(CPMech mech, CPPrescribed *p, double t) {
  int flag = evaluate(mech, p, (Function){p->g, "g"}, t, t, &p->value);
  if (!flag && p->gd) flag = evaluate(mech, p, (Function){p->gd, "g'"}, t, t, &p->rate);
  if (!flag && p->gdd) flag = evaluate(mech, p, (Function){p->gdd, "g''"}, t, t, &p->curvature);
  if (!flag && !(p->gd && p->gdd)) flag = differences(mech, p, t);
  return flag;
}

int cpMechMotions(CPMech mech, sunrealtype t) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < mech->nprescribed; k++)
    flag = evaluateMotion(mech, &mech->prescribed[k], t);
  return flag;
}

const char *cpMechRowName(const CPMech mech, int i, char name[CP_MECH_ROW_NAME]) {
  snprintf(name, CP_MECH_ROW_NAME, "constraint %d", i);
  for (int k = 0; k < mech->nprescribed; k++)
    if (mech->prescribed[k].row == i)
      snprintf(name, CP_MECH_ROW_NAME, "the prescribed motion of coordinate %d",
               mech->prescribed[k].i);
  return name;
}

const char *cpMechMotionNames(const CPMech mech, char names[CP_MECH_MOTIONS]) {
  enum { MOST = 4 };
  size_t used = 0;
  names[0]    = '\0';
  for (int k = 0; k < mech->nprescribed && k <= MOST; k++) {
    const char *before = k == 0 ? "; prescribed are the coordinates " : ", ";
    if (k == MOST) snprintf(names + used, CP_MECH_MOTIONS - used, ", ...");
    else snprintf(names + used, CP_MECH_MOTIONS - used, "%s%d", before, mech->prescribed[k].i);
    used = strlen(names);
  }
  return names;
}

/* ---- set-up ---- */

/* j of q_i' = u_j, -1 if there is none. */
static int velocityOf(const CPMech mech, int i) {
  for (int j = 0; j < mech->nu; j++)
    if (mech->pair[j] == i) return j;
  return -1;
}

static int noVelocity(CPMech mech, int i, const char *function) {
  return cpReport(&mech->log, CP_ILL_INPUT, function,
                  "coordinate %d has no velocity u_j of its own, with q_i' = u_j, and cannot be "
                  "prescribed",
                  i);
}

int cpMechMotionsSetUp(CPMech mech, const char *function) {
  int row = mech->na, nfull = 0;
  for (int k = 0; k < mech->nprescribed; k++) {
    CPPrescribed *p = &mech->prescribed[k];
    p->j            = velocityOf(mech, p->i);
    p->row          = p->how == CP_MOTION_FULL ? -1 : row++;
    nfull += p->how == CP_MOTION_FULL;
    if (p->j < 0) return noVelocity(mech, p->i, function);
  }
  for (int k = 0; k < mech->nprescribed; k++)
    mech->is_full[mech->prescribed[k].j] = mech->prescribed[k].row < 0;
  mech->nfull = nfull;
  mech->m     = row;
  return CP_SUCCESS;
}

/* Is the pair of coordinate i known, and does it have none? (Not before all quaternions are.) */
static int hasNoVelocity(CPMech mech, int i) {
  cpMechPair(mech);
  const int complete = mech->model.N || mech->nq - mech->nu == mech->nquaternions;
  return complete && velocityOf(mech, i) < 0;
}

static int checkMotion(CPMech mech, sunindextype i, CPMotion how, CPMotionFn g,
                       const char *function) {
  CPLog *log = &mech->log;
  if (mech->operators)
    return cpReport(log, CP_NOT_SUPPORTED, function,
                    "motions cannot be prescribed without the matrices M and A: accelerations are "
                    "the function udot's");
  if (i < 0 || i >= mech->nq)
    return cpReport(log, CP_ILL_INPUT, function, "i must be from 0 to %d, is %ld", mech->nq - 1,
                    (long)i);
  for (int k = 0; k < mech->nprescribed; k++)
    if (mech->prescribed[k].i == i)
      return cpReport(log, CP_ILL_INPUT, function, "coordinate %ld is prescribed already", (long)i);
  if (hasNoVelocity(mech, (int)i)) return noVelocity(mech, (int)i, function);
  if (how != CP_MOTION_DIRECT && how != CP_MOTION_RATE && how != CP_MOTION_FULL)
    return cpReport(log, CP_ILL_INPUT, function, "how must be a CPMotion, is %d", (int)how);
  if (!g) return cpReport(log, CP_ILL_INPUT, function, "g must not be NULL");
  return CP_SUCCESS;
}

int CPMechPrescribe(CPMech mech, sunindextype i, CPMotion how, CPMotionFn g, CPMotionFn gd,
                    CPMotionFn gdd, sunrealtype step, void *data) {
  int flag = cpMechOption(mech, CP_MECH_BEFORE_USE, __func__);
  if (!flag) flag = checkMotion(mech, i, how, g, __func__);
  if (flag) return flag;
  if (!(gd && gdd) && !(step > 0.0 && isfinite(step)))
    return cpReport(&mech->log, CP_ILL_INPUT, __func__,
                    "step must be positive and finite for differences of %s, is %g",
                    gd ? "g'" : "g", step);
  CPPrescribed *more = cpMechGrow(mech, mech->prescribed, (size_t)mech->nprescribed, sizeof *more);
  if (!more) return cpReport(&mech->log, CP_MEM_FAIL, __func__, "no memory for another motion");
  mech->prescribed = more;
  CPPrescribed *p  = &mech->prescribed[mech->nprescribed++];
  *p               = (CPPrescribed){.i = (int)i, .j = -1, .row = -1, .how = how};
  p->g = g, p->gd = gd, p->gdd = gdd;
  p->step = step;
  p->data = data;
  return CP_SUCCESS;
}
