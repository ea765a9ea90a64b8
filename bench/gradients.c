/* Errors of gradients at many end times, in tolerances: for pendulum, slider-crank and car axis, each method and the tolerances 1e-3,
 * 1e-5, 1e-7 and 1e-9 the largest
 *
 *   |dG/dp_i - reference_i| / (tol (1 + |reference_i|)),   G = y_0(t1),   t1 = T k / N,  k = 1 ... N
 *
 * over k and i, by adjoint and by forward sensitivities, where both runs get tol; failed runs; and the evaluations of f in all
 * adjoint and forward gradients, over those of the runs alone. The reference is one forward run by DOP853 at 1e-13.
 *
 *   gradients [--repeat N] [names of models or methods], N = 40 unless given */
#include "check.h"
#include "cpodes/base/differences.h"
#include "mech.h"
#include "options.h"

#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <models/car_axis.h>
#include <models/pendulum.h>
#include <models/slider_crank.h>
#include <nvector/nvector_serial.h>
#include <string.h>

enum { MOST = 4, MOST_VALUES = 16 };

typedef struct {
  const char *name;
  CPEquations (*equations)(void);
  void (*initial)(const void *values, N_Vector y);
  int n, Ns, plist[MOST];
  sunrealtype t_end, values[MOST_VALUES]; /* the struct of the model's numbers */
} Model;

static Model models[3];

static void of_pendulum(const void *values, N_Vector y) { pendulum_initial(values, y); }
static void of_crank(const void *values, N_Vector y) { slider_crank_initial(values, y); }
static void of_axis(const void *values, N_Vector y) { car_axis_initial(values, y); }

static void set_models(void) {
  const Pendulum pendulum = {1.0, 9.8};
  const SliderCrank crank = slider_crank_haug();
  const CarAxis axis      = car_axis_testset();
  models[0] = (Model){"pendulum", pendulum_model, of_pendulum, PENDULUM_N, 2, {0, 1}, 10.0, {0}};
  models[1] = (Model){
      "slider_crank", slider_crank_model, of_crank, SLIDER_CRANK_N, 4, {0, 4, 5, 6}, 10.0, {0}};
  models[2] = (Model){"car_axis", car_axis_model, of_axis, CAR_AXIS_N, 4, {1, 3, 4, 6}, 3.0, {0}};
  memcpy(models[0].values, &pendulum, sizeof pendulum);
  memcpy(models[1].values, &crank, sizeof crank);
  memcpy(models[2].values, &axis, sizeof axis);
}

/* Counts the evaluations of forces. */
static long int evaluations;
static int (*inner)(sunrealtype, const sunrealtype *, const sunrealtype *, const sunrealtype *,
                    sunrealtype *, void *);
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  evaluations++;
  return inner(t, q, u, z, f, user_data);
}

typedef struct {
  CPMech mech;
  CPIntegrator mem;
  N_Vector y, *y0S;
  CPParameters parameters;
} Run;

/* The start's derivatives are differences of sixth order. */
static void start_derivatives(Model *model, Run *run) {
  N_Vector y = CHECK_POINTER(N_VClone(run->y));
  for (int i = 0; i < model->Ns; i++) {
    sunrealtype *p         = &model->values[model->plist[i]];
    const sunrealtype kept = *p, e = 3.0e-3 * fabs(kept);
    N_VConst(0.0, run->y0S[i]);
    for (int k = -3; k <= 3; k++) {
      if (k == 0) continue;
      *p = kept + k * e;
      model->initial(model->values, y);
      N_VLinearSum(1.0, run->y0S[i], (k > 0 ? 1 : -1) * cpSixthOrder[abs(k) - 1] / e, y,
                   run->y0S[i]);
    }
    *p = kept;
  }
  N_VDestroy(y);
}

static void open_run(Model *model, const char *method, sunrealtype tol, SUNContext ctx, Run *run) {
  CPEquations equations = model->equations();
  inner                 = equations.f;
  equations.f           = forces;
  run->y                = CHECK_POINTER(N_VNew_Serial(model->n, ctx));
  run->y0S              = CHECK_POINTER(N_VCloneVectorArray(model->Ns, run->y));
  model->initial(model->values, run->y);
  start_derivatives(model, run);
  run->mech = create_mech(&equations, run->y, ctx);
  run->mem  = CHECK_POINTER(CPIntegratorCreate(method, ctx));
  CHECK(CPMechSetUserData(run->mech, model->values));
  CHECK(CPMechAttach(run->mech, run->mem, 0.0, run->y));
  CHECK(CPIntegratorSStolerances(run->mem, tol, tol));
  CHECK(CPIntegratorSetMaxNumSteps(run->mem, -1));
  run->parameters = (CPParameters){CP_SIZED(CPParameters), .n = model->Ns, .values = model->values,
                                   .plist = model->plist, .y0S = run->y0S};
}

