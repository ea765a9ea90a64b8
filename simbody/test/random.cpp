/* Random mechanisms with random accuracies, methods and events, by CPodesProjectedIntegrator and by
 * Simbody's integrator of the same kind: CPodesIntegrator with BDF beside BDF and Adams (Simbody's
 * Adams fails on most of them), otherwise RungeKuttaMerson.
 *
 *   random [runs [first seed]]
 *
 * A run fails if cpodes ends with an error and Simbody does not. It also fails if its states or its
 * number of events differ from the accurate ones, which are RungeKuttaMerson's at 1e-10, by more
 * than 100 accuracies, while those of Simbody at the same accuracy still agree to within 10: many
 * of these mechanisms are chaotic. One line reports each failure by its seed. Returns 0 if nothing
 * failed. */
#include "cpodes_simbody/cpodes_simbody.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace SimTK;
using cpodes::CPodesProjectedIntegrator;
using cpodes::CPodesTimeStepper;

namespace {

const int reports = 10, tooMany = 10000;

struct Choice {
  std::mt19937 engine;
  explicit Choice(unsigned seed) : engine(seed) {}
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
  }
  int upTo(int most) { return std::uniform_int_distribution<int>(0, most)(engine); }
  bool oneIn(int n) { return upTo(n - 1) == 0; }
  Vec3 vector(double size) { return Vec3(real(-size, size), real(-size, size), real(-size, size)); }
};

/* ---- events ---- */

/* Reverses all velocities: where constraints do not depend on time, the reversed velocities satisfy
 * them as well. */
struct Reverse : TriggeredEventHandler {
  const SimbodyMatterSubsystem &matter;
  const int coordinate;
  const double level;
  int &count;
  Reverse(const SimbodyMatterSubsystem &m, int which, double where, int &counted)
      : TriggeredEventHandler(Stage::Position), matter(m), coordinate(which), level(where),
        count(counted) {
    getTriggerInfo().setTriggerOnFallingSignTransition(false);
  }
  Real getValue(const State &s) const override { return s.getQ()[coordinate] - level; }
  void handleEvent(State &s, Real, bool &) const override {
    count++;
    s.updU() = -0.8 * Vector(s.getU());
  }
};
struct Damp : PeriodicEventHandler {
  int &count;
  Damp(double interval, int &counted) : PeriodicEventHandler(interval), count(counted) {}
  void handleEvent(State &s, Real, bool &) const override {
    count++;
    s.updU() = 0.9 * Vector(s.getU());
  }
};
struct Release : ScheduledEventHandler {
  const Constraint constraint;
  const double time;
  int &count;
  Release(const Constraint &c, double when, int &counted)
      : constraint(c), time(when), count(counted) {}
  Real getNextEventTime(const State &s, bool includeCurrent) const override {
    return s.getTime() < time || (includeCurrent && s.getTime() == time) ? time : Infinity;
  }
  void handleEvent(State &s, Real, bool &) const override {
    count++;
    constraint.disable(s);
  }
};
struct StaysAtZero : TriggeredEventReporter {
  const double time;
  int &count;
  StaysAtZero(double when, int &counted)
      : TriggeredEventReporter(Stage::Time), time(when), count(counted) {}
  Real getValue(const State &s) const override { return std::fmax(0.0, time - s.getTime()); }
  void handleEvent(const State &) const override { count++; }
};

/* Activation z' = (sin 4t - z) / tau, torque on a coordinate */
class Muscle : public Force::Custom::Implementation {
public:
  Muscle(const GeneralForceSubsystem &owner, const MobilizedBody &driven, double maximum)
      : forces(owner), joint(driven), strength(maximum) {}
  void realizeTopology(State &s) const override { z = forces.allocateZ(s, Vector(1, 0.1)); }
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &,
                 Vector &mobility) const override {
    joint.applyOneMobilityForce(s, MobilizerUIndex(0), strength * forces.getZ(s)[z], mobility);
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
  void realizeAcceleration(const State &s) const override {
    forces.updZDot(s)[z] = (std::sin(4 * s.getTime()) - forces.getZ(s)[z]) / 0.05;
  }

private:
  const GeneralForceSubsystem &forces;
  const MobilizedBody joint;
  const double strength;
  mutable ZIndex z;
};

/* ---- mechanisms ---- */

struct Mechanism {
  MultibodySystem system;
  SimbodyMatterSubsystem matter{system};
  GeneralForceSubsystem forces{system};
  std::vector<MobilizedBody> bodies;
  State start;
  std::string text;
  double end = 1.0;
  int events = 0;

  explicit Mechanism(unsigned seed);
  MobilizedBody addBody(Choice &choose, MobilizedBody parent);
  void addForces(Choice &choose);
  void addEvents(Choice &choose, const Constraint *constraint);
};

