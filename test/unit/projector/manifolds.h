/* The manifolds on which the projector is tested, evaluated in extended precision, and a dense
 * reference projection on them that shares no code with the library: normal equations, solved by
 * Gaussian elimination in long double.
 *
 * (Valgrind computes long double in double precision; the tests' tolerances allow for that.)
 */
#ifndef CPODES_TEST_MANIFOLDS_H
#define CPODES_TEST_MANIFOLDS_H

#include <cpodes/cpodes_projector.h>

#include "support/support.h"

enum { MAX_STATES = 18, MAX_ROWS = 12, MAX_LEVELS = 4 };

/* c(t, y) = 0 with its Jacobian. */
typedef struct {
  const char *name;
  int n, m;
  /* c [m], G [m][MAX_STATES], zero when called: out */
  void (*eval)(long double t, const long double *y, long double *c, long double G[][MAX_STATES]);
  sunrealtype point[MAX_STATES]; /* a state on the manifold at that time, to a few digits */
  sunrealtype time;
  int nlevels; /* 1: none; 2: positions, then velocities */
  int row_level[MAX_ROWS];
  int col_level[MAX_STATES];
  /* Smallest singular value of the constraint gradients, scaled to length 1 in either metric of the
   * fixture, on any level. Its inverse bounds the distance from the manifold for a residual of 1. */
  sunrealtype apart;
  /* The last rows are Euclidean norms, 0 = |(y_first, ...)| - value, which the projector adds
   * itself. */
  int nnorms;
  struct {
    int first, length;
    sunrealtype value;
  } norm[2];
} Manifold;

extern const Manifold circle;      /* x^2 + y^2 = 1                                            */
extern const Manifold sphere;      /* x^2 + y^2 + z^2 = 1                                      */
extern const Manifold planes;      /* two linear equations for five unknowns                   */
extern const Manifold crank_loop;  /* the two closing equations of a slider-crank: positions only */
extern const Manifold pendulum_qu; /* pendulum, state (x, y, vx, vy)                           */
extern const Manifold pendulum_uq; /* pendulum, state (vx, vy, x, y)                           */
extern const Manifold pendulum_quz;   /* pendulum with two auxiliary states at the end            */
extern const Manifold crank_qu;       /* slider-crank with velocities, (q, u)                     */
extern const Manifold bodies_blocked; /* double pendulum, (x, y, vx, vy) for each body            */
extern const Manifold pivot_moving;   /* pendulum whose pivot moves with sin t: rheonomic         */
extern const Manifold knife_on_circle; /* knife edge held on a circle: one more velocity row       */

/* All of the above, for loops. Those below have more levels, rows that are norms, or more states. */
extern const Manifold *const manifolds[];
extern const int n_manifolds;

extern const Manifold bodies_one_by_one; /* double pendulum on four levels: p1, p2, v1, v2 */
extern const Manifold norms_beside; /* a vector of norm 1, one of norm 2 in two more equations */
extern const Manifold norms_alone;  /* a vector of norm 1 and one of norm 3 */
extern const Manifold long_chain; /* nine points in the plane, each at distance 1 from the one before:
                                       more than 16 components that a metric may couple */

/* D [n], the diagonal of the inverse metric: 1/ewt^2 or ones. */
void inverse_metric(CPNorm norm, N_Vector ewt, long double *D);

/* The inverse metric D_l of each level, zero outside of its columns. */
typedef struct {
  long double D[MAX_LEVELS][MAX_STATES][MAX_STATES];
} InverseMetric;

/* From a diagonal D [n], where 0 holds a component. */
void diagonal_metric(const Manifold *mf, int levels, const long double *D, InverseMetric *metric);
/* From the metric M [n][n]: the inverse of its block of the level's columns, without those in held
 * [n] (may be NULL). */
void matrix_metric(const Manifold *mf, int levels, long double M[][MAX_STATES], const int *held,
                   InverseMetric *metric);

/* y <- the stationary point of 1/2 d' D^-1 d on the manifold next to y, level by level if
 * requested. */
void reference_project_in(const Manifold *mf, int levels, InverseMetric *metric, N_Vector y);
/* v <- P v, w <- P' w at y, likewise. */
void reference_tangent_in(const Manifold *mf, int levels, InverseMetric *metric, N_Vector y,
                          N_Vector v);
void reference_cotangent_in(const Manifold *mf, int levels, InverseMetric *metric, N_Vector y,
                            N_Vector w);

/* The same for a diagonal D [n]. */
void reference_project(const Manifold *mf, int levels, const long double *D, N_Vector y);
void reference_tangent(const Manifold *mf, int levels, const long double *D, N_Vector y, N_Vector v);
void reference_cotangent(const Manifold *mf, int levels, const long double *D, N_Vector y,
                         N_Vector w);

/* max_i |G Pv|_i / (|G| |v|)_i: the deviation of Pv, the projection of v, from a tangent, in units
 * of v. */
sunrealtype tangent_defect(const Manifold *mf, N_Vector y, N_Vector v, N_Vector Pv);
/* max_i |c_i|, evaluated in long double. */
sunrealtype largest_residual(const Manifold *mf, N_Vector y);

/* Solves A x = b, A [n][MAX_STATES], by elimination with partial pivoting; x overwrites b. */
void solve_dense(int n, long double A[][MAX_STATES], long double *b);

#endif
