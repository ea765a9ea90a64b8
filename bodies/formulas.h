/* Functions as motions, laws and forces (CPFunction) */
#ifndef CPODES_BODIES_FORMULAS_H
#define CPODES_BODIES_FORMULAS_H

#include "elements.h"

struct Custom_;

#include "sensors.h"

#include <cpodes/cpodes_language.h>

/* A quantity on which a function depends: a measure (level 0) or its rate (1) */
typedef struct {
  Term term;
  int level;
} Input;

/* What a formula is for: in a motion its slope is a part of velocities, so that these jump where it does. A sampled one is that of a
 * controller or a release, which takes the pieces where it is. */
typedef enum { FOR_FORCES, FOR_MOTIONS, FOR_SAMPLES } Use;

/* f: of t, what the element has (a law: x, x'; a force: the position and velocity of its point), and the inputs; up to three
 * components, NULL: 0 */
typedef struct Formula_ {
  struct Formula_ *next;
  Use use;
  char *name; /* of the element */
  CPFunction f[3];
  int place[3]; /* the number of the first place where a component has pieces (kinks.c) */
  int of_time;  /* is its first variable the time? */
  int number;   /* how many the mechanism had before */
  int ninputs, first_input; /* how many inputs those before have */
  Input input[CP_MOST_VARIABLES];
} Formula;

/* A sampled controller, which sets a parameter to the function of t and of its inputs */
typedef struct Controller_ {
  int name, param, ninputs;
  sunrealtype period, first, delay;
  Formula *formula;
  Sensor input[CP_MOST_VARIABLES];
} Controller;

/* A release of a joint, or a latch. at: the index of the parameter that is its load or, if `timed`, its time; NONE beside a formula */
typedef struct Release_ {
  int name, joint, at, timed, closes, ninputs;
  Formula *formula;
  Sensor input[CP_MOST_VARIABLES];
} Release;

/* Reads the names of quantities, which the caller's function has as variables after t, and which depend neither on controllers and
 * releases nor, unless `any`, on accelerations and reactions. Returns 0, or an error code that has been reported. */
int bodiesTakeInputs(CPBodies b, const char *name, const char *inputs, int any, Sensor *input,
                     int *ninputs);
/* Makes a formula of functions [count] that may be NULL, and of the quantities named in `inputs`, which the mechanism owns. own: number
 * of the variables between t and the inputs. formula: out, NULL if there is no function. Returns 0, or an error code that has been
 * reported. */
int bodiesTakeFormula(CPBodies b, const char *name, Use use, int count, const CPFunction *f,
                      int own, const char *inputs, Formula **formula);
/* The same for a function of one variable, which is not t: that of a term, or of a motion of a joint */
int bodiesTakeVariable(CPBodies b, const char *name, Use use, CPFunction f, Formula **formula);
/* Has such a function the period 2 pi? Its values and slopes are compared at some places, up to roundoff. */
int bodiesHasPeriod(const Formula *formula);
/* Keeps a copy of the motions of a joint. kept: out. Returns 0, or an error code that has been reported. */
int bodiesKeepCustom(CPBodies b, const char *name, const struct Custom_ *custom,
                     const struct Custom_ **kept);
/* Checks the motions of a joint by functions, and keeps them (custom.c). Returns as bodiesKeepCustom. */
int bodiesTakeCustom(CPBodies b, const CPJoint *joint, const struct Custom_ **custom);
/* The newest formula of the mechanism, or NULL */
const Formula *bodiesFirstFormula(const Mechanism *m);
/* A copy of a mechanism owns the formulas as well, and gives them back. */
void bodiesShareFormulas(Mechanism *m);
void bodiesFreeFormulas(Mechanism *m);
/* Component k at t, own [nown] and the current poses: its value, and its derivatives g with respect to all variables, or NULL. Returns what
 * CPFunctionEvaluate returns. */
int bodiesFormula(const Mechanism *m, const Formula *formula, int k, sunrealtype t, int nown,
                  const sunrealtype *own, sunrealtype *value, sunrealtype g[CP_MOST_VARIABLES]);
/* g [3]: out, a function of one variable at x, such as the motion of a drive at a time, with its first and second derivatives. Returns the
 * same. */
int bodiesMotion(const Mechanism *m, const Formula *formula, sunrealtype x, sunrealtype *g);
/* d: out, its third derivative, by a central difference of the second one, whose step balances its error of second order against
 * roundoff: exact for cubic splines but within a step from their knots. Only the derivatives of accelerations have it, in matrices of
 * Newton's iteration and over parameters. Returns 0, or 1 if the function fails. */
int bodiesThird(const Mechanism *m, const Formula *formula, sunrealtype x, sunrealtype *d);
/* The newest function without a finite value, or force without one, in the data of a CPMech */
typedef struct Failed_ {
  const Formula *formula;  /* or NULL */
  int k;                   /* its component */
  const PointForce *force; /* whose law is not defined where its bodies are (wrench.c) */
} Failed;
/* Describes it. text [length]: in, out; as it was if there is none */
void bodiesFailure(const Mechanism *m, char *text, size_t length);
/* What stands for bodiesMotion in a drive whose data is a Formula */
int bodiesMotionOf(sunrealtype t, sunrealtype *g, void *formula);

#endif
