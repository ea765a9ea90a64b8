/* Shared by the tests: vectors, norms, a message log, and suites. */
#ifndef CPODES_TEST_SUPPORT_H
#define CPODES_TEST_SUPPORT_H

#include <check.h>
#include <cpodes/cpodes_matrixfree.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_nvector.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ---- vectors; all of them belong to the caller, who frees them with N_VDestroy ---- */

/* The context of the running test, made by test_context_setup; NULL outside a test. */
extern SUNContext test_context;

/* Checked fixture: a SUNContext for each test. Add it before the test file's own fixture. */
void test_context_setup(void);
void test_context_teardown(void);

/* Sets CVODES' own defaults where CPIntegratorCreate sets others (guide, "Defaults"); the test must not
 * have changed cvode_mem yet. */
void cvodes_defaults(void *cvode_mem);

/* New serial vector of n entries; values [n], or NULL for zeros. */
N_Vector vector_of(sunindextype n, const sunrealtype *values);
/* For literals: VECTOR(1.0, 0.0) is a vector of two. */
#define VECTOR(...)                                                                     \
  vector_of((sunindextype)(sizeof((sunrealtype[]){__VA_ARGS__}) / sizeof(sunrealtype)), \
            (sunrealtype[]){__VA_ARGS__})

/* A copy of x with its own memory */
N_Vector vector_copy(N_Vector x);

/* The functions of a CPUserProjection, and a projector of these for states like y; error may be NULL. */
typedef int (*StateProjection)(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *);
typedef int (*ErrorProjection)(sunrealtype t, N_Vector y, N_Vector err, void *user_data);
CPProjector projector_of_user(StateProjection state, ErrorProjection error, N_Vector y);
/* The entries of a serial vector. */
sunrealtype *entries(N_Vector x);

/* ---- norms ---- */

/* max_i |a_i - b_i| */
sunrealtype max_distance(N_Vector a, N_Vector b);
/* sqrt(mean((w_i (a_i - b_i))^2)), CVODES' error norm of a - b */
sunrealtype wrms_distance(N_Vector a, N_Vector b, N_Vector ewt);
/* sum_i a_i b_i, accumulated in long double */
sunrealtype dot(N_Vector a, N_Vector b);
/* Is every bit of a equal to that of b? (Distinguishes 0 from -0, and compares NaN.) */
int same_bits(N_Vector a, N_Vector b);

/* A repeatable pseudo-random number in [-1, 1]; *state is the generator's state, and may start with
 * any value. */
sunrealtype random_number(unsigned long long *state);
void random_fill(N_Vector x, unsigned long long *state);

/* The weight of f(k h) in the difference of sixth order for h f'(0), for k = -3 ... 3 */
static inline sunrealtype sixth_order(int k) {
  static const sunrealtype weight[] = {-1 / 60.0, 0.15, -0.75, 0, 0.75, -0.15, 1 / 60.0};
  return weight[3 + k];
}

/* ---- messages ---- */

/* The last call of a CPErrHandlerFn, and the number of calls */
typedef struct {
  int count;
  int code;
  char function[64];
  char text[1024];
} MessageLog;

/* A CPErrHandlerFn; data is a MessageLog. */
void message_log(int code, const char *function, const char *msg, void *data);

/* Asserts that the text contains the word; a failure shows both. */
#define ck_assert_mentions(text, word) \
  ck_assert_msg(strstr((text), (word)) != NULL, "\"%s\" does not mention \"%s\"", (text), (word))

/* ---- main program ---- */

/* The last function of a test file returns its suite, TEST_SUITE(name) { ...; return suite; }, where name is that of
 * the file. main.c runs it by this name. */
#define TEST_SUITE(name)     \
  Suite *name##_suite(void); \
  Suite *name##_suite(void)

/* Does CPODES_TEST_SHORT ask for a run with few cases of each loop? All tests with sanitizers do, and those under valgrind that
 * are not labelled long, since a run takes up to forty times as long there; each kind of path still runs. */
int test_is_short(void);

/* Check writes the place of each assertion that holds to a file, to name it after a crash, which takes most of the time of
 * loops with thousands of assertions. Test programs link this in its place: each place of a test is written once, and the
 * place that is named after a crash is the last new one. */
void __wrap__mark_point(const char *file, int line);

/* Runs a suite with Check's environment variables (CK_FORK, CK_VERBOSITY, ...). Returns the exit
 * code for a main program. */
int run_suite(Suite *suite);

#endif
