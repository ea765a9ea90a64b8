/* A list of objects with their keys. A model has a few of them, so that they are compared one after another; keys of
 * other lengths cost nothing. */
#include "memo.h"

#include <cpodes/cpodes_types.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry_ {
  struct Entry_ *older;
  CPArena arena; /* of the object */
  void *object;
  CPMemoMake make;
  size_t bytes;
  char key[];
} Entry;

struct CPMemo_ {
  pthread_mutex_t lock;
  Entry *newest;
};

int cpMemoCreate(CPMemo *memo) {
  CPMemo m = *memo = calloc(1, sizeof *m);
  if (m && !pthread_mutex_init(&m->lock, NULL)) return CP_SUCCESS;
  free(m);
  *memo = NULL;
  return CP_MEM_FAIL;
}

static void freeEntry(Entry *e) {
  cpArenaFree(&e->arena);
  free(e);
}

void cpMemoFree(CPMemo *memo) {
  if (!*memo) return;
  for (Entry *e = (*memo)->newest, *older; e; e = older) {
    older = e->older;
    freeEntry(e);
  }
  pthread_mutex_destroy(&(*memo)->lock);
  free(*memo);
  *memo = NULL;
}

static int isFor(const Entry *e, CPMemoMake make, const CPMemoKey *key, int nkeys, size_t bytes) {
  const char *at = e->key;
  if (e->make != make || e->bytes != bytes) return 0;
  for (int k = 0; k < nkeys; at += key[k++].bytes)
    if (key[k].bytes > 0 && memcmp(at, key[k].data, key[k].bytes)) return 0;
  return 1;
}

/* Returns the new entry, or NULL with the code of the failure. */
static Entry *makeEntry(CPMemoMake make, const CPMemoKey *key, int nkeys, size_t bytes,
                        void *argument, int *flag) {
  Entry *e = calloc(1, sizeof *e + bytes);
  *flag    = CP_MEM_FAIL;
  if (!e) return NULL;
  e->make = make, e->bytes = bytes;
  char *at = e->key;
  for (int k = 0; k < nkeys; at += key[k++].bytes)
    if (key[k].bytes > 0) memcpy(at, key[k].data, key[k].bytes);
  *flag = make(&e->arena, argument, &e->object);
  if (!*flag) return e;
  freeEntry(e);
  return NULL;
}

int cpMemoGet(CPMemo memo, CPArena *own, CPMemoMake make, const CPMemoKey *key, int nkeys,
              void *argument, void **object) {
  if (!memo) return make(own, argument, object);
  size_t bytes = 0;
  int flag     = CP_SUCCESS;
  for (int k = 0; k < nkeys; k++) bytes += key[k].bytes;
  pthread_mutex_lock(&memo->lock);
  Entry *e = memo->newest;
  while (e && !isFor(e, make, key, nkeys, bytes)) e = e->older;
  if (!e && (e = makeEntry(make, key, nkeys, bytes, argument, &flag))) {
    e->older     = memo->newest;
    memo->newest = e;
  }
  pthread_mutex_unlock(&memo->lock);
  if (e) *object = e->object;
  return flag;
}
