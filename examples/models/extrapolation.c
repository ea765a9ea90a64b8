/* Gragg-Bulirsch-Stoer: T_{j,0} by the modified midpoint rule with 2(j + 1) substeps, then
 *
 *   T_{j,k} = T_{j,k-1} + (T_{j,k-1} - T_{j-1,k-1}) / ((n_j / n_{j-k})^2 - 1),   n_j = 2 (j + 1)
 */
#include "extrapolation.h"

enum { COLUMNS = 8 }; /* order 2 * COLUMNS */

typedef struct {
  CVRhsFn f;
  void *user_data;
  N_Vector row[COLUMNS]; /* T_{j,0..j} of the newest row, in the places of the one before */
  N_Vector previous;     /* z_{i-1} of the midpoint rule; T_{j-1,k-1} of the extrapolation */
  N_Vector next;         /* z_{i+1}; T_{j-1,k} */
  N_Vector slope;        /* f */
  N_Vector z;            /* newest T_{j,0} */
} Extrapolation;

static int substeps(int j) { return 2 * (j + 1); }

/* z: out, the midpoint rule's value at t + H with its smoothing step, from y at t */
static int midpoint(Extrapolation *e, sunrealtype t, sunrealtype H, int n, N_Vector y, N_Vector z) {
  sunrealtype h = H / n;
  int flag      = e->f(t, y, e->slope, e->user_data);
  N_VScale(1.0, y, e->previous);
  N_VLinearSum(1.0, y, h, e->slope, z); /* z_1 = z_0 + h f(z_0)         */
  for (int i = 1; i < n && !flag; i++) {
    flag = e->f(t + i * h, z, e->slope, e->user_data);
    N_VLinearSum(1.0, e->previous, 2.0 * h, e->slope, e->next); /* z_{i+1} = z_{i-1} + 2 h f(z_i) */
    N_VScale(1.0, z, e->previous);
    N_VScale(1.0, e->next, z);
  }
  if (!flag) flag = e->f(t + H, z, e->slope, e->user_data);
  N_VLinearSum(0.5, z, 0.5, e->previous, z); /* (z_n + z_{n-1} + h f(z_n)) / 2 */
  N_VLinearSum(1.0, z, 0.5 * h, e->slope, z);
  return flag;
}

/* Extends the tableau by the row that begins with z, so that row[j] becomes T_{j,j}. Differences are used because
   1 + weight is rounded, so that a sum of two products would scale the state a little in each step. */
static void extend_row(Extrapolation *e, int j, N_Vector z) {
  N_VScale(1.0, e->row[0], e->previous); /* T_{j-1,0} */
  N_VScale(1.0, z, e->row[0]);
  for (int k = 1; k <= j; k++) {
    sunrealtype ratio  = (sunrealtype)substeps(j) / (sunrealtype)substeps(j - k);
    sunrealtype weight = 1.0 / (ratio * ratio - 1.0);
    if (k < j) N_VScale(1.0, e->row[k], e->next); /* T_{j-1,k}, for the next column */
    N_VLinearSum(1.0, e->row[k - 1], -1.0, e->previous, e->row[k]);
    N_VLinearSum(1.0, e->row[k - 1], weight, e->row[k], e->row[k]);
    if (k < j) N_VScale(1.0, e->next, e->previous);
  }
}

/* Allocates all vectors of e. Returns 0, or -1 if out of memory */
static int create_vectors(Extrapolation *e, N_Vector tmpl) {
  N_Vector *single[] = {&e->previous, &e->next, &e->slope, &e->z};
  for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
    if (!(*single[i] = N_VClone(tmpl))) return -1;
  for (int k = 0; k < COLUMNS; k++) {
    if (!(e->row[k] = N_VClone(tmpl))) return -1;
    N_VConst(0.0, e->row[k]);
  }
  return 0;
}

static void free_vectors(Extrapolation *e) {
  N_Vector single[] = {e->previous, e->next, e->slope, e->z};
  for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
    if (single[i]) N_VDestroy(single[i]);
  for (int k = 0; k < COLUMNS; k++)
    if (e->row[k]) N_VDestroy(e->row[k]);
}

int extrapolate(CVRhsFn f, void *user_data, sunrealtype t0, sunrealtype t1, int nsteps, N_Vector y) {
  Extrapolation e     = {.f = f, .user_data = user_data};
  const sunrealtype H = (t1 - t0) / nsteps;
  int flag            = create_vectors(&e, y);
  for (int step = 0; step < nsteps && !flag; step++) {
    for (int j = 0; j < COLUMNS && !flag; j++) {
      flag = midpoint(&e, t0 + step * H, H, substeps(j), y, e.z);
      if (!flag) extend_row(&e, j, e.z);
    }
    if (!flag) N_VScale(1.0, e.row[COLUMNS - 1], y);
  }
  free_vectors(&e);
  return flag;
}
