/* May the results of a run be believed? The limits are deliberately coarse, ten times what one may expect. */
#ifndef CPODES_RUNNER_JUDGE_H
#define CPODES_RUNNER_JUDGE_H

#include "history.h"

/* WRONG: a limit is exceeded a hundredfold, or the run did not reach its end. */
typedef enum { VERDICT_OK, VERDICT_DOUBTFUL, VERDICT_WRONG } Verdict;

/* "ok", "doubtful", "wrong" */
const char *verdict_name(Verdict verdict);

/* Judges the quantities that the motion keeps, the violations, the error and what could not be evaluated. Each reason for
   doubt, a sentence with its limit, goes to tell, which may be NULL. */
Verdict judge(const History *history, void (*tell)(void *data, const char *reason), void *data);

/* Drift of quantity i in units of its scale: of a conserved one the largest change from the start; else the largest rise
   above what it was before. NaN: it has no scale, or is lost */
double judge_drift(const History *history, int i);
/* What the tolerances and the size of the motion explain of a violation */
double judge_violation_limit(const History *history, RunLevel level);

#endif
