/* Bad input: one sentence with Simbody's indices, and the state stays the last good one. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "mechanisms.h"
#include "suite.h"

#include <cmath>
#include <string>

using namespace SimTK;
using cpodes::CPodesProjectedIntegrator;

template <class F> static std::string thrown(F f) {
  try {
    f();
  } catch (const std::exception &e) { return e.what(); }
  return "nothing";
}
#define ASSERT_SAYS(text, part)                                                    \
  do {                                                                             \
    const std::string message = text;                                              \
    ck_assert_msg(message.find(part) != std::string::npos, "%s", message.c_str()); \
  } while (0)

static Body::Rigid ball(double mass) {
  return Body::Rigid(MassProperties(mass, Vec3(0), UnitInertia(1)));
}

START_TEST(coordinates_that_move_no_mass_are_named) {
  for (const double mass : {0.0, 2.0}) {
    Model m;
    MobilizedBody::Slider first(m.matter.Ground(), Transform(), ball(mass), Transform());
    MobilizedBody::Pin second(first, Transform(),
                              Body::Rigid(MassProperties(0, Vec3(0), Inertia(0))), Transform());
    m.ready([](State &) {});
    CPodesProjectedIntegrator ours(m.system, CPodesProjectedIntegrator::Auto);
    const std::string said = thrown([&] { ours.initialize(m.start); });
    ASSERT_SAYS(said, mass ? "no mass is moved by u[1]" : "no mass is moved by u[0], u[1]");
    ck_assert_int_eq(said.find("no body of the model has a mass") != std::string::npos, !mass);
  }
}
END_TEST

/* The Slider cannot come nearer than 2 m to the end of the second rod, of 1 m. */
START_TEST(constraints_that_cannot_be_assembled_are_named) {
  Model m;
  MobilizedBody::Slider slider(m.matter.Ground(), Transform(), ball(1), Transform());
  Constraint::Rod(m.matter.Ground(), Vec3(0, 1, 0), slider, Vec3(0), 1.5);
  Constraint::Rod(m.matter.Ground(), Vec3(0, 2, 0), slider, Vec3(0), 1);
  State s = m.system.realizeTopology();
  slider.setOneQ(s, 0, 0.3);
  CPodesProjectedIntegrator ours(m.system, CPodesProjectedIntegrator::Auto);
  const std::string said = thrown([&] { ours.initialize(s); });
  ASSERT_SAYS(said, "cannot be assembled: constraint[1] is violated by");
  ASSERT_SAYS(said, "constraint[0] is violated by");
}
END_TEST

/* sqrt(1.09) - 1.5 = -0.456 */
START_TEST(a_lock_against_a_constraint_is_named) {
  Model m;
  MobilizedBody::Slider slider(m.matter.Ground(), Transform(), ball(1), Transform());
  Constraint::Rod(m.matter.Ground(), Vec3(0, 1, 0), slider, Vec3(0), 1.5);
  State s = m.system.realizeTopology();
  m.system.realizeModel(s);
  slider.setOneQ(s, 0, 0.3);
  slider.lock(s);
  CPodesProjectedIntegrator ours(m.system, CPodesProjectedIntegrator::Auto);
  ASSERT_SAYS(
      thrown([&] { ours.initialize(s); }),
      "constraint[0] is violated by 0.456, while the motion of u[0] is locked or prescribed");
}
END_TEST

START_TEST(a_state_that_is_no_number_is_named) {
  Model m;
  MobilizedBody::Slider slider(m.matter.Ground(), Transform(), ball(1), Transform());
  State s = m.system.realizeTopology();
  slider.setOneU(s, 0, NaN);
  CPodesProjectedIntegrator ours(m.system, CPodesProjectedIntegrator::Auto);
  ASSERT_SAYS(thrown([&] { ours.initialize(s); }), "The state is not finite: u[0] = nan");
}
END_TEST

/* A force that is no number after a time, while q = t */
struct Breaks : Force::Custom::Implementation {
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &, Vector &f) const override {
    if (s.getTime() > 0.25) f[0] = NaN;
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
};

START_TEST(an_acceleration_that_is_no_number_is_named_and_the_state_stays) {
  for (const auto method : {CPodesProjectedIntegrator::Auto, CPodesProjectedIntegrator::DOP853}) {
    Model m;
    MobilizedBody::Slider slider(m.matter.Ground(), Transform(), ball(1), Transform());
    Force::Custom(m.forces, new Breaks);
    m.ready([&](State &s) { slider.setOneU(s, 0, 1); });
    CPodesProjectedIntegrator ours(m.system, method);
    ours.initialize(m.start);
    ASSERT_SAYS(thrown([&] {
                  while (ours.stepTo(1) != Integrator::ReachedReportTime) {}
                }),
                "u'[0] = nan");
    ck_assert_double_le(ours.getAdvancedTime(), 0.25);
    ck_assert_double_eq_tol(ours.getAdvancedState().getQ()[0], ours.getAdvancedTime(), 1e-12);
  }
}
END_TEST

int main() {
  return runTests("Simbody: diagnosis",
                  {coordinates_that_move_no_mass_are_named,
                   constraints_that_cannot_be_assembled_are_named,
                   a_lock_against_a_constraint_is_named, a_state_that_is_no_number_is_named,
                   an_acceleration_that_is_no_number_is_named_and_the_state_stays});
}
