/* The time of a step of the chain in space (examples/models/spatial_chain.h) per rod, after the
 * small steps at the start: CPU time, with 100, 1,000 and 10,000 rods, with and without springs in
 * the joints.
 *
 *   rods [MOST]     at most this many
 *
 * Bound: the ratio of the largest and the least time per step and rod is at most 2. */
#include "check.h"
#include "run.h"
#include <math.h>
#include <models/plugin.h>
#include <time.h>

static const struct {
  const char *type;
  int lmm;
} chains[] = {
    {"spatial_chain", CV_BDF}, {"spatial_chain", CV_ADAMS}, {"spatial_bending_chain", CV_BDF}};
enum { NCHAINS = sizeof chains / sizeof chains[0] };

static const sunrealtype tolerance = 1.0e-6, t_start = 0.01, t_end = 0.1;
static const double bound = 2.0;

/* n rods that turn about the vertical with 1/n rad/s */
static CPPlugin *create_chain(const char *name, int n, SUNContext ctx) {
  const CPPluginType *type = CHECK_POINTER((void *)model_find(name));
  sunrealtype values[MODEL_MOST_PARAMETERS];
  char message[200];
  for (int i = 0; i < type->nparameters; i++) values[i] = type->parameters[i].value;
  values[plugin_find_parameter(type, "n")]    = n;
  values[plugin_find_parameter(type, "spin")] = 1.0 / n;
  return CHECK_POINTER(CPPluginCreate(type, values, ctx, message, sizeof message));
}

/* CPU time [s] of each step from t_start to t_end; steps: their number */
static double step_seconds(const CPPlugin *model, int lmm, long int *steps, SUNContext ctx) {
  sunrealtype t;
  long int before;
  N_Vector y       = CHECK_POINTER(N_VClone(model->y0));
  CPMech mech      = CHECK_POINTER(CPPluginMech(model));
  CPIntegrator mem = CHECK_POINTER(CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", ctx));
  CHECK(CPMechAttach(mech, mem, 0.0, model->y0));
  CHECK(CPIntegratorSStolerances(mem, tolerance, tolerance));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 1000000));
  CHECK(CPIntegratorEvolve(mem, t_start, y, &t, CV_NORMAL));
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &before));
  const clock_t start = clock();
  CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));
  const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), steps));
  *steps -= before;
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  return seconds / (double)*steps;
}

static void compare(const char *type, int lmm, int most, SUNContext ctx) {
  double least = INFINITY, largest = 0.0;
  for (int n = 100; n <= most; n *= 10) {
    long int steps;
    CPPlugin *model   = create_chain(type, n, ctx);
    const double each = step_seconds(model, lmm, &steps, ctx) / n;
    printf("%-21s %-5s %5d rods: %4ld steps, %.2f us per step and rod\n", type, method_name(lmm), n,
           steps, 1e6 * each);
    least   = fmin(least, each);
    largest = fmax(largest, each);
    CPPluginFree(&model);
  }
  printf("  largest / least %.2f: bound of %g %s\n", largest / least, bound,
         largest <= bound * least ? "kept" : "EXCEEDED");
}

int main(int argc, char **argv) {
  const int most = argc > 1 ? atoi(argv[1]) : 10000;
  SUNContext ctx = check_context();
  for (int i = 0; i < NCHAINS; i++) compare(chains[i].type, chains[i].lmm, most, ctx);
  SUNContext_Free(&ctx);
  return EXIT_SUCCESS;
}
