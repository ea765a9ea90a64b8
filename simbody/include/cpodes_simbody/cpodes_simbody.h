/* cpodes for Simbody (guide, chapter "Simbody"): integrates a SimTK::MultibodySystem by CVODES'
 * multistep methods, DOP853 or Radau IIA, with coordinate projection. Names, units, status codes
 * and meanings are those of SimTK::Integrator and SimTK::TimeStepper, which cannot be base classes.
 *
 * The library contains cpodes and SUNDIALS and hides them, so that a program may use Simbody's own
 * CPodesIntegrator as well. */
#ifndef CPODES_SIMBODY_H
#define CPODES_SIMBODY_H

/* Simbody 3.8, in which this header is new, lays out SimTK::State without regard to NDEBUG. */
#if defined NDEBUG && !__has_include(<simbody/internal/ExponentialSpringForce.h>)
#error \
    "The headers of Simbody 3.7 lay out SimTK::State otherwise with NDEBUG, and Debian's libraries are built without it: such a program crashes. Compile with -UNDEBUG, or link the CMake target cpodes::cpodes_simbody, which does."
#endif

#include <SimTKsimbody.h>

#include <memory>

#define CPODES_SIMBODY_EXPORT __attribute__((visibility("default")))

namespace cpodes {

/** Exceptions of this library. Each is a SimTK::Exception::Base whose message contains that of
 * cpodes or Simbody. */
class CPODES_SIMBODY_EXPORT InitializationFailed : public SimTK::Exception::Base {
public:
  InitializationFailed(const char *file, int line, const std::string &why);
};
/** Afterwards the state of the integrator is the last good one. */
class CPODES_SIMBODY_EXPORT StepFailed : public SimTK::Exception::Base {
public:
  StepFailed(const char *file, int line, double t, const std::string &why);
};

/** Advances a State of a MultibodySystem, as SimTK::Integrator does. Every step is projected onto
 * the position, velocity and quaternion constraints, and so is every interpolated state.
 *
 * Errors: weights are those of Simbody's integrators. A step's estimated error of u_i is measured
 * in units of max(|u_i|, 1/Wu_i), that of z_i likewise, and that of q in Wq = N Wu N^+ without a
 * relative part. Its RMS norms over q, over u and over z are at most the accuracy. (The three are
 * summed: |.|^2 = |q|^2 + |u|^2 + |z|^2.)
 *
 * A system without mobilities is refused. Coordinates whose motion is prescribed follow it exactly
 * in every state that is returned. */
class CPODES_SIMBODY_EXPORT CPodesProjectedIntegrator {
public:
  /** BDF is for stiff systems. Adams is for long runs with expensive forces. Its iteration is
   * fixed-point iteration at accuracies of 1e-5 and above where Newton's matrix would be expensive,
   * until stability limits the steps, otherwise Newton's. DOP853 is for everything else, and for
   * many events, since it restarts at no cost. RADAU is for very stiff systems with few states; it
   * solves for accelerations by M and G itself, and realizes Dynamics instead of Acceleration. BS54
   * and BS32 are explicit methods of orders 5 and 3 for loose accuracies; BS32 takes three realizations
   * a step, and is for segments that are shorter than the steps of the others.
   *
   * Auto begins with Adams at accuracies of 1e-5 and above. Where stability limits its steps, BS32 and
   * BDF take turns, and the one that advances further with a realization goes on. At tighter ones it is the method that CPMechSuggestMethod chooses in
   * initialize. It chooses again wherever the modelling changes (guide, "Choosing a method"). Its
   * multistep methods get a tenth of the accuracy, so that errors are those of DOP853. */
  enum Method { BDF, Adams, DOP853, RADAU, BS54, BS32, Auto };

  using SuccessfulStepStatus = SimTK::Integrator::SuccessfulStepStatus;
  using TerminationReason    = SimTK::Integrator::TerminationReason;

  /** The system must outlive the integrator. Its topology must have been realized when initialize is
   * called. */
  CPodesProjectedIntegrator(const SimTK::MultibodySystem &system, Method method);
  ~CPodesProjectedIntegrator();
  CPodesProjectedIntegrator(const CPodesProjectedIntegrator &)            = delete;
  CPodesProjectedIntegrator &operator=(const CPodesProjectedIntegrator &) = delete;

  /** Name and orders of the method in use. Before initialize they belong to the method given to the
   * constructor, and the orders of Auto are the least and the greatest of all. */
  const char *getMethodName() const;
  int getMethodMinOrder() const;
  int getMethodMaxOrder() const;
  bool methodHasErrorControl() const;

  /* ---- options, before initialize; -1: the default; out of range: APIArgcheckFailed ---- */

  /** 0 < accuracy < 1, default 1e-3. */
  void setAccuracy(double accuracy);
  /** 0 < tolerance <= 1, default accuracy / 10. Every state that is returned violates each
   * constraint, times its weight (SimTK::State::getQErrWeights, getUErrWeights), by at most this. */
  void setConstraintTolerance(double tolerance);
  /** If set, the accuracy bounds the largest of the weighted errors, not their RMS norm. */
  void setUseInfinityNorm(bool use);
  bool isInfinityNormInUse() const;
  /** Time at which the simulation ends, >= 0. The default is infinity. */
  void setFinalTime(double t);
  void setInitialStepSize(double h);
  void setMinimumStepSize(double h);
  void setMaximumStepSize(double h);
  /** The largest number of internal steps in one call of stepTo. If steps <= 0, which is the
   * default, there is no limit. */
  void setInternalStepLimit(int steps);
  void setReturnEveryInternalStep(bool every);
  /** If false, steps end at report times, and no state is interpolated. Default true. */
  void setAllowInterpolation(bool allow);
  /** If false, interpolated states are not projected. Default true. */
  void setProjectInterpolatedStates(bool project);

