/* Radau IIA where stiff directions turn with the motion: a particle at the end of a stiff spring and damper, which is fixed to
 * the origin, moves uniformly in the plane z = 0 at the radius where the spring carries it:
 *
 *   q'' = -(K (|q| - 1) + C (q.u) / |q|) q / |q| + lambda e_z,   0 = z,   K = 20 C
 *   q = r (cos w t, sin w t, 0),   r = K / (K - w^2) */
#include "support/alloc.h"
#include "support/mech_run.h"
#include "support/support.h"

#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <models/counters.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { NU = 3 };
#define RATE  6.0
#define T_END 5.0

static sunrealtype damper;
static int walls; /* rows |q|^2 = 5, which are off */

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < NU; i++) SM_ELEMENT_D(M, i, i) = 1.0;
  return 0;
}

static int matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  SM_ELEMENT_D(A, 0, 2) = 1.0;
  for (int j = 0; j < NU && walls; j++) SM_ELEMENT_D(A, 1, j) = 2.0 * q[j];
  return 0;
}

static int plane(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[2];
  if (walls) p[1] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] - 5.0;
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  const sunrealtype r    = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  const sunrealtype rate = (q[0] * u[0] + q[1] * u[1] + q[2] * u[2]) / r;
  (void)t, (void)z, (void)data;
  for (int i = 0; i < NU; i++) f[i] = -(20.0 * damper * (r - 1.0) + damper * rate) * q[i] / r;
  return 0;
}

typedef struct {
  CPMech mech;
  CPIntegrator mem;
  N_Vector y;
  sunrealtype radius;
} Particle;

static int run(Particle *s, const char *method, sunrealtype tol) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = NU,    .np = 1 + walls, .M = mass,
                             .A = matrix,           .f = forces, .p = plane};
  const int active[]      = {1, 0};
  sunrealtype t;
  s->radius        = 20.0 * damper / (20.0 * damper - RATE * RATE);
  const double y[] = {s->radius, 0.0, 0.0, 0.0, s->radius * RATE, 0.0};
  for (int i = 0; i < 2 * NU; i++) entries(s->y)[i] = y[i];
  s->mech  = create_mech(&model, s->y, test_context);
  s->mem   = CPIntegratorCreate(method, test_context);
  int flag = s->mech && s->mem ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag && walls) flag = CPMechSetActive(s->mech, active);
  if (!flag) flag = CPMechAttach(s->mech, s->mem, 0.0, s->y);
  if (!flag) flag = CPIntegratorSStolerances(s->mem, tol, tol);
  if (!flag) flag = CPIntegratorSetStopTime(s->mem, T_END);
  if (flag) return flag;
  flag = CPIntegratorEvolve(s->mem, T_END, s->y, &t, CV_NORMAL);
  return flag == CV_TSTOP_RETURN ? CP_SUCCESS : flag;
}

static void finish(Particle *s) {
  CPIntegratorFree(&s->mem);
  CPMechFree(&s->mech);
}

/* Without partial derivatives at each stage, Newton's iteration contracts by about h w sqrt(h C),
 * and a C a thousand times as large takes ten times the steps. The tangential motion is not stiff,
 * so that its errors add up: each step has an error of at most tol (1 + |y|). */
START_TEST(steps_do_not_depend_on_a_damper_that_turns) {
  const sunrealtype tol           = 1.0e-7;
  static const char *const name[] = {"RADAU5", "RADAU9", "RADAU"};
  Particle s                      = {.y = vector_of(2 * NU, NULL)};
  long int steps[2];
  for (int k = 0; k < 2; k++) {
    IntegratorCounters stats;
    damper         = k ? 1.0e6 : 1.0e3;
    const int flag = run(&s, name[_i], tol);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(s.mem)));
    ck_assert_int_eq(integrator_counters(s.mem, &stats), CP_SUCCESS);
    steps[k]            = stats.nst;
    const double x[]    = {s.radius * cos(RATE * T_END), s.radius * sin(RATE * T_END)};
    const double within = (double)stats.nst * tol * (1.0 + RATE) * T_END;
    for (int i = 0; i < 2; i++)
      ck_assert_msg(fabs(entries(s.y)[i] - x[i]) <= within, "%s: off by %g after %ld steps",
                    name[_i], entries(s.y)[i] - x[i], stats.nst);
    finish(&s);
  }
  ck_assert_msg(steps[1] < 2 * steps[0], "%s: %ld steps, and %ld with a damper of 1e6", name[_i],
                steps[0], steps[1]);
  N_VDestroy(s.y);
}
END_TEST

/* Its multiplier is zero in every iteration, and in the partial derivatives. */
START_TEST(a_row_that_is_off_changes_nothing) {
  Particle s[2];
  IntegratorCounters stats[2];
  damper = 1.0e6;
  for (int k = 0; k < 2; k++) {
    walls          = k;
    s[k]           = (Particle){.y = vector_of(2 * NU, NULL)};
    const int flag = run(&s[k], "RADAU", 1.0e-7);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(s[k].mem)));
    ck_assert_int_eq(integrator_counters(s[k].mem, &stats[k]), CP_SUCCESS);
    finish(&s[k]);
  }
  walls = 0;
  ck_assert_int_eq(stats[1].nst, stats[0].nst);
  ck_assert_int_eq(stats[1].nni, stats[0].nni);
  for (int i = 0; i < 2 * NU; i++)
    ck_assert_double_eq_tol(entries(s[1].y)[i], entries(s[0].y)[i], 1.0e-8);
  N_VDestroy(s[0].y), N_VDestroy(s[1].y);
}
END_TEST

START_TEST(every_allocation_may_fail) {
  Particle s = {.y = vector_of(2 * NU, NULL)};
  damper     = 1.0e3;
  int n, failed;
  for (n = 1, failed = 1; failed && n < 5000; n++) {
    alloc_watch_failing(n);
    const int flag = run(&s, "RADAU5", 1.0e-4);
    finish(&s);
    alloc_unwatch();
    failed = alloc_has_failed();
    ck_assert_msg(flag == (failed ? CP_MEM_FAIL : CP_SUCCESS), "allocation %d: %d", n, flag);
    ck_assert_msg(alloc_live() == 0, "%ld lost with the allocation %d", alloc_live(), n);
  }
  ck_assert_int_gt(n, 100);
  ck_assert_int_lt(n, 5000);
  N_VDestroy(s.y);
}
END_TEST

TEST_SUITE(turning) {
  Suite *suite = suite_create("directions that turn");
  TCase *tc    = tcase_create("all");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, steps_do_not_depend_on_a_damper_that_turns, 0, 3);
  tcase_add_test(tc, a_row_that_is_off_changes_nothing);
  tcase_add_test(tc, every_allocation_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
