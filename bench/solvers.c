/* The choice of a linear solver: the time of a projection by each of them on problems of many sizes
 * and patterns, relative to the fastest, and the choice of CP_LINSOL_AUTO. These are the source of
 * the thresholds in cpodes/projector/choose.c and of the guide's table "Which solver".
 *
 *   fresh   one projection, one correction, with new G and factors
 *   step    one projection with factors kept for 10 projections, the default: the cost in a step of an
 *           integration
 *
 * Every solver gets the pattern of G; "dense G" is SCHUR with a dense matrix instead. KRYLOV gets
 * products, and the diagonal (Jacobi) or, for chains, the tridiagonal preconditioner.
 *
 *   chain N     N links, 2 levels of N constraints each (examples/models/chain.h)
 *   four-bar N  N windows, 2 levels of 6 N + 2 (examples/models/four_bar.h)
 *   norms N     N unit quaternions by CPProjectorAddUnitNorm
 *   parts K x m K components of m constraints on 2 m components each
 *   triple m    m constraints on 2 m components, 10 in each row, every row three times with different
 *               scales
 *   part p      200 constraints on 400 components, a fraction p of G's entries at pseudo-random places;
 *               full m: all entries */
#include "check.h"
#include "options.h"
#include "rows.h"
#include "run.h"
#include "states.h"
#include "timing.h"
#include <cpodes/cpodes_matrixfree.h>
#include <math.h>
#include <models/chain.h>
#include <models/four_bar.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

static const sunrealtype tolerance = 1.0e-6;
/* Operations of a dense factorisation above which a dense solver is excluded */
static const double most_work = 5.0e9;
/* Entries of a dense G above which it is excluded */
static const double most_entries = 5.0e6;

/* ---------------------------------------------------------------------------------- problems -- */

typedef enum { CHAIN, FOUR_BAR, NORMS, PARTS, TRIPLE, SCATTERED, FULL } Kind;

static const struct {
  const char *name;
  Kind kind;
  /* PARTS: the number of components, and the constraints of each; SCATTERED: entries in each row */
  sunindextype size, part;
} problems[] = {{"chain 1", CHAIN, 1, 0},
                {"chain 3", CHAIN, 3, 0},
                {"chain 10", CHAIN, 10, 0},
                {"chain 15", CHAIN, 15, 0},
                {"chain 20", CHAIN, 20, 0},
                {"chain 30", CHAIN, 30, 0},
                {"chain 100", CHAIN, 100, 0},
                {"chain 300", CHAIN, 300, 0},
                {"chain 1000", CHAIN, 1000, 0},
                {"four-bar 1", FOUR_BAR, 1, 0},
                {"four-bar 2", FOUR_BAR, 2, 0},
                {"four-bar 5", FOUR_BAR, 5, 0},
                {"four-bar 40", FOUR_BAR, 40, 0},
                {"norms 10", NORMS, 10, 0},
                {"norms 1000", NORMS, 1000, 0},
                {"parts 100 x 1", PARTS, 100, 1},
                {"parts 2 x 5", PARTS, 2, 5},
                {"parts 10 x 5", PARTS, 10, 5},
                {"parts 100 x 5", PARTS, 100, 5},
                {"parts 10 x 10", PARTS, 10, 10},
                {"parts 10 x 20", PARTS, 10, 20},
                {"parts 10 x 50", PARTS, 10, 50},
                {"parts 3 x 100", PARTS, 3, 100},
                {"triple 5", TRIPLE, 5, 0},
                {"triple 20", TRIPLE, 20, 0},
                {"triple 100", TRIPLE, 100, 0},
                {"part 0.01", SCATTERED, 200, 4},
                {"part 0.02", SCATTERED, 200, 8},
                {"part 0.05", SCATTERED, 200, 20},
                {"part 0.1", SCATTERED, 200, 40},
                {"part 0.25", SCATTERED, 200, 100},
                {"part 0.5", SCATTERED, 200, 200},
                {"full 3", FULL, 3, 0},
                {"full 10", FULL, 10, 0},
                {"full 30", FULL, 30, 0},
                {"full 100", FULL, 100, 0},
                {"full 300", FULL, 300, 0}};
enum { NPROBLEMS = sizeof problems / sizeof problems[0] };

typedef struct {
  const char *name;
  SUNContext ctx;
  sunindextype m, n; /* unit norms do not count as rows of c */
  int norms;         /* how many */
  int dependent;     /* are some constraints dependent? */
  double work;       /* operations of a dense factorisation */
  CPConstraintFn c;
  CPConstraintJacFn jac, dense_jac;
  SUNMatrix G, dense_G; /* dense_G: NULL if it is too large */
  CPProductFn Gv;       /* NULL unless it is for PRODUCTS */
  CPProductFn GTw;
  CPProductFn schur_diag;
  CPPrecSetupFn psetup;
  CPProductFn psolve;
  void *data;
  N_Vector residual, start, ewt, y;
  Chain *chain;
  FourBar *four_bar;
  Rows *rows;
} Problem;

