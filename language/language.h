/* The door of this room for the libraries that are built with it: dimensions, scopes of names, and functions that are shared. */
#ifndef CPODES_LANGUAGE_LANGUAGE_H
#define CPODES_LANGUAGE_LANGUAGE_H

#include "cpodes/base/object.h"

#include <cpodes/cpodes_language.h>
#include <limits.h>

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

/* Names that it does not have are those of the outer scope, or NULL, which must live longer. Returns NULL if out of memory. */
CPODES_EXPORT Scope *cpScopeCreate(Scope *outer);
CPODES_EXPORT void cpScopeFree(Scope *scope);
/* Defines a number by its text, which begins at `place` and is read when it is used first, or else a function; if both are NULL, the name
 * is that of a function that is defined later. again = 1: the
 * text replaces an earlier one, whose dimension a plain number takes, or the function one that was to be defined. Returns 0 or an error code that has been reported. */
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
/* The number of bytes of the name that a text begins with: letters, digits, _ and all beyond ASCII, no digit first, and dots between
 * them, as in names of quantities. 0: it begins with none. */
CPODES_EXPORT size_t cpNameLength(const char *text);
/* The nearest of the names that have been shown to it, in one insertion, deletion or exchange, and one more for each three letters; of one
 * letter, its other case */
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
/* Pieces of functions: at abs, sign, min, max, comparisons, and along each variable of a table of order 1, a function is put together of
 * pieces. Each such place has a number, those of the functions that it calls included. Its pieces are 0 and 1 or, of a table, the number of the
 * interval, which goes on counting in the other periods. A piece that is held is continued beyond its ends, where it is a smooth
 * function. */
enum { ANY_PIECE = INT_MIN };
typedef struct {
  const int *held; /* [count] in: the pieces to take, ANY_PIECE: the one of the arguments; NULL: of all */
  int *own;        /* [count] out: the pieces of the arguments; or NULL */
  /* [2 count] out: how far the arguments are from both ends of the piece that is held, negative beyond it, and infinite if there is no
   * such end, or no piece is held; or NULL */
  sunrealtype *inside;
  /* in: 1: arguments may jump by whole turns, as angles in space do, so that a periodic table takes the period in which they are nearest to
   * the middle of the piece that is held */
  int turns;
} Pieces;
/* The number of such places */
CPODES_EXPORT int cpFunctionPieces(CPFunction f);
/* Are the ends of the pieces of place k at given values of variable 0, whatever the other ones are, to which `inside` is proportional? */
CPODES_EXPORT int cpFunctionTimed(CPFunction f, int k);
/* May f jump at the ends of the pieces of place k, as at those of sign and of comparisons? */
CPODES_EXPORT int cpFunctionJumps(CPFunction f, int k);
/* CPFunctionEvaluate with pieces, or NULL. Where those that are held have no finite value, they are not. */
CPODES_EXPORT int cpFunctionEvaluate(CPFunction f, const sunrealtype *x, const Pieces *pieces,
                                     sunrealtype *value, sunrealtype *gradient,
                                     sunrealtype *hessian);
/* Rewrites the text of an expression for a file that has the names of the scope `top` alone: names of scopes within it become their own
 * texts, in parentheses, and name [n] becomes as [n]. text: NULL: that of the number name[0] of the scope itself, by its value if it calls a
 * function. out: which the caller frees, or NULL. uses: out, 1: it depends on names of `top`; 2: and values stand for some of them; or 0. Returns
 * 0, 1 if it calls a function of a scope, or a variable hides a name, or CP_MEM_FAIL. */
CPODES_EXPORT int cpScopeRewrite(Scope *scope, const Scope *top, const char *text, int n,
                                 const char *const *name, const char *const *as, char **out,
                                 int *uses);
/* The name by which a text calls f, for `data`, which holds until the next call. Returns 0, 1 if there is none, or CP_MEM_FAIL. */
typedef int (*FunctionName)(CPFunction f, void *data, const char **name);
/* Writes f as an expression that has the same value and derivatives, to the last bit, of plain numbers in SI units. variable [n]: what stands
 * for each variable, x or (x/(1 m)). text: out, which the caller frees, or NULL. Returns 0, 1 if there is none, as a function has no name or
 * parentheses are nested more deeply than expressions may have them, or CP_MEM_FAIL. */
CPODES_EXPORT int cpFunctionText(CPFunction f, const char *const *variable, FunctionName name,
                                 void *data, char **text);
/* The rows of a table in SI units: x and y belong to f, and value is the caller's. of: out, NULL, or, if f is the slope of a table, that
 * one, and then `table` is unchanged. Returns 0, 1 if f is no table, or CP_MEM_FAIL. */
CPODES_EXPORT int cpFunctionTable(CPFunction f, CPTable *table, CPFunction *of);
/* Where the expression of a function stands, and how it begins, file:2:9: "1/x"; or NULL */
CPODES_EXPORT const char *cpFunctionPlace(CPFunction f);
/* One more owner of f, who frees it as well; f may be NULL. */
CPODES_EXPORT CPFunction cpFunctionShare(CPFunction f);

#endif
