#include "engine.h"

#include <cmath>

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

class Multistep : public Engine {
public:
  explicit Multistep(CPodeMem own) : mem(own) { CPodeSetErrHandlerFn(mem, quiet, nullptr); }
  ~Multistep() override { CPodeFree(&mem); }

  int start(CPMech mech, double t, N_Vector y) override {
    reached = t;
    return CPMechAttach(mech, mem, t, y);
  }
  int setWeights(CVEwtFn weights) override { return CPodeWFtolerances(mem, weights); }
  int setStepSizes(double first, double least, double most) override {
    int flag = CVodeSetMaxNumSteps(cvode(), -1);
    if (!flag && most > 0.0) flag = CVodeSetMaxStep(cvode(), most);
    if (!flag && least > 0.0) flag = CVodeSetMinStep(cvode(), least);
    return flag ? flag : CVodeSetInitStep(cvode(), first);
  }
  int setProjectOutput(bool project) override { return CPodeSetProjOutput(mem, project); }
  int step(double stop, N_Vector y, double *t) override {
    int flag = std::isfinite(stop) ? CVodeSetStopTime(cvode(), stop) : CP_SUCCESS;
    if (!flag) flag = CPode(mem, towards(reached, stop), y, t, CV_ONE_STEP);
    if (flag >= 0) reached = *t;
    return flag;
  }
  int interpolate(double t, N_Vector y) override { return CPodeGetDky(mem, t, 0, y); }
  Counters counters() const override {
    Counters c = Counters();
    CPodeProjStats p;
    CVodeGetNumSteps(cvode(), &c.steps);
    CVodeGetNumErrTestFails(cvode(), &c.errorTestFailures);
    CVodeGetNumStepSolveFails(cvode(), &c.solverFailures);
    CVodeGetNumNonlinSolvIters(cvode(), &c.iterations);
    if (!CPodeGetProjStats(mem, &p)) c.projections = p.nproj, c.projectionFailures = p.nprojfails;
    c.attempts = c.steps + c.errorTestFailures + c.solverFailures;
    return c;
  }
  double nextStep() const override {
    double h = 0.0;
    CVodeGetCurrentStep(cvode(), &h);
    return h;
  }
  const char *message() const override { return CPodeGetLastMessage(mem); }

private:
  void *cvode() const { return CPodeGetCVodeMem(mem); }
  CPodeMem mem;
  double reached = 0.0;
};

class OneStep : public Engine {
public:
  explicit OneStep(CPOneStepMem own) : mem(own) { CPOneStepSetErrHandlerFn(mem, quiet, nullptr); }
  ~OneStep() override { CPOneStepFree(&mem); }

  int start(CPMech mech, double t, N_Vector y) override {
    reached = t;
    return CPMechAttachOneStep(mech, mem, t, y);
  }
  int setWeights(CVEwtFn weights) override { return CPOneStepWFtolerances(mem, weights); }
  int setStepSizes(double first, double least, double most) override {
    int flag = CPOneStepSetMaxNumSteps(mem, -1);
    if (!flag) flag = CPOneStepSetMaxStep(mem, most);
    if (!flag) flag = CPOneStepSetMinStep(mem, least);
    return flag || !(first > 0.0) ? flag : CPOneStepSetInitStep(mem, first);
  }
  int setProjectOutput(bool project) override { return CPOneStepSetProjOutput(mem, project); }
  int step(double stop, N_Vector y, double *t) override {
    int flag = std::isfinite(stop) ? CPOneStepSetStopTime(mem, stop) : CPOneStepClearStopTime(mem);
    if (!flag) flag = CPOneStepEvolve(mem, towards(reached, stop), y, t, CV_ONE_STEP);
    if (flag >= 0) reached = *t;
    return flag;
  }
  int interpolate(double t, N_Vector y) override { return CPOneStepGetDky(mem, t, 0, y); }
  Counters counters() const override {
    const CPOneStepStats s = stats();
    return {s.nst, s.nattempts, s.netf, s.nsolvefails, s.nprojfails, s.nproj, s.nni};
  }
  double nextStep() const override { return stats().hnext; }
  const char *message() const override { return CPOneStepGetLastMessage(mem); }

private:
  CPOneStepStats stats() const {
    CPOneStepStats s = CPOneStepStats();
    CPOneStepGetStats(mem, &s);
    return s;
  }
  CPOneStepMem mem;
  double reached = 0.0;
};

} // namespace

std::unique_ptr<Engine> createMultistep(int lmm, SUNContext ctx) {
  CPodeMem mem = CPodeCreate(lmm, ctx);
  return mem ? std::make_unique<Multistep>(mem) : nullptr;
}
std::unique_ptr<Engine> createOneStep(const char *method, SUNContext ctx) {
  CPOneStepMem mem = CPOneStepCreate(method, ctx);
  return mem ? std::make_unique<OneStep>(mem) : nullptr;
}

} // namespace cpodes
