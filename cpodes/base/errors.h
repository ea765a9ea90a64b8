/* Texts of failures that are not reported yet, and names of return codes. */
#ifndef CPODES_ERRORS_H
#define CPODES_ERRORS_H

#include "object.h"

/* Writes the reason for a failure to text [CP_TEXT_LENGTH] without reporting it, and returns
 * code. */
int cpReason(char *text, int code, const char *format, ...) CP_PRINTF(3, 4);

/* Writes to text [CP_TEXT_LENGTH]. */
#define cpWrite(text, ...) ((void)cpReason((text), CP_SUCCESS, __VA_ARGS__))

/* Returns the code for the value that a user's function returned at time t (NaN if it does not
 * depend on t): CP_SUCCESS for 0, CP_USERFUNC_FAIL for a negative value, -CP_REPTD_USERFUNC_ERR for
 * a positive one. The reason, with the function's name, is written to text. */
int cpUserResult(char *text, int flag, double t, const char *name);

/* Returns the name of a cpodes code of either sign, or NULL if there is no such code. */
const char *cpCodeName(long int code);

#endif
