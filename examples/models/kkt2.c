#include "kkt2.h"

/* sum_i u_i v_i / mass_i */
static sunrealtype inner(int nq, const sunrealtype *mass, const sunrealtype *u,
                         const sunrealtype *v) {
  sunrealtype sum = 0;
  for (int i = 0; i < nq; i++) sum += u[i] * v[i] / mass[i];
  return sum;
}

int kkt2_solve(int nq, const sunrealtype *mass, const sunrealtype *G1, const sunrealtype *G2,
               const sunrealtype *Q, const sunrealtype b[2], sunrealtype *a, sunrealtype lambda[2]) {
  const sunrealtype S11 = inner(nq, mass, G1, G1);
  const sunrealtype S12 = inner(nq, mass, G1, G2);
  const sunrealtype S22 = inner(nq, mass, G2, G2);
  const sunrealtype r1  = inner(nq, mass, G1, Q) - b[0];
  const sunrealtype r2  = inner(nq, mass, G2, Q) - b[1];
  const sunrealtype det = S11 * S22 - S12 * S12;
  if (!(det > 0)) return 1; /* also catches NaN */

  lambda[0] = (S22 * r1 - S12 * r2) / det;
  lambda[1] = (S11 * r2 - S12 * r1) / det;
  for (int i = 0; i < nq; i++) a[i] = (Q[i] - G1[i] * lambda[0] - G2[i] * lambda[1]) / mass[i];
  return 0;
}
