/* Example: what the options of a mechanical system and of its integrator do, on a stiff slider-crank with BDF.
 *
 * The mechanism is that of models/bushing_crank.h: its slider is held by a stiff damped bushing, in whose direction the pin's
 * constraints push it as well. One run of 20 s is made with the defaults, and one for each option. The errors are those of the
 * positions at the end, against a run by RADAU at the tolerance 1e-11, in units of the tolerance; the violation is the largest
 * gap of the pin at 40 outputs.
 *
 * Run:       options
 * Expected:  one line for each option, and "ok". Without projection the pin opens by half a millimetre. Of the metrics that of
 *            Newton's matrix, the default, takes the fewest evaluations of f. Only shorter steps reduce the error much. The exit
 *            code is 1 if the error of a run is larger than its steps allow, if a projected output leaves the pin open, or if
 *            another metric is better, and 2 if a call failed.
 */
#include "check_flag.h"
#include "models/bushing_crank.h"
#include <math.h>
#include <nvector/nvector_serial.h>

static const sunrealtype tol = 1e-6, t_end = 20;

/* Options of the system are set before it is attached, */
static int error_weights(CPMech mech) { return CPMechSetMetric(mech, CP_METRIC_ERROR); }
static int kinetic(CPMech mech) { return CPMechSetMetric(mech, CP_METRIC_KINETIC); }
static int half(CPMech mech) { return CPMechSetNewton(mech, CP_NEWTON_HALF); }
static int qr(CPMech mech) { return CPMechSetLinearSolver(mech, CP_LINSOL_QR); }
static int step_size(CPMech mech) { return CPMechSetErrorTimeScale(mech, CP_TAU_STEP); }
static int groups(CPMech mech) { return CPMechSetGroupNorms(mech, SUNTRUE); }
/* and those of the integrator afterwards. */
static int every_tenth(CPIntegrator mem) { return CPIntegratorSetProjFrequency(mem, 10, 0); }
static int violated(CPIntegrator mem) { return CPIntegratorSetProjFrequency(mem, 1, 1); }
static int unprojected(CPIntegrator mem) {
  return CPIntegratorSetErrEst(mem, CP_ERREST_UNPROJECTED);
}
static int corrections(CPIntegrator mem) { return CPIntegratorSetMaxCorrection(mem, 0.1); }
static int raw_output(CPIntegrator mem) { return CPIntegratorSetProjOutput(mem, SUNFALSE); }
static int short_steps(CPIntegrator mem) { return CPIntegratorSetMaxStep(mem, 0.05); }
static int without(CPIntegrator mem) { return CPIntegratorSetProjector(mem, NULL); }

typedef struct {
  const char *name;
  int (*system)(CPMech);
  int (*integrator)(CPIntegrator);
  int drifts; /* 1: its outputs are not on the constraints */
} Option;

static const Option option[] = {{"defaults", NULL, NULL, 0},
                                {"metric: error weights", error_weights, NULL, 0},
                                {"metric: kinetic energy", kinetic, NULL, 0},
                                {"Newton: half of the size", half, NULL, 0},
                                {"accelerations by QR", qr, NULL, 0},
                                {"velocities weighted by h", step_size, NULL, 0},
                                {"norms of q and u apart", groups, NULL, 0},
                                {"projects each tenth step", NULL, every_tenth, 0},
                                {"projects where violated", NULL, violated, 0},
                                {"unprojected estimates", NULL, unprojected, 0},
                                {"corrections <= 0.1 tol", NULL, corrections, 0},
                                {"output is not projected", NULL, raw_output, 1},
                                {"steps up to 0.05 s", NULL, short_steps, 0},
                                {"no projection", NULL, without, 1}};
enum { N = sizeof option / sizeof *option };

typedef struct {
  long int steps, evaluations;
  sunrealtype violation;
} Run;

static Run run(const char *method, sunrealtype tolerance, const Option *o, CPModel model,
               BushingCrank *crank, N_Vector y, SUNContext ctx) {
  Run r         = {0};
  sunrealtype t = 0;
  bushing_crank_initial(crank, y);
  CPMech mech      = CPMechCreate(model, y, ctx);
  CPIntegrator mem = CPIntegratorCreate(method, ctx);
  CHECK_NEW(mech);
  CHECK_NEW(mem);
  CHECK(CPMechSetUserData(mech, crank));
  if (o->system) CHECK(o->system(mech));
  CHECK(CPMechAttach(mech, mem, t, y));
  CHECK(CPIntegratorSStolerances(mem, tolerance, tolerance));
  CHECK(CPIntegratorSetMaxNumSteps(mem, -1));
  CHECK(CPIntegratorSetMinStep(mem, 1e-9)); /* Smaller ones would show a fault: the run ends. */
  if (o->integrator) CHECK(o->integrator(mem));
  for (int i = 1; i <= 40; i++) {
    CPMechOutput now = CP_INIT(CPMechOutput);
    CHECK(CPIntegratorEvolve(mem, i * t_end / 40, y, &t, CV_NORMAL));
    CHECK(CPMechEvaluate(mech, t, y, &now));
    r.violation = fmax(r.violation, now.position);
  }
  r.steps       = COUNT(mem, "steps");
  r.evaluations = COUNT(mem, "rhs_evals");
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  return r;
}

int main(void) {
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  BushingCrank crank          = bushing_crank_stiff();
  const CPEquations equations = bushing_crank_model();
  CPModel model               = CPModelCreate(&equations);
  N_Vector y = N_VNew_Serial(8, ctx), reference = N_VNew_Serial(8, ctx);
  CHECK_NEW(model);
  CHECK_NEW(y);
  CHECK_NEW(reference);
  run("RADAU", 1e-11, &option[0], model, &crank, reference, ctx);

  const sunrealtype *q = N_VGetArrayPointer(y), *exact = N_VGetArrayPointer(reference);
  int ok        = 1;
  long int best = 0;
  printf("                           steps     f  error    violation [m]\n");
  for (int i = 0; i < N; i++) {
    const Run r       = run("BDF", tol, &option[i], model, &crank, y, ctx);
    sunrealtype error = 0;
    for (int k = 0; k < BUSHING_CRANK_NQ; k++)
      error = fmax(error, fabs(q[k] - exact[k]) / (tol * (1 + fabs(exact[k]))));
    printf("%-25s  %5ld  %4ld  %5.0f  %.1e\n", option[i].name, r.steps, r.evaluations, error,
           r.violation);
    if (i == 0) best = r.evaluations;
    /* Each step may add a tolerance, with velocities that are weighted by h one that is 1/h times as large. */
    const sunrealtype allowed = option[i].system == step_size ? (sunrealtype)r.steps / t_end : 1;
    if (option[i].drifts) ok &= r.violation > 1e-8;
    else ok &= r.violation <= 1e-8 && error <= allowed * (sunrealtype)r.steps;
    if (option[i].system == error_weights || option[i].system == kinetic)
      ok &= r.evaluations > best;
  }
  printf("%s\n", ok ? "ok" : "WRONG: a run is off, or opens the pin");

  CPModelFree(&model);
  N_VDestroy(reference);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
