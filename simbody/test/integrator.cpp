/* CPodesProjectedIntegrator against SimTK::RungeKuttaMersonIntegrator: states, status codes, bad input. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "mechanisms.h"
#include "suite.h"

#include <check.h>
#include <cmath>
#include <string>

using namespace SimTK;
using cpodes::CPodesProjectedIntegrator;
using Method = CPodesProjectedIntegrator::Method;

static const Method methods[] = {CPodesProjectedIntegrator::BDF, CPodesProjectedIntegrator::Adams,
                                 CPodesProjectedIntegrator::DOP853,
                                 CPodesProjectedIntegrator::RADAU};
static const int numMethods   = sizeof methods / sizeof *methods;

/* Test number i of a loop over mechanisms and methods. */
static std::unique_ptr<Model> modelOf(int i) {
  return allModels()[std::size_t(i / numMethods)].create();
}
static Method methodOf(int i) { return methods[i % numMethods]; }

struct Ours : CPodesProjectedIntegrator {
  Ours(const Model &m, Method method, double accuracy)
      : CPodesProjectedIntegrator(m.system, method) {
    setAccuracy(accuracy);
  }
};

template <class I> static void reach(I &integrator, double end) {
  while (integrator.stepTo(end) != Integrator::ReachedReportTime) {}
}
/* The counters of the system begin after the initialization. */
template <class I> static State run(Model &m, I &integrator, const State &start, double end) {
  integrator.initialize(start);
  m.system.resetAllCountersToZero();
  reach(integrator, end);
  return integrator.getState();
}
static State exact(Model &m, double accuracy, double end) {
  RungeKuttaMersonIntegrator theirs(m.system);
  theirs.setAccuracy(accuracy);
  return run(m, theirs, m.start, end);
}

/* A rod of 1 kg and 1 m that hangs down from its joint, and gravity */
static Body::Rigid rod() {
  return Body::Rigid(MassProperties(1, Vec3(0, -0.5, 0), UnitInertia(1.0 / 3, 0.01, 1.0 / 3)));
}
static void gravity(Model &m) { Force::UniformGravity(m.forces, m.matter, Vec3(0, -9.81, 0)); }

static double violation(const Model &m, const State &s) {
  m.system.realize(s, Stage::Velocity);
  return std::max(s.getQErr().normInf(), s.getUErr().normInf());
}

static void assertMotion(Model *m, Method method) {
  const double short_run = m->end / 10, accuracy = 1e-6;
  const State expected = exact(*m, 1e-9, short_run);
  Ours ours(*m, method, accuracy);
  const State s = run(*m, ours, m->start, short_run);
  ck_assert_double_eq(s.getTime(), short_run);
  Vector error = s.getY() - expected.getY();
  for (int i = s.getNQ(); i < s.getNY(); i++) error[i] /= std::fmax(1.0, std::fabs(s.getY()[i]));
  ck_assert_double_le(error.normInf(), 100 * accuracy);
}
START_TEST(motions_are_those_of_runge_kutta_merson) {
  assertMotion(modelOf(_i).get(), methodOf(_i));
}
END_TEST
START_TEST(those_of_the_methods_of_low_order_are_too) {
  auto m = allModels()[std::size_t(_i / 2)].create();
  assertMotion(m.get(), _i % 2 ? CPodesProjectedIntegrator::BS32 : CPodesProjectedIntegrator::BS54);
}
END_TEST

/* Spring k and damper k tau in series on the joint's coordinate q: z is where they meet, z' = g(q - z) / tau. k is a part of 1e5.
 * g(e) = e / (1 - e / longest) is defined for e < longest, as the force of a tendon for a range of lengths.
 * The extension q - z may be kept in a cache entry of Stage::Velocity, as by OpenSim's muscles. */
class SpringAndDamper : public Force::Custom::Implementation {
public:
  SpringAndDamper(const GeneralForceSubsystem &owner, const MobilizedBody &driven, bool keeps,
                  double part = 1.0, double relaxation = 1e-4, double limit = Infinity)
      : forces(owner), joint(driven), keepsExtension(keeps), k(1e5 * part), tau(relaxation),
        longest(limit) {}
  void realizeTopology(State &s) const override {
    z    = forces.allocateZ(s, Vector(1, 0.0));
    kept = forces.allocateLazyCacheEntry(s, Stage::Velocity, new Value<double>());
  }
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &,
                 Vector &mobility) const override {
    joint.applyOneMobilityForce(s, MobilizerUIndex(0), -k * stretched(s), mobility);
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
  void realizeAcceleration(const State &s) const override {
    forces.updZDot(s)[z] = stretched(s) / tau;
  }

private:
  double stretched(const State &s) const { /* g */
    const double e = extension(s);
    return e < longest ? e / (1 - e / longest) : NaN;
  }
  double extension(const State &s) const {
    double &value = Value<double>::updDowncast(forces.updCacheEntry(s, kept));
    if (!keepsExtension || !forces.isCacheValueRealized(s, kept))
      value = joint.getOneQ(s, MobilizerQIndex(0)) - forces.getZ(s)[z];
    forces.markCacheValueRealized(s, kept);
    return value;
  }
  const GeneralForceSubsystem &forces;
  const MobilizedBody joint;
  const bool keepsExtension;
  const double k, tau, longest;
  mutable ZIndex z;
  mutable CacheEntryIndex kept;
};

/* Newton's iteration needs the derivatives of z' with respect to q: without them it does not
 * converge at steps much longer than tau. */
START_TEST(auxiliary_states_that_depend_on_coordinates_take_long_steps) {
  Model m;
  const Body::Rigid bob(MassProperties(1, Vec3(0, -1, 0), UnitInertia(1.1, 0.1, 1.1)));
  Force::Gravity(m.forces, m.matter, Vec3(0, -9.81, 0));
  MobilizedBody::Pin pendulum(m.matter.Ground(), Transform(), bob, Transform());
  Force::Custom(m.forces, new SpringAndDamper(m.forces, pendulum, _i));
  m.ready([&](State &s) {
    pendulum.setAngle(s, 1.0);
    s.updZ()[0] = 1.0;
  });
  const State expected = exact(m, 1e-8, 1.0);
  Ours ours(m, CPodesProjectedIntegrator::BDF, 1e-5);
  const State s = run(m, ours, m.start, 1.0);
  ck_assert_double_le((s.getY() - expected.getY()).normInf(), 100 * 1e-5);
  ck_assert_int_le(ours.getNumStepsTaken(), 150);
  ck_assert_int_le(ours.getNumConvergenceTestFailures(), 3);
}
END_TEST

