/* The catalogue of mechanisms. Each is one constant CPPluginType (see cpodes_plugin.h) in its file, and one line
 * in catalogue.c. */
#ifndef CPODES_EXAMPLES_MODEL_H
#define CPODES_EXAMPLES_MODEL_H

#include <cpodes/cpodes_plugin.h>

/* Mechanisms of variable size have sparse matrices (CSC) from this number of velocities on, and dense ones
   below. With sparse ones chains and four-bars of 16 velocities take 0.7 to 1.0 of the time by all methods, bending
   chains 0.8 (BDF) and 1.2 (RADAU), those of 20 0.8 and 1.0, and chains of 12 0.8 to 1.0. */
enum { MODEL_SPARSE = 16 };

/* No type of the catalogue has more parameters. */
enum { MODEL_MOST_PARAMETERS = 12 };

/* ---- catalogue.c ---- */

/* All mechanisms, in the order of the guide; NULL beyond the last */
const CPPluginType *model_type(int i);
/* The mechanism of this name, or NULL if there is none */
const CPPluginType *model_find(const char *name);
/* The name that is nearest to a wrong one (edit distance), never NULL */
const char *model_nearest(const char *name);

/* ---- model_check.c and its parts ---- */

/* Returns 1 if the table can be used at all: names, ranges, required functions. Otherwise message [length]
   contains the error */
int model_check_type(const CPPluginType *type, char *message, size_t length);

/* Returns 1 if the numbers and arrays of a newly created model are consistent, so that tables and drawings can use them
   without further checks. None of its functions is called. Otherwise message [length] contains the error */
int model_check_created(const CPPlugin *model, char *message, size_t length);

typedef enum {
  MODEL_RIGHT,
  MODEL_WRONG,
  MODEL_DOUBTFUL, /* it differs, but perhaps because of an error that was found before */
  MODEL_SKIPPED,  /* cannot be judged */
  MODEL_ABSENT    /* the model does not have it */
} ModelVerdict;

/* One result of the check; valid during the call */
typedef struct {
  const char *what; /* "A: derivative of p"; ABSENT: "dynamics_jac" */
  ModelVerdict verdict;
  sunrealtype error;   /* the largest, relative; NaN: nothing was measured */
  const char *message; /* WRONG: the error; SKIPPED: the reason; ABSENT: the part that a model of the catalogue must have, or "" */
} ModelFinding;

typedef struct {
  void (*begin)(void *data, const char *what); /* the model's functions are called now; may be NULL */
  void (*find)(void *data, const ModelFinding *finding);
  void *data;
} ModelListener;

/* Checks all parts of a model: names, dimensions, consistency of y0, finite values, functions against their derivatives
   and against each other, conserved quantities, reference, drawing. Reports all results, and skips parts that need a
   wrong function. Returns the number of wrong parts. */
int model_check_all(const CPPlugin *model, const ModelListener *listener);

/* The same for models of the catalogue, which have a source and a drawing. Returns 1 if all is right; otherwise message
   [length] contains the first error */
int model_check(const CPPlugin *model, char *message, size_t length);

#endif
