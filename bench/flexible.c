/* Error control for stiff mechanisms: the flexible slider-crank (examples/models/flexible_crank.h)
 * by BDF, with velocity errors weighted with a time scale, with the order limited, and both; and by
 * Adams' methods for comparison. The guide's chapter "Error control for stiff mechanisms" quotes
 * the table.
 *
 *   flexible [damped]      damped: half a percent of the critical damping in the rod */
#include "check.h"
#include "mech.h"
#include "run.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <models/counters.h>
#include <models/flexible_crank.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { NQ = FLEXIBLE_CRANK_NQ, N = 2 * NQ, NTOLS = 15, ROWS = 10 };

static const sunrealtype t_end = 0.1;

typedef struct {
  const char *name;
  int lmm, maxord;
  sunrealtype tau;
} Variant;

static const Variant variants[] = {
    {"BDF", CV_BDF, 0, 0},
    {"BDF, order 2", CV_BDF, 2, 0},
    {"BDF, tau = step", CV_BDF, 0, CP_TAU_STEP},
    {"BDF, order 2, tau = step", CV_BDF, 2, CP_TAU_STEP},
    {"BDF, tau = 1e-3", CV_BDF, 0, 1e-3},
    {"BDF, order 2, tau = 1e-3", CV_BDF, 2, 1e-3},
    {"BDF, tau = 1e-5", CV_BDF, 0, 1e-5},
    {"BDF, order 2, tau = 1e-5", CV_BDF, 2, 1e-5},
    {"Adams", CV_ADAMS, 0, 0},
};
enum { NVARIANTS = sizeof variants / sizeof *variants };

typedef struct {
  int flag;
  long int steps, forces, newton;
  sunrealtype rigid;   /* largest error of phi2 [rad] and x3 [m], at ROWS times */
  sunrealtype elastic; /* of q1, ..., q4 [m] */
  sunrealtype y[ROWS][N];
} Outcome;

static void quiet(int code, const char *function, const char *message, void *data) {
  (void)code, (void)function, (void)message, (void)data;
}

static Outcome integrate(FlexibleCrank *crank, const Variant *v, sunrealtype tol, SUNContext ctx) {
  Outcome o         = {0};
  CPEquations model = flexible_crank_model();
  N_Vector y        = CHECK_POINTER(N_VNew_Serial(N, ctx));
  flexible_crank_initial(y);

  CPMech mech = create_mech(&model, y, ctx);
  CHECK(CPMechSetUserData(mech, crank));
  CHECK(CPMechSetErrorTimeScale(mech, v->tau));

  CPIntegrator mem = CHECK_POINTER(CPIntegratorCreate(v->lmm == CV_BDF ? "BDF" : "ADAMS", ctx));
  SUNNonlinearSolver fp = CHECK_POINTER(SUNNonlinSol_FixedPoint(y, 0, ctx));
  CHECK(CPMechAttach(mech, mem, 0, y));
  if (v->maxord) CHECK(CVodeSetMaxOrd(CPIntegratorGetCVodeMem(mem), v->maxord));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(mem), quiet, NULL));
  if (v->lmm == CV_ADAMS) CHECK(CPIntegratorSetNonlinearSolver(mem, fp));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 1000000));

  sunrealtype t = 0;
  for (int row = 0; row < ROWS && o.flag >= 0; row++) {
    o.flag = CPIntegratorEvolve(mem, t_end * (row + 1) / ROWS, y, &t, CV_NORMAL);
    memcpy(o.y[row], N_VGetArrayPointer(y), sizeof o.y[row]);
  }
  MechCounters stats;
  CHECK(mech_counters(mech, &stats));
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &o.steps));
  o.forces = stats.nf;
  o.newton = stats.nnewton;
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  SUNNonlinSolFree(fp);
  N_VDestroy(y);
  return o;
}

static void compare(Outcome *o, const Outcome *reference) {
  for (int row = 0; row < ROWS; row++)
    for (int i = 1; i < NQ; i++) { /* phi1 is prescribed */
      sunrealtype *error = i < 3 ? &o->rigid : &o->elastic;
      *error             = fmax(*error, fabs(o->y[row][i] - reference->y[row][i]));
    }
}

/* ---- tables ---- */

static sunrealtype tolerance(int i) { return pow(10, -3 - i / 2.0); }

static void print_runs(const Variant *v, const Outcome *runs) {
  printf("%s\n  %8s %8s %8s %8s %10s %10s\n", v->name, "tol", "steps", "f", "Newton", "rigid",
         "elastic");
  for (int i = 0; i < NTOLS; i++)
    if (runs[i].flag < 0)
      printf("  %8.0e failed: %d after %ld steps\n", (double)tolerance(i), runs[i].flag,
             runs[i].steps);
    else
      printf("  %8.1e %8ld %8ld %8ld %10.1e %10.1e\n", (double)tolerance(i), runs[i].steps,
             runs[i].forces, runs[i].newton, (double)runs[i].rigid, (double)runs[i].elastic);
}

/* The fewest evaluations of f with an error of the rod below target, or 0 if no run has one */
static long int fewest_forces(const Outcome *runs, sunrealtype target) {
  long int fewest = 0;
  for (int i = 0; i < NTOLS; i++)
    if (runs[i].flag >= 0 && runs[i].elastic <= target && (!fewest || runs[i].forces < fewest))
      fewest = runs[i].forces;
  return fewest;
}

static void print_summary(Outcome runs[NVARIANTS][NTOLS]) {
  static const sunrealtype targets[] = {3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7, 1e-8};
  enum { NTARGETS = sizeof targets / sizeof *targets };
  printf("\nFewest evaluations of f for an error of the rod [m], whose bending has the size 8e-4, "
         "below\n");
  printf("  %-26s", "");
  for (int j = 0; j < NTARGETS; j++) printf(" %7.0e", (double)targets[j]);
  printf("\n");
  for (int k = 0; k < NVARIANTS; k++) {
    printf("  %-26s", variants[k].name);
    for (int j = 0; j < NTARGETS; j++) {
      const long int fewest = fewest_forces(runs[k], targets[j]);
      if (fewest) printf(" %7ld", fewest);
      else printf(" %7s", "-");
    }
    printf("\n");
  }
}

int main(int argc, char **argv) {
  const sunrealtype fine = 1e-13;
  const Variant by_adams = {"reference", CV_ADAMS, 0, 0};
  static Outcome runs[NVARIANTS][NTOLS];
  SUNContext ctx      = check_context();
  FlexibleCrank crank = flexible_crank_testset();
  crank.damping       = argc > 1 && !strcmp(argv[1], "damped");
  const Outcome exact = integrate(&crank, &by_adams, fine, ctx);
  CHECK(exact.flag);
  printf("flexible slider-crank, %s, t = 0 ... %g s; errors against Adams at tol %.0e\n",
         crank.damping > 0 ? "damped" : "undamped", (double)t_end, (double)fine);
  for (int k = 0; k < NVARIANTS; k++) {
    for (int i = 0; i < NTOLS; i++) {
      runs[k][i] = integrate(&crank, &variants[k], tolerance(i), ctx);
      compare(&runs[k][i], &exact);
    }
    print_runs(&variants[k], runs[k]);
  }
  print_summary(runs);
  SUNContext_Free(&ctx);
  return EXIT_SUCCESS;
}
