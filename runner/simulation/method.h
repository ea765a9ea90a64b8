/* The methods by their names on the command line. */
#ifndef CPODES_RUNNER_METHOD_H
#define CPODES_RUNNER_METHOD_H

#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_plugin.h>
#include <stdbool.h>

enum { METHOD_NAME = 80 };

typedef struct {
  char name[METHOD_NAME];  /* such as "bdf", "dop853", "ARKODE_..." */
  const char *title;       /* "BDF, order 2, velocity errors times h" */
  char table[METHOD_NAME]; /* for CPIntegratorCreate: "BDF", "DOP853", "ARKODE_..." */
  int max_order;           /* 0: unlimited */
  sunrealtype tau;         /* CPMechSetErrorTimeScale */
  CPMechNewton newton;
} Method;

/* The i-th named method, "auto" first; NULL after the last. ARKODE's tables can be named as well. */
const Method *method_at(int i);
/* FIXED_STEP: a table without an embedded method, which runs do not support */
typedef enum { METHOD_FOUND, METHOD_UNKNOWN, METHOD_FIXED_STEP } MethodFound;
/* Finds one of those, in capitals or not, or a table, by name. method: out. */
MethodFound method_find(const char *name, Method *method);
/* The same, with a complaint about a wrong name. Returns 0 or -1. */
int parse_method(const char *option, const char *name, Method *method);
/* Is it one of the Radau IIA methods? */
bool method_is_radau(const Method *method);
/* Is its step limited by stability, so that it follows all oscillations of a stiff model? */
bool method_is_explicit(const Method *method);
/* Is it one of the methods of CVODES? */
bool method_is_multistep(const Method *method);
/* Is it "auto", and does the model leave the choice to its stiffness? */
bool method_is_chosen(const Method *method, const CPPlugin *model);
enum { METHOD_REASON = 300 };
/* Resolves "auto" for a model: the model's own choice, else that of CPMechSuggestMethod at its
 * start, else BDF for stiff models and DOP853 for others. Other methods stay. reason
 * [METHOD_REASON]: out. unresolved [METHOD_REASON]: out, why no steps follow the motion to t_end, or "".
 * Returns whether the model is stiff. */
int method_resolve(Method *method, const CPPlugin *model, double t_end, double rtol, char *reason,
                   char *unresolved);

#endif
