/* The metric of the projection if stiffness acts along the normals of the constraints: steps of BDF
 * for a slider-crank in a stiff, overdamped bushing (examples/models/bushing_crank.h), in every
 * metric and without projection. The guide's chapter "The metric" quotes the table. */
#include "check.h"
#include "mech.h"
#include "run.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <models/bushing_crank.h>
#include <models/counters.h>
#include <nvector/nvector_serial.h>

enum { N = 2 * BUSHING_CRANK_NQ, NEIGHBOURS = 7 };

static const sunrealtype t_end = 20;

typedef struct {
  const char *name;
  CPMechMetric metric;
  bool projected;
} Variant;

static const Variant variants[] = {
    {"not projected", CP_METRIC_ERROR, false}, {"NEWTON", CP_METRIC_NEWTON, true},
    {"ERROR", CP_METRIC_ERROR, true},          {"L2", CP_METRIC_L2, true},
    {"KINETIC", CP_METRIC_KINETIC, true},      {"DEFAULT", CP_METRIC_DEFAULT, true}};
enum { NVARIANTS = sizeof variants / sizeof *variants };

typedef struct {
  long int steps, forces;
  sunrealtype y[N];
} Outcome;

static Outcome integrate(BushingCrank *crank, const Variant *v, sunrealtype tol, SUNContext ctx) {
  Outcome o         = {0};
  CPEquations model = bushing_crank_model();
  N_Vector y        = CHECK_POINTER(N_VNew_Serial(N, ctx));
  bushing_crank_initial(crank, y);
  CPMech mech = create_mech(&model, y, ctx);
  CHECK(CPMechSetUserData(mech, crank));
  CHECK(CPMechSetMetric(mech, v->metric));

  sunrealtype t    = 0;
  CPIntegrator mem = CHECK_POINTER(CPIntegratorCreate("BDF", ctx));
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 1000000));
  if (!v->projected) CHECK(CPIntegratorSetProjector(mem, NULL));
  CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));

  MechCounters stats;
  CHECK(mech_counters(mech, &stats));
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &o.steps));
  o.forces = stats.nf;
  for (int i = 0; i < N; i++) o.y[i] = N_VGetArrayPointer(y)[i];
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  return o;
}

/* Geometric means over tolerances within a factor of 3 of tol: single runs scatter by 10 %. */
static void print_row(BushingCrank *crank, const Variant *v, sunrealtype tol, const Outcome *exact,
                      SUNContext ctx) {
  GeometricMean steps = {0}, forces = {0}, error = {0};
  for (int k = 0; k < NEIGHBOURS; k++) {
    const Outcome o = integrate(crank, v, tol * pow(1.1, k - NEIGHBOURS / 2), ctx);
    sunrealtype off = 0;
    for (int i = 0; i < N; i++) off = fmax(off, fabs(o.y[i] - exact->y[i]));
    mean_add(&steps, (double)o.steps);
    mean_add(&forces, (double)o.forces);
    mean_add(&error, (double)off);
  }
  printf("  %-14s %8.0f %8.0f %10.1e\n", v->name, mean_value(&steps), mean_value(&forces),
         mean_value(&error));
}

int main(void) {
  SUNContext ctx      = check_context();
  BushingCrank crank  = bushing_crank_stiff();
  const Outcome exact = integrate(&crank, &variants[0], 1e-12, ctx);
  printf("slider-crank in a bushing, K = %.0e N/m, C = %.0e N s/m, t = 0 ... %g s, BDF; errors "
         "against a "
         "run at tol 1e-12\n",
         (double)crank.K, (double)crank.C, (double)t_end);
  for (int i = 5; i <= 9; i++) {
    printf("tol 1e-%d\n  %-14s %8s %8s %10s\n", i, "metric", "steps", "f", "error");
    for (int k = 0; k < NVARIANTS; k++) print_row(&crank, &variants[k], pow(10, -i), &exact, ctx);
  }
  SUNContext_Free(&ctx);
  return EXIT_SUCCESS;
}
