/* Example: a Butcher table of one's own, its order on a constrained system, and its error estimate.
 *
 *   x'' = -T x,   z'' = -T z - g,   T = (x'^2 + z'^2 - g z) / (x^2 + z^2)        a pendulum, y = (x, z, x', z')
 *   0 = x^2 + z^2 - 1,   0 = x x' + z z'                                        its length, 1 m, and the rate of that
 *
 *   g = (2 K)^2 m/s^2, K = K(m = 1/2) = 1.854... the complete elliptic integral (Abramowitz and Stegun, table 17.1):
 *   released at rest from the horizontal, it has the state (0, -1, -sqrt(2 g), 0) after half a second
 *
 *   0   |
 *   1/2 | 1/2                            the table of P. Bogacki and L. F. Shampine, Appl. Math. Lett. 2 (1989) 321-325:
 *   3/4 |  0   3/4                       order 3, with an embedded method of order 2
 *   1   | 2/9  1/3  4/9
 *   ----+---------------------
 *       | 2/9  1/3  4/9   0
 *       | 7/24 1/4  1/3  1/8
 *
 * A method that is projected after each step keeps its order (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II,
 * 2nd ed., section VII.2). With steps of fixed size h the error is divided by 2^3 when h is halved. With steps of any size
 * the estimate of the error that is tested stays below the tolerance.
 *
 * Run:       convergence
 * Expected:  name, orders and stages of the method; the error for six step sizes, with orders that tend to 3; for three
 *            tolerances the number of steps, the largest estimate in units of the tolerance, and the error; "ok". The exit code
 *            is 1 if the order is not 3, or an estimate is above 1, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <nvector/nvector_serial.h>

static const sunrealtype g = 4 * 1.85407467730137191843385 * 1.85407467730137191843385, t_end = 0.5;

static int motion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *sd      = N_VGetArrayPointer(ydot);
  const sunrealtype T  = (s[2] * s[2] + s[3] * s[3] - g * s[1]) / (s[0] * s[0] + s[1] * s[1]);
  sd[0] = s[2], sd[1] = s[3];
  sd[2] = -T * s[0], sd[3] = -T * s[1] - g;
  return 0;
}

static int length(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s     = N_VGetArrayPointer(y);
  N_VGetArrayPointer(c)[0] = s[0] * s[0] + s[1] * s[1] - 1;
  N_VGetArrayPointer(c)[1] = s[0] * s[2] + s[1] * s[3];
  return 0;
}

static void release(N_Vector y) {
  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = 1;
}

/* Largest error after half a second */
static sunrealtype error(N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  return fmax(hypot(s[0], s[1] + 1), hypot(s[2] + sqrt(2 * g), s[3]));
}

/* The table, with its embedded method */
static ARKodeButcherTable bogacki_shampine(void) {
  const sunrealtype c[4] = {0, 0.5, 0.75, 1}, b[4] = {2. / 9, 1. / 3, 4. / 9, 0},
                    d[4]    = {7. / 24, 0.25, 1. / 3, 0.125},
                    A[4][4] = {{0}, {0.5}, {0, 0.75}, {2. / 9, 1. / 3, 4. / 9}};
  ARKodeButcherTable B      = ARKodeButcherTable_Alloc(4, SUNTRUE);
  CHECK_NEW(B);
  B->q = 3;
  B->p = 2;
  for (int i = 0; i < 4; i++) {
    B->b[i] = b[i], B->c[i] = c[i], B->d[i] = d[i];
    for (int j = 0; j < 4; j++) B->A[i][j] = A[i][j];
  }
  return B;
}

/* Steps of fixed size; returns the order that the errors of the last two sizes show. */
static sunrealtype study(CPIntegrator mem, N_Vector y) {
  sunrealtype t, before = 0, order = 0;
  for (int steps = 16; steps <= 512; steps *= 2) {
    release(y);
    CHECK(CPIntegratorReInit(mem, 0, y));
    CHECK(CPIntegratorSetFixedStep(mem, t_end / steps));
    CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));
    if (before > 0) order = log2(before / error(y));
    printf("h = 1/%-4d s   error %.1e", 2 * steps, error(y));
    printf(before > 0 ? "   order %.2f\n" : "\n", order);
    before = error(y);
  }
  CHECK(CPIntegratorSetFixedStep(mem, 0)); /* adaptive again */
  return order;
}

/* Steps of any size; returns the largest estimate of an error in units of the tolerance. */
static sunrealtype adapt(CPIntegrator mem, N_Vector y, N_Vector weights, N_Vector estimate,
                         sunrealtype tol) {
  sunrealtype t = 0, largest = 0;
  release(y);
  CHECK(CPIntegratorReInit(mem, t, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetStopTime(mem, t_end));
  while (t < t_end) {
    N_VAbs(y, weights); /* 1 / (tol |y_i| + tol), with y at the start of the step */
    N_VAddConst(weights, 1, weights);
    N_VScale(tol, weights, weights);
    N_VInv(weights, weights);
    CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_ONE_STEP));
    CHECK(CPIntegratorGetEstLocalErrors(mem, estimate));
    largest = fmax(largest, N_VWrmsNorm(estimate, weights));
  }
  printf("tolerance %.0e: %4ld steps, estimates up to %.2f, error %.1e\n", tol, COUNT(mem, "steps"),
         largest, error(y));
  return largest;
}

int main(void) {
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4, ctx), c = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  N_Vector weights = N_VClone(y), estimate = N_VClone(y);
  CHECK_NEW(weights);
  CHECK_NEW(estimate);
  release(y);

  ARKodeButcherTable B = bogacki_shampine();
  CPIntegrator mem     = CPIntegratorCreateTable(B, ctx);
  CHECK_NEW(mem);
  ARKodeButcherTable_Free(B);
  CPProjector P = CPProjectorCreate(length, y, c, ctx);
  CHECK_NEW(P);
  CHECK(CPIntegratorInit(mem, motion, 0, y));
  CHECK(CPIntegratorSStolerances(mem, 1e-8,
                                 1e-8)); /* with fixed steps the accuracy of the projection only */
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CPIntegratorSetMaxNumSteps(mem, -1));

  const char *name;
  int p, embedded, stages;
  CHECK(CPIntegratorGetMethod(mem, &name, &p, &embedded, &stages));
  printf("%s of order %d(%d) with %d stages\n", name, p, embedded, stages);
  const sunrealtype order = study(mem, y);
  sunrealtype largest     = 0;
  for (sunrealtype tol = 1e-4; tol > 1e-9; tol /= 100)
    largest = fmax(largest, adapt(mem, y, weights, estimate, tol));

  /* The next term of the error is of order h: it changes the order by about h, 0.002. */
  const int ok = p == 3 && fabs(order - 3) <= 0.1 && largest <= 1;
  printf("%s\n", ok ? "ok" : "WRONG: not of order 3, or a step's error is not below the tolerance");

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  N_VDestroy(weights);
  N_VDestroy(estimate);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
