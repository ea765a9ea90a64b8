/* CPodesProjectedIntegrator: what SimTK::Integrator does between its caller and a method that takes
 * steps. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "diagnosis.h"
#include "engine.h"
#include "events.h"
#include "mechanism.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nvector/nvector_serial.h>
#include <vector>

using namespace SimTK;

namespace cpodes {

InitializationFailed::InitializationFailed(const char *file, int line, const std::string &why)
    : Exception::Base(file, line) {
  setMessage("Integrator initialization failed apparently because:\n" + why);
}
StepFailed::StepFailed(const char *file, int line, double t, const std::string &why)
    : Exception::Base(file, line) {
  setMessage("Integrator step failed at time " + String(t) + " apparently because:\n" + why);
}

namespace {

/* Triggers are evaluated only at the ends of steps, so that two sign changes within a step go
 * unnoticed. A step of a one-step method of high order is as long as several steps of Simbody's
 * methods, so it is divided into pieces. */
const int LONG_STEP_PIECES = 4;

/* The convergence coefficient of Adams' fixed-point iteration, and of Newton's with dz'/dz alone, in place of CVODES' 0.1. At 1 the
 * first correction passes where it passes the error test; above, what fails the error test is not corrected once more in vain
 * (guide, "Simbody"). */
const double CONVERGENCE = 10.0;
/* Light segments oscillate with little damping, along which BDF of orders 4 and 5 is not stable. */
const int ORDER_ON_Z = 3;
/* Where stability limits the steps of Adams, its order falls, since lower orders are stable for longer steps: with one correction the
 * orders 1 to 5 are stable on the negative axis up to h rho = 0.67, 0.5, 0.29, 0.16 and 0.09. (The code DE of Shampine and
 * Gordon, Computer Solution of Ordinary Differential Equations, 1975, counts 50 steps of low order in a row, too.) */
const int LOW_ORDER     = 4;
const long FIRST_JUDGED = 50;
/* From this accuracy on fixed-point iteration may pay for Adams, and Auto begins with Adams, which takes
 * the fewest realizations there (guide, "OpenSim and Simbody"). */
const double LOOSE = 1e-5;
/* Where stability limits Adams, Auto lets an explicit method race against BDF. One lap is what this number of Newton's
 * matrices costs: a start of BDF takes about half of them, as its step size grows. */
const int MATRICES_OF_A_LAP = 10;
/* A step that is shorter than this part of what has been integrated since the caller saw a state, and none whose
 * end is prescribed, creeps towards a state at which the system is not defined. */
const double CREEPING = 1e-6;
/* After a failure the integration is repeated with tolerances divided by FINER, at most REPETITIONS times. */
const double FINER    = 10.0;
const int REPETITIONS = 2;
/* Newton's matrix with the derivatives of z' alone is of no use if more than this part of the attempts fail. */
const double MANY_FAILURES = 0.2;
/* From this accuracy on Auto takes BDF with the derivatives of z' alone, if z' depends on the coordinates. At
 * finer ones muscles whose fibres meet their limits, where z' jumps, take many steps in that way. */
const double LOOSE_ON_Z = 1e-4;
/* Errors of multistep methods are as many tolerances when those of DOP853 are one. */
const double ERRORS_OF_MULTISTEP = 10.0;

struct MethodData {
  const char *name;
  int minOrder, maxOrder;
  bool multistep;
  const char *method; /* cpodes' name of the method; of Auto nullptr */
};
const MethodData methods[] = {{"CPodesProjectedBDF", 1, 5, true, "BDF"},
                              {"CPodesProjectedAdams", 1, 12, true, "ADAMS"},
                              {"CPodesProjectedDOP853", 8, 8, false, "DOP853"},
                              {"CPodesProjectedRADAU", 5, 9, false, "RADAU"},
                              {"CPodesProjectedBS54", 5, 5, false, "BS54"},
                              {"CPodesProjectedBS32", 3, 3, false, "BS32"},
                              {"CPodesProjectedAuto", 1, 12, false, nullptr}};

/* Returns the method of this table that a suggestion names; it has one explicit one. */
CPodesProjectedIntegrator::Method suggested(const CPMechSuggestion &s) {
  int method = 0;
  while (methods[method].method && std::strcmp(methods[method].method, s.method)) method++;
  return methods[method].method ? CPodesProjectedIntegrator::Method(method)
                                : CPodesProjectedIntegrator::DOP853;
}

/* Does the state have variables that are updated at the end of each step (contact trackers,
 * delays)? Their new values are computed at stages up to Stage::Acceleration. */
bool updatesItself(const State &state) {
  for (SubsystemIndex s(0); s < state.getNumSubsystems(); ++s)
    for (DiscreteVariableIndex d(0); state.hasDiscreteVar(DiscreteVarKey(s, d)); ++d)
      if (state.getDiscreteVarUpdateIndex(s, d).isValid()) return true;
  return false;
}

} // namespace

