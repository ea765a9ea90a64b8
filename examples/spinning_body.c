/* Example: an asymmetric body tumbles freely through 1,000 revolutions (Euler's top, close to its
 * intermediate axis, where it turns over repeatedly). Its attitude is a unit quaternion. The user gives
 * the inertia and the torque; one call adds the quaternion, its kinematics and its norm.
 *
 *   q' = q o (0, u) / 2        attitude, body to space, scalar first
 *   J u' = (J u) x u           angular velocity u in body axes
 *
 *   J = diag(1, 2, 2.5) kg m^2      u(0) = (0.5, 2, 0.3) rad/s      q(0) = (1, 0, 0, 0)
 *
 * Conserved are the energy u . J u / 2 and the angular momentum R(q) J u as a vector in space, which
 * depends on both the velocity and the attitude (L. D. Landau, E. M. Lifshitz, Mechanics, 1976, 37).
 *
 * Run:       spinning_body
 * Expected:  ten lines, with |q| - 1 at roundoff and the relative drift of energy and momentum,
 *            below 1e-5 for tolerances of 1e-9; "ok". The exit code is 1 if the physics is wrong, and 2
 *            if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype J[3] = {1, 2, 2.5};

static int inertia(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = J[i];
  return 0;
}

static int torque(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)z, (void)user_data;
  f[0] = (J[1] - J[2]) * u[1] * u[2];
  f[1] = (J[2] - J[0]) * u[2] * u[0];
  f[2] = (J[0] - J[1]) * u[0] * u[1];
  return 0;
}

/* L = R(q) J u = x + 2 e x (q_0 x + e x x), x = J u, q = (q_0, e) of length 1 */
static void momentum(const sunrealtype *q, const sunrealtype *u, sunrealtype L[3]) {
  const sunrealtype x[3] = {J[0] * u[0], J[1] * u[1], J[2] * u[2]}, *e = q + 1;
  sunrealtype c[3];
  for (int i = 0; i < 3; i++)
    c[i] = q[0] * x[i] + e[(i + 1) % 3] * x[(i + 2) % 3] - e[(i + 2) % 3] * x[(i + 1) % 3];
  for (int i = 0; i < 3; i++)
    L[i] = x[i] + 2 * (e[(i + 1) % 3] * c[(i + 2) % 3] - e[(i + 2) % 3] * c[(i + 1) % 3]);
}

static sunrealtype size(const sunrealtype x[3]) {
  return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

int main(void) {
  const sunrealtype tol = 1e-9, u0[3] = {0.5, 2, 0.3},
                    L0[3] = {J[0] * u0[0], J[1] * u0[1], J[2] * u0[2]};
  const sunrealtype t_end = 1000 * 2 * acos(-1.0) / size(u0);

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(7, ctx);
  CHECK_NEW(y);
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + 4;
  N_VConst(0, y);
  q[0] = 1;
  for (int i = 0; i < 3; i++) u[i] = u0[i];

  const CPQuaternion attitude = {.first_q = 0, .first_u = 0, .frame = CP_FRAME_BODY};
  const CPEquations body      = {CP_SIZED(CPEquations), .nq = 4,     .nu = 3,
                                 .M = inertia,          .f = torque, .quaternions = &attitude,
                                 .nquaternions = 1};
  CPModel made                = CPModelCreate(&body);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CHECK_NEW(mech);

  CPIntegrator mem = CPIntegratorCreate("ADAMS", ctx);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 1000000));

  CPMechOutput out = CP_INIT(CPMechOutput);
  CHECK(CPMechEvaluate(mech, 0, y, &out));
  const sunrealtype energy = out.kinetic;
  sunrealtype t = 0, worst_norm = 0, worst_energy = 0, worst_momentum = 0;
  for (int i = 1; i <= 10; i++) {
    CHECK(CPIntegratorEvolve(mem, i * t_end / 10, y, &t, CV_NORMAL));
    CHECK(CPMechEvaluate(mech, t, y, &out));
    sunrealtype L[3], norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    momentum(q, u, L);
    for (int k = 0; k < 3; k++) L[k] -= L0[k];
    const sunrealtype gained = (out.kinetic - energy) / energy, turned = size(L) / size(L0);
    norm           = sqrt(norm) - 1;
    worst_norm     = fmax(worst_norm, fabs(norm));
    worst_energy   = fmax(worst_energy, fabs(gained));
    worst_momentum = fmax(worst_momentum, turned);
    printf("%4d revolutions   |q| - 1 = %8.1e   energy %8.1e   momentum %7.1e\n", 100 * i, norm,
           gained, turned);
  }

  const int ok = worst_norm <= 1e-12 && worst_energy <= 1e-5 && worst_momentum <= 1e-5;
  printf("%s\n", ok ? "ok" : "WRONG: the quaternion's norm, the energy or the momentum is off");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
