/* CVODES or a one-step method, with projection, around one mechanical system. */
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

/** Functions return cpodes' codes. */
class Engine {
public:
  virtual ~Engine() = default;

  /** Starts at (t, y), for the first time or again. Counters are cleared, options are kept. */
  virtual int start(CPMech mech, double t, N_Vector y) = 0;
  virtual int setWeights(CVEwtFn weights)              = 0;
  /** Sizes of the first step and bounds of all steps; 0: none. */
  virtual int setStepSizes(double first, double least, double most) = 0;
  virtual int setProjectOutput(bool project)                        = 0;
  /** One step, not beyond stop (infinite: no bound). y, t: out. */
  virtual int step(double stop, N_Vector y, double *t) = 0;
  /** State within the newest step. */
  virtual int interpolate(double t, N_Vector y) = 0;
  virtual Counters counters() const             = 0;
  virtual double nextStep() const               = 0;
  virtual const char *message() const           = 0;
};

/** nullptr: no memory, or the method is unknown. */
std::unique_ptr<Engine> createMultistep(int lmm, SUNContext ctx);
std::unique_ptr<Engine> createOneStep(const char *method, SUNContext ctx);

} // namespace cpodes
#endif
