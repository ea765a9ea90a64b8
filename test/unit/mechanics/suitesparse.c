/* SuiteSparse's allocations: at the set-up of a sparse mechanism, in its first steps and in later
 * ones, where cpodes itself allocates nothing; and by kind of factorisation. The lists are printed
 * (CK_FORK=no keeps their order). The mechanism is a chain of 20 rods
 * (examples/models/bending_chain.h). */
#include <SuiteSparse_config.h>
#include <complex.h>
#include <cpodes/cpodes.h>
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_mechanics.h>
#include <cpodes/lu/lu.h>
#include <math.h>
#include <models/bending_chain.h>
#include <models/counters.h>
#include <models/rigid_body.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "support/mech_run.h"
#include "support/support.h"

enum { RODS = 20, FIRST = 60, LATER = 400 };
#define TOL SUN_RCONST(1e-6)

/* ---- the counter of SuiteSparse's calls ---- */

static struct {
  int watching;
  long blocks, live;
  size_t bytes;
} seen;

static void *count(void *p, size_t size) {
  if (!seen.watching || !p) return p;
  seen.blocks++, seen.live++, seen.bytes += size;
  return p;
}

static void *counted_malloc(size_t size) { return count(malloc(size), size); }
static void *counted_calloc(size_t n, size_t size) { return count(calloc(n, size), n * size); }
static void *counted_realloc(void *p, size_t size) {
  if (seen.watching) seen.live -= p != NULL;
  return count(realloc(p, size), size);
}
static void counted_free(void *p) {
  if (seen.watching) seen.live -= p != NULL;
  free(p);
}

static void watch(void) {
  memset(&seen, 0, sizeof seen);
  seen.watching = 1;
}

static void count_suitesparse(void) {
#if SUITESPARSE_MAIN_VERSION >= 6
  SuiteSparse_config_malloc_func_set(counted_malloc);
  SuiteSparse_config_calloc_func_set(counted_calloc);
  SuiteSparse_config_realloc_func_set(counted_realloc);
  SuiteSparse_config_free_func_set(counted_free);
#else
  SuiteSparse_config.malloc_func  = counted_malloc;
  SuiteSparse_config.calloc_func  = counted_calloc;
  SuiteSparse_config.realloc_func = counted_realloc;
  SuiteSparse_config.free_func    = counted_free;
#endif
}

static void count_suitesparse_no_more(void) { alloc_count_suitesparse(0); }

/* ---- the runs ---- */

typedef struct {
  CPMech mech;
  CPIntegrator mem;
  CPIntegrator one;
  N_Vector y;
  sunrealtype t;
} Run;

static int set_up(Run *r, const char *method, const CPEquations *model, void *user_data) {
  r->mech  = create_mech(model, r->y, test_context);
  int flag = CPMechSetUserData(r->mech, user_data);
  if (strcmp(method, "BDF") && strcmp(method, "ADAMS")) {
    r->one = CPIntegratorCreate(method, test_context);
    if (!flag) flag = CPMechAttach(r->mech, r->one, 0.0, r->y);
    return flag ? flag : CPIntegratorSStolerances(r->one, TOL, TOL);
  }
  r->mem = CPIntegratorCreate(method, test_context);
  if (!flag) flag = CPMechAttach(r->mech, r->mem, 0.0, r->y);
  return flag ? flag : CPIntegratorSStolerances(r->mem, TOL, TOL);
}

static int steps(Run *r, int number) {
  int flag = CP_SUCCESS;
  for (int k = 0; k < number && flag >= 0; k++)
    flag = r->mem ? CPIntegratorEvolve(r->mem, 100.0, r->y, &r->t, CV_ONE_STEP)
                  : CPIntegratorEvolve(r->one, 100.0, r->y, &r->t, CV_ONE_STEP);
  return flag;
}

/* The allocations since watch() */
static void tell(const char *method, const char *when, const Run *r, MechCounters *before) {
  MechCounters now;
  mech_counters(r->mech, &now);
  printf("%-7s %-15s %4ld blocks, %6zu bytes, %4ld kept; factored: [M A'; A 0] %ld, Newton's "
         "matrix %ld\n",
         method, when, seen.blocks, seen.bytes, seen.live, now.nkkt - before->nkkt,
         now.nnewton - before->nnewton);
  *before = now;
}

static const struct {
  const char *method;
  sunrealtype k, d; /* stiff, or not */
} runs[] = {{"BDF", 1e5, 1e3}, {"RADAU", 1e5, 1e3}, {"ADAMS", 1e2, 1e1}, {"DOP853", 1e2, 1e1}};
enum { RUNS = sizeof runs / sizeof runs[0] };

START_TEST(steps_allocate_nothing_once_all_is_factored) {
  const char *method    = runs[_i].method;
  BendingChain *bending = bending_chain_create(RODS, 9.81, runs[_i].k, runs[_i].d);
  Run r                 = {.y = vector_of(4 * RODS, NULL)};
  CPEquations model;
  MechCounters stats = {0};
  ck_assert_ptr_nonnull(bending);
  ck_assert_int_eq(bending_chain_model(bending, 1, test_context, &model), 0);
  bending_chain_initial(bending, -0.5, r.y);
  watch();
  ck_assert_int_eq(set_up(&r, method, &model, bending), CP_SUCCESS);
  tell(method, "set-up", &r, &stats);
  watch();
  ck_assert_int_ge(steps(&r, FIRST), 0);
  tell(method, "first 60 steps", &r, &stats);
  watch();
  alloc_watch();
  const int flag = steps(&r, LATER);
  alloc_unwatch();
  tell(method, "next 400 steps", &r, &stats);
  ck_assert_int_ge(flag, 0);
  ck_assert_int_eq(alloc_count(), 0); /* cpodes */
  ck_assert_int_eq(seen.blocks, 0);
  CPIntegratorFree(&r.mem);
  CPIntegratorFree(&r.one);
  CPMechFree(&r.mech);
  bending_chain_model_free(&model);
  bending_chain_free(&bending);
  N_VDestroy(r.y);
}
END_TEST

