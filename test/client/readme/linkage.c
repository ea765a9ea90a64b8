/* The README's lines in C for a mechanism in a file, which readme_1.h contains: crank and rocker, which a motor turns once in 1 s. */
#include <cpodes/cpodes.h>
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <nvector/nvector_serial.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

int main(void) {
  SUNContext ctx;
  sunrealtype t = 0, rocker;
  int D;
  if (SUNContext_Create(SUN_COMM_NULL, &ctx)) return 2;
#include "readme_1.h"
  /* the crank has turned once, and the rocker is where it was: D counts its turns from the placement */
  const int flag = CPBodiesFind(linkage, CP_COORDINATE, "D", &D) ||
                   CPMechGetCoordinate(mech, D, y, &rocker, NULL);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPModelFree(&model);
  N_VDestroy(y);
  CPBodiesFree(&linkage);
  SUNContext_Free(&ctx);
  return flag || !(t == 1 && fabs(rocker) < 1e-7);
}
