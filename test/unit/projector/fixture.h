/* A projector on one of the test manifolds, with counted callbacks that can be made to
 * misbehave. */
#ifndef CPODES_TEST_PROJECTOR_FIXTURE_H
#define CPODES_TEST_PROJECTOR_FIXTURE_H

#include "projector/manifolds.h"

/* What to vary. */
typedef struct {
  CPLinSol solver;
  CPNorm norm;
  int user_jac;
} Setting;

/* Every dense solver, both norms, user Jacobian and differences. */
extern const Setting settings[];
extern const int n_settings;
/* Every dense solver in the error norm, with the user's Jacobian. */
extern const Setting solvers[];
extern const int n_solvers;

/* The equations as the projector sees them (user_data of its callbacks), and what goes wrong in
 * them. */
typedef struct {
  const Manifold *mf;
  int copies;                /* the rows are given this often, copy after copy */
  int padding;               /* states behind those of the manifold, in no equation */
  const sunrealtype *scale;  /* [copies * m] factors of the rows, NULL: ones */
  const sunrealtype *offset; /* [copies * m] added to the scaled rows, NULL: zeros */
  long int c_calls, jac_calls;
  long int c_flag_from, c_flag_until; /* calls (counted from 1) of c that return c_flag */
  int c_flag;
  long int c_bad_from, c_bad_until; /* calls of c that put c_bad into row 0 */
  sunrealtype c_bad;
  long int jac_flag_from, jac_flag_until;
  int jac_flag;
  sunrealtype jac_noise;  /* added to every entry of G */
  sunrealtype jac_factor; /* entry (jac_row, jac_col) of G is multiplied by this, if not 1 */
  int jac_row, jac_col;
} Equations;

/* Equations without faults. */
Equations equations_of(const Manifold *mf);
int equations_rows(const Equations *eq);
int equations_states(const Equations *eq);
/* The callbacks; user_data is an Equations. */
int equations_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int equations_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* A projector and what it works on. */
typedef struct {
  Equations eq;
  Setting setting;
  sunrealtype t, eps;
  CPProjector P;
  N_Vector y, ewt;
  MessageLog log;
} Case;

/* Sets k up: y on the manifold's point, weights 1/(1e-5 |y_i| + atol_i) with unequal atol_i, eps
 * such that eps/ewt is some 1e-11. The levels are left to the projector. */
void case_open(Case *k, Equations eq, Setting setting);
void case_close(Case *k);

/* y <- the manifold's point, plus h times a pseudo-random vector with entries in [-1, 1]. */
void case_perturb(Case *k, sunrealtype h, unsigned long long seed);
/* Gives the projector the manifold's own levels, or all zero. */
void case_set_levels(Case *k, int levels);
CPProjectorStats case_stats(Case *k);

/* Shortest way to a checked success, with the message if there is none. */
#define ck_assert_success(k, call)                                                         \
  do {                                                                                     \
    int flag_ = (call);                                                                    \
    ck_assert_msg(flag_ == CP_SUCCESS, "%s, solver %d, norm %d, jac %d: %s is %d: %s",     \
                  (k)->eq.mf->name, (int)(k)->setting.solver, (int)(k)->setting.norm,      \
                  (k)->setting.user_jac, #call, flag_, CPProjectorGetLastMessage((k)->P)); \
  } while (0)

/* value <= bound, naming the case. */
#define ck_assert_bound(k, value, bound)                                                      \
  do {                                                                                        \
    sunrealtype value_ = (value), bound_ = (bound);                                           \
    ck_assert_msg(value_ <= bound_, "%s, solver %d, norm %d, jac %d: %s = %g, bound %s = %g", \
                  (k)->eq.mf->name, (int)(k)->setting.solver, (int)(k)->setting.norm,         \
                  (k)->setting.user_jac, #value, value_, #bound, bound_);                     \
  } while (0)

#endif
