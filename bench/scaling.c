/* SPARSE on chains of N = 100 ... 100,000 links: time and memory per link, compared with a
 * projection written by hand.
 *
 *   project          one CPProjectorProject with G, factors and all else new
 *   kept             the same with factors kept for 10 projections
 *   differences      like project, with G by difference quotients over the groups of the pattern's columns
 *   tangent          one CPProjectorProjectVector, with new G and factors, too
 *   set-up           CPProjectorCreate and the first projection, less one projection: symbolic analysis,
 *                    storage, groups of columns; levels given, or detected
 *   hand             chain_cvode_projection: the tridiagonal factors L D L^T of each level, positions by
 *                    simplified Newton, then velocities; with new factors, too
 *   hand with error  the same with the error estimate, as CVODES' hook requires it: compared with
 *                    project + tangent
 *   memory           the memory of the projector after all this
 *
 * Both projections start from the same state, up to a tolerance off the manifold ("near": one
 * correction), and at 10,000 links also up to 1000 ("far": two), with the error weights of CVODES.
 * The hand-written one ends by the norm of its correction, cpodes by the violation: eps of the
 * former is chosen such that it makes as many corrections as cpodes, and the remaining violations
 * of both are printed. It leaves y += correction to CVODES; cpodes does that itself.
 *
 * Bounds: project and memory per link vary by at most a factor of 2; at 10,000 links project takes
 * at most 4 times as long as hand. */
#include "check.h"
#include "options.h"
#include "run.h"
#include "states.h"
#include "timing.h"
#include <math.h>
#include <models/chain.h>
#include <models/counters.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static const sunindextype lengths[] = {100, 300, 1000, 3000, 10000, 30000, 100000};
enum { NLENGTHS = sizeof lengths / sizeof lengths[0] };
/* the size at which the hand-written projection is the bound */
static const sunindextype compared = 10000;
static const double bound_flat     = 2.0;
static const double bound_hand     = 4.0;
static const sunrealtype tolerance = 1.0e-6;
static const sunrealtype near_by   = 1.0; /* in tolerances */
static const sunrealtype far_off   = 1000.0;
static const sunrealtype one_corr =
    1.0e5; /* eps of the hand-written projection: above the first correction */
static const sunrealtype two_corrs = 10.0; /* below the first of the far state, above the second */

typedef enum {
  PROJECT,
  KEPT,
  DIFFERENCES,
  TANGENT,
  SETUP_GIVEN,
  SETUP_DETECTED,
  HAND,
  HAND_ERROR,
  NTIMED
} What;

typedef struct {
  sunindextype links;
  SUNContext ctx;
  Chain *chain;
  SUNMatrix G;
  void *cvode_mem; /* provides the error weights for both */
  SUNNonlinearSolver nonlinear;
  N_Vector on, start; /* on the manifold, and off it */
  N_Vector ewt, c;
  N_Vector y, v, correction; /* changed by every run */
  int *row_level, *col_level;
  CPProjector fresh, kept, differences;
  CPProjector trial; /* of the set-ups */
  sunrealtype hand_eps;
  double bytes; /* held by a projector */
} Case;

/* -------------------------------------------------------------------------------- setting up -- */

static CPProjector create(Case *s, CPConstraintJacFn jac) {
  CPProjector P = CHECK_POINTER(CPProjectorCreate(chain_constraints, s->y, s->c, s->ctx));
  CHECK(CPProjectorSetUserData(P, s->chain));
  CHECK(CPProjectorSetJacFn(P, jac, s->G));
  CHECK(CPProjectorSetLinearSolver(P, CP_LINSOL_SPARSE));
  return P;
}

/* CVODES has error weights only after its first step. */
static void create_weights(Case *s) {
  sunrealtype t;
  s->cvode_mem = CHECK_POINTER(CVodeCreate(CV_ADAMS, s->ctx));
  s->nonlinear = CHECK_POINTER(SUNNonlinSol_FixedPoint(s->y, 0, s->ctx));
  CHECK(CVodeInit(s->cvode_mem, chain_rhs, 0.0, s->on));
  CHECK(CVodeSStolerances(s->cvode_mem, tolerance, tolerance));
  CHECK(CVodeSetNonlinearSolver(s->cvode_mem, s->nonlinear));
  CHECK(CVodeSetUserData(s->cvode_mem, s->chain));
  CHECK(CVode(s->cvode_mem, 1.0, s->y, &t, CV_ONE_STEP));
  CHECK(CVodeGetErrWeights(s->cvode_mem, s->ewt));
  CHECK(chain_attach(s->chain, s->cvode_mem, s->y));
}

