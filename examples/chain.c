/* Example: a chain of 100 links, released at an angle of 60 degrees: 200 constraints with a sparse
 * Jacobian. cpodes chooses the linear solver of the projection.
 *
 *   d_i = r_i - r_{i-1},  w_i = v_i - v_{i-1},  r_0 = v_0 = 0,  i = 1..N     y = (r, v)
 *
 *   r_i'' = (0, -g) - tau_i d_i + tau_{i+1} d_{i+1},  tau_{N+1} = 0
 *   A A^T tau = |w_i|^2 - (i = 1: g y_1)              tridiagonal, A = d(positions)/dr
 *
 *   0 = (|d_i|^2 - l^2) / 2,   0 = d_i . w_i
 *
 *   N point masses of 1 kg   l = 1 m / N   length of a link   g = 9.81 m/s^2   gravity along -y
 *
 * Run:       chain
 * Expected:  ten lines with the position of the free end, the gain of energy and the largest error
 *            of a link's length; the statistics, with the linear solver in use and the reason,
 *            "sparse Cholesky (up to 100 constraints in a level, ...)"; and "ok". The exit code is 1
 *            if the physics is wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { N = 100 };
static const sunrealtype l = 1.0 / N, g = 9.81;

/* component k of x_i - x_{i-1}, i from 0 */
static sunrealtype diff(const sunrealtype *x, int i, int k) {
  return x[2 * i + k] - (i > 0 ? x[2 * (i - 1) + k] : 0);
}

static sunrealtype dot(const sunrealtype *a, int i, const sunrealtype *b, int j) {
  return diff(a, i, 0) * diff(b, j, 0) + diff(a, i, 1) * diff(b, j, 1);
}

static int motion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * N;
  sunrealtype *rd = N_VGetArrayPointer(ydot), *vd = rd + 2 * N, pivot[N], tau[N + 1] = {0};

  pivot[0] = dot(r, 0, r, 0);
  tau[0]   = dot(v, 0, v, 0) - g * r[1];
  for (int i = 1; i < N; i++) { /* elimination in A A^T */
    const sunrealtype factor = dot(r, i, r, i - 1) / pivot[i - 1];
    pivot[i]                 = 2 * dot(r, i, r, i) - factor * dot(r, i, r, i - 1);
    tau[i]                   = dot(v, i, v, i) + factor * tau[i - 1];
  }
  tau[N - 1] /= pivot[N - 1];
  for (int i = N - 2; i >= 0; i--) tau[i] = (tau[i] + dot(r, i, r, i + 1) * tau[i + 1]) / pivot[i];

  for (int i = 0; i < N; i++)
    for (int k = 0; k < 2; k++) {
      rd[2 * i + k] = v[2 * i + k];
      vd[2 * i + k] = (k == 1 ? -g : 0) - tau[i] * diff(r, i, k);
      if (i < N - 1) vd[2 * i + k] += tau[i + 1] * diff(r, i + 1, k);
    }
  return 0;
}

static int links(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * N;
  sunrealtype *residual = N_VGetArrayPointer(c);

  for (int i = 0; i < N; i++) {
    residual[i]     = (dot(r, i, r, i) - l * l) / 2;
    residual[N + i] = dot(r, i, v, i);
  }
  return 0;
}

/* Writes G by columns, both values and index arrays, so that the function also makes the template. */
static int jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * N;
  sunindextype *start = SUNSparseMatrix_IndexPointers(G), *row = SUNSparseMatrix_IndexValues(G);
  sunrealtype *value = SUNSparseMatrix_Data(G);
  sunindextype e     = 0;

  for (int of_v = 0; of_v < 2; of_v++) /* columns of r, columns of v */
    for (int j = 0; j < 2 * N; j++) {
      start[2 * N * of_v + j] = e;
      for (int rate = of_v; rate < 2; rate++) /* rows of the positions, of the velocities */
        for (int i = j / 2; i <= j / 2 + 1 && i < N; i++) {
          const sunrealtype x = diff(rate == of_v ? r : v, i, j % 2);
          row[e]              = N * rate + i;
          value[e++]          = i == j / 2 ? x : -x;
        }
    }
  start[4 * N] = e;
  return 0;
}

static sunrealtype energy(const sunrealtype *s) {
  sunrealtype sum = 0;
  for (int i = 0; i < N; i++)
    sum += (pow(s[2 * (N + i)], 2) + pow(s[2 * (N + i) + 1], 2)) / 2 + g * s[2 * i + 1];
  return sum;
}

int main(void) {
  const sunrealtype tol = 1e-7, angle = acos(-1.0) / 3;

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(4 * N, ctx), c = N_VNew_Serial(2 * N, ctx);
  SUNMatrix G = SUNSparseMatrix(2 * N, 4 * N, 12 * N, CSC_MAT, ctx);
  CHECK_NEW(y);
  CHECK_NEW(c);
  CHECK_NEW(G);
  sunrealtype *s = N_VGetArrayPointer(y), *residual = N_VGetArrayPointer(c);
  N_VConst(0, y);
  for (int i = 0; i < N; i++) {
    s[2 * i]     = (i + 1) * l * sin(angle);
    s[2 * i + 1] = -(i + 1) * l * cos(angle);
  }
  const sunrealtype start_energy = energy(s);
  CHECK(jacobian(0, y, NULL, G, NULL)); /* the pattern */

  CPProjector P = CPProjectorCreate(links, y, c, ctx);
  CHECK_NEW(P);
  CHECK(CPProjectorSetJacFn(P, jacobian, G));

  CPIntegrator mem      = CPIntegratorCreate("ADAMS", ctx);
  SUNNonlinearSolver fp = SUNNonlinSol_FixedPoint(y, 0, ctx);
  CHECK_NEW(mem);
  CHECK_NEW(fp);
  CHECK(CPIntegratorInit(mem, motion, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetNonlinearSolver(mem, fp));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000));

  sunrealtype t = 0, worst_stretch = 0, worst_energy = 0;
  for (int i = 1; i <= 10; i++) {
    CHECK(CPIntegratorEvolve(mem, i / 10.0, y, &t, CV_NORMAL));
    CHECK(links(t, y, c, NULL));
    sunrealtype stretch = 0;
    for (int j = 0; j < N; j++) stretch = fmax(stretch, fabs(residual[j]) / l);
    worst_stretch = fmax(worst_stretch, stretch);
    worst_energy  = fmax(worst_energy, fabs(energy(s) - start_energy));
    printf("t = %.1f s   free end at (%7.4f, %7.4f) m   energy %8.1e J   stretch %7.1e m\n", t,
           s[2 * N - 2], s[2 * N - 1], energy(s) - start_energy, stretch);
  }
  CHECK(CPObjectPrintStats(CP_OBJECT(mem), stdout, SUN_OUTPUTFORMAT_TABLE));

  /* With projection the length of a link is accurate to less than a tolerance (about 1e-5 m without). A
     step has an error of at most tol (1 + |v|) in velocities, and of about 2 tol in the energy relative
     to the potential energy g N / 4 that the chain can lose. */
  long int steps;
  CPLinSol solver;
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps));
  CHECK(CPProjectorGetLinearSolver(P, &solver, NULL));
  const int ok = worst_stretch <= tol && worst_energy <= 2 * tol * (double)steps * g * N / 4 &&
                 solver == CP_LINSOL_SPARSE;
  printf("%s\n", ok ? "ok" : "WRONG: a link is stretched, energy is lost, or the solver is dense");

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNNonlinSolFree(fp);
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(c);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
