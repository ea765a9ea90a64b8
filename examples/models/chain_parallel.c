#include "chain_parallel.h"

#include "chain_impl.h"
#include <nvector/nvector_parallel.h>
#include <stdlib.h>

/* In r, v, xr and xv the previous rank's last mass has the index 0 and this rank's masses have 1 ... n: rod
   i + 1 of chain_impl.h is row i here. On the first rank mass 0 is the origin, all zeros. */

/* -------------------------------------------------------------------------------- neighbours -- */

/* The next rank's `received` becomes this one's `sent`; that of the first rank is unchanged. */
static int send_right(const ChainParallel *c, const sunrealtype *sent, sunrealtype *received,
                      int count) {
  return MPI_Sendrecv(sent, count, MPI_DOUBLE, c->after, 0, received, count, MPI_DOUBLE, c->before,
                      0, c->comm, MPI_STATUS_IGNORE)
             ? -1
             : 0;
}

/* The same in the other direction: the array of the last rank is unchanged. */
static int send_left(const ChainParallel *c, const sunrealtype *sent, sunrealtype *received,
                     int count) {
  return MPI_Sendrecv(sent, count, MPI_DOUBLE, c->before, 0, received, count, MPI_DOUBLE, c->after,
                      0, c->comm, MPI_STATUS_IGNORE)
             ? -1
             : 0;
}

/* r, v <- the halves of this rank's x (ones if x is NULL), after those of the mass before */
static int load(const ChainParallel *c, N_Vector x, sunrealtype *r, sunrealtype *v) {
  const sunindextype len = 2 * c->n;
  const sunrealtype *a   = x ? N_VGetArrayPointer(x) : NULL;
  for (sunindextype i = 0; i < len; i++) {
    r[2 + i] = a ? a[i] : 1;
    v[2 + i] = a ? a[len + i] : 1;
  }
  const sunrealtype last[4] = {r[len], r[len + 1], v[len], v[len + 1]};
  sunrealtype ghost[4]      = {0, 0, 0, 0};
  if (send_right(c, last, ghost, 4)) return -1;
  for (int k = 0; k < 2; k++) r[k] = ghost[k], v[k] = ghost[2 + k];
  return 0;
}

/* ------------------------------------------------------------ constraints and their products -- */

int chain_parallel_constraints(sunrealtype t, N_Vector y, N_Vector cvec, void *user_data) {
  (void)t;
  const ChainParallel *c = user_data;
  sunrealtype *pos = N_VGetArrayPointer(cvec), *vel = pos + c->n;
  if (load(c, y, c->r, c->v)) return -1;

  for (sunindextype i = 0; i < c->n; i++) {
    pos[i] = (dot_diff(c->r, i + 1, c->r, i + 1) - 1) / 2;
    vel[i] = dot_diff(c->r, i + 1, c->v, i + 1);
  }
  return 0;
}

int chain_parallel_jac_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector Gx, void *user_data) {
  (void)t;
  const ChainParallel *c = user_data;
  sunrealtype *pos = N_VGetArrayPointer(Gx), *vel = pos + c->n;
  if (load(c, y, c->r, c->v) || load(c, x, c->xr, c->xv)) return -1;

  for (sunindextype i = 0; i < c->n; i++) {
    pos[i] = dot_diff(c->r, i + 1, c->xr, i + 1);
    vel[i] = dot_diff(c->v, i + 1, c->xr, i + 1) + dot_diff(c->r, i + 1, c->xv, i + 1);
  }
  return 0;
}

/* Component k of the contribution of row i to G^T a at its own mass, r and v part */
static void pulls(const ChainParallel *c, const sunrealtype *pos, const sunrealtype *vel,
                  sunindextype i, int k, sunrealtype *on_r, sunrealtype *on_v) {
  const sunrealtype d = diff(c->r, i + 1, k), w = diff(c->v, i + 1, k);
  *on_r = d * pos[i] + w * vel[i];
  *on_v = d * vel[i];
}

