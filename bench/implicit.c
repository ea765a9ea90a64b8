/* Diagonally implicit one-step methods beside BDF, on stiff and on oscillating mechanisms: the slider-crank in
 * a bushing, the flexible slider-crank, and a chain with stiff bending: what errors below given bounds take,
 * of runs with four tolerances in each decade. The guide's chapter "One-step methods" quotes the tables.
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

enum { LINKS = 20, ROWS = 10, MAX_N = 4 * LINKS };

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
  long int steps, forces, newton;
  double seconds;
  sunrealtype error;
} Outcome;

static void quiet(int code, const char *function, const char *message, void *data) {
  (void)code, (void)function, (void)message, (void)data;
}

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* States at ROWS times */
typedef sunrealtype Rows[ROWS][MAX_N];

static int by_bdf(CPMech mech, const Problem *p, sunrealtype tol, N_Vector y, Rows rows,
                  long int *steps, SUNContext ctx) {
  sunrealtype t = 0;
  CPodeMem mem  = CHECK_POINTER(CPodeCreate(CV_BDF, ctx));
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPodeSStolerances(mem, tol, tol));
  CHECK(CPodeSetErrHandlerFn(mem, quiet, NULL));
  CHECK(CVodeSetMaxNumSteps(CPodeGetCVodeMem(mem), 1000000));
  int flag = CP_SUCCESS;
  for (int row = 0; row < ROWS && flag >= 0; row++) {
    flag = CPode(mem, p->t_end * (row + 1) / ROWS, y, &t, CV_NORMAL);
    memcpy(rows[row], N_VGetArrayPointer(y), (size_t)p->n * sizeof(sunrealtype));
  }
  CHECK(CVodeGetNumSteps(CPodeGetCVodeMem(mem), steps));
  CPodeFree(&mem);
  return flag;
}

static int by_onestep(CPMech mech, const Problem *p, const char *method, sunrealtype tol,
                      N_Vector y, Rows rows, long int *steps, SUNContext ctx) {
  sunrealtype t = 0;
  char name[64];
  CPOneStepStats stats;
  snprintf(name, sizeof name, "ARKODE_%s", method);
  CPOneStepMem mem = CHECK_POINTER(CPOneStepCreate(name, ctx));
  CHECK(CPMechAttachOneStep(mech, mem, 0, y));
  CHECK(CPOneStepSStolerances(mem, tol, tol));
  CHECK(CPOneStepSetErrHandlerFn(mem, quiet, NULL));
  CHECK(CPOneStepSetMaxNumSteps(mem, -1));
  int flag = CP_SUCCESS;
  for (int row = 0; row < ROWS && flag >= 0; row++) {
    flag = CPOneStepEvolve(mem, p->t_end * (row + 1) / ROWS, y, &t, CV_NORMAL);
    memcpy(rows[row], N_VGetArrayPointer(y), (size_t)p->n * sizeof(sunrealtype));
  }
  CHECK(CPOneStepGetStats(mem, &stats));
  *steps = stats.nst;
  CPOneStepFree(&mem);
  return flag;
}

static Outcome integrate(const Problem *p, const char *method, sunrealtype tol, Rows rows,
                         SUNContext ctx) {
  Outcome o = {0};
  CPMechStats stats;
  N_Vector y = CHECK_POINTER(N_VNew_Serial(p->n, ctx));
  p->initial(p->data, y);
  CPMech mech = CHECK_POINTER(CPMechCreate(&p->model, y, ctx));
  CHECK(CPMechSetUserData(mech, p->data));
  const double before = cpu_seconds();
  if (!strcmp(method, "BDF")) o.flag = by_bdf(mech, p, tol, y, rows, &o.steps, ctx);
  else o.flag = by_onestep(mech, p, method, tol, y, rows, &o.steps, ctx);
  o.seconds = cpu_seconds() - before;
  CHECK(CPMechGetStats(mech, &stats));
  o.forces = stats.nf;
  o.newton = stats.nnewton;
  CPMechFree(&mech);
  N_VDestroy(y);
  return o;
}

/* ---- tables ---- */

static const sunrealtype targets[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
enum { NTARGETS = sizeof targets / sizeof *targets, NTOLS = 37 };

/* Of a run after which a method is given no smaller tolerance */
enum { MOST_FORCES = 60000 };

static sunrealtype tolerance(int i) { return pow(10, -2 - i / 4.0); }

/* What it takes to have an error below target: the run with the fewest evaluations of f. */
typedef struct {
  long int forces, newton; /* forces 0: no run has one */
  double seconds;
} Cost;

static void note(Cost cost[NTARGETS], const Outcome *o) {
  for (int j = 0; j < NTARGETS; j++)
    if (o->flag >= 0 && o->error <= targets[j] && (!cost[j].forces || o->forces < cost[j].forces))
      cost[j] = (Cost){o->forces, o->newton, o->seconds};
}

static void print_costs(const char *method, const Cost cost[NTARGETS]) {
  printf("  %-22s", method);
  for (int j = 0; j < NTARGETS; j++)
    if (cost[j].forces)
      printf(" %7ld %5ld %7.2f", cost[j].forces, cost[j].newton, 1e3 * cost[j].seconds);
    else printf(" %7s %5s %7s", "-", "-", "-");
  printf("\n");
}

static void compare(const Problem *p, const char *only, SUNContext ctx) {
  static const char reference[] = "ESDIRK547L2SA_7_4_5";
  static Cost cost[NMETHODS][NTARGETS];
  static Rows exact, rows;
  const Outcome o           = integrate(p, reference, 1e-13, exact, ctx);
  long int newest[NMETHODS] = {0};
  memset(cost, 0, sizeof cost);
  for (int i = 0; i < NTOLS; i++) /* alternating */
    for (int k = 0; k < NMETHODS; k++) {
      if (strncmp(methods[k], only, strlen(only)) || newest[k] > MOST_FORCES) continue;
      Outcome run = integrate(p, methods[k], tolerance(i), rows, ctx);
      for (int row = 0; row < ROWS; row++)
        for (int c = p->first; c < p->last; c++)
          run.error = fmax(run.error, fabs(rows[row][c] - exact[row][c]));
      newest[k] = run.forces;
      note(cost[k], &run);
    }
  printf("%s, t = 0 ... %g s: evaluations of f, factorisations and CPU [ms] for errors of "
         "positions below "
         "(reference: %s, tol 1e-13%s)\n  %-22s",
         p->name, (double)p->t_end, reference, o.flag < 0 ? ", FAILED" : "", "");
  for (int j = 0; j < NTARGETS; j++) printf(" %21.0e", (double)targets[j]);
  printf("\n");
  for (int k = 0; k < NMETHODS; k++)
    if (!strncmp(methods[k], only, strlen(only))) print_costs(methods[k], cost[k]);
  fflush(stdout);
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
