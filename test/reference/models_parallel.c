/* The chain over MPI ranks against the chain on one rank: mpiexec -n <ranks>
 * reference_models_parallel, without forks (CK_FORK=no). Each rank has the whole serial chain and
 * compares its part. All ranks know a difference before it is asserted, so that all fail alike and
 * none waits for another. */
#include "jacobians.h"

#include "models/chain.h"
#include "models/chain_parallel.h"
#include <math.h>
#include <stdlib.h>

static const sunrealtype gravity = 9.81;

static int ranks(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/* Loop index: a mass for each rank, uneven shares, many */
enum { LENGTHS = 3 };
static int length(int i) { return i == 0 ? ranks() : i == 1 ? 2 * ranks() + 3 : 60; }

/* Both chains of n masses, a state for both, results of both */
typedef struct {
  int n;
  Chain *serial;
  ChainParallel *parallel;
  N_Vector y, x, c, ys, xs, cs; /* parallel, serial */
} Pair;

static Pair pair_create(int n) {
  Pair p = {.n        = n,
            .serial   = chain_create(n, gravity),
            .parallel = chain_parallel_create(MPI_COMM_WORLD, n, gravity)};
  ck_assert_ptr_nonnull(p.serial);
  ck_assert_ptr_nonnull(p.parallel);
  p.y  = chain_parallel_state(p.parallel, test_context);
  p.x  = chain_parallel_state(p.parallel, test_context);
  p.c  = chain_parallel_residual(p.parallel, test_context);
  p.ys = vector_of(4 * n, NULL);
  p.xs = vector_of(4 * n, NULL);
  p.cs = vector_of(2 * n, NULL);
  return p;
}

static void pair_free(Pair *p) {
  N_VDestroy(p->y);
  N_VDestroy(p->x);
  N_VDestroy(p->c);
  N_VDestroy(p->ys);
  N_VDestroy(p->xs);
  N_VDestroy(p->cs);
  chain_free(&p->serial);
  chain_parallel_free(&p->parallel);
}

/* The index, in the whole vector, of entry j of this rank's part: both halves, of states (per = 2)
 * and of residuals (per = 1). */
static sunindextype place(const Pair *p, int per, sunindextype j) {
  const sunindextype len = per * p->parallel->n;
  return j % len + per * (p->parallel->first + (j < len ? 0 : p->n));
}

/* This rank's part of a serial vector */
static void take_part(const Pair *p, int per, N_Vector whole, N_Vector part) {
  for (sunindextype j = 0; j < 2 * per * p->parallel->n; j++)
    N_VGetArrayPointer(part)[j] = entries(whole)[place(p, per, j)];
}

/* The largest of all ranks' numbers; infinite if one is NaN. */
static sunrealtype largest(sunrealtype here) {
  sunrealtype all;
  if (isnan(here)) here = INFINITY;
  MPI_Allreduce(&here, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static sunrealtype difference(const Pair *p, int per, N_Vector part, N_Vector whole) {
  sunrealtype here = 0;
  for (sunindextype j = 0; j < 2 * per * p->parallel->n; j++) {
    const sunrealtype d = fabs(N_VGetArrayPointer(part)[j] - entries(whole)[place(p, per, j)]);
    if (!(d <= here)) here = d;
  }
  return largest(here);
}

/* Do all ranks have this return value? */
static void all_return(int flag, int wanted) {
  ck_assert_double_eq(largest(flag), wanted);
  ck_assert_double_eq(largest(-flag), -wanted);
}

START_TEST(masses_are_dealt_out) {
  Pair p = pair_create(length(_i));
  int total, n = (int)p.parallel->n;
  MPI_Allreduce(&n, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  ck_assert_int_eq(total, p.n);
  ck_assert_double_le(largest(-n), -1); /* the fewest */
  ck_assert_double_le(largest(n) + largest(-n), 1);
  chain_parallel_initial(p.parallel, p.y);
  chain_initial(p.serial, p.ys);
  ck_assert_double_eq(difference(&p, 2, p.y, p.ys), 0);
  pair_free(&p);
  ck_assert_ptr_null(chain_parallel_create(MPI_COMM_WORLD, ranks() - 1, gravity));
}
END_TEST

/* The same operations on the same numbers: not a bit differs. Of G^T x two products are added in
   another order: 4 terms below 4. */
START_TEST(constraints_and_products_are_the_serial_ones) {
  Pair p                  = pair_create(length(_i));
  unsigned long long seed = 31;
  random_fill(p.ys, &seed);
  random_fill(p.xs, &seed);
  take_part(&p, 2, p.ys, p.y);
  take_part(&p, 2, p.xs, p.x);

  ck_assert_int_eq(chain_constraints(0, p.ys, p.cs, p.serial), 0);
  all_return(chain_parallel_constraints(0, p.y, p.c, p.parallel), 0);
  ck_assert_double_eq(difference(&p, 1, p.c, p.cs), 0);

  ck_assert_int_eq(chain_jac_times(0, p.ys, p.xs, p.cs, p.serial), 0);
  all_return(chain_parallel_jac_times(0, p.y, p.x, p.c, p.parallel), 0);
  ck_assert_double_eq(difference(&p, 1, p.c, p.cs), 0);

  random_fill(p.cs, &seed);
  take_part(&p, 1, p.cs, p.c);
  ck_assert_int_eq(chain_jac_trans_times(0, p.ys, p.cs, p.xs, p.serial), 0);
  all_return(chain_parallel_jac_trans_times(0, p.y, p.c, p.x, p.parallel), 0);
  ck_assert_double_le(difference(&p, 2, p.x, p.xs), 2 * 4 * 4 * ROUNDOFF);
  pair_free(&p);
}
END_TEST

START_TEST(schur_diagonal_is_the_serial_one) {
  Pair p                  = pair_create(length(_i));
  unsigned long long seed = 32;
  random_fill(p.ys, &seed);
  take_part(&p, 2, p.ys, p.y);
  for (int j = 0; j < 4 * p.n; j++) entries(p.xs)[j] = j % 3 ? 1.0 / (1 + j) : 0; /* D */
  take_part(&p, 2, p.xs, p.x);

  ck_assert_int_eq(chain_schur_diag(0, p.ys, p.xs, p.cs, p.serial), 0);
  all_return(chain_parallel_schur_diag(0, p.y, p.x, p.c, p.parallel), 0);
  ck_assert_double_eq(difference(&p, 1, p.c, p.cs), 0);
  ck_assert_int_eq(chain_schur_diag(0, p.ys, NULL, p.cs, p.serial), 0);
  all_return(chain_parallel_schur_diag(0, p.y, NULL, p.c, p.parallel), 0);
  ck_assert_double_eq(difference(&p, 1, p.c, p.cs), 0);
  pair_free(&p);
}
END_TEST

/* Unit rods in random directions, random velocities */
static void random_chain(int n, N_Vector y, unsigned long long *seed) {
  sunrealtype *s = entries(y);
  random_fill(y, seed);
  for (int i = 0; i < n; i++) {
    const sunrealtype theta = 3 * random_number(seed);
    s[2 * i]                = cos(theta) + (i > 0 ? s[2 * i - 2] : 0);
    s[2 * i + 1]            = sin(theta) + (i > 0 ? s[2 * i - 1] : 0);
  }
}

/* The tensions solve the same system to roundoff times its condition, below 10 n^2 for unit rods,
   with right-hand sides up to |w|^2 = 8 and g; positions up to n carry n roundoffs. */
START_TEST(motion_is_the_serial_one) {
  Pair p                  = pair_create(length(_i));
  unsigned long long seed = 33;
  for (int trial = 0; trial < 10; trial++) {
    random_chain(p.n, p.ys, &seed);
    take_part(&p, 2, p.ys, p.y);
    ck_assert_int_eq(chain_rhs(0, p.ys, p.xs, p.serial), 0);
    all_return(chain_parallel_rhs(0, p.y, p.x, p.parallel), 0);
    const sunrealtype bound = 10.0 * p.n * p.n * ROUNDOFF * (8 + N_VMaxNorm(p.xs));
    ck_assert_double_le(difference(&p, 2, p.x, p.xs), bound);
  }
  pair_free(&p);
}
END_TEST

/* A rod without length makes the system singular; every rank detects this, wherever the rod is. */
START_TEST(all_ranks_learn_of_a_failure) {
  Pair p                  = pair_create(length(_i));
  unsigned long long seed = 34;
  for (int i = 0; i < p.n; i++) {
    random_chain(p.n, p.ys, &seed);
    for (int k = 0; k < 2; k++) entries(p.ys)[2 * i + k] = i > 0 ? entries(p.ys)[2 * i - 2 + k] : 0;
    take_part(&p, 2, p.ys, p.y);
    all_return(chain_parallel_rhs(0, p.y, p.x, p.parallel), 1);
  }
  pair_free(&p);
}
END_TEST

/* The rows of G D G^T on a level and on this rank, solved and bounded as in models_chain.c. */
static sunrealtype excess(const Pair *p, SUNMatrix G, N_Vector D, int level) {
  const sunindextype n = p->parallel->n, first = level * p->n + p->parallel->first;
  const sunrealtype *z = N_VGetArrayPointer(p->c) + level * n;
  sunrealtype entry = 0, solution = 0, residual = 0;
  for (sunindextype i = 0; i < n; i++) {
    sunrealtype r = -entries(p->cs)[first + i];
    for (sunindextype k = 0; k < n; k++) r += dense_schur(G, D, first + i, first + k) * z[k];
    residual = fmax(residual, isnan(r) ? INFINITY : fabs(r));
    solution = fmax(solution, fabs(z[i]));
    entry    = fmax(entry, dense_schur(G, D, first + i, first + i));
  }
  return residual - 2 * 3 * 10 * 3 * ROUNDOFF * (entry * solution + 1);
}

START_TEST(preconditioner_solves_each_ranks_rows) {
  Pair p                  = pair_create(length(_i));
  unsigned long long seed = 35;
  random_fill(p.ys, &seed);
  random_fill(p.cs, &seed);
  take_part(&p, 2, p.ys, p.y);
  take_part(&p, 1, p.cs, p.c);
  for (int j = 0; j < 4 * p.n; j++) entries(p.xs)[j] = 1.0 / (1 + j % 5); /* D */
  take_part(&p, 2, p.xs, p.x);

  all_return(chain_parallel_prec_solve(0, p.y, p.c, p.c, p.parallel), -1); /* not set up */
  all_return(chain_parallel_prec_setup(0, p.y, p.x, p.parallel), 0);
  all_return(chain_parallel_prec_solve(0, p.y, p.c, p.c, p.parallel), 0);

  SUNMatrix G = dense_jacobian(chain_jacobian, 2 * p.n, p.ys, p.serial);
  for (int level = 0; level < 2; level++) {
    N_Vector D = vector_copy(p.xs);
    for (int j = 0; j < 2 * p.n; j++) entries(D)[(1 - level) * 2 * p.n + j] = 0;
    ck_assert_double_le(largest(excess(&p, G, D, level)), 0);
    N_VDestroy(D);
  }
  SUNMatDestroy(G);
  pair_free(&p);
}
END_TEST

int main(int argc, char **argv) {
  if (MPI_Init(&argc, &argv)) return EXIT_FAILURE;
  Suite *suite = suite_create("models_parallel");
  TCase *tcase = tcase_create("parallel");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, masses_are_dealt_out, 0, LENGTHS);
  tcase_add_loop_test(tcase, constraints_and_products_are_the_serial_ones, 0, LENGTHS);
  tcase_add_loop_test(tcase, schur_diagonal_is_the_serial_one, 0, LENGTHS);
  tcase_add_loop_test(tcase, motion_is_the_serial_one, 0, LENGTHS);
  tcase_add_loop_test(tcase, all_ranks_learn_of_a_failure, 0, LENGTHS);
  tcase_add_loop_test(tcase, preconditioner_solves_each_ranks_rows, 0, LENGTHS);
  suite_add_tcase(suite, tcase);
  const int status = run_suite(suite);
  MPI_Finalize();
  return status;
}
