/* The linear system M x'' + C x' + K x = f, by a constant M, stiffness and damping: its forces, its copies of the matrices, and refused
 * arguments. */
#include <cpodes/cpodes_mechanics.h>
#include <cpodes/mechanics/mech.h>
#include <math.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "support/alloc.h"
#include "support/mech_run.h"

enum { N = 3 };
typedef enum { DENSE, CSC, CSR, N_KINDS } Kind;

/* C and K need not be symmetric (a gyroscopic and a follower term). */
static const double M0[N][N] = {{2.0, 1.0, 0.0}, {1.0, 4.0, -1.0}, {0.0, -1.0, 3.0}};
static const double C0[N][N] = {{0.5, -0.5, 0.0}, {0.2, 0.7, 0.0}, {0.0, 0.0, 0.9}};
static const double K0[N][N] = {{5.0, -2.0, 0.0}, {-2.0, 6.0, -4.0}, {0.0, -3.0, 4.0}};

static N_Vector y;
static SUNMatrix M, C, K;

static SUNMatrix matrix_of(const double a[N][N], Kind kind) {
  SUNMatrix D = SUNDenseMatrix(N, N, test_context);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) SM_ELEMENT_D(D, i, j) = a[i][j];
  if (kind == DENSE) return D;
  SUNMatrix S = SUNSparseFromDenseMatrix(D, 0.0, kind == CSC ? CSC_MAT : CSR_MAT);
  SUNMatDestroy(D);
  return S;
}

static void open_matrices(Kind kind) {
  M = matrix_of(M0, kind);
  C = matrix_of(C0, kind);
  K = matrix_of(K0, kind);
}

static void close_matrices(void) {
  SUNMatDestroy(M);
  SUNMatDestroy(C);
  SUNMatDestroy(K);
}

static CPMech mech_of(SUNMatrix of_M, SUNMatrix of_C, SUNMatrix of_K, CPMechForceFn f,
                      N_Vector state, SUNContext ctx) {
  CPEquations model = linear_equations(N, of_M, of_C, of_K);
  model.f           = f;
  return create_mech(&model, state, ctx);
}

static void open_state(void) { y = VECTOR(0.3, -0.4, 0.5, 1.0, -2.0, 0.7); }

static void close_state(void) { N_VDestroy(y); }

/* f = t (1, 2, 3) times the user's factor; with flag the function fails. */
typedef struct {
  double factor;
  int flag;
} Load;

static int load(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *f, void *data) {
  const Load *l = data;
  (void)q, (void)u, (void)z;
  for (int i = 0; i < N; i++) f[i] = l->factor * t * (i + 1);
  return l->flag;
}

/* max_i |M u' + C u + K q - f|_i, with the matrices above; factor 0: no f */
static double residual(const sunrealtype *udot, double t, double factor, int damped) {
  const sunrealtype *q = entries(y), *u = q + N;
  double largest = 0.0;
  for (int i = 0; i < N; i++) {
    double r = -factor * t * (i + 1);
    for (int j = 0; j < N; j++)
      r += M0[i][j] * udot[j] + (damped ? C0[i][j] * u[j] : 0.0) + K0[i][j] * q[j];
    largest = fmax(largest, fabs(r));
  }
  return largest;
}

/* Backward stable elimination of a system of 3 with entries and results below 10: some ulps of 100. */
static const double roundoff = 1e-13;

START_TEST(accelerations_satisfy_the_equation) {
  for (int with = 0; with < 4; with++) { /* without and with f, C */
    sunrealtype udot[N];
    Load l = {.factor = 1.5};
    open_matrices((Kind)_i);
    CPMech mech = mech_of(M, with & 2 ? C : NULL, K, with & 1 ? load : NULL, y, test_context);
    ck_assert_ptr_nonnull(mech);
    ck_assert_int_eq(CPMechSetUserData(mech, &l), CP_SUCCESS);
    ck_assert_int_eq(CPMechAccelerations(mech, 2.0, y, udot, NULL), CP_SUCCESS);
    ck_assert_double_le(residual(udot, 2.0, with & 1 ? 1.5 : 0.0, with & 2), roundoff);
    ck_assert_int_eq(CPMechGetNumMultipliers(mech), 0);
    CPMechFree(&mech);
    close_matrices();
  }
}
END_TEST

