#include "legacy.h"

#include "events.h"

#include <cpodes/cpodes.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

namespace cpodes {

namespace {

const long REFRESHED = 50; /* steps after which J is asked for anew, as in CVODES */
/* CVODES' own limit of iterations and the convergence coefficient for which it is meant */
const int ITERATIONS     = 3;
const double CONVERGENCE = 0.1;
const double NEVER       = 1e300; /* In SUNDIALS 6 a stop time, once set, can only be moved. */

double *of(N_Vector v) { return N_VGetArrayPointer(v); }

/* An iteration that reduces its error to the part CONVERGENCE in ITERATIONS reduces it to the part `coefficient` in as
 * many as this. Simbody asks for 0.01. If a motion meets kinks, as muscles' do at loose tolerances, iterations that
 * end too early repeat the step and difference J, which costs more than they do. */
int iterationsFor(double coefficient) {
  const double more = std::log(coefficient) / std::log(CONVERGENCE);
  return static_cast<int>(std::lround(ITERATIONS * std::fmax(more, 1.0)));
}

/* Calls a function of the program, which may throw; no exception may pass through C functions. */
template <class F> int guarded(LegacyProblem &problem, const char *function, F f) {
  try {
    return f();
  } catch (const std::exception &e) {
    problem.message(CP_USERFUNC_FAIL, function, e.what());
  } catch (...) {
    problem.message(CP_USERFUNC_FAIL, function, "an exception that is no std::exception");
  }
  return -1;
}

} // namespace

LegacyProblem::~LegacyProblem() = default;

struct LegacyIntegrator::Impl {
  LegacyProblem &problem;
  const bool adams, newton;
  LegacyOptions options;

  SUNContext ctx   = nullptr;
  CPIntegrator mem = nullptr;
  CPProjector P    = nullptr;
  N_Vector y = nullptr, between = nullptr, slope = nullptr, c = nullptr;
  SUNMatrix J            = nullptr;
  SUNLinearSolver ls     = nullptr;
  SUNNonlinearSolver nls = nullptr;
  std::size_t n          = 0;
  Projection how         = NONE;

  /* The newest step ends at tn; the caller has received it up to reached. */
  double tn = 0.0, reached = 0.0;
  bool fresh = true; /* the triggers have not been evaluated since the start */
  std::vector<TriggerKind> kinds;
  std::vector<double> values; /* of the triggers at reached */
  EventWindow window = EventWindow();
  long evaluations   = 0;

  long asked       = 0,
       differenced = 0; /* J: the step at which it was asked for; how often it was differenced */

  bool stepping = false;
  std::vector<double> unprojected; /* the newest step before its projection */

  Impl(LegacyProblem &of, bool useAdams, bool useNewton)
      : problem(of), adams(useAdams), newton(useNewton) {}
  ~Impl() { release(); }

  void release() {
    CPIntegratorFree(&mem);
    CPProjectorFree(&P);
    if (ls) SUNLinSolFree(ls);
    if (nls) SUNNonlinSolFree(nls);
    if (J) SUNMatDestroy(J);
    for (N_Vector *v : {&y, &between, &slope, &c}) {
      if (*v) N_VDestroy(*v);
      *v = nullptr;
    }
    ls = nullptr, nls = nullptr, J = nullptr;
    if (ctx) SUNContext_Free(&ctx);
  }
  void forgetJacobian() { asked = -REFRESHED, differenced = 0; }
  void *cvode() const { return CPIntegratorGetCVodeMem(mem); }

  /* ---- cpodes' functions ---- */