struct CPodesProjectedIntegrator::Impl {
  /* What of the newest step has been returned to the caller: nothing (of a step without or with an
   * event), all of it, the state before the event, or the end of the simulation. */
  enum Communication { Completed, CompletedWithEvent, Returned, ReturnedWithEvent, Over };

  const MultibodySystem &system;
  const Method asked;
  Method method;           /* the method in use; Auto before the first start */
  bool replaced   = false; /* Adams' fixed-point iteration, or Auto's Adams, has been given up */
  bool newton     = false; /* Newton's iteration is in use */
  bool onZ        = false; /* its matrix contains the derivatives of z' alone */
  int finer       = 0;     /* how often the accuracy has been divided by FINER for it */
  long atLowOrder = 0;     /* the number of the newest steps in a row of LOW_ORDER at most */
  long judged     = 0;     /* that after which the iteration is judged */
  /* Auto's race: Explicit and Implicit take turns in laps of equal cost, and the one that advances further in time
   * with a realization goes on, until it becomes slower than the other one was. */
  enum Racer { Explicit, Implicit, NoRace };
  Racer racer         = NoRace;
  double speed[2]     = {NaN, NaN};       /* of the newest laps: time per realization */
  double lapStart     = 0.0;              /* time */
  int lapRealizations = 0, lapLength = 0; /* the number at its start, and that after which it ends */

  double accuracy = -1, tolerance = -1, finalTime = -1, hInit = -1, hMin = -1, hMax = -1;
  int stepLimit  = -1;
  bool everyStep = false, allowInterpolation = true, projectInterpolated = true,
       infinityNorm = false;

  SUNContext ctx = nullptr;
  Mechanism mechanism;
  std::unique_ptr<Engine> engine;
  N_Vector y = nullptr, between = nullptr; /* y: at tEngine; between: at an earlier time */
  double tEngine = 0.0;                    /* at or after the advanced time */

  State advanced, interpolated;
  bool assembled = true; /* advanced is assembled; else only its t and y are set */
  double tGood   = NaN;  /* the last time at which advanced was assembled, with yGood */
  Vector yGood;
  double tSeen = NaN; /* the newest time at which the caller has seen a state, with ySeen */
  Vector ySeen;
  int repeated     = 0; /* how often the integration from tSeen has been repeated */
  bool initialized = false, running = false, showInterpolated = false, startOfInterval = false,
       selfUpdating           = false;
  bool discreteChanged        = true; /* the discrete variables of interpolated are out of date */
  Communication communication = Completed;
  TerminationReason reason    = Integrator::InvalidTerminationReason;
  Stage triggerStage          = Stage::Time;
  std::vector<TriggerKind> kinds;
  std::vector<double> values; /* of the triggers at the advanced state */
  EventWindow window = EventWindow();
  Array_<EventTriggerInfo> triggers;
  Array_<EventId> triggered;
  Array_<double> triggeredTimes;
  Array_<Event::Trigger> triggeredTransitions;

  /* before: from earlier starts; reset: at resetAllStatistics. */
  Counters before = Counters(), reset = Counters();
  int realizationsAtReset = 0, failuresAtReset = 0;
  double firstStep = NaN, lastStep = NaN;
  Array_<int> limiting; /* how often each of q, u and z had the largest estimated error */

  Impl(const MultibodySystem &owner, Method theMethod)
      : system(owner), asked(theMethod), method(theMethod), mechanism(owner) {}
  ~Impl() { release(); }

  double accuracyInUse() const { return accuracy > 0 ? accuracy : 1e-3; }
  double toleranceInUse() const { return tolerance > 0 ? tolerance : accuracyInUse() / 10; }
  double end() const { return finalTime >= 0 ? finalTime : Infinity; }

  void release() {
    engine.reset();
    mechanism.release();
    if (y) N_VDestroy(y);
    if (between) N_VDestroy(between);
    y = between = nullptr;
    if (ctx) SUNContext_Free(&ctx);
  }

  Counters total() const { return engine ? before + engine->counters() : before; }
  int count(long Counters::*what) const { return static_cast<int>(total().*what - reset.*what); }

  /* ---- set-up ---- */

  void checkOrigin(const State &state) const {
    const char *const where = "initialize()";
    SimTK_ERRCHK_ALWAYS(
        system.systemTopologyHasBeenRealized(), where,
        "The topology of the system has not been realized: call realizeTopology().");
    const State &own = system.getDefaultState();
    bool same        = state.getNumSubsystems() == own.getNumSubsystems() &&
                state.getSystemTopologyStageVersion() == system.getSystemTopologyCacheVersion();
    for (SubsystemIndex s(0); same && s < own.getNumSubsystems(); ++s)
      same = state.getSubsystemName(s) == own.getSubsystemName(s);
    const SimbodyMatterSubsystem &matter = system.getMatterSubsystem();
    if (same && state.getSystemStage() >= Stage::Model)
      same = state.getNU(matter.getMySubsystemIndex()) == matter.getNumMobilities();
    SimTK_ERRCHK_ALWAYS(
        same, where, "The state belongs to another system, or to an earlier topology of this one.");
    SimTK_ERRCHK_ALWAYS(matter.getNumMobilities() > 0, where, "The system has no mobilities.");
  }

