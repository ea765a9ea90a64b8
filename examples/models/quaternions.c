#include "quaternions.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

void quaternion_times(const sunrealtype p[4], sunrealtype s, const sunrealtype v[3],
                      sunrealtype r[4]) {
  r[0] = p[0] * s - p[1] * v[0] - p[2] * v[1] - p[3] * v[2];
  r[1] = p[0] * v[0] + s * p[1] + p[2] * v[2] - p[3] * v[1];
  r[2] = p[0] * v[1] + s * p[2] + p[3] * v[0] - p[1] * v[2];
  r[3] = p[0] * v[2] + s * p[3] + p[1] * v[1] - p[2] * v[0];
}

void quaternion_turned(const sunrealtype p[4], const sunrealtype axis[3], sunrealtype angle,
                       sunrealtype r[4]) {
  sunrealtype v[3];
  for (int k = 0; k < 3; k++) v[k] = sin(angle / 2) * axis[k];
  quaternion_times(p, cos(angle / 2), v, r);
}

int quaternions_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  const Quaternions *b = user_data;
  const sunrealtype *J = b->J, *q = N_VGetArrayPointer(y), *omega = q + 4 * b->n;
  sunrealtype *q_dot = N_VGetArrayPointer(ydot), *omega_dot = q_dot + 4 * b->n;

  for (sunindextype i = 0; i < b->n; i++, q += 4, q_dot += 4, omega += 3, omega_dot += 3) {
    quaternion_times(q, 0, omega, q_dot);
    for (int k = 0; k < 4; k++) q_dot[k] /= 2;
    omega_dot[0] = (J[1] - J[2]) / J[0] * omega[1] * omega[2];
    omega_dot[1] = (J[2] - J[0]) / J[1] * omega[2] * omega[0];
    omega_dot[2] = (J[0] - J[1]) / J[2] * omega[0] * omega[1];
  }
  return 0;
}

int quaternions_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const sunindextype n = ((const Quaternions *)user_data)->n;
  const sunrealtype *q = N_VGetArrayPointer(y);
  sunrealtype *r       = N_VGetArrayPointer(c);
  for (sunindextype i = 0; i < n; i++, q += 4)
    r[i] = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1) / 2;
  return 0;
}

int quaternions_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c;
  const sunindextype n = ((const Quaternions *)user_data)->n;
  const sunrealtype *q = N_VGetArrayPointer(y);
  const int sparse     = SUNMatGetID(G) == SUNMATRIX_SPARSE;

  /* both by columns and by rows the entries are those of q in their order */
  for (sunindextype j = 0; j < 4 * n; j++) {
    if (sparse) {
      SM_DATA_S(G)[j] = q[j];
    } else {
      SM_ELEMENT_D(G, j / 4, j) = q[j];
    }
  }
  return 0;
}

SUNMatrix quaternions_pattern(sunindextype n, int type, SUNContext ctx) {
  SUNMatrix G = SUNSparseMatrix(n, 7 * n, 4 * n, type, ctx);
  if (!G) return NULL;
  sunindextype *start = SM_INDEXPTRS_S(G), *index = SM_INDEXVALS_S(G);
  for (sunindextype j = 0; j < 4 * n; j++) index[j] = type == CSC_MAT ? j / 4 : j;
  for (sunindextype p = 0; p <= SM_NP_S(G); p++) { /* the columns of omega are empty */
    const sunindextype entries = type == CSC_MAT ? p : 4 * p;
    start[p]                   = entries < 4 * n ? entries : 4 * n;
  }
  return G;
}

void quaternions_initial(const Quaternions *b, N_Vector y) {
  sunrealtype *q = N_VGetArrayPointer(y), *omega = q + 4 * b->n;
  for (sunindextype i = 0; i < b->n; i++, q += 4, omega += 3) {
    const sunrealtype k = (sunrealtype)i, half = SUN_RCONST(0.35) * k, s = sin(half) / 3;
    q[0] = cos(half), q[1] = s, q[2] = 2 * s, q[3] = 2 * s;
    omega[0] = cos(k), omega[1] = sin(k), omega[2] = SUN_RCONST(0.5) + 1 / (k + 1);
  }
}

void quaternions_exact(const Quaternions *b, sunrealtype t, N_Vector y0, N_Vector y) {
  const sunrealtype *q0 = N_VGetArrayPointer(y0), *omega = q0 + 4 * b->n;
  sunrealtype *q = N_VGetArrayPointer(y), *omega_t = q + 4 * b->n;
  for (sunindextype i = 0; i < b->n; i++, q0 += 4, q += 4, omega += 3, omega_t += 3) {
    const sunrealtype rate = sqrt(omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2]);
    const sunrealtype half = rate * t / 2, along = rate > 0 ? sin(half) / rate : 0;
    sunrealtype axis[3];
    for (int k = 0; k < 3; k++) axis[k] = along * (omega_t[k] = omega[k]);
    quaternion_times(q0, cos(half), axis, q);
  }
}

sunrealtype quaternions_energy(const Quaternions *b, N_Vector y) {
  const sunrealtype *omega = N_VGetArrayPointer(y) + 4 * b->n;
  sunrealtype energy       = 0;
  for (sunindextype i = 0; i < 3 * b->n; i++) energy += b->J[i % 3] * omega[i] * omega[i] / 2;
  return energy;
}

/* L = q (0; J omega) q^* */
void quaternions_momentum(const Quaternions *b, N_Vector y, sunindextype body, sunrealtype L[3]) {
  const sunrealtype *q     = N_VGetArrayPointer(y) + 4 * body;
  const sunrealtype *omega = N_VGetArrayPointer(y) + 4 * b->n + 3 * body;
  sunrealtype spin[3], half[4], turned[4];
  for (int k = 0; k < 3; k++) spin[k] = b->J[k] * omega[k];
  const sunrealtype conjugate[3] = {-q[1], -q[2], -q[3]};
  quaternion_times(q, 0, spin, half);
  quaternion_times(half, q[0], conjugate, turned);
  for (int k = 0; k < 3; k++) L[k] = turned[k + 1];
}