/* Several of them in parallel move like one. Columns of dz'/dz that have no row in common are differenced
 * together, so that their number costs nothing. */
START_TEST(realizations_do_not_grow_with_the_number_of_muscles) {
  int realizations[2];
  for (const int muscles : {1, 12}) {
    Model m;
    const Body::Rigid bob(MassProperties(1, Vec3(0, -1, 0), UnitInertia(1.1, 0.1, 1.1)));
    Force::Gravity(m.forces, m.matter, Vec3(0, -9.81, 0));
    MobilizedBody::Pin pendulum(m.matter.Ground(), Transform(), bob, Transform());
    for (int k = 0; k < muscles; k++)
      Force::Custom(m.forces, new SpringAndDamper(m.forces, pendulum, true, 1.0 / muscles));
    m.ready([&](State &s) {
      pendulum.setAngle(s, 1.0);
      s.updZ() = 1.0;
    });
    const State expected = exact(m, 1e-8, 1.0);
    Ours ours(m, CPodesProjectedIntegrator::Auto, 1e-3);
    const State s = run(m, ours, m.start, 1.0);
    ck_assert_double_le((s.getY() - expected.getY()).normInf(), 100 * 1e-3);
    realizations[muscles > 1] = ours.getNumRealizations();
  }
  ck_assert_int_le(realizations[1], realizations[0] + realizations[0] / 10);
}
END_TEST

/* A leg of six segments, whose joints need not have muscles */
static std::vector<MobilizedBody::Pin> hangLeg(Model &m) {
  Force::Gravity(m.forces, m.matter, Vec3(0, -9.81, 0));
  MobilizedBody parent = m.matter.Ground();
  std::vector<MobilizedBody::Pin> joints;
  for (double mass : {8.0, 5.0, 3.0, 2.0, 1.0, 0.1}) {
    const Body::Rigid segment(
        MassProperties(mass, Vec3(0, -0.2, 0), mass * UnitInertia(0.06, 0.01, 0.06)));
    joints.emplace_back(parent, Transform(Vec3(0, joints.empty() ? 0 : -0.4, 0)), segment,
                        Transform());
    parent = joints.back();
  }
  return joints;
}

/* The leg with two muscles at each joint, whose fibres relax within 1 and 20 ms. Newton's matrix for them takes two or
 * three realizations, and the start and each run's end three; with derivatives of z' with respect to q in it 100 are taken. */
START_TEST(matrices_for_muscles_take_few_realizations_beside_the_iterations) {
  Model m;
  std::vector<MobilizedBody::Pin> joints = hangLeg(m);
  for (const MobilizedBody::Pin &joint : joints) {
    const double mass = joint.getDefaultMassProperties().getMass();
    Force::Custom(m.forces, new SpringAndDamper(m.forces, joint, true, mass * 1e-4, 1e-3));
    Force::Custom(m.forces, new SpringAndDamper(m.forces, joint, true, mass * 3e-4, 2e-2));
  }
  m.ready([&](State &s) {
    for (std::size_t k = 0; k < joints.size(); k++) joints[k].setAngle(s, 0.5 - 0.3 * double(k));
  });
  const State expected = exact(m, 1e-8, 1.0);
  int beside           = 0;
  for (double accuracy : {1e-1, 1e-2, 1e-3}) {
    Ours ours(m, CPodesProjectedIntegrator::Auto, accuracy);
    const State s = run(m, ours, m.start, 1.0);
    ck_assert_double_le((s.getQ() - expected.getQ()).normInf(), 10 * accuracy);
    beside += ours.getNumRealizations() - ours.getNumIterations();
  }
  ck_assert_int_le(beside, 40);
}
END_TEST

/* Steps that suit a loose accuracy lead out of the range of muscles at each joint, and the iteration with dz'/dz alone fails. A finer accuracy
 * mends this for less than the full matrix, which takes 31 realizations: in eight motions about 2,900 realizations go into it, in place of 6,700. */
START_TEST(muscles_whose_iteration_fails_are_integrated_with_a_finer_accuracy) {
  int realizations = 0;
  for (double speed = 2.0; speed < 6.0; speed += 0.5) {
    Model m;
    std::vector<MobilizedBody::Pin> joints = hangLeg(m);
    for (const MobilizedBody::Pin &joint : joints) {
      const double mass = joint.getDefaultMassProperties().getMass();
      Force::Custom(m.forces, new SpringAndDamper(m.forces, joint, true, mass * 1e-5, 1e-3, 0.1));
    }
    m.ready([&](State &s) {
      for (int k = 0; k < 6; k++) {
        s.updZ()[k] = 0.5 - 0.3 * k;
        joints[std::size_t(k)].setAngle(s, 0.5 - 0.3 * k);
        joints[std::size_t(k)].setRate(s, k % 2 ? speed : -speed);
      }
    });
    Ours ours(m, CPodesProjectedIntegrator::Auto, 0.3);
    run(m, ours, m.start, 1.0);
    realizations += ours.getNumRealizations();
  }
  ck_assert_int_le(realizations, 4500);
}
END_TEST

/* Auto takes BDF for muscles on elastic tendons at accuracies of 1e-4 and above, and not for activations, whose rates
 * do not depend on the motion. */
START_TEST(auto_begins_with_bdf_for_elastic_tendons_at_loose_accuracies) {
  Model m;
  const std::vector<MobilizedBody::Pin> joints = hangLeg(m);
  Force::Custom(m.forces, new SpringAndDamper(m.forces, joints[0], true, 1e-4, 1e-3));
  m.ready([](State &) {});
  const auto methodFor = [](Model &of, double accuracy) {
    Ours ours(of, CPodesProjectedIntegrator::Auto, accuracy);
    ours.initialize(of.start);
    return ours.getMethodName();
  };
  for (double accuracy : {1e-1, 1e-4})
    ck_assert_str_eq(methodFor(m, accuracy), "CPodesProjectedBDF");
  ck_assert_str_eq(methodFor(m, 1e-5), "CPodesProjectedAdams");
  auto activations = muscleLeg();
  ck_assert_str_eq(methodFor(*activations, 1e-3), "CPodesProjectedAdams");
}
END_TEST

