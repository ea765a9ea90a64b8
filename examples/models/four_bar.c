#include "elliptic.h"
#include "four_bar_impl.h"

#include <math.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---------------------------------------------------------------------------------- geometry -- */

sunindextype four_bar_n(int N) { return 6 * (2 * (sunindextype)N + 1); }
sunindextype four_bar_m(int N) { return 4 * (3 * (sunindextype)N + 1); }

int four_bar_ends(int N, sunindextype rod, FourBarEnd end[3]) {
  int n                = 0;
  const sunindextype k = (rod + 1) / 2;
  if (rod % 2) {
    end[n++] = (FourBarEnd){3 * k - 2, 1, -1};
    end[n++] = (FourBarEnd){3 * k - 1, 1, 1};
  } else {
    if (k > 0) end[n++] = (FourBarEnd){3 * k - 1, -1, 1};
    end[n++] = (FourBarEnd){3 * k, 1, -1};
    if (k < N) end[n++] = (FourBarEnd){3 * k + 1, -1, 1};
  }
  return n;
}

/* ------------------------------------------------------------------ constraints and Jacobian -- */

int four_bar_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const int N           = ((const FourBar *)user_data)->N;
  const sunindextype nq = four_bar_n(N) / 2;
  const sunrealtype *q  = N_VGetArrayPointer(y);
  sunrealtype *pos = N_VGetArrayPointer(c), *vel = pos + four_bar_m(N) / 2;

  N_VConst(0, c);
  for (int k = 0; k <= N; k++) pos[2 * (3 * k)] = -k; /* grounds */
  for (sunindextype rod = 0; rod < 2 * N + 1; rod++, q += 3) {
    const sunrealtype *u = q + nq;
    FourBarEnd end[3];
    const int nends       = four_bar_ends(N, rod, end);
    const sunrealtype e[] = {cos(q[2]), sin(q[2])}, e_dot[] = {-u[2] * e[1], u[2] * e[0]};
    for (int i = 0; i < nends; i++)
      for (int k = 0; k < 2; k++) {
        pos[2 * end[i].joint + k] += end[i].sign * (q[k] + end[i].side * e[k] / 2);
        vel[2 * end[i].joint + k] += end[i].sign * (u[k] + end[i].side * e_dot[k] / 2);
      }
  }
  return 0;
}

/* The entries of a column of G, rows in ascending order: at most 2 for each of 3 joints, positions
   and velocities */
typedef struct {
  int count;
  sunindextype row[12];
  sunrealtype value[12];
} Column;

static void add(Column *col, sunindextype row, sunrealtype value) {
  col->row[col->count]     = row;
  col->value[col->count++] = value;
}

/* Derivative of the joints' points with respect to the centre's coordinate k of the rod */
static void add_centre(Column *col, const FourBarEnd *end, int nends, int k, sunindextype first) {
  for (int i = 0; i < nends; i++) add(col, first + 2 * end[i].joint + k, end[i].sign);
}

/* The same with respect to the angle, through the derivative (dx, dy) of (cos phi, sin phi) */
static void add_angle(Column *col, const FourBarEnd *end, int nends, sunrealtype dx, sunrealtype dy,
                      sunindextype first) {
  for (int i = 0; i < nends; i++) {
    const sunrealtype half = end[i].sign * end[i].side / SUN_RCONST(2.0);
    add(col, first + 2 * end[i].joint, half * dx);
    add(col, first + 2 * end[i].joint + 1, half * dy);
  }
}

/* Column j of G = [A 0; d(A u)/dq A]. The positions of its entries do not depend on y. */
static Column column_of(int N, const sunrealtype *y, sunindextype j) {
  const sunindextype nq = four_bar_n(N) / 2, nc = four_bar_m(N) / 2;
  const sunindextype rod = j % nq / 3, rates = j < nq ? 0 : nc;
  const int k = (int)(j % 3);
  Column col  = {.count = 0};
  FourBarEnd end[3];
  const int nends = four_bar_ends(N, rod, end);
  if (k < 2) {
    add_centre(&col, end, nends, k, rates);
  } else {
    const sunrealtype phi = y[3 * rod + 2], phi_d = y[nq + 3 * rod + 2];
    add_angle(&col, end, nends, -sin(phi), cos(phi), rates);
    if (j < nq) add_angle(&col, end, nends, -phi_d * cos(phi), -phi_d * sin(phi), nc);
  }
  return col;
}

