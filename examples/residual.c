/* Example: from the residual of a DAE of index 3, as IDA takes it, to a CPMech. The residual stays as it is:
 *
 *   y = (q, u, lambda),   0 = q' - u,   0 = M(q) u' + A(q)^T lambda - f(q, u),   0 = p(q)
 *
 * It is linear in u' and lambda. Hence the rows of the dynamics are -f at u' = 0, lambda = 0; a unit vector for u' adds a
 * column of M, and a unit vector for lambda adds a column of A^T. The functions dynamics, M, A, f and p below work for
 * every residual of this form.
 *
 * The mechanism is a pendulum of length 1 m in Cartesian coordinates q = (x, z) with the tension lambda:
 *
 *   0 = x'' + lambda x,   0 = z'' + lambda z + g,   0 = (x^2 + z^2 - 1)/2
 *
 *   g = (2 K)^2 m/s^2, K = K(m = 1/2) = 1.854... the complete elliptic integral (Abramowitz and Stegun, table 17.1):
 *   released at rest from the horizontal, it returns after 2 s
 *
 * Run:       residual
 * Expected:  the figures of the run, the state after 2 s, which equals the initial one, the tension and its expected
 *            value 0, and "ok". The exit code is 1 if the pendulum is somewhere else, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ---- what a program for IDA has ---- */

enum { NQ = 2, NU = 2, NP = 1, N = NQ + NU + NP };
static const sunrealtype g = 4 * 1.85407467730137191843385 * 1.85407467730137191843385;

static int residual(sunrealtype t, N_Vector yy, N_Vector yp, N_Vector rr, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *y = N_VGetArrayPointer(yy), *ydot = N_VGetArrayPointer(yp);
  sunrealtype *r = N_VGetArrayPointer(rr);
  r[0]           = ydot[0] - y[2];
  r[1]           = ydot[1] - y[3];
  r[2]           = ydot[2] + y[4] * y[0];
  r[3]           = ydot[3] + y[4] * y[1] + g;
  r[4]           = (y[0] * y[0] + y[1] * y[1] - 1) / 2;
  return 0;
}

/* ---- what is added ---- */

typedef struct {
  int (*residual)(sunrealtype t, N_Vector yy, N_Vector yp, N_Vector rr, void *user_data);
  void *user_data;
  N_Vector yy, yp, rr; /* y, y', r */
} Residual;

/* The residual's rows from NQ on at (q, u), where u' and lambda are zero except for one entry of 1: u'_unit if unit < NU,
 * lambda_i if unit = NU + i, none if unit = -1. If u is NULL, it is zero. rows [NU + NP]: out. */
static int rows_at(Residual *d, sunrealtype t, const sunrealtype *q, const sunrealtype *u, int unit,
                   sunrealtype *rows) {
  sunrealtype *y = N_VGetArrayPointer(d->yy), *ydot = N_VGetArrayPointer(d->yp);
  N_VConst(0, d->yy);
  N_VConst(0, d->yp);
  for (int i = 0; i < NQ; i++) y[i] = q[i];
  for (int i = 0; u && i < NU; i++) y[NQ + i] = u[i];
  if (unit >= 0) *(unit < NU ? &ydot[NQ + unit] : &y[NQ + unit]) = 1;
  const int flag = d->residual(t, d->yy, d->yp, d->rr, d->user_data);
  for (int i = 0; i < NU + NP; i++) rows[i] = N_VGetArrayPointer(d->rr)[NQ + i];
  return flag;
}

static int f(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
             sunrealtype *force, void *user_data) {
  (void)z;
  sunrealtype rows[NU + NP];
  const int flag = rows_at(user_data, t, q, u, -1, rows);
  for (int i = 0; i < NU; i++) force[i] = -rows[i];
  return flag;
}

static int p(sunrealtype t, const sunrealtype *q, sunrealtype *position, void *user_data) {
  sunrealtype rows[NU + NP];
  const int flag = rows_at(user_data, t, q, NULL, -1, rows);
  for (int i = 0; i < NP; i++) position[i] = rows[NU + i];
  return flag;
}

/* Computes the columns first, ..., first + count - 1 of (M, A^T) by unit vectors, and stores them in M, or transposed in A */
static int columns(sunrealtype t, const sunrealtype *q, int first, int count, SUNMatrix matrix,
                   Residual *d) {
  sunrealtype rest[NU + NP], rows[NU + NP];
  int flag = rows_at(d, t, q, NULL, -1, rest);
  for (int j = 0; j < count && !flag; j++) {
    flag = rows_at(d, t, q, NULL, first + j, rows);
    for (int i = 0; i < NU; i++)
      *(first ? &SM_ELEMENT_D(matrix, j, i) : &SM_ELEMENT_D(matrix, i, j)) = rows[i] - rest[i];
  }
  return flag;
}

static int M(sunrealtype t, const sunrealtype *q, SUNMatrix mass, void *user_data) {
  return columns(t, q, 0, NU, mass, user_data);
}

static int A(sunrealtype t, const sunrealtype *q, SUNMatrix gradients, void *user_data) {
  return columns(t, q, NU, NP, gradients, user_data);
}

int main(void) {
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  Residual d = {.residual = residual,
                .yy       = N_VNew_Serial(N, ctx),
                .yp       = N_VNew_Serial(N, ctx),
                .rr       = N_VNew_Serial(N, ctx)};
  N_Vector y = N_VNew_Serial(NQ + NU, ctx); /* the multipliers are not unknowns of the integrator */
  CHECK_NEW(d.yy);
  CHECK_NEW(d.yp);
  CHECK_NEW(d.rr);
  CHECK_NEW(y);
  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = 1;

  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = NU, .np = NP, .M = M, .A = A, .f = f, .p = p};
  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CPIntegrator mem    = CPIntegratorCreate("DOP853", ctx);
  CPMechReport report = CP_INIT(CPMechReport);
  CHECK_NEW(mech);
  CHECK_NEW(mem);
  CHECK(CPMechSetUserData(mech, &d));
  CHECK(CPMechCheck(mech, 0, y, &report)); /* is A the derivative of p, and M symmetric? */
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, 1e-10, 1e-10));
  sunrealtype t = 0, lambda;
  CHECK(CPIntegratorEvolve(mem, 2, y, &t, CV_NORMAL));

  CPMechOutput now = {CP_SIZED(CPMechOutput), .lambda = &lambda};
  CHECK(CPMechEvaluate(mech, t, y, &now));
  CHECK(CPObjectPrintStats(CP_OBJECT(mem), stdout, SUN_OUTPUTFORMAT_TABLE));
  CHECK(CPObjectPrintStats(CP_OBJECT(mech), stdout, SUN_OUTPUTFORMAT_TABLE));
  const sunrealtype *s = N_VGetArrayPointer(y), error = hypot(s[0] - 1, s[1]);
  printf("t = %g s: x = %.9f m, z = %.9f m, length - 1 = %.0e m, tension %.0e N (0)\n", t, s[0],
         s[1], hypot(s[0], s[1]) - 1, lambda);
  /* About a hundred steps each have an error of 1e-10 in units of the state; that of z is as large as that of its velocity, 0. */
  const int ok = error <= 1e-8 && fabs(lambda) <= 1e-6;
  printf("%s\n", ok ? "ok" : "WRONG: the pendulum is not back");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(d.yy);
  N_VDestroy(d.yp);
  N_VDestroy(d.rr);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