/* The activations of the muscles do not depend on the motion. Their part of Newton's matrix takes
 * one realization for each of them and one to detect this, where differences by all of (q, u, z)
 * would take thirteen. */
START_TEST(derivatives_of_activations_take_few_realizations_to_acceleration) {
  auto m = muscleLeg();
  Ours ours(*m, CPodesProjectedIntegrator::BDF, 1e-5);
  run(*m, ours, m->start, m->end);
  const int realizations = m->system.getNumRealizationsOfThisStage(Stage::Acceleration);
  ck_assert_int_le(realizations, ours.getNumIterations() + ours.getNumIterations() / 10);
}
END_TEST

/* A step that is not returned saves a realization of positions. */
START_TEST(internal_steps_are_assembled_where_they_are_returned) {
  int positions[2], steps = 0;
  for (bool every : {false, true}) {
    auto m = muscleLeg();
    Ours ours(*m, CPodesProjectedIntegrator::BDF, 1e-4);
    ours.setReturnEveryInternalStep(every);
    run(*m, ours, m->start, m->end);
    positions[every] = m->system.getNumRealizationsOfThisStage(Stage::Position);
    steps            = ours.getNumStepsTaken();
  }
  ck_assert_int_ge(positions[1] - positions[0], steps - 5);
}
END_TEST

/* Most steps take one correction, whose size shows that it suffices. */
START_TEST(adams_evaluates_accelerations_little_more_than_once_a_step) {
  auto m = allModels()[std::size_t(_i)].create();
  Ours ours(*m, CPodesProjectedIntegrator::Adams, 1e-6);
  run(*m, ours, m->start, m->end);
  const double steps = ours.getNumStepsTaken();
  ck_assert_double_gt(steps, 50.0);
  ck_assert_double_le(m->system.getNumRealizationsOfThisStage(Stage::Acceleration), 1.6 * steps);
  ck_assert_double_le(m->system.getNumRealizationsOfThisStage(Stage::Position), 6.0 * steps);
}
END_TEST

/* y' at the start and that of the correction: the size of the first step takes none of its own, neither at rest nor after a
 * handler has changed speeds. CVODES' own choice takes two or three more. Nor does the comparison of derivatives of
 * constraints, which moves a leg that hangs on a rod as well. */
START_TEST(the_size_of_the_first_step_of_adams_takes_no_realization) {
  Model m;
  std::vector<MobilizedBody::Pin> joints = hangLeg(m);
  if (_i) Constraint::Rod(m.matter.Ground(), Vec3(0.5, -0.5, 0), joints[2], Vec3(0, -0.4, 0), 0.8);
  m.ready([&](State &s) { joints[0].setAngle(s, 1.0); });
  Ours ours(m, CPodesProjectedIntegrator::Adams, 1e-3);
  ours.setReturnEveryInternalStep(true);
  ours.initialize(m.start);
  int before = 0;
  for (const bool again : {false, true}) {
    const int taken = ours.getNumStepsTaken();
    while (ours.getNumStepsTaken() == taken) ours.stepTo(1.0);
    ck_assert_int_le(ours.getNumRealizations() - before, 2);
    if (again) break;
    reach(ours, 0.5);
    before = ours.getNumRealizations();
    for (const MobilizedBody::Pin &joint : joints) joint.setOneU(ours.updAdvancedState(), 0, 0.5);
    ours.reinitialize(Stage::Velocity, false);
  }
}
END_TEST

/* The order of Adams shows that stability does not limit its steps: no realization goes into that question, which takes 5 to 20
 * each time. Those beside the iterations are those of the start and of restarts of the iteration. */
START_TEST(smooth_motions_are_not_asked_whether_they_are_stiff) {
  Model m;
  std::vector<MobilizedBody::Pin> joints = hangLeg(m);
  m.ready([&](State &s) { joints[0].setAngle(s, 1.0), joints[3].setRate(s, 3.0); });
  Ours ours(m, CPodesProjectedIntegrator::Auto, 1e-3);
  run(m, ours, m.start, 2.0);
  ck_assert_str_eq(ours.getMethodName(), "CPodesProjectedAdams");
  ck_assert_int_ge(ours.getNumStepsTaken(), 200);
  ck_assert_int_le(ours.getNumRealizations() - ours.getNumIterations(), 5);
}
END_TEST

/* Two equal cranks and a coupler as long as the ground: where all lie in one line, G loses rank,
 * since a row of it vanishes, and a second branch crosses. The motion passes at least four such
 * positions, stays a parallelogram and keeps its energy. It is closed by a ball joint, or with a
 * massless coupler by a rod. Steps that end very close to such a position led DOP853 into the
 * second branch, at 1e-9 and 1e-10 as at other accuracies. */
