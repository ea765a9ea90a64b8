/* KRYLOV on vectors distributed over MPI ranks against the serial factors, which each rank has for
 * the whole chain: mpiexec -n <ranks> test_projector_krylov_parallel, without forks (CK_FORK=no).
 * All ranks know a difference before it is asserted, so that all fail alike and none waits for
 * another. */
#include "support/support.h"

#include <cpodes/cpodes.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/chain.h>
#include <models/chain_parallel.h>
#include <models/counters.h>
#include <nvector/nvector_parallel.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { MASSES = 24 };
static const sunrealtype gravity = 9.81, eps = 1.0e-6;

/* The chain on all ranks, and the whole one on this rank; states off the manifold, vectors, weights. */
typedef struct {
  Chain *serial;
  ChainParallel *parallel;
  int is_wrong;              /* 1: G^T w is wrong on the last rank */
  N_Vector y, v, w, ewt;     /* distributed */
  N_Vector ys, vs, ws, ewts; /* whole */
  CPProjector P, Ps;
  MessageLog log;
} Pair;

static Pair p;

static sunrealtype largest(sunrealtype x) {
  sunrealtype all;
  MPI_Allreduce(&x, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static int total(int x) {
  int all;
  MPI_Allreduce(&x, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static int ranks(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/* The index in the whole vector of entry j of this rank's part: halves of `per` entries for each
 * mass. */
static sunindextype place(sunindextype j, int per) {
  const sunindextype n = p.parallel->n * per, first = p.parallel->first * per;
  return j < n ? first + j : MASSES * per + first + j - n;
}

static void take_part(N_Vector whole, N_Vector part, int per) {
  for (sunindextype j = 0; j < 2 * per * p.parallel->n; j++)
    NV_Ith_P(part, j) = entries(whole)[place(j, per)];
}

static sunrealtype weighted_difference(N_Vector part, N_Vector whole, int inverse) {
  sunrealtype d = 0.0;
  for (sunindextype j = 0; j < 4 * p.parallel->n; j++) {
    const sunrealtype w = NV_Ith_P(p.ewt, j),
                      e = fabs(NV_Ith_P(part, j) - entries(whole)[place(j, 2)]);
    d                   = fmax(d, inverse ? e / w : e * w);
  }
  return largest(d);
}

static void set_up_states(void) {
  unsigned long long seed = 3;
  p.y                     = chain_parallel_state(p.parallel, test_context);
  p.v                     = N_VClone(p.y);
  p.w                     = N_VClone(p.y);
  p.ewt                   = N_VClone(p.y);
  p.ys                    = vector_of(4 * MASSES, NULL);
  chain_initial(p.serial, p.ys);
  p.vs = vector_copy(p.ys), p.ws = vector_copy(p.ys), p.ewts = vector_copy(p.ys);
  for (int j = 0; j < 4 * MASSES; j++) {
    entries(p.ewts)[j] = 1.0 / (1.0e-5 * fabs(entries(p.ys)[j]) + 1.0e-6 * (1 + j % 3));
    entries(p.ys)[j] += 1.0e-4 * random_number(&seed);
    entries(p.vs)[j] = random_number(&seed) / entries(p.ewts)[j];
    entries(p.ws)[j] = random_number(&seed) * entries(p.ewts)[j];
  }
  take_part(p.ys, p.y, 2);
  take_part(p.vs, p.v, 2);
  take_part(p.ws, p.w, 2);
  take_part(p.ewts, p.ewt, 2);
}

static void levels_of(sunindextype half, int *level) {
  for (sunindextype i = 0; i < 2 * half; i++) level[i] = i >= half;
}

static void set_up_serial(void) {
  int row[2 * MASSES], col[4 * MASSES];
  N_Vector c  = vector_of(2 * MASSES, NULL);
  SUNMatrix G = SUNDenseMatrix(2 * MASSES, 4 * MASSES, test_context);
  p.Ps        = CPProjectorCreate(chain_constraints, p.ys, c, test_context);
  levels_of(MASSES, row);
  levels_of(2 * MASSES, col);
  int flag = CPProjectorSetUserData(p.Ps, p.serial);
  if (!flag) flag = CPProjectorSetLevels(p.Ps, row, col);
  if (!flag) flag = CPProjectorSetJacFn(p.Ps, chain_jacobian, G);
  if (!flag) flag = CPProjectorSetLinearSolver(p.Ps, CP_LINSOL_SCHUR);
  if (!flag) flag = CPProjectorSetEps(p.Ps, eps);
  ck_assert_int_eq(flag, CP_SUCCESS);
  SUNMatDestroy(G);
  N_VDestroy(c);
}

static int trans_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector GTx, void *user_data) {
  const int flag = chain_parallel_jac_trans_times(t, y, x, GTx, user_data);
  if (p.is_wrong && p.parallel->rank == p.parallel->size - 1) NV_Ith_P(GTx, 0) *= -40.0;
  return flag;
}

/* diagonal, preconditioned: given in addition to the products */
static void set_up_parallel(int diagonal, int preconditioned) {
  int row[2 * MASSES], col[4 * MASSES];
  N_Vector c = chain_parallel_residual(p.parallel, test_context);
  p.P = CPProjectorCreateProducts(chain_parallel_constraints, chain_parallel_jac_times, trans_times,
                                  p.y, c, test_context);
  ck_assert_ptr_nonnull(p.P);
  levels_of(p.parallel->n, row);
  levels_of(2 * p.parallel->n, col);
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(p.P), message_log, &p.log);
  if (!flag) flag = CPProjectorSetUserData(p.P, p.parallel);
  if (!flag) flag = CPProjectorSetLevels(p.P, row, col);
  if (!flag && diagonal) flag = CPProjectorSetSchurDiag(p.P, chain_parallel_schur_diag);
  if (!flag && preconditioned)
    flag = CPProjectorSetPreconditioner(p.P, chain_parallel_prec_setup, chain_parallel_prec_solve);
  if (!flag) flag = CPProjectorSetEps(p.P, eps);
  ck_assert_int_eq(flag, CP_SUCCESS);
  N_VDestroy(c);
}

static void open_pair(int diagonal, int preconditioned) {
  memset(&p, 0, sizeof p);
  p.serial   = chain_create(MASSES, gravity);
  p.parallel = chain_parallel_create(MPI_COMM_WORLD, MASSES, gravity);
  ck_assert_ptr_nonnull(p.serial);
  ck_assert_ptr_nonnull(p.parallel);
  set_up_states();
  set_up_serial();
  set_up_parallel(diagonal, preconditioned);
}

static void close_pair(void) {
  N_Vector const all[] = {p.y, p.v, p.w, p.ewt, p.ys, p.vs, p.ws, p.ewts};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) N_VDestroy(all[i]);
  CPProjectorFree(&p.P);
  CPProjectorFree(&p.Ps);
  chain_free(&p.serial);
  chain_parallel_free(&p.parallel);
}

static ProjectorCounters stats(void) {
  ProjectorCounters s;
  ck_assert_int_eq(projector_counters(p.P, &s), CP_SUCCESS);
  return s;
}

/* ---- projections ---- */

/* The distance of solutions with residuals of target (in weighted units): the smallest singular value
 * of the rods' gradients, scaled to length 1, is 2 sin(pi/(4 n + 2)) / sqrt(2) in a stretched chain
 * with equal weights; unequal ones, here by a factor of up to 10 from one end to the other, reduce
 * it by at most that factor. */
static sunrealtype accuracy(sunrealtype target) {
  const sunrealtype apart = sqrt(2.0) * sin(acos(-1.0) / (4 * MASSES + 2)) / 10.0;
  return 2.0 * 4.0 * target * sqrt(2.0 * MASSES) / apart;
}

START_TEST(the_serial_projections_come_out) {
  open_pair(_i & 1, _i & 2);
  const sunrealtype vector = 1.0e-10 * sqrt(8.0); /* eight components in a row */
  int flag                 = CPProjectorProjectVector(p.Ps, CP_TANGENT, 0.0, p.ys, p.ewts, p.vs);
  if (!flag) flag = CPProjectorProjectVector(p.Ps, CP_COTANGENT, 0.0, p.ys, p.ewts, p.ws);
  if (!flag) flag = CPProjectorProjectVector(p.P, CP_TANGENT, 0.0, p.y, p.ewt, p.v);
  if (!flag) flag = CPProjectorProjectVector(p.P, CP_COTANGENT, 0.0, p.y, p.ewt, p.w);
  if (!flag) flag = CPProjectorProject(p.Ps, 0.0, p.ys, p.ewts);
  if (!flag) flag = CPProjectorProject(p.P, 0.0, p.y, p.ewt);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, CPObjectGetLastMessage(CP_OBJECT(p.P)));
  ck_assert_double_le(weighted_difference(p.v, p.vs, 0), accuracy(vector));
  ck_assert_double_le(weighted_difference(p.w, p.ws, 1), accuracy(vector));
  ck_assert_double_le(weighted_difference(p.y, p.ys, 0), accuracy(eps));
  ck_assert_int_eq(stats().rank, -1);
  ck_assert_int_eq(stats().nlevels, 2);
  ck_assert_int_eq(stats().linsol, CP_LINSOL_PRODUCTS); /* AUTO: only products were given */
  close_pair();
}
END_TEST

/* Each rank's own tridiagonal block: the part between two ranks that is left out has rank 2, so
 * that the preconditioned matrix has 1 + 2 (ranks - 1) different eigenvalues. Conjugate gradients
 * need as many iterations: at most 3 on two ranks. */
START_TEST(rank_local_preconditioners_take_few_iterations) {
  open_pair(1, 1);
  ck_assert_int_eq(CPProjectorProject(p.P, 0.0, p.y, p.ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProjectVector(p.P, CP_TANGENT, 0.0, p.y, p.ewt, p.v), CP_SUCCESS);
  ck_assert_int_gt(stats().nlinsolves, 0);
  ck_assert_int_le(stats().nli, (2 * ranks() - 1) * stats().nlinsolves);
  close_pair();
}
END_TEST

/* All ranks know the norm; only the rank that holds the constraint knows it, by its index there. */
START_TEST(the_worst_constraint_is_known_where_it_is) {
  sunrealtype norm, norms;
  sunindextype worst, worsts;
  open_pair(1, 0);
  entries(p.ys)[2 * MASSES - 1] += 0.5; /* the last mass */
  take_part(p.ys, p.y, 2);
  ck_assert_int_eq(CPProjectorGetViolation(p.Ps, 0.0, p.ys, p.ewts, &norms, &worsts), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetViolation(p.P, 0.0, p.y, p.ewt, &norm, &worst), CP_SUCCESS);
  ck_assert_double_le(largest(fabs(norm - norms)), 1.0e-12 * norms);
  ck_assert_int_eq(total(worst >= 0), 1);
  ck_assert_int_eq(total(worst >= 0 && place(worst, 1) != worsts), 0);
  close_pair();
}
END_TEST

START_TEST(products_are_each_others_transpose) {
  sunrealtype err;
  open_pair(1, 0);
  ck_assert_int_eq(CPProjectorCheckJac(p.P, 0.0, p.y, p.ewt, &err, NULL, NULL), CP_SUCCESS);
  ck_assert_double_le(largest(err), 1.0e-8);
  close_pair();
}
END_TEST

/* ---- failures: the same on all ranks, y unchanged ---- */

START_TEST(a_wrong_product_on_one_rank_fails_on_all) {
  open_pair(1, 0);
  N_Vector start = N_VClone(p.y);
  N_VScale(1.0, p.y, start);
  p.is_wrong     = 1;
  const int flag = CPProjectorProject(p.P, 0.0, p.y, p.ewt);
  ck_assert_int_eq(total(flag == -CP_CNSTRJAC_WRONG), ranks());
  N_VLinearSum(1.0, p.y, -1.0, start, start);
  ck_assert_double_eq(N_VMaxNorm(start), 0.0);
  N_VDestroy(start);
  close_pair();
}
END_TEST

START_TEST(a_matrix_solver_is_refused) {
  open_pair(1, 0);
  const int flag = CPProjectorSetLinearSolver(p.P, CP_LINSOL_SPARSE);
  ck_assert_int_eq(total(flag == CP_NOT_SUPPORTED), ranks());
  ck_assert_mentions(p.log.text, "CPProjectorCreateProducts");
  close_pair();
}
END_TEST

/* ---- integration ---- */

static void swing(N_Vector y, CVRhsFn f, void *chain, CPProjector P, sunrealtype tout,
                  long int *steps) {
  sunrealtype t;
  CPIntegrator mem         = CPIntegratorCreate("ADAMS", test_context);
  SUNNonlinearSolver inner = SUNNonlinSol_FixedPoint(y, 0, test_context);
  int flag                 = CPIntegratorInit(mem, f, 0.0, y);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1.0e-8, 1.0e-8);
  if (!flag) flag = CVodeSetUserData(CPIntegratorGetCVodeMem(mem), chain);
  if (!flag) flag = CPIntegratorSetNonlinearSolver(mem, inner);
  if (!flag) flag = CPIntegratorSetProjector(mem, P);
  if (!flag) flag = CPIntegratorEvolve(mem, tout, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, CPObjectGetLastMessage(CP_OBJECT(mem)));
  ck_assert_int_eq(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), steps), CV_SUCCESS);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(inner);
}

