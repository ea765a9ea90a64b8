/* cpodes: functions of named variables with exact first and second derivatives (guide, chapter "Expressions and tables").
 *
 *   f : R^n -> R,   n <= CP_MOST_VARIABLES,   with its gradient g_i = df/dx_i and its Hessian H_ij = d^2 f/dx_i dx_j
 *
 * A function is an expression, "2 kN*sin(rate*t)", or a table with an interpolating spline. It is constant, belongs to no
 * thread, and keeps the functions that it calls. Numbers may have units, "50 mm", and all dimensions are checked: values are
 * those of the SI units. The library stands on libcpodes' messages alone and knows no mechanics.
 */
#ifndef CPODES_LANGUAGE_H
#define CPODES_LANGUAGE_H

#include <cpodes/cpodes_types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CP_MOST_VARIABLES = 16 };

/** A name that an expression may use besides its variables: a number, or a function that it may call. */
typedef struct {
  size_t size;      /**< of this struct */
  const char *name; /**< letters (also of UTF-8), digits and _, no digit first, at most 100 bytes */
  const char *text; /**< expression of a number; it may use the other names, in any order, but not itself */
  CPFunction function; /**< or a function to be called by this name, which stays the caller's; NULL if there is a text */
} CPDefinition;

/** How a table continues at its ends. */
typedef enum {
  CP_ENDS_NATURAL =
      0, /**< the highest derivatives vanish there: f'' (order 3), f''' and f'''' (order 5) */
  CP_ENDS_CLAMPED =
      1, /**< derivatives are given there: f' (order 3), f' and f'' (order 5); order 1 has none */
  CP_ENDS_PERIODIC = 2, /**< the last row is the first one again, a period later */
  CP_ENDS_CUBIC =
      3 /**< order 3: f''' is there that of the cubic through the four rows next to the end, or 0 if there are three (Forsythe,
         * Malcolm and Moler, Computer Methods for Mathematical Computations, 1977, section 4.4; SimmSpline of OpenSim) */
} CPTableEnds;

/**
 * A table of values f(x_i) or, as a map, f(x_i, y_j), interpolated by splines: piecewise linear (order 1), cubic and twice
 * continuously differentiable (3), or quintic and four times so (5); a map by their tensor product (de Boor, A Practical Guide
 * to Splines, chapters IV and XVII). Beyond its ends it continues by the tangent there (orders 1 and 3) or by the parabola with
 * the same derivatives (5); a periodic one repeats itself. A value takes a time that is independent of the length
 * of the table if its rows are about evenly spaced, and that grows as its logarithm at worst.
 */
typedef struct {
  size_t size;      /**< of this struct */
  int order;        /**< 1, 3 or 5; 0 means 3 */
  CPTableEnds ends; /**< of both variables */
  sunrealtype slope[4]; /**< clamped: f' at the first and last row, then f'' there, in the table's units; of maps 0 */
  int nx; /**< number of rows; 2 at least, 3 with natural ends of order 5 or cubic ones, 4 if it is periodic */
  const sunrealtype *x; /**< [nx] strictly increasing, in the unit of the first variable */
  int ny; /**< number of columns of a map, with the same bounds; 0 if there is one variable */
  const sunrealtype *y; /**< [ny] strictly increasing; NULL if there is one variable */
  const sunrealtype *value; /**< [nx] or [nx ny], f(x_i, y_j) at place ny i + j, in the unit of the result */
  /** In place of x and value: lines of numbers, separated by commas, semicolons, tabs or blanks. The first line may have the
   * names of the columns, each with its unit in brackets if it has one, "angle [deg], pressure [bar]", which precedes `unit`
   * and `result`. Empty lines and those that begin with # are skipped. */
  const char *csv;
  size_t length; /**< of csv in bytes */
  const char *column[2]; /**< names of the columns of x and of the value; NULL: the first and the second one */
} CPTable;

/** What a function is made of. Either text or table must be given. */
typedef struct {
  size_t size;          /**< of this struct */
  const char *text;     /**< expression, terminated by a zero */
  const CPTable *table; /**< or table; copied */
  int nvariables; /**< number of variables of the expression, or 0; those of a table have no names */
  const char *const *variable; /**< [nvariables] their names, such names joined by dots */
  const char *const *unit; /**< units of the variables, "mm" or "N m/rad"; NULL or "": plain numbers */
  const char *result;      /**< the unit that the value must have; NULL: any, for a table none */
  int ndefinitions;        /**< number of further names */
  const CPDefinition *definition; /**< [ndefinitions] these names; copied */
  const char *file;               /**< where the text stands, for messages, or NULL */
  int line;                       /**< the line in which it begins; 0 means 1 */
  int column;                     /**< the column; 0 means 1 */
} CPFunctionOptions;

/**
 * Creates a function.
 *
 *   sum     = product {("+" | "-") product}         product = factor {("*" | "/") factor}
 *   factor  = ("-" | "+") factor | primary ["^" factor]
 *   primary = number [unit] | name | name {"'"} "(" sum {"," sum} ")" | "(" sum ")"
 *   unit    = one {one} {"/" one}                    one     = "m" | "mm" | "deg" | ... ["^" integer]
 *
 * Functions are sin, cos, tan, asin, acos, atan, atan2(y, x), sinh, cosh, tanh, exp, log (the natural one), log10, sqrt, abs, sign,
 * hypot, min(a, b, ...), max(a, b, ...), poly(x, c0, c1, ...) = c0 + c1 x + ..., smooth(s), which rises from 0 at s = 0 to 1 at
 * s = 1 with two continuous derivatives, and if(a < b, c, d), with <, <=, > or >=. pi is a number. At a kink, as of abs or min,
 * derivatives are those of one side.
 *
 * Sums need equal dimensions; 0 has any. A number without a unit is plain, as is what is made of plain numbers alone. A plain
 * value is accepted where a unit is required, and means the SI unit. Angles have no dimension.
 *
 * f: out, owned by the caller (CPFunctionFree). Returns CP_SUCCESS, CP_ILL_INPUT with the message "file:line:column: rule"
 * (CPObjectGetLastMessage(NULL)), CP_OLD_STRUCT or CP_MEM_FAIL.
 */
CPODES_EXPORT int CPFunctionCreate(const CPFunctionOptions *options, CPFunction *f);
/** Frees *f, unless another function or a mechanism keeps it, and sets it to NULL. f or *f may be NULL. */
CPODES_EXPORT void CPFunctionFree(CPFunction *f);
/** Returns the value at x [n], the gradient [n] and the Hessian [n n]; value, gradient and hessian may be NULL. Any threads may
 * do so at once. Returns CP_SUCCESS; 1 if one of these is not a finite number, as for 1/x at 0, so that a smaller step may help;
 * CP_MEM_NULL if f or x is NULL. */
CPODES_EXPORT int CPFunctionEvaluate(CPFunction f, const sunrealtype *x, sunrealtype *value,
                                     sunrealtype *gradient, sunrealtype *hessian);

#ifdef __cplusplus
}
#endif
#endif