MobilizedBody Mechanism::addBody(Choice &choose, MobilizedBody parent) {
  const Vec3 centre = choose.vector(0.3);
  const UnitInertia gyration =
      UnitInertia::brick(Vec3(choose.real(0.2, 0.5), choose.real(0.2, 0.5), choose.real(0.2, 0.5)))
          .shiftFromCentroid(centre);
  const Body::Rigid body(MassProperties(choose.real(0.5, 3), centre, gyration));
  const Transform in(Rotation(choose.real(-1, 1), UnitVec3(choose.vector(1) + Vec3(2, 0, 0))),
                     choose.vector(0.7));
  static const char *const names[] = {" pin",    " slider",      " universal", " ball",
                                      " planar", " translation", " free",      " cylinder"};
  const int kind                   = choose.upTo(7);
  text += names[kind];
  switch (kind) {
  case 0: return MobilizedBody::Pin(parent, in, body, Transform());
  case 1: return MobilizedBody::Slider(parent, in, body, Transform());
  case 2: return MobilizedBody::Universal(parent, in, body, Transform());
  case 3: return MobilizedBody::Ball(parent, in, body, Transform());
  case 4: return MobilizedBody::Planar(parent, in, body, Transform());
  case 5: return MobilizedBody::Translation(parent, in, body, Transform());
  case 6: return MobilizedBody::Free(parent, in, body, Transform());
  default: return MobilizedBody::Cylinder(parent, in, body, Transform());
  }
}

/* Sliders and free bodies are held by springs. */
void Mechanism::addForces(Choice &choose) {
  Force::UniformGravity(forces, matter, Vec3(0, -9.81, 0));
  for (const MobilizedBody &body : bodies) {
    Force::TwoPointLinearSpring(forces, matter.Ground(), choose.vector(1), body, choose.vector(0.3),
                                choose.real(10, 100), choose.real(0, 1));
    if (choose.oneIn(2))
      Force::TwoPointLinearDamper(forces, matter.Ground(), choose.vector(1), body,
                                  choose.vector(0.3),
                                  choose.oneIn(4) ? choose.real(100, 1000) : choose.real(0.1, 5));
  }
  if (choose.oneIn(3)) {
    text += " muscle";
    Force::Custom(forces, new Muscle(forces, bodies[0], choose.real(1, 10)));
  }
}

void Mechanism::addEvents(Choice &choose, const Constraint *constraint) {
  if (choose.oneIn(2)) {
    text += " trigger";
    system.addEventHandler(new Reverse(matter, choose.upTo(1), choose.real(0.05, 0.4), events));
  }
  if (choose.oneIn(3)) {
    text += " schedule";
    system.addEventHandler(new Damp(choose.real(0.1, 0.4), events));
  }
  if (choose.oneIn(4)) {
    text += " zero";
    system.addEventReporter(new StaysAtZero(choose.real(0.1, 0.8), events));
  }
  if (constraint && choose.oneIn(4)) {
    text += " release";
    system.addEventHandler(new Release(*constraint, choose.real(0.2, 0.8), events));
  }
}

/* The constraints are built so that the positions at the start satisfy them. */
Mechanism::Mechanism(unsigned seed) {
  Choice choose(seed);
  const int count = 1 + choose.upTo(4);
  for (int i = 0; i < count; i++)
    bodies.push_back(
        addBody(choose, i == 0 || choose.oneIn(4) ? matter.Ground() : bodies[std::size_t(i) - 1]));
  addForces(choose);
  const bool angles = choose.oneIn(3), loop = choose.oneIn(2), twice = loop && choose.oneIn(3),
             rides = !loop && choose.oneIn(2), spins = choose.oneIn(5);
  const auto set = [&](State &s) {
    if (angles) matter.setUseEulerAngles(s, true);
    system.realizeModel(s);
    Choice same(seed + 1);
    for (int i = 0; i < s.getNQ(); i++) s.updQ()[i] += same.real(-0.3, 0.3);
    for (int i = 0; i < s.getNU(); i++) s.updU()[i] = same.real(-1, 1);
    system.realize(s, Stage::Time);
    matter.normalizeQuaternions(s);
    system.realize(s, Stage::Position);
  };
  State s = system.realizeTopology();
  set(s);
  MobilizedBody &last = bodies.back();
  const Vec3 point = choose.vector(0.3), anchor = choose.vector(2) + Vec3(3, 0, 0);
  const Vec3 there = last.findStationLocationInGround(s, point);
  std::unique_ptr<Constraint> constraint;
  if (loop) {
    const double length = (there - anchor).norm();
    constraint.reset(new Constraint::Rod(matter.Ground(), anchor, last, point, length));
    if (twice) Constraint::Rod(matter.Ground(), anchor, last, point, length);
    text += twice ? " two rods" : " rod";
  } else if (rides) {
    const UnitVec3 normal(choose.vector(1) + Vec3(0, 2, 0));
    constraint.reset(
        new Constraint::PointInPlane(matter.Ground(), normal, dot(there, normal), last, point));
    text += " plane";
  }
  if (spins && bodies.size() > 1 && s.getNU() > 3) {
    Constraint::ConstantSpeed(bodies[0], MobilizerUIndex(0), choose.real(-2, 2));
    text += " speed";
  }
  addEvents(choose, constraint.get());
  text += angles ? " angles" : "";
  end   = choose.real(0.5, 2);
  start = system.realizeTopology();
  set(start);
  system.project(start, 1e-12);
}