static void allocate(Problem *s, sunindextype m, sunindextype n) {
  s->m        = m;
  s->n        = n;
  s->residual = m > 0 ? CHECK_POINTER(N_VNew_Serial(m, s->ctx)) : NULL;
  s->start    = CHECK_POINTER(N_VNew_Serial(n, s->ctx));
  s->ewt      = CHECK_POINTER(N_VClone(s->start));
  s->y        = CHECK_POINTER(N_VClone(s->start));
  s->dense_G  = m > 0 && (double)m * (double)n <= most_entries
                    ? CHECK_POINTER(SUNDenseMatrix(m, n, s->ctx))
                    : NULL;
}

/* `levels` equal dense QR factorisations of n x m */
static double qr_work(double levels, double m, double n) { return levels * 2.0 * m * m * n; }

static void create_chain(Problem *s, sunindextype links) {
  const double l = (double)links;
  s->chain       = CHECK_POINTER(chain_create(links, 9.81));
  s->data        = s->chain;
  s->c           = chain_constraints;
  s->jac         = chain_sparse_jacobian;
  s->dense_jac   = chain_jacobian;
  s->G           = CHECK_POINTER(chain_pattern(links, CSC_MAT, s->ctx));
  s->Gv          = chain_jac_times;
  s->GTw         = chain_jac_trans_times;
  s->schur_diag  = chain_schur_diag;
  s->psetup      = chain_prec_setup;
  s->psolve      = chain_prec_solve;
  s->work        = qr_work(2.0, l, 2.0 * l);
  allocate(s, 2 * links, 4 * links);
  coil_state(links, s->start);
}

static void create_four_bar(Problem *s, int windows) {
  const double w = windows;
  s->four_bar    = CHECK_POINTER(four_bar_create(windows, 9.81));
  s->data        = s->four_bar;
  s->c           = four_bar_constraints;
  s->jac = s->dense_jac = four_bar_jacobian;
  s->G                  = CHECK_POINTER(four_bar_pattern(windows, s->ctx));
  s->work               = qr_work(2.0, 6.0 * w + 2.0, 6.0 * w + 3.0);
  allocate(s, four_bar_m(windows), four_bar_n(windows));
  four_bar_state(s->four_bar, 0.5, 1.0, s->start);
}

static void create_norms(Problem *s, int count) {
  s->norms = count;
  s->work  = qr_work(1.0, count, 4.0 * count);
  allocate(s, 0, 4 * count);
  N_VConst(0.5, s->start);
}

static void create_rows(Problem *s, Rows *rows) {
  s->rows = rows;
  s->data = rows;
  s->c    = rows_constraints;
  s->jac = s->dense_jac = rows_jacobian;
  s->G                  = rows_pattern(rows, s->ctx);
  s->Gv                 = rows_times;
  s->GTw                = rows_trans_times;
  s->schur_diag         = rows_schur_diag;
  s->work               = qr_work(1.0, (double)rows->m, (double)rows->n);
  allocate(s, rows->m, rows->n);
  rows_state(rows, s->start);
}

static Rows *tripled(sunindextype m) {
  Rows *rows = rows_scattered(m, 2 * m, 10);
  rows_repeat(rows);
  return rows;
}

static Problem *problem_create(int i, SUNContext ctx) {
  const sunindextype size = problems[i].size, part = problems[i].part;
  Problem *s = CHECK_POINTER(calloc(1, sizeof *s));
  s->name    = problems[i].name;
  s->ctx     = ctx;
  switch (problems[i].kind) {
  case CHAIN: create_chain(s, size); break;
  case FOUR_BAR: create_four_bar(s, (int)size); break;
  case NORMS: create_norms(s, (int)size); break;
  case PARTS: create_rows(s, rows_blocks(size, part, 2 * part)); break;
  case TRIPLE: create_rows(s, tripled(size)); break;
  case SCATTERED: create_rows(s, rows_scattered(size, 2 * size, part)); break;
  case FULL: create_rows(s, rows_blocks(1, size, 2 * size)); break;
  }
  s->dependent = problems[i].kind == TRIPLE;
  error_weights(s->start, tolerance, s->ewt);
  disturb(s->n, s->start, s->ewt, 1.0);
  return s;
}

