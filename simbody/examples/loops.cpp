/* Runs the mechanisms of mechanisms.h by one method of cpodes each, and by Simbody's
 * RungeKuttaMerson at the same accuracy. Prints steps, realizations to Stage::Acceleration,
 * violation of the constraints, and drift of the energy where it is conserved.
 *
 *   loops [accuracy]        default 1e-6
 *
 * The program checks that violations are below the tolerance and that cpodes takes fewer
 * realizations. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "mechanisms.h"

#include <cstdio>
#include <cstdlib>

using namespace SimTK;
using cpodes::CPodesProjectedIntegrator;

template <class I>
static int integrate(Model &m, I &integrator, const char *name, double *violation) {
  m.system.realize(m.start, Stage::Velocity);
  const double energy = m.system.calcEnergy(m.start);
  integrator.initialize(m.start);
  m.system.resetAllCountersToZero();
  while (integrator.stepTo(m.end) != Integrator::ReachedReportTime) {}
  const int count = m.system.getNumRealizationsOfThisStage(Stage::Acceleration);
  const State &s  = integrator.getState();
  m.system.realize(s, Stage::Velocity);
  *violation = std::max(s.getQErr().normInf(), s.getUErr().normInf());
  std::printf("  %-24s %6d steps %7d realizations, violation %.1e, energy %+.1e\n", name,
              integrator.getNumStepsTaken(), count, *violation, m.system.calcEnergy(s) - energy);
  return count;
}

int main(int argc, char **argv) {
  const double accuracy = argc > 1 ? std::atof(argv[1]) : 1e-6;
  bool good             = true;
  for (const NamedModel &named : allModels()) {
    auto m = named.create();
    std::printf("%s\n", named.name);
    RungeKuttaMersonIntegrator theirs(m->system);
    CPodesProjectedIntegrator ours(m->system, CPodesProjectedIntegrator::Adams);
    theirs.setAccuracy(accuracy), ours.setAccuracy(accuracy);
    double violation    = 0.0;
    const int reference = integrate(*m, theirs, theirs.getMethodName(), &violation);
    const int count     = integrate(*m, ours, ours.getMethodName(), &violation);
    good &= violation <= ours.getConstraintToleranceInUse() && count < reference;
  }
  return !good;
}
