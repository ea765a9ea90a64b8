/* The linear system M x'' + C x' + K x = f(t) as a mechanical system: q = x, u = x'. Its functions
 * find their matrices, and the user's function and pointer, in the object that they get as
 * user_data. */
#include "mechanics_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* M counts as symmetric if M_ij and M_ji differ by at most this part of the largest entry. */
#define SYMMETRY 1.0e-10

/* ---- the model's functions ---- */

/* out = alpha X; out has X's pattern */
static void copyScaled(double alpha, const CPUserMat *X, SUNMatrix out) {
  const sunrealtype *from = cpMatrixData(X->S);
  sunrealtype *to         = cpMatrixData(out);
  const size_t entries    = cpMatrixEntries(X->S);
  for (size_t k = 0; k < entries; k++) to[k] = alpha * from[k];
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  const struct CPMechLinear_ *linear = user_data;
  copyScaled(1.0, &linear->M, M);
  return 0;
}

/* f - C u - K q */
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  const struct CPMechLinear_ *linear = user_data;
  const int flag                     = linear->f ? linear->f(t, q, u, z, f, linear->user_data) : 0;
  if (flag) return flag;
  if (linear->C.S) cpMatTimes(&linear->C.A, -1.0, u, 1.0, f);
  cpMatTimes(&linear->K.A, -1.0, q, 1.0, f);
  return 0;
}

/* d/dq (f - M udot) = -K, df/du = -C */
static int partials(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *udot, const sunrealtype *lambda, SUNMatrix K, SUNMatrix C,
                    SUNMatrix Fz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)Fz;
  const struct CPMechLinear_ *linear = user_data;
  copyScaled(-1.0, &linear->K, K);
  if (linear->C.S) copyScaled(-1.0, &linear->C, C);
  return 0;
}

/* ---- life cycle ---- */

void cpMechLinearFree(CPMechLinear *linear) {
  if (!*linear) return;
  cpUserMatFree(&(*linear)->M);
  cpUserMatFree(&(*linear)->C);
  cpUserMatFree(&(*linear)->K);
  free(*linear);
  *linear = NULL;
}

/* X <- X_user [n x n]. Returns 0, or a code that has been reported. */
static int copyMatrix(CPUserMat *X, SUNMatrix X_user, int n, const char *name, const char *function,
                      SUNContext ctx) {
  int i = 0, j = 0;
  int flag = cpCheckPattern(NULL, X_user, n, n, name, function);
  if (flag) return flag;
  if (cpUserMatCreate(X, X_user, n, n, ctx))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for %s", name);
  memcpy(cpMatrixData(X->S), cpMatrixData(X_user), cpMatrixEntries(X_user) * sizeof(sunrealtype));
  if (cpUserMatTake(X, &i, &j))
    return cpRefuse(NULL, function, "%s must be finite: entry (%d, %d) is not", name, i, j);
  return CP_SUCCESS;
}

static int checkSymmetric(const CPMat *M, const char *function) {
  int i, j;
  if (!cpMechAsymmetric(M, SYMMETRY, &i, &j)) return CP_SUCCESS;
  return cpRefuse(NULL, function, "M must be symmetric: M(%d, %d) = %g, M(%d, %d) = %g", i, j,
                  cpMatEntry(M, i, j), j, i, cpMatEntry(M, j, i));
}

CPMech CPMechCreateLinear(SUNMatrix M, SUNMatrix C, SUNMatrix K, CPMechForceFn f, N_Vector y_tmpl,
                          SUNContext ctx) {
  const char *missing = !M ? "M" : !K ? "K" : !y_tmpl ? "y_tmpl" : !ctx ? "ctx" : NULL;
  if (missing) return cpRefuse(NULL, __func__, "%s must not be NULL", missing), NULL;
  const sunindextype length = N_VGetLength(y_tmpl);
  if (length < 2 || length % 2 || length > INT_MAX)
    return cpRefuse(NULL, __func__, "y_tmpl must have length 2 n, of (x, x') with M n x n: has %ld",
                    (long)length),
           NULL;
  const int n         = (int)(length / 2);
  CPMechLinear linear = calloc(1, sizeof *linear);
  if (!linear) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a linear system"), NULL;
  linear->f = f;
  int flag  = copyMatrix(&linear->M, M, n, "M", __func__, ctx);
  if (!flag && C) flag = copyMatrix(&linear->C, C, n, "C", __func__, ctx);
  if (!flag) flag = copyMatrix(&linear->K, K, n, "K", __func__, ctx);
  if (!flag) flag = checkSymmetric(&linear->M.A, __func__);
  const CPEquations model = {
      .nu = n, .M_tmpl = M, .M = mass, .f = forces, .dynamics_jac = partials, .K_tmpl = K, .C_tmpl = C};
  CPMech mech = flag ? NULL : CPMechCreate(&model, y_tmpl, ctx);
  if (!mech) {
    cpMechLinearFree(&linear);
    return NULL;
  }
  mech->linear    = linear;
  mech->user_data = linear;
  return mech;
}