/* ---- runs ---- */

struct Run {
  std::vector<Vector> states; /* at the reports */
  std::vector<int> events;
  std::string why;
};

template <class Stepper, class Create>
Run run(unsigned seed, const Create &create, double accuracy) {
  Run result;
  try {
    Mechanism m(seed);
    auto integrator = create(m.system);
    integrator->setAccuracy(accuracy);
    integrator->setInternalStepLimit(500);
    Stepper stepper(m.system, *integrator);
    stepper.setReportAllSignificantStates(true);
    stepper.initialize(m.start);
    int calls = 0;
    for (int k = 1; k <= reports; k++) {
      const double t = m.end * k / reports;
      while (integrator->getTime() < t) { /* Simbody's CPodesIntegrator stalls now and then. */
        stepper.stepTo(t);
        if (++calls > tooMany) throw std::runtime_error("the run takes too many steps");
      }
      const State &s = integrator->getState();
      m.system.realize(s, Stage::Velocity);
      result.states.push_back(s.getY());
      result.events.push_back(m.events);
    }
  } catch (const std::exception &e) { result.why = e.what(); }
  return result;
}

/* The largest difference of an entry, relative to its size where that is above 1. */
double difference(const Vector &a, const Vector &b) {
  double largest = 0.0;
  for (int i = 0; i < a.size(); i++)
    largest = std::fmax(largest, std::fabs(a[i] - b[i]) / std::fmax(1.0, std::fabs(b[i])));
  return largest;
}

/* Does the k-th report of run agree with that of exact, a run from the same start? */
bool agrees(const Run &run, const Run &exact, std::size_t k, double bound) {
  return run.states.size() > k && run.events[k] == exact.events[k] &&
         run.states[k].size() == exact.states[k].size() &&
         difference(run.states[k], exact.states[k]) <= bound;
}

/* Returns "", or what failed. */
std::string judge(const Run &ours, const Run &theirs, const Run &exact, double accuracy) {
  if (!ours.why.empty()) return theirs.why.empty() ? ours.why : "";
  for (std::size_t k = 0; k < exact.states.size(); k++) {
    if (!agrees(theirs, exact, k, 10 * accuracy)) return "";
    if (agrees(ours, exact, k, 100 * accuracy)) continue;
    char text[120];
    std::snprintf(text, sizeof text, "report %zu: error %.1e, Simbody's %.1e; events %d and %d",
                  k + 1, difference(ours.states[k], exact.states[k]),
                  difference(theirs.states[k], exact.states[k]), ours.events[k], exact.events[k]);
    return text;
  }
  return "";
}

} // namespace

int main(int argc, char **argv) {
  const int runs       = argc > 1 ? std::atoi(argv[1]) : 10;
  const unsigned first = argc > 2 ? unsigned(std::strtoul(argv[2], nullptr, 10)) : 1;
  int lost = 0, compared = 0;
  for (unsigned seed = first; seed < first + unsigned(runs); seed++) {
    Choice choose(seed + 1000003);
    const double accuracy = std::pow(10.0, choose.real(-8, -3));
    const auto method     = CPodesProjectedIntegrator::Method(choose.upTo(4));
    const auto merson     = [](const System &system) -> std::unique_ptr<Integrator> {
      return std::make_unique<RungeKuttaMersonIntegrator>(system);
    };
    const auto alike = [&](const System &system) -> std::unique_ptr<Integrator> {
      if (method > CPodesProjectedIntegrator::Adams) return merson(system);
      return std::make_unique<CPodesIntegrator>(system, CPodes::BDF);
    };
    const auto projected = [&](const MultibodySystem &system) {
      return std::make_unique<CPodesProjectedIntegrator>(system, method);
    };
    const Run exact  = run<TimeStepper>(seed, merson, 1e-10),
              theirs = run<TimeStepper>(seed, alike, accuracy),
              ours   = run<CPodesTimeStepper>(seed, projected, accuracy);
    compared += exact.why.empty() && theirs.why.empty();
    const std::string why = judge(ours, theirs, exact, accuracy);
    if (why.empty()) continue;
    lost++;
    static const char *const names[] = {"BDF", "Adams", "DOP853", "RADAU", "Auto"};
    std::printf("seed %u, %s at %.1e:%s\n  %s\n", seed, names[method], accuracy,
                Mechanism(seed).text.c_str(), why.c_str());
    std::fflush(stdout);
  }
  std::printf("%d runs, %d of them with a reference, %d lost\n", runs, compared, lost);
  return lost > 0 || compared == 0;
}
