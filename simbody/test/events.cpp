/* CPodesTimeStepper: scheduled and triggered events, reporters, and handlers that change, end or
 * throw. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "mechanisms.h"
#include "suite.h"

#include <check.h>
#include <cmath>
#include <stdexcept>

using namespace SimTK;
using cpodes::CPodesProjectedIntegrator;
using cpodes::CPodesTimeStepper;

static const CPodesProjectedIntegrator::Method methods[] = {
    CPodesProjectedIntegrator::BDF, CPodesProjectedIntegrator::Adams,
    CPodesProjectedIntegrator::DOP853, CPodesProjectedIntegrator::RADAU};
static const int numMethods = sizeof methods / sizeof *methods;

/* A falling point, whose handler reverses the velocity. */
struct Falling : Model {
  MobilizedBody::Translation point{matter.Ground(), Transform(),
                                   Body::Rigid(MassProperties(1, Vec3(0), UnitInertia(1))),
                                   Transform()};
  Falling() { Force::UniformGravity(forces, matter, Vec3(0, -9.81, 0)); }
  void from(double height) {
    ready([&](State &s) { point.setQ(s, Vec3(0, height, 0)); });
  }
};

struct Floor : TriggeredEventHandler {
  const MobilizedBody::Translation point;
  std::vector<double> &times;
  const double restitution;
  Floor(const Falling &m, std::vector<double> &seen, double e)
      : TriggeredEventHandler(Stage::Position), point(m.point), times(seen), restitution(e) {
    getTriggerInfo().setTriggerOnRisingSignTransition(false);
  }
  Real getValue(const State &s) const override { return point.getQ(s)[1]; }
  void handleEvent(State &s, Real, bool &) const override {
    times.push_back(s.getTime());
    point.setU(s, Vec3(0, -restitution * point.getU(s)[1], 0));
  }
};

/* From height 1, the first bounce is at t_1 = sqrt(2 / g), and bounce k at t_1 (1 + 2 e + ... + 2
 * e^{k-1}). Each is located to accuracy x time scale x window = 1e-8 x 0.1 x 0.1, and each bounce
 * amplifies errors of times by at most 1 / e. */
START_TEST(a_ball_bounces_when_it_should) {
  Falling m;
  std::vector<double> times;
  m.system.addEventHandler(new Floor(m, times, 0.8));
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  integrator.setAccuracy(1e-8);
  CPodesTimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  ck_assert_int_eq(stepper.stepTo(2.5), Integrator::ReachedReportTime);
  const double first = std::sqrt(2 / 9.81);
  double expected = first, flight = 2 * first;
  ck_assert_uint_eq(times.size(), 4);
  for (double t : times) {
    ck_assert_double_eq_tol(t, expected, 1e-6);
    flight *= 0.8;
    expected += flight;
  }
}
END_TEST

START_TEST(an_event_lies_in_its_window) {
  Falling m;
  std::vector<double> times;
  m.system.addEventHandler(new Floor(m, times, 1));
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  integrator.setAccuracy(1e-4);
  integrator.initialize(m.start);
  Integrator::SuccessfulStepStatus status = Integrator::InvalidSuccessfulStepStatus;
  while (status != Integrator::ReachedEventTrigger) status = integrator.stepTo(1);
  const Vec2 window = integrator.getEventWindow();
  ck_assert_double_lt(window[0], window[1]);
  ck_assert_double_le(window[1] - window[0], 1e-4 * m.system.getDefaultTimeScale() * 0.1);
  ck_assert(integrator.isStateInterpolated());
  ck_assert_double_eq(integrator.getTime(), window[0]);
  ck_assert_double_eq(integrator.getAdvancedTime(), window[1]);
  ck_assert_double_gt(m.point.getQ(integrator.getState())[1], 0);
  ck_assert_double_le(m.point.getQ(integrator.getAdvancedState())[1], 0);
  ck_assert_uint_eq(integrator.getTriggeredEvents().size(), 1);
  ck_assert_int_eq(integrator.getEventTransitionsSeen()[0], Event::Falling);
  ck_assert_double_eq_tol(integrator.getEstimatedEventTimes()[0], std::sqrt(2 / 9.81), 1e-4);
  /* Nothing has changed: the run continues in the same step, and the event is not found again. */
  integrator.reinitialize(Stage::Report, false);
  const int steps = integrator.getNumStepsTaken();
  ck_assert_int_eq(integrator.stepTo(window[1]), Integrator::ReachedReportTime);
  ck_assert_int_eq(integrator.getNumStepsTaken(), steps);
  while ((status = integrator.stepTo(1)) != Integrator::ReachedReportTime)
    ck_assert_int_ne(status, Integrator::ReachedEventTrigger);
}
END_TEST

