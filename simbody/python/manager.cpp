/* What Python's cpodes.opensim calls: CPodesTimeStepper with C's names, for a system and a state that exist already in the
 * process. This is the only file that is compiled, at the first use, against the headers of the Simbody in the process; it
 * includes the sources of the library.
 *
 * Functions that may fail return 0 or -1; the message is then that of simbody_message. States are SimTK::State *, systems
 * SimTK::MultibodySystem *. Times are in seconds, all other units are those of the system. */
#include "../src/diagnosis.cpp"
#include "../src/engine.cpp"
#include "../src/events.cpp"
#include "../src/integrator.cpp"
#include "../src/mechanism.cpp"
#include "../src/nearest.cpp"
#include "../src/time_stepper.cpp"

#include <cstring>
#include <functional>
#include <map>

using namespace SimTK;
using cpodes::CPodesProjectedIntegrator;

namespace {

/* Nodes and weights of Gauss' rule of order 10 on [-1, 1] (Abramowitz & Stegun, table 25.4), above the order of every method: the
 * quadrature adds no error of its own. */
const double NODES[]   = {-0.906179845938663993, -0.538469310105683091, 0.0, 0.538469310105683091,
                          0.906179845938663993};
const double WEIGHTS[] = {0.236926885056189088, 0.478628670499366468, 0.568888888888888889,
                          0.478628670499366468, 0.236926885056189088};

/* The power of all forces that act on the bodies, those of motions and constraints included. It is the rate of the kinetic
 * energy, by forces and velocities alone. */
double power(const MultibodySystem &system, const State &state) {
  system.realize(state, Stage::Acceleration);
  const SimbodyMatterSubsystem &matter = system.getMatterSubsystem();
  const Vector &generalized            = system.getMobilityForces(state, Stage::Dynamics);
  const Vector_<SpatialVec> &onBodies  = system.getRigidBodyForces(state, Stage::Dynamics);
  double sum = matter.calcMotionPower(state) + matter.calcConstraintPower(state);
  for (int k = 0; k < generalized.size(); k++) sum += generalized[k] * state.getU()[k];
  for (MobilizedBodyIndex b(0); b < matter.getNumBodies(); ++b) {
    const SpatialVec &v = matter.getMobilizedBody(b).getBodyVelocity(state), &f = onBodies[b];
    sum += dot(f[0], v[0]) + dot(f[1], v[1]);
  }
  return sum;
}

double kinetic(const MultibodySystem &system, const State &state) {
  system.realize(state, Stage::Velocity);
  return system.getMatterSubsystem().calcKineticEnergy(state);
}

/* The message of SimTK's exceptions without the place in the source where it was thrown */
std::string plain(const char *message) {
  std::string text = message;
  const char *head = "SimTK Exception thrown at ";
  std::size_t at   = 0;
  while ((at = text.find(head)) != std::string::npos) {
    const std::size_t end = text.find('\n', at);
    text.erase(at, end == std::string::npos ? end : end + 1 - at);
  }
  for (char &c : text)
    if (c == '\n') c = ' ';
  std::string one;
  for (char c : text)
    if (c != ' ' || (!one.empty() && one.back() != ' ')) one += c;
  return one;
}

struct Run {
  const MultibodySystem &system;
  CPodesProjectedIntegrator integrator;
  cpodes::CPodesTimeStepper stepper;
  std::string message;
  bool balances    = false;
  double tBalanced = 0.0, kineticAtStart = 0.0, work = 0.0, exchanged = 0.0;

  Run(const MultibodySystem &owner, CPodesProjectedIntegrator::Method method)
      : system(owner), integrator(owner, method), stepper(owner, integrator) {
    stepper.setReportAllSignificantStates(true);
  }

  int guarded(const std::function<int()> &f) {
    try {
      return f();
    } catch (const std::exception &e) { message = plain(e.what()); } catch (...) {
      message = "an exception that is no std::exception";
    }
    return -1;
  }

  void startBalance() {
    const State &state = integrator.getAdvancedState();
    tBalanced          = state.getTime();
    kineticAtStart     = kinetic(system, state);
    work = exchanged = 0.0;
  }
  /* Adds the work between tBalanced and the advanced time, in one internal step or a part of it. */
  void balance() {
    const double t = integrator.getAdvancedTime(), h = t - tBalanced;
    if (!(h > 0.0)) return;
    State within = integrator.getAdvancedState();
    for (int k = 0; k < 5; k++) {
      integrator.calcStateWithinStep(tBalanced + h * (1.0 + NODES[k]) / 2.0, within);
      const double dW = h / 2.0 * WEIGHTS[k] * power(system, within);
      work += dW, exchanged += std::fabs(dW);
    }
    tBalanced = t;
  }
};

const char *const METHODS[] = {"bdf", "adams", "dop853", "radau", "bs54", "bs32", "auto"};

} // namespace

