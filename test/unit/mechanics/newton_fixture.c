#include "newton_fixture.h"

#include <math.h>

SUNMatrix ode_jacobian(CPMech mech, sunrealtype t, N_Vector y) {
  const sunindextype n = N_VGetLength(y);
  const double h       = 0.005;
  N_Vector moved = vector_copy(y), f = vector_copy(y);
  SUNMatrix J = SUNDenseMatrix(n, n, test_context);
  for (sunindextype j = 0; j < n; j++)
    for (int k = -3; k <= 3; k++) {
      if (k == 0) continue;
      entries(moved)[j] = entries(y)[j] + k * h;
      ck_assert_int_eq(CPMechRhs(t, moved, f, mech), 0);
      entries(moved)[j] = entries(y)[j];
      for (sunindextype i = 0; i < n; i++)
        SM_ELEMENT_D(J, i, j) += sixth_order(k) / h * entries(f)[i];
    }
  N_VDestroy(moved);
  N_VDestroy(f);
  return J;
}

double system_residual(CPMechNewtonMem newton, N_Vector y, SUNMatrix J, double gamma) {
  const sunindextype n    = N_VGetLength(y);
  unsigned long long seed = 3;
  double worst            = 0.0;
  N_Vector r = vector_copy(y), x = vector_copy(y), Jx = vector_copy(y);
  for (int k = 0; k < 5; k++) {
    random_fill(r, &seed);
    ck_assert_int_eq(SUNLinSolSolve(newton->LS, newton->matrix, x, r, 0.0), 0);
    ck_assert_int_eq(SUNMatMatvec(J, x, Jx), 0);
    for (sunindextype i = 0; i < n; i++)
      worst = fmax(worst, fabs(entries(x)[i] - gamma * entries(Jx)[i] - entries(r)[i]));
  }
  N_VDestroy(r);
  N_VDestroy(x);
  N_VDestroy(Jx);
  return worst;
}
