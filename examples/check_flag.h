/* Checks of return codes in the examples: CHECK(call) ends the program with status 2 if a call of
 * SUNDIALS or cpodes returned an error (< 0), CHECK_NEW(pointer) if a constructor returned NULL.
 * A real code would return the error to its caller instead.
 */
#ifndef CPODES_EXAMPLES_CHECK_FLAG_H
#define CPODES_EXAMPLES_CHECK_FLAG_H

#include <cpodes/cpodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sundials/sundials_context.h>

#define CHECK(call)        check_flag((call), #call, __FILE__, __LINE__)
#define CHECK_NEW(pointer) check_pointer((pointer), #pointer, __FILE__, __LINE__)

#ifndef SUN_COMM_NULL /* SUNDIALS 7 has it: "no MPI" */
#define SUN_COMM_NULL NULL
#endif

static inline void check_flag(int flag, const char *call, const char *file, int line) {
  if (flag >= 0) return;
  char *name = CPGetReturnFlagName(flag);
  fprintf(stderr, "%s:%d: %s returned %d (%s)\n", file, line, call, flag, name ? name : "?");
  fprintf(stderr, "%s\n", CPObjectGetLastMessage(NULL));
  free(name);
  exit(2);
}

/* A counter of an object: COUNT(mem, "steps") */
#define COUNT(object, name) count_of(CP_OBJECT(object), name)

static inline long int count_of(CPObject object, const char *name) {
  sunrealtype value = 0;
  CHECK(CPObjectGetStat(object, name, &value));
  return (long int)value;
}

static inline void check_pointer(const void *pointer, const char *what, const char *file, int line) {
  if (pointer) return;
  fprintf(stderr, "%s:%d: %s is NULL: %s\n", file, line, what, CPObjectGetLastMessage(NULL));
  exit(2);
}

#endif
