/* Declarations shared by the files of the mechanism. */
#ifndef CPODES_FUZZ_MECHANISM_IMPL_H
#define CPODES_FUZZ_MECHANISM_IMPL_H

#include "disturb.h"
#include "mechanism.h"

#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

const Mechanism *mechanism_in_use(void);
int mechanism_pendulum_rows(const Mechanism *m);
void mechanism_quaternion(const Mechanism *m, const sunrealtype *q, sunrealtype E[4][3]);
/* u' [nu], and lambda [na] of minimum norm unless it is NULL */
void mechanism_accelerations(const Mechanism *m, sunrealtype t, const sunrealtype *q,
                             const sunrealtype *u, sunrealtype *udot, sunrealtype *lambda);
void mechanism_p(const Mechanism *m, sunrealtype t, const sunrealtype *q, sunrealtype *p);
void mechanism_v(const Mechanism *m, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 sunrealtype *v);

/* Matrices by the function of their entries: structure, and values. values: out; returns how many. */
typedef int (*HasEntry)(const void *data, int i, int j);
typedef sunrealtype (*MatrixEntry)(const void *data, int i, int j);
SUNMatrix matrix_of(Form form, int rows, int columns, HasEntry has, const void *data,
                    SUNContext ctx);
long matrix_fill(SUNMatrix A, MatrixEntry entry, const void *data, sunrealtype **values);

#endif
