/* Elliptic integrals and functions by the arithmetic-geometric mean (Abramowitz and Stegun, 16.4 and
 * 17.6), for closed forms. Parameter m = k^2, 0 <= m < 1.
 */
#ifndef CPODES_EXAMPLES_ELLIPTIC_H
#define CPODES_EXAMPLES_ELLIPTIC_H

#include <sundials/sundials_types.h>

/* K(m), the complete integral of the first kind: a quarter of the period of sn */
sunrealtype elliptic_quarter(sunrealtype m);

/* am(u | m), inverse of F(phi | m), for any u; sn = sin am, cn = cos am. Good to some eps (1 + |u|) */
sunrealtype elliptic_amplitude(sunrealtype u, sunrealtype m);

#endif
