/* A postfix program: what an expression is compiled to */
#ifndef CPODES_LANGUAGE_PROGRAM_H
#define CPODES_LANGUAGE_PROGRAM_H

#include "language_impl.h"

enum { MOST_ARGUMENTS = MOST_N };

typedef enum {
  NUMBER,
  VARIABLE,
  ADD,
  SUB,
  MUL,
  DIV,
  POW,
  POWER,
  SCALE,
  CALL,
  LESS,
  LESS_EQ,
  IF,
  MIN,
  MAX,
  POLY,
  ATAN2,
  HYPOT,
  SIN,
  COS,
  TAN,
  ASIN,
  ACOS,
  ATAN,
  SINH,
  COSH,
  TANH,
  EXP,
  LOG,
  LOG10,
  SQRT,
  ABS,
  SIGN,
  SMOOTH
} Code; /* POWER, SCALE: with a constant exponent, by a constant factor; from SIN on: functions of one argument */

typedef struct {
  Code code;
  int k; /* number of operands, or the index of the variable */
  union {
    sunrealtype c; /* the number, exponent or factor */
    CPFunction f;
  } of;
} Op;

typedef struct {
  struct CPFunction_ head; /* first */
  int nops;
  Op *op;              /* [nops] */
  char *timed, *jumps; /* [npieces] */
} Expression;

/* A program without operations of n variables. Returns NULL if out of memory. */
Expression *languageNewExpression(int n);
/* pieces: or NULL; stack [at least the highest number of jets at a time]: out, the jet of the value at its beginning */
void languageRun(const Op *op, int nops, int n, const sunrealtype *x, int order,
                 const Pieces *pieces, sunrealtype *stack);
/* The program of an expression, or NULL if f is none */
const Expression *languageProgram(CPFunction f);
/* Counts the places with pieces in a program that is complete. Returns 0, or 1 if out of memory. */
int languageCountPieces(Expression *e);

/* ---- parse.c ---- */

/* The name of a function that is built in, or NULL */
const char *languageFunctionName(Code code);

#endif