/* The user may change or free the matrices after the call. */
START_TEST(matrices_are_copied) {
  sunrealtype udot[N];
  open_matrices((Kind)_i);
  CPMech mech = mech_of(M, C, K, NULL, y, test_context);
  SUNMatZero(M);
  SUNMatZero(C);
  SUNMatZero(K);
  close_matrices();
  ck_assert_int_eq(CPMechAccelerations(mech, 0.0, y, udot, NULL), CP_SUCCESS);
  ck_assert_double_le(residual(udot, 0.0, 0.0, 1), roundoff);
  CPMechFree(&mech);
}
END_TEST

/* Other user data, at any time; and a failure of the function is reported as the user's. */
START_TEST(the_force_function_gets_the_users_pointer) {
  sunrealtype udot[N];
  Load first = {.factor = 1.0}, second = {.factor = -7.0}, failing = {.flag = 1};
  MessageLog messages = {0};
  open_matrices(DENSE);
  CPMech mech = mech_of(M, C, K, load, y, test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages);
  ck_assert_ptr_null(CPMechGetUserData(mech));
  CPMechSetUserData(mech, &first);
  ck_assert_ptr_eq(CPMechGetUserData(mech), &first);
  ck_assert_ptr_null(CPMechGetUserData(NULL));
  ck_assert_int_eq(CPMechAccelerations(mech, 1.0, y, udot, NULL), CP_SUCCESS);
  ck_assert_double_le(residual(udot, 1.0, 1.0, 1), roundoff);
  CPMechSetUserData(mech, &second);
  ck_assert_int_eq(CPMechAccelerations(mech, 1.0, y, udot, NULL), CP_SUCCESS);
  ck_assert_double_le(residual(udot, 1.0, -7.0, 1), roundoff);
  CPMechSetUserData(mech, &failing);
  ck_assert_int_eq(CPMechAccelerations(mech, 1.0, y, udot, NULL), CP_REPTD_USERFUNC_ERR);
  failing.flag = -1;
  ck_assert_int_eq(CPMechAccelerations(mech, 1.0, y, udot, NULL), CP_USERFUNC_FAIL);
  CPMechFree(&mech);
  close_matrices();
}
END_TEST

static void assert_is(SUNMatrix A, double factor, const double a[N][N]) {
  N_Vector e = vector_of(N, NULL), column = vector_of(N, NULL);
  for (int j = 0; j < N; j++) {
    N_VConst(0.0, e);
    entries(e)[j] = 1.0;
    SUNMatMatvec(A, e, column);
    for (int i = 0; i < N; i++) ck_assert_double_eq(entries(column)[i], factor * a[i][j]);
  }
  N_VDestroy(e);
  N_VDestroy(column);
}

/* K_newton = -K, C_newton = -C; without C zeros. */
START_TEST(partial_derivatives_are_the_matrices) {
  static const double zero[N][N];
  for (int with = 0; with < 2; with++) {
    open_matrices((Kind)_i);
    CPMech mech        = mech_of(M, with ? C : NULL, K, NULL, y, test_context);
    SUNMatrix K_newton = matrix_of(K0, (Kind)_i), C_newton = matrix_of(C0, (Kind)_i);
    /* zero when the function is called; the pattern stays */
    for (int k = 0; _i != DENSE && k < SUNSparseMatrix_NNZ(K_newton); k++)
      SUNSparseMatrix_Data(K_newton)[k] = 0.0;
    for (int k = 0; _i != DENSE && k < SUNSparseMatrix_NNZ(C_newton); k++)
      SUNSparseMatrix_Data(C_newton)[k] = 0.0;
    if (_i == DENSE) SUNMatZero(K_newton), SUNMatZero(C_newton);
    const sunrealtype *q       = entries(y);
    const CPMechForce *springs = &mech->forces.list[0];
    ck_assert_int_eq(
        springs->jac(0.0, q, q + N, NULL, NULL, K_newton, C_newton, NULL, springs->data), 0);
    assert_is(K_newton, -1.0, K0);
    if (with) assert_is(C_newton, -1.0, C0);
    else assert_is(C_newton, 1.0, zero);
    CPMechFree(&mech);
    SUNMatDestroy(K_newton);
    SUNMatDestroy(C_newton);
    close_matrices();
  }
}
END_TEST

