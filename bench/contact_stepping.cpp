/* Contacts by events compared with Siconos' time stepping (Moreau and Jean): error against the CPU
 * time of the loop alone, for
 *
 *   ball    released at the height 1, e = 0.9, until t = 3: four impacts; compared with the closed form
 *   block   falls on its two corners without friction, e = 0.8 (Siconos' example RockingBlock), until
 *           t = 1.5: four impacts; compared with cpodes with RADAU at the tolerance 1e-13
 *
 *   contact_stepping [SECONDS]     SECONDS (10): the ladder of steps ends where a run of Siconos would
 *                                  take longer
 *
 * Errors are the largest of positions at ten equidistant times. Times are the least of at least
 * five runs, which take at least 20 ms in total. If the steps do not become short enough for an
 * error, their time is extrapolated by order one, marked by *. */
#include <SiconosKernel.hpp>
#include <cpodes/cpodes_contact.h>

extern "C" {
#include "models/bouncing_ball.h"
#include "models/floor_body.h"
}

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nvector/nvector_serial.h>
#include <vector>

namespace {

constexpr int samples = 10;

double cpu_now() { return double(std::clock()) / CLOCKS_PER_SEC; }

/* Positions at the sample times, and CPU seconds of the loop */
struct Run {
  std::vector<double> q;
  double seconds;
};

struct Problem {
  const char *name;
  int nq;
  double t_end;
  Run (*by_events)(const Problem &problem, const char *method, double tolerance);
  Run (*by_steps)(const Problem &problem, long steps);
};

void require(bool condition, const char *what) {
  if (condition) return;
  std::fprintf(stderr, "contact_stepping: %s failed\n", what);
  std::exit(EXIT_FAILURE);
}

/* ---- cpodes ---- */

/* method: of CPIntegratorCreate, or BDF */
Run solve(const Problem &problem, CPEquations model, void *data,
          const std::vector<CPContactPoint> &points, const std::vector<double> &start,
          const char *method, double tolerance) {
  SUNContext ctx;
#if SUNDIALS_VERSION_MAJOR >= 7
  require(!SUNContext_Create(SUN_COMM_NULL, &ctx), "SUNContext_Create");
#else
  require(!SUNContext_Create(nullptr, &ctx), "SUNContext_Create");
#endif
  N_Vector y = N_VNew_Serial(sunindextype(start.size()), ctx);
  std::copy(start.begin(), start.end(), N_VGetArrayPointer(y));
  CPModel made = CPModelCreate(&model);
  require(made, "CPModelCreate");
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  require(mech && !CPMechSetUserData(mech, data), "CPMechCreate");
  CPContact contact = CPContactCreate(mech, int(points.size()), points.data());
  require(contact, "CPContactCreate");
  CPSession session = CPSessionCreate(method, ctx);
  require(session && !CPContactAttach(contact, session) &&
              !CPSessionSetTolerances(session, tolerance, tolerance, nullptr) &&
              !CPSessionStart(session, 0, y, problem.t_end),
          "CPSessionStart");
  Run run{{}, 0};
  const double began = cpu_now();
  for (int k = 1; k <= samples; k++) {
    sunrealtype t;
    require(!CPSessionRun(session, problem.t_end * k / samples, y, &t), "CPSessionRun");
    for (int i = 0; i < problem.nq; i++) run.q.push_back(N_VGetArrayPointer(y)[i]);
  }
  run.seconds = cpu_now() - began;
  CPSessionFree(&session);
  CPContactFree(&contact);
  CPMechFree(&mech);
  N_VDestroy(y);
  SUNContext_Free(&ctx);
  return run;
}

/* ---- Siconos ---- */

Run step(const Problem &problem, long steps, SP::LagrangianDS body,
         const std::vector<SP::Interaction> &contacts) {
  auto system = std::make_shared<NonSmoothDynamicalSystem>(0., problem.t_end);
  system->insertDynamicalSystem(body);
  for (const auto &contact : contacts) system->link(contact, body);
  auto times    = std::make_shared<TimeDiscretisation>(0., problem.t_end / double(steps));
  auto stepping = std::make_shared<TimeStepping>(
      system, times, std::make_shared<MoreauJeanOSI>(0.5), std::make_shared<LCP>());
  Run run{{}, 0};
  const double began = cpu_now();
  for (long k = 1; k <= steps; k++) {
    stepping->computeOneStep();
    if (k % (steps / samples) == 0)
      for (int i = 0; i < problem.nq; i++) run.q.push_back((*body->q())(unsigned(i)));
    stepping->nextStep();
  }
  run.seconds = cpu_now() - began;
  return run;
}

/* ---- the ball ---- */

const BouncingBall ball{1, 9.81, 1, 0.9};

Run ball_by_events(const Problem &problem, const char *method, double tolerance) {
  CPContactPoint point  = CP_INIT(CPContactPoint);
  point.name            = "floor";
  point.law.restitution = ball.e;
  BouncingBall data     = ball;
  return solve(problem, bouncing_ball_model(), &data, {point}, {ball.h, 0}, method, tolerance);
}

Run ball_by_steps(const Problem &problem, long steps) {
  auto q = std::make_shared<SiconosVector>(1), v = std::make_shared<SiconosVector>(1),
       force = std::make_shared<SiconosVector>(1);
  auto M = std::make_shared<SimpleMatrix>(1, 1), H = std::make_shared<SimpleMatrix>(1, 1);
  (*q)(0) = ball.h, (*v)(0) = 0, (*force)(0) = -ball.m * ball.g;
  (*M)(0, 0) = ball.m, (*H)(0, 0) = 1;
  auto body = std::make_shared<LagrangianLinearTIDS>(q, v, M);
  body->setFExtPtr(force);
  return step(problem, steps, body,
              {std::make_shared<Interaction>(std::make_shared<NewtonImpactNSL>(ball.e),
                                             std::make_shared<LagrangianLinearTIR>(H))});
}

/* ---- the block ---- */

const FloorBody block{1, 1.25 / 12, 9.81, 2, {-0.1, 0.1}, {-0.05, -0.05}};
const double restitution = 0.8, theta = std::acos(-1.0) / 3;
const std::vector<double> block_start{0, std::sin(theta) / 2 + std::cos(theta) / 4, theta, 0, 0, 0};

Run block_by_events(const Problem &problem, const char *method, double tolerance) {
  std::vector<CPContactPoint> points(2);
  for (int k = 0; k < 2; k++) {
    points[size_t(k)].name            = k == 0 ? "left" : "right";
    points[size_t(k)].normal          = k;
    points[size_t(k)].tangent         = 2 + k; /* without friction: the row is off */
    points[size_t(k)].ntangents       = 1;
    points[size_t(k)].law.restitution = restitution;
  }
  FloorBody data = block;
  return solve(problem, floor_body_model(&data), &data, points, block_start, method, tolerance);
}

/* The gap of a corner and its gradient */
class Corner : public LagrangianScleronomousR {
public:
  explicit Corner(int number) : LagrangianScleronomousR(), k(number) {
    _jachq = std::make_shared<SimpleMatrix>(1, 3);
  }
  void computeh(const BlockVector &q, BlockVector &, SiconosVector &y) override {
    sunrealtype X, Y;
    floor_body_arm(&block, k, q.getValue(2), &X, &Y);
    y.setValue(0, q.getValue(1) + Y);
  }
  void computeJachq(const BlockVector &q, BlockVector &) override {
    sunrealtype X, Y;
    floor_body_arm(&block, k, q.getValue(2), &X, &Y);
    _jachq->setValue(0, 0, 0), _jachq->setValue(0, 1, 1), _jachq->setValue(0, 2, X);
  }

private:
  int k;
};

Run block_by_steps(const Problem &problem, long steps) {
  auto q = std::make_shared<SiconosVector>(3), v = std::make_shared<SiconosVector>(3),
       force = std::make_shared<SiconosVector>(3);
  auto M     = std::make_shared<SimpleMatrix>(3, 3);
  for (unsigned i = 0; i < 3; i++) (*q)(i) = block_start[i], (*v)(i) = 0;
  (*force)(1) = -block.m * block.g;
  (*M)(0, 0) = (*M)(1, 1) = block.m, (*M)(2, 2) = block.J;
  auto body = std::make_shared<LagrangianLinearTIDS>(q, v, M);
  body->setFExtPtr(force);
  auto law = std::make_shared<NewtonImpactNSL>(restitution);
  return step(problem, steps, body,
              {std::make_shared<Interaction>(law, std::make_shared<Corner>(0)),
               std::make_shared<Interaction>(law, std::make_shared<Corner>(1))});
}

/* ---- ladders ---- */

double error(const Run &run, const std::vector<double> &exact) {
  double largest = 0;
  for (size_t i = 0; i < exact.size(); i++)
    largest = std::max(largest, std::fabs(run.q[i] - exact[i]));
  return largest;
}

struct Rung {
  double error, seconds;
};

/* CPU seconds of the fastest run that reaches an error. guessed: set to 1 if there is none and the
 * longest run of a ladder of steps has been extrapolated by order one */
double at_error(const std::vector<Rung> &ladder, double wanted, bool *guessed) {
  double best = INFINITY;
  for (const auto &rung : ladder)
    if (rung.error <= wanted) best = std::min(best, rung.seconds);
  *guessed = std::isinf(best);
  return *guessed ? ladder.back().seconds * ladder.back().error / wanted : best;
}

template <typename Function> Rung measure(const Function &run, const std::vector<double> &exact) {
  double total = 0;
  Rung rung{0, INFINITY};
  for (int k = 0; (k < 5 || total < 0.02) && total < 2; k++) {
    const Run one = run();
    rung.error    = error(one, exact);
    rung.seconds  = std::min(rung.seconds, one.seconds);
    total += one.seconds;
  }
  return rung;
}

void compare(const Problem &problem, double longest) {
  static const double wanted[] = {1e-3, 1e-6};
  std::vector<double> exact;
  if (problem.nq == 1)
    for (int k = 1; k <= samples; k++) {
      sunrealtype y[2];
      bouncing_ball_exact(&ball, problem.t_end * k / samples, y);
      exact.push_back(y[0]);
    }
  else exact = problem.by_events(problem, "RADAU", 1e-13).q;

  std::vector<Rung> stepping;
  for (long steps = 100; steps <= 10000000; steps *= 2) {
    const Rung rung = measure([&] { return problem.by_steps(problem, steps); }, exact);
    std::printf("%-6s Siconos h = %.1e  error %.2e  CPU %.3e s\n", problem.name,
                problem.t_end / double(steps), rung.error, rung.seconds);
    stepping.push_back(rung);
    if (2 * rung.seconds > longest || rung.error < 1e-6) break;
  }
  for (const char *method : {"DOP853", "RADAU", "BDF"}) {
    std::vector<Rung> events;
    for (double exponent = -2; exponent >= -11; exponent -= 1) {
      const double tolerance = std::pow(10, exponent);
      const Rung rung =
          measure([&] { return problem.by_events(problem, method, tolerance); }, exact);
      std::printf("%-6s %-6s tol = %.0e  error %.2e  CPU %.3e s\n", problem.name, method, tolerance,
                  rung.error, rung.seconds);
      events.push_back(rung);
    }
    for (double bound : wanted) {
      bool guessed[2];
      const double a = at_error(events, bound, &guessed[0]),
                   b = at_error(stepping, bound, &guessed[1]);
      std::printf("%-6s %-6s at error %.0e: CPU %.2e%s s, Siconos %.2e%s s, ratio %.2e\n",
                  problem.name, method, bound, a, guessed[0] ? "*" : "", b, guessed[1] ? "*" : "",
                  a / b);
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  const double longest = argc > 1 ? std::atof(argv[1]) : 10;
  compare({"ball", 1, 3, ball_by_events, ball_by_steps}, longest);
  compare({"block", 3, 1.5, block_by_events, block_by_steps}, longest);
  return EXIT_SUCCESS;
}
