/* Unit quaternions by CPProjectorAddUnitNorm, n = 1,000 ... 1,000,000: the projection compared with
 * one pass over the state.
 *
 *   pass       y_i = a y_i, a loop that reads and writes every component
 *   N_VScale   the same by NVECTOR_SERIAL
 *   project    CPProjectorProject, the nearest point in the norm; L2: D = I, error: D = diag(1 / ewt^2),
 *              with a separate weight for every component
 *   tangent    CPProjectorProjectVector
 *   set-up     CPProjectorCreate, n times CPProjectorAddUnitNorm, the first projection, less one projection
 *   memory     the memory of the projector after both projections
 *
 * The quaternions are the whole state; "near" ones are off the manifold by up to a tolerance of
 * 1e-6 in each component, as after a step, "far" ones by up to 1000 tolerances. The solver is
 * chosen automatically. */
#include "check.h"
#include "options.h"
#include "run.h"
#include "states.h"
#include "timing.h"
#include <math.h>
#include <nvector/nvector_serial.h>

static const sunindextype counts[] = {1000, 10000, 100000, 1000000};
enum { NCOUNTS = sizeof counts / sizeof counts[0] };
static const sunrealtype tolerance = 1.0e-6;
static const sunrealtype far_off   = 1000.0; /* in tolerances */

typedef enum {
  PASS,
  SCALE,
  NEAR_L2,
  NEAR_ERROR,
  FAR_L2,
  FAR_ERROR,
  TANGENT_L2,
  TANGENT_ERROR,
  SETUP,
  NTIMED
} What;

typedef struct {
  sunindextype n; /* quaternions */
  SUNContext ctx;
  N_Vector near, far; /* start states */
  N_Vector ewt, y, v;
  CPProjector L2, error;
  CPProjector trial; /* of the set-ups */
  double bytes;
} Case;

/* -------------------------------------------------------------------------------- setting up -- */

static CPProjector create(const Case *s, CPNorm norm) {
  CPProjector P = CHECK_POINTER(CPProjectorCreate(NULL, s->y, NULL, s->ctx));
  for (sunindextype i = 0; i < s->n; i++) CHECK(CPProjectorAddUnitNorm(P, 4 * i, 4, 1.0));
  CHECK(CPProjectorSetNorm(P, norm, NULL, NULL));
  return P;
}

/* Pseudo-random directions */
static void unit_quaternions(sunindextype n, N_Vector y) {
  sunrealtype *z = N_VGetArrayPointer(y);
  unsigned seed  = 7;
  for (sunindextype i = 0; i < n; i++) {
    sunrealtype *q = z + 4 * i, square = 0.0;
    for (int k = 0; k < 4; k++) {
      q[k] = random_number(&seed);
      square += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++) q[k] /= sqrt(square);
  }
}

static Case *case_create(sunindextype n, SUNContext ctx) {
  Case *s = CHECK_POINTER(calloc(1, sizeof *s));
  s->n    = n;
  s->ctx  = ctx;
  s->near = CHECK_POINTER(N_VNew_Serial(4 * n, ctx));
  s->far  = CHECK_POINTER(N_VClone(s->near));
  s->ewt  = CHECK_POINTER(N_VClone(s->near));
  s->y    = CHECK_POINTER(N_VClone(s->near));
  s->v    = CHECK_POINTER(N_VClone(s->near));
  unit_quaternions(n, s->near);
  error_weights(s->near, tolerance, s->ewt);
  N_VScale(1.0, s->near, s->far);
  disturb(4 * n, s->near, s->ewt, 1.0);
  disturb(4 * n, s->far, s->ewt, far_off);

  N_VScale(1.0, s->near, s->y);
  N_VConst(1.0, s->v);
  const size_t before = heap_in_use();
  s->error            = create(s, CP_NORM_ERROR);
  CHECK(CPProjectorProject(s->error, 0.0, s->y, s->ewt));
  CHECK(CPProjectorProjectVector(s->error, CP_TANGENT, 0.0, s->y, s->ewt, s->v));
  s->bytes = (double)(heap_in_use() - before);
  s->L2    = create(s, CP_NORM_L2);
  return s;
}

static void case_free(Case **address) {
  Case *s = *address;
  CPProjectorFree(&s->L2);
  CPProjectorFree(&s->error);
  CPProjectorFree(&s->trial);
  N_VDestroy(s->near);
  N_VDestroy(s->far);
  N_VDestroy(s->ewt);
  N_VDestroy(s->y);
  N_VDestroy(s->v);
  free(s);
  *address = NULL;
}

/* ------------------------------------------------------------------------------ what is timed -- */

static void from_near(void *data) {
  Case *s = data;
  N_VScale(1.0, s->near, s->y);
}

static void from_far(void *data) {
  Case *s = data;
  N_VScale(1.0, s->far, s->y);
}

static void with_vector(void *data) {
  Case *s = data;
  N_VScale(1.0, s->near, s->y);
  N_VConst(1.0, s->v);
}

static void without_projector(void *data) {
  Case *s = data;
  CPProjectorFree(&s->trial);
  from_near(data);
}

static const sunrealtype factor = 1.0 + 1.0e-9;

static void pass(void *data) {
  Case *s              = data;
  sunrealtype *y       = N_VGetArrayPointer(s->y);
  const sunindextype n = 4 * s->n;
  for (sunindextype i = 0; i < n; i++) y[i] *= factor;
}

