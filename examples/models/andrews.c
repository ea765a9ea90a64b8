#include "andrews.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* -------------------------------------------------------------------------------- parameters -- */

/* masses [kg], moments of inertia [kg m^2] */
static const sunrealtype m1 = 0.04325, m2 = 0.00365, m3 = 0.02373, m4 = 0.00706, m5 = 0.07050,
                         m6 = 0.00706, m7 = 0.05498;
static const sunrealtype I1 = 2.194e-6, I2 = 4.410e-7, I3 = 5.255e-6, I4 = 5.667e-7, I5 = 1.169e-5,
                         I6 = 5.667e-7, I7 = 1.912e-5;
/* fixed points A, B, C and lengths [m] */
static const sunrealtype xa = -0.06934, ya = -0.00227, xb = -0.03635, yb = 0.03273, xc = 0.014,
                         yc = 0.072;
static const sunrealtype d = 0.028, da = 0.0115, e = 0.02, ea = 0.01421, rr = 0.007, ra = 0.00092,
                         ss = 0.035, sa = 0.01874, sb = 0.01043, sc = 0.018, sd = 0.02,
                         ta = 0.02308, tb = 0.00916, u = 0.04, ua = 0.01228, ub = 0.00449,
                         zf = 0.02, zt = 0.04, fa = 0.01421;
/* spring [N/m, m] and torque [N m] */
static const sunrealtype c0 = 4530, l0 = 0.07785, mom = 0.033;

enum { BETA, THETA, GAMMA, PHI, DELTA, OMEGA, EPSILON };

/* -------------------------------------------------------------------------- masses and forces -- */

static void masses(const sunrealtype *q, sunrealtype M[ANDREWS_NQ][ANDREWS_NQ]) {
  const sunrealtype c_theta = cos(q[THETA]), s_phi = sin(q[PHI]), s_omega = sin(q[OMEGA]);
  const sunrealtype h = e - ea, k = zf - fa;

  memset(M, 0, ANDREWS_NQ * sizeof *M);
  M[0][0] = m1 * ra * ra + m2 * (rr * rr - 2 * da * rr * c_theta + da * da) + I1 + I2;
  M[0][1] = M[1][0] = m2 * (da * da - da * rr * c_theta) + I2;
  M[1][1]           = m2 * da * da + I2;
  M[2][2]           = m3 * (sa * sa + sb * sb) + I3;
  M[3][3]           = m4 * h * h + I4;
  M[3][4] = M[4][3] = m4 * (h * h + zt * h * s_phi) + I4;
  M[4][4] = m4 * (zt * zt + 2 * zt * h * s_phi + h * h) + m5 * (ta * ta + tb * tb) + I4 + I5;
  M[5][5] = m6 * k * k + I6;
  M[5][6] = M[6][5] = m6 * (k * k - u * k * s_omega) + I6;
  M[6][6] = m6 * (k * k - 2 * u * k * s_omega + u * u) + m7 * (ua * ua + ub * ub) + I6 + I7;
}

static int mass_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix Mmat, void *user_data) {
  (void)t, (void)user_data;
  sunrealtype M[ANDREWS_NQ][ANDREWS_NQ];
  masses(q, M);
  for (int i = 0; i < ANDREWS_NQ; i++)
    for (int j = 0; j < ANDREWS_NQ; j++) SM_ELEMENT_D(Mmat, i, j) = M[i][j];
  return 0;
}

