/* An entry of f, b, M or A that is NaN or infinite never gives accelerations, wherever it is: in the triangle of M that
 * solvers leave out, in rows that are off or depend on others, in components of FULL motions. It is named, and the next
 * evaluation does not know of it. Source of the system: made up, linear. */
#include "support/support.h"

#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NU = 3, NP = 2 };
typedef enum { PLAIN, OFF, REPEATED, FULL, SQUARE, KINDS } Kind;

static const CPKktLinSol solvers[] = {CP_KKT_AUTO, CP_KKT_SCHUR, CP_KKT_NULLSPACE, CP_KKT_SPARSE};
enum { SOLVERS = sizeof solvers / sizeof solvers[0] };

static const sunrealtype matrix_M[NU * NU]             = {2, 0.5, 0, 0.5, 3, 0.1, 0, 0.1, 1},
                                       matrix_A[3][NU] = {{1, 2, 0.3}, {-1, 0.5, 2}, {0.2, 0, 1}};

/* user_data: the entry of this array of the function's that gets the value */
typedef struct {
  Kind kind;
  char function;
  int entry;
  sunrealtype value;
} Fault;

static Fault fault;
static MessageLog messages;

static int spoil(const Fault *s, char function, sunrealtype *x) {
  if (s->function == function) x[s->entry] = s->value;
  return 0;
}

static sunrealtype entry_A(const Fault *s, int i, int j) {
  return s->kind == REPEATED && i == 1 ? 2 * matrix_A[0][j] : matrix_A[i][j];
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q;
  memcpy(SM_DATA_D(M), matrix_M, sizeof matrix_M);
  return spoil(data, 'M', SM_DATA_D(M));
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q;
  for (int i = 0; i < SM_ROWS_D(A); i++)
    for (int j = 0; j < NU; j++) SM_ELEMENT_D(A, i, j) = entry_A(data, i, j);
  return spoil(data, 'A', SM_DATA_D(A));
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t;
  for (int i = 0; i < (((Fault *)data)->kind == SQUARE ? NU : NP); i++)
    for (int j = 0; j < NU; j++) p[i] += entry_A(data, i, j) * q[j];
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z;
  for (int j = 0; j < NU; j++) f[j] = 1 + j;
  return spoil(data, 'f', f);
}

static int acceleration(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                        void *data) {
  (void)t, (void)q, (void)u;
  b[0] = 1, b[1] = 2; /* also where row 1 is twice row 0 */
  return spoil(data, 'b', b);
}

static int constant(sunrealtype t, sunrealtype *g, void *data) {
  (void)t;
  *g = *(sunrealtype *)data;
  return 0;
}

static CPMech system_of(Kind kind, CPKktLinSol solver, N_Vector y) {
  static sunrealtype zero, on[NP] = {1, 0};
  const CPMechModel model = {.nu = NU,
                             .np = kind == SQUARE ? NU : NP,
                             .M  = mass,
                             .A  = constraint_matrix,
                             .p  = positions,
                             .f  = forces,
                             .b  = acceleration};
  CPMech mech             = CPMechCreate(&model, y, test_context);
  fault                   = (Fault){.kind = kind};
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, &fault), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetErrHandlerFn(mech, message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetLinearSolver(mech, solver), CP_SUCCESS);
  if (kind == OFF) ck_assert_int_eq(CPMechSetActive(mech, on), CP_SUCCESS);
  if (kind == FULL)
    ck_assert_int_eq(CPMechPrescribe(mech, 2, CP_MOTION_FULL, constant, constant, constant, 0, &zero),
                     CP_SUCCESS);
  return mech;
}

START_TEST(what_is_not_finite_gives_no_accelerations) {
  const Kind kind          = (Kind)(_i / SOLVERS);
  const CPKktLinSol solver = solvers[_i % SOLVERS];
  if (kind == REPEATED && solver == CP_KKT_SCHUR) return; /* which wants independent rows */
  N_Vector y                = VECTOR(0, 0, 0, 0, 0, 0);
  CPMech mech               = system_of(kind, solver, y);
  const int np              = kind == SQUARE ? NU : NP;
  const char *f             = "fbMA";
  const int entries[]       = {NU, np, NU * NU, np * NU};
  const sunrealtype wrong[] = {NAN, INFINITY, -INFINITY};
  const char *names[]       = {"f[", "b[", "of M", "of A"};
  sunrealtype sound[NU], a[NU], lambda[NU];
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, sound, lambda), CP_SUCCESS);
  for (int k = 0; k < 4; k++)
    for (int e = 0; e < 3 * entries[k]; e++) {
      fault = (Fault){.kind = kind, .function = f[k], .entry = e / 3, .value = wrong[e % 3]};
      for (int again = 0; again < 2; again++) {
        const int flag = CPMechAccelerations(mech, 0, y, a, lambda);
        ck_assert_msg(flag == CP_MECH_NONFINITE && strstr(messages.text, names[k]),
                      "%s, entry %d: %d, %s", names[k], e / 3, flag, messages.text);
      }
      fault = (Fault){.kind = kind};
      ck_assert_int_eq(CPMechAccelerations(mech, 0, y, a, lambda), CP_SUCCESS);
      for (int j = 0; j < NU; j++) ck_assert_double_le(fabs(a[j] - sound[j]), 1e-13);
    }
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* Velocities that are not finite are rates of positions. */
START_TEST(rates_that_are_not_finite_are_named) {
  N_Vector y = VECTOR(0, 0, 0, 0, INFINITY, 0), ydot = vector_of(2 * NU, NULL);
  N_Vector start = VECTOR(0, 0, 0, 0, 0, 0);
  CPMech mech    = system_of(PLAIN, CP_KKT_AUTO, start);
  sunrealtype a[NU];
  ck_assert_int_eq(CPMechAccelerations(mech, 0, start, a, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechRhs(0, start, ydot, mech), CP_SUCCESS);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), -CP_MECH_NONFINITE);
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(ydot);
  N_VDestroy(start);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("Mechanical systems: what is not finite");
  TCase *tc    = tcase_create("evaluations");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, what_is_not_finite_gives_no_accelerations, 0, KINDS * SOLVERS);
  tcase_add_test(tc, rates_that_are_not_finite_are_named);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
