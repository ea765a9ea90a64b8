/* Constraints of any pattern:
 *
 *     c_i(y) = s_i sum_j B_ij (p(y_j) - p(y*_j)),   p(x) = x + x^2 / 2,   G_ij = s_i B_ij (1 + y_j)
 *
 * B has pseudo-random entries in [-1, 1), y* in [-1/2, 1/2); s_i = 1 unless rows are repeated. */
#ifndef CPODES_BENCH_ROWS_H
#define CPODES_BENCH_ROWS_H

#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nvector.h>

typedef struct {
  sunindextype m, n;
  sunindextype *start, *col; /* [m + 1], [nnz]: pattern of B by rows, columns ascending */
  sunrealtype *B;            /* [nnz], with s_i */
  sunrealtype *p;            /* [n] p(y*_j) */
} Rows;                      /* the user_data of the functions below */

/* count blocks, each full and m x n; count = 1: a full matrix */
Rows *rows_blocks(sunindextype count, sunindextype m, sunindextype n);
/* count entries in each of m rows, at pseudo-random places */
Rows *rows_scattered(sunindextype m, sunindextype n, sunindextype count);
/* Replaces rows by three copies: unchanged, 1000 times larger, 1000 times smaller. */
void rows_repeat(Rows *rows);
void rows_free(Rows **rows);

/* y [n] = y* */
void rows_state(const Rows *rows, N_Vector y);
SUNMatrix rows_pattern(const Rows *rows, SUNContext ctx); /* CSR; the caller frees it */

int rows_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int rows_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G,
                  void *user_data); /* CSR, or dense */
int rows_times(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data);
int rows_trans_times(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data);
int rows_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data);

#endif
