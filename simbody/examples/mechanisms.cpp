#include "mechanisms.h"

#include <cmath>

using namespace SimTK;

/* A rod that hangs down from its joint; its thickness is a tenth of its length. */
static Body::Rigid rod(double mass, double length) {
  const Vec3 half(length / 20, length / 2, length / 20), centre(0, -length / 2, 0);
  return Body::Rigid(
      MassProperties(mass, centre, UnitInertia::brick(half).shiftFromCentroid(centre)));
}

static void gravity(Model &m, const Vec3 &g) { Force::UniformGravity(m.forces, m.matter, g); }

std::unique_ptr<Model> fourBarRod() {
  auto m = std::make_unique<Model>();
  gravity(*m, Vec3(0, -9.81, 0));
  MobilizedBody::Pin crank(m->matter.Ground(), Transform(), rod(1, 1), Transform());
  MobilizedBody::Pin rocker(m->matter.Ground(), Vec3(2, 0, 0), rod(1.5, 1.5), Transform());
  Constraint::Rod(crank, Vec3(0, -1, 0), rocker, Vec3(0, -1.5, 0), 2);
  m->ready([&](State &s) {
    crank.setAngle(s, 0.4);
    rocker.setAngle(s, 0.6);
    crank.setRate(s, 3);
  });
  m->end = 5;
  return m;
}

std::unique_ptr<Model> fourBarBall() {
  auto m = std::make_unique<Model>();
  gravity(*m, Vec3(0, -9.81, 0));
  MobilizedBody::Pin crank(m->matter.Ground(), Transform(), rod(1, 1), Transform());
  MobilizedBody::Pin coupler(crank, Vec3(0, -1, 0), rod(2, 2), Transform());
  MobilizedBody::Pin rocker(m->matter.Ground(), Vec3(2, 0, 0), rod(1.5, 1.5), Transform());
  Constraint::Ball(coupler, Vec3(0, -2, 0), rocker, Vec3(0, -1.5, 0));
  m->ready([&](State &s) {
    crank.setAngle(s, 0.4);
    coupler.setAngle(s, 1.2);
    rocker.setAngle(s, 0.6);
    crank.setRate(s, 3);
  });
  m->end = 5;
  return m;
}

std::unique_ptr<Model> ballChain() {
  const int links = 10;
  auto m          = std::make_unique<Model>();
  gravity(*m, Vec3(0, -9.81, 0));
  MobilizedBody last = m->matter.Ground();
  std::vector<MobilizedBody::Ball> chain;
  for (int i = 0; i < links; i++) {
    const Vec3 where(0, i ? -1.0 / links : 0.0, 0);
    MobilizedBody::Ball link(last, where, rod(1.0 / links, 1.0 / links), Transform());
    chain.push_back(link);
    last = link;
  }
  Constraint::Ball(m->matter.Ground(), Vec3(0.6, 0, 0.1), last, Vec3(0, -1.0 / links, 0));
  m->ready([&](State &s) {
    chain[0].setQToFitRotation(s, Rotation(-0.5, ZAxis));
    for (std::size_t i = 1; i < chain.size(); i++)
      chain[i].setQToFitRotation(s, Rotation(2.4 / links, ZAxis));
    chain[0].setU(s, Vec3(0.5, 2.0, 0));
  });
  m->end = 1;
  return m;
}

/* 0 = x_1 - 0.3 (1 - cos x_0) */
struct Crank : Function {
  Real calcValue(const Vector &x) const override { return x[1] - 0.3 * (1 - std::cos(x[0])); }
  Real calcDerivative(const Array_<int> &by, const Vector &x) const override {
    bool onlyAngle = true;
    for (int i : by) onlyAngle &= i == 0;
    if (!onlyAngle) return by.size() == 1 ? 1.0 : 0.0;
    return by.size() == 1   ? -0.3 * std::sin(x[0])
           : by.size() == 2 ? -0.3 * std::cos(x[0])
                            : 0.3 * std::sin(x[0]);
  }
  int getArgumentSize() const override { return 2; }
  int getMaxDerivativeOrder() const override { return 3; }
};

static Body::Rigid wheel(double mass, double radius, const Vec3 &centre) {
  return Body::Rigid(MassProperties(
      mass, centre, UnitInertia::cylinderAlongZ(radius, 0.1).shiftFromCentroid(centre)));
}

std::unique_ptr<Model> gears() {
  auto m = std::make_unique<Model>();
  gravity(*m, Vec3(0, -9.81, 0));
  MobilizedBody::Pin large(m->matter.Ground(), Vec3(0), wheel(2, 0.5, Vec3(0.1, 0, 0)), Transform());
  MobilizedBody::Pin small(m->matter.Ground(), Vec3(0.75, 0, 0), wheel(1, 0.25, Vec3(0, 0.05, 0)),
                           Transform());
  MobilizedBody::Slider slider(m->matter.Ground(), Vec3(0, -2, 0),
                               Body::Rigid(MassProperties(0.7, Vec3(0), UnitInertia(1))),
                               Transform());
  Constraint::NoSlip1D(m->matter.Ground(), Vec3(0.5, 0, 0), UnitVec3(YAxis), large, small);
  Array_<MobilizedBodyIndex> bodies;
  bodies.push_back(large), bodies.push_back(slider);
  Constraint::CoordinateCoupler(m->matter, new Crank, bodies,
                                Array_<MobilizerQIndex>(2, MobilizerQIndex(0)));
  Force::MobilityLinearSpring(m->forces, slider, MobilizerQIndex(0), 50, 0.2);
  Force::MobilityLinearSpring(m->forces, large, MobilizerQIndex(0), 5, 0);
  m->ready([&](State &s) { large.setRate(s, 4); });
  m->end = 10;
  return m;
}

