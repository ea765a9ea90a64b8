/* Internals of CPLu that its solvers share. */
#ifndef CPODES_LU_IMPL_H
#define CPODES_LU_IMPL_H

#include "cpodes/base/arena.h"
#include "cpodes/base/roundoff.h"
#include "cpodes/lu/lu.h"

typedef struct {
  int (*create)(CPLu lu);                        /* 0 or CP_MEM_FAIL */
  int (*factor)(CPLu lu);                        /* as cpLuFactor */
  int (*solve)(CPLu lu, double *re, double *im); /* as cpLuSolve */
} CPLuOps;
extern const CPLuOps cpLuDenseOps, cpLuKluOps;

typedef struct {
  const CPMat *J;
  int row, col, transposed;
  const size_t *place; /* sparse S: the index in S of each entry of J, or CP_NO_PLACE; NULL: S has no pattern yet */
} CPLuSummand;
#define CP_NO_PLACE SIZE_MAX

struct CPLu_ {
  const CPLuOps *ops;
  CPArena arena;
  int order, parts;  /* parts: 1, or 2 if S is complex */
  int sparse;        /* A sparse S has no pattern before the first cpLuAssemble. */
  CPMat S;           /* has parts * entries values; real and imaginary parts alternate */
  int *at;           /* [order] dense S: the index of row and column i, or -1 if they are fixed */
  CPMemo memo;       /* sparse S: where its pattern and the analysis of it are shared, or NULL */
  CPArena pattern;   /* memory of that pattern without a memo */
  int is_new;        /* the pattern of S has changed since it was last factored */
  int kept, renew;   /* sparse S: the factors have kept older pivots; the next ones must not */
  const char *fixed; /* [order] or NULL */
  int first_unit;
  char *fixed_then; /* [order] sparse S: the fixed rows for which its pattern was made */
  int nterms;
  CPLuSummand *term; /* [nterms] */
  double *work;      /* [parts order] a vector; real and imaginary parts alternate */
  void *content;
};

/* x [2 n] <- re + i im, with alternating real and imaginary parts, and the reverse. */
void cpLuJoin(int n, const double *re, const double *im, double *x);
void cpLuPart(int n, const double *x, double *re, double *im);

#endif
