/* Counters of a projector. */
#ifndef CPODES_PROJECTOR_COUNTERS_H
#define CPODES_PROJECTOR_COUNTERS_H

#include <cpodes/cpodes_projector.h>

/* Counters since creation, over everything that uses the projector. */
typedef struct {
  long int nproj;       /* projections of states that were requested */
  long int nskipped;    /* requests without a projection, because the violation was small enough */
  long int ntangent;    /* projections of tangent and cotangent vectors */
  long int niters;      /* Newton corrections */
  long int nfails;      /* failed projections, of states and vectors */
  long int nce;         /* evaluations of c, without those for difference quotients */
  long int nceDQ;       /* evaluations of c for difference quotients */
  long int nje;         /* evaluations of G, by the user's function or by differences */
  long int nsetups;     /* factorisations, over all levels */
  long int nfloor;      /* projections accepted at the roundoff floor of c, above eps */
  long int nli;         /* products: iterations of conjugate gradients */
  long int nlinsolves;  /* products: linear systems solved */
  long int nprods;      /* products: products with G and G^T */
  long int npsolves;    /* products: calls of psolve */
  sunindextype rank;    /* rank of G at the newest factorisation, -1 before and with products */
  sunindextype nlevels; /* levels in use, 0 before the first projection */
  CPLinSol linsol;      /* solver in use (AUTO resolved) */
} CPProjectorStats;

#endif