static void set_levels(Case *s) {
  s->row_level = CHECK_POINTER(calloc(2 * (size_t)s->links, sizeof *s->row_level));
  s->col_level = CHECK_POINTER(calloc(4 * (size_t)s->links, sizeof *s->col_level));
  for (sunindextype i = 0; i < s->links; i++) s->row_level[s->links + i] = 1;
  for (sunindextype j = 0; j < 2 * s->links; j++) s->col_level[2 * s->links + j] = 1;
}

static void start_from(Case *s, sunrealtype distance, sunrealtype hand_eps) {
  N_VScale(1.0, s->on, s->start);
  disturb(4 * s->links, s->start, s->ewt, distance);
  s->hand_eps = hand_eps;
}

/* Discards the factors. */
static void renew(const Case *s, CPProjector P) {
  if (P) CHECK(CPProjectorSetUserData(P, s->chain));
}

static void reset(void *data) {
  Case *s = data;
  renew(s, s->fresh);
  renew(s, s->differences);
  N_VScale(1.0, s->start, s->y);
  N_VScale(1.0, s->start, s->v);
}

static Case *case_create(sunindextype links, SUNContext ctx) {
  Case *s       = CHECK_POINTER(calloc(1, sizeof *s));
  s->links      = links;
  s->ctx        = ctx;
  s->chain      = CHECK_POINTER(chain_create(links, 9.81));
  s->G          = CHECK_POINTER(chain_pattern(links, CSC_MAT, ctx));
  s->on         = CHECK_POINTER(N_VNew_Serial(4 * links, ctx));
  s->start      = CHECK_POINTER(N_VClone(s->on));
  s->ewt        = CHECK_POINTER(N_VClone(s->on));
  s->y          = CHECK_POINTER(N_VClone(s->on));
  s->v          = CHECK_POINTER(N_VClone(s->on));
  s->correction = CHECK_POINTER(N_VClone(s->on));
  s->c          = CHECK_POINTER(N_VNew_Serial(2 * links, ctx));
  coil_state(links, s->on);
  create_weights(s);
  set_levels(s);
  start_from(s, near_by, one_corr);

  reset(s);
  const size_t before = heap_in_use();
  s->fresh            = create(s, chain_sparse_jacobian);
  CHECK(CPProjectorProject(s->fresh, 0.0, s->y, s->ewt));
  CHECK(CPProjectorProjectVector(s->fresh, CP_TANGENT, 0.0, s->y, s->ewt, s->v));
  s->bytes       = (double)(heap_in_use() - before);
  s->kept        = create(s, chain_sparse_jacobian);
  s->differences = create(s, NULL);
  return s;
}

static void case_free(Case **address) {
  Case *s            = *address;
  N_Vector vectors[] = {s->on, s->start, s->ewt, s->y, s->v, s->c, s->correction};
  free(s->row_level);
  free(s->col_level);
  CPProjectorFree(&s->fresh);
  CPProjectorFree(&s->kept);
  CPProjectorFree(&s->differences);
  CPProjectorFree(&s->trial);
  CVodeFree(&s->cvode_mem);
  SUNNonlinSolFree(s->nonlinear);
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) N_VDestroy(vectors[i]);
  SUNMatDestroy(s->G);
  chain_free(&s->chain);
  free(s);
  *address = NULL;
}

/* ------------------------------------------------------------------------------ what is timed -- */

static void project(void *data) {
  Case *s = data;
  CHECK(CPProjectorProject(s->fresh, 0.0, s->y, s->ewt));
}

static void project_kept(void *data) {
  Case *s = data;
  CHECK(CPProjectorProject(s->kept, 0.0, s->y, s->ewt));
}

static void project_by_differences(void *data) {
  Case *s = data;
  CHECK(CPProjectorProject(s->differences, 0.0, s->y, s->ewt));
}

static void project_tangent(void *data) {
  Case *s = data;
  CHECK(CPProjectorProjectVector(s->fresh, CP_TANGENT, 0.0, s->on, s->ewt, s->v));
}

