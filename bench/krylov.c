/* KRYLOV on a chain distributed over MPI ranks: mpiexec -n 2 build/release/bench/krylov
 *
 * Conjugate gradients with the tridiagonal factors of each rank's own rows as preconditioner
 * (examples/models/chain_parallel.h): exact on one rank; on more ranks the coupling is missing at
 * rods between masses of two ranks.
 *
 *   projection  CPProjectorProject from up to a tolerance off the manifold, with a new preconditioner:
 *               on one rank, on all ranks (strong: the same chain; weak: the same number of links on
 *               each rank), and SPARSE on one
 *   trajectory  Adams with fixed-point iteration, tolerance 1e-6: the state at the end compared with
 *               that of SPARSE on one rank, and with the change there due to half the tolerance
 *
 * Times are the least of several rounds, in which the sides alternate, and each is that of the
 * slowest rank. Ranks that do not participate wait.
 *
 * Bounds: at most 3 iterations for each system; the same trajectory to within the tolerance. */
#include "check.h"
#include "options.h"
#include "run.h"
#include "states.h"
#include "timing.h"
#include <cpodes/cpodes_matrixfree.h>
#include <math.h>
#include <models/chain.h>
#include <models/chain_parallel.h>
#include <models/counters.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static const double bound_iterations = 3.0;
static const sunrealtype tolerance   = 1.0e-6;
static const sunrealtype gravity     = 9.81;
static const sunrealtype t_end       = 1.0;
static const sunindextype projected  = 100000; /* links of the projections */
static const sunindextype integrated = 10000;  /* links of the trajectories */

/* A chain with its projector: KRYLOV over the ranks of comm, or SPARSE on this rank */
typedef struct {
  MPI_Comm comm;
  SUNContext ctx;
  sunindextype first, n;   /* links on this rank */
  Chain *serial;           /* SPARSE */
  ChainParallel *parallel; /* KRYLOV */
  CVRhsFn f;
  void *data;
  SUNMatrix G;
  N_Vector on, start, ewt, y, c; /* on and off the manifold */
  CPProjector P;
} Side;

/* -------------------------------------------------------------------------------- setting up -- */

/* The local parts of both kinds of vectors are (positions, velocities), two halves of the same
 * length. */
static void set_levels(Side *s) {
  int *row = CHECK_POINTER(calloc(2 * (size_t)s->n, sizeof *row));
  int *col = CHECK_POINTER(calloc(4 * (size_t)s->n, sizeof *col));
  for (sunindextype i = 0; i < s->n; i++) row[s->n + i] = 1;
  for (sunindextype j = 0; j < 2 * s->n; j++) col[2 * s->n + j] = 1;
  CHECK(CPProjectorSetLevels(s->P, row, col));
  free(row);
  free(col);
}

/* s->y, s->c and s->P must exist */
static void complete(Side *s) {
  s->on          = CHECK_POINTER(N_VClone(s->y));
  s->start       = CHECK_POINTER(N_VClone(s->y));
  s->ewt         = CHECK_POINTER(N_VClone(s->y));
  sunrealtype *r = N_VGetArrayPointer(s->on), *v = r + 2 * s->n;
  for (sunindextype i = 0; i < s->n; i++) coil_mass(s->first + i, r + 2 * i, v + 2 * i);
  error_weights(s->on, tolerance, s->ewt);
  N_VScale(1.0, s->on, s->start);
  disturb(4 * s->n, s->start, s->ewt, 1.0);
  CHECK(CPProjectorSetUserData(s->P, s->data));
  set_levels(s);
}