int four_bar_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c;
  const int N          = ((const FourBar *)user_data)->N;
  const int sparse     = SUNMatGetID(G) == SUNMATRIX_SPARSE;
  sunrealtype *value   = sparse ? SM_DATA_S(G) : NULL;
  const sunrealtype *s = N_VGetArrayPointer(y);

  for (sunindextype j = 0; j < four_bar_n(N); j++) {
    const Column col = column_of(N, s, j);
    for (int i = 0; i < col.count; i++) {
      if (sparse) {
        *value++ = col.value[i];
      } else {
        SM_ELEMENT_D(G, col.row[i], j) = col.value[i];
      }
    }
  }
  return 0;
}

/* Each end of a rod has 2 + 3 entries in the rows of each coordinate of its joint; there are 5N+1
   ends. */
SUNMatrix four_bar_pattern(int N, SUNContext ctx) {
  const sunindextype n = four_bar_n(N), nnz = 10 * (5 * (sunindextype)N + 1);
  SUNMatrix G       = SUNSparseMatrix(four_bar_m(N), n, nnz, CSC_MAT, ctx);
  sunrealtype *zero = calloc((size_t)n, sizeof *zero);
  if (G && zero) {
    sunindextype *start = SM_INDEXPTRS_S(G), *index = SM_INDEXVALS_S(G);
    start[0] = 0;
    for (sunindextype j = 0; j < n; j++) {
      const Column col = column_of(N, zero, j);
      for (int i = 0; i < col.count; i++) index[start[j] + i] = col.row[i];
      start[j + 1] = start[j] + col.count;
    }
  } else if (G) {
    SUNMatDestroy(G);
    G = NULL;
  }
  free(zero);
  return G;
}

/* ------------------------------------------------------------------------------------ states -- */

void four_bar_state(const FourBar *f, sunrealtype theta, sunrealtype theta_d, N_Vector y) {
  const sunindextype nq = four_bar_n(f->N) / 2;
  const sunrealtype s = sin(theta), c = cos(theta), quarter_turn = 2 * atan(SUN_RCONST(1.0));
  sunrealtype *q = N_VGetArrayPointer(y);

  for (sunindextype rod = 0; rod < 2 * f->N + 1; rod++, q += 3) {
    const sunindextype k = rod / 2; /* ground below the rod; for a rod h, below its left end */
    sunrealtype *u       = q + nq;
    if (rod % 2) {
      q[0] = (sunrealtype)k + s + SUN_RCONST(0.5), q[1] = c, q[2] = 0;
      u[0] = theta_d * c, u[1] = -theta_d * s, u[2] = 0;
    } else {
      q[0] = (sunrealtype)k + s / 2, q[1] = c / 2, q[2] = quarter_turn - theta;
      u[0] = theta_d * c / 2, u[1] = -theta_d * s / 2, u[2] = -theta_d;
    }
  }
}

void four_bar_initial(const FourBar *f, N_Vector y) { four_bar_state(f, 0, 1, y); }

/* F(phi | -M) = (K(m) - F(pi/2 - phi | m)) / sqrt(1 + M), m = M / (1 + M)  (Abramowitz and Stegun 17.4.17) */
void four_bar_exact(const FourBar *f, sunrealtype t, sunrealtype *theta, sunrealtype *theta_d) {
  const sunrealtype N = f->N, w = f->g * ((N + 1) / 2 + N) / ((N + 1) / 3 + N), M = 4 * w;
  const sunrealtype m = M / (1 + M), right_angle = acos(SUN_RCONST(0.0));
  const sunrealtype phi = /* theta / 2 */
      right_angle + elliptic_amplitude(sqrt(1 + M) * t / 2 - elliptic_quarter(m), m);
  *theta   = 2 * phi;
  *theta_d = sqrt(1 + M * sin(phi) * sin(phi));
}

sunrealtype four_bar_energy(const FourBar *f, N_Vector y) {
  const sunindextype nq = four_bar_n(f->N) / 2;
  const sunrealtype *q  = N_VGetArrayPointer(y);
  sunrealtype energy    = 0;
  for (sunindextype rod = 0; rod < 2 * f->N + 1; rod++, q += 3) {
    const sunrealtype *u = q + nq;
    energy += (u[0] * u[0] + u[1] * u[1] + FOUR_BAR_INERTIA * u[2] * u[2]) / 2 + f->g * q[1];
  }
  return energy;
}

sunrealtype four_bar_branch(const FourBar *f, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), turn = 8 * atan(SUN_RCONST(1.0));
  sunrealtype angle = 0;
  for (int k = 1; k <= f->N; k++) angle = fmax(angle, fabs(remainder(q[6 * k + 2] - q[2], turn)));
  return angle;
}