  /* The assembly of a start, which names what cannot be assembled */
  void assembleStart(State &state) const {
    State asGiven    = state;
    std::string said = notFinite(asGiven), why;
    if (!said.empty()) throw std::runtime_error("The state is not finite: " + said + ".");
    try {
      assemble(state, true);
      said = notFinite(state);
    } catch (const std::exception &e) { said = e.what(); }
    if (said.empty()) return;
    state = asGiven;
    system.realize(asGiven, Stage::Time);
    system.prescribeQ(asGiven);
    system.realize(asGiven, Stage::Position);
    system.prescribeU(asGiven);
    why = violated(system, asGiven, toleranceInUse());
    throw std::runtime_error(why.empty() ? said : "The state cannot be assembled: " + why + ".");
  }
  void checkStart() const {
    const std::string why = withoutMass(system, advanced);
    if (!why.empty()) throw std::runtime_error("The accelerations have no values: " + why + ".");
  }

  /* Sets prescribed values, then projects onto the constraints. The tolerance bounds the largest
   * weighted error, as in cpodes. */
  void assemble(State &state, bool far) const {
    ProjectOptions options(toleranceInUse() / (asked == Auto ? ERRORS_OF_MULTISTEP : 1.0));
    options.setOption(ProjectOptions::UseInfinityNorm);
    options.setOption(far ? ProjectOptions::ForceFullNewton : ProjectOptions::LocalOnly);
    if (far) options.setOption(ProjectOptions::ForceProjection);
    mechanism.assemble(state, options);
  }

  [[noreturn]] void fail(const char *what, int flag) const {
    char *const name = CPGetReturnFlagName(flag);
    std::string text = std::string(what) + " (" + (name ? name : "?") + ")";
    free(name);
    const char *const messages[] = {
        engine ? engine->message() : "",
        mechanism.object() ? CPObjectGetLastMessage(CP_OBJECT(mechanism.object())) : "",
        mechanism.thrown.c_str()};
    for (const char *message : messages)
      if (*message && text.find(message) == std::string::npos) text += std::string("\n") + message;
    throw std::runtime_error(text);
  }
  void check(int flag, const char *what) const {
    if (flag < 0) fail(what, flag);
  }

  void build() {
    release();
    if (SUNContext_Create(nullptr, &ctx)) throw std::bad_alloc();
    const bool mayBeOnZ =
        asked == Auto && accuracyInUse() >= LOOSE_ON_Z && !replaced && advanced.getNZ() > 0;
    const auto create = [this](bool auxiliaryOnly) {
      check(mechanism.create(advanced, accuracyInUse(), infinityNorm, toleranceInUse(),
                             auxiliaryOnly, ctx),
            "the mechanical system was refused");
    };
    create(false);
    onZ = mayBeOnZ && mechanism.auxiliaryDependsOnPositions();
    if (onZ) create(true);
    y       = N_VNew_Serial(mechanism.nq + mechanism.nu + mechanism.nz, ctx);
    between = N_VNew_Serial(mechanism.nq + mechanism.nu + mechanism.nz, ctx);
    if (!y || !between) throw std::bad_alloc();
    method = onZ                                       ? BDF
             : racer != NoRace                         ? (racer == Explicit ? BS32 : BDF)
             : asked == Auto && isLoose() && !replaced ? Adams
                                                       : asked;
    if (method == Auto) {
      Mechanism::read(advanced, y);
      const CPMechSuggestion s = suggestion(advanced.getTime());
      method                   = s.stiff && isLoose() ? BDF : suggested(s);
    }
    newton = method == BDF || (method == Adams && (replaced || !isLoose() || matrixIsCheap()));
    const MethodData &chosen = methods[method];
    if (asked == Auto && chosen.multistep && !onZ) mechanism.tighten(ERRORS_OF_MULTISTEP);
    /* The metric of Newton's matrix, which is then cpodes' default, contains the stiffness of the
     * multipliers, which is indefinite: with it, BDF takes 1.5 times as many realizations on a taut
     * chain of ball joints as with the metric M (guide, "Simbody"). */
    if (newton) {
      check(CPMechSetNewton(mechanism.object(), CP_NEWTON_KKT), "Newton's method was refused");
      check(CPMechSetMetric(mechanism.object(), CP_METRIC_KINETIC), "the metric was refused");
    }
    engine     = std::make_unique<Engine>(chosen.method, ctx);
    atLowOrder = 0;
    judged     = FIRST_JUDGED;
    finer      = 0;
  }

