/* The methods by their names on the command line. */
#ifndef CPODES_RUNNER_METHOD_H
#define CPODES_RUNNER_METHOD_H

#include <cpodes/cpodes_model.h>
#include <cpodes/cpodes_onestep.h>
#include <stdbool.h>

enum { METHOD_NAME = 80 };

typedef struct {
  char name[METHOD_NAME];  /* "bdf", "dop853", "ARKODE_..." */
  const char *title;       /* "BDF, order 2, velocity errors times h" */
  int lmm;                 /* CV_BDF, CV_ADAMS; 0: a one-step method */
  char table[METHOD_NAME]; /* of a one-step method, as CPOneStepCreate takes it */
  int max_order;           /* 0: all */
  sunrealtype tau;         /* CPMechSetErrorTimeScale */
  CPMechNewton newton;
} Method;

/* The i-th of the named ones, "auto" first; NULL beyond the last. Tables of ARKODE's go by their names, too. */
const Method *method_at(int i);
/* FIXED_STEP: a table without an embedded method, which runs cannot take */
typedef enum { METHOD_FOUND, METHOD_UNKNOWN, METHOD_FIXED_STEP } MethodFound;
/* By name: one of those, or a table; method: out, if it is found */
MethodFound method_find(const char *name, Method *method);
/* The same, complaining about a wrong one; 0 or -1 */
int parse_method(const char *option, const char *name, Method *method);
/* Is it one of the Radau IIA methods? */
bool method_is_radau(const Method *method);
/* Does it follow all oscillations of a stiff model, since its steps are limited by its stability? */
bool method_is_explicit(const Method *method);
enum { METHOD_REASON = 300 };
/* What "auto" means for a model: its own choice, else what CPMechSuggestMethod says at its start, else BDF where it is
 * stiff and DOP853 where it is not. Other methods stay. reason [METHOD_REASON]: out, why; returns whether the model is stiff. */
int method_resolve(Method *method, const CPModel *model, double t_end, double rtol, char *reason);

#endif
