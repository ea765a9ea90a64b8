/* A ball on a string bounces between two walls, and a motor gives it a push each second.
 *
 *   m u' + G^T lambda = m g,   |q| = 1        point of mass 1 kg on a string of 1 m, held at the origin
 *   q_x = -0.2, 0.6                            walls: u <- -0.9 u
 *   t = 1, 2, ...                              u <- 1.05 u
 *
 * The program prints one line for each bounce, and checks that between events the energy is
 * constant and the string keeps its length. The method is DOP853, which restarts at no cost after
 * an event. */
#include "cpodes_simbody/cpodes_simbody.h"

#include <cmath>
#include <cstdio>

using namespace SimTK;

struct Pendulum {
  MultibodySystem system;
  SimbodyMatterSubsystem matter{system};
  GeneralForceSubsystem forces{system};
  Force::UniformGravity gravity{forces, matter, Vec3(0, -9.81, 0)};
  MobilizedBody::Translation ball{matter.Ground(), Transform(),
                                  Body::Rigid(MassProperties(1, Vec3(0), UnitInertia(1))),
                                  Transform()};
  Constraint::Rod string{matter.Ground(), Vec3(0), ball, Vec3(0), 1};
  double energy = 0.0; /* since the newest event */

  double energyOf(const State &s) const {
    system.realize(s, Stage::Velocity);
    return system.calcEnergy(s);
  }
};

struct Wall : TriggeredEventHandler {
  Pendulum &p;
  const double where, side;
  Wall(Pendulum &pendulum, double x, double sign)
      : TriggeredEventHandler(Stage::Position), p(pendulum), where(x), side(sign) {
    getTriggerInfo().setTriggerOnRisingSignTransition(false);
  }
  Real getValue(const State &s) const override { return side * (p.ball.getQ(s)[0] - where); }
  void handleEvent(State &s, Real, bool &) const override {
    p.ball.setU(s, -0.9 * p.ball.getU(s));
    p.energy = p.energyOf(s);
    std::printf("t = %.6f: wall x = %4.1f, speed %.4f\n", s.getTime(), where, p.ball.getU(s).norm());
  }
};

struct Motor : PeriodicEventHandler {
  Pendulum &p;
  explicit Motor(Pendulum &pendulum) : PeriodicEventHandler(1.0), p(pendulum) {}
  void handleEvent(State &s, Real, bool &) const override {
    p.ball.setU(s, 1.05 * p.ball.getU(s));
    p.energy = p.energyOf(s);
  }
};

struct Check : PeriodicEventReporter {
  const Pendulum &p;
  double &worst;
  Check(const Pendulum &pendulum, double &w) : PeriodicEventReporter(0.05), p(pendulum), worst(w) {}
  void handleEvent(const State &s) const override {
    worst = std::fmax(worst, std::fabs(p.energyOf(s) - p.energy));
    worst = std::fmax(worst, std::fabs(p.ball.getQ(s).norm() - 1));
  }
};

int main() {
  Pendulum p;
  double worst = 0.0;
  p.system.addEventHandler(new Wall(p, -0.2, 1));
  p.system.addEventHandler(new Wall(p, 0.6, -1));
  p.system.addEventHandler(new Motor(p));
  p.system.addEventReporter(new Check(p, worst));
  State start = p.system.realizeTopology();
  p.ball.setQ(start, Vec3(0.5, -std::sqrt(0.75), 0));
  p.energy = p.energyOf(start);

  cpodes::CPodesProjectedIntegrator integrator(p.system, cpodes::CPodesProjectedIntegrator::DOP853);
  integrator.setAccuracy(1e-8);
  cpodes::CPodesTimeStepper stepper(p.system, integrator);
  stepper.initialize(start);
  stepper.stepTo(5.02);
  std::printf("%d steps, %d realizations; largest error of energy or length %.1e\n",
              integrator.getNumStepsTaken(), integrator.getNumRealizations(), worst);
  return !(worst < 1e-6) || stepper.getTime() != 5.02;
}
