#include "alloc.h"

#include <SuiteSparse_config.h>
#include <stddef.h>
#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nonlinearsolver.h>
#include <sundials/sundials_nvector.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

#include <cvodes/cvodes.h>
#include <cvodes/cvodes_ls.h>

#include <arkode/arkode_butcher.h> /* needs stdio.h before it */

static struct {
  int watching;
  long count;   /* allocations seen           */
  long live;    /* allocated and not freed    */
  long fail_at; /* number of the one that fails */
  int failed;
} shim;

void alloc_watch_failing(long n) {
  shim.count   = 0;
  shim.live    = 0;
  shim.fail_at = n;
  shim.failed  = 0;

  shim.watching = 1;
}

void alloc_watch(void) { alloc_watch_failing(0); }

void alloc_unwatch(void) { shim.watching = 0; }

long alloc_count(void) { return shim.count; }

long alloc_live(void) { return shim.live; }

int alloc_has_failed(void) { return shim.failed; }

/* Is this the allocation that fails? */
static int is_denied(void) {
  if (!shim.watching) return 0;
  if (++shim.count != shim.fail_at) return 0;
  shim.failed = 1;
  return 1;
}

/* The same for allocations inside a function of CVODES */
static int cvodes_goes_through;
static int is_cvodes_denied(void) { return !cvodes_goes_through && is_denied(); }

void alloc_count_cvodes(int on) { cvodes_goes_through = !on; }

static void *allocated(void *p) {
  if (shim.watching && p) shim.live++;
  return p;
}

static void freed(const void *p) {
  if (shim.watching && p) shim.live--;
}

