/* libsimbody_cpodes: the C interface of the CPODES of 2006, as far as libSimTKmath calls it,
 * implemented by today's cpodes. Preloaded, or before libSimTKmath on the link line, it replaces
 * Simbody's own functions of these names, so that a program's SimTK::CPodesIntegrator runs on
 * cpodes.
 *
 * Types, constants and signatures are those of that interface (R. Serban and others, CPODES User
 * Documentation, 2006; its header is not installed with Simbody). What this library does not
 * support is refused with CP_ILL_INPUT and a message: implicit equations, quadratures,
 * user-supplied Jacobians. */
#include "legacy.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

using cpodes::LegacyCounters;
using cpodes::LegacyIntegrator;
using cpodes::LegacyOptions;
using cpodes::LegacyTolerances;

namespace {

/* Vectors, of which only these operations are used: a clone has its own copy of the values. */
struct Vector;
struct Operations {
  Vector *(*clone)(Vector *);
  Vector *(*cloneEmpty)(Vector *);
  void (*destroy)(Vector *);
  void (*space)(Vector *, long *length, long *);
  double *(*array)(Vector *);
};
struct Vector {
  void *content;
  Operations *operations;
};

enum { ADAMS = 1, NEWTON = 2, EXPLICIT = 1 };
enum { SCALAR = 1, VECTOR = 2, FUNCTION = 3 }; /* types of tolerances */
enum { ERROR_NORM = 2 };
enum { ONE_STEP = 2, NORMAL_TSTOP = 3, ONE_STEP_TSTOP = 4 };
enum {
  CP_SUCCESS            = 0,
  CP_ODEFUNC_FAIL       = -8,
  CP_MEM_FAIL           = -20,
  CP_MEM_NULL           = -21,
  CP_ILL_INPUT          = -22,
  CP_NO_MALLOC          = -23,
  CP_PROJFUNC_FAIL      = -54,
  CP_PROJ_FAILURE       = -55,
  CP_REPTD_PROJFUNC_ERR = -57
};

using Rates       = int (*)(double, Vector *, Vector *, void *);
using Constraints = int (*)(double, Vector *, Vector *, void *);
using Projection  = int (*)(double, Vector *, Vector *, double, Vector *, void *);
using Triggers    = int (*)(double, Vector *, Vector *, double *, void *);
using Weights     = int (*)(Vector *, Vector *, void *);
using Handler     = void (*)(int, const char *, const char *, char *, void *);

std::size_t lengthOf(Vector *v) {
  long n = 0, unused = 0;
  v->operations->space(v, &n, &unused);
  return static_cast<std::size_t>(n);
}

/* cpodes' codes below -200 have no equivalent in 2006. */
int oldCode(int flag) {
  switch (flag) {
  case -201: return CP_MEM_NULL;
  case -202: return CP_MEM_FAIL;
  case -203:
  case -204:
  case -205:
  case -206:
  case -208: return CP_ILL_INPUT;
  case -220: return CP_PROJFUNC_FAIL;
  case -212:
  case -221: return CP_REPTD_PROJFUNC_ERR;
  case -240: return CP_ODEFUNC_FAIL;
  default: return flag < -200 ? CP_PROJ_FAILURE : flag;
  }
}

/* A vector of the program's own type */
class Owned {
public:
  Owned() = default;
  ~Owned() { reset(nullptr); }
  Owned(const Owned &)            = delete;
  Owned &operator=(const Owned &) = delete;
  void reset(Vector *like) {
    if (v) v->operations->destroy(v);
    v = like ? like->operations->clone(like) : nullptr;
  }
  Vector *get() const { return v; }
  double *data() const { return v->operations->array(v); }

private:
  Vector *v = nullptr;
};

/* The values of a vector, which may refer to one that must not be changed. */
struct Values {
  Owned copy;
  explicit Values(Vector *v) { copy.reset(v); }
  const double *data() const { return copy.data(); }
};

struct Memory : cpodes::LegacyProblem {
  const bool refused; /* implicit equations */
  std::size_t n = 0;
  Rates f       = nullptr;
  Projection p  = nullptr;
  Constraints c = nullptr;
  Triggers g    = nullptr;
  Weights w     = nullptr;
  void *fData = nullptr, *pData = nullptr, *cData = nullptr, *gData = nullptr, *wData = nullptr;
  Handler handler   = nullptr;
  void *handlerData = nullptr;
  FILE *file        = stderr;
  Owned a, b, e, residuals;
  LegacyIntegrator::Stop stop;
  LegacyIntegrator integrator;

