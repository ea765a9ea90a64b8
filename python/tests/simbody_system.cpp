// Small systems of Simbody for test_simbody.py, which knows their solutions from elsewhere. Each is built on the heap of this
// process, as OpenSim's are.
#include <SimTKsimbody.h>

using namespace SimTK;

static double pull,
    last_time; // a force in N that no state contains; the time after which forces cannot be evaluated, in s

// A spring (1) and a damper (2) in series between the ground and a slider: force -K (q - z), z' = (K / D) (q - z). As muscles do, it
// caches its rate with the velocities.
class Maxwell : public Force::Custom::Implementation {
public:
  static constexpr double K = 40.0, D = 8.0;
  Maxwell(const GeneralForceSubsystem &owner, const MobilizedBody &driven)
      : forces(owner), slider(driven) {}
  void realizeTopology(State &s) const override {
    z    = forces.allocateZ(s, Vector(1, 0.0));
    rate = forces.allocateLazyCacheEntry(s, Stage::Velocity, new Value<Real>(0.0));
  }
  Real rateOf(const State &s) const {
    if (!forces.isCacheValueRealized(s, rate)) {
      Value<Real>::updDowncast(forces.updCacheEntry(s, rate)) =
          K / D * (slider.getOneQ(s, 0) - forces.getZ(s)[z]);
      forces.markCacheValueRealized(s, rate);
    }
    return Value<Real>::downcast(forces.getCacheEntry(s, rate));
  }
  void calcForce(const State &s, Vector_<SpatialVec> &, Vector_<Vec3> &,
                 Vector &mobility) const override {
    if (s.getTime() > last_time) throw std::runtime_error("the controller has no more values");
    slider.applyOneMobilityForce(s, MobilizerUIndex(0), pull - D * rateOf(s), mobility);
  }
  Real calcPotentialEnergy(const State &) const override { return 0; }
  void realizeAcceleration(const State &s) const override { forces.updZDot(s)[z] = rateOf(s); }

private:
  const GeneralForceSubsystem &forces;
  const MobilizedBody slider;
  mutable ZIndex z;
  mutable CacheEntryIndex rate;
};

class Wall : public TriggeredEventHandler {
public:
  Wall(const MobilizedBody &body) : TriggeredEventHandler(Stage::Position), slider(body) {
    getTriggerInfo().setTriggerOnFallingSignTransition(false);
  }
  Real getValue(const State &s) const override { return slider.getOneQ(s, 0) - 0.3; }
  void handleEvent(State &s, Real, bool &) const override {
    if (slider.getOneU(s, 0) > 0) slider.setOneU(s, 0, -slider.getOneU(s, 0));
  }

private:
  const MobilizedBody slider;
};

struct Box {
  MultibodySystem system;
  SimbodyMatterSubsystem matter{system};
  GeneralForceSubsystem forces{system};
  State state;
};

extern "C" {
Box *maxwell(int wall) {
  pull      = 0.0;
  last_time = Infinity;
  Box *box  = new Box;
  MobilizedBody::Slider slider(box->matter.Ground(), Transform(),
                               Body::Rigid(MassProperties(1, Vec3(0), UnitInertia(1))), Transform());
  Force::Custom(box->forces, new Maxwell(box->forces, slider));
  if (wall) box->system.addEventHandler(new Wall(slider));
  box->state = box->system.realizeTopology();
  slider.setOneU(box->state, 0, 2.0);
  return box;
}
// A rod on a joint whose three angles are x, x^2 / 2 and x^3 / 3 of one coordinate x: Simbody's equations of it gain energy.
Box *knee() {
  Box *box = new Box;
  Array_<const Function *> functions;
  Array_<Array_<int>> coordinates(6);
  for (int k = 0; k < 6; k++) {
    Vector c(k + 2, 0.0); // highest power first
    if (k < 3) c[0] = 1.0 / (k + 1);
    functions.push_back(k < 3 ? static_cast<Function *>(new Function::Polynomial(c))
                              : new Function::Constant(0.0, 0));
    if (k < 3) coordinates[k].push_back(0);
  }
  MobilizedBody::FunctionBased(
      box->matter.Ground(), Transform(),
      Body::Rigid(MassProperties(2, Vec3(0.1, -0.3, 0), Inertia(0.3, 0.1, 0.35))), Transform(), 1,
      functions, coordinates);
  Force::UniformGravity(box->forces, box->matter, Vec3(0, -9.81, 0));
  box->state = box->system.realizeTopology();
  box->system.realizeModel(box->state);
  box->state.updQ() = 0.8;
  box->state.updU() = 1.0;
  return box;
}
void *system_of(Box *box) { return &box->system; }
void *state_of(Box *box) { return &box->state; }
void release(Box *box) { delete box; }
void set_pull(double newtons) { pull = newtons; }
void set_last_time(double t) { last_time = t; }
}