  /* ---- actions ---- */

  /** Copies the state, realizes it, assembles it (System::project) and runs the handlers of
   * Event::Cause::Initialization. Throws InitializationFailed if the topology has not been
   * realized, the state belongs to another system, constraints cannot be assembled, or a handler
   * asks for termination. */
  void initialize(const SimTK::State &state);
  /** As SimTK::Integrator::stepTo, with the same status codes. Throws StepFailed. */
  SuccessfulStepStatus stepTo(double reportTime, double scheduledEventTime = SimTK::Infinity);
  /** stepTo(getTime() + interval, ...) */
  SuccessfulStepStatus stepBy(double interval, double scheduledEventTime = SimTK::Infinity);
  /** Continues after the advanced state has been changed; stage is the lowest stage that has
   * changed. Constraints that the state violates by more than the tolerance are projected. Topology
   * and modelling may have changed (constraints enabled or disabled, motions locked, Euler angles
   * instead of quaternions). A stage of Report means that nothing has changed, and nothing
   * restarts. At a restart an explicit method goes on with its step size. */
  void reinitialize(SimTK::Stage stage, bool shouldTerminate);

  /* ---- results, as SimTK::Integrator's ---- */

  /** Realized to Velocity, and to Acceleration after an event or at the end of an internal step that
   * was requested. */
  const SimTK::State &getState() const;
  double getTime() const { return getState().getTime(); }
  bool isStateInterpolated() const;
  const SimTK::State &getAdvancedState() const;
  double getAdvancedTime() const { return getAdvancedState().getTime(); }
  SimTK::State &updAdvancedState();

  /** state: becomes the one at a time t in the newest internal step, which ends at the advanced time;
   * realized to Velocity. */
  void calcStateWithinStep(double t, SimTK::State &state) const;
  /** The estimated errors of the newest internal step, one per q, u and z, in units of what the
   * accuracy allows: those near 1 or above limit the step size. Empty before the first step. */
  SimTK::Vector getStepErrorEstimates() const;
  /** The number of internal steps since initialize in which each of q, u and z had the largest estimated
   * error: what limits the step size. */
  const SimTK::Array_<int> &getNumStepsLimitedBy() const;

  double getAccuracyInUse() const;
  double getConstraintToleranceInUse() const;

  /** After ReachedEventTrigger: the window (tLow, tHigh] and what happened in it. Otherwise throws
   * SimTK::Exception. */
  SimTK::Vec2 getEventWindow() const;
  const SimTK::Array_<SimTK::EventId> &getTriggeredEvents() const;
  const SimTK::Array_<double> &getEstimatedEventTimes() const;
  const SimTK::Array_<SimTK::Event::Trigger> &getEventTransitionsSeen() const;

  bool isSimulationOver() const;
  TerminationReason getTerminationReason() const;

  void resetAllStatistics();
  double getActualInitialStepSizeTaken() const;
  double getPreviousStepSizeTaken() const;
  double getPredictedNextStepSize() const;
  int getNumStepsAttempted() const;
  int getNumStepsTaken() const;
  /** Number of states at which forces were evaluated: realizations to Stage::Acceleration, and those
   * to Stage::Dynamics for the partial derivatives of implicit methods. */
  int getNumRealizations() const;
  /** Number of steps projected at positions, and at velocities; 0 without such constraints. */
  int getNumQProjections() const;
  int getNumUProjections() const;
  int getNumProjections() const;
  int getNumErrorTestFailures() const;
  int getNumConvergenceTestFailures() const;
  int getNumRealizationFailures() const;
  int getNumProjectionFailures() const;
  /** Iterations of the implicit methods. */
  int getNumIterations() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/** Moves a state to the nearest one that satisfies constraints, locks and motions to a tolerance, 0 < tolerance < 1: the one with the
 * least RMS change of q, then of u, in Simbody's weights. Returns these changes. The state is then realized to Velocity. If there is
 * none nearby, std::runtime_error is thrown, and the state is as it was. */
CPODES_SIMBODY_EXPORT SimTK::Vec2 projectToNearest(const SimTK::MultibodySystem &system,
                                                   SimTK::State &state, double tolerance);

/** As SimTK::TimeStepper, whose constructor takes only SimTK::Integrators. */
class CPODES_SIMBODY_EXPORT CPodesTimeStepper {
public:
  /** The system and the integrator must outlive the time stepper. */
  CPodesTimeStepper(const SimTK::System &system, CPodesProjectedIntegrator &integrator);

  const CPodesProjectedIntegrator &getIntegrator() const { return integrator; }
  CPodesProjectedIntegrator &updIntegrator() { return integrator; }
  bool getReportAllSignificantStates() const { return reportAll; }
  void setReportAllSignificantStates(bool all) { reportAll = all; }
  void initialize(const SimTK::State &state);
  const SimTK::State &getState() const { return integrator.getState(); }
  double getTime() const { return integrator.getTime(); }

  /** Integrates to time, and calls the handlers of scheduled and triggered events and the reporters
   * on the way. An exception of a handler passes through; the advanced state is then the one before
   * the handler, and stepTo may be called again. */
  CPodesProjectedIntegrator::SuccessfulStepStatus stepTo(double time);

private:
  void handle(SimTK::Event::Cause cause, const SimTK::Array_<SimTK::EventId> &ids);

  const SimTK::System &system;
  CPodesProjectedIntegrator &integrator;
  bool reportAll   = false;
  double lastEvent = -SimTK::Infinity, lastReport = -SimTK::Infinity;
};

} // namespace cpodes
#endif
