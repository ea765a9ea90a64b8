/* The problem of an event alone: random sets of contacts in the plane and in space, redundant ones,
 * and known answers. */
#include "bench/contact_sets.h"
#include "contact/contact_impl.h"
#include "fixture.h"
#include "support/mech_run.h"

#include <malloc.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { CONTACTS = 40, ROWS = SET_ROWS };

typedef struct {
  ContactProblem P;
  ContactLaw law[2 * CONTACTS];
  sunrealtype W[ROWS * ROWS], c[ROWS], x[ROWS], w[ROWS], room[4 * ROWS * ROWS + 31 * ROWS];
  int on[6 * ROWS + 1];
  sunrealtype kept[ROWS * ROWS];
} Set;

static Set *set_of(int ncontacts, int ntangents, sunrealtype mu) {
  Set *set = calloc(1, sizeof *set);
  ck_assert_ptr_nonnull(set);
  set->P = (ContactProblem){.n         = ncontacts * (1 + ntangents),
                            .ncontacts = ncontacts,
                            .law       = set->law,
                            .W         = set->W,
                            .c         = set->c,
                            .x         = set->x,
                            .w         = set->w,
                            .on        = set->on,
                            .room      = set->room};
  for (int k = 0; k < ncontacts; k++)
    set->law[k] =
        (ContactLaw){.contact = k, .first = k * (1 + ntangents), .ntangents = ntangents, .mu = mu};
  return set;
}

/* Checks signs, complementarity, cones and maximal dissipation, independently of the natural map:
 * the largest violation relative to the largest terms. */
static sunrealtype violation(const Set *set) {
  const int n         = set->P.n;
  sunrealtype largest = 0, x_size = 0, c_size = 0;
  for (int i = 0; i < n; i++)
    x_size = fmax(x_size, fabs(set->x[i])), c_size = fmax(c_size, fabs(set->c[i]));
  if (x_size == 0.0) x_size = 1;
  for (int k = 0; k < set->P.ncontacts; k++) {
    const ContactLaw *law = &set->law[k];
    sunrealtype w[3] = {0}, T = 0, v = 0, power = 0;
    const sunrealtype *x = set->x + law->first;
    for (int i = 0; i <= law->ntangents; i++) {
      w[i] = set->c[law->first + i];
      for (int j = 0; j < n; j++) w[i] += set->kept[law->first + i + j * n] * set->x[j];
    }
    for (int i = 1; i <= law->ntangents; i++)
      T = hypot(T, x[i]), v = hypot(v, w[i]), power += x[i] * w[i];
    largest = fmax(largest, -x[0] / x_size);
    largest = fmax(largest, -w[0] / c_size);
    largest = fmax(largest, fabs(fmin(x[0] / x_size, w[0] / c_size)));
    largest = fmax(largest, (T - law->mu * x[0]) / x_size);
    largest = fmax(largest, fabs(power + law->mu * x[0] * v) / (x_size * c_size));
  }
  return largest;
}

static void expect_solution(Set *set) {
  memcpy(set->kept, set->W, sizeof set->kept);
  ck_assert_int_eq(contactSolve(&set->P), 0);
  ck_assert_double_le(set->P.residual, 1e-12);
  ck_assert_double_le(violation(set), 1e-11);
}

/* Random sets of contacts: with more degrees of freedom than rows, and with fewer, so that contacts
 * are redundant. The solver's residual is 1e-12 in units of c; the violation also contains the
 * condition of W. */
static const struct {
  int contacts, tangents, freedom, trials;
} sets[] = {{1, 1, 3, 300},    {3, 1, 7, 300},   {3, 1, 3, 300},   {3, 2, 10, 300},
            {3, 2, 6, 300},    {10, 1, 22, 200}, {10, 1, 12, 200}, {10, 2, 32, 200},
            {10, 2, 12, 1000}, {40, 2, 120, 50}, {40, 2, 60, 50},  {CONTACTS, 2, 30, 20}};

