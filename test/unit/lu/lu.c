/* LU factors, dense and sparse, real and complex, by systems whose solutions are known; and the
 * sums that are factored. */
#include <complex.h>
#include <cpodes/lu/lu_impl.h>
#include <cpodes/matrix/lapack.h>
#include <math.h>
#include <string.h>

#include "support/alloc.h"
#include "support/support.h"

/* Kinds: dense real, dense complex, sparse real, sparse complex */
enum { N = 3, KINDS = 4 };
static int is_sparse(int kind) { return kind / 2; }
static int is_complex(int kind) { return kind % 2; }

/* Condition numbers are below 100 once all rows have the same size: 100 roundoffs. */
#define BOUND 1.0e-13

/* ---- factors: S = A, or (1 + 2 i) A + i B with a small symmetric B ---- */

static CPLu lu;
static CPMat A, B;
static const double complex weights[2][2] = {{1.0, 0.0}, {1.0 + 2.0 * I, I}};

static void create(int kind) {
  ck_assert_int_eq(cpLuCreate(&lu, N, is_sparse(kind), is_complex(kind), NULL, N), CP_SUCCESS);
  ck_assert_int_eq(cpMatCreateDense(&A, N, N), CP_SUCCESS);
  ck_assert_int_eq(cpMatCreateDense(&B, N, N), CP_SUCCESS);
  ck_assert_int_eq(cpLuTerm(lu, &A, 0, 0, 0), CP_SUCCESS);
  ck_assert_int_eq(cpLuTerm(lu, &B, 0, 0, 0), CP_SUCCESS);
}

static void destroy(void) {
  cpLuFree(&lu);
  cpMatFree(&A);
  cpMatFree(&B);
}

/* values by rows; B has the rows' sizes, or is 0 if S is to be as singular as A. */
static int factor(int kind, const double values[N][N], double size) {
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) {
      A.value[N * j + i] = values[i][j];
      B.value[N * j + i] = size * values[i][i] * cos(i + j);
    }
  ck_assert_int_eq(cpLuAssemble(lu, weights[is_complex(kind)]), CP_SUCCESS);
  return cpLuFactor(lu);
}

static double complex exact(int kind, int i) {
  return i + 1.0 - (is_complex(kind) ? 1.0 : 0.0) * I;
}

/* Largest error of the solution of S x = S (1 - i, 2 - i, 3 - i), without the imaginary parts if S is real */
static double error(int kind) {
  const double complex *w = weights[is_complex(kind)];
  double re[N], im[N], largest = 0.0;
  for (int i = 0; i < N; i++) {
    double complex sum = 0.0;
    for (int j = 0; j < N; j++) {
      const double complex entry = w[0] * A.value[N * j + i] + w[1] * B.value[N * j + i];
      sum += entry * exact(kind, j);
    }
    re[i] = creal(sum);
    im[i] = cimag(sum);
  }
  ck_assert_int_eq(cpLuSolve(lu, re, is_complex(kind) ? im : NULL), CP_SUCCESS);
  for (int i = 0; i < N; i++) {
    const double complex x = re[i] + (is_complex(kind) ? im[i] : 0.0) * I;
    largest                = fmax(largest, cabs(x - exact(kind, i)));
  }
  return largest;
}

static const double plain[N][N]  = {{4.0, 1.0, 0.5}, {1.0, 3.0, 1.0}, {0.5, 1.0, 5.0}};
static const double pivots[N][N] = {{1e-20, 1.0, 0.5}, {1.0, 1e-20, 1.0}, {0.5, 1.0, 1e-20}};
/* Equations in different units */
static const double scaled[N][N]   = {{4e12, 1e12, 5e11}, {1.0, 3.0, 1.0}, {5e-13, 1e-12, 5e-12}};
static const double singular[N][N] = {{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}};
static const double empty[N][N]    = {{1.0, 2.0, 3.0}, {0.0, 0.0, 0.0}, {1.0, 0.0, 1.0}};

START_TEST(solutions_are_right) {
  create(_i);
  ck_assert_int_eq(factor(_i, plain, 0.1), 0);
  ck_assert_double_le(error(_i), BOUND);
  ck_assert_int_eq(factor(_i, scaled, 0.1), 0);
  ck_assert_double_le(error(_i), BOUND);
  destroy();
}
END_TEST

