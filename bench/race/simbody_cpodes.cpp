#include "simbody_cpodes.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <simmath/internal/SimTKcpodes.h>

using SimTK::CPodes;
using SimTK::Real;
using SimTK::Vector;

namespace {

/* The functions of a run, as called by CPodes */
class System : public SimTK::CPodesSystem {
public:
  explicit System(SimbodyRun &itsRun) : run(itsRun) {}

  int explicitODE(Real t, const Vector &y, Vector &ydot) const override {
    return run.f(t, &y[0], &ydot[0], run.data);
  }

  int project(Real t, const Vector &y, Vector &correction, Real eps, Vector &error) const override {
    return run.project(t, &y[0], eps, &correction[0], &error[0], run.data);
  }

  void errorHandler(int, const char *, const char *, char *message) const override {
    std::snprintf(run.message, sizeof run.message, "%s", message);
  }

private:
  SimbodyRun &run;
};

int setUp(CPodes &cpodes, System &system, SimbodyRun &run, const Vector &y, const Vector &ydot) {
  int flag = cpodes.init(system, 0, y, ydot, CPodes::ScalarScalar, run.tol, &run.tol);
  if (!flag) flag = cpodes.setErrHandlerFn();
  if (!flag) flag = cpodes.setMaxNumSteps(run.max_steps);
  if (!flag) flag = cpodes.setStopTime(run.t_end);
  if (!flag && run.max_order) flag = cpodes.setMaxOrd(run.max_order);
  if (!flag && run.newton) flag = cpodes.lapackDense(run.n);
  if (!flag) flag = cpodes.projDefine();
  return flag;
}

void collect(CPodes &cpodes, SimbodyRun &run) {
  cpodes.getNumSteps(&run.steps);
  cpodes.getNumErrTestFails(&run.error_fails);
  cpodes.getNumNonlinSolvConvFails(&run.solve_fails);
  cpodes.getProjNumFailures(&run.projection_fails);
  if (!run.newton) return;
  cpodes.dlsGetNumJacEvals(&run.jacobians);
  cpodes.getNumLinSolvSetups(&run.setups);
}

void integrate(SimbodyRun &run) {
  CPodes cpodes(CPodes::ExplicitODE, run.adams ? CPodes::Adams : CPodes::BDF,
                run.newton ? CPodes::Newton : CPodes::Functional);
  System system(run);
  Vector y(run.n, run.y), ydot(run.n, 0.0);
  run.flag = setUp(cpodes, system, run, y, ydot);
  if (run.flag) return;
  const int flag = cpodes.step(run.t_end, &run.t, y, ydot, CPodes::NormalTstop);
  run.flag       = flag < 0 ? flag : 0;
  std::memcpy(run.y, &y[0], static_cast<std::size_t>(run.n) * sizeof *run.y);
  collect(cpodes, run);
}

} // namespace

void simbody_integrate(SimbodyRun *run) {
  try {
    integrate(*run);
  } catch (const std::exception &failure) {
    run->flag = -1;
    std::snprintf(run->message, sizeof run->message, "%s", failure.what());
  }
}