START_TEST(every_random_set_is_solved) {
  unsigned state = 7;
  Set *set       = set_of(sets[_i].contacts, sets[_i].tangents, 0);
  for (int trial = 0; trial < sets[_i].trials; trial++) {
    for (int k = 0; k < sets[_i].contacts; k++) set->law[k].mu = 0.1 + 0.4 * (trial % 3);
    contactSetRandom(set->P.n, sets[_i].freedom, &state, set->W, set->c);
    expect_solution(set);
  }
  free(set);
}
END_TEST

/* Dependent rows that differ by TILT in one or two freedoms more, like feet of a symmetric body that lies on nearly parallel
 * planes: the least eigenvalues of W, about 1e-11, are no roundoff, and in their directions contacts slide slowly where dependent ones
 * would stick. c = A u, so that a solution exists. */
START_TEST(nearly_dependent_contacts_are_solved) {
  const struct { int contacts, freedom, tilts; } tilted[] = {{3, 7, 1}, {4, 8, 2}, {5, 11, 1}};
  const sunrealtype TILT                                  = 3e-6;
  unsigned state                                          = 7;
  Set *set                                                = set_of(tilted[_i].contacts, 2, 0.8);
  const int n                                             = set->P.n;
  for (int trial = 0; trial < 300; trial++) {
    contactSetRandom(n, tilted[_i].freedom, &state, set->W, set->c);
    for (int tilt = 0; tilt < tilted[_i].tilts; tilt++) {
      sunrealtype a[ROWS];
      const sunrealtype u = cpUniform(&state);
      for (int i = 0; i < n; i++) a[i] = TILT * cpUniform(&state), set->c[i] += a[i] * u;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) set->W[i + j * n] += a[i] * a[j];
    }
    expect_solution(set);
  }
  free(set);
}
END_TEST

/* Eight sets of up to three contacts in the plane, whose rows alternate, are islands: each is solved as if it were alone, by trying the
 * combinations of so few contacts, for which there are too many of all. */
START_TEST(islands_are_solved_as_if_alone) {
  enum { ISLANDS = 8, EACH = 3, N = 2 * EACH };
  unsigned state = 3;
  Set *all = set_of(ISLANDS * EACH, 1, 0.4), *one = set_of(EACH, 1, 0.4);
  for (int trial = 0; trial < 20; trial++) {
    sunrealtype x[ISLANDS][N];
    const int n = all->P.n;
    memset(all->W, 0, sizeof all->W);
    for (int l = 0; l < ISLANDS; l++) {
      contactSetRandom(N, 7, &state, one->W, one->c);
      for (int j = 0; j < N; j++) {
        const int column = 2 * (ISLANDS * (j / 2) + l) + j % 2;
        all->c[column]   = one->c[j];
        for (int i = 0; i < N; i++)
          all->W[2 * (ISLANDS * (i / 2) + l) + i % 2 + column * n] = one->W[i + j * N];
      }
      expect_solution(one);
      memcpy(x[l], one->x, sizeof x[l]);
    }
    expect_solution(all);
    ck_assert_int_eq(all->P.newton, 0);
    for (int l = 0; l < ISLANDS; l++)
      for (int j = 0; j < N; j++)
        ck_assert_double_eq_tol(all->x[2 * (ISLANDS * (j / 2) + l) + j % 2], x[l][j], 1e-11);
  }
  free(all), free(one);
}
END_TEST

/* Sets for which Gauss-Seidel and Newton's method fail by themselves: half of the rows depend on
 * the others, and forces are ten times as large below as above. */
START_TEST(stack_of_boxes_is_solved) {
  unsigned state = 1;
  Set *set       = set_of(CONTACTS, 2, 0);
  for (int trial = 0; trial < 10; trial++) {
    for (int k = 0; k < CONTACTS; k++) set->law[k].mu = 0.1 + 0.2 * (trial % 5);
    contactSetBoxes(&state, set->W, set->c);
    expect_solution(set);
  }
  free(set);
}
END_TEST

/* A block on two corners, on an incline within the friction cone: W of a rigid body, whose
 * tangential rows are equal. The normal forces and the sum of the tangential ones are those of
 * statics. */
