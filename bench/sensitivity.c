/* The cost of sensitivities, on a hanging chain of 50 masses with bending springs and 100
 * parameters: inertia and drag of each mass.
 *
 *     (I + diag(m)) u' + A^T lambda = f(q, u) - diag(e) u,   p = (m_1 ... m_50, e_1 ... e_50)
 *
 * with analytic partial derivatives (examples/models/bending_chain.h, and those below):
 *
 *   - Ns forward sensitivities, relative to Ns times a run of the states alone;
 *   - the gradient of one functional for all 100 parameters, by the adjoint method, relative to one
 *     forward run, in time and in evaluations of f, and compared with forward sensitivities for three of them. */
#include "check.h"
#include "mech.h"
#include "options.h"
#include "timing.h"
#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <models/bending_chain.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <time.h>

enum { MASSES = 50, NP = 2 * MASSES };

typedef struct {
  BendingChain *chain;
  CPEquations inner;   /* the chain's functions, whose user_data is chain */
  sunrealtype p[NP];   /* m [kg], e [kg/s] */
  sunrealtype one[NP]; /* scales of the parameters */
  int plist[NP];       /* parameter of each sensitivity */
} Model;

static int masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  const Model *model = user_data;
  const int flag     = model->inner.M(t, q, M, model->chain);
  for (int j = 0; j < 2 * MASSES; j++)
    for (sunindextype k = SM_INDEXPTRS_S(M)[j]; k < SM_INDEXPTRS_S(M)[j + 1]; k++)
      if (SM_INDEXVALS_S(M)[k] == j) SM_DATA_S(M)[k] += model->p[j / 2];
  return flag;
}
static int rods(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  return ((Model *)user_data)->inner.A(t, q, A, ((Model *)user_data)->chain);
}
static long int evaluations;
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  const Model *model = user_data;
  const int flag     = model->inner.f(t, q, u, z, f, model->chain);
  evaluations++;
  for (int j = 0; j < 2 * MASSES; j++) f[j] -= model->p[MASSES + j / 2] * u[j];
  return flag;
}
static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  return ((Model *)user_data)->inner.p(t, q, p, ((Model *)user_data)->chain);
}
static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *user_data) {
  return ((Model *)user_data)->inner.v(t, q, u, v, ((Model *)user_data)->chain);
}
static int right_sides(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                       void *user_data) {
  return ((Model *)user_data)->inner.b(t, q, u, b, ((Model *)user_data)->chain);
}
static int dynamics(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *udot, const sunrealtype *lambda, SUNMatrix K, SUNMatrix C,
                    SUNMatrix Fz, void *user_data) {
  const Model *model = user_data;
  const int flag     = model->inner.dynamics_jac(t, q, u, z, udot, lambda, K, C, Fz, model->chain);
  for (int j = 0; j < 2 * MASSES; j++)
    for (sunindextype k = SM_INDEXPTRS_S(C)[j]; k < SM_INDEXPTRS_S(C)[j + 1]; k++)
      if (SM_INDEXVALS_S(C)[k] == j) SM_DATA_S(C)[k] -= model->p[MASSES + j / 2];
  return flag;
}
static int constraints(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  const Model *model = user_data;
  return model->inner.constraint_jac(t, q, u, udot, Bq, Bu, model->chain);
}
static int parameters(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                      int iS, sunrealtype *Fp, sunrealtype *Bp, sunrealtype *pp, sunrealtype *vp,
                      sunrealtype *Zp, void *user_data) {
  (void)t, (void)q, (void)z, (void)lambda, (void)Bp, (void)pp, (void)vp, (void)Zp;
  const int parameter = ((const Model *)user_data)->plist[iS], i = parameter % MASSES;
  for (int k = 2 * i; k < 2 * i + 2; k++) Fp[k] = parameter < MASSES ? -udot[k] : -u[k];
  return 0;
}

