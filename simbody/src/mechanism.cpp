#include "mechanism.h"
#include "diagnosis.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <nvector/nvector_serial.h>
#include <stdexcept>
#include <sunmatrix/sunmatrix_dense.h>

using namespace SimTK;

namespace cpodes {

namespace {

void copyIn(const double *x, Vector &v) {
  for (int i = 0; i < v.size(); i++) v[i] = x[i];
}
void copyOut(const Vector &v, double *x) {
  for (int i = 0; i < v.size(); i++) x[i] = v[i];
}
/* *last <- x; has it changed? */
bool changes(const double *x, int count, double *last) {
  if (std::equal(x, x + count, last)) return false;
  std::copy(x, x + count, last);
  return true;
}

} // namespace

Mechanism::Mechanism(const MultibodySystem &owner)
    : system(owner), matter(owner.getMatterSubsystem()) {}

/* ---- evaluation: stages whose variables have not changed are not realized again ---- */

void Mechanism::at(double t, const double *q) {
  if (work.getTime() != t) work.setTime(t);
  if (changes(q, nq, y.data())) copyIn(q, work.updQ());
  if (work.getSystemStage() >= Stage::Position) return;
  system.realize(work, Stage::Time);
  system.prescribeQ(work);
  system.realize(work, Stage::Position);
  haveG = false;
}

void Mechanism::at(double t, const double *q, const double *u) {
  at(t, q);
  if (changes(u, nu, y.data() + nq)) copyIn(u, work.updU());
  realizeVelocity();
}

void Mechanism::realizeVelocity() {
  if (work.getSystemStage() >= Stage::Velocity) return;
  system.prescribeU(work);
  system.realize(work, Stage::Velocity);
}

void Mechanism::at(double t, const double *q, const double *u, const double *z) {
  if (start.isAt(t, q, u, z, *this)) {
    std::swap(work, startState);
    y.swap(start.y);
    start.y.clear();
    haveG = false;
  }
  at(t, q);
  if (changes(u, nu, y.data() + nq)) copyIn(u, work.updU());
  if (changes(z, nz, y.data() + nq + nu)) {
    /* Simbody invalidates only Stage::Dynamics when z changes. Its integrators change q, u and z
     * together, so that values which depend on z are kept with the velocities as well: the lengths
     * of fibres in OpenSim's muscles are. */
    work.invalidateAllCacheAtOrAbove(Stage::Velocity);
    copyIn(z, work.updZ());
  }
  realizeVelocity();
}

void Mechanism::evaluateForces() {
  if (work.getSystemStage() >= Stage::Dynamics) return;
  realizations++;
  system.realize(work, Stage::Dynamics);
}

void Mechanism::accelerate() {
  evaluateForces();
  system.realize(work, Stage::Acceleration);
  for (const std::string &why : {notFinite(work.getUDot(), "u'"), notFinite(work.getZDot(), "z'")})
    if (!why.empty()) throw std::runtime_error("At t = " + String(work.getTime()) + " " + why);
}

/* Evaluations elsewhere, after which the working state is again where it was, realized as far as it was */
class Mechanism::Excursion {
public:
  explicit Excursion(Mechanism &mechanism) : m(mechanism), here(m.work), y(m.y) {
    std::swap(m.work, here);
    m.haveG = false;
  }
  ~Excursion() {
    std::swap(m.work, here);
    m.y     = y;
    m.haveG = false;
  }
  Excursion(const Excursion &)            = delete;
  Excursion &operator=(const Excursion &) = delete;

private:
  Mechanism &m;
  State here;
  const std::vector<double> y;
};

const Matrix &Mechanism::transposed() {
  if (haveG) return Gt;
  realizeVelocity(); /* calcGTranspose needs it for velocity constraints. */
  matter.calcGTranspose(work, Gt);
  haveG = true;
  return Gt;
}

/* One product with the k-th unit vectors of all bodies gives the k-th columns of all their blocks. */
const Mechanism::Kinematics &Mechanism::kinematicsAt(const double *q) {
  const std::size_t room = 4;
  for (std::size_t k = 0; k < recent.size(); k++) {
    if (!std::equal(q, q + nq, recent[k].q.begin())) continue;
    std::rotate(recent.begin(), recent.begin() + std::ptrdiff_t(k),
                recent.begin() + std::ptrdiff_t(k) + 1);
    return recent[0];
  }
  at(work.getTime(), q);
  Kinematics made;
  made.q.assign(q, q + nq);
  for (auto &blocks : made.blocks) blocks.resize(std::size_t(matter.getNumBodies()));
  Vector unit, column;
  for (const bool inverse : {false, true}) {
    const int longest = inverse ? 7 : 6;
    for (int k = 0; k < longest; k++) {
      unit.resize(inverse ? nq : nu);
      unit = 0.0;
      for (MobilizedBodyIndex b(1); b < matter.getNumBodies(); ++b) {
        const MobilizedBody &body = matter.getMobilizedBody(b);
        const int mq = body.getNumQ(work), mu = body.getNumU(work);
        const int first = inverse ? int(body.getFirstQIndex(work)) : int(body.getFirstUIndex(work));
        if (k == 0)
          made.blocks[inverse][std::size_t(b)].resize(inverse ? mu : mq, inverse ? mq : mu);
        if (k < (inverse ? mq : mu)) unit[first + k] = 1.0;
      }
      if (inverse) matter.multiplyByNInv(work, false, unit, column);
      else matter.multiplyByN(work, false, unit, column);
      for (MobilizedBodyIndex b(1); b < matter.getNumBodies(); ++b) {
        const MobilizedBody &body = matter.getMobilizedBody(b);
        Matrix &block             = made.blocks[inverse][std::size_t(b)];
        const int first = inverse ? int(body.getFirstUIndex(work)) : int(body.getFirstQIndex(work));
        for (int i = 0; k < block.ncol() && i < block.nrow(); i++) block(i, k) = column[first + i];
      }
    }
  }
  if (recent.size() == room) recent.pop_back();
  recent.insert(recent.begin(), made);
  return recent[0];
}

bool Mechanism::Point::isAt(double time, const double *q, const double *u, const double *z,
                            const Mechanism &m) const {
  return !y.empty() && t == time && std::equal(q, q + m.nq, y.begin()) &&
         std::equal(u, u + m.nu, y.begin() + m.nq) &&
         std::equal(z, z + m.nz, y.begin() + m.nq + m.nu);
}

/* ---- derivatives of z' ----
 *
 * One-sided differences along N e_j, e_j and z_j. Each takes a realization to Stage::Acceleration, so
 * columns of different groups of rows are displaced together. The z of a muscle depend on each other and
 * on the coordinates that it spans, so dz'/dz is nearly diagonal: the least bandwidth with which a
 * product of the matrix with a vector agrees with a difference along that vector is taken. Which z'
 * depend on which q is seen when the columns are displaced one by one. Both are found anew at the
 * evaluations 1, 2, 4, 8, ...: a dependence may begin later. */

class Mechanism::AuxiliaryDifferences {
public:
  AuxiliaryDifferences(Mechanism &mechanism, double time, const double *q, const double *u,
                       const double *z)
      : m(mechanism), t(time), q0(q, q + m.nq), u0(u, u + m.nu), z0(z, z + m.nz) {
    m.at(t, q, u, z);
    m.accelerate();
    m.rates = {{t, m.y}, m.work.getZDot()};
    wu = m.work.getUWeights(), wz = m.work.getZWeights();
    N.resize(m.nq, m.nu);
    for (int j = 0; j < m.nu; j++) {
      Vector unit(m.nu, 0.0), column;
      unit[j] = 1.0;
      m.matter.multiplyByN(m.work, false, unit, column);
      N(j) = column;
    }
  }