START_TEST(redundant_tangents_share_the_load) {
  const sunrealtype rows[4][3] = {
      {0, 1, -1}, {1, 0, 1}, {0, 1, 1}, {1, 0, 1}}; /* (x, y, phi), m = J = 1 */
  const sunrealtype force[3] = {0.3, -1, 0};
  Set *set                   = set_of(2, 1, 0.8);
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 3; k++) {
      set->c[i] += rows[i][k] * force[k];
      for (int j = 0; j < 4; j++) set->W[i + 4 * j] += rows[i][k] * rows[j][k];
    }
  ck_assert_int_eq(contactSolve(&set->P), 0);
  ck_assert_double_eq_tol(set->x[0] + set->x[2], 1, 1e-12);
  ck_assert_double_eq_tol(set->x[1] + set->x[3], -0.3, 1e-12);
  ck_assert_double_eq_tol(set->x[2] - set->x[0], 0.3, 1e-12); /* moments about the centre */
  for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(set->w[i], 0, 1e-12);
  free(set);
}
END_TEST

/* ---- products only ---- */

/* Spheres of radius 1 and random masses. Contact k is between the bodies a < b, or of b and the floor (a = -1), along a normal. */
typedef struct {
  int nbodies, ncontacts;
  struct {
    int a, b;
    sunrealtype axis[3][3]; /* N from a to b, T1, T2 */
  } contact[2 * CONTACTS * 5];
  sunrealtype m[CONTACTS * 5 + 1], u[6 * (CONTACTS * 5 + 1)];
} Heap;

static void touch(Heap *heap, int a, int b, const sunrealtype *direction, unsigned *state) {
  sunrealtype *N = heap->contact[heap->ncontacts].axis[0], *T = N + 3, *B = N + 6;
  sunrealtype length = 0, along = 0;
  heap->contact[heap->ncontacts].a = a, heap->contact[heap->ncontacts++].b = b;
  for (int i = 0; i < 3; i++) {
    N[i] = direction[i] + 0.2 * cpUniform(state), T[i] = cpUniform(state);
    length += N[i] * N[i];
  }
  for (int i = 0; i < 3; i++) N[i] /= sqrt(length), along += N[i] * T[i];
  length = 0;
  for (int i = 0; i < 3; i++) T[i] -= along * N[i], length += T[i] * T[i];
  for (int i = 0; i < 3; i++) T[i] /= sqrt(length);
  for (int i = 0; i < 3; i++)
    B[i] = N[(i + 1) % 3] * T[(i + 2) % 3] - N[(i + 2) % 3] * T[(i + 1) % 3];
}

/* y [n] = A u, or u += A^T x: the force F along an axis acts on body b at the point -N, and on body
 * a at N. */
static void heap_rows(const Heap *heap, int transposed, const sunrealtype *in, sunrealtype *out) {
  for (int k = 0; k < heap->ncontacts; k++)
    for (int row = 0; row < 3; row++) {
      const sunrealtype *N = heap->contact[k].axis[0], *d = heap->contact[k].axis[row];
      sunrealtype sum = 0;
      for (int side = 0; side < 2; side++) {
        const int body = side ? heap->contact[k].b : heap->contact[k].a;
        for (int i = 0; i < 3 && body >= 0; i++) {
          const int j = (i + 1) % 3, l = (i + 2) % 3;
          const sunrealtype turn = -(N[j] * d[l] - N[l] * d[j]), sign = side ? 1 : -1;
          if (transposed) {
            out[6 * body + i] += sign * d[i] * in[3 * k + row];
            out[6 * body + 3 + i] += turn * in[3 * k + row];
          } else sum += sign * d[i] * in[6 * body + i] + turn * in[6 * body + 3 + i];
        }
      }
      if (!transposed) out[3 * k + row] = sum;
    }
}

