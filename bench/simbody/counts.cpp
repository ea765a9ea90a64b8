/* Work and precision on Simbody's mechanisms: realizations to Stage::Acceleration that the methods
 * of cpodes and of Simbody need for an error at the ends of ten intervals.
 *
 *   counts [--runs] [--cpu] [mechanism...]
 *
 * --runs: a line for each run. --cpu: processor time instead of counts, the least of three runs of
 * each; the methods alternate, so that other load affects all of them. The error is the largest
 * difference of q and u from RungeKuttaMerson at an accuracy of 1e-12. RADAU, and Auto if it
 * chooses RADAU, are excluded from the counts: RADAU realizes Dynamics, and solves for
 * accelerations itself. Between two accuracies, which differ by a factor of sqrt(10), costs are
 * interpolated in the logarithm of the error. */
#include "cpodes_simbody/cpodes_simbody.h"
#include "mechanisms.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>

using namespace SimTK;
using cpodes::CPodesProjectedIntegrator;

namespace {

const int reports = 10, hopeless = 20000, timings = 3;

struct Run {
  double error = Infinity;
  int count = 0, dynamics = 0, positions = 0, steps = 0;
  double violation = 0.0; /* the largest at the reports */
  double cpu       = 0.0; /* [s] */
  std::vector<Vector> states;
  std::string why;
};

template <class I> Run integrate(Model &m, I &integrator, double accuracy, const Run *reference) {
  Run run;
  const std::clock_t begin = std::clock();
  try {
    integrator.setAccuracy(accuracy);
    integrator.initialize(m.start);
    m.system.resetAllCountersToZero();
    for (int k = 1; k <= reports; k++) {
      const double t = m.end * k / reports;
      while (integrator.stepTo(t, Infinity) != Integrator::ReachedReportTime) {}
      const State &s = integrator.getState();
      m.system.realize(s, Stage::Velocity);
      run.violation =
          std::max(run.violation, std::max(s.getQErr().normInf(), s.getUErr().normInf()));
      run.states.push_back(s.getY());
    }
    run.cpu       = double(std::clock() - begin) / CLOCKS_PER_SEC;
    run.count     = m.system.getNumRealizationsOfThisStage(Stage::Acceleration);
    run.dynamics  = m.system.getNumRealizationsOfThisStage(Stage::Dynamics);
    run.positions = m.system.getNumRealizationsOfThisStage(Stage::Position);
    run.steps     = integrator.getNumStepsTaken();
    run.error     = 0.0;
    for (std::size_t k = 0; reference && k < run.states.size(); k++)
      run.error = std::max(run.error, (run.states[k] - reference->states[k]).normInf());
  } catch (const std::exception &e) {
    run.why   = e.what();
    run.error = Infinity;
  }
  return run;
}

struct Contestant {
  const char *name;
  bool ours, counted;
  std::function<Run(Model &, double, const Run *)> run;
};

template <class I> Contestant simbodys(const char *name) {
  return {name, false, true, [](Model &m, double accuracy, const Run *reference) {
            I integrator(m.system);
            return integrate(m, integrator, accuracy, reference);
          }};
}
Contestant cpodesOf(const char *name, CPodesProjectedIntegrator::Method method) {
  const bool counted = method <= CPodesProjectedIntegrator::DOP853;
  return {name, true, counted, [method](Model &m, double accuracy, const Run *reference) {
            CPodesProjectedIntegrator integrator(m.system, method);
            return integrate(m, integrator, accuracy, reference);
          }};
}
struct SimbodysBDF : CPodesIntegrator {
  explicit SimbodysBDF(const System &s) : CPodesIntegrator(s, CPodes::BDF) {}
};
struct SimbodysAdams : CPodesIntegrator {
  explicit SimbodysAdams(const System &s) : CPodesIntegrator(s, CPodes::Adams) {}
};

/* The cost at this error, between the first run that is as accurate and the previous one. */
double costAt(const std::vector<Run> &runs, double error, bool cpu) {
  const auto cost = [&](std::size_t i) { return cpu ? runs[i].cpu : runs[i].count; };
  for (std::size_t i = 0; i < runs.size(); i++) {
    if (!(runs[i].error <= error)) continue;
    if (i == 0 || !isFinite(runs[i - 1].error)) return cost(i);
    const double x = std::log(error / runs[i].error) / std::log(runs[i - 1].error / runs[i].error);
    return std::exp((1 - x) * std::log(cost(i)) + x * std::log(cost(i - 1)));
  }
  return Infinity;
}

} // namespace

