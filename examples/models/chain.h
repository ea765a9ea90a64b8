/* Planar chain of n unit point masses on massless rods of length 1, hanging from the origin.
 *
 *   d_i = r_i - r_{i-1},  w_i = v_i - v_{i-1},  r_0 = v_0 = 0,  i = 1..n
 *
 *   r_i'' = (0, -g) - lambda_i d_i + lambda_{i+1} d_{i+1},   lambda_{n+1} = 0
 *
 *   0 = (|d_i|^2 - 1) / 2      positions      [m^2]
 *   0 = d_i . w_i              velocities     [m^2/s]
 *
 *   y = (r_1, ..., r_n, v_1, ..., v_n), r_i = (x_i, y_i)   state     [m, m/s]
 *   g  gravity along -y [m/s^2]
 *
 * The tensions lambda solve the tridiagonal system
 *
 *   G G^T lambda = |w_i|^2 - (i = 1: g y_1),   G = d(positions)/dr
 *
 * n = 1 is the pendulum with L = 1. Source: Newton's law for each mass and the second derivative of
 * its constraint; no published numbers belong to it.
 */
#ifndef CPODES_EXAMPLES_CHAIN_H
#define CPODES_EXAMPLES_CHAIN_H

#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nvector.h>

typedef struct {
  sunindextype n;     /* number of masses; y has 4 n components, c has 2 n */
  sunrealtype g;      /* gravity [m/s^2] */
  sunrealtype *diag;  /* work [n]: diagonal of the tridiagonal matrix, and of its factors L D L^T */
  sunrealtype *sub;   /* work [n]: its subdiagonal, sub[0] unused */
  sunrealtype *rhs;   /* work [n]: right-hand side and solution */
  sunrealtype *delta; /* work [2 n]: correction of the positions or the velocities */
  sunrealtype *prec_diag, *prec_sub; /* [2 n] each: factors of chain_prec_setup, by levels */
  int prec_ready;                    /* 1 if they have been computed */
  void *cvode_mem;                   /* for chain_cvode_projection: source of the error weights */
  N_Vector ewt;                      /* work [4 n], for chain_cvode_projection */
} Chain;                             /* the user_data of the functions below */

Chain *chain_create(sunindextype n, sunrealtype g); /* NULL if out of memory */
void chain_free(Chain **chain);                     /* *chain may be NULL */

int chain_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int chain_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int chain_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* The same Jacobian as a sparse matrix. G [2 n x 4 n]: values out, by columns or by rows; its index
   arrays are those of chain_pattern and stay. */
int chain_sparse_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);
/* Its template, of type CSC_MAT or CSR_MAT, which the caller frees; NULL if out of memory */
SUNMatrix chain_pattern(sunindextype n, int type, SUNContext ctx);

/* Products without a matrix. x [4 n]: in. Gx [2 n]: out, G x */
int chain_jac_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector Gx, void *user_data);
/* x [2 n], GTx [4 n]: out, G^T x */
int chain_jac_trans_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector GTx, void *user_data);

/* diag [2 n] (out) is the diagonal of G D G^T. D [4 n] is diagonal, and 0 where a component is held; if it is NULL, D is the
   unit matrix. */
int chain_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data);

/* Preconditioner for G D G^T by tridiagonal factors of each level's own block (positions, and velocities with
   the positions held), which is exact for each level alone. The setup returns 1 if a block is singular.
   res [2 n]: in. z [2 n]: out */
int chain_prec_setup(sunrealtype t, N_Vector y, N_Vector D, void *user_data);
int chain_prec_solve(sunrealtype t, N_Vector y, N_Vector res, N_Vector z, void *user_data);

/* y [4 n]: out, at rest and stretched along +x */
void chain_initial(const Chain *chain, N_Vector y);

/* Kinetic and potential energy [J]; 0 for the motion from chain_initial */
sunrealtype chain_energy(const Chain *chain, N_Vector y);

/* Hand-written projection for CVODES' own hook, CVodeSetProjFn (signature of CVProjFn): first the positions,
   by simplified Newton iteration in the error-weighted norm, to epsproj in the WRMS norm; then the velocities
   with the positions held; and likewise the error estimate. chain_attach must be called first. */
int chain_cvode_projection(sunrealtype t, N_Vector y, N_Vector corr, sunrealtype epsproj,
                           N_Vector err, void *user_data);

/* cvode_mem, which is not owned, gives the error weights; if it is NULL, the caller writes them to chain->ewt. y_tmpl [4 n]
   is cloned. Returns 0, or -1 if out of memory. */
int chain_attach(Chain *chain, void *cvode_mem, N_Vector y_tmpl);

#endif