/* The linker binds X to __wrap_X, and __real_X to the library's X. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
char *__real_strdup(const char *s);
N_Vector __real_N_VClone(N_Vector x);
N_Vector __real_N_VCloneEmpty(N_Vector x);
N_Vector __real_N_VNew_Serial(sunindextype length, SUNContext ctx);
N_Vector __real_N_VMake_Serial(sunindextype length, sunrealtype *data, SUNContext ctx);
void __real_N_VDestroy(N_Vector x);
SUNMatrix __real_SUNDenseMatrix(sunindextype M, sunindextype N, SUNContext ctx);
SUNMatrix __real_SUNSparseMatrix(sunindextype M, sunindextype N, sunindextype NNZ, int type,
                                 SUNContext ctx);
SUNMatrix __real_SUNMatClone(SUNMatrix A);
void __real_SUNMatDestroy(SUNMatrix A);
SUNNonlinearSolver __real_SUNNonlinSolNewEmpty(SUNContext ctx);
void __real_SUNNonlinSolFreeEmpty(SUNNonlinearSolver NLS);
SUNNonlinearSolver __real_SUNNonlinSol_Newton(N_Vector y, SUNContext ctx);
int __real_CVodeAdjInit(void *cvode_mem, long int steps, int interp);
char *__real_CVodeGetReturnFlagName(long int flag);
ARKodeButcherTable __real_ARKodeButcherTable_Alloc(int stages, sunbooleantype embedded);
ARKodeButcherTable __real_ARKodeButcherTable_Copy(ARKodeButcherTable B);
ARKodeButcherTable __real_ARKodeButcherTable_LoadERKByName(const char *name);
void __real_ARKodeButcherTable_Free(ARKodeButcherTable B);
SUNLinearSolver __real_SUNLinSol_Dense(N_Vector y, SUNMatrix A, SUNContext ctx);
SUNNonlinearSolver __real_SUNNonlinSol_FixedPoint(N_Vector y, int m, SUNContext ctx);
SUNMatrix __real_SUNMatNewEmpty(SUNContext ctx);
SUNLinearSolver __real_SUNLinSolNewEmpty(SUNContext ctx);
void *__real_CVodeCreate(int lmm, SUNContext ctx);
int __real_CVodeInit(void *cvode_mem, CVRhsFn f, sunrealtype t0, N_Vector y0);
int __real_CVodeRootInit(void *cvode_mem, int nrtfn, CVRootFn g);
int __real_CVodeSVtolerances(void *cvode_mem, sunrealtype reltol, N_Vector abstol);
int __real_CVodeSetLinearSolver(void *cvode_mem, SUNLinearSolver LS, SUNMatrix A);
int __real_CVodeSensInit1(void *cvode_mem, int Ns, int ism, CVSensRhs1Fn fS1, N_Vector *yS0);
int __real_CVodeCreateB(void *cvode_mem, int lmm, int *which);
int __real_CVodeInitB(void *cvode_mem, int which, CVRhsFnB f, sunrealtype t, N_Vector y);
int __real_CVodeQuadInitB(void *cvode_mem, int which, CVQuadRhsFnB f, N_Vector q);
int __real_CVodeSetLinearSolverB(void *cvode_mem, int which, SUNLinearSolver LS, SUNMatrix A);
int __real_SUNSparseMatrix_Reallocate(SUNMatrix A, sunindextype nnz);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
N_Vector __wrap_N_VClone(N_Vector x);
N_Vector __wrap_N_VCloneEmpty(N_Vector x);
N_Vector __wrap_N_VNew_Serial(sunindextype length, SUNContext ctx);
N_Vector __wrap_N_VMake_Serial(sunindextype length, sunrealtype *data, SUNContext ctx);
void __wrap_N_VDestroy(N_Vector x);
SUNMatrix __wrap_SUNDenseMatrix(sunindextype M, sunindextype N, SUNContext ctx);
SUNMatrix __wrap_SUNSparseMatrix(sunindextype M, sunindextype N, sunindextype NNZ, int type,
                                 SUNContext ctx);
SUNMatrix __wrap_SUNMatClone(SUNMatrix A);
void __wrap_SUNMatDestroy(SUNMatrix A);
SUNNonlinearSolver __wrap_SUNNonlinSolNewEmpty(SUNContext ctx);
void __wrap_SUNNonlinSolFreeEmpty(SUNNonlinearSolver NLS);
SUNNonlinearSolver __wrap_SUNNonlinSol_Newton(N_Vector y, SUNContext ctx);
int __wrap_CVodeAdjInit(void *cvode_mem, long int steps, int interp);
char *__wrap_CVodeGetReturnFlagName(long int flag);
ARKodeButcherTable __wrap_ARKodeButcherTable_Alloc(int stages, sunbooleantype embedded);
ARKodeButcherTable __wrap_ARKodeButcherTable_Copy(ARKodeButcherTable B);
ARKodeButcherTable __wrap_ARKodeButcherTable_LoadERKByName(const char *name);
void __wrap_ARKodeButcherTable_Free(ARKodeButcherTable B);
SUNLinearSolver __wrap_SUNLinSol_Dense(N_Vector y, SUNMatrix A, SUNContext ctx);
SUNNonlinearSolver __wrap_SUNNonlinSol_FixedPoint(N_Vector y, int m, SUNContext ctx);
SUNMatrix __wrap_SUNMatNewEmpty(SUNContext ctx);
SUNLinearSolver __wrap_SUNLinSolNewEmpty(SUNContext ctx);
void *__wrap_CVodeCreate(int lmm, SUNContext ctx);
int __wrap_CVodeInit(void *cvode_mem, CVRhsFn f, sunrealtype t0, N_Vector y0);
int __wrap_CVodeRootInit(void *cvode_mem, int nrtfn, CVRootFn g);
int __wrap_CVodeSVtolerances(void *cvode_mem, sunrealtype reltol, N_Vector abstol);
int __wrap_CVodeSetLinearSolver(void *cvode_mem, SUNLinearSolver LS, SUNMatrix A);
int __wrap_CVodeSensInit1(void *cvode_mem, int Ns, int ism, CVSensRhs1Fn fS1, N_Vector *yS0);
int __wrap_CVodeCreateB(void *cvode_mem, int lmm, int *which);
int __wrap_CVodeInitB(void *cvode_mem, int which, CVRhsFnB f, sunrealtype t, N_Vector y);
int __wrap_CVodeQuadInitB(void *cvode_mem, int which, CVQuadRhsFnB f, N_Vector q);
int __wrap_CVodeSetLinearSolverB(void *cvode_mem, int which, SUNLinearSolver LS, SUNMatrix A);
int __wrap_SUNSparseMatrix_Reallocate(SUNMatrix A, sunindextype nnz);

void *__wrap_malloc(size_t size) { return is_denied() ? NULL : allocated(__real_malloc(size)); }

void *__wrap_calloc(size_t n, size_t size) {
  return is_denied() ? NULL : allocated(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size) {
  if (is_denied()) return NULL;
  void *q = __real_realloc(p, size);
  return p ? q : allocated(q); /* a block that only moved is still one block */
}

