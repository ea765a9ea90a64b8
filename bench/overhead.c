/* A mechanism, integrated once; overhead.sh counts the instructions of this program.
 *
 *   overhead METHOD FORM [MECHANISM]   METHOD bdf, adams, dop853   FORM none, projector, mechanics
 *                                      MECHANISM of the catalogue, default pendulum
 *
 * none: CVODES alone (not with dop853); projector: f, c and G by hand; mechanics: CPMech by M, A
 * and forces, with partial derivatives. Tolerance 1e-8, t = 0 ... 20 for the pendulum. Prints
 * steps, attempts, evaluations of f and the error at the end. */
#include "check.h"
#include "run.h"
#include <cpodes/cpodes_integrator.h>
#include <models/counters.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype tolerance = 1.0e-8;

static const struct {
  const char *name;
  Projected by;
} forms[] = {{"none", BY_NOBODY}, {"projector", BY_CPODES}, {"mechanics", BY_MECHANICS}};
enum { NFORMS = sizeof forms / sizeof forms[0] };

static int integrate(const char *name, const RunOptions *options) {
  SUNContext ctx       = check_context();
  Mechanism *mechanism = mechanism_create(name, ctx);
  const Figures f      = run_timed(mechanism, options, ctx);
  printf("%ld steps, %ld attempts, %ld evaluations of f, error %.1e\n", f.steps,
         f.steps + f.rejected, f.rhs, (double)f.error);
  mechanism_free(&mechanism);
  SUNContext_Free(&ctx);
  return f.flag < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A function of its own, within which instructions are counted: the first step includes the start. */
__attribute__((noinline)) static int remaining_steps(CPIntegrator mem, sunrealtype t_end,
                                                     N_Vector y) {
  sunrealtype t;
  return CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
}

static int integrate_onestep(const char *name, Projected by) {
  SUNContext ctx       = check_context();
  Mechanism *mechanism = mechanism_create(name, ctx);
  CPPlugin *model      = mechanism->model;
  N_Vector y           = CHECK_POINTER(N_VClone(model->y0));
  N_Vector c           = CHECK_POINTER(N_VNew_Serial(model->m, ctx));
  SUNMatrix dense = NULL, G = model->G_tmpl;
  CPIntegrator mem = CHECK_POINTER(CPIntegratorCreate("DOP853", ctx));
  CPMech mech      = NULL;
  CPProjector P    = NULL;
  IntegratorCounters stats;
  sunrealtype t;
  if (!G) G = dense = CHECK_POINTER(SUNDenseMatrix(model->m, model->n, ctx));
  N_VScale(1.0, model->y0, y);
  if (by == BY_MECHANICS) {
    mech = CHECK_POINTER(CPPluginMech(model));
    CHECK(CPMechAttach(mech, mem, 0, y));
  } else {
    P = CHECK_POINTER(CPProjectorCreate(model->c, y, c, ctx));
    CHECK(CPProjectorSetJacFn(P, model->G, G));
    CHECK(CPProjectorSetUserData(P, model->data));
    CHECK(CPIntegratorInit(mem, model->f, 0, y));
    CHECK(CPIntegratorSetUserData(mem, model->data));
    CHECK(CPIntegratorSetProjector(mem, P));
  }
  CHECK(CPIntegratorSStolerances(mem, tolerance, tolerance));
  CHECK(CPIntegratorSetStopTime(mem, mechanism->t_end));
  int flag = CPIntegratorEvolve(mem, mechanism->t_end, y, &t, CV_ONE_STEP);
  if (flag == CP_SUCCESS) flag = remaining_steps(mem, mechanism->t_end, y);
  CHECK(integrator_counters(mem, &stats));
  printf("%ld steps, %ld attempts, %ld evaluations of f, error %.1e\n", stats.nst, stats.nattempts,
         stats.nfe, (double)mechanism_error(mechanism, y));
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPProjectorFree(&P);
  if (dense) SUNMatDestroy(dense);
  N_VDestroy(c);
  N_VDestroy(y);
  mechanism_free(&mechanism);
  SUNContext_Free(&ctx);
  return flag < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  RunOptions options = {.tol = tolerance};
  const char *name   = argc == 4 ? argv[3] : "pendulum";
  int form = 0, onestep = 0;
  if (argc >= 3 && !strcmp(argv[1], "bdf")) options.lmm = CV_BDF;
  if (argc >= 3 && !strcmp(argv[1], "adams")) options.lmm = CV_ADAMS;
  if (argc >= 3 && !strcmp(argv[1], "dop853")) onestep = 1;
  while (form < NFORMS && argc >= 3 && strcmp(argv[2], forms[form].name)) form++;
  if (argc > 4 || !(options.lmm || onestep) || form == NFORMS ||
      (onestep && forms[form].by == BY_NOBODY)) {
    fprintf(stderr, "usage: overhead bdf|adams|dop853 none|projector|mechanics [MECHANISM]\n");
    return EXIT_FAILURE;
  }
  if (onestep) return integrate_onestep(name, forms[form].by);
  options.by = forms[form].by;
  return integrate(name, &options);
}
