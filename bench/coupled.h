/* n coordinates, all coupled, with m constraints that each involve all of them; stiff.
 *
 *     M u' + A^T lambda = f = -S q - D u + g cos t,   q' = u
 *     p_i = sum_j B_ij (P(q_j) - P(0)),   P(x) = x + x^2 / 2
 *     A_ij = B_ij (1 + q_j),   v = A u,   b_i = -sum_j B_ij u_j^2
 *     K = -S - diag(B^T lambda),  C = -D,  Bq = -B diag(a),  Bu = -2 B diag(u)
 *
 *     M = H diag(mu) H,  S = H diag(kappa) H,  D = H diag(delta) H,   H = I - 2 w w^T / w^T w
 *     mu_j from 1 to 3, kappa_j from 1 to 1e8, delta_j = 20 sqrt(kappa_j mu_j) (ten times the critical
 *     damping), all logarithmically spaced over the n values of j; w, B, g pseudo-random of order one
 *
 * y = (q, u). The slower relaxation of each mode takes 20 / sqrt(kappa / mu), from 20 s to 3.5 ms. */
#ifndef CPODES_BENCH_COUPLED_H
#define CPODES_BENCH_COUPLED_H

#include <cpodes/cpodes_mechanics.h>

typedef struct {
  int n, m;
  double *M, *S, *D; /* n x n, by columns */
  double *B;         /* m x n, by columns */
  double *g;         /* [n] */
  double *L;         /* n x n: Cholesky factor of M, for the Jacobian */
  double *work;      /* for the Jacobian */
} Coupled;           /* the user_data of the functions of the model */

Coupled *coupled_create(int n, int m);
void coupled_free(Coupled **coupled);
/* As an index-3 system, dense, with all partial derivatives */
CPEquations coupled_model(const Coupled *coupled);

/* J [2n x 2n] of y' = (u, u'), for given udot and lambda at (t, y):
 *
 *     du'/dx = X - M^-1 A^T (A M^-1 A^T)^-1 (A X - Bx),   X = M^-1 K, M^-1 C */
int coupled_jacobian(Coupled *coupled, N_Vector y, const double *udot, const double *lambda,
                     SUNMatrix J);

#endif
