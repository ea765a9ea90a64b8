/* Memory of one object: a linked list of memory blocks, and of owned objects with their
 * destructors. */
#include "arena.h"

#include <cpodes/cpodes_types.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct CPArenaBlock_ {
  struct CPArenaBlock_ *older;
  void *object; /* owned, with its destructor; if NULL, plain memory follows this header */
  void (*destroy)(void *object);
  max_align_t memory[];
};

static struct CPArenaBlock_ *push(CPArena *arena, size_t bytes) {
  struct CPArenaBlock_ *block = arena->failed ? NULL : calloc(1, sizeof *block + bytes);
  arena->failed               = !block;
  if (!block) return NULL;
  block->older  = arena->newest;
  arena->newest = block;
  return block;
}

void *cpArenaAlloc(CPArena *arena, size_t count, size_t size) {
  if (count > 0 && size > (SIZE_MAX - sizeof(struct CPArenaBlock_)) / count) arena->failed = 1;
  struct CPArenaBlock_ *block = push(arena, count * size + (count * size == 0));
  return block ? block->memory : NULL;
}

void *cpArenaOwn(CPArena *arena, void *object, void (*destroy)(void *object)) {
  struct CPArenaBlock_ *block = object ? push(arena, 0) : NULL;
  if (!block) {
    arena->failed = 1;
    if (object) destroy(object);
    return NULL;
  }
  block->object  = object;
  block->destroy = destroy;
  return object;
}

static void destroyVector(void *v) { N_VDestroy(v); }

N_Vector cpArenaTake(CPArena *arena, N_Vector v) { return cpArenaOwn(arena, v, destroyVector); }

N_Vector cpArenaVector(CPArena *arena, N_Vector tmpl) {
  return arena->failed ? NULL : cpArenaTake(arena, N_VClone(tmpl));
}

void cpArenaArrays(CPArena *arena, size_t count, double **const arrays[], size_t number) {
  for (size_t k = 0; k < number; k++) CP_NEW(arena, *arrays[k], count);
}

void cpArenaVectors(CPArena *arena, N_Vector tmpl, N_Vector *const vectors[], size_t number) {
  for (size_t k = 0; k < number; k++) *vectors[k] = cpArenaVector(arena, tmpl);
}

int cpArenaStatus(const CPArena *arena) { return arena->failed ? CP_MEM_FAIL : CP_SUCCESS; }

void cpArenaFree(CPArena *arena) {
  while (arena->newest) {
    struct CPArenaBlock_ *block = arena->newest;
    arena->newest               = block->older;
    if (block->object) block->destroy(block->object);
    free(block);
  }
  arena->failed = 0;
}