  void findTriggers() {
    system.calcEventTriggerInfo(advanced, triggers);
    const double timeScale = system.getDefaultTimeScale();
    kinds.clear();
    for (const EventTriggerInfo &info : triggers)
      kinds.push_back({info.calcTransitionMask(),
                       accuracyInUse() * timeScale * info.getRequiredLocalizationTimeWindow()});
    triggerStage = Stage::Time;
    for (Stage g = Stage::Time; g <= Stage::Acceleration; ++g)
      if (advanced.getNEventTriggersByStage(g) > 0) triggerStage = g;
    values.resize(triggers.size());
  }
  void evaluateTriggers(const State &state, std::vector<double> &e) const {
    if (e.empty()) return;
    system.realize(state, triggerStage);
    for (Stage g = Stage::Time; g <= triggerStage; ++g) {
      const Vector &ofStage = state.getEventTriggersByStage(g);
      for (int i = 0; i < ofStage.size(); i++)
        e[static_cast<std::size_t>(state.getEventTriggerStartByStage(g) + i)] = ofStage[i];
    }
  }

  void updateDiscreteVariables() {
    if (!selfUpdating) return;
    assembleAdvanced();
    system.realize(advanced, Stage::Acceleration);
    advanced.autoUpdateDiscreteVariables();
    mechanism.restart(advanced);
    discreteChanged = true;
  }

  /* Starts the engine at the advanced state, which is assembled. rebuild: a new one; first: of the run */
  void startEngine(bool rebuild, bool first) {
    if (rebuild) build();
    else mechanism.restart(advanced);
    Mechanism::read(advanced, y);
    tEngine = advanced.getTime();
    check(engine->start(mechanism.object(), tEngine, y), "the start was refused");
    if (rebuild) {
      check(engine->setWeights(Mechanism::weights), "error weights");
      check(engine->setProjectOutput(projectInterpolated), "projected output");
    }
    if (onZ || (method == Adams && !newton))
      check(engine->setConvergence(CONVERGENCE), "convergence");
    if (onZ && rebuild) check(engine->setMaxOrder(ORDER_ON_Z), "highest order");
    if (rebuild || hInit > 0)
      check(engine->setStepSizes(first && hInit > 0 ? hInit : 0.0, std::fmax(hMin, 0.0),
                                 std::fmax(hMax, 0.0)),
            "step sizes");
    /* BDF is for stiff u' and z', which N u' says nothing about: it keeps CVODES' choice, by y''. */
    if (method == Adams && !(first && hInit > 0))
      check(engine->setFirstStep(mechanism.firstStep(tEngine, y)), "first step");
  }

  /* Starts a new continuous interval from the advanced state; `changed` is the lowest stage that
   * has changed. */
  void start(Stage changed) {
    const bool first = !engine;
    system.realizeModel(advanced);
    system.realize(advanced, Stage::Instance);
    findTriggers();
    assemble(advanced, first);
    assembled        = true;
    showInterpolated = false;
    if (engine) before = before + engine->counters();
    tSeen = NaN;
    see();
    const bool rebuild = first || changed <= Stage::Instance || !mechanism.fits(advanced);
    if (rebuild) replaced = false, racer = NoRace;
    startEngine(rebuild, first);
    evaluateTriggers(advanced, values);
    selfUpdating    = updatesItself(advanced);
    discreteChanged = true;
    startOfInterval = true;
  }

  void initialize(const State &state) {
    initialized = replaced = false;
    racer                  = NoRace;
    release();
    before = reset         = Counters();
    mechanism.realizations = mechanism.failures = realizationsAtReset = failuresAtReset = 0;
    firstStep = lastStep = NaN;
    limiting.clear();
    mechanism.thrown.clear();
    checkOrigin(state);
    advanced = state;
    system.realizeModel(advanced);
    system.realize(advanced, Stage::Instance);
    assembleStart(advanced);
    checkStart();
    HandleEventsOptions options(toleranceInUse());
    HandleEventsResults results;
    system.handleEvents(advanced, Event::Cause::Initialization, Array_<EventId>(), options, results);
    SimTK_ERRCHK_ALWAYS(results.getExitStatus() != HandleEventsResults::ShouldTerminate,
                        "initialize()", "An initialization event handler requested termination.");
    start(Stage::Topology);
    communication = Completed;
    reason        = Integrator::InvalidTerminationReason;
    updateDiscreteVariables();
    initialized = true;
  }

  /* ---- stepping ---- */

  /* y at a time t in the newest step */
  N_Vector at(double t) {
    if (t >= tEngine) return y;
    check(engine->interpolate(t, between), "interpolation");
    return between;
  }
  void show(double t, State &state) { mechanism.show(t, at(t), state); }
  /* Without triggers, most internal steps are never examined, and assembling one takes realizations
   * of positions and velocities. */
  void placeAdvanced(double t) {
    const N_Vector to = at(t);
    if (assembled) tGood = advanced.getTime(), yGood = advanced.getY();
    Mechanism::place(t, to, advanced);
    assembled = false;
  }
  void assembleAdvanced() {
    if (assembled) return;
    assembled = true;
    try {
      mechanism.assemble(advanced);
    } catch (...) {
      advanced.setTime(tGood);
      advanced.updY() = yGood;
      throw;
    }
  }
  void interpolate(double t) {
    if (discreteChanged) interpolated = advanced;
    discreteChanged = false;
    show(t, interpolated);
    showInterpolated = true;
  }

