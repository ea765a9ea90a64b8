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

/* The spring's vector (x, y) from C to D, the point of the body gamma at which it pulls. Returns its length */
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

/* Partial derivatives of f - M a with respect to the angles on which it depends */
static void forces_by_angles(const sunrealtype *q, const sunrealtype *v, const sunrealtype *a,
                             SUNMatrix K) {
  const sunrealtype arm = m2 * da * rr, fork = m4 * zt * (e - ea), rod = m6 * u * (zf - fa);
  const sunrealtype arm_s = arm * sin(q[THETA]), arm_c = arm * cos(q[THETA]);
  const sunrealtype fork_s = fork * sin(q[PHI]), fork_c = fork * cos(q[PHI]);
  const sunrealtype rod_s = rod * sin(q[OMEGA]), rod_c = rod * cos(q[OMEGA]);

  SM_ELEMENT_D(K, BETA, THETA) =
      -arm_c * v[THETA] * (v[THETA] + 2 * v[BETA]) - arm_s * (2 * a[BETA] + a[THETA]);
  SM_ELEMENT_D(K, THETA, THETA) = arm_c * v[BETA] * v[BETA] - arm_s * a[BETA];
  SM_ELEMENT_D(K, PHI, PHI)     = -fork_s * v[DELTA] * v[DELTA] - fork_c * a[DELTA];
  SM_ELEMENT_D(K, DELTA, PHI) =
      fork_s * v[PHI] * (v[PHI] + 2 * v[DELTA]) - fork_c * (a[PHI] + 2 * a[DELTA]);
  SM_ELEMENT_D(K, OMEGA, OMEGA) = rod_s * v[EPSILON] * v[EPSILON] + rod_c * a[EPSILON];
  SM_ELEMENT_D(K, EPSILON, OMEGA) =
      -rod_s * v[OMEGA] * (v[OMEGA] + 2 * v[EPSILON]) + rod_c * (a[OMEGA] + 2 * a[EPSILON]);

  /* f_gamma = -c0 (L - l0) L', with x'' = -y', y'' = x' without the fixed point */
  sunrealtype x, y;
  const sunrealtype L           = spring(q[GAMMA], &x, &y);
  const sunrealtype dx          = sc * cos(q[GAMMA]) - sd * sin(q[GAMMA]);
  const sunrealtype dy          = sd * cos(q[GAMMA]) + sc * sin(q[GAMMA]);
  const sunrealtype dL          = (x * dx + y * dy) / L;
  const sunrealtype ddL         = (dx * dx + dy * dy - x * dy + y * dx - dL * dL) / L;
  SM_ELEMENT_D(K, GAMMA, GAMMA) = -c0 * (dL * dL + (L - l0) * ddL);
}

static void forces_by_rates(const sunrealtype *q, const sunrealtype *v, SUNMatrix C) {
  const sunrealtype arm  = 2 * m2 * da * rr * sin(q[THETA]);
  const sunrealtype fork = 2 * m4 * zt * (e - ea) * cos(q[PHI]);
  const sunrealtype rod  = 2 * m6 * u * (zf - fa) * cos(q[OMEGA]);

  SM_ELEMENT_D(C, BETA, BETA)       = -arm * v[THETA];
  SM_ELEMENT_D(C, BETA, THETA)      = -arm * (v[THETA] + v[BETA]);
  SM_ELEMENT_D(C, THETA, BETA)      = arm * v[BETA];
  SM_ELEMENT_D(C, PHI, DELTA)       = fork * v[DELTA];
  SM_ELEMENT_D(C, DELTA, PHI)       = -fork * (v[PHI] + v[DELTA]);
  SM_ELEMENT_D(C, DELTA, DELTA)     = -fork * v[PHI];
  SM_ELEMENT_D(C, OMEGA, EPSILON)   = -rod * v[EPSILON];
  SM_ELEMENT_D(C, EPSILON, OMEGA)   = rod * (v[OMEGA] + v[EPSILON]);
  SM_ELEMENT_D(C, EPSILON, EPSILON) = rod * v[OMEGA];
}

/* ------------------------------------------------------------------------------- constraints -- */

/* Each loop closure, a pair of rows, is a sum of bars n that turn with the angle q_a (+ q_b):
     p = sum n - (fixed point),  dn = J n dangle,  n'' = J n angle'' - n angle'^2,  J n = (-n_y, n_x) */
typedef struct {
  int first, last; /* loops to which it belongs */
  int a, b;        /* b = a: q_a alone */
  sunrealtype n[2];
} Bar;

enum { NUM_BARS = 7 };

