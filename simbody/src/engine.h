/* CVODES or a one-step method, with projection, for one mechanical system. */
#ifndef CPODES_SIMBODY_ENGINE_H
#define CPODES_SIMBODY_ENGINE_H

#include <cpodes/cpodes_onestep.h>

#include <memory>

namespace cpodes {

/** Counters since the newest start. */
struct Counters {
  long steps, attempts, errorTestFailures, solverFailures, projectionFailures, projections,
      iterations;
};
Counters operator+(const Counters &a, const Counters &b);

/** The functions return cpodes' codes. */
class Engine {
public:
  virtual ~Engine() = default;

  /** Starts or restarts at (t, y). Counters are cleared, options are kept. */
  virtual int start(CPMech mech, double t, N_Vector y) = 0;
  virtual int setWeights(CVEwtFn weights)              = 0;
  /** The size of the first step and the bounds of all steps; 0: none. */
  virtual int setStepSizes(double first, double least, double most) = 0;
  virtual int setProjectOutput(bool project)                        = 0;
  /** Takes one step, not beyond stop (infinite: no bound). y, t: out. */
  virtual int step(double stop, N_Vector y, double *t) = 0;
  /** y: out, the state at a time t within the newest step. */
  virtual int interpolate(double t, N_Vector y) = 0;
  virtual Counters counters() const             = 0;
  virtual double nextStep() const               = 0;
  virtual const char *message() const           = 0;
};

/** Returns nullptr without memory, or if the method is unknown. */
std::unique_ptr<Engine> createMultistep(int lmm, SUNContext ctx);
std::unique_ptr<Engine> createOneStep(const char *method, SUNContext ctx);

} // namespace cpodes
#endif