#define API extern "C" __attribute__((visibility("default")))

API Run *simbody_create(const void *system, const char *method, char *message, int size) {
  for (int k = 0; k < 7; k++)
    if (!std::strcmp(method, METHODS[k])) try {
        return new Run(*static_cast<const MultibodySystem *>(system),
                       CPodesProjectedIntegrator::Method(k));
      } catch (const std::exception &e) {
        std::snprintf(message, std::size_t(size), "%s", plain(e.what()).c_str());
        return nullptr;
      }
  std::snprintf(message, std::size_t(size), "there is no method %s", method);
  return nullptr;
}
API void simbody_free(Run *run) { delete run; }
API const char *simbody_message(const Run *run) { return run->message.c_str(); }

API int simbody_set(Run *run, const char *option, double value) {
  return run->guarded([=] {
    CPodesProjectedIntegrator &i                                     = run->integrator;
    const std::map<std::string, std::function<void(double)>> options = {
        {"accuracy", [&](double x) { i.setAccuracy(x); }},
        {"constraint_tolerance", [&](double x) { i.setConstraintTolerance(x); }},
        {"first_step", [&](double x) { i.setInitialStepSize(x); }},
        {"least_step", [&](double x) { i.setMinimumStepSize(x); }},
        {"most_step", [&](double x) { i.setMaximumStepSize(x); }},
        {"infinity_norm", [&](double x) { i.setUseInfinityNorm(x != 0.0); }},
        {"balance", [&](double x) {
           run->balances = x != 0.0;
           i.setReturnEveryInternalStep(run->balances);
         }}};
    const auto found = options.find(option);
    if (found == options.end())
      throw std::runtime_error(std::string("there is no option ") + option);
    found->second(value);
    return 0;
  });
}

API int simbody_initialize(Run *run, const void *state) {
  return run->guarded([=] {
    run->stepper.initialize(*static_cast<const State *>(state));
    if (run->balances) run->startBalance();
    return 0;
  });
}
/* Goes on from another state. forces: nothing but forces has changed. */
API int simbody_restart(Run *run, const void *state, int forces) {
  return run->guarded([=] {
    const State before = run->integrator.getAdvancedState();
    try {
      if (state) run->integrator.updAdvancedState() = *static_cast<const State *>(state);
      run->integrator.reinitialize(forces ? Stage::Dynamics : Stage::Topology, false);
    } catch (...) {
      run->integrator.updAdvancedState() = before;
      run->integrator.reinitialize(Stage::Topology, false);
      throw;
    }
    if (run->balances && state) run->startBalance();
    return 0;
  });
}
/* Integrates to t, or to the next event before it. Returns SimTK's status of a step: 1 at t, 2 where a trigger has acted, 3 where
 * a scheduled handler has, 4 after an internal step, 6 at the end that a handler has asked for, 7 at a new start. */
API int simbody_step(Run *run, double t) {
  return run->guarded([=] {
    const auto status = run->stepper.stepTo(t);
    if (run->balances) run->balance();
    return static_cast<int>(status);
  });
}
API double simbody_time(const Run *run) { return run->stepper.getTime(); }
API int simbody_state(Run *run, void *to) {
  return run->guarded([=] {
    *static_cast<State *>(to) = run->stepper.getState();
    return 0;
  });
}
/* y: out, (q, u, z), or its length if y is NULL */
API int simbody_y(const Run *run, double *y) {
  const Vector &now = run->stepper.getState().getY();
  for (int k = 0; y && k < now.size(); k++) y[k] = now[k];
  return now.size();
}
/* The numbers of coordinates and of speeds; of y beyond them is z */
API void simbody_sizes(const Run *run, int *n) {
  const State &state = run->stepper.getState();
  n[0] = state.getNQ(), n[1] = state.getNU(), n[2] = state.getNZ();
}
/* steps [as y]: out, the number of steps in which each element of y had the largest estimated error. errors [as y]: out, those of
 * the newest step, in units of what the accuracy allows; NaN if it had no test. */
