/* A CPMech with a model of its own */
#ifndef CPODES_BENCH_MECH_H
#define CPODES_BENCH_MECH_H

#include "check.h"

#include <cpodes/cpodes_mechanics.h>

static inline CPMech create_mech(const CPEquations *equations, N_Vector y, SUNContext ctx) {
  CPModel model = CHECK_POINTER(CPModelCreate(equations));
  CPMech mech   = CHECK_POINTER(CPMechCreate(model, y, ctx));
  CPModelFree(&model);
  return mech;
}

#endif
