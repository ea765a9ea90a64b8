/* Example: a closed loop in joint coordinates, given by its inverse dynamics, as robot codes have them: no mass matrix,
 * no constraint matrix.
 *
 * Three homogeneous rods hang in the plane, rod i from the end of rod i - 1, and the tip of the last one is pinned:
 *
 *   r_i            position of joint i, r_0 = 0; r_3 is the tip
 *   phi_i          = q_0 + ... + q_i, angle of rod i; e_i = (cos phi_i, sin phi_i), n_i = (-sin phi_i, cos phi_i)
 *   r_{i+1}        = r_i + l_i e_i
 *   r_{i+1}''      = r_i'' + l_i (phi_i'' n_i - phi_i'^2 e_i),   centre of rod i: half way
 *   F_i            = m_i c_i'' + F_{i+1},   r_0'' = (0, g): the weights of all rods
 *   N_i            = m_i l_i^2 / 12 phi_i'' + l_i / 2 e_i x m_i c_i'' + l_i e_i x F_{i+1} + N_{i+1}
 *   M u' - f       = (N_0, N_1, N_2),   the torques that the motion u' needs in the joints
 *   p              = r_3 - (d, 0)
 *   A u            = sum_i u_i e_z x (r_3 - r_i),   b = -r_3'' at u' = 0 without g
 *
 * Rods 0 and 2 are equal, and l_1 = d: a parallelogram, whose coupler, rod 1, does not turn. Each of its points moves on
 * a circle, so that the angle theta of rod 0 from the vertical moves like a pendulum:
 *
 *   theta'' = -w^2 sin theta,   w^2 = g / l (m + m_1) / (2 m / 3 + m_1)
 *
 *   l = 1 m, m = 3 kg, d = 0.5 m, m_1 = 2 kg, g = 9.81 m/s^2. Released at rest at theta = 60 degrees, it returns after
 *   4 K / w, K = K(m = 1/4) = 1.685... the complete elliptic integral (Abramowitz and Stegun, table 17.1). Both pins
 *   carry the same force, half of that which moves all masses:
 *
 *   -lambda = ((m + m_1) l theta'' (cos theta, sin theta) + (2 m + m_1) (0, g)) / 2
 *
 * Source of the recursion: R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 5.3.
 *
 * Run:       inverse_dynamics
 * Expected:  the figures of the run, the calls of inverse, the state after one period, which equals the initial one, the
 *            force on the pin and its expected value, and "ok". The exit code is 1 if one of them is wrong, and 2 if a
 *            call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <nvector/nvector_serial.h>

enum { N = 3 };
static const sunrealtype l[N] = {1, 0.5, 1}, m[N] = {3, 2, 3}, d = 0.5, g = 9.81;

typedef struct {
  sunrealtype e[N][2], r[N + 1][2], rate[N]; /* e_i, r_i, phi_i' */
  sunrealtype turn[N], acc[N + 1][2];        /* phi_i'', r_i'' */
} Motion;

/* From rod to rod: positions, velocities and accelerations; those that are NULL are zero. base: vertical part of r_0'' */
static Motion outward(const sunrealtype *q, const sunrealtype *u, const sunrealtype *a,
                      sunrealtype base) {
  Motion s        = {.acc[0] = {0, base}};
  sunrealtype phi = 0, rate = 0, turn = 0;
  for (int i = 0; i < N; i++) {
    phi += q[i];
    s.rate[i] = rate += u ? u[i] : 0;
    s.turn[i] = turn += a ? a[i] : 0;
    s.e[i][0] = cos(phi), s.e[i][1] = sin(phi);
    const sunrealtype n[2] = {-s.e[i][1], s.e[i][0]};
    for (int k = 0; k < 2; k++) {
      s.r[i + 1][k]   = s.r[i][k] + l[i] * s.e[i][k];
      s.acc[i + 1][k] = s.acc[i][k] + l[i] * (turn * n[k] - rate * rate * s.e[i][k]);
    }
  }
  return s;
}

static sunrealtype cross(const sunrealtype x[2], const sunrealtype y[2]) {
  return x[0] * y[1] - x[1] * y[0];
}

/* M a - f. Springs, dampers and drives in the joints would be subtracted from it, being part of f. */
static int inverse(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *a, sunrealtype *torque, void *user_data) {
  (void)t, (void)z, (void)user_data;
  const Motion s   = outward(q, u, a, g);
  sunrealtype F[2] = {0}, moment = 0; /* F_{i+1}, N_{i+1} */
  for (int i = N - 1; i >= 0; i--) {
    sunrealtype own[2]; /* m_i c_i'' */
    for (int k = 0; k < 2; k++) own[k] = m[i] * (s.acc[i][k] + s.acc[i + 1][k]) / 2;
    moment += m[i] * l[i] * l[i] / 12 * s.turn[i] + l[i] / 2 * cross(s.e[i], own) +
              l[i] * cross(s.e[i], F);
    for (int k = 0; k < 2; k++) F[k] += own[k];
    torque[i] = moment;
  }
  return 0;
}

