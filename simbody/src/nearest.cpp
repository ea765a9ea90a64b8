/* The nearest consistent state, by the projector of cpodes. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "mechanism.h"

#include <cmath>
#include <new>
#include <nvector/nvector_serial.h>
#include <stdexcept>

using namespace SimTK;

namespace cpodes {

namespace {

/* Vectors of a state's size, and their context */
struct Vectors {
  SUNContext ctx = nullptr;
  N_Vector y = nullptr, weight = nullptr, x = nullptr;

  explicit Vectors(int n) {
    if (SUNContext_Create(nullptr, &ctx)) throw std::bad_alloc();
    y = N_VNew_Serial(n, ctx), weight = N_VNew_Serial(n, ctx), x = N_VNew_Serial(n, ctx);
  }
  ~Vectors() {
    for (N_Vector v : {y, weight, x})
      if (v) N_VDestroy(v);
    SUNContext_Free(&ctx);
  }
  Vectors(const Vectors &)            = delete;
  Vectors &operator=(const Vectors &) = delete;
};

/* Gauss-Newton iteration: x is what leads from y back to the start y0, and its tangential part is followed until none is left.
 * The iteration converges linearly, with the curvature of the manifold times the distance. */
const int MOST_ITERATIONS = 100;

} // namespace

Vec2 projectToNearest(const MultibodySystem &system, State &state, double tolerance) {
  State from = state;
  system.realizeModel(from);
  system.realize(from, Stage::Time);
  system.prescribeQ(from);
  system.realize(from, Stage::Position);
  system.prescribeU(from);
  system.realize(from, Stage::Velocity);
  const double t = from.getTime();
  const int n = from.getNY(), nq = from.getNQ(), nu = from.getNU();
  Vectors v(n);
  Mechanism mechanism(system); /* freed before its context */
  if (!v.y || !v.weight || !v.x || mechanism.create(from, tolerance, false, tolerance, false, v.ctx))
    throw std::bad_alloc();
  const CPProjector P = CPMechGetProjector(mechanism.object());
  const auto check    = [&](int flag) {
    if (!flag) return;
    if (flag == CP_MEM_FAIL) throw std::bad_alloc();
    throw std::runtime_error("No state near this one satisfies the constraints: " +
                                (mechanism.thrown.empty()
                                     ? std::string(CPObjectGetLastMessage(CP_OBJECT(P)))
                                     : mechanism.thrown));
  };
  check(CPMechSetMetric(mechanism.object(), CP_METRIC_ERROR));
  const Vector y0(from.getY());
  double *const y = N_VGetArrayPointer(v.y), *const x = N_VGetArrayPointer(v.x),
                *const weight = N_VGetArrayPointer(v.weight);
  for (int k = 0; k < n; k++) {
    y[k]      = y0[k];
    weight[k] = mechanism.weightOf(k, 0.0); /* without a relative part */
  }
  check(CPProjectorProject(P, t, v.y, v.weight));
  double step = Infinity; /* in units of the tolerance */
  for (int iteration = 0; step >= 1.0; iteration++) {
    if (iteration == MOST_ITERATIONS)
      throw std::runtime_error("The iteration for the nearest state does not converge: the state "
                               "is too far from the constraints.");
    for (int k = 0; k < n; k++) x[k] = k < nq ? y0[k] - y[k] : 0.0;
    check(CPProjectorProjectVector(P, CP_TANGENT, t, v.y, v.weight, v.x));
    step = 0.0;
    for (int k = 0; k < nq; k++) step = std::fmax(step, std::fabs(x[k]) * weight[k]);
    for (int k = 0; k < n; k++) y[k] = k < nq ? y[k] + x[k] : y0[k];
    check(CPProjectorProject(P, t, v.y, v.weight));
  }
  mechanism.show(t, v.y, from);
  const auto rms = [&](int first, int count) {
    double sum = 0.0;
    for (int k = first; k < first + count; k++)
      sum += std::pow((from.getY()[k] - y0[k]) * weight[k] * tolerance, 2);
    return count ? std::sqrt(sum / count) : 0.0;
  };
  state = from;
  return Vec2(rms(0, nq), rms(nq, nu));
}

} // namespace cpodes
