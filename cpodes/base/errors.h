/* Messages: kept for the Get...LastMessage functions and handed to the user's handler. */
#ifndef CPODES_ERRORS_H
#define CPODES_ERRORS_H

#include <cpodes/cpodes_types.h>

#define CP_TEXT_LENGTH 512

#if defined(__GNUC__)
#define CP_PRINTF(position, first) __attribute__((format(printf, position, first)))
#else
#define CP_PRINTF(position, first)
#endif

typedef struct {
  CPErrHandlerFn handler; /* NULL: one line on stderr */
  void *data;             /* the handler's            */
  char text[CP_TEXT_LENGTH];
} CPLog;

/* Writes the message into the log, reports it and returns code, so that a check is one line. log
 * NULL: there is no object yet, the message goes to stderr. */
int cpReport(CPLog *log, int code, const char *function, const char *format, ...) CP_PRINTF(4, 5);

/* Reason of a failure inside a projection: written to text [CP_TEXT_LENGTH] without reporting,
 * returns code. */
int cpReason(char *text, int code, const char *format, ...) CP_PRINTF(3, 4);

/* The same for a text alone. */
void cpWrite(char *text, const char *format, ...) CP_PRINTF(2, 3);

/* Name of a cpodes code, of either sign; NULL if it is none. */
const char *cpCodeName(long int code);

#endif
