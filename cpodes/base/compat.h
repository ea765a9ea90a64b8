/* Differences between SUNDIALS 6.4 and 7.x, and the few facts about CVODES that its headers do not
 * export. */
#ifndef CPODES_COMPAT_H
#define CPODES_COMPAT_H

#include "roundoff.h"

#ifndef SUNDIALS_DOUBLE_PRECISION
#error "cpodes needs SUNDIALS in double precision"
#endif

#if SUNDIALS_VERSION_MAJOR < 6 || (SUNDIALS_VERSION_MAJOR == 6 && SUNDIALS_VERSION_MINOR < 4)
#error "cpodes needs SUNDIALS 6.4 or newer"
#endif

/* CVODES 6 has an error handler for each integrator memory; 7 reports through the SUNContext. */
#if SUNDIALS_VERSION_MAJOR < 7
#define CP_CVODES_HAS_EHFUN
#endif

#include <sundials/sundials_context.h>
/* Creates a SUNContext without MPI. Returns 0, or another value if there is no memory. */
static inline int cpContextCreate(SUNContext *ctx) {
#if SUNDIALS_VERSION_MAJOR < 7
  return SUNContext_Create(NULL, ctx);
#else
  return SUNContext_Create(SUN_COMM_NULL, ctx);
#endif
}

/* CVODES 6.4 cannot clear a stop time. */
#if SUNDIALS_VERSION_MAJOR >= 7
#define CP_CVODES_CLEARS_STOP_TIME
#endif

/* CVODES' nonlinear system function returns this value for a recoverable failure of f
 * (RHSFUNC_RECVR in cvodes_impl.h, 6.4 to 7.5), or of the right-hand side of a sensitivity
 * (SRHSFUNC_RECVR). With any other number, such a failure would count as a convergence failure. */
enum { CP_CV_RHSFUNC_RECVR = 10, CP_CV_SRHSFUNC_RECVR = 15 };

/* CVODES' default of CVodeSetNonlinConvCoef. */
#define CP_CV_NLSCOEF SUN_RCONST(0.1)

/* CVODES' workspace functions have been deprecated since 7.1, but are still the only way to detect
 * inequality constraints. */
#if defined(__GNUC__)
#define CP_DEPRECATED_OK_BEGIN \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
#define CP_DEPRECATED_OK_END _Pragma("GCC diagnostic pop")
#else
#define CP_DEPRECATED_OK_BEGIN
#define CP_DEPRECATED_OK_END
#endif

/* CP_WIDE compiles a function also for wider vector registers; the loader chooses the version for
 * the processor. It is for static functions, since the versions of others would be exported.
 * Functions that they call are marked CP_WIDE_PART. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && !defined(__clang__) && \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&      \
    !defined(CPODES_COVERAGE) /* coverage would count the branches of each version */
#define CP_WIDE      __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define CP_WIDE_PART static inline __attribute__((always_inline))
#else
#define CP_WIDE
#define CP_WIDE_PART static inline
#endif

#endif
