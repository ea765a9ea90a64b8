/* Muscles and activations */
#ifndef CPODES_BODIES_MUSCLES_H
#define CPODES_BODIES_MUSCLES_H

#include "bodies_impl.h"

/* The parameters of a muscle, in this order */
enum {
  PEAK_FORCE,
  LENGTH_MIN,
  LENGTH_MAX,
  RANGE_MIN,
  RANGE_MAX,
  LMIN,
  LMAX,
  VMAX,
  FPMAX,
  FVMAX,
  NUM_MUSCLE
};

/* F [4]: out, the force for the parameters p [NUM_MUSCLE], and its derivatives with respect to x, x' and w */
void muscleForce(const sunrealtype *p, sunrealtype x, sunrealtype rate, sunrealtype w,
                 sunrealtype F[4]);
typedef struct {
  sunrealtype z, w, time[3];
} ActivationSlopes;
/* The rate of an activation z without limits; slope: out, its derivatives with respect to z, the control w and the times */
sunrealtype activationRate(CPActivation kind, const sunrealtype *times, sunrealtype w,
                           sunrealtype z, ActivationSlopes *slope);
/* Puts in what numbers that are 0 stand for. Returns NULL, or what is wrong. */
const char *muscleWrong(CPMuscle *muscle);

#endif