  Memory(bool implicit, int lmm, int iteration)
      : refused(implicit), integrator(*this, lmm == ADAMS, iteration == NEWTON) {}

  Vector *in(const Owned &v, const double *x) const {
    std::memcpy(v.data(), x, n * sizeof *x);
    return v.get();
  }
  void out(const Owned &v, double *x) const { std::memcpy(x, v.data(), n * sizeof *x); }

  int rates(double t, const double *y, double *ydot) override {
    const int flag = f(t, in(a, y), b.get(), fData);
    out(b, ydot);
    return flag;
  }
  int project(double t, const double *y, double eps, double *correction, double *error) override {
    in(e, error);
    const int flag = p(t, in(a, y), b.get(), eps, e.get(), pData);
    out(b, correction), out(e, error);
    return flag;
  }
  int constraints(double t, const double *y, double *values) override {
    const int flag = c(t, in(a, y), residuals.get(), cData);
    std::memcpy(values, residuals.data(), lengthOf(residuals.get()) * sizeof *values);
    return flag;
  }
  int triggers(double t, const double *y, const double *ydot, double *values) override {
    return g(t, in(a, y), in(b, ydot), values, gData);
  }
  int weights(const double *y, double *values) override {
    const int flag = w ? w(in(a, y), b.get(), wData) : -1;
    out(b, values);
    return flag;
  }
  void message(int code, const char *function, const char *text) override {
    std::string copy(text);
    if (handler) handler(oldCode(code), "CPODES", function, &copy[0], handlerData);
    else if (file) std::fprintf(file, "CPODES, %s: %s\n", function, text);
  }

  int refuse(const char *function, const char *why) {
    message(CP_ILL_INPUT, function, why);
    return CP_ILL_INPUT;
  }
  /* type, relative, absolute: as given to CPodeInit */
  int tolerances(int type, double relative, void *absolute, LegacyTolerances &result) {
    result.relative = relative;
    if (type == SCALAR && absolute) {
      result.absolute.assign(1, *static_cast<double *>(absolute));
    } else if (type == VECTOR && absolute) {
      const Values given(static_cast<Vector *>(absolute));
      result.absolute.assign(given.data(), given.data() + n);
    } else if (type != FUNCTION) {
      return refuse("CPodeInit", "tolerances are neither scalars, nor vectors, nor a function");
    }
    return CP_SUCCESS;
  }
};

/* Runs f, which returns a code, or nothing if it cannot fail. */
template <class F> int codeOf(F f, Memory &m) {
  if constexpr (std::is_void_v<decltype(f(m))>) return f(m), CP_SUCCESS;
  else return f(m);
}
/* Runs f without letting an exception leave a C function. Functions of memory that has no problem
 * yet return CP_NO_MALLOC. */
template <class F> int with(void *mem, F f) {
  if (!mem) return CP_MEM_NULL;
  try {
    return oldCode(codeOf(f, *static_cast<Memory *>(mem)));
  } catch (const std::exception &) { return CP_MEM_FAIL; }
}
template <class F> int running(void *mem, F f) {
  return with(mem, [&](Memory &m) { return m.n == 0 ? CP_NO_MALLOC : codeOf(f, m); });
}
template <class T> int option(void *mem, T LegacyOptions::*which, T value) {
  return with(mem, [&](Memory &m) {
    LegacyOptions options = m.integrator.getOptions();
    options.*which        = value;
    return m.integrator.setOptions(options);
  });
}
template <class T, class S> int counter(void *mem, T *value, S LegacyCounters::*which) {
  return with(mem, [&](Memory &m) { *value = m.integrator.counters().*which; });
}
int refuse(void *mem, const char *function, const char *why) {
  return with(mem, [&](Memory &m) { return m.refuse(function, why); });
}

} // namespace

#define DROPIN extern "C" __attribute__((visibility("default")))