static void use_krylov(Side *s, MPI_Comm comm, sunindextype links) {
  s->comm     = comm;
  s->parallel = CHECK_POINTER(chain_parallel_create(comm, links, gravity));
  s->first    = s->parallel->first;
  s->n        = s->parallel->n;
  s->f        = chain_parallel_rhs;
  s->data     = s->parallel;
  s->y        = CHECK_POINTER(chain_parallel_state(s->parallel, s->ctx));
  s->c        = CHECK_POINTER(chain_parallel_residual(s->parallel, s->ctx));
  s->P =
      CHECK_POINTER(CPProjectorCreateProducts(chain_parallel_constraints, chain_parallel_jac_times,
                                              chain_parallel_jac_trans_times, s->y, s->c, s->ctx));
  CHECK(CPProjectorSetSchurDiag(s->P, chain_parallel_schur_diag));
  CHECK(CPProjectorSetPreconditioner(s->P, chain_parallel_prec_setup, chain_parallel_prec_solve));
  complete(s);
}

static void use_sparse(Side *s, sunindextype links) {
  s->comm   = MPI_COMM_SELF;
  s->serial = CHECK_POINTER(chain_create(links, gravity));
  s->n      = links;
  s->f      = chain_rhs;
  s->data   = s->serial;
  s->y      = CHECK_POINTER(N_VNew_Serial(4 * links, s->ctx));
  s->c      = CHECK_POINTER(N_VNew_Serial(2 * links, s->ctx));
  s->G      = CHECK_POINTER(chain_pattern(links, CSC_MAT, s->ctx));
  s->P      = CHECK_POINTER(CPProjectorCreate(chain_constraints, s->y, s->c, s->ctx));
  CHECK(CPProjectorSetLinearSolver(s->P, CP_LINSOL_SPARSE));
  CHECK(CPProjectorSetJacFn(s->P, chain_sparse_jacobian, s->G));
  complete(s);
}

static void side_free(Side *s) {
  if (!s->y) return; /* nothing on this rank */
  CPProjectorFree(&s->P);
  if (s->G) SUNMatDestroy(s->G);
  N_VDestroy(s->on);
  N_VDestroy(s->start);
  N_VDestroy(s->ewt);
  N_VDestroy(s->y);
  N_VDestroy(s->c);
  chain_free(&s->serial);
  chain_parallel_free(&s->parallel);
}

/* Iterations of conjugate gradients per system since `before` */
static double iterations(const ProjectorCounters *before, const ProjectorCounters *after) {
  const long int systems = after->nlinsolves - before->nlinsolves;
  return systems > 0 ? (double)(after->nli - before->nli) / (double)systems : 0.0;
}

static const char *verdict(int kept) { return kept ? "kept" : "EXCEEDED"; }

/* ------------------------------------------------------------------------------- projections -- */

/* The time of the slowest rank, on rank 0 */
static double time_projection(Side *s) {
  N_VScale(1.0, s->start, s->y);
  CHECK(CPProjectorSetUserData(s->P, s->data)); /* discards the factors */
  MPI_Barrier(s->comm);
  const double start = seconds_now();
  CHECK(CPProjectorProject(s->P, 0.0, s->y, s->ewt));
  const double mine = seconds_now() - start;
  double slowest    = mine;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, s->comm);
  return slowest;
}

typedef enum { SPARSE, ONE, STRONG, WEAK, NSIDES } Which;

/* Only the first rank participates in runs on one rank. */
static void create_sides(Side sides[NSIDES], int rank, int size, SUNContext ctx) {
  for (int k = 0; k < NSIDES; k++) sides[k] = (Side){.ctx = ctx};
  if (rank == 0) use_sparse(&sides[SPARSE], projected);
  if (rank == 0) use_krylov(&sides[ONE], MPI_COMM_SELF, projected);
  use_krylov(&sides[STRONG], MPI_COMM_WORLD, projected);
  use_krylov(&sides[WEAK], MPI_COMM_WORLD, size * projected);
}

