/* What all objects have in common: messages and counters. The libraries on libcpodes (bodies, session, contact) include this header as
 * well, and call the two functions that are exported; all are built together. */
#ifndef CPODES_OBJECT_H
#define CPODES_OBJECT_H

#include <cpodes/cpodes_types.h>
#include <stddef.h>

/* Iterations that converge take far fewer steps; this ends those that neither converge nor diverge. */
#define CP_MOST_ITERATIONS 100
/* Attempts that differ in a size only, each a fraction of the one before: if this many fail, the size is not the reason. */
#define CP_MOST_ATTEMPTS 5

enum { CP_TEXT_LENGTH = 512 };

#if defined(__GNUC__)
#define CP_PRINTF(position, first) __attribute__((format(printf, position, first)))
/* For functions that are called rarely or never, so that their callers save no registers for
 * them. */
#define CP_RARE __attribute__((cold, noinline))
#else
#define CP_PRINTF(position, first)
#define CP_RARE
#endif

/* ---- kinds of objects ---- */

/* A counter: its name, and where it is in the struct of the object's counters. */
typedef enum { CP_OF_LONG, CP_OF_INT, CP_OF_REAL } CPCounterType;
typedef struct {
  const char *name;
  size_t at;
  CPCounterType type;
} CPCounter;

#define CP_STAT(Counters, member, name)            \
  {                                                \
    name, offsetof(Counters, member),              \
        _Generic(((Counters *)0)->member, long int \
                 : CP_OF_LONG, sunrealtype         \
                 : CP_OF_REAL, int                 \
                 : CP_OF_INT, unsigned             \
                 : CP_OF_INT)                      \
  }

/* The most bytes that the counters of one object take. */
#define CP_MOST_COUNTERS 512

typedef struct {
  const CPCounter *counters; /* up to one without a name; NULL: none */
  /* Copies the struct of counters to *counters. */
  void (*read)(CPObject object, void *counters);
  /* The object that this one owns, which gets the same message handler, or NULL */
  CPObject (*owned)(CPObject object);
} CPKind;

/* ---- objects ---- */

/* The head of every object: the first member of its struct. */
typedef struct CPObject_ {
  const CPKind *kind;
  CPErrHandlerFn handler; /* NULL: messages are kept only */
  void *data;             /* for the handler */
  int handling;           /* the handler runs: what it causes to be reported is not passed to it */
  int running;            /* the number of calls under way that call functions of the user's */
  char text[CP_TEXT_LENGTH];
} CPLog;

/* Writes the message into the log, passes it to the handler and returns code, so that a check is one line. log may be NULL,
 * if there is no object. */
CPODES_EXPORT int cpReport(CPLog *log, int code, const char *function, const char *format, ...)
    CP_PRINTF(4, 5);
/* The same for a wrong argument: cpRefuse(log, function, format, ...) returns CP_ILL_INPUT. */
#define cpRefuse(log, ...) cpReport((log), CP_ILL_INPUT, __VA_ARGS__)

/* Returns 0, or the reported CP_REENTERED if `function` has been called by a function of the user's
 * that works for the same object, whose state is then between two states. */
CPODES_EXPORT int cpReentered(CPLog *log, const char *function);
static inline int cpIdle(CPLog *log, const char *function) {
  return log->running || log->handling ? cpReentered(log, function) : CP_SUCCESS;
}

/* Calls a function of the user's for an object, which is not idle meanwhile. */
#define cpCallUser(log, call) ((log)->running++, cpCalledUser((log), (call)))
static inline int cpCalledUser(CPLog *log, int result) {
  log->running--;
  return result;
}

/* ---- structs that callers allocate, which begin with their size ---- */

/* Copies such a struct to *own [own_size], with 0 for members that an older program does not know. Returns 0, CP_ILL_INPUT if
 * given is NULL, or CP_OLD_STRUCT if its size is 0; name: of the argument, for the message. */
static inline int cpTakeStruct(CPLog *log, void *own, size_t own_size, const void *given,
                               const char *name, const char *function) {
  if (!given) return cpRefuse(log, function, "%s must not be NULL", name);
  const size_t size = *(const size_t *)given;
  if (size == 0)
    return cpReport(log, CP_OLD_STRUCT, function, "the member size of %s must be set (CP_INIT)",
                    name);
  char *to         = own;
  const char *from = given;
  for (size_t k = 0; k < own_size; k++) to[k] = (char)(k < size ? from[k] : 0);
  *(size_t *)own = own_size;
  return CP_SUCCESS;
}
/* cpTake(log, &own, given, function) */
#define cpTake(log, own, given, function) \
  cpTakeStruct((log), (own), sizeof *(own), (given), #given, (function))

/* Copies *own [own_size] to a struct that the caller has allocated, no further than its size. */
static inline void cpGiveStruct(void *given, const void *own, size_t own_size) {
  const size_t size = *(const size_t *)given;
  char *to          = given;
  const char *from  = own;
  for (size_t k = sizeof size; k < size && k < own_size; k++) to[k] = from[k];
}
#define cpGive(given, own) cpGiveStruct((given), (own), sizeof *(own))

/* Element i of an array of such structs, whose stride is the size of the first one. */
static inline const void *cpElement(const void *array, int i) {
  return (const char *)array + (size_t)i * *(const size_t *)array;
}

#endif
