/* A projector on one of the test manifolds, with counted callbacks that can be made faulty. */
#ifndef CPODES_TEST_PROJECTOR_FIXTURE_H
#define CPODES_TEST_PROJECTOR_FIXTURE_H

#include "projector/manifolds.h"
#include <models/counters.h>

/* What the projector gets of G: a template, or products, without or with diag(G D G'). */
typedef enum { DENSE, CSC, CSR, PRODUCTS, PRODUCTS_AND_DIAGONAL } Storage;
/* The norm's D, a matrix M = D^-1, or D as an operator; entries: fixture_metric. */
typedef enum { OF_NORM, MATRIX_DENSE, MATRIX_CSC, OPERATOR, INVERSE } MetricKind;

/* What to vary. */
typedef struct {
  CPLinSol solver;
  CPNorm norm;
  int user_jac; /* 0: difference quotients */
  Storage storage;
  MetricKind metric;
} Setting;

int case_has_products(Setting setting); /* then solver is PRODUCTS, or does not matter */
/* With a dense G in the norm's metric */
Setting setting_of(CPLinSol solver, CPNorm norm, int user_jac);

/* Every dense solver, both norms, dense G: user Jacobian and differences. */
extern const Setting settings[];
extern const int n_settings;
/* Every dense solver in the error norm, with the user's Jacobian. */
extern const Setting solvers[];
extern const int n_solvers;

/* The equations in the form that the projector gets (user_data of its callbacks), and their faults. */
typedef struct {
  const Manifold *mf;
  int copies;  /* the rows (not norms) are repeated this many times, copy after copy */
  int padding; /* number of states after those of the manifold, which are in no equation */
  const sunrealtype *scale;  /* [rows] factors of the rows, NULL: ones */
  const sunrealtype *offset; /* [rows] added to the scaled rows, NULL: zeros */
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
int equations_rows(const Equations *eq); /* of c: without norms */
int equations_states(const Equations *eq);
/* The callbacks; user_data is an Equations. */
int equations_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int equations_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);
int equations_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data);
int equations_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data);
int equations_diagonal(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data);
/* A template for equations_jac, which the caller destroys; CSC, CSR: with the entries that are not
 * identically zero. */
SUNMatrix equations_template(const Equations *eq, Storage storage);

/* Entry (i, j) of the test metric (of D with OPERATOR and with INVERSE, the matrix D^{-1}):
 * symmetric, diagonally dominant, eigenvalues in [0.4, 4.6]; tridiagonal with MATRIX_CSC. */
sunrealtype fixture_metric(MetricKind kind, sunindextype i, sunindextype j);

/* A projector and its test problem. */
typedef struct {
  Equations eq;
  Setting setting;
  sunrealtype t, eps;
  CPProjector P;
  N_Vector y, ewt;
  MessageLog log;
} Case;

/* Sets k up: y is the manifold's point, weights are 1/(1e-5 |y_i| + atol_i) with unequal atol_i,
 * and eps/ewt is about 1e-11. The projector determines the levels. */
void case_open(Case *k, Equations eq, Setting setting);
void case_close(Case *k);
/* Replaces the products. */
void case_use_products(Case *k, CPProductFn Gv, CPProductFn GTw);

/* y <- the manifold's point, plus h times a pseudo-random vector with entries in [-1, 1]. */
void case_perturb(Case *k, sunrealtype h, unsigned long long seed);
/* Gives the projector the manifold's own levels, or all zero. */
void case_set_levels(Case *k, int levels);
/* Holds the components, and switches off the rows (with all copies), whose bits are set. */
void case_hold(Case *k, unsigned components);
void case_switch_off(Case *k, unsigned rows);
ProjectorCounters case_stats(Case *k);

/* Names the case in a message. */
#define CASE_FORMAT "%s x %d, solver %d, norm %d, jac %d, storage %d, metric %d"
#define CASE_VALUES(k)                                                                \
  (k)->eq.mf->name, (k)->eq.copies, (int)(k)->setting.solver, (int)(k)->setting.norm, \
      (k)->setting.user_jac, (int)(k)->setting.storage, (int)(k)->setting.metric

/* Checks for success, and shows the message otherwise. */
#define ck_assert_success(k, call)                                                                 \
  do {                                                                                             \
    int flag_ = (call);                                                                            \
    ck_assert_msg(flag_ == CP_SUCCESS, CASE_FORMAT ": %s is %d: %s", CASE_VALUES(k), #call, flag_, \
                  CPObjectGetLastMessage(CP_OBJECT((k)->P)));                                      \
  } while (0)

/* Checks value <= bound; a failure names the case. */
#define ck_assert_bound(k, value, bound)                                                    \
  do {                                                                                      \
    sunrealtype value_ = (value), bound_ = (bound);                                         \
    ck_assert_msg(value_ <= bound_, CASE_FORMAT ": %s = %g, bound %s = %g", CASE_VALUES(k), \
                  #value, value_, #bound, bound_);                                          \
  } while (0)

#endif
