/* Mechanisms with loops, rolling and muscles, for the examples, the tests and the benchmark. SI units. */
#ifndef CPODES_SIMBODY_MECHANISMS_H
#define CPODES_SIMBODY_MECHANISMS_H

#include <SimTKsimbody.h>

#include <memory>
#include <string>
#include <vector>

/** A mechanism and the start of its motion. */
struct Model {
  SimTK::MultibodySystem system;
  SimTK::SimbodyMatterSubsystem matter{system};
  SimTK::GeneralForceSubsystem forces{system};
  SimTK::State start; /* assembled */
  double end = 1.0;   /* of the standard run */

  Model()                         = default;
  Model(const Model &)            = delete;
  Model &operator=(const Model &) = delete;
  /** Realizes the topology. position(state) sets the start, which is then assembled. */
  template <class F> void ready(F position) {
    start = system.realizeTopology();
    system.realizeModel(start);
    position(start);
    system.project(start, 1e-12);
  }
};

/** Four-bar linkage: crank and rocker on pins, coupled by a massless rod of length 2. One degree of freedom. */
std::unique_ptr<Model> fourBarRod();
/** The same with a coupler that has mass, closed by a ball joint. The joint's row in the third
 * direction is redundant. */
std::unique_ptr<Model> fourBarBall();
/** Ten rods on ball joints (quaternions); both ends of the chain are fixed. */
std::unique_ptr<Model> ballChain();
/** Two eccentric wheels that roll on each other (NoSlip1D) and a slider driven by one of them through a CoordinateCoupler. */
std::unique_ptr<Model> gears();
/** An eccentric sphere that rolls on a plane without slip: one holonomic and two nonholonomic
 * constraints. */
std::unique_ptr<Model> rollingSphere();
/** A leg whose foot slides on the ground: hip and knee with muscles (activation z' = (e(t) - z) /
 * tau), a stiff ankle. */
std::unique_ptr<Model> muscleLeg();

struct NamedModel {
  const char *name;
  std::unique_ptr<Model> (*create)();
};
const std::vector<NamedModel> &allModels();

#endif
