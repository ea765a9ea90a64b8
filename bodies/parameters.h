/* Partial derivatives with respect to parameters */
#ifndef CPODES_BODIES_PARAMETERS_H
#define CPODES_BODIES_PARAMETERS_H

#include "bodies_impl.h"

/* CPEquations.parameters_jac */
int bodiesParametersJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        const sunrealtype *values, int n, const int *plist,
                        const CPMechColumns *out, void *bodies);

#endif
