/* Diagonally implicit one-step methods beside BDF, on stiff and on oscillating mechanisms: the slider-crank in
 * a bushing, the flexible slider-crank, and a chain with stiff bending. Each line is the geometric mean over
 * tolerances near the one it names. The guide's chapter "One-step methods" quotes the tables.
 *
 *   implicit [problem [method]]      only these, by the beginning of their names
 */
#include "check.h"
#include "run.h"
#include <cpodes/cpodes_onestep.h>
#include <math.h>
#include <models/bending_chain.h>
#include <models/bushing_crank.h>
#include <models/flexible_crank.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <time.h>

enum { NEIGHBOURS = 3, LINKS = 20 };

/* ---- problems ---- */

/* A mechanism, and what its functions get */
typedef struct {
  const char *name;
  sunrealtype t_end;
  sunindextype n;  /* length of the state */
  int first, last; /* components whose errors count */
  CPMechModel model;
  void *data;
  void (*initial)(const void *data, N_Vector y);
} Problem;

static void start_bushing(const void *data, N_Vector y) { bushing_crank_initial(data, y); }
static void start_flexible(const void *data, N_Vector y) {
  (void)data;
  flexible_crank_initial(y);
}
static void start_chain(const void *data, N_Vector y) { bending_chain_initial(data, 0, y); }

/* ---- methods ---- */

static const char *const methods[] = {
    "BDF",         "TRBDF2_3_3_2",        "KVAERNO_4_2_3",       "ESDIRK325L2SA_5_2_3",
    "SDIRK_5_3_4", "ESDIRK436L2SA_6_3_4", "ESDIRK547L2SA_7_4_5", "ARK548L2SA_DIRK_8_4_5"};
enum { NMETHODS = sizeof methods / sizeof *methods };

typedef struct {
  int flag;
  long int steps, forces, partials, newton;
  double seconds;
  sunrealtype error;
} Outcome;

static void quiet(int code, const char *function, const char *message, void *data) {
  (void)code, (void)function, (void)message, (void)data;
}

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static int by_bdf(CPMech mech, sunrealtype tol, sunrealtype t_end, N_Vector y, long int *steps,
                  SUNContext ctx) {
  sunrealtype t = 0;
  CPodeMem mem  = CHECK_POINTER(CPodeCreate(CV_BDF, ctx));
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPodeSStolerances(mem, tol, tol));
  CHECK(CPodeSetErrHandlerFn(mem, quiet, NULL));
  CHECK(CVodeSetMaxNumSteps(CPodeGetCVodeMem(mem), 1000000));
  const int flag = CPode(mem, t_end, y, &t, CV_NORMAL);
  CHECK(CVodeGetNumSteps(CPodeGetCVodeMem(mem), steps));
  CPodeFree(&mem);
  return flag;
}

static int by_onestep(CPMech mech, const char *method, sunrealtype tol, sunrealtype t_end,
                      N_Vector y, long int *steps, SUNContext ctx) {
  sunrealtype t = 0;
  char name[64];
  CPOneStepStats stats;
  snprintf(name, sizeof name, "ARKODE_%s", method);
  CPOneStepMem mem = CHECK_POINTER(CPOneStepCreate(name, ctx));
  CHECK(CPMechAttachOneStep(mech, mem, 0, y));
  CHECK(CPOneStepSStolerances(mem, tol, tol));
  CHECK(CPOneStepSetErrHandlerFn(mem, quiet, NULL));
  CHECK(CPOneStepSetMaxNumSteps(mem, -1));
  const int flag = CPOneStepEvolve(mem, t_end, y, &t, CV_NORMAL);
  CHECK(CPOneStepGetStats(mem, &stats));
  *steps = stats.nst;
  CPOneStepFree(&mem);
  return flag;
}

/* y [n]: out, the state at the end */
static Outcome integrate(const Problem *p, const char *method, sunrealtype tol, N_Vector y,
                         SUNContext ctx) {
  Outcome o = {0};
  CPMechStats stats;
  p->initial(p->data, y);
  CPMech mech = CHECK_POINTER(CPMechCreate(&p->model, y, ctx));
  CHECK(CPMechSetUserData(mech, p->data));
  const double before = cpu_seconds();
  if (!strcmp(method, "BDF")) o.flag = by_bdf(mech, tol, p->t_end, y, &o.steps, ctx);
  else o.flag = by_onestep(mech, method, tol, p->t_end, y, &o.steps, ctx);
  o.seconds = cpu_seconds() - before;
  CHECK(CPMechGetStats(mech, &stats));
  o.forces   = stats.nf;
  o.partials = stats.npartials;
  o.newton   = stats.nnewton;
  CPMechFree(&mech);
  return o;
}