static Bar bar(int first, int last, int a, int b, sunrealtype x, sunrealtype y,
               const sunrealtype *q) {
  const sunrealtype angle = q[a] + (b != a ? q[b] : 0), c = cos(angle), s = sin(angle);
  return (Bar){first, last, a, b, {x * c - y * s, x * s + y * c}};
}

static void bars(const sunrealtype *q, Bar all[NUM_BARS]) {
  all[0] = bar(0, 2, BETA, BETA, rr, 0, q);
  all[1] = bar(0, 2, BETA, THETA, -d, 0, q);
  all[2] = bar(0, 0, GAMMA, GAMMA, 0, ss, q);
  all[3] = bar(1, 1, PHI, DELTA, 0, e, q);
  all[4] = bar(1, 1, DELTA, DELTA, -zt, 0, q);
  all[5] = bar(2, 2, OMEGA, EPSILON, -zf, 0, q);
  all[6] = bar(2, 2, EPSILON, EPSILON, 0, u, q);
}

/* The part of q', q'' or any vector x [7] that belongs to the bar's angle */
static sunrealtype rate(const Bar *bar, const sunrealtype *x) {
  return x[bar->a] + (bar->b != bar->a ? x[bar->b] : 0);
}

/* Adds the entry to the column of each of its angles */
static void add_entry(SUNMatrix S, sunindextype row, const Bar *bar, sunrealtype value) {
  SM_ELEMENT_D(S, row, bar->a) += value;
  if (bar->b != bar->a) SM_ELEMENT_D(S, row, bar->b) += value;
}

static int position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  static const sunrealtype fixed[ANDREWS_NP] = {xb, yb, xa, ya, xa, ya};
  Bar all[NUM_BARS];
  bars(q, all);
  for (int row = 0; row < ANDREWS_NP; row++) p[row] = -fixed[row];
  for (const Bar *k = all; k < all + NUM_BARS; k++)
    for (int row = 2 * k->first; row < 2 * k->last + 2; row++) p[row] += k->n[row % 2];
  return 0;
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  Bar all[NUM_BARS];
  bars(q, all);
  for (const Bar *k = all; k < all + NUM_BARS; k++)
    for (int row = 2 * k->first; row < 2 * k->last + 2; row += 2) {
      add_entry(A, row, k, -k->n[1]);
      add_entry(A, row + 1, k, k->n[0]);
    }
  return 0;
}

/* b = sum n angle'^2 */
static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *v, sunrealtype *b,
                       void *user_data) {
  (void)t, (void)user_data;
  Bar all[NUM_BARS];
  bars(q, all);
  for (int row = 0; row < ANDREWS_NP; row++) b[row] = 0;
  for (const Bar *k = all; k < all + NUM_BARS; k++)
    for (int row = 2 * k->first; row < 2 * k->last + 2; row++)
      b[row] += k->n[row % 2] * rate(k, v) * rate(k, v);
  return 0;
}

/* K: adds -d(A^T lambda)/dq = sum n . lambda, in the columns of the bar's angles, to the derivative of f - M a */
static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *v,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)z, (void)Fz, (void)user_data;
  Bar all[NUM_BARS];
  bars(q, all);
  forces_by_angles(q, v, udot, K);
  forces_by_rates(q, v, C);
  for (const Bar *k = all; k < all + NUM_BARS; k++) {
    sunrealtype pull = 0; /* n . lambda */
    for (int row = 2 * k->first; row < 2 * k->last + 2; row++) pull += k->n[row % 2] * lambda[row];
    add_entry(K, k->a, k, pull);
    if (k->b != k->a) add_entry(K, k->b, k, pull);
  }
  return 0;
}

/* Bq = sum n angle'' + J n angle'^2, Bu = sum 2 n angle', in the columns of the bar's angles */
static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *v,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)user_data;
  Bar all[NUM_BARS];
  bars(q, all);
  for (const Bar *k = all; k < all + NUM_BARS; k++) {
    const sunrealtype acc = rate(k, udot), w = rate(k, v);
    for (int row = 2 * k->first; row < 2 * k->last + 2; row++) {
      const sunrealtype Jn = row % 2 ? k->n[0] : -k->n[1];
      add_entry(Bq, row, k, k->n[row % 2] * acc + Jn * w * w);
      add_entry(Bu, row, k, 2 * k->n[row % 2] * w);
    }
  }
  return 0;
}

CPEquations andrews_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = ANDREWS_NQ,
                       .np             = ANDREWS_NP,
                       .M              = mass_matrix,
                       .A              = constraint_matrix,
                       .f              = forces,
                       .p              = position,
                       .b              = centripetal,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
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

static void place(sunrealtype point[2], sunrealtype x, sunrealtype y) {
  point[0] = x;
  point[1] = y;
}

void andrews_joints(N_Vector y, sunrealtype x[ANDREWS_JOINTS][2]) {
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
