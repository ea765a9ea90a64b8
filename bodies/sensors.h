/* Quantities of elements by their names, ELEMENT.QUANTITY */
#ifndef CPODES_BODIES_SENSORS_H
#define CPODES_BODIES_SENSORS_H

#include "elements.h"
#include "language/language.h"

typedef enum {
  POSITION,
  VELOCITY,
  ACCELERATION_OF, /* of a point */
  ORIENTATION,     /* a body's angle in the plane */
  OMEGA,
  ALPHA,
  KINETIC,
  MOMENTUM,
  VALUE, /* of a coordinate, the length of a spring, the gap of a contact */
  VALUE_RATE,
  VALUE_RATE_2,
  REACTION, /* a force or torque of a joint or bushing, a force on a point */
  MOMENT,
  SCALAR_FORCE, /* of a spring, a drive or a coupler */
  AXIAL,
  POWER,
  STORED,
  ACTIVATION,
  LOAD,
  SLIP_ALONG,
  SLIP_ACROSS,
  OUTPUT,
  TRIGGER
} Quantity;

typedef struct {
  Quantity quantity;
  int kind, index;      /* of the element, NAME_BODY ... */
  int k;                /* number of a joint's coordinate */
  int vector;           /* has it three components? */
  int frame, component; /* a body in whose axes it is, or GROUND; 0 ... 2, or NONE: all */
  const char *unit;
  sunrealtype point[3]; /* of a body, from the centre of mass in its axes */
} Sensor;

enum { RULE_TEXT = 400 };
/* Reads the name of a quantity. scope: of names in points, or NULL. rule: out, what is wrong. Returns 0, or 1 after a rule. */
int bodiesSensor(const Mechanism *m, Scope *scope, const char *name, Sensor *s,
                 char rule[RULE_TEXT]);
/* The measure whose value (0) or rate (1) a sensor is; own: out, its pair if term->pair is NONE. Returns 0 or 1, or NONE if there is
 * no such measure. */
int bodiesSensorTerm(const Mechanism *m, const Sensor *s, Pair *own, Term *term);
/* The number of quantities of all elements, vectors without their components; number i and its name; the number of a quantity */
int bodiesSensors(const Mechanism *m);
void bodiesSensorName(const Mechanism *m, int i, Sensor *s, char name[TEXT]);
int bodiesSensorIndex(const Mechanism *m, const Sensor *s);
/* g [2 nu]: out, the gradient of a quantity at (t, y), where the poses are, with lambda of the motion if it needs them (slopes.c). x [3]: its
 * value in space, if it is a vector. Returns 0, or an
 * error code that has been reported. */
int bodiesSlope(CPMech mech, Mechanism *m, const Sensor *of, const char *name, sunrealtype t,
                N_Vector y, const sunrealtype *lambda, const sunrealtype *x, sunrealtype *g);
/* Does it depend on u' or multipliers? */
int bodiesSensorNeeds(const Mechanism *m, const Sensor *s);

#endif
