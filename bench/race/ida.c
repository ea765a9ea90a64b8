/* IDA of SUNDIALS on the stabilised index-2 system. */
#include "gear.h"
#include "support.h"

#include "../check.h"
#include "../lapack_dense.h"
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunlinsol/sunlinsol_klu.h>

/* Absolute tolerance of the multipliers: they are left to Newton's iteration, and their errors are
 * not tested. */
static const sunrealtype no_matter = 1.0e10;
/* Of the coefficients 0.1, 0.33 (IDA's default) and 1, this one is cheapest at equal accuracy, by
 * 25 % at 4 digits, on bending chains, Andrews' mechanism and the car axis. Ordering (AMD, COLAMD)
 * and tolerances of the multipliers from 1 to 1e20 made no difference. */
static const sunrealtype newton_coefficient = 0.1;
enum { MOST_DENSE = 4000 }; /* unknowns */

static void set_tolerances(void *ida_mem, const Gear *gear, sunrealtype tol, N_Vector x) {
  N_Vector id = CHECK_POINTER(N_VClone(x)), atol = CHECK_POINTER(N_VClone(x));
  for (sunindextype i = 0; i < gear->n; i++) {
    const bool state            = i < 2 * gear->nu;
    N_VGetArrayPointer(id)[i]   = state;
    N_VGetArrayPointer(atol)[i] = state ? tol : no_matter;
  }
  CHECK(IDASVtolerances(ida_mem, tol, atol));
  CHECK(IDASetId(ida_mem, id));
  CHECK(IDASetSuppressAlg(ida_mem, SUNTRUE));
  N_VDestroy(id);
  N_VDestroy(atol);
}

static void collect(void *ida_mem, const Gear *gear, RaceFigures *figures) {
  long int error_fails = 0, solve_fails = 0;
  CHECK(IDAGetNumSteps(ida_mem, &figures->steps));
  CHECK(IDAGetNumErrTestFails(ida_mem, &error_fails));
#if SUNDIALS_VERSION_MAJOR > 6 || (SUNDIALS_VERSION_MAJOR == 6 && SUNDIALS_VERSION_MINOR >= 2)
  CHECK(IDAGetNumStepSolveFails(ida_mem, &solve_fails));
#endif
  CHECK(IDAGetNumJacEvals(ida_mem, &figures->jacobians));
  CHECK(IDAGetNumLinSolvSetups(ida_mem, &figures->factorisations));
  figures->rhs      = gear->residuals;
  figures->rejected = error_fails + solve_fails;
}

static void solve(const Contestant *self, const CPPlugin *model, sunrealtype t_end, sunrealtype tol,
                  N_Vector y, RaceFigures *figures) {
  Gear gear;
  SUNMatrix J;
  CHECK(gear_create(model, self->sparse, &gear, &J));
  N_Vector x = CHECK_POINTER(N_VNew_Serial(gear.n, model->ctx)), xdot = CHECK_POINTER(N_VClone(x));
  SUNLinearSolver linear = CHECK_POINTER(self->sparse ? SUNLinSol_KLU(x, J, model->ctx)
                                                      : lapack_dense(gear.n, model->ctx));
  void *ida_mem          = CHECK_POINTER(IDACreate(model->ctx));
  CHECK(gear_start(&gear, x, xdot));
  CHECK(IDAInit(ida_mem, gear_residual, 0, x, xdot));
  set_tolerances(ida_mem, &gear, tol, x);
  CHECK(IDASetUserData(ida_mem, &gear));
  CHECK(IDASetMaxNumSteps(ida_mem, RACE_MAX_STEPS));
  CHECK(IDASetNonlinConvCoef(ida_mem, newton_coefficient));
  CHECK(IDASetStopTime(ida_mem, t_end));
  CHECK(IDASetLinearSolver(ida_mem, linear, J));
  CHECK(IDASetJacFn(ida_mem, gear_jacobian));

  const double before = cpu_seconds();
  const int flag      = IDASolve(ida_mem, t_end, &figures->t, x, xdot, IDA_NORMAL);
  figures->seconds    = cpu_seconds() - before;
  memcpy(N_VGetArrayPointer(y), N_VGetArrayPointer(x), (size_t)model->n * sizeof(sunrealtype));
  if (flag < 0) {
    char *name = IDAGetReturnFlagName(flag);
    figures_fail(figures, flag, "%s", name ? name : "");
    free(name);
  }
  collect(ida_mem, &gear, figures);
  IDAFree(&ida_mem);
  SUNLinSolFree(linear);
  SUNMatDestroy(J);
  N_VDestroy(x);
  N_VDestroy(xdot);
  gear_free(&gear);
}

static bool takes_dense(const CPPlugin *model) {
  return gear_takes(model) && 2 * (model->mech.nu + model->mech.np) <= MOST_DENSE;
}

static bool takes_klu(const CPPlugin *model) { return gear_takes(model); }

const Contestant contestant_ida_dense = {
    .name     = "ida-dense",
    .title    = "IDA, stabilised index 2, dense",
    .settings = "Gear-Gupta-Leimkuhler form, order up to 5, Jacobian from M, A, K, C (K, C and "
                "dv/dq by differences where the model has no formulas), LU by LAPACK, constant "
                "M kept; multipliers with an absolute tolerance of 1e10 and left out of the "
                "error test (IDASetSuppressAlg); consistent x, x' at the start",
    .takes    = takes_dense,
    .solve    = solve};

const Contestant contestant_ida_klu = {
    .name     = "ida-klu",
    .title    = "IDA, stabilised index 2, KLU",
    .settings = "as ida-dense, with sparse M, A, K, C by formulas, one symbolic analysis, "
                "refactorisation by KLU",
    .takes    = takes_klu,
    .solve    = solve,
    .sparse   = true};