  bool isLoose() const { return accuracyInUse() >= LOOSE; }
  int priceOfMatrix() const { return 2 * mechanism.nu + mechanism.nz + 1; } /* in realizations */
  /* Newton's matrix serves about 20 steps, in each of which fixed-point iteration takes half a realization more at
   * equal error. */
  bool matrixIsCheap() const { return priceOfMatrix() <= 20 / 2; }
  CPMechSuggestion suggestion(double t) const {
    CPMechSuggestion s   = CP_INIT(CPMechSuggestion);
    const double unknown = t + 10 * system.getDefaultTimeScale();
    check(CPMechSuggestMethod(mechanism.object(), t, y,
                              end() > t && isFinite(end()) ? end() : unknown, accuracyInUse(), &s),
          "no method was found");
    return s;
  }
  /* Does stability limit the steps of Adams? With fixed-point iteration it then takes short steps
   * without failures, since about one correction a step passes its test. So CPMechSuggestMethod is
   * asked, at the cost of 5 to 20 realizations, after FIRST_JUDGED steps of low order in a row and whenever their number
   * has doubled: no more steps than those before are taken in vain. */
  bool isLimited() {
    if (onZ) {
      const Counters c = engine->counters();
      return c.attempts >= FIRST_JUDGED &&
             double(c.solverFailures) > MANY_FAILURES * double(c.attempts);
    }
    if (method != Adams || replaced || (newton && asked == Adams)) return false;
    atLowOrder = engine->order() <= LOW_ORDER ? atLowOrder + 1 : 0;
    if (atLowOrder < judged) return false;
    judged = 2 * atLowOrder;
    return suggestion(tEngine).stiff;
  }
  void beginLap(Racer with, int length) {
    racer           = with;
    lapStart        = tEngine;
    lapRealizations = mechanism.realizations;
    lapLength       = length;
  }
  /* Has the racer in use finished a lap, in which it was slower than the other one, or the other one has had none? */
  bool loses() {
    const int spent = mechanism.realizations - lapRealizations;
    if (spent < lapLength) return false;
    const Racer other = racer == Explicit ? Implicit : Explicit;
    speed[racer]      = (tEngine - lapStart) / spent;
    const bool stays  = speed[other] <= speed[racer];
    beginLap(stays ? racer : other, stays ? 2 * lapLength : lapLength);
    return !stays;
  }
  /* Has the method in use, or its iteration, to be replaced? */
  bool isOutdone() {
    if (racer != NoRace) return loses();
    if (!isLimited()) return false;
    if (asked == Auto && !goesOnFiner()) {
      speed[Explicit] = speed[Implicit] = NaN;
      beginLap(onZ ? Implicit : Explicit, MATRICES_OF_A_LAP * priceOfMatrix());
    }
    return true;
  }
  /* Steps that suit a loose accuracy may be too long for the iteration with dz'/dz alone, and a finer accuracy takes fewer
   * realizations than the full matrix. */
  bool goesOnFiner() const { return onZ && finer < REPETITIONS; }
  /* Continues from the end of the newest step: Adams with Newton's iteration, Auto with a finer accuracy or another method */
  void replace() {
    assembleAdvanced();
    assemble(advanced, false); /* to the tolerance of a start */
    before           = before + engine->counters();
    const bool keeps = goesOnFiner();
    if (keeps) mechanism.tighten(FINER), finer++;
    else replaced = true;
    startEngine(!keeps, false);
  }

  /* At loose tolerances a step may end where the system is not defined: muscles whose tendons are far too long
   * have forces that overflow. No step leads on from there. If the caller has not seen what has been integrated
   * since tSeen, it is integrated once more with a finer tolerance. */
  bool repeatsFiner(int flag) {
    const bool unseen =
        kinds.empty() && !selfUpdating && !everyStep && !system.hasTimeAdvancedEvents();
    if (!unseen || !isLoose() || flag == CP_MEM_FAIL || repeated >= REPETITIONS ||
        !(tSeen < advanced.getTime()))
      return false;
    repeated++;
    advanced.setTime(tSeen);
    advanced.updY() = ySeen;
    assembled       = true;
    assemble(advanced, false);
    mechanism.tighten(FINER);
    before = before + engine->counters();
    startEngine(false, false);
    return true;
  }
  /* Writes the weighted error estimates of the newest step to `between`, if it has had an error test. */
  bool estimatesErrors() {
    if (isNaN(lastStep) || engine->errors(between) < 0) return false;
    const double *const x = N_VGetArrayPointer(y);
    double *const e       = N_VGetArrayPointer(between);
    for (int k = 0; k < mechanism.nq + mechanism.nu + mechanism.nz; k++)
      e[k] = std::fabs(e[k] * mechanism.weightOf(k, x[k]));
    return true;
  }
  void countLimiting() {
    if (!estimatesErrors()) return;
    const double *const e = N_VGetArrayPointer(between);
    const int n           = mechanism.nq + mechanism.nu + mechanism.nz;
    limiting.resize(unsigned(n), 0);
    limiting[unsigned(std::max_element(e, e + n) - e)]++;
  }
  void see() {
    const State &state = showInterpolated ? interpolated : advanced;
    if (state.getTime() == tSeen) return;
    tSeen    = state.getTime();
    ySeen    = state.getY();
    repeated = 0;
  }