static int p(sunrealtype t, const sunrealtype *q, sunrealtype *position, void *user_data) {
  (void)t, (void)user_data;
  const Motion s = outward(q, NULL, NULL, 0);
  position[0]    = s.r[N][0] - d;
  position[1]    = s.r[N][1];
  return 0;
}

/* A u, the velocity of the tip: output vectors are zero on entry. */
static int Au(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *tip,
              void *user_data) {
  (void)t, (void)user_data;
  const Motion s = outward(q, NULL, NULL, 0);
  for (int i = 0; i < N; i++) {
    tip[0] -= u[i] * (s.r[N][1] - s.r[i][1]);
    tip[1] += u[i] * (s.r[N][0] - s.r[i][0]);
  }
  return 0;
}

/* A^T x, the moments of a force x in the tip about the joints */
static int ATl(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *moments,
               void *user_data) {
  (void)t, (void)user_data;
  const Motion s = outward(q, NULL, NULL, 0);
  for (int i = 0; i < N; i++)
    moments[i] = cross((const sunrealtype[]){s.r[N][0] - s.r[i][0], s.r[N][1] - s.r[i][1]}, x);
  return 0;
}

static int b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *minus_tip,
             void *user_data) {
  (void)t, (void)user_data;
  const Motion s = outward(q, u, NULL, 0);
  for (int k = 0; k < 2; k++) minus_tip[k] = -s.acc[N][k];
  return 0;
}

int main(void) {
  const sunrealtype right_angle = acos(0.0), theta = 2 * right_angle / 3,
                    w      = sqrt(g / l[0] * (m[0] + m[1]) / (2 * m[0] / 3 + m[1])),
                    period = 4 * 1.68575035481259604 / w;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(2 * N, ctx), y0 = N_VNew_Serial(2 * N, ctx);
  CHECK_NEW(y);
  CHECK_NEW(y0);
  N_VConst(0, y);
  sunrealtype *q = N_VGetArrayPointer(y);
  q[0]           = theta - right_angle; /* the coupler is horizontal, rod 2 leads back up */
  q[1]           = -q[0];
  q[2]           = q[0] + 2 * right_angle;
  N_VScale(1, y, y0);

  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu      = N,
                             .np      = 2,
                             .inverse = inverse,
                             .Au      = Au,
                             .ATl     = ATl,
                             .p       = p,
                             .b       = b};
  CPModel made            = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CPIntegrator mem    = CPIntegratorCreate("RADAU", ctx);
  CPMechReport report = CP_INIT(CPMechReport);
  CHECK_NEW(mech);
  CHECK_NEW(mem);
  CHECK(CPMechCheck(mech, 0, y, &report)); /* is inverse linear in u', and A the derivative of p? */
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, 1e-10, 1e-10));
  sunrealtype t = 0, lambda[2];
  CHECK(CPIntegratorEvolve(mem, period, y, &t, CV_NORMAL));

  CPMechOutput now     = {CP_SIZED(CPMechOutput), .lambda = lambda};
  const long int calls = COUNT(mech, "force_evals"), masses = COUNT(mech, "mass_evals");
  CHECK(CPMechEvaluate(mech, t, y, &now));
  CHECK(CPObjectPrintStats(CP_OBJECT(mem), stdout, SUN_OUTPUTFORMAT_TABLE));
  const sunrealtype turn = -w * w * sin(theta), /* theta'' */
      force[2]           = {(m[0] + m[1]) * l[0] * turn * cos(theta) / 2,
                            ((m[0] + m[1]) * l[0] * turn * sin(theta) + (2 * m[0] + m[1]) * g) / 2};
  N_VLinearSum(1, y, -1, y0, y0);
  const sunrealtype error = N_VMaxNorm(y0), off = hypot(lambda[0] + force[0], lambda[1] + force[1]);
  printf("%ld calls of inverse, %ld of them for M by columns\n", calls, (N + 1) * masses);
  printf("t = %.6f s: angles and velocities are off by %.0e rad, rad/s\n", t, error);
  printf("force on the pin: (%.6f, %.6f) N, expected (%.6f, %.6f) N\n", -lambda[0], -lambda[1],
         force[0], force[1]);
  /* About a hundred steps each have an error of 1e-10 in units of the state; forces follow accelerations times masses. */
  const int ok = error <= 1e-8 && off <= 1e-6;
  printf("%s\n", ok ? "ok" : "WRONG: the linkage is not back, or the pin carries another force");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(y0);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