static void problem_free(Problem **address) {
  Problem *s = *address;
  if (s->G) SUNMatDestroy(s->G);
  if (s->dense_G) SUNMatDestroy(s->dense_G);
  if (s->residual) N_VDestroy(s->residual);
  N_VDestroy(s->start);
  N_VDestroy(s->ewt);
  N_VDestroy(s->y);
  chain_free(&s->chain);
  four_bar_free(&s->four_bar);
  rows_free(&s->rows);
  free(s);
  *address = NULL;
}

/* ----------------------------------------------------------------------------------- solvers -- */

typedef enum { PATTERN, DENSE, PRODUCTS, PRECONDITIONED } Given;

static const struct {
  const char *name;
  CPLinSol type;
  Given given;
  int takes_dependent, is_dense;
  double work; /* per operation of QR */
} solvers[] = {{"dense G", CP_LINSOL_SCHUR, DENSE, 0, 1, 0.5},
               {"SCHUR", CP_LINSOL_SCHUR, PATTERN, 0, 1, 0.5},
               {"QR", CP_LINSOL_QR, PATTERN, 1, 1, 1.0},
               {"SPARSE", CP_LINSOL_SPARSE, PATTERN, 1, 0, 0.0},
               {"Jacobi", CP_LINSOL_PRODUCTS, PRODUCTS, 1, 0, 0.0},
               {"PRODUCTS", CP_LINSOL_PRODUCTS, PRECONDITIONED, 1, 0, 0.0},
               {"AUTO", CP_LINSOL_AUTO, PATTERN, 1, 0, 0.0}};
enum { NSOLVERS = sizeof solvers / sizeof solvers[0], AUTO = NSOLVERS - 1 };

/* Can the solver be used for problem s, within the limits? */
static int applies(const Problem *s, int solver) {
  if (s->dependent && !solvers[solver].takes_dependent) return 0;
  if (solvers[solver].work * s->work > most_work && s->norms == 0) return 0;
  if (solvers[solver].is_dense && s->work > most_work && s->norms > 0) return 0;
  switch (solvers[solver].given) {
  case PATTERN: return 1;
  case DENSE: return s->dense_G != NULL;
  case PRODUCTS: return s->Gv != NULL;
  case PRECONDITIONED: return s->psolve != NULL;
  }
  return 0;
}

static void quiet(int code, const char *function, const char *message, void *data) {
  (void)code, (void)function, (void)message, (void)data;
}

static CPProjector create(const Problem *s, int solver) {
  const Given given  = solvers[solver].given;
  const int products = given == PRODUCTS || given == PRECONDITIONED;
  CPProjector P      = CHECK_POINTER(
           products ? CPProjectorCreateProducts(s->c, s->Gv, s->GTw, s->y, s->residual, s->ctx)
                    : CPProjectorCreate(s->c, s->y, s->residual, s->ctx));
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(P), quiet, NULL));
  CHECK(CPProjectorSetUserData(P, s->data));
  if (!products) CHECK(CPProjectorSetLinearSolver(P, solvers[solver].type));
  for (int i = 0; i < s->norms; i++) CHECK(CPProjectorAddUnitNorm(P, 4 * i, 4, 1.0));
  if (given == PATTERN && s->m > 0) CHECK(CPProjectorSetJacFn(P, s->jac, s->G));
  if (given == DENSE) CHECK(CPProjectorSetJacFn(P, s->dense_jac, s->dense_G));
  if (products) CHECK(CPProjectorSetSchurDiag(P, s->schur_diag));
  if (given == PRECONDITIONED) CHECK(CPProjectorSetPreconditioner(P, s->psetup, s->psolve));
  return P;
}

typedef struct {
  const Problem *s;
  CPProjector P;
} Runner; /* one solver on one problem */

static void reset(void *data) {
  const Runner *runner = data;
  N_VScale(1.0, runner->s->start, runner->s->y);
}

static void renew(void *data) {
  const Runner *runner = data;
  reset(data);
  CHECK(CPProjectorSetUserData(runner->P, runner->s->data)); /* discards the factors */
}

static void project(void *data) {
  const Runner *runner = data;
  CHECK(CPProjectorProject(runner->P, 0.0, runner->s->y, runner->s->ewt));
}

/* ------------------------------------------------------------------------------------- tables -- */

typedef struct {
  double seconds[2][NSOLVERS]; /* fresh, step; NaN: not run */
  char failure[NSOLVERS];      /* it cannot solve this */
  const char *chosen;          /* by AUTO */
  char why[200];
} Result;

static const char *type_name(CPLinSol type) {
  for (int k = 1; k < NSOLVERS; k++)
    if (solvers[k].type == type) return solvers[k].name;
  return "?";
}

