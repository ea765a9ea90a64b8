/* Steps that lead nowhere. */
#include "integration.h"

#include <math.h>

/* A step below this many units of roundoff of the time is close to going nowhere ... */
#define CREEPING 1.0e2
/* ... and does, if this many attempts fail within so many such steps. */
#define CREEPING_FAILURES 5
#define CREEPING_STEPS    10.0

int cpIsCreeping(CPCreeping *creeping, sunrealtype t, sunrealtype h, sunrealtype t0,
                 sunrealtype tgood) {
  const sunrealtype shortest = CREEPING * CP_UROUND * fmax(fabs(t), fabs(t - t0));
  if (fabs(h) >= shortest) return 0;
  if (fabs(tgood - creeping->t) > CREEPING_STEPS * shortest) {
    creeping->t     = tgood;
    creeping->count = 0;
  }
  return ++creeping->count >= CREEPING_FAILURES;
}
