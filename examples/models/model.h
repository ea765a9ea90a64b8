/* The catalogue of mechanisms. Each is one constant CPModelType (cpodes_model.h says what it holds) in its
 * file, and one line in catalogue.c. */
#ifndef CPODES_EXAMPLES_MODEL_H
#define CPODES_EXAMPLES_MODEL_H

#include <cpodes/cpodes_model.h>

/* Mechanisms of any size give sparse matrices (CSC) from so many velocities on, dense ones below. Measured
   with chains: BDF takes as long with both for 12, Adams for 25. */
enum { MODEL_SPARSE = 24 };

/* ---- catalogue.c ---- */

/* All mechanisms, in the order of the guide; NULL beyond the last */
const CPModelType *model_type(int i);
/* By its name; NULL: there is none */
const CPModelType *model_find(const char *name);
/* The name that is nearest to a wrong one (edit distance), never NULL */
const char *model_nearest(const char *name);

/* ---- model_check.c and its parts ---- */

/* Are the metadata true? Calls all functions at the start and compares: dimensions, consistency of y0,
   finite values, points, reference at 0, CPMechCheck. message: the first contradiction. 0 or 1 */
int model_check(const CPModel *model, char *message, size_t length);

#endif