static int heap_times(void *data, const sunrealtype *x, sunrealtype *y) {
  const Heap *heap                      = data;
  sunrealtype u[6 * (CONTACTS * 5 + 1)] = {0};
  heap_rows(heap, 1, x, u);
  for (int b = 0; b < heap->nbodies; b++)
    for (int i = 0; i < 6; i++) u[6 * b + i] /= (i < 3 ? 1.0 : 0.4) * heap->m[b];
  heap_rows(heap, 0, u, y);
  return 0;
}

/* 201 spheres in a row that are pushed together, or 105 of them piled up in rows of 15, the lowest
 * of which touches the floor */
static void pile_up(Heap *heap, int rows, unsigned *state) {
  const sunrealtype along[3] = {1, 0, 0}, up[3] = {0, 0, 1};
  const int width = rows > 1 ? 15 : 201;
  for (int b = 0; b < rows * width; b++) {
    heap->m[b] = 1 + 0.5 * cpUniform(state);
    if (b % width > 0) touch(heap, b - 1, b, along, state);
    if (rows > 1) touch(heap, b < width ? -1 : b - width, b, up, state);
    for (int i = 0; i < 6; i++) heap->u[6 * b + i] = 0.3 * cpUniform(state);
    heap->u[6 * b] -= 0.01 * (b % width);
    heap->u[6 * b + 2] -= rows > 1;
  }
  heap->nbodies = rows * width;
}

/* ---- the same bodies as a mechanical system with sparse matrices: q are displacements, gaps are linear in them ---- */

static long int masses; /* evaluations of M */

static int heap_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  const Heap *heap = user_data;
  (void)t, (void)q;
  masses++;
  for (int i = 0; i < 6 * heap->nbodies; i++)
    SM_DATA_S(M)[i] = (i % 6 < 3 ? 1.0 : 0.4) * heap->m[i / 6];
  return 0;
}

/* The row of the system for row 0 ... 2 of contact k; those of p come first. */
static int heap_row(const Heap *heap, int k, int row) {
  return row == 0 ? k : heap->ncontacts + 2 * k + row - 1;
}

static int heap_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const Heap *heap = user_data;
  sunindextype nnz = 0;
  (void)t, (void)q;
  for (int i = 0; i < 3 * heap->ncontacts; i++) {
    const int k          = i < heap->ncontacts ? i : (i - heap->ncontacts) / 2,
              row        = i < heap->ncontacts ? 0 : 1 + (i - heap->ncontacts) % 2;
    const sunrealtype *N = heap->contact[k].axis[0], *d = heap->contact[k].axis[row];
    SM_INDEXPTRS_S(A)[i] = nnz;
    for (int side = 0; side < 2; side++) {
      const int body = side ? heap->contact[k].b : heap->contact[k].a;
      for (int j = 0; j < 6 && body >= 0; j++) {
        const int l = (j + 1) % 3, m = (j + 2) % 3;
        SM_INDEXVALS_S(A)[nnz] = 6 * body + j;
        SM_DATA_S(A)[nnz++]    = j < 3 ? (side ? 1 : -1) * d[j] : -(N[l] * d[m] - N[m] * d[l]);
      }
    }
  }
  SM_INDEXPTRS_S(A)[3 * heap->ncontacts] = nnz;
  return 0;
}

static int heap_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const Heap *heap = user_data;
  sunrealtype *all = calloc(3 * (size_t)heap->ncontacts, sizeof *all);
  (void)t;
  if (!all) return -1;
  heap_rows(heap, 0, q, all);
  for (int k = 0; k < heap->ncontacts; k++) p[k] = all[3 * k];
  free(all);
  return 0;
}

static int heap_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                  void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

/* 0 with the address sanitizer, which has its own allocations */
static size_t heap_in_use(void) { return mallinfo2().uordblks + mallinfo2().hblkhd; }

/* The impact at the start of a run leads to the velocities u. With 200 contacts it allocates no n x
 * n numbers; with fewer contacts it does, and takes few evaluations. */
