/* The functions of a CPMechModel, called as a peer's hand-written code would: the arrays are cleared, the calls
 * counted by nobody, errors passed on. M and A dense or sparse by columns or rows, as the model's templates. */
#ifndef CPODES_BENCH_RACE_FUNCTIONS_H
#define CPODES_BENCH_RACE_FUNCTIONS_H

#include <models/model.h>

/* A matrix like tmpl, or dense (rows x cols) if it is NULL; SUNMatDestroy frees it. NULL without memory */
SUNMatrix matrix_like(SUNMatrix tmpl, sunindextype rows, sunindextype cols, SUNContext ctx);
/* A copy with its values and pattern; NULL without memory */
SUNMatrix matrix_copy(SUNMatrix S);
/* Zeros; the pattern stays */
void matrix_clear(SUNMatrix S);
/* Number of stored entries; their values; rows and columns of them (each [entries]) */
sunindextype matrix_entries(SUNMatrix S);
sunrealtype *matrix_values(SUNMatrix S);
void matrix_places(SUNMatrix S, sunindextype *row, sunindextype *col);
/* y += scale S x; y += scale S^T x */
void matrix_times(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y);
void matrix_trans_times(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y);

/* Each returns what the model's function returns */
int mech_mass(const CPModel *model, sunrealtype t, const sunrealtype *q, SUNMatrix M);
int mech_rows(const CPModel *model, sunrealtype t, const sunrealtype *q, SUNMatrix A);
int mech_forces(const CPModel *model, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                sunrealtype *f);
int mech_positions(const CPModel *model, sunrealtype t, const sunrealtype *q, sunrealtype *p);
/* A: at (t, q), used where the model has no v of its own */
int mech_velocities(const CPModel *model, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                    SUNMatrix A, sunrealtype *v);

#endif