static void close_run(Model *model, Run *run) {
  CPIntegratorFree(&run->mem);
  CPMechFree(&run->mech);
  N_VDestroyVectorArray(run->y0S, model->Ns);
  N_VDestroy(run->y);
}

/* reference [N Ns] <- the derivatives at all end times */
static void find_reference(Model *model, int N, SUNContext ctx, sunrealtype *reference) {
  Run run;
  sunrealtype t;
  open_run(model, "DOP853", 1.0e-13, ctx, &run);
  CPSens sens = CHECK_POINTER(CPSensCreate(&run.parameters, run.y, ctx));
  N_Vector *s = CHECK_POINTER(N_VCloneVectorArray(model->Ns, run.y));
  CHECK(CPSensSetErrCon(sens, 1));
  CHECK(CPIntegratorSetSens(run.mem, sens));
  for (int k = 1; k <= N; k++) {
    CHECK(CPIntegratorEvolve(run.mem, model->t_end * k / N, run.y, &t, CV_NORMAL));
    CHECK(CPSensGetDky(sens, t, 0, s));
    for (int i = 0; i < model->Ns; i++)
      reference[(k - 1) * model->Ns + i] = N_VGetArrayPointer(s[i])[0];
  }
  CPIntegratorFree(&run.mem);
  CPSensFree(&sens);
  N_VDestroyVectorArray(s, model->Ns);
  close_run(model, &run);
}

static int first(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = N_VGetArrayPointer(y)[0];
  return 0;
}

static void compare(Model *model, const char *method, sunrealtype tol, int N, SUNContext ctx,
                    const sunrealtype *reference) {
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = first};
  sunrealtype worst[2] = {0.0}, at[2] = {0.0}, G, dG[MOST];
  double work[3] = {0.0};
  int fails      = 0;
  for (int k = 1; k <= N; k++)
    for (int mode = 0; mode < 3; mode++) {
      const sunrealtype t1      = model->t_end * k / N;
      CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = tol,
                                   .mode = (CPGradientMode)mode};
      Run run;
      sunrealtype t;
      open_run(model, method, tol, ctx, &run);
      evaluations = 0;
      if (mode == 2) CHECK(CPIntegratorEvolve(run.mem, t1, run.y, &t, CV_NORMAL));
      else if (CPIntegratorGradient(run.mem, t1, &F, &run.parameters, &options, &G, dG, NULL)) {
        fprintf(stderr, "%s\n", CPObjectGetLastMessage(CP_OBJECT(run.mem)));
        fails++;
      } else
        for (int i = 0; i < model->Ns; i++) {
          const sunrealtype exact = reference[(k - 1) * model->Ns + i];
          const sunrealtype off   = fabs(dG[i] - exact) / (tol * (1.0 + fabs(exact)));
          if (!(off <= worst[mode])) worst[mode] = off, at[mode] = t1;
        }
      work[mode] += (double)evaluations;
      close_run(model, &run);
    }
  printf("%-12s %-6s %.0e  adjoint %8.3g (t1 = %6.3f)  forward %8.3g (%6.3f)  failed %d  "
         "evaluations forward of the adjoint %5.2f\n",
         model->name, method, tol, worst[0], at[0], worst[1], at[1], fails, work[0] / work[2]);
  fflush(stdout);
}

/* Does one of the names, or none of the names of its kind, say so? */
static int is_chosen(const Options *options, const char *name, const char *kind) {
  int others = 0;
  for (int i = 0; i < options->nnames; i++) {
    if (!strcmp(options->names[i], name)) return 1;
    others |= strstr(kind, options->names[i]) != NULL;
  }
  return !others;
}

int main(int argc, char **argv) {
  Options options = options_parse(argc, argv, "errors of gradients at many end times",
                                  "pendulum, slider_crank, car_axis, DOP853, RADAU, BDF, ADAMS", 40);
  static const char *const methods[] = {"DOP853", "RADAU", "BDF", "ADAMS"};
  const int N                        = options.repeat > 0 ? options.repeat : 1;
  SUNContext ctx                     = check_context();
  set_models();
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    sunrealtype *reference = CHECK_POINTER(malloc((size_t)(N * models[m].Ns) * sizeof *reference));
    const int chosen       = is_chosen(&options, models[m].name, "pendulum slider_crank car_axis");
    if (chosen) find_reference(&models[m], N, ctx, reference);
    for (size_t k = 0; chosen && k < sizeof methods / sizeof *methods; k++)
      for (int e = 3; e <= 9 && is_chosen(&options, methods[k], "DOP853 RADAU BDF ADAMS"); e += 2)
        compare(&models[m], methods[k], pow(10.0, -e), N, ctx, reference);
    free(reference);
  }
  SUNContext_Free(&ctx);
  options_close(&options);
  return 0;
}