  /* Advances the state, at most to tMax, by a step or by the rest of a step that an event has
   * interrupted. Returns true if there is an event at its new time. */
  bool advance(double tMax, double report) {
    const double tOld       = advanced.getTime();
    const double resolution = 100 * Eps * std::fmax(1.0, std::fabs(tOld));
    if (tOld >= tEngine) {
      updateDiscreteVariables();
      if (isOutdone()) replace();
      if (tMax - tOld <= resolution) { /* No method resolves this step. */
        tEngine = tMax;
        check(engine->start(mechanism.object(), tEngine, y), "restart");
      } else {
        const int flag = engine->step(tMax, y, &tEngine);
        if (flag < 0 || (tEngine < tMax && tEngine - tOld < CREEPING * (tOld - tSeen))) {
          if (repeatsFiner(flag)) return false;
          check(flag, "no step is possible");
        }
        lastStep = tEngine - tOld;
        if (isNaN(firstStep)) firstStep = lastStep;
        countLimiting();
      }
    }
    const Vector yOld(advanced.getY());
    try {
      return searchEvent(tOld, std::fmin(tEngine, tMax), report);
    } catch (...) {
      advanced.setTime(tOld);
      advanced.updY() = yOld;
      throw;
    }
  }

  /* Moves the advanced state from low to high, or to the first event between them. */
  bool searchEvent(double low, double high, double report) {
    if (kinds.empty()) {
      placeAdvanced(high);
      return false;
    }
    show(high, advanced);
    const auto evaluate = [this](double t, std::vector<double> &e) {
      interpolate(t);
      evaluateTriggers(interpolated, e);
    };
    const double narrowest   = SignificantReal * std::fmax(1.0, tEngine);
    const int pieces         = methods[method].multistep ? 1 : LONG_STEP_PIECES;
    std::vector<double> eLow = values, eHigh(values.size());
    bool event               = false;
    window                   = EventWindow();
    for (int k = 1; !event && k <= pieces; k++) {
      window.low  = k > 1 ? window.high : low;
      window.high = k < pieces ? low + (high - low) * k / pieces : high;
      if (k > 1) eLow = eHigh;
      if (k < pieces) evaluate(window.high, eHigh);
      else evaluateTriggers(advanced, eHigh);
      event = locateEvent(window, eLow, eHigh, kinds, report, narrowest, evaluate);
    }
    showInterpolated = false;
    if (event && window.high < advanced.getTime()) show(window.high, advanced);
    values = eHigh;
    if (!event) return false;
    triggered.clear(), triggeredTimes.clear(), triggeredTransitions.clear();
    for (std::size_t i = 0; i < window.which.size(); i++) {
      triggered.push_back(triggers[window.which[i]].getEventId());
      triggeredTimes.push_back(window.times[i]);
      triggeredTransitions.push_back(Event::Trigger(window.direction[i]));
    }
    system.realize(advanced, Stage::Acceleration); /* for the handler */
    return true;
  }

  SuccessfulStepStatus returned(SuccessfulStepStatus status, Communication next) {
    communication = next;
    return status;
  }