/* The pivots of the first matrix are 1e-20 in the second, where they would make all results wrong. */
START_TEST(pivots_are_chosen_anew_where_the_old_ones_are_bad) {
  create(_i);
  ck_assert_int_eq(factor(_i, plain, 0.1), 0);
  ck_assert_int_eq(factor(_i, pivots, 0.1), 0);
  ck_assert_double_le(error(_i), BOUND);
  ck_assert_int_eq(factor(_i, plain, 0.1), 0);
  ck_assert_double_le(error(_i), BOUND);
  destroy();
}
END_TEST

START_TEST(a_singular_matrix_is_told) {
  create(_i);
  ck_assert_int_eq(factor(_i, singular, 0.0), 1);
  ck_assert_int_eq(factor(_i, plain, 0.1), 0); /* and the next one is as if this had not happened */
  ck_assert_double_le(error(_i), BOUND);
  ck_assert_int_eq(factor(_i, singular, 0.0), 1);
  ck_assert_int_eq(factor(_i, empty, 0.0), 1);
  ck_assert_int_eq(factor(_i, plain, 0.1), 0);
  ck_assert_double_le(error(_i), BOUND);
  destroy();
}
END_TEST

/* ---- sums: matrices of several sizes, dense and sparse, at several places ----
 *
 *   [ w0 P      w1 Q^T      ]      P 40 x 40 dense with few entries, Q 20 x 40 sparse, R 20 x 20 dense
 *   [ w2 Q   w3 R + 1       ]      order 60, larger than what is solved by plain loops
 */
enum { NP = 40, NQ = 20, ORDER = NP + NQ };

static CPMat P, Q, R;
static char fixed[ORDER];
static double complex S[ORDER][ORDER]; /* by rows, formed entry by entry */

static int create_sum(int kind) {
  CPPlaces places = {0};
  for (int i = 0; i < NQ; i++)
    for (int k = 0; k < 3; k++) cpPlacesAdd(&places, i, (7 * i + 11 * k) % NP);
  int flag = cpMatFromPlaces(&Q, NQ, NP, &places);
  if (!flag) flag = cpMatCreateDense(&P, NP, NP);
  if (!flag) flag = cpMatCreateDense(&R, NQ, NQ);
  if (!flag) flag = cpLuCreate(&lu, ORDER, is_sparse(kind), is_complex(kind), fixed, NP);
  if (!flag) flag = cpLuTerm(lu, &P, 0, 0, 0);
  if (!flag) flag = cpLuTerm(lu, &Q, 0, NP, 1);
  if (!flag) flag = cpLuTerm(lu, &Q, NP, 0, 0);
  return flag ? flag : cpLuTerm(lu, &R, NP, NP, 0);
}

static void destroy_sum(void) {
  cpLuFree(&lu);
  cpMatFree(&P);
  cpMatFree(&Q);
  cpMatFree(&R);
}

/* Diagonals of P and R, Q, and one entry of P beside its diagonal */
static void fill(double beside) {
  cpMatZero(&P);
  cpMatZero(&R);
  for (int i = 0; i < NP; i++) *cpMatAt(&P, i, i) = 3.0 + cos(i);
  for (int i = 0; i < NQ; i++) *cpMatAt(&R, i, i) = -2.0 + sin(i);
  for (size_t k = 0; k < cpMatEntries(&Q); k++) Q.value[k] = sin(1.0 + 3.0 * (double)k);
  *cpMatAt(&P, 3, 30) = beside;
}

static double entry(const CPMat *J, int i, int j) {
  const double *at = cpMatAt(J, i, j);
  return at ? *at : 0.0;
}

/* Largest residual of S x = r with the solution of the factors, r of order one; the inverse is of order one. */
static double sum_error(int kind, const double complex *w) {
  for (int i = 0; i < ORDER; i++)
    for (int j = 0; j < ORDER; j++) {
      const int k = i - NP, l = j - NP;
      if (fixed[i] || fixed[j]) S[i][j] = i == j;
      else if (k < 0) S[i][j] = l < 0 ? w[0] * entry(&P, i, j) : w[1] * entry(&Q, l, i);
      else S[i][j] = l < 0 ? w[2] * entry(&Q, k, j) : w[3] * entry(&R, k, l) + (k == l);
    }
  double re[ORDER], im[ORDER], largest = 0.0;
  double complex r[ORDER];
  for (int i = 0; i < ORDER; i++) {
    re[i] = cos(5.0 * i);
    im[i] = is_complex(kind) ? sin(2.0 * i) : 0.0;
    r[i]  = re[i] + I * im[i];
  }
  ck_assert_int_eq(cpLuFactor(lu), 0);
  ck_assert_int_eq(cpLuSolve(lu, re, im), CP_SUCCESS);
  for (int i = 0; i < ORDER; i++) {
    for (int j = 0; j < ORDER; j++) r[i] -= S[i][j] * (re[j] + I * im[j]);
    largest = fmax(largest, cabs(r[i]));
  }
  return largest;
}

