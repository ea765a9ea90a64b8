/* Messages are stored for the Get...LastMessage functions and passed to the user's handler. */
#ifndef CPODES_ERRORS_H
#define CPODES_ERRORS_H

#include <cpodes/cpodes_types.h>

#define CP_TEXT_LENGTH 512

#if defined(__GNUC__)
#define CP_PRINTF(position, first) __attribute__((format(printf, position, first)))
/* For functions that are called rarely or never, so that their callers save no registers for
 * them. */
#define CP_RARE __attribute__((cold, noinline))
#else
#define CP_PRINTF(position, first)
#define CP_RARE
#endif

typedef struct {
  CPErrHandlerFn handler; /* if NULL, messages are printed to stderr */
  void *data;             /* for the handler */
  int handling;           /* the handler runs: what it causes to be reported is not passed to it */
  int running;            /* the number of calls under way that call functions of the user's */
  char text[CP_TEXT_LENGTH];
} CPLog;

/* Writes the message into the log, reports it and returns code, so that a check is one line. If log
 * is NULL, because there is no object yet, the message is printed to stderr. */
int cpReport(CPLog *log, int code, const char *function, const char *format, ...) CP_PRINTF(4, 5);

/* Returns 0, or the reported CP_REENTERED if `function` has been called by a function of the user's
 * that works for the same object, whose state is then between two states. */
int cpIdle(CPLog *log, const char *function);

/* Calls a function of the user's for an object, which is not idle meanwhile. */
#define cpCallUser(log, call) ((log)->running++, cpCalledUser((log), (call)))
static inline int cpCalledUser(CPLog *log, int result) {
  log->running--;
  return result;
}

/* The same for a wrong argument: cpRefuse(log, function, format, ...) returns CP_ILL_INPUT. */
#define cpRefuse(log, ...) cpReport((log), CP_ILL_INPUT, __VA_ARGS__)

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
