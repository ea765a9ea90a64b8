/* What is worth a warning in the results of a run: the limits are deliberately coarse, ten times what one may expect. */
#ifndef CPODES_RUNNER_JUDGE_H
#define CPODES_RUNNER_JUDGE_H

#include "../output/history.h"

/* Was quantity i not a number at some output? */
bool judge_quantity_is_lost(const History *history, int i);

/* Drift of quantity i in units of its scale: of a conserved one the largest change from the start; else the largest rise
   above what it was before. NaN: it has no scale, or is lost */
double judge_drift(const History *history, int i);
bool judge_drift_is_large(const History *history, int i);

/* Is more left of the constraints than tolerances and size of the motion explain? */
bool judge_violation_is_large(const History *history, RunLevel level);

/* Is the error against the reference more than a hundredth of the motion? NaN is not */
bool judge_error_is_large(const History *history);

#endif
