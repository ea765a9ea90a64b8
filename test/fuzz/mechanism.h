/* The mechanism of the campaign: a pendulum, and what a choice of features adds to it, with every function
 * that cpodes can be given, and a reference solution.
 *
 *   q = (X, Y [, x] [, quaternion]),  u = (X', Y' [, x'] [, omega]),  z = ([z])
 *
 *   (X'', Y'') + lambda (X, Y) = (-d X', -g)      0 = (X^2 + Y^2 - L^2) / 2        pendulum, once or twice (REDUNDANT)
 *   2 x'' = -2 x - 0.4 x'                         EXTRA, and then one of these, or none:
 *     0 = x - 0.3 sin 2 t                           RHEONOMIC; DRIVEN: the same by a prescribed motion
 *     0 = x' - 0.2 X                                NONHOLONOMIC
 *     x'' = -x                                      ACCELERATION
 *   0.5 omega' = 0                                QUATERNION of a ball; KINEMATICS: its q' by a function
 *   z' = X - z                                    AUXILIARY
 *   forces -0.05 |lambda| tanh (X', Y')           FRICTION: no reference solution
 *
 * The functions need no user_data: they are those of the mechanism of mechanism_use(). */
#ifndef CPODES_FUZZ_MECHANISM_H
#define CPODES_FUZZ_MECHANISM_H

#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_sens.h>

enum {
  EXTRA        = 1,
  RHEONOMIC    = 2,
  NONHOLONOMIC = 4,
  ACCELERATION = 8,
  REDUNDANT    = 16,
  QUATERNION   = 32,
  KINEMATICS   = 64,
  AUXILIARY    = 128,
  FRICTION     = 256,
  DRIVEN       = 512
};

/* How the matrices are given: BESIDE is dense, with udot as well; INVERSE is by inverse dynamics and products. */
typedef enum { DENSE, CSC, CSR, OPERATORS, BESIDE, INVERSE, FORMS } Form;

enum { BY_LENGTH, BY_GRAVITY, BY_DAMPING, PARAMETERS };
enum {
  MOST_Q    = 7,
  MOST_U    = 6,
  MOST_ROWS = 4,
  MOST_N    = MOST_Q + MOST_U + 1,
  MOST_C    = 2 * MOST_ROWS
};

typedef struct {
  unsigned features;
  Form form;
  CPFrame frame;
  int nq, nu, nz, np, nv, na, n, m; /* n: state; m = np + nv: rows of c */
  int x, quaternion,
      omega; /* indices of x and of the quaternion in q, and of omega in u; -1: none */
  sunrealtype p[PARAMETERS];
} Mechanism;

/* Removes features that exclude each other. */
void mechanism_set_up(Mechanism *m, unsigned features, Form form, CPFrame frame);
void mechanism_use(Mechanism *m);

/* y [n]: out, a consistent state at t; angles and speeds from four numbers in [-1, 1] */
void mechanism_start(const Mechanism *m, sunrealtype t, const sunrealtype *choice, sunrealtype *y);
/* y' at (t, y); the closed form */
void mechanism_derivative(const Mechanism *m, sunrealtype t, const sunrealtype *y,
                          sunrealtype *ydot);
/* Moves y from t to tout by the classical Runge-Kutta method. */
void mechanism_advance(const Mechanism *m, sunrealtype t, sunrealtype tout, sunrealtype *y);
/* c [m] at (t, y): p, then v; unit norms are left out. */
void mechanism_constraints(const Mechanism *m, sunrealtype t, const sunrealtype *y, sunrealtype *c);
/* Entry of dc/dy; all of them lie where mechanism_has says. */
sunrealtype mechanism_entry(const Mechanism *m, int i, int j, const sunrealtype *y);
int mechanism_has(const Mechanism *m, int i, int j);

/* A matrix in a form (dense, CSC, CSR) with the structure of dc/dy, or of the metric. NULL if out of
 * memory. */
SUNMatrix mechanism_jacobian_template(const Mechanism *m, Form form, SUNContext ctx);
SUNMatrix mechanism_metric_template(const Mechanism *m, Form form, SUNContext ctx);

/* ---- for integrators and projectors ---- */
int mechanism_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int mechanism_rhs_batch(int k, const sunrealtype *t, const sunrealtype *Y, sunrealtype *F,
                        void *user_data);
int mechanism_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int mechanism_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);
int mechanism_jac_times(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data);
int mechanism_jac_trans_times(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data);
int mechanism_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data);
int mechanism_prec_setup(sunrealtype t, N_Vector y, N_Vector D, void *user_data);
int mechanism_prec_solve(sunrealtype t, N_Vector y, N_Vector r, N_Vector z, void *user_data);
int mechanism_metric(sunrealtype t, N_Vector y, N_Vector x, N_Vector Dx, void *user_data);
int mechanism_metric_matrix(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data);
int mechanism_projection(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data);
int mechanism_error_projection(sunrealtype t, N_Vector y, N_Vector err, void *user_data);
int mechanism_state_and_error(sunrealtype t, N_Vector yhat, N_Vector y, N_Vector err,
                              sunrealtype eps, void *data);
int mechanism_violation(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data);
/* weights of relative and absolute tolerance WEIGHTS_TOL */
#define WEIGHTS_TOL SUN_RCONST(1e-6)
int mechanism_weights(N_Vector y, N_Vector ewt, void *user_data);
/* Roots: Y + L / 2, and t - ROOT_TIME */
#define ROOT_TIME SUN_RCONST(0.25)
int mechanism_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data);
/* The same for CVodeRootInit. It fails only with codes, since CVODES' search does not end after a
 * NaN. */
int mechanism_roots_unchecked(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data);
int mechanism_quadrature(sunrealtype t, N_Vector y, N_Vector qdot, void *user_data);

/* ---- sensitivities ---- */
int mechanism_constraint_sens(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data);
int mechanism_functional(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data);
int mechanism_functional_grad(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                              void *user_data);
int mechanism_consistent_start(sunrealtype t0, N_Vector y0, void *user_data);

/* ---- for CPMech ---- */
/* partials: 1: with partial derivatives in closed form; 2: also with their templates, if sparse.
 * The caller frees templates in the model. Returns 0 if out of memory. */
int mechanism_model(const Mechanism *m, int partials, int own_velocity, int own_b, SUNContext ctx,
                    CPEquations *model);
/* Adds quaternions or norms, and the motion of DRIVEN. */
void mechanism_coordinates(const Mechanism *m, CPEquations *model);
int mechanism_motion(sunrealtype t, sunrealtype *g, void *data);
int mechanism_motion_rate(sunrealtype t, sunrealtype *g, void *data);
int mechanism_motion_acceleration(sunrealtype t, sunrealtype *g, void *data);
int mechanism_param_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        int iS, sunrealtype *Fp, sunrealtype *Bp, sunrealtype *pp, sunrealtype *vp,
                        sunrealtype *Zp, void *user_data);

#endif
