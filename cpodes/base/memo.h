/* What is found out once and then shared by all who need the same: orders of elimination, index maps, groups of columns.
 * These objects are functions of a key, such as a pattern, and do not change, so that threads may use them at the same
 * time. One lock is held while an object is looked up or made. */
#ifndef CPODES_MEMO_H
#define CPODES_MEMO_H

#include "arena.h"

typedef struct CPMemo_ *CPMemo;

/* Returns 0 or CP_MEM_FAIL. */
int cpMemoCreate(CPMemo *memo);
/* To be called when nobody uses its objects any more. */
void cpMemoFree(CPMemo *memo);

/* A part of a key */
typedef struct {
  const void *data;
  size_t bytes;
} CPMemoKey;
/* Makes *object from the argument, in memory of the arena. Returns 0 or an error code. */
typedef int (*CPMemoMake)(CPArena *arena, void *argument, void **object);

/* *object <- what `make` has made for this key, which it makes if that has not been done. Without a memo it is made in
 * memory of `own`. Returns 0, or the code of `make`, or CP_MEM_FAIL. */
int cpMemoGet(CPMemo memo, CPArena *own, CPMemoMake make, const CPMemoKey *key, int nkeys,
              void *argument, void **object);

#endif