API int simbody_limits(Run *run, int *steps, double *errors) {
  return run->guarded([=] {
    const Vector newest        = run->integrator.getStepErrorEstimates();
    const Array_<int> &counted = run->integrator.getNumStepsLimitedBy();
    for (int k = 0; k < run->stepper.getState().getNY(); k++) {
      steps[k]  = unsigned(k) < counted.size() ? counted[unsigned(k)] : 0;
      errors[k] = k < newest.size() ? newest[k] : NaN;
    }
    return 0;
  });
}
/* The largest violation of a constraint, times its weight, at positions and at velocities */
API int simbody_violation(Run *run, double *violation) {
  return run->guarded([=] {
    const State &state = run->stepper.getState();
    run->system.realize(state, Stage::Velocity);
    const auto largest = [](const Vector &error, const Vector &weight) {
      double most = 0.0;
      for (int k = 0; k < error.size(); k++)
        most = std::fmax(most, std::fabs(error[k]) * (k < weight.size() ? weight[k] : 1.0));
      return most;
    };
    violation[0] = largest(state.getQErr(), state.getQErrWeights());
    violation[1] = largest(state.getUErr(), state.getUErrWeights());
    return 0;
  });
}
API int simbody_energy(Run *run, double *energy) {
  return run->guarded([=] {
    const State &state = run->stepper.getState();
    energy[0]          = kinetic(run->system, state);
    run->system.realize(state, Stage::Dynamics);
    energy[1] = run->system.calcPotentialEnergy(state);
    energy[2] = run->kineticAtStart, energy[3] = run->work, energy[4] = run->exchanged;
    return 0;
  });
}
/* The k-th statistic: its name and value; returns 0 if there is no such one */
API const char *simbody_statistic(const Run *run, int k, double *value) {
  const CPodesProjectedIntegrator &i = run->integrator;
  const struct {
    const char *name;
    double value;
  } all[] = {{"steps", double(i.getNumStepsTaken())},
             {"attempts", double(i.getNumStepsAttempted())},
             {"realizations", double(i.getNumRealizations())},
             {"projections", double(i.getNumProjections())},
             {"error_test_failures", double(i.getNumErrorTestFailures())},
             {"convergence_failures", double(i.getNumConvergenceTestFailures())},
             {"realization_failures", double(i.getNumRealizationFailures())},
             {"projection_failures", double(i.getNumProjectionFailures())},
             {"iterations", double(i.getNumIterations())},
             {"last_step", i.getPreviousStepSizeTaken()},
             {"next_step", i.getPredictedNextStepSize()},
             {"accuracy", i.getAccuracyInUse()},
             {"constraint_tolerance", i.getConstraintToleranceInUse()}};
  if (k >= int(sizeof all / sizeof *all)) return nullptr;
  *value = all[k].value;
  return all[k].name;
}
API const char *simbody_method(const Run *run) { return run->integrator.getMethodName(); }

/* cpodes::projectToNearest from one state to another; moved [2]: out, what it returns */
API int simbody_nearest(const void *system, const void *from, double tolerance, void *to,
                        double *moved, char *message, int size) {
  try {
    State state = *static_cast<const State *>(from);
    const Vec2 change =
        cpodes::projectToNearest(*static_cast<const MultibodySystem *>(system), state, tolerance);
    moved[0] = change[0], moved[1] = change[1];
    *static_cast<State *>(to) = state;
    return 0;
  } catch (const std::exception &e) {
    std::snprintf(message, std::size_t(size), "%s", plain(e.what()).c_str());
    return -1;
  }
}
/* disabled [number of constraints]: out, which of the system's constraints are not enforced, or NULL. Returns their number. state:
 * its model may have changed. */
API int simbody_disabled(const void *system, void *state, int *disabled) {
  const MultibodySystem &of            = *static_cast<const MultibodySystem *>(system);
  const SimbodyMatterSubsystem &matter = of.getMatterSubsystem();
  State &at                            = *static_cast<State *>(state);
  of.realizeModel(at);
  of.realize(at, Stage::Instance);
  for (ConstraintIndex c(0); disabled && c < matter.getNumConstraints(); ++c)
    disabled[c] = matter.getConstraint(c).isDisabled(at);
  return matter.getNumConstraints();
}
/* Sets y of a state to first, first + 1, ..., so that its owner's names can be found. */
API int simbody_number(void *state, double first) {
  State &of = *static_cast<State *>(state);
  for (int k = 0; k < of.getNY(); k++) of.updY()[k] = first + k;
  return of.getNY();
}