  static Impl &at(void *data) { return *static_cast<Impl *>(data); }
  static int rates(double t, N_Vector y, N_Vector ydot, void *data) {
    return at(data).rates(t, of(y), of(ydot));
  }
  int rates(double t, const double *x, double *xdot) {
    return guarded(problem, "f", [&] { return problem.rates(t, x, xdot); });
  }
  static int weights(N_Vector y, N_Vector ewt, void *data) {
    LegacyProblem &p = at(data).problem;
    return guarded(p, "efun", [&] { return p.weights(of(y), of(ewt)); });
  }
  static int constraints(double t, N_Vector y, N_Vector c, void *data) {
    LegacyProblem &p = at(data).problem;
    return guarded(p, "c", [&] { return p.constraints(t, of(y), of(c)); });
  }
  /* The user's projection takes the state and the error together (projectBoth), and projects an
   * error only along with a state off the manifold. Errors that come alone, of other orders, are
   * projected from the same unprojected state of the newest step, whatever output has been
   * projected since. */
  static int project(double t, N_Vector from, N_Vector to, double eps, void *data) {
    std::vector<double> none(at(data).n, 0.0);
    return at(data).correct(t, from, to, none.data(), eps);
  }
  static int projectBoth(double t, N_Vector from, N_Vector to, N_Vector error, double eps,
                         void *data) {
    return at(data).correct(t, from, to, of(error), eps);
  }
  int correct(double t, N_Vector from, N_Vector to, double *error, double eps) {
    std::vector<double> correction(n);
    if (stepping) unprojected.assign(of(from), of(from) + n);
    const int flag = guarded(problem, "project", [&] {
      return problem.project(t, of(from), eps, correction.data(), error);
    });
    for (std::size_t i = 0; i < n; i++) of(to)[i] = of(from)[i] + correction[i];
    return flag;
  }
  static int projectError(double t, N_Vector, N_Vector error, void *data) {
    Impl &m = at(data);
    std::vector<double> correction(m.n);
    return guarded(m.problem, "project", [&] {
      return m.problem.project(t, m.unprojected.data(), CP_EPS_DEFAULT, correction.data(),
                               of(error));
    });
  }
  /* Simbody projects a state that violates its tolerance and leaves others alone, so that
   * corrections come and go. If they were spread over BDF's history, as cpodes' own corrections
   * are, they would disturb its choice of order with noise that no smaller step reduces: BDF was
   * seen to stay at order 1 with steps of 1e-5. A projection that depends on a violation corrects
   * only the newest state, as in 2006. This function requests it at the end of every step, and
   * never at the start. */
  static int violation(double t, N_Vector, double *norm, void *data) {
    *norm = t == at(data).tn ? 0.0 : 1.0;
    return CP_SUCCESS;
  }

  /* A differenced Newton matrix costs n evaluations and serves some 50 steps, of which each takes one or two if the
   * motion is not stiff. So J = 0 comes first, with which Newton's iteration is fixed-point iteration, and J is
   * differenced, as in 2006, when that has failed: CVODES then asks for another J before the next refreshing is due. */
  static int jacobian(double t, N_Vector at_y, N_Vector ydot, SUNMatrix to, void *data, N_Vector,
                      N_Vector, N_Vector) {
    return at(data).newJacobian(t, of(at_y), of(ydot), to);
  }
  int newJacobian(double t, double *x, const double *xdot, SUNMatrix to) {
    long now          = 0;
    int flag          = CVodeGetNumSteps(cvode(), &now);
    const bool failed = now < asked + REFRESHED;
    asked             = now;
    /* CVODES scales the solutions for a matrix that depends on the step. */
    if (!flag) flag = CVodeSetLinearSolutionScaling(cvode(), failed);
    if (flag) return -1;
    return failed ? difference(t, x, xdot, to) : SUNMatZero(to);
  }
  /* to <- df/dy by forward differences, with the increments of CVODES' own */
  int difference(double t, double *x, const double *xdot, SUNMatrix to) {
    if (CVodeGetErrWeights(cvode(), slope)) return -1;
    differenced++;
    for (std::size_t j = 0; j < n; j++) {
      const double saved   = x[j];
      double *const column = SUNDenseMatrix_Column(to, static_cast<sunindextype>(j));
      x[j] += std::sqrt(SUN_UNIT_ROUNDOFF) * std::fmax(std::fabs(saved), 1.0 / of(slope)[j]);
      const double increment = x[j] - saved;
      const int flag         = rates(t, x, column);
      x[j]                   = saved;
      if (flag) return flag;
      for (std::size_t i = 0; i < n; i++) column[i] = (column[i] - xdot[i]) / increment;
    }
    return 0;
  }
  static void report(int code, const char *function, const char *text, void *data) {
    at(data).problem.message(code, function, text);
  }

  /* ---- set-up ---- */