START_TEST(discontinuous_triggers_are_located_by_bisection) {
  Falling m;
  std::vector<double> times;
  m.system.addEventReporter(
      new OfTime([](double t) { return std::fmod(t, 1.0) < 0.5 ? 1.0 : -1.0; }, times));
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  integrator.setMaximumStepSize(0.2);
  CPodesTimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  stepper.stepTo(1.9);
  ck_assert_uint_eq(times.size(), 3);
  for (std::size_t k = 0; k < 3; k++)
    ck_assert_double_eq_tol(times[k], 0.5 * double(k + 1), 1e-3 * 0.1 * 0.1);
}
END_TEST

START_TEST(a_trigger_that_stays_at_zero_triggers_when_it_gets_there) {
  Falling m;
  std::vector<double> times, never;
  m.system.addEventReporter(new OfTime([](double t) { return std::fmax(0.0, 0.3 - t); }, times));
  m.system.addEventReporter(new OfTime([](double) { return 0.0; }, never));
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  CPodesTimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  ck_assert_int_eq(stepper.stepTo(1), Integrator::ReachedReportTime);
  ck_assert_uint_eq(times.size(), 1);
  ck_assert_double_eq_tol(times[0], 0.3, 1e-3 * 0.1 * 0.1);
  ck_assert_uint_eq(never.size(), 0);
}
END_TEST

struct Kick : PeriodicEventHandler {
  int &count;
  const int last, fatal;
  const MobilizedBody::Translation point;
  Kick(const Falling &m, int &counted, int lastOne, int fatalOne)
      : PeriodicEventHandler(0.1), count(counted), last(lastOne), fatal(fatalOne), point(m.point) {}
  void handleEvent(State &s, Real, bool &terminate) const override {
    point.setU(s, point.getU(s) + Vec3(0, 1, 0));
    if (++count == fatal) throw std::runtime_error("the handler has no idea");
    terminate = count == last;
  }
};

START_TEST(scheduled_handlers_and_reporters_run_on_time) {
  Falling m;
  int kicks = 0;
  std::vector<double> reports;
  m.system.addEventHandler(new Kick(m, kicks, 0, 0));
  m.system.addEventReporter(new Clock(0.03, reports));
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  integrator.setAccuracy(1e-8);
  integrator.setFinalTime(0.45);
  CPodesTimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  ck_assert_int_eq(stepper.stepTo(1), Integrator::EndOfSimulation);
  ck_assert_int_eq(integrator.getTerminationReason(), Integrator::ReachedFinalTime);
  ck_assert_double_eq(stepper.getTime(), 0.45);
  ck_assert_int_eq(kicks, 5); /* 0, 0.1, ..., 0.4 */
  ck_assert_uint_eq(reports.size(), 16);
  for (std::size_t k = 0; k < reports.size(); k++)
    ck_assert_double_eq_tol(reports[k], 0.03 * double(k), 1e-14);
  ck_assert_double_eq_tol(m.point.getU(stepper.getState())[1], 5 - 9.81 * 0.45, 1e-7);
}
END_TEST

START_TEST(a_handler_can_end_the_simulation) {
  Falling m;
  int kicks = 0;
  m.system.addEventHandler(new Kick(m, kicks, 3, 0));
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  CPodesTimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  ck_assert_int_eq(stepper.stepTo(1), Integrator::EndOfSimulation);
  ck_assert_int_eq(integrator.getTerminationReason(), Integrator::EventHandlerRequestedTermination);
  ck_assert_double_eq(stepper.getTime(), 0.2);
}
END_TEST

START_TEST(what_a_handler_throws_passes_and_its_changes_do_not_stay) {
  Falling m;
  int kicks = 0;
  m.system.addEventHandler(new Kick(m, kicks, 0, 3));
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  integrator.setAccuracy(1e-8);
  CPodesTimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  std::string text;
  try {
    stepper.stepTo(1);
  } catch (const std::exception &e) { text = e.what(); }
  ck_assert(text.find("no idea") != std::string::npos);
  ck_assert_double_eq(integrator.getAdvancedTime(), 0.2);
  ck_assert_double_eq_tol(m.point.getU(integrator.getAdvancedState())[1], 2 - 9.81 * 0.2, 1e-7);
  ck_assert_int_eq(stepper.stepTo(0.25), Integrator::ReachedReportTime);
  ck_assert_double_eq_tol(m.point.getU(stepper.getState())[1], 2 - 9.81 * 0.25, 1e-7);
}
END_TEST

