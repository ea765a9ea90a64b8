/* The problem of an event (contact/solve.c) compared with the solvers of Siconos' numerics, which
 * run alternately on the same matrices.
 *
 *   contact [--sets N] [--solver NAME] [KIND|FILE...]     FILE: a problem as Siconos writes it (.dat)
 *
 * Kinds of sets, 1,000 of each (N), of 40 contacts with friction in space: random, with 150 degrees
 * of freedom; dependent, with 60, so that W is singular; boxes, ten on top of each other, each on
 * four corners. A solver's result is judged by the natural map
 *
 *   |x - P_K(x - rho (w + mu |w_T| n))| / (rho |c|),   w = W x + c,   P_K: projection onto the friction cones,
 *
 * evaluated here with 1 / rho the mean of W_ii. Siconos' solvers have the tolerance 1e-8 in it with
 * rho = 1; cpodes has its own, 1e-12. NSN_FB of Siconos 4.4 ends the program by an assertion on
 * boxes, and is omitted. */
#include "check.h"
#include "contact/contact_impl.h"
#include "contact_sets.h"
#include "timing.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#ifdef CPODES_BENCH_SICONOS
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>
#endif

enum { CONTACTS = SET_ROWS / 3 };

#define TOLERANCE 1e-8

/* W [n n], c [n], mu [n / 3]: rows (N, T1, T2) of each contact */
typedef struct {
  int n;
  double *W, *c, *mu, *x, *w;
  ContactProblem cpodes;
} Set;

static Set newSet(int ncontacts) {
  const size_t n = 3 * (size_t)ncontacts;
  Set set        = {.n = (int)n};
  double *room   = CHECK_POINTER(calloc(6 * n * n + 36 * n, sizeof *room));
  set.W = room, set.c = room + n * n, set.mu = set.c + n, set.x = set.mu + n, set.w = set.x + n;
  set.cpodes =
      (ContactProblem){.n         = (int)n,
                       .ncontacts = ncontacts,
                       .law  = CHECK_POINTER(calloc(2 * (size_t)ncontacts, sizeof(ContactLaw))),
                       .on   = CHECK_POINTER(calloc(5 * n + 1, sizeof(int))),
                       .W    = set.w + n,
                       .c    = set.w + n + n * n,
                       .x    = set.x,
                       .w    = set.w,
                       .room = set.w + 2 * n + n * n};
  return set;
}

static void freeSet(Set *set) {
  free(set->cpodes.law), free(set->cpodes.on);
  free(set->W);
}

static void fill(Set *set, const char *kind, unsigned *state) {
  const double mu = contactSetUniform(state, 0.1, 0.9);
  for (int k = 0; k < set->n / 3; k++) set->mu[k] = mu * contactSetUniform(state, 0.8, 1.2);
  if (!strcmp(kind, "boxes")) contactSetBoxes(state, set->W, set->c);
  else contactSetRandom(set->n, strcmp(kind, "random") ? 60 : 150, state, set->W, set->c);
}

/* ---- solvers ---- */

/* P_K(z) onto the cone |z_T| <= mu z_N */
static void projectOnCone(double mu, double *z) {
  const double T = hypot(z[1], z[2]), along = (mu * T + z[0]) / (1 + mu * mu);
  if (T <= mu * z[0]) return;
  z[0] = along > 0 ? along : 0;
  for (int i = 1; i < 3; i++) z[i] *= along > 0 ? mu * along / T : 0;
}

static double naturalMap(const Set *set, const double *x) {
  const int n = set->n;
  double sum = 0, size = 0, trace = 0;
  for (int i = 0; i < n; i++) trace += set->W[i * (1 + n)];
  const double rho = n / trace;
  for (int k = 0; k < n; k += 3) {
    double w[3], z[3];
    for (int i = 0; i < 3; i++) {
      w[i] = set->c[k + i];
      for (int j = 0; j < n; j++) w[i] += set->W[k + i + j * n] * x[j];
      size += set->c[k + i] * set->c[k + i];
    }
    w[0] += set->mu[k / 3] * hypot(w[1], w[2]);
    for (int i = 0; i < 3; i++) z[i] = x[k + i] - rho * w[i];
    projectOnCone(set->mu[k / 3], z);
    for (int i = 0; i < 3; i++) sum += (x[k + i] - z[i]) * (x[k + i] - z[i]);
  }
  return sqrt(sum / size) / rho;
}

