/* A loop of n rods in joint coordinates (examples/models/joint_loop.h), by inverse dynamics, by M and A from
 * composite bodies, and by udot; BDF and RADAU. RADAU9 with matrices at 1e-10 gives the reference.
 *
 *   Usage:  inverse [n [t_end]]      default: 30 0.3
 *   Output: for nine tolerances and each form: error at t_end, steps, recursions through all rods, and calls of
 *           inverse. For instructions:
 *
 *             valgrind --tool=callgrind --toggle-collect=march build/release/bench/inverse 30 0.3
 *
 *           The exit code is 1 if BDF by inverse takes 15 % more steps than by matrices, over all tolerances, or
 *           if an error at 1e-7 exceeds 100 tolerances. */
#include "check.h"
#include "mech.h"

#include <cpodes/cpodes_integrator.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/counters.h>
#include <models/joint_loop.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name, *method;
  JointLoopForm form;
  CPMechNewton newton;
} Contestant;

static const Contestant contestants[] = {
    {"BDF, inverse", "BDF", JOINT_LOOP_INVERSE, CP_NEWTON_AUTO},
    {"BDF, matrices", "BDF", JOINT_LOOP_MATRICES, CP_NEWTON_AUTO},
    {"BDF, udot, HALF", "BDF", JOINT_LOOP_UDOT, CP_NEWTON_HALF},
    {"RADAU, inverse", "RADAU", JOINT_LOOP_INVERSE, CP_NEWTON_AUTO},
};
static const Contestant reference = {"reference", "RADAU9", JOINT_LOOP_MATRICES, CP_NEWTON_AUTO};
static const sunrealtype tolerances[] = {1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7};
enum {
  CONTESTANTS = sizeof contestants / sizeof contestants[0],
  TOLERANCES  = sizeof tolerances / sizeof tolerances[0]
};

typedef struct {
  long int steps, recursions;
  MechCounters stats;
} Work;

/* y: in, the start; out, the end */
static Work march(const Contestant *c, JointLoop *loop, sunrealtype tol, sunrealtype t_end,
                  N_Vector y, SUNContext ctx) {
  const CPEquations model = joint_loop_model(loop, c->form);
  const int bdf           = !strcmp(c->method, "BDF");
  CPMech mech             = create_mech(&model, y, ctx);
  CPIntegrator mem        = bdf ? CHECK_POINTER(CPIntegratorCreate("BDF", ctx)) : NULL;
  CPIntegrator one        = bdf ? NULL : CHECK_POINTER(CPIntegratorCreate(c->method, ctx));
  Work work               = {0};
  sunrealtype t;
  CHECK(CPMechSetUserData(mech, loop));
  CHECK(CPMechSetNewton(mech, c->newton));
  loop->recursions = 0;
  if (bdf) {
    CHECK(CPMechAttach(mech, mem, 0.0, y));
    CHECK(CPIntegratorSStolerances(mem, tol, tol));
    CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000));
    CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));
    CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &work.steps));
  } else {
    CHECK(CPMechAttach(mech, one, 0.0, y));
    CHECK(CPIntegratorSStolerances(one, tol, tol));
    CHECK(CPIntegratorEvolve(one, t_end, y, &t, CV_NORMAL));
    IntegratorCounters stats;
    CHECK(integrator_counters(one, &stats));
    work.steps = stats.nst;
  }
  CHECK(mech_counters(mech, &work.stats));
  work.recursions = loop->recursions;
  CPIntegratorFree(&mem);
  CPIntegratorFree(&one);
  CPMechFree(&mech);
  return work;
}

static sunrealtype distance(N_Vector a, N_Vector b) {
  sunrealtype largest = 0.0;
  for (sunindextype i = 0; i < N_VGetLength(a); i++)
    largest = fmax(largest, fabs(NV_Ith_S(a, i) - NV_Ith_S(b, i)));
  return largest;
}

int main(int argc, char **argv) {
  const int n                 = argc > 1 ? atoi(argv[1]) : 30;
  const sunrealtype t_end     = argc > 2 ? atof(argv[2]) : 0.3;
  SUNContext ctx              = check_context();
  long int steps[CONTESTANTS] = {0};
  int wrong                   = 0;
  if (n < 6) return 2;
  JointLoop *loop = CHECK_POINTER(joint_loop_create(n));
  N_Vector start = N_VNew_Serial(2 * n, ctx), y = N_VClone(start), end = N_VClone(start);
  loop->k = 1.0, loop->d = 0.1;
  joint_loop_guess(loop, start);
  const CPEquations model = joint_loop_model(loop, JOINT_LOOP_MATRICES);
  CPMech mech             = create_mech(&model, start, ctx);
  CHECK(CPMechSetUserData(mech, loop));
  CHECK(CPMechCalcIC(mech, 0.0, start, NULL, NULL, NULL, NULL));
  CPMechFree(&mech);
  N_VScale(1.0, start, end);
  march(&reference, loop, 1.0e-10, t_end, end, ctx);
  printf("%d rods, t = %g\n%-16s %9s %9s %7s %11s %9s\n", n, t_end, "", "tolerance", "error",
         "steps", "recursions", "inverse");
  for (int k = 0; k < TOLERANCES; k++) {
    for (int c = 0; c < CONTESTANTS; c++) {
      N_VScale(1.0, start, y);
      const Work work         = march(&contestants[c], loop, tolerances[k], t_end, y, ctx);
      const sunrealtype error = distance(y, end);
      printf("%-16s %9.0e %9.1e %7ld %11ld %9ld\n", contestants[c].name, tolerances[k], error,
             work.steps, work.recursions,
             contestants[c].form == JOINT_LOOP_INVERSE ? work.stats.nf : 0);
      steps[c] += work.steps;
      if (k == TOLERANCES - 1 && error > 100.0 * tolerances[k]) wrong = 1;
    }
  }
  if (100 * steps[0] > 115 * steps[1]) wrong = 1;
  N_VDestroy(start);
  N_VDestroy(y);
  N_VDestroy(end);
  joint_loop_free(&loop);
  SUNContext_Free(&ctx);
  return wrong;
}