static void note_choice(CPProjector P, Result *result) {
  CPLinSol type;
  const char *reason;
  CHECK(CPProjectorGetLinearSolver(P, &type, &reason));
  result->chosen = type_name(type);
  snprintf(result->why, sizeof result->why, "%s", reason);
}

/* fresh: with new factors in each projection */
static void measure(const Problem *s, int fresh, int rounds, double seconds[NSOLVERS],
                    Result *result) {
  Runner runners[NSOLVERS];
  Timed timed[NSOLVERS];
  int solver[NSOLVERS], count = 0;
  for (int k = 0; k < NSOLVERS; k++) {
    seconds[k] = NAN;
    if (!applies(s, k)) continue;
    Runner runner = {s, create(s, k)};
    reset(&runner);
    result->failure[k] = CPProjectorProject(runner.P, 0.0, s->y, s->ewt) != 0;
    if (result->failure[k]) {
      fprintf(stderr, "%s, %s: %s\n", s->name, solvers[k].name,
              CPObjectGetLastMessage(CP_OBJECT(runner.P)));
      CPProjectorFree(&runner.P);
      continue;
    }
    if (k == AUTO) note_choice(runner.P, result);
    runners[count] = runner;
    timed[count] =
        (Timed){.prepare = fresh ? renew : reset, .run = project, .data = &runners[count]};
    solver[count++] = k;
  }
  time_in_turns(timed, (size_t)count, rounds);
  for (int i = 0; i < count; i++) {
    seconds[solver[i]] = timed[i].seconds;
    CPProjectorFree(&runners[i].P);
  }
}

static double least(const double *values, int n) {
  double smallest = INFINITY;
  for (int i = 0; i < n; i++)
    smallest = fmin(smallest, values[i]); /* of NaN and a number: the number */
  return smallest;
}

static void print_head(const char *what, const char *then) {
  printf("\n%s\n\n%-14s |", what, "");
  for (int k = 0; k < NSOLVERS; k++) printf(" %8s", solvers[k].name);
  printf(" | %9s%s\n", "best [us]", then);
}

static void print_row(const char *name, const Result *result, int which) {
  const double *seconds = result->seconds[which], best = least(seconds, NSOLVERS);
  printf("%-14s |", name);
  for (int k = 0; k < NSOLVERS; k++) {
    if (result->failure[k]) printf(" %8s", "failed");
    else if (isnan(seconds[k])) printf(" %8s", "-");
    else printf(" %8.2f", seconds[k] / best);
  }
  printf(" | %9.2f", 1.0e6 * best);
  if (which == 0) printf(" | %s: %s", result->chosen, result->why);
  printf("\n");
}

static void csv_row(FILE *csv, const char *name, const Result *result) {
  if (!csv) return;
  for (int which = 0; which < 2; which++) {
    fprintf(csv, "solvers,%s,%s", name, which == 0 ? "fresh" : "step");
    for (int k = 0; k < NSOLVERS; k++) fprintf(csv, ",%.9f", result->seconds[which][k]);
    fprintf(csv, "\n");
  }
}

static void csv_head(FILE *csv) {
  if (!csv) return;
  fprintf(csv, "program,problem,what");
  for (int k = 0; k < NSOLVERS; k++) fprintf(csv, ",%s", solvers[k].name);
  fprintf(csv, "\n");
}

static int is_selected(const Options *options, const char *name) {
  char kind[32];
  snprintf(kind, sizeof kind, "%s", name);
  kind[strcspn(kind, " ")] = 0;
  return options_select(options, kind);
}

int main(int argc, char **argv) {
  Options options  = options_parse(argc, argv, "which linear solver for which problem",
                                   "[chain] [four-bar] [norms] [parts] [triple] [part] [full]", 7);
  const int rounds = options.repeat > 0 ? options.repeat : 1;
  SUNContext ctx   = check_context();
  Result results[NPROBLEMS];
  memset(results, 0, sizeof results);
  csv_head(options.csv);
  print_head("One projection with new factors, relative to the fastest", " | AUTO took");
  for (int i = 0; i < NPROBLEMS; i++) {
    if (!is_selected(&options, problems[i].name)) continue;
    Problem *s = problem_create(i, ctx);
    measure(s, 1, rounds, results[i].seconds[0], &results[i]);
    measure(s, 0, rounds, results[i].seconds[1], &results[i]);
    print_row(s->name, &results[i], 0);
    csv_row(options.csv, s->name, &results[i]);
    problem_free(&s);
  }
  print_head("The same with factors kept for 10 projections", "");
  for (int i = 0; i < NPROBLEMS; i++)
    if (is_selected(&options, problems[i].name)) print_row(problems[i].name, &results[i], 1);
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
