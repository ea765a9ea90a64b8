/* The loops of the library for serial vectors give what SUNDIALS' own operations give. */
#include <cpodes/base/random.h>
#include <cpodes/base/vectors.h>

#include "support/support.h"

/* All remainders, below and above the lengths from which loops use wide registers. */
enum { LONGEST = 41 };

static void fill(N_Vector v, unsigned seed) {
  for (sunindextype i = 0; i < N_VGetLength(v); i++) NV_Ith_S(v, i) = cpUniformAwayFromZero(&seed);
}

/* Applies operation k to x, y and z of the same values in both pairs. Returns 0 if there is none. */
static int apply(int k, N_Vector x, N_Vector y, N_Vector z) {
  static const double factor[] = {1.0, -1.0, 0.3, -0.3, 2.5};
  enum { FACTORS = 5, SUMS = FACTORS * FACTORS };
  const double a = factor[k % FACTORS], b = factor[k / FACTORS % FACTORS];
  if (k < SUMS) N_VLinearSum(a, x, b, y, z);
  else if (k < 2 * SUMS) N_VLinearSum(a, x, b, y, y); /* in place */
  else if (k < 3 * SUMS) N_VLinearSum(a, x, b, y, x);
  else if (k < 3 * SUMS + FACTORS) N_VScale(a, x, z);
  else if (k < 3 * SUMS + 2 * FACTORS) N_VScale(a, x, x);
  else if (k == 3 * SUMS + 10) N_VConst(0.3, z);
  else if (k == 3 * SUMS + 11) N_VAddConst(x, 0.3, z);
  else if (k == 3 * SUMS + 12) N_VAbs(x, z);
  else if (k == 3 * SUMS + 13) N_VInv(x, z);
  else if (k == 3 * SUMS + 14) N_VConst(N_VWrmsNorm(x, y), z);
  else return 0;
  return 1;
}

START_TEST(own_loops_give_the_same_bits_as_those_of_sundials) {
  for (int n = 1; n <= LONGEST; n++) {
    N_Vector own[3], theirs[3];
    own[0] = vector_of(n, NULL);
    cpUseOwnLoops(own[0]);
    for (int i = 0; i < 3; i++) {
      if (i > 0) own[i] = N_VClone(own[0]); /* clones have them, too */
      theirs[i] = vector_of(n, NULL);
    }
    ck_assert(own[2]->ops->nvlinearsum != theirs[2]->ops->nvlinearsum);
    for (int k = 0, any = 1; any; k++) {
      for (int i = 0; i < 3; i++)
        fill(own[i], 100u * (unsigned)i), fill(theirs[i], 100u * (unsigned)i);
      any = apply(k, own[0], own[1], own[2]);
      apply(k, theirs[0], theirs[1], theirs[2]);
      for (int i = 0; i < 3; i++)
        ck_assert_msg(same_bits(own[i], theirs[i]), "operation %d, length %d", k, n);
    }
    for (int i = 0; i < 3; i++) N_VDestroy(own[i]), N_VDestroy(theirs[i]);
  }
}
END_TEST

/* A vector of another kind may have some operations of serial vectors, but other contents. */
static N_Vector_ID custom(N_Vector v) {
  (void)v;
  return SUNDIALS_NVEC_CUSTOM;
}

START_TEST(vectors_of_another_kind_keep_their_operations) {
  N_Vector v            = vector_of(3, NULL);
  v->ops->nvgetvectorid = custom;
  cpUseOwnLoops(v);
  ck_assert(v->ops->nvlinearsum == N_VLinearSum_Serial);
  ck_assert(v->ops->nvscale == N_VScale_Serial);
  N_VDestroy(v);
}
END_TEST

TEST_SUITE(vectors) {
  Suite *s = suite_create("vectors");
  TCase *t = tcase_create("vectors");
  tcase_add_checked_fixture(t, test_context_setup, test_context_teardown);
  tcase_add_test(t, own_loops_give_the_same_bits_as_those_of_sundials);
  tcase_add_test(t, vectors_of_another_kind_keep_their_operations);
  suite_add_tcase(s, t);
  return s;
}
