/* Example: two parameters of the car axis from noisy measurements, by GSL's nonlinear least squares.
 *
 *   data_k = yl(t_k) + noise,  t_k = 0.01 k,  k = 1 ... 150     height of the left end
 *   m: mass of the chassis,   L0: free length of the springs    (true: 10 and 0.5; start: 9 and 0.48)
 *
 *   minimise sum_k (yl(t_k; m, L0) - data_k)^2,   Jacobian: forward sensitivities, one run
 *
 * The length of the axle and the road are known: the constraints depend on time, but not on the
 * parameters; the initial state does. The noise is uniform, at most 2e-4, and the same in every run.
 *
 * Run:       car_axis_fit
 * Expected:  some lines of the iteration, the fitted parameters within three standard deviations
 *            of the true ones, and "ok". The exit code is 1 if they are not, and 2 if a call failed.
 * Source:    Test Set for IVP Solvers, "caraxis"; M. Galassi et al., GNU Scientific Library, chapter
 *            "Nonlinear least-squares fitting".
 */
#include "check_flag.h"
#include "models/car_axis.h"
#include <cpodes/cpodes_sens.h>
#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <nvector/nvector_serial.h>

enum { BY_M, BY_L0, NS, NDATA = 150, LEFT_HEIGHT = 1 };

typedef struct {
  CarAxis axis;
  CPIntegrator mem;
  CPSens sens;
  N_Vector y, *s;
  sunrealtype data[NDATA];
  int runs;
} Fit;

static sunrealtype time_of(int k) { return 0.01 * (k + 1); }

/* The start, with yl = yr = L0 and xl' = xr' = -r w L0 / L, and what it depends on */
static void start(Fit *fit) {
  sunrealtype *s = N_VGetArrayPointer(fit->s[BY_L0]);
  car_axis_initial(&fit->axis, fit->y);
  for (int i = 0; i < NS; i++) N_VConst(0, fit->s[i]);
  s[1] = s[3] = 1;
  s[4] = s[6] = -fit->axis.r * fit->axis.w / fit->axis.L;
}

/* Computes the heights [NDATA] for the parameters (m, L0), and their derivatives [NDATA x NS] unless J is NULL. A failed run
   returns its code. */
static int simulate(Fit *fit, sunrealtype m, sunrealtype L0, sunrealtype *height, gsl_matrix *J) {
  sunrealtype t;
  fit->axis.m  = m;
  fit->axis.L0 = L0;
  fit->runs++;
  start(fit);
  int flag = CPIntegratorReInit(fit->mem, 0, fit->y);
  if (!flag) flag = CPSensReInit(fit->sens, fit->s);
  for (int k = 0; !flag && k < NDATA; k++) {
    flag = CPIntegratorEvolve(fit->mem, time_of(k), fit->y, &t, CV_NORMAL);
    if (!flag) flag = CPSensGetDky(fit->sens, t, 0, fit->s);
    if (height) height[k] = N_VGetArrayPointer(fit->y)[LEFT_HEIGHT];
    for (int i = 0; J && i < NS; i++)
      gsl_matrix_set(J, k, i, N_VGetArrayPointer(fit->s[i])[LEFT_HEIGHT]);
  }
  return flag;
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *r) {
  Fit *fit = data;
  sunrealtype height[NDATA];
  if (simulate(fit, gsl_vector_get(x, 0), gsl_vector_get(x, 1), height, NULL)) return GSL_EFAILED;
  for (int k = 0; k < NDATA; k++) gsl_vector_set(r, k, height[k] - fit->data[k]);
  return GSL_SUCCESS;
}

static int jacobian(const gsl_vector *x, void *data, gsl_matrix *J) {
  return simulate(data, gsl_vector_get(x, 0), gsl_vector_get(x, 1), NULL, J) ? GSL_EFAILED
                                                                             : GSL_SUCCESS;
}

static void report(const size_t iteration, void *data, const gsl_multifit_nlinear_workspace *w) {
  (void)data;
  const gsl_vector *x = gsl_multifit_nlinear_position(w);
  printf("iteration %2zu   m = %.6f   L0 = %.6f   |residual| = %.3e\n", iteration,
         gsl_vector_get(x, 0), gsl_vector_get(x, 1),
         gsl_blas_dnrm2(gsl_multifit_nlinear_residual(w)));
}

