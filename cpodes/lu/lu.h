/* LU factors of a square matrix that is a weighted sum of real matrices,
 *
 *   S = sum_k c_k J_k + D
 *
 * with real or complex weights c_k. Each J_k, or its transpose, may lie anywhere in S. D has ones
 * on the diagonal of the last rows (all, some or none). Fixed rows and columns are those of the
 * identity, whatever the J_k contain; a dense S is factored without them. I - gamma J is such a matrix; the iteration matrix of a
 * mechanism is another (mechanics/newton).
 *
 * S is dense (LAPACK) or sparse (KLU). */
#ifndef CPODES_LU_H
#define CPODES_LU_H

#include "cpodes/base/memo.h"
#include "cpodes/matrix/matrix.h"

#include <complex.h>

typedef struct CPLu_ *CPLu;

/* fixed [order] belongs to the caller and is read by each cpLuAssemble; if it is NULL, no rows are
 * fixed. D has ones from row first_unit on. Returns 0, or CP_MEM_FAIL with a half-built *lu, which
 * cpLuFree accepts. */
int cpLuCreate(CPLu *lu, int order, int sparse, int is_complex, const char *fixed, int first_unit);
void cpLuFree(CPLu *lu);
/* Shares the analysis of a sparse S of sparse terms with all that have the same structure; to be called before the first
 * cpLuAssemble. memo may be NULL. */
void cpLuShare(CPLu lu, CPMemo memo);

/* Adds the next term, J or its transpose with its first row and column at (row, col). J belongs to
 * the caller, is dense or sparse, and has its final structure; cpLuAssemble reads its values.
 * Returns 0 or CP_MEM_FAIL. */
int cpLuTerm(CPLu lu, const CPMat *J, int row, int col, int transposed);
/* Computes S with one weight for each term; for a real S their imaginary parts must be zero. A
 * sparse S gets a new pattern when the set of fixed rows changes, or when an entry of a dense J
 * that has always been zero becomes nonzero. Returns 0 or CP_MEM_FAIL. */
int cpLuAssemble(CPLu lu, const double complex *weight);
/* Are all entries of S finite? To be called before S is factored. */
int cpLuFinite(const CPLu lu);
/* Factors S; the factors may overwrite it. Returns 0, 1 if S is singular, or a negative error
 * code. */
int cpLuFactor(CPLu lu);
/* If the current factors have kept older pivots, the next factorisation will choose new ones.
 * Returns 1 in that case, or 0 if new pivots would change nothing. */
int cpLuRenew(CPLu lu);
/* re [order], im [order]: in, real and imaginary parts of the right-hand side; out, of the
 * solution. A real S does not use im, which may then be NULL. Returns 0 or an error code. */
int cpLuSolve(CPLu lu, double *re, double *im);

#endif
