/* An integrator of one mechanical system. */
#ifndef CPODES_SIMBODY_ENGINE_H
#define CPODES_SIMBODY_ENGINE_H

#include <cpodes/cpodes_mechanics.h>

namespace cpodes {

/** Counters since the newest start. */
struct Counters {
  long steps, attempts, errorTestFailures, solverFailures, projectionFailures, projections,
      iterations;
};
Counters operator+(const Counters &a, const Counters &b);

/** An integrator. The functions return cpodes' codes. */
class Engine {
public:
  /** method: as for CPIntegratorCreate. Throws std::bad_alloc if out of memory, or if the method is unknown. */
  Engine(const char *method, SUNContext ctx);
  ~Engine() { CPIntegratorFree(&mem); }
  Engine(const Engine &)            = delete;
  Engine &operator=(const Engine &) = delete;

  /** Starts or restarts at (t, y). Counters are cleared, options are kept. */
  int start(CPMech mech, double t, N_Vector y);
  int setWeights(CVEwtFn weights) { return CPIntegratorWFtolerances(mem, weights); }
  /** The size of the first step and the bounds of all steps; 0: none. */
  int setStepSizes(double first, double least, double most);
  /** The size of the first step of a multistep method, if the start is no singular position; 0: CVODES chooses. To be called after
   * each start. */
  int setFirstStep(double h);
  /** The convergence coefficient of a multistep method; to be called after a start. */
  int setConvergence(double coefficient);
  /** The highest order of a multistep method; to be called after a start. */
  int setMaxOrder(int order);
  int setProjectOutput(bool project) { return CPIntegratorSetProjOutput(mem, project); }
  /** Takes one step, not beyond stop (infinite: no bound). y, t: out. */
  int step(double stop, N_Vector y, double *t);
  /** y: out, the state at a time t within the newest step. */
  int interpolate(double t, N_Vector y) { return CPIntegratorGetDky(mem, t, 0, y); }
  /** errors: out, the estimated errors of the newest step */
  int errors(N_Vector errors) { return CPIntegratorGetEstLocalErrors(mem, errors); }
  Counters counters() const;
  /** The order of the newest step of a multistep method */
  int order() const;
  double nextStep() const { return stat("current_step"); }
  const char *message() const { return CPObjectGetLastMessage(CP_OBJECT(mem)); }

private:
  double stat(const char *name) const;
  CPIntegrator mem;
  double reached = 0.0;
};

} // namespace cpodes
#endif