int chain_parallel_jac_trans_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector GTx,
                                   void *user_data) {
  (void)t;
  const ChainParallel *c = user_data;
  const sunindextype n   = c->n;
  const sunrealtype *pos = N_VGetArrayPointer(x), *vel = pos + n;
  sunrealtype *zr = N_VGetArrayPointer(GTx), *zv = zr + 2 * n;
  if (load(c, y, c->r, c->v)) return -1;

  sunrealtype first[4], next[4] = {0, 0, 0, 0}; /* of the first rod, and of the next rank's */
  for (int k = 0; k < 2; k++) pulls(c, pos, vel, 0, k, &first[k], &first[2 + k]);
  if (send_left(c, first, next, 4)) return -1;

  for (int k = 0; k < 2; k++) {
    sunrealtype next_r = next[k], next_v = next[2 + k];
    for (sunindextype i = n - 1; i >= 0; i--) {
      sunrealtype on_r, on_v;
      pulls(c, pos, vel, i, k, &on_r, &on_v);
      zr[2 * i + k] = on_r - next_r;
      zv[2 * i + k] = on_v - next_v;
      next_r = on_r, next_v = on_v;
    }
  }
  return 0;
}

/* ------------------------------------------------------------------ diagonal, preconditioner -- */

int chain_parallel_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data) {
  (void)t;
  const ChainParallel *c = user_data;
  sunrealtype *pos = N_VGetArrayPointer(diag), *vel = pos + c->n;
  if (load(c, y, c->r, c->v) || load(c, D, c->xr, c->xv)) return -1;

  for (sunindextype i = 0; i < c->n; i++) {
    pos[i] = schur_entry(c->r, c->xr, i + 1);
    vel[i] = schur_entry(c->v, c->xr, i + 1) + schur_entry(c->r, c->xv, i + 1);
  }
  return 0;
}

int chain_parallel_prec_setup(sunrealtype t, N_Vector y, N_Vector D, void *user_data) {
  (void)t;
  ChainParallel *c     = user_data;
  const sunindextype n = c->n;
  c->prec_ready        = 0;
  if (load(c, y, c->r, c->v) || load(c, D, c->xr, c->xv)) return -1;

  const int here = factor_block(n, 1, c->r, c->xr, c->prec_diag, c->prec_sub) ||
                   factor_block(n, 1, c->r, c->xv, c->prec_diag + n, c->prec_sub + n);
  int failed = 1;
  if (MPI_Allreduce(&here, &failed, 1, MPI_INT, MPI_MAX, c->comm)) return -1;
  c->prec_ready = !failed;
  return failed;
}

int chain_parallel_prec_solve(sunrealtype t, N_Vector y, N_Vector res, N_Vector z, void *user_data) {
  (void)t, (void)y;
  const ChainParallel *c = user_data;
  const sunindextype n   = c->n;
  if (!c->prec_ready) return -1;
  sunrealtype *zp = N_VGetArrayPointer(z);

  N_VScale(1, res, z);
  ldl_solve(n, c->prec_diag, c->prec_sub, zp);
  ldl_solve(n, c->prec_diag + n, c->prec_sub + n, zp + n);
  return 0;
}

/* ------------------------------------------------------------------------------------ motion -- */

/* c->S.x <- tensions: G G^T lambda = |w_i|^2 - (i = 1: g y_1) */
static int tensions(ChainParallel *c) {
  TridiagonalParallel *S    = &c->S;
  const sunindextype n      = c->n;
  const sunrealtype last[2] = {diff(c->r, n, 0), diff(c->r, n, 1)};
  sunrealtype d_before[2]   = {0, 0}; /* the last rod of the previous rank */
  if (send_right(c, last, d_before, 2)) return -1;

  for (sunindextype i = 0; i < n; i++) {
    const int ends  = c->first + i > 0 ? 2 : 1; /* the first rod has one end at a mass */
    const int other = i > 0;                    /* 1 if the rod before belongs to this rank */
    S->diag[i]      = ends * dot_diff(c->r, i + 1, c->r, i + 1);
    S->x[i]         = dot_diff(c->v, i + 1, c->v, i + 1);
    S->sub[i]       = 0;
    for (int k = 0; k < 2; k++)
      S->sub[i] -= diff(c->r, i + 1, k) * (other ? diff(c->r, i, k) : d_before[k]);
  }
  if (c->first == 0) S->x[0] -= c->g * c->r[3];
  return tridiagonal_parallel_solve(S);
}