/* ---- life cycle ---- */

DROPIN void *CPodeCreate(int ode, int lmm, int iteration) {
  try {
    return new Memory(ode != EXPLICIT, lmm, iteration);
  } catch (const std::exception &) { return nullptr; }
}

DROPIN void CPodeFree(void **mem) {
  if (!mem) return;
  delete static_cast<Memory *>(*mem);
  *mem = nullptr;
}

DROPIN int CPodeInit(void *mem, void *f, void *data, double t0, Vector *y0, Vector *, int type,
                     double relative, void *absolute) {
  return with(mem, [&](Memory &m) -> int {
    if (m.refused)
      return m.refuse("CPodeInit", "implicit equations F(t, y, y') = 0 are not supported");
    if (!f || !y0) return m.refuse("CPodeInit", "the function and y0 must not be NULL");
    m.n = lengthOf(y0);
    for (Owned *v : {&m.a, &m.b, &m.e}) v->reset(y0);
    std::memcpy(&m.f, &f, sizeof f);
    m.fData = data;
    LegacyTolerances tolerances;
    const int flag = m.tolerances(type, relative, absolute, tolerances);
    return flag ? flag : m.integrator.init(static_cast<int>(m.n), t0, Values(y0).data(), tolerances);
  });
}

DROPIN int CPodeReInit(void *mem, void *f, void *data, double t0, Vector *y0, Vector *, int type,
                       double relative, void *absolute) {
  return running(mem, [&](Memory &m) -> int {
    if (!f || !y0) return m.refuse("CPodeReInit", "the function and y0 must not be NULL");
    std::memcpy(&m.f, &f, sizeof f);
    m.fData = data;
    LegacyTolerances tolerances;
    const int flag = m.tolerances(type, relative, absolute, tolerances);
    return flag ? flag : m.integrator.restart(t0, Values(y0).data(), tolerances);
  });
}

DROPIN int CPodeSetTolerances(void *mem, int type, double relative, void *absolute) {
  return running(mem, [&](Memory &m) {
    LegacyTolerances tolerances;
    const int flag = m.tolerances(type, relative, absolute, tolerances);
    return flag ? flag : m.integrator.setTolerances(tolerances);
  });
}
DROPIN int CPodeSetEwtFn(void *mem, Weights w, void *data) {
  return with(mem, [&](Memory &m) { m.w = w, m.wData = data; });
}

/* ---- projection and events ---- */

DROPIN int CPodeProjDefine(void *mem, Projection p, void *data) {
  return running(mem, [&](Memory &m) {
    m.p = p, m.pData = data;
    return m.integrator.setProjection(p ? LegacyIntegrator::USERS : LegacyIntegrator::NONE, {},
                                      false);
  });
}
/* Linear constraints are treated as nonlinear ones. */
DROPIN int CPodeProjInit(void *mem, int norm, int, Constraints c, void *data, Vector *tolerances) {
  return running(mem, [&](Memory &m) -> int {
    if (!c || !tolerances)
      return m.refuse("CPodeProjInit", "the function and ctol must not be NULL");
    const std::size_t count = lengthOf(tolerances);
    m.c = c, m.cData = data;
    m.residuals.reset(tolerances);
    if (count == 0) return m.integrator.setProjection(LegacyIntegrator::NONE, {}, false);
    const Values values(tolerances);
    return m.integrator.setProjection(LegacyIntegrator::BY_CONSTRAINTS,
                                      {values.data(), values.data() + count}, norm == ERROR_NORM);
  });
}
DROPIN int CPodeRootInit(void *mem, int count, Triggers g, void *data) {
  return running(mem, [&](Memory &m) {
    m.g = g, m.gData = data;
    m.integrator.setTriggers(g && count > 0 ? count : 0);
  });
}
DROPIN int CPodeSetRootDirection(void *mem, int *directions) {
  return running(mem, [&](Memory &m) { m.integrator.setDirections(directions); });
}

/* ---- linear solvers: dense, by difference quotients. Projections choose theirs by the rank of the
 * constraints. ---- */

