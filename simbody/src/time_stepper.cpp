#include "cpodes_simbody/cpodes_simbody.h"

#include <algorithm>

using namespace SimTK;

namespace cpodes {

CPodesTimeStepper::CPodesTimeStepper(const System &owner, CPodesProjectedIntegrator &driven)
    : system(owner), integrator(driven) {}

void CPodesTimeStepper::initialize(const State &state) {
  integrator.initialize(state);
  lastEvent = lastReport = -Infinity;
}

/* Calls the handlers. If one throws, it may have changed anything, so the earlier state is
 * restored. */
void CPodesTimeStepper::handle(Event::Cause cause, const Array_<EventId> &ids) {
  HandleEventsOptions options(integrator.getConstraintToleranceInUse());
  if (integrator.isInfinityNormInUse()) options.setOption(HandleEventsOptions::UseInfinityNorm);
  HandleEventsResults results;
  const State before = integrator.getAdvancedState();
  try {
    system.handleEvents(integrator.updAdvancedState(), cause, ids, options, results);
    integrator.reinitialize(results.getLowestModifiedStage(),
                            results.getExitStatus() == HandleEventsResults::ShouldTerminate);
  } catch (...) {
    integrator.updAdvancedState() = before;
    integrator.reinitialize(Stage::Topology, false);
    throw;
  }
}

CPodesProjectedIntegrator::SuccessfulStepStatus CPodesTimeStepper::stepTo(double time) {
  while (!integrator.isSimulationOver()) {
    const double now = integrator.getTime();
    double nextEvent = Infinity, nextReport = Infinity;
    Array_<EventId> events, reports;
    system.realize(integrator.getState(), Stage::Time);
    system.realize(integrator.getAdvancedState(), Stage::Time);
    system.calcTimeOfNextScheduledEvent(integrator.getState(), nextEvent, events, lastEvent != now);
    system.calcTimeOfNextScheduledReport(integrator.getState(), nextReport, reports,
                                         lastReport != now);
    const Integrator::SuccessfulStepStatus status =
        integrator.stepTo(std::min(nextReport, time), std::min(nextEvent, time));
    switch (status) {
    case Integrator::ReachedReportTime:
      if (integrator.getTime() >= nextReport) {
        system.reportEvents(integrator.getState(), Event::Cause::Scheduled, reports);
        lastReport = integrator.getTime();
      }
      if (integrator.getTime() >= time) return status;
      break;
    case Integrator::ReachedScheduledEvent:
      lastEvent = integrator.getTime();
      handle(Event::Cause::Scheduled, events);
      break;
    case Integrator::ReachedEventTrigger:
      handle(Event::Cause::Triggered, integrator.getTriggeredEvents());
      break;
    case Integrator::TimeHasAdvanced: handle(Event::Cause::TimeAdvanced, Array_<EventId>()); break;
    case Integrator::EndOfSimulation: handle(Event::Cause::Termination, Array_<EventId>()); break;
    default: break; /* the start of an interval, the limit of steps */
    }
    if (reportAll) return status;
  }
  return Integrator::EndOfSimulation;
}

} // namespace cpodes