std::unique_ptr<Model> rollingSphere() {
  auto m = std::make_unique<Model>();
  gravity(*m, Vec3(0, 0, -9.81));
  const Vec3 centre(0.1, 0.05, 0);
  const Body::Rigid body(
      MassProperties(1, centre, UnitInertia::sphere(0.5).shiftFromCentroid(centre)));
  MobilizedBody::Free sphere(m->matter.Ground(), Transform(), body, Transform());
  Constraint::SphereOnPlaneContact(m->matter.Ground(), Transform(), sphere, Vec3(0), 0.5, true);
  m->ready([&](State &s) {
    sphere.setQToFitTranslation(s, Vec3(0, 0, 0.5));
    sphere.setUToFitAngularVelocity(s, Vec3(1, 3, 0.5));
    sphere.setUToFitLinearVelocity(s, Vec3(1.5, -0.5, 0));
  });
  m->end = 10;
  return m;
}

/* A muscle with the torque strength * a on one joint. Its activation a follows an excitation:
 * a' = (e(t) - a) / tau. */
class Muscle : public Force::Custom::Implementation {
public:
  Muscle(const GeneralForceSubsystem &owner, const MobilizedBody &driven, double maximum,
         double phase)
      : forces(owner), joint(driven), strength(maximum), shift(phase) {}
  void realizeTopology(State &s) const override { z = forces.allocateZ(s, Vector(1, 0.2)); }
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &,
                 Vector &mobility) const override {
    joint.applyOneMobilityForce(s, MobilizerUIndex(0), strength * forces.getZ(s)[z], mobility);
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
  void realizeAcceleration(const State &s) const override {
    const double excitation = 0.5 + 0.5 * std::sin(4 * s.getTime() + shift), tau = 0.03;
    forces.updZDot(s)[z] = (excitation - forces.getZ(s)[z]) / tau;
  }

private:
  const GeneralForceSubsystem &forces;
  const MobilizedBody joint;
  const double strength, shift;
  mutable ZIndex z;
};

std::unique_ptr<Model> muscleLeg() {
  auto m = std::make_unique<Model>();
  gravity(*m, Vec3(0, -9.81, 0));
  const Body::Rigid pelvisBody(MassProperties(30, Vec3(0), UnitInertia(0.1)));
  MobilizedBody::Slider pelvis(m->matter.Ground(), Transform(Rotation(Pi / 2, ZAxis)), pelvisBody,
                               Transform(Rotation(Pi / 2, ZAxis)));
  MobilizedBody::Pin thigh(pelvis, Transform(), rod(8, 0.45), Transform());
  MobilizedBody::Pin shank(thigh, Vec3(0, -0.45, 0), rod(4, 0.45), Transform());
  MobilizedBody::Pin foot(shank, Vec3(0, -0.45, 0), rod(1, 0.2), Transform());
  Constraint::PointInPlane(m->matter.Ground(), UnitVec3(YAxis), -0.9, foot, Vec3(0, -0.2, 0));
  Force::MobilityLinearSpring(m->forces, foot, MobilizerQIndex(0), 2000, 1.2);
  Force::MobilityLinearDamper(m->forces, foot, MobilizerUIndex(0), 20);
  Force::MobilityLinearSpring(m->forces, shank, MobilizerQIndex(0), 300, -0.6);
  Force::MobilityLinearDamper(m->forces, shank, MobilizerUIndex(0), 5);
  Force::MobilityLinearSpring(m->forces, thigh, MobilizerQIndex(0), 200, 0.3);
  Force::MobilityLinearDamper(m->forces, thigh, MobilizerUIndex(0), 5);
  Force::MobilityLinearSpring(m->forces, pelvis, MobilizerQIndex(0), 2000, 0.1);
  Force::Custom(m->forces, new Muscle(m->forces, thigh, 60, 0));
  Force::Custom(m->forces, new Muscle(m->forces, shank, 80, 2));
  m->ready([&](State &s) {
    thigh.setAngle(s, 0.3);
    shank.setAngle(s, -0.6);
    foot.setAngle(s, 1.2);
  });
  m->end = 3;
  return m;
}

const std::vector<NamedModel> &allModels() {
  static const std::vector<NamedModel> models = {
      {"four_bar_rod", fourBarRod},      {"four_bar_ball", fourBarBall},
      {"ball_chain", ballChain},         {"gears", gears},
      {"rolling_sphere", rollingSphere}, {"muscle_leg", muscleLeg},
  };
  return models;
}
