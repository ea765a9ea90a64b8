/* Three parallel cranks in the plane, and the coupler that they carry. Bodies in absolute coordinates (x, y, phi): cranks
 * 0, 1, 2 of the length L with their bearings at (X_i, 0), coupler 3.
 *
 *   p = (x_i - L/2 cos phi_i - X_i,  y_i - L/2 sin phi_i)                                      bearings
 *   p = (x_i + L/2 cos phi_i - x_3 - h_i cos phi_3,  y_i + L/2 sin phi_i - y_3 - h_i sin phi_3)  pins
 *
 * The coupler keeps its direction, and all cranks have one angle phi:
 *
 *   (3 (m L^2/4 + J) + M L^2) phi'' = -g L (3 m/2 + M) cos phi
 *
 * Two cranks are enough for that: one of the 12 rows is redundant, except where all points are in line, sin phi = 0,
 * when more are. The motion stays away from there. Without the last row (y of the third pin) the motion is the same, and
 * the rows are independent, also as long as sin phi is not 0.
 */
#include "mechanisms.h"

#include "models/extrapolation.h"
#include <math.h>
#include <models/plugin.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { CRANKS = 3, COUPLER = CRANKS, BODIES, NU = 3 * BODIES, ROWS = 4 * CRANKS };

static const sunrealtype L = 0.8, BEARING[CRANKS] = {0, 1, 2.5}, MIDDLE = 1.2, /* of the coupler */
    MASS[BODIES] = {1, 1, 1, 2}, MOMENT[BODIES] = {0.06, 0.06, 0.06, 1.1}, G = 9.81, START = -0.7;

/* p_row = x_i[k] + r_i e_k(phi_i) - (x_j[k] + r_j e_k(phi_j)),  e = (cos, sin); without a body j it is (X, 0) */
typedef struct {
  int k, i, j; /* j < 0: the ground */
  sunrealtype r_i, r_j, X;
} Row;

static Row row_of(int row) {
  const int crank = row % 6 / 2, pin = row >= 6;
  if (pin) return (Row){row % 2, crank, COUPLER, L / 2, BEARING[crank] - MIDDLE, 0};
  return (Row){row % 2, crank, -1, -L / 2, 0, row % 2 ? 0 : BEARING[crank]};
}

/* Derivative of order n of e_k */
static sunrealtype e(int k, int n, sunrealtype phi) {
  static const int sign[4] = {1, -1, -1, 1};        /* of the derivatives of cos */
  n                        = (n + (k ? 3 : 0)) % 4; /* sin = cos''' */
  return sign[n] * (n % 2 ? sin(phi) : cos(phi));
}

static int rows_of(const void *user_data) { return *(const int *)user_data; }

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < NU; i++) SM_ELEMENT_D(M, i, i) = i % 3 == 2 ? MOMENT[i / 3] : MASS[i / 3];
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  for (int i = 0; i < NU; i++) f[i] = i % 3 == 1 ? -G * MASS[i / 3] : 0;
  return 0;
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  for (int row = 0; row < rows_of(user_data); row++) {
    const Row c = row_of(row);
    p[row]      = q[3 * c.i + c.k] + c.r_i * e(c.k, 0, q[3 * c.i + 2]) - c.X;
    if (c.j >= 0) p[row] -= q[3 * c.j + c.k] + c.r_j * e(c.k, 0, q[3 * c.j + 2]);
  }
  return 0;
}

static int matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  for (int row = 0; row < rows_of(user_data); row++) {
    const Row c                         = row_of(row);
    SM_ELEMENT_D(A, row, 3 * c.i + c.k) = 1;
    SM_ELEMENT_D(A, row, 3 * c.i + 2)   = c.r_i * e(c.k, 1, q[3 * c.i + 2]);
    if (c.j < 0) continue;
    SM_ELEMENT_D(A, row, 3 * c.j + c.k) = -1;
    SM_ELEMENT_D(A, row, 3 * c.j + 2)   = -c.r_j * e(c.k, 1, q[3 * c.j + 2]);
  }
  return 0;
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *user_data) {
  (void)t;
  for (int row = 0; row < rows_of(user_data); row++) {
    const Row c = row_of(row);
    v[row]      = u[3 * c.i + c.k] + c.r_i * e(c.k, 1, q[3 * c.i + 2]) * u[3 * c.i + 2];
    if (c.j >= 0) v[row] -= u[3 * c.j + c.k] + c.r_j * e(c.k, 1, q[3 * c.j + 2]) * u[3 * c.j + 2];
  }
  return 0;
}