START_TEST(sums_are_those_of_their_entries) {
  const double complex real[4] = {1.0, -0.5, 0.7, 2.0},
                       both[4] = {1.0 + 0.5 * I, -I, 0.7 - 0.2 * I, 2.0 + I};
  const double complex *w      = is_complex(_i) ? both : real;
  memset(fixed, 0, sizeof fixed);
  ck_assert_int_eq(create_sum(_i), CP_SUCCESS);
  /* An entry of a dense term appears; rows become fixed: two, all but 15, all, none; and, of dense matrices, the work falls with them. */
  for (int k = 0; k < 6; k++) {
    fill(k == 0 ? 0.0 : 0.8);
    for (int i = 0; i < ORDER; i++)
      fixed[i] = (char)(k == 2 ? i == 5 || i == NP + 2 : k == 3 ? i % 4 != 1 : k == 4);
    ck_assert_int_eq(cpLuAssemble(lu, w), CP_SUCCESS);
    ck_assert(cpLuFinite(lu));
    ck_assert_double_le(sum_error(_i, w), BOUND);
  }
  destroy_sum();
}
END_TEST

/* The weight of only one part must leave nothing of an older sum. */
START_TEST(a_complex_sum_forgets_the_last_one) {
  const double complex first[4] = {1.0 + 0.5 * I, I, 0.7 - 0.2 * I, 2.0 + I},
                       later[4] = {1.0, 0.5 * I, 0.7, 1.0};
  memset(fixed, 0, sizeof fixed);
  ck_assert_int_eq(create_sum(_i), CP_SUCCESS);
  fill(0.3);
  ck_assert_int_eq(cpLuAssemble(lu, first), CP_SUCCESS);
  ck_assert_double_le(sum_error(_i, first), BOUND);
  ck_assert_int_eq(cpLuAssemble(lu, later), CP_SUCCESS);
  ck_assert_double_le(sum_error(_i, later), BOUND);
  destroy_sum();
}
END_TEST

START_TEST(entries_that_are_not_finite_are_told) {
  const double complex w[4] = {1.0, 1.0, 1.0, 1.0};
  memset(fixed, 0, sizeof fixed);
  ck_assert_int_eq(create_sum(_i), CP_SUCCESS);
  fill(NAN);
  ck_assert_int_eq(cpLuAssemble(lu, w), CP_SUCCESS);
  ck_assert(!cpLuFinite(lu));
  fill(1.0);
  ck_assert_int_eq(cpLuAssemble(lu, w), CP_SUCCESS);
  ck_assert(cpLuFinite(lu));
  destroy_sum();
}
END_TEST

/* A failed allocation is reported, wherever it is, and nothing leaks. */
START_TEST(every_allocation_may_fail) {
  const double complex w[4] = {1.0, 1.0, 1.0, 1.0};
  memset(fixed, 0, sizeof fixed);
  int reached = 1;
  for (int n = 1; reached; n++) {
    alloc_count_suitesparse(1);
    alloc_watch_failing(n);
    int flag = create_sum(_i);
    if (!flag) {
      fill(0.5);
      flag = cpLuAssemble(lu, w);
    }
    if (!flag) flag = cpLuFactor(lu);
    reached = alloc_has_failed();
    if (flag || !reached) /* KLU continues if it cannot shrink a block */
      ck_assert_int_eq(flag, reached ? CP_MEM_FAIL : CP_SUCCESS);
    destroy_sum();
    alloc_unwatch();
    alloc_count_suitesparse(0);
    ck_assert_int_eq(alloc_live(), 0);
  }
}
END_TEST

