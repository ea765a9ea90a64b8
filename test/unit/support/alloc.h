/* Counts the allocations of code that is linked statically into a test, and makes the n-th one
 * fail.
 *
 * The linker's --wrap option redirects the calls of malloc, calloc, realloc, free and strdup,
 * and of those SUNDIALS functions that create or destroy (the list is in
 * test/unit/CMakeLists.txt), in the test program and in the static cpodes library to the
 * functions in alloc.c; shared libraries (SUNDIALS, LAPACK, libc) are not touched, so a count is
 * that of cpodes and of the test itself. A function of SUNDIALS that allocates counts as one allocation. Sanitizers and valgrind work as always. A test that
 * uses this is registered with  support/alloc.c WRAP ${allocation_functions}  in
 * test/unit/CMakeLists.txt.
 *
 * One thread only; outside alloc_watch ... alloc_unwatch every call goes straight through. / */
#ifndef CPODES_TEST_ALLOC_H
#define CPODES_TEST_ALLOC_H

/* Starts counting at zero. */
void alloc_watch(void);
/* Starts counting at zero and makes the n-th allocation (n = 1, 2, ...) return NULL, once. */
void alloc_watch_failing(long n);
/* Allocations of SuiteSparse count as well (on), or go straight through. */
void alloc_count_suitesparse(int on);
/* Functions of CVODES, which report what they lack memory for, count as well (on, the default) and then fail without a message, or
 * go straight through. */
void alloc_count_cvodes(int on);
/* Stops; the figures stay readable until the next alloc_watch. */
void alloc_unwatch(void);

/* Allocations since alloc_watch, the failed one included. */
long alloc_count(void);
/* Blocks, vectors and matrices allocated and not freed since alloc_watch. */
long alloc_live(void);
/* Has the allocation that was to fail been reached? */
int alloc_has_failed(void);

#endif
