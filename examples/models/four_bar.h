/* N four-bar linkages side by side, in absolute coordinates: 2N+1 uniform rods of length 1 m and
 * mass 1 kg, one degree of freedom, gravity along -y.
 *
 *      B_0 --h_1-- B_1 --h_2-- B_2       vertical rods v_0 ... v_N, from the ground at (k, 0) to B_k
 *       |           |           |        horizontal rods h_1 ... h_N, from B_{k-1} to B_k
 *      v_0         v_1         v_2
 *       |           |           |        rods in the order v_0, h_1, v_1, ..., h_N, v_N
 *
 *   M u' + A^T lambda = Q,   M = diag(1, 1, 1/12) and Q = (0, -g, 0) for each rod,   A = dp/dq
 *
 *   0 = p(q)       3N+1 joints, (difference of the joined points)_{x, y}    positions    [m]
 *   0 = A(q) u     their rates                                              velocities   [m/s]
 *
 *   q = (x, y, phi) for each rod: centre [m], angle of the rod from +x [rad];   u = q'
 *   y = (q, u)   state;   nq = 3 (2N+1),   n = 2 nq,   m = 4 (3N+1)
 *   joints: 0 ground of v_0;  3k-2 B_{k-1} on h_k,  3k-1 B_k on h_k,  3k ground of v_k,  k = 1..N
 *
 * On the regular branch all vertical rods stay parallel. With theta, clockwise from upright,
 *
 *   ((N+1)/3 + N) theta'' = g ((N+1)/2 + N) sin theta
 *
 * Where all rods are horizontal, the rank of A falls by N: other branches start there, and the forces
 * along the rods grow without bound on the way there. The accelerations follow from Gauss' principle:
 * among all that satisfy the constraints, they are nearest to the free ones, that is, they minimise
 * (u' - M^-1 Q)^T M (u' - M^-1 Q). They are computed by a rank-revealing factorisation. At the singular
 * position itself, where N+1 motions are possible, they are not the limit from the regular branch
 * (except for N = 1).
 *
 * Source: IFToMM library of computational benchmark problems, A02 (N = 40); M. Gonzalez, D.
 * Dopico, U. Lugris, J. Cuadrado, Multibody System Dynamics 16 (2006); E. Bayo, A. Avello,
 * Nonlinear Dynamics 5 (1994), for N = 2.
 */
#ifndef CPODES_EXAMPLES_FOUR_BAR_H
#define CPODES_EXAMPLES_FOUR_BAR_H

#include <cpodes/cpodes_mechanics.h>

enum { FOUR_BAR_MAX = 5000 }; /* largest N: the accelerations take a dense matrix 2N x (2N+1) */

typedef struct {
  int N;             /* number of windows */
  sunrealtype g;     /* gravity [m/s^2] */
  sunrealtype rcond; /* constraints count as dependent below this reciprocal condition, 1e-12 */
  sunrealtype *R;    /* work [2N x (2N+1)]: loop closures in angles, column-major */
  sunrealtype *chol; /* work [3N]: Cholesky factors of the masses in angles */
  sunrealtype *acc;  /* work [2N+1]: phi'' of the rods */
  sunrealtype *rest; /* work [2N+1]: residual of the closures, then the correction of phi'' */
  sunrealtype *work; /* work [lwork] of LAPACK */
  int *jpvt, lwork;  /* work [2N+1] of LAPACK */
} FourBar;           /* the user_data of the functions below */

FourBar *four_bar_create(int N, sunrealtype g); /* NULL if out of memory, or if N is out of range */
void four_bar_free(FourBar **four_bar);         /* *four_bar may be NULL */

sunindextype four_bar_n(int N); /* length of y */
sunindextype four_bar_m(int N); /* length of c */

/* Returns 1 if no acceleration satisfies the constraints, because at a singular position the velocities
   belong to none of its branches. */
int four_bar_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int four_bar_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);

/* G [m x n]: dense, or sparse by columns with the index arrays of four_bar_pattern, which stay */
int four_bar_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);
/* Its template of type CSC_MAT, which the caller frees; NULL if out of memory */
SUNMatrix four_bar_pattern(int N, SUNContext ctx);

/* The same as functions for a CPMech, with the same user_data. Matrices are dense, or sparse by columns with
   the templates of four_bar_matrices in M_tmpl and A_tmpl. The multipliers are the forces of the joints, which
   act on the rods as -A^T lambda. */
CPEquations four_bar_model(const FourBar *f);
/* Templates of type CSC_MAT for M (diagonal) and A; the caller frees them. 0, or 1: no memory */
int four_bar_matrices(int N, SUNContext ctx, SUNMatrix *M, SUNMatrix *A);
/* With them, templates for K (diagonal), Bq and Bu in the model; the caller frees them. 0, or 1 */
int four_bar_partials(int N, SUNContext ctx, CPEquations *model);

/* y [n]: out, the state of the regular branch at (theta, theta') */
void four_bar_state(const FourBar *f, sunrealtype theta, sunrealtype theta_d, N_Vector y);
/* y [n]: out, upright, B_0 moves with velocity (1, 0) */
void four_bar_initial(const FourBar *f, N_Vector y);

/* theta and theta' of the motion from there, on the regular branch: theta'^2 = 1 + 4 w sin^2(theta / 2),
   w = theta'' / sin(theta), so that t = 2 F(theta / 2 | -4 w) */
void four_bar_exact(const FourBar *f, sunrealtype t, sunrealtype *theta, sunrealtype *theta_d);

/* Kinetic and potential energy [J], conserved */
sunrealtype four_bar_energy(const FourBar *f, N_Vector y);

/* Largest angle between v_0 and another vertical rod [rad], at most pi: 0 on the regular branch */
sunrealtype four_bar_branch(const FourBar *f, N_Vector y);

#endif
