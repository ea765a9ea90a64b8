/* The integrator behind the C interface of 2006: CVODES with projection for functions of
 * plain arrays, with events as Simbody treats them. This header contains neither types of SUNDIALS
 * nor names of cpodes, so that the interface of 2006, which uses the same names, can be declared
 * beside it. */
#ifndef CPODES_SIMBODY_LEGACY_H
#define CPODES_SIMBODY_LEGACY_H

#include <memory>
#include <vector>

namespace cpodes {

/** The functions of a program. They return 0, a positive value if a smaller step may help, or a
 * negative value. */
struct LegacyProblem {
  virtual ~LegacyProblem();
  virtual int rates(double t, const double *y, double *ydot) = 0;
  /** Computes a correction so that y + correction is on the manifold. error: in, out, projected. */
  virtual int project(double t, const double *y, double eps, double *correction, double *error) = 0;
  virtual int constraints(double t, const double *y, double *c)                                 = 0;
  virtual int triggers(double t, const double *y, const double *ydot, double *e)                = 0;
  virtual int weights(const double *y, double *w)                                               = 0;
  virtual void message(int code, const char *function, const char *text)                        = 0;
};

/** 0: the default */
struct LegacyOptions {
  int maxOrder = 0, maxErrorFailures = 0, maxIterations = 0, maxConvergenceFailures = 0;
  int maxHnilWarns    = 0;
  bool stabilityLimit = false;
  double first = 0.0, least = 0.0, most = 0.0, convergence = 0.0;
  long projectEvery = 1;
  bool projectError = true, projectWhereNeeded = false;
  long stepLimit = 0; /* for one call; negative: none */
};

/** Error weights: 1 / (relative |y_i| + absolute_i), where absolute has one entry for all
 * components or one for each. If it is empty, the weights are those of LegacyProblem::weights. */
struct LegacyTolerances {
  double relative = 0.0;
  std::vector<double> absolute;
};

struct LegacyCounters {
  long steps, rates, setups, errorFailures, iterations, convergenceFailures, orderReductions;
  long triggers, projections, projectionSetups, constraints, projectionFailures, jacobians,
      ratesForJacobians;
  int order, nextOrder;
  double first, last, next, t, toleranceScale;
};

/** The functions return codes of CVODES and cpodes. */
class LegacyIntegrator {
public:
  enum Projection { NONE, USERS, BY_CONSTRAINTS };
  struct Stop {
    double t    = 0.0;
    bool active = false;
  };

  LegacyIntegrator(LegacyProblem &problem, bool adams, bool newton);
  ~LegacyIntegrator();

  /** init starts a new problem of size n at (t, y); restart starts the same problem again and
   * clears its counters. */
  int init(int n, double t, const double *y, const LegacyTolerances &tolerances);
  int restart(double t, const double *y, const LegacyTolerances &tolerances);
  int setTolerances(const LegacyTolerances &tolerances);
  int setOptions(const LegacyOptions &options);
  const LegacyOptions &getOptions() const;
  /** tolerances: of the constraints; errorNorm: projects in the norm of the error weights. */
  int setProjection(Projection how, const std::vector<double> &tolerances, bool errorNorm);
  /** directions: 1 rising, -1 falling, 0 both */
  void setTriggers(int count);
  void setDirections(const int *directions);

  /** As CPode of 2006: integrates to `to`, or takes one step towards it. y [n], *t: out. An event
   * ends the call at the upper end of its window. */
  int step(double to, bool oneStep, Stop stop, double *t, double *y);
  /** The k-th derivative of the interpolation polynomial, unprojected. Calls no function of the
   * problem. */
  int interpolate(double t, int k, double *dky);
  void eventWindow(double *low, double *high) const;
  /** found: 1 rising, -1 falling, 0 none */
  void eventsFound(int *found) const;
  int errorWeights(double *w);
  int localErrors(double *e);
  LegacyCounters counters() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace cpodes
#endif