  void form(SUNMatrix Zq, SUNMatrix Zu, SUNMatrix Zz) {
    const bool anew = (m.pattern.formed & (m.pattern.formed + 1)) == 0;
    if (anew) m.pattern.bandwidth = 0;
    if (anew) m.pattern.onQ.assign(std::size_t(m.nz) * std::size_t(m.nu), true);
    m.pattern.formed++;
    onZ(Zz, anew);
    SUNMatZero(Zq), SUNMatZero(Zu);
    if (m.auxiliaryOnly) return;
    if (!anew || moves(Q)) onQ(Zq, anew);
    else m.pattern.onQ.assign(m.pattern.onQ.size(), false);
    if (moves(U))
      for (int j = 0; j < m.nu; j++) {
        const Vector column = change(U, {j}, 1.0) / size(U, j);
        for (int i = 0; i < m.nz; i++) SM_ELEMENT_D(Zu, i, j) = column[i];
      }
  }

  enum By { Q, U, Z };
  bool moves(By by) { return change(by, upTo(m.nu), 1.0).normInf() != 0.0; }

private:
  Mechanism &m;
  const double t;
  const std::vector<double> q0, u0, z0;
  Vector wu, wz;
  Matrix N;

  /* The displacement of column j */
  double size(By by, int j) const {
    const double root = std::sqrt(Eps), weight = by == Z ? wz[j] : wu[j];
    if (by == Q) return root / weight;
    return root * std::max(std::fabs((by == U ? u0 : z0)[std::size_t(j)]), 1.0 / weight);
  }
  /* The change of z' if columns are displaced by a part of their sizes, which differs from one to the next with part < 1 */
  Vector change(By by, const std::vector<int> &columns, double part) {
    std::vector<double> q1 = q0, u1 = u0, z1 = z0;
    for (int j : columns) {
      const double d = size(by, j) * share(j, part);
      if (by == U) u1[std::size_t(j)] += d;
      if (by == Z) z1[std::size_t(j)] += d;
      for (int i = 0; by == Q && i < m.nq; i++) q1[std::size_t(i)] += d * N(i, j);
    }
    m.at(t, q1.data(), u1.data(), z1.data());
    m.accelerate();
    return m.work.getZDot() - m.rates.zdot;
  }
  static double share(int j, double part) {
    return part == 1.0 ? 1.0
                       : (j % 3 ? 1.0 : -1.0) * (1.0 - part * std::fabs(std::sin(7.0 * j + 1.0)));
  }
  static std::vector<int> upTo(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    for (int j = 0; j < count; j++) all[std::size_t(j)] = j;
    return all;
  }
  void onZ(SUNMatrix Zz, bool anew) {
    const double part   = 0.5;
    const bool compares = anew && m.nz > 1;
    const Vector along  = compares ? change(Z, upTo(m.nz), part) : Vector();
    for (int &width = m.pattern.bandwidth;; width = width < 2 ? width + 1 : m.nz) {
      const int groups = std::min(2 * width + 1, m.nz);
      SUNMatZero(Zz);
      for (int g = 0; g < groups; g++) {
        std::vector<int> columns;
        for (int j = g; j < m.nz; j += groups) columns.push_back(j);
        const Vector column = change(Z, columns, 1.0);
        for (int j : columns)
          for (int i = std::max(0, j - width); i < m.nz && i <= j + width; i++)
            SM_ELEMENT_D(Zz, i, j) = column[i] / size(Z, j);
      }
      if (!compares || groups == m.nz || agrees(Zz, along, part)) return;
    }
  }
  /* Newton's iteration needs no more than a digit. */
  bool agrees(SUNMatrix Zz, const Vector &along, double part) const {
    for (int i = 0; i < m.nz; i++) {
      double sum = 0.0, largest = std::fabs(along[i]);
      for (int j = 0; j < m.nz; j++) {
        const double term = SM_ELEMENT_D(Zz, i, j) * size(Z, j) * share(j, part);
        sum += term;
        largest = std::max(largest, std::fabs(term));
      }
      if (!(std::fabs(sum - along[i]) <= 0.1 * largest)) return false;
    }
    return true;
  }