START_TEST(a_parallelogram_passes_its_singular_positions) {
  const bool byRod      = _i / numMethods % 2;
  const double accuracy = _i / numMethods / 2 ? 1e-10 : 1e-9;
  Model m;
  gravity(m);
  const Body::Rigid crank(MassProperties(1, Vec3(0, -0.5, 0), UnitInertia(0.3, 0.1, 0.3)));
  const Body::Rigid beam(MassProperties(2, Vec3(0, -1, 0), UnitInertia(1.3, 0.1, 1.3)));
  MobilizedBody::Pin left(m.matter.Ground(), Transform(), crank, Transform()), coupler;
  if (!byRod) coupler = MobilizedBody::Pin(left, Vec3(0, -1, 0), beam, Transform());
  MobilizedBody::Pin right(m.matter.Ground(), Vec3(2, 0, 0), crank, Transform());
  if (byRod) Constraint::Rod(left, Vec3(0, -1, 0), right, Vec3(0, -1, 0), 2);
  else Constraint::Ball(coupler, Vec3(0, -2, 0), right, Vec3(0, -1, 0));
  m.ready([&](State &s) {
    left.setAngle(s, 0.4), right.setAngle(s, 0.4);
    left.setRate(s, 9), right.setRate(s, 9);
    if (!byRod) coupler.setAngle(s, Pi / 2 - 0.4), coupler.setRate(s, -9);
  });
  Ours ours(m, methodOf(_i), accuracy);
  const State s = run(m, ours, m.start, 3.0);
  ck_assert_double_ge(left.getAngle(s), 3.5 * Pi); /* past the fourth position */
  ck_assert_double_eq_tol(left.getAngle(s), right.getAngle(s), 10 * accuracy);
  m.system.realize(m.start, Stage::Dynamics);
  m.system.realize(s, Stage::Dynamics);
  const double energy = m.system.calcEnergy(m.start);
  ck_assert_double_le(std::fabs(m.system.calcEnergy(s) / energy - 1.0),
                      accuracy * std::max(100, ours.getNumStepsTaken()));
}
END_TEST

START_TEST(states_handed_out_meet_the_constraint_tolerance) {
  auto m = modelOf(_i);
  for (double tolerance : {-1.0, 1e-10}) {
    Ours ours(*m, methodOf(_i), 1e-4);
    ours.setConstraintTolerance(tolerance);
    ck_assert_double_eq(ours.getConstraintToleranceInUse(), tolerance > 0 ? tolerance : 1e-5);
    ours.initialize(m->start);
    for (int k = 1; k <= 20; k++) {
      reach(ours, 0.02 * k);
      ck_assert_double_le(violation(*m, ours.getState()), ours.getConstraintToleranceInUse());
      ck_assert_double_le(violation(*m, ours.getAdvancedState()),
                          ours.getConstraintToleranceInUse());
    }
  }
}
END_TEST

/* velocities of the body, to within 100 accuracies */
START_TEST(euler_angles_and_quaternions_describe_one_motion) {
  auto quaternions = rollingSphere(), angles = rollingSphere();
  State start = angles->start;
  angles->matter.setUseEulerAngles(start, true);
  angles->system.realizeModel(start);
  angles->matter.convertToEulerAngles(quaternions->start, start);
  start.updU() = quaternions->start.getU();
  ck_assert_int_eq(angles->matter.getNumQuaternionsInUse(start), 0);
  Ours a(*angles, methods[_i], 1e-8), b(*quaternions, methods[_i], 1e-8);
  const State byAngles      = run(*angles, a, start, 0.5),
              byQuaternions = run(*quaternions, b, quaternions->start, 0.5);
  angles->system.realize(byAngles, Stage::Velocity);
  quaternions->system.realize(byQuaternions, Stage::Velocity);
  const SpatialVec
      v1 = angles->matter.getMobilizedBody(MobilizedBodyIndex(1)).getBodyVelocity(byAngles),
      v2 =
          quaternions->matter.getMobilizedBody(MobilizedBodyIndex(1)).getBodyVelocity(byQuaternions);
  ck_assert_double_le((v1[0] - v2[0]).norm() + (v1[1] - v2[1]).norm(), 1e-6);
}
END_TEST

START_TEST(prescribed_and_locked_coordinates_follow_exactly) {
  Model m;
  gravity(m);
  MobilizedBody::Pin driven(m.matter.Ground(), Transform(), rod(), Transform());
  MobilizedBody::Pin loose(driven, Vec3(0, -1, 0), rod(), Transform());
  MobilizedBody::Pin locked(loose, Vec3(0, -1, 0), rod(), Transform());
  MobilizedBody::Ball last(locked, Vec3(0, -1, 0), rod(), Transform());
  Constraint::PointInPlane(m.matter.Ground(), UnitVec3(ZAxis), 0, last, Vec3(0, -1, 0));
  Motion::Sinusoid(driven, Motion::Position, 0.5, 3, 0.2);
  locked.lockByDefault(Motion::Position);
  m.ready([&](State &s) { loose.setRate(s, 1); });
  const State expected = exact(m, 1e-10, 0.9);
  Ours ours(m, methods[_i], 1e-7);
  const State s = run(m, ours, m.start, 0.9);
  ck_assert_double_eq_tol(driven.getAngle(s), 0.5 * std::sin(3 * 0.9 + 0.2), 1e-15);
  ck_assert_double_eq_tol(driven.getRate(s), 1.5 * std::cos(3 * 0.9 + 0.2), 1e-15);
  ck_assert_double_eq(locked.getAngle(s), 0);
  ck_assert_double_le((s.getY() - expected.getY()).normInf(), 1e-5);
}
END_TEST

/* A prescribed velocity and a prescribed acceleration, beside a rod that couples both: positions
 * follow, and projections move them. */
START_TEST(prescribed_velocities_and_accelerations_go_with_constraints) {
  Model m;
  gravity(m);
  MobilizedBody::Pin driven(m.matter.Ground(), Transform(), rod(), Transform());
  MobilizedBody::Pin loose(driven, Vec3(0, -1, 0), rod(), Transform());
  MobilizedBody::Slider pushed(m.matter.Ground(), Transform(), rod(), Transform());
  MobilizedBody::Ball last(loose, Vec3(0, -1, 0), rod(), Transform());
  Motion::Sinusoid(driven, Motion::Velocity, 0.8, 2, 0.1);
  Motion::Sinusoid(pushed, Motion::Acceleration, 1, 2, 0.1);
  Constraint::Rod(pushed, Vec3(1, -1, 0), last, Vec3(0, -0.8, 0.1), 1.5);
  m.ready([&](State &s) { driven.setAngle(s, 0.5); });
  const State expected = exact(m, 1e-10, 0.9);
  Ours ours(m, methods[_i], 1e-7);
  const State s = run(m, ours, m.start, 0.9);
  ck_assert_double_eq_tol(driven.getRate(s), 0.8 * std::sin(2 * 0.9 + 0.1), 1e-15);
  ck_assert_double_le((s.getY() - expected.getY()).normInf(), 1e-5);
  ck_assert_double_le(violation(m, s), ours.getConstraintToleranceInUse());
}
END_TEST

