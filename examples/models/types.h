/* The tables of the mechanisms, for catalogue.c: each is the last thing in its <name>_type.c. */
#ifndef CPODES_EXAMPLES_TYPES_H
#define CPODES_EXAMPLES_TYPES_H

#include "model.h"

extern const ModelType pendulum_type, andrews_type, car_axis_type, slider_crank_type;

#endif
