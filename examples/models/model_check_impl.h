/* Inside of model_check: what its parts share. Each of them returns 1, or 0 with a message. */
#ifndef CPODES_EXAMPLES_MODEL_CHECK_IMPL_H
#define CPODES_EXAMPLES_MODEL_CHECK_IMPL_H

#include "model.h"

enum { MODEL_MOVING = 2 };

typedef struct {
  const CPModel *model;
  const CPModelType *type;
  CPMech mech;                   /* NULL: as ODE only */
  CPProjector P;                 /* of c and G; NULL: as CPMech only */
  N_Vector ewt;                  /* 1 / (tolerance of a consistent state) */
  N_Vector moving[MODEL_MOVING]; /* states near the start, at t = 0 */
  N_Vector y, ydot, moved, res;  /* work; res [m], or NULL */
  sunrealtype *lambda[2];        /* work, for multipliers */
  char *message;
  size_t length;
} ModelCheck;

/* What is compared agrees to so much, relative to its terms: differences are good to some 1e-8 */
static const sunrealtype model_agreement = 1e-6;

/* Writes the contradiction, returns 0: not true */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int model_contradicts(const ModelCheck *c, const char *format, ...);

/* Index of the first component that is not finite, or -1; max |x_i| */
long model_not_finite(N_Vector y);
sunrealtype model_largest(const sunrealtype *x, sunindextype length);
/* Error handler: GetLastMessage has the message */
void model_silent(int code, const char *function, const char *msg, void *data);

/* ---- model_check_metadata.c ---- */
int model_metadata_are_true(const ModelCheck *c);
int model_sizes_agree(const ModelCheck *c);

/* ---- model_check_equations.c: at the state y, t = 0 ---- */
int model_derivatives_are_true(const ModelCheck *c, N_Vector y);
int model_equations_are_true(const ModelCheck *c, N_Vector y);

#endif