/* Euler angles: N is needed at each of them, about 40 times a step, but positions are realized no
 * more often than with quaternions. */
START_TEST(euler_angles_take_no_more_realizations_of_positions) {
  double perStep[2];
  for (int angles = 0; angles < 2; angles++) {
    auto m      = ballChain();
    State start = m->start;
    m->matter.setUseEulerAngles(start, angles == 1);
    m->system.realizeModel(start);
    if (angles) {
      m->matter.convertToEulerAngles(m->start, start);
      start.updU() = m->start.getU();
    }
    Ours ours(*m, methods[_i], 1e-5);
    run(*m, ours, start, 0.2);
    perStep[angles] =
        double(m->system.getNumRealizationsOfThisStage(Stage::Position)) / ours.getNumStepsTaken();
  }
  ck_assert_double_le(perStep[0], _i < 2 ? 6.0 : 2.0 * 12);
  ck_assert_double_le(perStep[1], _i < 2 ? 6.0 : 2.0 * 12);
}
END_TEST

/* A chain of five rods hangs on its first joint, which is returned. A matrix of Newton's takes more than ten
 * realizations. */
static MobilizedBody::Pin chain(Model &m) {
  gravity(m);
  MobilizedBody::Pin first(m.matter.Ground(), Transform(), rod(), Transform());
  MobilizedBody last = first;
  for (int k = 1; k < 5; k++) last = MobilizedBody::Pin(last, Vec3(0, -1, 0), rod(), Transform());
  return first;
}

/* An undamped chain is not stiff, but it is on a damper whose rate is 1e5 or so. The method is chosen
 * again where a force is disabled, which is a change of Stage::Instance. At loose accuracies Auto
 * begins with Adams, and finds out by its steps. */
START_TEST(auto_chooses_by_stiffness_and_again_where_the_model_changes) {
  const char *const names[][3] = {
      {"CPodesProjectedRADAU", "CPodesProjectedRADAU", "CPodesProjectedDOP853"},
      {"CPodesProjectedAdams", "CPodesProjectedBDF", "CPodesProjectedAdams"}};
  Model m;
  MobilizedBody::Pin pin = chain(m);
  Force::MobilityLinearDamper damper(m.forces, pin, MobilizerUIndex(0), 1e5 / 3);
  m.ready([&](State &s) { pin.setAngle(s, 1); });
  Ours ours(m, CPodesProjectedIntegrator::Auto, _i ? 1e-3 : 1e-6);
  ck_assert_str_eq(ours.getMethodName(), "CPodesProjectedAuto");
  ours.initialize(m.start);
  ck_assert_str_eq(ours.getMethodName(), names[_i][0]);
  reach(ours, 0.1);
  ck_assert_str_eq(ours.getMethodName(), names[_i][1]);
  ours.updAdvancedState() = ours.getState();
  m.forces.setForceIsDisabled(ours.updAdvancedState(), damper.getForceIndex(), true);
  ours.reinitialize(Stage::Instance, false);
  ck_assert_str_eq(ours.getMethodName(), names[_i][2]);
  reach(ours, 1);
  ck_assert_double_eq(ours.getTime(), 1);
  ck_assert_str_eq(ours.getMethodName(), names[_i][2]);
}
END_TEST

/* Stability limits fixed-point iteration to steps of a part of tau = 1e-4 s, which pass all tests without a
 * failure. Newton's iteration takes longer ones. */
START_TEST(adams_notices_that_it_is_limited_by_stability) {
  const double accuracy = 1e-3, end = 0.5;
  Model m;
  MobilizedBody::Pin pin = chain(m);
  Force::Custom(m.forces, new SpringAndDamper(m.forces, pin, true));
  m.ready([&](State &s) { pin.setAngle(s, 0.5), s.updZ()[0] = 0.5; });
  const State expected = exact(m, 1e-8, end);
  Ours ours(m, _i ? CPodesProjectedIntegrator::Auto : CPodesProjectedIntegrator::Adams, accuracy);
  const State s = run(m, ours, m.start, end);
  ck_assert_double_le((s.getY() - expected.getY()).normInf(), 100 * accuracy);
  ck_assert_int_le(ours.getNumStepsTaken(), 400);
}
END_TEST

/* A damper whose rate is 1e5 makes the chain stiff all the time; stops at an angle do so for short times, in which a
 * matrix of Newton's hardly pays. Auto begins with neither method, and takes at most twice the cost of the better one, to which,
 * if it is BDF, it gives a tenth of the accuracy. */
START_TEST(auto_is_nearly_as_cheap_as_the_better_of_an_explicit_method_and_bdf) {
  Model m;
  MobilizedBody::Pin pin = chain(m);
  if (_i) {
    for (MobilizedBodyIndex b(1); b < m.matter.getNumBodies(); ++b)
      Force::MobilityLinearStop(m.forces, m.matter.getMobilizedBody(b), MobilizerQIndex(0), 1e5, 1,
                                -0.1, 0.1);
  } else {
    Force::MobilityLinearDamper(m.forces, pin, MobilizerUIndex(0), 1e5 / 3);
  }
  m.ready([&](State &s) { pin.setAngle(s, 0.1), pin.setRate(s, 2); });
  int cost[3];
  for (int k = 0; k < 3; k++) {
    const CPodesProjectedIntegrator::Method raced[] = {CPodesProjectedIntegrator::Auto,
                                                       CPodesProjectedIntegrator::BS32,
                                                       CPodesProjectedIntegrator::BDF};
    Ours ours(m, raced[k], raced[k] == CPodesProjectedIntegrator::BDF ? 1e-3 : 1e-2);
    run(m, ours, m.start, 2);
    cost[k] = ours.getNumRealizations();
  }
  ck_assert_int_le(cost[0], 2 * std::min(cost[1], cost[2]));
}
END_TEST

