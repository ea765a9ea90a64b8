/* A pendulum by Simbody's own CPodes and by cpodes, one after the other in one process. The angles
 * must agree. */
#include <cpodes_simbody/cpodes_simbody.h>

#include <cmath>
#include <cstdio>

using namespace SimTK;

int main() {
  MultibodySystem system;
  SimbodyMatterSubsystem matter(system);
  GeneralForceSubsystem forces(system);
  Force::UniformGravity(forces, matter, Vec3(0, -9.81, 0));
  const Body::Rigid body(MassProperties(1, Vec3(0, -0.5, 0), UnitInertia(1.0 / 3, 0.01, 1.0 / 3)));
  MobilizedBody::Pin pin(matter.Ground(), Transform(), body, Transform());
  State start = system.realizeTopology();
  pin.setAngle(start, 1);

  CPodesIntegrator theirs(system);
  theirs.setAccuracy(1e-8);
  TimeStepper theirStepper(system, theirs);
  theirStepper.initialize(start);
  theirStepper.stepTo(2);

  cpodes::CPodesProjectedIntegrator ours(system, cpodes::CPodesProjectedIntegrator::DOP853);
  ours.setAccuracy(1e-8);
  cpodes::CPodesTimeStepper ourStepper(system, ours);
  ourStepper.initialize(start);
  ourStepper.stepTo(2);

  const double a = pin.getAngle(theirs.getState()), b = pin.getAngle(ours.getState());
  std::printf("angle %.7f by Simbody's CPodes, %.7f by cpodes\n", a, b);
  return std::fabs(a - b) > 1e-5;
}
