/* A mechanism that has every feature, in any combination, for tests of iteration matrices.
 *
 *   M_jj = 3 + sin x_j,  M_j,j+1 = 0.4 cos(x_j - x_{j+1})
 *   f_j  = -4 x_j^3 + x_{j-1} x_{j+1} - 0.5 u_j - 0.7 u_j^3 + cos 2t + sin z_0 (j + 1) / 8
 *   A    : row i = (1 + 0.3 sin x_{2i}) at 2i, 0.5 cos x_{2i+1} at 2i+1;  redundant: one more row, the
 *          sum of rows 0 and 1.  v = A u - 0.1 sin t
 *   f_lambda,2i = -0.2 sqrt(1 + lambda_i^2) u_{2i} / (1 + u_{2i}^2)
 *   z'   = (-z_0 + x_1 u_2 + 0.5 tanh(lambda_0), sin(z_0) z_1 + x_3)
 *
 * Where q' = u, x = q. The features x_j of a quaternion p are entries of the rotation p / |p|, so
 * that nothing depends on |p|. Source: made up. */
#ifndef CPODES_TEST_LATTICE_H
#define CPODES_TEST_LATTICE_H

#include <cpodes/cpodes_mechanics.h>

enum { LATTICE_NU = 8, LATTICE_ROWS = 3 };

typedef struct {
  int sparse;
  int quaternions; /* 0, 1 (body frame, u_2 ...), 2 (and world frame, u_5 ...) */
  int nz;          /* 0 or 2 */
  int nquad;       /* 1: the second z is a quadrature */
  int friction;    /* f_lambda */
  int redundant;
  int b_by_differences;                             /* otherwise given, with q' = u only */
  int dynamics, constraints, auxiliary, lambda_jac; /* derivatives given, with q' = u only */
  int full, direct;                                 /* prescribed motions of coordinates 6 and 7 */
  int off;                                          /* row 1 is switched off */
  CPMechNewton newton;
} Lattice; /* also the user_data */

int lattice_rows(const Lattice *l);
/* A CPMech object with the options set; NULL: failed. */
CPMech lattice_create(Lattice *l, SUNContext ctx);
/* An arbitrary state, which the caller destroys. */
N_Vector lattice_state(const Lattice *l);

#endif
