/* 1,000 coupled coordinates with 100 constraints (bench/coupled.h) as a mechanism for the race. */
#ifndef CPODES_BENCH_DENSE_H
#define CPODES_BENCH_DENSE_H

#include <models/model.h>

extern const CPPluginType dense_type;

#endif
