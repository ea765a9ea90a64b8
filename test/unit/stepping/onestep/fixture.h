/* The pendulum of test/unit/stepping/multistep/fixture.h by one-step methods. */
#ifndef CPODES_TEST_ONESTEP_FIXTURE_H
#define CPODES_TEST_ONESTEP_FIXTURE_H

#include "stepping/multistep/fixture.h"

#include <cpodes/cpodes_integrator.h>
#include <models/counters.h>

/* DOP853, every explicit table of ARKODE 6.4 with an embedded method, and finally Radau IIA */
extern const char *const one_methods[];
extern const int n_one_methods, n_explicit_methods;

/* An integration, which owns all its members */
typedef struct {
  const char *method;
  World world; /* user_data of all callbacks */
  CPIntegrator mem;
  CPProjector P;
  N_Vector y; /* state */
  sunrealtype t;
  MessageLog log; /* messages of mem */
} OneRun;

/* L = 1, g = 9.81, from rest at (L, 0), with projector, rtol = atol = tol, ready for the first step. */
void one_open(OneRun *run, const char *method, sunrealtype tol);
void one_close(OneRun *run);
/* A new start at (t0, y of the closed form). */
void one_restart(OneRun *run, sunrealtype t0);

int one_step(OneRun *run);                 /* CV_ONE_STEP towards t = 1000 */
int one_to(OneRun *run, sunrealtype tout); /* CV_NORMAL */
IntegratorCounters one_stats(OneRun *run);
/* The largest distance of y from the closed form at t */
sunrealtype one_error(const OneRun *run, sunrealtype t, N_Vector y);

/* Largest errors: at the ends of steps, in them, and of the first derivative of positions in them */
typedef struct {
  sunrealtype end, inside, rate;
} OneErrors;
/* Of n fixed steps from 0 to 1 */
OneErrors one_errors(OneRun *run, int n);

#define ck_assert_returns(run, call, expected)                                                      \
  do {                                                                                              \
    int flag_ = (call);                                                                             \
    ck_assert_msg(flag_ == (expected), "%s, t = %g: %s is %d, not %s: %s", (run)->method, (run)->t, \
                  #call, flag_, #expected, CPObjectGetLastMessage(CP_OBJECT((run)->mem)));          \
  } while (0)
#define ck_assert_done(run, call) ck_assert_returns(run, call, CP_SUCCESS)

/* The call is refused, with one message of this code that mentions each word of a list that ends
 * with NULL. */
void one_assert_refused(OneRun *run, int flag, int expected, const char *call,
                        const char *const *words);
#define refused(run, call, expected, ...)                                                     \
  do {                                                                                        \
    (run)->log.count = 0;                                                                     \
    one_assert_refused(run, call, expected, #call, (const char *const[]){__VA_ARGS__, NULL}); \
  } while (0)

#endif