static void scale(void *data) {
  Case *s = data;
  N_VScale(factor, s->y, s->y);
}

static void project_L2(void *data) {
  Case *s = data;
  CHECK(CPProjectorProject(s->L2, 0.0, s->y, s->ewt));
}

static void project_error(void *data) {
  Case *s = data;
  CHECK(CPProjectorProject(s->error, 0.0, s->y, s->ewt));
}

static void tangent_L2(void *data) {
  Case *s = data;
  CHECK(CPProjectorProjectVector(s->L2, CP_TANGENT, 0.0, s->y, s->ewt, s->v));
}

static void tangent_error(void *data) {
  Case *s = data;
  CHECK(CPProjectorProjectVector(s->error, CP_TANGENT, 0.0, s->y, s->ewt, s->v));
}

static void set_up(void *data) {
  Case *s  = data;
  s->trial = create(s, CP_NORM_ERROR);
  CHECK(CPProjectorProject(s->trial, 0.0, s->y, s->ewt));
}

static void list_timed(Case *s, Timed timed[NTIMED]) {
  const Timed all[NTIMED] = {[PASS]          = {.prepare = from_near, .run = pass},
                             [SCALE]         = {.prepare = from_near, .run = scale},
                             [NEAR_L2]       = {.prepare = from_near, .run = project_L2},
                             [NEAR_ERROR]    = {.prepare = from_near, .run = project_error},
                             [FAR_L2]        = {.prepare = from_far, .run = project_L2},
                             [FAR_ERROR]     = {.prepare = from_far, .run = project_error},
                             [TANGENT_L2]    = {.prepare = with_vector, .run = tangent_L2},
                             [TANGENT_ERROR] = {.prepare = with_vector, .run = tangent_error},
                             [SETUP]         = {.prepare = without_projector, .run = set_up}};
  for (int i = 0; i < NTIMED; i++) {
    timed[i]      = all[i];
    timed[i].data = s;
  }
}

/* --------------------------------------------------------------------------------- reporting -- */

/* Largest ||q| - 1| */
static sunrealtype violation(const Case *s) {
  const sunrealtype *y = N_VGetArrayPointer(s->y);
  sunrealtype largest  = 0.0;
  for (sunindextype i = 0; i < s->n; i++) {
    sunrealtype square = 0.0;
    for (int k = 0; k < 4; k++) square += y[4 * i + k] * y[4 * i + k];
    largest = fmax(largest, fabs(sqrt(square) - 1.0));
  }
  return largest;
}

static void print_head(void) {
  printf("%8s | %7s %8s | %8s %8s | %8s %8s | %8s %8s | %7s | %7s | %17s | %s\n", "", "pass",
         "N_VScale", "near", "near", "far", "far", "tangent", "tangent", "set-up", "memory",
         "near/pass", "largest ||q| - 1| after far");
  printf("%8s | %7s %8s | %8s %8s | %8s %8s | %8s %8s | %7s | %7s | %8s %8s | %8s %8s\n", "n", "",
         "", "L2", "error", "L2", "error", "L2", "error", "", "[byte]", "L2", "error", "L2",
         "error");
}

static void print_row(Case *s, const Timed timed[NTIMED]) {
  double each[NTIMED];
  for (int i = 0; i < NTIMED; i++) each[i] = 1.0e9 * timed[i].seconds / (double)s->n;
  printf("%8ld | %7.2f %8.2f | %8.1f %8.1f | %8.1f %8.1f | %8.1f %8.1f | %7.0f | %7.0f | %8.2f "
         "%8.2f |",
         (long int)s->n, each[PASS], each[SCALE], each[NEAR_L2], each[NEAR_ERROR], each[FAR_L2],
         each[FAR_ERROR], each[TANGENT_L2], each[TANGENT_ERROR], each[SETUP] - each[NEAR_ERROR],
         s->bytes / (double)s->n, each[NEAR_L2] / each[PASS], each[NEAR_ERROR] / each[PASS]);
  from_far(s);
  project_L2(s);
  printf(" %8.1e", (double)violation(s));
  from_far(s);
  project_error(s);
  printf(" %8.1e\n", (double)violation(s));
}

static void csv_row(FILE *csv, const Case *s, const Timed timed[NTIMED]) {
  if (!csv) return;
  fprintf(csv, "quaternions,%ld", (long int)s->n);
  for (int i = 0; i < NTIMED; i++) fprintf(csv, ",%.9f", timed[i].seconds);
  fprintf(csv, ",%.0f\n", s->bytes);
}

int main(int argc, char **argv) {
  Options options =
      options_parse(argc, argv, "unit quaternions, up to a million", "[NUMBER...]", 21);
  const int rounds = options.repeat > 0 ? options.repeat : 1;
  SUNContext ctx   = check_context();
  printf("Nanoseconds and bytes per quaternion; least of %d rounds, all of one size in turns\n\n",
         rounds);
  print_head();
  if (options.csv)
    fprintf(options.csv, "program,n,pass,scale,near_L2,near_error,far_L2,far_error,tangent_L2,"
                         "tangent_error,setup,bytes\n");
  for (int i = 0; i < NCOUNTS; i++) {
    Timed timed[NTIMED];
    if (!options_select_number(&options, counts[i])) continue;
    Case *s = case_create(counts[i], ctx);
    list_timed(s, timed);
    time_in_turns(timed, NTIMED, rounds);
    print_row(s, timed);
    csv_row(options.csv, s, timed);
    case_free(&s);
  }
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