/* The spring's vector (x, y) from C to D, the point of the body gamma that it pulls at; its length */
static sunrealtype spring(sunrealtype gamma, sunrealtype *x, sunrealtype *y) {
  *x = sd * cos(gamma) + sc * sin(gamma) + xb - xc;
  *y = sd * sin(gamma) - sc * cos(gamma) + yb - yc;
  return hypot(*x, *y);
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *v, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)z, (void)user_data;
  const sunrealtype c_gamma = cos(q[GAMMA]), s_gamma = sin(q[GAMMA]);
  sunrealtype x, y;
  const sunrealtype L = spring(q[GAMMA], &x, &y), F = -c0 * (L - l0) / L;
  const sunrealtype arm  = m2 * da * rr * sin(q[THETA]);
  const sunrealtype fork = m4 * zt * (e - ea) * cos(q[PHI]),
                    rod  = m6 * u * (zf - fa) * cos(q[OMEGA]);

  f[0] = mom - arm * v[THETA] * (v[THETA] + 2 * v[BETA]);
  f[1] = arm * v[BETA] * v[BETA];
  f[2] = F * (x * (sc * c_gamma - sd * s_gamma) + y * (sd * c_gamma + sc * s_gamma));
  f[3] = fork * v[DELTA] * v[DELTA];
  f[4] = -fork * v[PHI] * (v[PHI] + 2 * v[DELTA]);
  f[5] = -rod * v[EPSILON] * v[EPSILON];
  f[6] = rod * v[OMEGA] * (v[OMEGA] + 2 * v[EPSILON]);
  return 0;
}

/* ------------------------------------------------------------------------------- constraints -- */

static int position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype bt = q[BETA] + q[THETA], pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  const sunrealtype X = rr * cos(q[BETA]) - d * cos(bt), Y = rr * sin(q[BETA]) - d * sin(bt);

  p[0] = X - ss * sin(q[GAMMA]) - xb;
  p[1] = Y + ss * cos(q[GAMMA]) - yb;
  p[2] = X - e * sin(pd) - zt * cos(q[DELTA]) - xa;
  p[3] = Y + e * cos(pd) - zt * sin(q[DELTA]) - ya;
  p[4] = X - zf * cos(oe) - u * sin(q[EPSILON]) - xa;
  p[5] = Y - zf * sin(oe) + u * cos(q[EPSILON]) - ya;
  return 0;
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype bt = q[BETA] + q[THETA], pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];

  for (int row = 0; row < ANDREWS_NP; row += 2) { /* X and Y */
    SM_ELEMENT_D(A, row, BETA)      = -rr * sin(q[BETA]) + d * sin(bt);
    SM_ELEMENT_D(A, row, THETA)     = d * sin(bt);
    SM_ELEMENT_D(A, row + 1, BETA)  = rr * cos(q[BETA]) - d * cos(bt);
    SM_ELEMENT_D(A, row + 1, THETA) = -d * cos(bt);
  }
  SM_ELEMENT_D(A, 0, GAMMA)   = -ss * cos(q[GAMMA]);
  SM_ELEMENT_D(A, 1, GAMMA)   = -ss * sin(q[GAMMA]);
  SM_ELEMENT_D(A, 2, PHI)     = -e * cos(pd);
  SM_ELEMENT_D(A, 2, DELTA)   = -e * cos(pd) + zt * sin(q[DELTA]);
  SM_ELEMENT_D(A, 3, PHI)     = -e * sin(pd);
  SM_ELEMENT_D(A, 3, DELTA)   = -e * sin(pd) - zt * cos(q[DELTA]);
  SM_ELEMENT_D(A, 4, OMEGA)   = zf * sin(oe);
  SM_ELEMENT_D(A, 4, EPSILON) = zf * sin(oe) - u * cos(q[EPSILON]);
  SM_ELEMENT_D(A, 5, OMEGA)   = -zf * cos(oe);
  SM_ELEMENT_D(A, 5, EPSILON) = -zf * cos(oe) - u * sin(q[EPSILON]);
  return 0;
}

