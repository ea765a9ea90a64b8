/* Counts the allocations of code that is linked statically into a test, and makes the n-th one
 * fail.
 *
 * The linker's --wrap option redirects the calls of malloc, calloc, realloc, free and strdup, and of
 * those SUNDIALS functions that create or destroy (the list is in cmake/CpodesTests.cmake), in the
 * test program and in the static cpodes library to the functions in alloc.c. Shared libraries
 * (SUNDIALS, LAPACK, libc) are not changed, so a count is that of cpodes and of the test itself. A
 * function of SUNDIALS that allocates counts as one allocation. Sanitizers and valgrind work as
 * usual. The program of each room links it (cpodes_add_room in cmake/CpodesTests.cmake).
 *
 * One thread only; outside alloc_watch ... alloc_unwatch every call is passed through. */
#ifndef CPODES_TEST_ALLOC_H
#define CPODES_TEST_ALLOC_H

/* Starts counting at zero. */
void alloc_watch(void);
/* Starts counting at zero and makes the n-th allocation (n = 1, 2, ...) return NULL, once. */
void alloc_watch_failing(long n);
/* Allocations of SuiteSparse are counted as well (on), or are passed through. */
void alloc_count_suitesparse(int on);
/* Functions of CVODES that report a lack of memory are counted as well (on, the default) and then
 * fail without a message, or are passed through. */
void alloc_count_cvodes(int on);
/* Stops counting; the figures stay readable until the next alloc_watch. */
void alloc_unwatch(void);

/* Allocations since alloc_watch, including the failed one */
long alloc_count(void);
/* Blocks, vectors and matrices allocated since alloc_watch and not freed */
long alloc_live(void);
/* Was the allocation that should fail reached? */
int alloc_has_failed(void);

#endif