/* The answers of an integrator to the same calls */
template <class I> static std::string statuses(I &integrator, const State &start) {
  std::string result;
  const double questions[][2] = {{0, 0.3},         {0, 0.3},      {0.1, 0.3},   {0.2, 0.3},
                                 {0.4, 0.3},       {0.4, 0.35},   {0.5, 0.5},   {0.5, 0.5},
                                 {0.75, Infinity}, {2, Infinity}, {2, Infinity}};
  integrator.setFinalTime(0.8);
  integrator.initialize(start);
  for (const auto &q : questions) {
    const int status = integrator.stepTo(q[0], q[1]);
    char text[60];
    std::snprintf(text, sizeof text, " %d@%.3g%s", status, integrator.getTime(),
                  integrator.isStateInterpolated() && status != 1 ? "!" : "");
    result += text;
  }
  result += integrator.getTerminationReason() == Integrator::ReachedFinalTime ? " end" : "";
  return result;
}

START_TEST(status_codes_are_those_of_runge_kutta_merson) {
  auto m = gears();
  RungeKuttaMersonIntegrator theirs(m->system);
  CPodesProjectedIntegrator ours(m->system, methods[_i]);
  const std::string expected = statuses(theirs, m->start), found = statuses(ours, m->start);
  ck_assert_str_eq(found.c_str(), expected.c_str());
  ck_assert(ours.isSimulationOver());
  ck_assert_double_eq(ours.getTime(), 0.8);
}
END_TEST

START_TEST(every_internal_step_can_be_seen) {
  auto m = gears();
  CPodesProjectedIntegrator ours(m->system, methods[_i]);
  ours.setReturnEveryInternalStep(true);
  ours.setMaximumStepSize(0.01);
  ours.initialize(m->start);
  int seen = 0;
  double t = 0.0;
  while (t < 0.2) {
    const auto status = ours.stepTo(0.2);
    ck_assert_double_le(ours.getTime(), t + 0.01 * (1 + 1e-12));
    if (status == Integrator::TimeHasAdvanced) {
      seen++;
      ck_assert_double_gt(ours.getTime(), t);
      ck_assert_double_eq_tol(ours.getPreviousStepSizeTaken(), ours.getTime() - t, 1e-15);
      ck_assert(ours.getState().getSystemStage() >= Stage::Acceleration);
    }
    t = ours.getTime();
  }
  ck_assert_int_ge(seen, 19); /* The last one is reported as the report time. */
  ck_assert_int_ge(ours.getNumStepsTaken(), seen);
  ck_assert_int_ge(ours.getNumStepsAttempted(), ours.getNumStepsTaken());
  ck_assert_int_ge(ours.getNumRealizations(), ours.getNumStepsTaken());
  ck_assert_int_gt(ours.getNumQProjections(), 0);
  ours.resetAllStatistics();
  ck_assert_int_eq(ours.getNumStepsTaken() + ours.getNumRealizations() + ours.getNumProjections(),
                   0);
}
END_TEST

START_TEST(the_limit_of_steps_returns_between_them) {
  auto m = gears();
  CPodesProjectedIntegrator ours(m->system, methods[_i]);
  ours.setInternalStepLimit(3);
  ours.initialize(m->start);
  ck_assert_int_eq(ours.stepTo(5), Integrator::StartOfContinuousInterval);
  for (int k = 1; k <= 3; k++) {
    ck_assert_int_eq(ours.stepTo(5), Integrator::ReachedStepLimit);
    ck_assert_int_eq(ours.getNumStepsTaken(), 3 * k);
  }
}
END_TEST

START_TEST(without_interpolation_steps_end_at_reports) {
  auto m = gears();
  CPodesProjectedIntegrator ours(m->system, methods[_i]);
  ours.setAllowInterpolation(false);
  ours.initialize(m->start);
  for (int k = 1; k <= 10; k++) {
    reach(ours, 0.03 * k);
    ck_assert(!ours.isStateInterpolated());
    ck_assert_double_eq(ours.getAdvancedTime(), 0.03 * k);
  }
}
END_TEST

/* ---- bad input ---- */

/* The message of the exception that f throws, or "". */
template <class F> static std::string thrown(F f) {
  try {
    f();
  } catch (const Exception::Base &e) { return e.what(); }
  return "";
}
#define ASSERT_SAYS(text, part) \
  ck_assert_msg((text).find(part) != std::string::npos, "%s", (text).c_str())

START_TEST(bad_input_is_an_exception_of_simbody_with_a_reason) {
  Model empty;
  const Body::Rigid body(MassProperties(1, Vec3(0), UnitInertia(1)));
  CPodesProjectedIntegrator before(empty.system, CPodesProjectedIntegrator::BDF);
  ASSERT_SAYS(thrown([&] { before.initialize(State()); }),
              "topology of the system has not been realized");
  ASSERT_SAYS(thrown([&] { before.stepTo(1); }), "not been initialized");
  empty.system.realizeTopology();
  ASSERT_SAYS(thrown([&] { before.initialize(empty.system.getDefaultState()); }), "no mobilities");

  auto m = gears(), other = rollingSphere();
  CPodesProjectedIntegrator ours(m->system, CPodesProjectedIntegrator::DOP853);
  ASSERT_SAYS(thrown([&] { ours.initialize(other->start); }), "another system");
  for (double a : {0.0, -2.0, 1.0, double(NaN)})
    ASSERT_SAYS(thrown([&] { ours.setAccuracy(a); }), "between 0 and 1");
  ASSERT_SAYS(thrown([&] { ours.setConstraintTolerance(0); }), "above 0 and at most 1");
  ASSERT_SAYS(thrown([&] { ours.setFinalTime(-3); }), "at least 0");
  ASSERT_SAYS(thrown([&] { ours.setMaximumStepSize(0); }), "positive");
  ours.setMaximumStepSize(0.1);
  ASSERT_SAYS(thrown([&] { ours.setMinimumStepSize(0.2); }), "at most the maximum");
  ASSERT_SAYS(thrown([&] { CPodesProjectedIntegrator(m->system, Method(7)); }), "no method 7");
  ours.initialize(m->start);
  ASSERT_SAYS(thrown([&] { ours.getEventWindow(); }), "No event");
  reach(ours, 0.5);
  ASSERT_SAYS(thrown([&] { ours.stepTo(0.25); }), "before the present one");
  ck_assert_double_eq(ours.getTime(), 0.5);
}
END_TEST

