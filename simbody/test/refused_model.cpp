/* A plug-in whose mechanism cannot be assembled: one rod is held by two pins. */
#include "cpodes_simbody/cpodes_simbody_model.h"

using namespace SimTK;

static std::unique_ptr<cpodes::RunnerModel> make(const double *) {
  auto m = std::make_unique<cpodes::RunnerModel>();
  const Body::Rigid rod(MassProperties(1, Vec3(0), UnitInertia(1)));
  MobilizedBody::Pin held(m->matter.Ground(), Transform(), rod, Transform());
  Constraint::Rod(m->matter.Ground(), Vec3(5, 0, 0), held, Vec3(0, -1, 0), 1);
  m->start = m->system.realizeTopology();
  m->system.realizeModel(m->start);
  return m;
}

static const CPPluginType type = cpodes::runnerModelType<make>("refused", "A rod too far away", 1);
CP_PLUGIN_MODULE(type)