START_TEST(kinds_of_matrices_may_differ) {
  sunrealtype udot[N];
  M           = matrix_of(M0, CSC);
  C           = matrix_of(C0, DENSE);
  K           = matrix_of(K0, CSR);
  CPMech mech = mech_of(M, C, K, NULL, y, test_context);
  ck_assert_int_eq(CPMechAccelerations(mech, 0.0, y, udot, NULL), CP_SUCCESS);
  ck_assert_double_le(residual(udot, 0.0, 0.0, 1), roundoff);
  CPMechFree(&mech);
  close_matrices();
}
END_TEST

START_TEST(bad_matrices_are_refused) {
  N_Vector odd = vector_of(2 * N + 1, NULL), longer = vector_of(2 * N + 2, NULL),
           empty = vector_of(0, NULL);
  open_matrices((Kind)_i);
  ck_assert_ptr_null(mech_of(NULL, C, K, NULL, y, test_context));
  ck_assert_ptr_null(mech_of(M, C, K, NULL, NULL, test_context));
  ck_assert_ptr_null(mech_of(M, C, K, NULL, y, NULL));
  ck_assert_ptr_null(mech_of(M, C, K, NULL, odd, test_context));
  ck_assert_ptr_null(mech_of(M, C, K, NULL, longer, test_context));
  ck_assert_ptr_null(mech_of(M, C, K, NULL, empty, test_context));
  ck_assert_ptr_null(mech_of(K, C, M, NULL, y, test_context)); /* not symmetric */
  sunrealtype *data = cpMatrixData(K);
  data[1]           = NAN;
  ck_assert_ptr_null(mech_of(M, C, K, NULL, y, test_context));
  close_matrices();
  N_VDestroy(odd);
  N_VDestroy(longer);
  N_VDestroy(empty);
}
END_TEST

/* An asymmetry of roundoff size, as in assembled matrices, is accepted. */
START_TEST(roundoff_of_an_assembled_mass_matrix_is_accepted) {
  open_matrices(DENSE);
  SM_ELEMENT_D(M, 0, 1) *= 1.0 + 1e-15;
  CPMech mech = mech_of(M, C, K, NULL, y, test_context);
  ck_assert_ptr_nonnull(mech);
  CPMechFree(&mech);
  close_matrices();
}
END_TEST

START_TEST(every_allocation_may_fail) {
  long n = 0;
  open_matrices((Kind)_i);
  for (int denied = 1; denied; n++) {
    alloc_watch_failing(n + 1);
    CPMech mech = mech_of(M, C, K, load, y, test_context);
    denied      = alloc_has_failed();
    ck_assert_int_eq(mech == NULL, denied);
    CPMechFree(&mech);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_lt(n, 300);
  }
  ck_assert_int_gt(n, 10);
  close_matrices();
}
END_TEST

TEST_SUITE(linear) {
  Suite *suite = suite_create("mechanics/linear");
  TCase *tc    = tcase_create("linear");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, open_state, close_state);
  tcase_add_loop_test(tc, accelerations_satisfy_the_equation, 0, N_KINDS);
  tcase_add_loop_test(tc, matrices_are_copied, 0, N_KINDS);
  tcase_add_test(tc, the_force_function_gets_the_users_pointer);
  tcase_add_loop_test(tc, partial_derivatives_are_the_matrices, 0, N_KINDS);
  tcase_add_test(tc, kinds_of_matrices_may_differ);
  tcase_add_loop_test(tc, bad_matrices_are_refused, 0, N_KINDS);
  tcase_add_test(tc, roundoff_of_an_assembled_mass_matrix_is_accepted);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, N_KINDS);
  suite_add_tcase(suite, tc);
  return suite;
}
