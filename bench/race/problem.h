/* A problem of the race: a mechanism with its parameters, as named on the command line, and its end
 * time. */
#ifndef CPODES_BENCH_PROBLEM_H
#define CPODES_BENCH_PROBLEM_H

#include <models/model.h>

enum { PROBLEM_NAME = 120, PROBLEM_MESSAGE = 400 };

typedef struct {
  char name[PROBLEM_NAME]; /* "chain:n=100,t_end=0.5" */
  sunrealtype t_end;
  CPPlugin *model;
  N_Vector reference;          /* y(t_end), or NULL if it is not known */
  sunrealtype reference_error; /* the accuracy of the reference */
  char origin[PROBLEM_MESSAGE];
} Problem;

/* The problems that run if none is named; NULL beyond the last */
const char *problem_default(int i);
/* All mechanisms that can be named, from the catalogue and from the race itself; NULL beyond the
 * last */
const CPPluginType *problem_type(int i);

/* "name" or "name:parameter=value,..."; every mechanism has the parameter t_end, the end time.
 * values [MODEL_MOST_PARAMETERS] and t_end are set. Returns the type, or NULL with the reason in
 * message [PROBLEM_MESSAGE]. */
const CPPluginType *problem_parse(const char *text, sunrealtype *values, sunrealtype *t_end,
                                  char *message);

/* Returns 0, or -1 with a message; call problem_free in any case. */
int problem_create(const char *text, SUNContext ctx, Problem *problem, char *message);
void problem_free(Problem *problem);

/* max |y_i - reference_i| over the compared components; NaN without a reference */
sunrealtype problem_error(const Problem *problem, N_Vector y);
/* The largest residual of the constraints of positions and velocities; NaN if they cannot be
 * evaluated */
sunrealtype problem_violation(const Problem *problem, sunrealtype t, N_Vector y);

#endif