  SuccessfulStepStatus stepTo(double report, double scheduled) {
    if (startOfInterval) {
      startOfInterval = false;
      return returned(Integrator::StartOfContinuousInterval, Returned);
    }
    double tMax = std::fmin(scheduled, end());
    if (!allowInterpolation) tMax = std::fmin(tMax, report);
    for (int taken = 0;; taken++) {
      const double t = advanced.getTime();
      switch (communication) {
      case Over: throw std::runtime_error("EndOfSimulation has been returned already");
      case CompletedWithEvent:
        if (report <= window.low) {
          interpolate(report);
          return Integrator::ReachedReportTime;
        }
        interpolate(window.low);
        return returned(Integrator::ReachedEventTrigger, ReturnedWithEvent);
      case Returned:
        if (t < end()) break;
        showInterpolated = false;
        reason           = Integrator::ReachedFinalTime;
        return returned(Integrator::EndOfSimulation, Over);
      case ReturnedWithEvent:
      case Completed: /* Fibres may be out of their range, where z' overflows, which no step has seen. */
        if (report <= t && onZ && !mechanism.leadsOn(report, at(report), CREEPING * lastStep) &&
            repeatsFiner(0)) {
          showInterpolated = false;
          break;
        }
        showInterpolated = report < t;
        if (report < t) {
          interpolate(report);
          return Integrator::ReachedReportTime;
        }
        if (report == t) return returned(Integrator::ReachedReportTime, Returned);
        if (t >= scheduled || everyStep || system.hasTimeAdvancedEvents()) {
          assembleAdvanced();
          system.realize(advanced, Stage::Acceleration); /* for the handler */
          return returned(t >= scheduled ? Integrator::ReachedScheduledEvent
                                         : Integrator::TimeHasAdvanced,
                          Returned);
        }
        if (t >= end()) return returned(Integrator::ReachedReportTime, Returned);
        if (stepLimit > 0 && taken >= stepLimit)
          return returned(Integrator::ReachedStepLimit, Returned);
      }
      if (getTime() == report) return Integrator::ReachedReportTime;
      if (getTime() == scheduled) return Integrator::ReachedScheduledEvent;
      showInterpolated = false;
      communication    = advance(tMax, report) ? CompletedWithEvent : Completed;
    }
  }
  double getTime() const { return (showInterpolated ? interpolated : advanced).getTime(); }

  /* An event can be queried only while it is the newest result. */
  const Impl &event(const char *function) const {
    SimTK_ERRCHK_ALWAYS(communication == ReturnedWithEvent, function,
                        "No event has been triggered.");
    return *this;
  }
};

/* ---- the public class ---- */

using Integ = CPodesProjectedIntegrator;

Integ::CPodesProjectedIntegrator(const MultibodySystem &owner, Method method)
    : impl(new Impl(owner, method)) {
  SimTK_APIARGCHECK1_ALWAYS(BDF <= method && method <= Auto, "CPodesProjectedIntegrator",
                            "CPodesProjectedIntegrator", "There is no method %d.", int(method));
}
Integ::~CPodesProjectedIntegrator() = default;

const char *Integ::getMethodName() const { return methods[impl->method].name; }
int Integ::getMethodMinOrder() const { return methods[impl->method].minOrder; }
int Integ::getMethodMaxOrder() const { return methods[impl->method].maxOrder; }
bool Integ::methodHasErrorControl() const { return true; }

/* Accepts -1, or a value within its range. */
static double checked(double value, bool inRange, const char *function, const char *rule) {
  SimTK_APIARGCHECK2_ALWAYS(value == -1 || inRange, "CPodesProjectedIntegrator", function,
                            "The value must be %s, or -1 for the default; it is %g.", rule, value);
  return value;
}
void Integ::setAccuracy(double a) {
  impl->accuracy = checked(a, 0 < a && a < 1, __func__, "between 0 and 1");
}
void Integ::setConstraintTolerance(double tol) {
  impl->tolerance = checked(tol, 0 < tol && tol <= 1, __func__, "above 0 and at most 1");
}
void Integ::setFinalTime(double t) { impl->finalTime = checked(t, t >= 0, __func__, "at least 0"); }
void Integ::setInitialStepSize(double h) {
  impl->hInit = checked(h, h > 0 && isFinite(h), __func__, "positive and finite");
}
void Integ::setMinimumStepSize(double h) {
  impl->hMin = checked(h, h > 0 && (impl->hMax < 0 || h <= impl->hMax), __func__,
                       "positive and at most the maximum step size");
}
void Integ::setMaximumStepSize(double h) {
  impl->hMax = checked(h, h > 0 && isFinite(h) && h >= impl->hMin, __func__,
                       "positive, finite and at least the minimum step size");
}
void Integ::setUseInfinityNorm(bool use) { impl->infinityNorm = use; }
bool Integ::isInfinityNormInUse() const { return impl->infinityNorm; }
void Integ::setInternalStepLimit(int steps) { impl->stepLimit = steps; }
void Integ::setReturnEveryInternalStep(bool every) { impl->everyStep = every; }
void Integ::setAllowInterpolation(bool allow) { impl->allowInterpolation = allow; }
void Integ::setProjectInterpolatedStates(bool project) { impl->projectInterpolated = project; }

/* One call at a time: the functions of the system must not call the integrator that steps it. */
struct Calling {
  bool &flag;
  Calling(bool &running, const char *function) : flag(running) {
    SimTK_ERRCHK_ALWAYS(!running, function,
                        "It must not be called by a function of the system that it works for.");
    running = true;
  }
  ~Calling() { flag = false; }
};

void Integ::initialize(const State &state) {
  try {
    const Calling calling(impl->running, "initialize()");
    impl->initialize(state);
  } catch (const std::exception &e) { throw InitializationFailed(__FILE__, __LINE__, e.what()); }
}

