/* Shared by the parts of model_check. Each of them returns 1, or 0 with a message. */
#ifndef CPODES_EXAMPLES_MODEL_CHECK_IMPL_H
#define CPODES_EXAMPLES_MODEL_CHECK_IMPL_H

#include "model.h"

enum {
  MODEL_STATES =
      9, /* states at which functions are compared: the start, two in motion, these reversed, slow, and later */
  MODEL_MESSAGE = 600, /* bytes of the longest */
  MODEL_LONG_STATE =
      1000 /* number of components from which on derivatives are not compared, since it would take long */
};

typedef struct {
  const CPPlugin *model;
  const CPPluginType *type;
  CPMech mech;                  /* NULL if there is only the ODE */
  CPProjector P;                /* of c and G; NULL if there is only the CPMech */
  N_Vector ewt;                 /* 1 / (tolerance of a consistent state) */
  N_Vector state[MODEL_STATES]; /* y0, and states near it in motion, since at rest most terms vanish */
  sunrealtype time[MODEL_STATES]; /* time of each state; it is 0 except for the last two, since sin(w t) vanishes at 0 */
  int nstates;                  /* number of states */
  int first;                    /* 1 if y0 is inconsistent, and no state of the motion */
  N_Vector y, ydot, moved, res; /* work; res [m], or NULL */
  sunrealtype *lambda[2];       /* work, for multipliers */
  CPMechReport report;          /* the largest errors of all states */
  /* of the part in progress */
  int stopped;        /* there was no motion to measure: accelerations or a run have failed */
  sunrealtype *error; /* the largest that was measured */
  char *message;      /* what is wrong */
  size_t length;
} ModelCheck;

/* Required agreement relative to the terms; differences are accurate to about 1e-8 */
static const sunrealtype model_agreement = 1e-6;
/* Distance of a consistent state from the constraints, relative to the state */
static const sunrealtype model_consistent = 1e-9;

/* Writes the message about a contradiction and returns 0 */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int model_contradicts(const ModelCheck *c, const char *format, ...);

/* Records a relative error. Returns 1 if it is at most the limit, and 0 also if it is NaN */
int model_measured(const ModelCheck *c, sunrealtype error, sunrealtype most);

/* Fourth-order central difference from the values at these multiples of h */
static const int model_steps[4] = {-2, -1, 1, 2};
static inline sunrealtype model_difference(const sunrealtype value[4], sunrealtype h) {
  return (8 * (value[2] - value[1]) - (value[3] - value[0])) / (12 * h);
}

/* Index of the first component that is not finite, or -1; max |x_i| */
long model_not_finite(N_Vector y);
sunrealtype model_largest(const sunrealtype *x, sunindextype length);

/* ---- model_check_metadata.c ---- */
int model_table_is_true(ModelCheck *c);
int model_events_are_true(ModelCheck *c);
int model_sizes_agree(ModelCheck *c);

/* ---- model_check_states.c ---- */
int model_objects_are_created(ModelCheck *c);
void model_objects_free(ModelCheck *c);
int model_start_is_finite(ModelCheck *c);
int model_start_is_consistent(ModelCheck *c);
int model_states_are_found(ModelCheck *c); /* near the start */
int model_reference_is_true(ModelCheck *c);

/* ---- model_check_mechanism.c ---- */

/* An error of CPMechReport's */
typedef struct {
  const char *what;
  const char *function; /* function that is missing if is_there returns 0; if NULL, that of a row before it */
  size_t error;                             /* its offset in a CPMechReport */
  int (*is_there)(const CPEquations *mech); /* returns 1 if there is anything to compare */
  int moves; /* 1 if the motion depends on it; 0 if only Newton's iteration does */
} ModelMechRow;
extern const ModelMechRow model_mech_rows[];
enum { MODEL_MECH_ROWS = 20 };

/* CPMechCheck at state k. *compared: out, 1 if there is a report, 0 if a function failed */
int model_mechanism_is_true(ModelCheck *c, int k, int *compared);
/* Returns 1 if no row of A is zero at all states */
int model_rows_act(ModelCheck *c);
sunrealtype model_row_error(const CPMechReport *report, const ModelMechRow *row);

/* ---- model_check_drawing.c ---- */
int model_drawing_is_possible(ModelCheck *c);
int model_points_are_true(ModelCheck *c); /* at all states */

/* ---- model_check_jacobian.c: at all states ---- */
int model_jacobian_is_true(ModelCheck *c);

/* ---- model_check_equations.c: at those that are consistent ---- */
int model_forms_agree(ModelCheck *c);
int model_f_keeps_constraints(ModelCheck *c);
int model_quantity_keeps(ModelCheck *c, int i);
int model_quantity_is_finite(ModelCheck *c, int i); /* at all states */
/* Returns 1 if the part that is quadratic in the velocities is 1/2 u^T M u. (Contacts are off here, so that a coordinate
   which only they move has a constant velocity, whatever its inertia.) */
int model_kinetic_part_is_true(ModelCheck *c, int i);
/* The same with each parameter changed by itself */
int model_quantity_keeps_otherwise(ModelCheck *c, int i);

#endif