DROPIN int CPLapackDense(void *mem, int) { return mem ? CP_SUCCESS : CP_MEM_NULL; }
DROPIN int CPLapackBand(void *mem, int, int, int) { return mem ? CP_SUCCESS : CP_MEM_NULL; }
DROPIN int CPLapackDenseProj(void *mem, int, int, int) { return mem ? CP_SUCCESS : CP_MEM_NULL; }

/* ---- options ---- */

DROPIN int CPodeSetErrHandlerFn(void *mem, Handler handler, void *data) {
  return with(mem, [&](Memory &m) { m.handler = handler, m.handlerData = data; });
}
DROPIN int CPodeSetErrFile(void *mem, FILE *file) {
  return with(mem, [&](Memory &m) { m.file = file; });
}
DROPIN int CPodeSetStopTime(void *mem, double t) {
  return with(mem, [&](Memory &m) { m.stop.t = t; });
}
#define OPTION(name, type, member) \
  DROPIN int name(void *mem, type value) { return option(mem, &LegacyOptions::member, value); }
OPTION(CPodeSetMaxOrd, int, maxOrder)
OPTION(CPodeSetMaxNumSteps, long, stepLimit)
OPTION(CPodeSetMaxHnilWarns, int, maxHnilWarns)
OPTION(CPodeSetInitStep, double, first)
OPTION(CPodeSetMinStep, double, least)
OPTION(CPodeSetMaxStep, double, most)
OPTION(CPodeSetMaxErrTestFails, int, maxErrorFailures)
OPTION(CPodeSetMaxNonlinIters, int, maxIterations)
OPTION(CPodeSetMaxConvFails, int, maxConvergenceFailures)
OPTION(CPodeSetNonlinConvCoef, double, convergence)
OPTION(CPodeSetProjFrequency, long, projectEvery)
DROPIN int CPodeSetStabLimDet(void *mem, int on) {
  return option(mem, &LegacyOptions::stabilityLimit, on != 0);
}
DROPIN int CPodeSetProjUpdateErrEst(void *mem, int on) {
  return option(mem, &LegacyOptions::projectError, on != 0);
}
DROPIN int CPodeSetProjTestCnstr(void *mem, int on) {
  return option(mem, &LegacyOptions::projectWhereNeeded, on != 0);
}
/* Today's projections choose these two values themselves. */
DROPIN int CPodeSetProjLsetupFreq(void *mem, long) { return mem ? CP_SUCCESS : CP_MEM_NULL; }
DROPIN int CPodeSetProjNonlinConvCoef(void *mem, double) { return mem ? CP_SUCCESS : CP_MEM_NULL; }

/* ---- steps ---- */

DROPIN int CPode(void *mem, double to, double *t, Vector *y, Vector *ydot, int mode) {
  return running(mem, [&](Memory &m) {
    m.stop.active  = mode == NORMAL_TSTOP || mode == ONE_STEP_TSTOP;
    const int flag = m.integrator.step(to, mode == ONE_STEP || mode == ONE_STEP_TSTOP, m.stop, t,
                                       y->operations->array(y));
    if (flag >= 0 && ydot) m.integrator.interpolate(*t, 1, ydot->operations->array(ydot));
    return flag;
  });
}
DROPIN int CPodeGetDky(void *mem, double t, int k, Vector *dky) {
  return running(
      mem, [&](Memory &m) { return m.integrator.interpolate(t, k, dky->operations->array(dky)); });
}

/* ---- results ---- */

DROPIN int CPodeGetRootInfo(void *mem, int *found) {
  return running(mem, [&](Memory &m) { m.integrator.eventsFound(found); });
}
DROPIN int CPodeGetRootWindow(void *mem, double *low, double *high) {
  return running(mem, [&](Memory &m) { m.integrator.eventWindow(low, high); });
}
DROPIN int CPodeGetErrWeights(void *mem, Vector *w) {
  return running(mem, [&](Memory &m) { return m.integrator.errorWeights(w->operations->array(w)); });
}
DROPIN int CPodeGetEstLocalErrors(void *mem, Vector *e) {
  return running(mem, [&](Memory &m) { return m.integrator.localErrors(e->operations->array(e)); });
}
#define COUNTER(name, type, member) \
  DROPIN int name(void *mem, type *value) { return counter(mem, value, &LegacyCounters::member); }