START_TEST(constraints_that_cannot_be_assembled_are_named_by_simbody) {
  Model m;
  const Body::Rigid body(MassProperties(1, Vec3(0), UnitInertia(1)));
  MobilizedBody::Pin pin(m.matter.Ground(), Transform(), body, Transform());
  Constraint::Rod(m.matter.Ground(), Vec3(5, 0, 0), pin, Vec3(1, 0, 0), 1);
  const State s = m.system.realizeTopology();
  CPodesProjectedIntegrator ours(m.system, CPodesProjectedIntegrator::BDF);
  ASSERT_SAYS(thrown([&] { ours.initialize(s); }), "initialization failed");
}
END_TEST

/* A force that throws after a given time: smaller steps do not help, and the reason is in the
 * message. */
struct GivesUp : Force::Custom::Implementation {
  double until = 0.25;
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &, Vector &) const override {
    SimTK_ERRCHK_ALWAYS(s.getTime() <= until, "calcForce()", "the muscle has torn");
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
};

START_TEST(after_a_failed_step_the_state_is_the_last_good_one) {
  Model m;
  gravity(m);
  MobilizedBody::Pin pin(m.matter.Ground(), Transform(), rod(), Transform());
  auto *force = new GivesUp;
  Force::Custom(m.forces, force);
  m.ready([&](State &s) { pin.setAngle(s, 1); });
  Ours ours(m, methods[_i], 1e-6);
  ours.initialize(m.start);
  ASSERT_SAYS(thrown([&] { reach(ours, 1); }), "the muscle has torn");
  const double reached = ours.getAdvancedTime();
  ck_assert_double_gt(reached, 0);
  ck_assert_double_le(reached, 0.25);
  ck_assert_int_gt(ours.getNumRealizationFailures(), 0);
  m.system.realize(ours.getAdvancedState(), Stage::Velocity);
  ck_assert_double_eq_tol(m.system.calcEnergy(ours.getAdvancedState()),
                          m.system.calcEnergy(m.start), 1e-4);
  force->until = Infinity; /* Once the force is repaired, the run continues. */
  reach(ours, 1);
  m.system.realize(ours.getState(), Stage::Velocity);
  ck_assert_double_eq_tol(m.system.calcEnergy(ours.getState()), m.system.calcEnergy(m.start), 1e-4);
}
END_TEST

/* A force that fails, as that of a muscle whose tendon has been stretched by an error of the integration. It is
 * right again once the integration has begun anew. */
struct FailsOnce : Force::Custom::Implementation {
  mutable bool failed = false, returned = false;
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &, Vector &) const override {
    returned = returned || (failed && s.getTime() == 0.0);
    failed   = failed || s.getTime() > 0.25;
    SimTK_ERRCHK_ALWAYS(s.getTime() <= 0.25 || returned, "calcForce()", "the muscle has torn");
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
};

START_TEST(at_loose_accuracies_what_fails_unseen_is_integrated_again) {
  for (const bool isSeen : {false, true}) {
    Model m;
    gravity(m);
    MobilizedBody::Pin pin(m.matter.Ground(), Transform(), rod(), Transform());
    Force::Custom(m.forces, new FailsOnce);
    m.ready([&](State &s) { pin.setAngle(s, 1); });
    Ours ours(m, methods[_i], 1e-3);
    ours.setReturnEveryInternalStep(isSeen);
    ours.initialize(m.start);
    const std::string failure = thrown([&] { reach(ours, 1); });
    if (isSeen) ASSERT_SAYS(failure, "the muscle has torn");
    else ck_assert_str_eq(failure.c_str(), "");
    m.system.realize(ours.getState(), Stage::Velocity);
    ck_assert_double_eq_tol(m.system.calcEnergy(ours.getState()), m.system.calcEnergy(m.start), 0.1);
    if (!isSeen) ck_assert_double_eq(ours.getTime(), 1.0);
  }
}
END_TEST