/* b = -A' q', by the squares of the angular velocities */
static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *v, sunrealtype *b,
                       void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype bt = q[BETA] + q[THETA], pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  const sunrealtype v_b = v[BETA] * v[BETA], v_bt = pow(v[BETA] + v[THETA], 2);
  const sunrealtype v_g = v[GAMMA] * v[GAMMA], v_d = v[DELTA] * v[DELTA];
  const sunrealtype v_e = v[EPSILON] * v[EPSILON], v_pd = pow(v[PHI] + v[DELTA], 2);
  const sunrealtype v_oe = pow(v[OMEGA] + v[EPSILON], 2);
  const sunrealtype X    = rr * cos(q[BETA]) * v_b - d * cos(bt) * v_bt;
  const sunrealtype Y    = rr * sin(q[BETA]) * v_b - d * sin(bt) * v_bt;

  b[0] = X - ss * sin(q[GAMMA]) * v_g;
  b[1] = Y + ss * cos(q[GAMMA]) * v_g;
  b[2] = X - e * sin(pd) * v_pd - zt * cos(q[DELTA]) * v_d;
  b[3] = Y + e * cos(pd) * v_pd - zt * sin(q[DELTA]) * v_d;
  b[4] = X - zf * cos(oe) * v_oe - u * sin(q[EPSILON]) * v_e;
  b[5] = Y - zf * sin(oe) * v_oe + u * cos(q[EPSILON]) * v_e;
  return 0;
}

CPMechModel andrews_model(void) {
  return (CPMechModel){.nu = ANDREWS_NQ,
                       .np = ANDREWS_NP,
                       .M  = mass_matrix,
                       .A  = constraint_matrix,
                       .f  = forces,
                       .p  = position,
                       .b  = centripetal};
}

/* ------------------------------------------------------------------------------------ states -- */

/* Theta = 0 is chosen; the other angles follow from the constraints. */
void andrews_initial(N_Vector y) {
  static const sunrealtype q[ANDREWS_NQ] = {
      SUN_RCONST(-0.0617138900142764496358948458001), SUN_RCONST(0.0),
      SUN_RCONST(0.455279819163070380255912382449),   SUN_RCONST(0.222668390165885884674473185609),
      SUN_RCONST(0.487364979543842550225598953530),   SUN_RCONST(-0.222668390165885884674473185609),
      SUN_RCONST(1.23054744454982119249735015568)};
  N_VConst(0, y);
  memcpy(N_VGetArrayPointer(y), q, sizeof q);
}

sunrealtype andrews_energy(N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *v = q + ANDREWS_NQ;
  sunrealtype M[ANDREWS_NQ][ANDREWS_NQ], dx, dy;
  masses(q, M);
  const sunrealtype stretch = spring(q[GAMMA], &dx, &dy) - l0;

  sunrealtype energy = c0 * stretch * stretch / 2 - mom * q[BETA];
  for (int i = 0; i < ANDREWS_NQ; i++)
    for (int j = 0; j < ANDREWS_NQ; j++) energy += v[i] * M[i][j] * v[j] / 2;
  return energy;
}

static void place(sunrealtype point[3], sunrealtype x, sunrealtype y) {
  point[0] = x;
  point[1] = y;
  point[2] = 0;
}

void andrews_joints(N_Vector y, sunrealtype x[ANDREWS_JOINTS][3]) {
  const sunrealtype *q  = N_VGetArrayPointer(y);
  const sunrealtype bt  = q[BETA] + q[THETA];
  const sunrealtype P[] = {rr * cos(q[BETA]), rr * sin(q[BETA])};
  sunrealtype dx, dy;
  spring(q[GAMMA], &dx, &dy);

  place(x[ANDREWS_O], 0, 0);
  place(x[ANDREWS_A], xa, ya);
  place(x[ANDREWS_B], xb, yb);
  place(x[ANDREWS_C], xc, yc);
  place(x[ANDREWS_P], P[0], P[1]);
  place(x[ANDREWS_F], P[0] - d * cos(bt), P[1] - d * sin(bt));
  place(x[ANDREWS_D], xc + dx, yc + dy);
  place(x[ANDREWS_E], xa + zt * cos(q[DELTA]), ya + zt * sin(q[DELTA]));
  place(x[ANDREWS_G], xa + u * sin(q[EPSILON]), ya - u * cos(q[EPSILON]));
}
