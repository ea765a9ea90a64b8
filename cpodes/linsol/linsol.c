/* Life cycle of the linear solvers, and the list of them. */
#include "linsol.h"

#include <stdlib.h>

static const CPLinOps *const solvers[] = {&cpSchurOps, &cpQROps, &cpQRPOps};

static const CPLinOps *findSolver(CPLinSol type) {
  for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++)
    if (solvers[i]->type == type) return solvers[i];
  return NULL;
}

int cpLinCreate(CPLin *result, CPLinSol type, int n, int mmax) {
  const CPLinOps *ops = findSolver(type);
  CPLin lin           = ops ? calloc(1, sizeof *lin) : NULL;
  *result             = NULL;
  if (!ops) return CP_ILL_INPUT;
  if (!lin) return CP_MEM_FAIL;
  lin->ops       = ops;
  lin->n         = n;
  lin->mmax      = mmax;
  lin->dependent = -1;
  int flag       = CP_MEM_FAIL;
  lin->A         = malloc((size_t)n * (size_t)mmax * sizeof *lin->A);
  if (lin->A) flag = ops->create(lin);
  if (flag) cpLinFree(&lin);
  else *result = lin;
  return flag;
}

void cpLinFree(CPLin *lin) {
  if (!lin || !*lin) return;
  if ((*lin)->content) (*lin)->ops->destroy(*lin);
  free((*lin)->A);
  free(*lin);
  *lin = NULL;
}