static double solveByCpodes(Set *set) {
  const double start = seconds_now();
  memcpy(set->cpodes.W, set->W, (size_t)(set->n * set->n) * sizeof *set->W);
  memcpy(set->cpodes.c, set->c, (size_t)set->n * sizeof *set->c);
  for (int k = 0; k < set->n / 3; k++)
    set->cpodes.law[k] =
        (ContactLaw){.contact = k, .first = 3 * k, .ntangents = 2, .mu = set->mu[k]};
  const int failed     = contactSolve(&set->cpodes);
  const double seconds = seconds_now() - start;
  if (failed) set->x[0] = INFINITY;
  return seconds;
}

/* A solver: its number in Siconos, or 0 for cpodes; whether it gets W by blocks, or dense; and its
 * maximum number of iterations */
typedef struct {
  const char *name;
  int number, by_blocks, iterations;
} Solver;

#ifdef CPODES_BENCH_SICONOS
/* W in the storage for a solver. by_blocks: 1, the nonzero blocks; 0, dense */
static NumericsMatrix *storeMatrix(const Set *set, int by_blocks,
                                   SparseBlockCoordinateMatrix **list) {
  const int n = set->n, nc = n / 3;
  if (!by_blocks) {
    double *copy = CHECK_POINTER(malloc((size_t)(n * n) * sizeof *copy));
    memcpy(copy, set->W, (size_t)(n * n) * sizeof *copy);
    return NM_create_from_data(NM_DENSE, n, n, copy);
  }
  unsigned *row = CHECK_POINTER(malloc(2 * (size_t)(nc * nc) * sizeof *row)), count = 0;
  unsigned *column = row + nc * nc;
  double *block    = CHECK_POINTER(malloc((size_t)(n * n) * sizeof *block));
  for (int i = 0; i < nc; i++)
    for (int j = 0; j < nc; j++) {
      int any = i == j;
      for (int k = 0; k < 9; k++) {
        block[9 * count + k] = set->W[3 * i + k % 3 + (3 * j + k / 3) * n];
        any |= block[9 * count + k] != 0.0;
      }
      if (any) row[count] = (unsigned)i + 1, column[count++] = (unsigned)j + 1;
    }
  *list = SBCM_new_3x3((unsigned)nc, (unsigned)nc, count, row, column, block);
  free(row); /* the blocks are not copied */
  return NM_new_SBM(n, n, SBCM_to_SBM(*list));
}

static double solveBySiconos(Set *set, const Solver *solver) {
  const size_t n                    = (size_t)set->n;
  SparseBlockCoordinateMatrix *list = NULL;
  NumericsMatrix *W                 = storeMatrix(set, solver->by_blocks, &list);
  FrictionContactProblem *problem =
      frictionContactProblem_new_with_data(3, set->n / 3, W, set->c, set->mu);
  SolverOptions *options                   = solver_options_create(solver->number);
  options->dparam[SICONOS_DPARAM_TOL]      = TOLERANCE;
  options->iparam[SICONOS_IPARAM_MAX_ITER] = solver->iterations;
  memset(set->x, 0, n * sizeof *set->x);
  memset(set->w, 0, n * sizeof *set->w);
  const double start = seconds_now();
  fc3d_driver(problem, set->x, set->w, options);
  const double seconds = seconds_now() - start;
  solver_options_delete(options);
  free(options);
  if (list) {
    double *blocks = list->block[0];
    SBM_free_from_SBCM(W->matrix1);
    W->matrix1 = NULL;
    SBCM_free_3x3(list);
    free(list), free(blocks);
  }
  NM_free(W);
  free(problem);
  return seconds;
}
#endif

static const Solver solvers[] = {
    {"cpodes", 0, 0, 0},
#ifdef CPODES_BENCH_SICONOS
    {"NSGS", SICONOS_FRICTION_3D_NSGS, 0, 10000},
    {"NSGS, blocks", SICONOS_FRICTION_3D_NSGS, 1, 10000},
    {"NSN_AC", SICONOS_FRICTION_3D_NSN_AC, 0, 200},
    {"NSN_NM", SICONOS_FRICTION_3D_NSN_NM, 0, 200},
    {"VI_EG", SICONOS_FRICTION_3D_VI_EG, 0, 10000},
    {"ADMM", SICONOS_FRICTION_3D_ADMM, 0, 10000},
#endif
};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* ---- results ---- */

typedef struct {
  int count, failed, worst; /* worst: the set with the largest residual */
  double *seconds, *residual, largest;
} Results;

