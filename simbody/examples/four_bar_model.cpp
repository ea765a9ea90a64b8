/* A mechanism of Simbody's for the program cpodes: a four-bar linkage, crank and rocker coupled by
 * a massless rod.
 *
 *   cpodes run ./simbody_four_bar.so --report four_bar.html
 *   cpodes run ./simbody_four_bar.so --param speed=6 --csv four_bar.csv
 *
 * Its reference is Simbody's own RungeKuttaMerson at an accuracy of 1e-9, so that each run reports
 * its error. SI units. */
#include "cpodes_simbody/cpodes_simbody_model.h"

#include <nvector/nvector_serial.h>

using namespace SimTK;

namespace {

enum { COUPLER, SPEED };
const CPPluginParameter parameters[] = {
    {"coupler", "m", "length of the rod between crank and rocker", 2, 1.6, 2.4},
    {"speed", "rad/s", "of the crank, at first", 3, -10, 10}};

/* A rod of the given length, a tenth as thick, that hangs down from its joint. */
Body::Rigid rod(double mass, double length) {
  const Vec3 half(length / 20, length / 2, length / 20), centre(0, -length / 2, 0);
  return Body::Rigid(
      MassProperties(mass, centre, UnitInertia::brick(half).shiftFromCentroid(centre)));
}

std::unique_ptr<cpodes::RunnerModel> fourBar(const double *parameter) {
  auto m = std::make_unique<cpodes::RunnerModel>();
  Force::UniformGravity(m->forces, m->matter, Vec3(0, -9.81, 0));
  MobilizedBody::Pin crank(m->matter.Ground(), Transform(), rod(1, 1), Transform());
  MobilizedBody::Pin rocker(m->matter.Ground(), Vec3(2, 0, 0), rod(1.5, 1.5), Transform());
  Constraint::Rod(crank, Vec3(0, -1, 0), rocker, Vec3(0, -1.5, 0), parameter[COUPLER]);
  m->start = m->system.realizeTopology();
  m->system.realizeModel(m->start);
  crank.setAngle(m->start, 0.4);
  rocker.setAngle(m->start, 0.6);
  crank.setRate(m->start, parameter[SPEED]);
  m->system.project(m->start, 1e-12);
  m->referenceError = 1e-8;
  return m;
}

int reference(const CPPlugin *model, double t, N_Vector y) {
  try {
    const cpodes::RunnerModel &m = cpodes::runnerModel(model);
    RungeKuttaMersonIntegrator exact(m.system);
    exact.setAccuracy(1e-9);
    exact.setConstraintTolerance(1e-11);
    exact.initialize(m.start);
    while (t > 0 && exact.stepTo(t) != Integrator::ReachedReportTime) {}
    const Vector &end = exact.getState().getY();
    for (int i = 0; i < end.size(); i++) N_VGetArrayPointer(y)[i] = end[i];
    return 0;
  } catch (const std::exception &) { return 1; }
}

const CPPluginCoordinate coordinates[] = {{"crank", "rad", "angle of the crank from straight down"},
                                          {"rocker", "rad", "angle of the rocker, likewise"}};

/* The change of the potential energy of both rods from the lowest to the highest position: 2 g (1
 * kg 0.5 m + 1.5 kg 0.75 m) = 32 J. */
const CPPluginQuantity quantities[] = {
    {"energy", "J", cpodes::runnerEnergy, CP_QUANTITY_CONSERVED, 32, nullptr}};

CPPluginType withAllThatIsKnown() {
  CPPluginType type =
      cpodes::runnerModelType<fourBar>("simbody_four_bar", "Four-bar of Simbody's", 5);
  type.parameters   = parameters;
  type.nparameters  = 2;
  type.coordinates  = coordinates;
  type.ncoordinates = 2;
  type.quantities   = quantities;
  type.nquantities  = 1;
  type.reference    = reference;
  return type;
}
const CPPluginType type = withAllThatIsKnown();

} // namespace

CP_PLUGIN_MODULE(type)