static void check_run(Heap *heap, const sunrealtype *u, sunrealtype tol) {
  const int nu = 6 * heap->nbodies, nc = heap->ncontacts;
  CPContactPoint *points = calloc((size_t)nc, sizeof *points);
  SUNMatrix M            = SUNSparseMatrix(nu, nu, nu, CSR_MAT, test_context);
  SUNMatrix A            = SUNSparseMatrix(3 * nc, nu, 36 * nc, CSR_MAT, test_context);
  N_Vector y             = N_VNew_Serial(2 * nu, test_context);
  ck_assert(points && M && A && y);
  for (int i = 0; i <= nu; i++) SM_INDEXPTRS_S(M)[i] = i;
  for (int i = 0; i < nu; i++) SM_INDEXVALS_S(M)[i] = i;
  heap_matrix(0, NULL, A, heap);
  for (int k = 0; k < nc; k++)
    points[k] = (CPContactPoint){CP_SIZED(CPContactPoint),        .name = "contact", .normal = k,
                                 .tangent = heap_row(heap, k, 1), .ntangents = 2,    .law.mu = 0.3};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = nu,    .np = nc,       .nv = 3 * nc,
                             .M_tmpl = M,           .A_tmpl = A, .M = heap_mass, .A = heap_matrix,
                             .p = heap_gaps,        .b = heap_b};
  N_VConst(0, y);
  memcpy(N_VGetArrayPointer(y) + nu, heap->u, (size_t)nu * sizeof *heap->u);
  const size_t before = heap_in_use();
  CPMech mech         = create_mech(&model, y, test_context);
  CPContact contact   = CPContactCreate(mech, nc, points);
  ck_assert_ptr_nonnull(contact);
  /* W, S and the workspace would be six times this. */
  if (nc >= 200)
    ck_assert_uint_le(heap_in_use() - before, 9 * (size_t)(nc * nc) * sizeof(sunrealtype));
  ck_assert_int_eq(CPMechSetUserData(mech, heap), CP_SUCCESS);
  CPSession session = session_of(contact, DOP853, 1e-10, 1e-10);
  masses            = 0;
  ck_assert_int_eq(CPSessionStart(session, 0, y, 1), CP_SUCCESS);
  if (nc < 200) ck_assert_int_le(masses, 30);
  for (int j = 0; j < nu; j++) ck_assert_double_eq_tol(N_VGetArrayPointer(y)[nu + j], u[j], tol);
  CPSessionFree(&session);
  CPContactFree(&contact);
  CPMechFree(&mech);
  N_VDestroy(y);
  SUNMatDestroy(M), SUNMatDestroy(A), free(points);
}

