/* An entry of f, b, M or A that is NaN or infinite never gives accelerations, wherever it is: in the triangle of M that
 * solvers leave out, in rows that are off or depend on others, in components of FULL motions. It is named, and the next
 * evaluation does not know of it. Source of the system: made up, linear. */
#include "support/mech_run.h"
#include "support/support.h"

#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { NU = 3, NP = 2 };
typedef enum { PLAIN, OFF, REPEATED, FULL, SQUARE, KINDS } Kind;
/* M and A: dense; sparse with all entries; sparse with the diagonal of M alone */
typedef enum { DENSE, SPARSE, DIAGONAL, STORAGES } Storage;

static const CPLinSol solvers[] = {CP_LINSOL_AUTO, CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_KKT};
enum { SOLVERS = sizeof solvers / sizeof solvers[0] };

static const sunrealtype matrix_M[NU * NU]             = {2, 0.5, 0, 0.5, 3, 0.1, 0, 0.1, 1},
                                       matrix_A[3][NU] = {{1, 2, 0.3}, {-1, 0.5, 2}, {0.2, 0, 1}};

/* user_data: the entry of this array of the function's that gets the value */
typedef struct {
  Kind kind;
  Storage storage;
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

/* By columns, which have all entries in both formats */
static sunrealtype *entries_of(SUNMatrix S) {
  return SUNMatGetID(S) == SUNMATRIX_SPARSE ? SM_DATA_S(S) : SM_DATA_D(S);
}

static int rows_of(Kind kind) { return kind == SQUARE ? NU : NP; }

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q;
  if (((Fault *)data)->storage == DIAGONAL)
    for (int j = 0; j < NU; j++) entries_of(M)[j] = matrix_M[j * NU + j];
  else memcpy(entries_of(M), matrix_M, sizeof matrix_M);
  return spoil(data, 'M', entries_of(M));
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q;
  const int rows = rows_of(((Fault *)data)->kind);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < NU; j++) entries_of(A)[j * rows + i] = entry_A(data, i, j);
  return spoil(data, 'A', entries_of(A));
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t;
  for (int i = 0; i < rows_of(((Fault *)data)->kind); i++)
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

/* A pattern with all entries of a column, or with the diagonal */
static SUNMatrix pattern_of(int rows, int diagonal) {
  const int length = diagonal ? 1 : rows;
  SUNMatrix S      = SUNSparseMatrix(rows, NU, NU * length, CSC_MAT, test_context);
  ck_assert_ptr_nonnull(S);
  for (int j = 0; j <= NU; j++) SM_INDEXPTRS_S(S)[j] = j * length;
  for (int e = 0; e < NU * length; e++) SM_INDEXVALS_S(S)[e] = diagonal ? e : e % rows;
  return S;
}

static CPMech system_of(Kind kind, Storage storage, CPLinSol solver, N_Vector y) {
  static sunrealtype zero;
  static const int on[NP] = {1, 0};
  CPEquations model       = {
            CP_SIZED(CPEquations),  .nu = NU,       .np = rows_of(kind), .M = mass,
            .A = constraint_matrix, .p = positions, .f = forces,         .b = acceleration};
  const CPMotion held = {2, CP_MOTION_FULL, constant, constant, constant, 0, &zero};
  if (kind == FULL) model.motions = &held, model.nmotions = 1;
  if (storage != DENSE) {
    model.M_tmpl = pattern_of(NU, storage == DIAGONAL);
    model.A_tmpl = pattern_of(rows_of(kind), 0);
  }
  CPMech mech = create_mech(&model, y, test_context);
  fault       = (Fault){.kind = kind, .storage = storage};
  if (model.M_tmpl) SUNMatDestroy(model.M_tmpl);
  if (model.A_tmpl) SUNMatDestroy(model.A_tmpl);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, &fault), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetLinearSolver(mech, solver), CP_SUCCESS);
  if (kind == OFF) ck_assert_int_eq(CPMechSetActive(mech, on), CP_SUCCESS);
  return mech;
}

START_TEST(what_is_not_finite_gives_no_accelerations) {
  const Kind kind       = (Kind)(_i / SOLVERS % KINDS);
  const Storage storage = (Storage)(_i / SOLVERS / KINDS);
  const CPLinSol solver = solvers[_i % SOLVERS];
  if (kind == REPEATED && solver == CP_LINSOL_SCHUR) return; /* which wants independent rows */
  N_Vector y                = VECTOR(0, 0, 0, 0, 0, 0);
  CPMech mech               = system_of(kind, storage, solver, y);
  const int np              = rows_of(kind);
  const char *f             = "fbMA";
  const int entries[]       = {NU, np, storage == DIAGONAL ? NU : NU * NU, np * NU};
  const sunrealtype wrong[] = {NAN, INFINITY, -INFINITY};
  const char *names[]       = {"f[", "b[", "of M", "of A"};
  sunrealtype sound[NU], a[NU], lambda[NU];
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, sound, lambda), CP_SUCCESS);
  for (int k = 0; k < 4; k++)
    for (int e = 0; e < 3 * entries[k]; e++) {
      fault = (Fault){kind, storage, f[k], e / 3, wrong[e % 3]};
      for (int again = 0; again < 2; again++) {
        const int flag = CPMechAccelerations(mech, 0, y, a, lambda);
        ck_assert_msg(flag == CP_MECH_NONFINITE && strstr(messages.text, names[k]),
                      "%s, entry %d: %d, %s", names[k], e / 3, flag, messages.text);
      }
      fault = (Fault){.kind = kind, .storage = storage};
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
  CPMech mech    = system_of(PLAIN, DENSE, CP_LINSOL_AUTO, start);
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

TEST_SUITE(nonfinite) {
  Suite *suite = suite_create("Mechanical systems: what is not finite");
  TCase *tc    = tcase_create("evaluations");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, what_is_not_finite_gives_no_accelerations, 0, STORAGES * KINDS * SOLVERS);
  tcase_add_test(tc, rates_that_are_not_finite_are_named);
  suite_add_tcase(suite, tc);
  return suite;
}
