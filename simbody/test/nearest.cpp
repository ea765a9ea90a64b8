/* projectToNearest: against the closed form of a point on a circle; what cannot be reached. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "mechanisms.h"
#include "suite.h"

#include <cmath>
#include <stdexcept>

using namespace SimTK;

/* A planar body, q = (angle, x, y), whose origin lies on circles */
struct Planar : Model {
  MobilizedBody::Planar body{matter.Ground(), Transform(),
                             Body::Rigid(MassProperties(3, Vec3(0.1, 0, 0), UnitInertia(1))),
                             Transform()};
  void circle(double x, double radius) {
    Constraint::Rod(matter.Ground(), Vec3(x, 0, 0), body, Vec3(0), radius);
  }
  State at(double x, double y, double vx, double vy) {
    State s  = system.realizeTopology();
    s.updQ() = Vector(Vec3(0.3, x, y));
    s.updU() = Vector(Vec3(0.5, vx, vy));
    return s;
  }
};

/* The distance along the radius is the change, and the radial part of the velocity vanishes, whatever the masses are. */
START_TEST(a_point_goes_to_the_nearest_one_of_a_circle) {
  Planar m;
  m.circle(0, 1);
  State s          = m.at(0.9, 1.2, 1, 2);
  const Vec2 moved = cpodes::projectToNearest(m.system, s, 1e-10);
  const Vec3 q(0.3, 0.6, 0.8), u(0.5, 1 - 2.2 * 0.6, 2 - 2.2 * 0.8);
  for (int k = 0; k < 3; k++) {
    ck_assert_double_eq_tol(s.getQ()[k], q[k], 1e-9);
    ck_assert_double_eq_tol(s.getU()[k], u[k], 1e-9);
  }
  ck_assert_double_eq_tol(moved[0], 0.5 / std::sqrt(3.0), 1e-9);
  ck_assert_double_eq_tol(moved[1], 2.2 / std::sqrt(3.0), 1e-9);
}
END_TEST

START_TEST(a_state_that_is_consistent_stays) {
  Planar m;
  m.circle(0, 1);
  State s          = m.at(0.6, 0.8, -0.8, 0.6);
  const Vec2 moved = cpodes::projectToNearest(m.system, s, 1e-10);
  ck_assert_double_le(moved.norm(), 1e-10);
}
END_TEST

START_TEST(circles_without_a_common_point_are_refused_and_the_state_stays) {
  Planar m;
  m.circle(0, 1), m.circle(5, 1);
  State s   = m.at(0.9, 1.2, 1, 2);
  bool said = false;
  try {
    cpodes::projectToNearest(m.system, s, 1e-10);
  } catch (const std::runtime_error &e) {
    said = std::string(e.what()).find("No state near this one") == 0;
  }
  ck_assert_int_eq(said, 1);
  ck_assert_double_eq(s.getQ()[1], 0.9);
}
END_TEST

int main() {
  return runTests("Simbody: nearest state",
                  {a_point_goes_to_the_nearest_one_of_a_circle, a_state_that_is_consistent_stays,
                   circles_without_a_common_point_are_refused_and_the_state_stays});
}
