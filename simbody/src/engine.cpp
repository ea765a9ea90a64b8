#include "engine.h"

#include <cmath>
#include <cvodes/cvodes.h>
#include <new>

namespace cpodes {

Counters operator+(const Counters &a, const Counters &b) {
  return {a.steps + b.steps,
          a.attempts + b.attempts,
          a.errorTestFailures + b.errorTestFailures,
          a.solverFailures + b.solverFailures,
          a.projectionFailures + b.projectionFailures,
          a.projections + b.projections,
          a.iterations + b.iterations};
}

namespace {

/* The target time of a step that has no bound. CVODES derives from it only the length of the first
 * step. */
double towards(double t, double stop) {
  return std::isfinite(stop) ? stop : t + std::fmax(1.0, std::fabs(t));
}

} // namespace

Engine::Engine(const char *method, SUNContext ctx) : mem(CPIntegratorCreate(method, ctx)) {
  if (!mem) throw std::bad_alloc();
}

int Engine::start(CPMech mech, double t, N_Vector y) {
  reached = t;
  return CPMechAttach(mech, mem, t, y);
}

int Engine::setStepSizes(double first, double least, double most) {
  int flag = CPIntegratorSetMaxNumSteps(mem, -1);
  if (!flag) flag = CPIntegratorSetMaxStep(mem, most);
  if (!flag) flag = CPIntegratorSetMinStep(mem, least);
  return flag || !(first > 0.0) ? flag : CPIntegratorSetInitStep(mem, first);
}

int Engine::setConvergence(double coefficient) {
  return CVodeSetNonlinConvCoef(CPIntegratorGetCVodeMem(mem), coefficient);
}

int Engine::setFirstStep(double h) { return CVodeSetInitStep(CPIntegratorGetCVodeMem(mem), h); }

int Engine::setMaxOrder(int order) { return CVodeSetMaxOrd(CPIntegratorGetCVodeMem(mem), order); }

int Engine::order() const {
  int order = 0;
  CVodeGetLastOrder(CPIntegratorGetCVodeMem(mem), &order);
  return order;
}

int Engine::step(double stop, N_Vector y, double *t) {
  int flag = CPIntegratorSetStopTime(mem, stop);
  if (!flag) flag = CPIntegratorEvolve(mem, towards(reached, stop), y, t, CV_ONE_STEP);
  if (flag >= 0) reached = *t;
  return flag;
}

double Engine::stat(const char *name) const {
  double value = 0.0;
  CPObjectGetStat(CP_OBJECT(mem), name, &value);
  return value;
}

Counters Engine::counters() const {
  const auto count = [this](const char *name) { return static_cast<long>(stat(name)); };
  return {count("steps"),
          count("step_attempts"),
          count("err_test_fails"),
          count("nonlin_conv_fails"),
          count("projection_fails"),
          count("projections"),
          count("nonlin_iters")};
}

} // namespace cpodes
