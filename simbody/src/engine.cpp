#include "engine.h"

#include <cmath>
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

/* Messages are read from the object; nothing is printed. */
void quiet(int, const char *, const char *, void *) {}

} // namespace

Engine::Engine(const char *method, SUNContext ctx) : mem(CPIntegratorCreate(method, ctx)) {
  if (!mem) throw std::bad_alloc();
  CPIntegratorSetErrHandlerFn(mem, quiet, nullptr);
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

int Engine::step(double stop, N_Vector y, double *t) {
  int flag = CPIntegratorSetStopTime(mem, stop);
  if (!flag) flag = CPIntegratorEvolve(mem, towards(reached, stop), y, t, CV_ONE_STEP);
  if (flag >= 0) reached = *t;
  return flag;
}

CPIntegratorStats Engine::stats() const {
  CPIntegratorStats s = CPIntegratorStats();
  CPIntegratorGetStats(mem, &s);
  return s;
}

Counters Engine::counters() const {
  const CPIntegratorStats s = stats();
  return {s.nst, s.nattempts, s.netf, s.nsolvefails, s.nprojfails, s.nproj, s.nni};
}

} // namespace cpodes