  int applyOptions() {
    if (!mem) return CP_SUCCESS;
    const LegacyOptions &o = options;
    void *const cv         = cvode();
    int flag               = CVodeSetMaxNumSteps(cv, -1); /* step() counts them */
    if (!flag && o.maxOrder) flag = CVodeSetMaxOrd(cv, o.maxOrder);
    if (!flag && o.maxErrorFailures) flag = CVodeSetMaxErrTestFails(cv, o.maxErrorFailures);
    const double coefficient = o.convergence > 0.0 ? o.convergence : CONVERGENCE;
    const int iterations     = o.maxIterations ? o.maxIterations : iterationsFor(coefficient);
    if (!flag) flag = CVodeSetMaxNonlinIters(cv, iterations);
    if (!flag && o.maxConvergenceFailures)
      flag = CVodeSetMaxConvFails(cv, o.maxConvergenceFailures);
    if (!flag && o.maxHnilWarns) flag = CVodeSetMaxHnilWarns(cv, o.maxHnilWarns);
    if (!flag) flag = CVodeSetStabLimDet(cv, o.stabilityLimit);
    if (!flag) flag = CVodeSetMaxStep(cv, o.most);
    if (!flag) flag = CVodeSetMinStep(cv, o.least);
    if (!flag) flag = CVodeSetInitStep(cv, o.first);
    if (!flag) flag = CVodeSetNonlinConvCoef(cv, coefficient);
    if (!flag)
      flag = CPIntegratorSetProjFrequency(mem, o.projectEvery, how == USERS || o.projectWhereNeeded);
    const CPErrEst projected = how == USERS ? CP_ERREST_PROJECTED : CP_ERREST_DEFAULT;
    if (!flag)
      flag = CPIntegratorSetErrEst(mem, o.projectError ? projected : CP_ERREST_UNPROJECTED);
    return flag;
  }

  int setTolerances(const LegacyTolerances &t) {
    if (t.absolute.empty()) return CPIntegratorWFtolerances(mem, weights);
    if (t.absolute.size() == 1) return CPIntegratorSStolerances(mem, t.relative, t.absolute[0]);
    std::memcpy(of(between), t.absolute.data(), n * sizeof(double));
    return CPIntegratorSVtolerances(mem, t.relative, between);
  }

  int create(int size, double t, const double *y0, const LegacyTolerances &tolerances) {
    release();
    n = static_cast<std::size_t>(size);
    unprojected.assign(n, 0.0);
    if (SUNContext_Create(nullptr, &ctx)) return CP_MEM_FAIL;
    mem = CPIntegratorCreate(adams ? "ADAMS" : "BDF", ctx);
    y = N_VNew_Serial(size, ctx), between = N_VNew_Serial(size, ctx),
    slope = N_VNew_Serial(size, ctx);
    if (!mem || !y || !between || !slope) return CP_MEM_FAIL;
    std::memcpy(of(y), y0, n * sizeof(double));
    int flag = CPObjectSetErrHandlerFn(CP_OBJECT(mem), report, this);
    if (!flag) flag = CPIntegratorInit(mem, rates, t, y);
    if (!flag) flag = setTolerances(tolerances);
    if (!flag) flag = CVodeSetUserData(cvode(), this);
    if (flag) return flag;
    if (newton) {
      J  = SUNDenseMatrix(size, size, ctx);
      ls = J ? SUNLinSol_Dense(y, J, ctx) : nullptr;
      if (!ls) return CP_MEM_FAIL;
      flag = CVodeSetLinearSolver(cvode(), ls, J);
      if (!flag) flag = CVodeSetJacFn(cvode(), jacobian);
      if (!flag) flag = CVodeSetJacEvalFrequency(cvode(), REFRESHED);
      forgetJacobian();
    } else {
      nls = SUNNonlinSol_FixedPoint(y, 0, ctx);
      if (!nls) return CP_MEM_FAIL;
      flag = CPIntegratorSetNonlinearSolver(mem, nls);
    }
    return flag ? flag : applyOptions();
  }