/* A pendulum on a rod that is released and caught again: constraints are disabled and enabled in
 * mid-run. */
struct LetGo : ScheduledEventHandler {
  const Constraint::Rod rod;
  explicit LetGo(const Constraint::Rod &held) : rod(held) {}
  Real getNextEventTime(const State &s, bool now) const override {
    return s.getTime() < 0.3 || (now && s.getTime() == 0.3) ? 0.3 : Infinity;
  }
  void handleEvent(State &s, Real, bool &) const override { rod.disable(s); }
};

START_TEST(a_constraint_can_be_disabled_in_mid_run) {
  Falling m;
  Constraint::Rod rod(m.matter.Ground(), Vec3(0), m.point, Vec3(0), 1);
  m.system.addEventHandler(new LetGo(rod));
  m.ready([&](State &s) { m.point.setQ(s, Vec3(1, 0, 0)); });
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  integrator.setAccuracy(1e-8);
  CPodesTimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  stepper.stepTo(0.3 - 1e-3);
  ck_assert_double_eq_tol(m.point.getQ(stepper.getState()).norm(), 1, 1e-9);
  stepper.stepTo(0.35);
  const Vec3 u = m.point.getU(stepper.getState());
  stepper.stepTo(0.8);
  const State &s = stepper.getState();
  ck_assert_double_gt(m.point.getQ(s).norm(), 1.01);
  ck_assert_double_eq_tol(m.point.getU(s)[0], u[0], 1e-7);
  ck_assert_double_eq_tol(m.point.getU(s)[1], u[1] - 9.81 * 0.45, 1e-6);
  /* The pendulum is caught where it is, with a velocity that suits a rod of another length. */
  integrator.updAdvancedState() = s;
  rod.setRodLength(integrator.updAdvancedState(), m.point.getQ(s).norm());
  rod.enable(integrator.updAdvancedState());
  integrator.reinitialize(Stage::Instance, false);
  const double length = m.point.getQ(integrator.getAdvancedState()).norm();
  stepper.stepTo(1.2);
  ck_assert_double_eq_tol(m.point.getQ(stepper.getState()).norm(), length, 1e-8);
  ck_assert_int_eq(stepper.getState().getNQErr(), 1);
}
END_TEST

/* A Measure::Maximum keeps the largest value of sin 3t at the ends of steps, in a variable that is
 * updated after each. */
START_TEST(variables_that_update_themselves_do_so_after_each_step) {
  Falling m;
  Measure::Sinusoid wave(m.forces, 1, 3);
  Measure::Maximum largest(m.forces, wave);
  m.from(1);
  CPodesProjectedIntegrator integrator(m.system, methods[_i]);
  integrator.setMaximumStepSize(0.01);
  integrator.initialize(m.start);
  while (integrator.stepTo(1) != Integrator::ReachedReportTime) {}
  const State &s = integrator.getAdvancedState();
  m.system.realize(s, Stage::Acceleration);
  ck_assert_double_le(largest.getValue(s), 1);
  ck_assert_double_ge(largest.getValue(s), 1 - 0.5 * std::pow(3 * 0.005, 2));
}
END_TEST

int main() {
  Suite *s  = suite_create("Simbody: events");
  TCase *tc = tcase_create("events");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, a_ball_bounces_when_it_should, 0, numMethods);
  tcase_add_loop_test(tc, an_event_lies_in_its_window, 0, numMethods);
  tcase_add_loop_test(tc, discontinuous_triggers_are_located_by_bisection, 0, numMethods);
  tcase_add_loop_test(tc, a_trigger_that_stays_at_zero_triggers_when_it_gets_there, 0, numMethods);
  tcase_add_loop_test(tc, scheduled_handlers_and_reporters_run_on_time, 0, numMethods);
  tcase_add_loop_test(tc, a_handler_can_end_the_simulation, 0, numMethods);
  tcase_add_loop_test(tc, what_a_handler_throws_passes_and_its_changes_do_not_stay, 0, numMethods);
  tcase_add_loop_test(tc, a_constraint_can_be_disabled_in_mid_run, 0, numMethods);
  tcase_add_loop_test(tc, variables_that_update_themselves_do_so_after_each_step, 0, numMethods);
  suite_add_tcase(s, tc);
  return runSuite(s);
}