int chain_parallel_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  ChainParallel *c          = user_data;
  const sunindextype n      = c->n;
  const sunrealtype *lambda = c->S.x;
  sunrealtype *rd = N_VGetArrayPointer(ydot), *vd = rd + 2 * n;
  if (load(c, y, c->r, c->v)) return -1;
  const int failed = tensions(c);
  if (failed) return failed;

  sunrealtype first[2], next[2] = {0, 0}; /* pull of the first rod, and of the next rank's */
  for (int k = 0; k < 2; k++) first[k] = lambda[0] * diff(c->r, 1, k);
  if (send_left(c, first, next, 2)) return -1;

  for (sunindextype i = n - 1; i >= 0; i--)
    for (int k = 0; k < 2; k++) {
      const sunrealtype pull = lambda[i] * diff(c->r, i + 1, k);
      rd[2 * i + k]          = c->v[2 * (i + 1) + k];
      vd[2 * i + k]          = next[k] - pull - (k ? c->g : 0);
      next[k]                = pull;
    }
  return 0;
}

void chain_parallel_initial(const ChainParallel *c, N_Vector y) {
  sunrealtype *r = N_VGetArrayPointer(y);
  N_VConst(0, y);
  for (sunindextype i = 0; i < c->n; i++) r[2 * i] = (sunrealtype)(c->first + i + 1);
}

/* -------------------------------------------------------------------------------- life cycle -- */

/* This rank's masses, the neighbours */
static void deal_out(ChainParallel *c) {
  const sunindextype each = c->total / c->size, more = c->total % c->size;
  c->n      = each + (c->rank < more);
  c->first  = each * c->rank + (c->rank < more ? c->rank : more);
  c->before = c->rank > 0 ? c->rank - 1 : MPI_PROC_NULL;
  c->after  = c->rank + 1 < c->size ? c->rank + 1 : MPI_PROC_NULL;
}

/* Not collective. 0, or -1 if out of memory */
static int allocate(ChainParallel *c) {
  const size_t padded = 2 * ((size_t)c->n + 1), rows = 2 * (size_t)c->n;
  c->r         = calloc(padded, sizeof *c->r);
  c->v         = calloc(padded, sizeof *c->v);
  c->xr        = calloc(padded, sizeof *c->xr);
  c->xv        = calloc(padded, sizeof *c->xv);
  c->prec_diag = calloc(rows, sizeof *c->prec_diag);
  c->prec_sub  = calloc(rows, sizeof *c->prec_sub);
  return c->r && c->v && c->xr && c->xv && c->prec_diag && c->prec_sub ? 0 : -1;
}

ChainParallel *chain_parallel_create(MPI_Comm comm, sunindextype total, sunrealtype g) {
  int rank, size, missing = 1;
  if (MPI_Comm_rank(comm, &rank) || MPI_Comm_size(comm, &size) || total < size) return NULL;

  ChainParallel *c = calloc(1, sizeof *c);
  if (c) {
    *c = (ChainParallel){.comm = comm, .rank = rank, .size = size, .total = total, .g = g};
    deal_out(c);
  }
  const int here = !c || allocate(c) || tridiagonal_parallel_create(&c->S, comm, c->n);
  if (MPI_Allreduce(&here, &missing, 1, MPI_INT, MPI_MAX, comm) || missing) chain_parallel_free(&c);
  return c;
}

void chain_parallel_free(ChainParallel **chain) {
  ChainParallel *c = *chain;
  if (!c) return;
  tridiagonal_parallel_free(&c->S);
  free(c->r);
  free(c->v);
  free(c->xr);
  free(c->xv);
  free(c->prec_diag);
  free(c->prec_sub);
  free(c);
  *chain = NULL;
}

N_Vector chain_parallel_state(const ChainParallel *c, SUNContext ctx) {
  return N_VNew_Parallel(c->comm, 4 * c->n, 4 * c->total, ctx);
}

N_Vector chain_parallel_residual(const ChainParallel *c, SUNContext ctx) {
  return N_VNew_Parallel(c->comm, 2 * c->n, 2 * c->total, ctx);
}