/* Uniform random number in [-1, 1] by linear congruence (Knuth, MMIX), so that every machine has the same noise */
static sunrealtype noise(unsigned long long *state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (sunrealtype)(*state >> 11) / 4503599627370496.0 - 1;
}

int main(void) {
  const sunrealtype tol = 1e-8, truth[NS] = {10, 0.5}, guess[NS] = {9, 0.48};
  Fit fit = {.axis = car_axis_testset()};

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  fit.y = N_VNew_Serial(CAR_AXIS_N, ctx);
  CHECK_NEW(fit.y);
  car_axis_initial(&fit.axis, fit.y);
  const CPEquations model = car_axis_model();
  CPModel made            = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, fit.y, ctx);
  CPModelFree(&made);
  CHECK_NEW(mech);
  CHECK(CPMechSetUserData(mech, &fit.axis));
  fit.mem = CPIntegratorCreate("DOP853", ctx);
  CHECK_NEW(fit.mem);
  CHECK(CPMechAttach(mech, fit.mem, 0, fit.y));
  CHECK(CPIntegratorSStolerances(fit.mem, tol, tol));
  CHECK(CPIntegratorSetMaxNumSteps(fit.mem, 100000));

  fit.s = N_VCloneVectorArray(NS, fit.y);
  CHECK_NEW(fit.s);
  start(&fit);
  sunrealtype *p            = &fit.axis.L; /* the struct is an array of parameters */
  const int plist[NS]       = {3, 1};      /* the sensitive ones: m, L0 */
  const CPParameters fitted = {CP_SIZED(CPParameters), .n = NS, .values = p, .plist = plist,
                               .y0S = fit.s};
  fit.sens                  = CPSensCreate(&fitted, fit.y, ctx);
  CHECK_NEW(fit.sens);
  CHECK(CPIntegratorSetSens(fit.mem, fit.sens));

  unsigned long long state = 2026;
  CHECK(simulate(&fit, truth[0], truth[1], fit.data, NULL));
  for (int k = 0; k < NDATA; k++) fit.data[k] += 2e-4 * noise(&state);

  gsl_multifit_nlinear_fdf problem = {
      .f = residuals, .df = jacobian, .n = NDATA, .p = NS, .params = &fit};
  gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
  gsl_multifit_nlinear_workspace *w =
      gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, NDATA, NS);
  gsl_matrix *covariance = gsl_matrix_alloc(NS, NS);
  CHECK_NEW(w);
  CHECK_NEW(covariance);
  gsl_vector_const_view x0 = gsl_vector_const_view_array(guess, NS);
  int why                  = 0;
  CHECK(gsl_multifit_nlinear_init(&x0.vector, &problem, w));
  CHECK(gsl_multifit_nlinear_driver(50, 1e-8, 1e-8, 0, report, NULL, &why, w));
  CHECK(gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(w), 0, covariance));

  /* standard deviations from the final residual */
  const sunrealtype rest = gsl_blas_dnrm2(gsl_multifit_nlinear_residual(w)) / sqrt(NDATA - NS);
  const char *name[NS]   = {"m", "L0"};
  int ok                 = rest < 2e-4; /* the noise is 2e-4 / sqrt(3) */
  for (int i = 0; i < NS; i++) {
    const sunrealtype value = gsl_vector_get(gsl_multifit_nlinear_position(w), i);
    const sunrealtype sigma = rest * sqrt(gsl_matrix_get(covariance, i, i));
    printf("%-2s = %.6f +- %.6f (true: %g)\n", name[i], value, sigma, truth[i]);
    ok = ok && fabs(value - truth[i]) <= 3 * sigma && sigma < 0.01 * truth[i];
  }
  printf("%d runs\n%s\n", fit.runs, ok ? "ok" : "WRONG: the fit missed the true parameters");

  gsl_multifit_nlinear_free(w);
  gsl_matrix_free(covariance);
  CPIntegratorFree(&fit.mem);
  CPSensFree(&fit.sens);
  CPMechFree(&mech);
  N_VDestroyVectorArray(fit.s, NS);
  N_VDestroy(fit.y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
