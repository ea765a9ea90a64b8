/* Memory of one object. A constructor requests everything that the object needs and checks once;
 * one call frees all of it, in reverse order. An arena filled with zeros is empty. */
#ifndef CPODES_ARENA_H
#define CPODES_ARENA_H

#include <sundials/sundials_nvector.h>

typedef struct {
  struct CPArenaBlock_ *newest;
  int failed; /* set once an allocation has failed; all later ones then fail too */
} CPArena;

/* Returns memory filled with zeros, at least one byte, or NULL once an allocation has failed. */
void *cpArenaAlloc(CPArena *arena, size_t count, size_t size);
/* Sets pointer to count elements of its type, filled with zeros. */
#define CP_NEW(arena, pointer, count) \
  ((pointer) = cpArenaAlloc((arena), (size_t)(count), sizeof *(pointer)))
/* Returns a clone of tmpl, whose contents are undefined. */
N_Vector cpArenaVector(CPArena *arena, N_Vector tmpl);
/* Set each of the pointers whose addresses follow: to an array of `count` zeros, or to a clone of
 * tmpl. */
#define CP_ARRAYS(arena, count, ...)                                  \
  cpArenaArrays((arena), (size_t)(count), (double **[]){__VA_ARGS__}, \
                sizeof(double **[]){__VA_ARGS__} / sizeof(double **))
#define CP_VECTORS(arena, tmpl, ...)                           \
  cpArenaVectors((arena), (tmpl), (N_Vector *[]){__VA_ARGS__}, \
                 sizeof(N_Vector *[]){__VA_ARGS__} / sizeof(N_Vector *))
void cpArenaArrays(CPArena *arena, size_t count, double **const arrays[], size_t number);
void cpArenaVectors(CPArena *arena, N_Vector tmpl, N_Vector *const vectors[], size_t number);
/* Passes the ownership of v to the arena, as cpArenaOwn does. */
N_Vector cpArenaTake(CPArena *arena, N_Vector v);
/* Passes the ownership of object to the arena, which will call destroy(object), and returns object.
 * If object is NULL, this counts as a failed allocation. If the arena has failed, object is
 * destroyed at once and NULL is returned. */
void *cpArenaOwn(CPArena *arena, void *object, void (*destroy)(void *object));

/* Returns CP_SUCCESS or CP_MEM_FAIL. */
int cpArenaStatus(const CPArena *arena);
/* Frees everything; the arena is empty afterwards and may be used again. */
void cpArenaFree(CPArena *arena);

#endif
