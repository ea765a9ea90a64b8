/* SimTK::CPodesIntegrator, on the CPODES of libSimTKmath or on cpodes: the environment variable
 * CPODES_EXPECTED names the library whose CPode it must call. The checks are the same in both
 * cases. */
#include "mechanisms.h"
#include "suite.h"

#include <check.h>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

using namespace SimTK;

static std::string expected() {
  const char *const name = std::getenv("CPODES_EXPECTED");
  return name ? name : "";
}
static bool onCpodes() { return expected() == "libsimbody_cpodes"; }

START_TEST(functions_of_cpodes_come_from_the_expected_library) {
  for (const char *name : {"CPodeCreate", "CPode", "CPodeGetRootWindow", "CPLapackDense"}) {
    Dl_info info;
    void *const function = dlsym(RTLD_DEFAULT, name);
    ck_assert_msg(function && dladdr(function, &info), "there is no %s", name);
    ck_assert_msg(std::string(info.dli_fname).find(expected()) != std::string::npos, "%s is in %s",
                  name, info.dli_fname);
  }
}
END_TEST

/* ---- motions. The CPODES of libSimTKmath leaves reports unprojected, and its Adams fails. The
 * chain amplifies errors. ---- */

static void follows(Model &m, Integrator &integrator) {
  const double accuracy = 1e-6, end = 1.0;
  RungeKuttaMersonIntegrator exact(m.system);
  exact.setAccuracy(1e-10);
  TimeStepper reference(m.system, exact);
  reference.initialize(m.start);
  integrator.setAccuracy(accuracy);
  TimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  for (int k = 1; k <= 10; k++) {
    reference.stepTo(end * k / 10), stepper.stepTo(end * k / 10);
    const State &s = stepper.getState();
    m.system.realize(s, Stage::Velocity);
    ck_assert_double_eq(s.getTime(), end * k / 10);
    ck_assert_double_le((s.getY() - reference.getState().getY()).normInf(), 1e4 * accuracy);
    if (onCpodes())
      ck_assert_double_le(std::max(s.getQErr().normInf(), s.getUErr().normInf()), accuracy);
  }
  ck_assert_int_gt(integrator.getNumStepsTaken(), 10);
}

START_TEST(bdf_follows_the_motion) {
  auto m = allModels()[std::size_t(_i)].create();
  CPodesIntegrator integrator(m->system, CPodes::BDF);
  follows(*m, integrator);
}
END_TEST

START_TEST(adams_follows_the_motion) {
  auto m = allModels()[std::size_t(_i)].create();
  CPodesIntegrator integrator(m->system, CPodes::Adams);
  follows(*m, integrator);
}
END_TEST

/* projection by CPODES itself: CPodeProjInit */
START_TEST(bdf_follows_with_the_projection_of_cpodes) {
  auto m = allModels()[std::size_t(_i)].create();
  CPodesIntegrator integrator(m->system, CPodes::BDF);
  integrator.setUseCPodesProjection();
  follows(*m, integrator);
}
END_TEST

/* ---- Newton's iteration ---- */

static int realizations(Model &m, double accuracy, double end, State &last) {
  CPodesIntegrator integrator(m.system, CPodes::BDF, CPodes::Newton);
  integrator.setAccuracy(accuracy);
  TimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  stepper.stepTo(end);
  last = stepper.getState();
  return integrator.getNumRealizations();
}

/* A differenced matrix would take as many evaluations as there are states. */
START_TEST(a_motion_that_is_not_stiff_needs_no_matrix) {
  auto m = ballChain();
  State last;
  ck_assert_int_lt(realizations(*m, 1e-3, 0.02, last), m->start.getNY());
}
END_TEST

