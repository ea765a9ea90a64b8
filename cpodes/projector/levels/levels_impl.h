/* Detection of levels: G at several states and a candidate for (q, u), shared by levels.c, which
 * decides, levels/probe.c and levels/rate.c. */
#ifndef CPODES_LEVELS_IMPL_H
#define CPODES_LEVELS_IMPL_H

#include "cpodes/projector/projector_impl.h"

#define CP_PROBES 3

/* Blocks of 2 k components, the first (or last) k of each positions; what is left of the state is
 * z. */
typedef struct {
  int k, blocks, velocities_first;
  size_t id; /* of the candidates, counted from 1 */
} CPLayout;

/* Compressed rows of a matrix, in ascending order of the columns, without zeros. */
typedef struct {
  size_t *start; /* [m + 2] */
  int *col;
  double *value;
} CPRows;

/* Rows sorted by a column of theirs: row[0 ... below[j] - 1] have it below j. */
typedef struct {
  int *below; /* [n + 2]  */
  int *row;   /* [mc]     */
} CPOrder;

/* What a row looks like in u. */
typedef struct {
  size_t layout;         /* id of the candidate that this is for              */
  int velocity;          /* touches u                                         */
  double uu;             /* its gradient in u, squared, at the largest probe  */
  size_t big[CP_PROBES]; /* entries there that are not as good as zero        */
} CPRowView;

typedef struct {
  int n, m, mc;
  double same;         /* as good as zero, in a row with a largest entry of 1   */
  CPRows G[CP_PROBES]; /* each row scaled to that, over the probes              */
  const CPMat *g;      /* the newest probe by columns                           */
  double *square;      /* [m] of the row's norm, at the largest probe           */
  int *first, *last;   /* [m] columns that row i touches; a norm its components */
  int end;             /* behind the last one of all rows                       */
  CPOrder by_first, by_last;
  CPLayout at;     /* the candidate */
  CPRowView *view; /* [m] in it     */
} CPProbes;

static inline char cpKind(const CPProbes *p, int j) {
  const CPLayout *at = &p->at;
  if (j >= 2 * at->k * at->blocks) return 'z';
  const int first_half = (at->blocks == 1 ? j : j % (2 * at->k)) < at->k;
  return first_half == at->velocities_first ? 'u' : 'q';
}

/* The velocity that belongs to position j. */
static inline int cpVelocityOf(const CPProbes *p, int j) {
  return p->at.velocities_first ? j - p->at.k : j + p->at.k;
}

/* levels/probe.c */
/* 1, or 0 without memory; either is to be freed. */
int cpProbesCreate(CPProbes *p, const CPWork work);
void cpProbesFree(CPProbes *p);
/* G at all probes around y, rows scaled. 0, or a code when c or G fails there. */
int cpProbesTake(CPWork work, sunrealtype t, N_Vector y, CPProbes *p);

/* levels/rate.c */
/* Does row i touch u at any probe? */
int cpTouchesU(const CPProbes *p, int i);
/* Has position row i a velocity row with a constant multiple of its gradient? */
int cpHasRate(CPProbes *p, int i);

#endif