Integ::SuccessfulStepStatus Integ::stepTo(double report, double scheduled) {
  const double t = impl->initialized ? impl->getTime() : NaN;
  try {
    const Calling calling(impl->running, "stepTo()");
    SimTK_ERRCHK_ALWAYS(impl->initialized, "stepTo()", "The integrator has not been initialized.");
    SimTK_ERRCHK3_ALWAYS(report >= t && scheduled >= t, "stepTo()",
                         "The times %g and %g must not be before the present one, %g.", report,
                         scheduled, t);
    const SuccessfulStepStatus status = impl->stepTo(report, scheduled);
    if (!impl->showInterpolated) impl->assembleAdvanced();
    impl->see();
    return status;
  } catch (const std::exception &e) {
    throw StepFailed(__FILE__, __LINE__, impl->initialized ? impl->getTime() : NaN, e.what());
  }
}
Integ::SuccessfulStepStatus Integ::stepBy(double interval, double scheduled) {
  return stepTo(getTime() + interval, scheduled);
}

void Integ::reinitialize(Stage stage, bool shouldTerminate) {
  try {
    const Calling calling(impl->running, "reinitialize()");
    impl->showInterpolated = impl->showInterpolated && stage >= Stage::Report;
    if (stage < Stage::Report && !shouldTerminate) impl->start(stage);
  } catch (const std::exception &e) {
    throw StepFailed(__FILE__, __LINE__, getAdvancedTime(), e.what());
  }
  if (!shouldTerminate) return;
  impl->communication = Impl::Over;
  impl->reason        = Integrator::EventHandlerRequestedTermination;
}

const State &Integ::getState() const {
  return impl->showInterpolated ? impl->interpolated : getAdvancedState();
}
bool Integ::isStateInterpolated() const { return impl->showInterpolated; }
const State &Integ::getAdvancedState() const {
  impl->assembleAdvanced();
  return impl->advanced;
}
State &Integ::updAdvancedState() {
  impl->assembleAdvanced();
  return impl->advanced;
}
void Integ::calcStateWithinStep(double t, State &state) const {
  SimTK_ERRCHK_ALWAYS(impl->initialized && t <= impl->tEngine, "calcStateWithinStep()",
                      "The time must lie in the newest internal step.");
  if (t == impl->advanced.getTime() || isNaN(impl->lastStep)) state = getAdvancedState();
  else impl->show(t, state);
}
Vector Integ::getStepErrorEstimates() const {
  if (!impl->engine || !impl->estimatesErrors()) return Vector();
  return Vector(impl->advanced.getNY(), N_VGetArrayPointer(impl->between));
}
const Array_<int> &Integ::getNumStepsLimitedBy() const { return impl->limiting; }
double Integ::getAccuracyInUse() const { return impl->accuracyInUse(); }
double Integ::getConstraintToleranceInUse() const { return impl->toleranceInUse(); }

Vec2 Integ::getEventWindow() const {
  const EventWindow &window = impl->event(__func__).window;
  return Vec2(window.low, window.high);
}
const Array_<EventId> &Integ::getTriggeredEvents() const { return impl->event(__func__).triggered; }
const Array_<double> &Integ::getEstimatedEventTimes() const {
  return impl->event(__func__).triggeredTimes;
}
const Array_<Event::Trigger> &Integ::getEventTransitionsSeen() const {
  return impl->event(__func__).triggeredTransitions;
}

bool Integ::isSimulationOver() const { return impl->communication == Impl::Over; }
Integ::TerminationReason Integ::getTerminationReason() const { return impl->reason; }

void Integ::resetAllStatistics() {
  impl->reset               = impl->total();
  impl->realizationsAtReset = impl->mechanism.realizations;
  impl->failuresAtReset     = impl->mechanism.failures;
}
double Integ::getActualInitialStepSizeTaken() const { return impl->firstStep; }
double Integ::getPreviousStepSizeTaken() const { return impl->lastStep; }
double Integ::getPredictedNextStepSize() const {
  return impl->engine ? impl->engine->nextStep() : NaN;
}
int Integ::getNumStepsAttempted() const { return impl->count(&Counters::attempts); }
int Integ::getNumStepsTaken() const { return impl->count(&Counters::steps); }
int Integ::getNumRealizations() const {
  return impl->mechanism.realizations - impl->realizationsAtReset;
}
int Integ::getNumQProjections() const {
  return impl->mechanism.np > 0 ? impl->count(&Counters::projections) : 0;
}
int Integ::getNumUProjections() const {
  return impl->mechanism.nv > 0 ? impl->count(&Counters::projections) : 0;
}
int Integ::getNumProjections() const { return getNumQProjections() + getNumUProjections(); }
int Integ::getNumErrorTestFailures() const { return impl->count(&Counters::errorTestFailures); }
int Integ::getNumConvergenceTestFailures() const { return impl->count(&Counters::solverFailures); }
int Integ::getNumRealizationFailures() const {
  return impl->mechanism.failures - impl->failuresAtReset;
}
int Integ::getNumProjectionFailures() const { return impl->count(&Counters::projectionFailures); }
int Integ::getNumIterations() const { return impl->count(&Counters::iterations); }

} // namespace cpodes