/* A block behind a damper falls at the speed v' = g - k v; fixed-point iteration would allow steps of 1 / k. */
START_TEST(a_stiff_motion_has_a_matrix) {
  const double g = 9.81, k = 1e5;
  Model m;
  MobilizedBody::Slider block(m.matter.Ground(), Transform(),
                              Body::Rigid(MassProperties(1, Vec3(0), UnitInertia(1))), Transform());
  Force::UniformGravity(m.forces, m.matter, Vec3(g, 0, 0));
  Force::MobilityLinearDamper(m.forces, block, MobilizerUIndex(0), k);
  m.ready([](State &) {});
  State last;
  ck_assert_int_lt(realizations(m, 1e-4, 1.0, last), 1000);
  ck_assert_double_eq_tol(block.getU(last), g / k, 1e-4);
  ck_assert_double_eq_tol(block.getQ(last), g / k * (1 - 1 / k), 1e-4);
}
END_TEST

/* Blocks behind dampers that are stiffer in one direction, v' = cos(t + i) - c v. A matrix from the other side of such
 * a kink leaves a fifth of the error in each iteration: three do not reach the hundredth that Simbody asks for. */
struct KinkedDampers : Force::Custom::Implementation {
  const SimbodyMatterSubsystem &matter;
  explicit KinkedDampers(const SimbodyMatterSubsystem &of) : matter(of) {}
  static double damping(double v) { return v > 0 ? 1200.0 : 1000.0; }
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &, Vector &u) const override {
    for (int i = 0; i < u.size(); i++) {
      const double v = matter.getMobilizedBody(MobilizedBodyIndex(i + 1)).getOneU(s, 0);
      u[i] += std::cos(s.getTime() + i) - damping(v) * v;
    }
  }
  Real calcPotentialEnergy(const State &) const override { return 0.0; }
};

START_TEST(kinks_of_stiff_forces_take_iterations_and_no_matrices) {
  const int blocks = 20;
  Model m;
  for (int i = 0; i < blocks; i++)
    MobilizedBody::Slider(m.matter.Ground(), Transform(),
                          Body::Rigid(MassProperties(1, Vec3(0), UnitInertia(1))), Transform());
  Force::Custom(m.forces, new KinkedDampers(m.matter));
  m.ready([](State &) {});
  State last;
  const int count = realizations(m, 1e-4, 10.0, last);
  for (int i = 0; i < blocks; i++) {
    const double v = last.getU()[i]; /* the quasi-static one, but for its derivative over c^2 */
    ck_assert_double_eq_tol(KinkedDampers::damping(v) * v, std::cos(10.0 + i), 2e-2);
  }
  ck_assert_int_lt(count, 500);
}
END_TEST

START_TEST(every_internal_step_is_returned_up_to_the_final_time) {
  auto m = fourBarRod();
  CPodesIntegrator integrator(m->system, CPodes::BDF);
  integrator.setReturnEveryInternalStep(true);
  integrator.setFinalTime(0.5);
  integrator.setMaximumStepSize(0.01);
  integrator.setOrderLimit(2);
  integrator.initialize(m->start);
  int seen = 0;
  double t = 0.0;
  Integrator::SuccessfulStepStatus status;
  while ((status = integrator.stepTo(1)) != Integrator::EndOfSimulation) {
    if (status == Integrator::TimeHasAdvanced) seen++;
    ck_assert_double_ge(integrator.getTime(), t);
    ck_assert_double_le(integrator.getTime(), t + 0.01 * (1 + 1e-12));
    t = integrator.getTime();
  }
  ck_assert_double_eq(t, 0.5);
  ck_assert_int_ge(seen, 49);
  ck_assert_int_eq(integrator.getTerminationReason(), Integrator::ReachedFinalTime);
  ck_assert_int_ge(integrator.getNumStepsAttempted(), integrator.getNumStepsTaken());
  ck_assert_int_gt(integrator.getNumIterations(), integrator.getNumStepsTaken() / 2);
}
END_TEST

/* ---- events ---- */