/* 87 contacts, 200 and more: the solution by products is that with the matrix, and with the entries of the matrix that are not 0. */
START_TEST(products_lead_to_the_same_solution) {
  unsigned state = 5;
  Heap *heap     = calloc(1, sizeof *heap);
  ck_assert_ptr_nonnull(heap);
  pile_up(heap, (const int[]){1, 7, 3}[_i], &state);
  const size_t nc = (size_t)heap->ncontacts, n = 3 * nc;
  ck_assert_uint_ge(nc, _i == 2 ? 87 : 200);
  ContactLaw *law    = calloc(2 * nc, sizeof *law);
  int *on            = calloc(2 * nc + 4 * n + 1 + n * n, sizeof *on);
  sunrealtype *W     = calloc(5 * n * n + 31 * n, sizeof *W),
              *small = calloc(8 * n + 9 * nc + (CONTACT_BASIS + 14) * n, sizeof *small);
  ck_assert(law && on && W && small);
  sunrealtype *x = small + n, *block = small + 8 * n;
  ContactProblem dense = {.n         = (int)n,
                          .ncontacts = (int)nc,
                          .law       = law,
                          .on        = on,
                          .W         = W,
                          .c         = small,
                          .x         = x,
                          .w         = x + n,
                          .room      = W + n * n};
  for (size_t k = 0; k < nc; k++)
    law[k] = (ContactLaw){.contact = (int)k, .first = 3 * (int)k, .ntangents = 2, .mu = 0.3};
  heap_rows(heap, 0, heap->u, dense.c);
  for (size_t j = 0; j < n; j++) {
    dense.x[j] = 1;
    heap_times(heap, dense.x, W + j * n);
    for (size_t i = 0; i < 3; i++) block[3 * j + i] = W[j * n + j / 3 * 3 + i];
    dense.x[j] = 0;
  }
  ContactProblem sparse = dense;
  sparse.W = NULL, sparse.times = heap_times, sparse.data = heap, sparse.block = block;
  sparse.x = x + 2 * n, sparse.w = x + 3 * n, sparse.room = block + 9 * nc;
  ck_assert_int_eq(contactSolve(&sparse), 0);
  ck_assert_double_le(sparse.residual, 1e-12);
  ck_assert_int_eq(contactSolve(&dense), 0);
  ContactProblem stored = dense;
  stored.x = x + 4 * n, stored.w = x + 5 * n, stored.direct = 100;
  ck_assert_int_eq(contactSolve(&stored), 0);
  sunrealtype size = 0;
  for (size_t i = 0; i < n; i++) size = fmax(size, fabs(dense.x[i]));
  for (size_t i = 0; i < n; i++) {
    ck_assert_double_eq_tol(sparse.w[i], dense.w[i], 1e-10);
    ck_assert_double_eq_tol(sparse.x[i], dense.x[i], 1e-10 * size);
    ck_assert_double_eq_tol(stored.w[i], dense.w[i], 1e-10);
    ck_assert_double_eq_tol(stored.x[i], dense.x[i], 1e-10 * size);
  }
  sunrealtype u[6 * (CONTACTS * 5 + 1)] = {0};
  heap_rows(heap, 1, dense.x, u);
  for (int j = 0; j < 6 * heap->nbodies; j++)
    u[j] = heap->u[j] + u[j] / ((j % 6 < 3 ? 1.0 : 0.4) * heap->m[j / 6]);
  check_run(heap, u, 1e-9);
  free(heap), free(law), free(on), free(W), free(small);
}
END_TEST

/* Minimum norm: four legs of a table share its weight equally, though three could carry it. */
START_TEST(four_legs_share_the_weight) {
  const sunrealtype rows[4][3] = {{1, 1, 1}, {1, 1, -1}, {1, -1, 1}, {1, -1, -1}};
  Set *set                     = set_of(4, 0, 0);
  for (int i = 0; i < 4; i++) {
    set->c[i] = -1;
    for (int j = 0; j < 4; j++)
      for (int k = 0; k < 3; k++) set->W[i + 4 * j] += rows[i][k] * rows[j][k];
  }
  ck_assert_int_eq(contactSolve(&set->P), 0);
  for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(set->x[i], 0.25, 1e-12);
  free(set);
}
END_TEST

/* Painleve's rod has no solution: no wrong one may be returned. */
START_TEST(what_has_no_solution_is_not_solved) {
  Set *set           = set_of(1, 1, 2);
  set->law[0].slides = 1, set->law[0].s[0] = 1;
  set->W[0] = 1, set->W[1] = set->W[2] = 0.6, set->W[3] = 1;
  set->c[0] = -1;
  ck_assert_int_eq(contactSolve(&set->P), 1);
  free(set);
}
END_TEST

TEST_SUITE(solve) {
  Suite *suite = suite_create("contact/solve");
  TCase *tc    = tcase_create("solve");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, every_random_set_is_solved, 0, (int)(sizeof sets / sizeof *sets));
  tcase_add_loop_test(tc, nearly_dependent_contacts_are_solved, 0, 3);
  tcase_add_test(tc, islands_are_solved_as_if_alone);
  tcase_add_test(tc, stack_of_boxes_is_solved);
  tcase_add_loop_test(tc, products_lead_to_the_same_solution, 0, 3);
  tcase_add_test(tc, redundant_tangents_share_the_load);
  tcase_add_test(tc, four_legs_share_the_weight);
  tcase_add_test(tc, what_has_no_solution_is_not_solved);
  suite_add_tcase(suite, tc);
  return suite;
}