static void report_projections(const Side sides[NSIDES], const double seconds[NSIDES], int size,
                               FILE *csv) {
  static const char *const names[NSIDES] = {"SPARSE", "KRYLOV", "KRYLOV, strong", "KRYLOV, weak"};
  const ProjectorCounters none           = {0};
  double worst                           = 0.0;
  printf("One projection\n\n%-16s %6s %9s %9s %10s %12s %12s\n", "", "ranks", "links", "[ms]",
         "CG its per", "time to one", "parallel");
  printf("%-16s %6s %9s %9s %10s %12s %12s\n", "", "", "", "", "system", "rank's", "efficiency");
  for (int k = 0; k < NSIDES; k++) {
    const int ranks          = k >= STRONG ? size : 1;
    const sunindextype links = k == WEAK ? size * projected : projected;
    const double ratio       = seconds[k] / seconds[ONE];
    ProjectorCounters stats;
    CHECK(projector_counters(sides[k].P, &stats));
    worst = fmax(worst, iterations(&none, &stats));
    printf("%-16s %6d %9ld %9.3f %10.2f %12.2f %12.2f\n", names[k], ranks, (long int)links,
           1.0e3 * seconds[k], iterations(&none, &stats), ratio,
           k == STRONG ? 1.0 / (ratio * ranks) : 1.0 / ratio);
    if (csv) fprintf(csv, "krylov,%s,%d,%ld,%.9f\n", names[k], ranks, (long int)links, seconds[k]);
  }
  printf("iterations for each system: bound %.0f, %s\n", bound_iterations,
         verdict(worst <= bound_iterations));
}

static void compare_projections(int rank, int size, const Options *options, SUNContext ctx) {
  Side sides[NSIDES];
  double seconds[NSIDES];
  const int rounds = options->repeat > 0 ? options->repeat : 1;
  create_sides(sides, rank, size, ctx);
  for (int k = 0; k < NSIDES; k++) seconds[k] = INFINITY;
  for (int i = 0; i < rounds; i++)
    for (int k = 0; k < NSIDES; k++) {
      if (sides[k].P) seconds[k] = fmin(seconds[k], time_projection(&sides[k]));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  if (rank == 0) report_projections(sides, seconds, size, options->csv);
  for (int k = 0; k < NSIDES; k++) side_free(&sides[k]);
}

/* ------------------------------------------------------------------------------ trajectories -- */

typedef struct {
  double seconds;
  long int steps;
  double iterations; /* per system */
  double most;       /* in a single step */
} March;

/* From s->on to t_end; s->y: the final state */
static March march(Side *s, sunrealtype tol) {
  March result              = {0};
  sunrealtype t             = 0.0;
  ProjectorCounters start   = {0}, before, after;
  CPIntegrator mem          = CHECK_POINTER(CPIntegratorCreate("ADAMS", s->ctx));
  SUNNonlinearSolver solver = CHECK_POINTER(SUNNonlinSol_FixedPoint(s->y, 0, s->ctx));
  CHECK(CPIntegratorInit(mem, s->f, 0.0, s->on));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), s->data));
  CHECK(CPIntegratorSetNonlinearSolver(mem, solver));
  CHECK(CPIntegratorSetProjector(mem, s->P));
  CHECK(CVodeSetStopTime(CPIntegratorGetCVodeMem(mem), t_end));
  CHECK(projector_counters(s->P, &start));
  after = start;
  MPI_Barrier(s->comm);
  const double begin = seconds_now();
  while (t < t_end) {
    before         = after;
    const int flag = CPIntegratorEvolve(mem, t_end, s->y, &t, CV_ONE_STEP);
    CHECK(flag < 0 ? flag : 0);
    CHECK(projector_counters(s->P, &after));
    result.most = fmax(result.most, iterations(&before, &after));
  }
  MPI_Barrier(s->comm);
  result.seconds    = seconds_now() - begin;
  result.iterations = iterations(&start, &after);
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &result.steps));
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(solver);
  return result;
}

/* The largest |y_i - other_i| ewt_i, with ewt the error weights at the other; y is distributed over
 * all ranks, and other [4 links] is complete on every rank */