static void reset_without_projector(void *data) {
  Case *s = data;
  CPProjectorFree(&s->trial);
  reset(data);
}

static void set_up_detecting(void *data) {
  Case *s  = data;
  s->trial = create(s, chain_sparse_jacobian);
  CHECK(CPProjectorProject(s->trial, 0.0, s->y, s->ewt));
}

static void set_up_given(void *data) {
  Case *s  = data;
  s->trial = create(s, chain_sparse_jacobian);
  CHECK(CPProjectorSetLevels(s->trial, s->row_level, s->col_level));
  CHECK(CPProjectorProject(s->trial, 0.0, s->y, s->ewt));
}

static void by_hand(void *data) {
  Case *s = data;
  CHECK(chain_cvode_projection(0.0, s->y, s->correction, s->hand_eps, NULL, s->chain));
}

static void by_hand_with_error(void *data) {
  Case *s = data;
  CHECK(chain_cvode_projection(0.0, s->y, s->correction, s->hand_eps, s->v, s->chain));
}

static void list_timed(Case *s, Timed timed[NTIMED]) {
  const Timed all[NTIMED] = {
      [PROJECT]        = {.prepare = reset, .run = project},
      [KEPT]           = {.prepare = reset, .run = project_kept},
      [DIFFERENCES]    = {.prepare = reset, .run = project_by_differences},
      [TANGENT]        = {.prepare = reset, .run = project_tangent},
      [SETUP_GIVEN]    = {.prepare = reset_without_projector, .run = set_up_given},
      [SETUP_DETECTED] = {.prepare = reset_without_projector, .run = set_up_detecting},
      [HAND]           = {.prepare = reset, .run = by_hand},
      [HAND_ERROR]     = {.prepare = reset, .run = by_hand_with_error}};
  for (int i = 0; i < NTIMED; i++) {
    timed[i]      = all[i];
    timed[i].data = s;
  }
}

/* --------------------------------------------------------------------------------- reporting -- */

typedef struct {
  double seconds[NTIMED];
} Row;

static Row row_of(const Timed timed[NTIMED]) {
  Row row;
  for (int i = 0; i < NTIMED; i++) row.seconds[i] = timed[i].seconds;
  row.seconds[SETUP_GIVEN] -= row.seconds[PROJECT];
  row.seconds[SETUP_DETECTED] -= row.seconds[PROJECT];
  return row;
}

static double error_ratio(const Row *row) {
  return (row->seconds[PROJECT] + row->seconds[TANGENT]) / row->seconds[HAND_ERROR];
}

static void print_head(void) {
  printf("%7s | %7s %7s %7s %7s | %7s %8s | %6s %6s | %8s %8s %8s | %7s %s\n", "", "project",
         "kept", "differ-", "tangent", "set-up,", "levels", "hand", "with", "project/", "with",
         "kept/", "memory", "levels");
  printf("%7s | %7s %7s %7s %7s | %7s %8s | %6s %6s | %8s %8s %8s | %7s %s\n", "links", "", "",
         "ences", "", "given", "detected", "", "error", "hand", "error", "hand", "[byte]", "found");
}

static void print_row(const Case *s, const Row *row) {
  double per_link[NTIMED];
  for (int i = 0; i < NTIMED; i++) per_link[i] = 1.0e9 * row->seconds[i] / (double)s->links;
  printf("%7ld | %7.0f %7.0f %7.0f %7.0f | %7.0f %8.0f | %6.1f %6.1f | %8.2f %8.2f %8.2f | %7.0f\n",
         (long int)s->links, per_link[PROJECT], per_link[KEPT], per_link[DIFFERENCES],
         per_link[TANGENT], per_link[SETUP_GIVEN], per_link[SETUP_DETECTED], per_link[HAND],
         per_link[HAND_ERROR], row->seconds[PROJECT] / row->seconds[HAND], error_ratio(row),
         row->seconds[KEPT] / row->seconds[HAND], s->bytes / (double)s->links);
}

static void csv_row(FILE *csv, const Case *s, const Row *row) {
  if (!csv) return;
  fprintf(csv, "scaling,%ld", (long int)s->links);
  for (int i = 0; i < NTIMED; i++) fprintf(csv, ",%.9f", row->seconds[i]);
  fprintf(csv, ",%.0f\n", s->bytes);
}