COUNTER(CPodeGetNumSteps, long, steps)
COUNTER(CPodeGetNumFctEvals, long, rates)
COUNTER(CPodeGetNumLinSolvSetups, long, setups)
COUNTER(CPodeGetNumErrTestFails, long, errorFailures)
COUNTER(CPodeGetNumNonlinSolvIters, long, iterations)
COUNTER(CPodeGetNumNonlinSolvConvFails, long, convergenceFailures)
COUNTER(CPodeGetNumStabLimOrderReds, long, orderReductions)
COUNTER(CPodeGetNumGEvals, long, triggers)
COUNTER(CPodeGetLastOrder, int, order)
COUNTER(CPodeGetCurrentOrder, int, nextOrder)
COUNTER(CPodeGetActualInitStep, double, first)
COUNTER(CPodeGetLastStep, double, last)
COUNTER(CPodeGetCurrentStep, double, next)
COUNTER(CPodeGetCurrentTime, double, t)
COUNTER(CPodeGetTolScaleFactor, double, toleranceScale)
COUNTER(CPodeGetProjNumProj, long, projections)
COUNTER(CPodeGetProjNumCnstrEvals, long, constraints)
COUNTER(CPodeGetProjNumLinSolvSetups, long, projectionSetups)
COUNTER(CPodeGetProjNumFailures, long, projectionFailures)
COUNTER(CPDlsGetNumJacEvals, long, jacobians)
COUNTER(CPDlsGetNumFctEvals, long, ratesForJacobians)
DROPIN int CPodeGetIntegratorStats(void *mem, long *steps, long *rates, long *setups,
                                   long *failures, int *order, int *nextOrder, double *first,
                                   double *last, double *next, double *t) {
  return with(mem, [&](Memory &m) {
    const LegacyCounters s = m.integrator.counters();
    *steps = s.steps, *rates = s.rates, *setups = s.setups, *failures = s.errorFailures;
    *order = s.order, *nextOrder = s.nextOrder;
    *first = s.first, *last = s.last, *next = s.next, *t = s.t;
  });
}
DROPIN int CPodeGetNonlinSolvStats(void *mem, long *iterations, long *failures) {
  const int flag = counter(mem, iterations, &LegacyCounters::iterations);
  return flag ? flag : counter(mem, failures, &LegacyCounters::convergenceFailures);
}
DROPIN int CPodeGetProjStats(void *mem, long *projections, long *constraints, long *setups,
                             long *failures) {
  return with(mem, [&](Memory &m) {
    const LegacyCounters s = m.integrator.counters();
    *projections = s.projections, *constraints = s.constraints;
    *setups = s.projectionSetups, *failures = s.projectionFailures;
  });
}

/* ---- what is refused: these functions ignore their further arguments ---- */

#define REFUSED(name, why) \
  DROPIN int name(void *mem) { return refuse(mem, #name, why); }
REFUSED(CPodeQuadInit, "quadratures are not supported")
REFUSED(CPodeQuadReInit, "quadratures are not supported")
REFUSED(CPodeSetQuadErrCon, "quadratures are not supported")
REFUSED(CPodeGetQuad, "quadratures are not supported")
REFUSED(CPodeGetQuadDky, "quadratures are not supported")
REFUSED(CPodeGetQuadNumFunEvals, "quadratures are not supported")
REFUSED(CPodeGetQuadErrWeights, "quadratures are not supported")
REFUSED(CPodeQuadFree, "quadratures are not supported")
REFUSED(CPodeCalcIC, "start at a consistent state")
REFUSED(CPodeGetConsistentIC, "start at a consistent state")
REFUSED(CPDlsSetJacFn, "Jacobians are difference quotients")
REFUSED(CPDlsProjSetJacFn, "Jacobians of constraints are difference quotients")
REFUSED(CPDlsProjGetNumJacEvals, "it is not counted")
REFUSED(CPDlsProjGetNumFctEvals, "it is not counted")
REFUSED(CPDlsGetLastFlag, "it is not known")
REFUSED(CPDlsGetWorkSpace, "it is not known")
REFUSED(CPodeGetWorkSpace, "it is not known")
