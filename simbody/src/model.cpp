/* A mechanism of Simbody's as a CPPlugin. */
#include "cpodes_simbody/cpodes_simbody_model.h"
#include "mechanism.h"

#include <array>
#include <new>
#include <nvector/nvector_serial.h>
#include <string>
#include <vector>

using namespace SimTK;

namespace cpodes {

namespace {

/* for violations at the start and of the states that are shown */
const double tolerance = 1e-10;

/* A point of the drawing, fixed on a body. */
struct Station {
  MobilizedBodyIndex body;
  Vec3 place;
  CPPluginPointKind kind;
};

struct Drawing {
  std::vector<Station> stations;
  std::vector<std::array<int, 2>> segments;
  std::vector<CPPluginSegmentKind> kinds;

  int station(const MobilizedBody &body, const Vec3 &place, CPPluginPointKind kind) {
    const bool fixed = body.isGround();
    stations.push_back({body.getMobilizedBodyIndex(), place, fixed ? CP_POINT_GROUND : kind});
    return int(stations.size()) - 1;
  }
  void segment(int from, int to, CPPluginSegmentKind kind) {
    segments.push_back({from, to});
    kinds.push_back(kind);
  }
};

/* What the model's functions need in addition to cpodes' functions, whose user data is the
 * Mechanism. */
struct Own {
  std::unique_ptr<RunnerModel> made;
  std::unique_ptr<Mechanism> mechanism;
  Drawing drawing;
  State shown;
};

Own &own(const CPPlugin *model) { return *static_cast<Own *>(model->own); }

/* Draws a bar from the joint of each body to its centre of mass and on to the joints that it
 * carries, and a guide between the two frames of a joint that can separate, unless the body is
 * free. */
Drawing draw(const SimbodyMatterSubsystem &matter, const State &state) {
  enum { FREE = 6 };
  Drawing d;
  std::vector<int> centre(matter.getNumBodies(), -1);
  for (MobilizedBodyIndex b(1); b < matter.getNumBodies(); ++b) {
    const MobilizedBody &body = matter.getMobilizedBody(b), &parent = body.getParentMobilizedBody();
    const int joint = d.station(body, body.getDefaultOutboardFrame().p(), CP_POINT_JOINT);
    const int on    = d.station(parent, body.getDefaultInboardFrame().p(), CP_POINT_JOINT);
    centre[b]       = d.station(body, body.getBodyMassCenterStation(state), CP_POINT_MASS);
    d.segment(joint, centre[b], CP_SEGMENT_BAR);
    if (!parent.isGround()) d.segment(centre[parent.getMobilizedBodyIndex()], on, CP_SEGMENT_BAR);
    if (body.getNumU(state) < FREE) d.segment(on, joint, CP_SEGMENT_GUIDE);
  }
  const auto attach = [&](MobilizedBodyIndex b, const Vec3 &place) {
    const int point = d.station(matter.getMobilizedBody(b), place, CP_POINT_JOINT);
    if (centre[b] >= 0) d.segment(centre[b], point, CP_SEGMENT_BAR);
    return point;
  };
  for (ConstraintIndex c(0); c < matter.getNumConstraints(); ++c) {
    const Constraint &constraint = matter.getConstraint(c);
    if (Constraint::Rod::isInstanceOf(constraint)) {
      const Constraint::Rod &rod = Constraint::Rod::downcast(constraint);
      const int from = attach(rod.getBody1MobilizedBodyIndex(), rod.getDefaultPointOnBody1());
      d.segment(from, attach(rod.getBody2MobilizedBodyIndex(), rod.getDefaultPointOnBody2()),
                CP_SEGMENT_BAR);
    } else if (Constraint::Ball::isInstanceOf(constraint)) {
      const Constraint::Ball &ball = Constraint::Ball::downcast(constraint);
      attach(ball.getBody1MobilizedBodyIndex(), ball.getDefaultPointOnBody1());
      attach(ball.getBody2MobilizedBodyIndex(), ball.getDefaultPointOnBody2());
    }
  }
  return d;
}

int giveDrawing(CPPlugin *model, const Drawing &d) {
  if (CPPluginDraw(model, int(d.stations.size()), nullptr, int(d.segments.size()), nullptr, 0,
                   nullptr))
    return -1;
  for (std::size_t i = 0; i < d.stations.size(); i++) model->drawing.kind[i] = d.stations[i].kind;
  for (std::size_t i = 0; i < d.segments.size(); i++) {
    model->drawing.segment[i][0]   = d.segments[i][0];
    model->drawing.segment[i][1]   = d.segments[i][1];
    model->drawing.segment_kind[i] = d.kinds[i];
  }
  return 0;
}

void build(CPPlugin *model, Own &own, MakeRunnerModel make) {
  own.made         = make(model->parameter);
  const auto &made = *own.made;
  State start      = made.start;
  made.system.realizeModel(start);
  made.system.realize(start, Stage::Instance);
  own.mechanism = std::make_unique<Mechanism>(made.system);
  ProjectOptions options(tolerance);
  options.setOption(ProjectOptions::UseInfinityNorm);
  own.mechanism->assemble(start, options);
  model->mech            = own.mechanism->equations(start, tolerance);
  model->known           = made.referenceError > 0.0;
  model->reference_error = made.referenceError;
  own.drawing            = draw(made.matter, start);
  own.shown              = start;
  model->n               = start.getNY();
  model->y0              = N_VNew_Serial(model->n, model->ctx);
  if (!model->y0 || giveDrawing(model, own.drawing)) throw std::bad_alloc();
  N_VConst(0.0, model->y0);
  Mechanism::read(start, model->y0);
}

} // namespace

const RunnerModel &runnerModel(const CPPlugin *model) { return *own(model).made; }

const State &runnerState(const CPPlugin *model, double t, N_Vector y) {
  Own &o = own(model);
  o.mechanism->show(t, y, o.shown);
  return o.shown;
}

double runnerEnergy(const CPPlugin *model, int, double t, N_Vector y) {
  try {
    const State &state = runnerState(model, t, y);
    runnerModel(model).system.realize(state, Stage::Dynamics);
    return runnerModel(model).system.calcEnergy(state);
  } catch (...) { return NaN; }
}

namespace runner {

int create(CPPlugin *model, MakeRunnerModel make) noexcept {
  std::string why;
  Own *const o = new (std::nothrow) Own;
  if (!o) return -1;
  try {
    build(model, *o, make);
    model->own  = o;
    model->data = o->mechanism.get();
    return 0;
  } catch (const std::bad_alloc &) {
  } catch (const std::exception &e) { why = e.what(); } catch (...) {
    why = "an exception that is no std::exception";
  }
  for (char &c : why) /* Simbody's messages have several lines. */
    if (c == '\n') c = ' ';
  delete o;
  return why.empty() ? -1 : CPPluginRefuse(model, "%s", why.c_str());
}

void destroy(CPPlugin *model) noexcept { delete static_cast<Own *>(model->own); }

void points(const CPPlugin *model, double t, N_Vector y, double *xyz) noexcept {
  const Own &o = own(model);
  try {
    const State &state = runnerState(model, t, y);
    double *to         = xyz;
    for (const Station &s : o.drawing.stations) {
      const Vec3 place =
          o.made->matter.getMobilizedBody(s.body).findStationLocationInGround(state, s.place);
      for (int k = 0; k < 3; k++) *to++ = place[k];
    }
  } catch (...) {
    for (std::size_t i = 0; i < 3 * o.drawing.stations.size(); i++) xyz[i] = NaN;
  }
}

} // namespace runner
} // namespace cpodes
