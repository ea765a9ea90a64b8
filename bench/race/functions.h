/* The functions of a CPEquations, called as in a peer's hand-written code: the arrays are cleared,
 * calls are not counted, errors are passed on. M and A are dense or sparse by columns or rows, like
 * the model's templates. */
#ifndef CPODES_BENCH_RACE_FUNCTIONS_H
#define CPODES_BENCH_RACE_FUNCTIONS_H

#include <models/model.h>

/* A matrix like tmpl, or dense (rows x cols) if it is NULL; SUNMatDestroy frees it. NULL if memory
 * is lacking */
SUNMatrix matrix_like(SUNMatrix tmpl, sunindextype rows, sunindextype cols, SUNContext ctx);
/* A copy with its values and pattern, or NULL if memory is lacking */
SUNMatrix matrix_copy(SUNMatrix S);
/* Sets all values to zero and keeps the pattern. */
void matrix_clear(SUNMatrix S);
/* The number of stored entries; their values; their rows and columns (each [entries]) */
sunindextype matrix_entries(SUNMatrix S);
sunrealtype *matrix_values(SUNMatrix S);
void matrix_places(SUNMatrix S, sunindextype *row, sunindextype *col);
/* y += scale S x; y += scale S^T x */
void matrix_times(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y);
void matrix_trans_times(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y);

/* Each returns what the model's function returns */
int mech_mass(const CPPlugin *model, sunrealtype t, const sunrealtype *q, SUNMatrix M);
int mech_rows(const CPPlugin *model, sunrealtype t, const sunrealtype *q, SUNMatrix A);
int mech_forces(const CPPlugin *model, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                sunrealtype *f);
int mech_positions(const CPPlugin *model, sunrealtype t, const sunrealtype *q, sunrealtype *p);
/* A: at (t, q), used if the model has no v */
int mech_velocities(const CPPlugin *model, sunrealtype t, const sunrealtype *q,
                    const sunrealtype *u, SUNMatrix A, sunrealtype *v);

#endif
