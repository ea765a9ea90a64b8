/* The door of this room for the libraries that are built with it: dimensions, scopes of names, and functions that are shared. */
#ifndef CPODES_LANGUAGE_LANGUAGE_H
#define CPODES_LANGUAGE_LANGUAGE_H

#include "cpodes/base/object.h"

#include <cpodes/cpodes_language.h>

/* Exponents of m, kg and s in twelfths, so that roots have them as well. plain: no unit has been named. */
enum { TWELFTHS = 12 };
typedef struct {
  int power[3], plain;
} Dimension;

/* Names of numbers and functions. It keeps references to functions, and copies of texts. */
typedef struct Scope_ Scope;

/* Where a text stands in a file: its first character, line and column from 1 on */
typedef struct {
  const char *file; /* or NULL */
  int line, column;
} Place;

/* Names that it does not have are those of the outer scope, or NULL, which must live longer. Returns NULL without memory. */
CPODES_EXPORT Scope *cpScopeCreate(Scope *outer);
CPODES_EXPORT void cpScopeFree(Scope *scope);
/* Defines a number by its text, which begins at `place` and is read when it is used first, or else a function. again = 1: the
 * text replaces an earlier one, whose dimension a plain number takes. Returns 0 or an error code that has been reported. */
CPODES_EXPORT int cpScopeDefine(Scope *scope, const char *name, const char *text, CPFunction f,
                                Place place, int again);
/* Defines a number, or replaces it, by a text that is read in the scope `from`, at `place`. Returns as cpScopeDefine. */
CPODES_EXPORT int cpScopeImport(Scope *scope, const char *name, Scope *from, const char *text,
                                Place place);
/* Moves the value of a number, which is in the scope itself and has not been used yet. */
CPODES_EXPORT void cpScopeMove(Scope *scope, const char *name, sunrealtype by);
/* Is there a number of this name in the scope itself? */
CPODES_EXPORT int cpScopeHas(const Scope *scope, const char *name);
/* Creates the function of an expression, as CPFunctionCreate. scope: or NULL. */
CPODES_EXPORT int cpScopeParse(Scope *scope, const char *text, Place place, int nvariables,
                               const char *const *variable, const char *const *unit,
                               const char *result, CPFunction *f);
/* Evaluates an expression of constants. value: out */
CPODES_EXPORT int cpScopeNumber(Scope *scope, const char *text, Place place, const char *result,
                                sunrealtype *value);
/* The nearest of the names that have been shown to it, in one insertion, deletion or exchange for each three letters */
typedef struct {
  const char *name, *best;
  size_t length;
  int distance;
} Nearest;
CPODES_EXPORT void cpScopeShow(Nearest *nearest, const char *other);
/* The number of variables of f */
CPODES_EXPORT int cpFunctionCount(CPFunction f);
/* Does f depend on its variable i? */
CPODES_EXPORT int cpFunctionUses(CPFunction f, int i);
/* The expression of a function of one variable without further names, or NULL. variable: out, its name; may be NULL */
CPODES_EXPORT const char *cpFunctionText(CPFunction f, const char **variable);
/* One more owner of f, who frees it as well; f may be NULL. */
CPODES_EXPORT CPFunction cpFunctionShare(CPFunction f);

#endif
