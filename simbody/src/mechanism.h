/* A MultibodySystem as a CPMech: cpodes' functions by Simbody's operators.
 *
 *   q' = N u,   M u' + G^T lambda = f,   0 = p(t, q),   0 = v(t, q, u),   G u' = b,   z' = zdot
 *
 * u' and lambda come from realize(Acceleration), which is O(n). M, G, f and b serve the projection's metric and Newton's
 * matrix. f is what inverse dynamics leaves at u' = 0, b the bias of the acceleration constraints with its sign turned.
 *
 * Where motions or locks prescribe u'_k it is known. If they prescribe positions, row k of the dynamics is u'_k = its value, and
 * columns k of M and G are moved to the right-hand sides. Such coordinates are integrated like others, but wherever they are
 * read, or handed out, Simbody's prescribed values take their place. No projection moves them. If they prescribe velocities or
 * accelerations alone, positions follow from these and from the constraints: u_k = its value, or u'_k = its value, is one more
 * row, behind Simbody's of its kind. */
#ifndef CPODES_SIMBODY_MECHANISM_H
#define CPODES_SIMBODY_MECHANISM_H

#include <SimTKsimbody.h>

#include <cpodes/cpodes_mechanics.h>
#include <string>
#include <vector>

namespace cpodes {

class Mechanism {
public:
  explicit Mechanism(const SimTK::MultibodySystem &owner);
  ~Mechanism() { release(); }

  /** A new system or model: its sizes, and a CPMech for them. state: realized to Velocity. accuracy, infinity: as in the
   * error test. tolerance: of the constraints. Returns cpodes' code. */
  int create(const SimTK::State &state, double accuracy, bool infinity, double tolerance,
             SUNContext ctx);
  /** What create gives to CPMechCreate: the equations at the state's constraints and joints, user data this object; and, after
   * CPMechCreate, the quaternions. For a CPMech that another owns. */
  CPMechModel equations(const SimTK::State &state, double tolerance);
  int prepare(CPMech of) const;
  void release();
  /** The same model from another state. */
  void restart(const SimTK::State &state);
  bool fits(const SimTK::State &state) const;

  CPMech object() const { return mech; }
  /** Prescribed values are put into the state, which is then projected where a weighted error is above the options'
   * tolerance. It is realized to Velocity. */
  void assemble(SimTK::State &state, const SimTK::ProjectOptions &options) const;
  void assemble(SimTK::State &state) const { assemble(state, limits); }
  /** state <- (t, y), as it is */
  static void place(double t, N_Vector y, SimTK::State &state);
  /** state <- (t, y), assembled */
  void show(double t, N_Vector y, SimTK::State &state) const;
  /** y <- state */
  static void read(const SimTK::State &state, N_Vector y);
  /** CVEwtFn: weights whose WRMS norm is the error test of Simbody's integrators. data: the CPMech. */
  static int weights(N_Vector y, N_Vector ewt, void *data);

  int nq = 0, nu = 0, nz = 0, np = 0, nv = 0; /* np, nv: of Simbody's constraints */
  int realizations = 0, failures = 0; /* of forces, and evaluations at which Simbody threw */
  std::string thrown;                 /* what it threw last */

private:
  struct Functions; /* cpodes', of type C */
  bool simpleKinematics() const;
  void setScales(double accuracy, bool infinity);

  void at(double t, const double *q);
  void at(double t, const double *q, const double *u);
  void at(double t, const double *q, const double *u, const double *z);
  void evaluateForces();
  void accelerate();
  const SimTK::Matrix &transposed(); /* G^T [nu x na] at the working state */

  const SimTK::MultibodySystem &system;
  const SimTK::SimbodyMatterSubsystem &matter;
  CPMech mech   = nullptr;
  N_Vector tmpl = nullptr;
  int na        = 0;     /* of Simbody's constraints */
  SimTK::State work;     /* where functions are evaluated */
  std::vector<double> y; /* (q, u, z) that it was last set to, before prescribed values */
  /* z' where it was differentiated last. Newton's matrix asks for it there again, with other multipliers, which do not enter it in
   * Simbody. */
  struct Rates {
    double t = 0.0;
    std::vector<double> y; /* (q, u, z) before prescribed values; empty: none */
    SimTK::Vector zdot;
    bool isAt(double time, const double *q, const double *u, const double *z,
              const Mechanism &m) const;
  } rates;
  /* N and N^+ of bodies at a q, asked for again and again at the same few states */
  struct Kinematics {
    std::vector<double> q;
    std::vector<SimTK::Matrix> N, inverse; /* of each body */
  };
  std::vector<Kinematics> recent; /* the newest first */
  const Kinematics &kinematicsAt(const double *q);

  bool haveG  = false;
  bool simple = true; /* q' = u but for quaternions */
  SimTK::Matrix Gt;
  std::vector<int> held;           /* indices k of u'_k whose positions are prescribed */
  std::vector<int> driven, pushed; /* velocities alone, accelerations alone */
  int row(int i) const { return i < nv ? i : i + int(driven.size()); } /* of Simbody's row i */
  std::vector<double> size; /* [nq + nu + nz] 1/W_i: what counts as one unit of y_i */
  SimTK::ProjectOptions limits;
  double perUnit = 1.0; /* weight of an error of one unit */
};

} // namespace cpodes
#endif
