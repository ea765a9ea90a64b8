/* The catalogue of mechanisms. Each is one constant CPModelType (cpodes_model.h says what it holds) in its
 * file, and one line in catalogue.c. */
#ifndef CPODES_EXAMPLES_MODEL_H
#define CPODES_EXAMPLES_MODEL_H

#include <cpodes/cpodes_model.h>

/* Mechanisms of any size give sparse matrices (CSC) from so many velocities on, dense ones below. Measured
   with chains: BDF takes as long with both for 12, Adams for 25. */
enum { MODEL_SPARSE = 24 };

/* No type of the catalogue has more parameters. */
enum { MODEL_MOST_PARAMETERS = 12 };

/* ---- catalogue.c ---- */

/* All mechanisms, in the order of the guide; NULL beyond the last */
const CPModelType *model_type(int i);
/* The mechanism of this name, or NULL if there is none */
const CPModelType *model_find(const char *name);
/* The name that is nearest to a wrong one (edit distance), never NULL */
const char *model_nearest(const char *name);

/* ---- model_check.c and its parts ---- */

/* Can the table be used at all? Names, ranges, functions that must be there. message [length]: what is wrong.
   0 or 1 */
int model_check_type(const CPModelType *type, char *message, size_t length);

/* Do numbers and arrays of a model that has just been created fit together? Who uses them without looking, a table or a
   drawing, may then do so. None of its functions is called. message [length]: what is wrong. 0 or 1 */
int model_check_created(const CPModel *model, char *message, size_t length);

typedef enum {
  MODEL_RIGHT,
  MODEL_WRONG,
  MODEL_DOUBTFUL, /* it differs, but perhaps because of what has been found wrong before it */
  MODEL_SKIPPED,  /* cannot be judged */
  MODEL_ABSENT    /* the model does not have it */
} ModelVerdict;

/* One of the things that are looked at; valid during the call */
typedef struct {
  const char *what; /* "A: derivative of p"; ABSENT: "dynamics_jac" */
  ModelVerdict verdict;
  sunrealtype error; /* the largest, relative; NaN: nothing was measured */
  const char *message; /* WRONG: exactly what; SKIPPED: why; ABSENT: what a model of the catalogue lacks, or "" */
} ModelFinding;

typedef struct {
  void (*begin)(void *data, const char *what); /* the model's functions are called now; may be NULL */
  void (*find)(void *data, const ModelFinding *finding);
  void *data;
} ModelListener;

/* Compares everything that a model says of itself: names, dimensions, consistency of y0, finite values, functions against
   their derivatives and against each other, what is conserved, reference, drawing. Tells all it finds; what needs a
   function that is wrong is skipped. Returns how much is wrong. */
int model_check_all(const CPModel *model, const ModelListener *listener);

/* The same, for models of the catalogue, which have a source and a drawing. message [length]: the first that is wrong.
   0 or 1 */
int model_check(const CPModel *model, char *message, size_t length);

#endif