/* ---- dense orders around that from which LAPACK is used: A = 2 n P + (cos(i j)), P a cyclic
 * permutation, which needs interchanges of rows and has a condition below 10 ---- */

START_TEST(dense_systems_of_any_order_are_solved) {
  static const int orders[] = {1, 2, CP_SMALL - 1, CP_SMALL, CP_SMALL + 1};
  const int n = orders[_i / 2], kind = _i % 2;
  const double complex w = kind ? 1.0 + 2.0 * I : 1.0;
  double re[CP_SMALL + 1], im[CP_SMALL + 1];
  ck_assert_int_eq(cpLuCreate(&lu, n, 0, kind, NULL, n), CP_SUCCESS);
  ck_assert_int_eq(cpMatCreateDense(&A, n, n), CP_SUCCESS);
  ck_assert_int_eq(cpLuTerm(lu, &A, 0, 0, 0), CP_SUCCESS);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) A.value[n * j + i] = cos(i * j) + (j == (i + 1) % n ? 2 * n : 0);
  for (int i = 0; i < n; i++) {
    double complex sum = 0.0;
    for (int j = 0; j < n; j++) sum += w * A.value[n * j + i] * exact(kind, j);
    re[i] = creal(sum), im[i] = cimag(sum);
  }
  ck_assert_int_eq(cpLuAssemble(lu, &w), CP_SUCCESS);
  ck_assert_int_eq(cpLuFactor(lu), 0);
  ck_assert_int_eq(cpLuSolve(lu, re, im), CP_SUCCESS);
  for (int i = 0; i < n; i++) {
    const double off = cabs(re[i] + (kind ? I * im[i] : 0.0) - exact(kind, i));
    ck_assert_msg(off <= BOUND * n, "order %d: x[%d] is off by %g", n, i, off);
  }
  cpLuFree(&lu);
  cpMatFree(&A);
}
END_TEST

/* Singular by a row of zeros, by a column of zeros, or not finite, on either side of that order */
START_TEST(dense_matrices_that_are_singular_are_told) {
  const int n = _i % 2 ? CP_SMALL + 1 : CP_SMALL, kind = _i / 2 % 2, how = _i / 4;
  const double complex w = kind ? 1.0 + 2.0 * I : 1.0;
  ck_assert_int_eq(cpLuCreate(&lu, n, 0, kind, NULL, n), CP_SUCCESS);
  ck_assert_int_eq(cpMatCreateDense(&A, n, n), CP_SUCCESS);
  ck_assert_int_eq(cpLuTerm(lu, &A, 0, 0, 0), CP_SUCCESS);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      A.value[n * j + i] = cos(i * j) + (j == i ? 2 * n : 0);
      if ((how == 0 && i == n / 2) || (how == 1 && j == n / 2)) A.value[n * j + i] = 0.0;
    }
  if (how == 2) A.value[n + 1] = INFINITY;
  ck_assert_int_eq(cpLuAssemble(lu, &w), CP_SUCCESS);
  ck_assert_int_eq(cpLuFactor(lu), 1);
  cpLuFree(&lu);
  cpMatFree(&A);
}
END_TEST

TEST_SUITE(lu) {
  Suite *suite   = suite_create("LU factors");
  TCase *factors = tcase_create("factors"), *sums = tcase_create("sums");
  tcase_add_loop_test(factors, solutions_are_right, 0, KINDS);
  tcase_add_loop_test(factors, pivots_are_chosen_anew_where_the_old_ones_are_bad, 0, KINDS);
  tcase_add_loop_test(factors, a_singular_matrix_is_told, 0, KINDS);
  tcase_add_loop_test(sums, sums_are_those_of_their_entries, 0, KINDS);
  tcase_add_loop_test(sums, entries_that_are_not_finite_are_told, 0, KINDS);
  tcase_add_loop_test(sums, every_allocation_may_fail, 0, KINDS);
  for (int kind = 1; kind < KINDS; kind += 2)
    tcase_add_loop_test(sums, a_complex_sum_forgets_the_last_one, kind, kind + 1);
  tcase_add_loop_test(factors, dense_systems_of_any_order_are_solved, 0, 10);
  tcase_add_loop_test(factors, dense_matrices_that_are_singular_are_told, 0, 12);
  suite_add_tcase(suite, factors);
  suite_add_tcase(suite, sums);
  return suite;
}
