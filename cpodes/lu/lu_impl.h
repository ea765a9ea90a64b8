/* Inside of CPLu: what the solvers share. */
#ifndef CPODES_LU_IMPL_H
#define CPODES_LU_IMPL_H

#include "cpodes/base/arena.h"
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
  size_t *place; /* sparse S: of each entry of J among those of S, CP_NO_PLACE if there is none */
} CPLuSummand;
#define CP_NO_PLACE SIZE_MAX

struct CPLu_ {
  const CPLuOps *ops;
  CPArena arena;
  int order, parts;  /* parts: 1, or 2 if S is complex */
  int sparse;        /* A sparse S has no pattern before the first cpLuAssemble. */
  CPMat S;           /* value has parts * entries numbers: real and imaginary parts in turn. */
  int is_new;        /* the pattern of S has changed since the newest factors */
  int kept, renew;   /* sparse S: these have kept older pivots; the next ones must not */
  const char *fixed; /* [order] or NULL */
  int first_unit;
  char *fixed_then; /* [order] sparse S: fixed rows that its pattern was made for */
  int nterms;
  CPLuSummand *term; /* [nterms] */
  double *work;      /* [parts order] a vector, the parts of a number in turn */
  void *content;
};

/* x [2 n] <- re + i im, parts of a number in turn, and back. */
void cpLuJoin(int n, const double *re, const double *im, double *x);
void cpLuPart(int n, const double *x, double *re, double *im);

#endif