/* A point on a rod of length 1. Walls reverse its velocity. */
struct Walls : Model {
  MobilizedBody::Translation point{matter.Ground(), Transform(),
                                   Body::Rigid(MassProperties(1, Vec3(0), UnitInertia(1))),
                                   Transform()};
  Walls() {
    Force::UniformGravity(forces, matter, Vec3(0, -9.81, 0));
    Constraint::Rod(matter.Ground(), Vec3(0), point, Vec3(0), 1);
  }
};
struct Wall : TriggeredEventHandler {
  const MobilizedBody::Translation point;
  const double side, distance, restitution;
  std::vector<double> &times;
  Wall(const Walls &m, double which, double x, double e, std::vector<double> &seen)
      : TriggeredEventHandler(Stage::Position), point(m.point), side(which), distance(x),
        restitution(e), times(seen) {
    getTriggerInfo().setTriggerOnRisingSignTransition(false);
  }
  Real getValue(const State &s) const override { return distance - side * point.getQ(s)[0]; }
  void handleEvent(State &s, Real, bool &) const override {
    ck_assert_double_eq_tol(getValue(s), 0, 1e-4);
    times.push_back(s.getTime());
    point.setU(s, -restitution * point.getU(s));
  }
};

/* Without losses the point goes from wall to wall in one time T, and first from the lowest position
 * in T / 2. */
START_TEST(events_happen_when_they_should_and_zero_is_no_event) {
  Walls m;
  std::vector<double> right, left, zero, always, clock;
  m.system.addEventHandler(new Wall(m, 1, 0.6, 1, right));
  m.system.addEventHandler(new Wall(m, -1, 0.6, 1, left));
  m.system.addEventReporter(new OfTime([](double t) { return std::fmax(0.0, 0.3 - t); }, zero));
  m.system.addEventReporter(new OfTime([](double) { return 0.0; }, always));
  m.system.addEventReporter(new Clock(0.05, clock));
  m.ready([&](State &s) {
    m.point.setQ(s, Vec3(0, -1, 0));
    m.point.setU(s, Vec3(6, 0, 0));
  });
  CPodesIntegrator integrator(m.system, CPodes::BDF);
  integrator.setAccuracy(1e-7);
  TimeStepper stepper(m.system, integrator);
  stepper.initialize(m.start);
  ck_assert_int_eq(stepper.stepTo(1), Integrator::ReachedReportTime);
  ck_assert_uint_ge(right.size(), 2);
  const double crossing = 2 * right[0];
  for (std::size_t k = 0; k < right.size(); k++)
    ck_assert_double_eq_tol(right[k], right[0] + 2 * double(k) * crossing, 1e-4);
  for (std::size_t k = 0; k < left.size(); k++)
    ck_assert_double_eq_tol(left[k], right[0] + double(2 * k + 1) * crossing, 1e-4);
  ck_assert_uint_eq(right.size() + left.size(), std::size_t((1 + right[0]) / crossing));
  ck_assert_uint_eq(zero.size(), 1);
  ck_assert_double_eq_tol(zero[0], 0.3, 1e-6);
  ck_assert_uint_eq(always.size(), 0);
  ck_assert_uint_eq(clock.size(), 21);
  for (std::size_t k = 0; k < clock.size(); k++)
    ck_assert_double_eq_tol(clock[k], 0.05 * double(k), 1e-12);
}
END_TEST

struct Kick : PeriodicEventHandler {
  const MobilizedBody::Translation point;
  explicit Kick(const Walls &m) : PeriodicEventHandler(1.0), point(m.point) {}
  void handleEvent(State &s, Real, bool &) const override { point.setU(s, 1.05 * point.getU(s)); }
};

/* Restarts begin at order 1, and the noise of Simbody's projections must not keep BDF there: an
 * accuracy 100 times higher costs at most the steps of order 2, 100^(1/3) = 4.6 times as many. */
