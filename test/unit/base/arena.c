/* Memory of one object: zeros, a sticky failure, destruction in reverse order. */
#include <cpodes/base/arena.h>
#include <cpodes/cpodes_types.h>
#include <nvector/nvector_serial.h>
#include <stdint.h>

#include "support/alloc.h"
#include "support/support.h"

static int order[2], ndestroyed;
static void destroy(void *object) { order[ndestroyed++] = *(int *)object; }

static void setup(void) { ndestroyed = 0; }

START_TEST(memory_is_zero_and_aligned) {
  CPArena arena = {0};
  char *one     = cpArenaAlloc(&arena, 1, 1);
  double *many, sum = 0;
  CP_NEW(&arena, many, 1000);
  ck_assert(one && many && *one == 0 && (uintptr_t)many % sizeof(double) == 0);
  for (int i = 0; i < 1000; i++) sum += many[i] != 0;
  ck_assert_double_eq(sum, 0);
  ck_assert_ptr_nonnull(cpArenaAlloc(&arena, 0, sizeof(double)));
  ck_assert_int_eq(cpArenaStatus(&arena), CP_SUCCESS);
  cpArenaFree(&arena);
}
END_TEST

START_TEST(objects_are_destroyed_in_reverse_order_and_once) {
  CPArena arena = {0};
  int first = 1, second = 2;
  ck_assert_ptr_eq(cpArenaOwn(&arena, &first, destroy), &first);
  ck_assert_ptr_eq(cpArenaOwn(&arena, &second, destroy), &second);
  cpArenaFree(&arena);
  cpArenaFree(&arena);
  ck_assert(ndestroyed == 2 && order[0] == 2 && order[1] == 1);
}
END_TEST

START_TEST(a_failure_sticks_until_the_arena_is_freed) {
  CPArena arena = {0};
  int object    = 3;
  ck_assert_ptr_null(cpArenaOwn(&arena, NULL, destroy));
  ck_assert_ptr_null(cpArenaAlloc(&arena, 1, 1));
  ck_assert_ptr_null(cpArenaOwn(&arena, &object, destroy)); /* destroyed at once */
  ck_assert(ndestroyed == 1 && order[0] == 3);
  ck_assert_int_eq(cpArenaStatus(&arena), CP_MEM_FAIL);
  cpArenaFree(&arena);
  ck_assert_ptr_nonnull(cpArenaAlloc(&arena, 1, 1));
  cpArenaFree(&arena);
}
END_TEST

START_TEST(sizes_beyond_the_address_space_fail) {
  const size_t sizes[][2] = {{SIZE_MAX, 1}, {SIZE_MAX / 2, 3}, {3, SIZE_MAX / 2}};
  CPArena arena           = {0};
  ck_assert_ptr_null(cpArenaAlloc(&arena, sizes[_i][0], sizes[_i][1]));
  ck_assert_int_eq(cpArenaStatus(&arena), CP_MEM_FAIL);
  cpArenaFree(&arena);
}
END_TEST

START_TEST(whichever_allocation_fails_nothing_is_lost) {
  test_context_setup();
  N_Vector tmpl = N_VNew_Serial(3, test_context);
  long n        = 0;
  do {
    CPArena arena = {0};
    double *x;
    alloc_watch_failing(++n);
    CP_NEW(&arena, x, 7);
    N_Vector v = cpArenaVector(&arena, tmpl), w = cpArenaVector(&arena, tmpl);
    const int status = cpArenaStatus(&arena), whole = x && v && w;
    cpArenaFree(&arena);
    alloc_unwatch();
    ck_assert_int_eq(status, alloc_has_failed() ? CP_MEM_FAIL : CP_SUCCESS);
    ck_assert(status || whole);
    ck_assert_int_eq(alloc_live(), 0);
  } while (alloc_has_failed());
  ck_assert_int_gt(n, 5);
  N_VDestroy(tmpl);
  test_context_teardown();
}
END_TEST

TEST_SUITE(arena) {
  Suite *s = suite_create("arena");
  TCase *t = tcase_create("arena");
  tcase_add_checked_fixture(t, setup, NULL);
  tcase_add_test(t, memory_is_zero_and_aligned);
  tcase_add_test(t, objects_are_destroyed_in_reverse_order_and_once);
  tcase_add_test(t, a_failure_sticks_until_the_arena_is_freed);
  tcase_add_loop_test(t, sizes_beyond_the_address_space_fail, 0, 3);
  tcase_add_test(t, whichever_allocation_fails_nothing_is_lost);
  suite_add_tcase(s, t);
  return s;
}
