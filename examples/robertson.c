/* Example: Robertson's reaction, the stiff problem of CVODES' first example, with its invariant, the total concentration.
 *
 *   y1' = -0.04 y1 + 1e4 y2 y3
 *   y2' =  0.04 y1 - 1e4 y2 y3 - 3e7 y2^2
 *   y3' =                        3e7 y2^2            0 = y1 + y2 + y3 - 1
 *
 * From y = (1, 0, 0) the reaction takes 1e11 s, in steps that become as long as that. y2, of size 1e-5 and less, has a tolerance
 * of its own. RADAU gets the Jacobian from a function, or forms it by differences; then a function that evaluates f at many
 * points in one call serves both differences and stages. In C such calls pay with vector units, threads or a device.
 *
 * Source: H. H. Robertson 1966; E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., section IV.10,
 * and the solution at 1e11 of the Test Set for IVP Solvers, problem ROBER. The times of the roots y3 = 0.01 and y1 = 1e-4
 * are those that CVODES' example prints, 0.26391 s and 2.0790e7 s, at the tolerance 1e-4.
 *
 * Run:       robertson
 * Expected:  for both ways the times of the roots, the error at 1e11 s in units of the tolerance, and the calls of f; then
 *            a record of the last run, with which another one can be compared, and "ok". The exit code is 1 if a result is
 *            wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { N = 3 };
static const sunrealtype rtol = 1e-8, t_end = 1e11;
static sunrealtype floors[N]          = {1e-12, 1e-16, 1e-10}; /* absolute tolerances */
static const sunrealtype reference[N] = {0.2083340149701255e-7, 0.8333360770334713e-13,
                                         0.9999999791665050};

typedef struct {
  long int calls; /* of the two functions below */
} Calls;

static void rates(const sunrealtype *y, sunrealtype *f) {
  const sunrealtype slow = 0.04 * y[0], back = 1e4 * y[1] * y[2], fast = 3e7 * y[1] * y[1];
  f[0] = back - slow;
  f[1] = slow - back - fast;
  f[2] = fast;
}

static int reaction(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  ((Calls *)user_data)->calls++;
  rates(N_VGetArrayPointer(y), N_VGetArrayPointer(ydot));
  return 0;
}

static int reactions(int k, const sunrealtype *t, const sunrealtype *Y, sunrealtype *F,
                     void *user_data) {
  (void)t;
  ((Calls *)user_data)->calls++;
  for (int i = 0; i < k; i++) rates(Y + N * i, F + N * i);
  return 0;
}

static int jacobian(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *user_data,
                    N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  (void)t, (void)fy, (void)user_data, (void)tmp1, (void)tmp2, (void)tmp3;
  const sunrealtype *s       = N_VGetArrayPointer(y);
  const sunrealtype df[N][N] = {{-0.04, 1e4 * s[2], 1e4 * s[1]},
                                {0.04, -1e4 * s[2] - 6e7 * s[1], -1e4 * s[1]},
                                {0, 6e7 * s[1], 0}};
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) SM_ELEMENT_D(J, i, j) = df[i][j];
  return 0;
}

static int total(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s     = N_VGetArrayPointer(y);
  N_VGetArrayPointer(c)[0] = s[0] + s[1] + s[2] - 1;
  return 0;
}

static int levels(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = N_VGetArrayPointer(y)[0] - 1e-4;
  g[1] = N_VGetArrayPointer(y)[2] - 0.01;
  return 0;
}

/* What made a result, and what it cost */
static void record(CPIntegrator mem) {
  const char *method, *name;
  int order, stages;
  sunrealtype value;
  CHECK(CPIntegratorGetMethod(mem, &method, &order, NULL, &stages));
  printf("cpodes %s, %s, at last of order %d with %d stages", CPGetVersion(NULL, NULL, NULL),
         method, order, stages);
  for (int i = 0; (name = CPObjectGetStatName(CP_OBJECT(mem), i)); i++) {
    CHECK(CPObjectGetStat(CP_OBJECT(mem), name, &value));
    if (value > 0) printf(", %s %g", name, value);
  }
  printf("\n");
}

int main(void) {
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(N, ctx), c = N_VNew_Serial(1, ctx),
           tolerance = N_VMake_Serial(N, floors, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  CHECK_NEW(tolerance);
  CPProjector P = CPProjectorCreate(total, y, c, ctx);
  CHECK_NEW(P);

  int ok = 1, found[2];
  for (int batch = 0; batch < 2; batch++) {
    Calls count   = {0};
    sunrealtype t = 0, *s = N_VGetArrayPointer(y), root[2] = {0}, worst = 0;
    s[0] = 1, s[1] = s[2] = 0;
    CPIntegrator mem = CPIntegratorCreate("RADAU", ctx);
    CHECK_NEW(mem);
    CHECK(CPIntegratorInit(mem, reaction, t, y));
    CHECK(CPIntegratorSetUserData(mem, &count));
    CHECK(CPIntegratorSVtolerances(mem, rtol, tolerance));
    CHECK(CPIntegratorSetProjector(mem, P));
    CHECK(CPIntegratorRootInit(mem, 2, levels));
    if (batch) CHECK(CPIntegratorSetRhsBatchFn(mem, reactions));
    else CHECK(CPIntegratorSetJacFn(mem, NULL, jacobian));
    int flag;
    while ((flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL)) == CV_ROOT_RETURN) {
      CHECK(CPIntegratorGetRootInfo(mem, found));
      root[found[0] ? 0 : 1] = t;
    }
    CHECK(flag);
    for (int i = 0; i < N; i++)
      worst = fmax(worst, fabs(s[i] - reference[i]) / (rtol * fabs(reference[i]) + floors[i]));
    printf("%s: roots at %.5f s and %.4e s, error %.0e, %ld calls for %ld points\n",
           batch ? "differences, points together" : "Jacobian by a function      ", root[1],
           root[0], worst, count.calls, COUNT(mem, "rhs_evals"));
    ok &= fabs(root[1] / 0.26391 - 1) <= 1e-3 && fabs(root[0] / 2.0790e7 - 1) <= 1e-3;
    ok &= worst <= (sunrealtype)COUNT(mem, "steps");
    if (batch) record(mem);
    CPIntegratorFree(&mem);
  }
  printf("%s\n", ok ? "ok" : "WRONG: not the solution of the reference");

  CPProjectorFree(&P);
  N_VDestroy(tolerance);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