/* Residuals fall by 1e-4 of corrections that are a few tolerances: the difference is far below one
 * tolerance. Without a preconditioner (_i = 0) a step takes hundreds of sums over all ranks, for
 * which three ranks on two cores wait long. */
START_TEST(a_chain_swings_as_on_one_rank) {
  const sunrealtype tout = _i ? 0.2 : 0.02;
  long int steps, steps_serial;
  open_pair(1, _i);
  ck_assert_int_eq(CPProjectorSetEps(p.P, 0.0), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetEps(p.Ps, 0.0), CP_SUCCESS);
  chain_initial(p.serial, p.ys);
  chain_parallel_initial(p.parallel, p.y);
  swing(p.ys, chain_rhs, p.serial, p.Ps, tout, &steps_serial);
  swing(p.y, chain_parallel_rhs, p.parallel, p.P, tout, &steps);
  ck_assert_int_eq(steps, steps_serial);
  for (sunindextype j = 0; j < 4 * p.parallel->n; j++)
    NV_Ith_P(p.ewt, j) = 1.0 / (1.0e-8 * fabs(NV_Ith_P(p.y, j)) + 1.0e-8);
  ck_assert_double_le(weighted_difference(p.y, p.ys, 0), 1.0);
  if (_i) ck_assert_int_le(stats().nli, (2 * ranks() - 1) * stats().nlinsolves);
  close_pair();
}
END_TEST

int main(int argc, char **argv) {
  Suite *suite = suite_create("projector/krylov_parallel");
  TCase *tc    = tcase_create("krylov_parallel");
  MPI_Init(&argc, &argv);
  tcase_set_timeout(tc, 60.0);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, the_serial_projections_come_out, 0, 4);
  tcase_add_test(tc, rank_local_preconditioners_take_few_iterations);
  tcase_add_test(tc, the_worst_constraint_is_known_where_it_is);
  tcase_add_test(tc, products_are_each_others_transpose);
  tcase_add_test(tc, a_wrong_product_on_one_rank_fails_on_all);
  tcase_add_test(tc, a_matrix_solver_is_refused);
  tcase_add_loop_test(tc, a_chain_swings_as_on_one_rank, 0, 2);
  suite_add_tcase(suite, tc);
  const int failed = run_suite(suite);
  MPI_Finalize();
  return failed;
}
