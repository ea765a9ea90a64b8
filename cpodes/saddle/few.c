/* More than twice as many rows as coordinates, as of the contacts of many pairs of bodies: few of them are in use at a time. A saddle point
 * of its own has these alone, with their structure, and is created anew where others come into use. Rows that are off
 * then cost no more than their place in A; in a structure that had them all, they would couple all bodies. */
#include "saddle_impl.h"

typedef struct {
  CPArena arena;  /* memory of what follows */
  int *row;       /* [rows of A] its rows among those of the saddle point */
  CPMat A;        /* the rows in use */
  size_t *from;   /* [entries] the place of each entry in the A of the saddle point */
  double *b, *mu; /* [rows of A] */
} Few;

static void destroy(void *saddle) {
  CPSaddle s = saddle;
  Few *c     = s->used.content;
  cpSaddleFree(&s->few);
  cpArenaFree(&c->arena);
}

static int create(CPSaddle s) {
  if (s->has_matrix && !s->M.start) return CP_ILL_INPUT;
  if (!s->has_matrix && s->first == CP_LINSOL_KKT) return CP_ILL_INPUT;
  Few *c;
  s->used.content = CP_NEW(&s->used.arena, c, 1);
  return c && cpArenaOwn(&s->used.arena, s, destroy) ? CP_SUCCESS : CP_MEM_FAIL;
}

/* Are these the rows that are in use? */
static int isCurrent(const CPSaddle s, const Few *c) {
  return s->few && c->A.rows == s->nrows &&
         !memcmp(c->row, s->row, (size_t)s->nrows * sizeof *c->row);
}

/* The structure of the rows in use, and the saddle point that has them */
static int renew(CPSaddle s, Few *c) {
  CPArena *arena = &c->arena;
  const CPMat *A = &s->A;
  int *place;
  size_t count            = 0;
  CPSaddleOptions options = s->options;
  options.whole = 1, options.memo = NULL;
  cpSaddleFree(&s->few);
  cpArenaFree(arena);
  c->A = (CPMat){.rows = s->nrows, .cols = s->n};
  CP_NEW(arena, place, s->m);
  CP_NEW(arena, c->row, s->nrows);
  CP_NEW(arena, c->A.start, s->n + 1);
  CP_ARRAYS(arena, s->nrows, &c->b, &c->mu);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  memcpy(c->row, s->row, (size_t)s->nrows * sizeof *c->row);
  for (int k = 0; k < s->nrows; k++) place[s->row[k]] = k + 1; /* 0: it is off */
  for (size_t e = 0; e < A->start[s->n]; e++) count += place[A->row[e]] > 0;
  CP_NEW(arena, c->A.row, count);
  CP_NEW(arena, c->from, count);
  CP_NEW(arena, c->A.value, count);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  count = 0;
  for (int j = 0; j < s->n; j++) {
    for (size_t e = A->start[j]; e < A->start[j + 1]; e++)
      if (place[A->row[e]] > 0) c->A.row[count] = place[A->row[e]] - 1, c->from[count++] = e;
    c->A.start[j + 1] = count;
  }
  return cpSaddleCreate(&s->few, options, s->has_matrix ? &s->M : NULL, &c->A);
}

static int factor(CPSaddle s) {
  Few *c               = s->used.content;
  const int flag       = isCurrent(s, c) ? CP_SUCCESS : renew(s, c);
  const CPWeight W     = {.root = s->root, .matrix = s->has_matrix ? &s->M : NULL};
  const size_t entries = flag ? 0 : c->A.start[s->n];
  if (flag) return flag;
  for (size_t e = 0; e < entries; e++) c->A.value[e] = s->A.value[c->from[e]];
  const int failed = cpSaddleFactor(s->few, W, &c->A, s->ranktol);
  s->sine          = s->few->sine;
  s->indefinite    = s->few->indefinite;
  for (int k = 0; s->few->dependent >= 0 && k < s->nrows; k++)
    if (s->few->is_dependent[k]) cpSaddleMarkDependent(s, s->row[k]);
  return failed;
}

static int solve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  Few *c                   = s->used.content;
  s->few->options.shortest = s->options.shortest;
  for (int k = 0; b && k < s->nrows; k++) c->b[k] = b[s->row[k]];
  const int flag = cpSaddleSolve(s->few, f, b ? c->b : NULL, x, mu ? c->mu : NULL);
  for (int k = 0; mu && k < s->nrows; k++) mu[s->row[k]] = c->mu[k];
  return flag;
}

const CPSaddleOps cpSaddleFewOps = {create, factor, solve, NULL, NULL};
