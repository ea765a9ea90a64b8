/* A function: its dimensions, and how it is evaluated; what the files of this room share. */
#ifndef CPODES_LANGUAGE_IMPL_H
#define CPODES_LANGUAGE_IMPL_H

#include "language.h"

#include <stdatomic.h>

enum {
  MOST_N    = CP_MOST_VARIABLES,
  MOST_JET  = 1 + MOST_N + MOST_N * (MOST_N + 1) / 2,
  WORDS     = 4096, /* of a stack of jets, 32 kB */
  DEEPEST   = 64,   /* nesting of parentheses */
  CHAIN     = 16,   /* names that are made of names that are looked up for the first time */
  MOST_NAME = 100,
  RULE      = 400 /* characters of a message without its place */
};

/* A jet of second order: the value, the gradient [n], the upper triangle of the Hessian by rows; of order 0 and 1, its
 * beginning. */
static inline int jetLength(int n, int order) {
  return 1 + (order > 0 ? n : 0) + (order > 1 ? n * (n + 1) / 2 : 0);
}

/* The pieces of the places from number `first` on, in *room, or NULL */
static inline const Pieces *piecesFrom(const Pieces *all, int first, Pieces *room) {
  if (!all) return NULL;
  *room = (Pieces){all->held ? all->held + first : NULL, all->own ? all->own + first : NULL,
                   all->inside ? all->inside + 2 * first : NULL, all->turns};
  return room;
}

struct CPFunction_ {
  atomic_int owners;
  int n, level; /* level: 1 + the largest one of a function that it calls */
  Dimension argument[MOST_N], result;
  int npieces;       /* the number of places where it has pieces */
  const char *timed; /* [npieces] cpFunctionTimed */
  const char *jumps; /* [npieces] cpFunctionJumps */
  /* jet: out. Values that are not finite are the caller's to find. pieces: or NULL */
  void (*evaluate)(const struct CPFunction_ *f, const sunrealtype *x, int order,
                   const Pieces *pieces, sunrealtype *jet);
  void (*destroy)(struct CPFunction_ *f); /* what it owns, and f */
  char *place; /* of an expression: file:line:column, and its beginning; or NULL */
};

/* What is wrong in a text, and where: offset in the text */
typedef struct {
  size_t at;
  char rule[RULE];
} Wrong;

/* ---- units.c ---- */

/* Reads a unit, "N m/rad", and moves *text behind it. The value in SI units is factor 10^exponent times the number. Returns 0, or
 * 1 with *wrong, whose offset is from `origin`; then *text is unchanged. */
int languageUnit(const char **text, const char *origin, Dimension *d, int *exponent,
                 long double *factor, Wrong *wrong);
/* The same for a text that is a unit as a whole, NULL and "" being none, with scale = factor 10^exponent. Returns 0, or 1 after
 * a message in rule. */
int languageWholeUnit(const char *unit, Dimension *d, sunrealtype *scale, char rule[RULE]);
int languageIsUnit(const char *name, size_t length);
/* Writes the dimension as a unit, "N/m", "a plain number". Returns text. */
const char *languageDimensionText(const Dimension *d, char text[MOST_NAME]);
static inline int sameDimension(const Dimension *a, const Dimension *b) {
  return a->power[0] == b->power[0] && a->power[1] == b->power[1] && a->power[2] == b->power[2];
}
/* value [unit] is accepted where `wanted` is required: equal dimensions, or a plain value. */
static inline int accepts(const Dimension *wanted, const Dimension *d) {
  return d->plain || sameDimension(wanted, d);
}

/* ---- scope.c ---- */

/* Reports the rule with its place. Returns CP_ILL_INPUT, or CP_MEM_FAIL if there is no rule. */
int languageReport(const char *function, const char *text, Place place, const Wrong *wrong);

typedef struct {
  int found, later;  /* later: it is the name of a function that has no value yet */
  sunrealtype value; /* of a number */
  Dimension d;
  CPFunction function; /* or NULL */
} Meaning;
/* Looks up a name, and evaluates its text at the first use. Returns 0, or an error code that has been reported. */
int languageMeaning(Scope *scope, const char *name, size_t length, Meaning *meaning);

void languageShowScope(const Scope *scope, Nearest *nearest);

/* ---- parse.c, spline.c, csv.c ---- */

int languageIsBuiltIn(const char *name);
/* Parses an expression. Returns 0, or an error code that has been reported. */
int languageExpression(Scope *scope, const char *text, Place place, int nvariables,
                       const char *const *variable, const char *const *unit, const char *result,
                       CPFunction *f);
/* Creates the spline of a table; its csv, if there is one, begins at `place`. unit [1, of a map 2], result: units, or NULL */
int languageTable(const CPTable *table, const char *const *unit, const char *result, Place place,
                  CPFunction *f);

/* Is f a table of one variable, of order 3 or 5, or a derivative of one, whose own derivative is a spline of that kind? */
int languageHasSlope(CPFunction f);
/* The derivative of such a table, which the caller owns, or NULL if out of memory */
CPFunction languageSlope(CPFunction f);

/* Two columns of numbers */
typedef struct {
  int n;
  sunrealtype *x, *value;  /* [n], owned by the caller also after an error */
  char unit[2][MOST_NAME]; /* as in the heads of the columns, or "" */
} Columns;
/* Returns 0, or an error code that has been reported. */
int languageColumns(const CPTable *table, Place place, Columns *columns);

#endif
