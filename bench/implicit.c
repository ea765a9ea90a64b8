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
#include <models/model.h>
#include <string.h>
#include <time.h>

enum { ROWS = 10, MAX_N = 80 }; /* the chain: 20 masses */

/* ---- problems ---- */

typedef struct {
  const char *name, *type; /* of the catalogue */
  int damping;             /* its parameter of this name; -1: as it is by default */
  sunrealtype t_end;
  int first; /* of the positions whose errors count; those before are prescribed */
} Problem;

static const Problem problems[] = {{"bushing", "bushing_crank", -1, 20, 0},
                                   {"flexible", "flexible_crank", 0, 0.1, 1},
                                   {"damped flexible", "flexible_crank", 1, 0.1, 1},
                                   {"chain", "bending_chain", -1, 2, 0}};

static CPModel *create_model(const Problem *p, SUNContext ctx) {
  const CPModelType *type = CHECK_POINTER((void *)model_find(p->type));
  sunrealtype values[MODEL_MOST_PARAMETERS];
  char message[200];
  for (int i = 0; i < type->nparameters; i++) values[i] = type->parameters[i].value;
  if (p->damping >= 0) values[CPModelFindParameter(type, "damping")] = p->damping;
  return CHECK_POINTER(CPModelCreate(type, values, ctx, message, sizeof message));
}

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

static int by_bdf(CPMech mech, sunrealtype t_end, sunrealtype tol, N_Vector y, Rows rows,
                  long int *steps, SUNContext ctx) {
  sunrealtype t = 0;
  CPodeMem mem  = CHECK_POINTER(CPodeCreate(CV_BDF, ctx));
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPodeSStolerances(mem, tol, tol));
  CHECK(CPodeSetErrHandlerFn(mem, quiet, NULL));
  CHECK(CVodeSetMaxNumSteps(CPodeGetCVodeMem(mem), 1000000));
  int flag = CP_SUCCESS;
  for (int row = 0; row < ROWS && flag >= 0; row++) {
    flag = CPode(mem, t_end * (row + 1) / ROWS, y, &t, CV_NORMAL);
    memcpy(rows[row], N_VGetArrayPointer(y), (size_t)N_VGetLength(y) * sizeof(sunrealtype));
  }
  CHECK(CVodeGetNumSteps(CPodeGetCVodeMem(mem), steps));
  CPodeFree(&mem);
  return flag;
}

static int by_onestep(CPMech mech, sunrealtype t_end, const char *method, sunrealtype tol,
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
    flag = CPOneStepEvolve(mem, t_end * (row + 1) / ROWS, y, &t, CV_NORMAL);
    memcpy(rows[row], N_VGetArrayPointer(y), (size_t)N_VGetLength(y) * sizeof(sunrealtype));
  }
  CHECK(CPOneStepGetStats(mem, &stats));
  *steps = stats.nst;
  CPOneStepFree(&mem);
  return flag;
}

static Outcome integrate(const CPModel *model, sunrealtype t_end, const char *method,
                         sunrealtype tol, Rows rows) {
  Outcome o = {0};
  CPMechStats stats;
  N_Vector y  = CHECK_POINTER(N_VClone(model->y0));
  CPMech mech = CHECK_POINTER(CPModelMech(model));
  N_VScale(1, model->y0, y);
  const double before = cpu_seconds();
  if (!strcmp(method, "BDF")) o.flag = by_bdf(mech, t_end, tol, y, rows, &o.steps, model->ctx);
  else o.flag = by_onestep(mech, t_end, method, tol, y, rows, &o.steps, model->ctx);
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
  CPModel *model            = create_model(p, ctx);
  const Outcome o           = integrate(model, p->t_end, reference, 1e-13, exact);
  long int newest[NMETHODS] = {0};
  memset(cost, 0, sizeof cost);
  for (int i = 0; i < NTOLS; i++) /* alternating */
    for (int k = 0; k < NMETHODS; k++) {
      if (strncmp(methods[k], only, strlen(only)) || newest[k] > MOST_FORCES) continue;
      Outcome run = integrate(model, p->t_end, methods[k], tolerance(i), rows);
      for (int row = 0; row < ROWS; row++)
        for (int c = p->first; c < CPModelNumPositions(model); c++)
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
  CPModelFree(&model);
}

int main(int argc, char **argv) {
  const char *problem = argc > 1 ? argv[1] : "", *method = argc > 2 ? argv[2] : "";
  SUNContext ctx = check_context();
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
    if (!strncmp(problems[k].name, problem, strlen(problem))) compare(&problems[k], method, ctx);
  SUNContext_Free(&ctx);
  return EXIT_SUCCESS;
}