/* Height of the last mass at the end */
static int height(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = N_VGetArrayPointer(y)[2 * MASSES - 1];
  return 0;
}
static int height_gradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                           void *user_data) {
  (void)t, (void)y, (void)k, (void)gp, (void)user_data;
  N_VGetArrayPointer(gy)[2 * MASSES - 1] = 1.0;
  return 0;
}
static const CPFunctional functional = {CP_SIZED(CPFunctional), .ng = 1, .end = height,
                                        .end_grad = height_gradient};
enum { TIMES = 100 };

/* ---- runs ---- */

typedef struct {
  Model model;
  SUNContext ctx;
  CPMech mech;
  CPIntegrator mem;
  CPParameters parameters;
  CPSens sens;
  N_Vector y0, y, *s;
  int Ns;
  double seconds; /* of CPU time, of the newest run */
} Run;

static const sunrealtype t_end = 1.0, tol = 1.0e-6;

static void open_run(Run *run, const char *method, int Ns, const int *plist) {
  memset(run, 0, sizeof *run);
  Model *model = &run->model;
  run->Ns      = Ns;
  run->ctx     = check_context();
  model->chain = CHECK_POINTER(bending_chain_create(MASSES, 9.81, 10.0, 0.1));
  for (int i = 0; i < NP; i++) {
    model->p[i]     = 0.1;
    model->one[i]   = 1.0;
    model->plist[i] = plist && i < Ns ? plist[i] : i;
  }
  CHECK(bending_chain_model(model->chain, 1, run->ctx, &model->inner));
  CPEquations outer    = model->inner;
  outer.M              = masses;
  outer.A              = rods;
  outer.f              = forces;
  outer.p              = positions;
  outer.v              = velocities;
  outer.b              = right_sides;
  outer.dynamics_jac   = dynamics;
  outer.constraint_jac = constraints;
  outer.udot           = NULL; /* those of the chain ignore p */
  outer.udot_jac       = NULL;
  run->y0              = CHECK_POINTER(N_VNew_Serial(4 * MASSES, run->ctx));
  run->y               = CHECK_POINTER(N_VClone(run->y0));
  bending_chain_initial(model->chain, 0.5, run->y0);
  run->mech = create_mech(&outer, run->y0, run->ctx);
  run->mem  = CHECK_POINTER(CPIntegratorCreate(method, run->ctx));
  CHECK(CPMechSetUserData(run->mech, model));
  CHECK(CPMechAttach(run->mech, run->mem, 0.0, run->y0));
  CHECK(CPIntegratorSStolerances(run->mem, tol, tol));
  CHECK(CPIntegratorSetMaxNumSteps(run->mem, 1000000));
  CHECK(CPMechSetParamPartialsFn(run->mech, parameters));
  run->parameters =
      (CPParameters){CP_SIZED(CPParameters), .n = NP, .values = model->p, .pbar = model->one};
  if (Ns == 0) return;
  run->s = CHECK_POINTER(N_VCloneVectorArray(Ns, run->y0));
  for (int i = 0; i < Ns; i++) N_VConst(0.0, run->s[i]);
  run->parameters.n = Ns, run->parameters.plist = model->plist;
  run->sens = CHECK_POINTER(CPSensCreate(&run->parameters, run->y0, run->ctx));
  CHECK(CPIntegratorSetSens(run->mem, run->sens));
}

static void close_run(Run *run) {
  CPIntegratorFree(&run->mem);
  CPSensFree(&run->sens);
  CPMechFree(&run->mech);
  bending_chain_model_free(&run->model.inner);
  bending_chain_free(&run->model.chain);
  if (run->s) N_VDestroyVectorArray(run->s, run->Ns);
  N_VDestroy(run->y0);
  N_VDestroy(run->y);
  SUNContext_Free(&run->ctx);
}

static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void restart(Run *run) {
  CHECK(CPIntegratorReInit(run->mem, 0.0, run->y0));
  if (run->sens) CHECK(CPSensReInit(run->sens, NULL));
}

static void forward(Run *run) {
  sunrealtype t;
  restart(run);
  const double start = cpu();
  CHECK(CPIntegratorEvolve(run->mem, t_end, run->y, &t, CV_NORMAL));
  run->seconds = cpu() - start;
  if (run->sens) CHECK(CPSensGetDky(run->sens, t, 0, run->s));
}