static int accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                         void *user_data) {
  (void)t;
  for (int row = 0; row < rows_of(user_data); row++) {
    const Row c            = row_of(row);
    const sunrealtype rate = u[3 * c.i + 2];
    b[row]                 = -c.r_i * e(c.k, 2, q[3 * c.i + 2]) * rate * rate;
    if (c.j >= 0) b[row] += c.r_j * e(c.k, 2, q[3 * c.j + 2]) * u[3 * c.j + 2] * u[3 * c.j + 2];
  }
  return 0;
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)u, (void)z, (void)udot, (void)C, (void)Fz;
  for (int row = 0; row < rows_of(user_data); row++) {
    const Row c = row_of(row);
    const int i = 3 * c.i + 2, j = 3 * c.j + 2;
    SM_ELEMENT_D(K, i, i) -= lambda[row] * c.r_i * e(c.k, 2, q[i]);
    if (c.j >= 0) SM_ELEMENT_D(K, j, j) += lambda[row] * c.r_j * e(c.k, 2, q[j]);
  }
  return 0;
}

/* b - A u' = -sum r (e'' phi'^2 + e' phi'') */
static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t;
  for (int row = 0; row < rows_of(user_data); row++) {
    const Row c = row_of(row);
    for (int other = 0; other < 2; other++) {
      const int body = other ? c.j : c.i, at = 3 * body + 2;
      const sunrealtype r = other ? -c.r_j : c.r_i;
      if (body < 0) continue;
      SM_ELEMENT_D(Bq, row, at) -=
          r * (e(c.k, 3, q[at]) * u[at] * u[at] + e(c.k, 2, q[at]) * udot[at]);
      SM_ELEMENT_D(Bu, row, at) -= 2 * r * e(c.k, 2, q[at]) * u[at];
    }
  }
  return 0;
}

/* ------------------------------------------------------------------------------------ reference -- */

/* state (phi, phi') */
static int crank_rhs(sunrealtype t, N_Vector state, N_Vector rate, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *z        = N_VGetArrayPointer(state);
  N_VGetArrayPointer(rate)[0] = z[1];
  N_VGetArrayPointer(rate)[1] = -G * L * (CRANKS * MASS[0] / 2 + MASS[COUPLER]) * cos(z[0]) /
                                (CRANKS * (MASS[0] * L * L / 4 + MOMENT[0]) + MASS[COUPLER] * L * L);
  return 0;
}

/* Body i of the angle phi at x, moving with the tangent of the circle with the radius r */
static void place(int i, sunrealtype x, sunrealtype r, const sunrealtype z[2], N_Vector y) {
  sunrealtype *q = N_VGetArrayPointer(y) + 3 * i, *u = q + NU;
  q[0] = x + r * cos(z[0]);
  q[1] = r * sin(z[0]);
  u[0] = -r * sin(z[0]) * z[1];
  u[1] = r * cos(z[0]) * z[1];
  q[2] = i == COUPLER ? 0 : z[0];
  u[2] = i == COUPLER ? 0 : z[1];
}

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  sunrealtype z[2] = {START, 0};
  (void)model;
  if (t > 0) {
    N_Vector state = N_VMake_Serial(2, z, y->sunctx);
    const int flag = state ? extrapolate(crank_rhs, NULL, 0, t, (int)ceil(20 * t), state) : -1;
    if (state) N_VDestroy(state);
    if (flag) return 1;
  }
  for (int i = 0; i < CRANKS; i++) place(i, BEARING[i], L / 2, z, y);
  place(COUPLER, MIDDLE, L, z, y);
  return 0;
}

static sunrealtype energy(const CPPlugin *model, int index, sunrealtype t, N_Vector y) {
  (void)index;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + NU;
  sunrealtype sum = 0;
  (void)model, (void)t;
  for (int i = 0; i < NU; i++) {
    sum += (i % 3 == 2 ? MOMENT[i / 3] : MASS[i / 3]) * u[i] * u[i] / 2;
    if (i % 3 == 1) sum += MASS[i / 3] * G * q[i];
  }
  return sum;
}

static const CPPluginParameter parameters[] = {
    {"redundant", "", "1: all 12 rows; 0: 11 independent ones", 1, 0, 1},
};

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 20},
};

static int create(CPPlugin *model) {
  static int rows[2] = {ROWS - 1, ROWS};
  int *here          = &rows[model->parameter[0] > 0.5];
  if (plugin_start(model, 2 * NU)) return -1;
  model->data = here;
  if (reference(model, 0, model->y0)) return -1;
  model->mech            = (CPEquations){CP_SIZED(CPEquations),
                                         .nu             = NU,
                                         .np             = *here,
                                         .M              = mass,
                                         .A              = matrix,
                                         .f              = forces,
                                         .p              = positions,
                                         .v              = velocities,
                                         .b              = accelerations,
                                         .dynamics_jac   = dynamics_jac,
                                         .constraint_jac = constraint_jac};
  model->known           = 1;
  model->reference_error = 1e-13;
  return 0;
}

static void destroy(CPPlugin *model) { (void)model; }

const CPPluginType cranks_type = {
    .name        = "cranks",
    .title       = "Three parallel cranks",
    .source      = "cranks.c",
    .t_end       = 10,
    .parameters  = parameters,
    .nparameters = 1,
    .quantities  = quantities,
    .nquantities = 1,
    .create      = create,
    .destroy     = destroy,
    .reference   = reference,
};
