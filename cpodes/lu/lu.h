/* LU factors of a square matrix that is a weighted sum of real ones,
 *
 *   S = sum_k c_k J_k + D
 *
 * with real or complex weights c_k. Each J_k, or its transpose, has a place of its own in S. D is the identity in the last
 * rows (all, some or none). Rows and columns that are fixed are those of the identity, whatever the J_k contain.
 * I - gamma J is one matrix of this kind, the iteration matrix of a mechanism another (mechanics/newton).
 *
 * S is dense (LAPACK) or sparse (KLU). */
#ifndef CPODES_LU_H
#define CPODES_LU_H

#include "cpodes/matrix/matrix.h"

#include <complex.h>

typedef struct CPLu_ *CPLu;

/* fixed [order], the caller's, is read by each cpLuAssemble; there are no fixed rows if it is NULL. D has ones from row
 * first_unit on. 0 or CP_MEM_FAIL, with *lu half-built: cpLuFree takes it. */
int cpLuCreate(CPLu *lu, int order, int sparse, int is_complex, const char *fixed, int first_unit);
void cpLuFree(CPLu *lu);

/* Adds the next term, J or its transpose with its first entry at (row, col). J is the caller's, dense or sparse, and has
 * its final structure; its values are read by cpLuAssemble. 0 or CP_MEM_FAIL. */
int cpLuTerm(CPLu lu, const CPMat *J, int row, int col, int transposed);
/* S with these weights, one for each term, whose imaginary parts are zero for a real S. A sparse S gets a new pattern
 * when other rows are fixed, or when a dense J is not zero where it has always been. 0 or CP_MEM_FAIL. */
int cpLuAssemble(CPLu lu, const double complex *weight);
/* Are all entries of S finite, before it is factored? */
int cpLuFinite(const CPLu lu);
/* The factors, which may take the place of S. 0; 1 if S is singular; negative: a code. */
int cpLuFactor(CPLu lu);
/* Have the newest factors kept the pivots of others? Then the next ones will not. */
int cpLuRenew(CPLu lu);
/* re [order], im [order]: real and imaginary parts of the right-hand side, then of the solution. A real S does not use
 * im, which may be NULL. 0 or a code. */
int cpLuSolve(CPLu lu, double *re, double *im);

#endif
