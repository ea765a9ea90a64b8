/* A benchmark that cannot set itself up ends at once. Failures of an integration are results, not
 * errors. */
#ifndef CPODES_BENCH_CHECK_H
#define CPODES_BENCH_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <sundials/sundials_config.h>
#include <sundials/sundials_context.h>

/* call returns 0 on success */
#define CHECK(call) check_zero((call), #call, __FILE__, __LINE__)
/* pointer must not be NULL, and is returned */
#define CHECK_POINTER(pointer) check_pointer((pointer), #pointer, __FILE__, __LINE__)

static inline void check_zero(long int flag, const char *call, const char *file, int line) {
  if (!flag) return;
  fprintf(stderr, "%s:%d: %s returned %ld\n", file, line, call, flag);
  exit(EXIT_FAILURE);
}

static inline void *check_pointer(void *pointer, const char *call, const char *file, int line) {
  if (!pointer) check_zero(-1, call, file, line);
  return pointer;
}

/* A context for a program */
static inline SUNContext check_context(void) {
  SUNContext ctx = NULL;
#if SUNDIALS_VERSION_MAJOR >= 7
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
#else
  CHECK(SUNContext_Create(NULL, &ctx));
#endif
  return ctx;
}

#endif
