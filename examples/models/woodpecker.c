#include "woodpecker.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Masses [kg], inertias [kg m^2] and lengths [m]: M of the sleeve, S of the bird, O of the pole */
static const sunrealtype m_M = 3e-4, J_M = 5e-9, m_S = 4.5e-3, J_S = 7e-7, r_O = 2.5e-3,
                         r_M = 3.1e-3, h_M = 5.8e-3, l_M = 0.010, l_G = 0.015, h_S = 0.02,
                         l_S = 0.0201;

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = m_S + m_M;
  SM_ELEMENT_D(M, 0, 1) = SM_ELEMENT_D(M, 1, 0) = m_S * l_M;
  SM_ELEMENT_D(M, 0, 2) = SM_ELEMENT_D(M, 2, 0) = m_S * l_G;
  SM_ELEMENT_D(M, 1, 1)                         = J_M + m_S * l_M * l_M;
  SM_ELEMENT_D(M, 1, 2) = SM_ELEMENT_D(M, 2, 1) = m_S * l_M * l_G;
  SM_ELEMENT_D(M, 2, 2)                         = J_S + m_S * l_G * l_G;
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)u, (void)z;
  const Woodpecker *w      = user_data;
  const sunrealtype moment = w->c * (q[1] - q[2]);
  f[0]                     = -(m_S + m_M) * w->g;
  f[1]                     = -moment - m_S * w->g * l_M;
  f[2]                     = moment - m_S * w->g * l_G;
  return 0;
}

static int gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = l_M + l_G - l_S - r_O - h_S * q[2];
  p[1] = r_M - r_O + h_M * q[1];
  p[2] = r_M - r_O - h_M * q[1];
  return 0;
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  const sunrealtype row[6][3] = {{0, 0, -h_S},        {0, h_M, 0}, {0, -h_M, 0},
                                 {1, l_M, l_G - l_S}, {1, r_M, 0}, {1, r_M, 0}};
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 3; j++) SM_ELEMENT_D(A, i, j) = row[i][j];
  return 0;
}

static int no_curvature(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                        void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  for (int i = 0; i < 6; i++) b[i] = 0;
  return 0;
}

CPEquations woodpecker_model(void) {
  return (CPEquations){CP_SIZED(CPEquations), .nu = 3,   .np = 3,   .nv = 6,          .M = mass,
                       .f = forces,           .p = gaps, .A = rows, .b = no_curvature};
}

void woodpecker_contacts(sunrealtype mu, sunrealtype e, CPContactPoint *contact) {
  static const char *const names[] = {"beak", "lower edge", "upper edge"};
  for (int i = 0; i < WOODPECKER_CONTACTS; i++)
    contact[i] =
        (CPContactPoint){CP_SIZED(CPContactPoint),           .name = names[i], .normal = i,
                         .tangent = WOODPECKER_CONTACTS + i, .ntangents = 1,   .law.mu = mu,
                         .law.restitution = i == 0 ? e : 0};
}

void woodpecker_initial(N_Vector y) {
  sunrealtype *s = N_VGetArrayPointer(y);
  s[0]           = 0;
  s[1]           = (r_O - r_M) / h_M;
  s[2]           = -0.2788;
  s[3]           = -0.3411;
  s[4]           = 0;
  s[5]           = -7.4583;
}

sunrealtype woodpecker_energy(const Woodpecker *w, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + 3;
  const sunrealtype v_S = u[0] + l_M * u[1] + l_G * u[2], y_S = q[0] + l_M * q[1] + l_G * q[2];
  const sunrealtype twist = q[1] - q[2];
  return (m_M * u[0] * u[0] + m_S * v_S * v_S + J_M * u[1] * u[1] + J_S * u[2] * u[2] +
          w->c * twist * twist) /
             2 +
         w->g * (m_M * q[0] + m_S * y_S);
}

void woodpecker_points(N_Vector y, sunrealtype (*x)[2]) {
  const sunrealtype *q = N_VGetArrayPointer(y), foot = -0.1, head = 0.03;
  const sunrealtype spring[2] = {l_M, q[0] + l_M * q[1]};
  const sunrealtype c = cos(q[2]), s = sin(q[2]);
  const sunrealtype bird[3][2] = {{l_G, 0}, {l_G - l_S, h_S}, {l_G, -h_S}};
  for (int i = 0; i < 4; i++) {
    x[i][0] = i % 2 ? r_O : -r_O;
    x[i][1] = i < 2 ? foot : head;
  }
  for (int i = 4; i < 8; i++) x[i][0] = 0, x[i][1] = q[0];
  x[5][0] += r_M * cos(q[1]), x[5][1] += r_M * sin(q[1]);
  x[6][0] -= h_M * sin(q[1]), x[6][1] += h_M * cos(q[1]);
  for (int k = 0; k < 2; k++) x[8][k] = spring[k];
  for (int i = 0; i < 3; i++) {
    x[9 + i][0] = spring[0] + c * bird[i][0] - s * bird[i][1];
    x[9 + i][1] = spring[1] + s * bird[i][0] + c * bird[i][1];
  }
}
