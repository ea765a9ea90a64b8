/* A MultibodySystem as a CPMech: cpodes' functions by Simbody's operators.
 *
 *   q' = N u,   M u' + G^T lambda = f,   0 = p(t, q),   0 = v(t, q, u),   G u' = b,   z' = zdot
 *
 * u' and lambda come from realize(Acceleration), which is O(n). M, G, f and b serve the
 * projection's metric and Newton's matrix. f is minus the inverse dynamics at u' = 0, and b is
 * minus the bias of the acceleration constraints.
 *
 * Where motions or locks prescribe u'_k, it is known. If they prescribe positions, row k of the
 * dynamics becomes u'_k = its value, and the columns k of M and G are moved to the right-hand
 * sides. Such coordinates are integrated like others, but wherever they are read or returned,
 * Simbody's prescribed values replace them, and no projection moves them. If motions prescribe only
 * velocities or accelerations, positions follow from these and from the constraints: u_k = its
 * value, or u'_k = its value, becomes an additional row, after Simbody's rows of its kind. */
#ifndef CPODES_SIMBODY_MECHANISM_H
#define CPODES_SIMBODY_MECHANISM_H

#include <SimTKsimbody.h>

#include <algorithm>
#include <cmath>
#include <cpodes/cpodes_mechanics.h>
#include <string>
#include <vector>

namespace cpodes {

class Mechanism {
public:
  explicit Mechanism(const SimTK::MultibodySystem &owner);
  ~Mechanism() { release(); }

  /** Sets up a new system or model: its sizes, and a CPMech for them. state: realized to Velocity.
   * accuracy, infinity: as in the error test. tolerance: of the constraints. auxiliaryOnly: Newton's matrix
   * contains no partial derivatives but those of z'. Returns cpodes' code. */
  int create(const SimTK::State &state, double accuracy, bool infinity, double tolerance,
             bool auxiliaryOnly, SUNContext ctx);
  /** What create passes to CPModelCreate, for a CPMech that another object owns: the equations with
   * the state's constraints and joints, whose user data is this object. */
  CPEquations equations(const SimTK::State &state, double tolerance);
  /** Divides the tolerances of the error test by a factor. */
  void tighten(double factor) { perUnit *= factor; }
  void release();
  /** Do any z' change when all coordinates move, as the lengths of muscle fibres with elastic tendons do? */
  bool auxiliaryDependsOnPositions();
  /** Does an explicit step of this size from (t, y) change each z by less than its error may be? */
  bool leadsOn(double t, N_Vector y, double step);
  /** A size for the first step of Adams from (t, y), in which y changes by no more than its tolerance; 0 if u' has no value
   * or nothing moves. Its only realization is that of the start, which the first step needs as well. */
  double firstStep(double t, N_Vector y);
  /** Continues with the same model from another state. */
  void restart(const SimTK::State &state);
  bool fits(const SimTK::State &state) const;

  CPMech object() const { return mech; }
  /** Sets the prescribed values in the state, and projects it if a weighted error exceeds the
   * options' tolerance. The state is realized to Velocity. */
  void assemble(SimTK::State &state, const SimTK::ProjectOptions &options) const;
  void assemble(SimTK::State &state) const { assemble(state, limits); }
  /** state <- (t, y), unchanged */
  static void place(double t, N_Vector y, SimTK::State &state);
  /** state <- (t, y), assembled */
  void show(double t, N_Vector y, SimTK::State &state) const;
  /** y <- state */
  static void read(const SimTK::State &state, N_Vector y);
  /** CVEwtFn: weights for which the WRMS norm is the error test of Simbody's integrators. data:
   * the CPMech. */
  static int weights(N_Vector y, N_Vector ewt, void *data);
  /** The weight of element k of y where it has this value */
  double weightOf(int k, double value) const {
    const double least = size[std::size_t(k)];
    return perUnit / (k < nq ? least : std::max(least, std::fabs(value)));
  }

  int nq = 0, nu = 0, nz = 0, np = 0, nv = 0; /* np, nv: numbers of Simbody's constraints */
  int realizations = 0,
      failures     = 0; /* realizations of forces; evaluations at which Simbody threw */
  std::string thrown;   /* the message of the newest exception */

private:
  struct Functions; /* cpodes' C functions */
  bool simpleKinematics() const;
  void takeQuaternions(CPEquations &model);
  void setScales(double accuracy, bool infinity);

  void at(double t, const double *q);
  void at(double t, const double *q, const double *u);
  void at(double t, const double *q, const double *u, const double *z);
  void realizeVelocity();
  void evaluateForces();
  void accelerate();
  class Excursion;
  const SimTK::Matrix &transposed(); /* G^T [nu x na] at the working state */

  /** The dependence of z' on z and, along the velocities, on q */
  struct Pattern {
    int bandwidth = 0;     /* entries of dz'/dz further than this from the diagonal are zero */
    std::vector<bool> onQ; /* [nz nu] may dz'_i/dq e_j be nonzero? by columns */
    unsigned formed = 0;   /* how often the derivatives have been formed */
  };
  class AuxiliaryDifferences;

  const SimTK::MultibodySystem &system;
  const SimTK::SimbodyMatterSubsystem &matter;
  CPMech mech   = nullptr;
  N_Vector tmpl = nullptr;
  int na        = 0;     /* number of Simbody's constraints */
  SimTK::State work;     /* where the functions are evaluated */
  std::vector<double> y; /* (q, u, z) to which work was set last, before prescribed values */
  struct Point {
    double t = 0.0;
    std::vector<double> y; /* (q, u, z) before prescribed values; empty: none */
    bool isAt(double time, const double *q, const double *u, const double *z,
              const Mechanism &m) const;
  };
  /* z' where it was differentiated last. Newton's matrix requests it there again with other
   * multipliers, on which z' does not depend in Simbody. */
  struct Rates : Point {
    SimTK::Vector zdot;
  } rates;
  /* The start of firstStep, realized, until y' is requested there: cpodes compares derivatives of constraints beside it before. */
  Point start;
  SimTK::State startState;
  bool auxiliaryOnly = false;
  Pattern pattern;
  /* N and N^+ of the bodies at a q. They are requested repeatedly at the same few states. */
  struct Kinematics {
    std::vector<double> q;
    std::vector<SimTK::Matrix> blocks[2]; /* of N and N^+, one per body */
  };
  std::vector<Kinematics> recent; /* newest first */
  const Kinematics &kinematicsAt(const double *q);

  std::vector<CPQuaternion> quaternions; /* those of the newest equations */
  std::vector<CPFixedNorm> norms;

  bool haveG  = false;
  bool simple = true; /* q' = u except for quaternions */
  SimTK::Matrix Gt;
  std::vector<int> held; /* indices k of the u'_k whose positions are prescribed */
  std::vector<int> driven,
      pushed; /* those whose velocities, or only accelerations, are prescribed */
  /* the row of Simbody's row i */
  int row(int i) const { return i < nv ? i : i + int(driven.size()); }
  std::vector<double> size; /* [nq + nu + nz] 1/W_i: the unit of y_i */
  SimTK::ProjectOptions limits;
  double perUnit = 1.0; /* weight of an error of one unit */
};

} // namespace cpodes
#endif