int main(int argc, char **argv) {
  const Contestant contestants[] = {
      simbodys<RungeKuttaMersonIntegrator>("RungeKuttaMerson"),
      simbodys<RungeKuttaFeldbergIntegrator>("RungeKuttaFeldberg"),
      simbodys<RungeKutta3Integrator>("RungeKutta3"),
      simbodys<SimbodysBDF>("CPodes BDF"),
      simbodys<SimbodysAdams>("CPodes Adams"),
      cpodesOf("BDF", CPodesProjectedIntegrator::BDF),
      cpodesOf("Adams", CPodesProjectedIntegrator::Adams),
      cpodesOf("DOP853", CPodesProjectedIntegrator::DOP853),
      cpodesOf("RADAU", CPodesProjectedIntegrator::RADAU),
      cpodesOf("Auto", CPodesProjectedIntegrator::Auto),
  };
  const double targets[] = {1e-4, 1e-6};
  bool all = false, cpu = false;
  int options = 1;
  for (; options < argc && argv[options][0] == '-'; options++)
    (std::strcmp(argv[options], "--cpu") ? all : cpu) = true;
  double logarithms = 0.0, worst = 0.0;
  int ratios = 0;
  std::printf("%-18s %7s %18s %8s %10s %8s %6s\n", "mechanism", "error", "best of Simbody's",
              cpu ? "ms" : "count", "of cpodes", cpu ? "ms" : "count", "ratio");
  for (const NamedModel &named : allModels()) {
    bool wanted = argc == options;
    for (int i = options; i < argc; i++) wanted |= !std::strcmp(argv[i], named.name);
    if (!wanted) continue;
    auto model = named.create();
    RungeKuttaMersonIntegrator exact(model->system);
    exact.setConstraintTolerance(1e-13);
    const Run reference = integrate(*model, exact, 1e-12, nullptr);
    if (!reference.why.empty()) {
      std::printf("%s: no reference: %s\n", named.name, reference.why.c_str());
      return 1;
    }
    std::vector<std::vector<Run>> runs(std::size(contestants));
    std::vector<bool> done(runs.size());
    for (double accuracy = 1e-2; accuracy > 9e-11; accuracy /= std::sqrt(10.0)) {
      for (int k = 0; k < (cpu ? timings : 1); k++) {
        for (std::size_t i = 0; i < runs.size(); i++) {
          if (done[i]) continue;
          const Run r = contestants[i].run(*model, accuracy, &reference);
          if (k == 0) runs[i].push_back(r);
          else runs[i].back().cpu = std::min(runs[i].back().cpu, r.cpu);
        }
      }
      for (std::size_t i = 0; i < runs.size(); i++) {
        if (done[i]) continue;
        const Run &r = runs[i].back();
        done[i]      = r.error < targets[1] || r.count > hopeless || r.dynamics > 5 * hopeless;
        if (all)
          std::printf(
              "  %-16s %s %8.1e error %8.1e realizations %6d forces %6d steps %6d positions/step "
              "%5.1f violation %8.1e cpu %7.2f ms%s\n",
              contestants[i].name, contestants[i].ours ? "cpodes " : "Simbody", accuracy, r.error,
              r.count, r.dynamics, r.steps, r.steps ? double(r.positions) / r.steps : 0.0,
              r.violation, 1e3 * r.cpu, r.why.substr(0, 200).c_str());
      }
    }
    for (double target : targets) {
      double best[2]      = {Infinity, Infinity};
      const char *name[2] = {"none", "none"};
      for (std::size_t i = 0; i < runs.size(); i++) {
        if (!contestants[i].counted && !cpu) continue;
        const double cost = costAt(runs[i], target, cpu);
        if (cost < best[contestants[i].ours])
          best[contestants[i].ours] = cost, name[contestants[i].ours] = contestants[i].name;
      }
      const double ratio = best[1] / best[0];
      const double unit  = cpu ? 1e3 : 1.0;
      std::printf("%-18s %7.0e %18s %8.4g %10s %8.4g %6.2f\n", named.name, target, name[0],
                  unit * best[0], name[1], unit * best[1], ratio);
      logarithms += std::log(ratio), ratios++;
      worst = std::max(worst, ratio);
    }
    std::fflush(stdout);
  }
  std::printf("geometric mean %.2f, largest %.2f\n", std::exp(logarithms / ratios), worst);
  return ratios > 0 && isFinite(logarithms) ? 0 : 1;
}