  int setProjection(Projection by, const std::vector<double> &tolerances, bool errorNorm) {
    int flag = CPIntegratorSetProjector(mem, nullptr);
    CPProjectorFree(&P);
    how = by;
    if (flag || how == NONE) return flag;
    if (c) N_VDestroy(c);
    c = nullptr;
    if (how == USERS) {
      const CPUserProjection functions = {sizeof functions, project, projectError, projectBoth,
                                          violation};
      P                                = CPProjectorCreateUser(&functions, y, ctx);
    } else {
      c = N_VNew_Serial(static_cast<sunindextype>(tolerances.size()), ctx);
      if (!c) return CP_MEM_FAIL;
      std::memcpy(of(c), tolerances.data(), tolerances.size() * sizeof(double));
      P = CPProjectorCreate(constraints, y, c, ctx);
    }
    if (!P) return CP_MEM_FAIL;
    flag = CPProjectorSetUserData(P, this);
    if (!flag) flag = CPObjectSetErrHandlerFn(CP_OBJECT(P), report, this);
    if (!flag && how == BY_CONSTRAINTS) {
      flag = CPProjectorSetNorm(P, errorNorm ? CP_NORM_ERROR : CP_NORM_L2, nullptr, nullptr);
      if (!flag) flag = CPProjectorSetConstraintTol(P, c);
    }
    if (!flag) flag = CPIntegratorSetProjector(mem, P);
    return flag ? flag : applyOptions();
  }

  /* ---- steps ---- */

  /* out <- v, unless flag is an error; returns flag */
  int give(int flag, N_Vector v, double *out) const {
    if (!flag) std::memcpy(out, of(v), n * sizeof(double));
    return flag;
  }
  /* out <- the projected state at t, within the newest step */
  int show(double t, double *out) {
    if (t == tn) return give(CP_SUCCESS, y, out);
    return give(CPIntegratorGetDky(mem, t, 0, between), between, out);
  }
  int evaluate(double t, std::vector<double> &e) {
    if (kinds.empty()) return CP_SUCCESS;
    std::vector<double> state(n);
    int flag = show(t, state.data());
    if (!flag && !fresh) flag = CVodeGetDky(cvode(), t, 1, slope);
    if (!flag && fresh) flag = rates(t, y, slope, this) ? CV_RTFUNC_FAIL : 0;
    if (flag) return flag;
    evaluations++;
    return guarded(problem, "g",
                   [&] { return problem.triggers(t, state.data(), of(slope), e.data()); })
               ? CV_RTFUNC_FAIL
               : CP_SUCCESS;
  }

  /* Moves reached on to high, or to the first event before it. Returns CV_ROOT_RETURN at an event. */
  int search(double high) {
    std::vector<double> eLow = values, eHigh(values.size());
    window.low = reached, window.high = high;
    int failed        = evaluate(high, eHigh);
    double hlast      = 0.0;
    bool event        = false;
    const double unit = CVodeGetLastStep(cvode(), &hlast) ? 0.0 : 100 * SUN_UNIT_ROUNDOFF;
    if (!failed && !kinds.empty())
      event = locateEvent(window, eLow, eHigh, kinds, INFINITY,
                          unit * (std::fabs(tn) + std::fabs(hlast)),
                          [&](double t, std::vector<double> &e) {
                            if (!failed) failed = evaluate(t, e);
                          });
    if (failed) return failed;
    reached = window.high;
    values  = eHigh;
    return event ? CV_ROOT_RETURN : CP_SUCCESS;
  }