static void runAll(Set *set, int number, Results *results, const bool *wanted) {
  for (int s = 0; s < SOLVERS; s++) {
    Results *r = &results[s];
    if (!wanted[s]) continue;
    double seconds = 0;
    if (solvers[s].number == 0) seconds = solveByCpodes(set);
#ifdef CPODES_BENCH_SICONOS
    else seconds = solveBySiconos(set, &solvers[s]);
#endif
    const double residual = naturalMap(set, set->x);
    r->failed += !(residual <= (solvers[s].number == 0 ? 1e-12 : TOLERANCE));
    if (!(residual <= r->largest)) r->largest = residual, r->worst = number;
    r->seconds[r->count]    = seconds;
    r->residual[r->count++] = residual;
  }
}

static void print(const char *kind, Results *results) {
  for (int s = 0; s < SOLVERS; s++) {
    Results *r = &results[s];
    if (r->count == 0) continue;
    const double middle = median(r->seconds, r->count), longest = r->seconds[r->count - 1];
    printf("%-10s %-13s %6d %6d %10.3f %10.3f %9.1e %9.1e %6d\n", kind, solvers[s].name, r->count,
           r->failed, 1e3 * middle, 1e3 * longest, median(r->residual, r->count), r->largest,
           r->worst);
    r->count = r->failed = r->worst = 0, r->largest = 0;
  }
  fflush(stdout);
}

#ifdef CPODES_BENCH_SICONOS
/* A problem from a file of Siconos */
static Set readSet(const char *file) {
  FrictionContactProblem *problem = CHECK_POINTER(frictionContact_new_from_filename(file));
  if (problem->dimension != 3) CHECK(problem->dimension);
  Set set               = newSet(problem->numberOfContacts);
  const int n           = set.n;
  NumericsMatrix *dense = NM_create(NM_DENSE, n, n);
  NM_to_dense(problem->M, dense);
  memcpy(set.W, dense->matrix0, (size_t)(n * n) * sizeof *set.W);
  memcpy(set.c, problem->q, (size_t)n * sizeof *set.c);
  memcpy(set.mu, problem->mu, (size_t)(n / 3) * sizeof *set.mu);
  NM_free(dense);
  frictionContactProblem_free(problem);
  return set;
}
#endif

int main(int argc, char **argv) {
  static const char *const kinds[] = {"random", "dependent", "boxes"};
  int sets = 1000, first = 1;
  bool wanted[SOLVERS];
  Results results[SOLVERS] = {{0}};
  for (int s = 0; s < SOLVERS; s++) wanted[s] = true;
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    if (!strcmp(argv[first], "--sets")) sets = atoi(argv[first + 1]);
    else if (!strcmp(argv[first], "--solver"))
      for (int s = 0; s < SOLVERS; s++) wanted[s] = !strcmp(argv[first + 1], solvers[s].name);
    else CHECK(-1);
  }
  if (sets < 1) CHECK(sets - 1);
  for (int s = 0; s < SOLVERS; s++) {
    results[s].seconds  = CHECK_POINTER(calloc((size_t)sets, sizeof(double)));
    results[s].residual = CHECK_POINTER(calloc((size_t)sets, sizeof(double)));
  }
  printf("%-10s %-13s %6s %6s %10s %10s %9s %9s %6s\n", "sets", "solver", "number", "failed",
         "median ms", "max ms", "median", "max", "worst");
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    bool chosen = first >= argc;
    for (int i = first; i < argc; i++) chosen |= !strcmp(argv[i], kinds[k]);
    if (!chosen) continue;
    Set set        = newSet(CONTACTS);
    unsigned state = 1;
    for (int number = 0; number < sets; number++) {
      fill(&set, kinds[k], &state);
      runAll(&set, number, results, wanted);
    }
    print(kinds[k], results);
    freeSet(&set);
  }
#ifdef CPODES_BENCH_SICONOS
  for (int i = first; i < argc; i++) {
    if (!strchr(argv[i], '.')) continue;
    Set set           = readSet(argv[i]);
    const char *slash = strrchr(argv[i], '/');
    printf("%s, %d contacts\n", slash ? slash + 1 : argv[i], set.n / 3);
    for (int round = 0; round < 5 && round < sets; round++) runAll(&set, round, results, wanted);
    print("file", results);
    freeSet(&set);
  }
#endif
  for (int s = 0; s < SOLVERS; s++) free(results[s].seconds), free(results[s].residual);
  return EXIT_SUCCESS;
}