void __wrap_free(void *p) {
  freed(p);
  __real_free(p);
}

char *__wrap_strdup(const char *s) { return is_denied() ? NULL : allocated(__real_strdup(s)); }

N_Vector __wrap_N_VClone(N_Vector x) { return is_denied() ? NULL : allocated(__real_N_VClone(x)); }

N_Vector __wrap_N_VCloneEmpty(N_Vector x) {
  return is_denied() ? NULL : allocated(__real_N_VCloneEmpty(x));
}

N_Vector __wrap_N_VNew_Serial(sunindextype length, SUNContext ctx) {
  return is_denied() ? NULL : allocated(__real_N_VNew_Serial(length, ctx));
}

N_Vector __wrap_N_VMake_Serial(sunindextype length, sunrealtype *data, SUNContext ctx) {
  return is_denied() ? NULL : allocated(__real_N_VMake_Serial(length, data, ctx));
}

void __wrap_N_VDestroy(N_Vector x) {
  freed(x);
  __real_N_VDestroy(x);
}

SUNMatrix __wrap_SUNDenseMatrix(sunindextype M, sunindextype N, SUNContext ctx) {
  return is_denied() ? NULL : allocated(__real_SUNDenseMatrix(M, N, ctx));
}

SUNMatrix __wrap_SUNSparseMatrix(sunindextype M, sunindextype N, sunindextype NNZ, int type,
                                 SUNContext ctx) {
  return is_denied() ? NULL : allocated(__real_SUNSparseMatrix(M, N, NNZ, type, ctx));
}

SUNMatrix __wrap_SUNMatClone(SUNMatrix A) {
  return is_denied() ? NULL : allocated(__real_SUNMatClone(A));
}

void __wrap_SUNMatDestroy(SUNMatrix A) {
  freed(A);
  __real_SUNMatDestroy(A);
}

/* cpodes' own solver consists of the empty solver, and its free function ends with FreeEmpty. */
SUNNonlinearSolver __wrap_SUNNonlinSolNewEmpty(SUNContext ctx) {
  return is_denied() ? NULL : allocated(__real_SUNNonlinSolNewEmpty(ctx));
}

void __wrap_SUNNonlinSolFreeEmpty(SUNNonlinearSolver NLS) {
  freed(NLS);
  __real_SUNNonlinSolFreeEmpty(NLS);
}

/* Freed by SUNNonlinSolFree, like that of cpodes: not counted as live; leak checkers see it. */
SUNNonlinearSolver __wrap_SUNNonlinSol_Newton(N_Vector y, SUNContext ctx) {
  return is_denied() ? NULL : __real_SUNNonlinSol_Newton(y, ctx);
}

/* CVODES' own memory, which it frees. */
int __wrap_CVodeAdjInit(void *cvode_mem, long int steps, int interp) {
  return is_denied() ? CV_MEM_FAIL : __real_CVodeAdjInit(cvode_mem, steps, interp);
}

/* The caller frees it. CVODES 7 gives cpodes no reason, so cpodes asks for the name of the code. */
char *__wrap_CVodeGetReturnFlagName(long int flag) {
  return is_denied() ? NULL : allocated(__real_CVodeGetReturnFlagName(flag));
}

ARKodeButcherTable __wrap_ARKodeButcherTable_Alloc(int stages, sunbooleantype embedded) {
  return is_denied() ? NULL : allocated(__real_ARKodeButcherTable_Alloc(stages, embedded));
}

ARKodeButcherTable __wrap_ARKodeButcherTable_Copy(ARKodeButcherTable B) {
  return is_denied() ? NULL : allocated(__real_ARKodeButcherTable_Copy(B));
}

ARKodeButcherTable __wrap_ARKodeButcherTable_LoadERKByName(const char *name) {
  return is_denied() ? NULL : allocated(__real_ARKodeButcherTable_LoadERKByName(name));
}

void __wrap_ARKodeButcherTable_Free(ARKodeButcherTable B) {
  freed(B);
  __real_ARKodeButcherTable_Free(B);
}

/* Memory that SUNDIALS keeps, or that others free: not counted as live; leak checkers see it. */
SUNLinearSolver __wrap_SUNLinSol_Dense(N_Vector y, SUNMatrix A, SUNContext ctx) {
  return is_denied() ? NULL : __real_SUNLinSol_Dense(y, A, ctx);
}