static double difference(const Side *s, sunindextype links, const sunrealtype *other) {
  const sunrealtype *y = N_VGetArrayPointer(s->y);
  double largest       = 0.0, all;
  for (sunindextype half = 0; half < 2; half++)
    for (sunindextype j = 0; j < 2 * s->n; j++) {
      const double reference = other[2 * (half * links + s->first) + j];
      const double distance  = fabs(y[2 * half * s->n + j] - reference);
      largest                = fmax(largest, distance / (tolerance * (fabs(reference) + 1.0)));
    }
  MPI_Allreduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, s->comm);
  return all;
}

static void print_march(const char *name, int ranks, const March *m) {
  printf("%-16s %6d %7ld %9.1f %10.2f %12.2f\n", name, ranks, m->steps, 1.0e3 * m->seconds,
         m->iterations, m->most);
}

static void compare_trajectories(int rank, int size, SUNContext ctx) {
  Side sparse = {.ctx = ctx}, one = {.ctx = ctx}, all = {.ctx = ctx};
  use_sparse(&sparse, integrated); /* on every rank, so that each can compare its part */
  use_krylov(&one, MPI_COMM_SELF, integrated);
  use_krylov(&all, MPI_COMM_WORLD, integrated);
  N_Vector reference = CHECK_POINTER(N_VClone(sparse.y));
  (void)march(&sparse, tolerance / 2.0);
  N_Vector at_half_tol = CHECK_POINTER(N_VClone(sparse.y));
  N_VScale(1.0, sparse.y, at_half_tol);
  const March by_sparse = march(&sparse, tolerance);
  N_VScale(1.0, sparse.y, reference);
  N_VScale(1.0, at_half_tol, sparse.y);
  const sunrealtype *ref = N_VGetArrayPointer(reference);
  const double by_half   = difference(&sparse, integrated, ref);
  const March on_one     = march(&one, tolerance);
  const double by_one    = difference(&one, integrated, ref);
  MPI_Barrier(MPI_COMM_WORLD);
  const March on_all  = march(&all, tolerance);
  const double by_all = difference(&all, integrated, ref);
  const double most   = fmax(on_one.most, on_all.most);
  if (rank == 0) {
    printf("\nTrajectory of %ld links to t = %g\n\n%-16s %6s %7s %9s %10s %12s\n",
           (long int)integrated, (double)t_end, "", "ranks", "steps", "[ms]", "CG its per",
           "... most in");
    printf("%-16s %6s %7s %9s %10s %12s\n", "", "", "", "", "system", "one step");
    print_march("SPARSE", 1, &by_sparse);
    print_march("KRYLOV", 1, &on_one);
    print_march("KRYLOV", size, &on_all);
    printf("iterations for each system: bound %.0f, %s\n", bound_iterations,
           verdict(most <= bound_iterations));
    printf("largest difference to SPARSE at the end, in tolerances: %.2g on 1 rank, %.2g on %d; "
           "SPARSE with half the tolerance: %.2g\n",
           by_one, by_all, size, by_half);
  }
  N_VDestroy(reference);
  N_VDestroy(at_half_tol);
  side_free(&sparse);
  side_free(&one);
  side_free(&all);
}

int main(int argc, char **argv) {
  int rank, size;
  CHECK(MPI_Init(&argc, &argv));
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  Options options =
      options_parse(argc, argv, "KRYLOV on a chain distributed over MPI ranks", NULL, 21);
  MPI_Barrier(MPI_COMM_WORLD); /* all have opened the file, which rank 0 writes */
  SUNContext ctx = check_context();
  if (rank == 0 && options.csv) fprintf(options.csv, "program,what,ranks,links,seconds\n");
  compare_projections(rank, size, &options, ctx);
  compare_trajectories(rank, size, ctx);
  SUNContext_Free(&ctx);
  options_close(&options);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
