/* A run in a separate process: one that crashes, hangs or takes too long is a result, not the end
 * of the race. The child starts as a copy of this process and sends its figures back through a
 * pipe; its CPU time is measured separately. */
#ifndef CPODES_BENCH_FORKED_H
#define CPODES_BENCH_FORKED_H

#include "contestant.h"

enum { RACE_TIME_LIMIT = -9001, RACE_CRASHED = -9002, RACE_NO_PROCESS = -9003 };

/* Like contestant->solve. limit: of the CPU time [s]; that of wall-clock time is five times as
 * long. A run of less than 200 ms is made three times, and the last one counts: those before warm
 * memory and caches. Its output goes to the file log (nowhere if it is NULL). */
void run_forked(const Contestant *contestant, const CPPlugin *model, sunrealtype t_end,
                sunrealtype tol, double limit, const char *log, N_Vector y, RaceFigures *figures);

#endif