  /* Columns that have no row in common form a group. */
  void onQ(SUNMatrix Zq, bool anew) {
    const auto may = [this](int i, int j) {
      return m.pattern.onQ[std::size_t(j) * std::size_t(m.nz) + std::size_t(i)];
    };
    std::vector<bool> done(std::size_t(m.nu), false);
    for (int first = 0; first < m.nu; first++) {
      std::vector<int> group;
      std::vector<bool> taken(std::size_t(m.nz), false);
      for (int j = first; j < m.nu; j++) {
        bool isFree = !done[std::size_t(j)], any = false;
        for (int i = 0; i < m.nz; i++)
          isFree = isFree && !(taken[std::size_t(i)] && may(i, j)), any = any || may(i, j);
        if (!isFree || !any) continue;
        for (int i = 0; i < m.nz; i++) taken[std::size_t(i)] = taken[std::size_t(i)] || may(i, j);
        group.push_back(j), done[std::size_t(j)] = true;
      }
      if (group.empty()) continue;
      const Vector column = change(Q, group, 1.0);
      for (int j : group)
        for (int i = 0; i < m.nz; i++) {
          if (may(i, j)) SM_ELEMENT_D(Zq, i, j) = column[i] / size(Q, j);
          if (anew)
            m.pattern.onQ[std::size_t(j) * std::size_t(m.nz) + std::size_t(i)] = column[i] != 0.0;
        }
    }
  }
};

bool Mechanism::auxiliaryDependsOnPositions() {
  const std::vector<double> from = y;
  AuxiliaryDifferences of(*this, work.getTime(), from.data(), from.data() + nq,
                          from.data() + nq + nu);
  const Excursion elsewhere(*this);
  return of.moves(AuxiliaryDifferences::Q);
}

bool Mechanism::leadsOn(double t, N_Vector from, double step) {
  const double *const x = N_VGetArrayPointer(from);
  try {
    at(t, x, x + nq, x + nq + nu);
    accelerate();
  } catch (const std::exception &) { return false; }
  const Vector &zdot = work.getZDot();
  for (int k = 0; k < nz; k++)
    if (!(std::fabs(zdot[k]) * step * weightOf(nq + nu + k, x[nq + nu + k]) <= 1.0)) return false;
  return true;
}

/* The error of Euler's method, h^2 q'' / 2, is to be a hundredth of the tolerance (Hairer, Norsett and Wanner, Solving Ordinary
 * Differential Equations I, section II.4) after the step that follows the first one: Adams needs a first step that is much
 * shorter, since its error stays in the history, and CVODES lets the next one be GROWTH times as long. */
double Mechanism::firstStep(double t, N_Vector from) {
  const double GROWTH = 1e4, ERROR = 0.01;
  const double *const x = N_VGetArrayPointer(from);
  double moved = 0.0, curved = 0.0; /* sums of squares, of y' and q'' */
  try {
    at(t, x, x + nq, x + nq + nu);
    accelerate();
    Vector second; /* N u', which is q'' but for terms in u */
    matter.multiplyByN(work, false, work.getUDot(), second);
    const Vector rate = work.getYDot();
    for (int k = 0; k < nq + nu + nz; k++) {
      const double weight = weightOf(k, x[k]);
      moved += std::pow(rate[k] * weight, 2);
      if (k < nq) curved += std::pow(second[k] * weight, 2) / nq;
    }
    startState = work;
    std::swap(work, startState);
    start = {t, y};
    haveG = false;
  } catch (const std::exception &) { return 0.0; }
  const double h =
      std::min(1.0 / std::sqrt(moved), std::sqrt(2.0 * ERROR / std::sqrt(curved)) / GROWTH);
  return isFinite(h) ? h : 0.0;
}

/* ---- cpodes' functions ---- */

struct Mechanism::Functions {
  /* Runs f without letting an exception leave a function that C calls. Returns 1, since a smaller
   * step may help, or -1 if out of memory. */
  template <class F> static int guarded(void *data, F f) {
    Mechanism &m = *static_cast<Mechanism *>(data);
    try {
      f(m);
      return 0;
    } catch (const std::bad_alloc &) { return -1; } catch (const std::exception &e) {
      m.failures++;
      m.thrown = e.what();
    } catch (...) {
      m.failures++;
      m.thrown = "an exception that is no std::exception";
    }
    return 1;
  }

