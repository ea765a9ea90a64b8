/* Example: a stiff mechanism, a slider-crank whose slider is held by a stiff damped bushing (models/bushing_crank.h). The
 * bushing responds within 1e-5 s, while the crank takes seconds: the steps of an explicit method must be as short as the
 * former time.
 *
 * CPMechSuggestMethod detects this by comparing the spectral radius with the rate of the motion. The program follows the
 * suggestion, then tries DOP853, an explicit method, for a thousandth of the time.
 *
 * Run:       stiff
 * Expected:  the suggested method with its reason, the steps of RADAU for 20 s and of DOP853 for 0.02 s, the energy that
 *            both dampers take, and "ok". The exit code is 1 if the suggestion is an explicit method, or if energy is
 *            gained, and 2 if a call failed.
 */
#include "check_flag.h"
#include "models/bushing_crank.h"
#include <cpodes/cpodes_integrator.h>
#include <nvector/nvector_serial.h>

static const sunrealtype tol = 1e-6;

/* Integrates from the start y to t_end; returns the number of steps. */
static long int steps_of(const char *method, CPMech mech, sunrealtype t_end, N_Vector y,
                         SUNContext ctx) {
  sunrealtype t    = 0;
  CPIntegrator mem = CPIntegratorCreate(method, ctx);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, t, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetMaxNumSteps(mem, 100000)); /* 500 by default */
  CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));
  const long int steps = COUNT(mem, "steps");
  CPIntegratorFree(&mem);
  return steps;
}

int main(void) {
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  BushingCrank crank      = bushing_crank_stiff();
  const CPEquations model = bushing_crank_model();
  N_Vector y              = N_VNew_Serial(8, ctx);
  CHECK_NEW(y);
  bushing_crank_initial(&crank, y);
  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CHECK_NEW(mech);
  CHECK(CPMechSetUserData(mech, &crank));

  CPMechSuggestion suggestion = CP_INIT(CPMechSuggestion);
  CHECK(CPMechSuggestMethod(mech, 0, y, 20, tol, &suggestion));
  printf("%s: %s\n", suggestion.method, suggestion.reason);

  const sunrealtype E0 = bushing_crank_energy(&crank, y);
  const long int radau = steps_of("RADAU", mech, 20, y, ctx);
  const sunrealtype E1 = bushing_crank_energy(&crank, y);
  bushing_crank_initial(&crank, y);
  const long int dop853 = steps_of("DOP853", mech, 0.02, y, ctx);
  printf("RADAU: %ld steps for 20 s; DOP853: %ld steps for 0.02 s; energy lost %.4f J\n", radau,
         dop853, E0 - E1);

  /* Stability keeps h of DOP853 below about 6 time constants, 2.4e-4 s: for 20 s it would take 80,000 steps. */
  const int ok = suggestion.stiff && dop853 > 60 && radau < 200 && E1 < E0;
  printf("%s\n", ok ? "ok" : "WRONG");
  CPMechFree(&mech);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}