/* The bytes that SuiteSparse allocates for the set-up and the first steps of n rods on hinges in space */
static double bytes_of_hinges(int n, const char *method) {
  static const sunrealtype angle = -0.8, none[3] = {0, 0, 0}, turn[3] = {0, 0, -0.8};
  RigidBody *body          = calloc((size_t)n, sizeof *body);
  Joint *joint             = calloc((size_t)n, sizeof *joint);
  CPQuaternion *quaternion = calloc((size_t)n, sizeof *quaternion);
  RigidBodies chain        = {.nbodies    = n,
                              .njoints    = n,
                              .body       = body,
                              .joint      = joint,
                              .g          = {0, -9.81, 0},
                              .quaternion = quaternion};
  Run r                    = {.y = vector_of(13 * n, NULL)};
  CPEquations model;
  for (int i = 0; i < n; i++) {
    const sunrealtype along = i + 0.5, place[3] = {along * cos(angle), along * sin(angle), 0};
    body[i]  = (RigidBody){1, {0.00125, 0.084, 0.084}};
    joint[i] = (Joint){.kind    = JOINT_REVOLUTE,
                       .a       = i ? i - 1 : GROUND,
                       .b       = i,
                       .point_a = {i ? 0.5 : 0},
                       .point_b = {-0.5},
                       .axis_a  = {0, 0, 1},
                       .axis_b  = {0, 0, 1}};
    rigid_body_place(&chain, i, place, turn, none, none, r.y);
  }
  ck_assert_int_eq(rigid_body_model(&chain, 1, test_context, &model), 0);
  watch();
  r.mech = create_mech(&model, r.y, test_context);
  r.mem  = CPIntegratorCreate(method, test_context);
  ck_assert_int_eq(CPMechSetUserData(r.mech, &chain), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(r.mech, r.mem, 0, r.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(r.mem, TOL, TOL), CP_SUCCESS);
  ck_assert_int_ge(steps(&r, 3), 0);
  const double bytes = (double)seen.bytes;
  CPIntegratorFree(&r.mem);
  CPMechFree(&r.mech);
  rigid_body_model_free(&model);
  N_VDestroy(r.y);
  free(body), free(joint), free(quaternion);
  return bytes;
}

/* Pivots of multipliers lie beside the diagonal, and the order of Newton's matrix must not let them fill it: with
 * twice the rods, factors had four times the entries. Loop index: method. */
START_TEST(factors_of_hinges_in_space_grow_with_their_number) {
  const char *method = _i ? "RADAU" : "BDF";
  ck_assert_double_le(bytes_of_hinges(400, method), 2.3 * bytes_of_hinges(200, method));
}
END_TEST

/* ---- factorisations by kind: LU of Newton's matrix ---- */

/* A tridiagonal matrix of order n whose best pivots are on its diagonal, or next to it */
static void fill(CPMat *A, int n, int beside) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      A->value[n * j + i] = i == j ? (beside ? 1e-9 : 4.0) : abs(i - j) == 1 ? 1.0 + 0.1 * i : 0.0;
}

static long factor(CPLu lu, const char *what) {
  const double complex one = 1.0;
  watch();
  ck_assert_int_eq(cpLuAssemble(lu, &one), CP_SUCCESS);
  ck_assert_int_eq(cpLuFactor(lu), 0);
  printf("LU, %-18s %4ld blocks, %6zu bytes, %4ld kept\n", what, seen.blocks, seen.bytes, seen.live);
  return seen.blocks;
}

/* KLU allocates when it chooses pivots, and from the second time on as much as it frees. */
START_TEST(factors_with_kept_pivots_allocate_nothing) {
  enum { ORDER = 60 };
  CPMat A;
  CPLu lu;
  ck_assert_int_eq(cpLuCreate(&lu, ORDER, 1, 0, NULL, ORDER), CP_SUCCESS);
  ck_assert_int_eq(cpMatCreateDense(&A, ORDER, ORDER), CP_SUCCESS);
  ck_assert_int_eq(cpLuTerm(lu, &A, 0, 0, 0), CP_SUCCESS);
  fill(&A, ORDER, 0);
  ck_assert_int_gt(factor(lu, "the first time"), 0);
  for (int k = 0; k < 3; k++) ck_assert_int_eq(factor(lu, "the same pivots"), 0);
  fill(&A, ORDER, 1);
  ck_assert_int_gt(factor(lu, "other pivots"), 0);
  ck_assert_int_eq(factor(lu, "the same pivots"), 0);
  cpLuFree(&lu);
  cpMatFree(&A);
}
END_TEST

TEST_SUITE(suitesparse) {
  Suite *suite = suite_create("what SuiteSparse allocates");
  TCase *tcase = tcase_create("allocations");
  tcase_add_checked_fixture(tcase, count_suitesparse, count_suitesparse_no_more);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, steps_allocate_nothing_once_all_is_factored, 0, RUNS);
  tcase_add_loop_test(tcase, factors_of_hinges_in_space_grow_with_their_number, 0, 2);
  tcase_add_test(tcase, factors_with_kept_pivots_allocate_nothing);
  suite_add_tcase(suite, tcase);
  return suite;
}
