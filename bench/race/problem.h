/* A problem of the race: a mechanism with its parameters, as named on the command line, and where it ends. */
#ifndef CPODES_BENCH_PROBLEM_H
#define CPODES_BENCH_PROBLEM_H

#include <models/model.h>

enum { PROBLEM_NAME = 120, PROBLEM_MESSAGE = 400 };

typedef struct {
  char name[PROBLEM_NAME]; /* "chain:n=100,t_end=0.5" */
  sunrealtype t_end;
  CPModel *model;
  N_Vector reference;          /* y(t_end), or NULL if it is not known */
  sunrealtype reference_error; /* to this it is known */
  char origin[PROBLEM_MESSAGE];
} Problem;

/* The problems that run when none is named; NULL beyond the last */
const char *problem_default(int i);
/* All mechanisms that can be named: those of the catalogue and those of the race alone; NULL beyond the last */
const CPModelType *problem_type(int i);

/* "name" or "name:parameter=value,..."; t_end, the time of the end, is a parameter of all. values [MODEL_MOST_PARAMETERS],
   t_end: out. Returns the type, or NULL with what is wrong in message [PROBLEM_MESSAGE]. */
const CPModelType *problem_parse(const char *text, sunrealtype *values, sunrealtype *t_end,
                                 char *message);

/* 0, or -1 with a message; problem_free in any case */
int problem_create(const char *text, SUNContext ctx, Problem *problem, char *message);
void problem_free(Problem *problem);

/* max |y_i - reference_i| of the compared components; NaN without reference */
sunrealtype problem_error(const Problem *problem, N_Vector y);
/* Largest residual of the constraints of positions and velocities; NaN where they cannot be evaluated */
sunrealtype problem_violation(const Problem *problem, sunrealtype t, N_Vector y);

#endif
