/* What all objects share: messages, counters, and structs that begin with their size. */
#include "cpodes/base/object.h"

#include "support/mech_run.h"
#include "support/support.h"

#include <cpodes/cpodes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static CPObject objects[3];
static CPIntegrator integrator;
static CPProjector projector;
static CPMech mech;
static N_Vector y;

static int zero(sunrealtype t, N_Vector state, N_Vector c, void *data) {
  (void)t, (void)state, (void)data;
  N_VConst(0, c);
  return 0;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  return SUNMatScaleAddI(0, M);
}

static void setup(void) {
  test_context_setup();
  const CPEquations equations = {CP_SIZED(CPEquations), .nu = 1, .M = mass};
  y                           = VECTOR(1.0, 2.0);
  objects[0]                  = CP_OBJECT(integrator = CPIntegratorCreate("BDF", test_context));
  objects[1]                  = CP_OBJECT(projector = CPProjectorCreate(zero, y, y, test_context));
  objects[2]                  = CP_OBJECT(mech = create_mech(&equations, y, test_context));
  for (int i = 0; i < 3; i++) ck_assert_ptr_nonnull(objects[i]);
}

static void teardown(void) {
  CPIntegratorFree(&integrator);
  CPProjectorFree(&projector);
  CPMechFree(&mech);
  N_VDestroy(y);
  test_context_teardown();
}

START_TEST(every_counter_is_found_by_its_name) {
  const CPObject object = objects[_i];
  const char *name;
  int n = 0;
  for (; (name = CPObjectGetStatName(object, n)); n++) {
    sunrealtype value = NAN;
    ck_assert_int_eq(CPObjectGetStat(object, name, &value), CP_SUCCESS);
    ck_assert_double_eq(value, value); /* not NaN */
    for (int k = 0; k < n; k++) ck_assert_str_ne(CPObjectGetStatName(object, k), name);
  }
  ck_assert_int_gt(n, 10);
  ck_assert_ptr_null(CPObjectGetStatName(object, n + 1));
  ck_assert_ptr_null(CPObjectGetStatName(object, -1));
  ck_assert_ptr_null(CPObjectGetStatName(NULL, 0));
}
END_TEST

START_TEST(wrong_calls_are_refused_with_a_message) {
  const CPObject object = objects[_i];
  sunrealtype value;
  ck_assert_int_eq(CPObjectGetStat(object, "step", &value), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(object), "\"step\"");
  ck_assert_int_eq(CPObjectGetStat(object, NULL, &value), CP_ILL_INPUT);
  ck_assert_int_eq(CPObjectGetStat(object, "steps", NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPObjectPrintStats(object, NULL, SUN_OUTPUTFORMAT_CSV), CP_ILL_INPUT);
  ck_assert_int_eq(CPObjectGetStat(NULL, "steps", &value), CP_MEM_NULL);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "NULL");
  ck_assert_int_eq(CPObjectPrintStats(NULL, stdout, SUN_OUTPUTFORMAT_CSV), CP_MEM_NULL);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(NULL, NULL, NULL), CP_MEM_NULL);
}
END_TEST

/* ---- messages ---- */

static void *message_of_another_thread(void *data) {
  (void)data;
  ck_assert_str_eq(CPObjectGetLastMessage(NULL), "");
  ck_assert_int_eq(CPProjectorSetEps(NULL, 0.5), CP_MEM_NULL);
  return strdup(CPObjectGetLastMessage(NULL));
}

START_TEST(each_thread_has_its_newest_message) {
  pthread_t thread;
  void *kept = NULL;
  ck_assert_ptr_null(CPIntegratorCreate("NONE", test_context));
  ck_assert_int_eq(pthread_create(&thread, NULL, message_of_another_thread, NULL), 0);
  ck_assert_int_eq(pthread_join(thread, &kept), 0);
  char *theirs = kept;
  ck_assert_mentions(theirs, "P must not be NULL");
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "NONE");
  free(theirs);
}
END_TEST

START_TEST(a_handler_is_also_that_of_what_the_object_owns) {
  MessageLog log = {0};
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetEps(CPMechGetProjector(mech), 2.0), CP_ILL_INPUT);
  ck_assert_int_eq(log.count, 1);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetEps(CPMechGetProjector(mech), 2.0), CP_ILL_INPUT);
  ck_assert_int_eq(log.count, 1);
}
END_TEST

/* ---- structs that begin with their size ---- */

typedef struct {
  size_t size;
  int a, k;
} Older;

typedef struct {
  size_t size;
  int a, k, b;
  double c;
} Newer;

START_TEST(members_that_the_caller_does_not_know_are_zero) {
  CPLog log         = {0};
  const Older given = {CP_SIZED(Older), .a = 3};
  Newer own         = {.b = 4, .c = 5};
  ck_assert_int_eq(cpTake(&log, &own, &given, __func__), CP_SUCCESS);
  ck_assert(own.size == sizeof own && own.a == 3 && own.b == 0 && own.c == 0.0);
  const Newer more = {CP_SIZED(Newer), .a = 6, .b = 7};
  Older less;
  ck_assert_int_eq(cpTake(&log, &less, &more, __func__), CP_SUCCESS);
  ck_assert(less.size == sizeof less && less.a == 6);
}
END_TEST

START_TEST(structs_without_a_size_are_refused) {
  CPLog log         = {0};
  const Older given = {.a = 3}, *none = NULL;
  Newer own = CP_INIT(Newer);
  ck_assert_int_eq(cpTake(&log, &own, &given, __func__), CP_OLD_STRUCT);
  ck_assert_mentions(log.text, "size");
  ck_assert_int_eq(cpTake(&log, &own, none, __func__), CP_ILL_INPUT);
  ck_assert_mentions(log.text, "none");
}
END_TEST

START_TEST(nothing_is_written_beyond_the_callers_struct) {
  Older given[2]  = {{CP_SIZED(Older), .a = 1}, {CP_SIZED(Older), .a = 2}};
  const Newer own = {CP_SIZED(Newer), .a = 8, .b = 9};
  cpGive(&given[0], &own);
  ck_assert(given[0].size == sizeof(Older) && given[0].a == 8 && given[1].size == sizeof(Older));
  ck_assert_ptr_eq(cpElement(given, 1), &given[1]);
}
END_TEST

TEST_SUITE(object) {
  Suite *suite = suite_create("base/object");
  TCase *tc    = tcase_create("all");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, every_counter_is_found_by_its_name, 0, 3);
  tcase_add_loop_test(tc, wrong_calls_are_refused_with_a_message, 0, 3);
  tcase_add_test(tc, each_thread_has_its_newest_message);
  tcase_add_test(tc, a_handler_is_also_that_of_what_the_object_owns);
  tcase_add_test(tc, members_that_the_caller_does_not_know_are_zero);
  tcase_add_test(tc, structs_without_a_size_are_refused);
  tcase_add_test(tc, nothing_is_written_beyond_the_callers_struct);
  suite_add_tcase(suite, tc);
  return suite;
}
