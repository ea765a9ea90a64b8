/* Memory of one object. A constructor asks for everything that the object needs and checks once; one call frees
 * it all, in reverse order. An arena of zeros is empty. */
#ifndef CPODES_ARENA_H
#define CPODES_ARENA_H

#include <sundials/sundials_nvector.h>

typedef struct {
  struct CPArenaBlock_ *newest;
  int failed; /* sticky: an allocation failed; all that is asked for later is NULL, too */
} CPArena;

/* Zeros, at least one byte; NULL once an allocation has failed. */
void *cpArenaAlloc(CPArena *arena, size_t count, size_t size);
/* pointer <- count zeros of its type */
#define CP_NEW(arena, pointer, count) \
  ((pointer) = cpArenaAlloc((arena), (size_t)(count), sizeof *(pointer)))
/* A clone of tmpl, contents undefined. */
N_Vector cpArenaVector(CPArena *arena, N_Vector tmpl);
/* Leaves v to the arena, as cpArenaOwn does. */
N_Vector cpArenaTake(CPArena *arena, N_Vector v);
/* Leaves object to the arena, which calls destroy(object); returns object. NULL counts as a failed allocation; where
 * the arena cannot take it, object is destroyed at once and the result is NULL. */
void *cpArenaOwn(CPArena *arena, void *object, void (*destroy)(void *object));

/* CP_SUCCESS or CP_MEM_FAIL. */
int cpArenaStatus(const CPArena *arena);
/* The arena is empty afterwards. */
void cpArenaFree(CPArena *arena);

#endif