/* ---- tables ---- */

static void print_row(const Problem *p, const char *method, sunrealtype tol, N_Vector exact,
                      SUNContext ctx) {
  GeometricMean means[6] = {{0}};
  N_Vector y             = CHECK_POINTER(N_VClone(exact));
  int failures           = 0;
  for (int k = 0; k < NEIGHBOURS; k++) {
    const Outcome o = integrate(p, method, tol * pow(1.15, k - NEIGHBOURS / 2), y, ctx);
    sunrealtype off = 0;
    for (int i = p->first; i < p->last; i++)
      off = fmax(off, fabs(N_VGetArrayPointer(y)[i] - N_VGetArrayPointer(exact)[i]));
    const double values[] = {(double)o.steps,  (double)o.forces,  (double)o.partials,
                             (double)o.newton, (double)o.seconds, (double)off};
    failures += o.flag < 0;
    for (int i = 0; i < 6; i++) mean_add(&means[i], fmax(values[i], 1e-30));
  }
  printf("  %-22s %8.0f %8.0f %9.0f %8.0f %9.2f %10.1e", method, mean_value(&means[0]),
         mean_value(&means[1]), mean_value(&means[2]), mean_value(&means[3]),
         1e3 * mean_value(&means[4]), mean_value(&means[5]));
  printf(failures ? "  %d failed\n" : "\n", failures);
  N_VDestroy(y);
}

static void compare(const Problem *p, const char *only, SUNContext ctx) {
  N_Vector exact  = CHECK_POINTER(N_VNew_Serial(p->n, ctx));
  const Outcome o = integrate(p, "ESDIRK547L2SA_7_4_5", 1e-12, exact, ctx);
  printf("%s, t = 0 ... %g s; errors of positions at the end against ESDIRK547L2SA_7_4_5 at tol "
         "1e-12 (flag %d)\n",
         p->name, (double)p->t_end, o.flag);
  for (int i = 4; i <= 9; i++) {
    printf("tol 1e-%d\n  %-22s %8s %8s %9s %8s %9s %10s\n", i, "method", "steps", "f", "partials",
           "Newton", "CPU [ms]", "error");
    for (int k = 0; k < NMETHODS; k++)
      if (!strncmp(methods[k], only, strlen(only)))
        print_row(p, methods[k], pow(10, -i), exact, ctx);
  }
  N_VDestroy(exact);
}

int main(int argc, char **argv) {
  const char *problem = argc > 1 ? argv[1] : "", *method = argc > 2 ? argv[2] : "";
  SUNContext ctx         = context_create();
  BushingCrank bushing   = bushing_crank_stiff();
  FlexibleCrank flexible = flexible_crank_testset(), damped = flexible;
  damped.damping      = 1;
  BendingChain *chain = CHECK_POINTER(bending_chain_create(LINKS, 9.81, 1e5, 1e3));
  CPMechModel sparse;
  CHECK(bending_chain_model(chain, 1, ctx, &sparse));
  const Problem problems[] = {{"bushing", 20, 2 * BUSHING_CRANK_NQ, 0, BUSHING_CRANK_NQ,
                               bushing_crank_model(), &bushing, start_bushing},
                              {"flexible", 0.1, 2 * FLEXIBLE_CRANK_NQ, 1, FLEXIBLE_CRANK_NQ,
                               flexible_crank_model(), &flexible, start_flexible},
                              {"damped flexible", 0.1, 2 * FLEXIBLE_CRANK_NQ, 1, FLEXIBLE_CRANK_NQ,
                               flexible_crank_model(), &damped, start_flexible},
                              {"chain", 2, 4 * LINKS, 0, 2 * LINKS, sparse, chain, start_chain}};
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
    if (!strncmp(problems[k].name, problem, strlen(problem))) compare(&problems[k], method, ctx);
  bending_chain_model_free(&sparse);
  bending_chain_free(&chain);
  SUNContext_Free(&ctx);
  return EXIT_SUCCESS;
}