static void adjoint(Run *run, int ntimes, sunrealtype *G, sunrealtype *dG) {
  sunrealtype times[TIMES];
  CPFunctional F = functional;
  for (int j = 0; j < ntimes; j++) times[j] = (j + 1) * t_end / ntimes;
  F.times = times, F.ntimes = ntimes;
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = tol};
  restart(run);
  const double start = cpu();
  CHECK(CPIntegratorGradient(run->mem, t_end, &F, &run->parameters, &options, G, dG, NULL));
  run->seconds = cpu() - start;
}

/* ---- tables ---- */

static long int steps_of(const Run *run) {
  sunrealtype steps = 0.0;
  CHECK(CPObjectGetStat(CP_OBJECT(run->mem), "steps", &steps));
  return (long int)steps;
}

static void cost_of_forward(const char *method, int rounds) {
  const int counts[] = {1, 2, 4, 8, 16};
  printf("%-5s %4s %8s %10s %22s\n", "", "Ns", "steps", "CPU [s]", "(run - states)/(Ns states)");
  for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
    Run states, run;
    double least_states = INFINITY, least = INFINITY;
    open_run(&states, method, 0, NULL);
    open_run(&run, method, counts[k], NULL);
    for (int i = 0; i < rounds; i++) {
      forward(&states);
      forward(&run);
      least_states = fmin(least_states, states.seconds);
      least        = fmin(least, run.seconds);
    }
    printf("%-5s %4d %8ld %10.4f %22.2f\n", method, counts[k], steps_of(&run), least,
           (least - least_states) / (counts[k] * least_states));
    close_run(&states);
    close_run(&run);
  }
}

static void cost_of_adjoint(const char *method, int rounds) {
  const int plist[] = {0, 24, 60};
  Run states, run, few;
  long int of_states = 0, of_adjoint = 0, of_times = 0;
  sunrealtype G, dG[NP];
  double least_states = INFINITY, least = INFINITY, off = 0.0, size = 0.0;
  open_run(&states, method, 0, NULL);
  open_run(&run, method, 0, NULL);
  open_run(&few, method, 3, plist);
  CHECK(CPSensSetErrCon(few.sens, SUNTRUE));
  for (int i = 0; i < rounds; i++) {
    evaluations = 0;
    forward(&states);
    of_states = evaluations;
    adjoint(&run, TIMES, &G, dG);
    of_times = evaluations - of_states;
    adjoint(&run, 1, &G, dG);
    of_adjoint   = evaluations - of_states - of_times;
    least_states = fmin(least_states, states.seconds);
    least        = fmin(least, run.seconds);
  }
  forward(&few);
  for (int i = 0; i < 3; i++) {
    const sunrealtype value = N_VGetArrayPointer(few.s[i])[2 * MASSES - 1];
    off                     = fmax(off, fabs(value - dG[plist[i]]));
    size                    = fmax(size, fabs(value));
  }
  printf("%-5s gradient by %d parameters: %.2f times the evaluations of a forward run (%ld of "
         "%ld), at %d times %.2f times as many, %.2f times the time (%.4f s of "
         "%.4f s), off forward by %.1e\n",
         method, NP, (double)of_adjoint / (double)of_states, of_adjoint, of_states, TIMES,
         (double)of_times / (double)of_adjoint, least / least_states, least, least_states,
         off / size);
  close_run(&states);
  close_run(&run);
  close_run(&few);
}

int main(int argc, char **argv) {
  Options options = options_parse(argc, argv, "cost of sensitivities", "forward, adjoint", 2);
  static const char *const methods[] = {"BDF", "ADAMS", "RADAU", "DOP853"};
  const int rounds                   = options.repeat > 0 ? options.repeat : 1;
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    if (options_select(&options, "forward")) cost_of_forward(methods[k], rounds);
    if (options_select(&options, "adjoint")) cost_of_adjoint(methods[k], rounds);
  }
  options_close(&options);
  return 0;
}