  static int udot(double t, const double *q, const double *u, const double *z, double *udot,
                  double *lambda, void *data) {
    return guarded(data, [=](Mechanism &m) {
      m.at(t, q, u, z);
      m.accelerate();
      copyOut(m.work.getUDot(), udot);
      if (!lambda) return;
      const Vector &multipliers = m.work.getMultipliers();
      for (int i = 0; i < m.na; i++) lambda[m.row(i)] = multipliers[i];
      if (m.driven.empty() && m.pushed.empty()) return;
      Vector forces;
      m.matter.findMotionForces(m.work, forces);
      double *of = lambda + m.nv;
      for (int k : m.driven) *of++ = forces[k];
      of += m.na - m.nv;
      for (int k : m.pushed) *of++ = forces[k];
    });
  }
  static int zdot(double t, const double *q, const double *u, const double *z, const double *,
                  double *zdot, void *data) {
    return guarded(data, [=](Mechanism &m) {
      if (m.rates.isAt(t, q, u, z, m)) return copyOut(m.rates.zdot, zdot);
      m.at(t, q, u, z);
      m.accelerate();
      copyOut(m.work.getZDot(), zdot);
    });
  }
  static int auxiliaryJacobian(double t, const double *q, const double *u, const double *z,
                               const double *, SUNMatrix Zq, SUNMatrix Zu, SUNMatrix Zz, void *data) {
    return guarded(data,
                   [=](Mechanism &m) { AuxiliaryDifferences(m, t, q, u, z).form(Zq, Zu, Zz); });
  }
  /* The blocks that Newton's matrix leaves out (create: auxiliaryOnly) */
  static int noDynamics(double, const double *, const double *, const double *, const double *,
                        const double *, SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *) {
    return SUNMatZero(K) || SUNMatZero(C) || (Fz && SUNMatZero(Fz)) ? -1 : 0;
  }
  static int noConstraints(double, const double *, const double *, const double *, SUNMatrix Bq,
                           SUNMatrix Bu, void *) {
    return SUNMatZero(Bq) || SUNMatZero(Bu) ? -1 : 0;
  }
  static int positions(double t, const double *q, double *p, void *data) {
    return guarded(data, [=](Mechanism &m) {
      m.at(t, q);
      const Vector &errors = m.work.getQErr(); /* the errors of quaternions come last */
      for (int i = 0; i < m.np; i++) p[i] = errors[i];
    });
  }
  static int velocities(double t, const double *q, const double *u, double *v, void *data) {
    return guarded(data, [=](Mechanism &m) {
      m.at(t, q, u);
      copyOut(m.work.getUErr(), v);
      for (std::size_t j = 0; j < m.driven.size(); j++) { /* v is linear in u */
        const int k      = m.driven[j];
        const double off = u[k] - m.work.getU()[k];
        v[m.nv + int(j)] = off;
        for (int i = 0; off != 0.0 && i < m.nv; i++) v[i] += m.transposed()(k, i) * off;
      }
    });
  }
  static int bias(double t, const double *q, const double *u, double *b, void *data) {
    return guarded(data, [=](Mechanism &m) {
      m.at(t, q, u);
      Vector minus;
      m.matter.calcBiasForAccelerationConstraints(m.work, minus);
      for (int i = 0; i < m.na; i++) b[m.row(i)] = -minus[i];
      if (m.held.empty() && m.driven.empty() && m.pushed.empty()) return;
      m.accelerate();
      const Vector &udot      = m.work.getUDot();
      const Matrix &transpose = m.transposed();
      for (int k : m.held)
        for (int i = 0; i < m.na; i++) b[m.row(i)] -= transpose(k, i) * udot[k];
      double *of = b + m.nv;
      for (int k : m.driven) *of++ = udot[k];
      of += m.na - m.nv;
      for (int k : m.pushed) *of++ = udot[k];
    });
  }
  static int constraintMatrix(double t, const double *q, SUNMatrix A, void *data) {
    return guarded(data, [=](Mechanism &m) {
      m.at(t, q);
      const Matrix &transpose = m.transposed();
      for (int j = 0; j < m.nu; j++)
        for (int i = 0; i < m.na; i++) SM_ELEMENT_D(A, m.row(i), j) = transpose(j, i);
      for (int k : m.held)
        for (int i = 0; i < m.na; i++) SM_ELEMENT_D(A, m.row(i), k) = 0.0;
      int i = m.nv;
      for (int k : m.driven) SM_ELEMENT_D(A, i++, k) = 1.0;
      i += m.na - m.nv;
      for (int k : m.pushed) SM_ELEMENT_D(A, i++, k) = 1.0;
    });
  }
  static int massMatrix(double t, const double *q, SUNMatrix M, void *data) {
    return guarded(data, [=](Mechanism &m) {
      m.at(t, q);
      Matrix mass;
      m.matter.calcM(m.work, mass);
      for (int j = 0; j < m.nu; j++)
        for (int i = 0; i < m.nu; i++) SM_ELEMENT_D(M, i, j) = mass(i, j);
      for (int k : m.held) {
        for (int i = 0; i < m.nu; i++) SM_ELEMENT_D(M, i, k) = SM_ELEMENT_D(M, k, i) = 0.0;
        SM_ELEMENT_D(M, k, k) = 1.0;
      }
    });
  }
  /* f = -(inverse dynamics for u' = 0, except for prescribed u') */
  static int forces(double t, const double *q, const double *u, const double *z, double *f,
                    void *data) {
    return guarded(data, [=](Mechanism &m) {
      m.at(t, q, u, z);
      Vector udot(m.nu, 0.0), minus;
      if (m.held.empty()) m.evaluateForces();
      else m.accelerate();
      for (int k : m.held) udot[k] = m.work.getUDot()[k];
      m.matter.calcResidualForceIgnoringConstraints(
          m.work, m.system.getMobilityForces(m.work, Stage::Dynamics),
          m.system.getRigidBodyForces(m.work, Stage::Dynamics), udot, minus);
      for (int j = 0; j < m.nu; j++) f[j] = -minus[j];
      for (int k : m.held) f[k] = udot[k];
    });
  }
  static int kinematics(const double *q, CPMechKinematics what, const double *x, double *y,
                        void *data) {
    return guarded(data, [=](Mechanism &m) {
      const Kinematics &at = m.kinematicsAt(q);
      const bool fromU     = what == CP_N || what == CP_N_INVERSE_TRANSPOSE,
                 plain     = what == CP_N || what == CP_N_TRANSPOSE;
      for (MobilizedBodyIndex b(1); b < m.matter.getNumBodies(); ++b) {
        const MobilizedBody &body = m.matter.getMobilizedBody(b);
        const Matrix &block = at.blocks[!plain][std::size_t(b)]; /* maps from columns to rows */
        const int iq = body.getFirstQIndex(m.work), iu = body.getFirstUIndex(m.work);
        const bool transposes  = what == CP_N_TRANSPOSE || what == CP_N_INVERSE_TRANSPOSE;
        const double *const in = x + (fromU ? iu : iq);
        double *const out      = y + (fromU ? iq : iu);
        for (int i = 0; i < block.nrow(); i++)
          for (int j = 0; j < block.ncol(); j++)
            out[transposes ? j : i] += block(i, j) * in[transposes ? i : j];
      }
    });
  }
};

/* ---- set-up ---- */

void Mechanism::release() {
  CPMechFree(&mech);
  if (tmpl) N_VDestroy(tmpl);
  tmpl = nullptr;
}

bool Mechanism::fits(const State &state) const {
  return mech && state.getNQ() == nq && state.getNU() == nu && state.getNZ() == nz &&
         state.getNUErr() == nv && state.getNUDotErr() == na &&
         state.getNQErr() - matter.getNumQuaternionsInUse(state) == np;
}

void Mechanism::restart(const State &state) {
  work  = state;
  haveG = false;
  rates = Rates();
  start = Point();
  recent.clear();
  y.resize(static_cast<std::size_t>(state.getNY()));
  copyOut(Vector(state.getY()), y.data());
}

/* Does N consist of identities, and of the matrices of unit quaternions with the angular velocity
 * in the parent's frame (Ball, Free)? Checks this at the current state and at another one some
 * distance away. If so, cpodes needs no products with N, which would realize positions. */
bool Mechanism::simpleKinematics() const {
  State s = work;
  for (int trial = 0; trial < 2; trial++) {
    for (int i = 0; trial && i < nq; i++) s.updQ()[i] += 0.3 * std::sin(1.0 + i);
    system.realize(s, Stage::Position);
    const Vector &q = s.getQ();
    for (MobilizedBodyIndex b(1); b < matter.getNumBodies(); ++b) {
      const MobilizedBody &body = matter.getMobilizedBody(b);
      const int iq = body.getFirstQIndex(s), iu = body.getFirstUIndex(s), n = body.getNumU(s);
      const int quaternion = matter.isUsingQuaternion(s, b);
      if (body.getNumQ(s) != n + quaternion) return false;
      for (int k = 0; k < n; k++) {
        Vector unit(nu, 0.0), column, expected(nq, 0.0);
        unit[iu + k] = 1.0;
        matter.multiplyByN(s, false, unit, column);
        if (quaternion && k < 3) { /* 1/2 (0, e_k) o q */
          const double e0 = q[iq], e1 = q[iq + 1], e2 = q[iq + 2], e3 = q[iq + 3];
          const double twice[3][4] = {{-e1, e0, -e3, e2}, {-e2, e3, e0, -e1}, {-e3, -e2, e1, e0}};
          for (int r = 0; r < 4; r++) expected[iq + r] = twice[k][r] / 2;
        } else {
          expected[iq + k + quaternion] = 1.0;
        }
        if ((column - expected).normInf() > 1e-12) return false;
      }
    }
  }
  return true;
}

/* Simbody's norm is the largest of the RMS norms over q, u and z, whereas CPMechSetGroupNorms uses
 * their root sum of squares. The largest component is at most sqrt(n) times the RMS norm over all
 * n. A coordinate of a joint whose coordinates are not its velocities gets the joint's largest
 * weight, a bound of |N Wu N^+|. */
void Mechanism::setScales(double accuracy, bool infinity) {
  const int n = nq + nu + nz;
  perUnit     = (infinity ? std::sqrt(n) : 1.0) / accuracy;
  size.assign(static_cast<std::size_t>(n), 1.0);
  const Vector &wu = work.getUWeights(), &wz = work.getZWeights();
  for (MobilizedBodyIndex b(1); b < matter.getNumBodies(); ++b) {
    const MobilizedBody &body = matter.getMobilizedBody(b);
    const int iq = body.getFirstQIndex(work), iu = body.getFirstUIndex(work);
    double largest = 0.0;
    for (int k = 0; k < body.getNumU(work); k++) largest = std::max(largest, wu[iu + k]);
    for (int k = 0; k < body.getNumQ(work); k++)
      size[static_cast<std::size_t>(iq + k)] =
          1.0 / (body.getNumQ(work) == body.getNumU(work) ? wu[iu + k] : largest);
  }
  for (int j = 0; j < nu; j++) size[static_cast<std::size_t>(nq + j)] = 1.0 / wu[j];
  for (int k = 0; k < nz; k++) size[static_cast<std::size_t>(nq + nu + k)] = 1.0 / wz[k];
}

int Mechanism::weights(N_Vector y, N_Vector ewt, void *data) {
  const Mechanism &m    = *static_cast<Mechanism *>(CPMechGetUserData(static_cast<CPMech>(data)));
  const double *const x = N_VGetArrayPointer(y);
  double *const w       = N_VGetArrayPointer(ewt);
  for (int k = 0; k < m.nq + m.nu + m.nz; k++) w[k] = m.weightOf(k, x[k]);
  return 0;
}

CPEquations Mechanism::equations(const State &state, double tolerance) {
  nq = state.getNQ(), nu = state.getNU(), nz = state.getNZ();
  np = state.getNQErr() - matter.getNumQuaternionsInUse(state);
  nv = state.getNUErr(), na = state.getNUDotErr();
  restart(state);
  held.clear(), driven.clear(), pushed.clear();
  const auto isIn = [](const auto &list, int i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  };
  for (UIndex k : matter.getKnownUDotIndex(work)) {
    MobilizedBodyIndex b(1);
    while (matter.getMobilizedBody(b).getFirstUIndex(work) +
               matter.getMobilizedBody(b).getNumU(work) <=
           k)
      ++b;
    if (!isIn(matter.getFreeQIndex(work), matter.getMobilizedBody(b).getFirstQIndex(work)))
      held.push_back(k);
    else if (!isIn(matter.getFreeUIndex(work), k)) driven.push_back(k);
    else pushed.push_back(k);
  }
  limits = ProjectOptions(tolerance);
  limits.setOption(ProjectOptions::LocalOnly);
  limits.setOption(ProjectOptions::UseInfinityNorm);

  CPEquations model = CP_INIT(CPEquations);
  model.nq = nq, model.nu = nu, model.nz = nz, model.np = np;
  model.nv = nv + int(driven.size()), model.na = na + int(driven.size() + pushed.size());
  model.udot = Functions::udot;
  /* Terms cancel in the entries of A, which are those of coordinates of joints: the roundoff of a row is not that of its entries. */
  model.typical = 1.0;
  model.M       = Functions::massMatrix;
  model.f       = Functions::forces;
  if (nz) model.zdot = Functions::zdot;
  if (np) model.p = Functions::positions;
  if (model.nv) model.v = Functions::velocities;
  if (model.na) model.b = Functions::bias, model.A = Functions::constraintMatrix;
  simple = simpleKinematics();
  if (!simple) model.N = Functions::kinematics;
  takeQuaternions(model);
  return model;
}

void Mechanism::takeQuaternions(CPEquations &model) {
  quaternions.clear(), norms.clear();
  for (MobilizedBodyIndex b(1); b < matter.getNumBodies(); ++b) {
    if (!matter.isUsingQuaternion(work, b)) continue;
    const MobilizedBody &body = matter.getMobilizedBody(b);
    const int q = body.getFirstQIndex(work), u = body.getFirstUIndex(work);
    if (simple) quaternions.push_back({q, u, CP_FRAME_WORLD});
    else norms.push_back({q, 4, 1.0});
  }
  model.quaternions = quaternions.data(), model.nquaternions = int(quaternions.size());
  model.norms = norms.data(), model.nnorms = int(norms.size());
}

int Mechanism::create(const State &state, double accuracy, bool infinity, double tolerance,
                      bool auxiliary, SUNContext ctx) {
  release();
  auxiliaryOnly     = auxiliary;
  pattern           = Pattern();
  CPEquations model = equations(state, tolerance);
  /* used for iterations only, not for results */
  if (nz) model.auxiliary_jac = Functions::auxiliaryJacobian, model.differenced = 1;
  if (auxiliaryOnly) model.dynamics_jac = Functions::noDynamics;
  if (auxiliaryOnly && model.na) model.constraint_jac = Functions::noConstraints;
  setScales(accuracy, infinity);
  tmpl         = N_VNew_Serial(nq + nu + nz, ctx);
  CPModel made = CPModelCreate(&model);
  mech         = tmpl && made ? CPMechCreate(made, tmpl, ctx) : nullptr;
  CPModelFree(&made);
  if (!mech) return CP_MEM_FAIL;
  int flag = CPMechSetUserData(mech, this);
  if (!flag) flag = CPMechSetGroupNorms(mech, !infinity);
  /* cpodes measures a violation by the size of its correction in the error test. show() uses
   * Simbody's measure. */
  if (!flag)
    flag =
        CPProjectorSetEps(CPMechGetProjector(mech), std::min(CP_EPS_DEFAULT, tolerance / accuracy));
  return flag;
}

/* ---- states ---- */

void Mechanism::assemble(State &state, const ProjectOptions &options) const {
  Vector none;
  ProjectResults results;
  const double tolerance = options.getRequiredAccuracy();
  /* Where motions and locks leave nothing free, Simbody's projections are not defined; 3.7 crashes. */
  const auto closed = [tolerance](const Vector &error, const Vector &weight) {
    for (int i = 0; i < error.size(); i++)
      if (!(std::fabs(error[i]) * weight[i] <= tolerance))
        throw std::runtime_error(
            "All coordinates are locked or prescribed, and violate a constraint.");
  };
  system.realize(state, Stage::Time);
  system.prescribeQ(state);
  system.realize(state, Stage::Position);
  if (matter.getFreeQIndex(state).empty()) closed(state.getQErr(), state.getQErrWeights());
  else system.projectQ(state, none, options, results);
  system.prescribeU(state);
  system.realize(state, Stage::Velocity);
  results.clear();
  if (matter.getFreeUIndex(state).empty()) closed(state.getUErr(), state.getUErrWeights());
  else system.projectU(state, none, options, results);
}

void Mechanism::place(double t, N_Vector from, State &state) {
  state.setTime(t);
  copyIn(N_VGetArrayPointer(from), state.updY());
}

void Mechanism::show(double t, N_Vector from, State &state) const {
  place(t, from, state);
  assemble(state);
}

void Mechanism::read(const State &state, N_Vector y) {
  copyOut(Vector(state.getY()), N_VGetArrayPointer(y));
}

} // namespace cpodes
