/* A mechanism of Simbody's as a plug-in of the program cpodes: `cpodes run ./my_model.so --report
 * run.html`.
 *
 *   std::unique_ptr<cpodes::RunnerModel> make(const double *parameter);     // builds the system and its start
 *   static const CPPluginType type = cpodes::runnerModelType<make>("my_model", "My mechanism", 10.0);
 *   CP_PLUGIN_MODULE(type)
 *
 * These lines are one file of a shared object that links cpodes::cpodes_simbody_model. The type is
 * like others of cpodes_plugin.h: parameters, quantities and a reference are set before
 * CP_PLUGIN_MODULE. Its equations are those that CPodesProjectedIntegrator integrates. Constraints
 * of every kind, quaternions, prescribed motions and auxiliary states are supported, but events are
 * not: triggers and handlers of the system are ignored. Units are Simbody's; for cpodes they are
 * SI.
 *
 * The drawing shows bodies by their frames: joints, centres of mass, and the ends of
 * Constraint::Rod and Constraint::Ball. */
#ifndef CPODES_SIMBODY_MODEL_H
#define CPODES_SIMBODY_MODEL_H

#ifdef NDEBUG
#error \
    "Debian's Simbody is compiled without NDEBUG, which changes classes in its headers: compile with -UNDEBUG"
#endif

#include <SimTKsimbody.h>

#include <cpodes/cpodes_plugin.h>
#include <memory>

namespace cpodes {

/** A system and the start of its motion. */
struct RunnerModel {
  SimTK::MultibodySystem system;
  SimTK::SimbodyMatterSubsystem matter{system};
  SimTK::GeneralForceSubsystem forces{system};
  SimTK::State start; /**< at t = 0, realized to Model; it is projected before the run */
  /** Absolute error of what the type's function `reference` returns; 0: there is no reference. */
  double referenceError = 0.0;

  RunnerModel()                               = default;
  RunnerModel(const RunnerModel &)            = delete;
  RunnerModel &operator=(const RunnerModel &) = delete;
  virtual ~RunnerModel()                      = default;
};

/** Builds a model. parameter: as many as the type has. An exception ends the run with its message. */
using MakeRunnerModel = std::unique_ptr<RunnerModel> (*)(const double *parameter);

/** Returns what make returned for this model; it lives as long as the model. */
const RunnerModel &runnerModel(const CPPlugin *model);
/** Returns the state (t, y) of the model, with constraints projected to 1e-10 and realized to
 * Velocity. It is valid until the next call for this model. Exceptions of Simbody pass through. */
const SimTK::State &runnerState(const CPPlugin *model, double t, N_Vector y);
/** For CPPluginQuantity.value: kinetic and potential energy; NaN if Simbody throws. */
double runnerEnergy(const CPPlugin *model, int i, double t, N_Vector y);

namespace runner {
int create(CPPlugin *model, MakeRunnerModel make) noexcept;
void destroy(CPPlugin *model) noexcept;
void points(const CPPlugin *model, double t, N_Vector y, double *xyz) noexcept;
} // namespace runner

/** The type of the models that make builds. end > 0: motions run from 0 to end. The strings must
 * outlive the type. */
template <MakeRunnerModel make>
CPPluginType runnerModelType(const char *name, const char *title, double end) {
  CPPluginType type = CPPluginType();
  type.name         = name;
  type.title        = title;
  type.source       = "Simbody";
  type.t_end        = end;
  type.create       = [](CPPlugin *model) { return runner::create(model, make); };
  type.destroy      = runner::destroy;
  type.points       = runner::points;
  return type;
}

} // namespace cpodes
#endif