static double spread(const double *values, int n) {
  double least = INFINITY, largest = 0.0;
  for (int i = 0; i < n; i++) {
    least   = fmin(least, values[i]);
    largest = fmax(largest, values[i]);
  }
  return largest / least;
}

static const char *verdict(double value, double bound) {
  return value <= bound ? "kept" : "EXCEEDED";
}

static void print_spreads(Case *cases[NLENGTHS], const Row rows[NLENGTHS], int count) {
  double per_link[NLENGTHS], bytes[NLENGTHS];
  for (int i = 0; i < count; i++) {
    per_link[i] = rows[i].seconds[PROJECT] / (double)cases[i]->links;
    bytes[i]    = cases[i]->bytes / (double)cases[i]->links;
  }
  printf(
      "\nlargest over least per link: project %.2f, bound %.1f, %s; memory %.2f, bound %.1f, %s\n",
      spread(per_link, count), bound_flat, verdict(spread(per_link, count), bound_flat),
      spread(bytes, count), bound_flat, verdict(spread(bytes, count), bound_flat));
}

static sunrealtype violation(Case *s) {
  sunrealtype norm;
  CHECK(CPProjectorGetViolation(s->kept, 0.0, s->y, s->ewt, &norm, NULL));
  return norm;
}

/* The result of one projection of each kind from s->start */
static void print_violations(Case *s) {
  ProjectorCounters before, after;
  reset(s);
  const sunrealtype start = violation(s);
  CHECK(projector_counters(s->fresh, &before));
  project(s);
  CHECK(projector_counters(s->fresh, &after));
  const sunrealtype ours = violation(s);
  reset(s);
  by_hand(s);
  N_VLinearSum(1.0, s->y, 1.0, s->correction, s->y);
  printf("violation before %.1e, after cpodes' %ld corrections %.1e, by hand %.1e\n", (double)start,
         after.niters - before.niters, (double)ours, (double)violation(s));
}

static void compare(Case *s, int rounds) {
  static const struct {
    const char *name;
    sunrealtype distance, hand_eps;
  } starts[] = {{"near", near_by, one_corr}, {"far", far_off, two_corrs}};
  printf("\nProject against hand at %ld links\n", (long int)s->links);
  for (int k = 0; k < 2; k++) {
    Timed timed[] = {{.prepare = reset, .run = project, .data = s},
                     {.prepare = reset, .run = by_hand, .data = s}};
    start_from(s, starts[k].distance, starts[k].hand_eps);
    time_in_turns(timed, 2, rounds);
    const double ratio = timed[0].seconds / timed[1].seconds;
    printf("%-4s  %.3f ms / %.3f ms = %.2f, bound %.1f, %s; ", starts[k].name,
           1.0e3 * timed[0].seconds, 1.0e3 * timed[1].seconds, ratio, bound_hand,
           verdict(ratio, bound_hand));
    print_violations(s);
  }
}

int main(int argc, char **argv) {
  Options options =
      options_parse(argc, argv, "SPARSE on chains of 100 to 100,000 links", "[LINKS...]", 21);
  const int rounds = options.repeat > 0 ? options.repeat : 1;
  SUNContext ctx   = check_context();
  Case *cases[NLENGTHS];
  Timed timed[NLENGTHS][NTIMED];
  Row rows[NLENGTHS];
  int count = 0;
  for (int i = 0; i < NLENGTHS; i++)
    if (options_select_number(&options, lengths[i])) {
      cases[count] = case_create(lengths[i], ctx);
      list_timed(cases[count], timed[count]);
      count++;
    }
  time_in_turns(timed[0], (size_t)count * NTIMED, rounds);

  printf("Nanoseconds and bytes per link; least of %d rounds, all in turns\n\n", rounds);
  print_head();
  if (options.csv)
    fprintf(options.csv, "program,links,project,kept,differences,tangent,setup_given,"
                         "setup_detected,hand,hand_error,bytes\n");
  for (int i = 0; i < count; i++) {
    rows[i] = row_of(timed[i]);
    print_row(cases[i], &rows[i]);
    csv_row(options.csv, cases[i], &rows[i]);
  }
  print_spreads(cases, rows, count);
  for (int i = 0; i < count; i++)
    if (cases[i]->links == compared) compare(cases[i], rounds);

  for (int i = 0; i < count; i++) case_free(&cases[i]);
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
