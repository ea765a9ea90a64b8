#include "context.h"

#include <stddef.h>
#include <sundials/sundials_config.h>

SUNContext context_create(void) {
  SUNContext ctx = NULL;
#if SUNDIALS_VERSION_MAJOR >= 7
  if (SUNContext_Create(SUN_COMM_NULL, &ctx)) return NULL;
  SUNContext_ClearErrHandlers(ctx); /* the first of them prints */
#else
  if (SUNContext_Create(NULL, &ctx)) return NULL;
#endif
  return ctx;
}