SUNNonlinearSolver __wrap_SUNNonlinSol_FixedPoint(N_Vector y, int m, SUNContext ctx) {
  return is_denied() ? NULL : __real_SUNNonlinSol_FixedPoint(y, m, ctx);
}

SUNMatrix __wrap_SUNMatNewEmpty(SUNContext ctx) {
  return is_denied() ? NULL : __real_SUNMatNewEmpty(ctx);
}

SUNLinearSolver __wrap_SUNLinSolNewEmpty(SUNContext ctx) {
  return is_denied() ? NULL : __real_SUNLinSolNewEmpty(ctx);
}

int __wrap_CVodeInit(void *cvode_mem, CVRhsFn f, sunrealtype t0, N_Vector y0) {
  return is_cvodes_denied() ? CV_MEM_FAIL : __real_CVodeInit(cvode_mem, f, t0, y0);
}

int __wrap_CVodeRootInit(void *cvode_mem, int nrtfn, CVRootFn g) {
  return is_cvodes_denied() ? CV_MEM_FAIL : __real_CVodeRootInit(cvode_mem, nrtfn, g);
}

int __wrap_CVodeSVtolerances(void *cvode_mem, sunrealtype reltol, N_Vector abstol) {
  return is_cvodes_denied() ? CV_MEM_FAIL : __real_CVodeSVtolerances(cvode_mem, reltol, abstol);
}

int __wrap_CVodeSetLinearSolver(void *cvode_mem, SUNLinearSolver LS, SUNMatrix A) {
  return is_cvodes_denied() ? CVLS_MEM_FAIL : __real_CVodeSetLinearSolver(cvode_mem, LS, A);
}

int __wrap_CVodeSensInit1(void *cvode_mem, int Ns, int ism, CVSensRhs1Fn fS1, N_Vector *yS0) {
  return is_cvodes_denied() ? CV_MEM_FAIL : __real_CVodeSensInit1(cvode_mem, Ns, ism, fS1, yS0);
}

int __wrap_CVodeCreateB(void *cvode_mem, int lmm, int *which) {
  return is_cvodes_denied() ? CV_MEM_FAIL : __real_CVodeCreateB(cvode_mem, lmm, which);
}

int __wrap_CVodeInitB(void *cvode_mem, int which, CVRhsFnB f, sunrealtype t, N_Vector y) {
  return is_cvodes_denied() ? CV_MEM_FAIL : __real_CVodeInitB(cvode_mem, which, f, t, y);
}

int __wrap_CVodeQuadInitB(void *cvode_mem, int which, CVQuadRhsFnB f, N_Vector q) {
  return is_cvodes_denied() ? CV_MEM_FAIL : __real_CVodeQuadInitB(cvode_mem, which, f, q);
}

int __wrap_CVodeSetLinearSolverB(void *cvode_mem, int which, SUNLinearSolver LS, SUNMatrix A) {
  return is_cvodes_denied() ? CVLS_MEM_FAIL : __real_CVodeSetLinearSolverB(cvode_mem, which, LS, A);
}

int __wrap_SUNSparseMatrix_Reallocate(SUNMatrix A, sunindextype nnz) {
  return is_denied() ? -1 : __real_SUNSparseMatrix_Reallocate(A, nnz);
}

void *__wrap_CVodeCreate(int lmm, SUNContext ctx) {
  return is_denied() ? NULL : __real_CVodeCreate(lmm, ctx);
}

void alloc_count_suitesparse(int on) {
  void *(*const m)(size_t)         = on ? __wrap_malloc : __real_malloc;
  void *(*const c)(size_t, size_t) = on ? __wrap_calloc : __real_calloc;
  void *(*const r)(void *, size_t) = on ? __wrap_realloc : __real_realloc;
  void (*const f)(void *)          = on ? __wrap_free : __real_free;
#if SUITESPARSE_MAIN_VERSION >= 6
  SuiteSparse_config_malloc_func_set(m);
  SuiteSparse_config_calloc_func_set(c);
  SuiteSparse_config_realloc_func_set(r);
  SuiteSparse_config_free_func_set(f);
#else
  SuiteSparse_config.malloc_func  = m;
  SuiteSparse_config.calloc_func  = c;
  SuiteSparse_config.realloc_func = r;
  SuiteSparse_config.free_func    = f;
#endif
}
