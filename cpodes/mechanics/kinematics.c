/* q' = N(q) u: pairs q_i' = u_j and quaternions, or the user's N.
 *
 * For a quaternion p = (w, v) with angular velocity o, p' = 1/2 p o (0, o) in the body frame and
 * p' = 1/2 (0, o) o p in the world frame. With the sign s = +1 and -1, respectively,
 *
 *   N o = 1/2 ( -v.o,  w o + s v x o ),   N^T (a, b) = 1/2 ( -a v + w b - s v x b )
 *
 * and N^T N = |p|^2 / 4, so that N^+ = 4 N^T / |p|^2. */
#include "kinematics.h"

#include <math.h>
#include <string.h>

/* ---- quaternions ---- */

static double signOf(const CPMechQuaternion *Q) { return Q->frame == CP_FRAME_BODY ? 1.0 : -1.0; }

/* y [4] = 2 c N(p) o */
static void quaternionN(const CPMechQuaternion *Q, double c, const double *p, const double *o,
                        double *y) {
  const double s = signOf(Q), w = p[0], *v = p + 1;
  y[0] = -c * (v[0] * o[0] + v[1] * o[1] + v[2] * o[2]);
  y[1] = c * (w * o[0] + s * (v[1] * o[2] - v[2] * o[1]));
  y[2] = c * (w * o[1] + s * (v[2] * o[0] - v[0] * o[2]));
  y[3] = c * (w * o[2] + s * (v[0] * o[1] - v[1] * o[0]));
}

/* y [3] = 2 c N(p)^T x */
static void quaternionNT(const CPMechQuaternion *Q, double c, const double *p, const double *x,
                         double *y) {
  const double s = signOf(Q), w = p[0], *v = p + 1, a = x[0], *b = x + 1;
  y[0] = c * (-a * v[0] + w * b[0] - s * (v[1] * b[2] - v[2] * b[1]));
  y[1] = c * (-a * v[1] + w * b[1] - s * (v[2] * b[0] - v[0] * b[2]));
  y[2] = c * (-a * v[2] + w * b[2] - s * (v[0] * b[1] - v[1] * b[0]));
}

/* ---- all coordinates ---- */

int cpMechAnyKinematics(CPMech mech, const sunrealtype *q, CPMechKinematics what, const double *x,
                        double *y) {
  const int to_q = what == CP_N || what == CP_N_INVERSE_TRANSPOSE;
  if (mech->eq->N) {
    memset(y, 0, (size_t)(to_q ? mech->nq : mech->nu) * sizeof *y);
    const int flag = cpMechCall(mech, N, q, what, x, y);
    return cpMechChecked(mech, flag, NAN, "N", y, to_q ? mech->nq : mech->nu);
  }
  for (int j = 0; j < mech->nu; j++) {
    const int i = mech->coords->pair[j];
    if (i < 0) continue;
    if (to_q) y[i] = x[j];
    else y[j] = x[i];
  }
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    const CPMechQuaternion *Q = &mech->coords->quaternions[k];
    const double *p = q + Q->first_q, square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
    const double c = what == CP_N || what == CP_N_TRANSPOSE ? 0.5 : 2.0 / square; /* N^+ */
    if (to_q) quaternionN(Q, c, p, x + Q->first_u, y + Q->first_q);
    else quaternionNT(Q, c, p, x + Q->first_q, y + Q->first_u);
  }
  return CP_SUCCESS;
}

int cpMechColumn(CPMech mech, const sunrealtype *q, int j, double *column) {
  double *e      = mech->room.unit;
  e[j]           = 1.0;
  const int flag = cpMechKinematics(mech, q, CP_N, e, column);
  e[j]           = 0.0;
  return flag;
}

int cpMechMove(CPMech mech, const sunrealtype *q, const double *w, double *result) {
  const int flag = cpMechKinematics(mech, q, CP_N, w, result);
  for (int i = 0; !flag && i < mech->nq; i++) result[i] += q[i];
  return flag;
}

double cpMechFastestTurn(const CPMech mech, const double *u) {
  const CPEquations *model = mech->eq;
  double fastest           = 0.0;
  for (int j = 0, k = 0; j < mech->nu; j++) {
    const int i = mech->coords->pair[j];
    for (k = 0; i >= 0 && k < model->nangles && model->angles[k] != i;) k++;
    if (i < 0 || k < model->nangles) fastest = fmax(fastest, fabs(u[j]));
  }
  return fastest;
}

double cpMechLargestCoordinate(const CPMech mech, const double *q) {
  const CPMechQuaternion *Q = mech->coords->quaternions;
  double largest            = mech->eq->typical;
  int i                     = 0;
  for (int k = 0; k < mech->coords->nquaternions; i = Q[k++].first_q + 4)
    largest = fmax(largest, cpLargest(q + i, Q[k].first_q - i));
  return fmax(largest, cpLargest(q + i, mech->nq - i));
}

int cpMechNormalise(CPMech mech, sunrealtype t, double *q) {
  for (int k = 0; k < cpMechNumNorms(mech); k++) {
    const CPUnitNorm n = cpMechNorm(mech, k);
    const double norm  = sqrt(cpDot(q + n.first, q + n.first, n.length));
    if (!(norm > 0.0) || isinf(norm))
      return cpReason(mech->text, -CP_QUATERNION_ZERO,
                      "at t = %.10g: coordinates %d to %d must have the norm %g, and have %g", t,
                      n.first, n.first + n.length - 1, n.value, norm);
    for (int i = n.first; i < n.first + n.length; i++) q[i] *= n.value / norm;
  }
  return CP_SUCCESS;
}