  int step(double to, bool oneStep, Stop stop, double *t, double *out) {
    const long limit = options.stepLimit ? options.stepLimit : 500;
    int flag         = CP_SUCCESS;
    if (fresh) {
      values.assign(kinds.size(), 0.0);
      flag  = evaluate(tn, values);
      fresh = false;
    }
    for (long steps = 0; !flag; steps++) {
      if (reached < tn) {
        flag = search(oneStep ? tn : std::fmin(tn, to));
        if (!flag && stop.active && reached >= stop.t) flag = CV_TSTOP_RETURN;
        if (flag || oneStep || reached >= to) break;
      } else if (!oneStep && to <= tn) {
        reached = to;
        break;
      }
      if (limit > 0 && steps >= limit) flag = CV_TOO_MUCH_WORK;
      if (flag) break;
      flag                 = CVodeSetStopTime(cvode(), stop.active ? stop.t : NEVER);
      const double towards = to > tn ? to : tn + std::fmax(1.0, std::fabs(tn));
      stepping             = true;
      if (!flag) flag = CPIntegratorEvolve(mem, towards, y, &tn, CV_ONE_STEP);
      stepping = false;
      if (flag > 0) flag = CP_SUCCESS;
      if (flag < 0) reached = tn;
    }
    *t                = reached;
    const int showing = show(reached, out);
    return flag < 0 || !showing ? flag : showing;
  }
};

LegacyIntegrator::LegacyIntegrator(LegacyProblem &problem, bool adams, bool newton)
    : impl(new Impl(problem, adams, newton)) {}
LegacyIntegrator::~LegacyIntegrator() = default;

int LegacyIntegrator::init(int n, double t, const double *y, const LegacyTolerances &tolerances) {
  impl->fresh = true;
  impl->kinds.clear();
  impl->tn = impl->reached = t;
  return impl->create(n, t, y, tolerances);
}

int LegacyIntegrator::restart(double t, const double *y, const LegacyTolerances &tolerances) {
  std::memcpy(of(impl->y), y, impl->n * sizeof(double));
  impl->fresh = true;
  impl->tn = impl->reached = t;
  impl->forgetJacobian();
  int flag = impl->setTolerances(tolerances);
  if (!flag) flag = CPIntegratorReInit(impl->mem, t, impl->y);
  return flag;
}
int LegacyIntegrator::setTolerances(const LegacyTolerances &tolerances) {
  return impl->setTolerances(tolerances);
}
int LegacyIntegrator::setOptions(const LegacyOptions &options) {
  impl->options = options;
  return impl->applyOptions();
}
const LegacyOptions &LegacyIntegrator::getOptions() const { return impl->options; }

int LegacyIntegrator::setProjection(Projection how, const std::vector<double> &tolerances,
                                    bool errorNorm) {
  return impl->setProjection(how, tolerances, errorNorm);
}

void LegacyIntegrator::setTriggers(int count) {
  impl->kinds.assign(static_cast<std::size_t>(count), {FALLING | RISING, 0.0});
  impl->fresh = impl->fresh || count > 0;
}
void LegacyIntegrator::setDirections(const int *directions) {
  for (std::size_t i = 0; i < impl->kinds.size(); i++)
    impl->kinds[i].directions = directions[i] > 0   ? RISING
                                : directions[i] < 0 ? FALLING
                                                    : FALLING | RISING;
}

int LegacyIntegrator::step(double to, bool oneStep, Stop stop, double *t, double *y) {
  return impl->step(to, oneStep, stop, t, y);
}
int LegacyIntegrator::interpolate(double t, int k, double *dky) {
  return impl->give(CVodeGetDky(impl->cvode(), t, k, impl->between), impl->between, dky);
}
void LegacyIntegrator::eventWindow(double *low, double *high) const {
  *low = impl->window.low, *high = impl->window.high;
}
void LegacyIntegrator::eventsFound(int *found) const {
  for (std::size_t i = 0; i < impl->kinds.size(); i++) found[i] = 0;
  for (std::size_t k = 0; k < impl->window.which.size(); k++)
    found[impl->window.which[k]] = impl->window.direction[k] == RISING ? 1 : -1;
}
int LegacyIntegrator::errorWeights(double *w) {
  return impl->give(CVodeGetErrWeights(impl->cvode(), impl->between), impl->between, w);
}
int LegacyIntegrator::localErrors(double *e) {
  return impl->give(CPIntegratorGetEstLocalErrors(impl->mem, impl->between), impl->between, e);
}

LegacyCounters LegacyIntegrator::counters() const {
  LegacyCounters s = LegacyCounters();
  if (!impl->mem) return s;
  void *const cv = impl->cvode();
  CVodeGetIntegratorStats(cv, &s.steps, &s.rates, &s.setups, &s.errorFailures, &s.order,
                          &s.nextOrder, &s.first, &s.last, &s.next, &s.t);
  CVodeGetNumNonlinSolvIters(cv, &s.iterations);
  CVodeGetNumStepSolveFails(cv, &s.convergenceFailures);
  CVodeGetNumStabLimOrderReds(cv, &s.orderReductions);
  CVodeGetTolScaleFactor(cv, &s.toleranceScale);
  if (impl->newton) {
    s.jacobians         = impl->differenced;
    s.ratesForJacobians = impl->differenced * static_cast<long>(impl->n);
  }
  const auto count = [this](const char *name) {
    double value = 0.0;
    CPObjectGetStat(CP_OBJECT(impl->mem), name, &value);
    return static_cast<long>(value);
  };
  s.projections = count("projections"), s.projectionSetups = count("projection_setups");
  s.constraints = count("constraint_evals"), s.projectionFailures = count("projection_fails");
  s.triggers = impl->evaluations;
  return s;
}

} // namespace cpodes