/* A force that calls the integrator which has called it. */
struct CallsBack : Force::Custom::Implementation {
  CPodesProjectedIntegrator *integrator = nullptr;
  mutable int calls = 0, refusals = 0;
  void calcForce(const State &, Vector_<SpatialVec> &, Vector_<Vec3> &, Vector &) const override {
    if (!integrator) return;
    calls++;
    try {
      integrator->stepTo(9);
    } catch (const std::exception &e) {
      refusals += std::string(e.what()).find("must not be called") != std::string::npos;
    }
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
};

START_TEST(a_force_that_calls_its_integrator_is_refused_and_changes_nothing) {
  State ends[2];
  for (int k = 0; k < 2; k++) {
    Model m;
    gravity(m);
    MobilizedBody::Pin pin(m.matter.Ground(), Transform(), rod(), Transform());
    auto *force = new CallsBack;
    Force::Custom(m.forces, force);
    m.ready([&](State &s) { pin.setAngle(s, 1); });
    Ours ours(m, methods[_i], 1e-6);
    ours.initialize(m.start);
    if (k == 1) force->integrator = &ours;
    reach(ours, 1);
    force->integrator = nullptr;
    ends[k]           = ours.getState();
    ck_assert_int_eq(force->calls > 0, k);
    ck_assert_int_eq(force->refusals, force->calls);
  }
  ck_assert_double_eq(ends[0].getY()[0], ends[1].getY()[0]);
}
END_TEST

/* libSimTKmath and cpodes have functions with the same names. */
START_TEST(simbodys_cpodes_and_ours_take_turns_in_one_process) {
  auto m = fourBarRod();
  Vector first[2];
  for (int turn = 0; turn < 2; turn++) {
    CPodesIntegrator theirs(m->system, CPodes::BDF);
    theirs.setAccuracy(1e-8);
    Ours ours(*m, methods[_i], 1e-8);
    theirs.initialize(m->start), ours.initialize(m->start);
    for (int k = 1; k <= 10; k++) {
      reach(theirs, 0.1 * k);
      reach(ours, 0.1 * k);
    }
    ck_assert_double_le((theirs.getState().getY() - ours.getState().getY()).normInf(), 1e-5);
    if (turn == 0) first[0] = theirs.getState().getY(), first[1] = ours.getState().getY();
    ck_assert_double_eq((theirs.getState().getY() - first[0]).normInf(), 0);
    ck_assert_double_eq((ours.getState().getY() - first[1]).normInf(), 0);
  }
}
END_TEST

/* A spring and a damper in series on a slider. At t = 0.5 its z' overflows, as that of a fibre far beyond its range, until
 * the integration has begun anew. */
struct OverflowsOnce : Force::Custom::Implementation {
  const GeneralForceSubsystem &forces;
  const MobilizedBody slider;
  mutable ZIndex z;
  mutable bool overflowed = false, returned = false;
  OverflowsOnce(const GeneralForceSubsystem &owner, const MobilizedBody &driven)
      : forces(owner), slider(driven) {}
  void realizeTopology(State &s) const override { z = forces.allocateZ(s, Vector(1, 0.0)); }
  Real extension(const State &s) const { return slider.getOneQ(s, 0) - forces.getZ(s)[z]; }
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &, Vector &f) const override {
    f[0] -= 40 * extension(s);
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
  void realizeAcceleration(const State &s) const override {
    returned             = returned || (overflowed && s.getTime() == 0.0);
    const bool overflows = s.getTime() == 0.5 && !returned;
    overflowed           = overflowed || overflows;
    forces.updZDot(s)[z] = overflows ? -1e19 : 5 * extension(s);
  }
};

START_TEST(a_state_from_which_no_step_leads_on_is_not_handed_out) {
  Model m;
  MobilizedBody::Slider slider(m.matter.Ground(), Transform(), rod(), Transform());
  auto *element = new OverflowsOnce(m.forces, slider);
  Force::Custom(m.forces, element);
  m.ready([&](State &s) { slider.setOneU(s, 0, 2); });
  Ours ours(m, CPodesProjectedIntegrator::Auto, 1e-2);
  ours.initialize(m.start);
  reach(ours, 0.5);
  ck_assert_int_eq(element->overflowed, 1);
  ck_assert_int_eq(element->returned, 1);
  ck_assert_double_eq(ours.getTime(), 0.5);
}
END_TEST

int main() {
  Suite *s        = suite_create("Simbody: integrator");
  TCase *tc       = tcase_create("motion");
  const int pairs = numMethods * int(allModels().size());
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, motions_are_those_of_runge_kutta_merson, 0, pairs);
  tcase_add_loop_test(tc, those_of_the_methods_of_low_order_are_too, 0, 2 * int(allModels().size()));
  tcase_add_loop_test(tc, auxiliary_states_that_depend_on_coordinates_take_long_steps, 0, 2);
  tcase_add_test(tc, internal_steps_are_assembled_where_they_are_returned);
  tcase_add_test(tc, realizations_do_not_grow_with_the_number_of_muscles);
  tcase_add_test(tc, matrices_for_muscles_take_few_realizations_beside_the_iterations);
  tcase_add_test(tc, muscles_whose_iteration_fails_are_integrated_with_a_finer_accuracy);
  tcase_add_test(tc, auto_begins_with_bdf_for_elastic_tendons_at_loose_accuracies);
  tcase_add_test(tc, derivatives_of_activations_take_few_realizations_to_acceleration);
  tcase_add_loop_test(tc, the_size_of_the_first_step_of_adams_takes_no_realization, 0, 2);
  tcase_add_test(tc, smooth_motions_are_not_asked_whether_they_are_stiff);
  tcase_add_loop_test(tc, adams_evaluates_accelerations_little_more_than_once_a_step, 0,
                      pairs / numMethods);
  tcase_add_loop_test(tc, a_parallelogram_passes_its_singular_positions, 0, 4 * numMethods);
  tcase_add_loop_test(tc, states_handed_out_meet_the_constraint_tolerance, 0, pairs);
  tcase_add_loop_test(tc, euler_angles_and_quaternions_describe_one_motion, 0, numMethods);
  tcase_add_loop_test(tc, prescribed_and_locked_coordinates_follow_exactly, 0, numMethods);
  tcase_add_loop_test(tc, prescribed_velocities_and_accelerations_go_with_constraints, 0,
                      numMethods);
  tcase_add_loop_test(tc, euler_angles_take_no_more_realizations_of_positions, 0,
                      numMethods - 1); /* RADAU's Newton matrices take more */
  suite_add_tcase(s, tc);
  tc = tcase_create("neighbours");
  tcase_set_timeout(tc, 600); /* also under valgrind */
  tcase_add_loop_test(tc, simbodys_cpodes_and_ours_take_turns_in_one_process, 0, numMethods);
  suite_add_tcase(s, tc);
  tc = tcase_create("interface");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, status_codes_are_those_of_runge_kutta_merson, 0, numMethods);
  tcase_add_loop_test(tc, every_internal_step_can_be_seen, 0, numMethods);
  tcase_add_loop_test(tc, the_limit_of_steps_returns_between_them, 0, numMethods);
  tcase_add_loop_test(tc, without_interpolation_steps_end_at_reports, 0, numMethods);
  tcase_add_loop_test(tc, auto_chooses_by_stiffness_and_again_where_the_model_changes, 0, 2);
  tcase_add_loop_test(tc, auto_is_nearly_as_cheap_as_the_better_of_an_explicit_method_and_bdf, 0, 2);
  tcase_add_loop_test(tc, adams_notices_that_it_is_limited_by_stability, 0, 2);
  tcase_add_test(tc, bad_input_is_an_exception_of_simbody_with_a_reason);
  tcase_add_test(tc, constraints_that_cannot_be_assembled_are_named_by_simbody);
  tcase_add_loop_test(tc, at_loose_accuracies_what_fails_unseen_is_integrated_again, 0, numMethods);
  tcase_add_test(tc, a_state_from_which_no_step_leads_on_is_not_handed_out);
  tcase_add_loop_test(tc, after_a_failed_step_the_state_is_the_last_good_one, 0, numMethods);
  tcase_add_loop_test(tc, a_force_that_calls_its_integrator_is_refused_and_changes_nothing, 0,
                      numMethods);
  suite_add_tcase(s, tc);
  return runSuite(s);
}
