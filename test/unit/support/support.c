#include "support.h"

#include <cvodes/cvodes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_config.h>

SUNContext test_context = NULL;

void test_context_setup(void) {
#if SUNDIALS_VERSION_MAJOR >= 7
  ck_assert_int_eq(SUNContext_Create(SUN_COMM_NULL, &test_context), 0);
  /* CVODES 7 reports through the context, whose first handler prints: tests examine the messages of
   * cpodes. */
  ck_assert_int_eq(SUNContext_ClearErrHandlers(test_context), 0);
#else
  ck_assert_int_eq(SUNContext_Create(NULL, &test_context), 0);
#endif
}

void test_context_teardown(void) {
  SUNContext_Free(&test_context);
  test_context = NULL;
}

void cvodes_defaults(void *cvode_mem) {
  ck_assert_int_eq(CVodeSetEtaFixedStepBounds(cvode_mem, 0.0, 1.5), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetLSetupFrequency(cvode_mem, 20), CV_SUCCESS);
}

N_Vector vector_of(sunindextype n, const sunrealtype *values) {
  N_Vector x = N_VNew_Serial(n, test_context);
  ck_assert_ptr_nonnull(x);
  for (sunindextype i = 0; i < n; i++) entries(x)[i] = values ? values[i] : 0.0;
  return x;
}

N_Vector vector_copy(N_Vector x) { return vector_of(N_VGetLength(x), entries(x)); }

sunrealtype *entries(N_Vector x) { return N_VGetArrayPointer(x); }

sunrealtype max_distance(N_Vector a, N_Vector b) {
  sunrealtype distance = 0.0;
  for (sunindextype i = 0; i < N_VGetLength(a); i++) {
    sunrealtype d = fabs(entries(a)[i] - entries(b)[i]);
    if (!(d <= distance)) distance = d; /* true for a NaN as well, which then remains */
    if (isnan(distance)) break;
  }
  return distance;
}

sunrealtype wrms_distance(N_Vector a, N_Vector b, N_Vector ewt) {
  sunindextype n  = N_VGetLength(a);
  long double sum = 0.0L;
  for (sunindextype i = 0; i < n; i++) {
    long double d = (long double)entries(ewt)[i] * (entries(a)[i] - entries(b)[i]);
    sum += d * d;
  }
  return (sunrealtype)sqrtl(sum / (long double)n);
}

sunrealtype dot(N_Vector a, N_Vector b) {
  long double sum = 0.0L;
  for (sunindextype i = 0; i < N_VGetLength(a); i++)
    sum += (long double)entries(a)[i] * entries(b)[i];
  return (sunrealtype)sum;
}

int same_bits(N_Vector a, N_Vector b) {
  size_t n = (size_t)N_VGetLength(a);
  return N_VGetLength(a) == N_VGetLength(b) &&
         memcmp(entries(a), entries(b), n * sizeof(sunrealtype)) == 0;
}

/* 64-bit linear congruential generator, D. E. Knuth, MMIX; the upper 53 bits are used. */
sunrealtype random_number(unsigned long long *state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (sunrealtype)(*state >> 11) / 4503599627370496.0 - 1.0;
}

void random_fill(N_Vector x, unsigned long long *state) {
  for (sunindextype i = 0; i < N_VGetLength(x); i++) entries(x)[i] = random_number(state);
}

void message_log(int code, const char *function, const char *msg, void *data) {
  MessageLog *log = data;
  log->count++;
  log->code = code;
  snprintf(log->function, sizeof log->function, "%s", function ? function : "(null)");
  snprintf(log->text, sizeof log->text, "%s", msg ? msg : "(null)");
}

int test_is_short(void) { return getenv("CPODES_TEST_SHORT") != NULL; }

void __real__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line) {
  static struct {
    const char *file;
    int line;
  } marked[1024];
  const size_t k = (size_t)line % (sizeof marked / sizeof *marked);
  if (marked[k].file == file && marked[k].line == line) return;
  marked[k].file = file, marked[k].line = line;
  __real__mark_point(file, line);
}

int run_suite(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

CPProjector projector_of_user(StateProjection state, ErrorProjection error, N_Vector y) {
  const CPUserProjection user = {sizeof user, state, error, NULL, NULL};
  return CPProjectorCreateUser(&user, y, test_context);
}
