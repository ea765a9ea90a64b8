/* All methods that can take part in the race. */
#ifndef CPODES_BENCH_CONTESTANTS_H
#define CPODES_BENCH_CONTESTANTS_H

#include "contestant.h"

/* In the order of tables and plots; NULL beyond the last */
const Contestant *contestant(int i);
/* The contestant of this name, or NULL */
const Contestant *contestant_find(const char *name);
/* The name nearest to a wrong one, never NULL */
const char *contestant_nearest(const char *name);

#endif