START_TEST(after_events_bdf_returns_to_high_order) {
  int steps[2];
  for (int k = 0; k < 2; k++) {
    Walls m;
    std::vector<double> left, clock;
    m.system.addEventHandler(new Wall(m, -1, 0.2, 0.9, left));
    m.system.addEventHandler(new Kick(m));
    m.system.addEventReporter(new Clock(0.05, clock));
    m.ready([&](State &s) { m.point.setQ(s, Vec3(1, 0, 0)); });
    CPodesIntegrator integrator(m.system, CPodes::BDF);
    integrator.setAccuracy(k == 0 ? 1e-7 : 1e-9);
    TimeStepper stepper(m.system, integrator);
    stepper.initialize(m.start);
    stepper.stepTo(10);
    ck_assert_uint_eq(left.size(), 8);
    steps[k] = integrator.getNumStepsTaken();
  }
  ck_assert_double_le(steps[1], std::pow(100, 1.0 / 3) * steps[0]);
}
END_TEST

/* ---- SimTK::CPodes itself ---- */

/* y' = -y, by a function that throws once it is broken */
struct Decay : CPodesSystem {
  bool broken = false;
  int explicitODE(Real, const Vector &y, Vector &ydot) const override {
    if (broken) throw std::runtime_error("the function is broken");
    ydot = -1 * y;
    return 0;
  }
  int quadrature(Real, const Vector &y, Vector &q) const override {
    q = y;
    return 0;
  }
};

START_TEST(an_error_is_a_code_and_the_solution_the_last_good_one) {
  Decay decay;
  CPodes cpodes(CPodes::ExplicitODE, CPodes::BDF, CPodes::Newton);
  Vector y(1, 1.0), ydot(1, -1.0);
  double absolute = 1e-8, t = 0.0;
  cpodes.setErrFile(nullptr);
  ck_assert_int_eq(cpodes.init(decay, 0, y, ydot, CPodes::ScalarScalar, 1e-8, &absolute), 0);
  ck_assert_int_eq(cpodes.lapackDense(1), 0);
  ck_assert_int_eq(cpodes.step(1, &t, y, ydot, CPodes::Normal), 0);
  ck_assert_double_eq_tol(y[0], std::exp(-1.0), 1e-6);
  ck_assert_double_eq_tol(ydot[0], -y[0], 1e-5);
  decay.broken = true;
  ck_assert_int_lt(cpodes.step(9, &t, y, ydot, CPodes::Normal), 0);
  ck_assert_double_eq_tol(y[0], std::exp(-t), 1e-6);
  Vector q(1, 0.0);
  ck_assert_int_eq(cpodes.quadInit(q), -22); /* CP_ILL_INPUT */
}
END_TEST

int main() {
  Suite *s         = suite_create("Simbody: CPodesIntegrator");
  TCase *tc        = tcase_create("interface");
  const int models = int(allModels().size());
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, functions_of_cpodes_come_from_the_expected_library);
  tcase_add_test(tc, every_internal_step_is_returned_up_to_the_final_time);
  tcase_add_test(tc, events_happen_when_they_should_and_zero_is_no_event);
  if (onCpodes()) {
    tcase_add_test(tc, a_motion_that_is_not_stiff_needs_no_matrix);
    tcase_add_test(tc, a_stiff_motion_has_a_matrix);
    tcase_add_test(tc, kinks_of_stiff_forces_take_iterations_and_no_matrices);
    tcase_add_test(tc, after_events_bdf_returns_to_high_order);
    tcase_add_test(tc, an_error_is_a_code_and_the_solution_the_last_good_one);
  }
  suite_add_tcase(s, tc);
  tc = tcase_create("motion");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, bdf_follows_the_motion, 0, models);
  if (onCpodes()) {
    tcase_add_loop_test(tc, adams_follows_the_motion, 0, models);
    tcase_add_loop_test(tc, bdf_follows_with_the_projection_of_cpodes, 0, models);
  }
  suite_add_tcase(s, tc);
  return runSuite(s);
}
