/* The stabilised index-2 system of Gear, Gupta and Leimkuhler (SIAM J. Sci. Stat. Comput. 6, 1985), x = (q, u, lambda,
 * mu) of a model with matrices, q' = u:
 *
 *   0 = q' - u + A^T mu
 *   0 = M u' - f + A^T lambda
 *   0 = p(t, q)
 *   0 = v(t, q, u)
 *
 * and its Jacobian dF/dx + cj dF/dx', without the derivative of A^T mu (mu = 0 in the solution):
 *
 *   [ cj I     -I         .     A^T ]
 *   [ -K       cj M - C   A^T   .   ]      K = d(f - M u' - A^T lambda)/dq,  C = df/du
 *   [ A        .          .     .   ]
 *   [ dv/dq    A          .     .   ]
 */
#ifndef CPODES_BENCH_GEAR_H
#define CPODES_BENCH_GEAR_H

#include <models/model.h>
#include <stdbool.h>

enum { GEAR_BLOCKS = 10 };

/* A block of the Jacobian: the entries to which it is added. matrix NULL: the unit matrix */
typedef struct {
  SUNMatrix S;
  sunindextype entries;
  sunindextype *from;  /* [entries] in the values of S */
  sunindextype *place; /* [entries] in the values of the Jacobian */
} GearBlock;

typedef struct {
  const CPPlugin *model;
  sunindextype nu, m, n; /* n = 2 nu + 2 m */
  SUNMatrix M, A, K, C, V;
  SUNMatrix Bq, Bu, other; /* of constraint_jac; for differences of M and A */
  bool constant_mass;
  sunrealtype *work; /* [5 nu + 2 m] */
  GearBlock block[GEAR_BLOCKS];
  SUNMatrix pattern; /* of the sparse Jacobian: IDA clears it with its index arrays before each evaluation */
  long int residuals; /* evaluated, including those for differences */
} Gear;

bool gear_takes(const CPPlugin *model);
/* J: set to the matrix for the Jacobian, which the caller frees. sparse: CSC, where dense blocks
 * have the entries that are not zero near the start; otherwise dense. Returns 0, or -1; call
 * gear_free in any case. */
int gear_create(const CPPlugin *model, bool sparse, Gear *gear, SUNMatrix *J);
void gear_free(Gear *gear);
/* Consistent x, x' at t = 0 */
int gear_start(const Gear *gear, N_Vector x, N_Vector xdot);

/* Like IDAResFn and IDALsJacFn; user_data: the Gear */
int gear_residual(sunrealtype t, N_Vector x, N_Vector xdot, N_Vector r, void *gear);
int gear_jacobian(sunrealtype t, sunrealtype cj, N_Vector x, N_Vector xdot, N_Vector r, SUNMatrix J,
                  void *gear, N_Vector tmp1, N_Vector tmp2, N_Vector tmp3);

#endif
