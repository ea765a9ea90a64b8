/* W = M - gamma C - gamma^2 K T of the newest iteration matrix as a metric of velocities: its symmetric
 * part. Velocities of FULL motions move nothing: their rows have the diagonal only. */
#include "newton_impl.h"

#include <string.h>

static int add(CPMat *U, const CPMat *A) {
  CPMat both     = {0};
  const int flag = cpMatUnion(&both, U, A);
  if (flag) return flag;
  cpMatFree(U);
  *U = both;
  return CP_SUCCESS;
}

int cpMechNewtonPattern(CPMech mech, CPMat *W) {
  const CPMechNewtonMem newton = mech->newton;
  const int is_sparse          = newton && newton->sparse;
  const CPMat *K               = is_sparse ? &newton->block[CP_OF_F][CP_BY_Q].J : NULL,
              *C               = is_sparse ? &newton->block[CP_OF_F][CP_BY_U].J : NULL;
  if (!is_sparse || !K->start || !C->start) return cpMatCreateDense(W, mech->nu, mech->nu);
  CPMat transposed = {0};
  int flag         = cpMatClone(W, &newton->M);
  if (!flag) flag = add(W, K);
  if (!flag) flag = add(W, C);
  if (!flag) flag = cpMatTransposePattern(&transposed, W);
  if (!flag) flag = add(W, &transposed);
  cpMatFree(&transposed);
  if (flag) cpMatFree(W);
  return flag;
}

/* W += factor (J + J^T) / 2 */
static void addSymmetric(const CPMechNewtonMem newton, CPMat *W, double factor, const CPMat *J) {
  for (int j = 0; j < J->cols; j++) {
    for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++) {
      const int i = cpMatRow(J, j, k);
      if (i != j && (newton->fixed[i] || newton->fixed[j])) continue;
      *cpMatAt(W, i, j) += 0.5 * factor * J->value[k];
      *cpMatAt(W, j, i) += 0.5 * factor * J->value[k];
    }
  }
}

int cpMechNewtonMetric(CPMech mech, CPMat *W) {
  const CPMechNewtonMem newton = mech->newton;
  if (!newton || !cpIsKkt(newton) || !newton->valid || newton->gamma == 0.0) return 1;
  const double gamma = newton->gamma;
  const CPMat *K =
      newton->turned[CP_OF_F].value ? &newton->turned[CP_OF_F] : &newton->block[CP_OF_F][CP_BY_Q].J;
  cpMatZero(W);
  addSymmetric(newton, W, 1.0, &newton->M);
  addSymmetric(newton, W, -gamma, &newton->block[CP_OF_F][CP_BY_U].J);
  addSymmetric(newton, W, -gamma * gamma, K);
  return 0;
}
