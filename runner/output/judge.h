/* Judges whether the results of a run are credible. The limits are deliberately coarse, ten times
 * what one may expect. */
#ifndef CPODES_RUNNER_JUDGE_H
#define CPODES_RUNNER_JUDGE_H

#include "history.h"

/* WITHOUT: ok, but the model lacks parts of its source that act on the motion. WRONG: a limit is
 * exceeded a hundredfold, or the run did not reach its end. */
typedef enum { VERDICT_OK, VERDICT_WITHOUT, VERDICT_DOUBTFUL, VERDICT_WRONG } Verdict;

enum { VERDICT_TEXT = 2 * RUN_TEXT };
/* Writes "ok", "ok, but without NAMES", "doubtful", "wrong"; returns text [VERDICT_TEXT]. */
const char *verdict_text(const History *history, Verdict verdict, char *text);

/* Judges the conserved quantities, the violations, the error, and what could not be evaluated. Each
 * reason for doubt, a sentence with its limit, is passed to tell, which may be NULL. What the model
 * lacks is no such reason; see verdict_text. */
Verdict judge(const History *history, void (*tell)(void *data, const char *reason), void *data);

/* The drift of quantity i in units of its scale: the largest change of a conserved quantity from
 * the start, or the largest rise of others above an earlier value. NaN if it has no scale, or was
 * NaN once. */
double judge_drift(const History *history, int i);
/* The violation that tolerances explain, which are relative to the largest coordinate or velocity of
 * the whole run. */
double judge_violation_limit(const History *history, RunLevel level);

#endif
